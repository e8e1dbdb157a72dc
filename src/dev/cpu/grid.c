/* A dispatch packet as a job: chunks of CTAs. */
#include "base/fault.h"
#include "base/log.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "dev/cpu/native.h"
#include "dev/cpu/signals.h"
#include "dev/cpu/sample.h"

/* A grid of fewer may go through the caches, whatever its threads store. */
#define STREAM_WARPS 4096

/* About this many operations per chunk: taking one costs up to 40 ns when two threads do. */
#define CHUNK_OPS 8000u

static const struct jit_code *grid_code_of(struct cpu_kernel *kernel, const uint32_t block[3])
{
    return atomic_load_explicit(&kernel->codes[jit_launch_class_of(block)], memory_order_acquire);
}

bool cpu_grid_find(struct cpu_device *dev, const struct hal_dispatch *p, struct cpu_grid *out_grid)
{
    uint32_t block[3] = {p->block[0], p->block[1], p->block[2]};
    struct cpu_kernel *kernel = (struct cpu_kernel *)hal_kernel_find(&dev->base, p->kernel);

    out_grid->kernel = kernel;
    if (HD_UNLIKELY(!kernel))
        return false;
    struct cpu_kernel *other = (struct cpu_kernel *)hal_kernel_instead(&kernel->base);
    if (HD_UNLIKELY(other) && grid_code_of(other, block))
        out_grid->kernel = kernel = other;
    out_grid->code = grid_code_of(kernel, block);
    out_grid->ctas = (uint64_t)p->grid[0] * p->grid[1] * p->grid[2];
    out_grid->cluster_ctas = 1;
    if (HD_UNLIKELY(hal_dispatch_has_clusters(p)) && kernel->window.clusters)
        out_grid->cluster_ctas = (uint32_t)p->cluster[0] * p->cluster[1] * p->cluster[2];
    out_grid->nwarps = (block[0] * block[1] * block[2] + 31) / 32;
    return out_grid->code != NULL;
}

bool cpu_grid_is_short(const struct cpu_grid *grid)
{
    const struct jit_code *code = grid->code;

    if (grid->kernel->probes || grid->kernel->is_metered || code->may_spin ||
        code->cost_ops > CPU_INLINE_OPS || grid->ctas > CPU_INLINE_OPS || grid->cluster_ctas > 1)
        return false;
    return (code->cost_ops + 16) * grid->nwarps * grid->ctas <= CPU_INLINE_OPS;
}

static void grid_launch_setup(struct jit_launch *launch, const struct cpu_queue *queue,
                              const struct hal_dispatch *p, const struct cpu_grid *grid)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    const struct ir_window *window = &grid->kernel->window;
    uint64_t local_B = window->local_B;

    if (window->recursive)
        local_B += HD_MAX(hal_limit_get(queue->base.domain, HAL_LIMIT_STACK_B), CPU_STACK_MIN_B);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = p->grid[i];
        launch->block[i] = p->block[i];
    }
    launch->nwarps = grid->nwarps;
    launch->dynamic_smem_B = p->dynamic_smem_B;
    launch->shared_B = ir_window_shared_B(window, p->dynamic_smem_B);
    launch->total_smem_B = (uint32_t)launch->shared_B;
    launch->nsms = dev->base.nsms ? dev->base.nsms : dev->nslots;
    launch->grid_id = p->grid_id;
    launch->params = hal_dispatch_params(queue->base.ring, p);
    launch->vars = grid->kernel->vars;
    launch->local_B = hd_align_up(local_B, window->local_align_B);
    launch->services = &dev->services;
    launch->device = dev;
    launch->cluster[0] = launch->cluster[1] = launch->cluster[2] = 1;
    for (int i = 0; HD_UNLIKELY(grid->cluster_ctas > 1) && i < 3; i++)
        launch->cluster[i] = p->cluster[i];
    launch->cluster_ctas = grid->cluster_ctas;
    launch->explicit_cluster = p->cluster[0] != 0;
    launch->space_va = dev->base.client.space_va;
    launch->space_B = dev->base.client.space_B;
    launch->caches_B = 0;
}

/*
 * cooperative_groups: %envreg1 and 2 are the halves, high and low, of the address of what all CTAs
 * of the launch share. A word of 0 means an ordinary launch; grid.sync traps then.
 */
void cpu_grid_workspace_setup(struct cpu_job *job)
{
    uint64_t address = job->cooperative ? (uint64_t)(uintptr_t)&job->workspace : 0;

    job->workspace = (struct cpu_grid_workspace){.size_B = sizeof(job->workspace)};
    job->launch.envreg[0] = (uint32_t)(address >> 32);
    job->launch.envreg[1] = (uint32_t)address;
}

static uint64_t grid_chunk_of(const struct cpu_device *dev, const struct cpu_job *job,
                              uint64_t ctas)
{
    uint64_t cost = job->form.code->cost_ops;
    uint64_t chunk = 1;

    if (ctas == 1) /* spares two divisions */
        return 1;
    if (cost < CHUNK_OPS)
        chunk = CHUNK_OPS / ((cost + 16) * job->launch.nwarps);
    /* Leave something to share. */
    chunk = HD_MIN(chunk, ctas / (dev->nslots * 4u));
    return HD_MAX(chunk, 1);
}

struct grid_body {
    struct cpu_job *job;
    const struct cpu_form *form; /* in which this thread runs its CTAs */
    struct cpu_slot *slot;
    uint32_t sm;
    struct cpu_chunk chunk;
};

static struct grid_body grid_body_of(struct cpu_job *job, struct cpu_slot *slot)
{
    return (struct grid_body){
        .job = job, .form = &job->form, .slot = slot, .sm = cpu_slot_sm(slot, job->queue)};
}

static void grid_body(void *arg)
{
    struct grid_body *body = arg;

    struct cpu_cta *cta = body->slot->cta;

    cpu_cta_start(cta, body->job, body->form, body->sm, body->chunk.first);
    cpu_cta_run_many(cta, body->chunk.end - body->chunk.first);
}

bool cpu_slot_reserve(struct cpu_slot *slot, struct cpu_job *job, const struct cpu_form *form)
{
    if (slot->cta && slot->cta->block_B >= form->layout.end)
        return true;
    cpu_cta_destroy(slot->cta);
    slot->cta = cpu_cta_create(form->layout.end);
    if (slot->cta)
        return true;
    hal_domain_fail(&job->domain->base, HD_NO_MEMORY, 0, NULL, "out of host memory for a CTA");
    return false;
}

static bool grid_slot_should_stop(const struct cpu_slot *slot)
{
    return slot->stop_sem &&
           atomic_load_explicit(slot->stop_sem, memory_order_acquire) >= slot->stop_value;
}

/* What a thread knows of better code for the launch that it is at. */
struct better {
    struct cpu_form form; /* set when it has come */
    uint64_t since_ns;    /* when the thread began to look */
    bool asked;
};

/*
 * The launch started in code that was made quickly. Goes on in better code as soon as there is
 * some: all forms of a kernel do the same, CTA by CTA. True: there is.
 */
static bool grid_form_improve(struct grid_body *body, struct better *better)
{
    struct cpu_job *job = body->job;
    const jit_slot *slot = &job->kernel->codes[jit_launch_class_of(job->launch.block)];
    const struct jit_code *old = body->form->code;
    const struct jit_code *code = atomic_load_explicit(slot, memory_order_acquire);

    if (!better->since_ns)
        better->since_ns = hal_time_ns();
    if (!better->asked && hal_time_ns() - better->since_ns > old->improve_ns) {
        better->asked = true;
        jit_code_improve(old);
    }
    if (code == old || code->form == JIT_INTERP || code->mxcsr != old->mxcsr ||
        code->may_spin != old->may_spin)
        return false;
    better->form = (struct cpu_form){code, cpu_cta_layout_of(code, &job->launch)};
    body->form = &better->form;
    return true;
}

/* False: the launch has failed. */
static bool grid_guarded(struct grid_body *body)
{
    struct cpu_cta *cta = body->slot->cta;

    if (HD_LIKELY(cpu_guarded(grid_body, body, body->job, cta)))
        return true;
    cpu_watch_cta_end(cta);
    return cpu_watch_goes_on(body->job);
}

/* Stores past the caches are in order with what tells that the job is over. */
static void grid_stores_finish(const struct cpu_job *job)
{
#if defined(__x86_64__)
    if (job->launch.caches_B)
        __builtin_ia32_sfence();
#else
    (void)job;
#endif
}

static void grid_run(struct cpu_job *job, struct cpu_slot *slot)
{
    struct grid_body body = grid_body_of(job, slot);
    struct better better = {.asked = false};
    struct cpu_pace pace = {0};
    bool asked_for_help = job->start_ns == 0;

    if (!cpu_slot_reserve(slot, job, body.form)) {
        cpu_job_end(job);
        return;
    }
    while (!grid_slot_should_stop(slot) && !cpu_job_exhausted(job)) {
        if (HD_UNLIKELY(hal_domain_status(&job->domain->base) != HD_OK)) {
            cpu_job_end(job);
            break;
        }
        if (HD_UNLIKELY(body.form->code->quick) && grid_form_improve(&body, &better) &&
            !cpu_slot_reserve(slot, job, body.form)) {
            cpu_job_end(job);
            break;
        }
        if (!cpu_job_take(job, slot, &body.chunk))
            break;
        if (!grid_guarded(&body)) {
            cpu_job_end(job);
            break;
        }
        cpu_pace_keep(&pace, job, &body.chunk);
        if (!asked_for_help && !cpu_job_exhausted(job) &&
            hal_time_ns() - job->start_ns > CPU_WAKE_AFTER_NS) {
            asked_for_help = true;
            cpu_wake_more(slot->device);
        }
    }
    grid_stores_finish(job);
}

/* ---- clusters */

/* One cluster after the other, in memory that is kept for them. */
static void grid_clusters_run(struct cpu_job *job, struct cpu_slot *slot)
{
    struct grid_body body = grid_body_of(job, slot);
    struct better better = {.asked = false};
    struct cpu_cluster *cluster = NULL;
    uint64_t index;

    while (!grid_slot_should_stop(slot) && !cpu_job_exhausted(job)) {
        bool improved = body.form->code->quick && grid_form_improve(&body, &better);

        if (improved && cluster) {
            cpu_cluster_give(slot, cluster);
            cluster = NULL;
        }
        if (!cluster)
            cluster = cpu_cluster_take(slot, job, body.form);
        if (!cluster || hal_domain_status(&job->domain->base) != HD_OK) {
            cpu_job_end(job);
            break;
        }
        index = atomic_fetch_add(&job->next, 1);
        if (index >= atomic_load(&job->total))
            break;
        cpu_cluster_start(cluster, job, body.form, body.sm, index);
        if (!cpu_cluster_run(cluster)) {
            cpu_job_end(job);
            break;
        }
    }
    if (cluster)
        cpu_cluster_give(slot, cluster);
}

/* ---- setting a job up */

/* Only grids of many threads store so much that they are asked to go past the caches. */
static uint64_t grid_caches_of(const struct cpu_job *job, const struct cpu_grid *grid)
{
    bool waits = job->cooperative || job->form.code->may_spin || grid->cluster_ctas > 1;
    if (HD_UNLIKELY(hd_fault(HD_FAULT_CPU_CACHES)) && !waits)
        return 1;
    return !waits && grid->ctas * grid->nwarps >= STREAM_WARPS ? cpu_caches_B() : 0;
}

static void grid_job_setup(struct cpu_queue *queue, const struct hal_dispatch *p,
                           const struct cpu_grid *grid)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    struct cpu_job *job = &queue->job;

    job->form.code = grid->code;
    grid_launch_setup(&job->launch, queue, p, grid);
    job->kernel = grid->kernel;
    job->native = grid->kernel->native;
    job->queue = queue;
    job->name = grid->kernel->name;
    atomic_store_explicit(&job->samples, cpu_samples_for(grid->kernel), memory_order_relaxed);
    job->cooperative = (p->head.flags & HAL_FLAG_COOPERATIVE) != 0;
    cpu_grid_workspace_setup(job);
    job->form.layout = cpu_cta_layout_of(job->form.code, &job->launch);
    job->tiled = cpu_grid_is_tiled(job->form.code, &job->launch);
    job->packet = NULL;
    job->watch = NULL;
    job->metered = NULL;
    job->in_schedule = job->is_rerun = false;
    job->schedule = NULL;
    atomic_store_explicit(&job->children, NULL, memory_order_relaxed);
    job->run = grid_run;
    job->chunk = grid_chunk_of(dev, job, grid->ctas);
    job->in_order = job->form.code->may_spin || job->form.code->in_order || job->cooperative;
    atomic_store_explicit(&job->npartitions, 0, memory_order_relaxed);
    job->start_ns = 0;
    /* Nobody joins before the job is published, which orders all of this. */
    const uint64_t ctas = grid->ctas;
    atomic_store_explicit(&job->spins, job->form.code->may_spin || job->cooperative,
                          memory_order_relaxed);
    atomic_store_explicit(&job->next, 0, memory_order_relaxed);
    atomic_store_explicit(&job->total, ctas, memory_order_relaxed);
    job->launch.caches_B = grid_caches_of(job, grid);
    if (HD_UNLIKELY(grid->cluster_ctas > 1)) {
        /* The units of the job are clusters. */
        assert(grid->ctas % grid->cluster_ctas == 0);
        job->run = grid_clusters_run;
        job->in_order = true;
        job->chunk = 1;
        job->tiled = false;
        atomic_store_explicit(&job->total, grid->ctas / grid->cluster_ctas, memory_order_relaxed);
    }
    if (HD_UNLIKELY(job->native != NULL))
        cpu_native_setup(job, dev, grid->ctas);
}

enum hd_status cpu_grid_setup(struct cpu_queue *queue, const struct hal_dispatch *p,
                              const struct cpu_grid *grid)
{
    struct cpu_job *job = &queue->job;

    if (HD_UNLIKELY(!grid->kernel || !grid->code)) {
        if (!grid->kernel)
            return hd_error(HD_BAD_ARG, "there is no kernel with id 0x%llx",
                            (unsigned long long)p->kernel);
        return hd_error(HD_INTERNAL, "kernel %s was not prepared for its block size",
                        grid->kernel->name);
    }
    if (HD_UNLIKELY(grid->kernel->native != NULL))
        HD_TRY(cpu_native_check(grid->kernel));
    grid_job_setup(queue, p, grid);
    if (HD_UNLIKELY(grid->kernel->probes) && !cpu_watch_begin(job, p))
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for the checker", job->name);
    if (HD_UNLIKELY(grid->kernel->is_metered) && !atomic_load(&job->spins))
        job->metered = queue->base.device->client.meter->begin(p);
    cpu_signals_check();
    if (HD_UNLIKELY(hd_debug(HD_DEBUG_LAUNCH)))
        hd_log_debug(HD_DEBUG_LAUNCH, "%s <<<(%u,%u,%u), (%u,%u,%u), %u>>> chunk %llu%s", job->name,
                     p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2],
                     p->dynamic_smem_B, (unsigned long long)job->chunk,
                     job->form.code->may_spin ? " may spin" : "");
    return HD_OK;
}

/* ---- short grids, one after the other */

/* Of all grids that retire together. */
#define ROW_OPS (2u * CPU_INLINE_OPS)

struct row {
    struct cpu_queue *queue;
    struct cpu_slot *slot;
    uint32_t sm;
    uint64_t first, last; /* positions in the ring: the job's, and what was submitted */
    unsigned done;
    uint64_t ops; /* estimated */
};

static struct hal_dispatch *grid_row_packet(const struct row *row, unsigned i)
{
    return &hal_ring_packet(row->queue->base.ring, row->first + i)->dispatch;
}

/* Do they differ in nothing but their parameters? */
static bool grid_is_alike(const struct hal_dispatch *a, const struct hal_dispatch *b)
{
    enum {
        FROM = offsetof(struct hal_dispatch, kernel),
        TO = offsetof(struct hal_dispatch, ring_B)
    };

    return !memcmp((const char *)a + FROM, (const char *)b + FROM, TO - FROM) &&
           !memcmp(a->cluster, b->cluster, sizeof(a->cluster));
}

/* Is the next packet part of the row? Then the job is set up for it. */
static bool grid_row_goes_on(struct row *row)
{
    struct cpu_job *job = &row->queue->job;
    const struct hal_dispatch *p = grid_row_packet(row, row->done);

    if (row->first + row->done > row->last || row->ops > ROW_OPS || p->head.flags ||
        p->head.op != HAL_OP_DISPATCH)
        return false;
    if (grid_is_alike(grid_row_packet(row, row->done - 1), p)) {
        job->launch.params = hal_dispatch_params(row->queue->base.ring, p);
        job->launch.grid_id = p->grid_id;
        return true;
    }
    /* The job becomes another kernel's, if that can run where the guard and the slot are. */
    uint64_t mxcsr = job->form.code->mxcsr;
    struct cpu_grid grid;
    if (!cpu_grid_find(row->slot->device, p, &grid) || !cpu_grid_is_short(&grid) ||
        grid.code->mxcsr != mxcsr)
        return false;
    grid_job_setup(row->queue, p, &grid);
    return row->slot->cta->block_B >= job->form.layout.end;
}

/* The guard costs as much as a short grid: it is set up once for all of them. */
static void grid_row_body(void *arg)
{
    struct row *row = arg;
    struct cpu_job *job = &row->queue->job;
    struct cpu_cta *cta = row->slot->cta;

    do {
        uint64_t ctas = atomic_load_explicit(&job->total, memory_order_relaxed);

        cpu_queue_here_begin(row->queue);
        cpu_cta_start(cta, job, &job->form, row->sm, 0);
        cpu_cta_run_many(cta, ctas);
        cpu_queue_here_end(row->queue);
        row->ops += (job->form.code->cost_ops + 16) * job->launch.nwarps * ctas;
        row->done++;
    } while (grid_row_goes_on(row));
}

unsigned cpu_grid_run_row(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct cpu_job *job = &queue->job;
    struct hal_ring *ring = queue->base.ring;
    struct row row = {.queue = queue,
                      .slot = slot,
                      .sm = cpu_slot_sm(slot, queue),
                      .first = hal_ring_retired(ring) + 1};
    bool alone = grid_row_packet(&row, 0)->head.flags || hd_debug(HD_DEBUG_LAUNCH) ||
                 hd_debug(HD_DEBUG_QUEUE);

    assert(!atomic_load_explicit(&job->next, memory_order_relaxed) && job->form.code);
    row.last = alone ? row.first : hal_ring_submitted(ring);
    if (cpu_slot_reserve(slot, job, &job->form) && cpu_guarded(grid_row_body, &row, job, slot->cta))
        return row.done;
    cpu_queue_here_end(queue);
    return row.done + 1; /* with the one that failed */
}
