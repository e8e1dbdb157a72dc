/* CTAs that poll: for each other, for another queue's kernel, for the host. */
#include <unistd.h>

#include "device_fixture.h"

struct spin_params {
    _Atomic uint32_t *flag;
    uint32_t value;
};

static const struct spin_params *spin_params_of(const struct jit_cta *cta)
{
    return (const struct spin_params *)cta->launch->params;
}

/* Every CTA arrives; all wait until `value` CTAs have: a grid barrier. */
static uint32_t grid_sync_run(struct jit_cta *cta, struct jit_warp *warp)
{
    if (warp->state == 0)
        atomic_fetch_add(spin_params_of(cta)->flag, 1);
    return atomic_load(spin_params_of(cta)->flag) < spin_params_of(cta)->value ? 1u << 2 | JIT_YIELD
                                                                               : JIT_DONE;
}

static uint32_t wait_flag_run(struct jit_cta *cta, struct jit_warp *warp)
{
    (void)warp;
    return atomic_load(spin_params_of(cta)->flag) < spin_params_of(cta)->value ? 1u << 2 | JIT_YIELD
                                                                               : JIT_DONE;
}

static void set_flag_cta(struct jit_cta *cta)
{
    atomic_fetch_add(spin_params_of(cta)->flag, 1);
}

static uint32_t trap_run(struct jit_cta *cta, struct jit_warp *warp)
{
    if (cta->ctaid[0] == 5)
        cta->launch->services->fault(cta, warp, 1, 0, HD_TRAP, 0);
    return 1u << 2 | JIT_YIELD;
}

/* The last CTA sets the flag; the others do while (!*flag) __syncthreads(). */
static uint32_t barriers_run(struct jit_cta *cta, struct jit_warp *warp)
{
    if (cta->ctaid[0] + 1 == cta->launch->grid[0])
        atomic_store(spin_params_of(cta)->flag, 1);
    if (atomic_load(spin_params_of(cta)->flag))
        return JIT_DONE;
    return (warp->state >> 2 == 1 ? 2u : 1u) << 2 | JIT_BARRIER;
}

const struct fake_kernel fake_kernels[] = {
    {"barriers",
     {.run = barriers_run,
      .may_spin = true,
      .may_wait = true,
      .has_barrier = true,
      .simple_barriers = true,
      .cost_ops = UINT64_MAX}},
    {"grid_sync",
     {.run = grid_sync_run, .may_spin = true, .may_wait = true, .cost_ops = UINT64_MAX}},
    {"wait_flag",
     {.run = wait_flag_run, .may_spin = true, .may_wait = true, .cost_ops = UINT64_MAX}},
    {"set_flag", {.run_cta = set_flag_cta, .cost_ops = UINT64_MAX}},
    {"trap", {.run = trap_run, .may_spin = true, .may_wait = true, .cost_ops = UINT64_MAX}},
    {0},
};

static void test_grid_sync(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    _Atomic uint32_t flag = 0;
    struct spin_params params = {&flag, 200};
    union hal_packet p = fixture_dispatch(f, "grid_sync", 200, 64, &params, sizeof(params));

    /* 2 warps per CTA: each arrives */
    params.value = 400;
    memcpy(p.dispatch.params, &params, sizeof(params));
    p.head.flags = HAL_FLAG_COOPERATIVE;
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(atomic_load(&flag), 400, "200 CTAs wait for each other");
    q->ops->destroy(q);
}

static void test_other_queue(struct fixture *f)
{
    struct hal_queue *a = fixture_queue(f), *b = fixture_queue(f);
    _Atomic uint32_t flag = 0;
    struct spin_params params = {&flag, 30};
    union hal_packet p = fixture_dispatch(f, "wait_flag", 100, 32, &params, sizeof(params));

    fixture_submit(a, &p);
    usleep(1000);
    p = fixture_dispatch(f, "set_flag", 30, 32, &params, sizeof(params));
    fixture_submit(b, &p);
    fixture_wait(a);
    fixture_wait(b);
    eq_u64(atomic_load(&flag), 30, "a polling kernel lets another queue's kernel run");
    a->ops->destroy(a);
    b->ops->destroy(b);
}

static void test_host_flag(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f), *other = fixture_queue(f);
    _Atomic uint32_t flag = 0, count = 0;
    struct spin_params params = {&flag, 1}, others = {&count, 0};
    union hal_packet p = fixture_dispatch(f, "wait_flag", 1, 32, &params, sizeof(params));

    fixture_submit(q, &p); /* must return although the kernel waits for us */
    p = fixture_dispatch(f, "set_flag", 10, 32, &others, sizeof(others));
    fixture_submit(other, &p);
    fixture_wait(other);
    eq_u64(atomic_load(&count), 10, "synchronising another queue is not caught by the poller");
    ok(!hal_queue_is_idle(q), "still polling");
    atomic_store(&flag, 1);
    fixture_wait(q);
    ok(hal_queue_is_idle(q), "released by the host");
    q->ops->destroy(q);
    other->ops->destroy(other);
}

static void test_barriers(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    _Atomic uint32_t flag = 0;
    struct spin_params params = {&flag, 0};
    union hal_packet p = fixture_dispatch(f, "barriers", 20, 64, &params, sizeof(params));

    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(atomic_load(&flag), 1,
           "CTAs that poll between barriers let those run that they wait for");
    q->ops->destroy(q);
}

static void test_fault_ends_pollers(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    uint64_t none = 0;
    union hal_packet p = fixture_dispatch(f, "trap", 100, 32, &none, 8);

    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(hal_domain_status(f->domain), HD_TRAP, "a trap ends the CTAs that poll");
    q->ops->destroy(q);
}

int main(void)
{
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    test_grid_sync(&f);
    test_other_queue(&f);
    test_host_flag(&f);
    test_barriers(&f);
    test_fault_ends_pollers(&f);
    fixture_fini(&f);
    return done();
}
