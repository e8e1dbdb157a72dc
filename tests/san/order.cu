/* Programs whose results depend on the order of blocks or warps, and their siblings whose do not: order CASE. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>
#include <thread>

#define THREADS 256

__device__ int variable;
__device__ int *heap_block;
__device__ unsigned ticket;

/* ---- blocks */

__global__ void last(int *out)
{
    if (threadIdx.x == 0)
        out[0] = blockIdx.x + 1;
}

__global__ void largest(int *out)
{
    atomicMax(out, (int)(blockIdx.x + 1));
}

__global__ void pair(int *out)
{
    if (threadIdx.x == 0 && blockIdx.x == 5)
        out[1] = 7;
    if (threadIdx.x == 0 && blockIdx.x == 11)
        out[0] = out[1] + 1;
}

__global__ void into_variable()
{
    variable = blockIdx.x + 1;
}

__global__ void from_variable(int *out)
{
    out[0] = variable;
}

__global__ void heap_make()
{
    heap_block = (int *)malloc(16);
}

__global__ void heap_last()
{
    heap_block[1] = blockIdx.x + 1;
}

__global__ void heap_read(int *out)
{
    out[0] = heap_block[1];
}

/* Only the second block finds what the first one wrote, or a null pointer. */
__global__ void pointer(int **where, int *out)
{
    if (blockIdx.x == 0)
        where[0] = out;
    else
        *where[0] = 9;
}

__global__ void takes_ticket(int *out)
{
    __shared__ unsigned mine;
    if (threadIdx.x == 0)
        mine = atomicAdd(&ticket, 1);
    __syncthreads();
    out[mine * THREADS + threadIdx.x] = mine + 1;
    if (threadIdx.x == 0 && mine == gridDim.x - 1)
        ticket = 0;
}

/* A list in the order of arrival. */
__global__ void appends(int *out)
{
    if (threadIdx.x == 0)
        out[1 + atomicAdd(out, 1)] = blockIdx.x * 5;
}

__global__ void lost_update(int *out)
{
    volatile int *p = out;
    if (threadIdx.x == 0)
        *p = *p + 1;
}

__global__ void says(int *out)
{
    if (threadIdx.x == 0)
        printf("block %d\n", blockIdx.x);
    out[blockIdx.x] = 1;
}

__global__ void clock_of(long long *out)
{
    out[blockIdx.x] = clock64();
}

/* Blocks of a cluster meet, so clusters change their order as a whole. */
__global__ void __cluster_dims__(2, 1, 1) last_of_clusters(int *out)
{
    if (threadIdx.x == 0 && blockIdx.x % 2 == 0)
        out[0] = blockIdx.x;
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0 && blockIdx.x % 2 == 1)
        out[0]++;
}

/* ---- warps */

template <bool HAS_BARRIER> __global__ void mirror(int *out)
{
    __shared__ int s[THREADS];
    s[threadIdx.x] = threadIdx.x + 1;
    if (HAS_BARRIER)
        __syncthreads();
    out[blockIdx.x * THREADS + threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

/* Only block 2 lacks the barrier. */
__global__ void mirror_but_one(int *out)
{
    __shared__ int s[THREADS];
    s[threadIdx.x] = threadIdx.x + 1;
    if (blockIdx.x != 2)
        __syncthreads();
    out[blockIdx.x * THREADS + threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

/* ---- floating point */

__global__ void fill(float *in)
{
    in[blockIdx.x * THREADS + threadIdx.x] = 1.0f / (blockIdx.x * THREADS + threadIdx.x + 1);
}

__global__ void float_sum(float *out, const float *in)
{
    atomicAdd(out, in[blockIdx.x * THREADS + threadIdx.x]);
}

/* ---- who waits */

__global__ void grid_barrier(int *out)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    out[1 + blockIdx.x] = blockIdx.x + 1;
    grid.sync();
    if (threadIdx.x == 0)
        atomicAdd(out, out[1 + (blockIdx.x + 1) % gridDim.x]);
}

__global__ void waits_for(volatile int *flag, int *out)
{
    while (!*flag)
        ;
    out[0] = 3;
}

__global__ void sets(volatile int *flag)
{
    *flag = 1;
}

static int *out;

static void run_heap()
{
    heap_make<<<1, 1>>>();
    heap_last<<<4, 1>>>();
    heap_read<<<1, 1>>>(out);
}

static void run_graph()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    last<<<4, 32, 0, stream>>>(out);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
}

static void run_host_memory(bool is_managed)
{
    int *p;

    if (is_managed)
        cudaMallocManaged(&p, 64);
    else
        cudaMallocHost(&p, 64);
    p[0] = 0;
    last<<<4, 32>>>(p);
    cudaDeviceSynchronize();
    cudaMemcpy(out, p, 4, cudaMemcpyDefault);
}

static void run_host_flag()
{
    int *flag;

    cudaMallocHost(&flag, 4);
    *flag = 0;
    waits_for<<<1, 64>>>(flag, out);
    *(volatile int *)flag = 1;
}

static void run_stream_flag()
{
    cudaStream_t streams[2];

    for (int i = 0; i < 2; i++)
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    waits_for<<<1, 64, 0, streams[0]>>>(out + 8, out);
    sets<<<2, 64, 0, streams[1]>>>(out + 8);
}

/* Each thread has its own stream and part of the memory. */
static void run_threads()
{
    std::thread threads[4];

    for (int i = 0; i < 4; i++)
        threads[i] = std::thread([i] {
            cudaStream_t stream;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            for (int round = 0; round < 5; round++) {
                cudaMemsetAsync(out + 16 * i, 0, 4, stream);
                largest<<<8, 32, 0, stream>>>(out + 16 * i);
            }
            cudaStreamSynchronize(stream);
        });
    for (int i = 0; i < 4; i++)
        threads[i].join();
}

static void run(const char *name)
{
    float *sum = (float *)(out + 64), *in = sum + 64;
    void *args[] = {&out};
    int **where = (int **)(out + 256);

#define CASE(word) if (!strcmp(name, word))
    CASE("last") last<<<4, 32>>>(out);
    CASE("largest") largest<<<4, 32>>>(out);
    CASE("pair") pair<<<64, 32>>>(out);
    CASE("variable") into_variable<<<4, 1>>>(), from_variable<<<1, 1>>>(out);
    CASE("heap") run_heap();
    CASE("pointer") pointer<<<2, 1>>>(where, out);
    CASE("ticket") takes_ticket<<<4, THREADS>>>(out);
    CASE("cluster") last_of_clusters<<<8, 32>>>(out);
    CASE("list") appends<<<9, 32>>>(out);
    CASE("lost") lost_update<<<16, 32>>>(out);
    CASE("print") says<<<3, 32>>>(out);
    CASE("clock") clock_of<<<3, 1>>>((long long *)(out + 16));
    CASE("mirror") mirror<true><<<4, THREADS>>>(out);
    CASE("no_barrier") mirror<false><<<4, THREADS>>>(out);
    CASE("one_without") mirror_but_one<<<4, THREADS>>>(out);
    CASE("sum") fill<<<16, THREADS>>>(in), float_sum<<<16, THREADS>>>(sum, in);
    CASE("grid") cudaLaunchCooperativeKernel((void *)grid_barrier, 8, 64, args, 0, 0);
    CASE("graph") run_graph();
    CASE("managed") run_host_memory(true);
    CASE("pinned") run_host_memory(false);
    CASE("host_flag") run_host_flag();
    CASE("stream_flag") run_stream_flag();
    CASE("threads") run_threads();
    CASE("single") last<<<1, 32>>>(out);
}

int main(int argc, char **argv)
{
    int first = 0;

    cudaMalloc(&out, 65536);
    cudaMemset(out, 0, 65536);
    run(argc > 1 ? argv[1] : "");
    cudaError_t error = cudaDeviceSynchronize();
    cudaMemcpy(&first, out, sizeof(first), cudaMemcpyDeviceToHost);
    printf("%s %d\n", cudaGetErrorName(error), first);
    return error != cudaSuccess;
}
