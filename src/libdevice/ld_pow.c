/* Powers and roots. pow multiplies a double-double logarithm by y and exponentiates both parts. */
#include "ld_coeffs.h"

/* 0: y is no integer, 1: odd, 2: even. */
static int integer_kind(double y)
{
    double a = ld_abs(y);
    if (a >= 9007199254740992.0)
        return 2;
    if (a != __builtin_trunc(a))
        return 0;
    double half = 0.5 * a;
    return half == __builtin_trunc(half) ? 2 : 1;
}

/* x or y is zero, infinite or NaN, or x is negative with a y that is no integer. */
static double pow_special(double x, double y, int kind)
{
    double a = ld_abs(x), r;
    if (x == 1.0 || y == 0.0)
        return 1.0;
    if (ld_isnan(x) || ld_isnan(y))
        return x + y;
    if (ld_isinf(y)) {
        if (a == 1.0)
            return 1.0;
        return (a > 1.0) == (y > 0.0) ? LD_INF : 0.0;
    }
    if (a == 0.0 || a == LD_INF) {
        r = (a == 0.0) == (y > 0.0) ? 0.0 : LD_INF;
        return kind == 1 ? ld_copysign(r, x) : r;
    }
    return LD_NAN;
}

LD_D2(pow)
{
    double a = ld_abs(x);
    int kind = integer_kind(y);
    if (!(a > 0.0 && a < LD_INF && ld_abs(y) < LD_INF) || x == 1.0 || y == 0.0 ||
        (x < 0.0 && kind == 0))
        return pow_special(x, y, kind);
    double limited = ld_abs(y) > 1e22 ? ld_copysign(1e22, y) : y;
    struct ld_dd l = ld_log_dd(a);
    struct ld_dd e = ld_two_prod(l.hi, limited);
    e = ld_fast_sum(e.hi, ld_fma(l.lo, limited, e.lo));
    double r = ld_exp_dd(e);
    return x < 0.0 && kind == 1 ? -r : r;
}

/* In double, where the error of log and exp is far below the result's last bit. */
LD_F2(powf)
{
    double dx = (double)x, dy = (double)y, a = ld_abs(dx);
    int kind = integer_kind(dy);
    if (!(a > 0.0 && a < LD_INF && ld_abs(dy) < LD_INF) || dx == 1.0 || dy == 0.0 ||
        (dx < 0.0 && kind == 0))
        return (float)pow_special(dx, dy, kind);
    double e = dy * __nv_log(a);
    float r = (float)__nv_exp(e);
    return dx < 0.0 && kind == 1 ? -r : r;
}

LD_FN(double, __nv_powi, double x, int n)
{
    return __nv_pow(x, (double)n);
}

LD_FN(float, __nv_powif, float x, int n)
{
    return (float)__nv_pow((double)x, (double)n);
}

/*
 * Cube root of |x| = 2^(3k) m: a polynomial start and two Newton steps, the last with a full
 * residual.
 */
static struct ld_dd cbrt_positive(double a, int *out_exponent)
{
    int bias = 0;
    if (a < 2.2250738585072014e-308) {
        a *= 18014398509481984.0;
        bias = -18;
    }
    ld_u64 u = ld_bits(a);
    int e = (int)(u >> 52) - 1022, k = (e + 3000) / 3 - 1000, j = e - 3 * k;
    double m = ld_from_bits((u & 0xfffffffffffffull) | 0x3fe0000000000000ull);
    double y = ld_poly_cbrt(m);
    m *= (double)(1 << j);
    y *= j == 0 ? 1.0 : (j == 1 ? 1.2599210498948732 : 1.5874010519681994);
    y = y - (y * y * y - m) / (3.0 * y * y);
    struct ld_dd y2 = ld_two_prod(y, y);
    double rest = ld_fma(y2.hi, y, -m) + y2.lo * y;
    *out_exponent = k + bias;
    struct ld_dd r = ld_fast_sum(y, -rest / (3.0 * y2.hi));
    /* Once more: the first two steps may leave a few ulps. */
    y2 = ld_two_prod(r.hi, r.hi);
    rest = ld_fma(y2.hi, r.hi, -m) + y2.lo * r.hi;
    return ld_fast_sum(r.hi, -rest / (3.0 * y2.hi));
}

LD_D1(cbrt)
{
    int e;
    if (x == 0.0 || !(ld_abs(x) < LD_INF))
        return x;
    double r = cbrt_positive(ld_abs(x), &e).hi;
    return ld_copysign(r * ld_pow2(e), x);
}

LD_D1(rcbrt)
{
    int e;
    if (x == 0.0)
        return ld_copysign(LD_INF, x);
    if (!(ld_abs(x) < LD_INF))
        return ld_isnan(x) ? x : ld_copysign(0.0, x);
    struct ld_dd r = ld_dd_div((struct ld_dd){1.0, 0.0}, cbrt_positive(ld_abs(x), &e));
    return ld_copysign(r.hi * ld_pow2(-e), x);
}

LD_F1(cbrtf)
{
    return (float)__nv_cbrt((double)ld_flush(x));
}

LD_F1(rcbrtf)
{
    return (float)__nv_rcbrt((double)x);
}

LD_D1(sqrt)
{
    return ld_sqrt(x);
}

LD_F1(sqrtf)
{
    return __builtin_sqrtf(x);
}

LD_D1(rsqrt)
{
    double s = ld_sqrt(x), r = 1.0 / s;
    if (!(x > 0.0 && x < LD_INF))
        return r;
    /* One step on the exact residual of r*s*... keeps the error below an ulp. */
    double err = ld_fma(-s, s, x) / (2.0 * x);
    return ld_fma(r, ld_fma(-r, s, 1.0) - err, r);
}

LD_F1(rsqrtf)
{
    return (float)(1.0 / ld_sqrt((double)x));
}

LD_F1(frsqrt_rn)
{
    return (float)(1.0 / ld_sqrt((double)x));
}

/* Sum of squares scaled by a power of two, so that nothing overflows or vanishes. */
static double norm_of(const double *v, int count, int reciprocal)
{
    double big = 0.0;
    int infinite = 0, nan = 0;
    for (int i = 0; i < count; i++) {
        double a = ld_abs(v[i]);
        infinite |= a == LD_INF;
        nan |= a != a;
        big = a > big ? a : big;
    }
    if (infinite || nan)
        return infinite ? (reciprocal ? 0.0 : LD_INF) : LD_NAN;
    if (big == 0.0)
        return reciprocal ? LD_INF : 0.0;
    int e = (int)(ld_bits(big) >> 52) - 1023;
    e = e < -1000 ? -1000 : (e > 1000 ? 1000 : e);
    double scale = ld_pow2(-e);
    struct ld_dd sum = {0.0, 0.0};
    for (int i = 0; i < count; i++) {
        double a = v[i] * scale;
        sum = ld_dd_add(sum, ld_two_prod(a, a));
    }
    double s = ld_sqrt(sum.hi), err = (ld_fma(-s, s, sum.hi) + sum.lo) / (2.0 * s);
    if (!reciprocal)
        return (s + err) * ld_pow2(e);
    return ld_dd_div((struct ld_dd){1.0, 0.0}, ld_fast_sum(s, err)).hi * scale;
}

LD_D2(hypot)
{
    double v[2] = {x, y};
    return norm_of(v, 2, 0);
}

LD_D2(rhypot)
{
    double v[2] = {x, y};
    return norm_of(v, 2, 1);
}

LD_FN(double, __nv_norm3d, double x, double y, double z)
{
    double v[3] = {x, y, z};
    return norm_of(v, 3, 0);
}

LD_FN(double, __nv_rnorm3d, double x, double y, double z)
{
    double v[3] = {x, y, z};
    return norm_of(v, 3, 1);
}

LD_FN(double, __nv_norm4d, double x, double y, double z, double w)
{
    double v[4] = {x, y, z, w};
    return norm_of(v, 4, 0);
}

LD_FN(double, __nv_rnorm4d, double x, double y, double z, double w)
{
    double v[4] = {x, y, z, w};
    return norm_of(v, 4, 1);
}

LD_FN(double, __nv_norm, int count, const double *v)
{
    return norm_of(v, count, 0);
}

LD_FN(double, __nv_rnorm, int count, const double *v)
{
    return norm_of(v, count, 1);
}

/* Squares of floats neither overflow nor vanish in double. */
static double sum_squares(const float *v, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum = ld_fma((double)v[i], (double)v[i], sum);
    return sum;
}

static float root_of(const float *v, int count, int reciprocal)
{
    double sum = sum_squares(v, count);
    for (int i = 0; i < count; i++)
        sum = __builtin_fabsf(v[i]) == LD_INFF ? LD_INF : sum;
    return (float)(reciprocal ? 1.0 / ld_sqrt(sum) : ld_sqrt(sum));
}

LD_F2(hypotf)
{
    float v[2] = {x, y};
    return root_of(v, 2, 0);
}

LD_F2(rhypotf)
{
    float v[2] = {x, y};
    return root_of(v, 2, 1);
}

LD_FN(float, __nv_norm3df, float x, float y, float z)
{
    float v[3] = {x, y, z};
    return root_of(v, 3, 0);
}

LD_FN(float, __nv_rnorm3df, float x, float y, float z)
{
    float v[3] = {x, y, z};
    return root_of(v, 3, 1);
}

LD_FN(float, __nv_norm4df, float x, float y, float z, float w)
{
    float v[4] = {x, y, z, w};
    return root_of(v, 4, 0);
}

LD_FN(float, __nv_rnorm4df, float x, float y, float z, float w)
{
    float v[4] = {x, y, z, w};
    return root_of(v, 4, 1);
}

LD_FN(float, __nv_normf, int count, const float *v)
{
    return root_of(v, count, 0);
}

LD_FN(float, __nv_rnormf, int count, const float *v)
{
    return root_of(v, count, 1);
}
