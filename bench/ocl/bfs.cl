/* Breadth-first search, one level: a thread per node of the frontier; the nodes it is first to
 * reach go into the next frontier. */
__kernel void bfs_level(__global const int *restrict first, __global const int *restrict to,
                        __global int *dist, __global const int *restrict frontier, int nodes,
                        __global int *next, __global int *next_nodes, int level)
{
    int i = get_global_id(0);

    if (i >= nodes)
        return;
    int u = frontier[i];
    for (int q = first[u]; q < first[u + 1]; q++) {
        int v = to[q];

        if (dist[v] < 0 && atomic_cmpxchg(&dist[v], -1, level) == -1)
            next[atomic_inc(next_nodes)] = v;
    }
}
