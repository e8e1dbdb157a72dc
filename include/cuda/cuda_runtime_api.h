/*
 * The CUDA runtime API for C and C++, version 13.0 as published.
 *
 * Link with -lcudart (Heddle's libcudart.so.13). Entry points that Heddle lacks exist and answer
 * cudaErrorNotSupported. The C++ conveniences (typed cudaMalloc, launches) are in cuda_runtime.h.
 */
#if !defined(HEDDLE_CUDA_RUNTIME_API_H) && !defined(__CUDA_RUNTIME_API_H__)
#define HEDDLE_CUDA_RUNTIME_API_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_RUNTIME_API_H__

#include "cuda_version.h"

#define CUDART_VERSION 13000 /* build systems read it here */

#include "driver_types.h"
#include "surface_types.h"
#include "texture_types.h"

/* In a toolkit, too, these are no types of driver_types.h. */
typedef void(CUDART_CB *cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status,
                                              void *userData);
typedef void (*cudaLogsCallback_t)(void *data, cudaLogLevel logLevel, char *message, size_t length);

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#include "heddle/runtime_streams.h"
#endif
#include "heddle/runtime_api_device.h"
#include "heddle/runtime_api_memory.h"
#include "heddle/runtime_api_graph.h"

#endif
