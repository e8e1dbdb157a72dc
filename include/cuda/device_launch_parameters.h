/*
 * threadIdx, blockIdx, blockDim, gridDim and warpSize. The compiler's own header defines them and
 * cuda_runtime.h includes it; this file exists because programs name it.
 */
#ifndef HEDDLE_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define HEDDLE_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
