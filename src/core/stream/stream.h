/*
 * Streams (stream.c, stream_submit.c): a queue each, and the order that CUDA promises between them.
 * How they give work to a device: stream_parts.h.
 *
 * A stream belongs to its context and has a reference to it; a destroyed one goes when its work is
 * done. Its lock guards submission: whoever has it knows what comes next.
 */
#ifndef HD_CORE_STREAM_STREAM_H
#define HD_CORE_STREAM_STREAM_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"
#include "base/vec.h"
#include "core/handle.h"

struct core_capture;
struct core_capture_end;
struct hal_queue;
union hal_packet;

#define CORE_STREAM_NON_BLOCKING 1u
#define CORE_STREAM_PER_THREAD   (1u << 16) /* ours; the API does not show it */

/* What a stream keeps for launches on it; numbers and values are the API's. */
#define CORE_STREAM_ATTRIBUTE_MAX 16
#define CORE_STREAM_ATTRIBUTE_B   64

/* A position that a stream was made to wait for: all it is given later comes behind it. */
struct core_awaited {
    const _Atomic uint64_t *semaphore;
    uint64_t value;
};

struct core_stream {
    struct core_object object;
    struct core_context *ctx;
    struct hal_queue *queue;
    struct core_green *green; /* whose multiprocessors it uses, or NULL; until it is finalised */
    struct core_stream *home; /* the default stream that it orders with; NULL: the context's */
    bool is_default;          /* of its context or green context */
    unsigned flags;           /* CU_STREAM_NON_BLOCKING = 1 */
    int priority;
    uint64_t id;
    struct hd_lock lock;    /* submission */
    uint64_t legacy_waited; /* position of the legacy stream that this one already waits for */
    _Atomic uint64_t waited_by_legacy; /* position of this one that the legacy stream waits for */
    uint32_t grid_id;                  /* of the last launch; lock */
    uint8_t (*attributes)[CORE_STREAM_ATTRIBUTE_B]; /* by number; NULL: none was set; lock */
    HD_VEC(struct core_awaited) awaited;            /* by events, one per queue; lock */
    struct core_stream *next, **link;               /* ctx->lock */
    _Atomic(struct core_capture *) capture;         /* what it gives work to; capture.h */
    struct core_capture_end *captured;
    struct core_stream *capture_next;
};

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream) HD_MUST_CHECK;
/* The same on the multiprocessors of a green context, NULL: on all. */
enum hd_status core_stream_create_green(struct core_context *ctx, struct core_green *green,
                                        unsigned flags, int priority,
                                        struct core_stream **out_stream) HD_MUST_CHECK;
/* What the stream's kernels may use. */
uint32_t core_stream_sms(const struct core_stream *stream);
/* Returns at once; submitted work still completes, and the legacy stream still waits for it. */
bool core_stream_destroy(struct core_stream *stream);
/* Frees finalised streams that the device is done with. Under ctx->lock. */
void core_streams_reap_locked(struct core_context *ctx);
/*
 * Submits packets with the order of streams around them. `params` of `params_B` bytes is copied for
 * a single dispatch packet whose parameters do not fit it. Waits when the ring is full.
 * *out_position (may be NULL): of the last packet in the stream's queue. Only this call knows it:
 * once the stream's lock is released, other threads submit behind it.
 */
enum hd_status core_stream_submit(struct core_stream *stream, union hal_packet *packets, unsigned n,
                                  const void *params, uint32_t params_B, uint64_t *out_position)
    HD_MUST_CHECK;
/*
 * A dispatch that has HAL_FLAG_CALLER: who submits it runs it next (hal_queue_ops.run). Unless it
 * `waits`, the flag goes where the stream is not idle.
 */
enum hd_status core_stream_submit_caller(struct core_stream *stream, union hal_packet *packet,
                                         bool waits, const void *params, uint32_t params_B)
    HD_MUST_CHECK;
/* For who has the stream's lock, and its place among the others: graph launches. Waits for room. */
enum hd_status core_stream_submit_locked(struct core_stream *stream,
                                         const union hal_packet *packets, unsigned n) HD_MUST_CHECK;
/* The position that stands for what the stream was given so far; nothing is submitted for it. */
enum hd_status core_stream_mark(struct core_stream *stream, uint64_t *out_position) HD_MUST_CHECK;
/* An event made the stream wait for it (pools ask). */
void core_stream_awaited(struct core_stream *stream, const _Atomic uint64_t *semaphore,
                         uint64_t value);
/* Attributes that were never set read as 0. HD_NO_MEMORY. */
enum hd_status core_stream_attribute_set(struct core_stream *stream, unsigned number,
                                         const void *value) HD_MUST_CHECK;
void core_stream_attribute_get(struct core_stream *stream, unsigned number, void *out_value);
/* Makes all attributes of `to` those of `from`. */
enum hd_status core_stream_attributes_copy(struct core_stream *to, struct core_stream *from)
    HD_MUST_CHECK;
enum hd_status core_stream_synchronize(struct core_stream *stream) HD_MUST_CHECK;
/* HD_BUSY, without a message, while work is left. */
enum hd_status core_stream_query(struct core_stream *stream) HD_MUST_CHECK;
/* The same as below, and a node in a capturing stream. */
enum hd_status core_stream_host(struct core_stream *stream, void (*func)(void *), void *arg)
    HD_MUST_CHECK;
/* Calls func(arg) in stream order; `always`: after a fault too. */
enum hd_status core_stream_call(struct core_stream *stream, void (*func)(void *), void *arg,
                                bool always) HD_MUST_CHECK;

#endif
