/* f32, f64, f16 and bf16 arithmetic, comparisons and approximations. */
#include "silicon.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const roundings[] = {"rn", "rz", "rm", "rp"};

static void addf(struct sil_rows *rows, enum sil_set set, const char *sig, const char *fmt,
                 const char *a, const char *b, const char *c)
{
    char name[SIL_NAME_MAX];

    snprintf(name, sizeof(name), fmt, a, b, c);
    sil_add(rows, set, sig, name);
}

static void rows_f32_rounded(struct sil_rows *rows)
{
    static const char *const suffix[] = {"", ".ftz", ".sat", ".ftz.sat"};

    for (size_t r = 0; r < COUNT(roundings); r++) {
        size_t nsuffix = r == 0 ? 4 : 2; /* all of .sat once, with the default rounding */

        for (size_t s = 0; s < nsuffix; s++) {
            addf(rows, SIL_F32, "w:ww", "add.%s%s.f32%s", roundings[r], suffix[s], "");
            addf(rows, SIL_F32, "w:ww", "sub.%s%s.f32%s", roundings[r], suffix[s], "");
            addf(rows, SIL_F32, "w:ww", "mul.%s%s.f32%s", roundings[r], suffix[s], "");
            addf(rows, SIL_F32, "w:www", "fma.%s%s.f32%s", roundings[r], suffix[s], "");
        }
        for (size_t s = 0; s < 2; s++) {
            addf(rows, SIL_F32, "w:ww", "div.%s%s.f32%s", roundings[r], suffix[s], "");
            addf(rows, SIL_F32, "w:w", "rcp.%s%s.f32%s", roundings[r], suffix[s], "");
            addf(rows, SIL_F32, "w:w", "sqrt.%s%s.f32%s", roundings[r], suffix[s], "");
        }
    }
    sil_add(rows, SIL_F32, "w:www", "mad.rn.f32");
}

static void rows_f32_simple(struct sil_rows *rows)
{
    static const char *const binary[] = {"min", "max"};
    static const char *const variants[] = {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"};
    static const char *const tests[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    char body[256], name[SIL_NAME_MAX];

    for (size_t b = 0; b < COUNT(binary); b++)
        for (size_t v = 0; v < COUNT(variants); v++) {
            addf(rows, SIL_F32, "w:ww", "%s%s.f32%s", binary[b], variants[v], "");
            addf(rows, SIL_F32, "w:ww", "%s.ftz%s.f32%s", binary[b], variants[v], "");
        }
    sil_add(rows, SIL_F32, "w:w", "neg.f32");
    sil_add(rows, SIL_F32, "w:w", "neg.ftz.f32");
    sil_add(rows, SIL_F32, "w:w", "abs.f32");
    sil_add(rows, SIL_F32, "w:w", "abs.ftz.f32");
    sil_add(rows, SIL_F32, "w:ww", "copysign.f32");
    for (size_t i = 0; i < COUNT(tests); i++)
        for (unsigned w = 32; w <= 64; w *= 2) {
            snprintf(name, sizeof(name), "testp.%s.f%u", tests[i], w);
            snprintf(body, sizeof(body), "%s %%p, $a; selp.u32 $d, 1, 0, %%p;", name);
            sil_add_body(rows, w == 32 ? SIL_F32 : SIL_F64, w == 32 ? "w:w" : "w:l", name, body);
        }
}

/* The hardware functions: many random inputs in the range where they are used. */
static void rows_approx(struct sil_rows *rows)
{
    static const char *const stems[] = {"rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos"};
    char name[SIL_NAME_MAX], body[256];

    for (size_t i = 0; i < COUNT(stems); i++) {
        addf(rows, SIL_F32_CVT, "w:w", "%s.approx%s.f32%s", stems[i], "", "");
        addf(rows, SIL_F32_CVT, "w:w", "%s.approx%s.f32%s", stems[i], ".ftz", "");
        /* a sweep: float(bits >> 3) + offset covers exponents that random floats near 1 miss */
        snprintf(name, sizeof(name), "%s.approx.f32 sweep", stems[i]);
        snprintf(body, sizeof(body),
                 "shr.u32 %%t0, $a, 1; xor.b32 %%t0, %%t0, $b; %s.approx.f32 $d, %%t0;", stems[i]);
        sil_add_body(rows, SIL_U32, "w:ww", name, body);
    }
    sil_add(rows, SIL_F32_CVT, "w:w", "tanh.approx.f32");
    sil_add(rows, SIL_F32, "w:ww", "div.approx.f32");
    sil_add(rows, SIL_F32, "w:ww", "div.approx.ftz.f32");
    sil_add(rows, SIL_F32, "w:ww", "div.full.f32");
    sil_add(rows, SIL_F32, "w:ww", "div.full.ftz.f32");
    sil_add(rows, SIL_F64, "l:l", "rcp.approx.ftz.f64");
    sil_add(rows, SIL_F64, "l:l", "rsqrt.approx.ftz.f64");
    sil_add(rows, SIL_F64, "l:l", "rsqrt.approx.f64");
}

static void rows_f64(struct sil_rows *rows)
{
    for (size_t r = 0; r < COUNT(roundings); r++) {
        addf(rows, SIL_F64, "l:ll", "add.%s.f64%s%s", roundings[r], "", "");
        addf(rows, SIL_F64, "l:ll", "mul.%s.f64%s%s", roundings[r], "", "");
        addf(rows, SIL_F64, "l:lll", "fma.%s.f64%s%s", roundings[r], "", "");
        addf(rows, SIL_F64, "l:ll", "div.%s.f64%s%s", roundings[r], "", "");
        addf(rows, SIL_F64, "l:l", "rcp.%s.f64%s%s", roundings[r], "", "");
        addf(rows, SIL_F64, "l:l", "sqrt.%s.f64%s%s", roundings[r], "", "");
    }
    sil_add(rows, SIL_F64, "l:ll", "sub.rn.f64");
    sil_add(rows, SIL_F64, "l:ll", "min.f64");
    sil_add(rows, SIL_F64, "l:ll", "max.f64");
    sil_add(rows, SIL_F64, "l:l", "neg.f64");
    sil_add(rows, SIL_F64, "l:l", "abs.f64");
    sil_add(rows, SIL_F64, "l:ll", "copysign.f64");
}

static void rows_half(struct sil_rows *rows, const char *type, enum sil_set set, char reg, bool f16)
{
    static const char *const suffix[] = {"", ".ftz", ".sat", ".ftz.sat"};
    static const char *const minmax[] = {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"};
    char one[4] = {reg, ':', reg, 0}, two[5] = {reg, ':', reg, reg, 0},
         three[6] = {reg, ':', reg, reg, reg, 0};

    for (size_t s = 0; s < (f16 ? 4 : 1); s++) {
        addf(rows, set, two, "add.rn%s.%s%s", suffix[s], type, "");
        addf(rows, set, two, "sub.rn%s.%s%s", suffix[s], type, "");
        addf(rows, set, two, "mul.rn%s.%s%s", suffix[s], type, "");
        addf(rows, set, three, "fma.rn%s.%s%s", suffix[s], type, "");
    }
    addf(rows, set, three, "fma.rn.relu.%s%s%s", type, "", "");
    if (f16)
        addf(rows, set, three, "fma.rn.ftz.relu.%s%s%s", type, "", "");
    for (size_t v = 0; v < COUNT(minmax); v++) {
        addf(rows, set, two, "min%s.%s%s", minmax[v], type, "");
        addf(rows, set, two, "max%s.%s%s", minmax[v], type, "");
    }
    addf(rows, set, one, "neg.%s%s%s", type, "", "");
    addf(rows, set, one, "abs.%s%s%s", type, "", "");
    addf(rows, set, one, "tanh.approx.%s%s%s", type, "", "");
    addf(rows, set, one, f16 ? "ex2.approx.%s%s%s" : "ex2.approx.ftz.%s%s%s", type, "", "");
}

static void rows_compare(struct sil_rows *rows, const char *type, enum sil_set set, char reg,
                         bool ftz)
{
    static const char *const ops[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                      "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    char name[SIL_NAME_MAX], body[256], sig[6];

    snprintf(sig, sizeof(sig), "w:%c%c", reg, reg);
    for (size_t i = 0; i < COUNT(ops); i++) {
        snprintf(name, sizeof(name), "setp.%s%s.%s", ops[i], ftz ? ".ftz" : "", type);
        snprintf(body, sizeof(body), "%s %%p, $a, $b; selp.u32 $d, 1, 0, %%p;", name);
        sil_add_body(rows, set, sig, name, body);
    }
    snprintf(name, sizeof(name), "set.lt.u32.%s", type);
    sil_add(rows, set, sig, name);
    snprintf(name, sizeof(name), "set.geu.f32.%s", type);
    if (set == SIL_F32 || set == SIL_F64)
        sil_add(rows, set, sig, name);
}

void sil_rows_float(struct sil_rows *rows)
{
    rows_f32_rounded(rows);
    rows_f32_simple(rows);
    rows_approx(rows);
    rows_f64(rows);
    rows_half(rows, "f16", SIL_F16, 'h', true);
    rows_half(rows, "f16x2", SIL_F16X2, 'w', true);
    rows_half(rows, "bf16", SIL_BF16, 'h', false);
    rows_half(rows, "bf16x2", SIL_BF16X2, 'w', false);
    rows_compare(rows, "f32", SIL_F32, 'w', false);
    rows_compare(rows, "f32", SIL_F32, 'w', true);
    rows_compare(rows, "f64", SIL_F64, 'l', false);
    rows_compare(rows, "f16", SIL_F16, 'h', false);
    rows_compare(rows, "bf16", SIL_BF16, 'h', false);
    sil_add(rows, SIL_F32, "w:www", "slct.u32.f32");
    sil_add(rows, SIL_F32, "w:www", "slct.ftz.u32.f32");
}
