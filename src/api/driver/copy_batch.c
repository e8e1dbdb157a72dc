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

static CUresult operand_check(const CUmemcpy3DOperand *operand, const CUextent3D *extent)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "batch of boxes: a CUDA array");
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: operand type %d",
                         (int)operand->type);
    if ((operand->op.ptr.rowLength && operand->op.ptr.rowLength < extent->width) ||
        (operand->op.ptr.layerHeight && operand->op.ptr.layerHeight < extent->height))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "batch of boxes: rows or layers overlap");
    return CUDA_SUCCESS;
}

static CUresult box_check(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    CUresult result = operand_check(&op->src, &op->extent);

    if (result == CUDA_SUCCESS)
        result = operand_check(&op->dst, &op->extent);
    return result ? result : order_check(op->srcAccessOrder, op->flags);
}

static CUresult box_copy(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    const CUDA_MEMCPY3D box = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = op->src.op.ptr.ptr,
        .srcPitch = op->src.op.ptr.rowLength,
        .srcHeight = op->src.op.ptr.layerHeight,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = op->dst.op.ptr.ptr,
        .dstPitch = op->dst.op.ptr.rowLength,
        .dstHeight = op->dst.op.ptr.layerHeight,
        .WidthInBytes = op->extent.width,
        .Height = op->extent.height,
        .Depth = op->extent.depth,
    };
    CUresult result = drv_cuMemcpy3DAsync_v2(&box, stream);

    /* The source is free to change when the call returns. */
    if (result == CUDA_SUCCESS && op->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
        result = drv_cuStreamSynchronize(stream);
    return result;
}

static CUresult box_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_idx,
                          unsigned long long flags, CUstream handle)
{
    CUresult result = CUDA_SUCCESS;

    API_CALL(cuMemcpy3DBatchAsync);
    *fail_idx = SIZE_MAX;
    API_CHECK(ops && count && !flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(stream != ctx->legacy);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = box_check(&ops[i]);
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
