/* See prof_alike.h. */
#include "prof/prof_alike.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "count/metrics.h"

#define GRID "gridX, gridY, gridZ, blockX, blockY, blockZ"

/* A counted launch is a kernel of the recording at its very times (prof_kernel.c). */
static const char tables[] =
    "CREATE TEMP TABLE shapes AS SELECT *, (SELECT id FROM StringIds WHERE value = name) AS nameId "
    "FROM (SELECT DISTINCT name, " GRID " FROM HEDDLE_LAUNCHES);"
    "CREATE INDEX temp.shapes_of ON shapes(nameId, " GRID ");"
    "CREATE TEMP TABLE alike AS SELECT launchId, s.rowid AS shape FROM HEDDLE_LAUNCHES "
    "JOIN temp.shapes s USING (name, " GRID ");"
    "CREATE TEMP TABLE told AS SELECT launchId, globalPid, correlationId, start, end FROM "
    "HEDDLE_LAUNCHES;"
    "CREATE INDEX temp.report_of ON told(globalPid, correlationId, start, end);"
    "CREATE TEMP TABLE plain(shape, duration, globalPid, correlationId, gridId)";
static const char plain[] =
    "INSERT INTO temp.plain SELECT s.rowid, k.end - k.start, k.globalPid, k.correlationId, k.gridId"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL k CROSS JOIN temp.shapes s ON s.nameId = k.mangledName AND "
    "s.gridX = k.gridX AND s.gridY = k.gridY AND s.gridZ = k.gridZ AND s.blockX = k.blockX AND "
    "s.blockY = k.blockY AND s.blockZ = k.blockZ WHERE k.end > k.start AND NOT EXISTS (SELECT 1 "
    "FROM temp.told t WHERE t.globalPid = k.globalPid AND t.correlationId = k.correlationId AND "
    "t.start = k.start AND t.end = k.end)";

enum hd_status prof_alike_run(struct prof_db *db, const char *sql)
{
    return sqlite3_exec(db->db, sql, NULL, NULL, NULL) ? prof_db_error(db->db, "the report")
                                                       : HD_OK;
}

enum hd_status prof_alike_make(struct prof_db *db)
{
    HD_TRY(prof_alike_run(db, tables));
    return prof_db_has(db->db, "CUPTI_ACTIVITY_KIND_KERNEL") ? prof_alike_run(db, plain) : HD_OK;
}

enum hd_status prof_alike_index(struct prof_db *db)
{
    static const char *const tables_of[] = {"HEDDLE_METRICS", "HEDDLE_SOURCE_METRICS",
                                            "HEDDLE_NOTES"};
    char sql[128];

    for (size_t i = 0; i < HD_COUNT_OF(tables_of); i++) {
        if (!prof_db_has(db->db, tables_of[i]))
            continue;
        (void)snprintf(sql, sizeof(sql), "CREATE INDEX %s_OF_LAUNCH ON %s(launchId)", tables_of[i],
                       tables_of[i]);
        HD_TRY(prof_alike_run(db, sql));
    }
    return HD_OK;
}

enum hd_status prof_alike_prepare(struct prof_db *db, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v2(db->db, sql, -1, out, NULL) ? prof_db_error(db->db, "the report")
                                                          : HD_OK;
}

enum hd_status prof_alike_medians(struct prof_db *db, const char *table, const char *sql)
{
    char text[2048];
    int n = snprintf(
        text, sizeof(text),
        "CREATE TEMP TABLE %s AS SELECT shape, avg(value) AS median, n FROM (SELECT shape, value, "
        "row_number() OVER (PARTITION BY "
        "shape ORDER BY value) AS i, count(*) OVER (PARTITION BY shape) AS n FROM (%s) WHERE "
        "value IS NOT NULL) WHERE i IN ((n + 1) / 2, (n + 2) / 2) GROUP BY shape",
        table, sql);

    assert(n > 0 && (size_t)n < sizeof(text));
    return prof_alike_run(db, text);
}

void prof_alike_put(struct prof_db *db, int64_t launch, const char *metric, double value)
{
    const struct metric *m = metric_find(metric, strlen(metric));

    assert(m && (m->kind == METRIC_MADE || m->kind == METRIC_TIMED));
    prof_db_row(db, TABLE_HEDDLE_METRICS, "issd", launch, m->name, m->unit, value);
}

void prof_alike_note(struct prof_db *db, int64_t launch, const char *section, const char *form, ...)
{
    char text[2048];
    va_list args;

    va_start(args, form);
    (void)vsnprintf(text, sizeof(text), form, args);
    va_end(args);
    prof_db_row(db, TABLE_HEDDLE_NOTES, "iss", launch, section, text);
}
