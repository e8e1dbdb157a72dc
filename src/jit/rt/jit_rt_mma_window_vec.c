/*
 * Products of wgmma with vectors, compiled for each level: see jit_rt_mma_vec.h. b, and maybe a, is
 * read from shared memory.
 */
#include <assert.h>

#include "model/matrix.h"
#include "jit/rt/jit_rt_mma_vec.h"

enum { N_MAX = 256, K_MAX = 32 };

struct factors {
    float a[K_MAX][ROWS] __attribute__((aligned(64)));   /* rows in the order of rows_load() */
    float b[N_MAX * K_MAX] __attribute__((aligned(64))); /* by columns, or transposed by k */
};

#define CASE_A(type)                                                                               \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        a_widen(&e, src, ROWS, mma->k, out);                                                       \
        return;                                                                                    \
    }

static void a_of_registers(const struct ir_mma *mma, const void *src, float (*out)[ROWS])
{
    switch (mma->a) {
        ELEMENT_TYPES(CASE_A)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

/* The rows of a as rows_load() has them. */
INLINE void rows_order(float row[ROWS])
{
    float x[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        x[i] = row[i];
    for (unsigned i = 0; i < ROWS; i++)
        row[i] = x[i / WIDTH * WIDTH + i % 4 * PARTS + i % WIDTH / 4];
}

static bool a_of_window(const struct ir_mma *mma, const struct ir_matrix_access *at,
                        const void *src, float (*out)[ROWS])
{
    const struct ir_matrix_panel p = {.from = ir_mma_matrix(mma, 'a', at, src),
                                      .window = at->window,
                                      .type = mma->a,
                                      .first = at->warp % 4 * ROWS,
                                      .outer = ROWS,
                                      .inner = mma->k,
                                      .outer_stride = 1,
                                      .k_stride = ROWS,
                                      .out = out[0]};
    if (!jit_panel_read(&p))
        return false;
    for (unsigned k = 0; k < mma->k; k++)
        rows_order(out[k]);
    return true;
}

static void negate(float *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x[i] = -x[i];
}

static bool a_make(const struct ir_mma *mma, const struct ir_matrix_access *at, const void *src,
                   float (*out)[ROWS])
{
    if (!(mma->flags >> IR_MMA_A_WINDOW & 1))
        a_of_registers(mma, src, out);
    else if (!a_of_window(mma, at, src, out))
        return false;
    if (mma->flags >> IR_MMA_MINUS & 1)
        negate(out[0], mma->k * ROWS);
    return true;
}

/* As it lies in shared memory: lines run along k, or along n. */
static bool b_make(const struct ir_mma *mma, const struct ir_matrix_access *at, const void *src,
                   float *out)
{
    const struct ir_matrix from = ir_mma_matrix(mma, 'b', at, src);
    const struct ir_matrix_panel p = {.from = from,
                                      .window = at->window,
                                      .type = mma->b,
                                      .outer = mma->n,
                                      .inner = mma->k,
                                      .outer_stride = from.trans ? 1 : mma->k,
                                      .k_stride = from.trans ? mma->n : 1,
                                      .out = out};
    return jit_panel_read(&p);
}

/* b by columns or by k: one of the strides is 1. */
INLINE void k_add(const float *a, const float *b, unsigned k_count, unsigned column_stride,
                  unsigned k_stride, floats sum[COLUMNS])
{
    for (unsigned k = 0; k < k_count; k++, a += ROWS, b += k_stride)
        sums_add(V(load_ps)(a), b, column_stride, sum);
}

static void tile_multiply(const struct tile *t, const float *a, const float *b, unsigned k,
                          unsigned k_stride)
{
    for (unsigned row = 0; row < ROWS; row += WIDTH) {
        floats sum[COLUMNS];
        sums_load(t, row, sum);
        if (k_stride != 1)
            k_add(a + row, b, k, 1, k_stride, sum);
        else if (k == 8)
            k_add(a + row, b, 8, 8, 1, sum);
        else if (k == 16)
            k_add(a + row, b, 16, 16, 1, sum);
        else
            k_add(a + row, b, 32, 32, 1, sum);
        sums_store(t, row, sum);
    }
}

bool LEVEL(jit_mma_window)(const struct ir_mma *mma, const struct ir_matrix_access *at,
                           const void *src, void *dst)
{
    const bool trans = (mma->flags >> IR_MMA_B_ROWS & 1) != 0;
    struct factors f; /* what is used is written first */
    const float *b = f.b;
    struct tile t = {.c = src,
                     .d = dst,
                     .c_type = mma->c,
                     .d_type = mma->d,
                     .clamps = (mma->flags >> IR_MMA_SAT & 1) != 0};
    assert(mma->m == ROWS && mma->n <= N_MAX);
    assert(mma->k == 8 || mma->k == 16 || mma->k == 32);
    if (!a_make(mma, at, src, f.a) || !b_make(mma, at, src, f.b))
        return false;
    t.c += ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
    for (unsigned i = 0; i < mma->n / COLUMNS; i++, b += trans ? COLUMNS : COLUMNS * mma->k) {
        tile_multiply(&t, f.a[0], b, mma->k, trans ? mma->n : 1);
        t.c += sum_registers(mma->c, ROWS);
        t.d += sum_registers(mma->d, ROWS);
    }
    return true;
}

/* ---- as a GPU's tensor cores add (jit_rt_tcore.c) */

bool LEVEL(jit_core_window_read)(const struct ir_mma *mma, const struct ir_matrix_access *at,
                                 const void *src, float a[][ROWS], float b[][COLUMNS])
{
    const bool trans = (mma->flags >> IR_MMA_B_ROWS & 1) != 0;
    struct factors f; /* what is used is written first */
    assert(mma->m == ROWS && mma->n <= N_MAX && mma->k <= K_MAX);
    if (!a_make(mma, at, src, a) || !b_make(mma, at, src, f.b))
        return false;
    for (unsigned i = 0; i < mma->n; i += COLUMNS)
        for (unsigned k = 0; k < mma->k; k++, b++)
            for (unsigned col = 0; col < COLUMNS; col++) /* even columns first */
                (*b)[col / 2 + col % 2 * 4] =
                    trans ? f.b[k * mma->n + i + col] : f.b[(i + col) * mma->k + k];
    return true;
}
