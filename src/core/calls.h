/*
 * Which threads are inside a call of the driver API, and a way to keep calls out: what a checkpoint
 * stands on.
 *
 * Each thread counts the calls that it is in, in a record of its own, and then looks whether calls
 * are stopped: two stores and two loads. That others see it inside before it looks is the business
 * of who stops them: membarrier() makes every running thread of the process pass a barrier. So a
 * thread either sees that calls are stopped, or is seen inside.
 *
 * Calls inside calls (of a tap's listener) never wait: their outermost one would not end.
 */
#ifndef HD_CORE_CALLS_H
#define HD_CORE_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/status.h"

struct core_caller {
    _Atomic uint32_t inside; /* calls that the thread is in; written by it alone */
    bool is_known;           /* in the list of callers; the thread's own */
    struct core_caller *next, **link;
};

/* The calling thread's, until it leaves. NULL: its stack is too short for calls (base/stack.h). */
struct core_caller *core_call_enter(void);

static inline void core_call_leave(struct core_caller *caller)
{
    uint32_t inside = atomic_load_explicit(&caller->inside, memory_order_relaxed);

    atomic_store_explicit(&caller->inside, inside - 1, memory_order_release);
}

/*
 * Calls that begin from here on wait; returns when those that had begun have ended. HD_TIMEOUT,
 * without a message, when that is not so at deadline_ns (hal_time_ns(); UINT64_MAX: never), and
 * HD_NOT_SUPPORTED: calls go on then. The caller is in no call; one thread at a time.
 */
enum hd_status core_calls_stop(uint64_t deadline_ns) HD_MUST_CHECK;
void core_calls_resume(void);

#endif
