/* The kernels of cuSPARSE: for each type of sums (sparse.inc), and those of indices. */
#include "klib/sparse.h"

#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "klib/halves.h"
#include "klib/sparse_rows.h"

#define NO_MEMORY 1

/* Loops over columns of a dense matrix are worth wide vectors; sanitizers know no such choice. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* ---- what the kernels have in common */

static inline void put_count(const struct klib_sparse *p, int64_t i, int64_t count)
{
    index_put(p->c.offsets, i + !p->only_counts, p->c.wide_offsets, count);
}

static int by_index(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int by_index32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void sort_indices(void *at, bool is_wide, int64_t first, int64_t n)
{
    if (n > 1)
        qsort((char *)at + first * (is_wide ? 8 : 4), (size_t)n, is_wide ? 8 : 4,
              is_wide ? by_index : by_index32);
}

/* Columns of the blocks that c has in block row ib: in order, of the heap. */
static int64_t *block_columns(const struct klib_sparse_matrix *a,
                              const struct klib_sparse_matrix *c, int64_t ib, int64_t *out_n)
{
    int64_t from = ib * c->block_rows, to = HD_MIN(from + c->block_rows, a->rows);
    int64_t entries = offset_of(a, to) - offset_of(a, from), n = 0, kept = 0;
    int64_t *columns = hd_alloc_array((size_t)entries + 1, sizeof(*columns));

    *out_n = 0;
    if (!columns)
        return NULL;
    for (int64_t k = offset_of(a, from); n < entries; k++)
        columns[n++] = (index_at(a->columns, k, a->wide_columns) - a->base) / c->block_cols;
    sort_indices(columns, true, 0, n);
    for (int64_t k = 0; k < n; k++)
        if (!kept || columns[k] != columns[kept - 1])
            columns[kept++] = columns[k];
    *out_n = kept;
    return columns;
}

/* A matrix by its elements: columns and places among the values, of each row in order. */
struct entries {
    int64_t *first, *columns, *places;
    int64_t *diagonal; /* its entry in each row, or -1 */
    int64_t *where;    /* for each column -1: the user's */
};

static void entries_fini(struct entries *e)
{
    hd_free(e->first);
    hd_free(e->columns);
    hd_free(e->places);
    hd_free(e->diagonal);
    hd_free(e->where);
}

static bool entries_init(struct entries *e, const struct klib_sparse_matrix *a)
{
    size_t rows = (size_t)a->rows + 1;
    int64_t n = 0;

    for (int64_t i = 0; i < a->rows; i++)
        n += row_of(a, a->format, i).n;
    *e = (struct entries){.first = hd_alloc_array(rows, sizeof(int64_t)),
                          .columns = hd_alloc_array((size_t)n + 1, sizeof(int64_t)),
                          .places = hd_alloc_array((size_t)n + 1, sizeof(int64_t)),
                          .diagonal = hd_alloc_array(rows, sizeof(int64_t)),
                          .where = hd_alloc_array((size_t)a->cols + 1, sizeof(int64_t))};
    if (!e->first || !e->columns || !e->places || !e->diagonal || !e->where) {
        entries_fini(e);
        return false;
    }
    memset(e->where, 0xff, ((size_t)a->cols + 1) * sizeof(int64_t));
    n = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        struct row row = row_of(a, a->format, i);
        e->diagonal[i] = -1;
        for (int64_t k = 0; k < row.n; k++) {
            e->columns[n] = entry_of(a, a->format, i, row, k, &e->places[n]);
            if (e->columns[n] == i)
                e->diagonal[i] = n;
            n += e->columns[n] >= 0;
        }
        e->first[i + 1] = n;
    }
    return true;
}

/* ---- for each type of sums */

#define NAME2(p, n) p##_##n
#define NAME1(p, n) NAME2(p, n)
#define NAME(n)     NAME1(P, n)

#define P          f32
#define T          float
#define R          float
#define TYPE       KLIB_F32
#define IS_INT     0
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#define REAL(x)    (x)
#define ABS(x)     fabsf(x)
#define SQRT(x)    sqrtf(x)
#include "klib/sparse.inc"
#define P          f64
#define T          double
#define R          double
#define TYPE       KLIB_F64
#define IS_INT     0
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#define REAL(x)    (x)
#define ABS(x)     fabs(x)
#define SQRT(x)    sqrt(x)
#include "klib/sparse.inc"
#define P          c32
#define T          float complex
#define R          float
#define TYPE       KLIB_C32
#define IS_INT     0
#define IS_COMPLEX 1
#define CONJ(x)    conjf(x)
#define REAL(x)    crealf(x)
#define IMAG(x)    cimagf(x)
#define ABS(x)     cabsf(x)
#define SQRT(x)    sqrtf(x)
#include "klib/sparse.inc"
#define P          c64
#define T          double complex
#define R          double
#define TYPE       KLIB_C64
#define IS_INT     0
#define IS_COMPLEX 1
#define CONJ(x)    conj(x)
#define REAL(x)    creal(x)
#define IMAG(x)    cimag(x)
#define ABS(x)     cabs(x)
#define SQRT(x)    sqrt(x)
#include "klib/sparse.inc"
#define P          i32
#define T          int32_t
#define R          int32_t
#define TYPE       KLIB_I32
#define IS_INT     1
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#define REAL(x)    (x)
#define ABS(x)     ((x) < 0 ? -(x) : (x))
#include "klib/sparse.inc"

/* ---- counts and offsets */

static int count_products(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a, *b = &p->b;
    int64_t from = tile_begin(a, tile, p->row_tiles), to = tile_begin(a, tile + 1, p->row_tiles);
    int64_t *mark = hd_alloc_array((size_t)HD_MAX(b->cols, 1), sizeof(*mark));

    if (!mark)
        return NO_MEMORY;
    for (int64_t i = from; i < to; i++) {
        struct row ra = row_of(a, a->format, i);
        int64_t count = 0;
        for (int64_t k = 0; k < ra.n; k++) {
            int64_t at, q = entry_of(a, a->format, i, ra, k, &at);
            struct row rb = row_of(b, b->format, q);
            for (int64_t l = 0; l < rb.n && count < b->cols; l++) {
                int64_t j = entry_of(b, b->format, q, rb, l, &at);
                count += mark[j] != i + 1;
                mark[j] = i + 1;
            }
        }
        put_count(p, i, count);
    }
    hd_free(mark);
    return 0;
}

static int count_work(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a, *b = &p->b;
    int64_t from = tile_begin(a, tile, p->row_tiles), to = tile_begin(a, tile + 1, p->row_tiles);
    int64_t products = 0;

    for (int64_t i = from; i < to; i++) {
        struct row row = row_of(a, a->format, i);
        for (int64_t k = 0; k < row.n; k++) {
            int64_t at, q = entry_of(a, a->format, i, row, k, &at);
            products += row_of(b, b->format, q).n;
        }
    }
    ((int64_t *)p->p[0])[tile] = products;
    return 0;
}

/* As geam merges. */
static int count_sum(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a, *b = &p->b;
    int64_t from = tile_begin(a, tile, p->row_tiles), to = tile_begin(a, tile + 1, p->row_tiles);

    for (int64_t i = from; i < to; i++) {
        struct row ra = row_of(a, a->format, i), rb = row_of(b, b->format, i);
        int64_t count = 0;
        for (int64_t k = 0, l = 0; k < ra.n || l < rb.n; count++) {
            int64_t at, ja = INT64_MAX, jb = INT64_MAX;
            if (k < ra.n)
                ja = entry_of(a, a->format, i, ra, k, &at);
            if (l < rb.n)
                jb = entry_of(b, b->format, i, rb, l, &at);
            k += ja <= jb;
            l += jb <= ja;
        }
        put_count(p, i, count);
    }
    return 0;
}

static int count_blocks(const struct klib_sparse *p, uint64_t tile)
{
    int64_t n = block_row_count(&p->c), count;
    int64_t from = n * (int64_t)tile / p->row_tiles, to = n * (int64_t)(tile + 1) / p->row_tiles;

    for (int64_t ib = from; ib < to; ib++) {
        int64_t *columns = block_columns(&p->a, &p->c, ib, &count);
        if (!columns)
            return NO_MEMORY;
        hd_free(columns);
        put_count(p, ib, count);
    }
    return 0;
}

static int scan(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *c = &p->c;
    int64_t sum = 0;

    (void)tile;
    if (!p->only_counts)
        index_put(c->offsets, 0, c->wide_offsets, c->base);
    for (int64_t i = 0; i < p->n[0]; i++) {
        sum += index_at(c->offsets, i + !p->only_counts, c->wide_offsets);
        if (!p->only_counts)
            index_put(c->offsets, i + 1, c->wide_offsets, sum + c->base);
    }
    if (p->p[0])
        *(int *)p->p[0] = (int)sum;
    if (p->p[1])
        *(int64_t *)p->p[1] = sum;
    return 0;
}

/* ---- orders of entries */

static int transpose(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a, *c = &p->c;
    int64_t *next = hd_alloc_array((size_t)a->cols + 1, sizeof(*next));
    size_t size_B = klib_size_of(a->type);

    (void)tile;
    if (!next)
        return NO_MEMORY;
    for (int64_t i = 0; i < a->rows; i++) {
        struct row row = row_of(a, a->format, i);
        for (int64_t k = 0; k < row.n; k++) {
            int64_t at;
            next[entry_of(a, a->format, i, row, k, &at) + 1]++;
        }
    }
    for (int64_t j = 0; j <= a->cols; j++) {
        next[j] += j ? next[j - 1] : 0;
        index_put(c->offsets, j, c->wide_offsets, next[j] + c->base);
    }
    for (int64_t i = 0; i < a->rows; i++) {
        struct row row = row_of(a, a->format, i);
        for (int64_t k = 0; k < row.n; k++) {
            int64_t at, out = next[entry_of(a, a->format, i, row, k, &at)]++;
            index_put(c->columns, out, c->wide_columns, i + c->base);
            if (!p->n[0])
                memcpy((char *)c->values + (size_t)out * size_B,
                       (const char *)a->values + (size_t)at * size_B, size_B);
        }
    }
    hd_free(next);
    return 0;
}

static int offsets(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    int64_t n = a->rows + 1, from = n * (int64_t)tile / p->row_tiles;
    int64_t to = n * (int64_t)(tile + 1) / p->row_tiles;

    for (int64_t i = from; i < to; i++)
        ((int *)p->p[0])[i] =
            (int)lower_bound(a->offsets, a->wide_offsets, a->entries, i + a->base) + a->base;
    return 0;
}

static int rows(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    int64_t from = tile_begin(a, tile, p->row_tiles), to = tile_begin(a, tile + 1, p->row_tiles);

    for (int64_t i = from; i < to; i++) {
        struct row row = row_of(a, KLIB_CSR, i);
        for (int64_t k = row.first; k < row.first + row.n; k++)
            ((int *)p->p[0])[k] = (int)i + a->base;
    }
    return 0;
}

static int sort_rows(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    int64_t from = tile_begin(a, tile, p->row_tiles), to = tile_begin(a, tile + 1, p->row_tiles);
    int64_t most = 0;
    int *order = p->p[0], *columns = a->columns;

    for (int64_t i = from; i < to; i++)
        most = HD_MAX(most, row_of(a, KLIB_CSR, i).n);
    /* Column and place together are what is sorted: equal columns stay in order. */
    int64_t *keys = hd_alloc_array((size_t)most + 1, sizeof(*keys));
    int *old = hd_alloc_array((size_t)most + 1, sizeof(*old));
    for (int64_t i = from; keys && old && i < to; i++) {
        struct row row = row_of(a, KLIB_CSR, i);
        for (int64_t k = 0; k < row.n; k++)
            keys[k] = (int64_t)((uint64_t)columns[row.first + k] << 32 | (uint64_t)k);
        if (order)
            memcpy(old, order + row.first, (size_t)row.n * sizeof(*old));
        sort_indices(keys, true, 0, row.n);
        for (int64_t k = 0; k < row.n; k++) {
            columns[row.first + k] = (int)(keys[k] >> 32);
            if (order)
                order[row.first + k] = old[(uint32_t)keys[k]];
        }
    }
    bool is_short = !keys || !old;
    hd_free(keys);
    hd_free(old);
    return is_short ? NO_MEMORY : 0;
}

/* A stable counting sort of `order` by `keys`, which are not negative. */
static bool sort_by(const int *keys, const int *order, int *out, int64_t n)
{
    int most = 0;

    for (int64_t k = 0; k < n; k++)
        most = HD_MAX(most, keys[k]);
    int64_t *next = hd_alloc_array((size_t)most + 2, sizeof(*next));
    if (!next)
        return false;
    for (int64_t k = 0; k < n; k++)
        next[keys[k] + 1]++;
    for (int k = 0; k < most; k++)
        next[k + 1] += next[k];
    for (int64_t k = 0; k < n; k++)
        out[next[keys[order[k]]]++] = order[k];
    hd_free(next);
    return true;
}

static void permute(int *at, const int *order, int *old, int64_t n)
{
    memcpy(old, at, (size_t)n * sizeof(*old));
    for (int64_t k = 0; k < n; k++)
        at[k] = old[order[k]];
}

static int sort_entries(const struct klib_sparse *p, uint64_t tile)
{
    int64_t n = p->a.entries;
    int *major = p->n[0] ? p->a.columns : p->a.offsets;
    int *minor = p->n[0] ? p->a.offsets : p->a.columns;
    int *one = hd_alloc_array((size_t)n + 1, sizeof(int));
    int *two = hd_alloc_array((size_t)n + 1, sizeof(int));
    bool is_done = one && two;

    (void)tile;
    for (int64_t k = 0; is_done && k < n; k++)
        one[k] = (int)k;
    is_done = is_done && sort_by(minor, one, two, n) && sort_by(major, two, one, n);
    if (is_done) {
        permute(major, one, two, n);
        permute(minor, one, two, n);
        if (p->p[0])
            permute(p->p[0], one, two, n);
    }
    hd_free(one);
    hd_free(two);
    return is_done ? 0 : NO_MEMORY;
}

static int identity(const struct klib_sparse *p, uint64_t tile)
{
    (void)tile;
    for (int64_t i = 0; i < p->n[0]; i++)
        ((int *)p->p[0])[i] = (int)i;
    return 0;
}

static int set_diagonal(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    size_t size_B = klib_size_of(a->type);

    (void)tile;
    for (int64_t i = 0; i < a->rows; i++) {
        struct row row = row_of(a, a->format, i);
        for (int64_t k = 0; k < row.n; k++) {
            int64_t place;
            if (entry_of(a, a->format, i, row, k, &place) == i)
                memcpy((char *)a->values + (size_t)place * size_B,
                       (const char *)p->p[0] + (size_t)i * size_B, size_B);
        }
    }
    return 0;
}

static int find_diagonal(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    int64_t block = a->format == KLIB_BSR ? a->block_rows : 1, found = -1;

    (void)tile;
    for (int64_t i = 0; i < a->rows && found < 0; i++) {
        struct row row = row_of(a, a->format, i);
        int64_t place, k = 0;
        while (k < row.n && entry_of(a, a->format, i, row, k, &place) != i)
            k++;
        if (k == row.n)
            found = i / block;
    }
    *(int64_t *)p->p[0] = found;
    return 0;
}

/* First fit, in the order of rows; neighbours are both a row's columns and a column's rows. */
static int color(const struct klib_sparse *p, uint64_t tile)
{
    const struct klib_sparse_matrix *a = &p->a;
    struct klib_sparse back = {
        .a = *a, .c = {.base = 0, .wide_offsets = 1, .wide_columns = 1}, .n = {1}};
    size_t cells = (size_t)a->rows + 2;
    int *colors = p->p[0], *reordering = p->p[2], most = 0;
    int64_t *taken = hd_alloc_array(cells, sizeof(*taken));
    int64_t n = a->rows ? offset_of(a, a->rows) : 0;
    bool is_done;

    (void)tile;
    back.c.offsets = hd_alloc_array(cells, sizeof(int64_t));
    back.c.columns = hd_alloc_array((size_t)n + 1, sizeof(int64_t));
    is_done = taken && back.c.offsets && back.c.columns && !transpose(&back, 0);
    for (int64_t i = 0; i < a->rows; i++)
        colors[i] = -1;
    for (int64_t i = 0; is_done && i < a->rows; i++) {
        const struct klib_sparse_matrix *sides[2] = {a, &back.c};
        int c = 0;
        for (int s = 0; s < 2; s++) {
            struct row row = row_of(sides[s], KLIB_CSR, i);
            for (int64_t k = 0; k < row.n; k++) {
                int64_t place, j = entry_of(sides[s], KLIB_CSR, i, row, k, &place);
                if (j != i && j < a->rows && colors[j] >= 0)
                    taken[colors[j]] = i + 1;
            }
        }
        while (taken[c] == i + 1)
            c++;
        colors[i] = c;
        most = HD_MAX(most, c + 1);
    }
    /* Where each row goes when rows of a color lie together. */
    for (int c = 0, next = 0; is_done && reordering && c < most; c++)
        for (int64_t i = 0; i < a->rows; i++)
            if (colors[i] == c)
                reordering[i] = next++;
    *(int *)p->p[1] = most;
    hd_free(taken);
    hd_free(back.c.offsets);
    hd_free(back.c.columns);
    return is_done ? 0 : NO_MEMORY;
}

/* ---- the library */

typedef int sparse_fn(const struct klib_sparse *p, uint64_t tile);

#define UNTYPED(name) {name, name, name, name, name}
#define SOLVER(name)  {f32_##name, f64_##name, c32_##name, c64_##name, NULL}
#define TYPED(name)   {f32_##name, f64_##name, c32_##name, c64_##name, i32_##name}
static sparse_fn *const functions[KLIB_SPARSE_KERNELS][5] = {
#define X1(name)             TYPED(name)
#define X2(name)             SOLVER(name)
#define X0(name)             UNTYPED(name)
#define X(name, typed, what) [KLIB_SPARSE_##name] = X##typed(name),
    KLIB_SPARSE_LIST(X)
#undef X
};

static int run(struct heddle_native_call *call)
{
    const struct klib_sparse *p = call->params;
    sparse_fn *function;

    assert(p->kernel < KLIB_SPARSE_KERNELS);
    function = functions[p->kernel][p->sums == KLIB_I32 ? 4 : p->sums];
    assert(function);
    for (uint64_t tile = call->first; tile < call->last; tile++)
        if (function(p, tile))
            return heddle_native_fail(call, NO_MEMORY, "out of host memory");
    return 0;
}

const struct klib_sparse_library klib_sparse_library = {.run = run,
                                                        .names = {
#define X(name, typed, what) [KLIB_SPARSE_##name] = "sparse_" #name,
                                                            KLIB_SPARSE_LIST(X)
#undef X
                                                        }};
