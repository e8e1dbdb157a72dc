/*
 * 6-bit floating point: __nv_fp6_e2m3 and __nv_fp6_e3m2, alone and by two and four, and the conversions of their bits
 * (__nv_cvt_*). CUDA Math API manual, "FP6 Intrinsics". There are no infinities and no NaN: conversions stay at the
 * largest value, and give it for NaN.
 */
#if !defined(HEDDLE_CUDA_FP6_H) && !defined(__CUDA_FP6_H__)
#define HEDDLE_CUDA_FP6_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_FP6_H__

#include "cuda_runtime.h"

#if defined(__cplusplus)

#include "heddle/small_float.h"

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short int __nv_fp6x2_storage_t;
typedef unsigned int __nv_fp6x4_storage_t;

typedef enum __nv_fp6_interpretation_t {
    __NV_E2M3,
    __NV_E3M2,
} __nv_fp6_interpretation_t;

HEDDLE_SF __nv_fp6_storage_t __nv_cvt_double_to_fp6(const double x,
                                                    const __nv_fp6_interpretation_t kind,
                                                    const enum cudaRoundMode rounding)
{
    return (__nv_fp6_storage_t)(kind == __NV_E2M3 ? heddle_e2m3_from(x, true, rounding)
                                                  : heddle_e3m2_from(x, true, rounding));
}
HEDDLE_SF __nv_fp6x2_storage_t __nv_cvt_double2_to_fp6x2(const double2 x,
                                                         const __nv_fp6_interpretation_t kind,
                                                         const enum cudaRoundMode rounding)
{
    return (__nv_fp6x2_storage_t)(__nv_cvt_double_to_fp6(x.x, kind, rounding) |
                                  __nv_cvt_double_to_fp6(x.y, kind, rounding) << 8);
}
HEDDLE_SF __nv_fp6x2_storage_t __nv_cvt_float2_to_fp6x2(const float2 x,
                                                        const __nv_fp6_interpretation_t kind,
                                                        const enum cudaRoundMode rounding)
{
#if HEDDLE_SF_HAS_SMALL
    if (rounding == cudaRoundNearest)
        return (__nv_fp6x2_storage_t)(kind == __NV_E2M3 ? heddle_e2m3x2_from_f32(x.x, x.y)
                                                        : heddle_e3m2x2_from_f32(x.x, x.y));
#endif
    return __nv_cvt_double2_to_fp6x2(make_double2(x.x, x.y), kind, rounding);
}
HEDDLE_SF __nv_fp6_storage_t __nv_cvt_float_to_fp6(const float x,
                                                   const __nv_fp6_interpretation_t kind,
                                                   const enum cudaRoundMode rounding)
{
    return __nv_cvt_double_to_fp6(x, kind, rounding);
}

#define HEDDLE_RAW(name, name2, raw, raw2)                                                         \
    HEDDLE_SF __nv_fp6_storage_t __nv_cvt_##name##_to_fp6(                                         \
        const raw x, const __nv_fp6_interpretation_t kind, const enum cudaRoundMode rounding)      \
    {                                                                                              \
        return __nv_cvt_float_to_fp6(heddle_raw_value(x), kind, rounding);                         \
    }                                                                                              \
    HEDDLE_SF __nv_fp6x2_storage_t __nv_cvt_##name2##_to_fp6x2(                                    \
        const raw2 x, const __nv_fp6_interpretation_t kind, const enum cudaRoundMode rounding)     \
    {                                                                                              \
        return __nv_cvt_float2_to_fp6x2(                                                           \
            make_float2(heddle_raw_value(raw{x.x}), heddle_raw_value(raw{x.y})), kind, rounding);  \
    }
HEDDLE_RAW(halfraw, halfraw2, __half_raw, __half2_raw)
HEDDLE_RAW(bfloat16raw, bfloat16raw2, __nv_bfloat16_raw, __nv_bfloat162_raw)
#undef HEDDLE_RAW

HEDDLE_SF __half_raw __nv_cvt_fp6_to_halfraw(const __nv_fp6_storage_t x,
                                             const __nv_fp6_interpretation_t kind)
{
    return heddle_raw_f16(kind == __NV_E2M3 ? heddle_e2m3_value(x) : heddle_e3m2_value(x));
}
HEDDLE_SF __half2_raw __nv_cvt_fp6x2_to_halfraw2(const __nv_fp6x2_storage_t x,
                                                 const __nv_fp6_interpretation_t kind)
{
    __half2_raw r;
#if HEDDLE_SF_HAS_SMALL
    unsigned int bits =
        kind == __NV_E2M3 ? heddle_f16x2_from_e2m3x2(x) : heddle_f16x2_from_e3m2x2(x);
    r.x = (unsigned short)bits;
    r.y = (unsigned short)(bits >> 16);
#else
    r.x = __nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)(x), kind).x;
    r.y = __nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)(x >> 8), kind).x;
#endif
    return r;
}

/* ---- classes: to nearest even */

HEDDLE_SF unsigned int heddle_fp6_bits(double x, __nv_fp6_interpretation_t kind)
{
    return __nv_cvt_double_to_fp6(x, kind, cudaRoundNearest);
}
HEDDLE_SF unsigned int heddle_fp6_bits(float x, float y, __nv_fp6_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp6x2(make_float2(x, y), kind, cudaRoundNearest);
}
HEDDLE_SF unsigned int heddle_fp6_bits(double x, double y, __nv_fp6_interpretation_t kind)
{
    return __nv_cvt_double2_to_fp6x2(make_double2(x, y), kind, cudaRoundNearest);
}
HEDDLE_SF float heddle_fp6_value(unsigned int bits, __nv_fp6_interpretation_t kind)
{
    return heddle_raw_value(__nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)bits, kind));
}

#define HEDDLE_STORE  __nv_fp6_storage_t
#define HEDDLE_STORE2 __nv_fp6x2_storage_t
#define HEDDLE_STORE4 __nv_fp6x4_storage_t
#define HEDDLE_ALIGN2 2
#define HEDDLE_ALIGN4 4
#define HEDDLE_BITS   8

#define HEDDLE_T             __nv_fp6_e2m3
#define HEDDLE_T2            __nv_fp6x2_e2m3
#define HEDDLE_T4            __nv_fp6x4_e2m3
#define HEDDLE_ENCODE(x)     heddle_fp6_bits(x, __NV_E2M3)
#define HEDDLE_ENCODE2(x, y) heddle_fp6_bits(x, y, __NV_E2M3)
#define HEDDLE_DECODE(x)     heddle_fp6_value(x, __NV_E2M3)
#include "heddle/small_type.inc"
#undef HEDDLE_DECODE
#undef HEDDLE_ENCODE2
#undef HEDDLE_ENCODE
#undef HEDDLE_T4
#undef HEDDLE_T2
#undef HEDDLE_T

#define HEDDLE_T             __nv_fp6_e3m2
#define HEDDLE_T2            __nv_fp6x2_e3m2
#define HEDDLE_T4            __nv_fp6x4_e3m2
#define HEDDLE_ENCODE(x)     heddle_fp6_bits(x, __NV_E3M2)
#define HEDDLE_ENCODE2(x, y) heddle_fp6_bits(x, y, __NV_E3M2)
#define HEDDLE_DECODE(x)     heddle_fp6_value(x, __NV_E3M2)
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
