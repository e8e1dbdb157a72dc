/* Green contexts, and what is done with all streams of one. */
#include "core/stream/green.h"

#include <assert.h>

#include "core/device.h"
#include "core/graph/capture.h"
#include "core/stream/event.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

_Static_assert(sizeof(struct core_sms) == sizeof(struct hal_sms), "the same set");

static _Atomic uint64_t next_id;

uint32_t core_sms_count(const struct core_sms *sms)
{
    uint32_t n = 0;

    for (size_t i = 0; i < HD_COUNT_OF(sms->bits); i++)
        n += (uint32_t)__builtin_popcountll(sms->bits[i]);
    return n;
}

/* ---- life */

static enum hd_status green_default_stream_make(struct core_green *green)
{
    struct core_stream *stream;

    HD_TRY(core_stream_create_green(green->ctx, green, 0, 0, &stream));
    green->default_stream = core_stream_handle(stream);
    core_stream_unref(stream);
    return HD_OK;
}

enum hd_status core_green_create(struct core_device *device, const struct core_sms *sms,
                                 uint32_t least, uint32_t multiple, struct core_green **out_green)
{
    struct core_green *green = core_handle_alloc(CORE_GREEN);
    enum hd_status status;

    assert(core_sms_count(sms) > 0);
    if (!green)
        return hd_error(HD_NO_MEMORY, "green context");
    green->id = atomic_fetch_add(&next_id, 1) + 1;
    green->sms = *sms;
    green->nsms = core_sms_count(sms);
    green->least = least;
    green->multiple = multiple;
    status = core_primary_retain(device, &green->ctx);
    if (status == HD_OK) {
        green->ctx_id = green->ctx->id;
        status = green_default_stream_make(green);
        if (status != HD_OK)
            (void)!core_primary_release(device);
    }
    if (status != HD_OK) {
        core_green_unref(green);
        return status;
    }
    core_object_publish(&green->object);
    *out_green = core_green_ref(green);
    return HD_OK;
}

/* Of a context that was reset or destroyed it is gone already. */
static void green_default_stream_destroy(struct core_green *green)
{
    struct core_stream *stream = core_stream_lookup(green->default_stream);

    if (stream)
        (void)core_stream_destroy(stream);
    core_stream_unref(stream);
}

bool core_green_destroy(struct core_green *green)
{
    struct core_device *device = green->ctx->device;

    if (!core_object_retire(&green->object))
        return false;
    green_default_stream_destroy(green);
    /* A program that released more than it retained has ended the context already. */
    if (core_context_is_live(green->ctx) && core_primary_release(device) != HD_OK)
        hd_error_clear();
    core_green_unref(green);
    return true;
}

void core_green_finalise(struct core_green *green)
{
    struct core_context *ctx = green->ctx;

    core_handle_free(green);
    core_context_unref(ctx);
}

bool core_green_is_usable(const struct core_green *green)
{
    return core_green_is_live(green) && core_context_is_live(green->ctx) &&
           green->ctx->id == green->ctx_id;
}

/* ---- as a context */

void *core_green_context_handle(const struct core_green *green)
{
    return (char *)core_green_handle(green) + 1;
}

struct core_context *core_context_find(const void *handle, struct core_green **out_green)
{
    struct core_green *green = NULL;
    struct core_context *ctx;

    if (((uintptr_t)handle & 15) != 1) {
        if (out_green)
            *out_green = NULL;
        return core_context_lookup(handle);
    }
    green = core_green_lookup((const void *)((uintptr_t)handle - 1)); /* which may be nothing */
    if (!green || !core_green_is_usable(green)) {
        core_green_unref(green);
        return NULL;
    }
    ctx = core_context_ref(green->ctx);
    if (out_green)
        *out_green = green;
    else
        core_green_unref(green);
    return ctx;
}

/* ---- all streams at once */

/* Places in queues, which live as long as the context. */
struct positions {
    HD_VEC(struct core_gate) vec;
};

static enum hd_status green_position_note(struct positions *positions, struct hal_queue *queue)
{
    struct core_gate position = {queue, hal_queue_submitted(queue)};

    if (hal_queue_is_idle(queue) || hd_vec_push(&positions->vec, position))
        return HD_OK;
    return hd_error(HD_NO_MEMORY, "list of busy streams");
}

static enum hd_status green_positions_note_locked(struct positions *positions,
                                                  const struct core_green *green,
                                                  const struct core_stream *list)
{
    enum hd_status status = HD_OK;

    for (; list && status == HD_OK; list = list->next)
        if (!green || list->green == green)
            status = green_position_note(positions, list->queue);
    return status;
}

/* Where the streams are now. */
static enum hd_status green_positions_note(struct positions *positions, struct core_context *ctx,
                                           const struct core_green *green)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&ctx->lock);
    if (!green)
        status = green_position_note(positions, ctx->legacy->queue);
    if (status == HD_OK)
        status = green_positions_note_locked(positions, green, ctx->streams);
    if (status == HD_OK)
        status = green_positions_note_locked(positions, green, ctx->draining_streams);
    hd_lock_release(&ctx->lock);
    return status;
}

enum hd_status core_green_synchronize(struct core_green *green)
{
    struct hal_device *hal = green->ctx->device->hal;
    struct positions positions = {0};
    enum hd_status status = green_positions_note(&positions, green->ctx, green);

    for (size_t i = 0; i < positions.vec.len && status == HD_OK; i++)
        status = hal->ops->wait(hal, &positions.vec.at[i].queue->ring->retired,
                                positions.vec.at[i].position, UINT64_MAX);
    hd_vec_fini(&positions.vec);
    hal->ops->printf_flush(green->ctx->domain);
    return status == HD_OK ? core_context_status(green->ctx) : status;
}

static enum hd_status green_wait_for(struct core_stream *stream, const struct core_gate *position)
{
    union hal_packet wait = core_wait_packet(position->queue, position->position);

    return core_stream_submit(stream, &wait, 1, NULL, 0, NULL);
}

/* An event is a place in one queue: in that of a stream which waits for all the others. */
static enum hd_status green_record_through(struct core_stream *helper, struct core_green *green,
                                           struct core_event *event)
{
    struct positions positions = {0};
    enum hd_status status = green_positions_note(&positions, helper->ctx, green);

    for (size_t i = 0; i < positions.vec.len && status == HD_OK; i++)
        if (positions.vec.at[i].queue != helper->queue)
            status = green_wait_for(helper, &positions.vec.at[i]);
    hd_vec_fini(&positions.vec);
    return status == HD_OK ? core_event_record(event, helper, false) : status;
}

static enum hd_status green_helper_make(struct core_context *ctx, struct core_green *green,
                                        struct core_stream **out_helper)
{
    if (core_capture_any())
        HD_TRY(core_capture_refuse_context(ctx));
    return core_stream_create_green(ctx, green, CORE_STREAM_NON_BLOCKING, 0, out_helper);
}

static void green_helper_done(struct core_stream *helper)
{
    (void)core_stream_destroy(helper);
    core_stream_unref(helper);
}

enum hd_status core_streams_record(struct core_context *ctx, struct core_green *green,
                                   struct core_event *event)
{
    struct core_stream *helper;
    enum hd_status status;

    assert(event->ctx == ctx);
    HD_TRY(green_helper_make(ctx, green, &helper));
    status = green_record_through(helper, green, event);
    green_helper_done(helper);
    return status;
}

/* ---- waiting */

struct streams {
    HD_VEC(struct core_stream *) vec;
};

/* Closes the gate for streams to come, and takes those that there are, with references. */
static enum hd_status green_gate_close(struct core_context *ctx, struct core_green *green,
                                       const struct core_gate *gate, struct streams *streams)
{
    bool is_complete = true;

    hd_lock_acquire(&ctx->lock);
    *(green ? &green->gate : &ctx->gate) = *gate;
    for (struct core_stream *s = ctx->streams; s && is_complete; s = s->next) {
        if ((green && s->green != green) || s->queue == gate->queue)
            continue;
        is_complete = hd_vec_reserve(&streams->vec, streams->vec.len + 1);
        if (is_complete && core_stream_ref_live(s))
            streams->vec.at[streams->vec.len++] = s;
    }
    hd_lock_release(&ctx->lock);
    return is_complete ? HD_OK : hd_error(HD_NO_MEMORY, "list of streams");
}

static enum hd_status green_wait_through(struct core_stream *helper, struct core_green *green,
                                         struct core_event *event)
{
    struct core_context *ctx = helper->ctx;
    struct core_gate gate = {.queue = helper->queue};
    struct streams streams = {0};
    enum hd_status status;

    HD_TRY(core_event_wait(helper, event, false));
    HD_TRY(core_stream_mark(helper, &gate.position));
    status = green_gate_close(ctx, green, &gate, &streams);
    if (status == HD_OK && !green)
        status = green_wait_for(ctx->legacy, &gate);
    for (size_t i = 0; i < streams.vec.len; i++) {
        if (status == HD_OK)
            status = green_wait_for(streams.vec.at[i], &gate);
        core_stream_unref(streams.vec.at[i]);
    }
    hd_vec_fini(&streams.vec);
    return status;
}

enum hd_status core_streams_wait(struct core_context *ctx, struct core_green *green,
                                 struct core_event *event)
{
    struct core_stream *helper;
    enum hd_status status;

    if (core_capture_any() || atomic_load(&event->point))
        HD_TRY(core_capture_refuse_event(event));
    HD_TRY(green_helper_make(ctx, green, &helper));
    status = green_wait_through(helper, green, event);
    green_helper_done(helper);
    return status;
}
