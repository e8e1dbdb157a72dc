/* What generated code asks of the device: struct jit_services. */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "dev/cpu/fault/fault.h"
#include "model/multimem.h"
#include "model/texture.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static struct cpu_cta *cta_of(struct jit_cta *cta)
{
    return HD_CONTAINER_OF(cta, struct cpu_cta, cta);
}

static uint32_t service_bar_arrive(struct jit_cta *cta, struct jit_warp *warp, uint32_t id,
                                   uint32_t count, uint32_t lanes, uint32_t votes)
{
    struct cpu_cta *c = cta_of(cta);
    struct jit_barrier *bar = &cta->bars[id & (JIT_NBARRIERS - 1)];
    uint32_t generation;

    if (id >= JIT_NBARRIERS || (bar->arrived && c->expected[id] != count)) {
        (void)!hd_error(HD_TRAP, "barrier %u does not exist or is in use with another count", id);
        cpu_guard_leave(HD_TRAP, 0);
    }
    generation = bar->generation;
    c->expected[id] = count;
    bar->arrived += (uint32_t)__builtin_popcount(lanes);
    c->arrived[id][warp->index] += (uint16_t)__builtin_popcount(lanes);
    bar->votes += votes;
    cpu_cta_open_barriers(c);
    return generation;
}

static uint32_t service_cluster_arrive(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes)
{
    cpu_cluster_arrive(cta_of(cta), warp->index, lanes);
    return cta->bars[JIT_CLUSTER_BARRIER].generation;
}

/* A warp that does not have to wait stops all the same, so it must find that something changed. */
static uint32_t service_cluster_wait(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes)
{
    struct cpu_cta *c = cta_of(cta);
    uint32_t generation = cta->bars[JIT_CLUSTER_BARRIER].generation;

    if (c->at_cluster[warp->index] & lanes)
        return generation;
    c->opened_seen[warp->index] = cta->opened - 1;
    return generation - 1;
}

static struct jit_cta *service_cluster_cta(struct jit_cta *cta, uint32_t rank)
{
    const struct cpu_cluster *cluster = cta_of(cta)->cluster;

    assert(cpu_cta_has_peers(cta_of(cta)) && rank < cluster->nctas);
    return &cluster->ctas[rank]->cta;
}

static void service_fault(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                          uint32_t instr_idx, uint32_t status, uint64_t address)
{
    const struct cpu_blame blame = {.warp = warp->index, .lanes = lanes, .instr_idx = instr_idx};

    (void)cta;
    cpu_guard_blame((enum hd_status)status, address, &blame);
}

static void service_refuse(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                           uint32_t instr_idx, uint32_t status, uint64_t address,
                           const char *reason)
{
    const struct cpu_blame blame = {
        .warp = warp->index, .lanes = lanes, .instr_idx = instr_idx, .reason = reason};

    (void)cta;
    cpu_guard_blame((enum hd_status)status, address, &blame);
}

static const struct ir_texture *service_texture(struct jit_cta *cta, uint64_t handle)
{
    return ir_texture_find(cta_of(cta)->job->domain->base.device->client.textures, handle);
}

/* Core has locks. */
static bool service_replicas(struct jit_cta *cta, uint64_t address,
                             struct ir_replicas *out_replicas)
{
    const struct hal_device *device = cta_of(cta)->job->domain->base.device;
    bool found;

    cpu_guard_hold();
    found = device->client.replicas && device->client.replicas(address, out_replicas);
    cpu_guard_release();
    return found;
}

static void service_check(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                          uint32_t instr_idx, const uint64_t *address, uint32_t size_B)
{
    struct cpu_blame blame = {.warp = warp->index, .instr_idx = instr_idx};

    assert(lanes && size_B && cta_of(cta)->job->domain->base.device->client.refusal);
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        blame.lanes = 1u << lane;
        blame.reason =
            cpu_strict_thread_refusal(cta_of(cta), warp->index * 32 + lane, address[lane], size_B);
        if (blame.reason)
            cpu_guard_blame(HD_ILLEGAL_ADDRESS, address[lane], &blame);
    }
}

static void service_assertfail(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                               uint32_t instr_idx, const uint64_t *message, const uint64_t *file,
                               const uint32_t *line, const uint64_t *function,
                               const uint64_t *charsize)
{
    const struct cpu_blame blame = {.warp = warp->index, .lanes = lanes, .instr_idx = instr_idx};

    (void)charsize;
    cpu_guard_hold();
    cpu_printf_flush(&cta_of(cta)->job->domain->base);
    for (unsigned lane = 0; lane < 32; lane++) {
        uint32_t t[3];

        if (!(lanes >> lane & 1) || cta_of(cta)->job->is_rerun)
            continue;
        /* The thread index of a lane. */
        const uint32_t *block = cta->launch->block;
        uint32_t linear = warp->index * 32 + lane;
        assert(lane < 32 && warp->index < cta->launch->nwarps);
        ir_thread_index(block, linear, t);
        fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                (const char *)(uintptr_t)file[lane], line[lane],
                (const char *)(uintptr_t)function[lane], cta->ctaid[0], cta->ctaid[1],
                cta->ctaid[2], t[0], t[1], t[2], (const char *)(uintptr_t)message[lane]);
    }
    cpu_guard_blame(HD_ASSERT, 0, &blame);
}

static void service_malloc(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                           const uint64_t *size_B, uint64_t *out_ptr)
{
    struct cpu_domain *domain = cta_of(cta)->job->domain;
    uint64_t limit_B = hal_limit_get(&domain->base, HAL_LIMIT_HEAP_B);

    (void)warp;
    cpu_guard_hold();
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            out_ptr[lane] = (uintptr_t)cpu_heap_alloc(&domain->heap, limit_B, size_B[lane]);
    cpu_guard_release();
}

static void service_free(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                         const uint64_t *ptr)
{
    struct cpu_heap *heap = &cta_of(cta)->job->domain->heap;

    (void)warp;
    cpu_guard_hold();
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1 && !cpu_heap_free(heap, (void *)(uintptr_t)ptr[lane]))
            cpu_guard_leave(HD_ILLEGAL_ADDRESS, ptr[lane]);
    cpu_guard_release();
}

static uint64_t service_clock(struct jit_cta *cta)
{
    (void)cta;
#if defined(__x86_64__)
    return __rdtsc();
#else
    return hal_time_ns();
#endif
}

static uint64_t service_globaltimer(struct jit_cta *cta)
{
    struct timespec now;

    (void)cta;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Short by design: a worker has other warps to run, and PTX allows any time from 0. */
static void service_nanosleep(struct jit_cta *cta, uint32_t time_ns)
{
    (void)cta;
    if (time_ns > 1000)
        sched_yield();
}

static void service_yield(struct jit_cta *cta, struct jit_warp *warp)
{
    (void)cta, (void)warp;
    cpu_fiber_yield();
}

static void service_vprintf(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                            const uint64_t *format, const uint64_t *args, uint32_t *out_result)
{
    (void)warp;
    cpu_guard_hold();
    if (cta_of(cta)->job->is_rerun) {
        cpu_printf_nowhere(lanes, format, args, out_result);
        cpu_guard_release();
        return;
    }
    cpu_printf(cta_of(cta)->job->domain, lanes, format, args, out_result);
    cpu_guard_release();
}

static void service_runtime(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                            const uint64_t *call, const uint64_t *args, uint64_t *out_result)
{
    cpu_runtime_warp(cta_of(cta), warp, lanes, call, args, out_result);
}

static void service_probe(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                          uint32_t instr_idx, const uint64_t *const *operands)
{
    cpu_watch_probe(cta_of(cta), warp, lanes, instr_idx, operands);
}

void cpu_services_init(struct jit_services *services)
{
    *services = (struct jit_services){
        .bar_arrive = service_bar_arrive,
        .vprintf_ = service_vprintf,
        .assertfail = service_assertfail,
        .malloc_ = service_malloc,
        .free_ = service_free,
        .fault = service_fault,
        .clock = service_clock,
        .globaltimer = service_globaltimer,
        .nanosleep = service_nanosleep,
        .yield = service_yield,
        .check = service_check,
        .refuse = service_refuse,
        .texture = service_texture,
        .replicas = service_replicas,
        .runtime = service_runtime,
        .cluster_arrive = service_cluster_arrive,
        .cluster_wait = service_cluster_wait,
        .cluster_cta = service_cluster_cta,
        .probe = service_probe,
    };
}
