/*
 * Generic functions of cuSPARSE against plain loops over dense matrices: every format, type, base,
 * width of indices, transposition and order; empty rows and matrices; batches; graphs; protocols.
 * Values are small whole numbers, so that sums are exact in every type.
 */
#include <complex.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <string.h>

#include "klib/halves.h"
#include "support/tap.h"

typedef double complex number;

static cusparseHandle_t handle;
static uint32_t state = 99;

static int below(int n)
{
    state = state * 1664525 + 1013904223;
    return (int)(state >> 10) % n;
}

static bool is_complex(cudaDataType type)
{
    return type == CUDA_C_32F || type == CUDA_C_64F;
}

static number small(cudaDataType type)
{
    int re = below(5) - 2, im = below(5) - 2;

    return is_complex(type) ? re + im * (number)I : re;
}

static size_t size_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_8I:
        return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_64F:
    case CUDA_C_32F:
        return 8;
    case CUDA_C_64F:
        return 16;
    default:
        return 4;
    }
}

static number get(cudaDataType type, const void *p, int64_t i)
{
    switch (type) {
    case CUDA_R_8I:
        return ((const int8_t *)p)[i];
    case CUDA_R_16F:
        return klib_f32_of_f16(((const uint16_t *)p)[i]);
    case CUDA_R_16BF:
        return klib_f32_of_bf16(((const uint16_t *)p)[i]);
    case CUDA_R_32I:
        return ((const int32_t *)p)[i];
    case CUDA_R_64F:
        return ((const double *)p)[i];
    case CUDA_C_32F:
        return ((const float complex *)p)[i];
    case CUDA_C_64F:
        return ((const number *)p)[i];
    default:
        return ((const float *)p)[i];
    }
}

static void put(cudaDataType type, void *p, int64_t i, number v)
{
    switch (type) {
    case CUDA_R_8I:
        ((int8_t *)p)[i] = (int8_t)creal(v);
        break;
    case CUDA_R_16F:
        ((uint16_t *)p)[i] = klib_f16_of_f32((float)creal(v));
        break;
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = klib_bf16_of_f32((float)creal(v));
        break;
    case CUDA_R_32I:
        ((int32_t *)p)[i] = (int32_t)creal(v);
        break;
    case CUDA_R_64F:
        ((double *)p)[i] = creal(v);
        break;
    case CUDA_C_32F:
        ((float complex *)p)[i] = (float complex)v;
        break;
    case CUDA_C_64F:
        ((number *)p)[i] = v;
        break;
    default:
        ((float *)p)[i] = (float)creal(v);
    }
}

static void *device(size_t size_B)
{
    void *p;

    if (cudaMalloc(&p, size_B ? size_B : 1))
        exit(1);
    memset(p, 0xee, size_B);
    return p;
}

static void *values(cudaDataType type, int64_t n)
{
    void *p = device((size_t)n * size_of(type));

    for (int64_t i = 0; i < n; i++)
        put(type, p, i, small(type));
    return p;
}

/* ---- sparse matrices with their dense model */

struct sparse {
    cusparseSpMatDescr_t descr;
    cudaDataType type;
    int m, n, nnz;
    number *dense; /* by rows */
    void *offsets, *columns, *values;
};

enum { BLOCK = 3 };

static void put_index(cusparseIndexType_t type, void *p, int64_t i, int64_t v)
{
    if (type == CUSPARSE_INDEX_64I)
        ((int64_t *)p)[i] = v;
    else
        ((int32_t *)p)[i] = (int32_t)v;
}

static int64_t get_index(cusparseIndexType_t type, const void *p, int64_t i)
{
    return type == CUSPARSE_INDEX_64I ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

/* `triangle`: -1 lower, 1 upper with a diagonal of 1 or -1, 0 anything; some rows are empty. */
static number *model(cudaDataType type, int m, int n, int percent, int triangle)
{
    number *dense = calloc((size_t)(m * n) + 1, sizeof(*dense));

    for (int i = 0; i < m; i++) {
        bool is_empty = !triangle && below(4) == 0;
        for (int j = 0; j < n; j++) {
            if (triangle && i == j)
                dense[i * n + j] = below(2) ? 1 : -1;
            else if (!is_empty && below(100) < percent)
                do
                    dense[i * n + j] = small(type);
                while (dense[i * n + j] == 0);
        }
    }
    return dense;
}

/* Has the block of rows i and columns j an entry? */
static bool has_block(const struct sparse *s, int i, int j)
{
    for (int r = i * BLOCK; r < (i + 1) * BLOCK && r < s->m; r++)
        for (int c = j * BLOCK; c < (j + 1) * BLOCK && c < s->n; c++)
            if (s->dense[r * s->n + c] != 0)
                return true;
    return false;
}

static struct sparse create(cusparseFormat_t format, cudaDataType type, cusparseIndexBase_t base,
                            cusparseIndexType_t index, int m, int n, number *dense)
{
    struct sparse s = {.type = type, .m = m, .n = n, .dense = dense};
    size_t cells = (size_t)(m * n) * 4 + 64;
    int b = (int)base, out = 0, mb = m / BLOCK, nb = n / BLOCK, width = 0, slices;
    bool is_csc = format == CUSPARSE_FORMAT_CSC;

    s.offsets = device((cells + 16) * 8);
    s.columns = device(cells * 8);
    s.values = device(cells * size_of(type));
    for (int i = 0; i < m * n; i++)
        s.nnz += dense[i] != 0;
    switch (format) {
    case CUSPARSE_FORMAT_CSR:
    case CUSPARSE_FORMAT_CSC:
    case CUSPARSE_FORMAT_COO:
        for (int i = 0; i < (is_csc ? n : m); i++) {
            if (format != CUSPARSE_FORMAT_COO)
                put_index(index, s.offsets, i, out + b);
            for (int j = 0; j < (is_csc ? m : n); j++) {
                number v = is_csc ? dense[j * n + i] : dense[i * n + j];
                if (v == 0)
                    continue;
                if (format == CUSPARSE_FORMAT_COO)
                    put_index(index, s.offsets, out, i + b);
                put_index(index, s.columns, out, j + b);
                put(type, s.values, out++, v);
            }
        }
        if (format == CUSPARSE_FORMAT_CSR) {
            put_index(index, s.offsets, m, out + b);
            (void)cusparseCreateCsr(&s.descr, m, n, s.nnz, s.offsets, s.columns, s.values, index,
                                    index, base, type);
        } else if (format == CUSPARSE_FORMAT_CSC) {
            put_index(index, s.offsets, n, out + b);
            (void)cusparseCreateCsc(&s.descr, m, n, s.nnz, s.offsets, s.columns, s.values, index,
                                    index, base, type);
        } else {
            (void)cusparseCreateCoo(&s.descr, m, n, s.nnz, s.offsets, s.columns, s.values, index,
                                    base, type);
        }
        break;
    case CUSPARSE_FORMAT_BSR: /* by rows with base 0, by columns with base 1 */
        for (int i = 0; i < mb; i++) {
            put_index(index, s.offsets, i, out + b);
            for (int j = 0; j < nb; j++) {
                if (!has_block(&s, i, j))
                    continue;
                for (int r = 0; r < BLOCK; r++)
                    for (int c = 0; c < BLOCK; c++)
                        put(type, s.values,
                            out * BLOCK * BLOCK + (b ? c * BLOCK + r : r * BLOCK + c),
                            dense[(i * BLOCK + r) * n + j * BLOCK + c]);
                put_index(index, s.columns, out++, j + b);
            }
        }
        put_index(index, s.offsets, mb, out + b);
        (void)cusparseCreateBsr(&s.descr, mb, nb, out, BLOCK, BLOCK, s.offsets, s.columns, s.values,
                                index, index, base, type,
                                b ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW);
        break;
    case CUSPARSE_FORMAT_BLOCKED_ELL:
        for (int i = 0; i < mb; i++) {
            int found = 0;
            for (int j = 0; j < nb; j++)
                found += has_block(&s, i, j);
            width = HD_MAX(width, found);
        }
        width++; /* each row has a place without a block */
        for (int i = 0; i < mb; i++) {
            int k = 0;
            for (int j = 0; j < nb; j++) {
                if (!has_block(&s, i, j))
                    continue;
                put_index(index, s.columns, i * width + k, j + b);
                for (int r = 0; r < BLOCK; r++)
                    for (int c = 0; c < BLOCK; c++)
                        put(type, s.values, (i * BLOCK + r) * width * BLOCK + k * BLOCK + c,
                            dense[(i * BLOCK + r) * n + j * BLOCK + c]);
                k++;
            }
            for (; k < width; k++)
                put_index(index, s.columns, i * width + k, -1);
        }
        (void)cusparseCreateBlockedEll(&s.descr, m, n, BLOCK, width * BLOCK, s.columns, s.values,
                                       index, base, type);
        break;
    default: /* slices of 2 rows */
        slices = (m + 1) / 2;
        for (int i = 0; i < slices; i++) {
            int most = 0;
            put_index(index, s.offsets, i, out + b);
            for (int r = 2 * i; r < 2 * i + 2 && r < m; r++) {
                int found = 0;
                for (int j = 0; j < n; j++)
                    found += dense[r * n + j] != 0;
                most = HD_MAX(most, found);
            }
            for (int r = 2 * i; r < 2 * i + 2; r++) {
                int k = 0;
                for (int j = 0; r < m && j < n; j++)
                    if (dense[r * n + j] != 0) {
                        put_index(index, s.columns, out + 2 * k + r % 2, j + b);
                        put(type, s.values, out + 2 * k++ + r % 2, dense[r * n + j]);
                    }
                for (; k < most; k++)
                    put_index(index, s.columns, out + 2 * k + r % 2, -1);
            }
            out += 2 * most;
        }
        put_index(index, s.offsets, slices, out + b);
        (void)cusparseCreateSlicedEll(&s.descr, m, n, s.nnz, out, 2, s.offsets, s.columns, s.values,
                                      index, index, base, type);
    }
    return s;
}

static void destroy(struct sparse *s)
{
    (void)cusparseDestroySpMat(s->descr);
    (void)cudaFree(s->offsets);
    (void)cudaFree(s->columns);
    (void)cudaFree(s->values);
    free(s->dense);
}

static number op_of(const struct sparse *s, cusparseOperation_t op, int i, int j)
{
    if (op == CUSPARSE_OPERATION_NON_TRANSPOSE)
        return s->dense[i * s->n + j];
    number v = s->dense[j * s->n + i];
    return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? conj(v) : v;
}

/* ---- dense matrices */

struct dense {
    cusparseDnMatDescr_t descr;
    cudaDataType type;
    void *values;
    int rows, cols, ld;
    cusparseOrder_t order;
};

static struct dense dense_create(cudaDataType type, int rows, int cols, cusparseOrder_t order)
{
    struct dense d = {.type = type, .rows = rows, .cols = cols, .order = order};

    d.ld = (order == CUSPARSE_ORDER_COL ? rows : cols) + 2;
    d.values = values(type, (int64_t)d.ld * (order == CUSPARSE_ORDER_COL ? cols : rows));
    (void)cusparseCreateDnMat(&d.descr, rows, cols, d.ld, d.values, type, order);
    return d;
}

static void dense_destroy(struct dense *d)
{
    (void)cusparseDestroyDnMat(d->descr);
    (void)cudaFree(d->values);
}

static int64_t place(const struct dense *d, int i, int j)
{
    return d->order == CUSPARSE_ORDER_COL ? i + (int64_t)j * d->ld : (int64_t)i * d->ld + j;
}

static number dense_get(const struct dense *d, cusparseOperation_t op, int i, int j)
{
    if (op == CUSPARSE_OPERATION_NON_TRANSPOSE)
        return get(d->type, d->values, place(d, i, j));
    number v = get(d->type, d->values, place(d, j, i));
    return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? conj(v) : v;
}

static void wait(void)
{
    if (cudaDeviceSynchronize())
        ok(false, "the device is well");
}

/* ---- products */

static const struct kind {
    const char *name;
    cudaDataType a, y, sums;
} kinds[] = {
    {"f32", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {"f64", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {"c32", CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    {"c64", CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
    {"f16", CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
    {"bf16", CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {"i8 in i32", CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
    {"i8 in f32", CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},
};
static const struct {
    const char *name;
    cusparseFormat_t format;
} formats[] = {{"CSR", CUSPARSE_FORMAT_CSR},
               {"CSC", CUSPARSE_FORMAT_CSC},
               {"COO", CUSPARSE_FORMAT_COO},
               {"BSR", CUSPARSE_FORMAT_BSR},
               {"blocked ELL", CUSPARSE_FORMAT_BLOCKED_ELL},
               {"sliced ELL", CUSPARSE_FORMAT_SLICED_ELLPACK}};

union factor {
    char bytes[16];
    double align;
};

/* Sizes are multiples of the block where the format has blocks. */
static bool spmm_is_right(const struct kind *k, cusparseFormat_t format, int m, int n, int columns,
                          cusparseOperation_t op_a, cusparseOperation_t op_b, int variant)
{
    cusparseIndexBase_t base = variant & 1 ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
    cusparseIndexType_t index = variant & 2 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    cusparseOrder_t order_b = variant & 4 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    cusparseOrder_t order_c = variant & 8 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    struct sparse a = create(format, k->a, base, index, m, n, model(k->a, m, n, 30, 0));
    int rows = op_a ? n : m, inner = op_a ? m : n;
    struct dense b = op_b ? dense_create(k->a, columns, inner, order_b)
                          : dense_create(k->a, inner, columns, order_b);
    struct dense c = dense_create(k->y, rows, columns, order_c);
    number *want = calloc((size_t)(rows * columns) + 1, sizeof(*want));
    union factor alpha, beta;
    size_t size_B = 0;
    void *buffer;
    bool same = true;

    put(k->sums, &alpha, 0, 2);
    put(k->sums, &beta, 0, variant & 1 ? -1 : 0);
    if (!(variant & 1)) /* is not read: NaN where there is one */
        memset(c.values, k->y == CUDA_R_32I ? 0 : 0xff, size_of(k->y) * (size_t)c.ld);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            number sum = 0;
            for (int q = 0; q < inner; q++)
                sum += op_of(&a, op_a, i, q) * dense_get(&b, op_b, q, j);
            want[i * columns + j] =
                2 * sum - (variant & 1 ? dense_get(&c, CUSPARSE_OPERATION_NON_TRANSPOSE, i, j) : 0);
        }
    same = !cusparseSpMM_bufferSize(handle, op_a, op_b, &alpha, a.descr, b.descr, &beta, c.descr,
                                    k->sums, CUSPARSE_SPMM_ALG_DEFAULT, &size_B);
    buffer = device(size_B);
    same = same && !cusparseSpMM_preprocess(handle, op_a, op_b, &alpha, a.descr, b.descr, &beta,
                                            c.descr, k->sums, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
    same = same && !cusparseSpMM(handle, op_a, op_b, &alpha, a.descr, b.descr, &beta, c.descr,
                                 k->sums, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
    memset(&alpha, 0xff, sizeof(alpha)); /* is the program's again */
    wait();
    for (int i = 0; same && i < rows; i++)
        for (int j = 0; same && j < columns; j++)
            if (dense_get(&c, CUSPARSE_OPERATION_NON_TRANSPOSE, i, j) != want[i * columns + j]) {
                number v = dense_get(&c, CUSPARSE_OPERATION_NON_TRANSPOSE, i, j);
                diag("(%d, %d): %g%+gi, not %g%+gi; ops %d %d, variant %d", i, j, creal(v),
                     cimag(v), creal(want[i * columns + j]), cimag(want[i * columns + j]),
                     (int)op_a, (int)op_b, variant);
                same = false;
            }
    (void)cudaFree(buffer);
    free(want);
    destroy(&a);
    dense_destroy(&b);
    dense_destroy(&c);
    return same;
}

static void test_spmm(void)
{
    for (size_t f = 0; f < HD_COUNT_OF(formats); f++)
        for (size_t k = 0; k < HD_COUNT_OF(kinds); k++) {
            bool right = true;
            for (int variant = 0; variant < 16; variant++) {
                cusparseOperation_t op_a = (cusparseOperation_t)below(3);
                cusparseOperation_t op_b = (cusparseOperation_t)below(3);
                int m = BLOCK * (1 + below(6)), n = BLOCK * (1 + below(6));
                right = right && spmm_is_right(&kinds[k], formats[f].format, m, n, 1 + below(40),
                                               op_a, op_b, variant);
            }
            ok(right, "SpMM: %s, %s", formats[f].name, kinds[k].name);
        }
    bool right = true;
    for (size_t f = 0; f < HD_COUNT_OF(formats); f++) /* several tiles of rows and of columns */
        for (int op = 0; op < 3; op++)
            right = right && spmm_is_right(&kinds[2], formats[f].format, 150, 120, 40,
                                           (cusparseOperation_t)op,
                                           CUSPARSE_OPERATION_NON_TRANSPOSE, 1 + 4 * op);
    ok(right, "SpMM in tiles");
}

static void test_spmv(void)
{
    for (size_t f = 0; f < HD_COUNT_OF(formats); f++)
        for (size_t k = 0; k < HD_COUNT_OF(kinds); k++) {
            bool right = true;
            for (int op = 0; op < 3; op++) {
                int m = BLOCK * (1 + below(12)), n = BLOCK * (1 + below(12));
                cudaDataType type = kinds[k].a, sums = kinds[k].sums, y_type = kinds[k].y;
                struct sparse a = create(formats[f].format, type, (cusparseIndexBase_t)(op & 1),
                                         op == 2 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, m, n,
                                         model(type, m, n, 40, 0));
                int rows = op ? n : m, inner = op ? m : n;
                void *x = values(type, inner), *y = values(y_type, rows);
                number *want = calloc((size_t)rows, sizeof(*want));
                cusparseDnVecDescr_t vx, vy;
                union factor *alpha = device(16), *beta = device(16); /* of the device's mode */
                size_t size_B = 0;
                for (int i = 0; i < rows; i++) {
                    for (int j = 0; j < inner; j++)
                        want[i] += 3 * op_of(&a, (cusparseOperation_t)op, i, j) * get(type, x, j);
                    want[i] += get(y_type, y, i);
                }
                put(sums, alpha, 0, 3);
                put(sums, beta, 0, 1);
                (void)cusparseCreateDnVec(&vx, inner, x, type);
                (void)cusparseCreateDnVec(&vy, rows, y, y_type);
                (void)cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE);
                right =
                    right &&
                    !cusparseSpMV_bufferSize(handle, (cusparseOperation_t)op, alpha, a.descr, vx,
                                             beta, vy, sums, CUSPARSE_SPMV_ALG_DEFAULT, &size_B) &&
                    !cusparseSpMV(handle, (cusparseOperation_t)op, alpha, a.descr, vx, beta, vy,
                                  sums, CUSPARSE_SPMV_ALG_DEFAULT, NULL);
                (void)cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
                wait();
                for (int i = 0; i < rows; i++)
                    right = right && get(y_type, y, i) == want[i];
                (void)cusparseDestroyDnVec(vx);
                (void)cusparseDestroyDnVec(vy);
                (void)cudaFree(x);
                (void)cudaFree(y);
                (void)cudaFree(alpha);
                (void)cudaFree(beta);
                free(want);
                destroy(&a);
            }
            ok(right, "SpMV: %s, %s", formats[f].name, kinds[k].name);
        }
}

static void test_empty(void)
{
    float one = 1, y[4] = {1, 2, 3, 4};
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vx, vy;
    void *dy = device(sizeof(y));

    memcpy(dy, y, sizeof(y));
    (void)cusparseCreateCsr(&a, 4, 5, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    (void)cusparseCreateDnVec(&vx, 5, dy, CUDA_R_32F);
    (void)cusparseCreateDnVec(&vy, 4, dy, CUDA_R_32F);
    float two = 2;
    eq_u64(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &two, vy, CUDA_R_32F,
                        CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_SUCCESS, "a matrix without arrays");
    wait();
    ok(((float *)dy)[3] == 8, "beta y is what remains");
    (void)cusparseDestroySpMat(a);
    (void)cusparseDestroyDnVec(vx);
    (void)cusparseDestroyDnVec(vy);
    eq_u64(cusparseCreateCsr(&a, 0, 0, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
           CUSPARSE_STATUS_SUCCESS, "a matrix of no rows");
    (void)cusparseCreateDnVec(&vx, 0, NULL, CUDA_R_32F);
    eq_u64(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, &two, vx, CUDA_R_32F,
                        CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_SUCCESS, "its product is nothing");
    (void)cusparseDestroySpMat(a);
    (void)cusparseDestroyDnVec(vx);
    (void)cudaFree(dy);
}

static void test_batches(void)
{
    enum { M = 9, N = 7, K = 5, P = 3 };
    double one = 1, zero = 0;
    bool right = true;

    for (int shared = 0; shared < 2; shared++) {
        int *offsets = device((M + 1) * P * sizeof(int)),
            *columns = device(M * N * P * sizeof(int));
        double *v = values(CUDA_R_64F, M * N * P), *b = values(CUDA_R_64F, N * K * P);
        double *c = values(CUDA_R_64F, M * K * P);
        cusparseSpMatDescr_t sa;
        cusparseDnMatDescr_t db, dc;
        /* Full rows in each problem, in an order of their own. */
        for (int p = 0; p < P; p++)
            for (int i = 0; i < M; i++) {
                for (int j = 0; j < N; j++)
                    columns[p * M * N + i * N + j] = (j + i + p) % N;
                offsets[p * (M + 1) + i] = i * N;
                offsets[p * (M + 1) + i + 1] = (i + 1) * N;
            }
        (void)cusparseCreateCsr(&sa, M, N, M * N, offsets, columns, v, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
        (void)cusparseCreateDnMat(&db, N, K, N, b, CUDA_R_64F, CUSPARSE_ORDER_COL);
        (void)cusparseCreateDnMat(&dc, M, K, M, c, CUDA_R_64F, CUSPARSE_ORDER_COL);
        if (!shared)
            (void)cusparseCsrSetStridedBatch(sa, P, M + 1, M * N);
        (void)cusparseDnMatSetStridedBatch(db, P, N * K);
        (void)cusparseDnMatSetStridedBatch(dc, P, M * K);
        right = right && !cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                       CUSPARSE_OPERATION_NON_TRANSPOSE, &one, sa, db, &zero, dc,
                                       CUDA_R_64F, CUSPARSE_SPMM_CSR_ALG2, NULL);
        wait();
        for (int p = 0; p < P; p++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < K; j++) {
                    double sum = 0;
                    int q = shared ? 0 : p;
                    for (int e = i * N; e < (i + 1) * N; e++)
                        sum += v[q * M * N + e] * b[p * N * K + columns[q * M * N + e] + j * N];
                    right = right && c[p * M * K + i + j * M] == sum;
                }
        (void)cusparseDnMatSetStridedBatch(db, P - 1, N * K);
        eq_u64(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                            CUSPARSE_OPERATION_NON_TRANSPOSE, &one, sa, db, &zero, dc, CUDA_R_64F,
                            CUSPARSE_SPMM_CSR_ALG2, NULL),
               CUSPARSE_STATUS_INVALID_VALUE, "batches of two sizes");
        (void)cusparseDestroySpMat(sa);
        (void)cusparseDestroyDnMat(db);
        (void)cusparseDestroyDnMat(dc);
        (void)cudaFree(offsets);
        (void)cudaFree(columns);
        (void)cudaFree(v);
        (void)cudaFree(b);
        (void)cudaFree(c);
    }
    ok(right, "SpMM of batches");
}

/* ---- triangles: what is solved, multiplied again */

static void test_triangles(void)
{
    static const cusparseFormat_t solved[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_COO,
                                              CUSPARSE_FORMAT_SLICED_ELLPACK, CUSPARSE_FORMAT_CSC};
    cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};

    for (size_t f = 0; f < HD_COUNT_OF(solved); f++)
        for (size_t t = 0; t < HD_COUNT_OF(types); t++) {
            bool right = true;
            for (int variant = 0; variant < 24; variant++) {
                cusparseOperation_t op = (cusparseOperation_t)(variant % 3);
                cusparseFillMode_t fill = (cusparseFillMode_t)(variant / 3 % 2);
                cusparseDiagType_t diag = (cusparseDiagType_t)(variant / 6 % 2);
                cusparseOperation_t op_b = (cusparseOperation_t)(variant / 12);
                int n = 8 + below(4), columns = 5;
                cudaDataType type = types[t];
                /* Of both triangles the other one must not be read. */
                struct sparse a = create(solved[f], type, (cusparseIndexBase_t)(variant & 1),
                                         CUSPARSE_INDEX_32I, n, n, model(type, n, n, 12, 1));
                struct dense b = op_b ? dense_create(type, columns, n, CUSPARSE_ORDER_ROW)
                                      : dense_create(type, n, columns, CUSPARSE_ORDER_COL);
                struct dense c = dense_create(type, n, columns, CUSPARSE_ORDER_ROW);
                cusparseSpSMDescr_t descr;
                union factor alpha;
                size_t size_B = 0;
                void *buffer;
                put(type, &alpha, 0, 2);
                (void)cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_FILL_MODE, &fill,
                                                sizeof(fill));
                (void)cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_DIAG_TYPE, &diag,
                                                sizeof(diag));
                (void)cusparseSpSM_createDescr(&descr);
                right = right && !cusparseSpSM_bufferSize(
                                     handle, op, op_b, &alpha, a.descr, b.descr, c.descr, type,
                                     CUSPARSE_SPSM_ALG_DEFAULT, descr, &size_B);
                buffer = device(size_B);
                right = right &&
                        cusparseSpSM_solve(handle, op, op_b, &alpha, a.descr, b.descr, c.descr,
                                           type, CUSPARSE_SPSM_ALG_DEFAULT,
                                           descr) == CUSPARSE_STATUS_INVALID_VALUE &&
                        !cusparseSpSM_analysis(handle, op, op_b, &alpha, a.descr, b.descr, c.descr,
                                               type, CUSPARSE_SPSM_ALG_DEFAULT, descr, buffer) &&
                        !cusparseSpSM_solve(handle, op, op_b, &alpha, a.descr, b.descr, c.descr,
                                            type, CUSPARSE_SPSM_ALG_DEFAULT, descr);
                wait();
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < columns; j++) {
                        number sum = 0;
                        for (int q = 0; q < n; q++) {
                            bool below_diagonal = op ? q > i : q < i;
                            number v = q == i ? diag ? 1 : op_of(&a, op, i, i)
                                       : below_diagonal == (fill == CUSPARSE_FILL_MODE_LOWER)
                                           ? op_of(&a, op, i, q)
                                           : 0;
                            sum += v * dense_get(&c, CUSPARSE_OPERATION_NON_TRANSPOSE, q, j);
                        }
                        right = right && cabs(sum - 2 * dense_get(&b, op_b, i, j)) < 1e-3;
                    }
                (void)cusparseSpSM_destroyDescr(descr);
                (void)cudaFree(buffer);
                destroy(&a);
                dense_destroy(&b);
                dense_destroy(&c);
            }
            ok(right, "SpSM: format %d, type %d", (int)solved[f], (int)types[t]);
        }
}

static void test_spsv_update(void)
{
    double v[] = {2, 1, 4}, x[] = {2, 9}, one = 1;
    int offsets[] = {0, 1, 3}, columns[] = {0, 0, 1};
    double *dv = device(sizeof(v)), *dx = device(sizeof(x)), *dy = device(sizeof(x));
    int *doffsets = device(sizeof(offsets)), *dcolumns = device(sizeof(columns));
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vx, vy;
    cusparseSpSVDescr_t descr;
    size_t size_B = 0;

    memcpy(dv, v, sizeof(v));
    memcpy(dx, x, sizeof(x));
    memcpy(doffsets, offsets, sizeof(offsets));
    memcpy(dcolumns, columns, sizeof(columns));
    (void)cusparseCreateCsr(&a, 2, 2, 3, doffsets, dcolumns, dv, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    (void)cusparseCreateDnVec(&vx, 2, dx, CUDA_R_64F);
    (void)cusparseCreateDnVec(&vy, 2, dy, CUDA_R_64F);
    (void)cusparseSpSV_createDescr(&descr);
    (void)cusparseSpSV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, vy,
                                  CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, descr, &size_B);
    void *buffer = device(size_B);
    (void)cusparseSpSV_analysis(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, vy,
                                CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, descr, buffer);
    (void)cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, vy, CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, descr);
    wait();
    ok(dy[0] == 1 && dy[1] == 2, "SpSV");
    double *diagonal = device(2 * sizeof(double));
    diagonal[0] = 1, diagonal[1] = 7;
    eq_u64(cusparseSpSV_updateMatrix(handle, descr, diagonal, CUSPARSE_SPSV_UPDATE_DIAGONAL),
           CUSPARSE_STATUS_SUCCESS, "another diagonal");
    wait();
    diagonal[0] = 0;
    (void)cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, vy, CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, descr);
    wait();
    ok(dy[0] == 2 && dy[1] == 1 && dv[0] == 2, "is the descriptor's, not the matrix's");
    double *all = device(sizeof(v));
    all[0] = 1, all[1] = 2, all[2] = 5;
    (void)cusparseSpSV_updateMatrix(handle, descr, all, CUSPARSE_SPSV_UPDATE_GENERAL);
    (void)cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, vx, vy, CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, descr);
    wait();
    ok(dy[0] == 2 && dy[1] == 1, "other values");
    (void)cusparseSpSV_destroyDescr(descr);
    (void)cusparseDestroySpMat(a);
    (void)cusparseDestroyDnVec(vx);
    (void)cusparseDestroyDnVec(vy);
}

/* ---- SDDMM, conversions */

static void test_sddmm(void)
{
    static const cusparseFormat_t made[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_BSR,
                                            CUSPARSE_FORMAT_CSC};

    for (size_t f = 0; f < HD_COUNT_OF(made); f++)
        for (size_t k = 0; k < 5; k++) {
            bool right = true;
            for (int variant = 0; variant < 9; variant++) {
                cusparseOperation_t op_a = (cusparseOperation_t)(variant % 3);
                cusparseOperation_t op_b = (cusparseOperation_t)(variant / 3);
                int m = 12, n = 9, inner = 6;
                struct sparse c = create(made[f], kinds[k].a, (cusparseIndexBase_t)(variant & 1),
                                         CUSPARSE_INDEX_32I, m, n, model(kinds[k].a, m, n, 40, 0));
                struct dense a = op_a ? dense_create(kinds[k].a, inner, m, CUSPARSE_ORDER_ROW)
                                      : dense_create(kinds[k].a, m, inner, CUSPARSE_ORDER_COL);
                struct dense b = op_b ? dense_create(kinds[k].a, n, inner, CUSPARSE_ORDER_COL)
                                      : dense_create(kinds[k].a, inner, n, CUSPARSE_ORDER_ROW);
                struct dense d = dense_create(kinds[k].a, m, n, CUSPARSE_ORDER_ROW);
                union factor alpha, beta;
                put(kinds[k].sums, &alpha, 0, 2);
                put(kinds[k].sums, &beta, 0, -1);
                right = right &&
                        !cusparseSDDMM(handle, op_a, op_b, &alpha, a.descr, b.descr, &beta, c.descr,
                                       kinds[k].sums, CUSPARSE_SDDMM_ALG_DEFAULT, NULL) &&
                        !cusparseSparseToDense(handle, c.descr, d.descr,
                                               CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL);
                wait();
                for (int i = 0; i < m; i++)
                    for (int j = 0; j < n; j++) {
                        number sum = 0, old = c.dense[i * n + j];
                        for (int q = 0; q < inner; q++)
                            sum += dense_get(&a, op_a, i, q) * dense_get(&b, op_b, q, j);
                        bool there = made[f] == CUSPARSE_FORMAT_BSR
                                         ? has_block(&c, i / BLOCK, j / BLOCK)
                                         : old != 0;
                        right = right && dense_get(&d, CUSPARSE_OPERATION_NON_TRANSPOSE, i, j) ==
                                             (there ? 2 * sum - old : 0);
                    }
                destroy(&c);
                dense_destroy(&a);
                dense_destroy(&b);
                dense_destroy(&d);
            }
            ok(right, "SDDMM: format %d, %s", (int)made[f], kinds[k].name);
        }
}

static void test_dense(void)
{
    for (size_t f = 0; f < HD_COUNT_OF(formats); f++)
        for (size_t k = 0; k < 7; k++) {
            bool right = true;
            for (int variant = 0; variant < 4; variant++) {
                int m = 3 * (1 + below(5)), n = 3 * (1 + below(5));
                cudaDataType type = kinds[k].a;
                cusparseIndexType_t index = variant & 1 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
                struct sparse a =
                    create(formats[f].format, type, (cusparseIndexBase_t)(variant / 2), index, m, n,
                           model(type, m, n, 30, 0));
                struct dense d =
                    dense_create(type, m, n, variant & 1 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
                size_t size_B = 0;
                int64_t rows, cols, nnz;
                for (int e = a.nnz - 1; formats[f].format == CUSPARSE_FORMAT_COO && e > 0; e--) {
                    int o = below(e + 1); /* in any order */
                    int64_t r = get_index(index, a.offsets, e), c = get_index(index, a.columns, e);
                    number v = get(type, a.values, e);
                    put_index(index, a.offsets, e, get_index(index, a.offsets, o));
                    put_index(index, a.columns, e, get_index(index, a.columns, o));
                    put(type, a.values, e, get(type, a.values, o));
                    put_index(index, a.offsets, o, r);
                    put_index(index, a.columns, o, c);
                    put(type, a.values, o, v);
                }
                right = right && !cusparseSparseToDense(handle, a.descr, d.descr,
                                                        CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL);
                wait();
                for (int i = 0; i < m * n; i++)
                    right = right && dense_get(&d, CUSPARSE_OPERATION_NON_TRANSPOSE, i / n,
                                               i % n) == a.dense[i];
                /* Back: arrays are made anew, but for offsets and blocks. */
                memset(a.values, 0x7f, (size_t)a.nnz * size_of(type));
                if (f < 3) {
                    memset(a.columns, 0x7f, (size_t)a.nnz * 4);
                    memset(a.offsets, 0x7f, 4);
                }
                right = right &&
                        !cusparseDenseToSparse_bufferSize(
                            handle, d.descr, a.descr, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &size_B);
                void *buffer = device(size_B);
                right = right &&
                        !cusparseDenseToSparse_analysis(
                            handle, d.descr, a.descr, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer) &&
                        !cusparseSpMatGetSize(a.descr, &rows, &cols, &nnz);
                if (f < 3)
                    right = right && rows == m && cols == n && nnz == a.nnz;
                right = right &&
                        !cusparseDenseToSparse_convert(handle, d.descr, a.descr,
                                                       CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer);
                memset(d.values, 0x11, size_of(type));
                right = right && !cusparseSparseToDense(handle, a.descr, d.descr,
                                                        CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL);
                wait();
                for (int i = 0; i < m * n; i++)
                    right = right && dense_get(&d, CUSPARSE_OPERATION_NON_TRANSPOSE, i / n,
                                               i % n) == a.dense[i];
                (void)cudaFree(buffer);
                destroy(&a);
                dense_destroy(&d);
            }
            ok(right, "to dense and back: %s, %s", formats[f].name, kinds[k].name);
        }
}

/* ---- sparse vectors */

static void test_vectors(void)
{
    for (size_t k = 0; k < 6; k++) {
        cudaDataType type = kinds[k].a, sums = kinds[k].sums;
        int64_t *at = device(4 * sizeof(int64_t));
        void *x = values(type, 4), *y = values(type, 10), *result = device(16);
        number xs[4], ys[10], dot = 0;
        cusparseSpVecDescr_t vx;
        cusparseDnVecDescr_t vy;
        union factor alpha, beta;
        bool right = true;
        for (int i = 0; i < 4; i++) {
            at[i] = 2 * i + 2; /* from 1 */
            xs[i] = get(type, x, i);
        }
        for (int i = 0; i < 10; i++)
            ys[i] = get(type, y, i);
        (void)cusparseCreateSpVec(&vx, 10, 4, at, x, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE,
                                  type);
        (void)cusparseCreateDnVec(&vy, 10, y, type);
        put(sums, &alpha, 0, 2);
        put(sums, &beta, 0, -1);
        right = !cusparseAxpby(handle, &alpha, vx, &beta, vy);
        wait();
        for (int i = 0; i < 10; i++) {
            ys[i] = -ys[i] + (i % 2 && i < 8 ? 2 * xs[i / 2] : 0);
            right = right && get(type, y, i) == ys[i];
        }
        ok(right, "Axpby, %s", kinds[k].name);
        right = !cusparseRot(handle, &alpha, &beta, vx, vy);
        wait();
        for (int i = 0; i < 4; i++) {
            number old = ys[2 * i + 1];
            ys[2 * i + 1] = 2 * old + xs[i];
            xs[i] = 2 * xs[i] - old;
            right = right && get(type, x, i) == xs[i] && get(type, y, 2 * i + 1) == ys[2 * i + 1];
        }
        ok(right, "Rot, %s", kinds[k].name);
        for (int i = 0; i < 4; i++)
            dot += conj(xs[i]) * ys[2 * i + 1];
        right = !cusparseSpVV(handle, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, vx, vy, result, sums,
                              NULL);
        ok(right && get(sums, result, 0) == dot, "SpVV, %s", kinds[k].name);
        right = !cusparseGather(handle, vy, vx);
        wait();
        for (int i = 0; i < 4; i++)
            right = right && get(type, x, i) == ys[2 * i + 1];
        put(type, x, 0, 1);
        right = right && !cusparseScatter(handle, vx, vy);
        wait();
        ok(right && get(type, y, 1) == 1 && get(type, y, 0) == ys[0], "Gather, Scatter, %s",
           kinds[k].name);
        (void)cusparseDestroySpVec(vx);
        (void)cusparseDestroyDnVec(vy);
        (void)cudaFree(at);
        (void)cudaFree(x);
        (void)cudaFree(y);
        (void)cudaFree(result);
    }
}

/* ---- products of sparse matrices */

static bool is_product(const struct sparse *a, const struct sparse *b, cusparseSpMatDescr_t c,
                       number factor, const void *offsets, const void *columns, const void *v,
                       cusparseIndexType_t index, number beta, number old)
{
    int64_t rows, cols, nnz, out = 0;

    (void)cusparseSpMatGetSize(c, &rows, &cols, &nnz);
    for (int i = 0; i < a->m; i++) {
        if (get_index(index, offsets, i) != out)
            return false;
        for (int j = 0; j < b->n; j++) {
            number sum = 0;
            bool there = false;
            for (int q = 0; q < a->n; q++) {
                there = there || (a->dense[i * a->n + q] != 0 && b->dense[q * b->n + j] != 0);
                sum += a->dense[i * a->n + q] * b->dense[q * b->n + j];
            }
            if (!there)
                continue;
            if (out >= nnz || get_index(index, columns, out) != j ||
                get(a->type, v, out) != factor * sum + beta * old)
                return false;
            out++;
        }
    }
    return out == nnz && get_index(index, offsets, a->m) == nnz;
}

static void test_spgemm(void)
{
    cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    const cusparseOperation_t n_op = CUSPARSE_OPERATION_NON_TRANSPOSE;

    for (size_t t = 0; t < HD_COUNT_OF(types); t++)
        for (int variant = 0; variant < 6; variant++) {
            cudaDataType type = types[t];
            cusparseIndexType_t index = variant & 1 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
            cusparseIndexBase_t base = (cusparseIndexBase_t)(variant & 1);
            cusparseSpGEMMAlg_t alg = variant & 2 ? CUSPARSE_SPGEMM_ALG3 : CUSPARSE_SPGEMM_DEFAULT;
            int m = variant == 5 ? 200 : 1 + below(20), n = 1 + below(20), inner = 1 + below(20);
            int percent = variant == 4 ? 0 : 25;
            struct sparse a = create(CUSPARSE_FORMAT_CSR, type, base, index, m, inner,
                                     model(type, m, inner, percent, 0));
            struct sparse b = create(CUSPARSE_FORMAT_CSR, type, base, index, inner, n,
                                     model(type, inner, n, 25, 0));
            void *offsets = device(8 * (size_t)(m + 1)), *columns, *v, *buffers[6] = {NULL};
            size_t size_B = 0, sizes_B[3] = {0};
            cusparseSpMatDescr_t c;
            cusparseSpGEMMDescr_t descr;
            union factor alpha, beta;
            int64_t rows, cols, nnz = 0, products;
            put(type, &alpha, 0, 2);
            put(type, &beta, 0, 0);
            (void)cusparseCreateCsr(&c, m, n, 0, offsets, NULL, NULL, index, index,
                                    CUSPARSE_INDEX_BASE_ZERO, type);
            (void)cusparseSpGEMM_createDescr(&descr);
            bool right =
                !cusparseSpGEMM_workEstimation(handle, n_op, n_op, &alpha, a.descr, b.descr, &beta,
                                               c, type, alg, descr, &size_B, NULL);
            buffers[0] = device(size_B);
            right =
                right &&
                !cusparseSpGEMM_workEstimation(handle, n_op, n_op, &alpha, a.descr, b.descr, &beta,
                                               c, type, alg, descr, &size_B, buffers[0]) &&
                !cusparseSpGEMM_getNumProducts(descr, &products);
            if (alg == CUSPARSE_SPGEMM_ALG3) {
                right = right && !cusparseSpGEMM_estimateMemory(handle, n_op, n_op, &alpha, a.descr,
                                                                b.descr, &beta, c, type, alg, descr,
                                                                0.2F, &sizes_B[0], NULL, NULL);
                buffers[1] = device(sizes_B[0]);
                right = right && !cusparseSpGEMM_estimateMemory(
                                     handle, n_op, n_op, &alpha, a.descr, b.descr, &beta, c, type,
                                     alg, descr, 0.2F, &sizes_B[0], buffers[1], &size_B);
            } else {
                right =
                    right && !cusparseSpGEMM_compute(handle, n_op, n_op, &alpha, a.descr, b.descr,
                                                     &beta, c, type, alg, descr, &size_B, NULL);
            }
            buffers[2] = device(size_B);
            right = right &&
                    !cusparseSpGEMM_compute(handle, n_op, n_op, &alpha, a.descr, b.descr, &beta, c,
                                            type, alg, descr, &size_B, buffers[2]) &&
                    !cusparseSpMatGetSize(c, &rows, &cols, &nnz);
            columns = device(8 * (size_t)nnz + 8);
            v = device(16 * (size_t)nnz + 16);
            right = right && rows == m && cols == n && products >= nnz &&
                    !cusparseCsrSetPointers(c, offsets, columns, v) &&
                    !cusparseSpGEMM_copy(handle, n_op, n_op, &alpha, a.descr, b.descr, &beta, c,
                                         type, alg, descr);
            wait();
            right = right && is_product(&a, &b, c, 2, offsets, columns, v, index, 0, 0);
            ok(right, "SpGEMM, type %d, variant %d", (int)type, variant);
            (void)cusparseDestroySpMat(c);
            (void)cusparseSpGEMM_destroyDescr(descr);
            for (int i = 0; i < 3; i++)
                (void)cudaFree(buffers[i]);

            /* Again, with a pattern that is kept. */
            (void)cusparseCreateCsr(&c, m, n, 0, offsets, NULL, NULL, index, index,
                                    CUSPARSE_INDEX_BASE_ZERO, type);
            (void)cusparseSpGEMM_createDescr(&descr);
            right =
                !cusparseSpGEMMreuse_workEstimation(handle, n_op, n_op, a.descr, b.descr, c,
                                                    CUSPARSE_SPGEMM_DEFAULT, descr, &size_B, NULL);
            buffers[0] = device(size_B);
            right = right && !cusparseSpGEMMreuse_workEstimation(
                                 handle, n_op, n_op, a.descr, b.descr, c, CUSPARSE_SPGEMM_DEFAULT,
                                 descr, &size_B, buffers[0]);
            right = right && !cusparseSpGEMMreuse_nnz(handle, n_op, n_op, a.descr, b.descr, c,
                                                      CUSPARSE_SPGEMM_DEFAULT, descr, &sizes_B[0],
                                                      NULL, &sizes_B[1], NULL, &sizes_B[2], NULL);
            for (int i = 0; i < 3; i++)
                buffers[i + 1] = device(sizes_B[i]);
            right =
                right &&
                !cusparseSpGEMMreuse_nnz(handle, n_op, n_op, a.descr, b.descr, c,
                                         CUSPARSE_SPGEMM_DEFAULT, descr, &sizes_B[0], buffers[1],
                                         &sizes_B[1], buffers[2], &sizes_B[2], buffers[3]) &&
                !cusparseSpMatGetSize(c, &rows, &cols, &nnz) &&
                !cusparseCsrSetPointers(c, offsets, columns, v) &&
                !cusparseSpGEMMreuse_copy(handle, n_op, n_op, a.descr, b.descr, c,
                                          CUSPARSE_SPGEMM_DEFAULT, descr, &size_B, NULL);
            memset(offsets, 0x55, 8 * (size_t)(m + 1));
            memset(columns, 0x55, 8 * (size_t)nnz);
            for (int64_t i = 0; i < nnz; i++)
                put(type, v, i, 3);
            buffers[4] = device(size_B);
            right = right &&
                    !cusparseSpGEMMreuse_copy(handle, n_op, n_op, a.descr, b.descr, c,
                                              CUSPARSE_SPGEMM_DEFAULT, descr, &size_B, buffers[4]);
            wait();
            put(type, &beta, 0, -1);
            for (int i = 0; i < 2; i++) /* the first one takes values of before: 3 */
                right = right && !cusparseSpGEMMreuse_compute(handle, n_op, n_op, &alpha, a.descr,
                                                              b.descr, &beta, c, type,
                                                              CUSPARSE_SPGEMM_DEFAULT, descr),
                wait(),
                right = right && (i || is_product(&a, &b, c, 2, offsets, columns, v, index, -1, 3)),
                put(type, &beta, 0, 0);
            right = right && is_product(&a, &b, c, 2, offsets, columns, v, index, 0, 0);
            ok(right, "SpGEMMreuse, type %d, variant %d", (int)type, variant);
            (void)cusparseDestroySpMat(c);
            (void)cusparseSpGEMM_destroyDescr(descr);
            for (int i = 0; i < 5; i++)
                (void)cudaFree(buffers[i]);
            (void)cudaFree(offsets);
            (void)cudaFree(columns);
            (void)cudaFree(v);
            destroy(&a);
            destroy(&b);
        }
}

/* ---- graphs, the log, errors */

static void test_graph(void)
{
    struct sparse a = create(CUSPARSE_FORMAT_CSR, CUDA_R_64F, CUSPARSE_INDEX_BASE_ZERO,
                             CUSPARSE_INDEX_32I, 20, 20, model(CUDA_R_64F, 20, 20, 30, 0));
    double *x = values(CUDA_R_64F, 20), *y = device(20 * sizeof(double)), one = 1, zero = 0;
    cusparseDnVecDescr_t vx, vy;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    bool right = true;
    int64_t products;
    cusparseSpGEMMDescr_t descr;
    size_t size_B = 0;

    (void)cudaStreamCreate(&stream);
    (void)cusparseSetStream(handle, stream);
    (void)cusparseCreateDnVec(&vx, 20, x, CUDA_R_64F);
    (void)cusparseCreateDnVec(&vy, 20, y, CUDA_R_64F);
    (void)cusparseSpGEMM_createDescr(&descr);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    right = !cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descr, vx, &zero, vy,
                          CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, NULL);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    one = 77;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++)
            x[i] = below(9);
        (void)cudaGraphLaunch(exec, stream);
        (void)cudaStreamSynchronize(stream);
        for (int i = 0; i < 20; i++) {
            double sum = 0;
            for (int j = 0; j < 20; j++)
                sum += creal(a.dense[i * 20 + j]) * x[j];
            right = right && y[i] == sum;
        }
    }
    ok(right, "a product in a graph reads what is there when it runs");
    cusparseSpVecDescr_t sparse_x;
    int *at = device(sizeof(int));
    double dot = -1;
    *at = 3;
    (void)cusparseCreateSpVec(&sparse_x, 20, 1, at, x, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                              CUDA_R_64F);
    cudaGraph_t told;
    cudaGraphExec_t told_exec;
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    right = !cusparseSpVV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, sparse_x, vy, &dot, CUDA_R_64F,
                          NULL);
    (void)cudaStreamEndCapture(stream, &told);
    (void)cudaGraphInstantiate(&told_exec, told, 0);
    right = right && dot == -1;
    (void)cudaGraphLaunch(told_exec, stream);
    (void)cudaStreamSynchronize(stream);
    ok(right && dot == x[0] * y[3], "a result for the host comes when the graph runs");
    (void)cudaGraphExecDestroy(told_exec);
    (void)cudaGraphDestroy(told);
    (void)cusparseDestroySpVec(sparse_x);
    (void)cudaFree(at);
    void *buffer = device(1 << 16);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    eq_u64(cusparseSpGEMM_workEstimation(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                         CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descr, a.descr,
                                         &zero, a.descr, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, descr,
                                         &size_B, buffer),
           CUSPARSE_STATUS_NOT_SUPPORTED, "what the host waits for is not captured");
    cudaGraph_t rest;
    eq_u64(cudaStreamEndCapture(stream, &rest), cudaSuccess, "and the capture goes on");
    (void)cusparseSpGEMM_getNumProducts(descr, &products);
    (void)cudaGraphDestroy(rest);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    (void)cusparseSpGEMM_destroyDescr(descr);
    (void)cusparseSetStream(handle, NULL);
    (void)cudaStreamDestroy(stream);
    (void)cusparseDestroyDnVec(vx);
    (void)cusparseDestroyDnVec(vy);
    (void)cudaFree(x);
    (void)cudaFree(y);
    (void)cudaFree(buffer);
    destroy(&a);
}

static int heard;
static char heard_name[64];
static void listen(int level, const char *function, const char *message)
{
    (void)message;
    heard = level;
    snprintf(heard_name, sizeof(heard_name), "%s", function);
}

static void test_handle(void)
{
    cusparsePointerMode_t mode;
    cusparseMatDescr_t descr;
    cudaStream_t stream = (cudaStream_t)1;
    int version, major;

    eq_u64(cusparseGetVersion(handle, &version), 0, "the version");
    ok(!cusparseGetProperty(MAJOR_VERSION, &major) && version / 1000 == major, "its parts");
    ok(!cusparseGetStream(handle, &stream) && !stream, "no stream");
    ok(!cusparseGetPointerMode(handle, &mode) && mode == CUSPARSE_POINTER_MODE_HOST,
       "factors are the host's");
    eq_str(cusparseGetErrorName(CUSPARSE_STATUS_ZERO_PIVOT), "CUSPARSE_STATUS_ZERO_PIVOT",
           "names of statuses");
    eq_str(cusparseGetErrorString(CUSPARSE_STATUS_INVALID_VALUE), "invalid value",
           "and what they say");
    eq_u64(cusparseSetPointerMode(NULL, CUSPARSE_POINTER_MODE_HOST),
           CUSPARSE_STATUS_NOT_INITIALIZED, "no handle");
    eq_u64(cusparseCreate(NULL), CUSPARSE_STATUS_INVALID_VALUE, "no place for one");
    (void)cusparseLoggerSetCallback(listen);
    eq_u64(cusparseSetPointerMode(handle, (cusparsePointerMode_t)7), CUSPARSE_STATUS_INVALID_VALUE,
           "a mode that there is not");
    ok(heard == 1 && !strcmp(heard_name, "cusparseSetPointerMode"), "the log says where");
    (void)cusparseLoggerSetLevel(5);
    (void)cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
    eq_u64(heard, 5, "calls are told, too");
    (void)cusparseLoggerSetCallback(NULL);

    (void)cusparseCreateMatDescr(&descr);
    ok(!cusparseSetMatFillMode(descr, CUSPARSE_FILL_MODE_UPPER) &&
           cusparseGetMatFillMode(descr) == CUSPARSE_FILL_MODE_UPPER &&
           cusparseGetMatIndexBase(descr) == CUSPARSE_INDEX_BASE_ZERO,
       "descriptors keep what they are told");
    eq_u64(cusparseSetMatType(descr, (cusparseMatrixType_t)9), CUSPARSE_STATUS_INVALID_VALUE,
           "but no type that there is not");
    (void)cusparseDestroyMatDescr(descr);
}

static void test_descriptors(void)
{
    cusparseSpMatDescr_t a;
    cusparseConstSpMatDescr_t ca;
    int32_t offsets[3], columns[4];
    double v[4];
    int64_t rows, cols, nnz, size, count;
    void *po, *pc, *pv;
    const void *qo, *qc, *qv;
    cusparseIndexType_t to, tc;
    cusparseIndexBase_t base;
    cudaDataType type;
    cusparseFormat_t format;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_UPPER;

    eq_u64(cusparseCreateCsr(&a, 2, 2, 5, offsets, columns, v, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
           CUSPARSE_STATUS_INVALID_VALUE, "more entries than elements");
    eq_u64(cusparseCreateCsr(&a, 2, 2, 4, offsets, columns, v, CUSPARSE_INDEX_16U,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
           CUSPARSE_STATUS_INVALID_VALUE, "short indices");
    (void)cusparseCreateCsr(&a, 2, 3, 4, offsets, columns, v, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_64F);
    ok(!cusparseCsrGet(a, &rows, &cols, &nnz, &po, &pc, &pv, &to, &tc, &base, &type) && rows == 2 &&
           cols == 3 && nnz == 4 && po == offsets && pc == columns && pv == v &&
           to == CUSPARSE_INDEX_32I && tc == CUSPARSE_INDEX_64I &&
           base == CUSPARSE_INDEX_BASE_ONE && type == CUDA_R_64F,
       "CSR as it was created");
    eq_u64(cusparseCooGet(a, &rows, &cols, &nnz, &po, &pc, &pv, &to, &base, &type),
           CUSPARSE_STATUS_INVALID_VALUE, "which is not COO");
    ok(!cusparseSpMatGetFormat(a, &format) && format == CUSPARSE_FORMAT_CSR &&
           !cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)) &&
           !cusparseSpMatGetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &base, sizeof(base)) &&
           (int)base == CUSPARSE_FILL_MODE_UPPER,
       "attributes");
    eq_u64(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, 8),
           CUSPARSE_STATUS_INVALID_VALUE, "of another size");
    eq_u64(cusparseCooSetStridedBatch(a, 2, 4), CUSPARSE_STATUS_INVALID_VALUE,
           "a batch of another format");
    (void)cusparseDestroySpMat(a);
    (void)cusparseCreateConstBlockedEll(&ca, 4, 6, 2, 4, columns, v, CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    ok(!cusparseConstBlockedEllGet(ca, &rows, &cols, &size, &count, &qc, &qv, &tc, &base, &type) &&
           rows == 4 && cols == 6 && size == 2 && count == 4 && qc == columns && qv == v,
       "blocked ELL of constants");
    (void)cusparseDestroySpMat(ca);
    (void)cusparseCreateConstCoo(&ca, 4, 6, 4, offsets, columns, v, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    ok(!cusparseConstCooGet(ca, &rows, &cols, &nnz, &qo, &qc, &qv, &tc, &base, &type) &&
           qo == offsets && nnz == 4,
       "COO of constants");
    (void)cusparseDestroySpMat(ca);
}

static void test_errors(void)
{
    struct sparse a = create(CUSPARSE_FORMAT_CSR, CUDA_R_32F, CUSPARSE_INDEX_BASE_ZERO,
                             CUSPARSE_INDEX_32I, 4, 5, model(CUDA_R_32F, 4, 5, 50, 0));
    void *x = values(CUDA_R_64F, 8);
    cusparseDnVecDescr_t v5, v4, d4;
    float one = 1;

    (void)cusparseCreateDnVec(&v5, 5, x, CUDA_R_32F);
    (void)cusparseCreateDnVec(&v4, 4, x, CUDA_R_32F);
    (void)cusparseCreateDnVec(&d4, 4, x, CUDA_R_64F);
    eq_u64(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descr, v4, &one, v4,
                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_INVALID_VALUE, "a vector of another size");
    eq_u64(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descr, v5, &one, d4,
                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_NOT_SUPPORTED, "or of another type");
    eq_u64(cusparseSpMV(NULL, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descr, v5, &one, v4,
                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_NOT_INITIALIZED, "no handle");
    eq_u64(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, NULL, a.descr, v5, &one, v4,
                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
           CUSPARSE_STATUS_INVALID_VALUE, "no factor");
    (void)cusparseDestroyDnVec(v5);
    (void)cusparseDestroyDnVec(v4);
    (void)cusparseDestroyDnVec(d4);
    (void)cudaFree(x);
    destroy(&a);
}

int main(void)
{
    eq_u64(cusparseCreate(&handle), CUSPARSE_STATUS_SUCCESS, "a handle");
    test_handle();
    test_descriptors();
    test_errors();
    test_empty();
    test_vectors();
    test_spmv();
    test_spmm();
    test_batches();
    test_triangles();
    test_spsv_update();
    test_sddmm();
    test_dense();
    test_spgemm();
    test_graph();
    eq_u64(cusparseDestroy(handle), CUSPARSE_STATUS_SUCCESS, "destroyed");
    return done();
}
