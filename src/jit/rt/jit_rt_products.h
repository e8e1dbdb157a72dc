/* Private to jit_rt_products*.c. */
#ifndef HD_JIT_RT_JIT_RT_PRODUCTS_H
#define HD_JIT_RT_JIT_RT_PRODUCTS_H

#include "jit/jit_private.h"
#include "jit/jit_products.h"

struct jit_products_task {
    const struct ir_mma *mma;
    const struct jit_products *list;
    const struct jit_products_area *area;
};

/*
 * jit_rt_products_vec.c. Of AVX-512 there are two more, with instructions that add up several
 * products: of bytes, and of bf16, too.
 */
void jit_products_avx2(const struct jit_products_task *t);
void jit_products_avx512(const struct jit_products_task *t);
void jit_products_avx512_vnni(const struct jit_products_task *t);
void jit_products_avx512_bf16(const struct jit_products_task *t);

/* jit_rt_products_x86.c: all lanes are there; false: nothing is done. */
bool jit_products_vectors(const struct jit_products_task *t, uint32_t how);

/*
 * jit_rt_tcore.c: the same as a GPU's tensor cores add; false: not such products. Tiles whose
 * numbers are out of the ordinary the model makes.
 */
bool jit_core_products(const struct jit_products_task *t, enum jit_path path);

/* Does this host have instructions that add up several of these products? */
bool jit_products_have_dots(const struct ir_mma *mma, uint32_t how);

/*
 * The product of a warp that ir_eval_mma_window() describes, where there are dots and both factors
 * lie along k; false: not so, or outside of the window. Nothing but *dst is changed.
 */
struct ir_matrix_access;
bool jit_products_window(const struct ir_mma *mma, uint32_t how, const struct ir_matrix_access *at,
                         const void *src, void *dst);

/* What generated code calls; jit_rt_mma() is one product. */
void jit_rt_products(uint64_t low, uint64_t high, uint32_t how, uint32_t mask,
                     const struct jit_products *list, const struct jit_products_area *area);
void jit_rt_mma(uint64_t low, uint64_t high, uint32_t how, uint32_t mask, const void *src,
                void *dst);

#endif
