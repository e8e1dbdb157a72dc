/* Which loops may wait for another thread: between ir_loops.c and ir_spin.c. */
#ifndef HD_IR_IR_SPIN_H
#define HD_IR_IR_SPIN_H

#include "ir/analysis.h"

/*
 * May `in`, which lies in loop number `loop` or in one inside it, keep a thread in that loop until
 * another thread does something outside it? Errs on the side of true. Scratch comes from `arena`.
 */
bool ir_spin_waits(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                   const struct ir_instr *in, struct hd_arena *arena);

#endif
