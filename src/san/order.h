/*
 * What is known to happen before what, between streams and the host: vector clocks.
 *
 *     order.c        streams, and what is submitted to them, graphs by their edges
 *     order_calls.c  what calls of the API do: waits, events, copies that wait
 *
 * A clock has a place for each stream that has work; parallel branches of a graph and streams that
 * are gone share what is left. Two operations are ordered when the later clock covers the earlier
 * one's number.
 *
 * The host is one: what any of its threads waited for counts for all, because nobody tells how they
 * meet. In doubt things count as ordered: calls that are not known to be asynchronous wait for
 * everything; a call that makes order which this cannot follow (streams that wait for values in
 * memory, for another API or process) ends all telling apart; streams beyond SAN_ORDER_STREAMS
 * share a place, where each operation comes after all.
 *
 * Threads: any; one mutex, inside of which that of memory.h is taken.
 */
#ifndef HD_SAN_ORDER_H
#define HD_SAN_ORDER_H

#include <assert.h>

#include "base/compiler.h"
#include "heddle/tap.h"

enum { SAN_ORDER_STREAMS = 64 };

/* Something that was submitted to a stream. */
struct san_order_op {
    uint32_t stream; /* its place in clocks */
    uint64_t number; /* counts operations of all streams; 0: not known, before everything */
};

/* By place: the last of its operations that is known to be complete, or ahead. */
struct san_order_clock {
    uint64_t at[SAN_ORDER_STREAMS];
};

struct san_order_position {
    struct san_order_op op;
    struct san_order_clock after; /* what happens before it, and itself */
    uint32_t stream;              /* streams count from 1 as they are made; 0: a default stream */
};

static inline bool san_order_is_before(struct san_order_op op, const struct san_order_clock *clock)
{
    assert(op.stream < SAN_ORDER_STREAMS);
    return clock->at[op.stream] >= op.number;
}

static inline bool san_order_is_ordered(const struct san_order_position *a,
                                        const struct san_order_position *b)
{
    return san_order_is_before(a->op, &b->after) || san_order_is_before(b->op, &a->after);
}

/*
 * Submits the kernel, copy or fill of a PACKET event. False: it is none, or nobody's call. Asked
 * again for the same event on the same thread it answers the same.
 */
bool san_order_packet(const struct heddle_event *event, struct san_order_position *out);
/* Submits what a MEMORY event of a stream says: *out_before has what happens before it, and itself.
 */
struct san_order_op san_order_submit(const struct heddle_event *event,
                                     struct san_order_clock *out_before);
/* DRIVER and OBJECT events; telling an event twice does nothing more. */
void san_order_host(const struct heddle_event *event);
/* The number of the last operation. */
uint64_t san_order_now(void);
/* What is known to be complete. */
void san_order_host_clock(struct san_order_clock *out);
/* Is there more than one stream that work may go to? Also branches of graphs. */
bool san_order_has_several(void);
/* Forgets everything. For tests. */
void san_order_stop(void);

/* ---- for order_calls.c */

enum san_order_memory { SAN_ORDER_PAGEABLE, SAN_ORDER_HOST, SAN_ORDER_MANAGED, SAN_ORDER_DEVICE };
/* A copy or fill that the thread submitted in its call. */
struct san_order_copy {
    uint32_t timeline;
    enum san_order_memory dst, src; /* of a fill both are its target */
};
enum { SAN_ORDER_COPIES = 16 };
struct san_order_copies {
    unsigned n; /* what does not fit counts as one that the host waits for */
    struct san_order_copy at[SAN_ORDER_COPIES];
};

/* OBJECT events. */
void san_order_object(const struct heddle_event *event);
/* A call of the driver begins on this thread; it ends: the copies that it has submitted. */
void san_order_call_begin(void);
const struct san_order_copies *san_order_call_end(void);

/* The lock of all clocks. */
void san_order_lock(void);
void san_order_unlock(void);
void san_order_join(struct san_order_clock *to, const struct san_order_clock *from);
/* Everything up to now. */
void san_order_join_all_locked(struct san_order_clock *to);
/* The clocks; of a stream what its next operation comes after, as an argument has it; NULL: nothing
 * was ever submitted there. */
struct san_order_clock *san_order_host_locked(void);
struct san_order_clock *san_order_stream_locked(const struct heddle_event *event,
                                                const void *handle, uint32_t *out_timeline);
struct san_order_clock *san_order_timeline_locked(uint32_t timeline);
/* All streams of the context; of all, when it is NULL. */
void san_order_join_context_locked(struct san_order_clock *to, const void *context);
/* The last recording; NULL: not known. */
struct san_order_clock *san_order_event_locked(const void *event);
void san_order_record_locked(const struct heddle_event *event, const void *handle,
                             const void *stream);
/* Nothing is told apart any more. */
void san_order_give_up_locked(void);

#endif
