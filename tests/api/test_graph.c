/*
 * Graphs of the driver API: what each function does and the errors that its documentation names.
 * Code is fake (tests/dev/fake_jit.h).
 */
#include "driver_fixture.h"

#include <unistd.h>

#define refused(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

enum { N = 256 };

static CUcontext ctx;
static CUstream stream;
static CUfunction add;
static float *a, *b, *c; /* device memory, which the host may read */

static CUDA_KERNEL_NODE_PARAMS add_params(void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = add,
                                     .gridDimX = N / 64,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 64,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = args};
}

/* c = x + y */
static CUgraphNode add_node(CUgraph graph, const CUgraphNode *from, size_t n, float *x, float *y,
                            float *z)
{
    uint32_t count = N;
    void *args[] = {&x, &y, &z, &count};
    CUDA_KERNEL_NODE_PARAMS params = add_params(args);
    CUgraphNode node = NULL;

    success(cuGraphAddKernelNode_v2(&node, graph, from, n, &params), "a kernel node");
    memset(args, 0xff, sizeof(args)); /* parameters were copied */
    return node;
}

static CUgraphNode fill_node(CUgraph graph, const CUgraphNode *from, size_t n, void *dst,
                             unsigned value)
{
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = (uintptr_t)dst, .value = value, .elementSize = 4, .width = N, .height = 1};
    CUgraphNode node = NULL;

    success(cuGraphAddMemsetNode(&node, graph, from, n, &params, ctx), "a fill node");
    return node;
}

static CUgraphNode copy_node(CUgraph graph, const CUgraphNode *from, size_t n, void *dst,
                             const void *src)
{
    CUDA_MEMCPY3D params = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = (uintptr_t)src,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = dst,
                            .WidthInBytes = N * sizeof(float),
                            .Height = 1,
                            .Depth = 1};
    CUgraphNode node = NULL;

    success(cuGraphAddMemcpyNode(&node, graph, from, n, &params, ctx), "a copy node");
    return node;
}

static void count_call(void *arg)
{
    ++*(_Atomic int *)arg;
}

static CUgraphNode host_node(CUgraph graph, const CUgraphNode *from, size_t n, _Atomic int *calls)
{
    CUDA_HOST_NODE_PARAMS params = {count_call, calls};
    CUgraphNode node = NULL;

    success(cuGraphAddHostNode(&node, graph, from, n, &params), "a host node");
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;

    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    return exec;
}

static void launch(CUgraphExec exec)
{
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuStreamSynchronize(stream), "its end");
}

static unsigned wrong_floats(const float *at, float want)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < N; i++)
        wrong += at[i] != want;
    return wrong;
}

#define BITS(x)                                                                                    \
    ((union {                                                                                      \
         float f;                                                                                  \
         unsigned u;                                                                               \
     }){.f = (x)}                                                                                  \
         .u)

/* a = 1 and b = 2 beside each other, c = a + b, host = c, call. */
static void test_launch(void)
{
    static float host[N];
    _Atomic int calls = 0;
    CUgraph graph;
    CUgraphNode fills[2], sum, copy;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "a graph");
    fills[0] = fill_node(graph, NULL, 0, a, BITS(1));
    fills[1] = fill_node(graph, NULL, 0, b, BITS(2));
    sum = add_node(graph, fills, 2, a, b, c);
    copy = copy_node(graph, &sum, 1, host, c);
    host_node(graph, &copy, 1, &calls);
    exec = instantiate(graph);
    eq_u64(wrong_floats(c, 3), N, "nothing runs before a launch");
    launch(exec);
    eq_u64(wrong_floats(host, 3) + (unsigned)(calls != 1), 0, "the graph ran");
    memset(host, 0, sizeof(host));
    success(cuGraphLaunch(exec, stream), "twice at once");
    success(cuGraphLaunch(exec, CU_STREAM_PER_THREAD), "in another stream");
    success(cuGraphDestroy(graph), "an executable graph outlives its graph");
    success(cuGraphExecDestroy(exec), "and work its executable graph");
    success(cuCtxSynchronize(), "the end");
    eq_u64(wrong_floats(host, 3) + (unsigned)(calls != 3), 0, "it ran twice more");
    refused(cuGraphLaunch(exec, stream), "launch of what was destroyed");
    refused(cuGraphExecDestroy(exec), "destroyed twice");
}

/* What depends on what: queries. */
static void test_edges(void)
{
    CUgraph graph;
    CUgraphNode n[3], got[8], to[8];
    CUgraphEdgeData data[8];
    size_t count = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    for (int i = 0; i < 3; i++)
        success(cuGraphAddEmptyNode(&n[i], graph, NULL, 0), "node %d", i);
    success(cuGraphAddDependencies(graph, n, n + 1, 2), "0 -> 1 -> 2");
    refused(cuGraphAddDependencies(graph, n, n + 1, 1), "the edge exists");
    refused(cuGraphAddDependencies(graph, n, n, 1), "from a node to itself");
    success(cuGraphGetEdges(graph, NULL, NULL, &count), "how many");
    eq_u64(count, 2, "two edges");
    count = 8;
    success(cuGraphGetEdges_v2(graph, got, to, data, &count), "which");
    ok(count == 2 && got[0] == n[0] && to[0] == n[1] && got[1] == n[1] && to[1] == n[2] && !got[2],
       "the two");
    count = 8;
    success(cuGraphGetRootNodes(graph, got, &count), "roots");
    ok(count == 1 && got[0] == n[0] && !got[1], "the first is");
    count = 1;
    success(cuGraphGetNodes(graph, got, &count), "nodes, room for one");
    ok(count == 1 && got[0] == n[0], "the first");
    count = 8;
    success(cuGraphNodeGetDependencies(n[2], got, &count), "dependencies");
    ok(count == 1 && got[0] == n[1], "of the last");
    count = 8;
    success(cuGraphNodeGetDependentNodes(n[0], got, &count), "dependent nodes");
    ok(count == 1 && got[0] == n[1], "of the first");
    success(cuGraphRemoveDependencies(graph, n, n + 1, 1), "remove an edge");
    refused(cuGraphRemoveDependencies(graph, n, n + 1, 1), "that is gone");
    success(cuGraphDestroyNode(n[1]), "remove a node");
    refused(cuGraphDestroyNode(n[1]), "that is gone");
    success(cuGraphGetEdges(graph, NULL, NULL, &count), "and its edges");
    eq_u64(count, 0, "are gone");
    success(cuGraphDestroy(graph), "destroy");
    refused(cuGraphDestroyNode(n[0]), "a node of no graph");
    refused(cuGraphDestroy(graph), "a graph that is gone");
}

static void test_edge_data(void)
{
    CUgraphEdgeData bad = {.type = 1}, port = {.from_port = 1, .type = 1};
    CUgraph graph;
    CUgraphNode k[2], e, got[2];
    size_t count = 2;

    success(cuGraphCreate(&graph, 0), "a graph");
    k[0] = add_node(graph, NULL, 0, a, b, c);
    k[1] = add_node(graph, NULL, 0, a, b, c);
    success(cuGraphAddEmptyNode(&e, graph, NULL, 0), "an empty node");
    refused(cuGraphAddDependencies_v2(graph, &k[0], &k[1], &bad, 1), "type without a port");
    refused(cuGraphAddDependencies_v2(graph, &k[0], &e, &port, 1), "programmatic, to no kernel");
    success(cuGraphAddDependencies_v2(graph, &k[0], &k[1], &port, 1), "programmatic");
    eq_u64(cuGraphNodeGetDependencies(k[1], got, &count), CUDA_ERROR_LOSSY_QUERY, "not shown");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_structure(void)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    CUgraph graph;
    CUgraphNode n[3];
    CUgraphExec exec;
    char log[200] = "";

    success(cuGraphCreate(&graph, 0), "a graph");
    for (int i = 0; i < 3; i++)
        success(cuGraphAddEmptyNode(&n[i], graph, NULL, 0), "node %d", i);
    success(cuGraphAddDependencies(graph, n, n + 1, 2), "a chain");
    success(cuGraphAddDependencies(graph, n + 2, n + 1, 1), "and back: a cycle");
    refused(cuGraphInstantiateWithFlags(&exec, graph, 0), "a cycle cannot be executed");
    refused(cuGraphInstantiateWithParams(&exec, graph, &params), "nor so");
    ok(params.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE &&
           (params.hErrNode_out == n[1] || params.hErrNode_out == n[2]),
       "the reason and where");
    refused(cuGraphInstantiate_v2(&exec, graph, NULL, log, sizeof(log)), "as of old");
    ok(strstr(log, "cycle") != NULL, "with a text");
    refused(cuGraphInstantiateWithFlags(&exec, graph, 1u << 20), "unknown flags");
    refused(cuGraphInstantiateWithFlags(&exec, graph,
                                        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                            CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
            "flags that exclude each other");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_bad(void)
{
    uint32_t count = N;
    void *args[] = {&a, &b, &c, &count};
    CUDA_KERNEL_NODE_PARAMS params = add_params(args);
    CUgraph graph, other;
    CUgraphNode node, foreign;

    success(cuGraphCreate(&graph, 0), "a graph");
    success(cuGraphCreate(&other, 0), "another");
    success(cuGraphAddEmptyNode(&foreign, other, NULL, 0), "with a node");
    refused(cuGraphCreate(&other, 1), "flags");
    refused(cuGraphAddEmptyNode(NULL, graph, NULL, 0), "no place for the node");
    refused(cuGraphAddEmptyNode(&node, (CUgraph)&node, NULL, 0), "not a graph");
    refused(cuGraphAddEmptyNode(&node, graph, NULL, 1), "dependencies from nowhere");
    refused(cuGraphAddEmptyNode(&node, graph, &foreign, 1), "a node of another graph");
    foreign = (CUgraphNode)graph;
    refused(cuGraphAddEmptyNode(&node, graph, &foreign, 1), "no node");
    params.blockDimX = 0;
    refused(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), "empty blocks");
    params = add_params(NULL);
    refused(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), "no parameters");
    params = add_params(args);
    params.func = (CUfunction)graph;
    eq_u64(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE,
           "no function");
    refused(cuGraphAddHostNode(&node, graph, NULL, 0, &(CUDA_HOST_NODE_PARAMS){0}), "no function");
    node = fill_node(graph, NULL, 0, a, 0);
    refused(cuGraphHostNodeSetParams(node, &(CUDA_HOST_NODE_PARAMS){count_call, NULL}),
            "parameters of another type");
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphDestroy(other), "destroy");
}

static void test_params(void)
{
    static const CUkernelNodeAttrValue on = {.cooperative = 1};
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_MEMCPY3D copy;
    CUkernelNodeAttrValue value;
    CUgraph graph;
    CUgraphNode n[3];
    CUgraphNodeType type;

    success(cuGraphCreate(&graph, 0), "a graph");
    n[0] = add_node(graph, NULL, 0, a, b, c);
    n[1] = fill_node(graph, NULL, 0, a, 7);
    n[2] = copy_node(graph, NULL, 0, &fill, a);
    success(cuGraphKernelNodeGetParams_v2(n[0], &kernel), "of a kernel");
    ok(kernel.func == add && kernel.gridDimX == N / 64 && kernel.blockDimX == 64, "as given");
    ok(*(float **)kernel.kernelParams[2] == c && *(uint32_t *)kernel.kernelParams[3] == N,
       "parameters, too");
    success(cuGraphMemsetNodeGetParams(n[1], &fill), "of a fill");
    ok(fill.dst == (uintptr_t)a && fill.value == 7 && fill.width == N, "as given");
    success(cuGraphMemcpyNodeGetParams(n[2], &copy), "of a copy");
    ok(copy.srcDevice == (uintptr_t)a && copy.WidthInBytes == N * sizeof(float), "as given");
    refused(cuGraphMemcpyNodeGetParams(n[0], &copy), "of another type");
    success(cuGraphNodeGetType(n[2], &type), "type");
    eq_u64(type, CU_GRAPH_NODE_TYPE_MEMCPY, "a copy");
    success(cuGraphKernelNodeSetAttribute(n[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &on), "set");
    success(cuGraphKernelNodeGetAttribute(n[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), "get");
    eq_u64(value.cooperative, 1, "cooperative");
    refused(cuGraphKernelNodeSetAttribute(n[0], CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &on),
            "an attribute of streams");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_clone(void)
{
    CUgraph graph, clone, child;
    CUgraphNode n[2], found, outer;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "a graph");
    n[0] = fill_node(graph, NULL, 0, a, BITS(4));
    n[1] = add_node(graph, n, 1, a, a, c);
    success(cuGraphClone(&clone, graph), "its clone");
    success(cuGraphNodeFindInClone(&found, n[1], clone), "a node of it");
    ok(found != n[1], "is another one");
    refused(cuGraphNodeFindInClone(&found, n[1], graph), "not of a clone");
    success(cuGraphAddChildGraphNode(&outer, clone, &found, 1, graph), "a child graph");
    success(cuGraphChildGraphNodeGetGraph(outer, &child), "its graph");
    refused(cuGraphDestroy(child), "that belongs to the node");
    success(cuGraphNodeFindInClone(&found, n[0], child), "a clone, too");
    fill_node(child, NULL, 0, b, BITS(5));
    success(cuGraphDestroy(graph), "destroy the original");
    exec = instantiate(clone);
    memset(c, 0, N * sizeof(float));
    launch(exec);
    eq_u64(wrong_floats(c, 8) + wrong_floats(b, 5), 0, "the clone ran, and its child");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(clone), "destroy");
    refused(cuGraphGetNodes(child, NULL, &(size_t){0}), "the child went with it");
}

static void test_update(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph, other;
    CUgraphNode n, m;
    CUgraphExec exec;
    unsigned enabled = 7;
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = (uintptr_t)a, .value = BITS(9), .elementSize = 4, .width = N, .height = 1};

    success(cuGraphCreate(&graph, 0), "a graph");
    n = fill_node(graph, NULL, 0, a, BITS(1));
    m = add_node(graph, &n, 1, a, a, c);
    exec = instantiate(graph);
    success(cuGraphExecMemsetNodeSetParams(exec, n, &params, ctx), "one node");
    launch(exec);
    eq_u64(wrong_floats(c, 18), 0, "does another thing");
    success(cuGraphNodeSetEnabled(exec, n, 0), "disable");
    success(cuGraphNodeGetEnabled(exec, n, &enabled), "ask");
    eq_u64(enabled, 0, "it is");
    memset(a, 0, N * sizeof(float));
    launch(exec);
    eq_u64(wrong_floats(c, 0), 0, "is left out");
    success(cuGraphNodeSetEnabled(exec, n, 1), "enable");
    success(cuGraphCreate(&other, 0), "another graph");
    params.value = BITS(3);
    n = fill_node(other, NULL, 0, a, BITS(3));
    eq_u64(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           "with a node less");
    eq_u64(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "is another graph");
    add_node(other, &n, 1, a, a, b);
    success(cuGraphExecUpdate_v2(exec, other, &info), "with the same nodes");
    launch(exec);
    eq_u64(wrong_floats(b, 6), 0, "does what the other does");
    success(cuGraphDestroyNode(m), "destroy a node");
    refused(cuGraphExecMemsetNodeSetParams(exec, m, &params, ctx), "gone");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphDestroy(other), "destroy");
}

static void test_update_types(void)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph, other;
    CUgraphNode n, m;
    CUgraphExec exec;
    _Atomic int calls = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    success(cuGraphCreate(&other, 0), "another graph");
    n = fill_node(graph, NULL, 0, a, 1);
    host_node(graph, &n, 1, &calls);
    n = fill_node(other, NULL, 0, a, 1);
    m = add_node(other, &n, 1, a, a, c);
    exec = instantiate(graph);
    eq_u64(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           "nodes of another type");
    ok(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == m,
       "which is said");
    launch(exec);
    eq_u64(calls, 1, "nothing has changed");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphDestroy(other), "destroy");
}

static void test_events(void)
{
    CUevent event;
    CUgraph graph;
    CUgraphNode n[2];
    CUgraphExec exec;
    _Atomic int calls = 0;
    float ms;

    success(cuEventCreate(&event, 0), "an event");
    success(cuGraphCreate(&graph, 0), "a graph");
    n[0] = host_node(graph, NULL, 0, &calls);
    success(cuGraphAddEventRecordNode(&n[1], graph, n, 1, event), "recorded in it");
    success(cuGraphAddEventWaitNode(&n[0], graph, &n[1], 1, event), "and waited for");
    exec = instantiate(graph);
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuEventSynchronize(event), "the event");
    eq_u64(calls, 1, "comes behind the call");
    success(cuEventElapsedTime(&ms, event, event), "and has a time");
    success(cuStreamSynchronize(stream), "the end");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
}

static void test_users(void)
{
    static _Atomic int ends;
    CUuserObject object;
    CUgraph graph, clone;
    CUgraphExec exec;
    _Atomic int calls = 0;

    refused(cuUserObjectCreate(&object, NULL, count_call, 1, 0), "the flag is required");
    success(cuUserObjectCreate(&object, &ends, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
            "a user object");
    success(cuGraphCreate(&graph, 0), "a graph");
    host_node(graph, NULL, 0, &calls);
    success(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), "is its owner");
    success(cuGraphClone(&clone, graph), "as is a clone");
    exec = instantiate(graph);
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphDestroy(clone), "destroy");
    eq_u64(ends, 0, "the executable graph has it");
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuCtxSynchronize(), "the end");
    eq_u64(ends, 1, "it is destroyed once");
    refused(cuUserObjectRetain(object, 1), "and gone");
}

/* More packets than a ring has. */
static void test_large(void)
{
    enum { NODES = 3000 };
    CUgraph graph;
    CUgraphNode last = NULL;
    CUgraphExec exec;
    _Atomic int calls = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    for (int i = 0; i < NODES; i++) {
        CUDA_MEMSET_NODE_PARAMS params = {
            .dst = (uintptr_t)a, .value = 1, .elementSize = 4, .width = 1, .height = 1};
        CUgraphNode node;

        if (cuGraphAddMemsetNode(&node, graph, &last, last != NULL, &params, ctx))
            abort();
        last = node;
    }
    host_node(graph, &last, 1, &calls);
    exec = instantiate(graph);
    launch(exec);
    launch(exec);
    eq_u64(calls, 2, "%d nodes, twice", NODES);
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

/* An update that changes what may not change. */
static void check_update(CUgraph from, CUgraph to, unsigned flags, CUgraphExecUpdateResult why,
                         const char *what)
{
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec;
    CUgraphNode node;
    size_t one = 1;

    success(cuGraphGetNodes(to, &node, &one), "the node");
    success(cuGraphInstantiateWithFlags(&exec, from, flags), "instantiate");
    eq_u64(cuGraphExecUpdate_v2(exec, to, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "%s", what);
    ok(info.result == why && info.errorNode == node, "%s: why and where", what);
    success(cuGraphExecDestroy(exec), "destroy");
}

static void test_update_reasons(void)
{
    const unsigned priorities = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    CUDA_MEMSET_NODE_PARAMS box = {
        .dst = (uintptr_t)a, .pitch = 64, .elementSize = 4, .width = 4, .height = 4};
    CUlaunchAttributeValue value = {.cooperative = 1};
    CUgraphExecUpdateResultInfo info;
    CUgraphNode node;
    CUgraph graph[6];
    CUgraphExec exec;
    float host[N];

    for (int i = 0; i < 6; i++)
        success(cuGraphCreate(&graph[i], 0), "a graph");
    (void)add_node(graph[0], NULL, 0, a, b, c);
    node = add_node(graph[1], NULL, 0, a, b, c);
    success(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), "set");
    check_update(graph[0], graph[1], 0, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
                 "a cooperative launch");
    value.cooperative = 0;
    success(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), "set");
    value.priority = -2;
    success(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), "set");
    check_update(graph[0], graph[1], priorities, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
                 "another priority");
    success(cuGraphInstantiateWithFlags(&exec, graph[0], 0), "where they do not count");
    success(cuGraphExecUpdate_v2(exec, graph[1], &info), "it does not matter");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphAddMemsetNode(&node, graph[2], NULL, 0, &box, ctx), "a fill of a box");
    box.height = 3;
    success(cuGraphAddMemsetNode(&node, graph[3], NULL, 0, &box, ctx), "of another");
    check_update(graph[2], graph[3], 0, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                 "a box of another size");
    (void)copy_node(graph[4], NULL, 0, host, a);
    CUDA_MEMCPY3D within = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = (uintptr_t)a,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = (uintptr_t)b,
                            .WidthInBytes = 4,
                            .Height = 1,
                            .Depth = 1};
    success(cuGraphAddMemcpyNode(&node, graph[5], NULL, 0, &within, ctx), "a copy");
    check_update(graph[4], graph[5], 0, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                 "a copy to other memory");
    for (int i = 0; i < 6; i++)
        success(cuGraphDestroy(graph[i]), "destroy");
}

/* The text of a graph, as far as it fits. */
static const char *dot_text(CUgraph graph, unsigned flags)
{
    static char text[8192];
    char path[] = "/tmp/heddle-dot-XXXXXX";
    int fd = mkstemp(path);
    ssize_t n;

    success(cuGraphDebugDotPrint(graph, path, flags), "text, flags 0x%x", flags);
    n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    unlink(path);
    return text;
}

/* What each flag adds. */
static void test_dot(void)
{
    static const struct {
        unsigned flag;
        const char *word;
    } rows[] = {{CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS, "block (64,1,1)"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES, "cooperative 0"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS, "= 0x4d2"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS, " from 0x"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS, "(0x77)"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS, "event 0x"},
                {CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS, " 4096 bytes"}};
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4096};
    CUDA_HOST_NODE_PARAMS host = {count_call, (void *)0x77};
    float to[N];
    CUevent event;
    CUgraph graph;
    CUgraphNode node;

    success(cuEventCreate(&event, 0), "event");
    success(cuGraphCreate(&graph, 0), "a graph");
    (void)add_node(graph, NULL, 0, a, b, c);
    (void)fill_node(graph, NULL, 0, a, 1234);
    (void)copy_node(graph, NULL, 0, to, a);
    success(cuGraphAddHostNode(&node, graph, NULL, 0, &host), "a host node");
    success(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event), "an event node");
    success(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &memory), "a memory node");
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        ok(!strstr(dot_text(graph, 0), rows[i].word), "%s: not asked for", rows[i].word);
        ok(strstr(dot_text(graph, rows[i].flag), rows[i].word), "%s: its flag", rows[i].word);
        ok(strstr(dot_text(graph, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE), rows[i].word),
           "%s: everything", rows[i].word);
    }
    success(cuGraphDestroy(graph), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
}

static CUgraphNodeParams child_params(CUgraph child, CUgraphChildGraphNodeOwnership ownership)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_GRAPH,
                               .graph = {.graph = child, .ownership = ownership}};
}

/* It belongs to its parent, with memory nodes; what else it was good for is over. */
static void test_moved(void)
{
    const CUmemAllocationType pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = {.allocType = pinned, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4096};
    CUgraph parent, child, other, got;
    CUgraphNodeParams move, clone, odd;
    CUgraphNode node, alloc, fill, gone, nodes[3];
    CUgraphExecUpdateResultInfo info;
    size_t count = 3;
    CUgraphExec exec;

    success(cuGraphCreate(&parent, 0), "a graph");
    success(cuGraphCreate(&child, 0), "another");
    success(cuGraphCreate(&other, 0), "a third");
    success(cuGraphAddMemAllocNode(&alloc, child, NULL, 0, &memory), "memory");
    fill = fill_node(child, &alloc, 1, (void *)(uintptr_t)memory.dptr, 7);
    success(cuGraphAddMemFreeNode(&gone, child, &fill, 1, memory.dptr), "freed");
    move = child_params(child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    clone = child_params(child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
    odd = child_params(child, (CUgraphChildGraphNodeOwnership)2);
    refused(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &odd), "ownership 2");
    odd = move;
    odd.reserved2 = 1;
    refused(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &odd), "a reserved word");
    odd.reserved2 = 0;
    odd.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    odd.reserved0[1] = 1;
    refused(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &odd), "another one");
    refused(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &clone), "memory is not copied");
    refused(cuGraphAddNode_v2(&node, child, NULL, NULL, 0, &move), "into itself");
    refused(cuGraphAddNode_v2(&node, parent, &fill, NULL, 1, &move), "behind a foreign node");
    success(cuGraphGetNodes(child, nodes, &count), "which leaves it alone");
    success(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &move), "moved");
    success(cuGraphChildGraphNodeGetGraph(node, &got), "the node's graph");
    ok(got == child && count == 3, "is the same");
    refused(cuGraphDestroy(child), "it is not destroyed alone");
    refused(cuGraphInstantiateWithFlags(&exec, child, 0), "nor instantiated");
    refused(cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &move), "nor moved again");
    refused(cuGraphAddNode_v2(&node, other, NULL, NULL, 0, &clone), "nor copied into another");
    refused(cuGraphAddMemAllocNode(&alloc, child, NULL, 0, &memory), "and gets no memory nodes");
    move = child_params(parent, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    refused(cuGraphAddNode_v2(&node, child, NULL, NULL, 0, &move), "nor its parent");
    fill_node(child, &alloc, 0, a, 9);
    success(cuGraphInstantiateWithFlags(&exec, parent, 0), "the parent is instantiated");
    refused(cuGraphExecUpdate_v2(exec, child, &info), "and not updated from it");
    for (int i = 0; i < 2; i++)
        success(cuGraphLaunch(exec, stream), "launch");
    success(cuStreamSynchronize(stream), "wait");
    eq_u64(*(uint32_t *)a, 9, "its nodes ran");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(parent), "the parent goes");
    refused(cuGraphDestroy(child), "with it");
    success(cuGraphDestroy(other), "destroy");
}

/* The same work in other blocks. */
static void small_blocks(CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params;

    success(cuGraphKernelNodeGetParams_v2(node, &params), "parameters");
    params.gridDimX *= 2;
    params.blockDimX /= 2;
    success(cuGraphKernelNodeSetParams_v2(node, &params), "of other blocks");
}

/* n nodes, each adds b to c, but for number `odd`, which adds a to `to`. */
static CUgraphExec chain(int n, int odd, float *to)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "a graph");
    for (int i = 0; i < n; i++) {
        float *at = i == odd ? to : c;

        node = add_node(graph, &node, i > 0, at, i == odd ? a : b, at);
        if (i % 7 < 2)
            small_blocks(node);
    }
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "of %d short nodes", n);
    success(cuGraphDestroy(graph), "destroy");
    return exec;
}

/* Short grids run as one: each with its parameters and blocks, and the fault of one ends all. */
static void test_short(void)
{
    enum { NODES = 700, ODD = 333, FAULT = 21 };
    CUgraphExec exec = chain(NODES, ODD, c);
    unsigned wrong = 0;

    for (int i = 0; i < N; i++) {
        a[i] = 1000;
        b[i] = 1;
        c[i] = 0;
    }
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuStreamSynchronize(stream), "wait");
    for (int i = 0; i < N; i++)
        wrong += c[i] != NODES - 1 + 1000;
    eq_u64(wrong, 0, "each had its parameters");
    success(cuGraphExecDestroy(exec), "destroy");
    exec = chain(NODES, FAULT, (float *)8);
    c[0] = 0;
    success(cuGraphLaunch(exec, stream), "launch");
    eq_u64(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS, "one of them faults");
    eq_u64((uint64_t)c[0], FAULT, "after those in front of it");
    (void)cuGraphExecDestroy(exec);
}

int main(void)
{
    CUmodule module;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    add = driver_function(module, "add");
    success(cuMemAllocManaged((CUdeviceptr *)&a, N * sizeof(float), 1), "memory");
    success(cuMemAllocManaged((CUdeviceptr *)&b, N * sizeof(float), 1), "memory");
    success(cuMemAllocManaged((CUdeviceptr *)&c, N * sizeof(float), 1), "memory");
    test_launch();
    test_edges();
    test_edge_data();
    test_structure();
    test_bad();
    test_params();
    test_clone();
    test_update();
    test_update_types();
    test_events();
    test_users();
    test_large();
    test_update_reasons();
    test_dot();
    test_moved();
    test_short();
    success(cuCtxDestroy_v2(ctx), "the end");
    return done();
}
