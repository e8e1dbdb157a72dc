/* Who has physical memory, handles and mappings, and what is mapped where. See mapping.h. */
#include "core/mem/mapping.h"

#include <assert.h>

/* ---- who has it */

/* True: nobody has it any more, and the caller drops the owner's reference, without the lock. */
static bool allocation_is_over_locked(struct core_allocation *a)
{
    assert(hd_lock_held(&core_memory_lock));
    return !a->held && !a->mappings && core_object_retire(&a->object);
}

void core_allocation_use_locked(struct core_allocation *a)
{
    assert(hd_lock_held(&core_memory_lock));
    a->mappings++;
}

bool core_allocation_unuse_locked(struct core_allocation *a)
{
    assert(a->mappings > 0);
    a->mappings--;
    return allocation_is_over_locked(a);
}

bool core_allocation_hold_locked(struct core_allocation *a)
{
    assert(hd_lock_held(&core_memory_lock));
    a->held += a->held > 0;
    return a->held > 0;
}

bool core_allocation_release(struct core_allocation *a)
{
    bool held, over = false;

    hd_lock_acquire(&core_memory_lock);
    held = a->held > 0;
    if (held) {
        a->held--;
        over = allocation_is_over_locked(a);
    }
    hd_lock_release(&core_memory_lock);
    if (over)
        core_allocation_unref(a);
    return held;
}

/* ---- what is where */

struct core_mapping *core_mapping_at_locked(uint64_t va)
{
    struct core_owner *owner = core_space_owner(va);

    assert(hd_lock_held(&core_memory_lock));
    return owner && !owner->pool && !owner->is_array
               ? HD_CONTAINER_OF(owner, struct core_mapping, owner)
               : NULL;
}

enum hd_status core_allocation_retain(uint64_t va, struct core_allocation **out_allocation)
{
    const struct core_mapping *m;

    hd_lock_acquire(&core_memory_lock);
    m = core_mapping_at_locked(va);
    if (m && m->user != CORE_VMM_PROGRAM)
        m = NULL;
    if (m) {
        m->allocation->held++;
        *out_allocation = core_allocation_ref(m->allocation);
    }
    hd_lock_release(&core_memory_lock);
    return m ? HD_OK : hd_error(HD_BAD_ARG, "nothing is mapped at 0x%llx", (unsigned long long)va);
}

enum core_vmm_access core_mapping_access(const struct core_mapping *m)
{
    uint8_t most = CORE_VMM_NONE;

    for (unsigned i = 0; i < HD_COUNT_OF(m->access); i++)
        most = HD_MAX(most, m->access[i]);
    return (enum core_vmm_access)most;
}

bool core_vmm_location_get_locked(uint64_t va, struct core_vmm_location *out_location)
{
    const struct core_mapping *m = core_mapping_at_locked(va);

    if (!m)
        return false;
    uint64_t into_B = va - m->owner.base;
    *out_location =
        (struct core_vmm_location){.allocation = m->allocation,
                                   .offset_B = m->offset_B + into_B,
                                   .left_B = m->block.size_B - into_B,
                                   .writable = core_mapping_access(m) == CORE_VMM_READ_WRITE};
    return true;
}

uint64_t core_vmm_address_locked(const struct core_allocation *a, uint64_t offset_B,
                                 uint64_t size_B)
{
    assert(hd_lock_held(&core_memory_lock));
    for (const struct core_mapping *m = a->first; m; m = m->next) {
        uint64_t into_B = offset_B - m->offset_B;

        if (offset_B >= m->offset_B && into_B < m->block.size_B &&
            size_B <= m->block.size_B - into_B)
            return m->owner.base + into_B;
    }
    return 0;
}

bool core_vmm_location_get(uint64_t va, struct core_vmm_location *out_location)
{
    bool found;

    hd_lock_acquire(&core_memory_lock);
    found = core_vmm_location_get_locked(va, out_location);
    if (found)
        (void)core_allocation_ref(out_location->allocation);
    hd_lock_release(&core_memory_lock);
    return found;
}
