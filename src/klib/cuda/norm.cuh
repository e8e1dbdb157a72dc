/*
 * Normalisation: of layers, groups and by root mean square (rows), and of batches (channels).
 *
 * Algorithm: mean first, then the mean of squared differences, two passes over what caches hold:
 * Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983.
 * Error of y: (g(n / THREADS + 10) (1 + |x|max r) + 6 u) |gamma x'| + v |y|, where r is 1 /
 * standard deviation and x' the normalised element.
 */
#ifndef KLIB_NORM_CUH
#define KLIB_NORM_CUH

#include "base.cuh"

namespace klib {

constexpr int NORM_THREADS = 256;

/*
 * Rows of n elements each. Row r is of group r % groups, and has n / inner channels of `inner`
 * neighbours: gamma and beta have groups * n / inner elements. Layers: groups = inner = 1; groups
 * of channels of images: n = channels / groups * pixels, inner = pixels.
 */
struct norm_shape {
    i64 rows, n, groups, inner;

    KLIB_DEVICE i64 channel(i64 row, i64 i) const
    {
        return row % groups * (n / inner) + i / inner;
    }
};

/*
 * y = (x - mean) r gamma + beta, r = 1 / sqrt(variance + epsilon); RMS: mean is 0. gamma, beta, and
 * the results mean and r, one for each row, may be NULL. In place if wanted. A row is a block's.
 */
template <bool RMS, class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    norm_forward(norm_shape s, const T *x, const W *gamma, const W *beta, T *y, sum_of<T> *means,
                 sum_of<T> *rs, sum_of<T> epsilon)
{
    using S = sum_of<T>;
    add_op<S> add;

    for (i64 row = blockIdx.x; row < s.rows; row += gridDim.x) {
        const T *from = x + row * s.n;
        S mean = S(0), variance = S(0);
        if (!RMS) {
            for (i64 i = threadIdx.x; i < s.n; i += NORM_THREADS)
                mean += widen(from[i]);
            mean = block_reduce(mean, add) / S(s.n);
        }
        for (i64 i = threadIdx.x; i < s.n; i += NORM_THREADS) {
            S d = widen(from[i]) - mean;
            variance = multiply_add(d, d, variance);
        }
        S r = S(1) / S(sqrt(block_reduce(variance, add) / S(s.n) + epsilon));
        for (i64 i = threadIdx.x; i < s.n; i += NORM_THREADS) {
            i64 c = s.channel(row, i);
            S z = (widen(from[i]) - mean) * r;
            z = gamma ? z * S(widen(gamma[c])) : z;
            y[row * s.n + i] = narrow<T>(beta ? z + S(widen(beta[c])) : z);
        }
        if (threadIdx.x == 0) {
            if (means)
                means[row] = mean;
            if (rs)
                rs[row] = r;
        }
    }
}

/* dx of dy. With h = dy gamma: r (h - mean h - x' mean(h x')); RMS: without mean h. */
template <bool RMS, class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    norm_backward(norm_shape s, const T *dy, const T *x, const W *gamma, const sum_of<T> *means,
                  const sum_of<T> *rs, T *dx)
{
    using S = sum_of<T>;
    add_op<S> add;

    for (i64 row = blockIdx.x; row < s.rows; row += gridDim.x) {
        S mean = RMS ? S(0) : means[row], r = rs[row], sum = S(0), product = S(0);
        auto h = [&](i64 i) {
            S g = widen(dy[row * s.n + i]);
            return gamma ? g * S(widen(gamma[s.channel(row, i)])) : g;
        };
        auto normal = [&](i64 i) { return (widen(x[row * s.n + i]) - mean) * r; };
        for (i64 i = threadIdx.x; i < s.n; i += NORM_THREADS) {
            sum += h(i);
            product = multiply_add(h(i), normal(i), product);
        }
        sum = RMS ? S(0) : block_reduce(sum, add) / S(s.n);
        product = block_reduce(product, add) / S(s.n);
        for (i64 i = threadIdx.x; i < s.n; i += NORM_THREADS)
            dx[row * s.n + i] = narrow<T>(r * (h(i) - sum - normal(i) * product));
    }
}

/*
 * dgamma = sum dy x', dbeta = sum dy, over all rows of the channel's group; dbeta may be NULL.
 * A warp's lanes are 32 channels, or if IMAGES the neighbours of one. Blocks of NORM_THREADS:
 * ceil_div(channels, 32), or if IMAGES one for each channel.
 */
template <bool RMS, bool IMAGES, class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    norm_backward_weights(norm_shape s, const T *dy, const T *x, const sum_of<T> *means,
                          const sum_of<T> *rs, W *dgamma, W *dbeta)
{
    using S = sum_of<T>;
    constexpr int WARPS = NORM_THREADS / WARP;
    __shared__ S parts[2][WARPS][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    i64 channels = s.n / s.inner, c = IMAGES ? blockIdx.x : (i64)blockIdx.x * WARP + lane;
    S product = S(0), sum = S(0);

    if (c < s.groups * channels) {
        i64 first = c % channels * s.inner;
        for (i64 row = c / channels + warp * s.groups; row < s.rows; row += WARPS * s.groups) {
            S mean = RMS ? S(0) : means[row], r = rs[row];
            for (i64 i = first + (IMAGES ? lane : 0); i < first + s.inner; i += IMAGES ? WARP : 1) {
                S g = widen(dy[row * s.n + i]);
                product = multiply_add(g, (widen(x[row * s.n + i]) - mean) * r, product);
                sum += g;
            }
        }
    }
    if (IMAGES) {
        product = warp_reduce(product, add_op<S>());
        sum = warp_reduce(sum, add_op<S>());
    }
    parts[0][warp][lane] = product;
    parts[1][warp][lane] = sum;
    __syncthreads();
    if (warp || (IMAGES && lane) || c >= s.groups * channels)
        return;
    for (int w = 1; w < WARPS; w++) {
        product += parts[0][w][lane];
        sum += parts[1][w][lane];
    }
    dgamma[c] = narrow<W>(product);
    if (dbeta)
        dbeta[c] = narrow<W>(sum);
}

/* ---- batches: x is [batch][channels][pixels], a channel is a block's */

struct batch_shape {
    i64 batch, channels, pixels;

    /* The i-th element of the channel. */
    KLIB_DEVICE i64 at(i64 channel, i64 i) const
    {
        return (i / pixels * channels + channel) * pixels + i % pixels;
    }
    KLIB_DEVICE i64 n() const
    {
        return batch * pixels;
    }
};

/*
 * In training. Running averages, if there are any, move by `momentum` towards the batch's: the
 * variance by the one without bias, n / (n - 1). Grid: channels.
 */
template <class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    batch_norm_forward(batch_shape s, const T *x, const W *gamma, const W *beta, T *y,
                       sum_of<T> *means, sum_of<T> *rs, sum_of<T> *running_mean,
                       sum_of<T> *running_variance, sum_of<T> momentum, sum_of<T> epsilon)
{
    using S = sum_of<T>;
    i64 c = blockIdx.x, n = s.n();
    S mean = S(0), variance = S(0);
    add_op<S> add;

    for (i64 i = threadIdx.x; i < n; i += NORM_THREADS)
        mean += widen(x[s.at(c, i)]);
    mean = block_reduce(mean, add) / S(n);
    for (i64 i = threadIdx.x; i < n; i += NORM_THREADS) {
        S d = widen(x[s.at(c, i)]) - mean;
        variance = multiply_add(d, d, variance);
    }
    variance = block_reduce(variance, add);
    S r = S(1) / S(sqrt(variance / S(n) + epsilon));
    S scale = gamma ? S(widen(gamma[c])) : S(1), shift = beta ? S(widen(beta[c])) : S(0);
    for (i64 i = threadIdx.x; i < n; i += NORM_THREADS)
        y[s.at(c, i)] = narrow<T>((widen(x[s.at(c, i)]) - mean) * r * scale + shift);
    if (threadIdx.x)
        return;
    means[c] = mean;
    rs[c] = r;
    if (running_mean) {
        running_mean[c] += momentum * (mean - running_mean[c]);
        running_variance[c] += momentum * (variance / S(n > 1 ? n - 1 : 1) - running_variance[c]);
    }
}

/* In inference, by averages. Grid: channels. */
template <class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    batch_norm_inference(batch_shape s, const T *x, const W *gamma, const W *beta, T *y,
                         const sum_of<T> *mean, const sum_of<T> *variance, sum_of<T> epsilon)
{
    using S = sum_of<T>;
    i64 c = blockIdx.x;
    S r = S(1) / S(sqrt(variance[c] + epsilon)), scale = gamma ? r * S(widen(gamma[c])) : r;
    S shift = beta ? S(widen(beta[c])) : S(0);

    for (i64 i = threadIdx.x; i < s.n(); i += NORM_THREADS)
        y[s.at(c, i)] = narrow<T>((widen(x[s.at(c, i)]) - mean[c]) * scale + shift);
}

/* Grid: channels. dgamma and dbeta may be NULL. */
template <class T, class W>
__global__ void __launch_bounds__(NORM_THREADS)
    batch_norm_backward(batch_shape s, const T *dy, const T *x, const W *gamma,
                        const sum_of<T> *means, const sum_of<T> *rs, T *dx, W *dgamma, W *dbeta)
{
    using S = sum_of<T>;
    i64 c = blockIdx.x, n = s.n();
    S mean = means[c], r = rs[c], sum = S(0), product = S(0);
    S scale = (gamma ? S(widen(gamma[c])) : S(1)) * r;
    add_op<S> add;

    for (i64 i = threadIdx.x; i < n; i += NORM_THREADS) {
        S g = widen(dy[s.at(c, i)]);
        sum += g;
        product = multiply_add(g, (widen(x[s.at(c, i)]) - mean) * r, product);
    }
    sum = block_reduce(sum, add);
    product = block_reduce(product, add);
    for (i64 i = threadIdx.x; i < n; i += NORM_THREADS) {
        S normal = (widen(x[s.at(c, i)]) - mean) * r;
        dx[s.at(c, i)] =
            narrow<T>(scale * (widen(dy[s.at(c, i)]) - sum / S(n) - normal * product / S(n)));
    }
    if (threadIdx.x)
        return;
    if (dgamma)
        dgamma[c] = narrow<W>(product);
    if (dbeta)
        dbeta[c] = narrow<W>(sum);
}

} // namespace klib

#endif
