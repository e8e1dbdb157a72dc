/* Loops around atomicCAS: sums and maxima by swaps, locks taken many times, an insertion into lists. */
#include <cstdio>
#include <cstdlib>

__device__ double add(double *at, double v)
{
    unsigned long long *p = (unsigned long long *)at, old = *p, seen;

    do {
        seen = old;
        old = atomicCAS(p, seen, __double_as_longlong(v + __longlong_as_double(seen)));
    } while (old != seen);
    return __longlong_as_double(old);
}

__device__ void maximum(float *at, float v)
{
    int *p = (int *)at, old = *p;

    while (v > __int_as_float(old)) {
        int seen = old;
        old = atomicCAS(p, seen, __float_as_int(v));
        if (old == seen)
            break;
    }
}

__global__ void sums(double *sum, float *top, int n)
{
    __shared__ double part[8];

    if (threadIdx.x < 8)
        part[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        add(&part[i & 7], i % 100);
        maximum(top, (float)(i * 37 % 1000));
    }
    __syncthreads();
    if (threadIdx.x < 8)
        add(sum + threadIdx.x, part[threadIdx.x]);
}

__device__ int lock, counter, heads[16];

__global__ void locked(int turns)
{
    for (int i = 0; i < turns; i++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&lock, 0, 1) == 0) {
                __threadfence();
                counter = *(volatile int *)&counter + 1;
                __threadfence();
                atomicExch(&lock, 0);
                done = true;
            }
        }
    }
}

__device__ volatile int serving;
__device__ int ticket, served;

__global__ void tickets()
{
    int mine = atomicAdd(&ticket, 1);
    bool done = false;
    while (!done) {
        if (serving == mine) {
            served = *(volatile int *)&served + 1;
            __threadfence();
            serving = mine + 1;
            done = true;
        }
    }
}

__global__ void lists(int *next, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        next[i] = atomicExch(&heads[i & 15], i + 1);
}

int main()
{
    const int n = 20000;
    double *sum, h[8];
    float *top, ht;
    int *next, *hn = (int *)malloc(n * sizeof(int)), hh[16], count = 0, got = 0, bad = 0;

    cudaMalloc(&sum, sizeof(h));
    cudaMalloc(&top, 4);
    cudaMalloc(&next, n * sizeof(int));
    cudaMemset(sum, 0, sizeof(h));
    cudaMemset(top, 0, 4);
    sums<<<8, 128>>>(sum, top, n);
    locked<<<4, 64>>>(20);
    tickets<<<3, 40>>>();
    lists<<<5, 96>>>(next, n);
    cudaMemcpy(h, sum, sizeof(h), cudaMemcpyDeviceToHost);
    cudaMemcpy(&ht, top, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hn, next, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int s = 0; s < 8; s++) {
        double want = 0;
        for (int i = s; i < n; i += 8)
            want += i % 100;
        bad += h[s] != want;
    }
    bad += ht != 999;
    cudaMemcpyFromSymbol(&got, counter, sizeof(int));
    bad += got != 4 * 64 * 20;
    cudaMemcpyFromSymbol(&got, served, sizeof(int));
    bad += got != 120;
    cudaMemcpyFromSymbol(hh, heads, sizeof(hh));
    for (int l = 0; l < 16; l++)
        for (int i = hh[l]; i && count <= n; i = hn[i - 1])
            count++;
    bad += count != n;
    printf("%s %s\n", bad ? "FAIL" : "PASS", cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
