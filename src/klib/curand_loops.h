/*
 * Inner loops of cuRAND's generators, compiled for each level of the host's instruction sets. All
 * levels give the same numbers.
 */
#ifndef HD_KLIB_CURAND_LOOPS_H
#define HD_KLIB_CURAND_LOOPS_H

#include <stdint.h>

#include "klib/curand.h"

enum {
    CURAND_GROUP = 128, /* streams that are stepped together */
    CURAND_DRAWS = 20,  /* of each at most, in one go */
    MT_WORDS = 624
};

struct curand_loops {
    /* `draws` of each of n streams, whose word w is at state[w * stride]; all of one draw first. */
    void (*xorwow)(uint32_t *state, uint32_t stride, uint32_t n, uint32_t draws, uint32_t *out);
    void (*mrg32k3a)(uint32_t *state, uint32_t stride, uint32_t n, uint32_t draws, uint32_t *out);
    /* 4 n words: block i is of subsequence i modulo `streams`, a power of two. */
    void (*philox)(uint64_t first, uint32_t n, uint32_t streams, uint64_t seed, uint32_t *out);
    void (*mt19937_next)(uint32_t *words); /* the next 624 */
    void (*mt19937_temper)(uint32_t *words, uint32_t n);
    /* sum[j] is that of state[indices[i] + j]: 624 words. */
    void (*mt19937_sum)(const uint32_t *state, const uint16_t *indices, uint32_t count,
                        uint32_t *sum);
    /* `draws` x n words become n numbers, or pairs of them. */
    void (*convert)(const struct klib_rand *call, bool is_mrg, const uint32_t *x, uint32_t n,
                    void *to);
    void (*convert64)(const struct klib_rand *call, const uint64_t *x, uint32_t n, void *to);
    /* A number of each word, by the inverse of its distribution. */
    void (*convert_single)(const struct klib_rand *call, const uint32_t *x, uint32_t n, void *to);
};

extern const struct curand_loops curand_loops_generic, curand_loops_avx2, curand_loops_avx512;

#endif
