/* See softfp.h. */
#include "base/float/softfp.h"

#include <assert.h>

typedef unsigned __int128 u128;

const struct hd_fp_format hd_fp_f16 = {10, 5, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_bf16 = {7, 8, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_f32 = {23, 8, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_f64 = {52, 11, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_tf32 = {10, 8, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_e5m2 = {2, 5, HD_FP_TOP_IEEE};
const struct hd_fp_format hd_fp_e4m3 = {3, 4, HD_FP_TOP_NAN};
const struct hd_fp_format hd_fp_e3m2 = {2, 3, HD_FP_TOP_NUMBERS};
const struct hd_fp_format hd_fp_e2m3 = {3, 2, HD_FP_TOP_NUMBERS};
const struct hd_fp_format hd_fp_e2m1 = {1, 2, HD_FP_TOP_NUMBERS};

static int softfp_fp_msb(u128 v)
{
    uint64_t hi = (uint64_t)(v >> 64);
    return hi ? 127 - __builtin_clzll(hi) : 63 - __builtin_clzll((uint64_t)v);
}

static struct hd_fp softfp_fp_special(enum hd_fp_class cls, bool sign)
{
    return (struct hd_fp){.cls = cls, .sign = sign};
}

static uint64_t softfp_fp_exp_mask(const struct hd_fp_format *fmt)
{
    return ((1ull << fmt->exp_bits) - 1) << fmt->frac_bits;
}

uint64_t hd_fp_sign_mask(const struct hd_fp_format *fmt)
{
    return 1ull << (fmt->exp_bits + fmt->frac_bits);
}

uint64_t hd_fp_max(const struct hd_fp_format *fmt)
{
    switch (fmt->top) {
    case HD_FP_TOP_NAN:
        return hd_fp_sign_mask(fmt) - 2;
    case HD_FP_TOP_NUMBERS:
        return hd_fp_sign_mask(fmt) - 1;
    default:
        return softfp_fp_exp_mask(fmt) - 1;
    }
}

bool hd_fp_is_nan(const struct hd_fp_format *fmt, uint64_t bits)
{
    bool has_inf = fmt->top == HD_FP_TOP_IEEE;
    return (bits & (hd_fp_sign_mask(fmt) - 1)) > hd_fp_max(fmt) + has_inf;
}

bool hd_fp_is_denormal(const struct hd_fp_format *fmt, uint64_t bits)
{
    return !(bits & softfp_fp_exp_mask(fmt)) && (bits & (hd_fp_sign_mask(fmt) - 1));
}

int hd_fp_compare(const struct hd_fp_format *fmt, uint64_t a, uint64_t b)
{
    uint64_t sign = hd_fp_sign_mask(fmt), mag = sign - 1;
    if (hd_fp_is_nan(fmt, a) || hd_fp_is_nan(fmt, b))
        return 2;
    int64_t x = (a & sign) ? -(int64_t)(a & mag) : (int64_t)(a & mag);
    int64_t y = (b & sign) ? -(int64_t)(b & mag) : (int64_t)(b & mag);
    return x < y ? -1 : x > y;
}

struct hd_fp hd_fp_unpack(const struct hd_fp_format *fmt, uint64_t bits)
{
    bool sign = (bits & hd_fp_sign_mask(fmt)) != 0;
    uint64_t frac = bits & ((1ull << fmt->frac_bits) - 1);
    int max_exp = (1 << fmt->exp_bits) - 1, bias = max_exp >> 1;
    int e = (int)((bits >> fmt->frac_bits) & (uint64_t)max_exp);
    if ((bits & (hd_fp_sign_mask(fmt) - 1)) > hd_fp_max(fmt))
        return softfp_fp_special(hd_fp_is_nan(fmt, bits) ? HD_FP_NAN : HD_FP_INF, sign);
    if (!e && !frac)
        return softfp_fp_special(HD_FP_ZERO, sign);
    u128 mant = e ? frac | 1ull << fmt->frac_bits : frac;
    return (struct hd_fp){HD_FP_FINITE, sign, false, (e ? e : 1) - bias - fmt->frac_bits, mant};
}

/* Should a magnitude with this remainder (half: first dropped bit, rest: any below) grow by one? */
static bool softfp_fp_round_up(enum hd_fp_round rnd, bool sign, bool odd, bool half, bool rest)
{
    switch (rnd) {
    case HD_FP_RN:
        return half && (rest || odd);
    case HD_FP_RNA:
        return half;
    case HD_FP_RM:
        return sign && (half || rest);
    case HD_FP_RP:
        return !sign && (half || rest);
    default:
        return false;
    }
}

/* x as an integer multiple of 2^quantum. */
static u128 softfp_fp_round_at(struct hd_fp x, int quantum, enum hd_fp_round rnd)
{
    int drop = quantum - x.exp;
    if (drop <= 0) {
        assert(!x.sticky && softfp_fp_msb(x.mant) - drop < 128);
        return x.mant << -drop;
    }
    u128 keep = drop > 127 ? 0 : x.mant >> drop;
    bool half = drop <= 128 && ((x.mant >> (drop - 1)) & 1);
    u128 below = drop > 128 ? x.mant : x.mant & (((u128)1 << (drop - 1)) - 1);
    return keep + softfp_fp_round_up(rnd, x.sign, keep & 1, half, below || x.sticky);
}

/* What is there instead of infinity where a format has none. */
static uint64_t softfp_fp_infinity(const struct hd_fp_format *fmt)
{
    return fmt->top == HD_FP_TOP_NUMBERS ? hd_fp_max(fmt) : hd_fp_max(fmt) + 1;
}

static uint64_t softfp_fp_overflow(const struct hd_fp_format *fmt, bool sign, enum hd_fp_round rnd)
{
    bool stays = rnd == HD_FP_RZ || (rnd == HD_FP_RM && !sign) || (rnd == HD_FP_RP && sign);
    return stays ? hd_fp_max(fmt) : softfp_fp_infinity(fmt);
}

/* The exponent of the smallest denormal, and of the last place that x keeps. */
static int softfp_fp_low(const struct hd_fp_format *fmt)
{
    return 2 - (1 << (fmt->exp_bits - 1)) - fmt->frac_bits;
}

static int softfp_fp_last_place(const struct hd_fp_format *fmt, struct hd_fp x)
{
    return HD_MAX(softfp_fp_msb(x.mant) + x.exp - fmt->frac_bits, softfp_fp_low(fmt));
}

/* m * 2^quantum; rnd: where it goes when it is too large. */
static uint64_t softfp_fp_assemble(const struct hd_fp_format *fmt, bool sign, int quantum,
                                   uint64_t m, enum hd_fp_round rnd)
{
    /* The carry out of the fraction, also from denormal to normal, runs into the exponent field. */
    uint64_t biased = (uint64_t)(quantum - softfp_fp_low(fmt)), max = hd_fp_max(fmt);
    if (biased > max >> fmt->frac_bits)
        return softfp_fp_overflow(fmt, sign, rnd);
    uint64_t bits = (biased << fmt->frac_bits) + m;
    return bits > max ? softfp_fp_overflow(fmt, sign, rnd) : bits;
}

static uint64_t softfp_fp_pack_finite(const struct hd_fp_format *fmt, struct hd_fp x,
                                      enum hd_fp_round rnd, bool flush)
{
    int low = softfp_fp_low(fmt);
    int unbounded = softfp_fp_msb(x.mant) + x.exp - fmt->frac_bits;
    if (flush && unbounded < low) {
        u128 m = softfp_fp_round_at(x, unbounded, rnd);
        if (unbounded + 1 < low || !(m >> (fmt->frac_bits + 1)))
            return 0;
    }
    int quantum = softfp_fp_last_place(fmt, x);
    return softfp_fp_assemble(fmt, x.sign, quantum, (uint64_t)softfp_fp_round_at(x, quantum, rnd),
                              rnd);
}

uint64_t hd_fp_pack(const struct hd_fp_format *fmt, struct hd_fp x, enum hd_fp_round rnd,
                    bool flush)
{
    uint64_t sign = x.sign ? hd_fp_sign_mask(fmt) : 0;
    switch (x.cls) {
    case HD_FP_NAN:
        return hd_fp_sign_mask(fmt) - 1;
    case HD_FP_INF:
        return sign | softfp_fp_infinity(fmt);
    case HD_FP_ZERO:
        return sign;
    default:
        return sign | softfp_fp_pack_finite(fmt, x, rnd, flush);
    }
}

uint64_t hd_fp_pack_random(const struct hd_fp_format *fmt, struct hd_fp x, uint64_t random,
                           unsigned bits)
{
    if (x.cls != HD_FP_FINITE)
        return hd_fp_pack(fmt, x, HD_FP_RZ, false);
    int quantum = softfp_fp_last_place(fmt, x);
    u128 places = softfp_fp_round_at(x, quantum - (int)bits, HD_FP_RZ) + random;
    uint64_t sign = x.sign ? hd_fp_sign_mask(fmt) : 0;
    return sign | softfp_fp_assemble(fmt, x.sign, quantum, (uint64_t)(places >> bits), HD_FP_RN);
}

struct hd_fp hd_fp_neg(struct hd_fp a)
{
    a.sign = !a.sign;
    return a;
}

/* Moves the leading bit to bit 125, which leaves room for one carry and for a sign. */
static struct hd_fp softfp_fp_normal(struct hd_fp a)
{
    int up = 125 - softfp_fp_msb(a.mant);
    assert(up >= 0);
    a.mant <<= up;
    a.exp -= up;
    return a;
}

/*
 * Both have the leading bit at 125 and |a| >= |b|. Only when b lies 19 or more places lower (inputs
 * have at most 106 significant bits) can bits of it be dropped, and then at most one leading
 * bit of a cancels: the result keeps far more bits than any format, plus the sticky bit.
 */
static struct hd_fp softfp_fp_add_aligned(struct hd_fp a, struct hd_fp b)
{
    int down = a.exp - b.exp;
    u128 shifted = down > 127 ? 0 : b.mant >> down;
    bool lost = down > 127 || (down && (b.mant << (128 - down)));
    if (a.sign == b.sign) {
        a.mant += shifted;
    } else {
        a.mant -= shifted + lost; /* floor; the fraction that remains is in sticky */
    }
    a.sticky = lost;
    return a;
}

struct hd_fp hd_fp_add(struct hd_fp a, struct hd_fp b, enum hd_fp_round rnd)
{
    if (a.cls == HD_FP_NAN || b.cls == HD_FP_NAN)
        return softfp_fp_special(HD_FP_NAN, false);
    if (a.cls == HD_FP_INF || b.cls == HD_FP_INF) {
        if (a.cls == b.cls && a.sign != b.sign)
            return softfp_fp_special(HD_FP_NAN, false);
        return a.cls == HD_FP_INF ? a : b;
    }
    if (a.cls == HD_FP_ZERO && b.cls == HD_FP_ZERO)
        return softfp_fp_special(HD_FP_ZERO, a.sign == b.sign ? a.sign : rnd == HD_FP_RM);
    if (a.cls == HD_FP_ZERO || b.cls == HD_FP_ZERO)
        return a.cls == HD_FP_ZERO ? b : a;
    a = softfp_fp_normal(a);
    b = softfp_fp_normal(b);
    bool swap = a.exp < b.exp || (a.exp == b.exp && a.mant < b.mant);
    struct hd_fp sum = swap ? softfp_fp_add_aligned(b, a) : softfp_fp_add_aligned(a, b);
    return sum.mant ? sum : softfp_fp_special(HD_FP_ZERO, rnd == HD_FP_RM);
}

struct hd_fp hd_fp_mul(struct hd_fp a, struct hd_fp b)
{
    bool sign = a.sign != b.sign;
    bool zero = a.cls == HD_FP_ZERO || b.cls == HD_FP_ZERO;
    bool inf = a.cls == HD_FP_INF || b.cls == HD_FP_INF;
    if (a.cls == HD_FP_NAN || b.cls == HD_FP_NAN || (zero && inf))
        return softfp_fp_special(HD_FP_NAN, false);
    if (inf || zero)
        return softfp_fp_special(inf ? HD_FP_INF : HD_FP_ZERO, sign);
    assert(!(a.mant >> 64) && !(b.mant >> 64) && !a.sticky && !b.sticky);
    return (struct hd_fp){HD_FP_FINITE, sign, false, a.exp + b.exp, a.mant * b.mant};
}

struct hd_fp hd_fp_fma(struct hd_fp a, struct hd_fp b, struct hd_fp c, enum hd_fp_round rnd)
{
    return hd_fp_add(hd_fp_mul(a, b), c, rnd);
}

struct hd_fp hd_fp_div(struct hd_fp a, struct hd_fp b)
{
    bool sign = a.sign != b.sign;
    if (a.cls == HD_FP_NAN || b.cls == HD_FP_NAN || (a.cls == b.cls && a.cls != HD_FP_FINITE))
        return softfp_fp_special(HD_FP_NAN, false);
    if (a.cls == HD_FP_INF || b.cls == HD_FP_ZERO)
        return softfp_fp_special(HD_FP_INF, sign);
    if (a.cls == HD_FP_ZERO || b.cls == HD_FP_INF)
        return softfp_fp_special(HD_FP_ZERO, sign);
    a = softfp_fp_normal(
        a); /* 126 bits by at most 64: the quotient has at least 62, plus the remainder */
    assert(!(b.mant >> 64));
    return (struct hd_fp){HD_FP_FINITE, sign, a.mant % b.mant != 0, a.exp - b.exp, a.mant / b.mant};
}

struct hd_fp hd_fp_sqrt(struct hd_fp a)
{
    if (a.cls == HD_FP_NAN || (a.sign && a.cls != HD_FP_ZERO))
        return softfp_fp_special(HD_FP_NAN, false);
    if (a.cls != HD_FP_FINITE)
        return a;
    a = softfp_fp_normal(a);
    if (a.exp & 1) {
        a.mant <<= 1;
        a.exp--;
    }
    u128 root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        u128 t = root | (u128)1 << bit;
        if (t * t <= a.mant)
            root = t;
    }
    return (struct hd_fp){HD_FP_FINITE, false, root * root != a.mant, a.exp / 2, root};
}

struct hd_fp hd_fp_integral(struct hd_fp a, enum hd_fp_round rnd)
{
    if (a.cls != HD_FP_FINITE || a.exp >= 0)
        return a;
    u128 m = softfp_fp_round_at(a, 0, rnd);
    if (!m)
        return softfp_fp_special(HD_FP_ZERO, a.sign);
    return (struct hd_fp){HD_FP_FINITE, a.sign, false, 0, m};
}

struct hd_fp hd_fp_from_u64(bool sign, uint64_t magnitude)
{
    if (!magnitude)
        return softfp_fp_special(HD_FP_ZERO, false);
    return (struct hd_fp){HD_FP_FINITE, sign, false, 0, magnitude};
}

uint64_t hd_fp_to_int(struct hd_fp a, enum hd_fp_round rnd, unsigned bits, bool is_signed)
{
    a = hd_fp_integral(a, rnd);
    if (a.cls == HD_FP_NAN || a.cls == HD_FP_ZERO || (a.sign && !is_signed))
        return 0;
    uint64_t top = 1ull << (bits - 1);
    uint64_t max = is_signed ? top - (a.sign ? 0 : 1) : top - 1 + top;
    bool big = a.cls == HD_FP_INF || softfp_fp_msb(a.mant) + a.exp > 63;
    u128 m = big ? 0 : a.exp > 0 ? a.mant << a.exp : a.mant;
    uint64_t value = big || m > max ? max : (uint64_t)m;
    return a.sign ? 0 - value : value;
}
