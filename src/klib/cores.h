/*
 * Products with the sums of a GPU's tensor cores (HEDDLE_MMA, tcore/tcore.h): a sum starts with
 * zero and goes along k, in steps of the architecture's size. Private to klib.
 */
#ifndef HD_KLIB_CORES_H
#define HD_KLIB_CORES_H

#include "base/compiler.h"
#include "klib/blas.h"

/* Are a product's sums made so? The one place that says which are. */
bool klib_cores_has(const struct klib_gemm *g);
/* Sums of a block's products, `m` rows apart. False: no memory. */
bool klib_cores_multiply(const struct klib_gemm *g, const struct klib_block *at, float *sums)
    HD_MUST_CHECK;

#endif
