/* Managed memory: what was advised and prefetched is reported by ranges; batches; refusals. */
#include "driver_fixture.h"

#define PAGE 4096u
#define SIZE (16 * PAGE)

static CUdeviceptr managed, device;
static const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_DEVICE, 9};

static int attribute(CUmem_range_attribute which, CUdeviceptr p, size_t size_B)
{
    int value = -77;

    success(cuMemRangeGetAttribute(&value, sizeof(value), which, p, size_B), "attribute %d",
            (int)which);
    return value;
}

#define eq_attribute(which, p, size_B, want, what)                                                 \
    eq_u64((unsigned)attribute(CU_MEM_RANGE_ATTRIBUTE_##which, p, size_B), (unsigned)(want), what)

static void test_advice(void)
{
    eq_attribute(READ_MOSTLY, managed, SIZE, 0, "not advised");
    eq_attribute(PREFERRED_LOCATION, managed, SIZE, CU_DEVICE_INVALID, "nowhere preferred");
    success(cuMemAdvise_v2(managed + 4 * PAGE, 4 * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, nowhere),
            "a location is not looked at");
    eq_attribute(READ_MOSTLY, managed + 4 * PAGE, 4 * PAGE, 1, "the range");
    eq_attribute(READ_MOSTLY, managed + 5 * PAGE, 1, 1, "a part");
    eq_attribute(READ_MOSTLY, managed + 3 * PAGE, 2 * PAGE, 0, "a page in front");
    eq_attribute(READ_MOSTLY, managed + 7 * PAGE, PAGE + 1, 0, "a byte behind");
    success(cuMemAdvise(managed + 5 * PAGE, PAGE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, CU_DEVICE_CPU),
            "unset in the middle");
    eq_attribute(READ_MOSTLY, managed + 4 * PAGE, 4 * PAGE, 0, "a hole");
    eq_attribute(READ_MOSTLY, managed + 6 * PAGE, 2 * PAGE, 1, "behind it");
    success(cuMemAdvise(managed, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), "everything");
    eq_attribute(READ_MOSTLY, managed, SIZE, 1, "everything");
}

static void test_locations(void)
{
    int both[3];

    success(cuMemAdvise_v2(managed, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here), "prefer");
    eq_attribute(PREFERRED_LOCATION, managed, SIZE, 0, "the device");
    eq_attribute(PREFERRED_LOCATION_TYPE, managed, SIZE, CU_MEM_LOCATION_TYPE_DEVICE, "a device");
    eq_attribute(PREFERRED_LOCATION_ID, managed, SIZE, 0, "its number");
    success(cuMemAdvise(managed, PAGE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU),
            "one page elsewhere");
    eq_attribute(PREFERRED_LOCATION, managed, PAGE, CU_DEVICE_CPU, "the host");
    eq_attribute(PREFERRED_LOCATION, managed, SIZE, CU_DEVICE_INVALID, "not all the same");
    eq_attribute(PREFERRED_LOCATION_TYPE, managed, SIZE, CU_MEM_LOCATION_TYPE_INVALID, "neither");
    success(cuMemAdvise_v2(managed, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, here), "accessed by");
    success(cuMemAdvise_v2(managed, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, host), "and by");
    success(cuMemRangeGetAttribute(both, sizeof(both), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed,
                                   SIZE),
            "who accesses it");
    ok(both[0] == 0 && both[1] == CU_DEVICE_CPU && both[2] == CU_DEVICE_INVALID, "both");
    success(cuMemAdvise_v2(managed, PAGE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, host), "not one page");
    success(cuMemRangeGetAttribute(both, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, SIZE),
            "who accesses all of it");
    eq_u64((unsigned)both[0], 0, "the device");
    eq_attribute(LAST_PREFETCH_LOCATION, managed, SIZE, CU_DEVICE_INVALID, "never");
    success(cuMemPrefetchAsync(managed, SIZE, 0, NULL), "prefetch");
    eq_attribute(LAST_PREFETCH_LOCATION, managed, SIZE, 0, "the device");
    success(cuMemPrefetchAsync_v2(managed, SIZE, host, 0, NULL), "prefetch to the host");
    eq_attribute(LAST_PREFETCH_LOCATION, managed, SIZE, CU_DEVICE_CPU, "the host");
    eq_attribute(LAST_PREFETCH_LOCATION_TYPE, managed, SIZE, CU_MEM_LOCATION_TYPE_HOST, "the host");
}

static void test_batch(void)
{
    CUdeviceptr ptrs[3] = {managed, managed + 4 * PAGE, managed + 8 * PAGE};
    size_t sizes[3] = {PAGE, PAGE, PAGE}, first[2] = {0, 2};
    CUmemLocation locations[2] = {here, host};

    success(cuMemPrefetchBatchAsync(ptrs, sizes, 3, locations, first, 2, 0, NULL), "prefetch");
    eq_attribute(LAST_PREFETCH_LOCATION, ptrs[1], PAGE, 0, "the device");
    eq_attribute(LAST_PREFETCH_LOCATION, ptrs[2], PAGE, CU_DEVICE_CPU, "the host");
    success(cuMemDiscardBatchAsync(ptrs, sizes, 3, 0, NULL), "discard");
    success(cuMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 3, locations, first, 1, 0, NULL),
            "both");
    eq_attribute(LAST_PREFETCH_LOCATION, ptrs[2], PAGE, 0, "the device");
    first[1] = 3;
    eq_u64(cuMemPrefetchBatchAsync(ptrs, sizes, 3, locations, first, 2, 0, NULL),
           CUDA_ERROR_INVALID_VALUE, "an index behind the last");
    first[1] = 0;
    eq_u64(cuMemPrefetchBatchAsync(ptrs, sizes, 3, locations, first, 2, 0, NULL),
           CUDA_ERROR_INVALID_VALUE, "indices that do not ascend");
    eq_u64(cuMemPrefetchBatchAsync(ptrs, sizes, 3, locations, first, 0, 0, NULL),
           CUDA_ERROR_INVALID_VALUE, "no location");
    eq_u64(cuMemDiscardBatchAsync(ptrs, sizes, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE, "no range");
    eq_u64(cuMemDiscardBatchAsync(ptrs, sizes, 3, 1, NULL), CUDA_ERROR_INVALID_VALUE, "flags");
    ptrs[2] = device;
    eq_u64(cuMemDiscardBatchAsync(ptrs, sizes, 3, 0, NULL), CUDA_ERROR_INVALID_VALUE, "device's");
}

static void test_bad(void)
{
    CUdeviceptr fresh;
    int value[2];

    eq_u64(cuMemAdvise_v2(device, PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, here),
           CUDA_ERROR_INVALID_VALUE, "device memory");
    eq_u64(cuMemAdvise_v2(managed, SIZE + 1, CU_MEM_ADVISE_SET_READ_MOSTLY, here),
           CUDA_ERROR_INVALID_VALUE, "past the end");
    eq_u64(cuMemAdvise_v2(managed, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, here),
           CUDA_ERROR_INVALID_VALUE, "0 bytes");
    eq_u64(cuMemAdvise_v2(managed, PAGE, (CUmem_advise)7, here), CUDA_ERROR_INVALID_VALUE,
           "advice 7");
    eq_u64(cuMemAdvise_v2(managed, PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, nowhere),
           CUDA_ERROR_INVALID_DEVICE, "device 9");
    eq_u64(cuMemPrefetchAsync(managed, PAGE, 9, NULL), CUDA_ERROR_INVALID_DEVICE, "device 9");
    eq_u64(cuMemPrefetchAsync_v2(managed, PAGE, here, 1, NULL), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(cuMemPrefetchAsync(device, PAGE, 0, NULL), CUDA_ERROR_INVALID_VALUE, "device memory");
    eq_u64(cuMemRangeGetAttribute(value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, PAGE),
           CUDA_ERROR_INVALID_VALUE, "a value of 8 bytes");
    eq_u64(cuMemRangeGetAttribute(value, 3, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, PAGE),
           CUDA_ERROR_INVALID_VALUE, "3 bytes of devices");
    eq_u64(cuMemRangeGetAttribute(value, 4, (CUmem_range_attribute)9, managed, PAGE),
           CUDA_ERROR_INVALID_VALUE, "attribute 9");
    eq_u64(cuMemRangeGetAttribute(NULL, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, PAGE),
           CUDA_ERROR_INVALID_VALUE, "null");
    success(cuMemFree_v2(managed), "free");
    success(cuMemAllocManaged(&fresh, SIZE, CU_MEM_ATTACH_GLOBAL), "allocate again");
    eq_attribute(READ_MOSTLY, fresh, SIZE, 0, "nothing is left of advice for freed memory");
    success(cuMemFree_v2(fresh), "free");
}

/* ---- batches of copies */

static void test_copies(void)
{
    CUmemcpyAttributes attrs[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                                   {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
    size_t sizes[3] = {4, 4, 4}, first[2] = {0, 2}, fail_idx = 0;
    uint32_t words[3] = {1, 2, 3}, back[3] = {0};
    CUdeviceptr dsts[3], srcs[3];
    CUstream stream;

    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    for (unsigned i = 0; i < 3; i++) {
        dsts[i] = device + 64 * i;
        srcs[i] = (uintptr_t)&words[i];
    }
    success(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, attrs, first, 2, stream), "copy");
    for (unsigned i = 0; i < 3; i++)
        srcs[i] = (uintptr_t)&back[i];
    success(cuMemcpyBatchAsync(srcs, dsts, sizes, 3, attrs, first, 1, &fail_idx, stream), "back");
    success(cuStreamSynchronize(stream), "synchronize");
    eq_mem(back, words, sizeof(words), "came back");
    eq_u64(fail_idx, SIZE_MAX, "none failed");
    dsts[1] = 0;
    eq_u64(cuMemcpyBatchAsync(dsts, srcs, sizes, 3, attrs, first, 1, &fail_idx, stream),
           CUDA_ERROR_INVALID_VALUE, "a null pointer");
    eq_u64(fail_idx, 1, "the second one");
    eq_u64(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, attrs, first, 1, NULL),
           CUDA_ERROR_INVALID_VALUE, "the legacy stream");
    eq_u64(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, attrs, first, 0, stream),
           CUDA_ERROR_INVALID_VALUE, "no attributes");
    attrs[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    eq_u64(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, attrs, first, 1, stream),
           CUDA_ERROR_INVALID_VALUE, "no order");
    success(cuStreamDestroy_v2(stream), "destroy");
}

/* Extents and offsets of arrays count elements, and so do rows of memory next to one. */
static void test_boxes_of_arrays(void)
{
    CUDA_MEMCPY3D_BATCH_OP op = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = 8,
                                    .Height = 4,
                                    .Depth = 2,
                                    .Format = CU_AD_FORMAT_UNSIGNED_INT16,
                                    .NumChannels = 2};
    uint32_t box[2][3][6], back[2][3][4] = {{{0}}};
    CUarray array, twin, bytes;
    CUstream stream;

    for (unsigned i = 0; i < sizeof(box) / 4; i++)
        ((uint32_t *)box)[i] = i + 1;
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuArray3DCreate_v2(&array, &desc), "array");
    success(cuArray3DCreate_v2(&twin, &desc), "another one");
    desc.NumChannels = 1;
    success(cuArray3DCreate_v2(&bytes, &desc), "of smaller elements");
    op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = (uintptr_t)box;
    op.src.op.ptr.rowLength = 6;
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    op.dst.op.array.array = array;
    op.dst.op.array.offset = (CUoffset3D){3, 1, 0};
    op.extent = (CUextent3D){4, 3, 2};
    success(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), "into an array");
    op.src = op.dst;
    op.dst.op.array.array = bytes;
    eq_u64(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE,
           "elements of another size");
    op.dst.op.array.array = twin;
    op.dst.op.array.offset = (CUoffset3D){0, 0, 0};
    success(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), "into the other");
    op.src = op.dst;
    op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.dst.op.ptr.ptr = (uintptr_t)back;
    op.dst.op.ptr.rowLength = op.dst.op.ptr.layerHeight = 0;
    success(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), "back");
    success(cuStreamSynchronize(stream), "synchronize");
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 3; y++)
            eq_mem(back[z][y], box[z][y], sizeof(back[z][y]), "a row");
    op.src.op.array.offset.x = 5;
    eq_u64(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE, "beyond it");
    op.src.op.array.array = (CUarray)&op;
    eq_u64(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), CUDA_ERROR_INVALID_HANDLE, "garbage");
    op.extent.depth = 0;
    eq_u64(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE, "no depth");
    success(cuArrayDestroy(array), "destroy");
    success(cuArrayDestroy(twin), "destroy");
    success(cuArrayDestroy(bytes), "destroy");
    success(cuStreamDestroy_v2(stream), "destroy");
}

static void test_boxes(void)
{
    CUDA_MEMCPY3D_BATCH_OP op = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUDA_MEMCPY3D_PEER peer = {0};
    uint8_t box[2][3][4], back[2][3][4] = {{{0}}};
    CUstream stream;
    size_t fail_idx;

    for (unsigned i = 0; i < sizeof(box); i++)
        ((uint8_t *)box)[i] = (uint8_t)(i + 1);
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = (uintptr_t)box;
    op.dst.op.ptr.ptr = device;
    op.dst.op.ptr.rowLength = 16;
    op.dst.op.ptr.layerHeight = 5;
    op.extent = (CUextent3D){4, 3, 2};
    success(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), "a box");
    success(cuStreamSynchronize(stream), "synchronize");
    success(cuCtxGetCurrent(&peer.srcContext), "current");
    peer.dstContext = peer.srcContext;
    peer.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    peer.srcDevice = device;
    peer.srcPitch = 16;
    peer.srcHeight = 5;
    peer.dstMemoryType = CU_MEMORYTYPE_HOST;
    peer.dstHost = back;
    peer.WidthInBytes = 4;
    peer.Height = 3;
    peer.Depth = 2;
    success(cuMemcpy3DPeer(&peer), "back");
    eq_mem(back, box, sizeof(box), "came back");
    memset(back, 0, sizeof(back));
    success(cuMemcpy3DPeerAsync(&peer, stream), "back");
    success(cuStreamSynchronize(stream), "synchronize");
    eq_mem(back, box, sizeof(box), "came back");
    peer.srcContext = (CUcontext)&peer;
    eq_u64(cuMemcpy3DPeer(&peer), CUDA_ERROR_INVALID_CONTEXT, "garbage context");
    op.dst.op.ptr.rowLength = 3;
    eq_u64(cuMemcpy3DBatchAsync(1, &op, &fail_idx, 0, stream), CUDA_ERROR_INVALID_VALUE,
           "rows overlap");
    eq_u64(fail_idx, 0, "the first one");
    op.dst.type = (CUmemcpy3DOperandType)7;
    eq_u64(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE, "operand type");
    eq_u64(cuMemcpy3DBatchAsync_v2(0, &op, 0, stream), CUDA_ERROR_INVALID_VALUE, "no box");
    success(cuStreamDestroy_v2(stream), "destroy");
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL), "managed memory");
    success(cuMemAlloc_v2(&device, SIZE), "device memory");
    test_advice();
    test_locations();
    test_batch();
    test_copies();
    test_boxes();
    test_boxes_of_arrays();
    test_bad();
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
