/* Graphs that kernels launch and change. See cdp_calls.h. */
#include "core/cdp/cdp_calls.h"

#include "core/graph/device_node.h"
#include "core/graph/graph_env.h"

/* cudaStream_t: the ways to launch a graph. */
#define STREAM_GRAPH_SHIFT 56
static const enum core_env_mode modes[] = {[1] = CORE_ENV_TAIL, CORE_ENV_FORGET, CORE_ENV_SIBLING};

uint64_t core_cdp_CurrentGraphExec(const struct core_cdp_call *call)
{
    return (uintptr_t)core_env_current(call->ctx, call->io->grid_id);
}

uint64_t core_cdp_GraphLaunch(const struct core_cdp_call *call)
{
    uint64_t graph = call->io->args[0], stream = call->io->args[1];
    uint64_t mode = stream >> STREAM_GRAPH_SHIFT;

    if (!mode || mode >= HD_COUNT_OF(modes) || stream != mode << STREAM_GRAPH_SHIFT)
        return cudaErrorInvalidValue;
    const enum core_env_answer answer =
        core_env_launch(call->ctx, call->io->grid_id, (const void *)(uintptr_t)graph, modes[mode]);
    switch (answer) {
    case CORE_ENV_OK:
        return cudaSuccess;
    case CORE_ENV_NO_MEMORY:
        return cudaErrorMemoryAllocation;
    case CORE_ENV_TOO_MANY:
        return cudaErrorLaunchPendingCountExceeded;
    case CORE_ENV_REFUSED:
        break;
    }
    return cudaErrorInvalidValue;
}

/* ---- updates of nodes */

static const void *handle_of(uint64_t word)
{
    return (const void *)(uintptr_t)word;
}

static uint64_t done(bool fits)
{
    return fits ? cudaSuccess : cudaErrorInvalidValue;
}

/* Read in pieces: no lock is held meanwhile. Nothing has changed when not all of it fits. */
static uint64_t param_set(const struct core_cdp_call *call, uint64_t node, uint64_t offset_B,
                          uint64_t va, uint64_t size_B)
{
    uint8_t piece[256];

    if (offset_B > CORE_PARAMS_MAX_B || size_B > CORE_PARAMS_MAX_B - offset_B ||
        !core_device_node_set_param(handle_of(node), offset_B + size_B, NULL, 0))
        return cudaErrorInvalidValue;
    for (uint64_t at = 0; at < size_B; at += sizeof(piece)) {
        uint32_t n_B = (uint32_t)HD_MIN(size_B - at, sizeof(piece));

        if (!core_cdp_read(call, va + at, piece, n_B) ||
            !core_device_node_set_param(handle_of(node), offset_B + at, piece, n_B))
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

uint64_t core_cdp_GraphKernelNodeSetParam(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;

    return param_set(call, a[0], a[1], a[2], a[3]);
}

uint64_t core_cdp_GraphKernelNodeSetEnabled(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;

    return done(core_device_node_enable(handle_of(a[0]), (uint8_t)a[1] != 0));
}

uint64_t core_cdp_GraphKernelNodeSetGridDim(const struct core_cdp_call *call)
{
    const uint64_t *a = call->io->args;
    const uint32_t grid[3] = {(uint32_t)a[1], (uint32_t)a[2], (uint32_t)a[3]};

    return done(core_device_node_set_grid(handle_of(a[0]), grid));
}

/* struct cudaGraphKernelNodeUpdate */
struct update {
    uint64_t node;
    uint32_t field;
    union {
        uint32_t grid[3];
        struct {
            uint64_t va, offset_B, size_B;
        } param;
        uint32_t is_enabled;
    };
};
_Static_assert(sizeof(struct update) == 40, "ABI");

enum { FIELD_GRID = 1, FIELD_PARAM = 2, FIELD_ENABLED = 3 };

static uint64_t update_apply(const struct core_cdp_call *call, const struct update *u)
{
    switch (u->field) {
    case FIELD_GRID:
        return done(core_device_node_set_grid(handle_of(u->node), u->grid));
    case FIELD_PARAM:
        return param_set(call, u->node, u->param.offset_B, u->param.va, u->param.size_B);
    case FIELD_ENABLED:
        return done(core_device_node_enable(handle_of(u->node), u->is_enabled != 0));
    default:
        return cudaErrorInvalidValue;
    }
}

/* In order, up to the first that is wrong. */
uint64_t core_cdp_GraphKernelNodeUpdatesApply(const struct core_cdp_call *call)
{
    uint64_t va = call->io->args[0], n = call->io->args[1], error = cudaSuccess;
    struct update update;

    if (!va && n)
        return cudaErrorInvalidValue;
    for (uint64_t i = 0; i < n && error == cudaSuccess; i++) {
        if (!core_cdp_read(call, va + i * sizeof(update), &update, sizeof(update)))
            return cudaErrorInvalidValue;
        error = update_apply(call, &update);
    }
    return error;
}
