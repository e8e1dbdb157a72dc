/*
 * Products of matrices whose elements have 8 and 4 bits: loads for gemm.cuh that give bfloat16 or
 * half. Of fp8, MXFP8 and NVFP4 every element times its scale is a bfloat16 exactly, where it is in
 * range, so that the products are exact, and the error is that of sums, g(2 k) |A| |B| + v. An int4
 * times its scale is rounded to a half: 2^-11 of each weight more.
 * Formats: OCP, Microscaling formats specification 1.0, 2023; NVFP4 has blocks of 16 with e4m3
 * scales and a factor for all. Lines of both operands lie along k (op T and N of BLAS); scales by
 * lines, too.
 */
#ifndef KLIB_GEMM_LOW_CUH
#define KLIB_GEMM_LOW_CUH

#include "elementwise.cuh"
#include "gemm.cuh"

namespace klib {

/* Q is an fp8 type; a scale for each line, or for all, goes into the store: scaled_store. */
template <class Q> struct fp8_load {
    using element = __nv_bfloat16;
    static constexpr bool ALONG_K = true;
    const Q *at;
    i64 ld;
    int lines, k;

    KLIB_DEVICE __nv_bfloat16 operator()(int line, int kk) const
    {
        return __float2bfloat16_rn(line < lines && kk < k ? (float)at[line * ld + kk] : 0.0f);
    }
};

/* 2^(bits - 127), the scales of MX formats; 255 is NaN. */
KLIB_DEVICE float e8m0_to_float(uint8_t bits)
{
    return bits == 255 ? __int_as_float(0x7fffffff) : __int_as_float(bits ? bits << 23 : 1 << 22);
}
/* The four values 0, 0.5, 1, 1.5 and four more, 2, 3, 4, 6, and their negatives. */
KLIB_DEVICE float e2m1_to_float(int bits)
{
    int magnitude = bits & 7;
    float x = magnitude < 2 ? 0.5f * (float)magnitude
                            : (float)(2 + magnitude % 2) * 0.5f * (float)(1 << (magnitude / 2 - 1));
    return bits & 8 ? -x : x;
}

/* MXFP8: blocks of 32 along k, with a scale of e8m0 each; k / 32 scales for a line. */
template <class Q> struct mxfp8_load {
    using element = __nv_bfloat16;
    static constexpr bool ALONG_K = true;
    const Q *at;
    const uint8_t *scales;
    i64 ld;
    int lines, k;

    KLIB_DEVICE __nv_bfloat16 operator()(int line, int kk) const
    {
        if (line >= lines || kk >= k)
            return __float2bfloat16_rn(0.0f);
        return __float2bfloat16_rn((float)at[line * ld + kk] *
                                   e8m0_to_float(scales[line * ceil_div(k, 32) + kk / 32]));
    }
};

/* NVFP4: two elements in a byte, blocks of 16 with a scale of e4m3; ld counts elements. */
struct nvfp4_load {
    using element = __nv_bfloat16;
    static constexpr bool ALONG_K = true;
    const uint8_t *at;
    const __nv_fp8_e4m3 *scales;
    i64 ld;
    int lines, k;

    KLIB_DEVICE __nv_bfloat16 operator()(int line, int kk) const
    {
        if (line >= lines || kk >= k)
            return __float2bfloat16_rn(0.0f);
        i64 i = line * ld + kk;
        return __float2bfloat16_rn(e2m1_to_float(at[i / 2] >> (i % 2 * 4) & 15) *
                                   (float)scales[line * ceil_div(k, 16) + kk / 16]);
    }
};

/* Weights of quantise_int4(), with groups along k: k / group scales for a line. */
struct int4_load {
    using element = __half;
    static constexpr bool ALONG_K = true;
    const uint8_t *at;
    const float *scales;
    i64 ld;
    int lines, k, group;

    KLIB_DEVICE __half operator()(int line, int kk) const
    {
        if (line >= lines || kk >= k)
            return __float2half_rn(0.0f);
        return __float2half_rn((float)int4_at(at, line * ld + kk) *
                               scales[line * ceil_div(k, group) + kk / group]);
    }
};

/* C = scale row_scales[row] column_scales[column] A B + bias[row], by columns; each may be NULL. */
template <class C> struct scaled_store {
    C *c;
    i64 ldc;
    int m, n;
    float scale;
    const float *row_scales, *column_scales;
    const C *bias;

    KLIB_DEVICE void operator()(int row, int column, float sum) const
    {
        if (row >= m || column >= n)
            return;
        sum *= scale;
        if (row_scales)
            sum *= row_scales[row];
        if (column_scales)
            sum *= column_scales[column];
        if (bias)
            sum += widen(bias[row]);
        c[row + column * ldc] = narrow<C>(sum);
    }
};

/* Any pair of loads with one type of elements. Grid: gemm_grid<Tile>(m, n). */
template <class Tile, class LoadA, class LoadB, class C>
__global__ void __launch_bounds__(Tile::THREADS)
    gemm_loads(int k, LoadA a, LoadB b, scaled_store<C> store)
{
    static_assert(is_same<typename LoadA::element, typename LoadB::element>::value,
                  "operands have one type");
    gemm_block<Tile, typename LoadA::element, float>((int)blockIdx.x * Tile::M,
                                                     (int)blockIdx.y * Tile::N, k, a, b, store);
}

/* A matrix of halves as the other operand, along k. */
template <class T> struct half_load : matrix_load<T, true> {
    using element = T;
};

} // namespace klib

#endif
