/* Memory pools and stream-ordered allocation. */
#include "api/driver/driver.h"

#include <assert.h>
#include <unistd.h>

/* ---- places and properties */

static CUresult mempool_props_decode(const CUmemLocation *location, CUmemAllocationType type,
                                     struct core_mempool_props *out_props)
{
    *out_props = (struct core_mempool_props){.location = CORE_LOCATION_HOST};
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "memory pool: allocation type %d", (int)type);
    out_props->managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (!core_device_at(location->id))
            return drv_error(CUDA_ERROR_INVALID_DEVICE, "memory pool: there is no device %d",
                             location->id);
        out_props->location = CORE_LOCATION_DEVICE;
        out_props->location_id = location->id;
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_NONE: /* managed memory may be anywhere */
        if (out_props->managed)
            return CUDA_SUCCESS;
        break;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        if (location->id)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "memory pool: there is no NUMA node %d",
                             location->id);
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "memory pool: location type %d",
                     (int)location->type);
}

static bool mempool_is_zero(const unsigned char *bytes, size_t n)
{
    while (n && !bytes[n - 1])
        n--;
    return !n;
}

CUresult drv_mempool_props(const CUmemPoolProps *p, struct core_mempool_props *out_props)
{
    CUresult result = mempool_props_decode(&p->location, p->allocType, out_props);

    if (result != CUDA_SUCCESS)
        return result;
    if (p->usage || !mempool_is_zero(p->reserved, sizeof(p->reserved)))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "memory pool: usage or reserved bytes are set");
    if (p->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "memory pool: handle types 0x%x",
                         (unsigned)p->handleTypes);
    out_props->exportable = p->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
    if (out_props->exportable && out_props->managed)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "pools of managed memory are not exported");
    out_props->max_B = p->maxSize;
    return CUDA_SUCCESS;
}

CUresult drv_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    struct core_mempool_props decoded;
    struct core_mempool *pool;
    CUresult result;

    API_CALL(cuMemPoolCreate);
    API_CHECK(out && props);
    result = drv_mempool_props(props, &decoded);
    if (result == CUDA_SUCCESS)
        result = drv_result(core_mempool_create(&decoded, &pool));
    if (result == CUDA_SUCCESS)
        DRV_GIVE(mempool, out, pool);
    return result;
}

CUresult drv_cuMemPoolDestroy(CUmemoryPool handle)
{
    API_CALL(cuMemPoolDestroy);
    API_CHECK(handle);
    API_HANDLE(mempool, pool, handle);
    API_CHECK(!core_mempool_is_default(pool));
    API_CHECK(core_mempool_destroy(pool));
    return CUDA_SUCCESS;
}

CUresult drv_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_B)
{
    API_CALL(cuMemPoolTrimTo);
    API_HANDLE(mempool, pool, handle);
    core_mempool_trim(pool, keep_B);
    return CUDA_SUCCESS;
}

/* ---- the pools of places */

static CUresult mempool_pool_at(const struct core_mempool_props *props, bool current,
                                CUmemoryPool *out)
{
    struct core_mempool *pool;
    enum hd_status status = core_mempool_at(props, current, &pool);

    if (status == HD_OK)
        DRV_GIVE(mempool, out, pool);
    return drv_result(status);
}

static CUresult mempool_pool_at_location(const CUmemLocation *location, CUmemAllocationType type,
                                         bool current, CUmemoryPool *out)
{
    struct core_mempool_props props;
    CUresult result = mempool_props_decode(location, type, &props);

    return result ? result : mempool_pool_at(&props, current, out);
}

static struct core_mempool_props mempool_device_props(CUdevice dev)
{
    return (struct core_mempool_props){.location = CORE_LOCATION_DEVICE, .location_id = dev};
}

/* symbol, the current pool or the default one */
#define POOL_GETTER(symbol, current)                                                               \
    CUresult drv_cuDevice##symbol(CUmemoryPool *out, CUdevice dev)                                 \
    {                                                                                              \
        struct core_mempool_props props = mempool_device_props(dev);                               \
                                                                                                   \
        API_CALL(cuDevice##symbol);                                                                \
        API_CHECK(out);                                                                            \
        API_DEVICE(device, dev);                                                                   \
        (void)device;                                                                              \
        return mempool_pool_at(&props, current, out);                                              \
    }                                                                                              \
    CUresult drv_cuMem##symbol(CUmemoryPool *out, CUmemLocation *location,                         \
                               CUmemAllocationType type)                                           \
    {                                                                                              \
        API_CALL(cuMem##symbol);                                                                   \
        API_CHECK(out &&location);                                                                 \
        return mempool_pool_at_location(location, type, current, out);                             \
    }

POOL_GETTER(GetDefaultMemPool, false)
POOL_GETTER(GetMemPool, true)

CUresult drv_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
    struct core_mempool_props props = mempool_device_props(dev);

    API_CALL(cuDeviceSetMemPool);
    API_DEVICE(device, dev);
    (void)device;
    API_HANDLE(mempool, pool, handle);
    return drv_result(core_mempool_current_set(&props, pool));
}

CUresult drv_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
    struct core_mempool_props props;
    CUresult result;

    API_CALL(cuMemSetMemPool);
    API_CHECK(location);
    API_HANDLE(mempool, pool, handle);
    result = mempool_props_decode(location, type, &props);
    return result ? result : drv_result(core_mempool_current_set(&props, pool));
}

/* ---- allocation */

/* No bytes: no address, which may be freed. Unlike cuMemAlloc, the driver takes it. */
static CUresult mempool_alloc_from(struct core_mempool *pool, struct core_stream *stream,
                                   size_t size_B, CUdeviceptr *out)
{
    uint64_t va = 0;
    enum hd_status status = size_B ? core_mempool_alloc(pool, stream, size_B, &va) : HD_OK;

    if (status == HD_OK)
        *out = va;
    return drv_result(status);
}

CUresult drv_cuMemAllocAsync(CUdeviceptr *out, size_t size_B, CUstream handle)
{
    __attribute__((cleanup(core_mempool_unref_at))) struct core_mempool *pool = NULL;
    struct core_mempool_props props;
    enum hd_status status;

    API_CALL(cuMemAllocAsync);
    API_CHECK(out);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    props = mempool_device_props(stream->ctx->device->ordinal);
    status = core_mempool_at(&props, true, &pool);
    return status == HD_OK ? mempool_alloc_from(pool, stream, size_B, out) : drv_result(status);
}

CUresult drv_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size_B, CUmemoryPool pool_handle,
                                     CUstream handle)
{
    API_CALL(cuMemAllocFromPoolAsync);
    API_CHECK(out);
    API_CONTEXT_OR(ctx, drv_stream_owner(handle));
    API_HANDLE(mempool, pool, pool_handle);
    API_STREAM(ctx, stream, handle);
    return mempool_alloc_from(pool, stream, size_B, out);
}

CUresult drv_cuMemFreeAsync(CUdeviceptr ptr, CUstream handle)
{
    API_CALL(cuMemFreeAsync);
    API_CONTEXT_OR(ctx, drv_stream_owner(handle));
    API_STREAM(ctx, stream, handle);
    return ptr ? drv_result(core_mempool_free(stream, ptr)) : CUDA_SUCCESS;
}

/* ---- attributes */

enum shape { FLAG, SIZE, COUNT, MARK }; /* int; bytes that can be set; that cannot; that reset */

struct row {
    enum shape shape;
    unsigned index; /* of the policy or the statistic */
};

static const struct row *mempool_row_of(CUmemPool_attribute attr)
{
    static const struct row rows[] = {
        [CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = {FLAG, CORE_POLICY_FOLLOW_EVENTS},
        [CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = {FLAG, CORE_POLICY_OPPORTUNISTIC},
        [CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = {FLAG, CORE_POLICY_INTERNAL_WAIT},
        [CU_MEMPOOL_ATTR_RELEASE_THRESHOLD] = {SIZE, CORE_POLICY_THRESHOLD},
        [CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] = {COUNT, CORE_STAT_RESERVED},
        [CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH] = {MARK, CORE_STAT_RESERVED_HIGH},
        [CU_MEMPOOL_ATTR_USED_MEM_CURRENT] = {COUNT, CORE_STAT_USED},
        [CU_MEMPOOL_ATTR_USED_MEM_HIGH] = {MARK, CORE_STAT_USED_HIGH},
    };

    return (unsigned)attr - 1 < HD_COUNT_OF(rows) - 1 ? &rows[attr] : NULL;
}

CUresult drv_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
    const struct row *row = mempool_row_of(attr);

    API_CALL(cuMemPoolGetAttribute);
    API_CHECK(value);
    API_HANDLE(mempool, pool, handle);
    API_CHECK(row);
    if (row->shape == FLAG)
        *(int *)value = (int)core_mempool_policy(pool, (enum core_policy)row->index);
    else if (row->shape == SIZE)
        *(cuuint64_t *)value = core_mempool_policy(pool, (enum core_policy)row->index);
    else
        *(cuuint64_t *)value = core_mempool_stat(pool, (enum core_mempool_stat)row->index);
    return CUDA_SUCCESS;
}

CUresult drv_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
    const struct row *row = mempool_row_of(attr);

    API_CALL(cuMemPoolSetAttribute);
    API_CHECK(value);
    API_HANDLE(mempool, pool, handle);
    API_CHECK(row && row->shape != COUNT);
    if (row->shape == FLAG) {
        core_mempool_policy_set(pool, (enum core_policy)row->index, *(int *)value != 0);
    } else if (row->shape == SIZE) {
        core_mempool_policy_set(pool, (enum core_policy)row->index, *(cuuint64_t *)value);
    } else {
        API_CHECK(*(cuuint64_t *)value == 0);
        core_mempool_stat_reset(pool, (enum core_mempool_stat)row->index);
    }
    return CUDA_SUCCESS;
}

/* ---- access of devices */

static CUresult mempool_access_check(const struct core_mempool *pool, const CUmemAccessDesc *desc)
{
    const struct core_mempool_props *props = core_mempool_props(pool);
    bool own = props->location != CORE_LOCATION_DEVICE || props->location_id == desc->location.id;

    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "access is set for devices");
    if (!core_device_at(desc->location.id))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", desc->location.id);
    if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "access flags %d", (int)desc->flags);
    if (own && desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "the pool's own device always has access");
    return CUDA_SUCCESS;
}

CUresult drv_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    API_CALL(cuMemPoolSetAccess);
    API_CHECK(map || !count);
    API_HANDLE(mempool, pool, handle);
    for (size_t i = 0; i < count; i++) {
        CUresult result = mempool_access_check(pool, &map[i]);

        if (result != CUDA_SUCCESS)
            return result;
    }
    for (size_t i = 0; i < count; i++)
        core_mempool_access_set(pool, core_device_at(map[i].location.id), (unsigned)map[i].flags);
    return CUDA_SUCCESS;
}

CUresult drv_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
                                CUmemLocation *location)
{
    API_CALL(cuMemPoolGetAccess);
    API_CHECK(flags && location);
    API_HANDLE(mempool, pool, handle);
    API_CHECK(location->type == CU_MEM_LOCATION_TYPE_DEVICE);
    API_DEVICE(device, location->id);
    *flags = (CUmemAccess_flags)core_mempool_access(pool, device);
    return CUDA_SUCCESS;
}

/* ---- other processes */

CUresult drv_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags)
{
    enum hd_status status;
    int fd;

    API_CALL(cuMemPoolExportToShareableHandle);
    API_CHECK(out && !flags);
    API_CHECK(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    API_HANDLE(mempool, pool, handle);
    status = core_mempool_export(pool, &fd);
    if (status == HD_OK)
        *(int *)out = fd;
    return status == HD_NOT_SUPPORTED ? CUDA_ERROR_INVALID_VALUE : drv_result(status);
}

/* A descriptor is passed by its value in the pointer. */
CUresult drv_cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
                                                CUmemAllocationHandleType type,
                                                unsigned long long flags)
{
    struct core_context *ctx = core_current();
    struct core_mempool *pool;
    enum hd_status status;

    API_CALL(cuMemPoolImportFromShareableHandle);
    API_CHECK(out && !flags);
    API_CHECK(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    status =
        core_mempool_import(ctx ? ctx->device : core_device_at(0), (int)(intptr_t)handle, &pool);
    if (status == HD_OK)
        DRV_GIVE(mempool, out, pool);
    return drv_result(status);
}

_Static_assert(sizeof(struct core_mempool_pointer) <= sizeof(CUmemPoolPtrExportData),
               "an exported pointer fits what the API gives it");

CUresult drv_cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr ptr)
{
    struct core_mempool_pointer pointer;
    enum hd_status status;

    API_CALL(cuMemPoolExportPointer);
    API_CHECK(out);
    status = core_mempool_pointer_export(ptr, &pointer);
    if (status != HD_OK)
        return drv_result(status);
    memset(out, 0, sizeof(*out));
    memcpy(out, &pointer, sizeof(pointer));
    return CUDA_SUCCESS;
}

/* Whose the memory is: of the caller's context, or, without one, of the device's first. */
static CUresult mempool_importing_context(struct core_mempool *pool, struct core_context **out_ctx)
{
    struct core_context *ctx = core_current();
    const struct core_mempool_props *props = core_mempool_props(pool);
    bool on_device = props->location == CORE_LOCATION_DEVICE;
    struct core_device *device = core_device_at(on_device ? props->location_id : 0);
    enum hd_status status = HD_OK;

    if (ctx && core_context_is_live(ctx))
        ctx = core_context_ref(ctx);
    else
        status = core_primary_retain(device, &ctx); /* and it stays: memory of it is there */
    *out_ctx = ctx;
    return drv_result(status);
}

CUresult drv_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle,
                                    CUmemPoolPtrExportData *exported)
{
    struct core_mempool_pointer pointer;
    enum hd_status status;
    uint64_t va;

    API_CALL(cuMemPoolImportPointer);
    API_CHECK(out && exported);
    API_HANDLE(mempool, pool, handle);
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    API_TRY(mempool_importing_context(pool, &ctx));
    memcpy(&pointer, exported, sizeof(pointer));
    status = core_mempool_pointer_import(ctx, pool, &pointer, &va);
    if (status == HD_OK)
        *out = va;
    return drv_result(status);
}
