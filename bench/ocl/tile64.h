/* As cuda/tile64.h. */
enum { TILE = 64, DEPTH = 16 };

struct tile_stage {
    float a[DEPTH][TILE], b[DEPTH][TILE]; /* a is transposed: [k][row] */
};

/* Four elements of a row of a from k = `ak`. */
static void stage_put_a(__local struct tile_stage *s, int row, int ak, float4 v)
{
    s->a[ak][row] = v.x;
    s->a[ak + 1][row] = v.y;
    s->a[ak + 2][row] = v.z;
    s->a[ak + 3][row] = v.w;
}

static void stage_multiply(__local const struct tile_stage *s, float (*acc)[4])
{
    int tx = get_local_id(0) % 16, ty = get_local_id(0) / 16;

#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
        float4 u = vload4(0, &s->a[k][ty * 4]), v = vload4(0, &s->b[k][tx * 4]);
        float ua[4] = {u.x, u.y, u.z, u.w}, va[4] = {v.x, v.y, v.z, v.w};

#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[i][j] += ua[i] * va[j];
    }
}

/* c: the tile's first element; only `rows` of its rows are there. */
static void tile_store(__global float *c, int row_elements, int rows, float (*acc)[4])
{
    int tx = get_local_id(0) % 16, ty = get_local_id(0) / 16;

#pragma unroll
    for (int i = 0; i < 4; i++)
        if (ty * 4 + i < rows)
            vstore4((float4)(acc[i][0], acc[i][1], acc[i][2], acc[i][3]), 0,
                    &c[(ty * 4 + i) * row_elements + tx * 4]);
}
