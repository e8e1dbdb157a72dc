/* Values of a launch, read and written: numbers, labels, why there is none, and notes. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "prof/prof_db.h"

enum hd_status kernel_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    if (sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK)
        return HD_OK;
    return hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(db));
}

enum hd_status kernel_no_memory(void)
{
    return hd_error(HD_NO_MEMORY, "out of memory");
}

/* Of all launches in temp.shown. */
enum hd_status kernel_values_read(struct show *s, struct shown *launch)
{
    enum hd_status status = HD_OK;
    sqlite3_stmt *row;

    for (size_t m = 0; m < metrics_count; m++)
        report_spread_clear(&launch->spreads[m]);
    HD_TRY(kernel_prepare(
        s->db,
        "SELECT name, value FROM HEDDLE_METRICS WHERE launchId IN (SELECT launchId FROM "
        "temp.shown)",
        &row));
    while (status == HD_OK && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        const struct metric *metric = name ? metric_find(name, strlen(name)) : NULL;
        if (metric &&
            !report_spread_add(&launch->spreads[metric - metrics], sqlite3_column_double(row, 1)))
            status = kernel_no_memory();
    }
    sqlite3_finalize(row);
    for (size_t m = 0; m < metrics_count; m++) {
        launch->has[m] = launch->spreads[m].count != 0;
        launch->values[m] = launch->has[m] ? report_spread_median(&launch->spreads[m]) : 0;
    }
    return status;
}

/* ---- what is made of the host: prof_roofline.c, prof_host.c */

/* Do times that were made for the section come from the launch itself, which counted? */
bool kernel_is_while_counted(const struct shown *launch, const struct metric *metric)
{
    static const char *const names[SECTION_COUNT] = {
        [SECTION_SpeedOfLight_RooflineChart] = "heddle__roofline_launches_uncounted.sum",
        [SECTION_HostCounters] = "heddle__host_launches_uncounted.sum"};
    assert(metric->section < SECTION_COUNT);
    const char *name = names[metric->section];

    if (metric->kind != METRIC_TIMED || !name)
        return false;
    const struct metric *uncounted = metric_find(name, strlen(name));
    assert(uncounted); /* a name of ours */
    size_t m = (size_t)(uncounted - metrics);
    return launch->has[m] && launch->values[m] == 0 && launch->has[metric - metrics];
}

/* As it is printed: what was timed while counting says so. */
const char *kernel_label_of(const struct shown *launch, const struct metric *metric, char out[96])
{
    (void)snprintf(out, 96, "%s%s", metric->label,
                   kernel_is_while_counted(launch, metric) ? " (While Counted)" : "");
    return out;
}

/* Calls for each note of a launch, of the section, or of all that are wanted (-1). */
void kernel_notes_report(struct show *s, const struct shown *launch, int section,
                         void (*report)(struct show *, const struct shown *, int, const char *))
{
    sqlite3_stmt *row;

    if (!prof_db_has(s->db, "HEDDLE_NOTES") ||
        sqlite3_prepare_v2(s->db,
                           "SELECT section, text FROM HEDDLE_NOTES WHERE launchId = ? ORDER BY "
                           "rowid",
                           -1, &row, NULL))
        return;
    (void)sqlite3_bind_int64(row, 1, launch->id);
    while (sqlite3_step(row) == SQLITE_ROW)
        for (int at = 0; at < SECTION_COUNT; at++) {
            const struct metric any = {.section = (enum metric_section)at, .name = ""};
            if (!strcmp(prof_db_text(row, 0), metric_section_names[at]) &&
                (section < 0 ? kernel_is_wanted(s->view, &any) : section == at))
                report(s, launch, at, prof_db_text(row, 1));
        }
    sqlite3_finalize(row);
}

/* ---- numbers: whole ones as such, others with two digits behind the point */

void kernel_put_number(char out[64], double value, bool groups)
{
    char plain[48];
    size_t len, lead, n = 0;

    if (floor(value) == value && fabs(value) < 1e15)
        (void)snprintf(plain, sizeof(plain), "%.0f", value);
    else if (fabs(value) < 0.1)
        (void)snprintf(plain, sizeof(plain), "%.2g", value);
    else
        (void)snprintf(plain, sizeof(plain), "%.2f", value);
    len = strcspn(plain, ".");
    lead = plain[0] == '-';
    for (size_t i = 0; plain[i]; i++) {
        assert(n + 2 < 64); /* `plain` and its commas */
        if (groups && i > lead && i < len && (len - i) % 3 == 0)
            out[n++] = ',';
        out[n++] = plain[i];
    }
    out[n] = '\0';
}

void kernel_put_value(char out[64], const struct shown *launch, size_t m, bool groups)
{
    assert(m < metrics_count);
    if (launch->has[m])
        kernel_put_number(out, launch->values[m], groups);
    else
        (void)snprintf(out, 64, "n/a");
}

void kernel_reason_of(char out[KERNEL_REASON_B], const struct shown *launch, size_t m)
{
    assert(m < metrics_count && !launch->has[m]);
    metric_reason(&metrics[m], launch->values, launch->has, out, KERNEL_REASON_B);
}
