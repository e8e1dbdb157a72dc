/*
 * Multicast objects: a range of bytes that several devices have a replica of each. Kernels access
 * all replicas at once, by multimem instructions at addresses where the object is mapped (vmm.h),
 * which nothing else can access. Why so: docs/decisions/0097-multicast.md.
 *
 * An object is a core_allocation without memory of its own. Memory that is bound to it is mapped a
 * second time, where only devices know; so it stays whatever becomes of the program's mappings and
 * handles. Memory that is bound by its address and has no handle (pools) is taken where it is.
 *
 * Threads: core_memory_lock.
 */
#ifndef HD_CORE_MEM_MULTICAST_H
#define HD_CORE_MEM_MULTICAST_H

#include "core/mem/vmm.h"

struct ir_replicas;

struct core_multicast_what {
    unsigned devices; /* that have to be added before anything is bound or mapped */
    uint64_t size_B;
    bool shareable;
};

/* Held once. HD_BAD_ARG, HD_NO_MEMORY. */
enum hd_status core_multicast_create(const struct core_multicast_what *what,
                                     struct core_allocation **out_object) HD_MUST_CHECK;
/* HD_BAD_ARG: it belongs to it already, or all have been added. */
enum hd_status core_multicast_add(struct core_allocation *object, struct core_device *device)
    HD_MUST_CHECK;
/* Blocks until all devices have been added, as CUDA documents it. */
void core_multicast_wait(struct core_allocation *object);
/*
 * The memory's device gets it as its replica of [offset_B, offset_B + size_B). All multiples of
 * CORE_VMM_GRANULE_B. Waits. HD_BAD_ARG, HD_NO_MEMORY, HD_NO_DEVICE_MEMORY.
 */
enum hd_status core_multicast_bind(struct core_allocation *object, uint64_t offset_B,
                                   struct core_allocation *memory, uint64_t memory_offset_B,
                                   uint64_t size_B) HD_MUST_CHECK;
enum hd_status core_multicast_bind_address(struct core_allocation *object, uint64_t offset_B,
                                           uint64_t va, uint64_t size_B) HD_MUST_CHECK;
/* What was bound so, or several that together cover the range. HD_BAD_ARG. */
enum hd_status core_multicast_unbind(struct core_allocation *object, struct core_device *device,
                                     uint64_t offset_B, uint64_t size_B) HD_MUST_CHECK;

/* A descriptor of the caller's. HD_NOT_SUPPORTED: the object is not shareable. */
enum hd_status core_multicast_export(struct core_allocation *object, int *out_fd) HD_MUST_CHECK;
/* HD_NOT_FOUND, without a message: it is no multicast object's. HD_NOT_SUPPORTED: another
 * process's. With a reference, held once more. */
enum hd_status core_multicast_import(int fd, struct core_allocation **out_object) HD_MUST_CHECK;

/* hal_client_ops.replicas and .program_replicas. Both take a lock. */
bool core_multicast_find(uint64_t va, struct ir_replicas *out_replicas);
bool core_multicast_find_programs(uint64_t va, struct ir_replicas *out_replicas);

/* Of the object's end: nothing is mapped, nobody has its handle. */
void core_multicast_destroy(struct core_multicast *multicast);

#endif
