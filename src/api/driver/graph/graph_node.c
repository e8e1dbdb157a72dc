/* Adding nodes to graphs and changing what they do. */
#include "api/driver/graph/graph.h"

#include <assert.h>

/* ---- adding */

/* Takes the body over, also on failure. */
static CUresult node_add(const char *name, CUgraphNode *out, CUgraph handle,
                         const CUgraphNode *from_handles, const CUgraphEdgeData *data, size_t n,
                         struct core_body *body)
{
    const char *const api_name_ = name;
    struct core_node *node;
    CUresult result;

    API_GRAPH(graph, graph, handle);
    GRAPH_NODES(from, from_handles, n);
    GRAPH_LOCK();
    result = drv_result(core_graph_check_locked(graph));
    if (result == CUDA_SUCCESS) {
        struct core_body moved = *body;

        body->type = CORE_NODE_EMPTY;
        result = drv_result(
            core_node_add_locked(graph, &moved, from.at, graph_edge_data(data), n, &node));
    }
    if (result == CUDA_SUCCESS)
        *out = core_node_handle(node);
    return result;
}

/* Opens an entry point that makes a body: declares `body`, which goes when nobody took it. */
#define NODE_CALL(symbol, ...)                                                                     \
    __attribute__((cleanup(core_body_fini))) struct core_body body = {.type = CORE_NODE_EMPTY};    \
    API_CALL(symbol);                                                                              \
    API_CHECK(__VA_ARGS__)
#define ADD_NODE(data) node_add(api_name_, out, graph, from, (data), n, &body)

CUresult drv_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from, size_t n)
{
    NODE_CALL(cuGraphAddEmptyNode, out);
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                     size_t n, const CUDA_KERNEL_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddKernelNode_v2, out && params);
    API_TRY(graph_body_kernel(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                  size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    NODE_CALL(cuGraphAddKernelNode, out && params);
    API_TRY(graph_body_kernel_v1(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                  size_t n, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    NODE_CALL(cuGraphAddMemcpyNode, out && params);
    API_TRY(graph_body_copy(params, ctx, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                  size_t n, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    NODE_CALL(cuGraphAddMemsetNode, out && params);
    API_TRY(graph_body_fill(params, ctx, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from, size_t n,
                                const CUDA_HOST_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddHostNode, out && params);
    API_TRY(graph_body_host(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                      size_t n, CUgraph child)
{
    NODE_CALL(cuGraphAddChildGraphNode, out);
    API_TRY(graph_body_child(child, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                       size_t n, CUevent event)
{
    NODE_CALL(cuGraphAddEventRecordNode, out);
    API_TRY(graph_body_event(CORE_NODE_RECORD, event, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                     size_t n, CUevent event)
{
    NODE_CALL(cuGraphAddEventWaitNode, out);
    API_TRY(graph_body_event(CORE_NODE_WAIT, event, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                      size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddBatchMemOpNode, out && params);
    API_TRY(graph_body_batch(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddExternalSemaphoresSignalNode(CUgraphNode *out, CUgraph graph,
                                                    const CUgraphNode *from, size_t n,
                                                    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddExternalSemaphoresSignalNode, out && params);
    API_TRY(graph_body_signals(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddExternalSemaphoresWaitNode(CUgraphNode *out, CUgraph graph,
                                                  const CUgraphNode *from, size_t n,
                                                  const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddExternalSemaphoresWaitNode, out && params);
    API_TRY(graph_body_waits(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                    size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphAddMemAllocNode, out && params);
    API_TRY(graph_body_alloc(params, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                                   size_t n, CUdeviceptr va)
{
    NODE_CALL(cuGraphAddMemFreeNode, out);
    API_TRY(graph_body_free(va, &body));
    return ADD_NODE(NULL);
}

CUresult drv_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                               const CUgraphEdgeData *data, size_t n, CUgraphNodeParams *params)
{
    NODE_CALL(cuGraphAddNode_v2, out && params);
    API_TRY(graph_params_check(params));
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        API_TRY(graph_body_conditional(graph, &params->conditional, &body));
    else
        API_TRY(graph_body_any(graph, params, &body));
    return ADD_NODE(data);
}

CUresult drv_cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *from, size_t n,
                            CUgraphNodeParams *params)
{
    return drv_cuGraphAddNode_v2(out, graph, from, NULL, n, params);
}

/* ---- changing: a node of a graph, or its copy in an executable graph */

static CUresult node_set(const char *name, CUgraphNode handle, struct core_body *body)
{
    const char *const api_name_ = name;
    struct core_body moved = *body;

    API_GRAPH(node, node, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_node_check_locked(node)));
    API_CHECK(node->body.type == body->type); /* a node does not change its type */
    API_CHECK(body->type != CORE_NODE_ALLOC && body->type != CORE_NODE_FREE);
    API_TRY(drv_result(core_node_body_set_locked(node, &moved)));
    body->type = CORE_NODE_EMPTY;
    return CUDA_SUCCESS;
}

static CUresult node_exec_set(const char *name, CUgraphExec exec_handle, CUgraphNode handle,
                              struct core_body *body)
{
    const char *const api_name_ = name;
    struct core_body moved = *body;

    API_GRAPH(exec, exec, exec_handle);
    API_GRAPH(node, node, handle);
    body->type = CORE_NODE_EMPTY;
    return drv_result(core_exec_body_set(exec, node, &moved));
}

#define SET_NODE()      node_set(api_name_, node, &body)
#define SET_EXEC_NODE() node_exec_set(api_name_, exec, node, &body)

CUresult drv_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphKernelNodeSetParams_v2, params);
    API_TRY(graph_body_kernel(params, &body));
    return SET_NODE();
}

CUresult drv_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    NODE_CALL(cuGraphKernelNodeSetParams, params);
    API_TRY(graph_body_kernel_v1(params, &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphExecKernelNodeSetParams_v2, params);
    API_TRY(graph_body_kernel(params, &body));
    return SET_EXEC_NODE();
}

CUresult drv_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    NODE_CALL(cuGraphExecKernelNodeSetParams, params);
    API_TRY(graph_body_kernel_v1(params, &body));
    return SET_EXEC_NODE();
}

/* The context of a node of the type; null when there is none: then it is an error to come. */
static CUcontext node_context_of(CUgraphNode handle)
{
    __attribute__((cleanup(core_node_unref_at))) struct core_node *node = core_node_lookup(handle);
    GRAPH_LOCK();

    return node && node->graph ? core_context_handle(core_body_context(&node->body)) : NULL;
}

CUresult drv_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
    NODE_CALL(cuGraphMemcpyNodeSetParams, params);
    API_TRY(graph_body_copy(params, node_context_of(node), &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    NODE_CALL(cuGraphExecMemcpyNodeSetParams, params);
    API_TRY(graph_body_copy(params, ctx, &body));
    return SET_EXEC_NODE();
}

CUresult drv_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphMemsetNodeSetParams, params);
    API_TRY(graph_body_fill(params, node_context_of(node), &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    NODE_CALL(cuGraphExecMemsetNodeSetParams, params);
    API_TRY(graph_body_fill(params, ctx, &body));
    return SET_EXEC_NODE();
}

CUresult drv_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphHostNodeSetParams, params);
    API_TRY(graph_body_host(params, &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_HOST_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphExecHostNodeSetParams, params);
    API_TRY(graph_body_host(params, &body));
    return SET_EXEC_NODE();
}

CUresult drv_cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphBatchMemOpNodeSetParams, params);
    API_TRY(graph_body_batch(params, &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    NODE_CALL(cuGraphExecBatchMemOpNodeSetParams, params);
    API_TRY(graph_body_batch(params, &body));
    return SET_EXEC_NODE();
}

#define SEMAPHORE_SETTERS(Name, Params, make)                                                      \
    CUresult drv_cuGraphExternalSemaphores##Name##NodeSetParams(CUgraphNode node,                  \
                                                                const Params *params)              \
    {                                                                                              \
        NODE_CALL(cuGraphExternalSemaphores##Name##NodeSetParams, params);                         \
        API_TRY(make(params, &body));                                                              \
        return SET_NODE();                                                                         \
    }                                                                                              \
                                                                                                   \
    CUresult drv_cuGraphExecExternalSemaphores##Name##NodeSetParams(                               \
        CUgraphExec exec, CUgraphNode node, const Params *params)                                  \
    {                                                                                              \
        NODE_CALL(cuGraphExecExternalSemaphores##Name##NodeSetParams, params);                     \
        API_TRY(make(params, &body));                                                              \
        return SET_EXEC_NODE();                                                                    \
    }

SEMAPHORE_SETTERS(Signal, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, graph_body_signals)
SEMAPHORE_SETTERS(Wait, CUDA_EXT_SEM_WAIT_NODE_PARAMS, graph_body_waits)

#define EVENT_SETTERS(Name, type)                                                                  \
    CUresult drv_cuGraph##Name##NodeSetEvent(CUgraphNode node, CUevent event)                      \
    {                                                                                              \
        NODE_CALL(cuGraph##Name##NodeSetEvent, event);                                             \
        API_TRY(graph_body_event(type, event, &body));                                             \
        return SET_NODE();                                                                         \
    }                                                                                              \
                                                                                                   \
    CUresult drv_cuGraphExec##Name##NodeSetEvent(CUgraphExec exec, CUgraphNode node,               \
                                                 CUevent event)                                    \
    {                                                                                              \
        NODE_CALL(cuGraphExec##Name##NodeSetEvent, event);                                         \
        API_TRY(graph_body_event(type, event, &body));                                             \
        return SET_EXEC_NODE();                                                                    \
    }

EVENT_SETTERS(EventRecord, CORE_NODE_RECORD)
EVENT_SETTERS(EventWait, CORE_NODE_WAIT)

CUresult drv_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    NODE_CALL(cuGraphExecChildGraphNodeSetParams, child);
    API_TRY(graph_body_child(child, &body));
    return SET_EXEC_NODE();
}

CUresult drv_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    NODE_CALL(cuGraphNodeSetParams, params);
    API_TRY(graph_body_any(NULL, params, &body));
    return SET_NODE();
}

CUresult drv_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    NODE_CALL(cuGraphExecNodeSetParams, params);
    API_TRY(graph_body_any(NULL, params, &body));
    return SET_EXEC_NODE();
}
