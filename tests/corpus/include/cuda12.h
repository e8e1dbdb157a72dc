/*
 * What CUDA 13 no longer has, for sources that are older: -include {tables}/include/cuda12.h. Calls get their last form;
 * fields of cudaDeviceProp that are gone read another one, so programs print a wrong number there and nothing else.
 */
#ifndef CORPUS_CUDA12_H
#define CORPUS_CUDA12_H
#ifdef __cplusplus
#include <cuda_runtime.h>

static inline cudaMemLocation corpus_location(int device)
{
    cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

static inline cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t size_B, int device,
                                               cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(ptr, size_B, corpus_location(device), 0, stream);
}

static inline cudaError_t cudaMemAdvise(const void *ptr, size_t size_B, cudaMemoryAdvise advice,
                                        int device)
{
    return cudaMemAdvise(ptr, size_B, advice, corpus_location(device));
}

static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                   const cudaGraphNode_t *to, size_t count)
{
    return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

#define cudaThreadExit                   cudaDeviceReset
#define cudaThreadSynchronize            cudaDeviceSynchronize
#define clockRate                        multiProcessorCount
#define computeMode                      integrated
#define cooperativeMultiDeviceLaunch     cooperativeLaunch
#define deviceOverlap                    asyncEngineCount
#define kernelExecTimeoutEnabled         integrated
#define memoryClockRate                  multiProcessorCount
#define singleToDoublePrecisionPerfRatio multiProcessorCount
#endif
#endif
