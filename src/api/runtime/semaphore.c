/* External semaphores. The runtime's structures are the driver's; those of old are shorter. */
#include "runtime.h"

#include <string.h>

#include "base/mem.h"

_Static_assert(sizeof(struct cudaExternalSemaphoreHandleDesc) ==
                       sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) &&
                   sizeof(struct cudaExternalSemaphoreSignalParams) ==
                       sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) &&
                   sizeof(struct cudaExternalSemaphoreWaitParams) ==
                       sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) &&
                   sizeof(struct cudaExternalSemaphoreSignalNodeParams) ==
                       sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS) &&
                   sizeof(struct cudaExternalSemaphoreWaitNodeParams) ==
                       sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS),
               "same layout");

/* ---- life */

cudaError_t
rt_cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
                               const struct cudaExternalSemaphoreHandleDesc *semHandleDesc)
{
    RT_CALL(
        cuImportExternalSemaphore((CUexternalSemaphore *)extSem_out, (const void *)semHandleDesc));
}

cudaError_t rt_cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem)
{
    RT_CALL(cuDestroyExternalSemaphore((CUexternalSemaphore)extSem));
}

/* ---- streams */

cudaError_t
rt_cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                     const struct cudaExternalSemaphoreSignalParams *paramsArray,
                                     unsigned int numExtSems, cudaStream_t stream)
{
    RT_CALL(cuSignalExternalSemaphoresAsync((const CUexternalSemaphore *)extSemArray,
                                            (const void *)paramsArray, numExtSems, stream));
}

cudaError_t
rt_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                   const struct cudaExternalSemaphoreWaitParams *paramsArray,
                                   unsigned int numExtSems, cudaStream_t stream)
{
    RT_CALL(cuWaitExternalSemaphoresAsync((const CUexternalSemaphore *)extSemArray,
                                          (const void *)paramsArray, numExtSems, stream));
}

cudaError_t
rt_cudaSignalExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *extSemArray,
                                        const struct cudaExternalSemaphoreSignalParams *paramsArray,
                                        unsigned int numExtSems, cudaStream_t stream)
{
    return rt_cudaSignalExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t
rt_cudaWaitExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *extSemArray,
                                      const struct cudaExternalSemaphoreWaitParams *paramsArray,
                                      unsigned int numExtSems, cudaStream_t stream)
{
    return rt_cudaWaitExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
}

/* ---- parameters of before CUDA 11.2, which the unversioned symbols of libcudart.so.12 take */

struct signal_params_v1 {
    uint64_t fence_value;
    uint64_t nvSciSync;
    uint64_t key;
    unsigned flags;
};
_Static_assert(sizeof(struct signal_params_v1) == 32, "CUDA 10 to 11.1");

struct wait_params_v1 {
    uint64_t fence_value;
    uint64_t nvSciSync;
    uint64_t key;
    unsigned timeout_ms, pad; /* with the key a struct of its own */
    unsigned flags;
};
_Static_assert(sizeof(struct wait_params_v1) == 40, "CUDA 10 to 11.1");

cudaError_t rt12_cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                                   const void *paramsArray, unsigned int numExtSems,
                                                   cudaStream_t stream)
{
    struct cudaExternalSemaphoreSignalParams *params;
    const struct signal_params_v1 *old = paramsArray;
    cudaError_t error;
    if (!old)
        return rt_cudaSignalExternalSemaphoresAsync(extSemArray, NULL, numExtSems, stream);
    params = hd_alloc_array(numExtSems + (size_t)1, sizeof(*params));
    if (!params)
        return rt_fail(cudaErrorMemoryAllocation);
    for (unsigned i = 0; i < numExtSems; i++) {
        params[i].params.fence.value = old[i].fence_value;
        params[i].params.nvSciSync.reserved = old[i].nvSciSync;
        params[i].params.keyedMutex.key = old[i].key;
        params[i].flags = old[i].flags;
    }
    error = rt_cudaSignalExternalSemaphoresAsync(extSemArray, params, numExtSems, stream);
    hd_free(params);
    return error;
}

cudaError_t rt12_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                                 const void *paramsArray, unsigned int numExtSems,
                                                 cudaStream_t stream)
{
    struct cudaExternalSemaphoreWaitParams *params;
    const struct wait_params_v1 *old = paramsArray;
    cudaError_t error;
    if (!old)
        return rt_cudaWaitExternalSemaphoresAsync(extSemArray, NULL, numExtSems, stream);
    params = hd_alloc_array(numExtSems + (size_t)1, sizeof(*params));
    if (!params)
        return rt_fail(cudaErrorMemoryAllocation);
    for (unsigned i = 0; i < numExtSems; i++) {
        params[i].params.fence.value = old[i].fence_value;
        params[i].params.nvSciSync.reserved = old[i].nvSciSync;
        params[i].params.keyedMutex.key = old[i].key;
        params[i].params.keyedMutex.timeoutMs = old[i].timeout_ms;
        params[i].flags = old[i].flags;
    }
    error = rt_cudaWaitExternalSemaphoresAsync(extSemArray, params, numExtSems, stream);
    hd_free(params);
    return error;
}

/* ---- nodes of graphs */

#define SEMAPHORE_NODE(Name)                                                                       \
    cudaError_t rt_cudaGraphAddExternalSemaphores##Name##Node(                                     \
        cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,      \
        size_t numDependencies, const struct cudaExternalSemaphore##Name##NodeParams *nodeParams)  \
    {                                                                                              \
        RT_CALL(cuGraphAddExternalSemaphores##Name##Node(                                          \
            pGraphNode, graph, pDependencies, numDependencies, (const void *)nodeParams));         \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraphExternalSemaphores##Name##NodeGetParams(                               \
        cudaGraphNode_t hNode, struct cudaExternalSemaphore##Name##NodeParams *params_out)         \
    {                                                                                              \
        RT_CALL(cuGraphExternalSemaphores##Name##NodeGetParams(hNode, (void *)params_out));        \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraphExternalSemaphores##Name##NodeSetParams(                               \
        cudaGraphNode_t hNode, const struct cudaExternalSemaphore##Name##NodeParams *nodeParams)   \
    {                                                                                              \
        RT_CALL(cuGraphExternalSemaphores##Name##NodeSetParams(hNode, (const void *)nodeParams));  \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraphExecExternalSemaphores##Name##NodeSetParams(                           \
        cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,                                         \
        const struct cudaExternalSemaphore##Name##NodeParams *nodeParams)                          \
    {                                                                                              \
        RT_CALL(cuGraphExecExternalSemaphores##Name##NodeSetParams(hGraphExec, hNode,              \
                                                                   (const void *)nodeParams));     \
    }

SEMAPHORE_NODE(Signal)
SEMAPHORE_NODE(Wait)
