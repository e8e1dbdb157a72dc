/* Graphs: life, nodes, edges. */
#include "api/driver/graph/graph.h"

#include <assert.h>
#include "base/mem.h"

/* ---- arrays of nodes */

CUresult graph_nodes_open(const CUgraphNode *handles, size_t n, struct graph_nodes *out_nodes)
{
    struct graph_nodes *nodes = out_nodes;

    if (n && !handles)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%zu graph nodes, but no array of them", n);
    nodes->at = n <= HD_COUNT_OF(nodes->few) ? nodes->few : hd_alloc_array(n, sizeof(*nodes->at));
    if (!nodes->at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (; nodes->n < n; nodes->n++) {
        nodes->at[nodes->n] = core_node_lookup(handles[nodes->n]);
        if (!nodes->at[nodes->n])
            return drv_error(CUDA_ERROR_INVALID_VALUE, "node %zu (%p) is not a live graph node",
                             nodes->n, (const void *)handles[nodes->n]);
    }
    return CUDA_SUCCESS;
}

void graph_nodes_close(struct graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        core_node_unref(nodes->at[i]);
    if (nodes->at != nodes->few)
        hd_free(nodes->at);
}

/* ---- graphs */

CUresult drv_cuGraphCreate(CUgraph *out, unsigned flags)
{
    struct core_graph *graph;
    enum hd_status status;

    API_CALL(cuGraphCreate);
    API_CHECK(out && !flags);
    status = core_graph_create(&graph);
    if (status == HD_OK)
        DRV_GIVE(graph, out, graph);
    return drv_result(status);
}

CUresult drv_cuGraphDestroy(CUgraph handle)
{
    API_CALL(cuGraphDestroy);
    API_GRAPH(graph, graph, handle);
    API_CHECK(core_graph_destroy(graph)); /* not one that is part of another, or captured to */
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphClone(CUgraph *out, CUgraph original)
{
    struct core_graph *clone;

    API_CALL(cuGraphClone);
    API_CHECK(out);
    API_GRAPH(graph, graph, original);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    API_TRY(drv_result(core_graph_clone_locked(graph, true, &clone)));
    *out = core_graph_handle(clone);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph handle)
{
    const struct core_node *found;

    API_CALL(cuGraphNodeFindInClone);
    API_CHECK(out);
    API_GRAPH(node, node, original);
    API_GRAPH(graph, clone, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_node_check_locked(node)));
    API_TRY(drv_result(core_graph_check_locked(clone)));
    API_CHECK(clone->origin == node->graph->id);
    found = core_graph_find_locked(clone, node->id);
    API_CHECK(found);
    *out = core_node_handle(found);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned flags)
{
    API_CALL(cuGraphDebugDotPrint);
    API_CHECK(path);
    API_CHECK(!(flags & ~0xffffu));
    API_GRAPH(graph, graph, handle);
    return drv_result(core_graph_dot(graph, path, flags));
}

/* ---- what it consists of */

/* Where a list goes: an array of `capacity` entries, or nowhere, and how many there are. */
struct list {
    CUgraphNode *nodes, *others;
    CUgraphEdgeData *data;
    size_t capacity, n;
    bool is_lossy; /* edge data were not asked for, and say something */
};

static struct list graph_list_of(CUgraphNode *nodes, CUgraphNode *others, CUgraphEdgeData *data,
                                 const size_t *count)
{
    return (struct list){nodes, others, data, nodes ? *count : 0, 0, false};
}

static void graph_list_add(struct list *list, const struct core_node *node,
                           const struct core_node *other, const struct core_edge_data *data)
{
    static const struct core_edge_data plain;
    size_t i = list->n++;

    if (data && !list->data && memcmp(data, &plain, sizeof(plain)) != 0)
        list->is_lossy = true;
    if (i >= list->capacity)
        return;
    list->nodes[i] = core_node_handle(node);
    if (list->others)
        list->others[i] = core_node_handle(other);
    if (list->data && data)
        memcpy(&list->data[i], data, sizeof(*data));
}

/* Entries that there are no nodes for become null. */
static CUresult graph_list_end(struct list *list, size_t *count)
{
    for (size_t i = list->n; i < list->capacity; i++) {
        list->nodes[i] = NULL;
        if (list->others)
            list->others[i] = NULL;
    }
    *count = list->nodes ? HD_MIN(list->n, list->capacity) : list->n;
    return list->nodes && list->is_lossy
               ? drv_error(CUDA_ERROR_LOSSY_QUERY, "edges have data that were not asked for")
               : CUDA_SUCCESS;
}

static CUresult graph_nodes_list(const char *name, CUgraph handle, CUgraphNode *nodes,
                                 size_t *count, bool roots)
{
    struct list list;

    API_CALL_NAMED(name);
    API_CHECK(count);
    API_GRAPH(graph, graph, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    list = graph_list_of(nodes, NULL, NULL, count);
    for (size_t i = 0; i < graph->nodes.len; i++)
        if (!roots || !graph->nodes.at[i]->from.len)
            graph_list_add(&list, graph->nodes.at[i], NULL, NULL);
    return graph_list_end(&list, count);
}

CUresult drv_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return graph_nodes_list("cuGraphGetNodes", graph, nodes, count, false);
}

CUresult drv_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return graph_nodes_list("cuGraphGetRootNodes", graph, nodes, count, true);
}

CUresult drv_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                                CUgraphEdgeData *data, size_t *count)
{
    struct list list;

    API_CALL(cuGraphGetEdges_v2);
    API_CHECK(count);
    API_CHECK(!from == !to && (from || !data));
    API_GRAPH(graph, graph, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    list = graph_list_of(from, to, data, count);
    for (size_t i = 0; i < graph->nodes.len; i++) {
        const struct core_node *node = graph->nodes.at[i];

        for (size_t k = 0; k < node->to.len; k++)
            graph_list_add(&list, node, node->to.at[k].node, &node->to.at[k].data);
    }
    return graph_list_end(&list, count);
}

CUresult drv_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return drv_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult graph_ends_list(const char *name, CUgraphNode handle, CUgraphNode *nodes,
                                CUgraphEdgeData *data, size_t *count, bool behind)
{
    struct list list;

    API_CALL_NAMED(name);
    API_CHECK(count);
    API_CHECK(nodes || !data);
    API_GRAPH(node, node, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_node_check_locked(node)));
    list = graph_list_of(nodes, NULL, data, count);
    for (size_t i = 0; i < (behind ? node->to.len : node->from.len); i++) {
        const struct core_edge *edge = behind ? &node->to.at[i] : &node->from.at[i];

        graph_list_add(&list, edge->node, NULL, &edge->data);
    }
    return graph_list_end(&list, count);
}

CUresult drv_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
                                           CUgraphEdgeData *data, size_t *count)
{
    return graph_ends_list("cuGraphNodeGetDependencies", node, nodes, data, count, false);
}

CUresult drv_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return drv_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult drv_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
                                             CUgraphEdgeData *data, size_t *count)
{
    return graph_ends_list("cuGraphNodeGetDependentNodes", node, nodes, data, count, true);
}

CUresult drv_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return drv_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult drv_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    API_CALL(cuGraphNodeGetType);
    API_CHECK(type);
    API_GRAPH(node, node, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_node_check_locked(node)));
    *type = (CUgraphNodeType)node->body.type;
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphDestroyNode(CUgraphNode handle)
{
    API_CALL(cuGraphDestroyNode);
    API_GRAPH(node, node, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_node_check_locked(node)));
    if (core_graph_has_memory_locked(node->graph))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "%s: a graph that allocates or frees memory keeps its nodes", api_name_);
    API_CHECK(node->body.type != CORE_NODE_KERNEL || !node->body.kernel.device_node);
    core_node_remove_locked(node);
    return CUDA_SUCCESS;
}

/* ---- edges */

static CUresult graph_edges_change(const char *name, CUgraph handle,
                                   const CUgraphNode *from_handles, const CUgraphNode *to_handles,
                                   const CUgraphEdgeData *data, size_t n, bool add)
{
    API_CALL_NAMED(name);
    API_GRAPH(graph, graph, handle);
    GRAPH_NODES(from, from_handles, n);
    GRAPH_NODES(to, to_handles, n);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    return drv_result(
        add ? core_edges_add_locked(graph, from.at, to.at, graph_edge_data(data), n)
            : core_edges_remove_locked(graph, from.at, to.at, graph_edge_data(data), n));
}

CUresult drv_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                       const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    return graph_edges_change("cuGraphAddDependencies", graph, from, to, data, n, true);
}

CUresult drv_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                    size_t n)
{
    return drv_cuGraphAddDependencies_v2(graph, from, to, NULL, n);
}

CUresult drv_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                          const CUgraphNode *to, const CUgraphEdgeData *data,
                                          size_t n)
{
    return graph_edges_change("cuGraphRemoveDependencies", graph, from, to, data, n, false);
}

CUresult drv_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
                                       const CUgraphNode *to, size_t n)
{
    return drv_cuGraphRemoveDependencies_v2(graph, from, to, NULL, n);
}

/* ---- user objects */

CUresult drv_cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned count,
                                unsigned flags)
{
    struct core_user_object *object;
    enum hd_status status;

    API_CALL(cuUserObjectCreate);
    API_CHECK(out && destroy && count && count <= INT32_MAX);
    API_CHECK(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    status = core_user_object_create(destroy, ptr, count, &object);
    if (status == HD_OK)
        DRV_GIVE(user_object, out, object);
    return drv_result(status);
}

CUresult drv_cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    API_CALL(cuUserObjectRetain);
    API_CHECK(count && count <= INT32_MAX);
    API_GRAPH(user_object, object, handle);
    return drv_result(core_user_object_retain(object, count));
}

CUresult drv_cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    API_CALL(cuUserObjectRelease);
    API_CHECK(count && count <= INT32_MAX);
    API_GRAPH(user_object, object, handle);
    return drv_result(core_user_object_release(object, count));
}

CUresult drv_cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count,
                                     unsigned flags)
{
    API_CALL(cuGraphRetainUserObject);
    API_CHECK(count && count <= INT32_MAX);
    API_CHECK(!(flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE));
    API_GRAPH(graph, graph, graph_handle);
    API_GRAPH(user_object, object, handle);
    return drv_result(core_graph_user_retain(graph, object, count, flags != 0));
}

CUresult drv_cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count)
{
    API_CALL(cuGraphReleaseUserObject);
    API_CHECK(count && count <= INT32_MAX);
    API_GRAPH(graph, graph, graph_handle);
    API_GRAPH(user_object, object, handle);
    return drv_result(core_graph_user_release(graph, object, count));
}
