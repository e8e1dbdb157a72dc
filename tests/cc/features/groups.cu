/* Cooperative groups.
 * expect: %envreg1
 * expect: shfl\.sync
 * expect: match\.any
 * expect: barrier\.cluster
 * expect: bar(rier)?\.sync
 */
/* As CCCL declares them, before it is known whether there are groups. */
namespace cooperative_groups {
namespace __v1 {
class thread_block;
template <unsigned int Size, typename Parent> class thread_block_tile;
} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__device__ int any_group(cg::thread_group g, int v)
{
    g.sync();
    return v + (int)g.thread_rank() + (int)g.size();
}

__global__ void groups(int *p, double *d)
{
    auto block = cg::this_thread_block();
    auto grid = cg::this_grid();
    __shared__ int s[64];
    cg::memcpy_async(block, s, p, sizeof s);
    cg::wait(block);
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    auto eight = cg::tiled_partition<8>(tile);
    int v = cg::reduce(tile, s[block.thread_rank()], cg::plus<int>());
    v += cg::reduce(eight, v, cg::greater<int>());
    d[0] = cg::reduce(tile, d[1], cg::less<double>());
    if (threadIdx.x & 1) {
        auto active = cg::coalesced_threads();
        v += cg::reduce(active, v, cg::plus<int>()) + active.shfl(v, 1) + active.ballot(v > 3);
    }
    v += cg::inclusive_scan(tile, v) + cg::exclusive_scan(eight, v) + tile.match_any(v);
    v += cg::labeled_partition(tile, v & 3).size() + any_group(block, v) + any_group(tile, v);
    v += cg::binary_partition<16>(tile, v & 1).size() + cg::labeled_partition<int, 8>(eight, v & 1).size();
    v += cg::binary_partition(cg::coalesced_threads(), v > 1).size();
    if (grid.is_valid())
        grid.sync();
    cg::this_cluster().sync();
    p[grid.thread_rank()] = v;
}
