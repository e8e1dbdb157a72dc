/*
 * Convolutions (cross-correlations) of 1 to 3 dimensions, forward and backward; strides, padding,
 * dilation, groups.
 *
 * Algorithm: implicit products of matrices, Chetlur et al., cuDNN: Efficient primitives for deep
 * learning, 2014. Images and weights are loads of gemm_block(): nothing is copied. Backward, each
 * result is one sum, in an order that is the same in each run.
 * Error: g(k) |A| |B| + v as of products, k is channels / groups * filter, filters / groups *
 * filter, or batch * pixels. Limits: k and the pixels of a batch are ints.
 */
#ifndef KLIB_CONV_CUH
#define KLIB_CONV_CUH

#include "gemm.cuh"

namespace klib {

/* Steps of a tensor of images, in elements: any order of dimensions. */
template <int DIMS> struct image_steps {
    i64 image, channel, pixel[DIMS];
};

/* Steps of images as they lie in [batch][channels][...], or, CHANNELS_LAST, [batch][...][channels].
 */
template <int DIMS>
inline image_steps<DIMS> packed_images(int channels, const int (&size)[DIMS],
                                       bool channels_last = false)
{
    image_steps<DIMS> s = {};
    i64 step = channels_last ? channels : 1;

    for (int d = DIMS - 1; d >= 0; d--) {
        s.pixel[d] = step;
        step *= size[d];
    }
    s.channel = channels_last ? 1 : step;
    s.image = channels_last ? step : step * channels;
    return s;
}

/* x [batch][channels][in] * w [filters][channels / groups][filter] = y [batch][filters][out]. */
template <int DIMS> struct conv_shape {
    int batch, channels, filters, groups;
    int in[DIMS], filter[DIMS], out[DIMS];
    int stride[DIMS], pad[DIMS], dilation[DIMS];
    image_steps<DIMS> x, y;

    KLIB_BOTH int taps() const
    {
        int n = 1;
        for (int d = 0; d < DIMS; d++)
            n *= filter[d];
        return n;
    }
    KLIB_BOTH int pixels(const int (&size)[DIMS]) const
    {
        int n = 1;
        for (int d = 0; d < DIMS; d++)
            n *= size[d];
        return n;
    }
};

template <int DIMS> KLIB_DEVICE void split(int i, const int (&size)[DIMS], int (&at)[DIMS])
{
#pragma unroll
    for (int d = DIMS - 1; d >= 0; d--) {
        at[d] = i % size[d];
        i /= size[d];
    }
}

/* The element of x that output `pixel` of all the batch multiplies with `tap` of `channel`. */
template <int DIMS, class T> struct conv_input {
    const conv_shape<DIMS> &s;
    const T *x; /* of the group */

    KLIB_DEVICE T operator()(int pixel, int channel_tap) const
    {
        int taps = s.taps(), pixels = s.pixels(s.out), out[DIMS], tap[DIMS];
        i64 at = pixel / pixels * s.x.image + channel_tap / taps * s.x.channel;

        if (pixel >= pixels * s.batch || channel_tap >= s.channels / s.groups * taps)
            return T(0.0f);
        split(pixel % pixels, s.out, out);
        split(channel_tap % taps, s.filter, tap);
#pragma unroll
        for (int d = 0; d < DIMS; d++) {
            int i = out[d] * s.stride[d] - s.pad[d] + tap[d] * s.dilation[d];
            if (i < 0 || i >= s.in[d])
                return T(0.0f);
            at += i * s.x.pixel[d];
        }
        return x[at];
    }
};

/* ---- loads: see gemm.cuh */

template <int DIMS, class T> struct conv_pixels { /* (pixel, channel and tap) */
    static constexpr bool ALONG_K = false;
    conv_input<DIMS, T> input;
    KLIB_DEVICE T operator()(int pixel, int k) const
    {
        return input(pixel, k);
    }
};
template <int DIMS, class T> struct conv_taps { /* (channel and tap, pixel) */
    static constexpr bool ALONG_K = true;
    conv_input<DIMS, T> input;
    KLIB_DEVICE T operator()(int channel_tap, int pixel) const
    {
        return input(pixel, channel_tap);
    }
};
/* dy, (filter, pixel). */
template <int DIMS, class T> struct conv_gradient {
    static constexpr bool ALONG_K = true;
    const conv_shape<DIMS> &s;
    const T *dy;
    KLIB_DEVICE T operator()(int filter, int pixel) const
    {
        int pixels = s.pixels(s.out), out[DIMS];
        i64 at = pixel / pixels * s.y.image + filter * s.y.channel;

        if (filter >= s.filters / s.groups || pixel >= pixels * s.batch)
            return T(0.0f);
        split(pixel % pixels, s.out, out);
#pragma unroll
        for (int d = 0; d < DIMS; d++)
            at += out[d] * s.y.pixel[d];
        return dy[at];
    }
};
/* dy, (pixel of x, filter and tap): what the output had from that pixel by that tap. */
template <int DIMS, class T> struct conv_outputs {
    static constexpr bool ALONG_K = false;
    const conv_shape<DIMS> &s;
    const T *dy;
    KLIB_DEVICE T operator()(int pixel, int filter_tap) const
    {
        int taps = s.taps(), pixels = s.pixels(s.in), in[DIMS], tap[DIMS];
        i64 at = pixel / pixels * s.y.image + filter_tap / taps * s.y.channel;

        if (pixel >= pixels * s.batch || filter_tap >= s.filters / s.groups * taps)
            return T(0.0f);
        split(pixel % pixels, s.in, in);
        split(filter_tap % taps, s.filter, tap);
#pragma unroll
        for (int d = 0; d < DIMS; d++) {
            int i = in[d] + s.pad[d] - tap[d] * s.dilation[d];
            if (i < 0 || i % s.stride[d] || i / s.stride[d] >= s.out[d])
                return T(0.0f);
            at += i / s.stride[d] * s.y.pixel[d];
        }
        return dy[at];
    }
};
/* w, (channel, filter and tap). */
template <int DIMS, class T> struct conv_weights {
    static constexpr bool ALONG_K = true;
    const conv_shape<DIMS> &s;
    const T *w;
    KLIB_DEVICE T operator()(int channel, int filter_tap) const
    {
        int taps = s.taps(), channels = s.channels / s.groups;
        if (channel >= channels || filter_tap >= s.filters / s.groups * taps)
            return T(0.0f);
        return w[(i64)(filter_tap / taps * channels + channel) * taps + filter_tap % taps];
    }
};

/* Where a pixel of all the batch lies in images of this size. */
template <int DIMS>
KLIB_DEVICE i64 pixel_at(int pixel, int pixels, const int (&size)[DIMS],
                         const image_steps<DIMS> &steps)
{
    int in[DIMS];
    i64 at = pixel / pixels * steps.image;

    split(pixel % pixels, size, in);
    for (int d = 0; d < DIMS; d++)
        at += in[d] * steps.pixel[d];
    return at;
}

/* ---- kernels; grids are of conv_grid(), blocks of Tile::THREADS */

/* y = act(x * w + bias); bias has an element for each filter, or is NULL. */
template <class Tile, activation ACT = activation::NONE, int DIMS, class T, class R>
__global__ void __launch_bounds__(Tile::THREADS)
    conv_forward(conv_shape<DIMS> s, const T *x, const T *w, const R *bias, R *y)
{
    int filters = s.filters / s.groups, first = (int)blockIdx.z * filters, pixels = s.pixels(s.out);
    int k = s.channels / s.groups * s.taps();

    gemm_block<Tile, T, sum_of<T>>(
        (int)blockIdx.x * Tile::M, (int)blockIdx.y * Tile::N, k,
        matrix_load<T, true>{w + (i64)first * k, k, filters, k},
        conv_pixels<DIMS, T>{{s, x + blockIdx.z * (s.channels / s.groups) * s.x.channel}},
        [&](int filter, int pixel, sum_of<T> sum) {
            if (filter >= filters || pixel >= pixels * s.batch)
                return;
            filter += first;
            sum = activate<ACT>(bias ? sum + sum_of<T>(widen(bias[filter])) : sum);
            y[pixel_at(pixel, pixels, s.out, s.y) + filter * s.y.channel] = narrow<R>(sum);
        });
}

/* dx of dy. */
template <class Tile, int DIMS, class T, class R>
__global__ void __launch_bounds__(Tile::THREADS)
    conv_backward_data(conv_shape<DIMS> s, const T *dy, const T *w, R *dx)
{
    int channels = s.channels / s.groups, filters = s.filters / s.groups;
    int pixels = s.pixels(s.in), taps = s.taps();

    gemm_block<Tile, T, sum_of<T>>(
        (int)blockIdx.x * Tile::M, (int)blockIdx.y * Tile::N, filters * taps,
        conv_weights<DIMS, T>{s, w + (i64)blockIdx.z * filters * channels * taps},
        conv_outputs<DIMS, T>{s, dy + blockIdx.z * filters * s.y.channel},
        [&](int channel, int pixel, sum_of<T> sum) {
            if (channel < channels && pixel < pixels * s.batch)
                dx[pixel_at(pixel, pixels, s.in, s.x) +
                   (channel + (i64)blockIdx.z * channels) * s.x.channel] = narrow<R>(sum);
        });
}

/* dw of dy. */
template <class Tile, int DIMS, class T, class R>
__global__ void __launch_bounds__(Tile::THREADS)
    conv_backward_weights(conv_shape<DIMS> s, const T *dy, const T *x, R *dw)
{
    int channels = s.channels / s.groups, filters = s.filters / s.groups;
    int columns = channels * s.taps(), first = (int)blockIdx.z * filters;

    gemm_block<Tile, T, sum_of<T>>(
        (int)blockIdx.x * Tile::M, (int)blockIdx.y * Tile::N, s.pixels(s.out) * s.batch,
        conv_gradient<DIMS, T>{s, dy + first * s.y.channel},
        conv_taps<DIMS, T>{{s, x + blockIdx.z * channels * s.x.channel}},
        [&](int filter, int column, sum_of<T> sum) {
            if (filter < filters && column < columns)
                dw[(i64)(first + filter) * columns + column] = narrow<R>(sum);
        });
}

/* dbias = sum dy. Grid: filters; 256 threads. */
template <int DIMS, class T, class R>
__global__ void __launch_bounds__(256) conv_backward_bias(conv_shape<DIMS> s, const T *dy, R *dbias)
{
    int pixels = s.pixels(s.out);
    sum_of<T> sum = sum_of<T>(0);

    for (int pixel = (int)threadIdx.x; pixel < pixels * s.batch; pixel += 256)
        sum += widen(dy[pixel_at(pixel, pixels, s.out, s.y) + blockIdx.x * s.y.channel]);
    sum = block_reduce(sum, add_op<sum_of<T>>());
    if (threadIdx.x == 0)
        dbias[blockIdx.x] = narrow<R>(sum);
}

enum class conv_pass { FORWARD, DATA, WEIGHTS };

template <class Tile, int DIMS> inline dim3 conv_grid(const conv_shape<DIMS> &s, conv_pass pass)
{
    int channels = s.channels / s.groups, filters = s.filters / s.groups;
    int m = pass == conv_pass::DATA ? channels : filters;
    int n = pass == conv_pass::FORWARD ? s.pixels(s.out) * s.batch
            : pass == conv_pass::DATA  ? s.pixels(s.in) * s.batch
                                       : channels * s.taps();

    return gemm_grid<Tile>(m, n, s.groups);
}

} // namespace klib

#endif
