/* Between copy.c, which submits copies and fills, and copy_packet.c, which checks them. */
#ifndef HD_CORE_STREAM_COPY_H
#define HD_CORE_STREAM_COPY_H

#include "core/core.h"

/* Checks, and says what memory both sides are: CORE_MEM_DEVICE when there is nothing to copy. */
enum hd_status core_copy_classify(const struct core_copy *c, enum core_mem_kind *out_dst,
                                  enum core_mem_kind *out_src) HD_MUST_CHECK;
enum hd_status core_fill_classify(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                                  uint64_t height, enum core_mem_kind *out_kind) HD_MUST_CHECK;
/* Adds what would go over a bus. */
void core_copy_bytes_of(const struct core_copy *c, enum core_mem_kind dst, enum core_mem_kind src,
                        struct core_bus_bytes *bytes);

#endif
