/*
 * What is known to happen before what, between streams and the host: a vector clock for each
 * stream, each recorded event and the host. For memory that streams allocate and free.
 *
 * In doubt things count as ordered: calls that are not known to be asynchronous wait for
 * everything, the default streams are one that waits for all and is waited for, blocking or not;
 * and with more than SAN_ORDER_STREAMS streams nothing is told apart any more.
 *
 * Threads: any; one mutex, inside of which nothing is taken.
 */
#ifndef HD_SAN_ORDER_H
#define HD_SAN_ORDER_H

#include "base/compiler.h"
#include "heddle/tap.h"

enum { SAN_ORDER_STREAMS = 64 };

/* Something that was submitted to a stream. */
struct san_order_op {
    uint32_t stream; /* its place in clocks; 0: a default stream */
    uint64_t number; /* counts operations of all streams; 0: not known, before everything */
};

/* By stream: the last of its operations that is known to be complete, or ahead. */
struct san_order_clock {
    uint64_t at[SAN_ORDER_STREAMS];
};

/* Submits an operation: *out_before has what happens before it, and itself. */
struct san_order_op san_order_submit(const void *stream, struct san_order_clock *out_before);

static inline bool san_order_is_before(struct san_order_op op, const struct san_order_clock *clock)
{
    return clock->at[op.stream] >= op.number;
}

/* DRIVER and OBJECT events. */
void san_order_host(const struct heddle_event *event);
/* Forgets everything. For tests. */
void san_order_stop(void);

#endif
