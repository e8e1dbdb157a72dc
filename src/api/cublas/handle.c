/* Handles of cuBLAS: versions, modes, the log. */
#include <stdio.h>
#include <string.h>

#include "api/cublas/cublas.h"
#include "base/log.h"

const struct lib_info blas_info = {
    .name = "cuBLAS",
    .version = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH},
    .cudart = BLAS_CUDART_VERSION,
    .statuses = blas_statuses,
    .nstatuses = BLAS_STATUSES,
    .unknown = "unknown",
    .level_variable = "CUBLAS_LOGINFO_DBG",
    .destination_variable = "CUBLAS_LOGDEST_DBG"};

cublasStatus_t blas_invalid(const char *function)
{
    lib_error(&blas_info, "%s: an argument is out of range", function);
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    return blas_context_create(handle, &blas_info);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    return blas_context_destroy(handle);
}

/* Programs ask for the version with a handle, and without one. */
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle;
    if (!version)
        return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    return value && lib_property(&blas_info, (int)type, value) ? CUBLAS_STATUS_SUCCESS
                                                               : CUBLAS_STATUS_INVALID_VALUE;
}

size_t cublasGetCudartVersion(void)
{
    return BLAS_CUDART_VERSION;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return lib_status_name(&blas_info, (int)status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return blas_status_text(status);
}

/* ---- what a handle keeps */

/* Setters that take any value, and getters. */
#define KEPT(Name, type, member)                                                                   \
    cublasStatus_t cublasSet##Name(cublasHandle_t handle, type value)                              \
    {                                                                                              \
        if (!handle)                                                                               \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        handle->member = value;                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    GOT(Name, type, member)
#define GOT(Name, type, member)                                                                    \
    cublasStatus_t cublasGet##Name(cublasHandle_t handle, type *value)                             \
    {                                                                                              \
        BLAS_CHECK(handle, value);                                                                 \
        *value = (type)handle->member;                                                             \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
/* Setters of a mode that is one of the first `count`. */
#define MODE(Name, type, member, count)                                                            \
    cublasStatus_t cublasSet##Name(cublasHandle_t handle, type value)                              \
    {                                                                                              \
        BLAS_CHECK(handle, (unsigned)value < (count));                                             \
        handle->member = (int)value;                                                               \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    GOT(Name, type, member)

MODE(PointerMode_v2, cublasPointerMode_t, base.pointer_mode, 2)
MODE(AtomicsMode, cublasAtomicsMode_t, atomics, 2)
MODE(EmulationStrategy, cublasEmulationStrategy_t, emulation, 3)
MODE(FixedPointEmulationMantissaControl, cudaEmulationMantissaControl, mantissa_control, 2)
MODE(MathMode, cublasMath_t, base.math_mode, 32) /* flags of 8 and 16 among them */
KEPT(EmulationSpecialValuesSupport, cudaEmulationSpecialValuesSupport, special_values)
KEPT(FixedPointEmulationMaxMantissaBitCount, int, mantissa_max)
KEPT(FixedPointEmulationMantissaBitOffset, int, mantissa_offset)
KEPT(FixedPointEmulationMantissaBitCountPointer, int *, mantissa_count)
KEPT(Stream_v2, cudaStream_t, base.stream)

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int smCountTarget)
{
    BLAS_CHECK(handle, smCountTarget >= 0);
    handle->sm_count = smCountTarget;
    return CUBLAS_STATUS_SUCCESS;
}
GOT(SmCountTarget, int, sm_count)

/* Nothing here needs one. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
                                     size_t workspaceSizeInBytes)
{
    BLAS_CHECK(handle, workspace || !workspaceSizeInBytes);
    handle->base.workspace = workspace;
    handle->base.workspace_B = workspaceSizeInBytes;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- the log */

static _Atomic(cublasLogCallback) logger;

static void to_callback(void *user, enum lib_level level, const char *message)
{
    cublasLogCallback callback = atomic_load(&logger);

    (void)user;
    (void)level;
    if (callback)
        callback(message);
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback)
{
    atomic_store(&logger, userCallback);
    lib_callback_set(userCallback ? to_callback : NULL, NULL, LIB_LEVEL_INFO);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *userCallback)
{
    if (!userCallback)
        return CUBLAS_STATUS_INVALID_VALUE;
    *userCallback = atomic_load(&logger);
    return CUBLAS_STATUS_SUCCESS;
}

/* As the environment would say it; to both streams it goes to the second. */
cublasStatus_t cublasLoggerConfigure(int logIsOn, int logToStdOut, int logToStdErr,
                                     const char *logFileName)
{
    const char *to = logToStdErr ? "stderr" : logToStdOut ? "stdout" : logFileName;

    return lib_log_configure(&blas_info, logIsOn && to ? LIB_LEVEL_INFO : LIB_LEVEL_OFF, to)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

void cublasXerbla(const char *srName, int info)
{
    hd_log("cuBLAS: %s: parameter %d has an illegal value", srName ? srName : "?", info);
}
