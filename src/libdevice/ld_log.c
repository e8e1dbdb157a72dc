/*
 * Logarithms. x = 2^e m with m in [sqrt(1/2), sqrt(2)); with f = m - 1 and s = f/(2 + f), log(m) =
 * 2 atanh(s) = 2s + s^3 P(s^2). Where a multiple of e ln2 is added, f leads the sum and its
 * corrections come last.
 */
#include "ld_coeffs.h"

/* m - 1 for x = 2^*out_e m; x positive and finite. */
static double split(double x, int *out_e)
{
    int bias = 0;
    if (x < 2.2250738585072014e-308) {
        x *= 18014398509481984.0;
        bias = -54;
    }
    ld_u64 u = ld_bits(x);
    int e = (int)((ld_i64)(u - 0x3fe6a09e667f3bcdull) >> 52);
    *out_e = e + bias;
    return ld_from_bits(u - ((ld_u64)(ld_i64)e << 52)) - 1.0;
}

/* log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
static double log1p_rest(double f)
{
    double s = f / (2.0 + f), z = s * s, hf = 0.5 * f * f;
    double r = z * ld_poly_atanh2(z); /* log(1+f) = 2s + s r, and 2s = f - s f */
    return -(hf - s * (hf + r));
}

/* The results at 0, negative arguments, infinity and NaN. */
static double special(double x)
{
    if (x == 0.0)
        return -LD_INF;
    return x < 0.0 ? LD_NAN : x + x;
}

static int ordinary(double x)
{
    return x > 0.0 && x < LD_INF;
}

LD_D1(log)
{
    int e;
    if (!ordinary(x))
        return special(x);
    double f = split(x, &e), k = (double)e;
    return ld_fma(k, LD_LN2_SHORT, f + ld_fma(k, LD_LN2_REST, log1p_rest(f)));
}

/* log(1 + x): the rounding error of 1 + x enters divided by the sum. */
LD_D1(log1p)
{
    int e;
    if (!(x > -1.0))
        return x == -1.0 ? -LD_INF : (x < -1.0 ? LD_NAN : x + x);
    if (x == LD_INF || ld_abs(x) < 1.1e-16)
        return x;
    struct ld_dd u = ld_two_sum(1.0, x);
    double f = split(u.hi, &e), k = (double)e, c = u.lo / u.hi;
    if (e == 0) {
        /* x itself is f, exactly but for u.lo */
        return x + log1p_rest(f) + (c - u.lo);
    }
    return ld_fma(k, LD_LN2_SHORT, f + (ld_fma(k, LD_LN2_REST, c) + log1p_rest(f)));
}

struct ld_dd ld_log_dd(double x)
{
    int e;
    double f = split(x, &e), k = (double)e;
    struct ld_dd s = ld_dd_div((struct ld_dd){f, 0.0}, ld_two_sum(2.0, f));
    struct ld_dd z = ld_dd_mul(s, s), s3 = ld_dd_mul(z, s);
    struct ld_dd third = ld_dd_mul(s3, (struct ld_dd){0x1.5555555555555p-1, 0x1.5555555555555p-55});
    double tail = s3.hi * z.hi * ld_poly_atanh2p(z.hi);
    struct ld_dd sum = ld_dd_add((struct ld_dd){2.0 * s.hi, 2.0 * s.lo}, third);
    struct ld_dd scaled = ld_two_prod(k, LD_LN2_REST);
    sum = ld_dd_add(sum, (struct ld_dd){tail, 0.0});
    sum = ld_dd_add(scaled, sum);
    return ld_dd_add((struct ld_dd){k * LD_LN2_SHORT, 0.0}, sum);
}

LD_D1(log2)
{
    int e;
    if (!ordinary(x))
        return special(x);
    double f = split(x, &e);
    struct ld_dd l = ld_fast_sum(f, log1p_rest(f));
    struct ld_dd p = ld_two_prod(l.hi, LD_LOG2E_HI);
    double lo = ld_fma(l.hi, LD_LOG2E_MID, ld_fma(l.lo, LD_LOG2E_HI, p.lo));
    struct ld_dd sum = ld_two_sum((double)e, p.hi);
    return sum.hi + (sum.lo + lo);
}

LD_D1(log10)
{
    int e;
    if (!ordinary(x))
        return special(x);
    double f = split(x, &e), k = (double)e;
    struct ld_dd l = ld_fast_sum(f, log1p_rest(f));
    struct ld_dd p = ld_two_prod(l.hi, LD_LOG10E_HI), q = ld_two_prod(k, LD_LOG10_2_HI);
    double lo = ld_fma(l.hi, LD_LOG10E_MID, ld_fma(l.lo, LD_LOG10E_HI, p.lo));
    struct ld_dd sum = ld_two_sum(q.hi, p.hi);
    return sum.hi + (sum.lo + (lo + ld_fma(k, LD_LOG10_2_MID, q.lo)));
}

/* f and log(1+f) - f in single precision, and e; x positive and finite. */
static float split_float(float x, int *out_e, float *out_rest)
{
    int bias = 0;
    if (x < 1.17549435e-38f) {
        x *= 8388608.0f;
        bias = -23;
    }
    ld_u32 u = ld_bitsf(x);
    int e = (int)(u - 0x3f3504f3u) >> 23;
    float f = ld_from_bitsf(u - ((ld_u32)e << 23)) - 1.0f;
    *out_e = e + bias;
    *out_rest = f * f * ld_fmaf(f, ld_poly_logf(f), -0.5f);
    return f;
}

static int ordinary_float(float x)
{
    return x > 0.0f && x < LD_INFF;
}

LD_F1(logf)
{
    int e;
    float rest;
    x = ld_flush(x);
    if (!ordinary_float(x))
        return (float)special((double)x);
    float f = split_float(x, &e, &rest), k = (float)e;
    return ld_fmaf(k, LD_LN2F_HI, f + ld_fmaf(k, LD_LN2F_MID, rest));
}

LD_F1(log2f)
{
    int e;
    float rest;
    x = ld_flush(x);
    if (!ordinary_float(x))
        return (float)special((double)x);
    float f = split_float(x, &e, &rest);
    return (float)ld_fma((double)f + (double)rest, LD_LOG2E_HI, (double)e);
}

LD_F1(log10f)
{
    int e;
    float rest;
    x = ld_flush(x);
    if (!ordinary_float(x))
        return (float)special((double)x);
    float f = split_float(x, &e, &rest);
    return (float)ld_fma((double)f + (double)rest, LD_LOG10E_HI, (double)e * LD_LOG10_2_HI);
}

LD_F1(log1pf)
{
    return (float)__nv_log1p((double)x);
}
