/*
 * Stream capture of the driver API: what becomes a node of what, forks and joins over events, and
 * every error that the documentation names. Code is fake (tests/dev/fake_jit.h).
 */
#include <pthread.h>

#include "driver_fixture.h"

#define fails(call, error, ...) eq_u64((call), CUDA_ERROR_##error, __VA_ARGS__)

enum { N = 256 };

static CUcontext ctx;
static CUstream first, second, blocking;
static CUfunction add;
static CUdeviceptr a, b, c;
static _Atomic int calls;

static void count_call(void *arg)
{
    ++*(_Atomic int *)arg;
}

static CUresult add_in(CUstream stream, CUdeviceptr x, CUdeviceptr y, CUdeviceptr z)
{
    uint32_t count = N;
    void *args[] = {&x, &y, &z, &count};

    return driver_launch(add, N / 64, 64, stream, args);
}

static void begin(CUstream stream)
{
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
}

static CUgraph end(CUstream stream)
{
    CUgraph graph = NULL;

    success(cuStreamEndCapture(stream, &graph), "end");
    return graph;
}

/* The capture has failed: its end says so and gives nothing. */
static void end_failed(CUstream stream, CUresult error)
{
    CUgraph graph = (CUgraph)&graph;
    CUstreamCaptureStatus status;

    eq_u64(cuStreamEndCapture(stream, &graph), error, "the end of a capture that failed");
    ok(!graph, "no graph");
    success(cuStreamIsCapturing(stream, &status), "and the stream");
    eq_u64(status, CU_STREAM_CAPTURE_STATUS_NONE, "is free again");
}

static size_t nodes_of(CUgraph graph, CUgraphNode nodes[8])
{
    size_t n = 8;

    success(cuGraphGetNodes(graph, nodes, &n), "its nodes");
    return n;
}

static unsigned wrong_floats(CUdeviceptr at, float want)
{
    const float *p = (const float *)(uintptr_t)at;
    unsigned wrong = 0;

    for (unsigned i = 0; i < N; i++)
        wrong += p[i] != want;
    return wrong;
}

static void run(CUgraph graph)
{
    CUgraphExec exec;

    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    success(cuGraphLaunch(exec, first), "launch");
    success(cuStreamSynchronize(first), "the end");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

#define BITS(x)                                                                                    \
    ((union {                                                                                      \
         float f;                                                                                  \
         unsigned u;                                                                               \
     }){.f = (x)}                                                                                  \
         .u)

static void test_line(void)
{
    static const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL,
                                            CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST};
    CUstreamCaptureStatus status;
    CUgraphNode nodes[8];
    CUgraphNodeType type;
    CUgraph graph, seen;
    const CUgraphNode *deps;
    cuuint64_t id = 0;
    size_t n = 0;

    memset((void *)(uintptr_t)c, 0, N * sizeof(float));
    calls = 0;
    begin(first);
    success(cuMemsetD32Async(a, BITS(2), N, first), "a fill");
    success(add_in(first, a, a, b), "a launch");
    success(cuMemcpyDtoDAsync_v2(c, b, N * sizeof(float), first), "a copy");
    success(cuStreamGetCaptureInfo_v2(first, &status, &id, &seen, &deps, &n), "ask");
    ok(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && n == 1, "it is capturing");
    success(cuGraphNodeGetType(deps[0], &type), "its last node");
    eq_u64(type, CU_GRAPH_NODE_TYPE_MEMCPY, "is the copy");
    success(cuLaunchHostFunc(first, count_call, &calls), "a call");
    eq_u64(cuGraphDestroy(seen), CUDA_ERROR_INVALID_VALUE, "a graph that is being captured");
    graph = end(first);
    ok(graph == seen, "the same graph");
    eq_u64((unsigned)calls + wrong_floats(c, 0), 0, "nothing ran");
    eq_u64(nodes_of(graph, nodes), 4, "four nodes");
    for (int i = 0; i < 4; i++) {
        success(cuGraphNodeGetType(nodes[i], &type), "node %d", i);
        eq_u64(type, types[i], "type");
        success(cuGraphNodeGetDependencies(nodes[i], NULL, &n), "its dependencies");
        eq_u64(n, i != 0, "the one before");
    }
    run(graph);
    eq_u64(wrong_floats(c, 4) + (unsigned)(calls != 1), 0, "they run");
}

/* first: fill a, fork; second: fill b; both: c = a + b. */
static void test_fork(void)
{
    CUevent forked, joined;
    CUgraphNode nodes[8], deps[8];
    CUgraph graph;
    size_t n = 8;

    success(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING), "event");
    success(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING), "event");
    begin(first);
    success(cuEventRecord(forked, first), "fork");
    success(cuStreamWaitEvent(second, forked, 0), "into the second stream");
    success(cuMemsetD32Async(a, BITS(3), N, first), "here");
    success(cuMemsetD32Async(b, BITS(4), N, second), "there");
    success(cuEventRecord(joined, second), "join");
    success(cuStreamWaitEvent(first, joined, 0), "back");
    success(add_in(first, a, b, c), "both");
    fails(cuEventQuery(joined), CAPTURED_EVENT, "of a captured event");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    begin(first);
    success(cuEventRecord(forked, first), "fork");
    success(cuStreamWaitEvent(second, forked, 0), "into the second stream");
    success(cuMemsetD32Async(a, BITS(3), N, first), "here");
    success(cuMemsetD32Async(b, BITS(4), N, second), "there");
    success(cuEventRecord(joined, second), "join");
    success(cuStreamWaitEvent(first, joined, 0), "back");
    success(add_in(first, a, b, c), "both");
    graph = end(first);
    eq_u64(nodes_of(graph, nodes), 3, "events are edges");
    success(cuGraphNodeGetDependencies(nodes[2], deps, &n), "the launch");
    eq_u64(n, 2, "needs both fills");
    run(graph);
    eq_u64(wrong_floats(c, 7), 0, "and comes behind them");
    success(cuEventRecord(joined, first), "recorded outside");
    success(cuEventSynchronize(joined), "it is an event again");
    success(cuEventDestroy_v2(forked), "destroy");
    success(cuEventDestroy_v2(joined), "destroy");
}

static void test_unjoined(void)
{
    CUevent event;
    CUgraph graph;

    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
    begin(first);
    success(cuEventRecord(event, first), "fork");
    success(cuStreamWaitEvent(second, event, 0), "into the second stream");
    success(cuMemsetD32Async(b, 1, N, second), "work there");
    fails(cuStreamEndCapture(second, &graph), STREAM_CAPTURE_UNMATCHED, "not where it began");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    success(cuMemsetD32Async(b, 1, N, second), "the second stream is free, too");
    success(cuEventDestroy_v2(event), "destroy");
}

static void test_borders(void)
{
    CUevent outside, inside;
    CUgraph graph;

    success(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING), "event");
    success(cuEventCreate(&inside, CU_EVENT_DISABLE_TIMING), "event");
    success(cuEventRecord(outside, second), "recorded outside");
    begin(first);
    fails(cuStreamWaitEvent(first, outside, 0), STREAM_CAPTURE_ISOLATION, "crosses the border");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(first);
    begin(second);
    success(cuEventRecord(inside, first), "recorded in one capture");
    fails(cuStreamWaitEvent(second, inside, 0), STREAM_CAPTURE_MERGE, "waited for in another");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_failed(second, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(first);
    success(cuStreamWaitEvent(first, outside, CU_EVENT_WAIT_EXTERNAL), "external: a node");
    success(cuEventRecordWithFlags(outside, first, CU_EVENT_RECORD_EXTERNAL), "another");
    graph = end(first);
    run(graph);
    fails(cuEventRecordWithFlags(outside, first, CU_EVENT_RECORD_EXTERNAL), INVALID_VALUE,
          "external, without a capture");
    success(cuEventDestroy_v2(outside), "destroy");
    success(cuEventDestroy_v2(inside), "destroy");
}

static void test_states(void)
{
    CUgraph graph;
    CUevent event;
    CUstream doomed;

    fails(cuStreamEndCapture(first, &graph), ILLEGAL_STATE, "end without a begin");
    fails(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED), STREAM_CAPTURE_UNSUPPORTED,
          "the legacy stream");
    fails(cuStreamBeginCapture_v2(first, 3), INVALID_VALUE, "unknown mode");
    begin(first);
    fails(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL), ILLEGAL_STATE, "twice");
    success(cuGraphDestroy(end(first)), "an empty graph");
    begin(first);
    fails(cuStreamSynchronize(first), STREAM_CAPTURE_UNSUPPORTED, "waiting for it");
    fails(add_in(first, a, b, c), STREAM_CAPTURE_INVALIDATED, "the next operation");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(first);
    fails(cuCtxSynchronize(), STREAM_CAPTURE_UNSUPPORTED, "waiting for all");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(blocking);
    fails(cuMemsetD8Async(a, 0, 1, NULL), STREAM_CAPTURE_IMPLICIT, "the legacy stream");
    end_failed(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(first);
    success(cuMemsetD8Async(a, 0, 1, NULL), "does not wait for one that is not blocking");
    success(cuGraphDestroy(end(first)), "destroy");
    success(cuStreamCreate(&doomed, 0), "a stream");
    begin(doomed);
    success(cuMemsetD8Async(a, 0, 1, doomed), "captures");
    success(cuStreamDestroy_v2(doomed), "and goes");
    success(cuMemsetD8Async(a, 0, 1, NULL), "with its capture");
    for (int joined = 0; joined < 2; joined++) {
        success(cuStreamCreate(&doomed, CU_STREAM_NON_BLOCKING), "a stream");
        success(cuEventCreate(&event, 0), "an event");
        begin(first);
        success(cuEventRecord(event, first), "fork");
        success(cuStreamWaitEvent(doomed, event, 0), "another stream");
        success(cuMemsetD8Async(a, 0, 1, doomed), "with work");
        success(cuEventRecord(event, doomed), "that ends");
        if (joined)
            success(cuStreamWaitEvent(first, event, 0), "before the first goes on");
        success(cuStreamDestroy_v2(doomed), "it goes");
        success(cuEventDestroy_v2(event), "so does the event");
        if (joined)
            success(cuGraphDestroy(end(first)), "its work was joined");
        else
            end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

static void *other_thread(void *arg)
{
    CUgraph graph;
    CUdeviceptr va;
    CUresult *results = arg;

    if (cuCtxSetCurrent(ctx))
        abort();
    results[0] = cuStreamEndCapture(first, &graph);
    results[1] = cuMemAlloc_v2(&va, 16);
    return NULL;
}

static void in_thread(CUresult results[2])
{
    pthread_t thread;

    pthread_create(&thread, NULL, other_thread, results);
    pthread_join(thread, NULL);
}

static void test_modes(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult results[2];
    CUdeviceptr va;

    begin(first);
    fails(cuMemAlloc_v2(&va, 16), STREAM_CAPTURE_UNSUPPORTED, "allocation in global mode");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(first);
    success(cuThreadExchangeStreamCaptureMode(&mode), "a relaxed thread");
    success(cuMemAlloc_v2(&va, 16), "may");
    success(cuThreadExchangeStreamCaptureMode(&mode), "and back");
    in_thread(results);
    fails(results[0], STREAM_CAPTURE_WRONG_THREAD, "end in another thread");
    fails(results[1], STREAM_CAPTURE_UNSUPPORTED, "allocation in another thread");
    end_failed(first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    success(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "thread-local");
    in_thread(results);
    fails(results[0], STREAM_CAPTURE_WRONG_THREAD, "end in another thread");
    eq_u64(results[1], CUDA_SUCCESS, "allocation in another thread");
    success(cuGraphDestroy(end(first)), "nothing happened");
    success(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED), "relaxed");
    success(cuMemFree_v2(va), "memory");
    in_thread(results);
    eq_u64(results[0], CUDA_SUCCESS, "any thread may end it");
}

static void test_graphs(void)
{
    CUgraph graph, inner;
    CUgraphExec exec;
    CUgraphNode nodes[8], node;
    CUgraphNodeType type;

    begin(first);
    success(cuMemsetD32Async(a, BITS(5), N, first), "a fill");
    inner = end(first);
    success(cuGraphInstantiateWithFlags(&exec, inner, 0), "instantiate");
    success(cuGraphCreate(&graph, 0), "a graph");
    success(cuGraphAddEmptyNode(&node, graph, NULL, 0), "a node");
    success(
        cuStreamBeginCaptureToGraph(first, graph, &node, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL),
        "capture behind it");
    success(cuGraphLaunch(exec, first), "a graph");
    success(add_in(first, a, a, c), "a launch");
    success(cuStreamUpdateCaptureDependencies(first, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            "go back");
    success(cuLaunchHostFunc(first, count_call, &calls), "beside them");
    success(cuStreamUpdateCaptureDependencies(first, &node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
            "and more");
    ok(end(first) == graph, "the same graph");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(inner), "destroy");
    eq_u64(nodes_of(graph, nodes), 4, "four nodes");
    success(cuGraphNodeGetType(nodes[1], &type), "the second");
    eq_u64(type, CU_GRAPH_NODE_TYPE_GRAPH, "is a child graph");
    run(graph);
    eq_u64(wrong_floats(c, 10), 0, "that runs");
    fails(cuStreamUpdateCaptureDependencies(first, NULL, 0, 0), ILLEGAL_STATE, "not capturing");
}

/* ---- calls whose effect a capture would not see */

static CUdeviceptr unsafe_va;
static CUmemoryPool unsafe_pool;
static CUarray unsafe_array;
static CUmipmappedArray unsafe_mips;
static void *unsafe_host;
static char unsafe_bytes[8192];
static CUevent unsafe_event, safe_event;
static CUmodule unsafe_module;
static CUgraphExec unsafe_exec;
static CUstream safe_stream;
static CUfunction safe_func;
static CUdeviceptr safe_memory;
static CUcontext safe_ctx;
static CUgraph safe_graph;
static CUlibrary safe_library;

static const CUDA_ARRAY3D_DESCRIPTOR unsafe_shape = {
    .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};

#define UNSAFE_LIST(X)                                                                             \
    X(cuMemAlloc_v2(&unsafe_va, 64))                                                               \
    X(cuMemAllocPitch_v2(&unsafe_va, &pitch_B, 64, 4, 4))                                          \
    X(cuMemAllocManaged(&unsafe_va, 64, CU_MEM_ATTACH_GLOBAL))                                     \
    X(cuMemFree_v2(unsafe_va))                                                                     \
    X(cuMemHostAlloc(&unsafe_host, 64, 0))                                                         \
    X(cuMemAllocHost_v2(&unsafe_host, 64))                                                         \
    X(cuMemFreeHost(unsafe_host))                                                                  \
    X(cuMemHostRegister_v2(unsafe_bytes, 64, 0))                                                   \
    X(cuMemHostUnregister(unsafe_bytes))                                                           \
    X(cuMemPoolCreate(&unsafe_pool, &props))                                                       \
    X(cuMemPoolGetAttribute(unsafe_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &number))              \
    X(cuMemPoolSetAttribute(unsafe_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &number))              \
    X(cuMemPoolTrimTo(unsafe_pool, 0))                                                             \
    X(cuArray3DCreate_v2(&unsafe_array, &unsafe_shape))                                            \
    X(cuArrayDestroy(unsafe_array))                                                                \
    X(cuArrayCreate_v2(&unsafe_array, &flat))                                                      \
    X(cuMipmappedArrayCreate(&unsafe_mips, &unsafe_shape, 2))                                      \
    X(cuMipmappedArrayDestroy(unsafe_mips))                                                        \
    X(cuEventQuery(unsafe_event))                                                                  \
    X(cuEventSynchronize(unsafe_event))                                                            \
    X(cuModuleLoadData(&unsafe_module, driver_ptx))                                                \
    X(cuModuleUnload(unsafe_module))                                                               \
    X(cuModuleLoadDataEx(&unsafe_module, driver_ptx, 0, NULL, NULL))                               \
    X(cuModuleUnload(unsafe_module))                                                               \
    X(cuModuleLoadFatBinary(&unsafe_module, driver_ptx))                                           \
    X(cuGraphExecDestroy(unsafe_exec))

/* What captures have to allow: libraries make such calls in them. */
#define SAFE_LIST(X)                                                                               \
    X(cuEventCreate(&safe_event, 0))                                                               \
    X(cuEventDestroy_v2(safe_event))                                                               \
    X(cuStreamCreate(&safe_stream, CU_STREAM_NON_BLOCKING))                                        \
    X(cuStreamDestroy_v2(safe_stream))                                                             \
    X(cuModuleGetFunction(&safe_func, unsafe_module, "add"))                                       \
    X(cuFuncSetAttribute(safe_func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024))        \
    X(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, safe_func))              \
    X(cuMemGetInfo_v2(&size, &size))                                                               \
    X(cuPointerGetAttribute(&safe_memory, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, a))                 \
    X(cuCtxGetCurrent(&safe_ctx))                                                                  \
    X(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0))                              \
    X(cuGraphCreate(&safe_graph, 0))                                                               \
    X(cuGraphDestroy(safe_graph))                                                                  \
    X(cuMemAllocAsync(&safe_memory, 64, first))                                                    \
    X(cuMemFreeAsync(safe_memory, first))                                                          \
    X(cuLibraryLoadData(&safe_library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0))                  \
    X(cuLibraryUnload(safe_library))                                                               \
    X(cuEventRecord(unsafe_event, second))                                                         \
    X(cuMemsetD8Async(a, 0, 16, second))

static CUresult unsafe_call(unsigned i, const char **out_name)
{
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUDA_ARRAY_DESCRIPTOR flat = {
        .Width = 16, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    static cuuint64_t number;
    size_t pitch_B;
    unsigned at = 0;

#define X(call)                                                                                    \
    if (at++ == i) {                                                                               \
        *out_name = #call;                                                                         \
        return (call);                                                                             \
    }
    UNSAFE_LIST(X)
#undef X
    *out_name = NULL;
    return CUDA_SUCCESS;
}

static CUresult safe_call(unsigned i, const char **out_name)
{
    unsigned at = 0;
    size_t size;
    int value;

#define X(call)                                                                                    \
    if (at++ == i) {                                                                               \
        *out_name = #call;                                                                         \
        return (call);                                                                             \
    }
    SAFE_LIST(X)
#undef X
    *out_name = NULL;
    return CUDA_SUCCESS;
}

static void test_safe(void)
{
    for (unsigned mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
         mode++) {
        const char *name = "";
        CUgraph graph = NULL;

        success(cuStreamBeginCapture_v2(first, (CUstreamCaptureMode)mode), "capture");
        for (unsigned i = 0; name; i++) {
            CUresult result = safe_call(i, &name);
            if (name)
                success(result, "%s in mode %u", name, mode);
        }
        success(cuStreamEndCapture(first, &graph), "the capture is fine");
        success(cuGraphDestroy(graph), "destroy");
    }
}

static void unsafe_begin(void)
{
    CUgraph graph;

    success(cuEventCreate(&unsafe_event, 0), "event");
    success(cuEventRecord(unsafe_event, second), "recorded before");
    success(cuStreamSynchronize(second), "and over");
    begin(first);
    graph = end(first);
    success(cuGraphInstantiateWithFlags(&unsafe_exec, graph, 0), "instantiate");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_unsafe(void)
{
    const char *name = "";

    unsafe_begin();

    for (unsigned i = 0; name; i++) {
        for (unsigned mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
             mode <= CU_STREAM_CAPTURE_MODE_RELAXED && name; mode++) {
            bool is_relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
            CUgraph graph = NULL;

            success(cuStreamBeginCapture_v2(first, (CUstreamCaptureMode)mode), "capture");
            CUresult result = unsafe_call(i, &name);
            if (name)
                eq_u64(result, is_relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                       "%s in mode %u", name, mode);
            eq_u64(cuStreamEndCapture(first, &graph),
                   is_relaxed || !name ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                   "and the capture");
            if (graph)
                success(cuGraphDestroy(graph), "destroy");
        }
    }
}

int main(void)
{
    CUmodule module;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&blocking, 0), "stream");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    add = driver_function(module, "add");
    success(cuMemAllocManaged(&a, N * sizeof(float), 1), "memory");
    success(cuMemAllocManaged(&b, N * sizeof(float), 1), "memory");
    success(cuMemAllocManaged(&c, N * sizeof(float), 1), "memory");
    test_line();
    test_fork();
    test_unjoined();
    test_borders();
    test_states();
    test_modes();
    test_unsafe();
    test_safe();
    test_graphs();
    success(cuCtxDestroy_v2(ctx), "the end");
    return done();
}
