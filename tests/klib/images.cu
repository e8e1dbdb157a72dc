/* Convolutions, pooling and resizing against plain loops. */
#include <conv.cuh>
#include <image.cuh>

#include "check.h"

using namespace klib;

template <class T> constexpr double roundoff = 0x1p-24;
template <> constexpr double roundoff<__half> = 0x1p-11;

template <int DIMS> static i64 place(const image_steps<DIMS> &steps, int image, int channel, const int (&at)[DIMS])
{
    i64 sum = image * steps.image + channel * steps.channel;
    for (int d = 0; d < DIMS; d++)
        sum += at[d] * steps.pixel[d];
    return sum;
}

/* use(x's place, w's, y's, filter) of each product that a convolution has. */
template <int DIMS, class Use> static void each_product(const conv_shape<DIMS> &s, const Use &use)
{
    int channels = s.channels / s.groups, filters = s.filters / s.groups;
    for (int b = 0; b < s.batch; b++)
        for (int f = 0; f < s.filters; f++)
            for (int o = 0; o < s.pixels(s.out); o++)
                for (int c = 0; c < channels; c++)
                    for (int t = 0; t < s.taps(); t++) {
                        int out[DIMS], in[DIMS], rest = o, tap = t;
                        bool inside = true;
                        for (int d = DIMS - 1; d >= 0; d--) {
                            out[d] = rest % s.out[d];
                            rest /= s.out[d];
                            in[d] = out[d] * s.stride[d] - s.pad[d] + tap % s.filter[d] * s.dilation[d];
                            tap /= s.filter[d];
                            inside = inside && in[d] >= 0 && in[d] < s.in[d];
                        }
                        if (inside)
                            use(place(s.x, b, f / filters * channels + c, in), ((i64)f * channels + c) * s.taps() + t, place(s.y, b, f, out), f);
                    }
}

template <class Tile, class T, int DIMS> static void one(const char *name, conv_shape<DIMS> s, bool channels_last)
{
    for (int d = 0; d < DIMS; d++)
        s.out[d] = (s.in[d] + 2 * s.pad[d] - (s.filter[d] - 1) * s.dilation[d] - 1) / s.stride[d] + 1;
    s.x = packed_images(s.channels, s.in, channels_last);
    s.y = packed_images(s.filters, s.out, channels_last);
    array<T> x((size_t)s.batch * s.channels * s.pixels(s.in)), w((size_t)s.filters * s.channels / s.groups * s.taps());
    array<T> y((size_t)s.batch * s.filters * s.pixels(s.out)), dy(y.n), dx(x.n), dw(w.n), bias(s.filters), dbias(s.filters);
    std::vector<double> want_y(y.n), want_dx(x.n), want_dw(w.n), want_db(s.filters), n_dx(x.n), n_dw(w.n);
    fill(x);
    fill(w);
    fill(dy);
    fill(bias);
    each_product(s, [&](i64 i, i64 j, i64 o, int) {
        want_y[o] += value(x[i]) * value(w[j]);
        want_dx[i] += value(dy[o]) * value(w[j]);
        want_dw[j] += value(dy[o]) * value(x[i]);
        n_dx[i] += 1;
        n_dw[j] += 1;
    });
    for (int b = 0; b < s.batch; b++)
        for (int f = 0; f < s.filters; f++)
            for (int o = 0; o < s.pixels(s.out); o++) {
                int out[DIMS], rest = o;
                for (int d = DIMS - 1; d >= 0; d--) {
                    out[d] = rest % s.out[d];
                    rest /= s.out[d];
                }
                i64 at = place(s.y, b, f, out);
                want_y[at] = fmax(0, want_y[at] + value(bias[f]));
                want_db[f] += value(dy[at]);
            }
    auto near = [](double want, double terms) { return expected{want, (terms + 4) * (terms + 4) * 0x1p-23 + 1.01 * roundoff<T> * fabs(want)}; };
    double k = (double)s.channels / s.groups * s.taps();
    conv_forward<Tile, activation::RELU><<<conv_grid<Tile>(s, conv_pass::FORWARD), Tile::THREADS>>>(s, x.at, w.at, bias.at, y.at);
    check(y, [&](size_t i) { return near(want_y[i], k); }, "%s", name);
    conv_backward_data<Tile><<<conv_grid<Tile>(s, conv_pass::DATA), Tile::THREADS>>>(s, dy.at, w.at, dx.at);
    check(dx, [&](size_t i) { return near(want_dx[i], n_dx[i]); }, "%s: gradient", name);
    conv_backward_weights<Tile><<<conv_grid<Tile>(s, conv_pass::WEIGHTS), Tile::THREADS>>>(s, dy.at, x.at, dw.at);
    check(dw, [&](size_t i) { return near(want_dw[i], n_dw[i]); }, "%s: gradient of weights", name);
    conv_backward_bias<<<s.filters, 256>>>(s, dy.at, dbias.at);
    check(dbias, [&](size_t f) { return near(want_db[f], 20); }, "%s: gradient of bias", name);
}

static void pools(bool padded)
{
    pool_shape s = {3, 11, 9, 6, 4, {3, 4}, {2, 2}, {1, 1}};
    const int in = 11 * 9, out = 6 * 4;
    array<float> x(3 * in), y(3 * out), dy(3 * out), dx(3 * in);
    array<int> places(3 * out);
    std::vector<double> most_of(3 * out, -9), sum(3 * out), back(3 * in), back_max(3 * in);
    std::vector<int> count(3 * out), place(3 * out);
    fill(x);
    fill(dy);
    x.at[0] = x.at[1] = 5; /* the first of equals */
    for (int pass = 0; pass < 2; pass++)
        for (int o = 0; o < 3 * out; o++)
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 4; c++) {
                    int row = o / 4 % 6 * 2 - 1 + r, column = o % 4 * 2 - 1 + c, at = row * 9 + column;
                    bool inside = row >= 0 && column >= 0 && row < 11 && column < 9;
                    if (pass == 0) {
                        count[o] += padded ? row < 12 && column < 10 : inside;
                        if (inside && (double)x[o / out * in + at] > most_of[o]) {
                            most_of[o] = x[o / out * in + at];
                            place[o] = at;
                        }
                        sum[o] += inside ? (double)x[o / out * in + at] : 0;
                    } else if (inside) {
                        back[o / out * in + at] += (double)dy[o] / count[o];
                        back_max[o / out * in + at] += place[o] == at ? (double)dy[o] : 0;
                    }
                }
    if (padded) {
        max_pool<<<1, IMAGE_THREADS>>>(s, x.at, y.at, places.at);
        check(y, [&](size_t i) { return expected{most_of[i], 0}; }, "pooled maxima");
        check(places, [&](size_t i) { return expected{(double)place[i], 0}; }, "their places");
        max_pool_backward<<<1, IMAGE_THREADS>>>(s, dy.at, places.at, dx.at);
        check(dx, [&](size_t i) { return expected{back_max[i], 1e-6}; }, "their gradient");
        average_pool<true><<<1, IMAGE_THREADS>>>(s, x.at, y.at);
        average_pool_backward<true><<<1, IMAGE_THREADS>>>(s, dy.at, dx.at);
    } else {
        average_pool<false><<<1, IMAGE_THREADS>>>(s, x.at, y.at);
        average_pool_backward<false><<<1, IMAGE_THREADS>>>(s, dy.at, dx.at);
    }
    check(y, [&](size_t i) { return expected{sum[i] / count[i], 1e-6}; }, "averages, padding counts: %d", padded);
    check(dx, [&](size_t i) { return expected{back[i], 1e-6}; }, "their gradient, padding counts: %d", padded);
}

/* Keys' kernel with a = -3/4, as it is written. */
static double cubic(double d)
{
    const double a = -0.75;
    d = fabs(d);
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

template <resize_mode MODE> static void resizes(const char *name, bool align)
{
    const int h = 7, w = 5, oh = 13, ow = 4;
    resize_shape s = {2, h, w, oh, ow, align};
    array<float> x(2 * h * w), y(2 * oh * ow);
    fill(x);
    resize<MODE><<<1, IMAGE_THREADS>>>(s, x.at, y.at);
    check(y, [&](size_t i) {
        int r = (int)i / ow % oh, c = (int)i % ow;
        const float *plane = x + i / ow / oh * h * w;
        if (MODE == resize_mode::NEAREST)
            return expected{(double)plane[r * h / oh * w + c * w / ow], 0};
        double at[2] = {align ? r * (h - 1.0) / (oh - 1) : (r + 0.5) * h / oh - 0.5, align ? c * (w - 1.0) / (ow - 1) : (c + 0.5) * w / ow - 0.5}, sum = 0;
        for (int d = 0; d < 2 && MODE == resize_mode::BILINEAR; d++)
            at[d] = fmax(at[d], 0);
        for (int p = (int)floor(at[0]) - 1; p <= (int)floor(at[0]) + 2; p++)
            for (int q = (int)floor(at[1]) - 1; q <= (int)floor(at[1]) + 2; q++) {
                double weight = MODE == resize_mode::BICUBIC ? cubic(at[0] - p) * cubic(at[1] - q) : fmax(0, 1 - fabs(at[0] - p)) * fmax(0, 1 - fabs(at[1] - q));
                sum += weight * plane[least(most(p, 0), h - 1) * w + least(most(q, 0), w - 1)];
            }
        return expected{sum, 1e-5};
    }, "resized, %s, corners %d", name, align);
}

int main()
{
    using small = tile<32, 32, 16, 1, 2>;
    one<small, float>("2-D, f32", conv_shape<2>{2, 3, 5, 1, {9, 8}, {3, 3}, {}, {1, 1}, {1, 1}, {1, 1}, {}, {}}, false);
    one<small, float>("2-D, stride, dilation, groups", conv_shape<2>{2, 4, 6, 2, {11, 10}, {3, 2}, {}, {2, 3}, {2, 0}, {2, 1}, {}, {}}, false);
    one<small, float>("1-D, depthwise", conv_shape<1>{2, 3, 3, 3, {30}, {4}, {}, {1}, {2}, {1}, {}, {}}, false);
    one<small, float>("3-D", conv_shape<3>{1, 2, 3, 1, {4, 5, 6}, {2, 3, 1}, {}, {1, 2, 1}, {1, 1, 0}, {1, 1, 1}, {}, {}}, false);
    one<small, __half>("2-D, f16, channels last", conv_shape<2>{1, 8, 16, 1, {8, 8}, {3, 3}, {}, {1, 1}, {1, 1}, {1, 1}, {}, {}}, true);
    pools(true);
    pools(false);
    resizes<resize_mode::NEAREST>("nearest", false);
    resizes<resize_mode::BILINEAR>("bilinear", false);
    resizes<resize_mode::BILINEAR>("bilinear", true);
    resizes<resize_mode::BICUBIC>("bicubic", false);
    return done();
}
