/*
 * PACKET and RETIRED events of a submission. While somebody wants RETIRED, packets have the flag
 * STAMP, and a host call behind them tells that they are complete: so it comes before a wait for
 * that work returns. Nobody listening, none of this is submitted.
 *
 * The call reads the stamps of the packets' slots. They are still theirs: a slot's stamp is written
 * again when a packet that comes later than the call begins.
 */
#include <assert.h>

#include "base/mem.h"
#include "core/core.h"
#include "core/retire.h"
#include "core/tap.h"
#include "core/work.h"
#include "hal/hal.h"

struct retiring {
    uint64_t id;
    uint32_t op;
    struct heddle_work work;
};

/* Of the host call; freed by it. */
struct core_retirement {
    struct core_context *ctx; /* lives longer than its queues */
    void *stream;             /* the handle: the stream may be gone by then */
    uint64_t correlation;
    struct hal_ring *ring;
    uint64_t position; /* of the first packet */
    unsigned n;
    struct retiring packets[];
};

static HD_THREAD_LOCAL struct {
    const struct heddle_graph *graph;
    uint32_t number;
} node;

void core_tap_node(const struct heddle_graph *graph, uint32_t number)
{
    node.graph = graph;
    node.number = number;
}

static struct core_retirement *retirement_create(struct core_stream *stream, unsigned n)
{
    struct core_retirement *r = hd_alloc(sizeof(*r) + n * sizeof(r->packets[0]));

    if (!r)
        return NULL; /* the event is lost, the work is not */
    r->ctx = stream->ctx;
    r->stream = core_stream_handle(stream);
    r->correlation = core_tap_correlation();
    r->n = n;
    return r;
}

struct core_retirement *core_tap_packets(struct core_stream *stream, union hal_packet *packets,
                                         unsigned n)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_PACKET, .phase = HEDDLE_PHASE_POINT};
    struct core_retirement *r = NULL;
    struct heddle_work own, *work = &own;

    assert(n > 0);
    if (core_tap_wants(HEDDLE_KIND(RETIRED)))
        r = retirement_create(stream, n);
    event.context = core_context_handle(stream->ctx);
    event.stream = core_stream_handle(stream);
    for (unsigned i = 0; i < n; i++) {
        packets[i].head.correlation = (uint32_t)core_tap_correlation();
        event.time_ns = 0;
        event.packet.id = core_tap_packet_id();
        event.packet.packet = &packets[i];
        event.packet.op = packets[i].head.op;
        event.packet.graph = node.graph;
        event.packet.node = node.number;
        if (r) {
            packets[i].head.flags |= HAL_FLAG_STAMP;
            r->packets[i].id = event.packet.id;
            r->packets[i].op = event.packet.op;
            work = &r->packets[i].work;
        }
        core_work_describe(stream, &packets[i], work);
        work->graph = (uintptr_t)node.graph;
        work->node = node.number;
        event.packet.work = work;
        core_tap_emit(&event);
    }
    return r;
}

/* On a thread of the device, whatever happened to the packets. */
static void retirement_tell(void *arg)
{
    struct core_retirement *r = arg;
    struct heddle_event event = {.kind = HEDDLE_EVENT_RETIRED, .phase = HEDDLE_PHASE_POINT};
    const struct hal_stamp *stamp;

    event.correlation = r->correlation;
    event.context = core_context_handle(r->ctx);
    event.stream = r->stream;
    event.packet.status = core_context_status(r->ctx);
    for (unsigned i = 0; i < r->n; i++) {
        event.time_ns = 0;
        event.packet.id = r->packets[i].id;
        event.packet.op = r->packets[i].op;
        event.packet.work = &r->packets[i].work;
        stamp = hal_ring_stamp(r->ring, r->position + i);
        event.packet.start_ns = atomic_load(&stamp->start_ns);
        event.packet.end_ns = atomic_load(&stamp->end_ns);
        core_tap_emit(&event);
    }
    hd_free(r);
}

union hal_packet core_retirement_call(struct core_retirement *r, struct hal_ring *ring,
                                      uint64_t position)
{
    union hal_packet p = {
        .host_call = {.head = {.op = HAL_OP_HOST_CALL, .flags = HAL_FLAG_ALWAYS}}};

    assert(r->n < HAL_RING_SLOTS);
    r->ring = ring;
    r->position = position;
    p.host_call.func = (uintptr_t)retirement_tell;
    p.host_call.arg = (uintptr_t)r;
    return p;
}
