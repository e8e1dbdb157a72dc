/* Copies of graphs. */
#include <assert.h>

#include "core/graph/device_node.h"
#include "core/graph/graph.h"
#include "core/graph/graph_condition.h"
#include "core/graph/graph_parts.h"

/* ---- bodies */

enum hd_status core_body_child_locked(const struct core_graph *graph, struct core_body *out_body)
{
    struct core_body body = {.type = CORE_NODE_CHILD};

    if (graph->is_moved)
        return hd_error(HD_BAD_ARG, "the graph was moved into another");
    HD_TRY(core_graph_clone_locked(graph, true, &body.child));
    *out_body = body;
    return HD_OK;
}

static enum hd_status conditional_clone_locked(const struct core_body_conditional *from,
                                               struct core_body_conditional *to)
{
    enum hd_status status = HD_OK;

    HD_TRY(core_conditional_make_locked(from->condition, from->kind, from->n, to));
    for (size_t i = 0; i < from->n && status == HD_OK; i++) {
        status = core_graph_clone_locked(from->graphs[i], false, &to->graphs[i]);
        to->n += status == HD_OK;
    }
    if (status != HD_OK)
        core_conditional_fini_locked(to);
    return status;
}

enum hd_status core_body_clone_locked(const struct core_body *body, struct core_body *out_body)
{
    if (body->type != CORE_NODE_CHILD && body->type != CORE_NODE_CONDITIONAL)
        return core_body_leaf_clone(body, out_body);
    *out_body = *body;
    return body->type == CORE_NODE_CHILD
               ? core_graph_clone_locked(body->child, false, &out_body->child)
               : conditional_clone_locked(&body->conditional, &out_body->conditional);
}

/* ---- nodes and graphs */

/* Without edges: those it leads to may not exist yet. */
static enum hd_status node_clone_locked(const struct core_node *node, struct core_graph *graph)
{
    struct core_body body;
    struct core_node *copy;

    HD_TRY(core_body_clone_locked(&node->body, &body));
    copy = core_node_make(&body);
    if (!copy || !core_node_enlist(graph, copy)) {
        if (copy)
            core_node_end_locked(copy);
        return hd_error(HD_NO_MEMORY, "copy of a graph node");
    }
    copy->origin = node->id;
    copy->handle = node->handle;
    copy->is_disabled = node->is_disabled;
    return HD_OK;
}

/* The copy's nodes have the places of the original's. */
static bool edges_clone(const struct core_edge *edges, size_t n, struct core_graph *to,
                        struct core_edge *out_edges)
{
    for (size_t i = 0; i < n; i++)
        out_edges[i] = (struct core_edge){to->nodes.at[edges[i].node->index], edges[i].data};
    return true;
}

static bool node_connect(const struct core_node *node, struct core_graph *graph)
{
    struct core_node *copy = graph->nodes.at[node->index];

    if (!hd_vec_reserve(&copy->from, node->from.len) || !hd_vec_reserve(&copy->to, node->to.len))
        return false;
    copy->from.len = node->from.len;
    copy->to.len = node->to.len;
    return edges_clone(node->from.at, node->from.len, graph, copy->from.at) &&
           edges_clone(node->to.at, node->to.len, graph, copy->to.at);
}

/* A program's graph has device-updatable nodes of its own. */
static enum hd_status device_nodes_renew_locked(struct core_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.len; i++) {
        struct core_body *body = &graph->nodes.at[i]->body;
        size_t n;
        struct core_graph *const *inner = core_body_graphs(body, &n);

        if (body->type == CORE_NODE_KERNEL && body->kernel.device_node) {
            core_device_node_drop(body->kernel.device_node);
            body->kernel.device_node = NULL;
            HD_TRY(core_body_make_updatable(&body->kernel));
        }
        for (size_t k = 0; k < n; k++)
            HD_TRY(device_nodes_renew_locked(inner[k]));
    }
    return HD_OK;
}

static void publish_locked(struct core_graph *graph)
{
    core_object_publish(&graph->object);
    for (size_t i = 0; i < graph->nodes.len; i++) {
        struct core_node *node = graph->nodes.at[i];
        struct core_graph *const *inner;
        size_t n;

        core_object_publish(&node->object);
        node->handle = core_node_handle(node);
        inner = core_body_graphs(&node->body, &n);
        for (size_t k = 0; k < n; k++) {
            publish_locked(inner[k]);
            if (node->body.type == CORE_NODE_CONDITIONAL)
                node->body.conditional.handles[k] = core_graph_handle(inner[k]);
        }
    }
}

static enum hd_status fill_locked(const struct core_graph *from, struct core_graph *to)
{
    if (!hd_vec_reserve(&to->conditions, from->conditions.len))
        return hd_error(HD_NO_MEMORY, "copy of a graph");
    for (size_t i = 0; i < from->conditions.len; i++)
        to->conditions.at[to->conditions.len++] = core_condition_ref_locked(from->conditions.at[i]);
    for (size_t i = 0; i < from->nodes.len; i++)
        HD_TRY(node_clone_locked(from->nodes.at[i], to));
    for (size_t i = 0; i < from->nodes.len; i++)
        if (!node_connect(from->nodes.at[i], to))
            return hd_error(HD_NO_MEMORY, "copy of a graph");
    if (!hd_vec_reserve(&to->users, from->users.len))
        return hd_error(HD_NO_MEMORY, "copy of a graph");
    for (size_t i = 0; i < from->users.len; i++) {
        const struct core_graph_user *user = &from->users.at[i];
        HD_TRY(core_user_object_retain(user->object, user->count));
        core_user_object_ref(user->object);
        to->users.at[to->users.len++] = *user;
    }
    return HD_OK;
}

enum hd_status core_graph_clone_locked(const struct core_graph *graph, bool publish,
                                       struct core_graph **out_graph)
{
    struct core_graph *copy;
    enum hd_status status;

    assert(hd_lock_held(&core_graph_lock));
    if (publish && core_graph_has_memory_locked(graph))
        return hd_error(HD_BAD_ARG, "a graph that allocates or frees memory cannot be copied");
    copy = core_graph_make();
    if (!copy)
        return hd_error(HD_NO_MEMORY, "copy of a graph");
    copy->origin = graph->id;
    status = fill_locked(graph, copy);
    if (status == HD_OK && publish)
        status = device_nodes_renew_locked(copy);
    if (status != HD_OK) {
        core_graph_discard_locked(copy);
        return status;
    }
    if (publish)
        publish_locked(copy);
    *out_graph = copy;
    return HD_OK;
}

struct core_node *core_graph_find_locked(const struct core_graph *graph, uint64_t origin)
{
    for (size_t i = 0; i < graph->nodes.len; i++)
        if (graph->nodes.at[i]->origin == origin)
            return graph->nodes.at[i];
    return NULL;
}
