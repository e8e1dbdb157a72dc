/*
 * Approximate instructions on f16, bf16 and f64: the largest errors over all inputs of 16 bits, and
 * over upper words of 64, compared with the bounds of the PTX ISA where it has one. The exact
 * values are the C library's; MPFR gives the same maxima.
 *
 * Upper words: every fifth fraction of an odd and an even exponent; with an argument all fractions
 * of every exponent so many apart (suite slow).
 */
#include <fenv.h>
#include <math.h>

#include "base/float/approx.h"
#include "model/eval.h"
#include "tap.h"

static double decode(enum ir_type type, uint64_t bits)
{
    bool half = type == IR_F16;
    unsigned fraction = half ? 10 : 7, top = half ? 31 : 255;
    int bias = half ? 15 : 127;
    unsigned exponent = (unsigned)(bits >> fraction) & top, low = bits & ((1u << fraction) - 1);
    double sign = bits >> 15 & 1 ? -1 : 1;

    if (exponent == top)
        return low ? NAN : sign * INFINITY;
    if (!exponent)
        return sign * ldexp(low, 1 - bias - (int)fraction);
    return sign * ldexp(low | 1u << fraction, (int)exponent - bias - (int)fraction);
}

static uint64_t eval(enum ir_op op, enum ir_type type, uint32_t mods, uint64_t bits)
{
    const struct ir_instr in = {.op = op, .type = type, .mods = mods, .rnd = IR_APPROX, .nsrc = 1};
    const struct ir_bits src = {bits, 0};
    struct ir_bits out = {0, 0};

    if (!ir_eval(&in, &src, &out))
        abort();
    return out.lo;
}

/* ---- 16 bits */

static const struct narrow {
    const char *name;
    enum ir_op op;
    enum ir_type type, packed;
    uint32_t mods;
    double (*exact)(double);
    bool relative;
    double least; /* results below are not counted: flushed, or without a full fraction */
    double bound;
} narrows[] = {
    {"ex2 f16", IR_OP_FEX2, IR_F16, IR_F16X2, 0, exp2, true, 0x1p-14, 0x1.125p-10},
    {"ex2 bf16", IR_OP_FEX2, IR_BF16, IR_BF16X2, 0, exp2, true, 0x1p-126, 0x1p-7},
    {"tanh f16", IR_OP_FTANH, IR_F16, IR_F16X2, 0, tanh, false, 0, 0x1.024p-11},
    {"tanh bf16", IR_OP_FTANH, IR_BF16, IR_BF16X2, 0, tanh, false, 0, 0x1p-8},
};

static double error_of(const struct narrow *n, double x, double got)
{
    double exact = n->exact(x);

    if (x != x)
        return got != got ? 0 : HUGE_VAL;
    if (isinf(got)) /* where the exact result rounds to it */
        return exact > (n->type == IR_F16 ? 65519.0 : 0x1.fep127) ? 0 : HUGE_VAL;
    if (fabs(exact) < n->least)
        return fabs(got - exact) <= n->least * 0x1p-7 ? 0 : HUGE_VAL;
    return n->relative ? fabs(got - exact) / fabs(exact) : fabs(got - exact);
}

static void narrow_run(const struct narrow *n)
{
    double worst = 0;
    unsigned worst_x = 0, apart = 0;

    for (unsigned x = 0; x < 0x10000; x++) {
        uint64_t got = eval(n->op, n->type, n->mods, x), other = x ^ 0x1234;
        uint64_t both = eval(n->op, n->packed, n->mods, x | other << 16);
        double err = error_of(n, decode(n->type, x), decode(n->type, got));

        apart += both != (got | eval(n->op, n->type, n->mods, other) << 16);
        if (err > worst) {
            worst = err;
            worst_x = x;
        }
    }
    diag("%s: %.4g (2^%.2f) at 0x%04x, bound %.4g", n->name, worst, log2(worst), worst_x, n->bound);
    ok(worst <= n->bound, "%s within its bound", n->name);
    eq_u64(apart, 0, "%s: packed ones are two", n->name);
}

/* ---- 64 bits */

static long double exact_rcp(long double x)
{
    return 1 / x;
}

static long double exact_rsqrt(long double x)
{
    return 1 / sqrtl(x);
}

static const struct wide {
    const char *name;
    enum ir_op op;
    uint32_t mods;
    long double (*exact)(long double);
    uint32_t lower;    /* the lower word; where it is not read, 0 is what is meant */
    long double bound; /* PTX has none: what the definition here gives */
} wides[] = {
    {"rcp.approx.ftz.f64", IR_OP_FRCP, IR_MOD_FTZ, exact_rcp, 0, 0x1p-21L},
    {"rsqrt.approx.ftz.f64", IR_OP_FRSQRT, IR_MOD_FTZ, exact_rsqrt, 0, 0x1p-21L},
    {"rsqrt.approx.f64", IR_OP_FRSQRT, 0, exact_rsqrt, 0, 0x1.8p-53L},
    {"rsqrt.approx.f64, lower words", IR_OP_FRSQRT, 0, exact_rsqrt, 0x9e3779b9, 0x1.8p-53L},
};

static uint64_t fraction_step = 5;

static void exponent_run(const struct wide *w, unsigned exponent, long double *worst,
                         uint64_t *worst_x)
{
    for (uint64_t fraction = 0; fraction < 1u << 20; fraction += fraction_step) {
        uint64_t x = (uint64_t)exponent << 52 | fraction << 32 | w->lower;
        long double exact = w->exact((long double)hd_approx_double(x));
        uint64_t got = eval(w->op, IR_F64, w->mods, x);
        long double err;

        if (exact < 0x1p-1022L) /* flushed */
            continue;
        err = fabsl((long double)hd_approx_double(got) - exact) / exact;
        if (err > *worst) {
            *worst = err;
            *worst_x = x;
        }
    }
}

static void wide_run(const struct wide *w, unsigned step)
{
    long double worst = 0;
    uint64_t worst_x = 0;

    for (unsigned exponent = 1; exponent < 2047; exponent += step)
        exponent_run(w, exponent, &worst, &worst_x);
    diag("%s: %.4Lg (2^%.3f) at 0x%llx", w->name, worst, (double)log2l(worst),
         (unsigned long long)worst_x);
    ok(worst <= w->bound, "%s is as exact as it is meant to be", w->name);
}

int main(int argc, char **argv)
{
    unsigned step = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1023;

    fesetenv(FE_DFL_ENV);
    fraction_step = argc > 1 ? 1 : fraction_step;
    for (size_t i = 0; i < HD_COUNT_OF(narrows); i++)
        narrow_run(&narrows[i]);
    for (size_t i = 0; i < HD_COUNT_OF(wides); i++)
        wide_run(&wides[i], HD_MAX(step, 1u));
    return done();
}
