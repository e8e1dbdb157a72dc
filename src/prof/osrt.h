/*
 * Waits of the operating system: libheddle_osrt.so stands in front of the C library in programs
 * under `heddle prof --trace osrt` (LD_PRELOAD) and measures the calls of osrt.def; the recorder in
 * libcuda is told those that took a microsecond or more. Not told: what Heddle's own libraries
 * call, calls while nobody listens, and those of a thread that is in the recorder.
 *
 * Threads: any.
 */
#ifndef HD_PROF_OSRT_H
#define HD_PROF_OSRT_H

#include <stdint.h>

#define OSRT_SHORTEST_NS 1000u

/* `name` stays where it is; times of CLOCK_MONOTONIC; errno is the caller's to keep. */
typedef void prof_osrt_fn(const char *name, uint64_t begin_ns, uint64_t end_ns, int64_t result);

/* Exported by libheddle_osrt.so: from now on `told` is called. */
#define OSRT_LISTEN "heddle_osrt_listen"
void heddle_osrt_listen(prof_osrt_fn *notified);

#endif
