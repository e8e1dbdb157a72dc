/*
 * PACKET, RETIRED and DONE events of a submission. While somebody wants RETIRED, packets have the
 * flag STAMP, and a host call behind them tells that they are complete: so it comes before a wait
 * for that work returns. Nobody listening, none of this is submitted.
 *
 * The call reads the stamps of the packets' slots. They are still theirs: a slot's stamp is written
 * again when a packet that comes later than the call begins.
 *
 * Where only DONE is wanted there is no host call. What was submitted stands in a list for each
 * ring, in order; calls of the API look which of it has retired. A slot is used again only when
 * its packet was told: core_retire_room().
 */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/device.h"
#include "core/forked.h"
#include "core/notify.h"
#include "core/stream/retire.h"
#include "core/stream/stream.h"
#include "core/stream/work.h"
#include "hal/hal.h"

struct notified_packet {
    uint64_t id;
    uint32_t op;
    struct heddle_work work;
};

/* Of the host call, which frees it; or of a list. */
struct core_retirement {
    struct core_retirement *next; /* in the list; retiring.lock */
    bool is_lazy;                 /* nobody wants RETIRED: no host call */
    struct core_context *ctx;     /* lives longer than its queues */
    void *stream;                 /* the handle: the stream may be gone by then */
    uint64_t correlation;
    struct hal_ring *ring;
    uint64_t position; /* of the first packet */
    unsigned n;
    struct notified_packet packets[];
};

static HD_THREAD_LOCAL struct {
    const struct heddle_graph *graph;
    uint32_t number;
} node;

void core_notify_node(const struct heddle_graph *graph, uint32_t number)
{
    node.graph = graph;
    node.number = number;
}

static struct core_retirement *retire_retirement_create(struct core_stream *stream, unsigned n)
{
    /* Not zeroed, which costs a launch 25 ns: packets are filled one by one. */
    struct core_retirement *r = hd_realloc(NULL, sizeof(*r) + n * sizeof(r->packets[0]));

    if (!r)
        return NULL; /* the event is lost, the work is not */
    r->next = NULL;
    r->ring = NULL;
    r->position = 0;
    r->ctx = stream->ctx;
    r->stream = core_stream_handle(stream);
    r->correlation = tap_correlation();
    r->n = n;
    r->is_lazy = !tap_wants(HEDDLE_KIND(RETIRED));
    return r;
}

struct core_retirement *core_notify_packets(struct core_stream *stream, union hal_packet *packets,
                                            unsigned n, const void *params)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_PACKET, .phase = HEDDLE_PHASE_POINT};
    struct core_retirement *r = NULL;
    struct heddle_work own, *work = &own;

    assert(n > 0);
    for (unsigned i = 0; i < n; i++)
        packets[i].head.correlation = (uint32_t)tap_correlation();
    if (!tap_wants(HEDDLE_KIND(PACKET) | HEDDLE_KIND(RETIRED) | HEDDLE_KIND(DONE)))
        return NULL;
    if (tap_wants(HEDDLE_KIND(RETIRED) | HEDDLE_KIND(DONE)))
        r = retire_retirement_create(stream, n);
    event.context = core_context_handle(stream->ctx);
    event.stream = core_stream_handle(stream);
    for (unsigned i = 0; i < n; i++) {
        event.time_ns = tap_begin_ns();
        event.packet.id = tap_packet_id();
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
        core_work_describe(stream, &packets[i], params, work);
        work->graph = (uintptr_t)node.graph;
        work->node = node.number;
        event.packet.work = work;
        if (tap_wants(HEDDLE_KIND(PACKET)))
            tap_emit(&event);
        work->arguments = NULL; /* the thread's, not the work's */
    }
    return r;
}

static void retire_notify_as(struct core_retirement *r, enum heddle_event_kind kind)
{
    struct heddle_event event = {.kind = (uint8_t)kind, .phase = HEDDLE_PHASE_POINT};
    const struct hal_clock *clock = &r->ctx->device->hal->info.clock;
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
        event.packet.start_ns = hal_clock_host_ns(
            clock, atomic_load_explicit(&stamp->start_ticks, memory_order_relaxed));
        event.packet.end_ns =
            hal_clock_host_ns(clock, atomic_load_explicit(&stamp->end_ticks, memory_order_relaxed));
        if (kind == HEDDLE_EVENT_DONE) /* its listener knows when it was told */
            event.time_ns = event.packet.end_ns;
        tap_emit(&event);
    }
}

/* On a thread of the device, whatever happened to the packets. */
static void retire_retirement_notify(void *arg)
{
    struct core_retirement *r = arg;

    retire_notify_as(r, HEDDLE_EVENT_RETIRED);
    if (tap_wants(HEDDLE_KIND(DONE)))
        retire_notify_as(r, HEDDLE_EVENT_DONE);
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
    p.host_call.func = (uintptr_t)retire_retirement_notify;
    p.host_call.arg = (uintptr_t)r;
    return p;
}

/* ---- lists of what was submitted and not told */

struct retiring_ring {
    struct retiring_ring *next;
    struct hal_ring *ring;
    struct core_retirement *first, **last;
};

static struct {
    struct hd_lock lock; /* held while listeners are told: a wait returns after them */
    struct retiring_ring *rings;
    _Atomic uint32_t waiting; /* retirements in all lists; written with the lock */
} retiring = {.lock = HD_LOCK_INIT(RETIRE, "retirements")};

/* The parent's work is told in the parent. */
void core_retire_in_child(void)
{
    retiring.rings = NULL;
    atomic_store(&retiring.waiting, 0);
}

bool core_retire_any(void)
{
    return atomic_load_explicit(&retiring.waiting, memory_order_relaxed);
}

bool core_retirement_is_lazy(const struct core_retirement *r)
{
    return r->is_lazy;
}

static void retire_waiting_add_locked(uint32_t n)
{
    uint32_t before = atomic_load_explicit(&retiring.waiting, memory_order_relaxed);

    assert(hd_lock_held(&retiring.lock));
    atomic_store_explicit(&retiring.waiting, before + n, memory_order_relaxed);
}

static struct retiring_ring *retire_ring_find_locked(const struct hal_ring *ring)
{
    struct retiring_ring *list = retiring.rings;

    while (list && list->ring != ring)
        list = list->next;
    return list;
}

static struct retiring_ring *retire_ring_add_locked(struct hal_ring *ring)
{
    struct retiring_ring *list = hd_alloc(sizeof(*list));

    if (!list)
        return NULL;
    list->ring = ring;
    list->last = &list->first;
    list->next = retiring.rings;
    retiring.rings = list;
    return list;
}

static uint64_t retire_last_position(const struct core_retirement *r)
{
    return r->position + r->n - 1;
}

static void retire_ring_settle_locked(struct retiring_ring *list)
{
    while (list->first && hal_ring_retired(list->ring) >= retire_last_position(list->first)) {
        struct core_retirement *r = list->first;

        list->first = r->next;
        if (!list->first)
            list->last = &list->first;
        retire_notify_as(r, HEDDLE_EVENT_DONE);
        hd_free(r);
        retire_waiting_add_locked((uint32_t)-1);
    }
}

void core_retire_settle(void)
{
    if (!core_retire_any())
        return;
    hd_lock_acquire(&retiring.lock);
    for (struct retiring_ring *list = retiring.rings; list; list = list->next)
        retire_ring_settle_locked(list);
    hd_lock_release(&retiring.lock);
}

void core_retirement_prepare(struct core_retirement *r, struct hal_ring *ring, uint64_t position)
{
    r->ring = ring;
    r->position = position;
}

/* Whoever waits for the packets holds the stream's lock first: it finds them in the list. */
void core_retirement_settle_later(struct core_retirement *r, bool was_submitted)
{
    struct retiring_ring *list = NULL;

    hd_lock_acquire(&retiring.lock);
    if (was_submitted) {
        list = retire_ring_find_locked(r->ring);
        list = list ? list : retire_ring_add_locked(r->ring);
    }
    if (list) {
        *list->last = r;
        list->last = &r->next;
        retire_waiting_add_locked(1);
    }
    hd_lock_release(&retiring.lock);
    if (!list) /* without memory the event is lost, the work is not */
        hd_free(r);
}

enum hd_status core_retire_room(struct hal_queue *queue, unsigned n)
{
    uint64_t end = hal_queue_submitted(queue) + n;
    struct retiring_ring *list;
    uint64_t position = 0;

    hd_lock_acquire(&retiring.lock);
    list = retire_ring_find_locked(queue->ring);
    for (const struct core_retirement *r = list ? list->first : NULL;
         r && r->position + HAL_RING_SLOTS <= end; r = r->next)
        position = retire_last_position(r);
    hd_lock_release(&retiring.lock);
    if (!position)
        return HD_OK;
    HD_TRY(queue->device->ops->wait(queue->device, &queue->ring->retired, position, UINT64_MAX));
    core_retire_settle();
    return HD_OK;
}

void core_retire_forget(const struct hal_ring *ring)
{
    struct retiring_ring **link = &retiring.rings, *list;

    hd_lock_acquire(&retiring.lock);
    while (*link && (*link)->ring != ring)
        link = &(*link)->next;
    list = *link;
    if (list) {
        retire_ring_settle_locked(list);
        /* What a ring that goes away did not get to is told to nobody. */
        struct core_retirement *r;
        while ((r = list->first)) {
            list->first = r->next;
            hd_free(r);
            retire_waiting_add_locked((uint32_t)-1);
        }
        *link = list->next;
        hd_free(list);
    }
    hd_lock_release(&retiring.lock);
}
