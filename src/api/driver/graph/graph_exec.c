/* Executable graphs. */
#include "api/driver/graph/graph.h"

#include <assert.h>
#include <stdio.h>

#define INSTANTIATE_FLAGS                                                                          \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |        \
     CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static CUresult instantiate(const char *name, CUgraphExec *out, CUgraph handle,
                            unsigned long long flags, struct core_exec_failure *out_why)
{
    struct core_exec *exec;
    CUresult result;

    *out_why = (struct core_exec_failure){.result = CORE_INSTANTIATE_ERROR};
    API_CALL_NAMED(name);
    API_CHECK(out);
    API_CHECK(!(flags & ~(unsigned long long)INSTANTIATE_FLAGS));
    API_CONTEXT(ctx);
    API_GRAPH(graph, graph, handle);
    API_CHECK(!(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) ||
              !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    result = drv_result(core_exec_create(graph, ctx, (unsigned)flags, &exec, out_why));
    if (result == CUDA_SUCCESS)
        DRV_GIVE(exec, out, exec);
    return result;
}

CUresult drv_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    struct core_exec_failure why;

    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) /* there is no stream for it */
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuGraphInstantiate: no stream to upload in");
    return instantiate("cuGraphInstantiate", out, graph, flags, &why);
}

CUresult drv_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node,
                                   char *log, size_t log_B)
{
    struct core_exec_failure why;
    CUresult result = instantiate("cuGraphInstantiate", out, graph, 0, &why);

    if (error_node)
        *error_node = why.node;
    if (log && log_B)
        snprintf(log, log_B, "%s", result == CUDA_SUCCESS ? "" : heddle_error_message());
    return result;
}

CUresult drv_cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                                size_t log_B)
{
    return drv_cuGraphInstantiate_v2(out, graph, error_node, log, log_B);
}

CUresult drv_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS *params,
                                          CUstream null_stream)
{
    struct core_exec_failure why;
    CUresult result;

    API_CALL(cuGraphInstantiateWithParams);
    API_CHECK(params);
    result = instantiate("cuGraphInstantiateWithParams", out, graph, params->flags, &why);
    if (result == CUDA_SUCCESS && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        result =
            drv_cuGraphUpload(*out, params->hUploadStream ? params->hUploadStream : null_stream);
    params->hErrNode_out = why.node;
    params->result_out = (CUgraphInstantiateResult)why.result;
    return result;
}

CUresult drv_cuGraphExecDestroy(CUgraphExec handle)
{
    API_CALL(cuGraphExecDestroy);
    API_GRAPH(exec, exec, handle);
    API_CHECK(core_exec_destroy(exec));
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    API_CALL(cuGraphExecGetFlags);
    API_CHECK(flags);
    API_GRAPH(exec, exec, handle);
    *flags = exec->flags & ~(unsigned)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    API_CALL(cuGraphLaunch);
    API_CONTEXT(ctx);
    API_GRAPH(exec, exec, handle);
    API_STREAM(ctx, stream, stream_handle);
    return drv_code_result("cuGraphLaunch", core_exec_launch(exec, stream));
}

CUresult drv_cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    API_CALL(cuGraphUpload);
    API_CONTEXT(ctx);
    API_GRAPH(exec, exec, handle);
    API_STREAM(ctx, stream, stream_handle);
    API_TRY(drv_result(core_capture_check_stream(stream)));
    return drv_result(core_exec_upload(exec, stream));
}

/* ---- updates */

CUresult drv_cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph handle,
                                  CUgraphExecUpdateResultInfo *info)
{
    struct core_exec_failure why;
    CUresult result;

    API_CALL(cuGraphExecUpdate_v2);
    API_CHECK(info);
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    API_GRAPH(exec, exec, exec_handle);
    API_GRAPH(graph, graph, handle);
    result = drv_result(core_exec_update(exec, graph, &why));
    info->result = (CUgraphExecUpdateResult)why.result;
    info->errorNode = why.node;
    info->errorFromNode = why.from;
    return result;
}

CUresult drv_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                               CUgraphExecUpdateResult *update_result)
{
    CUgraphExecUpdateResultInfo info;
    CUresult result;

    API_CALL(cuGraphExecUpdate);
    API_CHECK(error_node && update_result);
    result = drv_cuGraphExecUpdate_v2(exec, graph, &info);
    *error_node = info.errorNode;
    *update_result = info.result;
    return result;
}

CUresult drv_cuGraphNodeSetEnabled(CUgraphExec exec_handle, CUgraphNode handle, unsigned enabled)
{
    API_CALL(cuGraphNodeSetEnabled);
    API_GRAPH(exec, exec, exec_handle);
    API_GRAPH(node, node, handle);
    return drv_result(core_exec_enable(exec, node, enabled != 0));
}

CUresult drv_cuGraphNodeGetEnabled(CUgraphExec exec_handle, CUgraphNode handle, unsigned *out)
{
    bool enabled = false;
    CUresult result;

    API_CALL(cuGraphNodeGetEnabled);
    API_CHECK(out);
    API_GRAPH(exec, exec, exec_handle);
    API_GRAPH(node, node, handle);
    result = drv_result(core_exec_is_enabled(exec, node, &enabled));
    if (result == CUDA_SUCCESS)
        *out = enabled;
    return result;
}
