/*
 * Registers for virtual ones. The state is a picture: for every half position the set of machine
 * registers in use there. A virtual register finds what is free over all of its segments by or-ing
 * their pictures, shifted by one for each further unit; holes in its life, arguments in fixed
 * registers and what a call destroys are all the same thing.
 *
 * What does not fit is spilled first: wherever more is live than there are registers, those with
 * the fewest uses for their length, each as often as its block runs. Then virtual registers are
 * placed in the order of their start, wide ones first; one without a place spills what is in its
 * way where that is cheapest, or itself, and all begins anew.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

enum { WORDS = 4, ROUNDS = 40, FAILURES = 64 /* in a round */ };

enum round { ROUND_DONE, ROUND_AGAIN, ROUND_FULL, ROUND_NO_MEMORY };

struct picture {
    uint64_t used[WORDS];
};

struct assign {
    struct mc_func *f;
    struct live live;
    struct picture *at; /* by half position */
    uint8_t *preds;
    uint16_t *barriers;
    int32_t *steps[MC_CLASSES]; /* how many more are live there than before */
    uint32_t *cost;             /* of spilling, by vreg: uses and definitions, by weight */
    uint32_t *start;            /* half position of the first segment, by vreg */
    uint32_t *length;           /* half positions of its segments, by vreg */
    uint32_t *order;            /* vregs that live anywhere, by start */
    uint32_t norder;
    uint32_t npositions, most, used;
    uint64_t weight; /* of the block that is looked at */
};

static int by_start(const void *x, const void *y, void *context)
{
    const struct assign *a = context;
    const struct mc_vreg *v = &a->f->vregs.at[*(const uint32_t *)x];
    const struct mc_vreg *w = &a->f->vregs.at[*(const uint32_t *)y];
    uint32_t p = a->start[v - a->f->vregs.at], q = a->start[w - a->f->vregs.at];

    if (p != q)
        return p < q ? -1 : 1;
    if (v->width != w->width)
        return v->width > w->width ? -1 : 1;
    return v->first < w->first ? -1 : v->first > w->first;
}

/* ---- what spilling costs */

static void count_use(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                      unsigned count, enum mc_class class)
{
    struct assign *a = context;

    (void)insn, (void)access, (void)count, (void)class;
    if (mc_is_virtual(*unit)) {
        uint32_t *cost = &a->cost[a->f->units.at[*unit - MC_UNITS].vreg];
        *cost = (uint32_t)HD_MIN(*cost + a->weight, UINT64_C(1) << 30);
    }
}

static void find_costs(struct assign *a)
{
    struct mc_func *f = a->f;

    for (size_t i = 0; i < f->blocks.len; i++) {
        a->weight = mc_block_weight(f, f->blocks.at[i]);
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++)
            mc_visit(f, &f->blocks.at[i]->insns.at[k], count_use, a);
    }
    for (size_t v = 0; v < f->vregs.len; v++) {
        a->start[v] = UINT32_MAX;
        for (uint32_t i = 0; i < f->vregs.at[v].width; i++)
            live_foreach(seg, &a->live, f->vregs.at[v].first + i) {
                a->start[v] = HD_MIN(a->start[v], seg->start);
                a->length[v] += seg->end - seg->start;
            }
    }
}

static bool can_spill(const struct mc_vreg *v)
{
    return !v->is_tiny && !v->is_spilled && v->class != MC_BARRIER;
}

/* Of spilling, for each half position. */
static double price_of(const struct assign *a, uint32_t vreg)
{
    return can_spill(&a->f->vregs.at[vreg]) ? (double)a->cost[vreg] / HD_MAX(a->length[vreg], 1u)
                                            : INFINITY;
}

/* ---- more is live than there are registers */

/*
 * Goes over the positions in their order. Those that have begun are in a heap, the cheapest first;
 * which are over is seen when they come up.
 */
struct heap {
    uint32_t *at; /* vregs */
    uint32_t n;
};

struct sweep {
    struct assign *a;
    enum mc_class class;
    struct heap heap;
    uint32_t *aside; /* those that have a hole there, for a moment */
    uint32_t p;
    int32_t live;
};

static void heap_put(const struct assign *a, struct heap *h, uint32_t v)
{
    uint32_t i = h->n++;

    for (; i && price_of(a, v) < price_of(a, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = v;
}

static uint32_t heap_take(const struct assign *a, struct heap *h)
{
    uint32_t best = h->at[0], last = h->at[--h->n], i = 0;

    for (uint32_t k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && price_of(a, h->at[k + 1]) < price_of(a, h->at[k]))
            k++;
        if (price_of(a, h->at[k]) >= price_of(a, last))
            break;
        h->at[i] = h->at[k];
    }
    h->at[i] = last;
    return best;
}

/* It is live no more, from the position on. */
static void take_away(struct sweep *s, const struct mc_vreg *v)
{
    int32_t *steps = s->a->steps[s->class];

    for (uint32_t i = 0; i < v->width; i++)
        live_foreach(seg, &s->a->live, v->first + i) {
            if (seg->end <= s->p)
                continue;
            steps[seg->end]++;
            if (seg->start <= s->p)
                s->live--;
            else
                steps[seg->start]--;
        }
}

/* Does it live there, or only later, or (both false) no more? */
static void where(const struct sweep *s, const struct mc_vreg *v, bool *is_live, bool *comes_again)
{
    *is_live = *comes_again = false;
    for (uint32_t i = 0; i < v->width; i++)
        live_foreach(seg, &s->a->live, v->first + i) {
            *is_live |= seg->start <= s->p && s->p < seg->end;
            *comes_again |= seg->start > s->p;
        }
}

/* Spills the cheapest that lives there; false: none can be. */
static bool relieve(struct sweep *s)
{
    uint32_t naside = 0;
    bool found = false;

    while (s->heap.n && !found) {
        uint32_t v = heap_take(s->a, &s->heap);
        struct mc_vreg *vreg = &s->a->f->vregs.at[v];
        bool comes_again;

        where(s, vreg, &found, &comes_again);
        if (found) {
            vreg->is_spilled = true;
            take_away(s, vreg);
        } else if (comes_again) {
            s->aside[naside++] = v;
        }
    }
    while (naside)
        heap_put(s->a, &s->heap, s->aside[--naside]);
    return found;
}

static void find_clobbers(const struct assign *a, uint32_t *clobbered)
{
    for (size_t i = 0; i < a->f->blocks.len; i++) {
        const struct mc_block *b = a->f->blocks.at[i];

        for (size_t k = 0; k < b->insns.len; k++)
            clobbered[b->first + k] = b->insns.at[k].clobbered;
    }
}

/* How many virtual ones may live there: not in those that a call destroys. */
static int32_t most_at(const struct assign *a, enum mc_class class, const uint32_t *clobbered,
                       uint32_t p)
{
    uint32_t lost = p % 2 ? clobbered[p / 2] : 0, own = a->f->has_stack;

    if (class == MC_PRED)
        return lost ? 0 : (int32_t)a->f->settings->predicates;
    return (int32_t)a->most - (int32_t)HD_MIN(HD_MAX(lost, own), a->most);
}

/* Marks what has to be spilled. */
static enum round spill_class(struct assign *a, enum mc_class class, const uint32_t *clobbered)
{
    struct sweep s = {.a = a, .class = class};
    bool any = false;

    a->steps[class] = hd_alloc_array(a->npositions + 1, sizeof(*a->steps[class]));
    s.heap.at = hd_alloc_array(a->norder + 1, sizeof(*s.heap.at));
    s.aside = hd_alloc_array(a->norder + 1, sizeof(*s.aside));
    if (!a->steps[class] || !s.heap.at || !s.aside) {
        hd_free(s.heap.at);
        hd_free(s.aside);
        return ROUND_NO_MEMORY;
    }
    for (uint32_t i = 0; i < a->norder; i++) {
        const struct mc_vreg *v = &a->f->vregs.at[a->order[i]];

        for (uint32_t k = 0; k < v->width && v->class == class; k++)
            live_foreach(seg, &a->live, v->first + k) {
                a->steps[class][seg->start]++;
                a->steps[class][seg->end]--;
            }
    }
    for (uint32_t next = 0; s.p < a->npositions; s.p++) {
        for (; next < a->norder && a->start[a->order[next]] <= s.p; next++) {
            const struct mc_vreg *v = &a->f->vregs.at[a->order[next]];

            if (v->class == class && can_spill(v))
                heap_put(a, &s.heap, a->order[next]);
        }
        s.live += a->steps[class][s.p];
        while (s.live > most_at(a, class, clobbered, s.p) && relieve(&s))
            any = true;
    }
    hd_free(s.heap.at);
    hd_free(s.aside);
    return any ? ROUND_AGAIN : ROUND_DONE;
}

/* ---- places */

static struct picture around(const struct assign *a, uint32_t unit)
{
    bool pred = mc_vreg_of(a->f, unit)->class == MC_PRED;
    struct picture sum = {{0}};

    live_foreach(seg, &a->live, unit) {
        for (uint32_t p = seg->start; p < seg->end && pred; p++)
            sum.used[0] |= a->preds[p];
        for (uint32_t p = seg->start; p < seg->end && !pred; p++)
            for (unsigned i = 0; i < WORDS; i++)
                sum.used[i] |= a->at[p].used[i];
    }
    return sum;
}

/* Bit r of the result: bit r + n of the picture. */
static struct picture shifted(struct picture p, unsigned n)
{
    struct picture r = {{0}};

    for (unsigned i = 0; i < WORDS; i++) {
        unsigned from = i + n / 64;
        if (from < WORDS)
            r.used[i] = p.used[from] >> (n % 64);
        if (n % 64 && from + 1 < WORDS)
            r.used[i] |= p.used[from + 1] << (64 - n % 64);
    }
    return r;
}

static bool has(const struct picture *p, uint32_t r)
{
    return p->used[r / 64] >> (r % 64) & 1;
}

/* The best register: one whose neighbour is in use, so that pairs and quads stay whole. */
static int place_of(const struct assign *a, const struct mc_vreg *v)
{
    struct picture sum = {{0}};
    int best = -1;

    for (uint32_t i = 0; i < v->width; i++) {
        struct picture p = shifted(around(a, v->first + i), i);
        for (unsigned k = 0; k < WORDS; k++)
            sum.used[k] |= p.used[k];
    }
    for (uint32_t r = 0; r + v->width <= a->most; r += v->align) {
        if (has(&sum, r))
            continue;
        if (v->width > 1 || has(&sum, r ^ 1))
            return (int)r;
        if (best < 0)
            best = (int)r;
    }
    return best;
}

static void occupy(struct assign *a, uint32_t unit, uint32_t r)
{
    live_foreach(seg, &a->live, unit)
        for (uint32_t p = seg->start; p < seg->end; p++)
            a->at[p].used[r / 64] |= UINT64_C(1) << (r % 64);
    a->used = HD_MAX(a->used, r + 1);
}

static bool place_small(struct assign *a, struct mc_vreg *v)
{
    /* Who calls a routine may hold lanes; other functions are not called then. */
    bool top = v->class == MC_BARRIER && codegen_is_routine(a->f->ir);
    unsigned n = v->class == MC_PRED ? a->f->settings->predicates
                 : top               ? CODEGEN_ROUTINE_BARRIERS
                                     : CONVERGE_MOST;
    uint32_t sum = 0;

    live_foreach(seg, &a->live, v->first)
        for (uint32_t p = seg->start; p < seg->end; p++)
            sum |= v->class == MC_PRED ? a->preds[p] : a->barriers[p];
    for (unsigned i = 0; i < n; i++) {
        unsigned r = top ? CONVERGE_BARRIERS - 1 - i : i;

        if (sum >> r & 1)
            continue;
        v->assigned = (int16_t)r;
        live_foreach(seg, &a->live, v->first)
            for (uint32_t p = seg->start; p < seg->end; p++) {
                a->preds[p] |= v->class == MC_PRED ? (uint8_t)(1u << r) : 0;
                a->barriers[p] |= v->class == MC_BARRIER ? (uint16_t)(1u << r) : 0;
            }
        return true;
    }
    return false;
}

static bool place(struct assign *a, struct mc_vreg *v)
{
    int r;

    if (v->class != MC_REG)
        return place_small(a, v);
    r = place_of(a, v);
    if (r < 0)
        return false;
    v->assigned = (int16_t)r;
    for (uint32_t i = 0; i < v->width; i++)
        occupy(a, v->first + i, (uint32_t)r + i);
    return true;
}

/* Registers that are none of the virtual ones: fixed, and destroyed. */
static void occupy_fixed(struct assign *a, const uint32_t *clobbered)
{
    for (uint32_t r = 0; r < ISA_RZ; r++) {
        if (r == ISA_REG_STACK && a->f->has_stack)
            continue;
        live_foreach(seg, &a->live, r)
            for (uint32_t p = seg->start; p < seg->end; p++)
                a->at[p].used[r / 64] |= UINT64_C(1) << (r % 64);
    }
    for (uint32_t p = 0; p < a->npositions; p++) {
        if (a->f->has_stack)
            a->at[p].used[0] |= 1u << ISA_REG_STACK;
        if (p % 2 && clobbered[p / 2])
            a->preds[p] = 0x7f;
    }
}

static bool overlaps(const struct assign *a, const struct mc_vreg *v, const struct mc_vreg *w)
{
    for (uint32_t i = 0; i < v->width; i++)
        for (uint32_t k = 0; k < w->width; k++)
            if (live_overlap(&a->live, v->first + i, w->first + k))
                return true;
    return false;
}

/* Of what is in its way in each register; NAN: nothing virtual is. */
static void find_prices(const struct assign *a, uint32_t vreg, double *prices)
{
    const struct mc_vreg *v = &a->f->vregs.at[vreg];

    for (unsigned r = 0; r < MC_UNITS; r++)
        prices[r] = NAN;
    for (uint32_t k = 0; k < a->norder; k++) {
        const struct mc_vreg *other = &a->f->vregs.at[a->order[k]];

        if (other == v || other->class != v->class || other->assigned < 0 || !overlaps(a, v, other))
            continue;
        for (uint32_t i = 0; i < other->width; i++) {
            double *price = &prices[other->assigned + i];
            *price = (isnan(*price) ? 0 : *price) + price_of(a, a->order[k]);
        }
    }
}

/* The registers that are cheapest to empty, and their price. */
static uint32_t cheapest_place(const struct assign *a, const struct mc_vreg *v,
                               const double *prices, double *out_price)
{
    uint32_t n = v->class == MC_REG ? a->most : a->f->settings->predicates, best = 0;

    *out_price = INFINITY;
    for (uint32_t r = 0; r + v->width <= n; r += v->align) {
        double sum = 0;

        for (uint32_t i = 0; i < v->width; i++) {
            struct picture in_use = around(a, v->first + i);

            if (!isnan(prices[r + i]))
                sum += prices[r + i];
            else if (has(&in_use, r + i)) /* fixed, or destroyed there */
                sum = INFINITY;
        }
        if (sum < *out_price) {
            *out_price = sum;
            best = r;
        }
    }
    return best;
}

/* No register for it: those in its way where they are the cheapest, or itself; false: neither. */
static bool make_room(struct assign *a, uint32_t vreg)
{
    struct mc_vreg *v = &a->f->vregs.at[vreg];
    double prices[MC_UNITS], price;
    uint32_t place;

    find_prices(a, vreg, prices);
    place = cheapest_place(a, v, prices, &price);
    if (isinf(price) && !can_spill(v))
        return false;
    if (can_spill(v) && price_of(a, vreg) <= price) {
        v->is_spilled = true;
        return true;
    }
    for (uint32_t k = 0; k < a->norder; k++) {
        struct mc_vreg *other = &a->f->vregs.at[a->order[k]];

        if (other != v && other->class == v->class && other->assigned >= 0 &&
            (uint32_t)other->assigned < place + v->width &&
            place < (uint32_t)other->assigned + other->width && overlaps(a, v, other))
            other->is_spilled = true, other->assigned = -1;
    }
    v->assigned = (int16_t)place; /* for those that come behind it in this round */
    return true;
}

/* ---- rounds */

static void assign_fini(struct assign *a)
{
    live_fini(&a->live);
    hd_free(a->at);
    hd_free(a->preds);
    hd_free(a->barriers);
    hd_free(a->steps[MC_REG]);
    hd_free(a->steps[MC_PRED]);
    hd_free(a->cost);
    hd_free(a->length);
    hd_free(a->start);
    hd_free(a->order);
}

static bool assign_init(struct assign *a)
{
    size_t n = a->f->vregs.len + 1;

    a->npositions = 2 * a->f->ninsns;
    a->at = hd_alloc_array(a->npositions + 1, sizeof(*a->at));
    a->preds = hd_alloc_array(a->npositions + 1, 1);
    a->barriers = hd_alloc_array(a->npositions + 1, sizeof(*a->barriers));
    a->cost = hd_alloc_array(n, sizeof(*a->cost));
    a->length = hd_alloc_array(n, sizeof(*a->length));
    a->start = hd_alloc_array(n, sizeof(*a->start));
    a->order = hd_alloc_array(n, sizeof(*a->order));
    return a->at && a->preds && a->barriers && a->cost && a->length && a->start && a->order;
}

static enum round place_all(struct assign *a, const uint32_t *clobbered)
{
    struct mc_func *f = a->f;
    unsigned failures = 0;

    occupy_fixed(a, clobbered);
    for (size_t v = 0; v < f->vregs.len; v++)
        f->vregs.at[v].assigned = -1;
    for (uint32_t i = 0; i < a->norder && failures < FAILURES; i++) {
        if (place(a, &f->vregs.at[a->order[i]]))
            continue;
        if (!make_room(a, a->order[i]))
            return failures ? ROUND_AGAIN : ROUND_FULL;
        failures++;
    }
    return failures ? ROUND_AGAIN : ROUND_DONE;
}

static enum round one_round(struct assign *a)
{
    uint32_t *clobbered = hd_alloc_array(a->f->ninsns + 1, sizeof(*clobbered));
    enum round regs = ROUND_NO_MEMORY, preds = ROUND_NO_MEMORY, end = ROUND_NO_MEMORY;

    if (clobbered && assign_init(a)) {
        find_clobbers(a, clobbered);
        find_costs(a);
        for (size_t v = 0; v < a->f->vregs.len; v++)
            if (a->length[v])
                a->order[a->norder++] = (uint32_t)v;
        qsort_r(a->order, a->norder, sizeof(*a->order), by_start, a);
        regs = spill_class(a, MC_REG, clobbered);
        preds = spill_class(a, MC_PRED, clobbered);
        end = HD_MAX(regs, preds);
    }
    if (end == ROUND_DONE)
        end = place_all(a, clobbered);
    hd_free(clobbered);
    return end;
}

enum hd_status assign_registers(struct mc_func *f, uint32_t most, uint32_t *out_used)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct assign a = {.f = f, .most = most};
        enum round end;

        HD_TRY(live_compute(f, &a.live));
        end = one_round(&a);
        *out_used = a.used;
        assign_fini(&a);
        if (end == ROUND_NO_MEMORY)
            return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
        if (end == ROUND_DONE)
            return HD_OK;
        if (end == ROUND_FULL)
            break;
        HD_TRY(spill_rewrite(f));
    }
    return hd_error(HD_NOT_SUPPORTED, "function %s: %u registers are not enough", f->ir->name,
                    most);
}
