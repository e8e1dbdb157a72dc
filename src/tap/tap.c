/*
 * The list of listeners. A slot is published by its function and freed only when nobody is inside
 * its listener, which `inside` counts: who raised it and then still finds the function may call it.
 */
#include "tap/tap.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/probe.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#define LISTENERS 16
#define CALLS     (HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME))

struct listener {
    _Atomic(heddle_listener) func; /* NULL: no calls any more */
    _Atomic uint32_t inside;       /* threads that look at the slot */
    void *user;                    /* this and below: constant while func is set */
    uint32_t kinds;
    uint32_t id; /* 0: the slot is free */
    _Atomic bool removed_itself;
    uint64_t since_ns;
};

static struct {
    pthread_mutex_t lock; /* a leaf: id and func of the slots are written under it */
    struct listener slots[LISTENERS];
    uint32_t next_id;
    _Atomic uint32_t used; /* slots behind it never had a listener */
    _Atomic bool inner;    /* somebody wants calls that are inside others */
    _Atomic bool begins;   /* somebody wants to know when calls begin */
    _Atomic bool plumbing; /* somebody wants calls that compilers write around others */
} taps = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(taps, taps.lock);

/* A listener that runs on this thread; a device's event may come while it waits in a call. */
struct frame {
    struct listener *slot;
    struct frame *outer;
};

struct tap_thread {
    uint64_t correlation; /* of the outermost call */
    uint64_t begin_ns;    /* of that call; 0: nobody wants it, or of none */
    uint32_t tid;         /* 0: not asked yet */
    struct frame *frames;
};

static HD_THREAD_LOCAL struct tap_thread tap_thread;
static _Atomic uint64_t next_correlation, next_packet;
static struct tap_owner owner; /* set before main() */

HD_EXPORT uint32_t heddle_tap_kinds;

static uint64_t tap_now_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

/* ---- the list */

static void tap_kinds_update_locked(void)
{
    uint32_t kinds = 0;
    bool inner = false, begins = false, plumbing = false;

    for (size_t i = 0; i < LISTENERS; i++)
        if (atomic_load(&taps.slots[i].func)) {
            kinds |=
                taps.slots[i].kinds & (HEDDLE_KIND_ALL | HEDDLE_EVENT_TIMES | HEDDLE_ARGUMENTS);
            plumbing = plumbing || !(taps.slots[i].kinds & HEDDLE_PLAIN);
            inner = inner || !(taps.slots[i].kinds & HEDDLE_OUTERMOST);
            begins =
                begins || (taps.slots[i].kinds & CALLS && !(taps.slots[i].kinds & HEDDLE_ENDS));
        }
    atomic_store(&taps.inner, inner);
    atomic_store(&taps.begins, begins);
    atomic_store(&taps.plumbing, plumbing);
    __atomic_store_n(&heddle_tap_kinds, kinds, __ATOMIC_RELAXED);
}

static struct listener *tap_slot_find_locked(uint32_t id)
{
    for (size_t i = 0; i < LISTENERS; i++)
        if (taps.slots[i].id == id)
            return &taps.slots[i];
    return NULL;
}

HD_EXPORT uint32_t heddle_tap_subscribe(uint32_t kinds, heddle_listener func, void *user)
{
    struct listener *slot;
    uint32_t id = 0;

    if (!func || !(kinds & HEDDLE_KIND_ALL))
        return 0;
    pthread_mutex_lock(&taps.lock);
    slot = tap_slot_find_locked(0);
    if (slot) {
        assert(!atomic_load(&slot->func));
        id = slot->id = ++taps.next_id ? taps.next_id : ++taps.next_id;
        slot->user = user;
        slot->kinds = kinds & (HEDDLE_KIND_ALL | HEDDLE_OUTERMOST | HEDDLE_ENDS |
                               HEDDLE_EVENT_TIMES | HEDDLE_PLAIN | HEDDLE_ARGUMENTS);
        slot->since_ns = tap_now_ns();
        if (atomic_load(&taps.used) <= slot - taps.slots)
            atomic_store(&taps.used, (uint32_t)(slot - taps.slots) + 1);
        atomic_store(&slot->func, func);
        tap_kinds_update_locked();
    }
    pthread_mutex_unlock(&taps.lock);
    return id;
}

static uint32_t tap_frames_of(const struct listener *slot)
{
    uint32_t n = 0;

    for (const struct frame *f = tap_thread.frames; f; f = f->outer)
        n += f->slot == slot;
    return n;
}

HD_EXPORT void heddle_tap_unsubscribe(uint32_t id)
{
    struct listener *slot;
    uint32_t own;

    pthread_mutex_lock(&taps.lock);
    slot = id ? tap_slot_find_locked(id) : NULL;
    if (slot && atomic_load(&slot->func)) {
        atomic_store(&slot->func, NULL);
        tap_kinds_update_locked();
    } else {
        slot = NULL; /* another thread is removing it */
    }
    pthread_mutex_unlock(&taps.lock);
    if (!slot)
        return;
    /* A listener that removes itself does not wait for itself; its slot is freed when it leaves. */
    own = tap_frames_of(slot);
    if (own)
        atomic_store(&slot->removed_itself, true);
    while (atomic_load(&slot->inside) > own)
        sched_yield();
    if (own)
        return;
    pthread_mutex_lock(&taps.lock);
    assert(slot->id == id);
    slot->id = 0;
    pthread_mutex_unlock(&taps.lock);
}

static bool tap_is_left_out(const struct listener *slot, const struct heddle_event *event)
{
    if (!(CALLS & 1u << event->kind))
        return false;
    if ((event->is_inner && slot->kinds & HEDDLE_OUTERMOST) ||
        (slot->kinds & HEDDLE_PLAIN && event->call.entry->is_plumbing))
        return true;
    if (slot->kinds & HEDDLE_ENDS)
        return event->phase == HEDDLE_PHASE_BEGIN;
    return !event->has_begin; /* it came while nobody was told beginnings */
}

/*
 * What began before the listener subscribed is not for it: it would get an end alone. A packet is
 * now, whenever its call began, which may be the one in whose BEGIN somebody subscribes.
 */
static bool tap_is_older(const struct listener *slot, const struct heddle_event *event)
{
    return event->begin_ns < slot->since_ns && event->kind != HEDDLE_EVENT_PACKET;
}

static void tap_notify(struct listener *slot, const struct heddle_event *event)
{
    struct frame frame = {slot, tap_thread.frames};
    heddle_listener func;

    atomic_fetch_add(&slot->inside, 1);
    func = atomic_load(&slot->func);
    if (func && (slot->kinds & (1u << event->kind)) && !tap_is_older(slot, event) &&
        !tap_is_left_out(slot, event)) {
        tap_thread.frames = &frame;
        func(slot->user, event);
        assert(tap_thread.frames == &frame);
        tap_thread.frames = frame.outer;
    }
    /* The slot of a listener that removed itself is free when the last one has left. */
    uint32_t before = atomic_fetch_sub(&slot->inside, 1);
    assert(before > 0);
    if (before > 1 || !atomic_load(&slot->removed_itself))
        return;
    pthread_mutex_lock(&taps.lock);
    if (!atomic_load(&slot->inside) && atomic_exchange(&slot->removed_itself, false))
        slot->id = 0;
    pthread_mutex_unlock(&taps.lock);
}

/* ---- events */

void tap_owner_set(const struct tap_owner *to)
{
    assert(to->context && to->settle);
    owner = *to;
}

static void *tap_current_context(void)
{
    return owner.context ? owner.context() : NULL;
}

static void tap_settle(void)
{
    if (owner.settle)
        owner.settle();
}

/* A thread that waits in a call of its own may execute a device's work. */
static bool tap_is_of_device(enum heddle_event_kind kind)
{
    return kind == HEDDLE_EVENT_RETIRED || kind == HEDDLE_EVENT_FAULT || kind == HEDDLE_EVENT_DONE;
}

void tap_emit(struct heddle_event *event)
{
    struct tap_thread *t = &tap_thread;
    bool of_device = tap_is_of_device((enum heddle_event_kind)event->kind);

    assert(event->kind < HEDDLE_EVENT_COUNT);
    if (t->frames && !of_device)
        return; /* what a listener does is told to nobody; a device's work is not its */
    if (!t->tid)
        t->tid = (uint32_t)syscall(SYS_gettid);
    event->size_B = sizeof(*event);
    event->thread = t->tid;
    if (!event->correlation && !of_device)
        event->correlation = t->correlation;
    if (!event->time_ns)
        event->time_ns = tap_now_ns();
    if (event->phase != HEDDLE_PHASE_END)
        event->begin_ns = event->time_ns;
    assert(event->begin_ns && event->begin_ns <= event->time_ns);
    for (uint32_t i = 0, n = atomic_load(&taps.used); i < n; i++)
        if (atomic_load_explicit(&taps.slots[i].func, memory_order_relaxed))
            tap_notify(&taps.slots[i], event);
}

uint64_t tap_correlation(void)
{
    return tap_thread.frames ? 0 : tap_thread.correlation;
}

uint64_t tap_begin_ns(void)
{
    return tap_thread.begin_ns;
}

uint64_t tap_packet_id(void)
{
    return atomic_fetch_add(&next_packet, 1) + 1;
}

/* Told even when no listener wants calls: the correlation is made here. */
HD_EXPORT void heddle_tap_call_begin(struct heddle_call *call, enum heddle_event_kind kind,
                                     const struct heddle_entry *entry, const void *args)
{
    struct tap_thread *t = &tap_thread;

    assert(kind == HEDDLE_EVENT_DRIVER || kind == HEDDLE_EVENT_RUNTIME);
    call->event.begin_ns = 0; /* the rest is filled when somebody is told */
    call->told = !t->frames;
    if (!call->told)
        return;
    call->outer = t->correlation;
    if (!t->correlation) {
        t->correlation = atomic_fetch_add(&next_correlation, 1) + 1;
        t->begin_ns = 0;
    }
    if (!tap_wants(1u << kind) || (call->outer && !atomic_load(&taps.inner)) ||
        (entry->is_plumbing && !atomic_load(&taps.plumbing)))
        return; /* somebody who comes before its end gets none of it */
    memset(&call->event, 0, sizeof(call->event));
    call->event.kind = (uint8_t)kind;
    call->event.is_inner = call->outer != 0;
    call->event.begin_ns = call->event.time_ns = tap_now_ns();
    call->event.correlation = t->correlation;
    call->event.call.entry = entry;
    call->event.call.args = args;
    if (!call->outer)
        t->begin_ns = call->event.begin_ns;
    if (!atomic_load(&taps.begins))
        return;
    call->event.phase = HEDDLE_PHASE_BEGIN;
    call->event.has_begin = true;
    call->event.context = tap_current_context();
    tap_emit(&call->event);
}

HD_EXPORT void heddle_tap_call_end(struct heddle_call *call, int64_t result)
{
    struct tap_thread *t = &tap_thread;

    if (!call->told)
        return;
    assert(!t->frames);
    assert(!call->event.begin_ns || t->correlation == call->event.correlation);
    if (call->event.begin_ns)
        call->event.time_ns = tap_now_ns(); /* what is settled is not of the call */
    if (tap_wants(HEDDLE_KIND(DONE)))
        tap_settle();
    if (call->event.begin_ns) {
        call->event.phase = HEDDLE_PHASE_END;
        call->event.context = tap_current_context();
        call->event.call.result = result;
        tap_emit(&call->event);
    }
    t->correlation = call->outer;
    if (!call->outer)
        t->begin_ns = 0;
}

HD_EXPORT void heddle_tap_settle(void)
{
    if (!tap_thread.frames)
        tap_settle();
}

static void tap_compile_notify(struct hd_compile_note *note)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_COMPILE, .phase = HEDDLE_PHASE_BEGIN};

    if (!tap_wants(HEDDLE_KIND(COMPILE)) || (note->is_end && !note->begin_ns))
        return;
    event.context = tap_current_context();
    event.compile.name = note->name;
    event.compile.form = note->form;
    if (note->is_end) {
        event.phase = HEDDLE_PHASE_END;
        event.begin_ns = note->begin_ns;
        event.compile.cache_hit = note->cache_hit;
        event.compile.status = note->status;
    } else {
        event.time_ns = note->begin_ns = tap_now_ns();
    }
    tap_emit(&event);
}

/* Another number, and nobody else is inside a listener: who removes one waits for this thread. */
void tap_in_child(void)
{
    tap_thread.tid = 0;
    for (size_t i = 0; i < LISTENERS; i++)
        atomic_store(&taps.slots[i].inside, tap_frames_of(&taps.slots[i]));
}

/* Before main(): constructors load modules, too. */
__attribute__((constructor)) static void tap_init(void)
{
    hd_compile_probe_set(tap_compile_notify);
}
