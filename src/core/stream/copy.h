/*
 * Copies and fills (copy.c), and their parts for graphs (copy_packet.c).
 */
#ifndef HD_CORE_STREAM_COPY_H
#define HD_CORE_STREAM_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem/memory.h"

struct core_context;
struct core_stream;
union hal_packet;

/* A box of bytes; pitches and slices 0 for 1D. Checks both ranges. */
struct core_copy {
    uint64_t dst, src;
    uint64_t width_B, height, depth;
    uint64_t dst_pitch_B, src_pitch_B, dst_slice_B, src_slice_B;
    bool dst_is_device, src_is_device; /* must be memory of ours */
    bool async;                        /* the caller asked for an asynchronous copy */
    bool names_array;                  /* one side is a CUDA array */
};
enum hd_status core_copy(struct core_stream *stream, const struct core_copy *copy) HD_MUST_CHECK;
enum hd_status core_fill(struct core_stream *stream, uint64_t dst, uint64_t pitch_B, uint32_t value,
                         uint32_t elem_B, uint64_t width, uint64_t height, bool async)
    HD_MUST_CHECK;

/* Their parts, as for launches. */
enum hd_status core_copy_check(const struct core_copy *copy) HD_MUST_CHECK;
void core_copy_packet(const struct core_copy *copy, union hal_packet *out_packet);
/* Bytes that go from host memory to a device's, and back. */
struct core_bus_bytes {
    uint64_t to_device_B, to_host_B;
};
void core_copy_add_bytes(const struct core_copy *copy, struct core_bus_bytes *bytes);
/* They are copied now: other processes see it. */
void core_copy_count(const struct core_context *ctx, const struct core_bus_bytes *bytes);
enum hd_status core_fill_check(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                               uint64_t height) HD_MUST_CHECK;
void core_fill_packet(uint64_t dst, uint64_t pitch_B, uint32_t value, uint32_t elem_B,
                      uint64_t width, uint64_t height, union hal_packet *out_packet);

/* ---- between copy.c and copy_packet.c */

/* Checks, and says what memory both sides are: CORE_MEM_DEVICE when there is nothing to copy. */
enum hd_status core_copy_classify(const struct core_copy *c, enum core_mem_kind *out_dst,
                                  enum core_mem_kind *out_src) HD_MUST_CHECK;
enum hd_status core_fill_classify(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                                  uint64_t height, enum core_mem_kind *out_kind) HD_MUST_CHECK;
/* Adds what would go over a bus. */
void core_copy_bytes_of(const struct core_copy *c, enum core_mem_kind dst, enum core_mem_kind src,
                        struct core_bus_bytes *bytes);

#endif
