/*
 * Rotary position embeddings: Su et al., RoFormer, 2021. Pairs of elements of a head are turned by
 * position * base^(-2 i / size).
 * Error: (2^-21 |angle| + 4 u) |pair| + v |y|.
 */
#ifndef KLIB_ROPE_CUH
#define KLIB_ROPE_CUH

#include "base.cuh"

namespace klib {

constexpr int ROPE_THREADS = 256;

/*
 * x is [tokens][heads][size], `turned` elements of each head (an even number) are turned, the
 * others copied; in place if wanted. Pairs are (i, i + turned / 2), or if NEIGHBOURS (2 i, 2 i +
 * 1). direction -1 turns back, which is the gradient. blocks_for(tokens * heads * size / 2).
 */
template <bool NEIGHBOURS, class T, class I>
__global__ void __launch_bounds__(ROPE_THREADS)
    rope(const T *x, const I *positions, T *y, i64 tokens, int heads, int size, int turned,
         float base, float direction)
{
    i64 half = size / 2, pairs = tokens * heads * half;
    float step = -2.0f * log2f(base) / (float)turned;

    for (i64 i = (i64)blockIdx.x * ROPE_THREADS + threadIdx.x; i < pairs;
         i += (i64)gridDim.x * ROPE_THREADS) {
        int pair = (int)(i % half);
        i64 head = i / half * size;
        if (pair >= turned / 2) { /* the others, two by two */
            y[head + 2 * pair] = x[head + 2 * pair];
            y[head + 2 * pair + 1] = x[head + 2 * pair + 1];
            continue;
        }
        i64 first = head + (NEIGHBOURS ? 2 * pair : pair);
        i64 second = NEIGHBOURS ? first + 1 : first + turned / 2;
        float a = widen(x[first]), b = widen(x[second]), sine, cosine;
        sincosf((float)positions[i / half / heads] * exp2f(step * (float)pair), &sine, &cosine);
        sine *= direction;
        y[first] = narrow<T>(a * cosine - b * sine);
        y[second] = narrow<T>(a * sine + b * cosine);
    }
}

} // namespace klib

#endif
