/*
 * Half precision by bits, for compilers that have no _Float16 in C++ (gcc before 13): IEEE 754 binary16,
 * rounded once to nearest even from a double, which holds every float and every 32-bit integer exactly.
 */
#ifndef HEDDLE_CUDA_HALF_BITS_H
#define HEDDLE_CUDA_HALF_BITS_H

static inline unsigned short heddle_f16_round(double d)
{
    unsigned long long u;
    __builtin_memcpy(&u, &d, sizeof(u));
    unsigned short sign = (unsigned short)(u >> 48 & 0x8000);
    int exponent = (int)(u >> 52 & 0x7ff) - 1023;
    if (d != d)
        return 0x7fff;
    if (exponent > 15)
        return (unsigned short)(sign | 0x7c00);
    if (exponent < -25) /* below half of the least */
        return sign;
    unsigned int shift = exponent < -14 ? 28u - (unsigned int)exponent : 42u;
    unsigned long long sig = (u & 0xfffffffffffffull) | 1ull << 52, half = 1ull << (shift - 1);
    unsigned long long q = sig >> shift, rest = sig & (2 * half - 1);
    q += rest > half || (rest == half && (q & 1));
    if (exponent > -14) /* q has the leading one, which counts for one exponent */
        q += (unsigned long long)(exponent + 14) << 10;
    return (unsigned short)(sign | q);
}

static inline float heddle_f16_value(unsigned short bits)
{
    unsigned int sign = (unsigned int)(bits & 0x8000) << 16, magnitude = bits & 0x7fffu, word;
    float f = (float)magnitude * 5.9604644775390625e-8f; /* subnormal: units of 2^-24 */
    if (magnitude >= 0x7c00)
        word = 0x7f800000u | (magnitude & 0x3ffu) << 13;
    else if (magnitude >= 0x400)
        word = (magnitude << 13) + (112u << 23);
    else
        __builtin_memcpy(&word, &f, sizeof(word));
    word |= sign;
    __builtin_memcpy(&f, &word, sizeof(f));
    return f;
}

#endif
