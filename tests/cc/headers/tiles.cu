/*
 * Cooperative groups: tiles of more than a warp, side by side and one inside of the other.
 * targets: 75 90
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdio.h>

namespace cg = cooperative_groups;

struct two {
    int v[2];
};

/* Tiles at their own pace: tile t goes through t + 1 rounds. */
template <unsigned int N> static __device__ unsigned int rounds(const cg::thread_block &block, int *shared)
{
    auto tile = cg::tiled_partition<N>(block);
    unsigned int r = 1, rank = tile.thread_rank(), first = tile.meta_group_rank() * N;
    for (unsigned int i = 0; i <= tile.meta_group_rank(); i++) {
        shared[first + rank] = (int)(rank * 3 + i);
        tile.sync();
        r &= shared[first + (rank + 1 + 37 * i) % N] == (int)((rank + 1 + 37 * i) % N * 3 + i);
        tile.sync();
    }
    r &= tile.size() == N && tile.num_threads() == N && rank == block.thread_rank() % N;
    r &= tile.meta_group_size() == block.size() / N;
    r &= (unsigned int)tile.shfl((int)block.thread_rank(), 40) == first + 40;
    two w = {{(int)block.thread_rank(), 7}};
    w = tile.shfl(w, N - 1);
    r &= w.v[0] == (int)(first + N - 1) && w.v[1] == 7;
    r &= tile.any(rank == N - 1) && !tile.any(false) && tile.all(true) && !tile.all(rank != 33);
    r &= cg::reduce(tile, (int)rank, cg::plus<int>()) == (int)(N * (N - 1) / 2);
    r &= cg::reduce(tile, (long long)block.thread_rank(), cg::greater<long long>()) == first + N - 1;
    auto warp = cg::tiled_partition<32>(tile);
    r &= cg::reduce(warp, 1, cg::plus<int>()) == 32;
    cg::thread_block_tile<N> plain = tile;
    plain.sync();
    return r;
}
static __global__ void kernel(unsigned int *right)
{
    __shared__ cg::block_tile_memory<1024> memory;
    __shared__ int shared[1024];
    cg::thread_block block = cg::this_thread_block(memory);
    unsigned int r = rounds<64>(block, shared);
    block.sync();
    r &= rounds<128>(block, shared);
    block.sync();
    r &= rounds<256>(block, shared);
    block.sync();
    r &= rounds<512>(block, shared);
    block.sync();
    auto outer = cg::tiled_partition<256>(block);
    auto inner = cg::tiled_partition<64>(outer);
    inner.sync();
    outer.sync();
    atomicAdd(right, r);
}

int main()
{
    unsigned int *right;
    cudaMallocManaged(&right, sizeof(*right));
    *right = 0;
    kernel<<<3, 512>>>(right);
    bool worked = cudaDeviceSynchronize() == cudaSuccess && *right == 3 * 512;
    if (!worked)
        printf("%u threads are right\n", *right);
    printf(worked ? "all right\n" : "wrong\n");
    return !worked;
}
