/*
 * Calls that can only be refused: what they ask for cannot be on this device, and the attributes of
 * the device say so. Their arguments are checked as far as the documentation has errors for them.
 */
#include "api/driver/driver.h"

#define REFUSE(what) return drv_error(CUDA_ERROR_NOT_SUPPORTED, "%s: " what, api_name_)

/* ---- devices */

CUresult drv_cuDeviceGetNvSciSyncAttributes(void *list, CUdevice dev, int flags)
{
    API_CALL(cuDeviceGetNvSciSyncAttributes);
    API_DEVICE(device, dev);
    API_CHECK(device && list && (flags == 1 || flags == 2)); /* signal, wait */
    REFUSE("NvSciSync objects");
}

/*
 * They tell of one thing: that the budget of the process for device memory has shrunk below what it
 * has. The budget is HEDDLE_MEMORY here, and nobody changes it.
 */
CUresult drv_cuDeviceRegisterAsyncNotification(CUdevice dev, CUasyncCallback func, void *arg,
                                               CUasyncCallbackHandle *out)
{
    API_CALL(cuDeviceRegisterAsyncNotification);
    API_DEVICE(device, dev);
    API_CHECK(device && func && out);
    (void)arg;
    REFUSE("nobody else takes memory from this device");
}

CUresult drv_cuDeviceUnregisterAsyncNotification(CUdevice dev, CUasyncCallbackHandle handle)
{
    API_CALL(cuDeviceUnregisterAsyncNotification);
    API_DEVICE(device, dev);
    (void)device, (void)handle;
    return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: none is registered", api_name_);
}

CUresult drv_cuCtxResetPersistingL2Cache(void)
{
    API_CALL(cuCtxResetPersistingL2Cache);
    API_CONTEXT(ctx);
    (void)ctx;
    REFUSE("the device has no cache lines that persist (MAX_PERSISTING_L2_CACHE_SIZE is 0)");
}

CUresult drv_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                        CUflushGPUDirectRDMAWritesScope scope)
{
    API_CALL(cuFlushGPUDirectRDMAWrites);
    API_CHECK(target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
    API_CHECK(scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
              scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
    API_CONTEXT(ctx);
    (void)ctx;
    REFUSE("the device has no remote writes (GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS is 0)");
}

CUresult drv_cuLibraryGetUnifiedFunction(void **func, CUlibrary handle, const char *symbol)
{
    API_CALL(cuLibraryGetUnifiedFunction);
    API_CHECK(func && symbol);
    API_HANDLE(library, library, handle);
    (void)library;
    return drv_error(CUDA_ERROR_NOT_FOUND,
                     "%s: functions have no addresses that the host can call "
                     "(UNIFIED_FUNCTION_POINTERS is 0)",
                     api_name_);
}

CUresult drv_cuMemBatchDecompressAsync(CUmemDecompressParams *params, size_t count, unsigned flags,
                                       size_t *error_idx, CUstream handle)
{
    API_CALL(cuMemBatchDecompressAsync);
    API_CHECK(params && count && !flags && error_idx);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    (void)stream;
    REFUSE("the device has no decompression (MEM_DECOMPRESS_ALGORITHM_MASK is 0)");
}

CUresult drv_cuMemGetHandleForAddressRange(void *out, CUdeviceptr ptr, size_t size_B,
                                           CUmemRangeHandleType type, unsigned long long flags)
{
    API_CALL(cuMemGetHandleForAddressRange);
    API_CHECK(out && ptr && size_B);
    API_CHECK(type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD && !(flags & ~1ull));
    API_CONTEXT(ctx);
    (void)ctx;
    REFUSE("memory of the host has no DMA buffers (DMA_BUF_SUPPORTED is 0)");
}
