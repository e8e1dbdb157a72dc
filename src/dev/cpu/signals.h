/*
 * Who receives the process's SIGSEGV and its like (signals.c).
 *
 * Faults of kernels must reach us whatever the program does with these signals, and the program's
 * own must reach the program's handlers. So we stay installed: sigaction() and signal() of this
 * library stand before the C library's and, for our signals, only note what the program asks for;
 * our handler passes on what is not ours, as the kernel would have. A program that got its
 * sigaction() elsewhere (libcuda opened late, by dlopen) is found out when the next grid starts,
 * at most every CPU_SIGNALS_CHECK_NS, or tick of the coarse clock. (docs/decisions/0043)
 *
 * Threads: all functions may be called by any thread; the handler takes no lock.
 */
#ifndef HD_DEV_CPU_SIGNALS_H
#define HD_DEV_CPU_SIGNALS_H

#include <signal.h>

#include "base/status.h"

/* Those of faults, and one that only we send: it ends the work of a thread (cancellation), or
 * asks where it is. */
#define CPU_SIGNAL_LIST(X) X(SIGSEGV) X(SIGBUS) X(SIGFPE) X(SIGILL) X(SIGURG)
#define CPU_SIGNAL_CANCEL  SIGURG

#define CPU_SIGNALS_CHECK_NS 1000000u

/* True: the signal was ours. Called in the handler. */
typedef bool cpu_signals_fn(int sig, siginfo_t *info, void *context);

/* Installs the handler, once per process. */
enum hd_status cpu_signals_install(cpu_signals_fn *ours) HD_MUST_CHECK;
/* Installs it again where another has taken its place, which is kept for what is not ours. */
void cpu_signals_reassert(void);
/* The same when the last time is long enough ago: cheap enough for every launch. */
void cpu_signals_check(void);
/*
 * Lets the thread take our signals: a fault that is blocked ends the process. Looks at most as
 * often as cpu_signals_check(), so a thread that blocks them later is seen too.
 */
void cpu_signals_unblock(void);
/* Sends CPU_SIGNAL_CANCEL to a thread of this process, which may have ended. */
void cpu_signals_cancel(int tid);
/* The same signal with another mark: the thread is to say where it is (sample.h). */
void cpu_signals_sample(int tid);
/* Is this signal one of cpu_signals_cancel(), or of cpu_signals_sample()? */
bool cpu_signals_is_cancel(int sig, const siginfo_t *info);
bool cpu_signals_is_sample(int sig, const siginfo_t *info);

#endif
