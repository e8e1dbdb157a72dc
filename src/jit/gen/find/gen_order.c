/*
 * In which order the warps of a region run.
 *
 * On a GPU all warps read what they read right after a barrier before any of them has come far. A
 * kernel that takes its left neighbour's value there, x = s[tid - 1], and later writes s[tid]
 * before the next barrier has a race that GPUs win. Here the warps run one after the other: from
 * the first to the last, the second would read what the first has just written. From the last to
 * the first it does not, and costs nothing; a right program cannot tell (docs/decisions/0081).
 *
 * The same helps where warps have nothing of their own to do: Triton lets those beyond a small tile
 * compute what the first ones compute, loads included, and only the first ones store. When that
 * changes a tensor in place, the others have to load before it.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>
#include <string.h>

enum { MAX_WRITES = 32, DIFFERENCE_DEPTH = 8 };

struct order {
    struct gen *g;
    struct gen_walk walk;
    bool *unwritten; /* by block: nothing is written between the last suspend point and its start */
    bool *first;     /* by value id: loaded after a suspend point, before anything is written */
    const struct ir_instr *writes[MAX_WRITES]; /* of the region looked at */
    uint32_t nwrites;
    bool to_lower, to_higher; /* the region reads what lanes below, above it write later */
};

static bool is_shared(const struct ir_instr *in)
{
    return ir_space_is_shared(in->mem.space) && in->nsrc;
}

static bool writes(const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_STORE | IR_F_ATOM) && is_shared(in);
}

/* ---- what is read first */

static bool through_block(const struct ir_block *b, bool unwritten)
{
    ir_foreach_instr(in, b)
        unwritten = in->op == IR_OP_BAR || (unwritten && !writes(in));
    return unwritten;
}

static bool all_preds(const struct order *o, const struct ir_block *b)
{
    for (uint32_t p = 0; p < b->npreds; p++) {
        if (!through_block(b->preds[p], o->unwritten[b->preds[p]->id]))
            return false;
    }
    return b->npreds;
}

static bool strike_out(struct order *o)
{
    const struct ir_func *f = o->g->func;
    bool changed = false;

    for (uint32_t b = 0; b < f->nblocks; b++) {
        if (!o->unwritten[b] || all_preds(o, f->blocks[b]))
            continue;
        o->unwritten[b] = false;
        changed = true;
    }
    return changed;
}

static void first_find(struct order *o)
{
    const struct ir_func *f = o->g->func;

    memset(o->unwritten, 1, f->nblocks * sizeof(bool));
    while (strike_out(o))
        ;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        bool unwritten = o->unwritten[b];
        ir_foreach_instr(in, f->blocks[b]) {
            if (in->op == IR_OP_LD && is_shared(in) && in->mem.sem == IR_SEM_WEAK)
                o->first[in->dst[0]->id] = unwritten;
            unwritten = in->op == IR_OP_BAR || (unwritten && !writes(in));
        }
    }
}

/* ---- whose lanes write there later */

/* Is `v` an address or an index plus a constant? */
static bool take_constant(const struct ir_value **v, int64_t *sum)
{
    const struct ir_instr *in = (*v)->instr;
    uint64_t c;

    if (!in || !ir_is_plain_add(in) || !ir_value_const(in->src[1], &c))
        return false;
    *sum += ir_type_bits(in->dst[0]->type) == 32 ? (int32_t)c : (int64_t)c;
    *v = in->src[0];
    return true;
}

/* What a constant in src0 becomes in the result, if both do the same with theirs; 0 = unknown. */
static int64_t common_scale(const struct ir_instr *x, const struct ir_instr *y)
{
    uint64_t c, d;

    if (x->op == IR_OP_CVT || x->op == IR_OP_CVTA)
        return 1;
    if (!ir_value_const(x->src[1], &c) || !ir_value_const(y->src[1], &d) || c != d)
        return 0;
    if (x->op == IR_OP_SHL)
        return c < 32 ? (int64_t)(1ull << c) : 0;
    return x->op == IR_OP_MUL || x->op == IR_OP_MULWIDE ? (int32_t)c : 0;
}

static bool is_known_step(enum ir_op op)
{
    return op == IR_OP_CVT || op == IR_OP_CVTA || op == IR_OP_SHL || op == IR_OP_MUL ||
           op == IR_OP_MULWIDE;
}

static bool add_difference(const struct ir_value *a, const struct ir_value *b, int64_t scale,
                           unsigned depth, int64_t *sum);

static bool add_differences(struct ir_value *const a[2], const struct ir_value *first,
                            const struct ir_value *second, int64_t scale, unsigned depth,
                            int64_t *sum)
{
    int64_t all = *sum;

    if (!add_difference(a[0], first, scale, depth, &all) ||
        !add_difference(a[1], second, scale, depth, &all))
        return false;
    *sum = all;
    return true;
}

/*
 * *sum += (a - b) * scale, if that is a constant as far as one can see. Values are taken not to
 * wrap: the answer decides about an order only, in which any is right.
 */
static bool add_difference(const struct ir_value *a, const struct ir_value *b, int64_t scale,
                           unsigned depth, int64_t *sum)
{
    int64_t up = 0, down = 0;

    while (take_constant(&a, &up) || take_constant(&b, &down))
        ;
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)(up - down) * (uint64_t)scale);
    const struct ir_instr *x = a->instr, *y = b->instr;
    if (a == b)
        return true;
    if (!x || !y || x->op != y->op || depth == DIFFERENCE_DEPTH)
        return false;
    if (x->op == IR_OP_VARADDR)
        return x->var == y->var && x->imm == y->imm;
    if (x->op == IR_OP_ADD)
        return add_differences(x->src, y->src[0], y->src[1], scale, depth + 1, sum) ||
               add_differences(x->src, y->src[1], y->src[0], scale, depth + 1, sum);
    if (!is_known_step(x->op) || !common_scale(x, y))
        return false;
    scale = (int64_t)((uint64_t)scale * (uint64_t)common_scale(x, y));
    return add_difference(x->src[0], y->src[0], scale, depth + 1, sum);
}

/* Lane l reads where lane l + distance / stride writes. */
static void note_distance(struct order *o, int64_t distance, int64_t stride)
{
    if (!distance || distance % stride)
        return;
    *((distance < 0) == (stride < 0) ? &o->to_higher : &o->to_lower) = true;
}

static void note_read(struct order *o, const struct ir_instr *in)
{
    const struct ir_shape *s = gen_shape(o->g, in->src[0]);

    if (s->kind != IR_SHAPE_AFFINE || !s->stride)
        return;
    for (uint32_t i = 0; i < o->nwrites; i++) {
        const struct ir_instr *write = o->writes[i];
        int64_t distance = in->mem.offset - write->mem.offset;
        if (add_difference(in->src[0], write->src[0], 1, 0, &distance))
            note_distance(o, distance, s->stride);
    }
}

static bool is_first(const struct order *o, const struct ir_instr *in)
{
    return in->op == IR_OP_LD && o->first[in->dst[0]->id];
}

static bool is_global(const struct ir_instr *in)
{
    return in->mem.space == IR_SPACE_GLOBAL && in->nsrc && in->mem.sem == IR_SEM_WEAK;
}

/* Does the region that begins with `start` load what it stores, by the same address? */
static bool changes_in_place(struct order *o, const struct ir_instr *start)
{
    const struct ir_instr *in;

    o->nwrites = 0;
    gen_walk_from(&o->walk, start);
    while ((in = gen_walk_next(&o->walk))) {
        if (ir_op_has(in->op, IR_F_STORE) && is_global(in) && o->nwrites < MAX_WRITES)
            o->writes[o->nwrites++] = in;
    }
    if (!o->nwrites)
        return false;
    gen_walk_from(&o->walk, start);
    while ((in = gen_walk_next(&o->walk))) {
        if (in->op != IR_OP_LD || !is_global(in))
            continue;
        for (uint32_t i = 0; i < o->nwrites; i++) {
            int64_t distance = in->mem.offset - o->writes[i]->mem.offset;
            if (add_difference(in->src[0], o->writes[i]->src[0], 1, 0, &distance) && !distance)
                return true;
        }
    }
    return false;
}

static bool descends(struct order *o, const struct ir_instr *start)
{
    const struct ir_instr *in;

    o->to_lower = o->to_higher = false;
    o->nwrites = 0;
    gen_walk_from(&o->walk, start);
    while ((in = gen_walk_next(&o->walk))) {
        if (writes(in) && o->nwrites < MAX_WRITES)
            o->writes[o->nwrites++] = in;
    }
    gen_walk_from(&o->walk, start);
    while ((in = gen_walk_next(&o->walk))) {
        if (is_first(o, in))
            note_read(o, in);
    }
    return !o->to_higher && (o->to_lower || changes_in_place(o, start));
}

static void regions_order(struct order *o, bool *out)
{
    const struct ir_func *f = o->g->func;
    uint32_t region = 0;

    out[0] = changes_in_place(o, f->blocks[0]->first);
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            if (in->op != IR_OP_BAR)
                continue;
            assert(in->next);
            out[++region] = descends(o, in->next);
        }
    }
}

enum hd_status gen_order_find(struct gen *g, uint32_t nsuspends)
{
    const struct ir_func *f = g->func;
    struct order o = {.g = g};

    o.unwritten = hd_arena_array(&g->arena, bool, f->nblocks);
    o.first = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    g->body.regions.descends = hd_arena_array(&g->unit->arena, bool, nsuspends + 1);
    g->body.regions.first_only = hd_arena_array(&g->unit->arena, bool, nsuspends + 1);
    g->body.regions.unrolled_to = hd_arena_array(&g->unit->arena, uint32_t, nsuspends + 1);
    g->body.regions.warps = hd_arena_array(&g->unit->arena, uint32_t, nsuspends + 1);
    if (!gen_walk_init(g, &o.walk))
        return HD_NO_MEMORY;
    HD_TRY(hd_arena_status(&g->arena));
    HD_TRY(hd_arena_status(&g->unit->arena));
    first_find(&o);
    regions_order(&o, g->body.regions.descends);
    return HD_OK;
}
