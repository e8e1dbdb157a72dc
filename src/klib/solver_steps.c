/*
 * Cholesky and LU of one large matrix on several threads: a chain of kernels in the stream. Columns
 * are taken a panel at a time: one thread factorises it, all apply it to what is behind it. A tile
 * of such a kernel is a block of the matrix; within a block BLAS runs on one thread.
 */
#include <assert.h>
#include <complex.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "klib/blas.h"
#include "klib/solver.h"

/* Columns of a panel: what one thread does alone grows with it, and products get faster. */
enum { PANEL_POTRF = 192, PANEL_GETRF = 128, BLOCK_MIN = 128, EDGE_MIN = 512 };

#define SIZE(i)   (*(const int64_t *)args[i])
#define LETTER(i) (*(const char *)args[i])

/* Is it this routine, in any type of elements? `first` is that of floats. */
static bool is_of(const struct klib_solver_step *s, uint32_t first)
{
    return s->call.routine - first < 4;
}

/* Columns that come after the panel. */
static int64_t behind(const struct klib_solver_step *s)
{
    return s->n - s->first - s->width;
}

bool klib_solver_next(struct klib_solver_step *s, unsigned threads)
{
    bool is_potrf = is_of(s, KLIB_SOLVE_spotrf);
    bool is_getrf = is_of(s, KLIB_SOLVE_sgetrf);
    const struct klib_arg *args = s->call.args;

    if (s->phase == KLIB_STEP_NONE) {
        if (threads < 2 || (!is_potrf && !is_getrf))
            return false;
        s->m = args[is_potrf].v.number;
        s->n = args[1].v.number;
        /* What comes later has to know of a failure, or where the rows are. */
        if (HD_MIN(s->m, s->n) < EDGE_MIN || !args[is_potrf ? 4 : 6].v.address ||
            (is_getrf && !args[4].v.address))
            return false;
        s->phase = KLIB_STEP_PANEL;
    } else if (s->phase == KLIB_STEP_PANEL && (is_getrf ? s->n > s->width : behind(s) > 0)) {
        s->phase = is_getrf ? KLIB_STEP_REST : KLIB_STEP_SOLVE;
    } else if (s->phase == KLIB_STEP_SOLVE) {
        s->phase = KLIB_STEP_REST;
    } else {
        s->first += s->width;
        s->phase = KLIB_STEP_PANEL;
        if (s->first >= HD_MIN(s->m, s->n))
            return false;
    }
    int64_t rest, width = is_potrf ? PANEL_POTRF : PANEL_GETRF;
    s->width = HD_MIN(width, HD_MIN(s->m, s->n) - s->first);
    rest = is_potrf ? behind(s) : s->n - s->width;
    s->block = HD_MAX(BLOCK_MIN, (rest + 2 * threads - 1) / (2 * threads));
    int64_t blocks = (rest + s->block - 1) / s->block;
    s->tiles = (uint64_t)(s->phase == KLIB_STEP_PANEL              ? 1
                          : is_potrf && s->phase == KLIB_STEP_REST ? blocks * (blocks + 1) / 2
                                                                   : blocks);
    return true;
}

/* Letter, element, its real type, BLAS's letter for the conjugate transpose, syrk or herk. */
#define NAME2(p, n) p##n
#define NAME1(p, n) NAME2(p, n)
#define NAME(n)     NAME1(P, n)
#define BLAS2(p, n) p##n##_
#define BLAS1(p, n) BLAS2(p, n)
#define BLAS(n)     BLAS1(P, n)

#define P    s
#define T    float
#define R    float
#define H    "T"
#define HERK syrk
#include "klib/solver_steps.inc"
#define P    d
#define T    double
#define R    double
#define H    "T"
#define HERK syrk
#include "klib/solver_steps.inc"
#define P    c
#define T    float complex
#define R    float
#define H    "C"
#define HERK herk
#include "klib/solver_steps.inc"
#define P    z
#define T    double complex
#define R    double
#define H    "C"
#define HERK herk
#include "klib/solver_steps.inc"

int klib_solver_step(struct heddle_native_call *native)
{
    static int (*const potrf[])(const struct klib_solver_step *, void *const *,
                                int64_t) = {spotrf_step, dpotrf_step, cpotrf_step, zpotrf_step};
    static int (*const getrf[])(const struct klib_solver_step *, void *const *,
                                int64_t) = {sgetrf_step, dgetrf_step, cgetrf_step, zgetrf_step};
    const struct klib_solver_step *s = native->params;
    uint32_t routine = s->call.routine;
    void *args[KLIB_ARGS];

    assert(s->call.nargs <= KLIB_ARGS && s->phase != KLIB_STEP_NONE);
    for (uint32_t i = 0; i < s->call.nargs; i++)
        args[i] = klib_argument(&s->call, i, 0);
    for (uint64_t tile = native->first; tile < native->last; tile++) {
        bool is_potrf = is_of(s, KLIB_SOLVE_spotrf);
        int code = is_potrf ? potrf[routine - KLIB_SOLVE_spotrf](s, args, (int64_t)tile)
                            : getrf[routine - KLIB_SOLVE_sgetrf](s, args, (int64_t)tile);
        if (code)
            return heddle_native_fail(native, code, "no host memory for LAPACK's work");
    }
    return 0;
}
