/*
 * The reference interpreter: runs a kernel of an IR module, one instruction of one thread at a
 * time.
 *
 * It is the oracle for both backends, so it prefers the obvious to the fast: a value is bits in a
 * per-frame register file, every pure operation goes through ir_eval(), every memory access is
 * checked for alignment and for its address. The lanes of a warp advance in turn by one
 * instruction, warps in turns of a few: spin locks make progress and convergent code runs in step.
 *
 * Semantics worth knowing:
 *   - Warp collectives wait until every living lane of the member mask has reached the same
 *     operation with the same mask. activemask gives the lanes waiting at the same instruction
 *     once no other lane of the warp can run.
 *   - Barriers count threads; a warp whose living lanes have all arrived counts as 32 against an
 *     explicit thread count, and ended threads are not waited for.
 *   - CTAs start in index order; `resident_ctas` of them are interleaved (all, when cooperative).
 *     When none has ended for a while, they may wait for one that has not started: more come.
 *   - Shared and local windows lie in host memory, so their generic addresses are host addresses.
 *   - When nothing can run any more the launch ends with HD_TIMEOUT and says who waits where.
 *
 * Threads: one launch runs on the calling thread. Launches of one module may run concurrently.
 * Requires ir_layout_windows() to have been called on the module.
 */
#ifndef HD_INTERP_INTERP_H
#define HD_INTERP_INTERP_H

#include "ir/ir.h"

struct ir_observer;
struct ir_texture_table;
struct ir_replicas;
struct ir_schedule;

/*
 * What the device supplies. All may be NULL but var_address (if the kernel names global or const
 * variables): then every address is good, printf goes nowhere, malloc gives NULL.
 */
struct ir_runtime_io;
struct interp_ops {
    /* Host address of a global or const variable. */
    uint64_t (*var_address)(void *ctx, const struct ir_var *var);
    /* May the kernel access these bytes? Its own shared, local and parameter bytes are fine. */
    bool (*check)(void *ctx, uint64_t address, uint64_t size_B, bool write);
    /*
     * All bytes around an address that `check` has allowed which it would allow as well while the
     * launch runs. False, or NULL: it is to be asked each time.
     */
    bool (*range)(void *ctx, uint64_t address, bool write, uint64_t *out_start,
                  uint64_t *out_size_B);
    /* Where bytes of global memory really are, after `check`; they do not cross a page. */
    void *(*host)(void *ctx, uint64_t address, bool write);
    /* Device printf; `is_error`: an assertion message. */
    void (*print)(void *ctx, bool is_error, const char *text, size_t len);
    uint64_t (*malloc_)(void *ctx, uint64_t size_B);
    bool (*free_)(void *ctx, uint64_t address); /* false: not a block of malloc_ */
    /*
     * A call of the CUDA runtime (ir/device_runtime.h); NULL: there is none, and kernels that call
     * it fail.
     */
    void (*runtime)(void *ctx, struct ir_runtime_io *io);
    /* Asked now and then; true ends the launch with HD_TIMEOUT. */
    bool (*cancelled)(void *ctx);
    /*
     * The same, for a launch that waits for ever: `effects` counts what threads do that others can
     * see, and stays the same while all of them only poll.
     */
    bool (*gives_up)(void *ctx, uint64_t effects);
};

struct interp_launch {
    const struct ir_func *kernel; /* its module has been laid out */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared_B;
    const void *params;  /* kernel->param_size_B bytes */
    uint64_t stack_B;    /* local memory per thread when calls recurse or allocate; 0 = 64 KiB */
    uint32_t cluster[3]; /* CTAs of a cluster; 0: the launch names no size */
    bool cooperative;
    uint32_t resident_ctas; /* 0 = 4 */
    uint32_t resident_max;  /* so many at most, in time; 0 = resident_ctas */
    uint32_t nsms;          /* %nsmid; 0 = 1 */
    const uint32_t *sms;    /* the ones it runs on; NULL: on all */
    uint32_t nused;         /* of them */
    uint64_t grid_id;
    uint32_t envreg[2];
    const struct interp_ops *ops; /* may be NULL */
    void *ctx;
    /* What handles of textures and surfaces name; may be NULL when no kernel asks. */
    const struct ir_texture_table *textures;
    /* Of a multimem address (model/multimem.h); may be NULL. */
    bool (*replicas)(uint64_t address, struct ir_replicas *out_replicas);
    /* Who is told by probes, and what its launch_begin() said; NULL: nobody. */
    const struct ir_observer *observer;
    void *observed;
    const struct ir_schedule *schedule; /* NULL: the usual */
};

/* Place of a fault; zero when there was none. */
struct interp_fault {
    uint32_t ctaid[3];
    uint32_t tid[3];
    uint64_t address;
    uint32_t line; /* 0 = unknown */
    const char *file;
    const struct ir_instr *instr;
};

/*
 * Handles of functions (FUNCADDR, relocations of variables): by ir_func.index. The
 * same as the JIT's, so that images of variables look alike on all devices.
 */
#define INTERP_FUNC_HANDLE(index) (((uint64_t)(index) + 1) << 4)

/*
 * Runs the whole grid. HD_LAUNCH_LIMIT (block of 0 or more than 1024 threads), HD_ILLEGAL_ADDRESS,
 * HD_MISALIGNED, HD_TRAP, HD_ASSERT, HD_STACK_OVERFLOW, HD_TIMEOUT (deadlock, cancelled),
 * HD_NOT_SUPPORTED, HD_NO_MEMORY; the message names kernel, block, thread and source line.
 * out_fault may be NULL.
 */
enum hd_status interp_launch(const struct interp_launch *launch, struct interp_fault *out_fault)
    HD_MUST_CHECK;

#endif
