/* The part of main.cpp that goes with arrays.c. */
#pragma once

static int lookback(const char *name)
{
    return scan(name); /* looking back is how a GPU comes to the same result */
}

static int radixsort(const char *name)
{
    bench_args args = parse(RADIX_N);
    long n = args.size[0];
    uint32_t *x = halloc<uint32_t>(n), *places = halloc<uint32_t>(n);
    uint32_t *keys[2] = {halloc<uint32_t>(n), halloc<uint32_t>(n)};
    uint32_t *vals[2] = {halloc<uint32_t>(n), halloc<uint32_t>(n)};

    radix_init(x, places, n);
    auto reset = [&] {
        memcpy(keys[0], x, n * 4);
        memcpy(vals[0], places, n * 4);
    };
    bench_result(keys[0], n);
    bench_result(vals[0], n);
    return bench_run(
        name, args, 16.0 * n, reset, [&] { k_radixsort(keys, vals, n); },
        [&] { return chk_radix(x, keys[0], vals[0], n); });
}

static int topk(const char *name)
{
    bench_args args = parse(TOPK_R, TOPK_C);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *vals = halloc<float>(r * TOPK_K);
    int *cols = halloc<int>(r * TOPK_K);

    topk_init(x, r * c);
    bench_result(vals, r * TOPK_K);
    bench_result(cols, r * TOPK_K);
    return measure(
        name, args, 4.0 * r * c, [&] { k_topk(x, vals, cols, r, c); },
        [&] { return chk_topk(x, vals, cols, r, c); });
}

static int bfs(const char *name)
{
    bench_args args = parse(BFS_N);
    graph g = bfs_make(args.size[0]);
    int *dist = halloc<int>(g.nodes), *queue = halloc<int>(g.nodes);

    bench_result(dist, g.nodes);
    return measure(
        name, args, 8.0 * g.edges, [&] { k_bfs(g.nodes, g.first, g.to, dist, queue); },
        [&] { return chk_bfs(g, dist); });
}

static int sptrsv(const char *name)
{
    bench_args args = parse(TRI_ROWS);
    triangle m = tri_make(args.size[0]);
    float *x = halloc<float>(m.rows);

    bench_result(x, m.rows);
    auto run = [&] {
        k_sptrsv(m.rows, m.row_ptr, m.col, m.val, m.b, x, m.levels, m.level_ptr, m.level_rows);
    };
    return measure(name, args, tri_bytes(m), run, [&] { return chk_sptrsv(m, x); });
}

static int fft(const char *name)
{
    bench_args args = parse(FFT_B);
    long batch = args.size[0], n = 2 * FFT_N * batch;
    float *x = halloc<float>(n), *y = halloc<float>(n), twiddles[2 * FFT_N];

    fill_f(x, n, 121, -1, 1);
    fft_twiddles(twiddles);
    bench_result(y, n);
    return measure(
        name, args, fft_flops(batch), [&] { k_fft(x, y, twiddles, batch); },
        [&] { return chk_fft(x, y, batch); });
}

static int philox(const char *name)
{
    bench_args args = parse(PHILOX_N);
    long n = args.size[0] & ~3l;
    float *y = halloc<float>(n);

    bench_result(y, n);
    return measure(
        name, args, 4.0 * n, [&] { k_philox(y, n, PHILOX_KEY0, PHILOX_KEY1); },
        [&] { return chk_philox(y, n); });
}
