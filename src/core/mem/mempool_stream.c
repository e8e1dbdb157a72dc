/* Memory of pools in stream order: allocating, with reuse of what is cached, and freeing. */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/graph/capture.h"
#include "core/graph/graph_memory.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "core/notify.h"
#include "hal/hal.h"

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
    if (policies[CORE_POLICY_OPPORTUNISTIC] && core_pooled_is_free(p))
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
    core_pooled_reuse_locked(p, size_B);
    return p;
}

static enum core_mem_kind kind_of(const struct core_mempool *pool)
{
    if (pool->props.managed)
        return CORE_MEM_MANAGED;
    return pool->props.location == CORE_LOCATION_DEVICE ? CORE_MEM_DEVICE : CORE_MEM_HOST;
}

static bool exceeds(const struct core_mempool *pool, uint64_t size_B)
{
    uint64_t max_B = pool->props.max_B;

    return max_B && (size_B > max_B || pool->stats_B[CORE_STAT_RESERVED] > max_B - size_B);
}

static bool take_locked(struct core_mempool *pool, const struct core_block *what,
                        struct core_pooled *p)
{
    struct core_pool *from = pool->own ? pool->own : what->device->pool;
    uint64_t va = 0;

    if (exceeds(pool, what->size_B) &&
        (!core_mempool_trim_locked(pool, 0) || exceeds(pool, what->size_B)))
        return false;
    if (!core_pool_alloc_locked(from, what, &va) &&
        !(core_mempool_reclaim_locked() && core_pool_alloc_locked(from, what, &va)))
        return false;
    core_pooled_adopt_locked(pool, core_block_at_locked(va), p);
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

enum hd_status core_mempool_alloc(struct core_mempool *pool, struct core_stream *stream,
                                  uint64_t size_B, uint64_t *out_va)
{
    union hal_packet wait = {0};
    struct core_pooled *p;

    if (!size_B)
        return hd_error(HD_BAD_ARG, "allocation of 0 bytes");
    if (pool->imported)
        return hd_error(HD_BAD_ARG, "an imported memory pool cannot be allocated from");
    if (core_stream_is_capturing(stream)) {
        /* What a graph allocates is not the pool's, only like it. */
        struct core_graph_memory *memory;
        struct core_body body;

        HD_TRY(core_graph_memory_create(&pool->props, size_B, NULL, &memory));
        *out_va = memory->va;
        body = core_body_memory(CORE_NODE_ALLOC, memory);
        core_graph_memory_unref(memory);
        return core_capture_add(stream, &body);
    }
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
    if (tap_wants(HEDDLE_KIND(MEMORY))) {
        struct core_block block = {
            .base = *out_va, .size_B = size_B, .kind = kind_of(pool), .ctx = stream->ctx};

        core_notify_memory(&block, stream, false);
    }
    return HD_OK;
}

/* ---- freeing */

static void free_later(void *arg)
{
    (void)!core_memory_free((uintptr_t)arg, CORE_MEM_DEVICE | CORE_MEM_MANAGED | CORE_MEM_HOST);
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
    core_pooled_cache_locked(block->pooled, stream->queue, position);
    return true;
}

enum hd_status core_mempool_free(struct core_stream *stream, uint64_t va)
{
    struct core_block block, freed = {0};
    uint64_t position;
    bool done;

    if (core_stream_is_capturing(stream)) {
        struct core_graph_memory *memory = core_graph_memory_find(va);
        struct core_body body;

        if (!memory)
            return hd_error(HD_BAD_ARG, "free of 0x%llx in a capture: no graph allocated it",
                            (unsigned long long)va);
        body = core_body_memory(CORE_NODE_FREE, memory);
        core_graph_memory_unref(memory);
        return core_capture_add(stream, &body);
    }
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
    if (!done) {
        /* Of no pool, or of another context, whose blocks know only queues of their own. */
        if (core_stream_query(stream) == HD_OK)
            return core_memory_free(va, CORE_MEM_DEVICE | CORE_MEM_MANAGED | CORE_MEM_HOST);
        return core_stream_call(stream, free_later, (void *)(uintptr_t)va, true);
    }
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
