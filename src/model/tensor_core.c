/* See tensor_core.h. */
#include "model/tensor_core.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/env.h"
#include "base/float/softfp.h"

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

bool ir_core_is_set(void)
{
    return row_get() != NULL;
}

bool ir_core_rule_find(enum ir_core_unit unit, enum ir_type a, enum ir_type b, bool scaled,
                       unsigned k, struct ir_core_rule *out)
{
    const struct row *row = row_get();
    const bool is_fp8 = (a == IR_E4M3 || a == IR_E5M2) && (b == IR_E4M3 || b == IR_E5M2);

    if (!row || !ir_type_is_float(a) || a == IR_F64)
        return false;
    unsigned bits = ir_type_bits(a) < 8 ? 8 : ir_type_bits(a);
    *out = (struct ir_core_rule){.fraction = row->fraction};
    if (is_fp8 && !scaled)
        out->fraction = unit == IR_CORE_WGMMA ? row->fraction_fp8_wgmma : row->fraction_fp8;
    out->is_short = out->fraction == 13;
    if (scaled && a == IR_E2M1 && b == IR_E2M1 && k >= 64) {
        out->in_groups = true; /* two elements to a byte */
        out->fraction = 35;
        bits = 4;
    }
    out->step = (uint8_t)(row->step_B * 8u / bits);
    return true;
}

/* ---- sums */

int ir_core_least(enum ir_type type)
{
    switch (type) {
    case IR_F16:
    case IR_E5M2:
        return -14;
    case IR_E4M3:
    case IR_UE4M3:
        return -6;
    case IR_E3M2:
        return -2;
    case IR_E2M3:
    case IR_E2M1:
        return 0;
    case IR_UE8M0:
        return -127;
    default:
        return -126;
    }
}

int ir_core_exponent(enum ir_type type, float x)
{
    int exponent;

    if (x == 0)
        return IR_CORE_ZERO_EXPONENT;
    (void)frexpf(x, &exponent);
    return HD_MAX(exponent - 1, ir_core_least(type));
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

static int scale_exponent(const struct ir_core_products *p, const float *scales, unsigned i)
{
    return scales ? ir_core_exponent(p->scale_type, scales[i]) : 0;
}

static void step_terms(const struct ir_core_rule *rule, const struct ir_core_products *p,
                       unsigned first, unsigned n, struct terms *t)
{
    const unsigned group = rule->in_groups ? IR_CORE_SCALED_GROUP : 1;

    for (unsigned i = first; i < first + n; i += group) {
        double value = 0;
        for (unsigned j = i; j < i + group && j < first + n; j++)
            value += (double)p->a[j] * p->b[j];
        value *= (double)scale_at(p->scale_a, i) * scale_at(p->scale_b, i);
        int exponent = scale_exponent(p, p->scale_a, i) + scale_exponent(p, p->scale_b, i);
        if (!rule->in_groups)
            exponent += ir_core_exponent(p->a_type, p->a[i]) + ir_core_exponent(p->b_type, p->b[i]);
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
    bits = bits >> IR_CORE_SHORT_BITS << IR_CORE_SHORT_BITS;
    memcpy(&f, &bits, sizeof(bits));
    return f;
}

/*
 * One step. The sum of what is kept is exact: fewer than 53 bits are between the largest term and
 * the last bit.
 */
static float step_sum(const struct ir_core_rule *rule, const struct ir_core_products *p,
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
    if (p->d_type != IR_F16)
        return cut(sum, rule->is_short);
    memcpy(&bits, &sum, sizeof(bits));
    bits = hd_fp_pack(&hd_fp_f16, hd_fp_unpack(&hd_fp_f64, bits), HD_FP_RN, false);
    single = (uint32_t)hd_fp_pack(&hd_fp_f32, hd_fp_unpack(&hd_fp_f16, bits), HD_FP_RN, false);
    memcpy(&half, &single, sizeof(half));
    return half;
}

float ir_core_sum(const struct ir_core_rule *rule, const struct ir_core_products *p, float c)
{
    enum ir_type type = p->c_type;

    for (unsigned first = 0; first < p->n; first += rule->step) {
        struct terms t = {0};
        term_add(&t, c, ir_core_exponent(type, c));
        step_terms(rule, p, first, HD_MIN(rule->step, p->n - first), &t);
        c = step_sum(rule, p, &t);
        type = p->d_type;
    }
    return c;
}
