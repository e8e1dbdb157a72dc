/* Graphs: what the driver does under the same names; parameters of nodes are in graph_node.c. */
#include "runtime.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "the same bytes");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
               "the same bytes");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
               "the same bytes");

#define EDGES(data) ((CUgraphEdgeData *)(void *)(data))
#define PLAIN(data) ((const CUgraphEdgeData *)(const void *)(data))

/* ---- graphs */

cudaError_t rt_cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    RT_CALL(cuGraphCreate(pGraph, flags));
}

cudaError_t rt_cudaGraphDestroy(cudaGraph_t graph)
{
    RT_CALL(cuGraphDestroy(graph));
}

cudaError_t rt_cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    RT_CALL(cuGraphClone(pGraphClone, originalGraph));
}

cudaError_t rt_cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                        cudaGraph_t clonedGraph)
{
    RT_CALL(cuGraphNodeFindInClone(pNode, originalNode, clonedGraph));
}

cudaError_t rt_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    RT_CALL(cuGraphDebugDotPrint(graph, path, flags));
}

cudaError_t rt_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    RT_CALL(cuGraphNodeGetType(node, (CUgraphNodeType *)(void *)pType));
}

cudaError_t rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    RT_CALL(cuGraphGetNodes(graph, nodes, numNodes));
}

cudaError_t rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                     size_t *pNumRootNodes)
{
    RT_CALL(cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes));
}

cudaError_t rt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                 cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    RT_CALL(cuGraphGetEdges_v2(graph, from, to, EDGES(edgeData), numEdges));
}

cudaError_t rt12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                   size_t *numEdges)
{
    return rt_cudaGraphGetEdges(graph, from, to, NULL, numEdges);
}

cudaError_t rt_cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                    cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    return rt_cudaGraphGetEdges(graph, from, to, edgeData, numEdges);
}

cudaError_t rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                            cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
    RT_CALL(cuGraphNodeGetDependencies_v2(node, pDependencies, EDGES(edgeData), pNumDependencies));
}

cudaError_t rt12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                              size_t *pNumDependencies)
{
    return rt_cudaGraphNodeGetDependencies(node, pDependencies, NULL, pNumDependencies);
}

cudaError_t rt_cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                               cudaGraphEdgeData *edgeData,
                                               size_t *pNumDependencies)
{
    return rt_cudaGraphNodeGetDependencies(node, pDependencies, edgeData, pNumDependencies);
}

cudaError_t rt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                              cudaGraphNode_t *pDependentNodes,
                                              cudaGraphEdgeData *edgeData,
                                              size_t *pNumDependentNodes)
{
    RT_CALL(cuGraphNodeGetDependentNodes_v2(node, pDependentNodes, EDGES(edgeData),
                                            pNumDependentNodes));
}

cudaError_t rt12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                cudaGraphNode_t *pDependentNodes,
                                                size_t *pNumDependentNodes)
{
    return rt_cudaGraphNodeGetDependentNodes(node, pDependentNodes, NULL, pNumDependentNodes);
}

cudaError_t rt_cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node,
                                                 cudaGraphNode_t *pDependentNodes,
                                                 cudaGraphEdgeData *edgeData,
                                                 size_t *pNumDependentNodes)
{
    return rt_cudaGraphNodeGetDependentNodes(node, pDependentNodes, edgeData, pNumDependentNodes);
}

cudaError_t rt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
    RT_CALL(cuGraphAddDependencies_v2(graph, from, to, PLAIN(edgeData), numDependencies));
}

cudaError_t rt12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                          const cudaGraphNode_t *to, size_t numDependencies)
{
    return rt_cudaGraphAddDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t rt_cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                           const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    return rt_cudaGraphAddDependencies(graph, from, to, edgeData, numDependencies);
}

cudaError_t rt_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                           const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    RT_CALL(cuGraphRemoveDependencies_v2(graph, from, to, PLAIN(edgeData), numDependencies));
}

cudaError_t rt12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                             const cudaGraphNode_t *to, size_t numDependencies)
{
    return rt_cudaGraphRemoveDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t rt_cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                              const cudaGraphNode_t *to,
                                              const cudaGraphEdgeData *edgeData,
                                              size_t numDependencies)
{
    return rt_cudaGraphRemoveDependencies(graph, from, to, edgeData, numDependencies);
}

cudaError_t rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
    RT_CALL(cuGraphDestroyNode(node));
}

/* ---- user objects */

cudaError_t rt_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                    unsigned int initialRefcount, unsigned int flags)
{
    RT_CALL(cuUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t rt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    RT_CALL(cuUserObjectRetain(object, count));
}

cudaError_t rt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    RT_CALL(cuUserObjectRelease(object, count));
}

cudaError_t rt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                         unsigned int count, unsigned int flags)
{
    RT_CALL(cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t rt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                          unsigned int count)
{
    RT_CALL(cuGraphReleaseUserObject(graph, object, count));
}

/* ---- executable graphs */

cudaError_t rt_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                    unsigned long long flags)
{
    RT_CALL(cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

cudaError_t rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                             unsigned long long flags)
{
    return rt_cudaGraphInstantiate(pGraphExec, graph, flags);
}

cudaError_t rt_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                              cudaGraphInstantiateParams *instantiateParams,
                                              CUstream null_stream)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS *params = (void *)instantiateParams;
    if (params && !params->hUploadStream && null_stream)
        params->hUploadStream = null_stream;
    RT_CALL(cuGraphInstantiateWithParams(pGraphExec, graph, params));
}

cudaError_t rt_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    RT_CALL(cuGraphExecDestroy(graphExec));
}

cudaError_t rt_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    RT_CALL(cuGraphExecGetFlags(graphExec, (cuuint64_t *)(void *)flags));
}

cudaError_t rt_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    RT_CALL(cuGraphLaunch(graphExec, stream));
}

cudaError_t rt_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    RT_CALL(cuGraphUpload(graphExec, stream));
}

cudaError_t rt_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                   cudaGraphExecUpdateResultInfo *resultInfo)
{
    RT_CALL(cuGraphExecUpdate_v2(hGraphExec, hGraph, (void *)resultInfo));
}

cudaError_t rt_cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                       unsigned int isEnabled)
{
    RT_CALL(cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled));
}

cudaError_t rt_cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                       unsigned int *isEnabled)
{
    RT_CALL(cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled));
}
