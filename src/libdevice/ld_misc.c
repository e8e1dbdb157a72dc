/* Parts of numbers, remainders, rounding to integers, comparisons: exact functions. */
#include "ld.h"

LD_D1(fabs)
{
    return ld_abs(x);
}

LD_F1(fabsf)
{
    return __builtin_fabsf(x);
}

LD_D2(copysign)
{
    return ld_copysign(x, y);
}

LD_F2(copysignf)
{
#if LD_DEVICE
    /* LLVM would make it of abs.ftz; the instruction leaves all bits but the sign as they are. */
    if (LD_FTZ) {
        float r;
        __asm__("copysign.f32 %0, %1, %2;" : "=f"(r) : "f"(y), "f"(x));
        return r;
    }
#endif
    return __builtin_copysignf(x, y);
}

#define LD_ROUNDING(name)                                                                          \
    LD_D1(name)                                                                                    \
    {                                                                                              \
        return __builtin_##name(x);                                                                \
    }                                                                                              \
    LD_F1(name##f)                                                                                 \
    {                                                                                              \
        return __builtin_##name##f(x);                                                             \
    }
LD_ROUNDING(floor)
LD_ROUNDING(ceil)
LD_ROUNDING(trunc)
LD_ROUNDING(rint)
LD_ROUNDING(nearbyint)
#undef LD_ROUNDING

/* Half away from zero: truncate and step when the rest is a half or more; the rest is exact. */
LD_D1(round)
{
    double t = __builtin_trunc(x);
    double r = ld_abs(x - t) >= 0.5 ? t + ld_copysign(1.0, x) : t;
    return ld_copysign(r, x);
}

LD_F1(roundf)
{
    float t = __builtin_truncf(x);
    float r = __builtin_fabsf(x - t) >= 0.5f ? t + __builtin_copysignf(1.0f, x) : t;
    return __builtin_copysignf(r, x);
}

/* The larger and smaller; a NaN loses against a number, and -0 is below +0. */
LD_D2(fmax)
{
    if (ld_isnan(x) || ld_isnan(y))
        return ld_isnan(x) ? y : x;
    if (x == y)
        return ld_bits(x) >> 63 ? y : x;
    return x > y ? x : y;
}

LD_D2(fmin)
{
    if (ld_isnan(x) || ld_isnan(y))
        return ld_isnan(x) ? y : x;
    if (x == y)
        return ld_bits(x) >> 63 ? x : y;
    return x < y ? x : y;
}

LD_D2(fdim)
{
    if (ld_isnan(x) || ld_isnan(y))
        return x + y;
    return x > y ? x - y : 0.0;
}

LD_F2(fdimf)
{
    if (x != x || y != y)
        return x + y;
    return x > y ? x - y : 0.0f;
}

LD_FN(double, __nv_fma, double x, double y, double z)
{
    return ld_fma(x, y, z);
}

LD_FN(float, __nv_fmaf, float x, float y, float z)
{
    return ld_fmaf(x, y, z);
}

LD_FN(double, __nv_frexp, double x, int *out_exponent)
{
    int bias = 0;
    if (x == 0.0 || !(ld_abs(x) < LD_INF)) {
        *out_exponent = 0;
        return x;
    }
    if (ld_abs(x) < 2.2250738585072014e-308) {
        x *= 18014398509481984.0;
        bias = -54;
    }
    ld_u64 u = ld_bits(x);
    *out_exponent = (int)(u >> 52 & 0x7ff) - 1022 + bias;
    return ld_from_bits((u & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}

LD_FN(float, __nv_frexpf, float x, int *out_exponent)
{
    return (float)__nv_frexp((double)ld_flush(x), out_exponent);
}

/* x 2^n, rounded once: the two outer factors are exact unless the result leaves the range. */
LD_FN(double, __nv_ldexp, double x, int n)
{
    n = n > 2200 ? 2200 : (n < -2200 ? -2200 : n);
    if (n > 1023) {
        x *= 0x1p1023;
        n -= 1023;
        if (n > 1023) {
            x *= 0x1p1023;
            n = n - 1023 > 1023 ? 1023 : n - 1023;
        }
    } else if (n < -1022) {
        /* Steps of 2^-969 keep 53 bits above the subnormal range until the last one. */
        x *= 0x1p-1022 * 0x1p53;
        n += 969;
        if (n < -1022) {
            x *= 0x1p-1022 * 0x1p53;
            n = n + 969 < -1022 ? -1022 : n + 969;
        }
    }
    return x * ld_pow2(n);
}

/* A float's whole range is far inside double's. */
LD_FN(float, __nv_ldexpf, float x, int n)
{
    n = n > 400 ? 400 : (n < -400 ? -400 : n);
    return (float)((double)x * ld_pow2(n));
}

LD_FN(double, __nv_scalbn, double x, int n)
{
    return __nv_ldexp(x, n);
}

LD_FN(float, __nv_scalbnf, float x, int n)
{
    return __nv_ldexpf(x, n);
}

LD_FN(int, __nv_ilogb, double x)
{
    int e;
    if (x == 0.0)
        return -2147483647 - 1;
    if (!(ld_abs(x) < LD_INF))
        return ld_isnan(x) ? -2147483647 - 1 : 2147483647;
    (void)__nv_frexp(x, &e);
    return e - 1;
}

LD_FN(int, __nv_ilogbf, float x)
{
    return __nv_ilogb((double)x);
}

LD_D1(logb)
{
    if (x == 0.0)
        return -LD_INF;
    if (!(ld_abs(x) < LD_INF))
        return x * x;
    return (double)__nv_ilogb(x);
}

LD_F1(logbf)
{
    return (float)__nv_logb((double)x);
}

LD_FN(double, __nv_modf, double x, double *out_whole)
{
    double t = __builtin_trunc(x);
    *out_whole = t;
    return ld_copysign(ld_isinf(x) ? 0.0 : x - t, x);
}

LD_FN(float, __nv_modff, float x, float *out_whole)
{
    float t = __builtin_truncf(x);
    *out_whole = t;
    return __builtin_copysignf(__builtin_fabsf(x) == LD_INFF ? 0.0f : x - t, x);
}

LD_D2(nextafter)
{
    if (ld_isnan(x) || ld_isnan(y))
        return x + y;
    if (x == y)
        return y;
    if (x == 0.0)
        return ld_copysign(4.9406564584124654e-324, y);
    ld_u64 u = ld_bits(x);
    return ld_from_bits((x < y) == (x > 0.0) ? u + 1 : u - 1);
}

/* Without subnormals the smallest number is a normal one. */
static float misc_next_flushed(float x, float y)
{
    const float smallest = 1.17549435e-38f;

    x = ld_flush(x);
    y = ld_flush(y);
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return y;
    if (x == 0.0f)
        return ld_from_bitsf(ld_bitsf(smallest) | (ld_bitsf(y) & 0x80000000u));
    return ld_flush(ld_from_bitsf((x < y) == (x > 0.0f) ? ld_bitsf(x) + 1 : ld_bitsf(x) - 1));
}

LD_F2(nextafterf)
{
    if (LD_FTZ)
        return misc_next_flushed(x, y);
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return y;
    if (x == 0.0f)
        return __builtin_copysignf(1.40129846e-45f, y);
    ld_u32 u = ld_bitsf(x);
    return ld_from_bitsf((x < y) == (x > 0.0f) ? u + 1 : u - 1);
}

/* Mantissa with its hidden bit and the exponent of its last bit; x finite and not 0. */
static ld_u64 misc_decompose(double x, int *out_exponent)
{
    int e;
    double m = __nv_frexp(ld_abs(x), &e);
    *out_exponent = e - 53;
    return (ld_u64)(m * 9007199254740992.0);
}

/* |x| mod |y| by shifting and subtracting mantissas, and the quotient's low bits. */
static double misc_modulo(double x, double y, ld_u64 *out_quotient)
{
    int ex, ey;
    *out_quotient = 0;
    if (ld_abs(x) < ld_abs(y))
        return ld_abs(x);
    ld_u64 a = misc_decompose(x, &ex), b = misc_decompose(y, &ey), quotient = 0;
    /* Eleven bits a step: a < b < 2^53, so a << 11 fits. */
    int left = ex - ey;
    quotient = a / b;
    a %= b;
    while (left > 0) {
        int step = left < 11 ? left : 11;
        a <<= step;
        quotient = (quotient << step) + a / b;
        a %= b;
        left -= step;
    }
    *out_quotient = quotient;
    return __nv_ldexp((double)a, ey);
}

static int misc_modulo_invalid(double x, double y)
{
    return y == 0.0 || ld_isnan(y) || !(ld_abs(x) < LD_INF);
}

LD_D2(fmod)
{
    ld_u64 q;
    if (misc_modulo_invalid(x, y))
        return LD_NAN;
    return ld_copysign(ld_isinf(y) ? ld_abs(x) : misc_modulo(x, y, &q), x);
}

LD_FN(double, __nv_remquo, double x, double y, int *out_quotient)
{
    ld_u64 q = 0;
    *out_quotient = 0;
    if (misc_modulo_invalid(x, y))
        return LD_NAN;
    double ay = ld_abs(y), r = ld_isinf(y) ? ld_abs(x) : misc_modulo(x, y, &q);
    /* Nearest: subtract once more above half of y, to even at exactly half. */
    double over = ay - r;
    if (r > over || (r == over && (q & 1))) {
        r = -over;
        q++;
    }
    int low = (int)(q & 0x7fffffff);
    *out_quotient = ((ld_bits(x) ^ ld_bits(y)) >> 63) ? -low : low;
    if (r == 0.0)
        return ld_copysign(0.0, x);
    return ld_bits(x) >> 63 ? -r : r;
}

LD_D2(remainder)
{
    int q;
    return __nv_remquo(x, y, &q);
}

LD_F2(fmodf)
{
    return (float)__nv_fmod((double)x, (double)y);
}

LD_FN(float, __nv_remquof, float x, float y, int *out_quotient)
{
    return (float)__nv_remquo((double)x, (double)y, out_quotient);
}

LD_F2(remainderf)
{
    return (float)__nv_remainder((double)x, (double)y);
}

LD_FN(double, __nv_nan, const signed char *tag)
{
    (void)tag;
    return LD_NAN;
}

LD_FN(float, __nv_nanf, const signed char *tag)
{
    (void)tag;
    return LD_NANF;
}

LD_F1(saturatef)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

/* Classification. */
LD_FN(int, __nv_isnand, double x)
{
    return ld_isnan(x);
}

LD_FN(int, __nv_isnanf, float x)
{
    return x != x;
}

LD_FN(int, __nv_isinfd, double x)
{
    return ld_isinf(x);
}

LD_FN(int, __nv_isinff, float x)
{
    return __builtin_fabsf(x) == LD_INFF;
}

LD_FN(int, __nv_isfinited, double x)
{
    return ld_abs(x) < LD_INF;
}

LD_FN(int, __nv_finitef, float x)
{
    return __builtin_fabsf(x) < LD_INFF;
}

LD_FN(int, __nv_signbitd, double x)
{
    return (int)(ld_bits(x) >> 63);
}

LD_FN(int, __nv_signbitf, float x)
{
    return (int)(ld_bitsf(x) >> 31);
}

/* Bits as numbers. */
LD_FN(ld_i64, __nv_double_as_longlong, double x)
{
    return (ld_i64)ld_bits(x);
}

LD_FN(double, __nv_longlong_as_double, ld_i64 u)
{
    return ld_from_bits((ld_u64)u);
}

LD_FN(int, __nv_float_as_int, float x)
{
    return (int)ld_bitsf(x);
}

LD_FN(ld_u32, __nv_float_as_uint, float x)
{
    return ld_bitsf(x);
}

LD_FN(float, __nv_int_as_float, int u)
{
    return ld_from_bitsf((ld_u32)u);
}

LD_FN(float, __nv_uint_as_float, ld_u32 u)
{
    return ld_from_bitsf(u);
}

LD_FN(int, __nv_double2hiint, double x)
{
    return (int)(ld_bits(x) >> 32);
}

LD_FN(int, __nv_double2loint, double x)
{
    return (int)(ld_u32)ld_bits(x);
}

LD_FN(double, __nv_hiloint2double, int hi, int lo)
{
    return ld_from_bits((ld_u64)(ld_u32)hi << 32 | (ld_u32)lo);
}
