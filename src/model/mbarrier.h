/*
 * A barrier in shared memory (PTX ISA 9.7.13.15, mbarrier): 64 bits that programs may not look
 * into. Ours are:
 *
 *   0..19   arrivals that a phase needs
 *   20..39  arrivals that the current phase still needs
 *   40..60  bytes that the current phase still expects, signed
 *   63      parity of the current phase
 *
 * A phase ends when neither arrivals nor bytes are missing; the next one begins at once. Every
 * change is one atomic operation on the word, so lanes, warps and host threads may mix. The state
 * that arriving gives to a program is the word as it was before.
 *
 * Example: init 1; expect_tx 16; arrive (state s) leaves bytes missing; complete_tx 16 ends the
 * phase; from then on test s is true, and test_parity 0 as well.
 */
#ifndef HD_MODEL_MBARRIER_H
#define HD_MODEL_MBARRIER_H

#include "ir/payload.h"

enum { IR_MBARRIER_COUNT_BITS = 20, IR_MBARRIER_PENDING_AT = 20, IR_MBARRIER_B = 8 };

/*
 * The operation on the word at `at`, aligned to 8 bytes. `operand`: a number of arrivals or bytes,
 * a state, or a parity. Gives what a test says, else the state before. Sequentially consistent.
 */
uint64_t ir_mbarrier_do(enum ir_mbarrier op, void *at, uint64_t operand);

#endif
