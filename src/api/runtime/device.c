/* Devices: count, current device, attributes, limits, reset, peers, versions, profiler control. */
#include "runtime.h"

cudaError_t rt_cudaGetDeviceCount(int *count)
{
    if (!count)
        return rt_fail(cudaErrorInvalidValue);
    *count = 0;
    RT_TRY(rt_init());
    heddle_devices_asked();
    *count = rt.device_count;
    return cudaSuccess;
}

static cudaError_t check_device(int device)
{
    RT_TRY(rt_init());
    return device >= 0 && device < rt.device_count ? cudaSuccess : rt_fail(cudaErrorInvalidDevice);
}

/* Since 12.0 this also initialises the device. */
cudaError_t rt_cudaSetDevice(int device)
{
    CUcontext ctx;
    RT_TRY(check_device(device));
    RT_TRY(rt_primary(device, &ctx));
    RT_TRY(rt_result(cuCtxSetCurrent(ctx)));
    rt_thread.has_device = true;
    rt_thread.device = device;
    return cudaSuccess;
}

cudaError_t rt_cudaGetDevice(int *device)
{
    CUcontext ctx;
    RT_TRY(rt_init());
    if (!device)
        return rt_fail(cudaErrorInvalidValue);
    *device = rt_device();
    if (cuCtxGetCurrent(&ctx) == CUDA_SUCCESS && ctx)
        return rt_result(cuCtxGetDevice(device));
    return cudaSuccess;
}

/* All devices work, so the first of the list is that of threads that choose none. */
cudaError_t rt_cudaSetValidDevices(int *devices, int count)
{
    RT_TRY(rt_init());
    if (count < 0 || count > rt.device_count || (count && !devices))
        return rt_fail(cudaErrorInvalidValue);
    for (int i = 0; i < count; i++)
        RT_TRY(check_device(devices[i]));
    atomic_store(&rt.first_device, count ? devices[0] : 0);
    return cudaSuccess;
}

cudaError_t rt_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext ctx;
    RT_TRY(check_device(device));
    if (flags & cudaInitDeviceFlagsAreValid)
        RT_TRY(rt_result(cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags)));
    return rt_primary(device, &ctx);
}

cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    RT_TRY(rt_init());
    if (!device || !prop)
        return rt_fail(cudaErrorInvalidValue);
    *device = 0;
    for (int i = 0; i < rt.device_count; i++) {
        struct cudaDeviceProp have;
        RT_TRY(rt_cudaGetDeviceProperties(&have, i));
        if (have.major < prop->major || (have.major == prop->major && have.minor < prop->minor) ||
            have.totalGlobalMem < prop->totalGlobalMem)
            continue;
        *device = i;
        break;
    }
    return cudaSuccess;
}

cudaError_t rt_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    RT_TRY(check_device(device));
    return rt_result(cuDeviceGetAttribute(value, (CUdevice_attribute)(int)attr, device));
}

cudaError_t rt_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    RT_TRY(check_device(device));
    return rt_result(cuDeviceGetPCIBusId(pciBusId, len, device));
}

cudaError_t rt_cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    RT_TRY(rt_init());
    return rt_result(cuDeviceGetByPCIBusId(device, pciBusId));
}

cudaError_t rt_cudaDeviceSynchronize(void)
{
    RT_CALL(cuCtxSynchronize());
}

/* Destroys what is in the primary context and clears its fault; the thread's last error with it. */
cudaError_t rt_cudaDeviceReset(void)
{
    int device;
    CUcontext ctx;
    RT_TRY(rt_cudaGetDevice(&device));
    ctx = atomic_load(&rt.primary[device]);
    if (ctx) {
        rt_bindings_drop(ctx);
        RT_TRY(rt_result(cuDevicePrimaryCtxReset_v2(device)));
    }
    rt_thread.last_error = cudaSuccess;
    return cudaSuccess;
}

cudaError_t rt_cudaSetDeviceFlags(unsigned int flags)
{
    RT_TRY(rt_init());
    if (flags & ~(unsigned)cudaDeviceMask)
        return rt_fail(cudaErrorInvalidValue);
    /* cudaDeviceMapHost always holds and is no context flag of the driver's primary contexts. */
    return rt_result(
        cuDevicePrimaryCtxSetFlags_v2(rt_device(), flags & ~(unsigned)cudaDeviceMapHost));
}

cudaError_t rt_cudaGetDeviceFlags(unsigned int *flags)
{
    int active, device;
    RT_TRY(rt_cudaGetDevice(&device));
    if (!flags)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuDevicePrimaryCtxGetState(device, flags, &active)));
    *flags |= cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t rt_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    RT_CALL(cuCtxGetLimit(pValue, (CUlimit)limit));
}

cudaError_t rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    RT_CALL(cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t rt_cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    RT_CALL(cuCtxGetCacheConfig((CUfunc_cache *)pCacheConfig));
}

cudaError_t rt_cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    RT_CALL(cuCtxSetCacheConfig((CUfunc_cache)cacheConfig));
}

cudaError_t rt_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    RT_CALL(cuCtxGetSharedMemConfig((CUsharedconfig *)pConfig));
}

cudaError_t rt_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    RT_CALL(cuCtxSetSharedMemConfig((CUsharedconfig)config));
}

cudaError_t rt_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    RT_CALL(cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

cudaError_t rt_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    RT_TRY(check_device(device));
    RT_TRY(check_device(peerDevice));
    return rt_result(cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

cudaError_t rt_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
                                         int dstDevice)
{
    RT_TRY(check_device(srcDevice));
    RT_TRY(check_device(dstDevice));
    return rt_result(
        cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)(int)attr, srcDevice, dstDevice));
}

cudaError_t rt_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    CUcontext peer;
    RT_TRY(rt_primary(peerDevice, &peer));
    RT_CALL(cuCtxEnablePeerAccess(peer, flags));
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int peerDevice)
{
    CUcontext peer;
    RT_TRY(rt_primary(peerDevice, &peer));
    RT_CALL(cuCtxDisablePeerAccess(peer));
}

/* Needs no device: programs call it to see whether there is a driver. */
cudaError_t rt_cudaDriverGetVersion(int *driverVersion)
{
    return rt_result(cuDriverGetVersion(driverVersion));
}

cudaError_t rt_cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion)
        return rt_fail(cudaErrorInvalidValue);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **out_func, int version,
                               unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *out_status)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    RT_TRY(rt_init());
    CUresult result = cuGetProcAddress_v2(symbol, out_func, version, flags, &status);
    if (out_status)
        *out_status = (enum cudaDriverEntryPointQueryResult)status;
    /* With a status to fill, a name that is not found is an answer and not an error. */
    if (out_status && result == CUDA_ERROR_NOT_FOUND)
        return cudaSuccess;
    return rt_result(result);
}

/* Without flags: the functions for the kind of default stream that the program is compiled with. */
static unsigned long long default_flags(unsigned long long flags, CUstream null_stream)
{
    return !flags && null_stream ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t rt_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                       enum cudaDriverEntryPointQueryResult *driverStatus,
                                       CUstream null_stream)
{
    return entry_point(symbol, funcPtr, CUDART_VERSION, default_flags(flags, null_stream),
                       driverStatus);
}

cudaError_t rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                                unsigned int cudaVersion, unsigned long long flags,
                                                enum cudaDriverEntryPointQueryResult *driverStatus,
                                                CUstream null_stream)
{
    return entry_point(symbol, funcPtr, (int)cudaVersion, default_flags(flags, null_stream),
                       driverStatus);
}

cudaError_t rt_cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
    return rt_result(cuGetExportTable(ppExportTable, pExportTableId));
}

cudaError_t rt_cudaProfilerStart(void)
{
    RT_CALL(cuProfilerStart());
}

cudaError_t rt_cudaProfilerStop(void)
{
    RT_CALL(cuProfilerStop());
}

struct cudaChannelFormatDesc rt_cudaCreateChannelDesc(int x, int y, int z, int w,
                                                      enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}
