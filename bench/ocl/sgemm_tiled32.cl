/* Matrix product, 32 x 32 tiles in local memory. */
#define TS 32
__kernel __attribute__((reqd_work_group_size(TS, TS, 1))) void
sgemm_tiled(__global const float *restrict A, __global const float *restrict B,
            __global float *restrict C, int n)
{
    __local float as[TS][TS], bs[TS][TS];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * TS + tx, y = get_group_id(1) * TS + ty;
    float s = 0;

    for (int k0 = 0; k0 < n; k0 += TS) {
        as[ty][tx] = A[y * n + k0 + tx];
        bs[ty][tx] = B[(k0 + ty) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TS; k++)
            s += as[ty][k] * bs[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[y * n + x] = s;
}
