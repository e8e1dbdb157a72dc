/* CUPTI: what functionParams of callbacks around NVTX's functions points to. */
#ifndef HEDDLE_CUDA_GENERATED_NVTX_META_H
#define HEDDLE_CUDA_GENERATED_NVTX_META_H

#include "nvtx3/nvToolsExt.h"
#include "nvtx3/nvToolsExtCuda.h"
#include "nvtx3/nvToolsExtCudaRt.h"
#include "nvtx3/nvToolsExtSync.h"

#define HEDDLE_NVTX_PARAMS(name, ...)                                                              \
    typedef struct name##_params_st {                                                              \
        __VA_ARGS__                                                                                \
    } name##_params;
#define HEDDLE_NVTX_FORMS(S, type)                                                                 \
    HEDDLE_NVTX_PARAMS(nvtxMark##S, type message;)                                                 \
    HEDDLE_NVTX_PARAMS(nvtxRangeStart##S, type message;)                                           \
    HEDDLE_NVTX_PARAMS(nvtxRangePush##S, type message;)                                            \
    HEDDLE_NVTX_PARAMS(nvtxNameCategory##S, uint32_t category; type name;)                         \
    HEDDLE_NVTX_PARAMS(nvtxNameOsThread##S, uint32_t threadId; type name;)                         \
    HEDDLE_NVTX_PARAMS(nvtxNameCuDevice##S, CUdevice device; type name;)                           \
    HEDDLE_NVTX_PARAMS(nvtxNameCuContext##S, CUcontext context; type name;)                        \
    HEDDLE_NVTX_PARAMS(nvtxNameCuStream##S, CUstream stream; type name;)                           \
    HEDDLE_NVTX_PARAMS(nvtxNameCuEvent##S, CUevent event; type name;)                              \
    HEDDLE_NVTX_PARAMS(nvtxNameCudaDevice##S, int device; type name;)                              \
    HEDDLE_NVTX_PARAMS(nvtxNameCudaStream##S, cudaStream_t stream; type name;)                     \
    HEDDLE_NVTX_PARAMS(nvtxNameCudaEvent##S, cudaEvent_t event; type name;)                        \
    HEDDLE_NVTX_PARAMS(nvtxDomainCreate##S, type name;)                                            \
    HEDDLE_NVTX_PARAMS(nvtxDomainRegisterString##S, nvtxDomainHandle_t domain; type string;)
HEDDLE_NVTX_FORMS(A, const char *)
HEDDLE_NVTX_FORMS(W, const wchar_t *)
HEDDLE_NVTX_PARAMS(nvtxMarkEx, const nvtxEventAttributes_t *eventAttrib;)
HEDDLE_NVTX_PARAMS(nvtxRangeStartEx, const nvtxEventAttributes_t *eventAttrib;)
HEDDLE_NVTX_PARAMS(nvtxRangePushEx, const nvtxEventAttributes_t *eventAttrib;)
HEDDLE_NVTX_PARAMS(nvtxRangeEnd, nvtxRangeId_t id;)
HEDDLE_NVTX_PARAMS(nvtxRangePop, void *dummy;)
HEDDLE_NVTX_PARAMS(nvtxDomainMarkEx, nvtxDomainHandle_t domain; nvtxMarkEx_params core;)
HEDDLE_NVTX_PARAMS(nvtxDomainRangeStartEx, nvtxDomainHandle_t domain; nvtxRangeStartEx_params core;)
HEDDLE_NVTX_PARAMS(nvtxDomainRangePushEx, nvtxDomainHandle_t domain; nvtxRangePushEx_params core;)
HEDDLE_NVTX_PARAMS(nvtxDomainRangeEnd, nvtxDomainHandle_t domain; nvtxRangeEnd_params core;)
HEDDLE_NVTX_PARAMS(nvtxDomainRangePop, nvtxDomainHandle_t domain;)
HEDDLE_NVTX_PARAMS(nvtxDomainDestroy, nvtxDomainHandle_t domain;)
HEDDLE_NVTX_PARAMS(nvtxSyncUserCreate, nvtxDomainHandle_t domain;
                   const nvtxSyncUserAttributes_t *attribs;)
HEDDLE_NVTX_PARAMS(nvtxSyncUserCommon, nvtxSyncUser_t handle;)
#undef HEDDLE_NVTX_FORMS
#undef HEDDLE_NVTX_PARAMS

#endif
