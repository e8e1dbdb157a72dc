/* Products of matrices: every front of cuBLAS's, on one kernel. */
#include <string.h>

#include "api/cublas/cublas.h"

/* What a front is given; sizes are wide here. */
struct product {
    cublasOperation_t transa, transb;
    int64_t m, n, k, lda, ldb, ldc, problems;
    const void *alpha, *beta, *a, *b;
    void *c;
    long long step_a, step_b, step_c;
    enum klib_type a_type, b_type, c_type, sums, factors;
    bool is_listed, is_pedantic;
};

/* Of a math mode; above are flags. */
#define MODE_MASK 7

static size_t factor_B(enum klib_type type)
{
    return type == KLIB_C64                       ? 16
           : type == KLIB_F64 || type == KLIB_C32 ? 8
           : type == KLIB_F16                     ? 2
                                                  : 4;
}

static cublasStatus_t multiply(cublasHandle_t handle, const struct product *p, const char *function)
{
    static struct lib_kernel kernels[] = {
        [KLIB_F32... KLIB_I32] = {.ptx = KLIB_PTX_GEMM, .threads = KLIB_PTX_GEMM_THREADS}};
    static const char *const names[] = {"sgemm", "dgemm", "cgemm", "zgemm",
                                        "hgemm", "bgemm", "igemm", "igemm"};
    char ta = lib_op(p->transa), tb = lib_op(p->transb);

    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!ta || !tb || p->m < 0 || p->n < 0 || p->k < 0 || p->problems < 0 || !p->alpha ||
        !p->beta || p->lda < HD_MAX(1, ta == 'N' ? p->m : p->k) ||
        p->ldb < HD_MAX(1, tb == 'N' ? p->k : p->n) || p->ldc < HD_MAX(1, p->m))
        return blas_invalid(function);
    lib_log(&blas_info, LIB_LEVEL_INFO, "%s", function);
    if (!p->m || !p->n || !p->problems)
        return CUBLAS_STATUS_SUCCESS;
    const struct klib *klib = lib_klib(&blas_info);
    if (!klib)
        return CUBLAS_STATUS_INTERNAL_ERROR;
    struct klib_gemm g = {
        .a = {(void *)p->a, p->lda, p->step_a, (uint8_t)p->a_type, (uint8_t)ta, p->is_listed},
        .b = {(void *)p->b, p->ldb, p->step_b, (uint8_t)p->b_type, (uint8_t)tb, p->is_listed},
        .c = {p->c, p->ldc, p->step_c, (uint8_t)p->c_type, 'N', p->is_listed},
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .sums = (uint8_t)p->sums,
        .factors = (uint8_t)p->factors,
        .factors_there = handle->base.pointer_mode == CUBLAS_POINTER_MODE_DEVICE,
        .is_pedantic =
            p->is_pedantic || (handle->base.math_mode & MODE_MASK) == CUBLAS_PEDANTIC_MATH};
    if (g.factors_there) {
        g.alpha.address = p->alpha;
        g.beta.address = p->beta;
    } else {
        memcpy(g.alpha.value, p->alpha, factor_B(p->factors));
        memcpy(g.beta.value, p->beta, factor_B(p->factors));
    }
    klib->gemm_blocks(&g, (uint64_t)p->problems, lib_threads());
    uint64_t tiles = (uint64_t)p->problems * g.row_blocks * g.column_blocks;
    return blas_status(lib_launch(&handle->base, &kernels[p->a_type], names[p->a_type], klib->gemm,
                                  &g, sizeof(g), tiles, klib->gemm_ns(&g, (uint64_t)p->problems)));
}

/* ---- fronts of one type */

#define SHAPE                                                                                      \
    .transa = transa, .transb = transb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb,            \
    .ldc = ldc, .alpha = alpha, .beta = beta
/* Where they are: one problem, arrays of addresses, steps from one problem to the next. */
#define SINGLE .a = A, .b = B, .c = C, .problems = 1
#define LISTED                                                                                     \
    .a = Aarray, .b = Barray, .c = (void *)Carray, .problems = batchCount, .is_listed = true
#define STEPPED                                                                                    \
    .a = A, .b = B, .c = C, .problems = batchCount, .step_a = strideA, .step_b = strideB,          \
    .step_c = strideC
#define ONE_TYPE(type, sum)                                                                        \
    .a_type = (type), .b_type = (type), .c_type = (type), .sums = (sum), .factors = (type)

#define GEMM(name, T, I, type, sum)                                                                \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                        I m, I n, I k, const T *alpha, const T *A, I lda, const T *B, I ldb,       \
                        const T *beta, T *C, I ldc)                                                \
    {                                                                                              \
        struct product p = {SHAPE, SINGLE, ONE_TYPE(type, sum)};                                   \
        return multiply(handle, &p, #name);                                                        \
    }
#define BATCHED(name, T, I, type, sum)                                                             \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                        I m, I n, I k, const T *alpha, const T *const Aarray[], I lda,             \
                        const T *const Barray[], I ldb, const T *beta, T *const Carray[], I ldc,   \
                        I batchCount)                                                              \
    {                                                                                              \
        struct product p = {SHAPE, LISTED, ONE_TYPE(type, sum)};                                   \
        return multiply(handle, &p, #name);                                                        \
    }
#define STRIDED(name, T, I, type, sum)                                                             \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                        I m, I n, I k, const T *alpha, const T *A, I lda, long long int strideA,   \
                        const T *B, I ldb, long long int strideB, const T *beta, T *C, I ldc,      \
                        long long int strideC, I batchCount)                                       \
    {                                                                                              \
        struct product p = {SHAPE, STEPPED, ONE_TYPE(type, sum)};                                  \
        return multiply(handle, &p, #name);                                                        \
    }
#define ALL(P, v2, T, type, sum)                                                                   \
    GEMM(cublas##P##gemm##v2, T, int, type, sum)                                                   \
    GEMM(cublas##P##gemm##v2##_64, T, int64_t, type, sum)                                          \
    BATCHED(cublas##P##gemmBatched, T, int, type, sum)                                             \
    BATCHED(cublas##P##gemmBatched_64, T, int64_t, type, sum)                                      \
    STRIDED(cublas##P##gemmStridedBatched, T, int, type, sum)                                      \
    STRIDED(cublas##P##gemmStridedBatched_64, T, int64_t, type, sum)

ALL(S, _v2, float, KLIB_F32, KLIB_F32)
ALL(D, _v2, double, KLIB_F64, KLIB_F64)
ALL(C, _v2, cuComplex, KLIB_C32, KLIB_C32)
ALL(Z, _v2, cuDoubleComplex, KLIB_C64, KLIB_C64)
ALL(H, , __half, KLIB_F16, KLIB_F32)
/* Three real products for four: here it is the product itself, which is more exact. */
GEMM(cublasCgemm3m, cuComplex, int, KLIB_C32, KLIB_C32)
GEMM(cublasCgemm3m_64, cuComplex, int64_t, KLIB_C32, KLIB_C32)
GEMM(cublasZgemm3m, cuDoubleComplex, int, KLIB_C64, KLIB_C64)
GEMM(cublasZgemm3m_64, cuDoubleComplex, int64_t, KLIB_C64, KLIB_C64)
BATCHED(cublasCgemm3mBatched, cuComplex, int, KLIB_C32, KLIB_C32)
BATCHED(cublasCgemm3mBatched_64, cuComplex, int64_t, KLIB_C32, KLIB_C32)
STRIDED(cublasCgemm3mStridedBatched, cuComplex, int, KLIB_C32, KLIB_C32)
STRIDED(cublasCgemm3mStridedBatched_64, cuComplex, int64_t, KLIB_C32, KLIB_C32)

/* ---- fronts whose types are arguments */

#define ANY_SUMS (~0u)

/*
 * What a compute type and types of elements go together as; the documentation's table of
 * cublasGemmEx() and what it allows of A with C. `sums`: bits of the types of sums a function may
 * have. False: no such combination, which the log says.
 */
static bool set_types(struct product *p, cudaDataType a, cudaDataType b, cudaDataType c,
                      cublasComputeType_t compute, unsigned sums, const char *function)
{
    static const struct {
        cudaDataType ab, c;
        enum klib_type ab_type, c_type, sums;
    } rows[] = {
        {CUDA_R_32F, CUDA_R_32F, KLIB_F32, KLIB_F32, KLIB_F32},
        {CUDA_R_16F, CUDA_R_16F, KLIB_F16, KLIB_F16, KLIB_F32},
        {CUDA_R_16F, CUDA_R_32F, KLIB_F16, KLIB_F32, KLIB_F32},
        {CUDA_R_16BF, CUDA_R_16BF, KLIB_BF16, KLIB_BF16, KLIB_F32},
        {CUDA_R_16BF, CUDA_R_32F, KLIB_BF16, KLIB_F32, KLIB_F32},
        {CUDA_R_8I, CUDA_R_32F, KLIB_I8, KLIB_F32, KLIB_F32},
        {CUDA_R_8I, CUDA_R_32I, KLIB_I8, KLIB_I32, KLIB_I32},
        {CUDA_R_64F, CUDA_R_64F, KLIB_F64, KLIB_F64, KLIB_F64},
        {CUDA_C_32F, CUDA_C_32F, KLIB_C32, KLIB_C32, KLIB_C32},
        {CUDA_C_64F, CUDA_C_64F, KLIB_C64, KLIB_C64, KLIB_C64},
    };
    bool halves = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
    bool whole = compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC;
    bool doubles = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ||
                   compute == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT;

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        if (a != rows[i].ab || b != a || c != rows[i].c)
            continue;
        if (whole != (rows[i].sums == KLIB_I32) ||
            doubles != (rows[i].sums == KLIB_F64 || rows[i].sums == KLIB_C64) ||
            (halves && rows[i].c_type != KLIB_F16) || !(sums >> rows[i].sums & 1))
            break;
        p->a_type = p->b_type = rows[i].ab_type;
        p->c_type = rows[i].c_type;
        p->sums = rows[i].sums;
        p->factors = halves ? KLIB_F16 : rows[i].sums;
        p->is_pedantic =
            compute == CUBLAS_COMPUTE_16F_PEDANTIC || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
        return true;
    }
    lib_error(&blas_info, "%s: no product of types %d and %d to %d in compute type %d", function,
              (int)a, (int)b, (int)c, (int)compute);
    return false;
}

static cublasStatus_t multiply_types(cublasHandle_t handle, struct product *p, cudaDataType a,
                                     cudaDataType b, cudaDataType c, cublasComputeType_t compute,
                                     unsigned sums, const char *function)
{
    if (handle && !set_types(p, a, b, c, compute, sums, function))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return multiply(handle, p, function);
}

#define EX(name, I)                                                                                \
    cublasStatus_t cublasGemmEx##name(                                                             \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,  \
        const void *alpha, const void *A, cudaDataType Atype, I lda, const void *B,                \
        cudaDataType Btype, I ldb, const void *beta, void *C, cudaDataType Ctype, I ldc,           \
        cublasComputeType_t computeType, cublasGemmAlgo_t algo)                                    \
    {                                                                                              \
        struct product p = {SHAPE, SINGLE};                                                        \
        (void)algo;                                                                                \
        return multiply_types(handle, &p, Atype, Btype, Ctype, computeType, ANY_SUMS, __func__);   \
    }                                                                                              \
    cublasStatus_t cublasGemmBatchedEx##name(                                                      \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,  \
        const void *alpha, const void *const Aarray[], cudaDataType Atype, I lda,                  \
        const void *const Barray[], cudaDataType Btype, I ldb, const void *beta,                   \
        void *const Carray[], cudaDataType Ctype, I ldc, I batchCount,                             \
        cublasComputeType_t computeType, cublasGemmAlgo_t algo)                                    \
    {                                                                                              \
        struct product p = {SHAPE, LISTED};                                                        \
        (void)algo;                                                                                \
        return multiply_types(handle, &p, Atype, Btype, Ctype, computeType, ANY_SUMS, __func__);   \
    }                                                                                              \
    cublasStatus_t cublasGemmStridedBatchedEx##name(                                               \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,  \
        const void *alpha, const void *A, cudaDataType Atype, I lda, long long int strideA,        \
        const void *B, cudaDataType Btype, I ldb, long long int strideB, const void *beta,         \
        void *C, cudaDataType Ctype, I ldc, long long int strideC, I batchCount,                   \
        cublasComputeType_t computeType, cublasGemmAlgo_t algo)                                    \
    {                                                                                              \
        struct product p = {SHAPE, STEPPED};                                                       \
        (void)algo;                                                                                \
        return multiply_types(handle, &p, Atype, Btype, Ctype, computeType, ANY_SUMS, __func__);   \
    }
EX(, int)
EX(_64, int64_t)

/* Sums of floats, and of complex ones: of any types of elements that go with these. */
#define EX_OF(name, T, I, sum)                                                                     \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                        I m, I n, I k, const T *alpha, const void *A, cudaDataType Atype, I lda,   \
                        const void *B, cudaDataType Btype, I ldb, const T *beta, void *C,          \
                        cudaDataType Ctype, I ldc)                                                 \
    {                                                                                              \
        struct product p = {SHAPE, SINGLE};                                                        \
        return multiply_types(handle, &p, Atype, Btype, Ctype, CUBLAS_COMPUTE_32F, 1u << (sum),    \
                              #name);                                                              \
    }
EX_OF(cublasSgemmEx, float, int, KLIB_F32)
EX_OF(cublasSgemmEx_64, float, int64_t, KLIB_F32)
EX_OF(cublasCgemmEx, cuComplex, int, KLIB_C32)
EX_OF(cublasCgemmEx_64, cuComplex, int64_t, KLIB_C32)
EX_OF(cublasCgemm3mEx, cuComplex, int, KLIB_C32)
EX_OF(cublasCgemm3mEx_64, cuComplex, int64_t, KLIB_C32)

/*
 * Groups: each of one shape, with factors of the host's; the arrays of addresses of all groups are
 * one after another, and at the device.
 */
#define GROUPED(I, groups, sizes)                                                                  \
    if (!handle)                                                                                   \
        return CUBLAS_STATUS_NOT_INITIALIZED;                                                      \
    if ((groups) < 0 || ((groups) && (!(sizes) || !Aarray || !Barray || !Carray)))                 \
        return blas_invalid(__func__);                                                             \
    for (I i = 0, first = 0; i < (groups); first += (sizes)[i], i++)

#define GROUPED_OF(name, T, I, type)                                                               \
    cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa_array[],             \
                        const cublasOperation_t transb_array[], const I m_array[],                 \
                        const I n_array[], const I k_array[], const T alpha_array[],               \
                        const T *const Aarray[], const I lda_array[], const T *const Barray[],     \
                        const I ldb_array[], const T beta_array[], T *const Carray[],              \
                        const I ldc_array[], I group_count, const I group_size[])                  \
    {                                                                                              \
        GROUPED(I, group_count, group_size)                                                        \
        {                                                                                          \
            struct product p = {GROUP(i), .alpha = &alpha_array[i], .beta = &beta_array[i],        \
                                ONE_TYPE(type, type)};                                             \
            cublasStatus_t status = multiply(handle, &p, #name);                                   \
            if (status)                                                                            \
                return status;                                                                     \
        }                                                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
#define GROUP(i)                                                                                   \
    .transa = transa_array[i], .transb = transb_array[i], .m = m_array[i], .n = n_array[i],        \
    .k = k_array[i], .lda = lda_array[i], .ldb = ldb_array[i], .ldc = ldc_array[i],                \
    .a = Aarray + first, .b = Barray + first, .c = (void *)(Carray + first),                       \
    .problems = group_size[i], .is_listed = true
GROUPED_OF(cublasSgemmGroupedBatched, float, int, KLIB_F32)
GROUPED_OF(cublasSgemmGroupedBatched_64, float, int64_t, KLIB_F32)
GROUPED_OF(cublasDgemmGroupedBatched, double, int, KLIB_F64)
GROUPED_OF(cublasDgemmGroupedBatched_64, double, int64_t, KLIB_F64)

#define GROUPED_EX(name, I)                                                                        \
    cublasStatus_t name(                                                                           \
        cublasHandle_t handle, const cublasOperation_t transa_array[],                             \
        const cublasOperation_t transb_array[], const I m_array[], const I n_array[],              \
        const I k_array[], const void *alpha_array, const void *const Aarray[],                    \
        cudaDataType Atype, const I lda_array[], const void *const Barray[], cudaDataType Btype,   \
        const I ldb_array[], const void *beta_array, void *const Carray[], cudaDataType Ctype,     \
        const I ldc_array[], I group_count, const I group_size[], cublasComputeType_t computeType) \
    {                                                                                              \
        GROUPED(I, group_count, group_size)                                                        \
        {                                                                                          \
            struct product p = {GROUP(i)};                                                         \
            if (!set_types(&p, Atype, Btype, Ctype, computeType, ANY_SUMS, #name))                 \
                return CUBLAS_STATUS_NOT_SUPPORTED;                                                \
            p.alpha = (const char *)alpha_array + (size_t)i * factor_B(p.factors);                 \
            p.beta = (const char *)beta_array + (size_t)i * factor_B(p.factors);                   \
            cublasStatus_t status = multiply(handle, &p, #name);                                   \
            if (status)                                                                            \
                return status;                                                                     \
        }                                                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)
