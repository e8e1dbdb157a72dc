/*
 * Sine, cosine, tangent. Arguments are reduced modulo pi/2: up to 2^30 by Cody and Waite's method
 * with pi/2 as three doubles, beyond by Payne and Hanek's: multiply the 53-bit mantissa by the 192
 * bits of
 * 2/pi that matter; the top two bits of the product are the quadrant, the rest is the fraction.
 */
#include "ld_coeffs.h"

static struct ld_dd reduce_medium(double x, int *out_quadrant)
{
    double q = ld_round_int(x * 0.63661977236758134308, out_quadrant);
    struct ld_dd p = ld_two_prod(-q, LD_PIO2_HI), m = ld_two_prod(-q, LD_PIO2_MID);
    struct ld_dd a = ld_two_sum(ld_add(x, p.hi), p.lo);
    struct ld_dd b = ld_two_sum(a.hi, m.hi);
    return ld_fast_sum(b.hi, b.lo + (a.lo + (m.lo - q * LD_PIO2_LO)));
}

/* 32 bits of 2/pi from bit `at` behind the binary point (0 is the first); zeros in front of it. */
static ld_u32 two_over_pi_bits(int at)
{
    int word = at >> 5, shift = at & 31;
    ld_u32 a = word >= 0 ? ld_two_over_pi[word] : 0;
    ld_u32 b = word + 1 >= 0 ? ld_two_over_pi[word + 1] : 0;
    return shift ? (a << shift) | (b >> (32 - shift)) : a;
}

static ld_u64 two_over_pi_bits64(int at)
{
    return (ld_u64)two_over_pi_bits(at) << 32 | two_over_pi_bits(at + 32);
}

static ld_u64 mul_high(ld_u64 a, ld_u64 b)
{
    return (ld_u64)((unsigned __int128)a * b >> 64);
}

/* A signed 128-bit fraction (hi, lo) / 2^128 times pi/2. */
static struct ld_dd fraction_to_angle(ld_u64 hi, ld_u64 lo)
{
    int negative = (ld_i64)hi < 0, zeros = 0;
    if (negative) {
        lo = 0 - lo;
        hi = ~hi + (lo == 0);
    }
    if (hi == 0) {
        hi = lo;
        lo = 0;
        zeros = 64;
    }
    int n = hi ? __builtin_clzll(hi) : 0;
    if (n) {
        hi = hi << n | lo >> (64 - n);
        lo <<= n;
    }
    struct ld_dd f = {(double)(hi >> 11) * 0x1p-53,
                      (double)((hi & 0x7ff) << 42 | lo >> 22) * 0x1p-106};
    double scale = ld_pow2(-(zeros + n));
    f.hi *= negative ? -scale : scale;
    f.lo *= negative ? -scale : scale;
    return ld_dd_mul(f, (struct ld_dd){LD_PIO2_HI, LD_PIO2_MID});
}

static struct ld_dd reduce_large(double x, int *out_quadrant)
{
    ld_u64 u = ld_bits(x), m = (u & 0xfffffffffffffull) | 0x10000000000000ull;
    int e = (int)(u >> 52 & 0x7ff) - 1075; /* |x| = m 2^e */
    ld_u64 w2 = two_over_pi_bits64(e - 2), w1 = two_over_pi_bits64(e + 62),
           w0 = two_over_pi_bits64(e + 126);
    /* m * w modulo 2^192 */
    ld_u64 lo = m * w0, mid = m * w1, hi = m * w2 + mul_high(m, w1), carry = mul_high(m, w0);
    mid += carry;
    hi += mid < carry;
    ld_u64 fraction_hi = hi << 2 | mid >> 62, fraction_lo = mid << 2 | lo >> 62;
    /* Round to the nearest quadrant: the fraction's sign bit says up. */
    int quadrant = (int)(hi >> 62) + (int)(fraction_hi >> 63);
    struct ld_dd r = fraction_to_angle(fraction_hi, fraction_lo);
    if ((ld_i64)u < 0) {
        quadrant = -quadrant;
        r = (struct ld_dd){-r.hi, -r.lo};
    }
    *out_quadrant = quadrant;
    return r;
}

struct ld_dd ld_reduce_pio2(double x, int *out_quadrant)
{
    if (ld_abs(x) < 1073741824.0)
        return reduce_medium(x, out_quadrant);
    if (!(ld_abs(x) < LD_INF)) {
        *out_quadrant = 0;
        return (struct ld_dd){LD_NAN, 0.0};
    }
    return reduce_large(x, out_quadrant);
}

double ld_sin_kernel(struct ld_dd r)
{
    double z = r.hi * r.hi;
    double tail = ld_fma(r.hi * z, ld_poly_sin(z), r.lo * ld_fma(-0.5, z, 1.0));
    return r.hi + tail;
}

double ld_cos_kernel(struct ld_dd r)
{
    double z = ld_mul(r.hi, r.hi), hz = ld_mul(0.5, z), w = ld_add(1.0, -hz);
    double rest = ld_add(ld_add(1.0, -w), -hz);
    return w + (rest + ld_fma(z * z, ld_poly_cos(z), -r.hi * r.lo));
}

static double with_quadrant(struct ld_dd r, int quadrant)
{
    double v = quadrant & 1 ? ld_cos_kernel(r) : ld_sin_kernel(r);
    return quadrant & 2 ? -v : v;
}

LD_D1(sin)
{
    int q;
    struct ld_dd r = ld_reduce_pio2(x, &q);
    return x == 0.0 ? x : with_quadrant(r, q);
}

LD_D1(cos)
{
    int q;
    struct ld_dd r = ld_reduce_pio2(x, &q);
    return with_quadrant(r, q + 1);
}

LD_FN(void, __nv_sincos, double x, double *out_sin, double *out_cos)
{
    int q;
    struct ld_dd r = ld_reduce_pio2(x, &q);
    *out_sin = x == 0.0 ? x : with_quadrant(r, q);
    *out_cos = with_quadrant(r, q + 1);
}

LD_D1(tan)
{
    int q;
    struct ld_dd r = ld_reduce_pio2(x, &q);
    double s = ld_sin_kernel(r), c = ld_cos_kernel(r);
    if (x == 0.0)
        return x;
    return q & 1 ? -c / s : s / c;
}

/* x - n/2 with n = rint(2x), exactly, times pi. */
static struct ld_dd reduce_half(double x, int *out_quadrant)
{
    double r = x;
    if (!(ld_abs(x) < 4503599627370496.0)) {
        /* An integer; even from 2^53 on. */
        *out_quadrant = ld_abs(x) < 9007199254740992.0 ? (int)((ld_bits(x) & 1) << 1) : 0;
        return (struct ld_dd){ld_abs(x) < LD_INF ? 0.0 : LD_NAN, 0.0};
    }
    double n = ld_round_int(ld_abs(x) < 1e15 ? 2.0 * x : x * 0.0, out_quadrant);
    if (ld_abs(x) >= 1e15) {
        /* 2x would leave the range of the rounding trick: x is a multiple of 1/8 here. */
        double t = x - 8.0 * __builtin_trunc(x * 0.125);
        n = ld_round_int(2.0 * t, out_quadrant);
        r = t;
    }
    r = ld_fma(-0.5, n, r);
    return ld_dd_mul_d((struct ld_dd){LD_PI_HI, LD_PI_MID}, r);
}

LD_D1(sinpi)
{
    int q;
    struct ld_dd r = reduce_half(x, &q);
    if (r.hi == 0.0 && !(q & 1))
        return ld_copysign(0.0, x);
    return with_quadrant(r, q);
}

LD_D1(cospi)
{
    int q;
    struct ld_dd r = reduce_half(x, &q);
    if (r.hi == 0.0 && (q & 1))
        return 0.0;
    return with_quadrant(r, q + 1);
}

LD_FN(void, __nv_sincospi, double x, double *out_sin, double *out_cos)
{
    *out_sin = __nv_sinpi(x);
    *out_cos = __nv_cospi(x);
}

/* Single precision: the reduction in double needs no second word. */
static float reduce_float(float x, int *out_quadrant)
{
    double d = (double)x;
    if (__builtin_fabsf(x) < 268435456.0f) {
        double q = ld_round_int(d * 0.63661977236758134308, out_quadrant);
        return (float)ld_fma(-q, LD_PIO2_MID, ld_fma(-q, LD_PIO2_HI, d));
    }
    return (float)ld_reduce_pio2(d, out_quadrant).hi;
}

static float with_quadrant_float(float r, int quadrant)
{
    float z = r * r;
    float s = ld_fmaf(r * z, ld_poly_sinf(z), r);
    float c = ld_fmaf(z * z, ld_poly_cosf(z), ld_fmaf(-0.5f, z, 1.0f));
    float v = quadrant & 1 ? c : s;
    return quadrant & 2 ? -v : v;
}

LD_F1(sinf)
{
    int q;
    x = ld_flush(x);
    float r = reduce_float(x, &q);
    return x == 0.0f ? x : with_quadrant_float(r, q);
}

LD_F1(cosf)
{
    int q;
    float r = reduce_float(x, &q);
    return with_quadrant_float(r, q + 1);
}

LD_FN(void, __nv_sincosf, float x, float *out_sin, float *out_cos)
{
    int q;
    x = ld_flush(x);
    float r = reduce_float(x, &q);
    *out_sin = x == 0.0f ? x : with_quadrant_float(r, q);
    *out_cos = with_quadrant_float(r, q + 1);
}

LD_F1(tanf)
{
    int q;
    x = ld_flush(x);
    float r = reduce_float(x, &q);
    if (x == 0.0f)
        return x;
    return with_quadrant_float(r, q) / with_quadrant_float(r, q + 1);
}

LD_F1(sinpif)
{
    return (float)__nv_sinpi((double)x);
}

LD_F1(cospif)
{
    return (float)__nv_cospi((double)x);
}

LD_FN(void, __nv_sincospif, float x, float *out_sin, float *out_cos)
{
    *out_sin = __nv_sinpif(x);
    *out_cos = __nv_cospif(x);
}
