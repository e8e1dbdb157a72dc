/* Batches of copies, and boxes between devices. */
#include "api/driver/driver.h"

static CUresult copy_one(struct core_stream *stream, CUdeviceptr dst, CUdeviceptr src,
                         size_t size_B, CUmemcpySrcAccessOrder order)
{
    struct core_copy copy = {
        .dst = dst, .src = src, .width_B = size_B, .height = 1, .depth = 1, .async = true};
    enum hd_status status = core_copy(stream, &copy);

    /* The source is free to change when the call returns. */
    if (status == HD_OK && order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
        status = core_stream_synchronize(stream);
    return drv_result(status);
}

/* ---- batches */

static CUresult order_check(CUmemcpySrcAccessOrder order, unsigned flags)
{
    if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of copies: source access order %d",
                         (int)order);
    if (flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of copies: flags 0x%x", flags);
    return CUDA_SUCCESS;
}

static CUresult attributes_check(const CUmemcpyAttributes *attrs, const size_t *first, size_t n,
                                 size_t count)
{
    for (size_t i = 0; i < n; i++) {
        CUresult result = order_check(attrs[i].srcAccessOrder, attrs[i].flags);

        if (result != CUDA_SUCCESS)
            return result;
        if (first[i] >= count || (i ? first[i] <= first[i - 1] : first[i] != 0))
            return drv_error(CUDA_ERROR_INVALID_VALUE,
                             "batch of copies: indices of attributes do not ascend from 0");
    }
    return CUDA_SUCCESS;
}

static CUresult copy_batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                           CUmemcpyAttributes *attrs, size_t *first, size_t nattrs,
                           size_t *fail_idx, CUstream handle)
{
    CUresult result;
    size_t at = 0;

    API_CALL(cuMemcpyBatchAsync);
    *fail_idx = SIZE_MAX;
    API_CHECK(dsts && srcs && sizes && count);
    API_CHECK(attrs && first && nattrs && nattrs <= count);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(stream != ctx->legacy);
    result = attributes_check(attrs, first, nattrs, count);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        while (at + 1 < nattrs && first[at + 1] <= i)
            at++;
        result = copy_one(stream, dsts[i], srcs[i], sizes[i], attrs[at].srcAccessOrder);
        if (result != CUDA_SUCCESS)
            *fail_idx = i;
    }
    return result;
}

CUresult drv_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                   size_t count, CUmemcpyAttributes *attrs, size_t *first,
                                   size_t nattrs, CUstream stream)
{
    size_t fail_idx;

    return copy_batch(dsts, srcs, sizes, count, attrs, first, nattrs, &fail_idx, stream);
}

CUresult drv_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                CUmemcpyAttributes *attrs, size_t *first, size_t nattrs,
                                size_t *fail_idx, CUstream stream)
{
    API_CALL(cuMemcpyBatchAsync);
    API_CHECK(fail_idx);
    return copy_batch(dsts, srcs, sizes, count, attrs, first, nattrs, fail_idx, stream);
}

/* ---- batches of boxes */

/* *out_B: of an element; left alone by pointers, which have what the other operand has. */
static CUresult operand_check(const CUmemcpy3DOperand *operand, const CUextent3D *extent,
                              uint32_t *out_B)
{
    API_CALL(cuMemcpy3DBatchAsync);
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        API_ARRAY(array, operand->op.array.array, false);
        *out_B = array->texel_B;
        return CUDA_SUCCESS;
    }
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: operand type %d",
                         (int)operand->type);
    if ((operand->op.ptr.rowLength && operand->op.ptr.rowLength < extent->width) ||
        (operand->op.ptr.layerHeight && operand->op.ptr.layerHeight < extent->height))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: rows or layers overlap");
    return CUDA_SUCCESS;
}

/* *out_B: of an element, which is a byte where no array takes part. */
static CUresult box_check(const CUDA_MEMCPY3D_BATCH_OP *op, uint32_t *out_B)
{
    uint32_t src_B = 0, dst_B = 0;

    if (!op->extent.width || !op->extent.height || !op->extent.depth)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: an extent is 0");
    API_TRY(operand_check(&op->src, &op->extent, &src_B));
    API_TRY(operand_check(&op->dst, &op->extent, &dst_B));
    if (src_B && dst_B && src_B != dst_B)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: elements of %u and %u bytes",
                         src_B, dst_B);
    *out_B = src_B ? src_B : dst_B ? dst_B : 1;
    return order_check(op->srcAccessOrder, op->flags);
}

#define BOX_SIDE(side)                                                                             \
    static void box_##side(CUDA_MEMCPY3D *box, const CUmemcpy3DOperand *from, uint32_t element_B)  \
    {                                                                                              \
        if (from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {                                          \
            box->side##MemoryType = CU_MEMORYTYPE_ARRAY;                                           \
            box->side##Array = from->op.array.array;                                               \
            box->side##XInBytes = from->op.array.offset.x * element_B;                             \
            box->side##Y = from->op.array.offset.y;                                                \
            box->side##Z = from->op.array.offset.z;                                                \
            return;                                                                                \
        }                                                                                          \
        box->side##MemoryType = CU_MEMORYTYPE_UNIFIED;                                             \
        box->side##Device = from->op.ptr.ptr;                                                      \
        box->side##Pitch = from->op.ptr.rowLength * element_B;                                     \
        box->side##Height = from->op.ptr.layerHeight;                                              \
    }
BOX_SIDE(src)
BOX_SIDE(dst)
#undef BOX_SIDE

static CUresult box_copy(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    CUDA_MEMCPY3D box = {.Height = op->extent.height, .Depth = op->extent.depth};
    uint32_t element_B;
    CUresult result;

    API_TRY(box_check(op, &element_B));
    box.WidthInBytes = op->extent.width * element_B;
    box_src(&box, &op->src, element_B);
    box_dst(&box, &op->dst, element_B);
    result = drv_cuMemcpy3DAsync_v2(&box, stream);
    /* The source is free to change when the call returns. */
    if (result == CUDA_SUCCESS && op->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
        result = drv_cuStreamSynchronize(stream);
    return result;
}

static CUresult box_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_idx,
                          unsigned long long flags, CUstream handle)
{
    CUresult result = CUDA_SUCCESS;
    uint32_t element_B;

    API_CALL(cuMemcpy3DBatchAsync);
    *fail_idx = SIZE_MAX;
    API_CHECK(ops && count && !flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(stream != ctx->legacy);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = box_check(&ops[i], &element_B);
        *fail_idx = result ? i : SIZE_MAX;
    }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = box_copy(&ops[i], handle);
        *fail_idx = result ? i : SIZE_MAX;
    }
    return result;
}

CUresult drv_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                     unsigned long long flags, CUstream stream)
{
    size_t fail_idx;

    return box_batch(count, ops, &fail_idx, flags, stream);
}

CUresult drv_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_idx,
                                  unsigned long long flags, CUstream stream)
{
    API_CALL(cuMemcpy3DBatchAsync);
    API_CHECK(fail_idx);
    return box_batch(count, ops, fail_idx, flags, stream);
}
