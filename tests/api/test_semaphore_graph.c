/* External semaphores in graphs: nodes, what they say, changes of them, captures, copies, text. */
#include "semaphore_fixture.h"

#include <stdio.h>
#include <string.h>

static CUstream stream;
static CUdeviceptr cell; /* pinned memory */
static CUexternalSemaphore binary, line;
static struct heddle_timeline *timeline;
static int binary_fd;

#define cell32 (*(_Atomic uint32_t *)(uintptr_t)cell)

/* A node waits for both, one fills memory, one signals both. */
static CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2];
static CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[2];
static CUexternalSemaphore both[2];
static CUDA_EXT_SEM_WAIT_NODE_PARAMS wait_params = {both, waits, 2};
static CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal_params = {both, signals, 2};

struct nodes {
    CUgraphNode wait, fill, signal;
};

static void values_set(uint64_t wait, uint64_t signal)
{
    memset(waits, 0, sizeof(waits));
    memset(signals, 0, sizeof(signals));
    waits[1].params.fence.value = wait;
    signals[1].params.fence.value = signal;
}

static CUgraph graph_make(struct nodes *out)
{
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = cell, .value = 5, .elementSize = 4, .width = 1};
    CUcontext ctx;
    CUgraph graph;

    fill.height = 1;
    success(cuCtxGetCurrent(&ctx), "context");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddExternalSemaphoresWaitNode(&out->wait, graph, NULL, 0, &wait_params), "wait");
    success(cuGraphAddMemsetNode(&out->fill, graph, &out->wait, 1, &fill, ctx), "fill");
    success(
        cuGraphAddExternalSemaphoresSignalNode(&out->signal, graph, &out->fill, 1, &signal_params),
        "signal");
    return graph;
}

/* A launch holds until both are there, fills, and signals both. */
static void check_launch(CUgraphExec exec, uint64_t wait, uint64_t signal, const char *what)
{
    cell32 = 0;
    heddle_timeline_signal(timeline, 0);
    success(cuGraphLaunch(exec, stream), "launch: %s", what);
    raise_it(binary_fd);
    heddle_timeline_signal(timeline, wait - 1);
    holds(stream, what);
    eq_u64(cell32, 0, "not yet filled: %s", what);
    heddle_timeline_signal(timeline, wait);
    success(cuStreamSynchronize(stream), "goes on: %s", what);
    eq_u64(cell32, 5, "filled: %s", what);
    eq_u64(heddle_timeline_value(timeline), signal, "signalled: %s", what);
    eq_u64(lower_it(binary_fd), 1, "the other, too: %s", what);
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;

    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    return exec;
}

static void test_nodes(void)
{
    CUgraphNodeType type;
    struct nodes nodes;
    CUgraphExec exec;
    CUgraph graph;

    values_set(3, 7);
    graph = graph_make(&nodes);
    success(cuGraphNodeGetType(nodes.wait, &type), "type");
    eq_u64(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, "of the one that waits");
    success(cuGraphNodeGetType(nodes.signal, &type), "type");
    eq_u64(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, "of the one that signals");
    values_set(0, 0); /* the graph has copies */
    exec = instantiate(graph);
    success(cuGraphDestroy(graph), "destroy the graph");
    check_launch(exec, 3, 7, "once");
    check_launch(exec, 3, 7, "and again");
    success(cuGraphExecDestroy(exec), "destroy");
}

/* Two launches at once: each takes a signal of its own. */
static void test_two_launches(void)
{
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;

    success(cuGraphCreate(&graph, 0), "graph");
    wait_params.numExtSems = 1;
    success(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &wait_params), "wait");
    wait_params.numExtSems = 2;
    exec = instantiate(graph);
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuGraphLaunch(exec, stream), "twice");
    success(cuGraphExecDestroy(exec), "destroy while it runs");
    success(cuGraphDestroy(graph), "and the graph");
    raise_it(binary_fd);
    while (is_raised(binary_fd)) /* until it is taken: two signals in between would be one */
        usleep(100);
    holds(stream, "one signal is not enough");
    raise_it(binary_fd);
    success(cuStreamSynchronize(stream), "two are");
    ok(!is_raised(binary_fd), "both were taken");
}

static void test_params(void)
{
    CUDA_EXT_SEM_WAIT_NODE_PARAMS wait;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal;
    struct nodes nodes;
    CUgraphExec exec;
    CUgraph graph;

    values_set(3, 7);
    graph = graph_make(&nodes);
    success(cuGraphExternalSemaphoresWaitNodeGetParams(nodes.wait, &wait), "what waits");
    ok(wait.numExtSems == 2 && wait.extSemArray[0] == binary && wait.extSemArray[1] == line &&
           wait.extSemArray != both,
       "its semaphores");
    eq_mem(wait.paramsArray, waits, sizeof(waits), "its values");
    success(cuGraphExternalSemaphoresSignalNodeGetParams(nodes.signal, &signal), "what signals");
    ok(signal.numExtSems == 2 && signal.extSemArray[0] == binary && signal.extSemArray[1] == line,
       "its semaphores");
    eq_mem(signal.paramsArray, signals, sizeof(signals), "its values");
    values_set(4, 8);
    success(cuGraphExternalSemaphoresWaitNodeSetParams(nodes.wait, &wait_params), "change one");
    success(cuGraphExternalSemaphoresSignalNodeSetParams(nodes.signal, &signal_params), "and one");
    exec = instantiate(graph);
    check_launch(exec, 4, 8, "changed");
    values_set(5, 9);
    success(cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, nodes.wait, &wait_params),
            "change the executable one");
    success(cuGraphExecExternalSemaphoresSignalNodeSetParams(exec, nodes.signal, &signal_params),
            "the other one");
    check_launch(exec, 5, 9, "changed later");
    success(cuGraphExternalSemaphoresWaitNodeGetParams(nodes.wait, &wait), "the graph");
    eq_u64(wait.paramsArray[1].params.fence.value, 4, "is as it was");
    wait_params.numExtSems = 1;
    fails(cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, nodes.wait, &wait_params),
          INVALID_VALUE, "another number of semaphores");
    wait_params.numExtSems = 2;
    check_launch(exec, 5, 9, "after a refused change");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_update(void)
{
    CUgraphExecUpdateResultInfo info;
    struct nodes nodes;
    CUgraphExec exec;
    CUgraph graph;

    values_set(3, 7);
    graph = graph_make(&nodes);
    exec = instantiate(graph);
    success(cuGraphDestroy(graph), "destroy");
    values_set(10, 12);
    graph = graph_make(&nodes);
    success(cuGraphExecUpdate_v2(exec, graph, &info), "update");
    check_launch(exec, 10, 12, "updated");
    wait_params.numExtSems = 1;
    success(cuGraphExternalSemaphoresWaitNodeSetParams(nodes.wait, &wait_params), "fewer");
    wait_params.numExtSems = 2;
    fails(cuGraphExecUpdate_v2(exec, graph, &info), GRAPH_EXEC_UPDATE_FAILURE, "update");
    eq_u64(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, "the reason");
    ok(info.errorNode == nodes.wait, "and the node");
    check_launch(exec, 10, 12, "not updated");
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphExecDestroy(exec), "destroy");
}

static bool is_in_text(const char *text, const char *what)
{
    return strstr(text, what) != NULL;
}

static void test_copies(void)
{
    char path[] = "/tmp/heddle_semaphores_XXXXXX", text[4096], value[32];
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT};
    CUgraph graph, clone, outer;
    struct nodes nodes;
    CUgraphNode child;
    CUgraphExec exec;
    size_t n;
    FILE *f;
    int fd = mkstemp(path);

    if (fd < 0)
        abort();
    close(fd);
    values_set(1234567, 7654321);
    graph = graph_make(&nodes);
    success(cuGraphClone(&clone, graph), "clone");
    success(cuGraphDestroy(graph), "destroy");
    success(cuGraphCreate(&outer, 0), "another graph");
    success(cuGraphAddChildGraphNode(&child, outer, NULL, 0, clone), "with it inside");
    exec = instantiate(outer);
    check_launch(exec, 1234567, 7654321, "a child");
    success(cuGraphExecDestroy(exec), "destroy");
    success(
        cuGraphDebugDotPrint(outer, path, CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_SIGNAL_NODE_PARAMS),
        "as text");
    f = fopen(path, "r");
    n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    unlink(path);
    snprintf(value, sizeof(value), "= %d", 7654321);
    ok(is_in_text(text, "EXT_SEMAS_SIGNAL") && is_in_text(text, "EXT_SEMAS_WAIT"), "both kinds");
    ok(is_in_text(text, value) && !is_in_text(text, "1234567"), "what was asked for");
    success(cuGraphDestroy(outer), "destroy");
    success(cuGraphDestroy(clone), "destroy");
    memcpy(&any.extSemWait, &wait_params, sizeof(any.extSemWait));
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphAddNode_v2(&child, graph, NULL, NULL, 0, &any), "a node of any kind");
    values_set(6, 0);
    success(cuGraphNodeSetParams(child, &any), "changed");
    any.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    memcpy(&any.extSemSignal, &signal_params, sizeof(any.extSemSignal));
    fails(cuGraphNodeSetParams(child, &any), INVALID_VALUE, "to another kind");
    success(cuGraphAddNode_v2(&child, graph, &child, NULL, 1, &any), "another one");
    values_set(0, 22);
    exec = instantiate(graph);
    success(cuGraphExecNodeSetParams(exec, child, &any), "changed later");
    heddle_timeline_signal(timeline, 6);
    raise_it(binary_fd);
    success(cuGraphLaunch(exec, stream), "launch");
    success(cuStreamSynchronize(stream), "synchronize");
    eq_u64(heddle_timeline_value(timeline), 22, "signalled");
    eq_u64(lower_it(binary_fd), 1, "the other, too");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_capture(void)
{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal;
    CUgraphNode nodes[3];
    CUgraphNodeType type;
    CUgraphExec exec;
    CUgraph graph;
    size_t n = 3;

    values_set(3, 7);
    heddle_timeline_signal(timeline, 0);
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capture");
    success(cuWaitExternalSemaphoresAsync(both, waits, 2, stream), "wait");
    success(cuMemsetD32Async(cell, 5, 1, stream), "fill");
    success(cuSignalExternalSemaphoresAsync(both, signals, 2, stream), "signal");
    success(cuStreamEndCapture(stream, &graph), "captured");
    success(cuStreamSynchronize(stream), "nothing waits");
    ok(!is_raised(binary_fd) && !heddle_timeline_value(timeline), "nothing is signalled");
    success(cuGraphGetNodes(graph, nodes, &n), "nodes");
    eq_u64(n, 3, "one for each call");
    success(cuGraphNodeGetType(nodes[2], &type), "type");
    eq_u64(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, "the last one signals");
    success(cuGraphExternalSemaphoresSignalNodeGetParams(nodes[2], &signal), "what it was given");
    ok(signal.numExtSems == 2 && signal.extSemArray[1] == line &&
           signal.paramsArray[1].params.fence.value == 7,
       "is known");
    exec = instantiate(graph);
    check_launch(exec, 3, 7, "captured");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
}

static void test_bad(void)
{
    CUexternalSemaphore stale[2] = {binary, NULL};
    CUDA_EXT_SEM_WAIT_NODE_PARAMS wait = {stale, waits, 2};
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal = {stale, signals, 2};
    CUgraphConditionalHandle condition;
    CUgraphNodeParams conditional = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraph graph, body;
    struct nodes nodes;
    CUgraphNode node;
    CUgraphExec exec;
    CUcontext ctx;
    int fd;

    values_set(0, 0);
    graph = graph_make(&nodes);
    stale[1] = binary_make(&fd);
    success(cuDestroyExternalSemaphore(stale[1]), "destroy");
    close(fd);
    fails(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &wait), INVALID_HANDLE,
          "stale");
    fails(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &signal), INVALID_HANDLE,
          "stale");
    fails(cuGraphExternalSemaphoresWaitNodeSetParams(nodes.wait, &wait), INVALID_HANDLE, "stale");
    wait.extSemArray = NULL;
    fails(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &wait), INVALID_VALUE,
          "no semaphores");
    fails(cuGraphAddExternalSemaphoresWaitNode(NULL, graph, NULL, 0, &wait_params), INVALID_VALUE,
          "null");
    fails(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, NULL), INVALID_VALUE, "null");
    fails(cuGraphExternalSemaphoresWaitNodeSetParams(nodes.signal, &wait_params), INVALID_VALUE,
          "the other kind");
    fails(cuGraphExternalSemaphoresWaitNodeGetParams(nodes.signal, &wait), INVALID_VALUE,
          "the other kind");
    fails(cuGraphExternalSemaphoresSignalNodeGetParams(nodes.signal, NULL), INVALID_VALUE, "null");
    success(cuGraphDestroy(graph), "destroy");
    success(cuCtxGetCurrent(&ctx), "context");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphConditionalHandleCreate(&condition, graph, ctx, 1, 1), "condition");
    conditional.conditional.handle = condition;
    conditional.conditional.type = CU_GRAPH_COND_TYPE_IF;
    conditional.conditional.size = 1;
    conditional.conditional.ctx = ctx;
    success(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &conditional), "conditional node");
    body = conditional.conditional.phGraph_out[0];
    success(cuGraphAddExternalSemaphoresWaitNode(&node, body, NULL, 0, &wait_params),
            "in its body");
    fails(cuGraphInstantiateWithFlags(&exec, graph, 0), NOT_SUPPORTED, "cannot be conditional");
    success(cuGraphDestroy(graph), "destroy");
}

int main(void)
{
    CUcontext ctx;
    void *pinned;

    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    cell = (uintptr_t)pinned;
    both[0] = binary = binary_make(&binary_fd);
    both[1] = line = timeline_make(&timeline);
    test_nodes();
    test_two_launches();
    test_params();
    test_update();
    test_copies();
    test_capture();
    test_bad();
    success(cuDestroyExternalSemaphore(binary), "destroy");
    success(cuDestroyExternalSemaphore(line), "destroy");
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
