/*
 * What the forms of a page of kernel counters share (text, CSV, JSON, lines of the source): the
 * launch that is shown, and how its values are selected and written. prof_kernel_show(), which
 * uses all of them, is declared in prof/prof_kernel.h.
 *
 * A report has a row for each value of a launch (HEDDLE_METRICS); a page shows one launch, or a
 * group of equal ones, of which temp.shown(launchId) has the members. Indices `m` are those of
 * metrics[] (count/metrics.h).
 */
#ifndef HEDDLE_TOOLS_PROF_KERNEL_SHOW_H
#define HEDDLE_TOOLS_PROF_KERNEL_SHOW_H

#include <sqlite3.h>
#include <stdio.h>

#include "base/text/json.h"
#include "count/metrics.h"
#include "prof/prof_kernel.h"
#include "report/spread.h"

/* A launch, or a group of equal ones, whose values are medians. */
struct shown {
    int64_t id, pid, context, stream, device; /* of a group: of the launch of the median time */
    const char *name;
    int64_t grid[3], block[3];
    double *values;
    bool *has;
    size_t count;                  /* of launches */
    size_t contexts, streams;      /* in which they were */
    struct report_spread *spreads; /* of each metric; of a group */
};

struct show {
    sqlite3 *db;
    const struct prof_kernel_view *view;
    FILE *out;
    struct hd_json json;
    char process[1024], host[256], cc[32];
};

/* ---- kernel_select.c */
bool kernel_is_wanted(const struct prof_kernel_view *view, const struct metric *metric);
/* Did the user name this metric itself? */
bool kernel_is_named(const struct prof_kernel_view *view, const struct metric *metric);
/* A set of sections that only reports of some runs have. */
unsigned kernel_sections_absent(sqlite3 *db);

/* ---- kernel_values.c */
enum { KERNEL_REASON_B = 256 };
enum hd_status kernel_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out) HD_MUST_CHECK;
enum hd_status kernel_no_memory(void) HD_MUST_CHECK;
/* Of all launches in temp.shown: values, has, spreads. */
enum hd_status kernel_values_read(struct show *s, struct shown *launch) HD_MUST_CHECK;
/* Do times that were made for the section come from the launch itself, which counted? */
bool kernel_is_while_counted(const struct shown *launch, const struct metric *metric);
/* As it is printed: what was timed while counting says so. */
const char *kernel_label_of(const struct shown *launch, const struct metric *metric, char out[96]);
/* Calls for each note of a launch, of the section, or of all that are wanted (-1). */
void kernel_notes_report(struct show *s, const struct shown *launch, int section,
                         void (*report)(struct show *, const struct shown *, int, const char *));
/* Whole numbers as such, others with two digits behind the point; `groups`: 1,000. */
void kernel_put_number(char out[64], double value, bool groups);
void kernel_put_value(char out[64], const struct shown *launch, size_t m, bool groups);
/* Why there is no value. */
void kernel_reason_of(char out[KERNEL_REASON_B], const struct shown *launch, size_t m);

/* ---- kernel_text.c */
void kernel_text_launch(const struct show *s, const struct shown *l);
void kernel_text_details(struct show *s, const struct shown *launch);
void kernel_text_raw(const struct show *s, const struct shown *launch);
/* What a reader has to know of all that follows. */
void kernel_text_hints(const struct show *s, bool is_grouped);

/* ---- kernel_csv.c */
void kernel_csv_cell(FILE *out, bool first, const char *text);
/* Names of columns. */
void kernel_csv_head(const struct show *s);
void kernel_csv_details(struct show *s, const struct shown *launch);
void kernel_csv_raw(const struct show *s, const struct shown *launch);

/* ---- kernel_json.c */
/* `is_source`: the object stays open, for its lines. */
void kernel_json_launch(struct show *s, const struct shown *l, bool is_source);

/* ---- kernel_source.c */
enum hd_status kernel_source_page(struct show *s, const struct shown *launch) HD_MUST_CHECK;

#endif
