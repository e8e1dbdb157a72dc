/*
 * Launch classes: a few facts about blockDim, so that one compiled variant serves many launches,
 * and how many warps the code takes at once. ntid stays a run-time value.
 */
#ifndef HD_JIT_LAUNCH_CLASS_H
#define HD_JIT_LAUNCH_CLASS_H

#include "analysis/shape.h"

enum jit_launch_class {
    JIT_CLASS_1D_FULL,  /* by = bz = 1, bx % 32 == 0: tid.x = AFFINE 1, base a multiple of 16; all
                           lanes exist */
    JIT_CLASS_1D,       /* by = bz = 1, any bx: the last warp may be partial */
    JIT_CLASS_X32,      /* bx % 32 == 0: tid.x AFFINE 1, tid.y and tid.z uniform; all lanes exist */
    JIT_CLASS_X16_FULL, /* bx = 16: tid.x is the half's lane, tid.y and tid.z AFFINE 0; all lanes
                           exist */
    JIT_CLASS_X16,      /* bx % 16 == 0 (not 32): tid.x AFFINE 1; the last warp may be partial */
    JIT_CLASS_OTHER,    /* tids are VARYING; laneid is still AFFINE 1 */
    JIT_CLASS_1D_PAIRS, /* 1D_FULL with an even number of warps */
    JIT_CLASS_X32_PAIRS, /* bx = 32: every warp is a row; by % 2 == 0, so that a pair has one z */
    JIT_CLASS_X16_PAIRS, /* bx = 16: every half is a row; by % 4 == 0 */
    JIT_CLASS_1D_QUADS,  /* the same for four warps */
    JIT_CLASS_X32_QUADS,
    JIT_CLASS_X16_QUADS,
    JIT_CLASS_COUNT
};
const char *jit_launch_class_name(enum jit_launch_class cls);
/* Does every lane of every warp exist? */
static inline bool jit_launch_class_is_full(enum jit_launch_class cls)
{
    return cls == JIT_CLASS_1D_FULL || cls == JIT_CLASS_X32 || cls == JIT_CLASS_X16_FULL ||
           cls >= JIT_CLASS_1D_PAIRS;
}
/* How many warps the code takes at once. */
static inline unsigned jit_launch_class_warps(enum jit_launch_class cls)
{
    return cls >= JIT_CLASS_1D_QUADS ? 4 : cls >= JIT_CLASS_1D_PAIRS ? 2 : 1;
}
/* The class for code that takes fewer warps at a time: half of them. */
static inline enum jit_launch_class jit_launch_class_fewer(enum jit_launch_class cls)
{
    static const enum jit_launch_class single[] = {JIT_CLASS_1D_FULL, JIT_CLASS_X32,
                                                   JIT_CLASS_X16_FULL};
    if (cls >= JIT_CLASS_1D_QUADS)
        return (enum jit_launch_class)(cls - JIT_CLASS_1D_QUADS + JIT_CLASS_1D_PAIRS);
    return cls >= JIT_CLASS_1D_PAIRS ? single[cls - JIT_CLASS_1D_PAIRS] : cls;
}
/* For code that takes one warp at a time. */
static inline enum jit_launch_class jit_launch_class_single(enum jit_launch_class cls)
{
    return jit_launch_class_fewer(jit_launch_class_fewer(cls));
}
enum jit_launch_class jit_launch_class_of(const uint32_t block[3]);
/* What shapes are computed from. */
static inline struct ir_launch_facts jit_launch_facts(enum jit_launch_class cls)
{
    static const uint8_t extents[] = {
        [JIT_CLASS_1D_FULL] = IR_BLOCK_1D, [JIT_CLASS_1D] = IR_BLOCK_1D,
        [JIT_CLASS_X32] = IR_BLOCK_X32,    [JIT_CLASS_X16_FULL] = IR_BLOCK_16,
        [JIT_CLASS_X16] = IR_BLOCK_X16,    [JIT_CLASS_OTHER] = IR_BLOCK_ANY};

    return (struct ir_launch_facts){.group = 16,
                                    .warps = (uint8_t)jit_launch_class_warps(cls),
                                    .extents = extents[jit_launch_class_single(cls)],
                                    .full = jit_launch_class_is_full(cls)};
}

/* Can code for several warps be made of the kernel? Nothing in it is for the lanes of one warp. */
bool jit_warps_fit(const struct ir_func *kernel);
/* Half a warp, and then the other half? Then no memory is both read and written without a barrier
 * between, or a lane might find what another one of its warp left, or not. */
bool jit_halves_fit(const struct ir_func *kernel);

#endif
