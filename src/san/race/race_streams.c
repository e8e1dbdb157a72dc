/* Launches of several streams, and what is found between them: see race_streams.h. */
#include "san/race/race_streams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memory.h"

enum { CALLS = 4096 };

/* A launch that was submitted and has not begun. */
struct submitted {
    struct submitted *next;
    uint32_t grid[3];
    uint16_t block[3];
    struct san_order_position position;
};
struct call { /* launches of one call, in order */
    uint32_t correlation;
    struct submitted *first, *last;
};

static struct {
    struct call *calls;                  /* CALLS, by correlation */
    HD_VEC(struct race_between *) found; /* of launches that have not ended */
} streams;                               /* the streams' lock */

/* ---- launches that were submitted */

static void streams_launch_submit(const struct heddle_event *e,
                                  const struct san_order_position *position)
{
    const struct hal_dispatch *p = &((const union hal_packet *)e->packet.packet)->dispatch;
    struct call *call = &streams.calls[e->correlation % CALLS];
    struct submitted *s = hd_new(struct submitted);

    if (!s)
        return; /* it counts as ordered */
    memcpy(s->grid, p->grid, sizeof(s->grid));
    memcpy(s->block, p->block, sizeof(s->block));
    s->position = *position;
    race_streams_lock();
    if (call->correlation != (uint32_t)e->correlation) {
        for (struct submitted *k = call->first, *next; k; k = next) {
            next = k->next;
            hd_free(k);
        }
        call->first = call->last = NULL;
    }
    call->correlation = (uint32_t)e->correlation;
    assert(!call->first == !call->last);
    if (call->last)
        call->last->next = s;
    else
        call->first = s;
    call->last = s;
    race_streams_unlock();
}

static bool streams_is_shape(const struct submitted *s, const struct ir_probe_launch *about)
{
    for (unsigned i = 0; i < 3; i++)
        if (s->grid[i] != about->grid[i] || s->block[i] != about->block[i])
            return false;
    return true;
}

/* The next one of the call. Those before it did not begin: filters, or a kernel disabled them. */
static bool streams_take_locked(const struct ir_probe_launch *about, struct san_order_position *out)
{
    struct call *call = &streams.calls[about->correlation % CALLS];
    struct submitted *s;

    assert(race_streams_are_locked());
    if (!about->correlation || call->correlation != (uint32_t)about->correlation)
        return false;
    while ((s = call->first)) {
        bool is_it = streams_is_shape(s, about);
        *out = s->position;
        call->first = s->next;
        if (!call->first)
            call->last = NULL;
        hd_free(s);
        if (is_it)
            return true;
    }
    return false;
}

/* ---- launches that began */

void race_streams_begin(struct race_launch *launch)
{
    struct race_past *past = launch->blind ? NULL : hd_new(struct race_past);

    if (!past)
        return;
    past->refs = 1;
    past->base = launch->base;
    past->n = launch->ncta;
    past->san = *launch->san;
    past->san.from = past->san.from ? &past->san.stack : NULL;
    race_streams_lock();
    if (streams_take_locked(&launch->san->about, &past->position) &&
        race_past_insert_locked(past)) {
        past->live = launch;
        launch->past = race_past_ref(past);
        if (race_past_collect_locked(past, &launch->low))
            launch->reach = UINT64_C(1) << 32;
        else
            launch->low = launch->base;
    }
    race_streams_unlock();
    race_past_unref(past);
}

/* What it met, in short. */
static void streams_keep_met(struct race_past *past, const struct race_launch *launch)
{
    for (uint32_t i = 0; i < RACE_PROBE_CHUNKS; i++)
        for (uint32_t k = 0; launch->probes[i] && k < RACE_PROBE_CHUNK; k++) {
            struct race_met met = {i * RACE_PROBE_CHUNK + k, launch->probes[i][k]};
            if (met.at && !hd_vec_push(&past->met, met))
                return;
        }
}

static int streams_by_address(const void *a, const void *b)
{
    const struct race_between *const *x = a, *const *y = b;

    return (*x)->address<(*y)->address ? -1 : (*x)->address>(*y)->address;
}

typedef HD_VEC(struct race_between *) between_list;

static void streams_report_found(between_list *list)
{
    if (list->len)
        qsort(list->at, list->len, sizeof(*list->at), streams_by_address);
    for (size_t i = 0; i < list->len; i++) {
        race_between_report(list->at[i]);
        race_past_unref(list->at[i]->past[0]);
        race_past_unref(list->at[i]->past[1]);
        hd_free(list->at[i]);
    }
    hd_vec_fini(list);
}

void race_streams_end(struct race_launch *launch)
{
    struct race_past *past = launch->past;
    between_list list = {0};

    if (!past)
        return;
    launch->past = NULL;
    race_streams_lock();
    assert(past->live == launch);
    streams_keep_met(past, launch);
    past->live = NULL;
    /* What was found between launches that have ended. */
    size_t kept = 0;
    assert(race_streams_are_locked());
    for (size_t i = 0; i < streams.found.len; i++) {
        struct race_between *b = streams.found.at[i];
        if (b->past[0]->live || b->past[1]->live || !hd_vec_push(&list, b))
            streams.found.at[kept++] = b;
    }
    streams.found.len = kept;
    race_streams_unlock();
    race_past_forget_unordered(past);
    streams_report_found(&list);
    race_ops_launch_end(past);
    race_past_unref(past);
}

/* ---- accesses */

static bool streams_is_strong(uint32_t info)
{
    return info & (RACE_STRONG | RACE_ATOM | RACE_VOLATILE);
}

static bool streams_is_same(const struct race_between *a, const struct race_between *b)
{
    for (unsigned i = 0; i < 2; i++)
        if (a->past[i] != b->past[i] || a->info[i] >> 8 != b->info[i] >> 8)
            return false;
    return true;
}

static void streams_note_locked(const struct race_between *what)
{
    struct race_between *have = NULL;

    assert(race_streams_are_locked() && what->past[0] && what->past[1]);
    for (size_t i = 0; i < streams.found.len && !have; i++)
        if (streams_is_same(streams.found.at[i], what))
            have = streams.found.at[i];
    if (have) {
        /*
         * The same of a pair, whichever came first in this run: a lower address, then a lower
         * thread.
         */
        uint64_t count = have->count + what->count;

        if (what->address < have->address ||
            (what->address == have->address && what->epoch[0] < have->epoch[0]))
            *have = *what;
        have->count = count;
        return;
    }
    have = hd_new(struct race_between);
    if (!have || !hd_vec_push(&streams.found, have)) {
        hd_free(have);
        return;
    }
    *have = *what;
    race_past_ref(have->past[0]);
    race_past_ref(have->past[1]);
}

void race_streams_against(struct race_cta *cta, const struct race_hazard *h)
{
    struct race_past *past = cta->launch->past, *other;

    if (!past)
        return;
    race_streams_lock();
    other = race_past_unordered_locked(past, race_serial(h->before));
    if (other && streams_is_strong(h->before_is) && streams_is_strong(h->now_is) &&
        !((h->before_is | h->now_is) & (RACE_CTA | RACE_CLUSTER))) {
        /* A read by which somebody waits, of what a kernel in another stream wrote for that. */
        if (h->now_is & RACE_STRONG && !(h->before_is & RACE_READS))
            (void)!hd_vec_push(&past->awaited, other->base);
    } else if (other &&
               !race_is_renewed_locked(h->address, other->position.op, past->position.op)) {
        /* The first one is what was submitted first. */
        const uint64_t now = cta->epoch[h->thread];
        unsigned mine = other->position.op.number < past->position.op.number;
        assert(past != other && race_serial(h->before) - other->base < other->n);
        struct race_between b = {.address = h->address,
                                 .count = HD_MIN(h->access->size_B, (uint64_t)16)};

        b.past[mine] = past;
        b.past[!mine] = other;
        b.epoch[mine] = now;
        b.epoch[!mine] = h->before;
        b.info[mine] = h->now_is;
        b.info[!mine] = h->before_is;
        streams_note_locked(&b);
    }
    race_streams_unlock();
}

/* ---- what the taps tell */

/* The outermost call of the thread. */
static HD_THREAD_LOCAL struct {
    unsigned depth;
    const char *name;
} calling;

static void streams_on_packet(const struct heddle_event *e)
{
    struct san_order_position position;

    race_host_submit(e);
    if (!san_order_packet(e, &position))
        return;
    if (e->packet.op == HAL_OP_DISPATCH)
        streams_launch_submit(e, &position);
    else
        race_ops_submit(e, calling.depth ? calling.name : "");
}

void race_streams_host(const struct heddle_event *e)
{
    bool is_call = e->kind == HEDDLE_EVENT_DRIVER || e->kind == HEDDLE_EVENT_RUNTIME;

    san_memory_host(SAN_RACECHECK, e);
    if (is_call && e->phase == HEDDLE_PHASE_BEGIN && !calling.depth++) {
        calling.name = e->call.entry->name;
        race_host_call_begin();
    }
    if (e->kind == HEDDLE_EVENT_DRIVER || e->kind == HEDDLE_EVENT_OBJECT)
        san_order_host(e);
    else if (e->kind == HEDDLE_EVENT_PACKET)
        streams_on_packet(e);
    else if (e->kind == HEDDLE_EVENT_MEMORY && !e->memory.is_freed)
        race_memory_is_born(e->memory.va, e->memory.size_B);
    else if (e->kind == HEDDLE_EVENT_MODULE && e->object.is_destroyed)
        race_pasts_lose_code();
    else if (e->kind == HEDDLE_EVENT_RETIRED)
        race_host_retire(e);
    /* Now that the order knows of it. */
    if (is_call && e->phase == HEDDLE_PHASE_END && calling.depth && !--calling.depth)
        race_host_call_end();
}

bool race_streams_start(void)
{
    if (!streams.calls)
        streams.calls = hd_alloc_array(CALLS, sizeof(*streams.calls));
    san_memory_start(SAN_RACECHECK, NULL);
    return streams.calls && race_pasts_start() && race_host_start() && race_ops_start();
}
