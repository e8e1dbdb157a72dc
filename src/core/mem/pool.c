/*
 * A device's memory: its budget, its blocks. Pages of freed large blocks are kept for the next one
 * up to a limit: touching new ones costs 100 us/MiB.
 *
 * Strict mode (HEDDLE_STRICT=1) gives every block granules of its own, ends it at the end of a page
 * and keeps nothing: what is freed or behind a block is inaccessible.
 */
#include <assert.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/device.h"
#include "core/mem/backing.h"
#include "core/mem/memory_parts.h"

#define CLASS_MIN_LOG 8
#define CLASS_COUNT   11 /* 256 B .. 256 KiB */
#define SMALL_MAX_B   ((uint64_t)256 << 10)
#define KEEP_MAX_B    ((uint64_t)1 << 30)

_Static_assert((uint64_t)1 << (CLASS_MIN_LOG + CLASS_COUNT - 1) == SMALL_MAX_B, "largest class");

struct core_pool {
    struct core_device *device;
    struct core_pool *budget; /* whose limit blocks count against: itself, the device's, or none */
    struct core_backing *backing; /* as large as the address space: offset 0 is its base */
    uint64_t limit_B;
    uint64_t used_B; /* by blocks that count */
    uint64_t kept_B; /* pages of free granules, at most keep_max_B */
    uint64_t keep_max_B;
    uint8_t *kept;                           /* by granule of the address space */
    struct core_owner *partial[CLASS_COUNT]; /* slabs with free slots */
    struct core_owner *unused;
};

static enum hd_status pool_new(struct core_device *device, struct core_pool **out_pool)
{
    struct core_pool *pool = hd_new(struct core_pool);

    if (!pool)
        return hd_error(HD_NO_MEMORY, "device memory");
    pool->device = device;
    pool->limit_B = device->memory_B;
    pool->kept = hd_alloc_array(core_space_size() / CORE_GRANULE_B, 1);
    if (!pool->kept) {
        hd_free(pool);
        return hd_error(HD_NO_MEMORY, "device memory");
    }
    *out_pool = pool;
    return HD_OK;
}

static enum hd_status pool_create(struct core_device *device, bool shareable,
                                  struct core_pool **out_pool)
{
    struct core_pool *pool;
    enum hd_status status;

    HD_TRY(pool_new(device, &pool));
    status = core_backing_create(device->hal, core_space_size(), shareable, &pool->backing);
    if (status != HD_OK)
        core_pool_destroy(pool);
    else
        *out_pool = pool;
    return status;
}

enum hd_status core_pool_create(struct core_device *device, struct core_pool **out_pool)
{
    HD_TRY(pool_create(device, false, out_pool));
    (*out_pool)->budget = *out_pool;
    (*out_pool)->keep_max_B = core_strict() ? 0 : HD_MIN(KEEP_MAX_B, (*out_pool)->limit_B / 4);
    return HD_OK;
}

enum hd_status core_pool_create_shareable(struct core_device *device, struct core_pool **out_pool)
{
    HD_TRY(pool_create(device, true, out_pool));
    (*out_pool)->budget = device->pool;
    return HD_OK;
}

enum hd_status core_pool_import(struct core_device *device, int fd, struct core_pool **out_pool)
{
    struct core_pool *pool;
    enum hd_status status;

    HD_TRY(pool_new(device, &pool));
    status = core_backing_import(device->hal, fd, &pool->backing);
    if (status != HD_OK)
        core_pool_destroy(pool);
    else
        *out_pool = pool;
    return status;
}

enum hd_status core_pool_export(struct core_pool *pool, int *out_fd)
{
    return core_backing_export(pool->backing, out_fd);
}

void core_pool_destroy(struct core_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->used_B);
    while (pool->unused) {
        struct core_owner *owner = pool->unused;

        pool->unused = owner->next;
        hd_free(owner->blocks);
        hd_free(owner);
    }
    core_backing_destroy(pool->backing);
    hd_free(pool->kept);
    hd_free(pool);
}

bool core_pool_counts(enum core_mem_kind kind)
{
    return kind == CORE_MEM_DEVICE || kind == CORE_MEM_MANAGED;
}

/* Other processes are told as well. */
static void pool_used_set(struct core_pool *pool, uint64_t used_B)
{
    pool->used_B = used_B;
    atomic_store_explicit(&pool->device->use->memory_B, used_B, memory_order_relaxed);
}

bool core_pool_charge_locked(struct core_pool *pool, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock));
    if (size_B > pool->limit_B || pool->used_B > pool->limit_B - size_B)
        return false;
    pool_used_set(pool, pool->used_B + size_B);
    return true;
}

void core_pool_uncharge_locked(struct core_pool *pool, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock) && pool->used_B >= size_B);
    pool_used_set(pool, pool->used_B - size_B);
}

uint64_t core_pool_used_locked(const struct core_pool *pool)
{
    assert(hd_lock_held(&core_memory_lock));
    return pool->used_B;
}

uint64_t core_pool_limit(const struct core_pool *pool)
{
    return pool->limit_B;
}

/* ---- granules */

/* Says which granules' pages are kept, and counts them. */
static void pool_kept_set(struct core_pool *pool, uint64_t base, uint64_t granules, bool kept)
{
    uint64_t first = (base - core_space_base()) / CORE_GRANULE_B;

    for (uint64_t g = first; g < first + granules; g++) {
        pool->kept_B -= pool->kept[g] ? CORE_GRANULE_B : 0;
        pool->kept_B += kept ? CORE_GRANULE_B : 0;
        pool->kept[g] = kept;
    }
}

static void pool_owner_put_away(struct core_pool *pool, struct core_owner *owner)
{
    owner->next = pool->unused;
    pool->unused = owner;
}

/* Backs the first bind_B of so many granules; 0: none of them. */
static bool pool_owner_back(struct core_pool *pool, struct core_owner *owner, uint64_t bind_B)
{
    if (!core_space_take_locked(owner->granules, &owner->base))
        return false;
    pool_kept_set(pool, owner->base, owner->granules, false);
    if (!bind_B) /* the caller maps something itself */
        return true;
    if (core_backing_map(pool->backing, owner->base, owner->base - core_space_base(), bind_B,
                         HAL_PROT_READ_WRITE) == HD_OK)
        return true;
    core_space_give_locked(owner->base, owner->granules);
    return false;
}

static struct core_owner *pool_owner_create(struct core_pool *pool, uint64_t granules,
                                            uint64_t bind_B, uint32_t slots)
{
    struct core_owner *owner = pool->unused;

    assert(hd_lock_held(&core_memory_lock) && bind_B <= granules * CORE_GRANULE_B);
    if (owner)
        pool->unused = owner->next;
    else
        owner = hd_new(struct core_owner);
    if (!owner)
        return NULL;
    hd_free(owner->blocks);
    *owner = (struct core_owner){.pool = pool, .granules = granules, .slots = slots};
    owner->blocks = hd_alloc_array(slots, sizeof(*owner->blocks));
    if (!owner->blocks || !pool_owner_back(pool, owner, bind_B)) {
        pool_owner_put_away(pool, owner);
        return NULL;
    }
    return owner;
}

/* ---- blocks */

static bool pool_alloc_large(struct core_pool *pool, const struct core_block *what,
                             uint64_t *out_va)
{
    uint64_t bind_B = hd_align_up(what->size_B, CORE_PAGE_B);
    uint64_t granules = (bind_B + CORE_PAGE_B + CORE_GRANULE_B - 1) / CORE_GRANULE_B;
    struct core_owner *owner = pool_owner_create(pool, granules, bind_B, 1);

    if (!owner)
        return false;
    owner->slot_B = granules * CORE_GRANULE_B;
    *out_va = owner->base;
    if (core_strict()) /* blocks are aligned to 256 bytes: up to 255 behind it are not noticed */
        *out_va += bind_B - hd_align_up(what->size_B, 256);
    owner->blocks[0] = *what;
    owner->blocks[0].base = *out_va;
    core_space_owner_set_locked(owner->base, granules, owner);
    return true;
}

static struct core_owner *pool_slab_create(struct core_pool *pool, unsigned cls)
{
    uint64_t slot_B = (uint64_t)1 << (cls + CLASS_MIN_LOG);
    struct core_owner *slab =
        pool_owner_create(pool, 1, CORE_GRANULE_B, (uint32_t)(CORE_GRANULE_B / slot_B));

    if (!slab)
        return NULL;
    slab->slot_B = slot_B;
    slab->free_slots = slab->slots;
    slab->cls = cls;
    pool->partial[cls] = slab;
    core_space_owner_set_locked(slab->base, 1, slab);
    return slab;
}

static bool pool_alloc_small(struct core_pool *pool, const struct core_block *what,
                             uint64_t *out_va)
{
    const uint64_t size_B = what->size_B;
    unsigned cls = 0;
    assert(size_B <= SMALL_MAX_B);
    while (((uint64_t)1 << (cls + CLASS_MIN_LOG)) < size_B)
        cls++;
    struct core_owner *slab = pool->partial[cls];
    uint32_t slot;

    if (!slab)
        slab = pool_slab_create(pool, cls);
    if (!slab)
        return false;
    assert(slab->free_slots > 0 && slab->pool == pool);
    for (slot = slab->hint; slab->blocks[slot].size_B; slot++)
        assert(slot + 1 < slab->slots);
    slab->hint = slot + 1;
    slab->blocks[slot] = *what;
    slab->blocks[slot].base = *out_va = slab->base + slot * slab->slot_B;
    if (--slab->free_slots == 0)
        pool->partial[cls] = slab->next;
    return true;
}

/* May the budget's blocks become larger by so much? */
static bool pool_budget_has(const struct core_pool *budget, uint64_t more_B)
{
    return more_B <= budget->limit_B && budget->used_B <= budget->limit_B - more_B;
}

bool core_pool_alloc_locked(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
{
    bool counts = core_pool_counts(what->kind), is_large;

    assert(hd_lock_held(&core_memory_lock) && what->size_B > 0);
    if (what->size_B >= core_space_size()) /* sums do not overflow below */
        return false;
    if (counts && !pool_budget_has(pool->budget, what->size_B))
        return false;
    /* Slabs stay; what can be exported goes with its pool. */
    is_large = what->size_B > SMALL_MAX_B || core_strict() || pool->budget != pool;
    if (!(is_large ? pool_alloc_large : pool_alloc_small)(pool, what, out_va))
        return false;
    if (counts)
        pool_used_set(pool->budget, pool->budget->used_B + what->size_B);
    return true;
}

uint64_t core_pool_room_locked(const struct core_block *block)
{
    const struct core_owner *owner = core_space_owner(block->base);

    assert(hd_lock_held(&core_memory_lock));
    return owner->slots == 1 ? hd_align_up(block->size_B, CORE_PAGE_B) : owner->slot_B;
}

bool core_pool_resize_locked(struct core_block *block, uint64_t size_B)
{
    struct core_pool *budget = core_space_owner(block->base)->pool->budget;

    assert(hd_lock_held(&core_memory_lock) && budget);
    if (core_pool_counts(block->kind)) {
        if (size_B > block->size_B && !pool_budget_has(budget, size_B - block->size_B))
            return false;
        pool_used_set(budget, budget->used_B + size_B - block->size_B);
    }
    block->size_B = size_B;
    return true;
}

/* Whole granules of the memory are mapped; the block is the part that was asked for. */
bool core_pool_map_locked(struct core_pool *pool, const struct core_block *what, uint64_t offset_B,
                          struct core_block **out_block)
{
    uint64_t first = offset_B & ~(CORE_GRANULE_B - 1);
    uint64_t granules = (offset_B + what->size_B - first + CORE_GRANULE_B - 1) / CORE_GRANULE_B;
    struct core_owner *owner = pool_owner_create(pool, granules, 0, 1);
    uint64_t size_B = core_backing_size(pool->backing);

    assert(hd_lock_held(&core_memory_lock) && !pool->budget);
    if (!owner)
        return false;
    if (first >= size_B || core_backing_map(pool->backing, owner->base, first,
                                            HD_MIN(granules * CORE_GRANULE_B, size_B - first),
                                            HAL_PROT_READ_WRITE) != HD_OK) {
        core_space_give_locked(owner->base, granules);
        pool_owner_put_away(pool, owner);
        return false;
    }
    owner->slot_B = granules * CORE_GRANULE_B;
    owner->blocks[0] = *what;
    owner->blocks[0].base = owner->base + (offset_B - first);
    core_space_owner_set_locked(owner->base, granules, owner);
    *out_block = &owner->blocks[0];
    return true;
}

/* ---- for other processes */

/* Only what is not 0 is copied: pages that were never touched stay untouched. */
static void pool_contents_copy(uint8_t *to, const uint8_t *from, uint64_t size_B)
{
    static const uint8_t zeros[CORE_PAGE_B];

    for (uint64_t at = 0; at < size_B; at += CORE_PAGE_B)
        if (memcmp(from + at, zeros, CORE_PAGE_B))
            memcpy(to + at, from + at, CORE_PAGE_B);
}

/* The owner's contents in a memory file, through addresses that are free. */
static enum hd_status pool_contents_move(const struct core_owner *owner, uint64_t bound_B,
                                         struct core_backing *backing)
{
    enum hd_status status;
    uint64_t to;

    if (!core_space_take_locked(owner->granules, &to))
        return hd_error(HD_NO_DEVICE_MEMORY, "no addresses are left to move memory");
    status = core_backing_map(backing, to, 0, bound_B, HAL_PROT_READ_WRITE);
    if (status == HD_OK) {
        pool_contents_copy((uint8_t *)(uintptr_t)to, (const uint8_t *)(uintptr_t)owner->base,
                           bound_B);
        core_backing_unmap(backing, to, bound_B);
        status = core_backing_map(backing, owner->base, 0, bound_B, HAL_PROT_READ_WRITE);
    }
    core_space_give_locked(to, owner->granules);
    return status;
}

static enum hd_status pool_owner_share(struct core_owner *owner, uint64_t bound_B)
{
    struct core_backing *backing;
    enum hd_status status;

    HD_TRY(core_backing_create(owner->pool->device->hal, owner->granules * CORE_GRANULE_B, true,
                               &backing));
    status = core_backing_export(backing, &owner->shared_fd);
    if (status == HD_OK) {
        status = pool_contents_move(owner, bound_B, backing);
        if (status == HD_OK)
            owner->shared = backing;
        else
            close(owner->shared_fd);
    }
    if (status != HD_OK)
        core_backing_destroy(backing);
    return status;
}

enum hd_status core_pool_share_locked(const struct core_block *block, int *out_fd,
                                      uint64_t *out_offset_B)
{
    struct core_owner *owner = core_space_owner(block->base);
    uint64_t bound_B = owner->granules * CORE_GRANULE_B;

    assert(hd_lock_held(&core_memory_lock) && owner->pool->budget == owner->pool);
    if (owner->slots == 1) /* its last page is the guard */
        bound_B = hd_align_up(block->size_B, CORE_PAGE_B);
    if (!owner->shared)
        HD_TRY(pool_owner_share(owner, bound_B));
    *out_fd = owner->shared_fd;
    *out_offset_B = block->base - owner->base;
    return HD_OK;
}

/* ---- freeing */

static void pool_free_large(struct core_pool *pool, struct core_owner *owner)
{
    uint64_t size_B = owner->granules * CORE_GRANULE_B;
    bool keep = pool->kept_B + size_B <= pool->keep_max_B && !owner->shared;

    if (owner->shared) {
        /* Other processes keep what they mapped. */
        core_backing_unmap(owner->shared, owner->base, owner->granules * CORE_GRANULE_B);
        core_backing_destroy(owner->shared);
        close(owner->shared_fd);
        owner->shared = NULL;
    }
    core_space_owner_set_locked(owner->base, owner->granules, NULL);
    pool_kept_set(pool, owner->base, owner->granules, keep);
    if (!keep && pool->budget) /* what was imported is others' as well */
        core_backing_discard(pool->backing, owner->base - core_space_base(), size_B);
    core_backing_unmap(pool->backing, owner->base, size_B);
    core_space_give_locked(owner->base, owner->granules);
    pool_owner_put_away(pool, owner);
}

void core_pool_free_locked(struct core_block *block)
{
    struct core_owner *owner = core_space_owner(block->base);
    struct core_pool *pool = owner->pool;

    assert(hd_lock_held(&core_memory_lock) && block->size_B > 0);
    assert(block >= owner->blocks && block < owner->blocks + owner->slots);
    if (core_pool_counts(block->kind) && pool->budget) {
        assert(pool->budget->used_B >= block->size_B);
        pool_used_set(pool->budget, pool->budget->used_B - block->size_B);
    }
    block->size_B = 0;
    if (owner->slots == 1) {
        pool_free_large(pool, owner);
        return;
    }
    owner->hint = HD_MIN(owner->hint, (uint32_t)(block - owner->blocks));
    if (owner->free_slots++ == 0) {
        owner->next = pool->partial[owner->cls];
        pool->partial[owner->cls] = owner;
    }
    assert(owner->free_slots <= owner->slots);
}
