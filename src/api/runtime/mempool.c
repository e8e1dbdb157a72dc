/* Memory pools. The runtime's structures and numbers are the driver's. */
#include "runtime.h"

#include <stddef.h>

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps) &&
                   offsetof(struct cudaMemPoolProps, maxSize) == offsetof(CUmemPoolProps, maxSize),
               "same layout");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "same layout");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
               "same layout");

cudaError_t rt_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                       cudaStream_t stream)
{
    CUdeviceptr va = 0;
    RT_TRY(rt_enter());
    if (!ptr)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuMemAllocFromPoolAsync(&va, size, memPool, stream)));
    *ptr = (void *)(uintptr_t)va;
    return cudaSuccess;
}

cudaError_t rt_cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    RT_CALL(cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps));
}

cudaError_t rt_cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    RT_CALL(cuMemPoolDestroy(memPool));
}

cudaError_t rt_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    RT_CALL(cuMemPoolTrimTo(memPool, minBytesToKeep));
}

cudaError_t rt_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                       void *value)
{
    RT_CALL(cuMemPoolGetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t rt_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                       void *value)
{
    RT_CALL(cuMemPoolSetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t rt_cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
                                    size_t count)
{
    RT_CALL(cuMemPoolSetAccess(memPool, (const CUmemAccessDesc *)descList, count));
}

cudaError_t rt_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                    struct cudaMemLocation *location)
{
    RT_CALL(cuMemPoolGetAccess((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location));
}

cudaError_t rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    RT_CALL(cuDeviceGetDefaultMemPool(memPool, device));
}

cudaError_t rt_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    RT_CALL(cuDeviceGetMemPool(memPool, device));
}

cudaError_t rt_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    RT_CALL(cuDeviceSetMemPool(device, memPool));
}

cudaError_t rt_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                        enum cudaMemAllocationType type)
{
    RT_CALL(cuMemGetDefaultMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t rt_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                 enum cudaMemAllocationType type)
{
    RT_CALL(cuMemGetMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t rt_cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                                 cudaMemPool_t memPool)
{
    RT_CALL(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, memPool));
}

cudaError_t rt_cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                                  enum cudaMemAllocationHandleType handleType,
                                                  unsigned int flags)
{
    RT_CALL(cuMemPoolExportToShareableHandle(shareableHandle, memPool,
                                             (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t rt_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                                    enum cudaMemAllocationHandleType handleType,
                                                    unsigned int flags)
{
    RT_CALL(cuMemPoolImportFromShareableHandle(memPool, shareableHandle,
                                               (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t rt_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
    RT_CALL(cuMemPoolExportPointer((CUmemPoolPtrExportData *)exportData, rt_va(ptr)));
}

cudaError_t rt_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                        struct cudaMemPoolPtrExportData *exportData)
{
    CUdeviceptr va = 0;
    RT_TRY(rt_enter());
    if (!ptr)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuMemPoolImportPointer(&va, memPool, (CUmemPoolPtrExportData *)exportData)));
    *ptr = (void *)(uintptr_t)va;
    return cudaSuccess;
}
