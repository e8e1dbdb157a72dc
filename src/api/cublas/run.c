/* Calls of the engine's routines: arguments packed, launched in the handle's stream. */
#include "api/cublas/cublas.h"

void blas_size(struct blas_call *call, int64_t value)
{
    call->work = (call->work + 1) * (double)HD_MAX(value, 1) - 1;
    lib_call_int(&call->packed, value);
}

void blas_ints(struct blas_call *call, const int *ints, int64_t n)
{
    lib_call_stepped(&call->packed, ints, ints ? n * (int64_t)sizeof(*ints) : 0);
}

void blas_factor(struct blas_call *call, cublasHandle_t handle, const void *factor, size_t size_B)
{
    if (handle->base.pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
        lib_call_pointer(&call->packed, factor);
    else
        lib_call_value(&call->packed, factor, size_B);
}

cublasStatus_t blas_run_batch(cublasHandle_t handle, const struct blas_call *call, int64_t problems)
{
    static struct lib_kernel kernels[KLIB_ROUTINES];
    const struct klib *klib = lib_klib(&blas_info);
    uint32_t routine = call->packed.routine;

    if (!klib)
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (!problems)
        return CUBLAS_STATUS_SUCCESS;
    double work_ns = HD_MIN((call->work + 1) * (double)problems, 1e15);
    return blas_status(lib_launch(&handle->base, &kernels[routine], klib->routines[routine].name,
                                  klib->blas, &call->packed, sizeof(call->packed),
                                  (uint64_t)problems, (uint64_t)work_ns));
}

cublasStatus_t blas_run(cublasHandle_t handle, const struct blas_call *call, bool has_result)
{
    cublasStatus_t status = blas_run_batch(handle, call, 1);

    if (!status && has_result && handle->base.pointer_mode == CUBLAS_POINTER_MODE_HOST)
        status = blas_status(lib_wait(&handle->base));
    return status;
}

#include <cublas_routines.c.inc>
