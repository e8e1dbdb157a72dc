/*
 * Exponentials. x = n ln2 + r with |r| <= ln2/2, exp(r) from a polynomial whose leading terms 1 + r
 * are added last, scaled by 2^n in two steps so that subnormal results round once.
 */
#include "ld_coeffs.h"

static double clamp(double x, double lo, double hi)
{
    /* Comparisons keep a NaN. */
    x = x > hi ? hi : x;
    return x < lo ? lo : x;
}

/* exp(r.hi + r.lo) * 2^n for |r| <= 0.36. */
static double exp_reduced(struct ld_dd r, int n)
{
    double z = r.hi * r.hi;
    double tail = ld_fma(z * r.hi, ld_poly_exp(r.hi), 0.5 * z);
    double p = 1.0 + (r.hi + (tail + r.lo * (1.0 + r.hi)));
    return ld_scale(p, n);
}

double ld_exp_dd(struct ld_dd x)
{
    int n;
    double hi = clamp(x.hi, -1100.0, 1100.0);
    double q = ld_round_int(hi * LD_LOG2E_HI, &n);
    /* q * LD_LN2_SHORT is exact, and so is the difference. */
    double r = ld_fma(-q, LD_LN2_SHORT, hi);
    struct ld_dd rest = ld_two_prod(-q, LD_LN2_REST);
    struct ld_dd sum = ld_two_sum(r, rest.hi);
    double lo = hi == x.hi ? x.lo : 0.0;
    return exp_reduced(ld_fast_sum(sum.hi, sum.lo + (rest.lo + lo)), n);
}

LD_D1(exp)
{
    return ld_exp_dd((struct ld_dd){x, 0.0});
}

LD_D1(exp2)
{
    int n;
    double c = clamp(x, -1100.0, 1100.0);
    double q = ld_round_int(c, &n);
    double f = ld_add(c, -q);
    struct ld_dd r = ld_two_prod(f, LD_LN2_HI);
    r.lo = ld_fma(f, LD_LN2_MID, r.lo);
    return exp_reduced(r, n);
}

LD_D1(exp10)
{
    int n;
    double c = clamp(x, -400.0, 400.0);
    double q = ld_round_int(c * LD_LOG2_10_HI, &n);
    /* c - q log10(2), then times ln 10; both in double-double. */
    struct ld_dd p = ld_two_prod(-q, LD_LOG10_2_HI);
    struct ld_dd f = ld_two_sum(c, p.hi);
    f = ld_fast_sum(f.hi, f.lo + ld_fma(-q, LD_LOG10_2_MID, p.lo));
    struct ld_dd r = ld_dd_mul(f, (struct ld_dd){LD_LN10_HI, LD_LN10_MID});
    return exp_reduced(r, n);
}

LD_D1(expm1)
{
    int n;
    double c = clamp(x, -60.0, 1100.0);
    double q = ld_round_int(c * LD_LOG2E_HI, &n);
    double r0 = ld_fma(-q, LD_LN2_SHORT, c);
    struct ld_dd r = ld_two_sum(r0, -q * LD_LN2_REST);
    double z = r.hi * r.hi;
    double tail = ld_fma(z * r.hi, ld_poly_expm1(r.hi), 0.5 * z) + r.lo * (1.0 + r.hi);
    struct ld_dd m = ld_fast_sum(r.hi, tail); /* exp(r) - 1 */
    if (n == 0)
        return x == 0.0 ? x : m.hi + m.lo;
    if (n > 60)
        return ld_scale(1.0 + (m.hi + m.lo), n);
    /* 2^n (1 + m) - 1 */
    double s = ld_pow2(n);
    struct ld_dd t = ld_two_sum(s, -1.0);
    struct ld_dd u = ld_two_sum(t.hi, s * m.hi);
    return u.hi + (u.lo + (t.lo + s * m.lo));
}

LD_F1(expf)
{
    float c = x > 100.0f ? 100.0f : x;
    c = c < -110.0f ? -110.0f : c;
    /* The low bits of c log2(e) + 1.5 2^23 are the rounded integer. */
    float shifted = ld_fmaf(c, LD_LOG2EF_HI, 12582912.0f);
    int n = (int)(ld_bitsf(shifted) - 0x4b400000u);
    float q = shifted - 12582912.0f;
    float r = ld_fmaf(-q, LD_LN2F_HI, c);
    r = ld_fmaf(-q, LD_LN2F_MID, r);
    float p = 1.0f + ld_fmaf(r * r, ld_poly_expf(r), r);
    return ld_scalef(p, n);
}

LD_F1(exp2f)
{
    float c = x > 200.0f ? 200.0f : x;
    c = c < -200.0f ? -200.0f : c;
    float shifted = c + 12582912.0f;
    int n = (int)(ld_bitsf(shifted) - 0x4b400000u);
    float r = c - (shifted - 12582912.0f);
    return ld_scalef(ld_fmaf(r, ld_poly_exp2f(r), 1.0f), n);
}

LD_F1(exp10f)
{
    int n;
    float c = x > 60.0f ? 60.0f : x;
    c = c < -60.0f ? -60.0f : c;
    double t = (double)c * LD_LOG2_10_HI;
    float r = (float)(t - ld_round_int(t, &n));
    return ld_scalef(ld_fmaf(r, ld_poly_exp2f(r), 1.0f), n);
}

LD_F1(expm1f)
{
    return (float)__nv_expm1((double)x);
}
