/*
 * Rows and elements by index: gather, scatter, embeddings. Indices are not checked, but for those
 * below 0, which are nothing: a gather gives zeros, a scatter leaves them out.
 * Errors: copies are exact; sums of k elements are within g(k) sum |x|.
 */
#ifndef KLIB_GATHER_CUH
#define KLIB_GATHER_CUH

#include "base.cuh"

namespace klib {

constexpr int GATHER_THREADS = 256;

/* y[i] = x[index[i]], rows of n elements; an embedding. blocks_for(count * n, GATHER_THREADS). */
template <class T, class I>
__global__ void __launch_bounds__(GATHER_THREADS)
    gather_rows(const T *x, const I *index, T *y, i64 count, i64 n)
{
    for (i64 i = (i64)blockIdx.x * GATHER_THREADS + threadIdx.x; i < count * n;
         i += (i64)gridDim.x * GATHER_THREADS) {
        I row = index[i / n];
        y[i] = row < 0 ? T(0) : x[row * n + i % n];
    }
}

/* y[index[i]] = x[i]. Where two have one index, either stays. */
template <class T, class I>
__global__ void __launch_bounds__(GATHER_THREADS)
    scatter_rows(const T *x, const I *index, T *y, i64 count, i64 n)
{
    for (i64 i = (i64)blockIdx.x * GATHER_THREADS + threadIdx.x; i < count * n;
         i += (i64)gridDim.x * GATHER_THREADS) {
        I row = index[i / n];
        if (row >= 0)
            y[row * n + i % n] = x[i];
    }
}

/* y[index[i]] += x[i] by atomic additions: the order of sums may differ from run to run. */
template <class T, class I, class S>
__global__ void __launch_bounds__(GATHER_THREADS)
    scatter_add_rows(const T *x, const I *index, S *y, i64 count, i64 n)
{
    for (i64 i = (i64)blockIdx.x * GATHER_THREADS + threadIdx.x; i < count * n;
         i += (i64)gridDim.x * GATHER_THREADS) {
        I row = index[i / n];
        if (row >= 0)
            atomicAdd(&y[row * n + i % n], S(widen(x[i])));
    }
}

/*
 * The same in one order: `sorted` are the indices in ascending order and `places` where each was
 * (sort.cuh makes both), so a run of equal indices is a row of y, which this overwrites; other rows
 * stay. Each block has one place in the list and goes to work where a run begins. Grid: count.
 */
template <class T, class I, class P>
__global__ void __launch_bounds__(GATHER_THREADS)
    sum_runs(const T *x, const I *sorted, const P *places, T *y, i64 count, i64 n)
{
    for (i64 first = blockIdx.x; first < count; first += gridDim.x) {
        I row = sorted[first];
        if (row < 0 || (first && sorted[first - 1] == row))
            continue;
        for (i64 at = threadIdx.x; at < n; at += GATHER_THREADS) {
            auto sum = widen(x[places[first] * n + at]);
            for (i64 i = first + 1; i < count && sorted[i] == row; i++)
                sum += widen(x[places[i] * n + at]);
            y[row * n + at] = narrow<T>(sum);
        }
    }
}

/* y[o][i][c] = x[o][index[o][i][c]][c], of `columns` neighbours c; rows of x and of y. */
template <class T, class I>
__global__ void __launch_bounds__(GATHER_THREADS)
    gather_elements(const T *x, const I *index, T *y, i64 outer, i64 x_rows, i64 y_rows,
                    i64 columns)
{
    for (i64 i = (i64)blockIdx.x * GATHER_THREADS + threadIdx.x; i < outer * y_rows * columns;
         i += (i64)gridDim.x * GATHER_THREADS) {
        I row = index[i];
        y[i] = row < 0 ? T(0)
                       : x[(i / (y_rows * columns) * x_rows + (i64)row) * columns + i % columns];
    }
}

} // namespace klib

#endif
