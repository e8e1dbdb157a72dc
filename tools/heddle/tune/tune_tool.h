/*
 * heddle tune: the options, the runs of a program with one point after the other, and what came of
 * it.
 *
 *     tune.c          options; strategies on what is stored (--replay)
 *     tune_run.c      one run of the program with a point for each kernel
 *     tune_session.c  runs until each kernel's search is over; the choice
 *     tune_show.c     tables and JSON
 */
#ifndef HEDDLE_TOOLS_TUNE_H
#define HEDDLE_TOOLS_TUNE_H

#include "tune/tune.h"

struct tune_args {
    const char *file;
    const char *kernel; /* NULL: all */
    const char *device; /* NULL: the environment's */
    const struct tune_strategy *strategy;
    struct tune_goal goal;
    double budget_s; /* 0: none */
    bool again;      /* kernels that have a choice as well */
    bool replay, json;
    char **program;
};

/* What was found of a kernel of the base. */
struct tune_found {
    size_t kernel; /* its index */
    bool is_pinned;
    bool is_lost; /* a run did not tell what it costs */
    bool is_over;
    bool has_costs;
    unsigned points;
    struct tune_point best;
    uint64_t before, after; /* costs; has_costs */
    /* Runs with the choice, each behind one without; of these, where it was better. */
    unsigned pairs, better;
    uint64_t last; /* the cost without it */
};

struct tune_session {
    const struct tune_args *args;
    const char *folder; /* for what lives as long as the session */
    const char *path;   /* of the program */
    const struct tune_evaluator_info *evaluator;
    struct tune_base base;     /* what the file has, and what was measured */
    struct tune_base measured; /* by the last run */
    HD_VEC(struct tune_found) found;
    unsigned runs;
    double seconds; /* of all runs */
};

/* ---- tune_run.c */

/* For a program's code to be judged by: recorded once, where the evaluator needs it. */
bool tune_run_prepare(struct tune_session *s);
/*
 * Runs the program with the points that `chosen` has, and adds what kernels cost to the base and
 * the file. False, after a message: it failed.
 */
bool tune_run(struct tune_session *s, const struct tune_base *chosen);

/* ---- tune_session.c */

/* An exit status. */
int tune_session_run(struct tune_session *s);
/* Follows the strategy on what the base has of each kernel. */
bool tune_session_replay(struct tune_session *s);
void tune_session_fini(struct tune_session *s);

/* ---- tune_show.c */

/* False: it cannot be written. */
bool tune_show(const struct tune_session *s);
bool tune_show_parameters(bool as_json);

#endif
