/* CUPTI: which chip a device has. Names and layouts as in NVIDIA's manual of CUPTI 13.0. */
#ifndef HEDDLE_CUDA_CUPTI_TARGET_H
#define HEDDLE_CUDA_CUPTI_TARGET_H

#include <stddef.h>

#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct CUpti_Device_GetChipName_Params {
    size_t structSize;
    void *pPriv;
    size_t deviceIndex;    /* in */
    const char *pChipName; /* out; stays */
} CUpti_Device_GetChipName_Params;
#define CUpti_Device_GetChipName_Params_STRUCT_SIZE                                                \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_Device_GetChipName_Params, pChipName)

/* The first chip with the device's compute capability. */
CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *pParams);

#if defined(__cplusplus)
}
#endif

#endif
