/*
 * The approximate instructions, defined operation by operation.
 *
 * PTX only bounds the error of ex2.approx, lg2.approx, rcp.approx, rsqrt.approx, sqrt.approx,
 * sin.approx, cos.approx, tanh.approx, div.approx and div.full. Heddle defines their bits: the
 * sequences below. The interpreter and the constant folder run this file; the CPU device emits the
 * same steps on 16 lanes; a simulated special function unit computes the same function. Equal
 * sequences of IEEE operations give equal bits everywhere, so outputs do not depend on the device.
 *
 * Only these operations occur, each correctly rounded (nearest even) and none contracted:
 *   + - * / sqrt fma on f32 (f64 in the two f64 functions), int32 <-> f32, wrapping integer
 *   arithmetic, shifts, comparisons, and select. No table, no estimate instruction of some host.
 * A vector backend may replace a step by anything that gives the same bits on all inputs: step
 * pairs "t = x + MAGIC; n = t - MAGIC" by a round-to-nearest-even instruction (|x| < 2^22 there),
 * the two-step scaling of ex2 by a scalef instruction, select chains by a fix-up instruction.
 *
 * Frame. The functions take and give floats as they are; around each one the instruction does
 *     1. .ftz: a denormal input becomes a zero of its sign
 *     2. the function
 *     3. a NaN result becomes the canonical NaN 0x7fffffff
 *     4. .ftz: a denormal result becomes a zero of its sign
 * No step makes a denormal on the way to a normal result, or its value does not matter there: the
 * .ftz instruction gives the same bits whether the host's own flush-to-zero mode is on or off.
 * Steps marked [denormal] only matter for denormal inputs and may be left out under .ftz.
 *
 * Measured maximum errors (every 101st input, tests/interp/test_approx.c) and PTX ISA 9's bounds:
 *
 *   function   error                              bound                                steps
 *   ex2        0.84 ulp                         2 ulp                                20
 *   lg2        abs 2^-22.9, rel 2^-23.1           2^-22 abs in (0.5,2), else rel       21
 *   rcp, div   0.5 ulp                            1 ulp, 2 ulp                         1, 5
 *   rsqrt      rel 2^-23.2                          rel 2^-22.9                          17
 *   sqrt       rel 2^-24                          rel 2^-23                            1
 *   sin, cos   abs 2^-23.2                        2^-20.5 in 2pi, 2^-14.7 in 100pi     18
 *   tanh       rel 2^-13.4                        rel 2^-11                            12
 *
 * rcp is one division: a guess with two Newton steps needs about 16 operations once zeros,
 * infinities, denormals and signs are right, no faster than the 10 cycles of a 16-lane divide.
 *
 * The caller runs in the default floating-point environment (ir_eval() sees to that) and its file
 * is compiled with -ffp-contract=off.
 */
#ifndef HD_BASE_FLOAT_APPROX_H
#define HD_BASE_FLOAT_APPROX_H

#include <math.h>
#include <string.h>

#include "base/compiler.h"

static inline uint32_t hd_approx_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float hd_approx_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A power of two from its exponent; |k| <= 126 in every use that matters. */
static inline float hd_approx_pow2(uint32_t k)
{
    return hd_approx_float((k + 127u) << 23);
}

#define HD_APPROX_NAN   0x7fffffffu
#define HD_APPROX_INF   0x7f800000u
#define HD_APPROX_SIGN  0x80000000u
#define HD_APPROX_ROUND 0x1.8p23f /* x + this - this rounds |x| < 2^22 to an integer */
#define HD_APPROX_TINY  0x1p-126f /* the smallest normal number */

/*
 * Coefficients are minimax polynomials, rounded to f32 one after the other with the rest refitted.
 */

/* 2^f on [-0.5, 0.5], relative: 2^-27.2 */
#define HD_APPROX_EX2_1 0x1.62e432p-1f
#define HD_APPROX_EX2_2 0x1.ebfbe6p-3f
#define HD_APPROX_EX2_3 0x1.c6ada8p-5f
#define HD_APPROX_EX2_4 0x1.3b2178p-7f
#define HD_APPROX_EX2_5 0x1.5fc1f6p-10f
#define HD_APPROX_EX2_6 0x1.4c1d12p-13f

static inline float hd_approx_ex2(float x)
{
    /* Beyond these the result is inf or 0 anyway. NaN compares false and stays. */
    x = x > 129.0f ? 129.0f : x;
    x = x < -152.0f ? -152.0f : x;
    /* x = n + f, n integer, |f| <= 0.5; the subtraction is exact. */
    float t = x + HD_APPROX_ROUND;
    uint32_t n = hd_approx_bits(t) - hd_approx_bits(HD_APPROX_ROUND);
    float f = x - (t - HD_APPROX_ROUND);
    float p = fmaf(HD_APPROX_EX2_6, f, HD_APPROX_EX2_5);
    p = fmaf(p, f, HD_APPROX_EX2_4);
    p = fmaf(p, f, HD_APPROX_EX2_3);
    p = fmaf(p, f, HD_APPROX_EX2_2);
    p = fmaf(p, f, HD_APPROX_EX2_1);
    p = fmaf(p, f, 1.0f);
    /* p * 2^n in two factors: the first product is exact, so a denormal result is rounded once. */
    uint32_t half = (uint32_t)((int32_t)n >> 1);
    p = p * hd_approx_pow2(half);
    return p * hd_approx_pow2(n - half);
}

/* log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]; error of f * P: 2^-23.4 */
#define HD_APPROX_LG2_0     0x1.715472p+0f
#define HD_APPROX_LG2_1     -0x1.7155b0p-1f
#define HD_APPROX_LG2_2     0x1.ec7b3cp-2f
#define HD_APPROX_LG2_3     -0x1.70bd22p-2f
#define HD_APPROX_LG2_4     0x1.259a0ap-2f
#define HD_APPROX_LG2_5     -0x1.fff238p-3f
#define HD_APPROX_LG2_6     0x1.e4babep-3f
#define HD_APPROX_LG2_7     -0x1.2a5c18p-3f
#define HD_APPROX_SQRT_HALF 0x3f3504f3u /* bits of sqrt(1/2) */

static inline float hd_approx_lg2(float x)
{
    bool tiny = x < HD_APPROX_TINY;   /* [denormal] */
    float y = tiny ? x * 0x1p24f : x; /* [denormal] */
    float e0 = tiny ? -24.0f : 0.0f;  /* [denormal] */
    /* y = m * 2^e with m in [sqrt(1/2), sqrt(2)) */
    uint32_t e = (uint32_t)((int32_t)(hd_approx_bits(y) - HD_APPROX_SQRT_HALF) >> 23);
    float f = hd_approx_float(hd_approx_bits(y) - (e << 23)) - 1.0f;
    float p = fmaf(HD_APPROX_LG2_7, f, HD_APPROX_LG2_6);
    p = fmaf(p, f, HD_APPROX_LG2_5);
    p = fmaf(p, f, HD_APPROX_LG2_4);
    p = fmaf(p, f, HD_APPROX_LG2_3);
    p = fmaf(p, f, HD_APPROX_LG2_2);
    p = fmaf(p, f, HD_APPROX_LG2_1);
    p = fmaf(p, f, HD_APPROX_LG2_0);
    float r = fmaf(p, f, (float)(int32_t)e + e0);
    /* Special inputs; the later line wins. */
    r = x == hd_approx_float(HD_APPROX_INF) ? x : r;
    r = x == 0.0f ? hd_approx_float(HD_APPROX_SIGN | HD_APPROX_INF) : r;
    return !(x >= 0.0f) ? hd_approx_float(HD_APPROX_NAN) : r; /* negative or NaN */
}

static inline float hd_approx_rcp(float x)
{
    return 1.0f / x;
}

static inline float hd_approx_sqrt(float x)
{
    return sqrtf(x);
}

#define HD_APPROX_RSQRT_GUESS 0x5f37599eu
/* ((1 - e)^-1/2 - 1) / e for the guess's |e| < 2^-3.8; error of 1 + e * P: 2^-25.3 */
#define HD_APPROX_RSQRT_1 0x1.ffff90p-2f
#define HD_APPROX_RSQRT_2 0x1.800010p-2f
#define HD_APPROX_RSQRT_3 0x1.417852p-2f
#define HD_APPROX_RSQRT_4 0x1.18b30cp-2f

static inline float hd_approx_rsqrt(float x)
{
    bool tiny = x < HD_APPROX_TINY;   /* [denormal] */
    float s = tiny ? x * 0x1p24f : x; /* [denormal] */
    /* Guess: relative error below 2^-4.8. */
    float y = hd_approx_float(HD_APPROX_RSQRT_GUESS - (hd_approx_bits(s) >> 1));
    /* With e = 1 - s*y*y the root is y * (1 - e)^-1/2. */
    float e = fmaf(-(s * y), y, 1.0f);
    float p = fmaf(HD_APPROX_RSQRT_4, e, HD_APPROX_RSQRT_3);
    p = fmaf(p, e, HD_APPROX_RSQRT_2);
    p = fmaf(p, e, HD_APPROX_RSQRT_1);
    y = fmaf(p, y * e, y);
    y = tiny ? y * 0x1p12f : y; /* [denormal] */
    /* Special inputs; the later line wins. */
    y = x == hd_approx_float(HD_APPROX_INF) ? 0.0f : y;
    y = !(x >= 0.0f) ? hd_approx_float(HD_APPROX_NAN) : y; /* negative or NaN */
    return x == 0.0f ? hd_approx_float((hd_approx_bits(x) & HD_APPROX_SIGN) | HD_APPROX_INF) : y;
}

/* (sin r - r) / r^3 ... as polynomials in z = r*r on [-pi/4, pi/4]: sin 2^-29, cos 2^-24.9 */
#define HD_APPROX_SIN_1 -0x1.555540p-3f
#define HD_APPROX_SIN_2 0x1.1105bcp-7f
#define HD_APPROX_SIN_3 -0x1.98dc1cp-13f
#define HD_APPROX_COS_1 -0x1.ffffbap-2f
#define HD_APPROX_COS_2 0x1.553fa8p-5f
#define HD_APPROX_COS_3 -0x1.647792p-10f
#define HD_APPROX_2_PI  0x1.45f306p-1f
/* pi/2 = HI + LO, both positive: so that -0 stays -0 through the reduction. */
#define HD_APPROX_PI_2_HI 0x1.921fb4p+0f
#define HD_APPROX_PI_2_LO 0x1.4442d2p-24f

/* sin(x + quarter * pi/2) */
static inline float hd_approx_sin_quarter(float x, uint32_t quarter)
{
    /* n = round(x * 2/pi). Beyond 2^22 n is no longer exact: bounded garbage, as on hardware. */
    float t = fmaf(x, HD_APPROX_2_PI, HD_APPROX_ROUND);
    uint32_t n = hd_approx_bits(t) + quarter;
    float k = t - HD_APPROX_ROUND;
    float r = fmaf(k, -HD_APPROX_PI_2_HI, x);
    r = fmaf(k, -HD_APPROX_PI_2_LO, r);
    /* Keeps huge inputs in range; NaN (from inf and NaN) compares false and stays. */
    r = r > 1.0f ? 1.0f : r;
    r = r < -1.0f ? -1.0f : r;
    float z = r * r;
    float s = fmaf(HD_APPROX_SIN_3, z, HD_APPROX_SIN_2);
    s = fmaf(s, z, HD_APPROX_SIN_1);
    s = r * fmaf(s, z, 1.0f); /* in this form -0 and denormals come out as they went in */
    float c = fmaf(HD_APPROX_COS_3, z, HD_APPROX_COS_2);
    c = fmaf(c, z, HD_APPROX_COS_1);
    c = fmaf(c, z, 1.0f);
    float y = (n & 1) ? c : s;
    return hd_approx_float(hd_approx_bits(y) ^ ((n & 2) << 30));
}

static inline float hd_approx_sin(float x)
{
    return hd_approx_sin_quarter(x, 0);
}

static inline float hd_approx_cos(float x)
{
    return hd_approx_sin_quarter(x, 1);
}

/* tanh(x) / x = P(z) / Q(z), z = x*x, on [0, 5]: relative 2^-14.1; 1 - tanh(5) = 2^-13.4 */
#define HD_APPROX_TANH_P1 0x1.a4e3ccp-4f
#define HD_APPROX_TANH_P2 0x1.63c35ap-11f
#define HD_APPROX_TANH_Q1 0x1.be54a4p-2f
#define HD_APPROX_TANH_Q2 0x1.a70b5ap-7f

static inline float hd_approx_tanh(float x)
{
    float z = x * x;
    float p = fmaf(HD_APPROX_TANH_P2, z, HD_APPROX_TANH_P1);
    p = fmaf(p, z, 1.0f);
    float q = fmaf(HD_APPROX_TANH_Q2, z, HD_APPROX_TANH_Q1);
    q = fmaf(q, z, 1.0f);
    float y = x * (p / q);
    float one = hd_approx_float((hd_approx_bits(x) & HD_APPROX_SIGN) | hd_approx_bits(1.0f));
    float a = hd_approx_float(hd_approx_bits(x) & ~HD_APPROX_SIGN);
    return a > 5.0f ? one : y; /* NaN stays */
}

/* div.full: the correctly rounded quotient. */
static inline float hd_approx_div_full(float a, float b)
{
    return a / b;
}

/* div.approx: the same, but PTX gives 0 (NaN for infinite a) for 2^126 < |b| < 2^128. */
static inline float hd_approx_div(float a, float b)
{
    float q = a / b;
    float zero = hd_approx_float(hd_approx_bits(b) & HD_APPROX_SIGN);
    float m = hd_approx_float(hd_approx_bits(b) & ~HD_APPROX_SIGN);
    return m > 0x1p126f ? a * zero : q;
}

static inline uint64_t hd_approx_bits64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double hd_approx_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read the upper 32 bits of their operand and give 20
 * fraction bits, the lower word zero. Denormals are zeros on both sides. Here .ftz and the NaN
 * (0x7fffffff00000000) are part of the function.
 */
static inline uint64_t hd_approx_head64(uint64_t bits)
{
    bits &= 0xffffffff00000000u;
    return (bits & 0x7ff0000000000000u) ? bits : bits & 0x8000000000000000u;
}

static inline uint64_t hd_approx_round64(double y)
{
    uint64_t bits = hd_approx_bits64(y);
    bits = y != y ? 0x7fffffff00000000u : bits + 0x80000000u; /* to nearest; no carry out of inf */
    return hd_approx_head64(bits);
}

static inline uint64_t hd_approx_rcp64(uint64_t x)
{
    return hd_approx_round64(1.0 / hd_approx_double(hd_approx_head64(x)));
}

static inline uint64_t hd_approx_rsqrt64(uint64_t x)
{
    double s = sqrt(hd_approx_double(hd_approx_head64(x)));
    return hd_approx_round64(1.0 / s); /* sqrt(-0) is -0: -inf, as PTX says */
}

#endif
