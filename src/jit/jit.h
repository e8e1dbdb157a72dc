/*
 * The JIT: one kernel of an IR module + a launch class -> host machine code for one warp.
 *
 * The compiled form is a resumable warp function. A warp is one flow of control over two halves of
 * 16 lanes; at a barrier, or when it spins on memory, it saves what is live into its frame and
 * returns. The caller (dev/cpu) owns scheduling: it runs the warps of a CTA in turn until all are
 * done. No host stack is held across a stop, so any number of CTAs can be in flight on one thread.
 *
 *     warp->state = 0;                             // entry
 *     while ((warp->state = code->run(&cta, warp)) != JIT_DONE)
 *         ...let others run...
 *
 * Generated code is position independent and refers to nothing outside itself but a few libc and
 * jit_rt_* symbols: everything else is reached through struct jit_cta, so objects can be cached on
 * disk. The structs below are an ABI between generated code and dev/cpu; their offsets are pinned
 * by jit_abi.c and are part of the cache key.
 *
 * Threads: jit_kernel_get() may be called by any thread; a variant is compiled once. Code is
 * immutable and lives until jit_module_destroy(). A CTA is run by one host thread at a time, which
 * is why shared-memory atomics are plain operations.
 */
#ifndef HD_JIT_JIT_H
#define HD_JIT_JIT_H

#include "ir/ir.h"
#include "ir/shape.h"

/* What stopped the warp: the low 2 bits of the state that run() returned. */
enum jit_stop {
    JIT_DONE = 0, /* the whole state is 0: every lane has ended */
    JIT_BARRIER =
        1, /* waits at a CTA barrier; see struct jit_code.simple_barriers for who opens it */
    JIT_YIELD = 2, /* polls memory: run other warps, CTAs and threads before resuming it */
};
#define JIT_STOP(state) ((enum jit_stop)((state) & 3u))

struct jit_cta;
struct jit_warp;

/* One CTA barrier (bar.sync a). Accounted by the services, read by generated code. */
struct jit_barrier {
    uint32_t arrived;      /* threads since it last opened */
    uint32_t votes;        /* of these, threads whose predicate was true (bar.red) */
    uint32_t generation;   /* counts openings */
    uint32_t result_votes; /* votes and arrivals of the last complete round */
    uint32_t result_arrived;
};

#define JIT_NBARRIERS 16

/*
 * What generated code asks of its device. `lanes` is the mask of lanes that ask; per-lane operands
 * are arrays of 32. fault, trap and assertfail (when a lane asserts) do not return: they leave by
 * the caller's longjmp.
 */
struct jit_services {
    /* Counts popcount(lanes) arrivals at barrier `id` (0..15). `count` 0 = all live threads. Opens
     * it when complete. Returns the generation to wait for to pass. */
    uint32_t (*bar_arrive)(struct jit_cta *cta, struct jit_warp *warp, uint32_t id, uint32_t count,
                           uint32_t lanes, uint32_t votes);
    void (*vprintf_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                     const uint64_t *format, const uint64_t *args, uint32_t *out_result);
    void (*assertfail)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                       const uint64_t *message, const uint64_t *file, const uint32_t *line,
                       const uint64_t *function, const uint64_t *charsize);
    void (*malloc_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                    const uint64_t *size_B, uint64_t *out_ptr);
    void (*free_)(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, const uint64_t *ptr);
    /* HD_MISALIGNED, HD_ILLEGAL_ADDRESS, HD_STACK_OVERFLOW, HD_TRAP, HD_NOT_SUPPORTED (bad indirect
     * call). */
    void (*fault)(struct jit_cta *cta, struct jit_warp *warp, uint32_t status, uint64_t address);
    uint64_t (*clock)(struct jit_cta *cta);       /* %clock64: host cycles */
    uint64_t (*globaltimer)(struct jit_cta *cta); /* ns */
    void (*nanosleep)(struct jit_cta *cta, uint32_t time_ns);
    /* A function that was not inlined waits for somebody: see waits_in_calls. */
    void (*yield)(struct jit_cta *cta, struct jit_warp *warp);
};

/* Facts of one launch, shared by all its CTAs. */
struct jit_launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t nwarps; /* per CTA */
    uint32_t dynamic_smem_B;
    uint32_t total_smem_B;
    uint32_t nworkers; /* threads that may run CTAs of this launch at once */
    uint32_t envreg[2];
    uint64_t grid_id;
    const char *params;   /* the parameter block */
    const uint64_t *vars; /* address of module->vars number i; 0 for shared ones */
    uint64_t shared_B;    /* size of the shared window */
    uint64_t local_B;     /* size of one thread's local window, a multiple of 16 */
    const struct jit_services *services;
    void *device; /* for the services */
};

struct jit_warp {
    uint32_t index; /* in the CTA */
    uint32_t alive; /* lanes that exist and have not ended; set at the start, shrinks */
    uint32_t state; /* 0 at the start, then as returned by run() */
    uint32_t pad;
    char *frame; /* code->frame_B bytes, 64-byte aligned, zeroed at the start of the CTA */
};

struct jit_cta {
    const struct jit_launch *launch;
    uint32_t ctaid[3];
    uint32_t smid; /* worker number */
    char *shared;  /* host address of the shared window, 128-byte aligned */
    char *local;   /* host address of thread 0's local window; thread t's is t * local_B further */
    char *frames;  /* of the warps, frame_B each, 64-byte aligned: for run_cta */
    struct jit_warp *warps;
    uint32_t live_threads; /* threads that have not ended: what a barrier without count expects */
    uint32_t opened;       /* counts barrier openings of any number */
    struct jit_barrier bars[JIT_NBARRIERS];
};

struct jit_code {
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
    /*
     * Functions that it calls may wait, and call services->yield while they do: a warp needs a host
     * stack of its own.
     */
    bool waits_in_calls;
    bool uses_printf;
    uint64_t cost_ops; /* static estimate of operations per warp; UINT64_MAX when it loops */
};

/*
 * Function handles (FUNCADDR, function pointers in initialised variables): position in
 * module->funcs order. Never a host address, so images stay relocatable and calls through garbage
 * are detected.
 */
#define JIT_FUNC_HANDLE(index) (((uint64_t)(index) + 1) << 4)

struct jit_module;

/* Keeps a reference to `module`, which must outlive the result. `key` (16 bytes) identifies its
 * content for the code cache, NULL = do not cache. */
enum hd_status jit_module_create(const struct ir_module *module, const uint8_t key[16],
                                 struct jit_module **out_jit) HD_MUST_CHECK;
void jit_module_destroy(struct jit_module *jit);
/* HD_JIT, HD_NO_MEMORY. */
enum hd_status jit_kernel_get(struct jit_module *jit, const struct ir_func *kernel,
                              enum ir_launch_class cls, const struct jit_code **out_code)
    HD_MUST_CHECK;

/* ---- what the host can do (jit_target.c) */

enum jit_path { JIT_GENERIC, JIT_AVX2, JIT_AVX512 };
/* The chosen path: HEDDLE_CPU or the best of this host. HD_BAD_ARG when the host lacks what was
 * asked for. */
enum hd_status jit_path_get(enum jit_path *out_path) HD_MUST_CHECK;
const char *jit_path_name(enum jit_path path);
/* "19.1.7"; loads LLVM when it is not loaded yet. */
const char *jit_llvm_version(void);

#endif
