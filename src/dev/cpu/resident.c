/*
 * CTAs that may wait for other CTAs, other kernels or the host. A worker keeps several of them, of
 * any queues, and runs each warp once in turn: no host stack is held across a stop, so one that
 * only polls never keeps others from running.
 */
#include "dev/cpu/device.h"
#include "dev/cpu/fault.h"

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

bool cpu_resident_take(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct cpu_job *job = &queue->job;
    uint32_t max = job->form.code->form == JIT_INTERP ? CPU_MAX_INPLACE : CPU_MAX_RESIDENT;
    struct cpu_cta *cta;
    uint64_t index;

    assert(atomic_load(&queue->state) & CPU_QUEUE_ACTIVE && atomic_load(&job->spins));
    if (slot->nresidents >= max && !job->cooperative)
        return false;
    cta = block_take(slot, job->form.layout.end);
    if (!cta) {
        hal_domain_fail(&job->domain->base, HD_NO_MEMORY, 0, NULL, "out of host memory for a CTA");
        atomic_store(&job->next, atomic_load(&job->total));
        return false;
    }
    index = atomic_fetch_add(&job->next, 1);
    if (index >= atomic_load(&job->total)) {
        block_give(slot, cta);
        return false;
    }
    cpu_cta_start(cta, job, &job->form, slot->index, index);
    cta->queue = queue;
    cta->next = slot->residents;
    slot->residents = cta;
    slot->nresidents++;
    return true;
}

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
}

/* True when the CTA is over, one way or another. */
static bool resident_step(struct cpu_cta *cta, bool *progress)
{
    struct step_body body = {.cta = cta};
    struct cpu_job *job = cta->job;

    assert(job == &cta->queue->job);
    /* Another CTA of this context has faulted: this one may wait for it forever. */
    if (hal_domain_status(&job->domain->base) != HD_OK ||
        !cpu_guarded(step_body, &body, job, cta)) {
        atomic_store(&job->next, atomic_load(&job->total));
        return true;
    }
    *progress |= body.progress;
    return cta->remaining == 0;
}

bool cpu_residents_step(struct cpu_slot *slot)
{
    struct cpu_cta **link = &slot->residents;
    bool progress = false;

    while (*link) {
        struct cpu_cta *cta = *link;
        struct cpu_queue *queue = cta->queue;

        if (!resident_step(cta, &progress)) {
            link = &cta->next;
            continue;
        }
        progress = true;
        assert(slot->nresidents > 0);
        *link = cta->next;
        slot->nresidents--;
        block_give(slot, cta);
        cpu_work_leave(queue, slot);
        /* The list may have got new heads meanwhile, never lost entries: start over. */
        link = &slot->residents;
    }
    return progress;
}
