/*
 * Private to src/analysis: the state of one shape analysis, shared by its parts:
 *
 *   analysis/shape.c           fixpoint over values, temporal values, dispatch mode, result
 *   analysis/shape_lattice.[ch] joins, alignments, affine arithmetic
 *   analysis/shape_transfer.c  shape of a result from the shapes of the sources (no control flow)
 *   analysis/shape_flow.c      what a divergent branch does to blocks, joins and loops
 *   analysis/shape_work.c      what is to be computed again
 *   analysis/rejoin.c          loops that wait, but need no dispatch mode
 *   analysis/shape_print.c     listing
 */
#ifndef HD_ANALYSIS_SHAPE_IMPL_H
#define HD_ANALYSIS_SHAPE_IMPL_H

#include "analysis/shape.h"

/* struct ir_shape.align of zero, and of any other value at most. */
#define IR_ALIGN_ZERO (1u << 31)
#define IR_ALIGN_MAX  (1u << 30)

struct shape_state {
    const struct ir_func *func;
    struct ir_launch_facts launch;
    struct hd_arena *arena; /* the caller's: results */
    struct hd_arena tmp;
    struct ir_shapes *out;
    bool *known; /* by value id: has left bottom */
    bool *fixed; /* by value id: depends only on the launch and the lane, never on when it runs */
    bool dispatch;

    struct ir_uses uses;

    struct ir_instr **work;
    uint32_t nwork;
    bool *queued; /* by id of the first result */

    /* Control flow (analysis/shape_flow.c). */
    bool *exit_only;     /* by block: kernel block that does nothing but end */
    bool *side;          /* by block: cannot reach the function's main exit */
    bool *left_for;      /* by block: lanes that others stay behind may run it (mark_side) */
    bool *classic;       /* by block: divergent, leaving dispatch mode aside */
    bool *branch_queued; /* by block: divergent branch waits for shape_flow_branch() */
    uint32_t *branches;  /* that queue */
    uint32_t nbranches;
    uint32_t *label; /* propagation: by block, valid when label_epoch matches */
    uint32_t *label_epoch;
    uint32_t epoch;
};

/* ---- lattice and transfer */
struct ir_shape shape_uniform(uint32_t align);
struct ir_shape shape_varying(void);
struct ir_shape shape_join(const struct ir_shape *a, const struct ir_shape *b);
bool shape_equal(const struct ir_shape *a, const struct ir_shape *b);
/* Result `index` of an instruction that is not a phi; all its sources are known. */
struct ir_shape shape_transfer(const struct shape_state *s, const struct ir_instr *instr,
                               uint32_t index);

/* ---- control flow */
bool shape_flow_init(struct shape_state *s);
/* The terminator of `block` sends lanes different ways. */
void shape_flow_branch(struct shape_state *s, uint32_t block);

/* ---- what is to be computed again */
void shape_enqueue(struct shape_state *s, struct ir_instr *instr);
void shape_enqueue_users(struct shape_state *s, uint32_t id); /* of a value */
void shape_requeue_block(struct shape_state *s, uint32_t block, bool phis_only);
void shape_loop_diverged(struct shape_state *s, uint32_t loop);
/* Lanes leave `loop` for side blocks while the others stay in it. */
void shape_loop_side_exit(struct shape_state *s, uint32_t loop);
bool shape_loop_contains(const struct ir_loops *loops, uint32_t loop, uint32_t block);

/*
 * analysis/rejoin.c: may the loop, which lanes leave separately and which may wait, run as others
 * do?
 */
bool shape_rejoins(struct shape_state *s, uint32_t loop);

#endif
