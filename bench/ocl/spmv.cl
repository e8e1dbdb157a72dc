/* Sparse matrix (CSR) times vector, one row per thread. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
spmv(int rows, __global const int *restrict rp, __global const int *restrict ci,
     __global const float *restrict va, __global const float *restrict x,
     __global float *restrict y)
{
    int i = get_global_id(0);

    if (i < rows) {
        float s = 0;

        for (int k = rp[i]; k < rp[i + 1]; k++)
            s += va[k] * x[ci[k]];
        y[i] = s;
    }
}
