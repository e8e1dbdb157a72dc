/* From the spools of a session (src/prof/format.h) to a report (prof_db.h). */
#ifndef HEDDLE_TOOLS_PROF_BUILD_H
#define HEDDLE_TOOLS_PROF_BUILD_H

#include "base/status.h"
#include "prof/prof_roofline.h"

struct prof_totals {
    uint64_t processes, kernels, copies, fills, calls, ranges;
    uint64_t samples, sampled_ns; /* of host code; the processor time that they stand for */
    uint64_t counted;             /* launches with counters */
    uint64_t lost;                /* records that found no room */
    uint64_t incomplete;          /* work without an end */
    uint64_t damaged;             /* blocks that were skipped from some record on */
};

/*
 * Reads all spools of the folder and writes the report. `command` is what was run, NULL ends it.
 * Where launches were counted their roofline is as `roofline` says.
 * HD_IO, HD_CORRUPT, HD_NO_MEMORY. HD_NOT_FOUND: there is no spool, and no report.
 */
enum hd_status prof_build(const char *folder, char *const *command, const char *path,
                          enum prof_roofline roofline, struct prof_totals *out) HD_MUST_CHECK;

#endif
