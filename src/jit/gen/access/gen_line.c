/*
 * Whether all lanes of a computed value are in line, read off how it is computed.
 *
 * Lane addresses that are probably neighbours (gen_guess.c) are tested at run time. Often many of
 * them come from one value by sums and products with scalars: x[j], x[j + 256], y[j]. Then it is
 * enough to test that one, and when it is made before the loop the test is made there, once: LLVM
 * moves it out, as it depends on nothing in the loop. `t & m` is in line when the low bits of the
 * scalar m are set, which is the same for all warps.
 *
 * "In line" by a step: lane l of half h holds first[h] + l * step, modulo the value's width. This
 * is done where all lanes run: a lane that does not run may hold, in a value and in those that it
 * was computed from, what it had at different times.
 */
#include "jit/gen/access/gen_line.h"

#include <assert.h>

enum { DEPTH = 16 };

struct line {
    struct gen *g;
    LLVMValueRef strays; /* i1: lanes are not in line after all; NULL: they are, as shapes say */
};

static bool is_in_line(struct line *l, const struct ir_value *v, int64_t step, unsigned depth);

static void strays_if(struct line *l, LLVMValueRef cond)
{
    assert(gen_is_one(l->g, cond));
    l->strays = l->strays ? LLVMBuildOr(l->g->b, l->strays, cond, "") : cond;
}

/* The value itself is tested. */
static bool leaf_is_in_line(struct line *l, const struct ir_value *v, int64_t step)
{
    LLVMValueRef x[GEN_HALVES], first[GEN_HALVES];
    if (!step || !gen_value_available(l->g, v))
        return false;
    gen_vector(l->g, v, x);
    strays_if(l, gen_lanes_stray(l->g, x, first, step));
    return true;
}

/* 64 bits made of 32: in line as the 32 bits are, unless these wrap inside a half. */
static bool wide_is_in_line(struct line *l, const struct ir_value *v, int64_t step, bool is_signed,
                            unsigned depth)
{
    LLVMValueRef first[GEN_HALVES];
    int64_t reach = (GEN_LANES - 1) * step;
    if (!step || reach != (int32_t)reach || !gen_value_available(l->g, v))
        return false;
    gen_line_first(l->g, v, first);
    strays_if(l, gen_lanes_wrap(l->g, first, step, is_signed));
    return is_in_line(l, v, step, depth);
}

/* How far apart the lanes of an operand are, when its shape says so. */
static bool step_in_shape(struct gen *g, const struct ir_value *v, int64_t *out)
{
    const struct ir_shape *s = gen_shape(g, v);
    *out = s->kind == IR_SHAPE_AFFINE ? s->stride : 0;
    return s->kind <= IR_SHAPE_AFFINE;
}

static bool sum_is_in_line(struct line *l, const struct ir_instr *in, int64_t step, unsigned depth)
{
    int64_t other;
    if (ir_has(in, IR_MOD_SAT) || ir_type_lanes(in->type) > 1)
        return false;
    if (step_in_shape(l->g, in->src[1], &other))
        return is_in_line(l, in->src[0], in->op == IR_OP_ADD ? step - other : step + other, depth);
    if (step_in_shape(l->g, in->src[0], &other))
        return is_in_line(l, in->src[1], in->op == IR_OP_ADD ? step - other : other - step, depth);
    return false;
}

static bool const_of(const struct ir_value *v, int64_t *out)
{
    uint64_t k;
    if (!ir_value_const(v, &k))
        return false;
    *out = ir_type_bits(v->type) == 32 ? (int32_t)k : (int64_t)k;
    return *out > 0 && *out < INT32_MAX;
}

static bool product_is_in_line(struct line *l, const struct ir_instr *in, int64_t step,
                               unsigned depth)
{
    int64_t k;
    if (!const_of(in->src[1], &k) || step % k || ir_type_lanes(in->type) > 1)
        return false;
    if (in->op == IR_OP_MUL)
        return is_in_line(l, in->src[0], step / k, depth);
    return ir_type_bits(in->type) == 32 &&
           wide_is_in_line(l, in->src[0], step / k, ir_type_is_signed(in->type), depth);
}

static bool shifted_is_in_line(struct line *l, const struct ir_instr *in, int64_t step,
                               unsigned depth)
{
    int64_t k;
    return const_of(in->src[1], &k) && k < 31 && step % ((int64_t)1 << k) == 0 &&
           is_in_line(l, in->src[0], step / ((int64_t)1 << k), depth);
}

static bool cvt_is_in_line(struct line *l, const struct ir_instr *in, int64_t step, unsigned depth)
{
    uint64_t to = ir_type_bits(in->type), from = ir_type_bits(in->type2);
    if (ir_type_is_float(in->type) || ir_type_is_float(in->type2) || ir_has(in, IR_MOD_SAT))
        return false;
    if (to == from)
        return is_in_line(l, in->src[0], step, depth);
    return to == 64 && from == 32 &&
           wide_is_in_line(l, in->src[0], step, ir_type_is_signed(in->type2), depth);
}

/* The bits that lanes differ in get through when the mask has all of them. */
static bool masked_is_in_line(struct line *l, const struct ir_instr *in, int64_t step)
{
    struct gen *g = l->g;
    for (uint32_t s = 0; s < 2; s++) {
        const struct ir_shape *x = gen_shape(g, in->src[s]);
        const struct ir_value *mask = in->src[1 - s];
        int64_t span = x->stride * (int64_t)(GEN_LANES - 1);
        if (x->kind != IR_SHAPE_AFFINE || x->stride <= 0 || !hd_is_pow2((uint64_t)x->stride) ||
            x->align < span + x->stride || step != x->stride ||
            gen_shape(g, mask)->kind != IR_SHAPE_UNIFORM || !gen_value_available(g, mask))
            continue;
        LLVMValueRef m = gen_scalar(g, mask), bits = LLVMConstInt(LLVMTypeOf(m), (uint64_t)span, 0);
        strays_if(l, LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, m, bits, ""), bits, ""));
        return true;
    }
    return false;
}

/*
 * What a value that goes round the loop we are in comes into it with, when it goes by the same for
 * all lanes; *out_by: by what.
 */
static const struct ir_value *turning_from(struct gen *g, const struct ir_instr *phi,
                                           const struct ir_value **out_by)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = loops->loop_of[g->nodes[g->cur].block->id];
    if (loop == IR_NO_BLOCK || loops->loops[loop].header != phi->block->id || phi->nsrc != 2)
        return NULL;
    uint32_t back = phi->block->preds[0]->id >= phi->block->id ? 0 : 1;
    const struct ir_instr *next = phi->src[back]->instr;
    if (phi->block->preds[1 - back]->id >= phi->block->id || !next || !ir_is_plain_add(next))
        return NULL;
    uint32_t other = next->src[0] == phi->dst[0] ? 1 : 0;
    *out_by = next->src[other];
    if (next->src[1 - other] != phi->dst[0] || gen_shape(g, *out_by)->kind != IR_SHAPE_UNIFORM)
        return NULL;
    return phi->src[1 - back];
}

/*
 * Lanes that are in an iteration have come into the loop together and made the same iterations, so
 * they are still as they came in.
 */
static bool turning_is_in_line(struct line *l, const struct ir_instr *phi, int64_t step,
                               unsigned depth)
{
    const struct ir_value *by, *from = turning_from(l->g, phi, &by);
    return from && is_in_line(l, from, step, depth);
}

static bool operands_are_in_line(struct line *l, const struct ir_instr *in, int64_t step,
                                 unsigned depth)
{
    switch (in->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
        return sum_is_in_line(l, in, step, depth);
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
        return product_is_in_line(l, in, step, depth);
    case IR_OP_SHL:
        return shifted_is_in_line(l, in, step, depth);
    case IR_OP_CVT:
        return cvt_is_in_line(l, in, step, depth);
    case IR_OP_AND:
        return masked_is_in_line(l, in, step);
    case IR_OP_PHI:
        return turning_is_in_line(l, in, step, depth);
    default:
        return false;
    }
}

/* Are the lanes of `v` in line unless l->strays? false: there is no telling. */
static bool is_in_line(struct line *l, const struct ir_value *v, int64_t step, unsigned depth)
{
    const struct ir_shape *s = gen_shape(l->g, v);
    LLVMValueRef saved = l->strays;
    int64_t known;
    bool ok = false;
    if (step_in_shape(l->g, v, &known))
        return known == step;
    if (s->kind == IR_SHAPE_BASE_INDEX)
        ok = step % s->scale == 0 && depth < DEPTH &&
             wide_is_in_line(l, s->index, step / s->scale, s->index_signed, depth + 1);
    else if (v->instr && depth < DEPTH && !(l->g->shapes.temporal && l->g->shapes.temporal[v->id]))
        ok = operands_are_in_line(l, v->instr, step, depth + 1);
    if (ok)
        return true;
    l->strays = saved;
    return leaf_is_in_line(l, v, step);
}

bool gen_line_strays(struct gen *g, const struct ir_value *v, int64_t step, LLVMValueRef *out)
{
    struct line l = {.g = g};
    if (!gen_does(g, GEN_PASS_LINE) || g->dispatch || g->unit->req->strict || g->mask[0] ||
        g->mask[1] || !is_in_line(&l, v, step, 0))
        return false;
    gen_fired(g, GEN_PASS_LINE);
    *out = l.strays ? l.strays : gen_ci(g->t->i1, 0);
    return true;
}

/* `v` as a sum with a scalar; NULL: it is none. */
static const struct ir_value *sum_with(struct gen *g, const struct ir_value *v,
                                       const struct ir_value **out_more)
{
    const struct ir_instr *in = v->instr;
    if (!in || !ir_is_plain_add(in) || gen_shape(g, v)->kind != IR_SHAPE_VARYING ||
        (g->shapes.temporal && g->shapes.temporal[v->id]))
        return NULL;
    uint32_t s = gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM ? 0 : 1;
    *out_more = in->src[s];
    bool is_scalar = gen_shape(g, *out_more)->kind == IR_SHAPE_UNIFORM;
    return is_scalar && gen_value_available(g, *out_more) && gen_value_available(g, in->src[1 - s])
               ? in->src[1 - s]
               : NULL;
}

/* Of a sum with a scalar, scalars are made: the vector may be needed where lanes stray only. */
void gen_line_first(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES])
{
    const struct ir_value *more, *of = sum_with(g, v, &more);
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, of ? of : v, x);
    for (int h = 0; h < gen_halves(g); h++) {
        out[h] = LLVMBuildExtractElement(g->b, x[h], gen_i32(g, 0), "");
        if (of)
            out[h] = LLVMBuildAdd(g->b, out[h], gen_scalar(g, more), "");
    }
}

void gen_line_vector(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES])
{
    const struct ir_value *more, *of = sum_with(g, v, &more);
    gen_vector(g, of ? of : v, out);
    for (int h = 0; of && h < gen_halves(g); h++)
        out[h] = LLVMBuildAdd(g->b, out[h], gen_splat(g, gen_scalar(g, more)), "");
}

/* What is a multiple when `v` is, and does not change as long. */
static const struct ir_value *aligned_with(struct gen *g, const struct ir_value *v, uint64_t size_B)
{
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        const struct ir_value *more, *of = sum_with(g, v, &more);
        if (!of && v->instr && v->instr->op == IR_OP_PHI)
            of = turning_from(g, v->instr, &more);
        if (!of || gen_shape(g, more)->align < size_B || !gen_value_available(g, of))
            return v;
        v = of;
    }
    return v;
}

LLVMValueRef gen_line_misaligned(struct gen *g, const struct ir_value *v, uint64_t offset,
                                 uint64_t size_B)
{
    assert(hd_is_pow2(size_B) && !g->mask[0] && !g->mask[1]);
    LLVMValueRef first[GEN_HALVES], any = NULL;
    gen_line_first(g, aligned_with(g, v, size_B), first);
    LLVMTypeRef type = LLVMTypeOf(first[0]);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x =
            LLVMBuildAdd(g->b, first[h], LLVMConstInt(type, offset & (size_B - 1), false), "");
        any = any ? LLVMBuildOr(g->b, any, x, "") : x;
    }
    any = LLVMBuildAnd(g->b, any, LLVMConstInt(type, size_B - 1, false), "");
    return LLVMBuildICmp(g->b, LLVMIntNE, any, LLVMConstNull(type), "");
}
