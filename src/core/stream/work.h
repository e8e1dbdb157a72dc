/* What packets do, in the words of include/heddle/tap.h: for PACKET and RETIRED events. */
#ifndef HD_CORE_STREAM_WORK_H
#define HD_CORE_STREAM_WORK_H

#include "hal/packet.h"
#include "heddle/tap.h"

struct core_stream;

/*
 * Of a packet that is about to go into the stream's queue; params: of a dispatch. The graph's
 * members are left alone.
 */
void core_work_describe(const struct core_stream *stream, const union hal_packet *packet,
                        const void *params, struct heddle_work *out_work);

#endif
