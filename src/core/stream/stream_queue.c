/* Queues of streams: a context has them, streams take them and give them back, packets go in. */
#include <assert.h>

#include "base/mem.h"
#include "core/device.h"
#include "core/stream/green.h"
#include "core/stream/retire.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

void core_queue_limit(struct hal_queue *queue, const struct core_device *device,
                      const struct core_green *green)
{
    struct hal_sms sms = {0};

    if (!green && device->parts == 1) {
        hal_queue_sms_set(queue, NULL);
        return;
    }
    for (uint32_t sm = 0; sm < (uint32_t)device->units; sm++)
        if (!green || core_sms_has(&green->sms, sm))
            hal_sms_add(&sms, device->sm_first + sm);
    hal_queue_sms_set(queue, &sms);
}

enum hd_status core_queue_take_locked(struct core_context *ctx, int priority,
                                      struct hal_queue **out_queue)
{
    struct hal_device *hal = ctx->device->hal;

    assert(hd_lock_held(&ctx->lock));
    priority = HD_MIN(0, HD_MAX(priority, hal->info.priority_greatest));
    for (size_t i = 0; i < ctx->idle_queues.len; i++) {
        struct hal_queue *queue = ctx->idle_queues.at[i];

        if (hal_queue_is_idle(queue) && queue->priority == priority) {
            *out_queue = queue;
            core_retire_settle(); /* its stamps are read before it is used again */
            queue->depth = 0;
            core_queue_limit(queue, ctx->device, NULL);
            ctx->idle_queues.at[i] = hd_vec_last(&ctx->idle_queues);
            ctx->idle_queues.len--;
            return HD_OK;
        }
    }
    /* Room for its return, so that finalising a stream cannot fail. */
    if (!hd_vec_reserve(&ctx->idle_queues, ctx->nqueues + 1))
        return hd_error(HD_NO_MEMORY, "stream");
    HD_TRY(hal->ops->queue_create(ctx->domain, priority, out_queue));
    core_queue_limit(*out_queue, ctx->device, NULL);
    ctx->nqueues++;
    return HD_OK;
}

void core_queue_give_locked(struct core_context *ctx, struct hal_queue *queue)
{
    assert(hd_lock_held(&ctx->lock));
    assert(ctx->idle_queues.len < ctx->nqueues);
    if (!hd_vec_push(&ctx->idle_queues, queue))
        assert(!"there is room for every queue");
}

/* ---- packets */

union hal_packet core_wait_packet(struct hal_queue *queue, uint64_t position)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = position}};

    p.sem.address = (uintptr_t)&queue->ring->retired;
    return p;
}

enum hd_status core_stream_submit_locked(struct core_stream *stream,
                                         const union hal_packet *packets, unsigned n)
{
    struct hal_queue *queue = stream->queue;
    struct hal_device *hal = queue->device;

    assert(hd_lock_held(&stream->lock) && n > 0 && n <= HAL_RING_SLOTS);
    if (HD_UNLIKELY(core_retire_any()))
        HD_TRY(core_retire_room(queue, n));
    for (;;) {
        enum hd_status status = queue->ops->submit(queue, packets, n);

        if (status != HD_BUSY)
            return status;
        HD_TRY(hal->ops->wait(hal, &queue->ring->retired,
                              hal_queue_submitted(queue) + n - HAL_RING_SLOTS, UINT64_MAX));
    }
}

enum hd_status core_queue_wait(struct hal_queue *queue)
{
    struct hal_device *hal = queue->device;

    return hal->ops->wait(hal, &queue->ring->retired, hal_queue_submitted(queue), UINT64_MAX);
}

/* ---- streams that are gone */

static void queue_free_stream_locked(struct core_context *ctx, struct core_stream *stream)
{
    if (stream != ctx->legacy && core_stream_is_blocking(stream))
        atomic_fetch_sub(&ctx->nblocking, 1);
    core_queue_give_locked(ctx, stream->queue);
    hd_free(stream->attributes);
    hd_vec_fini(&stream->awaited);
    hd_lock_fini(&stream->lock);
    core_handle_free(stream);
}

void core_streams_reap_locked(struct core_context *ctx)
{
    struct core_stream **link = &ctx->draining_streams;

    assert(hd_lock_held(&ctx->lock));
    while (*link) {
        struct core_stream *stream = *link;

        if (hal_queue_is_idle(stream->queue)) {
            *link = stream->next;
            queue_free_stream_locked(ctx, stream);
        } else {
            link = &stream->next;
        }
    }
}

void core_stream_drain_locked(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;

    assert(hd_lock_held(&ctx->lock) && !stream->link);
    if (core_stream_is_legacy(stream) || hal_queue_is_idle(stream->queue)) {
        queue_free_stream_locked(ctx, stream); /* a context drains its own queues */
    } else {
        stream->next = ctx->draining_streams;
        ctx->draining_streams = stream;
    }
}
