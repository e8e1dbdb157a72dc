/*
 * Events (event.c): a position in a queue, and the time when it was reached. Those that several
 * processes know are in a memory file instead (ipc_event.c).
 *
 * An event belongs to its context and has a reference to it; what waits for it goes on waiting when
 * it was destroyed.
 */
#ifndef HD_CORE_STREAM_EVENT_H
#define HD_CORE_STREAM_EVENT_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"
#include "core/handle.h"

struct core_capture_point;
struct core_ipc_event;

#define CORE_EVENT_DISABLE_TIMING 2u
#define CORE_EVENT_INTERPROCESS   4u

/*
 * An event's recordings in one queue: reached when *semaphore >= value. Each queue stores times in
 * a cell of its own, so that one that comes late never overwrites that of a later recording
 * elsewhere. (docs/decisions/0046)
 */
struct core_event_cell {
    const _Atomic uint64_t *semaphore; /* the queue's `retired`; constant once it is in a list */
    uint64_t value;                    /* event->lock: of the last one; 0: none */
    _Atomic uint64_t ticks;            /* by the device, even after the event was destroyed */
    struct core_event_cell *next;      /* constant */
};

struct core_event {
    struct core_object object;
    struct core_context *ctx;
    unsigned flags;
    _Atomic(struct core_event_cell *) cells;    /* one per queue it was recorded in; only grows */
    struct core_event_cell first;               /* of the first queue: most events know only one */
    struct hd_lock lock;                        /* below, and adding to `cells` */
    _Atomic(struct core_capture_point *) point; /* last recorded in a capture; capture.h */
    struct core_event_cell *last;               /* of the last recording; NULL: never recorded */
    struct core_event *next, **link;            /* ctx->lock */
    struct core_ipc_event *shared; /* INTERPROCESS: instead of cells (ipc.h); constant */
    int shared_fd;
};

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event) HD_MUST_CHECK;
/* Returns at once; streams that wait for it go on waiting. */
bool core_event_destroy(struct core_event *event);
/* Frees finalised events that the device is done with. Under ctx->lock. */
void core_events_reap_locked(struct core_context *ctx);
/* `external`: in a capturing stream, as a node of the graph. */
enum hd_status core_event_record(struct core_event *event, struct core_stream *stream,
                                 bool external) HD_MUST_CHECK;
/* The same under the stream's lock. */
enum hd_status core_event_record_locked(struct core_event *event, struct core_stream *stream)
    HD_MUST_CHECK;
enum hd_status core_event_wait_locked(struct core_stream *stream, struct core_event *event)
    HD_MUST_CHECK;
/* HD_BUSY while not reached; HD_OK when never recorded. */
enum hd_status core_event_query(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_synchronize(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event, bool external)
    HD_MUST_CHECK;
/* HD_BUSY while one is not reached; HD_BAD_ARG when one was not recorded or keeps no time. */
enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
    HD_MUST_CHECK;

#endif
