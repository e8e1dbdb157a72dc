/* Products of matrices: types, transposes, epilogues, batches, groups, against plain loops. */
#include <gemm.cuh>

#include "check.h"

using namespace klib;

template <class T> constexpr double roundoff = 0x1p-24;
template <> constexpr double roundoff<double> = 0x1p-53;
template <> constexpr double roundoff<__half> = 0x1p-11;
template <> constexpr double roundoff<__nv_bfloat16> = 0x1p-8;
template <> constexpr double roundoff<int> = 0;
template <> constexpr double roundoff<int8_t> = 0.5;

static double activated(activation act, double x)
{
    switch (act) {
    case activation::RELU:
        return x > 0 ? x : 0;
    case activation::GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    case activation::GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case activation::SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* An element of C before it was overwritten is `old`. */
template <bool TA, bool TB, class T, class C, class S>
static expected product(const gemm_args<T, C, S> &p, const T *a, const T *b, const C *old, activation act, int i, int j, double residual)
{
    double sum = 0, scale = 0, u = is_same<S, double>::value ? 0x1p-53 : is_same<C, int>::value ? 0 : 0x1p-24;
    for (int k = 0; k < p.k; k++) {
        double x = value(a[TA ? i * p.lda + k : i + k * p.lda]) * value(b[TB ? j + k * p.ldb : k + j * p.ldb]);
        sum += x;
        scale += fabs(x);
    }
    scale = scale * fabs((double)p.alpha) + fabs(residual);
    sum *= (double)p.alpha;
    for (double more : {p.beta != 0 ? (double)p.beta * value(old[i + j * p.ldc]) : 0, p.bias ? value(p.bias[i]) : 0}) {
        sum += more;
        scale += fabs(more);
    }
    double y = activated(act, sum) + residual;
    if (is_same<C, int8_t>::value)
        y = fmin(127, fmax(-128, y));
    return {y, (2 * p.k + 8) * u * 1.2 * scale + 1.01 * roundoff<C> * (is_same<C, int8_t>::value ? 1 : fabs(y))};
}

template <class Tile, bool TA, bool TB, activation ACT, class T, class C>
static void one(const char *name, int m, int n, int k, double alpha, double beta, bool has_bias, bool has_residual)
{
    using args = gemm_args<T, C>;
    i64 lda = (TA ? k : m) + 3, ldb = (TB ? n : k) + 1, ldc = m + 2;
    array<T> a(lda * (TA ? m : k)), b(ldb * (TB ? k : n));
    array<C> c(ldc * n), bias(m), residual(ldc * n);
    fill(a);
    fill(b);
    fill(c);
    fill(bias);
    fill(residual);
    if (beta == 0)
        memset((void *)c.at, 0x7f, c.n * sizeof(C)); /* NaNs of most */
    std::vector<C> old(c.at, c.at + c.n);
    args p = {m, n, k, a, b, c, lda, ldb, ldc, 0, 0, 0, nullptr, nullptr, nullptr, (typename args::factor)alpha, (typename args::factor)beta,
              has_bias ? bias.at : nullptr, has_residual ? residual.at : nullptr};
    gemm<Tile, TA, TB, ACT><<<gemm_grid<Tile>(m, n), Tile::THREADS>>>(p);
    check(c, [&](size_t at) -> expected {
        int i = (int)(at % ldc), j = (int)(at / ldc);
        if (i >= m)
            return {value(old[at]), 0};
        return product<TA, TB>(p, a.at, b.at, old.data(), ACT, i, j, has_residual ? value(residual[at]) : 0);
    }, "%s %s%s, %d x %d x %d", name, TA ? "T" : "N", TB ? "T" : "N", m, n, k);
}

template <class T> static void batches(const char *name)
{
    using Tile = tile_for<T>;
    const int m = 33, n = 18, k = 21, batch = 3;
    array<T> a(m * k * batch), b(k * n * batch), strided(m * n * batch), listed(m * n * batch);
    array<const T *> as(batch), bs(batch);
    array<T *> cs(batch);
    fill(a);
    fill(b);
    for (int i = 0; i < batch; i++) {
        as.at[i] = a + m * k * (batch - 1 - i);
        bs.at[i] = b;
        cs.at[i] = listed + m * n * i;
    }
    gemm_args<T, T> p = {m, n, k, a, b, strided, m, k, m, m * k, k * n, m * n, nullptr, nullptr, nullptr, 1, 0, nullptr, nullptr};
    gemm<Tile, false, false><<<gemm_grid<Tile>(m, n, batch), Tile::THREADS>>>(p);
    check(strided, [&](size_t at) {
        int i = (int)at / (m * n);
        return product<false, false>(p, a + m * k * i, b + k * n * i, (const T *)nullptr, activation::NONE, (int)at % m, (int)at / m % n, 0);
    }, "%s, strided", name);
    p.as = as;
    p.bs = bs;
    p.cs = cs;
    gemm<Tile, false, false><<<gemm_grid<Tile>(m, n, batch), Tile::THREADS>>>(p);
    check(listed, [&](size_t at) {
        return product<false, false>(p, as[at / (m * n)], b.at, (const T *)nullptr, activation::NONE, (int)at % m, (int)at / m % n, 0);
    }, "%s, listed", name);
}

static void groups()
{
    using Tile = tile<64, 32, 16, 2, 2>;
    const int sizes[][3] = {{5, 70, 9}, {64, 32, 1}, {130, 3, 40}, {1, 1, 17}};
    const int count = sizeof(sizes) / sizeof(sizes[0]);
    array<gemm_args<float, float>> problems(count);
    array<int> first(count + 1);
    array<float> a(130 * 40), b(130 * 40), c(5 * 70 + 64 * 32 + 130 * 3 + 1);
    fill(a);
    fill(b);
    float *at = c;
    for (int g = 0; g < count; g++) {
        const int *s = sizes[g];
        problems.at[g] = {s[0], s[1], s[2], a, b, at, s[0], s[2], s[0], 0, 0, 0, nullptr, nullptr, nullptr, 2, 0, nullptr, nullptr};
        dim3 grid = gemm_grid<Tile>(s[0], s[1]);
        first.at[g + 1] = first.at[g] + (int)(grid.x * grid.y);
        at += s[0] * s[1];
    }
    gemm_grouped<Tile, false, false><<<first[count], Tile::THREADS>>>(problems.at, first.at, count);
    check(c, [&](size_t i) {
        int g = 0;
        for (; i >= (size_t)(sizes[g][0] * sizes[g][1]); g++)
            i -= sizes[g][0] * sizes[g][1];
        return product<false, false>(problems.at[g], a.at, b.at, (const float *)nullptr, activation::NONE, (int)i % sizes[g][0], (int)i / sizes[g][0], 0);
    }, "groups of sizes");
}

int main()
{
    using plain = tile_plain;
    using small = tile<32, 32, 32, 1, 2>;
    one<plain, false, false, activation::NONE, float, float>("f32", 65, 70, 37, 1, 0, false, false);
    one<plain, true, false, activation::RELU, float, float>("f32 relu", 64, 64, 16, 0.5, 2, true, false);
    one<small, false, true, activation::GELU, float, float>("f32 gelu", 33, 20, 50, 1, 0, true, true);
    one<small, true, true, activation::GELU_TANH, float, float>("f32 gelu tanh", 33, 20, 50, 1, 1, false, true);
    one<small, false, false, activation::SILU, float, float>("f32 silu", 3, 2, 1, 1, 1, true, true);
    one<small, false, false, activation::NONE, double, double>("f64", 40, 33, 20, -1, 0.5, false, false);
    one<tile_mma, false, false, activation::NONE, __half, __half>("f16", 130, 66, 70, 1, 0, false, false);
    one<tile_mma, true, false, activation::RELU, __half, float>("f16 to f32 relu", 17, 9, 33, 1, 1, true, true);
    one<small, true, true, activation::NONE, __nv_bfloat16, __nv_bfloat16>("bf16", 40, 40, 40, 1, 1, true, false);
    one<small, false, true, activation::GELU, __nv_bfloat16, float>("bf16 to f32 gelu", 40, 40, 40, 1, 0, true, false);
    one<tile_mma, false, false, activation::NONE, int8_t, int>("s8 to s32", 30, 31, 65, 2, -1, false, false);
    one<small, true, false, activation::NONE, int8_t, int8_t>("s8 to s8", 30, 31, 65, 0.001, 0, false, false);
    one<small, false, true, activation::RELU, int8_t, float>("s8 to f32", 30, 31, 65, 0.001, 0, true, true);
    batches<float>("f32");
    batches<__half>("f16");
    groups();
    return done();
}
