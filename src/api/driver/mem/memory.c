/* Allocation of device, pinned and managed memory; registration; pointer queries. */
#include "api/driver/driver.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/graph/graph_memory.h"
#include "core/mem/ipc.h"

#define PITCH_ALIGN_B 512u

CUresult drv_cuMemGetInfo_v2(size_t *free_B, size_t *total_B)
{
    uint64_t unused, total;

    API_CALL(cuMemGetInfo_v2);
    API_CHECK(free_B || total_B);
    API_CONTEXT(ctx);
    core_memory_info(ctx->device, &unused, &total);
    if (free_B)
        *free_B = unused;
    if (total_B)
        *total_B = total;
    return CUDA_SUCCESS;
}

static CUresult memory_mem_alloc(struct core_context *ctx, size_t size_B, enum core_mem_kind kind,
                                 unsigned flags, CUdeviceptr *out)
{
    uint64_t va;
    enum hd_status status = core_memory_alloc(ctx, size_B, kind, flags, &va);

    assert(out && (status != HD_OK || va % 256 == 0));
    if (status == HD_OK)
        *out = va;
    return drv_result(status);
}

CUresult drv_cuMemAlloc_v2(CUdeviceptr *ptr, size_t size_B)
{
    API_CALL(cuMemAlloc_v2);
    API_CHECK(ptr && size_B);
    API_CONTEXT(ctx);
    return memory_mem_alloc(ctx, size_B, CORE_MEM_DEVICE, 0, ptr);
}

CUresult drv_cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch_B, size_t width_B, size_t height,
                                unsigned elem_B)
{
    size_t pitch;

    API_CALL(cuMemAllocPitch_v2);
    API_CHECK(ptr && pitch_B && width_B && height);
    API_CHECK(elem_B == 4 || elem_B == 8 || elem_B == 16);
    API_CONTEXT(ctx);
    pitch = hd_align_up(width_B, PITCH_ALIGN_B);
    assert(pitch % PITCH_ALIGN_B == 0);
    if (pitch < width_B || height > SIZE_MAX / pitch)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAllocPitch: %zu x %zu bytes", width_B,
                         height);
    *pitch_B = pitch;
    return memory_mem_alloc(ctx, pitch * height, CORE_MEM_DEVICE, 0, ptr);
}

/*
 * Memory may only go once nothing uses it. CUDA waits for the whole device too. After a fault
 * memory is given back all the same, but the call returns the sticky error.
 */
CUresult drv_cuMemFree_v2(CUdeviceptr ptr)
{
    struct core_block block;
    enum hd_status status;

    API_CALL(cuMemFree_v2);
    API_CONTEXT_OR(ctx, core_memory_owner(ptr));
    if (!ptr)
        return CUDA_SUCCESS;
    if (!core_memory_find(ptr, &block) || block.base != ptr)
        return drv_result(core_memory_free(ptr, 0));
    status = core_context_synchronize(ctx);
    if (status == HD_OK) /* a pool's may be of the host */
        status = core_memory_free(ptr, CORE_MEM_DEVICE | CORE_MEM_MANAGED |
                                           (block.pooled ? CORE_MEM_HOST : 0));
    return drv_result(status);
}

CUresult drv_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size_B, CUdeviceptr ptr)
{
    struct core_block block;

    API_CALL(cuMemGetAddressRange_v2);
    API_CONTEXT(ctx);
    if (!core_memory_find(ptr, &block))
        return drv_error(CUDA_ERROR_NOT_FOUND, "0x%llx is in no allocation", ptr);
    assert(ptr >= block.base && ptr - block.base < block.size_B);
    if (base)
        *base = block.base;
    if (size_B)
        *size_B = block.size_B;
    return CUDA_SUCCESS;
}

/* ---- pinned host memory */

CUresult drv_cuMemHostAlloc(void **ptr, size_t size_B, unsigned flags)
{
    CUdeviceptr va = 0;
    CUresult result;

    API_CALL(cuMemHostAlloc);
    API_CHECK(ptr && size_B);
    API_CHECK(!(flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                    CU_MEMHOSTALLOC_WRITECOMBINED)));
    API_CONTEXT(ctx);
    result = memory_mem_alloc(ctx, size_B, CORE_MEM_HOST, flags | CU_MEMHOSTALLOC_DEVICEMAP, &va);
    if (result == CUDA_SUCCESS)
        *ptr = (void *)(uintptr_t)va;
    return result;
}

CUresult drv_cuMemAllocHost_v2(void **ptr, size_t size_B)
{
    return drv_cuMemHostAlloc(ptr, size_B, 0);
}

CUresult drv_cuMemFreeHost(void *ptr)
{
    enum hd_status status;

    API_CALL(cuMemFreeHost);
    API_CHECK(ptr);
    API_CONTEXT_OR(ctx, core_memory_owner((uintptr_t)ptr));
    status = core_context_synchronize(ctx);
    if (status == HD_OK)
        status = core_memory_free((uintptr_t)ptr, CORE_MEM_HOST);
    return drv_result(status);
}

/*
 * Is all of it mapped, and may it be read? msync() with MS_ASYNC does nothing but look for holes; a
 * mapping without rights, as guards of stacks are, shows at the ends.
 */
static bool memory_is_mapped(uintptr_t at, size_t size_B)
{
    uintptr_t page_B = (uintptr_t)sysconf(_SC_PAGESIZE), first = at & ~(page_B - 1);
    char ends[2];
    struct iovec to[2] = {{&ends[0], 1}, {&ends[1], 1}};
    struct iovec from[2] = {{(void *)at, 1}, {(void *)(at + size_B - 1), 1}};

    if (at + size_B < at || msync((void *)first, at + size_B - first, MS_ASYNC))
        return false;
    ssize_t got = process_vm_readv(getpid(), to, 2, from, 2, 0);
    return got == 2 || (got < 0 && (errno == ENOSYS || errno == EPERM));
}

/* What the device allocated is its own, or pinned already. */
static CUresult memory_check_register(uintptr_t at, size_t size_B, unsigned flags)
{
    struct core_block block;

    for (unsigned end = 0; end < 2; end++) {
        if (!core_memory_find(end ? at + size_B - 1 : at, &block))
            continue;
        if (block.kind == CORE_MEM_HOST || block.kind == CORE_MEM_REGISTERED)
            return drv_error(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                             "cuMemHostRegister: memory at 0x%llx is pinned already",
                             (unsigned long long)at);
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "cuMemHostRegister: memory at 0x%llx was allocated by CUDA",
                         (unsigned long long)at);
    }
    if (!(flags & CU_MEMHOSTREGISTER_IOMEMORY) && !memory_is_mapped(at, size_B))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "cuMemHostRegister: not all of the %zu bytes at 0x%llx are memory of the "
                         "program's",
                         size_B, (unsigned long long)at);
    return CUDA_SUCCESS;
}

CUresult drv_cuMemHostRegister_v2(void *ptr, size_t size_B, unsigned flags)
{
    enum hd_status status;

    API_CALL(cuMemHostRegister_v2);
    API_CHECK(ptr && size_B);
    API_CHECK(!(flags & ~(unsigned)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)));
    API_CONTEXT(ctx);
    API_TRY(memory_check_register((uintptr_t)ptr, size_B, flags));
    status = core_memory_register(ctx, (uintptr_t)ptr, size_B, CORE_MEM_REGISTERED, flags);
    return status == HD_BUSY ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : drv_result(status);
}

CUresult drv_cuMemHostUnregister(void *ptr)
{
    enum hd_status status;

    API_CALL(cuMemHostUnregister);
    API_CHECK(ptr);
    API_CONTEXT(ctx);
    status = core_context_synchronize(ctx);
    if (status != HD_OK)
        return drv_result(status);
    status = core_memory_unregister((uintptr_t)ptr);
    return status == HD_NOT_FOUND ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : drv_result(status);
}

/* One address space: the device's address is the host's. */
CUresult drv_cuMemHostGetDevicePointer_v2(CUdeviceptr *dev_ptr, void *ptr, unsigned flags)
{
    struct core_block block;

    API_CALL(cuMemHostGetDevicePointer_v2);
    API_CHECK(dev_ptr && ptr && !flags);
    API_CONTEXT(ctx);
    if (!core_memory_find((uintptr_t)ptr, &block) || block.kind == CORE_MEM_DEVICE)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%p is not pinned host memory", ptr);
    *dev_ptr = (uintptr_t)ptr;
    return CUDA_SUCCESS;
}

CUresult drv_cuMemHostGetFlags(unsigned *flags, void *ptr)
{
    struct core_block block;

    API_CALL(cuMemHostGetFlags);
    API_CHECK(flags && ptr);
    API_CONTEXT(ctx);
    if (!core_memory_find((uintptr_t)ptr, &block) || block.kind != CORE_MEM_HOST)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%p is not pinned host memory", ptr);
    *flags = block.flags;
    return CUDA_SUCCESS;
}

/* ---- managed memory */

CUresult drv_cuMemAllocManaged(CUdeviceptr *ptr, size_t size_B, unsigned flags)
{
    API_CALL(cuMemAllocManaged);
    API_CHECK(ptr && size_B);
    API_CHECK(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    API_CONTEXT(ctx);
    return memory_mem_alloc(ctx, size_B, CORE_MEM_MANAGED, flags, ptr);
}

/* ---- queries */

/* The pool that memory is of, and how its memory can be exported; NULL and no way for others. */
static void memory_pool_attributes(CUdeviceptr ptr, CUmemoryPool *out_pool,
                                   unsigned long long *out_types)
{
    __attribute__((cleanup(core_mempool_unref_at))) struct core_mempool *pool =
        core_mempool_of(ptr);

    *out_pool = core_mempool_handle(pool);
    *out_types = pool && core_mempool_props(pool)->exportable
                     ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                     : CU_MEM_HANDLE_TYPE_NONE;
}

static bool memory_is_managed_by_graph(uint64_t va)
{
    struct core_graph_memory *memory = core_graph_memory_find(va);
    bool is = memory && memory->props.managed;

    if (memory)
        core_graph_memory_unref(memory);
    return is;
}

/* False: the attribute has no value for this kind of memory. */
static bool memory_pointer_attribute(const struct core_block *b, CUpointer_attribute attribute,
                                     CUdeviceptr ptr, void *value)
{
    unsigned long long types;
    CUmemoryPool pool;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)value = core_context_handle(b->ctx);
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = b->kind == CORE_MEM_DEVICE || b->kind == CORE_MEM_MANAGED
                                 ? CU_MEMORYTYPE_DEVICE
                                 : CU_MEMORYTYPE_HOST;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = ptr;
        return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (b->kind == CORE_MEM_DEVICE)
            return false;
        *(void **)value = (void *)(uintptr_t)ptr;
        return true;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)value = b->is_synchronous;
        return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)value = core_ipc_memory_can(b);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned *)value = 0;
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)value = b->id;
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)value = b->kind == CORE_MEM_MANAGED || memory_is_managed_by_graph(b->base);
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = b->device->ordinal;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)value = b->base;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = b->size_B;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)value = 1;
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        memory_pool_attributes(ptr, &pool, value);
        return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        memory_pool_attributes(ptr, value, &types);
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)value = 3; /* read and write */
        return true;
    default:
        return false;
    }
}

CUresult drv_cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct core_block block;

    API_CALL(cuPointerGetAttribute);
    API_CHECK(value);
    API_CHECK(attribute >= 1 && attribute <= 21);
    if (!core_memory_find(ptr, &block))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is in no allocation", ptr);
    if (!memory_pointer_attribute(&block, attribute, ptr, value))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "pointer attribute %d has no value here",
                         (int)attribute);
    return CUDA_SUCCESS;
}

/* Sizes of the attributes' values, for the memory that has none. */
static size_t memory_attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return 4;
    default:
        return 8;
    }
}

CUresult drv_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                    CUdeviceptr ptr)
{
    struct core_block block;
    bool found;

    API_CALL(cuPointerGetAttributes);
    API_CHECK(count && attributes && values);
    found = core_memory_find(ptr, &block);
    for (unsigned i = 0; i < count; i++) {
        API_CHECK(values[i] && attributes[i] >= 1 && attributes[i] <= 21);
        if (found && memory_pointer_attribute(&block, attributes[i], ptr, values[i]))
            continue;
        memset(values[i], 0, memory_attribute_size(attributes[i]));
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)values[i] = -2; /* as documented for unknown pointers */
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && !found)
            *(CUdeviceptr *)values[i] = ptr;
    }
    return CUDA_SUCCESS;
}

CUresult drv_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                   CUdeviceptr ptr)
{
    API_CALL(cuPointerSetAttribute);
    API_CHECK(value);
    API_CONTEXT(ctx);
    API_CHECK(attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
    return drv_result(core_memory_sync_set(ptr, *(const unsigned *)value != 0));
}
