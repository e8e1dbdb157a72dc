/* See graph_memory.h. */
#include "core/graph/graph_memory.h"

#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/mem/vmm.h"
#include "core/notify.h"

/* Physical memory. */
struct core_graph_page {
    struct core_device *device;
    struct core_allocation *allocation;
    struct core_graph_memory *user; /* who had it live last */
    bool is_used;                   /* somebody had it live */
    unsigned uses;                  /* launches and frees that are not done */
    struct core_graph_page *next, **link;
};

static struct hd_lock lock = HD_LOCK_INIT(GRAPH_MEMORY, "memory of graphs");
static struct core_graph_memory *memories;
static _Atomic bool any; /* is there one? Only then frees have to look */
static struct core_graph_page *pages;
static uint64_t stats_B[CORE_DEVICES_MAX][CORE_GRAPH_MEMORY_STATS];

/* ---- figures */

static void memory_stat_add_locked(const struct core_device *device,
                                   enum core_graph_memory_stat stat, uint64_t size_B)
{
    uint64_t *at = &stats_B[device->ordinal][stat];

    assert(hd_lock_held(&lock));
    at[0] += size_B;
    at[1] = HD_MAX(at[0], at[1]);
}

static void memory_stat_sub_locked(const struct core_device *device,
                                   enum core_graph_memory_stat stat, uint64_t size_B)
{
    assert(hd_lock_held(&lock) && stats_B[device->ordinal][stat] >= size_B);
    stats_B[device->ordinal][stat] -= size_B;
}

uint64_t core_graph_memory_stat(const struct core_device *device, enum core_graph_memory_stat stat)
{
    uint64_t value;

    assert(stat < CORE_GRAPH_MEMORY_STATS);
    hd_lock_acquire(&lock);
    value = stats_B[device->ordinal][stat];
    hd_lock_release(&lock);
    return value;
}

void core_graph_memory_stat_reset(const struct core_device *device,
                                  enum core_graph_memory_stat stat)
{
    uint64_t *at = stats_B[device->ordinal];

    assert(stat == CORE_GRAPH_MEMORY_USED_HIGH || stat == CORE_GRAPH_MEMORY_RESERVED_HIGH);
    hd_lock_acquire(&lock);
    at[stat] = at[stat - 1];
    hd_lock_release(&lock);
}

/* ---- physical memory */

static bool memory_is_available(const struct core_graph_page *page)
{
    return !page->uses && (!page->user || !page->user->is_live);
}

static enum hd_status memory_page_create_locked(struct core_device *device, uint64_t size_B,
                                                struct core_graph_page **out_page)
{
    const struct core_allocation_what what = {.device = device, .size_B = size_B, .fd = -1};
    struct core_graph_page *page = hd_new(struct core_graph_page);
    enum hd_status status;

    assert(hd_lock_held(&lock));
    if (!page)
        return hd_error(HD_NO_MEMORY, "memory of a graph");
    page->device = device;
    status = core_allocation_create(&what, &page->allocation);
    if (status != HD_OK) {
        hd_free(page);
        return status;
    }
    hd_list_push(&pages, page);
    memory_stat_add_locked(device, CORE_GRAPH_MEMORY_RESERVED, size_B);
    *out_page = page;
    return HD_OK;
}

/* One of the right size that nobody uses, or a new one. */
static enum hd_status memory_page_find_locked(struct core_device *device, uint64_t size_B,
                                              struct core_graph_page **out_page)
{
    for (struct core_graph_page *p = pages; p; p = p->next)
        if (p->device == device && p->allocation->size_B == size_B && memory_is_available(p)) {
            *out_page = p;
            return HD_OK;
        }
    return memory_page_create_locked(device, size_B, out_page);
}

static void memory_unmap_locked(struct core_graph_memory *m)
{
    assert(hd_lock_held(&lock) && !m->is_live);
    if (m->page && m->page->user == m)
        m->page->user = NULL;
    if (m->page && core_vmm_unmap(CORE_VMM_GRAPHS, m->va, m->room_B) != HD_OK)
        assert(!"it was mapped");
    m->page = NULL;
}

/* Memory that is not live, on whatever page is free. */
static enum hd_status memory_map_locked(struct core_graph_memory *m)
{
    struct core_graph_page *page = NULL;
    enum hd_status status;

    assert(hd_lock_held(&lock) && !m->is_live);
    HD_TRY(memory_page_find_locked(m->device, m->room_B, &page));
    memory_unmap_locked(m);
    HD_TRY(core_vmm_map(CORE_VMM_GRAPHS, page->allocation, m->va, m->room_B, 0));
    status = core_vmm_access_set(CORE_VMM_GRAPHS, m->va, m->room_B, (unsigned)m->device->ordinal,
                                 CORE_VMM_READ_WRITE);
    m->page = page;
    if (status != HD_OK)
        memory_unmap_locked(m);
    return status;
}

void core_graph_memory_trim(const struct core_device *device)
{
    struct core_graph_page *next;

    hd_lock_acquire(&lock);
    for (struct core_graph_page *page = pages; page; page = next) {
        next = page->next;
        if (page->device != device || !memory_is_available(page))
            continue;
        for (struct core_graph_memory *m = memories; m; m = m->next)
            if (m->page == page)
                memory_unmap_locked(m);
        assert(!page->uses);
        memory_stat_sub_locked(page->device, CORE_GRAPH_MEMORY_RESERVED, page->allocation->size_B);
        if (page->is_used)
            memory_stat_sub_locked(page->device, CORE_GRAPH_MEMORY_USED, page->allocation->size_B);
        hd_list_remove(page);
        (void)core_allocation_release(page->allocation);
        core_allocation_unref(page->allocation);
        hd_free(page);
    }
    hd_lock_release(&lock);
}

/* ---- life */

static void memory_notify(const struct core_graph_memory *m, bool is_freed)
{
    struct core_block block = {
        .base = m->va, .size_B = m->size_B, .kind = CORE_MEM_DEVICE, .use = HEDDLE_MEMORY_MAPPED};

    if (tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&block, NULL, is_freed);
}

/* Addresses, and a page, so that copies and fills of other nodes can be checked. */
static enum hd_status memory_location(struct core_graph_memory *m)
{
    enum hd_status status;

    HD_TRY(core_vmm_reserve(CORE_VMM_GRAPHS, m->room_B, CORE_VMM_GRANULE_B, &m->va));
    hd_lock_acquire(&lock);
    status = memory_map_locked(m);
    if (status == HD_OK) {
        hd_list_push(&memories, m);
        atomic_store(&any, true);
    }
    hd_lock_release(&lock);
    if (status != HD_OK)
        (void)!core_vmm_free(CORE_VMM_GRAPHS, m->va, m->room_B);
    else
        memory_notify(m, false);
    return status;
}

enum hd_status core_graph_memory_create(const struct core_mempool_props *props, uint64_t size_B,
                                        void *said, struct core_graph_memory **out_memory)
{
    struct core_graph_memory *m = hd_new(struct core_graph_memory);
    enum hd_status status = HD_OK;

    if (!m)
        status = hd_error(HD_NO_MEMORY, "memory of a graph");
    else if (!size_B || size_B > INT64_MAX)
        status = hd_error(size_B ? HD_NO_DEVICE_MEMORY : HD_BAD_ARG, "allocation of %llu bytes",
                          (unsigned long long)size_B);
    else if (props->location != CORE_LOCATION_DEVICE)
        status = hd_error(HD_BAD_ARG, "graphs allocate memory of devices only");
    if (status == HD_OK) {
        *m = (struct core_graph_memory){.device = core_device_at(props->location_id),
                                        .size_B = size_B,
                                        .room_B = hd_align_up(size_B, CORE_VMM_GRANULE_B),
                                        .props = *props,
                                        .said = said,
                                        .refs = 1};
        status = memory_location(m);
    }
    if (status != HD_OK) {
        hd_free(said);
        hd_free(m);
        return status;
    }
    *out_memory = m;
    return HD_OK;
}

struct core_graph_memory *core_graph_memory_ref(struct core_graph_memory *m)
{
    hd_lock_acquire(&lock);
    m->refs++;
    hd_lock_release(&lock);
    return m;
}

static void memory_unref_locked(struct core_graph_memory *m)
{
    assert(m->refs > 0);
    m->refs--;
    /* It stays while it is live, whoever has forgotten it. */
    assert(hd_lock_held(&lock));
    if (m->refs || m->is_live)
        return;
    memory_notify(m, true);
    memory_unmap_locked(m);
    hd_list_remove(m);
    atomic_store(&any, memories != NULL);
    if (core_vmm_free(CORE_VMM_GRAPHS, m->va, m->room_B) != HD_OK)
        assert(!"it was reserved");
    hd_free(m->said);
    hd_free(m);
}

void core_graph_memory_unref(struct core_graph_memory *m)
{
    hd_lock_acquire(&lock);
    memory_unref_locked(m);
    hd_lock_release(&lock);
}

static struct core_graph_memory *memory_find_locked(uint64_t va)
{
    struct core_graph_memory *m = memories;

    assert(hd_lock_held(&lock));
    while (m && m->va != va)
        m = m->next;
    return m;
}

struct core_graph_memory *core_graph_memory_find(uint64_t va)
{
    struct core_graph_memory *m;

    hd_lock_acquire(&lock);
    m = memory_find_locked(va);
    if (m)
        m->refs++;
    hd_lock_release(&lock);
    return m;
}

/* ---- executable graphs */

enum hd_status core_graph_memory_instantiate(const struct core_program *program)
{
    size_t done = 0;

    hd_lock_acquire(&lock);
    while (done < program->allocs.len && !program->allocs.at[done]->is_instantiated)
        program->allocs.at[done++]->is_instantiated = true;
    if (done < program->allocs.len)
        for (size_t i = 0; i < done; i++)
            program->allocs.at[i]->is_instantiated = false;
    hd_lock_release(&lock);
    return done == program->allocs.len
               ? HD_OK
               : hd_error(HD_BAD_ARG, "a graph that allocates memory has one executable graph");
}

void core_graph_memory_forget(const struct core_program *program)
{
    hd_lock_acquire(&lock);
    for (size_t i = 0; i < program->allocs.len; i++)
        program->allocs.at[i]->is_instantiated = false;
    hd_lock_release(&lock);
}

/* ---- launches */

struct core_graph_use {
    size_t n;
    struct {
        struct core_graph_memory *memory; /* a reference */
        struct core_graph_page *page;     /* in use */
        bool was_live;
    } at[];
};

static void memory_use_add_locked(struct core_graph_use *use, struct core_graph_memory *m)
{
    m->refs++;
    m->page->uses++;
    use->at[use->n].memory = m;
    use->at[use->n].page = m->page;
    use->at[use->n++].was_live = m->is_live;
}

static enum hd_status memory_alloc_locked(struct core_graph_memory *m, bool auto_free,
                                          struct core_graph_use *use)
{
    bool mine = m->page && m->page->user == m;

    if (m->is_live && !auto_free)
        return hd_error(HD_BAD_ARG,
                        "the graph's memory at 0x%llx has not been freed since the "
                        "last launch",
                        (unsigned long long)m->va);
    if (!m->is_live && !mine && !(m->page && memory_is_available(m->page)))
        HD_TRY(memory_map_locked(m));
    struct core_graph_page *page = m->page;
    if (!page->is_used)
        memory_stat_add_locked(page->device, CORE_GRAPH_MEMORY_USED, page->allocation->size_B);
    page->is_used = true;
    page->user = m;
    memory_use_add_locked(use, m);
    m->is_live = true;
    return HD_OK;
}

static enum hd_status memory_free_locked(struct core_graph_memory *m, struct core_graph_use *use)
{
    if (!m->is_live)
        return hd_error(HD_BAD_ARG, "the graph frees memory at 0x%llx that is not allocated",
                        (unsigned long long)m->va);
    memory_use_add_locked(use, m);
    m->is_live = false;
    return HD_OK;
}

/* The last ones first: one that is allocated and freed is as it was before. */
static void memory_undo_locked(struct core_graph_use *use)
{
    while (use->n--) {
        use->at[use->n].memory->is_live = use->at[use->n].was_live;
        use->at[use->n].page->uses--;
        memory_unref_locked(use->at[use->n].memory);
    }
}

enum hd_status core_graph_memory_begin(const struct core_program *program, bool auto_free,
                                       struct core_graph_use **out_use)
{
    size_t n = program->allocs.len + program->frees.len;
    struct core_graph_use *use = hd_alloc(sizeof(*use) + n * sizeof(use->at[0]));
    enum hd_status status = HD_OK;

    if (!use)
        return hd_error(HD_NO_MEMORY, "memory of a graph");
    use->n = 0;
    hd_lock_acquire(&lock);
    for (size_t i = 0; i < program->allocs.len && status == HD_OK; i++)
        status = memory_alloc_locked(program->allocs.at[i], auto_free, use);
    for (size_t i = 0; i < program->frees.len && status == HD_OK; i++)
        status = memory_free_locked(program->frees.at[i], use);
    if (status != HD_OK)
        memory_undo_locked(use);
    hd_lock_release(&lock);
    if (status != HD_OK)
        hd_free(use);
    else
        *out_use = use;
    return status;
}

void core_graph_memory_done(void *arg)
{
    struct core_graph_use *use = arg;

    hd_lock_acquire(&lock);
    for (size_t i = 0; i < use->n; i++) {
        use->at[i].page->uses--;
        memory_unref_locked(use->at[i].memory);
    }
    hd_lock_release(&lock);
    hd_free(use);
}

void core_graph_memory_cancel(struct core_graph_use *use)
{
    hd_lock_acquire(&lock);
    memory_undo_locked(use);
    hd_lock_release(&lock);
    hd_free(use);
}

/* A launch that only frees this. */
static enum hd_status memory_free_begin(uint64_t va, bool *out_found,
                                        struct core_graph_use **out_use)
{
    struct core_graph_use *use = hd_alloc(sizeof(*use) + sizeof(use->at[0]));
    struct core_graph_memory *m;
    enum hd_status status = HD_OK;

    if (!use)
        return hd_error(HD_NO_MEMORY, "memory of a graph");
    use->n = 0;
    hd_lock_acquire(&lock);
    m = memory_find_locked(va);
    if (m)
        status = memory_free_locked(m, use);
    hd_lock_release(&lock);
    *out_found = m != NULL;
    if (!m || status != HD_OK)
        hd_free(use);
    else
        *out_use = use;
    return status;
}

enum hd_status core_graph_memory_free(struct core_stream *stream, uint64_t va, bool *out_found)
{
    struct core_graph_use *use = NULL;
    enum hd_status status;

    *out_found = false;
    if (HD_LIKELY(!atomic_load(&any)))
        return HD_OK;
    status = memory_free_begin(va, out_found, &use);
    if (!use)
        return status;
    if (!stream) {
        core_graph_memory_done(use);
        return HD_OK;
    }
    status = core_stream_call(stream, core_graph_memory_done, use, true);
    if (status != HD_OK)
        core_graph_memory_cancel(use);
    return status;
}
