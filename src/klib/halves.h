/*
 * Elements of 8 and 16 bits as floats, and back: straight code that compilers vectorise. Rounds to
 * the nearest, ties to even; NaN stays one.
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

#endif
