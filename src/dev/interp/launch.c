/* One grid: what the interpreter asks of its device. */
#include <stdio.h>
#include <stdlib.h>

#include "dev/interp/private.h"

struct launch_ctx {
    struct refdev *dev;
    struct refdev_module *module;
    struct refdev_maps maps;
};

static uint64_t ctx_var_address(void *arg, const struct ir_var *var)
{
    struct launch_ctx *ctx = arg;
    return (uint64_t)(uintptr_t)hd_map_get_u64(&ctx->module->vars, (uintptr_t)var);
}

static bool ctx_check(void *arg, uint64_t address, uint64_t size_B, bool write)
{
    struct launch_ctx *ctx = arg;
    return refdev_maps_check(&ctx->maps, address, size_B, write);
}

static void ctx_print(void *arg, bool is_error, const char *text, size_t len)
{
    (void)arg;
    fwrite(text, 1, len, is_error ? stderr : stdout);
}

/* The device heap survives the launch and is freed with the device. */
static uint64_t ctx_malloc(void *arg, uint64_t size_B)
{
    struct refdev *dev = ((struct launch_ctx *)arg)->dev;
    void *block = NULL;
    hd_lock_acquire(&dev->lock);
    if (dev->heap_used_B <= dev->heap_limit_B && size_B <= dev->heap_limit_B - dev->heap_used_B)
        block = aligned_alloc(16, hd_align_up(HD_MAX(size_B, 1), 16));
    if (block && !hd_map_put_u64(&dev->heap, (uintptr_t)block, (void *)(uintptr_t)size_B)) {
        free(block);
        block = NULL;
    }
    if (block)
        dev->heap_used_B += size_B;
    hd_lock_release(&dev->lock);
    return (uint64_t)(uintptr_t)block;
}

static bool ctx_free(void *arg, uint64_t address)
{
    struct refdev *dev = ((struct launch_ctx *)arg)->dev;
    void *size;
    hd_lock_acquire(&dev->lock);
    bool found = hd_map_find_u64(&dev->heap, address, &size);
    if (found) {
        dev->heap_used_B -= (uintptr_t)size;
        hd_map_remove_u64(&dev->heap, address);
        free((void *)(uintptr_t)address);
    }
    hd_lock_release(&dev->lock);
    return found;
}

static const struct interp_ops ctx_ops = {
    .var_address = ctx_var_address,
    .check = ctx_check,
    .print = ctx_print,
    .malloc_ = ctx_malloc,
    .free_ = ctx_free,
};

void refdev_dispatch(struct refdev_queue *queue, const struct hal_dispatch *packet)
{
    struct refdev *dev = refdev_of(queue->base.device);
    const struct refdev_kernel *kernel = (struct refdev_kernel *)(uintptr_t)packet->kernel;
    const void *params = packet->params_ring_B ? (const void *)(uintptr_t)packet->params_va
                                               : (const void *)packet->params;
    struct launch_ctx ctx = {.dev = dev, .module = (struct refdev_module *)kernel->base.module};
    struct interp_launch launch = {
        .kernel = kernel->func,
        .grid = {packet->grid[0], packet->grid[1], packet->grid[2]},
        .block = {packet->block[0], packet->block[1], packet->block[2]},
        .dynamic_shared_B = packet->dynamic_smem_B,
        .params = params,
        .stack_B = atomic_load(&dev->stack_B),
        .cooperative = (packet->head.flags & HAL_DISPATCH_COOPERATIVE) != 0,
        .nsms = dev->base.info.units,
        .grid_id = packet->grid_id,
        .ops = &ctx_ops,
        .ctx = &ctx,
    };
    /*
     * cooperative_groups: the grid's barrier is the second word (%envreg1: upper half of its
     * address).
     */
    _Alignas(8) uint32_t workspace[4] = {sizeof(workspace)};
    if (launch.cooperative) {
        launch.envreg[0] = (uint32_t)((uint64_t)(uintptr_t)workspace >> 32);
        launch.envreg[1] = (uint32_t)(uintptr_t)workspace;
    }
    struct interp_fault fault;
    enum hd_status status = interp_launch(&launch, &fault);
    refdev_maps_fini(&ctx.maps);
    if (status != HD_OK)
        hal_fault_raise(queue->base.fault, status, fault.address, hd_error_message());
}
