/* Workers: finding work, spinning, sleeping; slots. */
#include <sched.h>

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault.h"

void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void cpu_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ns == UINT64_MAX ? NULL : &timeout,
            NULL, 0);
}

void cpu_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* ---- the bell */

/* Whom a wake-up means: a worker is known by its CPU, modulo 32; one that is not pinned by all. */
static uint32_t cpu_bit(int cpu)
{
    return cpu < 0 ? FUTEX_BITSET_MATCH_ANY : 1u << (cpu & 31);
}

static void bell_wait(struct cpu_worker *worker, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t end_ns = timeout_ns == UINT64_MAX ? 0 : hal_time_ns() + timeout_ns;
    struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};

    syscall(SYS_futex, &worker->device->bell, FUTEX_WAIT_BITSET_PRIVATE, seen, end_ns ? &end : NULL,
            NULL, cpu_bit(worker->cpu));
}

/*
 * One sleeper, of another CPU than this one if there is any: who rings goes on here, or works, and
 * the kernel would leave the two on one CPU until its next tick. False: nobody slept.
 */
static bool bell_wake_one(struct cpu_device *dev)
{
    int here = sched_getcpu();
    uint32_t elsewhere = here < 0 ? FUTEX_BITSET_MATCH_ANY : ~cpu_bit(here);

    return syscall(SYS_futex, &dev->bell, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, elsewhere) >
               0 ||
           syscall(SYS_futex, &dev->bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) > 0;
}

/* One of them will do, unless a queue is limited: then not everybody may run what has come. */
static void bell_wake(struct cpu_device *dev)
{
    if (atomic_load(&dev->base.has_limited))
        cpu_futex_wake(&dev->bell, INT32_MAX);
    else
        (void)bell_wake_one(dev);
}

void cpu_ring_spinners(struct cpu_device *dev)
{
    atomic_store_explicit(&dev->rang_on, sched_getcpu(), memory_order_relaxed);
    atomic_fetch_add(&dev->bell, 1);
}

void cpu_ring(struct cpu_device *dev)
{
    bool all = atomic_load(&dev->base.has_limited);

    cpu_ring_spinners(dev);
    if ((all || !atomic_load(&dev->spinning)) && atomic_load(&dev->sleepers))
        bell_wake(dev);
}

static bool slot_is_free(struct cpu_device *dev)
{
    for (unsigned i = 0; i < dev->nslots; i++)
        if (!atomic_load_explicit(&dev->slots[i].busy, memory_order_relaxed))
            return true;
    return false;
}

void cpu_wake_more(struct cpu_device *dev)
{
    if (atomic_load(&dev->sleepers) && slot_is_free(dev)) {
        atomic_fetch_add(&dev->bell, 1);
        bell_wake(dev);
    }
}

static int thread_id(void)
{
    static __thread int tid;

    if (HD_UNLIKELY(!tid))
        tid = (int)syscall(SYS_gettid);
    return tid;
}

static bool slot_try(struct cpu_slot *slot)
{
    if (atomic_load_explicit(&slot->busy, memory_order_relaxed) ||
        atomic_exchange_explicit(&slot->busy, true, memory_order_acquire))
        return false;
    atomic_store_explicit(&slot->tid, thread_id(), memory_order_relaxed);
    return true;
}

struct cpu_slot *cpu_slot_take(struct cpu_device *dev, unsigned preferred)
{
    assert(preferred < dev->nslots);
    for (unsigned i = 0; i < dev->nslots; i++) {
        unsigned at = preferred + i < dev->nslots ? preferred + i : preferred + i - dev->nslots;

        if (slot_try(&dev->slots[at]))
            return &dev->slots[at];
    }
    return NULL;
}

struct cpu_slot *cpu_slot_take_for(const struct cpu_queue *queue)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);

    if (HD_LIKELY(!atomic_load_explicit(&queue->base.is_limited, memory_order_relaxed)))
        return cpu_slot_take(dev, dev->nslots - 1);
    for (unsigned i = dev->nslots; i-- > 0;)
        if (cpu_slot_may(&dev->slots[i], queue) && slot_try(&dev->slots[i]))
            return &dev->slots[i];
    return NULL;
}

/* The SMs that live in a slot: [first, end), one at least. */
static uint32_t slot_sms(const struct cpu_slot *slot, uint32_t *out_end)
{
    uint64_t nslots = slot->device->nslots, nsms = slot->device->base.nsms;
    uint64_t first = slot->index * nsms, end = first + nsms;

    if (!nsms || nsms == nslots) {
        *out_end = slot->index + 1;
        return slot->index;
    }
    first = nsms < nslots ? first / nslots : (first + nslots - 1) / nslots;
    end = nsms < nslots ? first + 1 : (end + nslots - 1) / nslots;
    assert(first < end && end <= nsms);
    *out_end = (uint32_t)end;
    return (uint32_t)first;
}

uint32_t cpu_slot_nsms(const struct cpu_slot *slot)
{
    uint32_t end, first = slot_sms(slot, &end);

    return end - first;
}

bool cpu_slot_may(const struct cpu_slot *slot, const struct cpu_queue *queue)
{
    uint32_t end, sm;

    if (HD_LIKELY(!atomic_load_explicit(&queue->base.is_limited, memory_order_relaxed)))
        return true;
    for (sm = slot_sms(slot, &end); sm < end; sm++)
        if (hal_queue_has_sm(&queue->base, sm))
            return true;
    return false;
}

uint32_t cpu_slot_sm(const struct cpu_slot *slot, const struct cpu_queue *queue)
{
    uint32_t end, first = slot_sms(slot, &end), sm = first;

    if (HD_LIKELY(!atomic_load_explicit(&queue->base.is_limited, memory_order_relaxed)))
        return first;
    while (sm < end && !hal_queue_has_sm(&queue->base, sm))
        sm++;
    assert(sm < end);
    return sm;
}

void cpu_slot_give(struct cpu_slot *slot)
{
    assert(atomic_load_explicit(&slot->busy, memory_order_relaxed) && !slot->nresidents);
    slot->stop_sem = NULL;
    atomic_store_explicit(&slot->busy, false, memory_order_release);
}

bool cpu_anything_pending(struct cpu_device *dev)
{
    uint32_t count = atomic_load(&dev->nqueues);

    for (uint32_t i = 0; i < count; i++) {
        struct cpu_queue *queue = atomic_load_explicit(&dev->queues[i], memory_order_acquire);
        uint64_t state = atomic_load(&queue->state);

        if (state == CPU_QUEUE_IDLE && atomic_load(&queue->pending))
            return true;
        if (state & CPU_QUEUE_ACTIVE && !cpu_job_exhausted(&queue->job))
            return true;
    }
    return false;
}

void cpu_slot_give_ring(struct cpu_slot *slot)
{
    struct cpu_device *dev = slot->device;

    cpu_slot_give(slot);
    if (HD_UNLIKELY(atomic_load_explicit(&dev->starved, memory_order_relaxed))) {
        atomic_store(&dev->starved, false);
        cpu_ring(dev);
    }
}

static void run_metered(struct cpu_queue *queue, struct cpu_slot *slot)
{
    const struct hal_meter *meter = queue->base.device->client.meter;
    void *launch = queue->job.metered;

    meter->enter(launch);
    queue->job.run(&queue->job, slot);
    meter->leave(launch);
}

void cpu_work_on(struct cpu_queue *queue, struct cpu_slot *slot)
{
    do {
        bool is_copy = !queue->job.form.code;

        if (is_copy)
            hal_serial_enter();
        if (HD_UNLIKELY(queue->job.metered != NULL))
            run_metered(queue, slot);
        else
            queue->job.run(&queue->job, slot);
        if (is_copy)
            hal_serial_leave();
    } while (cpu_queue_leave(queue) && cpu_queue_advance(queue, slot));
}

void cpu_work_leave(struct cpu_queue *queue, struct cpu_slot *slot)
{
    if (cpu_queue_leave(queue) && cpu_queue_advance(queue, slot))
        cpu_work_on(queue, slot);
}

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

/* Looks at other work while the residents wait; in proportion to them more become residents, so
 * that a thousand do not cost a round of all for each. */
static bool work_beside_residents(struct cpu_device *dev, struct cpu_slot *slot)
{
    uint32_t most = slot->nresidents + 1 + slot->nresidents / 8, before;
    bool worked = false;

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
        bell_wait(worker, seen, timeout_ns);
    atomic_fetch_sub(&dev->sleepers, 1);
}

/* Is the CPU better left to who rang, because a worker that slept on another one comes instead? */
static bool worker_steps_aside(struct cpu_worker *worker)
{
    struct cpu_device *dev = worker->device;

    return worker->cpu >= 0 && !atomic_load(&dev->base.has_limited) &&
           worker->cpu == atomic_load_explicit(&dev->rang_on, memory_order_relaxed) &&
           atomic_load(&dev->sleepers) && bell_wake_one(dev);
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
            cpu_anything_pending(dev) && slot_is_free(dev))
            (void)bell_wake_one(dev);
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
