/* As refs.h: layers of neural networks. */
#pragma once
#include "bench.h"

/* ---- sizes ---- */
#define GG_GROUPS   64
#define GG_TILE     64 /* rows and columns of a tile of the result */
#define CV_SIDE     56
#define CV_CHANNELS 64 /* in and out; a multiple of 64 */
#define CV_IMAGES   2
#define FA_N        1024 /* queries and keys of a head, a multiple of 64 */
#define FA_HEADS    4
#define FA_D        64
#define RR_TOKENS   4096
#define RR_HEADS    16
#define RR_D        128
#define RR_EPS      1e-6f
#define I4_N        4096
#define I4_K        4096
#define I4_M        8
#define I4_GROUP    128 /* weights that share a scale */

/* ---- 16-bit floats ---- */

/* Multiples of `step`: with a power of two that leaves at most 2048 of them on each side of 0,
 * the values are exact in f16. */
static inline void fill_steps(float *p, long n, uint32_t seed, float limit, float step)
{
    for (long i = 0; i < n; i++)
        p[i] = floorf((urnd((uint32_t)i, seed) * 2 - 1) * limit / step) * step;
}

/* The bits as f16 of a value that is exact in it and not subnormal. */
static inline uint16_t f16_bits(float x)
{
    uint32_t b;

    memcpy(&b, &x, 4);
    if ((b << 1) == 0)
        return (uint16_t)(b >> 16);
    return (uint16_t)((b >> 16 & 0x8000) | ((b >> 23 & 255) - 112) << 10 | (b >> 13 & 1023));
}

static inline float f16_value(uint16_t h)
{
    double size = ldexp((h & 1023) + (h & 0x7c00 ? 1024 : 0), (h & 0x7c00 ? h >> 10 & 31 : 1) - 25);

    return (float)(h & 0x8000 ? -size : size);
}

static inline void f16_pack(uint16_t *h, const float *x, long n)
{
    for (long i = 0; i < n; i++)
        h[i] = f16_bits(x[i]);
}

static inline float bf16_value(uint16_t h)
{
    uint32_t b = (uint32_t)h << 16;
    float x;

    memcpy(&x, &b, 4);
    return x;
}

/* ---- grouped_gemm: C = A B of every group, row major. k is a multiple of 16, n of 64. ---- */

struct gg_problem {
    int32_t m, n, k;
    int32_t first_tile; /* tiles of the groups before */
    int32_t a, b, c;    /* where the matrices begin in the arrays of all groups */
};

struct gg_groups {
    long count;
    gg_problem *p; /* one more than count: it begins where the last ends */
    float *a, *b;
    double flops;
};

static inline gg_groups gg_make(long count)
{
    gg_groups g = {count, (gg_problem *)calloc(count + 1, sizeof(gg_problem)), NULL, NULL, 0};

    for (long i = 0; i < count; i++) {
        gg_problem *p = &g.p[i], *next = p + 1;

        p->m = 1 + hash32(i + 81) % 300;
        p->n = 64 * (1 + hash32(i + 82) % 7);
        p->k = 64 * (2 + hash32(i + 83) % 6);
        next->first_tile = p->first_tile + (p->m + GG_TILE - 1) / GG_TILE * (p->n / GG_TILE);
        next->a = p->a + p->m * p->k;
        next->b = p->b + p->k * p->n;
        next->c = p->c + p->m * p->n;
        g.flops += 2.0 * p->m * p->n * p->k;
    }
    g.a = (float *)malloc(g.p[count].a * 4l);
    g.b = (float *)malloc(g.p[count].b * 4l);
    fill_f(g.a, g.p[count].a, 84, -1, 1);
    fill_f(g.b, g.p[count].b, 85, -1, 1);
    return g;
}

/* Of each group the first and last rows and every 13th, with every fifth column. */
static inline int chk_grouped_one(const float *a, const float *b, const float *c, gg_problem p)
{
    for (long i = 0; i < p.m; i += (i == p.m - 1 || i + 13 < p.m ? 13 : p.m - 1 - i))
        for (long j = i % 5; j < p.n; j += 5) {
            double want = 0;

            for (long k = 0; k < p.k; k++)
                want += (double)a[i * p.k + k] * b[k * p.n + j];
            if (!close_f(c[i * p.n + j], want, 1e-4, 1e-4))
                return bad("grouped_gemm", i * p.n + j, c[i * p.n + j], want);
        }
    return 1;
}

static inline int chk_grouped(const gg_groups &g, const float *c)
{
    for (long i = 0; i < g.count; i++)
        if (!chk_grouped_one(g.a + g.p[i].a, g.b + g.p[i].b, c + g.p[i].c, g.p[i]))
            return 0;
    return 1;
}

/* ---- conv2d: 3 x 3, zeros around, NHWC; weights [row][column][channel in][channel out] ---- */

static inline double conv2d_at(const float *x, const float *w, long side, long ch, long image,
                               long pixel, long out)
{
    double sum = 0;

    for (long r = 0; r < 3; r++)
        for (long s = 0; s < 3; s++) {
            long row = pixel / side + r - 1, col = pixel % side + s - 1;

            if (row < 0 || row >= side || col < 0 || col >= side)
                continue;
            for (long c = 0; c < ch; c++)
                sum += (double)x[((image * side + row) * side + col) * ch + c] *
                       w[((r * 3 + s) * ch + c) * ch + out];
        }
    return sum;
}

/* Every pixel, with one channel in 32. */
static inline int chk_conv2d(const float *x, const float *w, const float *y, long side, long ch)
{
    for (long p = 0; p < CV_IMAGES * side * side; p++)
        for (long k = p % 32; k < ch; k += 32) {
            double want = conv2d_at(x, w, side, ch, p / (side * side), p % (side * side), k);

            if (!close_f(y[p * ch + k], want, 1e-4, 1e-4))
                return bad("conv2d", p * ch + k, y[p * ch + k], want);
        }
    return 1;
}

/* ---- flash_attention: [head][place][FA_D]; softmax(Q K' / 8) V ---- */

static inline void attention_init(float *q, float *k, float *v, long n, long heads)
{
    fill_steps(q, n * heads * FA_D, 91, 4, 1 / 256.0f);
    fill_steps(k, n * heads * FA_D, 92, 1, 1 / 1024.0f);
    fill_steps(v, n * heads * FA_D, 93, 1, 1 / 1024.0f);
}

static inline void attention_row(const float *q, const float *k, const float *v, long n,
                                 double *want)
{
    double sum = 0;

    for (int d = 0; d < FA_D; d++)
        want[d] = 0;
    for (long j = 0; j < n; j++) {
        double dot = 0, e;

        for (int d = 0; d < FA_D; d++)
            dot += (double)q[d] * k[j * FA_D + d];
        e = exp(dot / 8); /* small enough without the maximum taken off */
        sum += e;
        for (int d = 0; d < FA_D; d++)
            want[d] += e * v[j * FA_D + d];
    }
    for (int d = 0; d < FA_D; d++)
        want[d] /= sum;
}

/* 32 queries of each head. The weights and the result may have been rounded to f16. */
static inline int chk_attention(const float *q, const float *k, const float *v, const float *o,
                                long n, long heads)
{
    for (long h = 0; h < heads; h++)
        for (long s = 0; s < 32; s++) {
            long i = h * n + s * (n - 1) / 31;
            double want[FA_D];

            attention_row(q + i * FA_D, k + h * n * FA_D, v + h * n * FA_D, n, want);
            for (int d = 0; d < FA_D; d++)
                if (!close_f(o[i * FA_D + d], want[d], 2e-3, 2e-4))
                    return bad("flash_attention", i * FA_D + d, o[i * FA_D + d], want[d]);
        }
    return 1;
}

/* ---- rmsnorm_rope: [token][head][RR_D] in bf16; each head normalised, then element i turned
 * with element i + RR_D / 2 by an angle of its own per token ---- */

static inline void rope_init(uint16_t *x, long n, float *weight)
{
    for (long i = 0; i < n; i++) {
        float f = urnd((uint32_t)i, 101) * 8 - 4;
        uint32_t b;

        memcpy(&b, &f, 4);
        x[i] = (uint16_t)(b >> 16);
    }
    fill_f(weight, RR_D, 102, 0.5f, 1.5f);
}

static inline double rope_angle(long token, int i)
{
    return token * pow(10000.0, -2.0 * i / RR_D);
}

/* table: the cosines of a token's angles, then their sines. */
static inline void rope_table(float *table, long tokens)
{
    for (long t = 0; t < tokens; t++)
        for (int i = 0; i < RR_D / 2; i++) {
            table[t * RR_D + i] = (float)cos(rope_angle(t, i));
            table[t * RR_D + RR_D / 2 + i] = (float)sin(rope_angle(t, i));
        }
}

static inline int chk_rope_head(const uint16_t *x, const float *weight, const uint16_t *y,
                                long token)
{
    double squares = 0, scale;

    for (int i = 0; i < RR_D; i++)
        squares += (double)bf16_value(x[i]) * bf16_value(x[i]);
    scale = 1 / sqrt(squares / RR_D + RR_EPS);
    for (int i = 0; i < RR_D / 2; i++) {
        int j = i + RR_D / 2;
        double a = bf16_value(x[i]) * scale * weight[i], b = bf16_value(x[j]) * scale * weight[j];
        double c = cos(rope_angle(token, i)), s = sin(rope_angle(token, i));

        if (!close_f(bf16_value(y[i]), a * c - b * s, 1 / 250.0, 1e-4))
            return bad("rmsnorm_rope", i, bf16_value(y[i]), a * c - b * s);
        if (!close_f(bf16_value(y[j]), b * c + a * s, 1 / 250.0, 1e-4))
            return bad("rmsnorm_rope", j, bf16_value(y[j]), b * c + a * s);
    }
    return 1;
}

/* One head in five. */
static inline int chk_rope(const uint16_t *x, const float *weight, const uint16_t *y, long tokens,
                           long heads)
{
    for (long i = 0; i < tokens * heads; i += 5)
        if (!chk_rope_head(x + i * RR_D, weight, y + i * RR_D, i / heads))
            return 0;
    return 1;
}

/* ---- int4_gemm: C [m][n] = A [m][k] W' with W [n][k] of 4-bit weights, 0 to 15 for -8 to 7.
 * Eight weights to a word, those of even k in its lower half. ---- */

struct i4_problem {
    long n, k;
    float *a;      /* exact in f16 */
    uint32_t *w;   /* [n][k / 8] */
    float *scales; /* [n][k / I4_GROUP], exact in f16 */
};

static inline i4_problem i4_make(long n, long k)
{
    i4_problem p = {n, k, (float *)malloc(I4_M * k * 4), (uint32_t *)malloc(n * k / 2),
                    (float *)malloc(n * k / I4_GROUP * 4)};

    fill_steps(p.a, I4_M * k, 111, 1, 1 / 1024.0f);
    fill_u(p.w, n * k / 8, 112);
    for (long i = 0; i < n * k / I4_GROUP; i++)
        p.scales[i] = (64 + hash32(i + 113) % 64) / 8192.0f;
    return p;
}

static inline double i4_product(const i4_problem &p, long i, long j, double *size)
{
    double sum = 0;

    *size = 0;
    for (long k = 0; k < p.k; k++) {
        int shift = k % 2 * 16 + k % 8 / 2 * 4;
        int q = (int)(p.w[(j * p.k + k) / 8] >> shift & 15) - 8;
        double term = (double)p.a[i * p.k + k] * q * p.scales[(j * p.k + k) / I4_GROUP];

        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* One column in 17. */
static inline int chk_int4(const i4_problem &p, const float *c)
{
    for (long i = 0; i < I4_M; i++)
        for (long j = i; j < p.n; j += 17) {
            double size, want = i4_product(p, i, j, &size);

            if (!(fabs(c[i * p.n + j] - want) <= 1e-5 * size))
                return bad("int4_gemm", i * p.n + j, c[i * p.n + j], want);
        }
    return 1;
}
