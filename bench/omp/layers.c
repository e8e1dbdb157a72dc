/* Layers of neural networks in C + OpenMP. Sums stay in registers as vectors of clang's; the rest
 * is left to the vectoriser. */
#include "kernels.h"
#include "fmath.h"
#include <stdlib.h>
#include <string.h>

#define RS restrict

typedef float v16 __attribute__((vector_size(64)));
typedef float v16_unaligned __attribute__((vector_size(64), aligned(4)));

static inline v16 v16_load(const float *p)
{
    return *(const v16_unaligned *)p;
}

static inline void v16_store(float *p, v16 v)
{
    *(v16_unaligned *)p = v;
}

/* ---- the block that the products are made of: BLOCK rows of 32 columns ---- */

enum { BLOCK = 8, COLS = 32 };

struct block {
    v16 v[BLOCK][2];
};

/* c += a b; a row of a or b begins a_row or b_row after the one before. */
static inline __attribute__((always_inline)) void block_multiply(struct block *c, const float *RS a,
                                                                 long a_row, const float *RS b,
                                                                 long b_row, long k)
{
    for (long q = 0; q < k; q++) {
        v16 b0 = v16_load(b + q * b_row), b1 = v16_load(b + q * b_row + 16);

#pragma unroll
        for (int i = 0; i < BLOCK; i++) {
            float x = a[i * a_row + q];

            c->v[i][0] += x * b0;
            c->v[i][1] += x * b1;
        }
    }
}

static inline void block_store(const struct block *c, float *RS to, long row)
{
#pragma unroll
    for (int i = 0; i < BLOCK; i++) {
        v16_store(to + i * row, c->v[i][0]);
        v16_store(to + i * row + 16, c->v[i][1]);
    }
}

static inline struct block block_load(const float *RS from, long row)
{
    struct block c;

#pragma unroll
    for (int i = 0; i < BLOCK; i++) {
        c.v[i][0] = v16_load(from + i * row);
        c.v[i][1] = v16_load(from + i * row + 16);
    }
    return c;
}

/* ---- grouped_gemm ---- */

/* The last rows, fewer than a block. */
static void gemm_rest(const float *RS a, const float *RS b, float *RS c, long rows, long n, long k)
{
    for (long i = 0; i < rows; i++) {
        memset(c + i * n, 0, n * sizeof(*c));
        for (long q = 0; q < k; q++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * k + q] * b[q * n + j];
    }
}

void k_gemm_group(const float *RS a, const float *RS b, float *RS c, long m, long n, long k)
{
#pragma omp for schedule(dynamic) nowait
    for (long i = 0; i < m; i += BLOCK) {
        if (m - i < BLOCK) {
            gemm_rest(a + i * k, b, c + i * n, m - i, n, k);
            continue;
        }
        for (long j = 0; j < n; j += COLS) {
            struct block sums = {0};

            block_multiply(&sums, a + i * k, k, b + j, n, k);
            block_store(&sums, c + i * n + j, n);
        }
    }
}

/* ---- conv2d: eight pixels of a row at a time, on a copy with zeros around ---- */

/* Whole blocks of columns, so that the last one of a row may be read. */
static long padded_side(long side)
{
    return (side + BLOCK - 1) / BLOCK * BLOCK + 2;
}

static float *images_pad(const float *RS x, long images, long side, long ch)
{
    long width = padded_side(side), size_B = images * (side + 2) * width * ch * sizeof(float);
    float *p = aligned_alloc(64, (size_B + 63) & ~63l);

    memset(p, 0, size_B);
#pragma omp parallel for schedule(static)
    for (long r = 0; r < images * side; r++)
        memcpy(p + ((r / side * (side + 2) + r % side + 1) * width + 1) * ch, x + r * side * ch,
               side * ch * sizeof(float));
    return p;
}

/* x: of the pixel's upper left neighbour; w and y: of the first of 32 output channels. */
static inline struct block conv2d_block(const float *RS x, const float *RS w, long width, long ch)
{
    struct block sums = {0};

    for (int place = 0; place < 9; place++)
        block_multiply(&sums, x + (place / 3 * width + place % 3) * ch, ch, w + place * ch * ch, ch,
                       ch);
    return sums;
}

void k_conv2d(const float *RS x, const float *RS w, float *RS y, long images, long side, long ch)
{
    long width = padded_side(side);
    float *padded = images_pad(x, images, side, ch);

#pragma omp parallel for schedule(static)
    for (long r = 0; r < images * side; r++)
        for (long out = 0; out < ch; out += COLS)
            for (long p = 0; p < side; p += BLOCK) {
                const float *from = padded + ((r / side * (side + 2) + r % side) * width + p) * ch;
                struct block sums = conv2d_block(from, w + out, width, ch);
                float part[BLOCK * COLS];

                block_store(&sums, part, COLS);
                for (long i = 0; i < BLOCK && p + i < side; i++)
                    memcpy(y + (r * side + p + i) * ch + out, part + i * COLS,
                           COLS * sizeof(float));
            }
    free(padded);
}

/* ---- flash_attention: eight queries at a time over blocks of 64 keys ---- */

enum { D = 64, KEYS = 64 };

struct queries {
    float out[BLOCK][D], weights[BLOCK][KEYS], max[BLOCK], sum[BLOCK];
};

/* kt: keys turned, [D][n]. */
static void attention_scores(struct queries *s, const float *RS q, const float *RS kt, long n)
{
    for (int j = 0; j < KEYS; j += COLS) {
        struct block sums = {0};

        block_multiply(&sums, q, D, kt + j, n, D);
        block_store(&sums, &s->weights[0][j], KEYS);
    }
}

static void attention_softmax(struct queries *s, int i)
{
    float *RS w = s->weights[i], *RS out = s->out[i], max = s->max[i], sum = 0, rescale;

#pragma omp simd reduction(max : max)
    for (int j = 0; j < KEYS; j++)
        max = w[j] > max ? w[j] : max;
    rescale = fexp((s->max[i] - max) * 0.125f);
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < KEYS; j++) {
        w[j] = fexp((w[j] - max) * 0.125f);
        sum += w[j];
    }
#pragma omp simd
    for (int d = 0; d < D; d++)
        out[d] *= rescale;
    s->max[i] = max;
    s->sum[i] = s->sum[i] * rescale + sum;
}

static void attention_weigh(struct queries *s, const float *RS v)
{
    for (int d = 0; d < D; d += COLS) {
        struct block sums = block_load(&s->out[0][d], D);

        block_multiply(&sums, s->weights[0], KEYS, v + d, D, KEYS);
        block_store(&sums, &s->out[0][d], D);
    }
}

static void attention_block(const float *RS q, const float *RS kt, const float *RS v, float *RS o,
                            long n)
{
    struct queries s __attribute__((aligned(64))) = {0};

    for (int i = 0; i < BLOCK; i++)
        s.max[i] = -3e38f;
    for (long j = 0; j < n; j += KEYS) {
        attention_scores(&s, q, kt + j, n);
        for (int i = 0; i < BLOCK; i++)
            attention_softmax(&s, i);
        attention_weigh(&s, v + j * D);
    }
    for (int i = 0; i < BLOCK; i++)
        for (int d = 0; d < D; d++)
            o[i * D + d] = s.out[i][d] / s.sum[i];
}

void k_attention(const float *RS q, const float *RS k, const float *RS v, float *RS o, long n,
                 long heads)
{
    float *kt = aligned_alloc(64, heads * D * n * sizeof(*kt));

#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (long i = 0; i < heads * D; i++)
            for (long j = 0; j < n; j++)
                kt[i * n + j] = k[(i / D * n + j) * D + i % D];
#pragma omp for schedule(static)
        for (long i = 0; i < heads * n; i += BLOCK) {
            long head = i / n;

            attention_block(q + i * D, kt + head * D * n, v + head * n * D, o + i * D, n);
        }
    }
    free(kt);
}

/* ---- rmsnorm_rope ---- */

enum { HEAD = 128, HALF = HEAD / 2 };

static inline float bf16_load(uint16_t h)
{
    uint32_t b = (uint32_t)h << 16;
    float x;

    memcpy(&x, &b, 4);
    return x;
}

/* To nearest, ties to even. */
static inline uint16_t bf16_round(float x)
{
    uint32_t b;

    memcpy(&b, &x, 4);
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static inline void rope_head(const uint16_t *RS x, const float *RS weight, const float *RS c,
                             const float *RS s, uint16_t *RS y, float eps)
{
    float squares = 0, scale;

#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < HEAD; i++)
        squares += bf16_load(x[i]) * bf16_load(x[i]);
    scale = 1 / sqrtf(squares / HEAD + eps);
#pragma omp simd
    for (int i = 0; i < HALF; i++) {
        float a = bf16_load(x[i]) * scale * weight[i];
        float b = bf16_load(x[i + HALF]) * scale * weight[i + HALF];

        y[i] = bf16_round(a * c[i] - b * s[i]);
        y[i + HALF] = bf16_round(b * c[i] + a * s[i]);
    }
}

void k_rmsnorm_rope(const uint16_t *RS x, const float *RS weight, const float *RS table,
                    uint16_t *RS y, long tokens, long heads, float eps)
{
#pragma omp parallel for schedule(static)
    for (long t = 0; t < tokens; t++) {
        const float *angles = table + t * HEAD;

        for (long h = t * heads; h < (t + 1) * heads; h++)
            rope_head(x + h * HEAD, weight, angles, angles + HALF, y + h * HEAD, eps);
    }
}

/* ---- int4_gemm: a column of the result at a time, 128 weights of it at a time ---- */

enum { ROWS = 8, GROUP = 128 };

static inline void weights_load(const uint32_t *RS words, float scale, float *RS w)
{
    static const uint32_t shift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

    for (int i = 0; i < GROUP / 8; i++)
        for (int j = 0; j < 8; j++)
            w[8 * i + j] = (float)((int32_t)(words[i] >> shift[j] & 15) - 8) * scale;
}

static inline float v16_sum(v16 v)
{
    float sum = 0;

    for (int i = 0; i < 16; i++)
        sum += v[i];
    return sum;
}

static void int4_column(const float *RS a, const uint32_t *RS w, const float *RS scales,
                        float *RS c, long n, long k)
{
    v16 acc[ROWS] = {0};

    for (long k0 = 0; k0 < k; k0 += GROUP) {
        float weights[GROUP] __attribute__((aligned(64)));

        weights_load(w + k0 / 8, scales[k0 / GROUP], weights);
        for (int i = 0; i < GROUP; i += 16) {
            v16 x = v16_load(weights + i);

#pragma unroll
            for (int m = 0; m < ROWS; m++)
                acc[m] += x * v16_load(a + m * k + k0 + i);
        }
    }
    for (int m = 0; m < ROWS; m++)
        c[m * n] = v16_sum(acc[m]);
}

void k_int4_gemm(const float *RS a, const uint32_t *RS w, const float *RS scales, float *RS c,
                 long n, long k)
{
#pragma omp parallel for schedule(static)
    for (long j = 0; j < n; j++)
        int4_column(a, w + j * k / 8, scales + j * k / GROUP, c + j, n, k);
}
