/* Private to jit_rt_mma*.c and jit_rt_tensor*.c. */
#ifndef HD_JIT_RT_JIT_RT_MMA_H
#define HD_JIT_RT_JIT_RT_MMA_H

#include "jit/jit_private.h"

/*
 * The product with the vectors of a level, from and to registers of 32 lanes; false: not one of
 * those products, nothing is done. `how`: the level, one of this host's, and JIT_FLUSHES.
 */
bool jit_mma_vectors(const struct ir_mma *mma, uint32_t how, const void *src, void *dst);

/* jit_rt_tensor_x86.c: what this level does faster than the model; NULL: nothing. */
struct ir_tensor_fast;
const struct ir_tensor_fast *jit_tensor_fast(enum jit_path path);

/*
 * jit_rt_panel_x86.c, of hosts with AVX2: makes the panel; false: not a type or size that it knows,
 * or a piece is outside of the window.
 */
struct ir_matrix_panel;
bool jit_panel_read(const struct ir_matrix_panel *panel);
/* jit_rt_mma_f64_x86.c, of hosts with AVX2: products of f64 in their rounding. */
void jit_mma_doubles(const struct ir_mma *mma, const void *src, void *dst);
/* The same as jit_mma_vectors() with matrices in shared memory. */
struct ir_matrix_access;
bool jit_mma_window(const struct ir_mma *mma, uint32_t how, const struct ir_matrix_access *at,
                    const void *src, void *dst);

/*
 * jit_rt_mma_vec.c and jit_rt_mma_window_vec.c, which are compiled for each of these levels:
 * products of types and shapes that are known there, in the default mode of floating point.
 * AVX-512 wants sixteen rows. False: a piece is outside of the window.
 */
void jit_mma_multiply_avx2(const struct ir_mma *mma, const void *src, void *dst);
void jit_mma_multiply_avx512(const struct ir_mma *mma, const void *src, void *dst);
bool jit_mma_window_avx2(const struct ir_mma *mma, const struct ir_matrix_access *at,
                         const void *src, void *dst);
bool jit_mma_window_avx512(const struct ir_mma *mma, const struct ir_matrix_access *at,
                           const void *src, void *dst);

/* ---- as a GPU's tensor cores add (tcore/tcore.h) */

/* jit_rt_tcore.c: the same as jit_mma_vectors() and jit_mma_window(); false also where exponents
 * are out of the ordinary. What is at `dst` is then anything. */
bool jit_core_multiply(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst);
bool jit_core_window(const struct ir_mma *mma, enum jit_path path,
                     const struct ir_matrix_access *at, const void *src, void *dst);

/*
 * jit_rt_mma_vec.c, of each level: fragments of registers as numbers by k, and a tile's sums by
 * column. Rows and columns have an order of their own, the same for all.
 */
struct jit_core_level {
    void (*a)(enum ir_type type, const void *from, unsigned k, float (*out)[16]);
    void (*b)(enum ir_type type, const void *from, unsigned k, float (*out)[8]);
    void (*sums)(enum ir_type type, const void *from, float (*out)[16]);
    void (*put)(enum ir_type type, const float (*from)[16], void *to);
};
extern const struct jit_core_level jit_core_level_avx2, jit_core_level_avx512;

/* jit_rt_mma_window_vec.c: a, and b by tiles of eight columns; false: a piece is outside of the
 * window. */
bool jit_core_window_read_avx2(const struct ir_mma *mma, const struct ir_matrix_access *at,
                               const void *src, float a[][16], float b[][8]);
bool jit_core_window_read_avx512(const struct ir_mma *mma, const struct ir_matrix_access *at,
                                 const void *src, float a[][16], float b[][8]);

#endif
