/* CUPTI: callbacks around calls and when objects come and go. NVIDIA's manual of CUPTI 13.0. */
#ifndef HEDDLE_CUDA_CUPTI_CALLBACKS_H
#define HEDDLE_CUDA_CUPTI_CALLBACKS_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_result.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
    CUPTI_API_ENTER = 0,
    CUPTI_API_EXIT = 1,
    CUPTI_API_CBSITE_FORCE_INT = 0x7fffffff
} CUpti_ApiCallbackSite;

typedef enum {
    CUPTI_CB_DOMAIN_INVALID = 0,
    CUPTI_CB_DOMAIN_DRIVER_API = 1,
    CUPTI_CB_DOMAIN_RUNTIME_API = 2,
    CUPTI_CB_DOMAIN_RESOURCE = 3,
    CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
    CUPTI_CB_DOMAIN_NVTX = 5,
    CUPTI_CB_DOMAIN_STATE = 6,
    CUPTI_CB_DOMAIN_SIZE,
    CUPTI_CB_DOMAIN_FORCE_INT = 0x7fffffff
} CUpti_CallbackDomain;

/* name, number: those of graphs are never told here */
#define HEDDLE_CUPTI_RESOURCE_LIST(X)                                                              \
    X(CONTEXT_CREATED, 1)                                                                          \
    X(CONTEXT_DESTROY_STARTING, 2)                                                                 \
    X(STREAM_CREATED, 3)                                                                           \
    X(STREAM_DESTROY_STARTING, 4)                                                                  \
    X(CU_INIT_FINISHED, 5)                                                                         \
    X(MODULE_LOADED, 6)                                                                            \
    X(MODULE_UNLOAD_STARTING, 7)                                                                   \
    X(MODULE_PROFILED, 8)                                                                          \
    X(GRAPH_CREATED, 9)                                                                            \
    X(GRAPH_DESTROY_STARTING, 10)                                                                  \
    X(GRAPH_CLONED, 11)                                                                            \
    X(GRAPHNODE_CREATE_STARTING, 12)                                                               \
    X(GRAPHNODE_CREATED, 13)                                                                       \
    X(GRAPHNODE_DESTROY_STARTING, 14)                                                              \
    X(GRAPHNODE_DEPENDENCY_CREATED, 15)                                                            \
    X(GRAPHNODE_DEPENDENCY_DESTROY_STARTING, 16)                                                   \
    X(GRAPHEXEC_CREATE_STARTING, 17)                                                               \
    X(GRAPHEXEC_CREATED, 18)                                                                       \
    X(GRAPHEXEC_DESTROY_STARTING, 19)                                                              \
    X(GRAPHNODE_CLONED, 20)                                                                        \
    X(STREAM_ATTRIBUTE_CHANGED, 21)                                                                \
    X(GRAPH_NODE_UPDATED, 22)                                                                      \
    X(GRAPH_NODE_SET_PARAMS, 23)

typedef enum {
    CUPTI_CBID_RESOURCE_INVALID = 0,
#define X(name, number) CUPTI_CBID_RESOURCE_##name = (number),
    HEDDLE_CUPTI_RESOURCE_LIST(X)
#undef X
        CUPTI_CBID_RESOURCE_SIZE,
    CUPTI_CBID_RESOURCE_FORCE_INT = 0x7fffffff
} CUpti_CallbackIdResource;

typedef enum {
    CUPTI_CBID_SYNCHRONIZE_INVALID = 0,
    CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED = 1,
    CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED = 2,
    CUPTI_CBID_SYNCHRONIZE_SIZE,
    CUPTI_CBID_SYNCHRONIZE_FORCE_INT = 0x7fffffff
} CUpti_CallbackIdSync;

typedef enum {
    CUPTI_CBID_STATE_INVALID = 0,
    CUPTI_CBID_STATE_FATAL_ERROR = 1,
    CUPTI_CBID_STATE_ERROR = 2,
    CUPTI_CBID_STATE_WARNING = 3,
    CUPTI_CBID_STATE_SIZE,
    CUPTI_CBID_STATE_FORCE_INT = 0x7fffffff
} CUpti_CallbackIdState;

typedef uint32_t CUpti_CallbackId;

/* Of DRIVER_API and RUNTIME_API; valid during the callback. */
typedef struct {
    CUpti_ApiCallbackSite callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue; /* EXIT: the CUresult or cudaError_t */
    const char *symbolName;    /* of a launch: the kernel */
    CUcontext context;
    uint32_t contextUid;
    uint64_t *correlationData; /* the client's, from a call's ENTER to its EXIT */
    uint32_t correlationId;    /* as activity records have it */
} CUpti_CallbackData;

typedef struct {
    CUcontext context;
    union {
        CUstream stream;
    } resourceHandle;
    void *resourceDescriptor; /* of a module: CUpti_ModuleResourceData */
} CUpti_ResourceData;

typedef struct {
    uint32_t moduleId;
    size_t cubinSize; /* 0: when it goes. No machine code for a GPU, but what identifies it */
    const char *pCubin;
} CUpti_ModuleResourceData;

typedef struct {
    CUgraph graph;
    CUgraph originalGraph;
    CUgraphNode node;
    CUgraphNode originalNode;
    CUgraphNodeType nodeType;
    CUgraphNode dependency;
    CUgraphExec graphExec;
} CUpti_GraphData;

typedef struct {
    CUcontext context;
    CUstream stream;
} CUpti_SynchronizeData;

typedef struct {
    const char *functionName;
    const void *functionParams; /* generated_nvtx_meta.h */
    const void *functionReturnValue;
} CUpti_NvtxData;

typedef struct {
    union {
        struct {
            CUptiResult result;
            const char *message;
        } notification;
    };
} CUpti_StateData;

typedef void(CUPTIAPI *CUpti_CallbackFunc)(void *userdata, CUpti_CallbackDomain domain,
                                           CUpti_CallbackId cbid, const void *cbdata);
typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;
typedef CUpti_CallbackDomain *CUpti_DomainTable;

/* The domains that can be enabled, a table of the library's. */
CUptiResult CUPTIAPI cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable);
/* One subscriber at a time: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED. */
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                                    void *userdata);

#define CUPTI_SUBSCRIBER_NAME_MAX_LEN     53
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN 64

typedef struct {
    size_t structSize;
    const char *subscriberName;
    char *oldSubscriberName; /* where there is a subscriber: receives its name */
    size_t oldSubscriberSize;
} CUpti_SubscriberParams;
#define CUpti_SubscriberParams_STRUCT_SIZE sizeof(CUpti_SubscriberParams)

/* pParams may be null. */
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
                                       CUpti_CallbackFunc callback, void *userdata,
                                       CUpti_SubscriberParams *pParams);
/* Returns when no other thread is inside the callback. */
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber);
CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain);
CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber);
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                          const char **name);

#if defined(__cplusplus)
}
#endif

#endif
