/*
 * Solvers of the kernel library: routines of LAPACK's kind, as cuSOLVER has them. Their parameters
 * are a klib_call; a tile is a problem. spec/api/cusolver.def has the arguments, solver.inc the
 * routines: pivots are followed by the size of one, infos are int.
 */
#ifndef HD_KLIB_SOLVER_H
#define HD_KLIB_SOLVER_H

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

/* A routine on each problem: `call`'s routine is an enum klib_solver_id. */
struct klib_solver {
    heddle_native_fn *run; /* of a struct klib_call */
    const struct klib_solver_routine *routines;
};

extern const struct klib_solver klib_solver;
extern const struct klib_solver_routine klib_solver_routines[KLIB_SOLVER_ROUTINES];

#endif
