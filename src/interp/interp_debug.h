/*
 * What a debugger sees of kernels that the interpreter runs, and how it holds them.
 *
 * A module that was compiled for a debugger (compile.h: `debug`) has NOTEs: where an instruction of
 * the PTX begins, and which value a PTX register has from then on. The interpreter keeps both per
 * frame. So a thread's place is an instruction of the PTX text, and its registers are PTX's,
 * whatever the lowering made of them.
 *
 *     interp_debug_use(&ops);      before the first CTA
 *
 * Owners: the debugger's ops are process-wide and last. Threads, warps and CTAs are the
 * interpreter's: between begin() and end() the debugger may look at them while it holds what
 * enter() took.
 *
 * Threads: a CTA calls enter() before it executes anything and leave() when it has; the ops may
 * block there and in pass(). A signal may leave a round without leave(): the next op on that thread
 * is then fault() or end().
 */
#ifndef HD_INTERP_INTERP_DEBUG_H
#define HD_INTERP_INTERP_DEBUG_H

#include "interp/interp.h"

struct interp_cta;
struct interp_warp;
struct interp_thread;

struct interp_debug {
    void (*begin)(struct interp_cta *cta);
    void (*end)(struct interp_cta *cta);
    void (*enter)(struct interp_cta *cta);
    void (*leave)(struct interp_cta *cta);
    /* Before each running lane of the warp executes one operation: the lanes that may. */
    uint32_t (*pass)(struct interp_warp *warp);
    /* The launch is about to end with this error of the thread. */
    void (*fault)(struct interp_thread *t, enum hd_status status, const char *why);
    /* The thread is about to access these bytes of the host's memory. False: it does not, because
     * the CTA was restored meanwhile. */
    bool (*access)(struct interp_thread *t, const void *bytes, uint64_t size_B, bool write);
    /* PTX register number `reg` of its innermost frame has a new value. */
    void (*wrote)(struct interp_thread *t, uint32_t reg);
};

/* For CTAs that begin later, of modules with NOTEs; NULL: no debugger. */
void interp_debug_use(const struct interp_debug *ops);

/* ---- CTAs, warps, threads */

const struct interp_launch *interp_debug_launch(const struct interp_cta *cta);
const uint32_t *interp_debug_ctaid(const struct interp_cta *cta);
uint32_t interp_debug_sm(const struct interp_cta *cta);
uint32_t interp_debug_nthreads(const struct interp_cta *cta);
struct interp_thread *interp_debug_thread(const struct interp_cta *cta, uint32_t index);
struct interp_cta *interp_debug_cta(const struct interp_thread *t);
uint32_t interp_debug_epoch(const struct interp_cta *cta); /* changes when it is restored */
/* The debugger's own. */
void **interp_debug_slot(struct interp_cta *cta);
struct interp_cta *interp_debug_warp_cta(const struct interp_warp *warp);
uint32_t interp_debug_warp_index(const struct interp_warp *warp);
uint32_t interp_debug_index(const struct interp_thread *t); /* in its CTA */
const uint32_t *interp_debug_tid(const struct interp_thread *t);

enum interp_debug_state {
    INTERP_DEBUG_RUNS,
    INTERP_DEBUG_AT_BARRIER,
    INTERP_DEBUG_WAITS, /* for lanes of its warp, for its cluster */
    INTERP_DEBUG_ENDED,
};
enum interp_debug_state interp_debug_state(const struct interp_thread *t);

/* ---- frames: 0 is the innermost */

struct interp_spot {
    const struct ir_func *func;
    uint32_t line, col; /* in the PTX; 0: before the first instruction */
    bool is_start;      /* nothing of that instruction was executed */
    uint32_t done;      /* operations of it that were */
};

unsigned interp_debug_depth(const struct interp_thread *t); /* 0: it has ended */
struct interp_spot interp_debug_spot(const struct interp_thread *t, unsigned frame);
/* Low and high half. False: no such register, or it was never written. */
bool interp_debug_reg(const struct interp_thread *t, unsigned frame, uint32_t reg,
                      uint64_t out_value[2]);
/* From here on code reads that. False: as above. */
bool interp_debug_reg_set(struct interp_thread *t, unsigned frame, uint32_t reg,
                          const uint64_t value[2]);
/* What a function last returned to this thread, as much of it as is kept: bytes as in memory. */
const uint8_t *interp_debug_returned(const struct interp_thread *t, uint32_t *out_size_B);
/* Where a variable of the frame's function, or a shared one, lies; NULL: it is of neither kind. */
void *interp_debug_var(const struct interp_thread *t, unsigned frame, const struct ir_var *var);
/* Bytes of the windows of a CTA: its shared memory. */
void *interp_debug_shared(const struct interp_cta *cta, uint64_t *out_size_B);
void *interp_debug_local(const struct interp_thread *t, uint64_t *out_size_B);
/*
 * A CTA as it is between two operations, but for memory that is not its own, to go back to: any
 * number of times, while it lives. NULL: no memory, or it is part of a cluster or has tensor
 * memory. A round that is under way ends when the CTA is restored. False: no memory; the CTA is
 * good for nothing but its end.
 */
struct interp_saved;
struct interp_saved *interp_debug_save(const struct interp_cta *cta) HD_MUST_CHECK;
bool interp_debug_restore(struct interp_cta *cta, const struct interp_saved *saved) HD_MUST_CHECK;
void interp_debug_saved_free(struct interp_saved *saved);
/*
 * A thread as it was in another process, to be looked at: core dumps. Frames come outermost first.
 * HD_CORRUPT: it is none of this kernel's; HD_NO_MEMORY. The CTA is good for nothing but its end
 * then.
 */
struct interp_debug_reg {
    uint32_t reg;
    uint64_t value[2]; /* low and high half */
};
struct interp_debug_frame {
    const struct ir_func *func; /* with a body */
    uint32_t line, col;         /* in the PTX */
    uint64_t local_base;        /* interp_debug_local_base() */
    const struct interp_debug_reg *regs;
    size_t nregs;
};
struct interp_debug_thread {
    enum interp_debug_state state;
    char *local; /* its window; stays the caller's */
    const uint8_t *returned;
    uint32_t returned_B;
    const struct interp_debug_frame *frames;
    size_t nframes;
};
enum hd_status interp_debug_revive(struct interp_thread *t, const struct interp_debug_thread *was)
    HD_MUST_CHECK;
/* Where a frame's variables begin in the thread's window. */
uint64_t interp_debug_local_base(const struct interp_thread *t, unsigned frame);
uint64_t interp_debug_saved_B(const struct interp_saved *saved); /* how much memory it takes */
/* Special registers, as kernels read them. */
uint64_t interp_debug_sreg(const struct interp_thread *t, enum ir_sreg sreg);

#endif
