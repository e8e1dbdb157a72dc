/*
 * 8-bit floating point: __nv_fp8_e4m3, __nv_fp8_e5m2 and the scale __nv_fp8_e8m0, alone and by two and four, and the
 * conversions of their bits (__nv_cvt_*). CUDA Math API manual, "FP8 Intrinsics".
 */
#if !defined(HEDDLE_CUDA_FP8_H) && !defined(__CUDA_FP8_H__)
#define HEDDLE_CUDA_FP8_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_FP8_H__

#include "cuda_runtime.h"

#if defined(__cplusplus)

#include "heddle/small_float.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short int __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

typedef enum __nv_fp8_interpretation_t {
    __NV_E4M3,
    __NV_E5M2,
} __nv_fp8_interpretation_t;

HEDDLE_SF unsigned int heddle_fp8_from(double x, __nv_saturation_t saturate,
                                       __nv_fp8_interpretation_t kind)
{
    bool sat = saturate == __NV_SATFINITE;
    return kind == __NV_E4M3 ? heddle_e4m3_from(x, sat, cudaRoundNearest)
                             : heddle_e5m2_from(x, sat, cudaRoundNearest);
}

/* From double alone, a NaN keeps its sign and is the first of the format's. */
HEDDLE_SF __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x,
                                                    const __nv_saturation_t saturate,
                                                    const __nv_fp8_interpretation_t kind)
{
    unsigned int sign = heddle_double_bits(x) >> 63 ? 0x80u : 0u;
    if (x != x)
        return (__nv_fp8_storage_t)(sign | (kind == __NV_E4M3 ? 0x7fu : 0x7eu));
    return (__nv_fp8_storage_t)heddle_fp8_from(x, saturate, kind);
}
HEDDLE_SF __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(const double2 x,
                                                         const __nv_saturation_t saturate,
                                                         const __nv_fp8_interpretation_t kind)
{
    return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_fp8(x.x, saturate, kind) |
                                  __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
HEDDLE_SF __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(const float2 x,
                                                        const __nv_saturation_t saturate,
                                                        const __nv_fp8_interpretation_t kind)
{
#if HEDDLE_SF_HAS_FP8
    if (saturate == __NV_SATFINITE)
        return (__nv_fp8x2_storage_t)(kind == __NV_E4M3 ? heddle_e4m3x2_from_f32(x.x, x.y)
                                                        : heddle_e5m2x2_from_f32(x.x, x.y));
#endif
    return (__nv_fp8x2_storage_t)(heddle_fp8_from(x.x, saturate, kind) |
                                  heddle_fp8_from(x.y, saturate, kind) << 8);
}
HEDDLE_SF __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x, const __nv_saturation_t saturate,
                                                   const __nv_fp8_interpretation_t kind)
{
#if HEDDLE_SF_HAS_FP8
    return (__nv_fp8_storage_t)__nv_cvt_float2_to_fp8x2(make_float2(x, 0.0f), saturate, kind);
#else
    return (__nv_fp8_storage_t)heddle_fp8_from(x, saturate, kind);
#endif
}

#define HEDDLE_RAW(name, name2, raw, raw2)                                                         \
    HEDDLE_SF __nv_fp8_storage_t __nv_cvt_##name##_to_fp8(                                         \
        const raw x, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)       \
    {                                                                                              \
        return __nv_cvt_float_to_fp8(heddle_raw_value(x), saturate, kind);                         \
    }                                                                                              \
    HEDDLE_SF __nv_fp8x2_storage_t __nv_cvt_##name2##_to_fp8x2(                                    \
        const raw2 x, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)      \
    {                                                                                              \
        return __nv_cvt_float2_to_fp8x2(                                                           \
            make_float2(heddle_raw_value(raw{x.x}), heddle_raw_value(raw{x.y})), saturate, kind);  \
    }
HEDDLE_RAW(halfraw, halfraw2, __half_raw, __half2_raw)
HEDDLE_RAW(bfloat16raw, bfloat16raw2, __nv_bfloat16_raw, __nv_bfloat162_raw)
#undef HEDDLE_RAW

/* Every value of both formats is a half. */
HEDDLE_SF __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x,
                                                 const __nv_fp8_interpretation_t kind)
{
    __half2_raw r;
#if HEDDLE_SF_HAS_FP8
    unsigned int bits =
        kind == __NV_E4M3 ? heddle_f16x2_from_e4m3x2(x) : heddle_f16x2_from_e5m2x2(x);
    r.x = (unsigned short)bits;
    r.y = (unsigned short)(bits >> 16);
#else
    unsigned int low = x & 0xffu, high = x >> 8 & 0xffu;
    r.x = heddle_raw_f16(kind == __NV_E4M3 ? heddle_e4m3_value(low) : heddle_e5m2_value(low)).x;
    r.y = heddle_raw_f16(kind == __NV_E4M3 ? heddle_e4m3_value(high) : heddle_e5m2_value(high)).x;
    /* As cvt gives it: the NaN without a sign. */
    r.x = (r.x & 0x7fff) > 0x7c00 ? 0x7fff : r.x;
    r.y = (r.y & 0x7fff) > 0x7c00 ? 0x7fff : r.y;
#endif
    return r;
}
HEDDLE_SF __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x,
                                             const __nv_fp8_interpretation_t kind)
{
    return __half_raw{__nv_cvt_fp8x2_to_halfraw2(x, kind).x};
}

/* ---- e8m0: powers of two from 2^-127 to 2^127, and NaN; signs are dropped */

HEDDLE_SF __nv_fp8_storage_t __nv_cvt_double_to_e8m0(const double x,
                                                     const __nv_saturation_t saturate,
                                                     const enum cudaRoundMode rounding)
{
    unsigned long long magnitude = heddle_double_bits(x) & ~(1ull << 63);
    unsigned int top = saturate == __NV_SATFINITE ? 0xfeu : 0xffu;

    if (magnitude > 0x7ffull << 52)
        return 0xff;
    int code = (int)(magnitude >> 52) - (1023 - 127);
    if (code < 0)
        return 0;
    if (rounding == cudaRoundPosInf && (magnitude & 0xfffffffffffffull))
        code++;
    return (__nv_fp8_storage_t)(code > 0xfe ? (int)top : code);
}
HEDDLE_SF __nv_fp8_storage_t __nv_cvt_float_to_e8m0(const float x, const __nv_saturation_t saturate,
                                                    const enum cudaRoundMode rounding)
{
    return __nv_cvt_double_to_e8m0(x, saturate, rounding);
}
HEDDLE_SF __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(const __nv_bfloat16_raw x,
                                                          const __nv_saturation_t saturate,
                                                          const enum cudaRoundMode rounding)
{
    return __nv_cvt_double_to_e8m0(heddle_raw_value(x), saturate, rounding);
}
#define HEDDLE_E8M0X2(name, name1, type, element)                                                  \
    HEDDLE_SF __nv_fp8x2_storage_t __nv_cvt_##name##_to_e8m0x2(                                    \
        const type x, const __nv_saturation_t saturate, const enum cudaRoundMode rounding)         \
    {                                                                                              \
        return (                                                                                   \
            __nv_fp8x2_storage_t)(__nv_cvt_##name1##_to_e8m0(element{x.x}, saturate, rounding) |   \
                                  __nv_cvt_##name1##_to_e8m0(element{x.y}, saturate, rounding)     \
                                      << 8);                                                       \
    }
HEDDLE_E8M0X2(double2, double, double2, double)
HEDDLE_E8M0X2(float2, float, float2, float)
HEDDLE_E8M0X2(bfloat162raw, bfloat16raw, __nv_bfloat162_raw, __nv_bfloat16_raw)
#undef HEDDLE_E8M0X2

/* The exponent of a bfloat16 is the code itself; 2^-127 is a subnormal, 255 the NaN. */
HEDDLE_SF __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x)
{
    return __nv_bfloat16_raw{(unsigned short)(x == 0 ? 0x40 : x == 0xff ? 0x7fff : x << 7)};
}
HEDDLE_SF __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x)
{
    __nv_bfloat162_raw r;
    r.x = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)x).x;
    r.y = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x >> 8)).x;
    return r;
}

/* ---- classes: their constructors stay at the largest finite value */

HEDDLE_SF float heddle_fp8_value(unsigned int bits, __nv_fp8_interpretation_t kind)
{
    return heddle_raw_value(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)bits, kind));
}
HEDDLE_SF unsigned int heddle_fp8_bits(float x, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind);
}
HEDDLE_SF unsigned int heddle_fp8_bits(double x, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind);
}
HEDDLE_SF unsigned int heddle_fp8_bits(float x, float y, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, kind);
}
HEDDLE_SF unsigned int heddle_fp8_bits(double x, double y, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_double2_to_fp8x2(make_double2(x, y), __NV_SATFINITE, kind);
}
HEDDLE_SF unsigned int heddle_e8m0_bits(double x)
{
    return __nv_cvt_double_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf);
}
HEDDLE_SF unsigned int heddle_e8m0_bits(double x, double y)
{
    return heddle_e8m0_bits(x) | heddle_e8m0_bits(y) << 8;
}

#define HEDDLE_STORE  __nv_fp8_storage_t
#define HEDDLE_STORE2 __nv_fp8x2_storage_t
#define HEDDLE_STORE4 __nv_fp8x4_storage_t
#define HEDDLE_ALIGN2 2
#define HEDDLE_ALIGN4 4
#define HEDDLE_BITS   8

#define HEDDLE_T             __nv_fp8_e4m3
#define HEDDLE_T2            __nv_fp8x2_e4m3
#define HEDDLE_T4            __nv_fp8x4_e4m3
#define HEDDLE_ENCODE(x)     heddle_fp8_bits(x, __NV_E4M3)
#define HEDDLE_ENCODE2(x, y) heddle_fp8_bits(x, y, __NV_E4M3)
#define HEDDLE_DECODE(x)     heddle_fp8_value(x, __NV_E4M3)
#include "heddle/small_type.inc"
#undef HEDDLE_DECODE
#undef HEDDLE_ENCODE2
#undef HEDDLE_ENCODE
#undef HEDDLE_T4
#undef HEDDLE_T2
#undef HEDDLE_T

#define HEDDLE_T             __nv_fp8_e5m2
#define HEDDLE_T2            __nv_fp8x2_e5m2
#define HEDDLE_T4            __nv_fp8x4_e5m2
#define HEDDLE_ENCODE(x)     heddle_fp8_bits(x, __NV_E5M2)
#define HEDDLE_ENCODE2(x, y) heddle_fp8_bits(x, y, __NV_E5M2)
#define HEDDLE_DECODE(x)     heddle_fp8_value(x, __NV_E5M2)
#include "heddle/small_type.inc"
#undef HEDDLE_DECODE
#undef HEDDLE_ENCODE2
#undef HEDDLE_ENCODE
#undef HEDDLE_T4
#undef HEDDLE_T2
#undef HEDDLE_T

#define HEDDLE_T             __nv_fp8_e8m0
#define HEDDLE_T2            __nv_fp8x2_e8m0
#define HEDDLE_T4            __nv_fp8x4_e8m0
#define HEDDLE_ENCODE(x)     heddle_e8m0_bits(x)
#define HEDDLE_ENCODE2(x, y) heddle_e8m0_bits(x, y)
#define HEDDLE_DECODE(x)     heddle_raw_value(__nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x)))
#define HEDDLE_TO_BF162      1
#include "heddle/small_type.inc"
#undef HEDDLE_TO_BF162
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
