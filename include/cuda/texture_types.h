/*
 * Texture objects: descriptors and handles (texture references ended with CUDA 12).
 */
#if !defined(HEDDLE_CUDA_TEXTURE_TYPES_H) && !defined(__TEXTURE_TYPES_H__)
#define HEDDLE_CUDA_TEXTURE_TYPES_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __TEXTURE_TYPES_H__

#include "driver_types.h"

#define cudaTextureType1D             0x01
#define cudaTextureType2D             0x02
#define cudaTextureType3D             0x03
#define cudaTextureTypeCubemap        0x0C
#define cudaTextureType1DLayered      0xF1
#define cudaTextureType2DLayered      0xF2
#define cudaTextureTypeCubemapLayered 0xFC

/* What a coordinate outside the texture reads. */
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3,
};

/* Nearest element or linear interpolation. */
enum cudaTextureFilterMode {
    cudaFilterModePoint = 0,
    cudaFilterModeLinear = 1,
};

/* Elements as they are, or normalised to [0,1] or [-1,1]. */
enum cudaTextureReadMode {
    cudaReadModeElementType = 0,
    cudaReadModeNormalizedFloat = 1,
};

/* How a texture object reads; see cudaCreateTextureObject(). */
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    int seamlessCubemap;
};

/* Handle of a texture object, valid in host and device code. */
typedef unsigned long long cudaTextureObject_t;

#endif
