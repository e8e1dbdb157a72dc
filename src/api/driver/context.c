/* Contexts. */
#include "api/driver/driver.h"

#include <assert.h>

CUresult drv_no_context(struct core_context *ctx)
{
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
    return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
}

bool drv_context_flags_ok(unsigned flags)
{
    unsigned wait = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && !(wait & (wait - 1));
}

static CUresult context_create(CUcontext *out, unsigned flags, CUdevice dev, unsigned version)
{
    struct core_context *ctx;
    CUresult result;

    API_CALL(cuCtxCreate);
    API_CHECK(out);
    API_CHECK(drv_context_flags_ok(flags));
    API_DEVICE(device, dev);
    result = drv_result(core_context_create(device, flags, &ctx));
    if (result != CUDA_SUCCESS)
        return result;
    assert(ctx->device == device && !ctx->primary);
    ctx->api_version = version;
    result = drv_result(core_current_push(ctx));
    if (result != CUDA_SUCCESS)
        core_context_destroy(ctx);
    else
        *out = core_context_handle(ctx);
    core_context_unref(ctx);
    return result;
}

CUresult drv_cuCtxCreate(CUcontext *ctx, unsigned flags, CUdevice dev)
{
    return context_create(ctx, flags, dev, 3010);
}

CUresult drv_cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice dev)
{
    return context_create(ctx, flags, dev, 3020);
}

CUresult drv_cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int count, unsigned flags,
                            CUdevice dev)
{
    if (params && count)
        return drv_error(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity");
    return context_create(ctx, flags, dev, 3020);
}

/* Parameters ask for execution affinity or graphics interoperation. */
CUresult drv_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned flags, CUdevice dev)
{
    static const char none[64];

    if (params && memcmp(params, none, 24))
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "cuCtxCreate_v4: creation parameters");
    return context_create(ctx, flags, dev, 3020);
}

CUresult drv_cuCtxDestroy_v2(CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;

    API_CALL(cuCtxDestroy_v2);
    ctx = core_context_lookup(handle);
    if (!ctx || ctx->primary || !core_context_destroy(ctx))
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxDestroy: not a created context");
    if (core_current() == ctx)
        core_context_unref(core_current_pop());
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxDestroy(CUcontext ctx)
{
    return drv_cuCtxDestroy_v2(ctx);
}

CUresult drv_cuCtxAttach(CUcontext *out, unsigned flags)
{
    API_CALL(cuCtxAttach);
    API_CHECK(out && flags == 0);
    API_CONTEXT(ctx);
    if (ctx->primary)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxAttach: not a created context");
    atomic_fetch_add(&ctx->attached, 1);
    *out = core_context_handle(ctx);
    return CUDA_SUCCESS;
}

/* Takes one from a count that is not 0. */
static bool context_detach_one(struct core_context *ctx)
{
    unsigned attached = atomic_load(&ctx->attached);

    while (attached && !atomic_compare_exchange_weak(&ctx->attached, &attached, attached - 1))
        ;
    return attached != 0;
}

CUresult drv_cuCtxDetach(CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;

    API_CALL(cuCtxDetach);
    ctx = core_context_lookup(handle);
    return ctx && context_detach_one(ctx) ? CUDA_SUCCESS : drv_cuCtxDestroy_v2(handle);
}

CUresult drv_cuCtxPushCurrent_v2(CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuCtxPushCurrent_v2);
    ctx = core_context_find(handle, &green);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent: not a context");
    return drv_result(core_current_push_green(ctx, green));
}

CUresult drv_cuCtxPushCurrent(CUcontext ctx)
{
    return drv_cuCtxPushCurrent_v2(ctx);
}

/* What the program made current; NULL: nothing. */
static CUcontext context_current_handle(void)
{
    struct core_green *green = core_current_green();

    return green ? core_green_context_handle(green) : core_context_handle(core_current());
}

CUresult drv_cuCtxPopCurrent_v2(CUcontext *ctx)
{
    struct core_context *popped;
    CUcontext handle = context_current_handle();

    API_CALL(cuCtxPopCurrent_v2);
    popped = core_current_pop();
    if (!popped)
        return drv_no_context(NULL);
    if (ctx)
        *ctx = handle;
    core_context_unref(popped);
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxPopCurrent(CUcontext *ctx)
{
    return drv_cuCtxPopCurrent_v2(ctx);
}

CUresult drv_cuCtxSetCurrent(CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuCtxSetCurrent);
    ctx = core_context_find(handle, &green);
    if (handle && !ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent: not a context");
    return drv_result(core_current_set_green(ctx, green));
}

CUresult drv_cuCtxGetCurrent(CUcontext *ctx)
{
    API_CALL(cuCtxGetCurrent);
    API_CHECK(ctx);
    *ctx = context_current_handle();
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetDevice(CUdevice *dev)
{
    struct core_context *ctx = core_current();

    API_CALL(cuCtxGetDevice);
    API_CHECK(dev);
    /* A primary context's device is known when nobody retains it: cuda-api-wrappers asks so. */
    if (!ctx || (!ctx->primary && !core_context_is_live(ctx)))
        return drv_no_context(ctx);
    *dev = ctx->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetDevice_v2(CUdevice *dev, CUcontext handle)
{
    if (!handle)
        return drv_cuCtxGetDevice(dev);
    API_CALL(cuCtxGetDevice_v2);
    API_CHECK(dev);
    API_ANY_CONTEXT(ctx, handle);
    *dev = ctx->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetFlags(unsigned *flags)
{
    API_CALL(cuCtxGetFlags);
    API_CHECK(flags);
    API_CONTEXT_ANY(ctx);
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxSetFlags(unsigned flags)
{
    API_CALL(cuCtxSetFlags);
    API_CHECK(drv_context_flags_ok(flags));
    API_CONTEXT_ANY(ctx);
    ctx->flags = flags;
    return CUDA_SUCCESS;
}

/* The context of a handle, or the current one for null, with a reference; NULL: there is none. */
static struct core_context *context_of(CUcontext handle)
{
    struct core_context *ctx = core_current();

    if (handle)
        return core_context_find(handle, NULL);
    return ctx && core_context_is_live(ctx) ? core_context_ref(ctx) : NULL;
}

static CUresult no_context_of(CUcontext handle)
{
    if (handle)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%p is not a live context", (void *)handle);
    return drv_no_context(core_current());
}

CUresult drv_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;

    API_CALL(cuCtxGetId);
    API_CHECK(id);
    ctx = context_of(handle);
    if (!ctx)
        return no_context_of(handle);
    *id = ctx->id;
    return CUDA_SUCCESS;
}

/* A green context waits for its own streams. */
static CUresult context_synchronize(struct core_context *ctx, struct core_green *green)
{
    if (core_capture_any() && core_capture_refuse_context(ctx) != HD_OK)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return drv_result(green ? core_green_synchronize(green) : core_context_synchronize(ctx));
}

CUresult drv_cuCtxSynchronize(void)
{
    API_CALL(cuCtxSynchronize);
    API_CONTEXT(ctx);
    return context_synchronize(ctx, core_current_green());
}

CUresult drv_cuCtxSynchronize_v2(CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    if (!handle)
        return drv_cuCtxSynchronize();
    API_CALL(cuCtxSynchronize_v2);
    ctx = core_context_find(handle, &green);
    if (!ctx)
        return no_context_of(handle);
    return context_synchronize(ctx, green);
}

/* ---- limits and preferences */

static bool context_limit_kind(CUlimit limit, enum core_limit *out)
{
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        *out = CORE_LIMIT_STACK_B;
        return true;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        *out = CORE_LIMIT_PRINTF_B;
        return true;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        *out = CORE_LIMIT_HEAP_B;
        return true;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
        *out = CORE_LIMIT_PENDING_LAUNCHES;
        return true;
    default:
        return false;
    }
}

CUresult drv_cuCtxSetLimit(CUlimit limit, size_t value)
{
    enum core_limit kind;

    API_CALL(cuCtxSetLimit);
    API_CONTEXT(ctx);
    if (!context_limit_kind(limit, &kind))
        return drv_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "cuCtxSetLimit: limit %d", (int)limit);
    return drv_result(core_context_limit_set(ctx, kind, value));
}

CUresult drv_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    enum core_limit kind;

    API_CALL(cuCtxGetLimit);
    API_CHECK(value);
    API_CONTEXT(ctx);
    if (!context_limit_kind(limit, &kind))
        return drv_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "cuCtxGetLimit: limit %d", (int)limit);
    *value = core_context_limit(ctx, kind);
    return CUDA_SUCCESS;
}

/* Preferences between cache and shared memory: kept and reported, without effect by definition. */
CUresult drv_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    API_CALL(cuCtxGetCacheConfig);
    API_CHECK(config);
    API_CONTEXT_ANY(ctx);
    *config = (CUfunc_cache)ctx->cache_config;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxSetCacheConfig(CUfunc_cache config)
{
    API_CALL(cuCtxSetCacheConfig);
    API_CHECK((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
    API_CONTEXT_ANY(ctx);
    ctx->cache_config = (int)config;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    API_CALL(cuCtxGetSharedMemConfig);
    API_CHECK(config);
    API_CONTEXT_ANY(ctx);
    *config = ctx->smem_config ? (CUsharedconfig)ctx->smem_config
                               : CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    API_CALL(cuCtxSetSharedMemConfig);
    API_CHECK((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    API_CONTEXT_ANY(ctx);
    ctx->smem_config = (int)config;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;

    API_CALL(cuCtxGetApiVersion);
    API_CHECK(version);
    ctx = context_of(handle);
    if (!ctx)
        return no_context_of(handle);
    *version = ctx->api_version;
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    API_CALL(cuCtxGetStreamPriorityRange);
    API_CONTEXT_ANY(ctx);
    assert(ctx->device->priority_greatest <= 0); /* lower is more urgent */
    if (least)
        *least = 0;
    if (greatest)
        *greatest = ctx->device->priority_greatest;
    return CUDA_SUCCESS;
}

static CUresult context_peer_result(enum hd_status status)
{
    switch (status) {
    case HD_BAD_ARG:
        return CUDA_ERROR_INVALID_DEVICE;
    case HD_BUSY:
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    case HD_NOT_FOUND:
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    default:
        return drv_result(status);
    }
}

CUresult drv_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    API_CALL(cuCtxEnablePeerAccess);
    API_CHECK(flags == 0);
    API_CONTEXT(ctx);
    API_ANY_CONTEXT(peer_ctx, peer);
    return context_peer_result(core_peer_enable(ctx, peer_ctx));
}

CUresult drv_cuCtxDisablePeerAccess(CUcontext peer)
{
    API_CALL(cuCtxDisablePeerAccess);
    API_CONTEXT(ctx);
    API_ANY_CONTEXT(peer_ctx, peer);
    return context_peer_result(core_peer_disable(ctx, peer_ctx));
}
