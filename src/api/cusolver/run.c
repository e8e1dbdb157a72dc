/* Calls of the engine's routines: arguments packed, launched in the handle's stream. */
#include <assert.h>

#include "api/cusolver/cusolver.h"

static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};

int solver_type(cudaDataType type)
{
    for (int i = 0; i < (int)HD_COUNT_OF(types); i++)
        if (types[i] == type)
            return i;
    return -1;
}

size_t solver_size(cudaDataType type)
{
    return type == CUDA_R_32F   ? sizeof(float)
           : type == CUDA_C_64F ? 2 * sizeof(double)
                                : sizeof(double);
}

cudaDataType solver_real(cudaDataType type)
{
    return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

bool solver_is_kin(cudaDataType type, cudaDataType of)
{
    return type == of || (solver_type(type) >= 0 && solver_real(type) == of);
}

double solver_value(const void *value, cudaDataType type)
{
    return type == CUDA_R_32F ? (double)*(const float *)value : *(const double *)value;
}

cusolverStatus_t solver_no_type(const char *function)
{
    lib_error(&solver_info, "%s: types of elements that do not go together, or cannot be solved in",
              function);
    return CUSOLVER_STATUS_INVALID_VALUE;
}

void solver_size_arg(struct solver_call *call, int64_t value)
{
    call->largest = HD_MAX(call->largest, value);
    lib_call_int(&call->packed, value);
}

/*
 * Such work grows with the cube of a matrix's edge: about, it only says whether it is small. One
 * large problem may be a chain of kernels instead.
 */
cusolverStatus_t solver_run(cusolverDnHandle_t handle, const struct solver_call *call,
                            int64_t problems)
{
    static struct lib_kernel kernels[KLIB_SOLVER_ROUTINES], steps[KLIB_SOLVER_ROUTINES];
    const struct klib *klib = lib_klib(&solver_info);
    struct klib_solver_step step = {.call = call->packed};
    uint32_t routine = call->packed.routine;
    double edge = (double)call->largest + 1;
    int result = 0;

    assert(routine < KLIB_SOLVER_ROUTINES && problems >= 0);
    if (!klib)
        return CUSOLVER_STATUS_INTERNAL_ERROR;
    if (!problems)
        return CUSOLVER_STATUS_SUCCESS;
    const char *name = klib->solver->routines[routine].name;
    while (!result && problems == 1 && klib->solver->next(&step, lib_threads()))
        result = lib_launch(&handle->base, &steps[routine], name, klib->solver->step, &step,
                            sizeof(step), step.tiles, UINT64_MAX);
    if (!result && step.phase == KLIB_STEP_NONE) {
        double work_ns = HD_MIN(edge * edge * edge * (double)problems, 1e15);
        result =
            lib_launch(&handle->base, &kernels[routine], name, klib->solver->run, &call->packed,
                       sizeof(call->packed), (uint64_t)problems, (uint64_t)work_ns);
    }
    if (!result && call->waits)
        result = lib_wait(&handle->base);
    return solver_status(result);
}

#include <cusolver_routines.c.inc>
