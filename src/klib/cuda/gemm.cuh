/*
 * Products of matrices.
 *
 * One algorithm, gemm_block(), makes a block of C: slices of A and B go through shared memory, and
 * each warp sums a part of the block in registers. What is multiplied comes from functions,
 * "loads": a load gives element (row, k) of its operand, 0 outside. Matrices are loads, and so are
 * images in convolutions (conv.cuh) and packed weights (gemm_low.cuh). What becomes of a sum is a
 * function, too.
 *
 * Algorithm: blocks in shared memory and registers, as in Volkov and Demmel, Benchmarking GPUs to
 * tune dense linear algebra, 2008; the next slice is loaded while one is multiplied. Elements of 8
 * and 16 bits are multiplied by mma.sync from compute capability 8.0 on, everything else, and
 * everything before, by fused multiply-adds.
 * Error: |C - exact| <= g(k) |A| |B| + v |C| for each element; of bytes, exact while sums fit an
 * int. mma.sync sums as the architecture does (docs/decisions/0157), within g(2 k).
 */
#ifndef KLIB_GEMM_CUH
#define KLIB_GEMM_CUH

#include "base.cuh"

namespace klib {

/* ---- shapes */

/*
 * A block of C is M x N, by slices of K; its warps are a grid of WARPS_M x WARPS_N. A warp's part
 * has a multiple of 32 rows for fused multiply-adds, of 16 x 8 for mma.sync.
 */
template <int M_, int N_, int K_, int WARPS_M_, int WARPS_N_> struct tile {
    static constexpr int M = M_, N = N_, K = K_, WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
    static constexpr int THREADS = WARP * WARPS_M * WARPS_N;
    static constexpr int ROWS = M / WARPS_M, COLUMNS = N / WARPS_N; /* of a warp */

    static_assert(M % WARPS_M == 0 && N % WARPS_N == 0, "warps have like parts");
    static_assert(M * K % THREADS == 0 && N * K % THREADS == 0, "threads load as much each");
};
using tile_plain = tile<64, 64, 16, 1, 8>;
using tile_mma = tile<128, 64, 32, 4, 2>;

/* ---- how a warp multiplies */

/* By fused multiply-adds: a lane has rows 32 apart, so that B's elements are the warp's. */
template <class Tile, class T, class S> struct plain_product {
    static constexpr int ROWS = Tile::ROWS / WARP, COLUMNS = Tile::COLUMNS, PAD = 16 / sizeof(T);
    static_assert(Tile::ROWS % WARP == 0, "a lane has whole rows");

    struct memory {
        T a[Tile::K][Tile::M + PAD], b[Tile::K][Tile::N + PAD];
    };
    S sums[COLUMNS][ROWS];

    static KLIB_DEVICE int row()
    {
        return threadIdx.x / WARP % Tile::WARPS_M * Tile::ROWS + threadIdx.x % WARP;
    }
    static KLIB_DEVICE int column()
    {
        return threadIdx.x / WARP / Tile::WARPS_M * Tile::COLUMNS;
    }
    static KLIB_DEVICE void put_a(decltype(memory::a) &a, int row, int k, T x)
    {
        a[k][row] = x;
    }
    static KLIB_DEVICE void put_b(decltype(memory::b) &b, int column, int k, T x)
    {
        b[k][column] = x;
    }
    KLIB_DEVICE void clear()
    {
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < ROWS; i++)
                sums[j][i] = S(0);
    }
    KLIB_DEVICE void multiply(const decltype(memory::a) &in_a, const decltype(memory::b) &in_b)
    {
#pragma unroll 4
        for (int k = 0; k < Tile::K; k++) {
            S a[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                a[i] = S(widen(in_a[k][row() + WARP * i]));
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                S b = S(widen(in_b[k][column() + j]));
#pragma unroll
                for (int i = 0; i < ROWS; i++)
                    sums[j][i] = multiply_add(a[i], b, sums[j][i]);
            }
        }
    }
    /* use(row, column, sum) of each sum that the thread has; it may change it. */
    template <class Use> KLIB_DEVICE void each(const Use &use)
    {
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                use(row() + WARP * i, column() + j, sums[j][i]);
    }
};

/* By mma.sync; lines of both operands lie along k, so that a register is a word of memory. */
template <class T> struct mma_kind {
    static constexpr bool is_there = false;
};
template <> struct mma_kind<__half> {
    static constexpr bool is_there = true;
    static KLIB_DEVICE void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};
template <> struct mma_kind<__nv_bfloat16> {
    static constexpr bool is_there = true;
    static KLIB_DEVICE void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
    {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};
template <> struct mma_kind<int8_t> {
    static constexpr bool is_there = true;
    static KLIB_DEVICE void mma(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
    {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

template <class Tile, class T, class S> struct mma_product {
    static constexpr int ROWS = Tile::ROWS / 16, COLUMNS = Tile::COLUMNS / 8;
    static constexpr int STEPS = Tile::K * (int)sizeof(T) / 32, WORDS = STEPS * 8 + 4;
    static_assert(Tile::ROWS % 16 == 0 && Tile::COLUMNS % 8 == 0 && STEPS > 0,
                  "the shape of mma.sync");

    struct memory {
        unsigned a[Tile::M][WORDS], b[Tile::N][WORDS]; /* WORDS: no two lanes meet in a bank */
    };
    S sums[ROWS][COLUMNS][4];

    static KLIB_DEVICE int row()
    {
        return threadIdx.x / WARP % Tile::WARPS_M * Tile::ROWS + threadIdx.x % WARP / 4;
    }
    static KLIB_DEVICE int column()
    {
        return threadIdx.x / WARP / Tile::WARPS_M * Tile::COLUMNS;
    }
    static KLIB_DEVICE void put_a(decltype(memory::a) &a, int row, int k, T x)
    {
        reinterpret_cast<T *>(a[row])[k] = x;
    }
    static KLIB_DEVICE void put_b(decltype(memory::b) &b, int column, int k, T x)
    {
        reinterpret_cast<T *>(b[column])[k] = x;
    }
    KLIB_DEVICE void clear()
    {
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                for (int e = 0; e < 4; e++)
                    sums[i][j][e] = S(0);
    }
    KLIB_DEVICE void multiply(const decltype(memory::a) &in_a, const decltype(memory::b) &in_b)
    {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            int word = step * 8 + threadIdx.x % 4;
            unsigned a[ROWS][4], b[COLUMNS][2];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    a[i][e] = in_a[row() + 16 * i + e % 2 * 8][word + e / 2 * 4];
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    b[j][e] = in_b[column() + 8 * j + threadIdx.x % WARP / 4][word + e * 4];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    mma_kind<T>::mma(sums[i][j], a[i], b[j]);
        }
    }
    template <class Use> KLIB_DEVICE void each(const Use &use)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    use(row() + 16 * i + e / 2 * 8, column() + 8 * j + threadIdx.x % 4 * 2 + e % 2,
                        sums[i][j][e]);
    }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr bool ARCH_HAS_MMA = true;
#else
constexpr bool ARCH_HAS_MMA = false;
#endif

/* The tile that is best for elements T where nothing else is known. */
template <class T>
using tile_for = typename choice<mma_kind<T>::is_there, tile_mma, tile_plain>::type;

/* How a block with this tile multiplies elements T on the architecture that is compiled for. */
template <class Tile, class T, class S>
using product_of = typename choice<ARCH_HAS_MMA && mma_kind<T>::is_there, mma_product<Tile, T, S>,
                                   plain_product<Tile, T, S>>::type;

/* ---- a block of C */

/* What a thread holds of the next slice. */
template <class Tile, int LINES, class T> struct slice {
    static constexpr int ELEMENTS = LINES * Tile::K / Tile::THREADS;
    T x[ELEMENTS];

    /* Neighbours in memory are loaded by neighbours. */
    template <bool ALONG_K> static KLIB_DEVICE void place(int i, int *line, int *k)
    {
        int e = i * Tile::THREADS + (int)threadIdx.x;
        *line = ALONG_K ? e / Tile::K : e % LINES;
        *k = ALONG_K ? e % Tile::K : e / LINES;
    }
    template <class Load> KLIB_DEVICE void load(const Load &load, int line0, int k0)
    {
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++) {
            int line, k;
            place<Load::ALONG_K>(i, &line, &k);
            x[i] = load(line0 + line, k0 + k);
        }
    }
};

/*
 * Sums over k of a(row, k) b(column, k) for the block whose first element is (row0, column0);
 * store(row, column, sum) gets each of them, also those outside of C.
 */
template <class Tile, class T, class S, class LoadA, class LoadB, class Store>
KLIB_DEVICE void gemm_block(int row0, int column0, int k, const LoadA &a, const LoadB &b,
                            const Store &store)
{
    using product = product_of<Tile, T, S>;
    __shared__ __align__(16) typename product::memory memory;
    slice<Tile, Tile::M, T> next_a;
    slice<Tile, Tile::N, T> next_b;
    product p;

    p.clear();
    next_a.load(a, row0, 0);
    next_b.load(b, column0, 0);
    for (int k0 = 0; k0 < k; k0 += Tile::K) {
        int line, at;
        __syncthreads(); /* nobody multiplies the slice before any more */
#pragma unroll
        for (int i = 0; i < next_a.ELEMENTS; i++) {
            next_a.template place<LoadA::ALONG_K>(i, &line, &at);
            product::put_a(memory.a, line, at, next_a.x[i]);
        }
#pragma unroll
        for (int i = 0; i < next_b.ELEMENTS; i++) {
            next_b.template place<LoadB::ALONG_K>(i, &line, &at);
            product::put_b(memory.b, line, at, next_b.x[i]);
        }
        __syncthreads();
        if (k0 + Tile::K < k) {
            next_a.load(a, row0, k0 + Tile::K);
            next_b.load(b, column0, k0 + Tile::K);
        }
        p.multiply(memory.a, memory.b);
    }
    p.each([&](int row, int column, S &sum) { store(row0 + row, column0 + column, sum); });
}

/* ---- matrices */

/* A matrix as an operand, lines x k: element (line, k) at line + k ld, or ALONG_K at line ld + k.
 */
template <class T, bool ALONG_K_> struct matrix_load {
    static constexpr bool ALONG_K = ALONG_K_;
    const T *at;
    i64 ld;
    int lines, k;

    KLIB_DEVICE T operator()(int line, int kk) const
    {
        return line < lines && kk < k ? at[ALONG_K ? line * ld + kk : line + kk * ld] : T(0);
    }
};

enum class activation { NONE, RELU, GELU, GELU_TANH, SILU };

KLIB_DEVICE float gelu_exact(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}
KLIB_DEVICE float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

template <activation ACT, class F> KLIB_DEVICE F activate(F x)
{
    if constexpr (ACT == activation::RELU)
        return x > F(0) ? x : F(0);
    else if constexpr (ACT == activation::GELU)
        return F(gelu_exact(float(x)));
    else if constexpr (ACT == activation::GELU_TANH)
        return F(gelu_tanh(float(x)));
    else if constexpr (ACT == activation::SILU)
        return F(float(x) / (1.0f + expf(-float(x))));
    else
        return x;
}

/* Of factors: ints stay whole when the result is ints. */
template <class C, class S>
using factor_of =
    typename choice<is_same<S, int>::value && !is_same<C, int>::value, float, S>::type;

/*
 * C = act(alpha op(A) op(B) + beta C + bias) + residual, by columns as BLAS has it: A is m x k at
 * a[i + j lda], or with op T k x m. Products of matrices by rows are those of the transposed ones,
 * in the other order. bias has m elements, one for each row of C; bias and residual may be NULL.
 */
template <class T, class C, class S = sum_of<T>> struct gemm_args {
    using factor = factor_of<C, S>;
    int m, n, k;
    const T *a, *b;
    C *c;
    i64 lda, ldb, ldc;
    i64 step_a, step_b, step_c;     /* elements from one problem of a batch to the next */
    const T *const *as, *const *bs; /* NULL; or, in place of a, b and c: of each problem */
    C *const *cs;
    factor alpha, beta;
    const C *bias, *residual; /* residual lies as C does */
};

template <activation ACT, class T, class C, class S> struct gemm_store {
    const gemm_args<T, C, S> &p;
    C *c;
    const C *residual;

    KLIB_DEVICE void operator()(int row, int column, S sum) const
    {
        using F = factor_of<C, S>;
        if (row >= p.m || column >= p.n)
            return;
        i64 at = row + column * p.ldc;
        F x = p.alpha * F(sum);
        if (p.beta != F(0)) /* else C may be anything */
            x = x + p.beta * F(widen(c[at]));
        if (p.bias)
            x = x + F(widen(p.bias[row]));
        x = activate<ACT>(x);
        if (residual)
            x = x + F(widen(residual[at]));
        c[at] = narrow<C>(x);
    }
};

template <class Tile, bool TA, bool TB, activation ACT, class T, class C, class S>
KLIB_DEVICE void gemm_problem(const gemm_args<T, C, S> &p, int problem, int row, int column)
{
    const T *a = p.as ? p.as[problem] : p.a + problem * p.step_a;
    const T *b = p.bs ? p.bs[problem] : p.b + problem * p.step_b;
    C *c = p.cs ? p.cs[problem] : p.c + problem * p.step_c;
    const C *residual = p.residual ? p.residual + problem * p.step_c : nullptr;

    gemm_block<Tile, T, S>(row, column, p.k, matrix_load<T, TA>{a, p.lda, p.m, p.k},
                           matrix_load<T, !TB>{b, p.ldb, p.n, p.k},
                           gemm_store<ACT, T, C, S>{p, c, residual});
}

/*
 * A product, or a batch of products of one size: strided, or by lists of addresses.
 * Limits: sizes are ints; batches up to 65,535.
 */
template <class Tile, bool TA, bool TB, activation ACT = activation::NONE, class T, class C,
          class S>
__global__ void __launch_bounds__(Tile::THREADS) gemm(gemm_args<T, C, S> p)
{
    gemm_problem<Tile, TA, TB, ACT>(p, (int)blockIdx.z, (int)blockIdx.x * Tile::M,
                                    (int)blockIdx.y * Tile::N);
}

template <class Tile> dim3 gemm_grid(int m, int n, int batch = 1)
{
    return dim3((unsigned)ceil_div(m, Tile::M), (unsigned)ceil_div(n, Tile::N), (unsigned)batch);
}

/*
 * Products of several sizes at once. first_tile[g] is the number of blocks that the problems before
 * g have, and first_tile[groups] that of all, which is the grid.
 */
template <class Tile, bool TA, bool TB, activation ACT = activation::NONE, class T, class C,
          class S>
__global__ void __launch_bounds__(Tile::THREADS)
    gemm_grouped(const gemm_args<T, C, S> *problems, const int *first_tile, int groups)
{
    int low = 0, high = groups; /* first_tile[low] <= the block < first_tile[high] */

    while (high - low > 1) {
        int middle = (low + high) / 2;
        (first_tile[middle] <= (int)blockIdx.x ? low : high) = middle;
    }
    const gemm_args<T, C, S> p = problems[low];
    int at = (int)blockIdx.x - first_tile[low], rows = (int)ceil_div(p.m, Tile::M);
    gemm_problem<Tile, TA, TB, ACT>(p, 0, at % rows * Tile::M, at / rows * Tile::N);
}

} // namespace klib

#endif
