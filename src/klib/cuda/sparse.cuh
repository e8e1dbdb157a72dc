/*
 * Products of a sparse matrix in compressed rows (CSR) with vectors and matrices.
 *
 * Algorithm: a warp has a row, Bell and Garland, Implementing sparse matrix-vector multiplication
 * on throughput-oriented processors, 2009. Rows without elements give 0, or beta y. Error: g(n / 32
 * + 6) |A| |x| + v, where n are the elements of the row; of matrices g(n + 1). Limits: rows and
 * columns are ints; indices are not checked.
 */
#ifndef KLIB_SPARSE_CUH
#define KLIB_SPARSE_CUH

#include "base.cuh"

namespace klib {

constexpr int SPARSE_THREADS = 256;

/* A warp has a row. */
inline unsigned sparse_blocks(int n_rows)
{
    return (unsigned)ceil_div(n_rows, SPARSE_THREADS / WARP);
}

/* Elements of row r are [rows[r], rows[r + 1]). */
template <class T, class I> struct csr_matrix {
    int n_rows;
    const I *rows, *columns;
    const T *values;
};

/* y = alpha A x + beta y. sparse_blocks(n_rows) blocks. */
template <class T, class I>
__global__ void __launch_bounds__(SPARSE_THREADS)
    spmv(csr_matrix<T, I> a, const T *x, T *y, sum_of<T> alpha, sum_of<T> beta)
{
    using S = sum_of<T>;
    int row = (int)(blockIdx.x * SPARSE_THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    S sum = S(0);

    if (row >= a.n_rows)
        return;
    for (I i = a.rows[row] + lane; i < a.rows[row + 1]; i += WARP)
        sum = multiply_add(widen(a.values[i]), widen(x[a.columns[i]]), sum);
    sum = alpha * warp_reduce(sum, add_op<S>());
    if (lane == 0)
        y[row] = narrow<T>(beta == S(0) ? sum : multiply_add(beta, widen(y[row]), sum));
}

/*
 * C = alpha A B + beta C, of matrices by rows: B has n columns, its rows are ldb apart. A lane has
 * a column. Grid: sparse_blocks(n_rows) x ceil_div(n, 32).
 */
template <class T, class I>
__global__ void __launch_bounds__(SPARSE_THREADS)
    spmm(csr_matrix<T, I> a, int n, const T *b, i64 ldb, T *c, i64 ldc, sum_of<T> alpha,
         sum_of<T> beta)
{
    using S = sum_of<T>;
    int row = (int)(blockIdx.x * SPARSE_THREADS + threadIdx.x) / WARP;
    int column = (int)(blockIdx.y * WARP + threadIdx.x % WARP);
    S sum = S(0);

    if (row >= a.n_rows || column >= n)
        return;
    for (I i = a.rows[row]; i < a.rows[row + 1]; i++)
        sum = multiply_add(widen(a.values[i]), widen(b[a.columns[i] * ldb + column]), sum);
    T *to = &c[row * ldc + column];
    *to = narrow<T>(beta == S(0) ? alpha * sum : multiply_add(beta, widen(*to), alpha * sum));
}

/* Values of A = alpha (X Y^T) where A has elements; X and Y by rows of k. Blocks as of spmv(). */
template <class T, class I>
__global__ void __launch_bounds__(SPARSE_THREADS)
    sddmm(csr_matrix<T, I> a, T *values, int k, const T *x, i64 ldx, const T *y, i64 ldy,
          sum_of<T> alpha)
{
    using S = sum_of<T>;
    int row = (int)(blockIdx.x * SPARSE_THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;

    if (row >= a.n_rows)
        return;
    for (I i = a.rows[row]; i < a.rows[row + 1]; i++) {
        S sum = S(0);
        for (int j = lane; j < k; j += WARP)
            sum = multiply_add(widen(x[row * ldx + j]), widen(y[a.columns[i] * ldy + j]), sum);
        sum = warp_reduce(sum, add_op<S>());
        if (lane == 0)
            values[i] = narrow<T>(alpha * sum);
    }
}

} // namespace klib

#endif
