/* Virtual memory management: reserve, create, map, give access. */
#include "core/mem/vmm.h"

#include "api/driver/driver.h"
#include "core/mem/multicast.h"

_Static_assert(sizeof(CUmemAllocationProp) <= CORE_ALLOCATION_ABOUT, "core keeps it");

/* Handles of allocations are 64-bit numbers where other handles are pointers. */
#define API_ALLOCATION(a, handle) API_HANDLE(allocation, a, (const void *)(uintptr_t)(handle))

static CUresult give(struct core_allocation *a, CUmemGenericAllocationHandle *out)
{
    *out = (uintptr_t)core_allocation_handle(a);
    core_allocation_unref(a);
    return CUDA_SUCCESS;
}

/* ---- locations */

static bool is_host(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_HOST ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
           (location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location->id == 0);
}

/* Who it is to core_vmm_access_set(CORE_VMM_PROGRAM, ); false for what is nowhere. */
static bool location_who(const CUmemLocation *location, unsigned *out_who)
{
    if (is_host(location)) {
        *out_who = CORE_VMM_HOST;
        return true;
    }
    *out_who = (unsigned)location->id;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && core_device_at(location->id);
}

/* ---- addresses */

CUresult drv_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                 unsigned long long flags)
{
    enum hd_status status;
    uint64_t va;

    API_CALL(cuMemAddressReserve);
    API_CHECK(ptr && size && !flags);
    (void)addr; /* a hint */
    status = core_vmm_reserve(CORE_VMM_PROGRAM, size, alignment, &va);
    if (status == HD_OK)
        *ptr = va;
    return drv_result(status);
}

CUresult drv_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    API_CALL(cuMemAddressFree);
    return drv_result(core_vmm_free(CORE_VMM_PROGRAM, ptr, size));
}

/* ---- memory */

static CUresult prop_check(const CUmemAllocationProp *prop)
{
    unsigned who;

    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->allocFlags.compressionType > 1)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "allocation properties: type %d, compression %u",
                         (int)prop->type, prop->allocFlags.compressionType);
    if (!location_who(&prop->location, &who))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "allocation properties: location %d of type %d",
                         prop->location.id, (int)prop->location.type);
    if (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "allocation properties: handle types 0x%x",
                         (unsigned)prop->requestedHandleTypes);
    if (prop->allocFlags.usage & ~(unsigned)CU_MEM_CREATE_USAGE_TILE_POOL)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "allocation properties: usage 0x%x",
                         prop->allocFlags.usage);
    return CUDA_SUCCESS;
}

CUresult drv_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
    CUresult result;

    API_CALL(cuMemGetAllocationGranularity);
    API_CHECK(granularity && prop);
    API_CHECK((unsigned)option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    result = prop_check(prop);
    if (result == CUDA_SUCCESS)
        *granularity = CORE_VMM_GRANULE_B;
    return result;
}

static CUresult allocation_create(CUmemGenericAllocationHandle *handle, size_t size, int fd,
                                  const CUmemAllocationProp *prop)
{
    struct core_allocation_what what = {
        .is_host = is_host(&prop->location), .size_B = size, .fd = fd};
    struct core_allocation *a;
    enum hd_status status;

    what.device = core_device_at(what.is_host ? 0 : prop->location.id);
    memcpy(what.about, prop, sizeof(*prop));
    status = core_allocation_create(&what, &a);
    return status == HD_OK ? give(a, handle) : drv_result(status);
}

CUresult drv_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult result;

    API_CALL(cuMemCreate);
    API_CHECK(handle && size && prop && !flags);
    result = prop_check(prop);
    return result == CUDA_SUCCESS ? allocation_create(handle, size, -1, prop) : result;
}

CUresult drv_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    API_CALL(cuMemRelease);
    API_ALLOCATION(a, handle);
    if (!core_allocation_release(a))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuMemRelease: was released before");
    return CUDA_SUCCESS;
}

CUresult drv_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    struct core_allocation *a;
    enum hd_status status;

    API_CALL(cuMemRetainAllocationHandle);
    API_CHECK(handle && addr);
    status = core_allocation_retain((uintptr_t)addr, &a);
    return status == HD_OK ? give(a, handle) : drv_result(status);
}

CUresult drv_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                    CUmemGenericAllocationHandle handle)
{
    API_CALL(cuMemGetAllocationPropertiesFromHandle);
    API_CHECK(prop);
    API_ALLOCATION(a, handle);
    API_CHECK(!a->multicast);
    memcpy(prop, a->about, sizeof(*prop));
    return CUDA_SUCCESS;
}

/* ---- sharing with other processes */

CUresult drv_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    CUmemAllocationProp prop;
    enum hd_status status;
    int fd;

    API_CALL(cuMemExportToShareableHandle);
    API_CHECK(out && !flags);
    API_ALLOCATION(a, handle);
    memcpy(&prop, a->about, sizeof(prop));
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "handle type 0x%x", (unsigned)type);
    if (!a->multicast && !(prop.requestedHandleTypes & type))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "the memory was created without handle types");
    status = a->multicast ? core_multicast_export(a, &fd) : core_allocation_export(a, &fd);
    if (status == HD_OK)
        memcpy(out, &fd, sizeof(fd));
    return drv_result(status);
}

/* A descriptor says nothing of the device: the memory is taken for the current one's. */
CUresult drv_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
                                            CUmemAllocationHandleType type)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    struct core_context *ctx = core_current();
    struct core_allocation *a;
    enum hd_status status;

    API_CALL(cuMemImportFromShareableHandle);
    API_CHECK(handle);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "handle type 0x%x", (unsigned)type);
    API_CHECK((intptr_t)os_handle >= 0);
    status = core_multicast_import((int)(intptr_t)os_handle, &a);
    if (status != HD_NOT_FOUND)
        return status == HD_OK ? give(a, handle) : drv_result(status);
    prop.location.id = ctx ? ctx->device->ordinal : 0;
    return allocation_create(handle, 0, (int)(intptr_t)os_handle, &prop);
}

/* ---- mappings and access */

CUresult drv_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    API_CALL(cuMemMap);
    API_CHECK(ptr && size && !flags);
    API_ALLOCATION(a, handle);
    return drv_result(core_vmm_map(CORE_VMM_PROGRAM, a, ptr, size, offset));
}

CUresult drv_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    API_CALL(cuMemUnmap);
    API_CHECK(ptr && size);
    return drv_result(core_vmm_unmap(CORE_VMM_PROGRAM, ptr, size));
}

/* By enum core_vmm_access. */
static const CUmemAccess_flags access_flags[] = {
    [CORE_VMM_NONE] = CU_MEM_ACCESS_FLAGS_PROT_NONE,
    [CORE_VMM_READ] = CU_MEM_ACCESS_FLAGS_PROT_READ,
    [CORE_VMM_READ_WRITE] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static bool access_of(CUmemAccess_flags flags, enum core_vmm_access *out_access)
{
    for (size_t i = 0; i < HD_COUNT_OF(access_flags); i++) {
        *out_access = (enum core_vmm_access)i;
        if (access_flags[i] == flags)
            return true;
    }
    return false;
}

static CUresult access_set(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, bool apply)
{
    enum core_vmm_access access;
    unsigned who;

    if (!location_who(&desc->location, &who))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "cuMemSetAccess: location %d of type %d",
                         desc->location.id, (int)desc->location.type);
    if (!access_of(desc->flags, &access))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess: flags %d", (int)desc->flags);
    return apply ? drv_result(core_vmm_access_set(CORE_VMM_PROGRAM, ptr, size, who, access))
                 : CUDA_SUCCESS;
}

/* All descriptions are checked before the first one takes effect. */
CUresult drv_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CUresult result = CUDA_SUCCESS;

    API_CALL(cuMemSetAccess);
    API_CHECK(ptr && size && desc && count);
    for (int apply = 0; apply < 2; apply++)
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
            result = access_set(ptr, size, &desc[i], apply);
    return result;
}

CUresult drv_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                            CUdeviceptr ptr)
{
    enum core_vmm_access access;
    enum hd_status status;
    unsigned who;

    API_CALL(cuMemGetAccess);
    API_CHECK(flags && location && ptr);
    if (!location_who(location, &who))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "cuMemGetAccess: location %d of type %d",
                         location->id, (int)location->type);
    status = core_vmm_access_get(ptr, who, &access);
    if (status == HD_OK)
        *flags = access_flags[access];
    return drv_result(status);
}
