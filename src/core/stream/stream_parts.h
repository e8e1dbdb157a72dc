/*
 * Inside of streams: for the files of streams, and for those that put packets into queues beside
 * them (programs of graphs, what kernels launch).
 *
 *     stream.c           life
 *     stream_submit.c    what comes next, each packet with all that is to be done around it
 *       stream_order.c   the locks, and waits for other streams
 *         stream_queue.c the queue itself
 */
#ifndef HD_CORE_STREAM_STREAM_PARTS_H
#define HD_CORE_STREAM_STREAM_PARTS_H

#include "core/context.h"
#include "core/stream/stream.h"
#include "hal/packet.h"

struct core_device;

static inline bool core_stream_is_blocking(const struct core_stream *stream)
{
    return !(stream->flags & CORE_STREAM_NON_BLOCKING);
}

static inline bool core_stream_is_legacy(const struct core_stream *stream)
{
    return stream == stream->ctx->legacy;
}

/* Does it stand for all blocking streams that order with it? */
static inline bool core_stream_is_default(const struct core_stream *stream)
{
    return stream->is_default || core_stream_is_legacy(stream);
}

/* The default stream that it orders with: its context's, or its green context's. */
static inline struct core_stream *core_stream_default(struct core_stream *stream)
{
    if (stream->is_default)
        return stream;
    return stream->home ? stream->home : stream->ctx->legacy;
}

/* ---- stream_queue.c */

/* A queue that nobody uses and that is idle, or a new one. */
enum hd_status core_queue_take_locked(struct core_context *ctx, int priority,
                                      struct hal_queue **out_queue) HD_MUST_CHECK;
/* It may still have work. */
void core_queue_give_locked(struct core_context *ctx, struct hal_queue *queue);
/* To the multiprocessors of the device, or to those of them that `green` has. */
void core_queue_limit(struct hal_queue *queue, const struct core_device *device,
                      const struct core_green *green);
/* Waits for a position of another queue. */
union hal_packet core_wait_packet(struct hal_queue *queue, uint64_t position);
/* Until it has done what it was given so far. */
enum hd_status core_queue_wait(struct hal_queue *queue) HD_MUST_CHECK;
/* Nobody has a reference, and it is in no list: it goes once its queue is idle. */
void core_stream_drain_locked(struct core_stream *stream);

/* ---- stream_order.c */

/* The stream's lock, which is held afterwards also on failure, and its place among the others. */
enum hd_status core_order_acquire(struct core_stream *stream) HD_MUST_CHECK;
/*
 * The legacy stream waits for what blocking streams were given so far, destroyed ones included. Its
 * lock is held afterwards, also on failure.
 */
enum hd_status core_order_legacy_acquire(struct core_stream *legacy) HD_MUST_CHECK;

/* ---- stream_submit.c */

/* The next number for a grid, unique in the context; *id is the last one, or 0. */
uint32_t core_grid_id(struct core_context *ctx, uint32_t *id);
/* Numbers for n grids: those behind the result. */
uint32_t core_grid_ids(struct core_context *ctx, uint32_t n);
/* Parameters of a dispatch; what does not fit the packet goes to the queue's ring. */
enum hd_status core_stream_params_locked(struct core_stream *stream, struct hal_dispatch *p,
                                         const void *params, uint32_t params_B) HD_MUST_CHECK;

#endif
