/* Kernels that wait: for the host, for a CTA of another index, inside functions that are not inlined. */
#include <cstdio>
#include <ctime>
#include <unistd.h>

__device__ volatile int flag, reached;

static __device__ __noinline__ int wait_for(volatile int *p, int want)
{
    int turns = 0;

    while (*p != want)
        turns++;
    return turns;
}

typedef int waiter(volatile int *, int);
static __device__ __noinline__ int wait_less(volatile int *p, int want)
{
    int turns = 0;

    while (*p < want)
        turns += 2;
    return turns;
}
__device__ waiter *const waiters[2] = {wait_for, wait_less};

/* Every CTA waits for the one after it. */
__global__ void chain(volatile int *done, int n)
{
    if (threadIdx.x == 0 && blockIdx.x + 1 < n)
        while (!done[blockIdx.x + 1])
            ;
    __syncthreads();
    if (threadIdx.x == 0)
        done[blockIdx.x] = 1;
}

__global__ void chain_called(volatile int *done, int n, int *sink)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < n)
            sink[blockIdx.x] = wait_for(&done[blockIdx.x + 1], 1);
        done[blockIdx.x] = 1;
    }
}

/* All lanes poll one word, and end. */
__global__ void wait_host(volatile int *word)
{
    while (*word == 0)
        ;
}

__global__ void wait_host_called(volatile int *word, int *sink)
{
    sink[threadIdx.x] = wait_for(word, 2);
}

/* Polls by an atomic that changes nothing. */
__global__ void wait_atomic(int *word)
{
    while (atomicAdd(word, 0) != 3)
        ;
}

/* Lanes of one warp hand a word on. */
__global__ void hand_on(volatile int *word)
{
    bool done = false;
    while (!done) {
        if (*word == (int)threadIdx.x) {
            *word = threadIdx.x + 1;
            done = true;
        }
    }
}

__global__ void hand_on_called(volatile int *word, int *sink)
{
    sink[threadIdx.x] = wait_for(word, threadIdx.x);
    *word = threadIdx.x + 1;
}

/* The same through a pointer: nothing is inlined then. */
__global__ void chain_pointer(volatile int *done, int n, int which, int *sink)
{
    if (threadIdx.x < 2) {
        if (blockIdx.x + 1 < n)
            sink[blockIdx.x] = waiters[(which + threadIdx.x) & 1](&done[blockIdx.x + 1], 1);
        __syncwarp(3);
        done[blockIdx.x] = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        sink[n + blockIdx.x] = 1;
}

static bool step(const char *name, bool fine)
{
    cudaError_t e = cudaGetLastError();
    printf("%s %s%s%s\n", fine && e == cudaSuccess ? "ok" : "FAIL", name, e ? ": " : "",
           e ? cudaGetErrorString(e) : "");
    return fine && e == cudaSuccess;
}

int main()
{
    const int n = 8;
    int *done, *sink, *word, *dev_word, h[64];
    bool fine = true;

    cudaMalloc(&done, n * sizeof(int));
    cudaMalloc(&sink, 64 * sizeof(int));
    cudaHostAlloc(&word, sizeof(int), cudaHostAllocMapped);
    cudaHostGetDevicePointer((void **)&dev_word, word, 0);

    cudaMemset(done, 0, n * sizeof(int));
    chain<<<n, 64>>>(done, n);
    fine &= step("chain", cudaDeviceSynchronize() == cudaSuccess);

    cudaMemset(done, 0, n * sizeof(int));
    chain_called<<<n, 32>>>(done, n, sink);
    fine &= step("chain in a function", cudaDeviceSynchronize() == cudaSuccess);

    *(volatile int *)word = 0;
    wait_host<<<2, 64>>>(dev_word);
    usleep(2000);
    *(volatile int *)word = 1;
    fine &= step("wait for the host", cudaDeviceSynchronize() == cudaSuccess);

    wait_host_called<<<1, 32>>>(dev_word, sink);
    usleep(2000);
    *(volatile int *)word = 2;
    fine &= step("wait for the host in a function", cudaDeviceSynchronize() == cudaSuccess);

    wait_atomic<<<1, 64>>>(dev_word);
    usleep(2000);
    *(volatile int *)word = 3;
    fine &= step("poll by an atomic", cudaDeviceSynchronize() == cudaSuccess);

    cudaMemset(done, 0, sizeof(int));
    hand_on<<<1, 64>>>(done);
    cudaMemcpy(h, done, sizeof(int), cudaMemcpyDeviceToHost);
    fine &= step("lanes hand on", h[0] == 64);

    cudaMemset(done, 0, sizeof(int));
    hand_on_called<<<1, 32>>>(done, sink);
    cudaMemcpy(h, done, sizeof(int), cudaMemcpyDeviceToHost);
    fine &= step("lanes hand on after a function", h[0] == 32);

    cudaMemset(done, 0, n * sizeof(int));
    cudaMemset(sink, 0, 64 * sizeof(int));
    chain_pointer<<<n, 64>>>(done, n, 1, sink);
    cudaMemcpy(h, sink, 64 * sizeof(int), cudaMemcpyDeviceToHost);
    int passed = 0;
    for (int i = 0; i < n; i++)
        passed += h[n + i];
    fine &= step("chain through a pointer", passed == n);

    printf("%s\n", fine ? "PASS" : "FAIL");
    return !fine;
}
