/* Single nodes of executable graphs: found by those they were copied from, and changed. */
#include <assert.h>

#include "core/graph/graph_env.h"
#include "core/graph/graph_parts.h"

/* Also in graphs inside: their nodes are found by those of the program's. */
static struct core_node *node_find(const struct core_graph *graph, const struct core_node *original)
{
    for (size_t i = 0; i < graph->nodes.len; i++) {
        struct core_node *node = graph->nodes.at[i], *found;
        size_t n;
        struct core_graph *const *inner = core_body_graphs(&node->body, &n);

        if (node->origin == original->id)
            return node;
        for (size_t k = 0; k < n; k++)
            if ((found = node_find(inner[k], original)))
                return found;
    }
    return NULL;
}

static enum hd_status node_of(const struct core_exec *exec, const struct core_node *original,
                              struct core_node **out_node)
{
    *out_node = node_find(exec->graph, original);
    return *out_node ? HD_OK
                     : hd_error(HD_BAD_ARG, "the node is not of the graph that was instantiated");
}

/* Has it kernels that launch graphs, or is it one that kernels launch? */
static bool exec_asks(const struct core_exec *exec)
{
    return exec->program.asks || exec->flags & CORE_EXEC_DEVICE_LAUNCH;
}

static bool is_row(const struct core_copy *copy)
{
    return copy->height == 1 && copy->depth == 1;
}

/* What an update may not change. */
static enum hd_status check_change(const struct core_exec *exec, const struct core_body *from,
                                   const struct core_body *to)
{
    const struct core_context *ctx = core_body_context(to);

    if (from->type != to->type)
        return hd_error(HD_BAD_ARG, "the node is of another type");
    if (from->type == CORE_NODE_ALLOC || from->type == CORE_NODE_FREE ||
        from->type == CORE_NODE_CONDITIONAL)
        return hd_error(HD_BAD_ARG, "memory and conditional nodes do not change");
    if (core_node_has_semaphores(from->type) && from->semaphores.n != to->semaphores.n)
        return hd_error(HD_BAD_ARG, "the number of the node's semaphores cannot change");
    if (ctx && ctx != exec->ctx && to->type != CORE_NODE_WAIT)
        return hd_error(HD_BAD_ARG, "the node's context cannot change");
    /* cuGraphExecMemcpyNodeSetParams(): in one dimension; cuGraphExecMemsetNodeSetParams(). */
    const struct core_copy *have = &from->copy.copy, *want = &to->copy.copy;
    if (to->type == CORE_NODE_FILL && !core_fill_may_become(&from->fill, &to->fill))
        return hd_error(HD_BAD_ARG, "a fill in two dimensions does not change its size");
    if (to->type == CORE_NODE_COPY && (!is_row(have) || !is_row(want)))
        return hd_error(HD_BAD_ARG, "a copy in several dimensions does not change");
    if (to->type == CORE_NODE_COPY && !core_copy_may_become(have, want))
        return hd_error(HD_BAD_ARG, "a copy stays between the kinds of memory it has");
    if (to->type == CORE_NODE_KERNEL &&
        !core_kernel_may_become(&from->kernel, &to->kernel, exec_asks(exec)))
        return hd_error(HD_BAD_ARG, "the kernel calls the runtime in other ways than the first");
    if (exec->flags & CORE_EXEC_DEVICE_LAUNCH && !core_upload_is_work(to))
        return hd_error(HD_BAD_ARG, "graphs launched by the device cannot do that");
    return HD_OK;
}

static enum hd_status body_set_locked(struct core_exec *exec, struct core_node *original,
                                      struct core_body *body)
{
    struct core_node *node;

    HD_TRY(node_of(exec, original, &node));
    HD_TRY(check_change(exec, &node->body, body));
    if (body->type == CORE_NODE_CHILD)
        HD_TRY(core_exec_child_replace_locked(exec, node->body.child, body->child));
    HD_TRY(core_node_body_set_locked(node, body));
    core_exec_changed(exec);
    return HD_OK;
}

enum hd_status core_exec_body_set(struct core_exec *exec, struct core_node *node,
                                  struct core_body *body)
{
    enum hd_status status;

    hd_lock_acquire(&exec->lock);
    hd_lock_acquire(&core_graph_lock);
    status = body_set_locked(exec, node, body);
    if (status != HD_OK)
        core_body_fini_locked(body);
    hd_lock_release(&core_graph_lock);
    hd_lock_release(&exec->lock);
    return status;
}

static enum hd_status enabled_locked(struct core_exec *exec, const struct core_node *original,
                                     struct core_node **out_node)
{
    HD_TRY(node_of(exec, original, out_node));
    switch ((*out_node)->body.type) {
    case CORE_NODE_KERNEL:
    case CORE_NODE_COPY:
    case CORE_NODE_FILL:
        return HD_OK;
    default:
        return hd_error(HD_BAD_ARG, "only kernels, copies and fills can be disabled");
    }
}

enum hd_status core_exec_enable(struct core_exec *exec, struct core_node *original, bool enable)
{
    struct core_node *node;
    enum hd_status status;

    hd_lock_acquire(&exec->lock);
    status = enabled_locked(exec, original, &node);
    if (status == HD_OK && node->is_disabled == enable) {
        node->is_disabled = !enable;
        core_exec_changed(exec);
    }
    hd_lock_release(&exec->lock);
    return status;
}

enum hd_status core_exec_is_enabled(struct core_exec *exec, struct core_node *original,
                                    bool *out_enabled)
{
    struct core_node *node;
    enum hd_status status;

    hd_lock_acquire(&exec->lock);
    status = enabled_locked(exec, original, &node);
    if (status == HD_OK)
        *out_enabled = !node->is_disabled;
    hd_lock_release(&exec->lock);
    return status;
}
