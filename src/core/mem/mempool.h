/*
 * Memory pools: what cuMemAllocAsync() takes memory from and cuMemFreeAsync() gives it back to
 * (mempool_life.c, mempool_stream.c, mempool.c). How they keep what was given back:
 * mempool_parts.h.
 */
#ifndef HD_CORE_MEM_MEMPOOL_H
#define HD_CORE_MEM_MEMPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "core/handle.h"

struct core_device;

enum core_location { CORE_LOCATION_DEVICE, CORE_LOCATION_HOST };
enum core_policy {
    CORE_POLICY_FOLLOW_EVENTS, /* reuse what the stream waited for by an event */
    CORE_POLICY_OPPORTUNISTIC, /* reuse what happens to be free */
    CORE_POLICY_INTERNAL_WAIT, /* make the stream wait */
    CORE_POLICY_THRESHOLD,     /* bytes that are kept at synchronisation */
    CORE_MEMPOOL_POLICIES
};
enum core_mempool_stat {
    CORE_STAT_RESERVED,
    CORE_STAT_RESERVED_HIGH,
    CORE_STAT_USED,
    CORE_STAT_USED_HIGH,
    CORE_MEMPOOL_STATS
};
struct core_mempool_props {
    enum core_location location;
    int location_id; /* of the device */
    bool managed;
    bool exportable;
    uint64_t max_B; /* 0: no limit */
};

enum hd_status core_mempool_create(const struct core_mempool_props *props,
                                   struct core_mempool **out_pool) HD_MUST_CHECK;
/* False: another thread was first. Never for a default pool. Its blocks live on. */
bool core_mempool_destroy(struct core_mempool *pool);
/* The default or the current pool of a place, with a reference. HD_NO_MEMORY. */
enum hd_status core_mempool_at(const struct core_mempool_props *location, bool current,
                               struct core_mempool **out_pool) HD_MUST_CHECK;
/* HD_BAD_ARG when the pool is of another place, or imported. */
enum hd_status core_mempool_current_set(const struct core_mempool_props *location,
                                        struct core_mempool *pool) HD_MUST_CHECK;
bool core_mempool_is_default(const struct core_mempool *pool);
const struct core_mempool_props *core_mempool_props(const struct core_mempool *pool);

/* Memory that is the caller's in stream order. HD_NO_DEVICE_MEMORY, HD_BAD_ARG: imported pool. */
enum hd_status core_mempool_alloc(struct core_mempool *pool, struct core_stream *stream,
                                  uint64_t size_B, uint64_t *out_va) HD_MUST_CHECK;
/* Gives memory back in stream order, also memory of no pool. HD_BAD_ARG: no block begins there. */
enum hd_status core_mempool_free(struct core_stream *stream, uint64_t va) HD_MUST_CHECK;
/* Gives cached memory back until no more than keep_B are reserved. */
void core_mempool_trim(struct core_mempool *pool, uint64_t keep_B);
/* Work was waited for: gives back what is above the thresholds. */
void core_mempools_settle(void);

uint64_t core_mempool_policy(struct core_mempool *pool, enum core_policy policy);
void core_mempool_policy_set(struct core_mempool *pool, enum core_policy policy, uint64_t value);
uint64_t core_mempool_stat(struct core_mempool *pool, enum core_mempool_stat stat);
/* Of a high-water mark: begins again at what there is. */
void core_mempool_stat_reset(struct core_mempool *pool, enum core_mempool_stat stat);
/* What a device may do with the pool's memory: 0, 1 read, 3 read and write. */
unsigned core_mempool_access(struct core_mempool *pool, const struct core_device *device);
void core_mempool_access_set(struct core_mempool *pool, const struct core_device *device,
                             unsigned access);
/* The pool of the live block around va, with a reference, or NULL. */
struct core_mempool *core_mempool_of(uint64_t va);

/* Memory of a pool that another process may map. */
struct core_mempool_pointer {
    uint64_t magic, file, offset_B, size_B;
};
/* HD_NOT_SUPPORTED: not made for it. The descriptor is the caller's. */
enum hd_status core_mempool_export(struct core_mempool *pool, int *out_fd) HD_MUST_CHECK;
/* HD_BAD_ARG: the descriptor is of no pool. It stays the caller's. */
enum hd_status core_mempool_import(struct core_device *device, int fd,
                                   struct core_mempool **out_pool) HD_MUST_CHECK;
enum hd_status core_mempool_pointer_export(uint64_t va, struct core_mempool_pointer *out_pointer)
    HD_MUST_CHECK;
enum hd_status core_mempool_pointer_import(struct core_context *ctx, struct core_mempool *pool,
                                           const struct core_mempool_pointer *pointer,
                                           uint64_t *out_va) HD_MUST_CHECK;

#endif
