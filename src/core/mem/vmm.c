/* See vmm.h. */
#include "core/mem/vmm.h"

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"
#include "core/mem/backing.h"
#include "core/mem/mapping.h"
#include "core/mem/memory_parts.h"
#include "core/mem/multicast.h"
#include "core/notify.h"
#include "hal/hal.h"

_Static_assert(CORE_VMM_GRANULE_B == CORE_GRANULE_B, "mappings own granules");

struct range {
    uint64_t va, size_B;
    enum core_vmm_user user;
};

static HD_VEC(struct range) reservations; /* core_memory_lock */

static bool vmm_is_granular(uint64_t value)
{
    return value % CORE_GRANULE_B == 0;
}

/* A range of whole granules that does not wrap around. */
static bool vmm_is_range(uint64_t va, uint64_t size_B)
{
    return size_B && vmm_is_granular(va) && vmm_is_granular(size_B) && va + size_B > va;
}

static enum hd_status vmm_range_error(const char *what, uint64_t va, uint64_t size_B)
{
    return hd_error(HD_BAD_ARG, "%s: %llu bytes at 0x%llx", what, (unsigned long long)size_B,
                    (unsigned long long)va);
}

/* ---- allocations */

static enum hd_status vmm_mem_make(struct core_allocation *a,
                                   const struct core_allocation_what *what)
{
    struct hal_device *hal = a->device->hal;

    if (what->fd >= 0)
        HD_TRY(core_backing_import(hal, what->fd, &a->backing));
    else
        HD_TRY(core_backing_create(hal, what->size_B, true, &a->backing));
    a->size_B = core_backing_size(a->backing);
    return vmm_is_granular(a->size_B) ? HD_OK : hd_error(HD_BAD_ARG, "memory of an unknown kind");
}

/* What is imported counts where it was made. */
static enum hd_status vmm_budget_take(struct core_allocation *a,
                                      const struct core_allocation_what *what)
{
    bool taken = true;

    a->is_host = what->is_host || what->fd >= 0;
    hd_lock_acquire(&core_memory_lock);
    if (!a->is_host)
        taken = core_pool_charge_locked(a->device->pool, what->size_B);
    hd_lock_release(&core_memory_lock);
    if (taken)
        return HD_OK;
    a->is_host = true; /* nothing to give back */
    return hd_error(HD_NO_DEVICE_MEMORY, "cannot allocate %llu bytes of device memory",
                    (unsigned long long)what->size_B);
}

enum hd_status core_allocation_create(const struct core_allocation_what *what,
                                      struct core_allocation **out_allocation)
{
    struct core_allocation *a;
    enum hd_status status;

    if (what->fd < 0 && (!what->size_B || !vmm_is_granular(what->size_B)))
        return hd_error(HD_BAD_ARG, "%llu bytes: not a multiple of %llu",
                        (unsigned long long)what->size_B, (unsigned long long)CORE_GRANULE_B);
    a = core_handle_alloc(CORE_ALLOCATION);
    if (!a)
        return hd_error(HD_NO_MEMORY, "memory object");
    a->device = what->device;
    memcpy(a->about, what->about, sizeof(a->about));
    a->held = 1;
    status = vmm_budget_take(a, what);
    if (status == HD_OK) {
        a->size_B = what->size_B; /* what is given back if the memory cannot be made */
        status = vmm_mem_make(a, what);
    }
    if (status != HD_OK) {
        core_allocation_unref(a);
        return status;
    }
    core_object_publish(&a->object);
    *out_allocation = core_allocation_ref(a);
    return HD_OK;
}

void core_allocation_finalise(struct core_allocation *a)
{
    assert(!a->mappings);
    if (a->multicast)
        core_multicast_destroy(a->multicast);
    core_backing_destroy(a->backing);
    hd_lock_acquire(&core_memory_lock);
    if (!a->is_host)
        core_pool_uncharge_locked(a->device->pool, a->size_B);
    hd_lock_release(&core_memory_lock);
    core_handle_free(a);
}

enum hd_status core_allocation_export(struct core_allocation *a, int *out_fd)
{
    return core_backing_export(a->backing, out_fd);
}

/* ---- reservations */

/* The user's reservation that contains the range, or SIZE_MAX. */
static size_t vmm_reservation_find_locked(enum core_vmm_user user, uint64_t va, uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock));
    for (size_t i = 0; i < reservations.len; i++) {
        const struct range *r = &reservations.at[i];

        if (va >= r->va && va - r->va < r->size_B && size_B <= r->size_B - (va - r->va))
            return r->user == user ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* Takes more than is wanted and gives the ends back. */
static bool vmm_space_take_aligned_locked(uint64_t size_B, uint64_t alignment_B, uint64_t *out_va)
{
    uint64_t extra_B = alignment_B - CORE_GRANULE_B, base, before_B;

    if (!core_space_take_locked((size_B + extra_B) / CORE_GRANULE_B, &base))
        return false;
    *out_va = hd_align_up(base, alignment_B);
    before_B = *out_va - base;
    if (before_B)
        core_space_give_locked(base, before_B / CORE_GRANULE_B);
    if (before_B < extra_B)
        core_space_give_locked(*out_va + size_B, (extra_B - before_B) / CORE_GRANULE_B);
    return true;
}

enum hd_status core_vmm_reserve(enum core_vmm_user user, uint64_t size_B, uint64_t alignment_B,
                                uint64_t *out_va)
{
    bool taken;

    if (!size_B || !vmm_is_granular(size_B) || (alignment_B && !hd_is_pow2(alignment_B)))
        return hd_error(HD_BAD_ARG, "reservation of %llu bytes, aligned to %llu",
                        (unsigned long long)size_B, (unsigned long long)alignment_B);
    alignment_B = HD_MAX(alignment_B, CORE_GRANULE_B);
    hd_lock_acquire(&core_memory_lock);
    taken = size_B <= core_space_size() && alignment_B <= core_space_size() &&
            hd_vec_reserve(&reservations, reservations.len + 1) &&
            vmm_space_take_aligned_locked(size_B, alignment_B, out_va);
    if (taken && !hd_vec_push(&reservations, (struct range){*out_va, size_B, user}))
        assert(!"there is room");
    hd_lock_release(&core_memory_lock);
    return taken ? HD_OK
                 : hd_error(HD_NO_DEVICE_MEMORY, "there are no %llu bytes of addresses",
                            (unsigned long long)size_B);
}

static bool vmm_is_unmapped_locked(uint64_t va, uint64_t size_B)
{
    for (uint64_t at = va; at < va + size_B; at += CORE_GRANULE_B)
        if (core_space_owner(at))
            return false;
    return true;
}

static enum hd_status vmm_free_locked(enum core_vmm_user user, uint64_t va, uint64_t size_B)
{
    size_t i = vmm_reservation_find_locked(user, va, size_B);

    if (i == SIZE_MAX || reservations.at[i].va != va || reservations.at[i].size_B != size_B)
        return vmm_range_error("not a reservation", va, size_B);
    if (!vmm_is_unmapped_locked(va, size_B))
        return vmm_range_error("memory is mapped into the reservation", va, size_B);
    core_space_give_locked(va, size_B / CORE_GRANULE_B);
    reservations.at[i] = reservations.at[--reservations.len];
    return HD_OK;
}

enum hd_status core_vmm_free(enum core_vmm_user user, uint64_t va, uint64_t size_B)
{
    enum hd_status status;

    if (!vmm_is_range(va, size_B))
        return vmm_range_error("not a reservation", va, size_B);
    hd_lock_acquire(&core_memory_lock);
    status = vmm_free_locked(user, va, size_B);
    if (!reservations.len)
        hd_vec_fini(&reservations);
    hd_lock_release(&core_memory_lock);
    return status;
}

/* ---- mappings */

static void vmm_mapping_fill(struct core_mapping *m, struct core_allocation *a, uint64_t va,
                             uint64_t size_B, uint64_t offset_B)
{
    *m = (struct core_mapping){.allocation = a, .offset_B = offset_B};
    m->owner = (struct core_owner){.base = va,
                                   .granules = size_B / CORE_GRANULE_B,
                                   .slot_B = size_B,
                                   .slots = 1,
                                   .blocks = &m->block};
    m->block =
        (struct core_block){.base = va,
                            .size_B = size_B,
                            .kind = a->is_host && !a->multicast ? CORE_MEM_HOST : CORE_MEM_DEVICE,
                            .is_multicast = a->multicast != NULL,
                            .device = a->device,
                            .id = core_memory_next_id()};
}

static enum hd_status vmm_map_locked(struct core_allocation *a, struct core_mapping *m)
{
    uint64_t va = m->owner.base, size_B = m->block.size_B;

    if (!a->held)
        return hd_error(HD_BAD_ARG, "the memory's handle was released");
    if (vmm_reservation_find_locked(m->user, va, size_B) == SIZE_MAX)
        return vmm_range_error("not in a reservation", va, size_B);
    if (!vmm_is_unmapped_locked(va, size_B))
        return vmm_range_error("memory is mapped there already", va, size_B);
    core_space_owner_set_locked(va, m->owner.granules, &m->owner);
    core_allocation_use_locked(a);
    m->next = a->first;
    a->first = m;
    return HD_OK;
}

/* Memory of graphs is told by its exact size (graph_memory.c). */
static void vmm_notify(enum core_vmm_user user, uint64_t va, uint64_t size_B, bool is_freed)
{
    struct core_block block = {
        .base = va, .size_B = size_B, .kind = CORE_MEM_DEVICE, .use = HEDDLE_MEMORY_MAPPED};

    if (user != CORE_VMM_GRAPHS && tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&block, NULL, is_freed);
}

enum hd_status core_vmm_map(enum core_vmm_user user, struct core_allocation *a, uint64_t va,
                            uint64_t size_B, uint64_t offset_B)
{
    struct core_mapping *m;
    enum hd_status status;

    if (!vmm_is_range(va, size_B) || !vmm_is_granular(offset_B) || offset_B > a->size_B ||
        size_B > a->size_B - offset_B)
        return vmm_range_error("mapping", va, size_B);
    if (a->multicast)
        core_multicast_wait(a);
    m = hd_new(struct core_mapping);
    if (!m)
        return hd_error(HD_NO_MEMORY, "mapping");
    vmm_mapping_fill(m, a, va, size_B, offset_B);
    m->user = user;
    hd_lock_acquire(&core_memory_lock);
    status = vmm_map_locked(a, m);
    hd_lock_release(&core_memory_lock);
    if (status != HD_OK)
        hd_free(m);
    else
        vmm_notify(user, va, size_B, false);
    return status;
}

/* Does the range consist of whole mappings? */
static bool vmm_is_mapped_whole_locked(enum core_vmm_user user, uint64_t va, uint64_t size_B)
{
    uint64_t at = va, end = va + size_B;

    while (at < end) {
        const struct core_mapping *m = core_mapping_at_locked(at);

        if (!m || m->user != user || m->owner.base != at || m->block.size_B > end - at)
            return false;
        at += m->block.size_B;
    }
    return true;
}

/* Its pages go out of the address space. */
static void vmm_mapping_hide(const struct core_mapping *m)
{
    if (!m->allocation->multicast)
        core_backing_unmap(m->allocation->backing, m->owner.base, m->block.size_B);
}

/* Returns the allocation if this was the last of it. */
static struct core_allocation *vmm_unmap_locked(struct core_mapping *m)
{
    struct core_allocation *a = m->allocation;

    vmm_mapping_hide(m);
    struct core_mapping **link = &a->first;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    core_space_owner_set_locked(m->owner.base, m->owner.granules, NULL);
    hd_free(m);
    return core_allocation_unuse_locked(a) ? a : NULL;
}

/* The mapping that begins at `at`; *at goes behind it. Another thread may have been first. */
static enum hd_status vmm_unmap_first(enum core_vmm_user user, uint64_t *at)
{
    struct core_allocation *over = NULL;
    struct core_mapping *m;
    uint64_t va = *at;
    bool is_there;

    hd_lock_acquire(&core_memory_lock);
    m = core_mapping_at_locked(*at);
    is_there = m && m->user == user && m->owner.base == *at;
    if (is_there) {
        *at += m->block.size_B;
        over = vmm_unmap_locked(m);
    }
    hd_lock_release(&core_memory_lock);
    core_allocation_unref(over); /* takes the lock */
    if (is_there)
        vmm_notify(user, va, *at - va, true);
    return is_there ? HD_OK : vmm_range_error("not mapped any more", *at, CORE_GRANULE_B);
}

enum hd_status core_vmm_unmap(enum core_vmm_user user, uint64_t va, uint64_t size_B)
{
    bool whole;

    if (!vmm_is_range(va, size_B))
        return vmm_range_error("not whole mappings", va, size_B);
    hd_lock_acquire(&core_memory_lock);
    whole = vmm_is_mapped_whole_locked(user, va, size_B);
    hd_lock_release(&core_memory_lock);
    if (!whole)
        return vmm_range_error("not whole mappings", va, size_B);
    for (uint64_t at = va; at < va + size_B;)
        HD_TRY(vmm_unmap_first(user, &at));
    return HD_OK;
}

/* ---- access */

static enum hd_status vmm_access_apply(const struct core_mapping *m)
{
    static const enum hal_prot prots[] = {
        [CORE_VMM_READ] = HAL_PROT_READ, [CORE_VMM_READ_WRITE] = HAL_PROT_READ_WRITE};
    enum core_vmm_access access = core_mapping_access(m);

    if (access != CORE_VMM_NONE && !m->allocation->multicast)
        return core_backing_map(m->allocation->backing, m->owner.base, m->offset_B, m->block.size_B,
                                prots[access]);
    vmm_mapping_hide(m);
    return HD_OK;
}

static enum hd_status vmm_access_set_locked(enum core_vmm_user user, uint64_t va, uint64_t size_B,
                                            unsigned who, enum core_vmm_access access)
{
    if (!vmm_is_mapped_whole_locked(user, va, size_B))
        return vmm_range_error("not whole mappings", va, size_B);
    for (uint64_t at = va; at < va + size_B;) {
        struct core_mapping *m = core_mapping_at_locked(at);

        m->access[who] = (uint8_t)access;
        HD_TRY(vmm_access_apply(m));
        at += m->block.size_B;
    }
    return HD_OK;
}

enum hd_status core_vmm_access_set(enum core_vmm_user user, uint64_t va, uint64_t size_B,
                                   unsigned who, enum core_vmm_access access)
{
    enum hd_status status;

    assert(who <= CORE_VMM_HOST);
    if (!vmm_is_range(va, size_B))
        return vmm_range_error("not whole mappings", va, size_B);
    hd_lock_acquire(&core_memory_lock);
    status = vmm_access_set_locked(user, va, size_B, who, access);
    hd_lock_release(&core_memory_lock);
    return status;
}

enum hd_status core_vmm_access_get(uint64_t va, unsigned who, enum core_vmm_access *out_access)
{
    const struct core_mapping *m;

    assert(who <= CORE_VMM_HOST);
    hd_lock_acquire(&core_memory_lock);
    m = core_mapping_at_locked(va);
    *out_access = m ? (enum core_vmm_access)m->access[who] : CORE_VMM_NONE;
    hd_lock_release(&core_memory_lock);
    return m ? HD_OK : hd_error(HD_BAD_ARG, "nothing is mapped at 0x%llx", (unsigned long long)va);
}
