/* Events: a position in a queue, and a time. */
#include "core/core.h"

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event)
{
    struct core_event *event = core_handle_alloc(CORE_EVENT);

    if (!event)
        return hd_error(HD_NO_MEMORY, "event");
    hd_lock_init(&event->lock, HD_RANK_LEAF, "event");
    event->ctx = ctx;
    event->flags = flags;
    hd_lock_acquire(&ctx->lock);
    event->next = ctx->events;
    event->link = &ctx->events;
    if (event->next)
        event->next->link = &event->next;
    ctx->events = event;
    hd_lock_release(&ctx->lock);
    *out_event = event;
    return HD_OK;
}

/* The device may still have to store the time: the cell must not be reused before. */
static void wait_until_recorded(struct core_event *event)
{
    struct hal_device *hal = event->ctx->device->hal;

    if (event->semaphore && !(event->flags & CORE_EVENT_DISABLE_TIMING))
        (void)!hal->ops->wait(hal, event->semaphore, event->value, UINT64_MAX);
}

void core_event_destroy(struct core_event *event)
{
    struct core_context *ctx = event->ctx;

    wait_until_recorded(event);
    hd_lock_acquire(&ctx->lock);
    *event->link = event->next;
    if (event->next)
        event->next->link = event->link;
    hd_lock_release(&ctx->lock);
    hd_lock_fini(&event->lock);
    core_handle_free(event);
}

static void event_set(struct core_event *event, struct hal_queue *queue)
{
    hd_lock_acquire(&event->lock);
    event->semaphore = &queue->ring->retired;
    event->value = hal_queue_submitted(queue);
    hd_lock_release(&event->lock);
}

enum hd_status core_event_record(struct core_event *event, struct core_stream *stream)
{
    bool timed = !(event->flags & CORE_EVENT_DISABLE_TIMING);
    union hal_packet p = {.sem = {.head.op = timed ? HAL_OP_TIMESTAMP : HAL_OP_NOP}};

    p.sem.address = (uintptr_t)&event->time_ns;
    HD_TRY(core_stream_submit(stream, &p, 1, NULL, 0));
    event_set(event, stream->queue);
    return HD_OK;
}

/* NULL when never recorded. */
static const _Atomic uint64_t *event_get(struct core_event *event, uint64_t *out_value)
{
    const _Atomic uint64_t *semaphore;

    hd_lock_acquire(&event->lock);
    semaphore = event->semaphore;
    *out_value = event->value;
    hd_lock_release(&event->lock);
    return semaphore;
}

enum hd_status core_event_query(struct core_event *event)
{
    uint64_t value;
    const _Atomic uint64_t *semaphore = event_get(event, &value);

    HD_TRY(core_context_status(event->ctx));
    return !semaphore || atomic_load(semaphore) >= value ? HD_OK : HD_BUSY;
}

enum hd_status core_event_synchronize(struct core_event *event)
{
    struct hal_device *hal = event->ctx->device->hal;
    uint64_t value;
    const _Atomic uint64_t *semaphore = event_get(event, &value);

    if (semaphore)
        HD_TRY(hal->ops->wait(hal, semaphore, value, UINT64_MAX));
    hal->ops->printf_flush(hal);
    return core_context_status(event->ctx);
}

enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT}};
    uint64_t value;
    const _Atomic uint64_t *semaphore = event_get(event, &value);

    if (!semaphore || atomic_load(semaphore) >= value)
        return HD_OK;
    p.sem.address = (uintptr_t)semaphore;
    p.sem.value = value;
    return core_stream_submit(stream, &p, 1, NULL, 0);
}

enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
{
    uint64_t value;

    if ((start->flags | end->flags) & CORE_EVENT_DISABLE_TIMING)
        return hd_error(HD_BAD_ARG, "an event was created without timing");
    if (!event_get(start, &value) || !event_get(end, &value))
        return hd_error(HD_BAD_ARG, "an event was never recorded");
    HD_TRY(core_event_query(start));
    HD_TRY(core_event_query(end));
    *out_ms = (float)((double)(int64_t)(atomic_load(&end->time_ns) - atomic_load(&start->time_ns)) *
                      1e-6);
    return HD_OK;
}
