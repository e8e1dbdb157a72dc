/*
 * CUPTI: what is common to the profilers, on the side of the program that is profiled. Names, values and layouts as in
 * NVIDIA's manual of CUPTI 13.0; the older session interface (cuptiProfilerBeginSession and its kin) is left out, whose
 * functions are refused.
 *
 * Every function takes a struct whose first member is its size, NAME_STRUCT_SIZE of a client's headers; members behind
 * that size are neither read nor written. pPriv is NULL.
 */
#ifndef HEDDLE_CUDA_CUPTI_PROFILER_TARGET_H
#define HEDDLE_CUDA_CUPTI_PROFILER_TARGET_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* What becomes a range: each kernel, or what lies between a push and its pop. */
typedef enum {
    CUPTI_Range_INVALID,
    CUPTI_AutoRange,
    CUPTI_UserRange,
    CUPTI_Range_COUNT
} CUpti_ProfilerRange;

/* Who runs the work again when metrics need several passes. */
typedef enum {
    CUPTI_Replay_INVALID,
    CUPTI_ApplicationReplay,
    CUPTI_KernelReplay,
    CUPTI_UserReplay,
    CUPTI_Replay_COUNT
} CUpti_ProfilerReplayMode;

typedef struct CUpti_Profiler_Initialize_Params {
    size_t structSize;
    void *pPriv;
} CUpti_Profiler_Initialize_Params;
#define CUpti_Profiler_Initialize_Params_STRUCT_SIZE                                               \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Initialize_Params, pPriv)

typedef struct CUpti_Profiler_DeInitialize_Params {
    size_t structSize;
    void *pPriv;
} CUpti_Profiler_DeInitialize_Params;
#define CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE                                             \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeInitialize_Params, pPriv)

/* Before the other functions of the profilers; any number of times. */
CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *pParams);
CUptiResult CUPTIAPI cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *pParams);

typedef struct CUpti_Profiler_GetCounterAvailability_Params {
    size_t structSize;
    void *pPriv;
    CUcontext ctx;                       /* in; NULL: the current one */
    size_t counterAvailabilityImageSize; /* in: of the buffer; out: of the image */
    uint8_t *pCounterAvailabilityImage;  /* in; NULL: only the size is wanted */
} CUpti_Profiler_GetCounterAvailability_Params;
#define CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE                                   \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_GetCounterAvailability_Params,                       \
                               pCounterAvailabilityImage)

/* Says which chip the context's device has, for cuptiProfilerHostInitialize(). */
CUptiResult CUPTIAPI
cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *pParams);

typedef enum {
    CUPTI_PROFILER_CONFIGURATION_UNKNOWN = 0,
    CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
    CUPTI_PROFILER_CONFIGURATION_DISABLED,
    CUPTI_PROFILER_CONFIGURATION_SUPPORTED
} CUpti_Profiler_Support_Level;

typedef enum {
    CUPTI_PROFILER_RANGE_PROFILING = 0,
    CUPTI_PROFILER_PC_SAMPLING,
    CUPTI_PROFILER_SASS_METRICS,
    CUPTI_PROFILER_PM_SAMPLING,
    CUPTI_PROFILER_UNKNOWN
} CUpti_Profiler_API;

typedef struct {
    size_t structSize;
    void *pPriv;
    CUdevice cuDevice;                        /* in */
    CUpti_Profiler_Support_Level isSupported; /* out, as are those below */
    CUpti_Profiler_Support_Level architecture;
    CUpti_Profiler_Support_Level sli;
    CUpti_Profiler_Support_Level vGpu;
    CUpti_Profiler_Support_Level confidentialCompute;
    CUpti_Profiler_Support_Level cmp;
    CUpti_Profiler_Support_Level wsl;
    CUpti_Profiler_API api; /* in: of which interface */
} CUpti_Profiler_DeviceSupported_Params;
#define CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE                                          \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, api)

CUptiResult CUPTIAPI cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams);

#if defined(__cplusplus)
}
#endif

#endif
