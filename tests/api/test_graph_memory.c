/*
 * Memory of graphs and memory operations in graphs: nodes, captures, life from launch to free, what
 * graphs share, figures, and the errors that the documentation names. Code is fake.
 */
#include "driver_fixture.h"

#define refused(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

enum { N = 1024, SIZE_B = 3 << 20, ROOM_B = 4 << 20 };

static CUcontext ctx;
static CUdevice dev;
static CUstream stream;

static uint64_t figure(CUgraphMem_attribute attr)
{
    uint64_t value = ~0ull;

    success(cuDeviceGetGraphMemAttribute(dev, attr, &value), "a figure");
    return value;
}

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t size_B)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}},
        .bytesize = size_B};
}

static CUgraphNode alloc_node(CUgraph graph, CUdeviceptr *out_va)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(SIZE_B);
    CUgraphNode node = NULL;

    success(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), "an allocation node");
    *out_va = params.dptr;
    return node;
}

static CUgraphNode fill_node(CUgraph graph, CUgraphNode from, CUdeviceptr dst, unsigned value)
{
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = dst, .value = value, .elementSize = 4, .width = N, .height = 1};
    CUgraphNode node = NULL;

    success(cuGraphAddMemsetNode(&node, graph, &from, 1, &params, ctx),
            "a fill of memory that is not there yet");
    return node;
}

static CUgraphNode copy_node(CUgraph graph, CUgraphNode from, void *dst, CUdeviceptr src)
{
    CUDA_MEMCPY3D params = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = src,
                            .dstMemoryType = CU_MEMORYTYPE_HOST,
                            .dstHost = dst,
                            .WidthInBytes = N * 4,
                            .Height = 1,
                            .Depth = 1};
    CUgraphNode node = NULL;

    success(cuGraphAddMemcpyNode(&node, graph, &from, 1, &params, ctx), "a copy out of it");
    return node;
}

static CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
    CUgraphExec exec = NULL;

    success(cuGraphInstantiateWithFlags(&exec, graph, flags), "instantiated");
    return exec;
}

static void run(CUgraphExec exec)
{
    success(cuGraphLaunch(exec, stream), "launched");
    success(cuStreamSynchronize(stream), "done");
}

/* Allocate, fill, copy out, free: the whole life in one graph. */
static void make_whole(CUgraph graph, unsigned value, unsigned *out, CUdeviceptr *out_va)
{
    CUgraphNode node = alloc_node(graph, out_va), last;

    node = fill_node(graph, node, *out_va, value);
    node = copy_node(graph, node, out, *out_va);
    success(cuGraphAddMemFreeNode(&last, graph, &node, 1, *out_va), "a free node");
}

static void test_whole(void)
{
    static unsigned out[2][N];
    CUgraph graphs[2];
    CUgraphExec execs[2];
    CUdeviceptr va[2];

    for (int i = 0; i < 2; i++) {
        success(cuGraphCreate(&graphs[i], 0), "a graph");
        make_whole(graphs[i], 40u + (unsigned)i, out[i], &va[i]);
        execs[i] = instantiate(graphs[i], 0);
    }
    ok(va[0] && va[0] != va[1], "addresses are known before anything runs, and differ");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0, "nothing is used yet");
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            memset(out[i], 0, sizeof(out[i]));
            run(execs[i]);
            ok(out[i][0] == 40u + (unsigned)i && out[i][N - 1] == out[i][0], "graph %d ran", i);
        }
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), ROOM_B, "used until it is trimmed");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), ROOM_B, "and never more");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), ROOM_B,
           "graphs that do not run at the same time share memory");
    success(cuDeviceGraphMemTrim(dev), "trimmed");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0, "nothing is left");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0, "nor used");
    for (int i = 0; i < 2; i++)
        run(execs[i]);
    ok(out[0][5] == 40 && out[1][5] == 41, "memory comes back when it is needed");
    for (int i = 0; i < 2; i++) {
        success(cuGraphExecDestroy(execs[i]), "destroyed");
        success(cuGraphDestroy(graphs[i]), "destroyed");
    }
    success(cuDeviceGraphMemTrim(dev), "trimmed");
}

/* Memory that a launch leaves to the program. */
static void test_left(void)
{
    CUdeviceptr va;
    CUgraph graph, freeing;
    CUgraphExec exec, freeing_exec;
    CUgraphNode node;
    unsigned first = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    node = alloc_node(graph, &va);
    fill_node(graph, node, va, 7);
    exec = instantiate(graph, 0);
    run(exec);
    success(cuMemcpyDtoH_v2(&first, va, 4), "the program reads it");
    eq_u64(first, 7, "what the graph wrote");
    success(cuDeviceGraphMemTrim(dev), "what is live is not trimmed");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), ROOM_B, "it is used");
    refused(cuGraphLaunch(exec, stream), "a second launch before it is freed");
    success(cuMemFreeAsync(va, stream), "freed in stream order");
    refused(cuMemFreeAsync(va, stream), "twice");
    run(exec);
    success(cuMemFree_v2(va), "freed by a call");
    refused(cuMemFree_v2(va), "twice");
    success(cuGraphCreate(&freeing, 0), "another graph");
    success(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, va), "frees what the first allocates");
    freeing_exec = instantiate(freeing, 0);
    refused(cuGraphLaunch(freeing_exec, stream), "not while it is not allocated");
    for (int i = 0; i < 3; i++) {
        success(cuGraphLaunch(exec, stream), "one allocates");
        success(cuGraphLaunch(freeing_exec, stream), "the other frees");
    }
    success(cuStreamSynchronize(stream), "done");
    success(cuGraphLaunch(exec, stream), "allocated once more");
    success(cuGraphExecDestroy(exec), "without its executable graph");
    success(cuGraphDestroy(graph), "and its graph");
    success(cuMemcpyDtoH_v2(&first, va, 4), "the memory stays");
    success(cuMemFreeAsync(va, stream), "until it is freed");
    success(cuStreamSynchronize(stream), "done");
    success(cuGraphExecDestroy(freeing_exec), "destroyed");
    success(cuGraphDestroy(freeing), "destroyed");
    success(cuDeviceGraphMemTrim(dev), "trimmed");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0, "nothing is left");
}

static void test_auto_free(void)
{
    CUdeviceptr va = 0;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    success(cuGraphCreate(&graph, 0), "a graph");
    node = alloc_node(graph, &va);
    fill_node(graph, node, va, 9);
    exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    for (int i = 0; i < 3; i++)
        run(exec);
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), ROOM_B, "each launch frees the last one's");
    success(cuMemFree_v2(va), "freed");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
}

static void test_captured(void)
{
    CUdeviceptr va = 0, other;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[8];
    size_t n = 8;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    unsigned first = 0;

    success(cuMemAlloc_v2(&other, 64), "memory of no graph");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
    success(cuMemAllocAsync(&va, SIZE_B, stream), "an allocation in a capture");
    success(cuMemsetD32Async(va, 11, N, stream), "its use");
    success(cuMemcpyDtoHAsync_v2(&first, va + 4 * (N - 1), 4, stream), "and");
    success(cuMemFreeAsync(va, stream), "free");
    success(cuStreamEndCapture(stream, &graph), "a graph");
    success(cuGraphGetNodes(graph, nodes, &n), "its nodes");
    eq_u64(n, 4, "four nodes");
    success(cuGraphMemAllocNodeGetParams(nodes[0], &params), "what the first allocates");
    ok(params.dptr == va && params.bytesize == SIZE_B && params.poolProps.location.id == dev &&
           params.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE,
       "is what the stream was asked for");
    exec = instantiate(graph, 0);
    run(exec);
    run(exec);
    eq_u64(first, 11, "it runs, and again");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    refused(cuMemFreeAsync(other, stream), "memory of no graph is not freed in a capture");
    (void)cuStreamEndCapture(stream, &graph);
    (void)cuGraphDestroy(graph);
    success(cuMemFree_v2(other), "freed");
}

static void test_params(void)
{
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, dev},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(100), got;
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    CUgraph graph;
    CUgraphNode node, same;
    CUdeviceptr va;
    unsigned is_managed = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    params.accessDescs = &access;
    params.accessDescCount = 1;
    success(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), "with access rights");
    success(cuGraphMemAllocNodeGetParams(node, &got), "and back");
    ok(got.dptr == params.dptr && got.bytesize == 100 && got.accessDescCount == 1 &&
           got.accessDescs != &access && got.accessDescs[0].flags == access.flags,
       "a copy of what was asked for");
    success(cuGraphAddMemFreeNode(&same, graph, &node, 1, params.dptr), "freed");
    success(cuGraphMemFreeNodeGetParams(same, &va), "what it frees");
    eq_u64(va, params.dptr, "is what was allocated");
    memcpy(&any.alloc, &params, sizeof(params));
    any.alloc.dptr = 0;
    success(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &any), "a node of any kind");
    ok(any.alloc.dptr && any.alloc.dptr != params.dptr, "tells its address too");
    va = any.alloc.dptr;
    refused(cuGraphNodeSetParams(node, &any), "allocations do not change");
    params = alloc_params(100);
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    success(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), "managed memory");
    success(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, params.dptr),
            "asked for");
    eq_u64(is_managed, 1, "which it is");
    success(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, va),
            "of the other");
    eq_u64(is_managed, 0, "which is not");
    success(cuGraphDestroy(graph), "destroyed without having run");
}

static void test_refused(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(0);
    CUgraph graph, other;
    CUgraphNode node, free_node, twice;
    CUgraphExec exec, second;
    CUdeviceptr va;
    uint64_t value = 0;

    success(cuGraphCreate(&graph, 0), "a graph");
    refused(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), "0 bytes");
    params = alloc_params(100);
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_HOST;
    refused(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), "memory of the host");
    params = alloc_params(1ull << 60);
    eq_u64(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_OUT_OF_MEMORY,
           "more than there is");
    refused(cuGraphAddMemFreeNode(&node, graph, NULL, 0, 0x1000), "an address of no graph");
    node = alloc_node(graph, &va);
    refused(cuGraphAddMemFreeNode(&free_node, graph, NULL, 0, va + 4), "not the beginning");
    success(cuGraphAddMemFreeNode(&free_node, graph, &node, 1, va), "freed");
    refused(cuGraphAddMemFreeNode(&twice, graph, &node, 1, va), "twice in one graph");
    refused(cuGraphDestroyNode(node), "nodes stay");
    refused(cuGraphRemoveDependencies_v2(graph, &node, &free_node, NULL, 1), "edges stay");
    refused(cuGraphClone(&other, graph), "no copies");
    success(cuGraphCreate(&other, 0), "another graph");
    refused(cuGraphAddChildGraphNode(&node, other, NULL, 0, graph), "no child graphs");
    exec = instantiate(graph, 0);
    refused(cuGraphInstantiateWithFlags(&second, graph, 0), "one executable graph at a time");
    success(cuGraphExecDestroy(exec), "destroyed");
    exec = instantiate(graph, 0);
    success(cuGraphExecDestroy(exec), "then another");
    refused(cuDeviceGetGraphMemAttribute(dev, (CUgraphMem_attribute)4, &value), "no such figure");
    refused(cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value),
            "only the highest can be reset");
    value = 1;
    refused(cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value), "to 0");
    value = 0;
    success(cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value), "reset");
    eq_u64(figure(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT),
           "the highest is what there is now");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuGraphDestroy(other), "destroyed");
}

/* ---- operations on memory */

static void test_batch(void)
{
    CUstreamBatchMemOpParams ops[2] = {
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .value = 5,
                       .flags = CU_STREAM_WAIT_VALUE_GEQ}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .value64 = 1ull << 40}}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.ctx = ctx, .count = 2, .paramArray = ops}, got;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUdeviceptr va;
    uint64_t words[2] = {0, 0};

    success(cuMemAlloc_v2(&va, 16), "memory");
    success(cuMemcpyHtoD_v2(va, words, 16), "zeros");
    ops[0].waitValue.address = va;
    ops[1].writeValue.address = va + 8;
    success(cuGraphCreate(&graph, 0), "a graph");
    success(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params), "wait, then write");
    success(cuGraphBatchMemOpNodeGetParams(node, &got), "and back");
    ok(got.ctx == ctx && got.count == 2 && got.paramArray != ops &&
           got.paramArray[0].waitValue.address == va && got.paramArray[0].waitValue.value == 5 &&
           got.paramArray[1].writeValue.value64 == 1ull << 40 &&
           got.paramArray[1].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64,
       "what was asked for");
    exec = instantiate(graph, 0);
    success(cuGraphLaunch(exec, stream), "launched");
    eq_u64(cuStreamQuery(stream), CUDA_ERROR_NOT_READY, "it waits");
    *(_Atomic uint32_t *)(uintptr_t)va = 6;
    success(cuStreamSynchronize(stream), "until the value is there");
    success(cuMemcpyDtoH_v2(words, va, 16), "then");
    eq_u64(words[1], 1ull << 40, "it writes");
    ops[1].writeValue.value64 = 3;
    success(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), "another value");
    success(cuGraphBatchMemOpNodeSetParams(node, &params), "in the graph too");
    run(exec);
    success(cuMemcpyDtoH_v2(words, va, 16), "then");
    eq_u64(words[1], 3, "that is written");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    ops[0].waitValue.address = va + 1;
    success(cuGraphCreate(&graph, 0), "a graph");
    refused(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params), "a crooked address");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "capture");
    success(cuStreamWriteValue32_v2(stream, va, 77, 0), "a write in a capture");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuStreamEndCapture(stream, &graph), "is a node");
    exec = instantiate(graph, 0);
    run(exec);
    success(cuMemcpyDtoH_v2(words, va, 4), "then");
    eq_u64((uint32_t)words[0], 77, "that writes");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuMemFree_v2(va), "freed");
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "init");
    success(cuDeviceGet(&dev, 0), "device");
    success(cuCtxCreate_v2(&ctx, 0, dev), "context");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    test_whole();
    test_left();
    test_auto_free();
    test_captured();
    test_params();
    test_refused();
    test_batch();
    success(cuCtxDestroy_v2(ctx), "the end");
    return done();
}
