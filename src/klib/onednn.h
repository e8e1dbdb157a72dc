/*
 * oneDNN, the second engine of products of matrices: for elements of 8 bits, for floats, and for
 * elements of 16 bits where the processor has instructions for them. It isn't part of the library:
 * it is opened at the first product that is large enough for it, and without it OpenBLAS computes
 * everything.
 *
 * Its calls run on the thread that makes them and use no other, as OpenBLAS's do.
 */
#ifndef HD_KLIB_ONEDNN_H
#define HD_KLIB_ONEDNN_H

#include "base/compiler.h"
#include "klib/blas.h"
#include "klib/klib.h"

/* What was found, or NULL; opens it. */
const struct klib_onednn *klib_onednn_info(void);

/* Is the product, of elements as they are, best its? By type, processor and size. */
bool klib_onednn_has(const struct klib_gemm *g);
/* Are floats, when the elements have become such? */
bool klib_onednn_has_floats(const struct klib_gemm *g);

/*
 * op(A) op(B) of a block into `c`, whose elements are `type`; bytes' products are I32. `is_added`:
 * to what is there, of F32 and I32. False: it has no such product, and `c` is as it was.
 */
bool klib_onednn_multiply(const struct klib_gemm *g, const struct klib_block *at, void *c,
                          enum klib_type type, int64_t ldc, bool is_added) HD_MUST_CHECK;

/* The same of floats; `ta`: transposed. */
bool klib_onednn_floats(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a,
                        int64_t lda, const float *b, int64_t ldb, bool is_added, float *c,
                        int64_t ldc) HD_MUST_CHECK;

#endif
