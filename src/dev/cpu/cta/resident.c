/*
 * CTAs that may wait for other CTAs, other kernels or the host. A worker keeps several of them, of
 * any queues, which take turns (turn.c).
 */
#include "dev/cpu/device.h"

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

void cpu_resident_start(struct cpu_cta *cta, struct cpu_job *job, uint32_t sm, uint64_t index)
{
    if (cpu_cta_has_peers(cta)) {
        cpu_cluster_start(cta->cluster, job, &job->form, sm, index);
        return;
    }
    cpu_cta_start(cta, job, &job->form, sm, index);
    if (HD_UNLIKELY(job->watch))
        cpu_watch_cta_begin(cta);
}

bool cpu_resident_take(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct cpu_job *job = &queue->job;
    struct cpu_cta *cta;
    uint64_t index;
    uint32_t sm;

    assert(atomic_load(&queue->state) & CPU_QUEUE_ACTIVE && atomic_load(&job->spins));
    /*
     * All that fit on the reported multiprocessors may wait for each other, so no slot stops before
     * it has its share of them.
     */
    const struct jit_launch *launch = &job->launch;
    uint64_t max = hal_sms_hold(cpu_slot_nsms(slot), 32 * launch->nwarps, launch->shared_B);
    max = job->form.code->may_wait ? HD_MAX(max, CPU_MAX_RESIDENT) : CPU_MAX_INPLACE;
    if (!job->cooperative && slot->nresidents >= HD_MAX(max / launch->cluster_ctas, 1u))
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
