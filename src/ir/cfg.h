/*
 * The control-flow graph of one function: dominance and natural loops, which the order of blocks
 * and the validator are made of. Each result is a snapshot: valid until the CFG changes. All are
 * computed into a caller-owned arena and never change the function. They need linked preds; loops
 * also a compacted function (ir_func_compact): blocks in reverse post-order, loops contiguous.
 */
#ifndef HD_IR_CFG_H
#define HD_IR_CFG_H

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
    /* May wait for another thread: set by ir_loops_mark_spins() (analysis/spin.h). */
    bool spin_suspect;
};
struct ir_loops {
    struct ir_loop *loops;
    uint32_t nloops;
    uint32_t *loop_of; /* by block id; IR_NO_BLOCK = none */
    bool irreducible;  /* some cycle is not a natural loop; loop_of is then incomplete */
};

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

#endif
