/* Managed memory: advice, prefetching, discarding; ranges and batches. */
#include "api/driver/driver.h"

#include <assert.h>
#include <sys/mman.h>

/* ---- ranges and locations */

/* Managed memory, or the program's own where devices can reach it. */
static CUresult range_check(const struct core_context *ctx, CUdeviceptr ptr, size_t size_B)
{
    enum core_mem_kind kind = CORE_MEM_DEVICE;
    int pageable = 0;
    enum hd_status status;

    if (!size_B)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "range of 0 bytes");
    status = core_memory_classify(ptr, size_B, false, &kind);
    if (status != HD_OK)
        return drv_result(status);
    (void)!core_device_attribute(ctx->device, CORE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, &pageable);
    if (kind == CORE_MEM_MANAGED || (kind == CORE_MEM_PAGEABLE && pageable))
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_INVALID_VALUE, "0x%llx is not managed memory", ptr);
}

/* What the first versions of the calls give instead of a location. */
static CUmemLocation location_of(CUdevice dev)
{
    return dev == CU_DEVICE_CPU ? (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}
                                : (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev};
}

static CUresult location_check(const CUmemLocation *location)
{
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (core_device_at(location->id))
            return CUDA_SUCCESS;
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", location->id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        if (location->id >= 0)
            return CUDA_SUCCESS;
        break;
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "location type %d, id %d", (int)location->type,
                     location->id);
}

_Static_assert((int)CORE_ADVICE_DEVICE == (int)CU_MEM_LOCATION_TYPE_DEVICE, "types are cast");

static CUresult advice_set(CUdeviceptr ptr, size_t size_B, enum core_advise what, bool set,
                           const CUmemLocation *location)
{
    const struct core_advice_change change = {
        .what = what, .set = set, .type = (int)location->type, .id = location->id};

    return drv_result(core_advice_set(ptr, size_B, &change));
}

/* ---- advice */

static const struct advice_row {
    enum core_advise what;
    bool set, takes_location;
} advice_rows[] = {
    [CU_MEM_ADVISE_SET_READ_MOSTLY] = {CORE_ADVISE_READ_MOSTLY, true, false},
    [CU_MEM_ADVISE_UNSET_READ_MOSTLY] = {CORE_ADVISE_READ_MOSTLY, false, false},
    [CU_MEM_ADVISE_SET_PREFERRED_LOCATION] = {CORE_ADVISE_PREFERRED, true, true},
    [CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION] = {CORE_ADVISE_PREFERRED, false, false},
    [CU_MEM_ADVISE_SET_ACCESSED_BY] = {CORE_ADVISE_ACCESSED_BY, true, true},
    [CU_MEM_ADVISE_UNSET_ACCESSED_BY] = {CORE_ADVISE_ACCESSED_BY, false, true},
};

CUresult drv_cuMemAdvise_v2(CUdeviceptr ptr, size_t size_B, CUmem_advise advice,
                            CUmemLocation location)
{
    const struct advice_row *row = &advice_rows[(unsigned)advice % HD_COUNT_OF(advice_rows)];
    CUresult result;

    API_CALL(cuMemAdvise);
    API_CHECK(advice >= 1 && (unsigned)advice < HD_COUNT_OF(advice_rows));
    API_CONTEXT(ctx);
    if (!row->takes_location)
        location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0};
    result = range_check(ctx, ptr, size_B);
    if (result == CUDA_SUCCESS)
        result = location_check(&location);
    return result ? result : advice_set(ptr, size_B, row->what, row->set, &location);
}

CUresult drv_cuMemAdvise(CUdeviceptr ptr, size_t size_B, CUmem_advise advice, CUdevice dev)
{
    return drv_cuMemAdvise_v2(ptr, size_B, advice, location_of(dev));
}

/* ---- prefetching: what is in memory is where everybody reaches it */

static CUresult prefetch(const struct core_context *ctx, CUdeviceptr ptr, size_t size_B,
                         const CUmemLocation *location)
{
    CUresult result = range_check(ctx, ptr, size_B);

    if (result == CUDA_SUCCESS)
        result = location_check(location);
    return result ? result : advice_set(ptr, size_B, CORE_ADVISE_PREFETCHED, true, location);
}

CUresult drv_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t size_B, CUmemLocation location,
                                   unsigned flags, CUstream handle)
{
    API_CALL(cuMemPrefetchAsync);
    API_CHECK(!flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_TRY(drv_result(core_capture_check_stream(stream)));
    return prefetch(ctx, ptr, size_B, &location);
}

CUresult drv_cuMemPrefetchAsync(CUdeviceptr ptr, size_t size_B, CUdevice dev, CUstream stream)
{
    return drv_cuMemPrefetchAsync_v2(ptr, size_B, location_of(dev), 0, stream);
}

struct batch {
    const CUdeviceptr *ptrs;
    const size_t *sizes;
    size_t count;
    const CUmemLocation *locations;
    const size_t *first; /* of the ranges that a location is for; ascending from 0 */
    size_t nlocations;
};

static CUresult batch_check(const struct core_context *ctx, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        CUresult result = range_check(ctx, b->ptrs[i], b->sizes[i]);

        if (result != CUDA_SUCCESS)
            return result;
    }
    for (size_t i = 0; i < b->nlocations; i++) {
        CUresult result = location_check(&b->locations[i]);

        if (result != CUDA_SUCCESS)
            return result;
        if (b->first[i] >= b->count || (i ? b->first[i] <= b->first[i - 1] : b->first[i] != 0))
            return drv_error(CUDA_ERROR_INVALID_VALUE, "indices of locations do not ascend from 0");
    }
    return CUDA_SUCCESS;
}

static CUresult batch_prefetch(const struct core_context *ctx, const struct batch *b)
{
    CUresult result = batch_check(ctx, b);
    size_t at = 0;

    for (size_t i = 0; i < b->count && result == CUDA_SUCCESS; i++) {
        while (at + 1 < b->nlocations && b->first[at + 1] <= i)
            at++;
        result = prefetch(ctx, b->ptrs[i], b->sizes[i], &b->locations[at]);
    }
    return result;
}

/* Contents that nobody wants any more need not be thrown away. */
#define PREFETCH_BATCH(symbol)                                                                     \
    CUresult drv_##symbol(CUdeviceptr *ptrs, size_t *sizes, size_t count,                          \
                          CUmemLocation *locations, size_t *first, size_t nlocations,              \
                          unsigned long long flags, CUstream handle)                               \
    {                                                                                              \
        struct batch b = {ptrs, sizes, count, locations, first, nlocations};                       \
                                                                                                   \
        API_CALL(symbol);                                                                          \
        API_CHECK(ptrs &&sizes &&count && !flags);                                                 \
        API_CHECK(locations &&first &&nlocations &&nlocations <= count);                           \
        API_CONTEXT(ctx);                                                                          \
        API_STREAM(ctx, stream, handle);                                                           \
        API_TRY(drv_result(core_capture_check_stream(stream)));                                    \
        return batch_prefetch(ctx, &b);                                                            \
    }

PREFETCH_BATCH(cuMemPrefetchBatchAsync)
PREFETCH_BATCH(cuMemDiscardAndPrefetchBatchAsync)

CUresult drv_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count,
                                    unsigned long long flags, CUstream handle)
{
    struct batch b = {.ptrs = ptrs, .sizes = sizes, .count = count};

    API_CALL(cuMemDiscardBatchAsync);
    API_CHECK(ptrs && sizes && count && !flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_TRY(drv_result(core_capture_check_stream(stream)));
    return batch_check(ctx, &b);
}

/* ---- attributes of ranges */

/* As the attributes without a type tell a location. */
static int processor_of(int type, int id)
{
    if (type == CU_MEM_LOCATION_TYPE_INVALID)
        return CU_DEVICE_INVALID;
    return type == CU_MEM_LOCATION_TYPE_DEVICE ? id : CU_DEVICE_CPU;
}

/* The processors that were told, as far as they fit, the host last; the rest is none. */
static void accessed_by(const struct core_advice *advice, int *out, size_t count)
{
    size_t n = 0;

    for (int i = 0; i < CORE_DEVICES_MAX && n < count; i++)
        if (advice->accessed_by >> i & 1)
            out[n++] = i;
    if (advice->host_accesses && n < count)
        out[n++] = CU_DEVICE_CPU;
    while (n < count)
        out[n++] = CU_DEVICE_INVALID;
}

static CUresult range_attribute(const struct core_advice *a, CUmem_range_attribute attribute,
                                void *out, size_t size_B)
{
    int value;

    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        if (!size_B || size_B % sizeof(int))
            break;
        accessed_by(a, out, size_B / sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        value = a->read_mostly;
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        value = processor_of(a->preferred_type, a->preferred_id);
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        value = processor_of(a->prefetch_type, a->prefetch_id);
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        value = a->preferred_type;
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        value = a->preferred_id;
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        value = a->prefetch_type;
        goto one;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        value = a->prefetch_id;
    one:
        if (size_B != sizeof(int))
            break;
        *(int *)out = value;
        return CUDA_SUCCESS;
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "range attribute %d of %zu bytes", (int)attribute,
                     size_B);
}

CUresult drv_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
                                     size_t count, CUdeviceptr ptr, size_t size_B)
{
    struct core_advice advice;
    CUresult result;

    API_CALL(cuMemRangeGetAttributes);
    API_CHECK(data && sizes && attributes && count);
    API_CONTEXT(ctx);
    result = range_check(ctx, ptr, size_B);
    if (result != CUDA_SUCCESS)
        return result;
    core_advice_get(ptr, size_B, &advice);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        API_CHECK(data[i]);
        result = range_attribute(&advice, attributes[i], data[i], sizes[i]);
    }
    return result;
}

CUresult drv_cuMemRangeGetAttribute(void *data, size_t data_B, CUmem_range_attribute attribute,
                                    CUdeviceptr ptr, size_t size_B)
{
    return drv_cuMemRangeGetAttributes(&data, &data_B, &attribute, 1, ptr, size_B);
}
