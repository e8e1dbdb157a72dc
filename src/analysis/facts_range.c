/* Ranges: intervals and bits that tighten each other; the table of spec/ir_facts.def. */
#include "analysis/facts_impl.h"

/* ---- ranges */

struct facts_range facts_any_of(unsigned w)
{
    const uint64_t all = facts_mask(w), half = all >> 1;

    assert(w && w <= 64);
    if (w == 1)
        return (struct facts_range){0, 1, 0, 1, ~all, 0};
    return (struct facts_range){0, all, -(int64_t)half - 1, (int64_t)half, ~all, 0};
}

struct facts_range facts_exactly_of(uint64_t bits, unsigned w)
{
    bits &= facts_mask(w);
    const int64_t s = facts_extend(bits, w);
    return (struct facts_range){bits, bits, s, s, ~bits, bits};
}

struct facts_range facts_any(enum ir_type type)
{
    return facts_any_of(HD_MIN(ir_type_bits(type), 64u));
}

struct facts_range facts_exactly(enum ir_type type, uint64_t bits)
{
    return facts_exactly_of(bits, HD_MIN(ir_type_bits(type), 64u));
}

bool facts_is_constant(const struct facts_range *r, uint64_t *out)
{
    *out = r->least;
    return r->least == r->most;
}

struct facts_range facts_join(const struct facts_range *a, const struct facts_range *b)
{
    return (struct facts_range){HD_MIN(a->least, b->least),   HD_MAX(a->most, b->most),
                                HD_MIN(a->sleast, b->sleast), HD_MAX(a->smost, b->smost),
                                a->zeros & b->zeros,          a->ones & b->ones};
}

/* The unsigned interval from known bits: a multiple of the lowest bit that may be set. */
static bool close_unsigned(struct facts_range *r)
{
    const uint64_t may = ~r->zeros;
    r->least = HD_MAX(r->least, r->ones);
    r->most = HD_MIN(r->most, may);
    if (may > 1 && !(may & 1)) {
        const uint64_t below = (may & -may) - 1;
        if (r->least > UINT64_MAX - below)
            return false;
        r->least = (r->least + below) & ~below;
        r->most &= ~below;
    }
    return r->least <= r->most;
}

static bool close_signed(struct facts_range *r, unsigned w)
{
    const uint64_t all = facts_mask(w), half = w == 1 ? 1 : all >> 1;
    if (r->most <= half) {
        r->sleast = HD_MAX(r->sleast, (int64_t)r->least);
        r->smost = HD_MIN(r->smost, (int64_t)r->most);
    } else if (r->least > half) {
        r->sleast = HD_MAX(r->sleast, facts_extend(r->least, w));
        r->smost = HD_MIN(r->smost, facts_extend(r->most, w));
    }
    if (r->sleast > r->smost)
        return false;
    if (r->sleast >= 0 || r->smost < 0) {
        r->least = HD_MAX(r->least, (uint64_t)r->sleast & all);
        r->most = HD_MIN(r->most, (uint64_t)r->smost & all);
    }
    return r->least <= r->most;
}

bool facts_close(struct facts_range *r, unsigned w)
{
    for (unsigned i = 0; i < 2; i++) {
        if ((r->zeros & r->ones) || !close_unsigned(r) || !close_signed(r, w))
            return false;
        /* Above the highest bit in which both ends differ all numbers between are alike. */
        const uint64_t known = ~facts_filled(r->least ^ r->most);
        if (!(known & ~(r->zeros | r->ones)))
            return true;
        r->ones |= r->least & known;
        r->zeros |= ~r->least & known;
    }
    return !(r->zeros & r->ones);
}

struct facts_range facts_closed(struct facts_range r, unsigned w)
{
    return facts_close(&r, w) ? r : facts_any_of(w);
}

struct facts_range facts_meet(const struct facts_range *a, const struct facts_range *b, unsigned w)
{
    struct facts_range r = {HD_MAX(a->least, b->least),   HD_MIN(a->most, b->most),
                            HD_MAX(a->sleast, b->sleast), HD_MIN(a->smost, b->smost),
                            a->zeros | b->zeros,          a->ones | b->ones};
    return facts_close(&r, w) ? r : *a;
}

struct facts_range facts_wrapped(facts_wide least, facts_wide most, unsigned w)
{
    const facts_wide half = (facts_wide)1 << (w - 1);
    struct facts_range r = facts_any_of(w);

    assert(least <= most);
    if (least >> w == most >> w) {
        r.least = (uint64_t)least & facts_mask(w);
        r.most = (uint64_t)most & facts_mask(w);
    }
    if (w > 1 && (least + half) >> w == (most + half) >> w) {
        r.sleast = facts_extend((uint64_t)least & facts_mask(w), w);
        r.smost = facts_extend((uint64_t)most & facts_mask(w), w);
    }
    return facts_closed(r, w);
}

/* ---- bits */

struct facts_range facts_of_bits(uint64_t zeros, uint64_t ones, unsigned w)
{
    struct facts_range r = facts_any_of(w);
    r.zeros |= zeros;
    r.ones = ones & facts_mask(w);
    return facts_closed(r, w);
}

/* Bits of a + b + carry: those of whose sum and carry both are known. */
struct facts_range facts_bits_of_sum(uint64_t az, uint64_t ao, uint64_t bz, uint64_t bo,
                                     unsigned carry, unsigned w)
{
    const uint64_t most = ~az + ~bz + carry, least = ao + bo + carry;
    const uint64_t carry_zero = ~(most ^ az ^ bz), carry_one = least ^ ao ^ bo;
    const uint64_t known = (az | ao) & (bz | bo) & (carry_zero | carry_one) & facts_mask(w);
    return facts_of_bits(~least & known, least & known, w);
}

unsigned facts_low_zeros(const struct facts_range *r)
{
    return ~r->zeros ? (unsigned)__builtin_ctzll(~r->zeros) : 64;
}

/* How many low bits are known. */
unsigned facts_low_known(const struct facts_range *r)
{
    const uint64_t unknown = ~(r->zeros | r->ones);
    return unknown ? (unsigned)__builtin_ctzll(unknown) : 64;
}

struct facts_range facts_both(struct facts_range a, struct facts_range b, unsigned w)
{
    return facts_meet(&a, &b, w);
}

/* ---- the table */

struct facts_range facts_rule_any(const struct facts_op *o)
{
    return facts_any_of(o->w);
}

const struct facts_row facts_rows[IR_OP_COUNT] = {
#define X(name, range, form, scope, roots)                                                         \
    [IR_OP_##name] = {facts_rule_##range, FORM_##form, SCOPE_##scope, ROOTS_##roots},
#include "ir_facts.def"
#undef X
};
/* A row for each operation, and no row twice. */
enum {
#define X(name, ...) ROW_OF_##name,
#include "ir_facts.def"
#undef X
    ROWS
};
_Static_assert((int)ROWS == (int)IR_OP_COUNT,
               "spec/ir_facts.def has a row for each of spec/ir_ops.def");

struct facts_range facts_eval(const struct ir_instr *in, const struct facts_range *src)
{
    const bool has = ir_operands_fixed(ir_op_infos[in->op].dst) == 1;
    const enum ir_type type = has ? ir_dst_type(in, 0) : IR_VOID;
    const unsigned w = ir_type_bits(type);
    struct facts_op o = {.in = in, .src = src, .w = w};

    if (!w || w > 64 || ir_type_lanes(in->type) > 1)
        return facts_any_of(w && w <= 64 ? w : 64);
    o.is_signed = ir_type_is_signed(in->type);
    o.sw = w;
    if (in->nsrc && in->op != IR_OP_SELECT && in->op != IR_OP_PACK && in->op != IR_OP_UNPACK)
        o.sw = ir_type_bits(ir_src_type(in, 0));
    return facts_rows[in->op].range(&o);
}
