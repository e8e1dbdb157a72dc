/*
 * What a program advised and prefetched, by ranges of pages. There is one memory, so it moves
 * nothing; CUDA reports it.
 */
#include <assert.h>

#include "base/lock.h"
#include "base/vec.h"
#include "core/mem/memory_parts.h"

struct segment {
    uint64_t base, end; /* whole pages */
    struct core_advice advice;
};

static HD_VEC(struct segment) segments; /* sorted, apart; core_memory_lock */
static const struct core_advice unadvised = {.preferred_id = -2, .prefetch_id = -2};

/* The first one that ends behind va. */
static size_t segment_find(uint64_t va)
{
    size_t low = 0, high = segments.len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (segments.at[middle].end <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool segment_insert(size_t i, struct segment segment)
{
    if (!hd_vec_reserve(&segments, segments.len + 1))
        return false;
    memmove(&segments.at[i + 1], &segments.at[i], (segments.len - i) * sizeof(segments.at[0]));
    segments.at[i] = segment;
    segments.len++;
    return true;
}

/* No segment reaches across va afterwards. */
static bool segment_split(uint64_t va)
{
    size_t i = segment_find(va);
    struct segment behind;

    if (i == segments.len || segments.at[i].base >= va)
        return true;
    behind = segments.at[i];
    behind.base = va;
    if (!segment_insert(i + 1, behind))
        return false;
    segments.at[i].end = va;
    return true;
}

/* Segments cover the whole range afterwards, and nothing else. */
static bool range_cover(uint64_t base, uint64_t end)
{
    size_t i;

    if (!segment_split(base) || !segment_split(end))
        return false;
    for (i = segment_find(base); base < end; base = segments.at[i].end, i++) {
        uint64_t next = i < segments.len ? HD_MIN(segments.at[i].base, end) : end;

        if (next > base && !segment_insert(i, (struct segment){base, next, unadvised}))
            return false;
    }
    return true;
}

static void advice_change(struct core_advice *advice, const struct core_advice_change *change)
{
    uint64_t device = change->type == CORE_ADVICE_DEVICE ? (uint64_t)1 << change->id : 0;

    switch (change->what) {
    case CORE_ADVISE_READ_MOSTLY:
        advice->read_mostly = change->set;
        return;
    case CORE_ADVISE_PREFERRED:
        advice->preferred_type = change->set ? change->type : unadvised.preferred_type;
        advice->preferred_id = change->set ? change->id : unadvised.preferred_id;
        return;
    case CORE_ADVISE_ACCESSED_BY:
        if (!device)
            advice->host_accesses = change->set;
        advice->accessed_by =
            change->set ? advice->accessed_by | device : advice->accessed_by & ~device;
        return;
    case CORE_ADVISE_PREFETCHED:
        advice->prefetch_type = change->type;
        advice->prefetch_id = change->id;
        return;
    }
    assert(!"a change");
}

static void range_of(uint64_t va, uint64_t size_B, uint64_t *out_base, uint64_t *out_end)
{
    *out_base = va & ~(uint64_t)(CORE_PAGE_B - 1);
    *out_end = (va + size_B + CORE_PAGE_B - 1) & ~(uint64_t)(CORE_PAGE_B - 1);
}

enum hd_status core_advice_set(uint64_t va, uint64_t size_B,
                               const struct core_advice_change *change)
{
    uint64_t base, end;
    bool done;

    range_of(va, size_B, &base, &end);
    hd_lock_acquire(&core_memory_lock);
    done = range_cover(base, end);
    for (size_t i = segment_find(base); done && i < segments.len && segments.at[i].base < end; i++)
        advice_change(&segments.at[i].advice, change);
    hd_lock_release(&core_memory_lock);
    return done ? HD_OK : hd_error(HD_NO_MEMORY, "advice for a range of memory");
}

/* What holds for both. */
static void advice_meet(struct core_advice *a, const struct core_advice *b)
{
    a->read_mostly &= b->read_mostly;
    a->accessed_by &= b->accessed_by;
    a->host_accesses &= b->host_accesses;
    if (a->preferred_type != b->preferred_type || a->preferred_id != b->preferred_id) {
        a->preferred_type = unadvised.preferred_type;
        a->preferred_id = unadvised.preferred_id;
    }
    if (a->prefetch_type != b->prefetch_type || a->prefetch_id != b->prefetch_id) {
        a->prefetch_type = unadvised.prefetch_type;
        a->prefetch_id = unadvised.prefetch_id;
    }
}

void core_advice_get(uint64_t va, uint64_t size_B, struct core_advice *out_advice)
{
    uint64_t base, end;
    size_t i;

    range_of(va, size_B, &base, &end);
    hd_lock_acquire(&core_memory_lock);
    i = segment_find(base);
    *out_advice =
        i < segments.len && segments.at[i].base <= base ? segments.at[i].advice : unadvised;
    for (; i < segments.len && segments.at[i].base < end; base = segments.at[i].end, i++)
        advice_meet(out_advice, segments.at[i].base <= base ? &segments.at[i].advice : &unadvised);
    if (base < end)
        advice_meet(out_advice, &unadvised);
    hd_lock_release(&core_memory_lock);
}

void core_advice_forget_locked(uint64_t va, uint64_t size_B)
{
    uint64_t base, end;
    size_t first, n = 0;

    assert(hd_lock_held(&core_memory_lock));
    if (HD_LIKELY(!segments.len))
        return;
    range_of(va, size_B, &base, &end);
    (void)segment_split(base); /* short of memory, a neighbour's advice goes, too */
    (void)segment_split(end);
    first = segment_find(base);
    while (first + n < segments.len && segments.at[first + n].base < end)
        n++;
    memmove(&segments.at[first], &segments.at[first + n],
            (segments.len - first - n) * sizeof(segments.at[0]));
    segments.len -= n;
}
