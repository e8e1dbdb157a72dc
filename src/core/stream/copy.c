/* Copies and fills in streams, and when the host has to wait. */
#include "core/context.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/stream/copy.h"
#include "core/stream/event.h"
#include "hal/hal.h"

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

enum hd_status core_copy(struct core_stream *stream, const struct core_copy *c)
{
    struct core_bus_bytes bytes = {0};
    enum core_mem_kind dst, src;
    union hal_packet p;

    if (core_stream_is_capturing(stream)) {
        struct core_body body;

        if (!c->async)
            return core_capture_refuse_stream(stream);
        HD_TRY(core_body_copy(stream->ctx, c, NULL, &body));
        return core_capture_add(stream, &body);
    }
    HD_TRY(core_capture_check_stream(stream)); /* also for nothing to copy */
    HD_TRY(core_copy_classify(c, &dst, &src));
    if (!c->width_B || !c->height || !c->depth)
        return HD_OK;
    core_copy_packet(c, &p);
    core_copy_bytes_of(c, dst, src, &bytes);
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

enum hd_status core_fill(struct core_stream *stream, uint64_t dst, uint64_t pitch_B, uint32_t value,
                         uint32_t elem_B, uint64_t width, uint64_t height, bool async)
{
    enum core_mem_kind kind;
    union hal_packet p;

    if (core_stream_is_capturing(stream)) {
        const struct core_body_fill *fill =
            &(struct core_body_fill){NULL, dst, pitch_B, value, elem_B, width, height};
        struct core_body body;

        if (!async)
            return core_capture_refuse_stream(stream);
        HD_TRY(core_body_fill(stream->ctx, fill, &body));
        return core_capture_add(stream, &body);
    }
    HD_TRY(core_capture_check_stream(stream));
    HD_TRY(core_fill_classify(dst, pitch_B, elem_B, width, height, &kind));
    if (!width || !height)
        return HD_OK;
    core_fill_packet(dst, pitch_B, value, elem_B, width, height, &p);
    HD_TRY(core_stream_submit(stream, &p, 1, NULL, 0, NULL));
    /* Memory that the host can see is filled when a synchronous call returns. */
    if (!async && (kind != CORE_MEM_DEVICE || is_synchronous(stream, dst)))
        return core_stream_synchronize(stream);
    return HD_OK;
}
