/* Arrays whose memory is mapped later: what they need, how they are laid out, mapping parts. */
#include "core/texture/array_map.h"

#include "api/driver/driver.h"
#include "base/mem.h"

/* ---- what an array needs */

static CUresult requirements_get(const char *api_name_, CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
                                 const void *handle, bool mipmapped, CUdevice ordinal)
{
    API_CHECK(out);
    API_DEVICE(device, ordinal);
    (void)device;
    API_ARRAY(array, handle, mipmapped);
    if (array->is_level || !(array->desc.flags & CORE_ARRAY_DEFERRED_MAPPING))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "the array's memory was not to be mapped later");
    *out = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = array->size_B, .alignment = CORE_TILE_B};
    return CUDA_SUCCESS;
}

CUresult drv_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements,
                                          CUarray handle, CUdevice ordinal)
{
    API_CALL(cuArrayGetMemoryRequirements);
    return requirements_get(api_name_, requirements, handle, false, ordinal);
}

CUresult drv_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements,
                                                   CUmipmappedArray handle, CUdevice ordinal)
{
    API_CALL(cuMipmappedArrayGetMemoryRequirements);
    return requirements_get(api_name_, requirements, handle, true, ordinal);
}

static CUresult sparse_get(const char *api_name_, CUDA_ARRAY_SPARSE_PROPERTIES *out,
                           const void *handle, bool mipmapped)
{
    uint64_t tail_B;

    API_CHECK(out);
    API_ARRAY(array, handle, mipmapped);
    if (array->is_level || !(array->desc.flags & CORE_ARRAY_SPARSE))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "the array is not sparse, or only a level");
    tail_B = array->size_B - array->tiles.tail_at_B;
    *out = (CUDA_ARRAY_SPARSE_PROPERTIES){
        .tileExtent = {array->tiles.width, array->tiles.height, 1},
        .miptailFirstLevel = mipmapped ? array->tiles.tail_first : 0,
        .miptailSize = tail_B,
        .flags = tail_B ? CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL : 0};
    return CUDA_SUCCESS;
}

CUresult drv_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray handle)
{
    API_CALL(cuArrayGetSparseProperties);
    return sparse_get(api_name_, properties, handle, false);
}

CUresult drv_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *properties,
                                                 CUmipmappedArray handle)
{
    API_CALL(cuMipmappedArrayGetSparseProperties);
    return sparse_get(api_name_, properties, handle, true);
}

/* ---- mapping */

struct changes {
    struct core_array_change *at; /* with references */
    unsigned n;
};

static void changes_close(struct changes *changes)
{
    for (unsigned i = 0; i < changes->n; i++) {
        core_array_unref(changes->at[i].array);
        core_allocation_unref(changes->at[i].memory);
    }
    hd_free(changes->at);
}

static CUresult part_decode(const CUarrayMapInfo *info, struct core_array_part *out)
{
    const char *const api_name_ = "cuMemMapArrayAsync";
    bool is_tail = info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;

    *out = (struct core_array_part){.is_tail = is_tail};
    if (is_tail) {
        out->layer = info->subresource.miptail.layer;
        out->tail_at_B = info->subresource.miptail.offset;
        out->tail_B = info->subresource.miptail.size;
        return CUDA_SUCCESS;
    }
    API_CHECK(info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL);
    out->level = info->subresource.sparseLevel.level;
    out->layer = info->subresource.sparseLevel.layer;
    out->offset[0] = info->subresource.sparseLevel.offsetX;
    out->offset[1] = info->subresource.sparseLevel.offsetY;
    out->offset[2] = info->subresource.sparseLevel.offsetZ;
    out->extent[0] = info->subresource.sparseLevel.extentWidth;
    out->extent[1] = info->subresource.sparseLevel.extentHeight;
    out->extent[2] = info->subresource.sparseLevel.extentDepth;
    return CUDA_SUCCESS;
}

/* Memory of the device that was made for tiles. */
static CUresult check_pool(const struct core_context *ctx, const struct core_allocation *memory)
{
    const char *const api_name_ = "cuMemMapArrayAsync";
    CUmemAllocationProp prop;

    memcpy(&prop, memory->about, sizeof(prop));
    API_CHECK(!memory->multicast);
    API_CHECK(prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL);
    API_CHECK(memory->device == ctx->device && prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    return CUDA_SUCCESS;
}

/* *out_memory: NULL to unmap; else with a reference. */
static CUresult memory_decode(const struct core_context *ctx, const CUarrayMapInfo *info,
                              struct core_allocation **out_memory)
{
    const char *const api_name_ = "cuMemMapArrayAsync";
    CUmemGenericAllocationHandle handle = info->memHandle.memHandle;

    *out_memory = NULL;
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
        API_CHECK(!handle);
        return CUDA_SUCCESS;
    }
    API_CHECK(info->memOperationType == CU_MEM_OPERATION_TYPE_MAP);
    API_CHECK(info->memHandleType == CU_MEM_HANDLE_TYPE_GENERIC);
    API_HANDLE(allocation, memory, (const void *)(uintptr_t)handle);
    API_TRY(check_pool(ctx, memory));
    *out_memory = core_allocation_ref(memory);
    return CUDA_SUCCESS;
}

static CUresult array_decode(const struct core_context *ctx, const CUarrayMapInfo *info,
                             struct core_array **out_array)
{
    const char *const api_name_ = "cuMemMapArrayAsync";
    bool mipmapped = info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;

    API_CHECK(mipmapped || info->resourceType == CU_RESOURCE_TYPE_ARRAY);
    API_ARRAY(array, mipmapped ? (void *)info->resource.mipmap : (void *)info->resource.array,
              mipmapped);
    API_CHECK(array->ctx->device == ctx->device);
    *out_array = core_array_ref(array);
    return CUDA_SUCCESS;
}

static CUresult change_decode(const struct core_context *ctx, const CUarrayMapInfo *info,
                              struct core_array_change *out)
{
    const char *const api_name_ = "cuMemMapArrayAsync";
    __attribute__((cleanup(core_allocation_unref_at))) struct core_allocation *memory = NULL;
    __attribute__((cleanup(core_array_unref_at))) struct core_array *array = NULL;
    struct core_array_part part = {0};

    API_CHECK(!info->flags && !info->reserved[0] && !info->reserved[1]);
    API_CHECK(info->deviceBitMask == 1u << ctx->device->ordinal);
    API_TRY(array_decode(ctx, info, &array));
    API_TRY(memory_decode(ctx, info, &memory));
    if (!(array->desc.flags & CORE_ARRAY_DEFERRED_MAPPING))
        API_TRY(part_decode(info, &part));
    API_TRY(drv_result(core_array_change_make(array, &part, memory, info->offset, out)));
    array = NULL;
    memory = NULL;
    return CUDA_SUCCESS;
}

/* All are right, or nothing is done. */
CUresult drv_cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned count, CUstream handle)
{
    __attribute__((cleanup(changes_close))) struct changes changes = {0};

    API_CALL(cuMemMapArrayAsync);
    API_CHECK(list && count);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    changes.at = hd_alloc_array(count, sizeof(*changes.at));
    if (!changes.at)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: %u operations", api_name_, count);
    for (; changes.n < count; changes.n++)
        API_TRY(change_decode(ctx, &list[changes.n], &changes.at[changes.n]));
    return drv_result(core_array_changes_submit(stream, changes.at, count));
}
