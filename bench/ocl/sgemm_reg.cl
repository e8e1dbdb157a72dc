/* Matrix product with register blocking: a 64 x 64 tile of C per CTA of 256 threads, 4 x 4 per
 * thread, k in steps of 16. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
sgemm_reg(__global const float *restrict A, __global const float *restrict B,
          __global float *restrict C, int n)
{
    __local float as[16][64], bs[16][64]; /* as is transposed: [k][row] */
    int t = get_local_id(0), tx = t & 15, ty = t >> 4;
    int bx = get_group_id(0) * 64, by = get_group_id(1) * 64;
    int ar = t >> 2, ak = (t & 3) * 4;  /* the four elements of A that this thread loads */
    int br = t >> 4, bc = (t & 15) * 4; /* and of B */
    float acc[4][4];

#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            acc[i][j] = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        float4 a = vload4(0, &A[(by + ar) * n + k0 + ak]);
        float4 b = vload4(0, &B[(k0 + br) * n + bx + bc]);

        as[ak][ar] = a.x;
        as[ak + 1][ar] = a.y;
        as[ak + 2][ar] = a.z;
        as[ak + 3][ar] = a.w;
        vstore4(b, 0, &bs[br][bc]);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float4 u = vload4(0, &as[k][ty * 4]), v = vload4(0, &bs[k][tx * 4]);
            float ua[4] = {u.x, u.y, u.z, u.w}, va[4] = {v.x, v.y, v.z, v.w};

#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += ua[i] * va[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        vstore4((float4)(acc[i][0], acc[i][1], acc[i][2], acc[i][3]), 0,
                &C[(by + ty * 4 + i) * n + bx + tx * 4]);
}
