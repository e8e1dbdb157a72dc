/*
 * cuRAND in kernels: uniform, normal, log-normal, Poisson and discrete distributions. Part of curand_kernel.h.
 *
 * Uniform numbers are in (0, 1]. Normal ones come in pairs by Box and Muller's method, except from Sobol's sequences,
 * whose structure only the inverse of the distribution keeps, and from MTGP32, whose threads draw together: each one
 * word. How many draws each number takes is cuRAND's.
 */
#ifndef HEDDLE_CUDA_CURAND_DISTRIBUTIONS_H
#define HEDDLE_CUDA_CURAND_DISTRIBUTIONS_H

#include "heddle/curand_discrete_types.h"
#include "heddle/curand_mtgp32.h"
#include "heddle/curand_sobol.h"

#define HEDDLE_2POW_M32  2.3283064365386963e-10
#define HEDDLE_2POW_M53  1.1102230246251565e-16
#define HEDDLE_MRG_SCALE 2.3283065498378288e-10 /* 1 / m1 */
#define HEDDLE_PI        3.1415926535897932

/* ---- from bits to (0, 1] */

HEDDLE_RAND float heddle_uniform(unsigned int x)
{
    return (float)x * (float)HEDDLE_2POW_M32 + (float)(HEDDLE_2POW_M32 / 2.0);
}
HEDDLE_RAND float heddle_uniform(unsigned long long x)
{
    return heddle_uniform((unsigned int)(x >> 32));
}
HEDDLE_RAND double heddle_uniform_double(unsigned int x)
{
    return (double)x * HEDDLE_2POW_M32 + HEDDLE_2POW_M32;
}
HEDDLE_RAND double heddle_uniform_double(unsigned long long x)
{
    return (double)(x >> 11) * HEDDLE_2POW_M53 + HEDDLE_2POW_M53 / 2.0;
}
/* 53 bits of two words. */
HEDDLE_RAND double heddle_uniform_double(unsigned int x, unsigned int y)
{
    unsigned long long z = (unsigned long long)x ^ (unsigned long long)y << (53 - 32);
    return (double)z * HEDDLE_2POW_M53 + HEDDLE_2POW_M53 / 2.0;
}

/* ---- normal pairs */

HEDDLE_RAND float2 heddle_box_muller(float u, float turn)
{
    float radius = sqrtf(-2.0f * logf(u)), s, c;
#if defined(__CUDA_ARCH__)
    __sincosf(turn, &s, &c);
#else
    s = sinf(turn);
    c = cosf(turn);
#endif
    return make_float2(s * radius, c * radius);
}
HEDDLE_RAND float2 heddle_normal_pair(unsigned int x, unsigned int y)
{
    const float scale = (float)(HEDDLE_2POW_M32 * 2.0 * HEDDLE_PI);
    return heddle_box_muller(heddle_uniform(x), (float)y * scale + scale / 2.0f);
}
HEDDLE_RAND double2 heddle_box_muller_double(double u, double half_turns)
{
    double radius = sqrt(-2.0 * log(u)), s, c;
    sincospi(half_turns, &s, &c);
    return make_double2(s * radius, c * radius);
}
HEDDLE_RAND double2 heddle_normal_pair_double(uint4 w)
{
    unsigned long long z = (unsigned long long)w.z ^ (unsigned long long)w.w << (53 - 32);
    return heddle_box_muller_double(heddle_uniform_double(w.x, w.y),
                                    (double)z * (HEDDLE_2POW_M53 * 2.0) + HEDDLE_2POW_M53);
}

/* ---- the generators' own ways to take numbers */

#define HEDDLE_PSEUDO(State)                                                                       \
    HEDDLE_RAND float curand_uniform(State *state)                                                 \
    {                                                                                              \
        return heddle_uniform(curand(state));                                                      \
    }                                                                                              \
    HEDDLE_RAND float2 curand_normal2(State *state)                                                \
    {                                                                                              \
        unsigned int x = curand(state), y = curand(state);                                         \
        return heddle_normal_pair(x, y);                                                           \
    }                                                                                              \
    HEDDLE_RAND double2 curand_normal2_double(State *state)                                        \
    {                                                                                              \
        uint4 w;                                                                                   \
        w.x = curand(state);                                                                       \
        w.y = curand(state);                                                                       \
        w.z = curand(state);                                                                       \
        w.w = curand(state);                                                                       \
        return heddle_normal_pair_double(w);                                                       \
    }
HEDDLE_PSEUDO(curandStateXORWOW_t)
HEDDLE_PSEUDO(curandStatePhilox4_32_10_t)
#undef HEDDLE_PSEUDO
HEDDLE_RAND double curand_uniform_double(curandStateXORWOW_t *state)
{
    unsigned int x = curand(state), y = curand(state);
    return heddle_uniform_double(x, y);
}
HEDDLE_RAND double curand_uniform_double(curandStatePhilox4_32_10_t *state)
{
    return heddle_uniform_double(curand(state));
}

HEDDLE_RAND float curand_uniform(curandStateMRG32k3a_t *state)
{
    return (float)(curand_MRG32k3a(state) * HEDDLE_MRG_SCALE);
}
HEDDLE_RAND double curand_uniform_double(curandStateMRG32k3a_t *state)
{
    return curand_MRG32k3a(state) * HEDDLE_MRG_SCALE;
}
HEDDLE_RAND float2 curand_normal2(curandStateMRG32k3a_t *state)
{
    float u = curand_uniform(state), v = curand_uniform(state);
    return heddle_box_muller(u, v * (float)(2.0 * HEDDLE_PI));
}
HEDDLE_RAND double2 curand_normal2_double(curandStateMRG32k3a_t *state)
{
    double u = curand_uniform_double(state), v = curand_uniform_double(state);
    return heddle_box_muller_double(u, 2.0 * v);
}

/* One number at a time: the other one of the pair is kept for the next call of the same kind, and lost with another. */
#define HEDDLE_KEPT_NORMAL     1
#define HEDDLE_KEPT_LOG_NORMAL 2
#define HEDDLE_KEPT(name, params, T, flag, extra, kind, pair_of)                                   \
    HEDDLE_RAND T name params                                                                      \
    {                                                                                              \
        if (state->flag == kind) {                                                                 \
            state->flag = 0;                                                                       \
            return state->extra;                                                                   \
        }                                                                                          \
        T##2 pair = pair_of;                                                                       \
        state->flag = kind;                                                                        \
        state->extra = pair.y;                                                                     \
        return pair.x;                                                                             \
    }
#define HEDDLE_ONE_NORMAL(State)                                                                   \
    HEDDLE_RAND float2 curand_log_normal2(State *state, float mean, float stddev)                  \
    {                                                                                              \
        float2 pair = curand_normal2(state);                                                       \
        return make_float2(expf(mean + stddev * pair.x), expf(mean + stddev * pair.y));            \
    }                                                                                              \
    HEDDLE_RAND double2 curand_log_normal2_double(State *state, double mean, double stddev)        \
    {                                                                                              \
        double2 pair = curand_normal2_double(state);                                               \
        return make_double2(exp(mean + stddev * pair.x), exp(mean + stddev * pair.y));             \
    }                                                                                              \
    HEDDLE_KEPT(curand_normal, (State * state), float, boxmuller_flag, boxmuller_extra,            \
                HEDDLE_KEPT_NORMAL, curand_normal2(state))                                         \
    HEDDLE_KEPT(curand_normal_double, (State * state), double, boxmuller_flag_double,              \
                boxmuller_extra_double, HEDDLE_KEPT_NORMAL, curand_normal2_double(state))          \
    HEDDLE_KEPT(curand_log_normal, (State * state, float mean, float stddev), float,               \
                boxmuller_flag, boxmuller_extra, HEDDLE_KEPT_LOG_NORMAL,                           \
                curand_log_normal2(state, mean, stddev))                                           \
    HEDDLE_KEPT(curand_log_normal_double, (State * state, double mean, double stddev), double,     \
                boxmuller_flag_double, boxmuller_extra_double, HEDDLE_KEPT_LOG_NORMAL,             \
                curand_log_normal2_double(state, mean, stddev))
HEDDLE_ONE_NORMAL(curandStateXORWOW_t)
HEDDLE_ONE_NORMAL(curandStatePhilox4_32_10_t)
HEDDLE_ONE_NORMAL(curandStateMRG32k3a_t)
#undef HEDDLE_ONE_NORMAL
#undef HEDDLE_KEPT
#undef HEDDLE_KEPT_LOG_NORMAL
#undef HEDDLE_KEPT_NORMAL

/* Sobol: the inverse of the distribution, with the precision of both tails. */
HEDDLE_RAND float heddle_normal_inverse(unsigned int x)
{
    float s = -1.4142135f;
    if (x > 0x80000000u) {
        x = 0xffffffffu - x;
        s = -s;
    }
    return s * erfcinvf(2.0f * heddle_uniform(x));
}
HEDDLE_RAND float heddle_normal_inverse(unsigned long long x)
{
    return heddle_normal_inverse((unsigned int)(x >> 32));
}
HEDDLE_RAND double heddle_normal_inverse_double(unsigned int x)
{
    double s = -1.4142135623730951;
    if (x > 0x80000000u) {
        x = 0xffffffffu - x;
        s = -s;
    }
    return s * erfcinv(2.0 * ((double)x * HEDDLE_2POW_M32 + HEDDLE_2POW_M32 / 2.0));
}
HEDDLE_RAND double heddle_normal_inverse_double(unsigned long long x)
{
    double s = -1.4142135623730951;
    x >>= 11;
    if (x > 0x10000000000000ull) {
        x = 0x1fffffffffffffull - x;
        s = -s;
    }
    return s * erfcinv(2.0 * ((double)x * HEDDLE_2POW_M53 + HEDDLE_2POW_M53 / 2.0));
}
#define HEDDLE_QUASI(State)                                                                        \
    HEDDLE_RAND float curand_uniform(State *state)                                                 \
    {                                                                                              \
        return heddle_uniform(curand(state));                                                      \
    }                                                                                              \
    HEDDLE_RAND double curand_uniform_double(State *state)                                         \
    {                                                                                              \
        return heddle_uniform_double(curand(state));                                               \
    }                                                                                              \
    HEDDLE_RAND float curand_normal(State *state)                                                  \
    {                                                                                              \
        return heddle_normal_inverse(curand(state));                                               \
    }                                                                                              \
    HEDDLE_RAND double curand_normal_double(State *state)                                          \
    {                                                                                              \
        return heddle_normal_inverse_double(curand(state));                                        \
    }
HEDDLE_QUASI(curandStateSobol32_t)
HEDDLE_QUASI(curandStateScrambledSobol32_t)
HEDDLE_QUASI(curandStateSobol64_t)
HEDDLE_QUASI(curandStateScrambledSobol64_t)

/* ---- Philox gives four words at a time */

HEDDLE_RAND float4 curand_uniform4(curandStatePhilox4_32_10_t *state)
{
    uint4 w = curand4(state);
    return make_float4(heddle_uniform(w.x), heddle_uniform(w.y), heddle_uniform(w.z),
                       heddle_uniform(w.w));
}
HEDDLE_RAND double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state)
{
    uint4 w = curand4(state);
    return make_double2(heddle_uniform_double(w.x, w.y), heddle_uniform_double(w.z, w.w));
}
HEDDLE_RAND float4 curand_normal4(curandStatePhilox4_32_10_t *state)
{
    uint4 w = curand4(state);
    float2 a = heddle_normal_pair(w.x, w.y), b = heddle_normal_pair(w.z, w.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
HEDDLE_RAND float4 curand_log_normal4(curandStatePhilox4_32_10_t *state, float mean, float stddev)
{
    float4 n = curand_normal4(state);
    return make_float4(expf(mean + stddev * n.x), expf(mean + stddev * n.y),
                       expf(mean + stddev * n.z), expf(mean + stddev * n.w));
}
/* double4 and its successors differ in alignment only. */
#define HEDDLE_FOUR_DOUBLES(type, suffix)                                                          \
    HEDDLE_RAND type curand_uniform4_double##suffix(curandStatePhilox4_32_10_t *state)             \
    {                                                                                              \
        double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);              \
        type r = {a.x, a.y, b.x, b.y};                                                             \
        return r;                                                                                  \
    }                                                                                              \
    HEDDLE_RAND type curand_normal4_double##suffix(curandStatePhilox4_32_10_t *state)              \
    {                                                                                              \
        double2 a = heddle_normal_pair_double(curand4(state));                                     \
        double2 b = heddle_normal_pair_double(curand4(state));                                     \
        type r = {a.x, a.y, b.x, b.y};                                                             \
        return r;                                                                                  \
    }                                                                                              \
    HEDDLE_RAND type curand_log_normal4_double##suffix(curandStatePhilox4_32_10_t *state,          \
                                                       double mean, double stddev)                 \
    {                                                                                              \
        type n = curand_normal4_double##suffix(state);                                             \
        type r = {exp(mean + stddev * n.x), exp(mean + stddev * n.y), exp(mean + stddev * n.z),    \
                  exp(mean + stddev * n.w)};                                                       \
        return r;                                                                                  \
    }
HEDDLE_FOUR_DOUBLES(double4, )
HEDDLE_FOUR_DOUBLES(double4_16a, _16a)
HEDDLE_FOUR_DOUBLES(double4_32a, _32a)
#undef HEDDLE_FOUR_DOUBLES

/* ---- Poisson */

/* Multiplies uniform numbers until they are below e^-lambda (Knuth), in steps that do not underflow. */
template <class _State> HEDDLE_RAND unsigned int heddle_poisson_small(_State *state, double lambda)
{
    unsigned int count = 0;
    double limit = exp(-lambda), product = curand_uniform(state);
    while (product > limit) {
        count++;
        product *= curand_uniform(state);
    }
    return count;
}
/* Transformed rejection: Hoermann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS. */
template <class _State> HEDDLE_RAND unsigned int heddle_poisson_large(_State *state, double lambda)
{
    double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2.0),
           log_lambda = log(lambda);

    for (;;) {
        double u = curand_uniform(state) - 0.5, v = curand_uniform(state), us = 0.5 - fabs(u);
        double k = floor((2.0 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= quick)
            return (unsigned int)k;
        if (k < 0.0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            k * log_lambda - lambda - lgamma(k + 1.0))
            return (unsigned int)k;
    }
}
/* One number from one draw, for quasi-random sequences: the smallest k whose distribution reaches it. */
template <class _State>
HEDDLE_RAND unsigned int heddle_poisson_inverse(_State *state, double lambda)
{
    double u = curand_uniform_double(state), term = 1.0, sum = 0.0;
    if (lambda > 500.0) {
        double k = floor(lambda -
                         1.4142135623730951 * sqrt(lambda) *
                             erfcinv(2.0 * (u < 1.0 ? u : 1.0 - HEDDLE_2POW_M53)) +
                         0.5);
        return k > 0.0 ? (unsigned int)k : 0u;
    }
    term = exp(-lambda);
    sum = term;
    for (unsigned int k = 1; sum < u && k < 2000; k++) {
        term *= lambda / k;
        sum += term;
        if (sum >= u)
            return k;
    }
    return sum < u ? 2000u : 0u;
}
#define HEDDLE_POISSON(State)                                                                      \
    HEDDLE_RAND unsigned int curand_poisson(State *state, double lambda)                           \
    {                                                                                              \
        return lambda < 10.0 ? heddle_poisson_small(state, lambda)                                 \
                             : heddle_poisson_large(state, lambda);                                \
    }
HEDDLE_POISSON(curandStateXORWOW_t)
HEDDLE_POISSON(curandStatePhilox4_32_10_t)
HEDDLE_POISSON(curandStateMRG32k3a_t)
#undef HEDDLE_POISSON
HEDDLE_RAND uint4 curand_poisson4(curandStatePhilox4_32_10_t *state, double lambda)
{
    uint4 r;
    r.x = curand_poisson(state, lambda);
    r.y = curand_poisson(state, lambda);
    r.z = curand_poisson(state, lambda);
    r.w = curand_poisson(state, lambda);
    return r;
}

#define HEDDLE_QUASI_OTHERS(State)                                                                 \
    HEDDLE_RAND float curand_log_normal(State *state, float mean, float stddev)                    \
    {                                                                                              \
        return expf(mean + stddev * curand_normal(state));                                         \
    }                                                                                              \
    HEDDLE_RAND double curand_log_normal_double(State *state, double mean, double stddev)          \
    {                                                                                              \
        return exp(mean + stddev * curand_normal_double(state));                                   \
    }                                                                                              \
    HEDDLE_RAND unsigned int curand_poisson(State *state, double lambda)                           \
    {                                                                                              \
        return heddle_poisson_inverse(state, lambda);                                              \
    }
HEDDLE_QUASI_OTHERS(curandStateSobol32_t)
HEDDLE_QUASI_OTHERS(curandStateScrambledSobol32_t)
HEDDLE_QUASI_OTHERS(curandStateSobol64_t)
HEDDLE_QUASI_OTHERS(curandStateScrambledSobol64_t)

/* ---- MTGP32: all threads of a block call these together */

#undef HEDDLE_RAND
#define HEDDLE_RAND static __inline__ __device__ __attribute__((unused))
HEDDLE_QUASI(curandStateMtgp32_t)
HEDDLE_QUASI_OTHERS(curandStateMtgp32_t)
#undef HEDDLE_QUASI_OTHERS
#undef HEDDLE_QUASI

/* ---- distributions that the host made: curandCreatePoissonDistribution() */

HEDDLE_RAND unsigned int heddle_discrete(unsigned int x, curandDiscreteDistribution_t distribution)
{
    const struct curandDistributionM2Shift_st *columns = distribution->M2;
    double u = heddle_uniform_double(x);
    unsigned int i = (unsigned int)(u * columns->length);
    return columns->shift + (u < columns->histogram->limits[i] ? i : columns->histogram->others[i]);
}
#define HEDDLE_DISCRETE(State)                                                                     \
    HEDDLE_RAND unsigned int curand_discrete(State *state,                                         \
                                             curandDiscreteDistribution_t discrete_distribution)   \
    {                                                                                              \
        return heddle_discrete(curand(state), discrete_distribution);                              \
    }
HEDDLE_DISCRETE(curandStateXORWOW_t)
HEDDLE_DISCRETE(curandStatePhilox4_32_10_t)
HEDDLE_DISCRETE(curandStateMRG32k3a_t)
HEDDLE_DISCRETE(curandStateMtgp32_t)
#undef HEDDLE_DISCRETE
HEDDLE_RAND uint4 curand_discrete4(curandStatePhilox4_32_10_t *state,
                                   curandDiscreteDistribution_t discrete_distribution)
{
    uint4 w = curand4(state);
    return make_uint4(
        heddle_discrete(w.x, discrete_distribution), heddle_discrete(w.y, discrete_distribution),
        heddle_discrete(w.z, discrete_distribution), heddle_discrete(w.w, discrete_distribution));
}
/* The inverse of the distribution, which keeps the sequence's structure. */
#define HEDDLE_DISCRETE(State)                                                                     \
    HEDDLE_RAND unsigned int curand_discrete(State *state,                                         \
                                             curandDiscreteDistribution_t discrete_distribution)   \
    {                                                                                              \
        return heddle_poisson_inverse(state, discrete_distribution->mean);                         \
    }
HEDDLE_DISCRETE(curandStateSobol32_t)
HEDDLE_DISCRETE(curandStateScrambledSobol32_t)
HEDDLE_DISCRETE(curandStateSobol64_t)
HEDDLE_DISCRETE(curandStateScrambledSobol64_t)
#undef HEDDLE_DISCRETE

#undef HEDDLE_PI
#undef HEDDLE_MRG_SCALE
#undef HEDDLE_2POW_M53
#undef HEDDLE_2POW_M32

#endif
