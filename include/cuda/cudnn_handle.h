/*
 * cuDNN: its handle, version and errors. Names and values as in NVIDIA's cuDNN API reference;
 * docs/clients.md says what works with it.
 */
#ifndef HEDDLE_CUDA_CUDNN_HANDLE_H
#define HEDDLE_CUDA_CUDNN_HANDLE_H

#include <stddef.h>

#include "driver_types.h"
#include "library_types.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define CUDNN_MAJOR      9
#define CUDNN_MINOR      28
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION    (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)

typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_NOT_INITIALIZED = 1001,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_BAD_PARAM_NULL_POINTER = 2002,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_INTERNAL_ERROR = 4000,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4002
} cudnnStatus_t;

typedef struct cudnnContext *cudnnHandle_t;

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId);
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId);
size_t cudnnGetVersion(void);
size_t cudnnGetCudartVersion(void);
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value);
const char *cudnnGetErrorString(cudnnStatus_t status);
void cudnnGetLastErrorString(char *message, size_t max_size);
/* Whether the parts of cuDNN are of one version: here they are one library. */
cudnnStatus_t cudnnGraphVersionCheck(void);
cudnnStatus_t cudnnOpsVersionCheck(void);
cudnnStatus_t cudnnCnnVersionCheck(void);
cudnnStatus_t cudnnAdvVersionCheck(void);

#if defined(__cplusplus)
}
#endif

#endif
