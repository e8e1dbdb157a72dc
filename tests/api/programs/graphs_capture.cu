/* Captures: what streams do becomes a graph; modes, joins, and updates of what is executable. */
#include "check.h"

enum { N = 128 };

static __global__ void add(int *words, int value)
{
    words[threadIdx.x] += value;
}

static __global__ void times(int *words, int value)
{
    words[threadIdx.x] *= value;
}

static int *words, to[N];

static int run(cudaGraphExec_t exec)
{
    OK(cudaMemset(words, 0, sizeof(to)));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, to[0], 0), 0);
    return to[0];
}

/* (0 + a) * 3, with a fork and a join in between. */
static cudaGraph_t capture(cudaStream_t stream, cudaStream_t side, int a)
{
    cudaGraph_t graph = NULL;
    cudaEvent_t fork = NULL, join = NULL;
    cudaStreamCaptureStatus status;
    unsigned long long id = 0;

    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, N, 0, stream>>>(words, a);
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(side, fork, 0));
    OK(cudaStreamIsCapturing(side, &status));
    EQ(status, cudaStreamCaptureStatusActive);
    times<<<1, N, 0, side>>>(words, 3);
    OK(cudaEventRecord(join, side));
    OK(cudaStreamWaitEvent(stream, join, 0));
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    EQ(status, cudaStreamCaptureStatusActive);
    TRUE(id != 0);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamIsCapturing(side, &status));
    EQ(status, cudaStreamCaptureStatusNone);
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    return graph;
}

static void updates(cudaStream_t stream, cudaStream_t side)
{
    cudaGraph_t graph = capture(stream, side, 2), other = capture(stream, side, 7), longer = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t nodes[4];
    size_t count = 4;

    OK(cudaGraphGetNodes(graph, nodes, &count));
    EQ(count, 2);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    EQ(run(exec), 6);
    OK(cudaGraphExecUpdate(exec, other, &info));
    EQ(info.result, cudaGraphExecUpdateSuccess);
    EQ(run(exec), 21);

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    add<<<1, N, 0, stream>>>(words, 1);
    OK(cudaStreamEndCapture(stream, &longer));
    FAILS(cudaGraphExecUpdate(exec, longer, &info), cudaErrorGraphExecUpdateFailure);
    EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    EQ(run(exec), 21); /* unchanged */

    /* One node alone. */
    int value = 50;
    void *args[] = {&words, &value};
    cudaKernelNodeParams params = {};
    params.func = (void *)add;
    params.gridDim = dim3(1);
    params.blockDim = dim3(N);
    params.kernelParams = args;
    count = 4;
    OK(cudaGraphGetRootNodes(graph, nodes, &count));
    OK(cudaGraphExecKernelNodeSetParams(exec, nodes[0], &params));
    EQ(run(exec), 150);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(longer));
}

/* What the modes forbid, and what that does to a capture. */
static void modes(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaStreamCaptureStatus status;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *memory = NULL;

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(cudaMalloc(&memory, 64), cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamIsCapturing(stream, &status));
    EQ(status, cudaStreamCaptureStatusInvalidated);
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    TRUE(!graph);

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQ(mode, cudaStreamCaptureModeGlobal);
    OK(cudaMalloc(&memory, 64)); /* this thread said that it does not mind */
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQ(mode, cudaStreamCaptureModeRelaxed);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));

    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cudaMalloc(&memory, 64));
    FAILS(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaFree(memory));

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    add<<<1, N>>>(words, 1); /* the legacy stream would have to wait for what is captured */
    EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
    TRUE(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
    cudaGetLastError();
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    FAILS(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed),
          cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    FAILS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    TRUE(cudaStreamEndCapture(stream, &graph) == cudaSuccess ||
         cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
}

static void unjoined(cudaStream_t stream, cudaStream_t side)
{
    cudaGraph_t graph = NULL;
    cudaEvent_t event = NULL;

    OK(cudaEventCreate(&event));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(side, event, 0));
    add<<<1, N, 0, side>>>(words, 1);
    FAILS(cudaEventQuery(event), cudaErrorCapturedEvent);
    TRUE(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
    cudaGetLastError();

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(side, event, 0));
    add<<<1, N, 0, side>>>(words, 1);
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    OK(cudaEventDestroy(event));
}

/* Into a graph that is there already, with dependencies chosen by hand. */
static void into_graph(cudaStream_t stream)
{
    cudaGraph_t graph = NULL, same = NULL, seen = NULL;
    cudaGraphNode_t first = NULL;
    const cudaGraphNode_t *dependencies = NULL;
    cudaStreamCaptureStatus status;
    cudaGraphExec_t exec = NULL;
    size_t count = 0;
    cudaMemsetParams params = {};

    params.dst = words;
    params.value = 0x01010101;
    params.elementSize = 4;
    params.width = N;
    params.height = 1;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &params));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, &seen, &dependencies, NULL, &count));
    TRUE(seen == graph && count == 1 && dependencies[0] == first);
    add<<<1, N, 0, stream>>>(words, 1);
    cudaGraphNode_t empty = NULL;
    OK(cudaStreamGetCaptureInfo(stream, &status, NULL, &seen, &dependencies, NULL, &count));
    OK(cudaGraphAddEmptyNode(&empty, graph, dependencies, count));
    OK(cudaStreamUpdateCaptureDependencies(stream, &empty, NULL, 1,
                                           cudaStreamSetCaptureDependencies));
    times<<<1, N, 0, stream>>>(words, 2);
    OK(cudaStreamEndCapture(stream, &same));
    TRUE(same == graph);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    EQ(run(exec), 0x01010102 * 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main(void)
{
    cudaStream_t stream, side;

    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&words, sizeof(to)));
    updates(stream, side);
    modes(stream);
    unjoined(stream, side);
    into_graph(stream);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(side));
    OK(cudaFree(words));
    return finish();
}
