/*
 * Products and sums of sparse matrices. Offsets of the result are counted into the program's
 * buffer, as int64_t; the host waits for their sum, which says how large the next buffer is.
 */
#include "api/cusparse/sparse.h"
#include "base/mem.h"

struct cusparseSpGEMMDescr {
    int64_t products, nnz; /* of the result */
    int64_t *offsets;      /* in a buffer; then their sum, then products by tiles */
    char *entries;         /* in another one: columns as int64_t, then values */
};
struct cusparseSpGEAMDescr {
    int64_t *offsets;
};

#define DESCRIPTOR(SpGEMM)                                                                         \
    cusparseStatus_t cusparse##SpGEMM##_createDescr(cusparse##SpGEMM##Descr_t *descr)              \
    {                                                                                              \
        if (!descr)                                                                                \
            return sparse_invalid(__func__);                                                       \
        *descr = hd_new(struct cusparse##SpGEMM##Descr);                                           \
        return *descr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;                    \
    }                                                                                              \
    cusparseStatus_t cusparse##SpGEMM##_destroyDescr(cusparse##SpGEMM##Descr_t descr)              \
    {                                                                                              \
        hd_free(descr);                                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
DESCRIPTOR(SpGEMM)
DESCRIPTOR(SpGEAM)

static int sums_of(cudaDataType type)
{
    int t = sparse_type(type);
    return t == KLIB_F16 || t == KLIB_BF16 ? KLIB_F32 : t > KLIB_C64 ? -1 : t;
}

/* The operands of both: CSR, as they are, of one type. */
static cusparseStatus_t check(const char *function, cusparseOperation_t op_a,
                              cusparseOperation_t op_b, cusparseConstSpMatDescr_t a,
                              cusparseConstSpMatDescr_t b, cusparseConstSpMatDescr_t c)
{
    if (op_a || op_b || a->format != CUSPARSE_FORMAT_CSR || b->format != CUSPARSE_FORMAT_CSR ||
        c->format != CUSPARSE_FORMAT_CSR)
        return sparse_unsupported(function, "it for transposed matrices, or other than CSR");
    if (sums_of(a->type) < 0 || a->type != b->type || a->type != c->type)
        return sparse_unsupported(function, "matrices of these types");
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t check_product(const char *function, cusparseOperation_t op_a,
                                      cusparseOperation_t op_b, cusparseConstSpMatDescr_t a,
                                      cusparseConstSpMatDescr_t b, cusparseConstSpMatDescr_t c)
{
    if (a->cols != b->rows || c->rows != a->rows || c->cols != b->cols)
        return sparse_invalid(function);
    return check(function, op_a, op_b, a, b, c);
}

/* The result's offsets in the buffer. */
static struct klib_sparse_matrix counted(cusparseConstSpMatDescr_t c, int64_t *offsets)
{
    return (struct klib_sparse_matrix){.offsets = offsets,
                                       .wide_offsets = true,
                                       .wide_columns = true,
                                       .rows = c->rows,
                                       .cols = c->cols,
                                       .type = (uint8_t)sparse_type(c->type),
                                       .format = KLIB_CSR};
}

static size_t counts_B(cusparseConstSpMatDescr_t a)
{
    return ((size_t)a->rows + 2 + 8 * lib_threads()) * sizeof(int64_t);
}

static cusparseStatus_t too_large(const char *function)
{
    lib_error(&sparse_info, "%s: the product is too large for this algorithm or these indices",
              function);
    return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
}

static cusparseStatus_t count(cusparseHandle_t handle, const char *function,
                              cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                              cusparseConstSpMatDescr_t c, cusparseSpGEMMAlg_t alg,
                              cusparseSpGEMMDescr_t descr, void *buffer)
{
    bool is_csc, is_lean = alg == CUSPARSE_SPGEMM_ALG2 || alg == CUSPARSE_SPGEMM_ALG3;
    int64_t *offsets = buffer, *products = offsets + a->rows + 2;
    struct klib_sparse p = {.a = sparse_matrix(a, &is_csc),
                            .b = sparse_matrix(b, &is_csc),
                            .c = counted(c, offsets),
                            .p = {products}};
    double entries = (double)a->nnz + (double)a->rows;

    descr->offsets = NULL;
    descr->products = 0;
    sparse_tile_rows(&p, a->rows, entries);
    cusparseStatus_t status = sparse_run(handle, &p, KLIB_SPARSE_count_work, p.row_tiles, entries);
    if (!status)
        status = sparse_wait(handle, function);
    for (uint32_t t = 0; !status && t < p.row_tiles; t++)
        descr->products += products[t];
    if (!status && !is_lean && descr->products > INT32_MAX) /* as documented */
        status = too_large(function);
    if (status)
        return status;
    entries = 2 * (double)descr->products + (double)a->nnz + (double)b->cols;
    p.p[0] = NULL;
    p.p[1] = &offsets[a->rows + 1];
    p.n[0] = a->rows;
    sparse_tile_rows(&p, a->rows, entries);
    status = sparse_run(handle, &p, KLIB_SPARSE_count_products, p.row_tiles, entries);
    if (!status)
        status = sparse_run(handle, &p, KLIB_SPARSE_scan, 1, (double)a->rows);
    if (!status)
        status = sparse_wait(handle, function);
    if (!status && c->offsets_type == CUSPARSE_INDEX_32I && offsets[a->rows + 1] > INT32_MAX)
        status = too_large(function);
    if (status)
        return status;
    descr->offsets = offsets;
    descr->nnz = offsets[a->rows + 1];
    return CUSPARSE_STATUS_SUCCESS;
}

/* The kernel of products, in tiles by rows of a. */
static cusparseStatus_t compute(cusparseHandle_t handle, struct klib_sparse *p,
                                cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                int64_t products)
{
    bool is_csc;
    double entries = 8 * (double)products + (double)a->nnz + (double)b->cols;

    p->a = sparse_matrix(a, &is_csc);
    p->b = sparse_matrix(b, &is_csc);
    sparse_tile_rows(p, a->rows, entries);
    return sparse_run(handle, p, KLIB_SPARSE_spgemm, p->row_tiles, entries);
}

cusparseStatus_t cusparseSpGEMM_workEstimation(HEDDLE_CUSPARSE_SPGEMM, size_t *bufferSize1,
                                               void *externalBuffer1)
{
    (void)computeType;
    SPARSE_CHECK(handle, alpha && matA && matB && beta && matC && spgemmDescr && bufferSize1 &&
                             (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    if (status || externalBuffer1)
        return status
                   ? status
                   : count(handle, __func__, matA, matB, matC, alg, spgemmDescr, externalBuffer1);
    *bufferSize1 = counts_B(matA);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t spgemmDescr,
                                               int64_t *num_prods)
{
    if (!spgemmDescr || !num_prods)
        return sparse_invalid(__func__);
    *num_prods = spgemmDescr->products;
    return CUSPARSE_STATUS_SUCCESS;
}

static size_t entries_B(cusparseConstSpMatDescr_t c, cusparseSpGEMMDescr_t descr)
{
    return SOME_B + (size_t)descr->nnz * (sizeof(int64_t) + sparse_size_B(sparse_type(c->type)));
}

/* The result is made as a whole, whatever fraction the program would have it in. */
cusparseStatus_t cusparseSpGEMM_estimateMemory(HEDDLE_CUSPARSE_SPGEMM, float chunk_fraction,
                                               size_t *bufferSize3, void *externalBuffer3,
                                               size_t *bufferSize2)
{
    (void)computeType;
    SPARSE_CHECK(handle, alpha && matA && matB && beta && matC && spgemmDescr && bufferSize3 &&
                             spgemmDescr->offsets && chunk_fraction > 0 && chunk_fraction <= 1);
    if (alg != CUSPARSE_SPGEMM_ALG2 && alg != CUSPARSE_SPGEMM_ALG3)
        return sparse_unsupported(__func__, "an estimate for this algorithm");
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    if (status)
        return status;
    *bufferSize3 = SOME_B;
    if (externalBuffer3 && bufferSize2)
        *bufferSize2 = entries_B(matC, spgemmDescr);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_compute(HEDDLE_CUSPARSE_SPGEMM, size_t *bufferSize2,
                                        void *externalBuffer2)
{
    SPARSE_CHECK(handle, alpha && matA && matB && beta && matC && spgemmDescr && bufferSize2 &&
                             spgemmDescr->offsets && (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    int sums = sums_of(matC->type);
    if (!status && sparse_type(computeType) != sums)
        status = sparse_unsupported(__func__, "sums of this type");
    if (status)
        return status;
    *bufferSize2 = entries_B(matC, spgemmDescr);
    if (!externalBuffer2)
        return CUSPARSE_STATUS_SUCCESS;
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .alpha = sparse_factor(handle, alpha, sums),
                            .c = counted(matC, spgemmDescr->offsets)};
    spgemmDescr->entries = externalBuffer2;
    p.c.columns = spgemmDescr->entries;
    p.c.values = spgemmDescr->entries + spgemmDescr->nnz * (int64_t)sizeof(int64_t);
    matC->nnz = spgemmDescr->nnz;
    return compute(handle, &p, matA, matB, spgemmDescr->products);
}

/* beta: with values of before, where the program has put them. */
cusparseStatus_t cusparseSpGEMM_copy(HEDDLE_CUSPARSE_SPGEMM)
{
    bool is_csc;

    (void)computeType;
    SPARSE_CHECK(handle, alpha && matA && matB && beta && matC && spgemmDescr &&
                             spgemmDescr->entries && (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    if (status)
        return status;
    int sums = sums_of(matC->type);
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .beta = sparse_factor(handle, beta, sums),
                            .a = counted(matC, spgemmDescr->offsets)};
    p.c = sparse_matrix(matC, &is_csc);
    p.a.columns = spgemmDescr->entries;
    p.a.values = spgemmDescr->entries + spgemmDescr->nnz * (int64_t)sizeof(int64_t);
    double entries = (double)spgemmDescr->nnz + (double)matC->rows;
    sparse_tile_rows(&p, matC->rows, entries);
    return sparse_run(handle, &p, KLIB_SPARSE_copy, p.row_tiles, entries);
}

/* ---- with a pattern that is kept for other values */

cusparseStatus_t cusparseSpGEMMreuse_workEstimation(HEDDLE_CUSPARSE_SPGEMM_REUSE,
                                                    size_t *bufferSize1, void *externalBuffer1)
{
    SPARSE_CHECK(handle, matA && matB && matC && spgemmDescr && bufferSize1 &&
                             (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    if (!externalBuffer1)
        *bufferSize1 = SOME_B;
    return check_product(__func__, opA, opB, matA, matB, matC);
}

/* Counts are in the fourth buffer: it is what lives until the pattern is copied. */
cusparseStatus_t cusparseSpGEMMreuse_nnz(HEDDLE_CUSPARSE_SPGEMM_REUSE, size_t *bufferSize2,
                                         void *externalBuffer2, size_t *bufferSize3,
                                         void *externalBuffer3, size_t *bufferSize4,
                                         void *externalBuffer4)
{
    (void)externalBuffer2;
    (void)externalBuffer3;
    SPARSE_CHECK(handle, matA && matB && matC && spgemmDescr && bufferSize2 && bufferSize3 &&
                             bufferSize4 && (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    if (!status && externalBuffer4) {
        status = count(handle, __func__, matA, matB, matC, alg, spgemmDescr, externalBuffer4);
        if (!status)
            matC->nnz = spgemmDescr->nnz;
        return status;
    }
    *bufferSize2 = *bufferSize3 = SOME_B;
    *bufferSize4 = counts_B(matA);
    return status;
}

static cusparseStatus_t copy_offsets(cusparseHandle_t handle, cusparseConstSpMatDescr_t c,
                                     int64_t *offsets)
{
    bool is_csc;
    struct klib_sparse p = {.a = counted(c, offsets), .c = sparse_matrix(c, &is_csc), .n = {1}};

    sparse_tile_rows(&p, c->rows, (double)c->rows);
    return sparse_run(handle, &p, KLIB_SPARSE_copy, p.row_tiles, (double)c->rows);
}

cusparseStatus_t cusparseSpGEMMreuse_copy(HEDDLE_CUSPARSE_SPGEMM_REUSE, size_t *bufferSize5,
                                          void *externalBuffer5)
{
    bool is_csc;

    SPARSE_CHECK(handle, matA && matB && matC && spgemmDescr && bufferSize5 &&
                             spgemmDescr->offsets && (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    if (status)
        return status;
    *bufferSize5 = SOME_B;
    if (!externalBuffer5)
        return CUSPARSE_STATUS_SUCCESS;
    status = copy_offsets(handle, matC, spgemmDescr->offsets);
    struct klib_sparse p = {.c = sparse_matrix(matC, &is_csc), .n = {0, 0, 1}};
    return status ? status : compute(handle, &p, matA, matB, spgemmDescr->products);
}

cusparseStatus_t cusparseSpGEMMreuse_compute(HEDDLE_CUSPARSE_SPGEMM)
{
    bool is_csc;

    SPARSE_CHECK(handle, alpha && matA && matB && beta && matC && spgemmDescr &&
                             spgemmDescr->offsets && (unsigned)alg <= CUSPARSE_SPGEMM_ALG3);
    cusparseStatus_t status = check_product(__func__, opA, opB, matA, matB, matC);
    int sums = sums_of(matC->type);
    if (!status && sparse_type(computeType) != sums)
        status = sparse_unsupported(__func__, "sums of this type");
    if (status)
        return status;
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .alpha = sparse_factor(handle, alpha, sums),
                            .beta = sparse_factor(handle, beta, sums),
                            .c = sparse_matrix(matC, &is_csc),
                            .n = {1, 1}};
    return compute(handle, &p, matA, matB, spgemmDescr->products);
}

/* ---- sums */

static cusparseStatus_t check_sum(const char *function, cusparseOperation_t op_a,
                                  cusparseOperation_t op_b, cusparseConstSpMatDescr_t a,
                                  cusparseConstSpMatDescr_t b, cusparseConstSpMatDescr_t c)
{
    if (a->rows != b->rows || a->cols != b->cols || c->rows != a->rows || c->cols != a->cols)
        return sparse_invalid(function);
    return check(function, op_a, op_b, a, b, c);
}

cusparseStatus_t cusparseSpGEAM_bufferSize(HEDDLE_CUSPARSE_SPGEAM, size_t *bufferSize)
{
    (void)computeType;
    SPARSE_CHECK(handle, alpha && matA && beta && matB && matC && spgeamDescr && bufferSize &&
                             (unsigned)alg <= CUSPARSE_SPGEAM_ALG1);
    *bufferSize = ((size_t)matA->rows + 2) * sizeof(int64_t);
    return check_sum(__func__, opA, opB, matA, matB, matC);
}

cusparseStatus_t cusparseSpGEAM_nnz(HEDDLE_CUSPARSE_SPGEAM, void *externalBuffer)
{
    bool is_csc;
    int64_t *offsets = externalBuffer;

    (void)computeType;
    SPARSE_CHECK(handle, alpha && matA && beta && matB && matC && spgeamDescr && externalBuffer &&
                             (unsigned)alg <= CUSPARSE_SPGEAM_ALG1);
    cusparseStatus_t status = check_sum(__func__, opA, opB, matA, matB, matC);
    struct klib_sparse p = {.c = counted(matC, offsets), .p = {NULL, &offsets[matA->rows + 1]}};
    if (status)
        return status;
    p.a = sparse_matrix(matA, &is_csc);
    p.b = sparse_matrix(matB, &is_csc);
    spgeamDescr->offsets = offsets;
    double entries = (double)matA->nnz + (double)matB->nnz + (double)matA->rows;
    sparse_tile_rows(&p, matA->rows, entries);
    status = sparse_run(handle, &p, KLIB_SPARSE_count_sum, p.row_tiles, entries);
    p.n[0] = matA->rows;
    if (!status)
        status = sparse_run(handle, &p, KLIB_SPARSE_scan, 1, (double)matA->rows);
    if (!status)
        status = sparse_wait(handle, __func__);
    if (!status)
        matC->nnz = offsets[matA->rows + 1];
    return status;
}

cusparseStatus_t cusparseSpGEAM(HEDDLE_CUSPARSE_SPGEAM, void *externalBuffer)
{
    bool is_csc;

    (void)externalBuffer;
    SPARSE_CHECK(handle, alpha && matA && beta && matB && matC && spgeamDescr &&
                             spgeamDescr->offsets && (unsigned)alg <= CUSPARSE_SPGEAM_ALG1);
    cusparseStatus_t status = check_sum(__func__, opA, opB, matA, matB, matC);
    int sums = sums_of(matC->type);
    if (!status && sparse_type(computeType) != sums)
        status = sparse_unsupported(__func__, "sums of this type");
    if (!status)
        status = copy_offsets(handle, matC, spgeamDescr->offsets);
    if (status)
        return status;
    struct klib_sparse p = {.sums = (uint8_t)sums,
                            .alpha = sparse_factor(handle, alpha, sums),
                            .beta = sparse_factor(handle, beta, sums)};
    p.a = sparse_matrix(matA, &is_csc);
    p.b = sparse_matrix(matB, &is_csc);
    p.c = sparse_matrix(matC, &is_csc);
    double entries = (double)matA->nnz + (double)matB->nnz + (double)matA->rows;
    sparse_tile_rows(&p, matA->rows, entries);
    return sparse_run(handle, &p, KLIB_SPARSE_geam, p.row_tiles, entries);
}
