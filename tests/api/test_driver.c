/* The way of a program through the driver API: context, module, memory, launch, result. */
#include "driver_fixture.h"
#include "core/handle.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define N 10000

static void test_vecadd(CUmodule module)
{
    static float a[N], b[N], c[N];
    CUdeviceptr da, db, dc;
    uint32_t n = N;
    void *params[] = {&da, &db, &dc, &n};
    unsigned wrong = 0;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = (float)(2 * i);
    success(cuMemAlloc_v2(&da, sizeof(a)), "alloc");
    success(cuMemAlloc_v2(&db, sizeof(b)), "alloc");
    success(cuMemAlloc_v2(&dc, sizeof(c)), "alloc");
    success(cuMemcpyHtoD_v2(da, a, sizeof(a)), "HtoD");
    success(cuMemcpyHtoD_v2(db, b, sizeof(b)), "HtoD");
    success(driver_launch(driver_function(module, "add"), (N + 255) / 256, 256, NULL, params),
            "launch");
    success(cuMemcpyDtoH_v2(c, dc, sizeof(c)), "DtoH");
    for (int i = 0; i < N; i++)
        wrong += c[i] != (float)(3 * i);
    eq_u64(wrong, 0, "sums");
    success(cuMemFree_v2(da), "free");
    success(cuMemFree_v2(db), "free");
    success(cuMemFree_v2(dc), "free");
}

static void test_module(CUmodule module)
{
    CUfunction func;
    CUdeviceptr table;
    size_t size_B;
    unsigned count;
    int value;

    success(cuModuleGetGlobal_v2(&table, &size_B, module, "table"), "variable");
    eq_u64(size_B, 64, "size of the variable");
    eq_u64(cuModuleGetGlobal_v2(&table, &size_B, module, "nothing"), CUDA_ERROR_NOT_FOUND,
           "unknown variable");
    eq_u64(cuModuleGetFunction(&func, module, "nothing"), CUDA_ERROR_NOT_FOUND, "unknown function");
    success(cuModuleGetFunctionCount(&count, module), "count");
    eq_u64(count, 3, "three kernels");
    func = driver_function(module, "add");
    success(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func), "attribute");
    eq_u64((unsigned)value, 1024, "threads per block");
    eq_u64(cuFuncSetAttribute(func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000),
           CUDA_ERROR_INVALID_VALUE, "more shared memory than there is");
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, func, 256, 0), "occupancy");
    eq_u64((unsigned)value, 6, "1536 threads in blocks of 256");
}

static void test_library(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr p;
    uint64_t *count, **arg = &count;
    void *params[] = {(void *)&arg};

    success(cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0), "library");
    success(cuLibraryGetKernel(&kernel, library, "slow"), "kernel");
    success(cuMemAllocManaged(&p, 8, CU_MEM_ATTACH_GLOBAL), "managed memory");
    count = (uint64_t *)(uintptr_t)p;
    *count = 0;
    params[0] = &count;
    success(driver_launch((CUfunction)kernel, 5, 32, NULL, params), "a kernel where a function is");
    success(cuCtxSynchronize(), "synchronize");
    eq_u64(*count, 5, "it ran");
    success(cuMemFree_v2(p), "free");
    success(cuLibraryUnload(library), "unload");
    eq_u64(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE, "unload twice");
}

static void test_streams(CUmodule module)
{
    CUfunction slow = driver_function(module, "slow");
    CUstream a, b;
    CUevent start, end;
    CUdeviceptr p;
    uint64_t count;
    float ms = -1;
    void *params[] = {&p};

    success(cuMemAlloc_v2(&p, 8), "alloc");
    success(cuMemsetD8_v2(p, 0, 8), "memset");
    success(cuCtxSynchronize(), "a non-blocking stream does not wait for the default stream");
    success(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&b, CU_STREAM_DEFAULT), "stream");
    success(cuEventCreate(&start, 0), "event");
    success(cuEventCreate(&end, 0), "event");
    eq_u64(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE, "never recorded");
    success(cuEventRecord(start, a), "record");
    success(driver_launch(slow, 6, 32, a, params), "launch");
    success(cuEventRecord(end, a), "record");
    success(cuStreamWaitEvent(b, end, 0), "wait");
    success(driver_launch(slow, 1, 32, b, params), "launch");
    /* The default stream waits for b, and so for a. */
    success(cuMemcpyDtoH_v2(&count, p, 8), "copy on the default stream");
    eq_u64(count, 7, "everything before it is done");
    success(cuEventSynchronize(end), "synchronize event");
    success(cuEventElapsedTime(&ms, start, end), "elapsed");
    ok(ms > 0, "time is positive: %f ms", (double)ms);
    success(cuStreamQuery(a), "query");
    success(cuStreamDestroy_v2(a), "destroy");
    success(cuStreamDestroy_v2(b), "destroy");
    eq_u64(cuStreamQuery(a), CUDA_ERROR_INVALID_HANDLE, "destroyed stream");
    success(cuEventDestroy_v2(start), "destroy");
    success(cuEventDestroy_v2(end), "destroy");
    success(cuMemFree_v2(p), "free");
}

static void test_stream_attributes(void)
{
    CUstream a = NULL, b = NULL;
    CUstreamAttrValue set = {.accessPolicyWindow = {.num_bytes = 4096, .hitRatio = 0.5f}}, got;
    CUstreamAttrValue policy = {.syncPolicy = CU_SYNC_POLICY_YIELD}, bad = {.syncPolicy = 9};

    ok(!cuStreamCreate(&a, 0) && !cuStreamCreateWithPriority(&b, 0, 0), "streams");
    success(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got), "policy");
    eq_u64(got.syncPolicy, CU_SYNC_POLICY_AUTO, "by default");
    success(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &set), "a window");
    success(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &policy), "yield");
    eq_u64(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &bad),
           CUDA_ERROR_INVALID_VALUE, "no such policy");
    eq_u64(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &set), CUDA_ERROR_INVALID_VALUE,
           "an attribute of launches");
    success(cuStreamCopyAttributes(b, a), "copy");
    success(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got), "get");
    eq_mem(&got, &set, sizeof(set), "what was set for the other");
    success(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got), "get");
    eq_u64(got.syncPolicy, CU_SYNC_POLICY_YIELD, "this too");
    ok(!cuStreamDestroy_v2(a) && !cuStreamDestroy_v2(b), "destroy");
}

static void test_entry_points(void)
{
    CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
    void *func;
    CUdriverProcAddressQueryResult why;

    success(cuGetProcAddress("cuMemAlloc", (void **)&alloc, 12000, 0), "cuMemAlloc");
    ok(alloc == cuMemAlloc_v2, "is the second version");
    success(cuGetProcAddress("cuCtxCreate", &func, 11040, 0), "cuCtxCreate of 11.4");
    ok(func == (void *)cuCtxCreate_v3, "is the third version");
    success(cuGetProcAddress_v2("cuLaunchKernel", &func, 13000,
                                CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &why),
            "per-thread default stream");
    ok(func != (void *)cuLaunchKernel, "is another function");
    success(cuGetProcAddress_v2("cuNoSuchThing", &func, 13000, 0, &why), "unknown name");
    eq_u64(why, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "reason");
    success(cuGetProcAddress_v2("cuLaunchKernel", &func, 1000, 0, &why), "too old a version");
    eq_u64(why, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "reason");
    success(cuGetProcAddress("cuCtxResetPersistingL2Cache", &func, 12000, 0),
            "what no device has exists");
    eq_u64(((CUresult(*)(void))func)(), CUDA_ERROR_NOT_SUPPORTED, "and says so");
}

static void test_memory_kinds(void)
{
    CUdeviceptr p, q, base;
    size_t size_B;
    void *host;
    unsigned type;
    char text[100], back[100];

    success(cuMemHostAlloc(&host, 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP), "pinned");
    success(cuMemHostGetDevicePointer_v2(&p, host, 0), "device pointer");
    eq_u64(p, (uintptr_t)host, "one address space");
    success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), "attribute");
    eq_u64(type, CU_MEMORYTYPE_HOST, "pinned memory is host memory");
    success(cuMemHostRegister_v2(text, sizeof(text), 0), "register");
    eq_u64(cuMemHostRegister_v2(text, sizeof(text), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
           "register twice");
    eq_u64(cuMemHostUnregister(text + 50), CUDA_ERROR_INVALID_VALUE, "unregister the middle");
    success(cuMemHostUnregister(text), "unregister");
    eq_u64(cuMemHostUnregister(text), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "unregister twice");
    success(cuMemAlloc_v2(&q, 3 << 20), "large block");
    success(cuMemGetAddressRange_v2(&base, &size_B, q + 12345), "range");
    eq_u64(base, q, "base");
    eq_u64(size_B, 3 << 20, "size");
    success(cuMemsetD32_v2(q, 0x01020304, 25), "memset");
    success(cuMemcpyDtoH_v2(back, q, 100), "copy back");
    eq_mem(back, "\4\3\2\1\4\3\2\1", 8, "pattern");
    success(cuMemFree_v2(q), "free");
    success(cuMemFreeHost(host), "free pinned");
}

struct gate {
    atomic_bool begins, may_end;
};

/* Ten seconds at most. */
static void wait_for(const atomic_bool *flag)
{
    for (int i = 0; i < 10000 && !atomic_load(flag); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void CUDA_CB pass(void *data)
{
    struct gate *gate = data;

    atomic_store(&gate->begins, true);
    wait_for(&gate->may_end);
}

/*
 * A stream waits for an event of a context that is destroyed meanwhile: the wait is the last that
 * has it, and lets it go on the thread of host calls, which makes one call behind the other.
 */
static void test_event_of_a_destroyed_context(CUcontext ctx)
{
    uint64_t before = core_handle_usage(CORE_CONTEXT).used;
    CUcontext other;
    CUstream waits, works;
    CUevent event;
    struct gate first = {0}, second = {0};

    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(cuStreamCreate(&works, CU_STREAM_NON_BLOCKING), "with a stream");
    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "and an event");
    success(cuLaunchHostFunc(works, pass, &first), "work");
    success(cuEventRecord(event, works), "recorded behind it");
    wait_for(&first.begins);
    success(cuCtxSetCurrent(ctx), "the first context");
    success(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING), "stream");
    success(cuLaunchHostFunc(waits, pass, &second), "longer work than the other's");
    success(cuStreamWaitEvent(waits, event, 0), "and a wait");
    atomic_store(&first.may_end, true);
    success(cuCtxDestroy_v2(other), "destroy");
    ok(core_handle_usage(CORE_CONTEXT).used == before + 1, "the wait still has the context");
    atomic_store(&second.may_end, true);
    success(cuStreamSynchronize(waits), "synchronize");
    for (int i = 0; i < 5000 && core_handle_usage(CORE_CONTEXT).used > before; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    eq_u64(core_handle_usage(CORE_CONTEXT).used, before, "it is gone");
    success(cuStreamDestroy_v2(waits), "stream");
}

/* Memory that is not there, or only in part, or the device's own, cannot be pinned. */
static void test_register(void)
{
    const size_t page_B = 4096;
    char *at = mmap(NULL, 4 * page_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr va, managed;
    void *pinned;

    munmap(at + 2 * page_B, page_B);
    mprotect(at + 3 * page_B, page_B, PROT_NONE);
    eq_u64(cuMemHostRegister_v2((void *)0x10000, 4096, 0), CUDA_ERROR_INVALID_VALUE, "no memory");
    eq_u64(cuMemHostRegister_v2(at, 3 * page_B, 0), CUDA_ERROR_INVALID_VALUE, "a hole at the end");
    eq_u64(cuMemHostRegister_v2(at, 4 * page_B, 0), CUDA_ERROR_INVALID_VALUE, "and in the middle");
    eq_u64(cuMemHostRegister_v2(at + page_B, page_B + 1, 0), CUDA_ERROR_INVALID_VALUE, "one byte");
    eq_u64(cuMemHostRegister_v2(at + 3 * page_B, 64, 0), CUDA_ERROR_INVALID_VALUE, "no rights");
    eq_u64(cuMemHostRegister_v2(at, SIZE_MAX - 64, 0), CUDA_ERROR_INVALID_VALUE, "too much");
    success(cuMemHostRegister_v2(at + 100, page_B, 0), "part of two pages");
    eq_u64(cuMemHostRegister_v2(at, 2 * page_B, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
           "around it");
    success(cuMemHostUnregister(at + 100), "unregister");
    success(cuMemHostRegister_v2(at, 2 * page_B, 0), "all that there is");
    success(cuMemHostUnregister(at), "unregister");
    success(cuMemAlloc_v2(&va, page_B), "device memory");
    success(cuMemAllocManaged(&managed, page_B, CU_MEM_ATTACH_GLOBAL), "managed memory");
    success(cuMemHostAlloc(&pinned, page_B, 0), "pinned memory");
    eq_u64(cuMemHostRegister_v2((void *)va, page_B, 0), CUDA_ERROR_INVALID_VALUE, "of the device");
    eq_u64(cuMemHostRegister_v2((void *)managed, page_B, 0), CUDA_ERROR_INVALID_VALUE, "managed");
    eq_u64(cuMemHostRegister_v2(pinned, page_B, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
           "pinned");
    success(cuMemFree_v2(va), "free");
    success(cuMemFree_v2(managed), "free");
    success(cuMemFreeHost(pinned), "free");
    munmap(at, 4 * page_B);
}

/* Only the library unloads the module that it made. */
static void test_library_module(void)
{
    CUlibrary library;
    CUmodule module;
    CUfunction function;

    success(cuLibraryLoadData(&library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0), "library");
    success(cuLibraryGetModule(&module, library), "its module");
    eq_u64(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED, "is not the program's to unload");
    success(cuModuleGetFunction(&function, module, "add"), "and is still there");
    success(cuLibraryUnload(library), "unload");
}

int main(void)
{
    CUcontext ctx, popped;
    CUmodule module;
    int n = 0;

    eq_u64(cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED, "before cuInit");
    success(cuInit(0), "cuInit");
    success(cuDeviceGetCount(&n), "count");
    eq_u64((unsigned)n, 1, "one device");
    success(cuCtxCreate_v4(&ctx, NULL, 0, 0), "context");
    if (!success(cuModuleLoadData(&module, driver_ptx), "module"))
        return done();
    test_vecadd(module);
    test_module(module);
    test_library();
    test_streams(module);
    test_stream_attributes();
    test_entry_points();
    test_memory_kinds();
    test_register();
    test_library_module();
    test_event_of_a_destroyed_context(ctx);
    success(cuModuleUnload(module), "unload");
    success(cuCtxPopCurrent_v2(&popped), "pop");
    ok(popped == ctx, "the context");
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
