/* The part of host.cpp that goes with common/refs_layers.h. */
#pragma once

static int grouped_gemm(const char *name)
{
    bench_args args = parse(GG_GROUPS);
    gg_groups g = gg_make(args.size[0]);
    const gg_problem &end = g.p[g.count];
    float *c = halloc<float>(end.c);
    cl_mem problems = dput(g.p, g.count + 1);
    cl_mem da = dput(g.a, end.a), db = dput(g.b, end.b), dc = dalloc<float>(end.c);
    cl_kernel k = kernel("grouped_gemm");

    auto check = [&] {
        d2h(c, dc, end.c);
        return chk_grouped(g, c);
    };
    bench_result(c, end.c);
    return measure(
        name, args, g.flops, [&] { launch1(k, end.first_tile, 256, problems, da, db, dc); }, check);
}

static int conv2d(const char *name)
{
    bench_args args = parse(CV_SIDE, CV_CHANNELS);
    long side = args.size[0], ch = args.size[1], pixels = CV_IMAGES * side * side;
    float *x = halloc<float>(pixels * ch), *w = halloc<float>(9 * ch * ch);
    float *y = halloc<float>(pixels * ch);

    fill_f(x, pixels * ch, 86, -1, 1);
    fill_f(w, 9 * ch * ch, 87, -1, 1);
    cl_mem dx = dput(x, pixels * ch), dw = dput(w, 9 * ch * ch), dy = dalloc<float>(pixels * ch);
    cl_kernel k = kernel("conv2d");

    auto run = [&] {
        launch2(k, cdiv(pixels, 64), ch / 64, 256, 1, dx, dw, dy, (cl_int)pixels, (cl_int)side,
                (cl_int)ch);
    };
    auto check = [&] {
        d2h(y, dy, pixels * ch);
        return chk_conv2d(x, w, y, side, ch);
    };
    bench_result(y, pixels * ch);
    return measure(name, args, 18.0 * pixels * ch * ch, run, check);
}

static int rmsnorm_rope(const char *name)
{
    bench_args args = parse(RR_TOKENS, RR_HEADS);
    long tokens = args.size[0], heads = args.size[1], n = tokens * heads * RR_D;
    uint16_t *x = halloc<uint16_t>(n), *y = halloc<uint16_t>(n);
    float *table = halloc<float>(tokens * RR_D), weight[RR_D];

    rope_init(x, n, weight);
    rope_table(table, tokens);
    cl_mem dx = dput(x, n), dy = dalloc<uint16_t>(n), dw = dput(weight, RR_D);
    cl_mem dt = dput(table, tokens * RR_D);
    cl_kernel k = kernel("rmsnorm_rope");

    auto run = [&] {
        launch1(k, cdiv(tokens * heads, 8), 256, dx, dw, dt, dy, (cl_int)(tokens * heads),
                (cl_int)heads);
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_rope(x, weight, y, tokens, heads);
    };
    bench_result(y, n);
    return measure(name, args, 4.0 * n, run, check);
}

/* A device copy in f16. */
static cl_mem put_f16(const float *x, long n)
{
    uint16_t *h = halloc<uint16_t>(n);

    f16_pack(h, x, n);
    cl_mem d = dput(h, n);
    free(h);
    return d;
}

static int int4_gemm(const char *name)
{
    bench_args args = parse(I4_N, I4_K);
    long n = args.size[0], k = args.size[1];
    i4_problem p = i4_make(n, k);
    cl_mem a = put_f16(p.a, I4_M * k), scales = put_f16(p.scales, n * k / I4_GROUP);
    cl_mem w = dput(p.w, n * k / 8), dc = dalloc<float>(I4_M * n);
    float *c = halloc<float>(I4_M * n);
    cl_kernel function = kernel("int4_gemm");

    auto run = [&] { launch1(function, cdiv(n, 8), 256, a, w, scales, dc, (cl_int)n, (cl_int)k); };
    auto check = [&] {
        d2h(c, dc, I4_M * n);
        return chk_int4(p, c);
    };
    bench_result(c, I4_M * n);
    return measure(name, args, 2.0 * I4_M * n * k, run, check);
}
