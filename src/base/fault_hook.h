/*
 * A fault of the process that may be somebody's who has no handler: a checker that closed a page.
 *
 * A device that has the process's handlers (dev/cpu/signals.h) asks the hook about what is not its
 * own, and says that it does. Without such a device hd_fault_hook_set() installs a handler, which
 * passes on what the hook does not take to the one that was there.
 *
 * Threads: any; the hook is called in the signal handler of the thread that faults.
 */
#ifndef HD_BASE_FAULT_HOOK_H
#define HD_BASE_FAULT_HOOK_H

#include <signal.h>
#include <stdbool.h>

/* True: go on at the same instruction. */
typedef bool hd_fault_fn(int sig, siginfo_t *info, void *context);

/* Also where another handler has taken its place. One thread at a time, and one hook. False: no
 * handler can be installed. */
bool hd_fault_hook_set(hd_fault_fn *hook);
/* For who has the handlers. */
void hd_fault_hook_serve(void);
bool hd_fault_hook_take(int sig, siginfo_t *info, void *context);

#endif
