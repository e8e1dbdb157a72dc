/*
 * Loops that a compiler has unrolled, as nvcc does: a small loop for the rest of the iterations
 * first, then a big one for several at once, if any are left:
 *
 *     entry: cbr iterations == 0, mid, pre;  pre: br rest;  rest: .. cbr --n != 0, rest, mid
 *     mid:   cbr p, out, start;  start: br main;  main: .. cbr last + step < bound, main, out
 *
 * Private to src/opt.
 */
#ifndef HD_OPT_UNROLLED_H
#define HD_OPT_UNROLLED_H

#include "analysis/analysis.h"
#include "analysis/shape.h"

#define OPT_UNROLLED_FACTOR 16u /* most iterations at once */
#define OPT_UNROLLED_PHIS   8u  /* of a loop, of each kind */

/* A value that each iteration of a loop adds a constant to: value = phi + at. */
struct opt_ramp {
    const struct ir_value *phi; /* NULL: it is none */
    uint64_t at;
};

/* The small loop's phi is the big one's plus `distance`, in the iteration where both begin. */
struct opt_pair {
    const struct ir_instr *rest, *main;
    uint64_t distance;
};

struct opt_unrolled {
    const struct ir_func *func;
    const struct ir_shapes *shapes;
    struct ir_block *entry, *pre, *rest, *mid, *start, *main, *out; /* pre, start: NULL if empty */
    struct ir_value *iterations; /* of the small loop; it is not entered for 0 */
    bool main_if;                /* mid's condition when the big loop runs */
    /* The big loop goes on while last + step is below `bound` (LT), or is not it (NE). */
    struct ir_instr *last;
    struct ir_value *bound;
    enum ir_type bound_type;
    enum ir_cmp cmp;
    uint64_t step;
    uint32_t factor, budget, npairs, nsums;
    struct opt_pair pairs[OPT_UNROLLED_PHIS]; /* of ramps */
    struct opt_pair sums[OPT_UNROLLED_PHIS];  /* of what the iterations add up */
};

/*
 * Is `main` such a loop, whose body is that of a small one `factor` times, where lanes leave it
 * apart and gather? func and shapes are the caller's; the rest is found.
 */
bool opt_unrolled_find(struct opt_unrolled *u, struct ir_block *main);
/* Is it made in one of the loops, or between them? */
bool opt_unrolled_has(const struct opt_unrolled *u, const struct ir_value *v);
/* What a phi of the exit takes from the small loop's last iteration, if there was no big one; NULL:
 * nothing fits. */
struct ir_value *opt_unrolled_leaves(const struct opt_unrolled *u, const struct ir_instr *phi);
/* The phi of the small loop that a phi between the loops goes on with, or NULL. */
const struct ir_instr *opt_unrolled_goes_on(const struct opt_unrolled *u, const struct ir_value *v);

/* Of a phi of a loop of one block: what the next iteration gets, what the first one has. */
struct ir_value *opt_latch_of(const struct ir_instr *phi);
struct ir_value *opt_init_of(const struct ir_instr *phi);
/* What an iteration adds to the phi; 0: it is no ramp. */
uint64_t opt_step_of(const struct ir_instr *phi);
struct opt_ramp opt_ramp_of(const struct ir_value *v, const struct ir_block *loop);
/* value + constant */
bool opt_is_sum(const struct ir_value *v, const struct ir_value **out, uint64_t *out_const);

#endif
