/*
 * Device memory as all devices see it: an object of the device that owns it, imported by each other
 * device whose grids run in another process (hal_device_info.is_elsewhere), where it is mapped at
 * the same addresses. Devices of this process see what is mapped here. (docs/decisions/0144)
 */
#ifndef HD_CORE_MEM_BACKING_H
#define HD_CORE_MEM_BACKING_H

#include "hal/hal.h"

struct core_backing;

/* Of `size_B` bytes. Shareable: can be exported. Errors: those of mem_create and mem_import. */
enum hd_status core_backing_create(struct hal_device *owner, uint64_t size_B, bool shareable,
                                   struct core_backing **out_backing) HD_MUST_CHECK;
/* What another process exported. The descriptor stays the caller's. */
enum hd_status core_backing_import(struct hal_device *owner, int fd,
                                   struct core_backing **out_backing) HD_MUST_CHECK;
/* A descriptor of the caller's. */
enum hd_status core_backing_export(struct core_backing *backing, int *out_fd) HD_MUST_CHECK;
void core_backing_destroy(struct core_backing *backing);
uint64_t core_backing_size(const struct core_backing *backing);

/* For every device, or none. */
enum hd_status core_backing_map(struct core_backing *backing, uint64_t va, uint64_t offset_B,
                                uint64_t size_B, enum hal_prot prot) HD_MUST_CHECK;
void core_backing_unmap(struct core_backing *backing, uint64_t va, uint64_t size_B);
void core_backing_discard(struct core_backing *backing, uint64_t offset_B, uint64_t size_B);

#endif
