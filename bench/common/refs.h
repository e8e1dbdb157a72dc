/* The problems: default sizes, deterministic inputs, amounts of work and CPU references, shared
 * by all versions. */
#pragma once
#include "bench.h"

/* ---- sizes ---- */
#define VEC_N    (16l << 20) /* vecadd, saxpy, reduce: 64 MiB per array */
#define SCAN_N   (4l << 20)
#define TR_N     4096
#define MM_N     1024
#define ST_N     4096
#define CONV_N   (8l << 20)
#define CONV_R   16 /* radius: 33 taps */
#define NB_N     8192
#define NB_EPS   0.01f
#define MB_W     1024
#define MB_IT    512
#define HIST_N   (16l << 20) /* bytes */
#define BIT_N    (1l << 20)
#define BS_N     (4l << 20)
#define BS_R     0.02f /* riskless rate */
#define BS_V     0.30f /* volatility */
#define SP_ROWS  262144
#define SM_ROWS  8192
#define SM_COLS  1024
#define MD5_N    (4l << 20)
#define MD5_OPS  512.0 /* 64 steps of 3 logic operations, 4 additions and a rotation */
#define MD5_BASE 0x10000000u

/* ---- inputs ---- */

static inline uint32_t hash32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

/* Uniform in [0, 1): the i-th value of sequence `seed`. */
static inline float urnd(uint32_t i, uint32_t seed)
{
    return (float)(hash32(i * 2654435761u + seed * 0x9e3779b9u) >> 8) * (1.0f / 16777216.0f);
}

static inline void fill_f(float *p, long n, uint32_t seed, float lo, float hi)
{
    for (long i = 0; i < n; i++)
        p[i] = lo + (hi - lo) * urnd((uint32_t)i, seed);
}

static inline void fill_u(uint32_t *p, long n, uint32_t seed)
{
    for (long i = 0; i < n; i++)
        p[i] = hash32((uint32_t)i * 2654435761u + seed);
}

/* ---- comparing ---- */

static inline int close_f(double a, double b, double rel, double abs_)
{
    double d = fabs(a - b);

    return d <= abs_ || d <= rel * fmax(fabs(a), fabs(b));
}

static inline int bad(const char *what, long i, double got, double want)
{
    fprintf(stderr, "%s: mismatch at %ld: got %.9g want %.9g\n", what, i, got, want);
    return 0;
}

/* ---- vecadd, saxpy, reduce, scan ---- */

static inline int chk_vecadd(const float *a, const float *b, const float *c, long n)
{
    for (long i = 0; i < n; i++)
        if (c[i] != a[i] + b[i])
            return bad("vecadd", i, c[i], a[i] + b[i]);
    return 1;
}

static inline int chk_saxpy(float al, const float *x, const float *y0, const float *y, long n)
{
    for (long i = 0; i < n; i++) {
        double want = (double)al * x[i] + y0[i];

        if (!close_f(y[i], want, 1e-6, 1e-6))
            return bad("saxpy", i, y[i], want);
    }
    return 1;
}

static inline int chk_reduce(const float *x, long n, float got)
{
    double want = 0;

    for (long i = 0; i < n; i++)
        want += x[i];
    return close_f(got, want, 1e-4, 0) ? 1 : bad("reduce", 0, got, want);
}

/* Exclusive prefix sum modulo 2^32. */
static inline int chk_scan(const uint32_t *in, const uint32_t *out, long n)
{
    uint32_t sum = 0;

    for (long i = 0; i < n; i++) {
        if (out[i] != sum)
            return bad("scan", i, out[i], sum);
        sum += in[i];
    }
    return 1;
}

/* ---- dense matrices and grids ---- */

static inline int chk_transpose(const float *in, const float *out, long n)
{
    for (long y = 0; y < n; y++)
        for (long x = 0; x < n; x++)
            if (out[x * n + y] != in[y * n + x])
                return bad("transpose", y * n + x, out[x * n + y], in[y * n + x]);
    return 1;
}

/* 4096 elements: 64 around the anti-diagonal, the others at random. */
static inline int chk_sgemm(const float *A, const float *B, const float *C, long n)
{
    for (long k = 0; k < 4096; k++) {
        uint32_t h = hash32((uint32_t)k * 77 + 5);
        long i = k < 64 ? (k * n / 64 + (k & 7)) % n : h % n;
        long j = k < 64 ? (n - 1 - (k * n / 64)) % n : (h >> 10) % n;
        double want = 0;

        for (long q = 0; q < n; q++)
            want += (double)A[i * n + q] * B[q * n + j];
        if (!close_f(C[i * n + j], want, 1e-4, 1e-3))
            return bad("sgemm", i * n + j, C[i * n + j], want);
    }
    return 1;
}

static inline int chk_stencil(const float *in, const float *out, long n)
{
    for (long y = 0; y < n; y++)
        for (long x = 0; x < n; x++) {
            long i = y * n + x;
            double want = in[i];

            if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
                want =
                    0.5 * in[i] + 0.125 * ((double)in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
            if (!close_f(out[i], want, 1e-5, 1e-6))
                return bad("stencil", i, out[i], want);
        }
    return 1;
}

static inline void conv_taps(float *taps)
{
    for (int i = 0; i < 2 * CONV_R + 1; i++)
        taps[i] = (1.0f + i % 5) / (float)(CONV_R + 3);
}

/* Both ends completely, every 16th element in the middle. */
static inline int chk_conv(const float *in, const float *taps, const float *out, long n)
{
    for (long i = 0; i < n; i++) {
        double want = 0;

        if (i > 100000 && i < n - 100000 && i % 16)
            continue;
        for (int k = -CONV_R; k <= CONV_R; k++) {
            long j = i + k;

            if (j >= 0 && j < n)
                want += (double)taps[k + CONV_R] * in[j];
        }
        if (!close_f(out[i], want, 1e-4, 1e-4))
            return bad("conv", i, out[i], want);
    }
    return 1;
}

/* ---- nbody: x, y, z, mass per body ---- */

static inline void nb_init(float *p, long n)
{
    for (long i = 0; i < n; i++) {
        p[4 * i] = urnd(i, 11) * 2 - 1;
        p[4 * i + 1] = urnd(i, 12) * 2 - 1;
        p[4 * i + 2] = urnd(i, 13) * 2 - 1;
        p[4 * i + 3] = urnd(i, 14) + 0.1f;
    }
}

static inline void nb_reference(const float *p, long n, long i, double acc[3])
{
    acc[0] = acc[1] = acc[2] = 0;
    for (long j = 0; j < n; j++) {
        double d[3], r2 = NB_EPS, s;

        for (int k = 0; k < 3; k++) {
            d[k] = (double)p[4 * j + k] - p[4 * i + k];
            r2 += d[k] * d[k];
        }
        s = p[4 * j + 3] / (r2 * sqrt(r2));
        for (int k = 0; k < 3; k++)
            acc[k] += d[k] * s;
    }
}

static inline int chk_nbody(const float *p, const float *a, long n)
{
    for (long q = 0; q < 128; q++) {
        long i = q * (n - 1) / 127;
        double want[3], limit;

        nb_reference(p, n, i, want);
        limit = sqrt(want[0] * want[0] + want[1] * want[1] + want[2] * want[2]) * 1e-3;
        for (int k = 0; k < 3; k++)
            if (!(fabs(a[4 * i + k] - want[k]) <= limit))
                return bad("nbody", i, a[4 * i + k], want[k]);
    }
    return 1;
}

/* ---- mandelbrot ---- */

static inline int mb_point(float cx, float cy, int max_it)
{
    float x = 0, y = 0;
    int it = 0;

    while (it < max_it) {
        float xx = x * x, yy = y * y;

        if (xx + yy > 4.0f)
            break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        it++;
    }
    return it;
}

static double mb_work;  /* 8 flops per iteration, counted by the reference */
static int32_t *mb_ref; /* iterations per pixel */

static inline void mb_prepare(long w, int max_it)
{
    double iterations = 0;

    mb_ref = (int32_t *)malloc(w * w * 4);
    for (long y = 0; y < w; y++)
        for (long x = 0; x < w; x++) {
            float cx = -2.0f + 3.0f * (float)x / (float)w;
            float cy = -1.5f + 3.0f * (float)y / (float)w;
            int k = mb_point(cx, cy, max_it);

            mb_ref[y * w + x] = k;
            iterations += k;
        }
    mb_work = iterations * 8;
}

/* Contraction to fma may move pixels on the boundary: 0.5 % may differ. */
static inline int chk_mandel(const int32_t *out, long w)
{
    long diff = 0;

    for (long i = 0; i < w * w; i++)
        diff += out[i] != mb_ref[i];
    return diff <= w * w / 200 ? 1 : bad("mandelbrot differing pixels", diff, diff, 0);
}

/* ---- histogram: bytes, skewed to small bins ---- */

static inline void hist_init(uint8_t *d, long n)
{
    for (long i = 0; i < n; i++) {
        uint32_t h = hash32((uint32_t)i + 99);

        d[i] = (uint8_t)((h & 255) * ((h >> 8) & 255) >> 8);
    }
}

static inline int chk_hist(const uint8_t *d, long n, const uint32_t *hist)
{
    uint32_t want[256] = {0};

    for (long i = 0; i < n; i++)
        want[d[i]]++;
    for (int i = 0; i < 256; i++)
        if (want[i] != hist[i])
            return bad("hist", i, hist[i], want[i]);
    return 1;
}

/* ---- sort: ascending and the same multiset (sum and xor of squares) ---- */

static inline int chk_sorted(const uint32_t *in, const uint32_t *out, long n)
{
    uint64_t sum_in = 0, sum_out = 0, xor_in = 0, xor_out = 0;

    for (long i = 0; i < n; i++) {
        sum_in += in[i];
        sum_out += out[i];
        xor_in ^= (uint64_t)in[i] * in[i];
        xor_out ^= (uint64_t)out[i] * out[i];
        if (i && out[i - 1] > out[i])
            return bad("sort", i, out[i], out[i - 1]);
    }
    return sum_in == sum_out && xor_in == xor_out;
}

/* ---- black-scholes ---- */

static inline void bs_init(float *S, float *X, float *T, long n)
{
    fill_f(S, n, 21, 5, 30);
    fill_f(X, n, 22, 1, 100);
    fill_f(T, n, 23, 0.25f, 10);
}

static inline double bs_cnd(double d)
{
    return 0.5 * erfc(-d / sqrt(2.0));
}

static inline int chk_bs(const float *S, const float *X, const float *T, const float *call,
                         const float *put, long n)
{
    for (long i = 0; i < n; i += 61) {
        double sq = sqrt((double)T[i]);
        double d1 = (log((double)S[i] / X[i]) + (BS_R + 0.5 * BS_V * BS_V) * T[i]) / (BS_V * sq);
        double d2 = d1 - BS_V * sq;
        double e = exp(-(double)BS_R * T[i]);
        double want_call = S[i] * bs_cnd(d1) - X[i] * e * bs_cnd(d2);
        double want_put = X[i] * e * bs_cnd(-d2) - S[i] * bs_cnd(-d1);

        if (!close_f(call[i], want_call, 1e-4, 2e-4))
            return bad("bs call", i, call[i], want_call);
        if (!close_f(put[i], want_put, 1e-4, 2e-4))
            return bad("bs put", i, put[i], want_put);
    }
    return 1;
}

/* ---- spmv: CSR, 4 to 28 entries per row; three in four within a band of 2048, the others
 * anywhere ---- */

struct csr {
    long rows, nnz;
    int32_t *row_ptr, *col;
    float *val, *x;
};

static inline csr sp_make(long rows)
{
    csr m;
    long k = 0;

    m.rows = rows;
    m.row_ptr = (int32_t *)malloc((rows + 1) * 4);
    for (long i = 0; i < rows; i++) {
        m.row_ptr[i] = k;
        k += 4 + hash32(i + 7) % 25;
    }
    m.row_ptr[rows] = k;
    m.nnz = k;
    m.col = (int32_t *)malloc(k * 4);
    m.val = (float *)malloc(k * 4);
    m.x = (float *)malloc(rows * 4);
    fill_f(m.x, rows, 31, -1, 1);
    for (long i = 0; i < rows; i++)
        for (long q = m.row_ptr[i]; q < m.row_ptr[i + 1]; q++) {
            uint32_t h = hash32((uint32_t)q * 3 + 1);
            long anywhere = (long)(h >> 2) % rows;
            long near = ((i + (long)(h >> 2) % 2048 - 1024) % rows + rows) % rows;

            m.col[q] = (h & 3) ? near : anywhere;
            m.val[q] = urnd(q, 32) - 0.5f;
        }
    return m;
}

static inline double sp_bytes(const csr &m)
{
    return m.nnz * 8.0 + m.rows * 12.0;
}

static inline int chk_spmv(const csr &m, const float *y)
{
    for (long i = 0; i < m.rows; i++) {
        double want = 0;

        for (long q = m.row_ptr[i]; q < m.row_ptr[i + 1]; q++)
            want += (double)m.val[q] * m.x[m.col[q]];
        if (!close_f(y[i], want, 1e-4, 1e-4))
            return bad("spmv", i, y[i], want);
    }
    return 1;
}

/* ---- softmax, layernorm: the first 8 rows and every 37th ---- */

static inline int chk_softmax(const float *in, const float *out, long rows, long cols)
{
    for (long i = 0; i < rows; i += (i < 8 ? 1 : 37)) {
        const float *x = in + i * cols;
        double max = -1e30, sum = 0;

        for (long j = 0; j < cols; j++)
            max = fmax(max, x[j]);
        for (long j = 0; j < cols; j++)
            sum += exp(x[j] - max);
        for (long j = 0; j < cols; j++) {
            double want = exp(x[j] - max) / sum;

            if (!close_f(out[i * cols + j], want, 1e-4, 1e-7))
                return bad("softmax", i * cols + j, out[i * cols + j], want);
        }
    }
    return 1;
}

static inline int chk_layernorm(const float *in, const float *g, const float *b, const float *out,
                                long rows, long cols)
{
    for (long i = 0; i < rows; i += (i < 8 ? 1 : 37)) {
        const float *x = in + i * cols;
        double mean = 0, var = 0, scale;

        for (long j = 0; j < cols; j++)
            mean += x[j];
        mean /= cols;
        for (long j = 0; j < cols; j++)
            var += (x[j] - mean) * (x[j] - mean);
        var /= cols;
        scale = 1 / sqrt(var + 1e-5);
        for (long j = 0; j < cols; j++) {
            double want = (x[j] - mean) * scale * g[j] + b[j];

            if (!close_f(out[i * cols + j], want, 1e-3, 1e-4))
                return bad("layernorm", i * cols + j, out[i * cols + j], want);
        }
    }
    return 1;
}

/* ---- MD5 of an 8-byte message: the key as 8 lower-case hex digits; one 64-byte block ---- */

/* The rounds' constant: floor(2^32 |sin(i + 1)|) (RFC 1321). */
static inline uint32_t md5_constant(int i)
{
    return (uint32_t)(fabs(sin(i + 1.0)) * 4294967296.0);
}

static inline void md5_host(uint32_t key, uint32_t out[4])
{
    static const int shift[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t w[16] = {0}, a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    char digits[9];

    snprintf(digits, sizeof(digits), "%08x", key);
    memcpy(w, digits, 8);
    w[2] = 0x80;
    w[14] = 64;
    for (int i = 0; i < 64; i++) {
        int s = shift[i / 16][i % 4], g;
        uint32_t f, x;

        if (i < 16) {
            f = (b & c) | (~b & d);
            g = i;
        } else if (i < 32) {
            f = (d & b) | (~d & c);
            g = (5 * i + 1) & 15;
        } else if (i < 48) {
            f = b ^ c ^ d;
            g = (3 * i + 5) & 15;
        } else {
            f = c ^ (b | ~d);
            g = (7 * i) & 15;
        }
        x = a + f + md5_constant(i) + w[g];
        a = d;
        d = c;
        c = b;
        b += (x << s) | (x >> (32 - s));
    }
    out[0] = a + 0x67452301;
    out[1] = b + 0xefcdab89;
    out[2] = c + 0x98badcfe;
    out[3] = d + 0x10325476;
}

/* The key that the search has to find. */
static inline uint32_t md5_secret(long n)
{
    return MD5_BASE + (uint32_t)(n - 12345 % n - 1);
}

#include "refs_arrays.h"
#include "refs_layers.h"
