/* Host counters in reports: what threads of the host did for launches (src/count/host.h). */
#ifndef HEDDLE_TOOLS_PROF_HOST_H
#define HEDDLE_TOOLS_PROF_HOST_H

#include "prof/prof_db.h"

/*
 * Adds a row of HEDDLE_HOST_COUNTERS for each launch that *.counts of the session's folder have,
 * and to launches that were counted, if any, metrics heddle__host_* and notes, after
 * prof_alike_make(): the medians of launches that are alike and were not counted, where there are
 * any. HD_IO.
 */
enum hd_status prof_host_add(struct prof_db *db, const char *folder) HD_MUST_CHECK;

#endif
