/*
 * Slots and workers: who runs CTAs, and how they find work.
 *
 * `nslots` CTAs run at once; a slot is the right to run CTAs plus the memory to do so. Each of the
 * nslots worker threads is pinned to a CPU. A host thread that waits takes a free slot and works
 * too, so slots, not threads, bound the load on the machine.
 *
 * Finding work. Workers scan the queues for `pending` and for ACTIVE jobs with chunks left. An idle
 * worker spins on dev->bell for a while (worker 0..n-2; the last one hardly), then sleeps on it.
 * Whoever creates work rings: bell++, and a futex wake only when nobody spins. A sleeper of another
 * CPU than the one that rings is woken, and a spinner whose CPU that is has such a one woken in its
 * place: two threads that work on one CPU, while another CPU idles, stay so for milliseconds.
 *
 * Multiprocessors. The device's SMs are spread over the slots: where there are as many, slot i is
 * SM i; else several live in a slot, or several slots are one SM. A queue that is limited to some
 * SMs has its grids run by the slots where these live, and by no others. (docs/decisions/0099)
 *
 * No lost wake-ups: a worker counts itself out of `spinning` (or into `sleepers`) before it looks
 * at bell and pending for the last time; a submitter sets pending and bell before it reads the
 * counts. All of these are sequentially consistent.
 */
#ifndef HD_DEV_CPU_WORKER_H
#define HD_DEV_CPU_WORKER_H

#include <pthread.h>

#include "dev/cpu/cta/cta.h"
#include "dev/cpu/queue.h"

#define CPU_MAX_SLOTS     256
#define CPU_HOT_SPIN_NS   150000u /* how long an idle worker spins */
#define CPU_COLD_SPIN_NS  3000u   /* the last worker: a host thread often waits in its place */
#define CPU_WAIT_SPIN_NS  60000u  /* how long a host thread that cannot help spins */
#define CPU_RECHECK_NS    500000u /* how long a worker sleeps at most while there is work */
#define CPU_WAKE_AFTER_NS 30000u  /* a job that lasted this long is worth waking a sleeper */
#define CPU_MAX_RESIDENT  64 /* spinning CTAs per worker, unless its multiprocessors hold more */
#define CPU_MAX_INPLACE   4  /* interpreted ones that wait for nobody: their threads are large */

/* The right to run CTAs. */
struct cpu_slot {
    _Alignas(64) _Atomic bool busy;
    uint32_t index;
    struct cpu_device *device;
    struct cpu_cta *cta; /* block for CTAs that run to completion, reused */
    /* Spinning CTAs of the worker that holds the slot; of clusters those of rank 0. */
    struct cpu_cta *residents;
    struct cpu_cta *free_blocks;
    struct cpu_cluster *free_clusters;
    uint32_t nresidents;
    _Atomic int tid;           /* of the thread that holds it, for cancellation */
    _Atomic uint32_t answered; /* the last question that its holder has answered: ask.c */
    /* Set by a host thread that helps: stop taking chunks when *stop_sem >= stop_value. */
    const _Atomic uint64_t *stop_sem;
    uint64_t stop_value;
};

struct cpu_worker {
    struct cpu_device *device;
    pthread_t thread;
    unsigned index;
    int cpu; /* pinned to, -1 = none */
    bool started;
};

enum hd_status cpu_workers_start(struct cpu_device *dev) HD_MUST_CHECK;
void cpu_workers_stop(struct cpu_device *dev);
/* New work is there: wakes a sleeper when nobody spins. */
void cpu_ring(struct cpu_device *dev);
/* The same, of those who spin alone: sleepers sleep on. */
void cpu_ring_spinners(struct cpu_device *dev);
/* Sleeps until the bell has rung since it showed `seen`, or the time is over. */
void cpu_bell_wait(struct cpu_worker *worker, uint32_t seen, uint64_t timeout_ns);
/* Wakes one that sleeps there; false: nobody did. */
bool cpu_bell_wake_one(struct cpu_device *dev);
bool cpu_slot_is_free(struct cpu_device *dev);
/* Wakes one sleeper if there is one and a slot is free. */
void cpu_wake_more(struct cpu_device *dev);
void cpu_relax(void);
struct cpu_slot *cpu_slot_take(struct cpu_device *dev, unsigned preferred);
/* The same, a slot that may run the queue's grids. */
struct cpu_slot *cpu_slot_take_for(const struct cpu_queue *queue);
/* May the slot run the queue's grids? */
bool cpu_slot_may(const struct cpu_slot *slot, const struct cpu_queue *queue);
/* The multiprocessors that live in it, one at least. */
uint32_t cpu_slot_nsms(const struct cpu_slot *slot);
/* %smid of what the slot, which may, runs of the queue. */
uint32_t cpu_slot_sm(const struct cpu_slot *slot, const struct cpu_queue *queue);
void cpu_slot_give(struct cpu_slot *slot);
/* Is there something that a worker could take? */
bool cpu_anything_pending(struct cpu_device *dev);
/* Gives a slot back that others may have needed meanwhile. */
void cpu_slot_give_ring(struct cpu_slot *slot);
/* work.c: runs the job that the caller has joined, leaves it, and does whatever follows in that
 * queue. */
void cpu_work_on(struct cpu_queue *queue, struct cpu_slot *slot);
/* Leaves a job without running it; if that ends it, does whatever follows in that queue. */
void cpu_work_leave(struct cpu_queue *queue, struct cpu_slot *slot);
/* Finds and does one piece of work. False: there was none. `worker`: may take spinning jobs. */
bool cpu_work_once(struct cpu_device *dev, struct cpu_slot *slot, bool worker);
void cpu_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void cpu_futex_wake(_Atomic uint32_t *word, int count);

/*
 * resident.c: takes one CTA of the joined job and keeps it resident in the slot; the membership
 * goes with it. False: nothing was taken, the caller is still a member.
 */
bool cpu_resident_take(struct cpu_queue *queue, struct cpu_slot *slot);
/*
 * A resident by itself: a CTA, or those of a cluster, of which it is the one of rank 0. NULL and
 * the domain's error: no memory.
 */
struct cpu_cta *cpu_resident_create(struct cpu_slot *slot, struct cpu_job *job);
void cpu_resident_start(struct cpu_cta *cta, struct cpu_job *job, uint32_t sm, uint64_t index);
void cpu_resident_release(struct cpu_slot *slot, struct cpu_cta *cta);
/* One step of every resident. True when one made progress. */
bool cpu_residents_step(struct cpu_slot *slot);

/*
 * turn.c: a turn of a resident: true when it is over, one way or another; *progress is set when it
 * did more than poll.
 */
bool cpu_resident_turn(struct cpu_cta *cta, bool *progress);

/* wait.c: the HAL's op */
enum hd_status cpu_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                        uint64_t value, uint64_t timeout_ns) HD_MUST_CHECK;

#endif
