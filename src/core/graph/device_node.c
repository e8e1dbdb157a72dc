/* See device_node.h. */
#include "core/graph/device_node.h"

#include <assert.h>

#include "base/mem.h"
#include "hal/packet.h"

/* Another kernel may be given to the node, whose parameters are larger. */
#define ROOM_MIN_B 4096u

static struct hd_lock lock = HD_LOCK_INIT(LEAF, "device-updatable nodes");

/* ---- life */

struct core_device_node *core_device_node_create(struct core_device *device, uint32_t params_B)
{
    struct core_device_node *node = core_handle_alloc(CORE_DEVICE_NODE);

    if (!node)
        return NULL;
    node->device = device;
    node->params_B = params_B;
    node->room_B = HD_MAX(params_B, ROOM_MIN_B);
    node->block = hd_alloc(sizeof(*node->block) + node->room_B);
    if (!node->block) {
        core_device_node_unref(node);
        return NULL;
    }
    memset(node->block, 0, sizeof(*node->block) + node->room_B);
    atomic_init(&node->holders, 1);
    core_object_publish(&node->object);
    return node;
}

struct core_device_node *core_device_node_hold(struct core_device_node *node)
{
    atomic_fetch_add(&node->holders, 1);
    return node;
}

void core_device_node_drop(struct core_device_node *node)
{
    if (!node || atomic_fetch_sub(&node->holders, 1) > 1)
        return;
    (void)core_object_retire(&node->object);
    core_device_node_unref(node);
}

/* A kernel that found the handle still has the lock. */
void core_device_node_finalise(struct core_device_node *node)
{
    hd_lock_acquire(&lock);
    hd_free(node->block);
    node->block = NULL;
    hd_lock_release(&lock);
    core_handle_free(node);
}

void core_device_node_set(struct core_device_node *node, const struct hal_dispatch *p,
                          const uint8_t *params, bool enabled)
{
    assert(p->params_B <= node->room_B);
    hd_lock_acquire(&lock);
    node->params_B = p->params_B;
    node->block->enabled = enabled;
    memcpy(node->block->grid, p->grid, sizeof(node->block->grid));
    memcpy(node->block + 1, params, p->params_B);
    hd_lock_release(&lock);
}

/* ---- changes by kernels */

/* While the lock is held a node that is live keeps its block. */
static const struct core_device_node *find_locked(const void *handle)
{
    assert(hd_lock_held(&lock));
    return core_handle_peek(CORE_DEVICE_NODE, handle);
}

bool core_device_node_enable(const void *handle, bool enabled)
{
    const struct core_device_node *node;

    hd_lock_acquire(&lock);
    node = find_locked(handle);
    if (node)
        node->block->enabled = enabled;
    hd_lock_release(&lock);
    return node != NULL;
}

static bool grid_fits(const struct core_device_node *node, const uint32_t grid[3])
{
    struct core_launch launch = {.block = {1, 1, 1}};

    memcpy(launch.grid, grid, sizeof(launch.grid));
    return core_launch_fits(node->device, &launch);
}

bool core_device_node_set_grid(const void *handle, const uint32_t grid[3])
{
    const struct core_device_node *node;
    bool fits;

    hd_lock_acquire(&lock);
    node = find_locked(handle);
    fits = node && grid_fits(node, grid);
    if (fits)
        memcpy(node->block->grid, grid, sizeof(node->block->grid));
    hd_lock_release(&lock);
    return fits;
}

bool core_device_node_set_param(const void *handle, uint64_t offset_B, const void *value,
                                uint64_t size_B)
{
    const struct core_device_node *node;
    bool fits;

    hd_lock_acquire(&lock);
    node = find_locked(handle);
    fits = node && offset_B <= node->params_B && size_B <= node->params_B - offset_B;
    if (fits && size_B)
        memcpy((uint8_t *)(node->block + 1) + offset_B, value, size_B);
    hd_lock_release(&lock);
    return fits;
}

/* ---- graphs that have such nodes */

typedef bool visit_fn(struct core_device_node *node);

/* Until a visit answers true; depth first. */
static bool visit_locked(const struct core_graph *graph, visit_fn *visit)
{
    assert(hd_lock_held(&core_graph_lock));
    for (size_t i = 0; i < graph->nodes.len; i++) {
        const struct core_body *body = &graph->nodes.at[i]->body;
        size_t n;
        struct core_graph *const *inner = core_body_graphs(body, &n);

        if (body->type == CORE_NODE_KERNEL && body->kernel.device_node &&
            visit(body->kernel.device_node))
            return true;
        for (size_t k = 0; k < n; k++)
            if (visit_locked(inner[k], visit))
                return true;
    }
    return false;
}

static bool is_one(struct core_device_node *node)
{
    (void)node;
    return true;
}

static bool is_instantiated(struct core_device_node *node)
{
    return node->is_instantiated;
}

static bool take(struct core_device_node *node)
{
    node->is_instantiated = true;
    return false;
}

static bool give(struct core_device_node *node)
{
    node->is_instantiated = false;
    return false;
}

bool core_graph_is_updatable_locked(const struct core_graph *graph)
{
    return visit_locked(graph, is_one);
}

enum hd_status core_graph_updatable_take_locked(const struct core_graph *graph)
{
    if (visit_locked(graph, is_instantiated))
        return hd_error(HD_BAD_ARG,
                        "a graph with device-updatable nodes has one executable graph at a time");
    (void)visit_locked(graph, take);
    return HD_OK;
}

void core_graph_updatable_give_locked(const struct core_graph *graph)
{
    (void)visit_locked(graph, give);
}
