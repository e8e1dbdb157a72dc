/*
 * Random numbers: Philox 4x32-10, Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy
 * as 1, 2, 3, 2011. Number i of a sequence is word i % 4 of the block whose counter is offset + i /
 * 4, so that it depends on seed, offset and i, and not on how many threads there are. Uniform
 * numbers are in (0, 1], with 32 bits before they are rounded; normal ones are Box and Muller's,
 * within 16 u (1 + |x|) of what the uniform ones give. All kernels: blocks_for(ceil_div(n, 4),
 * RANDOM_THREADS) blocks.
 */
#ifndef KLIB_RANDOM_CUH
#define KLIB_RANDOM_CUH

#include "base.cuh"

namespace klib {

constexpr int RANDOM_THREADS = 256;

struct random_block {
    uint32_t word[4];
};

KLIB_DEVICE random_block philox(random_block counter, uint64_t seed)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32), *c = counter.word;

#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        counter = {{(uint32_t)(b >> 32) ^ c[1] ^ key0, (uint32_t)b,
                    (uint32_t)(a >> 32) ^ c[3] ^ key1, (uint32_t)a}};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}
KLIB_DEVICE random_block philox_at(uint64_t seed, uint64_t stream, uint64_t block)
{
    return philox(
        {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}},
        seed);
}

/* In (0, 1]. */
KLIB_DEVICE float to_uniform(uint32_t bits)
{
    return fmaf((float)bits, 0x1p-32f, 0x1p-33f);
}
/* Two of two. */
KLIB_DEVICE float2 to_normal(uint32_t a, uint32_t b)
{
    float r = sqrtf(-2.0f * logf(to_uniform(a))), sine, cosine;

    sincospif(2.0f * to_uniform(b), &sine, &cosine);
    return make_float2(r * sine, r * cosine);
}

/* use(i, words) of each block of four numbers. */
template <class Use>
KLIB_DEVICE void each_random(i64 n, uint64_t seed, uint64_t stream, uint64_t offset, const Use &use)
{
    for (i64 i = (i64)blockIdx.x * RANDOM_THREADS + threadIdx.x; i < (n + 3) / 4;
         i += (i64)gridDim.x * RANDOM_THREADS)
        use(4 * i, philox_at(seed, stream, offset + (uint64_t)i));
}

static __global__ void __launch_bounds__(RANDOM_THREADS)
    random_bits(uint32_t *y, i64 n, uint64_t seed, uint64_t stream, uint64_t offset)
{
    each_random(n, seed, stream, offset, [&](i64 at, const random_block &r) {
        for (int i = 0; i < 4 && at + i < n; i++)
            y[at + i] = r.word[i];
    });
}

template <class T>
__global__ void __launch_bounds__(RANDOM_THREADS)
    random_uniform(T *y, i64 n, uint64_t seed, uint64_t stream, uint64_t offset, float low,
                   float high)
{
    each_random(n, seed, stream, offset, [&](i64 at, const random_block &r) {
        for (int i = 0; i < 4 && at + i < n; i++)
            y[at + i] = narrow<T>(fmaf(to_uniform(r.word[i]), high - low, low));
    });
}

template <class T>
__global__ void __launch_bounds__(RANDOM_THREADS)
    random_normal(T *y, i64 n, uint64_t seed, uint64_t stream, uint64_t offset, float mean,
                  float deviation)
{
    each_random(n, seed, stream, offset, [&](i64 at, const random_block &r) {
        float2 a = to_normal(r.word[0], r.word[1]), b = to_normal(r.word[2], r.word[3]);
        float x[4] = {a.x, a.y, b.x, b.y};
        for (int i = 0; i < 4 && at + i < n; i++)
            y[at + i] = narrow<T>(fmaf(x[i], deviation, mean));
    });
}

/* y = x / (1 - p) with probability 1 - p, else 0; the same seed and offset give the gradient's. */
template <class T>
__global__ void __launch_bounds__(RANDOM_THREADS)
    dropout(const T *x, T *y, i64 n, uint64_t seed, uint64_t stream, uint64_t offset, float p)
{
    float scale = 1.0f / (1.0f - p);

    each_random(n, seed, stream, offset, [&](i64 at, const random_block &r) {
        for (int i = 0; i < 4 && at + i < n; i++)
            y[at + i] = narrow<T>(to_uniform(r.word[i]) > p ? widen(x[at + i]) * scale : 0.0f);
    });
}

} // namespace klib

#endif
