/* The device maths functions as the host build of src/libdevice exports them. */
#ifndef TESTS_CC_LIBDEVICE_H
#define TESTS_CC_LIBDEVICE_H

/* clang-format off */
#define LIBDEVICE_UNARY(X)                                                                         \
    X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh)         \
    X(atanh) X(exp) X(exp2) X(exp10) X(expm1) X(log) X(log2) X(log10) X(log1p) X(cbrt) X(rcbrt)    \
    X(sqrt) X(rsqrt) X(sinpi) X(cospi) X(erf) X(erfc) X(erfcx) X(normcdf) X(erfinv) X(erfcinv)     \
    X(normcdfinv) X(tgamma) X(lgamma) X(j0) X(j1) X(y0) X(y1) X(cyl_bessel_i0) X(cyl_bessel_i1)    \
    X(floor) X(ceil) X(trunc) X(rint) X(round) X(logb)
/* clang-format on */

#define LIBDEVICE_BINARY(X)                                                                        \
    X(pow) X(atan2) X(hypot) X(rhypot) X(fmod) X(remainder) X(fdim) X(nextafter)

#define X(name)                                                                                    \
    double __nv_##name(double x);                                                                  \
    float __nv_##name##f(float x);
LIBDEVICE_UNARY(X)
#undef X
#define X(name)                                                                                    \
    double __nv_##name(double x, double y);                                                        \
    float __nv_##name##f(float x, float y);
LIBDEVICE_BINARY(X)
#undef X

double __nv_fmax(double x, double y);
double __nv_fmin(double x, double y);
double __nv_ldexp(double x, int n);
double __nv_frexp(double x, int *out_exponent);
double __nv_remquo(double x, double y, int *out_quotient);
double __nv_jn(int n, double x);
double __nv_yn(int n, double x);
double __nv_norm3d(double x, double y, double z);
int __nv_brev(int x);
int __nv_byte_perm(int x, int y, int selector);
int __nv_clz(int x);
int __nv_ffs(int x);
int __nv_hadd(int x, int y);
int __nv_rhadd(int x, int y);
int __nv_mul24(int x, int y);
long long __nv_brevll(long long x);
long long __nv_mul64hi(long long x, long long y);

#endif
