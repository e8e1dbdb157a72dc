/* Allocating and freeing memory. The parts: core/mem/memory_parts.h. */
#include <assert.h>

#include "core/context.h"
#include "core/graph/graph_memory.h"
#include "core/mem/ipc.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "core/notify.h"
#include "san/san.h"

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
    if (tap_wants(HEDDLE_KIND(MEMORY))) {
        struct core_block block = *what;

        block.base = *out_va;
        core_notify_memory(&block, NULL, false);
    }
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

/* ---- freeing */

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
    block = core_block_live_locked(va);
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
