/*
 * One result for each element: any function, casts, and quantisers.
 *
 * Errors: what the function has, and v for the result. Quantised to integers, an element is off by
 * at most half a step, scale / 2 (1 + 2 u); to fp8 e4m3 by 2^-4 of itself, or scale 2^-10 near
 * zero.
 */
#ifndef KLIB_ELEMENTWISE_CUH
#define KLIB_ELEMENTWISE_CUH

#include "base.cuh"

namespace klib {

constexpr int MAP_THREADS = 256;

/*
 * y[i] = f(x[i], ...), of any number of arrays, in place if wanted; elements are widened for f.
 * blocks_for(n, MAP_THREADS) blocks.
 */
template <class F, class R, class... T>
__global__ void __launch_bounds__(MAP_THREADS) map(R *y, i64 n, F f, const T *...x)
{
    for (i64 i = (i64)blockIdx.x * MAP_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * MAP_THREADS)
        y[i] = narrow<R>(f(widen(x[i])...));
}

/* Functions for map(). */
struct f_same { /* a cast */
    template <class S> KLIB_DEVICE S operator()(S a) const
    {
        return a;
    }
};
struct f_add {
    template <class S> KLIB_DEVICE S operator()(S a, S b) const
    {
        return a + b;
    }
};
struct f_multiply {
    template <class S> KLIB_DEVICE S operator()(S a, S b) const
    {
        return a * b;
    }
};
struct f_scale_add { /* of y and x: axpby */
    float a, b;
    template <class S> KLIB_DEVICE S operator()(S x, S y) const
    {
        return S(a) * x + S(b) * y;
    }
};
struct f_silu_multiply { /* SwiGLU's gate */
    template <class S> KLIB_DEVICE S operator()(S gate, S x) const
    {
        return gate / (S(1) + S(exp(-gate))) * x;
    }
};

/* Shapes of up to 6 dimensions, the last one fastest; an array's step is 0 where it is repeated. */
template <int ARRAYS> struct broadcast_shape {
    int dimensions;
    i64 size[6], step[ARRAYS][6];
};

/* y as it lies, n elements, of two arrays that are repeated. */
template <class F, class R, class A, class B>
__global__ void __launch_bounds__(MAP_THREADS)
    map_broadcast(R *y, i64 n, F f, broadcast_shape<2> s, const A *a, const B *b)
{
    for (i64 i = (i64)blockIdx.x * MAP_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * MAP_THREADS) {
        i64 rest = i, at_a = 0, at_b = 0;
        for (int d = s.dimensions - 1; d >= 0; d--) {
            i64 index = rest % s.size[d];
            rest /= s.size[d];
            at_a += index * s.step[0][d];
            at_b += index * s.step[1][d];
        }
        y[i] = narrow<R>(f(widen(a[at_a]), widen(b[at_b])));
    }
}

/* ---- quantisers: a row, or a group, has one scale, its largest element's over the type's */

template <class Q> KLIB_DEVICE float quantised_max();
template <> KLIB_DEVICE float quantised_max<int8_t>()
{
    return 127.0f;
}
template <> KLIB_DEVICE float quantised_max<__nv_fp8_e4m3>()
{
    return 448.0f;
}
template <> KLIB_DEVICE float quantised_max<__nv_fp8_e5m2>()
{
    return 57344.0f;
}

template <class Q> KLIB_DEVICE Q quantise(float x)
{
    return narrow<Q>(x);
}

/* Q is int8_t or fp8; x is about q * scale. A row is a block's; all of a tensor is one row. */
template <class Q, class T>
__global__ void __launch_bounds__(MAP_THREADS)
    quantise_rows(const T *x, Q *q, float *scales, i64 rows, i64 n)
{
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        float largest = 0.0f;
        for (i64 i = threadIdx.x; i < n; i += MAP_THREADS)
            largest = fmaxf(largest, fabsf(widen(x[row * n + i])));
        largest = block_reduce(largest, max_op<float>());
        float scale = largest > 0.0f ? largest / quantised_max<Q>() : 1.0f;
        for (i64 i = threadIdx.x; i < n; i += MAP_THREADS)
            q[row * n + i] = quantise<Q>(widen(x[row * n + i]) / scale);
        if (threadIdx.x == 0)
            scales[row] = scale;
    }
}

template <class Q, class T>
__global__ void __launch_bounds__(MAP_THREADS)
    dequantise_rows(const Q *q, const float *scales, T *x, i64 rows, i64 n)
{
    for (i64 i = (i64)blockIdx.x * MAP_THREADS + threadIdx.x; i < rows * n;
         i += (i64)gridDim.x * MAP_THREADS)
        x[i] = narrow<T>((float)q[i] * scales[i / n]);
}

/* The four bits at i, as a number from -8 to 7: two in a byte, the first in its low half. */
KLIB_DEVICE int int4_at(const uint8_t *q, i64 i)
{
    int bits = q[i / 2] >> (i % 2 * 4) & 15;
    return (bits ^ 8) - 8;
}

/* Groups of `group` elements, an even number; a warp's group is the unit. n is all of x. */
template <class T>
__global__ void __launch_bounds__(MAP_THREADS)
    quantise_int4(const T *x, uint8_t *q, float *scales, i64 n, int group)
{
    i64 warps = (i64)gridDim.x * (MAP_THREADS / WARP);
    int lane = threadIdx.x % WARP;

    for (i64 g = (i64)blockIdx.x * (MAP_THREADS / WARP) + threadIdx.x / WARP; g < n / group;
         g += warps) {
        const T *from = x + g * group;
        float largest = 0.0f;
        for (int i = lane; i < group; i += WARP)
            largest = fmaxf(largest, fabsf(widen(from[i])));
        largest = warp_reduce(largest, max_op<float>());
        float scale = largest > 0.0f ? largest / 7.0f : 1.0f;
        for (int i = lane; i < group / 2; i += WARP) {
            int low = __float2int_rn(widen(from[2 * i]) / scale);
            int high = __float2int_rn(widen(from[2 * i + 1]) / scale);
            q[g * (group / 2) + i] = (uint8_t)((low & 15) | (high & 15) << 4);
        }
        if (lane == 0)
            scales[g] = scale;
    }
}

template <class T>
__global__ void __launch_bounds__(MAP_THREADS)
    dequantise_int4(const uint8_t *q, const float *scales, T *x, i64 n, int group)
{
    for (i64 i = (i64)blockIdx.x * MAP_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * MAP_THREADS)
        x[i] = narrow<T>((float)int4_at(q, i) * scales[i / group]);
}

} // namespace klib

#endif
