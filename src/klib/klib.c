/*
 * libheddle-klib.so: the kernel library's native kernels, over OpenBLAS, which is in it: without
 * threads of its own, as the device's threads each take blocks. Its symbols are hidden, so that a
 * program's own BLAS is the program's.
 */
#include "klib/klib.h"

#include "base/compiler.h"
#include "base/host.h"
#include "klib/blas.h"
#include "klib/curand.h"
#include "klib/dnn.h"
#include "klib/dnn_graph.h"
#include "klib/fft.h"
#include "klib/lt.h"
#include "klib/onednn.h"
#include "klib/solver.h"
#include "klib/sparse.h"

HD_EXPORT const struct klib *heddle_klib(void);

/* Of a level of the host's instruction sets. */
#define KLIB(level)                                                                                \
    {.blas = klib_blas,                                                                            \
     .gemm = klib_gemm_run,                                                                        \
     .gemm_blocks = klib_gemm_blocks,                                                              \
     .gemm_ns = klib_gemm_ns,                                                                      \
     .onednn = klib_onednn_info,                                                                   \
     .routines = klib_routines,                                                                    \
     .curand = &klib_curand,                                                                       \
     .dnn = &klib_dnn_##level,                                                                     \
     .dnn_graph = &klib_dnn_graph_##level,                                                         \
     .fft = &klib_fft_api,                                                                         \
     .lt = &klib_lt,                                                                               \
     .solver = &klib_solver,                                                                       \
     .sparse = &klib_sparse_library}

HD_EXPORT const struct klib *heddle_klib(void)
{
    static const struct klib generic = KLIB(generic), avx2 = KLIB(avx2), avx512 = KLIB(avx512);

    if (hd_host_has(HD_HOST_AVX512))
        return &avx512;
    return hd_host_has(HD_HOST_AVX2) ? &avx2 : &generic;
}
