/*
 * The order of the instructions of each block, while registers are still virtual: other work stands
 * between an instruction and who reads its result, and pipes are kept busy in turn.
 *
 * In each cycle the highest of those that can be issued goes next, unless more would be live then
 * than may be: then the one behind which the fewest are (region.h: what must come before what). A
 * shorter order is paid for with registers, and these with warps that would hide what is left of
 * the latency. So each region is ordered for several numbers of registers, and for the whole
 * function the number is taken that costs least: cycles of a warp by warps that fit, but no less
 * than what the pipes need for it.
 */
#include <string.h>

#include "base/mem.h"
#include "codegen/region.h"
#include "isa/machine.h"

#define ENOUGH 1.02 /* gain that more registers are taken for */

enum {
    PLANS = 5,
    REGISTERS_LEAST = 32, /* as few cost no warps on any machine */
    NO_ORDER = -1,
    AS_IT_IS = -1,
};

/* Registers of a plan: so many quarters of those that the code as it was needs. */
static const uint8_t quarters[PLANS] = {4, 5, 6, 8, 12};

/* Of a region, for each plan. */
struct choice {
    uint32_t block, first, n; /* its instructions */
    int32_t busy;             /* cycles that a pipe is kept */
    int32_t cycles[PLANS], peak[PLANS];
    int64_t order[PLANS]; /* index in `orders`; NO_ORDER: as it is */
};

struct order {
    uint16_t at[REGION_MOST];
    int32_t cycles, peak, pred_peak;
};

struct schedule {
    struct mc_func *f;
    struct live live;
    struct region region;
    int32_t *pressure[MC_CLASSES]; /* by half position */
    int32_t most, preds_most, allowed[PLANS];
    uint32_t ready[REGION_MOST], nready;
    struct order was, tried, best;
    HD_VEC(struct choice) choices;
    HD_VEC(uint16_t) orders;
};

/* ---- an order of a region */

struct now {
    int32_t cycle, live, preds;
    int32_t pipes[ISA_PIPES]; /* cycle from which each is free */
};

static int32_t issue_of(const struct now *now, const struct region_node *n)
{
    return HD_MAX(HD_MAX(now->cycle, n->earliest), now->pipes[n->pipe]);
}

/* How many more registers, or predicates, are live behind it. */
static int32_t growth_of(const struct region *r, const struct region_node *n, bool preds)
{
    int32_t growth = 0;

    region_foreach_ref(ref, r, n) {
        const struct region_unit *u = &r->units[ref->unit];

        if (ref->is_pred != preds)
            continue;
        if (ref->is_write)
            growth += !u->is_live && (u->left || u->leaves);
        else
            growth -= u->is_live && u->left == 1 && !u->leaves;
    }
    return growth;
}

static void count_live(struct region *r, struct now *now, const struct region_node *n)
{
    region_foreach_ref(ref, r, n) {
        struct region_unit *u = &r->units[ref->unit];
        int32_t *live = ref->is_pred ? &now->preds : &now->live;

        if (ref->is_write && !u->is_live && (u->left || u->leaves)) {
            u->is_live = true;
            ++*live;
        } else if (!ref->is_write && !--u->left && u->is_live && !u->leaves) {
            u->is_live = false;
            --*live;
        }
    }
}

static void begin(struct schedule *s, struct now *now, uint32_t start)
{
    struct region *r = &s->region;

    *now = (struct now){.live = s->pressure[MC_REG][start], .preds = s->pressure[MC_PRED][start]};
    s->nready = 0;
    for (size_t i = 0; i < r->touched.len; i++) {
        struct region_unit *u = &r->units[r->touched.at[i]];

        u->left = u->reads;
        u->is_live = u->comes;
    }
    for (uint32_t i = 0; i < r->nnodes; i++) {
        r->nodes[i].waits_for = r->nodes[i].npreds;
        r->nodes[i].earliest = 0;
        if (!r->nodes[i].npreds)
            s->ready[s->nready++] = i;
    }
}

/* Its issue. */
static int32_t put_next(struct schedule *s, struct now *now, uint32_t at)
{
    struct region *r = &s->region;
    const struct region_node *n = &r->nodes[at];
    int32_t issue = issue_of(now, n);

    count_live(r, now, n);
    now->cycle = issue + 1;
    now->pipes[n->pipe] = issue + n->occupies;
    region_foreach_edge(e, r, n) {
        struct region_node *to = &r->nodes[e->to];

        to->earliest = HD_MAX(to->earliest, issue + e->latency);
        if (!--to->waits_for)
            s->ready[s->nready++] = e->to;
    }
    return issue;
}

/* Index in `ready` of the one that can be issued first, of these the highest. */
static uint32_t quickest(const struct schedule *s, const struct now *now)
{
    uint32_t best = 0;
    int32_t best_issue = INT32_MAX;

    for (uint32_t i = 0; i < s->nready; i++) {
        const struct region_node *n = &s->region.nodes[s->ready[i]];
        const struct region_node *b = &s->region.nodes[s->ready[best]];
        int32_t issue = issue_of(now, n);

        if (issue < best_issue ||
            (issue == best_issue && (n->height > b->height || (n->height == b->height && n < b)))) {
            best = i;
            best_issue = issue;
        }
    }
    return best;
}

/* Of that behind which the fewest are live; the first as the code was. */
static uint32_t smallest(const struct schedule *s, bool preds)
{
    uint32_t best = 0;
    int32_t best_growth = INT32_MAX;

    for (uint32_t i = 0; i < s->nready; i++) {
        int32_t growth = growth_of(&s->region, &s->region.nodes[s->ready[i]], preds);

        if (growth < best_growth || (growth == best_growth && s->ready[i] < s->ready[best])) {
            best = i;
            best_growth = growth;
        }
    }
    return best;
}

static uint32_t choose(const struct schedule *s, const struct now *now, int32_t limit)
{
    uint32_t best = quickest(s, now);
    const struct region_node *n = &s->region.nodes[s->ready[best]];

    if (now->live + growth_of(&s->region, n, false) > limit)
        return smallest(s, false);
    if (now->preds + growth_of(&s->region, n, true) > s->preds_most)
        return smallest(s, true);
    return best;
}

/* With at most `limit` registers live, if that is found; AS_IT_IS: that of the code. */
static void make_order(struct schedule *s, uint32_t start, int32_t limit, struct order *out)
{
    struct now now;

    begin(s, &now, start);
    out->cycles = 0;
    out->peak = now.live;
    out->pred_peak = now.preds;
    for (uint32_t k = 0; k < s->region.nnodes; k++) {
        uint32_t at = k;
        int32_t issue;

        if (limit != AS_IT_IS) {
            uint32_t i = choose(s, &now, limit);

            at = s->ready[i];
            s->ready[i] = s->ready[--s->nready];
        }
        issue = put_next(s, &now, at);
        out->at[k] = (uint16_t)at;
        out->cycles = HD_MAX(out->cycles, issue + HD_MAX(s->region.nodes[at].latency, 1));
        out->peak = HD_MAX(out->peak, now.live);
        out->pred_peak = HD_MAX(out->pred_peak, now.preds);
    }
}

/* ---- the plans for a region */

/* The best order for so many registers is in s->best; false: it is that of the code. */
static bool order_best(struct schedule *s, uint32_t start, int32_t allowed)
{
    const struct order *was = &s->was, *tried = &s->tried;
    bool spills = was->peak > s->most;
    int32_t limits[2] = {spills ? 0 : allowed, spills ? 0 : allowed - allowed / 8};

    s->best = s->was;
    for (unsigned i = 0; i < HD_COUNT_OF(limits); i++) {
        make_order(s, start, limits[i], &s->tried);
        if (tried->pred_peak <= HD_MAX(was->pred_peak, s->preds_most) &&
            (spills ? tried->peak < was->peak
                    : tried->peak <= HD_MAX(allowed, was->peak) && tried->cycles < was->cycles)) {
            s->best = s->tried;
            return true;
        }
        if (spills || tried->peak <= limits[i])
            break;
    }
    return false;
}

/* Cycles for which the busiest pipe, or the issue, is kept. */
static int32_t busy_of(const struct region *r)
{
    int32_t cycles[ISA_PIPES] = {0}, most = (int32_t)r->nnodes;

    for (uint32_t i = 0; i < r->nnodes; i++)
        cycles[r->nodes[i].pipe] += r->nodes[i].occupies;
    for (unsigned p = 0; p < ISA_PIPES; p++)
        most = HD_MAX(most, cycles[p]);
    return most;
}

static bool keep_order(struct schedule *s, struct choice *c, unsigned plan, bool is_new)
{
    c->cycles[plan] = s->best.cycles;
    c->peak[plan] = s->best.peak;
    c->order[plan] = is_new ? (int64_t)s->orders.len : NO_ORDER;
    for (uint32_t i = 0; i < c->n && is_new; i++)
        if (!hd_vec_push(&s->orders, s->best.at[i]))
            return false;
    return true;
}

static bool plan_region(struct schedule *s, const struct mc_block *b, uint32_t first)
{
    uint32_t start = 2 * (b->first + first);
    struct choice c = {
        .block = b->id, .first = first, .n = s->region.nnodes, .busy = busy_of(&s->region)};
    bool ok = true;

    make_order(s, start, AS_IT_IS, &s->was);
    for (unsigned plan = 0; plan < PLANS && ok; plan++) {
        /* With registers to spare no more of them help. */
        if (plan && (s->was.peak > s->most || s->tried.peak < s->allowed[plan - 1])) {
            c.cycles[plan] = c.cycles[plan - 1];
            c.peak[plan] = c.peak[plan - 1];
            c.order[plan] = c.order[plan - 1];
            continue;
        }
        ok = keep_order(s, &c, plan, order_best(s, start, s->allowed[plan]));
    }
    return ok && hd_vec_push(&s->choices, c);
}

/* ---- one plan for the function */

/* The eighth: where pipes are the limit, the plan that is so with fewer warps is the better one. */
static double cost_of(const struct schedule *s, unsigned plan)
{
    int32_t peak = 0;
    double warps, cost = 0;

    for (size_t i = 0; i < s->choices.len; i++)
        peak = HD_MAX(peak, s->choices.at[i].peak[plan]);
    warps = mc_warps_of((uint32_t)HD_MAX(peak, 0));
    for (size_t i = 0; i < s->choices.len; i++) {
        const struct choice *c = &s->choices.at[i];
        double hidden = c->cycles[plan] / warps, cycles = HD_MAX(hidden, c->busy) + hidden / 8;

        cost += cycles * (double)mc_block_weight(s->f, s->f->blocks.at[c->block]);
    }
    return cost;
}

static bool apply(struct schedule *s, unsigned plan)
{
    struct mc_insn *sorted = hd_alloc_array(REGION_MOST, sizeof(*sorted));

    for (size_t k = 0; k < s->choices.len && sorted; k++) {
        const struct choice *c = &s->choices.at[k];
        struct mc_insn *at = &s->f->blocks.at[c->block]->insns.at[c->first];

        if (c->order[plan] == NO_ORDER)
            continue;
        for (uint32_t i = 0; i < c->n; i++)
            sorted[i] = at[s->orders.at[c->order[plan] + i]];
        memcpy(at, sorted, c->n * sizeof(*sorted));
    }
    hd_free(sorted);
    return sorted != NULL;
}

/* ---- what is live */

/* The largest number of registers that are live at once. */
static int32_t find_pressure(struct schedule *s)
{
    int32_t most = 0;

    for (uint32_t u = 0; u < s->live.nunits; u++) {
        int32_t *at = s->pressure[mc_is_virtual(u) ? mc_vreg_of(s->f, u)->class : MC_REG];

        live_foreach(seg, &s->live, u) {
            at[seg->start]++;
            at[seg->end]--;
        }
    }
    for (uint32_t p = 1; p <= 2 * s->f->ninsns; p++) {
        s->pressure[MC_REG][p] += s->pressure[MC_REG][p - 1];
        s->pressure[MC_PRED][p] += s->pressure[MC_PRED][p - 1];
        most = HD_MAX(most, s->pressure[MC_REG][p]);
    }
    return most;
}

static bool find_allowed(struct schedule *s, int32_t most)
{
    int32_t peak, step = (int32_t)isa_subcore(ISA_SUBCORE_REGISTERS_STEP);

    for (unsigned class = 0; class < MC_CLASSES; class ++) {
        s->pressure[class] =
            hd_alloc_array(2 * (size_t)s->f->ninsns + 2, sizeof(*s->pressure[class]));
        if (!s->pressure[class])
            return false;
    }
    peak = find_pressure(s);
    peak = HD_MAX(peak, REGISTERS_LEAST);
    s->most = most;
    s->preds_most = (int32_t)s->f->settings->predicates - 1; /* one is left for copies */
    for (unsigned plan = 0; plan < PLANS; plan++)
        s->allowed[plan] = HD_MIN((peak * quarters[plan] / 4 + step - 1) / step * step, s->most);
    return true;
}

static bool plan_all(struct schedule *s)
{
    for (size_t i = 0; i < s->f->blocks.len; i++) {
        struct mc_block *b = s->f->blocks.at[i];

        for (uint32_t first = 0, next; first < b->insns.len; first = next) {
            next = region_build(&s->region, b, first);
            if (s->f->failed || (s->region.nnodes > 1 && !plan_region(s, b, first)))
                return false;
        }
    }
    return true;
}

static enum hd_status schedule_all(struct schedule *s, uint32_t most)
{
    double costs[PLANS];
    unsigned best = 0;

    HD_TRY(live_compute(s->f, &s->live));
    HD_TRY(region_init(&s->region, s->f, &s->live));
    if (!find_allowed(s, (int32_t)most) || !plan_all(s))
        return hd_error(HD_NO_MEMORY, "function %s: no memory", s->f->ir->name);
    for (unsigned plan = 0; plan < PLANS; plan++) {
        costs[plan] = cost_of(s, plan);
        if (costs[plan] * ENOUGH < costs[best] && !s->f->settings->order)
            best = plan;
        if (s->f->settings->order == 25u * quarters[plan])
            best = plan;
    }
    if (!apply(s, best))
        return hd_error(HD_NO_MEMORY, "function %s: no memory", s->f->ir->name);
    return HD_OK;
}

enum hd_status schedule(struct mc_func *f, uint32_t most)
{
    struct schedule *s = hd_alloc_array(1, sizeof(*s));
    enum hd_status status;

    if (!s)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    s->f = f;
    status = schedule_all(s, most);
    live_fini(&s->live);
    region_fini(&s->region);
    hd_vec_fini(&s->choices);
    hd_vec_fini(&s->orders);
    for (unsigned class = 0; class < MC_CLASSES; class ++)
        hd_free(s->pressure[class]);
    hd_free(s);
    return status;
}
