/* What the driver's files about graphs share. */
#ifndef HD_API_DRIVER_GRAPH_GRAPH_H
#define HD_API_DRIVER_GRAPH_GRAPH_H

#include "api/driver/driver.h"
#include "core/graph/graph.h"

/* API_HANDLE for graphs, their nodes and what is made of them: the documented error is another. */
#define API_GRAPH(kind, object, handle)                                                            \
    __attribute__((cleanup(core_##kind##_unref_at))) struct core_##kind *object =                  \
        core_##kind##_lookup(handle);                                                              \
    do {                                                                                           \
        if (HD_UNLIKELY(!object))                                                                  \
            return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %p is not a live " #kind, api_name_,   \
                             (const void *)(handle));                                              \
    } while (0)

static inline void graph_lock_release(struct hd_lock **lock)
{
    hd_lock_release(*lock);
}
/* Keeps graphs still until the block ends. */
#define GRAPH_LOCK()                                                                               \
    hd_lock_acquire(&core_graph_lock);                                                             \
    __attribute__((cleanup(graph_lock_release), unused)) struct hd_lock *graph_lock_ =             \
        &core_graph_lock

/* Nodes behind an array of handles, with references. */
struct graph_nodes {
    struct core_node **at;
    size_t n;
    struct core_node *few[8];
};
CUresult graph_nodes_open(const CUgraphNode *handles, size_t n, struct graph_nodes *out_nodes);
void graph_nodes_close(struct graph_nodes *nodes);
#define GRAPH_NODES(nodes, handles, n)                                                             \
    __attribute__((cleanup(graph_nodes_close))) struct graph_nodes nodes = {0};                    \
    API_TRY(graph_nodes_open((handles), (n), &nodes))

_Static_assert(sizeof(CUgraphEdgeData) == sizeof(struct core_edge_data), "the same bytes");
static inline const struct core_edge_data *graph_edge_data(const CUgraphEdgeData *data)
{
    return (const struct core_edge_data *)data;
}

/* ---- parameters of nodes, to bodies and back (graph_params.c, graph_memory.c) */

/* Declares `body`, that of a node of the type; graphs are still until the block ends. */
#define NODE_BODY(name, handle, wanted)                                                            \
    API_GRAPH(node, name##_node_, handle);                                                         \
    GRAPH_LOCK();                                                                                  \
    API_TRY(drv_result(core_node_check_locked(name##_node_)));                                     \
    struct core_body *name = &name##_node_->body;                                                  \
    if (name->type != (wanted))                                                                    \
    return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: the node is of another type", api_name_)

CUresult graph_body_kernel(const CUDA_KERNEL_NODE_PARAMS *params, struct core_body *out_body);
CUresult graph_body_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct core_body *out_body);
CUresult graph_body_copy(const CUDA_MEMCPY3D *params, CUcontext ctx, struct core_body *out_body);
CUresult graph_body_fill(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx,
                         struct core_body *out_body);
CUresult graph_body_host(const CUDA_HOST_NODE_PARAMS *params, struct core_body *out_body);
CUresult graph_body_event(enum core_node_type type, CUevent event, struct core_body *out_body);
CUresult graph_body_child(CUgraph child, struct core_body *out_body);
CUresult graph_body_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params, struct core_body *out_body);
CUresult graph_body_signals(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params,
                            struct core_body *out_body);
CUresult graph_body_waits(const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params, struct core_body *out_body);
/* Writes the address, too. */
CUresult graph_body_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct core_body *out_body);
CUresult graph_body_free(CUdeviceptr va, struct core_body *out_body);
/* Writes the graphs of the node, too. */
CUresult graph_body_conditional(CUgraph graph, CUDA_CONDITIONAL_NODE_PARAMS *params,
                                struct core_body *out_body);
/* CUDA_ERROR_INVALID_VALUE where reserved words are not 0. */
CUresult graph_params_check(const CUgraphNodeParams *p);
/*
 * Of any other kind, as cuGraphAddNode() takes it; what the node gives is written to it. `graph`:
 * where the node will be; NULL: a node changes, and no graph moves.
 */
CUresult graph_body_any(CUgraph graph, CUgraphNodeParams *params, struct core_body *out_body);

#endif
