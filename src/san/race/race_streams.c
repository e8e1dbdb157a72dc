/* Launches of several streams: see race_streams.h. */
#include "san/race/race_streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memory.h"

enum { PASTS = 1024, CALLS = 4096, BIRTHS = 4096 };

/* A launch that was submitted and has not begun. */
struct submitted {
    struct submitted *next;
    uint32_t grid[3];
    uint16_t block[3];
    struct san_order_position position;
};
struct birth { /* memory that was given out behind operation `number` */
    uint64_t va, size_B, number;
};
struct call { /* launches of one call, in order */
    uint32_t correlation;
    struct submitted *first, *last;
};

static struct {
    pthread_mutex_t lock;                /* all below */
    struct call *calls;                  /* CALLS, by correlation */
    race_pasts pasts;                    /* by serials; PASTS at most */
    HD_VEC(struct race_between *) found; /* of launches that have not ended */
    struct birth *births;                /* a ring of BIRTHS */
    uint64_t nbirths;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(streams, streams.lock);

void race_streams_lock(void)
{
    pthread_mutex_lock(&streams.lock);
}

void race_streams_unlock(void)
{
    pthread_mutex_unlock(&streams.lock);
}

/* ---- launches that were submitted */

static void call_clear(struct call *call)
{
    for (struct submitted *s = call->first, *next; s; s = next) {
        next = s->next;
        hd_free(s);
    }
    call->first = call->last = NULL;
}

static void launch_submit(const struct heddle_event *e, const struct san_order_position *position)
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
    if (call->correlation != (uint32_t)e->correlation)
        call_clear(call);
    call->correlation = (uint32_t)e->correlation;
    if (call->last)
        call->last->next = s;
    else
        call->first = s;
    call->last = s;
    race_streams_unlock();
}

static bool is_shape(const struct submitted *s, const struct ir_probe_launch *about)
{
    for (unsigned i = 0; i < 3; i++)
        if (s->grid[i] != about->grid[i] || s->block[i] != about->block[i])
            return false;
    return true;
}

/* The next one of the call. Those before it did not begin: filters, or a kernel disabled them. */
static bool take_locked(const struct ir_probe_launch *about, struct san_order_position *out)
{
    struct call *call = &streams.calls[about->correlation % CALLS];
    struct submitted *s;

    if (!about->correlation || call->correlation != (uint32_t)about->correlation)
        return false;
    while ((s = call->first)) {
        bool is_it = is_shape(s, about);
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

static void forget_unordered(struct race_past *past)
{
    for (size_t i = 0; i < past->unordered.len; i++)
        race_past_unref(past->unordered.at[i]);
    hd_vec_fini(&past->unordered);
}

void race_past_unref(struct race_past *past)
{
    if (!past || atomic_fetch_sub(&past->refs, 1) > 1)
        return;
    forget_unordered(past);
    hd_vec_fini(&past->awaited);
    hd_vec_fini(&past->met);
    hd_free(past);
}

static struct race_past *past_ref(struct race_past *past)
{
    atomic_fetch_add(&past->refs, 1);
    return past;
}

/* The first that begins behind the serial. */
static size_t behind(const race_pasts *pasts, uint32_t serial)
{
    size_t low = 0, high = pasts->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pasts->at[middle]->base <= serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct race_past *race_pasts_find(const race_pasts *pasts, uint32_t serial)
{
    size_t i = behind(pasts, serial);
    struct race_past *past = i ? pasts->at[i - 1] : NULL;

    return past && serial - past->base < past->n ? past : NULL;
}

static bool insert_locked(struct race_past *past)
{
    size_t at = behind(&streams.pasts, past->base);

    if (streams.pasts.len == PASTS) {
        race_past_unref(streams.pasts.at[0]);
        memmove(&streams.pasts.at[0], &streams.pasts.at[1], (PASTS - 1) * sizeof(past));
        streams.pasts.len--;
        at = behind(&streams.pasts, past->base);
    }
    if (!hd_vec_reserve(&streams.pasts, streams.pasts.len + 1))
        return false;
    memmove(&streams.pasts.at[at + 1], &streams.pasts.at[at],
            (streams.pasts.len - at) * sizeof(past));
    streams.pasts.at[at] = past_ref(past);
    streams.pasts.len++;
    return true;
}

/* Those that began before and are not ordered before it. */
static bool collect_locked(struct race_past *past, uint32_t *low)
{
    for (size_t i = 0; i < streams.pasts.len; i++) {
        struct race_past *other = streams.pasts.at[i];
        if (other->base >= past->base ||
            san_order_is_before(other->position.op, &past->position.after))
            continue;
        if (!hd_vec_push(&past->unordered, other))
            return false;
        past_ref(other);
        *low = HD_MIN(*low, other->base);
    }
    return true;
}

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
    past->live = launch;
    race_streams_lock();
    if (take_locked(&launch->san->about, &past->position) && insert_locked(past)) {
        launch->past = past_ref(past);
        if (collect_locked(past, &launch->low))
            launch->reach = UINT64_C(1) << 32;
        else
            launch->low = launch->base;
    }
    race_streams_unlock();
    race_past_unref(past);
}

/* What it met, in short. */
static void keep_met(struct race_past *past, const struct race_launch *launch)
{
    for (uint32_t i = 0; i < RACE_PROBE_CHUNKS; i++)
        for (uint32_t k = 0; launch->probes[i] && k < RACE_PROBE_CHUNK; k++) {
            struct race_met met = {i * RACE_PROBE_CHUNK + k, launch->probes[i][k]};
            if (met.at && !hd_vec_push(&past->met, met))
                return;
        }
}

static int by_address(const void *a, const void *b)
{
    const struct race_between *const *x = a, *const *y = b;

    return (*x)->address<(*y)->address ? -1 : (*x)->address>(*y)->address;
}

typedef HD_VEC(struct race_between *) between_list;

/* What was found between launches that have ended. */
static void take_found_locked(between_list *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < streams.found.len; i++) {
        struct race_between *b = streams.found.at[i];
        if (b->past[0]->live || b->past[1]->live || !hd_vec_push(out, b))
            streams.found.at[kept++] = b;
    }
    streams.found.len = kept;
}

static void tell_found(between_list *list)
{
    if (list->len)
        qsort(list->at, list->len, sizeof(*list->at), by_address);
    for (size_t i = 0; i < list->len; i++) {
        race_between_tell(list->at[i]);
        race_between_free(list->at[i]);
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
    keep_met(past, launch);
    past->live = NULL;
    take_found_locked(&list);
    race_streams_unlock();
    forget_unordered(past);
    tell_found(&list);
    race_ops_launch_end(past);
    race_past_unref(past);
}

const struct ir_instr *race_past_probe_locked(const struct race_past *past, uint32_t number)
{
    if (past->is_gone)
        return NULL;
    if (past->live)
        return race_probe(past->live, number);
    for (size_t i = 0; i < past->met.len; i++)
        if (past->met.at[i].number == number)
            return past->met.at[i].at;
    return NULL;
}

void race_pasts_collect_locked(const struct san_order_position *position, race_pasts *out)
{
    for (size_t i = 0; i < streams.pasts.len; i++) {
        struct race_past *past = streams.pasts.at[i];
        if (past->live || past->is_gone || san_order_is_ordered(&past->position, position))
            continue;
        if (!hd_vec_push(out, past))
            return;
        past_ref(past);
    }
}

void race_pasts_unknown_locked(const struct san_order_clock *clock, race_pasts *out)
{
    for (size_t i = 0; i < streams.pasts.len; i++) {
        struct race_past *past = streams.pasts.at[i];
        if (past->live || past->is_gone || san_order_is_before(past->position.op, clock))
            continue;
        if (!hd_vec_push(out, past))
            return;
        past_ref(past);
    }
}

void race_pasts_fini(race_pasts *pasts)
{
    for (size_t i = 0; i < pasts->len; i++)
        race_past_unref(pasts->at[i]);
    hd_vec_fini(pasts);
}

/* ---- order */

static bool has_heard(const struct race_past *past, const struct race_past *of)
{
    for (size_t i = 0; i < past->awaited.len; i++)
        if (past->awaited.at[i] == of->base)
            return true;
    return false;
}

/* Began later, and before this one has ended; or not in the snapshot: ordered, or not known. */
static struct race_past *unordered_locked(const struct race_past *past, uint32_t serial)
{
    struct race_past *other = serial < past->base ? race_pasts_find(&past->unordered, serial)
                                                  : race_pasts_find(&streams.pasts, serial);

    if (!other || has_heard(past, other) || has_heard(other, past))
        return NULL;
    return san_order_is_ordered(&other->position, &past->position) ? NULL : other;
}

bool race_streams_ordered(struct race_launch *launch, uint32_t serial)
{
    bool ordered = true;

    if (!launch->past)
        return true;
    race_streams_lock();
    ordered = !unordered_locked(launch->past, serial);
    race_streams_unlock();
    return ordered;
}

/* The first birth at or behind the operation. */
static uint64_t birth_behind_locked(uint64_t number)
{
    uint64_t high = streams.nbirths, low = high > BIRTHS ? high - BIRTHS : 0;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (streams.births[middle % BIRTHS].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool race_is_renewed_locked(uint64_t va, struct san_order_op a, struct san_order_op b)
{
    uint64_t first = HD_MIN(a.number, b.number), last = HD_MAX(a.number, b.number);

    for (uint64_t i = birth_behind_locked(first); i < streams.nbirths; i++) {
        const struct birth *birth = &streams.births[i % BIRTHS];
        if (birth->number >= last)
            return false;
        if (va - birth->va < birth->size_B)
            return true;
    }
    return false;
}

bool race_is_renewed(uint64_t va, struct san_order_op a, struct san_order_op b)
{
    race_streams_lock();
    bool renewed = race_is_renewed_locked(va, a, b);
    race_streams_unlock();
    return renewed;
}

/* ---- accesses */

static bool is_strong(uint32_t info)
{
    return info & (RACE_STRONG | RACE_ATOM | RACE_VOLATILE);
}

/* A read by which somebody waits, of what a kernel in another stream wrote for that. */
static void meet_locked(struct race_past *past, struct race_past *other,
                        const struct race_hazard *h)
{
    if (h->now_is & RACE_STRONG && !(h->before_is & RACE_READS))
        (void)!hd_vec_push(&past->awaited, other->base);
}

static bool is_same(const struct race_between *a, const struct race_between *b)
{
    for (unsigned i = 0; i < 2; i++)
        if (a->past[i] != b->past[i] || a->info[i] >> 8 != b->info[i] >> 8)
            return false;
    return true;
}

/* The same of a pair, whichever came first in this run: a lower address, then a lower thread. */
static void merge(struct race_between *have, const struct race_between *more)
{
    uint64_t count = have->count + more->count;

    if (more->address < have->address ||
        (more->address == have->address && more->epoch[0] < have->epoch[0]))
        *have = *more;
    have->count = count;
}

static void note_locked(const struct race_between *what)
{
    struct race_between *have = NULL;

    for (size_t i = 0; i < streams.found.len && !have; i++)
        if (is_same(streams.found.at[i], what))
            have = streams.found.at[i];
    if (have) {
        merge(have, what);
        return;
    }
    have = hd_new(struct race_between);
    if (!have || !hd_vec_push(&streams.found, have)) {
        hd_free(have);
        return;
    }
    *have = *what;
    past_ref(have->past[0]);
    past_ref(have->past[1]);
}

/* The first one is what was submitted first. */
static void between_locked(struct race_past *past, struct race_past *other, uint64_t now,
                           const struct race_hazard *h)
{
    unsigned mine = other->position.op.number < past->position.op.number;
    struct race_between b = {.address = h->address,
                             .count = HD_MIN(h->access->size_B, (uint64_t)16)};

    b.past[mine] = past;
    b.past[!mine] = other;
    b.epoch[mine] = now;
    b.epoch[!mine] = h->before;
    b.info[mine] = h->now_is;
    b.info[!mine] = h->before_is;
    note_locked(&b);
}

void race_streams_against(struct race_cta *cta, const struct race_hazard *h)
{
    struct race_past *past = cta->launch->past, *other;

    if (!past)
        return;
    race_streams_lock();
    other = unordered_locked(past, race_serial(h->before));
    if (other && is_strong(h->before_is) && is_strong(h->now_is) &&
        !((h->before_is | h->now_is) & (RACE_CTA | RACE_CLUSTER)))
        meet_locked(past, other, h);
    else if (other && !race_is_renewed_locked(h->address, other->position.op, past->position.op))
        between_locked(past, other, cta->epoch[h->thread], h);
    race_streams_unlock();
}

/* ---- what the taps tell */

/* The outermost call of the thread. */
static HD_THREAD_LOCAL struct {
    unsigned depth;
    const char *name;
} calling;

static void on_call(const struct heddle_event *e)
{
    if (e->phase == HEDDLE_PHASE_BEGIN && !calling.depth++) {
        calling.name = e->call.entry->name;
        race_host_call_begin();
    }
}

/* After the order knows of it. */
static void on_call_end(const struct heddle_event *e)
{
    if (e->phase == HEDDLE_PHASE_END && calling.depth && !--calling.depth)
        race_host_call_end();
}

static void on_packet(const struct heddle_event *e)
{
    struct san_order_position position;

    race_host_submit(e);
    if (!san_order_packet(e, &position))
        return;
    if (e->packet.op == HAL_OP_DISPATCH)
        launch_submit(e, &position);
    else
        race_ops_submit(e, calling.depth ? calling.name : "");
}

static void on_memory(const struct heddle_event *e)
{
    if (e->memory.is_freed)
        return;
    race_streams_lock();
    streams.births[streams.nbirths++ % BIRTHS] =
        (struct birth){e->memory.va, e->memory.size_B, san_order_now()};
    race_streams_unlock();
}

/* Code of what ran may be gone with it. */
static void on_module(const struct heddle_event *e)
{
    if (!e->object.is_destroyed)
        return;
    race_streams_lock();
    for (size_t i = 0; i < streams.pasts.len; i++)
        streams.pasts.at[i]->is_gone |= !streams.pasts.at[i]->live;
    race_streams_unlock();
}

void race_streams_host(const struct heddle_event *e)
{
    san_memory_host(SAN_RACECHECK, e);
    if (e->kind == HEDDLE_EVENT_DRIVER || e->kind == HEDDLE_EVENT_RUNTIME)
        on_call(e);
    if (e->kind == HEDDLE_EVENT_DRIVER || e->kind == HEDDLE_EVENT_OBJECT)
        san_order_host(e);
    else if (e->kind == HEDDLE_EVENT_PACKET)
        on_packet(e);
    else if (e->kind == HEDDLE_EVENT_MEMORY)
        on_memory(e);
    else if (e->kind == HEDDLE_EVENT_MODULE)
        on_module(e);
    else if (e->kind == HEDDLE_EVENT_RETIRED)
        race_host_retire(e);
    if (e->kind == HEDDLE_EVENT_DRIVER || e->kind == HEDDLE_EVENT_RUNTIME)
        on_call_end(e);
}

bool race_streams_start(void)
{
    if (!streams.calls)
        streams.calls = hd_alloc_array(CALLS, sizeof(*streams.calls));
    if (!streams.births)
        streams.births = hd_alloc_array(BIRTHS, sizeof(*streams.births));
    san_memory_start(SAN_RACECHECK, NULL);
    return streams.calls && streams.births && race_host_start() && race_ops_start();
}
