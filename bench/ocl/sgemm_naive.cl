/* Matrix product, one thread per element, everything from global memory. */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
sgemm_naive(__global const float *restrict A, __global const float *restrict B,
            __global float *restrict C, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    float s = 0;

    for (int k = 0; k < n; k++)
        s += A[y * n + k] * B[k * n + x];
    C[y * n + x] = s;
}
