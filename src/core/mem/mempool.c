/* Memory pools: what they keep, and give back (mempool_parts.h). */
#include "core/mem/mempool_parts.h"

#include "core/mem/memory_parts.h"

void core_mempool_cache_locked(struct core_pooled *pooled)
{
    if (pooled->pool->imported) /* another process has it to give away */
        core_block_free_locked(pooled->block);
    else
        core_pooled_cache_locked(pooled, NULL, 0);
}

bool core_mempool_trim_locked(struct core_mempool *pool, uint64_t keep_B)
{
    struct core_pooled *pooled, *next;
    bool any = false;

    for (pooled = pool->cached; pooled && pool->stats_B[CORE_STAT_RESERVED] > keep_B;
         pooled = next) {
        next = pooled->next;
        if (core_pooled_is_free(pooled)) {
            core_block_free_locked(pooled->block);
            any = true;
        }
    }
    return any;
}

bool core_mempool_reclaim_locked(void)
{
    bool any = false;

    for (struct core_mempool *pool = core_mempools; pool; pool = pool->next)
        any |= core_mempool_trim_locked(pool, 0);
    return any;
}

void core_mempool_release_context_locked(const struct core_context *ctx)
{
    struct core_pooled *pooled, *next;

    for (struct core_mempool *pool = core_mempools; pool; pool = pool->next) {
        for (pooled = pool->live; pooled; pooled = next) {
            next = pooled->next;
            if (pooled->block->ctx == ctx)
                core_block_free_locked(pooled->block);
        }
        for (pooled = pool->cached; pooled; pooled = next) {
            next = pooled->next;
            if (pooled->block->ctx == ctx)
                core_block_free_locked(pooled->block);
        }
    }
}

void core_mempool_trim(struct core_mempool *pool, uint64_t keep_B)
{
    hd_lock_acquire(&core_memory_lock);
    (void)core_mempool_trim_locked(pool, keep_B);
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
}

/* Strict mode reuses nothing, so it keeps nothing. */
static uint64_t threshold(const struct core_mempool *pool)
{
    bool keeps = core_mempool_is_live(pool) && !core_strict();

    return keeps ? pool->policies[CORE_POLICY_THRESHOLD] : 0;
}

void core_mempools_settle(void)
{
    if (HD_LIKELY(!core_pooled_any_cached()))
        return;
    hd_lock_acquire(&core_memory_lock);
    for (struct core_mempool *pool = core_mempools; pool; pool = pool->next) {
        /*
         * What others waited for is free for everybody from here on, also where streams may not
         * have what happens to be free.
         */
        for (struct core_pooled *p = pool->cached; p; p = p->next)
            if (p->queue && core_pooled_is_free(p))
                p->queue = NULL;
        (void)core_mempool_trim_locked(pool, threshold(pool));
    }
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
}
