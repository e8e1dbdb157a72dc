/* Copies and fills: their checks, their packets, and the bytes that would go over a bus. */
#include "core/context.h"
#include "core/device.h"
#include "core/stream/copy.h"
#include "hal/packet.h"
#include "registry/registry.h"

/* From the first byte to the last; UINT64_MAX, which no check lets pass, when that overflows. */
static uint64_t span_B(uint64_t width_B, uint64_t height, uint64_t depth, uint64_t pitch_B,
                       uint64_t slice_B)
{
    uint64_t rows_B, slices_B, sum_B;

    if (!width_B || !height || !depth)
        return 0;
    if (__builtin_mul_overflow(height - 1, pitch_B, &rows_B) ||
        __builtin_mul_overflow(depth - 1, slice_B, &slices_B) ||
        __builtin_add_overflow(rows_B, slices_B, &sum_B) ||
        __builtin_add_overflow(sum_B, width_B, &sum_B))
        return UINT64_MAX;
    return sum_B;
}

enum hd_status core_copy_classify(const struct core_copy *c, enum core_mem_kind *out_dst,
                                  enum core_mem_kind *out_src)
{
    uint64_t dst_B = span_B(c->width_B, c->height, c->depth, c->dst_pitch_B, c->dst_slice_B);
    uint64_t src_B = span_B(c->width_B, c->height, c->depth, c->src_pitch_B, c->src_slice_B);

    *out_dst = *out_src = CORE_MEM_DEVICE;
    if (!dst_B)
        return HD_OK;
    if (c->height > 1 && (c->dst_pitch_B < c->width_B || c->src_pitch_B < c->width_B))
        return hd_error(HD_BAD_ARG, "copy: a pitch is below the width of %llu bytes",
                        (unsigned long long)c->width_B);
    HD_TRY(core_memory_classify(c->dst, dst_B, c->dst_is_device, out_dst));
    return core_memory_classify(c->src, src_B, c->src_is_device, out_src);
}

enum hd_status core_copy_check(const struct core_copy *copy)
{
    enum core_mem_kind dst, src;

    return core_copy_classify(copy, &dst, &src);
}

void core_copy_packet(const struct core_copy *c, union hal_packet *out_packet)
{
    *out_packet = (union hal_packet){.copy = {.head.op = HAL_OP_COPY,
                                              .dst = c->dst,
                                              .src = c->src,
                                              .width_B = c->width_B,
                                              .height = c->height,
                                              .depth = c->depth,
                                              .dst_pitch_B = c->dst_pitch_B,
                                              .src_pitch_B = c->src_pitch_B,
                                              .dst_slice_B = c->dst_slice_B,
                                              .src_slice_B = c->src_slice_B}};
}

static bool is_of_host(enum core_mem_kind kind)
{
    return kind == CORE_MEM_PAGEABLE || kind == CORE_MEM_HOST || kind == CORE_MEM_REGISTERED;
}

/* What would go over a bus. */
void core_copy_bytes_of(const struct core_copy *c, enum core_mem_kind dst, enum core_mem_kind src,
                        struct core_bus_bytes *bytes)
{
    if (is_of_host(dst) != is_of_host(src))
        *(is_of_host(src) ? &bytes->to_device_B : &bytes->to_host_B) +=
            c->width_B * c->height * c->depth;
}

void core_copy_add_bytes(const struct core_copy *c, struct core_bus_bytes *bytes)
{
    enum core_mem_kind dst, src;

    if (core_copy_classify(c, &dst, &src) == HD_OK)
        core_copy_bytes_of(c, dst, src, bytes);
}

void core_copy_count(const struct core_context *ctx, const struct core_bus_bytes *bytes)
{
    struct reg_use *use = ctx->device->use;

    if (bytes->to_device_B)
        reg_count(&use->to_device_B, bytes->to_device_B);
    if (bytes->to_host_B)
        reg_count(&use->to_host_B, bytes->to_host_B);
}

enum hd_status core_fill_classify(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                                  uint64_t height, enum core_mem_kind *out_kind)
{
    uint64_t width_B, size_B;

    if (__builtin_mul_overflow(width, elem_B, &width_B))
        width_B = UINT64_MAX;
    size_B = span_B(width_B, height, 1, pitch_B, 0);
    *out_kind = CORE_MEM_DEVICE;
    if (!size_B)
        return HD_OK;
    if (dst % elem_B || (height > 1 && pitch_B % elem_B))
        return hd_error(HD_BAD_ARG, "memset: 0x%llx is not aligned to %u bytes",
                        (unsigned long long)dst, elem_B);
    if (height > 1 && pitch_B < width_B)
        return hd_error(HD_BAD_ARG, "memset: the pitch is below the width");
    return core_memory_classify(dst, size_B, true, out_kind);
}

enum hd_status core_fill_check(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                               uint64_t height)
{
    enum core_mem_kind kind;

    return core_fill_classify(dst, pitch_B, elem_B, width, height, &kind);
}

void core_fill_packet(uint64_t dst, uint64_t pitch_B, uint32_t value, uint32_t elem_B,
                      uint64_t width, uint64_t height, union hal_packet *out_packet)
{
    *out_packet = (union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                              .dst = dst,
                                              .width = width,
                                              .height = height,
                                              .pitch_B = pitch_B,
                                              .value = value,
                                              .elem_B = elem_B}};
}
