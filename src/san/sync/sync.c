/* synccheck: the tool, barriers of CTAs and clusters. sync.h says how it judges. */
#include "san/sync/sync.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- barriers of the CTA */

static uint32_t first_waiting(const struct sync_cta *cta, uint32_t id)
{
    uint32_t w = 0;

    while (w < cta->bars.nwarps && !cta->bars.bar[id].waiting[w])
        w++;
    return w;
}

/*
 * Threads that have ended count as come: those that were at such a barrier before and are not at
 * this one took another way. Whoever left before the first is out of it, as CUDA programs do.
 */
static void judge_ended(struct sync_cta *cta, uint32_t id)
{
    const struct san_bars *bars = &cta->bars;
    uint32_t nthreads = cta->san->launch->nthreads, ended = 0, first = 0;
    uint32_t w = first_waiting(cta, id);

    for (uint32_t v = bars->nwarps; v--;) {
        uint32_t n = nthreads - v * SAN_LANES;
        uint32_t all = n >= SAN_LANES ? UINT32_MAX : (1u << n) - 1;
        uint32_t lost = all & ~bars->live[v] & cta->warps[v].took_part & ~bars->bar[id].come[v];
        if (!lost)
            continue;
        ended += (uint32_t)__builtin_popcount(lost);
        first = v * SAN_LANES + (uint32_t)__builtin_ctz(lost);
        if (bars->bar[id].waiting[v])
            w = v;
    }
    if (!ended || w == bars->nwarps)
        return;
    uint32_t t[3];
    san_thread(cta->san, first / SAN_LANES, first % SAN_LANES, t);
    sync_report(cta, SYNC_BLOCK, cta->bar_at[id][w], w, bars->bar[id].waiting[w],
                "%u threads of the block have ended without it, the first (%u,%u,%u)", ended, t[0],
                t[1], t[2]);
}

static void open_bar(struct sync_cta *cta, uint32_t id)
{
    if (!cta->bars.bar[id].count) {
        judge_ended(cta, id);
        for (uint32_t w = 0; w < cta->bars.nwarps; w++)
            cta->warps[w].took_part |= cta->bars.bar[id].come[w];
    }
    san_bar_open(&cta->bars, id);
}

/* False: it is of no use to go on with these arguments. */
static bool arguments_are_right(struct sync_cta *cta, const struct san_sync *sync, uint64_t id,
                                uint32_t count)
{
    uint32_t most = cta->bars.nwarps * SAN_LANES;
    const struct san_bar *bar = id < SAN_BARS ? &cta->bars.bar[id] : NULL;

    if (!bar)
        sync_report(cta, SYNC_ARGUMENTS, sync->probe, sync->warp, sync->lanes,
                    "Barrier %llu: there are %d", (unsigned long long)id, SAN_BARS);
    else if (count % SAN_LANES)
        sync_report(cta, SYNC_ARGUMENTS, sync->probe, sync->warp, sync->lanes,
                    "Barrier %u for %u threads, which are no whole warps", (unsigned)id, count);
    else if (count > most)
        sync_report(cta, SYNC_ARGUMENTS, sync->probe, sync->warp, sync->lanes,
                    "Barrier %u for %u threads, of which the block has %u", (unsigned)id, count,
                    cta->san->launch->nthreads);
    else if (bar->n && bar->count != count)
        sync_report(cta, SYNC_ARGUMENTS, sync->probe, sync->warp, sync->lanes,
                    "Barrier %u for %u threads, where others wait for %u", (unsigned)id, count,
                    bar->count ? bar->count : cta->san->launch->nthreads);
    return bar != NULL;
}

static void come(struct sync_cta *cta, const struct san_sync *sync, enum ir_bar kind)
{
    uint32_t lane = (uint32_t)__builtin_ctz(sync->lanes);
    uint64_t id = san_operand(sync, 0, lane, 0);
    uint32_t count = (uint32_t)san_operand(sync, 1, lane, 0);

    if (!arguments_are_right(cta, sync, id, count))
        return;
    cta->bar_at[id][sync->warp] = sync->probe;
    if (san_bar_come(&cta->bars, (uint32_t)id, count, sync->warp, sync->lanes, ir_bar_waits(kind)))
        open_bar(cta, (uint32_t)id);
}

/* Lanes go on that seemed to wait: the device opened their barrier, whatever it counted. */
static void bars_go_on(struct sync_cta *cta, uint32_t warp, uint32_t lanes)
{
    for (lanes &= cta->bars.blocked[warp]; lanes; lanes &= cta->bars.blocked[warp]) {
        uint32_t id = san_bar_of(&cta->bars, warp, (uint32_t)__builtin_ctz(lanes));
        assert(id < SAN_BARS); /* it is blocked at one of them */
        san_bar_open(&cta->bars, id);
    }
}

static void bars_end(struct sync_cta *cta, uint32_t warp, uint32_t lanes)
{
    san_bars_end(&cta->bars, warp, lanes);
    for (uint32_t id = 0; id < SAN_BARS; id++)
        if (san_bar_is_full(&cta->bars, id))
            open_bar(cta, id);
}

/*
 * Does nobody of the CTA get on? If it ended for another reason, somebody who waits at its end says
 * nothing.
 */
static bool is_stuck(const struct sync_cta *cta)
{
    uint32_t others = 0;

    for (uint32_t w = 0; w < cta->bars.nwarps; w++)
        others |= cta->bars.live[w] & ~(cta->bars.blocked[w] | cta->warps[w].waiting);
    return !others;
}

/* ---- that of the cluster */

static void cluster_bar(struct sync_cta *cta, const struct san_sync *sync, enum ir_bar kind)
{
    struct sync_warp *warp = &cta->warps[sync->warp];
    bool arrives = kind == IR_BAR_CLUSTER_ARRIVE;
    uint32_t wrong = sync->lanes & (arrives ? warp->cluster : ~warp->cluster);

    if (wrong)
        sync_report(cta, SYNC_CLUSTER, sync->probe, sync->warp, wrong,
                    arrives ? "barrier.cluster.arrive again, without a wait between"
                            : "barrier.cluster.wait without an arrive before");
    warp->cluster = arrives ? warp->cluster | sync->lanes : warp->cluster & ~sync->lanes;
}

/* ---- the tool */

static bool launch_begin(struct san_launch *san)
{
    struct sync_launch *launch = hd_new(struct sync_launch);
    const uint32_t *c = san->about.cluster;
    struct ir_window window;

    san->own[SAN_SYNCCHECK] = launch;
    if (!launch)
        return false;
    hd_lock_init(&launch->lock, HD_RANK_LEAF, "synccheck's mbarriers");
    hd_map_init(&launch->mbars);
    launch->sees_cluster = c[0] * c[1] * c[2] > 1 &&
                           ir_kernel_window(san->about.kernel, &window) == HD_OK && window.clusters;
    return true;
}

static void launch_end(struct san_launch *san)
{
    struct sync_launch *launch = san->own[SAN_SYNCCHECK];

    if (!launch)
        return;
    sync_mbars_fini(&launch->mbars);
    hd_lock_fini(&launch->lock);
    hd_free(launch);
    san->own[SAN_SYNCCHECK] = NULL;
}

static bool cta_begin(struct san_cta *san)
{
    struct sync_cta *cta = hd_new(struct sync_cta);

    san->own[SAN_SYNCCHECK] = cta;
    if (!cta)
        return false;
    cta->san = san;
    cta->launch = san->launch->own[SAN_SYNCCHECK];
    assert(cta->launch);
    san_bars_init(&cta->bars, san->launch->nthreads);
    hd_map_init(&cta->mbars);
    return true;
}

static void cta_end(struct san_cta *san)
{
    struct sync_cta *cta = san->own[SAN_SYNCCHECK];

    if (!cta)
        return;
    if (is_stuck(cta)) {
        /* Threads that are still at a barrier when the CTA is over: others never came. */
        for (uint32_t id = 0; id < SAN_BARS; id++) {
            const struct san_bar *bar = &cta->bars.bar[id];
            uint32_t w = first_waiting(cta, id);
            if (w < cta->bars.nwarps)
                sync_report(cta, SYNC_BLOCK, cta->bar_at[id][w], w, bar->waiting[w],
                            "%u of %u threads have come to barrier %u", bar->n,
                            bar->count ? bar->count : cta->san->launch->nthreads, id);
        }
        sync_warp_finish(cta);
    }
    sync_mbars_fini(&cta->mbars);
    hd_free(cta);
    san->own[SAN_SYNCCHECK] = NULL;
}

static void bar(struct sync_cta *cta, const struct san_sync *sync)
{
    enum ir_bar kind = (enum ir_bar)ir_probe_its_imm(sync->probe);

    if (ir_bar_is_cluster(kind))
        cluster_bar(cta, sync, kind);
    else
        come(cta, sync, kind);
}

static enum hd_status sync_reported(struct san_cta *san, const struct san_sync *sync)
{
    struct sync_cta *cta = san->own[SAN_SYNCCHECK];

    if (!cta || !sync->lanes)
        return HD_OK;
    assert(sync->warp < cta->bars.nwarps);
    bars_go_on(cta, sync->warp, sync->lanes);
    sync_warp_go_on(cta, sync->warp, sync->lanes);
    switch (ir_probe_op(sync->probe)) {
    case IR_OP_BAR:
        bar(cta, sync);
        break;
    case IR_OP_WARPSYNC:
    case IR_OP_SHFL:
    case IR_OP_VOTE:
    case IR_OP_MATCH:
    case IR_OP_REDUX:
    case IR_OP_ELECT:
        sync_collective(cta, sync);
        break;
    case IR_OP_MBARRIER:
        return sync_mbarrier(cta, sync);
    case IR_OP_EXIT:
        bars_end(cta, sync->warp, sync->lanes);
        sync_warp_end(cta, sync->warp);
        break;
    default:
        break;
    }
    return HD_OK;
}

const struct san_tool san_synccheck = {
    .id = SAN_SYNCCHECK,
    .probes = IR_PROBE_SYNC,
    .launch_begin = launch_begin,
    .launch_end = launch_end,
    .cta_begin = cta_begin,
    .cta_end = cta_end,
    .sync = sync_reported,
};
