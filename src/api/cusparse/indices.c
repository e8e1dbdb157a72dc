/* Conversions and orders of indices, and csr2csc. */
#include "api/cusparse/sparse.h"

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int *cooRowInd, int nnz, int m,
                                  int *csrRowPtr, cusparseIndexBase_t idxBase)
{
    SPARSE_CHECK(handle,
                 m >= 0 && nnz >= 0 && (cooRowInd || !nnz) && csrRowPtr && (unsigned)idxBase < 2);
    struct klib_sparse p = {.a = {.format = KLIB_COO,
                                  .offsets = (void *)cooRowInd,
                                  .rows = m,
                                  .entries = nnz,
                                  .base = (uint8_t)idxBase},
                            .p = {csrRowPtr}};
    sparse_tile_rows(&p, m, 16.0 * m);
    return sparse_run(handle, &p, KLIB_SPARSE_offsets, p.row_tiles, 16.0 * m);
}

cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int *csrRowPtr, int nnz, int m,
                                  int *cooRowInd, cusparseIndexBase_t idxBase)
{
    SPARSE_CHECK(handle,
                 m >= 0 && nnz >= 0 && (cooRowInd || !nnz) && csrRowPtr && (unsigned)idxBase < 2);
    struct cusparseMatDescr descr = {.base = idxBase};
    struct klib_sparse p = {.a = sparse_csr(m, m, nnz, &descr, csrRowPtr, NULL, NULL, KLIB_F32),
                            .p = {cooRowInd}};
    sparse_tile_rows(&p, m, (double)nnz + m);
    return sparse_run(handle, &p, KLIB_SPARSE_rows, p.row_tiles, (double)nnz + m);
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p)
{
    SPARSE_CHECK(handle, n >= 0 && (p || !n));
    struct klib_sparse call = {.p = {p}, .n = {n}};
    return sparse_run(handle, &call, KLIB_SPARSE_identity, 1, n);
}

/* ---- orders: in memory of the kernels' own */

#define BUFFER_SIZE(function)                                                                      \
    cusparseStatus_t function(cusparseHandle_t handle, int m, int n, int nnz, const int *first,    \
                              const int *second, size_t *pBufferSizeInBytes)                       \
    {                                                                                              \
        (void)first;                                                                               \
        (void)second;                                                                              \
        SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && pBufferSizeInBytes);                  \
        *pBufferSizeInBytes = SOME_B;                                                              \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
BUFFER_SIZE(cusparseXcoosort_bufferSizeExt)
BUFFER_SIZE(cusparseXcsrsort_bufferSizeExt)
BUFFER_SIZE(cusparseXcscsort_bufferSizeExt)

static cusparseStatus_t coosort(cusparseHandle_t handle, int nnz, int *rows, int *columns,
                                int *order, bool by_columns)
{
    struct klib_sparse p = {.a = {.offsets = rows, .columns = columns, .entries = nnz},
                            .p = {order},
                            .n = {by_columns}};

    return nnz ? sparse_run(handle, &p, KLIB_SPARSE_sort_entries, 1, 8.0 * nnz)
               : CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz,
                                       int *cooRowsA, int *cooColsA, int *P, void *pBuffer)
{
    (void)pBuffer;
    SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && ((cooRowsA && cooColsA) || !nnz));
    return coosort(handle, nnz, cooRowsA, cooColsA, P, false);
}

cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz,
                                          int *cooRowsA, int *cooColsA, int *P, void *pBuffer)
{
    (void)pBuffer;
    SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && ((cooRowsA && cooColsA) || !nnz));
    return coosort(handle, nnz, cooRowsA, cooColsA, P, true);
}

static cusparseStatus_t sort(cusparseHandle_t handle, int rows, int nnz,
                             const cusparseMatDescr_t descr, const int *offsets, int *columns,
                             int *order)
{
    struct klib_sparse p = {
        .a = sparse_csr(rows, rows, nnz, descr, offsets, columns, NULL, KLIB_F32), .p = {order}};
    double entries = 8.0 * nnz + rows;

    if (!nnz)
        return CUSPARSE_STATUS_SUCCESS;
    sparse_tile_rows(&p, rows, entries);
    return sparse_run(handle, &p, KLIB_SPARSE_sort_rows, p.row_tiles, entries);
}

cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descrA, const int *csrRowPtrA,
                                  int *csrColIndA, int *P, void *pBuffer)
{
    (void)pBuffer;
    SPARSE_CHECK(handle,
                 m >= 0 && n >= 0 && nnz >= 0 && descrA && csrRowPtrA && (csrColIndA || !nnz));
    return sort(handle, m, nnz, descrA, csrRowPtrA, csrColIndA, P);
}

cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descrA, const int *cscColPtrA,
                                  int *cscRowIndA, int *P, void *pBuffer)
{
    (void)pBuffer;
    SPARSE_CHECK(handle,
                 m >= 0 && n >= 0 && nnz >= 0 && descrA && cscColPtrA && (cscRowIndA || !nnz));
    return sort(handle, n, nnz, descrA, cscColPtrA, cscRowIndA, P);
}

/* ---- csr2csc */

cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz,
                                               const void *csrVal, const int *csrRowPtr,
                                               const int *csrColInd, void *cscVal, int *cscColPtr,
                                               int *cscRowInd, cudaDataType valType,
                                               cusparseAction_t copyValues,
                                               cusparseIndexBase_t idxBase,
                                               cusparseCsr2CscAlg_t alg, size_t *bufferSize)
{
    (void)csrVal;
    (void)csrRowPtr;
    (void)csrColInd;
    (void)cscVal;
    (void)cscColPtr;
    (void)cscRowInd;
    (void)valType;
    (void)copyValues;
    (void)idxBase;
    (void)alg;
    SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && bufferSize);
    *bufferSize = SOME_B;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz,
                                    const void *csrVal, const int *csrRowPtr, const int *csrColInd,
                                    void *cscVal, int *cscColPtr, int *cscRowInd,
                                    cudaDataType valType, cusparseAction_t copyValues,
                                    cusparseIndexBase_t idxBase, cusparseCsr2CscAlg_t alg,
                                    void *buffer)
{
    bool is_numeric = copyValues == CUSPARSE_ACTION_NUMERIC;
    struct cusparseMatDescr descr = {.base = idxBase};
    int type = sparse_type(valType);

    (void)buffer;
    SPARSE_CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && csrRowPtr && cscColPtr &&
                             ((csrColInd && cscRowInd) || !nnz) &&
                             ((csrVal && cscVal) || !nnz || !is_numeric) &&
                             (unsigned)copyValues < 2 && (unsigned)idxBase < 2 &&
                             alg == CUSPARSE_CSR2CSC_ALG1);
    if (is_numeric && type < 0)
        return sparse_unsupported(__func__, "elements of this type");
    struct klib_sparse p = {
        .a = sparse_csr(m, n, nnz, &descr, csrRowPtr, csrColInd, csrVal, HD_MAX(type, 0)),
        .c = sparse_csr(n, m, nnz, &descr, cscColPtr, cscRowInd, cscVal, HD_MAX(type, 0)),
        .n = {!is_numeric}};
    return sparse_run(handle, &p, KLIB_SPARSE_transpose, 1, 4.0 * nnz + m + n);
}
