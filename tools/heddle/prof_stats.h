/* Reports of a recording, by queries (prof_reports.def). */
#ifndef HEDDLE_TOOLS_PROF_STATS_H
#define HEDDLE_TOOLS_PROF_STATS_H

#include <stdio.h>

#include "base/status.h"

enum prof_format { PROF_TABLE, PROF_CSV, PROF_JSON };

/*
 * `names` is a comma list, NULL: those that `nsys stats` prints unasked. HD_BAD_ARG: there is no
 * such report; HD_IO, HD_CORRUPT: of the file.
 */
enum hd_status prof_stats(const char *path, const char *names, enum prof_format format, FILE *out)
    HD_MUST_CHECK;
/* A line for each report. */
void prof_stats_list(FILE *out);

#endif
