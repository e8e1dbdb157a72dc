/*
 * Floating-point arithmetic, PTX ISA 9.7.3 to 9.7.5, on one element. The order of the steps is
 * always: flush inputs, exact result, one rounding (with flushing), NaN rule, .relu or .sat.
 */
#include <fenv.h>

#include "base/float/approx.h"
#include "model/eval_private.h"

#define F64_NAN       0xfff8000000000000u
#define F64_QUIET_BIT 0x0008000000000000u

const struct hd_fp_format *ir_fp_format(enum ir_type type)
{
    switch (type) {
    case IR_F16:
    case IR_F16X2:
        return &hd_fp_f16;
    case IR_BF16:
    case IR_BF16X2:
        return &hd_fp_bf16;
    case IR_F32:
        return &hd_fp_f32;
    case IR_F64:
        return &hd_fp_f64;
    case IR_TF32:
        return &hd_fp_tf32;
    case IR_E4M3:
        return &hd_fp_e4m3;
    case IR_E5M2:
        return &hd_fp_e5m2;
    case IR_E2M3:
        return &hd_fp_e2m3;
    case IR_E3M2:
        return &hd_fp_e3m2;
    case IR_E2M1:
        return &hd_fp_e2m1;
    default:
        return NULL;
    }
}

enum hd_fp_round ir_fp_round(enum ir_rnd rnd)
{
    switch (rnd) {
    case IR_RZ:
    case IR_RZI:
        return HD_FP_RZ;
    case IR_RM:
    case IR_RMI:
        return HD_FP_RM;
    case IR_RP:
    case IR_RPI:
        return HD_FP_RP;
    case IR_RNA:
        return HD_FP_RNA;
    case IR_RND_NONE:
    case IR_RS: /* hd_fp_pack_random() */
    case IR_RN:
    case IR_RNI:
    case IR_APPROX:
    case IR_FULL:
        break;
    }
    return HD_FP_RN;
}

static uint64_t float_fp_flush(const struct ir_fp *f, uint64_t v)
{
    return f->ftz && hd_fp_is_denormal(f->fmt, v) ? v & hd_fp_sign_mask(f->fmt) : v;
}

static struct hd_fp float_fp_take(const struct ir_fp *f, uint64_t v)
{
    return hd_fp_unpack(f->fmt, float_fp_flush(f, v));
}

static uint64_t float_fp_one(const struct hd_fp_format *fmt)
{
    return ((1ull << (fmt->exp_bits - 1)) - 1) << fmt->frac_bits;
}

/* .sat: NaN and everything up to +0 give +0, everything from 1 up gives 1. */
static uint64_t float_fp_saturate(const struct hd_fp_format *fmt, uint64_t v)
{
    if ((v & hd_fp_sign_mask(fmt)) || hd_fp_is_nan(fmt, v))
        return 0;
    return v > float_fp_one(fmt) ? float_fp_one(fmt) : v;
}

/* f64 keeps the payload of the first NaN operand. */
static uint64_t float_fp_nan64(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t all[] = {a, b, c};
    for (size_t i = 0; i < HD_COUNT_OF(all); i++) {
        if (hd_fp_is_nan(&hd_fp_f64, all[i]))
            return all[i] | F64_QUIET_BIT;
    }
    return F64_NAN;
}

/* a, b, c: the operands, for f64's NaN (0 where there is none). */
static uint64_t float_fp_finish(const struct ir_fp *f, struct hd_fp r, uint64_t a, uint64_t b,
                                uint64_t c)
{
    uint64_t v = hd_fp_pack(f->fmt, r, f->rnd, f->ftz);
    if (r.cls == HD_FP_NAN && f->fmt == &hd_fp_f64)
        v = float_fp_nan64(a, b, c);
    return ir_has(f->in, IR_MOD_SAT) ? float_fp_saturate(f->fmt, v) : v;
}

uint64_t ir_fp_add(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    return float_fp_finish(f, hd_fp_add(float_fp_take(f, a), float_fp_take(f, b), f->rnd), a, b, 0);
}

uint64_t ir_fp_sub(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    return float_fp_finish(
        f, hd_fp_add(float_fp_take(f, a), hd_fp_neg(float_fp_take(f, b)), f->rnd), a, b, 0);
}

uint64_t ir_fp_mul(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    return float_fp_finish(f, hd_fp_mul(float_fp_take(f, a), float_fp_take(f, b)), a, b, 0);
}

uint64_t ir_fp_fma(const struct ir_fp *f, uint64_t a, uint64_t b, uint64_t c)
{
    struct hd_fp r =
        hd_fp_fma(float_fp_take(f, a), float_fp_take(f, b), float_fp_take(f, c), f->rnd);
    uint64_t v = float_fp_finish(f, r, a, b, c);
    bool relu = ir_has(f->in, IR_MOD_RELU);
    if (relu && (v & hd_fp_sign_mask(f->fmt)) && !hd_fp_is_nan(f->fmt, v))
        return 0;
    return v;
}

uint64_t ir_fp_sqrt(const struct ir_fp *f, uint64_t a)
{
    return float_fp_finish(f, hd_fp_sqrt(float_fp_take(f, a)), a, 0, 0);
}

/* ---- approximations: base/float/approx.h in the default environment */

static uint64_t float_fp_approx_f32(enum ir_op op, enum ir_rnd rnd, uint64_t a, uint64_t b)
{
    float x = hd_approx_float((uint32_t)a), y = hd_approx_float((uint32_t)b), r;
    switch (op) {
    case IR_OP_FDIV:
        r = rnd == IR_FULL ? hd_approx_div_full(x, y) : hd_approx_div(x, y);
        break;
    case IR_OP_FRCP:
        r = hd_approx_rcp(x);
        break;
    case IR_OP_FRSQRT:
        r = hd_approx_rsqrt(x);
        break;
    case IR_OP_FSIN:
        r = hd_approx_sin(x);
        break;
    case IR_OP_FCOS:
        r = hd_approx_cos(x);
        break;
    case IR_OP_FEX2:
        r = hd_approx_ex2(x);
        break;
    case IR_OP_FLG2:
        r = hd_approx_lg2(x);
        break;
    default:
        r = hd_approx_tanh(x);
        break;
    }
    return r != r ? HD_APPROX_NAN : hd_approx_bits(r);
}

/* rsqrt.approx.f64 keeps denormals; PTX gives no bound. Two correctly rounded operations. */
static uint64_t float_fp_rsqrt64(uint64_t a)
{
    double y = 1.0 / sqrt(hd_approx_double(a));
    return y != y ? float_fp_nan64(a, 0, 0) : hd_approx_bits64(y);
}

static uint64_t float_fp_approx_bits(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    enum ir_op op = f->in->op;
    if (f->fmt == &hd_fp_f64 && !f->ftz && op == IR_OP_FRSQRT)
        return float_fp_rsqrt64(a);
    if (f->fmt == &hd_fp_f64)
        return op == IR_OP_FRCP ? hd_approx_rcp64(a) : hd_approx_rsqrt64(a);
    a = float_fp_flush(f, a);
    if (f->fmt == &hd_fp_f32)
        return float_fp_flush(f, float_fp_approx_f32(op, f->in->rnd, a, float_fp_flush(f, b)));
    /* f16 and bf16: the f32 function, rounded. */
    uint64_t wide = hd_fp_pack(&hd_fp_f32, hd_fp_unpack(f->fmt, a), HD_FP_RN, false);
    wide = float_fp_approx_f32(op, f->in->rnd, wide, 0);
    return hd_fp_pack(f->fmt, hd_fp_unpack(&hd_fp_f32, wide), HD_FP_RN, f->ftz);
}

/* Called through memory: the arithmetic must stay between the two changes of environment. */
static uint64_t (*volatile const fp_approx_call)(const struct ir_fp *, uint64_t,
                                                 uint64_t) = float_fp_approx_bits;

static uint64_t float_fp_approx2(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    uint64_t r = fp_approx_call(f, a, b);
    fesetenv(&env);
    return r;
}

uint64_t ir_fp_approx(const struct ir_fp *f, uint64_t a)
{
    return float_fp_approx2(f, a, 0);
}

static bool float_fp_is_approx(const struct ir_fp *f)
{
    return f->in->rnd == IR_APPROX || f->in->rnd == IR_FULL;
}

uint64_t ir_fp_div(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    if (float_fp_is_approx(f) && f->fmt == &hd_fp_f32)
        return float_fp_approx2(f, a, b);
    return float_fp_finish(f, hd_fp_div(float_fp_take(f, a), float_fp_take(f, b)), a, b, 0);
}

uint64_t ir_fp_rcp(const struct ir_fp *f, uint64_t a)
{
    if (float_fp_is_approx(f))
        return float_fp_approx2(f, a, 0);
    struct hd_fp one = hd_fp_from_u64(false, 1);
    return float_fp_finish(f, hd_fp_div(one, float_fp_take(f, a)), a, 0, 0);
}

/* ---- comparisons and sign operations */

uint64_t ir_fp_min(const struct ir_fp *f, uint64_t a, uint64_t b, bool want_max)
{
    bool nan_wins = ir_has(f->in, IR_MOD_NAN), xorsign = ir_has(f->in, IR_MOD_XORSIGN);
    uint64_t sign_bit = hd_fp_sign_mask(f->fmt), sign = 0;
    bool nan_a = hd_fp_is_nan(f->fmt, a), nan_b = hd_fp_is_nan(f->fmt, b);
    a = float_fp_flush(f, a);
    b = float_fp_flush(f, b);
    if ((nan_a && nan_b) || (nan_wins && (nan_a || nan_b)))
        return f->fmt == &hd_fp_f64 ? float_fp_nan64(a, b, 0) : sign_bit - 1;
    if (xorsign) {
        sign = (a ^ b) & sign_bit;
        a &= ~sign_bit;
        b &= ~sign_bit;
    }
    uint64_t r;
    int order = hd_fp_compare(f->fmt, a, b);
    if (nan_a || nan_b)
        r = nan_a ? b : a;
    else if (order != 0)
        r = (order < 0) != want_max ? a : b;
    else /* equal bits, or zeros of both signs: -0 < +0 */
        r = want_max ? a & b : a | b;
    return r | sign;
}

uint64_t ir_fp_neg(const struct ir_fp *f, uint64_t a)
{
    return float_fp_flush(f, a) ^ hd_fp_sign_mask(f->fmt);
}

uint64_t ir_fp_abs(const struct ir_fp *f, uint64_t a)
{
    return float_fp_flush(f, a) & ~hd_fp_sign_mask(f->fmt);
}

uint64_t ir_fp_copysign(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    uint64_t sign = hd_fp_sign_mask(f->fmt);
    return (a & sign) | (b & ~sign);
}

bool ir_fp_compare(const struct ir_fp *f, uint64_t a, uint64_t b)
{
    int order = hd_fp_compare(f->fmt, float_fp_flush(f, a), float_fp_flush(f, b));
    bool nan = order == 2;
    switch (f->in->cmp) {
    case IR_EQ:
        return order == 0;
    case IR_NE:
        return order == -1 || order == 1;
    case IR_LT:
        return order == -1;
    case IR_LE:
        return order == -1 || order == 0;
    case IR_GT:
        return order == 1;
    case IR_GE:
        return order == 1 || order == 0;
    case IR_EQU:
        return nan || order == 0;
    case IR_NEU:
        return order != 0;
    case IR_LTU:
        return nan || order == -1;
    case IR_LEU:
        return nan || order <= 0;
    case IR_GTU:
        return nan || order == 1;
    case IR_GEU:
        return nan || order >= 0;
    case IR_NUM:
        return !nan;
    case IR_NAN:
        return nan;
    }
    return false;
}

bool ir_fp_test(const struct ir_fp *f, uint64_t a)
{
    enum hd_fp_class cls = hd_fp_unpack(f->fmt, a).cls;
    bool denormal = hd_fp_is_denormal(f->fmt, a);
    switch ((enum ir_testp)f->in->imm) {
    case IR_TESTP_FINITE:
        return cls == HD_FP_ZERO || cls == HD_FP_FINITE;
    case IR_TESTP_INFINITE:
        return cls == HD_FP_INF;
    case IR_TESTP_NUMBER:
        return cls != HD_FP_NAN;
    case IR_TESTP_NOTANUMBER:
        return cls == HD_FP_NAN;
    case IR_TESTP_NORMAL:
        return cls == HD_FP_ZERO || (cls == HD_FP_FINITE && !denormal); /* zeros are normal */
    case IR_TESTP_SUBNORMAL:
        return denormal;
    }
    return false;
}
