/* libcurand: random numbers, by klib's kernels. */
#ifndef HD_API_CURAND_RAND_H
#define HD_API_CURAND_RAND_H

#include <stdatomic.h>
#pragma GCC visibility push(default)
#include <curand.h>
#pragma GCC visibility pop

#include "api/lib_base/lib_base.h"
#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/curand.h"

enum { RAND_DIMENSIONS = 1111 };

/* A state that kernels on their way, or a graph, may still use. */
struct rand_retired {
    struct klib_rand_state *state;
    struct rand_retired *next;
};

/* A distribution that kernels may use: kept for the next call with this lambda. */
struct rand_table {
    double lambda;
    struct klib_discrete discrete;
    struct rand_table *next;
};

struct curandGenerator_st {
    struct lib_handle base;
    const struct klib_curand *klib;
    curandRngType_t type; /* none of the DEFAULTs */
    curandOrdering_t order;
    bool is_host;
    bool is_captured; /* a graph may have the state */
    unsigned dimensions;
    uint64_t seed, offset;
    struct klib_rand_state *state; /* NULL: to be made, as the settings say */
    struct rand_retired *retired;
    struct rand_table *tables;
};

extern const struct lib_info rand_info;

static inline bool rand_is_quasi(curandRngType_t type)
{
    return type >= CURAND_RNG_QUASI_DEFAULT;
}
static inline bool rand_is_64(curandRngType_t type)
{
    return type == CURAND_RNG_QUASI_SOBOL64 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}

/* The state of the settings, made if need be. */
curandStatus_t rand_ready(curandGenerator_t generator);

/* Rows of `bits` / 32 words for each of RAND_DIMENSIONS. NULL: out of memory. */
const void *rand_vectors(int bits, bool is_scrambled);
const void *rand_constants(int bits);

/* The Poisson distribution, in one block of memory, `limit` first. False: out of memory. */
bool rand_discrete_create(double lambda, struct klib_discrete *out) HD_MUST_CHECK;

#endif
