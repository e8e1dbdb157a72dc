/* Graphs made by hand: each kind of node, parameters, edges, copies, owned objects, a drawing. */
#include "check.h"

#include <unistd.h>

enum { N = 256 };

static __global__ void add(int *words, int value)
{
    words[threadIdx.x] += value;
}

static int host_calls;

static void CUDART_CB count_call(void *step)
{
    host_calls += (int)(intptr_t)step;
}

static int *words, from[N], to[N];

static cudaGraphNode_t kernel_node(cudaGraph_t graph, cudaGraphNode_t after, int *value)
{
    cudaGraphNode_t node = NULL;
    cudaKernelNodeParams params = {};
    void *args[] = {&words, value};

    params.func = (void *)add;
    params.gridDim = dim3(1);
    params.blockDim = dim3(N);
    params.kernelParams = args;
    OK(cudaGraphAddKernelNode(&node, graph, after ? &after : NULL, after != NULL, &params));
    return node;
}

static void launch(cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;

    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
}

/* A copy in, a fill of a part, a kernel, a function, a copy out. */
static void chain(void)
{
    cudaGraph_t graph = NULL, child = NULL, clone = NULL;
    cudaGraphNode_t in = NULL, fill = NULL, kernel = NULL, host = NULL, out = NULL, empty = NULL,
                    sub = NULL, list[8], found = NULL;
    cudaMemsetParams memset_params = {}, got_fill = {};
    cudaHostNodeParams host_params = {count_call, (void *)1};
    cudaKernelNodeParams kernel_params;
    cudaGraphNodeType type;
    size_t count = 8;
    int value = 5, other = 100;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, words, from, sizeof(from),
                                cudaMemcpyHostToDevice));
    memset_params.dst = words;
    memset_params.value = 1000;
    memset_params.elementSize = 4;
    memset_params.width = 4;
    memset_params.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, &in, 1, &memset_params));
    kernel = kernel_node(graph, fill, &value);
    OK(cudaGraphAddHostNode(&host, graph, &kernel, 1, &host_params));
    OK(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
    OK(cudaGraphCreate(&child, 0));
    kernel_node(child, NULL, &other);
    OK(cudaGraphAddChildGraphNode(&sub, graph, &empty, 1, child));
    OK(cudaGraphDestroy(child)); /* the node has a copy */
    OK(cudaGraphAddMemcpyNode1D(&out, graph, &sub, 1, to, words, sizeof(to),
                                cudaMemcpyDeviceToHost));
    launch(graph);
    EQ(host_calls, 1);
    EQ(check_wrong(to, 4, 1105, 0), 0);
    EQ(check_wrong(to + 4, N - 4, 109, 1), 0);

    OK(cudaGraphGetNodes(graph, list, &count));
    EQ(count, 7);
    count = 8;
    OK(cudaGraphGetRootNodes(graph, list, &count));
    EQ(count, 1);
    TRUE(list[0] == in);
    OK(cudaGraphNodeGetType(sub, &type));
    EQ(type, cudaGraphNodeTypeGraph);
    OK(cudaGraphMemsetNodeGetParams(fill, &got_fill));
    EQ(got_fill.value, 1000);
    OK(cudaGraphKernelNodeGetParams(kernel, &kernel_params));
    EQ(kernel_params.blockDim.x, N);
    EQ(*(int *)kernel_params.kernelParams[1], 5);
    OK(cudaGraphHostNodeGetParams(host, &host_params));
    TRUE(host_params.userData == (void *)1);

    /* The copy changes by itself. */
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&found, kernel, clone));
    void *args[] = {&words, &other};
    kernel_params.kernelParams = args;
    OK(cudaGraphKernelNodeSetParams(found, &kernel_params));
    OK(cudaGraphNodeFindInClone(&found, host, clone));
    host_params.userData = (void *)10;
    OK(cudaGraphHostNodeSetParams(found, &host_params));
    launch(clone);
    EQ(host_calls, 11);
    EQ(to[0], 1200);
    launch(graph);
    EQ(to[0], 1105);
    EQ(host_calls, 12);
    FAILS(cudaGraphNodeFindInClone(&found, found, clone), cudaErrorInvalidValue);

    char path[] = "/tmp/heddle-graph-XXXXXX", text[16384] = "";
    close(mkstemp(path));
    OK(cudaGraphDebugDotPrint(graph, path, cudaGraphDebugDotFlagsVerbose));
    FILE *file = fopen(path, "r");
    TRUE(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    remove(path);
    TRUE(strstr(text, "digraph") && strstr(text, "add"));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroyNode(out));
    count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    EQ(count, 6);
    OK(cudaGraphDestroy(graph));
    TRUE(cudaGraphDestroy(graph) != cudaSuccess);
    cudaGetLastError();
}

static void edges(void)
{
    CUgraph graph = NULL;
    CUgraphNode a = NULL, b = NULL, c = NULL, from_list[4], to_list[4];
    CUgraphEdgeData data[4] = {};
    size_t count = 4;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(cuGraphAddEmptyNode(&b, graph, NULL, 0));
    OK(cuGraphAddEmptyNode(&c, graph, NULL, 0));
    OK(cuGraphAddDependencies(graph, &a, &b, NULL, 1));
    OK(cuGraphAddDependencies(graph, &b, &c, NULL, 1));
    OK(cuGraphGetEdges(graph, from_list, to_list, data, &count));
    EQ(count, 2);
    count = 4;
    OK(cuGraphNodeGetDependencies(c, from_list, NULL, &count));
    EQ(count, 1);
    TRUE(from_list[0] == b);
    count = 4;
    OK(cuGraphNodeGetDependentNodes(a, to_list, NULL, &count));
    TRUE(count == 1 && to_list[0] == b);
    FAILS(cuGraphAddDependencies(graph, &a, &a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphRemoveDependencies(graph, &a, &c, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddDependencies(graph, &c, &a, NULL, 1)); /* round and round */
    CUgraphExec exec = NULL;
    TRUE(cuGraphInstantiate(&exec, graph, 0) != CUDA_SUCCESS);
    OK(cuGraphRemoveDependencies(graph, &c, &a, NULL, 1));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphExecDestroy(exec));
    CUgraph other = NULL;
    CUgraphNode stranger = NULL;
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddEmptyNode(&stranger, other, NULL, 0));
    FAILS(cuGraphAddDependencies(graph, &a, &stranger, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphAddEmptyNode(&b, graph, &stranger, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphCreate(&other, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(other));
    OK(cuGraphDestroy(graph));
}

/* The general call, events, words of memory, attributes of kernels. */
static void general(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t fill = NULL, kernel = NULL, record = NULL, wait = NULL, write = NULL;
    cudaGraphNodeParams params = {};
    cudaEvent_t event = NULL, got = NULL;
    int value = 3;
    void *args[] = {&words, &value};

    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaGraphCreate(&graph, 0));
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = words;
    params.memset.value = 0;
    params.memset.elementSize = 1;
    params.memset.width = sizeof(to);
    params.memset.height = 1;
    OK(cudaGraphAddNode(&fill, graph, NULL, NULL, 0, &params));
    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)add;
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(N);
    params.kernel.kernelParams = args;
    OK(cudaGraphAddNode(&kernel, graph, &fill, NULL, 1, &params));
    OK(cudaGraphAddEventRecordNode(&record, graph, &kernel, 1, event));
    OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    TRUE(got == event);
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {};
    CUstreamBatchMemOpParams op = {};
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = (CUdeviceptr)(words + 1);
    op.writeValue.value = 42;
    batch.count = 1;
    batch.paramArray = &op;
    OK(cuCtxGetCurrent(&batch.ctx));
    OK(cuGraphAddBatchMemOpNode(&write, graph, &wait, 1, &batch));
    cudaKernelNodeAttrValue attribute = {}, told = {};
    attribute.priority = 0;
    OK(cudaGraphKernelNodeSetAttribute(kernel, cudaKernelNodeAttributePriority, &attribute));
    OK(cudaGraphKernelNodeGetAttribute(kernel, cudaKernelNodeAttributePriority, &told));
    EQ(told.priority, 0);
    launch(graph);
    OK(cudaEventSynchronize(event));
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(to[0], 3);
    EQ(to[1], 42);
    EQ(to[2], 3);
    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeEmpty;
    params.reserved2 = 1;
    FAILS(cudaGraphAddNode(&kernel, graph, NULL, NULL, 0, &params), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
}

static void CUDART_CB destroyed(void *counter)
{
    ++*(volatile int *)counter;
}

static void owned_objects(void)
{
    static volatile int gone;
    cudaGraph_t graph = NULL, clone = NULL;
    cudaUserObject_t object = NULL;

    OK(cudaUserObjectCreate(&object, (void *)&gone, destroyed, 2,
                            cudaUserObjectNoDestructorSync));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaUserObjectRelease(object, 1));
    EQ(gone, 0);
    OK(cudaGraphDestroy(graph));
    EQ(gone, 0);
    OK(cudaGraphDestroy(clone));
    for (int i = 0; i < 1000000 && !gone; i++)
        usleep(10);
    EQ(gone, 1);
    FAILS(cudaUserObjectCreate(&object, NULL, destroyed, 1, 0), cudaErrorInvalidValue);
}

int main(void)
{
    for (int i = 0; i < N; i++)
        from[i] = i;
    OK(cudaMalloc(&words, sizeof(from)));
    chain();
    edges();
    general();
    owned_objects();
    OK(cudaFree(words));
    return finish();
}
