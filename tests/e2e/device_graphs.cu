/*
 * Graphs that kernels launch: order of tails, of what is fired and forgotten and of siblings,
 * limits, self-launch, uploads; and nodes that kernels change.
 */
#include <cstdio>
#include <cstring>

#define CHECK(cond) do { if (!(cond)) { printf("FAIL line %d: %s\n", __LINE__, #cond); failed = 1; } } while (0)
#define OK(call)    CHECK((call) == cudaSuccess)

static int failed;

enum { LOG_MAX = 512, FORGET_MAX = 120, TAILS_MAX = 255 };

struct log_t { int n, at[LOG_MAX]; };

static __managed__ log_t journal;
static __managed__ int answers[16];
static __managed__ int counter;
static __managed__ cudaGraphExec_t current[4];
static __managed__ cudaGraphExec_t many[LOG_MAX];
static __managed__ cudaGraphExec_t targets[8];
static __managed__ cudaGraphDeviceNode_t nodes[4];

__device__ void note(int number)
{
    journal.at[atomicAdd(&journal.n, 1)] = number;
}

__global__ void write(int number)
{
    note(number);
}

/* Launches targets[first], targets[first + 1] .. into one stream, and notes its own number. */
__global__ void launch(int number, int first, int n, unsigned long long mode)
{
    note(number);
    for (int i = 0; i < n; i++)
        answers[i] = cudaGraphLaunch(targets[first + i], (cudaStream_t)mode);
}

__global__ void relaunch(int rounds)
{
    current[0] = cudaGetCurrentGraphExec();
    if (++counter < rounds) {
        answers[0] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
        answers[1] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
        answers[2] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphFireAndForget);
    }
}

__global__ void who(int at)
{
    current[at] = cudaGetCurrentGraphExec();
}

__global__ void launch_many(int n, unsigned long long mode)
{
    for (int i = 0; i < n; i++) {
        cudaError_t error = cudaGraphLaunch(many[i], (cudaStream_t)mode);
        answers[error == cudaSuccess]++;
        answers[2] = error;
    }
}

static const unsigned long long TAIL = (unsigned long long)cudaStreamGraphTailLaunch,
                                FORGET = (unsigned long long)cudaStreamGraphFireAndForget,
                                SIBLING = (unsigned long long)cudaStreamGraphFireAndForgetAsSibling;

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t *from, void *func, void **args)
{
    cudaKernelNodeParams params = {};
    cudaGraphNode_t node = NULL;

    params.func = func;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = args;
    OK(cudaGraphAddKernelNode(&node, graph, from, from != NULL, &params));
    return node;
}

static cudaGraphNode_t add_write(cudaGraph_t graph, cudaGraphNode_t *from, int number)
{
    void *args[] = {&number};

    return kernel(graph, from, (void *)write, args);
}

static cudaGraphNode_t add_launch(cudaGraph_t graph, cudaGraphNode_t *from, int number, int first, int n,
                                  unsigned long long mode)
{
    void *args[] = {&number, &first, &n, &mode};

    return kernel(graph, from, (void *)launch, args);
}

static cudaGraph_t new_graph()
{
    cudaGraph_t graph = NULL;

    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

/* The graph is used up. */
static cudaGraphExec_t make(cudaGraph_t graph, unsigned flags)
{
    cudaGraphExec_t exec = NULL;

    OK(cudaGraphInstantiateWithFlags(&exec, graph, flags));
    OK(cudaGraphDestroy(graph));
    return exec;
}

static cudaGraphExec_t uploaded(cudaGraph_t graph)
{
    cudaGraphExec_t exec = make(graph, cudaGraphInstantiateFlagDeviceLaunch);

    OK(cudaGraphUpload(exec, 0));
    return exec;
}

static cudaGraphExec_t writer(int number)
{
    cudaGraph_t graph = new_graph();

    add_write(graph, NULL, number);
    return uploaded(graph);
}

static void reset()
{
    memset(&journal, 0, sizeof(journal));
    memset(answers, 0, sizeof(answers));
    counter = 0;
}

/* Launches, and says whether the journal is this. */
static bool runs_as(cudaGraphExec_t exec, int n, const int *want)
{
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    bool same = journal.n == n && !memcmp(journal.at, want, n * sizeof(int));
    for (int i = 0; i < journal.n && !same; i++)
        printf("%d ", journal.at[i]);
    return same;
}

static void destroy(int n)
{
    for (int i = 0; i < n; i++)
        OK(cudaGraphExecDestroy(targets[i]));
}

/* G1 launches G2 and G3, G2 launches X and Y: X and Y come before G3, all behind the last node of G1. */
static void test_tails()
{
    const int want[] = {1, 11, 2, 22, 4, 5, 3, 9};
    cudaGraph_t g2 = new_graph(), g1 = new_graph();
    cudaGraphNode_t node;

    reset();
    targets[2] = writer(4);
    targets[3] = writer(5);
    node = add_launch(g2, NULL, 2, 2, 2, TAIL);
    add_write(g2, &node, 22);
    targets[0] = uploaded(g2);
    targets[1] = writer(3);
    node = add_launch(g1, NULL, 1, 0, 2, TAIL);
    add_write(g1, &node, 11);
    cudaGraphExec_t exec = make(g1, 0);
    for (int i = 0; i < 3; i++) {
        reset();
        OK(cudaGraphLaunch(exec, 0));
        write<<<1, 1>>>(9); /* the stream waits for all of it */
        OK(cudaDeviceSynchronize());
        CHECK(journal.n == 8 && !memcmp(journal.at, want, sizeof(want)));
    }
    OK(cudaGraphExecDestroy(exec));
    destroy(4);
}

/* Tails wait for what was fired and forgotten, whatever that does; the stream for everything. */
static void test_forgotten()
{
    cudaGraph_t child = new_graph(), g1 = new_graph();
    cudaGraphNode_t node;

    reset();
    targets[1] = writer(5);
    add_launch(child, NULL, 4, 1, 1, FORGET);
    targets[0] = uploaded(child);
    targets[2] = writer(7);
    node = add_launch(g1, NULL, 1, 0, 1, FORGET);
    node = add_launch(g1, &node, 2, 2, 1, TAIL);
    add_write(g1, &node, 3);
    cudaGraphExec_t exec = make(g1, 0);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(journal.n == 6 && journal.at[0] == 1 && journal.at[5] == 7);
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum += journal.at[i];
    CHECK(sum == 1 + 2 + 3 + 4 + 5 + 7);
    OK(cudaGraphExecDestroy(exec));
    destroy(3);
}

__global__ void raise(volatile int *flag)
{
    *flag = 1;
}

/* Waits for what it has fired. */
__global__ void fire_and_wait(volatile int *flag)
{
    answers[0] = cudaGraphLaunch(targets[0], cudaStreamGraphFireAndForget);
    while (!*flag)
        ;
    note(8);
}

static void test_at_once()
{
    volatile int *flag = &answers[4];
    void *args[] = {&flag};
    cudaGraph_t child = new_graph(), g1 = new_graph();
    const int want[] = {8};

    reset();
    kernel(child, NULL, (void *)raise, args);
    targets[0] = uploaded(child);
    kernel(g1, NULL, (void *)fire_and_wait, args);
    cudaGraphExec_t exec = make(g1, 0);
    CHECK(runs_as(exec, 1, want));
    OK(cudaGraphExecDestroy(exec));
    destroy(1);
}

/* What a sibling does, the tail need not wait for: the sibling is even launched by the last tail. */
static void test_siblings()
{
    const int want[] = {1, 6};
    cudaGraph_t g1 = new_graph();

    reset();
    targets[0] = writer(6);
    add_launch(g1, NULL, 1, 0, 1, SIBLING);
    cudaGraphExec_t exec = make(g1, 0);
    CHECK(runs_as(exec, 2, want));
    CHECK(answers[0] == cudaSuccess);
    reset();
    CHECK(runs_as(exec, 2, want));
    OK(cudaGraphExecDestroy(exec));
    destroy(1);
}

/* A graph launches itself again and again; once at a time, and only as its own tail. */
static void test_self()
{
    int rounds = 100;
    void *args[] = {&rounds};
    cudaGraph_t graph = new_graph();

    reset();
    kernel(graph, NULL, (void *)relaunch, args);
    cudaGraphExec_t exec = uploaded(graph);
    for (int i = 0; i < 2; i++) {
        counter = 0;
        OK(cudaGraphLaunch(exec, 0));
        OK(cudaDeviceSynchronize());
        CHECK(counter == rounds && current[0] == exec);
        CHECK(answers[0] == cudaSuccess && answers[1] == cudaErrorInvalidValue);
        CHECK(answers[2] == cudaErrorInvalidValue);
    }
    OK(cudaGraphExecDestroy(exec));
}

/* The register is 0 outside of device graphs; there is nothing to launch from outside of graphs. */
static void test_outside()
{
    int at = 1;
    void *args[] = {&at};
    cudaGraph_t graph = new_graph();

    reset();
    memset(current, 0xff, sizeof(current));
    who<<<1, 1>>>(0);
    kernel(graph, NULL, (void *)who, args);
    cudaGraphExec_t exec = make(graph, 0);
    OK(cudaGraphLaunch(exec, 0));
    targets[0] = writer(1);
    launch<<<1, 1>>>(8, 0, 1, TAIL);
    OK(cudaDeviceSynchronize());
    CHECK(!current[0] && !current[1]);
    CHECK(answers[0] == cudaErrorInvalidValue && journal.n == 1);
    OK(cudaGraphExecDestroy(exec));
    destroy(1);
}

/* Not uploaded, not a device graph, destroyed, nonsense; a stream that is none of the three. */
static void test_refused()
{
    cudaGraph_t graph = new_graph(), plain = new_graph(), g1 = new_graph();
    const int want[] = {1};

    reset();
    add_write(graph, NULL, 3);
    add_write(plain, NULL, 4);
    targets[0] = make(graph, cudaGraphInstantiateFlagDeviceLaunch);
    targets[1] = make(plain, 0);
    targets[2] = writer(5);
    OK(cudaGraphExecDestroy(targets[2]));
    targets[3] = (cudaGraphExec_t)0x123456;
    add_launch(g1, NULL, 1, 0, 4, TAIL);
    cudaGraphExec_t exec = make(g1, 0);
    CHECK(runs_as(exec, 1, want));
    for (int i = 0; i < 4; i++)
        CHECK(answers[i] == cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));

    g1 = new_graph();
    reset();
    OK(cudaGraphUpload(targets[0], 0));
    add_launch(g1, NULL, 1, 0, 1, 0);
    exec = make(g1, 0);
    CHECK(runs_as(exec, 1, want));
    CHECK(answers[0] == cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));
    destroy(2);
}

static void test_limit(unsigned long long mode, int limit)
{
    int n = limit + 3;
    void *args[] = {&n, &mode};
    cudaGraph_t g1 = new_graph();

    for (int i = 0; i < n; i++)
        many[i] = writer(i);
    kernel(g1, NULL, (void *)launch_many, args);
    cudaGraphExec_t exec = make(g1, 0);
    for (int round = 0; round < 2; round++) {
        reset();
        OK(cudaGraphLaunch(exec, 0));
        OK(cudaDeviceSynchronize());
        CHECK(answers[1] == limit && answers[0] == 3 && answers[2] == cudaErrorLaunchPendingCountExceeded);
        CHECK(journal.n == limit);
        for (int i = 0; i < limit && mode == TAIL; i++)
            CHECK(journal.at[i] == i);
    }
    OK(cudaGraphExecDestroy(exec));
    for (int i = 0; i < n; i++)
        OK(cudaGraphExecDestroy(many[i]));
}

/* The device launches what was uploaded; a change by the host waits for the next upload. */
static void test_upload()
{
    int number = 2, other = 8;
    void *args[] = {&number}, *others[] = {&other};
    cudaKernelNodeParams params = {};
    cudaGraph_t graph = new_graph(), g1 = new_graph();
    cudaGraphNode_t node = kernel(graph, NULL, (void *)write, args);

    params.func = (void *)write;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = others;
    OK(cudaGraphInstantiateWithFlags(&targets[0], graph, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cudaGraphUpload(targets[0], 0));
    add_launch(g1, NULL, 1, 0, 1, TAIL);
    cudaGraphExec_t exec = make(g1, 0);
    OK(cudaGraphExecKernelNodeSetParams(targets[0], node, &params));
    const int before[] = {1, 2}, after[] = {1, 8};
    reset();
    CHECK(runs_as(exec, 2, before));
    OK(cudaGraphUpload(targets[0], 0));
    reset();
    CHECK(runs_as(exec, 2, after));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    destroy(1);
}

/* Copies, fills and child graphs of more nodes than a queue has room for. */
static void test_large()
{
    enum { NODES = 3000 };
    cudaGraph_t child = new_graph(), graph = new_graph(), g1 = new_graph();
    cudaGraphNode_t last = NULL, node;
    cudaMemsetParams fill = {};

    reset();
    fill.dst = &answers[8];
    fill.elementSize = 4;
    fill.width = 1;
    fill.height = 1;
    for (int i = 0; i < NODES; i++) {
        fill.value = i;
        OK(cudaGraphAddMemsetNode(&node, child, last ? &last : NULL, last != NULL, &fill));
        last = node;
    }
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    OK(cudaGraphAddMemcpyNode1D(&last, graph, &node, 1, &answers[9], &answers[8], 4, cudaMemcpyDefault));
    add_write(graph, &last, 2);
    OK(cudaGraphDestroy(child));
    targets[0] = uploaded(graph);
    add_launch(g1, NULL, 1, 0, 1, FORGET);
    cudaGraphExec_t exec = make(g1, 0);
    const int want[] = {1, 2};
    CHECK(runs_as(exec, 2, want));
    CHECK(answers[9] == NODES - 1);
    OK(cudaGraphExecDestroy(exec));
    destroy(1);
}

/* ---- nodes that kernels change */

struct wide { int a[40]; };

__global__ void tell(int number, wide w, int last)
{
    if (!threadIdx.x)
        note(1000 * number + 100 * gridDim.x + 10 * gridDim.y + w.a[39] + last);
}

__global__ void small(int number)
{
    note(number);
}

/* By round: what changes. */
__global__ void change(int round)
{
    extern __shared__ __align__(8) char room[];
    cudaGraphKernelNodeUpdate *u = (cudaGraphKernelNodeUpdate *)room;
    int two[2] = {7, 8};

    switch (round) {
    case 0: /* nothing */
        break;
    case 1:
        answers[0] = cudaGraphKernelNodeSetParam(nodes[0], 0, 5);
        answers[1] = cudaGraphKernelNodeSetParam(nodes[1], 0, 6);
        answers[2] = cudaGraphKernelNodeSetGridDim(nodes[0], dim3(2, 3));
        break;
    case 2:
        answers[0] = cudaGraphKernelNodeSetEnabled(nodes[1], false);
        break;
    case 3:
        u[0].node = nodes[0];
        u[0].field = cudaGraphKernelNodeFieldGridDim;
        u[0].updateData.gridDim = dim3(1, 1, 1);
        u[1].node = nodes[1];
        u[1].field = cudaGraphKernelNodeFieldEnabled;
        u[1].updateData.isEnabled = 1;
        u[2].node = nodes[0];
        u[2].field = cudaGraphKernelNodeFieldParam;
        u[2].updateData.param.pValue = &two[1];
        u[2].updateData.param.offset = 4 + sizeof(wide);
        u[2].updateData.param.size = 4;
        answers[0] = cudaGraphKernelNodeUpdatesApply(u, 3);
        break;
    case 4:
        answers[0] = cudaGraphKernelNodeSetParam(nodes[1], 4, 1);
        answers[1] = cudaGraphKernelNodeSetGridDim(nodes[1], dim3(0, 1, 1));
        answers[2] = cudaGraphKernelNodeSetEnabled((cudaGraphDeviceNode_t)0x55, true);
        u[0].node = nodes[1];
        u[0].field = cudaGraphKernelNodeFieldInvalid;
        answers[3] = cudaGraphKernelNodeUpdatesApply(u, 1);
        break;
    }
}

static cudaGraphDeviceNode_t updatable(cudaGraphNode_t node)
{
    cudaKernelNodeAttrValue set = {}, get = {};

    set.deviceUpdatableKernelNode.deviceUpdatable = 1;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &set));
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &get));
    CHECK(set.deviceUpdatableKernelNode.devNode && get.deviceUpdatableKernelNode.deviceUpdatable == 1 &&
          get.deviceUpdatableKernelNode.devNode == set.deviceUpdatableKernelNode.devNode);
    set.deviceUpdatableKernelNode.deviceUpdatable = 0;
    CHECK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &set) ==
          cudaErrorInvalidValue);
    return get.deviceUpdatableKernelNode.devNode;
}

static void change_round(cudaGraphExec_t exec, cudaGraphNode_t node, int round)
{
    void *args[] = {&round};
    cudaKernelNodeParams params = {};

    params.func = (void *)change;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = args;
    params.sharedMemBytes = 4 * sizeof(cudaGraphKernelNodeUpdate);
    if (exec)
        OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    else
        OK(cudaGraphKernelNodeSetParams(node, &params));
}

static void test_updates()
{
    int one = 1, last = 0, round = 0;
    wide w = {};
    void *tell_args[] = {&one, &w, &last}, *small_args[] = {&one}, *change_args[] = {&round};
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec, again;
    cudaGraphNode_t first, a, b;

    first = kernel(graph, NULL, (void *)change, change_args);
    a = kernel(graph, &first, (void *)tell, tell_args);
    b = kernel(graph, &a, (void *)small, small_args);
    nodes[0] = updatable(a);
    nodes[1] = updatable(b);
    change_round(NULL, first, 0);
    CHECK(cudaGraphDestroyNode(b) == cudaErrorInvalidValue);
    CHECK(cudaGraphKernelNodeCopyAttributes(b, first) == cudaErrorInvalidValue);
    CHECK(cudaGraphKernelNodeCopyAttributes(first, b) == cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphInstantiate(&again, graph, 0) != cudaSuccess);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, graph, &info) == cudaErrorGraphExecUpdateFailure &&
          info.result == cudaGraphExecUpdateErrorNotSupported);

    const int want0[] = {1110, 1}, want2[] = {5230, 5230, 5230, 5230, 5230, 5230};
    reset();
    CHECK(runs_as(exec, 2, want0));
    change_round(exec, first, 1);
    OK(cudaGraphUpload(exec, 0));
    reset();
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(journal.n == 7 && !memcmp(journal.at, want2, sizeof(want2)) && journal.at[6] == 6);
    CHECK(!answers[0] && !answers[1] && !answers[2]);
    /* They stay as long as the host changes nothing; here it changes another node. */
    reset();
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(journal.n == 7);
    change_round(exec, first, 2);
    reset();
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(answers[0] == cudaSuccess && journal.n == 1);
    change_round(exec, first, 1);
    OK(cudaGraphLaunch(exec, 0));
    change_round(exec, first, 3);
    OK(cudaDeviceSynchronize());
    reset();
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(!answers[0] && journal.n == 2);
    change_round(exec, first, 4);
    reset();
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++)
        CHECK(answers[i] == cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0)); /* the other one is gone */
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* A launch becomes an updatable node of what is captured; outside of captures it is an error. */
static void test_captured()
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    attribute.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    attribute.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    config.gridDim = config.blockDim = dim3(1);
    config.stream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, small, 3) == cudaErrorInvalidValue);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    change<<<1, 1, 4 * sizeof(cudaGraphKernelNodeUpdate), s>>>(2);
    OK(cudaLaunchKernelEx(&config, small, 3));
    OK(cudaStreamEndCapture(s, &graph));
    nodes[1] = attribute.val.deviceUpdatableKernelNode.devNode;
    CHECK(nodes[1]);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    reset();
    OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    CHECK(journal.n == 0 && answers[0] == cudaSuccess);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(s));
    (void)cudaGetLastError();
}

/* ---- what a device graph may have */

static void nothing(void *)
{
}

__global__ void parent()
{
    small<<<1, 1>>>(1);
}

static void refuses(cudaGraph_t graph, cudaGraphNode_t node, cudaGraphInstantiateResult why)
{
    cudaGraphInstantiateParams params = {};
    cudaGraphExec_t exec;

    params.flags = cudaGraphInstantiateFlagDeviceLaunch;
    CHECK(cudaGraphInstantiateWithParams(&exec, graph, &params) != cudaSuccess);
    CHECK(params.result_out == why && params.errNode_out == node);
    OK(cudaGraphDestroy(graph));
}

static void test_nodes()
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    cudaHostNodeParams host = {};
    cudaGraphExec_t exec;
    int pageable;

    refuses(new_graph(), NULL, cudaGraphInstantiateInvalidStructure);
    host.fn = nothing;
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
    refuses(graph, node, cudaGraphInstantiateNodeOperationNotSupported);
    graph = new_graph();
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    refuses(graph, node, cudaGraphInstantiateNodeOperationNotSupported);
    graph = new_graph();
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, &pageable, answers, 4, cudaMemcpyDefault));
    refuses(graph, node, cudaGraphInstantiateNodeOperationNotSupported);
    graph = new_graph();
    node = kernel(graph, NULL, (void *)parent, NULL);
    refuses(graph, node, cudaGraphInstantiateNodeOperationNotSupported);
    graph = new_graph();
    add_write(graph, NULL, 1);
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch |
                                        cudaGraphInstantiateFlagAutoFreeOnLaunch) == cudaErrorInvalidValue);
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    unsigned long long flags = 0;
    OK(cudaGraphExecGetFlags(exec, &flags));
    CHECK(flags == cudaGraphInstantiateFlagDeviceLaunch);
    /* Kernels that call the runtime do not take the place of those that do not. */
    void *bad[] = {(void *)parent, (void *)change, (void *)launch};
    long long room[8] = {};
    void *args[] = {room, room, room, room};
    cudaKernelNodeParams kernel_params = {};
    size_t one = 1;
    OK(cudaGraphGetNodes(graph, &node, &one));
    for (int i = 0; i < 3; i++) {
        cudaGraphExecUpdateResultInfo info;
        cudaGraph_t other = new_graph();
        cudaGraphExec_t plain = NULL;
        kernel_params.func = bad[i];
        kernel_params.gridDim = kernel_params.blockDim = dim3(1);
        kernel_params.kernelParams = args;
        kernel(other, NULL, bad[i], args);
        OK(cudaGraphInstantiate(&plain, graph, 0));
        CHECK(cudaGraphExecKernelNodeSetParams(plain, node, &kernel_params) == cudaErrorInvalidValue);
        CHECK(cudaGraphExecUpdate(plain, other, &info) == cudaErrorGraphExecUpdateFailure &&
              info.result == cudaGraphExecUpdateErrorUnsupportedFunctionChange);
        OK(cudaGraphExecDestroy(plain));
        OK(cudaGraphDestroy(other));
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

int main()
{
    test_tails();
    test_forgotten();
    test_at_once();
    test_siblings();
    test_self();
    test_outside();
    test_refused();
    test_limit(FORGET, FORGET_MAX);
    test_limit(TAIL, TAILS_MAX);
    test_upload();
    test_large();
    test_updates();
    test_captured();
    test_nodes();
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
