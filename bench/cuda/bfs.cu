/* Breadth-first search, level by level: a thread per node of the frontier; the nodes it is first to
 * reach go into the next frontier, one atomic per warp for their places. */
#include "cu.h"

/* Places for the lanes that want one. Divergent lanes make groups of their own. */
static __device__ int place_take(int *count)
{
    unsigned here = __activemask(), lane = threadIdx.x % 32;
    int base = 0, leader = __ffs(here) - 1;

    if (lane == leader)
        base = atomicAdd(count, __popc(here));
    return __shfl_sync(here, base, leader) + __popc(here & ((1u << lane) - 1));
}

__global__ void bfs_level(const int *__restrict__ first, const int *__restrict__ to, int *dist,
                          const int *__restrict__ frontier, int nodes, int *next, int *next_nodes,
                          int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= nodes)
        return;
    int u = frontier[i];
    for (int q = first[u]; q < first[u + 1]; q++) {
        int v = to[q];

        if (dist[v] < 0 && atomicCAS(&dist[v], -1, level) == -1)
            next[place_take(next_nodes)] = v;
    }
}

/* dist is -1 everywhere; count: the nodes of the next frontier. */
static void bfs(const int *first, const int *to, int *dist, int *const frontier[2], int *count)
{
    int zero = 0, nodes = 1;

    h2d(dist, &zero, 1);
    h2d(frontier[0], &zero, 1);
    for (int level = 1, from = 0; nodes > 0; level++, from ^= 1) {
        CK(cudaMemsetAsync(count, 0, sizeof(int)));
        bfs_level<<<cdiv(nodes, 256), 256>>>(first, to, dist, frontier[from], nodes,
                                             frontier[from ^ 1], count, level);
        d2h(&nodes, count, 1);
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, BFS_N);
    graph g = bfs_make(args.size[0]);
    long n = g.nodes;
    int *first = dput(g.first, n + 1), *to = dput(g.to, g.edges), *dist = dalloc<int>(n);
    int *frontier[2] = {dalloc<int>(n), dalloc<int>(n)}, *count = dalloc<int>(1);
    int *h = halloc<int>(n);

    auto run = [&] {
        CK(cudaMemsetAsync(dist, -1, n * sizeof(int)));
        bfs(first, to, dist, frontier, count);
        dsync();
    };
    auto check = [&] {
        d2h(h, dist, n);
        return chk_bfs(g, h);
    };
    bench_result(h, n);
    return bench_end(bench_run("bfs", args, 8.0 * g.edges, bench_no_reset, run, check));
}
