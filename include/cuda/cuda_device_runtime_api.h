/*
 * Launching kernels from kernels needs a device runtime, which this release does not have;
 * the name exists because programs include it beside cuda_runtime_api.h.
 */
#ifndef HEDDLE_CUDA_DEVICE_RUNTIME_API_H
#define HEDDLE_CUDA_DEVICE_RUNTIME_API_H

#include "cuda_runtime_api.h"

#endif
