/*
 * Addresses that are probably contiguous although their shape does not say so.
 *
 * A loop that the compiler unrolled with a remainder, or an index like 2*t - (t & (stride - 1)),
 * leaves lane addresses that are neighbours nearly always; but it depends on run-time values. A
 * test of the lanes and a vector access are several times cheaper than a gather. Addresses that
 * depend on what lanes loaded from memory are left alone: there the test would be in vain.
 */
#include "jit/gen/gen.h"

#include <assert.h>

enum { UNKNOWN, VISITED, COMPUTED, LOADED };

static bool visit(struct gen *g, const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    uint8_t *state = &g->origin[v->id];
    if (gen_shape(g, v)->kind < IR_SHAPE_BASE_INDEX || *state == VISITED || *state == COMPUTED)
        return true; /* in a cycle the other operands decide */
    if (*state == LOADED)
        return false;
    *state = VISITED;
    bool ok = in && depth < 64 &&
              (in->op == IR_OP_PHI || in->op == IR_OP_SREG || ir_op_has(in->op, IR_F_PURE));
    for (uint32_t s = 0; ok && s < in->nsrc; s++)
        ok = visit(g, in->src[s], depth + 1);
    *state = ok ? COMPUTED : LOADED;
    return ok;
}

bool gen_is_computed(struct gen *g, const struct ir_value *v)
{
    if (!g->origin)
        g->origin = hd_arena_array(&g->arena, uint8_t, g->func->nvalues + 1);
    return g->origin && visit(g, v, 0);
}

/* i1: the running lanes of half h do not hold x[0], x[0] + step, x[0] + 2 * step .. */
static LLVMValueRef half_strays(struct gen *g, LLVMValueRef x, LLVMValueRef first, int64_t step,
                                int h)
{
    LLVMTypeRef elem = LLVMTypeOf(first);
    LLVMValueRef want = LLVMBuildAdd(g->b, gen_splat(g, first), gen_lanes(g, elem, step), "");
    LLVMValueRef bad = LLVMBuildICmp(g->b, LLVMIntNE, x, want, "");
    if (g->mask[h])
        bad = LLVMBuildAnd(g->b, bad, g->mask[h], "");
    return LLVMBuildICmp(g->b, LLVMIntNE, gen_bits(g, bad), gen_no_bits(g), "");
}

LLVMValueRef gen_index_wraps(struct gen *g, LLVMValueRef first, int64_t step, bool is_signed,
                             unsigned lanes)
{
    LLVMIntPredicate wraps =
        is_signed ? (step > 0 ? LLVMIntSLT : LLVMIntSGT) : (step > 0 ? LLVMIntULT : LLVMIntUGT);
    LLVMValueRef reach = gen_i32(g, (uint64_t)((int64_t)(lanes - 1) * step));
    return LLVMBuildICmp(g->b, wraps, LLVMBuildAdd(g->b, first, reach, ""), first, "");
}

LLVMValueRef gen_lanes_wrap(struct gen *g, LLVMValueRef const first[GEN_HALVES], int64_t step,
                            bool is_signed)
{
    LLVMValueRef any = gen_index_wraps(g, first[0], step, is_signed, GEN_LANES);
    for (int h = 1; h < gen_halves(g); h++)
        any = LLVMBuildOr(g->b, any, gen_index_wraps(g, first[h], step, is_signed, GEN_LANES), "");
    return any;
}

LLVMValueRef gen_lanes_stray(struct gen *g, LLVMValueRef const x[GEN_HALVES],
                             LLVMValueRef first[GEN_HALVES], int64_t step)
{
    assert(step);
    LLVMValueRef any = NULL;
    for (int h = 0; h < gen_halves(g); h++) {
        first[h] = LLVMBuildExtractElement(g->b, x[h], gen_i32(g, 0), "");
        LLVMValueRef bad = half_strays(g, x[h], first[h], step, h);
        any = any ? LLVMBuildOr(g->b, any, bad, "") : bad;
    }
    return any;
}
