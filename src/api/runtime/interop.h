/*
 * Types of entry points that share objects with graphics libraries, whose headers Heddle does not
 * need: none of them is implemented, but their signatures are in the table.
 */
#ifndef HD_API_RUNTIME_INTEROP_H
#define HD_API_RUNTIME_INTEROP_H

#include "cuda_runtime_api.h"

typedef unsigned int GLuint;
typedef unsigned int GLenum;
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef struct CUeglStreamConnection_st *cudaEglStreamConnection;

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
