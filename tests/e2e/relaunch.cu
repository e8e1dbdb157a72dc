/* A graph that launches itself until it is done, and changes a node of its own on the way. */
#include <cstdio>

#define CHECK(cond) do { if (!(cond)) { printf("FAIL line %d: %s\n", __LINE__, #cond); failed = 1; } } while (0)
#define OK(call)    CHECK((call) == cudaSuccess)

static int failed;

enum { ROUNDS = 10 };

struct state { int round, bad, sum, blocks; };

__global__ void step(state *s, cudaGraphDeviceNode_t node)
{
    int round = ++s->round;

    s->bad += cudaGraphKernelNodeSetParam(node, sizeof(s), round) != cudaSuccess;
    s->bad += cudaGraphKernelNodeSetGridDim(node, dim3(round)) != cudaSuccess;
    s->bad += cudaGraphKernelNodeSetEnabled(node, round % 2 == 0) != cudaSuccess;
    if (round < ROUNDS)
        s->bad += cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) != cudaSuccess;
}

__global__ void add(state *s, int n)
{
    if (!blockIdx.x) {
        s->sum += n;
        s->blocks += gridDim.x;
    }
}

int main()
{
    cudaKernelNodeParams params = {};
    cudaKernelNodeAttrValue value = {};
    cudaGraphNode_t first, second;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    state *s;
    int zero = 0;

    OK(cudaMallocManaged(&s, sizeof(*s)));
    *s = state();
    OK(cudaGraphCreate(&graph, 0));
    void *add_args[] = {&s, &zero};
    params.func = (void *)add;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = add_args;
    OK(cudaGraphAddKernelNode(&second, graph, NULL, 0, &params));
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    OK(cudaGraphKernelNodeSetAttribute(second, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
    cudaGraphDeviceNode_t node = value.deviceUpdatableKernelNode.devNode;
    void *step_args[] = {&s, &node};
    params.func = (void *)step;
    params.kernelParams = step_args;
    OK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    OK(cudaGraphAddDependencies(graph, &first, &second, NULL, 1));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(s->round == ROUNDS && !s->bad);
    CHECK(s->sum == 2 + 4 + 6 + 8 + 10 && s->blocks == s->sum);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
