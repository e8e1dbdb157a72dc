/*
 * Ranges of sums, products, quotients, extrema and comparisons: rules of spec/ir_facts.def.
 *
 * Arithmetic is done on integers without limits (of 128 bits), once on the unsigned and once on the
 * signed reading of the sources, and then cut to the width: whatever does not wrap in one reading
 * is exact in it. Bits follow rules of their own.
 */
#include "analysis/facts_impl.h"

/* ---- sums */

static struct facts_range facts_sum(const struct facts_range *a, const struct facts_range *b,
                                    unsigned w)
{
    struct facts_range r =
        facts_wrapped((facts_wide)a->least + b->least, (facts_wide)a->most + b->most, w);
    if (w > 1)
        r = facts_both(
            r, facts_wrapped((facts_wide)a->sleast + b->sleast, (facts_wide)a->smost + b->smost, w),
            w);
    return facts_both(r, facts_bits_of_sum(a->zeros, a->ones, b->zeros, b->ones, 0, w), w);
}

struct facts_range facts_minus(const struct facts_range *a, const struct facts_range *b, unsigned w)
{
    struct facts_range r =
        facts_wrapped((facts_wide)a->least - b->most, (facts_wide)a->most - b->least, w);
    if (w > 1)
        r = facts_both(
            r, facts_wrapped((facts_wide)a->sleast - b->smost, (facts_wide)a->smost - b->sleast, w),
            w);
    /* a + ~b + 1 */
    return facts_both(r, facts_bits_of_sum(a->zeros, a->ones, b->ones, b->zeros, 1, w), w);
}

struct facts_range facts_shifted(const struct facts_range *r, int64_t c, unsigned w)
{
    const struct facts_range by = facts_exactly_of((uint64_t)c, w);
    return facts_sum(r, &by, w);
}

/* .sat: of s32 only. */
static struct facts_range saturated(facts_wide least, facts_wide most)
{
    const facts_wide low = INT32_MIN, high = INT32_MAX;
    struct facts_range r = facts_any_of(32);
    r.sleast = (int64_t)HD_MIN(HD_MAX(least, low), high);
    r.smost = (int64_t)HD_MIN(HD_MAX(most, low), high);
    return facts_closed(r, 32);
}

struct facts_range facts_rule_add(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    if (ir_has(o->in, IR_MOD_SAT))
        return saturated((facts_wide)a->sleast + b->sleast, (facts_wide)a->smost + b->smost);
    return facts_sum(a, b, o->w);
}

struct facts_range facts_rule_sub(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    if (ir_has(o->in, IR_MOD_SAT))
        return saturated((facts_wide)a->sleast - b->smost, (facts_wide)a->smost - b->sleast);
    return facts_minus(a, b, o->w);
}

struct facts_range facts_rule_addc(const struct facts_op *o)
{
    const struct facts_range sum = facts_sum(&o->src[0], &o->src[1], o->w);
    return facts_sum(&sum, &o->src[2], o->w);
}

struct facts_range facts_rule_subc(const struct facts_op *o)
{
    const struct facts_range difference = facts_minus(&o->src[0], &o->src[1], o->w);
    return facts_minus(&difference, &o->src[2], o->w);
}

struct facts_range facts_decided(bool never, bool always)
{
    return never ? facts_exactly_of(0, 1) : always ? facts_exactly_of(1, 1) : facts_any_of(1);
}

struct facts_range facts_rule_carry(const struct facts_op *o)
{
    const struct facts_range *s = o->src;
    const facts_wide all = facts_mask(o->sw);
    return facts_decided((facts_wide)s[0].most + s[1].most + s[2].most <= all,
                         (facts_wide)s[0].least + s[1].least + s[2].least > all);
}

struct facts_range facts_rule_borrow(const struct facts_op *o)
{
    const struct facts_range *s = o->src;
    return facts_decided(s[0].least >= (facts_wide)s[1].most + s[2].most,
                         s[0].most < (facts_wide)s[1].least + s[2].least);
}

struct facts_range facts_rule_neg(const struct facts_op *o)
{
    const struct facts_range zero = facts_exactly_of(0, o->w);
    return facts_minus(&zero, &o->src[0], o->w);
}

struct facts_range facts_rule_abs(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0];
    const facts_wide l = a->sleast, m = a->smost;
    if (l >= 0)
        return *a;
    if (m < 0)
        return facts_rule_neg(o);
    return facts_wrapped(0, HD_MAX(-l, m), o->w);
}

struct facts_range facts_rule_sad(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    const facts_wide x =
        o->is_signed ? (facts_wide)a->smost - b->sleast : (facts_wide)a->most - b->least;
    const facts_wide y =
        o->is_signed ? (facts_wide)b->smost - a->sleast : (facts_wide)b->most - a->least;
    const struct facts_range apart = facts_wrapped(0, HD_MAX(HD_MAX(x, y), 0), o->w);
    return facts_sum(&apart, &o->src[2], o->w);
}

/* ---- products */

static void product_bounds(const struct facts_range *a, const struct facts_range *b,
                           facts_wide *least, facts_wide *most)
{
    const facts_wide p[] = {(facts_wide)a->sleast * b->sleast, (facts_wide)a->sleast * b->smost,
                            (facts_wide)a->smost * b->sleast, (facts_wide)a->smost * b->smost};
    *least = HD_MIN(HD_MIN(p[0], p[1]), HD_MIN(p[2], p[3]));
    *most = HD_MAX(HD_MAX(p[0], p[1]), HD_MAX(p[2], p[3]));
}

/* Bits of a * b, which does not depend on how they are read. */
static struct facts_range bits_of_product(const struct facts_range *a, const struct facts_range *b,
                                          unsigned w)
{
    const unsigned za = facts_low_zeros(a), zb = facts_low_zeros(b);
    const unsigned known = HD_MIN(facts_low_known(a) + zb, facts_low_known(b) + za);
    const uint64_t bits = a->ones * b->ones, below = facts_mask(HD_MIN(known, w));
    struct facts_range r = facts_any_of(w);

    if (za + zb >= w)
        return facts_exactly_of(0, w);
    if (!known)
        return r;
    r.zeros |= ~bits & below;
    r.ones = bits & below;
    return facts_closed(r, w);
}

struct facts_range facts_product(const struct facts_range *a, const struct facts_range *b,
                                 unsigned w)
{
    uint64_t unused;
    facts_wide least, most;
    struct facts_range r = facts_any_of(w);

    if (!__builtin_mul_overflow(a->most, b->most, &unused))
        r = facts_wrapped((facts_wide)a->least * b->least, (facts_wide)a->most * b->most, w);
    product_bounds(a, b, &least, &most);
    r = facts_both(r, facts_wrapped(least, most, w), w);
    return facts_both(r, bits_of_product(a, b, w), w);
}

struct facts_range facts_rule_mul(const struct facts_op *o)
{
    return facts_product(&o->src[0], &o->src[1], o->w);
}

struct facts_range facts_rule_mulwide(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    facts_wide least = (facts_wide)a->least * b->least, most = (facts_wide)a->most * b->most;
    if (o->is_signed)
        product_bounds(a, b, &least, &most);
    struct facts_range r = facts_wrapped(least, most, o->w);
    /* Bits above the sources' width are not theirs. */
    const struct facts_range low = bits_of_product(a, b, o->sw);
    r.zeros |= low.zeros & facts_mask(o->sw);
    r.ones |= low.ones;
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_mulhi(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    if (o->is_signed) {
        facts_wide least, most;
        product_bounds(a, b, &least, &most);
        return facts_wrapped(least >> o->w, most >> o->w, o->w);
    }
    __extension__ typedef unsigned __int128 wide;
    struct facts_range r = facts_any_of(o->w);
    r.least = (uint64_t)((wide)a->least * b->least >> o->w);
    r.most = (uint64_t)((wide)a->most * b->most >> o->w);
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_mul24lo(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    const facts_wide end = 1 << (o->is_signed ? 23 : 24);
    if (a->most >= (uint64_t)end || b->most >= (uint64_t)end)
        return facts_any_of(o->w);
    return facts_product(a, b, o->w);
}

/* What is divided by 0 is all ones; INT_MIN / -1 wraps. */
struct facts_range facts_rule_div(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    if (!o->is_signed) {
        struct facts_range r = facts_any_of(o->w);
        if (b->least) {
            r.least = a->least / b->most;
            r.most = a->most / b->least;
        }
        return facts_closed(r, o->w);
    }
    if (b->sleast <= 0)
        return facts_any_of(o->w);
    const int64_t q[] = {a->sleast / b->sleast, a->sleast / b->smost, a->smost / b->sleast,
                         a->smost / b->smost};
    return facts_wrapped(HD_MIN(q[0], q[1]), HD_MAX(q[2], q[3]), o->w);
}

/* x % 0 is x. */
struct facts_range facts_rule_rem(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    uint64_t c;
    if (!o->is_signed) {
        struct facts_range r = facts_any_of(o->w);
        if (a->most < b->least)
            return *a;
        r.most = b->least ? HD_MIN(a->most, b->most - 1) : a->most;
        if (facts_is_constant(b, &c) && c && hd_is_pow2(c)) {
            r.zeros |= (a->zeros & (c - 1)) | ~(c - 1);
            r.ones = a->ones & (c - 1);
        }
        return facts_closed(r, o->w);
    }
    facts_wide least = HD_MIN(a->sleast, 0), most = HD_MAX(a->smost, 0);
    if (b->sleast > 0 || b->smost < 0) {
        const facts_wide size = b->sleast > 0 ? b->smost : -(facts_wide)b->sleast;
        least = HD_MAX(least, 1 - size);
        most = HD_MIN(most, size - 1);
    }
    return facts_wrapped(least, most, o->w);
}

/* ---- extrema and choices */

static struct facts_range extremum(const struct facts_op *o, bool least)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    struct facts_range r = facts_join(a, b);
    if (o->is_signed) {
        r.sleast = least ? HD_MIN(a->sleast, b->sleast) : HD_MAX(a->sleast, b->sleast);
        r.smost = least ? HD_MIN(a->smost, b->smost) : HD_MAX(a->smost, b->smost);
    } else {
        r.least = least ? HD_MIN(a->least, b->least) : HD_MAX(a->least, b->least);
        r.most = least ? HD_MIN(a->most, b->most) : HD_MAX(a->most, b->most);
    }
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_min(const struct facts_op *o)
{
    return extremum(o, true);
}

struct facts_range facts_rule_max(const struct facts_op *o)
{
    return extremum(o, false);
}

struct facts_range facts_rule_select(const struct facts_op *o)
{
    uint64_t which;
    if (facts_is_constant(&o->src[0], &which))
        return o->src[which ? 1 : 2];
    return facts_join(&o->src[1], &o->src[2]);
}

/* src0, or false. */
struct facts_range facts_rule_agree(const struct facts_op *o)
{
    return facts_decided(!o->src[0].most, false);
}

struct facts_range facts_rule_setp(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    const bool sgn = o->is_signed && o->sw > 1;
    const bool below = sgn ? a->smost < b->sleast : a->most < b->least;
    const bool above = sgn ? b->smost < a->sleast : b->most < a->least;
    const bool not_above = sgn ? a->smost <= b->sleast : a->most <= b->least;
    const bool not_below = sgn ? b->smost <= a->sleast : b->most <= a->least;
    const bool apart = below || above || (a->ones & b->zeros) || (a->zeros & b->ones);
    const bool same = a->least == a->most && b->least == b->most && a->least == b->least;

    switch (o->in->cmp) {
    case IR_EQ:
        return facts_decided(apart, same);
    case IR_NE:
        return facts_decided(same, apart);
    case IR_LT:
        return facts_decided(not_below, below);
    case IR_LE:
        return facts_decided(above, not_above);
    case IR_GT:
        return facts_decided(not_above, above);
    case IR_GE:
        return facts_decided(below, not_below);
    default:
        return facts_any_of(1);
    }
}
