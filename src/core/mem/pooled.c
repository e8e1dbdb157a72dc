/*
 * Blocks of memory pools: how one becomes live, cached, live again, and is gone; what of that the
 * pool's figures say. See mempool_parts.h.
 */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "hal/hal.h"

struct core_mempool *core_mempools;
static _Atomic size_t ncached;       /* is anything cached? Only then there is work at waits */
static _Atomic unsigned any_dropped; /* references that core_mempool_drop() will find */

bool core_pooled_any_cached(void)
{
    return atomic_load_explicit(&ncached, memory_order_relaxed) > 0;
}

bool core_pooled_is_free(const struct core_pooled *pooled)
{
    return !pooled->queue || hal_queue_retired(pooled->queue) >= pooled->position;
}

static void stat_add_locked(struct core_mempool *pool, enum core_mempool_stat stat, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock));
    pool->stats_B[stat] += size_B;
    pool->stats_B[stat + 1] = HD_MAX(pool->stats_B[stat + 1], pool->stats_B[stat]);
}

static void stat_sub_locked(struct core_mempool *pool, enum core_mempool_stat stat, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock) && pool->stats_B[stat] >= size_B);
    pool->stats_B[stat] -= size_B;
}

void core_pooled_adopt_locked(struct core_mempool *pool, struct core_block *block,
                              struct core_pooled *p)
{
    *p = (struct core_pooled){
        .pool = core_mempool_ref(pool), .block = block, .room_B = core_pool_room_locked(block)};
    block->pooled = p;
    block->ctx->nblocks++;
    hd_list_push(&pool->live, p);
    stat_add_locked(pool, CORE_STAT_RESERVED, p->room_B);
    stat_add_locked(pool, CORE_STAT_USED, block->size_B);
}

void core_pooled_cache_locked(struct core_pooled *pooled, struct hal_queue *queue,
                              uint64_t position)
{
    struct core_mempool *pool = pooled->pool;

    assert(hd_lock_held(&core_memory_lock) && !pooled->cached);
    stat_sub_locked(pool, CORE_STAT_USED, pooled->block->size_B);
    hd_list_remove(pooled);
    pooled->cached = true;
    pooled->queue = queue;
    pooled->position = position;
    hd_list_push(&pool->cached, pooled);
    atomic_fetch_add(&ncached, 1);
}

void core_pooled_reuse_locked(struct core_pooled *pooled, uint64_t size_B)
{
    struct core_mempool *pool = pooled->pool;

    assert(hd_lock_held(&core_memory_lock) && pooled->cached);
    hd_list_remove(pooled);
    pooled->cached = false;
    pooled->queue = NULL;
    atomic_fetch_sub(&ncached, 1);
    pooled->block->id = core_memory_next_id();
    pooled->block->is_synchronous = false;
    hd_list_push(&pool->live, pooled);
    stat_add_locked(pool, CORE_STAT_USED, size_B);
}

void core_pooled_forget_locked(struct core_pooled *pooled)
{
    struct core_mempool *pool = pooled->pool;

    assert(hd_lock_held(&core_memory_lock) && pooled->block->pooled == pooled);
    if (pooled->cached)
        atomic_fetch_sub(&ncached, 1);
    else
        stat_sub_locked(pool, CORE_STAT_USED, pooled->block->size_B);
    stat_sub_locked(pool, CORE_STAT_RESERVED, pooled->room_B);
    hd_list_remove(pooled);
    pooled->block->pooled = NULL;
    pool->dropped++;
    atomic_fetch_add(&any_dropped, 1);
    hd_free(pooled);
}

/* A pool with references to drop, and how many; NULL: none. They keep it alive until then. */
static struct core_mempool *dropped_take(unsigned *out_count)
{
    struct core_mempool *pool;

    hd_lock_acquire(&core_memory_lock);
    for (pool = core_mempools; pool && !pool->dropped; pool = pool->next)
        ;
    if (pool) {
        *out_count = pool->dropped;
        pool->dropped = 0;
        atomic_fetch_sub(&any_dropped, *out_count);
    }
    hd_lock_release(&core_memory_lock);
    return pool;
}

void core_mempool_drop(void)
{
    struct core_mempool *pool;
    unsigned count = 0;

    while (atomic_load(&any_dropped) && (pool = dropped_take(&count)))
        while (count--)
            core_mempool_unref(pool);
}
