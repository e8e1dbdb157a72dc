/*
 * One CTA in flight: its memory, its warps, its barriers, and what generated code asks for.
 *
 * A CTA is one block of memory (cpu_cta_create), reused for CTA after CTA, and belongs to one
 * thread at a time: nothing in it is atomic. cpu_cta_start() prepares it for a CTA of a job; then
 * either cpu_cta_run() runs it to its end, or, for kernels that may wait, cpu_cta_step() is called
 * until `remaining` is 0 and the CTA may move between workers in between (turn.c). CTAs of a
 * cluster have a block each, but their shared windows elsewhere (cluster.c).
 */
#ifndef HD_DEV_CPU_CTA_CTA_H
#define HD_DEV_CPU_CTA_CTA_H

#include "dev/cpu/job.h"
#include "ir/probe.h"

#define CPU_MAX_WARPS 32 /* of a CTA */

struct interp_fault;
struct interp_launch;
struct interp_ops;
struct cpu_fiber;
struct cpu_inplace;

/*
 * CTAs that are launched together, in one order of turns on one thread. The barrier of the cluster
 * counts threads; each CTA knows which of its own have arrived.
 */
struct cpu_cluster {
    struct cpu_cta *ctas[IR_CLUSTER_MAX_CTAS]; /* by rank */
    uint32_t nctas;
    uint32_t live;    /* threads that have not ended */
    uint32_t arrived; /* of these, at the barrier since it last opened */
    char *windows;    /* shared memory, IR_CLUSTER_STRIDE_B each; NULL: of a CTA alone */
    uint64_t window_B;
    struct interp_cluster *interp; /* JIT_INTERP */
    struct cpu_cluster *next;      /* in a list of free ones */
};

struct cpu_cta {
    struct jit_cta cta; /* generated code and services see this part */
    struct cpu_job *job;
    const struct jit_code *code; /* of the job when the CTA started: better may have come since */
    struct cpu_queue *queue;     /* residents: the queue of job */
    const struct jit_warp *running;   /* at the moment, when warps run one by one; else NULL */
    uint64_t index;                   /* position in the order in which CTAs start */
    uint32_t remaining;               /* warps that are not done */
    uint32_t expected[JIT_NBARRIERS]; /* `count` of the arrivals at each barrier, 0 = all live */
    /* Threads by warp that arrived at a barrier. */
    uint16_t arrived[JIT_NBARRIERS][CPU_MAX_WARPS];
    struct cpu_cluster *cluster; /* set when barriers are counted, and in clusters */
    uint32_t *alive_seen;        /* by warp: alive at its last stop */
    uint32_t *opened_seen;       /* by warp: cta.opened when it last ran */
    struct cpu_inplace *inplace; /* JIT_INTERP: the interpreter's state; NULL = not started */
    struct cpu_fiber **fibers;   /* by warp, when the kernel waits inside calls; else NULL */
    uint32_t nfibers;
    struct hal_watchdog dog; /* residents: looks at job->moved */
    struct cpu_cta *next;    /* in a list of residents or free blocks */
    size_t block_B;
    struct cpu_cluster alone;           /* that of a CTA that is launched by itself */
    uint32_t at_cluster[CPU_MAX_WARPS]; /* lanes that have arrived at the cluster's barrier */
    struct ir_probe_cta probe;          /* while is_observed */
    bool is_observed;
    const uint8_t *order; /* of its warps, while it is observed; NULL: ascending */
};

/* Behind a shared window: vector loads at its end may look past it, by a vector, or as far as lanes
 * that do not run lie from those that do (gen_pattern.c). */
enum { CPU_SHARED_SPARE_B = 1152 };

struct cpu_cta_layout cpu_cta_layout_of(const struct jit_code *code,
                                        const struct jit_launch *launch);
/* NULL when memory is short. */
struct cpu_cta *cpu_cta_create(size_t block_B);
void cpu_cta_destroy(struct cpu_cta *cta);
/* Are the CTAs taken in tiles? Decided once per launch: all must agree on the order. */
bool cpu_grid_is_tiled(const struct jit_code *code, const struct jit_launch *launch);
/* Prepares the block, which is large enough for the form, for CTA number `index` of the job. */
void cpu_cta_start(struct cpu_cta *cta, struct cpu_job *job, const struct cpu_form *form,
                   uint32_t smid, uint64_t index);
/* The same for CTA `rank` of cluster number `index`, in the cluster's memory. */
void cpu_cta_start_in(struct cpu_cluster *cluster, uint32_t rank, struct cpu_job *job,
                      const struct cpu_form *form, uint32_t smid, uint64_t index);
/* Runs a CTA that never yields to its end. */
void cpu_cta_run(struct cpu_cta *cta);
/* The same, and then the n - 1 CTAs with the next numbers in the same block and code. */
void cpu_cta_run_many(struct cpu_cta *cta, uint64_t n);
/* Runs every warp that can run once. Returns whether anything but polling happened. */
bool cpu_cta_step(struct cpu_cta *cta);
/* Opens barriers whose threads have all arrived or ended. */
void cpu_cta_open_barriers(struct cpu_cta *cta);

/*
 * fiber.c: warps with a stack of their own. Runs the warp until it stops or yields; its new state.
 * Leaves by the guard when there is no memory.
 */
uint32_t cpu_fiber_run(struct cpu_cta *cta, uint32_t w);
/* Inside generated code: lets others run. */
void cpu_fiber_yield(void);
void cpu_fibers_release(struct cpu_cta *cta);

/* inplace.c: CTAs without code. Both leave by the guard when the CTA fails. */
/* One turn of every thread; true when the CTA is over. */
bool cpu_inplace_step(struct cpu_cta *cta);
void cpu_inplace_run(struct cpu_cta *cta);
/* What happened and where, in the words of the interpreter; NULL when the CTA has code. */
const char *cpu_inplace_message(struct cpu_cta *cta, enum hd_status status, uint64_t address,
                                const char *reason);
/* The launch as the interpreter wants it. */
void cpu_inplace_launch(struct interp_launch *out, const struct cpu_cta *cta,
                        const struct interp_ops *ops, void *ctx);
void cpu_inplace_release(struct cpu_cta *cta);

/*
 * replay.c: runs the CTA of generated code again by the interpreter, with no effect, to see which
 * thread does what is illegal. False: none does. After the guarded body; takes up to a second.
 */
bool cpu_replay(struct cpu_cta *cta, struct interp_fault *out_fault);

/*
 * strict.c: in strict mode, why a thread of the CTA may not touch these bytes, which are not in its
 * own local memory; NULL: it may. A string that lasts.
 */
const char *cpu_strict_refusal(struct cpu_cta *cta, uint64_t address, uint64_t size_B);
/* The same for thread number `thread` and all of memory. */
const char *cpu_strict_thread_refusal(struct cpu_cta *cta, uint32_t thread, uint64_t address,
                                      uint64_t size_B);
/* The same for an address at which a signal was raised, which is never in a window of the CTA. */
const char *cpu_strict_reason(struct cpu_cta *cta, uint64_t address);

/* deadlock.c: ": 2 of 3 warps wait; warp 0 at ...", for a CTA with code. */
void cpu_print_waiters(const struct cpu_cta *cta, struct hd_buf *out);
/* polled.c: ", at 0x7f0000000000 (now 0x0)", as far as it is known what the thread polls. */
void cpu_print_polled(const struct cpu_cta *cta, const struct ir_instr *in, uint32_t thread,
                      struct hd_buf *out);
/* inplace.c: the same of one without, "3 threads of warp 0 wait at ..."; nothing: it has not
 * begun. */
void cpu_inplace_print_waiters(const struct cpu_cta *cta, struct hd_buf *out);

/*
 * cluster.c: memory for a cluster of the job in this form, one that the slot has or a new one; NULL
 * and the domain's error when there is no memory.
 */
struct cpu_slot;
struct cpu_cluster *cpu_cluster_take(struct cpu_slot *slot, struct cpu_job *job,
                                     const struct cpu_form *form);
void cpu_cluster_give(struct cpu_slot *slot, struct cpu_cluster *cluster);
void cpu_cluster_destroy(struct cpu_cluster *cluster);
/* Prepares its CTAs for cluster number `index`. */
void cpu_cluster_start(struct cpu_cluster *cluster, struct cpu_job *job,
                       const struct cpu_form *form, uint32_t smid, uint64_t index);
/* cluster_barrier.c: threads of a warp arrive; they have ended. */
void cpu_cluster_arrive(struct cpu_cta *cta, uint32_t w, uint32_t lanes);
void cpu_cluster_ended(struct cpu_cta *cta, uint32_t w, uint32_t lanes);
/* Is the CTA one of several, with their shared memory side by side? */
static inline bool cpu_cta_has_peers(const struct cpu_cta *cta)
{
    return cta->cluster && cta->cluster->windows;
}
/* turn.c: runs a cluster of CTAs that wait for nothing outside of it; false: it was ended. */
bool cpu_cluster_run(struct cpu_cluster *cluster);

/* watch.c: of a job with an observer. The end may come twice. */
void cpu_watch_cta_begin(struct cpu_cta *cta);
/* The next one of those that the thread runs in turn; false: it is to be told for itself. */
bool cpu_watch_cta_next(struct cpu_cta *cta);
void cpu_watch_cta_end(struct cpu_cta *cta);
/* The interpreter in place tells for itself. */
void cpu_watch_inplace(const struct cpu_job *job, struct interp_launch *launch);
/* jit_services.probe */
void cpu_watch_probe(struct cpu_cta *cta, const struct jit_warp *warp, uint32_t lanes,
                     uint32_t place, const uint64_t *const *operands);

/* runtime.c: such a call by each of these lanes, as jit_services.runtime says. */
void cpu_runtime_warp(struct cpu_cta *cta, const struct jit_warp *warp, uint32_t lanes,
                      const uint64_t *call, const uint64_t *args, uint64_t *out_result);

/* services.c */
void cpu_services_init(struct jit_services *services);

#endif
