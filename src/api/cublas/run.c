/* Calls of the engine's routines: arguments packed, launched in the handle's stream. */
#include <assert.h>
#include <string.h>

#include "api/cublas/cublas.h"

static struct klib_arg *next(struct blas_call *call, enum klib_where where)
{
    struct klib_call *packed = &call->packed;

    assert(packed->nargs < KLIB_ARGS);
    packed->where[packed->nargs] = (uint8_t)where;
    return &packed->args[packed->nargs++];
}

void blas_int(struct blas_call *call, int64_t value)
{
    next(call, KLIB_HERE)->v.number = value;
}

void blas_size(struct blas_call *call, int64_t value)
{
    call->work = (call->work + 1) * (double)HD_MAX(value, 1) - 1;
    blas_int(call, value);
}

void blas_char(struct blas_call *call, char letter)
{
    next(call, KLIB_HERE)->v.letter = letter;
}

void blas_pointer(struct blas_call *call, const void *address)
{
    next(call, KLIB_THERE)->v.address = (void *)address;
}

void blas_listed(struct blas_call *call, const void *addresses)
{
    next(call, KLIB_LISTED)->v.address = (void *)addresses;
}

void blas_stepped(struct blas_call *call, const void *address, int64_t step_B)
{
    struct klib_arg *arg = next(call, KLIB_STEPS);

    arg->v.address = (void *)address;
    arg->step = step_B;
}

void blas_ints(struct blas_call *call, const int *ints, int64_t n)
{
    if (ints)
        blas_stepped(call, ints, n * (int64_t)sizeof(*ints));
    else
        blas_pointer(call, NULL);
}

void blas_factor(struct blas_call *call, cublasHandle_t handle, const void *factor, size_t size_B)
{
    if (handle->base.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        blas_pointer(call, factor);
    } else if (size_B <= sizeof(call->packed.args[0].v)) {
        memcpy(&next(call, KLIB_HERE)->v, factor, size_B);
    } else {
        assert(size_B <= sizeof(call->packed.more));
        (void)next(call, KLIB_MORE);
        memcpy(call->packed.more, factor, size_B);
    }
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
