/*
 * What every engine that runs a launch means alike, whatever its threads look like: system
 * functions, special registers, and the words for who waits where. The interpreter has it from
 * here, and so has the simulated GPU.
 */
#ifndef HD_INTERP_INTERP_SHARED_H
#define HD_INTERP_INTERP_SHARED_H

#include "interp/interp.h"
#include "ir/probe.h"

/* ---- system functions */

struct interp_caller {
    const struct interp_launch *launch;
    uint32_t ctaid[3], tid[3];
    uint64_t thread; /* its number in the grid */
    /* The thread's memory; false: it must not touch that. `memory` is their first argument. */
    void *memory;
    bool (*read)(void *memory, uint64_t address, void *out, size_t size_B);
    bool (*write)(void *memory, uint64_t address, const void *bytes, size_t size_B);
    /* Instead of the launch's print(); NULL: that. */
    void (*print)(void *memory, bool is_error, const struct hd_buf *text);
};

enum { INTERP_SYSTEM_WORDS = 4 };
/* How many words of arguments a function has; 0: there is none of that number. */
unsigned interp_system_words(uint64_t function);
/*
 * Calls system function `function` (enum ir_builtin). NULL, with the result, which is 0 of those
 * that have none; or what is wrong, with the status of the fault.
 */
const char *interp_system_call(const struct interp_caller *caller, uint64_t function,
                               const uint64_t *args, uint64_t *out_result,
                               enum hd_status *out_status);
/* Prints as the launch says. */
void interp_print(const struct interp_launch *launch, bool is_error, const struct hd_buf *text);

/* ---- special registers */

/* Where a thread runs. */
struct interp_thread_ids {
    const struct interp_launch *launch;
    const uint32_t *cluster; /* CTAs of one, in each direction; 1 without clusters */
    const uint32_t *ctaid, *tid;
    uint32_t lane, warp, nwarps, smid;
    uint32_t rank; /* of the CTA in its cluster */
    uint64_t steps;
    uint64_t shared_B;
};

/* Of registers of 32 bits more than these may be set: the lower half is meant. */
uint64_t interp_sreg_at(const struct interp_thread_ids *ids, enum ir_sreg sreg);

/* ---- observers */

/*
 * Tells the observer of the launch that a CTA begins; `cta` has its id, multiprocessor and windows.
 * *out_observed: there is one, who is to be told of its end. False: no memory.
 */
bool interp_observer_begin(const struct interp_launch *launch, struct ir_probe_cta *cta,
                           bool *out_observed);

/* ---- deadlocks */

enum { INTERP_WAITERS_MAX = 6 /* groups of threads that a message names */ };
/* "3 threads of warps 0,2 wait"; bits of warps. */
void interp_print_waiters(struct hd_buf *out, uint32_t threads, uint32_t warps);
/* " at barrier 2, where 3 of 64 threads have arrived" */
void interp_print_at_barrier(struct hd_buf *out, unsigned barrier, uint32_t arrived,
                             uint32_t expected);
void interp_print_at_cluster(struct hd_buf *out, uint32_t arrived, uint32_t expected);

#endif
