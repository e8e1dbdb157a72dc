/*
 * Launches that an observer lets run again and again (ir_observer.next_run): each run on the thread
 * that took the job, in the order that the observer asks for.
 *
 * CTAs that wait for nothing run one after the other. Where they may wait for each other, all that
 * fit are resident and take turns; a run in which none of them has done more than poll for a while
 * waits for something outside of the launch, which is not alone any more from then on.
 */
#include <assert.h>

#include "base/mem.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "dev/cpu/watch.h"

enum {
    ALONE_WAIT_S = 5,     /* for work of other queues to end */
    IDLE_TURNS = 2000,    /* in which all only polled, and */
    IDLE_MS = 500,        /* so long: they wait for something else */
    INTERLEAVED_MAX = 8,  /* the same, interleaved: the interpreter's threads are large */
    DEADLINE_EVERY = 256, /* CTAs between two looks at the clock */
};

struct run {
    struct cpu_job *job;
    struct cpu_slot *slot;
    uint32_t sm;
    const struct ir_schedule *schedule;
    uint64_t next, total; /* units */
    bool is_alone;        /* nothing else touches memory */
    bool is_first;
    /* That take turns. */
    struct cpu_cta **residents;
    uint32_t nresidents, max;
    uint64_t idle, idle_since_ns;
};

static bool is_late(const struct run *run)
{
    return run->schedule->deadline_ns && hal_time_ns() > run->schedule->deadline_ns;
}

static enum hd_status outcome(const struct cpu_job *job, bool fine)
{
    if (fine)
        return HD_OK;
    return job->rerun_status != HD_OK ? job->rerun_status : HD_INTERNAL;
}

/* ---- one CTA after the other */

static void plain_body(void *arg)
{
    struct run *run = arg;
    struct cpu_cta *cta = run->slot->cta;

    while (run->next < run->total) {
        uint64_t unit = ir_schedule_unit(run->schedule, run->next++);

        if (run->next % DEADLINE_EVERY == 0 && is_late(run)) {
            cpu_guard_leave(HD_TIMEOUT, 0);
        }
        cpu_cta_start(cta, run->job, &run->job->form, run->sm, unit);
        cpu_watch_cta_begin(cta);
        cpu_cta_run(cta);
        cpu_watch_cta_end(cta);
    }
}

static enum hd_status run_plain(struct run *run)
{
    struct cpu_job *job = run->job;

    if (!cpu_slot_reserve(run->slot, job, &job->form))
        return HD_NO_MEMORY;
    while (run->next < run->total) {
        if (cpu_guarded(plain_body, run, job, run->slot->cta))
            continue;
        cpu_watch_cta_end(run->slot->cta);
        if (!run->is_first || !cpu_watch_goes_on(job))
            return outcome(job, false);
    }
    return HD_OK;
}

static enum hd_status run_clusters(struct run *run)
{
    struct cpu_job *job = run->job;
    struct cpu_cluster *cluster = cpu_cluster_take(run->slot, job, &job->form);
    bool fine = cluster != NULL;

    while (fine && run->next < run->total && !is_late(run)) {
        uint64_t unit = ir_schedule_unit(run->schedule, run->next++);

        cpu_cluster_start(cluster, job, &job->form, run->sm, unit);
        fine = cpu_cluster_run(cluster);
    }
    if (cluster)
        cpu_cluster_give(run->slot, cluster);
    if (fine && run->next < run->total)
        return HD_TIMEOUT;
    return outcome(job, fine);
}

/* ---- taking turns */

static bool residents_fill(struct run *run)
{
    struct cpu_job *job = run->job;

    while (run->nresidents < run->max && run->next < run->total) {
        struct cpu_cta *cta = cpu_resident_create(run->slot, job);

        if (!cta)
            return false;
        cpu_resident_start(cta, job, run->sm, ir_schedule_unit(run->schedule, run->next++));
        run->residents[run->nresidents++] = cta;
    }
    return true;
}

/* Another thread may have to do what they wait for; this one helps as long as it is not alone. */
static void idle_turn(struct run *run)
{
    const struct ir_observer *observer = cpu_watch_observer(run->job->watch);

    if (!run->idle++)
        run->idle_since_ns = hal_time_ns();
    if (run->idle < IDLE_TURNS || hal_time_ns() - run->idle_since_ns < IDLE_MS * UINT64_C(1000000))
        return;
    if (run->is_alone && run->is_first) {
        observer->give_up(cpu_watch_launch(run->job->watch), true);
        hal_serial_share();
        run->is_alone = false;
    }
    if (!run->is_first)
        return;
    (void)cpu_residents_step(run->slot);
    (void)cpu_work_once(run->slot->device, run->slot, true);
}

static bool waits_for_ever(const struct run *run)
{
    return !run->is_first && run->idle >= IDLE_TURNS &&
           hal_time_ns() - run->idle_since_ns >= IDLE_MS * UINT64_C(1000000);
}

/* False: the launch has failed. Those that have ended leave. */
static bool all_turn(struct run *run)
{
    uint32_t kept = 0;
    bool moved = false, fine = true;

    for (uint32_t i = 0; i < run->nresidents; i++) {
        struct cpu_cta *cta = run->residents[i];

        if (fine && !cpu_resident_turn(cta, &moved)) {
            run->residents[kept++] = cta;
            continue;
        }
        fine &=
            run->job->rerun_status == HD_OK && hal_domain_status(&run->job->domain->base) == HD_OK;
        cpu_resident_release(run->slot, cta);
    }
    moved |= kept < run->nresidents;
    run->nresidents = kept;
    if (moved)
        run->idle = 0;
    else
        idle_turn(run);
    return fine;
}

static enum hd_status run_in_turns(struct run *run, uint32_t max)
{
    enum hd_status status = HD_OK;
    bool fine;

    run->max = max;
    run->residents = hd_alloc_array(max, sizeof(struct cpu_cta *));
    fine = run->residents && residents_fill(run);
    while (fine && run->nresidents && status == HD_OK) {
        fine = all_turn(run) && residents_fill(run);
        if (is_late(run) || waits_for_ever(run))
            status = HD_TIMEOUT;
    }
    for (uint32_t i = 0; i < run->nresidents; i++)
        cpu_resident_release(run->slot, run->residents[i]);
    hd_free(run->residents);
    return fine ? status : outcome(run->job, false);
}

/* ---- runs */

/* Nothing but the interpreter can stop a warp anywhere. */
static enum hd_status run_interleaved(struct run *run)
{
    struct cpu_job *job = run->job;
    const struct cpu_form form = job->form;
    const struct jit_code code = {.form = JIT_INTERP,
                                  .mxcsr = form.code->mxcsr,
                                  .may_spin = true,
                                  .may_wait = form.code->may_wait,
                                  .cost_ops = UINT64_MAX};
    enum hd_status status;
    uint32_t max = HD_MAX(INTERLEAVED_MAX / job->launch.cluster_ctas, 1u);

    job->form = (struct cpu_form){&code, cpu_cta_layout_of(&code, &job->launch)};
    status =
        run_in_turns(run, cpu_watch_may_wait(job) ? cpu_watch_residents_max(job, run->total) : max);
    job->form = form;
    return status;
}

static enum hd_status run_once(struct run *run)
{
    struct cpu_job *job = run->job;

    assert(!run->slot->cta || !run->slot->cta->is_observed);
    run->next = 0;
    run->idle = 0;
    job->schedule = run->schedule;
    job->is_rerun = !run->is_first;
    job->rerun_status = HD_OK;
    cpu_grid_workspace_setup(job);
    if (run->schedule->turns)
        return run_interleaved(run);
    if (cpu_watch_may_wait(job))
        return run_in_turns(run, cpu_watch_residents_max(job, run->total));
    return job->launch.cluster_ctas > 1 ? run_clusters(run) : run_plain(run);
}

static bool enter(const struct ir_observer *observer, void *launch)
{
    if (!observer->wants_runs(launch)) {
        hal_serial_enter();
        return false;
    }
    if (hal_serial_enter_alone(ALONE_WAIT_S * UINT64_C(1000000000)))
        return true;
    observer->give_up(launch, false);
    return false;
}

void cpu_schedule_run(struct cpu_job *job, struct cpu_slot *slot)
{
    const struct ir_observer *observer = cpu_watch_observer(job->watch);
    const struct ir_schedule usual = IR_SCHEDULE_USUAL;
    void *launch = cpu_watch_launch(job->watch);
    struct run run = {.job = job,
                      .slot = slot,
                      .sm = cpu_slot_sm(slot, job->queue),
                      .schedule = &usual,
                      .total = atomic_load(&job->total),
                      .is_first = true};

    if (atomic_exchange(&job->next, run.total) >= run.total)
        return; /* another thread has it */
    run.is_alone = enter(observer, launch);
    if (run_once(&run) == HD_OK && run.is_alone && cpu_watch_is_fine(job)) {
        enum hd_status ended = HD_OK;

        run.is_first = false;
        while ((run.schedule = observer->next_run(launch, ended)) &&
               hal_domain_status(&run.job->domain->base) == HD_OK)
            ended = run_once(&run);
    }
    job->schedule = NULL;
    job->is_rerun = false;
    if (run.is_alone)
        hal_serial_leave_alone();
    else
        hal_serial_leave();
}
