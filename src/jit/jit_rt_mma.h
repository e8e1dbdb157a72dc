/* Private to jit_rt_mma*.c and jit_rt_tensor*.c. */
#ifndef HD_JIT_JIT_RT_MMA_H
#define HD_JIT_JIT_RT_MMA_H

#include "jit/jit_private.h"

/*
 * The product with the vectors of a level, from and to registers of 32 lanes; false: not one of
 * those products, nothing is done. The level must be one of this host's.
 */
bool jit_mma_vectors(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst);

/* jit_rt_tensor_x86.c: what this level does faster than the model; NULL: nothing. */
struct ir_tensor_fast;
const struct ir_tensor_fast *jit_tensor_fast(enum jit_path path);

/*
 * jit_rt_panel_x86.c, of hosts with AVX2: makes the panel; false: not a type or size that it knows,
 * or a piece is outside of the window.
 */
struct ir_matrix_panel;
bool jit_panel_read(const struct ir_matrix_panel *panel);
/* The same as jit_mma_vectors() with matrices in shared memory. */
struct ir_matrix_place;
bool jit_mma_window(const struct ir_mma *mma, enum jit_path path, const struct ir_matrix_place *at,
                    const void *src, void *dst);

#endif
