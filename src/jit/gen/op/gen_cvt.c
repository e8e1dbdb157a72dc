/*
 * Conversions. Float to integer saturates, without ever converting a value that does not fit (that
 * would be poison).
 */
#include "jit/gen/gen.h"

#include <math.h>

static bool is_int(enum ir_type t)
{
    return !ir_type_is_float(t) && t != IR_PRED;
}

static bool is_half(enum ir_type t)
{
    return t == IR_F16 || t == IR_BF16;
}

/* .sat: clamps to what the destination holds, in the wider of the two types and one bit more. */
static LLVMValueRef clamp(struct gen *g, const struct gen_emit *e, LLVMValueRef x)
{
    unsigned from = ir_type_bits(e->in->type2), to = ir_type_bits(e->in->type);
    bool from_signed = ir_type_is_signed(e->in->type2), to_signed = ir_type_is_signed(e->in->type);
    LLVMTypeRef elem = gen_scalar_type(g, e->in->type2);
    uint64_t max = to_signed ? (1ull << (to - 1)) - 1 : to == 64 ? ~0ull : (1ull << to) - 1;
    uint64_t min = to_signed ? ~max : 0;
    LLVMIntPredicate gt = from_signed ? LLVMIntSGT : LLVMIntUGT;
    unsigned value_bits = from - from_signed; /* what a positive source can need */
    LLVMValueRef top = gen_k(g, e->vec, elem, max), bottom = gen_k(g, e->vec, elem, min);
    if (value_bits > to - to_signed)
        x = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, gt, x, top, ""), top, x, "");
    if (from_signed && (!to_signed || from > to))
        x = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, x, bottom, ""), bottom, x, "");
    return x;
}

static LLVMValueRef int_to_int(struct gen *g, const struct gen_emit *e)
{
    unsigned from = ir_type_bits(e->in->type2), to = ir_type_bits(e->in->type);
    LLVMTypeRef have = LLVMTypeOf(e->src[0]);
    LLVMValueRef x = e->src[0];
    LLVMTypeRef et = e->vec ? LLVMGetElementType(have) : have;
    if (LLVMGetIntTypeWidth(et) > from)
        x = LLVMBuildTrunc(g->b, x, gen_type_as(g, e->vec, gen_scalar_type(g, e->in->type2)), "");
    if (ir_has(e->in, IR_MOD_SAT))
        x = clamp(g, e, x);
    LLVMTypeRef t = gen_type_as(g, e->vec, gen_scalar_type(g, e->in->type));
    if (from == to)
        return x;
    if (from > to)
        return LLVMBuildTrunc(g->b, x, t, "");
    return ir_type_is_signed(e->in->type2) ? LLVMBuildSExt(g->b, x, t, "")
                                           : LLVMBuildZExt(g->b, x, t, "");
}

/* One step in the encoding, away from or toward zero. */
static LLVMValueRef step(struct gen *g, bool vec, LLVMValueRef bits, LLVMValueRef away)
{
    LLVMValueRef one = gen_k(g, vec, g->t->i32, 1);
    return LLVMBuildSelect(g->b, away, LLVMBuildAdd(g->b, bits, one, ""),
                           LLVMBuildSub(g->b, bits, one, ""), "");
}

/* To nearest, and back one step where that went the wrong way. */
LLVMValueRef gen_directed_f32(struct gen *g, bool vec, LLVMValueRef x, enum ir_rnd rnd)
{
    LLVMTypeRef f64 = gen_type_as(g, vec, g->t->f64), f32 = gen_type_as(g, vec, g->t->f32);
    LLVMValueRef t = LLVMBuildFPTrunc(g->b, x, f32, ""), back = LLVMBuildFPExt(g->b, t, f64, "");
    LLVMValueRef bits = LLVMBuildBitCast(g->b, t, gen_type_as(g, vec, g->t->i32), ""), wrong, away;
    LLVMValueRef negative = LLVMBuildICmp(g->b, LLVMIntSLT, bits, gen_k(g, vec, g->t->i32, 0), "");
    switch (rnd) {
    case IR_RZ:
        wrong = LLVMBuildFCmp(g->b, LLVMRealOGT, gen_intrinsic(g, "llvm.fabs", &f64, 1, &back, 1),
                              gen_intrinsic(g, "llvm.fabs", &f64, 1, &x, 1), "");
        away = gen_k(g, vec, g->t->i1, 0);
        break;
    case IR_RM:
        wrong = LLVMBuildFCmp(g->b, LLVMRealOGT, back, x, "");
        away = negative;
        break;
    default:
        wrong = LLVMBuildFCmp(g->b, LLVMRealOLT, back, x, "");
        away = LLVMBuildNot(g->b, negative, "");
        break;
    }
    bits = LLVMBuildSelect(g->b, wrong, step(g, vec, bits, away), bits, "");
    return LLVMBuildBitCast(g->b, bits, f32, "");
}

static bool is_nearest(enum ir_rnd r)
{
    return r == IR_RN || r == IR_RND_NONE;
}

static bool is_directed(enum ir_rnd r)
{
    return r == IR_RZ || r == IR_RM || r == IR_RP;
}

static LLVMValueRef saturate(struct gen *g, bool vec, LLVMTypeRef ft, LLVMValueRef x)
{
    LLVMValueRef zero = gen_kf(g, vec, ft, 0.0), one = gen_kf(g, vec, ft, 1.0);
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, x, zero, ""), x, zero, "");
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, one, ""), x, one, "");
}

/* From a wide float (f32 or f64) to the destination's bits: rounds, canonical NaN, .relu, .sat. */
static LLVMValueRef finish(struct gen *g, const struct gen_emit *e, LLVMValueRef x)
{
    enum ir_type to = e->in->type;
    enum ir_rnd rnd = e->in->rnd;
    LLVMTypeRef have = LLVMTypeOf(x), it = gen_type_as(g, e->vec, gen_scalar_type(g, to));
    bool from64 = (e->vec ? LLVMGetElementType(have) : have) == g->t->f64;
    if (is_half(to)) {
        if (is_directed(rnd) && rnd != IR_RZ)
            return NULL;
        if (from64)
            x = gen_odd_f32(g, e->vec, x);
        LLVMValueRef r = gen_half_narrow(g, e->vec, to, x, rnd == IR_RZ);
        if (ir_has(e->in, IR_MOD_RELU)) {
            LLVMValueRef zero = gen_k(g, e->vec, g->t->i16, 0);
            r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, r, zero, ""), zero, r, "");
        }
        return ir_has(e->in, IR_MOD_SAT) ? gen_half_saturate(g, e->vec, to, r) : r;
    }
    if (ir_has(e->in, IR_MOD_RELU))
        return NULL;
    LLVMTypeRef ft = gen_float_type(g, to);
    if (from64 && to == IR_F32)
        x = is_directed(rnd) ? gen_directed_f32(g, e->vec, x, rnd)
                             : LLVMBuildFPTrunc(g->b, x, gen_type_as(g, e->vec, ft), "");
    else if (!from64 && to == IR_F64)
        x = LLVMBuildFPExt(g->b, x, gen_type_as(g, e->vec, ft), "");
    if (ir_has(e->in, IR_MOD_SAT))
        x = saturate(g, e->vec, ft, x);
    x = LLVMBuildBitCast(g->b, x, it, "");
    return to == IR_F32 ? gen_canonical(g, x) : x;
}

/* Through a format that holds the integer exactly, except for the conversions the host has. */
static LLVMValueRef int_to_float(struct gen *g, const struct gen_emit *e)
{
    enum ir_type to = e->in->type;
    unsigned bits = ir_type_bits(e->in->type2);
    LLVMTypeRef have = LLVMTypeOf(e->src[0]);
    LLVMTypeRef et = e->vec ? LLVMGetElementType(have) : have;
    LLVMValueRef x = e->src[0];
    bool direct = to == IR_F64 || (to == IR_F32 && is_nearest(e->in->rnd));
    if (bits == 64 && (!is_nearest(e->in->rnd) || to == IR_BF16))
        return NULL;
    if (LLVMGetIntTypeWidth(et) > bits)
        x = LLVMBuildTrunc(g->b, x, gen_type_as(g, e->vec, gen_scalar_type(g, e->in->type2)), "");
    /* What f32 rounds of a 64-bit integer is beyond f16 anyway. */
    LLVMTypeRef ft = direct ? gen_float_type(g, to) : bits == 64 ? g->t->f32 : g->t->f64;
    LLVMTypeRef form = gen_type_as(g, e->vec, ft);
    return finish(g, e,
                  ir_type_is_signed(e->in->type2) ? LLVMBuildSIToFP(g->b, x, form, "")
                                                  : LLVMBuildUIToFP(g->b, x, form, ""));
}

static const char *rounder(enum ir_rnd r)
{
    switch (r) {
    case IR_RNI:
    case IR_RN:
        return "llvm.roundeven";
    case IR_RZI:
    case IR_RZ:
        return "llvm.trunc";
    case IR_RMI:
    case IR_RM:
        return "llvm.floor";
    case IR_RPI:
    case IR_RP:
        return "llvm.ceil";
    default:
        return NULL;
    }
}

static LLVMValueRef flush_source(struct gen *g, const struct gen_emit *e)
{
    bool flush = ir_has(e->in, IR_MOD_FTZ) && e->in->type2 == IR_F32;
    return flush ? gen_flush(g, e->vec, e->src[0]) : e->src[0];
}

/* Saturates; NaN gives 0, or the smallest number when f64 or 64 bits take part. */
static LLVMValueRef float_to_int(struct gen *g, const struct gen_emit *e)
{
    enum ir_type from = e->in->type2, to = e->in->type;
    unsigned bits = ir_type_bits(to), wide = bits == 64 ? 64 : 32;
    bool sign = ir_type_is_signed(to);
    const char *round = rounder(e->in->rnd == IR_RND_NONE ? IR_RZI : e->in->rnd);
    if (!round || (ir_has(e->in, IR_MOD_FTZ) && is_half(from)))
        return NULL;
    LLVMTypeRef fe = is_half(from) ? g->t->f32 : gen_float_type(g, from);
    LLVMTypeRef ft = gen_type_as(g, e->vec, fe), ie = wide == 64 ? g->t->i64 : g->t->i32;
    LLVMValueRef x = is_half(from) ? gen_half_widen(g, e->vec, from, e->src[0])
                                   : LLVMBuildBitCast(g->b, flush_source(g, e), ft, "");
    x = gen_intrinsic(g, round, &ft, 1, &x, 1);
    double top = ldexp(1.0, (int)(sign ? bits - 1 : bits)), bottom = sign ? -top : 0.0;
    uint64_t max = sign ? (1ull << (bits - 1)) - 1 : bits == 64 ? ~0ull : (1ull << bits) - 1;
    uint64_t min = sign ? ~max : 0;
    LLVMValueRef high = LLVMBuildFCmp(g->b, LLVMRealOGE, x, gen_kf(g, e->vec, fe, top), "");
    LLVMValueRef low = LLVMBuildFCmp(g->b, LLVMRealOLT, x, gen_kf(g, e->vec, fe, bottom), "");
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
    LLVMValueRef odd = LLVMBuildOr(g->b, high, LLVMBuildOr(g->b, low, nan, ""), "");
    LLVMValueRef safe = LLVMBuildSelect(g->b, odd, gen_kf(g, e->vec, fe, 0.0), x, "");
    LLVMTypeRef it = gen_type_as(g, e->vec, ie);
    LLVMValueRef r =
        sign ? LLVMBuildFPToSI(g->b, safe, it, "") : LLVMBuildFPToUI(g->b, safe, it, "");
    r = LLVMBuildSelect(g->b, high, gen_k(g, e->vec, ie, max), r, "");
    r = LLVMBuildSelect(g->b, low, gen_k(g, e->vec, ie, min), r, "");
    if (from == IR_F64 || bits == 64)
        r = LLVMBuildSelect(g->b, nan, gen_k(g, e->vec, ie, 1ull << (bits - 1)), r, "");
    return bits < 32 ? LLVMBuildTrunc(g->b, r, gen_type_as(g, e->vec, gen_scalar_type(g, to)), "")
                     : r;
}

/* cvt.f32.f32: flushes, or saturates to [+0, 1] with NaN to +0; nothing is rounded. */
static LLVMValueRef same_float(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef bits = flush_source(g, e);
    if (!ir_has(e->in, IR_MOD_SAT))
        return gen_canonical(g, bits);
    LLVMTypeRef ft = gen_type_as(g, e->vec, g->t->f32), it = gen_type_as(g, e->vec, g->t->i32);
    LLVMValueRef zero = gen_kf(g, e->vec, g->t->f32, 0.0), one = gen_kf(g, e->vec, g->t->f32, 1.0);
    LLVMValueRef x = LLVMBuildBitCast(g->b, bits, ft, "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, x, zero, ""), x, zero, "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, one, ""), x, one, "");
    return LLVMBuildBitCast(g->b, x, it, "");
}

static LLVMValueRef float_to_float(struct gen *g, const struct gen_emit *e)
{
    enum ir_type from = e->in->type2, to = e->in->type;
    enum ir_rnd rnd = e->in->rnd;
    bool integral = rnd >= IR_RNI && rnd <= IR_RPI;
    if (from == IR_F32 && to == IR_F32 && !integral && !(ir_has(e->in, IR_MOD_RELU)))
        return same_float(g, e);
    /* Rounding and flushing in one step, and flushing of halves: by the reference. */
    bool flushes = ir_has(e->in, IR_MOD_FTZ) &&
                   (from != IR_F32 || (to != IR_F32 && to != IR_F64 && g->unit->fp_ftz));
    if (flushes || (!integral && !is_nearest(rnd) && !is_directed(rnd)))
        return NULL;
    LLVMTypeRef wide = gen_type_as(g, e->vec, from == IR_F64 ? g->t->f64 : g->t->f32);
    LLVMValueRef x = is_half(from) ? gen_half_widen(g, e->vec, from, e->src[0])
                                   : LLVMBuildBitCast(g->b, flush_source(g, e), wide, "");
    if (integral)
        x = gen_intrinsic(g, rounder(rnd), &wide, 1, &x, 1);
    return finish(g, e, x);
}

LLVMValueRef gen_emit_cvt(struct gen *g, const struct gen_emit *e)
{
    if (e->in->op != IR_OP_CVT || e->in->type == IR_TF32 || ir_has(e->in, IR_MOD_SATFINITE))
        return NULL;
    bool from_int = is_int(e->in->type2), to_int = is_int(e->in->type);
    if (from_int && to_int)
        return int_to_int(g, e);
    if (from_int)
        return int_to_float(g, e);
    if (to_int)
        return float_to_int(g, e);
    return float_to_float(g, e);
}
