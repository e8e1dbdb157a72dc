/* Between the files of graphs; not for others. */
#ifndef HD_CORE_GRAPH_GRAPH_PARTS_H
#define HD_CORE_GRAPH_GRAPH_PARTS_H

#include "core/graph/graph.h"

/* Unpublished; NULL: no memory. */
struct core_graph *core_graph_make(void);
/* Unpublished, in no graph. Takes the body over, also when memory is short and it returns NULL. */
struct core_node *core_node_make(struct core_body *body);
/* Makes it the last of the graph. False: no memory. */
bool core_node_enlist(struct core_graph *graph, struct core_node *node);
/* Of one that is in no list. */
void core_node_end_locked(struct core_node *node);

/* Of bodies without graphs inside (graph_body.c). */
enum hd_status core_body_leaf_clone(const struct core_body *body, struct core_body *out_body)
    HD_MUST_CHECK;
void core_body_leaf_fini(struct core_body *body);
/* Room for the n graphs of a conditional node, none of which is there yet; and its end. */
enum hd_status core_conditional_make_locked(struct core_condition *condition, int kind, size_t n,
                                            struct core_body_conditional *out_body) HD_MUST_CHECK;
void core_conditional_fini_locked(struct core_body_conditional *body);

/*
 * May a kernel node of an executable graph get this function? The guide: one that calls the runtime
 * in other ways than the first may not take its place. `asks`: some node launches graphs.
 */
bool core_kernel_may_become(const struct core_body_kernel *from, const struct core_body_kernel *to,
                            bool asks);
/*
 * May the graph take the place of a child graph of an executable one? Then its nodes are found by
 * the names of the others. HD_BAD_ARG: they differ in more than parameters.
 */
enum hd_status core_exec_child_replace_locked(const struct core_exec *exec,
                                              const struct core_graph *have,
                                              struct core_graph *want) HD_MUST_CHECK;
/* Of fills in two dimensions only the address and the value change. */
bool core_fill_may_become(const struct core_body_fill *from, const struct core_body_fill *to);
/* The kinds of memory stay. */
bool core_copy_may_become(const struct core_copy *from, const struct core_copy *to);
/* Program and upload are made anew. */
void core_exec_changed(struct core_exec *exec);

#endif
