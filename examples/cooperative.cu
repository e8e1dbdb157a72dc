/* Cooperative groups: the same reduction over a thread block tile of any width, and a block-wide
 * result. */
#include "example.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <class Group> __device__ int sum_over(const Group &g, int v)
{
    for (unsigned d = g.size() / 2; d > 0; d /= 2)
        v += g.shfl_down(v, d);
    return v; /* complete in rank 0 */
}

template <int WIDTH> __global__ void tile_sums(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<WIDTH> tile = cg::tiled_partition<WIDTH>(block);
    int i = blockIdx.x * block.size() + block.thread_rank();
    int sum = sum_over(tile, in[i]);

    if (tile.thread_rank() == 0)
        out[i / WIDTH] = sum;
}

__global__ void block_sums(const int *in, int *out)
{
    __shared__ int total;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);

    if (block.thread_rank() == 0)
        total = 0;
    block.sync();

    int sum = sum_over(warp, in[blockIdx.x * block.size() + block.thread_rank()]);

    if (warp.thread_rank() == 0)
        atomicAdd(&total, sum);
    block.sync();
    if (block.thread_rank() == 0)
        out[blockIdx.x] = total;
}

/* out[k] must be the sum of in[k * width .. (k + 1) * width). */
static int wrong_sums(const int *in, const int *dev_out, int n, int width)
{
    static int out[1 << 14];
    int wrong = 0;

    CHECK_KERNEL();
    CHECK(cudaMemcpy(out, dev_out, n / width * sizeof(int), cudaMemcpyDeviceToHost));
    for (int k = 0; k < n / width; k++) {
        int want = 0;

        for (int i = 0; i < width; i++)
            want += in[k * width + i];
        wrong += out[k] != want;
    }
    return wrong;
}

int main()
{
    const int n = 1 << 14, block = 128;
    static int in[1 << 14];
    int *dev_in, *dev_out, wrong = 0;

    for (int i = 0; i < n; i++)
        in[i] = i * 31 % 1009;
    CHECK(cudaMalloc(&dev_in, sizeof(in)));
    CHECK(cudaMalloc(&dev_out, sizeof(in)));
    CHECK(cudaMemcpy(dev_in, in, sizeof(in), cudaMemcpyHostToDevice));
    tile_sums<4><<<n / block, block>>>(dev_in, dev_out);
    wrong += wrong_sums(in, dev_out, n, 4);
    tile_sums<16><<<n / block, block>>>(dev_in, dev_out);
    wrong += wrong_sums(in, dev_out, n, 16);
    tile_sums<32><<<n / block, block>>>(dev_in, dev_out);
    wrong += wrong_sums(in, dev_out, n, 32);
    block_sums<<<n / block, block>>>(dev_in, dev_out);
    wrong += wrong_sums(in, dev_out, n, block);
    CHECK(cudaFree(dev_in));
    CHECK(cudaFree(dev_out));
    return verdict(wrong == 0, "cooperative: tiles of 4, 16, 32 and blocks of %d, %d wrong", block,
                   wrong);
}
