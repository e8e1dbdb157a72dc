/* Stream capture. */
#include "core/graph/capture.h"

#include <assert.h>

#include "api/driver/graph/graph.h"

static CUresult begin(const char *name, CUstream handle, CUstreamCaptureMode mode,
                      struct core_graph *graph, const struct graph_nodes *from,
                      const CUgraphEdgeData *data)
{
    API_CALL_NAMED(name);
    API_CHECK((unsigned)mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    return drv_result(core_capture_begin(stream, (enum core_capture_mode)mode, graph, from->at,
                                         graph_edge_data(data), from->n));
}

CUresult drv_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begin("cuStreamBeginCapture", stream, mode, NULL, &(struct graph_nodes){0}, NULL);
}

CUresult drv_cuStreamBeginCapture(CUstream stream)
{
    return drv_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult drv_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle,
                                         const CUgraphNode *from_handles,
                                         const CUgraphEdgeData *data, size_t n,
                                         CUstreamCaptureMode mode)
{
    API_CALL(cuStreamBeginCaptureToGraph);
    API_GRAPH(graph, graph, handle);
    GRAPH_NODES(from, from_handles, n);
    return begin("cuStreamBeginCaptureToGraph", stream, mode, graph, &from, data);
}

CUresult drv_cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    struct core_graph *graph;
    CUresult result;

    API_CALL(cuStreamEndCapture);
    API_CONTEXT_ANY(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(out || !core_capture_makes_graph(stream));
    result = drv_result(core_capture_end(stream, &graph));
    if (out)
        *out = core_graph_handle(graph);
    core_graph_unref(graph);
    return result;
}

CUresult drv_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
                                       cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
                                       const CUgraphEdgeData **edges, size_t *count)
{
    struct core_capture_info info;

    API_CALL(cuStreamGetCaptureInfo_v3);
    API_CHECK(status);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_TRY(drv_result(core_capture_info(stream, &info)));
    *status = (CUstreamCaptureStatus)info.status;
    if (info.status != CORE_CAPTURE_ACTIVE)
        return CUDA_SUCCESS;
    if (id)
        *id = info.id;
    if (graph)
        *graph = core_graph_handle(info.graph);
    if (deps)
        *deps = (const CUgraphNode *)info.nodes;
    if (edges)
        *edges = (const CUgraphEdgeData *)info.data;
    if (count)
        *count = info.n;
    if (deps && !edges && info.has_data)
        return drv_error(CUDA_ERROR_LOSSY_QUERY, "edges have data that were not asked for");
    return CUDA_SUCCESS;
}

CUresult drv_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
                                       cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
                                       size_t *count)
{
    return drv_cuStreamGetCaptureInfo_v3(handle, status, id, graph, deps, NULL, count);
}

CUresult drv_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return drv_cuStreamGetCaptureInfo_v3(handle, status, id, NULL, NULL, NULL, NULL);
}

CUresult drv_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    return drv_cuStreamGetCaptureInfo_v3(handle, status, NULL, NULL, NULL, NULL, NULL);
}

CUresult drv_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *from_handles,
                                                  const CUgraphEdgeData *data, size_t n,
                                                  unsigned flags)
{
    API_CALL(cuStreamUpdateCaptureDependencies_v2);
    API_CHECK(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    GRAPH_NODES(from, from_handles, n);
    return drv_result(core_capture_update(stream, from.at, graph_edge_data(data), n,
                                          flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
}

CUresult drv_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *from, size_t n,
                                               unsigned flags)
{
    return drv_cuStreamUpdateCaptureDependencies_v2(stream, from, NULL, n, flags);
}

CUresult drv_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    API_CALL(cuThreadExchangeStreamCaptureMode);
    API_CHECK(mode);
    API_CHECK((unsigned)*mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    *mode = (CUstreamCaptureMode)core_capture_mode_exchange((enum core_capture_mode) * mode);
    return CUDA_SUCCESS;
}
