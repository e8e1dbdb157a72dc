/* Part of cuRAND in kernels: all of it comes with curand_kernel.h; the name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_CURAND_DISCRETE2_H
#define HEDDLE_CUDA_CURAND_DISCRETE2_H

#include "curand_kernel.h"

#endif
