/* Slots, the rights to run CTAs, and how those who could take one are woken. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dev/cpu/device.h"

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

void cpu_bell_wait(struct cpu_worker *worker, uint32_t seen, uint64_t timeout_ns)
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
bool cpu_bell_wake_one(struct cpu_device *dev)
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
        (void)cpu_bell_wake_one(dev);
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

bool cpu_slot_is_free(struct cpu_device *dev)
{
    for (unsigned i = 0; i < dev->nslots; i++)
        if (!atomic_load_explicit(&dev->slots[i].busy, memory_order_relaxed))
            return true;
    return false;
}

void cpu_wake_more(struct cpu_device *dev)
{
    if (atomic_load(&dev->sleepers) && cpu_slot_is_free(dev)) {
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
