/* Contexts. */
#include "api/driver/driver.h"

CUresult drv_no_context(struct core_context *ctx)
{
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
    return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
}

static CUresult context_create(CUcontext *out, unsigned flags, CUdevice dev, unsigned version)
{
    struct core_context *ctx;
    CUresult result;

    API_CALL(cuCtxCreate);
    API_CHECK(out);
    API_CHECK(!(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
    API_DEVICE(dev);
    result = drv_result(core_context_create(core_device_get(), flags, &ctx));
    if (result != CUDA_SUCCESS)
        return result;
    ctx->api_version = version;
    result = drv_result(core_current_push(ctx));
    if (result != CUDA_SUCCESS) {
        core_context_destroy(ctx);
        return result;
    }
    *out = (CUcontext)ctx;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxCreate(CUcontext *ctx, unsigned flags, CUdevice dev)
{
    return context_create(ctx, flags, dev, 3010);
}

HD_EXPORT CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice dev)
{
    return context_create(ctx, flags, dev, 3020);
}

HD_EXPORT CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int count,
                                  unsigned flags, CUdevice dev)
{
    if (params && count)
        return drv_error(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity");
    return context_create(ctx, flags, dev, 3020);
}

/* Parameters ask for execution affinity or graphics interoperation. */
HD_EXPORT CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned flags,
                                  CUdevice dev)
{
    static const char none[64];

    if (params && memcmp(params, none, 24))
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "cuCtxCreate_v4: creation parameters");
    return context_create(ctx, flags, dev, 3020);
}

HD_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle)
{
    struct core_context *ctx = (struct core_context *)handle;

    API_CALL(cuCtxDestroy_v2);
    if (!core_handle_is(CORE_CONTEXT, ctx) || ctx->primary)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxDestroy: not a created context");
    if (core_current() == ctx)
        core_current_pop();
    core_context_destroy(ctx);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxDestroy(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

/* Usage counts of contexts are gone from CUDA; only 0 flags and the current context make sense. */
HD_EXPORT CUresult cuCtxAttach(CUcontext *ctx, unsigned flags)
{
    (void)flags;
    API_CALL(cuCtxAttach);
    API_CHECK(ctx);
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "cuCtxAttach");
}

HD_EXPORT CUresult cuCtxDetach(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

HD_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    API_CALL(cuCtxPushCurrent_v2);
    if (!core_handle_is(CORE_CONTEXT, ctx))
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent: not a context");
    return drv_result(core_current_push((struct core_context *)ctx));
}

HD_EXPORT CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return cuCtxPushCurrent_v2(ctx);
}

HD_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
    struct core_context *popped;

    API_CALL(cuCtxPopCurrent_v2);
    popped = core_current_pop();
    if (!popped)
        return drv_no_context(NULL);
    if (ctx)
        *ctx = (CUcontext)popped;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxPopCurrent(CUcontext *ctx)
{
    return cuCtxPopCurrent_v2(ctx);
}

HD_EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
    API_CALL(cuCtxSetCurrent);
    if (ctx && !core_handle_is(CORE_CONTEXT, ctx))
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent: not a context");
    core_current_set((struct core_context *)ctx);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx)
{
    API_CALL(cuCtxGetCurrent);
    API_CHECK(ctx);
    *ctx = (CUcontext)core_current();
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetDevice(CUdevice *dev)
{
    API_CALL(cuCtxGetDevice);
    API_CHECK(dev);
    API_CONTEXT_ANY(ctx);
    *dev = 0;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext handle)
{
    if (!handle)
        return cuCtxGetDevice(dev);
    API_CALL(cuCtxGetDevice_v2);
    API_CHECK(dev);
    API_HANDLE(CONTEXT, handle);
    *dev = 0;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetFlags(unsigned *flags)
{
    API_CALL(cuCtxGetFlags);
    API_CHECK(flags);
    API_CONTEXT_ANY(ctx);
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxSetFlags(unsigned flags)
{
    API_CALL(cuCtxSetFlags);
    API_CHECK(!(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
    API_CONTEXT_ANY(ctx);
    ctx->flags = flags;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct core_context *ctx = handle ? (struct core_context *)handle : core_current();

    API_CALL(cuCtxGetId);
    API_CHECK(id);
    if (!core_handle_is(CORE_CONTEXT, ctx))
        return drv_no_context(ctx);
    *id = ctx->id;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxSynchronize(void)
{
    API_CALL(cuCtxSynchronize);
    API_CONTEXT(ctx);
    return drv_result(core_context_synchronize(ctx));
}

HD_EXPORT CUresult cuCtxSynchronize_v2(CUcontext handle)
{
    if (!handle)
        return cuCtxSynchronize();
    API_CALL(cuCtxSynchronize_v2);
    API_HANDLE(CONTEXT, handle);
    return drv_result(core_context_synchronize((struct core_context *)handle));
}

/* ---- limits and preferences */

static bool limit_kind(CUlimit limit, enum hal_limit *out)
{
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
        *out = HAL_LIMIT_STACK_B;
        return true;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        *out = HAL_LIMIT_PRINTF_B;
        return true;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        *out = HAL_LIMIT_HEAP_B;
        return true;
    default:
        return false;
    }
}

HD_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct hal_device *hal;
    enum hal_limit kind;

    API_CALL(cuCtxSetLimit);
    API_CONTEXT(ctx);
    hal = ctx->device->hal;
    if (!limit_kind(limit, &kind))
        return drv_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "cuCtxSetLimit: limit %d", (int)limit);
    return drv_result(hal->ops->limit_set(hal, kind, value));
}

HD_EXPORT CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct hal_device *hal;
    enum hal_limit kind;

    API_CALL(cuCtxGetLimit);
    API_CHECK(value);
    API_CONTEXT(ctx);
    hal = ctx->device->hal;
    if (!limit_kind(limit, &kind))
        return drv_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "cuCtxGetLimit: limit %d", (int)limit);
    *value = hal->ops->limit_get(hal, kind);
    return CUDA_SUCCESS;
}

/* Preferences between cache and shared memory: kept and reported, without effect by definition. */
HD_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    API_CALL(cuCtxGetCacheConfig);
    API_CHECK(config);
    API_CONTEXT_ANY(ctx);
    *config = (CUfunc_cache)ctx->cache_config;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    API_CALL(cuCtxSetCacheConfig);
    API_CHECK((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
    API_CONTEXT_ANY(ctx);
    ctx->cache_config = (int)config;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    API_CALL(cuCtxGetSharedMemConfig);
    API_CHECK(config);
    API_CONTEXT_ANY(ctx);
    *config = ctx->smem_config ? (CUsharedconfig)ctx->smem_config
                               : CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    API_CALL(cuCtxSetSharedMemConfig);
    API_CHECK((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    API_CONTEXT_ANY(ctx);
    ctx->smem_config = (int)config;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    struct core_context *ctx = handle ? (struct core_context *)handle : core_current();

    API_CALL(cuCtxGetApiVersion);
    API_CHECK(version);
    if (!core_handle_is(CORE_CONTEXT, ctx))
        return drv_no_context(ctx);
    *version = ctx->api_version;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    API_CALL(cuCtxGetStreamPriorityRange);
    API_CONTEXT_ANY(ctx);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    API_CALL(cuCtxEnablePeerAccess);
    API_CHECK(flags == 0);
    API_CONTEXT(ctx);
    API_HANDLE(CONTEXT, peer);
    return drv_error(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "there is one device");
}

HD_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    API_CALL(cuCtxDisablePeerAccess);
    API_CONTEXT(ctx);
    API_HANDLE(CONTEXT, peer);
    return drv_error(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "there is one device");
}
