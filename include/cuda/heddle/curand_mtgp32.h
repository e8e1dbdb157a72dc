/*
 * cuRAND in kernels: MTGP32, and what the host prepares for it. Part of curand_kernel.h; the names of files that programs
 * include (curand_mtgp32_host.h, curand_mtgp32dc_p_11213.h) lead here. Names as in the cuRAND library manual, "Device API".
 *
 * A state belongs to a block of at most 256 threads, which draw together: one number each. Source: M. Saito and
 * M. Matsumoto, "Variants of Mersenne Twister suitable for graphic processors" (2013).
 */
#ifndef HEDDLE_CUDA_CURAND_MTGP32_H
#define HEDDLE_CUDA_CURAND_MTGP32_H

#include <stdlib.h>

#include "cuda_runtime.h"
#include "curand.h"
#include "heddle/curand_mtgp32_sets.h"

#define MTGPDC_MEXP              11213
#define MTGPDC_N                 351
#define MTGP32_STATE_SIZE        1024 /* a ring */
#define MTGP32_STATE_MASK        1023
#define CURAND_NUM_MTGP32_PARAMS 200

/* A parameter set, with all entries of its tables. */
struct mtgp32_params_fast {
    int mexp, pos, sh1, sh2;
    unsigned int tbl[16], tmp_tbl[16];
    unsigned int flt_tmp_tbl[16]; /* for floats from 1 to 2 */
    unsigned int mask;
    unsigned char poly_sha1[21]; /* of the characteristic polynomial; 0 here */
};
typedef struct mtgp32_params_fast mtgp32_params_fast_t;

/* The sets as kernels use them. */
struct mtgp32_kernel_params {
    unsigned int pos_tbl[CURAND_NUM_MTGP32_PARAMS];
    unsigned int param_tbl[CURAND_NUM_MTGP32_PARAMS][16];
    unsigned int temper_tbl[CURAND_NUM_MTGP32_PARAMS][16];
    unsigned int single_temper_tbl[CURAND_NUM_MTGP32_PARAMS][16];
    unsigned int sh1_tbl[CURAND_NUM_MTGP32_PARAMS], sh2_tbl[CURAND_NUM_MTGP32_PARAMS];
    unsigned int mask[1];
};
typedef struct mtgp32_kernel_params mtgp32_kernel_params_t;

struct curandStateMtgp32 {
    unsigned int s[MTGP32_STATE_SIZE];
    int offset;
    int pIdx; /* the set */
    mtgp32_kernel_params_t *k;
};
typedef struct curandStateMtgp32 curandStateMtgp32_t;

/* ---- on the host */

#define HEDDLE_SUM(a, b, c, d, i)                                                                  \
    (((i) & 1 ? (a) : 0u) ^ ((i) & 2 ? (b) : 0u) ^ ((i) & 4 ? (c) : 0u) ^ ((i) & 8 ? (d) : 0u))
#define HEDDLE_TABLE(M, ...)                                                                       \
    {M(__VA_ARGS__, 0),  M(__VA_ARGS__, 1),  M(__VA_ARGS__, 2),  M(__VA_ARGS__, 3),                \
     M(__VA_ARGS__, 4),  M(__VA_ARGS__, 5),  M(__VA_ARGS__, 6),  M(__VA_ARGS__, 7),                \
     M(__VA_ARGS__, 8),  M(__VA_ARGS__, 9),  M(__VA_ARGS__, 10), M(__VA_ARGS__, 11),               \
     M(__VA_ARGS__, 12), M(__VA_ARGS__, 13), M(__VA_ARGS__, 14), M(__VA_ARGS__, 15)}
#define HEDDLE_FLOAT(a, b, c, d, i) (HEDDLE_SUM(a, b, c, d, i) >> 9 | 0x3f800000u)
#define HEDDLE_MTGP32(position, shift1, shift2, a, b, c, d, e, f, g, h)                            \
    {MTGPDC_MEXP,                                                                                  \
     position,                                                                                     \
     shift1,                                                                                       \
     shift2,                                                                                       \
     HEDDLE_TABLE(HEDDLE_SUM, a, b, c, d),                                                         \
     HEDDLE_TABLE(HEDDLE_SUM, e, f, g, h),                                                         \
     HEDDLE_TABLE(HEDDLE_FLOAT, e, f, g, h),                                                       \
     0xfff80000u,                                                                                  \
     {0}},
static mtgp32_params_fast_t mtgp32dc_params_fast_11213[]
    __attribute__((unused)) = {HEDDLE_MTGP32_SETS};
#undef HEDDLE_MTGP32
#undef HEDDLE_FLOAT
#undef HEDDLE_TABLE
#undef HEDDLE_SUM

/* Copies all sets to p, in memory of the device. */
static inline __attribute__((unused)) curandStatus_t
curandMakeMTGP32Constants(const mtgp32_params_fast_t params[], mtgp32_kernel_params_t *p)
{
    mtgp32_kernel_params_t *all = (mtgp32_kernel_params_t *)malloc(sizeof(*all));
    if (!all)
        return CURAND_STATUS_ALLOCATION_FAILED;
    for (int i = 0; i < CURAND_NUM_MTGP32_PARAMS; i++) {
        all->pos_tbl[i] = (unsigned int)params[i].pos;
        all->sh1_tbl[i] = (unsigned int)params[i].sh1;
        all->sh2_tbl[i] = (unsigned int)params[i].sh2;
        for (int j = 0; j < 16; j++) {
            all->param_tbl[i][j] = params[i].tbl[j];
            all->temper_tbl[i][j] = params[i].tmp_tbl[j];
            all->single_temper_tbl[i][j] = params[i].flt_tmp_tbl[j];
        }
    }
    all->mask[0] = params[0].mask;
    cudaError_t error = cudaMemcpy(p, all, sizeof(*all), cudaMemcpyHostToDevice);
    free(all);
    return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_INITIALIZATION_FAILED;
}

/* n states at s, in memory of the device: the sets from 0 on, of at most 200. */
static inline __attribute__((unused)) curandStatus_t
curandMakeMTGP32KernelState(curandStateMtgp32_t *s, mtgp32_params_fast_t params[],
                            mtgp32_kernel_params_t *k, int n, unsigned long long seed)
{
    if (n < 0 || n > CURAND_NUM_MTGP32_PARAMS)
        return CURAND_STATUS_OUT_OF_RANGE;
    curandStateMtgp32_t *all = (curandStateMtgp32_t *)calloc(n ? (size_t)n : 1, sizeof(*all));
    if (!all)
        return CURAND_STATUS_ALLOCATION_FAILED;
    for (int i = 0; i < n; i++) {
        unsigned int *words = all[i].s, hidden = params[i].tbl[4] ^ params[i].tbl[8] << 16, byte;
        byte = hidden + (hidden >> 16);
        byte = (byte + (byte >> 8)) & 0xff;
        words[0] = (unsigned int)(seed ^ seed >> 32) + (unsigned int)i + 1;
        words[1] = hidden;
        for (unsigned int j = 2; j < MTGPDC_N; j++)
            words[j] = byte * 0x01010101u;
        for (unsigned int j = 1; j < MTGPDC_N; j++)
            words[j] ^= 1812433253u * (words[j - 1] ^ words[j - 1] >> 30) + j;
        all[i].pIdx = i;
        all[i].k = k;
    }
    cudaError_t error = cudaMemcpy(s, all, (size_t)n * sizeof(*all), cudaMemcpyHostToDevice);
    free(all);
    return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_INITIALIZATION_FAILED;
}

/* ---- in kernels */

#if defined(__cplusplus) && defined(__CUDA__)

/* The word of thread `t` of `count`, and what its tempering takes. All threads of the block call it. */
static __device__ __inline__ __attribute__((unused)) unsigned int
heddle_mtgp32_word(curandStateMtgp32_t *state, unsigned int t, unsigned int count,
                   unsigned int *tempering)
{
    const mtgp32_kernel_params_t *k = state->k;
    int set = state->pIdx;
    unsigned int position = k->pos_tbl[set], at = (unsigned int)state->offset + t, *s = state->s;
    unsigned int x = (s[at & MTGP32_STATE_MASK] & k->mask[0]) ^ s[(at + 1) & MTGP32_STATE_MASK];
    x ^= x << k->sh1_tbl[set];
    unsigned int y = x ^ s[(at + position) & MTGP32_STATE_MASK] >> k->sh2_tbl[set];
    unsigned int word = y ^ k->param_tbl[set][y & 15];
    unsigned int other = s[(at + position - 1) & MTGP32_STATE_MASK];

    s[(at + MTGPDC_N) & MTGP32_STATE_MASK] = word;
    other ^= other >> 16;
    *tempering = (other ^ other >> 8) & 15;
    __syncthreads();
    if (t == 0)
        state->offset = (int)((at + count) & MTGP32_STATE_MASK);
    __syncthreads();
    return word;
}

/* As `index` of n threads that draw. */
static __device__ __inline__ __attribute__((unused)) unsigned int
curand_mtgp32_specific(curandStateMtgp32_t *state, unsigned char index, unsigned char n)
{
    unsigned int tempering, word = heddle_mtgp32_word(state, index, n, &tempering);
    return word ^ state->k->temper_tbl[state->pIdx][tempering];
}
static __device__ __inline__ __attribute__((unused)) float
curand_mtgp32_single_specific(curandStateMtgp32_t *state, unsigned char index, unsigned char n)
{
    unsigned int tempering, word = heddle_mtgp32_word(state, index, n, &tempering);
    return __uint_as_float(word >> 9 ^ state->k->single_temper_tbl[state->pIdx][tempering]);
}
static __device__ __inline__ unsigned int heddle_block_size(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}
static __device__ __inline__ unsigned int heddle_block_thread(void)
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static __device__ __inline__ __attribute__((unused)) unsigned int curand(curandStateMtgp32_t *state)
{
    unsigned int tempering;
    unsigned int word =
        heddle_mtgp32_word(state, heddle_block_thread(), heddle_block_size(), &tempering);
    return word ^ state->k->temper_tbl[state->pIdx][tempering];
}
/* A float in [1, 2) of 23 bits. */
static __device__ __inline__ __attribute__((unused)) float
curand_mtgp32_single(curandStateMtgp32_t *state)
{
    unsigned int tempering;
    unsigned int word =
        heddle_mtgp32_word(state, heddle_block_thread(), heddle_block_size(), &tempering);
    return __uint_as_float(word >> 9 ^ state->k->single_temper_tbl[state->pIdx][tempering]);
}

#endif

#endif
