/*
 * Divergence and shape analysis: what the 32 lanes of a warp know about each other's values.
 *
 * A backend holds the lanes of a warp in groups that lie side by side: two halves of 16 (the JIT's
 * vectors), or all 32. Shapes are per group:
 *
 *   UNIFORM      one scalar for the whole warp
 *   AFFINE       lane l of group g holds base[g] + stride * l, modulo 2^width; base[g] is a scalar;
 *                stride 0 means "uniform per group" (tid.y of a 16x16 block, in groups of 16)
 *   BASE_INDEX   64-bit: base + ext(index) * scale, with a warp-uniform scalar base and another
 *                (32-bit, AFFINE or VARYING) SSA value `index`; ext is sign or zero extension.
 *                The index stays 32 bits wide on purpose: 32-bit wrap-around is exact in it, so
 *                a backend that wants a contiguous access tests once whether ext() can wrap inside
 *                the group, instead of assuming it cannot.
 *   VARYING      a value for each lane
 *
 * Order: UNIFORM < AFFINE(0) < everything else < VARYING; joins at phis go up. Values from a
 * divergent join, or leaving a loop that lanes leave at different times, are VARYING.
 *
 * A shape depends on a few facts about the launch, so that one compiled variant serves many
 * launches. ntid stays a run-time value.
 *
 * Source: reference experiments in docs/; join and temporal divergence after Karrenberg/Hack and
 * Rosemann et al., "An Abstract Interpretation for SPMD Divergence on Reducible CFGs" (POPL 2021).
 */
#ifndef HD_ANALYSIS_SHAPE_H
#define HD_ANALYSIS_SHAPE_H

#include "analysis/analysis.h"

/* What is known of a block's extents. */
enum ir_block_extents {
    IR_BLOCK_ANY,
    IR_BLOCK_1D,  /* by = bz = 1 */
    IR_BLOCK_X32, /* bx % 32 == 0 */
    IR_BLOCK_X16, /* bx % 16 == 0 */
    IR_BLOCK_16   /* bx = 16: every 16 lanes are a row */
};

/* What is known of a launch, and how the backend takes its warps. */
struct ir_launch_facts {
    uint8_t group; /* lanes that lie side by side: 16 or 32 */
    /*
     * Warps that are computed at once: what is said of a warp then holds for all of them together,
     * which have as many groups more. Only what is alike in all of them is UNIFORM. With
     * IR_BLOCK_X32 bx is 32, and the warps have one z.
     */
    uint8_t warps;
    uint8_t extents; /* enum ir_block_extents */
    bool full;       /* every lane of every warp exists */
};

enum ir_shape_kind { IR_SHAPE_UNIFORM, IR_SHAPE_AFFINE, IR_SHAPE_BASE_INDEX, IR_SHAPE_VARYING };

/*
 * How a backend computes the scalars of a result that is UNIFORM or AFFINE: apply the operation to
 * the scalars of the sources, for AFFINE once per group (a UNIFORM source serves all of them). That
 * is exact for every operation, also where the shape got simpler: (tid.x >> 5), (tid.x < 32) and
 * (tid.x - laneid) are UNIFORM and are computed from the bases of group 0. BASE_INDEX likewise: the
 * operation applied to the bases, where cvt and mulwide start with base 0; the index never changes.
 */
struct ir_shape {
    enum ir_shape_kind kind;
    bool index_signed; /* BASE_INDEX: sign extension of index, else zero extension */
    bool whole;        /* AFFINE: affine over the warp: base[g] = base[0] + g * group * stride */
    int64_t stride;    /* AFFINE; per lane, in units of the value */
    int64_t scale;     /* BASE_INDEX, bytes per index step (any nonzero constant) */
    const struct ir_value *index; /* BASE_INDEX; dominates the value */
    /*
     * Power of two that divides the value in every lane (UNIFORM), base[g] in every group (AFFINE),
     * the uniform base (BASE_INDEX). 1 = nothing known; 1 << 31 = it is zero.
     */
    uint32_t align;
    uint32_t warp_align; /* AFFINE and whole: of base[0]; else 0 */
};

struct ir_shapes {
    struct ir_shape *of; /* by value id */
    /*
     * By block id. A divergent block may run with fewer lanes than are alive: it lies between a
     * divergent branch and its reconvergence point, or in a loop that lanes leave at different
     * times. Blocks after a branch that sent some lanes to their end are *not* divergent for that
     * reason alone: full means "all lanes still alive". See exit_only and side_exit.
     * With needs_dispatch: every block that can run after some lanes went another way.
     */
    bool *divergent;
    bool *divergent_branch; /* the block's terminator sends lanes of one warp different ways */
    /* By block: kernel block that only ends the thread. An edge to it ends its lanes at once. */
    bool *exit_only;
    /*
     * By block: on a path of its own to an end (trap, store and return ..) that never comes back to
     * where the kernel mainly ends. Lanes that a divergent branch sends there no longer count as
     * alive for the blocks of the main path.
     */
    bool *side_exit;
    /*
     * A divergent branch writes phis of several successors: read what all its edges carry before
     * writing any (the back edge of a loop overwrites phis that the edge out of it still reads).
     *
     * Phis here merge lanes that came along different paths, or at different times out of a
     * divergent loop: a write must keep the other lanes.
     */
    bool *divergent_join;
    bool *divergent_loop; /* by loop index: lanes leave this loop at different times */
    /* By value id: defined in a divergent loop and used outside it, so a write must keep other
     * lanes. */
    bool *temporal;
    bool exits_diverge; /* some EXIT/RET is in a divergent block: alive lanes may shrink */
    /*
     * The structured sweep (docs/jit.md) is not possible: irreducible flow, a spin-suspect loop
     * with divergent exit, a barrier or a warp-synchronous operation in a divergent block.
     */
    bool needs_dispatch;
    /* Without needs_dispatch: a loop may wait; and lanes leave one that does separately, and meet
     * again (analysis/rejoin.c). */
    bool waits, rejoins;
    const char *dispatch_reason; /* text for HEDDLE_DEBUG=shape, NULL when not */
    struct ir_loops loops;
    struct ir_dom dom;
    struct ir_dom
        postdom; /* leaves out edges to exit_only blocks, and from others to side_exit blocks */
};

/*
 * Computes shapes into `arena`. For a device function that is not inlined, arguments are VARYING
 * and the entry block is divergent (its caller's lanes may be a subset).
 */
enum hd_status ir_shapes_compute(const struct ir_func *func, struct ir_launch_facts launch,
                                 struct hd_arena *arena, struct ir_shapes *out) HD_MUST_CHECK;
/* The same for a backend that dispatches although the flow does not need it: needs_dispatch is set.
 */
enum hd_status ir_shapes_compute_dispatch(const struct ir_func *func, struct ir_launch_facts launch,
                                          struct hd_arena *arena, struct ir_shapes *out)
    HD_MUST_CHECK;
/* Annotated listing for HEDDLE_DEBUG=shape. */
void ir_shapes_print(const struct ir_func *func, const struct ir_shapes *shapes,
                     struct hd_buf *out);

#endif
