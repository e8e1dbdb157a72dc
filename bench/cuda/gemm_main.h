/* main() of the four matrix products C = A B, square, row major; they differ in the kernel and
 * its launch. */
#pragma once
#include "cu.h"

/* launch(a, b, c, n) enqueues the kernel. */
template <class Launch> static int gemm_main(const char *name, int argc, char **argv, Launch launch)
{
    bench_args args = bench_start(argc, argv, MM_N);
    long n = args.size[0];

    if (n % 64) {
        fprintf(stderr, "n must be a multiple of 64\n");
        return 2;
    }
    float *a = halloc<float>(n * n), *b = halloc<float>(n * n), *c = halloc<float>(n * n);

    fill_f(a, n * n, 41, -1, 1);
    fill_f(b, n * n, 42, -1, 1);
    float *da = dput(a, n * n), *db = dput(b, n * n), *dc = dalloc<float>(n * n);

    auto run = [&] {
        launch(da, db, dc, (int)n);
        dsync();
    };
    auto check = [&] {
        d2h(c, dc, n * n);
        return chk_sgemm(a, b, c, n);
    };
    bench_result(c, n * n);
    return bench_end(bench_run(name, args, 2.0 * n * n * n, bench_no_reset, run, check));
}
