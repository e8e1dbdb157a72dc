/* Descriptors: vectors, matrices, and what the functions of one type are told of theirs. */
#include <string.h>

#include "api/cusparse/sparse.h"
#include "base/mem.h"

/* ---- of the functions of one type */

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descr)
{
    if (!descr)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *descr = hd_new(struct cusparseMatDescr);
    return *descr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr)
{
    hd_free(descr);
    return CUSPARSE_STATUS_SUCCESS;
}

#define KEPT(Name, T, member, count)                                                               \
    cusparseStatus_t cusparseSet##Name(cusparseMatDescr_t descr, T value)                          \
    {                                                                                              \
        if (!descr || (unsigned)value >= (count))                                                  \
            return sparse_invalid(__func__);                                                       \
        descr->member = value;                                                                     \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    T cusparseGet##Name(const cusparseMatDescr_t descr)                                            \
    {                                                                                              \
        return descr ? descr->member : (T)0;                                                       \
    }
KEPT(MatType, cusparseMatrixType_t, type, 4)
KEPT(MatFillMode, cusparseFillMode_t, fill, 2)
KEPT(MatDiagType, cusparseDiagType_t, diag, 2)
KEPT(MatIndexBase, cusparseIndexBase_t, base, 2)

/* ---- checks */

static bool is_index(cusparseIndexType_t type)
{
    return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I;
}

static bool is_base(cusparseIndexBase_t base)
{
    return (unsigned)base < 2;
}

/* A type that is kept, whether or not kernels have it: gather moves any. */
static bool is_type(cudaDataType type)
{
    return (unsigned)type <= CUDA_C_64I;
}

static bool is_shape(int64_t rows, int64_t cols, int64_t nnz)
{
    return rows >= 0 && cols >= 0 && nnz >= 0 && (double)nnz <= (double)rows * (double)cols;
}

/* ---- getters of one member */

#define GET(function, T, object, R, member)                                                        \
    cusparseStatus_t function(T object, R *value)                                                  \
    {                                                                                              \
        if (!object || !value)                                                                     \
            return sparse_invalid(__func__);                                                       \
        *value = object->member;                                                                   \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
#define SET(function, T, object)                                                                   \
    cusparseStatus_t function(T object, void *values)                                              \
    {                                                                                              \
        if (!object)                                                                               \
            return sparse_invalid(__func__);                                                       \
        object->values = values;                                                                   \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
#define DESTROY(function, T)                                                                       \
    cusparseStatus_t function(T object)                                                            \
    {                                                                                              \
        hd_free((void *)object);                                                                   \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }

GET(cusparseSpVecGetIndexBase, cusparseConstSpVecDescr_t, spVecDescr, cusparseIndexBase_t, base)
GET(cusparseSpMatGetFormat, cusparseConstSpMatDescr_t, spMatDescr, cusparseFormat_t, format)
GET(cusparseSpMatGetIndexBase, cusparseConstSpMatDescr_t, spMatDescr, cusparseIndexBase_t, base)
GET(cusparseSpMatGetStridedBatch, cusparseConstSpMatDescr_t, spMatDescr, int, batches)
SET(cusparseSpVecSetValues, cusparseSpVecDescr_t, spVecDescr)
SET(cusparseDnVecSetValues, cusparseDnVecDescr_t, dnVecDescr)
SET(cusparseSpMatSetValues, cusparseSpMatDescr_t, spMatDescr)
SET(cusparseDnMatSetValues, cusparseDnMatDescr_t, dnMatDescr)
DESTROY(cusparseDestroySpVec, cusparseConstSpVecDescr_t)
DESTROY(cusparseDestroyDnVec, cusparseConstDnVecDescr_t)
DESTROY(cusparseDestroySpMat, cusparseConstSpMatDescr_t)
DESTROY(cusparseDestroyDnMat, cusparseConstDnMatDescr_t)

/* ---- creation: what is common to the variants with and without const */

#define CREATE(out, T, cond, ...)                                                                  \
    do {                                                                                           \
        if (!(out) || !(cond))                                                                     \
            return sparse_invalid(__func__);                                                       \
        T *object = hd_new(T);                                                                     \
        if (!object)                                                                               \
            return CUSPARSE_STATUS_ALLOC_FAILED;                                                   \
        *object = (T){__VA_ARGS__};                                                                \
        *(out) = object;                                                                           \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    } while (0)

static cusparseStatus_t create_matrix(cusparseSpMatDescr_t *out, const struct cusparseSpMatDescr *m)
{
    *out = hd_new(struct cusparseSpMatDescr);
    if (!*out)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    **out = *m;
    (*out)->batches = 1;
    return CUSPARSE_STATUS_SUCCESS;
}

#define MATRIX(cond, ...)                                                                          \
    struct cusparseSpMatDescr m = {.base = idxBase, .type = valueType, __VA_ARGS__};               \
    if (!spMatDescr || !(cond) || !is_index(m.offsets_type) || !is_index(m.columns_type) ||        \
        !is_base(idxBase) || !is_type(valueType))                                                  \
        return sparse_invalid(__func__);                                                           \
    return create_matrix((cusparseSpMatDescr_t *)spMatDescr, &m)

#define TAKE(pointer, value)                                                                       \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return sparse_invalid(__func__);                                                       \
        *(pointer) = (value);                                                                      \
    } while (0)

/* CSR, CSC: three arrays. */
#define COMPRESSED(Const, C, Csr, FORMAT)                                                          \
    cusparseStatus_t cusparseCreate##Const##Csr(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        C void *offsets, C void *indices, C void *values, cusparseIndexType_t offsetsType,         \
        cusparseIndexType_t indicesType, cusparseIndexBase_t idxBase, cudaDataType valueType)      \
    {                                                                                              \
        MATRIX(is_shape(rows, cols, nnz), .format = FORMAT, .rows = rows, .cols = cols,            \
               .nnz = nnz, .offsets = (void *)offsets, .columns = (void *)indices,                 \
               .values = (void *)values, .offsets_type = offsetsType,                              \
               .columns_type = indicesType);                                                       \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##Csr##Get(                                                    \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,      \
        C void **offsets, C void **indices, C void **values, cusparseIndexType_t *offsetsType,     \
        cusparseIndexType_t *indicesType, cusparseIndexBase_t *idxBase, cudaDataType *valueType)   \
    {                                                                                              \
        if (!spMatDescr || spMatDescr->format != FORMAT)                                           \
            return sparse_invalid(__func__);                                                       \
        TAKE(rows, spMatDescr->rows);                                                              \
        TAKE(cols, spMatDescr->cols);                                                              \
        TAKE(nnz, spMatDescr->nnz);                                                                \
        TAKE(offsets, spMatDescr->offsets);                                                        \
        TAKE(indices, spMatDescr->columns);                                                        \
        TAKE(values, spMatDescr->values);                                                          \
        TAKE(offsetsType, spMatDescr->offsets_type);                                               \
        TAKE(indicesType, spMatDescr->columns_type);                                               \
        TAKE(idxBase, spMatDescr->base);                                                           \
        TAKE(valueType, spMatDescr->type);                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }

#define VARIANT(Const, C)                                                                          \
    COMPRESSED(Const, C, Csr, CUSPARSE_FORMAT_CSR)                                                 \
    COMPRESSED(Const, C, Csc, CUSPARSE_FORMAT_CSC)                                                 \
    GET(cusparse##Const##SpVecGetValues, cusparse##Const##SpVecDescr_t, spVecDescr, C void *,      \
        values)                                                                                    \
    GET(cusparse##Const##DnVecGetValues, cusparse##Const##DnVecDescr_t, dnVecDescr, C void *,      \
        values)                                                                                    \
    GET(cusparse##Const##SpMatGetValues, cusparse##Const##SpMatDescr_t, spMatDescr, C void *,      \
        values)                                                                                    \
    GET(cusparse##Const##DnMatGetValues, cusparse##Const##DnMatDescr_t, dnMatDescr, C void *,      \
        values)                                                                                    \
    cusparseStatus_t cusparseCreate##Const##SpVec(                                                 \
        cusparse##Const##SpVecDescr_t *spVecDescr, int64_t size, int64_t nnz, C void *indices,     \
        C void *values, cusparseIndexType_t idxType, cusparseIndexBase_t idxBase,                  \
        cudaDataType valueType)                                                                    \
    {                                                                                              \
        CREATE(spVecDescr, struct cusparseSpVecDescr,                                              \
               size >= 0 && nnz >= 0 && nnz <= size && (nnz == 0 || (indices && values)) &&        \
                   is_index(idxType) && is_base(idxBase) && is_type(valueType),                    \
               size, nnz, (void *)indices, (void *)values, idxType, idxBase, valueType);           \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##SpVecGet(                                                    \
        cusparse##Const##SpVecDescr_t spVecDescr, int64_t *size, int64_t *nnz, C void **indices,   \
        C void **values, cusparseIndexType_t *idxType, cusparseIndexBase_t *idxBase,               \
        cudaDataType *valueType)                                                                   \
    {                                                                                              \
        if (!spVecDescr)                                                                           \
            return sparse_invalid(__func__);                                                       \
        TAKE(size, spVecDescr->size);                                                              \
        TAKE(nnz, spVecDescr->nnz);                                                                \
        TAKE(indices, spVecDescr->indices);                                                        \
        TAKE(values, spVecDescr->values);                                                          \
        TAKE(idxType, spVecDescr->index_type);                                                     \
        TAKE(idxBase, spVecDescr->base);                                                           \
        TAKE(valueType, spVecDescr->type);                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##DnVec(cusparse##Const##DnVecDescr_t *dnVecDescr,       \
                                                  int64_t size, C void *values,                    \
                                                  cudaDataType valueType)                          \
    {                                                                                              \
        CREATE(dnVecDescr, struct cusparseDnVecDescr,                                              \
               size >= 0 && (size == 0 || values) && is_type(valueType), size, (void *)values,     \
               valueType);                                                                         \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##DnVecGet(cusparse##Const##DnVecDescr_t dnVecDescr,           \
                                               int64_t *size, C void **values,                     \
                                               cudaDataType *valueType)                            \
    {                                                                                              \
        if (!dnVecDescr)                                                                           \
            return sparse_invalid(__func__);                                                       \
        TAKE(size, dnVecDescr->size);                                                              \
        TAKE(values, dnVecDescr->values);                                                          \
        TAKE(valueType, dnVecDescr->type);                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##Coo(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        C void *cooRowInd, C void *cooColInd, C void *cooValues, cusparseIndexType_t cooIdxType,   \
        cusparseIndexBase_t idxBase, cudaDataType valueType)                                       \
    {                                                                                              \
        MATRIX(is_shape(rows, cols, nnz), .format = CUSPARSE_FORMAT_COO, .rows = rows,             \
               .cols = cols, .nnz = nnz, .offsets = (void *)cooRowInd,                             \
               .columns = (void *)cooColInd, .values = (void *)cooValues,                          \
               .offsets_type = cooIdxType, .columns_type = cooIdxType);                            \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##CooGet(                                                      \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,      \
        C void **cooRowInd, C void **cooColInd, C void **cooValues, cusparseIndexType_t *idxType,  \
        cusparseIndexBase_t *idxBase, cudaDataType *valueType)                                     \
    {                                                                                              \
        if (!spMatDescr || spMatDescr->format != CUSPARSE_FORMAT_COO)                              \
            return sparse_invalid(__func__);                                                       \
        TAKE(rows, spMatDescr->rows);                                                              \
        TAKE(cols, spMatDescr->cols);                                                              \
        TAKE(nnz, spMatDescr->nnz);                                                                \
        TAKE(cooRowInd, spMatDescr->offsets);                                                      \
        TAKE(cooColInd, spMatDescr->columns);                                                      \
        TAKE(cooValues, spMatDescr->values);                                                       \
        TAKE(idxType, spMatDescr->columns_type);                                                   \
        TAKE(idxBase, spMatDescr->base);                                                           \
        TAKE(valueType, spMatDescr->type);                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##Bsr(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t brows, int64_t bcols, int64_t bnnz,     \
        int64_t rowBlockSize, int64_t colBlockSize, C void *bsrRowOffsets, C void *bsrColInd,      \
        C void *bsrValues, cusparseIndexType_t bsrRowOffsetsType,                                  \
        cusparseIndexType_t bsrColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType,    \
        cusparseOrder_t order)                                                                     \
    {                                                                                              \
        MATRIX(is_shape(brows, bcols, bnnz) && is_block(rowBlockSize) && is_block(colBlockSize) && \
                   is_order(order),                                                                \
               .format = CUSPARSE_FORMAT_BSR, .rows = brows * rowBlockSize,                        \
               .cols = bcols * colBlockSize, .nnz = bnnz * rowBlockSize * colBlockSize,            \
               .offsets = (void *)bsrRowOffsets, .columns = (void *)bsrColInd,                     \
               .values = (void *)bsrValues, .offsets_type = bsrRowOffsetsType,                     \
               .columns_type = bsrColIndType, .order = order, .block_rows = rowBlockSize,          \
               .block_cols = colBlockSize);                                                        \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##BlockedEll(                                            \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,                     \
        int64_t ellBlockSize, int64_t ellCols, C void *ellColInd, C void *ellValue,                \
        cusparseIndexType_t ellIdxType, cusparseIndexBase_t idxBase, cudaDataType valueType)       \
    {                                                                                              \
        MATRIX(rows >= 0 && cols >= 0 && is_block(ellBlockSize) && ellCols >= 0 &&                 \
                   ellCols % ellBlockSize == 0 && ellCols / ellBlockSize <= INT32_MAX,             \
               .format = CUSPARSE_FORMAT_BLOCKED_ELL, .rows = rows, .cols = cols,                  \
               .nnz = rows * ellCols, .columns = (void *)ellColInd, .values = (void *)ellValue,    \
               .offsets_type = ellIdxType, .columns_type = ellIdxType, .block_rows = ellBlockSize, \
               .block_cols = ellBlockSize, .stored = ellCols);                                     \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##BlockedEllGet(                                               \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols,                    \
        int64_t *ellBlockSize, int64_t *ellCols, C void **ellColInd, C void **ellValue,            \
        cusparseIndexType_t *ellIdxType, cusparseIndexBase_t *idxBase, cudaDataType *valueType)    \
    {                                                                                              \
        if (!spMatDescr || spMatDescr->format != CUSPARSE_FORMAT_BLOCKED_ELL)                      \
            return sparse_invalid(__func__);                                                       \
        TAKE(rows, spMatDescr->rows);                                                              \
        TAKE(cols, spMatDescr->cols);                                                              \
        TAKE(ellBlockSize, spMatDescr->block_rows);                                                \
        TAKE(ellCols, spMatDescr->stored);                                                         \
        TAKE(ellColInd, spMatDescr->columns);                                                      \
        TAKE(ellValue, spMatDescr->values);                                                        \
        TAKE(ellIdxType, spMatDescr->columns_type);                                                \
        TAKE(idxBase, spMatDescr->base);                                                           \
        TAKE(valueType, spMatDescr->type);                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##SlicedEll(                                             \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        int64_t sellValuesSize, int64_t sliceSize, C void *sellSliceOffsets, C void *sellColInd,   \
        C void *sellValues, cusparseIndexType_t sellSliceOffsetsType,                              \
        cusparseIndexType_t sellColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType)   \
    {                                                                                              \
        MATRIX(is_shape(rows, cols, nnz) && sellValuesSize >= nnz && is_block(sliceSize),          \
               .format = CUSPARSE_FORMAT_SLICED_ELLPACK, .rows = rows, .cols = cols, .nnz = nnz,   \
               .offsets = (void *)sellSliceOffsets, .columns = (void *)sellColInd,                 \
               .values = (void *)sellValues, .offsets_type = sellSliceOffsetsType,                 \
               .columns_type = sellColIndType, .block_rows = sliceSize, .block_cols = 1,           \
               .stored = sellValuesSize);                                                          \
    }                                                                                              \
    cusparseStatus_t cusparseCreate##Const##DnMat(                                                 \
        cusparse##Const##DnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols, int64_t ld,         \
        C void *values, cudaDataType valueType, cusparseOrder_t order)                             \
    {                                                                                              \
        CREATE(dnMatDescr, struct cusparseDnMatDescr,                                              \
               rows >= 0 && cols >= 0 && is_order(order) &&                                        \
                   ld >= (order == CUSPARSE_ORDER_COL ? rows : cols) &&                            \
                   (values || !rows || !cols) && is_type(valueType),                               \
               rows, cols, ld, (void *)values, valueType, order, 1, 0);                            \
    }                                                                                              \
    cusparseStatus_t cusparse##Const##DnMatGet(                                                    \
        cusparse##Const##DnMatDescr_t dnMatDescr, int64_t *rows, int64_t *cols, int64_t *ld,       \
        C void **values, cudaDataType *type, cusparseOrder_t *order)                               \
    {                                                                                              \
        if (!dnMatDescr)                                                                           \
            return sparse_invalid(__func__);                                                       \
        TAKE(rows, dnMatDescr->rows);                                                              \
        TAKE(cols, dnMatDescr->cols);                                                              \
        TAKE(ld, dnMatDescr->ld);                                                                  \
        TAKE(values, dnMatDescr->values);                                                          \
        TAKE(type, dnMatDescr->type);                                                              \
        TAKE(order, dnMatDescr->order);                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }

static bool is_block(int64_t size)
{
    return size > 0 && size <= INT32_MAX;
}

static bool is_order(cusparseOrder_t order)
{
    return order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW;
}

VARIANT(, )
VARIANT(Const, const)

/* ---- the rest of matrices */

cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t spMatDescr, int64_t *rows,
                                      int64_t *cols, int64_t *nnz)
{
    if (!spMatDescr)
        return sparse_invalid(__func__);
    TAKE(rows, spMatDescr->rows);
    TAKE(cols, spMatDescr->cols);
    TAKE(nnz, spMatDescr->nnz);
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t batch(cusparseSpMatDescr_t m, cusparseFormat_t format, int count,
                              int64_t offsets, int64_t columns, int64_t values)
{
    if (!m || m->format != format || count <= 0 || offsets < 0 || columns < 0 || values < 0)
        return sparse_invalid("a strided batch");
    m->batches = count;
    m->offsets_step = offsets;
    m->columns_step = columns;
    m->values_step = values;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t batchStride)
{
    return batch(spMatDescr, CUSPARSE_FORMAT_COO, batchCount, batchStride, batchStride,
                 batchStride);
}

cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t offsetsBatchStride,
                                            int64_t columnsValuesBatchStride)
{
    return batch(spMatDescr, CUSPARSE_FORMAT_CSR, batchCount, offsetsBatchStride,
                 columnsValuesBatchStride, columnsValuesBatchStride);
}

cusparseStatus_t cusparseBsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t offsetsBatchStride, int64_t columnsBatchStride,
                                            int64_t ValuesBatchStride)
{
    return batch(spMatDescr, CUSPARSE_FORMAT_BSR, batchCount, offsetsBatchStride,
                 columnsBatchStride, ValuesBatchStride);
}

/* Each attribute is an enumeration, an int; which ones may be, and how many values. */
static int *attribute_of(cusparseConstSpMatDescr_t m, cusparseSpMatAttribute_t attribute,
                         size_t size_B, int *out_count)
{
    if (!m || size_B != sizeof(int))
        return NULL;
    switch (attribute) {
    case CUSPARSE_SPMAT_FILL_MODE:
        *out_count = 2;
        return (int *)&m->fill;
    case CUSPARSE_SPMAT_DIAG_TYPE:
        *out_count = 2;
        return (int *)&m->diag;
    case CUSPARSE_SPMAT_STORAGE:
        *out_count = 3;
        return (int *)&m->storage;
    case CUSPARSE_SPMAT_SYMMETRY_TYPE:
        *out_count = 3;
        return (int *)&m->symmetry;
    }
    return NULL;
}

cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t spMatDescr,
                                           cusparseSpMatAttribute_t attribute, void *data,
                                           size_t dataSize)
{
    int count, *at = attribute_of(spMatDescr, attribute, dataSize, &count);

    if (!at || !data)
        return sparse_invalid(__func__);
    memcpy(data, at, sizeof(*at));
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t spMatDescr,
                                           cusparseSpMatAttribute_t attribute, void *data,
                                           size_t dataSize)
{
    int count, value, *at = attribute_of(spMatDescr, attribute, dataSize, &count);

    if (!at || !data)
        return sparse_invalid(__func__);
    memcpy(&value, data, sizeof(value));
    if (value < 0 || value >= count)
        return sparse_invalid(__func__);
    *at = value;
    return CUSPARSE_STATUS_SUCCESS;
}

#define POINTERS(Csr, FORMAT)                                                                      \
    cusparseStatus_t cusparse##Csr##SetPointers(cusparseSpMatDescr_t spMatDescr, void *offsets,    \
                                                void *indices, void *values)                       \
    {                                                                                              \
        if (!spMatDescr || spMatDescr->format != FORMAT)                                           \
            return sparse_invalid(__func__);                                                       \
        spMatDescr->offsets = offsets;                                                             \
        spMatDescr->columns = indices;                                                             \
        spMatDescr->values = values;                                                               \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
POINTERS(Csr, CUSPARSE_FORMAT_CSR)
POINTERS(Csc, CUSPARSE_FORMAT_CSC)
POINTERS(Coo, CUSPARSE_FORMAT_COO)

cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t dnMatDescr, int batchCount,
                                              int64_t batchStride)
{
    if (!dnMatDescr || batchCount <= 0 || batchStride < 0)
        return sparse_invalid(__func__);
    dnMatDescr->batches = batchCount;
    dnMatDescr->step = batchStride;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t dnMatDescr, int *batchCount,
                                              int64_t *batchStride)
{
    if (!dnMatDescr)
        return sparse_invalid(__func__);
    TAKE(batchCount, dnMatDescr->batches);
    TAKE(batchStride, dnMatDescr->step);
    return CUSPARSE_STATUS_SUCCESS;
}
