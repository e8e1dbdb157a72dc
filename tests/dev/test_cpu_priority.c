/* When several queues are ready, the most urgent one's packet runs first. */
#include <stdlib.h>
#include <unistd.h>

#include "device_fixture.h"

static _Atomic bool gate_open, gate_reached;
static _Atomic unsigned noted;
static uint64_t order[8];

static void gate_cta(struct jit_cta *cta)
{
    (void)cta;
    atomic_store(&gate_reached, true);
    while (!atomic_load(&gate_open))
        usleep(100);
}

static void note_cta(struct jit_cta *cta)
{
    order[atomic_fetch_add(&noted, 1) & 7] = *(const uint64_t *)cta->launch->params;
}

const struct fake_kernel fake_kernels[] = {
    {"gate", {.run_cta = gate_cta, .cost_ops = UINT64_MAX}},
    {"note", {.run_cta = note_cta, .cost_ops = UINT64_MAX}},
    {0},
};

static void wait_without_help(struct hal_domain *domain)
{
    if (hal_domain_wait(domain, 20000000000u) != HD_OK)
        abort();
}

/* The only worker is held while the queues fill, the least urgent first. */
static void test_order(struct fixture *f)
{
    static const int priorities[] = {0, -1, -9, -3, 4};
    static const uint64_t want[] = {2, 3, 1}; /* -9 means the greatest; 0 and 4 come last */
    struct hal_queue *gate = fixture_queue(f), *q[HD_COUNT_OF(priorities)] = {0};
    uint64_t none = 0;
    union hal_packet p = fixture_dispatch(f, "gate", 1, 32, &none, 8);

    fixture_submit(gate, &p);
    while (!atomic_load(&gate_reached))
        usleep(100);
    for (uint64_t i = 0; i < HD_COUNT_OF(priorities); i++) {
        if (f->device->ops->queue_create(f->domain, priorities[i], &q[i]) != HD_OK)
            abort();
        p = fixture_dispatch(f, "note", 1, 32, &i, 8);
        fixture_submit(q[i], &p);
    }
    atomic_store(&gate_open, true);
    wait_without_help(f->domain);
    eq_u64(atomic_load(&noted), HD_COUNT_OF(priorities), "all ran");
    eq_mem(order, want, sizeof(want), "the most urgent first");
    eq_u64(order[3] + order[4], 0 + 4, "the least urgent last");
    eq_u64((unsigned)-q[2]->priority, (unsigned)-f->device->info.priority_greatest, "clamped");
    eq_u64((unsigned)q[4]->priority, 0, "at both ends");
    gate->ops->destroy(gate);
    for (unsigned i = 0; i < HD_COUNT_OF(priorities); i++)
        q[i]->ops->destroy(q[i]);
}

int main(void)
{
    struct fixture f;

    setenv("HEDDLE_THREADS", "1", 1);
    if (!ok(fixture_init(&f), "device with one worker"))
        return done();
    test_order(&f);
    fixture_fini(&f);
    return done();
}
