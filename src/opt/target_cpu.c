/*
 * What the CPU device wants behind the common passes. The code generator holds a warp as vectors of
 * 16 lanes: loops that gather are better rolled up, loops whose lanes stay together get versions of
 * their own, matrix products become calls of helpers for several at once, and independent chains
 * are scheduled side by side for an out-of-order core (list scheduling). Loops are closed (LCSSA)
 * for the versions, and again behind them. None of this is good for another device.
 */
#include "analysis/shape.h"
#include "opt/passes.h"

const struct ir_launch_facts opt_cpu_launch = {
    .group = 16, .warps = 1, .extents = IR_BLOCK_1D, .full = true};

const struct opt_step opt_cpu_steps[OPT_CPU_STEPS] = {
    {0, 1, OPT_PASS_ir_opt_reroll},   {0, 1, OPT_PASS_ir_opt_fold},
    {0, 1, OPT_PASS_ir_opt_dce},      {0, 1, OPT_PASS_ir_opt_close_loops},
    {0, 1, OPT_PASS_ir_opt_agree},    {0, 1, OPT_PASS_ir_opt_copy},
    {0, 1, OPT_PASS_ir_opt_dce},      {0, 1, OPT_PASS_ir_opt_close_loops},
    {0, 1, OPT_PASS_ir_opt_products}, {0, 1, OPT_PASS_ir_opt_weave},
};
