// Graphs of the runtime API: built node by node, captured with a fork, updated, cloned, launched many
// times; and what capture forbids.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            printf("FAIL line %d: %s\n", __LINE__, cudaGetErrorName(status_));                     \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAIL line %d: %s\n", __LINE__, #condition);                                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

const int N = 1000;
__device__ int offset_dev = 5;
struct big {
    int add[40]; // more than a packet holds
};

__global__ void scale(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * by + offset_dev;
}

__global__ void add_big(int *p, const int *q, int n, big b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += q[i] + b.add[i % 40];
}

static void count(void *arg)
{
    ++*static_cast<int *>(arg);
}

static int explicit_nodes()
{
    int *d, host[N], n = N, by = 3, calls = 0, seven = 7;
    cudaGraph_t graph, clone;
    cudaGraphNode_t fill, kernel, copy, call, symbol;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc(&d, sizeof host));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams set = {};
    set.dst = d;
    set.elementSize = 4;
    set.value = 2;
    set.width = N;
    set.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, offset_dev, &seven, 4, 0, cudaMemcpyHostToDevice));
    void *args[] = {&d, &n, &by};
    cudaKernelNodeParams params = {};
    params.func = (void *)scale;
    params.gridDim = dim3((N + 127) / 128);
    params.blockDim = dim3(128);
    params.kernelParams = args;
    cudaGraphNode_t both[] = {fill, symbol};
    CHECK(cudaGraphAddKernelNode(&kernel, graph, both, 2, &params));
    by = 100; // the node has its own
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, d, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams on_host = {count, &calls};
    CHECK(cudaGraphAddHostNode(&call, graph, &copy, 1, &on_host));
    cudaKernelNodeParams got;
    CHECK(cudaGraphKernelNodeGetParams(kernel, &got));
    EXPECT(got.func == (void *)scale && got.blockDim.x == 128 && *(int *)got.kernelParams[2] == 3);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    EXPECT(host[0] == 13 && host[N - 1] == 13 && calls == 1);
    by = 4;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    EXPECT(host[0] == 15 && host[N - 1] == 15 && calls == 2);
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(host[0] == 13 && calls == 3);
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(d));
    return 0;
}

// p = 1 * by + 7 and q = 2 side by side, then p += q + b
static cudaError_t record(cudaStream_t s, cudaStream_t side, int *p, int *q, int by, cudaGraph_t *graph)
{
    cudaEvent_t fork, join;
    big b;
    for (int i = 0; i < 40; i++)
        b.add[i] = i;
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(side, fork, 0);
    cudaMemset2DAsync(p, 4 * N, 0, 4 * N, 1, s);
    scale<<<(N + 255) / 256, 256, 0, s>>>(p, N, by);
    cudaMemsetAsync(q, 0, 4 * N, side);
    scale<<<(N + 255) / 256, 256, 0, side>>>(q, N, by);
    scale<<<(N + 255) / 256, 256, 0, side>>>(q, N, by);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(s, join, 0);
    add_big<<<(N + 255) / 256, 256, 0, s>>>(p, q, N, b);
    cudaError_t status = cudaStreamEndCapture(s, graph);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    return status;
}

static int captured()
{
    int *p, *q;
    cudaStream_t s, side;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMallocManaged(&p, 4 * N));
    CHECK(cudaMallocManaged(&q, 4 * N));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamCreate(&side));
    CHECK(record(s, side, p, q, 2, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 6);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 500; i++)
        CHECK(cudaGraphLaunch(exec, i % 2 ? s : side));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(p[i] == 7 + (7 * 2 + 7) + i % 40);
    CHECK(cudaGraphDestroy(graph));
    CHECK(record(s, side, p, q, 3, &graph));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < N; i++)
        EXPECT(p[i] == 7 + (7 * 3 + 7) + i % 40);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaFree(p));
    CHECK(cudaFree(q));
    return 0;
}

static int forbidden()
{
    cudaStream_t s;
    cudaGraph_t graph;
    void *memory;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT(cudaMalloc(&memory, 4) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated && !graph);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMalloc(&memory, 4));
    CHECK(cudaFree(memory));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    return 0;
}

int main()
{
    if (explicit_nodes() || captured() || forbidden())
        return 1;
    printf("PASS\n");
    return cudaGetLastError();
}
