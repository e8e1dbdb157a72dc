/*
 * Rows of sparse matrices of any format: a row is a range of places, each of which has a column and
 * a place among the values. Where the format is a constant to the compiler, so is the way.
 */
#ifndef HD_KLIB_SPARSE_ROWS_H
#define HD_KLIB_SPARSE_ROWS_H

#include "base/compiler.h"
#include "klib/klib.h"
#include "klib/sparse.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS int64_t index_at(const void *at, int64_t i, bool is_wide)
{
    return is_wide ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
}

ALWAYS void index_put(void *at, int64_t i, bool is_wide, int64_t value)
{
    if (is_wide)
        ((int64_t *)at)[i] = value;
    else
        ((int32_t *)at)[i] = (int32_t)value;
}

/* Of CSR, BSR, SLICED_ELL: from 0. */
ALWAYS int64_t offset_of(const struct klib_sparse_matrix *a, int64_t i)
{
    return index_at(a->offsets, i, a->wide_offsets) - a->base;
}

/* The first of `n` that is at least `value`. */
static inline int64_t lower_bound(const void *at, bool is_wide, int64_t n, int64_t value)
{
    int64_t from = 0;

    while (from < n) {
        int64_t middle = from + (n - from) / 2;
        if (index_at(at, middle, is_wide) < value)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

struct row {
    int64_t first, n; /* places */
};

ALWAYS struct row row_of(const struct klib_sparse_matrix *a, int format, int64_t i)
{
    int64_t first, n;

    switch (format) {
    case KLIB_CSR:
        first = offset_of(a, i);
        n = offset_of(a, i + 1) - first;
        break;
    case KLIB_COO:
        first = lower_bound(a->offsets, a->wide_offsets, a->entries, i + a->base);
        for (n = 0; first + n < a->entries &&
                    index_at(a->offsets, first + n, a->wide_offsets) == i + a->base;
             n++)
            ;
        break;
    case KLIB_BSR:
        first = offset_of(a, i / a->block_rows);
        n = (offset_of(a, i / a->block_rows + 1) - first) * a->block_cols;
        break;
    case KLIB_BLOCKED_ELL:
        first = i / a->block_rows * a->width;
        n = (int64_t)a->width * a->block_cols;
        break;
    default:
        first = offset_of(a, i / a->block_rows);
        n = (offset_of(a, i / a->block_rows + 1) - first) / a->block_rows;
        first += i % a->block_rows;
    }
    return (struct row){first, n};
}

/* Column and place of the values' of entry k of row i; a column below 0: there is none. */
ALWAYS int64_t entry_of(const struct klib_sparse_matrix *a, int format, int64_t i, struct row row,
                        int64_t k, int64_t *out_place)
{
    int64_t at, column, inside, r;

    switch (format) {
    case KLIB_CSR:
    case KLIB_COO:
        *out_place = row.first + k;
        return index_at(a->columns, row.first + k, a->wide_columns) - a->base;
    case KLIB_SLICED_ELL:
        *out_place = row.first + k * a->block_rows;
        column = index_at(a->columns, *out_place, a->wide_columns);
        return column < 0 ? -1 : column - a->base;
    default: /* blocks */
        at = row.first + k / a->block_cols;
        inside = k % a->block_cols;
        r = i % a->block_rows;
        column = index_at(a->columns, at, a->wide_columns);
        if (format == KLIB_BLOCKED_ELL)
            *out_place = i * a->width * a->block_cols + k; /* whole rows */
        else
            *out_place =
                at * a->block_rows * a->block_cols +
                (a->blocks_by_columns ? inside * a->block_rows + r : r * a->block_cols + inside);
        if (column < 0)
            return -1;
        column = (column - a->base) * a->block_cols + inside;
        return column < a->cols ? column : -1;
    }
}

static inline int64_t block_row_count(const struct klib_sparse_matrix *a)
{
    return (a->rows + a->block_rows - 1) / a->block_rows;
}

/* Where tile t of `tiles` begins. */
static inline int64_t tile_begin(const struct klib_sparse_matrix *a, uint64_t t, uint64_t tiles)
{
    int64_t n, from = 0, wanted;

    if (t == 0 || t >= tiles)
        return t ? a->rows : 0;
    switch (a->format) {
    case KLIB_CSR:
    case KLIB_BSR: /* by entries and rows together: both cost */
        n = a->format == KLIB_CSR ? a->rows : block_row_count(a);
        wanted = (int64_t)((double)(offset_of(a, n) + n) * (double)t / (double)tiles);
        for (int64_t to = n; from < to;) {
            int64_t middle = from + (to - from) / 2;
            if (offset_of(a, middle) + middle < wanted)
                from = middle + 1;
            else
                to = middle;
        }
        return a->format == KLIB_CSR ? from : HD_MIN(from * a->block_rows, a->rows);
    case KLIB_COO:
        wanted = (int64_t)((double)a->entries * (double)t / (double)tiles);
        return a->entries ? index_at(a->offsets, wanted, a->wide_offsets) - a->base : 0;
    default:
        n = block_row_count(a);
        return HD_MIN((int64_t)((uint64_t)n * t / tiles) * a->block_rows, a->rows);
    }
}

/* The problem's part of a batch. */
static inline struct klib_sparse_matrix problem_of(const struct klib_sparse_matrix *a,
                                                   uint64_t problem, size_t element_B)
{
    struct klib_sparse_matrix m = *a;
    int64_t p = (int64_t)problem;

    if (m.offsets)
        m.offsets = (char *)m.offsets + p * m.offsets_step * (m.wide_offsets ? 8 : 4);
    if (m.columns)
        m.columns = (char *)m.columns + p * m.columns_step * (m.wide_columns ? 8 : 4);
    if (m.values)
        m.values = (char *)m.values + p * m.values_step * (int64_t)element_B;
    return m;
}

static inline size_t klib_size_of(int type)
{
    static const uint8_t sizes[] = {
        [KLIB_F32] = 4, [KLIB_F64] = 8,  [KLIB_C32] = 8, [KLIB_C64] = 16,
        [KLIB_F16] = 2, [KLIB_BF16] = 2, [KLIB_I8] = 1,  [KLIB_I32] = 4};
    return sizes[type];
}

#endif
