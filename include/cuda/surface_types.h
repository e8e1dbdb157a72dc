/*
 * Surface objects: handles and boundary modes.
 */
#if !defined(HEDDLE_CUDA_SURFACE_TYPES_H) && !defined(__SURFACE_TYPES_H__)
#define HEDDLE_CUDA_SURFACE_TYPES_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __SURFACE_TYPES_H__

#include "driver_types.h"

#define cudaSurfaceType1D             0x01
#define cudaSurfaceType2D             0x02
#define cudaSurfaceType3D             0x03
#define cudaSurfaceTypeCubemap        0x0C
#define cudaSurfaceType1DLayered      0xF1
#define cudaSurfaceType2DLayered      0xF2
#define cudaSurfaceTypeCubemapLayered 0xFC

/* What an access outside the surface does. */
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2,
};

/* Whether formatted surface writes convert. */
enum cudaSurfaceFormatMode {
    cudaFormatModeForced = 0,
    cudaFormatModeAuto = 1,
};

/* Handle of a surface object, valid in host and device code. */
typedef unsigned long long cudaSurfaceObject_t;

#endif
