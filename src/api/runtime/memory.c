/* Allocation, registration of host memory, what a pointer points to, managed memory. */
#include "runtime.h"

#include <string.h>

cudaError_t rt_cudaMalloc(void **devPtr, size_t size)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    if (!devPtr)
        return rt_fail(cudaErrorInvalidValue);
    if (size)
        RT_TRY(rt_result(cuMemAlloc_v2(&ptr, size)));
    *devPtr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaFree(void *devPtr)
{
    RT_TRY(rt_enter());
    return rt_result(cuMemFree_v2(rt_va(devPtr))); /* also of NULL: captures forbid cudaFree(0) */
}

cudaError_t rt_cudaMallocHost(void **ptr, size_t size)
{
    return rt_cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t rt_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    RT_TRY(rt_enter());
    if (!pHost)
        return rt_fail(cudaErrorInvalidValue);
    *pHost = NULL;
    return size ? rt_result(cuMemHostAlloc(pHost, size, flags)) : cudaSuccess;
}

cudaError_t rt_cudaFreeHost(void *ptr)
{
    RT_TRY(rt_enter());
    return ptr ? rt_result(cuMemFreeHost(ptr)) : cudaSuccess;
}

cudaError_t rt_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    if (!devPtr)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuMemAllocManaged(&ptr, size, flags)));
    *devPtr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    if (!devPtr || !pitch)
        return rt_fail(cudaErrorInvalidValue);
    *devPtr = NULL;
    *pitch = 0;
    if (!width || !height)
        return cudaSuccess;
    RT_TRY(rt_result(cuMemAllocPitch_v2(&ptr, pitch, width, height, 4)));
    *devPtr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    size_t rows;
    if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return rt_fail(cudaErrorInvalidValue);
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return rt_cudaMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, rows);
}

cudaError_t rt_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    if (!devPtr)
        return rt_fail(cudaErrorInvalidValue);
    if (size)
        RT_TRY(rt_result(cuMemAllocAsync(&ptr, size, hStream)));
    *devPtr = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    RT_CALL(cuMemFreeAsync(rt_va(devPtr), hStream));
}

cudaError_t rt_cudaMemGetInfo(size_t *free, size_t *total)
{
    size_t unused[2];
    RT_CALL(cuMemGetInfo_v2(free ? free : &unused[0], total ? total : &unused[1]));
}

cudaError_t rt_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    CUdeviceptr ptr = 0;
    RT_TRY(rt_enter());
    if (!pDevice)
        return rt_fail(cudaErrorInvalidValue);
    *pDevice = NULL;
    RT_TRY(rt_result(cuMemHostGetDevicePointer_v2(&ptr, pHost, flags)));
    *pDevice = (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

cudaError_t rt_cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    RT_CALL(cuMemHostGetFlags(pFlags, pHost));
}

cudaError_t rt_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    RT_CALL(cuMemHostRegister_v2(ptr, size, flags));
}

cudaError_t rt_cudaHostUnregister(void *ptr)
{
    RT_CALL(cuMemHostUnregister(ptr));
}

static cudaError_t pointer_attribute(void *value, CUpointer_attribute attribute, const void *ptr)
{
    return rt_from_driver(cuPointerGetAttribute(value, attribute, rt_va(ptr)));
}

static enum cudaMemoryType memory_type(unsigned driver_type, unsigned managed)
{
    if (managed)
        return cudaMemoryTypeManaged;
    return driver_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

/* Memory that the driver does not know is no error: the runtime calls it unregistered. */
cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    unsigned type = 0, managed = 0;
    CUdeviceptr device_ptr = 0;
    void *host_ptr = NULL;
    RT_TRY(rt_enter());
    if (!attributes)
        return rt_fail(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof(*attributes));
    attributes->device = cudaInvalidDeviceId;
    if (pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr)) {
        attributes->hostPointer = (void *)(uintptr_t)ptr;
        return cudaSuccess;
    }
    (void)pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ptr);
    attributes->type = memory_type(type, managed);
    (void)pointer_attribute(&attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr);
    if (!pointer_attribute(&device_ptr, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ptr))
        attributes->devicePointer = (void *)(uintptr_t)device_ptr;
    if (attributes->type != cudaMemoryTypeDevice &&
        !pointer_attribute(&host_ptr, CU_POINTER_ATTRIBUTE_HOST_POINTER, ptr))
        attributes->hostPointer = host_ptr;
    return cudaSuccess;
}

/* A device, or the host (cudaCpuDeviceId). */
cudaError_t rt_check_place(int device)
{
    RT_TRY(rt_init());
    return device >= cudaCpuDeviceId && device < rt.device_count ? cudaSuccess
                                                                 : rt_fail(cudaErrorInvalidDevice);
}

static cudaError_t check_location(struct cudaMemLocation location)
{
    return location.type == cudaMemLocationTypeDevice ? rt_check_place(location.id) : cudaSuccess;
}

static CUmemLocation driver_location(struct cudaMemLocation location)
{
    return (CUmemLocation){(int)location.type, location.id};
}

cudaError_t rt_cudaMemPrefetchAsync(const void *devPtr, size_t count,
                                    struct cudaMemLocation location, unsigned int flags,
                                    cudaStream_t stream)
{
    RT_TRY(check_location(location));
    RT_CALL(cuMemPrefetchAsync_v2(rt_va(devPtr), count, driver_location(location), flags, stream));
}

cudaError_t rt_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location)
{
    RT_TRY(check_location(location));
    RT_CALL(cuMemAdvise_v2(rt_va(devPtr), count, (int)advice, driver_location(location)));
}
