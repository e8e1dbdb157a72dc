/*
 * Inverse trigonometric functions. atan folds its argument to |t| <= tan(pi/8) through atan(x) =
 * pi/2 - atan(1/x) and atan(x) = pi/4 + atan((x-1)/(x+1)); asin and acos fold at 1/2 through
 * asin(x) = pi/2 - 2 asin(sqrt((1-x)/2)), with the root's rounding error carried along.
 */
#include "ld_coeffs.h"

/* atan(num/den) for num, den >= 0, not both 0 or infinite. */
static double atan_ratio(double num, double den)
{
    struct ld_dd base = {0.0, 0.0};
    double sign = 1.0, n = num, d = den, t, err;
    if (n > d) { /* pi/2 - atan(d/n) */
        base = (struct ld_dd){LD_PIO2_HI, LD_PIO2_MID};
        sign = -1.0;
        n = den;
        d = num;
    }
    if (n > 0.41421356237309503 * d) { /* pi/4 + atan((n-d)/(n+d)), the outer sign applied */
        struct ld_dd a = ld_two_sum(n, -d), b = ld_two_sum(n, d);
        base.hi += sign * (0.5 * LD_PIO2_HI);
        base.lo += sign * (0.5 * LD_PIO2_MID);
        t = a.hi / b.hi;
        err = (ld_fma(-t, b.hi, a.hi) + (a.lo - t * b.lo)) / b.hi;
    } else {
        t = n / d;
        err = d < LD_INF ? ld_fma(-t, d, n) / d : 0.0;
    }
    double z = t * t;
    double rest = ld_fma(t * z, ld_poly_atan(z), err);
    struct ld_dd s = ld_two_sum(base.hi, sign * t);
    return s.hi + (s.lo + (base.lo + sign * rest));
}

LD_D1(atan)
{
    double a = ld_abs(x);
    if (ld_isnan(x) || a < 1e-9)
        return x;
    if (a > 1e18)
        return ld_copysign(LD_PIO2_HI, x);
    return ld_copysign(atan_ratio(a, 1.0), x);
}

/*
 * The angle of the point (y, x); the parameters are named as the macro names them: x is the
 * ordinate.
 */
LD_D2(atan2)
{
    double a = ld_abs(x), b = ld_abs(y), r;
    if (ld_isnan(x) || ld_isnan(y))
        return x + y;
    if (a == 0.0 || (b == LD_INF && a != LD_INF))
        r = 0.0;
    else if (b == 0.0 || (a == LD_INF && b != LD_INF))
        r = LD_PIO2_HI;
    else if (a == LD_INF)
        r = 0.5 * LD_PIO2_HI;
    else {
        /* Keep the quotient's operands in the middle of the range. */
        double big = a > b ? a : b, scale = big > 1e290 ? 1e-20 : (big < 1e-280 ? 1e30 : 1.0);
        r = atan_ratio(a * scale, b * scale);
    }
    if (ld_bits(y) >> 63)
        r = LD_PI_HI - (r - LD_PI_MID);
    return ld_copysign(r, x);
}

/* sqrt((1-a)/2) and its error, for 1/2 <= a <= 1. */
static struct ld_dd half_root(double a)
{
    double w = 0.5 * (1.0 - a), s = ld_sqrt(w);
    double err = s > 0.0 ? ld_fma(-s, s, w) / (2.0 * s) : 0.0;
    return (struct ld_dd){s, err};
}

LD_D1(asin)
{
    double a = ld_abs(x);
    if (!(a <= 1.0))
        return LD_NAN;
    if (a < 0.5) {
        double z = x * x;
        return a < 1e-9 ? x : ld_fma(x * z, ld_poly_asin(z), x);
    }
    struct ld_dd s = half_root(a);
    double z = s.hi * s.hi;
    double rest = ld_fma(s.hi * z, ld_poly_asin(z), s.lo);
    double r = LD_PIO2_HI - (2.0 * s.hi + (2.0 * rest - LD_PIO2_MID));
    return ld_copysign(r, x);
}

LD_D1(acos)
{
    double a = ld_abs(x);
    if (!(a <= 1.0))
        return LD_NAN;
    if (a < 0.5) {
        double z = x * x;
        struct ld_dd d = ld_two_sum(LD_PIO2_HI, -x);
        return d.hi + (d.lo + (LD_PIO2_MID - x * z * ld_poly_asin(z)));
    }
    struct ld_dd s = half_root(a);
    double z = s.hi * s.hi;
    double rest = ld_fma(s.hi * z, ld_poly_asin(z), s.lo);
    if (x > 0.0)
        return 2.0 * (s.hi + rest);
    return LD_PI_HI - (2.0 * s.hi + (2.0 * rest - LD_PI_MID));
}

LD_F1(atanf)
{
    float a = __builtin_fabsf(x);
    int inverse = a > 1.0f;
    float t = inverse ? 1.0f / a : a, z = t * t;
    float r = ld_fmaf(t * z, ld_poly_atanf(z), t);
    r = inverse ? (LD_PIO2F_HI - r) + LD_PIO2F_MID : r;
    return __builtin_copysignf(r, x);
}

LD_F2(atan2f)
{
    return (float)__nv_atan2((double)x, (double)y);
}

LD_F1(asinf)
{
    return (float)__nv_asin((double)x);
}

LD_F1(acosf)
{
    return (float)__nv_acos((double)x);
}
