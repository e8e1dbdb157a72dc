/*
 * Telling when packets are done (retire.c): between core's streams and its taps.
 */
#ifndef HD_CORE_RETIRE_H
#define HD_CORE_RETIRE_H

#include "core/core.h"
#include "hal/packet.h"
#include "heddle/tap.h"

/*
 * Packets that are about to be submitted: gives them the correlation, tells PACKET, and asks for
 * their stamps if somebody wants RETIRED. The result, NULL when nobody does, is what has to be
 * submitted behind them: _call(), which then owns it. hd_free() it when that is not submitted.
 */
struct core_retirement;
struct core_retirement *core_tap_packets(struct core_stream *stream, union hal_packet *packets,
                                         unsigned n);
/*
 * What this thread submits next is of that node of the graph, which lives until the submission is
 * over; NULL: of none any more.
 */
void core_tap_node(const struct heddle_graph *graph, uint32_t node);
/* `position`: that of the first packet in the ring; the call's is right behind them. */
union hal_packet core_retirement_call(struct core_retirement *r, struct hal_ring *ring,
                                      uint64_t position);

#endif
