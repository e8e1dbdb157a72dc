/* Five-point stencil on a square grid; the border is copied. */
#include "cu.h"

__global__ void stencil2d(const float *__restrict__ in, float *__restrict__ out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x >= n || y >= n)
        return;
    int i = y * n + x;
    float c = in[i];

    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        c = 0.5f * c + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    out[i] = c;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, ST_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 4, 0, 1);
    float *dx = dput(x, n * n), *dy = dalloc<float>(n * n);
    dim3 block(32, 8), grid(cdiv(n, 32), cdiv(n, 8));

    auto run = [&] {
        stencil2d<<<grid, block>>>(dx, dy, n);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n * n);
        return chk_stencil(x, y, n);
    };
    bench_result(y, n * n);
    return bench_end(bench_run("stencil2d", args, 8.0 * n * n, bench_no_reset, run, check));
}
