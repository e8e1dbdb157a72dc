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

/*
 * Lanes wait, each for others and in as many turns as it likes, for the CTA after theirs, and meet
 * before they let the one before go on.
 */
__global__ void lanes_wait(volatile int *flags, int *out)
{
    int t = threadIdx.x, n = blockDim.x, value = t * 7 + blockIdx.x;

    for (int k = t % 5; k >= 0; k--) {
        if (blockIdx.x + 1 < gridDim.x)
            while (!flags[(blockIdx.x + 1) * n + (t * 5 + k) % n])
                ;
        value = value * 3 + k;
    }
    unsigned odd = __ballot_sync(~0u, value & 1);
    out[blockIdx.x * n + t] = value ^ odd;
    __threadfence();
    flags[blockIdx.x * n + t] = 1;
}

static bool lanes_wait_right(const int *out, int blocks, int n)
{
    for (int i = 0; i < blocks * n; i += 32) {
        int first = i / n * n, value[32];
        unsigned odd = 0;
        for (int l = 0; l < 32; l++) {
            int t = i - first + l;
            value[l] = t * 7 + i / n;
            for (int k = t % 5; k >= 0; k--)
                value[l] = value[l] * 3 + k;
            odd |= (value[l] & 1u) << l;
        }
        for (int l = 0; l < 32; l++)
            if (out[i + l] != (int)(value[l] ^ odd))
                return false;
    }
    return true;
}

/* A lane does what the others wait for, and they may come first: on its own way, to its end. */
__global__ void other_way(volatile int *flag, int *out)
{
    if (threadIdx.x & 1)
        while (!*flag)
            ;
    else
        *flag = 1;
    __syncwarp();
    out[threadIdx.x] = *flag;
}

__global__ void own_end(volatile int *flag, int *out)
{
    if (threadIdx.x == 31) {
        out[31] = 1;
        __threadfence();
        *flag = 1;
        return;
    }
    while (!*flag)
        ;
    __syncthreads();
    out[threadIdx.x] = 1;
}

/* The same, of those that look together. */
__global__ void own_end_together(volatile int *flag, int *out)
{
    if (threadIdx.x == 31) {
        out[31] = 1;
        __threadfence();
        *flag = 1;
        return;
    }
    while (!__any_sync(0x7fffffff, *flag))
        ;
    out[threadIdx.x] = 1;
}

/* All lanes of a warp look together, for the CTA after theirs. */
__global__ void look_together(volatile int *flags, int *out)
{
    int t = threadIdx.x, n = blockDim.x, turns = 0, seen = 1;

    if (blockIdx.x + 1 < gridDim.x)
        do {
            seen = flags[(blockIdx.x + 1) * n + t];
            turns++;
        } while (!__all_sync(~0u, seen));
    out[blockIdx.x * n + t] = seen + (turns > 0);
    __threadfence();
    flags[blockIdx.x * n + t] = 1;
}

/* Those that have left do it before they meet the others. */
__global__ void runs_ahead(volatile int *flags, int *out)
{
    while (threadIdx.x && !flags[threadIdx.x - 1])
        ;
    flags[threadIdx.x] = 1;
    __syncwarp();
    out[threadIdx.x] = flags[31 - threadIdx.x];
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

    const int blocks = 6, threads = 96;
    int *flags, *out, results[blocks * threads];
    cudaMalloc(&flags, sizeof(results));
    cudaMalloc(&out, sizeof(results));
    cudaMemset(flags, 0, sizeof(results));
    lanes_wait<<<blocks, threads>>>(flags, out);
    cudaMemcpy(results, out, sizeof(results), cudaMemcpyDeviceToHost);
    fine &= step("lanes wait, each its own turns", lanes_wait_right(results, blocks, threads));

    cudaMemset(flags, 0, sizeof(results));
    look_together<<<blocks, threads>>>(flags, out);
    cudaMemcpy(results, out, sizeof(results), cudaMemcpyDeviceToHost);
    int seen = 0;
    for (int i = 0; i < blocks * threads; i++)
        seen += results[i];
    fine &= step("lanes look together", seen == (2 * blocks - 1) * threads);

    void (*const alone[])(volatile int *, int *) = {other_way, own_end, own_end_together, runs_ahead};
    const char *const names[] = {"for the other way", "for one that ends", "together for one that ends",
                                 "for one that runs ahead"};
    for (int i = 0; i < 4; i++) {
        cudaMemset(flags, 0, 32 * sizeof(int));
        cudaMemset(out, 0, 32 * sizeof(int));
        alone[i]<<<1, 32>>>(flags, out);
        cudaMemcpy(results, out, 32 * sizeof(int), cudaMemcpyDeviceToHost);
        int set = 0;
        for (int l = 0; l < 32; l++)
            set += results[l];
        fine &= step(names[i], set == 32);
    }

    printf("%s\n", fine ? "PASS" : "FAIL");
    return !fine;
}
