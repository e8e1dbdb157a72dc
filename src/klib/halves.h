/*
 * Elements of 4, 8 and 16 bits as floats, and back: straight code that compilers vectorise. Rounds
 * to the nearest, ties to even; NaN stays one. Those of 4 and 8 bits saturate: what is too large
 * becomes the largest finite number, as infinity does.
 */
#ifndef HD_KLIB_HALVES_H
#define HD_KLIB_HALVES_H

#include <stdint.h>
#include <string.h>

static inline float klib_float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t klib_bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* IEEE 754 binary16. */
static inline float klib_f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    /* The exponent's bias is 15, not 127; the product makes subnormal numbers normal. */
    uint32_t bits = klib_bits_of(klib_float_of(rest) * 0x1p112f);
    if ((h & 0x7c00) == 0x7c00) /* infinity, NaN */
        bits = rest | 0x7f800000;
    return klib_float_of(bits | sign);
}

static inline uint16_t klib_f16_of_f32(float f)
{
    uint32_t bits = klib_bits_of(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    /* Subnormal results: adding 0.5 leaves what counts in the last bits, rounded. */
    uint32_t small = klib_bits_of(klib_float_of(rest) + 0.5f) - 0x3f000000;
    uint32_t normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
    uint32_t h = rest < 113u << 23 ? small : normal;

    if (h > 0x7c00 || rest >= 0x7f800000)
        h = 0x7c00;
    if (rest > 0x7f800000)
        h = 0x7e00;
    return (uint16_t)(h | sign);
}

static inline float klib_f32_of_bf16(uint16_t h)
{
    return klib_float_of((uint32_t)h << 16);
}

static inline uint16_t klib_bf16_of_f32(float f)
{
    uint32_t bits = klib_bits_of(f);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Four bits of exponent, three of mantissa: no infinity, one NaN of each sign. */
static inline float klib_f32_of_e4m3(uint8_t b)
{
    uint32_t sign = (uint32_t)(b & 0x80) << 24, rest = (uint32_t)(b & 0x7f) << 20;
    uint32_t bits = klib_bits_of(klib_float_of(rest) * 0x1p120f);

    if ((b & 0x7f) == 0x7f)
        bits = 0x7fc00000;
    return klib_float_of(bits | sign);
}

static inline uint8_t klib_e4m3_of_f32(float f)
{
    uint32_t bits = klib_bits_of(f), sign = bits >> 24 & 0x80, rest = bits & 0x7fffffff;
    /* Subnormal results count 2^-9, which is the last bit of 2^14. */
    uint32_t small = klib_bits_of(klib_float_of(rest) + 0x1p14f) - klib_bits_of(0x1p14f);
    uint32_t normal = (rest - (120u << 23) + 0x7ffff + (rest >> 20 & 1)) >> 20;
    uint32_t b = rest < 121u << 23 ? small : normal;

    if (b > 0x7e || rest >= 0x7f800000)
        b = 0x7e;
    if (rest > 0x7f800000)
        b = 0x7f;
    return (uint8_t)(b | sign);
}

/* Five bits of exponent, two of mantissa: the upper half of a binary16. */
static inline float klib_f32_of_e5m2(uint8_t b)
{
    return klib_f32_of_f16((uint16_t)(b << 8));
}

static inline uint8_t klib_e5m2_of_f32(float f)
{
    uint32_t bits = klib_bits_of(f), sign = bits >> 24 & 0x80, rest = bits & 0x7fffffff;
    uint32_t small = klib_bits_of(klib_float_of(rest) + 0x1p7f) - klib_bits_of(0x1p7f);
    uint32_t normal = (rest - (112u << 23) + 0xfffff + (rest >> 21 & 1)) >> 21;
    uint32_t b = rest < 113u << 23 ? small : normal;

    if (b > 0x7b || rest >= 0x7f800000)
        b = 0x7b;
    if (rest > 0x7f800000)
        b = 0x7f;
    return (uint8_t)(b | sign);
}

/* 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign: no NaN, which becomes 6. */
static inline float klib_f32_of_e2m1(uint8_t b)
{
    static const float values[] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                   -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

    return values[b & 15];
}

static inline uint8_t klib_e2m1_of_f32(float f)
{
    uint32_t bits = klib_bits_of(f), sign = bits >> 28 & 8, rest = bits & 0x7fffffff;
    uint32_t small = klib_bits_of(klib_float_of(rest) + 0x1p22f) - klib_bits_of(0x1p22f);
    uint32_t normal = (rest - (126u << 23) + 0x1fffff + (rest >> 22 & 1)) >> 22;
    uint32_t b = rest < 127u << 23 ? small : normal;

    if (b > 7 || rest >= 0x7f800000)
        b = 7;
    return (uint8_t)(rest > 0x7f800000 ? 7 : b | sign);
}

/* A power of two without a sign: 2^(b - 127); 255 is NaN. */
static inline float klib_f32_of_ue8m0(uint8_t b)
{
    return klib_float_of(b == 255 ? 0x7fc00000 : b ? (uint32_t)b << 23 : 1u << 22);
}

#endif
