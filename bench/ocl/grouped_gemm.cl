/* Matrix products of several sizes in one launch: the tiles of all groups are numbered, and each
 * work-group takes one. */
#include "tile64.h"

struct gg_problem {
    int m, n, k, first_tile, a, b, c;
};

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
grouped_gemm(__global const struct gg_problem *restrict problems, __global const float *restrict a,
             __global const float *restrict b, __global float *restrict c)
{
    __local struct tile_stage stage;
    int t = get_local_id(0), ar = t / 4, ak = t % 4 * 4, br = t / 16, bc = t % 16 * 4;
    int tile = get_group_id(0), group = 0;
    float acc[4][4] = {{0}};

    while (tile >= problems[group + 1].first_tile)
        group++;
    struct gg_problem p = problems[group];
    int top = (tile - p.first_tile) / (p.n / TILE) * TILE;
    int left = (tile - p.first_tile) % (p.n / TILE) * TILE;

    for (int k0 = 0; k0 < p.k; k0 += DEPTH) {
        float4 v = (float4)(0);

        if (top + ar < p.m)
            v = vload4(0, &a[p.a + (top + ar) * p.k + k0 + ak]);
        stage_put_a(&stage, ar, ak, v);
        vstore4(vload4(0, &b[p.b + (k0 + br) * p.n + left + bc]), 0, &stage.b[br][bc]);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage_multiply(&stage, acc);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    tile_store(&c[p.c + top * p.n + left], p.n, p.m - top, acc);
}
