/*
 * Types of the driver API's functions, for what cuGetProcAddress() and cudaGetDriverEntryPoint() give:
 * PFN_cuInit_v2000 by the version that brought the function, PFN_cuInit for what the plain name stands for.
 * Made by scripts/gen_api.py from spec/api/driver.def.
 */
/* clang-format off */
#ifndef HEDDLE_CUDA_CUDATYPEDEFS_H
#define HEDDLE_CUDA_CUDATYPEDEFS_H

#include "cuda.h"

typedef CUresult(CUDAAPI *PFN_cuArray3DCreate_v3020)(
    CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray);
typedef CUresult(CUDAAPI *PFN_cuArray3DGetDescriptor_v3020)(
    CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray);
typedef CUresult(CUDAAPI *PFN_cuArrayCreate_v3020)(
    CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray);
typedef CUresult(CUDAAPI *PFN_cuArrayDestroy_v2000)(CUarray hArray);
typedef CUresult(CUDAAPI *PFN_cuArrayGetDescriptor_v3020)(
    CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray);
typedef CUresult(CUDAAPI *PFN_cuArrayGetMemoryRequirements_v11060)(
    CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array, CUdevice device);
typedef CUresult(CUDAAPI *PFN_cuArrayGetPlane_v11020)(
    CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx);
typedef CUresult(CUDAAPI *PFN_cuArrayGetSparseProperties_v11010)(
    CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessCheckpoint_v12080)(
    int pid, CUcheckpointCheckpointArgs *args);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessGetRestoreThreadId_v12080)(int pid, int *tid);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessGetState_v12080)(int pid, CUprocessState *state);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessLock_v12080)(int pid, CUcheckpointLockArgs *args);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessRestore_v12080)(
    int pid, CUcheckpointRestoreArgs *args);
typedef CUresult(CUDAAPI *PFN_cuCheckpointProcessUnlock_v12080)(
    int pid, CUcheckpointUnlockArgs *args);
typedef CUresult(CUDAAPI *PFN_cuCoredumpGetAttribute_v12010)(
    CUcoredumpSettings attrib, void *value, size_t *size);
typedef CUresult(CUDAAPI *PFN_cuCoredumpGetAttributeGlobal_v12010)(
    CUcoredumpSettings attrib, void *value, size_t *size);
typedef CUresult(CUDAAPI *PFN_cuCoredumpSetAttribute_v12010)(
    CUcoredumpSettings attrib, void *value, size_t *size);
typedef CUresult(CUDAAPI *PFN_cuCoredumpSetAttributeGlobal_v12010)(
    CUcoredumpSettings attrib, void *value, size_t *size);
typedef CUresult(CUDAAPI *PFN_cuCtxAttach_v2000)(CUcontext *ctx, unsigned flags);
typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v2000)(CUcontext *ctx, unsigned flags, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v3020)(CUcontext *ctx, unsigned flags, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v11040)(
    CUcontext *ctx, CUexecAffinityParam *params, int count, unsigned flags, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuCtxCreate_v12050)(
    CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuCtxDestroy_v2000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxDestroy_v4000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxDetach_v2000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxDisablePeerAccess_v4000)(CUcontext peerContext);
typedef CUresult(CUDAAPI *PFN_cuCtxEnablePeerAccess_v4000)(
    CUcontext peerContext, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuCtxFromGreenCtx_v12040)(CUcontext *pContext, CUgreenCtx hCtx);
typedef CUresult(CUDAAPI *PFN_cuCtxGetApiVersion_v3020)(CUcontext ctx, unsigned int *version);
typedef CUresult(CUDAAPI *PFN_cuCtxGetCacheConfig_v3020)(CUfunc_cache *pconfig);
typedef CUresult(CUDAAPI *PFN_cuCtxGetCurrent_v4000)(CUcontext *pctx);
typedef CUresult(CUDAAPI *PFN_cuCtxGetDevResource_v12040)(
    CUcontext hCtx, CUdevResource *resource, CUdevResourceType type);
typedef CUresult(CUDAAPI *PFN_cuCtxGetDevice_v2000)(CUdevice *device);
typedef CUresult(CUDAAPI *PFN_cuCtxGetDevice_v13000)(CUdevice *dev, CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxGetExecAffinity_v11040)(
    CUexecAffinityParam *pExecAffinity, CUexecAffinityType type);
typedef CUresult(CUDAAPI *PFN_cuCtxGetFlags_v7000)(unsigned int *flags);
typedef CUresult(CUDAAPI *PFN_cuCtxGetId_v12000)(CUcontext ctx, unsigned long long *ctxId);
typedef CUresult(CUDAAPI *PFN_cuCtxGetLimit_v3010)(size_t *pvalue, CUlimit limit);
typedef CUresult(CUDAAPI *PFN_cuCtxGetSharedMemConfig_v4020)(CUsharedconfig *pConfig);
typedef CUresult(CUDAAPI *PFN_cuCtxGetStreamPriorityRange_v5050)(
    int *leastPriority, int *greatestPriority);
typedef CUresult(CUDAAPI *PFN_cuCtxPopCurrent_v2000)(CUcontext *ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxPopCurrent_v4000)(CUcontext *pctx);
typedef CUresult(CUDAAPI *PFN_cuCtxPushCurrent_v2000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxPushCurrent_v4000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxRecordEvent_v12050)(CUcontext hCtx, CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuCtxResetPersistingL2Cache_v11000)(void);
typedef CUresult(CUDAAPI *PFN_cuCtxSetCacheConfig_v3020)(CUfunc_cache config);
typedef CUresult(CUDAAPI *PFN_cuCtxSetCurrent_v4000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxSetFlags_v12010)(unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuCtxSetLimit_v3010)(CUlimit limit, size_t value);
typedef CUresult(CUDAAPI *PFN_cuCtxSetSharedMemConfig_v4020)(CUsharedconfig config);
typedef CUresult(CUDAAPI *PFN_cuCtxSynchronize_v2000)(void);
typedef CUresult(CUDAAPI *PFN_cuCtxSynchronize_v13000)(CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuCtxWaitEvent_v12050)(CUcontext hCtx, CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuDestroyExternalMemory_v10000)(CUexternalMemory extMem);
typedef CUresult(CUDAAPI *PFN_cuDestroyExternalSemaphore_v10000)(CUexternalSemaphore extSem);
typedef CUresult(CUDAAPI *PFN_cuDevResourceGenerateDesc_v12040)(
    CUdevResourceDesc *phDesc, CUdevResource *resources, unsigned int nbResources);
typedef CUresult(CUDAAPI *PFN_cuDevSmResourceSplitByCount_v12040)(
    CUdevResource *result, unsigned int *nbGroups, const CUdevResource *input,
    CUdevResource *remaining, unsigned int useFlags, unsigned int minCount);
typedef CUresult(CUDAAPI *PFN_cuDeviceCanAccessPeer_v4000)(
    int *canAccessPeer, CUdevice dev, CUdevice peerDev);
typedef CUresult(CUDAAPI *PFN_cuDeviceComputeCapability_v2000)(
    int *major, int *minor, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGet_v2000)(CUdevice *device, int ordinal);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetAttribute_v2000)(
    int *pi, CUdevice_attribute attrib, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetByPCIBusId_v4010)(CUdevice *dev, const char *pciBusId);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetCount_v2000)(int *count);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetDefaultMemPool_v11020)(
    CUmemoryPool *pool_out, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetDevResource_v12040)(
    CUdevice device, CUdevResource *resource, CUdevResourceType type);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetExecAffinitySupport_v11040)(
    int *pi, CUexecAffinityType type, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetGraphMemAttribute_v11040)(
    CUdevice device, CUgraphMem_attribute attr, void *value);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetHostAtomicCapabilities_v13000)(
    unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count,
    CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetLuid_v10000)(
    char *luid, unsigned int *deviceNodeMask, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetMemPool_v11020)(CUmemoryPool *pool, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetName_v2000)(char *name, int len, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetNvSciSyncAttributes_v10020)(
    void *nvSciSyncAttrList, CUdevice dev, int flags);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetP2PAtomicCapabilities_v13000)(
    unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count,
    CUdevice srcDevice, CUdevice dstDevice);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetP2PAttribute_v8000)(
    int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetPCIBusId_v4010)(char *pciBusId, int len, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetProperties_v2000)(CUdevprop *prop, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetTexture1DLinearMaxWidth_v11010)(
    size_t *maxWidthInElements, CUarray_format format, unsigned int numChannels, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetUuid_v9020)(CUuuid *uuid, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGetUuid_v11040)(CUuuid *uuid, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceGraphMemTrim_v11040)(CUdevice device);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxGetState_v7000)(
    CUdevice dev, unsigned int *flags, int *active);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxRelease_v7000)(CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxRelease_v11000)(CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxReset_v7000)(CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxReset_v11000)(CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxRetain_v7000)(CUcontext *pctx, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxSetFlags_v7000)(CUdevice dev, unsigned flags);
typedef CUresult(CUDAAPI *PFN_cuDevicePrimaryCtxSetFlags_v11000)(CUdevice dev, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuDeviceRegisterAsyncNotification_v12040)(
    CUdevice device, CUasyncCallback callbackFunc, void *userData, CUasyncCallbackHandle *callback);
typedef CUresult(CUDAAPI *PFN_cuDeviceSetGraphMemAttribute_v11040)(
    CUdevice device, CUgraphMem_attribute attr, void *value);
typedef CUresult(CUDAAPI *PFN_cuDeviceSetMemPool_v11020)(CUdevice dev, CUmemoryPool pool);
typedef CUresult(CUDAAPI *PFN_cuDeviceTotalMem_v2000)(unsigned int *bytes, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceTotalMem_v3020)(size_t *bytes, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuDeviceUnregisterAsyncNotification_v12040)(
    CUdevice device, CUasyncCallbackHandle callback);
typedef CUresult(CUDAAPI *PFN_cuDriverGetVersion_v2020)(int *driverVersion);
typedef CUresult(CUDAAPI *PFN_cuEventCreate_v2000)(CUevent *phEvent, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuEventDestroy_v2000)(CUevent event);
typedef CUresult(CUDAAPI *PFN_cuEventDestroy_v4000)(CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuEventElapsedTime_v2000)(float *ms, CUevent start, CUevent end);
typedef CUresult(CUDAAPI *PFN_cuEventElapsedTime_v12080)(
    float *pMilliseconds, CUevent hStart, CUevent hEnd);
typedef CUresult(CUDAAPI *PFN_cuEventQuery_v2000)(CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuEventRecord_v2000)(CUevent hEvent, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuEventRecord_v7000_ptsz)(CUevent hEvent, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuEventRecordWithFlags_v11010)(
    CUevent hEvent, CUstream hStream, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuEventRecordWithFlags_v11010_ptsz)(
    CUevent hEvent, CUstream hStream, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuEventSynchronize_v2000)(CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuExternalMemoryGetMappedBuffer_v10000)(
    CUdeviceptr *devPtr, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc);
typedef CUresult(CUDAAPI *PFN_cuExternalMemoryGetMappedMipmappedArray_v10000)(
    CUmipmappedArray *mipmap, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc);
typedef CUresult(CUDAAPI *PFN_cuFlushGPUDirectRDMAWrites_v11030)(
    CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope);
typedef CUresult(CUDAAPI *PFN_cuFuncGetAttribute_v2020)(
    int *pi, CUfunction_attribute attrib, CUfunction hfunc);
typedef CUresult(CUDAAPI *PFN_cuFuncGetModule_v11000)(CUmodule *hmod, CUfunction hfunc);
typedef CUresult(CUDAAPI *PFN_cuFuncGetName_v12030)(const char **name, CUfunction hfunc);
typedef CUresult(CUDAAPI *PFN_cuFuncGetParamInfo_v12040)(
    CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize);
typedef CUresult(CUDAAPI *PFN_cuFuncIsLoaded_v12040)(
    CUfunctionLoadingState *state, CUfunction function);
typedef CUresult(CUDAAPI *PFN_cuFuncLoad_v12040)(CUfunction function);
typedef CUresult(CUDAAPI *PFN_cuFuncSetAttribute_v9000)(
    CUfunction hfunc, CUfunction_attribute attrib, int value);
typedef CUresult(CUDAAPI *PFN_cuFuncSetBlockShape_v2000)(CUfunction hfunc, int x, int y, int z);
typedef CUresult(CUDAAPI *PFN_cuFuncSetCacheConfig_v3000)(CUfunction hfunc, CUfunc_cache config);
typedef CUresult(CUDAAPI *PFN_cuFuncSetSharedMemConfig_v4020)(
    CUfunction func, CUsharedconfig config);
typedef CUresult(CUDAAPI *PFN_cuFuncSetSharedSize_v2000)(CUfunction hfunc, unsigned int bytes);
typedef CUresult(CUDAAPI *PFN_cuGetErrorName_v6000)(CUresult error, const char **pStr);
typedef CUresult(CUDAAPI *PFN_cuGetErrorString_v6000)(CUresult error, const char **pStr);
typedef CUresult(CUDAAPI *PFN_cuGetExportTable_v3000)(
    const void **ppExportTable, const CUuuid *pExportTableId);
typedef CUresult(CUDAAPI *PFN_cuGetProcAddress_v11030)(
    const char *symbol, void **func, int version, cuuint64_t flags);
typedef CUresult(CUDAAPI *PFN_cuGetProcAddress_v12000)(
    const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
    CUdriverProcAddressQueryResult *symbolStatus);
typedef CUresult(CUDAAPI *PFN_cuGraphAddBatchMemOpNode_v11070)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddChildGraphNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUgraph childGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphAddDependencies_v10000)(
    CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphAddDependencies_v12030)(
    CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
    const CUgraphEdgeData *edgeData, size_t numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphAddEmptyNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphAddEventRecordNode_v11010)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphAddEventWaitNode_v11010)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphAddExternalSemaphoresSignalNode_v11020)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddExternalSemaphoresWaitNode_v11020)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddHostNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddKernelNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddKernelNode_v12000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddMemAllocNode_v11040)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddMemFreeNode_v11040)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUdeviceptr dptr);
typedef CUresult(CUDAAPI *PFN_cuGraphAddMemcpyNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuGraphAddMemsetNode_v10000)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuGraphAddNode_v12020)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    size_t numDependencies, CUgraphNodeParams *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphAddNode_v12030)(
    CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
    const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphBatchMemOpNodeGetParams_v11070)(
    CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out);
typedef CUresult(CUDAAPI *PFN_cuGraphBatchMemOpNodeSetParams_v11070)(
    CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphChildGraphNodeGetGraph_v10000)(
    CUgraphNode hNode, CUgraph *phGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphClone_v10000)(CUgraph *phGraphClone, CUgraph originalGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphConditionalHandleCreate_v12030)(
    CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx,
    unsigned int defaultLaunchValue, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphCreate_v10000)(CUgraph *phGraph, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphDebugDotPrint_v11030)(
    CUgraph hGraph, const char *path, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphDestroy_v10000)(CUgraph hGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphDestroyNode_v10000)(CUgraphNode hNode);
typedef CUresult(CUDAAPI *PFN_cuGraphEventRecordNodeGetEvent_v11010)(
    CUgraphNode hNode, CUevent *event_out);
typedef CUresult(CUDAAPI *PFN_cuGraphEventRecordNodeSetEvent_v11010)(
    CUgraphNode hNode, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphEventWaitNodeGetEvent_v11010)(
    CUgraphNode hNode, CUevent *event_out);
typedef CUresult(CUDAAPI *PFN_cuGraphEventWaitNodeSetEvent_v11010)(
    CUgraphNode hNode, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphExecBatchMemOpNodeSetParams_v11070)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecChildGraphNodeSetParams_v11010)(
    CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphExecDestroy_v10000)(CUgraphExec hGraphExec);
typedef CUresult(CUDAAPI *PFN_cuGraphExecEventRecordNodeSetEvent_v11010)(
    CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphExecEventWaitNodeSetEvent_v11010)(
    CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuGraphExecExternalSemaphoresSignalNodeSetParams_v11020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecExternalSemaphoresWaitNodeSetParams_v11020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecGetFlags_v12000)(
    CUgraphExec hGraphExec, cuuint64_t *flags);
typedef CUresult(CUDAAPI *PFN_cuGraphExecHostNodeSetParams_v10020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecKernelNodeSetParams_v10010)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecKernelNodeSetParams_v12000)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecMemcpyNodeSetParams_v10020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams, CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuGraphExecMemsetNodeSetParams_v10020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *memsetParams,
    CUcontext ctx);
typedef CUresult(CUDAAPI *PFN_cuGraphExecNodeSetParams_v12020)(
    CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExecUpdate_v10020)(
    CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
    CUgraphExecUpdateResult *updateResult_out);
typedef CUresult(CUDAAPI *PFN_cuGraphExecUpdate_v12000)(
    CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo);
typedef CUresult(CUDAAPI *PFN_cuGraphExternalSemaphoresSignalNodeGetParams_v11020)(
    CUgraphNode hNode, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params_out);
typedef CUresult(CUDAAPI *PFN_cuGraphExternalSemaphoresSignalNodeSetParams_v11020)(
    CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphExternalSemaphoresWaitNodeGetParams_v11020)(
    CUgraphNode hNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS *params_out);
typedef CUresult(CUDAAPI *PFN_cuGraphExternalSemaphoresWaitNodeSetParams_v11020)(
    CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphGetEdges_v10000)(
    CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges);
typedef CUresult(CUDAAPI *PFN_cuGraphGetEdges_v12030)(
    CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges);
typedef CUresult(CUDAAPI *PFN_cuGraphGetNodes_v10000)(
    CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes);
typedef CUresult(CUDAAPI *PFN_cuGraphGetRootNodes_v10000)(
    CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes);
typedef CUresult(CUDAAPI *PFN_cuGraphHostNodeGetParams_v10000)(
    CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphHostNodeSetParams_v10000)(
    CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiate_v10000)(
    CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
    size_t bufferSize);
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiate_v11000)(
    CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
    size_t bufferSize);
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiateWithFlags_v11040)(
    CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiateWithParams_v12000)(
    CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams);
typedef CUresult(CUDAAPI *PFN_cuGraphInstantiateWithParams_v12000_ptsz)(
    CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeCopyAttributes_v11000)(
    CUgraphNode dst, CUgraphNode src);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeGetAttribute_v11000)(
    CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeGetParams_v10000)(
    CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeGetParams_v12000)(
    CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeSetAttribute_v11000)(
    CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeSetParams_v10000)(
    CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphKernelNodeSetParams_v12000)(
    CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphLaunch_v10000)(CUgraphExec hGraphExec, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphLaunch_v10000_ptsz)(CUgraphExec hGraphExec, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphMemAllocNodeGetParams_v11040)(
    CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out);
typedef CUresult(CUDAAPI *PFN_cuGraphMemFreeNodeGetParams_v11040)(
    CUgraphNode hNode, CUdeviceptr *dptr_out);
typedef CUresult(CUDAAPI *PFN_cuGraphMemcpyNodeGetParams_v10000)(
    CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphMemcpyNodeSetParams_v10000)(
    CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphMemsetNodeGetParams_v10000)(
    CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphMemsetNodeSetParams_v10000)(
    CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeFindInClone_v10000)(
    CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetDependencies_v10000)(
    CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetDependencies_v12030)(
    CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData,
    size_t *numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetDependentNodes_v10000)(
    CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetDependentNodes_v12030)(
    CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData,
    size_t *numDependentNodes);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetEnabled_v11060)(
    CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeGetType_v10000)(CUgraphNode hNode, CUgraphNodeType *type);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeSetEnabled_v11060)(
    CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled);
typedef CUresult(CUDAAPI *PFN_cuGraphNodeSetParams_v12020)(
    CUgraphNode hNode, CUgraphNodeParams *nodeParams);
typedef CUresult(CUDAAPI *PFN_cuGraphReleaseUserObject_v11030)(
    CUgraph graph, CUuserObject object, unsigned int count);
typedef CUresult(CUDAAPI *PFN_cuGraphRemoveDependencies_v10000)(
    CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphRemoveDependencies_v12030)(
    CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
    const CUgraphEdgeData *edgeData, size_t numDependencies);
typedef CUresult(CUDAAPI *PFN_cuGraphRetainUserObject_v11030)(
    CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphUpload_v11010)(CUgraphExec hGraphExec, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphUpload_v11010_ptsz)(CUgraphExec hGraphExec, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphicsMapResources_v3000)(
    unsigned int count, CUgraphicsResource *resources, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphicsMapResources_v7000_ptsz)(
    unsigned int count, CUgraphicsResource *resources, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphicsResourceGetMappedMipmappedArray_v5000)(
    CUmipmappedArray *pMipmappedArray, CUgraphicsResource resource);
typedef CUresult(CUDAAPI *PFN_cuGraphicsResourceGetMappedPointer_v3020)(
    CUdeviceptr *pDevPtr, size_t *pSize, CUgraphicsResource resource);
typedef CUresult(CUDAAPI *PFN_cuGraphicsResourceSetMapFlags_v3000)(
    CUgraphicsResource resource, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphicsResourceSetMapFlags_v6050)(
    CUgraphicsResource resource, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGraphicsSubResourceGetMappedArray_v3000)(
    CUarray *pArray, CUgraphicsResource resource, unsigned int arrayIndex, unsigned int mipLevel);
typedef CUresult(CUDAAPI *PFN_cuGraphicsUnmapResources_v3000)(
    unsigned int count, CUgraphicsResource *resources, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphicsUnmapResources_v7000_ptsz)(
    unsigned int count, CUgraphicsResource *resources, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuGraphicsUnregisterResource_v3000)(CUgraphicsResource resource);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxCreate_v12040)(
    CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxDestroy_v12040)(CUgreenCtx hCtx);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxGetDevResource_v12040)(
    CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxGetId_v12090)(
    CUgreenCtx greenCtx, unsigned long long *greenCtxId);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxRecordEvent_v12040)(CUgreenCtx hCtx, CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxStreamCreate_v12050)(
    CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxWaitEvent_v12040)(CUgreenCtx hCtx, CUevent hEvent);
typedef CUresult(CUDAAPI *PFN_cuImportExternalMemory_v10000)(
    CUexternalMemory *extMem_out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc);
typedef CUresult(CUDAAPI *PFN_cuImportExternalSemaphore_v10000)(
    CUexternalSemaphore *extSem_out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc);
typedef CUresult(CUDAAPI *PFN_cuInit_v2000)(unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuIpcCloseMemHandle_v4010)(CUdeviceptr dptr);
typedef CUresult(CUDAAPI *PFN_cuIpcGetEventHandle_v4010)(CUipcEventHandle *pHandle, CUevent event);
typedef CUresult(CUDAAPI *PFN_cuIpcGetMemHandle_v4010)(CUipcMemHandle *pHandle, CUdeviceptr dptr);
typedef CUresult(CUDAAPI *PFN_cuIpcOpenEventHandle_v4010)(
    CUevent *phEvent, CUipcEventHandle handle);
typedef CUresult(CUDAAPI *PFN_cuIpcOpenMemHandle_v4010)(
    CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuIpcOpenMemHandle_v11000)(
    CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuKernelGetAttribute_v12000)(
    int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuKernelGetFunction_v12000)(CUfunction *pFunc, CUkernel kernel);
typedef CUresult(CUDAAPI *PFN_cuKernelGetLibrary_v12050)(CUlibrary *pLib, CUkernel kernel);
typedef CUresult(CUDAAPI *PFN_cuKernelGetName_v12030)(const char **name, CUkernel hfunc);
typedef CUresult(CUDAAPI *PFN_cuKernelGetParamInfo_v12040)(
    CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize);
typedef CUresult(CUDAAPI *PFN_cuKernelSetAttribute_v12000)(
    CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuKernelSetCacheConfig_v12000)(
    CUkernel kernel, CUfunc_cache config, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuLaunch_v2000)(CUfunction f);
typedef CUresult(CUDAAPI *PFN_cuLaunchCooperativeKernel_v9000)(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams);
typedef CUresult(CUDAAPI *PFN_cuLaunchCooperativeKernel_v9000_ptsz)(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams);
typedef CUresult(CUDAAPI *PFN_cuLaunchCooperativeKernelMultiDevice_v9000)(
    CUDA_LAUNCH_PARAMS *launchParamsList, unsigned int numDevices, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuLaunchGrid_v2000)(CUfunction f, int grid_width, int grid_height);
typedef CUresult(CUDAAPI *PFN_cuLaunchGridAsync_v2000)(
    CUfunction f, int grid_width, int grid_height, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuLaunchHostFunc_v10000)(
    CUstream hStream, CUhostFn fn_, void *userData);
typedef CUresult(CUDAAPI *PFN_cuLaunchHostFunc_v10000_ptsz)(
    CUstream hStream, CUhostFn fn_, void *userData);
typedef CUresult(CUDAAPI *PFN_cuLaunchKernel_v4000)(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra);
typedef CUresult(CUDAAPI *PFN_cuLaunchKernel_v7000_ptsz)(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra);
typedef CUresult(CUDAAPI *PFN_cuLaunchKernelEx_v11060)(
    const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra);
typedef CUresult(CUDAAPI *PFN_cuLaunchKernelEx_v11060_ptsz)(
    const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra);
typedef CUresult(CUDAAPI *PFN_cuLibraryEnumerateKernels_v12040)(
    CUkernel *kernels, unsigned int numKernels, CUlibrary lib);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetGlobal_v12000)(
    CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetKernel_v12000)(
    CUkernel *pKernel, CUlibrary library, const char *name);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetKernelCount_v12040)(unsigned int *count, CUlibrary lib);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetManaged_v12000)(
    CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetModule_v12000)(CUmodule *pMod, CUlibrary library);
typedef CUresult(CUDAAPI *PFN_cuLibraryGetUnifiedFunction_v12000)(
    void **fptr, CUlibrary library, const char *symbol);
typedef CUresult(CUDAAPI *PFN_cuLibraryLoadData_v12000)(
    CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
    unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
    unsigned int numLibraryOptions);
typedef CUresult(CUDAAPI *PFN_cuLibraryLoadFromFile_v12000)(
    CUlibrary *library, const char *fileName, CUjit_option *jitOptions, void **jitOptionsValues,
    unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
    unsigned int numLibraryOptions);
typedef CUresult(CUDAAPI *PFN_cuLibraryUnload_v12000)(CUlibrary library);
typedef CUresult(CUDAAPI *PFN_cuLinkAddData_v5050)(
    CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
    unsigned int numOptions, CUjit_option *options, void **optionValues);
typedef CUresult(CUDAAPI *PFN_cuLinkAddData_v6050)(
    CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
    unsigned int numOptions, CUjit_option *options, void **optionValues);
typedef CUresult(CUDAAPI *PFN_cuLinkAddFile_v5050)(
    CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
    CUjit_option *options, void **optionValues);
typedef CUresult(CUDAAPI *PFN_cuLinkAddFile_v6050)(
    CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
    CUjit_option *options, void **optionValues);
typedef CUresult(CUDAAPI *PFN_cuLinkComplete_v5050)(
    CUlinkState state, void **cubinOut, size_t *sizeOut);
typedef CUresult(CUDAAPI *PFN_cuLinkCreate_v5050)(
    unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut);
typedef CUresult(CUDAAPI *PFN_cuLinkCreate_v6050)(
    unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut);
typedef CUresult(CUDAAPI *PFN_cuLinkDestroy_v5050)(CUlinkState state);
typedef CUresult(CUDAAPI *PFN_cuLogsCurrent_v12090)(
    CUlogIterator *iterator_out, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuLogsDumpToFile_v12090)(
    CUlogIterator *iterator, const char *pathToFile, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuLogsDumpToMemory_v12090)(
    CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuLogsRegisterCallback_v12090)(
    CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out);
typedef CUresult(CUDAAPI *PFN_cuLogsUnregisterCallback_v12090)(CUlogsCallbackHandle callback);
typedef CUresult(CUDAAPI *PFN_cuMemAddressFree_v10020)(CUdeviceptr ptr, size_t size);
typedef CUresult(CUDAAPI *PFN_cuMemAddressReserve_v10020)(
    CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemAdvise_v8000)(
    CUdeviceptr ptr, size_t size_B, CUmem_advise advice, CUdevice device);
typedef CUresult(CUDAAPI *PFN_cuMemAdvise_v12020)(
    CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location);
typedef CUresult(CUDAAPI *PFN_cuMemAlloc_v3020)(CUdeviceptr *dptr, size_t bytesize);
typedef CUresult(CUDAAPI *PFN_cuMemAllocAsync_v11020)(
    CUdeviceptr *dptr, size_t bytesize, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemAllocAsync_v11020_ptsz)(
    CUdeviceptr *dptr, size_t bytesize, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemAllocFromPoolAsync_v11020)(
    CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemAllocFromPoolAsync_v11020_ptsz)(
    CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemAllocHost_v2000)(void **pp, unsigned int bytesize);
typedef CUresult(CUDAAPI *PFN_cuMemAllocHost_v3020)(void **pp, size_t bytesize);
typedef CUresult(CUDAAPI *PFN_cuMemAllocManaged_v6000)(
    CUdeviceptr *dptr, size_t bytesize, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuMemAllocPitch_v3020)(
    CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
    unsigned int ElementSizeBytes);
typedef CUresult(CUDAAPI *PFN_cuMemBatchDecompressAsync_v12060)(
    CUmemDecompressParams *paramsArray, size_t count, unsigned int flags, size_t *errorIndex,
    CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuMemBatchDecompressAsync_v12060_ptsz)(
    CUmemDecompressParams *paramsArray, size_t count, unsigned int flags, size_t *errorIndex,
    CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuMemCreate_v10020)(
    CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemDiscardAndPrefetchBatchAsync_v13000)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemDiscardAndPrefetchBatchAsync_v13000_ptsz)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemDiscardBatchAsync_v13000)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemDiscardBatchAsync_v13000_ptsz)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemExportToShareableHandle_v10020)(
    void *shareableHandle, CUmemGenericAllocationHandle handle,
    CUmemAllocationHandleType handleType, unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemFree_v3020)(CUdeviceptr dptr);
typedef CUresult(CUDAAPI *PFN_cuMemFreeAsync_v11020)(CUdeviceptr dptr, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemFreeAsync_v11020_ptsz)(CUdeviceptr dptr, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemFreeHost_v2000)(void *p);
typedef CUresult(CUDAAPI *PFN_cuMemGetAccess_v10020)(
    unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr);
typedef CUresult(CUDAAPI *PFN_cuMemGetAddressRange_v3020)(
    CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr);
typedef CUresult(CUDAAPI *PFN_cuMemGetAllocationGranularity_v10020)(
    size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option);
typedef CUresult(CUDAAPI *PFN_cuMemGetAllocationPropertiesFromHandle_v10020)(
    CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle);
typedef CUresult(CUDAAPI *PFN_cuMemGetDefaultMemPool_v13000)(
    CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type);
typedef CUresult(CUDAAPI *PFN_cuMemGetHandleForAddressRange_v11070)(
    void *handle, CUdeviceptr dptr, size_t size, CUmemRangeHandleType handleType,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemGetInfo_v2000)(unsigned int *free, unsigned int *total);
typedef CUresult(CUDAAPI *PFN_cuMemGetInfo_v3020)(size_t *free, size_t *total);
typedef CUresult(CUDAAPI *PFN_cuMemGetMemPool_v13000)(
    CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
typedef CUresult(CUDAAPI *PFN_cuMemHostAlloc_v2020)(void **pp, size_t bytesize, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuMemHostGetDevicePointer_v3020)(
    CUdeviceptr *pdptr, void *p, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuMemHostGetFlags_v2030)(unsigned int *pFlags, void *p);
typedef CUresult(CUDAAPI *PFN_cuMemHostRegister_v4000)(
    void *p, size_t bytesize, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuMemHostRegister_v6050)(
    void *p, size_t bytesize, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuMemHostUnregister_v4000)(void *p);
typedef CUresult(CUDAAPI *PFN_cuMemImportFromShareableHandle_v10020)(
    CUmemGenericAllocationHandle *handle, void *osHandle, CUmemAllocationHandleType shHandleType);
typedef CUresult(CUDAAPI *PFN_cuMemMap_v10020)(
    CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemMapArrayAsync_v11010)(
    CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemMapArrayAsync_v11010_ptsz)(
    CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemPoolCreate_v11020)(
    CUmemoryPool *pool, const CUmemPoolProps *poolProps);
typedef CUresult(CUDAAPI *PFN_cuMemPoolDestroy_v11020)(CUmemoryPool pool);
typedef CUresult(CUDAAPI *PFN_cuMemPoolExportPointer_v11020)(
    CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr);
typedef CUresult(CUDAAPI *PFN_cuMemPoolExportToShareableHandle_v11020)(
    void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemPoolGetAccess_v11020)(
    CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location);
typedef CUresult(CUDAAPI *PFN_cuMemPoolGetAttribute_v11020)(
    CUmemoryPool pool, CUmemPool_attribute attr, void *value);
typedef CUresult(CUDAAPI *PFN_cuMemPoolImportFromShareableHandle_v11020)(
    CUmemoryPool *pool_out, void *handle, CUmemAllocationHandleType handleType,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMemPoolImportPointer_v11020)(
    CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData);
typedef CUresult(CUDAAPI *PFN_cuMemPoolSetAccess_v11020)(
    CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemPoolSetAttribute_v11020)(
    CUmemoryPool pool, CUmemPool_attribute attr, void *value);
typedef CUresult(CUDAAPI *PFN_cuMemPoolTrimTo_v11020)(CUmemoryPool pool, size_t minBytesToKeep);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchAsync_v8000)(
    CUdeviceptr ptr, size_t size_B, CUdevice dev, CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchAsync_v8000_ptsz)(
    CUdeviceptr ptr, size_t size_B, CUdevice dev, CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchAsync_v12020)(
    CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchAsync_v12020_ptsz)(
    CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchBatchAsync_v13000)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemPrefetchBatchAsync_v13000_ptsz)(
    CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemRangeGetAttribute_v8000)(
    void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemRangeGetAttributes_v8000)(
    void **data, size_t *dataSizes, CUmem_range_attribute *attributes, size_t numAttributes,
    CUdeviceptr devPtr, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemRelease_v10020)(CUmemGenericAllocationHandle handle);
typedef CUresult(CUDAAPI *PFN_cuMemRetainAllocationHandle_v11000)(
    CUmemGenericAllocationHandle *handle, void *addr);
typedef CUresult(CUDAAPI *PFN_cuMemSetAccess_v10020)(
    CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemSetMemPool_v13000)(
    CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);
typedef CUresult(CUDAAPI *PFN_cuMemUnmap_v10020)(CUdeviceptr ptr, size_t size);
typedef CUresult(CUDAAPI *PFN_cuMemcpy_v4000)(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpy_v7000_ptds)(
    CUdeviceptr dst, CUdeviceptr src, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2D_v3020)(const CUDA_MEMCPY2D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2D_v7000_ptds)(const CUDA_MEMCPY2D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2DAsync_v3020)(const CUDA_MEMCPY2D *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2DAsync_v7000_ptsz)(
    const CUDA_MEMCPY2D *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2DUnaligned_v3020)(const CUDA_MEMCPY2D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy2DUnaligned_v7000_ptds)(const CUDA_MEMCPY2D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3D_v3020)(const CUDA_MEMCPY3D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3D_v7000_ptds)(const CUDA_MEMCPY3D *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DAsync_v3020)(const CUDA_MEMCPY3D *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DAsync_v7000_ptsz)(
    const CUDA_MEMCPY3D *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DBatchAsync_v12080)(
    size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DBatchAsync_v12080_ptsz)(
    size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DBatchAsync_v13000)(
    size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DBatchAsync_v13000_ptsz)(
    size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DPeer_v4000)(const CUDA_MEMCPY3D_PEER *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DPeer_v7000_ptds)(const CUDA_MEMCPY3D_PEER *pCopy);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DPeerAsync_v4000)(
    const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpy3DPeerAsync_v7000_ptsz)(
    const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAsync_v4000)(
    CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAsync_v7000_ptsz)(
    CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoA_v2000)(
    CUarray dstArray, unsigned int dstOffset, CUarray srcArray, unsigned int srcOffset,
    unsigned int ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoA_v3020)(
    CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoA_v7000_ptds)(
    CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoD_v3020)(
    CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoD_v7000_ptds)(
    CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoH_v2000)(
    void *dstHost, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoH_v3020)(
    void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoH_v7000_ptds)(
    void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoHAsync_v2000)(
    void *dstHost, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoHAsync_v3020)(
    void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyAtoHAsync_v7000_ptsz)(
    void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyBatchAsync_v12080)(
    CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
    size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyBatchAsync_v12080_ptsz)(
    CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
    size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyBatchAsync_v13000)(
    CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
    size_t *attrsIdxs, size_t numAttrs, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyBatchAsync_v13000_ptsz)(
    CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
    size_t *attrsIdxs, size_t numAttrs, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoA_v3020)(
    CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoA_v7000_ptds)(
    CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoD_v3020)(
    CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoD_v7000_ptds)(
    CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoDAsync_v3020)(
    CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoDAsync_v7000_ptsz)(
    CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoH_v3020)(
    void *dstHost, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoH_v7000_ptds)(
    void *dstHost, CUdeviceptr srcDevice, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoHAsync_v3020)(
    void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyDtoHAsync_v7000_ptsz)(
    void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoA_v2000)(
    CUarray dstArray, unsigned int dstOffset, const void *srcHost, unsigned int ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoA_v3020)(
    CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoA_v7000_ptds)(
    CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoAAsync_v2000)(
    CUarray dstArray, unsigned int dstOffset, const void *srcHost, unsigned int ByteCount,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoAAsync_v3020)(
    CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoAAsync_v7000_ptsz)(
    CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoD_v3020)(
    CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoD_v7000_ptds)(
    CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoDAsync_v3020)(
    CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyHtoDAsync_v7000_ptsz)(
    CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyPeer_v4000)(
    CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
    size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyPeer_v7000_ptds)(
    CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
    size_t ByteCount);
typedef CUresult(CUDAAPI *PFN_cuMemcpyPeerAsync_v4000)(
    CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
    size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemcpyPeerAsync_v7000_ptsz)(
    CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
    size_t ByteCount, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD16_v3020)(
    CUdeviceptr dstDevice, unsigned short us, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD16_v7000_ptds)(
    CUdeviceptr dstDevice, unsigned short us, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD16Async_v3020)(
    CUdeviceptr dstDevice, unsigned short us, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD16Async_v7000_ptsz)(
    CUdeviceptr dstDevice, unsigned short us, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D16_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D16_v7000_ptds)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D16Async_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D16Async_v7000_ptsz)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D32_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D32_v7000_ptds)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D32Async_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D32Async_v7000_ptsz)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D8_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D8_v7000_ptds)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D8Async_v3020)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD2D8Async_v7000_ptsz)(
    CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
    CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD32_v3020)(
    CUdeviceptr dstDevice, unsigned int ui, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD32_v7000_ptds)(
    CUdeviceptr dstDevice, unsigned int ui, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD32Async_v3020)(
    CUdeviceptr dstDevice, unsigned int ui, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD32Async_v7000_ptsz)(
    CUdeviceptr dstDevice, unsigned int ui, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD8_v3020)(
    CUdeviceptr dstDevice, unsigned char uc, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD8_v7000_ptds)(
    CUdeviceptr dstDevice, unsigned char uc, size_t count);
typedef CUresult(CUDAAPI *PFN_cuMemsetD8Async_v3020)(
    CUdeviceptr dstDevice, unsigned char uc, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMemsetD8Async_v7000_ptsz)(
    CUdeviceptr dstDevice, unsigned char uc, size_t count, CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuMipmappedArrayCreate_v5000)(
    CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
    unsigned int numMipmapLevels);
typedef CUresult(CUDAAPI *PFN_cuMipmappedArrayDestroy_v5000)(CUmipmappedArray hMipmappedArray);
typedef CUresult(CUDAAPI *PFN_cuMipmappedArrayGetLevel_v5000)(
    CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level);
typedef CUresult(CUDAAPI *PFN_cuMipmappedArrayGetMemoryRequirements_v11060)(
    CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap, CUdevice device);
typedef CUresult(CUDAAPI *PFN_cuMipmappedArrayGetSparseProperties_v11010)(
    CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUmipmappedArray mipmap);
typedef CUresult(CUDAAPI *PFN_cuModuleEnumerateFunctions_v12040)(
    CUfunction *functions, unsigned int numFunctions, CUmodule mod_);
typedef CUresult(CUDAAPI *PFN_cuModuleGetFunction_v2000)(
    CUfunction *hfunc, CUmodule hmod, const char *name);
typedef CUresult(CUDAAPI *PFN_cuModuleGetFunctionCount_v12040)(unsigned int *count, CUmodule mod_);
typedef CUresult(CUDAAPI *PFN_cuModuleGetGlobal_v3020)(
    CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name);
typedef CUresult(CUDAAPI *PFN_cuModuleGetLoadingMode_v11070)(CUmoduleLoadingMode *mode);
typedef CUresult(CUDAAPI *PFN_cuModuleGetSurfRef_v3000)(
    CUsurfref *pSurfRef, CUmodule hmod, const char *name);
typedef CUresult(CUDAAPI *PFN_cuModuleGetTexRef_v2000)(
    CUtexref *pTexRef, CUmodule hmod, const char *name);
typedef CUresult(CUDAAPI *PFN_cuModuleLoad_v2000)(CUmodule *module, const char *fname);
typedef CUresult(CUDAAPI *PFN_cuModuleLoadData_v2000)(CUmodule *module, const void *image);
typedef CUresult(CUDAAPI *PFN_cuModuleLoadDataEx_v2010)(
    CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
    void **optionValues);
typedef CUresult(CUDAAPI *PFN_cuModuleLoadFatBinary_v2000)(CUmodule *module, const void *fatCubin);
typedef CUresult(CUDAAPI *PFN_cuModuleUnload_v2000)(CUmodule hmod);
typedef CUresult(CUDAAPI *PFN_cuMulticastAddDevice_v12010)(
    CUmemGenericAllocationHandle mcHandle, CUdevice dev);
typedef CUresult(CUDAAPI *PFN_cuMulticastBindAddr_v12010)(
    CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size,
    unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMulticastBindMem_v12010)(
    CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUmemGenericAllocationHandle memHandle,
    size_t memOffset, size_t size, unsigned long long flags);
typedef CUresult(CUDAAPI *PFN_cuMulticastCreate_v12010)(
    CUmemGenericAllocationHandle *mcHandle, const CUmulticastObjectProp *prop);
typedef CUresult(CUDAAPI *PFN_cuMulticastGetGranularity_v12010)(
    size_t *granularity, const CUmulticastObjectProp *prop, CUmulticastGranularity_flags option);
typedef CUresult(CUDAAPI *PFN_cuMulticastUnbind_v12010)(
    CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size);
typedef CUresult(CUDAAPI *PFN_cuOccupancyAvailableDynamicSMemPerBlock_v10020)(
    size_t *dynamicSmemSize, CUfunction func, int numBlocks, int blockSize);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050)(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000)(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxActiveClusters_v11070)(
    int *numClusters, CUfunction func, const CUlaunchConfig *config);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxPotentialBlockSize_v6050)(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxPotentialBlockSizeWithFlags_v7000)(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuOccupancyMaxPotentialClusterSize_v11070)(
    int *clusterSize, CUfunction func, const CUlaunchConfig *config);
typedef CUresult(CUDAAPI *PFN_cuParamSetSize_v2000)(CUfunction hfunc, unsigned int numbytes);
typedef CUresult(CUDAAPI *PFN_cuParamSetTexRef_v2000)(
    CUfunction hfunc, int texunit, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuParamSetf_v2000)(CUfunction hfunc, int offset, float value);
typedef CUresult(CUDAAPI *PFN_cuParamSeti_v2000)(CUfunction hfunc, int offset, unsigned int value);
typedef CUresult(CUDAAPI *PFN_cuParamSetv_v2000)(
    CUfunction hfunc, int offset, void *ptr, unsigned int numbytes);
typedef CUresult(CUDAAPI *PFN_cuPointerGetAttribute_v4000)(
    void *data, CUpointer_attribute attribute, CUdeviceptr ptr);
typedef CUresult(CUDAAPI *PFN_cuPointerGetAttributes_v7000)(
    unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr);
typedef CUresult(CUDAAPI *PFN_cuPointerSetAttribute_v6000)(
    const void *value, CUpointer_attribute attribute, CUdeviceptr ptr);
typedef CUresult(CUDAAPI *PFN_cuProfilerInitialize_v4000)(
    const char *config, const char *output, int mode);
typedef CUresult(CUDAAPI *PFN_cuProfilerStart_v4000)(void);
typedef CUresult(CUDAAPI *PFN_cuProfilerStop_v4000)(void);
typedef CUresult(CUDAAPI *PFN_cuSignalExternalSemaphoresAsync_v10000)(
    const CUexternalSemaphore *extSemArray,
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray, unsigned int numExtSems,
    CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuSignalExternalSemaphoresAsync_v10000_ptsz)(
    const CUexternalSemaphore *extSemArray,
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray, unsigned int numExtSems,
    CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuStreamAddCallback_v5000)(
    CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamAddCallback_v7000_ptsz)(
    CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamAttachMemAsync_v6000)(
    CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamAttachMemAsync_v7000_ptsz)(
    CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamBatchMemOp_v8000)(
    CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamBatchMemOp_v8000_ptsz)(
    CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamBatchMemOp_v11070)(
    CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamBatchMemOp_v11070_ptsz)(
    CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCapture_v10000)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCapture_v10000_ptsz)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCapture_v10010)(
    CUstream hStream, CUstreamCaptureMode mode);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCapture_v10010_ptsz)(
    CUstream hStream, CUstreamCaptureMode mode);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCaptureToGraph_v12030)(
    CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
    const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode);
typedef CUresult(CUDAAPI *PFN_cuStreamBeginCaptureToGraph_v12030_ptsz)(
    CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
    const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode);
typedef CUresult(CUDAAPI *PFN_cuStreamCopyAttributes_v11000)(CUstream dst, CUstream src);
typedef CUresult(CUDAAPI *PFN_cuStreamCopyAttributes_v11000_ptsz)(CUstream dst, CUstream src);
typedef CUresult(CUDAAPI *PFN_cuStreamCreate_v2000)(CUstream *phStream, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuStreamCreateWithPriority_v5050)(
    CUstream *phStream, unsigned int flags, int priority);
typedef CUresult(CUDAAPI *PFN_cuStreamDestroy_v2000)(CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuStreamDestroy_v4000)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamEndCapture_v10000)(CUstream hStream, CUgraph *phGraph);
typedef CUresult(CUDAAPI *PFN_cuStreamEndCapture_v10000_ptsz)(CUstream hStream, CUgraph *phGraph);
typedef CUresult(CUDAAPI *PFN_cuStreamGetAttribute_v11000)(
    CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetAttribute_v11000_ptsz)(
    CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v10010)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v10010_ptsz)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v11030)(
    CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
    const CUgraphNode **deps, size_t *count);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v11030_ptsz)(
    CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
    const CUgraphNode **deps, size_t *count);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v12030)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
    CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,
    size_t *numDependencies_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCaptureInfo_v12030_ptsz)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
    CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,
    size_t *numDependencies_out);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCtx_v9020)(CUstream hStream, CUcontext *pctx);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCtx_v9020_ptsz)(CUstream hStream, CUcontext *pctx);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCtx_v12050)(
    CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx);
typedef CUresult(CUDAAPI *PFN_cuStreamGetCtx_v12050_ptsz)(
    CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx);
typedef CUresult(CUDAAPI *PFN_cuStreamGetDevice_v12080)(CUstream hStream, CUdevice *device);
typedef CUresult(CUDAAPI *PFN_cuStreamGetDevice_v12080_ptsz)(CUstream hStream, CUdevice *device);
typedef CUresult(CUDAAPI *PFN_cuStreamGetFlags_v5050)(CUstream hStream, unsigned int *flags);
typedef CUresult(CUDAAPI *PFN_cuStreamGetFlags_v7000_ptsz)(CUstream hStream, unsigned int *flags);
typedef CUresult(CUDAAPI *PFN_cuStreamGetGreenCtx_v12040)(CUstream hStream, CUgreenCtx *phCtx);
typedef CUresult(CUDAAPI *PFN_cuStreamGetId_v12000)(CUstream hStream, unsigned long long *streamId);
typedef CUresult(CUDAAPI *PFN_cuStreamGetId_v12000_ptsz)(
    CUstream hStream, unsigned long long *streamId);
typedef CUresult(CUDAAPI *PFN_cuStreamGetPriority_v5050)(CUstream hStream, int *priority);
typedef CUresult(CUDAAPI *PFN_cuStreamGetPriority_v7000_ptsz)(CUstream hStream, int *priority);
typedef CUresult(CUDAAPI *PFN_cuStreamIsCapturing_v10000)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus);
typedef CUresult(CUDAAPI *PFN_cuStreamIsCapturing_v10000_ptsz)(
    CUstream hStream, CUstreamCaptureStatus *captureStatus);
typedef CUresult(CUDAAPI *PFN_cuStreamQuery_v2000)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamQuery_v7000_ptsz)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamSetAttribute_v11000)(
    CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value);
typedef CUresult(CUDAAPI *PFN_cuStreamSetAttribute_v11000_ptsz)(
    CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value);
typedef CUresult(CUDAAPI *PFN_cuStreamSynchronize_v2000)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamSynchronize_v7000_ptsz)(CUstream hStream);
typedef CUresult(CUDAAPI *PFN_cuStreamUpdateCaptureDependencies_v11030)(
    CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamUpdateCaptureDependencies_v11030_ptsz)(
    CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamUpdateCaptureDependencies_v12030)(
    CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
    size_t numDependencies, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamUpdateCaptureDependencies_v12030_ptsz)(
    CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
    size_t numDependencies, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitEvent_v3020)(
    CUstream hStream, CUevent hEvent, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitEvent_v7000_ptsz)(
    CUstream hStream, CUevent hEvent, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue32_v8000)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue32_v8000_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue32_v11070)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue32_v11070_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue64_v9000)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue64_v9000_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue64_v11070)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWaitValue64_v11070_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue32_v8000)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue32_v8000_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue32_v11070)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue32_v11070_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue64_v9000)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue64_v9000_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue64_v11070)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuStreamWriteValue64_v11070_ptsz)(
    CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuSurfObjectCreate_v5000)(
    CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc);
typedef CUresult(CUDAAPI *PFN_cuSurfObjectDestroy_v5000)(CUsurfObject surfObject);
typedef CUresult(CUDAAPI *PFN_cuSurfObjectGetResourceDesc_v5000)(
    CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject);
typedef CUresult(CUDAAPI *PFN_cuSurfRefGetArray_v3000)(CUarray *phArray, CUsurfref hSurfRef);
typedef CUresult(CUDAAPI *PFN_cuSurfRefSetArray_v3000)(
    CUsurfref hSurfRef, CUarray hArray, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuTensorMapEncodeIm2col_v12000)(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill);
typedef CUresult(CUDAAPI *PFN_cuTensorMapEncodeIm2colWide_v12080)(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill);
typedef CUresult(CUDAAPI *PFN_cuTensorMapEncodeTiled_v12000)(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill);
typedef CUresult(CUDAAPI *PFN_cuTensorMapReplaceAddress_v12000)(
    CUtensorMap *tensorMap, void *globalAddress);
typedef CUresult(CUDAAPI *PFN_cuTexObjectCreate_v5000)(
    CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc, const CUDA_TEXTURE_DESC *pTexDesc,
    const CUDA_RESOURCE_VIEW_DESC *pResViewDesc);
typedef CUresult(CUDAAPI *PFN_cuTexObjectDestroy_v5000)(CUtexObject texObject);
typedef CUresult(CUDAAPI *PFN_cuTexObjectGetResourceDesc_v5000)(
    CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject);
typedef CUresult(CUDAAPI *PFN_cuTexObjectGetResourceViewDesc_v5000)(
    CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject);
typedef CUresult(CUDAAPI *PFN_cuTexObjectGetTextureDesc_v5000)(
    CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject);
typedef CUresult(CUDAAPI *PFN_cuTexRefCreate_v2000)(CUtexref *pTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefDestroy_v2000)(CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetAddress_v3020)(CUdeviceptr *pdptr, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetAddressMode_v2000)(
    CUaddress_mode *pam, CUtexref hTexRef, int dim);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetArray_v2000)(CUarray *phArray, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetBorderColor_v8000)(float *pBorderColor, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetFilterMode_v2000)(CUfilter_mode *pfm, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetFlags_v2000)(unsigned int *pFlags, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetFormat_v2000)(
    CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetMaxAnisotropy_v5000)(int *pmaxAniso, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetMipmapFilterMode_v5000)(
    CUfilter_mode *pfm, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetMipmapLevelBias_v5000)(float *pbias, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetMipmapLevelClamp_v5000)(
    float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefGetMipmappedArray_v5000)(
    CUmipmappedArray *phMipmappedArray, CUtexref hTexRef);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetAddress_v3020)(
    size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetAddress2D_v3020)(
    CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetAddress2D_v4010)(
    CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetAddressMode_v2000)(
    CUtexref hTexRef, int dim, CUaddress_mode am);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetArray_v2000)(
    CUtexref hTexRef, CUarray hArray, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetBorderColor_v8000)(CUtexref hTexRef, float *pBorderColor);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetFilterMode_v2000)(CUtexref hTexRef, CUfilter_mode fm);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetFlags_v2000)(CUtexref hTexRef, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetFormat_v2000)(
    CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetMaxAnisotropy_v5000)(
    CUtexref hTexRef, unsigned int maxAniso);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetMipmapFilterMode_v5000)(
    CUtexref hTexRef, CUfilter_mode fm);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetMipmapLevelBias_v5000)(CUtexref hTexRef, float bias);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetMipmapLevelClamp_v5000)(
    CUtexref hTexRef, float minMipmapLevelClamp, float maxMipmapLevelClamp);
typedef CUresult(CUDAAPI *PFN_cuTexRefSetMipmappedArray_v5000)(
    CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags);
typedef CUresult(CUDAAPI *PFN_cuThreadExchangeStreamCaptureMode_v10010)(CUstreamCaptureMode *mode);
typedef CUresult(CUDAAPI *PFN_cuUserObjectCreate_v11030)(
    CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
    unsigned int flags);
typedef CUresult(CUDAAPI *PFN_cuUserObjectRelease_v11030)(CUuserObject object, unsigned int count);
typedef CUresult(CUDAAPI *PFN_cuUserObjectRetain_v11030)(CUuserObject object, unsigned int count);
typedef CUresult(CUDAAPI *PFN_cuWaitExternalSemaphoresAsync_v10000)(
    const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
    unsigned int numExtSems, CUstream stream);
typedef CUresult(CUDAAPI *PFN_cuWaitExternalSemaphoresAsync_v10000_ptsz)(
    const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
    unsigned int numExtSems, CUstream stream);

typedef PFN_cuArray3DCreate_v3020 PFN_cuArray3DCreate;
typedef PFN_cuArray3DGetDescriptor_v3020 PFN_cuArray3DGetDescriptor;
typedef PFN_cuArrayCreate_v3020 PFN_cuArrayCreate;
typedef PFN_cuArrayDestroy_v2000 PFN_cuArrayDestroy;
typedef PFN_cuArrayGetDescriptor_v3020 PFN_cuArrayGetDescriptor;
typedef PFN_cuArrayGetMemoryRequirements_v11060 PFN_cuArrayGetMemoryRequirements;
typedef PFN_cuArrayGetPlane_v11020 PFN_cuArrayGetPlane;
typedef PFN_cuArrayGetSparseProperties_v11010 PFN_cuArrayGetSparseProperties;
typedef PFN_cuCheckpointProcessCheckpoint_v12080 PFN_cuCheckpointProcessCheckpoint;
typedef PFN_cuCheckpointProcessGetRestoreThreadId_v12080 PFN_cuCheckpointProcessGetRestoreThreadId;
typedef PFN_cuCheckpointProcessGetState_v12080 PFN_cuCheckpointProcessGetState;
typedef PFN_cuCheckpointProcessLock_v12080 PFN_cuCheckpointProcessLock;
typedef PFN_cuCheckpointProcessRestore_v12080 PFN_cuCheckpointProcessRestore;
typedef PFN_cuCheckpointProcessUnlock_v12080 PFN_cuCheckpointProcessUnlock;
typedef PFN_cuCoredumpGetAttribute_v12010 PFN_cuCoredumpGetAttribute;
typedef PFN_cuCoredumpGetAttributeGlobal_v12010 PFN_cuCoredumpGetAttributeGlobal;
typedef PFN_cuCoredumpSetAttribute_v12010 PFN_cuCoredumpSetAttribute;
typedef PFN_cuCoredumpSetAttributeGlobal_v12010 PFN_cuCoredumpSetAttributeGlobal;
typedef PFN_cuCtxAttach_v2000 PFN_cuCtxAttach;
typedef PFN_cuCtxCreate_v12050 PFN_cuCtxCreate;
typedef PFN_cuCtxDestroy_v4000 PFN_cuCtxDestroy;
typedef PFN_cuCtxDetach_v2000 PFN_cuCtxDetach;
typedef PFN_cuCtxDisablePeerAccess_v4000 PFN_cuCtxDisablePeerAccess;
typedef PFN_cuCtxEnablePeerAccess_v4000 PFN_cuCtxEnablePeerAccess;
typedef PFN_cuCtxFromGreenCtx_v12040 PFN_cuCtxFromGreenCtx;
typedef PFN_cuCtxGetApiVersion_v3020 PFN_cuCtxGetApiVersion;
typedef PFN_cuCtxGetCacheConfig_v3020 PFN_cuCtxGetCacheConfig;
typedef PFN_cuCtxGetCurrent_v4000 PFN_cuCtxGetCurrent;
typedef PFN_cuCtxGetDevResource_v12040 PFN_cuCtxGetDevResource;
typedef PFN_cuCtxGetDevice_v2000 PFN_cuCtxGetDevice;
typedef PFN_cuCtxGetExecAffinity_v11040 PFN_cuCtxGetExecAffinity;
typedef PFN_cuCtxGetFlags_v7000 PFN_cuCtxGetFlags;
typedef PFN_cuCtxGetId_v12000 PFN_cuCtxGetId;
typedef PFN_cuCtxGetLimit_v3010 PFN_cuCtxGetLimit;
typedef PFN_cuCtxGetSharedMemConfig_v4020 PFN_cuCtxGetSharedMemConfig;
typedef PFN_cuCtxGetStreamPriorityRange_v5050 PFN_cuCtxGetStreamPriorityRange;
typedef PFN_cuCtxPopCurrent_v4000 PFN_cuCtxPopCurrent;
typedef PFN_cuCtxPushCurrent_v4000 PFN_cuCtxPushCurrent;
typedef PFN_cuCtxRecordEvent_v12050 PFN_cuCtxRecordEvent;
typedef PFN_cuCtxResetPersistingL2Cache_v11000 PFN_cuCtxResetPersistingL2Cache;
typedef PFN_cuCtxSetCacheConfig_v3020 PFN_cuCtxSetCacheConfig;
typedef PFN_cuCtxSetCurrent_v4000 PFN_cuCtxSetCurrent;
typedef PFN_cuCtxSetFlags_v12010 PFN_cuCtxSetFlags;
typedef PFN_cuCtxSetLimit_v3010 PFN_cuCtxSetLimit;
typedef PFN_cuCtxSetSharedMemConfig_v4020 PFN_cuCtxSetSharedMemConfig;
typedef PFN_cuCtxSynchronize_v2000 PFN_cuCtxSynchronize;
typedef PFN_cuCtxWaitEvent_v12050 PFN_cuCtxWaitEvent;
typedef PFN_cuDestroyExternalMemory_v10000 PFN_cuDestroyExternalMemory;
typedef PFN_cuDestroyExternalSemaphore_v10000 PFN_cuDestroyExternalSemaphore;
typedef PFN_cuDevResourceGenerateDesc_v12040 PFN_cuDevResourceGenerateDesc;
typedef PFN_cuDevSmResourceSplitByCount_v12040 PFN_cuDevSmResourceSplitByCount;
typedef PFN_cuDeviceCanAccessPeer_v4000 PFN_cuDeviceCanAccessPeer;
typedef PFN_cuDeviceComputeCapability_v2000 PFN_cuDeviceComputeCapability;
typedef PFN_cuDeviceGet_v2000 PFN_cuDeviceGet;
typedef PFN_cuDeviceGetAttribute_v2000 PFN_cuDeviceGetAttribute;
typedef PFN_cuDeviceGetByPCIBusId_v4010 PFN_cuDeviceGetByPCIBusId;
typedef PFN_cuDeviceGetCount_v2000 PFN_cuDeviceGetCount;
typedef PFN_cuDeviceGetDefaultMemPool_v11020 PFN_cuDeviceGetDefaultMemPool;
typedef PFN_cuDeviceGetDevResource_v12040 PFN_cuDeviceGetDevResource;
typedef PFN_cuDeviceGetExecAffinitySupport_v11040 PFN_cuDeviceGetExecAffinitySupport;
typedef PFN_cuDeviceGetGraphMemAttribute_v11040 PFN_cuDeviceGetGraphMemAttribute;
typedef PFN_cuDeviceGetHostAtomicCapabilities_v13000 PFN_cuDeviceGetHostAtomicCapabilities;
typedef PFN_cuDeviceGetLuid_v10000 PFN_cuDeviceGetLuid;
typedef PFN_cuDeviceGetMemPool_v11020 PFN_cuDeviceGetMemPool;
typedef PFN_cuDeviceGetName_v2000 PFN_cuDeviceGetName;
typedef PFN_cuDeviceGetNvSciSyncAttributes_v10020 PFN_cuDeviceGetNvSciSyncAttributes;
typedef PFN_cuDeviceGetP2PAtomicCapabilities_v13000 PFN_cuDeviceGetP2PAtomicCapabilities;
typedef PFN_cuDeviceGetP2PAttribute_v8000 PFN_cuDeviceGetP2PAttribute;
typedef PFN_cuDeviceGetPCIBusId_v4010 PFN_cuDeviceGetPCIBusId;
typedef PFN_cuDeviceGetProperties_v2000 PFN_cuDeviceGetProperties;
typedef PFN_cuDeviceGetTexture1DLinearMaxWidth_v11010 PFN_cuDeviceGetTexture1DLinearMaxWidth;
typedef PFN_cuDeviceGetUuid_v11040 PFN_cuDeviceGetUuid;
typedef PFN_cuDeviceGraphMemTrim_v11040 PFN_cuDeviceGraphMemTrim;
typedef PFN_cuDevicePrimaryCtxGetState_v7000 PFN_cuDevicePrimaryCtxGetState;
typedef PFN_cuDevicePrimaryCtxRelease_v11000 PFN_cuDevicePrimaryCtxRelease;
typedef PFN_cuDevicePrimaryCtxReset_v11000 PFN_cuDevicePrimaryCtxReset;
typedef PFN_cuDevicePrimaryCtxRetain_v7000 PFN_cuDevicePrimaryCtxRetain;
typedef PFN_cuDevicePrimaryCtxSetFlags_v11000 PFN_cuDevicePrimaryCtxSetFlags;
typedef PFN_cuDeviceRegisterAsyncNotification_v12040 PFN_cuDeviceRegisterAsyncNotification;
typedef PFN_cuDeviceSetGraphMemAttribute_v11040 PFN_cuDeviceSetGraphMemAttribute;
typedef PFN_cuDeviceSetMemPool_v11020 PFN_cuDeviceSetMemPool;
typedef PFN_cuDeviceTotalMem_v3020 PFN_cuDeviceTotalMem;
typedef PFN_cuDeviceUnregisterAsyncNotification_v12040 PFN_cuDeviceUnregisterAsyncNotification;
typedef PFN_cuDriverGetVersion_v2020 PFN_cuDriverGetVersion;
typedef PFN_cuEventCreate_v2000 PFN_cuEventCreate;
typedef PFN_cuEventDestroy_v4000 PFN_cuEventDestroy;
typedef PFN_cuEventElapsedTime_v12080 PFN_cuEventElapsedTime;
typedef PFN_cuEventQuery_v2000 PFN_cuEventQuery;
typedef PFN_cuEventRecord_v2000 PFN_cuEventRecord;
typedef PFN_cuEventRecordWithFlags_v11010 PFN_cuEventRecordWithFlags;
typedef PFN_cuEventSynchronize_v2000 PFN_cuEventSynchronize;
typedef PFN_cuExternalMemoryGetMappedBuffer_v10000 PFN_cuExternalMemoryGetMappedBuffer;
typedef PFN_cuExternalMemoryGetMappedMipmappedArray_v10000 PFN_cuExternalMemoryGetMappedMipmappedArray;
typedef PFN_cuFlushGPUDirectRDMAWrites_v11030 PFN_cuFlushGPUDirectRDMAWrites;
typedef PFN_cuFuncGetAttribute_v2020 PFN_cuFuncGetAttribute;
typedef PFN_cuFuncGetModule_v11000 PFN_cuFuncGetModule;
typedef PFN_cuFuncGetName_v12030 PFN_cuFuncGetName;
typedef PFN_cuFuncGetParamInfo_v12040 PFN_cuFuncGetParamInfo;
typedef PFN_cuFuncIsLoaded_v12040 PFN_cuFuncIsLoaded;
typedef PFN_cuFuncLoad_v12040 PFN_cuFuncLoad;
typedef PFN_cuFuncSetAttribute_v9000 PFN_cuFuncSetAttribute;
typedef PFN_cuFuncSetBlockShape_v2000 PFN_cuFuncSetBlockShape;
typedef PFN_cuFuncSetCacheConfig_v3000 PFN_cuFuncSetCacheConfig;
typedef PFN_cuFuncSetSharedMemConfig_v4020 PFN_cuFuncSetSharedMemConfig;
typedef PFN_cuFuncSetSharedSize_v2000 PFN_cuFuncSetSharedSize;
typedef PFN_cuGetErrorName_v6000 PFN_cuGetErrorName;
typedef PFN_cuGetErrorString_v6000 PFN_cuGetErrorString;
typedef PFN_cuGetExportTable_v3000 PFN_cuGetExportTable;
typedef PFN_cuGetProcAddress_v12000 PFN_cuGetProcAddress;
typedef PFN_cuGraphAddBatchMemOpNode_v11070 PFN_cuGraphAddBatchMemOpNode;
typedef PFN_cuGraphAddChildGraphNode_v10000 PFN_cuGraphAddChildGraphNode;
typedef PFN_cuGraphAddDependencies_v12030 PFN_cuGraphAddDependencies;
typedef PFN_cuGraphAddEmptyNode_v10000 PFN_cuGraphAddEmptyNode;
typedef PFN_cuGraphAddEventRecordNode_v11010 PFN_cuGraphAddEventRecordNode;
typedef PFN_cuGraphAddEventWaitNode_v11010 PFN_cuGraphAddEventWaitNode;
typedef PFN_cuGraphAddExternalSemaphoresSignalNode_v11020 PFN_cuGraphAddExternalSemaphoresSignalNode;
typedef PFN_cuGraphAddExternalSemaphoresWaitNode_v11020 PFN_cuGraphAddExternalSemaphoresWaitNode;
typedef PFN_cuGraphAddHostNode_v10000 PFN_cuGraphAddHostNode;
typedef PFN_cuGraphAddKernelNode_v12000 PFN_cuGraphAddKernelNode;
typedef PFN_cuGraphAddMemAllocNode_v11040 PFN_cuGraphAddMemAllocNode;
typedef PFN_cuGraphAddMemFreeNode_v11040 PFN_cuGraphAddMemFreeNode;
typedef PFN_cuGraphAddMemcpyNode_v10000 PFN_cuGraphAddMemcpyNode;
typedef PFN_cuGraphAddMemsetNode_v10000 PFN_cuGraphAddMemsetNode;
typedef PFN_cuGraphAddNode_v12030 PFN_cuGraphAddNode;
typedef PFN_cuGraphBatchMemOpNodeGetParams_v11070 PFN_cuGraphBatchMemOpNodeGetParams;
typedef PFN_cuGraphBatchMemOpNodeSetParams_v11070 PFN_cuGraphBatchMemOpNodeSetParams;
typedef PFN_cuGraphChildGraphNodeGetGraph_v10000 PFN_cuGraphChildGraphNodeGetGraph;
typedef PFN_cuGraphClone_v10000 PFN_cuGraphClone;
typedef PFN_cuGraphConditionalHandleCreate_v12030 PFN_cuGraphConditionalHandleCreate;
typedef PFN_cuGraphCreate_v10000 PFN_cuGraphCreate;
typedef PFN_cuGraphDebugDotPrint_v11030 PFN_cuGraphDebugDotPrint;
typedef PFN_cuGraphDestroy_v10000 PFN_cuGraphDestroy;
typedef PFN_cuGraphDestroyNode_v10000 PFN_cuGraphDestroyNode;
typedef PFN_cuGraphEventRecordNodeGetEvent_v11010 PFN_cuGraphEventRecordNodeGetEvent;
typedef PFN_cuGraphEventRecordNodeSetEvent_v11010 PFN_cuGraphEventRecordNodeSetEvent;
typedef PFN_cuGraphEventWaitNodeGetEvent_v11010 PFN_cuGraphEventWaitNodeGetEvent;
typedef PFN_cuGraphEventWaitNodeSetEvent_v11010 PFN_cuGraphEventWaitNodeSetEvent;
typedef PFN_cuGraphExecBatchMemOpNodeSetParams_v11070 PFN_cuGraphExecBatchMemOpNodeSetParams;
typedef PFN_cuGraphExecChildGraphNodeSetParams_v11010 PFN_cuGraphExecChildGraphNodeSetParams;
typedef PFN_cuGraphExecDestroy_v10000 PFN_cuGraphExecDestroy;
typedef PFN_cuGraphExecEventRecordNodeSetEvent_v11010 PFN_cuGraphExecEventRecordNodeSetEvent;
typedef PFN_cuGraphExecEventWaitNodeSetEvent_v11010 PFN_cuGraphExecEventWaitNodeSetEvent;
typedef PFN_cuGraphExecExternalSemaphoresSignalNodeSetParams_v11020 PFN_cuGraphExecExternalSemaphoresSignalNodeSetParams;
typedef PFN_cuGraphExecExternalSemaphoresWaitNodeSetParams_v11020 PFN_cuGraphExecExternalSemaphoresWaitNodeSetParams;
typedef PFN_cuGraphExecGetFlags_v12000 PFN_cuGraphExecGetFlags;
typedef PFN_cuGraphExecHostNodeSetParams_v10020 PFN_cuGraphExecHostNodeSetParams;
typedef PFN_cuGraphExecKernelNodeSetParams_v12000 PFN_cuGraphExecKernelNodeSetParams;
typedef PFN_cuGraphExecMemcpyNodeSetParams_v10020 PFN_cuGraphExecMemcpyNodeSetParams;
typedef PFN_cuGraphExecMemsetNodeSetParams_v10020 PFN_cuGraphExecMemsetNodeSetParams;
typedef PFN_cuGraphExecNodeSetParams_v12020 PFN_cuGraphExecNodeSetParams;
typedef PFN_cuGraphExecUpdate_v12000 PFN_cuGraphExecUpdate;
typedef PFN_cuGraphExternalSemaphoresSignalNodeGetParams_v11020 PFN_cuGraphExternalSemaphoresSignalNodeGetParams;
typedef PFN_cuGraphExternalSemaphoresSignalNodeSetParams_v11020 PFN_cuGraphExternalSemaphoresSignalNodeSetParams;
typedef PFN_cuGraphExternalSemaphoresWaitNodeGetParams_v11020 PFN_cuGraphExternalSemaphoresWaitNodeGetParams;
typedef PFN_cuGraphExternalSemaphoresWaitNodeSetParams_v11020 PFN_cuGraphExternalSemaphoresWaitNodeSetParams;
typedef PFN_cuGraphGetEdges_v12030 PFN_cuGraphGetEdges;
typedef PFN_cuGraphGetNodes_v10000 PFN_cuGraphGetNodes;
typedef PFN_cuGraphGetRootNodes_v10000 PFN_cuGraphGetRootNodes;
typedef PFN_cuGraphHostNodeGetParams_v10000 PFN_cuGraphHostNodeGetParams;
typedef PFN_cuGraphHostNodeSetParams_v10000 PFN_cuGraphHostNodeSetParams;
typedef PFN_cuGraphInstantiateWithFlags_v11040 PFN_cuGraphInstantiateWithFlags;
typedef PFN_cuGraphInstantiateWithParams_v12000 PFN_cuGraphInstantiateWithParams;
typedef PFN_cuGraphKernelNodeCopyAttributes_v11000 PFN_cuGraphKernelNodeCopyAttributes;
typedef PFN_cuGraphKernelNodeGetAttribute_v11000 PFN_cuGraphKernelNodeGetAttribute;
typedef PFN_cuGraphKernelNodeGetParams_v12000 PFN_cuGraphKernelNodeGetParams;
typedef PFN_cuGraphKernelNodeSetAttribute_v11000 PFN_cuGraphKernelNodeSetAttribute;
typedef PFN_cuGraphKernelNodeSetParams_v12000 PFN_cuGraphKernelNodeSetParams;
typedef PFN_cuGraphLaunch_v10000 PFN_cuGraphLaunch;
typedef PFN_cuGraphMemAllocNodeGetParams_v11040 PFN_cuGraphMemAllocNodeGetParams;
typedef PFN_cuGraphMemFreeNodeGetParams_v11040 PFN_cuGraphMemFreeNodeGetParams;
typedef PFN_cuGraphMemcpyNodeGetParams_v10000 PFN_cuGraphMemcpyNodeGetParams;
typedef PFN_cuGraphMemcpyNodeSetParams_v10000 PFN_cuGraphMemcpyNodeSetParams;
typedef PFN_cuGraphMemsetNodeGetParams_v10000 PFN_cuGraphMemsetNodeGetParams;
typedef PFN_cuGraphMemsetNodeSetParams_v10000 PFN_cuGraphMemsetNodeSetParams;
typedef PFN_cuGraphNodeFindInClone_v10000 PFN_cuGraphNodeFindInClone;
typedef PFN_cuGraphNodeGetDependencies_v12030 PFN_cuGraphNodeGetDependencies;
typedef PFN_cuGraphNodeGetDependentNodes_v12030 PFN_cuGraphNodeGetDependentNodes;
typedef PFN_cuGraphNodeGetEnabled_v11060 PFN_cuGraphNodeGetEnabled;
typedef PFN_cuGraphNodeGetType_v10000 PFN_cuGraphNodeGetType;
typedef PFN_cuGraphNodeSetEnabled_v11060 PFN_cuGraphNodeSetEnabled;
typedef PFN_cuGraphNodeSetParams_v12020 PFN_cuGraphNodeSetParams;
typedef PFN_cuGraphReleaseUserObject_v11030 PFN_cuGraphReleaseUserObject;
typedef PFN_cuGraphRemoveDependencies_v12030 PFN_cuGraphRemoveDependencies;
typedef PFN_cuGraphRetainUserObject_v11030 PFN_cuGraphRetainUserObject;
typedef PFN_cuGraphUpload_v11010 PFN_cuGraphUpload;
typedef PFN_cuGraphicsMapResources_v3000 PFN_cuGraphicsMapResources;
typedef PFN_cuGraphicsResourceGetMappedMipmappedArray_v5000 PFN_cuGraphicsResourceGetMappedMipmappedArray;
typedef PFN_cuGraphicsResourceGetMappedPointer_v3020 PFN_cuGraphicsResourceGetMappedPointer;
typedef PFN_cuGraphicsResourceSetMapFlags_v6050 PFN_cuGraphicsResourceSetMapFlags;
typedef PFN_cuGraphicsSubResourceGetMappedArray_v3000 PFN_cuGraphicsSubResourceGetMappedArray;
typedef PFN_cuGraphicsUnmapResources_v3000 PFN_cuGraphicsUnmapResources;
typedef PFN_cuGraphicsUnregisterResource_v3000 PFN_cuGraphicsUnregisterResource;
typedef PFN_cuGreenCtxCreate_v12040 PFN_cuGreenCtxCreate;
typedef PFN_cuGreenCtxDestroy_v12040 PFN_cuGreenCtxDestroy;
typedef PFN_cuGreenCtxGetDevResource_v12040 PFN_cuGreenCtxGetDevResource;
typedef PFN_cuGreenCtxGetId_v12090 PFN_cuGreenCtxGetId;
typedef PFN_cuGreenCtxRecordEvent_v12040 PFN_cuGreenCtxRecordEvent;
typedef PFN_cuGreenCtxStreamCreate_v12050 PFN_cuGreenCtxStreamCreate;
typedef PFN_cuGreenCtxWaitEvent_v12040 PFN_cuGreenCtxWaitEvent;
typedef PFN_cuImportExternalMemory_v10000 PFN_cuImportExternalMemory;
typedef PFN_cuImportExternalSemaphore_v10000 PFN_cuImportExternalSemaphore;
typedef PFN_cuInit_v2000 PFN_cuInit;
typedef PFN_cuIpcCloseMemHandle_v4010 PFN_cuIpcCloseMemHandle;
typedef PFN_cuIpcGetEventHandle_v4010 PFN_cuIpcGetEventHandle;
typedef PFN_cuIpcGetMemHandle_v4010 PFN_cuIpcGetMemHandle;
typedef PFN_cuIpcOpenEventHandle_v4010 PFN_cuIpcOpenEventHandle;
typedef PFN_cuIpcOpenMemHandle_v11000 PFN_cuIpcOpenMemHandle;
typedef PFN_cuKernelGetAttribute_v12000 PFN_cuKernelGetAttribute;
typedef PFN_cuKernelGetFunction_v12000 PFN_cuKernelGetFunction;
typedef PFN_cuKernelGetLibrary_v12050 PFN_cuKernelGetLibrary;
typedef PFN_cuKernelGetName_v12030 PFN_cuKernelGetName;
typedef PFN_cuKernelGetParamInfo_v12040 PFN_cuKernelGetParamInfo;
typedef PFN_cuKernelSetAttribute_v12000 PFN_cuKernelSetAttribute;
typedef PFN_cuKernelSetCacheConfig_v12000 PFN_cuKernelSetCacheConfig;
typedef PFN_cuLaunch_v2000 PFN_cuLaunch;
typedef PFN_cuLaunchCooperativeKernel_v9000 PFN_cuLaunchCooperativeKernel;
typedef PFN_cuLaunchCooperativeKernelMultiDevice_v9000 PFN_cuLaunchCooperativeKernelMultiDevice;
typedef PFN_cuLaunchGrid_v2000 PFN_cuLaunchGrid;
typedef PFN_cuLaunchGridAsync_v2000 PFN_cuLaunchGridAsync;
typedef PFN_cuLaunchHostFunc_v10000 PFN_cuLaunchHostFunc;
typedef PFN_cuLaunchKernel_v4000 PFN_cuLaunchKernel;
typedef PFN_cuLaunchKernelEx_v11060 PFN_cuLaunchKernelEx;
typedef PFN_cuLibraryEnumerateKernels_v12040 PFN_cuLibraryEnumerateKernels;
typedef PFN_cuLibraryGetGlobal_v12000 PFN_cuLibraryGetGlobal;
typedef PFN_cuLibraryGetKernel_v12000 PFN_cuLibraryGetKernel;
typedef PFN_cuLibraryGetKernelCount_v12040 PFN_cuLibraryGetKernelCount;
typedef PFN_cuLibraryGetManaged_v12000 PFN_cuLibraryGetManaged;
typedef PFN_cuLibraryGetModule_v12000 PFN_cuLibraryGetModule;
typedef PFN_cuLibraryGetUnifiedFunction_v12000 PFN_cuLibraryGetUnifiedFunction;
typedef PFN_cuLibraryLoadData_v12000 PFN_cuLibraryLoadData;
typedef PFN_cuLibraryLoadFromFile_v12000 PFN_cuLibraryLoadFromFile;
typedef PFN_cuLibraryUnload_v12000 PFN_cuLibraryUnload;
typedef PFN_cuLinkAddData_v6050 PFN_cuLinkAddData;
typedef PFN_cuLinkAddFile_v6050 PFN_cuLinkAddFile;
typedef PFN_cuLinkComplete_v5050 PFN_cuLinkComplete;
typedef PFN_cuLinkCreate_v6050 PFN_cuLinkCreate;
typedef PFN_cuLinkDestroy_v5050 PFN_cuLinkDestroy;
typedef PFN_cuLogsCurrent_v12090 PFN_cuLogsCurrent;
typedef PFN_cuLogsDumpToFile_v12090 PFN_cuLogsDumpToFile;
typedef PFN_cuLogsDumpToMemory_v12090 PFN_cuLogsDumpToMemory;
typedef PFN_cuLogsRegisterCallback_v12090 PFN_cuLogsRegisterCallback;
typedef PFN_cuLogsUnregisterCallback_v12090 PFN_cuLogsUnregisterCallback;
typedef PFN_cuMemAddressFree_v10020 PFN_cuMemAddressFree;
typedef PFN_cuMemAddressReserve_v10020 PFN_cuMemAddressReserve;
typedef PFN_cuMemAdvise_v12020 PFN_cuMemAdvise;
typedef PFN_cuMemAlloc_v3020 PFN_cuMemAlloc;
typedef PFN_cuMemAllocAsync_v11020 PFN_cuMemAllocAsync;
typedef PFN_cuMemAllocFromPoolAsync_v11020 PFN_cuMemAllocFromPoolAsync;
typedef PFN_cuMemAllocHost_v3020 PFN_cuMemAllocHost;
typedef PFN_cuMemAllocManaged_v6000 PFN_cuMemAllocManaged;
typedef PFN_cuMemAllocPitch_v3020 PFN_cuMemAllocPitch;
typedef PFN_cuMemBatchDecompressAsync_v12060 PFN_cuMemBatchDecompressAsync;
typedef PFN_cuMemCreate_v10020 PFN_cuMemCreate;
typedef PFN_cuMemDiscardAndPrefetchBatchAsync_v13000 PFN_cuMemDiscardAndPrefetchBatchAsync;
typedef PFN_cuMemDiscardBatchAsync_v13000 PFN_cuMemDiscardBatchAsync;
typedef PFN_cuMemExportToShareableHandle_v10020 PFN_cuMemExportToShareableHandle;
typedef PFN_cuMemFree_v3020 PFN_cuMemFree;
typedef PFN_cuMemFreeAsync_v11020 PFN_cuMemFreeAsync;
typedef PFN_cuMemFreeHost_v2000 PFN_cuMemFreeHost;
typedef PFN_cuMemGetAccess_v10020 PFN_cuMemGetAccess;
typedef PFN_cuMemGetAddressRange_v3020 PFN_cuMemGetAddressRange;
typedef PFN_cuMemGetAllocationGranularity_v10020 PFN_cuMemGetAllocationGranularity;
typedef PFN_cuMemGetAllocationPropertiesFromHandle_v10020 PFN_cuMemGetAllocationPropertiesFromHandle;
typedef PFN_cuMemGetDefaultMemPool_v13000 PFN_cuMemGetDefaultMemPool;
typedef PFN_cuMemGetHandleForAddressRange_v11070 PFN_cuMemGetHandleForAddressRange;
typedef PFN_cuMemGetInfo_v3020 PFN_cuMemGetInfo;
typedef PFN_cuMemGetMemPool_v13000 PFN_cuMemGetMemPool;
typedef PFN_cuMemHostAlloc_v2020 PFN_cuMemHostAlloc;
typedef PFN_cuMemHostGetDevicePointer_v3020 PFN_cuMemHostGetDevicePointer;
typedef PFN_cuMemHostGetFlags_v2030 PFN_cuMemHostGetFlags;
typedef PFN_cuMemHostRegister_v6050 PFN_cuMemHostRegister;
typedef PFN_cuMemHostUnregister_v4000 PFN_cuMemHostUnregister;
typedef PFN_cuMemImportFromShareableHandle_v10020 PFN_cuMemImportFromShareableHandle;
typedef PFN_cuMemMap_v10020 PFN_cuMemMap;
typedef PFN_cuMemMapArrayAsync_v11010 PFN_cuMemMapArrayAsync;
typedef PFN_cuMemPoolCreate_v11020 PFN_cuMemPoolCreate;
typedef PFN_cuMemPoolDestroy_v11020 PFN_cuMemPoolDestroy;
typedef PFN_cuMemPoolExportPointer_v11020 PFN_cuMemPoolExportPointer;
typedef PFN_cuMemPoolExportToShareableHandle_v11020 PFN_cuMemPoolExportToShareableHandle;
typedef PFN_cuMemPoolGetAccess_v11020 PFN_cuMemPoolGetAccess;
typedef PFN_cuMemPoolGetAttribute_v11020 PFN_cuMemPoolGetAttribute;
typedef PFN_cuMemPoolImportFromShareableHandle_v11020 PFN_cuMemPoolImportFromShareableHandle;
typedef PFN_cuMemPoolImportPointer_v11020 PFN_cuMemPoolImportPointer;
typedef PFN_cuMemPoolSetAccess_v11020 PFN_cuMemPoolSetAccess;
typedef PFN_cuMemPoolSetAttribute_v11020 PFN_cuMemPoolSetAttribute;
typedef PFN_cuMemPoolTrimTo_v11020 PFN_cuMemPoolTrimTo;
typedef PFN_cuMemPrefetchAsync_v12020 PFN_cuMemPrefetchAsync;
typedef PFN_cuMemPrefetchBatchAsync_v13000 PFN_cuMemPrefetchBatchAsync;
typedef PFN_cuMemRangeGetAttribute_v8000 PFN_cuMemRangeGetAttribute;
typedef PFN_cuMemRangeGetAttributes_v8000 PFN_cuMemRangeGetAttributes;
typedef PFN_cuMemRelease_v10020 PFN_cuMemRelease;
typedef PFN_cuMemRetainAllocationHandle_v11000 PFN_cuMemRetainAllocationHandle;
typedef PFN_cuMemSetAccess_v10020 PFN_cuMemSetAccess;
typedef PFN_cuMemSetMemPool_v13000 PFN_cuMemSetMemPool;
typedef PFN_cuMemUnmap_v10020 PFN_cuMemUnmap;
typedef PFN_cuMemcpy_v4000 PFN_cuMemcpy;
typedef PFN_cuMemcpy2D_v3020 PFN_cuMemcpy2D;
typedef PFN_cuMemcpy2DAsync_v3020 PFN_cuMemcpy2DAsync;
typedef PFN_cuMemcpy2DUnaligned_v3020 PFN_cuMemcpy2DUnaligned;
typedef PFN_cuMemcpy3D_v3020 PFN_cuMemcpy3D;
typedef PFN_cuMemcpy3DAsync_v3020 PFN_cuMemcpy3DAsync;
typedef PFN_cuMemcpy3DBatchAsync_v13000 PFN_cuMemcpy3DBatchAsync;
typedef PFN_cuMemcpy3DPeer_v4000 PFN_cuMemcpy3DPeer;
typedef PFN_cuMemcpy3DPeerAsync_v4000 PFN_cuMemcpy3DPeerAsync;
typedef PFN_cuMemcpyAsync_v4000 PFN_cuMemcpyAsync;
typedef PFN_cuMemcpyAtoA_v3020 PFN_cuMemcpyAtoA;
typedef PFN_cuMemcpyAtoD_v3020 PFN_cuMemcpyAtoD;
typedef PFN_cuMemcpyAtoH_v3020 PFN_cuMemcpyAtoH;
typedef PFN_cuMemcpyAtoHAsync_v3020 PFN_cuMemcpyAtoHAsync;
typedef PFN_cuMemcpyBatchAsync_v13000 PFN_cuMemcpyBatchAsync;
typedef PFN_cuMemcpyDtoA_v3020 PFN_cuMemcpyDtoA;
typedef PFN_cuMemcpyDtoD_v3020 PFN_cuMemcpyDtoD;
typedef PFN_cuMemcpyDtoDAsync_v3020 PFN_cuMemcpyDtoDAsync;
typedef PFN_cuMemcpyDtoH_v3020 PFN_cuMemcpyDtoH;
typedef PFN_cuMemcpyDtoHAsync_v3020 PFN_cuMemcpyDtoHAsync;
typedef PFN_cuMemcpyHtoA_v3020 PFN_cuMemcpyHtoA;
typedef PFN_cuMemcpyHtoAAsync_v3020 PFN_cuMemcpyHtoAAsync;
typedef PFN_cuMemcpyHtoD_v3020 PFN_cuMemcpyHtoD;
typedef PFN_cuMemcpyHtoDAsync_v3020 PFN_cuMemcpyHtoDAsync;
typedef PFN_cuMemcpyPeer_v4000 PFN_cuMemcpyPeer;
typedef PFN_cuMemcpyPeerAsync_v4000 PFN_cuMemcpyPeerAsync;
typedef PFN_cuMemsetD16_v3020 PFN_cuMemsetD16;
typedef PFN_cuMemsetD16Async_v3020 PFN_cuMemsetD16Async;
typedef PFN_cuMemsetD2D16_v3020 PFN_cuMemsetD2D16;
typedef PFN_cuMemsetD2D16Async_v3020 PFN_cuMemsetD2D16Async;
typedef PFN_cuMemsetD2D32_v3020 PFN_cuMemsetD2D32;
typedef PFN_cuMemsetD2D32Async_v3020 PFN_cuMemsetD2D32Async;
typedef PFN_cuMemsetD2D8_v3020 PFN_cuMemsetD2D8;
typedef PFN_cuMemsetD2D8Async_v3020 PFN_cuMemsetD2D8Async;
typedef PFN_cuMemsetD32_v3020 PFN_cuMemsetD32;
typedef PFN_cuMemsetD32Async_v3020 PFN_cuMemsetD32Async;
typedef PFN_cuMemsetD8_v3020 PFN_cuMemsetD8;
typedef PFN_cuMemsetD8Async_v3020 PFN_cuMemsetD8Async;
typedef PFN_cuMipmappedArrayCreate_v5000 PFN_cuMipmappedArrayCreate;
typedef PFN_cuMipmappedArrayDestroy_v5000 PFN_cuMipmappedArrayDestroy;
typedef PFN_cuMipmappedArrayGetLevel_v5000 PFN_cuMipmappedArrayGetLevel;
typedef PFN_cuMipmappedArrayGetMemoryRequirements_v11060 PFN_cuMipmappedArrayGetMemoryRequirements;
typedef PFN_cuMipmappedArrayGetSparseProperties_v11010 PFN_cuMipmappedArrayGetSparseProperties;
typedef PFN_cuModuleEnumerateFunctions_v12040 PFN_cuModuleEnumerateFunctions;
typedef PFN_cuModuleGetFunction_v2000 PFN_cuModuleGetFunction;
typedef PFN_cuModuleGetFunctionCount_v12040 PFN_cuModuleGetFunctionCount;
typedef PFN_cuModuleGetGlobal_v3020 PFN_cuModuleGetGlobal;
typedef PFN_cuModuleGetLoadingMode_v11070 PFN_cuModuleGetLoadingMode;
typedef PFN_cuModuleGetSurfRef_v3000 PFN_cuModuleGetSurfRef;
typedef PFN_cuModuleGetTexRef_v2000 PFN_cuModuleGetTexRef;
typedef PFN_cuModuleLoad_v2000 PFN_cuModuleLoad;
typedef PFN_cuModuleLoadData_v2000 PFN_cuModuleLoadData;
typedef PFN_cuModuleLoadDataEx_v2010 PFN_cuModuleLoadDataEx;
typedef PFN_cuModuleLoadFatBinary_v2000 PFN_cuModuleLoadFatBinary;
typedef PFN_cuModuleUnload_v2000 PFN_cuModuleUnload;
typedef PFN_cuMulticastAddDevice_v12010 PFN_cuMulticastAddDevice;
typedef PFN_cuMulticastBindAddr_v12010 PFN_cuMulticastBindAddr;
typedef PFN_cuMulticastBindMem_v12010 PFN_cuMulticastBindMem;
typedef PFN_cuMulticastCreate_v12010 PFN_cuMulticastCreate;
typedef PFN_cuMulticastGetGranularity_v12010 PFN_cuMulticastGetGranularity;
typedef PFN_cuMulticastUnbind_v12010 PFN_cuMulticastUnbind;
typedef PFN_cuOccupancyAvailableDynamicSMemPerBlock_v10020 PFN_cuOccupancyAvailableDynamicSMemPerBlock;
typedef PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050 PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor;
typedef PFN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000 PFN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
typedef PFN_cuOccupancyMaxActiveClusters_v11070 PFN_cuOccupancyMaxActiveClusters;
typedef PFN_cuOccupancyMaxPotentialBlockSize_v6050 PFN_cuOccupancyMaxPotentialBlockSize;
typedef PFN_cuOccupancyMaxPotentialBlockSizeWithFlags_v7000 PFN_cuOccupancyMaxPotentialBlockSizeWithFlags;
typedef PFN_cuOccupancyMaxPotentialClusterSize_v11070 PFN_cuOccupancyMaxPotentialClusterSize;
typedef PFN_cuParamSetSize_v2000 PFN_cuParamSetSize;
typedef PFN_cuParamSetTexRef_v2000 PFN_cuParamSetTexRef;
typedef PFN_cuParamSetf_v2000 PFN_cuParamSetf;
typedef PFN_cuParamSeti_v2000 PFN_cuParamSeti;
typedef PFN_cuParamSetv_v2000 PFN_cuParamSetv;
typedef PFN_cuPointerGetAttribute_v4000 PFN_cuPointerGetAttribute;
typedef PFN_cuPointerGetAttributes_v7000 PFN_cuPointerGetAttributes;
typedef PFN_cuPointerSetAttribute_v6000 PFN_cuPointerSetAttribute;
typedef PFN_cuProfilerInitialize_v4000 PFN_cuProfilerInitialize;
typedef PFN_cuProfilerStart_v4000 PFN_cuProfilerStart;
typedef PFN_cuProfilerStop_v4000 PFN_cuProfilerStop;
typedef PFN_cuSignalExternalSemaphoresAsync_v10000 PFN_cuSignalExternalSemaphoresAsync;
typedef PFN_cuStreamAddCallback_v5000 PFN_cuStreamAddCallback;
typedef PFN_cuStreamAttachMemAsync_v6000 PFN_cuStreamAttachMemAsync;
typedef PFN_cuStreamBatchMemOp_v11070 PFN_cuStreamBatchMemOp;
typedef PFN_cuStreamBeginCapture_v10010 PFN_cuStreamBeginCapture;
typedef PFN_cuStreamBeginCaptureToGraph_v12030 PFN_cuStreamBeginCaptureToGraph;
typedef PFN_cuStreamCopyAttributes_v11000 PFN_cuStreamCopyAttributes;
typedef PFN_cuStreamCreate_v2000 PFN_cuStreamCreate;
typedef PFN_cuStreamCreateWithPriority_v5050 PFN_cuStreamCreateWithPriority;
typedef PFN_cuStreamDestroy_v4000 PFN_cuStreamDestroy;
typedef PFN_cuStreamEndCapture_v10000 PFN_cuStreamEndCapture;
typedef PFN_cuStreamGetAttribute_v11000 PFN_cuStreamGetAttribute;
typedef PFN_cuStreamGetCaptureInfo_v12030 PFN_cuStreamGetCaptureInfo;
typedef PFN_cuStreamGetCtx_v9020 PFN_cuStreamGetCtx;
typedef PFN_cuStreamGetDevice_v12080 PFN_cuStreamGetDevice;
typedef PFN_cuStreamGetFlags_v5050 PFN_cuStreamGetFlags;
typedef PFN_cuStreamGetGreenCtx_v12040 PFN_cuStreamGetGreenCtx;
typedef PFN_cuStreamGetId_v12000 PFN_cuStreamGetId;
typedef PFN_cuStreamGetPriority_v5050 PFN_cuStreamGetPriority;
typedef PFN_cuStreamIsCapturing_v10000 PFN_cuStreamIsCapturing;
typedef PFN_cuStreamQuery_v2000 PFN_cuStreamQuery;
typedef PFN_cuStreamSetAttribute_v11000 PFN_cuStreamSetAttribute;
typedef PFN_cuStreamSynchronize_v2000 PFN_cuStreamSynchronize;
typedef PFN_cuStreamUpdateCaptureDependencies_v12030 PFN_cuStreamUpdateCaptureDependencies;
typedef PFN_cuStreamWaitEvent_v3020 PFN_cuStreamWaitEvent;
typedef PFN_cuStreamWaitValue32_v11070 PFN_cuStreamWaitValue32;
typedef PFN_cuStreamWaitValue64_v11070 PFN_cuStreamWaitValue64;
typedef PFN_cuStreamWriteValue32_v11070 PFN_cuStreamWriteValue32;
typedef PFN_cuStreamWriteValue64_v11070 PFN_cuStreamWriteValue64;
typedef PFN_cuSurfObjectCreate_v5000 PFN_cuSurfObjectCreate;
typedef PFN_cuSurfObjectDestroy_v5000 PFN_cuSurfObjectDestroy;
typedef PFN_cuSurfObjectGetResourceDesc_v5000 PFN_cuSurfObjectGetResourceDesc;
typedef PFN_cuSurfRefGetArray_v3000 PFN_cuSurfRefGetArray;
typedef PFN_cuSurfRefSetArray_v3000 PFN_cuSurfRefSetArray;
typedef PFN_cuTensorMapEncodeIm2col_v12000 PFN_cuTensorMapEncodeIm2col;
typedef PFN_cuTensorMapEncodeIm2colWide_v12080 PFN_cuTensorMapEncodeIm2colWide;
typedef PFN_cuTensorMapEncodeTiled_v12000 PFN_cuTensorMapEncodeTiled;
typedef PFN_cuTensorMapReplaceAddress_v12000 PFN_cuTensorMapReplaceAddress;
typedef PFN_cuTexObjectCreate_v5000 PFN_cuTexObjectCreate;
typedef PFN_cuTexObjectDestroy_v5000 PFN_cuTexObjectDestroy;
typedef PFN_cuTexObjectGetResourceDesc_v5000 PFN_cuTexObjectGetResourceDesc;
typedef PFN_cuTexObjectGetResourceViewDesc_v5000 PFN_cuTexObjectGetResourceViewDesc;
typedef PFN_cuTexObjectGetTextureDesc_v5000 PFN_cuTexObjectGetTextureDesc;
typedef PFN_cuTexRefCreate_v2000 PFN_cuTexRefCreate;
typedef PFN_cuTexRefDestroy_v2000 PFN_cuTexRefDestroy;
typedef PFN_cuTexRefGetAddress_v3020 PFN_cuTexRefGetAddress;
typedef PFN_cuTexRefGetAddressMode_v2000 PFN_cuTexRefGetAddressMode;
typedef PFN_cuTexRefGetArray_v2000 PFN_cuTexRefGetArray;
typedef PFN_cuTexRefGetBorderColor_v8000 PFN_cuTexRefGetBorderColor;
typedef PFN_cuTexRefGetFilterMode_v2000 PFN_cuTexRefGetFilterMode;
typedef PFN_cuTexRefGetFlags_v2000 PFN_cuTexRefGetFlags;
typedef PFN_cuTexRefGetFormat_v2000 PFN_cuTexRefGetFormat;
typedef PFN_cuTexRefGetMaxAnisotropy_v5000 PFN_cuTexRefGetMaxAnisotropy;
typedef PFN_cuTexRefGetMipmapFilterMode_v5000 PFN_cuTexRefGetMipmapFilterMode;
typedef PFN_cuTexRefGetMipmapLevelBias_v5000 PFN_cuTexRefGetMipmapLevelBias;
typedef PFN_cuTexRefGetMipmapLevelClamp_v5000 PFN_cuTexRefGetMipmapLevelClamp;
typedef PFN_cuTexRefGetMipmappedArray_v5000 PFN_cuTexRefGetMipmappedArray;
typedef PFN_cuTexRefSetAddress_v3020 PFN_cuTexRefSetAddress;
typedef PFN_cuTexRefSetAddress2D_v4010 PFN_cuTexRefSetAddress2D;
typedef PFN_cuTexRefSetAddressMode_v2000 PFN_cuTexRefSetAddressMode;
typedef PFN_cuTexRefSetArray_v2000 PFN_cuTexRefSetArray;
typedef PFN_cuTexRefSetBorderColor_v8000 PFN_cuTexRefSetBorderColor;
typedef PFN_cuTexRefSetFilterMode_v2000 PFN_cuTexRefSetFilterMode;
typedef PFN_cuTexRefSetFlags_v2000 PFN_cuTexRefSetFlags;
typedef PFN_cuTexRefSetFormat_v2000 PFN_cuTexRefSetFormat;
typedef PFN_cuTexRefSetMaxAnisotropy_v5000 PFN_cuTexRefSetMaxAnisotropy;
typedef PFN_cuTexRefSetMipmapFilterMode_v5000 PFN_cuTexRefSetMipmapFilterMode;
typedef PFN_cuTexRefSetMipmapLevelBias_v5000 PFN_cuTexRefSetMipmapLevelBias;
typedef PFN_cuTexRefSetMipmapLevelClamp_v5000 PFN_cuTexRefSetMipmapLevelClamp;
typedef PFN_cuTexRefSetMipmappedArray_v5000 PFN_cuTexRefSetMipmappedArray;
typedef PFN_cuThreadExchangeStreamCaptureMode_v10010 PFN_cuThreadExchangeStreamCaptureMode;
typedef PFN_cuUserObjectCreate_v11030 PFN_cuUserObjectCreate;
typedef PFN_cuUserObjectRelease_v11030 PFN_cuUserObjectRelease;
typedef PFN_cuUserObjectRetain_v11030 PFN_cuUserObjectRetain;
typedef PFN_cuWaitExternalSemaphoresAsync_v10000 PFN_cuWaitExternalSemaphoresAsync;
/* clang-format on */

#endif
