/* The part of host.cpp that goes with common/refs_arrays.h. */
#pragma once

static int bfs(const char *name)
{
    bench_args args = parse(BFS_N);
    graph g = bfs_make(args.size[0]);
    long n = g.nodes;
    int32_t *unseen = halloc<int32_t>(n), *h = halloc<int32_t>(n);
    cl_mem first = dput(g.first, n + 1), to = dput(g.to, g.edges), dist = dalloc<int32_t>(n);
    cl_mem frontier[2] = {dalloc<int32_t>(n), dalloc<int32_t>(n)}, count = dalloc<int32_t>(1);
    cl_kernel k = kernel("bfs_level");

    memset(unseen, -1, n * 4);
    unseen[0] = 0;
    auto run = [&] {
        int32_t zero = 0, nodes = 1;

        h2d(dist, unseen, n);
        h2d(frontier[0], &zero, 1);
        for (cl_int level = 1, from = 0; nodes > 0; level++, from ^= 1) {
            h2d(count, &zero, 1);
            launch1(k, cdiv(nodes, 256), 256, first, to, dist, frontier[from], nodes,
                    frontier[from ^ 1], count, level);
            d2h(&nodes, count, 1);
        }
    };
    auto check = [&] {
        d2h(h, dist, n);
        return chk_bfs(g, h);
    };
    bench_result(h, n);
    return measure(name, args, 8.0 * g.edges, run, check);
}

static int fft(const char *name)
{
    bench_args args = parse(FFT_B);
    long batch = args.size[0], n = 2 * FFT_N * batch;
    float *x = halloc<float>(n), *y = halloc<float>(n), twiddles[2 * FFT_N];

    fill_f(x, n, 121, -1, 1);
    fft_twiddles(twiddles);
    cl_mem dx = dput(x, n), dy = dalloc<float>(n), dt = dput(twiddles, 2 * FFT_N);
    cl_kernel k = kernel("fft");

    auto check = [&] {
        d2h(y, dy, n);
        return chk_fft(x, y, batch);
    };
    bench_result(y, n);
    return measure(
        name, args, fft_flops(batch), [&] { launch1(k, batch, FFT_N / 8, dx, dy, dt); }, check);
}

static int philox(const char *name)
{
    bench_args args = parse(PHILOX_N);
    long n = args.size[0] & ~3l;
    float *y = halloc<float>(n);
    cl_mem dy = dalloc<float>(n);
    cl_uint2 key = {{PHILOX_KEY0, PHILOX_KEY1}};
    cl_kernel k = kernel("philox_uniform");

    auto check = [&] {
        d2h(y, dy, n);
        return chk_philox(y, n);
    };
    bench_result(y, n);
    return measure(
        name, args, 4.0 * n, [&] { launch1(k, 1024, 256, dy, (cl_int)(n / 4), key); }, check);
}
