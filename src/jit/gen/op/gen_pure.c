/*
 * Pure operations in whatever form their shapes allow, and the fallback that evaluates the
 * reference semantics lane by lane.
 */
#include "jit/gen/find/gen_tuples.h"

#include <assert.h>

/* Sources that are read as f32 need no canonical NaN. */
static bool reads_float(const struct gen *g, const struct ir_instr *in, uint32_t s)
{
    if (ir_op_has(in->op, IR_F_FLOAT)) /* .xorsign sees a NaN's sign */
        return in->type == IR_F32 && !ir_has(in, IR_MOD_XORSIGN);
    switch (in->op) {
    case IR_OP_FSETP:
        return in->type == IR_F32;
    case IR_OP_SELECT:
        return s > 0 && g->nan_raw[in->dst[0]->id];
    case IR_OP_CVT:
        return in->type2 == IR_F32 && (!ir_type_is_float(in->type) || in->type == IR_F32);
    default:
        return false;
    }
}

static struct gen_val source_bits(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    LLVMValueRef x[GEN_HALVES];
    return gen_tuple_scalars(g, in, s, x) ? gen_v(g, x) : gen_get(g, in->src[s]);
}

static struct gen_val source(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    LLVMValueRef x[GEN_HALVES];
    if (!reads_float(g, in, s) || gen_tuple_scalars(g, in, s, x))
        return source_bits(g, in, s);
    return gen_get_raw(g, in->src[s]);
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
    x = v.shape->index_signed ? LLVMBuildSExt(g->b, x, g->t->i64, "")
                              : LLVMBuildZExt(g->b, x, g->t->i64, "");
    x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)v.shape->scale), "");
    return LLVMBuildAdd(g->b, v.c[0], x, "");
}

/* Lanes that warp w's arrays have values for: those that run, or all. A half's come first. */
static LLVMValueRef lanes_of_warp(struct gen *g, unsigned w, bool masked)
{
    if (!masked)
        return gen_i32(g, gen_is_half(g) ? UINT16_MAX : UINT32_MAX);
    if (gen_is_half(g))
        return LLVMBuildZExt(g->b, gen_mask_bits(g, 0), g->t->i32, "");
    return gen_mask_of_warp(g, (int)w);
}

/*
 * jit_rt_eval(op, words, imm, mask, sizes, s0, s1, s2, s3, out): evaluates the row of
 * the operation table for each lane of the mask. Slow, and right by construction.
 */
static struct gen_val eval_lanes(struct gen *g, const struct ir_instr *in, bool masked)
{
    uint64_t sizes = 0;
    LLVMValueRef args[10];
    enum ir_type out_type = in->dst[0]->type;
    assert(in->ndst == 1 && in->nsrc <= 4 && ir_op_has(in->op, IR_F_PURE));
    for (uint32_t s = 0; s < 4; s++) {
        args[5 + s] = LLVMConstNull(g->t->ptr);
        if (s >= in->nsrc)
            continue;
        unsigned bits = ir_type_bits(in->src[s]->type);
        sizes |= (uint64_t)(bits < 8 ? 1 : bits / 8) << (8 * s);
        args[5 + s] = gen_array_of(g, source_bits(g, in, s), in->src[s]->type);
    }
    unsigned out_bits = ir_type_bits(out_type);
    sizes |= (uint64_t)(out_bits < 8 ? 1 : out_bits / 8) << 32;
    LLVMValueRef out = gen_new_array(g, out_type);
    args[0] = gen_i32(g, in->op | (in->nsrc << 16));
    args[1] = gen_i64(g, ir_instr_words(in));
    args[2] = gen_i64(g, in->imm);
    args[4] = gen_i64(g, sizes);
    args[9] = out;
    for (unsigned w = 0; w < gen_warps(g); w++) {
        args[3] = lanes_of_warp(g, w, masked);
        for (uint32_t i = 0; w && i <= 4; i++) { /* on to the next warp's lanes */
            uint64_t size_B = sizes >> (i < 4 ? 8 * i : 32) & 255;
            if (i == 4 || i < in->nsrc)
                args[5 + i] = gen_gep(g, args[5 + i], 32 * size_B);
        }
        gen_call_rt_warp(g, "jit_rt_eval", g->t->void_, args, 10);
    }
    return gen_from_array(g, out, out_type);
}

/* Has x the LLVM type of an operand of `type`, as a scalar or as a vector as all of them? */
static bool is_in_form(struct gen *g, const struct gen_emit *e, LLVMValueRef x, enum ir_type type)
{
    return LLVMTypeOf(x) == gen_type_as(g, e->vec, gen_scalar_type(g, type));
}

static LLVMValueRef emit(struct gen *g, const struct gen_emit *e)
{
    for (uint32_t s = 0; s < e->in->nsrc; s++)
        assert(is_in_form(g, e, e->src[s], e->in->src[s]->type));
    LLVMValueRef x = gen_emit_int(g, e);
    if (!x)
        x = gen_emit_bits(g, e);
    if (!x)
        x = gen_emit_half(g, e);
    if (!x)
        x = gen_emit_small(g, e);
    if (!x)
        x = gen_emit_float(g, e);
    if (!x)
        x = gen_emit_approx(g, e);
    if (!x)
        x = gen_emit_cvt(g, e);
    assert(!x || is_in_form(g, e, x, e->in->dst[0]->type));
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

/*
 * Flushing the denormal that an operation left is not enough where MXCSR does not flush: what is
 * just below the smallest normal number before rounding is flushed (it is tiny, IEEE 754 7.5), yet
 * may have been rounded up to that number. Sums are never in that range: they are exact there.
 */
static bool flush_is_ambiguous(const struct gen *g, const struct ir_instr *in)
{
    return ir_has(in, IR_MOD_FTZ) && in->type == IR_F32 && !g->unit->fp_ftz &&
           (in->op == IR_OP_FMUL || in->op == IR_OP_FMA || in->op == IR_OP_FDIV ||
            in->op == IR_OP_FRCP);
}

static LLVMValueRef is_smallest_normal(struct gen *g, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool vec = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
    LLVMValueRef twice = LLVMBuildAdd(g->b, x, x, ""); /* the sign goes */
    return LLVMBuildICmp(g->b, LLVMIntEQ, twice, gen_k(g, vec, g->t->i32, 2 * 0x00800000), "");
}

/* Replaces out[] by what the reference says when a lane holds the smallest normal number. */
static void eval_ambiguous(struct gen *g, const struct ir_instr *in, int halves, LLVMValueRef *out)
{
    bool vec = LLVMGetTypeKind(LLVMTypeOf(out[0])) == LLVMVectorTypeKind;
    assert(in->type == IR_F32 && (vec || halves == 1 || LLVMTypeOf(out[1]) == g->t->i32));
    LLVMValueRef hit = is_smallest_normal(g, out[0]);
    for (int h = 1; h < halves; h++)
        hit = LLVMBuildOr(g->b, hit, is_smallest_normal(g, out[h]), "");
    if (vec) {
        hit = LLVMBuildBitCast(g->b, hit, g->t->bits, "");
        hit = LLVMBuildICmp(g->b, LLVMIntNE, hit, LLVMConstNull(g->t->bits), "");
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef cold = gen_bb(g, "tiny"), join = gen_bb(g, "join");
    gen_cond_br_cold(g, hit, cold, join);
    LLVMPositionBuilderAtEnd(g->b, cold);
    struct gen_val exact = eval_lanes(g, in, false);
    LLVMValueRef alt[GEN_HALVES];
    for (int h = 0; h < halves; h++)
        alt[h] = vec ? exact.c[h] : lane0(g, exact, h);
    LLVMBasicBlockRef cold_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    for (int h = 0; h < halves; h++) {
        LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(out[h]), "");
        LLVMValueRef vals[] = {out[h], alt[h]};
        LLVMBasicBlockRef from[] = {before, cold_end};
        LLVMAddIncoming(phi, vals, from, 2);
        out[h] = phi;
    }
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
    LLVMValueRef out[GEN_HALVES] = {NULL};
    LLVMValueRef x[4][GEN_HALVES];
    int halves = want->kind == IR_SHAPE_UNIFORM ? 1 : gen_halves(g);
    for (uint32_t s = 0; s < in->nsrc && e.vec; s++)
        gen_vector_of(g, v[s], in->src[s]->type, x[s]);
    for (int h = 0; h < halves; h++) {
        if (h && want->whole) {
            out[h] = gen_whole_half(g, out[0], want->stride, h);
            continue;
        }
        for (uint32_t s = 0; s < in->nsrc; s++)
            e.src[s] = e.vec ? x[s][h] : lane0(g, v[s], h);
        out[h] = emit(g, &e);
        if (!out[h]) {
            gen_eval(g, in);
            return;
        }
    }
    if (flush_is_ambiguous(g, in))
        eval_ambiguous(g, in, halves, out);
    struct gen_val val = want->kind == IR_SHAPE_UNIFORM ? gen_u(out[0])
                         : e.vec                        ? gen_v(g, out)
                                                        : gen_a(g, out, want->stride);
    gen_set(g, in->dst[0], val);
}

void gen_eval(struct gen *g, const struct ir_instr *in)
{
    /* What is affine is read from lane 0 of each half, whether it runs or not. */
    bool is_affine = gen_shape(g, in->dst[0])->kind == IR_SHAPE_AFFINE;

    assert(in->op != IR_OP_PHI);
    gen_set(g, in->dst[0], eval_lanes(g, in, !gen_tuple_of(g, in->dst[0]) && !is_affine));
}
