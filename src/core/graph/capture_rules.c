/* What cannot be captured: who is capturing, and which calls break that. See capture.h. */
#include <assert.h>

#include "core/graph/capture.h"
#include "core/stream/event.h"
#include "core/stream/stream_parts.h"

_Atomic unsigned core_captures;
struct core_capture *core_capture_list;
static HD_THREAD_LOCAL enum core_capture_mode thread_mode;

enum core_capture_mode core_capture_mode_exchange(enum core_capture_mode mode)
{
    enum core_capture_mode before = thread_mode;

    thread_mode = mode;
    return before;
}

struct core_capture *core_capture_find_locked(uint64_t id)
{
    struct core_capture *capture = core_capture_list;

    assert(hd_lock_held(&core_graph_lock));
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

static unsigned invalidate_locked(const struct core_context *ctx, bool blocking_only)
{
    unsigned n = 0;

    assert(hd_lock_held(&core_graph_lock));
    for (struct core_capture *c = core_capture_list; c; c = c->next)
        for (const struct core_stream *s = c->streams; s; s = s->capture_next)
            if (s->ctx == ctx && (!blocking_only || core_stream_is_blocking(s))) {
                c->is_invalid = true;
                n++;
            }
    return n;
}

enum hd_status core_capture_refuse_stream(struct core_stream *stream)
{
    struct core_capture *capture;
    unsigned n = 0;

    hd_lock_acquire(&core_graph_lock);
    capture = core_capture_of_locked(stream);
    if (capture)
        capture->is_invalid = true;
    else if (core_stream_is_legacy(stream))
        n = invalidate_locked(stream->ctx, true);
    hd_lock_release(&core_graph_lock);
    if (capture)
        return hd_error(HD_CAPTURE_FORBIDS, "the stream is capturing");
    return n ? hd_error(HD_CAPTURE_IMPLICIT, "the legacy stream, while a blocking one captures")
             : HD_OK;
}

enum hd_status core_capture_check_stream(struct core_stream *stream)
{
    const struct core_context *ctx = stream->ctx;

    if (!core_capture_any() || (!core_stream_is_capturing(stream) &&
                                !(core_stream_is_legacy(stream) && atomic_load(&ctx->ncapturing))))
        return HD_OK;
    return core_capture_refuse_stream(stream);
}

enum hd_status core_capture_refuse_context(struct core_context *ctx)
{
    unsigned n;

    hd_lock_acquire(&core_graph_lock);
    n = invalidate_locked(ctx, false);
    hd_lock_release(&core_graph_lock);
    return n ? hd_error(HD_CAPTURE_FORBIDS, "a stream of the context is capturing") : HD_OK;
}

enum hd_status core_capture_refuse_event(struct core_event *event)
{
    const struct core_capture_point *point;
    struct core_capture *capture;

    hd_lock_acquire(&core_graph_lock);
    point = atomic_load(&event->point);
    capture = point ? core_capture_find_locked(point->capture) : NULL;
    if (capture)
        capture->is_invalid = true;
    hd_lock_release(&core_graph_lock);
    return point ? hd_error(HD_CAPTURED_EVENT, "the event was last recorded in a capture") : HD_OK;
}

static bool forbids(const struct core_capture *capture)
{
    if (capture->mode == CORE_CAPTURE_RELAXED)
        return false;
    return pthread_equal(capture->thread, pthread_self()) ||
           (capture->mode == CORE_CAPTURE_GLOBAL && thread_mode == CORE_CAPTURE_GLOBAL);
}

enum hd_status core_capture_refuse_unsafe(void)
{
    unsigned n = 0;

    if (thread_mode == CORE_CAPTURE_RELAXED)
        return HD_OK;
    hd_lock_acquire(&core_graph_lock);
    for (struct core_capture *c = core_capture_list; c; c = c->next)
        if (forbids(c)) {
            c->is_invalid = true;
            n++;
        }
    hd_lock_release(&core_graph_lock);
    return n ? hd_error(HD_CAPTURE_FORBIDS, "a call that may break a capture under way") : HD_OK;
}
