/* Which loops may wait for another thread. */
#ifndef HD_ANALYSIS_SPIN_H
#define HD_ANALYSIS_SPIN_H

#include "analysis/analysis.h"

/*
 * May `in`, which lies in loop number `loop` or in one inside it, keep a thread in that loop until
 * another thread does something outside it? Errs on the side of true. Scratch comes from `arena`.
 */
bool ir_spin_waits(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                   const struct ir_instr *in, struct hd_arena *arena);
/* Sets `spin_suspect` of each loop in which some instruction may. */
void ir_loops_mark_spins(const struct ir_func *func, struct hd_arena *arena,
                         struct ir_loops *loops);

#endif
