/*
 * What a libcudart.so.12 has and a 13 has not, and names whose arguments changed between the two:
 * the 12 node of a name gets the function here, the 13 node the one elsewhere.
 */
#include "runtime.h"

cudaError_t rt12_cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return rt_fail(cudaErrorInvalidValue);
    *version = 12080;
    return cudaSuccess;
}

cudaError_t rt12_cudaMemPrefetchAsync(const void *ptr, size_t count, int device,
                                      cudaStream_t stream)
{
    RT_TRY(rt_check_place(device));
    RT_CALL(cuMemPrefetchAsync(rt_va(ptr), count, device, stream));
}

cudaError_t rt12_cudaMemAdvise(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                               int device)
{
    RT_TRY(rt_check_place(device));
    RT_CALL(cuMemAdvise(rt_va(ptr), count, (int)advice, device));
}

cudaError_t rt_cudaMemPrefetchAsync_v2(const void *ptr, size_t count,
                                       struct cudaMemLocation location, unsigned flags,
                                       cudaStream_t stream)
{
    return rt_cudaMemPrefetchAsync(ptr, count, location, flags, stream);
}

cudaError_t rt_cudaMemAdvise_v2(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                                struct cudaMemLocation location)
{
    return rt_cudaMemAdvise(ptr, count, advice, location);
}

cudaError_t rt_cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return rt_cudaEventElapsedTime(ms, start, end);
}

cudaError_t rt12_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                          unsigned long long *id)
{
    return rt_cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t rt_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                           enum cudaStreamCaptureStatus *status,
                                           unsigned long long *id, cudaGraph_t *graph,
                                           const cudaGraphNode_t **deps, size_t *count)
{
    return rt_cudaStreamGetCaptureInfo(stream, status, id, graph, deps, NULL, count);
}

cudaError_t rt_cudaStreamGetCaptureInfo_v3(cudaStream_t stream,
                                           enum cudaStreamCaptureStatus *status,
                                           unsigned long long *id, cudaGraph_t *graph,
                                           const cudaGraphNode_t **deps,
                                           const cudaGraphEdgeData **edges, size_t *count)
{
    return rt_cudaStreamGetCaptureInfo(stream, status, id, graph, deps, edges, count);
}

cudaError_t rt_cudaThreadExit(void)
{
    return rt_cudaDeviceReset();
}

cudaError_t rt_cudaThreadSynchronize(void)
{
    return rt_cudaDeviceSynchronize();
}

cudaError_t rt_cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return rt_cudaDeviceGetLimit(value, limit);
}

cudaError_t rt_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return rt_cudaDeviceSetLimit(limit, value);
}

cudaError_t rt_cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return rt_cudaDeviceGetCacheConfig(config);
}

cudaError_t rt_cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return rt_cudaDeviceSetCacheConfig(config);
}

/* Devices with double precision need no conversion: documented as doing nothing. */
cudaError_t rt_cudaSetDoubleForDevice(double *value)
{
    return cudaSuccess;
}

cudaError_t rt_cudaSetDoubleForHost(double *value)
{
    return cudaSuccess;
}
