/*
 * A device's memory: its budget, its blocks. Pages of freed large blocks are kept for the next one
 * up to a limit: touching new ones costs 100 us/MiB.
 *
 * Strict mode (HEDDLE_STRICT=1) gives every block granules of its own, ends it at the end of a page
 * and keeps nothing: what is freed or behind a block is inaccessible.
 */
#include <assert.h>

#include "base/mem.h"
#include "core/memory.h"
#include "hal/hal.h"

#define CLASS_MIN_LOG 8
#define CLASS_COUNT   11 /* 256 B .. 256 KiB */
#define SMALL_MAX_B   ((uint64_t)256 << 10)
#define KEEP_MAX_B    ((uint64_t)1 << 30)

_Static_assert((uint64_t)1 << (CLASS_MIN_LOG + CLASS_COUNT - 1) == SMALL_MAX_B, "largest class");

struct core_pool {
    struct hal_device *hal;
    struct hal_mem *mem; /* as large as the address space: offset 0 is its base */
    uint64_t limit_B;
    uint64_t used_B; /* by blocks that count */
    uint64_t kept_B; /* pages of free granules, at most keep_max_B */
    uint64_t keep_max_B;
    uint8_t *kept;                           /* by granule of the address space */
    struct core_owner *partial[CLASS_COUNT]; /* slabs with free slots */
    struct core_owner *unused;
};

enum hd_status core_pool_create(struct core_device *device, struct core_pool **out_pool)
{
    struct core_pool *pool = hd_new(struct core_pool);
    enum hd_status status;

    if (!pool)
        return hd_error(HD_NO_MEMORY, "device memory");
    pool->hal = device->hal;
    pool->limit_B = device->memory_B;
    pool->keep_max_B = core_strict() ? 0 : HD_MIN(KEEP_MAX_B, pool->limit_B / 4);
    pool->kept = hd_alloc_array(core_space_size() / CORE_GRANULE_B, 1);
    if (!pool->kept) {
        hd_free(pool);
        return hd_error(HD_NO_MEMORY, "device memory");
    }
    status = pool->hal->ops->mem_create(pool->hal, core_space_size(), false, &pool->mem);
    if (status != HD_OK) {
        core_pool_destroy(pool);
        return status;
    }
    *out_pool = pool;
    return HD_OK;
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
    if (pool->mem)
        pool->hal->ops->mem_destroy(pool->mem);
    hd_free(pool->kept);
    hd_free(pool);
}

bool core_pool_counts(enum core_mem_kind kind)
{
    return kind == CORE_MEM_DEVICE || kind == CORE_MEM_MANAGED;
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
static void kept_set(struct core_pool *pool, uint64_t base, uint64_t granules, bool kept)
{
    uint64_t first = (base - core_space_base()) / CORE_GRANULE_B;

    for (uint64_t g = first; g < first + granules; g++) {
        pool->kept_B -= pool->kept[g] ? CORE_GRANULE_B : 0;
        pool->kept_B += kept ? CORE_GRANULE_B : 0;
        pool->kept[g] = kept;
    }
}

static void owner_put_away(struct core_pool *pool, struct core_owner *owner)
{
    owner->next = pool->unused;
    pool->unused = owner;
}

/* Backs the first bind_B of so many granules. */
static bool owner_back(struct core_pool *pool, struct core_owner *owner, uint64_t bind_B)
{
    const struct hal_device_ops *ops = pool->hal->ops;

    if (!core_space_take_locked(owner->granules, &owner->base))
        return false;
    kept_set(pool, owner->base, owner->granules, false);
    if (ops->mem_map(pool->mem, owner->base, owner->base - core_space_base(), bind_B,
                     HAL_PROT_READ_WRITE) == HD_OK)
        return true;
    core_space_give_locked(owner->base, owner->granules);
    return false;
}

static struct core_owner *owner_create(struct core_pool *pool, uint64_t granules, uint64_t bind_B,
                                       uint32_t slots)
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
    if (!owner->blocks || !owner_back(pool, owner, bind_B)) {
        owner_put_away(pool, owner);
        return NULL;
    }
    return owner;
}

/* ---- blocks */

static bool alloc_large(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
{
    uint64_t bind_B = hd_align_up(what->size_B, CORE_PAGE_B);
    uint64_t granules = (bind_B + CORE_PAGE_B + CORE_GRANULE_B - 1) / CORE_GRANULE_B;
    struct core_owner *owner = owner_create(pool, granules, bind_B, 1);

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

static unsigned class_of(uint64_t size_B)
{
    unsigned cls = 0;

    assert(size_B <= SMALL_MAX_B);
    while (((uint64_t)1 << (cls + CLASS_MIN_LOG)) < size_B)
        cls++;
    return cls;
}

static struct core_owner *slab_create(struct core_pool *pool, unsigned cls)
{
    uint64_t slot_B = (uint64_t)1 << (cls + CLASS_MIN_LOG);
    struct core_owner *slab =
        owner_create(pool, 1, CORE_GRANULE_B, (uint32_t)(CORE_GRANULE_B / slot_B));

    if (!slab)
        return NULL;
    slab->slot_B = slot_B;
    slab->free_slots = slab->slots;
    slab->cls = cls;
    pool->partial[cls] = slab;
    core_space_owner_set_locked(slab->base, 1, slab);
    return slab;
}

static bool alloc_small(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
{
    unsigned cls = class_of(what->size_B);
    struct core_owner *slab = pool->partial[cls];
    uint32_t slot;

    if (!slab)
        slab = slab_create(pool, cls);
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

bool core_pool_alloc_locked(struct core_pool *pool, const struct core_block *what, uint64_t *out_va)
{
    bool counts = core_pool_counts(what->kind), is_large;

    assert(hd_lock_held(&core_memory_lock) && what->size_B > 0);
    if (what->size_B >= core_space_size()) /* sums do not overflow below */
        return false;
    if (counts && (what->size_B > pool->limit_B || pool->used_B > pool->limit_B - what->size_B))
        return false;
    is_large = what->size_B > SMALL_MAX_B || core_strict();
    if (!(is_large ? alloc_large : alloc_small)(pool, what, out_va))
        return false;
    pool->used_B += counts ? what->size_B : 0;
    return true;
}

static void free_large(struct core_pool *pool, struct core_owner *owner)
{
    uint64_t size_B = owner->granules * CORE_GRANULE_B;
    bool keep = pool->kept_B + size_B <= pool->keep_max_B;

    core_space_owner_set_locked(owner->base, owner->granules, NULL);
    kept_set(pool, owner->base, owner->granules, keep);
    if (!keep)
        pool->hal->ops->mem_discard(pool->mem, owner->base - core_space_base(), size_B);
    pool->hal->ops->mem_unmap(pool->mem, owner->base, size_B);
    core_space_give_locked(owner->base, owner->granules);
    owner_put_away(pool, owner);
}

void core_pool_free_locked(struct core_block *block)
{
    struct core_owner *owner = core_space_owner(block->base);
    struct core_pool *pool = owner->pool;

    assert(hd_lock_held(&core_memory_lock) && block->size_B > 0);
    assert(block >= owner->blocks && block < owner->blocks + owner->slots);
    if (core_pool_counts(block->kind)) {
        assert(pool->used_B >= block->size_B);
        pool->used_B -= block->size_B;
    }
    block->size_B = 0;
    if (owner->slots == 1) {
        free_large(pool, owner);
        return;
    }
    owner->hint = HD_MIN(owner->hint, (uint32_t)(block - owner->blocks));
    if (owner->free_slots++ == 0) {
        owner->next = pool->partial[owner->cls];
        pool->partial[owner->cls] = owner;
    }
    assert(owner->free_slots <= owner->slots);
}
