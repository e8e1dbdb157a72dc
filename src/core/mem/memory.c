/* Blocks of memory by their address: allocation, queries, freeing. The parts: core/mem/memory.h. */
#include <assert.h>

#include "base/env.h"
#include "base/log.h"
#include "core/mem/ipc.h"
#include "core/graph/graph_memory.h"
#include "core/mem/memory.h"
#include "core/mem/mempool.h"
#include "core/notify.h"
#include "hal/hal.h"
#include "model/multimem.h"
#include "san/san.h"

static void tell_alloc(const struct core_block *what, uint64_t va)
{
    struct core_block block = *what;

    block.base = va;
    core_notify_memory(&block, NULL, false);
}

enum { PAGE_B = 4096 };

/* Up to a page, for a checker that closes those of memory that the host sees. */
static uint64_t pages_padding_B(const struct core_block *what)
{
    if (what->kind == CORE_MEM_DEVICE || !san_closes_pages() || what->size_B > UINT64_MAX - PAGE_B)
        return 0;
    return hd_align_up(what->size_B, PAGE_B) - what->size_B;
}

/*
 * A block like *what. For a checker with padding (san.h) it has more room than it uses, so that the
 * next one is further away.
 */
static bool place_locked(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
{
    uint64_t padding_B = what->is_own ? 0 : HD_MAX(san_padding_B(), pages_padding_B(what));
    struct core_block padded = *what;

    if (__builtin_add_overflow(what->size_B, padding_B, &padded.size_B) ||
        !core_pool_alloc_locked(pool, &padded, out_va))
        return false;
    if (padding_B && !core_pool_resize_locked(core_block_at_locked(*out_va), what->size_B))
        assert(!"a block can be smaller");
    return true;
}

static enum hd_status block_alloc(const struct core_block *what, uint64_t *out_va)
{
    struct core_pool *pool = what->device->pool;
    uint64_t used_B, size_B = what->size_B;
    bool done;

    if (!size_B)
        return hd_error(HD_BAD_ARG, "allocation of 0 bytes");
    hd_lock_acquire(&core_memory_lock);
    used_B = core_pool_used_locked(pool);
    done = place_locked(pool, what, out_va) ||
           (core_mempool_reclaim_locked() && place_locked(pool, what, out_va));
    what->ctx->nblocks += done;
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
    if (!done)
        return hd_error(HD_NO_DEVICE_MEMORY, "cannot allocate %llu bytes: %llu of %llu are in use",
                        (unsigned long long)size_B, (unsigned long long)used_B,
                        (unsigned long long)core_pool_limit(pool));
    assert(*out_va % 256 == 0);
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        tell_alloc(what, *out_va);
    return HD_OK;
}

static struct core_block block_for(struct core_context *ctx, uint64_t size_B,
                                   enum core_mem_kind kind)
{
    return (struct core_block){.size_B = size_B,
                               .kind = kind,
                               .ctx = ctx,
                               .device = ctx->device,
                               .id = core_memory_next_id()};
}

enum hd_status core_memory_alloc(struct core_context *ctx, uint64_t size_B, enum core_mem_kind kind,
                                 unsigned flags, uint64_t *out_va)
{
    struct core_block what = block_for(ctx, size_B, kind);

    what.flags = flags;
    return block_alloc(&what, out_va);
}

enum hd_status core_memory_alloc_own(struct core_context *ctx, uint64_t size_B,
                                     enum core_mem_kind kind, unsigned use, uint64_t *out_va)
{
    struct core_block what = block_for(ctx, size_B, kind);

    what.is_own = true;
    what.use = (uint8_t)use;
    return block_alloc(&what, out_va);
}

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

/* What a pool has cached is no memory of the program's. */
static struct core_block *block_of_locked(uint64_t va)
{
    struct core_block *block = core_block_at_locked(va);

    return block && block->pooled && block->pooled->cached ? NULL : block;
}

static struct core_block *find_locked(uint64_t va)
{
    struct core_block *block = block_of_locked(va);

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

/* ---- freeing */

void core_block_free_locked(struct core_block *block)
{
    assert(block->ctx->nblocks > 0);
    block->ctx->nblocks--;
    if (block->pooled)
        core_mempool_forget_locked(block->pooled);
    struct core_mapped *mapped = block->mapped;
    if (block->kind == CORE_MEM_MANAGED)
        core_advice_forget_locked(block->base, block->size_B);
    core_pool_free_locked(block);
    if (mapped) /* goes with the block */
        core_mapped_free_locked(mapped);
}

static enum hd_status free_of_graph(uint64_t va)
{
    bool found;

    HD_TRY(core_graph_memory_free(NULL, va, &found));
    return found ? HD_OK
                 : hd_error(HD_BAD_ARG, "free of 0x%llx, which is not the start of an allocation",
                            (unsigned long long)va);
}

static bool block_free(uint64_t va, unsigned kinds, bool is_own)
{
    struct core_block *block, freed = {0};
    bool found;

    hd_lock_acquire(&core_memory_lock);
    block = block_of_locked(va);
    found = block && block->ctx && block->base == va && block->kind & kinds &&
            block->is_own == is_own && !(block->mapped && block->mapped->by_handle);
    if (found) {
        freed = *block;
        if (block->pooled)
            core_mempool_cache_locked(block->pooled);
        else
            core_block_free_locked(block);
    }
    hd_lock_release(&core_memory_lock);
    if (!found)
        return false;
    core_mempool_drop();
    core_mempools_settle();
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&freed, NULL, true);
    return true;
}

enum hd_status core_memory_free(uint64_t va, unsigned kinds)
{
    return block_free(va, kinds, false) ? HD_OK : free_of_graph(va);
}

/* A reset of the context may have been first. */
void core_memory_free_own(uint64_t va)
{
    (void)block_free(va, CORE_MEM_DEVICE | CORE_MEM_MANAGED, true);
}

void core_memory_give(uint64_t va, struct core_context *ctx)
{
    struct core_block *block;

    hd_lock_acquire(&core_memory_lock);
    block = core_block_at_locked(va);
    if (block && block->is_own) { /* a reset of the context may have been first */
        block->ctx->nblocks--;
        block->ctx = ctx;
        ctx->nblocks++;
    }
    hd_lock_release(&core_memory_lock);
}

static void owner_release_locked(struct core_owner *owner, void *arg)
{
    uint32_t slots = owner->slots; /* freeing a large block puts the owner away */

    for (uint32_t i = 0; i < slots; i++)
        if (owner->blocks[i].size_B && owner->blocks[i].ctx == arg)
            core_block_free_locked(&owner->blocks[i]);
}

void core_memory_release_context(struct core_context *ctx)
{
    hd_lock_acquire(&core_memory_lock);
    core_mempool_release_context_locked(ctx);
    if (ctx->nblocks) /* looking at every granule takes 40 us */
        core_space_foreach_locked(owner_release_locked, ctx);
    assert(!ctx->nblocks);
    core_registered_release_locked(ctx);
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
}
