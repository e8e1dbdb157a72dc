/* Sums of matrices in layouts: C = alpha op(A) + beta op(B). */
#include <string.h>

#include "api/cublaslt/cublaslt.h"
#include "api/lib_base/lib_compute.h"

/* Steps of op(X), m x n. False: other sizes. */
static bool place(const struct lt_layout *x, int trans, int64_t m, int64_t n, int64_t *row,
                  int64_t *column)
{
    bool by_columns = (x->order == CUBLASLT_ORDER_COL) ^ (trans != CUBLAS_OP_N);

    *row = by_columns ? 1 : x->ld;
    *column = by_columns ? x->ld : 1;
    return (int64_t)(trans == CUBLAS_OP_N ? x->rows : x->cols) == m &&
           (int64_t)(trans == CUBLAS_OP_N ? x->cols : x->rows) == n;
}

static bool has_elements(const struct lt_layout *x)
{
    switch (x->type) {
    case CUDA_R_8I:
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_64F:
        return x->order == CUBLASLT_ORDER_COL || x->order == CUBLASLT_ORDER_ROW;
    default:
        return false;
    }
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle,
                                       cublasLtMatrixTransformDesc_t transformDesc,
                                       const void *alpha, const void *A,
                                       cublasLtMatrixLayout_t Adesc, const void *beta,
                                       const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
                                       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
    static struct lib_kernel kernel;
    const struct lt_transform_desc *desc = (const struct lt_transform_desc *)transformDesc;
    const struct lt_layout *a = lt_layout(Adesc), *b = lt_layout(Bdesc), *c = lt_layout(Cdesc);
    int scale = desc ? lib_type((uint32_t)desc->scale) : -1;

    if (!lightHandle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!desc || !alpha || !A || !a || !C || !c || (B && (!b || !beta)) ||
        (unsigned)desc->transa > CUBLAS_OP_C || (unsigned)desc->transb > CUBLAS_OP_C)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__, "an argument is NULL");
    if ((unsigned)desc->pointer_mode > CUBLASLT_POINTER_MODE_DEVICE ||
        (scale != KLIB_F32 && scale != KLIB_F64 && scale != KLIB_I32 && scale != KLIB_F16))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, __func__,
                        "a pointer mode, or factors of type %d", desc->scale);
    if (!has_elements(a) || !has_elements(c) || (B && !has_elements(b)))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, __func__,
                        "orders other than COL and ROW, or a type of elements");
    struct klib_lt_transform p = {
        .a = {.address = (void *)A, .step = a->stride, .type = (uint8_t)lib_type(a->type)},
        .c = {.address = C, .step = c->stride, .type = (uint8_t)lib_type(c->type)},
        .m = (int64_t)c->rows,
        .n = (int64_t)c->cols,
        .factors = (uint8_t)scale,
        .factors_there = desc->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE};
    bool fits = place(c, CUBLAS_OP_N, p.m, p.n, &p.c.row, &p.c.column) &&
                place(a, desc->transa, p.m, p.n, &p.a.row, &p.a.column) && a->batch == c->batch;
    if (B) {
        p.b.address = (void *)B;
        p.b.step = b->stride;
        p.b.type = (uint8_t)lib_type(b->type);
        fits =
            fits && place(b, desc->transb, p.m, p.n, &p.b.row, &p.b.column) && b->batch == c->batch;
    }
    if (!fits || c->batch < 1)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__, "sizes that do not go together");
    if (!p.m || !p.n)
        return CUBLAS_STATUS_SUCCESS;
    size_t factor_B = scale == KLIB_F64 ? 8 : scale == KLIB_F16 ? 2 : 4;
    if (p.factors_there) {
        p.alpha.address = alpha;
        p.beta.address = beta;
    } else {
        memcpy(&p.alpha.value, alpha, factor_B);
        if (B)
            memcpy(&p.beta.value, beta, factor_B);
    }
    lt_log(LT_TRACE, __func__, "A=%p B=%p C=%p m=%lld n=%lld", A, B, C, (long long)p.m,
           (long long)p.n);
    const struct klib *klib = lib_klib(&lt_info);
    if (!klib)
        return CUBLAS_STATUS_INTERNAL_ERROR;
    struct lib_handle base = lt_handle(lightHandle)->base;
    base.stream = stream;
    uint64_t tiles = (uint64_t)c->batch *
                     (uint64_t)((p.n + KLIB_LT_TRANSFORM_COLUMNS - 1) / KLIB_LT_TRANSFORM_COLUMNS);
    double elements = (double)p.m * (double)p.n * c->batch;
    return blas_status(lib_launch(&base, &kernel, "lt_transform", klib->lt->transform, &p,
                                  sizeof(p), tiles, (uint64_t)(elements * 2)));
}
