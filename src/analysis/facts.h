/*
 * Value facts: what is known of every SSA value before the program runs. One memoised answer per
 * value and launch class, for everybody who asks "what is known of this integer in all lanes?".
 *
 * Of a value there are
 *
 *   range   an unsigned and a signed interval, and the bits that are known
 *   scope   whose threads have the same: the grid's, the CTA's, the warp's, or only its own
 *   lanes   uniform, or affine in the lane, as the shape analysis says (analysis/shape.h)
 *   form    constant + sum of coefficient * symbol, exact modulo 2^width, where symbols are special
 *           registers, parameters, addresses of variables, iteration counts of loops, and values
 *           that are no such sum of others. From it come derivatives by thread, CTA and iteration.
 *   roots   what pointers it was computed from
 *
 * and each holds at every execution of the value's definition. Where a branch was taken more is
 * known: facts_range_at() asks for a block.
 *
 *     struct facts f;
 *     HD_TRY(facts_compute(func, &launch, &arena, &f));
 *     if (facts_range_at(&f, index, block).smost < 1 << 20) ..
 *
 * Rows of spec/ir_facts.def say how an operation's result follows from its sources; an operation
 * without a row fails the build.
 *
 * Cost. Blocks are visited in layout order, a value outside of loops once, in a loop until the phis
 * of the headers hold: after FACTS_WIDEN_VISITS visits what still grows is widened to everything,
 * after FACTS_VISITS_MAX all phis of headers in the outermost loop are given up (struct facts,
 * loops_given_up). A form has at most FACTS_TERMS_MAX terms; a longer one is cut: the value is a
 * symbol of its own (forms_cut). A look-up in a block walks up the branches that dominate it, below
 * the value's definition. There is no other limit.
 *
 * Owner: everything is in the caller's arena, and valid until the function changes. Values that a
 * pass makes afterwards have no facts; of others they stay true as long as the values do. Requires
 * a compacted function. Threads: any number may ask once it is computed.
 *
 * Sources: Cousot and Cousot, "Abstract Interpretation" (POPL 1977) for intervals and widening;
 * Bourdoncle, "Efficient chaotic iteration strategies" (1993) for the order; chains of recurrences
 * after Bachmann, Wang and Zima (ISSAC 1994), of degree 1.
 */
#ifndef HD_ANALYSIS_FACTS_H
#define HD_ANALYSIS_FACTS_H

#include "analysis/shape.h"

enum {
    FACTS_TERMS_MAX = 8,
    FACTS_WIDEN_VISITS = 3,
    FACTS_VISITS_MAX = 8,
    FACTS_ROOTS_MAX = 62,
};

/*
 * What a value may be. Unsigned numbers are the value extended by zeroes, signed ones by its sign
 * (a pred has none). Bits above the width are known zeroes. Of more than 64 bits nothing is known.
 */
struct facts_range {
    uint64_t least, most;
    int64_t sleast, smost;
    uint64_t zeros, ones; /* bits that are always so */
};

/* Whose threads compute the same, if they compute it at all: in the same iteration of its loops. */
enum facts_scope { FACTS_GRID, FACTS_CTA, FACTS_WARP, FACTS_LANE };

/*
 * Numbers of symbols: special registers first (enum ir_sreg, but for volatile ones), then a loop's
 * iteration count, 0 in the first, then values by id, then parameters and variables.
 */
enum facts_symbol_kind {
    FACTS_SREG,
    FACTS_ITERATION,
    FACTS_VALUE,
    FACTS_PARAM,
    FACTS_VAR,
};
struct facts_symbol {
    enum facts_symbol_kind kind;
    uint32_t index;               /* enum ir_sreg, loop, value id, offset in the parameter block */
    enum ir_type type;            /* of the symbol's value; ITERATION: B64 */
    const struct ir_var *var;     /* VAR */
    const struct ir_value *value; /* VALUE */
};

/* constant + terms, modulo 2^width of the value. Terms are in rising order of symbols; coefficients
 * are signed and not zero. The terms of a value that is no sum are the value itself. */
struct facts_term {
    uint32_t symbol;
    int64_t coefficient;
};
struct facts_form {
    uint64_t constant;
    uint32_t nterms;
    const struct facts_term *terms;
};

/* What an address is made from. */
enum facts_root_kind {
    FACTS_ROOT_UNKNOWN,
    FACTS_ROOT_PARAM,
    FACTS_ROOT_VAR,
    FACTS_ROOT_ALLOCA,
    FACTS_ROOT_OWN, /* one of FACTS_ROOTS_OWN; facts_root() says UNKNOWN */
};
struct facts_root {
    enum facts_root_kind kind;
    uint32_t offset_B; /* PARAM: in the parameter block */
    const struct ir_var *var;
    const struct ir_instr *alloca_;
};
/*
 * A set of roots: bits by number in `roots`, and two more: pointers of unknown origin, and memory
 * that no parameter leads to, one does not know which: of a window, or the heap of kernels.
 */
#define FACTS_ROOTS_OWN     (UINT64_C(1) << FACTS_ROOTS_MAX)
#define FACTS_ROOTS_UNKNOWN (UINT64_C(1) << 63)

struct facts_value {
    struct facts_range range;
    struct facts_form form;
    uint64_t roots;
    uint8_t scope; /* enum facts_scope */
    uint8_t terms_cap;
};

/* At most so many iterations come before the last visit of the header: the iteration count there is
 * between 0 and `most`. */
struct facts_loop {
    uint64_t most;
    uint8_t exit_scope;   /* whose threads leave it together */
    uint8_t branch_scope; /* whose threads go the same ways in it */
    bool counted;         /* `most` is known */
};

/* What holds in a block, and all that it dominates, because of a branch: `pred` is `holds`. */
struct facts_guard {
    const struct ir_value *pred;
    bool holds;
};

struct facts_block {
    uint32_t first, count; /* of struct facts, guards */
    uint32_t above;        /* next block up that has guards; IR_NO_BLOCK */
};

/* Of a value that is not affine in the lane: a multiple of 2^low_bits that the warp shares (64: 0)
 * + offset[lane], modulo 2^width. */
struct facts_lanes {
    uint64_t offset[32];
    uint8_t low_bits;
};

struct facts {
    const struct ir_func *func;
    struct ir_launch_facts launch;
    bool has_lanes;          /* shapes are there: facts_compute() */
    struct ir_shapes shapes; /* for 32 lanes a group */
    struct ir_dom dom;
    struct ir_loops loops;
    uint32_t nvalues;
    struct facts_value *of; /* by value id */
    const struct ir_value **values;
    struct facts_lanes **lane_parts; /* by value id; NULL: none */
    struct facts_loop *counts;       /* by loop */
    struct facts_block *blocks;
    struct facts_guard *guards;
    bool *guarded; /* by value id: some guard may say something of it */
    struct facts_range *sregs;
    uint32_t first_value, first_extra, nextras; /* numbers of symbols */
    struct facts_symbol *extras;
    uint32_t nroots;
    struct facts_root roots[FACTS_ROOTS_MAX];
    /* What it cost. */
    uint64_t visits; /* of values */
    uint32_t forms_cut, loops_given_up;
};

/*
 * Everything, for launches of this class; `launch` NULL: for all launches (warps one by one, any
 * block). HD_NO_MEMORY.
 */
enum hd_status facts_compute(const struct ir_func *func, const struct ir_launch_facts *launch,
                             struct hd_arena *arena, struct facts *out) HD_MUST_CHECK;
/* Without lanes: scopes say FACTS_LANE where the shape analysis would say warp, and questions about
 * lanes have no answer. For passes that ask for ranges again and again. */
enum hd_status facts_compute_ranges(const struct ir_func *func, struct hd_arena *arena,
                                    struct facts *out) HD_MUST_CHECK;

/* ---- ranges (facts_query.c, facts_edge.c) */

/* At its definition. A value that the facts do not know may be anything, or is a constant. */
struct facts_range facts_range(const struct facts *f, const struct ir_value *v);
/* At a block that the definition dominates. */
struct facts_range facts_range_at(const struct facts *f, const struct ir_value *v,
                                  const struct ir_block *at);
/* Along an edge pred -> block, of a value that is available at the end of `pred`. */
struct facts_range facts_range_on(const struct facts *f, const struct ir_value *v,
                                  const struct ir_block *pred, const struct ir_block *block);
/* Is it the same number always? */
bool facts_is_constant(const struct facts_range *r, uint64_t *out);
/* Do the value's upper 32 bits always have zeroes (the sign of the lower half)? */
bool facts_is_zero_extended(const struct facts *f, const struct ir_value *v,
                            const struct ir_block *at);
bool facts_is_sign_extended(const struct facts *f, const struct ir_value *v,
                            const struct ir_block *at);
/*
 * Is the result of an ADD, SUB, MUL, SHL or NEG, where it stands, what integers without limits
 * would give: of unsigned sources, of signed ones?
 */
bool facts_no_wrap(const struct facts *f, const struct ir_instr *in, bool is_signed);
/* The power of two that divides the value always; of zero 1 << 63. */
uint64_t facts_alignment(const struct facts *f, const struct ir_value *v);
/* The same of an access's address with its offset; what the access itself demands, counts. */
uint64_t facts_access_alignment(const struct facts *f, const struct ir_instr *access);
/* Bytes that a lane accesses, all elements together; 0: it is no LD, ST or ATOM. */
uint32_t facts_access_B(const struct ir_instr *access);

/* ---- lanes, forms */

/* Whose threads have the same value; when it is read in `at`, or NULL: at its definition. */
enum facts_scope facts_scope(const struct facts *f, const struct ir_value *v,
                             const struct ir_block *at);
/* Do the threads of a warp that run together have the same value? */
bool facts_uniform(const struct facts *f, const struct ir_value *v);
struct facts_form facts_form(const struct facts *f, const struct ir_value *v);
struct facts_symbol facts_symbol(const struct facts *f, uint32_t symbol);
uint32_t facts_symbol_sreg(enum ir_sreg sreg);
uint32_t facts_symbol_iteration(const struct facts *f, uint32_t loop);
/* 0 when the symbol is not part of the form. */
int64_t facts_coefficient(const struct facts_form *form, uint32_t symbol);
/* Do both differ by a constant: a - b, modulo 2^width? */
bool facts_difference(const struct facts *f, const struct ir_value *a, const struct ir_value *b,
                      int64_t *out);
/*
 * What the value becomes more by from one iteration of the loop to the next, when that is a
 * constant; the value is defined in the loop, or before it (0).
 */
bool facts_loop_step(const struct facts *f, const struct ir_value *v, uint32_t loop, int64_t *out);
/* By how much lane l + 1 has more than lane l, in all warps, when that is so for all lanes. */
bool facts_lane_step(const struct facts *f, const struct ir_value *v, int64_t *out);
/* By how much lane l of a warp has more than lane 0: also where it is not affine (swizzles). */
bool facts_lane_offsets(const struct facts *f, const struct ir_value *v, int64_t out[32]);

/* ---- accesses: LD, ST and ATOM. Warps are whole. */

/* Bytes from one lane to the next. */
bool facts_lane_stride(const struct facts *f, const struct ir_instr *access, int64_t *out_B);
/* From where `a` begins to where `b` does in bytes, when that is a constant; of one space. */
bool facts_access_distance(const struct facts *f, const struct ir_instr *a,
                           const struct ir_instr *b, int64_t *out_B);
/* How many sectors of 32 bytes a warp touches: at least, and at most. False: not known. */
bool facts_segments(const struct facts *f, const struct ir_instr *access, uint32_t *out_least,
                    uint32_t *out_most);
/*
 * Of an access to shared memory: how many different words the most loaded of 32 banks has to give
 * for lanes that are served together (all; of 8 bytes each 16, of 16 bytes 8). 1: no conflict.
 * 0: not known.
 */
uint32_t facts_bank_conflicts(const struct facts *f, const struct ir_instr *access);
/* The one thing that an address is made from; UNKNOWN: none, several, or not known. */
struct facts_root facts_root(const struct facts *f, const struct ir_value *address);
/* May two addresses be of one object? Errs on the side of true. */
bool facts_may_alias(const struct facts *f, const struct ir_value *a, const struct ir_value *b);

/* ---- one operation */

/*
 * The range of a result of a PURE operation from those of its sources; src[i] belongs to
 * instr->src[i], which is not looked at. The counterpart of ir_eval().
 */
struct facts_range facts_eval(const struct ir_instr *instr, const struct facts_range *src);
struct facts_range facts_any(enum ir_type type);
struct facts_range facts_exactly(enum ir_type type, uint64_t bits);

/* Figures of a function, for tests and reports: of how many values and accesses something is known.
 */
#define FACTS_COUNT_LIST(X)                                                                        \
    X(values, "results of at most 64 bits")                                                        \
    X(constants, "of which always the same number")                                                \
    X(bounded, "of which with an interval tighter than the type")                                  \
    X(bits, "of which with a known bit")                                                           \
    X(grid, "of which the same in the grid")                                                       \
    X(cta, "of which the same in the CTA")                                                         \
    X(warp, "of which the same in the warp")                                                       \
    X(affine, "of which affine in the lane")                                                       \
    X(forms, "of which a sum of other symbols")                                                    \
    X(accesses, "loads, stores and atomics")                                                       \
    X(stride, "of which with a constant stride from lane to lane")                                 \
    X(sectors, "of global memory, of which with known sectors")                                    \
    X(banks, "of shared memory, of which with known bank conflicts")                               \
    X(align4, "of which with an address known to be aligned to 4 bytes before the access")         \
    X(align8, "of which to 8 bytes")                                                               \
    X(align16, "of which to 16 bytes")                                                             \
    X(rooted, "of which by one known pointer or variable")                                         \
    X(narrow, "of which by an address that fits 32 bits")                                          \
    X(loops, "loops")                                                                              \
    X(counted, "of which with a bounded number of iterations")
struct facts_counts {
#define X(name, doc) uint64_t name;
    FACTS_COUNT_LIST(X)
#undef X
};
void facts_count(const struct facts *f, struct facts_counts *counts); /* adds */
/* Annotated listing. */
void facts_print(const struct facts *f, struct hd_buf *out);

#endif
