/* Matrix transpose through a padded 32 x 32 tile in shared memory, 32 x 8 threads. */
#include "cu.h"

__global__ void transpose(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

    for (int j = 0; j < 32; j += 8)
        if (x < n && y + j < n)
            t[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < n && y + j < n)
            out[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, TR_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 3, 0, 1);
    float *dx = dput(x, n * n), *dy = dalloc<float>(n * n);
    dim3 block(32, 8), grid(cdiv(n, 32), cdiv(n, 32));

    auto run = [&] {
        transpose<<<grid, block>>>(dx, dy, n);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n * n);
        return chk_transpose(x, y, n);
    };
    bench_result(y, n * n);
    return bench_end(bench_run("transpose", args, 8.0 * n * n, bench_no_reset, run, check));
}
