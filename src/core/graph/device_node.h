/*
 * Kernel nodes that kernels may change (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE): whether
 * they run, on which grid, with which parameters. What can be changed lies in a block of its own
 * that the dispatch reads when it begins (HAL_FLAG_INDIRECT), so a change by a kernel in front of
 * it has its effect in the same launch, and stays until the host changes the node.
 *
 *     node ──► core_device_node ──► hal_indirect, parameters     ◄── the executable graph's packet
 *                     ▲ its handle: cudaGraphDeviceNode_t of kernels
 *
 * Owners: the node and its copies in executable graphs hold it; when the last of them goes, so does
 * the handle. Such a graph is instantiated once at a time. Threads: a lock of its own, rank LEAF,
 * for changes by kernels and for making the block; the device reads without one, ordered by the
 * graph's edges.
 */
#ifndef HD_CORE_GRAPH_DEVICE_NODE_H
#define HD_CORE_GRAPH_DEVICE_NODE_H

#include "core/graph/graph.h"

struct hal_dispatch;
struct hal_indirect;

struct core_device_node {
    struct core_object object;
    struct core_device *device;
    struct hal_indirect *block; /* params_B bytes of parameters follow it, and room for more */
    uint32_t params_B;
    uint32_t room_B;
    _Atomic unsigned holders;
    bool is_instantiated; /* core_graph_lock */
};

/* Of a kernel node, its first holder. NULL: no memory. */
struct core_device_node *core_device_node_create(struct core_device *device, uint32_t params_B);
struct core_device_node *core_device_node_hold(struct core_device_node *node);
void core_device_node_drop(struct core_device_node *node); /* or NULL */
/* What the host says: the next launch begins with that. Parameters for which there is room. */
void core_device_node_set(struct core_device_node *node, const struct hal_dispatch *p,
                          const uint8_t *params, bool enabled);

/* Changes by kernels, through a handle of any value. False: no such node, or it does not fit. */
bool core_device_node_enable(const void *handle, bool enabled);
bool core_device_node_set_grid(const void *handle, const uint32_t grid[3]);
bool core_device_node_set_param(const void *handle, uint64_t offset_B, const void *value,
                                uint64_t size_B);

/* Has the graph such nodes, also inside of others? */
bool core_graph_is_updatable_locked(const struct core_graph *graph);
/* HD_BAD_ARG: one is instantiated already. */
enum hd_status core_graph_updatable_take_locked(const struct core_graph *graph) HD_MUST_CHECK;
void core_graph_updatable_give_locked(const struct core_graph *graph);

#endif
