/* The engine's functions: of native kernels whose parameters klib.h describes. */
#ifndef HD_KLIB_BLAS_H
#define HD_KLIB_BLAS_H

#include "klib/klib.h"

extern const struct klib_routine klib_routines[KLIB_ROUTINES];

/* The address of a call's argument, for one problem. */
void *klib_argument(const struct klib_call *call, uint32_t i, uint64_t problem);

int klib_blas(struct heddle_native_call *native);
int klib_gemm_run(struct heddle_native_call *native);
void klib_gemm_blocks(struct klib_gemm *g, uint64_t problems, unsigned threads);
uint64_t klib_gemm_ns(const struct klib_gemm *g, uint64_t problems);

#endif
