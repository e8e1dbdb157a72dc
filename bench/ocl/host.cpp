/* The kernels in OpenCL. usage: ocl NAME [sizes] [-r N -w N -n -v -dump FILE]
 * -v appends ,min_ms,first_ms,build_ms. CLDIR: folder of the .cl files. `ocl launch` measures
 * launch
 * latency in the format of launch/launch.cu. */
#include "cl.h"

static int argc_;
static char **argv_;

static bench_args parse(long default0, long default1 = 0)
{
    return bench_parse(argc_, argv_, default0, default1);
}

template <class Run, class Check>
static int measure(const char *name, const bench_args &args, double work, Run run, Check check)
{
    auto synchronous = [&] {
        run();
        dsync();
    };

    return bench_run(name, args, work, bench_no_reset, synchronous, check);
}

static int vecadd(const char *name)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *a = halloc<float>(n), *b = halloc<float>(n), *c = halloc<float>(n);

    fill_f(a, n, 1, -1, 1);
    fill_f(b, n, 2, -1, 1);
    cl_mem da = dput(a, n), db = dput(b, n), dc = dalloc<float>(n);
    cl_kernel k = kernel("vecadd");

    auto check = [&] {
        d2h(c, dc, n);
        return chk_vecadd(a, b, c, n);
    };
    bench_result(c, n);
    return measure(
        name, args, 12.0 * n, [&] { launch1(k, cdiv(n, 256), 256, da, db, dc, (cl_int)n); }, check);
}

static int saxpy(const char *name)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), *result = halloc<float>(n), alpha = 1.25f;

    fill_f(x, n, 1, -1, 1);
    fill_f(y, n, 2, -1, 1);
    cl_mem dx = dput(x, n), dy = dput(y, n);
    cl_kernel k = kernel("saxpy");

    auto run = [&] { launch1(k, cdiv(n, 256), 256, (cl_int)n, alpha, dx, dy); };
    auto check = [&] {
        h2d(dy, y, n);
        run();
        d2h(result, dy, n);
        return chk_saxpy(alpha, x, y, result, n);
    };
    bench_result(result, n);
    return measure(name, args, 12.0 * n, run, check);
}

static int reduce(const char *name)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), sum = 0;

    fill_f(x, n, 1, 0, 1);
    cl_mem dx = dput(x, n), ping = dalloc<float>(cdiv(n, 512)), pong = dalloc<float>(cdiv(n, 512));
    cl_kernel k = kernel("reduce");

    auto run = [&] {
        cl_mem in = dx, out = ping;

        for (long m = n; m > 1;) {
            long groups = cdiv(m, 512);

            launch1(k, groups, 256, in, out, (cl_int)m);
            in = out;
            out = out == ping ? pong : ping;
            m = groups;
        }
        dsync();
        d2h(&sum, in, 1);
    };
    bench_result(&sum, 1);
    return bench_run(name, args, 4.0 * n, bench_no_reset, run,
                     [&] { return chk_reduce(x, n, sum); });
}

static void scan_level(cl_kernel block, cl_kernel add, cl_mem in, cl_mem out, cl_mem *tmp, long n)
{
    long groups = cdiv(n, 1024);

    launch1(block, groups, 512, in, out, tmp[0], (cl_int)n);
    if (groups > 1) {
        scan_level(block, add, tmp[0], tmp[1], tmp + 2, groups);
        launch1(add, groups, 512, out, tmp[1], (cl_int)n);
    }
}

static int scan(const char *name)
{
    bench_args args = parse(SCAN_N);
    long n = args.size[0], m = n;
    uint32_t *x = halloc<uint32_t>(n), *y = halloc<uint32_t>(n);

    fill_u(x, n, 5);
    cl_mem dx = dput(x, n), dy = dalloc<uint32_t>(n), tmp[16];
    cl_kernel block = kernel("scan_block"), add = kernel("scan_add");

    for (int i = 0; i < 16; i += 2) {
        m = cdiv(m, 1024);
        tmp[i] = dalloc<uint32_t>(m);
        tmp[i + 1] = dalloc<uint32_t>(m);
    }
    auto check = [&] {
        d2h(y, dy, n);
        return chk_scan(x, y, n);
    };
    bench_result(y, n);
    return measure(name, args, 8.0 * n, [&] { scan_level(block, add, dx, dy, tmp, n); }, check);
}

static int transpose(const char *name)
{
    bench_args args = parse(TR_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 3, 0, 1);
    cl_mem dx = dput(x, n * n), dy = dalloc<float>(n * n);
    cl_kernel k = kernel("transpose");

    auto run = [&] { launch2(k, cdiv(n, 32), cdiv(n, 32), 32, 8, dx, dy, (cl_int)n); };
    auto check = [&] {
        d2h(y, dy, n * n);
        return chk_transpose(x, y, n);
    };
    bench_result(y, n * n);
    return measure(name, args, 8.0 * n * n, run, check);
}

/* tile: threads per side of a work-group; 0: 256 threads for 64 x 64 elements */
static int sgemm(const char *name, const char *function, size_t tile)
{
    bench_args args = parse(MM_N);
    long n = args.size[0];
    float *a = halloc<float>(n * n), *b = halloc<float>(n * n), *c = halloc<float>(n * n);

    fill_f(a, n * n, 41, -1, 1);
    fill_f(b, n * n, 42, -1, 1);
    cl_mem da = dput(a, n * n), db = dput(b, n * n), dc = dalloc<float>(n * n);
    cl_kernel k = kernel(function);

    auto run = [&] {
        if (tile)
            launch2(k, n / tile, n / tile, tile, tile, da, db, dc, (cl_int)n);
        else
            launch2(k, n / 64, n / 64, 256, 1, da, db, dc, (cl_int)n);
    };
    auto check = [&] {
        d2h(c, dc, n * n);
        return chk_sgemm(a, b, c, n);
    };
    bench_result(c, n * n);
    return measure(name, args, 2.0 * n * n * n, run, check);
}

static int sgemm_naive(const char *name)
{
    return sgemm(name, "sgemm_naive", 16);
}

static int sgemm_tiled16(const char *name)
{
    return sgemm(name, "sgemm_tiled", 16);
}

static int sgemm_tiled32(const char *name)
{
    return sgemm(name, "sgemm_tiled", 32);
}

static int sgemm_reg(const char *name)
{
    return sgemm(name, "sgemm_reg", 0);
}

static int stencil2d(const char *name)
{
    bench_args args = parse(ST_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 4, 0, 1);
    cl_mem dx = dput(x, n * n), dy = dalloc<float>(n * n);
    cl_kernel k = kernel("stencil2d");

    auto run = [&] { launch2(k, cdiv(n, 32), cdiv(n, 8), 32, 8, dx, dy, (cl_int)n); };
    auto check = [&] {
        d2h(y, dy, n * n);
        return chk_stencil(x, y, n);
    };
    bench_result(y, n * n);
    return measure(name, args, 8.0 * n * n, run, check);
}

static int conv1d(const char *name)
{
    bench_args args = parse(CONV_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), taps[2 * CONV_R + 1];

    conv_taps(taps);
    fill_f(x, n, 6, -1, 1);
    cl_mem dx = dput(x, n), dy = dalloc<float>(n), dt = dput(taps, 2 * CONV_R + 1);
    cl_kernel k = kernel("conv1d");

    auto check = [&] {
        d2h(y, dy, n);
        return chk_conv(x, taps, y, n);
    };
    bench_result(y, n);
    return measure(
        name, args, 2.0 * (2 * CONV_R + 1) * n,
        [&] { launch1(k, cdiv(n, 256), 256, dx, dy, dt, (cl_int)n); }, check);
}

static int nbody(const char *name)
{
    bench_args args = parse(NB_N);
    long n = args.size[0] & ~255l;
    float *p = halloc<float>(4 * n), *a = halloc<float>(4 * n);

    nb_init(p, n);
    cl_mem dp = dput(p, 4 * n), da = dalloc<float>(4 * n);
    cl_kernel k = kernel("nbody");

    auto check = [&] {
        d2h(a, da, 4 * n);
        return chk_nbody(p, a, n);
    };
    bench_result(a, 4 * n);
    return measure(
        name, args, 20.0 * n * n, [&] { launch1(k, n / 256, 256, dp, da, (cl_int)n); }, check);
}

static int mandelbrot(const char *name)
{
    bench_args args = parse(MB_W, MB_IT);
    long w = args.size[0];
    int max_it = args.size[1], *out = halloc<int>(w * w);
    cl_mem d = dalloc<int>(w * w);
    cl_kernel k = kernel("mandelbrot");

    mb_prepare(w, max_it);
    auto run = [&] { launch2(k, cdiv(w, 16), cdiv(w, 16), 16, 16, d, (cl_int)w, (cl_int)max_it); };
    auto check = [&] {
        d2h(out, d, w * w);
        return chk_mandel(out, w);
    };
    bench_result(out, w * w);
    return measure(name, args, mb_work, run, check);
}

static int histogram(const char *name)
{
    bench_args args = parse(HIST_N);
    long n = args.size[0] & ~3l;
    uint8_t *x = halloc<uint8_t>(n);
    uint32_t zero[256] = {0}, h[256];

    hist_init(x, n);
    cl_mem dx = dput(x, n), dh = dalloc<uint32_t>(256);
    cl_kernel k = kernel("histogram");

    auto run = [&] {
        launch1(k, 256, 256, dx, dh, (cl_int)(n / 4));
        dsync();
    };
    auto check = [&] {
        d2h(h, dh, 256);
        return chk_hist(x, n, h);
    };
    bench_result(h, 256);
    return bench_run(name, args, 1.0 * n, [&] { h2d(dh, zero, 256); }, run, check);
}

static int bitonic(const char *name)
{
    bench_args args = parse(BIT_N);
    long n = args.size[0];

    if (n < 1024 || (n & (n - 1)))
        return 2;
    uint32_t *x = halloc<uint32_t>(n), *y = halloc<uint32_t>(n);

    fill_u(x, n, 9);
    cl_mem d = dalloc<uint32_t>(n);
    cl_kernel sort_local = kernel("bitonic_sort_local");
    cl_kernel merge_local = kernel("bitonic_merge_local");
    cl_kernel merge_global = kernel("bitonic_merge_global");

    auto run = [&] {
        launch1(sort_local, n / 1024, 512, d);
        for (long size = 2048; size <= n; size <<= 1) {
            for (long st = size / 2; st >= 1024; st >>= 1)
                launch1(merge_global, n / 512, 256, d, (cl_int)size, (cl_int)st);
            launch1(merge_local, n / 1024, 512, d, (cl_int)size);
        }
        dsync();
    };
    auto check = [&] {
        d2h(y, d, n);
        return chk_sorted(x, y, n);
    };
    bench_result(y, n);
    return bench_run(name, args, 8.0 * n, [&] { h2d(d, x, n); }, run, check);
}

static int blackscholes(const char *name)
{
    bench_args args = parse(BS_N);
    long n = args.size[0];
    float *s = halloc<float>(n), *x = halloc<float>(n), *t = halloc<float>(n);
    float *c = halloc<float>(n), *p = halloc<float>(n);

    bs_init(s, x, t, n);
    cl_mem ds = dput(s, n), dx = dput(x, n), dt = dput(t, n);
    cl_mem dc = dalloc<float>(n), dp = dalloc<float>(n);
    cl_kernel k = kernel("blackscholes");

    auto run = [&] { launch1(k, cdiv(n, 256), 256, ds, dx, dt, dc, dp, (cl_int)n, BS_R, BS_V); };
    auto check = [&] {
        d2h(c, dc, n);
        d2h(p, dp, n);
        return chk_bs(s, x, t, c, p, n);
    };
    bench_result(c, n);
    bench_result(p, n);
    return measure(name, args, 20.0 * n, run, check);
}

static int spmv(const char *name)
{
    bench_args args = parse(SP_ROWS);
    csr m = sp_make(args.size[0]);
    long n = m.rows;
    cl_mem rp = dput(m.row_ptr, n + 1), ci = dput(m.col, m.nnz), va = dput(m.val, m.nnz);
    cl_mem x = dput(m.x, n), y = dalloc<float>(n);
    float *h = halloc<float>(n);
    cl_kernel k = kernel("spmv");

    auto check = [&] {
        d2h(h, y, n);
        return chk_spmv(m, h);
    };
    bench_result(h, n);
    return measure(
        name, args, sp_bytes(m),
        [&] { launch1(k, cdiv(n, 256), 256, (cl_int)n, rp, ci, va, x, y); }, check);
}

static int softmax(const char *name)
{
    bench_args args = parse(SM_ROWS, SM_COLS);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *y = halloc<float>(r * c);

    fill_f(x, r * c, 51, -8, 8);
    cl_mem dx = dput(x, r * c), dy = dalloc<float>(r * c);
    cl_kernel k = kernel("softmax");

    auto check = [&] {
        d2h(y, dy, r * c);
        return chk_softmax(x, y, r, c);
    };
    bench_result(y, r * c);
    return measure(name, args, 8.0 * r * c, [&] { launch1(k, r, 256, dx, dy, (cl_int)c); }, check);
}

static int layernorm(const char *name)
{
    bench_args args = parse(SM_ROWS, SM_COLS);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *y = halloc<float>(r * c);
    float *g = halloc<float>(c), *b = halloc<float>(c);

    fill_f(x, r * c, 52, -3, 5);
    fill_f(g, c, 53, 0.5f, 1.5f);
    fill_f(b, c, 54, -1, 1);
    cl_mem dx = dput(x, r * c), dy = dalloc<float>(r * c), dg = dput(g, c), db = dput(b, c);
    cl_kernel k = kernel("layernorm");

    auto check = [&] {
        d2h(y, dy, r * c);
        return chk_layernorm(x, g, b, y, r, c);
    };
    bench_result(y, r * c);
    return measure(
        name, args, 8.0 * r * c, [&] { launch1(k, r, 256, dx, dg, db, dy, (cl_int)c); }, check);
}

static int md5(const char *name)
{
    bench_args args = parse(MD5_N);
    long n = args.size[0];
    uint32_t hash[4], secret = md5_secret(n), zero = 0, found = 0;
    cl_uint4 target;
    cl_mem d = dput(&zero, 1);
    cl_kernel k = kernel("md5");

    md5_host(secret, hash);
    for (int i = 0; i < 4; i++)
        target.s[i] = hash[i];
    auto run = [&] {
        launch1(k, cdiv(n, 256), 256, (cl_uint)MD5_BASE, (cl_int)n, target, d);
        dsync();
    };
    auto check = [&] {
        d2h(&found, d, 1);
        return found == secret;
    };
    bench_result(&found, 1);
    return bench_run(name, args, MD5_OPS * n, [&] { h2d(d, &zero, 1); }, run, check);
}

#include "host_arrays.h"
#include "host_layers.h"

/* ---- launch latency, as launch/launch.cu ---- */

enum { MANY = 2000, BURST = 64, SAMPLES = 512 };

template <class Run> static double median_us(bool sync_each, Run run)
{
    static double us[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        if (i % BURST == 0)
            dsync();
        double t0 = now_ms();

        run();
        if (sync_each)
            dsync();
        us[i] = (now_ms() - t0) * 1e3;
    }
    dsync();
    qsort(us, SAMPLES, sizeof(us[0]), bench_compare_double);
    return us[SAMPLES / 2];
}

static int launch(const char *)
{
    static const int shapes[][2] = {{1, 32}, {1, 256}, {2, 256}, {64, 256}, {1024, 256}};
    float *zeros = (float *)calloc(1024 * 256, sizeof(float));
    cl_mem d = dput(zeros, 1024 * 256);
    cl_kernel empty = kernel("empty"), touch = kernel("touch");

    for (const auto &s : shapes) {
        auto run_empty = [&] { launch1(empty, s[0], s[1], (cl_int)1); };
        auto run_touch = [&] { launch1(touch, s[0], s[1], d); };

        run_empty();
        run_touch();
        dsync();
        printf("enqueue,%d,%d,%.3f\n", s[0], s[1], median_us(false, run_empty));
        double t0 = now_ms();

        for (int i = 0; i < MANY; i++)
            run_empty();
        dsync();
        printf("back_to_back,%d,%d,%.3f\n", s[0], s[1], (now_ms() - t0) * 1e3 / MANY);
        printf("sync,%d,%d,%.3f\n", s[0], s[1], median_us(true, run_empty));
        printf("touch_sync,%d,%d,%.3f\n", s[0], s[1], median_us(true, run_touch));
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *name);
} benchmarks[] = {
    {"vecadd", vecadd},
    {"saxpy", saxpy},
    {"reduce", reduce},
    {"scan", scan},
    {"transpose", transpose},
    {"sgemm_naive", sgemm_naive},
    {"sgemm_tiled16", sgemm_tiled16},
    {"sgemm_tiled32", sgemm_tiled32},
    {"sgemm_reg", sgemm_reg},
    {"stencil2d", stencil2d},
    {"conv1d", conv1d},
    {"nbody", nbody},
    {"mandelbrot", mandelbrot},
    {"histogram", histogram},
    {"bitonic", bitonic},
    {"blackscholes", blackscholes},
    {"spmv", spmv},
    {"softmax", softmax},
    {"layernorm", layernorm},
    {"md5", md5},
    {"bfs", bfs},
    {"fft", fft},
    {"philox", philox},
    {"grouped_gemm", grouped_gemm},
    {"conv2d", conv2d},
    {"rmsnorm_rope", rmsnorm_rope},
    {"int4_gemm", int4_gemm},
    {"launch", launch},
};

int main(int argc, char **argv)
{
    argc_ = argc - 1;
    argv_ = argv + 1;
    for (const auto &b : benchmarks)
        if (argc > 1 && !strcmp(b.name, argv[1])) {
            cl_open();
            cl_build(b.name);
            int rc = b.run(b.name);

            if (b.run != launch) {
                bool verbose = bench_parse(argc_, argv_, 0).verbose;

                if (verbose)
                    printf(",%.3f", build_ms);
                printf("\n");
            }
            return rc;
        }
    fprintf(stderr, "usage: %s NAME [sizes] [-r N -w N -n -v -dump FILE]\n", argv[0]);
    return 1;
}
