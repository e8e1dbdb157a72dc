/*
 * libcudnn.so.9: handles, versions and errors, for clients that make a handle before they know
 * whether they need one (XLA's does so when it starts). Of the functions that compute there is none
 * yet: each fails, and says its name once.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "api/lib_base/lib_base.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "cudnn_handle.h"
#include "refuse.h"

/* CUDA 13.0, whose runtime Heddle's is. */
#define CUDART_VERSION_OF_US 13000

static const struct lib_status statuses[] = {
#define ROW(name) {name, #name},
    ROW(CUDNN_STATUS_SUCCESS) ROW(CUDNN_STATUS_NOT_INITIALIZED) ROW(CUDNN_STATUS_BAD_PARAM)
        ROW(CUDNN_STATUS_BAD_PARAM_NULL_POINTER) ROW(CUDNN_STATUS_NOT_SUPPORTED)
            ROW(CUDNN_STATUS_INTERNAL_ERROR) ROW(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
#undef ROW
};

static const struct lib_info info = {.name = "cuDNN",
                                     .version = {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL},
                                     .cudart = CUDART_VERSION_OF_US,
                                     .statuses = statuses,
                                     .nstatuses = HD_COUNT_OF(statuses),
                                     .unknown = "CUDNN_UNKNOWN_STATUS",
                                     .level_variable = "CUDNN_LOGLEVEL_DBG",
                                     .destination_variable = "CUDNN_LOGDEST_DBG"};

struct cudnnContext {
    struct lib_handle base;
};

HD_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *handle = hd_new(struct cudnnContext);
    if (!*handle)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    lib_handle_init(&(*handle)->base, &info);
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    hd_free(handle);
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    handle->base.stream = streamId;
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
    if (!handle || !streamId)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *streamId = handle->base.stream;
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

HD_EXPORT size_t cudnnGetCudartVersion(void)
{
    return (size_t)info.cudart;
}

HD_EXPORT cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    if (!value)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return lib_property(&info, (int)type, value) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

HD_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return lib_status_name(&info, (int)status);
}

HD_EXPORT void cudnnGetLastErrorString(char *message, size_t max_size)
{
    lib_error_take(message, max_size);
}

HD_EXPORT cudnnStatus_t cudnnGraphVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnOpsVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnCnnVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnAdvVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnn_refuse(const char *name, _Atomic bool *said)
{
    lib_refuse(&info, name, said);
    return CUDNN_STATUS_NOT_SUPPORTED;
}

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT cudnnStatus_t name(void);                                                            \
    cudnnStatus_t name(void)                                                                       \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        return cudnn_refuse(#name, &said);                                                         \
    }
#include "api/cudnn_refused.def"
