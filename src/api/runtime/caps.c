/* What devices can do together, and what this one cannot do. */
#include "runtime.h"

cudaError_t rt_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                   const enum cudaAtomicOperation *operations,
                                                   unsigned int count, int device)
{
    RT_CALL(cuDeviceGetHostAtomicCapabilities(
        capabilities, (const CUatomicOperation *)(const void *)operations, count, device));
}

cudaError_t rt_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                                  const enum cudaAtomicOperation *operations,
                                                  unsigned int count, int srcDevice, int dstDevice)
{
    RT_CALL(cuDeviceGetP2PAtomicCapabilities(capabilities,
                                             (const CUatomicOperation *)(const void *)operations,
                                             count, srcDevice, dstDevice));
}

cudaError_t rt_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                                  enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    RT_CALL(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target,
                                       (CUflushGPUDirectRDMAWritesScope)scope));
}

cudaError_t rt_cudaCtxResetPersistingL2Cache(void)
{
    RT_CALL(cuCtxResetPersistingL2Cache());
}

cudaError_t rt_cudaDeviceGetNvSciSyncAttributes(void *nvSciSyncAttrList, int device, int flags)
{
    RT_CALL(cuDeviceGetNvSciSyncAttributes(nvSciSyncAttrList, device, flags));
}

/* Of a device: no context is needed. */
cudaError_t rt_cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback func, void *arg,
                                                   cudaAsyncCallbackHandle_t *out)
{
    RT_TRY(rt_init());
    return rt_result(cuDeviceRegisterAsyncNotification(device, (CUasyncCallback)func, arg,
                                                       (CUasyncCallbackHandle *)out));
}

cudaError_t rt_cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t handle)
{
    RT_TRY(rt_init());
    return rt_result(cuDeviceUnregisterAsyncNotification(device, (CUasyncCallbackHandle)handle));
}
