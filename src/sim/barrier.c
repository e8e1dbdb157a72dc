/* Barriers of CTAs and clusters, and what they hear of lanes that end. */
#include "base/mem.h"
#include "model/tensor.h"
#include "sim/sim_private.h"

static bool bar_complete(const struct sim_cta *cta, const struct sim_bar *bar)
{
    uint32_t total = 0;

    if (!bar->count)
        return bar->arrived >= cta->live;
    for (uint32_t w = 0; w < cta->nwarps; w++) {
        uint32_t n = bar->by_warp[w], alive = (uint32_t)__builtin_popcount(cta->warps[w].live);

        total += n && n >= alive ? HD_MAX(n, (uint32_t)SIM_LANES) : n;
    }
    return total >= bar->count;
}

enum { SYNC, ARRIVE, RED_POPC, RED_AND, RED_OR };

/* The results of those who waited. */
static void bar_answer(struct sim_warp *w, const struct sim_group *g, const struct sim_bar *done)
{
    const struct sim_op *op = &w->run->program->ops[g->pc];
    unsigned how = isa_mod_value(op->insn, ISA_MOD_BAR_OP);
    uint32_t *d = w->regs + op->d * SIM_LANES, result = done->votes;

    if (how == SYNC)
        return;
    if (how == RED_AND)
        result = done->votes == done->arrived;
    else if (how == RED_OR)
        result = done->votes != 0;
    SIM_FOR_LANES(lane, g->mask) d[lane] = result;
    sim_set_pred(w, op, op->pd, g->mask, result ? UINT32_MAX : 0);
}

static void bar_open(struct sim_cta *cta, uint32_t id)
{
    const struct sim_bar done = cta->bars[id];

    assert(id < SIM_NBARS && done.arrived);
    cta->bars[id] = (struct sim_bar){0};
    cta->run->effects++;
    for (uint32_t i = 0; i < cta->nwarps; i++) {
        struct sim_warp *w = &cta->warps[i];

        for (uint32_t g = 0; g < w->ngroups; g++) {
            if (w->groups[g].wait != SIM_AT_BAR || w->groups[g].arg != id)
                continue;
            bar_answer(w, &w->groups[g], &done);
            sim_group_release(&w->groups[g]);
        }
    }
}

/* Lanes with the same number and count arrive. */
static enum sim_step bar_arrive(struct sim_warp *w, uint32_t lanes, uint32_t id, uint32_t count,
                                bool waits, uint32_t votes)
{
    struct sim_cta *cta = w->cta;
    struct sim_bar *bar;

    if (id >= SIM_NBARS)
        return sim_fail(w, (unsigned)__builtin_ctz(lanes), HD_TRAP, "barrier number %u", id);
    bar = &cta->bars[id];
    if (bar->arrived && bar->count != count)
        return sim_fail(w, (unsigned)__builtin_ctz(lanes), HD_TRAP,
                        "barrier %u used with counts %u and %u", id, bar->count, count);
    bar->count = count;
    bar->arrived += (uint32_t)__builtin_popcount(lanes);
    bar->by_warp[w->index] += (uint32_t)__builtin_popcount(lanes);
    bar->votes += (uint32_t)__builtin_popcount(votes & lanes);
    if (waits) {
        struct sim_group *g = sim_group_of(w);

        if (lanes != g->mask)
            g = sim_group_split(w, w->current, lanes);
        g->wait = SIM_AT_BAR;
        g->arg = id;
    }
    if (bar_complete(cta, bar))
        bar_open(cta, id);
    return SIM_NEXT;
}

enum sim_step sim_exec_bar(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    bool by_register = op->insn->op == ISA_BAR_R;
    bool waits = isa_mod_value(op->insn, ISA_MOD_BAR_OP) != ARRIVE;
    uint32_t votes = sim_pred(w, op, op->pa, op->pa_not);
    uint32_t id = (uint32_t)sim_field(op->insn, ISA_FIELD_CTA_BAR, 0);
    uint32_t count = (uint32_t)sim_field(op->insn, ISA_FIELD_THREADS, 0);
    const uint32_t *ids = sim_src_rows(w, op, 1), *counts = sim_src_rows(w, op, 2);
    uint32_t pc = sim_group_of(w)->pc, all = sim_group_of(w)->mask;

    w->has_waited = false;
    for (uint32_t left = mask; left;) {
        unsigned first = (unsigned)__builtin_ctz(left);
        uint32_t same = left;

        if (by_register) {
            id = ids[first];
            count = counts[first];
            SIM_FOR_LANES(lane, left)
            if (ids[lane] != id || counts[lane] != count)
                same &= ~(1u << lane);
        }
        left &= ~same;
        if (bar_arrive(w, same, id, count, waits, votes) != SIM_NEXT)
            return SIM_STOP;
    }
    if (!waits)
        return SIM_NEXT;
    if (mask != all) { /* the others go on; they are still the current group */
        if (sim_group_of(w)->pc == pc)
            sim_group_of(w)->pc++;
        return SIM_JUMPED;
    }
    return sim_group_of(w)->wait == SIM_RUNS ? SIM_JUMPED : SIM_STOP;
}

/* ---- the cluster's */

void sim_cluster_init(struct sim_cluster *cluster, uint32_t live)
{
    *cluster = (struct sim_cluster){.live = live};
}

void sim_cluster_fini(struct sim_cluster *cluster)
{
    for (unsigned i = 0; i < HD_COUNT_OF(cluster->tensor); i++) {
        hd_free(cluster->tensor[i]);
        cluster->tensor[i] = NULL;
    }
}

static void cluster_open_if_complete(struct sim_cta *cta)
{
    struct sim_cluster *c = cta->cluster;

    if (!c->arrived || c->arrived < c->live)
        return;
    c->arrived = 0;
    c->generation++;
    cta->run->effects++;
}

/* Is the round over that the lane arrived in? One that did not arrive waits for nothing. */
static bool cluster_is_open(const struct sim_warp *w, unsigned lane)
{
    return !(w->at_cluster >> lane & 1) || w->generation[lane] != w->cta->cluster->generation;
}

static uint32_t cluster_closed(const struct sim_warp *w, uint32_t lanes)
{
    uint32_t closed = 0;

    SIM_FOR_LANES(lane, lanes) closed |= (uint32_t)!cluster_is_open(w, lane) << lane;
    return closed;
}

enum sim_step sim_exec_cluster_bar(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_cluster *c = w->cta->cluster;
    bool waits = isa_mod_value(op->insn, ISA_MOD_CLUSTER_BAR);

    w->has_waited = false;
    if (!waits) {
        SIM_FOR_LANES(lane, mask)
        {
            c->arrived += cluster_is_open(w, lane);
            w->at_cluster |= 1u << lane;
            w->generation[lane] = c->generation;
        }
        cluster_open_if_complete(w->cta);
        return SIM_NEXT;
    }
    if (!cluster_closed(w, mask))
        return SIM_NEXT;
    if (mask == sim_group_of(w)->mask)
        return sim_group_wait(w, SIM_AT_CLUSTER, 0);
    sim_group_split(w, w->current, mask)->wait = SIM_AT_CLUSTER;
    return SIM_NEXT;
}

void sim_settle_cluster(struct sim_warp *w)
{
    for (uint32_t g = 0; g < w->ngroups; g++)
        if (w->groups[g].wait == SIM_AT_CLUSTER && !cluster_closed(w, w->groups[g].mask))
            sim_group_release(&w->groups[g]);
}

/* ---- the end of lanes */

void sim_lanes_gone(struct sim_warp *w, uint32_t lanes)
{
    struct sim_cta *cta = w->cta;
    struct sim_cluster *c = cta->cluster;
    uint32_t n = (uint32_t)__builtin_popcount(lanes);

    assert(cta->live >= n && c->live >= n);
    cta->run->effects++;
    cta->live -= n;
    c->arrived -= (uint32_t)__builtin_popcount(cluster_closed(w, lanes)); /* counts once */
    c->live -= n;
    cluster_open_if_complete(cta);
    for (uint32_t id = 0; id < SIM_NBARS; id++)
        if (cta->bars[id].arrived && bar_complete(cta, &cta->bars[id]))
            bar_open(cta, id);
    if (!cta->live && c->tensor[cta->rank] && ir_tensor_columns_left(c->tensor[cta->rank]))
        sim_fail(w, (unsigned)__builtin_ctz(lanes), HD_TRAP, "%s", IR_TENSOR_LEFT);
}
