/* Events: a position in a queue, and a time. */
#include <assert.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/thread.h"
#include "core/context.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/mem/ipc.h"
#include "core/mem/mempool.h"
#include "core/notify.h"
#include "core/stream/event.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

/* `fd`: of one that is shared and was made elsewhere; else -1. It is the event's, or closed. */
static enum hd_status event_create(struct core_context *ctx, unsigned flags, int fd,
                                   struct core_event **out_event)
{
    struct core_event *event = core_handle_alloc(CORE_EVENT);
    enum hd_status status = HD_OK;
    bool closing;

    if (!event) {
        if (fd >= 0)
            close(fd);
        return hd_error(HD_NO_MEMORY, "event");
    }
    hd_lock_init(&event->lock, HD_RANK_LEAF, "event");
    event->ctx = core_context_ref(ctx);
    event->flags = flags;
    if (flags & CORE_EVENT_INTERPROCESS)
        status = core_ipc_event_init(event, fd);
    if (status != HD_OK) {
        core_event_unref(event);
        return status;
    }
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
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_EVENT, ctx, core_event_handle(event), false);
    return HD_OK;
}

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event)
{
    return event_create(ctx, flags, -1, out_event);
}

enum hd_status core_ipc_event_open(struct core_context *ctx, const struct core_ipc_handle *handle,
                                   struct core_event **out_event)
{
    int fd;

    HD_TRY(core_ipc_handle_open(CORE_IPC_EVENT, handle, &fd));
    return event_create(ctx, CORE_EVENT_INTERPROCESS | CORE_EVENT_DISABLE_TIMING, fd, out_event);
}

bool core_event_destroy(struct core_event *event)
{
    if (!core_object_retire(&event->object))
        return false;
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_EVENT, event->ctx, core_event_handle(event), true);
    core_event_unref(event);
    return true;
}

static bool event_cell_is_reached(const struct core_event_cell *cell)
{
    return !cell->value || atomic_load(cell->semaphore) >= cell->value;
}

/* Will the device still store a time in a cell? Then it must not be used again. */
static bool event_is_draining(const struct core_event *event)
{
    if (event->flags & CORE_EVENT_DISABLE_TIMING)
        return false;
    for (const struct core_event_cell *c = atomic_load(&event->cells); c; c = c->next)
        if (!event_cell_is_reached(c))
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
    if (event->shared)
        core_ipc_event_fini(event);
    hd_lock_fini(&event->lock);
    core_handle_free(event);
}

void core_events_reap_locked(struct core_context *ctx)
{
    struct core_event **link = &ctx->draining_events;

    assert(hd_lock_held(&ctx->lock));
    while (*link) {
        struct core_event *event = *link;

        if (event_is_draining(event)) {
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

    core_capture_event_fini(event);
    hd_lock_acquire(&ctx->lock);
    if (event->link)
        hd_list_remove(event);
    core_events_reap_locked(ctx);
    if (event_is_draining(event)) {
        event->next = ctx->draining_events;
        ctx->draining_events = event;
    } else {
        event_free(event);
    }
    hd_lock_release(&ctx->lock);
    core_context_unref(ctx);
}

/* ---- recording */

static struct core_event_cell *event_cell_find(struct core_event *event,
                                               const _Atomic uint64_t *semaphore)
{
    struct core_event_cell *c = atomic_load_explicit(&event->cells, memory_order_acquire);

    while (c && c->semaphore != semaphore)
        c = c->next;
    return c;
}

/* NULL: no memory. */
static struct core_event_cell *event_cell_add(struct core_event *event,
                                              const _Atomic uint64_t *semaphore)
{
    struct core_event_cell *cell;

    hd_lock_acquire(&event->lock);
    cell = event_cell_find(event, semaphore);
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
static enum hd_status event_submit(const struct core_event *event, struct core_stream *stream,
                                   struct core_event_cell *cell, uint64_t *out_position)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_TIMESTAMP}};

    if (event->flags & CORE_EVENT_DISABLE_TIMING) {
        if (!tap_wants(HEDDLE_EVENT_TIMES))
            return core_stream_mark(stream, out_position);
        /* For nothing: a listener is told when it is done. */
        p = core_wait_packet(stream->queue, 0);
        return core_stream_submit(stream, &p, 1, NULL, 0, out_position);
    }
    p.sem.address = (uintptr_t)&cell->ticks;
    return core_stream_submit(stream, &p, 1, NULL, 0, out_position);
}

/* That of the stream's queue. */
static enum hd_status event_cell_get(struct core_event *event, struct core_stream *stream,
                                     struct core_event_cell **out_cell)
{
    const _Atomic uint64_t *semaphore = &stream->queue->ring->retired;

    assert(event->ctx == stream->ctx); /* its queues live as long as the event */
    *out_cell = event_cell_find(event, semaphore);
    if (HD_UNLIKELY(!*out_cell) && !(*out_cell = event_cell_add(event, semaphore)))
        return hd_error(HD_NO_MEMORY, "recording of an event");
    return HD_OK;
}

static void event_cell_recorded(struct core_event *event, struct core_event_cell *cell,
                                uint64_t position)
{
    hd_lock_acquire(&event->lock);
    /* Another thread may have submitted behind us and been here first. */
    cell->value = HD_MAX(cell->value, position);
    event->last = cell;
    hd_lock_release(&event->lock);
}

enum hd_status core_event_record(struct core_event *event, struct core_stream *stream,
                                 bool external)
{
    struct core_event_cell *cell;
    uint64_t position;

    if (core_stream_is_capturing(stream))
        return core_capture_record(stream, event, external);
    if (event->shared)
        return core_ipc_event_record(event, stream, false);
    HD_TRY(event_cell_get(event, stream, &cell));
    HD_TRY(event_submit(event, stream, cell, &position));
    core_capture_point_drop(event);
    event_cell_recorded(event, cell, position);
    return HD_OK;
}

enum hd_status core_event_record_locked(struct core_event *event, struct core_stream *stream)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_TIMESTAMP}};
    struct core_event_cell *cell;

    if (event->shared)
        return core_ipc_event_record(event, stream, true);
    HD_TRY(event_cell_get(event, stream, &cell));
    p.sem.address = (uintptr_t)&cell->ticks;
    if (!(event->flags & CORE_EVENT_DISABLE_TIMING))
        HD_TRY(core_stream_submit_locked(stream, &p, 1));
    event_cell_recorded(event, cell, hal_queue_submitted(stream->queue));
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

static bool event_is_reached(const struct core_event_cell *cell, uint64_t value)
{
    return !cell || atomic_load_explicit(cell->semaphore, memory_order_acquire) >= value;
}

/* Not in a capture. */
static enum hd_status event_check_recorded(struct core_event *event)
{
    bool captured = atomic_load_explicit(&event->point, memory_order_acquire) != NULL;

    return HD_UNLIKELY(captured) ? core_capture_refuse_event(event) : HD_OK;
}

/* The same for what looks at the event now: a capture would not see it (spec/api/capture.def). */
static enum hd_status event_check_looked_at(struct core_event *event)
{
    HD_TRY(event_check_recorded(event));
    return core_capture_any() ? core_capture_refuse_unsafe() : HD_OK;
}

enum hd_status core_event_query(struct core_event *event)
{
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);

    HD_TRY(event_check_looked_at(event));
    HD_TRY(core_context_status(event->ctx));
    if (event->shared)
        return core_ipc_event_is_reached(event) ? HD_OK : HD_BUSY;
    return event_is_reached(cell, value) ? HD_OK : HD_BUSY;
}

enum hd_status core_event_synchronize(struct core_event *event)
{
    struct hal_device *hal = event->ctx->device->hal;
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);

    HD_TRY(event_check_looked_at(event));
    if (event->shared)
        HD_TRY(core_ipc_event_synchronize(event));
    else if (cell)
        HD_TRY(hal->ops->wait(hal, cell->semaphore, value, UINT64_MAX));
    hal->ops->printf_flush(event->ctx->domain);
    core_mempools_settle();
    return core_context_status(event->ctx);
}

static void *event_context_end(void *ctx)
{
    core_context_unref(ctx);
    return NULL;
}

/*
 * On the thread of host calls. A context that ends waits for work that may have come to it after it
 * was destroyed, and this thread may have to do that.
 */
static void event_context_release(void *arg)
{
    struct core_context *ctx = arg;
    pthread_t thread;

    if (core_object_unref_but_last(&ctx->object))
        return;
    if (hd_thread_create(&thread, NULL, event_context_end, ctx))
        core_context_unref(ctx); /* no thread: it mostly has nothing to wait for */
    else
        pthread_detach(thread);
}

/* Packets that make a queue wait for the last recording: 0 when there is nothing to wait for. */
static unsigned event_wait_packets(struct core_event *event, bool foreign, union hal_packet p[2])
{
    uint64_t value;
    const struct core_event_cell *cell = event_get(event, &value);

    if (event_is_reached(cell, value))
        return 0;
    p[0] = (union hal_packet){.sem = {.head.op = HAL_OP_WAIT, .value = value}};
    p[0].sem.address = (uintptr_t)cell->semaphore;
    if (!foreign)
        return 1;
    /* The semaphore is a queue of the event's context, which must not go before the wait ends. */
    p[1] = (union hal_packet){
        .host_call = {.head = {.op = HAL_OP_HOST_CALL, .flags = HAL_FLAG_ALWAYS}}};
    p[1].host_call.func = (uintptr_t)event_context_release;
    p[1].host_call.arg = (uintptr_t)core_context_ref(event->ctx);
    return 2;
}

enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event, bool external)
{
    bool foreign = stream->ctx != event->ctx, done = false;
    union hal_packet p[2];
    enum hd_status status = HD_OK;
    unsigned n;

    if (core_capture_any() || atomic_load_explicit(&event->point, memory_order_relaxed))
        status = core_capture_wait(stream, event, external, &done);
    if (done)
        return status;
    HD_TRY(core_capture_check_stream(stream)); /* also when there is nothing to wait for */
    if (event->shared)
        return core_ipc_event_wait(stream, event, false);
    if (!foreign) {
        /* Before the wait, which may be for a later recording. */
        uint64_t value;
        const struct core_event_cell *cell = event_get(event, &value);

        if (cell)
            core_stream_awaited(stream, cell->semaphore, value);
    }
    n = event_wait_packets(event, foreign, p);
    status = n ? core_stream_submit(stream, p, n, NULL, 0, NULL) : HD_OK;
    if (status != HD_OK && foreign)
        core_context_unref(event->ctx);
    return status;
}

enum hd_status core_event_wait_locked(struct core_stream *stream, struct core_event *event)
{
    bool foreign = stream->ctx != event->ctx;
    union hal_packet p[2];
    enum hd_status status;
    unsigned n;

    if (event->shared)
        return core_ipc_event_wait(stream, event, true);
    n = event_wait_packets(event, foreign, p);
    status = n ? core_stream_submit_locked(stream, p, n) : HD_OK;
    if (status != HD_OK && foreign)
        core_context_unref(event->ctx);
    return status;
}

/* Devices have clocks of their own: what two of them show is compared in the host's time. */
static double event_between_ns(const struct core_event *start, uint64_t from,
                               const struct core_event *end, uint64_t to)
{
    const struct hal_clock *a = &start->ctx->device->hal->info.clock;
    const struct hal_clock *b = &end->ctx->device->hal->info.clock;

    if (a == b)
        return hal_clock_between_ns(a, from, to);
    return (double)(int64_t)(hal_clock_host_ns(b, to) - hal_clock_host_ns(a, from));
}

enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
{
    const struct core_event_cell *from, *to;
    uint64_t from_value, to_value;

    if ((start->flags | end->flags) & CORE_EVENT_DISABLE_TIMING)
        return hd_error(HD_BAD_ARG, "an event was created without timing");
    HD_TRY(event_check_recorded(start));
    HD_TRY(event_check_recorded(end));
    from = event_get(start, &from_value);
    to = event_get(end, &to_value);
    if (!from || !to)
        return hd_error(HD_BAD_ARG, "an event was never recorded");
    HD_TRY(core_context_status(start->ctx));
    HD_TRY(core_context_status(end->ctx));
    if (!event_is_reached(from, from_value) || !event_is_reached(to, to_value))
        return HD_BUSY;
    *out_ms =
        (float)(event_between_ns(start, atomic_load(&from->ticks), end, atomic_load(&to->ticks)) *
                1e-6);
    return HD_OK;
}
