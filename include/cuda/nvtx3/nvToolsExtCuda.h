/* NVTX: names of the driver API's objects. Interface: NVTX version 3. */
#if !defined(HEDDLE_CUDA_NVTX_TOOLSEXT_CUDA_H) && !defined(__CUDACC_RTC__)
#define HEDDLE_CUDA_NVTX_TOOLSEXT_CUDA_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define NVTOOLSEXT_CUDA_V3

#include "cuda.h"
#include "nvtx3/nvToolsExt.h"

#define NVTX_RESOURCE_CLASS_CUDA 4

#define HEDDLE_NVTX_NAMES(first, name, type)                                                       \
    HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CUDA, first, name##A, void, ,                              \
                         (type object, const char *text), (object, text))                          \
    HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CUDA, first + 1, name##W, void, ,                          \
                         (type object, const wchar_t *text), (object, text))
HEDDLE_NVTX_NAMES(1, nvtxNameCuDevice, CUdevice)
HEDDLE_NVTX_NAMES(3, nvtxNameCuContext, CUcontext)
HEDDLE_NVTX_NAMES(5, nvtxNameCuStream, CUstream)
HEDDLE_NVTX_NAMES(7, nvtxNameCuEvent, CUevent)
#undef HEDDLE_NVTX_NAMES

#if defined(UNICODE)
#define nvtxNameCuDevice  nvtxNameCuDeviceW
#define nvtxNameCuContext nvtxNameCuContextW
#define nvtxNameCuStream  nvtxNameCuStreamW
#define nvtxNameCuEvent   nvtxNameCuEventW
#else
#define nvtxNameCuDevice  nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream  nvtxNameCuStreamA
#define nvtxNameCuEvent   nvtxNameCuEventA
#endif

#endif
