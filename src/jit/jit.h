/*
 * The JIT: one kernel of an IR module + a launch class -> host machine code for one warp.
 *
 * The compiled form is a resumable warp function. A warp is one flow of control over two halves of
 * 16 lanes; at a barrier, or when it spins on memory, it saves what is live into its frame and
 * returns. The caller (dev/cpu) owns scheduling: it runs the warps of a CTA in turn until all are
 * done. No host stack is held across a suspend point, so any number of CTAs can be in flight on
 * one thread.
 *
 *     warp->state = 0;                             // entry
 *     while ((warp->state = code->run(&cta, warp)) != JIT_DONE)
 *         ...let others run...
 *
 * Generated code is position independent and refers to nothing outside itself but a few libc and
 * jit_rt_* symbols: everything else is reached through struct jit_cta, so objects can be cached on
 * disk. The structs below are an ABI between generated code and dev/cpu; jit_abi.c pins their
 * offsets, and the cache key covers this file.
 *
 * A kernel that loads always runs. Code is made in forms, from the fastest to the simplest; when
 * one cannot be made, whatever the reason, the next one is, and behind the last stands the
 * interpreter (enum jit_form). All forms give the same bytes. The log says once per kernel which
 * form took over and why.
 *
 * Threads: jit_kernel_get() may be called by any thread; a variant is compiled once, and different
 * ones at the same time. Code is immutable and lives until jit_module_destroy(). A CTA is run by
 * one host thread at a time, which is why shared-memory atomics are plain operations.
 */
#ifndef HD_JIT_JIT_H
#define HD_JIT_JIT_H

#include <stdatomic.h>

#include "ir/ir.h"
#include "jit/launch_class.h"

/* What stopped the warp: the low 2 bits of the state that run() returned. */
enum jit_stop {
    JIT_DONE = 0, /* the whole state is 0: every lane has ended */
    JIT_BARRIER =
        1, /* waits at a CTA barrier; see struct jit_code.simple_barriers for who opens it */
    JIT_YIELD = 2, /* polls memory: run other warps, CTAs and threads before resuming it */
};
#define JIT_STOP(state) ((enum jit_stop)((state) & 3u))

/*
 * The forms of a kernel, fastest first. name, text, what it is. Each generated form has a fault
 * point, HD_FAULT_JIT_name, which makes it fail.
 */
/* clang-format off */
#define JIT_GENERATED_FORM_LIST(X)                                                                 \
    X(FAST, "fast", "everything the code generator knows")                                         \
    X(PLAIN, "plain", "nothing optional: no guesses, patterns, prefetches, regions")               \
    X(SIMPLE, "simple", "dispatch mode, every value in memory, LLVM without optimisation")
#define JIT_FORM_LIST(X)                                                                           \
    JIT_GENERATED_FORM_LIST(X)                                                                     \
    X(INTERP, "interpreted", "no code: src/interp runs the CTA in the device's memory")
/* clang-format on */

enum jit_form {
#define X(name, text, doc) JIT_##name,
    JIT_FORM_LIST(X)
#undef X
        JIT_FORM_COUNT
};
const char *jit_form_name(enum jit_form form);

struct ir_probe_range;
struct ir_texture;
struct ir_replicas;
struct jit_cta;
struct jit_warp;
struct jit_variant;

/* One CTA barrier (bar.sync a). Accounted by the services, read by generated code. */
struct jit_barrier {
    uint32_t arrived;      /* threads since it last opened */
    uint32_t votes;        /* of these, threads whose predicate was true (bar.red) */
    uint32_t generation;   /* counts openings */
    uint32_t result_votes; /* votes and arrivals of the last complete round */
    uint32_t result_arrived;
};

#define JIT_NBARRIERS       16
#define JIT_CLUSTER_BARRIER 16 /* its generation is in bars[], the rest is the device's */

/*
 * What generated code asks of its device. `lanes` is the mask of lanes that ask; per-lane operands
 * are arrays of 32. fault and assertfail (when a lane asserts) do not return: they leave by the
 * caller's longjmp. `instr_idx` is the number of the instruction in the kernel's module
 * (ir_module_instr_at), 0 when there is none.
 */
struct jit_services {
    /* Counts popcount(lanes) arrivals at barrier `id` (0..15). `count` 0 = all live threads. Opens
     * it when complete. Returns the generation to wait for to pass. */
    uint32_t (*bar_arrive)(struct jit_cta *cta, struct jit_warp *warp, uint32_t id, uint32_t count,
                           uint32_t lanes, uint32_t votes);
    void (*vprintf_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                     const uint64_t *format, const uint64_t *args, uint32_t *out_result);
    void (*assertfail)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                       uint32_t instr_idx, const uint64_t *message, const uint64_t *file,
                       const uint32_t *line, const uint64_t *function, const uint64_t *charsize);
    void (*malloc_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                    const uint64_t *size_B, uint64_t *out_ptr);
    void (*free_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, const uint64_t *ptr);
    /* HD_MISALIGNED, HD_ILLEGAL_ADDRESS (also of a call), HD_STACK_OVERFLOW, HD_TRAP. */
    void (*fault)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, uint32_t instr_idx,
                  uint32_t status, uint64_t address);
    uint64_t (*clock)(struct jit_cta *cta);       /* %clock64: host cycles */
    uint64_t (*globaltimer)(struct jit_cta *cta); /* ns */
    void (*nanosleep)(struct jit_cta *cta, uint32_t time_ns);
    /* A function that was not inlined waits for somebody: see waits_in_calls. */
    void (*yield)(struct jit_cta *cta, struct jit_warp *warp);
    /* Strict code: may these lanes touch size_B bytes each, outside of the device's space? A lane
     * that may not is a fault. */
    void (*check)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, uint32_t instr_idx,
                  const uint64_t *address, uint32_t size_B);
    /* A fault, as above, with the reason, which lives on; NULL: the status says it. */
    void (*refuse)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, uint32_t instr_idx,
                   uint32_t status, uint64_t address, const char *reason);
    /* The texture or surface that a handle names, or NULL. */
    const struct ir_texture *(*texture)(struct jit_cta *cta, uint64_t handle);
    /* ir/device_runtime.h: `args` are addresses of the words. */
    void (*runtime)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                    const uint64_t *call, const uint64_t *args, uint64_t *out_result);
    /* The barrier of the cluster: lanes arrive; the generation that they wait for to pass. */
    uint32_t (*cluster_arrive)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes);
    uint32_t (*cluster_wait)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes);
    /* Where the replicas of a multimem address are; false: it is none. */
    bool (*replicas)(struct jit_cta *cta, uint64_t address, struct ir_replicas *out_replicas);
    /* The CTA of this rank in the cluster, which has it. */
    struct jit_cta *(*cluster_cta)(struct jit_cta *cta, uint32_t rank);
    /* A probe (ir/probe.h): arrays of 32 words for each operand of the instruction. */
    void (*probe)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, uint32_t instr_idx,
                  const uint64_t *const *operands);
};

/* Facts of one launch, shared by all its CTAs. */
struct jit_launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t nwarps; /* per CTA */
    uint32_t dynamic_smem_B;
    uint32_t total_smem_B;
    uint32_t nsms; /* %nsmid */
    uint32_t envreg[2];
    uint64_t grid_id;
    const char *params;   /* the parameter block */
    const uint64_t *vars; /* by ir_var.index; 0 for shared ones */
    uint64_t shared_B;    /* size of the shared window */
    uint64_t local_B;     /* size of one thread's local window, a multiple of 16 */
    const struct jit_services *services;
    void *device; /* for the services */
    /* Strict code touches addresses in here without asking. */
    uint64_t space_va, space_B;
    uint32_t cluster[3]; /* CTAs of a cluster, at least 1 */
    uint32_t cluster_ctas;
    uint32_t explicit_cluster; /* 1: the launch named a size */
    uint32_t pad;
    /* By place: accesses that a probe need not be told of. Set when kernels have probes. */
    const struct ir_probe_range *ranges;
    /* What the caches hold, where stores of more than that may go past them; 0: none may. The
     * device waits for such stores when the CTAs are over. */
    uint64_t caches_B;
};

struct jit_warp {
    uint32_t index; /* in the CTA */
    uint32_t alive; /* lanes that exist and have not ended; set at the start, shrinks */
    uint32_t state; /* 0 at the start, then as returned by run() */
    uint32_t polls; /* number of the instruction that last looked for what it may wait for; 0 */
    char *frame;    /* code->frame_B bytes, 64-byte aligned, zeroed at the start of the CTA */
};

struct jit_cta {
    const struct jit_launch *launch;
    uint32_t ctaid[3];
    uint32_t smid; /* worker number */
    char *shared;  /* host address of the shared window, aligned to IR_SHARED_ALIGN_B */
    char *local;   /* host address of thread 0's local window; thread t's is t * local_B further */
    char *frames;  /* of the warps, frame_B each, 64-byte aligned: for run_cta */
    struct jit_warp *warps;
    uint32_t live_threads; /* threads that have not ended: what a barrier without count expects */
    uint32_t opened;       /* counts barrier openings of any number */
    char *cluster;         /* shared window of rank 0 of its cluster: see jit_cluster.h */
    uint32_t cluster_rank; /* its own */
    uint32_t pad;
    struct jit_barrier bars[JIT_NBARRIERS + 1];
    struct ir_tensor_memory *tensor; /* NULL until it is used; hd_free() */
    uint64_t *counts;                /* of a module that has them: ir_count_words() */
};

struct jit_code {
    /* JIT_INTERP: neither run nor run_cta is there. */
    enum jit_form form;
    /* Runs the warp from warp->state until it stops; returns the new state. MXCSR must be `mxcsr`.
     */
    uint32_t (*run)(struct jit_cta *cta, struct jit_warp *warp);
    /*
     * Runs all warps of the CTA to their end, or NULL: for kernels that never stop (no barrier, no
     * spin), and those whose warps all run through the same barriers. `alive` of every warp is
     * derived from the block size; cta->warps is not used. `run` is NULL then.
     */
    void (*run_cta)(struct jit_cta *cta);
    uint64_t frame_B; /* per warp; multiple of 64, may be 0 */
    uint32_t mxcsr;
    bool has_barrier; /* uses bars[], which must be zero when the CTA starts */
    /*
     * All barriers are number 0 with all threads, in convergent code: generated code does not count
     * arrivals. When every warp that is not done has stopped at JIT_BARRIER the caller moves
     * votes/arrived of bars[0] to result_*, clears them, and resumes all. Otherwise generated code
     * has called services->bar_arrive and checks generations itself: resume the warp whenever
     * cta->opened has changed.
     */
    bool simple_barriers;
    bool may_spin; /* contains a loop that may wait for another thread or the host */
    /* The same, by the IR's loops: interpreted code is may_spin, so that other work goes on. */
    bool may_wait;
    bool in_order; /* CTAs begin by their numbers: they may load what those before stored */
    /*
     * Functions that it calls may wait, and call services->yield while they do: a warp needs a host
     * stack of its own.
     */
    bool waits_in_calls;
    /*
     * Better code can be had: ask again before the next launch (jit_kernel_start), and say when a
     * launch takes long (jit_code_improve). What it brings gives the same results and, with the
     * same mxcsr and may_spin, can take over between any two CTAs of a launch.
     */
    struct jit_variant *quick; /* NULL = this is the best */
    uint64_t improve_ns;       /* how long a launch in quick code is a long one */
    uint64_t max_threads; /* a launch of more waits for better code; UINT64_MAX: any may have it */
    uint64_t min_rounds;  /* a launch of fewer does so, too */
    uint64_t cost_ops;    /* static estimate of operations per warp; UINT64_MAX when it loops */
    uintptr_t base;       /* where it lies, size_B bytes; 0: no code */
    size_t size_B;
};

/*
 * Function handles (FUNCADDR, function pointers in initialised variables): by
 * ir_func.index. Never a host address, so images stay relocatable and calls through garbage
 * are detected.
 */
#define JIT_FUNC_HANDLE(index) (((uint64_t)(index) + 1) << 4)

struct jit_module;

/* `key` (16 bytes) identifies the program for the code cache, NULL = do not cache. */
enum hd_status jit_module_create(const char *name, const uint8_t key[16],
                                 struct jit_module **out_jit) HD_MUST_CHECK;
void jit_module_destroy(struct jit_module *jit);
/* The program's text, for reports (report.h); it must outlive `jit`. Before any kernel is asked
 * for. */
void jit_module_set_ptx(struct jit_module *jit, const char *ptx);
/* The process has one CPU, which compiling takes from kernels. Before any kernel is asked for. */
void jit_module_set_alone(struct jit_module *jit, bool alone);
/* Code that checks what it touches, services->check. Before any kernel is asked for. */
void jit_module_set_strict(struct jit_module *jit, bool strict);
/*
 * The best form that can be made. The kernel and its module must outlive `jit`. Several threads
 * may ask at once: of those that want the same variant one makes it and the others wait.
 * HD_NO_MEMORY.
 */
enum hd_status jit_kernel_get(struct jit_module *jit, const struct ir_func *kernel,
                              enum jit_launch_class cls, const struct jit_code **out_code)
    HD_MUST_CHECK;

/*
 * Number of the instruction (ir_module_instr_at) to which the machine instruction at `pc` in `code`
 * belongs; 0: not known. `code` came from this module. Compiles the kernel once more, so this is
 * for faults (docs/decisions/0030).
 */
uint32_t jit_instr_find(struct jit_module *jit, const struct jit_code *code, uintptr_t pc);
/* The same for `n` of them at the price of one. */
void jit_instrs_find(struct jit_module *jit, const struct jit_code *code, const uintptr_t *pcs,
                     uint32_t *numbers, uint32_t n);

/* How large a launch is. */
struct jit_size {
    uint64_t threads;
    uint64_t rounds; /* CTAs for each of the device's threads */
};

/*
 * For a launch of that size: *slot gets code that may run it. What the code of a large kernel is at
 * first:
 *   - interpreted, for small launches of kernels without loops, while better code is made;
 *   - made quickly, else; of a small kernel, when the launch has many CTAs. A thread in the
 *     background makes what jit_kernel_get() would give when the kernel is used again and again, or
 *     jit_code_improve() says that it takes long.
 * Better code is put into the slot when it is there, so the slot must stay until
 * jit_module_destroy(), and code that was read from it before stays valid. One slot per kernel and
 * class. HEDDLE_DEBUG=sync: everybody waits for the best form.
 */
typedef _Atomic(const struct jit_code *) jit_slot;
enum hd_status jit_kernel_start(struct jit_module *jit, const struct ir_func *kernel,
                                enum jit_launch_class cls, struct jit_size size, jit_slot *slot)
    HD_MUST_CHECK;

/* A launch takes long in this code: better code shall be made, if there is any. Any thread. */
void jit_code_improve(const struct jit_code *code);

/*
 * For handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL: does not return when the signal interrupted a
 * thread that compiles. The thread stays where it is, and the next form of the kernel is made.
 * False: the signal is somebody else's.
 */
bool jit_crash_take(int sig);

/* ---- what the host can do (jit_target.c) */

enum jit_path { JIT_GENERIC, JIT_AVX2, JIT_AVX512 };
/* Beside a path, from generated code to matrices and textures: its mode flushes denormals. */
enum { JIT_FLUSHES = 1 << 8 };
/* To textures: all lanes have the first one's handles. */
enum { JIT_TEX_ONE = 1 << 9 };
bool jit_path_runs_here(enum jit_path path);
/* A level and the features beyond it that are used; bits are jit_target.c's. */
struct jit_cpu {
    enum jit_path path;
    uint32_t features;
};
/*
 * `text`: LEVEL[,-FEATURE ..] as in HEDDLE_CPU; NULL = the best of this host. HD_BAD_ARG when the
 * host lacks the level or a word is unknown; the message says what is possible.
 */
enum hd_status jit_cpu_parse(const char *text, struct jit_cpu *out) HD_MUST_CHECK;
/* "avx512 ifma vbmi" */
void jit_cpu_name(const struct jit_cpu *cpu, char *text, size_t cap);
/* The chosen path: HEDDLE_CPU or the best of this host. HD_BAD_ARG as above. */
enum hd_status jit_path_get(enum jit_path *out_path) HD_MUST_CHECK;
const char *jit_path_name(enum jit_path path);
/* "19.1.7"; loads LLVM when it is not loaded yet. */
const char *jit_llvm_version(void);

#endif
