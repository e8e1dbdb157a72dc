/*
 * What the driver is asked for: contexts, functions, streams, occupancy, memory, libraries; and
 * settings that are told again.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "driver_fixture.h"
#include "obj/fatbin.h"

static CUcontext ctx;
static CUmodule module;
static CUfunction add;

static void test_context_settings(void)
{
    CUsharedconfig banks;
    CUfunc_cache cache;
    CUdevice device = -1;
    unsigned flags = 0;
    unsigned long long id = 0, other_id = 0;
    size_t value = 0, before = 0;
    int least = 7, most = 7;
    CUcontext other;

    success(cuCtxGetId(ctx, &id), "number of the context");
    success(cuCtxCreate(&other, CU_CTX_SCHED_YIELD, 1), "another one");
    success(cuCtxGetId(NULL, &other_id), "the current one's");
    ok(id != other_id, "are different");
    success(cuCtxGetFlags(&flags), "its flags");
    eq_u64(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD, "as it was made");
    success(cuCtxSetFlags(CU_CTX_SCHED_SPIN), "others");
    success(cuCtxGetFlags(&flags), "ask");
    eq_u64(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_SPIN, "as was said");
    eq_u64(cuCtxSetFlags(0x4000), CUDA_ERROR_INVALID_VALUE, "a flag that is none");
    eq_u64(cuCtxSetFlags(CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD), CUDA_ERROR_INVALID_VALUE,
           "two ways to wait");
    eq_u64(cuCtxCreate(&other, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_BLOCKING_SYNC, 1),
           CUDA_ERROR_INVALID_VALUE, "likewise");
    success(cuCtxGetDevice_v2(&device, other), "its device");
    eq_u64((unsigned)device, 1, "is device 1");
    success(cuCtxGetDevice_v2(&device, ctx), "of one that is not current");
    eq_u64((unsigned)device, 0, "is device 0");
    success(cuCtxSynchronize_v2(other), "wait for a context");
    success(cuCtxDestroy(other), "destroy");
    eq_u64(cuCtxGetDevice_v2(&device, other), CUDA_ERROR_INVALID_CONTEXT, "a context that is gone");
    eq_u64(cuCtxSynchronize_v2(other), CUDA_ERROR_INVALID_CONTEXT, "the same");
    eq_u64(cuCtxGetId(other, &id), CUDA_ERROR_INVALID_CONTEXT, "the same");
    success(cuCtxSetCurrent(ctx), "back");
    success(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), "cache");
    success(cuCtxGetCacheConfig(&cache), "ask");
    eq_u64(cache, CU_FUNC_CACHE_PREFER_L1, "as was said");
    eq_u64(cuCtxSetCacheConfig((CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE, "none");
    success(cuCtxGetSharedMemConfig(&banks), "banks");
    ok(banks == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, "of four bytes");
    success(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE), "a hint");
    eq_u64(cuCtxSetSharedMemConfig((CUsharedconfig)9), CUDA_ERROR_INVALID_VALUE, "none");
    success(cuCtxGetLimit(&before, CU_LIMIT_MALLOC_HEAP_SIZE), "limit");
    success(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, before * 2), "twice as much");
    success(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE), "ask");
    ok(value >= before * 2, "at least that");
    eq_u64(cuCtxGetLimit(&value, (CUlimit)99), CUDA_ERROR_UNSUPPORTED_LIMIT, "no limit");
    eq_u64(cuCtxSetLimit((CUlimit)99, 1), CUDA_ERROR_UNSUPPORTED_LIMIT, "no limit");
    success(cuCtxGetStreamPriorityRange(&least, &most), "priorities");
    ok(least == 0 && most < 0, "from 0 down");
    success(cuCtxGetStreamPriorityRange(NULL, NULL), "of no interest");
}

static void test_context_stack(void)
{
    CUcontext top = NULL, other;

    success(cuCtxCreate(&other, 0, 0), "another context");
    success(cuCtxPopCurrent(&top), "pop, first version");
    ok(top == other, "is it");
    success(cuCtxGetCurrent(&top), "below");
    ok(top == ctx, "is the first one");
    success(cuCtxPushCurrent(other), "push, first version");
    success(cuCtxGetCurrent(&top), "ask");
    ok(top == other, "is it");
    top = NULL;
    success(cuCtxAttach(&top, 0), "attach");
    ok(top == other, "is the current one");
    eq_u64(cuCtxAttach(&top, 1), CUDA_ERROR_INVALID_VALUE, "there are no flags");
    success(cuCtxDetach(other), "detach takes the use back");
    success(cuCtxSynchronize(), "it is there");
    success(cuCtxDetach(other), "detach destroys");
    eq_u64(cuCtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT, "it is gone");
    success(cuCtxSetCurrent(ctx), "back");
}

static void test_devices(void)
{
    CUdevprop properties;
    int major = 0, minor = 0, want_major = 0, want_minor = 0;
    CUuuid a, b;
    size_t width = 0;

    success(cuDeviceComputeCapability(&major, &minor, 0), "compute capability");
    success(cuDeviceGetAttribute(&want_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            "attribute");
    success(cuDeviceGetAttribute(&want_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0),
            "attribute");
    ok(major == want_major && minor == want_minor, "is that of the attributes");
    eq_u64(cuDeviceComputeCapability(&major, &minor, 9), CUDA_ERROR_INVALID_DEVICE, "no device");
    success(cuDeviceGetProperties(&properties, 0), "properties");
    ok(properties.maxThreadsPerBlock == 1024 && properties.SIMDWidth == 32 &&
           properties.maxGridSize[1] == 65535,
       "as the attributes");
    eq_u64(cuDeviceGetProperties(&properties, -1), CUDA_ERROR_INVALID_DEVICE, "no device");
    success(cuDeviceGetUuid(&a, 0), "UUID");
    success(cuDeviceGetUuid(&b, 1), "of another");
    ok(memcmp(&a, &b, sizeof(a)), "are different");
    success(cuDeviceGetUuid_v2(&b, 0), "second version");
    eq_mem(&a, &b, sizeof(a), "the same");
    success(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0),
            "texels of memory");
    ok(width >= 1u << 20, "many");
    eq_u64(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0),
           CUDA_ERROR_INVALID_VALUE, "three channels");
}

static void test_primary(void)
{
    CUcontext primary;
    unsigned flags = 0;
    int active = 7;

    success(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_BLOCKING_SYNC), "flags, first version");
    success(cuDevicePrimaryCtxGetState(1, &flags, &active), "state");
    ok(flags == CU_CTX_SCHED_BLOCKING_SYNC && !active, "flags of one that is not there yet");
    success(cuDevicePrimaryCtxRetain(&primary, 1), "retain");
    success(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_AUTO), "flags");
    eq_u64(cuDevicePrimaryCtxSetFlags_v2(1, 0x4000), CUDA_ERROR_INVALID_VALUE,
           "a flag that is none");
    eq_u64(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD),
           CUDA_ERROR_INVALID_VALUE, "two ways to wait");
    success(cuDevicePrimaryCtxGetState(1, &flags, &active), "state");
    ok(active == 1, "active");
    success(cuDevicePrimaryCtxRelease(1), "release, first version");
    success(cuDevicePrimaryCtxGetState(1, &flags, &active), "state");
    ok(!active, "not any more");
    eq_u64(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT, "once too often");
    success(cuDevicePrimaryCtxReset(1), "reset, first version");
    eq_u64(cuDevicePrimaryCtxReset(5), CUDA_ERROR_INVALID_DEVICE, "no device");
}

static void test_functions(void)
{
    CUmoduleLoadingMode mode = 0;
    size_t offset = 9, size = 9;
    const char *name = NULL;
    CUmodule of = NULL;

    success(cuFuncGetName(&name, add), "name");
    eq_str(name, "add", "is add");
    success(cuFuncGetModule(&of, add), "module");
    ok(of == module, "is its");
    success(cuFuncGetParamInfo(add, 3, &offset, &size), "the last parameter");
    ok(offset == 24 && size == 4, "is four bytes behind the others");
    success(cuFuncGetParamInfo(add, 1, &offset, NULL), "only where");
    eq_u64(offset, 8, "the second");
    eq_u64(cuFuncGetParamInfo(add, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE, "a fifth");
    success(cuFuncLoad(add), "load");
    success(cuFuncSetCacheConfig(add, CU_FUNC_CACHE_PREFER_SHARED), "a hint");
    eq_u64(cuFuncSetCacheConfig(add, (CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE, "none");
    success(cuFuncSetSharedMemConfig(add, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE), "a hint");
    eq_u64(cuFuncSetSharedMemConfig(NULL, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE),
           CUDA_ERROR_INVALID_HANDLE, "no function");
    success(cuModuleGetLoadingMode(&mode), "how code is loaded");
    ok(mode == CU_MODULE_EAGER_LOADING || mode == CU_MODULE_LAZY_LOADING, "one of two ways");
    success(cuGetErrorName(CUDA_ERROR_INVALID_IMAGE, &name), "name of an error");
    eq_str(name, "CUDA_ERROR_INVALID_IMAGE", "is its");
    eq_u64(cuGetErrorName((CUresult)12345, &name), CUDA_ERROR_INVALID_VALUE, "no error");
    ok(name == NULL, "and no name");
}

static size_t shared_of(int threads)
{
    return (size_t)threads * 64;
}

static void test_occupancy(void)
{
    int blocks = 0, with_flags = 0, grid = 0, block = 0, limited = 0;
    size_t smem_B = 0;

    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0), "blocks that fit");
    success(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                &with_flags, add, 256, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE),
            "with a flag");
    ok(blocks > 0 && blocks == with_flags, "as many: %d", blocks);
    eq_u64(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add, 256, 0, 8),
           CUDA_ERROR_INVALID_VALUE, "no flag");
    eq_u64(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 0, 0),
           CUDA_ERROR_INVALID_VALUE, "no threads");
    success(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0), "the best block");
    ok(block > 0 && block <= 1024 && grid > 0, "%d blocks of %d", grid, block);
    success(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &limited, add, NULL, 0, 96, 0),
            "of at most 96 threads");
    ok(limited > 0 && limited <= 96, "%d", limited);
    success(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, shared_of, 0, 0),
            "with shared memory for each thread");
    ok(block > 0 && shared_of(block) <= 48 << 10, "which fits: %d", block);
    success(cuOccupancyAvailableDynamicSMemPerBlock(&smem_B, add, 2, 128),
            "shared memory for two blocks");
    ok(smem_B <= 48 << 10, "no more than the function may have: %zu", smem_B);
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, smem_B),
            "so many then fit");
    ok(blocks >= 2, "%d of %zu bytes", blocks, smem_B);
    eq_u64(cuOccupancyAvailableDynamicSMemPerBlock(&smem_B, add, 0, 128), CUDA_ERROR_INVALID_VALUE,
           "for no block");
}

static unsigned called;

static void CUDA_CB count_call(CUstream stream, CUresult status, void *arg)
{
    (void)stream;
    called += status == CUDA_SUCCESS && arg == &called;
}

static void CUDA_CB wait_for_gate(void *arg)
{
    while (!*(_Atomic bool *)arg)
        usleep(100);
}

/* A callback tells how its stream's context is; the one that was current may be gone by then. */
static void test_callback_of_other_context(void)
{
    _Atomic bool gate = false;
    unsigned before = called;
    CUcontext other;
    CUstream stream;

    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuLaunchHostFunc(stream, wait_for_gate, &gate), "gate");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(cuStreamAddCallback(stream, count_call, &called, 0), "callback");
    success(cuCtxDestroy_v2(other), "goes first");
    gate = true;
    success(cuCtxSetCurrent(ctx), "back");
    success(cuStreamSynchronize(stream), "wait");
    eq_u64(called, before + 1, "was called, with success");
    success(cuStreamDestroy_v2(stream), "destroy");
}

static void test_streams(void)
{
    CUstream stream;
    CUcontext of = NULL;
    CUdevice device = -1;
    unsigned flags = 9;
    unsigned long long id = 0, null_id = 0;
    int priority = 9;

    success(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1), "stream");
    success(cuStreamGetFlags(stream, &flags), "flags");
    eq_u64(flags, CU_STREAM_NON_BLOCKING, "as it was made");
    success(cuStreamGetPriority(stream, &priority), "priority");
    eq_u64((unsigned)priority, (unsigned)-1, "as it was made");
    success(cuStreamGetCtx(stream, &of), "context");
    ok(of == ctx, "the current one");
    success(cuStreamGetDevice(stream, &device), "device");
    eq_u64((unsigned)device, 0, "device 0");
    success(cuStreamGetId(stream, &id), "number");
    success(cuStreamGetId(NULL, &null_id), "of the default stream");
    ok(id != null_id, "are different");
    success(cuStreamAddCallback(stream, count_call, &called, 0), "callback");
    success(cuStreamSynchronize(stream), "wait");
    eq_u64(called, 1, "was called");
    eq_u64(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE, "no function");
    eq_u64(cuStreamAddCallback(stream, count_call, NULL, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    success(cuStreamDestroy_v2(stream), "destroy");
    eq_u64(cuStreamGetFlags(stream, &flags), CUDA_ERROR_INVALID_HANDLE, "gone");
    eq_u64(cuStreamGetId(stream, &id), CUDA_ERROR_INVALID_HANDLE, "gone");
    eq_u64(cuStreamGetCtx(stream, &of), CUDA_ERROR_INVALID_HANDLE, "gone");
    eq_u64(cuStreamGetDevice(stream, &device), CUDA_ERROR_INVALID_HANDLE, "gone");
    eq_u64(cuStreamGetPriority(stream, &priority), CUDA_ERROR_INVALID_HANDLE, "gone");
}

static void test_event_times(void)
{
    CUevent a, b;
    float ms = -1;

    success(cuEventCreate(&a, 0), "event");
    success(cuEventCreate(&b, 0), "event");
    eq_u64(cuEventElapsedTime_v2(&ms, a, b), CUDA_ERROR_INVALID_HANDLE, "neither was recorded");
    success(cuEventRecord(a, NULL), "record");
    success(cuEventRecord(b, NULL), "record");
    success(cuEventSynchronize(b), "wait");
    success(cuEventElapsedTime_v2(&ms, a, b), "time between");
    ok(ms >= 0, "%g ms", ms);
    success(cuEventDestroy(a), "destroy");
    success(cuEventDestroy(b), "destroy");
}

static void test_memory(void)
{
    CUdeviceptr p, range = 0;
    CUmemorytype type = 0;
    unsigned flags = 0, on = 1;
    size_t size_B = 0, pitch_B = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *answers[] = {&type, &range, &size_B};
    void *host;

    success(cuMemAllocPitch_v2(&p, &pitch_B, 100, 5, 4), "pitched memory");
    ok(pitch_B >= 100 && pitch_B % 4 == 0, "rows of %zu bytes", pitch_B);
    success(cuPointerGetAttributes(3, asked, answers, p + 10), "what is it");
    ok(type == CU_MEMORYTYPE_DEVICE && range == p && size_B >= pitch_B * 5,
       "device memory from there on");
    eq_u64(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p),
           CUDA_ERROR_INVALID_VALUE, "cannot be set");
    eq_u64(cuMemAllocPitch_v2(&p, &pitch_B, 100, 5, 3), CUDA_ERROR_INVALID_VALUE,
           "elements of three bytes");
    success(cuMemFree_v2(range), "free");
    success(cuPointerGetAttributes(3, asked, answers, range), "what is it");
    ok(!range && !size_B, "nothing any more");
    success(cuMemAllocHost_v2(&host, 100), "pinned memory");
    success(cuMemHostGetFlags(&flags, host), "its flags");
    ok(flags & CU_MEMHOSTALLOC_DEVICEMAP, "the device has it");
    success(cuMemFreeHost(host), "free");
    eq_u64(cuMemHostGetFlags(&flags, host), CUDA_ERROR_INVALID_VALUE, "gone");
}

static void late(void *arg)
{
    usleep(20000);
    atomic_store((_Atomic int *)arg, 1);
}

/* Was the device done with `what`, which comes behind something that takes long? */
#define IS_WAITED_FOR(what)                                                                        \
    (atomic_store(&arrived, 0), success(cuLaunchHostFunc(NULL, late, &arrived), "something long"), \
     success(what, #what), atomic_load(&arrived))

static void test_synchronous_memory(void)
{
    unsigned on = 1, off = 0, asked = 2;
    static _Atomic int arrived;
    CUdeviceptr p, q;
    CUcontext strict;

    success(cuMemAlloc_v2(&p, 64), "memory");
    success(cuMemAlloc_v2(&q, 64), "other memory");
    success(cuPointerGetAttribute(&asked, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), "ask");
    eq_u64(asked, 0, "calls on it do not wait");
    success(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p + 8), "they are to");
    success(cuPointerGetAttribute(&asked, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), "ask");
    eq_u64(asked, 1, "they do");
    ok(IS_WAITED_FOR(cuMemcpyDtoD_v2(p, q, 64)), "a copy to it");
    ok(IS_WAITED_FOR(cuMemcpyDtoD_v2(q, p, 64)), "a copy from it");
    ok(IS_WAITED_FOR(cuMemsetD8_v2(p + 32, 1, 32)), "a fill");
    success(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), "no longer");
    success(cuPointerGetAttribute(&asked, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p), "ask");
    eq_u64(asked, 0, "they do not");
    eq_u64(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)(uintptr_t)&p),
           CUDA_ERROR_INVALID_VALUE, "no device memory");
    success(cuMemFree_v2(p), "free");
    success(cuMemFree_v2(q), "free");

    success(cuCtxCreate(&strict, CU_CTX_SYNC_MEMOPS, 0), "a context in which all calls wait");
    success(cuMemAlloc_v2(&p, 64), "memory");
    ok(IS_WAITED_FOR(cuMemsetD8_v2(p, 1, 64)), "a fill");
    success(cuCtxDestroy(strict), "destroy");
    success(cuCtxSetCurrent(ctx), "back");
}

/* Each writes its box and nothing else. */
static void test_fills(void)
{
    unsigned char *host;
    CUdeviceptr p;

    success(cuMemAllocManaged(&p, 256, CU_MEM_ATTACH_GLOBAL), "memory");
    host = (unsigned char *)(uintptr_t)p;
    memset(host, 0, 256);
    success(cuMemsetD16Async(p, 0x1234, 3, NULL), "three halves");
    success(cuMemsetD2D16_v2(p + 16, 8, 0x5678, 2, 2), "two rows of two");
    success(cuMemsetD2D32_v2(p + 64, 16, 0x9abcdef0, 2, 2), "two rows of two words");
    success(cuMemsetD2D32Async(p + 128, 16, 7, 1, 2, NULL), "in a stream");
    success(cuMemsetD2D8Async(p + 192, 4, 9, 3, 2, NULL), "two rows of three bytes");
    success(cuCtxSynchronize(), "wait");
    eq_mem(host, "\x34\x12\x34\x12\x34\x12\0\0", 8, "halves");
    eq_mem(host + 16, "\x78\x56\x78\x56\0\0\0\0\x78\x56\x78\x56\0\0\0\0", 16, "rows of halves");
    ok(*(unsigned *)(host + 68) == 0x9abcdef0 && !host[72] &&
           *(unsigned *)(host + 80) == 0x9abcdef0,
       "rows of words");
    ok(host[128] == 7 && !host[132] && host[144] == 7, "columns");
    eq_mem(host + 192, "\x09\x09\x09\0\x09\x09\x09\0", 8, "rows of bytes");
    eq_u64(cuMemsetD2D16_v2(p, 3, 1, 2, 2), CUDA_ERROR_INVALID_VALUE, "rows that overlap");
    eq_u64(cuMemsetD16Async(p + 1, 1, 1, NULL), CUDA_ERROR_INVALID_VALUE, "half a half");
    success(cuMemFree_v2(p), "free");
}

static void test_library(void)
{
    CUlibrary library;
    CUkernel kernels[8], kernel;
    CUmodule of = NULL;
    CUdeviceptr table = 0;
    CUlibrary owner = NULL;
    size_t size_B = 0, offset = 9;
    unsigned count = 0;
    int value = 0;

    success(cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0), "library");
    success(cuLibraryGetKernelCount(&count, library), "kernels");
    eq_u64(count, 3, "three");
    success(cuLibraryEnumerateKernels(kernels, 8, library), "all of them");
    success(cuLibraryGetKernel(&kernel, library, "add"), "by name");
    ok(kernel == kernels[0] || kernel == kernels[1] || kernel == kernels[2], "is one of them");
    success(cuKernelGetLibrary(&owner, kernel), "its library");
    ok(owner == library, "is this");
    success(cuKernelGetParamInfo(kernel, 3, &offset, &size_B), "its last parameter");
    ok(offset == 24 && size_B == 4, "as in a module");
    success(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0),
            "attribute");
    ok(value > 0 && value <= 1024, "%d threads", value);
    success(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096, kernel, 0),
            "set one");
    success(
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0),
        "ask");
    eq_u64((unsigned)value, 4096, "as was said");
    eq_u64(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, kernel, 0), CUDA_ERROR_INVALID_VALUE,
           "cannot be set");
    success(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_EQUAL, 0), "a hint");
    eq_u64(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_EQUAL, 9), CUDA_ERROR_INVALID_DEVICE,
           "no device");
    success(cuLibraryGetModule(&of, library), "its module here");
    success(cuModuleGetGlobal_v2(&table, &size_B, of, "table"), "a variable of it");
    eq_u64(size_B, 64, "of 64 bytes");
    success(cuLibraryGetGlobal(&table, &size_B, library, "table"), "the same by the library");
    eq_u64(size_B, 64, "of 64 bytes");
    eq_u64(cuLibraryGetManaged(&table, &size_B, library, "table"), CUDA_ERROR_NOT_FOUND,
           "is not managed");
    eq_u64(cuLibraryGetGlobal(&table, &size_B, library, "nobody"), CUDA_ERROR_NOT_FOUND,
           "no such name");
    eq_u64(cuLibraryLoadFromFile(&owner, "/nowhere", NULL, NULL, 0, NULL, NULL, 0),
           CUDA_ERROR_FILE_NOT_FOUND, "no file");
    success(cuLibraryUnload(library), "unload");
    eq_u64(cuKernelGetLibrary(&owner, kernel), CUDA_ERROR_INVALID_HANDLE, "gone");
    eq_u64(cuLibraryEnumerateKernels(kernels, 8, library), CUDA_ERROR_INVALID_HANDLE, "gone");
}

static void test_fat_binary(void)
{
    const struct obj_fatbin_source source = {.kind = OBJ_ENTRY_PTX,
                                             .arch = 80,
                                             .version_major = 8,
                                             .payload = driver_ptx,
                                             .size_B = strlen(driver_ptx)};
    CUmodule loaded = NULL;
    struct hd_buf fatbin;

    hd_buf_init(&fatbin);
    eq_u64(obj_fatbin_write(&source, 1, OBJ_CODEC_RAW, &fatbin), HD_OK, "a fat binary");
    success(cuModuleLoadFatBinary(&loaded, fatbin.ptr), "load it");
    ok(driver_function(loaded, "add") != NULL, "it has the kernel");
    success(cuModuleUnload(loaded), "unload");
    eq_u64(cuModuleLoadFatBinary(&loaded, NULL), CUDA_ERROR_INVALID_VALUE, "nothing");
    hd_buf_fini(&fatbin);
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    setenv("HEDDLE_DEVICES", "2", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate(&ctx, 0, 0), "context");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    add = driver_function(module, "add");
    test_context_settings();
    test_context_stack();
    test_devices();
    test_primary();
    test_functions();
    test_occupancy();
    test_streams();
    test_callback_of_other_context();
    test_event_times();
    test_memory();
    test_synchronous_memory();
    test_fills();
    test_library();
    test_fat_binary();
    success(cuProfilerStart(), "profiling");
    success(cuProfilerStop(), "and not");
    success(cuCtxDestroy(ctx), "destroy");
    eq_u64(cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT, "without a context");
    return done();
}
