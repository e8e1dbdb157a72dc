/* Copies and fills: checks, packets, and when the host has to wait. */
#include "core/graph/capture.h"
#include "hal/hal.h"

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

/*
 * Host memory that the device does not know may be changed or freed by the program as soon as an
 * asynchronous call returns, so such copies are complete by then.
 */
static bool must_wait(bool async, enum core_mem_kind dst, enum core_mem_kind src)
{
    if (dst == CORE_MEM_PAGEABLE || src == CORE_MEM_PAGEABLE)
        return true;
    /* Device to device, nobody on the host can tell; anything with host memory is synchronous. */
    return !async && (dst != CORE_MEM_DEVICE || src != CORE_MEM_DEVICE);
}

enum { CTX_SYNC_MEMOPS = 128 }; /* CU_CTX_SYNC_MEMOPS */

/* The program wants to wait for what is in the device as well. */
static bool is_synchronous(const struct core_stream *stream, uint64_t va)
{
    struct core_block block;

    return atomic_load_explicit(&stream->ctx->flags, memory_order_relaxed) & CTX_SYNC_MEMOPS ||
           (core_memory_find(va, &block) && block.is_synchronous);
}

static enum hd_status copy_classify(const struct core_copy *c, enum core_mem_kind *out_dst,
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

    return copy_classify(copy, &dst, &src);
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

static enum hd_status copy_capture(struct core_stream *stream, const struct core_copy *c)
{
    struct core_body body;

    if (!c->async)
        return core_capture_refuse_stream(stream);
    HD_TRY(core_body_copy(stream->ctx, c, NULL, &body));
    return core_capture_add(stream, &body);
}

/* The stream goes on after all that a legacy stream, of another context, was given so far. */
static enum hd_status follow(struct core_stream *stream, struct core_stream *legacy)
{
    struct core_event *event;
    enum hd_status status;

    HD_TRY(core_event_create(legacy->ctx, CORE_EVENT_DISABLE_TIMING, &event));
    status = core_event_record(event, legacy, false);
    if (status == HD_OK)
        status = core_event_wait(stream, event, false);
    core_event_destroy(event);
    core_event_unref(event);
    return status;
}

/*
 * A copy between two devices in the legacy stream begins after everything that either was given
 * before, and both go on after it (CUDA C++ Programming Guide, Peer-to-Peer Memory Copy).
 */
static enum hd_status submit_between(struct core_stream *stream, const struct core_copy *c,
                                     union hal_packet *p)
{
    uint64_t at[] = {c->dst, c->src};
    struct core_context *peers[HD_COUNT_OF(at)] = {NULL};
    enum hd_status status = HD_OK;

    for (size_t i = 0; i < HD_COUNT_OF(at); i++) {
        peers[i] = core_memory_peer(at[i], stream->ctx);
        if (peers[i] && status == HD_OK)
            status = follow(stream, peers[i]->legacy);
    }
    if (status == HD_OK)
        status = core_stream_submit(stream, p, 1, NULL, 0, NULL);
    for (size_t i = 0; i < HD_COUNT_OF(at); i++) {
        if (peers[i] && status == HD_OK)
            status = follow(peers[i]->legacy, stream);
        core_context_unref(peers[i]);
    }
    return status;
}

static bool is_of_host(enum core_mem_kind kind)
{
    return kind == CORE_MEM_PAGEABLE || kind == CORE_MEM_HOST || kind == CORE_MEM_REGISTERED;
}

/* What would go over a bus. */
static void add_bytes(const struct core_copy *c, enum core_mem_kind dst, enum core_mem_kind src,
                      struct core_bus_bytes *bytes)
{
    if (is_of_host(dst) != is_of_host(src))
        *(is_of_host(src) ? &bytes->to_device_B : &bytes->to_host_B) +=
            c->width_B * c->height * c->depth;
}

void core_copy_add_bytes(const struct core_copy *c, struct core_bus_bytes *bytes)
{
    enum core_mem_kind dst, src;

    if (copy_classify(c, &dst, &src) == HD_OK)
        add_bytes(c, dst, src, bytes);
}

void core_copy_count(const struct core_context *ctx, const struct core_bus_bytes *bytes)
{
    struct reg_use *use = ctx->device->use;

    if (bytes->to_device_B)
        reg_count(&use->to_device_B, bytes->to_device_B);
    if (bytes->to_host_B)
        reg_count(&use->to_host_B, bytes->to_host_B);
}

enum hd_status core_copy(struct core_stream *stream, const struct core_copy *c)
{
    struct core_bus_bytes bytes = {0};
    enum core_mem_kind dst, src;
    union hal_packet p;

    if (core_stream_is_capturing(stream))
        return copy_capture(stream, c);
    HD_TRY(core_capture_check_stream(stream)); /* also for nothing to copy */
    HD_TRY(copy_classify(c, &dst, &src));
    if (!c->width_B || !c->height || !c->depth)
        return HD_OK;
    core_copy_packet(c, &p);
    add_bytes(c, dst, src, &bytes);
    core_copy_count(stream->ctx, &bytes);
    if (stream == stream->ctx->legacy && core_device_count() > 1)
        HD_TRY(submit_between(stream, c, &p));
    else
        HD_TRY(core_stream_submit(stream, &p, 1, NULL, 0, NULL));
    if (must_wait(c->async, dst, src) ||
        (!c->async && (is_synchronous(stream, c->dst) || is_synchronous(stream, c->src))))
        return core_stream_synchronize(stream);
    return HD_OK;
}

static enum hd_status fill_classify(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
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

    return fill_classify(dst, pitch_B, elem_B, width, height, &kind);
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

static enum hd_status fill_capture(struct core_stream *stream, const struct core_body_fill *fill,
                                   bool async)
{
    struct core_body body;

    if (!async)
        return core_capture_refuse_stream(stream);
    HD_TRY(core_body_fill(stream->ctx, fill, &body));
    return core_capture_add(stream, &body);
}

enum hd_status core_fill(struct core_stream *stream, uint64_t dst, uint64_t pitch_B, uint32_t value,
                         uint32_t elem_B, uint64_t width, uint64_t height, bool async)
{
    enum core_mem_kind kind;
    union hal_packet p;

    if (core_stream_is_capturing(stream))
        return fill_capture(
            stream, &(struct core_body_fill){NULL, dst, pitch_B, value, elem_B, width, height},
            async);
    HD_TRY(core_capture_check_stream(stream));
    HD_TRY(fill_classify(dst, pitch_B, elem_B, width, height, &kind));
    if (!width || !height)
        return HD_OK;
    core_fill_packet(dst, pitch_B, value, elem_B, width, height, &p);
    HD_TRY(core_stream_submit(stream, &p, 1, NULL, 0, NULL));
    /* Memory that the host can see is filled when a synchronous call returns. */
    if (!async && (kind != CORE_MEM_DEVICE || is_synchronous(stream, dst)))
        return core_stream_synchronize(stream);
    return HD_OK;
}
