/* As refs.h: scans, sorts and selections, graphs and sparse systems, transforms, random numbers. */
#pragma once
#include "bench.h"

/* ---- sizes ---- */
#define RADIX_N  (1l << 18)
#define TOPK_R   1024
#define TOPK_C   8192
#define TOPK_K   32
#define BFS_N    (1l << 18)
#define TRI_ROWS (1l << 16)
#define FFT_N    512 /* points */
#define FFT_B    4096
#define PHILOX_N (16l << 20)

/* ---- radixsort: keys that occur several times; each value is the place of its key ---- */

static inline void radix_init(uint32_t *keys, uint32_t *vals, long n)
{
    for (long i = 0; i < n; i++) {
        keys[i] = hash32(hash32((uint32_t)i) % (uint32_t)(n / 2 + 1));
        vals[i] = (uint32_t)i;
    }
}

/* Ascending, and equal keys in their old order. Strictly ascending pairs from the input are all of
 * it. */
static inline int chk_radix(const uint32_t *in, const uint32_t *keys, const uint32_t *vals, long n)
{
    for (long i = 0; i < n; i++) {
        if (vals[i] >= n || in[vals[i]] != keys[i])
            return bad("radixsort value", i, vals[i], keys[i]);
        if (i && keys[i - 1] > keys[i])
            return bad("radixsort order", i, keys[i], keys[i - 1]);
        if (i && keys[i - 1] == keys[i] && vals[i - 1] >= vals[i])
            return bad("radixsort stability", i, vals[i], vals[i - 1]);
    }
    return 1;
}

/* ---- topk: descending; of equal values the one with the smaller column first ---- */

/* Rounded to steps, so that values occur several times in a row. */
static inline void topk_init(float *x, long n)
{
    for (long i = 0; i < n; i++)
        x[i] = floorf(urnd((uint32_t)i, 61) * 65536) / 4096 - 8;
}

static inline int topk_before(const float *x, long a, long b)
{
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

static inline int chk_topk_row(const float *x, const float *vals, const int32_t *cols, long n)
{
    long before_last = 0;

    for (int j = 0; j < TOPK_K; j++) {
        if (cols[j] < 0 || cols[j] >= n || vals[j] != x[cols[j]])
            return bad("topk value", j, vals[j], cols[j]);
        if (j && !topk_before(x, cols[j - 1], cols[j]))
            return bad("topk order", j, vals[j], vals[j - 1]);
    }
    for (long i = 0; i < n; i++)
        before_last += topk_before(x, i, cols[TOPK_K - 1]);
    return before_last == TOPK_K - 1 ? 1 : bad("topk rank", n, before_last, TOPK_K - 1);
}

static inline int chk_topk(const float *x, const float *vals, const int32_t *cols, long r, long c)
{
    for (long i = 0; i < r; i++)
        if (!chk_topk_row(x + i * c, vals + i * TOPK_K, cols + i * TOPK_K, c))
            return 0;
    return 1;
}

/* ---- bfs: a directed graph, 1 to 15 edges per node, to anywhere ---- */

struct graph {
    long nodes, edges;
    int32_t *first, *to; /* the edges of node i: to[first[i]] to to[first[i + 1] - 1] */
};

static inline graph bfs_make(long nodes)
{
    graph g = {nodes, 0, (int32_t *)malloc((nodes + 1) * 4), NULL};

    for (long i = 0; i < nodes; i++) {
        g.first[i] = g.edges;
        g.edges += 1 + hash32(i + 17) % 15;
    }
    g.first[nodes] = g.edges;
    g.to = (int32_t *)malloc(g.edges * 4);
    for (long q = 0; q < g.edges; q++)
        g.to[q] = hash32((uint32_t)q * 5 + 3) % (uint32_t)nodes;
    return g;
}

/* Steps from node 0, -1 where no way leads. */
static inline int chk_bfs(const graph &g, const int32_t *dist)
{
    int32_t *want = (int32_t *)malloc(g.nodes * 4), *queue = (int32_t *)malloc(g.nodes * 4);
    long head = 0, tail = 1, wrong = -1;

    memset(want, -1, g.nodes * 4);
    want[0] = queue[0] = 0;
    while (head < tail) {
        int32_t u = queue[head++];

        for (long q = g.first[u]; q < g.first[u + 1]; q++)
            if (want[g.to[q]] < 0) {
                want[g.to[q]] = want[u] + 1;
                queue[tail++] = g.to[q];
            }
    }
    for (long i = 0; i < g.nodes && wrong < 0; i++)
        if (dist[i] != want[i])
            wrong = i;
    if (wrong >= 0)
        bad("bfs", wrong, dist[wrong], want[wrong]);
    free(want);
    free(queue);
    return wrong < 0;
}

/* ---- sptrsv: L x = b with L lower triangular in CSR, the diagonal last in its row; up to 24
 * entries beside it in a band of 4096. Rows of a level need those of earlier levels alone. ---- */

struct triangle {
    long rows, nnz, levels;
    int32_t *row_ptr, *col;
    float *val, *b;
    int32_t *level_ptr, *level_rows;
};

/* The rows in the order of their levels. */
static inline void tri_levels(triangle *m)
{
    int32_t *level = (int32_t *)malloc(m->rows * 4);

    m->levels = 0;
    for (long i = 0; i < m->rows; i++) {
        level[i] = 0;
        for (long q = m->row_ptr[i]; q < m->row_ptr[i + 1] - 1; q++)
            if (level[m->col[q]] >= level[i])
                level[i] = level[m->col[q]] + 1;
        if (level[i] >= m->levels)
            m->levels = level[i] + 1;
    }
    m->level_ptr = (int32_t *)calloc(m->levels + 2, 4);
    m->level_rows = (int32_t *)malloc(m->rows * 4);
    for (long i = 0; i < m->rows; i++)
        m->level_ptr[level[i] + 2]++;
    for (long l = 2; l <= m->levels; l++)
        m->level_ptr[l] += m->level_ptr[l - 1];
    for (long i = 0; i < m->rows; i++)
        m->level_rows[m->level_ptr[level[i] + 1]++] = i;
    free(level);
}

static inline triangle tri_make(long rows)
{
    triangle m = {};
    long k = 0;

    m.rows = rows;
    m.row_ptr = (int32_t *)malloc((rows + 1) * 4);
    for (long i = 0; i < rows; i++) {
        long most = 8 + hash32(i + 27) % 17;

        m.row_ptr[i] = k;
        k += (i < most ? i : most) + 1;
    }
    m.row_ptr[rows] = m.nnz = k;
    m.col = (int32_t *)malloc(k * 4);
    m.val = (float *)malloc(k * 4);
    m.b = (float *)malloc(rows * 4);
    fill_f(m.b, rows, 71, -1, 1);
    for (long i = 0; i < rows; i++) {
        long end = m.row_ptr[i + 1] - 1, reach = i < 4096 ? i : 4096;

        for (long q = m.row_ptr[i]; q < end; q++) {
            m.col[q] = i - 1 - hash32((uint32_t)q * 7 + 1) % (uint32_t)reach;
            m.val[q] = (urnd(q, 72) - 0.5f) * 0.125f;
        }
        m.col[end] = i;
        m.val[end] = 1 + urnd(i, 73);
    }
    tri_levels(&m);
    return m;
}

static inline double tri_bytes(const triangle &m)
{
    return m.nnz * 8.0 + m.rows * 12.0;
}

/* The residual of every row. */
static inline int chk_sptrsv(const triangle &m, const float *x)
{
    for (long i = 0; i < m.rows; i++) {
        double sum = 0, size = 1;

        for (long q = m.row_ptr[i]; q < m.row_ptr[i + 1]; q++) {
            sum += (double)m.val[q] * x[m.col[q]];
            size += fabs((double)m.val[q] * x[m.col[q]]);
        }
        if (!(fabs(sum - m.b[i]) <= 1e-6 * size))
            return bad("sptrsv", i, sum, m.b[i]);
    }
    return 1;
}

/* ---- fft: complex numbers as pairs; forward, not scaled ---- */

static inline void fft_twiddles(float *w)
{
    for (int i = 0; i < FFT_N; i++) {
        w[2 * i] = (float)cos(-2 * M_PI * i / FFT_N);
        w[2 * i + 1] = (float)sin(-2 * M_PI * i / FFT_N);
    }
}

static inline double fft_flops(long batch)
{
    return 5.0 * FFT_N * log2((double)FFT_N) * batch;
}

static inline int chk_fft_one(const float *x, const float *y)
{
    static double c[FFT_N], s[FFT_N];

    for (int i = 0; i < FFT_N; i++) {
        c[i] = cos(-2 * M_PI * i / FFT_N);
        s[i] = sin(-2 * M_PI * i / FFT_N);
    }
    for (int k = 0; k < FFT_N; k++) {
        double re = 0, im = 0;

        for (int j = 0; j < FFT_N; j++) {
            int w = j * k % FFT_N;

            re += x[2 * j] * c[w] - x[2 * j + 1] * s[w];
            im += x[2 * j] * s[w] + x[2 * j + 1] * c[w];
        }
        if (!close_f(y[2 * k], re, 1e-5, 1e-4))
            return bad("fft real", k, y[2 * k], re);
        if (!close_f(y[2 * k + 1], im, 1e-5, 1e-4))
            return bad("fft imaginary", k, y[2 * k + 1], im);
    }
    return 1;
}

/* Sixteen transforms by the definition; of every one the energy (Parseval). */
static inline int chk_fft(const float *x, const float *y, long batch)
{
    for (long q = 0; q < 16; q++) {
        long i = q * (batch - 1) / 15 * 2 * FFT_N;

        if (!chk_fft_one(x + i, y + i))
            return 0;
    }
    for (long b = 0; b < batch; b++) {
        double in = 0, out = 0;

        for (long i = b * 2 * FFT_N; i < (b + 1) * 2 * FFT_N; i++) {
            in += (double)x[i] * x[i];
            out += (double)y[i] * y[i];
        }
        if (!close_f(out, in * FFT_N, 1e-5, 0))
            return bad("fft energy", b, out, in * FFT_N);
    }
    return 1;
}

/* ---- philox: Philox4x32-10 (Salmon and others, 2011); counter i makes the four numbers from
 * 4 i ---- */

#define PHILOX_M0   0xd2511f53u
#define PHILOX_M1   0xcd9e8d57u
#define PHILOX_W0   0x9e3779b9u
#define PHILOX_W1   0xbb67ae85u
#define PHILOX_KEY0 0x243f6a88u
#define PHILOX_KEY1 0x85a308d3u

static inline void philox_host(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int r = 0; r < 10; r++) {
        uint64_t a = (uint64_t)PHILOX_M0 * c[0], b = (uint64_t)PHILOX_M1 * c[2];

        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ (k0 + r * PHILOX_W0);
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ (k1 + r * PHILOX_W1);
        c[3] = (uint32_t)a;
    }
}

/* The published answer to zeros, then every number: the upper 24 bits as a fraction of 1. */
static inline int chk_philox(const float *out, long n)
{
    static const uint32_t answer[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    uint32_t zeros[4] = {0};

    philox_host(zeros, 0, 0);
    if (memcmp(zeros, answer, sizeof(answer)) != 0)
        return bad("philox reference", 0, zeros[0], answer[0]);
    for (long i = 0; i < n; i += 4) {
        uint32_t c[4] = {(uint32_t)(i / 4)};

        philox_host(c, PHILOX_KEY0, PHILOX_KEY1);
        for (int j = 0; j < 4; j++)
            if (out[i + j] != (float)(c[j] >> 8) * (1.0f / 16777216.0f))
                return bad("philox", i + j, out[i + j], c[j]);
    }
    return 1;
}
