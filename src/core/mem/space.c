/*
 * The address space: one reserved range in granules of 2 MiB. Free runs of granules are a sorted
 * array: neighbours are found by binary search and always merged. GUARD_B at both ends are never
 * handed out, so an index that is a billion off faults instead of finding the program's memory;
 * less, where the process may not have so many addresses.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/mem/memory_parts.h"

#define GUARD_B ((uint64_t)8 << 30)
#define SPACE_B ((uint64_t)1 << 40) /* strict: room for half a million blocks with own granules */
/*
 * How often all memory has addresses: programs reserve for what might be. PyTorch's segments that
 * expand take 9/8 of the memory each, two for a stream. ThreadSanitizer has few addresses, and a
 * device in another process wants the same ones there: the more, the likelier some are taken.
 */
#define SPACE_TIMES        64
#define NARROW_SPACE_TIMES 4
#define SHARED_SPACE_B     ((uint64_t)64 << 30)

struct extent {
    uint64_t first, count;
};

struct hd_lock core_memory_lock = HD_LOCK_INIT(MEMORY, "memory");

static struct {
    uint64_t base, granules;              /* constant once reserved */
    _Atomic(struct core_owner *) *owners; /* by granule */
    HD_VEC(struct extent) free;           /* sorted, never adjacent */
    uint64_t cursor;                      /* strict: the granule behind the last one taken */
} space;

uint64_t core_space_base(void)
{
    return space.base;
}

uint64_t core_space_size(void)
{
    return space.granules * CORE_GRANULE_B;
}

bool core_space_overlaps(uint64_t va, uint64_t size_B)
{
    return va < space.base + core_space_size() && va + size_B > space.base;
}

uint64_t core_space_limit_B(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    FILE *file;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    uint64_t used_B = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used_B ? limit.rlim_cur - used_B : 0;
}

/* Much more than there is memory: blocks are never moved, so free addresses come in pieces. */
static void *reserve(uint64_t need_B, uint64_t guard_B, bool is_shared, uint64_t *out_size_B)
{
    void *base = MAP_FAILED;
    bool is_narrow = is_shared || HD_SANITIZES_THREADS;
    uint64_t size_B = HD_MAX(need_B * (is_narrow ? NARROW_SPACE_TIMES : SPACE_TIMES),
                             is_shared && !core_strict() ? SHARED_SPACE_B : SPACE_B);

    /* Where addresses are limited: half of them; code, stacks and the program need some, too. */
    size_B = HD_MIN(size_B, HD_MAX(core_space_limit_B() / 2, need_B));
    size_B += 2 * guard_B;

    for (; base == MAP_FAILED && size_B >= need_B + 2 * guard_B + CORE_GRANULE_B; size_B /= 2) {
        base = mmap(NULL, size_B + CORE_GRANULE_B, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        *out_size_B = size_B;
    }
    return base;
}

enum hd_status core_space_reserve(uint64_t memory_B, unsigned count, bool is_shared)
{
    const uint64_t guard_B =
                       HD_MIN(GUARD_B, hd_align_up(core_space_limit_B() / 16, CORE_GRANULE_B)),
                   guard = guard_B / CORE_GRANULE_B;
    uint64_t size_B = 0, granules;
    void *base;

    if (space.base)
        return HD_OK; /* opening the devices failed before and is tried again */
    if (memory_B > ((uint64_t)1 << 46) / count)
        return hd_error(HD_NO_MEMORY, "%u devices with %llu bytes do not fit the address space",
                        count, (unsigned long long)memory_B);
    base = reserve(memory_B * count, guard_B, is_shared, &size_B);
    if (base == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "cannot reserve address space for %llu bytes: %s",
                        (unsigned long long)(memory_B * count), strerror(errno));
    granules = size_B / CORE_GRANULE_B;
    space.owners = hd_alloc_array(granules, sizeof(*space.owners));
    if (!space.owners || !hd_vec_push(&space.free, (struct extent){guard, granules - 2 * guard})) {
        hd_free(space.owners);
        munmap(base, size_B + CORE_GRANULE_B);
        return hd_error(HD_NO_MEMORY, "memory tables");
    }
    space.granules = granules;
    space.base = hd_align_up((uintptr_t)base, CORE_GRANULE_B);
    return HD_OK;
}

/* ---- free granules */

static void extent_remove(size_t i)
{
    assert(i < space.free.len);
    memmove(&space.free.at[i], &space.free.at[i + 1],
            (space.free.len - i - 1) * sizeof(space.free.at[0]));
    space.free.len--;
}

/* The caller made room. */
static void extent_insert(size_t i, struct extent extent)
{
    struct extent *at = space.free.at;

    assert(i <= space.free.len && space.free.len < space.free.cap && extent.count > 0);
    memmove(&at[i + 1], &at[i], (space.free.len - i) * sizeof(*at));
    at[i] = extent;
    space.free.len++;
}

/* The first extent at or behind a granule. */
static size_t extent_behind(uint64_t granule)
{
    size_t low = 0, high = space.free.len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (space.free.at[middle].first < granule)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The smallest run that fits, to keep large ones whole; SIZE_MAX when there is none. */
static size_t extent_best(uint64_t granules)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < space.free.len; i++)
        if (space.free.at[i].count >= granules &&
            (best == SIZE_MAX || space.free.at[i].count < space.free.at[best].count))
            best = i;
    return best;
}

/* The next run that fits, from the last one on and all around: addresses come again late. */
static size_t extent_next(uint64_t granules, uint64_t *out_first)
{
    size_t start = extent_behind(space.cursor);

    if (start > 0) { /* the rest of the run in which the cursor is */
        const struct extent *e = &space.free.at[start - 1];

        if (e->first + e->count >= space.cursor + granules) {
            *out_first = space.cursor;
            return start - 1;
        }
    }
    for (size_t n = 0; n < space.free.len; n++) {
        size_t i = (start + n) % space.free.len;

        if (space.free.at[i].count >= granules) {
            *out_first = space.free.at[i].first;
            return i;
        }
    }
    return SIZE_MAX;
}

/* Takes granules out of an extent; false when memory is short. */
static bool extent_cut(size_t i, uint64_t first, uint64_t granules)
{
    struct extent before = {space.free.at[i].first, first - space.free.at[i].first};
    struct extent behind = {first + granules, space.free.at[i].count - before.count - granules};

    assert(before.first + before.count + granules + behind.count ==
           space.free.at[i].first + space.free.at[i].count);
    if (!before.count && !behind.count) {
        extent_remove(i);
        return true;
    }
    if (before.count && behind.count) {
        if (!hd_vec_reserve(&space.free, space.free.len + 1))
            return false;
        extent_insert(i + 1, behind);
    }
    space.free.at[i] = before.count ? before : behind;
    return true;
}

bool core_space_take_locked(uint64_t granules, uint64_t *out_base)
{
    uint64_t first = 0;
    size_t i;

    assert(hd_lock_held(&core_memory_lock) && granules > 0);
    if (core_strict()) {
        i = extent_next(granules, &first);
    } else {
        i = extent_best(granules);
        first = i == SIZE_MAX ? 0 : space.free.at[i].first;
    }
    if (i == SIZE_MAX || !extent_cut(i, first, granules))
        return false;
    space.cursor = first + granules;
    *out_base = space.base + first * CORE_GRANULE_B;
    assert(!core_space_owner(*out_base) && "a free granule has no owner");
    return true;
}

void core_space_give_locked(uint64_t base, uint64_t granules)
{
    uint64_t first = (base - space.base) / CORE_GRANULE_B;
    size_t i = extent_behind(first);
    struct extent *at = space.free.at;
    bool joins_before = i > 0 && at[i - 1].first + at[i - 1].count == first;
    bool joins_behind = i < space.free.len && first + granules == at[i].first;

    assert(hd_lock_held(&core_memory_lock));
    assert(i == 0 || at[i - 1].first + at[i - 1].count <= first);
    assert(i == space.free.len || first + granules <= at[i].first);
    if (joins_before) {
        at[i - 1].count += granules + (joins_behind ? at[i].count : 0);
        if (joins_behind)
            extent_remove(i);
        return;
    }
    if (joins_behind) {
        at[i].first = first;
        at[i].count += granules;
        return;
    }
    if (!hd_vec_reserve(&space.free, space.free.len + 1))
        return; /* addresses are lost, nothing else */
    extent_insert(i, (struct extent){first, granules});
}

/* ---- owners */

struct core_owner *core_space_owner(uint64_t va)
{
    uint64_t granule = (va - space.base) / CORE_GRANULE_B;

    if (va < space.base || granule >= space.granules)
        return NULL;
    return atomic_load_explicit(&space.owners[granule], memory_order_acquire);
}

void core_space_owner_set_locked(uint64_t base, uint64_t granules, struct core_owner *owner)
{
    uint64_t first = (base - space.base) / CORE_GRANULE_B;

    assert(hd_lock_held(&core_memory_lock) && first + granules <= space.granules);
    for (uint64_t g = first; g < first + granules; g++)
        atomic_store_explicit(&space.owners[g], owner, memory_order_release);
}

void core_space_foreach_locked(void (*func)(struct core_owner *owner, void *arg), void *arg)
{
    assert(hd_lock_held(&core_memory_lock));
    for (uint64_t g = 0; g < space.granules; g++) {
        struct core_owner *owner = atomic_load_explicit(&space.owners[g], memory_order_relaxed);

        if (!owner)
            continue;
        g = (owner->base - space.base) / CORE_GRANULE_B + owner->granules - 1;
        func(owner, arg); /* may free it */
    }
}
