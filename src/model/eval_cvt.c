/* cvt and cvt.pack, PTX ISA 9.7.9.21: every pair of types, all roundings, .ftz, .sat. */
#include "model/eval_private.h"

static uint64_t cvt_flush(const struct hd_fp_format *fmt, bool ftz, uint64_t v)
{
    return ftz && hd_fp_is_denormal(fmt, v) ? v & hd_fp_sign_mask(fmt) : v;
}

/* .sat between integers clamps to the destination's range. */
static uint64_t cvt_clamp(uint64_t v, bool from_signed, enum ir_type to)
{
    unsigned bits = ir_type_bits(to);
    bool negative = from_signed && (int64_t)v < 0;
    uint64_t half = 1ull << (bits - 1);
    if (!ir_type_is_signed(to)) {
        uint64_t max = half - 1 + half;
        return negative ? 0 : v > max ? max : v;
    }
    if (negative)
        return (int64_t)v < -(int64_t)(half - 1) - 1 ? 0 - half : v;
    return v > half - 1 ? half - 1 : v;
}

static uint64_t cvt_int_int(const struct ir_instr *in, uint64_t a)
{
    bool from_signed = ir_type_is_signed(in->type2);
    if (from_signed)
        a = ir_int_extend(a, ir_type_bits(in->type2));
    return ir_has(in, IR_MOD_SAT) ? cvt_clamp(a, from_signed, in->type) : a;
}

static uint64_t cvt_saturate(const struct hd_fp_format *fmt, uint64_t v)
{
    uint64_t one = ((1ull << (fmt->exp_bits - 1)) - 1) << fmt->frac_bits;
    if ((v & hd_fp_sign_mask(fmt)) || hd_fp_is_nan(fmt, v))
        return 0;
    return v > one ? one : v;
}

static uint64_t cvt_int_float(const struct ir_instr *in, uint64_t a)
{
    const struct hd_fp_format *to = ir_fp_format(in->type);
    uint64_t v = a;
    bool negative = false;
    if (ir_type_is_signed(in->type2)) {
        v = ir_int_extend(a, ir_type_bits(in->type2));
        negative = (int64_t)v < 0;
    }
    struct hd_fp x = hd_fp_from_u64(negative, negative ? 0 - v : v);
    uint64_t r = hd_fp_pack(to, x, ir_fp_round(in->rnd), false);
    return ir_has(in, IR_MOD_SAT) ? cvt_saturate(to, r) : r;
}

static bool cvt_is_integral(enum ir_rnd rnd)
{
    return rnd == IR_RNI || rnd == IR_RZI || rnd == IR_RMI || rnd == IR_RPI;
}

/* A NaN that becomes f64 keeps its payload, quieted; f64 to f64 likewise. */
static uint64_t cvt_nan(const struct hd_fp_format *from, const struct hd_fp_format *to, uint64_t a)
{
    if (to != &hd_fp_f64)
        return hd_fp_sign_mask(to) - 1;
    uint64_t sign = (a & hd_fp_sign_mask(from)) ? hd_fp_sign_mask(to) : 0;
    uint64_t frac = (a & ((1ull << from->frac_bits) - 1)) << (to->frac_bits - from->frac_bits);
    return sign | 0x7ff8000000000000u | frac;
}

/* How many random bits there are: what f32 drops of a normal number, 16 at most. */
static unsigned cvt_random_bits(const struct hd_fp_format *to)
{
    return HD_MIN(23u - to->frac_bits, 16u);
}

static uint64_t cvt_pack(const struct ir_instr *in, const struct hd_fp_format *to, struct hd_fp x,
                         uint64_t random)
{
    uint64_t sign = hd_fp_sign_mask(to), r;
    if (in->rnd == IR_RS)
        r = hd_fp_pack_random(to, x, random & ((1ull << cvt_random_bits(to)) - 1),
                              cvt_random_bits(to));
    else
        r = hd_fp_pack(to, x, ir_fp_round(in->rnd), ir_has(in, IR_MOD_FTZ) && to == &hd_fp_f32);
    if (ir_has(in, IR_MOD_SATFINITE) && x.cls != HD_FP_NAN && (r & (sign - 1)) > hd_fp_max(to))
        r = (r & sign) | hd_fp_max(to);
    return r;
}

static uint64_t cvt_float(const struct ir_instr *in, const struct hd_fp_format *from,
                          const struct hd_fp_format *to, uint64_t a, uint64_t random)
{
    a = cvt_flush(from, ir_has(in, IR_MOD_FTZ), a);
    struct hd_fp x = hd_fp_unpack(from, a);
    if (cvt_is_integral(in->rnd))
        x = hd_fp_integral(x, ir_fp_round(in->rnd));
    uint64_t r = x.cls == HD_FP_NAN ? cvt_nan(from, to, a) : cvt_pack(in, to, x, random);
    bool relu = ir_has(in, IR_MOD_RELU);
    if (relu && (r & hd_fp_sign_mask(to)) && !hd_fp_is_nan(to, r))
        r = 0;
    return ir_has(in, IR_MOD_SAT) ? cvt_saturate(to, r) : r;
}

/* tf32 is the upper 19 bits of a register; its NaN is that of f32. */
static uint64_t cvt_tf32(const struct ir_instr *in, uint64_t a)
{
    if (hd_fp_is_nan(&hd_fp_f32, a))
        return 0x7fffffff;
    return cvt_float(in, &hd_fp_f32, &hd_fp_tf32, a, 0) << 13;
}

uint64_t ir_cvt(const struct ir_instr *in, uint64_t a)
{
    const struct hd_fp_format *from = ir_fp_format(in->type2), *to = ir_fp_format(in->type);
    if (in->type == IR_TF32)
        return cvt_tf32(in, a);
    if (from && to)
        return cvt_float(in, from, to, a, 0);
    if (to)
        return cvt_int_float(in, a);
    if (!from)
        return cvt_int_int(in, a);
    unsigned bits = ir_type_bits(in->type);
    struct hd_fp x = hd_fp_unpack(from, cvt_flush(from, ir_has(in, IR_MOD_FTZ), a));
    /* PTX ISA: the smallest signed number when f64 or a 64-bit integer takes part, else 0. */
    if (x.cls == HD_FP_NAN)
        return from == &hd_fp_f64 || bits == 64 ? 1ull << (bits - 1) : 0;
    enum ir_rnd rnd = in->rnd == IR_RND_NONE ? IR_RZI : in->rnd;
    return hd_fp_to_int(x, ir_fp_round(rnd), bits, ir_type_is_signed(in->type));
}

/* ---- scales: ue8m0 is 2^(bits - 127), 255 NaN */

enum { SCALE_BIAS = 127, SCALE_MAX = 254, SCALE_NAN = 255 };

/* The power of two next to the magnitude, towards zero or (.rp) away from it. */
static uint64_t cvt_to_scale(const struct ir_instr *in, uint64_t a)
{
    uint64_t magnitude = a & 0x7fffffff, exp = magnitude >> 23, frac = magnitude & 0x7fffff;
    if (hd_fp_is_nan(&hd_fp_f32, a))
        return SCALE_NAN;
    if (!exp) /* below 2^-126: 2^-127 is the smallest, and the only other power up to there */
        exp = in->rnd == IR_RP ? magnitude > 1u << 22 : 0;
    else if (in->rnd == IR_RP && frac)
        exp++;
    if (exp > SCALE_MAX)
        return ir_has(in, IR_MOD_SATFINITE) ? SCALE_MAX : SCALE_NAN;
    return exp;
}

static struct hd_fp cvt_from_scale(uint64_t bits)
{
    struct hd_fp x = {.cls = HD_FP_NAN};
    if (bits != SCALE_NAN)
        x = (struct hd_fp){.cls = HD_FP_FINITE, .exp = (int)bits - SCALE_BIAS, .mant = 1};
    return x;
}

/* ---- two at once */

uint64_t ir_cvtpack(const struct ir_instr *in, uint64_t high, uint64_t low, uint64_t random)
{
    const struct hd_fp_format *to = ir_fp_format(ir_type_element(in->type));
    unsigned bits = ir_type_bits(in->type) / 2;
    if (in->type == IR_UE8M0X2)
        return cvt_to_scale(in, high) << bits | cvt_to_scale(in, low);
    return cvt_float(in, &hd_fp_f32, to, high, random >> 16) << bits |
           cvt_float(in, &hd_fp_f32, to, low, random & 0xffff);
}

uint64_t ir_cvtunpack(const struct ir_instr *in, uint64_t a)
{
    const struct hd_fp_format *from = ir_fp_format(ir_type_element(in->type2));
    const struct hd_fp_format *to = ir_fp_format(in->type);
    unsigned bits = ir_type_bits(in->type2) / 2;
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t v = a >> (bits * i) & ((1u << bits) - 1);
        struct hd_fp x = from ? hd_fp_unpack(from, v) : cvt_from_scale(v);
        bool to_zero = ir_has(in, IR_MOD_RELU) && x.sign && x.cls != HD_FP_NAN;
        r |= (to_zero ? 0 : hd_fp_pack(to, x, HD_FP_RN, false)) << (16 * i);
    }
    return r;
}
