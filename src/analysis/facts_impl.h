/*
 * Private to src/analysis: value facts while they are computed.
 *
 *   analysis/facts.c        order of visits, phis, widening, scopes, roots
 *   analysis/facts_range.c  intervals and bits; the table of spec/ir_facts.def
 *   analysis/facts_arith.c, facts_bits.c, facts_source.c  its rules for ranges
 *   analysis/facts_form.c   linear forms
 *   analysis/facts_loop.c   counters: how often a loop may repeat
 *   analysis/facts_lanes.c  lane offsets of what is not affine
 *   analysis/facts_edge.c   what a branch that was taken says
 *   analysis/facts_query.c  questions about values
 *   analysis/facts_access.c questions about accesses
 *   analysis/facts_print.c  listing and figures
 */
#ifndef HD_ANALYSIS_FACTS_IMPL_H
#define HD_ANALYSIS_FACTS_IMPL_H

#include "analysis/facts.h"
#include "base/vec.h"

__extension__ typedef __int128 facts_wide;

/* Columns of spec/ir_facts.def. */
enum facts_form_rule {
    FORM_SYMBOL,
    FORM_CONSTANT,
    FORM_SUM,
    FORM_DIFFERENCE,
    FORM_PRODUCT,
    FORM_NEGATION,
    FORM_INVERSE,
    FORM_SHIFT,
    FORM_WIDE,
    FORM_CONVERT,
    FORM_MASK,
    FORM_DISJOINT,
    FORM_CHOICE,
    FORM_WINDOW,
    FORM_SREG,
    FORM_LOAD,
    FORM_VARIABLE,
    FORM_PHI,
};
enum facts_scope_rule {
    SCOPE_SAME,
    SCOPE_SREG,
    SCOPE_LOAD,
    SCOPE_VARIABLE,
    SCOPE_WINDOW,
    SCOPE_PHI,
    SCOPE_LANE,
};
enum facts_roots_rule {
    ROOTS_NONE,
    ROOTS_SOURCES,
    ROOTS_SCALED,
    ROOTS_VARIABLE,
    ROOTS_ALLOCA,
    ROOTS_LOAD,
    ROOTS_WINDOW,
    ROOTS_OWN,
    ROOTS_BUILTIN,
    ROOTS_UNKNOWN,
};

/* One operation on ranges. */
struct facts_op {
    const struct ir_instr *in;
    const struct facts_range *src;
    unsigned w, sw;        /* widths of the result, and of the first source's reading */
    bool is_signed;        /* the instruction's type */
    const struct facts *f; /* NULL: facts_eval(); else for SREG */
};
typedef struct facts_range facts_range_rule(const struct facts_op *o);

struct facts_row {
    facts_range_rule *range;
    uint8_t form, scope, roots;
};
extern const struct facts_row facts_rows[IR_OP_COUNT];
#define X(name, range, form, scope, roots) facts_range_rule facts_rule_##range;
#include "ir_facts.def"
#undef X

/* A phi of a loop's header that gets `step` more in each iteration. */
struct facts_counter {
    const struct ir_value *init;
    uint32_t loop;
    int64_t step;
    struct facts_range limit; /* by tests of its own */
};

struct facts_state {
    struct facts *f;
    struct hd_arena *arena, tmp;
    bool *visited;                      /* by block: at least once */
    uint8_t *branch_scope;              /* by block: whose threads go the same way at its end */
    uint32_t last_with[FACTS_LANE + 1]; /* by scope: last block visited, + 1, whose branch has no
                                           narrower scope */
    struct hd_map symbols;              /* of parameters and variables */
    struct hd_map root_of;              /* numbers of roots + 1 */
    uint32_t *counter_of;               /* by value id of a phi: number in `counters` + 1 */
    HD_VEC(struct facts_counter) counters;
    bool failed; /* no memory */
};

/* ---- facts_range.c */
static inline uint64_t facts_mask(unsigned w)
{
    return w < 64 ? (UINT64_C(1) << w) - 1 : UINT64_MAX;
}
static inline int64_t facts_extend(uint64_t x, unsigned w)
{
    return w == 1 ? (int64_t)x : (int64_t)(x << (64 - w)) >> (64 - w);
}
/* All bits below the highest one. */
static inline uint64_t facts_filled(uint64_t x)
{
    return x ? UINT64_MAX >> __builtin_clzll(x) : 0;
}
struct facts_range facts_any_of(unsigned w);
struct facts_range facts_exactly_of(uint64_t bits, unsigned w);
struct facts_range facts_join(const struct facts_range *a, const struct facts_range *b);
/* What both say; `a` where they contradict each other, which is where nothing ever runs. */
struct facts_range facts_meet(const struct facts_range *a, const struct facts_range *b, unsigned w);
/* Makes the parts of a range agree; false: there is no such number. */
bool facts_close(struct facts_range *r, unsigned w);
/* Everything where it cannot be. */
struct facts_range facts_closed(struct facts_range r, unsigned w);
struct facts_range facts_of_bits(uint64_t zeros, uint64_t ones, unsigned w);
struct facts_range facts_both(struct facts_range a, struct facts_range b, unsigned w);
/* Of a + b + carry, each given by its known zeroes and ones. */
struct facts_range facts_bits_of_sum(uint64_t az, uint64_t ao, uint64_t bz, uint64_t bo,
                                     unsigned carry, unsigned w);
unsigned facts_low_zeros(const struct facts_range *r);
unsigned facts_low_known(const struct facts_range *r); /* how many low bits are known */
/* A pred. */
struct facts_range facts_decided(bool never, bool always);
/* a - b, and the low half of a product. */
struct facts_range facts_minus(const struct facts_range *a, const struct facts_range *b,
                               unsigned w);
struct facts_range facts_product(const struct facts_range *a, const struct facts_range *b,
                                 unsigned w);
/* Of integers in this interval, modulo 2^w. */
struct facts_range facts_wrapped(facts_wide least, facts_wide most, unsigned w);
/* r + c modulo 2^w. */
struct facts_range facts_shifted(const struct facts_range *r, int64_t c, unsigned w);
static inline bool facts_same(const struct facts_range *a, const struct facts_range *b)
{
    return a->least == b->least && a->most == b->most && a->sleast == b->sleast &&
           a->smost == b->smost && a->zeros == b->zeros && a->ones == b->ones;
}
/* Width of a value as facts see it; 0: more than 64 bits. */
static inline unsigned facts_width(const struct ir_value *v)
{
    const unsigned w = ir_type_bits(v->type);
    return w <= 64 ? w : 0;
}
struct facts_range facts_sreg_range(const struct ir_func *func, struct ir_launch_facts launch,
                                    enum ir_sreg sreg);

/* ---- facts_edge.c */
/* Parts of a predicate, down to so many: a cost per branch, not per value. */
enum { FACTS_PARTS_MAX = 8 };
/* What must be so where `pred` is `holds`. */
uint32_t facts_guard_parts(const struct ir_value *pred, bool holds,
                           struct facts_guard out[FACTS_PARTS_MAX]);
bool facts_guards_compute(struct facts_state *s);
/* The test of a comparison: x cmp y holds, for integers. False: it is none. */
bool facts_test_of(const struct ir_value *pred, bool holds, const struct ir_instr **out_setp,
                   enum ir_cmp *out_cmp);
enum ir_cmp facts_cmp_mirror(enum ir_cmp cmp);
enum ir_cmp facts_cmp_not(enum ir_cmp cmp);
/* ADD of a constant. */
bool facts_is_sum(const struct ir_value *v, const struct ir_value **out_x, int64_t *out_c);

/* ---- facts_form.c */
void facts_form_visit(struct facts_state *s, const struct ir_instr *in, uint32_t index);
/* The value as a symbol; a phi as a counter that starts with `init`. */
void facts_form_symbol(struct facts_state *s, const struct ir_value *v);
void facts_form_counter(struct facts_state *s, const struct ir_value *phi,
                        const struct facts_counter *counter);
/* Value of the form as integers without limits, from ranges of its symbols in `at`; coefficients
 * and constant read as signed numbers of w bits. */
void facts_form_bounds(const struct facts *f, const struct facts_form *form, unsigned w,
                       const struct ir_block *at, facts_wide *out_least, facts_wide *out_most);
void facts_form_set(struct facts_state *s, const struct ir_value *v, uint64_t constant,
                    const struct facts_term *terms, uint32_t nterms);
bool facts_form_equal(const struct facts_form *a, const struct facts_form *b);

/* ---- facts_lanes.c, when all else is there */
bool facts_lanes_compute(struct facts_state *s);

/* ---- facts_loop.c */
/* Before a visit of the header of a loop: its counters, and how often it may repeat. */
void facts_loop_count(struct facts_state *s, uint32_t loop);
/* NULL: the value is no such phi. */
static inline const struct facts_counter *facts_counter_of(const struct facts_state *s,
                                                           const struct ir_value *v)
{
    const uint32_t at = s->counter_of[v->id];
    return at ? &s->counters.at[at - 1] : NULL;
}
struct facts_range facts_counter_range(const struct facts_state *s, const struct facts_counter *c);
static inline bool facts_loop_contains(const struct ir_loops *loops, uint32_t loop, uint32_t block)
{
    return block >= loops->loops[loop].header && block <= loops->loops[loop].last;
}

#endif
