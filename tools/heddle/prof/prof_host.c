/* See prof_host.h. */
#include "prof/prof_host.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "count/file.h"
#include "prof/prof_alike.h"
#include "prof/prof_kernel.h"

#define SECTION "HostCounters"
#define VM      (INT64_C(1) << 48)

struct adding {
    struct prof_db *db;
    int64_t process; /* globalPid */
    uint64_t launches;
    char refused[512]; /* what the processor does not count, and why */
};

/* ---- lines of the files */

static void launch_add(struct adding *a, const char *fields)
{
    double n[COUNT_FILE_HOST];
    char *end;

    for (size_t i = 0; i < HD_COUNT_OF(n); i++, fields = end) {
        if (*fields != '\t')
            return;
        n[i] = strtod(fields + 1, &end);
        if (end == fields + 1)
            return;
    }
    bool has = n[6] >= 0 || n[8] >= 0 || n[10] >= 0;
    prof_db_row(a->db, TABLE_HEDDLE_HOST_COUNTERS, "iii iiii OOOOO O", (int64_t)n[0], (int64_t)n[1],
                a->process, (int64_t)n[2], (int64_t)n[3], (int64_t)n[4], (int64_t)n[5],
                (int)(n[6] >= 0), n[6], (int)(n[7] >= 0), n[7], (int)(n[8] >= 0), n[8],
                (int)(n[9] >= 0), n[9], (int)(n[10] >= 0), n[10], (int)has, n[11]);
    a->launches++;
}

static enum hd_status file_add(struct adding *a, const char *folder, const char *name)
{
    struct hd_buf path, text;

    hd_buf_init(&path);
    hd_buf_init(&text);
    hd_buf_printf(&path, "%s/%s", folder, name);
    a->process = VM | (int64_t)(strtoul(name, NULL, 10) & 0xffffff) << 24;
    enum hd_status status = path.failed ? hd_error(HD_NO_MEMORY, "out of memory")
                                        : hd_file_read(path.ptr, SIZE_MAX / 2, &text);
    char *line = text.ptr;
    for (char *end; status == HD_OK && line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line == 'H')
            launch_add(a, line + 1);
        if (*line == 'W' && line[1])
            (void)snprintf(a->refused, sizeof(a->refused), "%s", line + 2);
    }
    hd_buf_fini(&path);
    hd_buf_fini(&text);
    return status;
}

static enum hd_status files_add(struct adding *a, const char *folder)
{
    struct dirent **names = NULL;
    enum hd_status status = HD_OK;
    int n = scandir(folder, &names, prof_kernel_is_counts, alphasort);

    for (int i = 0; i < n; i++) {
        if (status == HD_OK)
            status = file_add(a, folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return status;
}

/* ---- metrics */

/* A value of a launch, in the terms of HEDDLE_HOST_COUNTERS and its `duration`. */
static const struct {
    const char *metric, *value;
} columns[] = {
    {"heddle__host_threads.sum", "threads"},
    {"heddle__host_task_clock.sum", "taskClock"},
    {"heddle__host_cpus_utilized.ratio", "taskClock * 1.0 / duration"},
    {"heddle__host_context_switches.sum", "contextSwitches"},
    {"heddle__host_page_faults.sum", "pageFaults"},
    {"heddle__host_cycles.sum", "round(cycles)"},
    {"heddle__host_instructions.sum", "round(instructions)"},
    {"heddle__host_ipc.ratio", "instructions / nullif(cycles, 0)"},
    {"heddle__host_frequency.per_second", "round(cycles * 1e9 / nullif(taskClock, 0))"},
    {"heddle__host_llc_references.sum", "round(cacheReferences)"},
    {"heddle__host_llc_misses.sum", "round(cacheMisses)"},
    {"heddle__host_llc_miss.pct", "cacheMisses * 100 / nullif(cacheReferences, 0)"},
    {"heddle__host_branch_misses.sum", "round(branchMisses)"},
    {"heddle__host_counted.pct", "countedPercent"},
};

/*
 * temp.host_of(shape, launchId, duration, .. of HEDDLE_HOST_COUNTERS): launchId is NULL where the
 * launch was not counted. Where a shape has such, its launches that were counted have no say. Only
 * kernels of a call that has several (a graph's) have a gridId in the recording.
 */
#define IS_OF(kernel)                                                                              \
    "h.globalPid = " kernel ".globalPid AND h.correlationId = " kernel                             \
    ".correlationId AND (" kernel ".gridId = 0 OR h.gridId = " kernel ".gridId)"
static const char tables[] =
    "CREATE TEMP TABLE host AS SELECT * FROM HEDDLE_HOST_COUNTERS;"
    "CREATE INDEX temp.host_key ON host(globalPid, correlationId);"
    "CREATE TEMP TABLE host_of AS SELECT p.shape, NULL AS launchId, p.duration, h.* FROM "
    "temp.plain p CROSS JOIN temp.host h ON " IS_OF(
        "p") ";"
             "CREATE TEMP TABLE host_n AS SELECT shape, count(*) AS n FROM temp.host_of GROUP BY "
             "shape;"
             "INSERT INTO temp.host_of SELECT a.shape, t.launchId, k.end - k.start, h.* FROM "
             "CUPTI_ACTIVITY_KIND_KERNEL k CROSS JOIN temp.told t ON t.globalPid = k.globalPid AND "
             "t.correlationId = k.correlationId AND t.start = k.start AND t.end = k.end JOIN "
             "temp.alike a "
             "ON a.launchId = t.launchId CROSS JOIN temp.host h ON " IS_OF(
                 "k") " WHERE a.shape NOT IN "
                      "(SELECT shape FROM temp.host_n) AND k.end > k.start";

/* Of the shape's launches that were not counted, or the launch's own. */
static enum hd_status column_add(struct prof_db *db, const char *metric, const char *value)
{
    char sql[1024];
    sqlite3_stmt *row;

    int n = snprintf(sql, sizeof(sql),
                     "SELECT shape, %s AS value FROM temp.host_of WHERE launchId IS NULL", value);
    assert(n > 0 && (size_t)n < sizeof(sql));
    HD_TRY(prof_alike_medians(db, "host_median", sql));
    n = snprintf(sql, sizeof(sql),
                 "SELECT launchId, median AS v FROM temp.alike JOIN temp.host_median USING "
                 "(shape) UNION ALL SELECT launchId, %s AS v FROM temp.host_of WHERE launchId IS "
                 "NOT NULL",
                 value);
    assert(n > 0 && (size_t)n < sizeof(sql));
    HD_TRY(prof_alike_prepare(db, sql, &row));
    while (sqlite3_step(row) == SQLITE_ROW)
        if (sqlite3_column_type(row, 1) != SQLITE_NULL)
            prof_alike_put(db, sqlite3_column_int64(row, 0), metric, sqlite3_column_double(row, 1));
    if (sqlite3_finalize(row))
        return prof_db_error(db->db, "the report");
    return prof_alike_run(db, "DROP TABLE temp.host_median");
}

static enum hd_status launches_add(const struct adding *a)
{
    sqlite3_stmt *row;

    HD_TRY(prof_alike_prepare(a->db,
                              "SELECT launchId, coalesce(n, 0), EXISTS (SELECT 1 FROM temp.host_of "
                              "h WHERE h.launchId = a.launchId) FROM temp.alike a LEFT JOIN "
                              "temp.host_n USING (shape) ORDER BY launchId",
                              &row));
    while (sqlite3_step(row) == SQLITE_ROW) {
        int64_t launch = sqlite3_column_int64(row, 0), n = sqlite3_column_int64(row, 1);
        if (!n && !sqlite3_column_int(row, 2)) {
            prof_alike_note(a->db, launch, SECTION,
                            "n/a: where blocks wait for each other, threads of the host take turns "
                            "among them and others'");
            continue;
        }
        prof_alike_put(a->db, launch, "heddle__host_launches_uncounted.sum", (double)n);
        if (!n)
            prof_alike_note(a->db, launch, SECTION,
                            "Values are of code that counts: each launch of this kernel, grid and "
                            "block was counted.");
        if (*a->refused)
            prof_alike_note(a->db, launch, SECTION, "n/a: %s", a->refused);
    }
    return sqlite3_finalize(row) ? prof_db_error(a->db->db, "the report") : HD_OK;
}

/* Counters that took turns: what they say is an estimate. */
static enum hd_status note_scaled(struct prof_db *db)
{
    sqlite3_stmt *row;

    HD_TRY(prof_alike_prepare(db,
                              "SELECT launchId, value FROM HEDDLE_METRICS WHERE name = "
                              "'heddle__host_counted.pct' AND value < 100 ORDER BY launchId",
                              &row));
    while (sqlite3_step(row) == SQLITE_ROW)
        prof_alike_note(db, sqlite3_column_int64(row, 0), SECTION,
                        "Scaled: the processor had counters for some of these for %.1f %% of the "
                        "time only.",
                        sqlite3_column_double(row, 1));
    return sqlite3_finalize(row) ? prof_db_error(db->db, "the report") : HD_OK;
}

enum hd_status prof_host_add(struct prof_db *db, const char *folder)
{
    struct adding a = {.db = db};

    HD_TRY(files_add(&a, folder));
    if (!a.launches || !prof_db_has(db->db, "HEDDLE_LAUNCHES") ||
        !prof_db_has(db->db, "CUPTI_ACTIVITY_KIND_KERNEL"))
        return HD_OK;
    HD_TRY(prof_alike_run(db, tables));
    for (size_t i = 0; i < HD_COUNT_OF(columns); i++)
        HD_TRY(column_add(db, columns[i].metric, columns[i].value));
    HD_TRY(launches_add(&a));
    return note_scaled(db);
}
