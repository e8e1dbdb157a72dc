/* Events: a position in a queue, and a time. */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/core.h"
#include "core/tap.h"
#include "hal/hal.h"

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event)
{
    struct core_event *event = core_handle_alloc(CORE_EVENT);
    bool closing;

    if (!event)
        return hd_error(HD_NO_MEMORY, "event");
    hd_lock_init(&event->lock, HD_RANK_LEAF, "event");
    event->ctx = core_context_ref(ctx);
    event->flags = flags;
    hd_lock_acquire(&ctx->lock);
    closing = ctx->closing;
    if (!closing) {
        hd_list_push(&ctx->events, event);
        core_object_publish(&event->object);
        *out_event = core_event_ref(event);
    }
    core_events_reap_locked(ctx);
    hd_lock_release(&ctx->lock);
    if (closing) {
        core_event_unref(event);
        return hd_error(HD_BAD_ARG, "the context was destroyed");
    }
    if (core_tap_wants(HEDDLE_KIND(OBJECT)))
        core_tap_object(CORE_EVENT, ctx, core_event_handle(event), false);
    return HD_OK;
}

bool core_event_destroy(struct core_event *event)
{
    if (!core_object_retire(&event->object))
        return false;
    if (core_tap_wants(HEDDLE_KIND(OBJECT)))
        core_tap_object(CORE_EVENT, event->ctx, core_event_handle(event), true);
    core_event_unref(event);
    return true;
}

static bool cell_is_reached(const struct core_event_cell *cell)
{
    return !cell->value || atomic_load(cell->semaphore) >= cell->value;
}

/* Will the device still store a time in a cell? Then it must not be used again. */
static bool is_draining(const struct core_event *event)
{
    if (event->flags & CORE_EVENT_DISABLE_TIMING)
        return false;
    for (const struct core_event_cell *c = atomic_load(&event->cells); c; c = c->next)
        if (!cell_is_reached(c))
            return true;
    return false;
}

static void event_free(struct core_event *event)
{
    struct core_event_cell *cell = atomic_load(&event->cells), *next;

    for (; cell; cell = next) {
        next = cell->next;
        if (cell != &event->first)
            hd_free(cell);
    }
    hd_lock_fini(&event->lock);
    core_handle_free(event);
}

void core_events_reap_locked(struct core_context *ctx)
{
    struct core_event **link = &ctx->draining_events;

    assert(hd_lock_held(&ctx->lock));
    while (*link) {
        struct core_event *event = *link;

        if (is_draining(event)) {
            link = &event->next;
        } else {
            *link = event->next;
            event_free(event);
        }
    }
}

void core_event_finalise(struct core_event *event)
{
    struct core_context *ctx = event->ctx;

    hd_lock_acquire(&ctx->lock);
    if (event->link)
        hd_list_remove(event);
    core_events_reap_locked(ctx);
    if (is_draining(event)) {
        event->next = ctx->draining_events;
        ctx->draining_events = event;
    } else {
        event_free(event);
    }
    hd_lock_release(&ctx->lock);
    core_context_unref(ctx);
}

/* ---- recording */

static struct core_event_cell *cell_find(struct core_event *event,
                                         const _Atomic uint64_t *semaphore)
{
    struct core_event_cell *c = atomic_load_explicit(&event->cells, memory_order_acquire);

    while (c && c->semaphore != semaphore)
        c = c->next;
    return c;
}

/* NULL: no memory. */
static struct core_event_cell *cell_add(struct core_event *event, const _Atomic uint64_t *semaphore)
{
    struct core_event_cell *cell;

    hd_lock_acquire(&event->lock);
    cell = cell_find(event, semaphore);
    if (!cell) {
        struct core_event_cell *head = atomic_load(&event->cells);

        cell = head ? hd_new(struct core_event_cell) : &event->first;
        if (cell) {
            cell->semaphore = semaphore;
            cell->next = head;
            atomic_store_explicit(&event->cells, cell, memory_order_release);
        }
    }
    hd_lock_release(&event->lock);
    return cell;
}

/* A position in the stream, where the device stores the time if the event keeps one. */
static enum hd_status submit(const struct core_event *event, struct core_stream *stream,
                             struct core_event_cell *cell, uint64_t *out_position)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_TIMESTAMP}};

    if (event->flags & CORE_EVENT_DISABLE_TIMING)
        return core_stream_mark(stream, out_position);
    p.sem.address = (uintptr_t)&cell->time_ns;
    return core_stream_submit(stream, &p, 1, NULL, 0, out_position);
}

enum hd_status core_event_record(struct core_event *event, struct core_stream *stream)
{
    const _Atomic uint64_t *semaphore = &stream->queue->ring->retired;
    struct core_event_cell *cell = cell_find(event, semaphore);
    uint64_t position;

    assert(event->ctx == stream->ctx); /* its queues live as long as the event */
    if (HD_UNLIKELY(!cell) && !(cell = cell_add(event, semaphore)))
        return hd_error(HD_NO_MEMORY, "recording of an event");
    HD_TRY(submit(event, stream, cell, &position));
    hd_lock_acquire(&event->lock);
    /* Another thread may have submitted behind us and been here first. */
    cell->value = HD_MAX(cell->value, position);
    event->last = cell;
    hd_lock_release(&event->lock);
    return HD_OK;
}

/* The last recording, and its position; NULL when never recorded. */
static const struct core_event_cell *event_get(struct core_event *event, uint64_t *out_value)
{
    const struct core_event_cell *cell;

    hd_lock_acquire(&event->lock);
    cell = event->last;
    *out_value = cell ? cell->value : 0;
    hd_lock_release(&event->lock);
    return cell;
}

static bool is_reached(const struct core_event_cell *cell, uint64_t value)
{
    return !cell || atomic_load_explicit(cell->semaphore, memory_order_acquire) >= value;
}

enum hd_status core_event_query(struct core_event *event)
{
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);

    HD_TRY(core_context_status(event->ctx));
    return is_reached(cell, value) ? HD_OK : HD_BUSY;
}

enum hd_status core_event_synchronize(struct core_event *event)
{
    struct hal_device *hal = event->ctx->device->hal;
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);

    if (cell)
        HD_TRY(hal->ops->wait(hal, cell->semaphore, value, UINT64_MAX));
    hal->ops->printf_flush(event->ctx->domain);
    return core_context_status(event->ctx);
}

static void context_release(void *ctx)
{
    core_context_unref(ctx);
}

enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event)
{
    bool foreign = stream->ctx != event->ctx;
    union hal_packet p[2] = {{.sem = {.head.op = HAL_OP_WAIT}},
                             {.host_call = {.head.op = HAL_OP_HOST_CALL}}};
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);
    enum hd_status status;

    if (is_reached(cell, value))
        return HD_OK;
    p[0].sem.address = (uintptr_t)cell->semaphore;
    p[0].sem.value = value;
    if (!foreign)
        return core_stream_submit(stream, p, 1, NULL, 0, NULL);
    /* The semaphore is a queue of the event's context, which must not go before the wait ends. */
    p[1].head.flags = HAL_FLAG_ALWAYS;
    p[1].host_call.func = (uintptr_t)context_release;
    p[1].host_call.arg = (uintptr_t)core_context_ref(event->ctx);
    status = core_stream_submit(stream, p, 2, NULL, 0, NULL);
    if (status != HD_OK)
        core_context_unref(event->ctx);
    return status;
}

enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
{
    const struct core_event_cell *from, *to;
    uint64_t from_value, to_value, time_ns;

    if ((start->flags | end->flags) & CORE_EVENT_DISABLE_TIMING)
        return hd_error(HD_BAD_ARG, "an event was created without timing");
    from = event_get(start, &from_value);
    to = event_get(end, &to_value);
    if (!from || !to)
        return hd_error(HD_BAD_ARG, "an event was never recorded");
    HD_TRY(core_context_status(start->ctx));
    HD_TRY(core_context_status(end->ctx));
    if (!is_reached(from, from_value) || !is_reached(to, to_value))
        return HD_BUSY;
    time_ns = atomic_load(&to->time_ns) - atomic_load(&from->time_ns);
    *out_ms = (float)((double)(int64_t)time_ns * 1e-6);
    return HD_OK;
}
