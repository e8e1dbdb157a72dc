/* Scans, sorts and selections, graphs and sparse systems, transforms, random numbers in plain C +
 * OpenMP, written for the vectoriser of clang 19. */
#include "kernels.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define RS restrict

/* ---- radixsort: each thread has a part of the pairs, and a count of every digit ---- */

enum { DIGITS = 256 };

static void radix_count(const uint32_t *RS keys, long from, long to, int shift, uint32_t *RS count)
{
    memset(count, 0, DIGITS * sizeof(*count));
    for (long i = from; i < to; i++)
        count[keys[i] >> shift & (DIGITS - 1)]++;
}

/* Makes places of the counts: by digit, then by thread. */
static void radix_places(uint32_t (*RS count)[DIGITS], int threads)
{
    uint32_t sum = 0;

    for (int d = 0; d < DIGITS; d++)
        for (int t = 0; t < threads; t++) {
            uint32_t c = count[t][d];

            count[t][d] = sum;
            sum += c;
        }
}

static void radix_scatter(const uint32_t *RS keys, const uint32_t *RS vals, uint32_t *RS keys_out,
                          uint32_t *RS vals_out, long from, long to, int shift, uint32_t *RS place)
{
    for (long i = from; i < to; i++) {
        uint32_t at = place[keys[i] >> shift & (DIGITS - 1)]++;

        keys_out[at] = keys[i];
        vals_out[at] = vals[i];
    }
}

void k_radixsort(uint32_t *keys[2], uint32_t *vals[2], long n)
{
    int threads = omp_get_max_threads();
    uint32_t(*count)[DIGITS] = aligned_alloc(64, threads * sizeof(*count));

#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num(), from = 0;
        long a = n * t / threads, b = n * (t + 1) / threads;

        for (int shift = 0; shift < 32; shift += 8, from ^= 1) {
            radix_count(keys[from], a, b, shift, count[t]);
#pragma omp barrier
#pragma omp single
            radix_places(count, threads);
            radix_scatter(keys[from], vals[from], keys[from ^ 1], vals[from ^ 1], a, b, shift,
                          count[t]);
#pragma omp barrier
        }
    }
    free(count);
}

/* ---- topk ---- */

enum { K = 32, BLOCK = 64 };

/* Puts x where it belongs in the descending list; behind its equals, whose columns are smaller. */
static void topk_insert(float *RS vals, int *RS cols, float x, int col)
{
    int at = K - 1;

    for (; at > 0 && vals[at - 1] < x; at--) {
        vals[at] = vals[at - 1];
        cols[at] = cols[at - 1];
    }
    vals[at] = x;
    cols[at] = col;
}

static void topk_row(const float *RS x, float *RS vals, int *RS cols, long c)
{
    for (int i = 0; i < K; i++)
        vals[i] = -3e38f;
    for (long j0 = 0; j0 < c; j0 += BLOCK) {
        long end = j0 + BLOCK < c ? j0 + BLOCK : c;
        float worst = vals[K - 1];
        int better = 0;

        if (end - j0 == BLOCK) {
#pragma omp simd reduction(| : better)
            for (int j = 0; j < BLOCK; j++)
                better |= x[j0 + j] > worst;
            if (!better)
                continue;
        }
        for (long j = j0; j < end; j++)
            if (x[j] > vals[K - 1])
                topk_insert(vals, cols, x[j], j);
    }
}

void k_topk(const float *RS in, float *RS vals, int *RS cols, long r, long c)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < r; i++)
        topk_row(in + i * c, vals + i * K, cols + i * K, c);
}

/* ---- bfs ---- */

static void bfs_serial(const int *RS first, const int *RS edge, int *RS dist, int *RS queue)
{
    long head = 0, tail = 1;

    while (head < tail) {
        int u = queue[head++], d = dist[u] + 1;

        for (int q = first[u]; q < first[u + 1]; q++) {
            int v = edge[q];

            if (dist[v] < 0) {
                dist[v] = d;
                queue[tail++] = v;
            }
        }
    }
}

enum { PIECE = 1024 };

static void bfs_append(int *RS queue, long *tail, const int *RS found, int n)
{
    long at;

#pragma omp atomic capture
    {
        at = *tail;
        *tail += n;
    }
    memcpy(queue + at, found, n * sizeof(*found));
}

/* A level by all threads, which collect what they find in pieces. */
static void bfs_level(const int *first, const int *edge, int *dist, int *queue, long from, long to,
                      long *tail, int level)
{
    int found[PIECE], n = 0;

#pragma omp for schedule(dynamic, 256) nowait
    for (long i = from; i < to; i++)
        for (int q = first[queue[i]]; q < first[queue[i] + 1]; q++) {
            int v = edge[q], unseen = -1;

            if (__atomic_load_n(&dist[v], __ATOMIC_RELAXED) >= 0 ||
                !__atomic_compare_exchange_n(&dist[v], &unseen, level, 0, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
                continue;
            found[n++] = v;
            if (n == PIECE) {
                bfs_append(queue, tail, found, n);
                n = 0;
            }
        }
    bfs_append(queue, tail, found, n);
#pragma omp barrier
}

void k_bfs(long nodes, const int *first, const int *edge, int *dist, int *queue)
{
    long tail = 1;

    memset(dist, -1, nodes * sizeof(*dist));
    dist[0] = queue[0] = 0;
    if (omp_get_max_threads() == 1) {
        bfs_serial(first, edge, dist, queue);
        return;
    }
#pragma omp parallel
    for (long from = 0, to = 1, level = 1; from < to; level++) {
        bfs_level(first, edge, dist, queue, from, to, &tail, level);
        from = to;
        to = tail;
#pragma omp barrier
    }
}

/* ---- sptrsv ---- */

static inline float tri_row(const int *RS rp, const int *RS ci, const float *RS va, float b,
                            const float *x, long i)
{
    int end = rp[i + 1] - 1;
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int k = rp[i]; k < end; k++)
        sum += va[k] * x[ci[k]];
    return (b - sum) / va[end];
}

/* Several threads take the rows level by level. */
void k_sptrsv(long rows, const int *RS rp, const int *RS ci, const float *RS va, const float *RS b,
              float *x, long levels, const int *RS level_ptr, const int *RS level_rows)
{
    if (omp_get_max_threads() == 1) {
        for (long i = 0; i < rows; i++)
            x[i] = tri_row(rp, ci, va, b[i], x, i);
        return;
    }
#pragma omp parallel
    for (long l = 0; l < levels; l++) {
#pragma omp for schedule(static)
        for (int q = level_ptr[l]; q < level_ptr[l + 1]; q++) {
            int i = level_rows[q];

            x[i] = tri_row(rp, ci, va, b[i], x, i);
        }
    }
}

/* ---- fft: radix 8 in Stockham's order; vectors over the inner index, which is contiguous ---- */

enum { POINTS = 512, PART = POINTS / 8 };

struct planes {
    float re[POINTS], im[POINTS];
};

#define DFT2(a, b)                                                                                 \
    do {                                                                                           \
        float re_ = re[a] - re[b], im_ = im[a] - im[b];                                            \
        re[a] += re[b];                                                                            \
        im[a] += im[b];                                                                            \
        re[b] = re_;                                                                               \
        im[b] = im_;                                                                               \
    } while (0)

#define SET(a, x, y)                                                                               \
    do {                                                                                           \
        float re_ = (x), im_ = (y);                                                                \
        re[a] = re_;                                                                               \
        im[a] = im_;                                                                               \
    } while (0)

#define DFT4(a)                                                                                    \
    do {                                                                                           \
        DFT2((a), (a) + 2);                                                                        \
        DFT2((a) + 1, (a) + 3);                                                                    \
        SET((a) + 3, im[(a) + 3], -re[(a) + 3]);                                                   \
        DFT2((a), (a) + 1);                                                                        \
        DFT2((a) + 2, (a) + 3);                                                                    \
    } while (0)

/* Element i of the result is at its index with the bits reversed. */
static inline void dft8(float re[8], float im[8])
{
    const float half = 0.70710678f;

    DFT2(0, 4);
    DFT2(1, 5);
    DFT2(2, 6);
    DFT2(3, 7);
    SET(5, half * (re[5] + im[5]), half * (im[5] - re[5]));
    SET(6, im[6], -re[6]);
    SET(7, half * (im[7] - re[7]), -half * (re[7] + im[7]));
    DFT4(0);
    DFT4(4);
}

static const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};

/* Points i, i + PART, ...: number k of the result, turned by w[k][i], goes to to[k * stride]. */
static inline __attribute__((always_inline)) void fft_point(const struct planes *RS x,
                                                            const struct planes *RS w, int i,
                                                            float *RS to_re, float *RS to_im,
                                                            int stride)
{
    float re[8], im[8];

#pragma unroll
    for (int k = 0; k < 8; k++) {
        re[k] = x->re[i + k * PART];
        im[k] = x->im[i + k * PART];
    }
    dft8(re, im);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int j = reversed[k];
        float c = w->re[k * PART + i], s = w->im[k * PART + i];

        to_re[k * stride] = re[j] * c - im[j] * s;
        to_im[k * stride] = re[j] * s + im[j] * c;
    }
}

static void fft_first(const struct planes *RS x, struct planes *RS to, const struct planes *RS w)
{
#pragma omp simd
    for (int i = 0; i < PART; i++)
        fft_point(x, w, i, to->re + 8 * i, to->im + 8 * i, 1);
}

/* Runs of `stride` points stay together. */
static inline void fft_step(const struct planes *RS x, struct planes *RS to,
                            const struct planes *RS w, int stride)
{
    for (int i = 0; i < PART; i += stride) {
#pragma omp simd
        for (int j = 0; j < stride; j++)
            fft_point(x, w, i + j, to->re + 8 * i + j, to->im + 8 * i + j, stride);
    }
}

/* What each step turns its results by; the last one by nothing. */
static void fft_turns(const float *RS twiddles, struct planes w[3])
{
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < PART; i++) {
            int turn[3] = {k * i, k * (i / 8 * 8), 0};

            for (int s = 0; s < 3; s++) {
                w[s].re[k * PART + i] = twiddles[2 * turn[s]];
                w[s].im[k * PART + i] = twiddles[2 * turn[s] + 1];
            }
        }
}

void k_fft(const float *RS in, float *RS out, const float *RS twiddles, long batch)
{
    struct planes w[3] __attribute__((aligned(64)));

    fft_turns(twiddles, w);
#pragma omp parallel for schedule(static)
    for (long b = 0; b < batch; b++) {
        struct planes x __attribute__((aligned(64))), y __attribute__((aligned(64)));
        const float *from = in + b * 2 * POINTS;
        float *to = out + b * 2 * POINTS;

        for (int i = 0; i < POINTS; i++) {
            x.re[i] = from[2 * i];
            x.im[i] = from[2 * i + 1];
        }
        fft_first(&x, &y, &w[0]);
        fft_step(&y, &x, &w[1], 8);
        fft_step(&x, &y, &w[2], PART);
        for (int i = 0; i < POINTS; i++) {
            to[2 * i] = y.re[i];
            to[2 * i + 1] = y.im[i];
        }
    }
}

/* ---- philox ---- */

void k_philox(float *RS out, long n, uint32_t key0, uint32_t key1)
{
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n / 4; i++) {
        uint32_t c0 = i, c1 = 0, c2 = 0, c3 = 0, k0 = key0, k1 = key1;

#pragma unroll
        for (int r = 0; r < 10; r++) {
            uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;

            c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
            c1 = (uint32_t)b;
            c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
            c3 = (uint32_t)a;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        out[4 * i] = (float)(int32_t)(c0 >> 8) * (1.0f / 16777216.0f);
        out[4 * i + 1] = (float)(int32_t)(c1 >> 8) * (1.0f / 16777216.0f);
        out[4 * i + 2] = (float)(int32_t)(c2 >> 8) * (1.0f / 16777216.0f);
        out[4 * i + 3] = (float)(int32_t)(c3 >> 8) * (1.0f / 16777216.0f);
    }
}
