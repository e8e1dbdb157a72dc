/* Grids on the CPU device: every CTA once, barriers of both kinds, faults, both ways to run. */
#include "device_fixture.h"

static uint32_t ctas_run[4096];

static void count_cta(struct jit_cta *cta)
{
    __atomic_fetch_add(&params_of(cta)->out[cta->ctaid[0]], 1, __ATOMIC_RELAXED);
}

/* What takes over from quick_cta in the middle of a launch, and needs more memory. */
#define BETTER_FRAME_B ((uint64_t)1 << 20)
static uint32_t better_ran;

static void better_cta(struct jit_cta *cta)
{
    memset(cta->frames, 0xa5, cta->launch->nwarps * BETTER_FRAME_B);
    __atomic_fetch_add(&better_ran, 1, __ATOMIC_RELAXED);
    count_cta(cta);
}

static const struct jit_code better_code = {
    .run_cta = better_cta, .mxcsr = 0x1f80, .frame_B = BETTER_FRAME_B, .cost_ops = UINT64_MAX};
/* Made by LLVM when nothing faster could be: no code for the middle of a launch. */
static const struct jit_code no_code = {
    .form = JIT_INTERP, .mxcsr = 0x1f80, .may_spin = true, .may_wait = true};

static void quick_cta(struct jit_cta *cta)
{
    count_cta(cta);
    if (cta->ctaid[0] == params_of(cta)->value)
        atomic_store(fake_slot, &better_code);
    else if (cta->ctaid[0] == 1)
        atomic_store(fake_slot, &no_code);
}

/* A reversal through shared memory with one barrier, as a region state machine. */
static uint32_t reverse_run(struct jit_cta *cta, struct jit_warp *warp)
{
    uint32_t n = cta->launch->block[0], *shared = (uint32_t *)cta->shared;

    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t t = warp->index * 32 + lane;
        if (!(warp->alive >> lane & 1))
            continue;
        if (warp->state == 0)
            shared[t] = t;
        else
            params_of(cta)->out[cta->ctaid[0] * n + t] = shared[n - 1 - t];
    }
    return warp->state == 0 ? 1u << 2 | JIT_BARRIER : JIT_DONE;
}

/*
 * Named barriers: even warps wait at barrier 1 for all 64 threads of a pair, odd ones arrive. Lane
 * 31 of every warp ends before barrier 0, which therefore expects 31 per warp.
 */
static uint32_t named_run(struct jit_cta *cta, struct jit_warp *warp)
{
    uint32_t *seen = (uint32_t *)warp->frame;
    uint32_t lanes = warp->alive;

    switch (warp->state >> 2) {
    case 0:
        warp->alive &= 0x7fffffffu;
        lanes = warp->alive;
        *seen = cta->launch->services->bar_arrive(cta, warp, 0, 0, lanes, lanes & 1);
        return 1u << 2 | JIT_BARRIER;
    case 1:
        if (cta->bars[0].generation == *seen)
            return 1u << 2 | JIT_BARRIER;
        params_of(cta)->out[warp->index] = cta->bars[0].result_votes;
        *seen = cta->launch->services->bar_arrive(cta, warp, 1, 31 * cta->launch->nwarps, lanes, 0);
        return 2u << 2 | JIT_BARRIER;
    default:
        if (cta->bars[1].generation == *seen)
            return 2u << 2 | JIT_BARRIER;
        return JIT_DONE;
    }
}

static uint32_t wild_run(struct jit_cta *cta, struct jit_warp *warp)
{
    (void)warp;
    if (cta->ctaid[0] == 3)
        *(volatile uint32_t *)(uintptr_t)params_of(cta)->value = 1;
    return JIT_DONE;
}

static uint32_t trap_run(struct jit_cta *cta, struct jit_warp *warp)
{
    cta->launch->services->fault(cta, warp, 1, 0, HD_TRAP, 0);
    return JIT_DONE;
}

static uint32_t lonely_run(struct jit_cta *cta, struct jit_warp *warp)
{
    if (warp->state == 0)
        (void)cta->launch->services->bar_arrive(cta, warp, 2, 64, warp->alive, 0);
    return 1u << 2 | JIT_BARRIER;
}

static uint32_t heap_run(struct jit_cta *cta, struct jit_warp *warp)
{
    uint64_t sizes[32], ptrs[32];

    for (int i = 0; i < 32; i++)
        sizes[i] = i == 31 ? 1ull << 40 : 100;
    cta->launch->services->malloc_(cta, warp, 0xffffffffu, sizes, ptrs);
    params_of(cta)->out[0] = ptrs[0] && ptrs[30] && !ptrs[31];
    cta->launch->services->free_(cta, warp, 0xffffffffu, ptrs);
    cta->launch->services->free_(cta, warp, 1, sizes); /* not a block */
    return JIT_DONE;
}

/* How far the shared window lies behind the stack in a page, whichever pages they are in. */
static void place_cta(struct jit_cta *cta)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);

    params_of(cta)->out[cta->ctaid[0]] = (uint32_t)(((uintptr_t)cta->shared - stack) % 4096);
}

const struct fake_kernel fake_kernels[] = {
    {"count", {.run_cta = count_cta, .mxcsr = 0x1f80, .cost_ops = UINT64_MAX}},
    {"quick",
     {.run_cta = quick_cta,
      .mxcsr = 0x1f80,
      .cost_ops = UINT64_MAX,
      .quick = (struct jit_variant *)&ctas_run,
      .improve_ns = 20000000}},
    {"count_short", {.run_cta = count_cta, .mxcsr = 0x1f80, .cost_ops = 1}},
    {"reverse",
     {.run = reverse_run, .has_barrier = true, .simple_barriers = true, .cost_ops = UINT64_MAX}},
    {"named", {.run = named_run, .frame_B = 64, .has_barrier = true, .cost_ops = UINT64_MAX}},
    {"place", {.run_cta = place_cta, .mxcsr = 0x1f80, .frame_B = 700, .cost_ops = UINT64_MAX}},
    {"wild", {.run = wild_run, .cost_ops = UINT64_MAX}},
    {"trap", {.run = trap_run, .cost_ops = 1}},
    {"lonely", {.run = lonely_run, .has_barrier = true, .cost_ops = UINT64_MAX}},
    {"heap", {.run = heap_run, .cost_ops = 1}},
    {0},
};

static void test_every_cta_once(struct fixture *f, const char *name, uint32_t ctas, int launches)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {.out = ctas_run};
    unsigned wrong = 0;

    memset(ctas_run, 0, sizeof(ctas_run));
    for (int i = 0; i < launches; i++) {
        union hal_packet p = fixture_dispatch(f, name, ctas, 64, &params, sizeof(params));
        fixture_submit(q, &p);
    }
    fixture_wait(q);
    for (uint32_t i = 0; i < HD_COUNT_OF(ctas_run); i++)
        wrong += ctas_run[i] != (i < ctas ? (uint32_t)launches : 0);
    eq_u64(wrong, 0, "%s: %u CTAs, %d launches", name, ctas, launches);
    q->ops->destroy(q);
}

static void test_barriers(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    static uint32_t out[1000 * 100];
    struct params params = {.out = out};
    union hal_packet p = fixture_dispatch(f, "reverse", 1000, 100, &params, sizeof(params));
    unsigned wrong = 0;

    p.dispatch.dynamic_smem_B = 400;
    fixture_submit(q, &p);
    fixture_wait(q);
    for (uint32_t i = 0; i < HD_COUNT_OF(out); i++)
        wrong += out[i] != 99 - i % 100;
    eq_u64(wrong, 0, "simple barrier, partial last warp");
    p = fixture_dispatch(f, "named", 1, 128, &params, sizeof(params));
    fixture_submit(q, &p);
    fixture_wait(q);
    for (int w = 0; w < 4; w++)
        eq_u64(out[w], 4, "votes of the lanes that are left, warp %d", w);
    q->ops->destroy(q);
}

static void expect_fault(struct fixture *f, const char *name, uint64_t value, enum hd_status status,
                         bool is_address)
{
    struct hal_queue *q = fixture_queue(f), *other;
    static uint32_t out[64];
    struct params params = {.out = out, .value = value};
    struct hal_domain *fine;
    union hal_packet p = fixture_dispatch(f, name, 64, 32, &params, sizeof(params));

    fixture_heal(f);
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(hal_domain_status(f->domain), status, "%s: %s", name, f->domain->fault->message);
    if (is_address)
        eq_u64(f->domain->fault->address, value, "%s: address", name);
    /* After a fault the domain's packets retire without effect; other domains go on. */
    memset(out, 0, sizeof(out));
    p = fixture_dispatch(f, "count", 64, 32, &params, sizeof(params));
    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(out[0], 0, "%s: sticky", name);
    if (f->device->ops->domain_create(f->device, &fine) == HD_OK &&
        f->device->ops->queue_create(fine, 0, &other) == HD_OK) {
        fixture_submit(other, &p);
        fixture_wait(other);
        eq_u64(out[63], 1, "%s: other domains are not affected", name);
        other->ops->destroy(other);
        f->device->ops->domain_destroy(fine);
    }
    q->ops->destroy(q);
    fixture_heal(f);
}

/* A window and a stack frame of a KiB each do not share places in their pages. */
static void test_window_beside_stack(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    static uint32_t out[1000];
    struct params params = {.out = out};
    unsigned wrong = 0;

    for (uint32_t warps = 1; warps <= 8; warps++) {
        union hal_packet p =
            fixture_dispatch(f, "place", HD_COUNT_OF(out), 32 * warps, &params, sizeof(params));

        p.dispatch.dynamic_smem_B = 1024;
        fixture_submit(q, &p);
        fixture_wait(q);
        for (uint32_t i = 0; i < HD_COUNT_OF(out); i++)
            wrong += out[i] > 2048;
    }
    if (HD_SANITIZES_ADDRESSES) /* 1 of 15 runs had one in the way */
        skip("frames of a sanitized build are larger than the room that is left for them");
    else
        eq_u64(wrong, 0, "shared windows do not lie on the stack in their pages");
    q->ops->destroy(q);
}

static void test_heap(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    uint32_t out[1] = {0};
    struct params params = {.out = out};
    union hal_packet p = fixture_dispatch(f, "heap", 1, 32, &params, sizeof(params));

    fixture_submit(q, &p);
    fixture_wait(q);
    eq_u64(out[0], 1, "device malloc: blocks, and NULL above the limit");
    eq_u64(hal_domain_status(f->domain), HD_ILLEGAL_ADDRESS, "free of something else");
    fixture_heal(f);
    q->ops->destroy(q);
}

/* Each CTA runs once, in the code of its time. */
static void test_better_code(struct fixture *f)
{
    enum { CTAS = 4096, CHANGE = 40 };
    struct hal_queue *q = fixture_queue(f);
    struct params params = {.out = ctas_run, .value = CHANGE};
    unsigned wrong = 0;

    memset(ctas_run, 0, sizeof(ctas_run));
    union hal_packet p = fixture_dispatch(f, "quick", CTAS, 64, &params, sizeof(params));
    fixture_submit(q, &p);
    fixture_wait(q);
    for (uint32_t i = 0; i < CTAS; i++)
        wrong += ctas_run[i] != 1;
    eq_u64(wrong, 0, "better code comes in the middle of a launch: every CTA runs once");
    ok(better_ran > 0 && better_ran < CTAS - CHANGE, "those after it in the better code");
    q->ops->destroy(q);
}

int main(void)
{
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    test_every_cta_once(&f, "count", 1, 1);
    test_every_cta_once(&f, "count", 4096, 20);
    test_every_cta_once(&f, "count_short", 7, 3000);
    test_better_code(&f);
    test_barriers(&f);
    test_window_beside_stack(&f);
    expect_fault(&f, "wild", 0x10, HD_ILLEGAL_ADDRESS, true);
    expect_fault(&f, "trap", 0, HD_TRAP, false);
    expect_fault(&f, "lonely", 0, HD_TIMEOUT, false);
    test_heap(&f);
    fixture_fini(&f);
    return done();
}
