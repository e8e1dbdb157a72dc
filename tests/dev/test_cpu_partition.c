/* Who takes which units of a job: 64 slots, more threads than this machine has CPUs. */
#include <pthread.h>
#include <stdlib.h>

#include "dev/cpu/device.h"
#include "device_fixture.h"

enum { SLOTS = 64, MOST = 20000 };

static uint32_t ctas_run[2][MOST];

static volatile uintptr_t wild_address = 16;

static void count_cta(struct jit_cta *cta)
{
    const struct params *p = params_of(cta);

    __atomic_fetch_add(&p->out[cta->ctaid[0]], 1, __ATOMIC_RELAXED);
    if (p->value && cta->ctaid[0] == p->value)
        *(volatile uint32_t *)wild_address = 1;
}

static uint32_t begun, early;

/* Of CTAs that begin by their numbers few are left out before one, so half of them never are. */
static void early_cta(struct jit_cta *cta)
{
    uint32_t before = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);

    count_cta(cta);
    if (cta->ctaid[0] > before + MOST / 2)
        __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
}

const struct fake_kernel fake_kernels[] = {
    {"ordered", {.run_cta = early_cta, .mxcsr = 0x1f80, .cost_ops = 1, .in_order = true}},
    {"count", {.run_cta = count_cta, .mxcsr = 0x1f80, .cost_ops = UINT64_MAX}},
    {"spinning",
     {.run_cta = count_cta, .mxcsr = 0x1f80, .cost_ops = 1, .may_spin = true, .may_wait = true}},
    {0},
};

/* ---- the shares alone */

static struct cpu_partition partitions[SLOTS];
static struct cpu_slot slots[SLOTS];

static void job_init(struct cpu_job *job, uint64_t total, uint64_t chunk, bool in_order)
{
    memset(job, 0, sizeof(*job));
    atomic_store(&job->total, total);
    job->chunk = chunk;
    job->in_order = in_order;
    cpu_job_partition(job, partitions, SLOTS);
}

/* Slots that take turns at random, some of which leave in the middle: how many units came twice,
 * never, or before the first one of the slot's own share was gone. */
static unsigned wrong_units(uint64_t total, uint64_t chunk, uint64_t *seed)
{
    static uint8_t seen[MOST];
    struct cpu_chunk chunks[SLOTS] = {0};
    uint64_t taken = 0;
    struct cpu_job job;
    unsigned wrong = 0;

    memset(seen, 0, sizeof(seen));
    job_init(&job, total, chunk, false);
    while (!cpu_job_exhausted(&job)) {
        unsigned s = (unsigned)(tap_random(seed) % SLOTS);
        bool fresh = !chunks[s].end && partitions[s].end > atomic_load(&partitions[s].next);
        uint64_t own = atomic_load(&partitions[s].next);

        if (s % 7 == 0 && taken > total / 2)
            chunks[s] = (struct cpu_chunk){0}; /* another thread has the slot now */
        chunks[s].wanted = tap_random(seed) % 100;
        if (!cpu_job_take(&job, &slots[s], &chunks[s]))
            continue;
        wrong += fresh && job.npartitions && chunks[s].first != own;
        for (uint64_t i = chunks[s].first; i < chunks[s].end; i++)
            seen[i]++;
        taken += chunks[s].end - chunks[s].first;
        wrong += cpu_job_begun(&job) != taken;
    }
    for (uint64_t i = 0; i < total; i++)
        wrong += seen[i] != 1;
    return wrong + (taken != total);
}

static void test_units(void)
{
    static const uint64_t chunks[] = {1, 3, 26};
    uint64_t seed = tap_seed();
    unsigned wrong = 0;

    for (size_t c = 0; c < HD_COUNT_OF(chunks); c++) {
        uint64_t least = 2 * SLOTS * chunks[c];
        for (uint64_t total = least - 2; total < least + 3; total++)
            wrong += wrong_units(total, chunks[c], &seed);
        wrong += wrong_units(MOST, chunks[c], &seed);
    }
    wrong += wrong_units(1, 1, &seed);
    eq_u64(wrong, 0, "every unit once, a slot's own first");
}

/* Who wants many gets them while there are many more, whether there are shares or not. */
static void test_wanted(void)
{
    static const bool in_order[] = {true, false};
    unsigned wrong = 0, large = 0;

    for (size_t o = 0; o < HD_COUNT_OF(in_order); o++) {
        struct cpu_chunk chunk = {.wanted = 50};
        struct cpu_job job;

        job_init(&job, MOST, 2, in_order[o]);
        while (cpu_job_take(&job, &slots[0], &chunk)) {
            uint64_t left = (in_order[o] ? MOST : partitions[chunk.passed].end) - chunk.first;
            uint64_t size = chunk.end - chunk.first, most = HD_MAX(left / 16, 2);

            wrong += size > 50 || size > most || (size < 50 && size < HD_MIN(most, left));
            large += size == 50;
        }
    }
    eq_u64(wrong, 0, "as many as wanted, towards the end fewer");
    ok(large > 0, "many at once");
}

static void test_order(void)
{
    struct cpu_chunk chunk = {0};
    struct cpu_job job;
    uint64_t next = 0;
    unsigned wrong = 0;

    job_init(&job, MOST, 7, true);
    for (unsigned s = 0; cpu_job_take(&job, &slots[s % SLOTS], &chunk); s++) {
        wrong += chunk.first != next;
        next = chunk.end;
    }
    eq_u64(wrong + (next != MOST), 0, "units in their order where a job asks for it");
    job_init(&job, MOST, 7, false);
    ok(job.npartitions == SLOTS && cpu_job_take(&job, &slots[5], &chunk),
       "shares where it does not");
    cpu_job_end(&job);
    ok(cpu_job_exhausted(&job) && !cpu_job_take(&job, &slots[6], &chunk) &&
           !cpu_job_take(&job, &slots[5], &chunk),
       "a job that was ended has no units");
}

/* ---- on a device */

struct host {
    struct fixture *f;
    struct hal_queue *queue;
    uint32_t *out;
    unsigned wrong;
};

static unsigned launch(struct host *h, const char *name, uint32_t ctas)
{
    struct params params = {.out = h->out};
    union hal_packet p = fixture_dispatch(h->f, name, ctas, 32, &params, sizeof(params));
    unsigned wrong = 0;

    memset(h->out, 0, MOST * sizeof(*h->out));
    fixture_submit(h->queue, &p);
    fixture_wait(h->queue);
    for (uint32_t i = 0; i < MOST; i++)
        wrong += h->out[i] != (i < ctas);
    return wrong;
}

static void *host_main(void *arg)
{
    static const uint32_t sizes[] = {1, 127, 128, 129, 1000, 4096, MOST};
    struct host *h = arg;

    for (unsigned i = 0; i < 40 * HD_COUNT_OF(sizes); i++)
        h->wrong += launch(h, "count", sizes[i % HD_COUNT_OF(sizes)]);
    return NULL;
}

static void test_two_queues(struct fixture *f)
{
    struct host hosts[2] = {{.f = f, .queue = fixture_queue(f), .out = ctas_run[0]},
                            {.f = f, .queue = fixture_queue(f), .out = ctas_run[1]}};
    pthread_t thread;

    if (pthread_create(&thread, NULL, host_main, &hosts[1]))
        abort();
    host_main(&hosts[0]);
    pthread_join(thread, NULL);
    eq_u64(hosts[0].wrong + hosts[1].wrong, 0, "two queues at once: every CTA once");
    eq_u64(launch(&hosts[0], "spinning", 3000), 0, "CTAs that may wait: every one once");
    begun = early = 0;
    eq_u64(launch(&hosts[0], "ordered", MOST), 0, "CTAs that may read what others store");
    eq_u64(early, 0, "begin in the order of their numbers");
    hosts[0].queue->ops->destroy(hosts[0].queue);
    hosts[1].queue->ops->destroy(hosts[1].queue);
}

static void test_fault(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {.out = ctas_run[0], .value = MOST / 2};
    union hal_packet p = fixture_dispatch(f, "count", MOST, 32, &params, sizeof(params));
    unsigned twice = 0;

    memset(ctas_run, 0, sizeof(ctas_run));
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(hal_domain_status(f->domain), HD_ILLEGAL_ADDRESS, "a fault in one share");
    for (uint32_t i = 0; i < MOST; i++)
        twice += ctas_run[0][i] > 1;
    eq_u64(twice, 0, "ends the others, and no CTA begins again");
    fixture_heal(f);
    q->ops->destroy(q);
}

int main(void)
{
    struct fixture f;

    setenv("HEDDLE_THREADS", "64", 1);
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i].index = i;
    test_units();
    test_wanted();
    test_order();
    if (!ok(fixture_init(&f), "device"))
        return done();
    test_two_queues(&f);
    test_fault(&f);
    test_two_queues(&f);
    fixture_fini(&f);
    return done();
}
