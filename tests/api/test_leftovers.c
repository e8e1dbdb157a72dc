/*
 * Small groups: capabilities, core dumps, calls of the first version, and what can only be refused.
 */
#include "driver_fixture.h"

static void test_atomics(void)
{
    CUatomicOperation operations[2] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS};
    unsigned got[2] = {0};

    success(cuDeviceGetHostAtomicCapabilities(got, operations, 2, 0), "with the host");
    ok(got[0] & CU_ATOMIC_CAPABILITY_SCALAR_64 && got[0] & CU_ATOMIC_CAPABILITY_REDUCTION,
       "additions of 64 bits");
    ok(got[1] & CU_ATOMIC_CAPABILITY_SCALAR_128 && !(got[1] & CU_ATOMIC_CAPABILITY_REDUCTION),
       "exchanges of 128");
    success(cuDeviceGetP2PAtomicCapabilities(got, operations, 2, 0, 1), "with another device");
    eq_u64(cuDeviceGetP2PAtomicCapabilities(got, operations, 2, 1, 1), CUDA_ERROR_INVALID_DEVICE,
           "with itself");
    operations[1] = CU_ATOMIC_OPERATION_MAX;
    eq_u64(cuDeviceGetHostAtomicCapabilities(got, operations, 2, 0), CUDA_ERROR_INVALID_VALUE,
           "no operation");
    eq_u64(cuDeviceGetHostAtomicCapabilities(got, operations, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "none");
    eq_u64(cuDeviceGetHostAtomicCapabilities(got, operations, 1, 7), CUDA_ERROR_INVALID_DEVICE,
           "device 7");
}

static void test_affinity(void)
{
    CUexecAffinityParam affinity;
    int units = 0, supported = 7;

    success(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0), "ask");
    eq_u64((unsigned)supported, 0, "cannot be set");
    success(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), "units");
    success(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT), "affinity");
    eq_u64(affinity.param.smCount.val, (unsigned)units, "all of them");
    eq_u64(cuCtxGetExecAffinity(&affinity, (CUexecAffinityType)5), CUDA_ERROR_INVALID_VALUE,
           "type 5");
}

static void test_dumps(void)
{
    bool on = true, off = false;
    size_t size_B = sizeof(on);
    char name[64] = "core";

    success(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size_B), "enabled?");
    ok(!on && size_B == sizeof(on), "no");
    size_B = sizeof(name);
    success(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &size_B), "name");
    ok(size_B == strlen(name) + 1 && size_B > 1, "%s", name);
    size_B = 1;
    success(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &off, &size_B), "off");
    on = true;
    success(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size_B), "on");
    on = false;
    success(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size_B), "enabled?");
    ok(on, "yes");
    success(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &off, &size_B), "off again");
    eq_u64(cuCoredumpSetAttribute(CU_COREDUMP_MAX, &on, &size_B), CUDA_ERROR_INVALID_VALUE,
           "no setting");
    eq_u64(cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, name, &size_B),
           CUDA_ERROR_INVALID_VALUE, "too little room");
}

/* Sizes of 32 bits: what fits works, what does not is told. */
static void test_first(void)
{
    unsigned ptr = 7, size_B = 0, unused = 0;
    CUdeviceptr first, p;
    void *pinned;

    success(cuDeviceTotalMem(&size_B, 0), "memory of the device");
    eq_u64(size_B, 256u << 20, "all of it");
    success(cuMemGetInfo(&unused, &size_B), "free memory");
    ok(unused <= size_B && size_B == 256u << 20, "as much as there is");
    success(cuMemAlloc_v2(&first, 64), "whose lower half may be 0");
    success(cuMemAlloc_v2(&p, 64), "an address of today");
    if (p > UINT32_MAX) {
        size_t before, after, total;

        success(cuMemGetInfo_v2(&before, &total), "free memory");
        eq_u64(cuMemAlloc(&ptr, 64), CUDA_ERROR_OUT_OF_MEMORY, "does not fit");
        success(cuMemGetInfo_v2(&after, &total), "free memory");
        ok(ptr == 7 && before == after, "and nothing is left behind");
        eq_u64(cuMemFree((unsigned)p), CUDA_ERROR_INVALID_VALUE, "half of an address");
        eq_u64(cuMemcpyHtoD((unsigned)p, &p, 4), CUDA_ERROR_INVALID_VALUE, "half of an address");
        eq_u64(cuMemsetD2D32((unsigned)p, 16, 1, 1, 1), CUDA_ERROR_INVALID_VALUE, "the same");
    }
    success(cuMemAllocHost(&pinned, 64), "pinned memory");
    eq_u64(cuMemHostGetDevicePointer(&ptr, pinned, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    success(cuMemFreeHost(pinned), "free");
    success(cuMemFree_v2(p), "free");
    success(cuMemFree_v2(first), "free");
    eq_u64(cuMemAlloc(NULL, 64), CUDA_ERROR_INVALID_VALUE, "null");
}

static void test_refused(void)
{
    CUgraphicsResource resource = (CUgraphicsResource)&resource;
    CUmemDecompressParams decompress = {0};
    CUasyncCallbackHandle async;
    CUdeviceptr p;
    size_t n;
    int fd;

    eq_u64(cuCtxResetPersistingL2Cache(), CUDA_ERROR_NOT_SUPPORTED, "persisting lines");
    eq_u64(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
           CUDA_ERROR_NOT_SUPPORTED, "remote writes");
    eq_u64(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)1,
                                      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
           CUDA_ERROR_INVALID_VALUE, "of something else");
    eq_u64(cuMemBatchDecompressAsync(&decompress, 1, 0, &n, NULL), CUDA_ERROR_NOT_SUPPORTED,
           "decompression");
    success(cuMemAlloc_v2(&p, 4096), "memory");
    eq_u64(cuMemGetHandleForAddressRange(&fd, p, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
           CUDA_ERROR_NOT_SUPPORTED, "DMA buffers");
    eq_u64(cuMemGetHandleForAddressRange(&fd, p, 4096, (CUmemRangeHandleType)9, 0),
           CUDA_ERROR_INVALID_VALUE, "of another type");
    success(cuMemFree_v2(p), "free");
    eq_u64(cuGraphicsMapResources(1, &resource, NULL), CUDA_ERROR_INVALID_HANDLE, "graphics");
    eq_u64(cuGraphicsUnregisterResource(resource), CUDA_ERROR_INVALID_HANDLE, "graphics");
    eq_u64(cuGraphicsResourceGetMappedPointer_v2(&p, &n, resource), CUDA_ERROR_INVALID_HANDLE,
           "graphics");
    eq_u64(cuDeviceRegisterAsyncNotification(0, NULL, NULL, &async), CUDA_ERROR_INVALID_VALUE,
           "no function");
    eq_u64(cuDeviceUnregisterAsyncNotification(0, NULL), CUDA_ERROR_INVALID_VALUE, "none");
    eq_u64(cuDeviceGetNvSciSyncAttributes(&fd, 0, 1), CUDA_ERROR_NOT_SUPPORTED, "NvSciSync");
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_DEVICES", "2", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    test_atomics();
    test_affinity();
    test_dumps();
    test_first();
    test_refused();
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
