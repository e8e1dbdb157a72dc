/*
 * Launches that somebody observes (hal_client_ops.observer): their kernels have probes, which this
 * hands on, from generated code; the interpreter in place tells for itself.
 *
 * A CTA that the observer wants to fail is given up, the others go on, and the launch fails when
 * all have ended: one run finds more than the first error. CTAs that wait for others are ended with
 * the launch at once.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/conflicts.h"
#include "base/demangle.h"
#include "base/mem.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "dev/cpu/watch.h"
#include "interp/interp.h"
#include "ir/probe.h"

struct cpu_watch {
    const struct ir_observer *observer;
    void *launch; /* the observer's */
    struct ir_probe_range *ranges;
    _Atomic uint32_t failed; /* enum hd_status of the first CTA that failed */
};

const struct ir_observer *cpu_watch_observer(const struct cpu_watch *watch)
{
    return watch->observer;
}

void *cpu_watch_launch(const struct cpu_watch *watch)
{
    return watch->launch;
}

bool cpu_watch_is_fine(const struct cpu_job *job)
{
    return atomic_load(&job->watch->failed) == HD_OK &&
           hal_domain_status(&job->domain->base) == HD_OK;
}

bool cpu_kernel_find_probes(struct cpu_kernel *kernel, const struct ir_observer *observer)
{
    kernel->probes = ir_probes_by_number(kernel->func->module, &kernel->ninstrs);
    if (!kernel->probes)
        return false;
    if (observer->wants_conflicts)
        kernel->conflicts = ir_conflicts_create(kernel->func);
    return true;
}

/* ---- the order of its CTAs */

enum { RESIDENT_MAX = 256 }; /* CTAs that take turns, unless the multiprocessors hold more */

bool cpu_watch_may_wait(const struct cpu_job *job)
{
    return job->cooperative || job->form.code->may_wait;
}

uint32_t cpu_watch_residents_max(const struct cpu_job *job, uint64_t total)
{
    const struct jit_launch *launch = &job->launch;
    uint64_t max = hal_sms_hold(launch->nsms, 32 * launch->nwarps, launch->shared_B);

    max = HD_MAX(HD_MAX(max, RESIDENT_MAX) / launch->cluster_ctas, 1u);
    return (uint32_t)(job->cooperative ? total : HD_MIN(total, max));
}

/* ---- launches */

static struct ir_probe_launch launch_of(const struct cpu_job *job, const struct hal_dispatch *p,
                                        struct ir_probe_range *ranges)
{
    const struct jit_launch *l = &job->launch;
    uint64_t units = atomic_load(&job->total);

    return (struct ir_probe_launch){
        .kernel = job->kernel->func,
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
        .shared_B = l->shared_B,
        .dynamic_shared_B = l->dynamic_smem_B,
        .cooperative = job->cooperative,
        .params = l->params,
        .workspace = job->cooperative ? &job->workspace : NULL,
        .workspace_B = sizeof(job->workspace),
        .vars = l->vars,
        .ranges = ranges,
        .conflicts = job->kernel->conflicts,
        .textures = job->domain->base.device->client.textures,
        .replicas = job->domain->base.device->client.program_replicas,
        .grid_id = l->grid_id,
        .correlation = p->head.correlation,
        .units = units,
        .may_wait = cpu_watch_may_wait(job),
        .in_turns = job->form.code->form == JIT_INTERP,
        .residents_max = cpu_watch_residents_max(job, units),
    };
}

bool cpu_watch_begin(struct cpu_job *job, const struct hal_dispatch *p)
{
    const struct ir_observer *observer = job->domain->base.device->client.observer;
    struct cpu_watch *watch = hd_new(struct cpu_watch);
    struct ir_probe_launch launch;

    assert(!job->watch && observer && job->kernel->probes);
    if (!watch)
        return false;
    watch->observer = observer;
    watch->ranges = hd_alloc_array(job->kernel->ninstrs, sizeof(*watch->ranges));
    if (watch->ranges) {
        launch = launch_of(job, p, watch->ranges);
        watch->launch = observer->launch_begin(&launch);
    }
    if (!watch->launch) {
        hd_free(watch->ranges);
        hd_free(watch);
        return false;
    }
    job->launch.ranges = watch->ranges;
    job->watch = watch;
    if (!observer->adds_up) {
        job->in_order = true;
        job->chunk = 1;
    }
    if (observer->next_run) {
        job->run = cpu_device_of(job->domain->base.device)->run_again;
        job->tiled = false;
        job->in_schedule = true;
    }
    return true;
}

void cpu_watch_end(struct cpu_job *job)
{
    struct cpu_watch *watch = job->watch;
    const struct hal_fault_site site = {.kernel = job->name};
    enum hd_status failed = (enum hd_status)atomic_load(&watch->failed);
    struct hd_buf message = {0};

    watch->observer->launch_end(watch->launch);
    if (failed != HD_OK) {
        hd_buf_puts(&message, "kernel ");
        hd_demangle_or_name(job->name, HD_DEMANGLE_FULL, &message);
        hd_buf_printf(&message, ": %s; " IR_PROBE_ENDED, hd_status_text(failed));
        hal_domain_fail(&job->domain->base, failed, 0, &site,
                        message.ptr ? message.ptr : hd_status_text(failed));
        hd_buf_fini(&message);
    }
    job->watch = NULL;
    hd_free(watch->ranges);
    hd_free(watch);
}

bool cpu_watch_goes_on(const struct cpu_job *job)
{
    return job->watch && atomic_load(&job->watch->failed) != HD_OK &&
           hal_domain_status(&job->domain->base) == HD_OK;
}

void cpu_watch_cta_begin(struct cpu_cta *cta)
{
    const struct jit_cta *c = &cta->cta;
    const struct cpu_watch *watch = cta->job->watch;

    assert(!cta->is_observed);
    if (cta->job->in_schedule) /* what the last CTA left there is different in each run */
        memset(c->shared, 0, c->launch->shared_B);
    cta->order = ir_schedule_warps(cta->job->schedule, ir_cta_number(c->launch->grid, c->ctaid));
    if (cta->code->form == JIT_INTERP)
        return;
    cta->probe = (struct ir_probe_cta){
        .launch = watch->launch,
        .ctaid = {c->ctaid[0], c->ctaid[1], c->ctaid[2]},
        .index = ir_cta_number(c->launch->grid, c->ctaid),
        .smid = c->smid,
        .shared = c->shared,
        .local = c->local,
        .local_B = c->launch->local_B,
    };
    cpu_guard_hold();
    cta->is_observed = watch->observer->cta_begin(&cta->probe);
    cpu_guard_release();
    cta->cta.counts = cta->probe.counts;
    if (!cta->is_observed)
        hal_domain_fail(&cta->job->domain->base, HD_NO_MEMORY, 0, NULL,
                        "out of host memory for the checker");
}

bool cpu_watch_cta_next(struct cpu_cta *cta)
{
    const struct jit_cta *c = &cta->cta;

    if (!cta->job->watch->observer->adds_up)
        return false;
    memcpy(cta->probe.ctaid, c->ctaid, sizeof(cta->probe.ctaid));
    cta->probe.index = ir_cta_number(c->launch->grid, c->ctaid);
    return true;
}

void cpu_watch_cta_end(struct cpu_cta *cta)
{
    if (!cta->is_observed)
        return;
    cta->is_observed = false;
    cpu_guard_hold();
    cta->job->watch->observer->cta_end(&cta->probe);
    cpu_guard_release();
}

void cpu_watch_inplace(const struct cpu_job *job, struct interp_launch *launch)
{
    if (!job->watch)
        return;
    launch->observer = job->watch->observer;
    launch->observed = job->watch->launch;
    launch->schedule = job->schedule;
}

/* Does not return. */
static void give_up(struct cpu_cta *cta, enum hd_status status, const struct cpu_blame *blame)
{
    uint32_t none = HD_OK;

    /* Another CTA may wait for this one. */
    if (atomic_load(&cta->job->spins) || cta->job->launch.cluster_ctas > 1)
        cpu_guard_blame(status, 0, blame);
    atomic_compare_exchange_strong(&cta->job->watch->failed, &none, (uint32_t)status);
    cpu_guard_leave(HD_CANCELLED, 0);
}

void cpu_watch_probe(struct cpu_cta *cta, const struct jit_warp *warp, uint32_t lanes,
                     uint32_t instr_idx, const uint64_t *const *operands)
{
    const struct cpu_kernel *kernel = cta->job->kernel;
    const struct cpu_blame blame = {
        .warp = warp->index, .lanes = lanes, .instr_idx = instr_idx, .reason = IR_PROBE_ENDED};
    enum hd_status status;

    assert(instr_idx < kernel->ninstrs && kernel->probes[instr_idx]);
    if (!cta->is_observed)
        return;
    cpu_guard_hold();
    status = cta->job->watch->observer->probe(&cta->probe, warp->index, lanes,
                                              kernel->probes[instr_idx], operands);
    cpu_guard_release();
    if (status != HD_OK)
        give_up(cta, status, &blame);
}
