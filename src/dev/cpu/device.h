/*
 * Inside of the CPU device.
 *
 * Threads. `nslots` CTAs run at once; a slot is the right to run CTAs plus the memory to do so.
 * Each of the nslots worker threads is pinned to a CPU. A host thread that waits takes a free slot
 * and works too, so slots, not threads, bound the load on the machine.
 *
 * Queues. Exactly one thread at a time advances a queue; who may is decided by queue->state:
 *
 *     IDLE ──own──► OWNED ──publish a job──► ACTIVE|users ──last user leaves──► OWNED ──► IDLE
 *
 *   OWNED      one thread executes packets at the head of the ring
 *   ACTIVE|n   the packet at the head is a job (a grid, a large copy) that n threads work on. Who
 *              joins takes chunks until none is left. The thread that leaves last, when all chunks
 *              are taken, becomes the owner, retires the packet and goes on. The state carries a
 *              generation, so a slow leaver cannot end the next job.
 *   DEAD       destroyed; the struct stays and is reused, so scanning threads may look at it
 *
 * Finding work. Workers scan the queues for `pending` and for ACTIVE jobs with chunks left. An idle
 * worker spins on dev->bell for a while (worker 0..n-2; the last one hardly), then sleeps on it.
 * Whoever creates work rings: bell++, and a futex wake only when nobody spins.
 *
 * No lost wake-ups: a worker counts itself out of `spinning` (or into `sleepers`) before it looks
 * at bell and pending for the last time; a submitter sets pending and bell before it reads the
 * counts. All of these are sequentially consistent.
 *
 * Locks: dev->lock (rank DEVICE) guards the queue table, kernels' preparation and the host-call
 * list. The hot paths take no lock.
 */
#ifndef HD_DEV_CPU_DEVICE_H
#define HD_DEV_CPU_DEVICE_H

#include <pthread.h>
#include <setjmp.h>
#include <sched.h>

#include "base/lock.h"
#include "base/vec.h"
#include "hal/hal.h"
#include "ir/ir.h"
#include "ir/shape.h"
#include "jit/jit.h"

#define CPU_MAX_QUEUES      1024
#define CPU_MAX_WARPS       32 /* of a CTA */
#define CPU_MAX_SLOTS       256
#define CPU_HOT_SPIN_NS     150000u /* how long an idle worker spins */
#define CPU_COLD_SPIN_NS    3000u /* the last worker: a waiting host thread usually has its place */
#define CPU_WAIT_SPIN_NS    60000u /* how long a host thread that cannot help spins */
#define CPU_WAKE_AFTER_NS   30000u /* a job that lasted this long is worth waking a sleeper */
#define CPU_INLINE_OPS      10000u /* grids up to this many operations run on the submitter */
#define CPU_INLINE_COPY_B   (64u << 10)
#define CPU_COPY_CHUNK_B    (1u << 20)
#define CPU_NT_COPY_B       (4u << 20) /* copies from here on use non-temporal stores */
#define CPU_MAX_RESIDENT    64         /* spinning CTAs per worker, unless cooperative */
#define CPU_STACK_DEFAULT_B (16u << 10)

struct cpu_device;
struct cpu_queue;
struct cpu_job;
struct cpu_slot;

/* ---- CTAs */

/* One CTA in flight and all its memory: one block, see cpu_cta_create(). */
struct cpu_cta {
    struct jit_cta cta; /* generated code and services see this part */
    struct cpu_job *job;
    struct cpu_queue *queue;          /* residents: the queue of job */
    uint64_t index;                   /* position in the order in which CTAs start */
    uint32_t remaining;               /* warps that are not done */
    uint32_t expected[JIT_NBARRIERS]; /* `count` of the arrivals at each barrier, 0 = all live */
    /* Threads by warp that arrived at a barrier with a count. */
    uint16_t arrived[JIT_NBARRIERS][CPU_MAX_WARPS];
    uint32_t *alive_seen;      /* by warp: alive at its last stop */
    uint32_t *opened_seen;     /* by warp: cta.opened when it last ran */
    struct cpu_fiber **fibers; /* by warp, when the kernel waits inside calls; else NULL */
    uint32_t nfibers;
    struct cpu_cta *next; /* in a list of residents or free blocks */
    size_t block_B;
};

/* Parts of a CTA's block, in this order. */
struct cpu_cta_layout {
    size_t warps, alive_seen, opened_seen, frames, shared, local, end;
};

/* ---- jobs: what several threads work on */

/*
 * What all CTAs of a cooperative launch share, where cooperative_groups expects it: the grid's
 * barrier is the second word and starts at 0.
 */
struct cpu_grid_workspace {
    _Alignas(8) uint32_t size_B;
    uint32_t barrier;
    uint32_t reserved[2];
};

struct cpu_job {
    /* Takes chunks until none is left or stop(stop_arg). */
    void (*run)(struct cpu_job *job, struct cpu_slot *slot);
    _Atomic uint64_t next; /* first chunk that is not taken, in units of CTAs or pieces */
    _Atomic uint64_t total;
    uint64_t chunk; /* units to take at once */
    struct hal_fault *fault;
    _Atomic bool spins; /* its CTAs may wait for something: workers keep them resident */
    uint64_t start_ns;
    /* dispatch */
    const struct jit_code *code;
    struct jit_launch launch;
    const char *name;
    struct cpu_cta_layout layout;
    size_t cta_block_B; /* memory of one CTA */
    bool cooperative;
    struct cpu_grid_workspace workspace;
    /* copy and fill */
    const union hal_packet *packet;
    bool nontemporal;
};

static inline bool cpu_job_exhausted(const struct cpu_job *job)
{
    return atomic_load(&job->next) >= atomic_load(&job->total);
}

/* The right to run CTAs. */
struct cpu_slot {
    _Alignas(64) _Atomic bool busy;
    uint32_t index; /* %smid */
    struct cpu_device *device;
    struct cpu_cta *cta;       /* block for CTAs that run to completion, reused */
    struct cpu_cta *residents; /* spinning CTAs of the worker that holds the slot */
    struct cpu_cta *free_blocks;
    uint32_t nresidents;
    /* Set by a host thread that helps: stop taking chunks when *stop_sem >= stop_value. */
    const _Atomic uint64_t *stop_sem;
    uint64_t stop_value;
};

/* ---- queues */

#define CPU_QUEUE_IDLE   0ull
#define CPU_QUEUE_OWNED  1ull
#define CPU_QUEUE_DEAD   2ull
#define CPU_QUEUE_ACTIVE (1ull << 63)

struct cpu_queue {
    struct hal_queue base;
    _Alignas(64) _Atomic uint64_t state;
    _Atomic bool pending; /* something was submitted since the last look */
    _Atomic bool blocked; /* the head is an unsatisfied WAIT; counted in device->blocked */
    struct cpu_job job;
    struct cpu_queue *next_call; /* in the host-call list */
    uint32_t generation;         /* of jobs; the owner's */
    uint32_t grid_id;
};

struct cpu_worker {
    struct cpu_device *device;
    pthread_t thread;
    unsigned index;
    int cpu; /* pinned to, -1 = none */
    bool started;
};

struct cpu_device {
    struct hal_device base;
    unsigned nslots;
    unsigned ncpus; /* that this process may use: with one nobody spins */
    struct cpu_slot *slots;
    struct cpu_worker *workers;
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t spinning;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t blocked;               /* queues whose head is an unsatisfied WAIT */
    _Alignas(64) _Atomic uint32_t progress; /* bumped by retirements while somebody waits */
    _Atomic uint32_t waiters;
    _Atomic bool stopping;
    _Atomic uint32_t nqueues;
    _Atomic(struct cpu_queue *) queues[CPU_MAX_QUEUES];
    struct hd_lock lock;
    /* host calls run on a thread of their own: they may take long, or locks of the program */
    pthread_t call_thread;
    bool call_thread_started;
    pthread_cond_t call_cond;
    struct cpu_queue *calls, **last_call;
    _Atomic uint64_t stack_B;
    struct jit_services services;
};

static inline struct cpu_device *cpu_device_of(struct hal_device *device)
{
    return (struct cpu_device *)device;
}
static inline struct cpu_queue *cpu_queue_of(struct hal_queue *queue)
{
    return (struct cpu_queue *)queue;
}

/* ---- queue.c */

enum hd_status cpu_queue_create(struct hal_device *device, struct hal_fault *fault,
                                struct hal_queue **out_queue) HD_MUST_CHECK;
bool cpu_queue_own(struct cpu_queue *queue);
/*
 * Executes packets from the head; the caller owns the queue. Returns true when the head is a job
 * that was published with the caller as a user, who must run it and cpu_queue_leave(). False: the
 * queue is no longer the caller's. slot NULL: jobs are published without a user.
 */
bool cpu_queue_advance(struct cpu_queue *queue, struct cpu_slot *slot);
/* Joins the queue's job if it has chunks left. */
bool cpu_queue_join(struct cpu_queue *queue);
/* Leaves a job. True: the caller finished the packet and owns the queue. */
bool cpu_queue_leave(struct cpu_queue *queue);
void cpu_queue_retire(struct cpu_queue *queue);
/* Retires all and frees; see hal.h. */
void cpu_queue_destroy(struct hal_queue *queue);

/* ---- worker.c */

enum hd_status cpu_workers_start(struct cpu_device *dev) HD_MUST_CHECK;
void cpu_workers_stop(struct cpu_device *dev);
/* New work is there: wakes a sleeper when nobody spins. */
void cpu_ring(struct cpu_device *dev);
/* Wakes one sleeper if there is one and a slot is free. */
void cpu_wake_more(struct cpu_device *dev);
void cpu_relax(void);
struct cpu_slot *cpu_slot_take(struct cpu_device *dev, unsigned preferred);
void cpu_slot_give(struct cpu_slot *slot);
/* Gives a slot back that others may have needed meanwhile. */
void cpu_slot_give_ring(struct cpu_slot *slot);
/* Runs the job that the caller has joined, leaves it, and does whatever follows in that queue. */
void cpu_work_on(struct cpu_queue *queue, struct cpu_slot *slot);
/* Leaves a job without running it; if that ends it, does whatever follows in that queue. */
void cpu_work_leave(struct cpu_queue *queue, struct cpu_slot *slot);
/* Finds and does one piece of work. False: there was none. `worker`: may take spinning jobs. */
bool cpu_work_once(struct cpu_device *dev, struct cpu_slot *slot, bool worker);
void cpu_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void cpu_futex_wake(_Atomic uint32_t *word, int count);

/* ---- wait.c */
enum hd_status cpu_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                        uint64_t value, uint64_t timeout_ns) HD_MUST_CHECK;

/* ---- call.c: host functions */
void cpu_call_push(struct cpu_queue *queue);
void cpu_call_stop(struct cpu_device *dev);

/* ---- grid.c, cta.c, resident.c */

/* Fills the job of a dispatch packet. HD_INTERNAL when the kernel was not prepared. */
enum hd_status cpu_grid_setup(struct cpu_job *job, struct cpu_device *dev,
                              const struct hal_dispatch *p) HD_MUST_CHECK;
/* Would this grid run in less time than it takes to hand it over? */
bool cpu_grid_is_short(const struct cpu_device *dev, const struct hal_dispatch *p);
void cpu_grid_run(struct cpu_job *job, struct cpu_slot *slot);
struct cpu_cta_layout cpu_cta_layout_of(const struct jit_code *code,
                                        const struct jit_launch *launch);
/* NULL when memory is short. */
/* fiber.c: warps with a stack of their own. Runs the warp until it stops or yields; its new state.
 * Leaves by the guard when there is no memory. */
uint32_t cpu_fiber_run(struct cpu_cta *cta, uint32_t w);
/* Inside generated code: lets others run. */
void cpu_fiber_yield(void);
void cpu_fibers_release(struct cpu_cta *cta);

struct cpu_cta *cpu_cta_create(size_t block_B);
void cpu_cta_destroy(struct cpu_cta *cta);
/* Prepares the block for CTA number `index` of the job. */
void cpu_cta_start(struct cpu_cta *cta, struct cpu_job *job, uint32_t smid, uint64_t index);
/* The same block again for the CTA with the next number. */
void cpu_cta_next(struct cpu_cta *cta);
/* Runs a CTA that never yields to its end. */
void cpu_cta_run(struct cpu_cta *cta);
/* Runs every warp that can run once. Returns whether anything but polling happened. */
bool cpu_cta_step(struct cpu_cta *cta);
/* Opens barriers whose threads have all arrived or ended. */
void cpu_cta_open_barriers(struct cpu_cta *cta);
/*
 * Takes one CTA of the joined job and keeps it resident in the slot; the membership goes with it.
 * False: nothing was taken, the caller is still a member.
 */
bool cpu_resident_take(struct cpu_queue *queue, struct cpu_slot *slot);
/* One step of every resident. True when one made progress. */
bool cpu_residents_step(struct cpu_slot *slot);

/* ---- copy.c */
void cpu_copy_setup(struct cpu_job *job, const union hal_packet *packet);
uint64_t cpu_copy_size_B(const union hal_packet *packet);
/* dst and src do not overlap. Non-temporal stores when asked for. */
void cpu_memcpy(void *dst, const void *src, size_t size_B, bool nontemporal);

/* ---- fault.c: errors inside generated code */

enum hd_status cpu_fault_install(void) HD_MUST_CHECK;
/* Gives this thread a signal stack; freed when the thread ends. Cheap when repeated. */
void cpu_fault_thread_init(void);

struct cpu_guard {
    jmp_buf env;
    volatile bool active;
    uintptr_t frame;     /* of cpu_guarded() */
    struct cpu_cta *cta; /* running, for the message */
    enum hd_status status;
    uint64_t address;
};
/* Of the calling thread. */
struct cpu_guard *cpu_guard_get(void);
/*
 * Runs body(arg) so that a fault in it returns instead of killing the process: HD_OK or what
 * happened, raised in `fault` with the kernel's name. Does not nest.
 */
bool cpu_guarded(void (*body)(void *arg), void *arg, struct cpu_job *job);
/* Leaves the innermost guarded body. */
HD_NORETURN void cpu_guard_leave(enum hd_status status, uint64_t address);

/* ---- services.c, printf.c, heap.c */
void cpu_services_init(struct jit_services *services);
void cpu_printf(uint32_t lanes, const uint64_t *format, const uint64_t *args, uint32_t *out_result);
void cpu_printf_flush(void);
uint64_t cpu_heap_limit(void);
void cpu_heap_set_limit(uint64_t limit_B);
void *cpu_heap_alloc(uint64_t size_B);
/* False: not a live allocation. */
bool cpu_heap_free(void *ptr);
void cpu_heap_clear(void);

/* ---- module.c */

struct cpu_kernel {
    struct hal_kernel base;
    const struct ir_func *func;
    const char *name;
    struct ir_window window;
    const uint64_t *vars;
    _Atomic(const struct jit_code *) codes[IR_CLASS_COUNT];
    struct cpu_kernel *next;
};

enum hd_status cpu_module_load(struct hal_device *device, const struct ir_module *module,
                               const uint8_t key[16], const uint64_t *var_va, size_t var_count,
                               struct hal_module **out_module) HD_MUST_CHECK;
void cpu_module_unload(struct hal_module *module);
enum hd_status cpu_kernel_get(struct hal_module *module, const struct ir_func *func,
                              struct hal_kernel **out_kernel) HD_MUST_CHECK;
enum hd_status cpu_kernel_info(struct hal_kernel *kernel, struct hal_kernel_info *out_info)
    HD_MUST_CHECK;
enum hd_status cpu_kernel_prepare(struct hal_kernel *kernel, const uint32_t block[3]) HD_MUST_CHECK;

#endif
