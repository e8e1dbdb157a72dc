/* The core below the APIs: handles, memory, contexts, streams and events used wrongly. */
#include <unistd.h>

#include "../dev/fake_jit.h"
#include "../api/fake_compile.h"
#include "core/core.h"
#include "core/notify.h"
#include "hal/hal.h"
#include "tap.h"

const struct fake_kernel fake_kernels[] = {{0}};

static struct core_context *ctx;

#define MEMORY_B (64u << 20)

static void test_handles(void)
{
    static char text[256];
    struct core_event *event = NULL, *again = NULL;
    char *handle, *other;

    eq_u64(core_event_create(ctx, 0, &event), HD_OK, "an event");
    handle = core_event_handle(event);
    ok(core_handle_is(CORE_EVENT, handle), "has a handle");
    ok(core_event_lookup(handle) == event, "that finds it");
    core_event_unref(event);
    ok(!core_handle_is(CORE_STREAM, handle), "it is no stream");
    ok(!core_handle_is(CORE_EVENT, handle + 1) && !core_handle_is(CORE_EVENT, handle + 16) &&
           !core_handle_is(CORE_EVENT, (char *)((uintptr_t)handle | (uintptr_t)1 << 63)),
       "values near it are none");
    ok(!core_handle_is(CORE_EVENT, event), "nor is its address");
    ok(!core_handle_is(CORE_EVENT, text) && !core_handle_is(CORE_EVENT, NULL) &&
           !core_handle_is(CORE_EVENT, (void *)UINTPTR_MAX),
       "nor other pointers");
    ok(core_event_destroy(event), "destroyed");
    ok(!core_event_destroy(event), "once");
    ok(!core_handle_is(CORE_EVENT, handle) && !core_event_lookup(handle), "its handle is stale");
    ok(core_event_handle(event) == handle, "but still its own");
    core_event_unref(event);
    eq_u64(core_event_create(ctx, 0, &again), HD_OK, "another event");
    ok(again == event, "in the same cell");
    other = core_event_handle(again);
    ok(other != handle && core_handle_is(CORE_EVENT, other), "has another handle");
    ok(!core_handle_is(CORE_EVENT, handle), "the first one stays stale");
    core_event_destroy(again);
    core_event_unref(again);
}

/* No value that was never handed out is a handle of any kind. */
static void test_handles_random(void)
{
    uint64_t state = tap_seed();
    unsigned found = 0;

    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t value = tap_random(&state);

        if (i % 2) /* a plausible one: some kind, a small index */
            value &= 0x3ffffffff00000f0u;
        for (unsigned kind = 0; kind < CORE_HANDLE_COUNT; kind++)
            found +=
                core_handle_is(kind, (void *)(uintptr_t)value) && (value >> 28 & 0x3fffffff) > 1000;
    }
    eq_u64(found, 0, "invented handles that were taken");
}

static enum hd_status alloc(uint64_t size_B, uint64_t *out_va)
{
    return core_memory_alloc(ctx, size_B, CORE_MEM_DEVICE, 0, out_va);
}

static void test_memory_errors(void)
{
    static char host[64];
    uint64_t va = 0, other = 0, left, total;
    struct core_block block;

    eq_u64(alloc(0, &va), HD_BAD_ARG, "0 bytes");
    eq_u64(alloc(MEMORY_B + 1, &va), HD_NO_DEVICE_MEMORY, "more than there is");
    eq_u64(alloc(UINT64_MAX, &va), HD_NO_DEVICE_MEMORY, "all of the address space");
    eq_u64(core_memory_alloc(ctx, UINT64_MAX, CORE_MEM_HOST, 0, &va), HD_NO_DEVICE_MEMORY,
           "as pinned memory");
    eq_u64(core_memory_alloc(ctx, UINT64_MAX - 4096, CORE_MEM_MANAGED, 0, &va), HD_NO_DEVICE_MEMORY,
           "as managed memory");
    eq_u64(alloc(1000, &va), HD_OK, "1000 bytes");
    eq_u64(va % 256, 0, "are aligned");
    ok(core_memory_find(va + 999, &block) && block.base == va && block.size_B == 1000, "found");
    ok(!core_memory_find(va + 1000, &block), "the byte behind is not");
    eq_u64(core_memory_check(va, 1000, true), HD_OK, "all of it");
    eq_u64(core_memory_check(va + 1, 1000, true), HD_BAD_ARG, "one too many");
    eq_u64(core_memory_check(va, UINT64_MAX, true), HD_BAD_ARG, "a size that wraps");
    eq_u64(core_memory_check((uintptr_t)host, 8, false), HD_OK, "the program's own memory");
    eq_u64(core_memory_check((uintptr_t)host, 8, true), HD_BAD_ARG, "is no device memory");
    eq_u64(core_memory_free(va + 256, CORE_MEM_DEVICE), HD_BAD_ARG, "free of the middle");
    eq_u64(core_memory_free(va, CORE_MEM_HOST), HD_BAD_ARG, "free as another kind");
    eq_u64(core_memory_free(va, CORE_MEM_DEVICE), HD_OK, "free");
    eq_u64(core_memory_free(va, CORE_MEM_DEVICE), HD_BAD_ARG, "twice");
    eq_u64(core_memory_free((uintptr_t)host, CORE_MEM_DEVICE), HD_BAD_ARG, "free of a variable");
    eq_u64(core_memory_free(0, CORE_MEM_DEVICE), HD_BAD_ARG, "free of null");
    eq_u64(core_memory_free(UINT64_MAX, CORE_MEM_DEVICE), HD_BAD_ARG, "free of nowhere");
    eq_u64(core_memory_register(ctx, (uintptr_t)host, 64, CORE_MEM_REGISTERED, 0), HD_OK,
           "register");
    eq_u64(core_memory_register(ctx, (uintptr_t)host + 32, 64, CORE_MEM_REGISTERED, 0), HD_BUSY,
           "overlapping");
    eq_u64(core_memory_register(ctx, UINT64_MAX - 8, 64, CORE_MEM_REGISTERED, 0), HD_BAD_ARG,
           "wrapping around");
    eq_u64(core_memory_unregister((uintptr_t)host + 1), HD_BAD_ARG, "unregister its middle");
    eq_u64(core_memory_unregister((uintptr_t)host), HD_OK, "unregister");
    eq_u64(core_memory_unregister((uintptr_t)host), HD_NOT_FOUND, "twice");
    ok(alloc(MEMORY_B / 2, &va) == HD_OK && alloc(MEMORY_B / 2, &other) == HD_OK, "two halves");
    eq_u64(alloc(1, &left), HD_NO_DEVICE_MEMORY, "nothing is left");
    core_memory_info(ctx->device, &left, &total);
    ok(left == 0 && total == MEMORY_B, "as the numbers say");
    (void)!core_memory_free(va, CORE_MEM_DEVICE);
    eq_u64(alloc(MEMORY_B / 2, &va), HD_OK, "one half again");
    (void)!core_memory_free(va, CORE_MEM_DEVICE);
    (void)!core_memory_free(other, CORE_MEM_DEVICE);
}

/* Blocks of all sizes come and go; none ever holds another's bytes. */
static void test_memory_random(void)
{
    enum { LIVE = 64 };
    struct {
        uint64_t va, size_B;
        uint8_t mark;
    } live[LIVE] = {0};
    uint64_t state = tap_seed(), left, total;
    unsigned wrong = 0;

    for (unsigned step = 0; step < 3000; step++) {
        unsigned i = (unsigned)(tap_random(&state) % LIVE);
        uint8_t *at = (uint8_t *)(uintptr_t)live[i].va;
        if (at) {
            wrong += at[0] != live[i].mark || at[live[i].size_B - 1] != live[i].mark;
            wrong += core_memory_free(live[i].va, CORE_MEM_DEVICE) != HD_OK;
            live[i].va = 0;
            continue;
        }
        live[i].size_B = 1 + tap_random(&state) % ((uint64_t)1 << (tap_random(&state) % 20));
        live[i].mark = (uint8_t)step;
        if (alloc(live[i].size_B, &live[i].va) != HD_OK) {
            live[i].va = 0;
            wrong++;
            continue;
        }
        at = (uint8_t *)(uintptr_t)live[i].va;
        at[0] = at[live[i].size_B - 1] = live[i].mark;
    }
    for (unsigned i = 0; i < LIVE; i++)
        wrong += live[i].va && core_memory_free(live[i].va, CORE_MEM_DEVICE) != HD_OK;
    eq_u64(wrong, 0, "random blocks");
    core_memory_info(ctx->device, &left, &total);
    eq_u64(left, total, "all came back");
}

static void test_copies(void)
{
    static char host[4096];
    uint64_t va;
    struct core_copy c = {
        .src = (uintptr_t)host, .width_B = 16, .height = 1, .depth = 1, .dst_is_device = true};

    eq_u64(alloc(4096, &va), HD_OK, "memory");
    c.dst = va;
    eq_u64(core_copy(ctx->legacy, &c), HD_OK, "a copy");
    c.height = 4;
    eq_u64(core_copy(ctx->legacy, &c), HD_BAD_ARG, "pitches below the width");
    c.dst_pitch_B = 2048, c.src_pitch_B = 16;
    eq_u64(core_copy(ctx->legacy, &c), HD_BAD_ARG, "rows past the end");
    c.dst_pitch_B = (uint64_t)1 << 62, c.height = 5;
    eq_u64(core_copy(ctx->legacy, &c), HD_BAD_ARG, "rows that wrap around");
    c.dst_pitch_B = 16, c.depth = 5, c.dst_slice_B = (uint64_t)1 << 62;
    eq_u64(core_copy(ctx->legacy, &c), HD_BAD_ARG, "slices that wrap around");
    c.width_B = 0;
    eq_u64(core_copy(ctx->legacy, &c), HD_OK, "nothing");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, 1024, 1, true), HD_OK, "a fill");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, 1025, 1, true), HD_BAD_ARG, "too long");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, ((uint64_t)1 << 62) + 1, 1, true), HD_BAD_ARG,
           "a width that wraps around");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, (uint64_t)1 << 62, 1, true), HD_BAD_ARG,
           "to nothing");
    eq_u64(core_fill(ctx->legacy, va + 2, 0, 7, 4, 1, 1, true), HD_BAD_ARG, "misaligned");
    eq_u64(core_fill(ctx->legacy, va, (uint64_t)1 << 60, 7, 4, 1, 17, true), HD_BAD_ARG,
           "a pitch that wraps around");
    eq_u64(core_context_synchronize(ctx), HD_OK, "none of it sticks");
    (void)!core_memory_free(va, CORE_MEM_DEVICE);
}

static void test_contexts(void)
{
    struct core_context *other = NULL, *primary = NULL;
    const void *handle;
    unsigned wrong = 0;

    eq_u64(core_context_create(ctx->device, 0, &other), HD_OK, "another context");
    handle = core_context_handle(other);
    for (unsigned i = 0; i < 1000; i++)
        wrong += core_current_push(i % 2 ? other : ctx) != HD_OK;
    for (unsigned i = 1000; i--;) {
        struct core_context *popped = core_current_pop();

        wrong += popped != (i % 2 ? other : ctx);
        core_context_unref(popped);
    }
    eq_u64(wrong, 0, "a stack of a thousand contexts");
    ok(!core_current_pop(), "is empty afterwards");
    hal_fault_raise(other->domain->fault, HD_ILLEGAL_ADDRESS, 8, "made");
    eq_u64(core_context_synchronize(other), HD_ILLEGAL_ADDRESS, "a fault sticks");
    eq_u64(core_context_synchronize(ctx), HD_OK, "to its context only");
    eq_u64(core_current_push(other), HD_OK, "push");
    ok(core_context_destroy(other) && !core_context_destroy(other), "destroyed once");
    ok(!core_handle_is(CORE_CONTEXT, handle), "gone");
    ok(core_current() == other && !core_context_is_live(other),
       "the stack still knows what it was");
    core_context_unref(core_current_pop());
    core_context_unref(other);
    eq_u64(core_primary_release(ctx->device), HD_BAD_ARG, "a primary context nobody has");
    eq_u64(core_primary_retain(ctx->device, &primary), HD_OK, "retain");
    hal_fault_raise(primary->domain->fault, HD_TRAP, 0, "made");
    eq_u64(core_context_synchronize(primary), HD_TRAP, "a fault");
    eq_u64(core_primary_reset(ctx->device), HD_OK, "a reset");
    eq_u64(core_context_synchronize(primary), HD_OK, "heals");
    eq_u64(core_primary_release(ctx->device), HD_OK, "release");
    core_context_unref(primary);
}

static void test_streams(void)
{
    struct core_context *primary;
    struct core_stream *stream, *mine, *again;
    struct core_event *event, *end;
    float ms;

    eq_u64(core_stream_create(ctx, 0, 0, &stream), HD_OK, "a stream");
    eq_u64(core_stream_query(stream), HD_OK, "is idle");
    core_event_create(ctx, 0, &event) == HD_OK ? (void)0 : abort();
    core_event_create(ctx, CORE_EVENT_DISABLE_TIMING, &end) == HD_OK ? (void)0 : abort();
    eq_u64(core_event_query(event), HD_OK, "an event never recorded is complete");
    eq_u64(core_event_wait(stream, event, false), HD_OK, "waiting for it");
    eq_u64(core_event_elapsed(event, event, &ms), HD_BAD_ARG, "it has no time");
    eq_u64(core_event_record(event, stream, false), HD_OK, "record");
    eq_u64(core_event_elapsed(event, end, &ms), HD_BAD_ARG, "an event without timing");
    core_stream_destroy(stream);
    core_stream_unref(stream);
    eq_u64(core_event_synchronize(event), HD_OK, "an event outlives its stream");
    eq_u64(core_event_elapsed(event, event, &ms), HD_OK, "its time too");
    core_event_destroy(event);
    core_event_unref(event);
    core_event_destroy(end);
    core_event_unref(end);
    eq_u64(core_primary_retain(ctx->device, &primary), HD_OK, "primary context");
    eq_u64(core_stream_per_thread(primary, &mine), HD_OK, "this thread's stream");
    eq_u64(core_stream_per_thread(primary, &again), HD_OK, "again");
    ok(mine == again, "is one");
    eq_u64(core_primary_reset(ctx->device), HD_OK, "reset");
    eq_u64(core_stream_per_thread(primary, &mine), HD_OK, "another one afterwards");
    ok(core_stream_is_live(mine), "alive");
    eq_u64(core_stream_synchronize(mine), HD_OK, "and working");
    eq_u64(core_primary_release(ctx->device), HD_OK, "release");
    core_context_unref(primary);
}

/* ---- objects that are destroyed while the device still works for them */

static void wait_for_flag(void *arg)
{
    while (!atomic_load((_Atomic int *)arg))
        usleep(100);
}

static void test_destroyed_stream(void)
{
    static _Atomic int flag;
    struct core_stream *stream;
    const void *handle;

    eq_u64(core_stream_create(ctx, 0, 0, &stream), HD_OK, "a blocking stream");
    handle = core_stream_handle(stream);
    eq_u64(core_stream_call(stream, wait_for_flag, &flag, false), HD_OK, "with work");
    core_stream_destroy(stream);
    core_stream_unref(stream);
    ok(!core_handle_is(CORE_STREAM, handle), "is destroyed");
    eq_u64(core_fill(ctx->legacy, 0, 0, 0, 1, 0, 1, true), HD_OK, "nothing for the legacy stream");
    eq_u64(core_stream_call(ctx->legacy, wait_for_flag, &flag, false), HD_OK, "some work for it");
    ok(ctx->legacy->queue->ring
               ->packets[(hal_queue_submitted(ctx->legacy->queue) - 2) & (HAL_RING_SLOTS - 1)]
               .head.op == HAL_OP_WAIT,
       "waits for the destroyed stream");
    atomic_store(&flag, 1);
    eq_u64(core_context_synchronize(ctx), HD_OK, "all done");
}

/* The last recording counts, whichever is reached first. */
static void test_event_on_two_streams(void)
{
    static _Atomic int flag;
    struct core_stream *late, *early;
    struct core_event *event, *end;
    float before_ms = -1, after_ms = -2;

    core_stream_create(ctx, 1, 0, &late) == HD_OK ? (void)0 : abort();
    core_stream_create(ctx, 1, 0, &early) == HD_OK ? (void)0 : abort();
    core_event_create(ctx, 0, &event) == HD_OK ? (void)0 : abort();
    core_event_create(ctx, 0, &end) == HD_OK ? (void)0 : abort();
    eq_u64(core_stream_call(late, wait_for_flag, &flag, false), HD_OK, "a busy stream");
    eq_u64(core_event_record(event, late, false), HD_OK, "an event behind its work");
    eq_u64(core_event_record(event, early, false), HD_OK, "is recorded again elsewhere");
    eq_u64(core_event_record(end, early, false), HD_OK, "and another one behind it");
    eq_u64(core_event_synchronize(end), HD_OK, "both are reached");
    eq_u64(core_event_elapsed(event, end, &before_ms), HD_OK, "time between them");
    atomic_store(&flag, 1);
    eq_u64(core_stream_synchronize(late), HD_OK, "the busy stream ends");
    eq_u64(core_event_elapsed(event, end, &after_ms), HD_OK, "time between them, later");
    ok(before_ms >= 0 && after_ms == before_ms, "is the same: %g, %g ms", (double)before_ms,
       (double)after_ms);
    eq_u64(core_event_record(event, late, false), HD_OK, "recorded where it was at first");
    eq_u64(core_event_synchronize(event), HD_OK, "reached");
    ok(!core_event_elapsed(end, event, &after_ms) && after_ms >= 0, "is a later time");
    core_event_destroy(event);
    core_event_unref(event);
    core_event_destroy(end);
    core_event_unref(end);
    core_stream_destroy(late);
    core_stream_unref(late);
    core_stream_destroy(early);
    core_stream_unref(early);
}

/* The stream's work goes on when the host sets *semaphore. */
static enum hd_status submit_wait(struct core_stream *stream, _Atomic uint64_t *semaphore)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = 1}};

    p.sem.address = (uintptr_t)semaphore;
    return core_stream_submit(stream, &p, 1, NULL, 0, NULL);
}

/* A stream that waits for an event of another context holds on to that context's queues. */
static void test_event_of_a_destroyed_context(void)
{
    static _Atomic uint64_t theirs, ours;
    struct core_context *other, *next;
    struct core_stream *stream;
    struct core_event *event;
    unsigned tries = 0;

    core_context_create(ctx->device, 0, &other) == HD_OK ? (void)0 : abort();
    core_stream_create(ctx, 1, 0, &stream) == HD_OK ? (void)0 : abort();
    core_event_create(other, 0, &event) == HD_OK ? (void)0 : abort();
    eq_u64(submit_wait(other->legacy, &theirs), HD_OK, "its work");
    eq_u64(core_event_record(event, other->legacy, false), HD_OK, "an event behind it");
    eq_u64(submit_wait(stream, &ours), HD_OK, "our work");
    eq_u64(core_event_wait(stream, event, false), HD_OK, "waits for the event then");
    atomic_store(&theirs, 1);
    core_event_destroy(event);
    core_event_unref(event);
    ok(core_context_destroy(other), "the context is gone");
    core_context_unref(other);
    core_context_create(ctx->device, 0, &next) == HD_OK ? (void)0 : abort();
    atomic_store(&ours, 1);
    while (core_stream_query(stream) == HD_BUSY && tries++ < 2000)
        usleep(1000);
    eq_u64(core_stream_query(stream), HD_OK, "our stream goes on");
    core_context_destroy(next);
    core_context_unref(next);
    core_stream_destroy(stream);
    core_stream_unref(stream);
}

static struct heddle_event last_event;
static unsigned nevents;

static void on_retired(void *user, const struct heddle_event *e)
{
    (void)user;
    last_event = *e;
    nevents++;
}

/* Whoever wants to know when work ended costs one packet more, and no other. */
static void test_retired(void)
{
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(RETIRED), on_retired, NULL);
    union hal_packet p = {.head.op = HAL_OP_NOP};
    uint64_t before, position = 0;

    before = hal_queue_submitted(ctx->legacy->queue);
    eq_u64(core_stream_submit(ctx->legacy, &p, 1, NULL, 0, &position), HD_OK, "work");
    eq_u64(core_stream_synchronize(ctx->legacy), HD_OK, "is done");
    eq_u64(position, before + 2, "with a call behind it");
    eq_u64(nevents, 1, "which tells");
    ok(last_event.packet.start_ns && last_event.packet.start_ns <= last_event.packet.end_ns &&
           last_event.packet.end_ns <= last_event.time_ns,
       "when it began and ended");
    heddle_tap_unsubscribe(id);
}

static void submit_nops(struct core_stream *stream, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        union hal_packet p[2] = {{.head.op = HAL_OP_NOP}, {.head.op = HAL_OP_NOP}};

        if (core_stream_submit(stream, p, 1 + i % 2, NULL, 0, NULL) != HD_OK)
            abort();
    }
}

/* Whoever wants to know it later costs no packet: a ring is written over only when it was told. */
static void test_done(void)
{
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(DONE), on_retired, NULL), both;
    union hal_packet p = {.head.op = HAL_OP_NOP};
    static _Atomic int flag;
    struct core_stream *stream;
    uint64_t before, position = 0;

    nevents = 0;
    before = hal_queue_submitted(ctx->legacy->queue);
    eq_u64(core_stream_submit(ctx->legacy, &p, 1, NULL, 0, &position), HD_OK, "work");
    eq_u64(core_stream_synchronize(ctx->legacy), HD_OK, "is done");
    eq_u64(position, before + 1, "with nothing behind it");
    heddle_tap_settle();
    eq_u64(nevents, 1, "and told when somebody asks");
    ok(last_event.kind == HEDDLE_EVENT_DONE && last_event.packet.start_ns &&
           last_event.packet.start_ns <= last_event.packet.end_ns && last_event.packet.work,
       "when it began and ended");
    nevents = 0;
    submit_nops(ctx->legacy, 4000);
    eq_u64(core_stream_synchronize(ctx->legacy), HD_OK, "several rings of work");
    heddle_tap_settle();
    eq_u64(nevents, 6000, "all of which is told");
    nevents = 0;
    core_stream_create(ctx, 1, 0, &stream) == HD_OK ? (void)0 : abort();
    eq_u64(core_stream_call(stream, wait_for_flag, &flag, false), HD_OK, "a busy stream");
    submit_nops(stream, 10);
    heddle_tap_settle();
    eq_u64(nevents, 0, "nothing is done yet");
    atomic_store(&flag, 1);
    core_stream_destroy(stream);
    core_stream_unref(stream);
    eq_u64(core_context_synchronize(ctx), HD_OK, "now it is");
    heddle_tap_settle();
    eq_u64(nevents, 15 + 1, "and told though the stream is gone"); /* the call is a packet, too */
    both = heddle_tap_subscribe(HEDDLE_KIND(RETIRED), on_retired, NULL);
    nevents = 0;
    eq_u64(core_stream_submit(ctx->legacy, &p, 1, NULL, 0, NULL), HD_OK, "work");
    eq_u64(core_stream_synchronize(ctx->legacy), HD_OK, "is done");
    eq_u64(nevents, 2, "told as both, to those who want them");
    heddle_tap_unsubscribe(both);
    heddle_tap_unsubscribe(id);
}

/* How many are left; the last references may be those of the thread that retires packets. */
static uint64_t handles_left(unsigned kind, uint64_t want)
{
    for (int i = 0; i < 100000 && core_handle_usage(kind).used != want; i++)
        usleep(100);
    return core_handle_usage(kind).used;
}

static void test_destroyed_event(void)
{
    static _Atomic int flag;
    struct core_stream *stream, *other;
    struct core_event *event, *next;

    core_stream_create(ctx, 1, 0, &stream) == HD_OK ? (void)0 : abort();
    core_stream_create(ctx, 1, 0, &other) == HD_OK ? (void)0 : abort();
    core_event_create(ctx, 0, &event) == HD_OK ? (void)0 : abort();
    eq_u64(core_stream_call(stream, wait_for_flag, &flag, false), HD_OK, "a busy stream");
    eq_u64(core_event_record(event, stream, false), HD_OK, "an event behind it");
    eq_u64(core_event_record(event, other, false), HD_OK, "and again on an idle one");
    eq_u64(core_stream_synchronize(other), HD_OK, "which is reached");
    core_event_destroy(event);
    core_event_unref(event);
    eq_u64(core_event_create(ctx, 0, &next), HD_OK, "a new event");
    ok(next != event, "is not in the cell where a time will be stored");
    atomic_store(&flag, 1);
    eq_u64(core_context_synchronize(ctx), HD_OK, "stored");
    core_event_destroy(next);
    core_event_unref(next);
    eq_u64(handles_left(CORE_EVENT, 0), 0, "no event is left");
    core_stream_destroy(stream);
    core_stream_unref(stream);
    core_stream_destroy(other);
    core_stream_unref(other);
}

static void test_attributes(void)
{
    int value;

    eq_u64(core_device_attribute(ctx->device, 9999, &value), HD_BAD_ARG, "attribute 9999");
    eq_u64(core_device_attribute(ctx->device, 0, &value), HD_BAD_ARG, "attribute 0");
    eq_u64(core_device_attribute(ctx->device, -1, &value), HD_BAD_ARG, "attribute -1");
    eq_u64(
        core_device_attribute(ctx->device, CORE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &value),
        HD_OK, "one that exists");
    ok(!core_device_attribute(ctx->device, CORE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, &value) &&
           !value &&
           !core_device_attribute(ctx->device, CORE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, &value) &&
           value > 0,
       "compressed memory, which is not implemented, is not claimed; textures are");
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    eq_u64(core_init(), HD_OK, "core_init");
    eq_u64(core_init(), HD_OK, "twice");
    if (!ok(core_context_create(core_device_at(0), 0, &ctx) == HD_OK, "context"))
        return done();
    test_handles();
    test_handles_random();
    test_attributes();
    test_memory_errors();
    test_memory_random();
    test_copies();
    test_contexts();
    test_streams();
    test_destroyed_stream();
    test_event_on_two_streams();
    test_event_of_a_destroyed_context();
    test_retired();
    test_done();
    test_destroyed_event();
    core_context_destroy(ctx);
    core_context_unref(ctx);
    /* The primary context stays, with its stream. */
    for (unsigned kind = 0; kind < CORE_HANDLE_COUNT; kind++) {
        uint64_t want = kind == CORE_CONTEXT || kind == CORE_STREAM;

        eq_u64(handles_left(kind, want), want, "%ss left", core_handle_text(kind));
    }
    return done();
}
