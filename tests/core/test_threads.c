/*
 * The core under threads: objects are used, recorded and destroyed while others submit. Nothing
 * here asserts timing; ThreadSanitizer runs it too.
 */
#include <pthread.h>

#include "../dev/fake_jit.h"
#include "../api/fake_compile.h"
#include "core/core.h"
#include "hal/hal.h"
#include "tap.h"

const struct fake_kernel fake_kernels[] = {{0}};

static struct core_context *ctx;

/* ---- the position of an event is that of its own packet */

enum { ROUNDS = 64, RECORDS = 60, NOISE = 300, RECORDERS = 2 };
_Static_assert(RECORDERS *RECORDS + NOISE < HAL_RING_SLOTS, "no slot is written twice in a round");

struct recorder {
    struct core_stream *stream;
    struct core_event *events[RECORDS];
    unsigned failed;
};

static void *record(void *arg)
{
    struct recorder *r = arg;

    for (unsigned i = 0; i < RECORDS; i++)
        r->failed += core_event_record(r->events[i], r->stream, false) != HD_OK;
    return NULL;
}

static void *submit_noise(void *arg)
{
    for (unsigned i = 0; i < NOISE; i++) {
        union hal_packet p = {.head.op = HAL_OP_NOP};

        if (core_stream_submit(arg, &p, 1, NULL, 0, NULL) != HD_OK)
            abort();
    }
    return NULL;
}

/* How many events stand for another packet than theirs? */
static unsigned misplaced(const struct recorder *r)
{
    unsigned wrong = r->failed;

    for (unsigned i = 0; i < RECORDS; i++) {
        const union hal_packet *p =
            hal_ring_packet(r->stream->queue->ring, r->events[i]->last->value);

        wrong += p->head.op != HAL_OP_TIMESTAMP ||
                 p->sem.address != (uintptr_t)&r->events[i]->last->ticks;
    }
    return wrong;
}

static unsigned record_round(struct recorder recorders[RECORDERS])
{
    pthread_t threads[RECORDERS], noise;
    struct core_stream *stream;
    unsigned wrong = 0;

    if (core_stream_create(ctx, 1, 0, &stream) != HD_OK)
        abort();
    pthread_create(&noise, NULL, submit_noise, stream);
    for (unsigned i = 0; i < RECORDERS; i++) {
        recorders[i].stream = stream;
        pthread_create(&threads[i], NULL, record, &recorders[i]);
    }
    pthread_join(noise, NULL);
    for (unsigned i = 0; i < RECORDERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < RECORDERS; i++)
        wrong += misplaced(&recorders[i]);
    if (core_stream_synchronize(stream) != HD_OK)
        abort();
    core_stream_destroy(stream);
    core_stream_unref(stream);
    return wrong;
}

static void test_event_positions(void)
{
    static struct recorder recorders[RECORDERS];
    unsigned wrong = 0;

    for (unsigned i = 0; i < RECORDERS * RECORDS; i++)
        if (core_event_create(ctx, 0, &recorders[i % RECORDERS].events[i / RECORDERS]) != HD_OK)
            abort();
    for (unsigned round = 0; round < ROUNDS; round++)
        wrong += record_round(recorders);
    eq_u64(wrong, 0, "events that cover work submitted after them");
    for (unsigned i = 0; i < RECORDERS * RECORDS; i++) {
        struct core_event *event = recorders[i % RECORDERS].events[i / RECORDERS];

        core_event_destroy(event);
        core_event_unref(event);
    }
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    if (!ok(core_init() == HD_OK, "core_init") ||
        !ok(core_context_create(core_device_at(0), 0, &ctx) == HD_OK, "context"))
        return done();
    test_event_positions();
    core_context_destroy(ctx);
    core_context_unref(ctx);
    return done();
}
