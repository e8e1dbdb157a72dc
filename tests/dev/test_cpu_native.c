/*
 * Native kernels on the CPU device: every tile once however launches are cut, who runs them, what a
 * report says, launches for their callers in order, guards inside guards, cancellation that waits.
 */
#include <pthread.h>
#include <unistd.h>

#include "dev/cpu/device.h"
#include "device_fixture.h"
#include "heddle/native.h"

static void add_cta(struct jit_cta *cta)
{
    __atomic_fetch_add(params_of(cta)->out + cta->ctaid[0], params_of(cta)->value,
                       __ATOMIC_RELAXED);
}

static uint32_t *volatile nowhere = (uint32_t *)16;

static void wild_cta(struct jit_cta *cta)
{
    (void)cta;
    *nowhere = 1;
}

const struct fake_kernel fake_kernels[] = {
    {"add", {.run_cta = add_cta, .cost_ops = 10}},
    {"wild", {.run_cta = wild_cta, .cost_ops = 10}},
    {"native0", {.run_cta = add_cta}},
    {"native1", {.run_cta = add_cta}},
    {"native2", {.run_cta = add_cta}},
    {0},
};

static struct fixture *fixture;
static pthread_t main_thread;
static _Atomic uint32_t calls, on_main, largest;

static int add(struct heddle_native_call *call)
{
    const struct params *p = call->params;
    uint32_t size = (uint32_t)(call->last - call->first), seen = atomic_load(&largest);

    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&on_main, pthread_equal(pthread_self(), main_thread) != 0);
    while (seen < size && !atomic_compare_exchange_weak(&largest, &seen, size))
        ;
    for (uint64_t tile = call->first; tile < call->last; tile++)
        __atomic_fetch_add(&p->out[tile], p->value, __ATOMIC_RELAXED);
    return 0;
}

static _Atomic bool gate_open, gate_reached;

static int wait_at_gate(struct heddle_native_call *call)
{
    atomic_store(&gate_reached, true);
    while (!atomic_load(&gate_open))
        usleep(200);
    return add(call);
}

/* Kernel number `i` of those that have names for it. */
static union hal_packet dispatch(unsigned i, struct hal_native *native, uint32_t tiles,
                                 const struct params *params)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH}};
    char name[16];
    struct hal_kernel *kernel = NULL;

    snprintf(name, sizeof(name), "native%u", i);
    if (fixture->device->ops->native_get(
            fixture->module, ir_module_find_func(fixture->ir, name)->index, native, &kernel))
        abort();
    p.dispatch.kernel = kernel->id;
    p.dispatch.grid[0] = tiles;
    p.dispatch.grid[1] = p.dispatch.grid[2] = 1;
    p.dispatch.block[0] = p.dispatch.block[1] = p.dispatch.block[2] = 1;
    p.dispatch.params_B = sizeof(*params);
    memcpy(p.dispatch.params, params, sizeof(*params));
    return p;
}

#define TILES 5000u
static uint32_t out[TILES];

static unsigned wrong(uint32_t tiles, uint32_t want)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < TILES; i++)
        n += out[i] != (i < tiles ? want : 0);
    memset(out, 0, sizeof(out));
    atomic_store(&calls, 0);
    atomic_store(&on_main, 0);
    atomic_store(&largest, 0);
    return n;
}

static void test_tiles(void)
{
    static struct hal_native native = {.name = "tiles", .function = add};
    static const uint64_t costs[] = {0, 1, 700, 1000000};
    static const uint32_t sizes[] = {1, 2, 17, 999, TILES};
    struct hal_queue *q = fixture_queue(fixture);
    struct params params = {out, 1};

    for (unsigned c = 0; c < HD_COUNT_OF(costs); c++)
        for (unsigned s = 0; s < HD_COUNT_OF(sizes); s++) {
            union hal_packet p = dispatch(0, &native, sizes[s], &params);

            native.tile_ns = costs[c];
            fixture_submit(q, &p);
            fixture_submit(q, &p);
            fixture_wait(q);
            eq_u64(atomic_load(&on_main), 0, "not on the thread that waits");
            if (costs[c] == 1 && sizes[s] == TILES)
                ok(atomic_load(&largest) > 10, "cheap tiles come in ranges of %u",
                   atomic_load(&largest));
            eq_u64(wrong(sizes[s], 2), 0, "%u tiles of %u ns: each once a launch", sizes[s],
                   (unsigned)costs[c]);
        }
    q->ops->destroy(q);
}

/* ---- for the caller */

static void run(struct hal_queue *q, union hal_packet *p, uint32_t number,
                struct hal_native_end *out_end)
{
    p->dispatch.head.flags = HAL_FLAG_CALLER;
    p->dispatch.grid_id = number;
    fixture_submit(q, p);
    q->ops->run(q, number, out_end);
}

/* A copy, and a kernel that is run at once, on the thread that is inside the function. */
static int nest(struct heddle_native_call *call)
{
    const struct params *p = call->params;
    struct hal_queue *q = fixture_queue(fixture);
    union hal_packet inner = fixture_dispatch(fixture, "add", 8, 32, p, sizeof(*p));

    fixture_submit(q, &inner);
    fixture_wait(q);
    q->ops->destroy(q);
    return add(call);
}

static int nest_wild(struct heddle_native_call *call)
{
    const struct params *p = call->params;
    struct hal_queue *q = fixture_queue(fixture);
    union hal_packet inner = fixture_dispatch(fixture, "wild", 1, 32, p, sizeof(*p));

    fixture_submit(q, &inner);
    fixture_wait(q);
    q->ops->destroy(q);
    return nest(call); /* is skipped: the domain has failed */
}

static void test_caller(void)
{
    static struct hal_native native = {
        .name = "inside", .function = nest, .flags = HEDDLE_NATIVE_INLINE};
    struct hal_queue *q = fixture_queue(fixture);
    struct params params = {out, 1};
    union hal_packet p = dispatch(1, &native, 8, &params);
    struct hal_native_end end = {.status = HD_INTERNAL};

    run(q, &p, 1, &end);
    eq_u64(end.status, HD_OK, "run by its caller");
    ok(atomic_load(&calls) == 1 && atomic_load(&on_main) == 1, "at once and here");
    eq_u64(wrong(8, 2), 0, "and a kernel inside it");
    ok(hal_queue_is_idle(q), "it has retired");
    native.function = nest_wild;
    run(q, &p, 2, &end);
    eq_u64(hal_domain_status(fixture->domain), HD_ILLEGAL_ADDRESS, "a kernel inside it faults");
    eq_u64(wrong(8, 1), 0, "and the function goes on");
    run(q, &p, 3, &end);
    eq_u64(end.status, HD_ILLEGAL_ADDRESS, "the next one is told, and not run");
    eq_u64(wrong(0, 0), 0, "indeed");
    fixture_heal(fixture);
    native.function = nest;
    run(q, &p, 4, &end);
    eq_u64(end.status, HD_OK, "healed, it runs again");
    eq_u64(wrong(8, 2), 0, "as before");
    q->ops->destroy(q);
}

static void *open_gate(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate_reached))
        usleep(200);
    usleep(10000);
    atomic_store(&gate_open, true);
    return NULL;
}

/* ---- looked at, and given up */

static struct hal_native gate = {.name = "gate", .function = wait_at_gate};

static void note_running(void *arg, const struct hal_running *running)
{
    unsigned *found = arg;

    *found += !strcmp(running->kernel, "gate") && running->grid[0] == 3;
}

static void test_report(void)
{
    struct hal_queue *q = fixture_queue(fixture);
    struct params params = {out, 1};
    union hal_packet p = dispatch(2, &gate, 3, &params);
    unsigned found = 0;

    atomic_store(&gate_open, false);
    atomic_store(&gate_reached, false);
    fixture_submit(q, &p);
    while (!atomic_load(&gate_reached))
        usleep(200);
    fixture->device->ops->report(fixture->device, note_running, &found);
    eq_u64(found, 1, "a report has its name and size while it runs");
    atomic_store(&gate_open, true);
    fixture_wait(q);
    eq_u64(wrong(3, 1), 0, "it ran");
    q->ops->destroy(q);
}

static void test_cancel(void)
{
    struct hal_queue *q = fixture_queue(fixture);
    struct params params = {out, 1};
    union hal_packet p = dispatch(2, &gate, TILES, &params);
    pthread_t opener;

    gate.tile_ns = 1000000;
    atomic_store(&gate_open, false);
    atomic_store(&gate_reached, false);
    fixture_submit(q, &p);
    pthread_create(&opener, NULL, open_gate, NULL);
    while (!atomic_load(&gate_reached))
        usleep(200);
    fixture->device->ops->domain_cancel(fixture->domain);
    fixture_wait(q);
    ok(atomic_load(&gate_open), "what runs is waited for");
    ok(out[0] + out[TILES / 2] + out[TILES - 1] < 3, "what had not begun is left out");
    ok(atomic_load(&calls) > 0, "the calls that ran have ended");
    pthread_join(opener, NULL);
    q->ops->destroy(q);
    fixture->device->ops->domain_reset(fixture->domain);
    (void)wrong(0, 0);
}

static void test_withdrawn(void)
{
    struct hal_queue *q = fixture_queue(fixture);
    struct params params = {out, 1};
    union hal_packet p = dispatch(2, &gate, 3, &params);

    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(wrong(3, 1), 0, "runs");
    atomic_store(&gate.withdrawn, true);
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(hal_domain_status(fixture->domain), HD_NATIVE, "and fails when it is withdrawn");
    ok(strstr(fixture->domain->fault->message, "gate was unregistered"), "by its name");
    eq_u64(wrong(0, 0), 0, "without a call");
    fixture_heal(fixture);
    q->ops->destroy(q);
}

int main(void)
{
    struct fixture f;

    main_thread = pthread_self();
    fixture = &f;
    if (!ok(fixture_init(&f), "device"))
        return done();
    test_tiles();
    test_caller();
    test_report();
    test_cancel();
    test_withdrawn();
    fixture_fini(&f);
    return done();
}
