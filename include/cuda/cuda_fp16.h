/*
 * Half precision: __half (binary16) and __half2, with arithmetic, comparisons, conversions, functions,
 * shuffles and atomics under their CUDA names. Hosts without clang have all but what needs a device.
 */
#if !defined(HEDDLE_CUDA_FP16_H) && !defined(__CUDA_FP16_H__)
#define HEDDLE_CUDA_FP16_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_FP16_H__

#include "cuda_runtime.h"

#if defined(__cplusplus)
#include "heddle/half_integer.h"
/* libnvrtc's programs do not see which compiler it is. */
#if defined(__clang__) || defined(__CUDACC_RTC__)
#define HEDDLE_IS_CLANG 1
#else
#define HEDDLE_IS_CLANG 0
#include "heddle/half_bits.h"
#endif

/* The bits of a float or double rounded to nearest even. */
static __inline__ __host__ __device__ unsigned short heddle_bits_f16(double d)
{
#if HEDDLE_IS_CLANG
    unsigned short bits;
    _Float16 n = (_Float16)d;
    __builtin_memcpy(&bits, &n, 2);
    return bits;
#else
    return heddle_f16_round(d);
#endif
}
static __inline__ __host__ __device__ unsigned short heddle_bits_f16(float f)
{
#if HEDDLE_IS_CLANG
    unsigned short bits;
    _Float16 n = (_Float16)f;
    __builtin_memcpy(&bits, &n, 2);
    return bits;
#else
    return heddle_f16_round(f);
#endif
}
#define HEDDLE_INTEGER(type)                                                                       \
    static __inline__ __host__ __device__ unsigned short heddle_bits_f16(type v)                   \
    {                                                                                              \
        return heddle_bits_f16((double)v);                                                         \
    }
HEDDLE_INTEGER(short)
HEDDLE_INTEGER(unsigned short)
HEDDLE_INTEGER(int)
HEDDLE_INTEGER(unsigned int)
HEDDLE_INTEGER(long)
HEDDLE_INTEGER(unsigned long)
HEDDLE_INTEGER(long long)
HEDDLE_INTEGER(unsigned long long)
#undef HEDDLE_INTEGER

/* The value of such bits. */
static __inline__ __host__ __device__ float heddle_float_f16(unsigned short bits)
{
#if HEDDLE_IS_CLANG
    _Float16 n;
    __builtin_memcpy(&n, &bits, 2);
    return (float)n;
#else
    return heddle_f16_value(bits);
#endif
}

/* The bits alone, for unions and shared memory. */
struct __align__(2) __half_raw {
    unsigned short x;
};
struct __align__(4) __half2_raw {
    unsigned short x;
    unsigned short y;
};

struct __nv_bfloat16;

struct __align__(2) __half {
    unsigned short __x;

    __half() = default;
    __host__ __device__ constexpr __half(const __half_raw &raw) : __x(raw.x)
    {
    }
    __host__ __device__ operator __half_raw() const
    {
        __half_raw raw = {__x};
        return raw;
    }
    __host__ __device__ operator __half_raw() const volatile
    {
        __half_raw raw = {__x};
        return raw;
    }
    __host__ __device__ __half &operator=(const __half_raw &raw)
    {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ volatile __half &operator=(const __half_raw &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ volatile __half &operator=(const volatile __half_raw &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
    __host__ __device__ explicit __half(__nv_bfloat16 f); /* in cuda_bf16.h */
    __host__ __device__ __half(float f)
    {
        __x = heddle_bits_f16(f);
    }
    __host__ __device__ __half(double f)
    {
        __x = heddle_bits_f16(f);
    }
#define HEDDLE_INTEGER(type)                                                                       \
    __host__ __device__ __half(type v)                                                             \
    {                                                                                              \
        __x = heddle_bits_f16(v);                                                                  \
    }                                                                                              \
    __host__ __device__ operator type() const                                                      \
    {                                                                                              \
        return (type)(float)*this;                                                                 \
    }                                                                                              \
    __host__ __device__ __half &operator=(type v)                                                  \
    {                                                                                              \
        return *this = __half(v);                                                                  \
    }
    HEDDLE_INTEGER(short)
    HEDDLE_INTEGER(unsigned short)
    HEDDLE_INTEGER(int)
    HEDDLE_INTEGER(unsigned int)
    HEDDLE_INTEGER(long)
    HEDDLE_INTEGER(unsigned long)
    HEDDLE_INTEGER(long long)
    HEDDLE_INTEGER(unsigned long long)
#undef HEDDLE_INTEGER
    __host__ __device__ operator float() const
    {
        return heddle_float_f16(__x);
    }
    __host__ __device__ operator char() const
    {
        return (char)heddle_cvt_char(__builtin_truncf((float)*this));
    }
    __host__ __device__ operator signed char() const
    {
        return heddle_cvt_char(__builtin_truncf((float)*this));
    }
    __host__ __device__ operator unsigned char() const
    {
        return heddle_cvt_uchar(__builtin_truncf((float)*this));
    }
    __host__ __device__ operator bool() const
    {
        return (__x & 0x7fff) != 0;
    }
    __host__ __device__ __half &operator=(float f)
    {
        return *this = __half(f);
    }
    __host__ __device__ __half &operator=(double f)
    {
        return *this = __half(f);
    }
#endif
};

struct __align__(4) __half2 {
    __half x;
    __half y;

    __half2() = default;
    __host__ __device__ constexpr __half2(const __half &a, const __half &b) : x(a), y(b)
    {
    }
    __host__ __device__ __half2(const __half2_raw &raw)
    {
        x.__x = raw.x;
        y.__x = raw.y;
    }
    __host__ __device__ operator __half2_raw() const
    {
        __half2_raw raw = {x.__x, y.__x};
        return raw;
    }
};

#define HEDDLE_H               __half
#define HEDDLE_H2              __half2
#define HEDDLE_N               _Float16
#define HEDDLE_V               heddle_f16x2
#define HEDDLE_RAW             __half_raw
#define HEDDLE_BITS            heddle_bits_f16
#define HEDDLE_FLOAT           heddle_float_f16
#define HEDDLE_PTX             "f16"
#define HEDDLE_ATOMIC_ARCH     700
#define HEDDLE_ATOMIC_CAS_ARCH 700
#if !defined(__CUDA_NO_HALF_OPERATORS__)
#define HEDDLE_OPERATORS 1
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
#define HEDDLE_OPERATORS2 1
#endif
#include "heddle/half_ops.inc"
#undef HEDDLE_H
#undef HEDDLE_H2
#undef HEDDLE_N
#undef HEDDLE_V
#undef HEDDLE_RAW
#undef HEDDLE_PTX
#undef HEDDLE_BITS
#undef HEDDLE_FLOAT
#undef HEDDLE_OPERATORS
#undef HEDDLE_OPERATORS2
#undef HEDDLE_ATOMIC_ARCH
#undef HEDDLE_ATOMIC_CAS_ARCH

#define HEDDLE_HALF_HD  static __inline__ __host__ __device__ __attribute__((unused, always_inline))
#define HEDDLE_HALF_DEV static __device__ __forceinline__

/* Conversions, which the classes may be without. */
template <typename _Number> HEDDLE_HALF_HD __half heddle_f16(_Number v)
{
    __half_raw raw = {heddle_bits_f16(v)};
    return __half(raw);
}
HEDDLE_HALF_HD __half __float2half(float f)
{
    return heddle_f16(f);
}
HEDDLE_HALF_HD __half __float2half_rn(float f)
{
    return heddle_f16(f);
}
HEDDLE_HALF_HD __half __double2half(double f)
{
    return heddle_f16(f);
}
HEDDLE_HALF_HD float __half2float(__half a)
{
    return heddle_to_float(a);
}
HEDDLE_HALF_HD __half2 __float2half2_rn(float f)
{
    return __half2(heddle_f16(f), heddle_f16(f));
}
HEDDLE_HALF_HD __half2 __floats2half2_rn(float f, float g)
{
    return __half2(heddle_f16(f), heddle_f16(g));
}
HEDDLE_HALF_HD __half2 __float22half2_rn(float2 v)
{
    return __half2(heddle_f16(v.x), heddle_f16(v.y));
}
HEDDLE_HALF_HD float2 __half22float2(__half2 a)
{
    return make_float2(heddle_to_float(a.x), heddle_to_float(a.y));
}
HEDDLE_HALF_HD float __low2float(__half2 a)
{
    return heddle_to_float(a.x);
}
HEDDLE_HALF_HD float __high2float(__half2 a)
{
    return heddle_to_float(a.y);
}
HEDDLE_HALF_HD __half __low2half(__half2 a)
{
    return a.x;
}
HEDDLE_HALF_HD __half __high2half(__half2 a)
{
    return a.y;
}
HEDDLE_HALF_HD __half2 __half2half2(__half a)
{
    return __half2(a, a);
}
HEDDLE_HALF_HD __half2 __halves2half2(__half a, __half b)
{
    return __half2(a, b);
}
HEDDLE_HALF_HD __half2 __low2half2(__half2 a)
{
    return __half2(a.x, a.x);
}
HEDDLE_HALF_HD __half2 __high2half2(__half2 a)
{
    return __half2(a.y, a.y);
}
HEDDLE_HALF_HD __half2 __lows2half2(__half2 a, __half2 b)
{
    return __half2(a.x, b.x);
}
HEDDLE_HALF_HD __half2 __highs2half2(__half2 a, __half2 b)
{
    return __half2(a.y, b.y);
}
HEDDLE_HALF_HD __half2 make_half2(__half a, __half b)
{
    return __half2(a, b);
}
HEDDLE_HALF_HD unsigned short __half_as_ushort(__half a)
{
    return a.__x;
}
HEDDLE_HALF_HD short __half_as_short(__half a)
{
    return (short)a.__x;
}
HEDDLE_HALF_HD __half __ushort_as_half(unsigned short bits)
{
    __half_raw raw = {bits};
    return __half(raw);
}
HEDDLE_HALF_HD __half __short_as_half(short bits)
{
    __half_raw raw = {(unsigned short)bits};
    return __half(raw);
}

/*
 * Float to 16 bits in the other rounding modes: round to nearest, then step by one unit when that went
 * the wrong way. Finite values never step over the infinities' neighbours by themselves.
 */
HEDDLE_HALF_HD __half heddle_f16_step(__half a, int up)
{
    unsigned short bits = a.__x;
    if ((bits & 0x7fff) == 0)
        bits = up ? 0x0001 : 0x8001;
    else
        bits = (unsigned short)(((bits >> 15) != 0) == (up != 0) ? bits - 1 : bits + 1);
    return __ushort_as_half(bits);
}
HEDDLE_HALF_HD __half __float2half_ru(float f)
{
    __half a = heddle_f16(f);
    return heddle_to_float(a) < f ? heddle_f16_step(a, 1) : a;
}
HEDDLE_HALF_HD __half __float2half_rd(float f)
{
    __half a = heddle_f16(f);
    return heddle_to_float(a) > f ? heddle_f16_step(a, 0) : a;
}
HEDDLE_HALF_HD __half __float2half_rz(float f)
{
    return f < 0.0f ? __float2half_ru(f) : __float2half_rd(f);
}

/* Is a half, which the integer was rounded to, above it? */
HEDDLE_HALF_HD bool heddle_f16_above(float rounded, long long v)
{
    return rounded > 65504.0f || (rounded >= -65504.0f && (long long)rounded > v);
}
HEDDLE_HALF_HD bool heddle_f16_below(float rounded, long long v)
{
    return rounded < -65504.0f || (rounded <= 65504.0f && (long long)rounded < v);
}

/* Integers. Results outside the integer's range saturate, a NaN gives 0, as cvt does. */
#define HEDDLE_INTEGER(name, type)                                                                 \
    HEDDLE_HALF_DEV type __half2##name##_rn(__half a)                                              \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_rintf(heddle_to_float(a)));                             \
    }                                                                                              \
    HEDDLE_HALF_DEV type __half2##name##_rz(__half a)                                              \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_truncf(heddle_to_float(a)));                            \
    }                                                                                              \
    HEDDLE_HALF_DEV type __half2##name##_rd(__half a)                                              \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_floorf(heddle_to_float(a)));                            \
    }                                                                                              \
    HEDDLE_HALF_DEV type __half2##name##_ru(__half a)                                              \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_ceilf(heddle_to_float(a)));                             \
    }                                                                                              \
    HEDDLE_HALF_HD __half __##name##2half_rn(type v)                                               \
    {                                                                                              \
        return heddle_f16(v);                                                                      \
    }                                                                                              \
    HEDDLE_HALF_HD __half __##name##2half_rd(type v)                                               \
    {                                                                                              \
        __half a = heddle_f16(v);                                                                  \
        return heddle_f16_above(heddle_to_float(a), (long long)v) ? heddle_f16_step(a, 0) : a;     \
    }                                                                                              \
    HEDDLE_HALF_HD __half __##name##2half_ru(type v)                                               \
    {                                                                                              \
        __half a = heddle_f16(v);                                                                  \
        return heddle_f16_below(heddle_to_float(a), (long long)v) ? heddle_f16_step(a, 1) : a;     \
    }                                                                                              \
    HEDDLE_HALF_HD __half __##name##2half_rz(type v)                                               \
    {                                                                                              \
        return v < 1 && v != 0 ? __##name##2half_ru(v) : __##name##2half_rd(v);                    \
    }
HEDDLE_INTEGER(int, int)
HEDDLE_INTEGER(uint, unsigned int)
HEDDLE_INTEGER(short, short)
HEDDLE_INTEGER(ushort, unsigned short)
HEDDLE_INTEGER(ll, long long)
HEDDLE_INTEGER(ull, unsigned long long)
#undef HEDDLE_INTEGER
HEDDLE_HALF_HD signed char __half2char_rz(__half a)
{
    return heddle_cvt_char(__builtin_truncf(heddle_to_float(a)));
}
HEDDLE_HALF_HD unsigned char __half2uchar_rz(__half a)
{
    return heddle_cvt_uchar(__builtin_truncf(heddle_to_float(a)));
}

#undef HEDDLE_HALF_DEV
#undef HEDDLE_HALF_HD

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16        __ushort_as_half((unsigned short)0x7c00u)
#define CUDART_NAN_FP16        __ushort_as_half((unsigned short)0x7fffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffu)
#define CUDART_NEG_ZERO_FP16   __ushort_as_half((unsigned short)0x8000u)
#define CUDART_ZERO_FP16       __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16        __ushort_as_half((unsigned short)0x3c00u)

#endif

#endif
