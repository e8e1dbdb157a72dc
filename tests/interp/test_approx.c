/*
 * The approximate instructions (base/float/approx.h) against doubles: maximum errors over their
 * domains, compared with the bounds of the PTX ISA, and the special values of its tables.
 *
 * Without arguments every 8191st input is tried; an argument gives another step, 1 for all 2^32
 * inputs (some minutes; suite slow takes every 251st).
 */
#include <fenv.h>

#include "base/float/approx.h"
#include "tap.h"

static uint64_t step = 8191;

/* The distance of two floats next to the exact value. */
static double ulp_of(double exact)
{
    int e;
    frexp(exact, &e);
    return ldexp(1, HD_MAX(e - 24, -149));
}

struct scan {
    const char *name;
    float (*approx)(float);
    double (*exact)(double);
    float from, to; /* |x| in [from, to] */
    char unit;      /* u(lp), r(elative), a(bsolute) */
    double bound;
    bool positive;
    bool normal_result; /* skip results below 2^-126: the bound is for .ftz */
};

static double exact_rcp(double x)
{
    return 1 / x;
}
static double exact_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static const struct scan scans[] = {
    {"ex2", hd_approx_ex2, exp2, 0, 152, 'u', 2, false, false},
    {"lg2 in (0.5, 2)", hd_approx_lg2, log2, 0.5f, 2, 'a', 0x1p-22, true, false},
    {"lg2 below 0.5", hd_approx_lg2, log2, 0x1p-149f, 0.5f, 'r', 0x1p-22, true, false},
    {"lg2 above 2", hd_approx_lg2, log2, 2, 0x1.fffffep127f, 'r', 0x1p-22, true, false},
    {"rcp", hd_approx_rcp, exact_rcp, 0x1p-126f, 0x1.fffffep127f, 'u', 1, false, false},
    {"rsqrt", hd_approx_rsqrt, exact_rsqrt, 0x1p-149f, 0x1.fffffep127f, 'r', 1.27799e-7, true,
     false},
    {"sqrt", hd_approx_sqrt, sqrt, 0x1p-149f, 0x1.fffffep127f, 'r', 0x1p-23, true, false},
    {"sin in 2pi", hd_approx_sin, sin, 0, 6.2831855f, 'a', 6.7434957e-7, false, false},
    {"cos in 2pi", hd_approx_cos, cos, 0, 6.2831855f, 'a', 6.7434957e-7, false, false},
    {"sin in 100pi", hd_approx_sin, sin, 6.2831855f, 314.15927f, 'a', 3.757e-5, false, false},
    {"cos in 100pi", hd_approx_cos, cos, 6.2831855f, 314.15927f, 'a', 3.757e-5, false, false},
    {"tanh", hd_approx_tanh, tanh, 0x1p-149f, 0x1.fffffep127f, 'r', 0x1p-11, false, false},
};

static double error_of(const struct scan *s, float x)
{
    double exact = s->exact(x);
    float got = s->approx(x);
    if (isinf(got) || isnan(got)) /* only where the exact result rounds to infinity */
        return got == (float)exact ? 0 : HUGE_VAL;
    double err = fabs((double)got - exact);
    if (s->unit == 'u')
        return err / ulp_of(exact);
    return s->unit == 'r' ? err / fabs(exact) : err;
}

static void scan_run(const struct scan *s)
{
    double worst = 0;
    float worst_x = 0;
    uint32_t last = hd_approx_bits(s->to);
    for (uint64_t bits = hd_approx_bits(s->from); bits <= last; bits += step) {
        for (int neg = 0; neg <= !s->positive; neg++) {
            float x = hd_approx_float((uint32_t)bits | (neg ? HD_APPROX_SIGN : 0));
            double err = error_of(s, x);
            if (err > worst) {
                worst = err;
                worst_x = x;
            }
        }
    }
    diag("%s: %.3g (2^%.2f) at %a, bound %.3g", s->name, worst, log2(worst), (double)worst_x,
         s->bound);
    ok(worst <= s->bound, "%s within its bound", s->name);
}

static void eq_f32(float got, uint32_t want, const char *name)
{
    bool nan = got != got && (want & 0x7fffffffu) > HD_APPROX_INF;
    ok(nan || tap_note_u64_(hd_approx_bits(got), want), "%s", name);
}

static void test_specials(void)
{
    float inf = hd_approx_float(HD_APPROX_INF), nan = hd_approx_float(HD_APPROX_NAN);
    const uint32_t ninf = 0xff800000u;
    eq_f32(hd_approx_ex2(-0.0f), 0x3f800000, "ex2 -0");
    eq_f32(hd_approx_ex2(inf), HD_APPROX_INF, "ex2 inf");
    eq_f32(hd_approx_ex2(-inf), 0, "ex2 -inf");
    eq_f32(hd_approx_ex2(nan), HD_APPROX_NAN, "ex2 nan");
    eq_f32(hd_approx_ex2(-149), 1, "ex2 -149 is the smallest denormal");
    eq_f32(hd_approx_ex2(128), HD_APPROX_INF, "ex2 128");
    eq_f32(hd_approx_lg2(0), ninf, "lg2 0");
    eq_f32(hd_approx_lg2(-0.0f), ninf, "lg2 -0");
    eq_f32(hd_approx_lg2(inf), HD_APPROX_INF, "lg2 inf");
    eq_f32(hd_approx_lg2(-inf), HD_APPROX_NAN, "lg2 -inf");
    eq_f32(hd_approx_lg2(-1), HD_APPROX_NAN, "lg2 -1");
    eq_f32(hd_approx_lg2(nan), HD_APPROX_NAN, "lg2 nan");
    eq_f32(hd_approx_lg2(1), 0, "lg2 1");
    eq_f32(hd_approx_lg2(8), 0x40400000, "lg2 8");
    eq_f32(hd_approx_rcp(0), HD_APPROX_INF, "rcp 0");
    eq_f32(hd_approx_rcp(-inf), 0x80000000, "rcp -inf");
    eq_f32(hd_approx_rsqrt(0), HD_APPROX_INF, "rsqrt 0");
    eq_f32(hd_approx_rsqrt(-0.0f), ninf, "rsqrt -0");
    eq_f32(hd_approx_rsqrt(inf), 0, "rsqrt inf");
    eq_f32(hd_approx_rsqrt(-inf), HD_APPROX_NAN, "rsqrt -inf");
    eq_f32(hd_approx_rsqrt(-1), HD_APPROX_NAN, "rsqrt -1");
    eq_f32(hd_approx_rsqrt(4), 0x3f000000, "rsqrt 4");
    eq_f32(hd_approx_sqrt(-0.0f), 0x80000000, "sqrt -0");
    eq_f32(hd_approx_sin(-0.0f), 0x80000000, "sin -0");
    eq_f32(hd_approx_sin(0x1p-149f), 1, "sin of a denormal");
    eq_f32(hd_approx_sin(inf), HD_APPROX_NAN, "sin inf");
    eq_f32(hd_approx_cos(-0.0f), 0x3f800000, "cos -0");
    eq_f32(hd_approx_cos(-inf), HD_APPROX_NAN, "cos -inf");
    ok(fabsf(hd_approx_sin(0x1p127f)) <= 1 && fabsf(hd_approx_cos(3e9f)) <= 1, "huge angles");
    eq_f32(hd_approx_tanh(-0.0f), 0x80000000, "tanh -0");
    eq_f32(hd_approx_tanh(-inf), 0xbf800000, "tanh -inf");
    eq_f32(hd_approx_tanh(nan), HD_APPROX_NAN, "tanh nan");
    eq_f32(hd_approx_div(1, 0x1.8p126f), 0, "div.approx by a huge number");
    eq_f32(hd_approx_div(inf, 0x1.8p126f), HD_APPROX_NAN, "div.approx inf by a huge number");
    eq_f32(hd_approx_div_full(0x1p127f, 0x1.0p126f), 0x40000000, "div.full");
    eq_u64(hd_approx_rcp64(0x4008000000000000), 0x3fd5555500000000, "rcp.f64 3");
    eq_u64(hd_approx_rcp64(0x8000000012345678), 0xfff0000000000000, "rcp.f64 -denormal");
    eq_u64(hd_approx_rcp64(0x7fefffff00000000), 0, "rcp.f64 flushes");
    eq_u64(hd_approx_rsqrt64(0xbff0000000000000), 0x7fffffff00000000, "rsqrt.f64 -1");
    eq_u64(hd_approx_rsqrt64(0x4010000000000000), 0x3fe0000000000000, "rsqrt.f64 4");
}

int main(int argc, char **argv)
{
    fesetenv(FE_DFL_ENV);
    if (argc > 1)
        step = HD_MAX(strtoull(argv[1], NULL, 0), 1);
    test_specials();
    for (size_t i = 0; i < HD_COUNT_OF(scans); i++)
        scan_run(&scans[i]);
    return done();
}
