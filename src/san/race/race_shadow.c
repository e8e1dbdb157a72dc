/*
 * Shadow of memory: for each unit who wrote it last and who read it. Pages come when somebody
 * touches what they are for, and stay: epochs of launches that have ended mean nothing.
 *
 * A page of 4 KiB has 24 bytes for each unit of 4 bytes; 36 once two warps have read the same unit.
 * It is split into units of 2 bytes or 1 when somebody accesses such, so that neighbours in a word
 * are never taken for each other.
 */
#include <assert.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "san/race/race.h"

enum { INDEX_BITS = 18, INDEX_ENTRIES = 1 << INDEX_BITS };

struct race_map {
    void *_Atomic *top; /* of tables of pages */
};

/* ---- pages */

static size_t units_of(const struct race_page *page)
{
    assert(page->shift <= RACE_SHIFT_MAX);
    return (size_t)RACE_PAGE_B >> page->shift;
}

static bool reserve(size_t units, uint64_t **epochs, uint32_t **infos)
{
    *epochs = hd_alloc_array(units, sizeof **epochs);
    *infos = hd_alloc_array(units, sizeof **infos);
    return *epochs && *infos;
}

void race_page_destroy(struct race_page *page)
{
    if (!page)
        return;
    hd_free(page->writer);
    hd_free(page->reader);
    hd_free(page->second);
    hd_free(page->writer_is);
    hd_free(page->reader_is);
    hd_free(page->second_is);
    for (unsigned i = 0; i < page->nretired; i++)
        hd_free(page->retired[i]);
    hd_free(page);
}

struct race_page *race_page_create(void)
{
    struct race_page *page = hd_new(struct race_page);

    if (!page)
        return NULL;
    page->shift = RACE_SHIFT_MAX;
    if (!reserve(units_of(page), &page->writer, &page->writer_is) ||
        !reserve(units_of(page), &page->reader, &page->reader_is)) {
        race_page_destroy(page);
        return NULL;
    }
    return page;
}

bool race_page_add_second(struct race_page *page)
{
    if (page->second)
        return true;
    uint64_t *epochs;
    uint32_t *infos;
    if (!reserve(units_of(page), &epochs, &infos)) {
        hd_free(epochs);
        hd_free(infos);
        return false;
    }
    page->second_is = infos;
    __atomic_store_n(&page->second, epochs, __ATOMIC_RELEASE);
    return true;
}

/* The same epochs for all parts of what was one unit. */
static bool split(struct race_page *page, uint64_t **epochs, uint32_t **infos, size_t units,
                  unsigned by)
{
    uint64_t *fine;
    uint32_t *fine_is;

    if (!*epochs)
        return true;
    if (!reserve(units << by, &fine, &fine_is)) {
        hd_free(fine);
        hd_free(fine_is);
        return false;
    }
    for (size_t i = 0; i < units << by; i++) {
        fine[i] = (*epochs)[i >> by];
        fine_is[i] = (*infos)[i >> by];
    }
    assert(page->nretired + 2 <= RACE_RETIRED);
    page->retired[page->nretired++] = *epochs;
    page->retired[page->nretired++] = *infos;
    __atomic_store_n(epochs, fine, __ATOMIC_RELEASE);
    *infos = fine_is;
    return true;
}

static void forget(struct race_page *page)
{
    size_t size_B = units_of(page) * sizeof *page->writer;

    memset(page->writer, 0, size_B);
    memset(page->reader, 0, size_B);
    if (page->second)
        memset(page->second, 0, size_B);
}

bool race_page_refine(struct race_page *page, unsigned shift)
{
    if (page->shift <= shift)
        return true;
    size_t units = units_of(page);
    assert(shift < RACE_SHIFT_MAX);
    unsigned by = page->shift - shift;
    /* Arrays first: a number of a coarse unit is within fine ones as well. */
    bool fits = split(page, &page->writer, &page->writer_is, units, by) &&
                split(page, &page->reader, &page->reader_is, units, by) &&
                split(page, &page->second, &page->second_is, units, by);
    if (fits)
        atomic_store_explicit(&page->shift, (uint8_t)shift, memory_order_release);
    else
        forget(page); /* some arrays have fine units, some have not */
    return fits;
}

void race_page_lock(struct race_page *page)
{
    unsigned turn = 0;

    /* It is held for a tenth of a microsecond: waiting in place is better, if its holder runs. */
    while (atomic_exchange_explicit(&page->locked, true, memory_order_acquire))
        while (atomic_load_explicit(&page->locked, memory_order_relaxed))
            if (++turn > 2000)
                sched_yield();
}

void race_page_unlock(struct race_page *page)
{
    assert(atomic_load_explicit(&page->locked, memory_order_relaxed));
    atomic_store_explicit(&page->locked, false, memory_order_release);
}

/* ---- the map */

static void *table_reserve(void)
{
    void *table = mmap(NULL, INDEX_ENTRIES * sizeof(void *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (table == MAP_FAILED)
        return NULL;
    hd_mem_root(table, INDEX_ENTRIES * sizeof(void *));
    return table;
}

struct race_map *race_map_create(void)
{
    struct race_map *map = hd_new(struct race_map);

    if (map && !(map->top = table_reserve())) {
        hd_free(map);
        map = NULL;
    }
    return map;
}

void race_map_destroy(struct race_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < INDEX_ENTRIES; i++) {
        void *_Atomic *pages = map->top[i];
        for (size_t k = 0; pages && k < INDEX_ENTRIES; k++)
            race_page_destroy(pages[k]);
        if (pages)
            munmap((void *)pages, INDEX_ENTRIES * sizeof(void *));
    }
    munmap((void *)map->top, INDEX_ENTRIES * sizeof(void *));
    hd_free(map);
}

static void table_drop(void *table)
{
    munmap(table, INDEX_ENTRIES * sizeof(void *));
}

static void page_drop(void *page)
{
    race_page_destroy(page);
}

static void *page_reserve(void)
{
    return race_page_create();
}

/* What is there, or what is put there now; two may come at once. */
static void *fill(void *_Atomic *at, void *(*make)(void), void (*drop)(void *))
{
    void *there = atomic_load_explicit(at, memory_order_acquire);

    if (HD_LIKELY(there))
        return there;
    void *made = make();
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong(at, &there, made))
        return made;
    drop(made);
    return there;
}

struct race_page *race_map_find(struct race_map *map, uint64_t address)
{
    uint64_t page = address >> RACE_PAGE_SHIFT;
    void *_Atomic *pages = map->top[page >> INDEX_BITS & (INDEX_ENTRIES - 1)];

    return pages ? pages[page & (INDEX_ENTRIES - 1)] : NULL;
}

struct race_page *race_map_page(struct race_map *map, uint64_t address)
{
    uint64_t page = address >> RACE_PAGE_SHIFT;
    uint64_t top = page >> INDEX_BITS & (INDEX_ENTRIES - 1);
    void *_Atomic *pages = fill(&map->top[top], table_reserve, table_drop);

    return pages ? fill(&pages[page & (INDEX_ENTRIES - 1)], page_reserve, page_drop) : NULL;
}

/* ---- that of global memory */

static struct race_map *global;

bool race_shadow_start(void)
{
    assert(!global);
    global = race_map_create();
    return global != NULL;
}

struct race_map *race_global(void)
{
    return global;
}

struct race_page *race_global_page(uint64_t address, uint32_t base)
{
    struct race_page *page = race_map_page(global, address);

    if (page && atomic_load_explicit(&page->touched, memory_order_relaxed) != base)
        atomic_store_explicit(&page->touched, base, memory_order_relaxed);
    return page;
}
