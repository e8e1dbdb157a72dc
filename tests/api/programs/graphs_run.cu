/* Executable graphs: uploads, memory nodes, nodes switched off, copies and fills that change. */
#include "check.h"

enum { N = 128 };

static __global__ void put(int *words, int value)
{
    words[threadIdx.x] = value + threadIdx.x;
}

static __global__ void add(int *words, int value)
{
    words[threadIdx.x] += value;
}

static int to[N];

static cudaGraphNode_t kernel_node(cudaGraph_t graph, cudaGraphNode_t after, void *func,
                                   int *words, int value)
{
    cudaGraphNode_t node = NULL;
    cudaKernelNodeParams params = {};
    void *args[] = {&words, &value};

    params.func = func;
    params.gridDim = dim3(1);
    params.blockDim = dim3(N);
    params.kernelParams = args;
    OK(cudaGraphAddKernelNode(&node, graph, after ? &after : NULL, after != NULL, &params));
    return node;
}

/* Memory that lives between two nodes. */
static void memory_nodes(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t alloc = NULL, kernel = NULL, out = NULL, release = NULL;
    cudaMemAllocNodeParams params = {};
    void *freed = NULL;
    size_t used = 0;

    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = sizeof(to);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    TRUE(params.dptr);
    kernel = kernel_node(graph, alloc, (void *)put, (int *)params.dptr, 40);
    OK(cudaGraphAddMemcpyNode1D(&out, graph, &kernel, 1, to, params.dptr, sizeof(to),
                                cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemFreeNode(&release, graph, &out, 1, params.dptr));
    OK(cudaGraphMemFreeNodeGetParams(release, &freed));
    TRUE(freed == params.dptr);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        memset(to, 0, sizeof(to));
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        EQ(check_wrong(to, N, 40, 1), 0);
    }
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    TRUE(used >= sizeof(to));
    cudaGraph_t clone = NULL;
    TRUE(cudaGraphClone(&clone, graph) != cudaSuccess); /* memory nodes have one owner */
    TRUE(cudaGraphDestroyNode(release) != cudaSuccess);
    cudaGetLastError();
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    EQ(used, 0);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &used));
    EQ(used, 0);
}

/* What is left behind can be given back by the next launch. */
static void left_behind(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t alloc = NULL;
    cudaMemAllocNodeParams params = {};

    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = sizeof(to);
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    kernel_node(graph, alloc, (void *)put, (int *)params.dptr, 7);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(to, params.dptr, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, 7, 1), 0);
    FAILS(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue); /* it is allocated already */
    OK(cudaFreeAsync(params.dptr, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(params.dptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    unsigned long long flags = 0;
    OK(cudaGraphExecGetFlags(exec, &flags));
    EQ(flags, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    OK(cudaFree(params.dptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void changes(cudaStream_t stream)
{
    cudaGraph_t graph = NULL, child = NULL, child_twin = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t fill = NULL, kernel = NULL, sub = NULL, out = NULL;
    cudaMemsetParams params = {};
    int *words = NULL, other[N];
    unsigned int enabled = 9;
    cudaGraphNodeType type;

    OK(cudaMalloc(&words, sizeof(to)));
    OK(cudaGraphCreate(&graph, 0));
    params.dst = words;
    params.value = 1;
    params.elementSize = 4;
    params.width = N;
    params.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &params));
    kernel = kernel_node(graph, fill, (void *)add, words, 10);
    OK(cudaGraphCreate(&child, 0));
    kernel_node(child, NULL, (void *)add, words, 100);
    OK(cudaGraphAddChildGraphNode(&sub, graph, &kernel, 1, child));
    OK(cudaGraphAddMemcpyNode1D(&out, graph, &sub, 1, to, words, sizeof(to),
                                cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphUpload(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(to, N, 111, 0), 0);

    OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    OK(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    EQ(enabled, 0);
    params.value = 2;
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &params));
    OK(cudaGraphCreate(&child_twin, 0));
    kernel_node(child_twin, NULL, (void *)add, words, 200);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, sub, child_twin));
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, out, other, words, sizeof(other),
                                          cudaMemcpyDeviceToHost));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EQ(check_wrong(other, N, 202, 0), 0);
    EQ(check_wrong(to, N, 111, 0), 0);
    OK(cudaGraphNodeSetEnabled(exec, kernel, 1));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(other, N, 212, 0), 0);
    FAILS(cudaGraphNodeSetEnabled(exec, sub, 0), cudaErrorInvalidValue); /* not this kind */
    OK(cudaGraphNodeGetType(sub, &type));
    EQ(type, cudaGraphNodeTypeGraph);

    cudaGraphInstantiateParams how = {};
    cudaGraphExec_t second = NULL;
    how.flags = cudaGraphInstantiateFlagUpload;
    how.uploadStream = stream;
    OK(cudaGraphInstantiateWithParams(&second, graph, &how));
    EQ(how.result_out, cudaGraphInstantiateSuccess);
    OK(cudaGraphLaunch(second, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(to, N, 111, 0), 0);
    FAILS(cudaGraphInstantiateWithFlags(&second, graph, 0x1000), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphExecDestroy(exec));
    TRUE(cudaGraphLaunch(exec, stream) != cudaSuccess);
    cudaGetLastError();
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(child_twin));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(words));
}

/* A body that runs if the handle's default says so. */
static void conditional(cudaStream_t stream, unsigned int value)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphConditionalHandle handle;
    cudaGraphNodeParams params = {};
    cudaGraphNode_t node = NULL;
    int *words = NULL;

    OK(cudaMalloc(&words, sizeof(to)));
    OK(cudaMemset(words, 0, sizeof(to)));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    TRUE(params.conditional.phGraph_out && params.conditional.phGraph_out[0]);
    kernel_node(params.conditional.phGraph_out[0], NULL, (void *)add, words, 5);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, value ? 10 : 0, 0), 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(words));
}

static cudaGraph_t *conditional_node(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                                     unsigned int bodies)
{
    cudaGraphNodeParams params = {};
    cudaGraphNode_t node = NULL;

    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = bodies;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    TRUE(params.conditional.phGraph_out && params.conditional.phGraph_out[0]);
    return params.conditional.phGraph_out;
}

/* Adds 5 if `value`, else 7, in a body's body that asks a handle of the outermost graph. */
static cudaGraph_t nested(int *words, unsigned int value)
{
    cudaGraph_t graph = NULL, *bodies;
    cudaGraphConditionalHandle always, chosen;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&always, graph, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&chosen, graph, value, cudaGraphCondAssignDefault));
    bodies = conditional_node(graph, always, 1);
    bodies = conditional_node(bodies[0], chosen, 2);
    kernel_node(bodies[0], NULL, (void *)add, words, 5);
    kernel_node(bodies[1], NULL, (void *)add, words, 7);
    return graph;
}

/* Handles of the outermost graph are everybody's, and an update brings another graph's. */
static void nested_conditions(cudaStream_t stream)
{
    int *words = NULL;
    OK(cudaMalloc(&words, sizeof(to)));
    OK(cudaMemset(words, 0, sizeof(to)));
    cudaGraph_t graphs[2] = {nested(words, 0), nested(words, 1)};
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info;

    OK(cudaGraphInstantiate(&exec, graphs[1], 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, 5, 0), 0);
    OK(cudaGraphExecUpdate(exec, graphs[0], &info));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, 12, 0), 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graphs[0]));
    OK(cudaGraphDestroy(graphs[1]));
    OK(cudaFree(words));
}

int main(void)
{
    cudaStream_t stream;

    OK(cudaStreamCreate(&stream));
    memory_nodes(stream);
    left_behind(stream);
    changes(stream);
    conditional(stream, 0);
    conditional(stream, 1);
    nested_conditions(stream);
    OK(cudaStreamDestroy(stream));
    return finish();
}
