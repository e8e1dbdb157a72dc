/* Sorting, the largest k, random numbers, and products of sparse matrices, against plain code. */
#include <algorithm>
#include <numeric>

#include <random.cuh>
#include <reduce.cuh>
#include <sort.cuh>
#include <sparse.cuh>

#include "check.h"

using namespace klib;

template <class T> static T key(int i);
template <> float key(int i)
{
    return i % 50 == 0 ? -0.0f : i % 97 == 0 ? (i % 2 ? INFINITY : NAN) : (float)random_number();
}
template <> int key(int)
{
    return random_below(500) - 250;
}
template <> unsigned key(int)
{
    return (unsigned)random_below(1 << 30) * 4u;
}
template <> double key(int i)
{
    return i % 50 ? random_number() : 0.0;
}
template <> __half key(int)
{
    return __float2half_rn((float)random_number());
}

template <class T> static void sorts(const char *name, int n, bool descending)
{
    int blocks = (int)ceil_div(n, SORT_BLOCK);
    array<T> a(n), b(n);
    array<int> va(n), vb(n), counts(SORT_DIGITS * blocks);
    std::vector<int> order(n);
    for (int i = 0; i < n; i++) {
        a.at[i] = key<T>(i);
        va.at[i] = i;
    }
    std::vector<double> keys;
    for (int i = 0; i < n; i++)
        keys.push_back(value(a[i]));
    std::iota(order.begin(), order.end(), 0);
    auto before = [&](int i, int j) {
        bool i_nan = keys[i] != keys[i], j_nan = keys[j] != keys[j];
        if (i_nan || j_nan)
            return !i_nan && j_nan;
        return keys[i] < keys[j] || (keys[i] == 0 && keys[j] == 0 && std::signbit(keys[i]) && !std::signbit(keys[j]));
    };
    std::sort(order.begin(), order.end(), [&](int i, int j) {
        bool first = descending ? before(j, i) : before(i, j), second = descending ? before(i, j) : before(j, i);
        return first || (!second && i < j);
    });
    T *keys_in = a, *keys_out = b;
    int *in = va, *out = vb;
    for (int shift = 0; shift < radix_bits<T>::BITS; shift += 8) {
        radix_count<<<blocks, SORT_THREADS>>>(keys_in, n, shift, descending, counts.at);
        scan_rows<add_op<int>, true><<<1, REDUCE_THREADS>>>(counts.at, counts.at, SORT_DIGITS * blocks, SORT_DIGITS * blocks, (const int *)nullptr);
        radix_scatter<<<blocks, SORT_THREADS>>>(keys_in, in, n, shift, descending, counts.at, keys_out, out);
        std::swap(keys_in, keys_out);
        std::swap(in, out);
    }
    finish(name);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += in[i] != order[i] || (value(keys_in[i]) != keys[order[i]] && keys[order[i]] == keys[order[i]]);
    ok(!wrong, "%d sorted, %s, descending %d", n, name, descending);
}

template <class T> static void largest(const char *name, int n, int k, bool is_largest)
{
    const int rows = 3;
    array<T> x(rows * n), values(rows * k);
    array<int> places(rows * k);
    for (int i = 0; i < rows * n; i++)
        x.at[i] = key<T>(i * 50 + 7);
    for (int i = 0; i < n / 2; i++) /* equal ones */
        x.at[n + i] = x[n];
    top_k<128><<<2, SORT_THREADS>>>(x.at, rows, n, k, is_largest, values.at, places.at);
    finish(name);
    int wrong = 0;
    for (int r = 0; r < rows; r++) {
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int i, int j) {
            double a = value(x[r * n + i]), b = value(x[r * n + j]);
            if ((a != a) != (b != b))
                return is_largest == (a != a);
            return a == b || a != a ? i < j : is_largest == (a > b);
        });
        for (int i = 0; i < k; i++)
            wrong += places[r * k + i] != order[i] || memcmp(&values.at[r * k + i], &x.at[r * n + order[i]], sizeof(T)) != 0;
    }
    ok(!wrong, "the %s %d of %d, %s", is_largest ? "largest" : "smallest", k, n, name);
}

/* ---- random numbers */

static __global__ void vectors(random_block *blocks)
{
    const uint32_t pi[] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0};
    if (threadIdx.x == 0)
        blocks[0] = philox({{0, 0, 0, 0}}, 0);
    else if (threadIdx.x == 1)
        blocks[1] = philox({{~0u, ~0u, ~0u, ~0u}}, ~0ull);
    else
        blocks[2] = philox({{pi[0], pi[1], pi[2], pi[3]}}, pi[4] | (uint64_t)pi[5] << 32);
}

static void randoms()
{
    /* Of the paper's implementation, Random123. */
    const uint32_t known[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e,
                              0xa20bc7c6, 0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    array<random_block> blocks(3);
    vectors<<<1, 3>>>(blocks.at);
    finish("Philox");
    ok(!memcmp(blocks.at, known, sizeof(known)), "Philox's known answers");
    const int n = 20001;
    array<uint32_t> bits(n);
    array<float> x(n), y(n);
    random_bits<<<3, RANDOM_THREADS>>>(bits.at, n, 7, 1, 100);
    random_uniform<<<5, RANDOM_THREADS>>>(x.at, n, 7, 1, 100, -1.0f, 3.0f);
    check(x, [&](size_t i) { return expected{bits[i] * 0x1p-30 - 1, 4e-7}; }, "uniform numbers, whatever the grid is");
    random_normal<<<5, RANDOM_THREADS>>>(y.at, n, 7, 1, 100, 1.0f, 2.0f);
    check(y, [&](size_t i) {
        double u = (bits[i & ~1ull] + 0.5) * 0x1p-32, v = i + 1 < (size_t)n || i % 2 ? (bits[i | 1] + 0.5) * 0x1p-32 : NAN, r = 2 * sqrt(-2 * log((float)u));
        if (v != v)
            return expected{(double)y[i], 0};
        return expected{1 + r * (i % 2 ? cos(2 * M_PI * (float)v) : sin(2 * M_PI * (float)v)), 16 * 0x1p-24 * 20};
    }, "normal numbers");
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (int i = 0; i < n; i++)
        variance += pow(y[i] - mean, 2) / n;
    ok(fabs(mean - 1) < 0.06 && fabs(variance - 4) < 0.2, "their mean and variance");
    dropout<<<2, RANDOM_THREADS>>>(x.at, y.at, n, 9, 0, 0, 0.25f);
    finish("dropout");
    int zeros = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        zeros += y[i] == 0;
        wrong += y[i] != 0 && y[i] != x[i] * (1 / 0.75f);
    }
    ok(!wrong && abs(zeros - n / 4) < 400, "dropout");
}

/* ---- sparse matrices */

template <class T> static void sparse(const char *name, double u)
{
    const int n_rows = 45, n_columns = 60, n = 37;
    array<int> rows(n_rows + 1), columns(n_rows * n_columns);
    array<T> values(columns.n), x(n_columns), y(n_rows), b(n_columns * (n + 1)), c(n_rows * (n + 2)), e(n_rows * 20), f(n_columns * 20), sampled(columns.n);
    int filled = 0;
    for (int r = 0; r < n_rows; r++) {
        rows.at[r] = filled;
        for (int col = 0; col < n_columns && r % 7; col++)
            if (random_below(10) < r % 10)
                columns.at[filled++] = col;
    }
    rows.at[n_rows] = filled;
    fill(values);
    fill(x);
    fill(y);
    fill(b);
    fill(c);
    fill(e);
    fill(f);
    csr_matrix<T, int> a = {n_rows, rows, columns, values};
    std::vector<T> old_y(y.at, y.at + y.n), old_c(c.at, c.at + c.n);
    unsigned blocks = sparse_blocks(n_rows);
    spmv<<<blocks, SPARSE_THREADS>>>(a, x.at, y.at, (T)2, (T)0.5);
    check(y, [&](size_t r) {
        double sum = 0.5 * old_y[r];
        for (int i = rows[r]; i < rows[r + 1]; i++)
            sum += 2.0 * values[i] * x[columns[i]];
        return expected{sum, 80 * u};
    }, "a sparse matrix by a vector, %s", name);
    spmm<<<dim3(blocks, 2), SPARSE_THREADS>>>(a, n, b.at, n + 1, c.at, n + 2, (T)1, (T)0);
    check(c, [&](size_t at) {
        int r = (int)at / (n + 2), column = (int)at % (n + 2);
        double sum = column < n ? 0 : (double)old_c[at];
        for (int i = rows[r]; i < rows[r + 1] && column < n; i++)
            sum += (double)values[i] * b[columns[i] * (n + 1) + column];
        return expected{sum, column < n ? 80 * u : 0};
    }, "by a matrix, %s", name);
    sddmm<<<blocks, SPARSE_THREADS>>>(a, sampled.at, 20, e.at, 20, f.at, 20, (T)3);
    check(sampled, [&](size_t at) {
        double sum = 0;
        int r = (int)(std::upper_bound(rows.at, rows.at + n_rows + 1, (int)at) - rows.at) - 1;
        for (int i = 0; i < 20 && (int)at < filled; i++)
            sum += 3.0 * e[r * 20 + i] * f[columns[at] * 20 + i];
        return expected{sum, 80 * u};
    }, "a product where there are elements, %s", name);
}

int main()
{
    sorts<float>("f32", 5000, false);
    sorts<float>("f32", 2500, true);
    sorts<int>("s32", 2049, true);
    sorts<unsigned>("u32", 1, false);
    sorts<double>("f64", 3000, false);
    sorts<__half>("f16", 2600, false);
    largest<float>("f32", 700, 100, true);
    largest<int>("s32", 300, 128, false);
    largest<__half>("f16", 260, 1, true);
    randoms();
    sparse<float>("f32", 0x1p-24);
    sparse<double>("f64", 0x1p-53);
    return done();
}
