/*
 * Factors and eigenvalues of dense matrices, by blocks: a matrix is a block's, batches are grids.
 * They are for batches of small matrices, and the panels of large ones: a blocked LU or Cholesky is
 * a panel here, triangular_solve(), and gemm.cuh for the rest.
 *
 * Matrices lie by columns, element (i, j) at i + j ld, `step` elements from one to the next; R is
 * float or double. Algorithms and backward errors (Higham): LU with partial pivoting, |A - LU| <=
 * g(n) |L| |U|; Cholesky, g(n + 1) |L| |L^T|; Householder QR, |A - QR|_F <= 20 n g(m) |A|_F;
 * eigenvalues by Jacobi's rotations in parallel order, Brent and Luk, The solution of
 * singular-value and symmetric eigenvalue problems on multiprocessor arrays, 1985; singular values
 * by one-sided rotations, Hestenes, 1958: both within 20 n u |A|_F. Grid: batch; blocks of
 * SOLVE_THREADS. Limits: sizes are ints; time grows with n^3 of one block.
 */
#ifndef KLIB_SOLVE_CUH
#define KLIB_SOLVE_CUH

#include "base.cuh"
#include "reduce.cuh"

namespace klib {

constexpr int SOLVE_THREADS = 256, SOLVE_WARPS = SOLVE_THREADS / WARP;

template <class R> struct matrix_batch {
    R *at;
    i64 ld, step;

    KLIB_DEVICE R *own() const
    {
        return at + blockIdx.x * step;
    }
};

/*
 * P A = L U in place, A is m x n. pivots[j], from 0, is the row that row j was swapped with.
 * *failed is 0, or 1 + the first column without a pivot, which stays as it is.
 */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    lu_block(int m, int n, matrix_batch<R> batch, int *pivots, int *failed)
{
    R *a = batch.own();
    int first_failed = 0;

    pivots += (i64)blockIdx.x * least(m, n);
    for (int j = 0; j < least(m, n); j++) {
        placed<R> best = argmax_op<R>::identity();
        for (int i = j + (int)threadIdx.x; i < m; i += SOLVE_THREADS)
            best = argmax_op<R>()(best, {R(fabs(a[i + j * batch.ld])), 0, i});
        best = block_reduce(best, argmax_op<R>());
        int pivot = (int)best.place;
        if (threadIdx.x == 0)
            pivots[j] = pivot;
        if (best.value == R(0)) {
            first_failed = first_failed ? first_failed : j + 1;
            continue;
        }
        for (int c = threadIdx.x; pivot != j && c < n; c += SOLVE_THREADS) {
            R x = a[j + c * batch.ld];
            a[j + c * batch.ld] = a[pivot + c * batch.ld];
            a[pivot + c * batch.ld] = x;
        }
        __syncthreads();
        R diagonal = a[j + j * batch.ld];
        for (int i = j + 1 + (int)threadIdx.x; i < m; i += SOLVE_THREADS)
            a[i + j * batch.ld] /= diagonal;
        __syncthreads();
        for (int c = j + 1 + (int)threadIdx.x / WARP; c < n; c += SOLVE_WARPS)
            for (int i = j + 1 + (int)threadIdx.x % WARP; i < m; i += WARP)
                a[i + c * batch.ld] =
                    multiply_add(-a[i + j * batch.ld], a[j + c * batch.ld], a[i + c * batch.ld]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        failed[blockIdx.x] = first_failed;
}

/*
 * A = L L^T, in and over the lower half. *failed is 0, or the order of the first leading minor that
 * is not positive.
 */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    cholesky_block(int n, matrix_batch<R> batch, int *failed)
{
    R *a = batch.own();

    for (int j = 0; j < n; j++) {
        R diagonal = a[j + j * batch.ld];
        if (!(diagonal > R(0))) {
            if (threadIdx.x == 0)
                failed[blockIdx.x] = j + 1;
            return;
        }
        diagonal = R(sqrt(diagonal));
        __syncthreads();
        for (int i = j + (int)threadIdx.x; i < n; i += SOLVE_THREADS)
            a[i + j * batch.ld] = i == j ? diagonal : a[i + j * batch.ld] / diagonal;
        __syncthreads();
        for (int c = j + 1 + (int)threadIdx.x / WARP; c < n; c += SOLVE_WARPS)
            for (int i = c + (int)threadIdx.x % WARP; i < n; i += WARP)
                a[i + c * batch.ld] =
                    multiply_add(-a[i + j * batch.ld], a[c + j * batch.ld], a[i + c * batch.ld]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        failed[blockIdx.x] = 0;
}

/*
 * X of A X = B over B, which has n rows and `count` columns; A is a triangle, UPPER or lower, UNIT:
 * with ones that are not stored; TRANSPOSED: of A^T. A thread has a column, so the grid is batch x
 * ceil_div(count, SOLVE_THREADS). |error| <= g(n) |A^-1| |A| |X|.
 */
template <bool UPPER, bool UNIT, bool TRANSPOSED, class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    triangular_solve(int n, int count, matrix_batch<const R> batch, matrix_batch<R> right)
{
    constexpr bool FROM_LAST = UPPER != TRANSPOSED;
    const R *a = batch.own();
    int column = (int)(blockIdx.y * SOLVE_THREADS + threadIdx.x);
    R *x = right.own() + column * right.ld;

    if (column >= count)
        return;
    for (int k = 0; k < n; k++) {
        int i = FROM_LAST ? n - 1 - k : k;
        R sum = x[i];
        for (int j = FROM_LAST ? i + 1 : 0; j < (FROM_LAST ? n : i); j++)
            sum =
                multiply_add(-(TRANSPOSED ? a[j + i * batch.ld] : a[i + j * batch.ld]), x[j], sum);
        x[i] = UNIT ? sum : sum / a[i + i * batch.ld];
    }
}

/* B's rows are swapped as pivots[0 ... n) say; a thread has a column, as above. */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    swap_rows(int n, int count, const int *pivots, matrix_batch<R> right)
{
    int column = (int)(blockIdx.y * SOLVE_THREADS + threadIdx.x);
    R *x = right.own() + column * right.ld;

    for (int i = 0; column < count && i < n; i++) {
        int pivot = pivots[(i64)blockIdx.x * n + i];
        R old = x[i];
        x[i] = x[pivot];
        x[pivot] = old;
    }
}

/*
 * A = Q R in place, A is m x n: R in the upper half, reflectors v below it (v[j] = 1 is not
 * stored), Q = H(0) H(1) ..., H = I - tau v v^T, as LAPACK has them.
 */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    qr_block(int m, int n, matrix_batch<R> batch, R *taus)
{
    R *a = batch.own();
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    add_op<R> add;

    taus += (i64)blockIdx.x * least(m, n);
    for (int j = 0; j < least(m, n); j++) {
        R *v = a + j * batch.ld, rest = R(0), first = v[j];
        for (int i = j + 1 + (int)threadIdx.x; i < m; i += SOLVE_THREADS)
            rest = multiply_add(v[i], v[i], rest);
        rest = block_reduce(rest, add);
        R beta = -R(copysign(sqrt(multiply_add(first, first, rest)), first));
        R tau = rest == R(0) ? R(0) : (beta - first) / beta;
        __syncthreads();
        for (int i = j + 1 + (int)threadIdx.x; tau != R(0) && i < m; i += SOLVE_THREADS)
            v[i] /= first - beta;
        if (threadIdx.x == 0) {
            taus[j] = tau;
            v[j] = tau == R(0) ? first : beta;
        }
        __syncthreads();
        for (int c = j + 1 + warp; c < n; c += SOLVE_WARPS) {
            R *x = a + c * batch.ld, sum = lane == 0 ? x[j] : R(0);
            for (int i = j + 1 + lane; i < m; i += WARP)
                sum = multiply_add(v[i], x[i], sum);
            sum = tau * warp_reduce(sum, add);
            if (lane == 0)
                x[j] -= sum;
            for (int i = j + 1 + lane; i < m; i += WARP)
                x[i] = multiply_add(-sum, v[i], x[i]);
        }
        __syncthreads();
    }
}

/* B = Q B, or Q^T B, of the reflectors that qr_block() leaves; B has m rows. A warp has a column.
 */
template <bool TRANSPOSED, class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    qr_apply(int m, int reflectors, int count, matrix_batch<const R> batch, const R *taus,
             matrix_batch<R> right)
{
    const R *a = batch.own();
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

    taus += (i64)blockIdx.x * reflectors;
    for (int c = warp; c < count; c += SOLVE_WARPS) {
        R *x = right.own() + c * right.ld;
        for (int k = 0; k < reflectors; k++) {
            int j = TRANSPOSED ? k : reflectors - 1 - k;
            const R *v = a + j * batch.ld;
            R sum = lane == 0 ? x[j] : R(0);
            for (int i = j + 1 + lane; i < m; i += WARP)
                sum = multiply_add(v[i], x[i], sum);
            sum = taus[j] * warp_reduce(sum, add_op<R>());
            if (lane == 0)
                x[j] -= sum;
            for (int i = j + 1 + lane; i < m; i += WARP)
                x[i] = multiply_add(-sum, v[i], x[i]);
            __syncwarp();
        }
    }
}

/* ---- Jacobi's rotations */

/* Pair `i` of round `round` among n players, an even number: each meets each once in n - 1 rounds.
 */
KLIB_DEVICE void round_robin(int n, int round, int i, int *p, int *q)
{
    int a = i ? (round + i) % (n - 1) : n - 1, b = (round + n - 1 - i) % (n - 1);
    *p = least(a, b);
    *q = most(a, b);
}

template <class R> struct rotation {
    R c, s;

    /* That makes the off-diagonal element of (pp, pq; pq, qq) 0. */
    static KLIB_DEVICE rotation of(R pp, R pq, R qq)
    {
        if (pq == R(0))
            return {R(1), R(0)};
        R t = (qq - pp) / (R(2) * pq);
        t = R(copysign(R(1), t)) / (R(fabs(t)) + R(sqrt(multiply_add(t, t, R(1)))));
        R c = R(1) / R(sqrt(multiply_add(t, t, R(1))));
        return {c, t * c};
    }
    KLIB_DEVICE void turn(R &p, R &q) const
    {
        R x = p;
        p = multiply_add(c, x, -(s * q));
        q = multiply_add(s, x, c * q);
    }
};

/*
 * Eigenvalues of symmetric A, which becomes diagonal: values[i], in no order, and columns of
 * `vectors`. `rotations` has n / 2 + 1 for each matrix. At most `sweeps` over all pairs (15 are
 * enough); *left is the sum of squares off the diagonal over |A|_F^2.
 */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    jacobi_eigen(int n, matrix_batch<R> batch, matrix_batch<R> vectors, R *values,
                 rotation<R> *rotations, int sweeps, R *left)
{
    R *a = batch.own(), *v = vectors.own(), off = R(0), all = R(0);
    int players = n + n % 2, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    add_op<R> add;

    rotations += (i64)blockIdx.x * (n / 2 + 1);
    for (i64 e = threadIdx.x; e < (i64)n * n; e += SOLVE_THREADS)
        v[e % n + e / n * vectors.ld] = e % n == e / n ? R(1) : R(0);
    for (int sweep = 0; sweep <= sweeps; sweep++) {
        off = all = R(0);
        __syncthreads();
        for (i64 e = threadIdx.x; e < (i64)n * n; e += SOLVE_THREADS) {
            R x = a[e % n + e / n * batch.ld];
            all = multiply_add(x, x, all);
            off = e % n == e / n ? off : multiply_add(x, x, off);
        }
        off = block_reduce(off, add);
        all = block_reduce(all, add);
        R small = R(sizeof(R) == 4 ? 0x1p-24 : 0x1p-53) * R(0.25);
        if (off <= small * small * all || sweep == sweeps)
            break;
        for (int round = 0; round < players - 1; round++) {
            int p, q;
            for (int i = threadIdx.x; i < players / 2; i += SOLVE_THREADS) {
                round_robin(players, round, i, &p, &q);
                if (q < n)
                    rotations[i] = rotation<R>::of(a[p + p * batch.ld], a[p + q * batch.ld],
                                                   a[q + q * batch.ld]);
            }
            __syncthreads();
            for (int i = warp; i < players / 2; i += SOLVE_WARPS) { /* columns */
                round_robin(players, round, i, &p, &q);
                for (int r = lane; q < n && r < n; r += WARP) {
                    rotations[i].turn(a[r + p * batch.ld], a[r + q * batch.ld]);
                    rotations[i].turn(v[r + p * vectors.ld], v[r + q * vectors.ld]);
                }
            }
            __syncthreads();
            for (int i = warp; i < players / 2; i += SOLVE_WARPS) { /* rows */
                round_robin(players, round, i, &p, &q);
                for (int c = lane; q < n && c < n; c += WARP)
                    rotations[i].turn(a[p + c * batch.ld], a[q + c * batch.ld]);
            }
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < n; i += SOLVE_THREADS)
        values[(i64)blockIdx.x * n + i] = a[i + i * batch.ld];
    if (threadIdx.x == 0)
        left[blockIdx.x] = all > R(0) ? off / all : R(0);
}

/*
 * Singular values of A, m x n with m >= n: A's columns become U S, and are divided by values[i], in
 * no order, where that is not 0; `vectors` is V. At most `sweeps`; *left is the largest cosine
 * between two columns before the last one.
 */
template <class R>
__global__ void __launch_bounds__(SOLVE_THREADS)
    jacobi_svd(int m, int n, matrix_batch<R> batch, matrix_batch<R> vectors, R *values, int sweeps,
               R *left)
{
    R *a = batch.own(), *v = vectors.own(), worst = R(0);
    int players = n + n % 2, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    add_op<R> add;

    for (i64 e = threadIdx.x; e < (i64)n * n; e += SOLVE_THREADS)
        v[e % n + e / n * vectors.ld] = e % n == e / n ? R(1) : R(0);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        worst = R(0);
        for (int round = 0; round < players - 1; round++) {
            __syncthreads();
            for (int i = warp; i < players / 2; i += SOLVE_WARPS) {
                int p, q;
                round_robin(players, round, i, &p, &q);
                if (q >= n)
                    continue;
                R *x = a + p * batch.ld, *y = a + q * batch.ld, xx = R(0), xy = R(0), yy = R(0);
                for (int r = lane; r < m; r += WARP) {
                    xx = multiply_add(x[r], x[r], xx);
                    xy = multiply_add(x[r], y[r], xy);
                    yy = multiply_add(y[r], y[r], yy);
                }
                xx = warp_reduce(xx, add);
                xy = warp_reduce(xy, add);
                yy = warp_reduce(yy, add);
                R scale = R(sqrt(xx)) * R(sqrt(yy));
                if (scale > R(0))
                    worst = most(worst, R(fabs(xy)) / scale);
                rotation<R> turn = rotation<R>::of(xx, xy, yy);
                for (int r = lane; r < m; r += WARP)
                    turn.turn(x[r], y[r]);
                for (int r = lane; r < n; r += WARP)
                    turn.turn(v[r + p * vectors.ld], v[r + q * vectors.ld]);
            }
        }
        worst = block_reduce(worst, max_op<R>());
        if (worst <= R(sizeof(R) == 4 ? 0x1p-22 : 0x1p-51))
            break;
    }
    __syncthreads();
    for (int c = warp; c < n; c += SOLVE_WARPS) {
        R *x = a + c * batch.ld, sum = R(0);
        for (int r = lane; r < m; r += WARP)
            sum = multiply_add(x[r], x[r], sum);
        sum = R(sqrt(warp_reduce(sum, add)));
        for (int r = lane; sum > R(0) && r < m; r += WARP)
            x[r] /= sum;
        if (lane == 0)
            values[(i64)blockIdx.x * n + c] = sum;
    }
    if (threadIdx.x == 0)
        left[blockIdx.x] = worst;
}

} // namespace klib

#endif
