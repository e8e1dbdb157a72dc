/*
 * The error function's family. erfc(x) = exp(-x^2) erfcx(x), and (1+2x) erfcx(x) is one polynomial
 * in t = (x-4)/(x+4) over the whole half axis. The square is carried with its rounding error,
 * because exp magnifies it. Inverses start from Winitzki's approximation; Newton's and Halley's
 * methods finish.
 */
#include "ld_coeffs.h"

#define TWO_OVER_SQRT_PI 1.1283791670955125739
#define SQRT_HALF_HI     0.70710678118654757
#define SQRT_HALF_LO     -4.8336466567264567e-17

/* erfcx on x >= 0. */
static double erfcx_positive(double x)
{
    if (x > 1e8)
        return 0.5641895835477562869 / x;
    return ld_poly_erfcx((x - 4.0) / (x + 4.0)) / ld_fma(2.0, x, 1.0);
}

double ld_erfc_dd(struct ld_dd x)
{
    if (x.hi > 27.5)
        return 0.0;
    struct ld_dd s = ld_two_prod(x.hi, x.hi);
    s.lo = ld_fma(2.0 * x.hi, x.lo, s.lo);
    double e = ld_exp_dd(ld_fast_sum(-s.hi, -s.lo));
    return e * erfcx_positive(x.hi);
}

LD_D1(erf)
{
    double a = ld_abs(x);
    if (a < 1.0) {
        double z = x * x;
        return ld_fma(x, ld_poly_erf(z), x * TWO_OVER_SQRT_PI);
    }
    if (ld_isnan(x))
        return x;
    return ld_copysign(a > 6.0 ? 1.0 : 1.0 - ld_erfc_dd((struct ld_dd){a, 0.0}), x);
}

LD_D1(erfc)
{
    if (ld_isnan(x))
        return x;
    if (ld_abs(x) < 0.47)
        return 1.0 - __nv_erf(x);
    double r = ld_erfc_dd((struct ld_dd){ld_abs(x), 0.0});
    return x < 0.0 ? 2.0 - r : r;
}

LD_D1(erfcx)
{
    if (ld_isnan(x) || x >= 0.47)
        return ld_isnan(x) ? x : erfcx_positive(x);
    if (x > -0.47)
        return __nv_exp(x * x) * (1.0 - __nv_erf(x));
    struct ld_dd s = ld_two_prod(x, x);
    return 2.0 * ld_exp_dd(s) - erfcx_positive(-x);
}

LD_D1(normcdf)
{
    if (ld_isnan(x))
        return x;
    if (ld_abs(x) > 40.0)
        return x > 0.0 ? 1.0 : 0.0;
    struct ld_dd t = ld_dd_mul_d((struct ld_dd){SQRT_HALF_HI, SQRT_HALF_LO}, ld_abs(x));
    if (t.hi < 0.47)
        return 0.5 + 0.5 * __nv_erf(ld_copysign(t.hi, x));
    double r = 0.5 * ld_erfc_dd(t);
    return x > 0.0 ? 1.0 - r : r;
}

/*
 * x with erfc(x) = y for 0 < y <= 1/2, given log(y) and w = -log(y (2 - y)). Newton's method on the
 * logarithm, -x^2 + log(erfcx(x)) = log(y), neither underflows nor overshoots.
 */
static double erfcinv_upper(double log_y, double w)
{
    double b = 4.3307467508 - 0.5 * w; /* 2/(pi a) - w/2 with a = 0.147 */
    double x = ld_sqrt(ld_sqrt(b * b + w * 6.8027210884) - b);
    for (int i = 0; i < 4; i++) {
        double e = erfcx_positive(x);
        double rest = ld_fma(-x, x, -log_y) + __nv_log(e);
        x = ld_fma(rest, e * 0.88622692545275801365, x);
    }
    return x;
}

/* x with erf(x) = y for |y| <= 0.5. */
static double erfinv_centre(double y)
{
    double x = y * 0.88622692545275801365;
    x = ld_fma(x * x * x, 0.2617993877991494 * 1.2732395447351628, x);
    for (int i = 0; i < 3; i++) {
        double d = (__nv_erf(x) - y) / (TWO_OVER_SQRT_PI * __nv_exp(-x * x));
        x -= d / ld_fma(x, d, 1.0);
    }
    return y == 0.0 ? y : x;
}

LD_D1(erfinv)
{
    double a = ld_abs(x);
    if (!(a < 1.0))
        return a == 1.0 ? ld_copysign(LD_INF, x) : LD_NAN;
    if (a <= 0.5)
        return erfinv_centre(x);
    double y = 1.0 - a; /* exact */
    return ld_copysign(erfcinv_upper(__nv_log(y), -__nv_log(y * (2.0 - y))), x);
}

LD_D1(erfcinv)
{
    if (!(x >= 0.0 && x <= 2.0))
        return LD_NAN;
    if (x == 0.0 || x == 2.0)
        return x == 0.0 ? LD_INF : -LD_INF;
    if (x > 0.5 && x < 1.5)
        return erfinv_centre(1.0 - x);
    double y = x < 1.0 ? x : 2.0 - x;
    double log_y = __nv_log(y), r = erfcinv_upper(log_y, -(log_y + __nv_log(2.0 - y)));
    return x < 1.0 ? r : -r;
}

LD_D1(normcdfinv)
{
    if (!(x >= 0.0 && x <= 1.0))
        return LD_NAN;
    return -1.4142135623730951455 * __nv_erfcinv(2.0 * x);
}

#define LD_NARROW(name)                                                                            \
    LD_F1(name##f)                                                                                 \
    {                                                                                              \
        return (float)__nv_##name((double)x);                                                      \
    }
LD_NARROW(erf)
LD_NARROW(erfc)
LD_NARROW(erfcx)
LD_NARROW(normcdf)
LD_NARROW(erfinv)
LD_NARROW(erfcinv)
LD_NARROW(normcdfinv)
