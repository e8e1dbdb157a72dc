/*
 * Between which unsigned numbers a value is.
 *
 * Sources compute with signed thread numbers, and compilers that do not know their range round
 * t / 16 towards zero for a negative t. What can be no negative number needs none of that. And
 * compilers count the iterations of `for (i = t; i < 512; i += 256)` by t, without asking whether a
 * block of at most 256 threads (.maxntid) leaves a choice.
 */
#include "opt/passes.h"

enum { DEPTH_MAX = 6 };

static const struct opt_range anything = {0, UINT64_MAX};

static struct opt_range bound_range_of(const struct ir_value *v, unsigned depth);

static struct opt_range bound_up_to(uint64_t greatest)
{
    return (struct opt_range){0, greatest};
}

/* Threads of a block that a launch may have, the greatest product of the three sizes: launches of
 * more are refused (core/stream/launch.c). */
static uint64_t bound_threads_of(const struct ir_func *func)
{
    const uint32_t *n = func->reqntid[0] ? func->reqntid : func->maxntid;
    uint64_t threads = (uint64_t)n[0] * HD_MAX(n[1], 1u) * HD_MAX(n[2], 1u);
    return func->is_kernel && threads && threads < 1024 ? threads : 1024;
}

/* Technical specifications per compute capability, CUDA C++ Programming Guide. */
static struct opt_range bound_range_of_sreg(const struct ir_instr *in)
{
    const uint64_t threads = bound_threads_of(in->block->func);
    switch ((enum ir_sreg)in->imm) {
    case IR_SREG_TID_X:
    case IR_SREG_TID_Y:
        return bound_up_to(threads - 1);
    case IR_SREG_TID_Z:
        return bound_up_to(HD_MIN(threads, 64u) - 1);
    case IR_SREG_NTID_X:
    case IR_SREG_NTID_Y:
        return (struct opt_range){1, threads};
    case IR_SREG_NTID_Z:
        return (struct opt_range){1, HD_MIN(threads, 64u)};
    case IR_SREG_LANEID:
    case IR_SREG_WARPID:
        return bound_up_to(31);
    case IR_SREG_NWARPID:
        return bound_up_to(32);
    case IR_SREG_CTAID_X:
    case IR_SREG_NCTAID_X:
        return bound_up_to(INT32_MAX);
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return bound_up_to(UINT16_MAX);
    default:
        return anything;
    }
}

static uint64_t bound_product(uint64_t a, uint64_t b)
{
    uint64_t out;
    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

static struct opt_range bound_range_of_product(struct opt_range a, struct opt_range b, uint64_t all)
{
    const uint64_t greatest = bound_product(a.greatest, b.greatest);
    return greatest > all ? anything : (struct opt_range){a.least * b.least, greatest};
}

/* Where all sums wrap, or none; adding a negative number is the former. */
static struct opt_range bound_range_of_sum(struct opt_range a, struct opt_range b, uint64_t all)
{
    const bool least_wraps = a.least > all - b.least, wraps = a.greatest > all - b.greatest;
    return least_wraps != wraps
               ? anything
               : (struct opt_range){(a.least + b.least) & all, (a.greatest + b.greatest) & all};
}

static struct opt_range bound_range_of_difference(const struct ir_instr *in, struct opt_range a,
                                                  struct opt_range b)
{
    if (ir_has(in, IR_MOD_SAT) || a.least < b.greatest)
        return anything;
    return (struct opt_range){a.least - b.greatest, a.greatest - b.least};
}

static struct opt_range bound_range_of_shift(const struct ir_instr *in, struct opt_range a)
{
    const uint64_t all = opt_mask(in->src[0]->type);
    uint64_t k;
    if (!ir_value_const(in->src[1], &k) || k >= ir_type_bits(in->type))
        return anything;
    if (in->op == IR_OP_SHL)
        return bound_range_of_product(a, (struct opt_range){1ull << k, 1ull << k}, all);
    bool negative = ir_type_is_signed(in->type) && a.greatest > all >> 1;
    return negative ? anything : (struct opt_range){a.least >> k, a.greatest >> k};
}

static struct opt_range bound_range_of_cvt(const struct ir_instr *in, struct opt_range a)
{
    uint64_t from = opt_mask(in->src[0]->type);
    bool whole = opt_mask(in->type2) == from && opt_mask(in->type) == opt_mask(in->dst[0]->type);
    if (!opt_type_is_int(in->type) || !opt_type_is_int(in->type2) || ir_has(in, IR_MOD_SAT) ||
        !whole)
        return anything;
    return ir_type_is_signed(in->type2) && a.greatest > from >> 1 ? anything : a;
}

static struct opt_range bound_range_of_quotient(const struct ir_instr *in, struct opt_range a)
{
    uint64_t c;
    if (!ir_value_const(in->src[1], &c) || !c)
        return anything;
    return in->op == IR_OP_DIV ? (struct opt_range){a.least / c, a.greatest / c}
                               : bound_up_to(HD_MIN(a.greatest, c - 1));
}

/* Do bounds of its sources say something of its result? */
static bool bound_follows(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_SHL:
    case IR_OP_SHR:
    case IR_OP_SUB:
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
    case IR_OP_CVT:
    case IR_OP_SELECT:
    case IR_OP_MIN:
    case IR_OP_MAX:
    case IR_OP_DIV:
    case IR_OP_REM:
        return !ir_type_is_float(in->type);
    case IR_OP_ADD:
        return ir_is_plain_add(in);
    default:
        return false;
    }
}

static struct opt_range bound_range_of_pure(const struct ir_instr *in, unsigned depth)
{
    const uint64_t all = opt_mask(in->dst[0]->type), half = opt_mask(in->src[0]->type) >> 1;
    const struct opt_range a = bound_range_of(in->src[0], depth);
    const bool loses = in->op == IR_OP_ADD || in->op == IR_OP_SUB || in->op == IR_OP_XOR ||
                       in->op == IR_OP_MUL || in->op == IR_OP_MULWIDE;
    struct opt_range b = bound_up_to(0);

    /* Whatever the other source is. */
    if (loses && !a.least && a.greatest == opt_mask(in->src[0]->type))
        return anything;
    if (in->nsrc > 1)
        b = bound_range_of(in->src[1], depth);
    const bool is_signed = ir_type_is_signed(in->type) && (a.greatest > half || b.greatest > half);

    switch (in->op) {
    case IR_OP_AND:
        return bound_up_to(HD_MIN(a.greatest, b.greatest));
    case IR_OP_OR:
        return (struct opt_range){HD_MAX(a.least, b.least),
                                  opt_filled(a.greatest) | opt_filled(b.greatest)};
    case IR_OP_XOR:
        return bound_up_to(opt_filled(a.greatest) | opt_filled(b.greatest));
    case IR_OP_SHL:
    case IR_OP_SHR:
        return bound_range_of_shift(in, a);
    case IR_OP_ADD:
        return ir_is_plain_add(in) ? bound_range_of_sum(a, b, all) : anything;
    case IR_OP_SUB:
        return bound_range_of_difference(in, a, b);
    case IR_OP_MUL:
        return bound_range_of_product(a, b, all);
    case IR_OP_MULWIDE:
        return is_signed ? anything : bound_range_of_product(a, b, all);
    case IR_OP_CVT:
        return bound_range_of_cvt(in, a);
    case IR_OP_SELECT: {
        const struct opt_range c = bound_range_of(in->src[2], depth);
        return (struct opt_range){HD_MIN(b.least, c.least), HD_MAX(b.greatest, c.greatest)};
    }
    case IR_OP_MIN:
        return is_signed
                   ? anything
                   : (struct opt_range){HD_MIN(a.least, b.least), HD_MIN(a.greatest, b.greatest)};
    case IR_OP_MAX:
        return is_signed
                   ? anything
                   : (struct opt_range){HD_MAX(a.least, b.least), HD_MAX(a.greatest, b.greatest)};
    case IR_OP_DIV:
    case IR_OP_REM:
        return is_signed ? anything : bound_range_of_quotient(in, a);
    default:
        assert(false);
        return anything;
    }
}

/* ---- counters of loops of one block */

/* Does the block go on with itself while `*out` is below `*out_end`? */
static bool bound_repeats_below(const struct ir_block *b, const struct ir_value **out,
                                int64_t *out_end)
{
    const struct ir_instr *test = b->last->op == IR_OP_CBR ? b->last->src[0]->instr : NULL;
    uint64_t c;
    if (!test || test->op != IR_OP_SETP || !opt_type_is_int(test->type) || test->nsrc != 2 ||
        ir_type_lanes(test->type) > 1 || !ir_value_const(test->src[1], &c) ||
        (!ir_type_is_signed(test->type) && c > INT32_MAX))
        return false;
    const bool when_true = b->succs[0] == b;
    const unsigned unused = 64 - ir_type_bits(test->src[0]->type);
    const int64_t end =
        ir_type_is_signed(test->type) ? (int64_t)(c << unused) >> unused : (int64_t)c;
    const bool with_end = test->cmp == (when_true ? IR_LE : IR_GT);
    *out = test->src[0];
    *out_end = with_end ? end + 1 : end;
    return end < INT32_MAX && end >= -INT32_MAX &&
           (with_end || test->cmp == (when_true ? IR_LT : IR_GE));
}

/* A phi that becomes `k` more from iteration to iteration, and starts at nothing negative. */
struct counter {
    struct opt_range first;
    uint32_t k;
    const struct ir_value *now, *next;
};

static bool bound_counter_find(const struct ir_instr *phi, unsigned depth, struct counter *out)
{
    const struct ir_block *b = phi->block;
    uint64_t k;
    if (b->npreds != 2 || (b->preds[0] == b) == (b->preds[1] == b))
        return false;
    const unsigned again = b->preds[1] == b;
    const struct ir_instr *next = phi->src[again]->instr;
    if (!next || !ir_is_plain_add(next) || next->src[0] != phi->dst[0] ||
        ir_type_bits(phi->dst[0]->type) < 32 || !ir_value_const(next->src[1], &k) || !k ||
        k > INT32_MAX)
        return false;
    *out = (struct counter){bound_range_of(phi->src[!again], depth), (uint32_t)k, phi->dst[0],
                            next->dst[0]};
    return out->first.greatest <= INT32_MAX;
}

/* Iterations of its loop when it starts at `first`; 0: it does not decide. */
static uint64_t bound_trip_count_from(const struct counter *c, uint64_t first)
{
    const struct ir_value *tested;
    int64_t end;
    if (!bound_repeats_below(c->now->instr->block, &tested, &end) ||
        (tested != c->now && tested != c->next))
        return 0;
    const int64_t left = end - (int64_t)first - (tested == c->next ? c->k : 0);
    return left > 0 ? ((uint64_t)left + c->k - 1) / c->k + 1 : 1;
}

/* As many for all threads, by a counter that starts at one number. */
static uint64_t bound_trip_count_of_all(const struct ir_block *b, unsigned depth)
{
    struct counter c;
    uint64_t n = 0;
    for (const struct ir_instr *in = b->first; in && in->op == IR_OP_PHI && !n; in = in->next) {
        if (opt_type_is_int(in->type) && bound_counter_find(in, depth, &c) &&
            c.first.least == c.first.greatest)
            n = bound_trip_count_from(&c, c.first.least);
    }
    return n;
}

/* The last iteration is the first in which it is not below the end. */
static struct opt_range bound_range_of_counter(const struct ir_instr *phi, unsigned depth)
{
    struct counter c;
    if (!bound_counter_find(phi, depth, &c))
        return anything;
    uint64_t n = bound_trip_count_from(&c, c.first.least), greatest = c.first.greatest;
    if (n) /* those that start later end sooner, but their last may be as far above the end */
        greatest = HD_MAX(greatest, c.first.least + (n - 1) * c.k + c.k - 1);
    else if ((n = bound_trip_count_of_all(phi->block, depth)) != 0)
        greatest += bound_product(n - 1, c.k);
    return !n || greatest > INT32_MAX - c.k ? anything
                                            : (struct opt_range){c.first.least, greatest};
}

uint64_t opt_trip_count(const struct ir_block *b)
{
    struct counter c;
    uint64_t n = 0;
    for (const struct ir_instr *in = b->first; in && in->op == IR_OP_PHI && !n; in = in->next) {
        if (!opt_type_is_int(in->type) || !bound_counter_find(in, 0, &c) ||
            c.first.least == c.first.greatest || bound_range_of_counter(in, 0).greatest > INT32_MAX)
            continue;
        n = bound_trip_count_from(&c, c.first.least);
        if (n != bound_trip_count_from(&c, c.first.greatest))
            return 0;
    }
    return n;
}

/* What does not fit wraps, and may be anything. */
static struct opt_range bound_range_of(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    struct opt_range range = anything;
    uint64_t all = opt_mask(v->type), c;

    if (ir_value_const(v, &c))
        return (struct opt_range){c & all, c & all};
    if (!in || depth == DEPTH_MAX)
        return bound_up_to(all);
    if (in->op == IR_OP_SREG)
        range = bound_range_of_sreg(in);
    else if (in->op == IR_OP_PHI && opt_type_is_int(in->type))
        range = bound_range_of_counter(in, depth + 1);
    else if (bound_follows(in) && ir_type_lanes(in->type) == 1)
        range = bound_range_of_pure(in, depth + 1);
    return range.greatest > all ? bound_up_to(all) : range;
}

uint64_t opt_filled(uint64_t x)
{
    return x ? UINT64_MAX >> __builtin_clzll(x) : 0;
}

struct opt_range opt_range(const struct ir_value *v)
{
    return bound_range_of(v, 0);
}

uint64_t opt_bound(const struct ir_value *v)
{
    return bound_range_of(v, 0).greatest;
}

bool opt_is_never_negative(const struct ir_value *v)
{
    return opt_bound(v) <= opt_mask(v->type) >> 1;
}
