/*
 * Mappings of physical memory (vmm.h), for those that make them and for those that look for what is
 * at an address: vmm.c, multicast.c, arrays that are mapped later. Threads: core_memory_lock.
 */
#ifndef HD_CORE_MEM_MAPPING_H
#define HD_CORE_MEM_MAPPING_H

#include "core/device.h"
#include "core/mem/memory.h"
#include "core/mem/memory_parts.h"
#include "core/mem/vmm.h"

/* One more user of the memory, as a mapping is one. */
void core_allocation_use_locked(struct core_allocation *allocation);
/* True: nobody has it any more, and the caller drops the owner's reference, without the lock. */
bool core_allocation_unuse_locked(struct core_allocation *allocation);
/* One more handle. False: all were given back. */
bool core_allocation_hold_locked(struct core_allocation *allocation);

struct core_mapping {
    struct core_owner owner; /* of its granules */
    struct core_block block; /* its only slot */
    struct core_allocation *allocation;
    struct core_mapping *next; /* of the allocation */
    uint64_t offset_B;
    enum core_vmm_user user;
    uint8_t access[CORE_DEVICES_MAX + 1]; /* enum core_vmm_access, by who */
};

/* The mapping around va, or NULL. */
struct core_mapping *core_mapping_at_locked(uint64_t va);
/* What somebody may do with it: the most that was asked for. */
enum core_vmm_access core_mapping_access(const struct core_mapping *mapping);

/* What is mapped at an address. */
struct core_vmm_location {
    struct core_allocation *allocation;
    uint64_t offset_B; /* there */
    uint64_t left_B;   /* of the mapping, from there on */
    bool writable;     /* by somebody */
};

/* False: nothing. With a reference to the allocation. */
bool core_vmm_location_get(uint64_t va, struct core_vmm_location *out_location);
/* Without one. */
bool core_vmm_location_get_locked(uint64_t va, struct core_vmm_location *out_location);

/* Where `size_B` bytes of an allocation are mapped in one piece; 0: nowhere. */
uint64_t core_vmm_address_locked(const struct core_allocation *allocation, uint64_t offset_B,
                                 uint64_t size_B);

#endif
