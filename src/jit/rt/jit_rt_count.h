/* Counters of accesses that code cannot count in line: jit_rt_count_vec.c. */
#ifndef HD_JIT_RT_JIT_RT_COUNT_H
#define HD_JIT_RT_JIT_RT_COUNT_H

#include <stdint.h>

/*
 * ir_count_access() of 32 addresses, of which those of `lanes` are taken: to `words`, of an
 * instruction in a space (enum ir_count_space).
 */
typedef void jit_count_fn(uint64_t *words, uint32_t space, uint32_t is_atomic, uint32_t lanes,
                          uint64_t size_B, const uint64_t *address);

jit_count_fn jit_rt_count_generic;
#if defined(__x86_64__)
jit_count_fn jit_rt_count_avx2, jit_rt_count_avx512;
#endif

#endif
