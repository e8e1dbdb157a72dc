/* State of a running launch; private to src/interp. */
#ifndef HD_INTERP_INTERP_PRIV_H
#define HD_INTERP_INTERP_PRIV_H

#include <assert.h>

#include "interp/interp_cta.h"
#include "analysis/analysis.h"
#include "model/eval.h"
#include "ir/probe.h"

enum { INTERP_WARP = 32, INTERP_NBARS = 16, INTERP_MAX_THREADS = 1024 };

enum interp_state {
    INTERP_RUN,
    INTERP_WAIT_WARP,   /* at a collective with a member mask */
    INTERP_WAIT_ACTIVE, /* at activemask */
    INTERP_WAIT_BAR,
    INTERP_WAIT_CLUSTER, /* for the cluster's barrier to open */
    INTERP_ENDED,
};

struct interp_frame {
    struct interp_frame *caller;
    const struct ir_func *func;
    const struct ir_instr *pc; /* next to execute; a waiting instruction stays here */
    uint64_t local_base;       /* of the function's variables in the local window */
    uint64_t caller_sp;        /* the thread's sp before the call */
    uint64_t srcloc_key;       /* of the last NOTE: imm of that */
    uint32_t done;             /* operations since then */
    uint32_t depth;            /* frames there are, with this one */
    struct ir_bits regs[];     /* by value id; then PTX's registers, and which of them are known */
};

struct interp_thread {
    struct interp_cta *cta;
    struct interp_warp *warp;
    struct interp_frame *frame; /* innermost */
    enum interp_state state;
    const struct ir_instr *polls; /* by which it last looked for what it may wait for */
    uint32_t lane;
    uint32_t tid[3];
    uint32_t mask;        /* WAIT_WARP: members */
    uint32_t bar;         /* WAIT_BAR */
    uint32_t waited;      /* WAIT_ACTIVE: turns */
    uint8_t returned[64]; /* what a function last returned, for a debugger */
    uint32_t returned_B;
    bool at_cluster; /* has arrived at the cluster's barrier in its round `generation` */
    uint64_t generation;
    uint64_t sp; /* first free byte of the local window */
    char *local;
};

struct interp_warp {
    uint32_t index;
    uint32_t nlanes;
    struct interp_thread *lanes; /* nlanes of them */
    bool has_passed;             /* a lane's test of an mbarrier: others have their turn */
    bool has_waited;             /* since its last barrier: see warp_turn() */
};

struct interp_bar {
    uint32_t count;   /* expected, 0 = all; of the current round */
    uint32_t arrived; /* threads in the current round; 0 = idle */
    uint32_t votes;   /* of these with a true predicate */
    uint32_t by_warp[INTERP_MAX_THREADS / INTERP_WARP];
};

struct interp_cta {
    struct interp_run *run;
    uint32_t id[3];
    uint32_t nthreads;
    uint32_t nwarps;
    uint32_t live;
    uint32_t smid;
    bool owns_shared; /* the memory is ours */
    char *local;      /* windows of its threads, each local_step_B further */
    uint64_t local_step_B;
    void *local_memory; /* where that is, if it is ours */
    uint32_t rank;      /* in its cluster */
    char *shared;
    char *windows; /* shared window of rank 0: struct ir_window */
    struct interp_cluster *cluster;
    struct interp_cluster alone; /* that of a CTA by itself */
    struct interp_thread *threads;
    struct interp_warp *warps;
    struct interp_bar bars[INTERP_NBARS];
    struct ir_probe_cta probe;
    bool is_observed;
    const uint8_t *order;             /* of its warps, by the schedule; NULL: ascending */
    uint64_t dice;                    /* interleaved: state of its numbers; 0: it is not */
    const struct interp_debug *debug; /* NULL: nobody debugs it */
    void *debug_slot;                 /* the debugger's */
    uint64_t printed, printed_ever;   /* texts; in other pasts of the CTA */
    uint32_t epoch;                   /* counts how often a debugger has changed all of it */
};

struct interp_run {
    const struct interp_launch *launch;
    const struct ir_module *module;
    struct interp_fault fault;
    enum hd_status status;
    struct ir_window window;
    uint64_t shared_B;   /* whole window */
    uint64_t local_B;    /* whole window of one thread */
    uint32_t cluster[3]; /* CTAs, at least 1 */
    uint32_t cluster_ctas;
    uint64_t steps;           /* instructions executed: the clock */
    uint64_t effects;         /* what other threads can see: writes, barriers, ends */
    struct interp_thread *at; /* executes an instruction */
    uint32_t nfuncs;
    const struct ir_func **funcs; /* by handle index */
};

/* What one instruction did. */
enum interp_step {
    INTERP_NEXT,    /* go on behind it */
    INTERP_JUMPED,  /* frame->pc is set (or the thread has ended) */
    INTERP_BLOCKED, /* waits; pc stays */
    INTERP_FAULTED, /* run->status is set */
};

static inline struct ir_bits *interp_reg(struct interp_thread *t, const struct ir_value *v)
{
    assert(v->id < t->frame->func->nvalues);
    return &t->frame->regs[v->id];
}
static inline uint64_t interp_src(struct interp_thread *t, uint32_t i)
{
    assert(i < t->frame->pc->nsrc);
    return interp_reg(t, t->frame->pc->src[i])->lo;
}
static inline void interp_set(struct interp_thread *t, uint32_t i, uint64_t value)
{
    assert(i < t->frame->pc->ndst);
    *interp_reg(t, t->frame->pc->dst[i]) = (struct ir_bits){value, 0};
}

/* What a debugger sees (interp_debug.h): by PTX register, its value, and the id + 1 of the value of
 * the IR that it is; 0: none. */
static inline struct ir_bits *interp_ptx_regs(const struct interp_frame *f)
{
    return (struct ir_bits *)&f->regs[f->func->nvalues];
}
static inline uint32_t *interp_ptx_known(const struct interp_frame *f)
{
    return (uint32_t *)(interp_ptx_regs(f) + f->func->nregs);
}

/* Instructions that read what others write say so, for interp_cta_deadlock(). */
static inline void interp_note_poll(struct interp_thread *t)
{
    if (ir_polls(t->frame->pc))
        t->polls = t->frame->pc;
}

/* A waiting thread goes on behind the instruction. */
static inline void interp_release(struct interp_thread *t)
{
    t->state = INTERP_RUN;
    t->frame->pc = t->frame->pc->next;
}

/* interp.c: ends the launch; the message gets the place appended. */
enum interp_step interp_fail(struct interp_thread *t, enum hd_status status, const char *fmt, ...)
    HD_PRINTF(3, 4);

/* interp_cta.c */
struct interp_placement;
/* run->launch and run->module are set. */
enum hd_status interp_run_init(struct interp_run *run) HD_MUST_CHECK;
void interp_run_fini(struct interp_run *run);
/* The CTA there; NULL: no memory. What `place` says nothing of, it has itself. */
struct interp_cta *interp_cta_start(struct interp_run *run, const struct interp_placement *place);
void interp_cta_end(struct interp_cta *cta);
/* A turn for each warp. True when any lane executed something. */
bool interp_cta_round(struct interp_cta *cta);
/* Ends the launch: nothing can run any more. */
void interp_cta_deadlock(struct interp_cta *cta);

/* interp_step.c: executes the instruction at frame->pc. */
void interp_step(struct interp_thread *t);
/* charge_B: stack that the call itself takes. */
bool interp_enter(struct interp_thread *t, const struct ir_func *func, uint64_t charge_B);
void interp_leave_all(struct interp_thread *t);
uint64_t interp_sreg(const struct interp_thread *t, enum ir_sreg sreg);

/* interp_mem.c */
/* The host pointer of bytes that no page boundary divides, aligned; NULL after a fault. */
void *interp_host_at(struct interp_thread *t, enum ir_space space, uint64_t address,
                     uint64_t size_B, uint64_t align_B, bool write);
/* The instruction's atomic on 2, 4 or 8 bytes: what was there. */
uint64_t interp_combine(const struct ir_instr *in, void *p, uint64_t a, uint64_t b);
uint64_t interp_address(struct interp_thread *t); /* of the instruction, in its space */
enum interp_step interp_load(struct interp_thread *t);
enum interp_step interp_store(struct interp_thread *t);
enum interp_step interp_atom(struct interp_thread *t);
/* The 16 bytes at the address of the instruction that the lane is at; NULL after a fault. */
char *interp_row(struct interp_thread *t);
uint64_t interp_to_generic(struct interp_thread *t, enum ir_space space, uint64_t address);
uint64_t interp_from_generic(struct interp_thread *t, enum ir_space space, uint64_t address);
/* Where its CTA's window begins, as an address of shared memory. */
uint64_t interp_own_window(const struct interp_thread *t);
bool interp_is_space(const struct interp_thread *t, enum ir_space space, uint64_t address);
/* Reads generic memory for printf; false = not readable. */
bool interp_read(void *thread, uint64_t address, void *out, size_t size_B);
/* The same for what a system function answers with. */
bool interp_write(struct interp_thread *t, uint64_t address, const void *bytes, size_t size_B);
/* size_B fresh bytes of the thread's stack: window offset, or UINT64_MAX when it is full. */
uint64_t interp_push_local(struct interp_thread *t, uint64_t size_B, uint64_t align_B);

/* interp_async.c */
enum interp_step interp_copy(struct interp_thread *t);
enum interp_step interp_reduce(struct interp_thread *t);
/* interp_multimem.c */
enum interp_step interp_multimem(struct interp_thread *t);

/* interp_tensor_copy.c */
enum interp_step interp_tensor_copy(struct interp_thread *t);
enum interp_step interp_mbarrier(struct interp_thread *t);

/* interp_texture.c */
enum interp_step interp_tex(struct interp_thread *t);

/* interp_matrix.c: the members of a warp at once, all of them at `in`; false: a fault. */
bool interp_matrix(struct interp_warp *warp, uint32_t members, const struct ir_instr *in);

/* interp_tensor.c: registers are as for ir_tensor_do(); false: a fault. */
bool interp_tensor(struct interp_thread *t, const struct ir_tensor *op, unsigned lane,
                   const uint32_t *src, uint32_t *dst);
enum interp_step interp_tensor_thread(struct interp_thread *t);
/* The last thread of a CTA has ended: nothing may be left. */
void interp_tensor_end(struct interp_thread *t);

/* interp_warp.c */
enum interp_step interp_collective(struct interp_thread *t);
enum interp_step interp_activemask(struct interp_thread *t);
enum interp_step interp_barrier(struct interp_thread *t);
/* A thread has ended: whoever waited only for it goes on. */
void interp_thread_gone(struct interp_thread *t);
/* Answers lanes that wait at activemask when it is time. True when it did. */
bool interp_settle_active(struct interp_warp *warp, bool others_can_run);

/* interp_cluster.c */
enum interp_step interp_cluster_bar(struct interp_thread *t);
/* Lets threads of the warp go on whose barrier of the cluster has opened. */
void interp_settle_cluster(struct interp_warp *warp);
/* A thread has ended. */
void interp_cluster_leave(struct interp_thread *t);
/* CTAs that must run together; 1: a kernel that looks at its own only. */
uint32_t interp_cluster_ctas(const struct interp_run *run);
/* Starts as many, cluster number `index` of the grid; false: no memory. */
bool interp_cluster_start(struct interp_run *run, uint64_t index, struct interp_cta **out_ctas);
void interp_cluster_end(struct interp_cta **ctas);

/* interp_probe.c. False: no memory. */
bool interp_observe(struct interp_cta *cta);
void interp_observe_end(struct interp_cta *cta);
enum interp_step interp_probe(struct interp_thread *t);
/* Of a matrix operation, when its lanes have come: `in` may be its probe. False: they fail. */
bool interp_probe_warp(struct interp_warp *warp, uint32_t members, const struct ir_instr *in);
/* interp_debug.c */
const struct interp_debug *interp_debug_of(const struct ir_module *module);
uint32_t interp_debug_lanes(struct interp_warp *warp);
void interp_note(struct interp_thread *t);
void interp_debug_return(struct interp_thread *t); /* at the RET of a function */

/* interp_builtin.c */
enum interp_step interp_builtin(struct interp_thread *t);

#endif
