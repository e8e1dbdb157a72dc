/* Hyperbolic functions and their inverses, from expm1 and log1p. */
#include "ld_coeffs.h"

/* exp(a)/2 without overflowing before its time. */
static double half_exp(double a)
{
    return ld_exp_dd(ld_dd_add((struct ld_dd){a, 0.0}, (struct ld_dd){-LD_LN2_HI, -LD_LN2_MID}));
}

/* sinh(x) by its series, |x| <= 1/2. */
static double sinh_series(double x)
{
    double z = x * x, p = 1.0 / 1307674368000.0;
    p = ld_fma(p, z, 1.0 / 6227020800.0);
    p = ld_fma(p, z, 1.0 / 39916800.0);
    p = ld_fma(p, z, 1.0 / 362880.0);
    p = ld_fma(p, z, 1.0 / 5040.0);
    p = ld_fma(p, z, 1.0 / 120.0);
    p = ld_fma(p, z, 1.0 / 6.0);
    return ld_fma(x * z, p, x);
}

LD_D1(sinh)
{
    double a = ld_abs(x);
    if (a < 1e-9 || !(a < LD_INF))
        return x;
    if (a < 0.5)
        return sinh_series(x);
    if (a > 40.0)
        return ld_copysign(half_exp(a), x);
    double t = __nv_expm1(a);
    return ld_copysign(0.5 * (t + t / (t + 1.0)), x);
}

LD_D1(cosh)
{
    double a = ld_abs(x);
    if (a > 40.0)
        return a < LD_INF ? half_exp(a) : a;
    double t = __nv_exp(a);
    return ld_fma(0.5, t, 0.5 / t);
}

LD_D1(tanh)
{
    double a = ld_abs(x);
    if (a < 1e-9 || ld_isnan(x))
        return x;
    if (a > 22.0)
        return ld_copysign(1.0, x);
    double t = __nv_expm1(2.0 * a);
    struct ld_dd s = ld_two_sum(t, 2.0);
    double q = t / s.hi, r = a < 0.6 ? ld_fma(-q, s.lo / s.hi, q) : 1.0 - 2.0 / s.hi;
    return ld_copysign(r, x);
}

LD_D1(asinh)
{
    double a = ld_abs(x), r;
    if (a < 1e-9 || !(a < LD_INF))
        return x;
    if (a > 1e9)
        r = __nv_log(a) + LD_LN2_HI;
    else {
        double z = a * a;
        r = __nv_log1p(a + z / (1.0 + ld_sqrt(1.0 + z)));
    }
    return ld_copysign(r, x);
}

LD_D1(acosh)
{
    if (!(x >= 1.0))
        return LD_NAN;
    if (x > 1e9)
        return __nv_log(x) + (x < LD_INF ? LD_LN2_HI : 0.0);
    double t = x - 1.0;
    return __nv_log1p(t + ld_sqrt(ld_fma(t, t, 2.0 * t)));
}

LD_D1(atanh)
{
    double a = ld_abs(x);
    if (a < 1e-9)
        return x;
    if (!(a < 1.0))
        return a == 1.0 ? ld_copysign(LD_INF, x) : LD_NAN;
    struct ld_dd q = ld_dd_div((struct ld_dd){2.0 * a, 0.0}, ld_two_sum(1.0, -a));
    return ld_copysign(0.5 * (__nv_log1p(q.hi) + q.lo / (1.0 + q.hi)), x);
}

LD_F1(sinhf)
{
    return (float)__nv_sinh((double)x);
}

LD_F1(coshf)
{
    return (float)__nv_cosh((double)x);
}

LD_F1(tanhf)
{
    return (float)__nv_tanh((double)x);
}

LD_F1(asinhf)
{
    return (float)__nv_asinh((double)ld_flush(x));
}

LD_F1(acoshf)
{
    return (float)__nv_acosh((double)x);
}

LD_F1(atanhf)
{
    return (float)__nv_atanh((double)x);
}
