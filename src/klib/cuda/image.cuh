/*
 * Pooling and resizing of images: planes of height x width, `planes` is batch * channels.
 *
 * Backward, a pixel collects what windows over it give, so that nothing is added atomically.
 * Errors: maxima are exact; averages g(window + 2) |x| + v; bilinear 8 u max|x| + v, and bicubic
 * 40 u max|x| + v, where the place in the image is exact to 2 u of itself.
 * All kernels: blocks_for(results, IMAGE_THREADS) blocks.
 */
#ifndef KLIB_IMAGE_CUH
#define KLIB_IMAGE_CUH

#include "base.cuh"

namespace klib {

constexpr int IMAGE_THREADS = 256;

struct pool_shape {
    i64 planes;
    int height, width, out_height, out_width;
    int window[2], stride[2], pad[2];

    /* Pixels [*from, *to) of the window at `out`, those in the image; and all of it that counts. */
    KLIB_DEVICE int range(int d, int out, int *from, int *to) const
    {
        int first = out * stride[d] - pad[d], size = d ? width : height;
        *from = most(first, 0);
        *to = least(first + window[d], size);
        return least(first + window[d], size + pad[d]) - first;
    }
    /* Outputs [*from, *to) whose windows have the pixel. */
    KLIB_DEVICE void windows(int d, int pixel, int *from, int *to) const
    {
        int last = pixel + pad[d], first = last - window[d] + 1;
        *from = first > 0 ? (first + stride[d] - 1) / stride[d] : 0;
        *to = least(last / stride[d] + 1, d ? out_width : out_height);
    }
};

/* y, and where each maximum is in its plane (NULL: nobody asks); the first of equals. */
template <class T>
__global__ void __launch_bounds__(IMAGE_THREADS)
    max_pool(pool_shape s, const T *x, T *y, int *places)
{
    i64 n = s.planes * s.out_height * s.out_width;

    for (i64 i = (i64)blockIdx.x * IMAGE_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * IMAGE_THREADS) {
        int top, bottom, left, right, place = -1;
        const T *plane = x + i / s.out_width / s.out_height * s.height * s.width;
        sum_of<T> best = lowest<sum_of<T>>();
        s.range(0, (int)(i / s.out_width % s.out_height), &top, &bottom);
        s.range(1, (int)(i % s.out_width), &left, &right);
        for (int r = top; r < bottom; r++) {
            for (int c = left; c < right; c++) {
                sum_of<T> v = widen(plane[r * s.width + c]);
                if (place < 0 || v > best || (v != v && best == best)) {
                    best = v;
                    place = r * s.width + c;
                }
            }
        }
        y[i] = narrow<T>(best);
        if (places)
            places[i] = place;
    }
}

template <class T>
__global__ void __launch_bounds__(IMAGE_THREADS)
    max_pool_backward(pool_shape s, const T *dy, const int *places, T *dx)
{
    i64 n = s.planes * s.height * s.width;

    for (i64 i = (i64)blockIdx.x * IMAGE_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * IMAGE_THREADS) {
        int top, bottom, left, right, own = (int)(i % ((i64)s.height * s.width));
        i64 plane = i / s.width / s.height * s.out_height * s.out_width;
        sum_of<T> sum = sum_of<T>(0);
        s.windows(0, own / s.width, &top, &bottom);
        s.windows(1, own % s.width, &left, &right);
        for (int r = top; r < bottom; r++) {
            for (int c = left; c < right; c++) {
                i64 at = plane + r * s.out_width + c;
                if (places[at] == own)
                    sum += widen(dy[at]);
            }
        }
        dx[i] = narrow<T>(sum);
    }
}

/* PADDED: what is outside of the image counts as zeros; else only pixels count. */
template <bool PADDED, class T>
__global__ void __launch_bounds__(IMAGE_THREADS) average_pool(pool_shape s, const T *x, T *y)
{
    i64 n = s.planes * s.out_height * s.out_width;

    for (i64 i = (i64)blockIdx.x * IMAGE_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * IMAGE_THREADS) {
        int top, bottom, left, right;
        const T *plane = x + i / s.out_width / s.out_height * s.height * s.width;
        sum_of<T> sum = sum_of<T>(0);
        int count = s.range(0, (int)(i / s.out_width % s.out_height), &top, &bottom);
        count *= s.range(1, (int)(i % s.out_width), &left, &right);
        for (int r = top; r < bottom; r++)
            for (int c = left; c < right; c++)
                sum += widen(plane[r * s.width + c]);
        y[i] = narrow<T>(sum / sum_of<T>(PADDED ? count : (bottom - top) * (right - left)));
    }
}

template <bool PADDED, class T>
__global__ void __launch_bounds__(IMAGE_THREADS)
    average_pool_backward(pool_shape s, const T *dy, T *dx)
{
    i64 n = s.planes * s.height * s.width;

    for (i64 i = (i64)blockIdx.x * IMAGE_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * IMAGE_THREADS) {
        int top, bottom, left, right, own = (int)(i % ((i64)s.height * s.width)), from[2], to[2];
        const T *plane = dy + i / s.width / s.height * s.out_height * s.out_width;
        sum_of<T> sum = sum_of<T>(0);
        s.windows(0, own / s.width, &top, &bottom);
        s.windows(1, own % s.width, &left, &right);
        for (int r = top; r < bottom; r++) {
            for (int c = left; c < right; c++) {
                int count = s.range(0, r, &from[0], &to[0]) * s.range(1, c, &from[1], &to[1]);
                if (!PADDED)
                    count = (to[0] - from[0]) * (to[1] - from[1]);
                sum += widen(plane[r * s.out_width + c]) / sum_of<T>(count);
            }
        }
        dx[i] = narrow<T>(sum);
    }
}

/* ---- resizing */

enum class resize_mode { NEAREST, BILINEAR, BICUBIC };

struct resize_shape {
    i64 planes;
    int height, width, out_height, out_width;
    int align_corners; /* corners' pixels are the same; else their edges are */

    KLIB_DEVICE float place(int out, int size, int out_size) const
    {
        if (align_corners)
            return out_size > 1 ? (float)out * ((float)(size - 1) / (float)(out_size - 1)) : 0.0f;
        return ((float)out + 0.5f) * ((float)size / (float)out_size) - 0.5f;
    }
};

/* Keys, Cubic convolution interpolation for digital image processing, 1981, with a = -3/4. */
KLIB_DEVICE void cubic_weights(float t, float (&w)[4])
{
    const float a = -0.75f;
    float s = 1.0f - t;

    w[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
    w[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    w[2] = ((a + 2.0f) * s - (a + 3.0f)) * s * s + 1.0f;
    w[3] = ((a * (s + 1.0f) - 5.0f * a) * (s + 1.0f) + 8.0f * a) * (s + 1.0f) - 4.0f * a;
}

/* Without smoothing where images get smaller. Pixels beyond an edge are as the edge's. */
template <resize_mode MODE, class T>
__global__ void __launch_bounds__(IMAGE_THREADS) resize(resize_shape s, const T *x, T *y)
{
    constexpr int TAPS = MODE == resize_mode::NEAREST ? 1 : MODE == resize_mode::BILINEAR ? 2 : 4;
    i64 n = s.planes * s.out_height * s.out_width;

    for (i64 i = (i64)blockIdx.x * IMAGE_THREADS + threadIdx.x; i < n;
         i += (i64)gridDim.x * IMAGE_THREADS) {
        const T *plane = x + i / s.out_width / s.out_height * s.height * s.width;
        int row = (int)(i / s.out_width % s.out_height), column = (int)(i % s.out_width);
        if (MODE == resize_mode::NEAREST) {
            row = (int)((i64)row * s.height / s.out_height);
            column = (int)((i64)column * s.width / s.out_width);
            y[i] = plane[row * s.width + column];
            continue;
        }
        float down = s.place(row, s.height, s.out_height),
              across = s.place(column, s.width, s.out_width);
        if (MODE == resize_mode::BILINEAR) {
            down = fmaxf(down, 0.0f);
            across = fmaxf(across, 0.0f);
        }
        float top = floorf(down), left = floorf(across), w[2][4];
        if (MODE == resize_mode::BILINEAR) {
            w[0][1] = down - top;
            w[0][0] = 1.0f - w[0][1];
            w[1][1] = across - left;
            w[1][0] = 1.0f - w[1][1];
        } else {
            cubic_weights(down - top, w[0]);
            cubic_weights(across - left, w[1]);
        }
        float sum = 0.0f;
        for (int r = 0; r < TAPS; r++) {
            int at = most(0, least((int)top + r - (TAPS > 2), s.height - 1)) * s.width;
            float line = 0.0f;
            for (int c = 0; c < TAPS; c++)
                line =
                    fmaf(w[1][c],
                         widen(plane[at + most(0, least((int)left + c - (TAPS > 2), s.width - 1))]),
                         line);
            sum = fmaf(w[0][r], line, sum);
        }
        y[i] = narrow<T>(sum);
    }
}

} // namespace klib

#endif
