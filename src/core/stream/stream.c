/*
 * Streams: a queue each (stream_queue.c), and what a program sets of one. Their order is in
 * stream_order.c, how they get work in stream_submit.c.
 */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/notify.h"
#include "core/stream/green.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

/* ---- life */

static enum hd_status gate_pass_locked(struct core_stream *stream, const struct core_gate *gate)
{
    union hal_packet wait;

    if (!gate->queue || hal_queue_retired(gate->queue) >= gate->position)
        return HD_OK;
    wait = core_wait_packet(gate->queue, gate->position);
    return core_stream_submit_locked(stream, &wait, 1);
}

/* A context's first stream is its legacy stream, which is in no list. */
static enum hd_status stream_open_locked(struct core_context *ctx, struct core_stream *stream)
{
    assert(hd_lock_held(&ctx->lock));
    if (ctx->closing)
        return hd_error(HD_BAD_ARG, "the context was destroyed");
    HD_TRY(core_queue_take_locked(ctx, stream->priority, &stream->queue));
    if (stream->green)
        core_queue_limit(stream->queue, ctx->device, stream->green);
    stream->id = ++ctx->next_id;
    stream->queue->context_id = ctx->id;
    stream->queue->stream_id = stream->id;
    stream->queue->ordinal = (uint32_t)ctx->device->ordinal;
    if (ctx->legacy) {
        core_context_ref(ctx);
        hd_list_push(&ctx->streams, stream);
        if (core_stream_is_blocking(stream))
            atomic_fetch_add(&ctx->nblocking, 1);
    }
    /* A new stream waits for what all streams were made to wait for. Never blocks: it is empty. */
    enum hd_status status;
    hd_lock_acquire(&stream->lock);
    status = gate_pass_locked(stream, &ctx->gate);
    if (status == HD_OK && stream->green)
        status = gate_pass_locked(stream, &stream->green->gate);
    hd_lock_release(&stream->lock);
    return status;
}

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream)
{
    return core_stream_create_green(ctx, NULL, flags, priority, out_stream);
}

uint32_t core_stream_sms(const struct core_stream *stream)
{
    return stream->green ? stream->green->nsms : (uint32_t)stream->ctx->device->units;
}

/* As taps have them. */
static uint32_t tap_flags(const struct core_stream *stream)
{
    return (stream->flags & CORE_STREAM_NON_BLOCKING ? HEDDLE_STREAM_NON_BLOCKING : 0) |
           (stream->flags & CORE_STREAM_PER_THREAD ? HEDDLE_STREAM_PER_THREAD : 0) |
           (stream->is_default ? HEDDLE_STREAM_DEFAULT : 0);
}

enum hd_status core_stream_create_green(struct core_context *ctx, struct core_green *green,
                                        unsigned flags, int priority,
                                        struct core_stream **out_stream)
{
    struct core_stream *stream = core_handle_alloc(CORE_STREAM);
    enum hd_status status;

    if (!stream)
        return hd_error(HD_NO_MEMORY, "stream");
    hd_lock_init(&stream->lock, HD_RANK_STREAM, "stream");
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    if (green) {
        /* Of a green context the first stream is its default stream. */
        struct core_stream *home = core_stream_lookup(green->default_stream);

        stream->green = core_green_ref(green);
        stream->home = home;
        stream->is_default = !green->default_stream;
    }
    hd_lock_acquire(&ctx->lock);
    status = stream_open_locked(ctx, stream);
    if (status == HD_OK)
        core_object_publish(&stream->object);
    if (status == HD_OK && ctx->legacy)
        *out_stream = core_stream_ref(stream);
    else if (status == HD_OK)
        *out_stream = stream; /* the owner's reference */
    hd_lock_release(&ctx->lock);
    if (status != HD_OK)
        core_stream_unref(stream);
    else if (tap_wants(HEDDLE_KIND(OBJECT)) && !core_stream_is_legacy(stream) && ctx->legacy)
        core_notify_stream(ctx, core_stream_handle(stream), tap_flags(stream));
    return status;
}

bool core_stream_destroy(struct core_stream *stream)
{
    assert(!core_stream_is_legacy(stream));
    if (!core_object_retire(&stream->object))
        return false;
    core_capture_abandon(stream);
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_STREAM, stream->ctx, core_stream_handle(stream), true);
    core_stream_unref(stream);
    return true;
}

void core_stream_finalise(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;
    bool has_ctx = !core_stream_is_legacy(stream);

    core_capture_abandon(stream); /* a call may have begun one after it was destroyed */
    core_capture_stream_fini(stream);
    core_stream_unref(stream->home);
    core_green_unref(stream->green); /* the pointer stays, to be compared */
    if (!stream->queue) {            /* was never opened */
        hd_lock_fini(&stream->lock);
        core_handle_free(stream);
        return;
    }
    hd_lock_acquire(&ctx->lock);
    assert(has_ctx == (stream->link != NULL));
    if (has_ctx) {
        hd_list_remove(stream);
        core_streams_reap_locked(ctx);
    }
    core_stream_drain_locked(stream);
    hd_lock_release(&ctx->lock);
    if (has_ctx)
        core_context_unref(ctx);
}

/* ---- attributes */

enum hd_status core_stream_attribute_set(struct core_stream *stream, unsigned number,
                                         const void *value)
{
    bool made;

    assert(number < CORE_STREAM_ATTRIBUTE_MAX);
    hd_lock_acquire(&stream->lock);
    if (!stream->attributes)
        stream->attributes =
            hd_alloc_array(CORE_STREAM_ATTRIBUTE_MAX, sizeof(stream->attributes[0]));
    made = stream->attributes != NULL;
    if (made)
        memcpy(stream->attributes[number], value, CORE_STREAM_ATTRIBUTE_B);
    hd_lock_release(&stream->lock);
    return made ? HD_OK : hd_error(HD_NO_MEMORY, "stream attributes");
}

void core_stream_attribute_get(struct core_stream *stream, unsigned number, void *out_value)
{
    assert(number < CORE_STREAM_ATTRIBUTE_MAX);
    hd_lock_acquire(&stream->lock);
    if (stream->attributes)
        memcpy(out_value, stream->attributes[number], CORE_STREAM_ATTRIBUTE_B);
    else
        memset(out_value, 0, CORE_STREAM_ATTRIBUTE_B);
    hd_lock_release(&stream->lock);
}

enum hd_status core_stream_attributes_copy(struct core_stream *to, struct core_stream *from)
{
    uint8_t value[CORE_STREAM_ATTRIBUTE_B];

    /* One by one: two streams' locks are never held together. */
    for (unsigned i = 0; i < CORE_STREAM_ATTRIBUTE_MAX; i++) {
        core_stream_attribute_get(from, i, value);
        HD_TRY(core_stream_attribute_set(to, i, value));
    }
    return HD_OK;
}

/* ---- host functions */

enum hd_status core_stream_host(struct core_stream *stream, void (*func)(void *), void *arg)
{
    struct core_body body = core_body_host(func, arg);

    if (core_stream_is_capturing(stream))
        return core_capture_add(stream, &body);
    return core_stream_call(stream, func, arg, false);
}
