/*
 * The order that CUDA promises between the legacy default stream and the blocking ones. It is made
 * of WAIT packets on other queues' `retired`, only where something is unfinished.
 */
#include <assert.h>

#include "core/stream/stream_parts.h"
#include "hal/hal.h"

#define MAX_WAITS 64 /* in front of one submission; more are submitted separately */

/* 8 KiB: only what is used is written. */
struct waits {
    unsigned n;
    union hal_packet packets[MAX_WAITS];
};

static enum hd_status waits_submit_locked(struct core_stream *legacy, struct waits *waits)
{
    unsigned n = waits->n;

    waits->n = 0;
    return n ? core_stream_submit_locked(legacy, waits->packets, n) : HD_OK;
}

/* Waits for what the streams of a list were given so far. */
static enum hd_status waits_add_locked(struct core_stream *legacy, struct waits *waits,
                                       struct core_stream *list)
{
    for (struct core_stream *s = list; s; s = s->next) {
        uint64_t position = hal_queue_submitted(s->queue);

        if (!core_stream_is_blocking(s) || s == legacy || core_stream_default(s) != legacy ||
            atomic_load(&s->waited_by_legacy) >= position ||
            hal_queue_retired(s->queue) >= position || hal_inside_queue(s->queue, position))
            continue;
        atomic_store(&s->waited_by_legacy, position);
        waits->packets[waits->n++] = core_wait_packet(s->queue, position);
        if (waits->n == MAX_WAITS)
            HD_TRY(waits_submit_locked(legacy, waits));
    }
    return HD_OK;
}

enum hd_status core_order_legacy_acquire(struct core_stream *legacy)
{
    struct core_context *ctx = legacy->ctx;
    struct waits waits;
    enum hd_status status;

    assert(core_stream_is_default(legacy));
    waits.n = 0;
    hd_lock_acquire(&ctx->lock);
    hd_lock_acquire(&legacy->lock);
    status = waits_add_locked(legacy, &waits, ctx->streams);
    if (status == HD_OK)
        status = waits_add_locked(legacy, &waits, ctx->draining_streams);
    if (status == HD_OK)
        status = waits_submit_locked(legacy, &waits);
    core_streams_reap_locked(ctx);
    hd_lock_release(&ctx->lock);
    return status;
}

/* A blocking stream waits for what the legacy stream was given so far. */
static enum hd_status order_blocking_locked(struct core_stream *stream)
{
    struct hal_queue *legacy = core_stream_default(stream)->queue;
    uint64_t position = hal_queue_submitted(legacy);
    union hal_packet wait;

    assert(hd_lock_held(&stream->lock));
    if (stream->legacy_waited >= position || hal_queue_retired(legacy) >= position ||
        hal_inside_queue(legacy, position))
        return HD_OK;
    stream->legacy_waited = position;
    wait = core_wait_packet(legacy, position);
    return core_stream_submit_locked(stream, &wait, 1);
}

enum hd_status core_order_acquire(struct core_stream *stream)
{
    bool legacy = core_stream_is_default(stream);

    if (legacy && atomic_load(&stream->ctx->nblocking))
        return core_order_legacy_acquire(stream);
    hd_lock_acquire(&stream->lock);
    return legacy || !core_stream_is_blocking(stream) ? HD_OK : order_blocking_locked(stream);
}
