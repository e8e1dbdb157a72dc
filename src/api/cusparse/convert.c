/* Functions of one type that count, prune, block and color the entries of matrices. */
#include <string.h>

#include "api/cusparse/sparse.h"
#include "klib/halves.h"

/* ---- entries that are not zero */

static struct klib_dense_matrix by_rows(const void *values, int64_t m, int64_t n, int64_t ld,
                                        int type)
{
    return (struct klib_dense_matrix){.values = (void *)values,
                                      .rows = m,
                                      .cols = n,
                                      .row_step = 1,
                                      .column_step = ld,
                                      .type = (uint8_t)type};
}

#define NNZ(P, T, R, kind)                                                                         \
    cusparseStatus_t cusparse##P##nnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,    \
                                      int n, const cusparseMatDescr_t descrA, const T *A, int lda, \
                                      int *nnzPerRowCol, int *nnzTotalDevHostPtr)                  \
    {                                                                                              \
        bool by_columns = dirA == CUSPARSE_DIRECTION_COLUMN;                                       \
        SPARSE_CHECK(handle, m >= 0 && n >= 0 && (unsigned)dirA < 2 && descrA &&                   \
                                 (A || !m || !n) && lda >= HD_MAX(1, m) && nnzPerRowCol &&         \
                                 nnzTotalDevHostPtr);                                              \
        struct klib_sparse p = {.sums = kind,                                                      \
                                .x = by_rows(A, m, n, lda, kind),                                  \
                                .alpha = sparse_constant(0, kind),                                 \
                                .c = {.offsets = nnzPerRowCol},                                    \
                                .only_counts = true};                                              \
        if (by_columns)                                                                            \
            p.x = (struct klib_dense_matrix){.values = (void *)A,                                  \
                                             .rows = n,                                            \
                                             .cols = m,                                            \
                                             .row_step = lda,                                      \
                                             .column_step = 1,                                     \
                                             .type = kind};                                        \
        return sparse_count(handle, &p, KLIB_SPARSE_dense_count, p.x.rows,                         \
                            (double)m * n + p.x.rows, nnzTotalDevHostPtr);                         \
    }                                                                                              \
    cusparseStatus_t cusparse##P##nnz_compress(                                                    \
        cusparseHandle_t handle, int m, const cusparseMatDescr_t descr, const T *csrValA,          \
        const int *csrRowPtrA, int *nnzPerRow, int *nnzC, T tol)                                   \
    {                                                                                              \
        SPARSE_CHECK(handle, m >= 0 && descr && csrRowPtrA && nnzPerRow && nnzC);                  \
        struct klib_sparse p = {.sums = kind,                                                      \
                                .alpha.type = kind,                                                \
                                .a = sparse_csr(m, m, 1, descr, csrRowPtrA, NULL, csrValA, kind),  \
                                .c = {.offsets = nnzPerRow},                                       \
                                .only_counts = true};                                              \
        memcpy(p.alpha.value, &tol, sizeof(tol));                                                  \
        return sparse_count(handle, &p, KLIB_SPARSE_compress_count, m, 16.0 * m, nnzC);            \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csr2csr_compress(                                                \
        cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descrA, const T *csrValA,  \
        const int *csrColIndA, const int *csrRowPtrA, int nnzA, const int *nnzPerRow, T *csrValC,  \
        int *csrColIndC, int *csrRowPtrC, T tol)                                                   \
    {                                                                                              \
        SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnzA >= 0 && descrA && csrRowPtrA && nnzPerRow && \
                                 csrRowPtrC);                                                      \
        struct klib_sparse p = {                                                                   \
            .sums = kind,                                                                          \
            .alpha.type = kind,                                                                    \
            .a = sparse_csr(m, n, nnzA, descrA, csrRowPtrA, csrColIndA, csrValA, kind),            \
            .c = sparse_csr(m, n, nnzA, descrA, csrRowPtrC, csrColIndC, csrValC, kind)};           \
        memcpy(p.alpha.value, &tol, sizeof(tol));                                                  \
        return compressed(handle, &p, nnzA);                                                       \
    }

/* Counts again what the program has counted: it is the same, and needs no memory of its own. */
static cusparseStatus_t compressed(cusparseHandle_t handle, struct klib_sparse *p, int64_t entries)
{
    double work = (double)(entries + p->a.rows);
    cusparseStatus_t status =
        sparse_count(handle, p, KLIB_SPARSE_compress_count, p->a.rows, work, NULL);

    return status ? status : sparse_run(handle, p, KLIB_SPARSE_compress, p->row_tiles, work);
}
EACH(NNZ)

/* ---- entries above a threshold, or above a part of all magnitudes */

static struct klib_sparse_factor threshold_of(cusparseHandle_t handle, const void *threshold,
                                              int type)
{
    if (type != KLIB_F16 || handle->base.pointer_mode == CUSPARSE_POINTER_MODE_DEVICE)
        return sparse_factor(handle, threshold, type);
    return sparse_constant((double)klib_f32_of_f16(*(const uint16_t *)threshold), KLIB_F32);
}

/* The magnitude of which `percentage` are below, into the buffer: then it is the threshold. */
static cusparseStatus_t percentile(cusparseHandle_t handle, struct klib_sparse *p, double n,
                                   float percentage, void *buffer)
{
    double part = n * ((double)percentage / 100);
    int64_t below = (int64_t)part;

    p->n[0] = (double)below < part ? below : below - 1; /* the place in their order, rounded up */
    p->n[1] = p->a.format == KLIB_CSR && p->a.offsets;
    p->p[0] = buffer;
    p->alpha = (struct klib_sparse_factor){.address = buffer, .type = p->sums};
    cusparseStatus_t status = sparse_run(handle, p, KLIB_SPARSE_quantile, 1, 16 * n);
    p->p[0] = NULL;
    return status;
}

#define DENSE_OK     (m >= 0 && n >= 0 && lda >= HD_MAX(1, m) && (A || !m || !n) && descrC)
#define CSR_OK       (m >= 0 && n >= 0 && nnzA >= 0 && descrA && csrRowPtrA && descrC)
#define DENSE(kind)  .x = by_rows(A, m, n, lda, kind)
#define CSR(kind)    .a = sparse_csr(m, n, nnzA, descrA, csrRowPtrA, csrColIndA, csrValA, kind)
#define UNUSED_C     (void)descrC, (void)csrValC, (void)csrRowPtrC, (void)csrColIndC
#define UNUSED_DENSE (void)A, (void)lda
#define UNUSED_CSR   (void)nnzA, (void)descrA, (void)csrValA, (void)csrRowPtrA, (void)csrColIndA

/* From is Dense or Csr; ARGS its arguments; `n_all` how many values it has. */
#define PRUNE_FROM(P, T, kind, sum, From, FROM, By, ARGS, LIMIT, INFO, limit, unused_limit,        \
                   limit_ok, set_limit, n_all, counts, fills)                                      \
    cusparseStatus_t cusparse##P##prune##From##2csr##By##_bufferSizeExt(                           \
        cusparseHandle_t handle, int m, int n, ARGS(T) LIMIT, const cusparseMatDescr_t descrC,     \
        const T *csrValC, const int *csrRowPtrC, const int *csrColIndC,                            \
        INFO size_t *pBufferSizeInBytes)                                                           \
    {                                                                                              \
        (void)m, (void)n, UNUSED_C, UNUSED_##FROM, unused_limit;                                   \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##prune##From##2csrNnz##By(                                        \
        cusparseHandle_t handle, int m, int n, ARGS(T) LIMIT, const cusparseMatDescr_t descrC,     \
        int *csrRowPtrC, int *nnzTotalDevHostPtr, INFO void *pBuffer)                              \
    {                                                                                              \
        unused_limit, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, FROM##_OK &&csrRowPtrC &&nnzTotalDevHostPtr &&limit_ok);              \
        struct klib_sparse p = {.sums = sum,                                                       \
                                FROM(kind),                                                        \
                                .c = sparse_csr(m, n, 1, descrC, csrRowPtrC, NULL, NULL, kind)};   \
        cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;                                         \
        set_limit(n_all, kind);                                                                    \
        return status                                                                              \
                   ? status                                                                        \
                   : sparse_count(handle, &p, counts, m, (double)(n_all) + m, nnzTotalDevHostPtr); \
    }                                                                                              \
    cusparseStatus_t cusparse##P##prune##From##2csr##By(                                           \
        cusparseHandle_t handle, int m, int n, ARGS(T) LIMIT, const cusparseMatDescr_t descrC,     \
        T *csrValC, const int *csrRowPtrC, int *csrColIndC, INFO void *pBuffer)                    \
    {                                                                                              \
        unused_limit, (void)pBuffer;                                                               \
        SPARSE_CHECK(handle, FROM##_OK &&csrRowPtrC &&limit_ok);                                   \
        struct klib_sparse p = {                                                                   \
            .sums = sum,                                                                           \
            FROM(kind),                                                                            \
            .c = sparse_csr(m, n, 1, descrC, csrRowPtrC, csrColIndC, csrValC, kind)};              \
        p.b = p.c;                                                                                 \
        cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;                                         \
        set_limit(n_all, kind);                                                                    \
        sparse_tile_rows(&p, m, (double)(n_all) + m);                                              \
        return status ? status : sparse_run(handle, &p, fills, p.row_tiles, (double)(n_all) + m);  \
    }

#define DENSE_ARGS(T) const T *A, int lda,
#define CSR_ARGS(T)                                                                                \
    int nnzA, const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,            \
        const int *csrColIndA,
#define BY_THRESHOLD(n_all, kind) p.alpha = threshold_of(handle, threshold, kind)
#define BY_PART(n_all, kind)      status = percentile(handle, &p, n_all, percentage, pBuffer)
#define INFO_ARG                  pruneInfo_t info,

#define PRUNE(P, T, kind, sum)                                                                     \
    PRUNE_FROM(P, T, kind, sum, Dense, DENSE, , DENSE_ARGS, const T *threshold, , threshold,       \
               (void)threshold, threshold, BY_THRESHOLD, (double)m *n, KLIB_SPARSE_dense_count,    \
               KLIB_SPARSE_dense_fill)                                                             \
    PRUNE_FROM(P, T, kind, sum, Csr, CSR, , CSR_ARGS, const T *threshold, , threshold,             \
               (void)threshold, threshold, BY_THRESHOLD, (double)nnzA, KLIB_SPARSE_compress_count, \
               KLIB_SPARSE_compress)                                                               \
    PRUNE_FROM(P, T, kind, sum, Dense, DENSE, ByPercentage, DENSE_ARGS, float percentage,          \
               INFO_ARG, percentage, ((void)percentage, (void)info),                               \
               percentage >= 0 && percentage <= 100 && info && pBuffer, BY_PART, (double)m * n,    \
               KLIB_SPARSE_dense_count, KLIB_SPARSE_dense_fill)                                    \
    PRUNE_FROM(P, T, kind, sum, Csr, CSR, ByPercentage, CSR_ARGS, float percentage, INFO_ARG,      \
               percentage, ((void)percentage, (void)info),                                         \
               percentage >= 0 && percentage <= 100 && info && pBuffer, BY_PART, (double)nnzA,     \
               KLIB_SPARSE_compress_count, KLIB_SPARSE_compress)
PRUNE(H, __half, KLIB_F16, KLIB_F32)
PRUNE(S, float, KLIB_F32, KLIB_F32)
PRUNE(D, double, KLIB_F64, KLIB_F64)

/* Nothing is kept: the parts are found again. */
struct pruneInfo {
    char unused;
};
struct cusparseColorInfo {
    char unused;
};
#define INFO(Name, T)                                                                              \
    cusparseStatus_t cusparseCreate##Name(T *info)                                                 \
    {                                                                                              \
        static char some;                                                                          \
        if (!info)                                                                                 \
            return sparse_invalid(__func__);                                                       \
        *info = (T) & some;                                                                        \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseDestroy##Name(T info)                                                 \
    {                                                                                              \
        (void)info;                                                                                \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
INFO(PruneInfo, pruneInfo_t)
INFO(ColorInfo, cusparseColorInfo_t)

/* ---- blocks */

static cusparseStatus_t count_blocks(cusparseHandle_t handle, int m, int n,
                                     const cusparseMatDescr_t a, const int *offsets,
                                     const int *columns, const cusparseMatDescr_t c, int *counts,
                                     int block_rows, int block_cols, int *total)
{
    int mb = (m + block_rows - 1) / block_rows;
    struct klib_sparse p = {.a = sparse_csr(m, n, 1, a, offsets, columns, NULL, KLIB_F32),
                            .c = sparse_csr(m, n, 1, c, counts, NULL, NULL, KLIB_F32)};

    p.c.block_rows = block_rows;
    p.c.block_cols = block_cols;
    return sparse_count(handle, &p, KLIB_SPARSE_count_blocks, mb, 16.0 * m, total);
}

cusparseStatus_t cusparseXcsr2bsrNnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,
                                     int n, const cusparseMatDescr_t descrA, const int *csrRowPtrA,
                                     const int *csrColIndA, int blockDim,
                                     const cusparseMatDescr_t descrC, int *bsrRowPtrC,
                                     int *nnzTotalDevHostPtr)
{
    SPARSE_CHECK(handle, (unsigned)dirA < 2 && m >= 0 && n >= 0 && descrA && csrRowPtrA &&
                             blockDim > 0 && descrC && bsrRowPtrC && nnzTotalDevHostPtr);
    return count_blocks(handle, m, n, descrA, csrRowPtrA, csrColIndA, descrC, bsrRowPtrC, blockDim,
                        blockDim, nnzTotalDevHostPtr);
}

cusparseStatus_t cusparseXcsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,
                                       int n, const cusparseMatDescr_t descrA,
                                       const int *csrRowPtrA, const int *csrColIndA,
                                       const cusparseMatDescr_t descrC, int *bsrRowPtrC,
                                       int rowBlockDim, int colBlockDim, int *nnzTotalDevHostPtr,
                                       void *pBuffer)
{
    (void)pBuffer;
    SPARSE_CHECK(handle, (unsigned)dirA < 2 && m >= 0 && n >= 0 && descrA && csrRowPtrA &&
                             rowBlockDim > 0 && colBlockDim > 0 && descrC && bsrRowPtrC &&
                             nnzTotalDevHostPtr);
    return count_blocks(handle, m, n, descrA, csrRowPtrA, csrColIndA, descrC, bsrRowPtrC,
                        rowBlockDim, colBlockDim, nnzTotalDevHostPtr);
}

static cusparseStatus_t to_bsr(cusparseHandle_t handle, const struct klib_sparse_matrix *a,
                               const struct klib_sparse_matrix *c)
{
    struct klib_sparse p = {.a = *a, .c = *c, .sums = a->type};
    double entries = 16.0 * (double)a->rows;

    sparse_tile_rows(&p, c->rows / c->block_rows, entries);
    return a->rows ? sparse_run(handle, &p, KLIB_SPARSE_to_bsr, p.row_tiles, entries)
                   : CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t to_csr(cusparseHandle_t handle, const struct klib_sparse_matrix *a,
                               const struct klib_sparse_matrix *c)
{
    struct klib_sparse p = {.a = *a, .c = *c, .sums = a->type};
    double entries = 16.0 * (double)a->rows;

    sparse_tile_rows(&p, a->rows, entries);
    return a->rows ? sparse_run(handle, &p, KLIB_SPARSE_to_csr, p.row_tiles, entries)
                   : CUSPARSE_STATUS_SUCCESS;
}

#define BSR_FROM_CSR(kind, rb, cb)                                                                 \
    struct klib_sparse_matrix a =                                                                  \
        sparse_csr(m, n, 1, descrA, csrRowPtrA, csrColIndA, csrValA, kind);                        \
    struct klib_sparse_matrix c =                                                                  \
        sparse_bsr((m + (rb) - 1) / (rb), (n + (cb) - 1) / (cb), 1, descrC, dirA, bsrRowPtrC,      \
                   bsrColIndC, bsrValC, rb, cb, kind);                                             \
    return to_bsr(handle, &a, &c)
#define CSR_FROM_BSR(kind, rb, cb)                                                                 \
    struct klib_sparse_matrix a =                                                                  \
        sparse_bsr(mb, nb, 1, descrA, dirA, bsrRowPtrA, bsrColIndA, bsrValA, rb, cb, kind);        \
    struct klib_sparse_matrix c =                                                                  \
        sparse_csr(a.rows, a.cols, 1, descrC, csrRowPtrC, csrColIndC, csrValC, kind);              \
    return to_csr(handle, &a, &c)

#define BLOCKS(P, T, R, kind)                                                                      \
    cusparseStatus_t cusparse##P##csr2bsr(                                                         \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, int blockDim, const cusparseMatDescr_t descrC, T *bsrValC,          \
        int *bsrRowPtrC, int *bsrColIndC)                                                          \
    {                                                                                              \
        SPARSE_CHECK(handle, (unsigned)dirA < 2 && m >= 0 && n >= 0 && descrA && csrRowPtrA &&     \
                                 blockDim > 0 && descrC && bsrRowPtrC);                            \
        BSR_FROM_CSR(kind, blockDim, blockDim);                                                    \
    }                                                                                              \
    cusparseStatus_t cusparse##P##bsr2csr(                                                         \
        cusparseHandle_t handle, cusparseDirection_t dirA, int mb, int nb,                         \
        const cusparseMatDescr_t descrA, const T *bsrValA, const int *bsrRowPtrA,                  \
        const int *bsrColIndA, int blockDim, const cusparseMatDescr_t descrC, T *csrValC,          \
        int *csrRowPtrC, int *csrColIndC)                                                          \
    {                                                                                              \
        SPARSE_CHECK(handle, (unsigned)dirA < 2 && mb >= 0 && nb >= 0 && descrA && bsrRowPtrA &&   \
                                 blockDim > 0 && descrC && csrRowPtrC);                            \
        CSR_FROM_BSR(kind, blockDim, blockDim);                                                    \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csr2gebsr_bufferSize(                                            \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, int rowBlockDim, int colBlockDim, int *pBufferSizeInBytes)          \
    {                                                                                              \
        (void)dirA, (void)m, (void)n, (void)descrA, (void)csrValA, (void)csrRowPtrA;               \
        (void)csrColIndA, (void)rowBlockDim, (void)colBlockDim;                                    \
        NO_BUFFER(pBufferSizeInBytes);                                                             \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csr2gebsr(                                                       \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, const cusparseMatDescr_t descrC, T *bsrValC, int *bsrRowPtrC,       \
        int *bsrColIndC, int rowBlockDim, int colBlockDim, void *pBuffer)                          \
    {                                                                                              \
        (void)pBuffer;                                                                             \
        SPARSE_CHECK(handle, (unsigned)dirA < 2 && m >= 0 && n >= 0 && descrA && csrRowPtrA &&     \
                                 rowBlockDim > 0 && colBlockDim > 0 && descrC && bsrRowPtrC);      \
        BSR_FROM_CSR(kind, rowBlockDim, colBlockDim);                                              \
    }                                                                                              \
    cusparseStatus_t cusparse##P##gebsr2csr(                                                       \
        cusparseHandle_t handle, cusparseDirection_t dirA, int mb, int nb,                         \
        const cusparseMatDescr_t descrA, const T *bsrValA, const int *bsrRowPtrA,                  \
        const int *bsrColIndA, int rowBlockDim, int colBlockDim, const cusparseMatDescr_t descrC,  \
        T *csrValC, int *csrRowPtrC, int *csrColIndC)                                              \
    {                                                                                              \
        SPARSE_CHECK(handle, (unsigned)dirA < 2 && mb >= 0 && nb >= 0 && descrA && bsrRowPtrA &&   \
                                 rowBlockDim > 0 && colBlockDim > 0 && descrC && csrRowPtrC);      \
        CSR_FROM_BSR(kind, rowBlockDim, colBlockDim);                                              \
    }                                                                                              \
    cusparseStatus_t cusparse##P##csrcolor(                                                        \
        cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                  \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const R *fractionToColor,  \
        int *ncolors, int *coloring, int *reordering, const cusparseColorInfo_t info)              \
    {                                                                                              \
        (void)csrValA;                                                                             \
        SPARSE_CHECK(handle, m >= 0 && nnz >= 0 && descrA && csrRowPtrA && fractionToColor &&      \
                                 ncolors && coloring && info);                                     \
        struct klib_sparse p = {                                                                   \
            .a = sparse_csr(m, m, nnz, descrA, csrRowPtrA, csrColIndA, NULL, kind),                \
            .p = {coloring, ncolors, reordering}};                                                 \
        return sparse_result(handle, sparse_run(handle, &p, KLIB_SPARSE_color, 1, 8.0 * nnz + m)); \
    }
EACH(BLOCKS)
