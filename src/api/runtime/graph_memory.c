/* Memory of graphs: nodes that allocate and free it, and figures. */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) &&
                   offsetof(struct cudaMemAllocNodeParams, dptr) ==
                       offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, dptr),
               "the same bytes");

cudaError_t rt_cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies,
                                        size_t numDependencies,
                                        struct cudaMemAllocNodeParams *nodeParams)
{
    RT_CALL(cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
                                   (void *)nodeParams));
}

cudaError_t rt_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                              struct cudaMemAllocNodeParams *params_out)
{
    RT_CALL(cuGraphMemAllocNodeGetParams(node, (void *)params_out));
}

cudaError_t rt_cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       void *dptr)
{
    RT_CALL(
        cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies, (uintptr_t)dptr));
}

cudaError_t rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    RT_CALL(cuGraphMemFreeNodeGetParams(node, dptr_out));
}

cudaError_t rt_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                              void *value)
{
    RT_CALL(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t rt_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                              void *value)
{
    RT_CALL(cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t rt_cudaDeviceGraphMemTrim(int device)
{
    RT_CALL(cuDeviceGraphMemTrim(device));
}
