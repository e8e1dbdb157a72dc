/*
 * Solvers of the kernel library: routines of LAPACK's kind, as cuSOLVER has them. Their parameters
 * are a klib_call; a tile is a problem. spec/api/cusolver.def has the arguments, solver.inc the
 * routines: pivots are followed by the size of one, infos are int.
 */
#ifndef HD_KLIB_SOLVER_H
#define HD_KLIB_SOLVER_H

#include <stdbool.h>

#include "klib/klib.h"

/* The types of one routine follow each other: float, double, and complex numbers of these. */
enum klib_solver_id {
#define KLIB_SOLVER(name) KLIB_SOLVE_##name,
#include <klib_solvers.inc>
#undef KLIB_SOLVER
    KLIB_SOLVER_ROUTINES
};

#define KLIB_SOLVER(name) int klib_solve_##name(void *const *args);
#include <klib_solvers.inc>
#undef KLIB_SOLVER

struct klib_solver_routine {
    const char *name; /* of LAPACK, about: "spotrf" */
    /* Arguments as of a klib_routine; KLIB_NO_MEMORY, or 0. */
    int (*run)(void *const *args);
};

enum { KLIB_NO_MEMORY = 1 };

/* One kernel of a chain that solves one large problem on several threads. */
enum klib_step_phase {
    KLIB_STEP_NONE,  /* before the first */
    KLIB_STEP_PANEL, /* a tile */
    KLIB_STEP_SOLVE, /* Cholesky's rows below (or columns beside) the panel's diagonal */
    KLIB_STEP_REST,  /* everything else gets what the panel says */
};
struct klib_solver_step {
    struct klib_call call;
    enum klib_step_phase phase;
    int64_t m, n;         /* of the matrix */
    int64_t first, width; /* columns of the panel */
    int64_t block;        /* edge of a tile */
    uint64_t tiles;
};
/* The chain's next kernel; false: there is no further one, or, at the beginning, no chain. */
bool klib_solver_next(struct klib_solver_step *step, unsigned threads);
int klib_solver_step(struct heddle_native_call *native);

/* A routine on each problem: `call`'s routine is an enum klib_solver_id. */
struct klib_solver {
    heddle_native_fn *run;  /* of a struct klib_call */
    heddle_native_fn *step; /* of a struct klib_solver_step */
    bool (*next)(struct klib_solver_step *step, unsigned threads);
    const struct klib_solver_routine *routines;
};

extern const struct klib_solver klib_solver;
extern const struct klib_solver_routine klib_solver_routines[KLIB_SOLVER_ROUTINES];

#endif
