/* NVTX: names of the runtime API's objects. Interface: NVTX version 3. */
#if !defined(HEDDLE_CUDA_NVTX_TOOLSEXT_CUDART_H) && !defined(__CUDACC_RTC__)
#define HEDDLE_CUDA_NVTX_TOOLSEXT_CUDART_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define NVTOOLSEXT_CUDART_V3

#include "cuda_runtime_api.h"
#include "nvtx3/nvToolsExt.h"

#define NVTX_RESOURCE_CLASS_CUDART 5

#define HEDDLE_NVTX_NAMES(first, name, type)                                                       \
    HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CUDART, first, name##A, void, ,                            \
                         (type object, const char *text), (object, text))                          \
    HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CUDART, first + 1, name##W, void, ,                        \
                         (type object, const wchar_t *text), (object, text))
HEDDLE_NVTX_NAMES(1, nvtxNameCudaDevice, int)
HEDDLE_NVTX_NAMES(3, nvtxNameCudaStream, cudaStream_t)
HEDDLE_NVTX_NAMES(5, nvtxNameCudaEvent, cudaEvent_t)
#undef HEDDLE_NVTX_NAMES

#if defined(UNICODE)
#define nvtxNameCudaDevice nvtxNameCudaDeviceW
#define nvtxNameCudaStream nvtxNameCudaStreamW
#define nvtxNameCudaEvent  nvtxNameCudaEventW
#else
#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent  nvtxNameCudaEventA
#endif

#endif
