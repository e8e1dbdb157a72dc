/* NVTX: locks of the program's own, as a tool sees them. Interface: NVTX version 3. */
#if !defined(HEDDLE_CUDA_NVTX_TOOLSEXT_SYNC_H) && !defined(__CUDACC_RTC__)
#define HEDDLE_CUDA_NVTX_TOOLSEXT_SYNC_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define NVTOOLSEXT_SYNC_V3

#include "nvtx3/nvToolsExt.h"

#define NVTX_RESOURCE_CLASS_SYNC_OS      2
#define NVTX_RESOURCE_CLASS_SYNC_PTHREAD 3

struct nvtxSyncUser;
typedef struct nvtxSyncUser *nvtxSyncUser_t;

typedef struct nvtxSyncUserAttributes_v0 {
    uint16_t version; /* NVTX_VERSION */
    uint16_t size;    /* NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE */
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxSyncUserAttributes_v0;
typedef struct nvtxSyncUserAttributes_v0 nvtxSyncUserAttributes_t;
#define NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxSyncUserAttributes_v0))

HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_SYNC, 1, nvtxDomainSyncUserCreate, nvtxSyncUser_t, NULL,
                     (nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *attribs),
                     (domain, attribs))
#define HEDDLE_NVTX_LOCK(callback, name)                                                           \
    HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_SYNC, callback, name, void, , (nvtxSyncUser_t handle),     \
                         (handle))
HEDDLE_NVTX_LOCK(2, nvtxDomainSyncUserDestroy)
HEDDLE_NVTX_LOCK(3, nvtxDomainSyncUserAcquireStart)
HEDDLE_NVTX_LOCK(4, nvtxDomainSyncUserAcquireFailed)
HEDDLE_NVTX_LOCK(5, nvtxDomainSyncUserAcquireSuccess)
HEDDLE_NVTX_LOCK(6, nvtxDomainSyncUserReleasing)
#undef HEDDLE_NVTX_LOCK

#endif
