/*
 * Heddle's kernel library in CUDA C++: what its kernels have in common.
 *
 * The headers of this folder are templates that need the toolkit's device headers and nothing else;
 * nvcc and `heddle cc` compile them as C++17. Kernels are __global__ functions in namespace klib,
 * and the comment above each says its algorithm, shapes, limits and error. Where a kernel needs a
 * certain launch, a function beside it gives the grid. docs/klib.md is the overview.
 *
 * Elements are widened to a type of sums: float for floats of 32 bits and less, double for double,
 * int for bytes. In error bounds u is the unit roundoff of that type (2^-24, 2^-53), and v that of
 * the result's: g(n) = n u / (1 - n u), as in Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd edition, 2002.
 */
#ifndef KLIB_BASE_CUH
#define KLIB_BASE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KLIB_DEVICE __device__ __forceinline__
#define KLIB_BOTH   __host__ __device__ inline

namespace klib {

typedef long long i64;

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

template <bool IS_FIRST, class A, class B> struct choice {
    using type = A;
};
template <class A, class B> struct choice<false, A, B> {
    using type = B;
};
template <class A, class B> struct is_same {
    static constexpr bool value = false;
};
template <class A> struct is_same<A, A> {
    static constexpr bool value = true;
};

KLIB_BOTH i64 ceil_div(i64 a, i64 b)
{
    return (a + b - 1) / b;
}

template <class T> KLIB_BOTH T least(T a, T b)
{
    return b < a ? b : a;
}

template <class T> KLIB_BOTH T most(T a, T b)
{
    return a < b ? b : a;
}

/* Blocks of a loop over n elements: more than fill a device are taken in turns. */
inline unsigned blocks_for(i64 n, int threads)
{
    return (unsigned)most<i64>(1, least<i64>(ceil_div(n, threads), 65535));
}

/* ---- elements */

template <class T> struct sum_type {
    using type = float;
};
template <> struct sum_type<double> {
    using type = double;
};
template <> struct sum_type<int8_t> {
    using type = int;
};
template <> struct sum_type<uint8_t> {
    using type = int;
};
template <> struct sum_type<int> {
    using type = int;
};
template <> struct sum_type<unsigned> {
    using type = unsigned;
};
template <> struct sum_type<i64> {
    using type = i64;
};
template <class T> using sum_of = typename sum_type<T>::type;

template <class T> KLIB_DEVICE sum_of<T> widen(T x)
{
    return (sum_of<T>)x;
}
template <> KLIB_DEVICE float widen(__half x)
{
    return __half2float(x);
}
template <> KLIB_DEVICE float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/* To the nearest, ties to even; integers and fp8 saturate. */
template <class T> struct narrowing {
    template <class S> static KLIB_DEVICE T of(S x)
    {
        return (T)x;
    }
};
template <> struct narrowing<__half> {
    static KLIB_DEVICE __half of(float x)
    {
        return __float2half_rn(x);
    }
};
template <> struct narrowing<__nv_bfloat16> {
    static KLIB_DEVICE __nv_bfloat16 of(float x)
    {
        return __float2bfloat16_rn(x);
    }
};
template <> struct narrowing<int8_t> {
    static KLIB_DEVICE int8_t of(int x)
    {
        return (int8_t)most(-128, least(127, x));
    }
    static KLIB_DEVICE int8_t of(float x)
    {
        return of(__float2int_rn(x));
    }
};
template <> struct narrowing<uint8_t> {
    static KLIB_DEVICE uint8_t of(int x)
    {
        return (uint8_t)most(0, least(255, x));
    }
    static KLIB_DEVICE uint8_t of(float x)
    {
        return of(__float2int_rn(x));
    }
};
template <> struct narrowing<int> {
    static KLIB_DEVICE int of(int x)
    {
        return x;
    }
    static KLIB_DEVICE int of(float x)
    {
        return __float2int_rn(x);
    }
};
template <class T, class S> KLIB_DEVICE T narrow(S x)
{
    return narrowing<T>::of(x);
}

/* Fused multiply-add of any type of sums. */
KLIB_DEVICE float multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}
KLIB_DEVICE double multiply_add(double a, double b, double c)
{
    return fma(a, b, c);
}
KLIB_DEVICE int multiply_add(int a, int b, int c)
{
    return a * b + c;
}

template <class T> KLIB_DEVICE T lowest();
template <> KLIB_DEVICE float lowest()
{
    return -INFINITY;
}
template <> KLIB_DEVICE double lowest()
{
    return -(double)INFINITY;
}
template <> KLIB_DEVICE int lowest()
{
    return INT32_MIN;
}
template <> KLIB_DEVICE i64 lowest()
{
    return INT64_MIN;
}
template <class T> KLIB_DEVICE T highest();
template <> KLIB_DEVICE float highest()
{
    return INFINITY;
}
template <> KLIB_DEVICE double highest()
{
    return (double)INFINITY;
}
template <> KLIB_DEVICE int highest()
{
    return INT32_MAX;
}
template <> KLIB_DEVICE i64 highest()
{
    return INT64_MAX;
}

/* ---- operators of reductions and scans: associative, with an identity */

template <class S> struct add_op {
    static KLIB_DEVICE S identity()
    {
        return S(0);
    }
    KLIB_DEVICE S operator()(S a, S b) const
    {
        return a + b;
    }
};
template <class S> struct multiply_op {
    static KLIB_DEVICE S identity()
    {
        return S(1);
    }
    KLIB_DEVICE S operator()(S a, S b) const
    {
        return a * b;
    }
};
/* A NaN wins over numbers. */
template <class S> struct max_op {
    static KLIB_DEVICE S identity()
    {
        return lowest<S>();
    }
    KLIB_DEVICE S operator()(S a, S b) const
    {
        return a > b || a != a ? a : b;
    }
};
template <class S> struct min_op {
    static KLIB_DEVICE S identity()
    {
        return highest<S>();
    }
    KLIB_DEVICE S operator()(S a, S b) const
    {
        return a < b || a != a ? a : b;
    }
};

/* ---- exchange between threads: blocks are of one dimension, whole warps */

/* Of any type whose size is a multiple of four bytes. */
template <class T> KLIB_DEVICE T shuffle(T x, int lane)
{
    static_assert(sizeof(T) % 4 == 0, "words are exchanged");
    int words[sizeof(T) / 4];
    memcpy(words, &x, sizeof(x));
    for (unsigned i = 0; i < sizeof(T) / 4; i++)
        words[i] = __shfl_sync(ALL_LANES, words[i], lane);
    memcpy(&x, words, sizeof(x));
    return x;
}

/* Among groups of WIDTH lanes, a power of two; each lane gets the result. */
template <int WIDTH = WARP, class T, class Op> KLIB_DEVICE T warp_reduce(T x, Op op)
{
    for (int step = WIDTH / 2; step; step /= 2)
        x = op(x, shuffle(x, (int)(threadIdx.x % WARP) ^ step));
    return x;
}

/* Of a block of at most 1024 threads; each thread gets the result. */
template <class T, class Op> KLIB_DEVICE T block_reduce(T x, Op op)
{
    __shared__ T parts[WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
        warps = (blockDim.x + WARP - 1) / WARP;

    x = warp_reduce(x, op);
    __syncthreads(); /* of an earlier call */
    if (lane == 0)
        parts[warp] = x;
    __syncthreads();
    x = parts[lane < warps ? lane : 0];
    if (lane >= warps)
        x = Op::identity();
    return warp_reduce(x, op);
}

/* Inclusive, over the lanes of a warp. */
template <class T, class Op> KLIB_DEVICE T warp_scan(T x, Op op)
{
    int lane = threadIdx.x % WARP;

    for (int step = 1; step < WARP; step *= 2) {
        T before = shuffle(x, lane >= step ? lane - step : lane);
        if (lane >= step)
            x = op(before, x);
    }
    return x;
}

/* Inclusive, over the threads of a block; `total` is of all. */
template <class T, class Op> KLIB_DEVICE T block_scan(T x, Op op, T *total)
{
    __shared__ T parts[WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
        warps = (blockDim.x + WARP - 1) / WARP;

    x = warp_scan(x, op);
    __syncthreads();
    if (lane == WARP - 1)
        parts[warp] = x;
    __syncthreads();
    T sums = parts[lane < warps ? lane : 0];
    if (lane >= warps)
        sums = Op::identity();
    sums = warp_scan(sums, op);
    *total = shuffle(sums, warps - 1);
    T before = shuffle(sums, warp ? warp - 1 : 0);
    return warp ? op(before, x) : x;
}

} // namespace klib

#endif
