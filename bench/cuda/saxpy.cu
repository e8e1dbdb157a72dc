/* y = alpha x + y: one fma per element, bandwidth bound. */
#include "cu.h"

__global__ void saxpy(int n, float alpha, const float *__restrict__ x, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = alpha * x[i] + y[i];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), *result = halloc<float>(n);
    const float alpha = 1.25f;

    fill_f(x, n, 1, -1, 1);
    fill_f(y, n, 2, -1, 1);
    float *dx = dput(x, n), *dy = dput(y, n);

    auto run = [&] {
        saxpy<<<cdiv(n, 256), 256>>>(n, alpha, dx, dy);
        dsync();
    };
    /* The timed runs accumulate into y: check one run from the original input. */
    auto check = [&] {
        h2d(dy, y, n);
        run();
        d2h(result, dy, n);
        return chk_saxpy(alpha, x, y, result, n);
    };
    bench_result(result, n);
    return bench_end(bench_run("saxpy", args, 12.0 * n, bench_no_reset, run, check));
}
