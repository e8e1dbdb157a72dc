/*
 * Floating point of 8, 6 and 4 bits: rounding to it and what its bits mean, exactly, for host and device.
 * cuda_fp8.h, cuda_fp6.h and cuda_fp4.h are made of these. Formats: OCP Microscaling Formats (MX) 1.0 and
 * OCP 8-bit Floating Point 1.0; what happens beyond the largest value: CUDA Math API manual.
 *
 * Everything starts from a double, which holds every value of the wider types exactly: one rounding only.
 */
#ifndef HEDDLE_CUDA_SMALL_FLOAT_H
#define HEDDLE_CUDA_SMALL_FLOAT_H

#include "cuda_runtime.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"

#define HEDDLE_SF static __inline__ __host__ __device__ __attribute__((unused))

/* The instructions that convert fp8, and those for the smaller types and e8m0, which only some targets have. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define HEDDLE_SF_HAS_FP8 1
#else
#define HEDDLE_SF_HAS_FP8 0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 &&                                             \
    (defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__))
#define HEDDLE_SF_HAS_SMALL 1
#else
#define HEDDLE_SF_HAS_SMALL 0
#endif

/* What to do beyond the largest finite value: as the type's own arithmetic would, or stay at that value. */
typedef enum __nv_saturation_t {
    __NV_NOSAT,
    __NV_SATFINITE,
} __nv_saturation_t;

/* A format: sign, exponent and mantissa from the top down. */
struct heddle_small {
    int man_bits, bias;
    unsigned int sign, max; /* the sign's bit, the largest finite magnitude */
    unsigned int over, nan; /* magnitudes that stand for overflow without saturation, and for NaN */
};

/* name, mantissa bits, bias, sign, largest, overflow, NaN. Types without NaN have its magnitude as the manual says. */
#define HEDDLE_SMALL_FORMATS(X)                                                                    \
    X(e4m3, 3, 7, 0x80u, 0x7eu, 0x7fu, 0x7fu)                                                      \
    X(e5m2, 2, 15, 0x80u, 0x7bu, 0x7cu, 0x7fu)                                                     \
    X(e2m3, 3, 1, 0x20u, 0x1fu, 0x1fu, 0x1fu)                                                      \
    X(e3m2, 2, 3, 0x20u, 0x1fu, 0x1fu, 0x1fu)                                                      \
    X(e2m1, 1, 1, 0x08u, 0x07u, 0x07u, 0x07u)

/* Whether q + rem/tie/2 goes up to q + 1; tie is half a unit of q. */
HEDDLE_SF bool heddle_small_up(enum cudaRoundMode mode, bool negative, unsigned long long q,
                               unsigned long long rem, unsigned long long tie)
{
    switch (mode) {
    case cudaRoundZero:
        return false;
    case cudaRoundPosInf:
        return rem && !negative;
    case cudaRoundMinInf:
        return rem && negative;
    default:
        return rem > tie || (rem == tie && (q & 1));
    }
}

/* The rounded magnitude of a finite double, counted in codes: more than the largest is an overflow. */
HEDDLE_SF unsigned int heddle_small_magnitude(unsigned long long bits, int man_bits, int bias,
                                              enum cudaRoundMode mode)
{
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - bias;
    unsigned long long sig = bits & 0xfffffffffffffull;

    if (exponent == -1023)
        exponent++;
    else
        sig |= 1ull << 52;
    if (exponent > 512)
        exponent = 512;
    int shift = 52 - man_bits + (exponent < least ? least - exponent : 0);
    if (shift > 60)
        shift = 60;
    unsigned long long q = sig >> shift, tie = 1ull << (shift - 1);
    if (heddle_small_up(mode, bits >> 63, q, sig & (2 * tie - 1), tie))
        q++;
    return (unsigned int)q + (exponent > least ? (unsigned int)(exponent - least) << man_bits : 0u);
}

HEDDLE_SF unsigned long long heddle_double_bits(double x)
{
    unsigned long long bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

HEDDLE_SF unsigned int heddle_small_from(struct heddle_small f, double x, bool saturate,
                                         enum cudaRoundMode mode)
{
    unsigned long long bits = heddle_double_bits(x), magnitude = bits & ~(1ull << 63);
    unsigned int sign = bits >> 63 ? f.sign : 0, code = f.max + 1;

    if (magnitude > 0x7ffull << 52)
        return f.nan;
    if (magnitude < 0x7ffull << 52)
        code = heddle_small_magnitude(bits, f.man_bits, f.bias, mode);
    if (code > f.max)
        code = saturate ? f.max : f.over;
    return sign | code;
}

/* The value; of fp8 its infinities and NaN too. In double, whose subnormals no option flushes. */
HEDDLE_SF double heddle_small_value(struct heddle_small f, unsigned int code)
{
    unsigned int magnitude = code & (f.sign - 1);
    unsigned long long bits = (unsigned long long)magnitude << (52 - f.man_bits);
    unsigned long long scale = (unsigned long long)(2046 - f.bias) << 52;
    double value, by;

    if (magnitude > f.max)
        bits = magnitude == f.over && f.over != f.nan ? 0x7ffull << 52 : 0x7ff8ull << 48;
    __builtin_memcpy(&value, &bits, sizeof(value));
    __builtin_memcpy(&by, &scale, sizeof(by));
    value *= magnitude > f.max ? 1.0 : by;
    return code & f.sign ? -value : value;
}

/* heddle_e4m3_from(x, saturate, mode), heddle_e4m3_value(code) ... */
#define HEDDLE_SMALL_FORMAT(name, man_bits, bias, sign, max, over, nan)                            \
    HEDDLE_SF unsigned int heddle_##name##_from(double x, bool saturate, enum cudaRoundMode mode)  \
    {                                                                                              \
        struct heddle_small f = {man_bits, bias, sign, max, over, nan};                            \
        return heddle_small_from(f, x, saturate, mode);                                            \
    }                                                                                              \
    HEDDLE_SF double heddle_##name##_value(unsigned int code)                                      \
    {                                                                                              \
        struct heddle_small f = {man_bits, bias, sign, max, over, nan};                            \
        return heddle_small_value(f, code);                                                        \
    }
HEDDLE_SMALL_FORMATS(HEDDLE_SMALL_FORMAT)
#undef HEDDLE_SMALL_FORMAT

/* Pairs by instruction: the first element is the low one, which PTX names last. */
#if defined(__CUDA_ARCH__)
#define HEDDLE_SF_PAIR(name)                                                                       \
    static __device__ __forceinline__ unsigned int heddle_##name##x2_from_f32(float low, float hi) \
    {                                                                                              \
        unsigned short r;                                                                          \
        __asm__("cvt.rn.satfinite." #name "x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(low));     \
        return r;                                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ unsigned int heddle_f16x2_from_##name##x2(unsigned short v)  \
    {                                                                                              \
        unsigned int r;                                                                            \
        __asm__("cvt.rn.f16x2." #name "x2 %0, %1;" : "=r"(r) : "h"(v));                            \
        return r;                                                                                  \
    }
#if HEDDLE_SF_HAS_FP8
HEDDLE_SF_PAIR(e4m3)
HEDDLE_SF_PAIR(e5m2)
#endif
#if HEDDLE_SF_HAS_SMALL
HEDDLE_SF_PAIR(e2m3)
HEDDLE_SF_PAIR(e3m2)
#endif
#undef HEDDLE_SF_PAIR
#endif

HEDDLE_SF __half_raw heddle_raw_f16(double x)
{
    return __half_raw{heddle_bits_f16(x)};
}
HEDDLE_SF __nv_bfloat16_raw heddle_raw_bf16(double x)
{
    return __nv_bfloat16_raw{heddle_bits_bf16(x)};
}
HEDDLE_SF float heddle_raw_value(__half_raw x)
{
    return heddle_float_f16(x.x);
}
HEDDLE_SF float heddle_raw_value(__nv_bfloat16_raw x)
{
    return heddle_float_bf16(x.x);
}

/* A number to an integer: towards zero, to the nearest that there is, NaN to 0 (the sign bit alone for 64 bits). */
template <class _Tp> HEDDLE_SF _Tp heddle_small_integer(float x)
{
    constexpr bool is_signed = (_Tp)-1 < (_Tp)0;
    constexpr _Tp low = is_signed ? (_Tp)((_Tp)1 << (8 * sizeof(_Tp) - 1)) : (_Tp)0,
                  high = (_Tp)~low;

    if (x != x)
        return sizeof(_Tp) == 8 ? (_Tp)((_Tp)1 << 63) : (_Tp)0;
    if (x <= (float)low)
        return low;
    return x >= (float)high ? high : (_Tp)x;
}

#endif
