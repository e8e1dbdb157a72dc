/* Factors and eigenvalues: what they are multiplied together is the matrix. */
#include <gemm.cuh>
#include <solve.cuh>

#include "check.h"

using namespace klib;

template <class R> constexpr double U = sizeof(R) == 4 ? 0x1p-24 : 0x1p-53;

/* A matrix of doubles, by columns. */
struct matrix {
    int m, n;
    std::vector<double> at;

    matrix(int m, int n) : m(m), n(n), at((size_t)m * n)
    {
    }
    template <class R> matrix(int m, int n, const R *x, i64 ld) : matrix(m, n)
    {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                (*this)(i, j) = x[i + j * ld];
    }
    double &operator()(int i, int j)
    {
        return at[i + (size_t)j * m];
    }
    double operator()(int i, int j) const
    {
        return at[i + (size_t)j * m];
    }
    matrix operator*(const matrix &b) const
    {
        matrix c(m, b.n);
        for (int j = 0; j < b.n; j++)
            for (int k = 0; k < n; k++)
                for (int i = 0; i < m; i++)
                    c(i, j) += (*this)(i, k) * b(k, j);
        return c;
    }
    matrix transposed() const
    {
        matrix t(n, m);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                t(j, i) = (*this)(i, j);
        return t;
    }
    double norm() const
    {
        double sum = 0;
        for (double x : at)
            sum += x * x;
        return sqrt(sum);
    }
    double distance(const matrix &b) const
    {
        matrix d = *this;
        for (size_t i = 0; i < at.size(); i++)
            d.at[i] -= b.at[i];
        return d.norm();
    }
};

static matrix triangle(const matrix &a, bool upper, bool unit, int m, int n)
{
    matrix t(m, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            t(i, j) = i == j ? (unit ? 1 : a(i, j)) : (upper ? i < j : i > j) ? a(i, j) : 0;
    return t;
}

static void within(double error, double bound, const char *name, const char *type)
{
    if (!(error <= bound))
        printf("# the error is %.3g, may be %.3g\n", error, bound);
    ok(error <= bound, "%s, %s", name, type);
}

template <class R> static void lu(const char *type, int m, int n)
{
    const int batch = 2, ld = m + 3, k = least(m, n);
    array<R> a(batch * ld * n), b(batch * ld * 2);
    array<int> pivots(batch * k), failed(batch);
    fill(a);
    fill(b);
    matrix_batch<R> ma = {a, ld, ld * n}, mb = {b, ld, ld * 2};
    std::vector<R> old(a.at, a.at + a.n), right(b.at, b.at + b.n);
    lu_block<<<batch, SOLVE_THREADS>>>(m, n, ma, pivots.at, failed.at);
    finish("LU");
    double error = 0, bound = 0;
    for (int i = 0; i < batch; i++) {
        matrix f(m, n, a + i * ld * n, ld), want(m, n, &old[i * ld * n], ld);
        matrix l = triangle(f, false, true, m, k), u = triangle(f, true, false, k, n);
        for (int j = 0; j < k; j++)
            for (int c = 0; c < n; c++)
                std::swap(want(j, c), want(pivots[i * k + j], c));
        error = fmax(error, want.distance(l * u));
        bound = fmax(bound, 1.1 * n * U<R> * l.norm() * u.norm());
    }
    within(error, bound, "P A = L U", type);
    ok(!failed[0] && !failed[1], "nothing failed");
    if (m != n)
        return;
    swap_rows<<<dim3(batch, 1), SOLVE_THREADS>>>(n, 2, pivots.at, mb);
    triangular_solve<false, true, false><<<dim3(batch, 1), SOLVE_THREADS>>>(n, 2, matrix_batch<const R>{a, ld, ld * n}, mb);
    triangular_solve<true, false, false><<<dim3(batch, 1), SOLVE_THREADS>>>(n, 2, matrix_batch<const R>{a, ld, ld * n}, mb);
    finish("a solution");
    for (int i = 0; i < batch; i++) {
        matrix x(n, 2, b + i * ld * 2, ld), whole(m, n, &old[i * ld * n], ld), want(n, 2, &right[i * ld * 2], ld);
        within(want.distance(whole * x), 30.0 * n * U<R> * whole.norm() * x.norm(), "A X = B", type);
    }
    for (int j = 0; j < n; j++)
        a.at[j + 2 * ld] = 0;
    lu_block<<<batch, SOLVE_THREADS>>>(m, n, ma, pivots.at, failed.at);
    finish("LU");
    ok(failed[0] == 3 && failed[1] == 0, "a column of zeros has no pivot");
}

/* Blocked, as large matrices are: a panel, a triangle, and a product. */
template <class R> static void cholesky(const char *type, int n, int block)
{
    array<R> a(n * n);
    array<int> failed(1);
    matrix want(n, n);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            a.at[i + j * n] = a.at[j + i * n] = (R)(i == j ? n : random_number());
    want = matrix(n, n, a.at, n);
    using Tile = tile_for<R>;
    for (int j = 0; j < n; j += block) {
        int own = least(block, n - j), rest = n - j - own;
        R *panel = a + j + j * n;
        cholesky_block<<<1, SOLVE_THREADS>>>(own, matrix_batch<R>{panel, n, 0}, failed.at);
        if (!rest)
            break;
        /* L21 = A21 L11^-T: its transpose is solved for, in the unused upper half. */
        finish("a panel");
        for (int r = 0; r < rest; r++)
            for (int c = 0; c < own; c++)
                a.at[j + c + (j + own + r) * n] = a[j + own + r + (j + c) * n];
        R *upper = panel + own * n, *trailing = panel + own + own * n;
        triangular_solve<false, false, false><<<1, SOLVE_THREADS>>>(own, rest, matrix_batch<const R>{panel, n, 0}, matrix_batch<R>{upper, n, 0});
        gemm_args<R, R> p = {rest, rest, own, upper, upper, trailing, n, n, n, 0, 0, 0, nullptr, nullptr, nullptr, -1, 1, nullptr, nullptr};
        gemm<Tile, true, false><<<gemm_grid<Tile>(rest, rest), Tile::THREADS>>>(p);
        finish("a trailing matrix");
        for (int r = 0; r < rest; r++)
            for (int c = 0; c < own; c++)
                a.at[j + own + r + (j + c) * n] = a[j + c + (j + own + r) * n];
    }
    finish("Cholesky");
    matrix l = triangle(matrix(n, n, a.at, n), false, false, n, n);
    within(want.distance(l * l.transposed()), 1.1 * (n + 1) * U<R> * l.norm() * l.norm(), "A = L L^T, blocked", type);
    ok(!failed[0], "it is positive");
    a.at[0] = 1;
    a.at[1] = 2;
    a.at[1 + n] = 1;
    cholesky_block<<<1, SOLVE_THREADS>>>(2, matrix_batch<R>{a, n, 0}, failed.at);
    finish("Cholesky");
    ok(failed[0] == 2, "another one is not");
}

template <class R> static void qr(const char *type, int m, int n)
{
    const int k = least(m, n);
    array<R> a(m * n), taus(k), r(m * n), q(m * m);
    fill(a);
    matrix want(m, n, a.at, m);
    qr_block<<<1, SOLVE_THREADS>>>(m, n, matrix_batch<R>{a, m, 0}, taus.at);
    finish("QR");
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= least(j, m - 1); i++)
            r.at[i + j * m] = a[i + j * m];
    for (int i = 0; i < m; i++)
        q.at[i + i * m] = 1;
    qr_apply<false><<<1, SOLVE_THREADS>>>(m, k, n, matrix_batch<const R>{a, m, 0}, taus.at, matrix_batch<R>{r, m, 0});
    qr_apply<true><<<1, SOLVE_THREADS>>>(m, k, m, matrix_batch<const R>{a, m, 0}, taus.at, matrix_batch<R>{q, m, 0});
    finish("Q");
    within(want.distance(matrix(m, n, r.at, m)), 20 * n * m * U<R> * want.norm() / 4, "A = Q R", type);
    matrix mq(m, m, q.at, m), one(m, m);
    for (int i = 0; i < m; i++)
        one(i, i) = 1;
    within(one.distance(mq * mq.transposed()), 5 * m * U<R> * sqrt(m), "Q is orthogonal", type);
}

template <class R> static void eigen(const char *type, int n)
{
    array<R> a(n * n), v(n * n), values(n), left(1);
    array<rotation<R>> rotations(n / 2 + 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            a.at[i + j * n] = a.at[j + i * n] = (R)random_number();
    matrix want(n, n, a.at, n), d(n, n), one(n, n);
    jacobi_eigen<<<1, SOLVE_THREADS>>>(n, matrix_batch<R>{a, n, 0}, matrix_batch<R>{v, n, 0}, values.at, rotations.at, 15, left.at);
    finish("eigenvalues");
    for (int i = 0; i < n; i++) {
        d(i, i) = values[i];
        one(i, i) = 1;
    }
    matrix mv(n, n, v.at, n);
    within(want.distance(mv * d * mv.transposed()), 20 * n * U<R> * want.norm(), "A = V D V^T", type);
    within(one.distance(mv * mv.transposed()), 20 * n * U<R>, "V is orthogonal", type);
}

template <class R> static void svd(const char *type, int m, int n)
{
    array<R> a(m * n), v(n * n), values(n), left(1);
    fill(a);
    for (int i = 0; i < m; i++) /* of rank n - 1 */
        a.at[i + m] = 2 * a[i];
    matrix want(m, n, a.at, m), s(n, n);
    jacobi_svd<<<1, SOLVE_THREADS>>>(m, n, matrix_batch<R>{a, m, 0}, matrix_batch<R>{v, n, 0}, values.at, 30, left.at);
    finish("singular values");
    int small = 0;
    for (int i = 0; i < n; i++) {
        s(i, i) = values[i];
        small += values[i] < 10 * n * U<R> * want.norm();
    }
    within(want.distance(matrix(m, n, a.at, m) * s * matrix(n, n, v.at, n).transposed()), 20 * n * U<R> * want.norm(), "A = U S V^T", type);
    ok(small == 1, "one singular value is 0");
}

int main()
{
    lu<float>("f32", 40, 40);
    lu<double>("f64", 33, 21);
    cholesky<float>("f32", 60, 24);
    cholesky<double>("f64", 20, 20);
    qr<float>("f32", 45, 20);
    qr<double>("f64", 12, 15);
    eigen<float>("f32", 25);
    eigen<double>("f64", 16);
    svd<float>("f32", 30, 13);
    svd<double>("f64", 12, 12);
    return done();
}
