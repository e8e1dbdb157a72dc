/* CUPTI: its version, results and clock. Names and values as in NVIDIA's manual of CUPTI. */
#ifndef HEDDLE_CUDA_CUPTI_VERSION_H
#define HEDDLE_CUDA_CUPTI_VERSION_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Of CUDA 13.0. */
#define CUPTI_API_VERSION 130000

typedef enum {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_NOT_SUPPORTED = 27,
    CUPTI_ERROR_UNKNOWN = 999
} CUptiResult;

CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetTimestamp(uint64_t *timestamp); /* nanoseconds */
CUptiResult cuptiGetResultString(CUptiResult result, const char **str);

#if defined(__cplusplus)
}
#endif

#endif
