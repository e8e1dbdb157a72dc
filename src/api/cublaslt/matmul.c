/* Products: a plan, addresses and factors, launched in the caller's stream. */
#include <cuda.h>
#include <string.h>

#include "api/cublaslt/cublaslt.h"

static size_t factor_B(uint8_t type)
{
    return type == KLIB_C64                       ? 16
           : type == KLIB_F64 || type == KLIB_C32 ? 8
           : type == KLIB_F16                     ? 2
                                                  : 4;
}

/* alpha and beta as the pointer mode has them. */
static void put_factors(struct klib_lt_matmul *p, int mode, const void *alpha, const void *beta)
{
    p->alpha_vector = mode >= CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    p->beta_vector = mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
    p->alpha_there = p->beta_there = mode == CUBLASLT_POINTER_MODE_DEVICE;
    if (p->alpha_there || p->alpha_vector)
        p->g.alpha.address = alpha;
    else
        memcpy(p->g.alpha.value, alpha, factor_B(p->g.factors));
    if (p->beta_there || p->beta_vector)
        p->g.beta.address = beta;
    else if (mode != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO)
        memcpy(p->g.beta.value, beta, factor_B(p->g.factors));
}

static bool beta_is_zero(const struct klib_lt_matmul *p)
{
    static const double zero[2];

    return !p->beta_there && !p->beta_vector &&
           !memcmp(p->g.beta.value, zero, factor_B(p->g.factors));
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
                              const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
                              const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspaceSizeInBytes, cudaStream_t stream)
{
    static struct lib_kernel kernels[KLIB_E2M1 + 1];
    static const char *const names[] = {"lt_sgemm",  "lt_dgemm",  "lt_cgemm", "lt_zgemm",
                                        "lt_hgemm",  "lt_bgemm",  "lt_igemm", "lt_igemm",
                                        "lt_f8gemm", "lt_f8gemm", "lt_f4gemm"};
    const struct lt_desc *desc = (const struct lt_desc *)computeDesc;
    struct klib_lt_matmul p;
    uint64_t problems;

    if (!lightHandle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!desc || !Adesc || !Bdesc || !Cdesc || !Ddesc || !alpha ||
        (!beta && desc->pointer_mode != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) ||
        (!workspace && workspaceSizeInBytes))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__, "an argument is NULL");
    /* An algorithm of another library's, or of none: as if none were given. */
    if (algo && ((const struct lt_algo *)algo)->magic != LT_ALGO)
        lt_log(LT_HINT, __func__, "the algorithm is not one of cublasLtMatmulAlgoInit()");
    cublasStatus_t status = lt_plan(desc, lt_layout(Adesc), lt_layout(Bdesc), lt_layout(Cdesc),
                                    lt_layout(Ddesc), __func__, &p, &problems);
    if (status || !problems)
        return status;
    put_factors(&p, desc->pointer_mode, alpha, beta);
    if (!D || (p.g.k && (!A || !B)) || (!C && !beta_is_zero(&p)))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__, "a matrix is NULL");
    if (C == D && !beta_is_zero(&p) &&
        (p.c.ld != p.g.c.ld || p.c.step != p.g.c.step || p.c.type != p.g.c.type))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__,
                        "C is D, with another type, leading dimension or stride");
    p.g.a.address = (void *)(p.is_turned ? B : A);
    p.g.b.address = (void *)(p.is_turned ? A : B);
    p.c.address = (void *)C;
    p.g.c.address = D;
    lt_log(LT_TRACE, __func__, "A=%p B=%p C=%p D=%p m=%lld n=%lld k=%lld batch=%llu epilogue=%u", A,
           B, C, D, (long long)p.g.m, (long long)p.g.n, (long long)p.g.k,
           (unsigned long long)problems, desc->epilogue);

    const struct klib *klib = lib_klib(&lt_info);
    if (!klib)
        return CUBLAS_STATUS_INTERNAL_ERROR;
    struct lib_handle base = lt_handle(lightHandle)->base;
    base.stream = stream;
    int result = lib_context();
    /* How many bits an emulation kept: there is none. */
    const struct lt_emulation *emulation = desc->emulation;
    if (!result && emulation && emulation->bits_used)
        result = cuMemsetD32Async((CUdeviceptr)emulation->bits_used, UINT32_MAX, 1, stream);
    /* Blocks raise it. */
    if (!result && p.d_amax)
        result = cuMemsetD32Async((CUdeviceptr)p.d_amax, 0, 1, stream);
    if (!result && p.aux_amax)
        result = cuMemsetD32Async((CUdeviceptr)p.aux_amax, 0, 1, stream);
    if (!result) {
        uint64_t tiles = klib->lt->blocks(&p, problems, lib_threads());
        result = lib_launch(&base, &kernels[p.g.a.type], names[p.g.a.type], klib->lt->matmul, &p,
                            sizeof(p), tiles, klib->gemm_ns(&p.g, problems));
    }
    return blas_status(result);
}
