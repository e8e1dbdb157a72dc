/*
 * Graphs that kernels launch ("Device Graph Launch" of the programming guide).
 *
 * What a kernel can launch is an executable graph that was uploaded: a program of its own
 * (core_upload), which later changes by the host do not reach until the next upload.
 *
 * What runs, runs in an execution environment: one graph, and what is launched inside of it. An
 * environment is over when its graph and all environments inside of it are; then the graphs that
 * wait in its list of tails take its place one after another, and then it is gone.
 *
 *     stream's environment ─┬─ of the graph that the host launched ─┬─ fire and forget ── ...
 *                           ├─ its siblings                         └─ fire and forget
 *                           └─ ...
 *
 * The graph of the host runs in its stream, all others in the streams of their uploads; at the end
 * of each stands a host call that finds out what comes next. In the host's stream a WAIT for
 * exec->done follows: whoever waits for the launch waits for all environments. Grids know their
 * environment by their numbers. A kernel that fires and forgets submits no more than a host call,
 * which takes no time and no lock that is held while somebody waits. (docs/decisions/0100)
 *
 * Only executable graphs with kernels that ask for it, and those that the device launches, have
 * environments. Threads: one lock, rank LEAF, guards the trees and lists; what kernels launch
 * begins on the thread of host calls.
 */
#ifndef HD_CORE_GRAPH_GRAPH_ENV_H
#define HD_CORE_GRAPH_GRAPH_ENV_H

#include "core/graph/graph.h"

/* The guide: launches by one run of a graph, and tails of an environment. */
#define CORE_ENV_FORGET_MAX 120u
#define CORE_ENV_TAILS_MAX  255u

struct core_env;

/* ---- what the device can launch (graph_upload.c) */

struct core_upload {
    struct core_context *ctx; /* of the graph's nodes, which keep it */
    uint64_t ctx_id;          /* of its life */
    void *exec;               /* handle of the executable graph */
    struct core_graph *graph; /* a copy */
    struct core_program program;
    struct core_stream *stream; /* a reference; its launches, one at a time */
    /* The lock's: */
    unsigned refs;
    unsigned running;   /* launches that are not over, also those that have not begun */
    bool is_relaunched; /* by itself */
    struct core_upload *next, **link; /* those that can be launched */
};

/* May the device launch this? HD_NOT_SUPPORTED, and the node that is in the way. */
enum hd_status core_upload_check(const struct core_graph *graph, struct core_exec_failure *out_why)
    HD_MUST_CHECK;
/* One node's body: part of the above. */
bool core_upload_is_work(const struct core_body *body);
/* From here on kernels launch the executable graph as it is now. Cheap when it has not changed. */
enum hd_status core_upload_make(struct core_exec *exec, int priority) HD_MUST_CHECK;
/* Kernels find it no more. */
void core_upload_forget(struct core_exec *exec);

/* ---- by the host */

/*
 * The graph's kernels will have the numbers behind first_grid. Afterwards core_env_end() in any
 * case, with what became of the submission.
 */
enum hd_status core_env_begin(struct core_exec *exec, uint32_t first_grid,
                              struct core_env **out_env) HD_MUST_CHECK;
enum hd_status core_env_end(struct core_env *env, struct core_stream *stream,
                            enum hd_status submitted) HD_MUST_CHECK;

/* ---- by kernels */

enum core_env_mode { CORE_ENV_TAIL, CORE_ENV_FORGET, CORE_ENV_SIBLING };
enum core_env_answer { CORE_ENV_OK, CORE_ENV_REFUSED, CORE_ENV_TOO_MANY, CORE_ENV_NO_MEMORY };

/* By a thread of the grid; `exec` is a handle of any value. */
enum core_env_answer core_env_launch(struct core_context *ctx, uint32_t grid_id, const void *exec,
                                     enum core_env_mode mode);
/* Handle of the device graph that the grid is a node of, or NULL. */
void *core_env_current(const struct core_context *ctx, uint32_t grid_id);

/* ---- between the two files */

extern struct hd_lock core_env_lock;
/* NULL: nothing that kernels of the context can launch. */
struct core_upload *core_upload_find_locked(const struct core_context *ctx, const void *exec);
/* On the thread of host calls, or of a call by the program. */
void core_upload_unref(struct core_upload *upload);

#endif
