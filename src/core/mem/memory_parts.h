/*
 * Inside core's memory; the interface to the rest is memory.h.
 *
 *     memory.c        allocating and freeing
 *       block.c       addresses to blocks, and what the API asks of them
 *         pool.c      a device's budget; large blocks and slabs; pages kept for later
 *           space.c   one reserved range for all devices, handed out in granules of 2 MiB
 *         registered.c  the program's own memory that it told us of
 *
 * Blocks of more than 256 KiB own whole granules; the rest of the last one, at least a page, stays
 * inaccessible and guards the block's end. A freed one becomes inaccessible again. Smaller blocks
 * are cut from slabs: one granule, blocks of one power of two. What is not a live granule is
 * PROT_NONE.
 *
 * One lock, core_memory_lock (rank MEMORY), guards all of it: what is marked _locked, and every
 * struct below. `owners` may be read without it.
 */
#ifndef HD_CORE_MEM_MEMORY_PARTS_H
#define HD_CORE_MEM_MEMORY_PARTS_H

#include "core/mem/memory.h"

#define CORE_GRANULE_B ((uint64_t)2 << 20)
#define CORE_PAGE_B    4096u

extern struct hd_lock core_memory_lock;

/* What owns granules: a large block (slots == 1) or a slab. Made and kept by its pool. */
struct core_owner {
    struct core_pool *pool; /* NULL: a mapping (vmm.h), or: */
    bool is_array;          /* the addresses of an array (array_map.h) */
    uint64_t base;
    uint64_t granules;
    uint64_t slot_B;
    uint32_t slots;
    uint32_t free_slots;
    uint32_t hint;               /* no slot below is free */
    unsigned cls;                /* of a slab */
    struct core_owner *next;     /* slabs with free slots; unused owners */
    struct core_block *blocks;   /* by slot; size_B 0 = free */
    struct core_backing *shared; /* memory that other processes may map, instead of the pool's */
    int shared_fd;               /* of it */
};

/* ---- block.c */

/* The block that contains va, live or cached by a pool, or NULL. */
struct core_block *core_block_at_locked(uint64_t va);
/* The same, but for what a pool has cached: that is no memory of the program's. */
struct core_block *core_block_live_locked(uint64_t va);
/* Frees a block wherever it came from. */
void core_block_free_locked(struct core_block *block);

/* HEDDLE_STRICT=1: only memory that a discrete GPU could touch. */
bool core_strict(void);
struct hal_client_ops;
/* What devices may ask about memory; in strict mode, by what rule they check what kernels touch. */
void core_memory_answer(struct hal_client_ops *client);

/* ---- space.c */

/* Addresses that the process may still map: RLIMIT_AS; UINT64_MAX: as many as there are. */
uint64_t core_space_limit_B(void);
/*
 * Reserves addresses for `count` devices with `memory_B` each; is_shared: devices of other
 * processes are to have the same. HD_NO_MEMORY. Once.
 */
enum hd_status core_space_reserve(uint64_t memory_B, unsigned count, bool is_shared) HD_MUST_CHECK;
uint64_t core_space_base(void);
uint64_t core_space_size(void);
/* Does any byte of the range lie in the reserved one? */
bool core_space_overlaps(uint64_t va, uint64_t size_B);
/* False when no run of so many granules is free. */
bool core_space_take_locked(uint64_t granules, uint64_t *out_base) HD_MUST_CHECK;
void core_space_give_locked(uint64_t base, uint64_t granules);
/* Who owns the granule around va; NULL: nobody, or not ours. O(1). */
struct core_owner *core_space_owner(uint64_t va);
void core_space_owner_set_locked(uint64_t base, uint64_t granules, struct core_owner *owner);
/* Calls func for every owner. */
void core_space_foreach_locked(void (*func)(struct core_owner *owner, void *arg), void *arg);

/* ---- pool.c */

enum hd_status core_pool_create(struct core_device *device, struct core_pool **out_pool)
    HD_MUST_CHECK;
/*
 * Memory of its own that other processes can map, out of the device's budget. The address of a
 * granule is its offset in the memory, from the beginning of the space. core_pool_export() gives a
 * descriptor to the caller, and core_pool_import() what another process exported, of no budget.
 */
enum hd_status core_pool_create_shareable(struct core_device *device, struct core_pool **out_pool)
    HD_MUST_CHECK;
enum hd_status core_pool_export(struct core_pool *pool, int *out_fd) HD_MUST_CHECK;
enum hd_status core_pool_import(struct core_device *device, int fd, struct core_pool **out_pool)
    HD_MUST_CHECK;
/* Its blocks must be gone. */
void core_pool_destroy(struct core_pool *pool);
/* Places a block like *what. False when the budget, the addresses or the host's memory end. */
bool core_pool_alloc_locked(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
    HD_MUST_CHECK;
void core_pool_free_locked(struct core_block *block);
/* How large a block could be where it is; and makes it another size up to that, budget allowing. */
uint64_t core_pool_room_locked(const struct core_block *block);
bool core_pool_resize_locked(struct core_block *block, uint64_t size_B) HD_MUST_CHECK;
/*
 * Makes memory of the pool a memory file, once: contents move, addresses stay. Nothing may write to
 * the block meanwhile. The descriptor stays the pool's. HD_NO_DEVICE_MEMORY.
 */
enum hd_status core_pool_share_locked(const struct core_block *block, int *out_fd,
                                      uint64_t *out_offset_B) HD_MUST_CHECK;
/* Makes a block of imported memory accessible. False when addresses or memory end. */
bool core_pool_map_locked(struct core_pool *pool, const struct core_block *what, uint64_t offset_B,
                          struct core_block **out_block) HD_MUST_CHECK;
/* Does memory of the kind come out of the device's budget? */
bool core_pool_counts(enum core_mem_kind kind);
/* Memory that is placed elsewhere but counts (vmm.h). False: there is not so much left. */
bool core_pool_charge_locked(struct core_pool *pool, uint64_t size_B) HD_MUST_CHECK;
void core_pool_uncharge_locked(struct core_pool *pool, uint64_t size_B);
uint64_t core_pool_used_locked(const struct core_pool *pool);
uint64_t core_pool_limit(const struct core_pool *pool);

/* ---- advice.c */

/* Memory that is freed takes advice with it. */
void core_advice_forget_locked(uint64_t va, uint64_t size_B);

/* ---- registered.c */

/* False, without a lock, while nothing is registered. */
bool core_registered_any(void);
/* The registered block that contains va, or NULL. O(log n). */
struct core_block *core_registered_find_locked(uint64_t va);
void core_registered_release_locked(const struct core_context *ctx);

#endif
