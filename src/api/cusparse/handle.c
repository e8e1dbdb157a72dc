/* Handles of cuSPARSE: versions, the pointer mode, the log. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "api/cusparse/sparse.h"
#include "base/mem.h"

#define CUDART_VERSION_OF_US 13000

/* name, what it says */
#define STATUS_LIST(X)                                                                             \
    X(SUCCESS, "success")                                                                          \
    X(NOT_INITIALIZED, "initialization error")                                                     \
    X(ALLOC_FAILED, "out of memory")                                                               \
    X(INVALID_VALUE, "invalid value")                                                              \
    X(ARCH_MISMATCH, "architecture mismatch")                                                      \
    X(MAPPING_ERROR, "texture memory mapping error")                                               \
    X(EXECUTION_FAILED, "kernel launch failure")                                                   \
    X(INTERNAL_ERROR, "internal error")                                                            \
    X(MATRIX_TYPE_NOT_SUPPORTED, "matrix type not supported")                                      \
    X(ZERO_PIVOT, "zero pivot")                                                                    \
    X(NOT_SUPPORTED, "operation not supported")                                                    \
    X(INSUFFICIENT_RESOURCES, "insufficient resources")

static const struct lib_status statuses[] = {
#define X(name, text) {CUSPARSE_STATUS_##name, "CUSPARSE_STATUS_" #name},
    STATUS_LIST(X)
#undef X
};

const struct lib_info sparse_info = {
    .name = "cuSPARSE",
    .version = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH},
    .cudart = CUDART_VERSION_OF_US,
    .statuses = statuses,
    .nstatuses = HD_COUNT_OF(statuses),
    .unknown = "unknown",
    .level_variable = "CUSPARSE_LOG_LEVEL",
    .destination_variable = "CUSPARSE_LOG_FILE"};

cusparseStatus_t sparse_status(int cuda_result)
{
    switch (cuda_result) {
    case CUDA_SUCCESS:
        return CUSPARSE_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUSPARSE_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_SUPPORTED:
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    default:
        return CUSPARSE_STATUS_EXECUTION_FAILED;
    }
}

cusparseStatus_t sparse_invalid(const char *function)
{
    lib_error(&sparse_info, "%s: an argument is out of range", function);
    return CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t sparse_unsupported(const char *function, const char *what)
{
    lib_error(&sparse_info, "%s: Heddle's cuSPARSE does not have %s", function, what);
    return CUSPARSE_STATUS_NOT_SUPPORTED;
}

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    if (!handle)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *handle = NULL;
    int result = lib_context();
    if (result)
        return sparse_status(result);
    *handle = hd_new(struct cusparseContext);
    if (!*handle)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    lib_handle_init(&(*handle)->base, &sparse_info);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    if (!handle)
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    hd_free(handle); /* its kernels have what they need */
    return CUSPARSE_STATUS_SUCCESS;
}

/* Programs ask for the version with a handle, and without one. */
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
    (void)handle;
    if (!version)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *version = CUSPARSE_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
    return value && lib_property(&sparse_info, (int)type, value) ? CUSPARSE_STATUS_SUCCESS
                                                                 : CUSPARSE_STATUS_INVALID_VALUE;
}

const char *cusparseGetErrorName(cusparseStatus_t status)
{
    return lib_status_name(&sparse_info, (int)status);
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    switch (status) {
#define X(name, text)                                                                              \
    case CUSPARSE_STATUS_##name:                                                                   \
        return text;
        STATUS_LIST(X)
#undef X
    }
    return "unknown";
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    handle->base.stream = streamId;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *streamId)
{
    SPARSE_CHECK(handle, streamId);
    *streamId = handle->base.stream;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
    SPARSE_CHECK(handle, (unsigned)mode < 2);
    handle->base.pointer_mode = (int)mode;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode)
{
    SPARSE_CHECK(handle, mode);
    *mode = (cusparsePointerMode_t)handle->base.pointer_mode;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- the log: a file and a callback of the program's, up to a level of NVIDIA's (5: all calls) */

static _Atomic(cusparseLoggerCallback_t) logger;
static FILE *_Atomic log_file;
static _Atomic int log_level = 1;
static _Atomic bool is_disabled;

static void to_program(void *user, enum lib_level level, const char *message)
{
    cusparseLoggerCallback_t callback = atomic_load(&logger);
    FILE *file = atomic_load(&log_file);
    char function[64];
    int number = level == LIB_LEVEL_ERROR ? 1 : level == LIB_LEVEL_WARNING ? 3 : 5;

    (void)user;
    if (atomic_load(&is_disabled))
        return;
    (void)snprintf(function, sizeof(function), "%.*s", (int)strcspn(message, ":"), message);
    if (callback)
        callback(number, function, message);
    if (file) {
        fprintf(file, "[cuSPARSE][%d] %s\n", number, message);
        fflush(file);
    }
}

static cusparseStatus_t listen(void)
{
    int level = atomic_load(&log_level);
    bool wanted = level > 0 && (atomic_load(&logger) || atomic_load(&log_file));

    lib_callback_set(wanted ? to_program : NULL, NULL,
                     level >= 5   ? LIB_LEVEL_INFO
                     : level >= 3 ? LIB_LEVEL_WARNING
                                  : LIB_LEVEL_ERROR);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLoggerSetCallback(cusparseLoggerCallback_t callback)
{
    atomic_store(&logger, callback);
    return listen();
}

cusparseStatus_t cusparseLoggerSetFile(FILE *file)
{
    atomic_store(&log_file, file);
    return listen();
}

/* A file that was open stays so: another thread may be writing. */
cusparseStatus_t cusparseLoggerOpenFile(const char *logFile)
{
    FILE *file = logFile ? fopen(logFile, "ae") : NULL;

    return file ? cusparseLoggerSetFile(file) : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t cusparseLoggerSetLevel(int level)
{
    if (level < 0 || level > 5)
        return CUSPARSE_STATUS_INVALID_VALUE;
    atomic_store(&log_level, level);
    return listen();
}

/* Bits: 1 errors, ... 16 calls. The highest one says up to which level. */
cusparseStatus_t cusparseLoggerSetMask(int mask)
{
    if (mask < 0 || mask > 31)
        return CUSPARSE_STATUS_INVALID_VALUE;
    atomic_store(&log_level, mask ? 32 - __builtin_clz((unsigned)mask) : 0);
    return listen();
}

cusparseStatus_t cusparseLoggerForceDisable(void)
{
    atomic_store(&is_disabled, true);
    return CUSPARSE_STATUS_SUCCESS;
}
