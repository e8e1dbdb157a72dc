/* The order of streams, graphs and the host, event by event. */
#include "san/order.h"

#include "hal/packet.h"
#include "tap.h"

static int contexts[1], handles[200], an_event, a_graph;
static uint64_t last_id;

static void report_order(struct heddle_event e)
{
    struct san_order_position position;

    e.size_B = sizeof(e);
    if (!e.context)
        e.context = &contexts[0];
    if (e.kind == HEDDLE_EVENT_PACKET)
        (void)san_order_packet(&e, &position);
    else
        san_order_host(&e);
}

static void stream_made(void *handle, uint32_t flags, bool is_destroyed)
{
    struct heddle_event e = {.kind = HEDDLE_EVENT_OBJECT};

    e.object.handle = handle;
    e.object.type = "stream";
    e.object.flags = flags;
    e.object.is_destroyed = is_destroyed;
    report_order(e);
}

static struct san_order_position work_in(void *stream, const struct heddle_graph *graph,
                                         uint32_t node)
{
    const union hal_packet p = {.head.op = HAL_OP_DISPATCH};
    struct san_order_position position = {0};
    struct heddle_event e = {.kind = HEDDLE_EVENT_PACKET,
                             .correlation = graph ? 7 : ++last_id,
                             .context = &contexts[0],
                             .stream = stream};

    e.packet.id = ++last_id;
    e.packet.packet = &p;
    e.packet.op = HAL_OP_DISPATCH;
    e.packet.graph = graph;
    e.packet.node = node;
    if (!san_order_packet(&e, &position))
        ok(false, "a kernel is work");
    return position;
}

static struct san_order_position work(void *stream)
{
    return work_in(stream, NULL, 0);
}

static const struct heddle_arg args[] = {{.name = "a", .size_B = 8},
                                         {.name = "b", .size_B = 8, .offset_B = 8},
                                         {.name = "c", .size_B = 8, .offset_B = 16}};

static void call(const char *name, void *a, void *b)
{
    const struct heddle_entry entry = {.nargs = 3, .name = name, .args = args};
    void *values[3] = {a, b, NULL};
    struct heddle_event e = {.kind = HEDDLE_EVENT_DRIVER, .thread = 1};

    e.call.entry = &entry;
    e.call.args = values;
    e.phase = HEDDLE_PHASE_BEGIN;
    report_order(e);
    e.phase = HEDDLE_PHASE_END;
    report_order(e);
}

static bool before(const struct san_order_position *a, const struct san_order_position *b)
{
    return san_order_is_before(a->op, &b->after);
}

static bool host_knows(const struct san_order_position *a)
{
    struct san_order_clock clock;

    san_order_host_clock(&clock);
    return san_order_is_before(a->op, &clock);
}

static void test_streams(void)
{
    void *s = &handles[0], *t = &handles[1], *n = &handles[2];

    stream_made(s, 0, false);
    stream_made(t, 0, false);
    stream_made(n, HEDDLE_STREAM_NON_BLOCKING, false);
    struct san_order_position a = work(s), b = work(t), c = work(s), d = work(n);
    ok(before(&a, &c) && !before(&a, &b) && !before(&b, &c), "a stream is in order, two are not");
    struct san_order_position e = work(NULL), f = work(t), g = work(n);
    ok(before(&c, &e) && before(&b, &e) && !before(&d, &e),
       "the default stream waits for blocking ones");
    ok(before(&e, &f) && before(&a, &f) && !before(&e, &g), "and they for it");
    call("cuEventRecord_ptsz", &an_event, s);
    struct san_order_position h = work(s);
    call("cuStreamWaitEvent", n, &an_event);
    struct san_order_position i = work(n);
    ok(before(&c, &i) && !before(&h, &i), "up to where the event was recorded");
    ok(!host_knows(&a), "the host did not wait");
    call("cuStreamQuery", t, NULL);
    ok(host_knows(&f) && host_knows(&a) && !host_knows(&h) && !host_knows(&i), "for one stream");
    call("cuMemAlloc_v2", NULL, NULL);
    ok(!host_knows(&h), "an allocation does not wait");
    call("cuCtxSynchronize", NULL, NULL);
    ok(host_knows(&h) && host_knows(&i), "for all");
}

static void test_default_streams(void)
{
    void *mine = &handles[3];

    struct heddle_event e = {.kind = HEDDLE_EVENT_OBJECT, .thread = 1};
    e.object.handle = mine;
    e.object.type = "stream";
    e.object.flags = HEDDLE_STREAM_PER_THREAD;
    report_order(e);
    struct san_order_position a = work(mine), b = work(&handles[2]);
    call("cuStreamSynchronize_ptsz", NULL, NULL);
    ok(host_knows(&a) && !host_knows(&b), "the default stream of the thread");
    struct san_order_position c = work(mine);
    call("cuStreamSynchronize", NULL, NULL);
    ok(host_knows(&c) && !host_knows(&b), "the legacy one stands for it");
    struct san_order_position d = work(mine);
    call("cuStreamSynchronize", (void *)(uintptr_t)2, NULL);
    ok(host_knows(&d), "by its constant");
}

/* 0 -> 1, 2; both -> 3. In one queue, but that is chance. */
static void test_graph(void)
{
    static const uint32_t first[] = {0, 0, 1, 2, 4}, after[] = {0, 0, 1, 2};
    const struct heddle_graph graph = {4, first, after};
    void *s = &handles[0];
    struct san_order_position a = work(s), n[4];

    call("cuCtxGetCurrent", NULL, NULL);
    for (uint32_t i = 0; i < 4; i++)
        n[i] = work_in(s, &graph, i);
    call("cuGraphLaunch", &a_graph, s);
    ok(before(&a, &n[0]) && before(&n[0], &n[1]) && before(&n[0], &n[2]),
       "nodes come after theirs");
    ok(!before(&n[1], &n[2]) && !before(&n[2], &n[1]), "branches are unordered");
    struct san_order_position b = work(s);
    ok(before(&n[1], &n[3]) && before(&n[2], &n[3]) && before(&n[1], &b) && before(&n[2], &b),
       "what joins them, and the stream");
}

/* More streams than places, one after another: each is told apart as long as the host knows. */
static void test_many(void)
{
    bool apart = true;

    for (unsigned i = 10; i < 200; i++) {
        stream_made(&handles[i], HEDDLE_STREAM_NON_BLOCKING, false);
        struct san_order_position a = work(&handles[i]), b = work(&handles[0]);
        apart &= !before(&a, &b) && !before(&b, &a);
        call("cuStreamSynchronize", &handles[i], NULL);
        call("cuStreamSynchronize", &handles[0], NULL);
        stream_made(&handles[i], 0, true);
    }
    ok(apart, "190 streams that come and go");
    for (unsigned i = 10; i < 200; i++)
        stream_made(&handles[i], HEDDLE_STREAM_NON_BLOCKING, false);
    struct san_order_position last = {0}, first = work(&handles[10]);
    for (unsigned i = 11; i < 200; i++)
        last = work(&handles[i]);
    ok(before(&first, &last), "of 190 at once the last come after all");
    call("cuStreamWaitValue32", NULL, NULL);
    struct san_order_position c = work(&handles[11]), d = work(&handles[12]);
    ok(before(&c, &d), "order that is not seen: nothing is told apart");
}

int main(void)
{
    test_streams();
    test_default_streams();
    test_graph();
    test_many();
    san_order_stop();
    return done();
}
