/* Functions that there are once for each type of elements: sums, blocks, triangles, bands. */
#include <cuda.h>
#include <string.h>

#include "api/cusparse/sparse.h"
#include "base/mem.h"

/* ---- sums of CSR matrices */

cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n,
                                      const cusparseMatDescr_t descrA, int nnzA,
                                      const int *csrRowPtrA, const int *csrColIndA,
                                      const cusparseMatDescr_t descrB, int nnzB,
                                      const int *csrRowPtrB, const int *csrColIndB,
                                      const cusparseMatDescr_t descrC, int *csrRowPtrC,
                                      int *nnzTotalDevHostPtr, void *workspace)
{
    (void)workspace;
    SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnzA >= 0 && nnzB >= 0 && descrA && descrB && descrC &&
                             csrRowPtrA && csrRowPtrB && csrRowPtrC && nnzTotalDevHostPtr);
    struct klib_sparse p = {
        .a = sparse_csr(m, n, nnzA, descrA, csrRowPtrA, csrColIndA, NULL, KLIB_F32),
        .b = sparse_csr(m, n, nnzB, descrB, csrRowPtrB, csrColIndB, NULL, KLIB_F32),
        .c = sparse_csr(m, n, 0, descrC, csrRowPtrC, NULL, NULL, KLIB_F32)};
    return sparse_count(handle, &p, KLIB_SPARSE_count_sum, m, (double)nnzA + nnzB + m,
                        nnzTotalDevHostPtr);
}

#define GEAM(P, T, R, type)                                                                        \
    cusparseStatus_t cusparse##P##csrgeam2_bufferSizeExt(                                          \
        cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descrA,    \
        int nnzA, const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *beta,   \
        const cusparseMatDescr_t descrB, int nnzB, const T *csrValB, const int *csrRowPtrB,        \
        const int *csrColIndB, const cusparseMatDescr_t descrC, const T *csrValC,                  \
        const int *csrRowPtrC, const int *csrColIndC, size_t *pBufferSizeInBytes)                  \
    {                                                                                              \
        (void)m, (void)n, (void)alpha, (void)descrA, (void)nnzA, (void)csrValA, (void)csrRowPtrA;  \
        (void)csrColIndA, (void)beta, (void)descrB, (void)nnzB, (void)csrValB, (void)csrRowPtrB;   \
        (void)csrColIndB, (void)descrC, (void)csrValC, (void)csrRowPtrC, (void)csrColIndC;         \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csrgeam2(                                                        \
        cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descrA,    \
        int nnzA, const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *beta,   \
        const cusparseMatDescr_t descrB, int nnzB, const T *csrValB, const int *csrRowPtrB,        \
        const int *csrColIndB, const cusparseMatDescr_t descrC, T *csrValC, int *csrRowPtrC,       \
        int *csrColIndC, void *pBuffer)                                                            \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnzA >= 0 && nnzB >= 0 && alpha && beta &&        \
                                 descrA && descrB && descrC && csrRowPtrA && csrRowPtrB &&         \
                                 csrRowPtrC);                                                      \
        struct klib_sparse p = {                                                                   \
            .sums = type,                                                                          \
            .alpha = sparse_factor(handle, alpha, type),                                           \
            .beta = sparse_factor(handle, beta, type),                                             \
            .a = sparse_csr(m, n, nnzA, descrA, csrRowPtrA, csrColIndA, csrValA, type),            \
            .b = sparse_csr(m, n, nnzB, descrB, csrRowPtrB, csrColIndB, csrValB, type),            \
            .c = sparse_csr(m, n, 0, descrC, csrRowPtrC, csrColIndC, csrValC, type)};              \
        double entries = (double)nnzA + nnzB + m;                                                  \
        sparse_tile_rows(&p, m, entries);                                                          \
        return sparse_run(handle, &p, KLIB_SPARSE_geam, p.row_tiles, entries);                     \
    }
EACH(GEAM)

/* ---- matrices of blocks */

/* y = alpha op(A) x + beta y */
static cusparseStatus_t bsr_multiply(cusparseHandle_t handle, struct klib_sparse *p, int type,
                                     cusparseOperation_t op, const void *alpha, const void *beta)
{
    double entries = ((double)p->a.entries + (double)p->y.rows) * (double)p->y.cols;

    if (!p->y.rows || !p->y.cols)
        return CUSPARSE_STATUS_SUCCESS;
    p->sums = (uint8_t)type;
    p->alpha = sparse_factor(handle, alpha, type);
    p->beta = sparse_factor(handle, beta, type);
    p->is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
    p->chunk = (uint32_t)p->y.cols;
    if (op)
        return sparse_run(handle, p, KLIB_SPARSE_spmm_scatter, 1, entries);
    sparse_tile_rows(p, p->a.rows, entries);
    return sparse_run(handle, p, KLIB_SPARSE_spmm, p->row_tiles, entries);
}

static struct klib_dense_matrix dense(const void *values, int64_t rows, int64_t cols, int64_t ld,
                                      cusparseOperation_t op, int type)
{
    struct klib_dense_matrix m = {.values = (void *)values,
                                  .rows = rows,
                                  .cols = cols,
                                  .row_step = op ? ld : 1,
                                  .column_step = op ? 1 : ld,
                                  .type = (uint8_t)type,
                                  .is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
    return m;
}

#define BSR_OK (dirA == CUSPARSE_DIRECTION_ROW || dirA == CUSPARSE_DIRECTION_COLUMN)

#define BSRMV(P, T, R, type)                                                                       \
    cusparseStatus_t cusparse##P##bsrmv(                                                           \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb,     \
        int nb, int nnzb, const T *alpha, const cusparseMatDescr_t descrA, const T *bsrVal,        \
        const int *bsrRowPtr, const int *bsrColInd, int blockDim, const T *x, const T *beta, T *y) \
    {                                                                                              \
        SPARSE_CHECK(handle, BSR_OK &&sparse_op_ok(transA) && mb >= 0 && nb >= 0 && nnzb >= 0 &&   \
                                 alpha && descrA && bsrRowPtr && blockDim > 0 && beta);            \
        int64_t rows = (int64_t)mb * blockDim, cols = (int64_t)nb * blockDim;                      \
        struct klib_sparse p = {                                                                   \
            .a = sparse_bsr(mb, nb, nnzb, descrA, dirA, bsrRowPtr, bsrColInd, bsrVal, blockDim,    \
                            blockDim, type),                                                       \
            .x = dense(x, transA ? rows : cols, 1, 1, CUSPARSE_OPERATION_NON_TRANSPOSE, type),     \
            .y = dense(y, transA ? cols : rows, 1, 1, CUSPARSE_OPERATION_NON_TRANSPOSE, type)};    \
        return bsr_multiply(handle, &p, type, transA, alpha, beta);                                \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrmm(                                                           \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,             \
        cusparseOperation_t transB, int mb, int n, int kb, int nnzb, const T *alpha,               \
        const cusparseMatDescr_t descrA, const T *bsrVal, const int *bsrRowPtr,                    \
        const int *bsrColInd, const int blockSize, const T *B, const int ldb, const T *beta, T *C, \
        int ldc)                                                                                   \
    {                                                                                              \
        SPARSE_CHECK(handle, BSR_OK &&sparse_op_ok(transA) && sparse_op_ok(transB) && mb >= 0 &&   \
                                 n >= 0 && kb >= 0 && nnzb >= 0 && alpha && descrA && bsrRowPtr && \
                                 blockSize > 0 && beta && ldb > 0 && ldc > 0);                     \
        int64_t rows = (int64_t)mb * blockSize, cols = (int64_t)kb * blockSize;                    \
        struct klib_sparse p = {                                                                   \
            .a = sparse_bsr(mb, kb, nnzb, descrA, dirA, bsrRowPtr, bsrColInd, bsrVal, blockSize,   \
                            blockSize, type),                                                      \
            .x = dense(B, transA ? rows : cols, n, ldb, transB, type),                             \
            .y = dense(C, transA ? cols : rows, n, ldc, CUSPARSE_OPERATION_NON_TRANSPOSE, type)};  \
        return bsr_multiply(handle, &p, type, transA, alpha, beta);                                \
    }
EACH(BSRMV)

/* ---- triangles of blocks, and incomplete factors: where a pivot is zero is told on demand */

struct pivot {
    int64_t position; /* of the block or row, from 0; -1: none */
    int base;
    bool is_pending; /* a kernel may still write the position */
    bool is_kept;    /* a graph has such a kernel: for good */
    bool is_boosted;
    const void *tolerance_there, *boost_there; /* in memory of the device */
    double tolerance, boost[2];
};
struct bsrsv2Info {
    struct pivot pivot;
};
struct bsrsm2Info {
    struct pivot pivot;
};
struct csrilu02Info {
    struct pivot pivot;
};
struct bsrilu02Info {
    struct pivot pivot;
};
struct csric02Info {
    struct pivot pivot;
};
struct bsric02Info {
    struct pivot pivot;
};

static cusparseStatus_t pivot_destroy(struct pivot *pivot)
{
    if (!pivot || pivot->is_kept)
        return CUSPARSE_STATUS_SUCCESS;
    if (pivot->is_pending)
        (void)cuCtxSynchronize(); /* its stream may be gone */
    hd_free(pivot);
    return CUSPARSE_STATUS_SUCCESS;
}

/* As the first member it has its owner's address. */
#define INFO(Name, T)                                                                              \
    cusparseStatus_t cusparseCreate##Name##Info(T##Info_t *info)                                   \
    {                                                                                              \
        if (!info)                                                                                 \
            return sparse_invalid(__func__);                                                       \
        *info = hd_new(struct T##Info);                                                            \
        if (!*info)                                                                                \
            return CUSPARSE_STATUS_ALLOC_FAILED;                                                   \
        (*info)->pivot.position = -1;                                                              \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseDestroy##Name##Info(T##Info_t info)                                   \
    {                                                                                              \
        return pivot_destroy((struct pivot *)info);                                                \
    }                                                                                              \
    cusparseStatus_t cusparseX##T##_zeroPivot(cusparseHandle_t handle, T##Info_t info,             \
                                              int *position)                                       \
    {                                                                                              \
        SPARSE_CHECK(handle, info &&position);                                                     \
        return pivot_position(handle, __func__, &info->pivot, position);                           \
    }

static cusparseStatus_t pivot_position(cusparseHandle_t handle, const char *function,
                                       struct pivot *pivot, int *position)
{
    cusparseStatus_t status = sparse_wait(handle, function);

    if (status)
        return status;
    *position = pivot->position < 0 ? -1 : (int)pivot->position + pivot->base;
    return pivot->position < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}

INFO(Bsrsv2, bsrsv2)
INFO(Bsrsm2, bsrsm2)
INFO(Csrilu02, csrilu02)
INFO(Bsrilu02, bsrilu02)
INFO(Csric02, csric02)
INFO(Bsric02, bsric02)

static void pivot_use(cusparseHandle_t handle, struct pivot *pivot, struct klib_sparse *p)
{
    pivot->base = p->a.base;
    pivot->is_pending = true;
    pivot->is_kept = pivot->is_kept || sparse_is_captured(handle);
    p->p[0] = &pivot->position;
}

/* Rows without an entry on the diagonal are all that an analysis finds. */
static cusparseStatus_t analyze(cusparseHandle_t handle, struct pivot *pivot,
                                const struct klib_sparse_matrix *a)
{
    struct klib_sparse p = {.a = *a};

    pivot_use(handle, pivot, &p);
    return sparse_run(handle, &p, KLIB_SPARSE_find_diagonal, 1, (double)a->entries);
}

static cusparseStatus_t factorize(cusparseHandle_t handle, struct pivot *pivot,
                                  const struct klib_sparse_matrix *a, bool is_ilu)
{
    struct klib_sparse p = {.a = *a, .sums = a->type, .n = {pivot->is_boosted}};

    pivot_use(handle, pivot, &p);
    p.p[1] = (void *)pivot->tolerance_there;
    memcpy(&p.n[1], &pivot->tolerance, sizeof(pivot->tolerance));
    p.beta.address = pivot->boost_there;
    p.beta.type = a->type;
    memcpy(p.beta.value, pivot->boost, sizeof(pivot->boost));
    return sparse_run(handle, &p, is_ilu ? KLIB_SPARSE_ilu : KLIB_SPARSE_ic, 1,
                      16 * (double)a->entries);
}

static void boost(cusparseHandle_t handle, struct pivot *pivot, bool is_boosted, const double *tol,
                  const void *value, int type)
{
    bool is_there = handle->base.pointer_mode == CUSPARSE_POINTER_MODE_DEVICE;

    pivot->is_boosted = is_boosted;
    pivot->tolerance_there = is_boosted && is_there ? tol : NULL;
    pivot->boost_there = is_boosted && is_there ? value : NULL;
    if (!is_boosted || is_there)
        return;
    pivot->tolerance = *tol;
    memcpy(pivot->boost, value, sparse_size_B(type));
}

static cusparseStatus_t bsr_solve(cusparseHandle_t handle, struct pivot *pivot,
                                  struct klib_sparse *p, cusparseOperation_t op,
                                  const cusparseMatDescr_t descr, const void *alpha, int type)
{
    if (!p->y.rows || !p->y.cols)
        return CUSPARSE_STATUS_SUCCESS;
    p->sums = (uint8_t)type;
    p->alpha = sparse_factor(handle, alpha, type);
    p->is_transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
    p->is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
    p->is_upper = descr->fill == CUSPARSE_FILL_MODE_UPPER;
    p->is_unit = descr->diag == CUSPARSE_DIAG_TYPE_UNIT;
    p->chunk = (uint32_t)HD_MAX(HD_MIN(p->y.cols / (2 * lib_threads()), 32), 1);
    pivot_use(handle, pivot, p);
    return sparse_run(handle, p, KLIB_SPARSE_spsm,
                      (uint64_t)((p->y.cols + p->chunk - 1) / p->chunk),
                      (double)p->a.entries * (double)p->y.cols);
}

#define BSR_SQUARE(type)                                                                           \
    sparse_bsr(mb, mb, nnzb, descrA, dirA, bsrRowPtr, bsrColInd, bsrVal, blockDim, blockDim, type)
#define BSR_SQUARE_OK                                                                              \
    (BSR_OK && mb >= 0 && nnzb >= 0 && descrA && bsrRowPtr && blockDim > 0 && info)
#define UNUSED_BSR                                                                                 \
    (void)dirA, (void)mb, (void)nnzb, (void)descrA, (void)bsrVal, (void)bsrRowPtr,                 \
        (void)bsrColInd, (void)blockDim, (void)info

#define SOLVERS(P, T, R, type)                                                                     \
    cusparseStatus_t cusparse##P##bsrsv2_bufferSize(                                               \
        cusparseHandle_t handle, HEDDLE_CUSPARSE_BSRSV(T), int *pBufferSizeInBytes)                \
    {                                                                                              \
        UNUSED_BSR, (void)transA;                                                                  \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrsv2_analysis(cusparseHandle_t handle,                         \
                                                  HEDDLE_CUSPARSE_BSRSV(const T),                  \
                                                  cusparseSolvePolicy_t policy, void *pBuffer)     \
    {                                                                                              \
        (void)policy, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, BSR_SQUARE_OK &&sparse_op_ok(transA));                                \
        struct klib_sparse_matrix a = BSR_SQUARE(type);                                            \
        return analyze(handle, &info->pivot, &a);                                                  \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrsv2_solve(                                                    \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb,     \
        int nnzb, const T *alpha, const cusparseMatDescr_t descrA, const T *bsrVal,                \
        const int *bsrRowPtr, const int *bsrColInd, int blockDim, bsrsv2Info_t info, const T *f,   \
        T *x, cusparseSolvePolicy_t policy, void *pBuffer)                                         \
    {                                                                                              \
        (void)policy, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, BSR_SQUARE_OK &&sparse_op_ok(transA) && alpha);                       \
        int64_t rows = (int64_t)mb * blockDim;                                                     \
        struct klib_sparse p = {                                                                   \
            .a = BSR_SQUARE(type),                                                                 \
            .x = dense(f, rows, 1, rows, CUSPARSE_OPERATION_NON_TRANSPOSE, type),                  \
            .y = dense(x, rows, 1, rows, CUSPARSE_OPERATION_NON_TRANSPOSE, type)};                 \
        return bsr_solve(handle, &info->pivot, &p, transA, descrA, alpha, type);                   \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrsm2_bufferSize(                                               \
        cusparseHandle_t handle, HEDDLE_CUSPARSE_BSRSM(T), int *pBufferSizeInBytes)                \
    {                                                                                              \
        UNUSED_BSR, (void)transA, (void)transXY, (void)n;                                          \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrsm2_analysis(cusparseHandle_t handle,                         \
                                                  HEDDLE_CUSPARSE_BSRSM(const T),                  \
                                                  cusparseSolvePolicy_t policy, void *pBuffer)     \
    {                                                                                              \
        (void)policy, (void)pBuffer, (void)n;                                                      \
        SPARSE_CHECK(handle, BSR_SQUARE_OK &&sparse_op_ok(transA) && (unsigned)transXY < 2);       \
        struct klib_sparse_matrix a = BSR_SQUARE(type);                                            \
        return analyze(handle, &info->pivot, &a);                                                  \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrsm2_solve(                                                    \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,             \
        cusparseOperation_t transXY, int mb, int n, int nnzb, const T *alpha,                      \
        const cusparseMatDescr_t descrA, const T *bsrVal, const int *bsrRowPtr,                    \
        const int *bsrColInd, int blockDim, bsrsm2Info_t info, const T *B, int ldb, T *X, int ldx, \
        cusparseSolvePolicy_t policy, void *pBuffer)                                               \
    {                                                                                              \
        (void)policy, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, BSR_SQUARE_OK &&sparse_op_ok(transA) && (unsigned)transXY < 2 &&      \
                                 alpha && n >= 0 && ldb > 0 && ldx > 0);                           \
        int64_t rows = (int64_t)mb * blockDim;                                                     \
        struct klib_sparse p = {.a = BSR_SQUARE(type),                                             \
                                .x = dense(B, rows, n, ldb, transXY, type),                        \
                                .y = dense(X, rows, n, ldx, transXY, type)};                       \
        return bsr_solve(handle, &info->pivot, &p, transA, descrA, alpha, type);                   \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csrilu02_numericBoost(                                           \
        cusparseHandle_t handle, csrilu02Info_t info, int enable_boost, double *tol, T *boost_val) \
    {                                                                                              \
        SPARSE_CHECK(handle, info && (!enable_boost || (tol && boost_val)));                       \
        boost(handle, &info->pivot, enable_boost, tol, boost_val, type);                           \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsrilu02_numericBoost(                                           \
        cusparseHandle_t handle, bsrilu02Info_t info, int enable_boost, double *tol, T *boost_val) \
    {                                                                                              \
        SPARSE_CHECK(handle, info && (!enable_boost || (tol && boost_val)));                       \
        boost(handle, &info->pivot, enable_boost, tol, boost_val, type);                           \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    FACTOR(P, T, type, csrilu02, HEDDLE_CUSPARSE_CSR, const T, CSR, true)                          \
    FACTOR(P, T, type, csric02, HEDDLE_CUSPARSE_CSR, const T, CSR, false)                          \
    FACTOR(P, T, type, bsrilu02, HEDDLE_CUSPARSE_BSR, T, BSR, true)                                \
    FACTOR(P, T, type, bsric02, HEDDLE_CUSPARSE_BSR, const T, BSR, false)

#define CSR_SQUARE(type) sparse_csr(m, m, nnz, descrA, csrRowPtr, csrColInd, csrVal, type)
#define CSR_SQUARE_OK    (m >= 0 && nnz >= 0 && descrA && csrRowPtr && info)
#define UNUSED_CSR                                                                                 \
    (void)m, (void)nnz, (void)descrA, (void)csrVal, (void)csrRowPtr, (void)csrColInd, (void)info

#define FACTOR(P, T, type, name, MATRIX, analyzed, FORMAT, is_ilu)                                 \
    cusparseStatus_t cusparse##P##name##_bufferSize(cusparseHandle_t handle, MATRIX(T),            \
                                                    name##Info_t info, int *pBufferSizeInBytes)    \
    {                                                                                              \
        UNUSED_##FORMAT;                                                                           \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##name##_analysis(cusparseHandle_t handle, MATRIX(analyzed),       \
                                                  name##Info_t info, cusparseSolvePolicy_t policy, \
                                                  void *pBuffer)                                   \
    {                                                                                              \
        (void)policy, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, FORMAT##_SQUARE_OK);                                                  \
        struct klib_sparse_matrix a = FORMAT##_SQUARE(type);                                       \
        return analyze(handle, &info->pivot, &a);                                                  \
    }                                                                                              \
    cusparseStatus_t cusparse##P##name(cusparseHandle_t handle, MATRIX(T), name##Info_t info,      \
                                       cusparseSolvePolicy_t policy, void *pBuffer)                \
    {                                                                                              \
        (void)policy, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, FORMAT##_SQUARE_OK);                                                  \
        struct klib_sparse_matrix a = FORMAT##_SQUARE(type);                                       \
        return factorize(handle, &info->pivot, &a, is_ilu);                                        \
    }
EACH(SOLVERS)

/* ---- systems of three and five diagonals */

static cusparseStatus_t band(cusparseHandle_t handle, struct klib_sparse *p, int type, int m,
                             int columns, int problems)
{
    double entries = 8.0 * m * (columns + p->n[KLIB_BAND_WIDTH] * 4.0) * problems;
    int64_t parts = problems == 1 ? columns : problems;

    if (!m || !parts)
        return CUSPARSE_STATUS_SUCCESS;
    p->sums = p->y.type = (uint8_t)type;
    p->y.rows = m;
    p->y.cols = columns;
    p->n[KLIB_BAND_PROBLEMS] = problems;
    p->chunk = (uint32_t)HD_MAX(parts / (4 * lib_threads()), 1);
    return sparse_run(handle, p, KLIB_SPARSE_band, (uint64_t)((parts + p->chunk - 1) / p->chunk),
                      entries);
}

#define DIAGONALS        .p = {NULL, (void *)dl, (void *)d, (void *)du}
#define UNUSED_DIAGONALS (void)m, (void)dl, (void)d, (void)du

#define GTSV(P, T, type, name, pivots)                                                             \
    cusparseStatus_t cusparse##P##name##_bufferSizeExt(                                            \
        cusparseHandle_t handle, int m, int n, const T *dl, const T *d, const T *du, const T *B,   \
        int ldb, size_t *bufferSizeInBytes)                                                        \
    {                                                                                              \
        UNUSED_DIAGONALS, (void)n, (void)B, (void)ldb;                                             \
        NO_BUFFER(bufferSizeInBytes);                                                              \
    }                                                                                              \
    cusparseStatus_t cusparse##P##name(cusparseHandle_t handle, int m, int n, const T *dl,         \
                                       const T *d, const T *du, T *B, int ldb, void *pBuffer)      \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, m >= 0 && n >= 0 && ldb >= HD_MAX(1, m) &&                            \
                                 ((dl && d && du && B) || !m || !n));                              \
        struct klib_sparse p = {DIAGONALS, .n = {1, 1, 0, 1, pivots},                              \
                                .y = {.values = B, .row_step = 1, .column_step = ldb}};            \
        return band(handle, &p, type, m, n, 1);                                                    \
    }

#define BANDS(P, T, R, type)                                                                       \
    GTSV(P, T, type, gtsv2, true)                                                                  \
    GTSV(P, T, type, gtsv2_nopivot, false)                                                         \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch_bufferSizeExt(                                 \
        cusparseHandle_t handle, int m, const T *dl, const T *d, const T *du, const T *x,          \
        int batchCount, int batchStride, size_t *bufferSizeInBytes)                                \
    {                                                                                              \
        UNUSED_DIAGONALS, (void)x, (void)batchCount, (void)batchStride;                            \
        NO_BUFFER(bufferSizeInBytes);                                                              \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T *dl,   \
                                                    const T *d, const T *du, T *x, int batchCount, \
                                                    int batchStride, void *pBuffer)                \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, m >= 0 && batchCount >= 0 && batchStride >= m &&                      \
                                 ((dl && d && du && x) || !m || !batchCount));                     \
        struct klib_sparse p = {                                                                   \
            DIAGONALS, .n = {1, 1, batchStride},                                                   \
            .y = {.values = x, .row_step = 1, .column_step = 1, .problem_step = batchStride}};     \
        return band(handle, &p, type, m, 1, batchCount);                                           \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gtsvInterleavedBatch_bufferSizeExt(                              \
        cusparseHandle_t handle, int algo, int m, const T *dl, const T *d, const T *du,            \
        const T *x, int batchCount, size_t *pBufferSizeInBytes)                                    \
    {                                                                                              \
        UNUSED_DIAGONALS, (void)algo, (void)x, (void)batchCount;                                   \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gtsvInterleavedBatch(cusparseHandle_t handle, int algo, int m,   \
                                                       T *dl, T *d, T *du, T *x, int batchCount,   \
                                                       void *pBuffer)                              \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, (unsigned)algo < 3 && m >= 0 && batchCount >= 0 &&                    \
                                 ((dl && d && du && x) || !m || !batchCount));                     \
        struct klib_sparse p = {                                                                   \
            DIAGONALS, .n = {1, batchCount, 1, 0, algo != 0},                                      \
            .y = {.values = x, .row_step = batchCount, .column_step = 1, .problem_step = 1}};      \
        return band(handle, &p, type, m, 1, batchCount);                                           \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gpsvInterleavedBatch_bufferSizeExt(                              \
        cusparseHandle_t handle, int algo, int m, const T *ds, const T *dl, const T *d,            \
        const T *du, const T *dw, const T *x, int batchCount, size_t *pBufferSizeInBytes)          \
    {                                                                                              \
        UNUSED_DIAGONALS, (void)algo, (void)ds, (void)dw, (void)x, (void)batchCount;               \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gpsvInterleavedBatch(cusparseHandle_t handle, int algo, int m,   \
                                                       T *ds, T *dl, T *d, T *du, T *dw, T *x,     \
                                                       int batchCount, void *pBuffer)              \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, algo == 0 && m >= 0 && batchCount >= 0 &&                             \
                                 ((ds && dl && d && du && dw && x) || !m || !batchCount));         \
        struct klib_sparse p = {                                                                   \
            .p = {ds, dl, d, du, dw},                                                              \
            .n = {2, batchCount, 1, 0, true},                                                      \
            .y = {.values = x, .row_step = batchCount, .column_step = 1, .problem_step = 1}};      \
        return band(handle, &p, type, m, 1, batchCount);                                           \
    }
EACH(BANDS)
