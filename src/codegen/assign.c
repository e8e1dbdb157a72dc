/*
 * Registers for virtual ones. The state is a picture: for every half position the set of machine
 * registers in use there. A virtual register finds what is free over all of its segments by or-ing
 * their pictures, shifted by one for each further unit; holes in its life, arguments in fixed
 * registers and what a call destroys are all the same thing.
 *
 * What does not fit is spilled first: wherever more is live than there are registers, those with
 * the fewest uses for their length, innermost loops counting most. Then virtual registers are
 * placed in the order of their start, wide ones first; one without a place spills the cheapest that
 * is in its way, and all begins anew.
 */
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

enum { WORDS = 4, BARRIERS = 16, ROUNDS = 40 };

struct picture {
    uint64_t used[WORDS];
};

struct assign {
    struct mc_func *f;
    struct live live;
    struct picture *at; /* by half position */
    uint8_t *preds;
    uint16_t *barriers;
    uint16_t *pressure; /* registers that are live there */
    uint8_t *pred_pressure;
    uint32_t *cost;   /* of spilling, by vreg: uses and definitions, by depth */
    uint32_t *length; /* half positions of its segments, by vreg */
    uint32_t *order;  /* vregs, by start */
    uint32_t npositions, most, used;
    uint32_t depth; /* of the block that is looked at */
};

static uint32_t first_of(const struct assign *a, const struct mc_vreg *v)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < v->width; i++) {
        uint32_t s = a->live.first[v->first + i];
        if (s)
            first = HD_MIN(first, a->live.segments.at[s - 1].start);
    }
    return first;
}

/* ---- what spilling costs */

static void count_use(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                      unsigned count, enum mc_class class)
{
    struct assign *a = context;

    (void)insn, (void)access, (void)count, (void)class;
    if (mc_is_virtual(*unit)) {
        uint32_t *cost = &a->cost[a->f->units.at[*unit - MC_UNITS].vreg];
        *cost = (uint32_t)HD_MIN((uint64_t)*cost + (UINT64_C(1) << (3 * HD_MIN(a->depth, 6u))),
                                 UINT64_C(1) << 30);
    }
}

static void find_costs(struct assign *a)
{
    struct mc_func *f = a->f;

    for (size_t i = 0; i < f->blocks.len; i++) {
        a->depth = f->blocks.at[i]->loop_depth;
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++)
            mc_visit(f, &f->blocks.at[i]->insns.at[k], count_use, a);
    }
    for (size_t v = 0; v < f->vregs.len; v++)
        for (uint32_t i = 0; i < f->vregs.at[v].width; i++)
            live_foreach(seg, &a->live, f->vregs.at[v].first + i) a->length[v] +=
                seg->end - seg->start;
}

/* Is a cheaper to spill than b? By cost for each half position. */
static bool is_cheaper(const struct assign *a, uint32_t x, uint32_t y)
{
    return (uint64_t)a->cost[x] * HD_MAX(a->length[y], 1u) <
           (uint64_t)a->cost[y] * HD_MAX(a->length[x], 1u);
}

static bool can_spill(const struct mc_vreg *v)
{
    return !v->is_tiny && !v->is_spilled && v->class != MC_BARRIER;
}

/* ---- more is live than there are registers */

static void add_pressure(struct assign *a, const struct mc_vreg *v, int sign)
{
    for (uint32_t i = 0; i < v->width; i++) {
        live_foreach(seg, &a->live, v->first + i)
        {
            for (uint32_t p = seg->start; p < seg->end; p++) {
                if (v->class == MC_REG)
                    a->pressure[p] = (uint16_t)(a->pressure[p] + sign);
                else if (v->class == MC_PRED)
                    a->pred_pressure[p] = (uint8_t)(a->pred_pressure[p] + sign);
            }
        }
    }
}

static bool is_live_at(const struct assign *a, const struct mc_vreg *v, uint32_t p)
{
    for (uint32_t i = 0; i < v->width; i++)
        live_foreach(seg, &a->live, v->first + i) if (seg->start <= p && p < seg->end) return true;
    return false;
}

/* How many registers a virtual one may use there: not those that a call destroys. */
static uint32_t room_at(const struct assign *a, const uint32_t *clobbered, uint32_t p)
{
    uint32_t lost = p % 2 ? clobbered[p / 2] : 0, own = a->f->has_stack;

    return a->most > HD_MAX(lost, own) ? a->most - HD_MAX(lost, own) : 0;
}

static uint32_t cheapest_at(const struct assign *a, uint32_t p, enum mc_class class)
{
    uint32_t best = UINT32_MAX;

    for (size_t v = 0; v < a->f->vregs.len; v++) {
        const struct mc_vreg *vreg = &a->f->vregs.at[v];

        if (vreg->class == class && can_spill(vreg) && a->length[v] && is_live_at(a, vreg, p) &&
            (best == UINT32_MAX || is_cheaper(a, (uint32_t)v, best)))
            best = (uint32_t)v;
    }
    return best;
}

static bool relieve(struct assign *a, uint32_t p, enum mc_class class)
{
    uint32_t v = cheapest_at(a, p, class);

    if (v == UINT32_MAX)
        return false;
    a->f->vregs.at[v].is_spilled = true;
    add_pressure(a, &a->f->vregs.at[v], -1);
    return true;
}

static bool find_clobbers(const struct assign *a, uint32_t *clobbered)
{
    bool any = false;

    for (size_t i = 0; i < a->f->blocks.len; i++) {
        const struct mc_block *b = a->f->blocks.at[i];
        for (size_t k = 0; k < b->insns.len; k++) {
            clobbered[b->first + k] = b->insns.at[k].clobbered;
            any |= b->insns.at[k].clobbered != 0;
        }
    }
    return any;
}

/* Marks what has to be spilled; true if there is something. */
static bool spill_pressure(struct assign *a, const uint32_t *clobbered)
{
    struct mc_func *f = a->f;
    bool any = false;

    for (size_t v = 0; v < f->vregs.len; v++)
        add_pressure(a, &f->vregs.at[v], 1);
    for (uint32_t p = 0; p < a->npositions; p++) {
        while (a->pressure[p] > room_at(a, clobbered, p) && relieve(a, p, MC_REG))
            any = true;
        uint32_t preds = p % 2 && clobbered[p / 2] ? 0 : f->settings->predicates;
        while (a->pred_pressure[p] > preds && relieve(a, p, MC_PRED))
            any = true;
    }
    return any;
}

/* ---- places */

static struct picture around(const struct assign *a, uint32_t unit)
{
    struct picture sum = {{0}};

    live_foreach(seg, &a->live, unit) for (uint32_t p = seg->start; p < seg->end;
                                           p++) for (unsigned i = 0; i < WORDS; i++) sum.used[i] |=
        a->at[p].used[i];
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
    live_foreach(seg, &a->live, unit) for (uint32_t p = seg->start; p < seg->end; p++) a->at[p]
        .used[r / 64] |= UINT64_C(1) << (r % 64);
    a->used = HD_MAX(a->used, r + 1);
}

static bool place_small(struct assign *a, struct mc_vreg *v)
{
    unsigned n = v->class == MC_PRED ? a->f->settings->predicates : BARRIERS;
    uint32_t sum = 0;

    live_foreach(seg, &a->live, v->first) for (uint32_t p = seg->start; p < seg->end; p++) sum |=
        v->class == MC_PRED ? a->preds[p] : a->barriers[p];
    for (unsigned r = 0; r < n; r++) {
        if (sum >> r & 1)
            continue;
        /* Who calls a routine may hold lanes; other functions are not called then. */
        bool top = v->class == MC_BARRIER && codegen_is_routine(a->f->ir);
        v->assigned = (int16_t)(top ? BARRIERS - 1 - r : r);
        live_foreach(seg, &a->live, v->first) for (uint32_t p = seg->start; p < seg->end; p++)
        {
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
        live_foreach(seg, &a->live, r) for (uint32_t p = seg->start; p < seg->end; p++) a->at[p]
            .used[r / 64] |= UINT64_C(1) << (r % 64);
    }
    for (uint32_t p = 0; p < a->npositions; p++) {
        if (a->f->has_stack)
            a->at[p].used[0] |= 1u << ISA_REG_STACK;
        if (p % 2 && clobbered[p / 2])
            a->preds[p] = 0x7f;
    }
}

static int by_start(const void *x, const void *y, void *context)
{
    const struct assign *a = context;
    const struct mc_vreg *v = &a->f->vregs.at[*(const uint32_t *)x];
    const struct mc_vreg *w = &a->f->vregs.at[*(const uint32_t *)y];
    uint32_t p = first_of(a, v), q = first_of(a, w);

    if (p != q)
        return p < q ? -1 : 1;
    if (v->width != w->width)
        return v->width > w->width ? -1 : 1;
    return v->first < w->first ? -1 : v->first > w->first;
}

static bool overlaps(const struct assign *a, const struct mc_vreg *v, const struct mc_vreg *w)
{
    for (uint32_t i = 0; i < v->width; i++)
        for (uint32_t k = 0; k < w->width; k++)
            if (live_overlap(&a->live, v->first + i, w->first + k))
                return true;
    return false;
}

/* No register for it: the cheapest of those in its way, or itself. */
static bool make_room(struct assign *a, uint32_t vreg)
{
    const struct mc_vreg *v = &a->f->vregs.at[vreg];
    uint32_t best = can_spill(v) ? vreg : UINT32_MAX;

    for (size_t w = 0; w < a->f->vregs.len; w++) {
        const struct mc_vreg *other = &a->f->vregs.at[w];

        if (w != vreg && other->class == v->class && other->assigned >= 0 && can_spill(other) &&
            (best == UINT32_MAX || is_cheaper(a, (uint32_t)w, best)) && overlaps(a, v, other))
            best = (uint32_t)w;
    }
    if (best == UINT32_MAX)
        return false;
    a->f->vregs.at[best].is_spilled = true;
    return true;
}

/* ---- rounds */

static void assign_fini(struct assign *a)
{
    live_fini(&a->live);
    hd_free(a->at);
    hd_free(a->preds);
    hd_free(a->barriers);
    hd_free(a->pressure);
    hd_free(a->pred_pressure);
    hd_free(a->cost);
    hd_free(a->length);
    hd_free(a->order);
}

static bool assign_init(struct assign *a)
{
    size_t n = a->f->vregs.len + 1;

    a->npositions = 2 * a->f->ninsns;
    a->at = hd_alloc_array(a->npositions + 1, sizeof(*a->at));
    a->preds = hd_alloc_array(a->npositions + 1, 1);
    a->barriers = hd_alloc_array(a->npositions + 1, sizeof(*a->barriers));
    a->pressure = hd_alloc_array(a->npositions + 1, sizeof(*a->pressure));
    a->pred_pressure = hd_alloc_array(a->npositions + 1, 1);
    a->cost = hd_alloc_array(n, sizeof(*a->cost));
    a->length = hd_alloc_array(n, sizeof(*a->length));
    a->order = hd_alloc_array(n, sizeof(*a->order));
    return a->at && a->preds && a->barriers && a->pressure && a->pred_pressure && a->cost &&
           a->length && a->order;
}

enum round { ROUND_DONE, ROUND_AGAIN, ROUND_FULL, ROUND_NO_MEMORY };

static enum round place_all(struct assign *a, const uint32_t *clobbered)
{
    struct mc_func *f = a->f;
    uint32_t n = 0;

    occupy_fixed(a, clobbered);
    for (size_t v = 0; v < f->vregs.len; v++) {
        f->vregs.at[v].assigned = -1;
        if (a->length[v])
            a->order[n++] = (uint32_t)v;
    }
    qsort_r(a->order, n, sizeof(*a->order), by_start, a);
    for (uint32_t i = 0; i < n; i++) {
        if (place(a, &f->vregs.at[a->order[i]]))
            continue;
        return make_room(a, a->order[i]) ? ROUND_AGAIN : ROUND_FULL;
    }
    return ROUND_DONE;
}

static enum round one_round(struct assign *a)
{
    uint32_t *clobbered = hd_alloc_array(a->f->ninsns + 1, sizeof(*clobbered));
    enum round end = ROUND_NO_MEMORY;

    if (clobbered && assign_init(a)) {
        find_clobbers(a, clobbered);
        find_costs(a);
        end = spill_pressure(a, clobbered) ? ROUND_AGAIN : place_all(a, clobbered);
    }
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
