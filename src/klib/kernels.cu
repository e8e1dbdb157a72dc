/*
 * The kernel library's kernels for devices that do not call functions of the host: the same
 * parameters as the native ones, on the templates of cuda/. One kernel has all types; the build makes
 * heddle-klib.ptx of it (cuda/meson.build).
 */
#include <complex.cuh>
#include <gemm.cuh>
#include "klib/gemm.h"

namespace {

using klib::complex;
using klib::i64;

/* Elements of every type, as a type of sums. */
template <class S> KLIB_DEVICE S element(const void *at, int type, i64 i)
{
    if constexpr (klib::is_same<S, float>::value) {
        switch (type) {
        case KLIB_F16:
            return __half2float(((const __half *)at)[i]);
        case KLIB_BF16:
            return __bfloat162float(((const __nv_bfloat16 *)at)[i]);
        case KLIB_I8:
            return ((const int8_t *)at)[i];
        default:
            return ((const float *)at)[i];
        }
    } else if constexpr (klib::is_same<S, int>::value) {
        return type == KLIB_I8 ? ((const int8_t *)at)[i] : ((const int *)at)[i];
    } else {
        return ((const S *)at)[i];
    }
}

template <class S> KLIB_DEVICE void put(void *at, int type, i64 i, S x)
{
    if constexpr (klib::is_same<S, float>::value) {
        if (type == KLIB_F16)
            ((__half *)at)[i] = __float2half_rn(x);
        else if (type == KLIB_BF16)
            ((__nv_bfloat16 *)at)[i] = __float2bfloat16_rn(x);
        else
            ((float *)at)[i] = x;
    } else {
        ((S *)at)[i] = x;
    }
}

template <class S> KLIB_DEVICE S conjugated(S x)
{
    return x;
}
template <class R> KLIB_DEVICE complex<R> conjugated(complex<R> x)
{
    return klib::conjugate(x);
}

template <class S> struct operand {
    static constexpr bool ALONG_K = false;
    const char *at;
    i64 line_step, k_step; /* elements */
    i64 lines, k;
    int type;
    bool is_conjugated;

    KLIB_DEVICE S operator()(int line, int kk) const
    {
        if (line >= lines || kk >= k)
            return S(0);
        S x = element<S>(at, type, line * line_step + kk * k_step);
        return is_conjugated ? conjugated(x) : x;
    }
};

KLIB_DEVICE i64 bytes_of(int type, i64 elements)
{
    switch (type) {
    case KLIB_C64:
        return elements * 16;
    case KLIB_F64:
    case KLIB_C32:
        return elements * 8;
    case KLIB_F16:
    case KLIB_BF16:
        return elements * 2;
    case KLIB_I8:
        return elements;
    default:
        return elements * 4;
    }
}

KLIB_DEVICE char *base_of(const klib_matrix &x, i64 problem)
{
    return x.is_listed ? ((char *const *)x.address)[problem]
                       : (char *)x.address + bytes_of(x.type, problem * x.step);
}

template <class S>
KLIB_DEVICE S factor_of(const klib_gemm &g, const void *there, const double *here)
{
    const void *at = g.factors_there ? there : here;
    if constexpr (klib::is_same<S, float>::value)
        if (g.factors == KLIB_F16)
            return __half2float(*(const __half *)at);
    return *(const S *)at;
}

/* A block of C, tile by tile. */
template <class S> KLIB_DEVICE void multiply(const klib_gemm &g)
{
    using tile = klib::tile<32, 32, 16, 1, 8>;
    i64 i = blockIdx.x % g.row_blocks, j = blockIdx.x / g.row_blocks % g.column_blocks;
    i64 problem = blockIdx.x / g.row_blocks / g.column_blocks;
    i64 rows = klib::ceil_div(g.m, g.row_blocks), columns = klib::ceil_div(g.n, g.column_blocks);
    i64 end_row = klib::least<i64>(g.m, (i + 1) * rows),
        end_column = klib::least<i64>(g.n, (j + 1) * columns);
    bool a_lies = g.a.op == 'N' || g.a.op == 'R', b_lies = g.b.op == 'N' || g.b.op == 'R';
    char *c = base_of(g.c, problem);
    S alpha = factor_of<S>(g, g.alpha.address, g.alpha.value);
    S beta = factor_of<S>(g, g.beta.address, g.beta.value);
    int k = alpha == S(0) ? 0 : (int)g.k; /* then A and B may be anything */
    operand<S> a = {base_of(g.a, problem),
                    a_lies ? 1 : g.a.ld,
                    a_lies ? g.a.ld : 1,
                    end_row,
                    k,
                    g.a.type,
                    g.a.op == 'C' || g.a.op == 'R'};
    operand<S> b = {base_of(g.b, problem),
                    b_lies ? g.b.ld : 1,
                    b_lies ? 1 : g.b.ld,
                    end_column,
                    k,
                    g.b.type,
                    g.b.op == 'C' || g.b.op == 'R'};

    for (i64 column = j * columns; column < end_column; column += tile::N)
        for (i64 row = i * rows; row < end_row; row += tile::M)
            klib::gemm_block<tile, S, S>((int)row, (int)column, k, a, b,
                                         [&](i64 r, i64 col, S sum) {
                                             if (r >= end_row || col >= end_column)
                                                 return;
                                             i64 at = r + col * g.c.ld;
                                             S x = alpha * sum;
                                             if (!(beta == S(0)))
                                                 x = x + beta * element<S>(c, g.c.type, at);
                                             put<S>(c, g.c.type, at, x);
                                         });
}

} // namespace

extern "C" __global__ void __launch_bounds__(256) klib_gemm_kernel(klib_gemm g)
{
    if (g.m > INT32_MAX || g.n > INT32_MAX || g.k > INT32_MAX)
        __trap();
    switch (g.sums) {
    case KLIB_F32:
        return multiply<float>(g);
    case KLIB_F64:
        return multiply<double>(g);
    case KLIB_C32:
        return multiply<complex<float>>(g);
    case KLIB_C64:
        return multiply<complex<double>>(g);
    default:
        return multiply<int>(g);
    }
}
