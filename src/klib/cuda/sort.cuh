/*
 * Sorting by digits, and the largest k of rows.
 *
 * Algorithm: least significant digits first, eight bits at a time: Satish, Harris and Garland,
 * Designing efficient sorting algorithms for manycore GPUs, 2009; a warp ranks its keys by
 * match_any, as in Adinets and Merrill, Onesweep, 2022. It is stable. The largest k are found by
 * their digits, most significant first: Alabi, Blanchard, Gordon and Steinbach, Fast k-selection
 * algorithms for graphics processing units, 2012.
 * Order: numbers by value, -0 before 0, NaN last (first if descending). Results are exact.
 * Needs compute capability 7.0.
 */
#ifndef KLIB_SORT_CUH
#define KLIB_SORT_CUH

#include "base.cuh"

namespace klib {

constexpr int SORT_THREADS = 256, SORT_EACH = 8, SORT_BLOCK = SORT_THREADS * SORT_EACH;
constexpr int SORT_DIGITS = 256;

/* ---- keys as unsigned numbers of the same order */

template <class T> struct radix_bits {
    using type = typename choice<sizeof(T) == 8, uint64_t, uint32_t>::type;
    static constexpr int BITS = sizeof(T) * 8;
};
template <class T> using radix_of = typename radix_bits<T>::type;

template <class T> KLIB_DEVICE radix_of<T> radix_key(T x, bool descending)
{
    using U = radix_of<T>;
    constexpr int BITS = radix_bits<T>::BITS;
    constexpr U SIGN = U(1) << (BITS - 1), ALL = SIGN | (SIGN - 1);
    U bits = 0;

    memcpy(&bits, &x, sizeof(x));
    if constexpr (is_same<T, float>::value || is_same<T, double>::value ||
                  is_same<T, __half>::value || is_same<T, __nv_bfloat16>::value)
        bits = x != x ? ALL : bits & SIGN ? ALL & ~bits : bits | SIGN;
    else if constexpr (T(-1) < T(0))
        bits ^= SIGN;
    return descending ? ALL & ~bits : bits;
}

/* ---- sorting: for each digit radix_count(), an exclusive scan of counts (reduce.cuh), and
 * radix_scatter(); ceil_div(n, SORT_BLOCK) blocks of SORT_THREADS */

/* counts[digit][block] of keys with the eight bits from `shift` on. */
template <class T>
__global__ void __launch_bounds__(SORT_THREADS)
    radix_count(const T *keys, int n, int shift, bool descending, int *counts)
{
    __shared__ int own[SORT_DIGITS];

    for (int digit = threadIdx.x; digit < SORT_DIGITS; digit += SORT_THREADS)
        own[digit] = 0;
    __syncthreads();
    for (int i = 0; i < SORT_EACH; i++) {
        int at = (int)blockIdx.x * SORT_BLOCK + i * SORT_THREADS + (int)threadIdx.x;
        if (at < n)
            atomicAdd(&own[radix_key(keys[at], descending) >> shift & (SORT_DIGITS - 1)], 1);
    }
    __syncthreads();
    for (int digit = threadIdx.x; digit < SORT_DIGITS; digit += SORT_THREADS)
        counts[digit * gridDim.x + blockIdx.x] = own[digit];
}

/* starts[digit][block]: where the block's keys with that digit go. Values may be NULL. */
template <class T, class V>
__global__ void __launch_bounds__(SORT_THREADS)
    radix_scatter(const T *keys, const V *values, int n, int shift, bool descending,
                  const int *starts, T *out_keys, V *out_values)
{
    constexpr int WARPS = SORT_THREADS / WARP;
    __shared__ int counts[WARPS][SORT_DIGITS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, ranks[SORT_EACH];
    int first = (int)blockIdx.x * SORT_BLOCK + warp * WARP * SORT_EACH + lane;

    for (int digit = lane; digit < SORT_DIGITS; digit += WARP)
        counts[warp][digit] = 0;
    __syncwarp();
    for (int i = 0; i < SORT_EACH; i++) { /* ranks within the warp */
        int at = first + i * WARP, digit = SORT_DIGITS;
        if (at < n)
            digit = (int)(radix_key(keys[at], descending) >> shift & (SORT_DIGITS - 1));
        unsigned alike = __match_any_sync(ALL_LANES, digit);
        int before = __popc(alike & ((1u << lane) - 1)), count = 0;
        if (digit < SORT_DIGITS)
            count = counts[warp][digit];
        ranks[i] = count + before;
        __syncwarp();
        if (digit < SORT_DIGITS && before == 0)
            counts[warp][digit] = count + __popc(alike);
        __syncwarp();
    }
    __syncthreads();
    for (int digit = threadIdx.x; digit < SORT_DIGITS; digit += SORT_THREADS) {
        int start = starts[digit * gridDim.x + blockIdx.x];
        for (int w = 0; w < WARPS; w++) {
            int count = counts[w][digit];
            counts[w][digit] = start;
            start += count;
        }
    }
    __syncthreads();
    for (int i = 0; i < SORT_EACH; i++) {
        int at = first + i * WARP;
        if (at >= n)
            continue;
        T key = keys[at];
        int to = ranks[i] + counts[warp][radix_key(key, descending) >> shift & (SORT_DIGITS - 1)];
        out_keys[to] = key;
        if (values)
            out_values[to] = values[at];
    }
}

/* ---- the largest k */

/*
 * Of each row of n the k largest (or, if not `largest`, smallest), in order; equal ones by place.
 * k <= K, a power of two, up to 1024; a row with fewer than k elements is the caller's error. A row
 * is a block's.
 */
template <int K, class T>
__global__ void __launch_bounds__(SORT_THREADS)
    top_k(const T *x, i64 rows, int n, int k, bool largest, T *values, int *places)
{
    using U = radix_of<T>;
    static_assert((K & (K - 1)) == 0 && K <= 1024, "a power of two");
    __shared__ int counts[SORT_DIGITS], digit_found, rank_left;
    __shared__ U keys[K];
    __shared__ int at[K];

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * n;
        U prefix = 0, mask = 0; /* digits of the k-th key that are known */
        int rank = k;           /* of it, among keys with these digits */
        for (int shift = radix_bits<T>::BITS - 8; shift >= 0; shift -= 8) {
            for (int digit = threadIdx.x; digit < SORT_DIGITS; digit += SORT_THREADS)
                counts[digit] = 0;
            __syncthreads();
            for (int i = threadIdx.x; i < n; i += SORT_THREADS) {
                U key = radix_key(from[i], largest);
                if ((key & mask) == prefix)
                    atomicAdd(&counts[key >> shift & (SORT_DIGITS - 1)], 1);
            }
            __syncthreads();
            int own = counts[threadIdx.x], all, through = block_scan(own, add_op<int>(), &all);
            if (through >= rank && through - own < rank) {
                digit_found = (int)threadIdx.x;
                rank_left = rank - (through - own);
            }
            __syncthreads();
            prefix |= U(digit_found) << shift;
            mask |= U(SORT_DIGITS - 1) << shift;
            rank = rank_left;
            __syncthreads();
        }
        for (int i = threadIdx.x; i < K; i += SORT_THREADS) {
            keys[i] = ~U(0);
            at[i] = INT32_MAX;
        }
        __syncthreads();
        int below = 0, equal = 0; /* taken */
        for (int first = 0; first < n; first += SORT_THREADS) {
            int i = first + (int)threadIdx.x, all_below, all_equal;
            U key = i < n ? radix_key(from[i], largest) : ~U(0);
            int is_below = i < n && key < prefix, is_equal = i < n && key == prefix;
            int b = below + block_scan(is_below, add_op<int>(), &all_below) - 1;
            int e = equal + block_scan(is_equal, add_op<int>(), &all_equal) - 1;
            int to = is_below ? b : is_equal && e < rank ? k - rank + e : -1;
            if (to >= 0) {
                keys[to] = key;
                at[to] = i;
            }
            below += all_below;
            equal += all_equal;
        }
        __syncthreads();
        for (int size = 2; size <= K; size *= 2) { /* Batcher's bitonic sort */
            for (int step = size / 2; step; step /= 2) {
                for (int i = threadIdx.x; i < K; i += SORT_THREADS) {
                    int j = i ^ step;
                    if (j <= i)
                        continue;
                    bool after = keys[i] > keys[j] || (keys[i] == keys[j] && at[i] > at[j]);
                    if (after != ((i & size) != 0)) {
                        U key = keys[i];
                        int place = at[i];
                        keys[i] = keys[j];
                        at[i] = at[j];
                        keys[j] = key;
                        at[j] = place;
                    }
                }
                __syncthreads();
            }
        }
        for (int i = threadIdx.x; i < k; i += SORT_THREADS) {
            values[row * k + i] = from[at[i]];
            places[row * k + i] = at[i];
        }
        __syncthreads();
    }
}

} // namespace klib

#endif
