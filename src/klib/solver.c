/*
 * Solvers, over the LAPACK of OpenBLAS's archive. For each type of elements once: solver.inc. The
 * routines take what memory LAPACK wants for its work themselves, and free it.
 */
#include "klib/solver.h"

#include <assert.h>
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/blas.h"

const struct klib_solver_routine klib_solver_routines[KLIB_SOLVER_ROUTINES] = {
#define KLIB_SOLVER(name) [KLIB_SOLVE_##name] = {#name, klib_solve_##name},
#include <klib_solvers.inc>
#undef KLIB_SOLVER
};

static int run(struct heddle_native_call *native)
{
    const struct klib_call *call = native->params;
    void *args[KLIB_ARGS];

    assert(call->routine < KLIB_SOLVER_ROUTINES && call->nargs <= KLIB_ARGS);
    for (uint64_t problem = native->first; problem < native->last; problem++) {
        for (uint32_t i = 0; i < call->nargs; i++)
            args[i] = klib_argument(call, i, problem);
        if (klib_solver_routines[call->routine].run(args))
            return heddle_native_fail(native, KLIB_NO_MEMORY, "no host memory for LAPACK's work");
    }
    return 0;
}

const struct klib_solver klib_solver = {.run = run,
                                        .step = klib_solver_step,
                                        .next = klib_solver_next,
                                        .routines = klib_solver_routines};

/* ---- what routines have in common */

#define SIZE(i)   (*(const int64_t *)args[i])
#define LETTER(i) (*(const char *)args[i])
#define NUMBER(i) (*(const double *)args[i])

static void *scratch(int64_t n, size_t size_B)
{
    assert(n >= 0);
    return malloc((size_t)HD_MAX(n, 1) * size_B);
}

/* Who solves on several threads with one info writes the same. */
static int settle(int *out, int64_t info)
{
    if (out)
        __atomic_store_n(out, (int)info, __ATOMIC_RELAXED);
    return 0;
}

/* `n` indices of `size_B` each (4 or 8) as LAPACK's; NULL: no exchanges. free() it. */
static int64_t *wide_pivots(int64_t n, const void *pivots, int64_t size_B)
{
    int64_t *wide = scratch(n, sizeof(*wide));

    for (int64_t i = 0; wide && i < n; i++)
        wide[i] = !pivots       ? i + 1
                  : size_B == 4 ? ((const int32_t *)pivots)[i]
                                : ((const int64_t *)pivots)[i];
    return wide;
}

static void store_pivots(int64_t n, const int64_t *wide, void *pivots, int64_t size_B)
{
    for (int64_t i = 0; i < n; i++)
        if (size_B == 4)
            ((int32_t *)pivots)[i] = (int32_t)wide[i];
        else
            ((int64_t *)pivots)[i] = wide[i];
}

/* What LAPACK asks for, which it may have rounded to a float. */
static int64_t grown(double n)
{
    return (int64_t)(n * (1 + 1e-6)) + 1;
}

/* Letter, kinds of names, element, real, whether it is complex; names of LAPACK. */
#define NAME2(p, n)      klib_solve_##p##n
#define NAME1(p, n)      NAME2(p, n)
#define NAME(n)          NAME1(P, n)
#define LAPACK2(p, k, n) p##k##n##_
#define LAPACK1(p, k, n) LAPACK2(p, k, n)
#define LAPACK(n)        LAPACK1(P, , n)
#define HE(n)            LAPACK1(P, K_HE, n) /* sy, or he */
#define OR(n)            LAPACK1(P, K_OR, n) /* or, or un */

/*
 * Calls with `work` and `work_n`: LAPACK says how much it wants, and gets it. KLIB_NO_MEMORY, or 0.
 */
#define WORKED(...)                                                                                \
    ({                                                                                             \
        T wanted_ = 0, *work = &wanted_;                                                           \
        int64_t work_n = -1;                                                                       \
        __VA_ARGS__;                                                                               \
        work_n = grown((double)REAL_OF(wanted_));                                                  \
        work = scratch(work_n, sizeof(T));                                                         \
        int failed_ = work ? 0 : KLIB_NO_MEMORY;                                                   \
        if (!failed_)                                                                              \
            __VA_ARGS__;                                                                           \
        free(work);                                                                                \
        failed_;                                                                                   \
    })

#define P          s
#define K_HE       sy
#define K_OR       or
#define T          float
#define R          float
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#define REAL_OF(x) (x)
#include "klib/solver.inc"
#define P          d
#define K_HE       sy
#define K_OR       or
#define T          double
#define R          double
#define IS_COMPLEX 0
#define CONJ(x)    (x)
#define REAL_OF(x) (x)
#include "klib/solver.inc"
#define P          c
#define K_HE       he
#define K_OR       un
#define T          float complex
#define R          float
#define IS_COMPLEX 1
#define CONJ(x)    conjf(x)
#define REAL_OF(x) crealf(x)
#include "klib/solver.inc"
#define P          z
#define K_HE       he
#define K_OR       un
#define T          double complex
#define R          double
#define IS_COMPLEX 1
#define CONJ(x)    conj(x)
#define REAL_OF(x) creal(x)
#include "klib/solver.inc"
