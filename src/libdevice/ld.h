/*
 * Primitives of the device maths library (heddle-libdevice.bc).
 *
 * The library is portable C, compiled twice: for nvptx64 to LLVM bitcode that `heddle cc` links
 * into every CUDA program, and for the host, where tests/cc compares it with multiprecision
 * results. It uses only what both have: fused multiply-add, correctly rounded sqrt and division,
 * integer bits. Bounds on the error are those of the CUDA programming guide's appendix on maths
 * functions.
 *
 * Conventions: ld_* is internal, __nv_* is what clang's CUDA headers call. Sums whose rounding
 * matters (double-double arithmetic) use ld_add/ld_mul, because the device compiler may contract
 * a*b+c into one fma, and must not there. No conversion of a NaN or huge value to an integer: that
 * is undefined in C; ld_round_int() goes through the bits of a shifted sum.
 */
#ifndef HD_LIBDEVICE_LD_H
#define HD_LIBDEVICE_LD_H

#if defined(__NVPTX__)
#define LD_DEVICE 1
#else
#define LD_DEVICE 0
#endif

typedef unsigned int ld_u32;
typedef unsigned long long ld_u64;
typedef long long ld_i64;

/* Definitions with the prototype that -Wmissing-prototypes wants, by signature. */
#define LD_FN(type, name, ...)                                                                     \
    type name(__VA_ARGS__);                                                                        \
    type name(__VA_ARGS__)
#define LD_D1(name) LD_FN(double, __nv_##name, double x)
#define LD_D2(name) LD_FN(double, __nv_##name, double x, double y)
#define LD_F1(name) LD_FN(float, __nv_##name, float x)
#define LD_F2(name) LD_FN(float, __nv_##name, float x, float y)

#define LD_INF  __builtin_inf()
#define LD_NAN  __builtin_nan("")
#define LD_INFF __builtin_inff()
#define LD_NANF __builtin_nanf("")

static inline double ld_fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

static inline float ld_fmaf(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* Rounded once, never contracted. */
static inline double ld_add(double a, double b)
{
#if LD_DEVICE
    return __nvvm_add_rn_d(a, b);
#else
    return a + b;
#endif
}

static inline double ld_mul(double a, double b)
{
#if LD_DEVICE
    return __nvvm_mul_rn_d(a, b);
#else
    return a * b;
#endif
}

static inline ld_u64 ld_bits(double x)
{
    ld_u64 u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

static inline double ld_from_bits(ld_u64 u)
{
    double x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

static inline ld_u32 ld_bitsf(float x)
{
    ld_u32 u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

static inline float ld_from_bitsf(ld_u32 u)
{
    float x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

/*
 * Is this compiled to flush subnormals of float (-ftz=true)? LLVM puts the answer in while it
 * compiles a program. Where a function must not see a subnormal, or looks at bits of one, its
 * operand goes through ld_flush().
 */
#if LD_DEVICE
/* build_bitcode.py makes __nvvm_reflect("__CUDA_FTZ") of it, which the build would answer itself. */
int ld_reflect_ftz(void) __attribute__((const));
#define LD_FTZ (ld_reflect_ftz() != 0)
#else
#define LD_FTZ 0
#endif

static inline float ld_flush(float x)
{
#if LD_DEVICE
    return LD_FTZ ? __nvvm_mul_rn_ftz_f(x, 1.0f) : x;
#else
    return x;
#endif
}

static inline double ld_abs(double x)
{
    return __builtin_fabs(x);
}

static inline double ld_copysign(double x, double sign)
{
    return __builtin_copysign(x, sign);
}

static inline double ld_sqrt(double x)
{
    return __builtin_sqrt(x);
}

static inline int ld_isnan(double x)
{
    return x != x;
}

static inline int ld_isinf(double x)
{
    return ld_abs(x) == LD_INF;
}

/* 2^n for -1022 <= n <= 1023. */
static inline double ld_pow2(int n)
{
    return ld_from_bits((ld_u64)(ld_i64)(n + 1023) << 52);
}

static inline float ld_pow2f(int n)
{
    return ld_from_bitsf((ld_u32)(n + 127) << 23);
}

/* x * 2^n with one rounding in the subnormal range; |n| <= 2044 and x near 1. */
static inline double ld_scale(double x, int n)
{
    int half = n >> 1;
    return x * ld_pow2(half) * ld_pow2(n - half);
}

static inline float ld_scalef(float x, int n)
{
    int half = n >> 1;
    return x * ld_pow2f(half) * ld_pow2f(n - half);
}

/* Nearest integer of |x| < 2^51 as a double, and its low 32 bits. */
static inline double ld_round_int(double x, int *out_int)
{
    double shifted = ld_add(x, 6755399441055744.0);
    *out_int = (int)(ld_u32)ld_bits(shifted);
    return ld_add(shifted, -6755399441055744.0);
}

/* An unevaluated sum hi + lo with |lo| <= ulp(hi)/2: about 106 bits. */
struct ld_dd {
    double hi, lo;
};

static inline struct ld_dd ld_two_sum(double a, double b)
{
    double s = ld_add(a, b), t = ld_add(s, -a);
    return (struct ld_dd){s, ld_add(ld_add(a, -ld_add(s, -t)), ld_add(b, -t))};
}

/* For |a| >= |b|. */
static inline struct ld_dd ld_fast_sum(double a, double b)
{
    double s = ld_add(a, b);
    return (struct ld_dd){s, ld_add(b, -ld_add(s, -a))};
}

static inline struct ld_dd ld_two_prod(double a, double b)
{
    double p = ld_mul(a, b);
    return (struct ld_dd){p, ld_fma(a, b, -p)};
}

static inline struct ld_dd ld_dd_add(struct ld_dd a, struct ld_dd b)
{
    struct ld_dd s = ld_two_sum(a.hi, b.hi);
    return ld_fast_sum(s.hi, ld_add(s.lo, ld_add(a.lo, b.lo)));
}

static inline struct ld_dd ld_dd_mul(struct ld_dd a, struct ld_dd b)
{
    struct ld_dd p = ld_two_prod(a.hi, b.hi);
    return ld_fast_sum(p.hi, p.lo + ld_fma(a.hi, b.lo, a.lo * b.hi));
}

static inline struct ld_dd ld_dd_mul_d(struct ld_dd a, double b)
{
    struct ld_dd p = ld_two_prod(a.hi, b);
    return ld_fast_sum(p.hi, ld_fma(a.lo, b, p.lo));
}

/* a / b to about 100 bits. */
static inline struct ld_dd ld_dd_div(struct ld_dd a, struct ld_dd b)
{
    double q = a.hi / b.hi;
    double rest = ld_fma(-q, b.hi, a.hi);
    return ld_fast_sum(q, ld_fma(-q, b.lo, rest + a.lo) / b.hi);
}

/* ---- shared between files ---- */

/* x reduced to [-pi/4, pi/4] plus *out_quadrant * pi/2; any finite x. */
struct ld_dd ld_reduce_pio2(double x, int *out_quadrant);
/* sin and cos of hi + lo in [-pi/4, pi/4]. */
double ld_sin_kernel(struct ld_dd r);
double ld_cos_kernel(struct ld_dd r);
/* exp(x.hi + x.lo), x in the range of double's exponents. */
double ld_exp_dd(struct ld_dd x);
/* log of a positive finite x to about 2^-66 relative. */
struct ld_dd ld_log_dd(double x);
/* Complementary error function of hi + lo >= 0. */
double ld_erfc_dd(struct ld_dd x);

double __nv_exp(double x);
double __nv_expm1(double x);
double __nv_log(double x);
double __nv_log1p(double x);
double __nv_sinpi(double x);
double __nv_erf(double x);
double __nv_erfc(double x);
double __nv_tgamma(double x);
double __nv_fmod(double x, double y);

#endif
