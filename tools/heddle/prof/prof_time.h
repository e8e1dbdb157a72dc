/* Where the time of a report went (report/breakdown.h), read from its tables. */
#ifndef HEDDLE_TOOLS_PROF_TIME_H
#define HEDDLE_TOOLS_PROF_TIME_H

#include <sqlite3.h>

#include "base/status.h"
#include "report/breakdown.h"

/*
 * Times that are taken for such: numbers, in order, under 52 days. A condition of SQL for rows with
 * `start` and `end`; what else a damaged file has is left out.
 */
#define PROF_TIME_VALID "start BETWEEN -4503599627370496 AND end AND end <= 4503599627370496"

/* `db` is of prof_db_open_report(); times are since the beginning of the session. To be given to
 * report_breakdown_fini() in any case. */
enum hd_status prof_time(sqlite3 *db, const char *path, struct report_breakdown *out) HD_MUST_CHECK;

#endif
