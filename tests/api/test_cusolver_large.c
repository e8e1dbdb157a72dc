/* Cholesky and LU of matrices that several threads factorise: A = L L^H, P A = L U. */
#include <complex.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <math.h>

#include "tap.h"

typedef double complex Z;

/* Not a multiple of any block. */
enum { N = 701, M = 650, LD = 710 };

static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
static const double bounds[] = {2e-3, 1e-11, 2e-3, 1e-11};
static cusolverDnHandle_t handle;
static Z model[N * N], left[N * N], right[N * N];
static char matrix[LD * N * sizeof(Z)];
static int info;

static Z get(int t, int64_t at)
{
    switch (t) {
    case 0:
        return ((float *)matrix)[at];
    case 1:
        return ((double *)matrix)[at];
    case 2:
        return ((float complex *)matrix)[at];
    default:
        return ((Z *)matrix)[at];
    }
}

static void put(int t, int64_t at, Z value)
{
    switch (t) {
    case 0:
        ((float *)matrix)[at] = (float)creal(value);
        break;
    case 1:
        ((double *)matrix)[at] = creal(value);
        break;
    case 2:
        ((float complex *)matrix)[at] = (float complex)value;
        break;
    default:
        ((Z *)matrix)[at] = value;
    }
}

static double part(uint64_t *seed)
{
    return (double)(int64_t)tap_random(seed) / 9.3e18;
}

/* Some entries of left x right (m x k, k x n) beside the model's: all would take too long. */
static double difference(int m, int n, int k, uint64_t *seed)
{
    double worst = 0;

    for (int sample = 0; sample < 4000; sample++) {
        int i = (int)(tap_random(seed) % (unsigned)m), j = (int)(tap_random(seed) % (unsigned)n);
        Z sum = 0;
        for (int l = 0; l < k; l++)
            sum += left[i + l * N] * right[l + j * N];
        worst = fmax(worst, cabs(sum - model[i + j * N]));
    }
    return worst;
}

static void test_potrf(int t, bool is_lower, uint64_t *seed)
{
    cublasFillMode_t fill = is_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    bool beside = true;

    for (int j = 0; j < N; j++)
        for (int i = 0; i <= j; i++) {
            Z value = i == j ? N : part(seed) + (t < 2 ? 0 : part(seed) * I);
            model[i + j * N] = value;
            model[j + i * N] = conj(value);
            put(t, i + j * LD, !is_lower || i == j ? value : 7);
            put(t, j + i * LD, is_lower || i == j ? conj(value) : 7);
        }
    info = -1;
    cusolverStatus_t status = cusolverDnXpotrf(handle, NULL, fill, N, types[t], matrix, LD,
                                               types[t], NULL, 0, NULL, 0, &info);
    ok(!status && !cudaDeviceSynchronize() && info == 0, "potrf: status %d, info %d", (int)status,
       info);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            bool is_in = is_lower ? i >= j : i <= j;
            Z value = is_in ? get(t, i + j * LD) : 0;
            beside = beside && (is_in || get(t, i + j * LD) == 7);
            left[is_lower ? i + j * N : j + i * N] = is_lower ? value : conj(value);
            right[is_lower ? j + i * N : i + j * N] = is_lower ? conj(value) : value;
        }
    double worst = difference(N, N, N, seed);
    ok(worst < bounds[t], "type %d, %s: potrf differs by %g", t, is_lower ? "lower" : "upper",
       worst);
    ok(beside, "the other triangle is as it was");

    /* Not positive from some row on, in a later panel. */
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            put(t, i + j * LD, i != j ? 0 : i == 599 ? -1 : 1);
    status = cusolverDnXpotrf(handle, NULL, fill, N, types[t], matrix, LD, types[t], NULL, 0, NULL,
                              0, &info);
    ok(!status && !cudaDeviceSynchronize() && info == 600, "not positive: info %d", info);
}

static void test_getrf(int t, int m, int n, uint64_t *seed)
{
    static int64_t pivots[N];
    int least = m < n ? m : n;

    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            Z value = part(seed) + (t < 2 ? 0 : part(seed) * I);
            put(t, i + j * LD, value);
            model[i + j * N] = get(t, i + j * LD);
        }
    info = -1;
    cusolverStatus_t status = cusolverDnXgetrf(handle, NULL, m, n, types[t], matrix, LD, pivots,
                                               types[t], NULL, 0, NULL, 0, &info);
    ok(!status && !cudaDeviceSynchronize() && info == 0, "getrf: status %d, info %d", (int)status,
       info);
    bool in_range = true;
    for (int i = 0; i < least; i++)
        in_range = in_range && pivots[i] > i && pivots[i] <= m;
    if (!ok(in_range, "pivots are rows at or below"))
        return;
    for (int i = 0; i < least; i++)
        for (int j = 0; j < n && pivots[i] != i + 1; j++) {
            Z other = model[pivots[i] - 1 + j * N];
            model[pivots[i] - 1 + j * N] = model[i + j * N];
            model[i + j * N] = other;
        }
    double largest = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            Z value = get(t, i + j * LD);
            if (j < least)
                left[i + j * N] = i == j ? 1 : i > j ? value : 0;
            if (i < least)
                right[i + j * N] = i <= j ? value : 0;
            if (i > j && t < 2)
                largest = fmax(largest, cabs(value));
        }
    double worst = difference(m, n, least, seed);
    ok(worst < bounds[t] && largest <= 1, "type %d, %d x %d: getrf differs by %g", t, m, n, worst);
}

/* Columns of zeros in a later panel: the first is told, the rest is solved. 32-bit pivots. */
static void test_singular(void)
{
    static double a[LD * N], work[1];
    static int pivots[N];
    int bad = 0;

    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            a[i + j * LD] = j == 300 || j == 500 ? 0 : i == j ? 2 : i == (j + 1) % N ? 1 : 0;
    ok(!cusolverDnDgetrf(handle, N, N, a, LD, work, pivots, &info) && !cudaDeviceSynchronize(),
       "getrf of a singular matrix");
    ok(info == 301, "it says where: %d", info);
    for (int i = 0; i < N; i++)
        bad += pivots[i] < i + 1 || pivots[i] > N;
    ok(!bad && a[0] == 2 && fabs(a[1] - 0.5) < 1e-15 && a[N - 2 + (N - 2) * LD] == 2,
       "and solves the rest");
}

int main(void)
{
    uint64_t seed = tap_seed();

    if (!ok(!cusolverDnCreate(&handle), "a handle"))
        return done();
    for (int t = 0; t < 4; t++) {
        test_potrf(t, true, &seed);
        test_potrf(t, false, &seed);
        test_getrf(t, N, N, &seed);
        test_getrf(t, M, N, &seed);
        test_getrf(t, N, M, &seed);
    }
    test_singular();
    ok(!cusolverDnDestroy(handle), "destroyed");
    return done();
}
