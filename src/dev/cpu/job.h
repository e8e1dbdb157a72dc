/*
 * A job: a packet that several threads work on. A grid, or a copy that is worth sharing.
 *
 * A job is part of its queue and is set up by the queue's owner before it is published (queue.h);
 * from then on its users only move `next`. Whoever joins takes chunks until none is left; moving
 * `next` to `total` ends a job early.
 */
#ifndef HD_DEV_CPU_JOB_H
#define HD_DEV_CPU_JOB_H

#include "dev/cpu/domain.h"
#include "hal/hal.h"
#include "jit/jit.h"

struct cpu_device;
struct cpu_kernel;
struct cpu_queue;
struct cpu_slot;

#define CPU_INLINE_OPS    10000u /* grids up to this many operations run on the submitter */
#define CPU_COPY_CHUNK_B  (1u << 20)
#define CPU_INLINE_COPY_B CPU_COPY_CHUNK_B     /* one thread does these, so the submitter */
#define CPU_STRING_COPY_B (256u << 10)         /* string instructions from here on: copy.c */
#define CPU_NT_COPY_B     (4u << 20)           /* non-temporal stores from here on; AMD: copy.c */
#define CPU_STACK_MIN_B   ((uint64_t)16 << 10) /* of recursive kernels, whatever the limit */

/* Parts of a CTA's block, in this order. */
struct cpu_cta_layout {
    size_t warps, alive_seen, opened_seen, frames, shared, local, end;
};

/* Code, and what a CTA's block is for it. */
struct cpu_form {
    const struct jit_code *code;
    struct cpu_cta_layout layout;
};

/*
 * What all CTAs of a cooperative launch share, where cooperative_groups expects it: the grid's
 * barrier is the second word and starts at 0.
 */
struct cpu_grid_workspace {
    _Alignas(8) uint32_t size_B;
    uint32_t barrier;
    uint32_t reserved[2];
};

/* How bytes are moved: copy.c says which is fast when. */
enum cpu_copy_way {
    CPU_COPY_PLAIN,       /* by the C library */
    CPU_COPY_STRING,      /* by the instructions that move and fill memory themselves */
    CPU_COPY_NONTEMPORAL, /* by stores that stay in no cache */
};

/* A part of a job's units, of which one slot's holder takes first: partition.c. */
struct cpu_partition {
    _Alignas(64) _Atomic uint64_t next; /* first unit that is not taken */
    uint64_t end;
};

/* Units that one thread has taken, and how many shares it has found empty: 0 to begin with. */
struct cpu_chunk {
    uint64_t first, end;
    uint64_t wanted; /* units to take at once, as long as there are many; 0: the job's chunk */
    uint32_t passed;
};

/* What many threads write while others read is on lines of its own. */
struct cpu_samples;
struct cpu_job {
    /* All take from here unless there are shares: the first unit that is not taken, of CTAs,
     * clusters or pieces. */
    _Alignas(64) _Atomic uint64_t next;
    /* Takes chunks until none is left or the slot is wanted for something else. */
    _Alignas(64) void (*run)(struct cpu_job *job, struct cpu_slot *slot);
    _Atomic uint64_t total;
    uint64_t chunk;               /* units to take at once */
    bool in_order;                /* units begin in the order of their numbers */
    _Atomic uint32_t npartitions; /* 0: none */
    struct cpu_partition *partitions;
    _Atomic uint32_t closed; /* shares of which nothing is left */
    struct cpu_domain *domain;
    _Atomic bool spins;     /* its CTAs may wait for something: workers keep them resident */
    _Atomic uint64_t moved; /* counts turns of its residents in which they did more than poll */
    uint64_t start_ns;      /* when it was published; 0: it asks nobody for help */
    uint64_t published_ns;  /* whether or not */
    const char *name;
    /* dispatch */
    struct cpu_form form; /* that the launch starts in; code is NULL: a copy */
    const struct cpu_kernel *kernel;
    const struct hal_native *native; /* what it calls; NULL: it runs code */
    const struct cpu_queue *queue;   /* that it is of */
    struct jit_launch launch;
    bool tiled; /* order of the CTAs: see cpu_grid_is_tiled() */
    bool cooperative;
    struct cpu_grid_workspace workspace;
    struct cpu_watch *watch;               /* watch.c; NULL: nobody observes */
    _Atomic(struct cpu_samples *) samples; /* sample.c; NULL: nobody samples; read by a handler */
    void *metered;                         /* the meter's; NULL: it is not told */
    /* schedule.c: one thread runs all of it, in an order, again and again. */
    bool in_schedule;
    bool is_rerun;                      /* nothing is printed, and a fault is nobody's: */
    enum hd_status rerun_status;        /* it is here */
    const struct ir_schedule *schedule; /* of the run; NULL: none */
    _Atomic(void *) children; /* what its threads asked of the runtime: hal_domain.runtime */
    /* copy and fill */
    const union hal_packet *packet;
    enum cpu_copy_way way;
};

static inline bool cpu_job_exhausted(const struct cpu_job *job)
{
    uint32_t npartitions = atomic_load_explicit(&job->npartitions, memory_order_relaxed);

    if (npartitions)
        return atomic_load(&job->closed) >= npartitions;
    return atomic_load(&job->next) >= atomic_load(&job->total);
}
static inline void cpu_job_moved(struct cpu_job *job)
{
    atomic_fetch_add_explicit(&job->moved, 1, memory_order_relaxed);
}

/* partition.c: before the job is published: shares for its units, if it is worth that. There are
 * `nslots` of them. */
void cpu_job_partition(struct cpu_job *job, struct cpu_partition *partitions, unsigned nslots);
/* The next chunk for the holder of the slot. False: nothing is left. */
bool cpu_job_take(struct cpu_job *job, const struct cpu_slot *slot, struct cpu_chunk *chunk);
/* Nobody takes another chunk. */
void cpu_job_end(struct cpu_job *job);
/* How long a thread's claims have lasted. */
struct cpu_pace {
    uint64_t since_ns; /* when it looked last; 0: not yet */
    unsigned chunks;   /* since then */
};
/* grid.c: behind each claim: the next one may be larger. */
void cpu_pace_keep(struct cpu_pace *pace, const struct cpu_job *job, struct cpu_chunk *chunk);
/* How many units have been taken. */
uint64_t cpu_job_begun(const struct cpu_job *job);

/* What a dispatch packet names, looked up once. */
struct cpu_grid {
    const struct cpu_kernel *kernel; /* NULL: there is none; then nothing below is set */
    const struct jit_code *code;     /* NULL: it was not prepared for its block size */
    uint64_t ctas;
    uint32_t nwarps;       /* of a CTA */
    uint32_t cluster_ctas; /* 1: its CTAs have nothing to do with each other */
};

/* grid.c. False: the kernel or its code is missing. */
bool cpu_grid_find(struct cpu_device *dev, const struct hal_dispatch *p, struct cpu_grid *out_grid);
/* Would this grid, which was found, run in less time than it takes to hand it over? */
bool cpu_grid_is_short(const struct cpu_grid *grid);
/*
 * Fills the queue's job, which is not published yet, from its dispatch packet. HD_BAD_ARG,
 * HD_INTERNAL: the kernel or its code is missing; HD_NOT_SUPPORTED.
 */
enum hd_status cpu_grid_setup(struct cpu_queue *queue, const struct hal_dispatch *p,
                              const struct cpu_grid *grid) HD_MUST_CHECK;
/*
 * Runs all of the queue's job, which nobody else can join because it is not published, and then
 * short dispatches behind it in the ring, as long as they need nothing else. How many packets were
 * run; the last of them may have failed.
 */
unsigned cpu_grid_run_row(struct cpu_queue *queue, struct cpu_slot *slot);

/* For schedule.c: the slot's reusable block, large enough for the form, or the domain's error; the
 * grid's barrier as it is before a run. */
bool cpu_slot_reserve(struct cpu_slot *slot, struct cpu_job *job, const struct cpu_form *form);
void cpu_grid_workspace_setup(struct cpu_job *job);

/* watch.c: of a job with an observer that is set up, and has ended. False: no memory. */
bool cpu_watch_begin(struct cpu_job *job, const struct hal_dispatch *p) HD_MUST_CHECK;
void cpu_watch_end(struct cpu_job *job);
/* Has only a CTA failed, and not its launch? */
bool cpu_watch_goes_on(const struct cpu_job *job);

/* runtime.c: a call of the CUDA runtime by a thread of the job. */
void cpu_runtime_call(struct cpu_job *job, struct ir_runtime_io *io);

/* sem.c: hal_sem_holds() and hal_sem_apply() that survive semaphores whose memory has gone. */
bool cpu_sem_holds(struct hal_domain *domain, const struct hal_sem *sem);
void cpu_sem_apply(struct hal_domain *domain, const struct hal_sem *sem);

/* copy.c */
/* What the caches hold, beyond which stores had better go past them; 0: not known. */
uint64_t cpu_caches_B(void);
void cpu_copy_setup(struct cpu_job *job, const union hal_packet *packet);
uint64_t cpu_copy_size_B(const union hal_packet *packet);

#endif
