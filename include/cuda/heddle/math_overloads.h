/*
 * Overloads of maths functions that C++ lacks or that CUDA adds to it: min and max for all pairs of
 * arithmetic types (host and device), float forms of rsqrt, sinpi, normcdf ..., and host versions
 * of the functions that the C library does not have, so that code shared by host and device
 * compiles.
 */
#ifndef HEDDLE_CUDA_MATH_OVERLOADS_H
#define HEDDLE_CUDA_MATH_OVERLOADS_H

#include <math.h>

#define HEDDLE_HD   static __inline__ __host__ __device__ __attribute__((unused, always_inline))
#define HEDDLE_DEV  static __device__ __forceinline__
#define HEDDLE_HOST static __inline__ __host__ __attribute__((unused))

/* clang's headers have the device forms of the int versions. */
#define HEDDLE_MINMAX(attr, T)                                                                     \
    attr T min(T a, T b)                                                                           \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    attr T max(T a, T b)                                                                           \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }
HEDDLE_MINMAX(HEDDLE_HOST, int)
HEDDLE_MINMAX(HEDDLE_HD, unsigned int)
HEDDLE_MINMAX(HEDDLE_HD, long)
HEDDLE_MINMAX(HEDDLE_HD, unsigned long)
HEDDLE_MINMAX(HEDDLE_HD, long long)
HEDDLE_MINMAX(HEDDLE_HD, unsigned long long)
#undef HEDDLE_MINMAX

/* The same by name; clang's headers have the device forms. */
#define HEDDLE_MINMAX_NAMED(name, T)                                                               \
    HEDDLE_HOST T name##min(T a, T b)                                                              \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    HEDDLE_HOST T name##max(T a, T b)                                                              \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }
#if !defined(__CUDACC_RTC__)
HEDDLE_MINMAX_NAMED(u, unsigned int)
HEDDLE_MINMAX_NAMED(ll, long long)
HEDDLE_MINMAX_NAMED(ull, unsigned long long)
#endif
#undef HEDDLE_MINMAX_NAMED

/* Pairs of different types: as in arithmetic, signed with unsigned gives unsigned. */
#define HEDDLE_MINMAX_MIXED(A, B, R)                                                               \
    HEDDLE_HD R min(A a, B b)                                                                      \
    {                                                                                              \
        return min((R)a, (R)b);                                                                    \
    }                                                                                              \
    HEDDLE_HD R max(A a, B b)                                                                      \
    {                                                                                              \
        return max((R)a, (R)b);                                                                    \
    }
HEDDLE_MINMAX_MIXED(int, unsigned int, unsigned int)
HEDDLE_MINMAX_MIXED(unsigned int, int, unsigned int)
HEDDLE_MINMAX_MIXED(long, unsigned long, unsigned long)
HEDDLE_MINMAX_MIXED(unsigned long, long, unsigned long)
HEDDLE_MINMAX_MIXED(long long, unsigned long long, unsigned long long)
HEDDLE_MINMAX_MIXED(unsigned long long, long long, unsigned long long)
#undef HEDDLE_MINMAX_MIXED

/* Floating point: IEEE minimum and maximum, which drop a NaN. */
HEDDLE_HD float min(float a, float b)
{
    return fminf(a, b);
}
HEDDLE_HD float max(float a, float b)
{
    return fmaxf(a, b);
}
HEDDLE_HD double min(double a, double b)
{
    return fmin(a, b);
}
HEDDLE_HD double max(double a, double b)
{
    return fmax(a, b);
}
#define HEDDLE_MINMAX_DOUBLE(A, B)                                                                 \
    HEDDLE_HD double min(A a, B b)                                                                 \
    {                                                                                              \
        return fmin((double)a, (double)b);                                                         \
    }                                                                                              \
    HEDDLE_HD double max(A a, B b)                                                                 \
    {                                                                                              \
        return fmax((double)a, (double)b);                                                         \
    }
HEDDLE_MINMAX_DOUBLE(float, double)
HEDDLE_MINMAX_DOUBLE(double, float)
#undef HEDDLE_MINMAX_DOUBLE

#if !defined(__CUDACC_RTC__)
/* Host versions of CUDA's own functions, on top of the C library. */
#define HEDDLE_HOST1(name, T, expr)                                                                \
    HEDDLE_HOST T name(T x)                                                                        \
    {                                                                                              \
        return expr;                                                                               \
    }
HEDDLE_HOST1(rsqrt, double, 1.0 / sqrt(x))
HEDDLE_HOST1(rsqrtf, float, (float)(1.0 / sqrt((double)x)))
HEDDLE_HOST1(rcbrt, double, 1.0 / cbrt(x))
HEDDLE_HOST1(rcbrtf, float, (float)(1.0 / cbrt((double)x)))
HEDDLE_HOST1(normcdf, double, 0.5 * erfc(x * -0.70710678118654752440))
HEDDLE_HOST1(normcdff, float, (float)(0.5 * erfc((double)x * -0.70710678118654752440)))

/* sin(pi x): the argument is reduced exactly before pi comes in. */
HEDDLE_HOST double heddle_host_sinpi(double x, int quarter)
{
    double r = x - 2.0 * floor(0.5 * x), q = floor(2.0 * r + 0.5), t = (r - 0.5 * q) * M_PI;
    int n = (int)q + quarter;
    double s = (n & 1) ? cos(t) : sin(t);
    return (n & 2) ? -s : s;
}
HEDDLE_HOST1(sinpi, double, x == floor(x) ? copysign(0.0, x) : heddle_host_sinpi(x, 0))
HEDDLE_HOST1(cospi, double, heddle_host_sinpi(x, 1))
HEDDLE_HOST1(sinpif, float, (float)(x == floorf(x) ? copysign(0.0, x) : heddle_host_sinpi(x, 0)))
HEDDLE_HOST1(cospif, float, (float)heddle_host_sinpi(x, 1))
#undef HEDDLE_HOST1

HEDDLE_HOST void sincospi(double x, double *sp, double *cp)
{
    *sp = sinpi(x);
    *cp = cospi(x);
}
HEDDLE_HOST void sincospif(float x, float *sp, float *cp)
{
    *sp = sinpif(x);
    *cp = cospif(x);
}
/* exp(x^2) erfc(x), from x = 10 on by the asymptotic series, whose terms shrink until the 100th. */
HEDDLE_HOST double erfcx(double x)
{
    if (x < 10) {
        double square = x * x;
        return exp(square) * (1 + fma(x, x, -square)) * erfc(x);
    }
    double r = 0.5 / x / x, sum = 1, term = 1;
    for (int i = 1; i < 20; i += 2)
        sum += term *= -i * r;
    return sum / x * 0.56418958354775628695;
}
/* The inverse of erfc() by Newton's method on its logarithm, which is nearly a parabola. */
HEDDLE_HOST double erfcinv(double z)
{
    if (!(z > 0 && z < 2))
        return z == 0 ? HUGE_VAL : z == 2 ? -HUGE_VAL : NAN;
    if (z > 1)
        return -erfcinv(2 - z);
    if (z == 1)
        return 0;
    double y = z > 0.1 ? (1 - z) * 0.886 : sqrt(-log(z)) * 0.9;
    for (int i = 0; i < 40; i++) {
        double scaled = erfcx(y); /* erfc(y) = scaled exp(-y^2) */
        double step = (log(scaled) - log(z) - y * y) * scaled * 0.88622692545275801365;
        if (y < 1)
            step = (erfc(y) - z) * exp(y * y) * 0.88622692545275801365;
        y += step;
        if (fabs(step) <= 1e-16 * fabs(y))
            break;
    }
    return y;
}
HEDDLE_HOST double erfinv(double x)
{
    if (fabs(x) > 0.5)
        return x > 0 ? erfcinv(1 - x) : -erfcinv(1 + x);
    double y = x * 0.88622692545275801365;
    for (int i = 0; i < 40 && x != 0; i++) {
        double step = (x - erf(y)) * exp(y * y) * 0.88622692545275801365;
        y += step;
        if (fabs(step) <= 1e-16 * fabs(y))
            break;
    }
    return y;
}
HEDDLE_HOST double normcdfinv(double x)
{
    return -1.41421356237309504880 * erfcinv(2 * x);
}
HEDDLE_HOST float erfcxf(float x)
{
    return (float)erfcx((double)x);
}
HEDDLE_HOST float erfcinvf(float x)
{
    return (float)erfcinv((double)x);
}
HEDDLE_HOST float erfinvf(float x)
{
    return (float)erfinv((double)x);
}
HEDDLE_HOST float normcdfinvf(float x)
{
    return (float)normcdfinv((double)x);
}
HEDDLE_HOST double rhypot(double x, double y)
{
    return 1.0 / hypot(x, y);
}
HEDDLE_HOST float rhypotf(float x, float y)
{
    return 1.0f / hypotf(x, y);
}
HEDDLE_HOST double norm3d(double x, double y, double z)
{
    return hypot(hypot(x, y), z);
}
HEDDLE_HOST float norm3df(float x, float y, float z)
{
    return (float)hypot(hypot((double)x, y), z);
}
HEDDLE_HOST double norm4d(double x, double y, double z, double w)
{
    return hypot(hypot(x, y), hypot(z, w));
}
HEDDLE_HOST float norm4df(float x, float y, float z, float w)
{
    return (float)hypot(hypot((double)x, y), hypot((double)z, w));
}
HEDDLE_HOST double fdivide(double x, double y)
{
    return x / y;
}
HEDDLE_HOST float fdividef(float x, float y)
{
    return x / y;
}
#endif

/*
 * float overloads that clang's headers declare (so that <cmath> sees device functions) but leave to
 * an SDK to define. Each takes (parameters) and passes on (arguments).
 */
#define HEDDLE_FLOAT(type, name, params, args)                                                     \
    HEDDLE_DEV type name params                                                                    \
    {                                                                                              \
        return name##f args;                                                                       \
    }
#define HEDDLE_FLOAT_X(name)  HEDDLE_FLOAT(float, name, (float x), (x))
#define HEDDLE_FLOAT_XY(name) HEDDLE_FLOAT(float, name, (float x, float y), (x, y))
HEDDLE_FLOAT_X(acosh)
HEDDLE_FLOAT_X(asinh)
HEDDLE_FLOAT_X(atanh)
HEDDLE_FLOAT_X(cbrt)
HEDDLE_FLOAT_X(erf)
HEDDLE_FLOAT_X(erfc)
HEDDLE_FLOAT_X(exp2)
HEDDLE_FLOAT_X(expm1)
HEDDLE_FLOAT_X(lgamma)
HEDDLE_FLOAT_X(log1p)
HEDDLE_FLOAT_X(log2)
HEDDLE_FLOAT_X(logb)
HEDDLE_FLOAT_X(nearbyint)
HEDDLE_FLOAT_X(rint)
HEDDLE_FLOAT_X(round)
HEDDLE_FLOAT_X(tgamma)
HEDDLE_FLOAT_X(trunc)
HEDDLE_FLOAT_XY(copysign)
HEDDLE_FLOAT_XY(fdim)
HEDDLE_FLOAT_XY(fmax)
HEDDLE_FLOAT_XY(fmin)
HEDDLE_FLOAT_XY(hypot)
HEDDLE_FLOAT_XY(nextafter)
HEDDLE_FLOAT_XY(remainder)
HEDDLE_FLOAT(float, fma, (float x, float y, float z), (x, y, z))
HEDDLE_FLOAT(float, remquo, (float x, float y, int *quotient), (x, y, quotient))
HEDDLE_FLOAT(float, scalbn, (float x, int n), (x, n))
HEDDLE_FLOAT(float, scalbln, (float x, long n), (x, n))
HEDDLE_FLOAT(int, ilogb, (float x), (x))
HEDDLE_FLOAT(long, lrint, (float x), (x))
HEDDLE_FLOAT(long, lround, (float x), (x))
HEDDLE_FLOAT(long long, llrint, (float x), (x))
HEDDLE_FLOAT(long long, llround, (float x), (x))
#undef HEDDLE_FLOAT_XY
#undef HEDDLE_FLOAT_X
#undef HEDDLE_FLOAT
HEDDLE_DEV double nan(const char *tag)
{
    return __nv_nan((const signed char *)tag);
}
HEDDLE_DEV float nanf(const char *tag)
{
    return __nv_nanf((const signed char *)tag);
}

/* float overloads of CUDA's own functions. */
#define HEDDLE_FLOAT1(name)                                                                        \
    HEDDLE_DEV float name(float x)                                                                 \
    {                                                                                              \
        return name##f(x);                                                                         \
    }
#if defined(__CUDACC_RTC__)
#define HEDDLE_FLOAT1_HD(name) HEDDLE_FLOAT1(name)
#else
#define HEDDLE_FLOAT1_HD(name)                                                                     \
    HEDDLE_HOST float name(float x)                                                                \
    {                                                                                              \
        return name##f(x);                                                                         \
    }                                                                                              \
    HEDDLE_FLOAT1(name)
#endif
HEDDLE_FLOAT1_HD(rsqrt)
HEDDLE_FLOAT1_HD(rcbrt)
HEDDLE_FLOAT1_HD(sinpi)
HEDDLE_FLOAT1_HD(cospi)
HEDDLE_FLOAT1_HD(normcdf)
HEDDLE_FLOAT1_HD(normcdfinv)
HEDDLE_FLOAT1_HD(erfinv)
HEDDLE_FLOAT1_HD(erfcinv)
HEDDLE_FLOAT1_HD(erfcx)
HEDDLE_FLOAT1_HD(exp10)
HEDDLE_FLOAT1(j0)
HEDDLE_FLOAT1(j1)
HEDDLE_FLOAT1(y0)
HEDDLE_FLOAT1(y1)
HEDDLE_FLOAT1(cyl_bessel_i0)
HEDDLE_FLOAT1(cyl_bessel_i1)
#undef HEDDLE_FLOAT1_HD
#undef HEDDLE_FLOAT1
HEDDLE_DEV void sincospi(float x, float *sp, float *cp)
{
    sincospif(x, sp, cp);
}
HEDDLE_DEV void sincos(float x, float *sp, float *cp)
{
    sincosf(x, sp, cp);
}
HEDDLE_DEV float rhypot(float x, float y)
{
    return rhypotf(x, y);
}
HEDDLE_DEV float fdivide(float x, float y)
{
    return fdividef(x, y);
}

#undef HEDDLE_HOST
#undef HEDDLE_DEV
#undef HEDDLE_HD

#endif
