/*
 * Somebody outside asks what runs, and who waits for what (hal_device_ops.report).
 *
 * CTAs belong to the workers that hold them, and nothing in them is atomic. So a question is a
 * number that workers see between two turns; whoever has CTAs that wait is back there soon, because
 * each turn ends when all of them wait. Jobs are looked at by becoming a user of them, which keeps
 * them from ending; those that their owner runs unpublished by reading what is there (queue.h,
 * `here`). That is done before workers are waited for: one of them may answer only when its kernel
 * has ended.
 */
#include "dev/cpu/device.h"

#include <time.h>

#include "base/mem.h"
#include "base/vec.h"
#include "dev/cpu/fault/fault.h"
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

static void ask_answer_add_locked(struct cpu_answers *a, const struct cpu_cta *cta,
                                  const char *what)
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

static void ask_cta_answer_locked(struct cpu_answers *a, const struct cpu_cta *cta)
{
    struct hd_buf text;

    hd_buf_init(&text);
    /* Nothing: it has ended, or cannot stop in the middle. */
    if (cta->remaining && !cta->code->run_cta) {
        if (cta->code->form == JIT_INTERP)
            cpu_inplace_print_waiters(cta, &text);
        else
            cpu_print_waiters(cta, &text);
    }
    if (text.len)
        ask_answer_add_locked(a, cta, text.ptr + (text.ptr[0] == ':' ? 2 : 0));
    hd_buf_fini(&text);
}

void cpu_ask_answer(struct cpu_slot *slot)
{
    struct cpu_device *dev = slot->device;

    hd_lock_acquire(&dev->answers_lock);
    uint32_t asked = atomic_load(&dev->asked);
    for (struct cpu_cta *cta = slot->residents; dev->answers && cta; cta = cta->next) {
        if (!cpu_cta_has_peers(cta)) {
            ask_cta_answer_locked(dev->answers, cta);
            continue;
        }
        for (uint32_t r = 0; r < cta->cluster->nctas; r++)
            ask_cta_answer_locked(dev->answers, cta->cluster->ctas[r]);
    }
    atomic_store(&slot->answered, asked);
    hd_lock_release(&dev->answers_lock);
}

/* ---- who asks */

static bool ask_all_answered(struct cpu_device *dev)
{
    uint32_t asked = atomic_load(&dev->asked);

    for (unsigned i = 0; i < dev->nslots; i++)
        if (atomic_load(&dev->slots[i].busy) && atomic_load(&dev->slots[i].answered) != asked)
            return false;
    return true;
}

/* ---- what runs */

/* A kernel that ran when the question came: it may have ended when the answers have. */
struct look {
    struct hal_running running; /* without what its blocks wait for */
    const struct cpu_job *job;
    bool spins;
    char *kernel; /* a copy, for then */
};

struct looks {
    HD_VEC(struct look) all;
    bool spins; /* one of them does: then CTAs wait at workers */
};

/* Looks at an unpublished job that begins and ends all the time. */
enum { HERE_TRIES = 1000 };

/* Without times and threads. A job that is not held may change meanwhile: ask_look_here() finds
 * out. */
CPU_READS_ANYTHING static void ask_look_read(const struct cpu_queue *queue, struct look *out)
{
    const struct cpu_job *job = &queue->job;
    const struct jit_launch *l = &job->launch;
    struct hal_running *r = &out->running;

    out->job = job;
    out->spins = atomic_load(&job->spins) && !job->native;
    r->kernel = job->name;
    r->domain = queue->base.domain;
    for (int i = 0; i < 3; i++) {
        r->grid[i] = l->grid[i];
        r->block[i] = l->block[i];
    }
    r->grid_id = l->grid_id;
    r->blocks = atomic_load(&job->total) * l->cluster_ctas;
}

static void ask_looks_add(struct looks *looks, struct look *look)
{
    look->kernel = hd_strdup(look->running.kernel);
    if (!look->kernel || !hd_vec_push(&looks->all, *look)) {
        hd_free(look->kernel);
        return;
    }
    looks->spins |= look->spins;
}

/*
 * The owner of the queue may run a job that it has not published. Kernels are withdrawn under the
 * lock of their table before they are freed, and that one is not while it runs: so who finds it
 * running with the lock held may read its name.
 */
static bool ask_look_here_locked(const struct cpu_device *dev, struct cpu_queue *queue,
                                 struct looks *looks)
{
    uint64_t here = atomic_load_explicit(&queue->here, memory_order_acquire);
    struct look look = {.running = {.threads = 1, .of = dev->nslots}};

    if (!(here & 1))
        return false;
    ask_look_read(queue, &look);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&queue->here, memory_order_relaxed) != here)
        return false;
    if (queue->seen_here != here) {
        queue->seen_here = here;
        queue->seen_ns = hal_time_ns();
    }
    look.running.running_ns = hal_time_ns() - queue->seen_ns;
    look.running.begun = look.running.blocks;
    ask_looks_add(looks, &look);
    return true;
}

static void ask_look_here(struct cpu_device *dev, struct cpu_queue *queue, struct looks *looks)
{
    struct hd_lock *lock = &dev->base.kernels.lock;
    bool found = false;

    for (int i = 0; !found && i < HERE_TRIES; i++) {
        if (atomic_load_explicit(&queue->state, memory_order_relaxed) != CPU_QUEUE_OWNED)
            break;
        hd_lock_acquire(lock);
        found = ask_look_here_locked(dev, queue, looks);
        hd_lock_release(lock);
    }
}

static void ask_looks_take(struct cpu_device *dev, struct looks *looks)
{
    uint32_t count = atomic_load(&dev->nqueues);

    for (uint32_t i = 0; i < count; i++) {
        struct cpu_queue *queue = atomic_load_explicit(&dev->queues[i], memory_order_acquire);
        if (!cpu_queue_hold(queue)) {
            ask_look_here(dev, queue, looks);
            continue;
        }
        if (queue->job.form.code) {
            /*
             * Published, and the caller is a user of it; it is none of the threads that execute it.
             */
            uint32_t users = (uint32_t)atomic_load_explicit(&queue->state, memory_order_relaxed);
            struct look look = {.running.of = dev->nslots};

            ask_look_read(queue, &look);
            look.running.running_ns = hal_time_ns() - queue->job.published_ns;
            look.running.begun = cpu_job_begun(&queue->job) * queue->job.launch.cluster_ctas;
            look.running.threads = HD_MIN(users - 1, dev->nslots);
            ask_looks_add(looks, &look);
        }
        /* We were the last one: what follows in the queue is begun for others to go on. */
        if (cpu_queue_leave(queue))
            (void)cpu_queue_advance(queue, NULL);
    }
}

static bool ask_domain_lives_locked(const struct cpu_device *dev, const struct hal_domain *domain)
{
    for (const struct hal_domain *d = dev->base.domains; d; d = d->next)
        if (d == domain)
            return true;
    return false;
}

static void ask_look_notify(struct look *look, const struct cpu_answers *answers,
                            hal_notify_running *notify, void *arg)
{
    struct hal_waiting waits[ANSWERS_MAX];

    look->running.kernel = look->kernel;
    look->running.waits = waits;
    for (size_t i = 0; i < answers->len; i++) {
        const struct answer *a = &answers->at[i];
        if (a->job == look->job && a->grid_id == look->running.grid_id)
            waits[look->running.nwaits++] =
                (struct hal_waiting){{a->ctaid[0], a->ctaid[1], a->ctaid[2]}, a->count, a->what};
    }
    notify(arg, &look->running);
}

void cpu_device_report(struct hal_device *device, hal_notify_running *notify, void *arg)
{
    struct cpu_device *dev = cpu_device_of(device);
    struct cpu_answers answers = {.len = 0};
    struct looks looks = {.spins = false};

    cpu_fault_thread_init(); /* a copy may follow in a queue */
    ask_looks_take(dev, &looks);
    if (looks.spins) {
        const struct timespec nap = {.tv_nsec = NAP_NS};
        uint64_t end_ns = hal_time_ns() + PATIENCE_NS;

        hd_lock_acquire(&dev->answers_lock);
        dev->answers = &answers;
        atomic_fetch_add(&dev->asked, 1);
        hd_lock_release(&dev->answers_lock);
        while (!ask_all_answered(dev) && hal_time_ns() < end_ns)
            nanosleep(&nap, NULL);
        hd_lock_acquire(&dev->answers_lock);
        dev->answers = NULL;
        hd_lock_release(&dev->answers_lock);
    }
    hd_lock_acquire(&device->domains_lock);
    for (size_t i = 0; i < looks.all.len; i++) {
        struct look *look = &looks.all.at[i];
        if (ask_domain_lives_locked(dev, look->running.domain))
            ask_look_notify(look, &answers, notify, arg);
        hd_free(look->kernel);
    }
    hd_lock_release(&device->domains_lock);
    hd_vec_fini(&looks.all);
    for (size_t i = 0; i < answers.len; i++)
        hd_free(answers.at[i].what);
}
