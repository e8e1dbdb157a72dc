/* Lanes pass on what only lane 0 has set, and not always: the branch that sets it stays one. */
#include <cooperative_groups.h>
#include <cstdio>

__device__ __noinline__ static unsigned given(unsigned value)
{
    return __shfl_sync(0xffffffff, value, 0);
}
__device__ static unsigned inlined(const unsigned &value, int lane)
{
    return __shfl_sync(0xffffffff, value, lane);
}
template <int How> __global__ void split(unsigned *counts, unsigned *out, unsigned pivot)
{
    auto warp = cooperative_groups::coalesced_threads();
    bool is_below = threadIdx.x < pivot;
    unsigned lane = threadIdx.x & 31, below = __popc(warp.ballot(is_below)), lt, gt;

    if (lane == 0) {
        if (below > 0)
            lt = atomicAdd(&counts[0], below);
        if (below < 32)
            gt = 128 - (atomicAdd(&counts[1], 32 - below) + 32 - below);
    }
    if (How == 0) {
        lt = warp.shfl((int)lt, 0);
        gt = warp.shfl((int)gt, 0);
    } else if (How == 1) {
        lt = given(lt);
        gt = given(gt);
    } else {
        lt = inlined(lt, 0);
        gt = inlined(gt, 0);
    }
    unsigned same = warp.ballot(is_below);
    unsigned place = (is_below ? lt : gt) + __popc((is_below ? same : ~same) & ((1u << lane) - 1));
    atomicAdd(&out[place], 1);
}
template <int How> static int wrong(unsigned *p)
{
    int count = 0;
    cudaMemset(p, 0, 4096);
    split<How><<<1, 128>>>(p, p + 2, 40);
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; i < 128; i++)
        count += p[2 + i] != 1;
    if (count || error != cudaSuccess || p[0] != 40 || p[1] != 88)
        printf("form %d: %s, %u below, %u above, %d places\n", How, cudaGetErrorString(error), p[0], p[1], count);
    return count != 0 || error != cudaSuccess || p[0] != 40 || p[1] != 88;
}

int main()
{
    unsigned *p;
    cudaMallocManaged(&p, 4096);
    int failed = wrong<0>(p) + wrong<1>(p) + wrong<2>(p);
    if (!failed)
        puts("all right");
    return failed;
}
