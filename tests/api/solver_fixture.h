/*
 * Matrices of the four types for tests of cuSOLVER: memory of the device, random elements, products
 * and distances in complex doubles.
 */
#ifndef HD_TESTS_API_SOLVER_FIXTURE_H
#define HD_TESTS_API_SOLVER_FIXTURE_H

#include <complex.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <math.h>
#include <string.h>

#include "support/tap.h"

enum { MEMORY_B = 32 << 20 };

typedef double complex num;

enum letter { S, D, C, Z, TYPES };
static const char letters[] = "SDCZ";
static const size_t sizes[] = {4, 8, 8, 16};
static const double close_to[] = {2e-4, 1e-11, 2e-4, 1e-11}; /* sums of a few hundred products */

static cusolverDnHandle_t handle;
static char *memory; /* of the device, for all arrays */
static size_t used;

/* The functions of one name, as one type with untyped pointers: that of type `t`. */
#define UNTYPED(name) ((void (*)(void))cusolverDn##name)
#define OF4(s, d, c, z, ...)                                                                       \
    ((cusolverStatus_t(*)(cusolverDnHandle_t, __VA_ARGS__))(                                       \
        (void (*[])(void)){UNTYPED(S##s), UNTYPED(D##d), UNTYPED(C##c), UNTYPED(Z##z)}[t]))
#define OF(name, ...)      OF4(name, name, name, name, __VA_ARGS__)
#define OF2(real, of, ...) OF4(real, real, of, of, __VA_ARGS__)

static inline bool is_complex(enum letter t)
{
    return t >= C;
}
static inline enum letter real_of(enum letter t)
{
    return is_complex(t) ? t - 2 : t;
}

static inline num get(enum letter t, const void *p, int i)
{
    switch (t) {
    case S:
        return ((const float *)p)[i];
    case D:
        return ((const double *)p)[i];
    case C:
        return ((const float complex *)p)[i];
    default:
        return ((const num *)p)[i];
    }
}

static inline void put(enum letter t, void *p, int i, num v)
{
    switch (t) {
    case S:
        ((float *)p)[i] = (float)creal(v);
        break;
    case D:
        ((double *)p)[i] = creal(v);
        break;
    case C:
        ((float complex *)p)[i] = (float complex)v;
        break;
    default:
        ((num *)p)[i] = v;
    }
}

static inline double unit(void)
{
    static uint32_t state = 12345;

    state = state * 1664525 + 1013904223;
    return (double)(state >> 8) / (1 << 23) - 1;
}

static inline void *room(size_t size_B)
{
    void *p = memory + used;

    used += (size_B + 255) & ~(size_t)255;
    if (used > MEMORY_B) {
        ok(false, "the fixture's memory is enough");
        exit(done());
    }
    memset(p, 0x5a, size_B);
    return p;
}

/* An array of the device's, of n random elements. */
static inline void *array(enum letter t, int n)
{
    void *p = room((size_t)n * sizes[t]);

    for (int i = 0; i < n; i++)
        put(t, p, i, unit() + (is_complex(t) ? unit() * I : 0));
    return p;
}

/* Matrices in the tests' own type, by columns without gaps. */
enum { EDGE = 40 };
struct matrix {
    int m, n;
    num at[EDGE * EDGE];
};

static inline struct matrix from(enum letter t, const void *p, int m, int n, int ld)
{
    struct matrix a = {.m = m, .n = n};

    cudaDeviceSynchronize();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            a.at[i + j * m] = get(t, p, i + j * ld);
    return a;
}

static inline void to(enum letter t, void *p, int ld, const struct matrix *a)
{
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++)
            put(t, p, i + j * ld, a->at[i + j * a->m]);
}

static inline struct matrix identity(int n)
{
    struct matrix a = {.m = n, .n = n};

    for (int i = 0; i < n; i++)
        a.at[i + i * n] = 1;
    return a;
}

/* op(A) op(B), by the letters of BLAS. */
static inline struct matrix times(char opa, struct matrix a, char opb, struct matrix b)
{
    int inner = opa == 'N' ? a.n : a.m;
    struct matrix c = {.m = opa == 'N' ? a.m : a.n, .n = opb == 'N' ? b.n : b.m};

    for (int j = 0; j < c.n; j++)
        for (int i = 0; i < c.m; i++)
            for (int k = 0; k < inner; k++) {
                num x = opa == 'N' ? a.at[i + k * a.m] : a.at[k + i * a.m];
                num y = opb == 'N' ? b.at[k + j * b.m] : b.at[j + k * b.m];
                c.at[i + j * c.m] += (opa == 'C' ? conj(x) : x) * (opb == 'C' ? conj(y) : y);
            }
    return c;
}

/* Of a square one, the triangle `uplo`, the rest 0. */
static inline struct matrix triangle(struct matrix a, char uplo)
{
    for (int j = 0; j < a.n; j++)
        for (int i = 0; i < a.m; i++)
            if (uplo == 'L' ? i < j : i > j)
                a.at[i + j * a.m] = 0;
    return a;
}

static inline struct matrix unit_diagonal(struct matrix a)
{
    for (int i = 0; i < a.m && i < a.n; i++)
        a.at[i + i * a.m] = 1;
    return a;
}

/* A + A^H; `shift` on the diagonal. */
static inline struct matrix hermitian(struct matrix a, double shift)
{
    struct matrix h = a;

    for (int j = 0; j < a.n; j++)
        for (int i = 0; i < a.m; i++)
            h.at[i + j * a.m] = a.at[i + j * a.m] + conj(a.at[j + i * a.m]) + (i == j ? shift : 0);
    return h;
}

static inline struct matrix columns(struct matrix a, int first, int n)
{
    struct matrix c = {.m = a.m, .n = n};

    memcpy(c.at, a.at + first * a.m, (size_t)(n * a.m) * sizeof(num));
    return c;
}

static inline double distance(struct matrix a, struct matrix b)
{
    double most = a.m == b.m && a.n == b.n ? 0 : INFINITY;

    for (int i = 0; i < a.m * a.n; i++) {
        double by = cabs(a.at[i] - b.at[i]);
        most = by <= most ? most : by; /* no number counts */
    }
    return most;
}

/* Is the largest difference of elements small for the type? */
static inline void near(enum letter t, struct matrix a, struct matrix b, const char *what)
{
    double by = distance(a, b);

    if (!ok(by <= close_to[t], "%c: %s", letters[t], what))
        diag("largest difference: %g", by);
}

static inline void solved(cusolverStatus_t status, const int *info, int want, const char *what)
{
    cudaError_t error = cudaDeviceSynchronize();

    if (status || error || *info != want)
        diag("%s: status %d, error %d, info %d instead of %d", what, status, error, *info, want);
    ok(!status && !error && *info == want, "%s: solved", what);
}

static inline void begin(void)
{
    cudaMalloc((void **)&memory, MEMORY_B);
    ok(!cusolverDnCreate(&handle) && handle, "a handle");
}

#endif
