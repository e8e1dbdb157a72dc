/*
 * What a report lists: kernels on the thread that launched them, on one that waits, at workers; one
 * that ends while others are asked; never a mixture of two.
 */
#include <pthread.h>
#include <unistd.h>

#include "dev/cpu/device.h"
#include "device_fixture.h"
#include "heddle/native.h"

static _Atomic bool gate_open;
static _Atomic uint32_t reached;
static struct cpu_device *device;

static void wait_at_gate(void)
{
    atomic_fetch_add(&reached, 1);
    while (!atomic_load(&gate_open))
        usleep(200);
}

static void gate_cta(struct jit_cta *cta)
{
    if (!cta->ctaid[0])
        wait_at_gate();
}

/* Until workers are asked, or it is let go. */
static void brief_cta(struct jit_cta *cta)
{
    uint32_t asked = atomic_load(&device->asked);

    (void)cta;
    atomic_fetch_add(&reached, 1);
    while (!atomic_load(&gate_open) && atomic_load(&device->asked) == asked)
        usleep(200);
}

static uint32_t poll_run(struct jit_cta *cta, struct jit_warp *warp)
{
    (void)cta;
    if (warp->state == 0)
        atomic_fetch_add(&reached, 1);
    return atomic_load(&gate_open) ? JIT_DONE : 1u << 2 | JIT_YIELD;
}

static void quick_cta(struct jit_cta *cta)
{
    (void)cta;
    for (volatile int i = 0; i < 100; i++)
        ;
}

const struct fake_kernel fake_kernels[] = {
    {"short", {.run_cta = gate_cta, .cost_ops = 10}},
    {"long", {.run_cta = gate_cta, .cost_ops = UINT64_MAX}},
    {"brief", {.run_cta = brief_cta, .cost_ops = UINT64_MAX}},
    {"poll", {.run = poll_run, .may_spin = true, .may_wait = true, .cost_ops = UINT64_MAX}},
    {"one", {.run_cta = quick_cta, .cost_ops = 10}},
    {"two", {.run_cta = quick_cta, .cost_ops = 10}},
    {"native", {.run_cta = quick_cta}},
    {0},
};

/* ---- a thread that launches */

#define PACKETS_MAX 3
struct launch {
    struct fixture *f;
    union hal_packet packets[PACKETS_MAX];
    unsigned n;
    struct hal_queue *queue;
    pthread_t thread;
};

static void *launch_main(void *arg)
{
    struct launch *l = arg;

    if (l->queue->ops->submit(l->queue, l->packets, l->n) != HD_OK)
        abort();
    fixture_wait(l->queue);
    return NULL;
}

static void launch_add(struct launch *l, const char *name, uint32_t grid, uint32_t block)
{
    uint64_t none = 0;
    union hal_packet p = fixture_dispatch(l->f, name, grid, block, &none, 8);

    p.dispatch.grid_id = l->n + 1;
    l->packets[l->n++] = p;
}

static void launch_begin(struct launch *l, struct fixture *f)
{
    *l = (struct launch){.f = f, .queue = fixture_queue(f)};
}

static void launch_start(struct launch *l)
{
    uint32_t before = atomic_load(&reached);

    pthread_create(&l->thread, NULL, launch_main, l);
    while (atomic_load(&reached) == before)
        usleep(200);
}

static void launch_end(struct launch *l)
{
    pthread_join(l->thread, NULL);
    l->queue->ops->destroy(l->queue);
}

/* ---- reports */

struct seen {
    unsigned n, other; /* with the name; others */
    char name[16];
    struct hal_running last;
};

static void note(void *arg, const struct hal_running *running)
{
    struct seen *seen = arg;

    if (strcmp(running->kernel, seen->name)) {
        seen->other++;
        return;
    }
    seen->n++;
    seen->last = *running;
    seen->last.kernel = NULL;
    seen->last.waits = NULL;
}

static struct seen look_for(const char *name)
{
    struct seen seen = {.n = 0};

    snprintf(seen.name, sizeof(seen.name), "%s", name);
    device->base.ops->report(&device->base, note, &seen);
    return seen;
}

static void check(const char *name, uint32_t grid, uint32_t block, const struct fixture *f,
                  const char *what)
{
    struct seen first = look_for(name), later;

    usleep(2000);
    later = look_for(name);
    ok(first.n == 1 && !first.other, "%s: it is listed, alone", what);
    ok(first.last.grid[0] == grid && first.last.grid[1] == 1 && first.last.block[0] == block &&
           first.last.blocks == grid && first.last.domain == f->domain,
       "%s: with its size", what);
    ok(first.last.begun > 0 && first.last.begun <= grid, "%s: blocks have begun", what);
    ok(first.last.threads > 0 && first.last.threads <= first.last.of, "%s: a thread runs it", what);
    ok(later.n == 1 && later.last.running_ns > first.last.running_ns, "%s: it runs on", what);
}

static void let_go(struct launch *l, const char *what)
{
    atomic_store(&gate_open, true);
    launch_end(l);
    eq_u64(look_for("").other, 0, "%s: it has ended, and nothing is listed", what);
    atomic_store(&gate_open, false);
}

static void test_alone(struct fixture *f, const char *name, const char *what)
{
    struct launch l;

    launch_begin(&l, f);
    launch_add(&l, name, 5, 64);
    launch_start(&l);
    check(name, 5, 64, f, what);
    let_go(&l, what);
}

/* Behind others that end at once: one of another kernel, one of its own. */
static void test_row(struct fixture *f)
{
    struct launch l;

    launch_begin(&l, f);
    launch_add(&l, "one", 3, 32);
    launch_add(&l, "short", 4, 96);
    launch_add(&l, "two", 2, 64);
    launch_start(&l);
    check("short", 4, 96, f, "in a row");
    eq_u64(look_for("short").last.grid_id, 2, "in a row: with its number");
    let_go(&l, "in a row");
}

static int native_gate(struct heddle_native_call *call)
{
    (void)call;
    wait_at_gate();
    return 0;
}

static void test_native(struct fixture *f)
{
    static struct hal_native native = {
        .name = "gate", .function = native_gate, .flags = HEDDLE_NATIVE_ANY_THREAD, .tile_ns = 1};
    struct hal_kernel *kernel = NULL;
    struct launch l;

    launch_begin(&l, f);
    launch_add(&l, "one", 7, 1);
    if (f->device->ops->native_get(f->module, ir_module_find_func(f->ir, "native")->index, &native,
                                   &kernel))
        abort();
    l.packets[0].dispatch.kernel = kernel->id;
    launch_start(&l);
    check("gate", 7, 1, f, "a short native kernel");
    let_go(&l, "a short native kernel");
}

/* What polls is asked, and may answer late; by then the other kernel has ended. */
static void test_ends(struct fixture *f)
{
    struct launch poll, brief;
    struct seen seen;

    launch_begin(&poll, f);
    launch_add(&poll, "poll", 1, 32);
    launch_start(&poll);
    launch_begin(&brief, f);
    launch_add(&brief, "brief", 1, 32);
    launch_start(&brief);
    seen = look_for("brief");
    ok(seen.n == 1 && seen.other == 1, "a kernel that ends while others are asked is listed");
    atomic_store(&gate_open, true);
    launch_end(&brief);
    launch_end(&poll);
    atomic_store(&gate_open, false);
}

/* ---- many of them */

static _Atomic bool enough;

static void *many_main(void *arg)
{
    struct launch *l = arg;

    while (!atomic_load(&enough)) {
        if (l->queue->ops->submit(l->queue, l->packets, l->n) != HD_OK)
            abort();
        fixture_wait(l->queue);
    }
    return NULL;
}

struct mixture {
    unsigned one, two, wrong;
};

static void note_mixture(void *arg, const struct hal_running *r)
{
    struct mixture *m = arg;

    if (!strcmp(r->kernel, "one") && r->grid[0] == 3 && r->block[0] == 32 && r->blocks == 3)
        m->one++;
    else if (!strcmp(r->kernel, "two") && r->grid[0] == 2 && r->block[0] == 64 && r->blocks == 2)
        m->two++;
    else
        m->wrong++;
}

#define SIGHTS 50u
static void test_many(struct fixture *f)
{
    struct mixture m = {0};
    struct launch l;

    launch_begin(&l, f);
    launch_add(&l, "one", 3, 32);
    launch_add(&l, "two", 2, 64);
    launch_add(&l, "one", 3, 32);
    pthread_create(&l.thread, NULL, many_main, &l);
    while ((m.one < SIGHTS || m.two < SIGHTS) && !m.wrong) {
        f->device->ops->report(f->device, note_mixture, &m);
        usleep(10);
    }
    atomic_store(&enough, true);
    launch_end(&l);
    eq_u64(m.wrong, 0, "short kernels that follow each other are listed, none with another's size");
}

int main(void)
{
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    device = (struct cpu_device *)f.device;
    test_alone(&f, "short", "on the thread that launched it");
    test_alone(&f, "long", "with workers");
    test_row(&f);
    test_native(&f);
    test_ends(&f);
    test_many(&f);
    fixture_fini(&f);
    return done();
}
