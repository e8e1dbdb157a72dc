/*
 * Conversions. Float to integer saturates, without ever converting a value that does not fit (that
 * would be poison).
 */
#include "jit/gen/gen.h"

static bool is_int(enum ir_type t)
{
    return !ir_type_is_float(t) && t != IR_PRED;
}

static LLVMValueRef int_to_int(struct gen *g, const struct gen_emit *e)
{
    unsigned from = ir_type_bits(e->in->type2), to = ir_type_bits(e->in->type);
    LLVMTypeRef have = LLVMTypeOf(e->src[0]);
    LLVMValueRef x = e->src[0];
    if (e->in->sat)
        return NULL;
    LLVMTypeRef et = e->vec ? LLVMGetElementType(have) : have;
    if (LLVMGetIntTypeWidth(et) > from)
        x = LLVMBuildTrunc(g->b, x, gen_form(g, e->vec, gen_scalar_type(g, e->in->type2)), "");
    LLVMTypeRef t = gen_form(g, e->vec, gen_scalar_type(g, e->in->type));
    if (from == to)
        return x;
    if (from > to)
        return LLVMBuildTrunc(g->b, x, t, "");
    return ir_type_is_signed(e->in->type2) ? LLVMBuildSExt(g->b, x, t, "")
                                           : LLVMBuildZExt(g->b, x, t, "");
}

static LLVMValueRef int_to_float(struct gen *g, const struct gen_emit *e)
{
    enum ir_type to = e->in->type;
    bool exact = to == IR_F64 && ir_type_bits(e->in->type2) <= 32;
    bool nearest = e->in->rnd == IR_RN || e->in->rnd == IR_RND_NONE || exact;
    if ((to != IR_F32 && to != IR_F64) || !nearest || e->in->sat)
        return NULL;
    LLVMTypeRef ft = gen_form(g, e->vec, gen_float_type(g, to));
    LLVMTypeRef it = gen_form(g, e->vec, gen_scalar_type(g, to));
    LLVMValueRef f = ir_type_is_signed(e->in->type2) ? LLVMBuildSIToFP(g->b, e->src[0], ft, "")
                                                     : LLVMBuildUIToFP(g->b, e->src[0], ft, "");
    return LLVMBuildBitCast(g->b, f, it, "");
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
    bool flush = e->in->ftz && e->in->type2 == IR_F32;
    return flush ? gen_flush(g, e->vec, e->src[0]) : e->src[0];
}

static LLVMValueRef float_to_int(struct gen *g, const struct gen_emit *e)
{
    enum ir_type from = e->in->type2, to = e->in->type;
    unsigned bits = ir_type_bits(to);
    bool sign = ir_type_is_signed(to);
    const char *round = rounder(e->in->rnd);
    if ((from != IR_F32 && from != IR_F64) || bits < 32 || !round)
        return NULL;
    LLVMTypeRef fe = gen_float_type(g, from);
    LLVMTypeRef ft = gen_form(g, e->vec, fe), ie = gen_scalar_type(g, to);
    LLVMValueRef x = LLVMBuildBitCast(g->b, flush_source(g, e), ft, "");
    x = gen_intrinsic(g, round, &ft, 1, &x, 1);
    double top = sign ? (bits == 32 ? 0x1p31 : 0x1p63) : (bits == 32 ? 0x1p32 : 0x1p64);
    double bottom = sign ? -top : 0.0;
    uint64_t max = sign ? (bits == 32 ? 0x7fffffffu : 0x7fffffffffffffffu) : ~0ull;
    uint64_t min = sign ? (bits == 32 ? 0x80000000u : 0x8000000000000000u) : 0;
    LLVMValueRef high = LLVMBuildFCmp(g->b, LLVMRealOGE, x, gen_kf(g, e->vec, fe, top), "");
    LLVMValueRef low = LLVMBuildFCmp(g->b, LLVMRealOLT, x, gen_kf(g, e->vec, fe, bottom), "");
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
    LLVMValueRef odd = LLVMBuildOr(g->b, high, LLVMBuildOr(g->b, low, nan, ""), "");
    LLVMValueRef safe = LLVMBuildSelect(g->b, odd, gen_kf(g, e->vec, fe, 0.0), x, "");
    LLVMTypeRef it = gen_form(g, e->vec, ie);
    LLVMValueRef r =
        sign ? LLVMBuildFPToSI(g->b, safe, it, "") : LLVMBuildFPToUI(g->b, safe, it, "");
    r = LLVMBuildSelect(g->b, high, gen_k(g, e->vec, ie, max), r, "");
    r = LLVMBuildSelect(g->b, low, gen_k(g, e->vec, ie, min), r, "");
    if (from != IR_F64 && bits != 64)
        return r; /* NaN gives 0 */
    return LLVMBuildSelect(g->b, nan, gen_k(g, e->vec, ie, 1ull << (bits - 1)), r, "");
}

static LLVMValueRef canonical_half(struct gen *g, const struct gen_emit *e, LLVMValueRef wide,
                                   LLVMValueRef half)
{
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, wide, wide, "");
    return LLVMBuildSelect(g->b, nan, gen_k(g, e->vec, g->t_i16, 0x7fff), half, "");
}

/* cvt.f32.f32: flushes, or saturates to [+0, 1] with NaN to +0; nothing is rounded. */
static LLVMValueRef same_float(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef bits = flush_source(g, e);
    if (!e->in->sat)
        return gen_canonical(g, bits);
    LLVMTypeRef ft = gen_form(g, e->vec, g->t_f32), it = gen_form(g, e->vec, g->t_i32);
    LLVMValueRef zero = gen_kf(g, e->vec, g->t_f32, 0.0), one = gen_kf(g, e->vec, g->t_f32, 1.0);
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
    if (e->in->imm) /* .relu */
        return NULL;
    if (from == IR_F32 && to == IR_F32 && !integral)
        return same_float(g, e);
    if (e->in->sat || (e->in->ftz && !g->fp_ftz) || (e->in->ftz && to != IR_F32 && from != IR_F32))
        return NULL;
    bool nearest = rnd == IR_RN || rnd == IR_RND_NONE;
    LLVMTypeRef tt = gen_form(g, e->vec, gen_float_type(g, to));
    LLVMTypeRef it = gen_form(g, e->vec, gen_scalar_type(g, to));
    if (from == IR_F32 && to == IR_F64 && !integral) {
        LLVMValueRef x = LLVMBuildBitCast(g->b, e->src[0], gen_form(g, e->vec, g->t_f32), "");
        return LLVMBuildBitCast(g->b, LLVMBuildFPExt(g->b, x, tt, ""), it, "");
    }
    if (from == IR_F64 && to == IR_F32 && nearest) {
        LLVMValueRef x = LLVMBuildBitCast(g->b, e->src[0], gen_form(g, e->vec, g->t_f64), "");
        LLVMValueRef r = LLVMBuildFPTrunc(g->b, x, tt, "");
        return gen_canonical(g, LLVMBuildBitCast(g->b, r, it, ""));
    }
    if (from == IR_F32 && to == IR_F32 && integral && !e->in->ftz) {
        LLVMTypeRef t32 = gen_form(g, e->vec, g->t_f32);
        LLVMValueRef x = LLVMBuildBitCast(g->b, e->src[0], t32, "");
        x = gen_intrinsic(g, rounder(rnd), &t32, 1, &x, 1);
        return gen_canonical(g, LLVMBuildBitCast(g->b, x, it, ""));
    }
    if (from == IR_F32 && to == IR_F16 && nearest && g->path != JIT_GENERIC && !e->in->ftz) {
        LLVMValueRef x = LLVMBuildBitCast(g->b, e->src[0], gen_form(g, e->vec, g->t_f32), "");
        LLVMValueRef r = LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, x, tt, ""), it, "");
        return canonical_half(g, e, x, r);
    }
    if (from == IR_F16 && to == IR_F32 && !integral && g->path != JIT_GENERIC) {
        LLVMValueRef x = LLVMBuildBitCast(g->b, e->src[0], gen_form(g, e->vec, g->t_f16), "");
        LLVMValueRef r = LLVMBuildFPExt(g->b, x, tt, "");
        return gen_canonical(g, LLVMBuildBitCast(g->b, r, it, ""));
    }
    return NULL;
}

LLVMValueRef gen_emit_cvt(struct gen *g, const struct gen_emit *e)
{
    if (e->in->op != IR_OP_CVT)
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
