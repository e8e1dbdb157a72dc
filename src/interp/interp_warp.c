/* Threads together: warp collectives, activemask, CTA barriers. */
#include <assert.h>

#include "interp/interp_priv.h"

enum { PATIENCE = 16 /* turns that a lane waits at activemask while others of its warp run */ };

static const struct ir_instr *warp_at(const struct interp_thread *t)
{
    return t->frame->pc;
}

static uint32_t warp_living(const struct interp_warp *warp)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < warp->nlanes; i++)
        mask |= (uint32_t)(warp->lanes[i].state != INTERP_ENDED) << i;
    return mask;
}

/* ---- collectives: `members` have all arrived, all with the same operation */

static uint32_t warp_mask_operand(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_SHFL:
        return 3;
    case IR_OP_WARPSYNC:
    case IR_OP_ELECT:
        return 0;
    default:
        assert(in->op == IR_OP_VOTE || in->op == IR_OP_MATCH || in->op == IR_OP_REDUX);
        return 1;
    }
}

struct group {
    struct interp_warp *warp;
    uint32_t members;
};

static uint64_t warp_lane_value(const struct group *g, uint32_t lane)
{
    return interp_src(&g->warp->lanes[lane], 0);
}

static void warp_do_shfl(const struct group *g, struct interp_thread *t)
{
    const struct ir_instr *in = warp_at(t);
    int32_t b = (int32_t)(interp_src(t, 1) & 31), lane = (int32_t)t->lane;
    uint32_t c = (uint32_t)interp_src(t, 2), segment = (c >> 8) & 31;
    int32_t low = (int32_t)(t->lane & segment);
    int32_t bound = (int32_t)((t->lane & segment) | (c & 31 & ~segment));
    int32_t from;
    bool valid;
    switch ((enum ir_shfl)in->imm) {
    case IR_SHFL_UP:
        from = lane - b;
        valid = from >= bound;
        break;
    case IR_SHFL_DOWN:
        from = lane + b;
        valid = from <= bound;
        break;
    case IR_SHFL_BFLY:
        from = lane ^ b;
        valid = from <= bound;
        break;
    default:
        from = low | (b & ~(int32_t)segment);
        valid = from <= bound;
        break;
    }
    if (!valid)
        from = lane;
    /* A source outside the group is undefined in PTX: the lane keeps its own value. */
    bool present = from >= 0 && from < 32 && ((g->members >> from) & 1);
    uint64_t value = warp_lane_value(g, present ? (uint32_t)from : t->lane);
    interp_set(t, 0, value);
    if (in->ndst > 1)
        interp_set(t, 1, valid);
}

static uint32_t warp_ballot(const struct group *g)
{
    uint32_t votes = 0;
    for (uint32_t m = g->members; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        votes |= (uint32_t)(warp_lane_value(g, lane) & 1) << lane;
    }
    return votes;
}

static void warp_do_vote(const struct group *g, struct interp_thread *t)
{
    uint32_t votes = warp_ballot(g);
    switch ((enum ir_vote)warp_at(t)->imm) {
    case IR_VOTE_ALL:
        interp_set(t, 0, votes == g->members);
        break;
    case IR_VOTE_ANY:
        interp_set(t, 0, votes != 0);
        break;
    case IR_VOTE_UNI:
        interp_set(t, 0, votes == 0 || votes == g->members);
        break;
    case IR_VOTE_BALLOT:
        interp_set(t, 0, votes);
        break;
    }
}

static void warp_do_match(const struct group *g, struct interp_thread *t)
{
    uint64_t mine = warp_lane_value(g, t->lane);
    uint32_t same = 0;
    for (uint32_t m = g->members; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        same |= (uint32_t)(warp_lane_value(g, lane) == mine) << lane;
    }
    bool all = same == g->members;
    interp_set(t, 0, warp_at(t)->imm && !all ? 0 : same);
    if (warp_at(t)->ndst > 1)
        interp_set(t, 1, all);
}

static void warp_do_redux(const struct group *g, struct interp_thread *t)
{
    const struct ir_instr *in = warp_at(t);
    uint32_t m = g->members;
    uint32_t r = (uint32_t)warp_lane_value(g, (uint32_t)__builtin_ctz(m));
    for (m &= m - 1; m; m &= m - 1)
        r = ir_eval_redux((enum ir_redux)in->imm, in->type, r,
                          (uint32_t)warp_lane_value(g, (uint32_t)__builtin_ctz(m)));
    interp_set(t, 0, r);
}

static void warp_do_elect(const struct group *g, struct interp_thread *t)
{
    uint32_t leader = (uint32_t)__builtin_ctz(g->members);
    if (warp_at(t)->ndst > 0)
        interp_set(t, 0, leader);
    if (warp_at(t)->ndst > 1)
        interp_set(t, 1, t->lane == leader);
}

/* Results may overwrite no source: SSA. So lanes can be done in turn. */
static void warp_lanes_finish(const struct group *g)
{
    for (uint32_t m = g->members; m; m &= m - 1) {
        struct interp_thread *t = &g->warp->lanes[__builtin_ctz(m)];
        switch (warp_at(t)->op) {
        case IR_OP_SHFL:
            warp_do_shfl(g, t);
            break;
        case IR_OP_VOTE:
            warp_do_vote(g, t);
            break;
        case IR_OP_MATCH:
            warp_do_match(g, t);
            break;
        case IR_OP_REDUX:
            warp_do_redux(g, t);
            break;
        case IR_OP_ELECT:
            warp_do_elect(g, t);
            break;
        default:
            assert(warp_at(t)->op == IR_OP_WARPSYNC);
        }
    }
}

static void warp_collective_finish(const struct group *g)
{
    const struct ir_instr *in = warp_at(&g->warp->lanes[__builtin_ctz(g->members)]);
    assert(g->members && !(g->members & ~warp_living(g->warp)));
    if (!ir_op_is_matrix(in->op))
        warp_lanes_finish(g);
    else if (!interp_matrix(g->warp, g->members, in))
        return; /* a fault: the launch ends */
    for (uint32_t m = g->members; m; m &= m - 1)
        interp_release(&g->warp->lanes[__builtin_ctz(m)]);
}

/* Releases the group that waits with this operation and mask when its living members are there. */
static bool warp_collective_try(struct interp_warp *warp, const struct ir_instr *in, uint32_t mask)
{
    struct group g = {warp, mask & warp_living(warp)};
    for (uint32_t m = g.members; m; m &= m - 1) {
        const struct interp_thread *t = &warp->lanes[__builtin_ctz(m)];
        bool same = ir_op_is_matrix(in->op) ? warp_at(t) == in : warp_at(t)->op == in->op;
        if (t->state != INTERP_WAIT_WARP || t->mask != mask || !same)
            return false;
    }
    if (g.members)
        warp_collective_finish(&g);
    return g.members != 0;
}

enum interp_step interp_collective(struct interp_thread *t)
{
    const struct ir_instr *in = warp_at(t);
    t->mask = ~0u;
    if (!ir_op_is_matrix(in->op))
        t->mask = (uint32_t)interp_src(t, warp_mask_operand(in)) | 1u << t->lane;
    t->state = INTERP_WAIT_WARP;
    if (!warp_collective_try(t->warp, in, t->mask))
        return INTERP_BLOCKED;
    return t->cta->run->status == HD_OK ? INTERP_JUMPED : INTERP_FAULTED;
}

/* ---- activemask */

enum interp_step interp_activemask(struct interp_thread *t)
{
    assert(t->state == INTERP_RUN);
    t->state = INTERP_WAIT_ACTIVE;
    t->waited = 0;
    return INTERP_BLOCKED;
}

static void warp_answer_active(struct interp_warp *warp, const struct ir_instr *vote)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < warp->nlanes; i++) {
        struct interp_thread *t = &warp->lanes[i];
        mask |= (uint32_t)(t->state == INTERP_WAIT_ACTIVE && warp_at(t) == vote) << i;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        struct interp_thread *t = &warp->lanes[__builtin_ctz(m)];
        interp_set(t, 0, mask);
        interp_release(t);
    }
}

bool interp_settle_active(struct interp_warp *warp, bool others_can_run)
{
    for (uint32_t i = 0; i < warp->nlanes; i++) {
        struct interp_thread *t = &warp->lanes[i];
        if (t->state != INTERP_WAIT_ACTIVE || (others_can_run && ++t->waited < PATIENCE))
            continue;
        warp_answer_active(warp, warp_at(t));
        return true;
    }
    return false;
}

/* ---- CTA barriers */

static bool warp_bar_complete(const struct interp_cta *cta, const struct interp_bar *bar)
{
    uint32_t total = 0;
    if (!bar->count)
        return bar->arrived >= cta->live;
    for (uint32_t w = 0; w < cta->nwarps; w++) {
        uint32_t n = bar->by_warp[w];
        uint32_t alive = (uint32_t)__builtin_popcount(warp_living(&cta->warps[w]));
        total += n && n >= alive ? HD_MAX(n, (uint32_t)INTERP_WARP) : n;
    }
    return total >= bar->count;
}

static uint64_t warp_bar_result(const struct ir_instr *in, uint32_t arrived, uint32_t votes)
{
    switch ((enum ir_bar)in->imm) {
    case IR_BAR_RED_AND:
        return votes == arrived;
    case IR_BAR_RED_OR:
        return votes != 0;
    case IR_BAR_SYNC:
    case IR_BAR_ARRIVE:
    case IR_BAR_CLUSTER_ARRIVE:
    case IR_BAR_CLUSTER_WAIT:
    case IR_BAR_RED_POPC:
        break;
    }
    return votes;
}

static void warp_bar_open(struct interp_cta *cta, uint32_t id)
{
    struct interp_bar done = cta->bars[id];
    assert(id < INTERP_NBARS && done.arrived);
    cta->bars[id] = (struct interp_bar){0};
    cta->run->effects++;
    for (uint32_t i = 0; i < cta->nthreads; i++) {
        struct interp_thread *t = &cta->threads[i];
        if (t->state != INTERP_WAIT_BAR || t->bar != id)
            continue;
        if (warp_at(t)->ndst)
            interp_set(t, 0, warp_bar_result(warp_at(t), done.arrived, done.votes));
        interp_release(t);
    }
}

enum interp_step interp_barrier(struct interp_thread *t)
{
    const struct ir_instr *in = warp_at(t);
    struct interp_cta *cta = t->cta;
    if (ir_bar_is_cluster((enum ir_bar)in->imm))
        return interp_cluster_bar(t);
    uint64_t id = in->nsrc > 0 ? interp_src(t, 0) : 0;
    uint32_t count = in->nsrc > 1 ? (uint32_t)interp_src(t, 1) : 0;
    t->warp->has_waited = false;
    if (id >= INTERP_NBARS)
        return interp_fail(t, HD_TRAP, "barrier number %llu", (unsigned long long)id);
    struct interp_bar *bar = &cta->bars[id];
    if (bar->arrived && bar->count != count)
        return interp_fail(t, HD_TRAP, "barrier %u used with counts %u and %u", (unsigned)id,
                           bar->count, count);
    bar->count = count;
    bar->arrived++;
    bar->by_warp[t->warp->index]++;
    bar->votes += in->nsrc > 2 && (interp_src(t, 2) & 1);
    bool waits = in->imm != IR_BAR_ARRIVE;
    if (waits) {
        t->state = INTERP_WAIT_BAR;
        t->bar = (uint32_t)id;
    }
    if (warp_bar_complete(cta, bar))
        warp_bar_open(cta, (uint32_t)id); /* moves this thread on when it waits */
    return waits ? INTERP_BLOCKED : INTERP_NEXT;
}

/* ---- the end of a thread */

static void warp_retry_collectives(struct interp_warp *warp)
{
    for (uint32_t i = 0; i < warp->nlanes; i++) {
        const struct interp_thread *t = &warp->lanes[i];
        if (t->state == INTERP_WAIT_WARP)
            warp_collective_try(warp, warp_at(t), t->mask);
    }
}

void interp_thread_gone(struct interp_thread *t)
{
    struct interp_cta *cta = t->cta;
    assert(t->state == INTERP_ENDED && !t->frame);
    cta->run->effects++;
    warp_retry_collectives(t->warp);
    interp_cluster_leave(t);
    for (uint32_t id = 0; id < INTERP_NBARS; id++) {
        if (cta->bars[id].arrived && warp_bar_complete(cta, &cta->bars[id]))
            warp_bar_open(cta, id);
    }
}
