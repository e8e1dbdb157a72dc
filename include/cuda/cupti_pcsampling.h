/*
 * CUPTI: PC sampling. Names, values and layouts as in NVIDIA's manual of CUPTI 13.0.
 *
 * What a sample is here, which reasons there are and what a program counter means says docs/cupti.md: threads of the device
 * are asked at each period which instruction of a kernel they are at.
 */
#ifndef HEDDLE_CUDA_CUPTI_PCSAMPLING_H
#define HEDDLE_CUDA_CUPTI_PCSAMPLING_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

#ifndef CUPTI_PCSAMPLING_STRUCT_SIZE
#define CUPTI_PCSAMPLING_STRUCT_SIZE(type_, lastfield_)                                            \
    (offsetof(type_, lastfield_) + sizeof(((type_ *)0)->lastfield_))
#endif
#ifndef CUPTI_STALL_REASON_STRING_SIZE
#define CUPTI_STALL_REASON_STRING_SIZE 128
#endif
#ifndef PACKED_ALIGNMENT
#define PACKED_ALIGNMENT __attribute__((__packed__)) __attribute__((aligned(8)))
#endif

typedef enum {
    CUPTI_PC_SAMPLING_COLLECTION_MODE_INVALID = 0,
    CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS = 1,
    CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED = 2
} CUpti_PCSamplingCollectionMode;

typedef struct PACKED_ALIGNMENT {
    uint32_t pcSamplingStallReasonIndex;
    uint32_t samples;
} CUpti_PCSamplingStallReason;

typedef struct PACKED_ALIGNMENT {
    size_t size; /* in; 0: of this struct */
    uint64_t cubinCrc;
    uint64_t
        pcOffset; /* 16 for each instruction of the kernel as it was compiled; 0: not known which */
    uint32_t functionIndex;
    uint32_t pad;
    char *functionName; /* of the kernel; for free() */
    size_t stallReasonCount;
    CUpti_PCSamplingStallReason *stallReason; /* the client's */
    uint32_t correlationId;                   /* 0 */
} CUpti_PCSamplingPCData;

typedef enum {
    CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_INVALID = 0,
    CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED = 1
} CUpti_PCSamplingOutputDataFormat;

typedef struct PACKED_ALIGNMENT {
    size_t size;
    size_t collectNumPcs;    /* in: room in pPcData */
    uint64_t totalSamples;   /* since the data was last taken, with those that were dropped */
    uint64_t droppedSamples; /* for want of room */
    size_t totalNumPcs;      /* out: as many of pPcData are filled in */
    size_t remainingNumPcs;  /* out: those that were not */
    uint64_t rangeId;        /* counts starts */
    CUpti_PCSamplingPCData *pPcData;
    uint64_t nonUsrKernelsTotalSamples; /* 0 */
    uint8_t hardwareBufferFull;         /* 0 */
} CUpti_PCSamplingData;

typedef enum {
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_INVALID = 0,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON = 2,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE = 3,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE = 4,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE = 5,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL = 6,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT = 7,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER = 8,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN = 9,
    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_FORCE_INT = 0x7fffffff
} CUpti_PCSamplingConfigurationAttributeType;

typedef struct {
    CUpti_PCSamplingConfigurationAttributeType attributeType;
    CUptiResult attributeStatus; /* out */
    union {
        struct {
            uint64_t data[3];
        } invalidData;
        struct {
            uint32_t
                samplingPeriod; /* 5 to 31: 2 to that power clocks; one that is too short becomes the shortest */
        } samplingPeriodData;
        struct {
            size_t stallReasonCount;
            uint32_t *pStallReasonIndex;
        } stallReasonData;
        struct {
            size_t scratchBufferSize; /* kept; it changes nothing */
        } scratchBufferSizeData;
        struct {
            size_t hardwareBufferSize; /* likewise */
        } hardwareBufferSizeData;
        struct {
            CUpti_PCSamplingCollectionMode collectionMode;
        } collectionModeData;
        struct {
            uint32_t enableStartStopControl;
        } enableStartStopControlData;
        struct {
            CUpti_PCSamplingOutputDataFormat outputDataFormat;
        } outputDataFormatData;
        struct {
            void *
                samplingDataBuffer; /* CUpti_PCSamplingData: cuptiPCSamplingDisable() fills it in */
        } samplingDataBufferData;
        struct {
            uint32_t workerThreadPeriodicSleepSpan; /* kept; it changes nothing */
        } workerThreadPeriodicSleepSpanData;
    } attributeData;
} CUpti_PCSamplingConfigurationInfo;

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
    size_t numAttributes;
    CUpti_PCSamplingConfigurationInfo *pPCSamplingConfigurationInfo;
} CUpti_PCSamplingConfigurationInfoParams;
#define CUpti_PCSamplingConfigurationInfoParamsSize                                                \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingConfigurationInfoParams,                          \
                                 pPCSamplingConfigurationInfo)

/* CUPTI_ERROR_INVALID_OPERATION: PC sampling is not enabled, or an attribute's status says more. */
CUptiResult CUPTIAPI
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *pParams);
CUptiResult CUPTIAPI
cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *pParams);

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
    void *pcSamplingData; /* CUpti_PCSamplingData */
} CUpti_PCSamplingGetDataParams;
#define CUpti_PCSamplingGetDataParamsSize                                                          \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetDataParams, pcSamplingData)

/* What was sampled since the last time. It does not wait for the device. */
CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *pParams);

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
} CUpti_PCSamplingEnableParams;
#define CUpti_PCSamplingEnableParamsSize                                                           \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingEnableParams, ctx)

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
} CUpti_PCSamplingDisableParams;
#define CUpti_PCSamplingDisableParamsSize                                                          \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingDisableParams, ctx)

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
} CUpti_PCSamplingStartParams;
#define CUpti_PCSamplingStartParamsSize                                                            \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingStartParams, ctx)

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
} CUpti_PCSamplingStopParams;
#define CUpti_PCSamplingStopParamsSize CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingStopParams, ctx)

/* CUPTI_ERROR_NOT_SUPPORTED: the device is the reference interpreter. It starts, unless start and stop are controlled. */
CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *pParams);
CUptiResult CUPTIAPI cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *pParams);
/* Launches from then on. CUPTI_ERROR_INVALID_OPERATION: that is not controlled, or it is started already. */
CUptiResult CUPTIAPI cuptiPCSamplingStart(CUpti_PCSamplingStartParams *pParams);
/* Waits for the context's work. */
CUptiResult CUPTIAPI cuptiPCSamplingStop(CUpti_PCSamplingStopParams *pParams);

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
    size_t *numStallReasons;
} CUpti_PCSamplingGetNumStallReasonsParams;
#define CUpti_PCSamplingGetNumStallReasonsParamsSize                                               \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons)

typedef struct {
    size_t size;
    void *pPriv;
    CUcontext ctx;
    size_t numStallReasons;
    uint32_t *stallReasonIndex;
    char **stallReasons; /* each of CUPTI_STALL_REASON_STRING_SIZE bytes */
} CUpti_PCSamplingGetStallReasonsParams;
#define CUpti_PCSamplingGetStallReasonsParamsSize                                                  \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetStallReasonsParams, stallReasons)

CUptiResult CUPTIAPI
cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *pParams);
CUptiResult CUPTIAPI cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *pParams);

typedef struct CUpti_GetSassToSourceCorrelationParams {
    size_t size;
    const void *cubin; /* that the module's callback had */
    const char *functionName;
    size_t cubinSize;
    uint32_t lineNumber; /* out */
    uint64_t pcOffset;
    char *fileName; /* out, and so is the next; for free() */
    char *dirName;
} CUpti_GetSassToSourceCorrelationParams;
#define CUpti_GetSassToSourceCorrelationParamsSize                                                 \
    CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_GetSassToSourceCorrelationParams, dirName)

/*
 * Of program counters that this process was told of. CUPTI_ERROR_INVALID_MODULE: not a cubin of this library's.
 * CUPTI_ERROR_UNKNOWN: the line is not known.
 */
CUptiResult CUPTIAPI
cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *pParams);

typedef struct {
    size_t size;
    size_t cubinSize;
    const void *cubin;
    uint64_t cubinCrc; /* out */
} CUpti_GetCubinCrcParams;
#define CUpti_GetCubinCrcParamsSize CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_GetCubinCrcParams, cubinCrc)

/* Of any bytes. */
CUptiResult CUPTIAPI cuptiGetCubinCrc(CUpti_GetCubinCrcParams *pParams);

typedef void(CUPTIAPI *CUpti_ComputeCrcCallbackFunc)(const void *cubin, size_t cubinSize,
                                                     uint64_t *cubinCrc);
/* Another way to make a module's number, which data that is taken from now on has. */
CUptiResult CUPTIAPI
cuptiRegisterComputeCrcCallback(CUpti_ComputeCrcCallbackFunc funcComputeCubinCrc);

#if defined(__cplusplus)
}
#endif

#endif
