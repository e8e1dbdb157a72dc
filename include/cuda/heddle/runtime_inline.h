/* Small constructors of the runtime API's plain structs. */
#ifndef HEDDLE_CUDA_RUNTIME_INLINE_H
#define HEDDLE_CUDA_RUNTIME_INLINE_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __DRIVER_FUNCTIONS_H__

#include "driver_types.h"

#define HEDDLE_INLINE static __inline__ __host__ __attribute__((unused))

HEDDLE_INLINE struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d)
{
    struct cudaExtent e;
    e.width = w;
    e.height = h;
    e.depth = d;
    return e;
}

HEDDLE_INLINE struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos p;
    p.x = x;
    p.y = y;
    p.z = z;
    return p;
}

HEDDLE_INLINE struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch_B, size_t xsize,
                                                        size_t ysize)
{
    struct cudaPitchedPtr p;
    p.ptr = ptr;
    p.pitch = pitch_B;
    p.xsize = xsize;
    p.ysize = ysize;
    return p;
}

#undef HEDDLE_INLINE

#endif
