/*
 * Surface reads and writes: surf1Dread() ... surf2DLayeredwrite(). x is in bytes. An access outside
 * the surface traps, is clamped, or reads zero and writes nothing, as the boundary mode says.
 */
#ifndef HEDDLE_CUDA_SURFACE_INDIRECT_FUNCTIONS_H
#define HEDDLE_CUDA_SURFACE_INDIRECT_FUNCTIONS_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __SURFACE_INDIRECT_FUNCTIONS_H__

#include "cuda_runtime.h"

#if defined(__CUDA__) && __cplusplus >= 201103L

namespace heddle_surface {

/* Access of N bytes as the vector type the instruction moves. */
template <int _Np> struct word;

#define HEDDLE_LIST(...) __VA_ARGS__
#define HEDDLE_SURFACE_ONE(_Tp, c, b, geom, id, mode, params, at1, at2, ...)                       \
    static __device__ __forceinline__ void read_##id##_##mode(_Tp &v, cudaSurfaceObject_t object,  \
                                                              HEDDLE_LIST params)                  \
    {                                                                                              \
        __asm__ __volatile__("suld.b." geom "." b "." #mode " {%0}, [%1, " at1 "];"                \
                             : "=" c(v)                                                            \
                             : "l"(object), __VA_ARGS__                                            \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ __forceinline__ void write_##id##_##mode(_Tp v, cudaSurfaceObject_t object,  \
                                                               HEDDLE_LIST params)                 \
    {                                                                                              \
        __asm__ __volatile__("sust.b." geom "." b "." #mode " [%1, " at1 "], {%0};" ::c(v),        \
                             "l"(object), __VA_ARGS__                                              \
                             : "memory");                                                          \
    }
#define HEDDLE_SURFACE_TWO(_Tp, c, b, geom, id, mode, params, at1, at2, ...)                       \
    static __device__ __forceinline__ void read_##id##_##mode(_Tp &v, cudaSurfaceObject_t object,  \
                                                              HEDDLE_LIST params)                  \
    {                                                                                              \
        __asm__ __volatile__("suld.b." geom ".v2." b "." #mode " {%0, %1}, [%2, " at2 "];"         \
                             : "=" c(v.x), "=" c(v.y)                                              \
                             : "l"(object), __VA_ARGS__                                            \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ __forceinline__ void write_##id##_##mode(_Tp v, cudaSurfaceObject_t object,  \
                                                               HEDDLE_LIST params)                 \
    {                                                                                              \
        __asm__ __volatile__("sust.b." geom ".v2." b "." #mode " [%2, " at2                        \
                             "], {%0, %1};" ::c(v.x),                                              \
                             c(v.y), "l"(object), __VA_ARGS__                                      \
                             : "memory");                                                          \
    }
#define HEDDLE_SURFACE_SIZES(geom, id, mode, params, at1, at2, ...)                                \
    HEDDLE_SURFACE_ONE(unsigned short, "h", "b16", geom, id, mode, params, at1, at2, __VA_ARGS__)  \
    HEDDLE_SURFACE_ONE(unsigned int, "r", "b32", geom, id, mode, params, at1, at2, __VA_ARGS__)    \
    HEDDLE_SURFACE_ONE(unsigned long long, "l", "b64", geom, id, mode, params, at1, at2,           \
                       __VA_ARGS__)                                                                \
    HEDDLE_SURFACE_TWO(ulonglong2, "l", "b64", geom, id, mode, params, at1, at2, __VA_ARGS__)
#define HEDDLE_SURFACE_BYTE(geom, id, mode, params, at1, ...)                                      \
    static __device__ __forceinline__ void read_##id##_##mode(                                     \
        unsigned char &v, cudaSurfaceObject_t object, HEDDLE_LIST params)                          \
    {                                                                                              \
        unsigned short w;                                                                          \
        __asm__ __volatile__("suld.b." geom ".b8." #mode " {%0}, [%1, " at1 "];"                   \
                             : "=h"(w)                                                             \
                             : "l"(object), __VA_ARGS__                                            \
                             : "memory");                                                          \
        v = (unsigned char)w;                                                                      \
    }                                                                                              \
    static __device__ __forceinline__ void write_##id##_##mode(                                    \
        unsigned char v, cudaSurfaceObject_t object, HEDDLE_LIST params)                           \
    {                                                                                              \
        __asm__ __volatile__("sust.b." geom ".b8." #mode " [%1, " at1                              \
                             "], {%0};" ::"h"((unsigned short)v),                                  \
                             "l"(object), __VA_ARGS__                                              \
                             : "memory");                                                          \
    }
#define HEDDLE_SURFACE_MODES(geom, id, params, at1, at2, ...)                                      \
    HEDDLE_SURFACE_BYTE(geom, id, trap, params, at1, __VA_ARGS__)                                  \
    HEDDLE_SURFACE_BYTE(geom, id, clamp, params, at1, __VA_ARGS__)                                 \
    HEDDLE_SURFACE_BYTE(geom, id, zero, params, at1, __VA_ARGS__)                                  \
    HEDDLE_SURFACE_SIZES(geom, id, trap, params, at1, at2, __VA_ARGS__)                            \
    HEDDLE_SURFACE_SIZES(geom, id, clamp, params, at1, at2, __VA_ARGS__)                           \
    HEDDLE_SURFACE_SIZES(geom, id, zero, params, at1, at2, __VA_ARGS__)

HEDDLE_SURFACE_MODES("1d", one, (int x), "{%2}", "{%3}", "r"(x))
HEDDLE_SURFACE_MODES("2d", two, (int x, int y), "{%2, %3}", "{%3, %4}", "r"(x), "r"(y))
HEDDLE_SURFACE_MODES("3d", three, (int x, int y, int z), "{%2, %3, %4, %4}", "{%3, %4, %5, %5}",
                     "r"(x), "r"(y), "r"(z))
HEDDLE_SURFACE_MODES("a1d", one_layered, (int x, int layer), "{%3, %2}", "{%4, %3}", "r"(x),
                     "r"(layer))
HEDDLE_SURFACE_MODES("a2d", two_layered, (int x, int y, int layer), "{%4, %2, %3, %3}",
                     "{%5, %3, %4, %4}", "r"(x), "r"(y), "r"(layer))

#undef HEDDLE_SURFACE_MODES
#undef HEDDLE_SURFACE_SIZES
#undef HEDDLE_SURFACE_BYTE
#undef HEDDLE_SURFACE_TWO
#undef HEDDLE_SURFACE_ONE

template <> struct word<1> {
    typedef unsigned char type;
};
template <> struct word<2> {
    typedef unsigned short type;
};
template <> struct word<4> {
    typedef unsigned int type;
};
template <> struct word<8> {
    typedef unsigned long long type;
};
template <> struct word<16> {
    typedef ulonglong2 type;
};

} // namespace heddle_surface

#define HEDDLE_SURFACE(name, id, params, ...)                                                      \
    template <class _Tp>                                                                           \
    static __device__ __forceinline__ void name##read(                                             \
        _Tp *result, cudaSurfaceObject_t object, HEDDLE_LIST params,                               \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        typename heddle_surface::word<sizeof(_Tp)>::type w;                                        \
        if (mode == cudaBoundaryModeZero)                                                          \
            heddle_surface::read_##id##_zero(w, object, __VA_ARGS__);                              \
        else if (mode == cudaBoundaryModeClamp)                                                    \
            heddle_surface::read_##id##_clamp(w, object, __VA_ARGS__);                             \
        else                                                                                       \
            heddle_surface::read_##id##_trap(w, object, __VA_ARGS__);                              \
        __builtin_memcpy(result, &w, sizeof(_Tp));                                                 \
    }                                                                                              \
    template <class _Tp>                                                                           \
    static __device__ __forceinline__ _Tp name##read(                                              \
        cudaSurfaceObject_t object, HEDDLE_LIST params,                                            \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        _Tp result;                                                                                \
        name##read(&result, object, __VA_ARGS__, mode);                                            \
        return result;                                                                             \
    }                                                                                              \
    template <class _Tp>                                                                           \
    static __device__ __forceinline__ void name##write(                                            \
        _Tp value, cudaSurfaceObject_t object, HEDDLE_LIST params,                                 \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        typename heddle_surface::word<sizeof(_Tp)>::type w;                                        \
        __builtin_memcpy(&w, &value, sizeof(_Tp));                                                 \
        if (mode == cudaBoundaryModeZero)                                                          \
            heddle_surface::write_##id##_zero(w, object, __VA_ARGS__);                             \
        else if (mode == cudaBoundaryModeClamp)                                                    \
            heddle_surface::write_##id##_clamp(w, object, __VA_ARGS__);                            \
        else                                                                                       \
            heddle_surface::write_##id##_trap(w, object, __VA_ARGS__);                             \
    }

HEDDLE_SURFACE(surf1D, one, (int x), x)
HEDDLE_SURFACE(surf2D, two, (int x, int y), x, y)
HEDDLE_SURFACE(surf3D, three, (int x, int y, int z), x, y, z)
HEDDLE_SURFACE(surf1DLayered, one_layered, (int x, int layer), x, layer)
HEDDLE_SURFACE(surf2DLayered, two_layered, (int x, int y, int layer), x, y, layer)

#undef HEDDLE_SURFACE
#undef HEDDLE_LIST

#endif

#endif
