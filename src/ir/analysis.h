/*
 * Control-flow analyses over one function. Each result is a snapshot: valid until the CFG changes.
 * All are computed into a caller-owned arena and never change the function. They need linked preds
 * and a compacted function (ir_func_compact): blocks in RPO, loops contiguous.
 */
#ifndef HD_IR_ANALYSIS_H
#define HD_IR_ANALYSIS_H

#include "ir/ir.h"

/* Immediate dominators by block id; the entry's is IR_NO_BLOCK. */
#define IR_NO_BLOCK UINT32_MAX

struct ir_dom {
    uint32_t *idom;
    uint32_t *depth;
    uint32_t *pre; /* walk over the tree: a block's subtree is pre .. last */
    uint32_t *last;
};
/* Constant time; a block dominates itself. */
bool ir_dominates(const struct ir_dom *dom, uint32_t a, uint32_t b);

/*
 * Natural loops. A block's innermost loop is loop_of[block]; loops are in order of their headers.
 */
struct ir_loop {
    uint32_t header;
    uint32_t last;   /* last block in layout: the loop is blocks header .. last */
    uint32_t parent; /* enclosing loop index or IR_NO_BLOCK */
    uint32_t depth;  /* 1 = outermost */
    /* May wait for another thread (ir_spin.h says what makes it so). */
    bool spin_suspect;
};
struct ir_loops {
    struct ir_loop *loops;
    uint32_t nloops;
    uint32_t *loop_of; /* by block id; IR_NO_BLOCK = none */
    bool irreducible;  /* some cycle is not a natural loop; loop_of is then incomplete */
};

/* Does a thread that waits for another one in a loop do so by this instruction? */
bool ir_polls(const struct ir_instr *in);
/* Is there a loop in the module that may wait for another thread? Also when memory is short. */
bool ir_may_wait(const struct ir_module *module);

/*
 * Who reads a value: users of value id are users[first[id]] .. users[first[id + 1] - 1], in layout
 * order, an instruction once per operand that it reads. Valid until an instruction changes.
 */
struct ir_uses {
    uint32_t *first; /* nvalues + 1 */
    struct ir_instr **users;
};

/*
 * Live values at block boundaries: ids in rising order. Phi operands are live out of their edge's
 * source. Memory goes with the number of live values, not with blocks times values.
 */
struct ir_live_set {
    const uint32_t *ids;
    uint32_t n;
};
struct ir_liveness {
    uint32_t words; /* of a bit set by value id, for ir_live_bits() */
    size_t
        *in_first; /* nblocks + 1: block b's ids are in[in_first[b]] .. in[in_first[b + 1] - 1] */
    size_t *out_first; /* likewise */
    uint32_t *in;
    uint32_t *out;
};
static inline struct ir_live_set ir_live_in(const struct ir_liveness *l, uint32_t block)
{
    return (struct ir_live_set){l->in + l->in_first[block],
                                (uint32_t)(l->in_first[block + 1] - l->in_first[block])};
}
static inline struct ir_live_set ir_live_out(const struct ir_liveness *l, uint32_t block)
{
    return (struct ir_live_set){l->out + l->out_first[block],
                                (uint32_t)(l->out_first[block + 1] - l->out_first[block])};
}
/* The same as a bit set of l->words words, all of which are written. */
void ir_live_bits(const struct ir_liveness *l, struct ir_live_set set, uint64_t *out_bits);
static inline bool ir_live_test(const uint64_t *bits, uint32_t id)
{
    return (bits[id / 64] >> (id % 64)) & 1;
}

/* Any block order; unreachable blocks dominate nothing and are dominated by nothing. */
enum hd_status ir_dom_compute(const struct ir_func *func, struct hd_arena *arena,
                              struct ir_dom *out) HD_MUST_CHECK;
/*
 * Post-dominators; the virtual exit is IR_NO_BLOCK. Edges for which skip(context, from, to) is true
 * are left out; skip may be NULL.
 */
typedef bool ir_skip_edge(const void *context, uint32_t from, uint32_t to);
enum hd_status ir_postdom_compute(const struct ir_func *func, ir_skip_edge *skip,
                                  const void *context, struct hd_arena *arena, struct ir_dom *out)
    HD_MUST_CHECK;
enum hd_status ir_loops_compute(const struct ir_func *func, const struct ir_dom *dom,
                                struct hd_arena *arena, struct ir_loops *out) HD_MUST_CHECK;
enum hd_status ir_uses_compute(const struct ir_func *func, struct hd_arena *arena,
                               struct ir_uses *out) HD_MUST_CHECK;
/* Needs no order of blocks; a use that its definition does not dominate is live up to the entry. */
enum hd_status ir_liveness_compute(const struct ir_func *func, struct hd_arena *arena,
                                   struct ir_liveness *out) HD_MUST_CHECK;

#endif
