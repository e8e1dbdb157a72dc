/*
 * Taps: who listens to what happens, and how it is told. include/heddle/tap.h is the contract for
 * listeners; below is the side that tells, each event behind tap_wants(): nobody listening costs a
 * load and a predicted branch.
 *
 *     tap.c        the list of listeners, events, calls of an API as events
 *     tap_log.c    HEDDLE_DEBUG=api and others: listeners like any other
 *
 * Calls and PACKET are told without a lock of ours, because their listeners may call the API. The
 * other kinds may be told with locks held, and heddle/tap.h forbids API calls there.
 *
 * Contexts and packets belong to core, which says what a tap has to know of them: tap_owner_set().
 */
#ifndef HD_TAP_TAP_H
#define HD_TAP_TAP_H

#include "base/compiler.h"
#include "heddle/tap.h"

static inline bool tap_wants(uint32_t kinds)
{
    return HD_UNLIKELY(heddle_tap_kinds_wanted() & kinds);
}

/* Gives the event its thread, time and correlation, where these are 0, and tells it. */
void tap_emit(struct heddle_event *event);
/* Of the API call that the thread is in; 0 outside or when nobody listens. */
uint64_t tap_correlation(void);
/* When that call began; 0: nobody asked. */
uint64_t tap_begin_ns(void);
/* Never 0; for packets. */
uint64_t tap_packet_id(void);

struct tap_owner {
    void *(*context)(void); /* the calling thread's current one, as events name it, or NULL */
    void (*settle)(void);   /* tells DONE of the packets that are complete */
};
/* Before main(). */
void tap_owner_set(const struct tap_owner *owner);

/* In the child of fork(), in which this thread is the only one. */
void tap_in_child(void);
/* Subscribes what HEDDLE_DEBUG asks for (tap_log.c). */
void tap_log_init(void);

#endif
