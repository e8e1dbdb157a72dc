/*
 * Launches that are alike: of the same kernel, grid and block. While a report is made, of each that
 * was counted those alike that were not, whose times are not those of code that counts; and how
 * rows of metrics that are made afterwards come into the report.
 */
#ifndef HEDDLE_TOOLS_PROF_ALIKE_H
#define HEDDLE_TOOLS_PROF_ALIKE_H

#include "base/compiler.h"
#include "prof/prof_db.h"

/*
 * Makes for this connection, of what the report has by now:
 *     temp.alike(launchId, shape)                                    launches that were counted
 *     temp.plain(shape, duration, globalPid, correlationId, gridId)  kernels that were not
 *     temp.told(launchId, globalPid, correlationId, start, end)       the former, once more
 */
enum hd_status prof_alike_make(struct prof_db *db) HD_MUST_CHECK;

/* temp.TABLE(shape, median, n) of the n values of `sql`, whose columns are `shape` and `value`; a
 * NULL is none. */
enum hd_status prof_alike_medians(struct prof_db *db, const char *table, const char *sql)
    HD_MUST_CHECK;
/* Statements without rows; one with some. */
enum hd_status prof_alike_run(struct prof_db *db, const char *sql) HD_MUST_CHECK;
enum hd_status prof_alike_prepare(struct prof_db *db, const char *sql, sqlite3_stmt **out)
    HD_MUST_CHECK;

/* When all is added: rows of a launch are found without looking at those of all others. */
enum hd_status prof_alike_index(struct prof_db *db) HD_MUST_CHECK;

/* Rows of a launch: a metric's value, and a text that belongs to a section. */
void prof_alike_put(struct prof_db *db, int64_t launch, const char *metric, double value);
void prof_alike_note(struct prof_db *db, int64_t launch, const char *section, const char *form, ...)
    HD_PRINTF(4, 5);

#endif
