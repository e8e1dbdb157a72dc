/*
 * Pure operations in whatever form their shapes allow, and the fallback that evaluates the
 * reference semantics lane by lane.
 */
#include "jit/gen/gen.h"

LLVMValueRef gen_k(struct gen *g, bool vec, LLVMTypeRef elem, uint64_t v)
{
    return vec ? gen_splat_const(g, elem, v) : LLVMConstInt(elem, v, false);
}

LLVMTypeRef gen_form(struct gen *g, bool vec, LLVMTypeRef elem)
{
    return vec ? gen_vec(g, elem) : elem;
}

LLVMValueRef gen_kf(struct gen *g, bool vec, LLVMTypeRef elem, double v)
{
    LLVMValueRef c = LLVMConstReal(elem, v);
    return vec ? gen_splat(g, c) : c;
}

LLVMValueRef gen_flush(struct gen *g, bool vec, LLVMValueRef x)
{
    LLVMValueRef exp = LLVMBuildAnd(g->b, x, gen_k(g, vec, g->t_i32, 0x7f800000), "");
    LLVMValueRef tiny = LLVMBuildICmp(g->b, LLVMIntEQ, exp, gen_k(g, vec, g->t_i32, 0), "");
    LLVMValueRef zero = LLVMBuildAnd(g->b, x, gen_k(g, vec, g->t_i32, 0x80000000u), "");
    return LLVMBuildSelect(g->b, tiny, zero, x, "");
}

/* Sources that are read as f32 need no canonical NaN. */
static bool reads_float(const struct gen *g, const struct ir_instr *in, uint32_t s)
{
    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
    case IR_OP_FMUL:
    case IR_OP_FMA:
    case IR_OP_FDIV:
    case IR_OP_FRCP:
    case IR_OP_FSQRT:
    case IR_OP_FRSQRT:
    case IR_OP_FSIN:
    case IR_OP_FCOS:
    case IR_OP_FEX2:
    case IR_OP_FLG2:
    case IR_OP_FTANH:
    case IR_OP_FMIN:
    case IR_OP_FMAX:
    case IR_OP_FSETP:
        return in->type == IR_F32;
    case IR_OP_SELECT:
        return s > 0 && g->nan_raw[in->dst[0]->id];
    case IR_OP_CVT:
        return in->type2 == IR_F32 && !ir_type_is_float(in->type);
    default:
        return false;
    }
}

static struct gen_val source(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    return reads_float(g, in, s) ? gen_get_raw(g, in->src[s]) : gen_get(g, in->src[s]);
}

/* What lane 0 of half h holds. */
static LLVMValueRef lane0(struct gen *g, struct gen_val v, int h)
{
    if (v.kind == IR_SHAPE_UNIFORM)
        return v.c[0];
    if (v.kind == IR_SHAPE_AFFINE)
        return v.c[h];
    if (v.kind == IR_SHAPE_VARYING)
        return LLVMBuildExtractElement(g->b, v.c[h], gen_i32(g, 0), "");
    LLVMValueRef x = lane0(g, gen_get(g, v.shape->index), h);
    x = v.shape->index_signed ? LLVMBuildSExt(g->b, x, g->t_i64, "")
                              : LLVMBuildZExt(g->b, x, g->t_i64, "");
    x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)v.shape->scale), "");
    return LLVMBuildAdd(g->b, v.c[0], x, "");
}

static LLVMValueRef emit(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef x = gen_emit_int(g, e);
    if (!x)
        x = gen_emit_float(g, e);
    if (!x)
        x = gen_emit_approx(g, e);
    if (!x)
        x = gen_emit_cvt(g, e);
    return x;
}

/*
 * The base of a BASE_INDEX result: widening an index starts at 0; everything else that keeps the
 * form computes on the base as the operation computes on the value.
 */
static LLVMValueRef emit_base(struct gen *g, const struct ir_instr *in)
{
    const struct ir_shape *want = gen_shape(g, in->dst[0]);
    bool widens = (in->op == IR_OP_CVT || in->op == IR_OP_MULWIDE) && in->src[0]->type == IR_B32;
    if (widens)
        return gen_i64(g, 0);
    if (in->op == IR_OP_MULWIDE || in->src[0] == want->index)
        return gen_i64(g, 0);
    struct gen_emit e = {.in = in};
    for (uint32_t s = 0; s < in->nsrc; s++)
        e.src[s] = gen_get(g, in->src[s]).c[0];
    return emit(g, &e);
}

void gen_pure(struct gen *g, const struct ir_instr *in)
{
    const struct ir_shape *want = gen_shape(g, in->dst[0]);
    if (in->nsrc > 4) {
        gen_unsupported(g, in, "operand count");
        return;
    }
    if (want->kind == IR_SHAPE_BASE_INDEX) {
        LLVMValueRef base = emit_base(g, in);
        if (!base) {
            gen_unsupported(g, in, "internal: no base form");
            base = gen_i64(g, 0);
        }
        struct gen_val val = {.kind = IR_SHAPE_BASE_INDEX, .shape = want, .c = {base, NULL}};
        gen_set(g, in->dst[0], val);
        return;
    }
    struct gen_val v[4];
    for (uint32_t s = 0; s < in->nsrc; s++)
        v[s] = source(g, in, s);
    struct gen_emit e = {.in = in, .vec = want->kind == IR_SHAPE_VARYING};
    LLVMValueRef out[2] = {NULL, NULL};
    LLVMValueRef x[4][2];
    int halves = want->kind == IR_SHAPE_UNIFORM ? 1 : 2;
    for (uint32_t s = 0; s < in->nsrc && e.vec; s++)
        gen_vector_of(g, v[s], in->src[s]->type, x[s]);
    for (int h = 0; h < halves; h++) {
        for (uint32_t s = 0; s < in->nsrc; s++)
            e.src[s] = e.vec ? x[s][h] : lane0(g, v[s], h);
        out[h] = emit(g, &e);
        if (!out[h]) {
            gen_eval(g, in);
            return;
        }
    }
    struct gen_val val = want->kind == IR_SHAPE_UNIFORM ? gen_u(out[0])
                         : e.vec                        ? gen_v(out[0], out[1])
                                                        : gen_a(out[0], out[1], want->stride);
    gen_set(g, in->dst[0], val);
}

/*
 * jit_rt_eval(op, packed modifiers, imm, mask, sizes, s0, s1, s2, s3, out): evaluates the row of
 * the
 * operation table for each lane of the mask. Slow, and right by construction.
 */
void gen_eval(struct gen *g, const struct ir_instr *in)
{
    uint64_t modifiers = (uint64_t)in->type | (uint64_t)in->type2 << 8 | (uint64_t)in->rnd << 16 |
                         (uint64_t)in->cmp << 24 | (uint64_t)in->ftz << 32 |
                         (uint64_t)in->sat << 33;
    uint64_t sizes = 0;
    LLVMValueRef args[10];
    enum ir_type out_type = in->dst[0]->type;
    for (uint32_t s = 0; s < 4; s++) {
        args[5 + s] = LLVMConstNull(g->t_ptr);
        if (s >= in->nsrc)
            continue;
        unsigned bits = ir_type_bits(in->src[s]->type);
        sizes |= (uint64_t)(bits < 8 ? 1 : bits / 8) << (8 * s);
        args[5 + s] = gen_to_array(g, in->src[s]);
    }
    unsigned out_bits = ir_type_bits(out_type);
    sizes |= (uint64_t)(out_bits < 8 ? 1 : out_bits / 8) << 32;
    LLVMValueRef out = gen_new_array(g, out_type);
    args[0] = gen_i32(g, in->op | (in->nsrc << 16));
    args[1] = gen_i64(g, modifiers);
    args[2] = gen_i64(g, in->imm);
    args[3] = gen_mask32(g);
    args[4] = gen_i64(g, sizes);
    args[9] = out;
    gen_call_rt(g, "jit_rt_eval", g->t_void, args, 10);
    struct gen_val val = gen_from_array(g, out, out_type);
    if (gen_shape(g, in->dst[0])->kind == IR_SHAPE_AFFINE && g->mask[0])
        gen_unsupported(g, in, "internal: affine result of an operation without native form");
    gen_set(g, in->dst[0], val);
}
