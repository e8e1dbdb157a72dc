/* See cores.h. Panels of a strip of columns and of sixteen rows are prepared, then multiplied. */
#include "klib/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tcore/tcore.h"

/* k of a slice, columns of a strip: what is prepared of both stays in the L2. */
enum { SLICE = 128, STRIP = 64, ROWS = TCORE_ROWS, COLUMNS = TCORE_COLUMNS, K_MIN = 8 };

static bool is_half(uint8_t type)
{
    return type == KLIB_F16 || type == KLIB_BF16;
}

static bool is_fp8(uint8_t type)
{
    return type == KLIB_E4M3 || type == KLIB_E5M2;
}

static int least_of(uint8_t type)
{
    return type == KLIB_BF16 ? -126 : type == KLIB_E4M3 ? -6 : TCORE_HALF_LEAST;
}

bool klib_cores_has(const struct klib_gemm *g)
{
    return tcore_is_set() && g->sums == KLIB_F32 &&
           ((is_half(g->a.type) && g->a.type == g->b.type) ||
            (is_fp8(g->a.type) && is_fp8(g->b.type)));
}

/* ---- one block */

struct panels {
    float a[SLICE][ROWS] __attribute__((aligned(64)));
    float b[STRIP / COLUMNS][SLICE][COLUMNS] __attribute__((aligned(64)));
    float room[SLICE * ROWS];
    struct tcore_a ready_a[SLICE / K_MIN];
    struct tcore_b ready_b[STRIP / COLUMNS][SLICE / K_MIN];
};

struct work {
    const struct klib_gemm *g;
    const struct klib_block *at;
    struct tcore_rule rule;
    const struct tcore_vectors *vectors; /* NULL: the reference makes all */
    struct tcore_form form;              /* of whole fragments */
    unsigned chunk;                      /* their k */
    bool is_half;                        /* sums are f16 */
    struct panels *p;
    float *sums;
};

static bool form_find(const struct work *w, unsigned k, struct tcore_form *out)
{
    return tcore_form_init(out, &w->rule, k, least_of(w->g->a.type), least_of(w->g->b.type),
                           w->is_half, w->is_half);
}

/* `n` rows or columns, `lanes` apart from one k to the next; lanes that are missing are zeros. */
static void panel_read(struct work *w, float *to, unsigned lanes, unsigned n, unsigned k,
                       const char *from, const struct klib_matrix *x, bool along_k)
{
    float *room = w->p->room;

    klib_widen(room, from, x->type, x->ld, along_k ? k : n, along_k ? n : k);
    for (unsigned i = 0; i < k; i++)
        for (unsigned lane = 0; lane < lanes; lane++)
            to[i * lanes + lane] = lane >= n ? 0 : room[along_k ? lane * k + i : i * n + lane];
}

/* The form of the fragment at `k` of `n`, and how much of k it has. */
static unsigned fragment(const struct work *w, unsigned k, unsigned n, struct tcore_form *out)
{
    const unsigned rest = n - k;

    *out = w->form;
    if (rest >= w->chunk)
        return w->chunk;
    out->k = (uint8_t)rest;
    return rest;
}

static void prepare(struct work *w, bool is_a, unsigned tile, unsigned k)
{
    const unsigned mode = tcore_enter(false);
    struct tcore_form f;

    for (unsigned i = 0, number = 0; i < k; number++) {
        unsigned n = fragment(w, i, k, &f);
        if (is_a)
            w->vectors->prepare_a(&f, (const float(*)[ROWS])w->p->a + i, &w->p->ready_a[number]);
        else
            w->vectors->prepare_b(&f, (const float(*)[COLUMNS])w->p->b[tile] + i,
                                  &w->p->ready_b[tile][number]);
        i += n;
    }
    tcore_leave(mode);
}

/* False: some sums are the reference's to make. */
static bool tile_add(struct work *w, unsigned tile, unsigned k, float (*sum)[ROWS])
{
    struct tcore_pair pairs[SLICE / K_MIN];
    struct tcore_form f;
    float saved[COLUMNS][ROWS];
    const unsigned whole = k / w->chunk;

    for (unsigned i = 0; i * w->chunk < k; i++)
        pairs[i] = (struct tcore_pair){&w->p->ready_a[i], &w->p->ready_b[tile][i]};
    memcpy(saved, sum, sizeof(saved));
    if (whole && !w->vectors->add(&w->form, pairs, whole, sum))
        return false;
    if (k % w->chunk) {
        (void)fragment(w, whole * w->chunk, k, &f);
        if (!w->vectors->add(&f, &pairs[whole], 1, sum)) {
            memcpy(sum, saved, sizeof(saved));
            return false;
        }
    }
    return true;
}

static void tile_refer(const struct work *w, unsigned tile, unsigned k, unsigned rows,
                       unsigned columns, float (*sum)[ROWS])
{
    float a[SLICE], b[SLICE];
    const struct tcore_products p = {.a_least = least_of(w->g->a.type),
                                     .b_least = least_of(w->g->b.type),
                                     .c_least = w->is_half ? TCORE_HALF_LEAST : -126,
                                     .d_is_half = w->is_half,
                                     .n = k,
                                     .a = a,
                                     .b = b};
    for (unsigned col = 0; col < columns; col++)
        for (unsigned row = 0; row < rows; row++) {
            for (unsigned i = 0; i < k; i++)
                a[i] = w->p->a[i][row], b[i] = w->p->b[tile][i][col];
            float x = tcore_sum(&w->rule, &p, sum[col][row]);
            const uint32_t nan = 0x7fffffff;
            if (isnan(x))
                memcpy(&x, &nan, sizeof(x));
            sum[col][row] = x;
        }
}

/* A slice of k of sixteen rows and a strip's columns. */
static void rows_add(struct work *w, int64_t row, int64_t first, unsigned columns, unsigned k)
{
    const int64_t m = w->at->m;
    const unsigned rows = (unsigned)HD_MIN(m - row, ROWS);
    float sum[COLUMNS][ROWS] __attribute__((aligned(64))) = {0};

    for (unsigned col = 0; col < columns; col += COLUMNS) {
        const unsigned n = HD_MIN(columns - col, (unsigned)COLUMNS);
        float *to = w->sums + (first + col) * m + row;
        for (unsigned i = 0; i < n; i++)
            memcpy(sum[i], to + i * m, rows * sizeof(float));
        const unsigned mode = tcore_enter(true);
        const bool done = w->vectors && tile_add(w, col / COLUMNS, k, sum);
        tcore_leave(mode);
        if (!done)
            tile_refer(w, col / COLUMNS, k, rows, n, sum);
        for (unsigned i = 0; i < n; i++)
            memcpy(to + i * m, sum[i], rows * sizeof(float));
    }
}

static void strip_add(struct work *w, int64_t first, unsigned columns, int64_t from, unsigned k)
{
    const struct klib_matrix *a = &w->g->a, *b = &w->g->b;
    const bool a_lies = klib_lies(a), b_lies = klib_lies(b);

    for (unsigned col = 0; col < columns; col += COLUMNS) {
        const int64_t at = (first + col) * (b_lies ? b->ld : 1) + from * (b_lies ? 1 : b->ld);
        panel_read(w, w->p->b[col / COLUMNS][0], COLUMNS, HD_MIN(columns - col, (unsigned)COLUMNS),
                   k, w->at->b + klib_bytes(b->type, at), b, b_lies);
        if (w->vectors)
            prepare(w, false, col / COLUMNS, k);
    }
    for (int64_t row = 0; row < w->at->m; row += ROWS) {
        const int64_t at = row * (a_lies ? 1 : a->ld) + from * (a_lies ? a->ld : 1);
        panel_read(w, w->p->a[0], ROWS, (unsigned)HD_MIN(w->at->m - row, ROWS), k,
                   w->at->a + klib_bytes(a->type, at), a, !a_lies);
        if (w->vectors)
            prepare(w, true, 0, k);
        rows_add(w, row, first, columns, k);
    }
}

bool klib_cores_multiply(const struct klib_gemm *g, const struct klib_block *at, float *sums)
{
    struct work w = {.g = g,
                     .at = at,
                     .vectors = tcore_vectors_best(),
                     .is_half = g->factors == KLIB_F16,
                     .sums = sums};

    /* An H100's libraries multiply by wgmma; others have one rule. */
    const struct tcore_kind kind = {
        .unit = TCORE_WGMMA, .bits = is_half(g->a.type) ? 16 : 8, .is_fp8 = is_fp8(g->a.type)};

    if (!tcore_rule_find(&kind, &w.rule))
        return false;
    memset(sums, 0, (size_t)(at->m * at->n) * sizeof(*sums));
    for (w.chunk = TCORE_K; w.chunk > K_MIN && !form_find(&w, w.chunk, &w.form); w.chunk /= 2)
        continue;
    if (!form_find(&w, w.chunk, &w.form))
        w.vectors = NULL;
    w.p = aligned_alloc(64, sizeof(*w.p));
    if (!w.p)
        return false;
    for (int64_t col = 0; col < at->n; col += STRIP)
        for (int64_t k = 0; k < g->k; k += SLICE)
            strip_add(&w, col, (unsigned)HD_MIN(at->n - col, STRIP), k,
                      (unsigned)HD_MIN(g->k - k, SLICE));
    free(w.p);
    return true;
}
