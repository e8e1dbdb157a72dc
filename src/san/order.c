/* Vector clocks of streams, graphs, events and the host. */
#include "san/order.h"

#include <assert.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memory.h"

enum kind { KIND_NON_BLOCKING, KIND_BLOCKING, KIND_DEFAULT, KIND_BRANCH };

/* Streams that come when all places are taken share the last one. */
enum { TIMELINE_SHARED = SAN_ORDER_STREAMS - 1, TIMELINE_NONE = SAN_ORDER_STREAMS };

struct stream {
    const void *context;
    enum kind kind;
    uint32_t thread; /* of a thread's default stream; 0 */
    uint32_t name;
    uint32_t timeline; /* PLACE_NONE: it had no work yet */
};

struct timeline {
    const void *context;
    enum kind kind;
    bool is_owned; /* by a stream that exists */
    uint64_t last; /* number of the last operation */
    struct san_order_clock clock;
};

static struct {
    struct hd_lock lock;   /* all below */
    struct hd_map streams; /* handle -> struct stream; the legacy ones by order_legacy_key() */
    struct hd_map events;  /* handle -> struct san_order_clock */
    struct timeline timelines[SAN_ORDER_STREAMS];
    struct san_order_clock host;
    uint64_t last;
    uint32_t names;
    uint32_t nworking; /* streams that were made to get work, or got some; branches */
    bool is_off;       /* order that cannot be followed, or no memory */
} order = {.lock = HD_LOCK_INIT(SAN_ORDER, "clocks of streams")};

void san_order_lock(void)
{
    hd_lock_acquire(&order.lock);
}

void san_order_unlock(void)
{
    hd_lock_release(&order.lock);
}

/* ---- clocks */

void san_order_join(struct san_order_clock *to, const struct san_order_clock *from)
{
    for (unsigned i = 0; i < SAN_ORDER_STREAMS; i++)
        to->at[i] = HD_MAX(to->at[i], from->at[i]);
}

/* Everything up to now. */
void san_order_join_all_locked(struct san_order_clock *to)
{
    assert(hd_lock_held(&order.lock));
    for (unsigned i = 0; i < SAN_ORDER_STREAMS; i++)
        to->at[i] = order.last;
}

struct san_order_clock *san_order_host_locked(void)
{
    assert(hd_lock_held(&order.lock));
    return &order.host;
}

void san_order_give_up_locked(void)
{
    assert(hd_lock_held(&order.lock));
    order.is_off = true;
}

/* ---- places */

struct san_order_clock *san_order_timeline_locked(uint32_t timeline)
{
    assert(hd_lock_held(&order.lock) && timeline < SAN_ORDER_STREAMS);
    return &order.timelines[timeline].clock;
}

/* Nobody has it, and all that was done there is known to whoever has the clock. */
static bool order_is_free(const struct timeline *p, const struct san_order_clock *clock,
                          uint32_t index)
{
    return !p->is_owned && p->last <= clock->at[index];
}

static uint32_t order_timeline_take(const struct stream *stream)
{
    assert(stream->timeline == TIMELINE_NONE);
    for (uint32_t i = 0; i < TIMELINE_SHARED; i++) {
        struct timeline *p = &order.timelines[i];
        if (!order_is_free(p, &order.host, i))
            continue;
        p->context = stream->context;
        p->kind = stream->kind;
        p->is_owned = true;
        p->clock = order.host;
        order.nworking++;
        return i;
    }
    return TIMELINE_SHARED;
}

static bool order_is_with_default(const struct timeline *p, uint32_t index, const void *context)
{
    return index == TIMELINE_SHARED ||
           (p->context == context && (p->kind == KIND_BLOCKING || p->kind == KIND_DEFAULT));
}

/* What the next operation there comes after. */
static void order_catch_up_locked(uint32_t index)
{
    struct timeline *at = &order.timelines[index];

    assert(hd_lock_held(&order.lock) && index < SAN_ORDER_STREAMS);
    san_order_join(&at->clock, &order.host);
    if (order.is_off || index == TIMELINE_SHARED) {
        san_order_join_all_locked(&at->clock);
        return;
    }
    for (uint32_t i = 0; i < SAN_ORDER_STREAMS && at->kind != KIND_NON_BLOCKING; i++) {
        const struct timeline *p = &order.timelines[i];
        if (order_is_with_default(p, i, at->context) &&
            (at->kind == KIND_DEFAULT || p->kind == KIND_DEFAULT))
            san_order_join(&at->clock, &p->clock);
    }
}

static struct san_order_op order_step_locked(uint32_t index, struct san_order_clock *clock)
{
    assert(clock->at[index] <= order.last && order.timelines[index].last <= order.last);
    clock->at[index] = order.timelines[index].last = ++order.last;
    return (struct san_order_op){index, order.last};
}

static struct san_order_op order_submit_locked(uint32_t index)
{
    order_catch_up_locked(index);
    return order_step_locked(index, &order.timelines[index].clock);
}

void san_order_join_context_locked(struct san_order_clock *to, const void *context)
{
    assert(hd_lock_held(&order.lock));
    for (uint32_t i = 0; i < SAN_ORDER_STREAMS; i++)
        if (!context || order.timelines[i].context == context || i == TIMELINE_SHARED)
            san_order_join(to, &order.timelines[i].clock);
}

/* ---- streams */

/* Contexts and streams are objects, so an odd address is none of theirs. */
static uint64_t order_legacy_key(const void *context)
{
    return (uintptr_t)context | 1;
}

static struct stream *order_stream_add_locked(uint64_t key, const struct stream *what)
{
    struct stream *stream = hd_new(struct stream);

    assert(!hd_map_get_u64(&order.streams, key));
    if (!stream || !hd_map_put_u64(&order.streams, key, stream)) {
        hd_free(stream);
        order.is_off = true;
        return NULL;
    }
    *stream = *what;
    stream->timeline = TIMELINE_NONE;
    if (what->kind != KIND_DEFAULT && !what->thread)
        order.nworking += 2;
    return stream;
}

/* One that nobody told of is the legacy default stream of its context. */
static struct stream *order_stream_of_work_locked(const void *context, const void *handle)
{
    struct stream *stream = hd_map_get_u64(&order.streams, (uintptr_t)handle);
    struct stream legacy = {.context = context, .kind = KIND_DEFAULT};

    if (!stream)
        stream = hd_map_get_u64(&order.streams, order_legacy_key(context));
    return stream ? stream : order_stream_add_locked(order_legacy_key(context), &legacy);
}

/* Its place, which it gets now; without memory the shared one. */
static uint32_t order_timeline_of_work_locked(const void *context, const void *handle)
{
    struct stream *stream = order_stream_of_work_locked(context, handle);

    if (!stream)
        return TIMELINE_SHARED;
    if (stream->timeline == TIMELINE_NONE)
        stream->timeline = order_timeline_take(stream);
    return stream->timeline;
}

static struct stream *order_per_thread_locked(const struct heddle_event *e)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&order.streams, &it)) {
        struct stream *stream = it.value;
        if (stream->thread && stream->thread == e->thread && stream->context == e->context)
            return stream;
    }
    return NULL;
}

/* Whose entries take NULL for the thread's default stream. */
static bool order_is_per_thread(const char *symbol)
{
    return strstr(symbol, "_ptsz") || strstr(symbol, "_ptds");
}

/* As arguments have it: 0 and the two constants of the API stand for default streams. */
static struct stream *order_stream_of_arg_locked(const struct heddle_event *e, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;

    if (value == 2 || (!value && order_is_per_thread(e->call.entry->name)))
        return order_per_thread_locked(e);
    return hd_map_get_u64(&order.streams, value > 2 ? value : order_legacy_key(e->context));
}

struct san_order_clock *san_order_stream_locked(const struct heddle_event *e, const void *handle,
                                                uint32_t *out_timeline)
{
    struct stream *stream = order_stream_of_arg_locked(e, handle);

    if (stream && stream->timeline == TIMELINE_NONE)
        stream->timeline = order_timeline_take(stream);
    if (!stream && (uintptr_t)handle < 2 && !order_is_per_thread(e->call.entry->name)) {
        /* The legacy stream stands for others, whether or not it had work. */
        *out_timeline = order_timeline_of_work_locked(e->context, NULL);
        order_catch_up_locked(*out_timeline);
        return &order.timelines[*out_timeline].clock;
    }
    if (!stream)
        return NULL;
    order_catch_up_locked(stream->timeline);
    *out_timeline = stream->timeline;
    return &order.timelines[stream->timeline].clock;
}

static void order_stream_begin_locked(const struct heddle_event *e)
{
    struct stream what = {.context = e->context, .kind = KIND_BLOCKING};

    if (hd_map_get_u64(&order.streams, (uintptr_t)e->object.handle))
        return;
    if (e->object.flags & HEDDLE_STREAM_NON_BLOCKING)
        what.kind = KIND_NON_BLOCKING;
    else if (e->object.flags & HEDDLE_STREAM_DEFAULT)
        what.kind = KIND_DEFAULT;
    if (e->object.flags & HEDDLE_STREAM_PER_THREAD)
        what.thread = e->thread;
    else
        what.name = ++order.names;
    (void)order_stream_add_locked((uintptr_t)e->object.handle, &what);
}

/* Its place is another's when the host knows that all of it is complete. */
static void order_stream_end_locked(const void *handle)
{
    struct stream *stream = hd_map_get_u64(&order.streams, (uintptr_t)handle);

    if (!stream)
        return;
    assert(stream->timeline >= TIMELINE_SHARED || order.timelines[stream->timeline].is_owned);
    if (stream->timeline < TIMELINE_SHARED)
        order.timelines[stream->timeline].is_owned = false;
    (void)hd_map_remove_u64(&order.streams, (uintptr_t)handle);
    hd_free(stream);
}

/* ---- graphs */

/* The launch that the thread is making: clocks of nodes, as far as they were asked for. */
static HD_THREAD_LOCAL struct {
    uint64_t correlation;
    uint32_t nnodes;
    struct san_order_clock begin;
    struct san_order_clock *nodes;
    bool *is_known;
} launching;

enum { GRAPH_NODES_MAX = 1 << 14 }; /* larger ones count as a chain */

static void order_graph_end(void)
{
    hd_free(launching.nodes);
    hd_free(launching.is_known);
    launching.nodes = NULL;
    launching.is_known = NULL;
    launching.correlation = 0;
}

static bool order_graph_begin(const struct heddle_event *e, const struct san_order_clock *begin)
{
    const struct heddle_graph *graph = e->packet.graph;

    if (launching.correlation == e->correlation && launching.nnodes == graph->nnodes)
        return launching.nodes && launching.is_known;
    order_graph_end();
    launching.correlation = e->correlation;
    launching.nnodes = graph->nnodes;
    launching.begin = *begin;
    if (graph->nnodes <= GRAPH_NODES_MAX) {
        launching.nodes = hd_alloc_array(graph->nnodes + 1u, sizeof(*launching.nodes));
        launching.is_known = hd_alloc_array(graph->nnodes + 1u, sizeof(*launching.is_known));
    }
    return launching.nodes && launching.is_known;
}

/* All nodes up to this one that are not known: they have no work, so they are what is before. */
static const struct san_order_clock *order_node_clock(const struct heddle_graph *graph,
                                                      uint32_t node)
{
    assert(node < launching.nnodes);
    for (uint32_t i = 0; i <= node; i++) {
        struct san_order_clock *clock = &launching.nodes[i];
        if (launching.is_known[i])
            continue;
        *clock = launching.begin;
        for (uint32_t k = graph->first[i]; k < graph->first[i + 1]; k++) {
            assert(graph->after[k] < i); /* nodes stand behind what they wait for */
            san_order_join(clock, &launching.nodes[graph->after[k]]);
        }
        launching.is_known[i] = true;
    }
    return &launching.nodes[node];
}

/* The stream's own, if all there is ahead of the node; else one where that holds. */
static uint32_t order_branch_timeline(uint32_t own, const struct san_order_clock *clock)
{
    if (order.timelines[own].last <= clock->at[own])
        return own;
    for (uint32_t i = 0; i < TIMELINE_SHARED; i++) {
        struct timeline *p = &order.timelines[i];
        /* A default stream still waits for streams that are gone. */
        if (!order_is_free(p, p->kind == KIND_BRANCH ? clock : &order.host, i))
            continue;
        p->kind = KIND_BRANCH;
        order.nworking += 2;
        p->context = order.timelines[own].context;
        return i;
    }
    return TIMELINE_NONE;
}

static bool order_node_submit_locked(const struct heddle_event *e, uint32_t own,
                                     struct san_order_position *out)
{
    struct timeline *stream = &order.timelines[own];

    if (order.is_off || own == TIMELINE_SHARED || !order_graph_begin(e, &stream->clock))
        return false;
    const struct san_order_clock *known = order_node_clock(e->packet.graph, e->packet.node);
    uint32_t timeline = order_branch_timeline(own, known);
    if (timeline == TIMELINE_NONE)
        return false;
    struct san_order_clock *clock = &launching.nodes[e->packet.node];
    out->op = order_step_locked(timeline, clock);
    out->after = *clock;
    if (timeline != own)
        order.timelines[timeline].clock = *clock;
    san_order_join(&stream->clock, clock);
    return true;
}

/* ---- work */

static HD_THREAD_LOCAL struct {
    uint64_t packet; /* the last one, and whether it is work */
    bool is_work;
    struct san_order_position position;
    struct san_order_copies copies;
} here;

static enum san_order_memory order_memory_at(uint64_t va)
{
    struct san_block *block = san_memory_live(va);
    enum san_order_memory memory = !block               ? SAN_ORDER_PAGEABLE
                                   : block->memory == 1 ? SAN_ORDER_DEVICE
                                   : block->memory == 4 ? SAN_ORDER_MANAGED
                                                        : SAN_ORDER_HOST;

    san_block_unref(block);
    return memory;
}

static void order_leave_defaults_locked(uint32_t index)
{
    const struct timeline *at = &order.timelines[index];

    for (uint32_t i = 0; i < TIMELINE_SHARED && at->kind == KIND_DEFAULT; i++)
        if (order.timelines[i].kind == KIND_DEFAULT)
            san_order_join(&order.timelines[i].clock, &at->clock);
}

static void order_work_locked(const struct heddle_event *e, struct san_order_position *out)
{
    const struct stream *stream = order_stream_of_work_locked(e->context, e->stream);
    uint32_t timeline = order_timeline_of_work_locked(e->context, e->stream);

    order_catch_up_locked(timeline);
    if (e->packet.op == HAL_OP_COPY) {
        /*
         * A copy in a default stream may be one between devices, where both go on after it (CUDA
         * C++ Programming Guide, Peer-to-Peer Memory Copy): it is in the default streams of all.
         */
        struct timeline *at = &order.timelines[timeline];

        for (uint32_t i = 0; i < TIMELINE_SHARED && at->kind == KIND_DEFAULT; i++) {
            struct timeline *other = &order.timelines[i];
            if (other->kind != KIND_DEFAULT || other->context == at->context)
                continue;
            order_catch_up_locked(i);
            san_order_join(&at->clock, &other->clock);
        }
    }
    out->stream = stream ? stream->name : 0;
    if (!e->packet.graph || !order_node_submit_locked(e, timeline, out)) {
        out->op = order_submit_locked(timeline);
        out->after = order.timelines[timeline].clock;
    }
    if (e->packet.op == HAL_OP_COPY)
        order_leave_defaults_locked(timeline);
    const union hal_packet *p = e->packet.packet;
    bool is_copy = e->packet.op == HAL_OP_COPY;
    struct san_order_copy copy = {.timeline = timeline};
    if (e->packet.op == HAL_OP_DISPATCH)
        return;
    copy.dst = order_memory_at(is_copy ? p->copy.dst : p->fill.dst);
    copy.src = is_copy ? order_memory_at(p->copy.src) : copy.dst;
    if (here.copies.n < SAN_ORDER_COPIES)
        here.copies.at[here.copies.n] = copy;
    here.copies.n++;
}

/* A host function of a graph: whatever else hears of it knows what was before. */
static void order_host_node_locked(const struct heddle_event *e)
{
    uint32_t timeline = order_timeline_of_work_locked(e->context, e->stream);

    order_catch_up_locked(timeline);
    san_order_join(&order.host, &order.timelines[timeline].clock);
}

bool san_order_packet(const struct heddle_event *e, struct san_order_position *out)
{
    uint32_t op = e->packet.op;

    if (!e->correlation)
        return false;
    if (here.packet != e->packet.id) {
        here.packet = e->packet.id;
        here.is_work = op == HAL_OP_DISPATCH || op == HAL_OP_COPY || op == HAL_OP_FILL;
        hd_lock_acquire(&order.lock);
        if (here.is_work)
            order_work_locked(e, &here.position);
        else if (op == HAL_OP_HOST_CALL && e->packet.graph)
            order_host_node_locked(e);
        hd_lock_release(&order.lock);
    }
    *out = here.position;
    return here.is_work;
}

struct san_order_op san_order_submit(const struct heddle_event *e,
                                     struct san_order_clock *out_before)
{
    struct san_order_op op;

    hd_lock_acquire(&order.lock);
    op = order_submit_locked(order_timeline_of_work_locked(e->context, e->stream));
    *out_before = order.timelines[op.stream].clock;
    hd_lock_release(&order.lock);
    return op;
}

uint64_t san_order_now(void)
{
    hd_lock_acquire(&order.lock);
    uint64_t now = order.last;
    hd_lock_release(&order.lock);
    return now;
}

bool san_order_has_several(void)
{
    hd_lock_acquire(&order.lock);
    bool several = order.nworking > 1;
    hd_lock_release(&order.lock);
    return several;
}

void san_order_host_clock(struct san_order_clock *out)
{
    hd_lock_acquire(&order.lock);
    *out = order.host;
    if (order.is_off)
        san_order_join_all_locked(out);
    hd_lock_release(&order.lock);
}

/* ---- events */

struct san_order_clock *san_order_event_locked(const void *event)
{
    assert(hd_lock_held(&order.lock));
    return hd_map_get_u64(&order.events, (uintptr_t)event);
}

/* Without memory for it nothing is told apart any more. */
void san_order_record_locked(const struct heddle_event *e, const void *handle, const void *stream)
{
    struct san_order_clock *clock = san_order_event_locked(handle);
    const struct san_order_clock *from;
    uint32_t timeline;

    if (!clock) {
        clock = hd_new(struct san_order_clock);
        if (!clock || !hd_map_put_u64(&order.events, (uintptr_t)handle, clock)) {
            hd_free(clock);
            order.is_off = true;
            return;
        }
    }
    from = san_order_stream_locked(e, stream, &timeline);
    *clock = from ? *from : order.host;
}

static void order_event_end_locked(const void *handle)
{
    hd_free(san_order_event_locked(handle));
    (void)hd_map_remove_u64(&order.events, (uintptr_t)handle);
}

/* ---- what the taps tell */

void san_order_object(const struct heddle_event *e)
{
    hd_lock_acquire(&order.lock);
    if (!strcmp(e->object.type, "stream") && e->object.is_destroyed)
        order_stream_end_locked(e->object.handle);
    else if (!strcmp(e->object.type, "stream"))
        order_stream_begin_locked(e);
    else if (!strcmp(e->object.type, "event") && e->object.is_destroyed)
        order_event_end_locked(e->object.handle);
    hd_lock_release(&order.lock);
}

void san_order_call_begin(void)
{
    order_graph_end();
    here.copies.n = 0;
}

const struct san_order_copies *san_order_call_end(void)
{
    order_graph_end();
    return &here.copies;
}

static void order_map_clear(struct hd_map *map)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(map, &it))
        hd_free(it.value);
    hd_map_fini(map);
    hd_map_init(map);
}

void san_order_stop(void)
{
    hd_lock_acquire(&order.lock);
    order_map_clear(&order.streams);
    order_map_clear(&order.events);
    memset(order.timelines, 0, sizeof(order.timelines));
    order.host = (struct san_order_clock){0};
    order.last = order.names = 0;
    order.is_off = false;
    hd_lock_release(&order.lock);
    order_graph_end();
    memset(&here, 0, sizeof(here));
}
