/*
 * The CUDA runtime for kernels ("CUDA Dynamic Parallelism" and "Device Graph Launch" of the
 * programming guide). The functions are the device's; no library is linked. Those that are called
 * like the host's are there in relocatable device code (-rdc=true), as with nvcc.
 */
#ifndef HEDDLE_CUDA_DEVICE_RUNTIME_API_H
#define HEDDLE_CUDA_DEVICE_RUNTIME_API_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __CUDA_DEVICE_RUNTIME_API_H__

#include "cuda_runtime_api.h"

/* Streams of a kernel: what it launches there runs after it, or when it can. */
#define cudaStreamTailLaunch    ((cudaStream_t)0x3)
#define cudaStreamFireAndForget ((cudaStream_t)0x4)

/* The ways to launch a graph. */
#define cudaStreamGraphTailLaunch             ((cudaStream_t)0x0100000000000000)
#define cudaStreamGraphFireAndForget          ((cudaStream_t)0x0200000000000000)
#define cudaStreamGraphFireAndForgetAsSibling ((cudaStream_t)0x0300000000000000)

#if defined(__CUDA__) && defined(__cplusplus)

extern "C" {
__device__ cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
__device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);
__device__ cudaError_t cudaGraphKernelNodeSetParam(cudaGraphDeviceNode_t node, size_t offset,
                                                   const void *value, size_t size);
__device__ cudaError_t cudaGraphKernelNodeSetEnabled(cudaGraphDeviceNode_t node, bool enable);
__device__ cudaError_t cudaGraphKernelNodeSetGridDim(cudaGraphDeviceNode_t node, dim3 gridDim);
__device__ cudaError_t cudaGraphKernelNodeUpdatesApply(const cudaGraphKernelNodeUpdate *updates,
                                                       size_t updateCount);
}

#if defined(__CUDACC_RDC__)
#include "heddle/device_runtime.h"
#endif

static inline __device__ cudaGraphExec_t cudaGetCurrentGraphExec(void)
{
    unsigned long long exec;

    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(exec));
    return (cudaGraphExec_t)exec;
}

/* Programmatic dependent launches; both do nothing before compute capability 9.0. */
static inline __device__ void cudaTriggerProgrammaticLaunchCompletion(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static inline __device__ void cudaGridDependencySynchronize(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <class _Tp>
static inline __device__ cudaError_t cudaGraphKernelNodeSetParam(cudaGraphDeviceNode_t node,
                                                                 size_t offset, const _Tp &value)
{
    return cudaGraphKernelNodeSetParam(node, offset, &value, sizeof(_Tp));
}

#endif

#endif
