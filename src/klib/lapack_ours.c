/*
 * Routines of LAPACK's kind for one matrix of a batch, with cuBLAS's arguments: pivots and infos
 * are int, what is missing is NULL. For each type of elements once: lapack_ours.inc.
 */
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define NAME2(p, n) klib_##p##n
#define NAME1(p, n) NAME2(p, n)
#define NAME(n)     NAME1(P, n)
#define BLAS2(p, n) p##n##_
#define BLAS1(p, n) BLAS2(p, n)
#define BLAS(n)     BLAS1(P, n)

#define SIZE(i) (*(const int64_t *)args[i])

/* What LAPACK says when there is no memory for it: no argument has that number. */
#define NO_MEMORY (-1000)

#define P s
#define T float
#include "lapack_ours.inc"
#define P d
#define T double
#include "lapack_ours.inc"
#define P c
#define T float complex
#include "lapack_ours.inc"
#define P z
#define T double complex
#include "lapack_ours.inc"
