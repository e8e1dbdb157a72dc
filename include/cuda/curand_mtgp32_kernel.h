/* Part of cuRAND in kernels: all of it comes with curand_kernel.h; the name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_CURAND_MTGP32_KERNEL_H
#define HEDDLE_CUDA_CURAND_MTGP32_KERNEL_H

#include "curand_kernel.h"

#endif
