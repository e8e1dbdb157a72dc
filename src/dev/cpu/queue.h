/*
 * Queues of the CPU device: who may execute the packets at the head of a ring.
 *
 * Exactly one thread at a time advances a queue; who may is decided by queue->state:
 *
 *     IDLE ──own──► OWNED ──publish a job──► ACTIVE|users ──last user leaves──► OWNED ──► IDLE
 *
 *   OWNED      one thread executes packets at the head of the ring; of these it runs short grids
 *              as unpublished jobs (`here`)
 *   ACTIVE|n   the packet at the head is a job (a grid, a large copy) that n threads work on. Who
 *              joins takes chunks until none is left. The thread that leaves last, when all chunks
 *              are taken, becomes the owner, retires the packet and goes on. The state carries a
 *              generation, so a slow leaver cannot end the next job.
 *   DEAD       destroyed; the struct stays and is reused, so scanning threads may look at it
 */
#ifndef HD_DEV_CPU_QUEUE_H
#define HD_DEV_CPU_QUEUE_H

#include "dev/cpu/job.h"

#define CPU_QUEUE_IDLE   0ull
#define CPU_QUEUE_OWNED  1ull
#define CPU_QUEUE_DEAD   2ull
#define CPU_QUEUE_ACTIVE (1ull << 63)

/* Launches that the device's registry entry has not been told of yet, and when it last was. */
struct cpu_unnotified {
    uint32_t n;
    uint64_t ops; /* of all */
    uint64_t notified_ns;
};

struct cpu_queue {
    struct hal_queue base;
    _Alignas(64) _Atomic uint64_t state;
    _Atomic bool pending;   /* something was submitted since the last look */
    _Atomic uint32_t level; /* -priority: greater is more urgent */
    _Atomic bool blocked;   /* the head is an unsatisfied WAIT; counted in device->blocked */
    /*
     * Odd while the owner runs the job itself, without publishing it. A sequence: who looks at the
     * job meanwhile (ask.c) believes what it has read when the number is the same afterwards.
     */
    _Atomic uint64_t here;
    uint64_t seen_here, seen_ns; /* the number when ask.c saw it first, and when: ask.c's */
    struct cpu_job job;
    struct cpu_partition *partitions; /* for the job, one for each slot */
    struct cpu_queue *next_call;      /* in the host-call list */
    uint32_t generation;              /* of jobs; the owner's */
    void *children;                   /* of the grid at the head, which is over; the owner's */
    bool begun;                       /* the head has begun, as another packet; the owner's */
    /* The number of the grid at the head, which is left to the thread that submitted it and owns
     * the queue now; 0: of none. A futex. */
    _Atomic uint32_t turn;
    /* What the registry is told of (queue.c); the owner's. */
    struct cpu_unnotified row;   /* short grids on the submitting thread */
    struct cpu_unnotified small; /* jobs of known length */
    bool is_notified;            /* of the job */
    uint64_t job_ops;            /* how long it is; UINT64_MAX: not known */
    _Atomic uint64_t *busy;      /* has begun, for this job or one right before; NULL: not */
    uint32_t nlaunches;          /* that were told of, but for their number */
};

static inline struct cpu_queue *cpu_queue_of(struct hal_queue *queue)
{
    return (struct cpu_queue *)queue;
}

/* The HAL's ops */
enum hd_status cpu_queue_create(struct hal_domain *domain, int priority,
                                struct hal_queue **out_queue) HD_MUST_CHECK;
void cpu_queue_destroy(struct hal_queue *queue);

/* Makes the caller the owner of an idle queue; false when it is not idle. */
bool cpu_queue_own(struct cpu_queue *queue);
/*
 * Executes packets from the head; the caller owns the queue. Returns true when the head is a job
 * that was published with the caller as a user, who must run it and cpu_queue_leave(). False: the
 * queue is no longer the caller's. slot NULL: jobs are published without a user.
 */
bool cpu_queue_advance(struct cpu_queue *queue, struct cpu_slot *slot);
/* Joins the queue's job if it has chunks left. */
bool cpu_queue_join(struct cpu_queue *queue);
/* The owner has set up the job and runs it now, unpublished; it has ended, or none had begun. */
static inline void cpu_queue_here_begin(struct cpu_queue *queue)
{
    uint64_t here = atomic_load_explicit(&queue->here, memory_order_relaxed);

    assert(!(here & 1));
    atomic_store_explicit(&queue->here, here + 1, memory_order_release);
}
static inline void cpu_queue_here_end(struct cpu_queue *queue)
{
    uint64_t here = atomic_load_explicit(&queue->here, memory_order_relaxed);

    atomic_store_explicit(&queue->here, (here + 1) & ~UINT64_C(1), memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* before the job is changed */
}
/* Becomes a user of the queue's job, whatever is left of it, to look at it. */
bool cpu_queue_hold(struct cpu_queue *queue);
/* Leaves a job. True: its work is done, and the caller owns the queue. */
bool cpu_queue_leave(struct cpu_queue *queue);
/* On a thread for host calls, which owns the queue: makes the call at the head, or submits what the
 * grid there has asked for, and does whatever follows. */
void cpu_queue_call(struct cpu_queue *queue);

/* call.c: the head of the queue, which the caller owns, is a host call. A thread of the device's
 * will cpu_queue_call(). */
void cpu_call_push(struct cpu_queue *queue);

#endif
