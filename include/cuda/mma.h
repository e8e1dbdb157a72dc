/*
 * Matrix products by a warp: nvcuda::wmma, after the section "Warp Matrix Functions" of the CUDA
 * C++ programming guide. The fragments are in heddle/wmma_fragment.h, what loads, stores and
 * multiplies them in heddle/wmma_ops.h: one PTX instruction each.
 */
#ifndef HEDDLE_CUDA_MMA_H
#define HEDDLE_CUDA_MMA_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __CUDA_MMA_H__

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#if defined(__cplusplus) && defined(__CUDACC__)
#include "heddle/wmma_fragment.h"
#include "heddle/wmma_ops.h"
#endif

#endif
