/*
 * Programs with work in several streams, racy and right: `streams CASE`. A case whose name ends in
 * _bad has a race between streams, or with the host; others have none.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

enum { N = 3000, BLOCK = 128, GRID = (N + BLOCK - 1) / BLOCK };

__global__ void fill(int *a, int value)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < N)
        a[i] = value + i;
}

__global__ void add(int *to, const int *from)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < N)
        to[i] += from[i];
}

__global__ void read_only(const int *from, int *out)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < N && from[i] == -1)
        *out = 1;
}

__global__ void count(int *counter)
{
    atomicAdd(counter, 1);
}

__global__ void produce(int *data, volatile int *flag)
{
    *data = 5;
    __threadfence();
    *flag = 1;
}

__global__ void consume(int *data, volatile int *flag, int *out)
{
    for (int i = 0; i < 1000000 && !*flag; i++)
        ;
    __threadfence();
    if (*flag)
        *out = *data;
}

__global__ void tell(int *data, int *flag)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < N)
        data[i] = i;
    __syncthreads();
    __threadfence_system();
    if (threadIdx.x == 0)
        *(volatile int *)(flag + blockIdx.x) = 1;
}

__global__ void wait_for(volatile int *flag, int *out)
{
    while (!*flag)
        ;
    *out = 1;
}

static int *a, *b, *c;
static int *managed, *pinned; /* the host's as well */
static int *flags;            /* pinned, of blocks */
static volatile int sum;
static cudaStream_t s, t, free1, free2; /* two that order with the default stream, two that do not */
static cudaEvent_t event;

// nvcc puts them into managed memory side by side, `heddle cc` into the program's data.
__managed__ int variable[N], few[64];

__global__ void fill_few(int *p)
{
    p[threadIdx.x] = 1;
}

#define ON(stream) <<<GRID, BLOCK, 0, stream>>>

/* ---- kernels */

static void two_bad(void)
{
    fill ON(s)(a, 1);
    add ON(t)(b, a);
}
static void write_after_read_bad(void)
{
    add ON(s)(b, a);
    fill ON(t)(a, 1);
}
static void readers(void)
{
    read_only ON(s)(a, b);
    read_only ON(t)(a, c);
}
static void other_memory(void)
{
    fill ON(s)(a, 1);
    fill ON(t)(b, 1);
}
static void counters(void)
{
    count ON(s)(c);
    count ON(t)(c);
}
static void flag(void)
{
    produce<<<1, 1, 0, free1>>>(a, b);
    consume<<<1, 1, 0, free2>>>(a, b, c);
}
static void awaited(void)
{
    fill ON(s)(a, 1);
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(t, event, 0);
    add ON(t)(b, a);
}
static void awaited_too_early_bad(void)
{
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(t, event, 0);
    fill ON(s)(a, 1);
    add ON(t)(b, a);
}
static void by_third_stream(void)
{
    fill ON(free1)(a, 1);
    cudaEventRecord(event, free1);
    cudaStreamWaitEvent(s, event, 0);
    fill ON(s)(c, 1);
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(free2, event, 0);
    add ON(free2)(b, a);
}
static void host_waits(void)
{
    fill ON(s)(a, 1);
    cudaStreamSynchronize(s);
    add ON(t)(b, a);
}
static void host_waits_for_event(void)
{
    fill ON(s)(a, 1);
    cudaEventRecord(event, s);
    fill ON(s)(c, 1);
    while (cudaEventQuery(event) == cudaErrorNotReady)
        ;
    add ON(t)(b, a);
}
static void host_waits_for_other_bad(void)
{
    fill ON(s)(a, 1);
    fill ON(free1)(c, 1);
    cudaStreamSynchronize(free1);
    add ON(free1)(b, a);
}
static void asked(void)
{
    fill ON(s)(a, 1);
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        ;
    add ON(t)(b, a);
}

/* ---- default streams */

static void by_default_stream(void)
{
    fill ON(s)(a, 1);
    fill ON(0)(c, 1);
    add ON(t)(b, a);
}
static void into_default_stream(void)
{
    fill ON(s)(a, 1);
    add ON(0)(b, a);
}
static void default_and_free_bad(void)
{
    fill ON(0)(a, 1);
    add ON(free1)(b, a);
}
static void thread_and_free_bad(void)
{
    fill ON(cudaStreamPerThread)(a, 1);
    add ON(free1)(b, a);
}
static void thread_and_default(void)
{
    fill ON(cudaStreamPerThread)(a, 1);
    add ON(0)(b, a);
}
static void thread_is_awaited(void)
{
    fill ON(cudaStreamPerThread)(a, 1);
    cudaStreamSynchronize(cudaStreamPerThread);
    add ON(free1)(b, a);
}

/* ---- copies and fills */

static void kernel_and_copy_bad(void)
{
    fill ON(s)(a, 1);
    cudaMemcpyAsync(b, a, N * sizeof(int), cudaMemcpyDeviceToDevice, t);
}
static void copy_and_kernel_bad(void)
{
    cudaMemcpyAsync(b, a, N * sizeof(int), cudaMemcpyDeviceToDevice, t);
    fill ON(s)(a, 1);
}
static void copy_beside(void)
{
    fill ON(s)(a, 1);
    cudaMemcpyAsync(c, b, N * sizeof(int), cudaMemcpyDeviceToDevice, t);
}
static void fill_and_kernel_bad(void)
{
    cudaMemsetAsync(a, 0, 64, t);
    add ON(s)(b, a);
}
static void copy_and_fill_bad(void)
{
    cudaMemcpyAsync(b, a, N * sizeof(int), cudaMemcpyDeviceToDevice, s);
    cudaMemsetAsync(b + N - 1, 0, sizeof(int), t);
}
static void halves(void)
{
    cudaMemsetAsync(a, 0, N / 2 * sizeof(int), s);
    cudaMemsetAsync(a + N / 2, 0, N / 2 * sizeof(int), t);
}
static void columns(void)
{
    cudaMemset2DAsync(a, 64, 0, 16, 32, s);
    cudaMemset2DAsync(a + 4, 64, 0, 16, 32, t);
}
static void columns_bad(void)
{
    cudaMemset2DAsync(a, 64, 0, 20, 32, s);
    cudaMemset2DAsync(a + 4, 64, 0, 16, 32, t);
}
static void copy_waits(void)
{
    static int out[N];
    fill ON(s)(a, 1);
    cudaMemcpyAsync(out, a, sizeof(out), cudaMemcpyDeviceToHost, s); /* pageable: it waits */
    add ON(free1)(b, a);
}
static void copy_of_device_does_not_bad(void)
{
    fill ON(0)(a, 1);
    cudaMemcpy(c, b, 64, cudaMemcpyDeviceToDevice);
    add ON(free1)(b, a);
}
static void allocation_does_not_bad(void)
{
    int *more;
    fill ON(s)(a, 1);
    cudaMalloc(&more, 1 << 20);
    add ON(t)(b, a);
}
static void free_does(void)
{
    int *more;
    cudaMalloc(&more, 1 << 20);
    fill ON(s)(a, 1);
    cudaFree(more);
    add ON(t)(b, a);
}
static void memory_of_streams(void)
{
    for (int i = 0; i < 4; i++) {
        cudaStream_t stream = i % 2 ? s : t;
        int *more;
        cudaMallocAsync(&more, N * sizeof(int), stream);
        fill ON(stream)(more, i);
        cudaFreeAsync(more, stream);
    }
}
static void host_function(void *arg)
{
    *(int *)arg = 1;
}
static void function(void)
{
    int called = 0;
    fill ON(s)(a, 1);
    cudaLaunchHostFunc(s, host_function, &called);
    while (!*(volatile int *)&called)
        ;
    add ON(t)(b, a);
}

/* ---- graphs */

/* fill(a), then in two branches fill(b) and a kernel that adds a to `to`, then add(b, a). */
static void run_graph(int *to, bool join)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t done;

    cudaEventCreate(&done);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill ON(s)(a, 1);
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(free1, event, 0);
    fill ON(s)(b, 1);
    add ON(free1)(to, a);
    cudaEventRecord(done, free1);
    cudaStreamWaitEvent(s, done, 0);
    add ON(s)(b, a);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaGraphLaunch(exec, s);
    if (join)
        cudaStreamSynchronize(s);
    add ON(free2)(c, b);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}
static void graph(void)
{
    run_graph(c, true);
}
static void graph_branches_bad(void)
{
    run_graph(b, true);
}
static void graph_and_stream_bad(void)
{
    run_graph(c, false);
}

static void graph_in_two_streams(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill ON(s)(a, 1);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, free1);
    cudaGraphLaunch(exec, free2);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

/* ---- the host */

static void host_reads_bad(void)
{
    fill ON(s)(managed, 1);
    sum = managed[7];
}
static void host_reads(void)
{
    fill ON(s)(managed, 1);
    cudaStreamSynchronize(s);
    sum = managed[7];
    managed[8] = 2;
}
static void host_writes_bad(void)
{
    add ON(s)(b, managed);
    managed[N - 1] = 1;
}
static void variable_read_bad(void)
{
    fill ON(s)(variable, 1);
    sum = variable[N / 2];
}
static void variable_written_bad(void)
{
    add ON(s)(b, variable);
    variable[N / 2] = 1;
}
static void variable_read(void)
{
    fill ON(s)(variable, 1);
    cudaStreamSynchronize(s);
    sum = variable[N / 2];
    variable[N / 2] = 2;
}
static void few_read_bad(void) /* the page has the end of the other one, too */
{
    fill ON(s)(variable, 1);
    fill_few<<<1, 64, 0, s>>>(few);
    sum = few[7];
}
static void other_variable(void)
{
    fill_few<<<1, 64, 0, s>>>(few);
    sum = variable[N - 1];
}
static void both_read(void)
{
    add ON(s)(b, managed);
    sum = managed[7];
}
static void host_waits_for_other_stream_bad(void)
{
    fill ON(free1)(managed, 1);
    cudaStreamSynchronize(s);
    sum = managed[N - 1];
}
static void host_waits_for_default_stream(void)
{
    fill ON(s)(managed, 1);
    cudaStreamSynchronize(0);
    sum = managed[N - 1];
}
static void pinned_read_bad(void)
{
    cudaMemcpyAsync(pinned, a, N * sizeof(int), cudaMemcpyDeviceToHost, s);
    sum = pinned[0];
}
static void pinned_read(void)
{
    cudaMemcpyAsync(pinned, a, N * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaEventRecord(event, s);
    cudaEventSynchronize(event);
    sum = pinned[0];
}
static void pinned_written_bad(void)
{
    cudaMemcpyAsync(a, pinned, N * sizeof(int), cudaMemcpyHostToDevice, s);
    memset(pinned, 0, N * sizeof(int));
}
static void pinned_fill_waits(void)
{
    cudaMemset(pinned, 0, N * sizeof(int));
    cudaMemset(managed, 0, N * sizeof(int));
    sum = pinned[0] + managed[0];
}
static void registered_bad(void)
{
    static char room[4 * 4096];
    char *page = (char *)(((size_t)room + 4095) & ~(size_t)4095);
    cudaHostRegister(page, 2 * 4096, cudaHostRegisterDefault);
    cudaMemcpyAsync(page, a, 2 * 4096, cudaMemcpyDeviceToHost, s);
    sum = page[4096];
    cudaStreamSynchronize(s);
    cudaHostUnregister(page);
}
static void pageable(void)
{
    static int out[N];
    cudaMemcpyAsync(out, a, sizeof(out), cudaMemcpyDeviceToHost, s);
    sum = out[5];
    cudaMemcpyAsync(a, out, sizeof(out), cudaMemcpyHostToDevice, s);
    out[5] = 1;
}
static void host_is_told(void)
{
    memset(flags, 0, GRID * sizeof(int));
    tell ON(s)(managed, flags);
    for (int i = 0; i < GRID; i++)
        while (!((volatile int *)flags)[i])
            ;
    sum = managed[7];
}
static sigjmp_buf back;
static void on_fault(int)
{
    siglongjmp(back, 1);
}
static int fault_of_its_own(void)
{
    static int *volatile nowhere = (int *)16;
    if (sigsetjmp(back, 1))
        return 1;
    *nowhere = 1;
    return 0;
}
static void own_faults_bad(void)
{
    int caught;
    signal(SIGSEGV, on_fault);
    fill ON(s)(managed, 1);
    caught = fault_of_its_own();
    sum = managed[7];
    caught += fault_of_its_own();
    printf("caught %d\n", caught);
}
/* With --racecheck-host-wait 1: the call cannot wait for it. */
static void kernel_waits_for_host(void)
{
    flags[0] = 0;
    wait_for<<<1, 1, 0, s>>>(flags, b);
    ((volatile int *)flags)[0] = 1;
}

#define CASES(X)                                                                                   \
    X(two_bad) X(write_after_read_bad) X(readers) X(other_memory) X(counters) X(flag) X(awaited)   \
    X(awaited_too_early_bad) X(by_third_stream) X(host_waits) X(host_waits_for_event)              \
    X(host_waits_for_other_bad) X(asked) X(by_default_stream) X(into_default_stream)               \
    X(default_and_free_bad) X(thread_and_free_bad) X(thread_and_default) X(thread_is_awaited)      \
    X(kernel_and_copy_bad) X(copy_and_kernel_bad) X(copy_beside) X(fill_and_kernel_bad)            \
    X(copy_and_fill_bad) X(halves) X(columns) X(columns_bad) X(copy_waits)                         \
    X(copy_of_device_does_not_bad) X(allocation_does_not_bad) X(free_does) X(memory_of_streams)    \
    X(function) X(graph) X(graph_branches_bad) X(graph_and_stream_bad) X(graph_in_two_streams)     \
    X(variable_read_bad) X(variable_written_bad) X(variable_read) X(few_read_bad)                  \
    X(other_variable) X(host_reads_bad) X(host_reads) X(host_writes_bad) X(both_read)                                \
    X(host_waits_for_other_stream_bad) X(host_waits_for_default_stream) X(pinned_read_bad)         \
    X(pinned_read) X(pinned_written_bad) X(pinned_fill_waits) X(registered_bad) X(pageable)        \
    X(host_is_told) X(own_faults_bad) X(kernel_waits_for_host)

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define X(name) {#name, name},
    CASES(X)
#undef X
};

int main(int argc, char **argv)
{
    cudaMalloc(&a, N * sizeof(int));
    cudaMalloc(&b, N * sizeof(int));
    cudaMalloc(&c, N * sizeof(int));
    cudaMallocManaged(&managed, N * sizeof(int));
    cudaMallocHost(&pinned, N * sizeof(int));
    cudaMallocHost(&flags, GRID * sizeof(int));
    memset(pinned, 0, N * sizeof(int));
    memset(managed, 0, N * sizeof(int));
    cudaMemset(a, 0, N * sizeof(int));
    cudaMemset(b, 0, N * sizeof(int));
    cudaMemset(c, 0, N * sizeof(int));
    cudaStreamCreate(&s);
    cudaStreamCreate(&t);
    cudaStreamCreateWithFlags(&free1, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&free2, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaDeviceSynchronize();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc < 2)
            puts(cases[i].name);
        else if (!strcmp(argv[1], cases[i].name))
            cases[i].run();
    }
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess)
        puts(cudaGetErrorString(error));
    return error != cudaSuccess;
}
