/*
 * Samples of host code: where the program's threads spend their processor time, with the stacks of
 * calls that led there.
 *
 * Each thread has a timer of its own processor time (timer_create(2)), whose signal interrupts that
 * thread and no other; the handler unwinds the stack (unwind.h) and writes it to a file of the
 * process beside the recording's (format.h), for which it maps more memory itself. It needs no
 * privilege, no perf_event_open(2), and no thread of ours in the program. Time in which a thread
 * waits is not sampled; the timer looks at ticks of the kernel, so at more than these per second a
 * sample stands for several periods.
 *
 * Which threads: the program's. libheddle_threads.so (threads.h) sees them begin. Heddle's own
 * (base/thread.h) execute kernels, which are in the tables of kernels; a kernel that a thread of
 * the program executes itself while it waits is one frame with the kernel's name.
 *
 * The signal is one that the C library gives away (__libc_allocate_rtsig()): SIGRTMAX is one less
 * from then on, so no program can choose it.
 *
 * Threads: any. The handler takes no lock of others, allocates nothing, and touches no thread-local
 * data of ours, which might have to be made.
 */
#ifndef HD_PROF_SAMPLE_H
#define HD_PROF_SAMPLE_H

#include "base/status.h"
#include "prof/prof.h"

/* Is what happens at that time recorded? Called in the handler. */
typedef bool prof_wanted_fn(uint64_t time_ns);

/* Once, on the program's first thread. Where it cannot be, that is logged, and the program goes
 * on. */
void prof_sample_start(const struct prof_settings *settings, prof_wanted_fn *wanted);
/* In a child of fork(): timers stayed with the parent, and so does the file. */
void prof_sample_in_child(void);

#endif
