/* Host threads that wait: they help, spin, then sleep. */
#include <sched.h>

#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"

static bool reached(const _Atomic uint64_t *semaphore, uint64_t value)
{
    return atomic_load_explicit(semaphore, memory_order_acquire) >= value;
}

/* Works on whatever the device has until the semaphore is reached or nothing is left to do. */
static void help(struct cpu_device *dev, const _Atomic uint64_t *semaphore, uint64_t value)
{
    struct cpu_slot *slot = cpu_slot_take(dev, dev->nslots - 1);

    if (!slot)
        return;
    cpu_fault_thread_init();
    slot->stop_sem = semaphore;
    slot->stop_value = value;
    while (!reached(semaphore, value) && cpu_work_once(dev, slot, false))
        ;
    cpu_slot_give_ring(slot);
    /* What it has left in the midst is for others, who slept while there was nothing for them. */
    if (reached(semaphore, value) && cpu_anything_pending(dev))
        cpu_ring(dev);
}

enum hd_status cpu_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                        uint64_t value, uint64_t timeout_ns)
{
    struct cpu_device *dev = cpu_device_of(device);
    uint64_t start_ns, now_ns, spin_end_ns;

    if (reached(semaphore, value))
        return HD_OK;
    if (!timeout_ns)
        return HD_TIMEOUT;
    if (HD_UNLIKELY(hal_inside_any()) && hal_inside_awaits(semaphore, value))
        return hal_inside_wait(semaphore, value);
    start_ns = now_ns = hal_time_ns();
    spin_end_ns = start_ns + (dev->ncpus > 1 ? CPU_WAIT_SPIN_NS : 0);
    for (;;) {
        help(dev, semaphore, value);
        if (reached(semaphore, value))
            return HD_OK;
        now_ns = hal_time_ns();
        if (timeout_ns != UINT64_MAX && now_ns - start_ns >= timeout_ns)
            return HD_TIMEOUT;
        if (now_ns < spin_end_ns) {
            for (int i = 0; i < 32 && !reached(semaphore, value); i++)
                cpu_relax();
            continue;
        }
        /* Bounded: work that this thread could help with may arrive without a retirement. */
        uint32_t seen;
        atomic_fetch_add(&dev->waiters, 1);
        seen = atomic_load(&dev->progress);
        if (!(atomic_load(semaphore) >= value))
            cpu_futex_wait(&dev->progress, seen, 2000000u);
        atomic_fetch_sub(&dev->waiters, 1);
    }
}
