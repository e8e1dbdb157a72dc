/*
 * Host calls run on threads of their own: they may take long, or take locks that a program's thread
 * holds while it waits, so neither workers nor helping threads may be stuck in one.
 *
 * A queue whose head is a call stands in a list, in the order in which the calls were due; a thread
 * takes the first one, makes the call, and does whatever follows in that queue. So calls of one
 * queue come one after another, and those of different queues do not wait for each other: there is
 * a thread more whenever a call finds none that is idle, begins or has made its call, up to
 * CPU_CALLERS_MAX; beyond, calls wait. A thread that has had nothing to do for CALLER_IDLE_NS ends,
 * unless it is the last one.
 */
#include "base/thread.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"

#define CALLER_IDLE_NS UINT64_C(2000000000)

/* The call of this thread is over: it takes the next one of this device itself. */
static _Thread_local const struct cpu_device *free_for;

void cpu_call_made(const struct cpu_device *dev)
{
    free_for = dev;
}

/* False: nothing has come for long. */
static bool wait_for_call(struct cpu_device *dev)
{
    struct cpu_callers *callers = &dev->callers;
    uint64_t end_ns = hal_time_ns() + CALLER_IDLE_NS;
    struct timespec until = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};

    assert(hd_lock_held(&dev->lock));
    callers->nidle++;
    while (!callers->first && !atomic_load(&dev->stopping) && hal_time_ns() < end_ns)
        hd_lock_wait_until(&dev->lock, &callers->cond, &until);
    callers->nidle--;
    return callers->first || atomic_load(&dev->stopping);
}

static void *caller_main(void *arg)
{
    struct cpu_caller *self = arg;
    struct cpu_device *dev = self->device;
    struct cpu_callers *callers = &dev->callers;

    cpu_fault_thread_init();
    pthread_setname_np(pthread_self(), "heddle-call");
    hd_lock_acquire(&dev->lock);
    callers->nidle--; /* start_caller()'s */
    for (;;) {
        struct cpu_queue *queue;

        if (!callers->first) {
            if (atomic_load(&dev->stopping) || (!wait_for_call(dev) && callers->nthreads > 1))
                break;
            continue;
        }
        queue = callers->first;
        callers->first = queue->next_call;
        if (!callers->first)
            callers->last = &callers->first;
        callers->nwaiting--;
        hd_lock_release(&dev->lock);
        callers->run(queue);
        free_for = NULL;
        hd_lock_acquire(&dev->lock);
    }
    callers->nthreads--;
    if (!atomic_load(&dev->stopping)) { /* else it is joined */
        pthread_detach(self->thread);
        self->state = CPU_CALLER_NONE;
    }
    hd_lock_release(&dev->lock);
    return NULL;
}

/* One more thread, if there is room for one. */
static void start_caller(struct cpu_device *dev)
{
    struct cpu_callers *callers = &dev->callers;
    struct cpu_caller *caller = callers->all;

    assert(hd_lock_held(&dev->lock));
    while (caller < callers->all + CPU_CALLERS_MAX && caller->state != CPU_CALLER_NONE)
        caller++;
    if (caller == callers->all + CPU_CALLERS_MAX)
        return;
    caller->device = dev;
    if (hd_thread_create(&caller->thread, NULL, caller_main, caller))
        return; /* those that there are go on; the next call tries again */
    caller->state = CPU_CALLER_RUNS;
    callers->nthreads++;
    callers->nidle++; /* as good as: it takes a call when it has begun */
}

void cpu_call_push(struct cpu_queue *queue)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    struct cpu_callers *callers = &dev->callers;

    hd_lock_acquire(&dev->lock);
    queue->next_call = NULL;
    *callers->last = queue;
    callers->last = &queue->next_call;
    if (++callers->nwaiting > callers->nidle + (free_for == dev))
        start_caller(dev);
    pthread_cond_signal(&callers->cond);
    hd_lock_release(&dev->lock);
}

void cpu_call_init(struct cpu_device *dev, void (*run)(struct cpu_queue *queue))
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dev->callers.cond, &attr);
    pthread_condattr_destroy(&attr);
    dev->callers.last = &dev->callers.first;
    dev->callers.run = run;
}

void cpu_call_stop(struct cpu_device *dev)
{
    struct cpu_callers *callers = &dev->callers;

    hd_lock_acquire(&dev->lock);
    pthread_cond_broadcast(&callers->cond);
    hd_lock_release(&dev->lock);
    for (unsigned i = 0; i < CPU_CALLERS_MAX; i++)
        if (callers->all[i].state != CPU_CALLER_NONE)
            pthread_join(callers->all[i].thread, NULL);
    pthread_cond_destroy(&callers->cond);
}
