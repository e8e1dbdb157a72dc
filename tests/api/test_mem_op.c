/* Memory operations of streams: what they wait for and write, in order, and what they refuse. */
#include "driver_fixture.h"

#include <unistd.h>

static CUstream waiting, writing;
static CUdeviceptr cell; /* pinned memory, zeroed */

#define cell32 (*(_Atomic uint32_t *)(uintptr_t)cell)
#define cell64 (*(_Atomic uint64_t *)(uintptr_t)cell)

/* Does the stream stay where it is until `value` is written? Then it goes on. */
static void check_wait32(unsigned flags, uint32_t before, uint32_t reference, uint32_t value,
                         const char *what)
{
    cell32 = before;
    success(cuStreamWaitValue32_v2(waiting, cell, reference, flags), "wait: %s", what);
    usleep(2000);
    eq_u64(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY, "holds: %s", what);
    success(cuStreamWriteValue32_v2(writing, cell, value, 0), "write");
    success(cuStreamSynchronize(waiting), "goes on: %s", what);
    eq_u64(cell32, value, "what was written");
}

static void check_wait64(unsigned flags, uint64_t before, uint64_t reference, uint64_t value,
                         const char *what)
{
    cell64 = before;
    success(cuStreamWaitValue64_v2(waiting, cell, reference, flags), "wait: %s", what);
    usleep(2000);
    eq_u64(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY, "holds: %s", what);
    success(cuStreamWriteValue64_v2(writing, cell, value, 0), "write");
    success(cuStreamSynchronize(waiting), "goes on: %s", what);
    eq_u64(cell64, value, "what was written");
}

static void test_conditions(void)
{
    check_wait32(CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 5, "32 bits, at least");
    check_wait32(CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0u, 3, 4, "32 bits, at least, across the wrap");
    check_wait32(CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5, "32 bits, equal");
    check_wait32(CU_STREAM_WAIT_VALUE_AND, 4, 3, 2, "32 bits, and");
    check_wait32(CU_STREAM_WAIT_VALUE_NOR, 0xffff0000u, 0xffffu, 0xfffe0000u, "32 bits, nor");
    check_wait64(CU_STREAM_WAIT_VALUE_GEQ, 1ull << 40, 1ull << 41, 1ull << 41, "64 bits, at least");
    check_wait64(CU_STREAM_WAIT_VALUE_GEQ, UINT64_MAX, 3, 4, "64 bits, at least, across the wrap");
    check_wait64(CU_STREAM_WAIT_VALUE_EQ, 5, 1ull << 32 | 5, 1ull << 32 | 5, "64 bits, equal");
    check_wait64(CU_STREAM_WAIT_VALUE_AND, 7, 1ull << 50, 3ull << 49, "64 bits, and");
    check_wait64(CU_STREAM_WAIT_VALUE_NOR, UINT64_MAX << 1, 1, UINT64_MAX << 2, "64 bits, nor");
}

/* The host's own stores are seen, too, and 32 bits are 32 bits. */
static void test_host(void)
{
    cell64 = 0;
    success(cuStreamWaitValue32(waiting, cell, 7, CU_STREAM_WAIT_VALUE_EQ), "the first version");
    usleep(1000);
    eq_u64(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY, "holds");
    cell32 = 7;
    success(cuStreamSynchronize(waiting), "a store of the host");
    success(cuStreamWriteValue32(waiting, cell + 4, 9, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER),
            "write, without a barrier");
    success(cuStreamSynchronize(waiting), "synchronize");
    eq_u64(cell64, 9ull << 32 | 7, "half of a cell is written");
}

/* So long that the device's other threads fall asleep. */
static void linger(void *arg)
{
    usleep(20000);
}

/* Nobody calls the driver any more: the device itself must see what is written. */
static void test_unattended(void)
{
    _Atomic uint32_t *behind = (_Atomic uint32_t *)(uintptr_t)cell + 1;

    cell64 = 0;
    success(cuLaunchHostFunc(waiting, linger, NULL), "a host function");
    success(cuStreamWaitValue32_v2(waiting, cell, 7, CU_STREAM_WAIT_VALUE_EQ), "wait");
    success(cuStreamWriteValue32_v2(waiting, cell + 4, 9, 0), "behind it");
    usleep(40000);
    eq_u64(*behind, 0, "holds");
    cell32 = 7;
    for (int i = 0; i < 10000 && !*behind; i++)
        usleep(1000);
    eq_u64(*behind, 9, "goes on by itself");
    success(cuStreamSynchronize(waiting), "synchronize");
}

static CUstreamBatchMemOpParams wait_op(CUdeviceptr va, uint32_t value)
{
    CUstreamBatchMemOpParams p = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32}};

    p.waitValue.address = va;
    p.waitValue.value = value;
    p.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    return p;
}

static CUstreamBatchMemOpParams write_op(CUdeviceptr va, uint64_t value)
{
    CUstreamBatchMemOpParams p = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64}};

    p.writeValue.address = va;
    p.writeValue.value64 = value;
    return p;
}

/* Two streams hand a counter to each other: order holds inside the batches. */
static void test_batch(void)
{
    enum { N = 100 };
    CUstreamBatchMemOpParams ping[2 * N], pong[2 * N];
    CUstreamBatchMemOpParams barrier = {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}};

    cell64 = 0;
    for (unsigned i = 0; i < N; i++) {
        ping[2 * i] = wait_op(cell, 2 * i);
        ping[2 * i + 1] = write_op(cell, 2 * i + 1);
        pong[2 * i] = wait_op(cell, 2 * i + 1);
        pong[2 * i + 1] = write_op(cell, 2 * i + 2);
    }
    success(cuStreamBatchMemOp_v2(waiting, 2 * N, ping, 0), "one side");
    success(cuStreamBatchMemOp(writing, 2 * N, pong, 0), "the other one, first version");
    success(cuStreamSynchronize(waiting), "synchronize");
    success(cuStreamSynchronize(writing), "synchronize");
    eq_u64(cell64, 2 * N, "rounds");
    success(cuStreamBatchMemOp_v2(waiting, 1, &barrier, 0), "a barrier");
    success(cuStreamBatchMemOp_v2(waiting, 0, ping, 0), "nothing");
}

static void test_bad_batch(void)
{
    CUstreamBatchMemOpParams ops[257] = {{0}};

    cell64 = 1;
    ops[0] = write_op(cell, 2);
    ops[1] = write_op(cell + 4, 2);
    eq_u64(cuStreamBatchMemOp_v2(waiting, 2, ops, 0), CUDA_ERROR_INVALID_VALUE, "misaligned");
    success(cuStreamSynchronize(waiting), "synchronize");
    eq_u64(cell64, 1, "then none of the batch is executed");
    eq_u64(cuStreamBatchMemOp_v2(waiting, 1, ops, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(cuStreamBatchMemOp_v2(waiting, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuStreamBatchMemOp_v2(waiting, 257, ops, 0), CUDA_ERROR_INVALID_VALUE, "too many");
    ops[0].operation = (CUstreamBatchMemOpType)77;
    eq_u64(cuStreamBatchMemOp_v2(waiting, 1, ops, 0), CUDA_ERROR_INVALID_VALUE, "no operation");
    ops[0].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    eq_u64(cuStreamBatchMemOp_v2(waiting, 1, ops, 0), CUDA_ERROR_NOT_SUPPORTED, "flush");
    ops[0].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[0].memoryBarrier.flags = 2;
    eq_u64(cuStreamBatchMemOp_v2(waiting, 1, ops, 0), CUDA_ERROR_INVALID_VALUE, "kind of barrier");
}

static void test_bad(void)
{
    CUdeviceptr managed, freed;
    uint64_t own = 0;

    success(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL), "managed memory");
    success(cuMemAlloc_v2(&freed, 1 << 20), "memory");
    success(cuMemFree_v2(freed), "freed");
    eq_u64(cuStreamWaitValue32_v2(waiting, cell, 0, 4), CUDA_ERROR_INVALID_VALUE, "comparison 4");
    eq_u64(cuStreamWaitValue32_v2(waiting, cell, 0, CU_STREAM_WAIT_VALUE_FLUSH),
           CUDA_ERROR_NOT_SUPPORTED, "flush");
    eq_u64(cuStreamWriteValue32_v2(waiting, cell, 0, 2), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(cuStreamWriteValue32_v2(waiting, cell + 2, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "misaligned");
    eq_u64(cuStreamWriteValue64_v2(waiting, cell + 4, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "misaligned, 64 bits");
    eq_u64(cuStreamWriteValue64_v2(waiting, 0, 0, 0), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuStreamWriteValue64_v2(waiting, managed, 0, 0), CUDA_ERROR_INVALID_VALUE, "managed");
    eq_u64(cuStreamWriteValue64_v2(waiting, freed, 0, 0), CUDA_ERROR_INVALID_VALUE, "freed");
    eq_u64(cuStreamWriteValue64_v2(waiting, (uintptr_t)&own, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "the program's own memory");
    eq_u64(cuStreamWriteValue64_v2((CUstream)&own, cell, 0, 0), CUDA_ERROR_INVALID_HANDLE,
           "garbage stream");
    success(cuMemHostRegister_v2(&own, sizeof(own), 0), "register");
    success(cuStreamWriteValue64_v2(waiting, (uintptr_t)&own, 5, 0), "registered memory");
    success(cuStreamSynchronize(waiting), "synchronize");
    eq_u64(own, 5, "is written");
    success(cuMemHostUnregister(&own), "unregister");
    success(cuMemFree_v2(managed), "free");
}

/* A wait that never ends does not outlive its context. */
static void test_given_up(void)
{
    CUcontext ctx, other;
    CUdeviceptr never;

    setenv("HEDDLE_EXIT_WAIT", "10", 1);
    success(cuCtxGetCurrent(&ctx), "current");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(cuMemAlloc_v2(&never, 8), "memory");
    success(cuMemsetD8_v2(never, 0, 8), "memset");
    success(cuStreamWaitValue32_v2(NULL, never, 1, CU_STREAM_WAIT_VALUE_EQ), "wait for ever");
    success(cuCtxDestroy_v2(other), "destroy");
    success(cuCtxSetCurrent(ctx), "back");
}

static void test_attach(void)
{
    CUdeviceptr managed, device;

    success(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), "managed memory");
    success(cuMemAlloc_v2(&device, 4096), "device memory");
    success(cuStreamAttachMemAsync(waiting, managed, 0, CU_MEM_ATTACH_SINGLE), "attach");
    success(cuStreamAttachMemAsync(NULL, managed, 4096, CU_MEM_ATTACH_GLOBAL), "to all");
    eq_u64(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE,
           "to the null stream");
    eq_u64(cuStreamAttachMemAsync(waiting, managed, 64, CU_MEM_ATTACH_HOST),
           CUDA_ERROR_INVALID_VALUE, "a part");
    eq_u64(cuStreamAttachMemAsync(waiting, managed + 64, 0, CU_MEM_ATTACH_HOST),
           CUDA_ERROR_INVALID_VALUE, "from the middle");
    eq_u64(cuStreamAttachMemAsync(waiting, device, 0, CU_MEM_ATTACH_HOST), CUDA_ERROR_INVALID_VALUE,
           "device memory");
    eq_u64(cuStreamAttachMemAsync(waiting, managed, 0, 8), CUDA_ERROR_INVALID_VALUE, "flags");
    success(cuMemFree_v2(managed), "free");
    success(cuMemFree_v2(device), "free");
}

static void test_green(void)
{
    CUcontext ctx, got;
    CUgreenCtx green = (CUgreenCtx)1;

    success(cuCtxGetCurrent(&ctx), "current");
    success(cuStreamGetCtx_v2(waiting, &got, &green), "context of a stream");
    ok(got == ctx && !green, "is this one, not a green one");
    green = (CUgreenCtx)1;
    success(cuStreamGetGreenCtx(waiting, &green), "green context");
    ok(!green, "there is none");
    eq_u64(cuStreamGetGreenCtx((CUstream)&ctx, &green), CUDA_ERROR_INVALID_HANDLE, "garbage");
}

/* In a context of its own. Waits for, or writes to, memory that another stream frees. */
static void check_freed(bool writes)
{
    const char *what = writes ? "write" : "wait";
    CUdeviceptr gone;
    CUcontext ctx;
    CUstream held, other;

    success(cuCtxCreate_v2(&ctx, 0, 0), "another context");
    success(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemAllocAsync(&gone, 16u << 20, other), "memory");
    success(cuMemsetD32Async(gone, 0, 4, other), "of zeroes");
    success(cuStreamSynchronize(other), "are there");
    cell32 = 0;
    if (writes) {
        success(cuStreamWaitValue32_v2(held, cell, 1, CU_STREAM_WAIT_VALUE_EQ), "held");
        success(cuStreamWriteValue32_v2(held, gone, 1, 0), "to write later");
    } else {
        success(cuStreamWaitValue32_v2(held, gone, 1, CU_STREAM_WAIT_VALUE_EQ), "to wait");
    }
    success(cuMemFreeAsync(gone, other), "freed by another stream");
    (void)cuStreamSynchronize(other);
    cell32 = 1;
    eq_u64(cuStreamSynchronize(held), CUDA_ERROR_ILLEGAL_ADDRESS, "%s: a fault", what);
    success(cuCtxDestroy_v2(ctx), "%s: of that context", what);
}

static void test_freed(void)
{
    check_freed(false);
    check_freed(true);
}

int main(void)
{
    CUcontext ctx;
    void *pinned;
    int value = 0;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&writing, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    success(cuMemHostGetDevicePointer_v2(&cell, pinned, 0), "its address");
    success(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0),
            "attribute");
    eq_u64((unsigned)value, 1, "64 bits are told");
    test_conditions();
    test_host();
    test_unattended();
    test_batch();
    test_bad_batch();
    test_bad();
    test_given_up();
    test_attach();
    test_green();
    test_freed();
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
