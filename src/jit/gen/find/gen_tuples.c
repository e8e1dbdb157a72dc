/*
 * Elements of vector accesses that stay in the order of memory.
 *
 * Where neighbouring threads load a float4 each, 16 of them are four vectors as they lie in memory.
 * To give each element a vector of its own takes permutes, and to store such vectors takes them
 * again; but what is computed from one element is mostly what is computed from the others, and then
 * the order does not matter:
 *
 *     lanes    x0 x1 x2 ..   y0 y1 y2 ..   z0 z1 z2 ..   w0 w1 w2 ..
 *     memory   x0 y0 z0 w0 x1 ..   (four such vectors in a row)
 *
 * So the values that a tuple holds - what one access loads or stores, and what is computed in
 * between by the same operations on all elements - have their vectors in the order of memory. Other
 * operands are scalars per half. They are found from the stores: what these store is assumed to be
 * tuples, as is what it is made from, and tuples of which that turns out to be wrong are struck
 * until nothing changes.
 */
#include "jit/gen/find/gen_tuples.h"
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

struct gen_tuples {
    struct gen_tuple **of; /* by value id */
    struct gen_tuple **all;
    uint32_t n, seen; /* those up to `seen` have had their operands looked at */
};

const struct gen_tuple *gen_tuple_of(const struct gen *g, const struct ir_value *v)
{
    return g->tuples ? g->tuples->of[v->id] : NULL;
}

/* ---- what can be one */

static bool tuples_is_scalar(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    return shape->kind == IR_SHAPE_UNIFORM ||
           (shape->kind == IR_SHAPE_AFFINE && shape->stride == 0);
}

static int64_t tuples_distance_of_lanes(struct gen *g, const struct ir_value *address)
{
    const struct ir_shape *shape = gen_shape(g, address);
    if (shape->kind == IR_SHAPE_AFFINE)
        return shape->stride;
    if (shape->kind != IR_SHAPE_BASE_INDEX || gen_shape(g, shape->index)->kind != IR_SHAPE_AFFINE)
        return 0;
    return gen_shape(g, shape->index)->stride * shape->scale;
}

/* A vector access whose lanes follow each other without a gap. */
static bool tuples_is_row(struct gen *g, const struct ir_instr *in)
{
    int64_t size_B = (int64_t)in->mem.vec * (ir_type_bits(in->type) / 8);
    return (in->mem.vec == 2 || in->mem.vec == TUPLE_MAX) && in->mem.sem == IR_SEM_WEAK &&
           in->mem.space != IR_SPACE_LOCAL && tuples_distance_of_lanes(g, in->src[0]) == size_B;
}

static bool tuples_is_lane_by_lane(struct gen *g, const struct ir_block *b)
{
    return g->nodes[g->node_of_block[b->id]].region != NULL;
}

static bool tuples_is_computed_like(const struct ir_instr *in, const struct ir_instr *first)
{
    return in && in->block == first->block && in->nsrc == first->nsrc && in->ndst == 1 &&
           in->op == first->op && (in->op == IR_OP_PHI || ir_instr_same(in, first));
}

/* Do the elements come from one load, or from the same operation each? */
static bool tuples_is_made_alike(struct gen *g, const struct gen_tuple *t)
{
    const struct ir_instr *first = t->v[0]->instr;
    if (!first || tuples_is_lane_by_lane(g, first->block))
        return false;
    bool loads = first->op == IR_OP_LD && first->mem.vec == t->n && tuples_is_row(g, first);
    if (!loads && first->op != IR_OP_PHI && !ir_op_has(first->op, IR_F_PURE))
        return false;
    for (unsigned i = 0; i < t->n; i++) {
        const struct ir_value *v = t->v[i];
        bool fits =
            loads ? v->instr == first && v->index == i : tuples_is_computed_like(v->instr, first);
        if (!fits || gen_shape(g, v)->kind != IR_SHAPE_VARYING || gen_slot_is_shared(g, v))
            return false;
    }
    return true;
}

/* ---- operands */

static void tuples_column_of(const struct gen_tuple *t, uint32_t s, struct ir_value *out[TUPLE_MAX])
{
    for (unsigned i = 0; i < t->n; i++)
        out[i] = t->v[i]->instr->src[s];
}

static bool tuples_are_same(struct ir_value *const *v, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        if (v[i] != v[0])
            return false;
    }
    return true;
}

/* One scalar for all elements, or one for each. */
static bool tuples_are_scalars(struct gen *g, struct ir_value *const *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!tuples_is_scalar(g, v[i]))
            return false;
    }
    return true;
}

static struct gen_tuple *tuple_with(struct gen *g, struct ir_value *const *v, unsigned n)
{
    struct gen_tuple *t = g->tuples->of[v[0]->id];
    if (!t || t->n != n)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        if (t->v[i] != v[i])
            return NULL;
    }
    return t;
}

static bool tuples_is_free(struct gen *g, struct ir_value *const *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (g->tuples->of[v[i]->id] || v[i]->type != v[0]->type)
            return false;
        for (unsigned k = 0; k < i; k++) {
            if (v[k] == v[i])
                return false;
        }
    }
    return true;
}

/* Takes them for one until the contrary is known. */
static void tuples_assume(struct gen *g, struct ir_value *const *v, unsigned n)
{
    struct gen_tuples *all = g->tuples;
    struct gen_tuple *t = hd_arena_new(&g->arena, struct gen_tuple);
    struct ir_value **copy = hd_arena_array(&g->arena, struct ir_value *, n);
    if (!t || !copy || !tuples_is_free(g, v, n))
        return;
    for (unsigned i = 0; i < n; i++) {
        copy[i] = v[i];
        all->of[v[i]->id] = t;
    }
    *t = (struct gen_tuple){.n = n, .v = copy};
    assert(all->n < g->func->nvalues);
    all->all[all->n++] = t;
}

static void tuples_assume_operands(struct gen *g, struct gen_tuple *t)
{
    const struct ir_instr *first = t->v[0]->instr;
    t->is_struck = !tuples_is_made_alike(g, t);
    for (uint32_t s = 0; !t->is_struck && first->op != IR_OP_LD && s < first->nsrc; s++) {
        struct ir_value *column[TUPLE_MAX];
        tuples_column_of(t, s, column);
        if (!tuples_are_scalars(g, column, t->n) && !tuple_with(g, column, t->n))
            tuples_assume(g, column, t->n);
    }
}

static bool tuples_stores_row(struct gen *g, const struct ir_instr *in)
{
    return in->op == IR_OP_ST && tuples_is_row(g, in) && !tuples_is_lane_by_lane(g, in->block);
}

/* ---- striking out */

/* Column `s` of t: scalars, or a tuple that stands. */
static bool tuples_column_fits(struct gen *g, const struct gen_tuple *t, uint32_t s)
{
    struct ir_value *column[TUPLE_MAX];
    tuples_column_of(t, s, column);
    if (tuples_are_scalars(g, column, t->n))
        return true;
    const struct gen_tuple *from = tuple_with(g, column, t->n);
    return from && !from->is_struck;
}

static bool tuples_operands_fit(struct gen *g, const struct gen_tuple *t)
{
    const struct ir_instr *first = t->v[0]->instr;
    for (uint32_t s = 0; first->op != IR_OP_LD && s < first->nsrc; s++) {
        if (!tuples_column_fits(g, t, s))
            return false;
    }
    return true;
}

static const struct gen_tuple *tuples_made_by(struct gen *g, const struct ir_instr *in)
{
    const struct gen_tuple *t = in->ndst ? g->tuples->of[in->dst[0]->id] : NULL;
    return t && !t->is_struck && in->op != IR_OP_LD ? t : NULL;
}

/* Does `user` read element number `i` of t together with the others? */
static bool tuples_use_fits(struct gen *g, const struct gen_tuple *t, unsigned i,
                            const struct ir_instr *user)
{
    const struct gen_tuple *made = tuples_made_by(g, user);
    if (user->op == IR_OP_ST)
        return tuples_stores_row(g, user) && user->mem.vec == t->n &&
               tuple_with(g, user->src + 1, t->n) == t && user->src[0] != t->v[i];
    if (!made || made->n != t->n)
        return false;
    for (uint32_t s = 0; s < user->nsrc; s++) {
        struct ir_value *column[TUPLE_MAX];
        tuples_column_of(made, s, column);
        if (user->src[s] == t->v[i] && tuple_with(g, column, t->n) != t)
            return false;
    }
    return true;
}

static bool tuples_uses_fit(struct gen *g, const struct gen_tuple *t)
{
    for (unsigned i = 0; i < t->n; i++) {
        const uint32_t *first = &g->uses.first[t->v[i]->id];
        for (uint32_t u = first[0]; u < first[1]; u++) {
            if (!tuples_use_fits(g, t, i, g->uses.users[u]))
                return false;
        }
    }
    return true;
}

static bool tuples_strike(struct gen *g)
{
    bool changed = false;
    for (uint32_t i = 0; i < g->tuples->n; i++) {
        struct gen_tuple *t = g->tuples->all[i];
        if (t->is_struck || (tuples_operands_fit(g, t) && tuples_uses_fit(g, t)))
            continue;
        t->is_struck = changed = true;
    }
    return changed;
}

static void tuples_forget_struck(struct gen *g)
{
    for (uint32_t i = 0; i < g->tuples->n; i++) {
        const struct gen_tuple *t = g->tuples->all[i];
        if (!t->is_struck)
            gen_fired(g, GEN_PASS_TUPLES);
        for (unsigned k = 0; t->is_struck && k < t->n; k++)
            g->tuples->of[t->v[k]->id] = NULL;
    }
}

static bool tuples_init(struct gen *g)
{
    struct gen_tuples *all = hd_arena_new(&g->arena, struct gen_tuples);
    if (!all || !gen_uses_find(g))
        return false;
    all->of = hd_arena_array(&g->arena, struct gen_tuple *, g->func->nvalues + 1);
    all->all = hd_arena_array(&g->arena, struct gen_tuple *, g->func->nvalues + 1);
    g->tuples = all->of && all->all ? all : NULL;
    return g->tuples != NULL;
}

void gen_tuples_find(struct gen *g)
{
    if (g->dispatch || !gen_does(g, GEN_PASS_TUPLES) || !tuples_init(g))
        return;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (tuples_stores_row(g, in))
                tuples_assume(g, in->src + 1, in->mem.vec);
        }
    }
    while (g->tuples->seen < g->tuples->n)
        tuples_assume_operands(g, g->tuples->all[g->tuples->seen++]);
    while (tuples_strike(g))
        ;
    tuples_forget_struck(g);
}

/* ---- vectors */

static unsigned tuples_number_in(const struct gen_tuple *t, const struct ir_value *v)
{
    unsigned i = 0;
    while (t->v[i] != v)
        i++;
    assert(i < t->n);
    return i;
}

LLVMValueRef gen_tuple_mask(struct gen *g, const struct ir_value *v, LLVMValueRef mask)
{
    const struct gen_tuple *t = gen_tuple_of(g, v);
    unsigned lanes = GEN_LANES;
    LLVMValueRef pick[GEN_LANES];
    if (!t || !mask)
        return mask;
    for (unsigned l = 0; l < lanes; l++)
        pick[l] = gen_i32(g, (tuples_number_in(t, v) * lanes + l) / t->n);
    return LLVMBuildShuffleVector(g->b, mask, mask, LLVMConstVector(pick, lanes), "");
}

/* n scalars, again and again. */
static LLVMValueRef tuples_repeat(struct gen *g, LLVMValueRef const *scalar, unsigned n)
{
    LLVMTypeRef few = LLVMVectorType(LLVMTypeOf(scalar[0]), n);
    LLVMValueRef x = LLVMGetPoison(few), pick[GEN_LANES];
    for (unsigned i = 0; i < n; i++)
        x = LLVMBuildInsertElement(g->b, x, scalar[i], gen_i32(g, i), "");
    for (unsigned l = 0; l < GEN_LANES; l++)
        pick[l] = gen_i32(g, l % n);
    return LLVMBuildShuffleVector(g->b, x, LLVMGetPoison(few), LLVMConstVector(pick, GEN_LANES),
                                  "");
}

bool gen_tuple_scalars(struct gen *g, const struct ir_instr *in, uint32_t s,
                       LLVMValueRef out[GEN_HALVES])
{
    const struct gen_tuple *t = gen_tuple_of(g, in->dst[0]);
    struct ir_value *column[TUPLE_MAX];
    if (!t)
        return false;
    tuples_column_of(t, s, column);
    if (tuples_are_same(column, t->n) || !tuples_is_scalar(g, column[0]))
        return false;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef scalar[TUPLE_MAX] = {NULL};
        for (unsigned i = 0; i < t->n; i++)
            scalar[i] = gen_half(g, column[i], h);
        out[h] = tuples_repeat(g, scalar, t->n);
    }
    return true;
}

/* Vectors one behind the other. */
static LLVMValueRef tuples_joined(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n, int h)
{
    LLVMValueRef half[2], pick[TUPLE_MAX * GEN_LANES];
    unsigned lanes = GEN_LANES * n;
    if (n == 1)
        return x[0][h];
    half[0] = tuples_joined(g, x, n / 2, h);
    half[1] = tuples_joined(g, x + n / 2, n / 2, h);
    for (unsigned l = 0; l < lanes; l++)
        pick[l] = gen_i32(g, l);
    return LLVMBuildShuffleVector(g->b, half[0], half[1], LLVMConstVector(pick, lanes), "");
}

/* Vector number i becomes elements first * i + l * step (l = 0, 1, ..) of all of them in a row,
 * around the end. */
static void tuples_reorder(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n, unsigned first,
                           unsigned step)
{
    unsigned lanes = GEN_LANES;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef all = tuples_joined(g, x, n, h);
        for (unsigned i = 0; i < n; i++) {
            LLVMValueRef pick[GEN_LANES];
            for (unsigned l = 0; l < lanes; l++) {
                unsigned at = first * i + l * step;
                pick[l] = gen_i32(g, at % (n * lanes) + at / (n * lanes));
            }
            x[i][h] = LLVMBuildShuffleVector(g->b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                             LLVMConstVector(pick, lanes), "");
        }
    }
}

void gen_tuple_from_lanes(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n)
{
    tuples_reorder(g, x, n, GEN_LANES / n, GEN_LANES);
}

void gen_tuple_to_lanes(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n)
{
    tuples_reorder(g, x, n, 1, n);
}
