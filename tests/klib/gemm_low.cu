/* Products of elements of 8 and 4 bits with their scales, against plain loops. */
#include <gemm_low.cuh>

#include "check.h"

using namespace klib;

/* Elements of 4 bits: 0, 1/2, 1, 3/2, 2, 3, 4, 6. */
static double e2m1(int bits)
{
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return (bits & 8 ? -1 : 1) * values[bits & 7];
}

enum { M = 37, N = 20, K = 96 };

/* Sums of a(i, k) b(j, k). */
template <class A, class B, class LoadA, class LoadB>
static void one(const char *name, const LoadA &load_a, const LoadB &load_b, const A &a, const B &b, const float *row_scales, const float *column_scales)
{
    using Tile = tile<32, 32, 32, 1, 2>;
    array<float> c(M * N);
    array<float> bias(M);
    fill(bias);
    scaled_store<float> store = {c, M, M, N, 0.5f, row_scales, column_scales, bias};
    gemm_loads<Tile><<<gemm_grid<Tile>(M, N), Tile::THREADS>>>(K, load_a, load_b, store);
    check(c, [&](size_t at) {
        int i = (int)at % M, j = (int)at / M;
        double sum = 0, scale = 0, factor = 0.5 * (row_scales ? row_scales[i] : 1) * (column_scales ? column_scales[j] : 1);
        for (int k = 0; k < K; k++) {
            sum += a(i, k) * b(j, k) * factor;
            scale += fabs(a(i, k) * b(j, k) * factor);
        }
        return expected{sum + bias[i], (2 * K + 8) * 0x1p-24 * (scale + 1)};
    }, "%s", name);
}

template <class Q> static void bytes(const array<Q> &x)
{
    for (size_t i = 0; i < x.n; i++)
        x.at[i] = Q((float)random_number() * 16);
}

int main()
{
    array<float> row_scales(M), column_scales(N), int4_scales(M * K / 32);
    array<__nv_fp8_e4m3> a8(M * K), block16_a(M * K / 16), block16_b(N * K / 16);
    array<__nv_fp8_e5m2> b8(N * K);
    array<uint8_t> a4(M * K / 2), b4(N * K / 2), block32_a(M * K / 32), block32_b(N * K / 32);
    array<__half> h(N * K);
    fill(row_scales);
    fill(column_scales);
    fill(int4_scales);
    fill(h);
    bytes(a8);
    bytes(b8);
    bytes(block16_a);
    bytes(block16_b);
    for (auto *x : {&a4, &b4})
        for (size_t i = 0; i < x->n; i++)
            x->at[i] = (uint8_t)random_below(256);
    for (auto *x : {&block32_a, &block32_b})
        for (size_t i = 0; i < x->n; i++)
            x->at[i] = (uint8_t)(120 + random_below(14));
    auto value_a8 = [&](int i, int k) { return value(a8[i * K + k]); };
    auto value_b8 = [&](int j, int k) { return value(b8[j * K + k]); };
    auto nibble = [](const uint8_t *x, int i) { return x[i / 2] >> (i % 2 * 4) & 15; };
    one("fp8, scales of rows and columns", fp8_load<__nv_fp8_e4m3>{a8, K, M, K}, fp8_load<__nv_fp8_e5m2>{b8, K, N, K}, value_a8, value_b8, row_scales,
        column_scales);
    one("MXFP8", mxfp8_load<__nv_fp8_e4m3>{a8, block32_a, K, M, K}, mxfp8_load<__nv_fp8_e5m2>{b8, block32_b, K, N, K},
        [&](int i, int k) { return value_a8(i, k) * exp2(block32_a[i * (K / 32) + k / 32] - 127.0); },
        [&](int j, int k) { return value_b8(j, k) * exp2(block32_b[j * (K / 32) + k / 32] - 127.0); }, nullptr, nullptr);
    one("NVFP4", nvfp4_load{a4, block16_a, K, M, K}, nvfp4_load{b4, block16_b, K, N, K},
        [&](int i, int k) { return e2m1(nibble(a4, i * K + k)) * value(block16_a[i * (K / 16) + k / 16]); },
        [&](int j, int k) { return e2m1(nibble(b4, j * K + k)) * value(block16_b[j * (K / 16) + k / 16]); }, nullptr, nullptr);
    one("int4 weights by halves", int4_load{a4, int4_scales, K, M, K, 32}, half_load<__half>{{h, K, N, K}},
        [&](int i, int k) { /* rounded to a half */
            int q = nibble(a4, i * K + k);
            return value(__float2half_rn((float)(q < 8 ? q : q - 16) * int4_scales[i * (K / 32) + k / 32]));
        },
        [&](int j, int k) { return value(h[j * K + k]); }, nullptr, nullptr);
    return done();
}
