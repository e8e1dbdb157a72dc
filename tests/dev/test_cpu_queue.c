/* Order, semaphores, host calls and time on the CPU device. */
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "dev/cpu/device.h"
#include "device_fixture.h"

static _Atomic uint64_t counter;

static void slow_cta(struct jit_cta *cta)
{
    (void)cta;
    for (volatile int i = 0; i < 20000; i++)
        ;
    atomic_fetch_add(&counter, 1);
}

static void empty_cta(struct jit_cta *cta)
{
    (void)cta;
}

static struct cpu_device *asleep;

/* Until all workers sleep; a while, as this may be one of them. */
static void lulls_cta(struct jit_cta *cta)
{
    uint64_t end_ns = hal_time_ns() + 50000000;

    (void)cta;
    while (atomic_load(&asleep->sleepers) < asleep->nslots && hal_time_ns() < end_ns)
        usleep(100);
}

const struct fake_kernel fake_kernels[] = {
    {"lulls", {.run_cta = lulls_cta, .cost_ops = UINT64_MAX}},
    {"slow", {.run_cta = slow_cta, .cost_ops = UINT64_MAX}},
    {"empty", {.run_cta = empty_cta, .cost_ops = 0}},
    {"small", {.run_cta = slow_cta, .cost_ops = 300}},
    {0},
};

static union hal_packet sem_packet(enum hal_op op, _Atomic uint64_t *address, uint64_t value)
{
    union hal_packet p = {.sem = {.head.op = (uint8_t)op, .value = value}};

    p.sem.address = (uintptr_t)address;
    return p;
}

static uint64_t seen_by_call;
static void host_call(void *arg)
{
    seen_by_call = atomic_load(&counter) + (uintptr_t)arg;
}

static void test_order(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    uint64_t none = 0;
    _Atomic uint64_t times[2] = {0};
    union hal_packet p = sem_packet(HAL_OP_TIMESTAMP, &times[0], 0);

    atomic_store(&counter, 0);
    fixture_submit(q, &p);
    p = fixture_dispatch(f, "slow", 50, 32, &none, 8);
    for (int i = 0; i < 4; i++)
        fixture_submit(q, &p);
    p = (union hal_packet){.host_call = {.head.op = HAL_OP_HOST_CALL, .arg = 1000}};
    p.host_call.func = (uintptr_t)host_call;
    fixture_submit(q, &p);
    p = sem_packet(HAL_OP_TIMESTAMP, &times[1], 0);
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(seen_by_call, 1200, "host call after all grids before it");
    ok(atomic_load(&times[1]) > atomic_load(&times[0]), "time goes on");
    q->ops->destroy(q);
}

/*
 * What the registry is told of grids that are shared: of all of the longer ones; of the smaller
 * ones most, and at least the time that as many take of which each is as fast as the fastest.
 */
static void test_counted(struct fixture *f, const char *kernel, unsigned launches, unsigned missing)
{
    struct reg_use *use = f->domain->use;
    struct hal_queue *q = fixture_queue(f);
    uint64_t none = 0, before = atomic_load(&use->launches);
    uint64_t begin_ns = hal_time_ns(), busy_ns = reg_busy_ns(use->kernel_busy, begin_ns), took_ns;
    uint64_t fastest_ns = UINT64_MAX, notified;
    union hal_packet p = fixture_dispatch(f, kernel, 64, 32, &none, 8);

    for (unsigned i = 0; i < launches; i++) {
        uint64_t one_ns = hal_time_ns();

        fixture_submit(q, &p);
        if (i % 3)
            continue;
        fixture_wait(q);
        fastest_ns = HD_MIN(fastest_ns, (hal_time_ns() - one_ns) / (i ? 3 : 1));
    }
    fixture_wait(q);
    notified = atomic_load(&use->launches) - before;
    took_ns = hal_time_ns() - begin_ns;
    busy_ns = reg_busy_ns(use->kernel_busy, hal_time_ns()) - busy_ns;
    eq_u64(atomic_load(&use->kernel_busy) >> REG_BUSY_BITS, 0, "%s: nothing runs", kernel);
    ok(notified <= launches && notified + missing >= launches, "%s: %u launches of %u", kernel,
       (unsigned)notified, launches);
    ok(busy_ns <= took_ns && busy_ns >= fastest_ns * notified / 4,
       "%s: busy for %llu of %llu us; the fastest took %llu", kernel,
       (unsigned long long)busy_ns / 1000, (unsigned long long)took_ns / 1000,
       (unsigned long long)fastest_ns / 1000);
    q->ops->destroy(q);
}

static void test_wait_between_queues(struct fixture *f)
{
    struct hal_queue *a = fixture_queue(f), *b = fixture_queue(f);
    _Atomic uint64_t sem = 0, after = 0;
    uint64_t none = 0;
    union hal_packet p;

    atomic_store(&counter, 0);
    /* b waits for a's packet number 1, then signals; a's second packet waits for that. */
    p = sem_packet(HAL_OP_WAIT, &a->ring->retired, 1);
    fixture_submit(b, &p);
    p = sem_packet(HAL_OP_SIGNAL, &sem, 5);
    fixture_submit(b, &p);
    p = fixture_dispatch(f, "slow", 20, 32, &none, 8);
    fixture_submit(a, &p);
    p = sem_packet(HAL_OP_WAIT, &sem, 5);
    fixture_submit(a, &p);
    p = sem_packet(HAL_OP_SIGNAL, &after, 1);
    fixture_submit(a, &p);
    fixture_wait(a);
    eq_u64(atomic_load(&after), 1, "two queues wait for each other in turn");
    eq_u64(atomic_load(&counter), 20, "grid ran once");
    fixture_wait(b);
    a->ops->destroy(a);
    b->ops->destroy(b);
}

static void test_host_semaphore(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    _Atomic uint64_t sem = 0, after = 0;
    union hal_packet p = sem_packet(HAL_OP_WAIT, &sem, 1);

    fixture_submit(q, &p);
    p = sem_packet(HAL_OP_SIGNAL, &after, 1);
    fixture_submit(q, &p);
    eq_u64(q->device->ops->wait(q->device, &q->ring->retired, 2, 2000000), HD_TIMEOUT,
           "a waiting queue does not go on");
    atomic_store(&sem, 1);
    fixture_wait(q);
    eq_u64(atomic_load(&after), 1, "host memory can release a queue");
    q->ops->destroy(q);
}

struct submitter {
    struct fixture *f;
    pthread_t thread;
    int launches;
};

static void *submitter_main(void *arg)
{
    struct submitter *s = arg;
    struct hal_queue *q = fixture_queue(s->f);
    uint64_t none = 0;
    union hal_packet p = fixture_dispatch(s->f, "slow", 3, 32, &none, 8);
    union hal_packet e = fixture_dispatch(s->f, "empty", 1, 32, &none, 8);

    for (int i = 0; i < s->launches; i++) {
        fixture_submit(q, i % 3 ? &e : &p);
        if (i % 7 == 0)
            fixture_wait(q);
    }
    fixture_wait(q);
    q->ops->destroy(q);
    return NULL;
}

static void test_many_submitters(struct fixture *f)
{
    struct submitter s[4];

    atomic_store(&counter, 0);
    for (unsigned i = 0; i < HD_COUNT_OF(s); i++) {
        s[i] = (struct submitter){.f = f, .launches = 90};
        pthread_create(&s[i].thread, NULL, submitter_main, &s[i]);
    }
    for (unsigned i = 0; i < HD_COUNT_OF(s); i++)
        pthread_join(s[i].thread, NULL);
    eq_u64(atomic_load(&counter), 4 * 30 * 3, "four threads, a queue each");
}

static bool ends_by_itself(const struct hal_queue *q)
{
    for (int tries = 0; !hal_queue_is_idle(q) && tries < 2000; tries++)
        usleep(1000);
    return hal_queue_is_idle(q);
}

/* Nobody waits: the device makes progress by itself, also after its workers went to sleep. */
static void test_progress(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    uint64_t none = 0;
    union hal_packet p = fixture_dispatch(f, "slow", 8, 32, &none, 8);

    for (int round = 0; round < 3; round++) {
        usleep(2000);
        fixture_submit(q, &p);
        ok(ends_by_itself(q), "work ends without a waiting thread, round %d", round);
    }
    q->ops->destroy(q);
}

/* Who waits for something before them runs what the workers sleep through, and then goes. */
static void test_left_behind(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    _Atomic uint64_t sem = 0;
    uint64_t none = 0;
    union hal_packet lulls = fixture_dispatch(f, "lulls", 1, 32, &none, 8);
    union hal_packet slow = fixture_dispatch(f, "slow", 8, 32, &none, 8);
    unsigned ended = 0, rounds = 10;

    asleep = cpu_device_of(f->device);
    for (unsigned round = 1; round <= rounds && ended + 1 == round; round++) {
        union hal_packet p = sem_packet(HAL_OP_SIGNAL, &sem, round);
        fixture_submit(q, &lulls);
        fixture_submit(q, &p);
        fixture_submit(q, &slow);
        if (f->device->ops->wait(f->device, &sem, round, UINT64_MAX))
            abort();
        ended += ends_by_itself(q);
    }
    eq_u64(ended, rounds, "work goes on when the thread that has begun it leaves");
    fixture_wait(q);
    q->ops->destroy(q);
}

/* Workers that found no free slot look again, although who gives one back sees them spin. */
static void test_slots_given_back(struct fixture *f)
{
    struct cpu_device *dev = cpu_device_of(f->device);
    struct cpu_slot **slots = hd_alloc_array(dev->nslots, sizeof(*slots));
    struct hal_queue *q = fixture_queue(f);
    uint64_t none = 0, end_ns;
    union hal_packet p = fixture_dispatch(f, "slow", 8, 32, &none, 8);
    unsigned ended = 0, rounds = 20;

    for (unsigned round = 0; round < rounds && ended == round; round++) {
        fixture_submit(q, &p); /* the workers are awake afterwards */
        while (!hal_queue_is_idle(q))
            cpu_relax();
        for (unsigned i = 0; i < dev->nslots;) {
            slots[i] = cpu_slot_take(dev, i);
            i += slots[i] != NULL;
        }
        fixture_submit(q, &p);
        end_ns = hal_time_ns() + CPU_HOT_SPIN_NS / 10;
        while (hal_time_ns() < end_ns)
            ;
        for (unsigned i = 0; i < dev->nslots; i++)
            cpu_slot_give_ring(slots[i]);
        ended += ends_by_itself(q);
    }
    eq_u64(ended, rounds, "work goes on when slots are given back");
    fixture_wait(q);
    q->ops->destroy(q);
    hd_free(slots);
}

#define CALLERS 12
#define CALLS   3

static _Atomic bool calls_may_end;
static _Atomic uint32_t calls_begun;

struct blocked_calls {
    uint32_t next;    /* of this queue's */
    uint32_t unsound; /* calls that came out of order */
};

static void blocked_call(void *arg)
{
    struct blocked_calls *of = *(struct blocked_calls **)arg;
    uint32_t *number = (uint32_t *)((void **)arg + 1);

    atomic_fetch_add(&calls_begun, 1);
    while (!atomic_load(&calls_may_end))
        usleep(200);
    of->unsound += *number != of->next++;
}

static void free_call(void *arg)
{
    atomic_store((_Atomic bool *)arg, true);
}

/* Calls that wait hold up what is behind them, and no other queue. */
static void test_calls(struct fixture *f)
{
    struct {
        struct blocked_calls *of;
        uint32_t number;
    } args[CALLERS][CALLS];
    struct blocked_calls of[CALLERS] = {{0}};
    struct hal_queue *queues[CALLERS], *other = fixture_queue(f);
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL}};
    _Atomic bool came = false;
    uint32_t unsound = 0;

    atomic_store(&calls_begun, 0);
    atomic_store(&calls_may_end, false);
    for (unsigned i = 0; i < CALLERS; i++) {
        queues[i] = fixture_queue(f);
        for (unsigned k = 0; k < CALLS; k++) {
            args[i][k].of = &of[i];
            args[i][k].number = k;
            p.host_call.func = (uintptr_t)blocked_call;
            p.host_call.arg = (uintptr_t)&args[i][k];
            fixture_submit(queues[i], &p);
        }
    }
    p.host_call.func = (uintptr_t)free_call;
    p.host_call.arg = (uintptr_t)&came;
    fixture_submit(other, &p);
    fixture_wait(other);
    ok(atomic_load(&came), "a call of another queue does not wait for them");
    while (atomic_load(&calls_begun) < CALLERS)
        usleep(200);
    eq_u64(atomic_load(&calls_begun), CALLERS, "of each queue one call has begun");
    atomic_store(&calls_may_end, true);
    for (unsigned i = 0; i < CALLERS; i++) {
        fixture_wait(queues[i]);
        unsound += of[i].unsound + (of[i].next != CALLS);
        queues[i]->ops->destroy(queues[i]);
    }
    eq_u64(unsound, 0, "each queue's calls came in order");
    other->ops->destroy(other);
}

int main(void)
{
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    test_order(&f);
    test_counted(&f, "slow", 40, 0);
    test_counted(&f, "small", 200, REG_SAMPLE_EVERY);
    test_wait_between_queues(&f);
    test_host_semaphore(&f);
    test_many_submitters(&f);
    test_progress(&f);
    test_left_behind(&f);
    test_slots_given_back(&f);
    test_calls(&f);
    fixture_fini(&f);
    return done();
}
