/*
 * Updating an executable graph from another graph. Nodes correspond by the order in which they were
 * added, edges by the nodes they join; nothing changes unless everything may.
 */
#include <assert.h>
#include <string.h>

#include "core/graph/device_node.h"
#include "core/graph/graph_env.h"
#include "core/graph/graph_parts.h"
#include "ir/device_runtime.h"

/* Numbers are the API's. */
enum update_result {
    UPDATE_OK = 0,
    UPDATE_ERROR = 1,
    UPDATE_TOPOLOGY = 2,
    UPDATE_TYPE = 3,
    UPDATE_FUNCTION = 4,
    UPDATE_PARAMETERS = 5,
    UPDATE_UNSUPPORTED = 6,
    UPDATE_UNSUPPORTED_FUNCTION = 7,
    UPDATE_ATTRIBUTES = 8,
};

enum { ATTRIBUTE_PRIORITY = 8 };

static enum hd_status refuse(struct core_exec_failure *out_why, enum update_result result,
                             const struct core_node *node, const char *text)
{
    out_why->result = (int)result;
    out_why->node = node ? node->handle : NULL;
    return hd_error(HD_UPDATE_FAILED, "update of an executable graph: %s", text);
}

static enum hd_status check_edges(const struct core_node *have, const struct core_node *want,
                                  struct core_exec_failure *out_why)
{
    if (have->from.len != want->from.len)
        return refuse(out_why, UPDATE_TOPOLOGY, want, "a node has another number of dependencies");
    for (size_t i = 0; i < have->from.len; i++) {
        const struct core_edge *a = &have->from.at[i], *b = &want->from.at[i];

        if (a->node->index == b->node->index && !memcmp(&a->data, &b->data, sizeof(a->data)))
            continue;
        out_why->from = b->node->handle;
        return refuse(out_why, UPDATE_TOPOLOGY, want, "a node depends on others");
    }
    return HD_OK;
}

static enum hd_status check_graph(const struct core_exec *exec, const struct core_graph *have,
                                  const struct core_graph *want, struct core_exec_failure *out_why);

static int priority_of(const struct core_body_kernel *kernel)
{
    uint8_t value[CORE_STREAM_ATTRIBUTE_B];
    int priority;

    core_body_attribute_get(kernel, ATTRIBUTE_PRIORITY, value);
    memcpy(&priority, value, sizeof(priority));
    return priority;
}

static enum hd_status check_kernel(const struct core_exec *exec, const struct core_node *have,
                                   const struct core_node *want, struct core_exec_failure *out_why)
{
    bool asks = exec->program.asks || exec->flags & CORE_EXEC_DEVICE_LAUNCH;

    if (!core_kernel_may_become(&have->body.kernel, &want->body.kernel, asks))
        return refuse(out_why, UPDATE_UNSUPPORTED_FUNCTION, want,
                      "a kernel calls the runtime in other ways than the first");
    if (have->body.kernel.launch.cooperative != want->body.kernel.launch.cooperative)
        return refuse(out_why, UPDATE_ATTRIBUTES, want, "a cooperative launch or none");
    if (exec->flags & CORE_EXEC_USE_PRIORITY &&
        priority_of(&have->body.kernel) != priority_of(&want->body.kernel))
        return refuse(out_why, UPDATE_ATTRIBUTES, want, "another priority");
    return HD_OK;
}

bool core_kernel_may_become(const struct core_body_kernel *from, const struct core_body_kernel *to,
                            bool asks)
{
    uint64_t more = to->function->calls & ~from->function->calls;

    if (more & IR_RUNTIME_WORK && !(from->function->calls & IR_RUNTIME_WORK))
        return false;
    if (more & IR_RUNTIME_UPDATES && !(from->function->calls & IR_RUNTIME_UPDATES))
        return false;
    return asks || !(more & IR_RUNTIME_BIT(IR_RUNTIME_GraphLaunch));
}

bool core_fill_may_become(const struct core_body_fill *from, const struct core_body_fill *to)
{
    return (from->height == 1 && to->height == 1) ||
           (from->height == to->height && from->width == to->width && from->elem_B == to->elem_B &&
            from->pitch_B == to->pitch_B);
}

bool core_copy_may_become(const struct core_copy *from, const struct core_copy *to)
{
    return from->src_is_device == to->src_is_device && from->dst_is_device == to->dst_is_device &&
           from->names_array == to->names_array;
}

static enum hd_status check_memory(const struct core_node *have, const struct core_node *want,
                                   struct core_exec_failure *out_why)
{
    if (want->body.type == CORE_NODE_FILL &&
        !core_fill_may_become(&have->body.fill, &want->body.fill))
        return refuse(out_why, UPDATE_PARAMETERS, want,
                      "a fill in two dimensions changes its size");
    if (want->body.type == CORE_NODE_COPY &&
        !core_copy_may_become(&have->body.copy.copy, &want->body.copy.copy))
        return refuse(out_why, UPDATE_PARAMETERS, want, "a copy is of other kinds of memory");
    return HD_OK;
}

static enum hd_status check_node(const struct core_exec *exec, const struct core_node *have,
                                 const struct core_node *want, struct core_exec_failure *out_why)
{
    const struct core_context *its = core_body_context(&want->body);
    struct core_graph *const *mine, *const *theirs;
    size_t n;

    if (have->body.type != want->body.type)
        return refuse(out_why, UPDATE_TYPE, want, "a node is of another type");
    if ((want->body.type == CORE_NODE_ALLOC || want->body.type == CORE_NODE_FREE) &&
        have->body.memory != want->body.memory)
        return refuse(out_why, UPDATE_PARAMETERS, want, "a node allocates or frees other memory");
    if (want->body.type == CORE_NODE_CONDITIONAL &&
        (have->body.conditional.kind != want->body.conditional.kind ||
         have->body.conditional.n != want->body.conditional.n))
        return refuse(out_why, UPDATE_PARAMETERS, want, "a node chooses in another way");
    if (core_node_has_semaphores(want->body.type) &&
        have->body.semaphores.n != want->body.semaphores.n)
        return refuse(out_why, UPDATE_PARAMETERS, want, "a node has other numbers of semaphores");
    theirs = core_body_graphs(&want->body, &n);
    mine = core_body_graphs(&have->body, &n);
    for (size_t i = 0; i < n; i++)
        HD_TRY(check_graph(exec, mine[i], theirs[i], out_why));
    if (want->body.type == CORE_NODE_KERNEL)
        HD_TRY(check_kernel(exec, have, want, out_why));
    HD_TRY(check_memory(have, want, out_why));
    if (exec->flags & CORE_EXEC_DEVICE_LAUNCH && !core_upload_is_work(&want->body))
        return refuse(out_why, UPDATE_UNSUPPORTED, want, "graphs launched by the device lack this");
    if (!its || its == exec->ctx || want->body.type == CORE_NODE_WAIT)
        return HD_OK;
    return refuse(out_why,
                  want->body.type == CORE_NODE_KERNEL ? UPDATE_FUNCTION : UPDATE_PARAMETERS, want,
                  "a node is of another context");
}

static enum hd_status check_graph(const struct core_exec *exec, const struct core_graph *have,
                                  const struct core_graph *want, struct core_exec_failure *out_why)
{
    if (have->nodes.len != want->nodes.len)
        return refuse(out_why, UPDATE_TOPOLOGY, NULL, "the graphs differ in their number of nodes");
    for (size_t i = 0; i < have->nodes.len; i++) {
        HD_TRY(check_node(exec, have->nodes.at[i], want->nodes.at[i], out_why));
        HD_TRY(check_edges(have->nodes.at[i], want->nodes.at[i], out_why));
    }
    return HD_OK;
}

/* The copy takes the place of the old one's nodes; who they were copied from stays. */
static void origins_keep(const struct core_graph *from, struct core_graph *to)
{
    for (size_t i = 0; i < from->nodes.len; i++) {
        const struct core_node *a = from->nodes.at[i];
        struct core_node *b = to->nodes.at[i];
        struct core_graph *const *inner;
        size_t n;

        b->origin = a->origin;
        b->handle = a->handle;
        b->is_disabled = a->is_disabled;
        inner = core_body_graphs(&a->body, &n);
        for (size_t k = 0; k < n; k++)
            origins_keep(inner[k], core_body_graphs(&b->body, &n)[k]);
    }
}

enum hd_status core_exec_child_replace_locked(const struct core_exec *exec,
                                              const struct core_graph *have,
                                              struct core_graph *want)
{
    struct core_exec_failure why;

    assert(hd_lock_held(&core_graph_lock));
    if (core_graph_is_updatable_locked(have) || core_graph_is_updatable_locked(want))
        return hd_error(HD_BAD_ARG, "a child graph with device-updatable nodes");
    if (check_graph(exec, have, want, &why) != HD_OK)
        return HD_BAD_ARG; /* the message says why */
    origins_keep(have, want);
    return HD_OK;
}

static enum hd_status update_locked(struct core_exec *exec, struct core_graph *graph,
                                    struct core_exec_failure *out_why)
{
    struct core_graph *copy, *before = exec->graph;

    HD_TRY(core_graph_check_locked(graph));
    if (graph->is_moved)
        return hd_error(HD_BAD_ARG, "the graph was moved into another");
    if (core_graph_is_updatable_locked(before) || core_graph_is_updatable_locked(graph))
        return refuse(out_why, UPDATE_UNSUPPORTED, NULL, "a graph with device-updatable nodes");
    HD_TRY(check_graph(exec, before, graph, out_why));
    out_why->result = UPDATE_ERROR;
    HD_TRY(core_graph_clone_locked(graph, false, &copy));
    origins_keep(before, copy);
    exec->graph = copy;
    core_exec_changed(exec);
    core_graph_discard_locked(before);
    out_why->result = UPDATE_OK;
    return HD_OK;
}

enum hd_status core_exec_update(struct core_exec *exec, struct core_graph *graph,
                                struct core_exec_failure *out_why)
{
    enum hd_status status;

    *out_why = (struct core_exec_failure){.result = UPDATE_ERROR};
    hd_lock_acquire(&exec->lock);
    hd_lock_acquire(&core_graph_lock);
    status = update_locked(exec, graph, out_why);
    hd_lock_release(&core_graph_lock);
    hd_lock_release(&exec->lock);
    return status;
}
