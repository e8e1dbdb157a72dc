/* Graphs: their nodes and edges. */
#include <assert.h>

#include "base/mem.h"
#include "core/graph/device_node.h"
#include "core/graph/graph.h"
#include "core/graph/graph_condition.h"
#include "core/graph/graph_parts.h"

struct hd_lock core_graph_lock = HD_LOCK_INIT(GRAPH, "graphs");

static uint64_t graph_next_id(void)
{
    static _Atomic uint64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* ---- life */

struct core_graph *core_graph_make(void)
{
    struct core_graph *graph = core_handle_alloc(CORE_GRAPH);

    if (graph)
        graph->id = graph_next_id();
    return graph;
}

enum hd_status core_graph_create(struct core_graph **out_graph)
{
    struct core_graph *graph = core_graph_make();

    if (!graph)
        return hd_error(HD_NO_MEMORY, "graph");
    core_object_publish(&graph->object);
    *out_graph = core_graph_ref(graph);
    return HD_OK;
}

enum hd_status core_node_check_locked(const struct core_node *node)
{
    assert(hd_lock_held(&core_graph_lock));
    return node->graph ? HD_OK : hd_error(HD_BAD_ARG, "the graph node was destroyed");
}

/* From the list to nowhere; others may still have references to the empty node. */
void core_node_end_locked(struct core_node *node)
{
    node->graph = NULL;
    core_body_fini_locked(&node->body);
    (void)core_object_retire(&node->object); /* false: it never had a handle */
    core_node_unref(node);
}

void core_node_finalise(struct core_node *node)
{
    assert(!node->graph);
    hd_vec_fini(&node->from);
    hd_vec_fini(&node->to);
    core_handle_free(node);
}

static void graph_clear_locked(struct core_graph *graph)
{
    assert(hd_lock_held(&core_graph_lock));
    while (graph->nodes.len)
        core_node_end_locked(hd_vec_pop(&graph->nodes));
    while (graph->conditions.len)
        core_condition_unref_locked(hd_vec_pop(&graph->conditions));
}

/* Its user objects are left to the finaliser, which has no lock. */
void core_graph_discard_locked(struct core_graph *graph)
{
    graph_clear_locked(graph);
    (void)core_object_retire(&graph->object);
    core_graph_unref(graph);
}

bool core_graph_destroy(struct core_graph *graph)
{
    bool mine;

    hd_lock_acquire(&core_graph_lock);
    mine = !graph->owner && !graph->is_moved && !graph->is_capturing &&
           core_object_retire(&graph->object);
    if (mine)
        graph_clear_locked(graph);
    hd_lock_release(&core_graph_lock);
    if (mine)
        core_graph_unref(graph);
    return mine;
}

void core_graph_finalise(struct core_graph *graph)
{
    assert(!graph->nodes.len);
    core_users_release(graph->users.at, graph->users.len);
    hd_vec_fini(&graph->users);
    hd_vec_fini(&graph->conditions);
    hd_vec_fini(&graph->nodes);
    core_handle_free(graph);
}

/* ---- graphs inside of nodes */

/* Is it the graph, or does the graph contain it? */
static bool graph_is_inside(const struct core_graph *graph, const struct core_graph *of)
{
    while (graph != of && graph->owner)
        graph = graph->owner->graph;
    return graph == of;
}

enum hd_status core_body_moved_locked(struct core_graph *graph, const struct core_graph *parent,
                                      struct core_body *out_body)
{
    assert(hd_lock_held(&core_graph_lock));
    if (graph->owner || graph->is_moved || graph->is_capturing)
        return hd_error(HD_BAD_ARG, "the graph is part of another, or is captured to");
    if (graph_is_inside(parent, graph))
        return hd_error(HD_BAD_ARG, "a graph cannot be moved into itself");
    graph->is_moved = true; /* nobody destroys it from here on */
    *out_body = (struct core_body){.type = CORE_NODE_CHILD, .is_offered = true, .child = graph};
    return HD_OK;
}

static void graph_child_fini_locked(struct core_body *body)
{
    if (!body->is_offered) {
        core_graph_discard_locked(body->child);
        return;
    }
    body->child->owner = NULL;
    body->child->is_moved = false;
}

void core_conditional_fini_locked(struct core_body_conditional *body)
{
    for (size_t i = 0; i < body->n; i++)
        core_graph_discard_locked(body->graphs[i]);
    hd_free(body->graphs);
    core_condition_unref_locked(body->condition);
}

enum hd_status core_conditional_make_locked(struct core_condition *condition, int kind, size_t n,
                                            struct core_body_conditional *out_body)
{
    *out_body = (struct core_body_conditional){.condition = condition, .kind = kind};
    out_body->graphs = hd_alloc_array(2 * n, sizeof(void *));
    if (!out_body->graphs)
        return hd_error(HD_NO_MEMORY, "conditional node");
    out_body->handles = (void **)(out_body->graphs + n);
    core_condition_ref_locked(condition);
    return HD_OK;
}

enum hd_status core_body_conditional_locked(struct core_condition *condition, int kind, size_t n,
                                            struct core_body *out_body)
{
    struct core_body body = {.type = CORE_NODE_CONDITIONAL};
    struct core_body_conditional *c = &body.conditional;

    if (condition->is_used)
        return hd_error(HD_BAD_ARG, "the conditional handle has a node already");
    HD_TRY(core_conditional_make_locked(condition, kind, n, c));
    while (c->n < n && (c->graphs[c->n] = core_graph_make())) {
        core_object_publish(&c->graphs[c->n]->object);
        c->handles[c->n] = core_graph_handle(c->graphs[c->n]);
        c->n++;
    }
    if (c->n < n) {
        core_conditional_fini_locked(c);
        return hd_error(HD_NO_MEMORY, "conditional node");
    }
    *out_body = body;
    return HD_OK;
}

void core_body_fini_locked(struct core_body *body)
{
    assert(hd_lock_held(&core_graph_lock));
    if (body->type == CORE_NODE_CHILD)
        graph_child_fini_locked(body);
    else if (body->type == CORE_NODE_CONDITIONAL)
        core_conditional_fini_locked(&body->conditional);
    else
        core_body_leaf_fini(body);
    body->type = CORE_NODE_EMPTY;
}

void core_body_fini(struct core_body *body)
{
    hd_lock_acquire(&core_graph_lock);
    core_body_fini_locked(body);
    hd_lock_release(&core_graph_lock);
}

bool core_graph_has_memory_locked(const struct core_graph *graph)
{
    bool has = false;

    assert(hd_lock_held(&core_graph_lock));
    for (size_t i = 0; i < graph->nodes.len && !has; i++) {
        const struct core_body *body = &graph->nodes.at[i]->body;

        size_t n;
        struct core_graph *const *inner = core_body_graphs(body, &n);

        has = body->type == CORE_NODE_ALLOC || body->type == CORE_NODE_FREE;
        while (n-- && !has)
            has = core_graph_has_memory_locked(inner[n]);
    }
    return has;
}

/* ---- edges */

/* Its place in a list of edges, or the list's length. */
static size_t graph_edge_find(const struct core_edge *edges, size_t n, const struct core_node *node,
                              const struct core_edge_data *data)
{
    size_t i = 0;

    while (i < n &&
           (edges[i].node != node || (data && memcmp(&edges[i].data, data, sizeof(*data)))))
        i++;
    return i;
}

/* What is behind must go on in its order: programs see it. */
static void graph_edge_cut(struct core_edge *edges, size_t *len, size_t at)
{
    assert(at < *len);
    memmove(edges + at, edges + at + 1, (--*len - at) * sizeof(*edges));
}

static enum hd_status graph_edge_check(const struct core_graph *graph, const struct core_node *from,
                                       const struct core_node *to,
                                       const struct core_edge_data *data)
{
    if (from->graph != graph || to->graph != graph)
        return hd_error(HD_BAD_ARG, "a node of the edge belongs to another graph");
    if (from == to)
        return hd_error(HD_BAD_ARG, "an edge from a node to itself");
    /* The API's rules: plain edges have no ports, programmatic ones begin at a kernel's port. */
    static const uint8_t zeros[sizeof(data->reserved)];
    bool kernels = from->body.type == CORE_NODE_KERNEL && to->body.type == CORE_NODE_KERNEL;
    if (data->to_port || memcmp(data->reserved, zeros, sizeof(zeros)) || data->type > 1)
        return hd_error(HD_BAD_ARG, "edge data: to_port and reserved bytes are 0, types 0 and 1");
    if (data->type && !kernels)
        return hd_error(HD_BAD_ARG, "edge data: programmatic edges join two kernel nodes");
    if (data->from_port > (from->body.type == CORE_NODE_KERNEL ? 2 : 0))
        return hd_error(HD_BAD_ARG, "edge data: the node has no port %u", data->from_port);
    if (data->type && !data->from_port)
        return hd_error(HD_BAD_ARG, "edge data: a programmatic edge needs a port");
    return HD_OK;
}

static enum hd_status graph_edge_add(struct core_node *from, struct core_node *to,
                                     const struct core_edge_data *data)
{
    if (!hd_vec_reserve(&from->to, from->to.len + 1) ||
        !hd_vec_push(&to->from, (struct core_edge){from, *data}))
        return hd_error(HD_NO_MEMORY, "edge of a graph");
    if (!hd_vec_push(&from->to, (struct core_edge){to, *data}))
        assert(!"there is room");
    return HD_OK;
}

static void graph_edge_remove(struct core_node *from, struct core_node *to,
                              const struct core_edge_data *data)
{
    graph_edge_cut(from->to.at, &from->to.len,
                   graph_edge_find(from->to.at, from->to.len, to, data));
    graph_edge_cut(to->from.at, &to->from.len,
                   graph_edge_find(to->from.at, to->from.len, from, data));
}

static const struct core_edge_data plain;

static const struct core_edge_data *graph_edge_data_at(const struct core_edge_data *data, size_t i)
{
    return data ? &data[i] : &plain;
}

enum hd_status core_edges_add_locked(struct core_graph *graph, struct core_node *const *from,
                                     struct core_node *const *to, const struct core_edge_data *data,
                                     size_t n)
{
    enum hd_status status = HD_OK;
    size_t done = 0;

    assert(hd_lock_held(&core_graph_lock));
    for (; done < n && status == HD_OK; done += status == HD_OK) {
        status = graph_edge_check(graph, from[done], to[done], graph_edge_data_at(data, done));
        if (status == HD_OK && graph_edge_find(to[done]->from.at, to[done]->from.len, from[done],
                                               NULL) < to[done]->from.len)
            status = hd_error(HD_BAD_ARG, "edge %zu exists already", done);
        if (status == HD_OK)
            status = graph_edge_add(from[done], to[done], graph_edge_data_at(data, done));
    }
    if (status != HD_OK)
        while (done--)
            graph_edge_remove(from[done], to[done], graph_edge_data_at(data, done));
    return status;
}

enum hd_status core_edges_remove_locked(struct core_graph *graph, struct core_node *const *from,
                                        struct core_node *const *to,
                                        const struct core_edge_data *data, size_t n)
{
    assert(hd_lock_held(&core_graph_lock));
    if (core_graph_has_memory_locked(graph))
        return hd_error(HD_BAD_ARG, "a graph that allocates or frees memory keeps its edges");
    for (size_t i = 0; i < n; i++) {
        if (from[i]->graph != graph || to[i]->graph != graph ||
            graph_edge_find(to[i]->from.at, to[i]->from.len, from[i],
                            graph_edge_data_at(data, i)) == to[i]->from.len)
            return hd_error(HD_BAD_ARG, "edge %zu does not exist", i);
        for (size_t k = 0; k < i; k++)
            if (from[k] == from[i] && to[k] == to[i])
                return hd_error(HD_BAD_ARG, "edge %zu is given twice", i);
    }
    for (size_t i = 0; i < n; i++)
        graph_edge_remove(from[i], to[i], graph_edge_data_at(data, i));
    return HD_OK;
}

size_t core_edges_count_locked(const struct core_graph *graph)
{
    size_t n = 0;

    assert(hd_lock_held(&core_graph_lock));
    for (size_t i = 0; i < graph->nodes.len; i++)
        n += graph->nodes.at[i]->to.len;
    return n;
}

/* ---- nodes */

struct core_node *core_node_make(struct core_body *body)
{
    struct core_node *node = core_handle_alloc(CORE_NODE);

    if (!node) {
        core_body_fini_locked(body);
        return NULL;
    }
    node->body = *body;
    node->id = graph_next_id();
    return node;
}

static void graphs_own(struct core_node *node)
{
    size_t n;
    struct core_graph *const *graphs = core_body_graphs(&node->body, &n);

    while (n--)
        graphs[n]->owner = node;
}

bool core_node_enlist(struct core_graph *graph, struct core_node *node)
{
    node->index = graph->nodes.len;
    if (!hd_vec_push(&graph->nodes, node))
        return false;
    node->graph = graph;
    graphs_own(node);
    return true;
}

static enum hd_status graph_node_connect(struct core_node *node, struct core_node *const *from,
                                         const struct core_edge_data *data, size_t n)
{
    enum hd_status status = HD_OK;

    for (size_t i = 0; i < n && status == HD_OK; i++)
        status = core_edges_add_locked(node->graph, &from[i], &node, data ? &data[i] : NULL, 1);
    return status;
}

static enum hd_status graph_node_memory_check(const struct core_graph *graph,
                                              const struct core_body *body)
{
    bool is_memory = body->type == CORE_NODE_ALLOC || body->type == CORE_NODE_FREE;

    if (is_memory && graph->owner)
        return hd_error(HD_BAD_ARG, "a graph that is part of another gets no memory nodes");
    bool again = false;
    for (size_t i = 0; i < graph->nodes.len && body->type == CORE_NODE_FREE && !again; i++) {
        const struct core_body *other = &graph->nodes.at[i]->body;
        again = other->type == CORE_NODE_FREE && other->memory == body->memory;
    }
    if (again)
        return hd_error(HD_BAD_ARG, "the graph frees this memory already");
    return HD_OK;
}

enum hd_status core_node_add_locked(struct core_graph *graph, struct core_body *body,
                                    struct core_node *const *from,
                                    const struct core_edge_data *data, size_t n,
                                    struct core_node **out_node)
{
    struct core_node *node = core_node_make(body);
    enum hd_status status;

    assert(hd_lock_held(&core_graph_lock));
    if (!node)
        return hd_error(HD_NO_MEMORY, "graph node");
    status = graph_node_memory_check(graph, &node->body);
    if (status != HD_OK) {
        core_node_end_locked(node);
        return status;
    }
    if (!core_node_enlist(graph, node)) {
        core_node_end_locked(node);
        return hd_error(HD_NO_MEMORY, "graph node");
    }
    status = graph_node_connect(node, from, data, n);
    if (status != HD_OK) {
        core_node_remove_locked(node);
        return status;
    }
    if (node->body.type == CORE_NODE_CONDITIONAL)
        node->body.conditional.condition->is_used = true;
    node->body.is_offered = false;
    core_object_publish(&node->object);
    node->handle = core_node_handle(node);
    *out_node = node;
    return HD_OK;
}

void core_node_remove_locked(struct core_node *node)
{
    assert(hd_lock_held(&core_graph_lock) && node->graph);
    while (node->from.len)
        graph_edge_remove(hd_vec_last(&node->from).node, node, &hd_vec_last(&node->from).data);
    while (node->to.len)
        graph_edge_remove(node, hd_vec_last(&node->to).node, &hd_vec_last(&node->to).data);
    /* The others keep their order, which programs see. */
    struct core_graph *graph = node->graph;
    memmove(graph->nodes.at + node->index, graph->nodes.at + node->index + 1,
            (--graph->nodes.len - node->index) * sizeof(graph->nodes.at[0]));
    for (size_t i = node->index; i < graph->nodes.len; i++)
        graph->nodes.at[i]->index = i;
    core_node_end_locked(node);
}

enum hd_status core_node_body_set_locked(struct core_node *node, struct core_body *body)
{
    struct core_body before = node->body;

    assert(body->type == before.type);
    if (body->type == CORE_NODE_KERNEL) {
        /* Parameters are new; what attributes say of the node stays, and must fit them. */
        struct core_body_kernel *kernel = &body->kernel;
        const struct core_device_node *changed = before.kernel.device_node;
        kernel->launch.cooperative = before.kernel.launch.cooperative;
        memcpy(kernel->launch.cluster, before.kernel.launch.cluster,
               sizeof(kernel->launch.cluster));
        if (changed && kernel->function->entry->params_B > changed->room_B)
            return hd_error(HD_NOT_SUPPORTED, "%s: the parameters of a device-updatable node grow",
                            kernel->function->entry->name);
        HD_TRY(core_launch_check(kernel->function, &kernel->launch));
        struct core_body_kernel *from = &before.kernel;
        struct core_body_kernel *to = &body->kernel;
        assert(!to->attributes && !to->device_node);
        to->attributes = from->attributes;
        to->attribute_mask = from->attribute_mask;
        to->device_node = from->device_node;
        from->attributes = NULL;
        from->device_node = NULL;
    }
    node->body = *body;
    graphs_own(node);
    core_body_fini_locked(&before);
    return HD_OK;
}

/* ---- order */

/* Predecessors that are not in the order yet are counted in `mark`. */
enum hd_status core_graph_order(struct core_graph *graph, struct core_node **out_order)
{
    size_t done = 0, n = 0;

    for (size_t i = 0; i < graph->nodes.len; i++) {
        struct core_node *node = graph->nodes.at[i];

        node->mark = (uint32_t)node->from.len;
        if (!node->mark)
            out_order[n++] = node;
    }
    for (uint32_t level = 0; done < n; level++)
        for (size_t end = n; done < end; done++) {
            struct core_node *node = out_order[done];

            assert(node->mark == 0);
            node->mark = level;
            for (size_t i = 0; i < node->to.len; i++)
                if (--node->to.at[i].node->mark == 0)
                    out_order[n++] = node->to.at[i].node;
        }
    return n == graph->nodes.len ? HD_OK : hd_error(HD_BAD_ARG, "the graph has a cycle");
}
