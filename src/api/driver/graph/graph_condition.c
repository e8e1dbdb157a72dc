/* Conditional nodes of graphs. */
#include "api/driver/graph/graph.h"

#include "core/graph/graph_condition.h"

#define CONDITION_ASSIGN_DEFAULT 1u /* CU_GRAPH_COND_ASSIGN_DEFAULT */

CUresult drv_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph_handle,
                                            CUcontext ctx_handle, unsigned initial, unsigned flags)
{
    uint64_t va;

    API_CALL(cuGraphConditionalHandleCreate);
    API_CHECK(out && !(flags & ~CONDITION_ASSIGN_DEFAULT));
    API_GRAPH(graph, graph, graph_handle);
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx =
        core_context_find(ctx_handle ? ctx_handle : core_context_handle(core_current()), NULL);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: not a context", api_name_);
    API_TRY(drv_result(
        core_condition_create(graph, ctx, flags & CONDITION_ASSIGN_DEFAULT, initial, &va)));
    *out = va;
    return CUDA_SUCCESS;
}

_Static_assert((int)CU_GRAPH_COND_TYPE_IF == (int)CORE_CONDITION_IF &&
                   (int)CU_GRAPH_COND_TYPE_WHILE == (int)CORE_CONDITION_WHILE &&
                   (int)CU_GRAPH_COND_TYPE_SWITCH == (int)CORE_CONDITION_SWITCH,
               "kinds are cast");

static CUresult size_check(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    const char *const api_name_ = "graph node: conditional";

    switch ((int)p->type) {
    case CU_GRAPH_COND_TYPE_IF:
        API_CHECK(p->size == 1 || p->size == 2);
        return CUDA_SUCCESS;
    case CU_GRAPH_COND_TYPE_WHILE:
        API_CHECK(p->size == 1);
        return CUDA_SUCCESS;
    case CU_GRAPH_COND_TYPE_SWITCH:
        API_CHECK(p->size >= 1 && p->size <= 1024);
        return CUDA_SUCCESS;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: type %d", api_name_, (int)p->type);
    }
}

CUresult graph_body_conditional(CUgraph handle, CUDA_CONDITIONAL_NODE_PARAMS *p,
                                struct core_body *out_body)
{
    const char *const api_name_ = "graph node: conditional";
    struct core_condition *condition;

    API_TRY(size_check(p));
    API_GRAPH(graph, graph, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    condition = core_condition_find_locked(graph, p->handle);
    if (!condition)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: the handle is not of the graph", api_name_);
    API_CHECK(!p->ctx || p->ctx == core_context_handle(condition->ctx));
    API_TRY(drv_result(core_body_conditional_locked(condition, (int)p->type, p->size, out_body)));
    p->phGraph_out = (CUgraph *)out_body->conditional.handles;
    return CUDA_SUCCESS;
}
