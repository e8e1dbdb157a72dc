/* Streams. */
#include "api/driver/driver.h"

#include <assert.h>
#include "base/mem.h"

CUresult drv_stream_alive(const struct core_stream *stream)
{
    if (!stream->green || core_green_is_usable(stream->green))
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the stream's green context was destroyed");
}

static CUresult default_stream(struct core_context *ctx, struct core_stream **out_stream,
                               struct core_stream **out_ref)
{
    struct core_green *green = core_current_green();

    if (HD_LIKELY(!green || ctx != core_current())) {
        *out_stream = ctx->legacy;
        return CUDA_SUCCESS;
    }
    *out_stream = *out_ref = core_stream_lookup(green->default_stream);
    if (!*out_stream)
        return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the green context was destroyed");
    return CUDA_SUCCESS;
}

CUresult drv_stream(struct core_context *ctx, CUstream handle, struct core_stream **out_stream,
                    struct core_stream **out_ref)
{
    struct core_stream *stream;

    assert(ctx && ctx->legacy && !*out_ref);
    if (!handle || handle == CU_STREAM_LEGACY)
        return default_stream(ctx, out_stream, out_ref);
    if (handle == CU_STREAM_PER_THREAD)
        return drv_result(core_stream_per_thread(ctx, out_stream));
    stream = core_stream_lookup(handle);
    if (!stream)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%p is not a live stream", (void *)handle);
    *out_stream = *out_ref = stream;
    if (HD_UNLIKELY(stream->green) && drv_stream_alive(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (stream->ctx != ctx && core_context_status(stream->ctx) != HD_OK)
        return drv_result(core_context_status(stream->ctx));
    return CUDA_SUCCESS;
}

struct core_context *drv_stream_owner(CUstream handle)
{
    __attribute__((cleanup(core_stream_unref_at))) struct core_stream *stream = NULL;

    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return NULL;
    stream = core_stream_lookup(handle);
    return stream && core_context_ref_live(stream->ctx) ? stream->ctx : NULL;
}

CUresult drv_stream_create(struct core_context *ctx, struct core_green *green, unsigned flags,
                           int priority, CUstream *out)
{
    struct core_stream *stream;
    enum hd_status status;

    if (green && !core_green_is_usable(green))
        return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the green context was destroyed");
    priority = HD_MIN(HD_MAX(priority, ctx->device->priority_greatest), 0);
    status = core_stream_create_green(ctx, green, flags, priority, &stream);
    if (status == HD_OK)
        DRV_GIVE(stream, out, stream);
    return drv_result(status);
}

CUresult drv_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    API_CALL(cuStreamCreateWithPriority);
    API_CHECK(out);
    API_CHECK(!(flags & ~(unsigned)CU_STREAM_NON_BLOCKING));
    API_CONTEXT(ctx);
    return drv_stream_create(ctx, core_current_green(), flags, priority, out);
}

CUresult drv_cuStreamCreate(CUstream *stream, unsigned flags)
{
    return drv_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult drv_cuStreamDestroy_v2(CUstream handle)
{
    API_CALL(cuStreamDestroy_v2);
    API_CONTEXT_ANY(ctx);
    API_CHECK(handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD);
    API_HANDLE(stream, stream, handle);
    if (drv_stream_alive(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    API_CHECK(core_stream_destroy(stream));
    return CUDA_SUCCESS;
}

CUresult drv_cuStreamDestroy(CUstream stream)
{
    return drv_cuStreamDestroy_v2(stream);
}

/* symbol, the type behind the second parameter, its value by `stream` */
#define STREAM_GETTER(symbol, type, expr)                                                          \
    CUresult drv_##symbol(CUstream handle, type *out)                                              \
    {                                                                                              \
        API_CALL(symbol);                                                                          \
        API_CHECK(out);                                                                            \
        API_CONTEXT(ctx);                                                                          \
        API_STREAM(ctx, stream, handle);                                                           \
        (void)stream;                                                                              \
        *out = (expr);                                                                             \
        return CUDA_SUCCESS;                                                                       \
    }

STREAM_GETTER(cuStreamGetPriority, int, stream->priority)
STREAM_GETTER(cuStreamGetFlags, unsigned, stream->flags & ~CORE_STREAM_PER_THREAD)
STREAM_GETTER(cuStreamGetId, unsigned long long, stream->id)
STREAM_GETTER(cuStreamGetCtx, CUcontext,
              stream->green ? core_green_context_handle(stream->green)
                            : core_context_handle(stream->ctx))
STREAM_GETTER(cuStreamGetGreenCtx, CUgreenCtx, core_green_handle(stream->green))
STREAM_GETTER(cuStreamGetDevice, CUdevice, stream->ctx->device->ordinal)

CUresult drv_cuStreamGetCtx_v2(CUstream handle, CUcontext *out_ctx, CUgreenCtx *out_green)
{
    API_CALL(cuStreamGetCtx_v2);
    API_CHECK(out_ctx && out_green);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    *out_ctx = core_context_handle(stream->ctx);
    *out_green = core_green_handle(stream->green);
    return CUDA_SUCCESS;
}

CUresult drv_cuStreamQuery(CUstream handle)
{
    API_CALL(cuStreamQuery);
    API_CONTEXT_OR(ctx, drv_stream_owner(handle));
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_query(stream));
}

CUresult drv_cuStreamSynchronize(CUstream handle)
{
    API_CALL(cuStreamSynchronize);
    API_CONTEXT_OR(ctx, drv_stream_owner(handle));
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_synchronize(stream));
}

CUresult drv_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    API_CALL(cuStreamWaitEvent);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_HANDLE(event, e, event);
    return drv_result(core_event_wait(stream, e, flags != 0));
}

struct callback {
    CUstreamCallback func;
    void *arg;
    CUstream handle;
    struct core_context *ctx;
};

static void stream_callback_run(void *arg)
{
    struct callback *callback = arg;

    assert(callback->func && callback->ctx); /* as cuStreamAddCallback() filled it */
    callback->func(callback->handle, drv_result(core_context_status(callback->ctx)), callback->arg);
    hd_free(callback);
}

CUresult drv_cuStreamAddCallback(CUstream handle, CUstreamCallback func, void *arg, unsigned flags)
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
    /* The stream's context waits for its streams; the current one may be another and go. */
    *callback = (struct callback){func, arg, handle, stream->ctx};
    status = core_stream_call(stream, stream_callback_run, callback, true);
    if (status != HD_OK)
        hd_free(callback);
    return drv_result(status);
}

/* Managed memory is visible to every stream and to the host at all times; attaching only hints. */
CUresult drv_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr ptr, size_t size_B, unsigned flags)
{
    struct core_block block;

    API_CALL(cuStreamAttachMemAsync);
    API_CHECK(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
              flags == CU_MEM_ATTACH_SINGLE);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    if (flags == CU_MEM_ATTACH_SINGLE && stream == ctx->legacy)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "memory cannot be attached to the null stream");
    if (!core_memory_find(ptr, &block) || block.kind != CORE_MEM_MANAGED)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not managed memory", ptr);
    if (block.base != ptr || (size_B && size_B != block.size_B))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "only whole allocations are attached");
    return drv_result(core_capture_check_stream(stream));
}

/* ---- attributes: kept and reported; all are hints, or have one possible value */

_Static_assert(sizeof(CUstreamAttrValue) == CORE_STREAM_ATTRIBUTE_B, "core keeps whole values");

/* The value is one that the device can honour. */
static CUresult stream_attribute_check(const struct core_stream *stream, CUstreamAttrID attr,
                                       const CUstreamAttrValue *value)
{
    const CUaccessPolicyWindow *window = &value->accessPolicyWindow;

    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (window->hitRatio >= 0 && window->hitRatio <= 1)
            return CUDA_SUCCESS;
        break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy >= CU_SYNC_POLICY_AUTO &&
            value->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC)
            return CUDA_SUCCESS;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        if (value->priority == stream->priority)
            return CUDA_SUCCESS;
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "a stream's priority is set when it is created");
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: /* there is one domain: 0 */
        if (!value->memSyncDomainMap.default_ && !value->memSyncDomainMap.remote)
            return CUDA_SUCCESS;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if (value->memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
            value->memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
            return CUDA_SUCCESS;
        break;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%d is no attribute of a stream", (int)attr);
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "stream attribute %d: the value is out of range",
                     (int)attr);
}

CUresult drv_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attr,
                                  const CUstreamAttrValue *value)
{
    CUresult result;

    API_CALL(cuStreamSetAttribute);
    API_CHECK(value);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    result = stream_attribute_check(stream, attr, value);
    assert(result != CUDA_SUCCESS || (unsigned)attr < CORE_STREAM_ATTRIBUTE_MAX);
    return result ? result : drv_result(core_stream_attribute_set(stream, (unsigned)attr, value));
}

CUresult drv_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    API_CALL(cuStreamGetAttribute);
    API_CHECK(value);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        core_stream_attribute_get(stream, (unsigned)attr, value);
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        core_stream_attribute_get(stream, (unsigned)attr, value);
        value->syncPolicy = value->syncPolicy ? value->syncPolicy : CU_SYNC_POLICY_AUTO;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = stream->priority;
        return CUDA_SUCCESS;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%d is no attribute of a stream", (int)attr);
    }
}

CUresult drv_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    API_CALL(cuStreamCopyAttributes);
    API_CONTEXT(ctx);
    API_STREAM(ctx, dst, to);
    /* Looking for the thread's own stream once more drops the one before, if it was destroyed. */
    __attribute__((cleanup(core_stream_unref_at), unused)) struct core_stream *kept =
        core_stream_ref(dst);
    API_STREAM(ctx, src, from);
    return drv_result(core_stream_attributes_copy(dst, src));
}
