/*
 * Reductions and scans along rows, for any associative operator of base.cuh.
 *
 * Algorithm: a thread takes every THREADS-th element, then warps combine by shuffles, as in Harris,
 * Optimizing parallel reduction in CUDA, 2007. The order is the same in each run.
 * Long arrays are done by rows: reduce_rows() of chunks and then of their results; a scan is
 * reduce-then-scan, as in Sengupta, Harris, Zhang and Owens, Scan primitives for GPU computing,
 * 2007: chunks' sums, an exclusive scan of those, and scan_rows() with these as starts. Error of a
 * sum: g(n / THREADS + 10) sum |x|; of a scan g(n / THREADS + 15) sum |x|.
 */
#ifndef KLIB_REDUCE_CUH
#define KLIB_REDUCE_CUH

#include "base.cuh"

namespace klib {

/* ---- what a reduction takes of an element, and its position in the row */

struct map_value {
    template <class T> KLIB_DEVICE sum_of<T> operator()(T x, i64) const
    {
        return widen(x);
    }
};
struct map_square {
    template <class T> KLIB_DEVICE sum_of<T> operator()(T x, i64) const
    {
        return widen(x) * widen(x);
    }
};
struct map_size {
    template <class T> KLIB_DEVICE sum_of<T> operator()(T x, i64) const
    {
        sum_of<T> y = widen(x);
        return y < sum_of<T>(0) ? -y : y;
    }
};

/* The largest element and where it is: the first of equals, the first NaN before all. */
template <class S> struct placed {
    S value;
    int pad; /* whole words, whatever S is */
    i64 place;
};
struct map_placed {
    template <class T> KLIB_DEVICE placed<sum_of<T>> operator()(T x, i64 place) const
    {
        return {widen(x), 0, place};
    }
};
template <class S> struct argmax_op {
    static KLIB_DEVICE placed<S> identity()
    {
        return {lowest<S>(), 0, INT64_MAX};
    }
    KLIB_DEVICE placed<S> operator()(placed<S> a, placed<S> b) const
    {
        bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
        if (a_is_nan != b_is_nan)
            return a_is_nan ? a : b;
        if (a_is_nan || a.value == b.value)
            return a.place < b.place ? a : b;
        return a.value > b.value ? a : b;
    }
};

/* ---- what becomes of a result */

struct finish_value {
    template <class R, class S> KLIB_DEVICE void operator()(R *y, S x) const
    {
        *y = narrow<R>(x);
    }
};
struct finish_scaled { /* a mean */
    double factor;
    template <class R, class S> KLIB_DEVICE void operator()(R *y, S x) const
    {
        *y = narrow<R>(S(x * S(factor)));
    }
};
struct finish_root { /* a Euclidean norm */
    template <class R, class S> KLIB_DEVICE void operator()(R *y, S x) const
    {
        *y = narrow<R>(S(sqrt(x)));
    }
};
struct finish_place {
    template <class S> KLIB_DEVICE void operator()(i64 *y, placed<S> x) const
    {
        *y = x.place;
    }
};

/* ---- kernels */

constexpr int REDUCE_THREADS = 256;

/*
 * y[r] of x[r n ... r n + n), for rows of `total` elements together: the last one may be shorter.
 * A row is a block's; take blocks_for(rows, 1) blocks of REDUCE_THREADS.
 */
template <class Op, class T, class R, class Map = map_value, class Finish = finish_value>
__global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_rows(const T *x, R *y, i64 n, i64 total, Map map = {}, Finish finish = {})
{
    i64 rows = ceil_div(total, n);
    Op op;

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        i64 length = least(n, total - row * n);
        auto sum = Op::identity();
        for (i64 i = threadIdx.x; i < length; i += REDUCE_THREADS)
            sum = op(sum, map(x[row * n + i], i));
        sum = block_reduce(sum, op);
        if (threadIdx.x == 0)
            finish(&y[row], sum);
    }
}

/*
 * y[o][c] of x[o][0 ... n)[c], where c < columns are neighbours in memory: a lane has a column.
 * Grid: ceil_div(columns, 32) x outer.
 */
template <class Op, class T, class R, class Map = map_value, class Finish = finish_value>
__global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_columns(const T *x, R *y, i64 n, i64 columns, Map map = {}, Finish finish = {})
{
    constexpr int WARPS = REDUCE_THREADS / WARP;
    using S = decltype(Op::identity());
    __shared__ S parts[WARPS][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    i64 column = (i64)blockIdx.x * WARP + lane;
    S sum = Op::identity();
    Op op;

    x += blockIdx.y * n * columns;
    for (i64 i = warp; i < n && column < columns; i += WARPS)
        sum = op(sum, map(x[i * columns + column], i));
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp || column >= columns)
        return;
    for (int i = 1; i < WARPS; i++)
        sum = op(sum, parts[i][lane]);
    finish(&y[blockIdx.y * columns + column], sum);
}

/*
 * y[r][i] = x[r][0] op ... op x[r][i], or, if EXCLUSIVE, without the last. A row begins with
 * starts[r], or with nothing if starts is NULL. Rows as reduce_rows() has them. In place if wanted.
 */
template <class Op, bool EXCLUSIVE, class T, class R, class S>
__global__ void __launch_bounds__(REDUCE_THREADS)
    scan_rows(const T *x, R *y, i64 n, i64 total, const S *starts)
{
    i64 rows = ceil_div(total, n);
    Op op;

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        i64 length = least(n, total - row * n);
        auto before = starts ? starts[row] : Op::identity();
        for (i64 first = 0; first < length; first += REDUCE_THREADS) {
            i64 at = first + threadIdx.x;
            auto own = at < length ? widen(x[row * n + at]) : Op::identity(), all = own;
            auto through = block_scan(own, op, &all);
            if constexpr (EXCLUSIVE) {
                __shared__ decltype(through) all_through[REDUCE_THREADS];
                __syncthreads();
                all_through[threadIdx.x] = through;
                __syncthreads();
                through = threadIdx.x ? all_through[threadIdx.x - 1] : Op::identity();
            }
            if (at < length)
                y[row * n + at] = narrow<R>(op(before, through));
            before = op(before, all);
        }
    }
}

} // namespace klib

#endif
