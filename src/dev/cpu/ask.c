/*
 * Somebody outside asks what runs, and who waits for what (hal_device_ops.report).
 *
 * CTAs belong to the workers that hold them, and nothing in them is atomic. So a question is a
 * number that workers see between two turns; whoever has CTAs that wait is back there soon, because
 * each turn ends when all of them wait. Jobs are looked at by becoming a user of them, which keeps
 * them from ending.
 */
#include "dev/cpu/device.h"

#include <time.h>

#include "base/mem.h"
#include "dev/cpu/fault.h"
#include "dev/cpu/kernel.h"

enum {
    PATIENCE_NS = 300000000, /* for workers that are in code that does not wait */
    NAP_NS = 1000000,
    ANSWERS_MAX = 64, /* different ones */
};

/* What CTAs of a launch say. */
struct answer {
    const struct cpu_job *job;
    uint64_t grid_id;
    uint32_t ctaid[3]; /* of the first one */
    uint32_t count;
    char *what;
};

struct cpu_answers {
    struct answer at[ANSWERS_MAX];
    size_t len;
};

/* ---- workers */

static void answer_add_locked(struct cpu_answers *a, const struct cpu_cta *cta, const char *what)
{
    const struct cpu_job *job = cta->job;
    uint64_t grid_id = job->launch.grid_id;

    for (size_t i = 0; i < a->len; i++) {
        struct answer *old = &a->at[i];
        if (old->job != job || old->grid_id != grid_id || strcmp(old->what, what) != 0)
            continue;
        old->count++;
        return;
    }
    if (a->len == ANSWERS_MAX)
        return;
    char *copy = hd_strdup(what);
    if (copy)
        a->at[a->len++] =
            (struct answer){.job = job,
                            .grid_id = grid_id,
                            .ctaid = {cta->cta.ctaid[0], cta->cta.ctaid[1], cta->cta.ctaid[2]},
                            .count = 1,
                            .what = copy};
}

/* Nothing: it has ended, or cannot stop in the middle. */
static void cta_print(const struct cpu_cta *cta, struct hd_buf *out)
{
    if (!cta->remaining || cta->code->run_cta)
        return;
    if (cta->code->form == JIT_INTERP)
        cpu_inplace_print_waiters(cta, out);
    else
        cpu_print_waiters(cta, out);
}

static void cta_answer_locked(struct cpu_answers *a, const struct cpu_cta *cta)
{
    struct hd_buf text;

    hd_buf_init(&text);
    cta_print(cta, &text);
    if (text.len)
        answer_add_locked(a, cta, text.ptr + (text.ptr[0] == ':' ? 2 : 0));
    hd_buf_fini(&text);
}

static void resident_answer_locked(struct cpu_answers *a, const struct cpu_cta *cta)
{
    if (!cpu_cta_has_peers(cta)) {
        cta_answer_locked(a, cta);
        return;
    }
    for (uint32_t r = 0; r < cta->cluster->nctas; r++)
        cta_answer_locked(a, cta->cluster->ctas[r]);
}

void cpu_ask_answer(struct cpu_slot *slot)
{
    struct cpu_device *dev = slot->device;

    hd_lock_acquire(&dev->answers_lock);
    uint32_t asked = atomic_load(&dev->asked);
    for (struct cpu_cta *cta = slot->residents; dev->answers && cta; cta = cta->next)
        resident_answer_locked(dev->answers, cta);
    atomic_store(&slot->answered, asked);
    hd_lock_release(&dev->answers_lock);
}

/* ---- who asks */

static bool all_answered(struct cpu_device *dev)
{
    uint32_t asked = atomic_load(&dev->asked);

    for (unsigned i = 0; i < dev->nslots; i++)
        if (atomic_load(&dev->slots[i].busy) && atomic_load(&dev->slots[i].answered) != asked)
            return false;
    return true;
}

static void answers_collect(struct cpu_device *dev, struct cpu_answers *answers)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t end_ns = hal_time_ns() + PATIENCE_NS;

    hd_lock_acquire(&dev->answers_lock);
    dev->answers = answers;
    atomic_fetch_add(&dev->asked, 1);
    hd_lock_release(&dev->answers_lock);
    while (!all_answered(dev) && hal_time_ns() < end_ns)
        nanosleep(&nap, NULL);
    hd_lock_acquire(&dev->answers_lock);
    dev->answers = NULL;
    hd_lock_release(&dev->answers_lock);
}

/* Threads that execute the queue's job; the caller is a user of it, and is none of them. */
static uint32_t threads_of(const struct cpu_queue *queue)
{
    return (uint32_t)atomic_load_explicit(&queue->state, memory_order_relaxed) - 1;
}

/* A user of the job. */
static void job_tell(const struct cpu_device *dev, const struct cpu_queue *queue,
                     const struct cpu_answers *answers, hal_tell_running *tell, void *arg)
{
    const struct cpu_job *job = &queue->job;
    const struct jit_launch *l = &job->launch;
    struct hal_waiting waits[ANSWERS_MAX];
    struct hal_running running = {
        .kernel = job->name,
        .domain = queue->base.domain,
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .grid_id = l->grid_id,
        .running_ns = hal_time_ns() - job->published_ns,
        .blocks = atomic_load(&job->total) * l->cluster_ctas,
        .begun = cpu_job_begun(job) * l->cluster_ctas,
        .threads = HD_MIN(threads_of(queue), dev->nslots),
        .of = dev->nslots,
        .waits = waits,
    };

    for (size_t i = 0; i < answers->len; i++) {
        const struct answer *a = &answers->at[i];
        if (a->job == job && a->grid_id == l->grid_id)
            waits[running.nwaits++] =
                (struct hal_waiting){{a->ctaid[0], a->ctaid[1], a->ctaid[2]}, a->count, a->what};
    }
    tell(arg, &running);
}

static void jobs_tell(struct cpu_device *dev, const struct cpu_answers *answers,
                      hal_tell_running *tell, void *arg)
{
    uint32_t count = atomic_load(&dev->nqueues);

    for (uint32_t i = 0; i < count; i++) {
        struct cpu_queue *queue = atomic_load_explicit(&dev->queues[i], memory_order_acquire);
        if (!cpu_queue_hold(queue))
            continue;
        if (queue->job.form.code)
            job_tell(dev, queue, answers, tell, arg);
        /* We were the last one: what follows in the queue is begun for others to go on. */
        if (cpu_queue_leave(queue))
            (void)cpu_queue_advance(queue, NULL);
    }
}

void cpu_device_report(struct hal_device *device, hal_tell_running *tell, void *arg)
{
    struct cpu_device *dev = cpu_device_of(device);
    struct cpu_answers answers = {.len = 0};

    cpu_fault_thread_init(); /* a copy may follow in a queue */
    answers_collect(dev, &answers);
    jobs_tell(dev, &answers, tell, arg);
    for (size_t i = 0; i < answers.len; i++)
        hd_free(answers.at[i].what);
}
