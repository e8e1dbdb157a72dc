/* Inclusive prefix sum in three steps: scan each block with shuffles, scan the block sums, add
 * them. */
#include "example.h"

#define BLOCK     512
#define FULL_MASK 0xffffffffu

__device__ int scan_warp(int v)
{
    int lane = threadIdx.x % 32;

    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(FULL_MASK, v, d);

        if (lane >= d)
            v += left;
    }
    return v;
}

/* Every thread of the block passes its value and gets the sum up to and including it. */
__device__ int scan_block(int v)
{
    __shared__ int warp_sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    v = scan_warp(v);
    if (lane == 31)
        warp_sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < BLOCK / 32 ? warp_sums[lane] : 0;

        warp_sums[lane] = scan_warp(sum);
    }
    __syncthreads();
    return warp ? v + warp_sums[warp - 1] : v;
}

__global__ void scan_blocks(const int *in, int *out, int *block_sums, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int v = scan_block(i < n ? in[i] : 0);

    if (i < n)
        out[i] = v;
    if (threadIdx.x == BLOCK - 1)
        block_sums[blockIdx.x] = v;
}

__global__ void scan_sums(int *block_sums, int n)
{
    int i = threadIdx.x;
    int v = scan_block(i < n ? block_sums[i] : 0);

    if (i < n)
        block_sums[i] = v;
}

__global__ void add_sums(int *out, const int *block_sums, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;

    if (blockIdx.x > 0 && i < n)
        out[i] += block_sums[blockIdx.x - 1];
}

int main()
{
    const int n = 200001, blocks = (n + BLOCK - 1) / BLOCK; /* at most BLOCK blocks */
    int *in = (int *)malloc(n * sizeof(int)), *out = (int *)malloc(n * sizeof(int));
    int *dev_in, *dev_out, *dev_sums, sum = 0, wrong = 0;

    for (int i = 0; i < n; i++)
        in[i] = i * 7919 % 201 - 100;
    CHECK(cudaMalloc(&dev_in, n * sizeof(int)));
    CHECK(cudaMalloc(&dev_out, n * sizeof(int)));
    CHECK(cudaMalloc(&dev_sums, blocks * sizeof(int)));
    CHECK(cudaMemcpy(dev_in, in, n * sizeof(int), cudaMemcpyHostToDevice));
    scan_blocks<<<blocks, BLOCK>>>(dev_in, dev_out, dev_sums, n);
    scan_sums<<<1, BLOCK>>>(dev_sums, blocks);
    add_sums<<<blocks, BLOCK>>>(dev_out, dev_sums, n);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(out, dev_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        sum += in[i];
        wrong += out[i] != sum;
    }
    CHECK(cudaFree(dev_in));
    CHECK(cudaFree(dev_out));
    CHECK(cudaFree(dev_sums));
    free(in);
    free(out);
    return verdict(wrong == 0, "scan: %d numbers, total %d, %d wrong", n, sum, wrong);
}
