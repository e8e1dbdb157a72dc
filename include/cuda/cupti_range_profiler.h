/*
 * CUPTI: metrics of ranges. Names, values and layouts as in NVIDIA's manual of CUPTI 13.0.
 *
 * A range profiler object belongs to a context: it is enabled, told what to count and where to put it (SetConfig), started
 * and stopped; DecodeData writes what was counted into the counter data image, which cupti_profiler_host.h reads. A range
 * is a kernel (AutoRange), or what is launched between a push and its pop (UserRange). One pass is always enough.
 */
#ifndef HEDDLE_CUDA_CUPTI_RANGE_PROFILER_H
#define HEDDLE_CUDA_CUPTI_RANGE_PROFILER_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_profiler_target.h"
#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct CUpti_RangeProfiler_Object CUpti_RangeProfiler_Object;

typedef struct CUpti_RangeProfiler_SetConfig_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    size_t configSize;
    const uint8_t *pConfig;
    size_t counterDataImageSize;
    uint8_t *pCounterDataImage; /* has to stay until the data is decoded */
    CUpti_ProfilerRange range;
    CUpti_ProfilerReplayMode replayMode;
    size_t maxRangesPerPass;
    uint16_t numNestingLevels; /* levels that become ranges, */
    uint16_t minNestingLevel;  /* from this one on; the outermost is 1 */
    size_t passIndex;
    uint16_t targetNestingLevel;
} CUpti_RangeProfiler_SetConfig_Params;
#define CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE                                           \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel)

typedef struct CUpti_RangeProfiler_Enable_Params {
    size_t structSize;
    void *pPriv;
    CUcontext ctx;                                    /* NULL: the current one */
    CUpti_RangeProfiler_Object *pRangeProfilerObject; /* out */
} CUpti_RangeProfiler_Enable_Params;
#define CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE                                              \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject)

typedef struct CUpti_RangeProfiler_Disable_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
} CUpti_RangeProfiler_Disable_Params;
#define CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE                                             \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject)

typedef struct CUpti_RangeProfiler_Start_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
} CUpti_RangeProfiler_Start_Params;
#define CUpti_RangeProfiler_Start_Params_STRUCT_SIZE                                               \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject)

typedef struct CUpti_RangeProfiler_Stop_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    size_t passIndex;           /* out: of the next pass */
    size_t targetNestingLevel;  /* out */
    uint8_t isAllPassSubmitted; /* out: 1 */
} CUpti_RangeProfiler_Stop_Params;
#define CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE                                                \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted)

typedef struct CUpti_RangeProfiler_PushRange_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    const char *pRangeName;
} CUpti_RangeProfiler_PushRange_Params;
#define CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE                                           \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_PushRange_Params, pRangeName)

typedef struct CUpti_RangeProfiler_PopRange_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
} CUpti_RangeProfiler_PopRange_Params;
#define CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE                                            \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject)

typedef struct CUpti_RangeProfiler_DecodeData_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    size_t
        numOfRangeDropped; /* out: for which there was no room, or whose kernels could not be counted */
} CUpti_RangeProfiler_DecodeData_Params;
#define CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE                                          \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped)

typedef struct CUpti_RangeProfiler_GetCounterDataSize_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    const char **pMetricNames;
    size_t numMetrics;
    size_t maxNumOfRanges;
    uint32_t maxNumRangeTreeNodes;
    size_t counterDataSize; /* out */
} CUpti_RangeProfiler_GetCounterDataSize_Params;
#define CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE                                  \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize)

typedef struct CUpti_RangeProfiler_CounterDataImage_Initialize_Params {
    size_t structSize;
    void *pPriv;
    CUpti_RangeProfiler_Object *pRangeProfilerObject;
    size_t counterDataSize;
    uint8_t *pCounterData;
} CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
#define CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE                         \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData)

typedef struct CUpti_RangeProfiler_GetCounterDataInfo_Params {
    size_t structSize;
    void *pPriv;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t numTotalRanges; /* out */
} CUpti_RangeProfiler_GetCounterDataInfo_Params;
#define CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE                                  \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges)

typedef struct CUpti_RangeProfiler_CounterData_GetRangeInfo_Params {
    size_t structSize;
    void *pPriv;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize;
    size_t rangeIndex;
    const char *rangeDelimiter; /* NULL: "/" */
    const char *rangeName;      /* out: the library's; stays */
} CUpti_RangeProfiler_CounterData_GetRangeInfo_Params;
#define CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE                            \
    CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName)

CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *pParams);
/* CUPTI_ERROR_HARDWARE_BUSY: somebody else counts (`heddle prof --kernel`), or kernels are checked. */
CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *pParams);
/* Waits for the context's work. */
CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *pParams);
CUptiResult CUPTIAPI
cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *pParams);
CUptiResult CUPTIAPI
cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *pParams);
CUptiResult CUPTIAPI cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *pParams);

#if defined(__cplusplus)
}
#endif

#endif
