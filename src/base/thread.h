/*
 * Threads of ours in somebody else's process: signals that are sent to the process stay with the
 * program's own threads. A thread of ours that could take a SIGTERM would take it from the
 * program's sigwait(), and run the program's handlers where it does not expect them.
 *
 * A thread that needs signals of its own, such as those of faults, unblocks them itself.
 */
#ifndef HD_BASE_THREAD_H
#define HD_BASE_THREAD_H

#include <pthread.h>

/*
 * pthread_create() with all signals blocked. Without attributes the thread has HD_STACK_B of stack,
 * whatever the program's limit or default is. Returns its errno value, 0 when it started.
 */
int hd_thread_create(pthread_t *out_thread, const pthread_attr_t *attr, void *(*main)(void *),
                     void *arg);

/* A profiler's, which is not to see our threads: from now on called on each before its function. */
void hd_thread_on_start(void (*fn)(void));

#endif
