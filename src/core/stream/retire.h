/*
 * Telling when packets are done (retire.c): between core's streams and its taps.
 */
#ifndef HD_CORE_STREAM_RETIRE_H
#define HD_CORE_STREAM_RETIRE_H

#include "hal/packet.h"
#include "heddle/tap.h"

struct core_stream;

/*
 * Packets that are about to be submitted, `params` being those of a dispatch: gives them the
 * correlation, tells PACKET, and asks for their stamps if somebody wants RETIRED. The result, NULL
 * when nobody does, is what has to be submitted behind them: _call(), which then owns it. hd_free()
 * it when that is not submitted.
 */
struct core_retirement;
struct core_retirement *core_notify_packets(struct core_stream *stream, union hal_packet *packets,
                                            unsigned n, const void *params);
/*
 * What this thread submits next is of that node of the graph, which lives until the submission is
 * over; NULL: of none any more.
 */
void core_notify_node(const struct heddle_graph *graph, uint32_t node);
/* `position`: that of the first packet in the ring; the call's is right behind them. */
union hal_packet core_retirement_call(struct core_retirement *r, struct hal_ring *ring,
                                      uint64_t position);

/*
 * Where nobody wants RETIRED: no call. The packets' places are told before they are submitted,
 * under the stream's lock; afterwards they stand in a list, or it is freed.
 */
bool core_retirement_is_lazy(const struct core_retirement *r);
void core_retirement_prepare(struct core_retirement *r, struct hal_ring *ring, uint64_t position);
void core_retirement_settle_later(struct core_retirement *r, bool was_submitted);

/* Whether there is anything in lists. */
bool core_retire_any(void);
/* Tells DONE of what is in the lists and complete; whoever waits for it does so behind the wait. */
void core_retire_settle(void);
/* Before n packets are submitted: what they write over was told. Waits where it is not complete. */
struct hal_queue;
enum hd_status core_retire_room(struct hal_queue *queue, unsigned n) HD_MUST_CHECK;
/* Before a queue's ring goes away. */
void core_retire_forget(const struct hal_ring *ring);

#endif
