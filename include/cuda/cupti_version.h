/* CUPTI: its version. Names and values as in NVIDIA's manual of CUPTI. */
#ifndef HEDDLE_CUDA_CUPTI_VERSION_H
#define HEDDLE_CUDA_CUPTI_VERSION_H

#include <stdint.h>

#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Of CUDA 13.0. */
#define CUPTI_API_VERSION 130001

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version);

#if defined(__cplusplus)
}
#endif

#endif
