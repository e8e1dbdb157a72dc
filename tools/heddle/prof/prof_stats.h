/* Reports of a recording, by queries (prof_reports.def). */
#ifndef HEDDLE_TOOLS_PROF_STATS_H
#define HEDDLE_TOOLS_PROF_STATS_H

#include <sqlite3.h>
#include <stdio.h>

#include "base/status.h"

enum prof_format { PROF_TABLE, PROF_CSV, PROF_JSON, PROF_FORMAT_COUNT };
extern const char *const prof_format_words[PROF_FORMAT_COUNT];

/*
 * `names` is a comma list, NULL: those that `nsys stats` prints unasked. HD_BAD_ARG: there is no
 * such report; HD_IO, HD_CORRUPT: of the file.
 */
enum hd_status prof_stats(const char *path, const char *names, enum prof_format format, FILE *out)
    HD_MUST_CHECK;
/* Functions for queries: median() and stdev() of a sample. */
enum hd_status prof_stats_functions(sqlite3 *db, const char *path) HD_MUST_CHECK;
/* A cell of CSV, with quotes always, or where it needs them. */
void prof_csv_quoted(const char *text, FILE *out);
void prof_csv_cell(const char *text, FILE *out);
/* A line for each report. */
void prof_stats_list(FILE *out);

#endif
