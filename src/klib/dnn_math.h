/*
 * Functions that loops over rows call for each element, as straight code that compilers vectorise;
 * of floats within 2 units in the last place, of doubles the C library's.
 */
#ifndef HD_KLIB_DNN_MATH_H
#define HD_KLIB_DNN_MATH_H

#include <math.h>

#include "klib/halves.h"

/* e^x = 2^n e^r, where n is the nearest whole number to x / ln 2; e^r by a polynomial for r^2. */
static inline float dnn_exp_f32(float x)
{
    const float round = 0x1.8p23f; /* a sum with it has the whole number in its last bits */
    /* Beyond these it is infinite, or 0; NaN stays. */
    float in = x > 89 ? 89 : x < -104 ? -104 : x;
    float shifted = in * 0x1.715476p0f + round, n = shifted - round;
    float r = in - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
    float p = 0.0013933652f;
    uint32_t whole = klib_bits_of(shifted) - klib_bits_of(round);
    uint32_t half = (uint32_t)((int32_t)whole >> 1);

    p = p * r + 0.008363182f;
    p = p * r + 0.041666467f;
    p = p * r + 0.16666576f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1;
    /* In two factors: 2^n itself may be too large or too small. */
    return p * klib_float_of((half + 127) << 23) * klib_float_of((whole - half + 127) << 23);
}

static inline double dnn_exp_f64(double x)
{
    return exp(x);
}

/* By a polynomial near 0, else by e^2|x|. */
static inline float dnn_tanh_f32(float x)
{
    float s = x * x, size = klib_float_of(klib_bits_of(x) & 0x7fffffff), p = 0.0022958412f;
    float far = 1 - 2 / (dnn_exp_f32(2 * size) + 1);

    p = p * s - 0.00834698f;
    p = p * s + 0.021769961f;
    p = p * s - 0.053959407f;
    p = p * s + 0.13333304f;
    p = p * s - 0.33333334f;
    far = klib_float_of(klib_bits_of(far) | (klib_bits_of(x) & 0x80000000));
    return size < 0.625f ? x + x * s * p : far;
}

static inline double dnn_tanh_f64(double x)
{
    return tanh(x);
}

#endif
