/*
 * Functions of cuSPARSE of one type, and those of indices, against plain loops: sums, orders,
 * conversions, blocks, triangles and incomplete factors, bands, pruning, coloring.
 */
#include <complex.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <string.h>

#include "support/tap.h"

static cusparseHandle_t handle;
static cusparseMatDescr_t zero_based, one_based;
static uint32_t state = 5;

static int below(int n)
{
    state = state * 1664525 + 1013904223;
    return (int)(state >> 10) % n;
}

static void *device(size_t size_B)
{
    void *p;

    if (cudaMalloc(&p, size_B ? size_B : 1))
        exit(1);
    memset(p, 0x5e, size_B);
    return p;
}

static void wait(void)
{
    if (cudaDeviceSynchronize())
        ok(false, "the device is well");
}

/* CSR of doubles with its dense model, by rows. */
struct csr {
    int m, n, nnz, base;
    int *offsets, *columns;
    double *values, *dense;
};

enum { DIAGONAL = 1, HALF = 2 };

static struct csr create(int m, int n, int percent, int base, int what)
{
    struct csr a = {.m = m, .n = n, .base = base};
    int out = 0;

    a.dense = calloc((size_t)(m * n) + 1, sizeof(double));
    for (int i = 0; i < m * n; i++)
        if (below(100) < percent)
            a.dense[i] = 1 + below(4) - 8 * below(2);
    for (int i = 0; what && i < m; i++)
        a.dense[i * n + i] = 40 + below(9);
    for (int i = 0; what & HALF && i < m; i++)
        for (int j = 0; j < i; j++)
            a.dense[i * n + j] = a.dense[j * n + i];
    for (int i = 0; i < m * n; i++)
        a.nnz += a.dense[i] != 0;
    a.offsets = device((size_t)(m + 1) * sizeof(int));
    a.columns = device((size_t)a.nnz * sizeof(int));
    a.values = device((size_t)a.nnz * sizeof(double));
    for (int i = 0; i < m; i++) {
        a.offsets[i] = out + base;
        for (int j = 0; j < n; j++)
            if (a.dense[i * n + j] != 0) {
                a.columns[out] = j + base;
                a.values[out++] = a.dense[i * n + j];
            }
    }
    a.offsets[m] = out + base;
    return a;
}

static void destroy(struct csr *a)
{
    free(a->dense);
    (void)cudaFree(a->offsets);
    (void)cudaFree(a->columns);
    (void)cudaFree(a->values);
}

static cusparseMatDescr_t descr_of(const struct csr *a)
{
    return a->base ? one_based : zero_based;
}

/* Is the matrix in these arrays the dense one, entries that are 0 among it? */
static bool is_same(const double *dense, int m, int n, int base, const int *offsets,
                    const int *columns, const double *values)
{
    double *got = calloc((size_t)(m * n) + 1, sizeof(double));
    bool same = true;

    for (int i = 0; i < m; i++)
        for (int k = offsets[i] - base; k < offsets[i + 1] - base; k++) {
            same = same && columns[k] >= base && columns[k] < n + base &&
                   (k == offsets[i] - base || columns[k] > columns[k - 1]);
            if (same)
                got[i * n + columns[k] - base] = values[k];
        }
    for (int i = 0; i < m * n; i++)
        same = same && got[i] == dense[i];
    free(got);
    return same;
}

/* ---- indices */

static void test_indices(void)
{
    struct csr a = create(30, 20, 20, 1, 0);
    int *rows = device((size_t)a.nnz * sizeof(int)), *offsets = device(31 * sizeof(int));
    int *order = device((size_t)a.nnz * sizeof(int)),
        *columns = device((size_t)a.nnz * sizeof(int));
    bool right = true;

    eq_u64(cusparseXcsr2coo(handle, a.offsets, a.nnz, 30, rows, CUSPARSE_INDEX_BASE_ONE), 0,
           "Xcsr2coo");
    eq_u64(cusparseXcoo2csr(handle, rows, a.nnz, 30, offsets, CUSPARSE_INDEX_BASE_ONE), 0,
           "Xcoo2csr");
    wait();
    eq_mem(offsets, a.offsets, 31 * sizeof(int), "offsets, rows, offsets");
    for (int i = 0; i < 30; i++)
        for (int k = a.offsets[i] - 1; k < a.offsets[i + 1] - 1; k++)
            right = right && rows[k] == i + 1;
    ok(right, "rows of entries");

    /* Mixed up, and sorted again. */
    (void)cusparseCreateIdentityPermutation(handle, a.nnz, order);
    wait();
    ok(order[0] == 0 && order[a.nnz - 1] == a.nnz - 1, "an identity");
    memcpy(columns, a.columns, (size_t)a.nnz * sizeof(int));
    for (int k = a.nnz - 1; k > 0; k--) {
        int l = below(k + 1), r = rows[k], c = columns[k], o = order[k];
        rows[k] = rows[l], columns[k] = columns[l], order[k] = order[l];
        rows[l] = r, columns[l] = c, order[l] = o;
    }
    eq_u64(cusparseXcoosortByColumn(handle, 30, 20, a.nnz, rows, columns, order, NULL), 0,
           "by columns");
    wait();
    for (int k = 1; k < a.nnz; k++)
        right = right && (columns[k - 1] < columns[k] ||
                          (columns[k - 1] == columns[k] && rows[k - 1] < rows[k]));
    ok(right, "are in order");
    eq_u64(cusparseXcoosortByRow(handle, 30, 20, a.nnz, rows, columns, order, NULL), 0, "by rows");
    wait();
    eq_mem(columns, a.columns, (size_t)a.nnz * sizeof(int), "as they were");
    for (int k = 0; k < a.nnz; k++)
        right = right && order[k] == k;
    ok(right, "with what belongs to them");
    for (int i = 0; i < 30; i++) /* rows backwards */
        for (int k = a.offsets[i] - 1, l = a.offsets[i + 1] - 2; k < l; k++, l--) {
            int c = columns[k], o = order[k];
            columns[k] = columns[l], order[k] = order[l];
            columns[l] = c, order[l] = o;
        }
    eq_u64(cusparseXcsrsort(handle, 30, 20, a.nnz, one_based, a.offsets, columns, order, NULL), 0,
           "Xcsrsort");
    wait();
    eq_mem(columns, a.columns, (size_t)a.nnz * sizeof(int), "columns within rows");
    for (int k = 0; k < a.nnz; k++)
        right = right && order[k] == k;
    ok(right, "and their places");
    eq_u64(cusparseXcsrsort(handle, 30, 20, a.nnz, NULL, a.offsets, columns, order, NULL),
           CUSPARSE_STATUS_INVALID_VALUE, "without a descriptor");

    /* To columns, and back. */
    int *cscp = device(21 * sizeof(int)), *csci = device((size_t)a.nnz * sizeof(int));
    double *cscv = device((size_t)a.nnz * sizeof(double)), *v = device((size_t)a.nnz * 8);
    (void)cusparseCsr2cscEx2(handle, 30, 20, a.nnz, a.values, a.offsets, a.columns, cscv, cscp,
                             csci, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ONE,
                             CUSPARSE_CSR2CSC_ALG1, NULL);
    (void)cusparseCsr2cscEx2(handle, 20, 30, a.nnz, cscv, cscp, csci, v, offsets, columns,
                             CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ONE,
                             CUSPARSE_CSR2CSC_ALG1, NULL);
    wait();
    double *turned = calloc(600, sizeof(double));
    for (int i = 0; i < 600; i++)
        turned[i % 20 * 30 + i / 20] = a.dense[i];
    ok(is_same(turned, 20, 30, 1, cscp, csci, cscv), "csr2csc");
    ok(is_same(a.dense, 30, 20, 1, offsets, columns, v), "twice");
    free(turned);
    (void)cudaFree(rows);
    (void)cudaFree(offsets);
    (void)cudaFree(order);
    (void)cudaFree(columns);
    (void)cudaFree(cscp);
    (void)cudaFree(csci);
    (void)cudaFree(cscv);
    (void)cudaFree(v);
    destroy(&a);
}

/* ---- sums */

static void test_geam(void)
{
    bool right = true;

    for (int round = 0; round < 12; round++) {
        int m = round == 11 ? 300 : below(15), n = round == 11 ? 200 : 1 + below(15), nnz = -1;
        struct csr a = create(m, n, round % 3 * 20, round & 1, 0);
        struct csr b = create(m, n, 30, round >> 1 & 1, 0);
        int *offsets = device((size_t)(m + 1) * sizeof(int)), *columns;
        double *v, alpha = 2, beta = -3;
        size_t size_B = 0;
        right = right && !cusparseDcsrgeam2_bufferSizeExt(
                             handle, m, n, &alpha, descr_of(&a), a.nnz, a.values, a.offsets,
                             a.columns, &beta, descr_of(&b), b.nnz, b.values, b.offsets, b.columns,
                             one_based, NULL, offsets, NULL, &size_B);
        right = right && !cusparseXcsrgeam2Nnz(handle, m, n, descr_of(&a), a.nnz, a.offsets,
                                               a.columns, descr_of(&b), b.nnz, b.offsets, b.columns,
                                               one_based, offsets, &nnz, NULL);
        columns = device((size_t)nnz * sizeof(int));
        v = device((size_t)nnz * sizeof(double));
        right = right && nnz == offsets[m] - 1 &&
                !cusparseDcsrgeam2(handle, m, n, &alpha, descr_of(&a), a.nnz, a.values, a.offsets,
                                   a.columns, &beta, descr_of(&b), b.nnz, b.values, b.offsets,
                                   b.columns, one_based, v, offsets, columns, NULL);
        wait();
        for (int i = 0; i < m * n; i++)
            a.dense[i] = 2 * a.dense[i] - 3 * b.dense[i];
        right = right && is_same(a.dense, m, n, 1, offsets, columns, v);
        destroy(&a);
        destroy(&b);
        (void)cudaFree(offsets);
        (void)cudaFree(columns);
        (void)cudaFree(v);
    }
    ok(right, "csrgeam2");
}

/* ---- counts, pruning */

static void test_nnz(void)
{
    struct csr a = create(12, 9, 40, 0, 0);
    double *dense = device(14 * 9 * sizeof(double));
    int *counts = device(12 * sizeof(int)), total, *there = device(sizeof(int));
    bool right = true;

    for (int i = 0; i < 14 * 9; i++)
        dense[i] = i % 14 < 12 ? a.dense[i % 14 * 9 + i / 14] : 5;
    eq_u64(
        cusparseDnnz(handle, CUSPARSE_DIRECTION_ROW, 12, 9, zero_based, dense, 14, counts, &total),
        0, "Dnnz of rows");
    eq_u64((uint64_t)total, (uint64_t)a.nnz, "all entries");
    for (int i = 0; i < 12; i++)
        right = right && counts[i] == a.offsets[i + 1] - a.offsets[i];
    ok(right, "each row's");
    (void)cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE);
    (void)cusparseDnnz(handle, CUSPARSE_DIRECTION_COLUMN, 12, 9, zero_based, dense, 14, counts,
                       there);
    (void)cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
    wait();
    for (int j = 0; j < 9; j++) {
        int n = 0;
        for (int i = 0; i < 12; i++)
            n += a.dense[i * 9 + j] != 0;
        right = right && counts[j] == n;
    }
    ok(right && *there == a.nnz, "each column's, with a total of the device's");

    /* Those above 2 by magnitude: three ways. */
    int *offsets = device(13 * sizeof(int)), *columns = device((size_t)a.nnz * sizeof(int));
    double *v = device((size_t)a.nnz * sizeof(double)), two = 2, kept[12 * 9];
    int want = 0;
    for (int i = 0; i < 12 * 9; i++) {
        kept[i] = a.dense[i] > 2 || a.dense[i] < -2 ? a.dense[i] : 0;
        want += kept[i] != 0;
    }
    eq_u64(cusparseDnnz_compress(handle, 12, zero_based, a.values, a.offsets, counts, &total, 2), 0,
           "nnz_compress");
    (void)cusparseDcsr2csr_compress(handle, 12, 9, zero_based, a.values, a.columns, a.offsets,
                                    a.nnz, counts, v, columns, offsets, 2);
    wait();
    ok(total == want && is_same(kept, 12, 9, 0, offsets, columns, v), "csr2csr_compress");
    size_t size_B = 0;
    (void)cusparseDpruneDense2csr_bufferSizeExt(handle, 12, 9, dense, 14, &two, one_based, NULL,
                                                offsets, NULL, &size_B);
    void *buffer = device(size_B);
    (void)cusparseDpruneDense2csrNnz(handle, 12, 9, dense, 14, &two, one_based, offsets, &total,
                                     buffer);
    (void)cusparseDpruneDense2csr(handle, 12, 9, dense, 14, &two, one_based, v, offsets, columns,
                                  buffer);
    wait();
    ok(total == want && is_same(kept, 12, 9, 1, offsets, columns, v), "pruneDense2csr");
    (void)cusparseDpruneCsr2csrNnz(handle, 12, 9, a.nnz, zero_based, a.values, a.offsets, a.columns,
                                   &two, one_based, offsets, &total, buffer);
    (void)cusparseDpruneCsr2csr(handle, 12, 9, a.nnz, zero_based, a.values, a.offsets, a.columns,
                                &two, one_based, v, offsets, columns, buffer);
    wait();
    ok(total == want && is_same(kept, 12, 9, 1, offsets, columns, v), "pruneCsr2csr");

    /* Of the values 1 to 8 half is above the fourth. */
    double some[8] = {3, -8, 1, 6, -2, 7, 5, -4}, *dsome = device(sizeof(some));
    pruneInfo_t info;
    memcpy(dsome, some, sizeof(some));
    (void)cusparseCreatePruneInfo(&info);
    eq_u64(cusparseDpruneDense2csrNnzByPercentage(handle, 4, 2, dsome, 4, 50, zero_based, offsets,
                                                  &total, info, buffer),
           0, "by percentage");
    (void)cusparseDpruneDense2csrByPercentage(handle, 4, 2, dsome, 4, 50, zero_based, v, offsets,
                                              columns, info, buffer);
    wait();
    ok(total == 4 && offsets[4] == 4 && v[0] == -8 && v[1] == 7 && v[2] == 5 && v[3] == 6,
       "half is kept");
    eq_u64(cusparseDpruneDense2csrNnzByPercentage(handle, 4, 2, dsome, 4, 101, zero_based, offsets,
                                                  &total, info, buffer),
           CUSPARSE_STATUS_INVALID_VALUE, "101 percent");
    (void)cusparseDestroyPruneInfo(info);
    (void)cudaFree(dense);
    (void)cudaFree(counts);
    (void)cudaFree(offsets);
    (void)cudaFree(columns);
    (void)cudaFree(v);
    (void)cudaFree(dsome);
    destroy(&a);
}

/* ---- blocks */

static void test_blocks(void)
{
    bool right = true;
    double two = 2, one = 1;

    for (int round = 0; round < 8; round++) {
        int rb = 1 + below(3), cb = round & 1 ? rb : 1 + below(4), m = rb * 4, n = cb * 5, nnzb;
        cusparseDirection_t dir = (cusparseDirection_t)(round >> 1 & 1);
        struct csr a = create(m, n, 25, round & 1, 0);
        int *offsets = device(5 * sizeof(int)), *columns = device(20 * sizeof(int));
        double *v = device((size_t)(m * n) * sizeof(double));
        int *back_offsets = device((size_t)(m + 1) * sizeof(int));
        int *back_columns = device((size_t)(m * n) * sizeof(int));
        double *back = device((size_t)(m * n) * sizeof(double));
        if (round & 1) {
            right = right && !cusparseXcsr2bsrNnz(handle, dir, m, n, descr_of(&a), a.offsets,
                                                  a.columns, rb, one_based, offsets, &nnzb);
            right = right && !cusparseDcsr2bsr(handle, dir, m, n, descr_of(&a), a.values, a.offsets,
                                               a.columns, rb, one_based, v, offsets, columns);
            right = right && !cusparseDbsr2csr(handle, dir, 4, 5, one_based, v, offsets, columns,
                                               rb, zero_based, back, back_offsets, back_columns);
        } else {
            right =
                right && !cusparseXcsr2gebsrNnz(handle, dir, m, n, descr_of(&a), a.offsets,
                                                a.columns, one_based, offsets, rb, cb, &nnzb, NULL);
            right = right &&
                    !cusparseDcsr2gebsr(handle, dir, m, n, descr_of(&a), a.values, a.offsets,
                                        a.columns, one_based, v, offsets, columns, rb, cb, NULL);
            right =
                right && !cusparseDgebsr2csr(handle, dir, 4, 5, one_based, v, offsets, columns, rb,
                                             cb, zero_based, back, back_offsets, back_columns);
        }
        wait();
        right = right && nnzb == offsets[4] - 1 &&
                is_same(a.dense, m, n, 0, back_offsets, back_columns, back);
        /* y = 2 A x + y, Y = 2 A X + Y */
        double *x = device((size_t)n * 3 * sizeof(double)), *y = device((size_t)m * 3 * 8),
               want[48];
        for (int i = 0; i < n * 3; i++)
            x[i] = below(7);
        for (int i = 0; i < m * 3; i++)
            y[i] = want[i] = below(7);
        for (int i = 0; i < m * 3; i++)
            for (int j = 0; j < n; j++)
                want[i] += 2 * a.dense[i % m * n + j] * x[j + i / m * n];
        if (round & 1) {
            right = right && !cusparseDbsrmm(handle, dir, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, 4, 3, 5, nnzb, &two,
                                             one_based, v, offsets, columns, rb, x, n, &one, y, m);
            wait();
            for (int i = 0; i < m * 3; i++)
                right = right && y[i] == want[i];
            right =
                right && !cusparseDbsrmv(handle, dir, CUSPARSE_OPERATION_NON_TRANSPOSE, 4, 5, nnzb,
                                         &two, one_based, v, offsets, columns, rb, x, &one, y);
            wait();
            for (int i = 0; i < m; i++) {
                double sum = want[i];
                for (int j = 0; j < n; j++)
                    sum += 2 * a.dense[i * n + j] * x[j];
                right = right && y[i] == sum;
            }
        }
        destroy(&a);
        (void)cudaFree(offsets);
        (void)cudaFree(columns);
        (void)cudaFree(v);
        (void)cudaFree(back_offsets);
        (void)cudaFree(back_columns);
        (void)cudaFree(back);
        (void)cudaFree(x);
        (void)cudaFree(y);
    }
    ok(right, "blocks: from CSR and back, bsrmv, bsrmm");
}

/* ---- incomplete factors: of full matrices they are whole ones */

static void test_factors(void)
{
    enum { N = 12, BLOCK = 3, NB = N / BLOCK };
    csrilu02Info_t ilu;
    csric02Info_t ic;
    bsrilu02Info_t bilu;
    bsric02Info_t bic;
    bsrsv2Info_t lower, upper;
    bool right = true;
    int position = 7, size_B = 0;
    double one = 1, *f = device(N * 8), *y = device(N * 8), *x = device(N * 8);
    struct csr a = create(N, N, 100, 0, DIAGONAL), s = create(N, N, 100, 0, HALF);
    struct csr b = create(N, N, 100, 0, DIAGONAL), t = create(N, N, 100, 0, HALF);
    int *offsets = device((NB + 1) * sizeof(int)), *columns = device(NB * NB * sizeof(int));
    cusparseMatDescr_t l, u;

    (void)cusparseCreateCsrilu02Info(&ilu);
    (void)cusparseCreateCsric02Info(&ic);
    (void)cusparseCreateBsrilu02Info(&bilu);
    (void)cusparseCreateBsric02Info(&bic);
    (void)cusparseCreateBsrsv2Info(&lower);
    (void)cusparseCreateBsrsv2Info(&upper);
    (void)cusparseDcsrilu02_bufferSize(handle, N, a.nnz, zero_based, a.values, a.offsets, a.columns,
                                       ilu, &size_B);
    ok(size_B > 0, "a buffer");
    eq_u64(cusparseDcsrilu02_analysis(handle, N, a.nnz, zero_based, a.values, a.offsets, a.columns,
                                      ilu, CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL),
           0, "analysis");
    eq_u64(cusparseXcsrilu02_zeroPivot(handle, ilu, &position), 0, "no pivot is missing");
    ok(position == -1, "as the position says");
    (void)cusparseDcsrilu02(handle, N, a.nnz, zero_based, a.values, a.offsets, a.columns, ilu,
                            CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    (void)cusparseDcsric02(handle, N, s.nnz, zero_based, s.values, s.offsets, s.columns, ic,
                           CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    wait();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double lu = 0, ll = 0;
            for (int k = 0; k <= HD_MIN(i, j); k++) {
                lu += (k == i ? 1 : a.values[i * N + k]) * a.values[k * N + j];
                ll += s.values[i * N + k] * s.values[j * N + k];
            }
            double d = lu - a.dense[i * N + j], e = j <= i ? ll - s.dense[i * N + j] : 0;
            right = right && d < 1e-9 && d > -1e-9 && e < 1e-9 && e > -1e-9;
        }
    ok(right, "csrilu02, csric02");

    /* The same in blocks: their elements are the matrix's. */
    double *bv = device(N * N * 8), *tv = device(N * N * 8);
    for (int i = 0; i <= NB; i++)
        offsets[i] = i * NB;
    for (int i = 0; i < NB * NB; i++)
        columns[i] = i % NB;
#define AT(i, j)                                                                                   \
    ((i) / BLOCK * BLOCK * N + (j) / BLOCK * BLOCK * BLOCK + (i) % BLOCK * BLOCK + (j) % BLOCK)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            bv[AT(i, j)] = b.dense[i * N + j];
            tv[AT(i, j)] = t.dense[i * N + j];
        }
    (void)cusparseDbsrilu02(handle, CUSPARSE_DIRECTION_ROW, NB, NB * NB, zero_based, bv, offsets,
                            columns, BLOCK, bilu, CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    (void)cusparseDbsric02(handle, CUSPARSE_DIRECTION_ROW, NB, NB * NB, zero_based, tv, offsets,
                           columns, BLOCK, bic, CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    wait();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double lu = 0, ll = 0;
            for (int k = 0; k <= HD_MIN(i, j); k++) {
                lu += (k == i ? 1 : bv[AT(i, k)]) * bv[AT(k, j)];
                ll += tv[AT(i, k)] * tv[AT(j, k)];
            }
            double d = lu - b.dense[i * N + j], e = j <= i ? ll - t.dense[i * N + j] : 0;
            right = right && d < 1e-9 && d > -1e-9 && e < 1e-9 && e > -1e-9;
        }
    ok(right, "bsrilu02, bsric02");

    /* L y = f, U x = y. */
    (void)cusparseCreateMatDescr(&l);
    (void)cusparseCreateMatDescr(&u);
    (void)cusparseSetMatDiagType(l, CUSPARSE_DIAG_TYPE_UNIT);
    (void)cusparseSetMatFillMode(u, CUSPARSE_FILL_MODE_UPPER);
    for (int i = 0; i < N; i++)
        f[i] = below(9);
    (void)cusparseDbsrsv2_analysis(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                   NB, NB * NB, l, bv, offsets, columns, BLOCK, lower,
                                   CUSPARSE_SOLVE_POLICY_USE_LEVEL, NULL);
    (void)cusparseDbsrsv2_solve(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                NB, NB * NB, &one, l, bv, offsets, columns, BLOCK, lower, f, y,
                                CUSPARSE_SOLVE_POLICY_USE_LEVEL, NULL);
    (void)cusparseDbsrsv2_solve(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                NB, NB * NB, &one, u, bv, offsets, columns, BLOCK, upper, y, x,
                                CUSPARSE_SOLVE_POLICY_USE_LEVEL, NULL);
    eq_u64(cusparseXbsrsv2_zeroPivot(handle, upper, &position), 0, "no pivot is zero");
    for (int i = 0; i < N; i++) {
        double d = -f[i];
        for (int j = 0; j < N; j++)
            d += b.dense[i * N + j] * x[j];
        right = right && d < 1e-9 && d > -1e-9;
    }
    ok(right, "bsrsv2 solves with both");
    /* Two right sides, as rows: X^T. */
    bsrsm2Info_t sm;
    double *f2 = device(2 * N * 8), *y2 = device(2 * N * 8);
    (void)cusparseCreateBsrsm2Info(&sm);
    for (int i = 0; i < N; i++)
        f2[2 * i] = f[i], f2[2 * i + 1] = 2 * f[i];
    eq_u64(cusparseDbsrsm2_solve(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                 CUSPARSE_OPERATION_TRANSPOSE, NB, 2, NB * NB, &one, l, bv, offsets,
                                 columns, BLOCK, sm, f2, 2, y2, 2, CUSPARSE_SOLVE_POLICY_NO_LEVEL,
                                 NULL),
           0, "bsrsm2");
    wait();
    for (int i = 0; i < N; i++)
        right = right && y2[2 * i] == y[i] && y2[2 * i + 1] == 2 * y[i];
    ok(right, "two right sides");

    /* Pivots that are missing, that are zero, and that are raised. */
    int o3[] = {1, 2, 4, 5}, c3[] = {1, 1, 3, 3};
    double v3[] = {1, 2, 3, 0}, tolerance = 0.5, boost = 4;
    memcpy(a.offsets, o3, sizeof(o3));
    memcpy(a.columns, c3, sizeof(c3));
    memcpy(a.values, v3, sizeof(v3));
    (void)cusparseDcsrilu02_analysis(handle, 3, 4, one_based, a.values, a.offsets, a.columns, ilu,
                                     CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    eq_u64(cusparseXcsrilu02_zeroPivot(handle, ilu, &position), CUSPARSE_STATUS_ZERO_PIVOT,
           "an entry of the diagonal is missing");
    eq_u64((uint64_t)position, 2, "in the second row, from 1");
    a.columns[2] = 2;
    (void)cusparseDcsrilu02(handle, 3, 4, one_based, a.values, a.offsets, a.columns, ilu,
                            CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    eq_u64(cusparseXcsrilu02_zeroPivot(handle, ilu, &position), CUSPARSE_STATUS_ZERO_PIVOT,
           "a pivot is zero");
    eq_u64((uint64_t)position, 3, "in the third row");
    (void)cusparseDcsrilu02_numericBoost(handle, ilu, 1, &tolerance, &boost);
    (void)cusparseDcsrilu02(handle, 3, 4, one_based, a.values, a.offsets, a.columns, ilu,
                            CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    eq_u64(cusparseXcsrilu02_zeroPivot(handle, ilu, &position), 0, "unless it is raised");
    ok(a.values[3] == 4, "to what the program said");
    (void)cusparseDestroyCsrilu02Info(ilu);
    (void)cusparseDestroyCsric02Info(ic);
    (void)cusparseDestroyBsrilu02Info(bilu);
    (void)cusparseDestroyBsric02Info(bic);
    (void)cusparseDestroyBsrsv2Info(lower);
    (void)cusparseDestroyBsrsv2Info(upper);
    (void)cusparseDestroyBsrsm2Info(sm);
    (void)cusparseDestroyMatDescr(l);
    (void)cusparseDestroyMatDescr(u);
    destroy(&a);
    destroy(&b);
    destroy(&s);
    destroy(&t);
}

/* ---- bands: residuals */

enum { SYSTEM = 40, SYSTEMS = 7 };

static bool is_solved(const double complex *const *diagonals, int width, int step,
                      const double complex *f, const double complex *x)
{
    for (int i = 0; i < SYSTEM; i++) {
        double complex sum = -f[i * step];
        for (int d = -width; d <= width; d++)
            if (i + d >= 0 && i + d < SYSTEM)
                sum += diagonals[2 + d][i * step] * x[(i + d) * step];
        if (cabs(sum) > 1e-8)
            return false;
    }
    return true;
}

static void test_bands(void)
{
    enum { CELLS = SYSTEM * SYSTEMS };
    double complex *diagonals[5], *copies[5], *x = device(CELLS * 16), f[CELLS];
    cuDoubleComplex *z[5], *zx = (cuDoubleComplex *)x;
    size_t size_B = 0;
    bool right = true;

    for (int d = 0; d < 5; d++) {
        diagonals[d] = malloc(CELLS * 16);
        copies[d] = device(CELLS * 16);
        z[d] = (cuDoubleComplex *)copies[d];
        for (int i = 0; i < CELLS; i++)
            diagonals[d][i] = copies[d][i] = below(9) - 4 + (below(9) - 4) * (double complex)I;
    }
    for (int i = 0; i < CELLS; i++)
        f[i] = x[i] = below(9);
    /* Small pivots: without exchanges it would not do. */
    diagonals[2][0] = copies[2][0] = 0;
    const double complex *const *c = (const double complex *const *)diagonals;
    (void)cusparseZgtsv2_bufferSizeExt(handle, SYSTEM, SYSTEMS, z[1], z[2], z[3], zx, SYSTEM,
                                       &size_B);
    ok(size_B > 0, "a buffer");
    eq_u64(cusparseZgtsv2(handle, SYSTEM, SYSTEMS, z[1], z[2], z[3], zx, SYSTEM, NULL), 0, "gtsv2");
    wait();
    for (int q = 0; q < SYSTEMS; q++)
        right = right && is_solved(c, 1, 1, f + q * SYSTEM, x + q * SYSTEM);
    ok(right, "of several right sides");
    for (int i = 0; i < CELLS; i++)
        x[i] = f[i];
    (void)cusparseZgtsv2StridedBatch(handle, SYSTEM, z[1], z[2], z[3], zx, SYSTEMS, SYSTEM, NULL);
    wait();
    for (int q = 0; q < SYSTEMS; q++) {
        const double complex *at[5];
        for (int d = 0; d < 5; d++)
            at[d] = diagonals[d] + q * SYSTEM;
        right = right && is_solved(at, 1, 1, f + q * SYSTEM, x + q * SYSTEM);
    }
    ok(right, "gtsv2StridedBatch");
    for (int algo = 1; algo < 4; algo++) { /* 3: five diagonals */
        for (int i = 0; i < CELLS; i++)
            x[i] = f[i];
        if (algo < 3)
            (void)cusparseZgtsvInterleavedBatch(handle, algo, SYSTEM, z[1], z[2], z[3], zx, SYSTEMS,
                                                NULL);
        else
            (void)cusparseZgpsvInterleavedBatch(handle, 0, SYSTEM, z[0], z[1], z[2], z[3], z[4], zx,
                                                SYSTEMS, NULL);
        wait();
        for (int q = 0; q < SYSTEMS; q++) {
            const double complex *at[5];
            for (int d = 0; d < 5; d++)
                at[d] = diagonals[d] + q;
            right = right && is_solved(at, algo == 3 ? 2 : 1, SYSTEMS, f + q, x + q);
        }
    }
    ok(right, "gtsvInterleavedBatch, gpsvInterleavedBatch");
    for (int i = 0; i < CELLS; i++) {
        diagonals[2][i] = copies[2][i] = 20;
        x[i] = f[i];
    }
    (void)cusparseZgtsv2_nopivot(handle, SYSTEM, SYSTEMS, z[1], z[2], z[3], zx, SYSTEM, NULL);
    wait();
    for (int q = 0; q < SYSTEMS; q++)
        right = right && is_solved(c, 1, 1, f + q * SYSTEM, x + q * SYSTEM);
    ok(right, "gtsv2_nopivot");
    eq_u64(cusparseZgtsv2(handle, SYSTEM, 1, z[1], z[2], z[3], zx, SYSTEM - 1, NULL),
           CUSPARSE_STATUS_INVALID_VALUE, "columns that overlap");
    for (int d = 0; d < 5; d++) {
        free(diagonals[d]);
        (void)cudaFree(copies[d]);
    }
    (void)cudaFree(x);
}

static void test_color(void)
{
    struct csr a = create(40, 40, 8, 0, DIAGONAL);
    int *colors = device(40 * sizeof(int)), *order = device(40 * sizeof(int)), n = 0, seen = 0;
    cusparseColorInfo_t info;
    double all = 1;
    bool right = true;

    (void)cusparseCreateColorInfo(&info);
    eq_u64(cusparseDcsrcolor(handle, 40, a.nnz, zero_based, a.values, a.offsets, a.columns, &all,
                             &n, colors, order, info),
           0, "csrcolor");
    for (int i = 0; i < 40; i++) {
        right = right && colors[i] >= 0 && colors[i] < n;
        for (int j = 0; j < 40; j++)
            right = right && (i == j || a.dense[i * 40 + j] == 0 || colors[i] != colors[j]);
        for (int k = 0; k < 40; k++)
            seen += order[k] == i;
    }
    ok(right && n > 1 && seen == 40, "neighbours differ, the order is one");
    (void)cusparseDestroyColorInfo(info);
    (void)cudaFree(colors);
    (void)cudaFree(order);
    destroy(&a);
}

cusparseStatus_t cusparseSgemvi(void);
static void test_refused(void)
{
    eq_u64(cusparseSgemvi(), CUSPARSE_STATUS_NOT_SUPPORTED, "what there is not is refused");
}

int main(void)
{
    if (cusparseCreate(&handle) || cusparseCreateMatDescr(&zero_based) ||
        cusparseCreateMatDescr(&one_based))
        return 1;
    (void)cusparseSetMatIndexBase(one_based, CUSPARSE_INDEX_BASE_ONE);
    test_indices();
    test_geam();
    test_nnz();
    test_blocks();
    test_factors();
    test_bands();
    test_color();
    test_refused();
    (void)cusparseDestroyMatDescr(zero_based);
    (void)cusparseDestroyMatDescr(one_based);
    (void)cusparseDestroy(handle);
    return done();
}
