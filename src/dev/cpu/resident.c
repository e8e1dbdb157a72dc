/*
 * CTAs that may wait for other CTAs, other kernels or the host. A worker keeps several of them, of
 * any queues, and runs each warp once in turn: no host stack is held across a stop, so one that
 * only polls never keeps others from running.
 */
#include "dev/cpu/device.h"
#include "dev/cpu/fault.h"
#include "model/tensor.h"

static struct cpu_cta *block_take(struct cpu_slot *slot, size_t need_B)
{
    struct cpu_cta **link = &slot->free_blocks;

    for (; *link; link = &(*link)->next) {
        struct cpu_cta *cta = *link;
        if (cta->block_B >= need_B && cta->block_B <= 4 * need_B) {
            *link = cta->next;
            return cta;
        }
    }
    return cpu_cta_create(need_B);
}

/* Blocks beyond a few are given back, so that one odd kernel does not hold memory for good. */
static void block_give(struct cpu_slot *slot, struct cpu_cta *cta)
{
    unsigned kept = 0;

    cpu_fibers_release(cta);
    cpu_inplace_release(cta);
    for (struct cpu_cta *it = slot->free_blocks; it; it = it->next)
        kept++;
    if (kept >= CPU_MAX_RESIDENT) {
        cpu_cta_destroy(cta);
        return;
    }
    cta->next = slot->free_blocks;
    slot->free_blocks = cta;
}

struct cpu_cta *cpu_resident_create(struct cpu_slot *slot, struct cpu_job *job)
{
    struct cpu_cluster *cluster;
    struct cpu_cta *cta;

    if (job->launch.cluster_ctas > 1) {
        cluster = cpu_cluster_take(slot, job, &job->form);
        return cluster ? cluster->ctas[0] : NULL;
    }
    cta = block_take(slot, job->form.layout.end);
    if (!cta)
        hal_domain_fail(&job->domain->base, HD_NO_MEMORY, 0, NULL, "out of host memory for a CTA");
    return cta;
}

void cpu_resident_release(struct cpu_slot *slot, struct cpu_cta *cta)
{
    cpu_watch_cta_end(cta);
    if (cpu_cta_has_peers(cta))
        cpu_cluster_give(slot, cta->cluster);
    else
        block_give(slot, cta);
}

static void cta_start(struct cpu_cta *cta, struct cpu_job *job, uint32_t sm, uint64_t index)
{
    cpu_cta_start(cta, job, &job->form, sm, index);
    if (HD_UNLIKELY(job->watch))
        cpu_watch_cta_begin(cta);
}

void cpu_resident_start(struct cpu_cta *cta, struct cpu_job *job, uint32_t sm, uint64_t index)
{
    if (cpu_cta_has_peers(cta))
        cpu_cluster_start(cta->cluster, job, &job->form, sm, index);
    else
        cta_start(cta, job, sm, index);
}

/* All that fit on the reported multiprocessors may wait for each other, so no slot stops before it
 * has its share of them. */
static bool has_room(const struct cpu_slot *slot, const struct cpu_job *job)
{
    const struct jit_launch *launch = &job->launch;
    uint64_t max = hal_sms_hold(cpu_slot_nsms(slot), 32 * launch->nwarps, launch->shared_B);

    max = job->form.code->may_wait ? HD_MAX(max, CPU_MAX_RESIDENT) : CPU_MAX_INPLACE;
    return job->cooperative || slot->nresidents < HD_MAX(max / launch->cluster_ctas, 1u);
}

bool cpu_resident_take(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct cpu_job *job = &queue->job;
    struct cpu_cta *cta;
    uint64_t index;
    uint32_t sm;

    assert(atomic_load(&queue->state) & CPU_QUEUE_ACTIVE && atomic_load(&job->spins));
    if (!has_room(slot, job))
        return false;
    cta = cpu_resident_create(slot, job);
    if (!cta) {
        cpu_job_end(job);
        return false;
    }
    index = atomic_fetch_add(&job->next, 1);
    if (index >= atomic_load(&job->total)) {
        cpu_resident_release(slot, cta);
        return false;
    }
    sm = cpu_slot_sm(slot, queue);
    cpu_resident_start(cta, job, sm, index);
    cta->queue = queue;
    /* Behind those that began before it: it waits for them, if for any. */
    struct cpu_cta **end = &slot->residents;
    while (*end)
        end = &(*end)->next;
    cta->next = NULL;
    *end = cta;
    slot->nresidents++;
    return true;
}

struct step_body {
    struct cpu_cta *cta;
    bool progress;
};

/* Whatever allocates tensor memory may wait for some, so its CTAs are residents or in clusters. */
static void check_left(const struct cpu_cta *cta)
{
    const struct ir_tensor_memory *memory = cta->cta.tensor;

    if (memory && ir_tensor_columns_left(memory))
        cpu_guard_blame(HD_TRAP, 0, &(struct cpu_blame){.reason = IR_TENSOR_LEFT});
}

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
    if (!cta->remaining)
        check_left(cta);
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

bool cpu_residents_step(struct cpu_slot *slot)
{
    struct cpu_cta **link = &slot->residents;
    bool progress = false;

    while (*link) {
        struct cpu_cta *cta = *link;
        struct cpu_queue *queue = cta->queue;

        if (!cpu_resident_turn(cta, &progress)) {
            link = &cta->next;
            continue;
        }
        progress = true;
        assert(slot->nresidents > 0);
        *link = cta->next;
        slot->nresidents--;
        cpu_resident_release(slot, cta);
        cpu_work_leave(queue, slot);
        /* The list may have got new heads meanwhile, never lost entries: start over. */
        link = &slot->residents;
    }
    return progress;
}
