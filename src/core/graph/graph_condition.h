/*
 * Conditional nodes: graphs that run once, again and again, or one of several, as a value says that
 * kernels set (cudaGraphSetConditional).
 *
 * A condition is a word of device memory; its address is the handle that programs know. A queue has
 * no branches, so a conditional node is, in the queue of the launch,
 *
 *     COPY the word to the host ── HOST_CALL decide ── WAIT for `done`
 *
 * and what `decide` chooses goes to a queue of the node's own, followed, in a loop, by the same
 * copy and call, and else by SIGNAL `done`. Decisions are made by the thread of host calls.
 */
#ifndef HD_CORE_GRAPH_GRAPH_CONDITION_H
#define HD_CORE_GRAPH_GRAPH_CONDITION_H

#include "core/graph/graph.h"

struct core_condition {
    struct core_context *ctx; /* a reference */
    uint64_t ctx_id;          /* of its life: memory goes with it */
    uint64_t va;
    uint32_t initial;
    bool has_initial; /* set at the beginning of each run of its graph */
    bool is_used;     /* a node has it */
    unsigned refs;    /* core_graph_lock */
};

/* A condition of the graph, which has a reference. */
enum hd_status core_condition_create(struct core_graph *graph, struct core_context *ctx,
                                     bool has_initial, uint32_t initial, uint64_t *out_va)
    HD_MUST_CHECK;
struct core_condition *core_condition_ref_locked(struct core_condition *condition);
void core_condition_unref_locked(struct core_condition *condition);
/* By its handle; NULL: the graph has none such. */
struct core_condition *core_condition_find_locked(const struct core_graph *graph, uint64_t va);

enum core_condition_kind { CORE_CONDITION_IF, CORE_CONDITION_WHILE, CORE_CONDITION_SWITCH };

/* ---- graph_branch.c */

/* What a conditional node needs to run: of a program. */
struct core_branch;
/* Its programs, one per graph, are the caller's to make, and to end before it is destroyed. */
enum hd_status core_branch_create(const struct core_body_conditional *body,
                                  struct core_branch **out_branch) HD_MUST_CHECK;
/* Nothing of it is running. */
void core_branch_destroy(struct core_branch *branch);
struct core_program *core_branch_programs(struct core_branch *branch, size_t *out_n);
/* The two packets before the wait: COPY and HOST_CALL. */
void core_branch_packets(struct core_branch *branch, union hal_packet *out_packets);
/* What the queue of the launch waits for. */
struct core_join *core_branch_join(struct core_branch *branch);

#endif
