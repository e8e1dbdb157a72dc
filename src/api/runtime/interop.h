/*
 * Types that no header of CUDA 13 has: of entry points that share objects with graphics libraries,
 * all of which are refused, and of those that only CUDA 12 has.
 */
#ifndef HD_API_RUNTIME_INTEROP_H
#define HD_API_RUNTIME_INTEROP_H

#include "api/driver/cuda_abi.h"
#include "cuda_runtime_api.h"

struct cudaLaunchParams {
    void *func;
    struct dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
};

typedef CUeglStreamConnection cudaEglStreamConnection;

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1,
    cudaGLDeviceListCurrentFrame = 2,
    cudaGLDeviceListNextFrame = 3
};

struct cudaEglPlaneDesc_st {
    unsigned int width, height, depth, pitch, numChannels;
    struct cudaChannelFormatDesc channelDesc;
    unsigned int reserved[4];
};

struct cudaEglFrame_st {
    union {
        cudaArray_t pArray[3];
        struct cudaPitchedPtr pPitch[3];
    } frame;
    struct cudaEglPlaneDesc_st planeDesc[3];
    unsigned int planeCount;
    int frameType, eglColorFormat;
};

#endif
