/* Functions of elements, quantisers, gathers and scatters, rope, against plain loops. */
#include <elementwise.cuh>
#include <gather.cuh>
#include <rope.cuh>

#include "check.h"

using namespace klib;

static void maps()
{
    const int n = 1000;
    array<float> x(n), y(n), z(n);
    array<__half> h(n);
    array<int8_t> q(n);
    fill(x);
    fill(y);
    map<<<2, MAP_THREADS>>>(h.at, n, f_same(), x.at);
    check(h, [&](size_t i) { return expected{value(__float2half_rn(x[i])), 0}; }, "a cast to f16");
    map<<<4, MAP_THREADS>>>(z.at, n, f_scale_add{2, -1}, x.at, y.at);
    check(z, [&](size_t i) { return expected{2.0 * x[i] - y[i], 6 * 0x1p-24}; }, "two arrays");
    map<<<4, MAP_THREADS>>>(z.at, n, f_silu_multiply(), x.at, h.at);
    check(z, [&](size_t i) { return expected{x[i] / (1 + exp(-(double)x[i])) * value(h[i]), 1e-6}; }, "arrays of different types");
    for (int i = 0; i < n; i++)
        x.at[i] *= 300;
    map<<<4, MAP_THREADS>>>(q.at, n, f_same(), x.at);
    check(q, [&](size_t i) { return expected{fmin(127, fmax(-128, nearbyint(x[i]))), 0}; }, "bytes saturate");
    broadcast_shape<2> s = {3, {5, 4, 50}, {{200, 50, 1}, {0, 1, 0}}};
    map_broadcast<<<4, MAP_THREADS>>>(z.at, n, f_add(), s, x.at, y.at);
    check(z, [&](size_t i) { return expected{(double)(x[i] + y[i / 50 % 4]), 0}; }, "an array that is repeated");
}

template <class Q> static void quantisers(const char *name, double relative)
{
    const int rows = 3, n = 300;
    array<float> x(rows * n), scales(rows), back(rows * n);
    array<Q> q(rows * n);
    fill(x);
    for (int i = 0; i < n; i++)
        x.at[n + i] = 0;
    quantise_rows<<<2, MAP_THREADS>>>(x.at, q.at, scales.at, rows, n);
    dequantise_rows<<<4, MAP_THREADS>>>(q.at, scales.at, back.at, rows, n);
    check(back, [&](size_t i) {
        double v = x[i], s = scales[i / n];
        return expected{v, relative ? fabs(v) * relative + s * 0x1p-10 : s / 2 * 1.0001};
    }, "quantised to %s and back", name);
    check(scales, [&](size_t r) {
        double m = 0;
        for (int i = 0; i < n; i++)
            m = fmax(m, fabs((double)x[r * n + i]));
        return expected{m ? m / (is_same<Q, int8_t>::value ? 127 : is_same<Q, __nv_fp8_e4m3>::value ? 448 : 57344) : 1, 1e-8};
    }, "%s: scales", name);
}

static void int4s()
{
    const int n = 640, group = 64;
    array<__half> x(n), back(n);
    array<float> scales(n / group);
    array<uint8_t> q(n / 2);
    fill(x);
    quantise_int4<<<1, MAP_THREADS>>>(x.at, q.at, scales.at, n, group);
    dequantise_int4<<<2, MAP_THREADS>>>(q.at, scales.at, back.at, n, group);
    check(back, [&](size_t i) { return expected{value(x[i]), scales[i / group] * 0.5 * 1.001 + 0x1p-11}; }, "quantised to int4 and back");
    ok(scales[0] > 0.1 && scales[0] < 0.15, "int4: scales");
}

static void gathers()
{
    const int rows = 20, count = 50, n = 30;
    array<float> x(rows * n), y(count * n), sums(rows * n), runs(rows * n);
    array<int> index(count), sorted(count), places(count);
    fill(x);
    for (int i = 0; i < count; i++)
        index.at[i] = i == 3 ? -1 : random_below(rows - 2);
    gather_rows<<<3, GATHER_THREADS>>>(x.at, index.at, y.at, count, n);
    check(y, [&](size_t i) { return expected{index[i / n] < 0 ? 0 : (double)x[index[i / n] * n + i % n], 0}; }, "rows gathered");
    fill(y);
    auto sum = [&](size_t at) {
        double s = 0;
        for (int i = 0; i < count; i++)
            s += index[i] == (int)at / n ? (double)y[i * n + at % n] : 0;
        return expected{s, 1e-6};
    };
    scatter_add_rows<<<3, GATHER_THREADS>>>(y.at, index.at, sums.at, count, n);
    check(sums, sum, "rows added");
    int filled = 0;
    for (int row = -1; row < rows; row++)
        for (int i = 0; i < count; i++)
            if (index[i] == row) {
                sorted.at[filled] = row;
                places.at[filled++] = i;
            }
    sum_runs<<<7, GATHER_THREADS>>>(y.at, sorted.at, places.at, runs.at, count, n);
    check(runs, sum, "rows added in order");
    for (int i = 0; i < count; i++)
        index.at[i] = i < rows ? (i * 7 + 3) % rows : -1;
    scatter_rows<<<2, GATHER_THREADS>>>(y.at, index.at, runs.at, count, n);
    check(runs, [&](size_t at) {
        for (int i = 0; i < rows; i++)
            if (index[i] == (int)at / n)
                return expected{(double)y[i * n + at % n], 0};
        return expected{NAN, 0};
    }, "rows scattered");
    array<long long> places2(2 * 3 * n);
    array<float> z(2 * 3 * n);
    for (size_t i = 0; i < places2.n; i++)
        places2.at[i] = random_below(10);
    gather_elements<<<1, GATHER_THREADS>>>(x.at, places2.at, z.at, 2, 10, 3, n);
    check(z, [&](size_t i) { return expected{(double)x[(i / (3 * n) * 10 + places2[i]) * n + i % n], 0}; }, "elements gathered");
}

template <bool NEIGHBOURS> static void ropes(int turned)
{
    const int tokens = 7, heads = 3, size = 16, n = tokens * heads * size;
    array<float> x(n), y(n), back(n);
    array<int> positions(tokens);
    fill(x);
    for (int t = 0; t < tokens; t++)
        positions.at[t] = t * t * 20;
    rope<NEIGHBOURS><<<1, ROPE_THREADS>>>(x.at, positions.at, y.at, tokens, heads, size, turned, 10000.0f, 1.0f);
    check(y, [&](size_t at) -> expected {
        int i = (int)at % size, pair = NEIGHBOURS ? i / 2 : i % (turned / 2);
        if (i >= turned)
            return {(double)x[at], 0};
        double angle = positions[at / size / heads] * pow(10000, -2.0 * pair / turned);
        bool second = NEIGHBOURS ? i % 2 : i >= turned / 2;
        double other = x[NEIGHBOURS ? at ^ 1 : second ? at - turned / 2 : at + turned / 2];
        return {x[at] * cos(angle) + (second ? 1 : -1) * other * sin(angle), 1.5 * (0x1p-21 * angle + 4 * 0x1p-24)};
    }, "rope, %s, %d of %d", NEIGHBOURS ? "neighbours" : "halves", turned, size);
    rope<NEIGHBOURS><<<1, ROPE_THREADS>>>(y.at, positions.at, back.at, tokens, heads, size, turned, 10000.0f, -1.0f);
    check(back, [&](size_t at) { return expected{(double)x[at], 1e-6}; }, "and turned back");
}

int main()
{
    maps();
    quantisers<int8_t>("int8", 0);
    quantisers<__nv_fp8_e4m3>("e4m3", 0x1p-4);
    quantisers<__nv_fp8_e5m2>("e5m2", 0x1p-3);
    int4s();
    gathers();
    ropes<false>(16);
    ropes<true>(8);
    return done();
}
