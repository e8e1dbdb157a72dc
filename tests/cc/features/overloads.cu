/* Every overload of the C++ maths functions for float, and some for double and integers, is defined.
 * expect: \.entry
 */
#include <cmath>

__global__ void floats(float *p, float a, float b, float c)
{
    int e;
    p[0] = acos(a) + acosh(a) + asin(a) + asinh(a) + atan2(a, b) + atan(a) + atanh(a) + cbrt(a) + ceil(a);
    p[1] = copysign(a, b) + cos(a) + cosh(a) + erfc(a) + erf(a) + exp2(a) + exp(a) + expm1(a) + fabs(a);
    p[2] = fdim(a, b) + floor(a) + fma(a, b, c) + fmax(a, b) + fmin(a, b) + fmod(a, b) + frexp(a, &e);
    p[3] = hypot(a, b) + ldexp(a, 3) + lgamma(a) + log10(a) + log1p(a) + log2(a) + logb(a) + log(a);
    p[4] = modf(a, &b) + nearbyint(a) + nextafter(a, b) + pow(a, b) + pow(a, 3) + remainder(a, b);
    p[5] = remquo(a, b, &e) + rint(a) + round(a) + scalbln(a, 3l) + scalbn(a, 3) + sin(a) + sinh(a);
    p[6] = sqrt(a) + tan(a) + tanh(a) + tgamma(a) + trunc(a) + abs(a) + nanf("") + (float)e;
    p[7] = rsqrt(a) + rcbrt(a) + sinpi(a) + cospi(a) + normcdf(a) + erfinv(a) + erfcx(a) + j0(a) + exp10(a);
    p[8] = norm3df(a, b, c) + rhypot(a, b) + fdivide(a, b) + cyl_bessel_i0(a);
}

__global__ void standard(float *p, float a, float b, float c)
{
    p[0] = std::erfc(a) + std::cbrt(a) + std::fma(a, b, c) + std::round(a) + std::hypot(a, b) + std::log2(a);
    p[1] = std::exp2(a) + std::trunc(a) + std::lgamma(a) + std::fmax(a, b) + std::abs(a) + std::pow(a, 2);
}

__global__ void integers(long long *l, int *q, float a, float b, double d)
{
    l[0] = lrint(a) + lround(a) + llrint(a) + llround(a) + lrint(d) + lround(d) + llrint(d) + llabs(l[1]);
    q[0] = fpclassify(a) + ilogb(a) + isfinite(a) + isgreater(a, b) + isinf(a) + isless(a, b) + isnan(a);
    q[1] = isnormal(a) + isunordered(a, b) + signbit(a) + ilogb(d) + fpclassify(d) + isnormal(d) + abs(q[2]);
}

__global__ void doubles(double *p, double d)
{
    int e;
    p[0] = nan("") + remquo(d, 3.0, &e) + abs(d) + pow(d, 3) + nearbyint(d) + scalbln(d, 3l) + sqrt(3) + (double)e;
}
