/*
 * Texture fetches: tex1Dfetch() ... texCubemapLayered(), each as a function that returns T and as one
 * that stores through a pointer. clang's header turns the operation's name into the instruction.
 */
#ifndef HEDDLE_CUDA_TEXTURE_INDIRECT_FUNCTIONS_H
#define HEDDLE_CUDA_TEXTURE_INDIRECT_FUNCTIONS_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __TEXTURE_INDIRECT_FUNCTIONS_H__

#include "cuda_runtime.h"

#if defined(__CUDA__) && __cplusplus >= 201103L

/* The compiler's header, and what its macros expand to below, has names that programs may define. */
#pragma push_macro("T")
#pragma push_macro("N")
#undef T
#undef N
#include <__clang_cuda_texture_intrinsics.h>

/* op: clang's name of the operation; (params) and the arguments without their types. */
#define HEDDLE_TEX(name, op, params, ...)                                                          \
    template <class _Tp>                                                                           \
    static __device__ __forceinline__ void name(_Tp *result, cudaTextureObject_t object,           \
                                                HEDDLE_LIST params)                                \
    {                                                                                              \
        __nv_tex_surf_handler(op, result, object, __VA_ARGS__);                                    \
    }                                                                                              \
    template <class _Tp>                                                                           \
    static __device__ __forceinline__ _Tp name(cudaTextureObject_t object, HEDDLE_LIST params)     \
    {                                                                                              \
        _Tp result;                                                                                \
        __nv_tex_surf_handler(op, &result, object, __VA_ARGS__);                                   \
        return result;                                                                             \
    }
#define HEDDLE_LIST(...) __VA_ARGS__

HEDDLE_TEX(tex1Dfetch, "__itex1Dfetch", (int x), x)
HEDDLE_TEX(tex1D, "__itex1D", (float x), x)
HEDDLE_TEX(tex2D, "__itex2D", (float x, float y), x, y)
HEDDLE_TEX(tex3D, "__itex3D", (float x, float y, float z), x, y, z)
HEDDLE_TEX(tex1DLayered, "__itex1DLayered", (float x, int layer), x, layer)
HEDDLE_TEX(tex2DLayered, "__itex2DLayered", (float x, float y, int layer), x, y, layer)
HEDDLE_TEX(texCubemap, "__itexCubemap", (float x, float y, float z), x, y, z)
HEDDLE_TEX(texCubemapLayered, "__itexCubemapLayered", (float x, float y, float z, int layer), x, y,
           z, layer)
HEDDLE_TEX(tex2Dgather, "__itex2Dgather", (float x, float y, int component = 0), x, y, component)
HEDDLE_TEX(tex1DLod, "__itex1DLod", (float x, float level), x, level)
HEDDLE_TEX(tex2DLod, "__itex2DLod", (float x, float y, float level), x, y, level)
HEDDLE_TEX(tex3DLod, "__itex3DLod", (float x, float y, float z, float level), x, y, z, level)
HEDDLE_TEX(tex1DLayeredLod, "__itex1DLayeredLod", (float x, int layer, float level), x, layer,
           level)
HEDDLE_TEX(tex2DLayeredLod, "__itex2DLayeredLod", (float x, float y, int layer, float level), x, y,
           layer, level)
HEDDLE_TEX(tex1DGrad, "__itex1DGrad", (float x, float dpdx, float dpdy), x, dpdx, dpdy)
HEDDLE_TEX(tex2DGrad, "__itex2DGrad_v2", (float x, float y, float2 dpdx, float2 dpdy), x, y, &dpdx,
           &dpdy)
HEDDLE_TEX(tex3DGrad, "__itex3DGrad_v2", (float x, float y, float z, float4 dpdx, float4 dpdy), x,
           y, z, &dpdx, &dpdy)

#undef HEDDLE_LIST
#undef HEDDLE_TEX

#pragma pop_macro("T")
#pragma pop_macro("N")

#endif

#endif
