/*
 * bfloat16: __nv_bfloat16 and __nv_bfloat162, with arithmetic, comparisons, conversions, functions,
 * shuffles and atomics under their CUDA names. Hosts without clang have all but what needs a device.
 */
#if !defined(HEDDLE_CUDA_BF16_H) && !defined(__CUDA_BF16_H__)
#define HEDDLE_CUDA_BF16_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define __CUDA_BF16_H__

#include "cuda_fp16.h"
#include "cuda_runtime.h"

#if defined(__cplusplus)

/*
 * The bits of a float or double rounded to nearest even. The host's compiler library has no such
 * conversion before gcc 13, so there it is done on the bits: add half a unit less one, plus the last
 * kept bit. From double, the float in between is rounded to odd, which makes the second rounding exact.
 */
static __inline__ __host__ __device__ unsigned short heddle_bits_bf16(float f)
{
#if defined(__CUDA_ARCH__)
    unsigned short bits;
    __bf16 n = (__bf16)f;
    __builtin_memcpy(&bits, &n, 2);
    return bits;
#else
    unsigned int u;
    __builtin_memcpy(&u, &f, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
#endif
}
static __inline__ __host__ __device__ unsigned short heddle_bits_bf16(double d)
{
    float f = (float)d;
    unsigned int u;
    __builtin_memcpy(&u, &f, 4);
    if ((double)f != d && d == d && !(u & 1u))
        u = ((double)f < d) == (d > 0.0) ? u + 1u : u - 1u;
    __builtin_memcpy(&f, &u, 4);
    return heddle_bits_bf16(f);
}
/* An odd place where a double has none left: it says that something was there, and is no tie. */
#define HEDDLE_INTEGER(type)                                                                       \
    static __inline__ __host__ __device__ unsigned short heddle_bits_bf16(type v)                  \
    {                                                                                              \
        if ((v & 0x7ff) && (v < 1 ? v < (type)-(1ll << 53) : v > (type)(1ll << 53)))               \
            v = (v & ~(type)0x7ff) | 0x800;                                                        \
        return heddle_bits_bf16((double)v);                                                        \
    }
HEDDLE_INTEGER(long)
HEDDLE_INTEGER(unsigned long)
HEDDLE_INTEGER(long long)
HEDDLE_INTEGER(unsigned long long)
#undef HEDDLE_INTEGER
#define HEDDLE_INTEGER(type)                                                                       \
    static __inline__ __host__ __device__ unsigned short heddle_bits_bf16(type v)                  \
    {                                                                                              \
        return heddle_bits_bf16((double)v);                                                        \
    }
HEDDLE_INTEGER(short)
HEDDLE_INTEGER(unsigned short)
HEDDLE_INTEGER(int)
HEDDLE_INTEGER(unsigned int)
#undef HEDDLE_INTEGER

/* The value of such bits. */
static __inline__ __host__ __device__ float heddle_float_bf16(unsigned short bits)
{
#if defined(__CUDA_ARCH__)
    __bf16 n;
    __builtin_memcpy(&n, &bits, 2);
    return (float)n;
#else /* clang makes -(float)n a call of a library that programs do not have */
    unsigned int wide = (unsigned int)bits << 16;
    float f;
    __builtin_memcpy(&f, &wide, 4);
    return f;
#endif
}

/* The bits alone, for unions and shared memory. */
struct __align__(2) __nv_bfloat16_raw {
    unsigned short x;
};
struct __align__(4) __nv_bfloat162_raw {
    unsigned short x;
    unsigned short y;
};

struct __align__(2) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __host__ __device__ constexpr __nv_bfloat16(const __nv_bfloat16_raw &raw) : __x(raw.x)
    {
    }
    __host__ __device__ operator __nv_bfloat16_raw() const
    {
        __nv_bfloat16_raw raw = {__x};
        return raw;
    }
    __host__ __device__ operator __nv_bfloat16_raw() const volatile
    {
        __nv_bfloat16_raw raw = {__x};
        return raw;
    }
    __host__ __device__ __nv_bfloat16 &operator=(const __nv_bfloat16_raw &raw)
    {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ volatile __nv_bfloat16 &operator=(const __nv_bfloat16_raw &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ volatile __nv_bfloat16 &
    operator=(const volatile __nv_bfloat16_raw &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
    __host__ __device__ explicit __nv_bfloat16(__half h)
    {
        __x = heddle_bits_bf16(heddle_float_f16(h.__x));
    }
    __host__ __device__ __nv_bfloat16(float f)
    {
        __x = heddle_bits_bf16(f);
    }
    __host__ __device__ __nv_bfloat16(double f)
    {
        __x = heddle_bits_bf16(f);
    }
#define HEDDLE_INTEGER(type)                                                                       \
    __host__ __device__ __nv_bfloat16(type v)                                                      \
    {                                                                                              \
        __x = heddle_bits_bf16(v);                                                                 \
    }                                                                                              \
    __host__ __device__ operator type() const                                                      \
    {                                                                                              \
        return (type)(float)*this;                                                                 \
    }                                                                                              \
    __host__ __device__ __nv_bfloat16 &operator=(type v)                                           \
    {                                                                                              \
        return *this = __nv_bfloat16(v);                                                           \
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
        return heddle_float_bf16(__x);
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
    __host__ __device__ __nv_bfloat16 &operator=(float f)
    {
        return *this = __nv_bfloat16(f);
    }
    __host__ __device__ __nv_bfloat16 &operator=(double f)
    {
        return *this = __nv_bfloat16(f);
    }
#endif
};

#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
inline __host__ __device__ __half::__half(__nv_bfloat16 f)
{
    __x = heddle_bits_f16(heddle_float_bf16(f.__x));
}
#endif

struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x;
    __nv_bfloat16 y;

    __nv_bfloat162() = default;
    __host__ __device__ constexpr __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b)
        : x(a), y(b)
    {
    }
    __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw &raw)
    {
        x.__x = raw.x;
        y.__x = raw.y;
    }
    __host__ __device__ operator __nv_bfloat162_raw() const
    {
        __nv_bfloat162_raw raw = {x.__x, y.__x};
        return raw;
    }
};

#define HEDDLE_H               __nv_bfloat16
#define HEDDLE_H2              __nv_bfloat162
#define HEDDLE_N               __bf16
#define HEDDLE_V               heddle_bf16x2
#define HEDDLE_RAW             __nv_bfloat16_raw
#define HEDDLE_BITS            heddle_bits_bf16
#define HEDDLE_FLOAT           heddle_float_bf16
#define HEDDLE_PTX             "bf16"
#define HEDDLE_ATOMIC_ARCH     900
#define HEDDLE_ATOMIC_CAS_ARCH 800
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define HEDDLE_OPERATORS 1
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
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
template <typename _Number> HEDDLE_HALF_HD __nv_bfloat16 heddle_bf16(_Number v)
{
    __nv_bfloat16_raw raw = {heddle_bits_bf16(v)};
    return __nv_bfloat16(raw);
}
HEDDLE_HALF_HD __nv_bfloat16 __float2bfloat16(float f)
{
    return heddle_bf16(f);
}
HEDDLE_HALF_HD __nv_bfloat16 __float2bfloat16_rn(float f)
{
    return heddle_bf16(f);
}
HEDDLE_HALF_HD __nv_bfloat16 __double2bfloat16(double f)
{
    return heddle_bf16(f);
}
HEDDLE_HALF_HD float __bfloat162float(__nv_bfloat16 a)
{
    return heddle_to_float(a);
}
HEDDLE_HALF_HD __nv_bfloat162 __float2bfloat162_rn(float f)
{
    return __nv_bfloat162(heddle_bf16(f), heddle_bf16(f));
}
HEDDLE_HALF_HD __nv_bfloat162 __floats2bfloat162_rn(float f, float g)
{
    return __nv_bfloat162(heddle_bf16(f), heddle_bf16(g));
}
HEDDLE_HALF_HD __nv_bfloat162 __float22bfloat162_rn(float2 v)
{
    return __nv_bfloat162(heddle_bf16(v.x), heddle_bf16(v.y));
}
HEDDLE_HALF_HD float2 __bfloat1622float2(__nv_bfloat162 a)
{
    return make_float2(heddle_to_float(a.x), heddle_to_float(a.y));
}
HEDDLE_HALF_HD float __low2float(__nv_bfloat162 a)
{
    return heddle_to_float(a.x);
}
HEDDLE_HALF_HD float __high2float(__nv_bfloat162 a)
{
    return heddle_to_float(a.y);
}
HEDDLE_HALF_HD __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a)
{
    return a.x;
}
HEDDLE_HALF_HD __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a)
{
    return a.y;
}
HEDDLE_HALF_HD __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a)
{
    return __nv_bfloat162(a, a);
}
HEDDLE_HALF_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __nv_bfloat162(a, b);
}
HEDDLE_HALF_HD __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a)
{
    return __nv_bfloat162(a.x, a.x);
}
HEDDLE_HALF_HD __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a)
{
    return __nv_bfloat162(a.y, a.y);
}
HEDDLE_HALF_HD __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return __nv_bfloat162(a.x, b.x);
}
HEDDLE_HALF_HD __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return __nv_bfloat162(a.y, b.y);
}
HEDDLE_HALF_HD __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return __nv_bfloat162(a, b);
}
HEDDLE_HALF_HD unsigned short __bfloat16_as_ushort(__nv_bfloat16 a)
{
    return a.__x;
}
HEDDLE_HALF_HD short __bfloat16_as_short(__nv_bfloat16 a)
{
    return (short)a.__x;
}
HEDDLE_HALF_HD __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16_raw raw = {bits};
    return __nv_bfloat16(raw);
}
HEDDLE_HALF_HD __nv_bfloat16 __short_as_bfloat16(short bits)
{
    __nv_bfloat16_raw raw = {(unsigned short)bits};
    return __nv_bfloat16(raw);
}

/*
 * Float to 16 bits in the other rounding modes: round to nearest, then step by one unit when that went
 * the wrong way. Finite values never step over the infinities' neighbours by themselves.
 */
HEDDLE_HALF_HD __nv_bfloat16 heddle_bf16_step(__nv_bfloat16 a, int up)
{
    unsigned short bits = a.__x;
    if ((bits & 0x7fff) == 0)
        bits = up ? 0x0001 : 0x8001;
    else
        bits = (unsigned short)(((bits >> 15) != 0) == (up != 0) ? bits - 1 : bits + 1);
    return __ushort_as_bfloat16(bits);
}
HEDDLE_HALF_HD __nv_bfloat16 __float2bfloat16_ru(float f)
{
    __nv_bfloat16 a = heddle_bf16(f);
    return heddle_to_float(a) < f ? heddle_bf16_step(a, 1) : a;
}
HEDDLE_HALF_HD __nv_bfloat16 __float2bfloat16_rd(float f)
{
    __nv_bfloat16 a = heddle_bf16(f);
    return heddle_to_float(a) > f ? heddle_bf16_step(a, 0) : a;
}
HEDDLE_HALF_HD __nv_bfloat16 __float2bfloat16_rz(float f)
{
    return f < 0.0f ? __float2bfloat16_ru(f) : __float2bfloat16_rd(f);
}

/* How a value compares that an integer, given by sign and bits, was rounded to: <, =, > 0. */
HEDDLE_HALF_HD int heddle_bf16_compare(float rounded, bool is_negative, unsigned long long bits)
{
    unsigned long long magnitude = is_negative ? 0ull - bits : bits;
    float r = is_negative ? -rounded : rounded;
    bool is_above = r >= 18446744073709551616.0f || (unsigned long long)r > magnitude;
    bool is_below = !is_above && (unsigned long long)r < magnitude;
    return is_negative ? is_below - is_above : is_above - is_below;
}

/* Integers. Results outside the integer's range saturate, a NaN gives 0, as cvt does. */
#define HEDDLE_INTEGER(name, type)                                                                 \
    HEDDLE_HALF_DEV type __bfloat162##name##_rn(__nv_bfloat16 a)                                   \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_rintf(heddle_to_float(a)));                             \
    }                                                                                              \
    HEDDLE_HALF_DEV type __bfloat162##name##_rz(__nv_bfloat16 a)                                   \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_truncf(heddle_to_float(a)));                            \
    }                                                                                              \
    HEDDLE_HALF_DEV type __bfloat162##name##_rd(__nv_bfloat16 a)                                   \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_floorf(heddle_to_float(a)));                            \
    }                                                                                              \
    HEDDLE_HALF_DEV type __bfloat162##name##_ru(__nv_bfloat16 a)                                   \
    {                                                                                              \
        return heddle_cvt_##name(__builtin_ceilf(heddle_to_float(a)));                             \
    }                                                                                              \
    HEDDLE_HALF_HD __nv_bfloat16 __##name##2bfloat16_rn(type v)                                    \
    {                                                                                              \
        return heddle_bf16(v);                                                                     \
    }                                                                                              \
    HEDDLE_HALF_HD __nv_bfloat16 __##name##2bfloat16_rd(type v)                                    \
    {                                                                                              \
        __nv_bfloat16 a = heddle_bf16(v);                                                          \
        bool is_above = heddle_bf16_compare(heddle_to_float(a), v < 1, (unsigned long long)v) > 0; \
        return is_above ? heddle_bf16_step(a, 0) : a;                                              \
    }                                                                                              \
    HEDDLE_HALF_HD __nv_bfloat16 __##name##2bfloat16_ru(type v)                                    \
    {                                                                                              \
        __nv_bfloat16 a = heddle_bf16(v);                                                          \
        bool is_below = heddle_bf16_compare(heddle_to_float(a), v < 1, (unsigned long long)v) < 0; \
        return is_below ? heddle_bf16_step(a, 1) : a;                                              \
    }                                                                                              \
    HEDDLE_HALF_HD __nv_bfloat16 __##name##2bfloat16_rz(type v)                                    \
    {                                                                                              \
        return v < 1 && v != 0 ? __##name##2bfloat16_ru(v) : __##name##2bfloat16_rd(v);            \
    }
HEDDLE_INTEGER(int, int)
HEDDLE_INTEGER(uint, unsigned int)
HEDDLE_INTEGER(short, short)
HEDDLE_INTEGER(ushort, unsigned short)
HEDDLE_INTEGER(ll, long long)
HEDDLE_INTEGER(ull, unsigned long long)
#undef HEDDLE_INTEGER
HEDDLE_HALF_HD signed char __bfloat162char_rz(__nv_bfloat16 a)
{
    return heddle_cvt_char(__builtin_truncf(heddle_to_float(a)));
}
HEDDLE_HALF_HD unsigned char __bfloat162uchar_rz(__nv_bfloat16 a)
{
    return heddle_cvt_uchar(__builtin_truncf(heddle_to_float(a)));
}

#undef HEDDLE_HALF_DEV
#undef HEDDLE_HALF_HD

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16        __ushort_as_bfloat16((unsigned short)0x7f80u)
#define CUDART_NAN_BF16        __ushort_as_bfloat16((unsigned short)0x7fffu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7fu)
#define CUDART_NEG_ZERO_BF16   __ushort_as_bfloat16((unsigned short)0x8000u)
#define CUDART_ZERO_BF16       __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_ONE_BF16        __ushort_as_bfloat16((unsigned short)0x3f80u)

#endif

#endif
