/*
 * Making code before it is needed. The first launch of a kernel compiles it, for blocks of that
 * form, and later ones wait for nothing; who cannot wait at the first launch, or wants to fill the
 * code cache on a machine that builds images of containers, prepares the kernel:
 *
 *     if (!heddle_function_prepare(f, (uint32_t[3]){256, 1, 1}))
 *         ...cuLaunchKernel(f, ..., 256, 1, 1, ...) finds its code...
 *
 * `heddle precompile` does so with all kernels of programs and libraries. The function is in
 * libcuda.so.1, returns a CUresult, and may be called by any thread.
 */
#ifndef HEDDLE_PREPARE_H
#define HEDDLE_PREPARE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUfunc_st;

/*
 * The best code of a function, for launches with this block, is made or found in the code cache,
 * and is there when it returns. NULL: for the blocks that the kernel is likely launched with. Those
 * are what the PTX requires; else 256 threads, or what launch bounds allow, in one row, and where
 * the kernel asks for its place in a second dimension 16 x 16 and 32 x 8 as well.
 * CUDA_ERROR_INVALID_VALUE: a block that the kernel cannot be launched with; what launches fail
 * with that find no code; CUDA_ERROR_OUT_OF_MEMORY.
 */
int heddle_function_prepare(struct CUfunc_st *function, const uint32_t block[3]);

#ifdef __cplusplus
}
#endif
#endif
