/*
 * Taps across the libraries: a runtime call, the driver calls in it, their packets and what they
 * make carry one correlation; listeners come and go while threads work.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "hal/hal.h"
#include "heddle/tap.h"
#include "runtime_fixture.h"

#define MAX_EVENTS 256

struct seen {
    char name[48];
    uint8_t kind, phase;
    uint64_t correlation;
    int64_t result;
    uint32_t op, packet_correlation;
    uint64_t va, size_B;
    uint32_t is_end;
};

static struct seen seen[MAX_EVENTS];
static unsigned nseen;
static uint32_t kinds_seen;

static void on_event(void *user, const struct heddle_event *e)
{
    struct seen *s = &seen[nseen];

    (void)user;
    kinds_seen |= 1u << e->kind;
    if (nseen == MAX_EVENTS)
        return;
    nseen++;
    *s = (struct seen){.kind = e->kind, .phase = e->phase, .correlation = e->correlation};
    switch ((enum heddle_event_kind)e->kind) {
    case HEDDLE_EVENT_DRIVER:
    case HEDDLE_EVENT_RUNTIME:
        snprintf(s->name, sizeof(s->name), "%s", e->call.entry->name);
        s->result = e->call.result;
        break;
    case HEDDLE_EVENT_PACKET:
        s->op = e->packet.op;
        s->packet_correlation = ((const union hal_packet *)e->packet.packet)->head.correlation;
        break;
    case HEDDLE_EVENT_COMPILE:
        snprintf(s->name, sizeof(s->name), "%s", e->compile.form);
        s->result = e->compile.status;
        s->is_end = !strcmp(e->compile.name, "store");
        break;
    case HEDDLE_EVENT_MEMORY:
        s->va = e->memory.va;
        s->size_B = e->memory.size_B;
        s->is_end = e->memory.is_freed;
        break;
    case HEDDLE_EVENT_MODULE:
    case HEDDLE_EVENT_OBJECT:
        snprintf(s->name, sizeof(s->name), "%s", e->object.type);
        s->is_end = e->object.is_destroyed;
        break;
    case HEDDLE_EVENT_FAULT: /* nothing fails here */
    case HEDDLE_EVENT_DONE:
    case HEDDLE_EVENT_NVTX:    /* nor is anything marked */
    case HEDDLE_EVENT_RETIRED: /* of other threads: test_retired() */
    case HEDDLE_EVENT_COUNT:
        abort();
    }
}

/* The first event from `from` on that is like this; its place, or nseen. */
static unsigned find(unsigned from, enum heddle_event_kind kind, enum heddle_event_phase phase,
                     const char *name)
{
    while (from < nseen && (seen[from].kind != kind || seen[from].phase != phase ||
                            (name && strcmp(seen[from].name, name))))
        from++;
    return from;
}

static void kernel_stub(void)
{
}

static void test_launch(void)
{
    unsigned outer, inner, packet, inner_end, outer_end, module, compile, compiled;
    int value = 7, *p;
    void *args[] = {&p, &value};

    eq_error(cudaMalloc((void **)&p, 256), cudaSuccess, "cudaMalloc");
    nseen = 0;
    eq_error(cudaLaunchKernel((const void *)kernel_stub, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0,
                              NULL),
             cudaSuccess, "launch");
    outer = find(0, HEDDLE_EVENT_RUNTIME, HEDDLE_PHASE_BEGIN, "cudaLaunchKernel");
    inner = find(outer, HEDDLE_EVENT_DRIVER, HEDDLE_PHASE_BEGIN, "cuLaunchKernel");
    packet = find(inner, HEDDLE_EVENT_PACKET, HEDDLE_PHASE_POINT, NULL);
    inner_end = find(packet, HEDDLE_EVENT_DRIVER, HEDDLE_PHASE_END, "cuLaunchKernel");
    outer_end = find(inner_end, HEDDLE_EVENT_RUNTIME, HEDDLE_PHASE_END, "cudaLaunchKernel");
    ok(outer_end < nseen, "runtime and driver call and packet, nested");
    if (outer_end == nseen)
        return;
    module = find(outer, HEDDLE_EVENT_MODULE, HEDDLE_PHASE_POINT, "module");
    ok(module < inner, "the module is loaded before the launch");
    for (unsigned i = outer; i <= outer_end; i++)
        if (seen[i].correlation != seen[outer].correlation)
            ok(false, "event %u (%s) has another correlation", i, seen[i].name);
    ok(seen[outer].correlation != 0, "which is not 0");
    compile = find(outer, HEDDLE_EVENT_COMPILE, HEDDLE_PHASE_BEGIN, "ir");
    compiled = find(compile, HEDDLE_EVENT_COMPILE, HEDDLE_PHASE_END, "ir");
    ok(compiled < packet, "the kernel is compiled ahead of its packet");
    ok(seen[compile].is_end && seen[compiled].is_end, "by name");
    eq_u64((uint64_t)seen[compiled].result, 0, "without error");
    eq_u64(seen[packet].op, HAL_OP_DISPATCH, "a dispatch");
    eq_u64(seen[packet].packet_correlation, (uint32_t)seen[outer].correlation,
           "the packet carries it");
    nseen = 0;
    eq_error(cudaFree(p), cudaSuccess, "free");
    outer = find(0, HEDDLE_EVENT_RUNTIME, HEDDLE_PHASE_BEGIN, "cudaFree");
    inner = find(outer, HEDDLE_EVENT_MEMORY, HEDDLE_PHASE_POINT, NULL);
    ok(inner < nseen && seen[inner].is_end && seen[inner].va == (uintptr_t)p, "freed memory");
    eq_u64(seen[inner].size_B, 256, "of 256 bytes");
}

static void test_objects(void)
{
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned at;

    nseen = 0;
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    at = find(0, HEDDLE_EVENT_OBJECT, HEDDLE_PHASE_POINT, "stream");
    ok(at < nseen && !seen[at].is_end, "is told");
    eq_error(cudaEventCreate(&event), cudaSuccess, "event");
    at = find(at, HEDDLE_EVENT_OBJECT, HEDDLE_PHASE_POINT, "event");
    ok(at < nseen && !seen[at].is_end, "is told");
    eq_error(cudaEventDestroy(event), cudaSuccess, "destroy");
    at = find(at + 1, HEDDLE_EVENT_OBJECT, HEDDLE_PHASE_POINT, "event");
    ok(at < nseen && seen[at].is_end, "is told");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    at = find(at + 1, HEDDLE_EVENT_OBJECT, HEDDLE_PHASE_POINT, "stream");
    ok(at < nseen && seen[at].is_end, "is told");
}

static _Atomic unsigned retired;
static uint64_t packet_ids[2], packet_call;
static struct heddle_event last_retired;

static void on_retired(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->kind == HEDDLE_EVENT_PACKET) {
        packet_ids[0] = packet_ids[1];
        packet_ids[1] = e->packet.id;
        packet_call = e->correlation;
    } else {
        last_retired = *e;
        atomic_fetch_add(&retired, 1);
    }
}

/* Told before the wait returns, with times on the device and the call's correlation. */
static void test_retired(void)
{
    uint32_t id =
        heddle_tap_subscribe(HEDDLE_KIND(PACKET) | HEDDLE_KIND(RETIRED), on_retired, NULL);
    cudaStream_t stream;
    int value = 7, *p;
    void *args[] = {&p, &value};

    eq_error(cudaMalloc((void **)&p, 256), cudaSuccess, "cudaMalloc");
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    atomic_store(&retired, 0);
    eq_error(cudaLaunchKernel((const void *)kernel_stub, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0,
                              stream),
             cudaSuccess, "launch");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "synchronize");
    eq_u64(atomic_load(&retired), 1, "one packet is complete");
    eq_u64(last_retired.packet.id, packet_ids[1], "the one that was submitted");
    eq_u64(last_retired.correlation, packet_call, "by the same call");
    ok(last_retired.correlation != 0, "which has a number");
    eq_u64(last_retired.packet.op, HAL_OP_DISPATCH, "a dispatch");
    eq_u64(last_retired.packet.status, 0, "without a fault");
    ok((cudaStream_t)last_retired.stream == stream, "on this stream");
    ok(last_retired.packet.start_ns && last_retired.packet.start_ns <= last_retired.packet.end_ns &&
           last_retired.packet.end_ns <= last_retired.time_ns,
       "it began, ended and was told in this order");
    eq_error(cudaMemsetAsync(p, 0, 256, stream), cudaSuccess, "fill");
    eq_error(cudaMemcpyAsync(&value, p, 4, cudaMemcpyDeviceToHost, stream), cudaSuccess, "copy");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "synchronize");
    eq_u64(atomic_load(&retired), 3, "two more");
    eq_u64(last_retired.packet.id, packet_ids[1], "in order");
    heddle_tap_unsubscribe(id);
    eq_error(cudaMemset(p, 0, 256), cudaSuccess, "nobody listens");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "synchronize");
    eq_u64(atomic_load(&retired), 3, "and is told");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    eq_error(cudaFree(p), cudaSuccess, "free");
}

/* ---- what compilers write */

static struct {
    const char *names[8], *titles[8];
    uint64_t correlation[8], packet;
    unsigned n;
} written;

static void on_written(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->kind == HEDDLE_EVENT_PACKET) {
        written.packet = e->correlation;
    } else if (written.n < HD_COUNT_OF(written.names)) {
        written.names[written.n] = e->call.entry->name;
        written.titles[written.n] = e->call.entry->title;
        written.correlation[written.n++] = e->correlation;
    }
}

/* <<<>>> as nvcc 13 compiles it. */
static void launch_as_nvcc(cudaError_t (*launch)(cudaKernel_t, dim3, dim3, void **, size_t,
                                                 cudaStream_t),
                           void **args)
{
    dim3 grid, block;
    size_t shared_B;
    cudaStream_t stream;
    cudaKernel_t kernel;

    eq_u64(__cudaPushCallConfiguration((dim3){1, 1, 1}, (dim3){32, 1, 1}, 0, NULL), 0, "push");
    eq_error(__cudaGetKernel(&kernel, (const void *)kernel_stub), cudaSuccess, "kernel");
    eq_error(__cudaPopCallConfiguration(&grid, &block, &shared_B, &stream), cudaSuccess, "pop");
    eq_error(launch(kernel, grid, block, args, shared_B, stream), cudaSuccess, "launch");
}

/* HEDDLE_PLAIN leaves out what stands around a launch, and not the launch. */
static void test_plain(void)
{
    const uint32_t kinds = HEDDLE_KIND(RUNTIME) | HEDDLE_KIND(DRIVER) | HEDDLE_KIND(PACKET) |
                           HEDDLE_OUTERMOST | HEDDLE_ENDS;
    static const struct {
        cudaError_t (*launch)(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
        const char *name, *title;
    } rows[] = {{__cudaLaunchKernel, "__cudaLaunchKernel", "cudaLaunchKernel"},
                {__cudaLaunchKernel_ptsz, "__cudaLaunchKernel_ptsz", "cudaLaunchKernel_ptsz"}};
    int value = 7, *p;
    void *args[] = {&p, &value};

    eq_error(cudaMalloc((void **)&p, 256), cudaSuccess, "cudaMalloc");
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        uint32_t id = heddle_tap_subscribe(kinds | HEDDLE_PLAIN, on_written, NULL);

        written.n = 0;
        launch_as_nvcc(rows[i].launch, args);
        heddle_tap_unsubscribe(id);
        eq_u64(written.n, 1, "one call is told");
        eq_str(written.names[0], rows[i].name, "the launch");
        eq_str(written.titles[0], rows[i].title, "by the name that programs have for it");
        ok(written.packet && written.packet == written.correlation[0], "its kernel is its own");
        id = heddle_tap_subscribe(kinds, on_written, NULL);
        written.n = 0;
        launch_as_nvcc(rows[i].launch, args);
        heddle_tap_unsubscribe(id);
        eq_u64(written.n, 3, "without HEDDLE_PLAIN, all that return an error");
        eq_str(written.titles[1], "__cudaPopCallConfiguration", "whose titles are their names");
    }
    eq_error(cudaFree(p), cudaSuccess, "free");
}

static void test_results(void)
{
    unsigned at;

    nseen = 0;
    eq_error(cudaMalloc(NULL, 16), cudaErrorInvalidValue, "a failing call");
    at = find(0, HEDDLE_EVENT_RUNTIME, HEDDLE_PHASE_END, "cudaMalloc");
    ok(at < nseen, "has an end");
    eq_u64((uint64_t)seen[at].result, cudaErrorInvalidValue, "with its result");
    (void)cudaGetLastError();
}

/* ---- threads */

static _Atomic bool stop;
static _Atomic unsigned told;

static void on_count(void *user, const struct heddle_event *e)
{
    (void)e;
    atomic_fetch_add((_Atomic unsigned *)user, 1);
    atomic_fetch_add(&told, 1);
}

static void *work(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        void *p = NULL;

        if (cudaMalloc(&p, 64) || cudaMemset(p, 0, 64) || cudaFree(p))
            abort();
    }
    return NULL;
}

/* A counter that a listener would touch after its removal lives on this thread's stack. */
static void *subscribe(void *arg)
{
    for (int i = 0; i < 300; i++) {
        _Atomic unsigned mine = 0;
        uint32_t id = heddle_tap_subscribe(HEDDLE_KIND_ALL, on_count, &mine);
        unsigned after;

        if (!id)
            abort();
        for (int spin = 0; spin < 2000 && !atomic_load(&mine); spin++)
            sched_yield();
        heddle_tap_unsubscribe(id);
        after = atomic_load(&mine);
        sched_yield();
        if (atomic_load(&mine) != after)
            *(bool *)arg = true;
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t workers[3], subscribers[3];
    bool late = false;

    for (int i = 0; i < 3; i++)
        if (pthread_create(&workers[i], NULL, work, NULL) ||
            pthread_create(&subscribers[i], NULL, subscribe, &late))
            abort();
    for (int i = 0; i < 3; i++)
        pthread_join(subscribers[i], NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], NULL);
    ok(atomic_load(&told) > 0, "listeners were told %u events", atomic_load(&told));
    ok(!late, "none after its removal");
    eq_u64(heddle_tap_kinds, 0, "nobody is left");
}

int main(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(
        ".version 7.5\n.target sm_75\n.address_size 64\n"
        ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n"
        ".reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\n"
        "cvta.to.global.u64 %rd2, %rd1;\nld.param.u32 %r1, [v];\nst.global.u32 [%rd2], %r1;\n"
        "ret;\n}\n"));
    uint32_t id;

    fixture_function(handle, (const void *)kernel_stub, "store");
    __cudaRegisterFatBinaryEnd(handle);
    eq_error(cudaFree(NULL), cudaSuccess, "context");
    id = heddle_tap_subscribe(HEDDLE_KIND_ALL & ~(HEDDLE_KIND(RETIRED) | HEDDLE_KIND(DONE)),
                              on_event, NULL);
    test_launch();
    test_objects();
    test_results();
    heddle_tap_unsubscribe(id);
    eq_u64(kinds_seen,
           HEDDLE_KIND_ALL &
               ~(HEDDLE_KIND(RETIRED) | HEDDLE_KIND(DONE) | HEDDLE_KIND(FAULT) | HEDDLE_KIND(NVTX)),
           "every kind of event was told");
    test_retired();
    test_plain();
    test_threads();
    return done();
}
