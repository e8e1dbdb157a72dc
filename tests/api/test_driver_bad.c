/* Wrong calls and faulting kernels: the documented error, sticky where it is, the process alive. */
#include "driver_fixture.h"

static void test_launch_limits(CUmodule module)
{
    CUfunction slow = driver_function(module, "slow");
    CUdeviceptr p;
    void *params[] = {&p}, *none[] = {NULL};

    success(cuMemAlloc_v2(&p, 8), "alloc");
    eq_u64(cuLaunchKernel(slow, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE,
           "grid of 0");
    eq_u64(cuLaunchKernel(slow, 1, 65536, 1, 32, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE, "grid.y of 65536");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE, "block of 1025");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 64, 32, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE, "block of 64 x 32");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 1, 1, 65, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE,
           "block.z of 65");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 49153, NULL, params, NULL),
           CUDA_ERROR_INVALID_VALUE, "too much shared memory");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE,
           "no parameters");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, NULL, none, NULL), CUDA_ERROR_INVALID_VALUE,
           "a null parameter");
    eq_u64(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_HANDLE, "null function");
    eq_u64(cuLaunchKernel((CUfunction)params, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
           CUDA_ERROR_INVALID_HANDLE, "garbage function");
    eq_u64(cuLaunchKernel(slow, 1, 1, 1, 32, 1, 1, 0, (CUstream)params, params, NULL),
           CUDA_ERROR_INVALID_HANDLE, "garbage stream");
    eq_u64(cuLaunchCooperativeKernel(slow, 100000, 1, 1, 256, 1, 1, 0, NULL, params),
           CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "cooperative grid too large");
    success(cuMemFree_v2(p), "free");
}

static CUresult launch_with(CUfunction func, void **params, int id, CUlaunchAttributeValue value)
{
    CUlaunchAttribute attribute = {.id = (CUlaunchAttributeID)id, .value = value};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};

    return cuLaunchKernelEx(&config, func, params, NULL);
}

/* No attribute is taken without its effect, unless it is documented as a hint. */
static void test_launch_attributes(CUmodule module)
{
    static const struct {
        int id;
        CUresult want;
    } cases[] = {
        {0, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CUDA_ERROR_INVALID_VALUE},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CUDA_ERROR_INVALID_HANDLE},
        {CU_LAUNCH_ATTRIBUTE_PRIORITY, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CUDA_ERROR_INVALID_HANDLE},
        {CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, CUDA_ERROR_INVALID_VALUE},
        {CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CUDA_SUCCESS},
        {15, CUDA_ERROR_INVALID_VALUE},
        {99, CUDA_ERROR_INVALID_VALUE},
        {-1, CUDA_ERROR_INVALID_VALUE},
    };
    CUfunction slow = driver_function(module, "slow");
    CUlaunchAttributeValue value = {.clusterDim = {2, 1, 1}};
    CUevent timed, event;
    CUdeviceptr p;
    void *params[] = {&p};

    success(cuMemAlloc_v2(&p, 8), "alloc");
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++)
        eq_u64(launch_with(slow, params, cases[i].id, (CUlaunchAttributeValue){{0}}), cases[i].want,
               "launch attribute %d", cases[i].id);
    eq_u64(launch_with(slow, params, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value),
           CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters of 2 in a grid of 1");
    eq_u64(launch_with(slow, params, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, value),
           CUDA_ERROR_INVALID_CLUSTER_SIZE, "they are preferred to nothing");
    success(cuEventCreate(&timed, 0), "event");
    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event without timing");
    value.launchCompletionEvent.event = timed;
    value.launchCompletionEvent.flags = 0;
    eq_u64(launch_with(slow, params, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, value),
           CUDA_ERROR_INVALID_VALUE, "an event that keeps time");
    value.launchCompletionEvent.event = event;
    success(launch_with(slow, params, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, value),
            "completion event");
    success(cuEventSynchronize(event), "is recorded");
    success(cuEventDestroy_v2(timed), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
    success(cuCtxSynchronize(), "synchronize");
    success(cuMemFree_v2(p), "free");
}

static void test_memory(void)
{
    CUdeviceptr p, small;
    char host[64];
    size_t unused, total;

    success(cuMemGetInfo_v2(&unused, &total), "info");
    eq_u64(total, 256u << 20, "HEDDLE_MEMORY");
    eq_u64(cuMemAlloc_v2(&p, 257u << 20), CUDA_ERROR_OUT_OF_MEMORY, "more than there is");
    eq_u64(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE, "0 bytes");
    eq_u64(cuMemAlloc_v2(NULL, 16), CUDA_ERROR_INVALID_VALUE, "null");
    success(cuMemAlloc_v2(&p, 1 << 20), "alloc");
    success(cuMemAlloc_v2(&small, 100), "alloc");
    eq_u64(cuMemFree_v2(p + 256), CUDA_ERROR_INVALID_VALUE, "free inside a block");
    eq_u64(cuMemcpyHtoD_v2(small, host, 0), CUDA_SUCCESS, "copy of 0 bytes");
    eq_u64(cuMemcpyHtoD_v2(small + 90, host, 11), CUDA_ERROR_INVALID_VALUE, "past the end");
    eq_u64(cuMemcpyHtoD_v2((uintptr_t)host, host, 8), CUDA_ERROR_INVALID_VALUE,
           "host memory as destination");
    eq_u64(cuMemcpyDtoH_v2(host, 0, 8), CUDA_ERROR_INVALID_VALUE, "null source");
    eq_u64(cuMemsetD32_v2(small + 2, 0, 4), CUDA_ERROR_INVALID_VALUE, "misaligned memset");
    success(cuMemFree_v2(p), "free");
    eq_u64(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE, "double free");
    eq_u64(cuMemFree_v2((uintptr_t)host), CUDA_ERROR_INVALID_VALUE, "free of host memory");
    eq_u64(cuMemcpyDtoH_v2(host, p, 8), CUDA_ERROR_INVALID_VALUE, "copy from freed memory");
    success(cuMemFree_v2(0), "free of null");
    success(cuMemFree_v2(small), "free");
}

/* What modules and graphs have is not the program's to free, unmap or share. */
static void test_memory_of_others(CUmodule module)
{
    CUipcMemHandle ipc;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                        .bytesize = 4096};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr table;
    size_t size_B, room_B = (size_t)2 << 20;

    success(cuModuleGetGlobal_v2(&table, &size_B, module, "table"), "a variable");
    eq_u64(cuMemFree_v2(table), CUDA_ERROR_INVALID_VALUE, "free a variable");
    eq_u64(cuMemFreeAsync(table, NULL), CUDA_ERROR_INVALID_VALUE, "free it in a stream");
    eq_u64(cuIpcGetMemHandle(&ipc, table), CUDA_ERROR_INVALID_VALUE, "share it");
    success(cuMemsetD8_v2(table, 0, size_B), "it is still there");

    success(cuGraphCreate(&graph, 0), "a graph");
    success(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc), "that allocates");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    success(cuGraphLaunch(exec, NULL), "launch");
    success(cuCtxSynchronize(), "it is mapped");
    eq_u64(cuMemUnmap(alloc.dptr, room_B), CUDA_ERROR_INVALID_VALUE, "unmap a graph's memory");
    eq_u64(cuMemSetAccess(alloc.dptr, room_B, &access, 1), CUDA_ERROR_INVALID_VALUE, "protect it");
    eq_u64(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)alloc.dptr),
           CUDA_ERROR_INVALID_VALUE, "retain it");
    eq_u64(cuIpcGetMemHandle(&ipc, alloc.dptr), CUDA_ERROR_INVALID_VALUE, "share it");
    eq_u64(cuMemAddressFree(alloc.dptr, room_B), CUDA_ERROR_INVALID_VALUE, "free its addresses");
    success(cuMemsetD8_v2(alloc.dptr, 0, 4096), "it is still there");
    success(cuMemFree_v2(alloc.dptr), "free it");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuDeviceGraphMemTrim(0), "trim");
}

static void test_images(void)
{
    CUmodule module;
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)};

    eq_u64(cuModuleLoadData(&module, "garbage"), CUDA_ERROR_INVALID_IMAGE, "garbage image");
    eq_u64(cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_80\n!", 2, options, values),
           CUDA_ERROR_INVALID_PTX, "bad PTX");
    eq_str(log, "line 1: '!'", "error log");
    eq_u64(cuModuleLoad(&module, tap_missing_path()), CUDA_ERROR_FILE_NOT_FOUND, "missing file");
    eq_u64(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE, "null image");
}

/* A fault sticks to its context; another one works on; resetting the primary context heals it. */
static void test_sticky(CUcontext other, CUmodule other_module)
{
    CUcontext primary;
    CUmodule module;
    CUdeviceptr freed, p, bad = 64;
    void *params[] = {&bad};
    uint64_t count = 0;

    success(cuDevicePrimaryCtxRetain(&primary, 0), "retain");
    success(cuCtxSetCurrent(primary), "set");
    success(cuModuleLoadData(&module, driver_ptx), "load");
    success(cuMemAlloc_v2(&freed, 1 << 20), "alloc");
    success(cuMemFree_v2(freed), "free");
    bad = freed;
    success(driver_launch(driver_function(module, "wild"), 1, 32, NULL, params), "launch");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "use after free");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "again");
    eq_u64(cuMemAlloc_v2(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS, "sticky everywhere");
    success(cuCtxSetCurrent(other), "the other context");
    success(cuMemAlloc_v2(&p, 8), "alloc");
    success(cuMemsetD8_v2(p, 0, 8), "memset");
    params[0] = &p;
    success(driver_launch(driver_function(other_module, "slow"), 3, 32, NULL, params), "launch");
    success(cuMemcpyDtoH_v2(&count, p, 8), "copy");
    eq_u64(count, 3, "unharmed");
    success(cuMemFree_v2(p), "free");
    success(cuDevicePrimaryCtxReset_v2(0), "reset");
    success(cuCtxSetCurrent(primary), "set");
    success(cuCtxSynchronize(), "healthy again");
    success(cuModuleLoadData(&module, driver_ptx), "load");
    params[0] = &bad;
    bad = 8;
    success(driver_launch(driver_function(module, "wild"), 1, 32, NULL, params), "launch");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "null pointer");
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED, "a destroyed current context");
    eq_u64(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT, "release too often");
    success(cuCtxSetCurrent(other), "set");
}

/* The last release resets the primary context: who retains it again finds it, and nothing in it. */
static void test_primary_again(void)
{
    CUcontext before, first, second;
    CUdeviceptr p;
    CUdevice device = -1;
    CUmodule module;

    success(cuCtxGetCurrent(&before), "current");
    success(cuDevicePrimaryCtxRetain(&first, 0), "retain");
    success(cuCtxSetCurrent(first), "set");
    success(cuModuleLoadData(&module, driver_ptx), "a module");
    success(cuMemAlloc_v2(&p, 16), "alloc");
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    success(cuCtxGetDevice(&device), "the device of a primary context that nobody has");
    eq_u64((unsigned)device, 0, "is known");
    eq_u64(cuMemFree_v2(p), CUDA_ERROR_CONTEXT_IS_DESTROYED, "nothing else works");
    eq_u64(cuCtxPushCurrent_v2(first), CUDA_ERROR_INVALID_CONTEXT, "nor does the handle");
    success(cuDevicePrimaryCtxRetain(&second, 0), "retain again");
    ok(second == first, "the same handle");
    eq_u64(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE, "its memory is gone");
    eq_u64(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE, "and its modules");
    success(cuMemAlloc_v2(&p, 16), "it is current as before");
    success(cuMemFree_v2(p), "free");
    success(cuDevicePrimaryCtxRelease_v2(0), "release");
    success(cuCtxSetCurrent(before), "back");
}

/* Calls about one allocation, stream or event. */
static void test_without_current(void)
{
    CUdeviceptr p, q;
    CUcontext popped;
    CUmemoryPool pool;
    CUstream stream;
    CUevent event;
    void *host;

    success(cuMemAlloc_v2(&p, 16), "alloc");
    success(cuMemAllocHost_v2(&host, 16), "of the host");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuEventCreate(&event, 0), "event");
    success(cuEventRecord(event, stream), "record");
    success(cuDeviceGetDefaultMemPool(&pool, 0), "pool");
    success(cuCtxPopCurrent_v2(&popped), "pop");
    success(cuEventSynchronize(event), "wait for an event");
    success(cuEventQuery(event), "ask it");
    success(cuMemAllocFromPoolAsync(&q, 16, pool, stream), "from a pool");
    success(cuMemFreeAsync(q, stream), "back");
    success(cuStreamSynchronize(stream), "wait for a stream");
    success(cuStreamQuery(stream), "ask it");
    eq_u64(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT, "but not for a default stream");
    success(cuMemFree_v2(p), "free");
    eq_u64(cuMemFree_v2(p), CUDA_ERROR_INVALID_CONTEXT, "whose memory is that?");
    success(cuMemFreeHost(host), "free of the host");
    success(cuCtxPushCurrent_v2(popped), "push");
    success(cuEventDestroy_v2(event), "destroy");
    success(cuStreamDestroy_v2(stream), "destroy");
}

static void test_contexts(void)
{
    CUcontext ctx = NULL, popped;
    int value;

    eq_u64(cuCtxSetCurrent((CUcontext)&ctx), CUDA_ERROR_INVALID_CONTEXT, "garbage context");
    eq_u64(cuCtxDestroy_v2(NULL), CUDA_ERROR_INVALID_CONTEXT, "destroy null");
    eq_u64(cuDeviceGet(&value, 7), CUDA_ERROR_INVALID_DEVICE, "device 7");
    eq_u64(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE,
           "attribute 9999");
    test_primary_again();
    test_without_current();
    success(cuCtxPopCurrent_v2(&popped), "pop");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT, "no context");
    eq_u64(cuCtxPopCurrent_v2(&ctx), CUDA_ERROR_INVALID_CONTEXT, "pop of nothing");
    success(cuCtxPushCurrent_v2(popped), "push");
}

int main(void)
{
    CUcontext ctx;
    CUmodule module;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    if (!success(cuModuleLoadData(&module, driver_ptx), "module"))
        return done();
    test_contexts();
    test_launch_limits(module);
    test_launch_attributes(module);
    test_memory();
    test_memory_of_others(module);
    test_images();
    test_sticky(ctx, module);
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
