/*
 * Turns of CTAs that may wait for others: each warp runs once. No host stack is held across a stop,
 * so one that only polls never keeps others from running. CTAs of a cluster take turns by
 * themselves.
 */
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "model/tensor.h"

struct step_body {
    struct cpu_cta *cta;
    bool progress;
};

static void step_body(void *arg)
{
    struct step_body *body = arg;
    struct cpu_cta *cta = body->cta;

    if (cta->code->run_cta) {
        cta->code->run_cta(&cta->cta);
        cta->remaining = 0;
        body->progress = true;
    } else if (cta->code->form == JIT_INTERP) {
        body->progress = cpu_inplace_step(cta);
    } else {
        body->progress = cpu_cta_step(cta);
    }
    if (!cta->remaining) {
        /*
         * Whatever allocates tensor memory may wait for some, so its CTAs are residents or in
         * clusters.
         */
        const struct ir_tensor_memory *memory = cta->cta.tensor;

        if (memory && ir_tensor_columns_left(memory))
            cpu_guard_blame(HD_TRAP, 0, &(struct cpu_blame){.reason = IR_TENSOR_LEFT});
    }
}

/* The first of those that wait, for a message. */
static struct cpu_cta *first_waiting(struct cpu_cta *cta)
{
    uint32_t r = 0;

    if (!cpu_cta_has_peers(cta))
        return cta;
    while (r + 1 < cta->cluster->nctas && !cta->cluster->ctas[r]->remaining)
        r++;
    return cta->cluster->ctas[r];
}

/* Has the launch only waited for as long as HEDDLE_WATCHDOG allows? Then it has been ended. */
static bool is_stuck(struct cpu_cta *cta)
{
    struct cpu_guard guard = {.cta = first_waiting(cta), .status = HD_TIMEOUT};

    if (!hal_watchdog_bites(&cta->dog, atomic_load(&cta->job->moved),
                            cta->job->domain->base.device->patience_ns))
        return false;
    cpu_fault_report(&guard, cta->job);
    return true;
}

/* One turn of one CTA; false: it has been ended, and the job with it. */
static bool cta_turn(struct cpu_cta *cta, bool *progress)
{
    struct step_body body = {.cta = cta};
    struct cpu_job *job = cta->job;

    /* Another CTA of this context has faulted: this one may wait for it forever. */
    if (hal_domain_status(&job->domain->base) != HD_OK ||
        !cpu_guarded(step_body, &body, job, cta)) {
        cpu_job_end(job);
        return false;
    }
    *progress |= body.progress;
    return true;
}

/* Those of a cluster take turns; *out_left: how many have not ended. */
static bool all_turn(struct cpu_cta *cta, bool *progress, uint32_t *out_left)
{
    uint32_t n = cpu_cta_has_peers(cta) ? cta->cluster->nctas : 1;

    *out_left = 0;
    for (uint32_t r = 0; r < n; r++) {
        struct cpu_cta *one = n > 1 ? cta->cluster->ctas[r] : cta;
        if ((one->remaining || n == 1) && !cta_turn(one, progress))
            return false;
        *out_left += one->remaining != 0;
    }
    return true;
}

bool cpu_resident_turn(struct cpu_cta *cta, bool *progress)
{
    bool moved = false;
    uint32_t left;

    if (!all_turn(cta, &moved, &left))
        return true;
    *progress |= moved;
    if (moved)
        cpu_job_moved(cta->job);
    else if (HD_UNLIKELY(is_stuck(cta)))
        return true;
    return !left;
}

bool cpu_cluster_run(struct cpu_cluster *cluster)
{
    struct cpu_guard guard = {.status = HD_TIMEOUT};
    uint32_t left;
    bool moved;

    do {
        moved = false;
        if (!all_turn(cluster->ctas[0], &moved, &left))
            return false;
    } while (left && moved);
    if (!left)
        return true;
    guard.cta = first_waiting(cluster->ctas[0]);
    cpu_fault_report(&guard, guard.cta->job);
    return false;
}
