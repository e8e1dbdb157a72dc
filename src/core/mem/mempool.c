/* Memory pools: what is cached, reuse in stream order (mempool.h). */
#include "core/mem/mempool.h"

#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/graph/capture.h"
#include "core/graph/graph_memory.h"
#include "core/mem/memory.h"
#include "core/notify.h"
#include "hal/hal.h"

struct core_mempool *core_mempools;
static _Atomic bool any_cached;      /* is anything cached? Only then there is work at waits */
static _Atomic unsigned any_dropped; /* references that core_mempool_drop() will find */

/* ---- cached blocks */

static void stat_add(struct core_mempool *pool, enum core_mempool_stat stat, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock));
    pool->stats_B[stat] += size_B;
    pool->stats_B[stat + 1] = HD_MAX(pool->stats_B[stat + 1], pool->stats_B[stat]);
}

static void stat_sub(struct core_mempool *pool, enum core_mempool_stat stat, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock) && pool->stats_B[stat] >= size_B);
    pool->stats_B[stat] -= size_B;
}

static bool is_free(const struct core_pooled *pooled)
{
    return !pooled->queue || hal_queue_retired(pooled->queue) >= pooled->position;
}

void core_mempool_forget_locked(struct core_pooled *pooled)
{
    struct core_mempool *pool = pooled->pool;

    assert(hd_lock_held(&core_memory_lock) && pooled->block->pooled == pooled);
    if (!pooled->cached)
        stat_sub(pool, CORE_STAT_USED, pooled->block->size_B);
    stat_sub(pool, CORE_STAT_RESERVED, pooled->room_B);
    hd_list_remove(pooled);
    pooled->block->pooled = NULL;
    pool->dropped++;
    atomic_fetch_add(&any_dropped, 1);
    hd_free(pooled);
}

static void cache_locked(struct core_pooled *pooled, struct hal_queue *queue, uint64_t position)
{
    struct core_mempool *pool = pooled->pool;

    assert(hd_lock_held(&core_memory_lock) && !pooled->cached);
    stat_sub(pool, CORE_STAT_USED, pooled->block->size_B);
    hd_list_remove(pooled);
    pooled->cached = true;
    pooled->queue = queue;
    pooled->position = position;
    hd_list_push(&pool->cached, pooled);
    atomic_store(&any_cached, true);
}

void core_mempool_cache_locked(struct core_pooled *pooled)
{
    if (pooled->pool->imported) /* another process has it to give away */
        core_block_free_locked(pooled->block);
    else
        cache_locked(pooled, NULL, 0);
}

/* Down to keep_B; what is not free yet stays. */
static bool trim_locked(struct core_mempool *pool, uint64_t keep_B)
{
    struct core_pooled *pooled, *next;
    bool any = false;

    for (pooled = pool->cached; pooled && pool->stats_B[CORE_STAT_RESERVED] > keep_B;
         pooled = next) {
        next = pooled->next;
        if (is_free(pooled)) {
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
        any |= trim_locked(pool, 0);
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

void core_mempool_trim(struct core_mempool *pool, uint64_t keep_B)
{
    hd_lock_acquire(&core_memory_lock);
    (void)trim_locked(pool, keep_B);
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
}

/* Strict mode reuses nothing, so it keeps nothing. */
static uint64_t threshold(const struct core_mempool *pool)
{
    bool keeps = core_mempool_is_live(pool) && !core_strict();

    return keeps ? pool->policies[CORE_POLICY_THRESHOLD] : 0;
}

/*
 * What others waited for is free for everybody from here on, also where streams may not have what
 * happens to be free.
 */
static void settle_locked(struct core_mempool *pool)
{
    for (struct core_pooled *p = pool->cached; p; p = p->next)
        if (p->queue && is_free(p))
            p->queue = NULL;
    (void)trim_locked(pool, threshold(pool));
}

void core_mempools_settle(void)
{
    bool any = false;

    if (HD_LIKELY(!atomic_load_explicit(&any_cached, memory_order_relaxed)))
        return;
    hd_lock_acquire(&core_memory_lock);
    for (struct core_mempool *pool = core_mempools; pool; pool = pool->next) {
        settle_locked(pool);
        any |= pool->cached != NULL;
    }
    atomic_store(&any_cached, any);
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
}

/* ---- allocation */

/* Was the stream made to wait for it by an event? */
static bool is_awaited(const struct core_stream *stream, const struct core_pooled *p)
{
    for (size_t i = 0; i < stream->awaited.len; i++)
        if (stream->awaited.at[i].semaphore == &p->queue->ring->retired)
            return stream->awaited.at[i].value >= p->position;
    return false;
}

/* How a stream may have a cached block, the better the smaller. */
enum reuse { REUSE_NOW, REUSE_WAIT, REUSE_NEVER };

static enum reuse reuse_of(const struct core_mempool *pool, const struct core_stream *stream,
                           const struct core_pooled *p)
{
    const uint64_t *policies = pool->policies;

    if (p->block->ctx != stream->ctx)
        return REUSE_NEVER;
    if (!p->queue || p->queue == stream->queue)
        return REUSE_NOW;
    if (policies[CORE_POLICY_FOLLOW_EVENTS] && is_awaited(stream, p))
        return REUSE_NOW;
    if (policies[CORE_POLICY_OPPORTUNISTIC] && is_free(p))
        return REUSE_NOW;
    return policies[CORE_POLICY_INTERNAL_WAIT] ? REUSE_WAIT : REUSE_NEVER;
}

/* The best cached block for so many bytes: one that needs no wait, then the smallest. */
static struct core_pooled *pick_locked(struct core_mempool *pool, const struct core_stream *stream,
                                       uint64_t size_B, enum reuse *out_reuse)
{
    struct core_pooled *best = NULL;

    *out_reuse = REUSE_NEVER;
    if (core_strict())
        return NULL;
    for (struct core_pooled *p = pool->cached; p; p = p->next) {
        enum reuse reuse;

        if (p->room_B < size_B || p->room_B / 4 > size_B) /* keep large ones for large requests */
            continue;
        reuse = reuse_of(pool, stream, p);
        if (reuse < *out_reuse || (best && reuse == *out_reuse && p->room_B < best->room_B)) {
            best = p;
            *out_reuse = reuse;
        }
    }
    return best;
}

/* A cached block for the stream; *out_wait is what it has to wait for, `op` nop: nothing. */
static struct core_pooled *reuse_locked(struct core_mempool *pool, struct core_stream *stream,
                                        uint64_t size_B, union hal_packet *out_wait)
{
    enum reuse reuse;
    struct core_pooled *p = pick_locked(pool, stream, size_B, &reuse);

    if (!p || !core_pool_resize_locked(p->block, size_B))
        return NULL;
    if (reuse == REUSE_WAIT) {
        out_wait->head.op = HAL_OP_WAIT;
        out_wait->sem.address = (uintptr_t)&p->queue->ring->retired;
        out_wait->sem.value = p->position;
    }
    hd_list_remove(p);
    p->cached = false;
    p->queue = NULL;
    p->block->id = core_memory_next_id();
    p->block->is_synchronous = false;
    hd_list_push(&pool->live, p);
    stat_add(pool, CORE_STAT_USED, size_B);
    return p;
}

static enum core_mem_kind kind_of(const struct core_mempool *pool)
{
    if (pool->props.managed)
        return CORE_MEM_MANAGED;
    return pool->props.place == CORE_PLACE_DEVICE ? CORE_MEM_DEVICE : CORE_MEM_HOST;
}

static bool exceeds(const struct core_mempool *pool, uint64_t size_B)
{
    uint64_t max_B = pool->props.max_B;

    return max_B && (size_B > max_B || pool->stats_B[CORE_STAT_RESERVED] > max_B - size_B);
}

/* A block, live or new, of the pool. `p` is the caller's and becomes the block's. */
void core_mempool_adopt_locked(struct core_mempool *pool, struct core_block *block,
                               struct core_pooled *p)
{
    *p = (struct core_pooled){
        .pool = core_mempool_ref(pool), .block = block, .room_B = core_pool_room_locked(block)};
    block->pooled = p;
    block->ctx->nblocks++;
    hd_list_push(&pool->live, p);
    stat_add(pool, CORE_STAT_RESERVED, p->room_B);
    stat_add(pool, CORE_STAT_USED, block->size_B);
}

static bool take_locked(struct core_mempool *pool, const struct core_block *what,
                        struct core_pooled *p)
{
    struct core_pool *from = pool->own ? pool->own : what->device->pool;
    uint64_t va = 0;

    if (exceeds(pool, what->size_B) && (!trim_locked(pool, 0) || exceeds(pool, what->size_B)))
        return false;
    if (!core_pool_alloc_locked(from, what, &va) &&
        !(core_mempool_reclaim_locked() && core_pool_alloc_locked(from, what, &va)))
        return false;
    core_mempool_adopt_locked(pool, core_block_at_locked(va), p);
    return true;
}

static enum hd_status alloc_fresh(struct core_mempool *pool, struct core_stream *stream,
                                  uint64_t size_B, uint64_t *out_va)
{
    struct core_block what = {.size_B = size_B, .kind = kind_of(pool), .ctx = stream->ctx};
    struct core_pooled *p = hd_new(struct core_pooled);
    bool done;

    if (!p)
        return hd_error(HD_NO_MEMORY, "allocation from a memory pool");
    what.device = pool->device ? pool->device : stream->ctx->device;
    what.id = core_memory_next_id();
    hd_lock_acquire(&core_memory_lock);
    done = take_locked(pool, &what, p);
    if (done)
        *out_va = p->block->base;
    hd_lock_release(&core_memory_lock);
    core_mempool_drop();
    if (done)
        return HD_OK;
    hd_free(p);
    return hd_error(HD_NO_DEVICE_MEMORY, "cannot allocate %llu bytes from a memory pool",
                    (unsigned long long)size_B);
}

/* What a graph allocates is not the pool's, only like it. */
static enum hd_status alloc_captured(const struct core_mempool *pool, struct core_stream *stream,
                                     uint64_t size_B, uint64_t *out_va)
{
    struct core_graph_memory *memory;
    struct core_body body;

    HD_TRY(core_graph_memory_create(&pool->props, size_B, NULL, &memory));
    *out_va = memory->va;
    body = core_body_memory(CORE_NODE_ALLOC, memory);
    core_graph_memory_unref(memory);
    return core_capture_add(stream, &body);
}

static void tell_alloc(const struct core_mempool *pool, struct core_stream *stream, uint64_t va,
                       uint64_t size_B)
{
    struct core_block block = {
        .base = va, .size_B = size_B, .kind = kind_of(pool), .ctx = stream->ctx};

    core_notify_memory(&block, stream, false);
}

enum hd_status core_mempool_alloc(struct core_mempool *pool, struct core_stream *stream,
                                  uint64_t size_B, uint64_t *out_va)
{
    union hal_packet wait = {0};
    struct core_pooled *p;

    if (!size_B)
        return hd_error(HD_BAD_ARG, "allocation of 0 bytes");
    if (pool->imported)
        return hd_error(HD_BAD_ARG, "an imported memory pool cannot be allocated from");
    if (core_stream_is_capturing(stream))
        return alloc_captured(pool, stream, size_B, out_va);
    if (core_capture_any())
        HD_TRY(core_capture_refuse_stream(stream));
    hd_lock_acquire(&stream->lock); /* awaited */
    hd_lock_acquire(&core_memory_lock);
    p = reuse_locked(pool, stream, size_B, &wait);
    if (p)
        *out_va = p->block->base;
    hd_lock_release(&core_memory_lock);
    hd_lock_release(&stream->lock);
    if (!p)
        HD_TRY(alloc_fresh(pool, stream, size_B, out_va));
    else if (wait.head.op == HAL_OP_WAIT)
        HD_TRY(core_stream_submit(stream, &wait, 1, NULL, 0, NULL));
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        tell_alloc(pool, stream, *out_va, size_B);
    return HD_OK;
}

/* ---- freeing */

static void free_later(void *arg)
{
    (void)!core_memory_free((uintptr_t)arg, CORE_MEM_DEVICE | CORE_MEM_MANAGED | CORE_MEM_HOST);
}

/* Of no pool, or of another context, whose blocks know only queues of their own. */
static enum hd_status free_by_call(struct core_stream *stream, uint64_t va)
{
    if (core_stream_query(stream) == HD_OK)
        return core_memory_free(va, CORE_MEM_DEVICE | CORE_MEM_MANAGED | CORE_MEM_HOST);
    return core_stream_call(stream, free_later, (void *)(uintptr_t)va, true);
}

/* False: the block is none that a pool can have back in the stream. */
static bool free_locked(struct core_stream *stream, uint64_t va, uint64_t position,
                        struct core_block *out_freed)
{
    struct core_block *block = core_block_at_locked(va);

    if (!block || block->base != va || !block->pooled || block->pooled->cached ||
        block->pooled->pool->imported || block->ctx != stream->ctx)
        return false;
    *out_freed = *block;
    cache_locked(block->pooled, stream->queue, position);
    return true;
}

static enum hd_status free_captured(struct core_stream *stream, uint64_t va)
{
    struct core_graph_memory *memory = core_graph_memory_find(va);
    struct core_body body;

    if (!memory)
        return hd_error(HD_BAD_ARG, "free of 0x%llx in a capture: no graph allocated it",
                        (unsigned long long)va);
    body = core_body_memory(CORE_NODE_FREE, memory);
    core_graph_memory_unref(memory);
    return core_capture_add(stream, &body);
}

enum hd_status core_mempool_free(struct core_stream *stream, uint64_t va)
{
    struct core_block block, freed = {0};
    uint64_t position;
    bool done;

    if (core_stream_is_capturing(stream))
        return free_captured(stream, va);
    HD_TRY(core_graph_memory_free(stream, va, &done));
    if (done)
        return HD_OK;
    if (!core_memory_find(va, &block) || block.base != va || block.is_own ||
        block.kind == CORE_MEM_REGISTERED || (block.kind == CORE_MEM_HOST && !block.pooled))
        return hd_error(HD_BAD_ARG, "free of 0x%llx, which is not the start of an allocation",
                        (unsigned long long)va);
    HD_TRY(core_stream_mark(stream, &position));
    hd_lock_acquire(&core_memory_lock);
    done = free_locked(stream, va, position, &freed);
    hd_lock_release(&core_memory_lock);
    if (!done)
        return free_by_call(stream, va);
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&freed, stream, true);
    return HD_OK;
}

struct core_mempool *core_mempool_of(uint64_t va)
{
    struct core_mempool *pool = NULL;
    struct core_block *block;

    hd_lock_acquire(&core_memory_lock);
    block = core_block_at_locked(va);
    if (block && block->pooled && !block->pooled->cached)
        pool = core_mempool_ref(block->pooled->pool);
    hd_lock_release(&core_memory_lock);
    return pool;
}
