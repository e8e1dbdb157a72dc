/* OpenBLAS's products of real matrices, for files that call them by hand. */
#ifndef HD_KLIB_REAL_GEMM_H
#define HD_KLIB_REAL_GEMM_H

#include <stdint.h>

void sgemm_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
            const int64_t *k, const void *alpha, const void *a, const int64_t *lda, const void *b,
            const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
void dgemm_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
            const int64_t *k, const void *alpha, const void *a, const int64_t *lda, const void *b,
            const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);

#endif
