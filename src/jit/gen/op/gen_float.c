/*
 * Floating-point arithmetic and the approximate instructions.
 *
 * Values are integers of the same width; operations cast. Round-to-nearest operations are LLVM's
 * own
 * in the default environment; directed rounding is an AVX-512 embedded rounding mode, or falls back
 * to the reference. Flush-to-zero costs nothing when the whole kernel agrees on it (MXCSR); else
 * the operands and results of the .ftz minority are flushed by integer operations.
 * The approximations emit base/float/approx.h step by step: equal operations, equal bits.
 */
#include "jit/gen/gen_outline.h"

#include <assert.h>
#include <stdio.h>

#include "base/float/approx.h"

static LLVMValueRef as_float(struct gen *g, bool vec, LLVMTypeRef ft, LLVMValueRef x)
{
    return LLVMBuildBitCast(g->b, x, gen_type_as(g, vec, ft), "");
}

static LLVMValueRef float_as_int(struct gen *g, bool vec, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    if (vec)
        t = LLVMGetElementType(t);
    LLVMTypeRef it = t == g->t->f64 ? g->t->i64 : t == g->t->f32 ? g->t->i32 : g->t->i16;
    return LLVMBuildBitCast(g->b, x, gen_type_as(g, vec, it), "");
}

static LLVMValueRef float_intrinsic(struct gen *g, const char *name, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef t = LLVMTypeOf(args[0]);
    return gen_intrinsic(g, name, &t, 1, args, n);
}

static LLVMValueRef float_fma_(struct gen *g, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef args[] = {a, b, c};
    return float_intrinsic(g, "llvm.fma", args, 3);
}

/* max(x, +0) with NaN to +0, then min 1 */
static LLVMValueRef float_saturate(struct gen *g, bool vec, LLVMTypeRef ft, LLVMValueRef x)
{
    LLVMValueRef zero = gen_kf(g, vec, ft, 0.0), one = gen_kf(g, vec, ft, 1.0);
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, x, zero, ""), x, zero, "");
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, one, ""), x, one, "");
}

static bool float_directed(enum ir_rnd r)
{
    return r == IR_RZ || r == IR_RM || r == IR_RP;
}

/* AVX-512 embedded rounding: bits 8 | mode, mode 1 = down, 2 = up, 3 = toward zero (Intel SDM,
 * EVEX.RC). */
static unsigned float_embedded_mode(enum ir_rnd r)
{
    return 8u | (r == IR_RM ? 1u : r == IR_RP ? 2u : 3u);
}

static LLVMValueRef float_append(struct gen *g, LLVMValueRef a, LLVMValueRef b, unsigned n)
{
    LLVMValueRef join[GEN_LANES];
    for (unsigned l = 0; l < 2 * n; l++)
        join[l] = gen_i32(g, l);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(join, 2 * n), "");
}

/* Eight lanes of f64 are a register. */
static LLVMValueRef float_eight_pd(struct gen *g, const char *name, LLVMValueRef *x, unsigned n,
                                   unsigned mode, unsigned first)
{
    LLVMValueRef args[4], pick[8];
    for (unsigned l = 0; l < 8; l++)
        pick[l] = gen_i32(g, first + l);
    for (unsigned i = 0; i < n; i++)
        args[i] = LLVMBuildShuffleVector(g->b, x[i], LLVMGetPoison(LLVMTypeOf(x[i])),
                                         LLVMConstVector(pick, 8), "");
    args[n] = gen_i32(g, mode);
    return gen_intrinsic(g, name, NULL, 0, args, n + 1);
}

static LLVMValueRef float_by_eight_pd(struct gen *g, const char *name, LLVMValueRef *x, unsigned n,
                                      unsigned mode)
{
    LLVMValueRef part[GEN_LANES / 8];
    for (unsigned p = 0; p < GEN_LANES / 8; p++)
        part[p] = float_eight_pd(g, name, x, n, mode, p * 8);
    for (unsigned have = 8; have < GEN_LANES; have *= 2) {
        for (unsigned p = 0; p < GEN_LANES / have / 2; p++)
            part[p] = float_append(g, part[2 * p], part[2 * p + 1], have);
    }
    return part[0];
}

/* LLVM 19's DAG combiner takes 0 / 0 for 0 in lanes of which it finds out that both are (a flushed
 * thread number); it does not look through a fence. */
static LLVMValueRef float_quotient(struct gen *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(b);
    bool may_be_0 = !LLVMIsConstant(b) || LLVMIsNull(b);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind && may_be_0)
        b = gen_intrinsic(g, "llvm.arithmetic.fence", &type, 1, &b, 1);
    return LLVMBuildFDiv(g->b, a, b, "");
}

static LLVMValueRef float_arith_directed(struct gen *g, const struct gen_emit *e, LLVMValueRef *x,
                                         unsigned n)
{
    bool f64 = e->in->type == IR_F64;
    const char *name = NULL;
    switch (e->in->op) {
    case IR_OP_FADD:
        name = f64 ? "llvm.x86.avx512.add.pd.512" : "llvm.x86.avx512.add.ps.512";
        break;
    case IR_OP_FSUB:
        name = f64 ? "llvm.x86.avx512.sub.pd.512" : "llvm.x86.avx512.sub.ps.512";
        break;
    case IR_OP_FMUL:
        name = f64 ? "llvm.x86.avx512.mul.pd.512" : "llvm.x86.avx512.mul.ps.512";
        break;
    case IR_OP_FDIV:
    case IR_OP_FRCP:
        name = f64 ? "llvm.x86.avx512.div.pd.512" : "llvm.x86.avx512.div.ps.512";
        break;
    case IR_OP_FMA:
        name = f64 ? "llvm.x86.avx512.vfmadd.pd.512" : "llvm.x86.avx512.vfmadd.ps.512";
        break;
    case IR_OP_FSQRT:
        name = f64 ? "llvm.x86.avx512.sqrt.pd.512" : "llvm.x86.avx512.sqrt.ps.512";
        break;
    default:
        return NULL;
    }
    LLVMValueRef v[4];
    for (unsigned i = 0; i < n; i++)
        v[i] = e->vec ? x[i] : gen_splat(g, x[i]);
    LLVMValueRef r;
    if (f64) {
        r = float_by_eight_pd(g, name, v, n, float_embedded_mode(e->in->rnd));
    } else {
        v[n] = gen_i32(g, float_embedded_mode(e->in->rnd));
        r = gen_intrinsic(g, name, NULL, 0, v, n + 1);
    }
    return e->vec ? r : LLVMBuildExtractElement(g->b, r, gen_i32(g, 0), "");
}

/* f32 in f64, rounded to odd and then in the wanted direction. Sums and products only. */
static LLVMValueRef float_arith_wide(struct gen *g, const struct gen_emit *e, LLVMValueRef const *x)
{
    LLVMValueRef w[3], s;
    if (e->in->type != IR_F32 || ir_has(e->in, IR_MOD_FTZ))
        return NULL;
    for (uint32_t i = 0; i < e->in->nsrc; i++)
        w[i] = LLVMBuildFPExt(g->b, x[i], gen_type_as(g, e->vec, g->t->f64), "");
    switch (e->in->op) {
    case IR_OP_FMUL:
        return gen_directed_f32(g, e->vec, LLVMBuildFMul(g->b, w[0], w[1], ""), e->in->rnd);
    case IR_OP_FSUB:
        w[1] = LLVMBuildFNeg(g->b, w[1], "");
        break;
    case IR_OP_FMA:
        w[0] = LLVMBuildFMul(g->b, w[0], w[1], "");
        w[1] = w[2];
        break;
    case IR_OP_FADD:
        break;
    default:
        return NULL;
    }
    s = gen_odd_sum_f64(g, e->vec, w[0], w[1]);
    if (e->in->rnd == IR_RM) {
        /* Rounded down, a difference of zero is negative, but +0 + +0 is not. */
        LLVMTypeRef i64 = gen_type_as(g, e->vec, g->t->i64);
        LLVMValueRef any = LLVMBuildOr(g->b, LLVMBuildBitCast(g->b, w[0], i64, ""),
                                       LLVMBuildBitCast(g->b, w[1], i64, ""), "");
        any = LLVMBuildICmp(g->b, LLVMIntNE, any, gen_k(g, e->vec, g->t->i64, 0), "");
        LLVMValueRef zero =
            LLVMBuildFCmp(g->b, LLVMRealOEQ, s, gen_kf(g, e->vec, g->t->f64, 0.0), "");
        s = LLVMBuildSelect(g->b, LLVMBuildAnd(g->b, zero, any, ""),
                            gen_kf(g, e->vec, g->t->f64, -0.0), s, "");
    }
    return gen_directed_f32(g, e->vec, s, e->in->rnd);
}

/* Long where the host has no embedded rounding. x[]: as many as the operation has sources. */
static LLVMValueRef float_arith_wide_outlined(struct gen *g, const struct gen_emit *e,
                                              LLVMValueRef *x)
{
    LLVMTypeRef type = LLVMTypeOf(x[0]), params[] = {type, type, type};
    uint32_t n = e->in->nsrc;
    bool fits = e->in->type == IR_F32 && !ir_has(e->in, IR_MOD_FTZ) &&
                (e->in->op == IR_OP_FMUL || e->in->op == IR_OP_FSUB || e->in->op == IR_OP_FMA ||
                 e->in->op == IR_OP_FADD);
    char name[48];

    if (!e->vec || !fits)
        return float_arith_wide(g, e, x);
    snprintf(name, sizeof(name), "heddle_%s_%u", ir_op_infos[e->in->op].name, e->in->rnd);
    struct gen_outline outline = gen_outline_open(g, name, GEN_OUTLINE_QUICK, type, params, n);
    if (outline.is_new) {
        LLVMValueRef own[3];
        for (uint32_t i = 0; i < n; i++)
            own[i] = LLVMGetParam(outline.fn, i);
        gen_outline_close(g, &outline, float_arith_wide(g, e, own));
    }
    return gen_outline_call(g, &outline, x, n);
}

/*
 * floor(a * b) + c in two operations more than to nearest, see gen_floor_is_sum(): that one minus c
 * is the nearest integer, which is one too many where it exceeds the product. The difference has
 * the sign of the exact one.
 */
static LLVMValueRef float_floor_sum(struct gen *g, const struct gen_emit *e, LLVMValueRef *x)
{
    LLVMBuilderRef b = g->b;
    LLVMValueRef near = float_fma_(g, x[0], x[1], x[2]);
    LLVMValueRef n = LLVMBuildFSub(b, near, x[2], "");
    LLVMValueRef more = float_as_int(g, e->vec, float_fma_(g, x[0], x[1], LLVMBuildFNeg(b, n, "")));
    more = LLVMBuildAShr(b, more, gen_k(g, e->vec, g->t->i32, 31), "");
    return as_float(g, e->vec, g->t->f32, LLVMBuildAdd(b, float_as_int(g, e->vec, near), more, ""));
}

static LLVMValueRef float_arith_nearest(struct gen *g, const struct gen_emit *e, LLVMValueRef *x,
                                        LLVMTypeRef ft)
{
    switch (e->in->op) {
    case IR_OP_FADD:
        return LLVMBuildFAdd(g->b, x[0], x[1], "");
    case IR_OP_FSUB:
        return LLVMBuildFSub(g->b, x[0], x[1], "");
    case IR_OP_FMUL:
        return LLVMBuildFMul(g->b, x[0], x[1], "");
    case IR_OP_FDIV:
        return float_quotient(g, x[0], x[1]);
    case IR_OP_FMA:
        return float_fma_(g, x[0], x[1], x[2]);
    case IR_OP_FSQRT:
        return float_intrinsic(g, "llvm.sqrt", x, 1);
    case IR_OP_FRCP:
        return LLVMBuildFDiv(g->b, gen_kf(g, e->vec, ft, 1.0), x[0], "");
    default:
        return NULL;
    }
}

static bool float_is_arith(enum ir_op op)
{
    return op == IR_OP_FADD || op == IR_OP_FSUB || op == IR_OP_FMUL || op == IR_OP_FDIV ||
           op == IR_OP_FMA || op == IR_OP_FSQRT || op == IR_OP_FRCP;
}

static LLVMValueRef float_flush_if(struct gen *g, const struct gen_emit *e, LLVMValueRef x,
                                   bool always)
{
    if (!ir_has(e->in, IR_MOD_FTZ) || e->in->type != IR_F32 || (g->unit->fp_ftz && !always))
        return x;
    return gen_flush(g, e->vec, x);
}

/* div.approx: 2^126 < |b| gives a signed zero, or NaN for infinite a (base/float/approx.h). */
static LLVMValueRef float_div_approx_range(struct gen *g, const struct gen_emit *e, LLVMValueRef *x,
                                           LLVMValueRef q)
{
    LLVMValueRef b = float_as_int(g, e->vec, x[1]);
    LLVMValueRef zero = LLVMBuildAnd(g->b, b, gen_k(g, e->vec, g->t->i32, HD_APPROX_SIGN), "");
    LLVMValueRef m = LLVMBuildAnd(g->b, b, gen_k(g, e->vec, g->t->i32, ~HD_APPROX_SIGN), "");
    LLVMValueRef big = LLVMBuildFCmp(g->b, LLVMRealOGT, as_float(g, e->vec, g->t->f32, m),
                                     gen_kf(g, e->vec, g->t->f32, 0x1p126), "");
    LLVMValueRef alt = LLVMBuildFMul(g->b, x[0], as_float(g, e->vec, g->t->f32, zero), "");
    return LLVMBuildSelect(g->b, big, alt, q, "");
}

/*
 * LLVM takes x + -0 and x * 1 for x. That is right but for denormals that the mode flushes and for
 * NaNs of f64 that signal, so such constants hide behind a fence.
 */
static LLVMValueRef float_hide_identity(struct gen *g, const struct ir_value *v, LLVMValueRef x)
{
    bool is_double = v->type == IR_B64;
    uint64_t bits;
    if ((!g->unit->fp_ftz && !is_double) || !ir_value_const(v, &bits))
        return x;
    uint64_t size = is_double ? bits << 1 : bits << 33; /* without its sign */
    if (size != 0 && size != (is_double ? UINT64_C(0x3ff) << 53 : UINT64_C(0x7f) << 56))
        return x;
    LLVMTypeRef type = LLVMTypeOf(x);
    return gen_intrinsic(g, "llvm.arithmetic.fence", &type, 1, &x, 1);
}

static LLVMValueRef float_arith(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    LLVMTypeRef ft = gen_float_type(g, in->type);
    bool approx64 = in->type == IR_F64 && (in->rnd == IR_APPROX || in->rnd == IR_FULL);
    if ((in->op == IR_OP_FMA && ir_has(in, IR_MOD_RELU)) || approx64)
        return NULL;
    LLVMValueRef x[4];
    for (uint32_t s = 0; s < in->nsrc; s++)
        x[s] = float_hide_identity(g, in->src[s],
                                   as_float(g, e->vec, ft, float_flush_if(g, e, e->src[s], false)));
    LLVMValueRef r;
    if (float_directed(in->rnd)) {
        uint32_t n = in->nsrc;
        if (in->op == IR_OP_FRCP) {
            x[n++] = x[0];
            x[0] = gen_kf(g, e->vec, ft, 1.0);
        }
        if (g->unit->avx512)
            r = float_arith_directed(g, e, x, n);
        else if (g->unit->path == JIT_AVX2 && gen_floor_is_sum(in))
            r = float_floor_sum(g, e, x);
        else
            r = float_arith_wide_outlined(g, e, x);
    } else {
        r = float_arith_nearest(g, e, x, ft);
    }
    if (!r)
        return NULL;
    if (in->op == IR_OP_FDIV && in->rnd == IR_APPROX)
        r = float_div_approx_range(g, e, x, r);
    if (ir_has(in, IR_MOD_SAT))
        r = float_saturate(g, e->vec, ft, r);
    r = float_as_int(g, e->vec, r);
    return float_flush_if(g, e, r, false);
}

/* A NaN in f64 keeps its payload, quieted; elsewhere there is one NaN. */
static LLVMValueRef float_nan_of(struct gen *g, bool vec, LLVMTypeRef it, LLVMValueRef first)
{
    if (it == g->t->i64)
        return LLVMBuildOr(g->b, first, gen_k(g, vec, it, 1ull << 51), "");
    return gen_k(g, vec, it, (1ull << (LLVMGetIntTypeWidth(it) - 1)) - 1);
}

/* minNum/maxNum, -0 < +0. .nan: NaN wins; .xorsign: of magnitudes, with the product's sign. */
LLVMValueRef gen_min_max(struct gen *g, bool vec, const struct ir_instr *in,
                         LLVMValueRef const bits[2], LLVMValueRef const x[2])
{
    LLVMBuilderRef bl = g->b;
    bool min = in->op == IR_OP_FMIN;
    LLVMTypeRef it = LLVMTypeOf(bits[0]), ft = LLVMTypeOf(x[0]);
    LLVMTypeRef elem = vec ? LLVMGetElementType(it) : it;
    uint64_t sign_bit = 1ull << (LLVMGetIntTypeWidth(elem) - 1);
    LLVMValueRef b0 = bits[0], b1 = bits[1], a = x[0], b = x[1], sign = NULL;
    LLVMValueRef a_nan = LLVMBuildFCmp(bl, LLVMRealUNO, a, a, "");
    LLVMValueRef b_nan = LLVMBuildFCmp(bl, LLVMRealUNO, b, b, "");
    if (ir_has(in, IR_MOD_XORSIGN)) {
        sign = LLVMBuildAnd(bl, LLVMBuildXor(bl, b0, b1, ""), gen_k(g, vec, elem, sign_bit), "");
        b0 = LLVMBuildAnd(bl, b0, gen_k(g, vec, elem, ~sign_bit), "");
        b1 = LLVMBuildAnd(bl, b1, gen_k(g, vec, elem, ~sign_bit), "");
        a = gen_intrinsic(g, "llvm.fabs", &ft, 1, &a, 1);
        b = gen_intrinsic(g, "llvm.fabs", &ft, 1, &b, 1);
    }
    LLVMValueRef first = LLVMBuildFCmp(bl, min ? LLVMRealOLT : LLVMRealOGT, a, b, "");
    LLVMValueRef same = LLVMBuildFCmp(bl, LLVMRealOEQ, a, b, "");
    LLVMValueRef zeros = min ? LLVMBuildOr(bl, b0, b1, "") : LLVMBuildAnd(bl, b0, b1, "");
    LLVMValueRef r = LLVMBuildSelect(bl, first, b0, b1, "");
    r = LLVMBuildSelect(bl, same, zeros, r, "");
    r = LLVMBuildSelect(bl, b_nan, b0, r, "");
    if (sign)
        r = LLVMBuildOr(bl, r, sign, "");
    LLVMValueRef nan = ir_has(in, IR_MOD_NAN) ? LLVMBuildOr(bl, a_nan, b_nan, "")
                                              : LLVMBuildAnd(bl, a_nan, b_nan, "");
    LLVMValueRef payload = LLVMBuildSelect(bl, a_nan, bits[0], bits[1], "");
    return LLVMBuildSelect(bl, nan, float_nan_of(g, vec, elem, payload), r, "");
}

/* f32, where the NaN of two NaNs is made canonical when it becomes visible. */
static LLVMValueRef float_min_max_raw(struct gen *g, const struct gen_emit *e,
                                      LLVMValueRef const bits[2], LLVMValueRef const x[2])
{
    bool min = e->in->op == IR_OP_FMIN;
    LLVMValueRef first = LLVMBuildFCmp(g->b, min ? LLVMRealOLT : LLVMRealOGT, x[0], x[1], "");
    LLVMValueRef same = LLVMBuildFCmp(g->b, LLVMRealOEQ, x[0], x[1], "");
    LLVMValueRef b_nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x[1], x[1], "");
    LLVMValueRef zeros =
        min ? LLVMBuildOr(g->b, bits[0], bits[1], "") : LLVMBuildAnd(g->b, bits[0], bits[1], "");
    LLVMValueRef r = float_as_int(g, e->vec, LLVMBuildSelect(g->b, first, x[0], x[1], ""));
    r = LLVMBuildSelect(g->b, same, zeros, r, "");
    return LLVMBuildSelect(g->b, b_nan, bits[0], r, "");
}

static LLVMValueRef float_range_ps(struct gen *g, LLVMValueRef a, LLVMValueRef b, bool min)
{
    LLVMValueRef args[] = {a,
                           b,
                           gen_i32(g, 4u | !min), /* the sign of what was chosen */
                           a,
                           gen_ci(g->t->i16, 0xffff),
                           gen_i32(g, 4)};
    return gen_intrinsic(g, "llvm.x86.avx512.mask.range.ps.512", NULL, 0, args, 6);
}

/*
 * VRANGEPS orders zeros and prefers numbers to quiet NaNs. A signalling one wins, so it is made
 * quiet first.
 */
static LLVMValueRef float_min_max_wide(struct gen *g, const struct gen_emit *e, LLVMValueRef x[2])
{
    for (int s = 0; s < 2; s++) {
        if (!gen_never_signals(g, e->in->src[s]))
            x[s] = float_range_ps(g, x[s], x[s], true);
    }
    return float_as_int(g, true, float_range_ps(g, x[0], x[1], e->in->op == IR_OP_FMIN));
}

static LLVMValueRef float_min_max(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef bits[2], x[2];
    LLVMTypeRef ft = gen_float_type(g, e->in->type);
    if (e->in->type != IR_F32 && e->in->type != IR_F64)
        return NULL;
    for (int s = 0; s < 2; s++) {
        bits[s] = float_flush_if(g, e, e->src[s], true);
        x[s] = as_float(g, e->vec, ft, bits[s]);
    }
    if (e->in->type == IR_F32 && !(e->in->mods & (IR_MOD_NAN | IR_MOD_XORSIGN)))
        return e->vec && g->unit->avx512 ? float_min_max_wide(g, e, x)
                                         : float_min_max_raw(g, e, bits, x);
    return gen_min_max(g, e->vec, e->in, bits, x);
}

/* finite, infinite, number, NaN, normal (zeros too), subnormal: by the bits. */
static LLVMValueRef float_testp(struct gen *g, const struct gen_emit *e)
{
    bool f64 = e->in->type == IR_F64;
    LLVMTypeRef it = f64 ? g->t->i64 : g->t->i32;
    uint64_t inf = f64 ? 0x7ff0000000000000u : 0x7f800000u, one = f64 ? 1ull << 52 : 1u << 23;
    LLVMValueRef m = LLVMBuildShl(g->b, e->src[0], gen_k(g, e->vec, it, 1), "");
    m = LLVMBuildLShr(g->b, m, gen_k(g, e->vec, it, 1), "");
    LLVMValueRef k = gen_k(g, e->vec, it, inf);
    LLVMValueRef less = LLVMBuildSub(g->b, m, gen_k(g, e->vec, it, 1), "");
    LLVMValueRef sub = LLVMBuildICmp(g->b, LLVMIntULT, less, gen_k(g, e->vec, it, one - 1), "");
    LLVMValueRef finite = LLVMBuildICmp(g->b, LLVMIntULT, m, k, "");
    switch ((enum ir_testp)e->in->imm) {
    case IR_TESTP_FINITE:
        return finite;
    case IR_TESTP_INFINITE:
        return LLVMBuildICmp(g->b, LLVMIntEQ, m, k, "");
    case IR_TESTP_NUMBER:
        return LLVMBuildICmp(g->b, LLVMIntULE, m, k, "");
    case IR_TESTP_NOTANUMBER:
        return LLVMBuildICmp(g->b, LLVMIntUGT, m, k, "");
    case IR_TESTP_NORMAL:
        return LLVMBuildAnd(g->b, finite, LLVMBuildNot(g->b, sub, ""), "");
    case IR_TESTP_SUBNORMAL:
        return sub;
    }
    return NULL;
}

static LLVMValueRef float_compare(struct gen *g, const struct gen_emit *e)
{
    enum ir_type t = e->in->type;
    if (t != IR_F32 && t != IR_F64)
        return NULL;
    LLVMTypeRef ft = gen_float_type(g, t);
    LLVMValueRef a = as_float(g, e->vec, ft, float_flush_if(g, e, e->src[0], false));
    LLVMValueRef b = as_float(g, e->vec, ft, float_flush_if(g, e, e->src[1], false));
    return LLVMBuildFCmp(g->b, gen_real_predicate(e->in->cmp), a, b, "");
}

static LLVMValueRef float_sign_op(struct gen *g, const struct gen_emit *e)
{
    enum ir_type t = e->in->type;
    if (ir_type_bits(t) != 16 && t != IR_F32 && t != IR_F64)
        return NULL;
    LLVMTypeRef it = gen_scalar_type(g, t);
    uint64_t sign = 1ull << (ir_type_bits(t) - 1);
    LLVMValueRef x = float_flush_if(g, e, e->src[0], true);
    if (e->in->op == IR_OP_FNEG)
        return LLVMBuildXor(g->b, x, gen_k(g, e->vec, it, sign), "");
    return LLVMBuildAnd(g->b, x, gen_k(g, e->vec, it, ~sign), "");
}

static LLVMValueRef float_copysign_op(struct gen *g, const struct gen_emit *e)
{
    LLVMTypeRef it = gen_scalar_type(g, e->in->type);
    uint64_t sign = 1ull << (ir_type_bits(e->in->type) - 1);
    LLVMValueRef s = LLVMBuildAnd(g->b, e->src[0], gen_k(g, e->vec, it, sign), "");
    LLVMValueRef m = LLVMBuildAnd(g->b, e->src[1], gen_k(g, e->vec, it, ~sign), "");
    return LLVMBuildOr(g->b, s, m, "");
}

LLVMValueRef gen_emit_float(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    bool wide = in->type == IR_F32 || in->type == IR_F64;
    if (float_is_arith(in->op) && wide)
        return float_arith(g, e);
    switch (in->op) {
    case IR_OP_FMIN:
    case IR_OP_FMAX:
        return float_min_max(g, e);
    case IR_OP_FSETP:
        return float_compare(g, e);
    case IR_OP_FTESTP:
        return float_testp(g, e);
    case IR_OP_FNEG:
    case IR_OP_FABS:
        return float_sign_op(g, e);
    case IR_OP_FCOPYSIGN:
        return float_copysign_op(g, e);
    default:
        return NULL;
    }
}

/* ---- approximations: the steps of base/float/approx.h */

struct ap {
    struct gen *g;
    bool vec;
    bool ftz;
    bool is_normal; /* no denormal comes in */
};

/* Instructions of AVX-512 that give the bits of several steps. */
static bool float_is_wide(const struct ap *p)
{
    return p->vec && p->g->unit->avx512;
}

static LLVMValueRef float_kf(const struct ap *p, double v)
{
    return gen_kf(p->g, p->vec, p->g->t->f32, v);
}

static LLVMValueRef float_ki(const struct ap *p, uint64_t v)
{
    return gen_k(p->g, p->vec, p->g->t->i32, v);
}

static LLVMValueRef float_fi(const struct ap *p, LLVMValueRef x)
{
    return as_float(p->g, p->vec, p->g->t->f32, x);
}

static LLVMValueRef float_if_(const struct ap *p, LLVMValueRef x)
{
    return float_as_int(p->g, p->vec, x);
}

static LLVMValueRef float_when(const struct ap *p, LLVMRealPredicate c, LLVMValueRef a,
                               LLVMValueRef b, LLVMValueRef yes, LLVMValueRef no)
{
    LLVMBuilderRef bl = p->g->b;
    return LLVMBuildSelect(bl, LLVMBuildFCmp(bl, c, a, b, ""), yes, no, "");
}

static LLVMValueRef float_horner(const struct ap *p, LLVMValueRef f, const double *c, unsigned n)
{
    LLVMValueRef r = float_fma_(p->g, float_kf(p, c[0]), f, float_kf(p, c[1]));
    for (unsigned i = 2; i < n; i++)
        r = float_fma_(p->g, r, f, float_kf(p, c[i]));
    return r;
}

static LLVMValueRef float_pow2(const struct ap *p, LLVMValueRef k)
{
    LLVMBuilderRef b = p->g->b;
    LLVMValueRef e = LLVMBuildShl(b, LLVMBuildAdd(b, k, float_ki(p, 127), ""), float_ki(p, 23), "");
    return float_fi(p, e);
}

/*
 * VSCALEFPS rounds once, takes any exponent, and of infinite ones makes infinity or zero, whatever
 * NaN the other operand is (Intel SDM, VSCALEFPS). Under .ftz: zeros where the result is less than
 * the least normal number.
 */
static LLVMValueRef float_ap_ex2_wide(const struct ap *p, LLVMValueRef x, const double c[7])
{
    LLVMValueRef whole = float_intrinsic(p->g, "llvm.rint", &x, 1),
                 all = gen_ci(p->g->t->i16, 0xffff);
    LLVMValueRef part = LLVMBuildFSub(p->g->b, x, whole, ""), lanes = all;
    if (p->ftz)
        lanes = gen_bits(p->g, LLVMBuildFCmp(p->g->b, LLVMRealUGE, x, float_kf(p, -126.0), ""));
    LLVMValueRef args[] = {float_horner(p, part, c, 7), whole, float_kf(p, 0.0), lanes,
                           gen_i32(p->g, 4)};
    return gen_intrinsic(p->g, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, args, 5);
}

static LLVMValueRef float_ap_ex2(const struct ap *p, LLVMValueRef x)
{
    LLVMBuilderRef b = p->g->b;
    static const double c[] = {HD_APPROX_EX2_6,
                               HD_APPROX_EX2_5,
                               HD_APPROX_EX2_4,
                               HD_APPROX_EX2_3,
                               HD_APPROX_EX2_2,
                               HD_APPROX_EX2_1,
                               1.0};
    if (float_is_wide(p))
        return float_ap_ex2_wide(p, x, c);
    x = float_when(p, LLVMRealOGT, x, float_kf(p, 129.0), float_kf(p, 129.0), x);
    x = float_when(p, LLVMRealOLT, x, float_kf(p, -152.0), float_kf(p, -152.0), x);
    LLVMValueRef round = float_kf(p, HD_APPROX_ROUND);
    LLVMValueRef t = LLVMBuildFAdd(b, x, round, "");
    LLVMValueRef n =
        LLVMBuildSub(b, float_if_(p, t), float_ki(p, hd_approx_bits(HD_APPROX_ROUND)), "");
    LLVMValueRef f = LLVMBuildFSub(b, x, LLVMBuildFSub(b, t, round, ""), "");
    LLVMValueRef r = float_horner(p, f, c, 7);
    LLVMValueRef half = LLVMBuildAShr(b, n, float_ki(p, 1), "");
    r = LLVMBuildFMul(b, r, float_pow2(p, half), "");
    return LLVMBuildFMul(b, r, float_pow2(p, LLVMBuildSub(b, n, half, "")), "");
}

static LLVMValueRef float_inf_of(const struct ap *p)
{
    return float_fi(p, float_ki(p, HD_APPROX_INF));
}

static LLVMValueRef float_ap_lg2(const struct ap *p, LLVMValueRef x)
{
    LLVMBuilderRef b = p->g->b;
    static const double c[] = {HD_APPROX_LG2_7, HD_APPROX_LG2_6, HD_APPROX_LG2_5, HD_APPROX_LG2_4,
                               HD_APPROX_LG2_3, HD_APPROX_LG2_2, HD_APPROX_LG2_1, HD_APPROX_LG2_0};
    LLVMValueRef y = x, e0 = float_kf(p, 0.0);
    if (!p->is_normal) {
        LLVMValueRef tiny = LLVMBuildFCmp(b, LLVMRealOLT, x, float_kf(p, HD_APPROX_TINY), "");
        y = LLVMBuildSelect(b, tiny, LLVMBuildFMul(b, x, float_kf(p, 0x1p24), ""), x, "");
        e0 = LLVMBuildSelect(b, tiny, float_kf(p, -24.0), e0, "");
    }
    LLVMValueRef yi = float_if_(p, y);
    LLVMValueRef e = LLVMBuildSub(b, yi, float_ki(p, HD_APPROX_SQRT_HALF), "");
    e = LLVMBuildAShr(b, e, float_ki(p, 23), "");
    LLVMValueRef m = LLVMBuildSub(b, yi, LLVMBuildShl(b, e, float_ki(p, 23), ""), "");
    LLVMValueRef f = LLVMBuildFSub(b, float_fi(p, m), float_kf(p, 1.0), "");
    LLVMValueRef r = float_horner(p, f, c, 8);
    LLVMValueRef ef = LLVMBuildSIToFP(b, e, gen_type_as(p->g, p->vec, p->g->t->f32), "");
    r = float_fma_(p->g, r, f, p->is_normal ? ef : LLVMBuildFAdd(b, ef, e0, ""));
    if (float_is_wide(p))
        return gen_fix_up(p->g, r, x, 0x03530433);
    r = float_when(p, LLVMRealOEQ, x, float_inf_of(p), x, r);
    r = float_when(p, LLVMRealOEQ, x, float_kf(p, 0.0),
                   float_fi(p, float_ki(p, HD_APPROX_SIGN | HD_APPROX_INF)), r);
    return float_when(p, LLVMRealOGE, x, float_kf(p, 0.0), r,
                      float_fi(p, float_ki(p, HD_APPROX_NAN)));
}

static LLVMValueRef float_ap_rsqrt(const struct ap *p, LLVMValueRef x)
{
    struct gen *g = p->g;
    LLVMBuilderRef b = g->b;
    static const double c[] = {HD_APPROX_RSQRT_4, HD_APPROX_RSQRT_3, HD_APPROX_RSQRT_2,
                               HD_APPROX_RSQRT_1};
    LLVMValueRef tiny = NULL, s = x;
    if (!p->is_normal) {
        tiny = LLVMBuildFCmp(b, LLVMRealOLT, x, float_kf(p, HD_APPROX_TINY), "");
        s = LLVMBuildSelect(b, tiny, LLVMBuildFMul(b, x, float_kf(p, 0x1p24), ""), x, "");
    }
    LLVMValueRef guess = LLVMBuildLShr(b, float_if_(p, s), float_ki(p, 1), "");
    LLVMValueRef y = float_fi(p, LLVMBuildSub(b, float_ki(p, HD_APPROX_RSQRT_GUESS), guess, ""));
    LLVMValueRef e =
        float_fma_(g, LLVMBuildFNeg(b, LLVMBuildFMul(b, s, y, ""), ""), y, float_kf(p, 1.0));
    y = float_fma_(g, float_horner(p, e, c, 4), LLVMBuildFMul(b, y, e, ""), y);
    if (tiny)
        y = LLVMBuildSelect(b, tiny, LLVMBuildFMul(b, y, float_kf(p, 0x1p12), ""), y, "");
    if (float_is_wide(p))
        return gen_fix_up(g, y, x, 0x03830633);
    y = float_when(p, LLVMRealOEQ, x, float_inf_of(p), float_kf(p, 0.0), y);
    y = float_when(p, LLVMRealOGE, x, float_kf(p, 0.0), y, float_fi(p, float_ki(p, HD_APPROX_NAN)));
    LLVMValueRef sign = LLVMBuildAnd(b, float_if_(p, x), float_ki(p, HD_APPROX_SIGN), "");
    LLVMValueRef inf = float_fi(p, LLVMBuildOr(b, sign, float_ki(p, HD_APPROX_INF), ""));
    return float_when(p, LLVMRealOEQ, x, float_kf(p, 0.0), inf, y);
}

static LLVMValueRef float_ap_sin(const struct ap *p, LLVMValueRef x, uint64_t quarter)
{
    struct gen *g = p->g;
    LLVMBuilderRef b = g->b;
    LLVMValueRef round = float_kf(p, HD_APPROX_ROUND);
    LLVMValueRef t = float_fma_(g, x, float_kf(p, HD_APPROX_2_PI), round);
    LLVMValueRef n = LLVMBuildAdd(b, float_if_(p, t), float_ki(p, quarter), "");
    LLVMValueRef k = LLVMBuildFSub(b, t, round, "");
    LLVMValueRef r = float_fma_(g, k, float_kf(p, -HD_APPROX_PI_2_HI), x);
    r = float_fma_(g, k, float_kf(p, -HD_APPROX_PI_2_LO), r);
    r = float_when(p, LLVMRealOGT, r, float_kf(p, 1.0), float_kf(p, 1.0), r);
    r = float_when(p, LLVMRealOLT, r, float_kf(p, -1.0), float_kf(p, -1.0), r);
    LLVMValueRef z = LLVMBuildFMul(b, r, r, "");
    static const double sc[] = {HD_APPROX_SIN_3, HD_APPROX_SIN_2, HD_APPROX_SIN_1, 1.0};
    static const double cc[] = {HD_APPROX_COS_3, HD_APPROX_COS_2, HD_APPROX_COS_1, 1.0};
    LLVMValueRef s = LLVMBuildFMul(b, r, float_horner(p, z, sc, 4), "");
    LLVMValueRef c = float_horner(p, z, cc, 4);
    LLVMValueRef odd = LLVMBuildAnd(b, n, float_ki(p, 1), "");
    odd = LLVMBuildICmp(b, LLVMIntNE, odd, float_ki(p, 0), "");
    LLVMValueRef y = float_if_(p, LLVMBuildSelect(b, odd, c, s, ""));
    LLVMValueRef flip =
        LLVMBuildShl(b, LLVMBuildAnd(b, n, float_ki(p, 2), ""), float_ki(p, 30), "");
    return float_fi(p, LLVMBuildXor(b, y, flip, ""));
}

static LLVMValueRef float_ap_tanh(const struct ap *p, LLVMValueRef x)
{
    LLVMBuilderRef b = p->g->b;
    static const double pc[] = {HD_APPROX_TANH_P2, HD_APPROX_TANH_P1, 1.0};
    static const double qc[] = {HD_APPROX_TANH_Q2, HD_APPROX_TANH_Q1, 1.0};
    LLVMValueRef z = LLVMBuildFMul(b, x, x, "");
    LLVMValueRef q = LLVMBuildFDiv(b, float_horner(p, z, pc, 3), float_horner(p, z, qc, 3), "");
    LLVMValueRef y = LLVMBuildFMul(b, x, q, "");
    LLVMValueRef sign = LLVMBuildAnd(b, float_if_(p, x), float_ki(p, HD_APPROX_SIGN), "");
    LLVMValueRef one = LLVMBuildOr(b, sign, float_ki(p, hd_approx_bits(1.0f)), "");
    LLVMValueRef a = LLVMBuildAnd(b, float_if_(p, x), float_ki(p, ~HD_APPROX_SIGN), "");
    return float_when(p, LLVMRealOGT, float_fi(p, a), float_kf(p, 5.0), float_fi(p, one), y);
}

static LLVMValueRef float_ap_of(const struct ap *p, enum ir_op op, LLVMValueRef x)
{
    switch (op) {
    case IR_OP_FRSQRT:
        return float_ap_rsqrt(p, x);
    case IR_OP_FSIN:
        return float_ap_sin(p, x, 0);
    case IR_OP_FCOS:
        return float_ap_sin(p, x, 1);
    case IR_OP_FEX2:
        return float_ap_ex2(p, x);
    case IR_OP_FLG2:
        return float_ap_lg2(p, x);
    default:
        assert(op == IR_OP_FTANH);
        return float_ap_tanh(p, x);
    }
}

static LLVMValueRef float_ap_outlined(const struct ap *p, enum ir_op op, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    char name[48];

    snprintf(name, sizeof(name), "heddle_%s%s%s", ir_op_infos[op].name, p->ftz ? "_ftz" : "",
             p->is_normal ? "_normal" : "");
    struct gen_outline outline = gen_outline_open(p->g, name, GEN_OUTLINE_QUICK, type, &type, 1);
    if (outline.is_new)
        gen_outline_close(p->g, &outline, float_ap_of(p, op, LLVMGetParam(outline.fn, 0)));
    return gen_outline_call(p->g, &outline, &x, 1);
}

LLVMValueRef gen_emit_approx(struct gen *g, const struct gen_emit *e)
{
    bool ftz = ir_has(e->in, IR_MOD_FTZ);
    const struct ap p = {g, e->vec, ftz, ftz || gen_never_denormal(e->in->src[0])};
    if (e->in->type != IR_F32 || e->in->op < IR_OP_FRSQRT || e->in->op > IR_OP_FTANH)
        return NULL;
    /* Only ex2 gives denormals of its own; the multiplication at its end flushes them. */
    bool flushed = g->unit->fp_ftz || e->in->op == IR_OP_FRSQRT || e->in->op == IR_OP_FLG2 ||
                   (e->in->op == IR_OP_FEX2 && float_is_wide(&p));
    /* ex2 of a denormal is 1, as of zero. */
    bool flushes = ir_has(e->in, IR_MOD_FTZ) && e->in->op != IR_OP_FEX2;
    LLVMValueRef x = float_fi(&p, flushes ? gen_flush(g, e->vec, e->src[0]) : e->src[0]), y;
    y = float_is_wide(&p) || !p.vec ? float_ap_of(&p, e->in->op, x)
                                    : float_ap_outlined(&p, e->in->op, x);
    y = float_if_(&p, y); /* a NaN becomes canonical where it is seen */
    return ir_has(e->in, IR_MOD_FTZ) && !flushed ? gen_flush(g, e->vec, y) : y;
}
