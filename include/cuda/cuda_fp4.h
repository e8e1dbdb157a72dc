/*
 * 4-bit floating point: __nv_fp4_e2m1, alone and by two and four, and the conversions of their bits
 * (__nv_cvt_*). CUDA Math API manual, "FP4 Intrinsics". There are no infinities and no NaN: conversions stay at the
 * largest value, and give it for NaN.
 */
#if !defined(HEDDLE_CUDA_FP4_H) && !defined(__CUDA_FP4_H__)
#define HEDDLE_CUDA_FP4_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_FP4_H__

#include "cuda_runtime.h"

#if defined(__cplusplus)

#include "heddle/small_float.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short int __nv_fp4x4_storage_t;

typedef enum __nv_fp4_interpretation_t {
    __NV_E2M1,
} __nv_fp4_interpretation_t;

HEDDLE_SF __nv_fp4_storage_t __nv_cvt_double_to_fp4(const double x,
                                                    const __nv_fp4_interpretation_t kind,
                                                    const enum cudaRoundMode rounding)
{
    (void)kind;
    return (__nv_fp4_storage_t)(heddle_e2m1_from(x, true, rounding));
}
HEDDLE_SF __nv_fp4x2_storage_t __nv_cvt_double2_to_fp4x2(const double2 x,
                                                         const __nv_fp4_interpretation_t kind,
                                                         const enum cudaRoundMode rounding)
{
    return (__nv_fp4x2_storage_t)(__nv_cvt_double_to_fp4(x.x, kind, rounding) |
                                  __nv_cvt_double_to_fp4(x.y, kind, rounding) << 4);
}
HEDDLE_SF __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(const float2 x,
                                                        const __nv_fp4_interpretation_t kind,
                                                        const enum cudaRoundMode rounding)
{
    return __nv_cvt_double2_to_fp4x2(make_double2(x.x, x.y), kind, rounding);
}
HEDDLE_SF __nv_fp4_storage_t __nv_cvt_float_to_fp4(const float x,
                                                   const __nv_fp4_interpretation_t kind,
                                                   const enum cudaRoundMode rounding)
{
    return __nv_cvt_double_to_fp4(x, kind, rounding);
}

#define HEDDLE_RAW(name, name2, raw, raw2)                                                         \
    HEDDLE_SF __nv_fp4_storage_t __nv_cvt_##name##_to_fp4(                                         \
        const raw x, const __nv_fp4_interpretation_t kind, const enum cudaRoundMode rounding)      \
    {                                                                                              \
        return __nv_cvt_float_to_fp4(heddle_raw_value(x), kind, rounding);                         \
    }                                                                                              \
    HEDDLE_SF __nv_fp4x2_storage_t __nv_cvt_##name2##_to_fp4x2(                                    \
        const raw2 x, const __nv_fp4_interpretation_t kind, const enum cudaRoundMode rounding)     \
    {                                                                                              \
        return __nv_cvt_float2_to_fp4x2(                                                           \
            make_float2(heddle_raw_value(raw{x.x}), heddle_raw_value(raw{x.y})), kind, rounding);  \
    }
HEDDLE_RAW(halfraw, halfraw2, __half_raw, __half2_raw)
HEDDLE_RAW(bfloat16raw, bfloat16raw2, __nv_bfloat16_raw, __nv_bfloat162_raw)
#undef HEDDLE_RAW

HEDDLE_SF __half_raw __nv_cvt_fp4_to_halfraw(const __nv_fp4_storage_t x,
                                             const __nv_fp4_interpretation_t kind)
{
    (void)kind;
    return heddle_raw_f16(heddle_e2m1_value(x));
}
HEDDLE_SF __half2_raw __nv_cvt_fp4x2_to_halfraw2(const __nv_fp4x2_storage_t x,
                                                 const __nv_fp4_interpretation_t kind)
{
    __half2_raw r;
    r.x = __nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)(x & 0xf), kind).x;
    r.y = __nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)(x >> 4), kind).x;
    return r;
}

/* ---- classes: to nearest even */

HEDDLE_SF unsigned int heddle_fp4_bits(double x, __nv_fp4_interpretation_t kind)
{
    return __nv_cvt_double_to_fp4(x, kind, cudaRoundNearest);
}
HEDDLE_SF unsigned int heddle_fp4_bits(float x, float y, __nv_fp4_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp4x2(make_float2(x, y), kind, cudaRoundNearest);
}
HEDDLE_SF unsigned int heddle_fp4_bits(double x, double y, __nv_fp4_interpretation_t kind)
{
    return __nv_cvt_double2_to_fp4x2(make_double2(x, y), kind, cudaRoundNearest);
}
HEDDLE_SF float heddle_fp4_value(unsigned int bits, __nv_fp4_interpretation_t kind)
{
    return heddle_raw_value(__nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)bits, kind));
}

#define HEDDLE_STORE  __nv_fp4_storage_t
#define HEDDLE_STORE2 __nv_fp4x2_storage_t
#define HEDDLE_STORE4 __nv_fp4x4_storage_t
#define HEDDLE_ALIGN2 1
#define HEDDLE_ALIGN4 2
#define HEDDLE_BITS   4

#define HEDDLE_T             __nv_fp4_e2m1
#define HEDDLE_T2            __nv_fp4x2_e2m1
#define HEDDLE_T4            __nv_fp4x4_e2m1
#define HEDDLE_ENCODE(x)     heddle_fp4_bits(x, __NV_E2M1)
#define HEDDLE_ENCODE2(x, y) heddle_fp4_bits(x, y, __NV_E2M1)
#define HEDDLE_DECODE(x)     heddle_fp4_value(x, __NV_E2M1)
#include "heddle/small_type.inc"
#undef HEDDLE_DECODE
#undef HEDDLE_ENCODE2
#undef HEDDLE_ENCODE
#undef HEDDLE_T4
#undef HEDDLE_T2
#undef HEDDLE_T

#undef HEDDLE_BITS
#undef HEDDLE_ALIGN4
#undef HEDDLE_ALIGN2
#undef HEDDLE_STORE4
#undef HEDDLE_STORE2
#undef HEDDLE_STORE

#endif

#endif
