/* The part of main.cpp that goes with layers.c. */
#pragma once

static int grouped_gemm(const char *name)
{
    bench_args args = parse(GG_GROUPS);
    gg_groups g = gg_make(args.size[0]);
    float *c = halloc<float>(g.p[g.count].c);

    auto run = [&] {
#pragma omp parallel
        for (long i = 0; i < g.count; i++) {
            const gg_problem &p = g.p[i];

            k_gemm_group(g.a + p.a, g.b + p.b, c + p.c, p.m, p.n, p.k);
        }
    };
    bench_result(c, g.p[g.count].c);
    return measure(name, args, g.flops, run, [&] { return chk_grouped(g, c); });
}

static int conv2d(const char *name)
{
    bench_args args = parse(CV_SIDE, CV_CHANNELS);
    long side = args.size[0], ch = args.size[1], pixels = CV_IMAGES * side * side;
    float *x = halloc<float>(pixels * ch), *w = halloc<float>(9 * ch * ch);
    float *y = halloc<float>(pixels * ch);

    fill_f(x, pixels * ch, 86, -1, 1);
    fill_f(w, 9 * ch * ch, 87, -1, 1);
    bench_result(y, pixels * ch);
    return measure(
        name, args, 18.0 * pixels * ch * ch, [&] { k_conv2d(x, w, y, CV_IMAGES, side, ch); },
        [&] { return chk_conv2d(x, w, y, side, ch); });
}

static int flash_attention(const char *name)
{
    bench_args args = parse(FA_N, FA_HEADS);
    long n = args.size[0], heads = args.size[1], size = n * heads * FA_D;
    float *q = halloc<float>(size), *k = halloc<float>(size), *v = halloc<float>(size);
    float *o = halloc<float>(size);

    attention_init(q, k, v, n, heads);
    bench_result(o, size);
    return measure(
        name, args, 4.0 * n * size, [&] { k_attention(q, k, v, o, n, heads); },
        [&] { return chk_attention(q, k, v, o, n, heads); });
}

static int rmsnorm_rope(const char *name)
{
    bench_args args = parse(RR_TOKENS, RR_HEADS);
    long tokens = args.size[0], heads = args.size[1], n = tokens * heads * RR_D;
    uint16_t *x = halloc<uint16_t>(n), *y = halloc<uint16_t>(n);
    float *table = halloc<float>(tokens * RR_D), weight[RR_D];

    rope_init(x, n, weight);
    rope_table(table, tokens);
    bench_result(y, n);
    return measure(
        name, args, 4.0 * n, [&] { k_rmsnorm_rope(x, weight, table, y, tokens, heads, RR_EPS); },
        [&] { return chk_rope(x, weight, y, tokens, heads); });
}

static int int4_gemm(const char *name)
{
    bench_args args = parse(I4_N, I4_K);
    long n = args.size[0], k = args.size[1];
    i4_problem p = i4_make(n, k);
    float *c = halloc<float>(I4_M * n);

    bench_result(c, I4_M * n);
    return measure(
        name, args, 2.0 * I4_M * n * k, [&] { k_int4_gemm(p.a, p.w, p.scales, c, n, k); },
        [&] { return chk_int4(p, c); });
}
