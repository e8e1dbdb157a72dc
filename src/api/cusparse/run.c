/* Parameters and launches of the kernels. */
#include <cuda.h>
#include <string.h>

#include "api/cusparse/sparse.h"

/* Entries that are worth a tile of their own. */
#define TILE_ENTRIES 8192

int sparse_type(cudaDataType type)
{
    int own = lib_type(type);

    return own <= KLIB_I32 ? own : -1; /* none of 8 bits or less but integers */
}

size_t sparse_size_B(int klib_type)
{
    static const uint8_t sizes[] = {
        [KLIB_F32] = 4, [KLIB_F64] = 8,  [KLIB_C32] = 8, [KLIB_C64] = 16,
        [KLIB_F16] = 2, [KLIB_BF16] = 2, [KLIB_I8] = 1,  [KLIB_I32] = 4};
    return sizes[klib_type];
}

struct klib_sparse_matrix sparse_matrix(cusparseConstSpMatDescr_t a, bool *out_transposed)
{
    static const uint8_t formats[] = {
        [CUSPARSE_FORMAT_CSR] = KLIB_CSR, [CUSPARSE_FORMAT_CSC] = KLIB_CSR,
        [CUSPARSE_FORMAT_COO] = KLIB_COO, [CUSPARSE_FORMAT_BLOCKED_ELL] = KLIB_BLOCKED_ELL,
        [CUSPARSE_FORMAT_BSR] = KLIB_BSR, [CUSPARSE_FORMAT_SLICED_ELLPACK] = KLIB_SLICED_ELL};
    bool is_csc = a->format == CUSPARSE_FORMAT_CSC;
    struct klib_sparse_matrix m = {.offsets = a->offsets,
                                   .columns = a->columns,
                                   .values = a->values,
                                   .rows = is_csc ? a->cols : a->rows,
                                   .cols = is_csc ? a->rows : a->cols,
                                   .entries = a->nnz,
                                   .offsets_step = a->offsets_step,
                                   .columns_step = a->columns_step,
                                   .values_step = a->values_step,
                                   .block_rows = (int32_t)a->block_rows,
                                   .block_cols = (int32_t)a->block_cols,
                                   .format = formats[a->format],
                                   .type = (uint8_t)sparse_type(a->type),
                                   .wide_offsets = a->offsets_type == CUSPARSE_INDEX_64I,
                                   .wide_columns = a->columns_type == CUSPARSE_INDEX_64I,
                                   .base = (uint8_t)a->base,
                                   .blocks_by_columns = a->order == CUSPARSE_ORDER_COL};

    if (a->format == CUSPARSE_FORMAT_BLOCKED_ELL)
        m.width = (int32_t)(a->stored / a->block_cols);
    else if (!a->nnz) /* it may have no arrays: no entries of any row */
        m.format = KLIB_COO;
    *out_transposed = is_csc;
    return m;
}

struct klib_dense_matrix sparse_dense(cusparseConstDnMatDescr_t b, cusparseOperation_t op)
{
    bool is_by_columns = b->order == CUSPARSE_ORDER_COL;
    struct klib_dense_matrix m = {.values = b->values,
                                  .rows = b->rows,
                                  .cols = b->cols,
                                  .row_step = is_by_columns ? 1 : b->ld,
                                  .column_step = is_by_columns ? b->ld : 1,
                                  .problem_step = b->batches > 1 ? b->step : 0,
                                  .type = (uint8_t)sparse_type(b->type),
                                  .is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};

    if (op == CUSPARSE_OPERATION_NON_TRANSPOSE)
        return m;
    m.rows = b->cols;
    m.cols = b->rows;
    m.row_step = is_by_columns ? b->ld : 1;
    m.column_step = is_by_columns ? 1 : b->ld;
    return m;
}

struct klib_dense_matrix sparse_vector(cusparseConstDnVecDescr_t x)
{
    return (struct klib_dense_matrix){.values = x->values,
                                      .rows = x->size,
                                      .cols = 1,
                                      .row_step = 1,
                                      .column_step = x->size,
                                      .type = (uint8_t)sparse_type(x->type)};
}

struct klib_sparse_matrix sparse_csr(int64_t rows, int64_t cols, int64_t entries,
                                     const cusparseMatDescr_t descr, const int *offsets,
                                     const int *columns, const void *values, int type)
{
    return (struct klib_sparse_matrix){.offsets = (void *)offsets,
                                       .columns = (void *)columns,
                                       .values = (void *)values,
                                       .rows = rows,
                                       .cols = cols,
                                       .entries = entries,
                                       .format = KLIB_CSR,
                                       .type = (uint8_t)type,
                                       .base = descr ? (uint8_t)descr->base : 0};
}

struct klib_sparse_factor sparse_factor(cusparseHandle_t handle, const void *factor, int type)
{
    struct klib_sparse_factor f = {.type = (uint8_t)type};

    if (handle->base.pointer_mode == CUSPARSE_POINTER_MODE_DEVICE)
        f.address = factor;
    else
        memcpy(f.value, factor, sparse_size_B(type));
    return f;
}

struct klib_sparse_factor sparse_constant(double value, int type)
{
    struct klib_sparse_factor f = {.type = (uint8_t)type};
    float single = (float)value;
    int32_t whole = (int32_t)value;

    if (type == KLIB_F32 || type == KLIB_C32)
        memcpy(f.value, &single, sizeof(single));
    else if (type == KLIB_I32)
        memcpy(f.value, &whole, sizeof(whole));
    else
        f.value[0] = value;
    return f;
}

void sparse_tile_rows(struct klib_sparse *p, int64_t rows, double entries)
{
    double tiles = HD_MIN(entries / TILE_ENTRIES, 8.0 * lib_threads());

    p->row_tiles = (uint32_t)HD_MAX(HD_MIN(tiles, (double)rows), 1);
}

cusparseStatus_t sparse_run(cusparseHandle_t handle, struct klib_sparse *p,
                            enum klib_sparse_kernel kernel, uint64_t tiles, double entries)
{
    static struct lib_kernel kernels[KLIB_SPARSE_KERNELS];
    const struct klib *klib = lib_klib(&sparse_info);

    if (!klib)
        return CUSPARSE_STATUS_INTERNAL_ERROR;
    if (!tiles)
        return CUSPARSE_STATUS_SUCCESS;
    p->kernel = kernel;
    p->row_tiles = HD_MAX(p->row_tiles, 1);
    p->chunks = HD_MAX(p->chunks, 1);
    return sparse_status(lib_launch(&handle->base, &kernels[kernel], klib->sparse->names[kernel],
                                    klib->sparse->run, p, sizeof(*p), tiles,
                                    (uint64_t)HD_MIN(2 * entries, 1e15)));
}

bool sparse_is_captured(cusparseHandle_t handle)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return !cuStreamIsCapturing(handle->base.stream, &status) &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

cusparseStatus_t sparse_wait(cusparseHandle_t handle, const char *function)
{
    if (sparse_is_captured(handle))
        return sparse_unsupported(function, "a result for the host while a graph is captured");
    return sparse_status(lib_wait(&handle->base));
}

cusparseStatus_t sparse_result(cusparseHandle_t handle, cusparseStatus_t status)
{
    bool is_host = handle->base.pointer_mode == CUSPARSE_POINTER_MODE_HOST;

    /* In a graph it is told when that runs. */
    return !status && is_host && !sparse_is_captured(handle)
               ? sparse_status(lib_wait(&handle->base))
               : status;
}

cusparseStatus_t sparse_copy(cusparseHandle_t handle, void *to, const void *from, size_t size_B)
{
    return size_B ? sparse_status(cuMemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, size_B,
                                                    handle->base.stream))
                  : CUSPARSE_STATUS_SUCCESS;
}

struct klib_sparse_matrix sparse_bsr(int mb, int nb, int nnzb, const cusparseMatDescr_t descr,
                                     cusparseDirection_t dir, const int *offsets,
                                     const int *columns, const void *values, int rows_of_block,
                                     int cols_of_block, int type)
{
    struct klib_sparse_matrix m = sparse_csr(
        (int64_t)mb * rows_of_block, (int64_t)nb * cols_of_block,
        (int64_t)nnzb * rows_of_block * cols_of_block, descr, offsets, columns, values, type);
    m.format = KLIB_BSR;
    m.block_rows = rows_of_block;
    m.block_cols = cols_of_block;
    m.blocks_by_columns = dir == CUSPARSE_DIRECTION_COLUMN;
    return m;
}

cusparseStatus_t sparse_count(cusparseHandle_t handle, struct klib_sparse *p,
                              enum klib_sparse_kernel kernel, int64_t rows, double entries,
                              int *total)
{
    sparse_tile_rows(p, rows, entries);
    cusparseStatus_t status = sparse_run(handle, p, kernel, p->row_tiles, entries);
    memset(p->p, 0, sizeof(p->p));
    p->n[0] = rows;
    p->p[0] = total;
    if (!status)
        status = sparse_run(handle, p, KLIB_SPARSE_scan, 1, (double)rows);
    return total ? sparse_result(handle, status) : status;
}
