/* Memory operations of streams: waiting for values, writing them, batches. */
#include "api/driver/driver.h"

#include <assert.h>

/* Says what is wrong with flags, or fills `op`. */
static CUresult wait_decode(unsigned flags, struct core_mem_op *op)
{
    unsigned how = flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;

    if (how > CU_STREAM_WAIT_VALUE_NOR)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "stream wait value: flags 0x%x", flags);
    if (flags & CU_STREAM_WAIT_VALUE_FLUSH)
        return drv_error(CUDA_ERROR_NOT_SUPPORTED,
                         "stream wait value: the device cannot flush remote writes");
    op->kind = CORE_MEM_OP_WAIT;
    op->compare = (enum core_compare)how;
    return CUDA_SUCCESS;
}

/* The barrier that NO_MEMORY_BARRIER leaves out costs nothing here: it is always there. */
static CUresult write_decode(unsigned flags, struct core_mem_op *op)
{
    if (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "stream write value: flags 0x%x", flags);
    op->kind = CORE_MEM_OP_WRITE;
    return CUDA_SUCCESS;
}

_Static_assert((int)CU_STREAM_WAIT_VALUE_GEQ == (int)CORE_COMPARE_GEQ &&
                   (int)CU_STREAM_WAIT_VALUE_EQ == (int)CORE_COMPARE_EQ &&
                   (int)CU_STREAM_WAIT_VALUE_AND == (int)CORE_COMPARE_AND &&
                   (int)CU_STREAM_WAIT_VALUE_NOR == (int)CORE_COMPARE_NOR,
               "comparisons are cast");

/* symbol, type of the value, is it of 32 bits, how its flags are read */
#define MEM_OP(symbol, type, narrow, decode)                                                       \
    CUresult drv_##symbol##_v2(CUstream handle, CUdeviceptr va, type value, unsigned flags)        \
    {                                                                                              \
        struct core_mem_op op = {.va = va, .value = value};                                        \
        CUresult result;                                                                           \
                                                                                                   \
        API_CALL(symbol);                                                                          \
        API_CONTEXT(ctx);                                                                          \
        API_STREAM(ctx, stream, handle);                                                           \
        op.is_32 = narrow;                                                                         \
        result = decode(flags, &op);                                                               \
        return result ? result : drv_result(core_stream_mem_ops(stream, &op, 1));                  \
    }                                                                                              \
    CUresult drv_##symbol(CUstream stream, CUdeviceptr va, type value, unsigned flags)             \
    {                                                                                              \
        return drv_##symbol##_v2(stream, va, value, flags);                                        \
    }

MEM_OP(cuStreamWaitValue32, cuuint32_t, true, wait_decode)
MEM_OP(cuStreamWaitValue64, cuuint64_t, false, wait_decode)
MEM_OP(cuStreamWriteValue32, cuuint32_t, true, write_decode)
MEM_OP(cuStreamWriteValue64, cuuint64_t, false, write_decode)

static CUresult barrier_decode(unsigned flags, struct core_mem_op *op)
{
    if (flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "stream memory barrier: flags 0x%x", flags);
    op->kind = CORE_MEM_OP_BARRIER;
    return CUDA_SUCCESS;
}

CUresult drv_mem_op_decode(const CUstreamBatchMemOpParams *p, struct core_mem_op *op)
{
    switch ((int)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        op->is_32 = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32;
        op->va = p->waitValue.address;
        op->value = op->is_32 ? p->waitValue.value : p->waitValue.value64;
        return wait_decode(p->waitValue.flags, op);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        op->is_32 = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
        op->va = p->writeValue.address;
        op->value = op->is_32 ? p->writeValue.value : p->writeValue.value64;
        return write_decode(p->writeValue.flags, op);
    case CU_STREAM_MEM_OP_BARRIER:
        return barrier_decode(p->memoryBarrier.flags, op);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return drv_error(CUDA_ERROR_NOT_SUPPORTED,
                         "stream memory operation: the device cannot flush remote writes");
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "stream memory operation %d", (int)p->operation);
    }
}

void drv_mem_op_encode(const struct core_mem_op *op, CUstreamBatchMemOpParams *out)
{
    *out = (CUstreamBatchMemOpParams){0};
    switch (op->kind) {
    case CORE_MEM_OP_WAIT:
        out->waitValue.operation =
            op->is_32 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
        out->waitValue.address = op->va;
        out->waitValue.value64 = op->value;
        out->waitValue.flags = (unsigned)op->compare;
        break;
    case CORE_MEM_OP_WRITE:
        out->writeValue.operation =
            op->is_32 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
        out->writeValue.address = op->va;
        out->writeValue.value64 = op->value;
        break;
    case CORE_MEM_OP_BARRIER:
        out->memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
        break;
    }
}

CUresult drv_cuStreamBatchMemOp_v2(CUstream handle, unsigned count,
                                   CUstreamBatchMemOpParams *params, unsigned flags)
{
    struct core_mem_op ops[DRV_MEM_OPS_MAX] = {0};

    API_CALL(cuStreamBatchMemOp);
    API_CHECK(params && count <= DRV_MEM_OPS_MAX);
    API_CHECK(!flags);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    for (unsigned i = 0; i < count; i++) {
        CUresult result = drv_mem_op_decode(&params[i], &ops[i]);

        if (result != CUDA_SUCCESS)
            return result;
    }
    return drv_result(core_stream_mem_ops(stream, ops, count));
}

CUresult drv_cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *params,
                                unsigned flags)
{
    return drv_cuStreamBatchMemOp_v2(stream, count, params, flags);
}
