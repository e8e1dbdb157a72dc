/*
 * Kernel counters in reports (spec/metrics.def): what src/count wrote becomes rows, and rows are
 * shown as Nsight Compute shows them.
 *
 *     HEDDLE_LAUNCHES        launches that were counted
 *     HEDDLE_METRICS         a value of a launch
 *     HEDDLE_SOURCE_METRICS  that part of a sum that a line has
 */
#ifndef HEDDLE_TOOLS_PROF_KERNEL_H
#define HEDDLE_TOOLS_PROF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "prof/prof_stats.h"

struct dirent;
struct prof_db;

/* Is it one of the files of counts in a session's folder? For scandir(). */
int prof_kernel_is_counts(const struct dirent *entry);
/*
 * Adds the *.counts of a session's folder to the report that is being made, which says already when
 * kernels ran; start_ns: of the session. What was not written to the end is left out. HD_IO.
 */
enum hd_status prof_kernel_add(struct prof_db *db, const char *folder, uint64_t start_ns,
                               uint64_t *out_launches) HD_MUST_CHECK;

enum prof_kernel_page { PROF_KERNEL_DETAILS, PROF_KERNEL_RAW, PROF_KERNEL_SOURCE };

struct prof_kernel_view {
    enum prof_kernel_page page;
    enum prof_format format;
    const char *sections, *metrics; /* names with commas; NULL: all */
    bool is_each;                   /* PROF_TABLE: also equal launches one by one */
    unsigned absent;                /* set of sections of which the report has nothing */
};

/* HD_BAD_ARG: a section or metric is not known. HD_NOT_FOUND: nothing was counted. */
enum hd_status prof_kernel_check(const struct prof_kernel_view *view) HD_MUST_CHECK;
/* HD_BAD_ARG: these are no NVTX ranges as --nvtx-include has them. */
enum hd_status prof_kernel_check_ranges(const char *text) HD_MUST_CHECK;
enum hd_status prof_kernel_show(const char *report, const struct prof_kernel_view *view, FILE *out)
    HD_MUST_CHECK;
void prof_kernel_list_sections(FILE *out);
void prof_kernel_list_metrics(FILE *out);

#endif
