/*
 * Barriers of the CTA and __syncwarp(): who waits there, and who goes on. A thread that does
 * something else than wait has been let go on, whatever the model thought.
 */
#include <assert.h>
#include <string.h>

#include "san/race/race.h"

/* ---- barriers of the CTA */

static void open_bar(struct race_cta *cta, uint32_t id)
{
    struct san_bars *bars = &cta->bars;
    uint32_t missing = 0;

    for (uint32_t w = 0; w < cta->nwarps; w++)
        missing |= bars->live[w] & ~bars->bar[id].waiting[w];
    if (missing)
        race_meet_some(cta, bars->bar[id].come, bars->bar[id].waiting, cta->arrived_at[id]);
    else
        race_meet_cta(cta);
    san_bar_open(bars, id);
    memset(cta->arrived_at[id], 0, sizeof cta->arrived_at[id]);
}

static void unblock(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    lanes &= cta->bars.blocked[warp];
    while (lanes) {
        uint32_t id = san_bar_of(&cta->bars, warp, (uint32_t)__builtin_ctz(lanes));
        assert(id < SAN_BARS); /* it is blocked at one of them */
        open_bar(cta, id);
        lanes &= cta->bars.blocked[warp];
    }
}

void race_bar(struct race_cta *cta, const struct san_sync *sync, enum ir_bar kind)
{
    uint32_t lane = (uint32_t)__builtin_ctz(sync->lanes);
    uint64_t id = san_operand(sync, 0, lane, 0), count = san_operand(sync, 1, lane, 0);
    bool waits = ir_bar_waits(kind);

    if (id >= SAN_BARS)
        return; /* synccheck's */
    if (!waits)
        cta->arrived_at[id][sync->warp] = race_arrive(cta, sync->warp, sync->lanes);
    if (san_bar_come(&cta->bars, (uint32_t)id, (uint32_t)count, sync->warp, sync->lanes, waits))
        open_bar(cta, (uint32_t)id);
}

/* ---- __syncwarp */

static void open_warp(struct race_cta *cta, uint32_t w, uint32_t lanes)
{
    struct race_warp *warp = &cta->warps[w];

    assert(lanes);
    warp->in_sync &= ~lanes;
    if (cta->bars.live[w] & ~lanes)
        race_meet_lanes(cta, w, lanes);
    else
        race_meet_warp(cta, w);
}

/* Those that wait with a mask all of whose living lanes are there go on. */
static void try_warp(struct race_cta *cta, uint32_t w)
{
    struct race_warp *warp = &cta->warps[w];

    for (uint32_t m = warp->in_sync; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint32_t need = warp->masks[lane] & cta->bars.live[w], there = 0;
        if (!(warp->in_sync >> lane & 1))
            continue; /* went with an earlier one */
        for (uint32_t k = warp->in_sync & need; k; k &= k - 1) {
            uint32_t other = (uint32_t)__builtin_ctz(k);
            there |= (uint32_t)(warp->masks[other] == warp->masks[lane]) << other;
        }
        if (there == need || !(need >> lane & 1))
            open_warp(cta, w, there | 1u << lane);
    }
}

void race_warpsync(struct race_cta *cta, const struct san_sync *sync)
{
    struct race_warp *warp = &cta->warps[sync->warp];

    for (uint32_t m = sync->lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        warp->masks[lane] = (uint32_t)san_operand(sync, 0, lane, UINT32_MAX);
    }
    warp->in_sync |= sync->lanes;
    try_warp(cta, sync->warp);
}

/* Lanes that seemed to wait go on: whoever waits with them does too. */
static void unblock_warp(struct race_cta *cta, uint32_t w, uint32_t lanes)
{
    struct race_warp *warp = &cta->warps[w];

    lanes &= warp->in_sync;
    while (lanes) {
        uint32_t mask = warp->masks[__builtin_ctz(lanes)], there = 0;
        for (uint32_t k = warp->in_sync; k; k &= k - 1) {
            uint32_t other = (uint32_t)__builtin_ctz(k);
            there |= (uint32_t)(warp->masks[other] == mask) << other;
        }
        assert(there & lanes); /* so this ends */
        open_warp(cta, w, there);
        lanes &= warp->in_sync;
    }
}

/* ---- the end of threads */

void race_threads_end(struct race_cta *cta, const struct san_sync *sync)
{
    struct san_bars *bars = &cta->bars;

    san_bars_end(bars, sync->warp, sync->lanes);
    cta->warps[sync->warp].in_sync &= ~sync->lanes;
    try_warp(cta, sync->warp);
    for (uint32_t id = 0; id < SAN_BARS; id++)
        if (bars->bar[id].n && san_bar_is_full(bars, id))
            open_bar(cta, id);
}

/* ---- going on */

void race_go_on(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    if (cta->bars.blocked[warp] & lanes)
        unblock(cta, warp, lanes);
    if (cta->warps[warp].in_sync & lanes)
        unblock_warp(cta, warp, lanes);
    if (cta->warps[warp].pending & lanes)
        race_settle(cta, warp, lanes);
}
