/* Multicast objects: which devices and what memory they consist of. Mapping is vmm.c's. */
#include "core/mem/multicast.h"

#include "api/driver/driver.h"

/* The object of a handle; that of memory is refused. */
#define API_MULTICAST(a, handle)                                                                   \
    API_HANDLE(allocation, a, (const void *)(uintptr_t)(handle));                                  \
    API_CHECK(a->multicast)

static CUresult prop_check(const CUmulticastObjectProp *prop)
{
    if (prop->flags)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "multicast object: flags 0x%llx", prop->flags);
    if (prop->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "multicast object: handle types 0x%llx",
                         prop->handleTypes);
    return CUDA_SUCCESS;
}

CUresult drv_cuMulticastCreate(CUmemGenericAllocationHandle *handle,
                               const CUmulticastObjectProp *prop)
{
    struct core_multicast_what what;
    struct core_allocation *a;
    enum hd_status status;
    CUresult result;

    API_CALL(cuMulticastCreate);
    API_CHECK(handle && prop);
    result = prop_check(prop);
    if (result != CUDA_SUCCESS)
        return result;
    what = (struct core_multicast_what){
        .devices = prop->numDevices, .size_B = prop->size, .shareable = prop->handleTypes != 0};
    status = core_multicast_create(&what, &a);
    if (status != HD_OK)
        return drv_result(status);
    *handle = (uintptr_t)core_allocation_handle(a);
    core_allocation_unref(a);
    return CUDA_SUCCESS;
}

CUresult drv_cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice dev)
{
    API_CALL(cuMulticastAddDevice);
    API_MULTICAST(a, handle);
    if (!core_device_at(dev))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "cuMulticastAddDevice: device %d", dev);
    return drv_result(core_multicast_add(a, core_device_at(dev)));
}

CUresult drv_cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                                CUmemGenericAllocationHandle memory, size_t memory_offset,
                                size_t size, unsigned long long flags)
{
    API_CALL(cuMulticastBindMem);
    API_CHECK(!flags);
    API_MULTICAST(a, handle);
    API_HANDLE(allocation, bound, (const void *)(uintptr_t)memory);
    return drv_result(core_multicast_bind(a, offset, bound, memory_offset, size));
}

CUresult drv_cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset,
                                 CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    API_CALL(cuMulticastBindAddr);
    API_CHECK(memptr && !flags);
    API_MULTICAST(a, handle);
    return drv_result(core_multicast_bind_address(a, offset, memptr, size));
}

CUresult drv_cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset,
                               size_t size)
{
    API_CALL(cuMulticastUnbind);
    API_MULTICAST(a, handle);
    if (!core_device_at(dev))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "cuMulticastUnbind: device %d", dev);
    return drv_result(core_multicast_unbind(a, core_device_at(dev), offset, size));
}

CUresult drv_cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                       CUmulticastGranularity_flags option)
{
    CUresult result;

    API_CALL(cuMulticastGetGranularity);
    API_CHECK(granularity && prop);
    API_CHECK((unsigned)option <= CU_MULTICAST_GRANULARITY_RECOMMENDED);
    result = prop_check(prop);
    if (result == CUDA_SUCCESS)
        *granularity = CORE_VMM_GRANULE_B;
    return result;
}
