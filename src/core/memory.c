/*
 * The address space: one reserved range, in granules of 2 MiB, from which all memory that the API
 * hands out comes.
 *
 * - Blocks of 512 KiB and more own whole granules; the rest of the last one, at least a page, stays
 *   inaccessible and guards the block's end. A freed one becomes inaccessible again.
 * - Smaller blocks are cut from slabs: one granule, blocks of one power of two.
 *
 * `owners` says by granule who has it, so pointer -> block takes no lock and no search. Pages of
 * freed large blocks are kept for the next one up to a budget: touching new ones costs 100 us/MiB.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/core.h"

#define GRANULE_B     ((uint64_t)2 << 20)
#define PAGE_B        4096u
#define CLASS_MIN_LOG 8
#define CLASS_COUNT   11 /* 256 B .. 256 KiB */
#define SMALL_MAX_B   ((uint64_t)256 << 10)
#define KEEP_MAX_B    ((uint64_t)1 << 30)

/* What owns granules: a large block (slots == 1) or a slab. */
struct owner {
    uint64_t base;
    uint64_t granules;
    uint64_t slot_B;
    uint32_t slots;
    uint32_t free_slots;
    uint32_t hint;             /* no slot below is free */
    unsigned cls;              /* of a slab */
    struct owner *next;        /* slabs with free slots; unused owners */
    struct core_block *blocks; /* by slot; size_B 0 = free */
};

struct extent {
    uint64_t first, count;
};

static struct {
    struct core_device *device;
    uint64_t base, granules;
    uint64_t limit_B, used_B, kept_B;
    _Atomic(struct owner *) *owners;
    uint8_t *kept;              /* by granule: its pages are still there */
    HD_VEC(struct extent) free; /* sorted, never adjacent */
    struct owner *partial[CLASS_COUNT];
    struct owner *unused;
    HD_VEC(struct core_block) registered; /* sorted by base */
    uint64_t next_id;
    struct hd_lock lock;
} space = {.lock = HD_LOCK_INIT(MEMORY, "memory")};

enum hd_status core_memory_init(struct core_device *device, uint64_t limit_B)
{
    uint64_t size_B = HD_MAX(limit_B * 4, (uint64_t)64 << 30);
    void *base = MAP_FAILED;

    for (; size_B >= limit_B + GRANULE_B; size_B /= 2) {
        base = mmap(NULL, size_B + GRANULE_B, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base != MAP_FAILED)
            break;
    }
    if (base == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "cannot reserve address space for %llu bytes: %s",
                        (unsigned long long)limit_B, strerror(errno));
    space.device = device;
    space.base = hd_align_up((uintptr_t)base, GRANULE_B);
    space.granules = size_B / GRANULE_B;
    space.limit_B = limit_B;
    space.owners = hd_alloc_array(space.granules, sizeof(*space.owners));
    space.kept = hd_alloc_array(space.granules, 1);
    if (!space.owners || !space.kept ||
        !hd_vec_push(&space.free, (struct extent){0, space.granules}))
        return hd_error(HD_NO_MEMORY, "memory tables");
    return HD_OK;
}

/* ---- granules; all under space.lock */

static bool granules_take(uint64_t count, uint64_t *out_first)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < space.free.len; i++)
        if (space.free.at[i].count >= count &&
            (best == SIZE_MAX || space.free.at[i].count < space.free.at[best].count))
            best = i;
    if (best == SIZE_MAX)
        return false;
    *out_first = space.free.at[best].first;
    space.free.at[best].first += count;
    space.free.at[best].count -= count;
    if (!space.free.at[best].count) {
        memmove(&space.free.at[best], &space.free.at[best + 1],
                (space.free.len - best - 1) * sizeof(space.free.at[0]));
        space.free.len--;
    }
    return true;
}

static void granules_give(uint64_t first, uint64_t count)
{
    struct extent *at = space.free.at;
    size_t i = 0;

    while (i < space.free.len && at[i].first < first)
        i++;
    if (i > 0 && at[i - 1].first + at[i - 1].count == first) {
        at[i - 1].count += count;
        if (i < space.free.len && at[i].first == first + count) {
            at[i - 1].count += at[i].count;
            memmove(&at[i], &at[i + 1], (space.free.len - i - 1) * sizeof(*at));
            space.free.len--;
        }
        return;
    }
    if (i < space.free.len && at[i].first == first + count) {
        at[i].first = first;
        at[i].count += count;
        return;
    }
    if (!hd_vec_reserve(&space.free, space.free.len + 1))
        return; /* address space is lost, nothing else */
    at = space.free.at;
    memmove(&at[i + 1], &at[i], (space.free.len - i) * sizeof(*at));
    at[i] = (struct extent){first, count};
    space.free.len++;
}

/* Pages are about to be used: they no longer count as kept. */
static void kept_clear(uint64_t first, uint64_t count)
{
    for (uint64_t g = first; g < first + count; g++) {
        space.kept_B -= space.kept[g] ? GRANULE_B : 0;
        space.kept[g] = 0;
    }
}

static struct owner *owner_create(uint64_t granules, uint64_t bind_B, uint32_t slots)
{
    struct hal_device *hal = space.device->hal;
    struct owner *owner = space.unused;
    uint64_t first;

    if (owner)
        space.unused = owner->next;
    else
        owner = hd_new(struct owner);
    if (!owner)
        return NULL;
    hd_free(owner->blocks);
    memset(owner, 0, sizeof(*owner));
    owner->blocks = hd_alloc_array(slots, sizeof(*owner->blocks));
    if (!owner->blocks || !granules_take(granules, &first)) {
        owner->next = space.unused;
        space.unused = owner;
        return NULL;
    }
    owner->base = space.base + first * GRANULE_B;
    owner->granules = granules;
    owner->slots = slots;
    kept_clear(first, granules);
    if (hal->ops->mem_bind(hal, (void *)(uintptr_t)owner->base, bind_B) != HD_OK) {
        granules_give(first, granules);
        owner->next = space.unused;
        space.unused = owner;
        return NULL;
    }
    return owner;
}

/* From here on pointers into the owner's granules are found. */
static void owner_publish(struct owner *owner)
{
    uint64_t first = (owner->base - space.base) / GRANULE_B;

    for (uint64_t g = first; g < first + owner->granules; g++)
        atomic_store_explicit(&space.owners[g], owner, memory_order_release);
}

/* ---- allocation */

static bool alloc_large(uint64_t size_B, const struct core_block *what, uint64_t *out_va)
{
    uint64_t bind_B = hd_align_up(size_B, PAGE_B);
    struct owner *owner = owner_create((bind_B + PAGE_B + GRANULE_B - 1) / GRANULE_B, bind_B, 1);

    if (!owner)
        return false;
    owner->slot_B = owner->granules * GRANULE_B;
    owner->blocks[0] = *what;
    owner->blocks[0].base = *out_va = owner->base;
    owner_publish(owner);
    return true;
}

static unsigned class_of(uint64_t size_B)
{
    unsigned cls = 0;

    while (((uint64_t)1 << (cls + CLASS_MIN_LOG)) < size_B)
        cls++;
    return cls;
}

static bool alloc_small(uint64_t size_B, const struct core_block *what, uint64_t *out_va)
{
    unsigned cls = class_of(size_B);
    struct owner *slab = space.partial[cls];
    uint64_t slot_B = (uint64_t)1 << (cls + CLASS_MIN_LOG);
    uint32_t slot;

    if (!slab) {
        slab = owner_create(1, GRANULE_B, (uint32_t)(GRANULE_B / slot_B));
        if (!slab)
            return false;
        slab->slot_B = slot_B;
        slab->free_slots = slab->slots;
        slab->cls = cls;
        space.partial[cls] = slab;
        owner_publish(slab);
    }
    for (slot = slab->hint; slab->blocks[slot].size_B; slot++)
        ;
    slab->hint = slot + 1;
    slab->blocks[slot] = *what;
    slab->blocks[slot].base = *out_va = slab->base + slot * slot_B;
    if (--slab->free_slots == 0)
        space.partial[cls] = slab->next;
    return true;
}

static bool counts(enum core_mem_kind kind)
{
    return kind == CORE_MEM_DEVICE || kind == CORE_MEM_MANAGED;
}

enum hd_status core_memory_alloc(struct core_context *ctx, uint64_t size_B, enum core_mem_kind kind,
                                 unsigned flags, uint64_t *out_va)
{
    struct core_block what = {.size_B = size_B, .kind = kind, .flags = flags, .ctx = ctx};
    bool fits, done = false;

    if (!size_B)
        return hd_error(HD_BAD_ARG, "allocation of 0 bytes");
    hd_lock_acquire(&space.lock);
    what.id = ++space.next_id;
    fits = size_B < space.granules * GRANULE_B; /* sums below do not overflow */
    if (counts(kind))
        fits = size_B <= space.limit_B && space.used_B <= space.limit_B - size_B;
    if (fits)
        done = size_B > SMALL_MAX_B ? alloc_large(size_B, &what, out_va)
                                    : alloc_small(size_B, &what, out_va);
    if (done && counts(kind))
        space.used_B += size_B;
    hd_lock_release(&space.lock);
    if (!done)
        return hd_error(HD_NO_DEVICE_MEMORY, "cannot allocate %llu bytes: %llu of %llu are in use",
                        (unsigned long long)size_B, (unsigned long long)space.used_B,
                        (unsigned long long)space.limit_B);
    if (hd_debug(HD_DEBUG_MEM))
        hd_log_debug(HD_DEBUG_MEM, "alloc %llu bytes at 0x%llx", (unsigned long long)size_B,
                     (unsigned long long)*out_va);
    return HD_OK;
}

/* ---- finding */

static struct owner *owner_of(uint64_t va)
{
    uint64_t granule = (va - space.base) / GRANULE_B;

    if (!space.base || va < space.base || granule >= space.granules)
        return NULL;
    return atomic_load_explicit(&space.owners[granule], memory_order_acquire);
}

static struct core_block *block_of(uint64_t va)
{
    struct owner *owner = owner_of(va);
    struct core_block *block;

    if (!owner)
        return NULL;
    block = &owner->blocks[(va - owner->base) / owner->slot_B];
    return block->size_B && va - block->base < block->size_B ? block : NULL;
}

static const struct core_block *registered_find_locked(uint64_t va)
{
    for (size_t i = 0; i < space.registered.len; i++)
        if (va - space.registered.at[i].base < space.registered.at[i].size_B)
            return &space.registered.at[i];
    return NULL;
}

bool core_memory_find(uint64_t va, struct core_block *out_block)
{
    const struct core_block *block;

    hd_lock_acquire(&space.lock);
    block = block_of(va);
    if (!block)
        block = registered_find_locked(va);
    if (block)
        *out_block = *block;
    hd_lock_release(&space.lock);
    return block != NULL;
}

static bool is_in_space(uint64_t va, uint64_t size_B)
{
    uint64_t end = space.base + space.granules * GRANULE_B;

    return va < end && va + size_B > space.base;
}

enum hd_status core_memory_check(uint64_t va, uint64_t size_B, bool device_only)
{
    struct core_block block;

    if (va + size_B < va)
        return hd_error(HD_BAD_ARG, "range at 0x%llx wraps around", (unsigned long long)va);
    if (!device_only && !is_in_space(va, HD_MAX(size_B, 1)))
        return va ? HD_OK : hd_error(HD_BAD_ARG, "null pointer");
    if (!core_memory_find(va, &block))
        return hd_error(HD_BAD_ARG, "0x%llx is not device memory", (unsigned long long)va);
    if (va - block.base + size_B > block.size_B)
        return hd_error(HD_BAD_ARG,
                        "%llu bytes at 0x%llx exceed the allocation of %llu bytes at 0x%llx",
                        (unsigned long long)size_B, (unsigned long long)va,
                        (unsigned long long)block.size_B, (unsigned long long)block.base);
    return HD_OK;
}

bool core_memory_is_pageable(uint64_t va)
{
    struct core_block block;

    return !core_memory_find(va, &block);
}

/* ---- freeing; under space.lock */

static void free_large(struct owner *owner)
{
    struct hal_device *hal = space.device->hal;
    uint64_t first = (owner->base - space.base) / GRANULE_B;
    uint64_t size_B = owner->granules * GRANULE_B;
    bool keep = space.kept_B + size_B <= HD_MIN(KEEP_MAX_B, space.limit_B / 4);

    for (uint64_t g = first; g < first + owner->granules; g++) {
        atomic_store_explicit(&space.owners[g], NULL, memory_order_release);
        space.kept[g] = keep;
    }
    space.kept_B += keep ? size_B : 0;
    hal->ops->mem_unbind(hal, (void *)(uintptr_t)owner->base, size_B, keep);
    granules_give(first, owner->granules);
    owner->next = space.unused;
    space.unused = owner;
}

static void free_block_locked(struct core_block *block)
{
    struct owner *owner = owner_of(block->base);

    if (counts(block->kind))
        space.used_B -= block->size_B;
    block->size_B = 0;
    if (owner->slots == 1) {
        free_large(owner);
        return;
    }
    owner->hint = HD_MIN(owner->hint, (uint32_t)(block - owner->blocks));
    if (owner->free_slots++ == 0) {
        owner->next = space.partial[owner->cls];
        space.partial[owner->cls] = owner;
    }
}

enum hd_status core_memory_free(uint64_t va, unsigned kinds)
{
    struct core_block *block;
    bool found;

    hd_lock_acquire(&space.lock);
    block = block_of(va);
    found = block && block->base == va && block->kind & kinds;
    if (found)
        free_block_locked(block);
    hd_lock_release(&space.lock);
    if (!found)
        return hd_error(HD_BAD_ARG, "free of 0x%llx, which is not the start of an allocation",
                        (unsigned long long)va);
    if (hd_debug(HD_DEBUG_MEM))
        hd_log_debug(HD_DEBUG_MEM, "free 0x%llx", (unsigned long long)va);
    return HD_OK;
}

void core_memory_release_context(struct core_context *ctx)
{
    hd_lock_acquire(&space.lock);
    for (uint64_t g = 0; g < space.granules; g++) {
        struct owner *owner = atomic_load(&space.owners[g]);

        if (!owner)
            continue;
        /* A large block ends its owner: look no further in it. */
        for (uint32_t i = 0; i < owner->slots; i++) {
            bool last = owner->slots == 1;
            if (owner->blocks[i].size_B && owner->blocks[i].ctx == ctx)
                free_block_locked(&owner->blocks[i]);
            if (last)
                break;
        }
    }
    for (size_t i = 0; i < space.registered.len;) {
        if (space.registered.at[i].ctx == ctx)
            space.registered.at[i] = space.registered.at[--space.registered.len];
        else
            i++;
    }
    hd_lock_release(&space.lock);
}

/* ---- registered host memory */

enum hd_status core_memory_register(struct core_context *ctx, uint64_t va, uint64_t size_B,
                                    unsigned flags)
{
    struct core_block block = {
        .base = va, .size_B = size_B, .kind = CORE_MEM_REGISTERED, .flags = flags, .ctx = ctx};
    enum hd_status status = HD_OK;

    if (!va || !size_B || va + size_B < va)
        return hd_error(HD_BAD_ARG, "cannot register %llu bytes at 0x%llx",
                        (unsigned long long)size_B, (unsigned long long)va);
    hd_lock_acquire(&space.lock);
    block.id = ++space.next_id;
    for (size_t i = 0; i < space.registered.len; i++) {
        const struct core_block *other = &space.registered.at[i];
        if (va < other->base + other->size_B && other->base < va + size_B)
            status = HD_BUSY;
    }
    if (status == HD_OK && !hd_vec_push(&space.registered, block))
        status = HD_NO_MEMORY;
    hd_lock_release(&space.lock);
    if (status == HD_BUSY)
        return hd_error(HD_BUSY, "memory at 0x%llx is registered already", (unsigned long long)va);
    return status == HD_OK ? HD_OK : hd_error(status, "registered memory");
}

enum hd_status core_memory_unregister(uint64_t va)
{
    bool found = false;

    hd_lock_acquire(&space.lock);
    for (size_t i = 0; i < space.registered.len && !found; i++) {
        found = space.registered.at[i].base == va;
        if (found)
            space.registered.at[i] = space.registered.at[--space.registered.len];
    }
    hd_lock_release(&space.lock);
    return found ? HD_OK
                 : hd_error(HD_NOT_FOUND, "0x%llx is not registered", (unsigned long long)va);
}

void core_memory_info(uint64_t *out_free_B, uint64_t *out_total_B)
{
    hd_lock_acquire(&space.lock);
    *out_free_B = space.limit_B - space.used_B;
    *out_total_B = space.limit_B;
    hd_lock_release(&space.lock);
}
