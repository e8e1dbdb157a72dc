/*
 * Memory pools: what cuMemAllocAsync() takes memory from and cuMemFreeAsync() gives it back to.
 *
 *     alloc ──► live ──free in a stream──► cached ──reuse──► live
 *                                            └──trim──► the device's memory
 *
 * A cached block is free from a position of a queue on. The stream of that queue may have it at
 * once; others when the position is reached, when they wait for it, or when they are made to (the
 * pool's policies). What is reached is given back at synchronisation, down to the threshold.
 *
 * Owners: a program owns what it created, the process the default pools; every block, live or
 * cached, has a reference to its pool. So a destroyed pool goes with its last block.
 *
 * Blocks belong to the context of the stream they were allocated in, too, and go with it.
 *
 * Threads: core_memory_lock guards everything below. References are dropped outside of it: blocks
 * that go are counted in `dropped`, and core_mempool_drop() drops them.
 */
#ifndef HD_CORE_MEM_MEMPOOL_PARTS_H
#define HD_CORE_MEM_MEMPOOL_PARTS_H

#include "core/device.h"
#include "core/handle.h"
#include "core/mem/mempool.h"

struct core_pool;

/* Of a block of memory. */
struct core_pooled {
    struct core_mempool *pool;
    struct core_block *block; /* stays where it is while it lives */
    uint64_t room_B;          /* how large the block can be */
    bool cached;
    /* Cached: free when the queue has retired so much; NULL: already. Of the block's context. */
    struct hal_queue *queue;
    uint64_t position;
    struct core_pooled *next, **link; /* in pool->live or pool->cached */
};

struct core_mempool {
    struct core_object object;
    struct core_mempool_props props;
    struct core_device *device; /* of its memory; NULL: that of the stream that allocates */
    bool is_default, imported;
    struct core_pool *own; /* memory that can be exported, or was imported; else NULL */
    uint64_t policies[CORE_MEMPOOL_POLICIES];
    uint64_t stats_B[CORE_MEMPOOL_STATS];
    uint8_t access[CORE_DEVICES_MAX]; /* what was asked for, by ordinal */
    uint64_t file;                    /* that tells `own` apart, in every process */
    unsigned dropped;                 /* references of blocks that are gone */
    struct core_pooled *live, *cached;
    struct core_mempool *next, **link; /* all of the process */
};

extern struct core_mempool *core_mempools;

/* The pool is no longer the current one of its place. */
void core_mempool_current_forget(struct core_mempool *pool);

/* ---- blocks of pools (pooled.c); under the lock */

/* The block, live or new, becomes one of the pool; `p` is the caller's and becomes the block's. */
void core_pooled_adopt_locked(struct core_mempool *pool, struct core_block *block,
                              struct core_pooled *p);
/* A live one that is free from a position of the queue on; NULL: already. */
void core_pooled_cache_locked(struct core_pooled *pooled, struct hal_queue *queue,
                              uint64_t position);
/* A cached one is live again; its block has size_B bytes now. */
void core_pooled_reuse_locked(struct core_pooled *pooled, uint64_t size_B);
/* The block is about to be freed. */
void core_pooled_forget_locked(struct core_pooled *pooled);
/* Is the cached block free by now? */
bool core_pooled_is_free(const struct core_pooled *pooled);
/* Without the lock: is any block of any pool cached? */
bool core_pooled_any_cached(void);
/* References of blocks that were forgotten; after the lock was released. */
void core_mempool_drop(void);

/* ---- what pools keep (mempool.c); under the lock */

/* Frees cached blocks until no more than keep_B are reserved; what is not free yet stays. */
bool core_mempool_trim_locked(struct core_mempool *pool, uint64_t keep_B);
/* cuMemFree() of a block of a pool: cached, and free for everybody. */
void core_mempool_cache_locked(struct core_pooled *pooled);
/* Gives back what was cached and is free. */
bool core_mempool_reclaim_locked(void);
/* Frees all blocks of the context. */
void core_mempool_release_context_locked(const struct core_context *ctx);

#endif
