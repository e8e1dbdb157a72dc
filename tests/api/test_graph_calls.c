/*
 * Setters and getters of graph nodes, in graphs and in executable graphs, in all their versions,
 * and the rest of the calls of graphs and captures. Code is fake (tests/dev/fake_jit.h).
 */
#include "driver_fixture.h"

#define refused(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

enum { N = 64 };

static CUcontext ctx;
static CUstream stream;
static CUfunction add;
static float *a, *b, *c; /* managed memory */

static float *floats_create(void)
{
    CUdeviceptr at = 0;

    success(cuMemAllocManaged(&at, N * sizeof(float), CU_MEM_ATTACH_GLOBAL), "memory");
    return (float *)(uintptr_t)at;
}

static void fill(float *at, float value)
{
    for (unsigned i = 0; i < N; i++)
        at[i] = value;
}

static void launch(CUgraphExec exec)
{
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuStreamSynchronize(stream), "its end");
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphNode failed = (CUgraphNode)&failed;
    CUgraphExec exec = NULL;
    char log[64] = "?";

    success(cuGraphInstantiate(&exec, graph, &failed, log, sizeof(log)), "instantiate");
    ok(!failed && !log[0], "nothing failed");
    return exec;
}

/* ---- kernels */

/* Of the first version: without a kernel and a context. */
static CUDA_KERNEL_NODE_PARAMS_v1 kernel_params(void **args, unsigned grid)
{
    return (CUDA_KERNEL_NODE_PARAMS_v1){.func = add,
                                        .gridDimX = grid,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = 16,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = args};
}

static void test_kernel(void)
{
    uint32_t count = N;
    float *x = a, *y = b, *z = c;
    void *args[] = {&x, &y, &z, &count};
    CUDA_KERNEL_NODE_PARAMS_v1 p = kernel_params(args, 1), got = {0};
    CUDA_KERNEL_NODE_PARAMS p2 = {0};
    CUgraphNode node = NULL;
    CUgraphExec exec;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddKernelNode(&node, graph, NULL, 0, &p), "a kernel node");
    p.gridDimX = 2;
    success(cuGraphKernelNodeSetParams(node, &p), "of two blocks");
    success(cuGraphKernelNodeGetParams(node, &got), "ask");
    ok(got.func == add && got.gridDimX == 2 && got.blockDimX == 16, "two blocks");
    eq_u64(*(uint32_t *)got.kernelParams[3], N, "the last parameter");
    exec = instantiate(graph);
    fill(a, 1), fill(b, 2), fill(c, 0);
    launch(exec);
    ok(c[31] == 3 && c[32] == 0, "two blocks add");
    y = a, p.gridDimX = 3;
    success(cuGraphExecKernelNodeSetParams(exec, node, &p), "three, of other memory");
    launch(exec);
    ok(c[0] == 2 && c[47] == 2 && c[48] == 0, "three blocks add it");
    success(cuGraphKernelNodeGetParams_v2(node, &p2), "ask");
    eq_u64(p2.gridDimX, 2, "the graph's node stays");
    y = b, p2.gridDimX = 4, p2.kernelParams = args;
    success(cuGraphExecKernelNodeSetParams_v2(exec, node, &p2), "four, of the first memory");
    launch(exec);
    ok(c[0] == 3 && c[63] == 3, "all are added");
    p.blockDimX = 0;
    refused(cuGraphKernelNodeSetParams(node, &p), "no block without threads");
    refused(cuGraphExecKernelNodeSetParams(exec, node, &p), "nor there");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_kernel_attributes(void)
{
    uint32_t count = N;
    void *args[] = {&a, &b, &c, &count};
    CUDA_KERNEL_NODE_PARAMS_v1 p = kernel_params(args, 1);
    CUkernelNodeAttrValue value = {.priority = -1}, got = {0};
    CUgraphNode from = NULL, to = NULL, empty = NULL;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddKernelNode(&from, graph, NULL, 0, &p), "a kernel node");
    success(cuGraphAddKernelNode(&to, graph, NULL, 0, &p), "another");
    success(cuGraphAddEmptyNode(&empty, graph, NULL, 0), "an empty one");
    success(cuGraphKernelNodeSetAttribute(from, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), "priority");
    success(cuGraphKernelNodeCopyAttributes(to, from), "the same for the other");
    success(cuGraphKernelNodeGetAttribute(to, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got), "ask");
    ok(got.priority == -1, "it has it");
    refused(cuGraphKernelNodeCopyAttributes(to, empty), "not those of an empty node");
    refused(cuGraphKernelNodeCopyAttributes(empty, from), "nor for one");
    success(cuGraphDestroy(graph), "destroy");
}

/* ---- memory */

static CUDA_MEMCPY3D copy_params(float *dst, const float *src)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (uintptr_t)src,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (uintptr_t)dst,
                           .WidthInBytes = N * sizeof(float),
                           .Height = 1,
                           .Depth = 1};
}

static void test_copy_and_fill(void)
{
    CUDA_MEMSET_NODE_PARAMS f = {
        .dst = (uintptr_t)a, .value = 0x40000000, .elementSize = 4, .width = N, .height = 1};
    CUDA_MEMCPY3D p = copy_params(b, a);
    CUgraphNode filled = NULL, copied = NULL;
    CUgraphExec exec;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddMemsetNode(&filled, graph, NULL, 0, &f, ctx), "a fill");
    success(cuGraphAddMemcpyNode(&copied, graph, &filled, 1, &p, ctx), "a copy");
    f.value = 0x40400000;
    success(cuGraphMemsetNodeSetParams(filled, &f), "fills with 3");
    p = copy_params(c, a);
    success(cuGraphMemcpyNodeSetParams(copied, &p), "copies elsewhere");
    memset(&p, 0, sizeof(p));
    success(cuGraphMemcpyNodeGetParams(copied, &p), "ask");
    eq_u64(p.dstDevice, (uintptr_t)c, "there");
    exec = instantiate(graph);
    fill(b, 0), fill(c, 0);
    success(cuGraphUpload(exec, stream), "upload");
    ok(c[0] == 0, "which does nothing");
    launch(exec);
    ok(a[N - 1] == 3 && c[N - 1] == 3 && b[0] == 0, "filled and copied");
    p = copy_params(b, a);
    success(cuGraphExecMemcpyNodeSetParams(exec, copied, &p, ctx), "back to the first");
    fill(c, 0);
    launch(exec);
    ok(b[N - 1] == 3 && c[0] == 0, "copied there");
    p.Height = 2;
    p.WidthInBytes = p.srcPitch = p.dstPitch = 8;
    refused(cuGraphExecMemcpyNodeSetParams(exec, copied, &p, ctx), "rows");
    f.dst = (uintptr_t)a, f.pitch = 8, f.width = 1, f.height = 2;
    refused(cuGraphExecMemsetNodeSetParams(exec, filled, &f, ctx), "there neither");
    f.elementSize = 3;
    refused(cuGraphMemsetNodeSetParams(filled, &f), "elements of three bytes");
    refused(cuGraphMemcpyNodeSetParams(filled, &p), "a fill is no copy");
    refused(cuGraphExecMemcpyNodeSetParams(exec, filled, &p, ctx), "there neither");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

/* ---- the host, events */

static void add_one(void *arg)
{
    ++*(_Atomic int *)arg;
}

static void test_host(void)
{
    _Atomic int first = 0, second = 0;
    CUDA_HOST_NODE_PARAMS p = {add_one, &first}, got = {0};
    CUgraphNode node = NULL;
    CUgraphExec exec;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddHostNode(&node, graph, NULL, 0, &p), "a host node");
    success(cuGraphHostNodeGetParams(node, &got), "ask");
    ok(got.fn == add_one && got.userData == &first, "what it calls");
    exec = instantiate(graph);
    p.userData = &second;
    success(cuGraphExecHostNodeSetParams(exec, node, &p), "for another");
    launch(exec);
    ok(!first && second == 1, "it was called for that");
    p.fn = NULL;
    refused(cuGraphExecHostNodeSetParams(exec, node, &p), "no function");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_events(void)
{
    CUgraphNode recorded = NULL, waits = NULL;
    CUevent first, second, got = NULL;
    CUgraphExec exec;
    CUgraph graph;

    success(cuEventCreate(&first, 0), "event");
    success(cuEventCreate(&second, 0), "event");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddEventRecordNode(&recorded, graph, NULL, 0, first), "a recording");
    success(cuGraphAddEventWaitNode(&waits, graph, &recorded, 1, first), "a wait");
    success(cuGraphEventRecordNodeGetEvent(recorded, &got), "ask");
    ok(got == first, "the first");
    success(cuGraphEventRecordNodeSetEvent(recorded, second), "the second");
    success(cuGraphEventWaitNodeSetEvent(waits, second), "there too");
    success(cuGraphEventWaitNodeGetEvent(waits, &got), "ask");
    ok(got == second, "the second");
    exec = instantiate(graph);
    launch(exec);
    success(cuEventElapsedTime(&(float){0}, second, second), "it was recorded");
    eq_u64(cuEventElapsedTime(&(float){0}, first, first), CUDA_ERROR_INVALID_HANDLE,
           "and the first was not");
    success(cuGraphExecEventRecordNodeSetEvent(exec, recorded, first), "the first again");
    success(cuGraphExecEventWaitNodeSetEvent(exec, waits, first), "there too");
    launch(exec);
    success(cuEventElapsedTime(&(float){0}, first, first), "it was recorded");
    refused(cuGraphEventRecordNodeSetEvent(waits, first), "a wait records nothing");
    refused(cuGraphEventRecordNodeGetEvent(waits, &got), "and has no recording");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuEventDestroy(first), "destroy");
    success(cuEventDestroy(second), "destroy");
}

/* ---- children, any node, updates */

static CUgraphNode fill_node(CUgraph graph, float *at, unsigned bits)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                           .memset = {.dst = (uintptr_t)at,
                                      .value = bits,
                                      .elementSize = 4,
                                      .width = N,
                                      .height = 1,
                                      .ctx = ctx}};
    CUgraphNode node = NULL;

    success(cuGraphAddNode(&node, graph, NULL, 0, &p), "a fill");
    return node;
}

static void test_child(void)
{
    CUgraph graph, child, other, longer;
    CUgraphNode node = NULL;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphCreate(&child, 0), "graph");
    success(cuGraphCreate(&other, 0), "graph");
    fill_node(child, a, 0x40000000);
    fill_node(other, a, 0x40400000);
    success(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child), "a child");
    exec = instantiate(graph);
    launch(exec);
    ok(a[N - 1] == 2, "2");
    success(cuGraphExecChildGraphNodeSetParams(exec, node, other), "another");
    launch(exec);
    ok(a[N - 1] == 3, "3");
    success(cuGraphClone(&longer, other), "copy");
    fill_node(longer, b, 0);
    refused(cuGraphExecChildGraphNodeSetParams(exec, node, longer), "one of two nodes");
    launch(exec);
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(longer), "destroy");
    success(cuGraphDestroy(other), "destroy");
    success(cuGraphDestroy(child), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

/* A child whose events are of another context would be recorded in streams that are not its. */
static void test_child_of_another_context(void)
{
    CUgraph graph, child, other;
    CUgraphNode node = NULL;
    CUevent here, there;
    CUgraphExec exec;
    CUcontext second;

    success(cuEventCreate(&here, 0), "event");
    success(cuCtxCreate_v2(&second, 0, 0), "another context");
    success(cuEventCreate(&there, 0), "its event");
    success(cuCtxSetCurrent(ctx), "back");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphCreate(&child, 0), "graph");
    success(cuGraphCreate(&other, 0), "graph");
    success(cuGraphAddEventRecordNode(&node, child, NULL, 0, here), "a recording");
    success(cuGraphAddEventRecordNode(&node, other, NULL, 0, there), "of the other context");
    success(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child), "a child");
    exec = instantiate(graph);
    refused(cuGraphExecChildGraphNodeSetParams(exec, node, other), "not from there");
    launch(exec);
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(other), "destroy");
    success(cuGraphDestroy(child), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuEventDestroy(here), "destroy");
    success(cuCtxDestroy(second), "destroy");
    success(cuCtxSetCurrent(ctx), "back");
}

static void test_update(void)
{
    CUgraphNode failed = (CUgraphNode)&failed;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUgraph graph, other;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphCreate(&other, 0), "graph");
    fill_node(graph, a, 0x40000000);
    fill_node(other, b, 0x40400000);
    exec = instantiate(graph);
    success(cuGraphExecUpdate(exec, other, &failed, &result), "update");
    ok(!failed && result == CU_GRAPH_EXEC_UPDATE_SUCCESS, "nothing failed");
    fill(a, 0), fill(b, 0);
    launch(exec);
    ok(a[0] == 0 && b[N - 1] == 3, "what the other one does");
    fill_node(other, c, 0);
    eq_u64(cuGraphExecUpdate(exec, other, &failed, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           "one node more");
    eq_u64(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "the reason");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(other), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_edges(void)
{
    CUgraphNode n[3] = {0}, got[3] = {0};
    CUgraphEdgeData data[3];
    size_t count = 3;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddEmptyNode(&n[0], graph, NULL, 0), "a node");
    success(cuGraphAddEmptyNode(&n[1], graph, NULL, 0), "a node");
    success(cuGraphAddEmptyNode(&n[2], graph, n, 2), "behind both");
    memset(data, 0xff, sizeof(data));
    success(cuGraphNodeGetDependencies_v2(n[2], got, data, &count), "ask");
    ok(count == 2 && got[0] == n[0] && got[1] == n[1] && !got[2], "both");
    ok(!data[1].type && !data[1].from_port && data[2].type == 0xff, "plain edges");
    count = 0;
    success(cuGraphNodeGetDependentNodes_v2(n[0], NULL, NULL, &count), "how many");
    eq_u64(count, 1, "one");
    success(cuGraphNodeGetDependentNodes_v2(n[0], got, data, &count), "ask");
    ok(got[0] == n[2], "the last");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_user_object(void)
{
    _Atomic int ends = 0;
    CUuserObject object;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    success(
        cuUserObjectCreate(&object, (void *)&ends, add_one, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "an object");
    success(cuGraphRetainUserObject(graph, object, 2, 0), "two references for the graph");
    success(cuUserObjectRelease(object, 1), "ours goes");
    success(cuGraphReleaseUserObject(graph, object, 1), "one of its");
    eq_u64(ends, 0, "it lives");
    refused(cuGraphReleaseUserObject(graph, object, 2), "it has not two");
    success(cuGraphReleaseUserObject(graph, object, 1), "the last");
    eq_u64(ends, 1, "it is over");
    success(cuGraphDestroy(graph), "destroy");
}

/* ---- captures */

static void test_capture(void)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    const CUgraphEdgeData *data = NULL;
    const CUgraphNode *from = NULL;
    cuuint64_t id = 0, same = 0;
    _Atomic int calls = 0;
    CUgraph graph = NULL, got = NULL;
    CUgraphNode extra = NULL;
    size_t n = 0;

    success(cuStreamBeginCapture(stream), "begin");
    success(cuLaunchHostFunc(stream, add_one, (void *)&calls), "a call");
    success(cuStreamGetCaptureInfo(stream, &status, &id), "ask");
    ok(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id, "it is capturing");
    success(cuStreamGetCaptureInfo_v3(stream, &status, &same, &got, &from, &data, &n), "ask more");
    ok(same == id && got && n == 1 && from[0], "what comes next depends on the call");
    success(cuGraphAddEmptyNode(&extra, got, from, 1), "a node of our own");
    success(cuStreamUpdateCaptureDependencies_v2(stream, &extra, NULL, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            "which comes next");
    success(cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, &from, NULL, &n), "ask");
    ok(n == 1 && from[0] == extra, "it does");
    success(cuStreamEndCapture(stream, &graph), "end");
    success(cuGraphGetNodes(graph, NULL, &n), "nodes");
    eq_u64(n, 2, "two");
    success(cuStreamGetCaptureInfo(stream, &status, &id), "ask");
    eq_u64(status, CU_STREAM_CAPTURE_STATUS_NONE, "no longer");
    success(cuGraphDestroy(graph), "destroy");
}

/* A function has its context: none has to be current, and what the node names is not looked at. */
static void test_kernel_without_context(void)
{
    const float *none = NULL;
    uint32_t n = 0;
    void *args[] = {&none, &none, &none, &n};
    CUDA_KERNEL_NODE_PARAMS p = {.func = add, .kernelParams = args};
    CUgraph graph;
    CUgraphNode node;

    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuCtxSetCurrent(NULL), "no context");
    success(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p), "a function's node");
    p.ctx = (CUcontext)&graph;
    success(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p), "whatever context it names");
    success(cuCtxSetCurrent(ctx), "context");
    success(cuGraphDestroy(graph), "destroy");
}

int main(void)
{
    CUmodule module;

    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    add = driver_function(module, "add");
    a = floats_create(), b = floats_create(), c = floats_create();
    test_kernel();
    test_kernel_attributes();
    test_kernel_without_context();
    test_copy_and_fill();
    test_host();
    test_events();
    test_child();
    test_child_of_another_context();
    test_update();
    test_edges();
    test_user_object();
    test_capture();
    success(cuCtxDestroy(ctx), "destroy");
    return done();
}
