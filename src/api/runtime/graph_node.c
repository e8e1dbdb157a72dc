/* Nodes of graphs: the runtime's parameters as the driver's, and back. */
#include "runtime.h"

#include <string.h>

/* ---- parameters of kernels */

_Static_assert(sizeof(struct cudaKernelNodeParams) == sizeof(struct cudaKernelNodeParamsV2),
               "the same bytes");

static cudaError_t node_make_kernel(CUDA_KERNEL_NODE_PARAMS *out,
                                    const struct cudaKernelNodeParams *p)
{
    CUfunction func;
    if (!p)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_function(p->func, &func));
    bool is_handle = !rt_map_get(&rt_registry.kernels, p->func); /* it is what getting answers */
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = is_handle ? NULL : func,
        .kern = is_handle ? (CUkernel)p->func : NULL,
        .gridDimX = p->gridDim.x,
        .gridDimY = p->gridDim.y,
        .gridDimZ = p->gridDim.z,
        .blockDimX = p->blockDim.x,
        .blockDimY = p->blockDim.y,
        .blockDimZ = p->blockDim.z,
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
        .extra = p->extra,
    };
    return rt_check_dims(p->gridDim, p->blockDim, p->sharedMemBytes);
}

cudaError_t rt_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RT_TRY(node_make_kernel(&params, pNodeParams));
    RT_CALL(cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &params));
}

cudaError_t rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                            struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS p;
    RT_TRY(rt_enter());
    if (!pNodeParams)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuGraphKernelNodeGetParams_v2(node, &p)));
    *pNodeParams = (struct cudaKernelNodeParams){
        .func = p.kern ? (void *)p.kern : (void *)(uintptr_t)rt_function_host(p.func),
        .gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
        .blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
        .sharedMemBytes = p.sharedMemBytes,
        .kernelParams = p.kernelParams,
    };
    return cudaSuccess;
}

cudaError_t rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                            const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RT_TRY(node_make_kernel(&params, pNodeParams));
    RT_CALL(cuGraphKernelNodeSetParams_v2(node, &params));
}

cudaError_t rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS params;
    RT_TRY(node_make_kernel(&params, pNodeParams));
    RT_CALL(cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &params));
}

cudaError_t rt_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    RT_CALL(cuGraphKernelNodeCopyAttributes(hDst, hSrc));
}

/* It had the nodes the other way round. */
cudaError_t rt12_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hSrc, cudaGraphNode_t hDst)
{
    return rt_cudaGraphKernelNodeCopyAttributes(hDst, hSrc);
}

cudaError_t rt_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                               cudaLaunchAttributeValue *value_out)
{
    RT_CALL(cuGraphKernelNodeGetAttribute(hNode, (CUkernelNodeAttrID)attr, (void *)value_out));
}

cudaError_t rt_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                               const cudaLaunchAttributeValue *value)
{
    RT_CALL(cuGraphKernelNodeSetAttribute(hNode, (CUkernelNodeAttrID)attr, (const void *)value));
}

/* ---- copies */

#define ADD_COPY(make)                                                                             \
    CUcontext ctx;                                                                                 \
    CUDA_MEMCPY3D copy;                                                                            \
    RT_TRY(rt_context(&ctx));                                                                      \
    RT_TRY(make);                                                                                  \
    return rt_result(                                                                              \
        cuGraphAddMemcpyNode(pGraphNode, graph, pDependencies, numDependencies, &copy, ctx))
#define SET_COPY(make)                                                                             \
    CUDA_MEMCPY3D copy;                                                                            \
    RT_TRY(rt_enter());                                                                            \
    RT_TRY(make);                                                                                  \
    return rt_result(cuGraphMemcpyNodeSetParams(node, &copy))
#define SET_EXEC_COPY(make)                                                                        \
    CUcontext ctx;                                                                                 \
    CUDA_MEMCPY3D copy;                                                                            \
    RT_TRY(rt_context(&ctx));                                                                      \
    RT_TRY(make);                                                                                  \
    return rt_result(cuGraphExecMemcpyNodeSetParams(hGraphExec, node, &copy, ctx))

static cudaError_t node_make_row(CUDA_MEMCPY3D *out_copy, void *dst, const void *src, size_t count,
                                 enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms params = {
        .srcPtr = {(void *)(uintptr_t)src, count, count, 1},
        .dstPtr = {dst, count, count, 1},
        .extent = {count, 1, 1},
        .kind = kind,
    };
    return rt_make_copy_3d(out_copy, &params);
}

static cudaError_t node_make_to_symbol(CUDA_MEMCPY3D *out_copy, const void *symbol, const void *src,
                                       size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    void *dst;
    RT_TRY(rt_symbol_range(symbol, offset, count, &dst));
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    return node_make_row(out_copy, dst, src, count, kind);
}

static cudaError_t node_make_from_symbol(CUDA_MEMCPY3D *out_copy, void *dst, const void *symbol,
                                         size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    void *src;
    RT_TRY(rt_symbol_range(symbol, offset, count, &src));
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    return node_make_row(out_copy, dst, src, count, kind);
}

cudaError_t rt_cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      const struct cudaMemcpy3DParms *pCopyParams)
{
    ADD_COPY(rt_make_copy_3d(&copy, pCopyParams));
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies,
                                        size_t numDependencies, void *dst, const void *src,
                                        size_t count, enum cudaMemcpyKind kind)
{
    ADD_COPY(node_make_row(&copy, dst, src, count, kind));
}

cudaError_t rt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t *pDependencies,
                                              size_t numDependencies, const void *symbol,
                                              const void *src, size_t count, size_t offset,
                                              enum cudaMemcpyKind kind)
{
    ADD_COPY(node_make_to_symbol(&copy, symbol, src, count, offset, kind));
}

cudaError_t rt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                const cudaGraphNode_t *pDependencies,
                                                size_t numDependencies, void *dst,
                                                const void *symbol, size_t count, size_t offset,
                                                enum cudaMemcpyKind kind)
{
    ADD_COPY(node_make_from_symbol(&copy, dst, symbol, count, offset, kind));
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                            const struct cudaMemcpy3DParms *pNodeParams)
{
    SET_COPY(rt_make_copy_3d(&copy, pNodeParams));
}

cudaError_t rt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                              size_t count, enum cudaMemcpyKind kind)
{
    SET_COPY(node_make_row(&copy, dst, src, count, kind));
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                    const void *src, size_t count, size_t offset,
                                                    enum cudaMemcpyKind kind)
{
    SET_COPY(node_make_to_symbol(&copy, symbol, src, count, offset, kind));
}

cudaError_t rt_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                      const void *symbol, size_t count,
                                                      size_t offset, enum cudaMemcpyKind kind)
{
    SET_COPY(node_make_from_symbol(&copy, dst, symbol, count, offset, kind));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                const struct cudaMemcpy3DParms *pNodeParams)
{
    SET_EXEC_COPY(rt_make_copy_3d(&copy, pNodeParams));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                  void *dst, const void *src, size_t count,
                                                  enum cudaMemcpyKind kind)
{
    SET_EXEC_COPY(node_make_row(&copy, dst, src, count, kind));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                        cudaGraphNode_t node, const void *symbol,
                                                        const void *src, size_t count,
                                                        size_t offset, enum cudaMemcpyKind kind)
{
    SET_EXEC_COPY(node_make_to_symbol(&copy, symbol, src, count, offset, kind));
}

cudaError_t rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                          cudaGraphNode_t node, void *dst,
                                                          const void *symbol, size_t count,
                                                          size_t offset, enum cudaMemcpyKind kind)
{
    SET_EXEC_COPY(node_make_from_symbol(&copy, dst, symbol, count, offset, kind));
}

static enum cudaMemcpyKind node_kind_of(const CUDA_MEMCPY3D *c)
{
    bool to = c->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    bool from = c->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    if (c->dstMemoryType == CU_MEMORYTYPE_UNIFIED || c->srcMemoryType == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    return to     ? from ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
           : from ? cudaMemcpyDeviceToHost
                  : cudaMemcpyHostToHost;
}

cudaError_t rt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                            struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D c;
    RT_TRY(rt_enter());
    if (!pNodeParams)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuGraphMemcpyNodeGetParams(node, &c)));
    void *src = c.srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)c.srcHost
                                                      : (void *)(uintptr_t)c.srcDevice;
    void *dst = c.dstMemoryType == CU_MEMORYTYPE_HOST ? c.dstHost : (void *)(uintptr_t)c.dstDevice;
    *pNodeParams = (struct cudaMemcpy3DParms){
        .srcPos = {c.srcXInBytes, c.srcY, c.srcZ},
        .srcPtr = {src, c.srcPitch, c.WidthInBytes, c.srcHeight},
        .dstPos = {c.dstXInBytes, c.dstY, c.dstZ},
        .dstPtr = {dst, c.dstPitch, c.WidthInBytes, c.dstHeight},
        .extent = {c.WidthInBytes, c.Height, c.Depth},
        .kind = node_kind_of(&c),
    };
    return cudaSuccess;
}

/* ---- fills and host functions: the same bytes as the driver's */

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS),
               "the same bytes");
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS),
               "the same bytes");

cudaError_t rt_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      const struct cudaMemsetParams *pMemsetParams)
{
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    return rt_result(cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies,
                                          (const void *)pMemsetParams, ctx));
}

cudaError_t rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                            struct cudaMemsetParams *pNodeParams)
{
    RT_CALL(cuGraphMemsetNodeGetParams(node, (void *)pNodeParams));
}

cudaError_t rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                            const struct cudaMemsetParams *pNodeParams)
{
    RT_CALL(cuGraphMemsetNodeSetParams(node, (const void *)pNodeParams));
}

cudaError_t rt_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                const struct cudaMemsetParams *pNodeParams)
{
    CUcontext ctx;
    RT_TRY(rt_context(&ctx));
    return rt_result(
        cuGraphExecMemsetNodeSetParams(hGraphExec, node, (const void *)pNodeParams, ctx));
}

cudaError_t rt_cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                    const struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies,
                               (const void *)pNodeParams));
}

cudaError_t rt_cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                          struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(cuGraphHostNodeGetParams(node, (void *)pNodeParams));
}

cudaError_t rt_cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                          const struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(cuGraphHostNodeSetParams(node, (const void *)pNodeParams));
}

cudaError_t rt_cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                              const struct cudaHostNodeParams *pNodeParams)
{
    RT_CALL(cuGraphExecHostNodeSetParams(hGraphExec, node, (const void *)pNodeParams));
}

/* ---- the others */

cudaError_t rt_cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
    RT_CALL(cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies));
}

cudaError_t rt_cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies, cudaGraph_t childGraph)
{
    RT_CALL(
        cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraph));
}

cudaError_t rt_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    RT_CALL(cuGraphChildGraphNodeGetGraph(node, pGraph));
}

cudaError_t rt_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                    cudaGraphNode_t node, cudaGraph_t childGraph)
{
    RT_CALL(cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph));
}

#define EVENT_NODE(Name)                                                                           \
    cudaError_t rt_cudaGraphAdd##Name##Node(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,        \
                                            const cudaGraphNode_t *pDependencies,                  \
                                            size_t numDependencies, cudaEvent_t event)             \
    {                                                                                              \
        RT_CALL(cuGraphAdd##Name##Node(pGraphNode, graph, pDependencies, numDependencies, event)); \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraph##Name##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)     \
    {                                                                                              \
        RT_CALL(cuGraph##Name##NodeGetEvent(node, event_out));                                     \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraph##Name##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)          \
    {                                                                                              \
        RT_CALL(cuGraph##Name##NodeSetEvent(node, event));                                         \
    }                                                                                              \
                                                                                                   \
    cudaError_t rt_cudaGraphExec##Name##NodeSetEvent(cudaGraphExec_t hGraphExec,                   \
                                                     cudaGraphNode_t hNode, cudaEvent_t event)     \
    {                                                                                              \
        RT_CALL(cuGraphExec##Name##NodeSetEvent(hGraphExec, hNode, event));                        \
    }

EVENT_NODE(EventRecord)
EVENT_NODE(EventWait)

/* ---- of any kind */

static cudaError_t node_make_any(CUgraphNodeParams *out, const struct cudaGraphNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    if (!p)
        return rt_fail(cudaErrorInvalidValue);
    *out = (CUgraphNodeParams){.type = (CUgraphNodeType)p->type};
    memcpy(out->reserved0, p->reserved0, sizeof(out->reserved0));
    out->reserved2 = p->reserved2;
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        RT_TRY(node_make_kernel(&kernel, (const void *)&p->kernel));
        memcpy(&out->kernel, &kernel, sizeof(out->kernel));
        return cudaSuccess;
    case cudaGraphNodeTypeMemcpy:
        out->memcpy.flags = p->memcpy.flags;
        return rt_make_copy_3d(&out->memcpy.copyParams, &p->memcpy.copyParams);
    default: /* the same bytes as far as the runtime's go */
        memcpy(out->reserved1, p->reserved1, sizeof(p->reserved1));
        if (p->type == cudaGraphNodeTypeMemset)
            out->memset.ctx = NULL;
        if (p->type == cudaGraphNodeTypeConditional)
            out->conditional.ctx = NULL;
        return cudaSuccess;
    }
}

cudaError_t rt_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                const cudaGraphNode_t *pDependencies,
                                const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams params;
    RT_TRY(rt_enter());
    RT_TRY(node_make_any(&params, nodeParams));
    RT_TRY(rt_result(cuGraphAddNode_v2(pGraphNode, graph, pDependencies,
                                       (const void *)dependencyData, numDependencies, &params)));
    if (nodeParams->type == cudaGraphNodeTypeMemAlloc)
        nodeParams->alloc.dptr = (void *)(uintptr_t)params.alloc.dptr;
    else if (nodeParams->type == cudaGraphNodeTypeConditional)
        nodeParams->conditional.phGraph_out = (cudaGraph_t *)params.conditional.phGraph_out;
    return cudaSuccess;
}

cudaError_t rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                                cudaGraph_t graph, unsigned int defaultLaunchValue,
                                                unsigned int flags)
{
    CUgraphConditionalHandle handle = 0;
    CUcontext ctx;
    CUresult result;

    RT_TRY(rt_context(&ctx));
    result = cuGraphConditionalHandleCreate(pHandle_out ? &handle : NULL, graph, ctx,
                                            defaultLaunchValue, flags);
    if (result == CUDA_SUCCESS)
        *pHandle_out = handle;
    return rt_result(result);
}

cudaError_t rt12_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                  const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                  struct cudaGraphNodeParams *nodeParams)
{
    return rt_cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t rt_cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies,
                                   const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                   struct cudaGraphNodeParams *nodeParams)
{
    return rt_cudaGraphAddNode(pGraphNode, graph, pDependencies, dependencyData, numDependencies,
                               nodeParams);
}

cudaError_t rt_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams params;
    RT_TRY(rt_enter());
    RT_TRY(node_make_any(&params, nodeParams));
    return rt_result(cuGraphNodeSetParams(node, &params));
}

cudaError_t rt_cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                          struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams params;
    RT_TRY(rt_enter());
    RT_TRY(node_make_any(&params, nodeParams));
    return rt_result(cuGraphExecNodeSetParams(graphExec, node, &params));
}
