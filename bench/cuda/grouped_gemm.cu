/* Matrix products of several sizes in one launch, as experts need them: the tiles of all groups are
 * numbered, and each CTA takes every gridDim.x-th. */
#include "tile64.h"

static __device__ void tile_product(const float *__restrict__ a, const float *__restrict__ b,
                                    float *__restrict__ c, const gg_problem &p, int top, int left,
                                    tile_stage &s)
{
    int t = threadIdx.x, ar = t / 4, ak = t % 4 * 4, br = t / 16, bc = t % 16 * 4;
    float acc[4][4] = {};

    for (int k0 = 0; k0 < p.k; k0 += DEPTH) {
        float4 v = make_float4(0, 0, 0, 0);

        if (top + ar < p.m)
            v = *(const float4 *)&a[(top + ar) * p.k + k0 + ak];
        stage_put_a(s, ar, ak, v);
        *(float4 *)&s.b[br][bc] = *(const float4 *)&b[(k0 + br) * p.n + left + bc];
        __syncthreads();
        stage_multiply(s, acc);
        __syncthreads();
    }
    tile_store(&c[top * p.n + left], p.n, p.m - top, acc);
}

__global__ void __launch_bounds__(TILE_THREADS)
    grouped_gemm(const gg_problem *__restrict__ problems, int tiles, const float *__restrict__ a,
                 const float *__restrict__ b, float *__restrict__ c)
{
    __shared__ __align__(16) tile_stage stage;
    int group = 0;

    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        while (tile >= problems[group + 1].first_tile)
            group++;
        gg_problem p = problems[group];
        int local = tile - p.first_tile, columns = p.n / TILE;

        tile_product(a + p.a, b + p.b, c + p.c, p, local / columns * TILE, local % columns * TILE,
                     stage);
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, GG_GROUPS);
    gg_groups g = gg_make(args.size[0]);
    const gg_problem &end = g.p[g.count];
    float *c = halloc<float>(end.c);
    gg_problem *problems = dput(g.p, g.count + 1);
    float *da = dput(g.a, end.a), *db = dput(g.b, end.b), *dc = dalloc<float>(end.c);

    auto run = [&] {
        grouped_gemm<<<128, TILE_THREADS>>>(problems, end.first_tile, da, db, dc);
        dsync();
    };
    auto check = [&] {
        d2h(c, dc, end.c);
        return chk_grouped(g, c);
    };
    bench_result(c, end.c);
    return bench_end(bench_run("grouped_gemm", args, g.flops, bench_no_reset, run, check));
}
