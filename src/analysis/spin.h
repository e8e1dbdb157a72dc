/* Which loops may wait for another thread. */
#ifndef HD_ANALYSIS_SPIN_H
#define HD_ANALYSIS_SPIN_H

#include "analysis/analysis.h"

/* What is known of the loop of a function that was asked about last; for many questions. */
struct ir_spins {
    const struct ir_func *func;
    const struct ir_loops *loops;
    uint32_t loop;
    uint32_t mark;      /* of this loop, in what follows; 0: none was asked about */
    uint32_t *ends;     /* by value: the loop's end depends on it */
    uint32_t *expected; /* by value: a retry of the loop expects it */
    const struct ir_value **work;
    uint32_t nwork;
    uint64_t steps; /* blocks, instructions and values looked at so far, for tests */
};

/*
 * The arrays come from `arena`, once. False: no memory. Then questions, each as ir_spin_waits();
 * those about the same loop had better follow each other. And all of them, for each loop.
 */
bool ir_spins_init(struct ir_spins *spins, const struct ir_func *func, const struct ir_loops *loops,
                   struct hd_arena *arena) HD_MUST_CHECK;
bool ir_spins_wait(struct ir_spins *spins, uint32_t loop, const struct ir_instr *in);
void ir_spins_mark(struct ir_spins *spins, struct ir_loops *loops);
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
