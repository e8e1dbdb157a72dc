/* Streams. */
#include "api/driver/driver.h"
#include "base/mem.h"

#define PRIORITY_GREATEST (-5)

CUresult drv_stream(struct core_context *ctx, CUstream handle, struct core_stream **out_stream)
{
    if (!handle || handle == CU_STREAM_LEGACY) {
        *out_stream = ctx->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return drv_result(core_stream_per_thread(ctx, out_stream));
    if (!core_handle_is(CORE_STREAM, handle))
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)handle);
    *out_stream = (struct core_stream *)handle;
    if ((*out_stream)->ctx != ctx && core_context_status((*out_stream)->ctx) != HD_OK)
        return drv_result(core_context_status((*out_stream)->ctx));
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    API_CALL(cuStreamCreateWithPriority);
    API_CHECK(stream);
    API_CHECK(!(flags & ~(unsigned)CU_STREAM_NON_BLOCKING));
    API_CONTEXT(ctx);
    priority = HD_MIN(HD_MAX(priority, PRIORITY_GREATEST), 0);
    return drv_result(core_stream_create(ctx, flags, priority, (struct core_stream **)stream));
}

HD_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

HD_EXPORT CUresult cuStreamDestroy_v2(CUstream handle)
{
    API_CALL(cuStreamDestroy_v2);
    API_CONTEXT_ANY(ctx);
    API_CHECK(handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD);
    API_HANDLE(STREAM, handle);
    core_stream_destroy((struct core_stream *)handle);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuStreamDestroy(CUstream stream)
{
    return cuStreamDestroy_v2(stream);
}

/* symbol, the parameters behind the stream, statements on `stream`; with its _ptsz twin */
#define STREAM_GETTER(symbol, type, expr)                                                          \
    HD_EXPORT CUresult symbol(CUstream handle, type *out)                                          \
    {                                                                                              \
        API_CALL(symbol);                                                                          \
        API_CHECK(out);                                                                            \
        API_CONTEXT(ctx);                                                                          \
        API_STREAM(ctx, stream, handle);                                                           \
        (void)stream;                                                                              \
        *out = (expr);                                                                             \
        return CUDA_SUCCESS;                                                                       \
    }                                                                                              \
    DRV_PER_THREAD(symbol##_ptsz, (CUstream handle, type * out), symbol(PER_THREAD(handle), out))

STREAM_GETTER(cuStreamGetPriority, int, stream->priority)
STREAM_GETTER(cuStreamGetFlags, unsigned, stream->flags)
STREAM_GETTER(cuStreamGetId, unsigned long long, stream->id)
STREAM_GETTER(cuStreamGetCtx, CUcontext, (CUcontext)stream->ctx)
STREAM_GETTER(cuStreamGetDevice, CUdevice, 0)
STREAM_GETTER(cuStreamIsCapturing, CUstreamCaptureStatus, CU_STREAM_CAPTURE_STATUS_NONE)

HD_EXPORT CUresult cuStreamQuery(CUstream handle)
{
    API_CALL(cuStreamQuery);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_query(stream));
}
DRV_PER_THREAD(cuStreamQuery_ptsz, (CUstream handle), cuStreamQuery(PER_THREAD(handle)))

HD_EXPORT CUresult cuStreamSynchronize(CUstream handle)
{
    API_CALL(cuStreamSynchronize);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_synchronize(stream));
}
DRV_PER_THREAD(cuStreamSynchronize_ptsz, (CUstream handle), cuStreamSynchronize(PER_THREAD(handle)))

HD_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    API_CALL(cuStreamWaitEvent);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_HANDLE(EVENT, event);
    return drv_result(core_event_wait(stream, (struct core_event *)event));
}
DRV_PER_THREAD(cuStreamWaitEvent_ptsz, (CUstream handle, CUevent event, unsigned flags),
               cuStreamWaitEvent(PER_THREAD(handle), event, flags))

struct callback {
    CUstreamCallback func;
    void *arg;
    CUstream handle;
    struct core_context *ctx;
};

static void callback_run(void *arg)
{
    struct callback *callback = arg;

    callback->func(callback->handle, drv_result(core_context_status(callback->ctx)), callback->arg);
    hd_free(callback);
}

HD_EXPORT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback func, void *arg,
                                       unsigned flags)
{
    struct callback *callback;
    enum hd_status status;

    API_CALL(cuStreamAddCallback);
    API_CHECK(func && !flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    callback = hd_new(struct callback);
    if (!callback)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *callback = (struct callback){func, arg, handle, ctx};
    status = core_stream_call(stream, callback_run, callback, true);
    if (status != HD_OK)
        hd_free(callback);
    return drv_result(status);
}
DRV_PER_THREAD(cuStreamAddCallback_ptsz,
               (CUstream handle, CUstreamCallback func, void *arg, unsigned flags),
               cuStreamAddCallback(PER_THREAD(handle), func, arg, flags))

/* Managed memory is visible to every stream and to the host at all times. */
HD_EXPORT CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr ptr, size_t size_B,
                                          unsigned flags)
{
    API_CALL(cuStreamAttachMemAsync);
    API_CHECK(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
              flags == CU_MEM_ATTACH_SINGLE);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    (void)stream;
    return drv_result(core_memory_check(ptr, size_B ? size_B : 1, true));
}
DRV_PER_THREAD(cuStreamAttachMemAsync_ptsz,
               (CUstream handle, CUdeviceptr ptr, size_t size_B, unsigned flags),
               cuStreamAttachMemAsync(PER_THREAD(handle), ptr, size_B, flags))

/* ---- capture: there is none yet, so every stream is not capturing */

HD_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
                                             cuuint64_t *id, CUgraph *graph,
                                             const CUgraphNode **deps,
                                             const CUgraphEdgeData **edges, size_t *count)
{
    API_CALL(cuStreamGetCaptureInfo_v3);
    API_CHECK(status);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    (void)stream, (void)id, (void)graph, (void)deps, (void)edges, (void)count;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
DRV_PER_THREAD(cuStreamGetCaptureInfo_v3_ptsz,
               (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *count),
               cuStreamGetCaptureInfo_v3(PER_THREAD(handle), status, id, graph, deps, edges, count))

HD_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
                                             cuuint64_t *id, CUgraph *graph,
                                             const CUgraphNode **deps, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(handle, status, id, graph, deps, NULL, count);
}
DRV_PER_THREAD(cuStreamGetCaptureInfo_v2_ptsz,
               (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                const CUgraphNode **deps, size_t *count),
               cuStreamGetCaptureInfo_v3(PER_THREAD(handle), status, id, graph, deps, NULL, count))

HD_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static __thread CUstreamCaptureMode current;
    CUstreamCaptureMode before = current;

    API_CALL(cuThreadExchangeStreamCaptureMode);
    API_CHECK(mode);
    API_CHECK((unsigned)*mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    current = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
