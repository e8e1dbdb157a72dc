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

/* Live values at block boundaries, as bit sets by value id. Phi operands are live out of their
 * edge's source. */
struct ir_liveness {
    uint32_t words;
    uint64_t *live_in; /* nblocks * words */
    uint64_t *live_out;
};
static inline bool ir_live_test(const uint64_t *set, uint32_t id)
{
    return (set[id / 64] >> (id % 64)) & 1;
}

/* Any block order; unreachable blocks dominate nothing and are dominated by nothing. */
enum hd_status ir_dom_compute(const struct ir_func *func, struct hd_arena *arena,
                              struct ir_dom *out) HD_MUST_CHECK;
/* Post-dominators; the virtual exit is IR_NO_BLOCK. */
enum hd_status ir_postdom_compute(const struct ir_func *func, struct hd_arena *arena,
                                  struct ir_dom *out) HD_MUST_CHECK;
/* The same with some edges left out: those for which skip(context, from, to) is true. */
typedef bool ir_skip_edge(const void *context, uint32_t from, uint32_t to);
enum hd_status ir_postdom_compute_filtered(const struct ir_func *func, ir_skip_edge *skip,
                                           const void *context, struct hd_arena *arena,
                                           struct ir_dom *out) HD_MUST_CHECK;
enum hd_status ir_loops_compute(const struct ir_func *func, const struct ir_dom *dom,
                                struct hd_arena *arena, struct ir_loops *out) HD_MUST_CHECK;
enum hd_status ir_liveness_compute(const struct ir_func *func, struct hd_arena *arena,
                                   struct ir_liveness *out) HD_MUST_CHECK;

#endif
