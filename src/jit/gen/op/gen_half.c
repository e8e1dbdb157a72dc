/*
 * f16 and bf16, single and packed, computed in wider formats.
 *
 * Sums and products of 11 bits that are rounded to f32's 24 and then to 11 again are the correctly
 * rounded ones (24 >= 2 * 11 + 2; Figueroa, "When is double rounding innocuous?", 1995); bf16 has
 * 8. A fused multiply-add is not: it is rounded to odd, which makes any later rounding to fewer
 * bits right (Boldo and Melquiond, 2008). AVX-512 has the roundings for that; elsewhere the
 * product is exact in f64, and so is the error of its sum (Knuth's two-sum). NaN results are
 * canonical, 0x7fff in both formats.
 */
#include "jit/gen/gen.h"

#include <assert.h>

/* One element's world: scalar or <16 x ..>. */
struct half {
    struct gen *g;
    bool vec, bf;
};

static LLVMTypeRef half_form(const struct half *h, LLVMTypeRef elem)
{
    return gen_type_as(h->g, h->vec, elem);
}

static LLVMValueRef half_k16(const struct half *h, uint64_t v)
{
    return gen_k(h->g, h->vec, h->g->t->i16, v);
}

static LLVMValueRef half_k32(const struct half *h, uint64_t v)
{
    return gen_k(h->g, h->vec, h->g->t->i32, v);
}

static LLVMValueRef half_bits_of(const struct half *h, LLVMValueRef x, LLVMTypeRef it)
{
    return LLVMBuildBitCast(h->g->b, x, half_form(h, it), "");
}

/* ---- widening, exact */

static LLVMValueRef half_widen_by_integers(const struct half *h, LLVMValueRef x)
{
    LLVMBuilderRef b = h->g->b;
    LLVMTypeRef f32 = half_form(h, h->g->t->f32);
    LLVMValueRef w = LLVMBuildZExt(b, x, half_form(h, h->g->t->i32), "");
    LLVMValueRef sign =
        LLVMBuildShl(b, LLVMBuildAnd(b, w, half_k32(h, 0x8000), ""), half_k32(h, 16), "");
    LLVMValueRef m =
        LLVMBuildShl(b, LLVMBuildAnd(b, w, half_k32(h, 0x7fff), ""), half_k32(h, 13), "");
    LLVMValueRef exp = LLVMBuildAnd(b, m, half_k32(h, 0x0f800000), "");
    LLVMValueRef normal = LLVMBuildAdd(b, m, half_k32(h, 112u << 23), "");
    LLVMValueRef special = LLVMBuildAdd(b, m, half_k32(h, 224u << 23), "");
    /* A subnormal is the difference of two normal numbers. */
    LLVMValueRef tiny =
        LLVMBuildBitCast(b, LLVMBuildAdd(b, m, half_k32(h, 113u << 23), ""), f32, "");
    tiny = LLVMBuildFSub(b, tiny, gen_kf(h->g, h->vec, h->g->t->f32, 0x1p-14), "");
    LLVMValueRef r = LLVMBuildSelect(
        b, LLVMBuildICmp(b, LLVMIntEQ, exp, half_k32(h, 0x0f800000), ""), special, normal, "");
    r = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, exp, half_k32(h, 0), ""),
                        half_bits_of(h, tiny, h->g->t->i32), r, "");
    return LLVMBuildBitCast(b, LLVMBuildOr(b, r, sign, ""), f32, "");
}

static LLVMValueRef half_widen(const struct half *h, LLVMValueRef x)
{
    LLVMBuilderRef b = h->g->b;
    LLVMTypeRef f32 = half_form(h, h->g->t->f32);
    if (h->bf) {
        x = LLVMBuildShl(b, LLVMBuildZExt(b, x, half_form(h, h->g->t->i32), ""), half_k32(h, 16),
                         "");
        return LLVMBuildBitCast(b, x, f32, "");
    }
    if (h->g->unit->path == JIT_GENERIC)
        return half_widen_by_integers(h, x);
    x = LLVMBuildFPExt(b, LLVMBuildBitCast(b, x, half_form(h, h->g->t->f16), ""), f32, "");
    /* Or InstCombine compares as halves what comes from them: CPUs without such a comparison do so
     * lane by lane. */
    return gen_intrinsic(h->g, "llvm.arithmetic.fence", &f32, 1, &x, 1);
}

/* ---- narrowing with one rounding */

static LLVMValueRef half_narrow_by_integers(const struct half *h, LLVMValueRef x)
{
    LLVMBuilderRef b = h->g->b;
    LLVMTypeRef f32 = half_form(h, h->g->t->f32);
    LLVMValueRef w = half_bits_of(h, x, h->g->t->i32);
    LLVMValueRef sign = LLVMBuildAnd(b, w, half_k32(h, 0x80000000u), "");
    LLVMValueRef a = LLVMBuildXor(b, w, sign, "");
    /* Adding 0.5 puts the last bit of a subnormal at the last bit of the sum. */
    LLVMValueRef tiny = LLVMBuildFAdd(b, LLVMBuildBitCast(b, a, f32, ""),
                                      gen_kf(h->g, h->vec, h->g->t->f32, 0.5), "");
    tiny = LLVMBuildSub(b, half_bits_of(h, tiny, h->g->t->i32), half_k32(h, 0x3f000000), "");
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, a, half_k32(h, 13), ""), half_k32(h, 1), "");
    LLVMValueRef normal = LLVMBuildAdd(b, a, half_k32(h, 0xc8000fffu), "");
    normal = LLVMBuildLShr(b, LLVMBuildAdd(b, normal, odd, ""), half_k32(h, 13), "");
    LLVMValueRef r = LLVMBuildSelect(
        b, LLVMBuildICmp(b, LLVMIntULT, a, half_k32(h, 113u << 23), ""), tiny, normal, "");
    r = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, a, half_k32(h, 0x47800000), ""),
                        half_k32(h, 0x7c00), r, "");
    r = LLVMBuildOr(b, r, LLVMBuildLShr(b, sign, half_k32(h, 16), ""), "");
    return LLVMBuildTrunc(b, r, half_form(h, h->g->t->i16), "");
}

/* To nearest even; NaN is the caller's. */
static LLVMValueRef half_narrow_nearest(const struct half *h, LLVMValueRef x)
{
    LLVMBuilderRef b = h->g->b;
    if (h->bf) {
        LLVMValueRef w = half_bits_of(h, x, h->g->t->i32);
        LLVMValueRef odd =
            LLVMBuildAnd(b, LLVMBuildLShr(b, w, half_k32(h, 16), ""), half_k32(h, 1), "");
        w = LLVMBuildAdd(b, LLVMBuildAdd(b, w, half_k32(h, 0x7fff), ""), odd, "");
        return LLVMBuildTrunc(b, LLVMBuildLShr(b, w, half_k32(h, 16), ""),
                              half_form(h, h->g->t->i16), "");
    }
    if (h->g->unit->path == JIT_GENERIC)
        return half_narrow_by_integers(h, x);
    return half_bits_of(h, LLVMBuildFPTrunc(b, x, half_form(h, h->g->t->f16), ""), h->g->t->i16);
}

/* Toward zero: where rounding to nearest gave more, one less. */
static LLVMValueRef half_narrow_zero(const struct half *h, LLVMValueRef x)
{
    LLVMBuilderRef b = h->g->b;
    LLVMTypeRef f32 = half_form(h, h->g->t->f32);
    if (h->bf) {
        LLVMValueRef w = LLVMBuildLShr(b, half_bits_of(h, x, h->g->t->i32), half_k32(h, 16), "");
        return LLVMBuildTrunc(b, w, half_form(h, h->g->t->i16), "");
    }
    LLVMValueRef r = half_narrow_nearest(h, x), back = half_widen(h, r);
    LLVMValueRef more =
        LLVMBuildFCmp(b, LLVMRealOGT, gen_intrinsic(h->g, "llvm.fabs", &f32, 1, &back, 1),
                      gen_intrinsic(h->g, "llvm.fabs", &f32, 1, &x, 1), "");
    return LLVMBuildSelect(b, more, LLVMBuildSub(b, r, half_k16(h, 1), ""), r, "");
}

static LLVMValueRef half_narrow(const struct half *h, LLVMValueRef x, bool toward_zero)
{
    LLVMBuilderRef b = h->g->b;
    LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
    LLVMValueRef r = toward_zero ? half_narrow_zero(h, x) : half_narrow_nearest(h, x);
    return LLVMBuildSelect(b, nan, half_k16(h, 0x7fff), r, "");
}

LLVMValueRef gen_half_widen(struct gen *g, bool vec, enum ir_type t, LLVMValueRef x)
{
    return half_widen(&(struct half){g, vec, t == IR_BF16 || t == IR_BF16X2}, x);
}

LLVMValueRef gen_half_narrow(struct gen *g, bool vec, enum ir_type t, LLVMValueRef x,
                             bool toward_zero)
{
    return half_narrow(&(struct half){g, vec, t == IR_BF16 || t == IR_BF16X2}, x, toward_zero);
}

/* ---- rounding to odd */

/* `bits`, a rounding of something that lies off in the direction `up` in magnitude: the odd one of
 * the two numbers around it. */
static LLVMValueRef half_to_odd(struct gen *g, bool vec, LLVMValueRef bits, LLVMValueRef inexact,
                                LLVMValueRef up)
{
    LLVMTypeRef elem = LLVMTypeOf(bits);
    if (vec)
        elem = LLVMGetElementType(elem);
    LLVMValueRef one = gen_k(g, vec, elem, 1);
    LLVMValueRef even = LLVMBuildICmp(g->b, LLVMIntEQ, LLVMBuildAnd(g->b, bits, one, ""),
                                      gen_k(g, vec, elem, 0), "");
    LLVMValueRef other = LLVMBuildSelect(g->b, up, LLVMBuildAdd(g->b, bits, one, ""),
                                         LLVMBuildSub(g->b, bits, one, ""), "");
    return LLVMBuildSelect(g->b, LLVMBuildAnd(g->b, inexact, even, ""), other, bits, "");
}

LLVMValueRef gen_odd_f32(struct gen *g, bool vec, LLVMValueRef x)
{
    assert(LLVMTypeOf(x) == gen_type_as(g, vec, g->t->f64) ||
           LLVMTypeOf(x) == gen_type_as(g, vec, g->t->i64));
    LLVMTypeRef f32 = gen_type_as(g, vec, g->t->f32), f64 = gen_type_as(g, vec, g->t->f64);
    LLVMValueRef t = LLVMBuildFPTrunc(g->b, x, f32, ""), back = LLVMBuildFPExt(g->b, t, f64, "");
    LLVMValueRef up =
        LLVMBuildFCmp(g->b, LLVMRealOLT, gen_intrinsic(g, "llvm.fabs", &f64, 1, &back, 1),
                      gen_intrinsic(g, "llvm.fabs", &f64, 1, &x, 1), "");
    LLVMValueRef inexact = LLVMBuildFCmp(g->b, LLVMRealONE, back, x, "");
    LLVMValueRef bits = LLVMBuildBitCast(g->b, t, gen_type_as(g, vec, g->t->i32), "");
    return LLVMBuildBitCast(g->b, half_to_odd(g, vec, bits, inexact, up), f32, "");
}

LLVMValueRef gen_odd_sum_f64(struct gen *g, bool vec, LLVMValueRef p, LLVMValueRef c)
{
    LLVMBuilderRef b = g->b;
    LLVMTypeRef i64 = gen_type_as(g, vec, g->t->i64);
    LLVMValueRef s = LLVMBuildFAdd(b, p, c, ""), t = LLVMBuildFSub(b, s, p, "");
    LLVMValueRef e = LLVMBuildFAdd(b, LLVMBuildFSub(b, p, LLVMBuildFSub(b, s, t, ""), ""),
                                   LLVMBuildFSub(b, c, t, ""), "");
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, e, gen_kf(g, vec, g->t->f64, 0.0), "");
    LLVMValueRef sb = LLVMBuildBitCast(b, s, i64, ""), eb = LLVMBuildBitCast(b, e, i64, "");
    LLVMValueRef up =
        LLVMBuildICmp(b, LLVMIntSGE, LLVMBuildXor(b, sb, eb, ""), gen_k(g, vec, g->t->i64, 0), "");
    return LLVMBuildBitCast(b, half_to_odd(g, vec, sb, inexact, up), gen_type_as(g, vec, g->t->f64),
                            "");
}

/* ---- operations on one element */

/* Toward zero, and odd where rounding up and down differ. EVEX.RC: 1 down, 2 up, 3 toward zero. */
static LLVMValueRef half_fma_odd_avx512(const struct half *h, LLVMValueRef const x[3])
{
    LLVMBuilderRef b = h->g->b;
    LLVMTypeRef i32 = gen_vec(h->g, h->g->t->i32);
    LLVMValueRef args[4], r[4] = {NULL};
    for (int i = 0; i < 3; i++)
        args[i] = h->vec ? x[i] : gen_splat(h->g, x[i]);
    for (unsigned mode = 1; mode <= 3; mode++) {
        args[3] = gen_i32(h->g, 8 | mode);
        r[mode] = gen_intrinsic(h->g, "llvm.x86.avx512.vfmadd.ps.512", NULL, 0, args, 4);
    }
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, r[1], r[2], "");
    LLVMValueRef bits = LLVMBuildBitCast(b, r[3], i32, "");
    LLVMValueRef odd = LLVMBuildOr(b, bits, gen_splat_const(h->g, h->g->t->i32, 1), "");
    bits = LLVMBuildSelect(b, inexact, odd, bits, "");
    bits = LLVMBuildBitCast(b, bits, gen_vec(h->g, h->g->t->f32), "");
    return h->vec ? bits : LLVMBuildExtractElement(b, bits, gen_i32(h->g, 0), "");
}

static LLVMValueRef half_fma_odd(const struct half *h, LLVMValueRef const x[3])
{
    if (h->g->unit->avx512)
        return half_fma_odd_avx512(h, x);
    LLVMValueRef w[3];
    for (int i = 0; i < 3; i++)
        w[i] = LLVMBuildFPExt(h->g->b, x[i], half_form(h, h->g->t->f64), "");
    LLVMValueRef p = LLVMBuildFMul(h->g->b, w[0], w[1], "");
    return gen_odd_f32(h->g, h->vec, gen_odd_sum_f64(h->g, h->vec, p, w[2]));
}

LLVMValueRef gen_half_saturate(struct gen *g, bool vec, enum ir_type t, LLVMValueRef r)
{
    struct half h = {g, vec, t == IR_BF16 || t == IR_BF16X2};
    LLVMValueRef one = half_k16(&h, h.bf ? 0x3f80 : 0x3c00), zero = half_k16(&h, 0);
    LLVMValueRef big = LLVMBuildICmp(g->b, LLVMIntSGT, r, one, "");
    LLVMValueRef nan = LLVMBuildICmp(g->b, LLVMIntSGT, r, half_k16(&h, h.bf ? 0x7f80 : 0x7c00), "");
    LLVMValueRef low = LLVMBuildICmp(g->b, LLVMIntSLT, r, zero, "");
    r = LLVMBuildSelect(g->b, big, one, r, "");
    return LLVMBuildSelect(g->b, LLVMBuildOr(g->b, nan, low, ""), zero, r, "");
}

/* Negative numbers give +0. The one NaN is positive. */
static LLVMValueRef half_relu(const struct half *h, LLVMValueRef r)
{
    LLVMValueRef low = LLVMBuildICmp(h->g->b, LLVMIntSLT, r, half_k16(h, 0), "");
    return LLVMBuildSelect(h->g->b, low, half_k16(h, 0), r, "");
}

static LLVMValueRef half_arith(const struct half *h, const struct ir_instr *in,
                               LLVMValueRef const x[3])
{
    LLVMValueRef w[3], r;
    for (uint32_t s = 0; s < in->nsrc; s++)
        w[s] = half_widen(h, x[s]);
    switch (in->op) {
    case IR_OP_FADD:
        r = LLVMBuildFAdd(h->g->b, w[0], w[1], "");
        break;
    case IR_OP_FSUB:
        r = LLVMBuildFSub(h->g->b, w[0], w[1], "");
        break;
    case IR_OP_FMUL:
        r = LLVMBuildFMul(h->g->b, w[0], w[1], "");
        break;
    default:
        r = half_fma_odd(h, w);
        break;
    }
    r = half_narrow(h, r, false);
    if (in->op == IR_OP_FMA && ir_has(in, IR_MOD_RELU))
        r = half_relu(h, r);
    return ir_has(in, IR_MOD_SAT) ? gen_half_saturate(h->g, h->vec, in->type, r) : r;
}

/* ex2 and tanh: the f32 approximation, rounded. */
static LLVMValueRef half_approx(const struct half *h, const struct ir_instr *in, LLVMValueRef x)
{
    struct ir_instr like = *in;
    like.type = IR_F32;
    struct gen_emit e = {.in = &like, .vec = h->vec};
    e.src[0] = half_bits_of(h, half_widen(h, x), h->g->t->i32);
    LLVMValueRef r = gen_emit_approx(h->g, &e);
    return r ? half_narrow(h, LLVMBuildBitCast(h->g->b, r, half_form(h, h->g->t->f32), ""), false)
             : NULL;
}

static LLVMValueRef half_element(const struct half *h, const struct ir_instr *in,
                                 LLVMValueRef const x[3])
{
    LLVMValueRef a = half_widen(h, x[0]), b = in->nsrc > 1 ? half_widen(h, x[1]) : NULL;
    switch (in->op) {
    case IR_OP_FMIN:
    case IR_OP_FMAX:
        return gen_min_max(h->g, h->vec, in, x, (LLVMValueRef[]){a, b});
    case IR_OP_FEX2:
    case IR_OP_FTANH:
        return half_approx(h, in, x[0]);
    default:
        return half_arith(h, in, x);
    }
}

/* ---- packed types */

static LLVMValueRef half_piece(const struct half *h, LLVMValueRef x, unsigned i)
{
    if (i)
        x = LLVMBuildLShr(h->g->b, x, half_k32(h, 16), "");
    return LLVMBuildTrunc(h->g->b, x, half_form(h, h->g->t->i16), "");
}

static LLVMValueRef half_both(const struct half *h, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMTypeRef i32 = half_form(h, h->g->t->i32);
    hi = LLVMBuildShl(h->g->b, LLVMBuildZExt(h->g->b, hi, i32, ""), half_k32(h, 16), "");
    return LLVMBuildOr(h->g->b, LLVMBuildZExt(h->g->b, lo, i32, ""), hi, "");
}

static LLVMValueRef packed(const struct half *h, const struct gen_emit *e)
{
    LLVMValueRef r[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x[3] = {NULL};
        for (uint32_t s = 0; s < e->in->nsrc; s++)
            x[s] = half_piece(h, e->src[s], i);
        r[i] = half_element(h, e->in, x);
        if (!r[i])
            return NULL;
    }
    return half_both(h, r[0], r[1]);
}

/* Sign bits of all elements at once. */
static LLVMValueRef half_sign_op(const struct half *h, const struct gen_emit *e, bool is_packed)
{
    LLVMTypeRef t = is_packed ? h->g->t->i32 : h->g->t->i16;
    uint64_t sign = is_packed ? 0x80008000u : 0x8000u;
    if (e->in->op == IR_OP_FNEG)
        return LLVMBuildXor(h->g->b, e->src[0], gen_k(h->g, h->vec, t, sign), "");
    return LLVMBuildAnd(h->g->b, e->src[0], gen_k(h->g, h->vec, t, ~sign), "");
}

static LLVMValueRef half_compare(const struct half *h, const struct gen_emit *e, bool is_packed)
{
    LLVMValueRef x[2];
    for (int s = 0; s < 2; s++) {
        x[s] = is_packed ? half_piece(h, e->src[s], ir_has(e->in, IR_MOD_HI)) : e->src[s];
        x[s] = half_widen(h, x[s]);
    }
    return LLVMBuildFCmp(h->g->b, gen_real_predicate(e->in->cmp), x[0], x[1], "");
}

/* cvt.f16x2.f32 and cvt.bf16x2.f32: the first source goes to the upper half. */
static LLVMValueRef half_cvt_pack(const struct half *h, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    LLVMValueRef r[2];
    if ((in->rnd != IR_RN && in->rnd != IR_RZ && in->rnd != IR_RND_NONE) ||
        ir_has(in, IR_MOD_SATFINITE))
        return NULL;
    for (int i = 0; i < 2; i++) {
        LLVMValueRef x = LLVMBuildBitCast(h->g->b, e->src[1 - i], half_form(h, h->g->t->f32), "");
        r[i] = half_narrow(h, x, in->rnd == IR_RZ);
        if (ir_has(in, IR_MOD_RELU))
            r[i] = half_relu(h, r[i]);
        if (ir_has(in, IR_MOD_SAT))
            r[i] = gen_half_saturate(h->g, h->vec, in->type, r[i]);
    }
    return half_both(h, r[0], r[1]);
}

LLVMValueRef gen_emit_half(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    bool is_packed = in->type == IR_F16X2 || in->type == IR_BF16X2;
    bool is_bf = in->type == IR_BF16 || in->type == IR_BF16X2;
    struct half h = {g, e->vec, is_bf};
    if ((!is_packed && !is_bf && in->type != IR_F16) || ir_has(in, IR_MOD_FTZ))
        return NULL;
    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
    case IR_OP_FMUL:
    case IR_OP_FMA:
        if (in->rnd != IR_RN && in->rnd != IR_RND_NONE)
            return NULL;
        return is_packed ? packed(&h, e) : half_element(&h, in, e->src);
    case IR_OP_FMIN:
    case IR_OP_FMAX:
    case IR_OP_FEX2:
    case IR_OP_FTANH:
        return is_packed ? packed(&h, e) : half_element(&h, in, e->src);
    case IR_OP_FNEG:
    case IR_OP_FABS:
        return half_sign_op(&h, e, is_packed);
    case IR_OP_FSETP:
        return half_compare(&h, e, is_packed);
    case IR_OP_CVTPACK:
        return half_cvt_pack(&h, e);
    default:
        return NULL;
    }
}
