/* See tcore.h: which rule, and the reference. */
#include "tcore/tcore.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/env.h"
#include "base/float/softfp.h"
#include "base/mem.h"

/* ---- which rule */

struct row {
    const char *name, *machine, *another;
    uint8_t fraction, step_B, fraction_fp8, fraction_fp8_wgmma;
};

static const struct row rows[] = {
#define X(name, ...) {#name, __VA_ARGS__},
#include "tensor_cores.def"
#undef X
};

/* Looked up once: threads find the same. NULL: "chain", or nothing was said. */
static const struct row *row_get(void)
{
    static const struct row *_Atomic found;
    static _Atomic bool is_known;
    const char *name, *machine;

    if (is_known)
        return found;
    name = hd_env("HEDDLE_MMA");
    machine = hd_env("HEDDLE_MACHINE");
    for (const struct row *row = rows; row < rows + HD_COUNT_OF(rows); row++)
        if (name ? !strcmp(row->name, name)
                 : machine && (!strcmp(row->machine, machine) || !strcmp(row->another, machine)))
            found = row;
    is_known = true;
    return found;
}

bool tcore_is_set(void)
{
    return row_get() != NULL;
}

bool tcore_rule_find(const struct tcore_kind *kind, struct tcore_rule *out)
{
    const struct row *row = row_get();
    unsigned bits = kind->bits < 8 ? 8 : kind->bits;

    if (!row)
        return false;
    *out = (struct tcore_rule){.fraction = row->fraction};
    if (kind->is_fp8)
        out->fraction = kind->unit == TCORE_WGMMA ? row->fraction_fp8_wgmma : row->fraction_fp8;
    out->is_short = out->fraction == 13;
    if (kind->is_grouped) {
        out->in_groups = true; /* two elements to a byte */
        out->fraction = 35;
        bits = 4;
    }
    out->step = (uint8_t)(row->step_B * 8u / bits);
    return true;
}

/* ---- sums */

static int exponent_of(int least, float x)
{
    int exponent;

    if (x == 0)
        return TCORE_ZERO_EXPONENT;
    (void)frexpf(x, &exponent);
    return HD_MAX(exponent - 1, least);
}

/* Terms of one step: what they are, and by which exponent each is aligned. */
enum { TERMS_MAX = 129 };

struct terms {
    unsigned n;
    double value[TERMS_MAX];
    int exponent[TERMS_MAX];
};

static void term_add(struct terms *t, double value, int exponent)
{
    assert(t->n < TERMS_MAX);
    t->value[t->n] = value;
    t->exponent[t->n++] = exponent;
}

static float scale_at(const float *scales, unsigned i)
{
    return scales ? scales[i] : 1.0f;
}

static int scale_exponent(const struct tcore_products *p, const float *scales, unsigned i)
{
    return scales ? exponent_of(p->scale_least, scales[i]) : 0;
}

static void step_terms(const struct tcore_rule *rule, const struct tcore_products *p,
                       unsigned first, unsigned n, struct terms *t)
{
    const unsigned group = rule->in_groups ? TCORE_SCALED_GROUP : 1;

    for (unsigned i = first; i < first + n; i += group) {
        double value = 0;
        for (unsigned j = i; j < i + group && j < first + n; j++)
            value += (double)p->a[j] * p->b[j];
        value *= (double)scale_at(p->scale_a, i) * scale_at(p->scale_b, i);
        int exponent = scale_exponent(p, p->scale_a, i) + scale_exponent(p, p->scale_b, i);
        if (!rule->in_groups)
            exponent += exponent_of(p->a_least, p->a[i]) + exponent_of(p->b_least, p->b[i]);
        term_add(t, value, exponent);
    }
}

/* Towards zero; what is too large is infinite all the same. */
static float cut(double sum, bool is_short)
{
    float f = (float)sum;
    uint32_t bits;

    if (fabs(sum) < 0x1p128 && fabs((double)f) > fabs(sum))
        f = nextafterf(f, 0);
    if (!is_short || isinf(f))
        return f;
    memcpy(&bits, &f, sizeof(bits));
    bits = bits >> TCORE_SHORT_BITS << TCORE_SHORT_BITS;
    memcpy(&f, &bits, sizeof(bits));
    return f;
}

/*
 * One step. The sum of what is kept is exact: fewer than 53 bits are between the largest term and
 * the last bit.
 */
static float step_sum(const struct tcore_rule *rule, const struct tcore_products *p,
                      const struct terms *t)
{
    const int fraction = rule->fraction;
    int most = t->exponent[0];
    double plain = 0, sum = 0;
    uint64_t bits;
    uint32_t single;
    float half;

    for (unsigned i = 0; i < t->n; i++) {
        plain += t->value[i];
        most = HD_MAX(most, t->exponent[i]);
    }
    if (!isfinite(plain))
        return (float)plain;
    for (unsigned i = 0; i < t->n; i++)
        sum += trunc(ldexp(t->value[i], fraction - most));
    sum = ldexp(sum + 0.0, most - fraction); /* never a negative zero */
    if (!p->d_is_half)
        return cut(sum, rule->is_short);
    memcpy(&bits, &sum, sizeof(bits));
    bits = hd_fp_pack(&hd_fp_f16, hd_fp_unpack(&hd_fp_f64, bits), HD_FP_RN, false);
    single = (uint32_t)hd_fp_pack(&hd_fp_f32, hd_fp_unpack(&hd_fp_f16, bits), HD_FP_RN, false);
    memcpy(&half, &single, sizeof(half));
    return half;
}

float tcore_sum(const struct tcore_rule *rule, const struct tcore_products *p, float c)
{
    int least = p->c_least;

    for (unsigned first = 0; first < p->n; first += rule->step) {
        struct terms t = {0};
        term_add(&t, c, exponent_of(least, c));
        step_terms(rule, p, first, HD_MIN(rule->step, p->n - first), &t);
        c = step_sum(rule, p, &t);
        least = p->d_is_half ? TCORE_HALF_LEAST : -126;
    }
    return c;
}

/* ---- vectors */

bool tcore_form_init(struct tcore_form *f, const struct tcore_rule *rule, unsigned k, int a_least,
                     int b_least, bool c_is_half, bool d_is_half)
{
    const bool is_wide = a_least < TCORE_HALF_LEAST || b_least < TCORE_HALF_LEAST;
    const unsigned per = is_wide ? 2 : 4, n = HD_MIN(rule->step, k);

    if (rule->in_groups || k > TCORE_K || (k + n - 1) / n > TCORE_STEPS ||
        (k + n - 1) / n * ((n + per - 1) / per) > TCORE_GROUPS || (rule->is_short && is_wide))
        return false;
    *f = (struct tcore_form){.rule = *rule,
                             .k = (uint8_t)k,
                             .a_least = (int8_t)a_least,
                             .b_least = (int8_t)b_least,
                             .is_wide = is_wide,
                             .c_is_half = c_is_half,
                             .d_is_half = d_is_half};
    f->rule.is_short &= !d_is_half; /* which says how f32 is cut */
    f->how = f->rule.is_short ? TCORE_SHORT : n <= 8 ? TCORE_WHOLE : TCORE_DOUBLES;
    return true;
}

#if defined(__x86_64__)
#include <immintrin.h>

extern const struct tcore_vectors tcore_vectors_avx2, tcore_vectors_avx512,
    tcore_vectors_avx512_popcount;

const struct tcore_vectors *tcore_vectors_get(enum hd_host_level level, bool has_popcount)
{
    switch (level) {
    case HD_HOST_AVX512:
        return has_popcount ? &tcore_vectors_avx512_popcount : &tcore_vectors_avx512;
    case HD_HOST_AVX2:
        return &tcore_vectors_avx2;
    default:
        return NULL;
    }
}

const struct tcore_vectors *tcore_vectors_best(void)
{
    const bool has_avx512 = hd_host_has(HD_HOST_AVX512);

    return tcore_vectors_get(has_avx512                  ? HD_HOST_AVX512
                             : hd_host_has(HD_HOST_AVX2) ? HD_HOST_AVX2
                                                         : HD_HOST_GENERIC,
                             has_avx512 && __builtin_cpu_supports("avx512vpopcntdq"));
}

enum { MXCSR_DEFAULT = 0x1f80 };

/* Towards zero. Where sums are doubles a zero one has a last bit, which is no number. */
unsigned tcore_enter(bool adds)
{
    const unsigned mode = _mm_getcsr();

    _mm_setcsr(MXCSR_DEFAULT | _MM_ROUND_TOWARD_ZERO | (adds ? _MM_DENORMALS_ZERO_ON : 0));
    return mode;
}

void tcore_leave(unsigned mode)
{
    _mm_setcsr(mode);
}

#else

const struct tcore_vectors *tcore_vectors_get(enum hd_host_level level, bool has_popcount)
{
    (void)level, (void)has_popcount;
    return NULL;
}

const struct tcore_vectors *tcore_vectors_best(void)
{
    return NULL;
}

unsigned tcore_enter(bool adds)
{
    (void)adds;
    return 0;
}

void tcore_leave(unsigned mode)
{
    (void)mode;
}

#endif
