/* Generic functions: sparse vectors, products with dense operands, triangles, dense matrices. */
#include <assert.h>

#include "api/cusparse/sparse.h"
#include "base/mem.h"

/* ---- sparse vectors */

static cusparseStatus_t on_vector(cusparseHandle_t handle, const char *function,
                                  enum klib_sparse_vector what, cusparseConstSpVecDescr_t x,
                                  cusparseConstDnVecDescr_t y, int sums, struct klib_sparse *p)
{
    int type = sparse_type(x->type);

    if (x->size > y->size)
        return sparse_invalid(function);
    if (type < 0 || x->type != y->type || sums < 0)
        return sparse_unsupported(function, "vectors of these types");
    p->a = (struct klib_sparse_matrix){.columns = x->indices,
                                       .values = x->values,
                                       .entries = x->nnz,
                                       .type = (uint8_t)type,
                                       .wide_columns = x->index_type == CUSPARSE_INDEX_64I,
                                       .base = (uint8_t)x->base};
    p->y = sparse_vector(y);
    p->sums = (uint8_t)sums;
    p->n[0] = what;
    double entries = (double)x->nnz + (what == KLIB_SPARSE_AXPBY ? (double)y->size : 0);
    return sparse_run(handle, p, KLIB_SPARSE_vector, 1, entries);
}

/* The type of sums over such elements. */
static int sums_of(int type)
{
    return type == KLIB_F16 || type == KLIB_BF16 || type == KLIB_I8 ? KLIB_F32 : type;
}

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void *alpha,
                               cusparseConstSpVecDescr_t vecX, const void *beta,
                               cusparseDnVecDescr_t vecY)
{
    SPARSE_CHECK(handle, alpha && vecX && beta && vecY);
    int sums = sums_of(sparse_type(vecX->type));
    if (sums < 0 || sums == KLIB_I32)
        return sparse_unsupported(__func__, "vectors of this type");
    struct klib_sparse p = {.alpha = sparse_factor(handle, alpha, sums),
                            .beta = sparse_factor(handle, beta, sums)};
    return on_vector(handle, __func__, KLIB_SPARSE_AXPBY, vecX, vecY, sums, &p);
}

cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t vecY,
                                cusparseSpVecDescr_t vecX)
{
    struct klib_sparse p = {0};

    SPARSE_CHECK(handle, vecX && vecY);
    return on_vector(handle, __func__, KLIB_SPARSE_GATHER, vecX, vecY,
                     sums_of(sparse_type(vecX->type)), &p);
}

cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t vecX,
                                 cusparseDnVecDescr_t vecY)
{
    struct klib_sparse p = {0};

    SPARSE_CHECK(handle, vecX && vecY);
    return on_vector(handle, __func__, KLIB_SPARSE_SCATTER, vecX, vecY,
                     sums_of(sparse_type(vecX->type)), &p);
}

cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void *c_coeff, const void *s_coeff,
                             cusparseSpVecDescr_t vecX, cusparseDnVecDescr_t vecY)
{
    SPARSE_CHECK(handle, c_coeff && s_coeff && vecX && vecY);
    int sums = sums_of(sparse_type(vecX->type));
    if (sums < 0 || sums == KLIB_I32)
        return sparse_unsupported(__func__, "vectors of this type");
    struct klib_sparse p = {.alpha = sparse_factor(handle, c_coeff, sums),
                            .beta = sparse_factor(handle, s_coeff, sums)};
    return on_vector(handle, __func__, KLIB_SPARSE_ROTATE, vecX, vecY, sums, &p);
}

cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opX,
                                         cusparseConstSpVecDescr_t vecX,
                                         cusparseConstDnVecDescr_t vecY, const void *result,
                                         cudaDataType computeType, size_t *bufferSize)
{
    (void)result;
    (void)computeType;
    SPARSE_CHECK(handle, sparse_op_ok(opX) && vecX && vecY && bufferSize);
    *bufferSize = SOME_B;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t opX,
                              cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY,
                              void *result, cudaDataType computeType, void *externalBuffer)
{
    (void)externalBuffer;
    SPARSE_CHECK(handle, sparse_op_ok(opX) && vecX && vecY && result);
    int sums = sparse_type(computeType), type = sparse_type(vecX->type);
    if (type < 0 || (sums != sums_of(type) && !(sums == KLIB_I32 && type == KLIB_I8)))
        return sparse_unsupported(__func__, "products of these types");
    struct klib_sparse p = {.p = {result},
                            .n = {0, sums},
                            .is_conjugate = opX == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
    return sparse_result(handle,
                         on_vector(handle, __func__, KLIB_SPARSE_DOT, vecX, vecY, sums, &p));
}

/* ---- products with dense vectors and matrices */

/* Whether sums of that type are of elements a and x, and become y. */
static bool is_product(int sums, int a, int x, int y)
{
    switch (sums) {
    case KLIB_F32:
        return a == x && (a == KLIB_F32 || a == KLIB_F16 || a == KLIB_BF16 || a == KLIB_I8) &&
               (y == KLIB_F32 || (y == a && a != KLIB_I8));
    case KLIB_F64:
        return (a == KLIB_F64 || a == KLIB_F32) && x == KLIB_F64 && y == KLIB_F64;
    case KLIB_C32:
        return (a == KLIB_C32 || a == KLIB_F32) && x == KLIB_C32 && y == KLIB_C32;
    case KLIB_C64:
        return (a == KLIB_C64 || a == KLIB_F64 || a == KLIB_C32) && x == KLIB_C64 && y == KLIB_C64;
    case KLIB_I32:
        return a == KLIB_I8 && x == KLIB_I8 && y == KLIB_I32;
    default:
        return false;
    }
}

/* What has to be there for SpMM and SDDMM, whose arguments have the same names. */
#define IS_PRODUCT (sparse_op_ok(opA) && sparse_op_ok(opB) && alpha && matA && matB && beta && matC)
/* One matrix for all problems, or one for each. */
#define ARE_BATCHES                                                                                \
    ((matA->batches == 1 || matA->batches == matC->batches) &&                                     \
     (matB->batches == 1 || matB->batches == matC->batches))

/* y = alpha op(a) x + beta y, of `problems`. */
static cusparseStatus_t multiply(cusparseHandle_t handle, const char *function,
                                 cusparseOperation_t op, const void *alpha,
                                 cusparseConstSpMatDescr_t a, const struct klib_dense_matrix *x,
                                 const void *beta, const struct klib_dense_matrix *y, int problems,
                                 cudaDataType compute)
{
    bool is_transposed, wants_transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;
    int sums = sparse_type(compute);
    int64_t rows = wants_transposed ? a->cols : a->rows,
            cols = wants_transposed ? a->rows : a->cols;

    if (x->rows != cols || y->rows != rows || x->cols != y->cols)
        return sparse_invalid(function);
    if (!is_product(sums, sparse_type(a->type), x->type, y->type))
        return sparse_unsupported(function, "products of these types");
    if (!y->rows || !y->cols)
        return CUSPARSE_STATUS_SUCCESS;
    assert(problems >= 1);
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
                            .x = *x,
                            .y = *y,
                            .alpha = sparse_factor(handle, alpha, sums),
                            .beta = sparse_factor(handle, beta, sums)};
    p.a = sparse_matrix(a, &is_transposed);
    double entries = ((double)a->nnz + (double)rows) * (double)y->cols;
    if (is_transposed != wants_transposed) {
        p.chunk = (uint32_t)HD_MAX(HD_MIN(y->cols / (2 * lib_threads()), 32), 1);
        p.chunks = (uint32_t)((y->cols + p.chunk - 1) / p.chunk);
        return sparse_run(handle, &p, KLIB_SPARSE_spmm_scatter, (uint64_t)problems * p.chunks,
                          entries * problems);
    }
    p.chunk = (uint32_t)HD_MIN(y->cols, INT32_MAX);
    p.chunks = (uint32_t)((y->cols + p.chunk - 1) / p.chunk);
    sparse_tile_rows(&p, p.a.rows, entries);
    return sparse_run(handle, &p, KLIB_SPARSE_spmm, (uint64_t)problems * p.chunks * p.row_tiles,
                      entries * problems);
}

cusparseStatus_t cusparseSpMV_bufferSize(HEDDLE_CUSPARSE_SPMV, size_t *bufferSize)
{
    (void)computeType;
    (void)alg;
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && beta && vecY && bufferSize);
    *bufferSize = SOME_B;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMV_preprocess(HEDDLE_CUSPARSE_SPMV, void *externalBuffer)
{
    (void)computeType;
    (void)alg;
    (void)externalBuffer;
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && beta && vecY);
    return CUSPARSE_STATUS_SUCCESS; /* there is nothing to prepare */
}

cusparseStatus_t cusparseSpMV(HEDDLE_CUSPARSE_SPMV, void *externalBuffer)
{
    (void)externalBuffer;
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && beta && vecY &&
                             (unsigned)alg <= CUSPARSE_SPMV_BSR_ALG1);
    struct klib_dense_matrix x = sparse_vector(vecX), y = sparse_vector(vecY);
    return multiply(handle, __func__, opA, alpha, matA, &x, beta, &y, 1, computeType);
}

cusparseStatus_t cusparseSpMM_bufferSize(HEDDLE_CUSPARSE_SPMM, size_t *bufferSize)
{
    (void)computeType;
    (void)alg;
    SPARSE_CHECK(handle, IS_PRODUCT && bufferSize);
    *bufferSize = SOME_B;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_preprocess(HEDDLE_CUSPARSE_SPMM, void *externalBuffer)
{
    (void)computeType;
    (void)alg;
    (void)externalBuffer;
    SPARSE_CHECK(handle, IS_PRODUCT);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM(HEDDLE_CUSPARSE_SPMM, void *externalBuffer)
{
    (void)externalBuffer;
    SPARSE_CHECK(handle, IS_PRODUCT && (unsigned)alg <= CUSPARSE_SPMM_BSR_ALG1);
    struct klib_dense_matrix x = sparse_dense(matB, opB);
    struct klib_dense_matrix y = sparse_dense(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
    int problems = matC->batches;
    if (!ARE_BATCHES)
        return sparse_invalid(__func__);
    return multiply(handle, __func__, opA, alpha, matA, &x, beta, &y, problems, computeType);
}

/* ---- triangles */

/* Values that updateMatrix() gave are in the buffer of the analysis. */
struct triangle {
    struct cusparseSpMatDescr a; /* of the analysis */
    void *buffer;
    bool is_analyzed, is_updated;
};
struct cusparseSpSVDescr {
    struct triangle t;
};
struct cusparseSpSMDescr {
    struct triangle t;
};

static size_t values_B(cusparseConstSpMatDescr_t a)
{
    int64_t stored = a->format == CUSPARSE_FORMAT_SLICED_ELLPACK ? a->stored : a->nnz;
    return (size_t)stored * sparse_size_B(HD_MAX(sparse_type(a->type), 0)) + SOME_B;
}

static cusparseStatus_t triangle_check(const char *function, cusparseConstSpMatDescr_t a,
                                       int x_type, int y_type, cudaDataType compute)
{
    int type = sparse_type(a->type);

    if (a->rows != a->cols)
        return sparse_invalid(function);
    if (type < 0 || type > KLIB_C64 || type != x_type || type != y_type ||
        type != sparse_type(compute) || a->format == CUSPARSE_FORMAT_BLOCKED_ELL)
        return sparse_unsupported(function, "systems of these types");
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t triangle_solve(cusparseHandle_t handle, const char *function,
                                       const struct triangle *t, cusparseOperation_t op,
                                       const void *alpha, cusparseConstSpMatDescr_t a,
                                       const struct klib_dense_matrix *x,
                                       const struct klib_dense_matrix *y, cudaDataType compute)
{
    bool is_csc;
    cusparseStatus_t status = triangle_check(function, a, x->type, y->type, compute);

    if (status)
        return status;
    if (!t->is_analyzed || x->rows != a->rows || y->rows != a->rows || x->cols != y->cols)
        return sparse_invalid(function);
    if (!y->rows || !y->cols)
        return CUSPARSE_STATUS_SUCCESS;
    int sums = sparse_type(compute);
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .is_conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
                            .is_unit = a->diag == CUSPARSE_DIAG_TYPE_UNIT,
                            .x = *x,
                            .y = *y,
                            .alpha = sparse_factor(handle, alpha, sums)};
    p.a = sparse_matrix(a, &is_csc);
    if (t->is_updated)
        p.a.values = t->buffer;
    p.is_transposed = is_csc != (op != CUSPARSE_OPERATION_NON_TRANSPOSE);
    p.is_upper = is_csc != (a->fill == CUSPARSE_FILL_MODE_UPPER);
    p.chunk = (uint32_t)HD_MAX(HD_MIN(y->cols / (2 * lib_threads()), 32), 1);
    return sparse_run(handle, &p, KLIB_SPARSE_spsm, (uint64_t)((y->cols + p.chunk - 1) / p.chunk),
                      (double)(a->nnz + a->rows) * (double)y->cols);
}

static cusparseStatus_t triangle_update(cusparseHandle_t handle, const char *function,
                                        struct triangle *t, void *values, bool is_diagonal)
{
    cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;
    size_t size_B = values_B(&t->a) - SOME_B;
    bool is_csc;

    if (!t->is_analyzed || !t->buffer || !values)
        return sparse_invalid(function);
    if (!is_diagonal)
        status = sparse_copy(handle, t->buffer, values, size_B);
    else if (!t->is_updated)
        status = sparse_copy(handle, t->buffer, t->a.values, size_B);
    if (!status && is_diagonal) {
        struct klib_sparse p = {.p = {values}, .sums = (uint8_t)sparse_type(t->a.type)};
        p.a = sparse_matrix(&t->a, &is_csc);
        p.a.values = t->buffer;
        status = sparse_run(handle, &p, KLIB_SPARSE_set_diagonal, 1, (double)t->a.nnz);
    }
    t->is_updated = t->is_updated || !status;
    return status;
}

#define TRIANGLE(SpSV)                                                                             \
    cusparseStatus_t cusparse##SpSV##_createDescr(cusparse##SpSV##Descr_t *descr)                  \
    {                                                                                              \
        if (!descr)                                                                                \
            return sparse_invalid(__func__);                                                       \
        *descr = hd_new(struct cusparse##SpSV##Descr);                                             \
        return *descr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;                    \
    }                                                                                              \
    cusparseStatus_t cusparse##SpSV##_destroyDescr(cusparse##SpSV##Descr_t descr)                  \
    {                                                                                              \
        hd_free(descr);                                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
TRIANGLE(SpSV)
TRIANGLE(SpSM)

cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t spsvDescr,
                                           void *newValues, cusparseSpSVUpdate_t updatePart)
{
    SPARSE_CHECK(handle, spsvDescr && (unsigned)updatePart < 2);
    return triangle_update(handle, __func__, &spsvDescr->t, newValues,
                           updatePart == CUSPARSE_SPSV_UPDATE_DIAGONAL);
}

cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t spsmDescr,
                                           void *newValues, cusparseSpSMUpdate_t updatePart)
{
    SPARSE_CHECK(handle, spsmDescr && (unsigned)updatePart < 2);
    return triangle_update(handle, __func__, &spsmDescr->t, newValues,
                           updatePart == CUSPARSE_SPSM_UPDATE_DIAGONAL);
}

cusparseStatus_t cusparseSpSV_bufferSize(HEDDLE_CUSPARSE_SPSV, size_t *bufferSize)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && vecY && spsvDescr &&
                             bufferSize && (unsigned)alg <= CUSPARSE_SPSV_ALG2);
    *bufferSize = values_B(matA);
    return triangle_check(__func__, matA, sparse_type(vecX->type), sparse_type(vecY->type),
                          computeType);
}

cusparseStatus_t cusparseSpSV_analysis(HEDDLE_CUSPARSE_SPSV, void *externalBuffer)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && vecY && spsvDescr &&
                             (unsigned)alg <= CUSPARSE_SPSV_ALG2);
    spsvDescr->t = (struct triangle){.a = *matA, .buffer = externalBuffer, .is_analyzed = true};
    return triangle_check(__func__, matA, sparse_type(vecX->type), sparse_type(vecY->type),
                          computeType);
}

cusparseStatus_t cusparseSpSV_solve(HEDDLE_CUSPARSE_SPSV)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && alpha && matA && vecX && vecY && spsvDescr &&
                             (unsigned)alg <= CUSPARSE_SPSV_ALG2);
    struct klib_dense_matrix x = sparse_vector(vecX), y = sparse_vector(vecY);
    return triangle_solve(handle, __func__, &spsvDescr->t, opA, alpha, matA, &x, &y, computeType);
}

cusparseStatus_t cusparseSpSM_bufferSize(HEDDLE_CUSPARSE_SPSM, size_t *bufferSize)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && sparse_op_ok(opB) && alpha && matA && matB && matC &&
                             spsmDescr && bufferSize && alg == CUSPARSE_SPSM_ALG_DEFAULT);
    *bufferSize = values_B(matA);
    return triangle_check(__func__, matA, sparse_type(matB->type), sparse_type(matC->type),
                          computeType);
}

cusparseStatus_t cusparseSpSM_analysis(HEDDLE_CUSPARSE_SPSM, void *externalBuffer)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && sparse_op_ok(opB) && alpha && matA && matB && matC &&
                             spsmDescr && alg == CUSPARSE_SPSM_ALG_DEFAULT);
    spsmDescr->t = (struct triangle){.a = *matA, .buffer = externalBuffer, .is_analyzed = true};
    return triangle_check(__func__, matA, sparse_type(matB->type), sparse_type(matC->type),
                          computeType);
}

cusparseStatus_t cusparseSpSM_solve(HEDDLE_CUSPARSE_SPSM)
{
    SPARSE_CHECK(handle, sparse_op_ok(opA) && sparse_op_ok(opB) && alpha && matA && matB && matC &&
                             spsmDescr && alg == CUSPARSE_SPSM_ALG_DEFAULT);
    struct klib_dense_matrix x = sparse_dense(matB, opB);
    struct klib_dense_matrix y = sparse_dense(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
    return triangle_solve(handle, __func__, &spsmDescr->t, opA, alpha, matA, &x, &y, computeType);
}

/* ---- products of dense matrices where there are entries */

cusparseStatus_t cusparseSDDMM_bufferSize(HEDDLE_CUSPARSE_SDDMM, size_t *bufferSize)
{
    (void)computeType;
    (void)alg;
    SPARSE_CHECK(handle, IS_PRODUCT && bufferSize);
    *bufferSize = SOME_B;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSDDMM_preprocess(HEDDLE_CUSPARSE_SDDMM, void *externalBuffer)
{
    (void)computeType;
    (void)alg;
    (void)externalBuffer;
    SPARSE_CHECK(handle, IS_PRODUCT);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSDDMM(HEDDLE_CUSPARSE_SDDMM, void *externalBuffer)
{
    bool is_csc;

    (void)externalBuffer;
    SPARSE_CHECK(handle, IS_PRODUCT && alg == CUSPARSE_SDDMM_ALG_DEFAULT);
    int sums = sparse_type(computeType), problems = matC->batches;
    struct klib_sparse p = {.sums = (uint8_t)HD_MAX(sums, 0),
                            .x = sparse_dense(matA, opA),
                            .y = sparse_dense(matB, opB)};
    if (p.x.cols != p.y.rows || p.x.rows != matC->rows || p.y.cols != matC->cols || !ARE_BATCHES)
        return sparse_invalid(__func__);
    if (matC->format == CUSPARSE_FORMAT_BLOCKED_ELL ||
        matC->format == CUSPARSE_FORMAT_SLICED_ELLPACK || sums == KLIB_I32 ||
        !is_product(sums, p.x.type, p.y.type, sparse_type(matC->type)))
        return sparse_unsupported(__func__, "products of these types or formats");
    if (!matC->nnz)
        return CUSPARSE_STATUS_SUCCESS;
    p.alpha = sparse_factor(handle, alpha, sums);
    p.beta = sparse_factor(handle, beta, sums);
    p.c = sparse_matrix(matC, &is_csc);
    if (is_csc) { /* C^T = B^T A^T */
        struct klib_dense_matrix x = p.x, y = p.y;
        p.x = (struct klib_dense_matrix){y.values,   y.cols,         y.rows, y.column_step,
                                         y.row_step, y.problem_step, y.type, y.is_conjugate};
        p.y = (struct klib_dense_matrix){x.values,   x.cols,         x.rows, x.column_step,
                                         x.row_step, x.problem_step, x.type, x.is_conjugate};
    }
    double entries = (double)matC->nnz * (double)(p.x.cols + 1);
    sparse_tile_rows(&p, p.c.rows, entries);
    return sparse_run(handle, &p, KLIB_SPARSE_sddmm, (uint64_t)problems * p.row_tiles,
                      entries * problems);
}

/* ---- between dense and sparse */

/* The dense matrix as the rows of a sparse one, which may be another one's columns. */
static struct klib_dense_matrix dense_like(cusparseConstDnMatDescr_t b, bool is_transposed)
{
    struct klib_dense_matrix m = sparse_dense(b, is_transposed ? CUSPARSE_OPERATION_TRANSPOSE
                                                               : CUSPARSE_OPERATION_NON_TRANSPOSE);
    m.is_conjugate = false;
    return m;
}

static cusparseStatus_t check_dense(const char *function, cusparseConstSpMatDescr_t a,
                                    cusparseConstDnMatDescr_t b)
{
    if (a->rows != b->rows || a->cols != b->cols)
        return sparse_invalid(function);
    if (sparse_type(a->type) < 0 || a->type != b->type)
        return sparse_unsupported(function, "matrices of these types");
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle,
                                                  cusparseConstSpMatDescr_t matA,
                                                  cusparseDnMatDescr_t matB,
                                                  cusparseSparseToDenseAlg_t alg,
                                                  size_t *bufferSize)
{
    SPARSE_CHECK(handle, matA && matB && bufferSize && !alg);
    *bufferSize = SOME_B;
    return check_dense(__func__, matA, matB);
}

cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA,
                                       cusparseDnMatDescr_t matB, cusparseSparseToDenseAlg_t alg,
                                       void *externalBuffer)
{
    bool is_csc;

    (void)externalBuffer;
    SPARSE_CHECK(handle, matA && matB && !alg);
    cusparseStatus_t status = check_dense(__func__, matA, matB);
    if (status || !matA->rows || !matA->cols)
        return status;
    struct klib_sparse p = {.sums = (uint8_t)sums_of(sparse_type(matA->type))};
    p.a = sparse_matrix(matA, &is_csc);
    p.y = dense_like(matB, is_csc);
    double entries = (double)matA->nnz + (double)matA->rows * (double)matA->cols;
    if (p.a.format != KLIB_COO)
        sparse_tile_rows(&p, p.a.rows, entries);
    p.row_tiles = HD_MAX(p.row_tiles, 1);
    return sparse_run(handle, &p, KLIB_SPARSE_to_dense, p.row_tiles, entries);
}

/* The buffer: offsets of rows as int64_t, and their sum for the host. */
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle,
                                                  cusparseConstDnMatDescr_t matA,
                                                  cusparseSpMatDescr_t matB,
                                                  cusparseDenseToSparseAlg_t alg,
                                                  size_t *bufferSize)
{
    SPARSE_CHECK(handle, matA && matB && bufferSize && !alg);
    *bufferSize = (size_t)(HD_MAX(matA->rows, matA->cols) + 2) * sizeof(int64_t);
    return check_dense(__func__, matB, matA);
}

static bool is_gathered(cusparseConstSpMatDescr_t b)
{
    return b->format == CUSPARSE_FORMAT_BLOCKED_ELL || b->format == CUSPARSE_FORMAT_BSR ||
           b->format == CUSPARSE_FORMAT_SLICED_ELLPACK;
}

cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle,
                                                cusparseConstDnMatDescr_t matA,
                                                cusparseSpMatDescr_t matB,
                                                cusparseDenseToSparseAlg_t alg,
                                                void *externalBuffer)
{
    bool is_csc;
    int64_t *offsets = externalBuffer;

    SPARSE_CHECK(handle, matA && matB && !alg && (externalBuffer || is_gathered(matB)));
    cusparseStatus_t status = check_dense(__func__, matB, matA);
    if (status || is_gathered(matB)) /* its blocks are the program's */
        return status;
    int sums = sums_of(sparse_type(matA->type));
    struct klib_sparse p = {.sums = (uint8_t)sums, .alpha = sparse_constant(0, sums)};
    struct klib_sparse_matrix b = sparse_matrix(matB, &is_csc);
    p.x = dense_like(matA, is_csc);
    p.c = (struct klib_sparse_matrix){.offsets = offsets, .wide_offsets = true};
    double entries = (double)matA->rows * (double)matA->cols;
    sparse_tile_rows(&p, p.x.rows, entries);
    status = sparse_run(handle, &p, KLIB_SPARSE_dense_count, p.row_tiles, entries);
    p.n[0] = p.x.rows;
    p.p[1] = &offsets[p.x.rows + 1];
    if (!status)
        status = sparse_run(handle, &p, KLIB_SPARSE_scan, 1, (double)p.x.rows);
    if (!status && matB->format != CUSPARSE_FORMAT_COO) { /* as the matrix has them */
        p.a = (struct klib_sparse_matrix){
            .offsets = offsets, .wide_offsets = true, .rows = p.x.rows, .format = KLIB_CSR};
        p.c = b;
        p.n[0] = 1;
        status = sparse_run(handle, &p, KLIB_SPARSE_copy, 1, (double)p.x.rows);
    }
    /* The program asks for the count next. */
    if (status || sparse_is_captured(handle))
        return status;
    status = sparse_status(lib_wait(&handle->base));
    if (!status)
        matB->nnz = offsets[p.x.rows + 1];
    return status;
}

cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle,
                                               cusparseConstDnMatDescr_t matA,
                                               cusparseSpMatDescr_t matB,
                                               cusparseDenseToSparseAlg_t alg, void *externalBuffer)
{
    bool is_csc;

    SPARSE_CHECK(handle, matA && matB && !alg && (externalBuffer || is_gathered(matB)));
    cusparseStatus_t status = check_dense(__func__, matB, matA);
    if (status || !matA->rows || !matA->cols)
        return status;
    int sums = sums_of(sparse_type(matA->type));
    struct klib_sparse p = {.sums = (uint8_t)sums, .alpha = sparse_constant(0, sums)};
    p.c = sparse_matrix(matB, &is_csc);
    if (!is_gathered(matB)) /* whatever the count is that the program gave */
        p.c.format = matB->format == CUSPARSE_FORMAT_COO ? KLIB_COO : KLIB_CSR;
    p.x = dense_like(matA, is_csc);
    p.b = (struct klib_sparse_matrix){.offsets = externalBuffer, .wide_offsets = true};
    double entries = (double)matA->rows * (double)matA->cols;
    sparse_tile_rows(&p, p.x.rows, entries);
    return sparse_run(handle, &p,
                      is_gathered(matB) ? KLIB_SPARSE_dense_gather : KLIB_SPARSE_dense_fill,
                      p.row_tiles, entries);
}
