/*
 * Graphs of the runtime: copies that name variables, memory nodes, nodes of any kind by one call,
 * edges with data, captures as the runtime of CUDA 13 tells of them; advice for managed memory.
 */
#include <unistd.h>

#include "runtime_fixture.h"

enum { WORDS = 16, SIZE_B = WORDS * 4 };

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                          ".visible .global .align 4 .b32 words[16];\n";

static char words;      /* its address stands for the variable */
static unsigned *a, *b; /* managed */
static cudaGraph_t graph;
static cudaGraphExec_t exec;

static void begin(void)
{
    for (unsigned i = 0; i < WORDS; i++)
        a[i] = 100 + i, b[i] = 0;
    eq_error(cudaGraphCreate(&graph, 0), cudaSuccess, "graph");
}

static void make(void)
{
    eq_error(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "instantiate");
}

static void run(void)
{
    eq_error(cudaGraphLaunch(exec, NULL), cudaSuccess, "launch");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
}

static void end(void)
{
    eq_error(cudaGraphExecDestroy(exec), cudaSuccess, "destroy");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

/* ---- variables */

static void test_variables(void)
{
    cudaGraphNode_t to, from;

    begin();
    eq_error(
        cudaGraphAddMemcpyNodeToSymbol(&to, graph, NULL, 0, &words, a, 32, 0, cudaMemcpyDefault),
        cudaSuccess, "a copy to a variable");
    eq_error(
        cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, b, &words, 32, 0, cudaMemcpyDefault),
        cudaSuccess, "a copy from it");
    make();
    run();
    ok(b[0] == 100 && b[7] == 107 && !b[8], "eight words went through");
    eq_error(cudaGraphMemcpyNodeSetParamsToSymbol(to, &words, a + 1, 16, 4, cudaMemcpyDefault),
             cudaSuccess, "fewer");
    eq_error(cudaGraphMemcpyNodeSetParamsFromSymbol(from, b + 8, &words, 20, 0, cudaMemcpyDefault),
             cudaSuccess, "to elsewhere");
    eq_error(cudaGraphMemcpyNodeSetParamsFromSymbol(from, b, &words, SIZE_B, 4, cudaMemcpyDefault),
             cudaErrorInvalidValue, "beyond the variable's end");
    eq_error(cudaGraphMemcpyNodeSetParamsToSymbol(to, a, b, 4, 0, cudaMemcpyDefault),
             cudaErrorInvalidSymbol, "no variable");
    eq_error(cudaGraphExecDestroy(exec), cudaSuccess, "destroy");
    make();
    a[1] = 7;
    run();
    ok(b[8] == 100 && b[9] == 7 && b[12] == 104, "from the second word on");
    eq_error(
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, &words, a + 2, 4, 8, cudaMemcpyDefault),
        cudaSuccess, "one word to the third");
    eq_error(
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, b, &words, 4, 8, cudaMemcpyDefault),
        cudaSuccess, "and back");
    a[2] = 9;
    run();
    eq_u64(b[0], 9, "that word");
    end();
}

/* ---- memory of graphs */

static unsigned long long used_B(void)
{
    unsigned long long value = 1;

    eq_error(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value), cudaSuccess,
             "the most that graphs used");
    return value;
}

static void test_memory_nodes(void)
{
    struct cudaMemAllocNodeParams p = {.poolProps = {.allocType = cudaMemAllocationTypePinned,
                                                     .location = {cudaMemLocationTypeDevice, 0}},
                                       .bytesize = 1 << 20},
                                  got = {0};
    unsigned long long zero = 0;
    cudaGraphNode_t alloc, filled, copied, freed;
    struct cudaMemsetParams f = {.value = 5, .elementSize = 4, .width = WORDS, .height = 1};
    void *at = NULL;

    begin();
    eq_error(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero), cudaSuccess,
             "begin to count");
    eq_error(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &p), cudaSuccess, "memory");
    eq_error(cudaGraphMemAllocNodeGetParams(alloc, &got), cudaSuccess, "ask");
    ok(got.dptr == p.dptr && got.bytesize == 1 << 20, "what was asked for, and where it is");
    f.dst = p.dptr;
    eq_error(cudaGraphAddMemsetNode(&filled, graph, &alloc, 1, &f), cudaSuccess, "is filled");
    eq_error(
        cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, b, p.dptr, SIZE_B, cudaMemcpyDefault),
        cudaSuccess, "is copied");
    eq_error(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, p.dptr), cudaSuccess, "is freed");
    eq_error(cudaGraphMemFreeNodeGetParams(freed, &at), cudaSuccess, "ask");
    ok(at == p.dptr, "that memory");
    make();
    run();
    eq_u64(b[WORDS - 1], 5, "it was there");
    ok(used_B() >= 1 << 20, "and counted");
    end();
    eq_error(cudaDeviceGraphMemTrim(0), cudaSuccess, "give it back");
    eq_error(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &zero),
             cudaSuccess, "ask");
    eq_u64(zero, 0, "nothing is kept");
    eq_error(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero),
             cudaErrorInvalidValue, "the present is as it is");
    eq_error(cudaDeviceGraphMemTrim(99), cudaErrorInvalidDevice, "no such device");
    (void)cudaGetLastError();
}

/* ---- nodes of any kind */

static struct cudaGraphNodeParams fill_with(unsigned value)
{
    return (struct cudaGraphNodeParams){
        .type = cudaGraphNodeTypeMemset,
        .memset = {.dst = b, .value = value, .elementSize = 4, .width = WORDS, .height = 1}};
}

static void test_any(void)
{
    struct cudaGraphNodeParams p = fill_with(3), host = {.type = cudaGraphNodeTypeHost};
    char path[] = "/tmp/runtime-graph-XXXXXX", text[512] = {0};
    int fd = mkstemp(path);
    cudaGraphNode_t node;

    begin();
    eq_error(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p), cudaSuccess, "a fill");
    p = fill_with(4);
    eq_error(cudaGraphNodeSetParams(node, &p), cudaSuccess, "another value");
    eq_error(cudaGraphNodeSetParams(node, &host), cudaErrorInvalidValue, "it stays a fill");
    eq_error(cudaGraphDebugDotPrint(graph, path, 0), cudaSuccess, "draw it");
    ok(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "digraph"), "in dot");
    make();
    run();
    eq_u64(b[WORDS - 1], 4, "filled");
    p = fill_with(5);
    eq_error(cudaGraphExecNodeSetParams(exec, node, &p), cudaSuccess, "a third");
    run();
    eq_u64(b[WORDS - 1], 5, "filled with that");
    close(fd);
    unlink(path);
    end();
}

/* ---- edges, captures */

static void test_edges(void)
{
    cudaGraphNode_t n[2], from = NULL, to = NULL, got = NULL;
    cudaGraphEdgeData plain = {0}, data;
    size_t count = 1;

    begin();
    eq_error(cudaGraphAddEmptyNode(&n[0], graph, NULL, 0), cudaSuccess, "a node");
    eq_error(cudaGraphAddEmptyNode(&n[1], graph, NULL, 0), cudaSuccess, "another");
    eq_error(cudaGraphAddDependencies(graph, &n[0], &n[1], &plain, 1), cudaSuccess, "an edge");
    memset(&data, 0xff, sizeof(data));
    eq_error(cudaGraphGetEdges(graph, &from, &to, &data, &count), cudaSuccess, "ask");
    ok(count == 1 && from == n[0] && to == n[1] && !memcmp(&data, &plain, sizeof(data)), "it");
    eq_error(cudaGraphNodeGetDependencies(n[1], &got, &data, &count), cudaSuccess, "ask");
    ok(count == 1 && got == n[0], "the second depends on the first");
    eq_error(cudaGraphNodeGetDependentNodes(n[0], &got, &data, &count), cudaSuccess, "ask");
    ok(count == 1 && got == n[1], "and no other on it");
    eq_error(cudaGraphRemoveDependencies(graph, &n[0], &n[1], &plain, 1), cudaSuccess, "remove");
    eq_error(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count), cudaSuccess, "ask");
    eq_u64(count, 0, "none");
    eq_error(cudaGraphRemoveDependencies(graph, &n[0], &n[1], &plain, 1), cudaErrorInvalidValue,
             "there is none to remove");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

static void test_capture(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphEdgeData *data = NULL;
    const cudaGraphNode_t *from = NULL;
    cudaGraph_t captured = NULL;
    unsigned long long id = 0;
    cudaGraphNode_t node;
    cudaStream_t stream;
    size_t n = 0;

    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess, "begin");
    eq_error(cudaMemsetAsync(b, 0, SIZE_B, stream), cudaSuccess, "a fill");
    eq_error(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &from, &data, &n),
             cudaSuccess, "ask");
    ok(status == cudaStreamCaptureStatusActive && id && captured && n == 1, "it is captured");
    eq_error(cudaGraphAddEmptyNode(&node, captured, from, 1), cudaSuccess, "a node of our own");
    eq_error(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                 cudaStreamSetCaptureDependencies),
             cudaSuccess, "comes next");
    eq_error(cudaStreamGetCaptureInfo(stream, &status, NULL, NULL, &from, NULL, &n), cudaSuccess,
             "ask");
    ok(n == 1 && from[0] == node, "it does");
    eq_error(cudaStreamEndCapture(stream, &captured), cudaSuccess, "end");
    eq_error(cudaGraphDestroy(captured), cudaSuccess, "destroy");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
}

/* ---- managed memory */

static void test_advice(void)
{
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    enum cudaMemRangeAttribute asked[] = {cudaMemRangeAttributeReadMostly,
                                          cudaMemRangeAttributePreferredLocation};
    int mostly = 0, preferred = -9;
    void *data[] = {&mostly, &preferred};
    size_t sizes[] = {sizeof(mostly), sizeof(preferred)};
    void *own;

    eq_error(cudaMemAdvise(a, SIZE_B, cudaMemAdviseSetReadMostly, device), cudaSuccess, "read");
    eq_error(cudaMemAdvise(a, SIZE_B, cudaMemAdviseSetPreferredLocation, device), cudaSuccess,
             "here");
    eq_error(cudaMemRangeGetAttributes(data, sizes, asked, 2, a, SIZE_B), cudaSuccess, "ask");
    ok(mostly == 1 && preferred == 0, "as it was said");
    sizes[0] = 3;
    eq_error(cudaMemRangeGetAttributes(data, sizes, asked, 2, a, SIZE_B), cudaErrorInvalidValue,
             "three bytes");
    eq_error(cudaMemPrefetchAsync(a, SIZE_B, device, 0, NULL), cudaSuccess, "prefetch");
    eq_error(cudaMalloc(&own, SIZE_B), cudaSuccess, "memory of the device");
    eq_error(cudaMemAdvise(own, SIZE_B, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue,
             "takes no advice");
    eq_error(cudaFree(own), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static void test_batches(void)
{
    struct cudaMemcpy3DBatchOp ops[2] = {0};
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    void *at[] = {b};
    size_t size_B = SIZE_B, first = 0;
    cudaStream_t stream;

    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(cudaMemDiscardAndPrefetchBatchAsync(at, &size_B, 1, &device, &first, 1, 0, stream),
             cudaSuccess, "what is in b does not matter");
    for (unsigned i = 0; i < 2; i++) {
        a[i * 4] = 50 + i;
        ops[i].src.type = ops[i].dst.type = cudaMemcpyOperandTypePointer;
        ops[i].src.op.ptr.ptr = a + i * 4;
        ops[i].dst.op.ptr.ptr = b + i * 8;
        ops[i].extent = (struct cudaExtent){16, 1, 1};
        ops[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
    eq_error(cudaMemcpy3DBatchAsync(2, ops, 0, stream), cudaSuccess, "two copies");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "wait");
    ok(b[0] == 50 && b[8] == 51, "both");
    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    eq_error(cudaMemcpy3DBatchAsync(2, ops, 0, stream), cudaErrorInvalidValue, "no order");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    (void)cudaGetLastError();
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));

    fixture_variable(handle, &words, "words", SIZE_B, 0);
    __cudaRegisterFatBinaryEnd(handle);
    eq_error(cudaMallocManaged((void **)&a, SIZE_B, cudaMemAttachGlobal), cudaSuccess, "memory");
    eq_error(cudaMallocManaged((void **)&b, SIZE_B, cudaMemAttachGlobal), cudaSuccess, "memory");
    test_variables();
    test_memory_nodes();
    test_any();
    test_edges();
    test_capture();
    test_advice();
    test_batches();
    eq_error(cudaFree(a), cudaSuccess, "free");
    eq_error(cudaFree(b), cudaSuccess, "free");
    return done();
}
