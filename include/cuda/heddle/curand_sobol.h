/*
 * cuRAND in kernels: Sobol's sequences, plain and scrambled, of 32 and 64 bits. Part of curand_kernel.h; a dimension's
 * direction vectors come from the host (curandGetDirectionVectors32() ...). Number i is the sum of the directions of
 * the bits of i's Gray code; a scrambled sequence starts at its constant.
 */
#ifndef HEDDLE_CUDA_CURAND_SOBOL_H
#define HEDDLE_CUDA_CURAND_SOBOL_H

#include "heddle/curand_states.h"

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

struct curandStateSobol32 {
    unsigned int i, x, c;
    unsigned int direction_vectors[32];
};
typedef struct curandStateSobol32 curandStateSobol32_t;
struct curandStateScrambledSobol32 {
    unsigned int i, x, c;
    unsigned int direction_vectors[32];
};
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
struct curandStateSobol64 {
    unsigned long long i, x, c;
    unsigned long long direction_vectors[64];
};
typedef struct curandStateSobol64 curandStateSobol64_t;
struct curandStateScrambledSobol64 {
    unsigned long long i, x, c;
    unsigned long long direction_vectors[64];
};
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

/* Where counting from i to i + 1 changes the Gray code; behind the last number it stays within the vectors. */
HEDDLE_RAND int heddle_gray_step(unsigned int i)
{
    return ~i ? __builtin_ctz(~i) : 31;
}
HEDDLE_RAND int heddle_gray_step(unsigned long long i)
{
    return ~i ? __builtin_ctzll(~i) : 63;
}

#define HEDDLE_SOBOL(State, Word)                                                                  \
    HEDDLE_RAND void skipahead(Word n, State *state)                                               \
    {                                                                                              \
        state->i += n;                                                                             \
        state->x = state->c;                                                                       \
        for (Word gray = state->i ^ state->i >> 1, k = 0; gray; gray >>= 1, k++)                   \
            if (gray & 1)                                                                          \
                state->x ^= state->direction_vectors[k];                                           \
    }                                                                                              \
    HEDDLE_RAND Word curand(State *state)                                                          \
    {                                                                                              \
        Word x = state->x;                                                                         \
        state->x ^= state->direction_vectors[heddle_gray_step(state->i)];                          \
        state->i++;                                                                                \
        return x;                                                                                  \
    }                                                                                              \
    HEDDLE_RAND void heddle_sobol_init(const Word *vectors, Word c, Word offset, State *state)     \
    {                                                                                              \
        state->i = 0;                                                                              \
        state->c = c;                                                                              \
        for (unsigned int k = 0; k < 8 * sizeof(Word); k++)                                        \
            state->direction_vectors[k] = vectors[k];                                              \
        skipahead(offset, state);                                                                  \
    }
HEDDLE_SOBOL(curandStateSobol32_t, unsigned int)
HEDDLE_SOBOL(curandStateScrambledSobol32_t, unsigned int)
HEDDLE_SOBOL(curandStateSobol64_t, unsigned long long)
HEDDLE_SOBOL(curandStateScrambledSobol64_t, unsigned long long)
#undef HEDDLE_SOBOL

HEDDLE_RAND void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int offset,
                             curandStateSobol32_t *state)
{
    heddle_sobol_init(direction_vectors, 0u, offset, state);
}
HEDDLE_RAND void curand_init(curandDirectionVectors32_t direction_vectors, unsigned int scramble_c,
                             unsigned int offset, curandStateScrambledSobol32_t *state)
{
    heddle_sobol_init(direction_vectors, scramble_c, offset, state);
}
HEDDLE_RAND void curand_init(curandDirectionVectors64_t direction_vectors,
                             unsigned long long offset, curandStateSobol64_t *state)
{
    heddle_sobol_init(direction_vectors, 0ull, offset, state);
}
HEDDLE_RAND void curand_init(curandDirectionVectors64_t direction_vectors,
                             unsigned long long scramble_c, unsigned long long offset,
                             curandStateScrambledSobol64_t *state)
{
    heddle_sobol_init(direction_vectors, scramble_c, offset, state);
}

#endif
