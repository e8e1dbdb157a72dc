/* Constructors of the vector types: make_int4(1, 2, 3, 4). */
#if !defined(HEDDLE_CUDA_VECTOR_FUNCTIONS_H) && !defined(__VECTOR_FUNCTIONS_H__)
#define HEDDLE_CUDA_VECTOR_FUNCTIONS_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define HEDDLE_VECTOR_FN static __inline__ __host__ __device__ __attribute__((unused))

#define HEDDLE_MAKE_VECTOR(name, elem)                                                             \
    HEDDLE_VECTOR_FN struct name##1 make_##name##1(elem x)                                         \
    {                                                                                              \
        struct name##1 v = {x};                                                                    \
        return v;                                                                                  \
    }                                                                                              \
    HEDDLE_VECTOR_FN struct name##2 make_##name##2(elem x, elem y)                                 \
    {                                                                                              \
        struct name##2 v = {x, y};                                                                 \
        return v;                                                                                  \
    }                                                                                              \
    HEDDLE_VECTOR_FN struct name##3 make_##name##3(elem x, elem y, elem z)                         \
    {                                                                                              \
        struct name##3 v = {x, y, z};                                                              \
        return v;                                                                                  \
    }                                                                                              \
    HEDDLE_VECTOR_FN struct name##4 make_##name##4(elem x, elem y, elem z, elem w)                 \
    {                                                                                              \
        struct name##4 v = {x, y, z, w};                                                           \
        return v;                                                                                  \
    }

#define HEDDLE_MAKE_WIDE(name, elem)                                                               \
    HEDDLE_VECTOR_FN struct name##4_16a make_##name##4_16a(elem x, elem y, elem z, elem w)         \
    {                                                                                              \
        struct name##4_16a v = {x, y, z, w};                                                       \
        return v;                                                                                  \
    }                                                                                              \
    HEDDLE_VECTOR_FN struct name##4_32a make_##name##4_32a(elem x, elem y, elem z, elem w)         \
    {                                                                                              \
        struct name##4_32a v = {x, y, z, w};                                                       \
        return v;                                                                                  \
    }

HEDDLE_MAKE_VECTOR(char, signed char)
HEDDLE_MAKE_VECTOR(uchar, unsigned char)
HEDDLE_MAKE_VECTOR(short, short)
HEDDLE_MAKE_VECTOR(ushort, unsigned short)
HEDDLE_MAKE_VECTOR(int, int)
HEDDLE_MAKE_VECTOR(uint, unsigned int)
HEDDLE_MAKE_VECTOR(long, long int)
HEDDLE_MAKE_VECTOR(ulong, unsigned long int)
HEDDLE_MAKE_VECTOR(longlong, long long int)
HEDDLE_MAKE_VECTOR(ulonglong, unsigned long long int)
HEDDLE_MAKE_VECTOR(float, float)
HEDDLE_MAKE_VECTOR(double, double)
HEDDLE_MAKE_WIDE(long, long int)
HEDDLE_MAKE_WIDE(ulong, unsigned long int)
HEDDLE_MAKE_WIDE(longlong, long long int)
HEDDLE_MAKE_WIDE(ulonglong, unsigned long long int)
HEDDLE_MAKE_WIDE(double, double)

#undef HEDDLE_MAKE_WIDE
#undef HEDDLE_MAKE_VECTOR
#undef HEDDLE_VECTOR_FN

#endif
