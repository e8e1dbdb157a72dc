/*
 * The CPU device: slots and workers (worker.h), the table of queues (queue.h), the threads for host
 * calls. Jobs, CTAs, faults and domains have headers of their own; each includes what it builds on:
 *
 *     domain.h ◄─ job.h ◄─┬─ cta.h ◄── fault.h
 *                         ├─ queue.h ◄─ worker.h ◄─ device.h
 *     kernel.h            └─ (grid.c, copy.c)
 *
 * Locks: dev->lock (rank DEVICE) guards the queue table and the host-call list. The hot paths take
 * no lock. Every field is of this device: any number of them may live in a process. What is the
 * process's are signal handlers and a thread's guard (fault.h).
 */
#ifndef HD_DEV_CPU_DEVICE_H
#define HD_DEV_CPU_DEVICE_H

#include "dev/cpu/worker.h"

#define CPU_MAX_QUEUES        1024
#define CPU_PRIORITY_GREATEST (-5)

/* Threads for host calls (call.c). */
#define CPU_CALLERS_MAX 64
enum cpu_caller_state { CPU_CALLER_NONE, CPU_CALLER_RUNS };
struct cpu_caller {
    struct cpu_device *device;
    pthread_t thread;
    enum cpu_caller_state state;
};
struct cpu_callers {
    pthread_cond_t cond;             /* a call has come; CLOCK_MONOTONIC */
    struct cpu_queue *first, **last; /* whose heads are calls that nobody makes yet */
    unsigned nwaiting, nidle;        /* of these queues; of threads that wait for one */
    unsigned nthreads;
    void (*run)(struct cpu_queue *queue); /* what a thread does with one */
    struct cpu_caller all[CPU_CALLERS_MAX];
};

struct cpu_device {
    struct hal_device base;
    unsigned nslots;
    unsigned ncpus; /* that this process may use: with one nobody spins */
    struct cpu_slot *slots;
    struct cpu_worker *workers;
    /* Spinning workers read the first line all the time; they write the second. */
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic int rang_on; /* the CPU of who rang last */
    _Alignas(64) _Atomic uint32_t spinning;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t progress; /* bumped by retirements while somebody waits */
    _Atomic uint32_t waiters;
    _Atomic uint32_t blocked; /* queues whose head is an unsatisfied WAIT */
    _Atomic bool stopping;
    _Atomic bool starved;    /* a worker found no free slot */
    _Atomic uint32_t levels; /* mask of -priority of all queues so far */
    _Atomic uint32_t nqueues;
    _Atomic(struct cpu_queue *) queues[CPU_MAX_QUEUES];
    struct hd_lock lock;
    struct cpu_callers callers; /* lock */
    struct jit_services services;
    /* cpu_job.run of launches that an observer may have run again; set when the device is made,
     * so that watch.c need not know schedule.c, which knows all that runs CTAs. */
    void (*run_again)(struct cpu_job *job, struct cpu_slot *slot);
    /* ask.c: */
    _Atomic uint32_t asked;            /* counts questions; workers answer between two turns */
    struct hd_lock answers_lock;       /* rank LEAF */
    struct cpu_answers *answers;       /* to the question; NULL: nobody asks */
    _Atomic uint64_t sample_period_ns; /* sample.c; 0: nobody samples */
    pthread_t sampler;                 /* else */
};

/* The HAL's op: what runs, and who waits for what. */
void cpu_device_report(struct hal_device *device, hal_notify_running *notify, void *arg);
/* The holder of the slot answers the last question about it. */
void cpu_ask_answer(struct cpu_slot *slot);
static inline void cpu_ask_look(struct cpu_slot *slot)
{
    uint32_t asked = atomic_load_explicit(&slot->device->asked, memory_order_relaxed);

    if (HD_UNLIKELY(atomic_load_explicit(&slot->answered, memory_order_relaxed) != asked))
        cpu_ask_answer(slot);
}

static inline struct cpu_device *cpu_device_of(struct hal_device *device)
{
    return (struct cpu_device *)device;
}

/* call.c. Stopping makes the calls that wait, and waits for all. */
void cpu_call_init(struct cpu_device *dev, void (*run)(struct cpu_queue *queue));
/* The call of this thread is over: the thread takes the device's next one itself. */
void cpu_call_made(const struct cpu_device *dev);
void cpu_call_stop(struct cpu_device *dev);

/* Stops a domain's work: the HAL's op (domain.c). */
void cpu_domain_cancel(struct hal_domain *domain);

#endif
