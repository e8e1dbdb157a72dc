/* Private to jit_rt_mma*.c. */
#ifndef HD_JIT_JIT_RT_MMA_H
#define HD_JIT_JIT_RT_MMA_H

#include "jit/jit_private.h"

/*
 * The product with the vectors of a level, from and to registers of 32 lanes; false: not one of
 * those products, nothing is done. The level must be one of this host's.
 */
bool jit_mma_vectors(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst);

#endif
