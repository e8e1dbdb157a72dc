/*
 * What the programs of whole matrix products share: c = a * b with a and b by rows of k, which is
 * the last axis of both. One line for each:  name,median_ms,GFLOP/s,PASS|FAIL
 */
#pragma once
#include "../cuda/cu.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* An element of a or b, and what a product of two of them is added up in. */
template <class T> struct sums {
    typedef float type;
};
template <> struct sums<signed char> {
    typedef int type;
};

template <class T> static void fill_matrix(T *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (T)((float)(seed >> 24) / 256.0f - 0.5f);
    }
}

static void fill_matrix(signed char *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (signed char)(seed >> 24);
    }
}

/* Every element of some rows; sums of floats may be made in any order. */
template <class T>
static int chk_product(const T *a, const T *b, const typename sums<T>::type *c, int n, int k,
                       int rows)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < n; j++) {
            double want = 0, size = 0;
            for (int l = 0; l < k; l++) {
                double product =
                    (double)(float)a[(size_t)i * k + l] * (double)(float)b[(size_t)j * k + l];
                want += product, size += fabs(product);
            }
            if (!(fabs((double)c[(size_t)i * n + j] - want) <= 1e-5 * size))
                return 0;
        }
    }
    return 1;
}

/* launch(a, b, c): of device pointers. Square matrices. */
template <class T, class F> static int product(const char *name, const bench_args &args, F launch)
{
    typedef typename sums<T>::type sum;
    const int n = (int)args.size[0], rows = n < 16 ? n : 16;
    size_t elements = (size_t)n * n;
    T *a = halloc<T>(elements), *b = halloc<T>(elements);
    sum *c = halloc<sum>(elements);

    fill_matrix(a, elements, 1);
    fill_matrix(b, elements, 2);
    T *da = dput(a, elements), *db = dput(b, elements);
    sum *dc = dalloc<sum>(elements);
    int rc = bench_run(
        name, args, 2.0 * n * n * n, bench_no_reset,
        [&] {
            launch(da, db, dc);
            dsync();
        },
        [&] {
            d2h(c, dc, elements);
            return chk_product(a, b, c, n, n, rows);
        });
    CK(cudaFree(da));
    CK(cudaFree(db));
    CK(cudaFree(dc));
    free(a), free(b), free(c);
    return bench_end(rc);
}
