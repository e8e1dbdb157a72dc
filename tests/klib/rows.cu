/* Reductions, scans, softmax, cross-entropy and normalisation against plain loops. */
#include <norm.cuh>
#include <reduce.cuh>
#include <softmax.cuh>

#include "check.h"

using namespace klib;

static const double U = 0x1p-24;
template <class T> constexpr double roundoff = 0x1p-24;
template <> constexpr double roundoff<double> = 0x1p-53;
template <> constexpr double roundoff<__half> = 0x1p-11;
template <> constexpr double roundoff<__nv_bfloat16> = 0x1p-8;

/* ---- reductions and scans */

static void reductions()
{
    const int n = 700, total = 3 * n - 100;
    array<float> x(total), y(3), longest(1);
    array<long long> place(3);
    fill(x);
    auto sum = [&](size_t row, int power) {
        double s = 0, scale = 0;
        for (int i = (int)row * n; i < least(total, ((int)row + 1) * n); i++) {
            s += power == 1 ? (double)x[i] : (double)x[i] * x[i];
            scale += fabs((double)x[i]);
        }
        return expected{s, 20 * U * scale};
    };
    reduce_rows<add_op<float>><<<3, REDUCE_THREADS>>>(x.at, y.at, n, total);
    check(y, [&](size_t r) { return sum(r, 1); }, "sums of rows, the last one short");
    reduce_rows<add_op<float>><<<2, REDUCE_THREADS>>>(x.at, y.at, n, total, map_square(), finish_root());
    check(y, [&](size_t r) { return expected{sqrt(sum(r, 2).value), 20 * U * 20}; }, "norms, fewer blocks than rows");
    auto extreme = [&](size_t r, int sign) {
        double m = -9;
        for (int i = (int)r * n; i < least(total, ((int)r + 1) * n); i++)
            m = fmax(m, sign * (double)x[i]);
        return expected{sign * m, 0};
    };
    reduce_rows<max_op<float>><<<3, REDUCE_THREADS>>>(x.at, y.at, n, total);
    check(y, [&](size_t r) { return extreme(r, 1); }, "maxima");
    reduce_rows<min_op<float>><<<3, REDUCE_THREADS>>>(x.at, y.at, n, total);
    check(y, [&](size_t r) { return extreme(r, -1); }, "minima");
    x.at[5] = x.at[600] = 2;
    x.at[n + 77] = NAN;
    reduce_rows<argmax_op<float>><<<3, REDUCE_THREADS>>>(x.at, place.at, n, total, map_placed(), finish_place());
    check(place, [&](size_t r) -> expected {
        if (r == 0)
            return {5, 0};
        if (r == 1)
            return {77, 0};
        int best = 2 * n;
        for (int i = 2 * n; i < total; i++)
            best = x[i] > x[best] ? i : best;
        return {(double)(best - 2 * n), 0};
    }, "places of maxima: the first of equals, NaN first");
    const int rows = 70, columns = 45;
    array<__half> h(2 * rows * columns), means(2 * columns);
    fill(h);
    reduce_columns<add_op<float>><<<dim3(2, 2), REDUCE_THREADS>>>(h.at, means.at, rows, columns, map_value(), finish_scaled{1.0 / rows});
    check(means, [&](size_t at) {
        double s = 0;
        for (int i = 0; i < rows; i++)
            s += value(h[((int)at / columns * rows + i) * columns + (int)at % columns]) / rows;
        return expected{s, 40 * U + roundoff<__half> * fabs(s) + 1e-7};
    }, "means of columns");
}

static void scans()
{
    const int n = 600, total = 5 * n - 7;
    array<int> x(total), y(total);
    array<int> sums(5), starts(5);
    for (int i = 0; i < total; i++)
        x.at[i] = random_below(100) - 50;
    scan_rows<add_op<int>, false><<<2, REDUCE_THREADS>>>(x.at, y.at, n, total, (const int *)nullptr);
    auto before = [&](size_t at, bool whole, bool exclusive) {
        int s = 0;
        for (size_t i = whole ? 0 : at / n * n; i < at + !exclusive; i++)
            s += x[i];
        return expected{(double)s, 0};
    };
    check(y, [&](size_t at) { return before(at, false, false); }, "a scan of rows");
    reduce_rows<add_op<int>><<<5, REDUCE_THREADS>>>(x.at, sums.at, n, total);
    scan_rows<add_op<int>, true><<<1, REDUCE_THREADS>>>(sums.at, starts.at, 5, 5, (const int *)nullptr);
    scan_rows<add_op<int>, true><<<5, REDUCE_THREADS>>>(x.at, y.at, n, total, starts.at);
    check(y, [&](size_t at) { return before(at, true, true); }, "an exclusive scan of a long array, in three steps");
    scan_rows<max_op<int>, false><<<1, REDUCE_THREADS>>>(x.at, y.at, total, total, (const int *)nullptr);
    check(y, [&](size_t at) {
        int m = x[0];
        for (size_t i = 0; i <= at; i++)
            m = x[i] > m ? x[i] : m;
        return expected{(double)m, 0};
    }, "running maxima");
}

/* ---- softmax */

template <class T> static void softmaxes(const char *name, double u)
{
    const int rows = 3, n = 300;
    array<T> x(rows * n), y(rows * n), dy(rows * n), dx(rows * n);
    double lse[rows], scale = 5;
    fill(x);
    fill(dy);
    x.at[7] = (T)-INFINITY;
    for (int r = 0; r < rows; r++) {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += exp(scale * value(x[r * n + i]));
        lse[r] = log(s);
    }
    auto log_p = [&](size_t at) { return scale * value(x[at]) - lse[at / n]; };
    softmax<false><<<2, SOFTMAX_THREADS>>>(x.at, y.at, rows, n, (sum_of<T>)scale);
    check(y, [&](size_t at) { double p = exp(log_p(at)); return expected{p, p * (40 * u + 1.01 * roundoff<T>) + 1e-7 * (u > 1e-10)}; }, "softmax, %s", name);
    softmax_backward<false><<<3, SOFTMAX_THREADS>>>(y.at, dy.at, dx.at, rows, n, (sum_of<T>)scale);
    check(dx, [&](size_t at) {
        double s = 0;
        for (size_t i = at / n * n; i < at / n * n + n; i++)
            s += value(dy[i]) * value(y[i]);
        double g = scale * value(y[at]) * (value(dy[at]) - s);
        return expected{g, 40 * u * value(y[at]) * scale + 1.01 * roundoff<T> * fabs(g) + 1e-7 * (u > 1e-10)};
    }, "its gradient, %s", name);
    softmax<true><<<3, SOFTMAX_THREADS>>>(x.at, y.at, rows, n, (sum_of<T>)scale);
    check(y, [&](size_t at) { double l = log_p(at); return expected{l, at == 7 ? 0 : 60 * u + 1.01 * roundoff<T> * fabs(l)}; }, "its logarithm, %s", name);
    softmax_backward<true><<<3, SOFTMAX_THREADS>>>(y.at, dy.at, dx.at, rows, n, (sum_of<T>)scale);
    check(dx, [&](size_t at) {
        double s = 0, a = 0;
        for (size_t i = at / n * n; i < at / n * n + n; i++) {
            s += value(dy[i]);
            a += fabs(value(dy[i]));
        }
        double g = scale * (value(dy[at]) - exp(value(y[at])) * s);
        return expected{g, scale * 60 * u * (1 + a * exp(value(y[at]))) + 1.01 * roundoff<T> * fabs(g)};
    }, "and that one's gradient, %s", name);
}

static void cross_entropies(double smoothing)
{
    const int rows = 4, n = 130;
    array<float> x(rows * n), loss(rows), dloss(rows), dx(rows * n);
    array<int> labels(rows);
    double lse[rows], mean[rows];
    fill(x);
    fill(dloss);
    for (int r = 0; r < rows; r++) {
        double s = 0, m = 0;
        for (int i = 0; i < n; i++) {
            s += exp((double)x[r * n + i]);
            m += (double)x[r * n + i] / n;
        }
        lse[r] = log(s);
        mean[r] = m;
        labels.at[r] = r == 2 ? -100 : random_below(n);
    }
    cross_entropy<<<3, SOFTMAX_THREADS>>>(x.at, labels.at, loss.at, dloss.at, dx.at, rows, n, -100, (float)smoothing);
    check(loss, [&](size_t r) {
        double l = labels[r] < 0 ? 0 : (1 - smoothing) * (lse[r] - x[r * n + labels[r]]) + smoothing * (lse[r] - mean[r]);
        return expected{l, 80 * U};
    }, "cross-entropy, smoothing %g", smoothing);
    check(dx, [&](size_t at) {
        size_t r = at / n;
        double t = (labels[r] == (int)(at % n) ? 1 - smoothing : 0) + smoothing / n;
        return expected{labels[r] < 0 ? 0 : dloss[r] * (exp(x[at] - lse[r]) - t), 40 * U};
    }, "its gradient");
}

/* ---- norms */

template <bool RMS, bool IMAGES, class T> static void norms(const char *name, norm_shape s)
{
    i64 n = s.n, channels = n / s.inner * s.groups;
    const double epsilon = 1e-5;
    array<T> x(s.rows * n), y(s.rows * n), dy(s.rows * n), dx(s.rows * n);
    array<float> gamma(channels), beta(channels), means(s.rows), rs(s.rows), dgamma(channels), dbeta(channels);
    std::vector<double> mean(s.rows), r(s.rows);
    fill(x);
    fill(dy);
    fill(gamma);
    fill(beta);
    for (i64 row = 0; row < s.rows; row++) {
        double m = 0, v = 0;
        for (i64 i = 0; i < n && !RMS; i++)
            m += value(x[row * n + i]) / n;
        for (i64 i = 0; i < n; i++)
            v += pow(value(x[row * n + i]) - m, 2) / n;
        mean[row] = m;
        r[row] = 1 / sqrt(v + epsilon);
    }
    auto channel = [&](size_t at) { return at / n % s.groups * (n / s.inner) + at % n / s.inner; };
    auto normal = [&](size_t at) { return (value(x[at]) - mean[at / n]) * r[at / n]; };
    norm_forward<RMS><<<2, NORM_THREADS>>>(s, x.at, gamma.at, RMS ? nullptr : beta.at, y.at, means.at, rs.at, (float)epsilon);
    check(y, [&](size_t at) {
        double want = normal(at) * gamma[channel(at)] + (RMS ? 0 : beta[channel(at)]);
        return expected{want, 60 * U * (1 + fabs(want)) + 1.01 * roundoff<T> * fabs(want)};
    }, "%s", name);
    check(rs, [&](size_t row) { return expected{r[row], 40 * U * r[row]}; }, "%s: 1 / deviation", name);
    norm_backward<RMS><<<s.rows, NORM_THREADS>>>(s, dy.at, x.at, gamma.at, means.at, rs.at, dx.at);
    check(dx, [&](size_t at) {
        size_t row = at / n;
        double h = 0, p = 0;
        for (size_t i = row * n; i < (row + 1) * n; i++) {
            double one = value(dy[i]) * gamma[channel(i)];
            h += RMS ? 0 : one / n;
            p += one * normal(i) / n;
        }
        double want = r[row] * (value(dy[at]) * gamma[channel(at)] - h - normal(at) * p);
        return expected{want, 100 * U * r[row] * 2 + 1.01 * roundoff<T> * fabs(want)};
    }, "%s: gradient", name);
    norm_backward_weights<RMS, IMAGES><<<IMAGES ? channels : ceil_div(channels, 32), NORM_THREADS>>>(s, dy.at, x.at, means.at, rs.at, dgamma.at, dbeta.at);
    std::vector<double> sum(channels), product(channels), scale(channels);
    for (size_t i = 0; i < x.n; i++) {
        sum[channel(i)] += value(dy[i]);
        product[channel(i)] += value(dy[i]) * normal(i);
        scale[channel(i)] += fabs(value(dy[i])) * (1 + fabs(normal(i)));
    }
    check(dgamma, [&](size_t c) { return expected{product[c], 40 * U * scale[c]}; }, "%s: gradient of gamma", name);
    check(dbeta, [&](size_t c) { return expected{sum[c], 40 * U * scale[c]}; }, "%s: gradient of beta", name);
}

static void batch_norms()
{
    batch_shape s = {3, 4, 35};
    const int n = 3 * 4 * 35, each = 3 * 35;
    array<float> x(n), y(n), dy(n), dx(n), gamma(4), beta(4), means(4), rs(4), running_mean(4), running_variance(4), dgamma(4), dbeta(4);
    double mean[4] = {}, variance[4] = {}, sum[4] = {}, product[4] = {}, r[4];
    for (auto *a : {&x, &dy, &gamma, &beta})
        fill(*a);
    auto channel = [](size_t at) { return at / 35 % 4; };
    for (int i = 0; i < n; i++)
        mean[channel(i)] += (double)x[i] / each;
    for (int i = 0; i < n; i++)
        variance[channel(i)] += pow(x[i] - mean[channel(i)], 2) / each;
    for (int c = 0; c < 4; c++)
        r[c] = 1 / sqrt(variance[c] + 1e-3);
    auto normal = [&](size_t at) { return (x[at] - mean[channel(at)]) * r[channel(at)]; };
    for (int i = 0; i < n; i++) {
        sum[channel(i)] += dy[i];
        product[channel(i)] += dy[i] * normal(i);
    }
    batch_norm_forward<<<4, NORM_THREADS>>>(s, x.at, gamma.at, beta.at, y.at, means.at, rs.at, running_mean.at, running_variance.at, 0.25f, 1e-3f);
    auto want = [&](size_t at) { return expected{normal(at) * gamma[channel(at)] + beta[channel(at)], 60 * U}; };
    check(y, want, "batch norm");
    check(running_mean, [&](size_t c) { return expected{mean[c] / 4, 20 * U}; }, "running mean");
    check(running_variance, [&](size_t c) { return expected{variance[c] * each / (each - 1) / 4, 40 * U}; }, "running variance");
    batch_norm_backward<<<4, NORM_THREADS>>>(s, dy.at, x.at, gamma.at, means.at, rs.at, dx.at, dgamma.at, dbeta.at);
    check(dx, [&](size_t at) {
        size_t c = channel(at);
        return expected{gamma[c] * r[c] * (dy[at] - sum[c] / each - normal(at) * product[c] / each), 100 * U * r[c]};
    }, "batch norm: gradient");
    check(dgamma, [&](size_t c) { return expected{product[c], 40 * U * each}; }, "batch norm: gradient of gamma");
    check(dbeta, [&](size_t c) { return expected{sum[c], 40 * U * each}; }, "batch norm: gradient of beta");
    for (int c = 0; c < 4; c++) {
        means.at[c] = (float)mean[c];
        rs.at[c] = (float)variance[c];
    }
    batch_norm_inference<<<4, NORM_THREADS>>>(s, x.at, gamma.at, beta.at, y.at, means.at, rs.at, 1e-3f);
    check(y, want, "batch norm by averages");
}

int main()
{
    reductions();
    scans();
    softmaxes<float>("f32", U);
    softmaxes<__nv_bfloat16>("bf16", U);
    softmaxes<double>("f64", 0x1p-53);
    cross_entropies(0);
    cross_entropies(0.1);
    norms<false, false, float>("layer norm, f32", {5, 333, 1, 1});
    norms<true, false, __half>("RMS norm, f16", {3, 520, 1, 1});
    norms<false, true, float>("group norm, f32", {6, 2 * 35, 3, 35});
    batch_norms();
    return done();
}
