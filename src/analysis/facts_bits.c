/* Ranges of operations on bits, and of conversions: rules of spec/ir_facts.def. */
#include "analysis/facts_impl.h"

/* ---- bits */

struct facts_range facts_rule_and(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    struct facts_range r = facts_of_bits(a->zeros | b->zeros, a->ones & b->ones, o->w);
    r.most = HD_MIN(r.most, HD_MIN(a->most, b->most));
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_or(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    struct facts_range r = facts_of_bits(a->zeros & b->zeros, a->ones | b->ones, o->w);
    r.least = HD_MAX(r.least, HD_MAX(a->least, b->least));
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_xor(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    return facts_of_bits((a->zeros & b->zeros) | (a->ones & b->ones),
                         (a->zeros & b->ones) | (a->ones & b->zeros), o->w);
}

struct facts_range facts_rule_not(const struct facts_op *o)
{
    const struct facts_range ones = facts_exactly_of(UINT64_MAX, o->w);
    if (o->w == 1)
        return facts_of_bits(o->src[0].ones, o->src[0].zeros, 1);
    return facts_minus(&ones, &o->src[0], o->w);
}

struct facts_range facts_rule_cnot(const struct facts_op *o)
{
    const bool never = o->src[0].least > 0, always = !o->src[0].most;
    const struct facts_range r = facts_decided(never, always);
    return facts_wrapped(r.least, r.most, o->w);
}

struct facts_range facts_rule_lop3(const struct facts_op *o)
{
    uint64_t may_zero = 0, may_one = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t here = UINT64_MAX; /* bits where this row of the truth table can be the one */
        for (unsigned k = 0; k < 3; k++)
            here &= (i >> (2 - k)) & 1 ? ~o->src[k].zeros : ~o->src[k].ones;
        *((o->in->imm >> i) & 1 ? &may_one : &may_zero) |= here;
    }
    return facts_of_bits(~may_one, ~may_zero, o->w);
}

/* Counts of at least the width give 0. */
struct facts_range facts_rule_shl(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *n = &o->src[1];
    uint64_t k;
    if (facts_is_constant(n, &k)) {
        if (k >= o->w)
            return facts_exactly_of(0, o->w);
        const struct facts_range factor = facts_exactly_of(UINT64_C(1) << k, o->w);
        return facts_product(a, &factor, o->w);
    }
    struct facts_range r =
        facts_of_bits(facts_mask((unsigned)HD_MIN(facts_low_zeros(a) + n->least, o->w)), 0, o->w);
    if (n->most < o->w && a->most <= facts_mask(o->w) >> n->most)
        r = facts_both(
            r,
            facts_wrapped((facts_wide)a->least << n->least, (facts_wide)a->most << n->most, o->w),
            o->w);
    return r;
}

/* One number of places, below 64. */
static struct facts_range shifted_right(const struct facts_range *a, unsigned k, bool sgn,
                                        unsigned w)
{
    const uint64_t all = facts_mask(w);
    struct facts_range r = facts_any_of(w);
    if (sgn) {
        r.sleast = a->sleast >> k;
        r.smost = a->smost >> k;
        r.zeros |= (uint64_t)(facts_extend(a->zeros & all, w) >> k) & all;
        r.ones = (uint64_t)(facts_extend(a->ones, w) >> k) & all;
    } else {
        r.least = a->least >> k;
        r.most = a->most >> k;
        r.zeros = a->zeros >> k | ~(all >> k);
        r.ones = a->ones >> k;
    }
    return facts_closed(r, w);
}

struct facts_range facts_rule_shr(const struct facts_op *o)
{
    const struct facts_range *n = &o->src[1];
    const unsigned end = o->is_signed ? o->w - 1 : o->w; /* as far as that everything is out */
    const unsigned least = (unsigned)HD_MIN(n->least, end), most = (unsigned)HD_MIN(n->most, end);
    struct facts_range r = facts_exactly_of(0, o->w), s = r;

    if (least < 64)
        r = shifted_right(&o->src[0], least, o->is_signed, o->w);
    if (least == most)
        return r;
    if (most < 64)
        s = shifted_right(&o->src[0], most, o->is_signed, o->w);
    /* Only the interval of this reading goes evenly from one end to the other. */
    struct facts_range out = facts_any_of(o->w);
    if (o->is_signed) {
        out.sleast = HD_MIN(r.sleast, s.sleast);
        out.smost = HD_MAX(r.smost, s.smost);
    } else {
        out.least = HD_MIN(r.least, s.least);
        out.most = HD_MAX(r.most, s.most);
    }
    return facts_closed(out, o->w);
}

/* By a known count; o->src[0] has the low half. */
static struct facts_range funnel(const struct facts_op *o, bool left)
{
    const struct facts_range *low = &o->src[0], *high = &o->src[1];
    uint64_t n;
    if (!facts_is_constant(&o->src[2], &n))
        return facts_any_of(o->w);
    n = ir_has(o->in, IR_MOD_WRAP) ? n & 31 : HD_MIN(n, 32u);
    const uint64_t zeros = (high->zeros & UINT32_MAX) << 32 | (low->zeros & UINT32_MAX);
    const uint64_t ones = high->ones << 32 | low->ones;
    return left ? facts_of_bits(zeros << n >> 32, ones << n >> 32, o->w)
                : facts_of_bits(zeros >> n & UINT32_MAX, ones >> n & UINT32_MAX, o->w);
}

struct facts_range facts_rule_shfl_l(const struct facts_op *o)
{
    return funnel(o, true);
}

struct facts_range facts_rule_shfl_r(const struct facts_op *o)
{
    return funnel(o, false);
}

/* Bytes by a known selector. */
struct facts_range facts_rule_prmt(const struct facts_op *o)
{
    const uint64_t zeros = (o->src[1].zeros & UINT32_MAX) << 32 | (o->src[0].zeros & UINT32_MAX);
    const uint64_t ones = o->src[1].ones << 32 | o->src[0].ones;
    uint64_t selector, z = 0, s = 0;
    if (!facts_is_constant(&o->src[2], &selector) || o->in->imm != IR_PRMT_IDX)
        return facts_any_of(o->w);
    for (unsigned i = 0; i < 4; i++) {
        const unsigned nibble = (unsigned)(selector >> (4 * i)) & 15, at = 8 * (nibble & 7);
        uint64_t bz = zeros >> at & 0xff, bo = ones >> at & 0xff;
        if (nibble & 8) { /* the sign, eight times */
            bz = bz & 0x80 ? 0xff : 0;
            bo = bo & 0x80 ? 0xff : 0;
        }
        z |= bz << (8 * i);
        s |= bo << (8 * i);
    }
    return facts_of_bits(z, s, o->w);
}

/* A field at a known place. */
struct facts_range facts_rule_bfe(const struct facts_op *o)
{
    uint64_t pos, len;
    if (!facts_is_constant(&o->src[1], &pos) || !facts_is_constant(&o->src[2], &len))
        return facts_any_of(o->w);
    pos &= 0xff;
    len &= 0xff;
    if (!len || (pos >= o->w && !o->is_signed))
        return facts_exactly_of(0, o->w);
    if (pos >= o->w)
        return shifted_right(&o->src[0], o->w - 1, true, o->w);
    const unsigned width = (unsigned)HD_MIN(len, o->w - pos), up = o->w - width - (unsigned)pos;
    const struct facts_range factor = facts_exactly_of(UINT64_C(1) << up, o->w);
    const struct facts_range top = facts_product(&o->src[0], &factor, o->w);
    return shifted_right(&top, o->w - width, o->is_signed, o->w);
}

struct facts_range facts_rule_bfi(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0], *b = &o->src[1];
    uint64_t pos, len;
    if (!facts_is_constant(&o->src[2], &pos) || !facts_is_constant(&o->src[3], &len))
        return facts_any_of(o->w);
    pos &= 0xff;
    len &= 0xff;
    if (!len || pos >= o->w)
        return *b;
    const uint64_t field = facts_mask((unsigned)HD_MIN(len, 64u)) << pos & facts_mask(o->w);
    return facts_of_bits((b->zeros & ~field) | (a->zeros << pos & field),
                         (b->ones & ~field) | (a->ones << pos & field), o->w);
}

struct facts_range facts_rule_bfind(const struct facts_op *o)
{
    struct facts_range r = facts_any_of(o->w);
    if (!o->is_signed && o->src[0].least)
        r.most = o->sw - 1;
    return facts_closed(r, o->w);
}

struct facts_range facts_rule_fns(const struct facts_op *o)
{
    struct facts_range r = facts_any_of(o->w);
    r.sleast = -1;
    r.smost = 31;
    return facts_closed(r, o->w);
}

/* A run of ones: none below its start. */
struct facts_range facts_rule_bmsk(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0];
    if (a->most > 31)
        return facts_any_of(o->w);
    return facts_of_bits(facts_mask((unsigned)a->least), 0, o->w);
}

struct facts_range facts_rule_szext(const struct facts_op *o)
{
    uint64_t len;
    if (!facts_is_constant(&o->src[1], &len))
        return facts_any_of(o->w);
    len = ir_has(o->in, IR_MOD_WRAP) ? len & 31 : len;
    if (!len)
        return facts_exactly_of(0, o->w);
    if (len >= 32)
        return o->src[0];
    const struct facts_range factor = facts_exactly_of(UINT64_C(1) << (32 - len), o->w);
    const struct facts_range top = facts_product(&o->src[0], &factor, o->w);
    return shifted_right(&top, 32 - (unsigned)len, o->is_signed, o->w);
}

static unsigned clz_of(uint64_t x, unsigned w)
{
    return x ? (unsigned)__builtin_clzll(x) - (64 - w) : w;
}

struct facts_range facts_rule_clz(const struct facts_op *o)
{
    return facts_wrapped(clz_of(o->src[0].most, o->sw), clz_of(o->src[0].least, o->sw), o->w);
}

struct facts_range facts_rule_popc(const struct facts_op *o)
{
    return facts_wrapped(__builtin_popcountll(o->src[0].ones),
                         __builtin_popcountll(~o->src[0].zeros), o->w);
}

static uint64_t reversed(uint64_t x, unsigned w)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < w; i++)
        r |= (x >> i & 1) << (w - 1 - i);
    return r;
}

struct facts_range facts_rule_brev(const struct facts_op *o)
{
    return facts_of_bits(reversed(o->src[0].zeros, o->w), reversed(o->src[0].ones, o->w), o->w);
}

/* The sign bit of one element. */
struct facts_range facts_rule_fabs(const struct facts_op *o)
{
    const uint64_t sign = UINT64_C(1) << (o->w - 1);
    return ir_has(o->in, IR_MOD_FTZ)
               ? facts_of_bits(sign, 0, o->w)
               : facts_of_bits(o->src[0].zeros | sign, o->src[0].ones & ~sign, o->w);
}

struct facts_range facts_rule_fneg(const struct facts_op *o)
{
    const uint64_t sign = UINT64_C(1) << (o->w - 1), zeros = o->src[0].zeros, ones = o->src[0].ones;
    if (ir_has(o->in, IR_MOD_FTZ))
        return facts_any_of(o->w);
    return facts_of_bits((zeros & ~sign) | (ones & sign), (ones & ~sign) | (zeros & sign), o->w);
}

/* ---- widths */

struct facts_range facts_rule_cvt(const struct facts_op *o)
{
    const struct ir_instr *in = o->in;
    const unsigned w = ir_type_bits(in->type);
    const struct facts_range *a = &o->src[0];

    assert(w == o->w);
    if (ir_type_is_float(in->type) || ir_type_is_float(in->type2) || in->type2 == IR_PRED ||
        in->type == IR_TF32 || ir_type_lanes(in->type) > 1 || ir_type_lanes(in->type2) > 1)
        return facts_any_of(w);
    const bool from_signed = ir_type_is_signed(in->type2);
    facts_wide least = a->least, most = a->most;
    if (from_signed) {
        least = a->sleast;
        most = a->smost;
    }
    if (ir_has(in, IR_MOD_SAT)) {
        const facts_wide half = (facts_wide)1 << (w - 1);
        const facts_wide low = o->is_signed ? -half : 0,
                         high = o->is_signed ? half - 1 : 2 * half - 1;
        return facts_wrapped(HD_MIN(HD_MAX(least, low), high), HD_MIN(HD_MAX(most, low), high), w);
    }
    struct facts_range r = facts_wrapped(least, most, w);
    uint64_t zeros = a->zeros, ones = a->ones;
    if (w > o->sw && from_signed) {
        zeros = (uint64_t)facts_extend(zeros & facts_mask(o->sw), o->sw);
        ones = (uint64_t)facts_extend(ones, o->sw);
    }
    return facts_both(r, facts_of_bits(zeros & facts_mask(w), ones, w), w);
}

struct facts_range facts_rule_pack(const struct facts_op *o)
{
    uint64_t zeros = 0, ones = 0;
    for (uint32_t i = 0; i < o->in->nsrc; i++) {
        const unsigned each = o->w / o->in->nsrc;
        zeros |= (o->src[i].zeros & facts_mask(each)) << (i * each);
        ones |= o->src[i].ones << (i * each);
    }
    return facts_of_bits(zeros, ones, o->w);
}

struct facts_range facts_rule_unpack(const struct facts_op *o)
{
    const uint64_t at = o->in->imm * o->w, all = facts_mask(o->w);
    if (at >= 64)
        return facts_any_of(o->w);
    return facts_of_bits(o->src[0].zeros >> at & all, o->src[0].ones >> at & all, o->w);
}
