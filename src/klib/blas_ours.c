/*
 * Routines that cuBLAS has and BLAS has not, or has with other arguments; spec/api/cublas.def lists
 * the arguments. For each type of elements once: blas_ours.inc.
 */
#include <complex.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

/* Letter, element, real, whether it is complex; names of BLAS. */
#define NAME2(p, n) klib_##p##n
#define NAME1(p, n) NAME2(p, n)
#define NAME(n)     NAME1(P, n)
#define BLAS2(p, n) p##n##_
#define BLAS1(p, n) BLAS2(p, n)
#define BLAS(n)     BLAS1(P, n)

#define SIZE(i)   (*(const int64_t *)args[i])
#define LETTER(i) (*(const char *)args[i])

/* The vector's first element in its own order: a negative increment begins at the end. */
#define FIRST(x, n, inc) ((inc) < 0 ? (x) - ((n) - 1) * (inc) : (x))

#define P          s
#define T          float
#define R          float
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#include "blas_ours.inc"
#define P          d
#define T          double
#define R          double
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#include "blas_ours.inc"
#define P          c
#define T          float complex
#define R          float
#define IS_COMPLEX 1
#define CONJ(x)    conjf(x)
#include "blas_ours.inc"
#define P          z
#define T          double complex
#define R          double
#define IS_COMPLEX 1
#define CONJ(x)    conj(x)
#include "blas_ours.inc"

/* Those whose result has another type than the elements. */
#define REAL_RESULT(name, R, blas)                                                                 \
    R blas(const int64_t *n, const void *x, const int64_t *incx);                                  \
    void klib_##name(void *const *args);                                                           \
    void klib_##name(void *const *args)                                                            \
    {                                                                                              \
        *(R *)args[3] = SIZE(0) <= 0 || SIZE(2) <= 0 ? 0 : blas(args[0], args[1], args[2]);        \
    }
REAL_RESULT(snrm2, float, snrm2_)
REAL_RESULT(dnrm2, double, dnrm2_)
REAL_RESULT(scnrm2, float, scnrm2_)
REAL_RESULT(dznrm2, double, dznrm2_)
REAL_RESULT(sasum, float, sasum_)
REAL_RESULT(dasum, double, dasum_)
REAL_RESULT(scasum, float, scasum_)
REAL_RESULT(dzasum, double, dzasum_)

/* The place of the first such element, from 1; an int or an int64_t, as args[4] says. */
#define INDEX_RESULT(name)                                                                         \
    int64_t name##_(const int64_t *n, const void *x, const int64_t *incx);                         \
    void klib_##name(void *const *args);                                                           \
    void klib_##name(void *const *args)                                                            \
    {                                                                                              \
        int64_t at = SIZE(0) <= 0 || SIZE(2) <= 0 ? 0 : name##_(args[0], args[1], args[2]);        \
        if (SIZE(4) == sizeof(int))                                                                \
            *(int *)args[3] = (int)at;                                                             \
        else                                                                                       \
            *(int64_t *)args[3] = at;                                                              \
    }
INDEX_RESULT(isamax)
INDEX_RESULT(idamax)
INDEX_RESULT(icamax)
INDEX_RESULT(izamax)
INDEX_RESULT(isamin)
INDEX_RESULT(idamin)
INDEX_RESULT(icamin)
INDEX_RESULT(izamin)
