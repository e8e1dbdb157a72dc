/*
 * threadIdx, blockIdx, blockDim, gridDim and warpSize. cuda_runtime.h has them (heddle/device.h);
 * this file exists because programs name it.
 */
#ifndef HEDDLE_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define HEDDLE_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
