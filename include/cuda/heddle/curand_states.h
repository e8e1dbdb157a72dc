/*
 * cuRAND in kernels: generators and their states. Part of curand_kernel.h.
 *
 * Sources: XORWOW: Marsaglia, "Xorshift RNGs" (2003). Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3" (2011), and Random123. MRG32k3a: L'Ecuyer (1999), with the jumps of L'Ecuyer et al., "An object-oriented
 * random-number package" (2002). Sobol: Bratley and Fox, Algorithm 659, in Antonov and Saleev's order. How seeds,
 * subsequences and offsets become states: cuRAND library manual, "Device API"; sequences are those of cuRAND.
 */
#ifndef HEDDLE_CUDA_CURAND_STATES_H
#define HEDDLE_CUDA_CURAND_STATES_H

#include "cuda_runtime.h"

#include "heddle/curand_jump.h"

#define HEDDLE_RAND static __inline__ __host__ __device__ __attribute__((unused))

/* ---- XORWOW: five words of xorshift and a counter that is added */

struct curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag; /* the other number of a pair waits in boxmuller_extra */
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

#define HEDDLE_XORWOW_WEYL 362437u

HEDDLE_RAND void heddle_xorshift(unsigned int *v)
{
    unsigned int t = v[0] ^ v[0] >> 2;
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
}
HEDDLE_RAND unsigned int curand(curandStateXORWOW_t *state)
{
    heddle_xorshift(state->v);
    state->d += HEDDLE_XORWOW_WEYL;
    return state->v[4] + state->d;
}

/* Jumps by 2^(first + i) for each bit i of n. */
HEDDLE_RAND void heddle_xorshift_jump(unsigned int *v, unsigned long long n, int first)
{
    for (int row = first - HEDDLE_XORWOW_JUMP_FIRST; n; n >>= 1, row++) {
        unsigned int sum[5] = {0, 0, 0, 0, 0};
        if (!(n & 1))
            continue;
        for (int i = 0; i < 160; i++) {
            unsigned int mask = 0u - (heddle_xorwow_jump[row][i / 32] >> (i & 31) & 1u);
            for (int w = 0; w < 5; w++)
                sum[w] ^= v[w] & mask;
            heddle_xorshift(v);
        }
        for (int w = 0; w < 5; w++)
            v[w] = sum[w];
    }
}
HEDDLE_RAND void skipahead(unsigned long long n, curandStateXORWOW_t *state)
{
    for (unsigned int i = n & ((1u << HEDDLE_XORWOW_JUMP_FIRST) - 1); i; i--)
        heddle_xorshift(state->v);
    heddle_xorshift_jump(state->v, n >> HEDDLE_XORWOW_JUMP_FIRST, HEDDLE_XORWOW_JUMP_FIRST);
    state->d += HEDDLE_XORWOW_WEYL * (unsigned int)n;
}
/* 2^67 n steps, a multiple of the counter's period. */
HEDDLE_RAND void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state)
{
    heddle_xorshift_jump(state->v, n, 67);
}
HEDDLE_RAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStateXORWOW_t *state)
{
    unsigned int low = ((unsigned int)seed ^ 0xaad26b49u) * 1099087573u;
    unsigned int high = ((unsigned int)(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;

    state->d = 6615241u + high + low;
    state->v[0] = 123456789u + low;
    state->v[1] = 362436069u ^ low;
    state->v[2] = 521288629u + high;
    state->v[3] = 88675123u ^ high;
    state->v[4] = 5783321u + low;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
}

/* ---- Philox4x32-10: a counter of 128 bits, enciphered; its upper half is the subsequence */

struct curandStatePhilox4_32_10 {
    uint4 ctr;
    uint4 output; /* of ctr */
    uint2 key;
    unsigned int STATE; /* the next word of output */
    int boxmuller_flag;
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

HEDDLE_RAND uint4 curand_Philox4x32_10(uint4 c, uint2 k)
{
    for (int round = 0; round < 10; round++) {
        unsigned long long a = 0xd2511f53ull * c.x, b = 0xcd9e8d57ull * c.z;
        c = make_uint4((unsigned int)(b >> 32) ^ c.y ^ k.x, (unsigned int)b,
                       (unsigned int)(a >> 32) ^ c.w ^ k.y, (unsigned int)a);
        k.x += 0x9e3779b9u;
        k.y += 0xbb67ae85u;
    }
    return c;
}
/* Adds to the counter from the word at `by` 64 bits on; carries go on upwards. */
HEDDLE_RAND void heddle_philox_add(uint4 *ctr, unsigned long long n)
{
    unsigned long long low = (unsigned long long)ctr->y << 32 | ctr->x,
                       high = (unsigned long long)ctr->w << 32 | ctr->z;
    low += n;
    high += low < n;
    *ctr = make_uint4((unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high,
                      (unsigned int)(high >> 32));
}
HEDDLE_RAND void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    unsigned long long high = ((unsigned long long)state->ctr.w << 32 | state->ctr.z) + n;
    state->ctr.z = (unsigned int)high;
    state->ctr.w = (unsigned int)(high >> 32);
    state->output = curand_Philox4x32_10(state->ctr, state->key);
}
HEDDLE_RAND void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state)
{
    state->STATE += (unsigned int)(n & 3);
    heddle_philox_add(&state->ctr, n / 4 + state->STATE / 4);
    state->STATE %= 4;
    state->output = curand_Philox4x32_10(state->ctr, state->key);
}
HEDDLE_RAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStatePhilox4_32_10_t *state)
{
    state->ctr = make_uint4(0, 0, 0, 0);
    state->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
    state->STATE = 0;
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}
HEDDLE_RAND unsigned int heddle_word(uint4 v, unsigned int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
HEDDLE_RAND unsigned int curand(curandStatePhilox4_32_10_t *state)
{
    unsigned int word = heddle_word(state->output, state->STATE);
    if (++state->STATE == 4)
        skipahead(0, state);
    return word;
}
HEDDLE_RAND uint4 curand4(curandStatePhilox4_32_10_t *state)
{
    uint4 old = state->output, now;
    unsigned int at = state->STATE;

    heddle_philox_add(&state->ctr, 1);
    now = state->output = curand_Philox4x32_10(state->ctr, state->key);
    if (at == 0)
        return old;
    return make_uint4(heddle_word(old, at), at < 3 ? heddle_word(old, at + 1) : now.x,
                      at < 2 ? old.w : heddle_word(now, at - 2), heddle_word(now, at - 1));
}

/* ---- MRG32k3a: two recursions of order three, modulo two primes below 2^32 */

struct curandStateMRG32k3a {
    unsigned int s1[3], s2[3];
    int boxmuller_flag;
    int boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

#define HEDDLE_MRG_M1 4294967087u
#define HEDDLE_MRG_M2 4294944443u

/* The next number, from 1 to m1. */
HEDDLE_RAND double curand_MRG32k3a(curandStateMRG32k3a_t *state)
{
    unsigned int *a = state->s1, *b = state->s2;
    unsigned long long m1 = HEDDLE_MRG_M1, m2 = HEDDLE_MRG_M2;
    unsigned long long p = (1403580ull * a[1] + 810728ull * (m1 - a[0])) % m1;
    unsigned long long q = (527612ull * b[2] + 1370589ull * (m2 - b[0])) % m2;

    a[0] = a[1];
    a[1] = a[2];
    a[2] = (unsigned int)p;
    b[0] = b[1];
    b[1] = b[2];
    b[2] = (unsigned int)q;
    return (double)(p <= q ? p - q + m1 : p - q);
}
/* Stretched to all of 32 bits. */
HEDDLE_RAND unsigned int curand(curandStateMRG32k3a_t *state)
{
    return (unsigned int)(curand_MRG32k3a(state) * 1.000000048662);
}

struct heddle_matrix3 {
    unsigned int at[3][3];
};
HEDDLE_RAND struct heddle_matrix3 heddle_matrix3_product(struct heddle_matrix3 a,
                                                         struct heddle_matrix3 b, unsigned int m)
{
    struct heddle_matrix3 r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            unsigned long long sum = 0;
            for (int k = 0; k < 3; k++)
                sum = (sum + (unsigned long long)a.at[i][k] * b.at[k][j] % m) % m;
            r.at[i][j] = (unsigned int)sum;
        }
    return r;
}
/* v = power^n v modulo m. */
HEDDLE_RAND void heddle_matrix3_jump(struct heddle_matrix3 power, unsigned long long n,
                                     unsigned int m, unsigned int *v)
{
    for (; n; n >>= 1) {
        if (n & 1) {
            unsigned int from[3] = {v[0], v[1], v[2]};
            for (int i = 0; i < 3; i++) {
                unsigned long long sum = 0;
                for (int k = 0; k < 3; k++)
                    sum = (sum + (unsigned long long)power.at[i][k] * from[k] % m) % m;
                v[i] = (unsigned int)sum;
            }
        }
        power = heddle_matrix3_product(power, power, m);
    }
}
/* The recursions' matrices, and their powers 2^76 and 2^127, which L'Ecuyer et al. print. */
HEDDLE_RAND void skipahead(unsigned long long n, curandStateMRG32k3a_t *state)
{
    struct heddle_matrix3 a = {{{0, 1, 0}, {0, 0, 1}, {HEDDLE_MRG_M1 - 810728u, 1403580u, 0}}};
    struct heddle_matrix3 b = {{{0, 1, 0}, {0, 0, 1}, {HEDDLE_MRG_M2 - 1370589u, 0, 527612u}}};
    heddle_matrix3_jump(a, n, HEDDLE_MRG_M1, state->s1);
    heddle_matrix3_jump(b, n, HEDDLE_MRG_M2, state->s2);
}
HEDDLE_RAND void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    struct heddle_matrix3 a = {{{82758667u, 1871391091u, 4127413238u},
                                {3672831523u, 69195019u, 1871391091u},
                                {3672091415u, 3528743235u, 69195019u}}};
    struct heddle_matrix3 b = {{{1511326704u, 3759209742u, 1610795712u},
                                {4292754251u, 1511326704u, 3889917532u},
                                {3859662829u, 4292754251u, 3708466080u}}};
    heddle_matrix3_jump(a, n, HEDDLE_MRG_M1, state->s1);
    heddle_matrix3_jump(b, n, HEDDLE_MRG_M2, state->s2);
}
HEDDLE_RAND void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *state)
{
    struct heddle_matrix3 a = {{{2427906178u, 3580155704u, 949770784u},
                                {226153695u, 1230515664u, 3580155704u},
                                {1988835001u, 986791581u, 1230515664u}}};
    struct heddle_matrix3 b = {{{1464411153u, 277697599u, 1610723613u},
                                {32183930u, 1464411153u, 1022607788u},
                                {2824425944u, 32183930u, 2093834863u}}};
    heddle_matrix3_jump(a, n, HEDDLE_MRG_M1, state->s1);
    heddle_matrix3_jump(b, n, HEDDLE_MRG_M2, state->s2);
}
HEDDLE_RAND void curand_init(unsigned long long seed, unsigned long long subsequence,
                             unsigned long long offset, curandStateMRG32k3a_t *state)
{
    unsigned long long start = 12345, low = (unsigned int)seed ^ 0x55555555u;
    unsigned long long high = (unsigned int)(seed >> 32) ^ 0xaaaaaaaau;

    for (int i = 0; i < 3; i++) {
        bool even = i % 2 == 0;
        state->s1[i] = (unsigned int)(seed ? (even ? low : high) * start % HEDDLE_MRG_M1 : start);
        state->s2[i] = (unsigned int)(seed ? (even ? high : low) * start % HEDDLE_MRG_M2 : start);
    }
    skipahead_subsequence(subsequence, state);
    skipahead(offset, state);
    state->boxmuller_flag = 0;
    state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f;
    state->boxmuller_extra_double = 0.0;
}

#undef HEDDLE_MRG_M2
#undef HEDDLE_MRG_M1
#undef HEDDLE_XORWOW_WEYL

#endif
