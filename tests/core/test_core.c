/* The core below the APIs: handles, memory, contexts, streams and events used wrongly. */
#include "../dev/fake_jit.h"
#include "../api/fake_compile.h"
#include "core/core.h"
#include "tap.h"

const struct fake_kernel fake_kernels[] = {{0}};

static struct core_context *ctx;

#define MEMORY_B (64u << 20)

static void test_handles(void)
{
    static char text[256];
    struct core_event *event = NULL;

    eq_u64(core_event_create(ctx, 0, &event), HD_OK, "an event");
    ok(core_handle_is(CORE_EVENT, event), "is one");
    ok(!core_handle_is(CORE_STREAM, event), "and no stream");
    ok(!core_handle_is(CORE_EVENT, (char *)event + 8), "its middle is none");
    ok(!core_handle_is(CORE_EVENT, text) && !core_handle_is(CORE_EVENT, NULL) &&
           !core_handle_is(CORE_EVENT, (void *)UINTPTR_MAX),
       "neither are other pointers");
    core_event_destroy(event);
    ok(!core_handle_is(CORE_EVENT, event), "nor a destroyed one");
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
    eq_u64(core_memory_register(ctx, (uintptr_t)host, 64, 0), HD_OK, "register");
    eq_u64(core_memory_register(ctx, (uintptr_t)host + 32, 64, 0), HD_BUSY, "overlapping");
    eq_u64(core_memory_register(ctx, UINT64_MAX - 8, 64, 0), HD_BAD_ARG, "wrapping around");
    eq_u64(core_memory_unregister((uintptr_t)host + 1), HD_NOT_FOUND, "unregister its middle");
    eq_u64(core_memory_unregister((uintptr_t)host), HD_OK, "unregister");
    eq_u64(core_memory_unregister((uintptr_t)host), HD_NOT_FOUND, "twice");
    ok(alloc(MEMORY_B / 2, &va) == HD_OK && alloc(MEMORY_B / 2, &other) == HD_OK, "two halves");
    eq_u64(alloc(1, &left), HD_NO_DEVICE_MEMORY, "nothing is left");
    core_memory_info(&left, &total);
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
    core_memory_info(&left, &total);
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
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, 1024, 1), HD_OK, "a fill");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, 1025, 1), HD_BAD_ARG, "too long");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, ((uint64_t)1 << 62) + 1, 1), HD_BAD_ARG,
           "a width that wraps around");
    eq_u64(core_fill(ctx->legacy, va, 0, 7, 4, (uint64_t)1 << 62, 1), HD_BAD_ARG, "to nothing");
    eq_u64(core_fill(ctx->legacy, va + 2, 0, 7, 4, 1, 1), HD_BAD_ARG, "misaligned");
    eq_u64(core_fill(ctx->legacy, va, (uint64_t)1 << 60, 7, 4, 1, 17), HD_BAD_ARG,
           "a pitch that wraps around");
    eq_u64(core_context_synchronize(ctx), HD_OK, "none of it sticks");
    (void)!core_memory_free(va, CORE_MEM_DEVICE);
}

static void test_contexts(void)
{
    struct core_context *other = NULL, *primary = NULL;
    unsigned pushed = 0;

    eq_u64(core_context_create(ctx->device, 0, &other), HD_OK, "another context");
    while (core_current_push(other) == HD_OK)
        pushed++;
    ok(pushed > 0 && pushed <= 64, "the stack has an end");
    while (pushed--)
        core_current_pop();
    hal_fault_raise(&other->fault, HD_ILLEGAL_ADDRESS, 8, "made");
    eq_u64(core_context_synchronize(other), HD_ILLEGAL_ADDRESS, "a fault sticks");
    eq_u64(core_context_synchronize(ctx), HD_OK, "to its context only");
    core_context_destroy(other);
    ok(!core_handle_is(CORE_CONTEXT, other), "gone");
    eq_u64(core_primary_release(ctx->device), HD_BAD_ARG, "a primary context nobody has");
    eq_u64(core_primary_retain(ctx->device, &primary), HD_OK, "retain");
    hal_fault_raise(&primary->fault, HD_TRAP, 0, "made");
    eq_u64(core_context_synchronize(primary), HD_TRAP, "a fault");
    eq_u64(core_primary_reset(ctx->device), HD_OK, "a reset");
    eq_u64(core_context_synchronize(primary), HD_OK, "heals");
    eq_u64(core_primary_release(ctx->device), HD_OK, "release");
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
    eq_u64(core_event_wait(stream, event), HD_OK, "waiting for it");
    eq_u64(core_event_elapsed(event, event, &ms), HD_BAD_ARG, "it has no time");
    eq_u64(core_event_record(event, stream), HD_OK, "record");
    eq_u64(core_event_elapsed(event, end, &ms), HD_BAD_ARG, "an event without timing");
    core_stream_destroy(stream);
    eq_u64(core_event_synchronize(event), HD_OK, "an event outlives its stream");
    eq_u64(core_event_elapsed(event, event, &ms), HD_OK, "its time too");
    core_event_destroy(event);
    core_event_destroy(end);
    eq_u64(core_primary_retain(ctx->device, &primary), HD_OK, "primary context");
    eq_u64(core_stream_per_thread(primary, &mine), HD_OK, "this thread's stream");
    eq_u64(core_stream_per_thread(primary, &again), HD_OK, "again");
    ok(mine == again, "is one");
    eq_u64(core_primary_reset(ctx->device), HD_OK, "reset");
    eq_u64(core_stream_per_thread(primary, &mine), HD_OK, "another one afterwards");
    ok(core_handle_is(CORE_STREAM, mine), "alive");
    eq_u64(core_stream_synchronize(mine), HD_OK, "and working");
    eq_u64(core_primary_release(ctx->device), HD_OK, "release");
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
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    eq_u64(core_init(), HD_OK, "core_init");
    eq_u64(core_init(), HD_OK, "twice");
    if (!ok(core_context_create(core_device_get(), 0, &ctx) == HD_OK, "context"))
        return done();
    test_handles();
    test_attributes();
    test_memory_errors();
    test_memory_random();
    test_copies();
    test_contexts();
    test_streams();
    core_context_destroy(ctx);
    return done();
}
