/*
 * Threads of the program: libheddle_threads.so stands in front of the C library in programs under
 * `heddle prof --sample` (LD_PRELOAD). It tells libcuda of each thread that begins, but for
 * Heddle's own, and keeps one signal for libcuda: threads cannot block it, handlers of it cannot be
 * changed, and sigwait() does not take it.
 *
 * Threads: any.
 */
#ifndef HD_PROF_THREADS_H
#define HD_PROF_THREADS_H

/* On a thread that has begun, before its function. */
typedef void prof_thread_fn(void);

/* Exported by libheddle_threads.so: from now on `begins` is called, and `sig` is kept. */
#define THREADS_WATCH "heddle_threads_watch"
void heddle_threads_watch(int sig, prof_thread_fn *begins);

#endif
