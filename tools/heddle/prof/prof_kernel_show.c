/* Counters of a report, as Nsight Compute prints its pages. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "prof/prof_db.h"
#include "prof/prof_kernel.h"
#include "count/metrics.h"
#include "count/range_filter.h"
#include "prof/prof_stats.h"
#include "report/groups.h"
#include "report/spread.h"

/* ---- what is wanted */

static bool show_lists(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == len && !memcmp(at, name, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static bool show_is_wanted(const struct prof_kernel_view *view, const struct metric *metric)
{
    if (view->metrics && show_lists(view->metrics, metric->name))
        return true;
    if (view->sections)
        return show_lists(view->sections, metric_section_names[metric->section]);
    return !view->metrics && !(view->absent >> metric->section & 1);
}

static bool show_is_section(const char *name, size_t len)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        if (strlen(metric_section_names[s]) == len && !memcmp(metric_section_names[s], name, len))
            return true;
    return false;
}

enum hd_status prof_kernel_check_ranges(const char *text)
{
    struct count_filter filter;

    return count_filter_read(text, strlen(text), &filter);
}

enum hd_status prof_kernel_check(const struct prof_kernel_view *view)
{
    for (const char *at = view->sections; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!show_is_section(at, n))
            return hd_error(HD_BAD_ARG, "there is no section '%.*s' (--list-sections)", (int)n, at);
        at += n + (at[n] == ',');
    }
    for (const char *at = view->metrics; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!metric_find(at, n))
            return hd_error(HD_BAD_ARG, "there is no metric '%.*s' (--query-metrics)", (int)n, at);
        at += n + (at[n] == ',');
    }
    return HD_OK;
}

void prof_kernel_list_sections(FILE *out)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        fprintf(out, "  %-26s %s\n", metric_section_names[s], metric_section_titles[s]);
}

void prof_kernel_list_metrics(FILE *out)
{
    for (size_t m = 0; m < metrics_count; m++)
        if (metrics[m].kind != METRIC_NEVER)
            fprintf(out, "%-72s %-16s %s\n", metrics[m].name, metrics[m].unit, metrics[m].doc);
}

/* ---- a launch */

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

static enum hd_status show_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    if (sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK)
        return HD_OK;
    return hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(db));
}

static void show_one_text(struct show *s, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *row;

    out[0] = '\0';
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        (void)snprintf(out, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

static enum hd_status show_no_memory(void)
{
    return hd_error(HD_NO_MEMORY, "out of memory");
}

/* Of all launches in temp.shown. */
static enum hd_status show_values_read(struct show *s, struct shown *launch)
{
    enum hd_status status = HD_OK;
    sqlite3_stmt *row;

    for (size_t m = 0; m < metrics_count; m++)
        report_spread_clear(&launch->spreads[m]);
    HD_TRY(show_prepare(
        s->db,
        "SELECT name, value FROM HEDDLE_METRICS WHERE launchId IN (SELECT launchId FROM "
        "temp.shown)",
        &row));
    while (status == HD_OK && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        const struct metric *metric = name ? metric_find(name, strlen(name)) : NULL;
        if (metric &&
            !report_spread_add(&launch->spreads[metric - metrics], sqlite3_column_double(row, 1)))
            status = show_no_memory();
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
static bool show_is_while_counted(const struct shown *launch, const struct metric *metric)
{
    static const char *const names[SECTION_COUNT] = {
        [SECTION_SpeedOfLight_RooflineChart] = "heddle__roofline_launches_uncounted.sum",
        [SECTION_HostCounters] = "heddle__host_launches_uncounted.sum"};
    const char *name = names[metric->section];

    if (metric->kind != METRIC_TIMED || !name)
        return false;
    const struct metric *uncounted = metric_find(name, strlen(name));
    assert(uncounted); /* a name of ours */
    size_t m = (size_t)(uncounted - metrics);
    return launch->has[m] && launch->values[m] == 0 && launch->has[metric - metrics];
}

/* As it is printed: what was timed while counting says so. */
static const char *show_label_of(const struct shown *launch, const struct metric *metric,
                                 char out[96])
{
    (void)snprintf(out, 96, "%s%s", metric->label,
                   show_is_while_counted(launch, metric) ? " (While Counted)" : "");
    return out;
}

/* Calls for each note of a launch, of the section, or of all that are wanted (-1). */
static void show_notes_report(struct show *s, const struct shown *launch, int section,
                              void (*report)(struct show *, const struct shown *, int,
                                             const char *))
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
                (section < 0 ? show_is_wanted(s->view, &any) : section == at))
                report(s, launch, at, prof_db_text(row, 1));
        }
    sqlite3_finalize(row);
}

static bool show_has_rows(sqlite3 *db, const char *sql, const char *value)
{
    sqlite3_stmt *row;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
        return false; /* there is no such table */
    (void)sqlite3_bind_text(row, 1, value, -1, SQLITE_STATIC);
    bool has = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return has;
}

/* Sections that only reports of some runs have. */
static unsigned show_sections_absent(sqlite3 *db)
{
    static const struct {
        enum metric_section section;
        const char *names;
    } made[] = {{SECTION_SpeedOfLight_RooflineChart, "heddle__roofline_*"},
                {SECTION_HostCounters, "heddle__host_*"}};
    unsigned absent = 0;

    for (size_t i = 0; i < HD_COUNT_OF(made); i++)
        if (!show_has_rows(db, "SELECT 1 FROM HEDDLE_METRICS WHERE name GLOB ? LIMIT 1",
                           made[i].names) &&
            !show_has_rows(db, "SELECT 1 FROM HEDDLE_NOTES WHERE section = ? LIMIT 1",
                           metric_section_names[made[i].section]))
            absent |= 1u << made[i].section;
    return absent;
}

/* ---- numbers: whole ones as such, others with two digits behind the point */

static void show_put_number(char out[64], double value, bool groups)
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

static void show_put_value(char out[64], const struct shown *launch, size_t m, bool groups)
{
    if (launch->has[m])
        show_put_number(out, launch->values[m], groups);
    else
        (void)snprintf(out, 64, "n/a");
}

enum { REASON = 256 };

static void show_reason_of(char out[REASON], const struct shown *launch, size_t m)
{
    metric_reason(&metrics[m], launch->values, launch->has, out, REASON);
}

/* ---- CSV */

static void show_csv(FILE *out, bool first, const char *text)
{
    if (!first)
        fputc(',', out);
    prof_csv_quoted(text, out);
}

static void show_csv_launch(const struct show *s, const struct shown *launch)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->id);
    show_csv(s->out, true, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->pid);
    show_csv(s->out, false, text);
    show_csv(s->out, false, s->process);
    show_csv(s->out, false, s->host);
    show_csv(s->out, false, launch->name);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->context);
    show_csv(s->out, false, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->stream);
    show_csv(s->out, false, text);
    (void)snprintf(text, sizeof(text), "(%lld, %lld, %lld)", (long long)launch->block[0],
                   (long long)launch->block[1], (long long)launch->block[2]);
    show_csv(s->out, false, text);
    (void)snprintf(text, sizeof(text), "(%lld, %lld, %lld)", (long long)launch->grid[0],
                   (long long)launch->grid[1], (long long)launch->grid[2]);
    show_csv(s->out, false, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->device);
    show_csv(s->out, false, text);
    show_csv(s->out, false, s->cc);
}

static const char launch_columns[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\"";

/* As a rule's: Nsight Compute has rows of these, without a metric. */
static void show_csv_note(struct show *s, const struct shown *launch, int section, const char *text)
{
    show_csv_launch(s, launch);
    show_csv(s->out, false, metric_section_titles[section]);
    fputs(",\"\",\"\",\"\"", s->out);
    show_csv(s->out, false, metric_section_names[section]);
    show_csv(s->out, false, "INF");
    show_csv(s->out, false, text);
    fputs(",\"\",\"\"\n", s->out);
}

static void show_csv_details(struct show *s, const struct shown *launch)
{
    char value[64], label[96], reason[REASON] = "";

    for (int section = 0; section < SECTION_COUNT; section++)
        for (size_t m = 0; m < metrics_count; m++) {
            if ((int)metrics[m].section != section || !show_is_wanted(s->view, &metrics[m]))
                continue;
            show_csv_launch(s, launch);
            show_csv(s->out, false, metric_section_titles[section]);
            show_csv(s->out, false, show_label_of(launch, &metrics[m], label));
            show_csv(s->out, false, metrics[m].unit);
            show_put_value(value, launch, m, false);
            show_csv(s->out, false, value);
            if (!launch->has[m])
                show_reason_of(reason, launch, m);
            fputs(",\"\",\"\"", s->out);
            show_csv(s->out, false, launch->has[m] ? "" : reason);
            fputs(",\"\",\"\"\n", s->out);
        }
    show_notes_report(s, launch, -1, show_csv_note);
}

static void show_csv_raw_head(const struct show *s)
{
    fputs(launch_columns, s->out);
    for (size_t m = 0; m < metrics_count; m++)
        if (show_is_wanted(s->view, &metrics[m]))
            show_csv(s->out, false, metrics[m].name);
    fputs("\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"", s->out);
    for (size_t m = 0; m < metrics_count; m++)
        if (show_is_wanted(s->view, &metrics[m]))
            show_csv(s->out, false, metrics[m].unit);
    fputc('\n', s->out);
}

static void show_put_missing(char out[REASON + 8], const struct shown *launch, size_t m)
{
    char reason[REASON];

    show_reason_of(reason, launch, m);
    (void)snprintf(out, REASON + 8, "n/a (%s)", reason);
}

static void show_csv_raw(const struct show *s, const struct shown *launch)
{
    char value[REASON + 8];

    show_csv_launch(s, launch);
    for (size_t m = 0; m < metrics_count; m++) {
        if (!show_is_wanted(s->view, &metrics[m]))
            continue;
        show_put_value(value, launch, m, false);
        if (!launch->has[m])
            show_put_missing(value, launch, m);
        show_csv(s->out, false, value);
    }
    fputc('\n', s->out);
}

/* ---- text */

static const char rule[] = "---------------------------------------- --------------- "
                           "--------------------";
static const char rule_of_group[] = " -------------------- --------------------";

static void show_text_launch(const struct show *s, const struct shown *l)
{
    fprintf(s->out, "  %s (%lld, %lld, %lld)x(%lld, %lld, %lld), ", l->name, (long long)l->grid[0],
            (long long)l->grid[1], (long long)l->grid[2], (long long)l->block[0],
            (long long)l->block[1], (long long)l->block[2]);
    if (l->count > 1)
        fprintf(s->out, "%zu launches, ", l->count);
    if (l->contexts > 1)
        fprintf(s->out, "%zu contexts, ", l->contexts);
    else
        fprintf(s->out, "Context %lld, ", (long long)l->context);
    if (l->streams > 1)
        fprintf(s->out, "%zu streams, ", l->streams);
    else
        fprintf(s->out, "Stream %lld, ", (long long)l->stream);
    fprintf(s->out, "Device %lld, CC %s\n", (long long)l->device, s->cc);
}

/* Of a group the median, and between what the values lie, where they differ. */
static void show_text_metric(const struct show *s, const struct shown *launch, size_t m,
                             const char *name)
{
    char value[64];

    show_put_value(value, launch, m, true);
    fprintf(s->out, "    %-40s %15s %20s", name, metrics[m].unit, value);
    if (launch->has[m] && report_spread_differs(&launch->spreads[m])) {
        show_put_number(value, launch->spreads[m].min, true);
        fprintf(s->out, " %20s", value);
        show_put_number(value, launch->spreads[m].max, true);
        fprintf(s->out, " %20s", value);
    }
    fputc('\n', s->out);
}

static void show_text_rule(const struct show *s, const struct shown *launch)
{
    fprintf(s->out, "    %s%s\n", rule, launch->count > 1 ? rule_of_group : "");
}

static bool show_is_missing(const struct show *s, const struct shown *launch, size_t m)
{
    return !launch->has[m] && show_is_wanted(s->view, &metrics[m]) &&
           (s->view->page == PROF_KERNEL_DETAILS || metrics[m].kind != METRIC_NEVER);
}

/* The metrics from `first` on that have no value for that reason. */
static void show_text_reason(const struct show *s, const struct shown *launch, size_t first,
                             const char *reason)
{
    char other[REASON];

    for (size_t m = first; m < metrics_count; m++) {
        if (!show_is_missing(s, launch, m))
            continue;
        show_reason_of(other, launch, m);
        if (!strcmp(other, reason))
            fprintf(s->out, "%s%s", m == first ? "" : ", ",
                    s->view->page == PROF_KERNEL_RAW ? metrics[m].name : metrics[m].label);
    }
}

static void show_text_missing(const struct show *s, const struct shown *launch)
{
    char reason[REASON], other[REASON];

    for (size_t m = 0; m < metrics_count; m++) {
        bool was_reported = false;
        if (!show_is_missing(s, launch, m))
            continue;
        show_reason_of(reason, launch, m);
        for (size_t i = 0; i < m && !was_reported; i++) {
            show_reason_of(other, launch, i);
            was_reported = show_is_missing(s, launch, i) && !strcmp(other, reason);
        }
        if (was_reported)
            continue;
        fprintf(s->out, "    n/a (%s): ", reason);
        show_text_reason(s, launch, m, reason);
        fputc('\n', s->out);
    }
}

/* In lines of so many columns. */
static void show_text_note(struct show *s, const struct shown *launch, int section,
                           const char *text)
{
    (void)launch, (void)section;
    for (const char *lead = "    INF "; *text; lead = "        ") {
        size_t n = strlen(text), room = strlen(rule) - 4;
        while (n > room) {
            const char *blank = memrchr(text, ' ', n);
            n = blank && blank > text ? (size_t)(blank - text) : room;
        }
        fprintf(s->out, "%s%.*s\n", lead, (int)n, text);
        text += n;
        text += *text == ' ';
    }
}

static void show_text_head(const struct show *s, const struct shown *launch)
{
    bool is_group = launch->count > 1;

    show_text_rule(s, launch);
    fprintf(s->out, "    %-40s %15s %20s", "Metric Name", "Metric Unit",
            is_group ? "Median" : "Metric Value");
    if (is_group)
        fprintf(s->out, " %20s %20s", "Minimum", "Maximum");
    fputc('\n', s->out);
    show_text_rule(s, launch);
}

static void show_text_details(struct show *s, const struct shown *launch)
{
    char label[96];

    show_text_launch(s, launch);
    for (int section = 0; section < SECTION_COUNT; section++) {
        bool has_head = false;
        for (size_t m = 0; m < metrics_count; m++) {
            if ((int)metrics[m].section != section || !show_is_wanted(s->view, &metrics[m]))
                continue;
            if (!has_head) {
                fprintf(s->out, "    Section: %s\n", metric_section_titles[section]);
                show_text_head(s, launch);
            }
            has_head = true;
            show_text_metric(s, launch, m, show_label_of(launch, &metrics[m], label));
        }
        if (!has_head)
            continue;
        show_text_rule(s, launch);
        show_notes_report(s, launch, section, show_text_note);
        fputc('\n', s->out);
    }
    show_text_missing(s, launch);
    fputc('\n', s->out);
}

static void show_text_raw(const struct show *s, const struct shown *launch)
{
    show_text_launch(s, launch);
    if (launch->count > 1)
        show_text_head(s, launch);
    for (size_t m = 0; m < metrics_count; m++)
        if (show_is_wanted(s->view, &metrics[m]) && metrics[m].kind != METRIC_NEVER)
            show_text_metric(s, launch, m, metrics[m].name);
    show_text_missing(s, launch);
    fputc('\n', s->out);
}

/* ---- JSON */

static void show_json_note(struct show *s, const struct shown *launch, int section,
                           const char *text)
{
    (void)launch;
    hd_json_open(&s->json, NULL, '{');
    hd_json_str(&s->json, "section", metric_section_names[section]);
    hd_json_str(&s->json, "text", text);
    hd_json_close(&s->json, '}');
}

static void show_json_launch(struct show *s, const struct shown *l, bool is_source)
{
    struct hd_json *j = &s->json;
    char reason[REASON];

    hd_json_open(j, NULL, '{');
    hd_json_i64(j, "id", l->id);
    hd_json_i64(j, "process", l->pid);
    hd_json_str(j, "kernel", l->name);
    hd_json_i64(j, "context", l->context);
    hd_json_i64(j, "stream", l->stream);
    hd_json_i64(j, "device", l->device);
    hd_json_open(j, "grid", '[');
    for (int i = 0; i < 3; i++)
        hd_json_i64(j, NULL, l->grid[i]);
    hd_json_close(j, ']');
    hd_json_open(j, "block", '[');
    for (int i = 0; i < 3; i++)
        hd_json_i64(j, NULL, l->block[i]);
    hd_json_close(j, ']');
    if (is_source)
        return;
    hd_json_open(j, "metrics", '{');
    for (size_t m = 0; m < metrics_count; m++)
        if (l->has[m] && show_is_wanted(s->view, &metrics[m]))
            hd_json_double(j, metrics[m].name, l->values[m]);
    hd_json_close(j, '}');
    hd_json_open(j, "missing", '{');
    for (size_t m = 0; m < metrics_count; m++) {
        if (l->has[m] || !show_is_wanted(s->view, &metrics[m]))
            continue;
        show_reason_of(reason, l, m);
        hd_json_str(j, metrics[m].name, reason);
    }
    hd_json_close(j, '}');
    hd_json_open(j, "while_counted", '[');
    for (size_t m = 0; m < metrics_count; m++)
        if (show_is_while_counted(l, &metrics[m]) && show_is_wanted(s->view, &metrics[m]))
            hd_json_str(j, NULL, metrics[m].name);
    hd_json_close(j, ']');
    hd_json_open(j, "notes", '[');
    show_notes_report(s, l, -1, show_json_note);
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

/* ---- per line of the source */

/* What the page of the source has, if no metrics are named. */
static const char *const source_columns[] = {
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "heddle__branches_divergent.sum",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "heddle__bytes_mem_local.sum",
};

struct columns {
    size_t at[256], n;
};

static void show_columns_find(const struct prof_kernel_view *view, struct columns *out)
{
    out->n = 0;
    for (size_t m = 0; m < metrics_count && out->n < HD_COUNT_OF(out->at); m++) {
        bool is_usual = false;
        for (size_t i = 0; i < HD_COUNT_OF(source_columns); i++)
            is_usual |= !strcmp(metrics[m].name, source_columns[i]);
        if (metrics[m].kind == METRIC_SUM &&
            (view->metrics || view->sections ? show_is_wanted(view, &metrics[m]) : is_usual))
            out->at[out->n++] = m;
    }
}

struct source_line {
    const char *file, *function;
    int64_t line;
    const double *values;
};

static void show_source_head(const struct show *s, const struct columns *columns)
{
    if (s->view->format == PROF_CSV)
        fputs("\"ID\",\"Kernel Name\",\"File\",\"Line\",\"Function\"", s->out);
    for (size_t i = 0; i < columns->n; i++) {
        if (s->view->format == PROF_CSV)
            show_csv(s->out, false, metrics[columns->at[i]].label);
        else if (s->view->format == PROF_TABLE)
            fprintf(s->out, "    [%zu] %s\n", i + 1, metrics[columns->at[i]].label);
    }
    if (s->view->format == PROF_CSV) {
        fputc('\n', s->out);
        return;
    }
    if (s->view->format != PROF_TABLE)
        return;
    fputs("    ", s->out);
    for (size_t i = 0; i < columns->n; i++)
        fprintf(s->out, "%13s%zu%s", "[", i + 1, "]");
    fputs("  Source\n", s->out);
}

static void show_source_row(struct show *s, const struct shown *launch,
                            const struct columns *columns, const struct source_line *line)
{
    char text[64];

    if (s->view->format == PROF_JSON) {
        hd_json_open(&s->json, NULL, '{');
        hd_json_str(&s->json, "file", line->file);
        hd_json_i64(&s->json, "line", line->line);
        hd_json_str(&s->json, "function", line->function);
        for (size_t i = 0; i < columns->n; i++)
            hd_json_double(&s->json, metrics[columns->at[i]].name, line->values[columns->at[i]]);
        hd_json_close(&s->json, '}');
        return;
    }
    if (s->view->format == PROF_CSV) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)launch->id);
        show_csv(s->out, true, text);
        show_csv(s->out, false, launch->name);
        show_csv(s->out, false, line->file);
        (void)snprintf(text, sizeof(text), "%lld", (long long)line->line);
        show_csv(s->out, false, text);
        show_csv(s->out, false, line->function);
    } else {
        fputs("    ", s->out);
    }
    for (size_t i = 0; i < columns->n; i++) {
        show_put_number(text, line->values[columns->at[i]], s->view->format == PROF_TABLE);
        if (s->view->format == PROF_CSV)
            show_csv(s->out, false, text);
        else
            fprintf(s->out, "%15s", text);
    }
    if (s->view->format == PROF_TABLE)
        fprintf(s->out, "  %s:%lld", *line->file ? line->file : "?", (long long)line->line);
    fputc('\n', s->out);
}

/* Rows come by file, line and function; of a group they are the sums of all its launches. */
static enum hd_status show_source_rows(struct show *s, const struct shown *launch,
                                       const struct columns *columns, double *values)
{
    char file[4096] = "", function[4096] = "";
    struct source_line line = {.file = file, .function = function, .line = -1, .values = values};
    sqlite3_stmt *row;

    HD_TRY(show_prepare(s->db,
                        "SELECT file, line, function, name, sum(value) FROM HEDDLE_SOURCE_METRICS"
                        " WHERE launchId IN (SELECT launchId FROM temp.shown) GROUP BY file, line,"
                        " function, name ORDER BY file, line, function",
                        &row));
    for (bool more = true; more;) {
        more = sqlite3_step(row) == SQLITE_ROW;
        const char *at_file = more ? (const char *)sqlite3_column_text(row, 0) : "";
        const char *at_function = more ? (const char *)sqlite3_column_text(row, 2) : "";
        int64_t at = more ? sqlite3_column_int64(row, 1) : -1;
        if (line.line != at || strcmp(file, at_file) != 0 || strcmp(function, at_function) != 0) {
            if (line.line >= 0)
                show_source_row(s, launch, columns, &line);
            (void)snprintf(file, sizeof(file), "%s", at_file);
            (void)snprintf(function, sizeof(function), "%s", at_function);
            line.line = at;
            memset(values, 0, metrics_count * sizeof(double));
        }
        const char *name = more ? (const char *)sqlite3_column_text(row, 3) : NULL;
        const struct metric *metric = name ? metric_find(name, strlen(name)) : NULL;
        if (metric)
            values[metric - metrics] = sqlite3_column_double(row, 4);
    }
    sqlite3_finalize(row);
    return HD_OK;
}

static enum hd_status show_source_page(struct show *s, const struct shown *launch)
{
    struct columns columns;

    show_columns_find(s->view, &columns);
    if (s->view->format == PROF_JSON) {
        show_json_launch(s, launch, true);
        hd_json_open(&s->json, "lines", '[');
    } else if (s->view->format == PROF_TABLE) {
        show_text_launch(s, launch);
        if (launch->count > 1)
            fputs("    Sums of all launches.\n", s->out);
    }
    if (s->view->format != PROF_CSV || !launch->id)
        show_source_head(s, &columns);
    HD_TRY(show_source_rows(s, launch, &columns, launch->values));
    if (s->view->format == PROF_JSON) {
        hd_json_close(&s->json, ']');
        hd_json_close(&s->json, '}');
    } else if (s->view->format == PROF_TABLE) {
        fputc('\n', s->out);
    }
    return HD_OK;
}

/* ---- all launches */

static void show_head(const struct show *s)
{
    if (s->view->format != PROF_CSV)
        return;
    if (s->view->page == PROF_KERNEL_RAW)
        show_csv_raw_head(s);
    if (s->view->page == PROF_KERNEL_DETAILS)
        fprintf(s->out,
                "%s,\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\","
                "\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\","
                "\"Estimated Speedup\"\n",
                launch_columns);
}

static enum hd_status show_launch(struct show *s, struct shown *launch)
{
    if (s->view->page == PROF_KERNEL_SOURCE)
        return show_source_page(s, launch);
    if (s->view->format == PROF_JSON)
        show_json_launch(s, launch, false);
    else if (s->view->format == PROF_CSV && s->view->page == PROF_KERNEL_RAW)
        show_csv_raw(s, launch);
    else if (s->view->format == PROF_CSV)
        show_csv_details(s, launch);
    else if (s->view->page == PROF_KERNEL_RAW)
        show_text_raw(s, launch);
    else
        show_text_details(s, launch);
    return HD_OK;
}

/* What is equal in launches of a group, but for a launch's name: grid, block, device, settings. */
static const char launches_sql[] =
    "SELECT launchId, globalPid, contextId, streamId, deviceId, demangledName, gridX, gridY, gridZ,"
    " blockX, blockY, blockZ, (SELECT group_concat(m.name || '=' || m.value) FROM HEDDLE_METRICS m"
    " WHERE m.launchId = l.launchId AND m.name GLOB 'launch__*') FROM HEDDLE_LAUNCHES l";

static enum hd_status show_groups_read(struct show *s, struct report_groups *out)
{
    bool is_together = s->view->format == PROF_TABLE && !s->view->is_each, good = true;
    struct hd_buf key = {0};
    sqlite3_stmt *row;

    HD_TRY(show_prepare(s->db, launches_sql, &row));
    while (good && sqlite3_step(row) == SQLITE_ROW) {
        hd_buf_clear(&key);
        if (!is_together)
            hd_buf_printf(&key, "%lld", (long long)sqlite3_column_int64(row, 0));
        for (int column = 4; is_together && column < sqlite3_column_count(row); column++)
            hd_buf_printf(&key, "%s\n", prof_db_text(row, column));
        good = !key.failed && report_groups_add(out, (struct hd_str){key.ptr, key.len},
                                                sqlite3_column_int64(row, 0));
    }
    hd_buf_fini(&key);
    sqlite3_finalize(row);
    return good ? HD_OK : show_no_memory();
}

/* Puts the launches of a group into temp.shown. */
static enum hd_status show_group_select(struct show *s, const struct report_groups *groups,
                                        const struct report_group *group)
{
    sqlite3_stmt *row;
    int code = SQLITE_DONE;

    if (sqlite3_exec(s->db, "DELETE FROM temp.shown", NULL, NULL, NULL))
        return hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
    HD_TRY(show_prepare(s->db, "INSERT INTO temp.shown VALUES(?)", &row));
    for (size_t m = group->first; m != REPORT_NONE && code == SQLITE_DONE;
         m = groups->members.at[m].next) {
        (void)sqlite3_bind_int64(row, 1, groups->members.at[m].id);
        code = sqlite3_step(row);
        (void)sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return code == SQLITE_DONE ? HD_OK : hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
}

#define SHOWN "HEDDLE_LAUNCHES JOIN temp.shown USING (launchId)"
#define COUNT_OF(column)                                                                           \
    "(SELECT count(DISTINCT globalPid || ' ' || coalesce(" column ", '')) FROM " SHOWN ")"
/* clang-format off */
static const char group_sql[] =
    "SELECT launchId, globalPid, contextId, streamId, deviceId, demangledName, gridX, gridY, gridZ, "
    "blockX, blockY, blockZ, " COUNT_OF("contextId") ", " COUNT_OF("streamId") " FROM " SHOWN
    " ORDER BY abs((SELECT value FROM HEDDLE_METRICS m WHERE m.launchId = HEDDLE_LAUNCHES.launchId "
    "AND m.name = ?1) - ?2), launchId LIMIT 1";
/* clang-format on */
#undef SHOWN
#undef COUNT_OF

/* The launch whose time is the median, or next to it, stands for the group: its notes are shown. */
static enum hd_status group_show(struct show *s, struct shown *launch)
{
    static const char time[] = "gpu__time_duration.sum";
    const struct metric *duration = metric_find(time, strlen(time));
    enum hd_status status = HD_OK;
    sqlite3_stmt *row;

    assert(duration && launch->count);
    HD_TRY(show_values_read(s, launch));
    HD_TRY(show_prepare(s->db, group_sql, &row));
    (void)sqlite3_bind_text(row, 1, time, -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(row, 2, launch->values[duration - metrics]);
    if (sqlite3_step(row) == SQLITE_ROW) {
        launch->id = sqlite3_column_int64(row, 0);
        launch->pid = sqlite3_column_int64(row, 1) >> 24 & 0xffffff;
        launch->context = sqlite3_column_int64(row, 2);
        launch->stream = sqlite3_column_int64(row, 3);
        launch->device = sqlite3_column_int64(row, 4);
        launch->name = prof_db_text(row, 5);
        for (int i = 0; i < 3; i++) {
            launch->grid[i] = sqlite3_column_int64(row, 6 + i);
            launch->block[i] = sqlite3_column_int64(row, 9 + i);
        }
        launch->contexts = (size_t)sqlite3_column_int64(row, 12);
        launch->streams = (size_t)sqlite3_column_int64(row, 13);
        status = show_launch(s, launch);
    }
    sqlite3_finalize(row);
    return status;
}

/* What a reader of the text may want to do next. */
static void show_text_hints(const struct show *s, bool is_grouped)
{
    if (is_grouped)
        fputs("Launches of a kernel with the same grid, block and settings are shown together: "
              "medians, and\nleast and greatest values where they differ. --print-summary none "
              "shows each.\n",
              s->out);
    if (!show_has_rows(s->db,
                       "SELECT 1 FROM HEDDLE_SOURCE_METRICS WHERE file NOT IN (?, '') LIMIT 1",
                       "ptx") &&
        show_has_rows(s->db, "SELECT 1 FROM HEDDLE_SOURCE_METRICS WHERE ? <> '' LIMIT 1", "ptx"))
        fputs("Places are lines of the PTX: with -lineinfo (nvcc, heddle cc) they are those of the "
              "source.\n",
              s->out);
}

static enum hd_status show_all(struct show *s, struct shown *launch)
{
    struct report_groups groups = {0};
    bool is_grouped = false;
    enum hd_status status = show_groups_read(s, &groups);

    if (sqlite3_exec(s->db, "CREATE TEMP TABLE shown(launchId INTEGER PRIMARY KEY)", NULL, NULL,
                     NULL))
        status = hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
    for (size_t g = 0; g < groups.at.len && status == HD_OK; g++) {
        assert(groups.at.at[g].count && groups.at.at[g].first != REPORT_NONE);
        launch->count = groups.at.at[g].count;
        is_grouped |= launch->count > 1;
        status = show_group_select(s, &groups, &groups.at.at[g]);
        if (status == HD_OK)
            status = group_show(s, launch);
    }
    if (status == HD_OK && s->view->format == PROF_TABLE)
        show_text_hints(s, is_grouped);
    report_groups_fini(&groups);
    return status;
}

static enum hd_status show_open(struct show *s)
{
    struct shown launch = {.values = hd_alloc_array(metrics_count, sizeof(double)),
                           .has = hd_alloc_array(metrics_count, sizeof(bool)),
                           .spreads = hd_alloc_array(metrics_count, sizeof(*launch.spreads))};
    enum hd_status status = HD_OK;

    show_one_text(s, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:COMMAND'",
                  s->process, sizeof(s->process));
    show_one_text(s, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'", s->host,
                  sizeof(s->host));
    show_one_text(s, "SELECT computeMajor || '.' || computeMinor FROM TARGET_INFO_GPU", s->cc,
                  sizeof(s->cc));
    hd_json_init(&s->json);
    hd_json_open(&s->json, NULL, '[');
    show_head(s);
    status =
        launch.values && launch.has && launch.spreads ? show_all(s, &launch) : show_no_memory();
    hd_json_close(&s->json, ']');
    if (status == HD_OK && s->view->format == PROF_JSON && !hd_json_print(&s->json))
        status = hd_error(HD_IO, "standard output");
    hd_free(launch.values);
    hd_free(launch.has);
    for (size_t m = 0; launch.spreads && m < metrics_count; m++)
        report_spread_fini(&launch.spreads[m]);
    hd_free(launch.spreads);
    return status;
}

enum hd_status prof_kernel_show(const char *report, const struct prof_kernel_view *view, FILE *out)
{
    struct prof_kernel_view own = *view;
    struct show s = {.view = &own, .out = out};
    enum hd_status status;

    HD_TRY(prof_kernel_check(view));
    HD_TRY(prof_db_open(report, &s.db));
    own.absent = show_sections_absent(s.db);
    status = prof_db_has(s.db, "HEDDLE_LAUNCHES") && prof_db_has(s.db, "HEDDLE_METRICS")
                 ? show_open(&s)
                 : hd_error(HD_NOT_FOUND, "%s: no launch was counted", report);
    sqlite3_close(s.db);
    return status;
}
