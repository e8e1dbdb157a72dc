/*
 * libcupti as clients use it: first in the order in which a framework's profiler calls it (kinds,
 * filters, external correlation, flush, parse), then callbacks, markers, graphs, and clients that
 * misbehave. Built with our headers and, where they are installed, with NVIDIA's.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dirent.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cupti_client.h"

static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry store_one(.param .u64 p, .param .u32 v)\n{\n"
    ".shared .align 4 .b8 s[128];\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\n"
    "cvta.to.global.u64 %rd2, %rd1;\nld.param.u32 %r1, [v];\nst.shared.u32 [s], %r1;\n"
    "ld.shared.u32 %r1, [s];\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

static CUmodule module;
static CUfunction kernel;
static CUdeviceptr memory;

/* What nvcc 13 makes of <<<>>>; no header has it. */
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared_B,
                               cudaStream_t stream);

static void launch(CUstream stream)
{
    unsigned value = 7;
    void *args[] = {&memory, &value};

    eq_u64(cuLaunchKernel(kernel, 2, 3, 1, 32, 2, 1, 64, stream, args, NULL), CUDA_SUCCESS,
           "launch");
}

/* ---- a client that keeps what it is given */

#define RECORDS 4096
static union {
    CUpti_Activity head;
    CUpti_ActivityKernel10 kernel;
    CUpti_ActivityMemcpy6 copy;
    CUpti_ActivityMemset4 fill;
    CUpti_ActivityAPI api;
    CUpti_ActivityExternalCorrelation external;
    CUpti_ActivitySynchronization2 sync;
    CUpti_ActivityCudaEvent2 event;
    CUpti_ActivityMarker2 marker;
    CUpti_ActivityMarkerData2 data;
    CUpti_ActivityMemory4 memory;
    CUpti_ActivityDevice5 device;
    CUpti_ActivityContext3 context;
    CUpti_ActivityStream stream;
    CUpti_ActivityGraphTrace2 graph;
    CUpti_ActivityName name;
    CUpti_ActivityMemoryPool3 pool;
} records[RECORDS];
static unsigned nrecords;
static _Atomic unsigned nrequested, ncompleted; /* by whichever thread */
static size_t lend_B = 65536, lend_records;

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
    nrequested++;
    *size = lend_B;
    *buffer = lend_B ? aligned_alloc(8, lend_B) : NULL;
    *max = lend_records;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    CUpti_Activity *record = NULL;

    (void)context, (void)stream, (void)size;
    ncompleted++;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        size_t left = (size_t)(buffer + valid - (uint8_t *)record);

        if (nrecords < RECORDS)
            memcpy(&records[nrecords++], record,
                   left < sizeof(records[0]) ? left : sizeof(records[0]));
    }
    free(buffer);
}

static unsigned count(CUpti_ActivityKind kind)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nrecords; i++)
        n += records[i].head.kind == kind;
    return n;
}

/* The n-th of a kind, from 0; the test stops without it. */
static unsigned find(CUpti_ActivityKind kind, unsigned n)
{
    for (unsigned i = 0; i < nrecords; i++)
        if (records[i].head.kind == kind && !n--)
            return i;
    ok(false, "a record of kind %d", (int)kind);
    exit(done());
}

static const CUpti_ActivityAPI *find_call(CUpti_ActivityKind kind, uint32_t cbid)
{
    for (unsigned i = 0; i < nrecords; i++)
        if (records[i].head.kind == kind && records[i].api.cbid == cbid)
            return &records[i].api;
    ok(false, "a record of call %u", cbid);
    exit(done());
}

static void flush(void)
{
    nrecords = 0;
    OK(cuptiActivityFlushAll(0));
}

/* ---- as a framework's profiler does it */

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_OVERHEAD,
                                           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           CUPTI_ACTIVITY_KIND_CUDA_EVENT};

static void work(void)
{
    static char host[256];
    cudaStream_t stream;
    cudaEvent_t event;

    eq_u64(cudaStreamCreate(&stream), 0, "a stream");
    eq_u64(cudaEventCreate(&event), 0, "an event");
    eq_u64(cudaMemcpyAsync((void *)memory, host, sizeof(host), cudaMemcpyHostToDevice, stream), 0,
           "in");
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 41));
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42));
    launch(stream);
    eq_u64(cudaMemsetAsync((void *)memory, 5, 100, stream), 0, "fill");
    eq_u64(cudaEventRecord(event, stream), 0, "record");
    eq_u64(cudaMemcpyAsync(host, (void *)memory, 128, cudaMemcpyDeviceToHost, stream), 0, "out");
    eq_u64(cudaEventSynchronize(event), 0, "wait for the event");
    eq_u64(cudaStreamSynchronize(stream), 0, "wait for the stream");
    eq_u64(cudaDeviceSynchronize(), 0, "wait for the device");
    eq_u64(cudaEventDestroy(event), 0, "no event any more");
    eq_u64(cudaStreamDestroy(stream), 0, "no stream any more");
}

static void check_kernel(uint64_t begin, uint64_t end)
{
    const CUpti_ActivityKernel10 *k =
        &records[find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)].kernel;
    const CUpti_ActivityAPI *call =
        find_call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    uint32_t context;

    eq_u64(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1, "one kernel");
    eq_u64(count(CUPTI_ACTIVITY_KIND_DRIVER), 1, "one call of the driver: what was asked for");
    eq_str(k->name, "store_one", "its name");
    ok(k->gridX == 2 && k->gridY == 3 && k->gridZ == 1 && k->blockX == 32 && k->blockY == 2 &&
           k->blockZ == 1,
       "its sizes");
    eq_u64((uint64_t)k->dynamicSharedMemory, 64, "dynamic shared memory");
    ok(k->staticSharedMemory >= 128, "static shared memory");
    ok(k->registersPerThread > 0, "registers");
    eq_u64(k->correlationId, call->correlationId, "its call's correlation");
    ok(begin <= call->start && call->start <= k->start && k->start <= k->end && k->end <= end &&
           call->start <= call->end,
       "times are in order");
    OK(cuptiGetContextId(NULL, &context) == CUPTI_ERROR_INVALID_CONTEXT ? CUPTI_SUCCESS
                                                                        : CUPTI_ERROR_UNKNOWN);
    eq_u64(call->processId, (uint64_t)getpid(), "process");
    eq_u64(call->threadId, (uint32_t)(uintptr_t)pthread_self(), "thread");
}

/* The record before that of a call which has an external id is the id's. */
static unsigned calls_behind_ids(void)
{
    unsigned n = 0;

    for (unsigned i = 1; i < nrecords; i++)
        n += records[i].head.kind == CUPTI_ACTIVITY_KIND_RUNTIME &&
             records[i - 1].head.kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION &&
             records[i - 1].external.correlationId == records[i].api.correlationId;
    return n;
}

static void check_external(void)
{
    const CUpti_ActivityAPI *call =
        find_call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    const CUpti_ActivityAPI *early =
        find_call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    unsigned of_launch = 0, of_early = 0;

    for (unsigned i = 0; i < nrecords; i++) {
        const CUpti_ActivityExternalCorrelation *e = &records[i].external;

        if (e->kind != CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
            continue;
        of_launch += e->correlationId == call->correlationId && e->externalId == 42 &&
                     e->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
        of_early += e->correlationId == early->correlationId;
    }
    eq_u64(of_launch, 1, "the launch has the id on top");
    eq_u64(of_early, 0, "the copy before has none");
    eq_u64(calls_behind_ids(), count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) - 1,
           "ids come before the records of their calls, and only where there is one");
}

static void check_copies(void)
{
    const CUpti_ActivityMemcpy6 *in = &records[find(CUPTI_ACTIVITY_KIND_MEMCPY, 0)].copy;
    const CUpti_ActivityMemcpy6 *out = &records[find(CUPTI_ACTIVITY_KIND_MEMCPY, 1)].copy;
    const CUpti_ActivityMemset4 *fill = &records[find(CUPTI_ACTIVITY_KIND_MEMSET, 0)].fill;

    ok(in->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD && in->bytes == 256 &&
           in->srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
           in->dstKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
       "copied in");
    ok(out->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH && out->bytes == 128, "copied out");
    ok(fill->bytes == 100 && (fill->value & 255) == 5 &&
           fill->memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
       "filled");
    ok(in->end <= fill->start && fill->end <= out->start, "one after the other");
    ok(in->streamId == out->streamId && in->contextId == out->contextId, "in one stream");
}

static void check_waits(void)
{
    unsigned types[5] = {0};
    const CUpti_ActivityCudaEvent2 *event = &records[find(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0)].event;
    uint32_t waited = 0, stream = 0;

    for (unsigned i = 0; i < nrecords; i++)
        if (records[i].head.kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
            records[i].sync.type < 5) {
            types[records[i].sync.type]++;
            if (records[i].sync.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE)
                waited = records[i].sync.cudaEventId;
            if (records[i].sync.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE)
                stream = records[i].sync.streamId;
        }
    ok(types[1] == 1 && types[3] == 1 && types[4] == 1, "three waits");
    ok(waited && waited == event->eventId, "for the event that was recorded");
    ok(stream == event->streamId &&
           stream == records[find(CUPTI_ACTIVITY_KIND_MEMCPY, 0)].copy.streamId,
       "and its stream");
}

static void test_profiler(void)
{
    uint64_t begin, end, id;
    size_t size = 8, value = 1 << 20, dropped;
    uint32_t version;

    OK(cuptiGetVersion(&version));
    eq_u64(version, CUPTI_API_VERSION, "the version");
    OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
    value = 0;
    OK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
    eq_u64(value, 1 << 20, "the attribute is kept");
    OK(cuptiActivityRegisterCallbacks(on_request, on_complete));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        OK(cuptiActivityEnable(kinds[i]));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
    OK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020, 0));
    OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1));
    OK(cuptiGetTimestamp(&begin));
    work();
    OK(cuptiGetTimestamp(&end));
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id));
    eq_u64(id, 42, "the id on top");
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
    eq_u64(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
           CUPTI_ERROR_QUEUE_EMPTY, "no more of them");
    flush();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        OK(cuptiActivityDisable(kinds[i]));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    eq_u64(dropped, 0, "nothing was lost");
    ok(nrequested > 0 && nrequested == ncompleted, "every buffer came back");
    check_kernel(begin, end);
    check_external();
    check_copies();
    check_waits();
    for (unsigned i = 0; i < nrecords; i++)
        if (records[i].head.kind == CUPTI_ACTIVITY_KIND_RUNTIME &&
            records[i].api.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020)
            ok(false, "a call that was left out");
    work();
    flush();
    eq_u64(nrecords, 0, "nothing is recorded any more");
}

/* ---- events with the time at which the device reached them */

static void test_event_times(void)
{
    const unsigned flags[] = {CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING};
    const CUpti_ActivityKernel10 *k;
    CUevent events[2];
    CUstream stream;

    OK(cuptiActivityEnableCudaEventDeviceTimestamps(1));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CUDA_EVENT));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    eq_u64(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0, "a stream");
    for (int i = 0; i < 2; i++) {
        eq_u64(cuEventCreate(&events[i], flags[i]), 0, "an event");
        launch(stream);
        eq_u64(cuEventRecord(events[i], stream), 0, "behind a kernel");
    }
    eq_u64(cuStreamSynchronize(stream), 0, "wait");
    flush();
    for (unsigned i = 0; i < 2; i++) {
        const CUpti_ActivityCudaEvent2 *e = &records[find(CUPTI_ACTIVITY_KIND_CUDA_EVENT, i)].event;

        k = &records[find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i)].kernel;
        ok(e->deviceTimestamp >= k->end, "event %u: reached when its kernel had ended", i);
        ok(e->deviceTimestamp <= k->end + 10000000000u, "event %u: a time", i);
    }
    k = &records[find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1)].kernel;
    ok(records[find(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0)].event.deviceTimestamp <= k->start,
       "and before the next one began");
    OK(cuptiActivityEnableCudaEventDeviceTimestamps(0));
    eq_u64(cuEventRecord(events[1], stream), 0, "recorded again");
    eq_u64(cuStreamSynchronize(stream), 0, "wait");
    flush();
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0)].event.deviceTimestamp, 0,
           "without the time, unasked");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CUDA_EVENT));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    cuEventDestroy(events[0]);
    cuEventDestroy(events[1]);
    cuStreamDestroy(stream);
}

/* ---- a child has records of its own, with its own number */

/* 0: all is right. */
static int child_fails(pid_t parent)
{
    int version;

    nrecords = 0;
    if (cuDriverGetVersion(&version) || cuptiActivityFlushAll(0))
        return 1;
    if (nrecords != 1 || records[0].head.kind != CUPTI_ACTIVITY_KIND_DRIVER)
        return 2; /* the parent's call is the parent's */
    return records[0].api.processId == (uint32_t)getpid() && getpid() != parent ? 0 : 3;
}

/* ThreadSanitizer ends a child that starts a thread. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_HAS_THREADS false
#elif defined(__has_feature)
#define CHILD_HAS_THREADS !__has_feature(thread_sanitizer)
#else
#define CHILD_HAS_THREADS true
#endif

static void test_fork(void)
{
    pid_t parent = getpid(), child;
    int version, status = -1;

    if (!CHILD_HAS_THREADS)
        return;
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
    eq_u64(cuDriverGetVersion(&version), 0, "a call of the parent");
    child = fork();
    if (!child)
        _exit(child_fails(parent));
    eq_u64((uint64_t)waitpid(child, &status, 0), (uint64_t)child, "the child ended");
    ok(WIFEXITED(status), "by itself");
    eq_u64((uint64_t)WEXITSTATUS(status), 0, "its record is its own");
    flush();
    eq_u64(count(CUPTI_ACTIVITY_KIND_DRIVER), 1, "and the parent's is with the parent");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
}

/* ---- the clock is the client's */

static uint64_t ticks(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 3 + 1000;
}

static void test_clock(void)
{
    uint64_t begin, end;
    const CUpti_ActivityKernel10 *k;

    OK(cuptiActivityRegisterTimestampCallback(ticks));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL));
    begin = ticks();
    launch(NULL);
    eq_u64(cuCtxSynchronize(), 0, "wait");
    OK(cuptiGetTimestamp(&end));
    flush();
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL));
    k = &records[find(CUPTI_ACTIVITY_KIND_KERNEL, 0)].kernel;
    /* Two readings of clocks are never the same moment: a millisecond of theirs. */
    ok(k->start + 3000000 >= begin && k->end <= end + 3000000 && k->start <= k->end,
       "by the client's clock");
}

/* ---- more work than a queue holds, in several streams */

static void test_many(void)
{
    CUstream streams[3];
    size_t dropped;

    nrecords = 0;
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (int i = 0; i < 3; i++)
        cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3000; i++) {
        unsigned value = 1;
        void *args[] = {&memory, &value};

        if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, streams[i % 3], args, NULL))
            ok(false, "launch %d", i);
    }
    for (int i = 0; i < 3; i++) {
        cuStreamSynchronize(streams[i]);
        cuStreamDestroy(streams[i]);
    }
    OK(cuptiActivityFlushAll(0)); /* the library's thread has handed out most of them */
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    eq_u64(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 3000, "every launch is recorded");
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    eq_u64(dropped, 0, "none is lost");
}

/* ---- other kinds */

static void test_objects(void)
{
    CUstream stream;
    CUcontext current;
    uint32_t id, device;
    CUdeviceptr p;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;

    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_STREAM));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY_POOL));
    eq_u64(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0, "stream");
    eq_u64(cuMemAlloc(&p, 12345), 0, "memory");
    eq_u64(cuMemFree(p), 0, "freed");
    eq_u64(cuMemPoolCreate(&pool, &props), 0, "pool");
    eq_u64(cuMemPoolDestroy(pool), 0, "no pool");
    cuCtxGetCurrent(&current);
    OK(cuptiGetStreamId(current, stream, &id));
    OK(cuptiGetDeviceId(current, &device));
    flush();
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_STREAM, 0)].stream.streamId, id, "the stream's id");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_STREAM, 0)].stream.flag,
           CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING, "its flag");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_DEVICE, 0)].device.id, device, "the device");
    ok(records[find(CUPTI_ACTIVITY_KIND_DEVICE, 0)].device.numThreadsPerWarp == 32, "its warps");
    ok(records[find(CUPTI_ACTIVITY_KIND_MEMORY2, 0)].memory.address == p &&
           records[find(CUPTI_ACTIVITY_KIND_MEMORY2, 0)].memory.bytes == 12345 &&
           records[find(CUPTI_ACTIVITY_KIND_MEMORY2, 1)].memory.memoryOperationType ==
               CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
       "memory comes and goes");
    eq_u64(count(CUPTI_ACTIVITY_KIND_MEMORY_POOL), 2, "the pool as well");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DEVICE));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_STREAM));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY2));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY_POOL));
    cuStreamDestroy(stream);
}

static void test_graph(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode first, second;
    unsigned value = 9;
    void *args[] = {&memory, &value};
    CUDA_KERNEL_NODE_PARAMS params = {.func = kernel,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = args};
    const CUpti_ActivityKernel10 *k;

    cuGraphCreate(&graph, 0);
    eq_u64(cuGraphAddKernelNode(&first, graph, NULL, 0, &params), 0, "a node");
    eq_u64(cuGraphAddKernelNode(&second, graph, &first, 1, &params), 0, "another one");
    eq_u64(cuGraphInstantiate(&exec, graph, 0), 0, "executable");
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    eq_u64(cuGraphLaunch(exec, NULL), 0, "launched");
    cuCtxSynchronize();
    flush();
    eq_u64(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2, "a record for each node");
    k = &records[find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)].kernel;
    ok(k->graphNodeId && k->graphId &&
           k->graphNodeId !=
               records[find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1)].kernel.graphNodeId,
       "with their numbers");
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    eq_u64(cuGraphLaunch(exec, NULL), 0, "launched");
    cuCtxSynchronize();
    flush();
    eq_u64(count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1, "a record for the launch");
    eq_u64(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0, "and none for the nodes");
    ok(records[0].graph.start && records[0].graph.start <= records[0].graph.end, "its times");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
}

static void test_markers(void)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .category = 3,
                               .colorType = NVTX_COLOR_ARGB,
                               .color = 0xff0000ff,
                               .payloadType = NVTX_PAYLOAD_TYPE_INT32,
                               .payload = {.iValue = -4},
                               .messageType = NVTX_MESSAGE_TYPE_ASCII,
                               .message = {.ascii = "step"}};
    nvtxDomainHandle_t domain;
    nvtxRangeId_t range;
    const CUpti_ActivityMarkerData2 *data;

    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER_DATA));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_NAME));
    domain = nvtxDomainCreateA("lib");
    nvtxRangePushA("outer");
    nvtxDomainRangePushEx(domain, &a);
    range = nvtxRangeStartA("apart");
    nvtxMarkA("here");
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxRangeEnd(range);
    nvtxNameOsThreadA(5, "five");
    flush();
    eq_u64(count(CUPTI_ACTIVITY_KIND_MARKER), 7, "seven markers");
    eq_str(records[find(CUPTI_ACTIVITY_KIND_MARKER, 0)].marker.name, "outer", "a name");
    eq_str(records[find(CUPTI_ACTIVITY_KIND_MARKER, 1)].marker.domain, "lib", "a domain");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_MARKER, 4)].marker.id,
           records[find(CUPTI_ACTIVITY_KIND_MARKER, 0)].marker.id,
           "the first pop ends the outer range: domains are apart");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_MARKER, 5)].marker.id,
           records[find(CUPTI_ACTIVITY_KIND_MARKER, 1)].marker.id, "the second one the domain's");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_MARKER, 6)].marker.id,
           records[find(CUPTI_ACTIVITY_KIND_MARKER, 2)].marker.id, "the range of its own");
    eq_u64(records[find(CUPTI_ACTIVITY_KIND_MARKER, 3)].marker.flags,
           CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, "a moment");
    data = &records[find(CUPTI_ACTIVITY_KIND_MARKER_DATA, 1)].data;
    ok(data->category == 3 && data->color == 0xff0000ff &&
           data->payloadKind == CUPTI_METRIC_VALUE_KIND_INT64 &&
           data->payload.metricValueInt64 == -4,
       "what the range had");
    eq_str(records[find(CUPTI_ACTIVITY_KIND_NAME, 0)].name.name, "five", "a thread's name");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MARKER));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MARKER_DATA));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_NAME));
}

/* ---- callbacks */

static struct {
    unsigned enters, exits, streams, synchronized, marks, nested;
    uint64_t correlation;
    uint64_t kept;
    char symbol[64];
    char called[64];
    unsigned grid;
    size_t copied;
    int result;
    bool finalize;
} seen;

static void on_api(CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                   const CUpti_CallbackData *data)
{
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
        const cuLaunchKernel_params *p = data->functionParams;

        seen.grid = p->gridDimX;
        if (data->symbolName)
            snprintf(seen.symbol, sizeof(seen.symbol), "%s", data->symbolName);
    }
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && data->symbolName)
        snprintf(seen.called, sizeof(seen.called), "%s: %s", data->functionName, data->symbolName);
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020)
        seen.copied = ((const cudaMemcpy_v3020_params *)data->functionParams)->count;
    if (data->callbackSite == CUPTI_API_ENTER) {
        seen.enters++;
        seen.nested +=
            domain == CUPTI_CB_DOMAIN_DRIVER_API && data->correlationId == seen.correlation;
        if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
            seen.correlation = data->correlationId;
        *data->correlationData = 77 + cbid;
    } else {
        seen.exits++;
        seen.kept += *data->correlationData == 77 + cbid;
        seen.result = *(const int *)data->functionReturnValue;
        if (seen.finalize)
            OK(cuptiFinalize());
    }
}

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                        const void *data)
{
    const CUpti_ResourceData *resource = data;

    (*(unsigned *)user)++;
    switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
    case CUPTI_CB_DOMAIN_RUNTIME_API:
        on_api(domain, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RESOURCE:
        seen.streams +=
            cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED && resource->resourceHandle.stream;
        break;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
        seen.synchronized++;
        break;
    case CUPTI_CB_DOMAIN_NVTX:
        seen.marks += !strcmp(((const CUpti_NvtxData *)data)->functionName, "nvtxMarkA");
        break;
    default:
        break;
    }
}

/* ---- a client that flushes only while it has lent a buffer, as kineto does */

static void test_lending(void)
{
    unsigned before;

    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (int i = 0; i < 2; i++) {
        before = nrequested;
        eq_u64(cudaDeviceSynchronize(), 0, "wait");
        eq_u64(nrequested, before + 1, "a buffer is out after the first record");
        launch(NULL);
        eq_u64(cudaDeviceSynchronize(), 0, "wait");
        eq_u64(nrequested, before + 1, "one is enough");
        flush();
        eq_u64(ncompleted, nrequested, "it came back");
        eq_u64(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1, "with the kernel");
    }
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
    before = nrequested;
    launch(NULL);
    cuCtxSynchronize();
    for (int i = 0; i < 2000 && nrequested == before; i++)
        usleep(1000);
    eq_u64(nrequested, before + 1, "so it is where calls leave no records");
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    flush();
    eq_u64(ncompleted, nrequested, "it came back");
}

/* <<<>>> of either compiler tells its kernel. */
static void test_launches(void)
{
    unsigned value = 7;
    void *args[] = {&memory, &value};
    cudaLibrary_t library;
    cudaKernel_t by_name;

    eq_u64(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), 0, "library");
    eq_u64(cudaLibraryGetKernel(&by_name, library, "store_one"), 0, "kernel");
    eq_u64(cudaLaunchKernel((const void *)by_name, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL),
           0, "launch");
    eq_str(seen.called, "cudaLaunchKernel: store_one", "its kernel's name");
    eq_u64(__cudaLaunchKernel(by_name, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL), 0,
           "launch as nvcc 13 does");
    eq_str(seen.called, "__cudaLaunchKernel: store_one", "its kernel's name");
    eq_u64(cudaDeviceSynchronize(), 0, "wait");
    eq_u64(cudaLibraryUnload(library), 0, "unload");
}

static void test_callbacks(void)
{
    static char host[64];
    CUpti_SubscriberHandle me, other;
    char old[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .oldSubscriberName = old,
                                     .oldSubscriberSize = sizeof(old)};
    CUpti_DomainTable domains;
    size_t ndomains;
    unsigned called = 0;
    uint32_t on;
    cudaStream_t stream;
    const char *name;

    OK(cuptiSupportedDomains(&ndomains, &domains));
    eq_u64(ndomains, 6, "six domains");
    OK(cuptiSubscribe(&me, on_callback, &called));
    eq_u64(cuptiSubscribe(&other, on_callback, NULL),
           CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "one subscriber");
    OK(cuptiEnableDomain(1, me, CUPTI_CB_DOMAIN_DRIVER_API));
    launch(NULL);
    ok(called == 2 && seen.enters == 1 && seen.exits == 1 && seen.kept == 1,
       "a launch: both ends, with the client's value");
    ok(seen.grid == 2 && !strcmp(seen.symbol, "store_one"), "its arguments and kernel");
    OK(cuptiEnableCallback(0, me, CUPTI_CB_DOMAIN_DRIVER_API,
                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    OK(cuptiGetCallbackState(&on, me, CUPTI_CB_DOMAIN_DRIVER_API,
                             CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    eq_u64(on, 0, "switched off");
    launch(NULL);
    eq_u64(called, 2, "not told then");
    OK(cuptiEnableAllDomains(1, me));
    eq_u64(cudaMemcpy((void *)memory, host, sizeof(host), cudaMemcpyHostToDevice), 0, "copy");
    eq_u64(seen.copied, sizeof(host), "the runtime's arguments");
    ok(seen.nested > 0, "the driver's calls inside have the same correlation");
    ok(seen.enters == seen.exits && seen.kept == seen.exits, "every end has its value");
    eq_u64(cudaMemcpy((void *)memory, NULL, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
           "a call that fails");
    eq_u64((uint64_t)seen.result, cudaErrorInvalidValue, "its result");
    eq_u64(cudaStreamCreate(&stream), 0, "stream");
    eq_u64(seen.streams, 1, "a stream was made");
    eq_u64(cudaStreamSynchronize(stream), 0, "wait");
    ok(seen.synchronized > 0, "a wait is over");
    nvtxMarkA("mark");
    eq_u64(seen.marks, 1, "a mark");
    test_launches();
    OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &name));
    eq_str(name, "cudaLaunchKernel_v7000", "a name");
    eq_u64(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 100000, &name),
           CUPTI_ERROR_INVALID_PARAMETER, "no name");
    OK(cuptiUnsubscribe(me));
    params.subscriberName = "first";
    OK(cuptiSubscribe_v2(&me, on_callback, &called, &params));
    params.subscriberName = "second";
    eq_u64(cuptiSubscribe_v2(&other, on_callback, NULL, &params),
           CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "one with a name");
    eq_str(old, "first", "which others are told");
    OK(cuptiUnsubscribe(me));
    called = 0;
    cudaStreamDestroy(stream);
    eq_u64(called, 0, "nothing is told any more");
    eq_u64(cuptiEnableAllDomains(1, me), CUPTI_ERROR_INVALID_PARAMETER,
           "not a subscriber any more");
}

static void test_finalize(void)
{
    CUpti_SubscriberHandle me;
    unsigned called = 0;

    OK(cuptiSubscribe(&me, on_callback, &called));
    OK(cuptiEnableDomain(1, me, CUPTI_CB_DOMAIN_DRIVER_API));
    seen.finalize = true;
    launch(NULL);
    eq_u64(called, 2, "until the end of the call");
    launch(NULL);
    eq_u64(called, 2, "and not any further");
    seen.finalize = false;
    OK(cuptiSubscribe(&me, on_callback, &called));
    OK(cuptiUnsubscribe(me));
}

/* ---- clients that misbehave, and what is not there */

static void test_stingy(void)
{
    size_t dropped = 0;

    lend_B = 0;
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL));
    for (int i = 0; i < 10; i++)
        launch(NULL);
    cuCtxSynchronize();
    flush();
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    eq_u64(dropped, 10, "a client that lends nothing loses records");
    lend_B = 96; /* less than a record */
    launch(NULL);
    cuCtxSynchronize();
    flush();
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    eq_u64(dropped, 1, "one that lends too little as well");
    lend_B = 65536;
    lend_records = 3;
    ncompleted = 0;
    for (int i = 0; i < 10; i++)
        launch(NULL);
    cuCtxSynchronize();
    flush();
    eq_u64(ncompleted, 4, "three records a buffer, as asked for");
    eq_u64(nrecords, 10, "all of them");
    lend_records = 0;
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL));
}

/* A function that our header does not have. */
static CUptiResult call_by_name(const char *name)
{
    CUptiResult (*func)(void *, void *, uint32_t);

    *(void **)&func = dlsym(RTLD_DEFAULT, name);
    return func ? func(NULL, NULL, 0) : CUPTI_SUCCESS;
}

static void test_refused(void)
{
    uint8_t bytes[64] = {0};
    CUpti_Activity *record = NULL;
    const char *text;
    uint64_t now;

    eq_u64(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_NOT_SUPPORTED,
           "PC sampling");
    eq_u64(cuptiGetLastError(), CUPTI_ERROR_NOT_SUPPORTED, "the last error");
    eq_u64(cuptiGetLastError(), CUPTI_SUCCESS, "once");
    eq_u64(cuptiActivityEnable((CUpti_ActivityKind)500), CUPTI_ERROR_INVALID_KIND, "no kind");
    eq_u64(call_by_name("cuptiActivityConfigurePCSampling"), CUPTI_ERROR_NOT_SUPPORTED,
           "its setting");
    eq_u64(call_by_name("cuptiEventGroupCreate"), CUPTI_ERROR_NOT_SUPPORTED, "counters");
    eq_u64(cuptiActivityRegisterCallbacks(NULL, on_complete), CUPTI_ERROR_INVALID_PARAMETER,
           "no callback");
    eq_u64(cuptiActivityGetNextRecord(NULL, 0, &record), CUPTI_ERROR_INVALID_PARAMETER,
           "no buffer");
    eq_u64(cuptiActivityGetNextRecord(bytes, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED,
           "an empty one");
    eq_u64(cuptiActivityGetNextRecord(bytes, sizeof(bytes), &record), CUPTI_ERROR_INVALID_KIND,
           "one of no records");
    bytes[0] = CUPTI_ACTIVITY_KIND_KERNEL;
    eq_u64(cuptiActivityGetNextRecord(bytes, sizeof(bytes), &record), CUPTI_ERROR_INVALID_KIND,
           "half a record");
    eq_u64(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER, "nowhere to put it");
    OK(cuptiGetTimestamp(&now));
    ok(now > 0, "a time");
    OK(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &text));
    eq_str(text, "CUPTI_ERROR_NOT_SUPPORTED", "a result's name");
    eq_u64(cuptiGetResultString((CUptiResult)500, &text), CUPTI_ERROR_INVALID_PARAMETER, "none");
}

static void test_early(void)
{
    eq_u64(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION, "a flush without callbacks");
}

static void on_nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                       const void *data)
{
    (void)domain, (void)cbid, (void)data;
    ++*(_Atomic unsigned *)user;
}

static _Atomic bool is_over;
static void *thread_work(void *arg)
{
    CUcontext context = arg;

    cuCtxSetCurrent(context);
    while (!is_over) {
        unsigned value = 1;
        void *args[] = {&memory, &value};

        if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) || cuCtxSynchronize())
            return (void *)1;
    }
    return NULL;
}

/* Everything is switched on and off while threads work. */
static void test_threads(void)
{
    pthread_t threads[3];
    CUcontext context;
    void *result;
    static _Atomic unsigned called;

    cuCtxGetCurrent(&context);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread_work, context);
    for (int i = 0; i < 50; i++) {
        CUpti_SubscriberHandle me;
        bool fine = cuptiSubscribe(&me, on_nothing, &called) == CUPTI_SUCCESS;

        fine &= cuptiEnableAllDomains(1, me) == CUPTI_SUCCESS;
        fine &= cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
        fine &= cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS;
        fine &= cuptiActivityFlushAll(0) == CUPTI_SUCCESS;
        fine &= cuptiUnsubscribe(me) == CUPTI_SUCCESS;
        fine &= cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS;
        if (!fine)
            ok(false, "round %d", i);
    }
    is_over = true;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        ok(!result, "thread %d", i);
    }
    OK(cuptiFinalize());
}

/* What is sent to the process is for the program's own threads: its handlers, its sigwait(). */
static void test_signals(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned others = 0, open_to = 0;

    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        char path[300], line[128], name[64] = "";
        unsigned long long blocked = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == getpid() ||
            !(file = fopen(path, "r")))
            continue;
        while (fgets(line, sizeof(line), file))
            if (sscanf(line, "Name: %63s", name) != 1 && !strncmp(line, "SigBlk:", 7))
                blocked = strtoull(line + 7, NULL, 16);
        fclose(file);
        others++;
        if (blocked >> (SIGTERM - 1) & 1 && blocked >> (SIGUSR1 - 1) & 1)
            continue;
        open_to++;
        diag("%s takes signals: %llx", name, blocked);
    }
    if (tasks)
        closedir(tasks);
    ok(others > 1, "there are threads of ours");
    if (getenv("TSAN_OPTIONS"))
        skip("ThreadSanitizer has a thread of its own");
    else
        eq_u64(open_to, 0, "which take none of the program's signals");
}

int main(void)
{
    CUcontext context;

    eq_u64(cuInit(0), 0, "cuInit");
    eq_u64(cuDevicePrimaryCtxRetain(&context, 0), 0, "context");
    eq_u64(cuCtxSetCurrent(context), 0, "current");
    eq_u64(cuModuleLoadData(&module, ptx), 0, "module");
    eq_u64(cuModuleGetFunction(&kernel, module, "store_one"), 0, "kernel");
    eq_u64(cuMemAlloc(&memory, 4096), 0, "memory");
    test_early();
    test_profiler();
    test_lending();
    test_many();
    test_event_times();
    test_fork();
    test_objects();
    test_graph();
    test_markers();
    test_callbacks();
    test_finalize();
    test_stingy();
    test_refused();
    test_threads();
    test_clock();
    test_signals();
    return done();
}
