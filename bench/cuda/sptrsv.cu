/* Solves a sparse lower triangular system without levels (Liu and others, 2016): a warp per row
 * waits for the flags of the unknowns it needs. Rows start in order, so that one always makes
 * progress. */
#include "cu.h"

enum { THREADS = 256 };

static __device__ float warp_sum(float x)
{
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_xor_sync(~0u, x, d);
    return x;
}

__global__ void __launch_bounds__(THREADS)
    sptrsv(int rows, const int *__restrict__ rp, const int *__restrict__ ci,
           const float *__restrict__ va, const float *__restrict__ b, volatile float *x,
           volatile int *ready)
{
    int row = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;

    if (row >= rows)
        return;
    int diagonal = rp[row + 1] - 1;
    for (int k = rp[row] + lane; k < diagonal; k += 32) {
        int col = ci[k];

        while (!ready[col])
            ;
        __threadfence();
        sum += va[k] * x[col];
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        x[row] = (b[row] - sum) / va[diagonal];
        __threadfence();
        ready[row] = 1;
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, TRI_ROWS);
    triangle m = tri_make(args.size[0]);
    long n = m.rows;
    int *rp = dput(m.row_ptr, n + 1), *ci = dput(m.col, m.nnz), *ready = dalloc<int>(n);
    float *va = dput(m.val, m.nnz), *b = dput(m.b, n), *x = dalloc<float>(n);
    float *h = halloc<float>(n);

    auto run = [&] {
        CK(cudaMemsetAsync(ready, 0, n * sizeof(int)));
        sptrsv<<<cdiv(n * 32, THREADS), THREADS>>>(n, rp, ci, va, b, x, ready);
        dsync();
    };
    auto check = [&] {
        d2h(h, x, n);
        return chk_sptrsv(m, h);
    };
    bench_result(h, n);
    return bench_end(bench_run("sptrsv", args, tri_bytes(m), bench_no_reset, run, check));
}
