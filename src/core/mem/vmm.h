/*
 * Virtual memory management: addresses, physical memory and access rights apart from each other
 * (cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess).
 *
 *     reservation  |<------------------ addresses, granules of 2 MiB ------------------>|
 *     mapping          |<-- allocation a, from offset o -->||<-- allocation b -->|
 *
 * A mapping owns its granules as a block of memory does (memory_parts.h), with one slot and no
 * pool, so whoever looks for an address finds it; nobody frees it but core_vmm_unmap(). It begins
 * inaccessible. There is one page table: memory that some device may access all may, and what was
 * asked for each is remembered, because CUDA reports it.
 *
 * A multicast object (multicast.h) is mapped like memory, but stays inaccessible.
 *
 * Owners: an allocation belongs to who holds its handle (`held`) and to its mappings; its memory
 * goes with the last of both. Reservations belong to the program. Threads: core_memory_lock.
 */
#ifndef HD_CORE_MEM_VMM_H
#define HD_CORE_MEM_VMM_H

#include "core/device.h"
#include "core/handle.h"

struct core_backing;
struct core_multicast;

#define CORE_VMM_GRANULE_B    ((uint64_t)2 << 20)
#define CORE_VMM_HOST         CORE_DEVICES_MAX /* in place of a device's ordinal */
#define CORE_ALLOCATION_ABOUT 32

enum core_vmm_access { CORE_VMM_NONE, CORE_VMM_READ, CORE_VMM_READ_WRITE };

struct core_allocation {
    struct core_object object;
    struct core_device *device;       /* whose memory it is, or that it counts as host memory of */
    bool is_host;                     /* counts against no device's memory */
    struct core_backing *backing;     /* NULL: of a multicast object */
    struct core_multicast *multicast; /* multicast.h; NULL: this is memory */
    uint64_t size_B;
    uint8_t about[CORE_ALLOCATION_ABOUT]; /* the API's, for whoever asks */
    /* core_memory_lock: */
    uint32_t held; /* handles given out and not released */
    uint32_t mappings;
    struct core_mapping *first; /* of those that map it (mapping.h) */
};

/* For what cuMemCreate() was told, or a descriptor (fd >= 0) of somebody else's. */
struct core_allocation_what {
    struct core_device *device;
    bool is_host;
    uint64_t size_B; /* without a descriptor */
    int fd;
    uint8_t about[CORE_ALLOCATION_ABOUT];
};

/* HD_BAD_ARG (size, descriptor), HD_NO_DEVICE_MEMORY, HD_NO_MEMORY. Held once. */
enum hd_status core_allocation_create(const struct core_allocation_what *what,
                                      struct core_allocation **out_allocation) HD_MUST_CHECK;
/* Gives one handle back. False: none was out. */
bool core_allocation_release(struct core_allocation *allocation);
/* Another handle of what is mapped at va, with a reference. HD_BAD_ARG. */
enum hd_status core_allocation_retain(uint64_t va, struct core_allocation **out_allocation)
    HD_MUST_CHECK;
/* A file descriptor of the caller's. */
enum hd_status core_allocation_export(struct core_allocation *allocation, int *out_fd)
    HD_MUST_CHECK;

/* Whose a reservation is: nobody else maps, unmaps or frees there. */
enum core_vmm_user { CORE_VMM_PROGRAM, CORE_VMM_GRAPHS };

/* Sizes, offsets, addresses of all these: multiples of CORE_VMM_GRANULE_B, else HD_BAD_ARG. */
enum hd_status core_vmm_reserve(enum core_vmm_user user, uint64_t size_B, uint64_t alignment_B,
                                uint64_t *out_va) HD_MUST_CHECK;
/* The whole of a reservation, with nothing mapped. HD_BAD_ARG. */
enum hd_status core_vmm_free(enum core_vmm_user user, uint64_t va, uint64_t size_B) HD_MUST_CHECK;
/* Into one reservation, where nothing is mapped yet. */
enum hd_status core_vmm_map(enum core_vmm_user user, struct core_allocation *allocation,
                            uint64_t va, uint64_t size_B, uint64_t offset_B) HD_MUST_CHECK;
/* Whole mappings, one behind the other. HD_BAD_ARG: nothing is changed. */
enum hd_status core_vmm_unmap(enum core_vmm_user user, uint64_t va, uint64_t size_B) HD_MUST_CHECK;
/* Whole mappings too. `who`: a device's ordinal or CORE_VMM_HOST. */
enum hd_status core_vmm_access_set(enum core_vmm_user user, uint64_t va, uint64_t size_B,
                                   unsigned who, enum core_vmm_access access) HD_MUST_CHECK;
enum hd_status core_vmm_access_get(uint64_t va, unsigned who, enum core_vmm_access *out_access)
    HD_MUST_CHECK;

#endif
