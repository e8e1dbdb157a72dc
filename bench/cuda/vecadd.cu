/* c = a + b: nothing but memory bandwidth. */
#include "cu.h"

__global__ void vecadd(const float *__restrict__ a, const float *__restrict__ b,
                       float *__restrict__ c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, VEC_N);
    long n = args.size[0];
    float *a = halloc<float>(n), *b = halloc<float>(n), *c = halloc<float>(n);

    fill_f(a, n, 1, -1, 1);
    fill_f(b, n, 2, -1, 1);
    float *da = dput(a, n), *db = dput(b, n), *dc = dalloc<float>(n);

    auto run = [&] {
        vecadd<<<cdiv(n, 256), 256>>>(da, db, dc, n);
        dsync();
    };
    auto check = [&] {
        d2h(c, dc, n);
        return chk_vecadd(a, b, c, n);
    };
    bench_result(c, n);
    return bench_end(bench_run("vecadd", args, 12.0 * n, bench_no_reset, run, check));
}
