/* Conditional nodes of graphs: if, else, loops, choices, one inside the other, and what is refused. */
#include <cstdio>
#include <cstring>

#define CHECK(cond) do { if (!(cond)) { printf("FAIL line %d: %s\n", __LINE__, #cond); failed = 1; } } while (0)
#define OK(call)    CHECK((call) == cudaSuccess)

static int failed;

__global__ void set(cudaGraphConditionalHandle handle, const int *value)
{
    cudaGraphSetConditional(handle, (unsigned)*value);
}

__global__ void add(int *at, int n)
{
    *at += n;
}

/* One round less; goes on while some are left. */
__global__ void count_down(cudaGraphConditionalHandle handle, int *left)
{
    cudaGraphSetConditional(handle, --*left > 0);
}

/* Is it odd? */
__global__ void ask(cudaGraphConditionalHandle handle, const int *left)
{
    cudaGraphSetConditional(handle, *left & 1);
}

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t *from, void *func, void *a, void *b)
{
    void *args[] = {a, b};
    cudaKernelNodeParams params = {};
    cudaGraphNode_t node = NULL;

    params.func = func;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = args;
    OK(cudaGraphAddKernelNode(&node, graph, from, from != NULL, &params));
    return node;
}

static cudaGraphNode_t plus(cudaGraph_t graph, cudaGraphNode_t *from, int *at, int n)
{
    return kernel(graph, from, (void *)add, &at, &n);
}

/* The node's graphs. */
static cudaGraph_t *branch(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphConditionalHandle handle,
                           cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *out_node)
{
    cudaGraphNodeParams params = {};

    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(out_node, graph, from, NULL, from != NULL, &params));
#else
    OK(cudaGraphAddNode(out_node, graph, from, from != NULL, &params));
#endif
    return params.conditional.phGraph_out;
}

static void run(cudaGraphExec_t exec)
{
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
}

static void finish(cudaGraphExec_t exec, cudaGraph_t graph)
{
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* words[0] is the value, the graphs add 10^i to words[1]. */
static void choose(cudaGraphConditionalNodeType type, unsigned size, int *words, const int (*want)[2], int n)
{
    cudaGraph_t graph, *inner;
    cudaGraphExec_t exec;
    cudaGraphNode_t node, cond;
    cudaGraphConditionalHandle handle;
    int ten = 1;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    node = kernel(graph, NULL, (void *)set, &handle, &words);
    inner = branch(graph, &node, handle, type, size, &cond);
    for (unsigned i = 0; i < size; i++, ten *= 10)
        plus(inner[i], NULL, words + 1, ten);
    plus(graph, &cond, words + 1, 100000);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < n; i++) {
        words[0] = want[i][0];
        words[1] = 0;
        run(exec);
        if (words[1] != 100000 + want[i][1])
            printf("type %d, value %d: %d\n", type, want[i][0], words[1]);
        CHECK(words[1] == 100000 + want[i][1]);
    }
    finish(exec, graph);
}

/* while (--words[0] > 0): words[1] += 1, and if it is odd words[2] += 1, else words[3] += 1. */
static void loop(int *words)
{
    cudaGraph_t graph, *body, *inner;
    cudaGraphExec_t exec;
    cudaGraphNode_t node, cond;
    cudaGraphConditionalHandle going, odd;
    cudaStream_t stream;
    int rounds = 0;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&going, graph, 1, cudaGraphCondAssignDefault));
    body = branch(graph, NULL, going, cudaGraphCondTypeWhile, 1, &cond);
    OK(cudaGraphConditionalHandleCreate(&odd, body[0], 0, 0));
    node = kernel(body[0], NULL, (void *)ask, &odd, &words);
    inner = branch(body[0], &node, odd, cudaGraphCondTypeIf, 2, &cond);
    plus(inner[0], NULL, words + 2, 1);
    plus(inner[1], NULL, words + 3, 1);
    /* The rest of the body is captured. */
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, body[0], &cond, NULL, 1, cudaStreamCaptureModeRelaxed));
    add<<<1, 1, 0, stream>>>(words + 1, 1);
    count_down<<<1, 1, 0, stream>>>(going, words);
    OK(cudaStreamEndCapture(stream, NULL));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int n = 1; n < 200; n += 66) {
        words[0] = n;
        run(exec);
        rounds += n;
        CHECK(words[0] == 0 && words[1] == rounds && words[2] + words[3] == rounds);
    }
    words[0] = 3;
    OK(cudaGraphLaunch(exec, stream)); /* several at a time are one after the other */
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(words[1] == rounds + 3 + 1 && words[0] == -1);
    OK(cudaStreamDestroy(stream));
    finish(exec, graph);
}

/* A body of more nodes than a queue has room for, in each of three rounds, and a loop inside of it. */
static void large(int *words)
{
    enum { NODES = 2500, ROUNDS = 3 };
    cudaGraph_t graph, *body, *inner;
    cudaGraphExec_t exec;
    cudaGraphNode_t node = NULL, cond;
    cudaGraphConditionalHandle going, odd;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&going, graph, 1, cudaGraphCondAssignDefault));
    body = branch(graph, NULL, going, cudaGraphCondTypeWhile, 1, &cond);
    OK(cudaGraphConditionalHandleCreate(&odd, body[0], 0, 0));
    node = kernel(body[0], NULL, (void *)ask, &odd, &words);
    for (int i = 0; i < NODES; i++) {
        if (i == NODES / 2) {
            inner = branch(body[0], &node, odd, cudaGraphCondTypeIf, 1, &cond);
            node = cond;
            for (int k = 0; k < NODES; k++)
                plus(inner[0], NULL, words + 2, 1);
        }
        node = plus(body[0], &node, words + 1, 1);
    }
    kernel(body[0], &node, (void *)count_down, &going, &words);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= 2; i++) {
        words[0] = ROUNDS;
        run(exec);
        CHECK(words[0] == 0 && words[1] == i * ROUNDS * NODES && words[2] == i * 2 * NODES);
    }
    finish(exec, graph);
}

static void host(void *)
{
}

static void refusals(int *words)
{
    cudaGraph_t graph, *inner;
    cudaGraphExec_t exec;
    cudaGraphNode_t node, cond;
    cudaGraphConditionalHandle handle, other;
    cudaGraphNodeParams params = {};
    cudaHostNodeParams call = {host, NULL};

    OK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 2) == cudaErrorInvalidValue);
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    CHECK(cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess); /* a handle without a node */
    inner = branch(graph, NULL, handle, cudaGraphCondTypeIf, 1, &cond);
    OK(cudaGraphConditionalHandleCreate(&other, inner[0], 0, 0));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.type = cudaGraphCondTypeIf;
    for (unsigned size = 0; size < 4; size += 3) {
        params.conditional.handle = handle;
        params.conditional.size = size;
        CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params) == cudaErrorInvalidValue);
    }
    params.conditional.size = 1; /* one node for each handle, in its graph */
    CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params) == cudaErrorInvalidValue);
    params.conditional.handle = other;
    CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params) == cudaErrorInvalidValue);
    branch(inner[0], NULL, other, cudaGraphCondTypeSwitch, 3, &node);
    OK(cudaGraphAddHostNode(&node, inner[0], NULL, 0, &call));
    CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaErrorNotSupported); /* host code in a body */
    OK(cudaGraphDestroyNode(node));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec); /* empty */
    (void)cudaGetLastError();
    finish(exec, graph);
}

int main()
{
    static const int ifs[][2] = {{0, 0}, {1, 1}, {5, 1}, {0, 0}}, elses[][2] = {{0, 10}, {7, 1}, {0, 10}},
                     cases[][2] = {{0, 1}, {1, 10}, {2, 100}, {3, 0}, {-1, 0}, {1, 10}};
    int *words;

    OK(cudaMallocManaged(&words, 64));
    memset(words, 0, 64);
    choose(cudaGraphCondTypeIf, 1, words, ifs, 4);
    choose(cudaGraphCondTypeIf, 2, words, elses, 3);
    choose(cudaGraphCondTypeSwitch, 3, words, cases, 6);
    memset(words, 0, 64);
    loop(words);
    memset(words, 0, 64);
    large(words);
    refusals(words);
    OK(cudaDeviceSynchronize());
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
