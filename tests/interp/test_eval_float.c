/*
 * Floating-point semantics: f32 and f64 in all rounding modes against the host's arithmetic, f16
 * and bf16 against exact sums in wider formats, then PTX's special rules by hand.
 */
#include <fenv.h>
#include <math.h>

#include "base/float/approx.h"
#include "base/float/softfp.h"
#include "eval_support.h"

static const int host_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const enum ir_rnd ir_modes[] = {IR_RN, IR_RZ, IR_RM, IR_RP};

static uint32_t random_f32(uint64_t *seed)
{
    static const uint32_t special[] = {0,          1,          0x7fffff,   0x800000,   0x7f7fffff,
                                       0x7f800000, 0x7fc00000, 0x3f800000, 0x3f7fffff, 0x3f800001};
    uint64_t r = tap_random(seed);
    uint32_t sign = (uint32_t)(r & 1) << 31;
    if (r % 16 == 3)
        return special[(r >> 8) % HD_COUNT_OF(special)] | sign;
    if (r % 4 == 0)
        return (uint32_t)(r >> 32);
    return sign | (uint32_t)(120 + (r >> 8) % 16) << 23 | ((uint32_t)(r >> 32) & 0x7fffff);
}

static uint64_t random_f64(uint64_t *seed)
{
    uint64_t r = tap_random(seed);
    if (r % 4 == 0)
        return tap_random(seed);
    return (r & 1) << 63 | (1010 + (r >> 8) % 30) << 52 | (tap_random(seed) >> 12);
}

static uint32_t canon32(volatile float x)
{
    return x != x ? HD_APPROX_NAN : hd_approx_bits(x);
}

static void test_f32(uint64_t seed)
{
    unsigned bad[6] = {0};
    for (int i = 0; i < 30000; i++) {
        uint32_t a = random_f32(&seed), b = random_f32(&seed), c = random_f32(&seed);
        volatile float x = hd_approx_float(a), y = hd_approx_float(b), z = hd_approx_float(c);
        enum ir_rnd m = ir_modes[i & 3];
        fesetround(host_modes[i & 3]);
        volatile float add = x + y, sub = x - y, mul = x * y, quo = x / y, root = sqrtf(x);
        volatile float fused = fmaf(x, y, z);
        fesetround(FE_TONEAREST);
        bad[0] += ev(FADD, F32, a, b, 0, .rnd = m) != canon32(add);
        bad[1] += ev(FSUB, F32, a, b, 0, .rnd = m) != canon32(sub);
        bad[2] += ev(FMUL, F32, a, b, 0, .rnd = m) != canon32(mul);
        bad[3] += ev(FDIV, F32, a, b, 0, .rnd = m) != canon32(quo);
        bad[4] += ev(FSQRT, F32, a, 0, 0, .rnd = m) != canon32(root);
        bad[5] += ev(FMA, F32, a, b, c, .rnd = m) != canon32(fused);
    }
    static const char *const names[] = {"add", "sub", "mul", "div", "sqrt", "fma"};
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++)
        eq_u64(bad[i], 0, "%s.f32 in four roundings", names[i]);
}

static bool same64(uint64_t got, volatile double want)
{
    return want != want ? hd_fp_is_nan(&hd_fp_f64, got) : got == hd_approx_bits64(want);
}

static void test_f64(uint64_t seed)
{
    unsigned bad[5] = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t a = random_f64(&seed), b = random_f64(&seed), c = random_f64(&seed);
        volatile double x = hd_approx_double(a), y = hd_approx_double(b), z = hd_approx_double(c);
        enum ir_rnd m = ir_modes[i & 3];
        fesetround(host_modes[i & 3]);
        volatile double add = x + y, mul = x * y, quo = x / y, root = sqrt(x);
        volatile double fused = fma(x, y, z);
        fesetround(FE_TONEAREST);
        bad[0] += !same64(ev(FADD, F64, a, b, 0, .rnd = m), add);
        bad[1] += !same64(ev(FMUL, F64, a, b, 0, .rnd = m), mul);
        bad[2] += !same64(ev(FDIV, F64, a, b, 0, .rnd = m), quo);
        bad[3] += !same64(ev(FSQRT, F64, a, 0, 0, .rnd = m), root);
        bad[4] += !same64(ev(FMA, F64, a, b, c, .rnd = m), fused);
    }
    static const char *const names[] = {"add", "mul", "div", "sqrt", "fma"};
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++)
        eq_u64(bad[i], 0, "%s.f64 in four roundings", names[i]);
}

/* A half or bfloat as a double, by definition. */
static double narrow_value(bool half, uint32_t bits)
{
    int frac_bits = half ? 10 : 7, bias = half ? 15 : 127, top = half ? 31 : 255;
    int e = (int)(bits >> frac_bits) & top;
    double frac = bits & ((1u << frac_bits) - 1), sign = (bits & 0x8000) ? -1 : 1;
    if (e == top)
        return frac != 0 ? NAN : sign * INFINITY;
    if (e == 0)
        return sign * ldexp(frac, 1 - bias - frac_bits);
    return sign * ldexp(frac + (1 << frac_bits), e - bias - frac_bits);
}

/* got is a nearest value to the exact one: no neighbour is closer, ties are even. */
static bool is_nearest(bool half, uint64_t got, long double exact)
{
    uint32_t inf = half ? 0x7c00 : 0x7f80;
    long double g = narrow_value(half, (uint32_t)got), err = fabsl(g - exact);
    if (isnan((double)exact))
        return got == 0x7fff;
    if ((got & 0x7fff) == inf) {
        long double max = narrow_value(half, inf - 1),
                    step = max - (long double)narrow_value(half, inf - 2);
        return fabsl(exact) >= max + step / 2 && (exact < 0) == (got >> 15);
    }
    for (int d = -1; d <= 1; d += 2) {
        uint32_t next = (uint32_t)got + (uint32_t)d;
        if ((next & 0x7fff) >= inf || ((got & 0x7fff) == 0 && d < 0))
            continue;
        long double e = fabsl((long double)narrow_value(half, next) - exact);
        if (e < err || (e == err && (got & 1)))
            return false;
    }
    return true;
}

static void test_narrow(uint64_t seed, bool half)
{
    unsigned bad = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t r = tap_random(&seed);
        uint32_t a = r & 0xffff, b = (r >> 16) & 0xffff, c = (r >> 32) & 0xffff;
        if (!half && r >> 62) { /* near 1: bfloat's range is too wide for exact long doubles */
            a = (a & 0x83ff) | 0x3c00;
            b = (b & 0x83ff) | 0x3c00;
            c = (c & 0x83ff) | 0x3c00;
        }
        double x = narrow_value(half, a), y = narrow_value(half, b), z = narrow_value(half, c);
        int spread = x != 0 && y != 0 && z != 0 && isfinite(x * y + z)
                         ? (int)labs((long)ilogb(x) + ilogb(y) - ilogb(z))
                         : 0;
        enum ir_type t = half ? IR_F16 : IR_BF16;
        struct ev e = {.op = IR_OP_FMUL, .type = t};
        bad += !is_nearest(half, ev4(e, a, b, 0, 0), (long double)x * y);
        e.op = IR_OP_FADD;
        if (half || (x != 0 && y != 0 && labs((long)ilogb(x) - ilogb(y)) < 40))
            bad += !is_nearest(half, ev4(e, a, b, 0, 0), (long double)x + y);
        e.op = IR_OP_FMA;
        if (spread < 40)
            bad += !is_nearest(half, ev4(e, a, b, c, 0), (long double)x * y + z);
    }
    eq_u64(bad, 0, "%s add, mul and fma round once", half ? "f16" : "bf16");
}

struct row {
    const char *name;
    struct ev e;
    uint64_t a, b, c, want;
};
#define R(op_, type_, a, b, c, want, ...)                                                          \
    {#op_ "." #type_, {.op = IR_OP_##op_, .type = IR_##type_, __VA_ARGS__}, a, b, c, want}

static const struct row rows[] = {
    R(FADD, F32, 0x7f800000, 0xff800000, 0, 0x7fffffff),
    R(FADD, F32, 0xffc12345, 0x3f800000, 0, 0x7fffffff),
    R(FADD, F32, 1, 1, 0, 2),
    R(FADD, F32, 0x807fffff, 0x80000000, 0, 0x80000000, .mods = IR_MOD_FTZ),
    R(FADD, F32, 0x3f800000, 0xbf800000, 0, 0x80000000, .rnd = IR_RM),
    R(FADD, F32, 0x40000000, 0, 0, 0x3f800000, .mods = IR_MOD_SAT),
    R(FADD, F32, 0xc0000000, 0, 0, 0, .mods = IR_MOD_SAT),
    R(FADD, F32, 0x7fc00000, 0, 0, 0, .mods = IR_MOD_SAT),
    R(FMUL, F32, 0x00800000, 0xbf000000, 0, 0x80000000, .mods = IR_MOD_FTZ),
    R(FMUL, F32, 0x00800000, 0xbf000000, 0, 0x80400000),
    R(FADD, F64, 0x7ff0000000000001, 0x3ff0000000000000, 0, 0x7ff8000000000001),
    R(FMUL, F64, 0x7ff0000000000000, 0, 0, 0xfff8000000000000),
    R(FMA, F16, 0x3c00, 0xbc00, 0, 0, .mods = IR_MOD_RELU),
    R(FMA, F16, 0x7e00, 0xbc00, 0, 0x7fff, .mods = IR_MOD_RELU),
    R(FMA, F16X2, 0x3c004000, 0x3c004000, 0x3c003c00, 0x40004500),
    R(FADD, BF16X2, 0x3f803f80, 0x3f807fc0, 0, 0x40007fff),
    R(FRCP, F32, 0x40000000, 0, 0, 0x3f000000),
    R(FRCP, F32, 0x80000001, 0, 0, 0xff800000, .rnd = IR_APPROX, .mods = IR_MOD_FTZ),
    R(FRSQRT, F32, 0x40800000, 0, 0, 0x3f000000),
    R(FRSQRT, F64, 0x4010000000000000, 0, 0, 0x3fe0000000000000),
    R(FRSQRT, F64, 0x4008000000000000, 0, 0, 0x3fe279a700000000, .mods = IR_MOD_FTZ),
    R(FDIV, F32, 0x3f800000, 0x7f000000, 0, 0, .rnd = IR_APPROX),
    R(FDIV, F32, 0x3f800000, 0x40000000, 0, 0x3f000000, .rnd = IR_FULL),
    R(FEX2, F16, 0x4000, 0, 0, 0x4400),
    R(FEX2, BF16, 0x4000, 0, 0, 0x4080),
    R(FTANH, BF16X2, 0x7f80ff80, 0, 0, 0x3f80bf80),
    R(FLG2, F32, 0xbf800000, 0, 0, 0x7fffffff),
    R(FMIN, F32, 0x80000000, 0, 0, 0x80000000),
    R(FMAX, F32, 0x80000000, 0, 0, 0),
    R(FMIN, F32, 0x7fc00000, 0x3f800000, 0, 0x3f800000),
    R(FMIN, F32, 0x7fc00000, 0x3f800000, 0, 0x7fffffff, .mods = IR_MOD_NAN),
    R(FMIN, F32, 0x7fc00000, 0xffc00001, 0, 0x7fffffff),
    R(FMIN, F32, 0xc0000000, 0x3f800000, 0, 0xbf800000, .mods = IR_MOD_XORSIGN),
    R(FMAX, F16X2, 0x3c008000, 0x40000000, 0, 0x40000000),
    R(FNEG, F32, 1, 0, 0, 0x80000000, .mods = IR_MOD_FTZ),
    R(FABS, F16X2, 0x80018000, 0, 0, 0x00010000),
    R(FCOPYSIGN, F32, 0x80000000, 0x3f800000, 0, 0xbf800000),
    R(FSETP, F32, 1, 0, 0, 1, .cmp = IR_EQ, .mods = IR_MOD_FTZ),
    R(FSETP, F32, 0x7fc00000, 0, 0, 0, .cmp = IR_NE),
    R(FSETP, F32, 0x7fc00000, 0, 0, 1, .cmp = IR_NEU),
    R(FSETP, F32, 0x80000000, 0, 0, 1, .cmp = IR_GE),
    R(FSETP, F16X2, 0x3c000000, 0x3c003c00, 0, 1, .cmp = IR_EQ, .mods = IR_MOD_HI),
    R(FSETP, F16X2, 0x3c000000, 0x3c003c00, 0, 0, .cmp = IR_EQ),
    R(FTESTP, F32, 1, 0, 0, 1, .imm = IR_TESTP_SUBNORMAL),
    R(FTESTP, F64, 0x7ff0000000000000, 0, 0, 1, .imm = IR_TESTP_INFINITE),
    R(FTESTP, F32, 0, 0, 0, 1, .imm = IR_TESTP_NORMAL),
};

static void test_environment(void)
{
    uint64_t want = ev(FSIN, F32, 0x3f800000, 0, 0);
    fesetround(FE_UPWARD);
    uint64_t got = ev(FSIN, F32, 0x3f800000, 0, 0);
    uint64_t sum = ev(FADD, F32, 0x3f800000, 1, 0);
    ok(fegetround() == FE_UPWARD, "the rounding mode is restored");
    fesetround(FE_TONEAREST);
    eq_u64(got, want, "sin does not depend on the rounding mode");
    eq_u64(sum, 0x3f800000, "nor does add");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_f32(seed);
    test_f64(seed);
    test_narrow(seed, true);
    test_narrow(seed, false);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        eq_u64(ev4(rows[i].e, rows[i].a, rows[i].b, rows[i].c, 0), rows[i].want, "%s #%zu",
               rows[i].name, i);
    test_environment();
    return done();
}
