/*
 * Accuracy of the device maths library, compiled for the host, against the C library's long double
 * functions: random arguments, uniform and logarithmic, and boundary values. Prints the largest
 * error in ulps per function and fails above the bound that the CUDA programming guide gives (its
 * appendix on maths functions). An argument gives the number of samples per function.
 */
#include "libdevice.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef long double ref;

static ref ref_rsqrt(ref x)
{
    return 1.0L / sqrtl(x);
}

static ref ref_rcbrt(ref x)
{
    return 1.0L / cbrtl(x);
}

static ref ref_exp10(ref x)
{
    return exp10l(x);
}

static ref ref_sinpi(ref x)
{
    ref r = remainderl(x, 2.0L);
    if (r == rintl(r))
        return copysignl(0.0L, x);
    if (fabsl(r) > 0.5L)
        r = copysignl(1.0L, r) - r;
    return sinl(r * M_PIl);
}

static ref ref_cospi(ref x)
{
    ref r = fabsl(remainderl(x, 2.0L));
    return r == 0.5L ? 0.0L : (r > 0.25L ? sinl((0.5L - r) * M_PIl) : cosl(r * M_PIl));
}

static ref ref_erfcx(ref x)
{
    if (x < 25.0L)
        return expl(x * x) * erfcl(x);
    ref t = 1.0L, s = 1.0L;
    for (int k = 1; k < 12; k++) {
        t *= -(2 * k - 1) / (2.0L * x * x);
        s += t;
    }
    return s / (x * sqrtl(M_PIl));
}

static ref ref_normcdf(ref x)
{
    return 0.5L * erfcl(-x * M_SQRT1_2l);
}

/* erfc(x) = y by Newton's method from a double start. */
static ref invert_erfc(ref y, double start)
{
    ref x = start;
    if (y == 0.0L || y == 2.0L)
        return y == 0.0L ? INFINITY : -INFINITY;
    for (int i = 0; i < 4; i++)
        x += (erfcl(x) - y) / (2.0L / sqrtl(M_PIl) * expl(-x * x));
    return x;
}

static ref ref_erfcinv(ref y)
{
    return invert_erfc(y, __nv_erfcinv((double)y));
}

static ref ref_erfinv(ref y)
{
    ref x = __nv_erfinv((double)y);
    if (fabsl(y) == 1.0L)
        return copysignl(INFINITY, y);
    for (int i = 0; i < 4; i++)
        x -= (erfl(x) - y) / (2.0L / sqrtl(M_PIl) * expl(-x * x));
    return x;
}

static ref ref_normcdfinv(ref p)
{
    return -sqrtl(2.0L) * ref_erfcinv(2.0L * p);
}

static ref series_i(int order, ref x)
{
    ref t = order ? x / 2 : 1.0L, s = t;
    for (int k = 1; k < 400; k++) {
        t *= x * x / 4 / ((ref)k * (k + order));
        s += t;
    }
    return s;
}

static ref ref_i0(ref x)
{
    return series_i(0, x);
}

static ref ref_i1(ref x)
{
    return series_i(1, x);
}

static ref ref_rhypot(ref x, ref y)
{
    return 1.0L / hypotl(x, y);
}

/* Bounds in ulps of double and float results; abs_error > 0 replaces the bound near zeros. */
struct row {
    const char *name;
    double (*fn)(double);
    float (*fnf)(float);
    ref (*ref)(ref);
    double lo, hi, bound;
    float lof, hif, boundf;
    double abs_error;
};

#define ROW(name, ref, lo, hi, bound, lof, hif, boundf, abs_error)                                 \
    {#name, __nv_##name, __nv_##name##f, ref, lo, hi, bound, lof, hif, boundf, abs_error}

/* clang-format off */
static const struct row rows[] = {
    ROW(sin, sinl, -1e5, 1e5, 2, -1e4f, 1e4f, 2, 0),
    ROW(cos, cosl, -1e5, 1e5, 2, -1e4f, 1e4f, 2, 0),
    ROW(tan, tanl, -1e5, 1e5, 2, -1e4f, 1e4f, 4, 0),
    ROW(asin, asinl, -1, 1, 2, -1, 1, 2, 0),
    ROW(acos, acosl, -1, 1, 2, -1, 1, 2, 0),
    ROW(atan, atanl, -50, 50, 2, -50, 50, 2, 0),
    ROW(sinh, sinhl, -710, 710, 2, -89, 89, 3, 0),
    ROW(cosh, coshl, -710, 710, 1.5, -89, 89, 2, 0),
    ROW(tanh, tanhl, -20, 20, 2, -10, 10, 2, 0),
    ROW(asinh, asinhl, -1e6, 1e6, 3, -1e6f, 1e6f, 3, 0),
    ROW(acosh, acoshl, 1, 1e6, 3, 1, 1e6f, 4, 0),
    ROW(atanh, atanhl, -1, 1, 2, -1, 1, 3, 0),
    ROW(exp, expl, -745, 710, 1, -104, 89, 2, 0),
    ROW(exp2, exp2l, -1074, 1024, 1, -149, 128, 2, 0),
    ROW(exp10, ref_exp10, -323, 308.3, 1, -45, 38.6f, 2, 0),
    ROW(expm1, expm1l, -40, 709, 1.5, -17, 89, 1, 0),
    ROW(log, logl, 0, 1e300, 1, 0, 1e38f, 1, 0),
    ROW(log2, log2l, 0, 1e300, 1.5, 0, 1e38f, 1, 0),
    ROW(log10, log10l, 0, 1e300, 1.5, 0, 1e38f, 2, 0),
    ROW(log1p, log1pl, -1, 1e300, 1.5, -1, 1e38f, 1, 0),
    ROW(cbrt, cbrtl, -1e300, 1e300, 1, -1e38f, 1e38f, 1, 0),
    ROW(rcbrt, ref_rcbrt, -1e300, 1e300, 1, -1e38f, 1e38f, 1, 0),
    ROW(sqrt, sqrtl, 0, 1e300, 0.5, 0, 1e38f, 0.5f, 0),
    ROW(rsqrt, ref_rsqrt, 0, 1e300, 1, 0, 1e38f, 2, 0),
    ROW(sinpi, ref_sinpi, -1e6, 1e6, 2, -1e4f, 1e4f, 1, 0),
    ROW(cospi, ref_cospi, -1e6, 1e6, 2, -1e4f, 1e4f, 1, 0),
    ROW(erf, erfl, -7, 7, 2, -5, 5, 2, 0),
    ROW(erfc, erfcl, -7, 26.5, 5, -5, 10, 4, 0),
    ROW(erfcx, ref_erfcx, -20, 100, 4, -9, 100, 4, 0),
    ROW(normcdf, ref_normcdf, -37, 9, 5, -14, 6, 5, 0),
    ROW(erfinv, ref_erfinv, -1, 1, 5, -1, 1, 2, 0),
    ROW(erfcinv, ref_erfcinv, 0, 2, 6, 0, 2, 4, 0),
    ROW(normcdfinv, ref_normcdfinv, 0, 1, 8, 0, 1, 5, 0),
    ROW(tgamma, tgammal, 0.01, 171.6, 10, 0.01f, 35, 5, 0),
    ROW(lgamma, lgammal, 0, 1e5, 4, 0, 1e5f, 6, 0),
    ROW(j0, j0l, 0, 8, 7, 0, 8, 9, 0),
    ROW(j1, j1l, 0, 8, 10, 0, 8, 9, 0),
    ROW(j0, j0l, 8, 1e4, 7, 8, 1e4f, 9, 5e-12),
    ROW(j1, j1l, 8, 1e4, 7, 8, 1e4f, 9, 5e-12),
    ROW(y0, y0l, 0, 1e4, 7, 0, 1e4f, 9, 5e-12),
    ROW(y1, y1l, 0, 1e4, 7, 0, 1e4f, 9, 5e-12),
    ROW(cyl_bessel_i0, ref_i0, -50, 50, 6, -50, 50, 6, 0),
    ROW(cyl_bessel_i1, ref_i1, -50, 50, 6, -50, 50, 6, 0),
    ROW(floor, floorl, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
    ROW(ceil, ceill, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
    ROW(trunc, truncl, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
    ROW(rint, rintl, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
    ROW(round, roundl, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
    ROW(logb, logbl, -1e6, 1e6, 0, -1e6f, 1e6f, 0, 0),
};

struct row2 {
    const char *name;
    double (*fn)(double, double);
    float (*fnf)(float, float);
    ref (*ref)(ref, ref);
    double lo, hi, bound;
    float boundf;
};
#define ROW2(name, ref, lo, hi, bound, boundf) {#name, __nv_##name, __nv_##name##f, ref, lo, hi, bound, boundf}
static const struct row2 rows2[] = {
    ROW2(pow, powl, -40, 40, 2, 4),
    ROW2(atan2, atan2l, -1e3, 1e3, 2, 3),
    ROW2(hypot, hypotl, -1e6, 1e6, 2, 3),
    ROW2(rhypot, ref_rhypot, -1e6, 1e6, 1.5, 2),
    ROW2(fmod, fmodl, -1e6, 1e6, 0, 0),
    ROW2(remainder, remainderl, -1e6, 1e6, 0, 0),
    ROW2(fdim, fdiml, -1e6, 1e6, 0.5, 0.5f),
};

static const double boundaries[] = {
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 4.0, 8.0, 1e-320, -1e-320, DBL_MIN, DBL_MAX, -DBL_MAX, FLT_MIN,
    FLT_MAX, 1e-10, 1e10, 1e22, 1e15, 3.0e300, INFINITY, -INFINITY, NAN, 0.7071067811865476, 1.4142135623730951,
    2.404825557695773, 3.141592653589793, 1.5707963267948966, 6381956970095103.0 * 0x1p797,
};
/* clang-format on */

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static double random_unit(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* Uniform in the interval, or uniform in the exponent towards a random end. */
static double sample(double lo, double hi, int i)
{
    double u = random_unit();
    if (i & 1)
        return lo + u * (hi - lo);
    double span = hi - lo, d = span * exp2(-60.0 * u);
    return i & 2 ? hi - d : (lo < 0 && hi > 0 ? (i & 4 ? d : -d) : lo + d);
}

static double ulps(ref got, ref want, bool is_float)
{
    int e;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0.0 : INFINITY;
    if (isinf(want) || isinf(got)) {
        ref limit = is_float ? (ref)FLT_MAX : (ref)DBL_MAX;
        return got == want || (isinf(got) && fabsl(want) > limit * (1 - 1e-7L)) ? 0.0 : INFINITY;
    }
    if (got == want)
        return 0.0;
    frexpl(want, &e);
    int last = is_float ? (e - 24 < -149 ? -149 : e - 24) : (e - 53 < -1074 ? -1074 : e - 53);
    return (double)(fabsl(got - want) * exp2l(-(ref)last));
}

static ref narrow(ref want, bool is_float)
{
    ref limit = is_float ? (ref)FLT_MAX : (ref)DBL_MAX;
    return fabsl(want) > limit * (1 + 1e-8L) ? copysignl(INFINITY, want) : want;
}

struct worst {
    double error, at, at2;
};

static void note(struct worst *w, double error, double x, double y)
{
    if (error > w->error)
        *w = (struct worst){error, x, y};
}

static double judge(const struct row *r, ref got, ref want, bool is_float)
{
    double error = ulps(got, narrow(want, is_float), is_float);
    if (r->abs_error > 0 && fabsl(got - want) < (is_float ? 1.1e-6L : (ref)r->abs_error))
        return 0.0;
    return error;
}

static void test_unary(const struct row *r, int samples)
{
    struct worst d = {0, 0, 0}, f = {0, 0, 0};
    for (int i = 0; i < samples; i++) {
        double x = sample(r->lo, r->hi, i);
        float xf = (float)sample((double)r->lof, (double)r->hif, i);
        note(&d, judge(r, r->fn(x), r->ref(x), false), x, 0);
        note(&f, judge(r, r->fnf(xf), r->ref(xf), true), (double)xf, 0);
    }
    ok(d.error <= r->bound, "%s: %.3f ulp (bound %g) at %a", r->name, d.error, r->bound, d.at);
    ok(f.error <= (double)r->boundf, "%sf: %.3f ulp (bound %g) at %a", r->name, f.error,
       (double)r->boundf, f.at);
}

/* Boundary values: the classes of the results agree and finite ones stay near. */
static void test_boundaries(const struct row *r)
{
    struct worst d = {0, 0, 0};
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++) {
        double x = boundaries[i];
        bool outside = isfinite(x) && (x < r->lo || x > r->hi) && r->abs_error > 0;
        if (strcmp(r->name, "lgamma") == 0 || outside || r->fn == __nv_cyl_bessel_i0 ||
            r->fn == __nv_cyl_bessel_i1 || strncmp(r->name, "erfc", 4) == 0 ||
            strcmp(r->name, "normcdf") == 0 || (r->fn == __nv_j0 || r->fn == __nv_j1))
            continue;
        ref want = r->ref(x);
        if (strcmp(r->name, "logb") == 0 && x == 0.0)
            want = -INFINITY;
        note(&d, judge(r, r->fn(x), want, false), x, 0);
    }
    ok(d.error <= r->bound + 2, "%s at boundaries: %.3f ulp at %a", r->name, d.error, d.at);
}

static void test_binary(const struct row2 *r, int samples)
{
    struct worst d = {0, 0, 0}, f = {0, 0, 0};
    for (int i = 0; i < samples; i++) {
        double x = sample(r->lo, r->hi, i), y = sample(r->lo, r->hi, i >> 2);
        float xf = (float)x, yf = (float)y;
        note(&d, ulps(r->fn(x, y), narrow(r->ref(x, y), false), false), x, y);
        note(&f, ulps(r->fnf(xf, yf), narrow(r->ref(xf, yf), true), true), (double)xf, (double)yf);
    }
    ok(d.error <= r->bound, "%s: %.3f ulp (bound %g) at %a, %a", r->name, d.error, r->bound, d.at,
       d.at2);
    ok(f.error <= (double)r->boundf, "%sf: %.3f ulp (bound %g) at %a, %a", r->name, f.error,
       (double)r->boundf, f.at, f.at2);
}

static void test_binary_boundaries(const struct row2 *r)
{
    struct worst d = {0, 0, 0};
    size_t n = sizeof boundaries / sizeof *boundaries;
    for (size_t i = 0; i < n * n; i++) {
        double x = boundaries[i / n], y = boundaries[i % n];
        note(&d, ulps(r->fn(x, y), narrow(r->ref(x, y), false), false), x, y);
    }
    ok(d.error <= r->bound + 2, "%s at boundaries: %.3f ulp at %a, %a", r->name, d.error, d.at,
       d.at2);
}

static void test_integers(void)
{
    ok(__nv_brev(1) == (int)0x80000000u && __nv_brevll(1) == (long long)0x8000000000000000ull,
       "brev");
    ok(__nv_byte_perm(0x33221100, 0x77665544, 0x7520) == 0x77552200, "byte_perm");
    ok(__nv_clz(0) == 32 && __nv_clz(1) == 31 && __nv_ffs(0) == 0 && __nv_ffs(8) == 4, "clz, ffs");
    ok(__nv_hadd(-3, 2) == -1 && __nv_rhadd(-3, 2) == 0, "hadd, rhadd");
    ok(__nv_mul24(0x01000002, 3) == 6 && __nv_mul24(-2, 3) == -6, "mul24");
    ok(__nv_mul64hi(-1, 1) == -1, "mul64hi");
    int e, q;
    ok(__nv_frexp(1e-320, &e) == frexp(1e-320, &q) && e == q, "frexp of a subnormal");
    ok(__nv_ldexp(1.0, -1074) == 0x1p-1074 && __nv_ldexp(0x1p-1074, 2097) == 0x1p1023 &&
           __nv_ldexp(3.0, -1075) == ldexp(3.0, -1075) && isinf(__nv_ldexp(1.0, 1024)),
       "ldexp at the ends of the range");
    ok(__nv_remquo(7.0, 2.0, &q) == -1.0 && q == 4, "remquo");
    ok(__nv_fmax(NAN, 1.0) == 1.0 && __nv_fmin(1.0, NAN) == 1.0, "fmax, fmin drop a NaN");
    ok(fabs(__nv_jn(5, 3.0) - jn(5, 3.0)) < 1e-15 && fabs(__nv_jn(2, 30.0) - jn(2, 30.0)) < 1e-14,
       "jn");
    ok(fabs(__nv_yn(3, 2.5) - yn(3, 2.5)) < 1e-14, "yn");
    ok(__nv_norm3d(2.0, 3.0, 6.0) == 7.0, "norm3d");
}

int main(int argc, char **argv)
{
    int samples = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_unary(&rows[i], samples);
        test_boundaries(&rows[i]);
    }
    for (size_t i = 0; i < sizeof rows2 / sizeof *rows2; i++) {
        test_binary(&rows2[i], samples);
        test_binary_boundaries(&rows2[i]);
    }
    test_integers();
    return done();
}
