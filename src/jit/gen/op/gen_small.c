/*
 * tf32 and the pairs of floats of at most 8 bits, by integers: none of it depends on how the kernel
 * treats denormals. What is below the smallest normal number of a format goes through a sum whose
 * last place is that format's last one.
 */
#include "jit/gen/gen.h"

#include <assert.h>

#include "base/float/softfp.h"

struct small {
    struct gen *g;
    bool vec;
    unsigned exp_bits, frac_bits, bias;
    uint64_t max, nan; /* the largest number, and what a NaN becomes */
};

enum { F32_INF = 0x7f800000 };

static bool small_of(struct gen *g, bool vec, enum ir_type pair, struct small *out)
{
    const struct hd_fp_format *f = pair == IR_E4M3X2   ? &hd_fp_e4m3
                                   : pair == IR_E5M2X2 ? &hd_fp_e5m2
                                   : pair == IR_E2M3X2 ? &hd_fp_e2m3
                                   : pair == IR_E3M2X2 ? &hd_fp_e3m2
                                   : pair == IR_E2M1X2 ? &hd_fp_e2m1
                                                       : NULL;
    if (!f)
        return false;
    *out = (struct small){g,
                          vec,
                          f->exp_bits,
                          f->frac_bits,
                          (1u << (f->exp_bits - 1)) - 1,
                          hd_fp_max(f),
                          hd_fp_sign_mask(f) - 1};
    return true;
}

static LLVMValueRef k(const struct small *s, uint64_t v)
{
    return gen_k(s->g, s->vec, s->g->t->i32, v);
}

static LLVMValueRef is(const struct small *s, LLVMIntPredicate p, LLVMValueRef x, uint64_t v)
{
    return LLVMBuildICmp(s->g->b, p, x, k(s, v), "");
}

static LLVMValueRef as(const struct small *s, LLVMValueRef x, LLVMTypeRef elem)
{
    return LLVMBuildBitCast(s->g->b, x, gen_type_as(s->g, s->vec, elem), "");
}

static LLVMValueRef least(const struct small *s, LLVMValueRef x, uint64_t max)
{
    return LLVMBuildSelect(s->g->b, is(s, LLVMIntUGT, x, max), k(s, max), x, "");
}

/* Rounds to nearest even and drops the bits. */
static LLVMValueRef round_even(const struct small *s, LLVMValueRef x, unsigned drop)
{
    LLVMBuilderRef b = s->g->b;
    LLVMValueRef odd = LLVMBuildAnd(b, LLVMBuildLShr(b, x, k(s, drop), ""), k(s, 1), "");
    x = LLVMBuildAdd(b, LLVMBuildAdd(b, x, k(s, (1u << (drop - 1)) - 1), ""), odd, "");
    return LLVMBuildLShr(b, x, k(s, drop), "");
}

/* ---- f32 to one of a pair */

static LLVMValueRef narrow(const struct small *s, const struct ir_instr *in, LLVMValueRef w)
{
    LLVMBuilderRef b = s->g->b;
    unsigned low = 127 - s->bias + 1 - s->frac_bits; /* f32's exponent field of the last place */
    uint64_t unit = (uint64_t)(low + 23) << 23;      /* f32 with that last place */
    LLVMValueRef sign = LLVMBuildAnd(b, w, k(s, 0x80000000u), "");
    LLVMValueRef a = LLVMBuildXor(b, w, sign, "");
    LLVMValueRef tiny =
        LLVMBuildFAdd(b, as(s, a, s->g->t->f32), as(s, k(s, unit), s->g->t->f32), "");
    tiny = LLVMBuildSub(b, as(s, tiny, s->g->t->i32), k(s, unit), "");
    LLVMValueRef normal = LLVMBuildSub(b, a, k(s, (uint64_t)(127 - s->bias) << 23), "");
    normal = round_even(s, normal, 23 - s->frac_bits);
    LLVMValueRef is_tiny = is(s, LLVMIntULT, a, (uint64_t)(128 - s->bias) << 23);
    LLVMValueRef r = least(s, LLVMBuildSelect(b, is_tiny, tiny, normal, ""), s->max);
    sign = LLVMBuildLShr(b, sign, k(s, 31 - s->exp_bits - s->frac_bits), "");
    r = LLVMBuildOr(b, r, sign, "");
    if (ir_has(in, IR_MOD_RELU))
        r = LLVMBuildSelect(b, is(s, LLVMIntSLT, w, 0), k(s, 0), r, "");
    return LLVMBuildSelect(b, is(s, LLVMIntUGT, a, F32_INF), k(s, s->nan), r, "");
}

static LLVMValueRef pack(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    struct small s;
    if (!small_of(g, e->vec, in->type, &s) || in->rnd != IR_RN || !ir_has(in, IR_MOD_SATFINITE) ||
        ir_has(in, IR_MOD_FTZ) || ir_has(in, IR_MOD_SAT))
        return NULL;
    LLVMValueRef high = narrow(&s, in, e->src[0]), low = narrow(&s, in, e->src[1]);
    high = LLVMBuildShl(g->b, high, k(&s, ir_type_bits(in->type) / 2), "");
    return LLVMBuildTrunc(g->b, LLVMBuildOr(g->b, high, low, ""),
                          gen_type_as(g, e->vec, gen_scalar_type(g, in->type)), "");
}

/* ---- one of a pair to f16 */

/* The magnitude, none of which f16 has as a denormal; e5m2's denormals are f16's own. */
static LLVMValueRef widen_magnitude(const struct small *s, LLVMValueRef m)
{
    LLVMBuilderRef b = s->g->b;
    if (s->exp_bits == 5)
        return LLVMBuildShl(b, m, k(s, 10 - s->frac_bits), "");
    uint64_t smallest = (uint64_t)(128 - s->bias) << 23; /* normal, as f32 */
    LLVMValueRef up = LLVMBuildShl(b, m, k(s, 23 - s->frac_bits), "");
    LLVMValueRef normal = LLVMBuildAdd(b, up, k(s, (uint64_t)(127 - s->bias) << 23), "");
    LLVMValueRef tiny = as(s, LLVMBuildAdd(b, up, k(s, smallest), ""), s->g->t->f32);
    tiny = as(s, LLVMBuildFSub(b, tiny, as(s, k(s, smallest), s->g->t->f32), ""), s->g->t->i32);
    LLVMValueRef r = LLVMBuildSelect(b, is(s, LLVMIntULT, m, 1u << s->frac_bits), tiny, normal, "");
    r = LLVMBuildLShr(b, LLVMBuildSub(b, r, k(s, 112u << 23), ""), k(s, 13), "");
    return LLVMBuildSelect(b, is(s, LLVMIntEQ, m, 0), k(s, 0), r, "");
}

static LLVMValueRef widen(const struct small *s, const struct ir_instr *in, LLVMValueRef v)
{
    LLVMBuilderRef b = s->g->b;
    unsigned bits = s->exp_bits + s->frac_bits; /* without the sign */
    LLVMValueRef m = LLVMBuildAnd(b, v, k(s, (1u << bits) - 1), "");
    LLVMValueRef sign = LLVMBuildAnd(b, v, k(s, 1u << bits), "");
    LLVMValueRef r = widen_magnitude(s, m);
    r = LLVMBuildOr(b, r, LLVMBuildShl(b, sign, k(s, 15 - bits), ""), "");
    if (ir_has(in, IR_MOD_RELU))
        r = LLVMBuildSelect(b, is(s, LLVMIntNE, sign, 0), k(s, 0), r, "");
    if (s->max == s->nan)
        return r;                                            /* no NaN */
    uint64_t above = s->exp_bits == 5 ? s->max + 1 : s->max; /* e5m2 has an infinity */
    return LLVMBuildSelect(b, is(s, LLVMIntUGT, m, above), k(s, 0x7fff), r, "");
}

static LLVMValueRef unpack(struct gen *g, const struct gen_emit *e)
{
    struct small s;
    unsigned slot = ir_type_bits(e->in->type2) / 2;
    LLVMTypeRef i32 = gen_type_as(g, e->vec, g->t->i32);
    if (!small_of(g, e->vec, e->in->type2, &s))
        return NULL;
    assert(e->in->type == IR_F16X2);
    LLVMValueRef v = LLVMBuildZExt(g->b, e->src[0], i32, "");
    LLVMValueRef low = widen(&s, e->in, v);
    LLVMValueRef high = widen(&s, e->in, LLVMBuildLShr(g->b, v, k(&s, slot), ""));
    return LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, high, k(&s, 16), ""), "");
}

/* ---- tf32 */

static LLVMValueRef to_tf32(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    const struct small s = {.g = g, .vec = e->vec};
    enum { DROP = 13, MAX = 0x7f7fe000 };
    if (ir_has(in, IR_MOD_FTZ) || ir_has(in, IR_MOD_SAT) ||
        (in->rnd != IR_RN && in->rnd != IR_RZ && in->rnd != IR_RNA))
        return NULL;
    LLVMValueRef w = e->src[0], sign = LLVMBuildAnd(g->b, w, k(&s, 0x80000000u), "");
    LLVMValueRef a = LLVMBuildXor(g->b, w, sign, ""), r = a;
    if (in->rnd == IR_RNA)
        r = LLVMBuildAdd(g->b, r, k(&s, 1u << (DROP - 1)), "");
    r = in->rnd == IR_RN ? LLVMBuildShl(g->b, round_even(&s, r, DROP), k(&s, DROP), "")
                         : LLVMBuildAnd(g->b, r, k(&s, ~((1ull << DROP) - 1)), "");
    if (ir_has(in, IR_MOD_SATFINITE))
        r = least(&s, r, MAX);
    r = LLVMBuildOr(g->b, r, sign, "");
    if (ir_has(in, IR_MOD_RELU))
        r = LLVMBuildSelect(g->b, is(&s, LLVMIntSLT, w, 0), k(&s, 0), r, "");
    return LLVMBuildSelect(g->b, is(&s, LLVMIntUGT, a, F32_INF), k(&s, 0x7fffffff), r, "");
}

LLVMValueRef gen_emit_small(struct gen *g, const struct gen_emit *e)
{
    switch (e->in->op) {
    case IR_OP_CVTPACK:
        return pack(g, e);
    case IR_OP_CVTUNPACK:
        return unpack(g, e);
    case IR_OP_CVT:
        return e->in->type == IR_TF32 ? to_tf32(g, e) : NULL;
    default:
        return NULL;
    }
}
