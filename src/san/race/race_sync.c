/*
 * What synchronises by its own operation: all of it comes here. Barriers of the CTA and of warps
 * are in race_bars.c; the barrier of a cluster and mbarriers, which are places, are below.
 */
#include <assert.h>

#include "model/mbarrier.h"
#include "san/race/race.h"

/* ---- that of the cluster: a place of the launch */

static void sync_cluster(struct race_cta *cta, const struct san_sync *sync, enum ir_bar kind)
{
    struct race_where at = {(uint64_t)3 << 62 | race_peer(cta, 0), false};

    for (uint32_t m = sync->lanes; m; m &= m - 1) {
        uint32_t thread = sync->warp * SAN_LANES + (uint32_t)__builtin_ctz(m);
        struct race_pending wait = {.key = at.key, .how = RACE_PEND_NOW};
        if (kind == IR_BAR_CLUSTER_ARRIVE)
            race_publish(cta, thread, at, true, true);
        else
            race_pend(cta, thread, &wait);
    }
    if (kind == IR_BAR_CLUSTER_ARRIVE)
        race_step(cta, sync->warp, sync->lanes);
}

/* ---- mbarriers */

struct mbar {
    struct race_where where;
    const uint64_t *word;
};

/* False: not in a window that we know. */
static bool mbar_at(struct race_cta *cta, const struct san_sync *sync, uint64_t address,
                    struct mbar *out)
{
    const struct ir_mem *mem = &sync->probe->mem;
    struct ir_probe_cta *base = cta->san->base;
    uint64_t at = address, peer = 0;

    if (!base->shared)
        return false;
    if (!ir_space_is_shared(mem->space)) { /* generic */
        uint64_t own = (uintptr_t)base->shared;
        uint64_t first =
            own - (cta->launch->sees_cluster ? cta->san->rank * IR_CLUSTER_STRIDE_B : 0);
        uint64_t reach = cta->launch->sees_cluster ? cta->launch->cluster * IR_CLUSTER_STRIDE_B
                                                   : cta->launch->san->about.shared_B;
        at -= first;
        if (at >= reach)
            return false;
    }
    uint64_t offset = at & (IR_CLUSTER_STRIDE_B - 1);
    if (cta->launch->sees_cluster)
        peer = (at >> IR_CLUSTER_SHIFT) + 1;
    if (peer > cta->launch->cluster || offset % IR_MBARRIER_B ||
        offset + IR_MBARRIER_B > cta->launch->san->about.shared_B)
        return false;
    int64_t apart =
        peer ? ((int64_t)peer - 1 - (int64_t)cta->san->rank) * (int64_t)IR_CLUSTER_STRIDE_B : 0;
    out->where = race_where(cta, IR_SPACE_SHARED, offset, (uint32_t)peer);
    out->word = (const uint64_t *)(const void *)(base->shared + (int64_t)offset + apart);
    return true;
}

static void mbar_follow(struct race_cta *cta, const struct mbar *at, bool begins)
{
    hd_lock_acquire(&cta->launch->syncvars_lock);
    struct race_syncvar *syncvar =
        race_syncvar_make(race_syncvars_of(cta, at->where.local), at->where.key);
    if (syncvar && begins)
        syncvar->parity = false;
    else if (syncvar)
        race_mbarrier_follow(syncvar, at->word);
    hd_lock_release(&cta->launch->syncvars_lock);
}

static void mbar_test(struct race_cta *cta, uint32_t thread, const struct mbar *at,
                      enum ir_mbarrier op, uint64_t value)
{
    /* The phase of that parity is over as soon as the current one has the other. */
    uint8_t parity = op == IR_MBARRIER_TEST_PARITY ? value & 1 : value >> 63;
    struct race_pending test = {.key = at->where.key,
                                .how = RACE_PEND_PHASE,
                                .local = at->where.local,
                                .parity = parity,
                                .was_done = race_mbarrier_parity(at->word) != parity,
                                .word = at->word};

    race_pend(cta, thread, &test);
}

/* The same place in each CTA of the cluster that the mask names. */
static void mbar_cast(struct race_cta *cta, const struct san_sync *sync, uint32_t thread,
                      uint64_t address, uint32_t ranks)
{
    struct mbar at;

    for (uint32_t m = ranks & 0xffff; m; m &= m - 1) {
        uint64_t there = ir_cluster_address(address, (uint32_t)__builtin_ctz(m));
        if (!mbar_at(cta, sync, cta->launch->sees_cluster ? there : address, &at))
            continue;
        mbar_follow(cta, &at, false);
        race_publish(cta, thread, at.where, true, true);
        race_tensor_publish(cta, thread, at.where);
    }
}

static void mbar_lane(struct race_cta *cta, const struct san_sync *sync, uint32_t lane)
{
    enum ir_mbarrier op = (enum ir_mbarrier)ir_probe_its_imm(sync->probe);
    uint32_t thread = sync->warp * SAN_LANES + lane;
    uint64_t address = san_operand(sync, 0, lane, UINT64_MAX),
             value = san_operand(sync, 1, lane, 0);
    struct mbar at;

    if (ir_mbarrier_of_cast(op) != op) {
        mbar_cast(cta, sync, thread, address, (uint32_t)(value >> 32));
        return;
    }
    if (!mbar_at(cta, sync, address, &at))
        return;
    mbar_follow(cta, &at, ir_mbarrier_begins(op));
    if (ir_mbarrier_tests(op))
        mbar_test(cta, thread, &at, op, value);
    else if (!ir_mbarrier_begins(op)) {
        race_publish(cta, thread, at.where, true, true);
        race_tensor_publish(cta, thread, at.where);
    }
}

static void mbarrier(struct race_cta *cta, const struct san_sync *sync)
{
    for (uint32_t m = sync->lanes; m; m &= m - 1) {
        mbar_lane(cta, sync, (uint32_t)__builtin_ctz(m));
        race_tensor_committed(cta, sync->warp * SAN_LANES + (uint32_t)__builtin_ctz(m));
    }
    if (!ir_mbarrier_tests((enum ir_mbarrier)ir_probe_its_imm(sync->probe)))
        race_step(cta, sync->warp, sync->lanes);
}

/* ---- all */

enum hd_status race_sync(struct san_cta *san, const struct san_sync *sync)
{
    struct race_cta *cta = san->own[SAN_RACECHECK];
    uint32_t imm = ir_probe_its_imm(sync->probe);

    if (!cta || cta->blind || !sync->lanes)
        return HD_OK;
    assert(sync->warp < cta->nwarps);
    race_go_on(cta, sync->warp, sync->lanes);
    /* Shuffles, votes, matches and reductions exchange values; CUDA gives them no order of memory.
     */
    switch (ir_probe_op(sync->probe)) {
    case IR_OP_BAR:
        if (ir_bar_is_cluster((enum ir_bar)imm))
            sync_cluster(cta, sync, (enum ir_bar)imm);
        else
            race_bar(cta, sync, (enum ir_bar)imm);
        break;
    case IR_OP_WARPSYNC:
        race_warpsync(cta, sync);
        break;
    case IR_OP_FENCE:
        race_fence(cta, sync->warp, sync->lanes, (enum ir_scope)imm);
        break;
    case IR_OP_MBARRIER:
        mbarrier(cta, sync);
        break;
    case IR_OP_ASYNC:
        race_async(cta, sync);
        break;
    case IR_OP_EXIT:
        race_threads_end(cta, sync);
        break;
    default:
        break;
    }
    return HD_OK;
}
