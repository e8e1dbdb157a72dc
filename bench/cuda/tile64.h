/* What the matrix products over tiles of 64 x 64 share: 256 threads with 4 x 4 sums each, k in
 * steps of 16. */
#pragma once
#include "cu.h"

enum { TILE = 64, DEPTH = 16, TILE_THREADS = 256 };

struct tile_stage {
    float a[DEPTH][TILE], b[DEPTH][TILE]; /* a is transposed: [k][row] */
};

/* Four elements of a row of a from k = `ak`. */
static __device__ void stage_put_a(tile_stage &s, int row, int ak, float4 v)
{
    s.a[ak][row] = v.x;
    s.a[ak + 1][row] = v.y;
    s.a[ak + 2][row] = v.z;
    s.a[ak + 3][row] = v.w;
}

static __device__ void stage_multiply(const tile_stage &s, float (*acc)[4])
{
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
        float4 u = *(const float4 *)&s.a[k][ty * 4], v = *(const float4 *)&s.b[k][tx * 4];
        float ua[4] = {u.x, u.y, u.z, u.w}, va[4] = {v.x, v.y, v.z, v.w};

#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[i][j] += ua[i] * va[j];
    }
}

/* c: the tile's first element; only `rows` of its rows are there. */
static __device__ void tile_store(float *c, int row_elements, int rows, const float (*acc)[4])
{
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

#pragma unroll
    for (int i = 0; i < 4; i++)
        if (ty * 4 + i < rows)
            *(float4 *)&c[(ty * 4 + i) * row_elements + tx * 4] =
                make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}
