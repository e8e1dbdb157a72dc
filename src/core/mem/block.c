/* Blocks of memory by their address: what is where, what may be touched, and the end of a block. */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/mem/ipc.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "hal/hal.h"
#include "model/multimem.h"

/* ---- finding */

struct core_block *core_block_at_locked(uint64_t va)
{
    struct core_owner *owner = core_space_owner(va);
    struct core_block *block;

    assert(hd_lock_held(&core_memory_lock));
    if (!owner)
        return NULL;
    block = &owner->blocks[(va - owner->base) / owner->slot_B];
    assert(block < owner->blocks + owner->slots);
    return block->size_B && va - block->base < block->size_B ? block : NULL;
}

struct core_block *core_block_live_locked(uint64_t va)
{
    struct core_block *block = core_block_at_locked(va);

    return block && block->pooled && block->pooled->cached ? NULL : block;
}

static struct core_block *find_locked(uint64_t va)
{
    struct core_block *block = core_block_live_locked(va);

    return block ? block : core_registered_find_locked(va);
}

bool core_memory_find(uint64_t va, struct core_block *out_block)
{
    const struct core_block *block;

    hd_lock_acquire(&core_memory_lock);
    block = find_locked(va);
    if (block)
        *out_block = *block;
    hd_lock_release(&core_memory_lock);
    return block != NULL;
}

struct core_context *core_memory_peer(uint64_t va, const struct core_context *ctx)
{
    const struct core_block *block;
    struct core_context *peer = NULL;

    hd_lock_acquire(&core_memory_lock);
    block = find_locked(va);
    if (block && block->ctx && block->kind == CORE_MEM_DEVICE &&
        block->ctx->device != ctx->device && core_context_ref_live(block->ctx))
        peer = block->ctx;
    hd_lock_release(&core_memory_lock);
    return peer;
}

struct core_context *core_memory_owner(uint64_t va)
{
    const struct core_block *block;
    struct core_context *owner = NULL;

    hd_lock_acquire(&core_memory_lock);
    block = find_locked(va);
    if (block && block->ctx && core_context_ref_live(block->ctx))
        owner = block->ctx;
    hd_lock_release(&core_memory_lock);
    return owner;
}

enum hd_status core_memory_sync_set(uint64_t va, bool is_synchronous)
{
    struct core_block *block;

    hd_lock_acquire(&core_memory_lock);
    block = find_locked(va);
    if (block)
        block->is_synchronous = is_synchronous;
    hd_lock_release(&core_memory_lock);
    return block ? HD_OK
                 : hd_error(HD_BAD_ARG, "0x%llx is not device memory", (unsigned long long)va);
}

/* The program's own memory: whatever is there may be touched. */
static enum hd_status classify_own(uint64_t va, enum core_mem_kind *out_kind)
{
    struct core_block block;

    if (!va)
        return hd_error(HD_BAD_ARG, "null pointer");
    if (core_registered_any() && core_memory_find(va, &block))
        *out_kind = block.kind;
    return HD_OK;
}

/* Mapped memory goes on where the next mapping begins: what one allocation ends, another may. */
static bool mapped_behind(const struct core_block *block, uint64_t size_B)
{
    struct core_block next = *block;
    uint64_t end = block->base + block->size_B;

    while (size_B > 0 && core_memory_find(end, &next) && next.base == end && !next.ctx) {
        size_B -= HD_MIN(size_B, next.size_B);
        end += next.size_B;
    }
    return !size_B;
}

enum hd_status core_memory_classify(uint64_t va, uint64_t size_B, bool device_only,
                                    enum core_mem_kind *out_kind)
{
    struct core_block block;

    *out_kind = CORE_MEM_PAGEABLE;
    if (va + size_B < va)
        return hd_error(HD_BAD_ARG, "range at 0x%llx wraps around", (unsigned long long)va);
    if (!device_only && !core_space_overlaps(va, HD_MAX(size_B, 1)))
        return classify_own(va, out_kind);
    if (!core_memory_find(va, &block))
        return hd_error(HD_BAD_ARG, "0x%llx is not device memory", (unsigned long long)va);
    if (block.is_multicast)
        return hd_error(HD_BAD_ARG, "0x%llx: %s", (unsigned long long)va, ir_multimem_only);
    if (va - block.base + size_B > block.size_B &&
        (block.ctx || !mapped_behind(&block, va - block.base + size_B - block.size_B)))
        return hd_error(HD_BAD_ARG,
                        "%llu bytes at 0x%llx exceed the allocation of %llu bytes at 0x%llx",
                        (unsigned long long)size_B, (unsigned long long)va,
                        (unsigned long long)block.size_B, (unsigned long long)block.base);
    *out_kind = block.kind;
    return HD_OK;
}

enum hd_status core_memory_check(uint64_t va, uint64_t size_B, bool device_only)
{
    enum core_mem_kind kind;

    return core_memory_classify(va, size_B, device_only, &kind);
}

void core_memory_info(const struct core_device *device, uint64_t *out_free_B, uint64_t *out_total_B)
{
    *out_total_B = core_pool_limit(device->pool);
    hd_lock_acquire(&core_memory_lock);
    *out_free_B = *out_total_B - core_pool_used_locked(device->pool);
    hd_lock_release(&core_memory_lock);
}

/* Strict mode: what kernels may touch; else why not. Registered memory belongs to it. */
static const char *refusal(uint64_t va, uint64_t size_B)
{
    struct core_block block;

    if (core_memory_find(va, &block) && block.is_multicast)
        return ir_multimem_only;
    if (core_memory_find(va, &block))
        return va - block.base + size_B <= block.size_B ? NULL : "runs past the end of its block";
    if (core_space_overlaps(va, HD_MAX(size_B, 1)))
        return "device memory that is not allocated, or was freed";
    return "host memory that is not registered or managed: a discrete GPU cannot reach it";
}

/* How far an address is from a block's bytes. */
static uint64_t distance(uint64_t va, const struct core_block *block)
{
    if (va < block->base)
        return block->base - va;
    return va - block->base < block->size_B ? 0 : va - block->base - block->size_B + 1;
}

struct nearest {
    uint64_t va;
    const struct core_block *block;
};

static void look_at_owner(struct core_owner *owner, void *arg)
{
    struct nearest *n = arg;

    for (uint32_t i = 0; i < owner->slots; i++) {
        const struct core_block *block = &owner->blocks[i];

        if (!block->size_B || block->is_own || (block->pooled && block->pooled->cached))
            continue;
        if (!n->block || distance(n->va, block) < distance(n->va, n->block))
            n->block = block;
    }
}

static bool nearest(uint64_t va, uint64_t *out_base, uint64_t *out_size_B)
{
    struct nearest n = {.va = va};

    if (!core_space_overlaps(va, 1))
        return false;
    hd_lock_acquire(&core_memory_lock);
    core_space_foreach_locked(look_at_owner, &n);
    if (n.block) {
        *out_base = n.block->base;
        *out_size_B = n.block->size_B;
    }
    hd_lock_release(&core_memory_lock);
    return n.block != NULL;
}

void core_memory_answer(struct hal_client_ops *client)
{
    client->nearest = nearest;
    client->refusal = core_strict() ? refusal : NULL;
    client->space_va = core_space_base();
    client->space_B = core_space_size();
    assert(client->space_va && client->space_B); /* reserved before devices are opened */
}

/* ---- the end */

void core_block_free_locked(struct core_block *block)
{
    struct core_mapped *mapped = block->mapped;

    assert(hd_lock_held(&core_memory_lock) && block->ctx->nblocks > 0);
    block->ctx->nblocks--;
    if (block->pooled)
        core_pooled_forget_locked(block->pooled);
    if (block->kind == CORE_MEM_MANAGED)
        core_advice_forget_locked(block->base, block->size_B);
    core_pool_free_locked(block);
    if (mapped) { /* goes with the block */
        if (mapped->link)
            hd_list_remove(mapped);
        core_pool_destroy(mapped->pool);
        hd_free(mapped);
    }
}
