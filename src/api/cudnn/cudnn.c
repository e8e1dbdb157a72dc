/*
 * libcudnn.so.9: handles, versions and errors, for clients that make a handle before they know
 * whether they need one (XLA's does so when it starts). Of the functions that compute there is none
 * yet: each fails, and says its name once.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "cudnn_handle.h"
#include "refuse.h"

/* CUDA 13.0, whose runtime Heddle's is. */
#define CUDART_VERSION_OF_US 13000

struct cudnnContext {
    cudaStream_t stream;
};

/* Of this thread's last failed call. */
static _Thread_local char last_error[128];

HD_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *handle = hd_new(struct cudnnContext);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
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
    handle->stream = streamId;
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
    if (!handle || !streamId)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *streamId = handle->stream;
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

HD_EXPORT size_t cudnnGetCudartVersion(void)
{
    return CUDART_VERSION_OF_US;
}

HD_EXPORT cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    static const int values[] = {
        [MAJOR_VERSION] = CUDNN_MAJOR,
        [MINOR_VERSION] = CUDNN_MINOR,
        [PATCH_LEVEL] = CUDNN_PATCHLEVEL,
    };
    if (!value)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if ((size_t)type >= HD_COUNT_OF(values))
        return CUDNN_STATUS_BAD_PARAM;
    *value = values[type];
    return CUDNN_STATUS_SUCCESS;
}

HD_EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
#define ROW(name)                                                                                  \
    case name:                                                                                     \
        return #name;
        ROW(CUDNN_STATUS_SUCCESS)
        ROW(CUDNN_STATUS_NOT_INITIALIZED)
        ROW(CUDNN_STATUS_BAD_PARAM)
        ROW(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
        ROW(CUDNN_STATUS_NOT_SUPPORTED)
        ROW(CUDNN_STATUS_INTERNAL_ERROR)
        ROW(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
#undef ROW
    }
    return "CUDNN_UNKNOWN_STATUS";
}

HD_EXPORT void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (!message || !max_size)
        return;
    (void)snprintf(message, max_size, "%s", last_error);
    last_error[0] = '\0';
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
    (void)snprintf(last_error, sizeof(last_error), "%s: Heddle has no cuDNN yet", name);
    if (!atomic_exchange(said, true))
        hd_log("%s", last_error);
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
