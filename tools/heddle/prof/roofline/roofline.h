/*
 * The host's peaks, the roof of its roofline: multiply-adds a second of as many threads as the CPU
 * device has, by the vectors that its code uses, and bytes a second from memory and each cache. It
 * is the fastest of a few rounds of some milliseconds, so others who use the host lower it little,
 * and is kept in the code cache, for this host, its CPUs, threads and vectors.
 *
 * Bytes are those that loops read, or read and write (to[i] += from[i]), whichever is more. Each
 * thread has memory of its own, half as large as its share of the cache, or four times as large as
 * all caches together.
 *
 * Units: operations and bytes a second, all threads together; a multiply-add is two operations.
 * Threads: one measures at a time.
 */
#ifndef HEDDLE_TOOLS_ROOFLINE_H
#define HEDDLE_TOOLS_ROOFLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "report/roofline.h"

struct roofline {
    struct report_ceilings peaks;
    char why[REPORT_LEVEL_COUNT][80];   /* of bytes that are not known */
    uint64_t set_B[REPORT_LEVEL_COUNT]; /* what a thread went through */
    uint32_t threads;
    bool is_disturbed; /* others had the CPUs meanwhile: peaks are too low, and are not kept */
    char vectors[16];  /* "512 bits" */
};

/*
 * What is kept, or measured now (a third of a second; beyond two, a terminal is told) and kept from
 * then on. `again`: also if there is something. HD_NO_MEMORY.
 */
enum hd_status roofline_get(bool again, struct roofline *out) HD_MUST_CHECK;

#endif
