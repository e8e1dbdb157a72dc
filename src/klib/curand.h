/*
 * What cuRAND computes with: sequences of random numbers and their distributions. A generator's
 * state is memory of its own, which kernels read and advance in the order of its stream, as a GPU's
 * do: a graph that is launched again goes on in the sequence.
 *
 * A sequence is one of three kinds.
 * - Streams (XORWOW, MRG32k3a): many generators of one sequence, far apart, which give numbers by
 *   turns: number n is the next one of stream n modulo their count. What takes several draws (a
 *   pair of normal numbers) takes them of one stream.
 * - Words (Philox, MT19937, MTGP32): one sequence of 32-bit words, put together of the pieces of
 *   many generators. What takes several draws takes the next words.
 * - Points (Sobol): numbers of the first dimension, then of the second, and so on.
 */
#ifndef HD_KLIB_CURAND_H
#define HD_KLIB_CURAND_H

#include <heddle/native.h>
#include <stdbool.h>
#include <stdint.h>

enum klib_rand_type {
    KLIB_RAND_XORWOW,
    KLIB_RAND_MRG32K3A,
    KLIB_RAND_PHILOX,
    KLIB_RAND_MT19937,
    KLIB_RAND_MTGP32,
    KLIB_RAND_SOBOL32,
    KLIB_RAND_SOBOL64
};

/* What numbers are made. */
enum klib_rand_as {
    KLIB_RAND_BITS, /* 32, of Sobol64 64 */
    KLIB_RAND_UNIFORM,
    KLIB_RAND_UNIFORM_F64,
    KLIB_RAND_NORMAL,
    KLIB_RAND_NORMAL_F64,
    KLIB_RAND_LOG_NORMAL,
    KLIB_RAND_LOG_NORMAL_F64,
    KLIB_RAND_POISSON
};

/* A distribution over whole numbers from `shift` on. */
struct klib_discrete {
    uint32_t shift, count;
    /* u in (0, 1] is number i = floor(u count) if u < limit[i], else other[i]: Marsaglia, Tsang and
     * Wang, "Fast generation of discrete random variables" (2004), their method II. */
    const double *limit;
    const uint32_t *other;
    const double *sums; /* of probabilities up to each number: for quasi-random sequences */
};

struct klib_rand_setup {
    uint32_t type;    /* enum klib_rand_type */
    uint32_t streams; /* or generators of words */
    uint64_t seed, offset;
    bool is_seeded; /* each stream by a seed of its own */
};

struct klib_rand_state;

struct klib_rand {
    struct klib_rand_state *state;
    void *to;
    uint64_t n, tiles;
    uint32_t as; /* enum klib_rand_as */
    uint32_t dimensions;
    const void *vectors;   /* of each dimension: 32 words, or 64 of 64 bits */
    const void *constants; /* of each dimension; NULL: 0 */
    double mean, deviation;
    struct klib_discrete discrete;
};

struct klib_curand {
    heddle_native_fn *generate; /* of a struct klib_rand */
    /* NULL: out of memory. Streams are seeded by the kernels that first use them. */
    struct klib_rand_state *(*create)(const struct klib_rand_setup *setup);
    void (*destroy)(struct klib_rand_state *state);
    uint32_t (*type)(const struct klib_rand_state *state); /* enum klib_rand_type */
    /* Sets how many tiles there are. Returns about what they cost. */
    uint64_t (*plan)(struct klib_rand *call);
    /* Kernels on their way: counted by who launches. */
    void (*launched)(struct klib_rand_state *state, int more);
    bool (*is_idle)(const struct klib_rand_state *state);
};

extern const struct klib_curand klib_curand;

#endif
