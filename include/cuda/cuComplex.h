/* Complex numbers of the CUDA libraries: cuFloatComplex, cuDoubleComplex and their arithmetic. */
#if !defined(HEDDLE_CUDA_CUCOMPLEX_H) && !defined(CU_COMPLEX_H_)
#define HEDDLE_CUDA_CUCOMPLEX_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define CU_COMPLEX_H_

#include <math.h>

#include "vector_types.h"

#define HEDDLE_FN static __inline__ __host__ __device__ __attribute__((unused))

/* Prefix, complex type, component type, functions of the component type. */
#define HEDDLE_COMPLEX(p, T, E, abs, hypotenuse)                                                   \
    HEDDLE_FN T make_##T(E re, E im)                                                               \
    {                                                                                              \
        T z;                                                                                       \
        z.x = re;                                                                                  \
        z.y = im;                                                                                  \
        return z;                                                                                  \
    }                                                                                              \
    HEDDLE_FN E cuCreal##p(T z)                                                                    \
    {                                                                                              \
        return z.x;                                                                                \
    }                                                                                              \
    HEDDLE_FN E cuCimag##p(T z)                                                                    \
    {                                                                                              \
        return z.y;                                                                                \
    }                                                                                              \
    HEDDLE_FN T cuConj##p(T z)                                                                     \
    {                                                                                              \
        return make_##T(z.x, -z.y);                                                                \
    }                                                                                              \
    HEDDLE_FN T cuCadd##p(T a, T b)                                                                \
    {                                                                                              \
        return make_##T(a.x + b.x, a.y + b.y);                                                     \
    }                                                                                              \
    HEDDLE_FN T cuCsub##p(T a, T b)                                                                \
    {                                                                                              \
        return make_##T(a.x - b.x, a.y - b.y);                                                     \
    }                                                                                              \
    HEDDLE_FN T cuCmul##p(T a, T b)                                                                \
    {                                                                                              \
        return make_##T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                             \
    }                                                                                              \
    HEDDLE_FN T cuCfma##p(T a, T b, T c)                                                           \
    {                                                                                              \
        return cuCadd##p(cuCmul##p(a, b), c);                                                      \
    }                                                                                              \
    /* Both divided by |b.x| + |b.y| first, so that the squares stay in range. */                  \
    HEDDLE_FN T cuCdiv##p(T a, T b)                                                                \
    {                                                                                              \
        E s = 1 / (abs(b.x) + abs(b.y)), ar = a.x * s, ai = a.y * s, br = b.x * s, bi = b.y * s;   \
        E t = 1 / (br * br + bi * bi);                                                             \
        return make_##T((ar * br + ai * bi) * t, (ai * br - ar * bi) * t);                         \
    }                                                                                              \
    HEDDLE_FN E cuCabs##p(T z)                                                                     \
    {                                                                                              \
        return hypotenuse(z.x, z.y);                                                               \
    }

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

HEDDLE_COMPLEX(f, cuFloatComplex, float, fabsf, hypotf)
HEDDLE_COMPLEX(, cuDoubleComplex, double, fabs, hypot)

HEDDLE_FN cuComplex make_cuComplex(float re, float im)
{
    return make_cuFloatComplex(re, im);
}
HEDDLE_FN cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z)
{
    return make_cuDoubleComplex((double)z.x, (double)z.y);
}
HEDDLE_FN cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z)
{
    return make_cuFloatComplex((float)z.x, (float)z.y);
}

#undef HEDDLE_COMPLEX
#undef HEDDLE_FN

#endif
