/*
 * What a libcudart.so.12 has and a 13 has not, and names whose arguments changed between the two:
 * the 12 node of a name gets the function here, the 13 node the one elsewhere.
 */
#include "runtime.h"

cudaError_t rt12_runtime_get_version(int *version);
cudaError_t rt12_mem_prefetch_async(const void *ptr, size_t count, int device, cudaStream_t stream);
cudaError_t rt12_mem_advise(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                            int device);
cudaError_t rt12_stream_get_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id);
cudaError_t cudaMemPrefetchAsync_v2(const void *ptr, size_t count, struct cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream);
cudaError_t cudaMemAdvise_v2(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **deps, size_t *count);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **deps,
                                        const cudaGraphEdgeData **edges, size_t *count);
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaSetDoubleForDevice(double *value);
cudaError_t cudaSetDoubleForHost(double *value);

RT_API12(rt12_runtime_get_version, cudaRuntimeGetVersion)
cudaError_t rt12_runtime_get_version(int *version)
{
    if (!version)
        return rt_fail(cudaErrorInvalidValue);
    *version = 12080;
    return cudaSuccess;
}

RT_API12(rt12_mem_prefetch_async, cudaMemPrefetchAsync)
cudaError_t rt12_mem_prefetch_async(const void *ptr, size_t count, int device, cudaStream_t stream)
{
    RT_TRY(rt_check_place(device));
    RT_CALL(cuMemPrefetchAsync(rt_va(ptr), count, device, stream));
}

RT_API12(rt12_mem_advise, cudaMemAdvise)
cudaError_t rt12_mem_advise(const void *ptr, size_t count, enum cudaMemoryAdvise advice, int device)
{
    RT_TRY(rt_check_place(device));
    RT_CALL(cuMemAdvise(rt_va(ptr), count, (int)advice, device));
}

RT_API12_ONLY(cudaMemPrefetchAsync_v2)
cudaError_t cudaMemPrefetchAsync_v2(const void *ptr, size_t count, struct cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream)
{
    return cudaMemPrefetchAsync(ptr, count, location, flags, stream);
}

RT_API12_ONLY(cudaMemAdvise_v2)
cudaError_t cudaMemAdvise_v2(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location)
{
    return cudaMemAdvise(ptr, count, advice, location);
}

RT_API12_ONLY(cudaEventElapsedTime_v2)
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return cudaEventElapsedTime(ms, start, end);
}

RT_API12(rt12_stream_get_capture_info, cudaStreamGetCaptureInfo)
cudaError_t rt12_stream_get_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id)
{
    return cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

RT_API12_ONLY(cudaStreamGetCaptureInfo_v2)
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **deps, size_t *count)
{
    return cudaStreamGetCaptureInfo(stream, status, id, graph, deps, NULL, count);
}

RT_API12_ONLY(cudaStreamGetCaptureInfo_v3)
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **deps,
                                        const cudaGraphEdgeData **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo(stream, status, id, graph, deps, edges, count);
}

RT_API12_ONLY(cudaThreadExit)
cudaError_t cudaThreadExit(void)
{
    return cudaDeviceReset();
}

RT_API12_ONLY(cudaThreadSynchronize)
cudaError_t cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

RT_API12_ONLY(cudaThreadGetLimit)
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return cudaDeviceGetLimit(value, limit);
}

RT_API12_ONLY(cudaThreadSetLimit)
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

RT_API12_ONLY(cudaThreadGetCacheConfig)
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return cudaDeviceGetCacheConfig(config);
}

RT_API12_ONLY(cudaThreadSetCacheConfig)
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return cudaDeviceSetCacheConfig(config);
}

/* Devices with double precision need no conversion: documented as doing nothing. */
RT_API12_ONLY(cudaSetDoubleForDevice)
cudaError_t cudaSetDoubleForDevice(double *value)
{
    return cudaSuccess;
}

RT_API12_ONLY(cudaSetDoubleForHost)
cudaError_t cudaSetDoubleForHost(double *value)
{
    return cudaSuccess;
}
