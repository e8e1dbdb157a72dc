/*
 * The heap of kernels: what their malloc() gave and free() took. Blocks are listed in every page
 * that they touch; a freed one stays until its addresses are given again.
 *
 * Without memory for a block nothing is checked any more: `is_off`.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "base/mem.h"
#include "san/lanes.h"
#include "san/memcheck/memcheck.h"
#include "san/options.h"

enum { PAGE_SHIFT = 12, BUCKETS = 1 << 14 };

struct heap_block {
    uint64_t base, size_B;
    const void *context;
    bool is_freed;
    struct heap_block *next, **link; /* all of them */
};

struct heap_page {
    uint64_t number;
    struct heap_block *block;
    struct heap_page *next;
};

static struct {
    pthread_rwlock_t lock; /* pages, blocks */
    struct heap_page *pages[BUCKETS];
    struct heap_block *blocks;
    _Atomic bool is_used, is_off;
} heap = {.lock = PTHREAD_RWLOCK_INITIALIZER};

bool memcheck_heap_is_used(void)
{
    return atomic_load_explicit(&heap.is_used, memory_order_relaxed);
}

static struct heap_page **bucket_of(uint64_t number)
{
    return &heap.pages[number * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}
_Static_assert(BUCKETS == 1 << (64 - 50), "the top bits of the product");

static uint64_t first_page(const struct heap_block *b)
{
    return b->base >> PAGE_SHIFT;
}

/* One of 0 bytes has an address as well. */
static uint64_t last_page(const struct heap_block *b)
{
    return (b->base + HD_MAX(b->size_B, 1) - 1) >> PAGE_SHIFT;
}

/* ---- under the lock */

static struct heap_block *find_locked(uint64_t va)
{
    uint64_t number = va >> PAGE_SHIFT;

    for (struct heap_page *p = *bucket_of(number); p; p = p->next)
        if (p->number == number && va - p->block->base < HD_MAX(p->block->size_B, 1))
            return p->block;
    return NULL;
}

static void block_remove_locked(struct heap_block *block)
{
    for (uint64_t n = first_page(block); n <= last_page(block); n++) {
        struct heap_page **link = bucket_of(n), *page;

        while (*link && ((*link)->number != n || (*link)->block != block))
            link = &(*link)->next;
        page = *link;
        if (page) {
            *link = page->next;
            hd_free(page);
        }
    }
    assert(*block->link == block);
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    hd_free(block);
}

static bool page_add_locked(uint64_t number, struct heap_block *block)
{
    struct heap_page *page = hd_new(struct heap_page);
    struct heap_page **bucket = bucket_of(number);

    if (!page)
        return false;
    *page = (struct heap_page){number, block, *bucket};
    *bucket = page;
    return true;
}

/* Freed ones whose addresses the new one has. */
static void make_room_locked(uint64_t base, uint64_t size_B)
{
    uint64_t end = base + HD_MAX(size_B, 1);

    for (uint64_t n = base >> PAGE_SHIFT; n <= (end - 1) >> PAGE_SHIFT; n++) {
        struct heap_page *p = *bucket_of(n);

        while (p) {
            struct heap_block *b = p->block;
            bool overlaps =
                p->number == n && b->base < end && base < b->base + HD_MAX(b->size_B, 1);

            if (overlaps)
                block_remove_locked(b);
            p = overlaps ? *bucket_of(n) : p->next;
        }
    }
}

static bool add_locked(uint64_t base, uint64_t size_B, const void *context)
{
    struct heap_block *block;

    make_room_locked(base, size_B);
    assert(!find_locked(base));
    block = hd_new(struct heap_block);
    if (!block)
        return false;
    *block = (struct heap_block){base, size_B, context, false, heap.blocks, &heap.blocks};
    if (heap.blocks)
        heap.blocks->link = &block->next;
    heap.blocks = block;
    for (uint64_t n = first_page(block); n <= last_page(block); n++)
        if (!page_add_locked(n, block)) {
            block_remove_locked(block);
            return false;
        }
    return true;
}

/* ---- what others ask */

bool memcheck_heap_has(uint64_t va, uint64_t size_B)
{
    const struct heap_block *block;
    bool has;

    if (!memcheck_heap_is_used())
        return false;
    if (atomic_load_explicit(&heap.is_off, memory_order_relaxed))
        return true;
    pthread_rwlock_rdlock(&heap.lock);
    block = find_locked(va);
    has = block && !block->is_freed && size_B <= block->size_B - (va - block->base);
    pthread_rwlock_unlock(&heap.lock);
    return has;
}

bool memcheck_heap_near(uint64_t va, struct memcheck_heap_near *out)
{
    const struct heap_block *block = NULL;

    if (!memcheck_heap_is_used())
        return false;
    pthread_rwlock_rdlock(&heap.lock);
    /* Blocks lie at multiples of 16. */
    for (uint64_t d = 0; !block && d <= 256; d += 16) {
        block = find_locked(va - d);
        if (!block)
            block = find_locked(va + d);
    }
    if (block)
        *out = (struct memcheck_heap_near){block->base, block->size_B, block->is_freed};
    pthread_rwlock_unlock(&heap.lock);
    return block != NULL;
}

/* ---- kernels */

/* "Malloc/Free error encountered : WHAT" */
static void heap_report(const struct san_cta *cta, const struct san_sync *at, uint32_t lane,
                        enum san_severity severity, const char *kind, const char *what,
                        uint64_t address)
{
    struct san_finding f = {
        .tool = "memcheck",
        .kind = kind,
        .severity = severity,
        .actors = {{.cta = cta, .at = at->probe, .warp = at->warp, .lane = lane}},
        .nactors = 1,
        .address = address,
        .has_address = true,
        .launch = cta->launch,
        .count = 1};

    snprintf(f.title, sizeof(f.title), "Malloc/Free error encountered : %s", what);
    if (severity >= SAN_ERROR)
        san_detail(&f, "Address 0x%llx", (unsigned long long)address);
    san_report(&f);
}

static void heap_add(uint64_t base, uint64_t size_B, const void *context)
{
    bool added;

    pthread_rwlock_wrlock(&heap.lock);
    added = add_locked(base, size_B, context);
    pthread_rwlock_unlock(&heap.lock);
    if (!added)
        atomic_store(&heap.is_off, true);
    atomic_store(&heap.is_used, true);
}

void memcheck_heap_alloc(struct san_cta *cta, const struct san_sync *at, const uint64_t *address,
                         const uint64_t *size_B)
{
    const struct memcheck_launch *own = memcheck_launch_of(cta); /* NULL: a quiet launch */
    const void *context = own ? own->context : NULL;
    char what[64];

    san_foreach_lane(lane, at->lanes) {
        if (address[lane]) {
            heap_add(address[lane], size_B[lane], context);
        } else if (own && san_options()->report_heap_failure) {
            snprintf(what, sizeof(what), "malloc of %llu bytes failed",
                     (unsigned long long)size_B[lane]);
            heap_report(cta, at, lane, SAN_WARNING, "heap-exhausted", what, 0);
        }
    }
}

enum freeing { FREE_FINE, FREE_TWICE, FREE_INVALID };

static enum freeing heap_free(uint64_t va)
{
    struct heap_block *block;
    enum freeing result = FREE_INVALID;

    pthread_rwlock_wrlock(&heap.lock);
    block = find_locked(va);
    if (block && block->base == va) {
        result = block->is_freed ? FREE_TWICE : FREE_FINE;
        block->is_freed = true;
    }
    pthread_rwlock_unlock(&heap.lock);
    return result;
}

enum hd_status memcheck_heap_free(struct san_cta *cta, const struct san_sync *at,
                                  const uint64_t *address)
{
    enum hd_status status = HD_OK;

    if (!san_options()->check_device_heap || atomic_load(&heap.is_off))
        return HD_OK;
    san_foreach_lane(lane, at->lanes) {
        uint64_t va = address[lane];
        enum freeing result = va ? heap_free(va) : FREE_FINE;

        if (result == FREE_FINE || cta->launch->is_quiet)
            continue;
        heap_report(cta, at, lane, SAN_ERROR, result == FREE_TWICE ? "double-free" : "invalid-free",
                    result == FREE_TWICE ? "Double free" : "Invalid pointer to free", va);
        status = HD_TRAP;
    }
    return status;
}

/* ---- the end */

bool memcheck_heap_take(const void *context, struct memcheck_heap_near *out)
{
    struct heap_block *block;

    pthread_rwlock_wrlock(&heap.lock);
    for (block = heap.blocks; block && context && block->context && block->context != context;
         block = block->next)
        ;
    if (block) {
        *out = (struct memcheck_heap_near){block->base, block->size_B, block->is_freed};
        block_remove_locked(block);
    }
    pthread_rwlock_unlock(&heap.lock);
    return block != NULL;
}
