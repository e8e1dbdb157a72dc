/* A dispatch packet as a job: chunks of CTAs in index order. */
#include "base/log.h"
#include "dev/cpu/device.h"

/* About this many operations per chunk: taking one costs up to 40 ns when two threads do. */
#define CHUNK_OPS 8000u

static const struct jit_code *grid_code(const struct hal_dispatch *p, struct cpu_kernel *kernel)
{
    uint32_t block[3] = {p->block[0], p->block[1], p->block[2]};

    return atomic_load_explicit(&kernel->codes[ir_launch_class_of(block)], memory_order_acquire);
}

static uint64_t grid_ctas(const struct hal_dispatch *p)
{
    return (uint64_t)p->grid[0] * p->grid[1] * p->grid[2];
}

static uint32_t grid_warps(const struct hal_dispatch *p)
{
    return ((uint32_t)p->block[0] * p->block[1] * p->block[2] + 31) / 32;
}

bool cpu_grid_is_short(const struct cpu_device *dev, const struct hal_dispatch *p)
{
    const struct jit_code *code = grid_code(p, (struct cpu_kernel *)(uintptr_t)p->kernel);
    uint64_t ctas = grid_ctas(p), ops;

    (void)dev;
    if (!code || code->may_spin || code->cost_ops > CPU_INLINE_OPS || ctas > CPU_INLINE_OPS)
        return false;
    ops = (code->cost_ops + 16) * grid_warps(p) * ctas;
    return ops <= CPU_INLINE_OPS;
}

static void launch_setup(struct jit_launch *launch, struct cpu_device *dev,
                         const struct hal_dispatch *p, const struct cpu_kernel *kernel)
{
    const struct ir_window *window = &kernel->window;
    uint64_t local_B = window->local_B;

    if (window->recursive)
        local_B += atomic_load(&dev->stack_B);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = p->grid[i];
        launch->block[i] = p->block[i];
    }
    launch->nwarps = grid_warps(p);
    launch->dynamic_smem_B = p->dynamic_smem_B;
    launch->shared_B = window->shared_B;
    if (p->dynamic_smem_B)
        launch->shared_B = HD_MAX(window->shared_B, window->dynamic_offset_B + p->dynamic_smem_B);
    launch->total_smem_B = (uint32_t)launch->shared_B;
    launch->nworkers = dev->nslots;
    launch->grid_id = p->grid_id;
    launch->params =
        p->params_ring_B ? (const char *)(uintptr_t)p->params_va : (const char *)p->params;
    launch->vars = kernel->vars;
    launch->local_B = hd_align_up(local_B, 16);
    launch->services = &dev->services;
    launch->device = dev;
}

/*
 * cooperative_groups: %envreg1 and 2 are the halves, high and low, of the address of what all CTAs
 * of the launch share. A word of 0 means an ordinary launch; grid.sync traps then.
 */
static void workspace_setup(struct cpu_job *job)
{
    uint64_t address = job->cooperative ? (uint64_t)(uintptr_t)&job->workspace : 0;

    job->workspace = (struct cpu_grid_workspace){.size_B = sizeof(job->workspace)};
    job->launch.envreg[0] = (uint32_t)(address >> 32);
    job->launch.envreg[1] = (uint32_t)address;
}

static uint64_t chunk_of(const struct cpu_device *dev, const struct cpu_job *job, uint64_t ctas)
{
    uint64_t cost = job->code->cost_ops;
    uint64_t chunk = 1;

    if (cost < CHUNK_OPS)
        chunk = CHUNK_OPS / ((cost + 16) * job->launch.nwarps);
    /* Leave something to share. */
    chunk = HD_MIN(chunk, ctas / (dev->nslots * 4u));
    return HD_MAX(chunk, 1);
}

enum hd_status cpu_grid_setup(struct cpu_job *job, struct cpu_device *dev,
                              const struct hal_dispatch *p)
{
    struct cpu_kernel *kernel = (struct cpu_kernel *)(uintptr_t)p->kernel;
    uint64_t ctas = grid_ctas(p);

    job->code = grid_code(p, kernel);
    if (!job->code)
        return hd_error(HD_INTERNAL, "kernel %s was not prepared for its block size", kernel->name);
    launch_setup(&job->launch, dev, p, kernel);
    job->name = kernel->name;
    job->cooperative = (p->head.flags & HAL_DISPATCH_COOPERATIVE) != 0;
    workspace_setup(job);
    job->layout = cpu_cta_layout_of(job->code, &job->launch);
    job->cta_block_B = job->layout.end;
    job->packet = NULL;
    job->run = cpu_grid_run;
    job->chunk = chunk_of(dev, job, ctas);
    job->start_ns = hal_time_ns();
    atomic_store(&job->spins, job->code->may_spin || job->cooperative);
    atomic_store(&job->next, 0);
    atomic_store(&job->total, ctas);
    if (hd_debug(HD_DEBUG_LAUNCH))
        hd_log_debug(HD_DEBUG_LAUNCH, "%s <<<(%u,%u,%u), (%u,%u,%u), %u>>> chunk %llu%s", job->name,
                     p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2],
                     p->dynamic_smem_B, (unsigned long long)job->chunk,
                     job->code->may_spin ? " may spin" : "");
    return HD_OK;
}

struct grid_body {
    struct cpu_job *job;
    struct cpu_slot *slot;
    uint64_t first, end;
};

static void grid_body(void *arg)
{
    struct grid_body *body = arg;

    struct cpu_cta *cta = body->slot->cta;

    cpu_cta_start(cta, body->job, body->slot->index, body->first);
    cpu_cta_run(cta);
    for (uint64_t i = body->first + 1; i < body->end; i++) {
        cpu_cta_next(cta);
        cpu_cta_run(cta);
    }
}

/* The slot's reusable block, large enough for the job. */
static bool slot_reserve(struct cpu_slot *slot, struct cpu_job *job)
{
    if (slot->cta && slot->cta->block_B >= job->cta_block_B)
        return true;
    cpu_cta_destroy(slot->cta);
    slot->cta = cpu_cta_create(job->cta_block_B);
    if (slot->cta)
        return true;
    hal_fault_raise(job->fault, HD_NO_MEMORY, 0, "out of host memory for a CTA");
    return false;
}

static bool slot_should_stop(const struct cpu_slot *slot)
{
    return slot->stop_sem &&
           atomic_load_explicit(slot->stop_sem, memory_order_acquire) >= slot->stop_value;
}

void cpu_grid_run(struct cpu_job *job, struct cpu_slot *slot)
{
    struct grid_body body = {.job = job, .slot = slot};
    bool asked_for_help = job->start_ns == 0;

    if (!slot_reserve(slot, job)) {
        atomic_store(&job->next, atomic_load(&job->total));
        return;
    }
    while (!slot_should_stop(slot)) {
        uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);

        if (atomic_load_explicit(&job->next, memory_order_relaxed) >= total)
            break;
        body.first = atomic_fetch_add(&job->next, job->chunk);
        if (body.first >= total)
            break;
        body.end = HD_MIN(body.first + job->chunk, total);
        if (!cpu_guarded(grid_body, &body, job)) {
            atomic_store(&job->next, total);
            break;
        }
        if (!asked_for_help && body.end < total &&
            hal_time_ns() - job->start_ns > CPU_WAKE_AFTER_NS) {
            asked_for_help = true;
            cpu_wake_more(slot->device);
        }
    }
}
