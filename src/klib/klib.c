/*
 * libheddle-klib.so: the kernel library's native kernels, over OpenBLAS, which is in it: without
 * threads of its own, as the device's threads each take blocks. Its symbols are hidden, so that a
 * program's own BLAS is the program's.
 */
#include "klib/klib.h"

#include "base/compiler.h"
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
HD_EXPORT const struct klib *heddle_klib(void)
{
    static const struct klib klib = {.blas = klib_blas,
                                     .gemm = klib_gemm_run,
                                     .gemm_blocks = klib_gemm_blocks,
                                     .gemm_ns = klib_gemm_ns,
                                     .onednn = klib_onednn_info,
                                     .routines = klib_routines,
                                     .curand = &klib_curand,
                                     .dnn = &klib_dnn,
                                     .dnn_graph = &klib_dnn_graph,
                                     .fft = &klib_fft_api,
                                     .lt = &klib_lt,
                                     .solver = &klib_solver,
                                     .sparse = &klib_sparse_library};
    return &klib;
}
