/* Sum of an array with warp shuffles: lanes exchange registers directly, shared memory only
 * joins the warps of a
 * block, and one atomic per block joins the blocks. */
#include "example.h"

#define FULL_MASK 0xffffffffu

/* After five steps lane 0 holds the sum of the warp. */
__device__ unsigned warp_sum(unsigned v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL_MASK, v, offset);
    return v;
}

__global__ void reduce(const unsigned *in, int n, unsigned *total)
{
    __shared__ unsigned partial[32]; /* one per warp; a block has at most 32 */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = 0;

    /* Grid-stride loop: any grid handles any n. */
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? partial[lane] : 0;
        sum = warp_sum(sum);
        if (lane == 0)
            atomicAdd(total, sum);
    }
}

int main()
{
    const int n = 1000003;
    unsigned *in = (unsigned *)malloc(n * sizeof(unsigned)), want = 0, got = 0;
    unsigned *dev_in, *dev_total;

    for (int i = 0; i < n; i++) {
        in[i] = (unsigned)i * 2654435761u >> 20;
        want += in[i];
    }
    CHECK(cudaMalloc(&dev_in, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&dev_total, sizeof(unsigned)));
    CHECK(cudaMemcpy(dev_in, in, n * sizeof(unsigned), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dev_total, 0, sizeof(unsigned)));

    reduce<<<64, 256>>>(dev_in, n, dev_total);
    CHECK_KERNEL();

    CHECK(cudaMemcpy(&got, dev_total, sizeof(got), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_in));
    CHECK(cudaFree(dev_total));
    free(in);
    return verdict(got == want, "reduction: sum of %d numbers %u, expected %u", n, got, want);
}
