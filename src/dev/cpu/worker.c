/* Workers: finding work, spinning, sleeping. */
#include <errno.h>
#include <sched.h>

#include "base/log.h"
#include "base/thread.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"

static bool work_on_job(struct cpu_queue *queue, struct cpu_slot *slot, bool worker)
{
    if (!worker && atomic_load_explicit(&queue->job.spins, memory_order_relaxed))
        return false;
    if (!cpu_slot_may(slot, queue) || !cpu_queue_join(queue))
        return false;
    if (HD_UNLIKELY(!cpu_slot_may(slot, queue))) { /* the queue got another limit meanwhile */
        cpu_work_leave(queue, slot);
        return false;
    }
    if (!atomic_load(&queue->job.spins) || queue->job.in_schedule || queue->job.native) {
        cpu_work_on(queue, slot);
        return true;
    }
    if (worker && cpu_resident_take(queue, slot))
        return true;
    cpu_work_leave(queue, slot);
    return false;
}

/* One look at one queue. */
static bool work_on_queue(struct cpu_queue *queue, struct cpu_slot *slot, bool worker)
{
    if (atomic_load_explicit(&queue->state, memory_order_relaxed) & CPU_QUEUE_ACTIVE)
        return work_on_job(queue, slot, worker);
    if (!atomic_load(&queue->pending) && !atomic_load(&queue->blocked))
        return false;
    if (!cpu_queue_own(queue))
        return false;
    if (!atomic_load(&queue->pending) && !atomic_load(&queue->blocked)) {
        atomic_store(&queue->state, CPU_QUEUE_IDLE);
        return false;
    }
    if (cpu_queue_advance(queue, slot))
        cpu_work_on(queue, slot);
    /* A queue that is still blocked was no work. */
    return !atomic_load(&queue->blocked);
}

/* One look at all queues of a level. */
static bool work_on_level(struct cpu_slot *slot, uint32_t level, bool worker)
{
    struct cpu_device *dev = slot->device;
    uint32_t count = atomic_load(&dev->nqueues);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (i + slot->index) % count;
        struct cpu_queue *queue = atomic_load_explicit(&dev->queues[at], memory_order_acquire);

        if (atomic_load_explicit(&queue->level, memory_order_relaxed) == level &&
            work_on_queue(queue, slot, worker))
            return true;
    }
    return false;
}

/* The most urgent level first; most programs use one. */
bool cpu_work_once(struct cpu_device *dev, struct cpu_slot *slot, bool worker)
{
    uint32_t levels = atomic_load_explicit(&dev->levels, memory_order_relaxed);

    assert(slot->device == dev && atomic_load_explicit(&slot->busy, memory_order_relaxed));
    while (levels) {
        uint32_t level = 31u - (uint32_t)__builtin_clz(levels);

        if (work_on_level(slot, level, worker))
            return true;
        levels &= ~(1u << level);
    }
    return false;
}

/* NULL: all are taken, and who gives one back is asked to ring. */
static struct cpu_slot *worker_slot(struct cpu_worker *worker)
{
    struct cpu_device *dev = worker->device;
    struct cpu_slot *slot = cpu_slot_take(dev, worker->index);

    if (slot)
        return slot;
    atomic_store(&dev->starved, true);
    return cpu_slot_take(dev, worker->index);
}

/* CTAs that poll between barriers get on for ever, and may wait for work that has not begun: every
 * so many turns other work is looked at, whatever they do. */
enum { TURNS_ALONE = 64 };

/* Looks at other work while the residents wait. Beyond the usual number more become residents in
 * proportion to them, so that a thousand do not cost a round of all for each; up to it one at a
 * time: those that are there have what the next one waits for, as a rule. */
static bool work_beside_residents(struct cpu_device *dev, struct cpu_slot *slot)
{
    uint32_t most = slot->nresidents + 1, before;
    bool worked = false;

    if (slot->nresidents >= CPU_MAX_RESIDENT)
        most += slot->nresidents / 8;
    do {
        before = slot->nresidents;
        worked |= cpu_work_once(dev, slot, true);
    } while (slot->nresidents > before && slot->nresidents < most);
    return worked;
}

/* Works until nothing is found. Returns whether something was. */
static bool worker_work(struct cpu_worker *worker)
{
    struct cpu_device *dev = worker->device;
    struct cpu_slot *slot = worker_slot(worker);
    bool any = false;
    unsigned idle_rounds = 0, turns = 0;

    if (!slot)
        return false;
    while (!atomic_load(&dev->stopping) || slot->nresidents) {
        bool worked = slot->nresidents && cpu_residents_step(slot);

        cpu_ask_look(slot);
        if (!worked || ++turns % TURNS_ALONE == 0)
            worked |= work_beside_residents(dev, slot);
        any |= worked;
        if (worked)
            idle_rounds = 0;
        else if (!slot->nresidents)
            break;
        else if (++idle_rounds > 16)
            sched_yield();
        /* While CTAs poll here, other work may be left to others. */
        if (slot->nresidents && (idle_rounds & 63) == 1)
            cpu_wake_more(dev);
    }
    cpu_slot_give(slot);
    return any;
}

/* Spins until the bell rings or the time is over. */
static bool worker_spin(struct cpu_worker *worker, uint32_t seen)
{
    struct cpu_device *dev = worker->device;
    bool last = worker->index + 1 == dev->nslots && dev->nslots > 1;
    uint64_t limit_ns = last ? CPU_COLD_SPIN_NS : CPU_HOT_SPIN_NS;
    uint64_t end_ns;

    if (dev->ncpus < 2)
        return false;
    end_ns = hal_time_ns() + limit_ns;
    for (unsigned i = 1; atomic_load_explicit(&dev->bell, memory_order_relaxed) == seen; i++) {
        cpu_relax();
        /* A program's thread that was put on this CPU must not wait for our time slice. */
        if (i % 64 == 0) {
            if (hal_time_ns() > end_ns || atomic_load(&dev->stopping))
                return false;
            sched_yield();
        }
    }
    return true;
}

static void worker_sleep(struct cpu_worker *worker, uint32_t seen)
{
    struct cpu_device *dev = worker->device;
    uint64_t timeout_ns = UINT64_MAX;

    atomic_fetch_add(&dev->sleepers, 1);
    /*
     * A semaphore in foreign memory changes without our bell. And where work is left because all
     * slots were taken, who gives one back may have missed that we want one: reading `starved` is
     * not ordered with it, which every short launch would pay for.
     */
    if (atomic_load(&dev->blocked) || cpu_anything_pending(dev))
        timeout_ns = CPU_RECHECK_NS;
    if (atomic_load(&dev->bell) == seen && !atomic_load(&dev->stopping))
        cpu_bell_wait(worker, seen, timeout_ns);
    atomic_fetch_sub(&dev->sleepers, 1);
}

/* Is the CPU better left to who rang, because a worker that slept on another one comes instead? */
static bool worker_steps_aside(struct cpu_worker *worker)
{
    struct cpu_device *dev = worker->device;

    return worker->cpu >= 0 && !atomic_load(&dev->base.has_limited) &&
           worker->cpu == atomic_load_explicit(&dev->rang_on, memory_order_relaxed) &&
           atomic_load(&dev->sleepers) && cpu_bell_wake_one(dev);
}

static void worker_idle(struct cpu_worker *worker, uint32_t seen)
{
    struct cpu_device *dev = worker->device;
    uint32_t heard;
    bool rang;

    atomic_fetch_add(&dev->spinning, 1);
    rang = worker_spin(worker, seen);
    heard = atomic_load(&dev->bell);
    atomic_fetch_sub(&dev->spinning, 1);
    if (!rang)
        worker_sleep(worker, seen);
    else if (worker_steps_aside(worker))
        worker_sleep(worker, heard);
}

static void *worker_main(void *arg)
{
    struct cpu_worker *worker = arg;
    struct cpu_device *dev = worker->device;

    cpu_fault_thread_init();
    pthread_setname_np(pthread_self(), "heddle-worker");
    while (!atomic_load(&dev->stopping)) {
        uint32_t seen = atomic_load(&dev->bell);

        if (worker_work(worker))
            continue;
        worker_idle(worker, seen);
        /* We are no spinner any more: what was submitted to another queue needs somebody. */
        if (atomic_load(&dev->sleepers) && !atomic_load(&dev->spinning) &&
            cpu_anything_pending(dev) && cpu_slot_is_free(dev))
            (void)cpu_bell_wake_one(dev);
    }
    return NULL;
}

static void worker_pin(struct cpu_worker *worker, pthread_attr_t *attr)
{
    cpu_set_t one;

    if (worker->cpu < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(worker->cpu, &one);
    pthread_attr_setaffinity_np(attr, sizeof(one), &one);
}

enum hd_status cpu_workers_start(struct cpu_device *dev)
{
    for (unsigned i = 0; i < dev->nslots; i++) {
        struct cpu_worker *worker = &dev->workers[i];
        pthread_attr_t attr;
        int error;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 8u << 20);
        worker_pin(worker, &attr);
        error = hd_thread_create(&worker->thread, &attr, worker_main, worker);
        pthread_attr_destroy(&attr);
        if (error)
            return hd_error(HD_NO_MEMORY, "cannot start worker %u: %s", i, strerror(error));
        worker->started = true;
    }
    return HD_OK;
}

void cpu_workers_stop(struct cpu_device *dev)
{
    atomic_store(&dev->stopping, true);
    atomic_fetch_add(&dev->bell, 1);
    cpu_futex_wake(&dev->bell, INT32_MAX);
    for (unsigned i = 0; dev->workers && i < dev->nslots; i++)
        if (dev->workers[i].started)
            pthread_join(dev->workers[i].thread, NULL);
}
