/* usage: omp_base|omp_best NAME [sizes] [-r N -w N -n -v -dump FILE]; threads from
 * OMP_NUM_THREADS */
#include "../common/refs.h"
#include "kernels.h"
#include <sys/mman.h>

/* Zeroed, touched memory in huge pages: page faults are not part of the comparison. */
template <class T> static T *halloc(size_t n)
{
    const size_t huge_B = 2 << 20;
    size_t size_B = (n * sizeof(T) + 4095) & ~4095ul;
    void *p = NULL;

    if (posix_memalign(&p, size_B >= huge_B ? huge_B : 4096, size_B))
        exit(3);
    if (size_B >= huge_B)
        madvise(p, size_B, MADV_HUGEPAGE);
    memset(p, 0, size_B);
    return (T *)p;
}

static int argc_;
static char **argv_;

static bench_args parse(long default0, long default1 = 0)
{
    return bench_parse(argc_, argv_, default0, default1);
}

template <class Run, class Check>
static int measure(const char *name, const bench_args &args, double work, Run run, Check check)
{
    return bench_run(name, args, work, bench_no_reset, run, check);
}

static int vecadd(const char *name, int nt)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *a = halloc<float>(n), *b = halloc<float>(n), *c = halloc<float>(n);

    fill_f(a, n, 1, -1, 1);
    fill_f(b, n, 2, -1, 1);
    bench_result(c, n);
    return measure(
        name, args, 12.0 * n, [&] { k_vecadd(a, b, c, n, nt); },
        [&] { return chk_vecadd(a, b, c, n); });
}

static int vecadd_plain(const char *name)
{
    return vecadd(name, 0);
}

static int vecadd_nt(const char *name)
{
    return vecadd(name, 1);
}

static int saxpy(const char *name)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), *y0 = halloc<float>(n);
    const float alpha = 1.25f;

    fill_f(x, n, 1, -1, 1);
    fill_f(y0, n, 2, -1, 1);
    memcpy(y, y0, n * 4);
    auto run = [&] { k_saxpy(n, alpha, x, y); };
    auto check = [&] {
        memcpy(y, y0, n * 4);
        run();
        return chk_saxpy(alpha, x, y0, y, n);
    };
    bench_result(y, n);
    return measure(name, args, 12.0 * n, run, check);
}

static int reduce(const char *name)
{
    bench_args args = parse(VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), sum = 0;

    fill_f(x, n, 1, 0, 1);
    bench_result(&sum, 1);
    return measure(
        name, args, 4.0 * n, [&] { sum = k_reduce(x, n); }, [&] { return chk_reduce(x, n, sum); });
}

static int scan(const char *name)
{
    bench_args args = parse(SCAN_N);
    long n = args.size[0];
    uint32_t *x = halloc<uint32_t>(n), *y = halloc<uint32_t>(n);

    fill_u(x, n, 5);
    bench_result(y, n);
    return measure(
        name, args, 8.0 * n, [&] { k_scan(x, y, n); }, [&] { return chk_scan(x, y, n); });
}

static int transpose(const char *name)
{
    bench_args args = parse(TR_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 3, 0, 1);
    bench_result(y, n * n);
    return measure(
        name, args, 8.0 * n * n, [&] { k_transpose(x, y, n); },
        [&] { return chk_transpose(x, y, n); });
}

static int sgemm(const char *name, void (*kernel)(const float *, const float *, float *, long))
{
    bench_args args = parse(MM_N);
    long n = args.size[0];
    float *a = halloc<float>(n * n), *b = halloc<float>(n * n), *c = halloc<float>(n * n);

    fill_f(a, n * n, 41, -1, 1);
    fill_f(b, n * n, 42, -1, 1);
    bench_result(c, n * n);
    return measure(
        name, args, 2.0 * n * n * n, [&] { kernel(a, b, c, n); },
        [&] { return chk_sgemm(a, b, c, n); });
}

static int sgemm_naive(const char *name)
{
    return sgemm(name, k_sgemm_naive);
}

static int sgemm_tiled16(const char *name)
{
    return sgemm(name, k_sgemm_tiled16);
}

static int sgemm_tiled32(const char *name)
{
    return sgemm(name, k_sgemm_tiled32);
}

static int sgemm_reg(const char *name)
{
    return sgemm(name, k_sgemm_reg);
}

static int stencil2d(const char *name)
{
    bench_args args = parse(ST_N);
    long n = args.size[0];
    float *x = halloc<float>(n * n), *y = halloc<float>(n * n);

    fill_f(x, n * n, 4, 0, 1);
    bench_result(y, n * n);
    return measure(
        name, args, 8.0 * n * n, [&] { k_stencil2d(x, y, n); },
        [&] { return chk_stencil(x, y, n); });
}

static int conv1d(const char *name)
{
    bench_args args = parse(CONV_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), taps[2 * CONV_R + 1];

    conv_taps(taps);
    fill_f(x, n, 6, -1, 1);
    bench_result(y, n);
    return measure(
        name, args, 2.0 * (2 * CONV_R + 1) * n, [&] { k_conv1d(x, taps, y, n); },
        [&] { return chk_conv(x, taps, y, n); });
}

static int nbody(const char *name)
{
    bench_args args = parse(NB_N);
    long n = args.size[0] & ~255l;
    float *p = halloc<float>(4 * n), *a = halloc<float>(4 * n);

    nb_init(p, n);
    bench_result(a, 4 * n);
    return measure(
        name, args, 20.0 * n * n, [&] { k_nbody(p, a, n); }, [&] { return chk_nbody(p, a, n); });
}

static int mandelbrot(const char *name)
{
    bench_args args = parse(MB_W, MB_IT);
    long w = args.size[0];
    int max_it = args.size[1], *out = halloc<int>(w * w);

    mb_prepare(w, max_it);
    bench_result(out, w * w);
    return measure(
        name, args, mb_work, [&] { k_mandelbrot(out, w, max_it); },
        [&] { return chk_mandel(out, w); });
}

static int histogram(const char *name)
{
    bench_args args = parse(HIST_N);
    long n = args.size[0] & ~3l;
    uint8_t *x = halloc<uint8_t>(n);
    uint32_t h[256];

    hist_init(x, n);
    bench_result(h, 256);
    return bench_run(
        name, args, 1.0 * n, [&] { memset(h, 0, sizeof(h)); }, [&] { k_histogram(x, n, h); },
        [&] { return chk_hist(x, n, h); });
}

static int bitonic(const char *name)
{
    bench_args args = parse(BIT_N);
    long n = args.size[0];

    if (n < 1024 || (n & (n - 1)))
        return 2;
    uint32_t *x = halloc<uint32_t>(n), *y = halloc<uint32_t>(n);

    fill_u(x, n, 9);
    bench_result(y, n);
    return bench_run(
        name, args, 8.0 * n, [&] { memcpy(y, x, n * 4); }, [&] { k_bitonic(y, n); },
        [&] { return chk_sorted(x, y, n); });
}

static int blackscholes(const char *name)
{
    bench_args args = parse(BS_N);
    long n = args.size[0];
    float *s = halloc<float>(n), *x = halloc<float>(n), *t = halloc<float>(n);
    float *c = halloc<float>(n), *p = halloc<float>(n);

    bs_init(s, x, t, n);
    bench_result(c, n);
    bench_result(p, n);
    return measure(
        name, args, 20.0 * n, [&] { k_blackscholes(s, x, t, c, p, n, BS_R, BS_V); },
        [&] { return chk_bs(s, x, t, c, p, n); });
}

static int spmv(const char *name)
{
    bench_args args = parse(SP_ROWS);
    csr m = sp_make(args.size[0]);
    long n = m.rows;
    float *y = halloc<float>(n);

    bench_result(y, n);
    return measure(
        name, args, sp_bytes(m), [&] { k_spmv(n, m.row_ptr, m.col, m.val, m.x, y); },
        [&] { return chk_spmv(m, y); });
}

static int softmax(const char *name)
{
    bench_args args = parse(SM_ROWS, SM_COLS);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *y = halloc<float>(r * c);

    fill_f(x, r * c, 51, -8, 8);
    bench_result(y, r * c);
    return measure(
        name, args, 8.0 * r * c, [&] { k_softmax(x, y, r, c); },
        [&] { return chk_softmax(x, y, r, c); });
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
    bench_result(y, r * c);
    return measure(
        name, args, 8.0 * r * c, [&] { k_layernorm(x, g, b, y, r, c); },
        [&] { return chk_layernorm(x, g, b, y, r, c); });
}

static int md5(const char *name)
{
    bench_args args = parse(MD5_N);
    long n = args.size[0];
    uint32_t hash[4], secret = md5_secret(n), found = 0;

    md5_host(secret, hash);
    bench_result(&found, 1);
    return measure(
        name, args, MD5_OPS * n, [&] { found = k_md5(MD5_BASE, n, hash); },
        [&] { return found == secret; });
}

#include "main_arrays.h"
#include "main_layers.h"

static const struct {
    const char *name;
    int (*run)(const char *name);
} benchmarks[] = {
    {"vecadd", vecadd_plain},
    {"vecadd_nt", vecadd_nt},
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
    {"lookback", lookback},
    {"radixsort", radixsort},
    {"topk", topk},
    {"bfs", bfs},
    {"sptrsv", sptrsv},
    {"fft", fft},
    {"philox", philox},
    {"grouped_gemm", grouped_gemm},
    {"conv2d", conv2d},
    {"flash_attention", flash_attention},
    {"rmsnorm_rope", rmsnorm_rope},
    {"int4_gemm", int4_gemm},
};

int main(int argc, char **argv)
{
    argc_ = argc - 1;
    argv_ = argv + 1;
    for (const auto &b : benchmarks)
        if (argc > 1 && !strcmp(b.name, argv[1])) {
            int rc = b.run(b.name);

            printf("\n");
            return rc;
        }
    fprintf(stderr, "usage: %s NAME [sizes] [-r N -w N -n -v -dump FILE]\n", argv[0]);
    return 1;
}
