/* See prof_time.h. */
#include "prof/prof_time.h"

#include <assert.h>

#include "prof/prof_db.h"

static const char *const queries[REPORT_TIME_SOURCES] = {
    [REPORT_TIME_KERNEL] =
        "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE " PROF_TIME_VALID,
    [REPORT_TIME_COPY] =
        "SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE " PROF_TIME_VALID
        " UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE " PROF_TIME_VALID,
    [REPORT_TIME_COMPILE] =
        "SELECT start, end FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType "
        "= 2 AND " PROF_TIME_VALID,
    [REPORT_TIME_WAIT] =
        "SELECT start, end FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType "
        "<> 2 AND " PROF_TIME_VALID,
    [REPORT_TIME_API] = "SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE " PROF_TIME_VALID,
};

static enum hd_status time_read(struct report_breakdown *b, enum report_time_class source,
                                sqlite3 *db, const char *path)
{
    sqlite3_stmt *row;
    int code;

    assert(source < REPORT_TIME_SOURCES && queries[source]);
    if (sqlite3_prepare_v2(db, queries[source], -1, &row, NULL))
        return prof_db_error(db, path);
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        if (!report_breakdown_add(b, source, sqlite3_column_int64(row, 0),
                                  sqlite3_column_int64(row, 1))) {
            sqlite3_finalize(row);
            return hd_error(HD_NO_MEMORY, "%s: out of memory", path);
        }
    enum hd_status status = code == SQLITE_DONE ? HD_OK : prof_db_error(db, path);
    sqlite3_finalize(row);
    return status;
}

/* The session's time as the file tells it; all of what happened lies in it, too. */
static enum hd_status time_read_session(sqlite3 *db, const char *path, struct report_breakdown *out)
{
    static const char sql[] =
        "WITH ends AS (SELECT startTime AS start, stopTime AS end FROM ANALYSIS_DETAILS WHERE "
        "startTime BETWEEN -4503599627370496 AND stopTime AND stopTime <= 4503599627370496 UNION "
        "ALL SELECT start, coalesce(end, start) FROM NVTX_EVENTS WHERE start BETWEEN "
        "-4503599627370496 AND coalesce(end, start) AND coalesce(end, start) <= 4503599627370496) "
        "SELECT min(start), max(end), count(*) FROM ends";
    sqlite3_stmt *row;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
        return prof_db_error(db, path);
    int code = sqlite3_step(row);
    if (code == SQLITE_ROW && sqlite3_column_int64(row, 2))
        report_breakdown_span(out, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
    enum hd_status status = code == SQLITE_ROW ? HD_OK : prof_db_error(db, path);
    sqlite3_finalize(row);
    return status;
}

enum hd_status prof_time(sqlite3 *db, const char *path, struct report_breakdown *out)
{
    report_breakdown_init(out);
    HD_TRY(time_read_session(db, path, out));
    for (enum report_time_class i = 0; i < REPORT_TIME_SOURCES; i++)
        HD_TRY(time_read(out, i, db, path));
    report_breakdown_finish(out);
    return HD_OK;
}
