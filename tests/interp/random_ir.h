/*
 * Random valid IR modules, reproducible from a seed: kernel @k(out, in) with all pure operations,
 * divergent branches, loops, switches, memory, atomics, collectives, barriers and calls. At the end
 * each thread stores its values to out: correct devices and passes give the same bytes.
 */
#ifndef HD_TESTS_RANDOM_IR_H
#define HD_TESTS_RANDOM_IR_H

#include "ir/ir.h"

enum {
    RANDOM_IR_THREADS = 128, /* four warps, which may run at once */
    RANDOM_IR_CTAS = 2,
    RANDOM_IR_WORDS = 512, /* 32-bit words of `in` */
    RANDOM_IR_VALUES = 28, /* stored per thread, 8 bytes each */
    RANDOM_IR_SUMS = 4,    /* 64-bit sums by atomics behind them */
    RANDOM_IR_LIMITS = 42, /* operations of random_ir_limits() */
    /* From this seed on programs also compute with thread numbers and with limits of operations;
     * tests name some that are older. */
    RANDOM_IR_KNOWS = 10000,
    RANDOM_IR_OUT_B = 8 * (RANDOM_IR_THREADS * RANDOM_IR_CTAS * RANDOM_IR_VALUES + RANDOM_IR_SUMS),
};

/*
 * NULL and a diagnostic when the generator made something invalid. size: statements; 0 = single
 * operations on loaded values, result number i of a thread from the i-th one.
 */
struct ir_module *random_ir_module(uint64_t seed, unsigned size);
/*
 * Operation number seed % RANDOM_IR_LIMITS of those that another one's limits are hidden in (shifts
 * by the width, quotients by 0, ...), with constants, thread numbers and loaded values as operands
 * in each combination. Compilers know bits of the first two, and what is undefined in their own
 * operations at those limits.
 */
struct ir_module *random_ir_limits(uint64_t seed);
void random_ir_input(uint64_t seed, uint32_t in[RANDOM_IR_WORDS]);

#endif
