/* See multicast.h. */
#include "core/mem/multicast.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "core/mem/backing.h"
#include "core/mem/mapping.h"
#include "core/mem/memory_parts.h"
#include "hal/hal.h"
#include "model/multimem.h"

_Static_assert((int)CORE_DEVICES_MAX <= (int)IR_REPLICAS_MAX, "every device may have a replica");

/* One device's replica of a part. */
struct binding {
    unsigned device;
    uint64_t offset_B, size_B;
    uint64_t va;                    /* of the replica */
    struct core_allocation *memory; /* mapped at va; NULL: it was there */
    uint64_t memory_offset_B;       /* of what is mapped */
};

/* core_memory_lock */
struct core_multicast {
    unsigned team;    /* devices that belong to it in the end */
    uint64_t devices; /* those that were added, by ordinal */
    HD_VEC(struct binding) bindings;
    int fd; /* what stands for it among processes; -1: not shareable */
    struct core_allocation *object;
    struct core_multicast *next; /* shareable ones */
};

/* What a descriptor's file begins with. */
static const char file_mark[16] = "heddlemulticast";
enum { FILE_B = 4096 };

static struct core_multicast *shareable;                           /* core_memory_lock */
static pthread_cond_t device_was_added = PTHREAD_COND_INITIALIZER; /* core_memory_lock */

static bool multicast_is_granular(uint64_t value)
{
    return value % CORE_GRANULE_B == 0;
}

/* ---- life */

static enum hd_status multicast_mark_create(struct core_multicast *m)
{
    void *at;

    HD_TRY(hal_shared_create("heddle-multicast", FILE_B, &m->fd, &at));
    memcpy(at, file_mark, sizeof(file_mark));
    hal_shared_destroy(-1, at, FILE_B);
    hd_lock_acquire(&core_memory_lock);
    m->next = shareable;
    shareable = m;
    hd_lock_release(&core_memory_lock);
    return HD_OK;
}

/* Held once. Owns `m` if there is no error. */
static enum hd_status multicast_object_create(struct core_multicast *m, uint64_t size_B)
{
    struct core_allocation *a = core_handle_alloc(CORE_ALLOCATION);

    if (!a)
        return hd_error(HD_NO_MEMORY, "multicast object");
    a->device = core_device_at(0); /* whose memory none of it is */
    a->is_host = true;             /* counts against nobody's */
    a->multicast = m;
    a->size_B = size_B;
    a->held = 1;
    core_object_publish(&a->object);
    m->object = core_allocation_ref(a);
    return HD_OK;
}

enum hd_status core_multicast_create(const struct core_multicast_what *what,
                                     struct core_allocation **out_object)
{
    struct core_multicast *m;
    enum hd_status status = HD_OK;

    if (!what->size_B || !multicast_is_granular(what->size_B) || !what->devices ||
        what->devices > core_device_count())
        return hd_error(HD_BAD_ARG, "a multicast object of %llu bytes for %u devices",
                        (unsigned long long)what->size_B, what->devices);
    m = hd_new(struct core_multicast);
    if (m)
        *m = (struct core_multicast){.team = what->devices, .fd = -1};
    if (!m)
        return hd_error(HD_NO_MEMORY, "multicast object");
    if (what->shareable)
        status = multicast_mark_create(m);
    if (status == HD_OK)
        status = multicast_object_create(m, what->size_B);
    if (status != HD_OK) {
        core_multicast_destroy(m);
        return status;
    }
    *out_object = m->object;
    return HD_OK;
}

/* The allocation when this was the last of it; the caller drops its reference without the lock. */
static struct core_allocation *multicast_release_locked(const struct binding *b)
{
    if (!b->memory)
        return NULL;
    core_backing_unmap(b->memory->backing, b->va, b->size_B);
    core_space_give_locked(b->va, b->size_B / CORE_GRANULE_B);
    return core_allocation_unuse_locked(b->memory) ? b->memory : NULL;
}

/* The last one, if there is any, goes. */
static bool multicast_bindings_pop(struct core_multicast *m)
{
    struct core_allocation *over = NULL;
    bool any;

    hd_lock_acquire(&core_memory_lock);
    any = m->bindings.len > 0;
    if (any)
        over = multicast_release_locked(&m->bindings.at[--m->bindings.len]);
    hd_lock_release(&core_memory_lock);
    core_allocation_unref(over); /* takes the lock */
    return any;
}

void core_multicast_destroy(struct core_multicast *m)
{
    while (multicast_bindings_pop(m)) {
    }
    hd_vec_fini(&m->bindings);
    hd_lock_acquire(&core_memory_lock);
    struct core_multicast **link = &shareable;
    while (*link && *link != m)
        link = &(*link)->next;
    if (*link)
        *link = m->next;
    hd_lock_release(&core_memory_lock);
    hal_shared_destroy(m->fd, NULL, 0);
    hd_free(m);
}

/* ---- the team */

static bool multicast_is_complete_locked(const struct core_multicast *m)
{
    assert(hd_lock_held(&core_memory_lock));
    return (unsigned)__builtin_popcountll(m->devices) == m->team;
}

enum hd_status core_multicast_add(struct core_allocation *object, struct core_device *device)
{
    struct core_multicast *m = object->multicast;
    uint64_t bit = UINT64_C(1) << device->ordinal;
    bool added;

    hd_lock_acquire(&core_memory_lock);
    added = !(m->devices & bit) && !multicast_is_complete_locked(m);
    if (added)
        m->devices |= bit;
    pthread_cond_broadcast(&device_was_added);
    hd_lock_release(&core_memory_lock);
    return added ? HD_OK
                 : hd_error(HD_BAD_ARG, "device %d was added already, or all %u were",
                            device->ordinal, m->team);
}

void core_multicast_wait(struct core_allocation *object)
{
    hd_lock_acquire(&core_memory_lock);
    while (!multicast_is_complete_locked(object->multicast))
        hd_lock_wait(&core_memory_lock, &device_was_added);
    hd_lock_release(&core_memory_lock);
}

/* ---- bindings */

static bool multicast_overlap(const struct binding *b, unsigned device, uint64_t offset_B,
                              uint64_t size_B)
{
    return b->device == device && b->offset_B < offset_B + size_B &&
           offset_B < b->offset_B + b->size_B;
}

static enum hd_status multicast_check_part(const struct core_allocation *object, uint64_t offset_B,
                                           uint64_t size_B)
{
    if (!size_B || !multicast_is_granular(offset_B | size_B) || offset_B > object->size_B ||
        size_B > object->size_B - offset_B)
        return hd_error(HD_BAD_ARG, "%llu bytes at offset %llu of a multicast object of %llu",
                        (unsigned long long)size_B, (unsigned long long)offset_B,
                        (unsigned long long)object->size_B);
    return HD_OK;
}

/* Room in the list is made first, so that nothing has to be undone. */
static enum hd_status multicast_bind_locked(struct core_multicast *m, struct binding *b)
{
    if (!(m->devices >> b->device & 1))
        return hd_error(HD_BAD_ARG, "device %u, whose memory it is, was not added", b->device);
    for (size_t i = 0; i < m->bindings.len; i++)
        if (multicast_overlap(&m->bindings.at[i], b->device, b->offset_B, b->size_B))
            return hd_error(HD_BAD_ARG, "device %u has memory bound there already", b->device);
    if (!hd_vec_reserve(&m->bindings, m->bindings.len + 1))
        return hd_error(HD_NO_MEMORY, "binding");
    if (b->memory) {
        enum hd_status status;
        if (!core_space_take_locked(b->size_B / CORE_GRANULE_B, &b->va))
            return hd_error(HD_NO_DEVICE_MEMORY, "there are no %llu bytes of addresses",
                            (unsigned long long)b->size_B);
        status = core_backing_map(b->memory->backing, b->va, b->memory_offset_B, b->size_B,
                                  HAL_PROT_READ_WRITE);
        if (status != HD_OK)
            core_space_give_locked(b->va, b->size_B / CORE_GRANULE_B);
        HD_TRY(status);
        core_allocation_use_locked(b->memory);
    }
    if (!hd_vec_push(&m->bindings, *b))
        assert(!"there is room");
    return HD_OK;
}

static enum hd_status multicast_bind(struct core_allocation *object, struct binding *b)
{
    enum hd_status status;

    core_multicast_wait(object);
    hd_lock_acquire(&core_memory_lock);
    status = multicast_bind_locked(object->multicast, b);
    hd_lock_release(&core_memory_lock);
    return status;
}

enum hd_status core_multicast_bind(struct core_allocation *object, uint64_t offset_B,
                                   struct core_allocation *memory, uint64_t memory_offset_B,
                                   uint64_t size_B)
{
    struct binding b = {.device = (unsigned)memory->device->ordinal,
                        .offset_B = offset_B,
                        .size_B = size_B,
                        .memory = memory,
                        .memory_offset_B = memory_offset_B};

    HD_TRY(multicast_check_part(object, offset_B, size_B));
    if (memory->multicast || memory->is_host)
        return hd_error(HD_BAD_ARG, "only a device's memory can be bound");
    if (!multicast_is_granular(memory_offset_B) || memory_offset_B > memory->size_B ||
        size_B > memory->size_B - memory_offset_B)
        return hd_error(HD_BAD_ARG, "%llu bytes at offset %llu of memory of %llu",
                        (unsigned long long)size_B, (unsigned long long)memory_offset_B,
                        (unsigned long long)memory->size_B);
    return multicast_bind(object, &b);
}

/* Memory that has no handle: blocks of pools and of contexts. */
static enum hd_status multicast_bind_block(struct core_allocation *object, struct binding *b)
{
    struct core_block block;

    if (!core_memory_find(b->va, &block) || !block.ctx || block.kind != CORE_MEM_DEVICE ||
        b->va - block.base > block.size_B || b->size_B > block.size_B - (b->va - block.base))
        return hd_error(HD_BAD_ARG, "there are no %llu bytes of a device's memory at 0x%llx",
                        (unsigned long long)b->size_B, (unsigned long long)b->va);
    b->device = (unsigned)block.device->ordinal;
    return multicast_bind(object, b);
}

enum hd_status core_multicast_bind_address(struct core_allocation *object, uint64_t offset_B,
                                           uint64_t va, uint64_t size_B)
{
    struct binding b = {.offset_B = offset_B, .size_B = size_B, .va = va};
    struct core_vmm_location location;
    enum hd_status status;

    HD_TRY(multicast_check_part(object, offset_B, size_B));
    if (!multicast_is_granular(va))
        return hd_error(HD_BAD_ARG, "0x%llx is not aligned to %llu", (unsigned long long)va,
                        (unsigned long long)CORE_GRANULE_B);
    if (!core_vmm_location_get(va, &location))
        return multicast_bind_block(object, &b);
    status =
        size_B <= location.left_B
            ? core_multicast_bind(object, offset_B, location.allocation, location.offset_B, size_B)
            : hd_error(HD_BAD_ARG, "the mapping ends before the %llu bytes do",
                       (unsigned long long)size_B);
    core_allocation_unref(location.allocation);
    return status;
}

/* ---- the way back */

static bool multicast_is_within(const struct binding *b, unsigned device, uint64_t offset_B,
                                uint64_t size_B)
{
    return b->device == device && b->offset_B >= offset_B &&
           b->offset_B + b->size_B <= offset_B + size_B;
}

/* How much of the range its device has bound, in bindings that end with it. */
static uint64_t multicast_bound_B_locked(const struct core_multicast *m, unsigned device,
                                         uint64_t offset_B, uint64_t size_B)
{
    uint64_t bound_B = 0;

    for (size_t i = 0; i < m->bindings.len; i++)
        if (multicast_is_within(&m->bindings.at[i], device, offset_B, size_B))
            bound_B += m->bindings.at[i].size_B;
    return bound_B;
}

/* The first binding in the range goes; false: there is none. */
static bool multicast_unbind_first(struct core_multicast *m, unsigned device, uint64_t offset_B,
                                   uint64_t size_B)
{
    struct core_allocation *over = NULL;
    size_t i = 0;

    hd_lock_acquire(&core_memory_lock);
    while (i < m->bindings.len &&
           !multicast_is_within(&m->bindings.at[i], device, offset_B, size_B))
        i++;
    bool found = i < m->bindings.len;
    if (found) {
        over = multicast_release_locked(&m->bindings.at[i]);
        m->bindings.at[i] = m->bindings.at[--m->bindings.len];
    }
    hd_lock_release(&core_memory_lock);
    core_allocation_unref(over); /* takes the lock */
    return found;
}

enum hd_status core_multicast_unbind(struct core_allocation *object, struct core_device *device,
                                     uint64_t offset_B, uint64_t size_B)
{
    struct core_multicast *m = object->multicast;
    unsigned ordinal = (unsigned)device->ordinal;
    bool whole;

    HD_TRY(multicast_check_part(object, offset_B, size_B));
    hd_lock_acquire(&core_memory_lock);
    whole = multicast_bound_B_locked(m, ordinal, offset_B, size_B) == size_B;
    hd_lock_release(&core_memory_lock);
    if (!whole)
        return hd_error(HD_BAD_ARG, "device %u has not bound all of these %llu bytes, or more",
                        ordinal, (unsigned long long)size_B);
    while (multicast_unbind_first(m, ordinal, offset_B, size_B)) {
    }
    return HD_OK;
}

/* ---- other handles */

enum hd_status core_multicast_export(struct core_allocation *object, int *out_fd)
{
    if (object->multicast->fd < 0)
        return hd_error(HD_NOT_SUPPORTED, "the multicast object was created without handle types");
    *out_fd = fcntl(object->multicast->fd, F_DUPFD_CLOEXEC, 0);
    return *out_fd >= 0 ? HD_OK : hd_error(HD_NO_MEMORY, "export of a multicast object");
}

static bool multicast_is_same_file(int a, int b)
{
    struct stat x, y;

    return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool multicast_is_mark(int fd)
{
    char text[sizeof(file_mark)];

    return pread(fd, text, sizeof(text), 0) == (ssize_t)sizeof(text) &&
           !memcmp(text, file_mark, sizeof(text));
}

enum hd_status core_multicast_import(int fd, struct core_allocation **out_object)
{
    struct core_multicast *m;

    if (hal_shared_size(fd) != FILE_B || !multicast_is_mark(fd))
        return HD_NOT_FOUND;
    hd_lock_acquire(&core_memory_lock);
    for (m = shareable; m && !multicast_is_same_file(m->fd, fd);)
        m = m->next;
    if (m && core_allocation_hold_locked(m->object))
        *out_object = core_allocation_ref(m->object);
    else
        m = NULL;
    hd_lock_release(&core_memory_lock);
    return m ? HD_OK
             : hd_error(HD_NOT_SUPPORTED, "a multicast object of another process, or one that is "
                                          "gone: they are not shared among processes yet");
}

/* ---- what devices ask */

/* The device's replica of this place, and how much of it is in one piece. */
static const struct binding *multicast_replica_locked(const struct core_multicast *m,
                                                      unsigned device, uint64_t offset_B)
{
    for (size_t i = 0; i < m->bindings.len; i++)
        if (multicast_overlap(&m->bindings.at[i], device, offset_B, 1))
            return &m->bindings.at[i];
    return NULL;
}

/*
 * Where it is in the terms of whoever asks: a device's own mapping, or with `programs` the
 * program's, where it has one.
 */
static uint64_t multicast_replica_address_locked(const struct binding *b, uint64_t into_B,
                                                 bool programs)
{
    uint64_t va = 0;

    if (programs && b->memory)
        va = core_vmm_address_locked(b->memory, b->memory_offset_B, b->size_B);
    return (va ? va : b->va) + into_B;
}

static bool multicast_find_locked(const struct core_vmm_location *location, bool programs,
                                  struct ir_replicas *out)
{
    const struct core_multicast *m = location->allocation->multicast;

    out->size_B = location->left_B;
    out->lacks = m ? IR_REPLICAS_READ_ONLY : IR_REPLICAS_NO_OBJECT;
    if (!m || !location->writable)
        return false;
    for (uint64_t left = m->devices; left; left &= left - 1) {
        unsigned device = (unsigned)__builtin_ctzll(left);
        const struct binding *b = multicast_replica_locked(m, device, location->offset_B);

        out->lacks = (int)device;
        if (!b)
            return false;
        uint64_t into_B = location->offset_B - b->offset_B;
        out->at[out->count++] = multicast_replica_address_locked(b, into_B, programs);
        out->size_B = HD_MIN(out->size_B, b->size_B - into_B);
    }
    return true;
}

static bool multicast_find(uint64_t va, bool programs, struct ir_replicas *out)
{
    struct core_vmm_location location;
    bool found;

    *out = (struct ir_replicas){.lacks = IR_REPLICAS_NO_OBJECT};
    hd_lock_acquire(&core_memory_lock);
    found = core_vmm_location_get_locked(va, &location) &&
            multicast_find_locked(&location, programs, out);
    hd_lock_release(&core_memory_lock);
    return found;
}

bool core_multicast_find(uint64_t va, struct ir_replicas *out_replicas)
{
    return multicast_find(va, false, out_replicas);
}

bool core_multicast_find_programs(uint64_t va, struct ir_replicas *out_replicas)
{
    return multicast_find(va, true, out_replicas);
}
