/*
 * Stream capture of the driver API: what becomes a node of what, forks and joins over events, and
 * every error that the documentation names. Code is fake (tests/dev/fake_jit.h). Which calls
 * captures forbid: test_capture_table.c.
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
    test_graphs();
    success(cuCtxDestroy_v2(ctx), "the end");
    return done();
}
