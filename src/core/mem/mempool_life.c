/* Memory pools: life, what can be asked and set, the pools of places, other processes. */
#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/mem/memory_parts.h"
#include "core/mem/mempool_parts.h"
#include "core/notify.h"

/* ---- life */

/* What tells the memory apart from others', in every process that has it. */
static enum hd_status mempool_file_note(struct core_mempool *pool)
{
    struct stat st;
    int fd;

    HD_TRY(core_pool_export(pool->own, &fd));
    if (fstat(fd, &st))
        st.st_ino = 0;
    close(fd);
    pool->file = st.st_ino;
    return HD_OK;
}

static enum hd_status mempool_own_memory(struct core_mempool *pool)
{
    struct core_device *device = pool->device ? pool->device : core_device_at(0);

    if (!pool->props.exportable)
        return HD_OK;
    HD_TRY(core_pool_create_shareable(device, &pool->own));
    return mempool_file_note(pool);
}

/* Known to everybody from here on; a second reference, for the caller. */
static struct core_mempool *life_pool_open(struct core_mempool *pool)
{
    hd_lock_acquire(&core_memory_lock);
    hd_list_push(&core_mempools, pool);
    core_object_publish(&pool->object);
    hd_lock_release(&core_memory_lock);
    return core_mempool_ref(pool);
}

enum hd_status core_mempool_create(const struct core_mempool_props *props,
                                   struct core_mempool **out_pool)
{
    struct core_mempool *pool = core_handle_alloc(CORE_MEMPOOL);
    enum hd_status status;

    if (!pool)
        return hd_error(HD_NO_MEMORY, "memory pool");
    pool->props = *props;
    if (props->location == CORE_LOCATION_DEVICE)
        pool->device = core_device_at(props->location_id);
    for (unsigned i = CORE_POLICY_FOLLOW_EVENTS; i < CORE_POLICY_THRESHOLD; i++)
        pool->policies[i] = 1;
    status = mempool_own_memory(pool);
    if (status == HD_OK)
        *out_pool = life_pool_open(pool);
    else
        core_mempool_unref(pool);
    return status;
}

bool core_mempool_destroy(struct core_mempool *pool)
{
    assert(!pool->is_default);
    if (!core_object_retire(&pool->object))
        return false;
    core_mempool_current_forget(pool);
    core_mempool_trim(pool, 0);
    core_mempool_unref(pool);
    return true;
}

void core_mempool_finalise(struct core_mempool *pool)
{
    assert(!pool->live && !pool->cached);
    hd_lock_acquire(&core_memory_lock);
    if (pool->link)
        hd_list_remove(pool);
    hd_lock_release(&core_memory_lock);
    core_pool_destroy(pool->own);
    core_handle_free(pool);
}

/* ---- what can be asked and set */

uint64_t core_mempool_stat(struct core_mempool *pool, enum core_mempool_stat stat)
{
    uint64_t value;

    assert(stat < CORE_MEMPOOL_STATS);
    hd_lock_acquire(&core_memory_lock);
    value = pool->stats_B[stat];
    hd_lock_release(&core_memory_lock);
    return value;
}

void core_mempool_stat_reset(struct core_mempool *pool, enum core_mempool_stat stat)
{
    assert(stat == CORE_STAT_RESERVED_HIGH || stat == CORE_STAT_USED_HIGH);
    hd_lock_acquire(&core_memory_lock);
    pool->stats_B[stat] = pool->stats_B[stat - 1];
    hd_lock_release(&core_memory_lock);
}

uint64_t core_mempool_policy(struct core_mempool *pool, enum core_policy policy)
{
    uint64_t value;

    assert(policy < CORE_MEMPOOL_POLICIES);
    hd_lock_acquire(&core_memory_lock);
    value = pool->policies[policy];
    hd_lock_release(&core_memory_lock);
    return value;
}

void core_mempool_policy_set(struct core_mempool *pool, enum core_policy policy, uint64_t value)
{
    assert(policy < CORE_MEMPOOL_POLICIES);
    hd_lock_acquire(&core_memory_lock);
    pool->policies[policy] = value;
    hd_lock_release(&core_memory_lock);
}

bool core_mempool_is_default(const struct core_mempool *pool)
{
    return pool->is_default;
}

const struct core_mempool_props *core_mempool_props(const struct core_mempool *pool)
{
    return &pool->props;
}

/* One memory: what was asked for is remembered, because CUDA reports it. */
unsigned core_mempool_access(struct core_mempool *pool, const struct core_device *device)
{
    unsigned access;

    if (pool->props.location != CORE_LOCATION_DEVICE || pool->device == device)
        return 3;
    hd_lock_acquire(&core_memory_lock);
    access = pool->access[device->ordinal];
    hd_lock_release(&core_memory_lock);
    return access;
}

void core_mempool_access_set(struct core_mempool *pool, const struct core_device *device,
                             unsigned access)
{
    hd_lock_acquire(&core_memory_lock);
    pool->access[device->ordinal] = (uint8_t)access;
    hd_lock_release(&core_memory_lock);
}

/* ---- places: devices, then the host; memory of the place, then managed memory */

static struct location {
    struct core_mempool *fallback, *current; /* both with a reference; NULL: not asked for yet */
} locations[CORE_DEVICES_MAX + 1][2];        /* core_memory_lock */

static struct location *life_location_of(const struct core_mempool_props *props)
{
    int i = props->location == CORE_LOCATION_DEVICE ? props->location_id : CORE_DEVICES_MAX;

    assert(i >= 0 && i <= CORE_DEVICES_MAX);
    return &locations[i][props->managed];
}

/* Whoever comes second finds the first one's. */
static enum hd_status mempool_fallback_make(const struct core_mempool_props *props,
                                            struct location *location)
{
    struct core_mempool *made;
    bool second;

    HD_TRY(core_mempool_create(props, &made));
    hd_lock_acquire(&core_memory_lock);
    second = location->fallback != NULL;
    if (!second) {
        made->is_default = true;
        location->fallback = made;
        location->current = core_mempool_ref(made);
    }
    hd_lock_release(&core_memory_lock);
    if (second) {
        core_mempool_destroy(made);
        core_mempool_unref(made);
    }
    return HD_OK;
}

enum hd_status core_mempool_at(const struct core_mempool_props *props, bool current,
                               struct core_mempool **out_pool)
{
    struct location *location = life_location_of(props);
    struct core_mempool *pool = NULL;

    for (;;) {
        hd_lock_acquire(&core_memory_lock);
        pool = current ? location->current : location->fallback;
        if (pool)
            core_mempool_ref(pool);
        hd_lock_release(&core_memory_lock);
        if (pool)
            break;
        HD_TRY(mempool_fallback_make(props, location));
    }
    *out_pool = pool;
    return HD_OK;
}

static bool mempool_fits(const struct core_mempool *pool, const struct core_mempool_props *props)
{
    return !pool->imported && pool->props.location == props->location &&
           pool->props.managed == props->managed &&
           (props->location != CORE_LOCATION_DEVICE ||
            pool->props.location_id == props->location_id);
}

enum hd_status core_mempool_current_set(const struct core_mempool_props *props,
                                        struct core_mempool *pool)
{
    struct location *location = life_location_of(props);
    struct core_mempool *before;

    if (!mempool_fits(pool, props))
        return hd_error(HD_BAD_ARG, "the memory pool is of another place, or imported");
    HD_TRY(core_mempool_at(props, false, &before)); /* there is one to fall back to */
    core_mempool_unref(before);
    hd_lock_acquire(&core_memory_lock);
    before = location->current;
    location->current = core_mempool_ref(pool);
    hd_lock_release(&core_memory_lock);
    core_mempool_unref(before);
    return HD_OK;
}

void core_mempool_current_forget(struct core_mempool *pool)
{
    struct location *location = life_location_of(&pool->props);
    bool was;

    hd_lock_acquire(&core_memory_lock);
    was = location->current == pool;
    if (was)
        location->current = core_mempool_ref(location->fallback);
    hd_lock_release(&core_memory_lock);
    if (was)
        core_mempool_unref(pool);
}

/* ---- other processes */

#define POINTER_MAGIC 0x524f4f504d454d48u

enum hd_status core_mempool_export(struct core_mempool *pool, int *out_fd)
{
    if (!pool->own || pool->imported)
        return hd_error(HD_NOT_SUPPORTED, "the memory pool was not created to be exported");
    return core_pool_export(pool->own, out_fd);
}

enum hd_status core_mempool_import(struct core_device *device, int fd,
                                   struct core_mempool **out_pool)
{
    struct core_mempool *pool = core_handle_alloc(CORE_MEMPOOL);
    enum hd_status status;

    if (!pool)
        return hd_error(HD_NO_MEMORY, "memory pool");
    pool->props = (struct core_mempool_props){.location = CORE_LOCATION_DEVICE};
    pool->props.location_id = device->ordinal;
    pool->device = device;
    pool->imported = true;
    status = core_pool_import(device, fd, &pool->own);
    if (status == HD_OK)
        status = mempool_file_note(pool);
    if (status == HD_OK)
        *out_pool = life_pool_open(pool);
    else
        core_mempool_unref(pool);
    return status;
}

enum hd_status core_mempool_pointer_export(uint64_t va, struct core_mempool_pointer *out_pointer)
{
    struct core_block *block;
    bool done;

    hd_lock_acquire(&core_memory_lock);
    block = core_block_at_locked(va);
    done = block && block->base == va && block->pooled && !block->pooled->cached &&
           block->pooled->pool->own && !block->pooled->pool->imported;
    if (done)
        *out_pointer = (struct core_mempool_pointer){.magic = POINTER_MAGIC,
                                                     .file = block->pooled->pool->file,
                                                     .offset_B = va - core_space_base(),
                                                     .size_B = block->size_B};
    hd_lock_release(&core_memory_lock);
    return done ? HD_OK
                : hd_error(HD_BAD_ARG, "0x%llx is no allocation from an exportable memory pool",
                           (unsigned long long)va);
}

enum hd_status core_mempool_pointer_import(struct core_context *ctx, struct core_mempool *pool,
                                           const struct core_mempool_pointer *pointer,
                                           uint64_t *out_va)
{
    struct core_block *block, what = {.size_B = pointer->size_B,
                                      .kind = CORE_MEM_DEVICE,
                                      .use = HEDDLE_MEMORY_MAPPED,
                                      .ctx = ctx,
                                      .device = pool->device,
                                      .id = core_memory_next_id()};
    struct core_pooled *p;
    bool done;

    if (!pool->imported)
        return hd_error(HD_BAD_ARG, "pointers are imported into an imported memory pool");
    if (pointer->magic != POINTER_MAGIC || pointer->file != pool->file || !pointer->size_B ||
        pointer->offset_B + pointer->size_B < pointer->offset_B)
        return hd_error(HD_BAD_ARG, "this is no pointer that the pool's process exported");
    p = hd_new(struct core_pooled);
    if (!p)
        return hd_error(HD_NO_MEMORY, "pointer of a memory pool");
    hd_lock_acquire(&core_memory_lock);
    done = core_pool_map_locked(pool->own, &what, pointer->offset_B, &block);
    if (done) {
        core_pooled_adopt_locked(pool, block, p);
        *out_va = what.base = block->base;
    }
    hd_lock_release(&core_memory_lock);
    if (done && tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&what, NULL, false);
    if (done)
        return HD_OK;
    hd_free(p);
    return hd_error(HD_NO_DEVICE_MEMORY, "cannot map %llu bytes of another process",
                    (unsigned long long)pointer->size_B);
}
