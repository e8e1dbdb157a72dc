/*
 * Gamma and its logarithm: Stirling's series from 10 up (9 for lgamma), the recurrence below,
 * reflection for negative arguments.
 */
#include "ld_coeffs.h"

/* log(gamma(x)) for x >= 9, in double-double up to the series' tail. */
static struct ld_dd stirling(double x)
{
    struct ld_dd l = ld_log_dd(x);
    struct ld_dd main = ld_dd_mul_d(l, x - 0.5);
    double w = 1.0 / (x * x), tail = ld_poly_stirling(w) / x;
    main = ld_dd_add(main, (struct ld_dd){-x, 0.0});
    main = ld_dd_add(main, (struct ld_dd){LD_HALF_LOG_2PI_HI, LD_HALF_LOG_2PI_MID});
    return ld_dd_add(main, (struct ld_dd){tail, 0.0});
}

/* gamma(x) for x > 0. */
static double gamma_positive(double x)
{
    struct ld_dd product = {1.0, 0.0}, at = {x, 0.0};
    if (x > 172.0)
        return LD_INF;
    if (x >= 10.0)
        return ld_exp_dd(stirling(x));
    /*
     * gamma(x) = gamma(x + n) / (x (x+1) ... (x+n-1)); x + n is rounded, so correct by the slope.
     */
    while (at.hi < 10.0) {
        product = ld_dd_mul(product, at);
        at = ld_dd_add(at, (struct ld_dd){1.0, 0.0});
    }
    struct ld_dd s = stirling(at.hi);
    double digamma = __nv_log(at.hi) - 0.5 / at.hi;
    s = ld_dd_add(s, (struct ld_dd){at.lo * digamma, 0.0});
    return ld_dd_div((struct ld_dd){ld_exp_dd(s), 0.0}, product).hi;
}

LD_D1(tgamma)
{
    if (ld_isnan(x) || x == LD_INF)
        return x;
    if (x == 0.0)
        return ld_copysign(LD_INF, x);
    if (ld_abs(x) < 1e-300)
        return 1.0 / x;
    if (x > 0.0)
        return gamma_positive(x);
    if (x == __builtin_floor(x))
        return LD_NAN;
    if (x < -184.0)
        return 0.0;
    /* gamma(x) = pi / (sin(pi x) gamma(1 - x)) = -pi / (x sin(pi x) gamma(-x)) */
    double g = gamma_positive(-x), s = __nv_sinpi(x);
    if (g < LD_INF)
        return -LD_PI_HI / (x * s) / g;
    /* |x| > 171: the result is tiny; take two factors off first. */
    double h = gamma_positive(-x - 20.0), p = 1.0;
    for (int i = 1; i <= 20; i++)
        p *= (-x - (double)i) * 0.0078125;
    return -LD_PI_HI / (x * s) / h / p * 0x1p-140;
}

/* log(gamma(x)) for x > 0. */
static double lgamma_positive(double x)
{
    if (x >= 9.0) {
        if (x > 1e17)
            return x * (__nv_log(x) - 1.0);
        struct ld_dd s = stirling(x);
        return s.hi + s.lo;
    }
    if (x < 0.3) /* gamma(x) = gamma(1 + x) / x */
        return x * ld_poly_lgamma1(x) - __nv_log(x);
    if (x < 0.5) /* gamma(x) = gamma(2 + x) / (x (1 + x)) */
        return x * ld_poly_lgamma2(x) - __nv_log(x * (1.0 + x));
    if (x <= 1.3)
        return (x - 1.0) * ld_poly_lgamma1(x - 1.0);
    /* gamma(x) = (x-1) ... (2+u) gamma(2 + u), u in [-0.7, 0.5] */
    double u = x - 2.0, product = 1.0;
    while (u > 0.5) {
        product *= u + 1.0;
        u -= 1.0;
    }
    double base = u * ld_poly_lgamma2(u);
    return product == 1.0 ? base : base + __nv_log(product);
}

LD_D1(lgamma)
{
    if (ld_isnan(x) || ld_isinf(x))
        return x * x;
    if (x > 0.0)
        return lgamma_positive(x);
    if (x == __builtin_floor(x))
        return LD_INF;
    double a = -x, s = ld_abs(__nv_sinpi(x));
    if (a < 1e-17)
        return -__nv_log(a);
    return __nv_log(LD_PI_HI / (a * s)) - lgamma_positive(a);
}

LD_F1(tgammaf)
{
    return (float)__nv_tgamma((double)x);
}

LD_F1(lgammaf)
{
    return (float)__nv_lgamma((double)x);
}
