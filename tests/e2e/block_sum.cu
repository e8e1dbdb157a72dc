/*
 * What a block-wide reduction returns is read from shared memory after its last barrier, and the
 * next one writes there without another: a race by the rules, which GPUs win by timing.
 */
#include <cstdio>

__device__ int warp_sum(int v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ int block_sum(int v)
{
    __shared__ int part[32];

    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            part[0] = v;
    }
    __syncthreads();
    return part[0];
}

__global__ void two_sums(int *out)
{
    int a = block_sum(1);
    int b = block_sum(a);

    out[threadIdx.x] = a * 10000 + b;
}

/* Several elements at once, in a loop, and lanes that have left before. */
__global__ void means(double *out, int rounds, int n)
{
    __shared__ double2 pair;
    double sum = 0;

    if (threadIdx.x >= n)
        return;
    if (threadIdx.x == 0)
        pair = make_double2(1, 2);
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        double2 now = pair;
        sum += now.x * now.y;
        if (threadIdx.x == 0)
            pair = make_double2(now.x + 1, now.y + 2);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

int main()
{
    int *ints, bad = 0;
    double *doubles, want = 0;

    cudaMallocManaged(&ints, 256 * sizeof(int));
    cudaMallocManaged(&doubles, 256 * sizeof(double));
    two_sums<<<1, 256>>>(ints);
    means<<<1, 256>>>(doubles, 5, 200);
    cudaDeviceSynchronize();
    for (int i = 1; i <= 5; i++)
        want += i * 2.0 * i;
    for (int t = 0; t < 256; t++)
        bad += ints[t] != 256 * 10000 + 256 * 256;
    for (int t = 0; t < 200; t++)
        bad += doubles[t] != want;
    printf("%s %d wrong, %d %g %s\n", bad ? "FAIL" : "PASS", bad, ints[255], doubles[199],
           cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
