/*
 * Softmax and cross-entropy of rows.
 *
 * Algorithm: the maximum and the sum of exponentials in one pass, Milakov and Gimelshein, Online
 * normalizer calculation for softmax, 2018. A row of -inf alone gives NaN, as its definition does.
 * Error: relative to each probability, (|x - max| + n / THREADS + 20) u + v; of logarithms as much,
 * absolute. All kernels: a row is a block's, blocks_for(rows, 1) blocks of SOFTMAX_THREADS.
 */
#ifndef KLIB_SOFTMAX_CUH
#define KLIB_SOFTMAX_CUH

#include "base.cuh"

namespace klib {

constexpr int SOFTMAX_THREADS = 256;

/* sum e^(x - max) of elements so far. */
template <class S> struct exp_sum {
    S max, sum;
};
template <class S> struct exp_sum_op {
    static KLIB_DEVICE exp_sum<S> identity()
    {
        return {lowest<S>(), S(0)};
    }
    KLIB_DEVICE exp_sum<S> operator()(exp_sum<S> a, exp_sum<S> b) const
    {
        max_op<S> larger;
        S max = larger(a.max, b.max);
        if (max == lowest<S>()) /* -inf - -inf is no number */
            return {max, a.sum + b.sum};
        return {max, a.sum * exp(a.max - max) + b.sum * exp(b.max - max)};
    }
};

/* Of a row, by a block. */
template <class T> KLIB_DEVICE exp_sum<sum_of<T>> row_exp_sum(const T *x, i64 n)
{
    using S = sum_of<T>;
    exp_sum_op<S> op;
    exp_sum<S> sum = op.identity();

    for (i64 i = threadIdx.x; i < n; i += SOFTMAX_THREADS)
        sum = op(sum, {widen(x[i]), S(1)});
    return block_reduce(sum, op);
}

/* y = softmax(scale x), or its logarithm; in place if wanted. scale >= 0. */
template <bool LOG, class T>
__global__ void __launch_bounds__(SOFTMAX_THREADS)
    softmax(const T *x, T *y, i64 rows, i64 n, sum_of<T> scale)
{
    using S = sum_of<T>;
    exp_sum_op<S> op;

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * n;
        exp_sum<S> sum = op.identity();
        for (i64 i = threadIdx.x; i < n; i += SOFTMAX_THREADS)
            sum = op(sum, {widen(from[i]) * scale, S(1)});
        sum = block_reduce(sum, op);
        S factor = S(1) / sum.sum, log_sum = LOG ? S(log(sum.sum)) : S(0);
        for (i64 i = threadIdx.x; i < n; i += SOFTMAX_THREADS) {
            S z = widen(from[i]) * scale - sum.max;
            y[row * n + i] = narrow<T>(LOG ? z - log_sum : S(exp(z)) * factor);
        }
    }
}

/* dx = scale y (dy - sum dy y); LOG, where y is the logarithm: scale (dy - e^y sum dy). */
template <bool LOG, class T>
__global__ void __launch_bounds__(SOFTMAX_THREADS)
    softmax_backward(const T *y, const T *dy, T *dx, i64 rows, i64 n, sum_of<T> scale)
{
    using S = sum_of<T>;

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        S sum = S(0);
        for (i64 i = row * n + threadIdx.x; i < (row + 1) * n; i += SOFTMAX_THREADS)
            sum += LOG ? widen(dy[i]) : widen(dy[i]) * widen(y[i]);
        sum = block_reduce(sum, add_op<S>());
        for (i64 i = row * n + threadIdx.x; i < (row + 1) * n; i += SOFTMAX_THREADS) {
            S g = widen(dy[i]), p = widen(y[i]);
            dx[i] = narrow<T>(scale * (LOG ? g - S(exp(p)) * sum : p * (g - sum)));
        }
    }
}

/*
 * Of rows of logits x and labels: loss = (1 - smoothing) -log p[label] + smoothing mean(-log p),
 * and dx = dloss d loss / d x, where dloss is one number for each row. Either result may be NULL;
 * dx may be x. A row with label `ignored` has loss and gradient 0. Labels are not checked.
 */
template <class T, class Label>
__global__ void __launch_bounds__(SOFTMAX_THREADS)
    cross_entropy(const T *x, const Label *labels, sum_of<T> *loss, const sum_of<T> *dloss, T *dx,
                  i64 rows, i64 n, Label ignored, sum_of<T> smoothing)
{
    using S = sum_of<T>;

    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * n;
        Label label = labels[row];
        bool counts = label != ignored;
        exp_sum<S> sum = row_exp_sum(from, n);
        S log_sum = sum.max + S(log(sum.sum));
        if (loss) {
            S all = S(0);
            if (smoothing != S(0)) {
                for (i64 i = threadIdx.x; i < n; i += SOFTMAX_THREADS)
                    all += widen(from[i]);
                all = block_reduce(all, add_op<S>());
            }
            if (threadIdx.x == 0)
                loss[row] = counts ? (S(1) - smoothing) * (log_sum - widen(from[label])) +
                                         smoothing * (log_sum - all / S(n))
                                   : S(0);
        }
        if (!dx)
            continue;
        __syncthreads(); /* from[label] may be overwritten */
        S g = counts ? dloss[row] : S(0);
        for (i64 i = threadIdx.x; i < n; i += SOFTMAX_THREADS) {
            S p = S(exp(widen(from[i]) - log_sum));
            S target = (counts && i == (i64)label ? S(1) - smoothing : S(0)) + smoothing / S(n);
            dx[row * n + i] = narrow<T>(g * (p - target));
        }
    }
}

} // namespace klib

#endif
