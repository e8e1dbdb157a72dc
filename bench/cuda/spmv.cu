/* Sparse matrix (CSR) times vector, one row per thread. */
#include "cu.h"

__global__ void spmv(int rows, const int *__restrict__ rp, const int *__restrict__ ci,
                     const float *__restrict__ va, const float *__restrict__ x,
                     float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < rows) {
        float s = 0;

        for (int k = rp[i]; k < rp[i + 1]; k++)
            s += va[k] * x[ci[k]];
        y[i] = s;
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, SP_ROWS);
    csr m = sp_make(args.size[0]);
    long n = m.rows;
    int *rp = dput(m.row_ptr, n + 1), *ci = dput(m.col, m.nnz);
    float *va = dput(m.val, m.nnz), *x = dput(m.x, n), *y = dalloc<float>(n), *h = halloc<float>(n);

    auto run = [&] {
        spmv<<<cdiv(n, 256), 256>>>(n, rp, ci, va, x, y);
        dsync();
    };
    auto check = [&] {
        d2h(h, y, n);
        return chk_spmv(m, h);
    };
    bench_result(h, n);
    return bench_end(bench_run("spmv", args, sp_bytes(m), bench_no_reset, run, check));
}
