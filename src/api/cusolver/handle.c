/* Handles of cuSOLVER, and objects that keep parameters. */
#include <cuda.h>
#include <pthread.h>

#include "api/cusolver/cusolver.h"
#include "base/mem.h"

#define CUDART_VERSION_OF_US 13000
#define ALL_SPECIAL_VALUES   0xffff

static const struct lib_status statuses[] = {
#define ROW(name) {CUSOLVER_STATUS_##name, "CUSOLVER_STATUS_" #name},
    ROW(SUCCESS) ROW(NOT_INITIALIZED) ROW(ALLOC_FAILED) ROW(INVALID_VALUE) ROW(EXECUTION_FAILED)
        ROW(INTERNAL_ERROR) ROW(NOT_SUPPORTED)
#undef ROW
};

const struct lib_info solver_info = {
    .name = "cuSOLVER",
    .version = {CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH},
    .cudart = CUDART_VERSION_OF_US,
    .statuses = statuses,
    .nstatuses = HD_COUNT_OF(statuses),
    .unknown = "unknown",
    .level_variable = "CUSOLVER_LOG_LEVEL",
    .destination_variable = "CUSOLVER_LOG_FILE"};

cusolverStatus_t solver_status(int cuda_result)
{
    switch (cuda_result) {
    case CUDA_SUCCESS:
        return CUSOLVER_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUSOLVER_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_SUPPORTED:
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    default:
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
}

cusolverStatus_t solver_invalid(const char *function)
{
    lib_error(&solver_info, "%s: an argument is out of range", function);
    return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
    return value && lib_property(&solver_info, (int)type, value) ? CUSOLVER_STATUS_SUCCESS
                                                                 : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverGetVersion(int *version)
{
    if (!version)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *version = CUSOLVER_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    if (!handle)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *handle = NULL;
    int result = lib_context();
    if (result)
        return solver_status(result);
    *handle = hd_new(struct cusolverDnContext);
    if (!*handle)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    lib_handle_init(&(*handle)->base, &solver_info);
    (*handle)->base.math_mode = CUSOLVER_DEFAULT_MATH;
    (*handle)->deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
    (*handle)->special_values = ALL_SPECIAL_VALUES;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    hd_free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- what a handle keeps; all of these change nothing but the stream */

#define KEPT(Name, type, member, cond)                                                             \
    cusolverStatus_t cusolverDnSet##Name(cusolverDnHandle_t handle, type value)                    \
    {                                                                                              \
        SOLVER_CHECK(handle, cond);                                                                \
        handle->member = value;                                                                    \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusolverStatus_t cusolverDnGet##Name(cusolverDnHandle_t handle, type *value)                   \
    {                                                                                              \
        SOLVER_CHECK(handle, value);                                                               \
        *value = (type)handle->member;                                                             \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }

KEPT(Stream, cudaStream_t, base.stream, true)
KEPT(DeterministicMode, cusolverDeterministicMode_t, deterministic,
     value == CUSOLVER_DETERMINISTIC_RESULTS || value == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS)
KEPT(MathMode, cusolverMathMode_t, base.math_mode, (unsigned)value < 8)
KEPT(EmulationStrategy, cudaEmulationStrategy_t, emulation, (unsigned)value < 3)
KEPT(FixedPointEmulationMantissaControl, cudaEmulationMantissaControl_t, mantissa_control,
     (unsigned)value < 2)
KEPT(FixedPointEmulationMaxMantissaBitCount, int, mantissa_max, true)
KEPT(FixedPointEmulationMantissaBitOffset, int, mantissa_offset, true)
KEPT(EmulationSpecialValuesSupport, cudaEmulationSpecialValuesSupport_t, special_values, true)

struct cusolverDnParams {
    cusolverAlgMode_t algorithms[8];
};

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    if (!params)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *params = hd_new(struct cusolverDnParams);
    return *params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    hd_free(params);
    return CUSOLVER_STATUS_SUCCESS;
}

/* There is one algorithm for each function. */
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                         cusolverAlgMode_t algo)
{
    if (!params || (unsigned)function >= HD_COUNT_OF(params->algorithms) ||
        (unsigned)algo > CUSOLVER_ALG_2)
        return solver_invalid(__func__);
    params->algorithms[function] = algo;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- gesvdj's and syevj's parameters */

/*
 * A kernel, of a graph maybe, writes the residual of what it solved after these may be destroyed:
 * it lies in memory that is never freed, but used again.
 */
struct result {
    double residual;
    struct result *next;
};

struct jacobi {
    double tolerance;
    int max_sweeps, sort;
    struct result *result;
};
struct syevjInfo {
    struct jacobi jacobi;
};
struct gesvdjInfo {
    struct jacobi jacobi;
};

static struct result *unused;
static pthread_mutex_t unused_lock = PTHREAD_MUTEX_INITIALIZER;

double *solver_residual(const void *params)
{
    return &((const struct jacobi *)params)->result->residual;
}

static cusolverStatus_t jacobi_create(void **out)
{
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    struct jacobi *jacobi = hd_new(struct jacobi);
    *out = NULL;
    if (!jacobi)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    pthread_mutex_lock(&unused_lock);
    jacobi->result = unused;
    if (unused)
        unused = unused->next;
    pthread_mutex_unlock(&unused_lock);
    if (!jacobi->result)
        jacobi->result = hd_new(struct result);
    if (!jacobi->result) {
        hd_free(jacobi);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    jacobi->result->residual = 0;
    jacobi->sort = 1;
    *out = jacobi;
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t jacobi_destroy(void *params)
{
    struct jacobi *jacobi = params;

    if (!jacobi)
        return CUSOLVER_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&unused_lock);
    jacobi->result->next = unused;
    unused = jacobi->result;
    pthread_mutex_unlock(&unused_lock);
    hd_free(jacobi);
    return CUSOLVER_STATUS_SUCCESS;
}

/* No sweeps are made: the method is LAPACK's, to the precision of the type. */
#define JACOBI(Name, name, handle_type)                                                            \
    cusolverStatus_t cusolverDnCreate##Name##Info(handle_type *info)                               \
    {                                                                                              \
        return jacobi_create((void **)info);                                                       \
    }                                                                                              \
    cusolverStatus_t cusolverDnDestroy##Name##Info(handle_type info)                               \
    {                                                                                              \
        return jacobi_destroy(info);                                                               \
    }                                                                                              \
    cusolverStatus_t cusolverDnX##name##SetTolerance(handle_type info, double tolerance)           \
    {                                                                                              \
        if (!info || !(tolerance >= 0))                                                            \
            return solver_invalid(__func__);                                                       \
        info->jacobi.tolerance = tolerance;                                                        \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusolverStatus_t cusolverDnX##name##SetMaxSweeps(handle_type info, int max_sweeps)             \
    {                                                                                              \
        if (!info || max_sweeps < 0)                                                               \
            return solver_invalid(__func__);                                                       \
        info->jacobi.max_sweeps = max_sweeps;                                                      \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusolverStatus_t cusolverDnX##name##SetSortEig(handle_type info, int sort)                     \
    {                                                                                              \
        if (!info)                                                                                 \
            return solver_invalid(__func__);                                                       \
        info->jacobi.sort = sort;                                                                  \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusolverStatus_t cusolverDnX##name##GetResidual(cusolverDnHandle_t handle, handle_type info,   \
                                                    double *residual)                              \
    {                                                                                              \
        SOLVER_CHECK(handle, info &&residual);                                                     \
        cusolverStatus_t status = solver_status(lib_wait(&handle->base));                          \
        *residual = info->jacobi.result->residual;                                                 \
        return status;                                                                             \
    }                                                                                              \
    cusolverStatus_t cusolverDnX##name##GetSweeps(cusolverDnHandle_t handle, handle_type info,     \
                                                  int *executed_sweeps)                            \
    {                                                                                              \
        SOLVER_CHECK(handle, info &&executed_sweeps);                                              \
        *executed_sweeps = 0;                                                                      \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }
JACOBI(Syevj, syevj, syevjInfo_t)
JACOBI(Gesvdj, gesvdj, gesvdjInfo_t)
