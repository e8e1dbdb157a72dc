/* See prof_stats.h. */
#include "prof/prof_stats.h"

#include <assert.h>
#include <string.h>

#include "base/text/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "prof/prof_db.h"
#include "prof/prof_sample.h"
#include "report/sample.h"

#define DEFAULTS                                                                                   \
    "nvtx_sum,osrt_sum,cuda_api_sum,cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum"
#define WITH_SAMPLES DEFAULTS ",host_samples_sum,host_samples_tree" /* of a report that has some */

const char *const prof_format_words[PROF_FORMAT_COUNT] = {
    [PROF_TABLE] = "table", [PROF_CSV] = "csv", [PROF_JSON] = "json"};

static const struct report {
    const char *name, *title, *query;
} reports[] = {
#define R(name, title, query) {#name, title, query},
#include "prof/prof_reports.def"
#undef R
};

void prof_stats_list(FILE *out)
{
    for (size_t i = 0; i < HD_COUNT_OF(reports); i++)
        fprintf(out, "  %-22s %s\n", reports[i].name, reports[i].title);
}

/* ---- functions of the queries */

struct sample {
    HD_VEC(double) values;
};

static void stats_sample_step(sqlite3_context *context, int n, sqlite3_value **args)
{
    struct sample *s = sqlite3_aggregate_context(context, sizeof(*s));

    assert(n == 1);
    if (!s || sqlite3_value_type(args[0]) == SQLITE_NULL)
        return;
    if (!hd_vec_push(&s->values, sqlite3_value_double(args[0])))
        sqlite3_result_error_nomem(context);
}

static void stats_median_final(sqlite3_context *context)
{
    struct sample *s = sqlite3_aggregate_context(context, 0);

    if (s && s->values.len)
        sqlite3_result_double(context, report_median(s->values.at, s->values.len));
    if (s)
        hd_vec_fini(&s->values);
}

static void stats_stdev_final(sqlite3_context *context)
{
    struct sample *s = sqlite3_aggregate_context(context, 0);

    if (s && s->values.len)
        sqlite3_result_double(context, report_deviation(s->values.at, s->values.len));
    if (s)
        hd_vec_fini(&s->values);
}

enum hd_status prof_stats_functions(sqlite3 *db, const char *path)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

    if (sqlite3_create_function(db, "median", 1, flags, NULL, NULL, stats_sample_step,
                                stats_median_final) ||
        sqlite3_create_function(db, "stdev", 1, flags, NULL, NULL, stats_sample_step,
                                stats_stdev_final))
        return prof_db_error(db, path);
    return HD_OK;
}

/* ---- rows as text */

/* Sizes are small numbers of megabytes; times are whole or means. */
static void stats_cell_text(sqlite3_stmt *row, int column, struct hd_buf *out)
{
    const char *title = sqlite3_column_name(row, column);

    hd_buf_clear(out);
    if (sqlite3_column_type(row, column) == SQLITE_FLOAT)
        hd_buf_printf(out, strstr(title, "MB") ? "%.3f" : "%.1f",
                      sqlite3_column_double(row, column));
    else if (sqlite3_column_type(row, column) != SQLITE_NULL)
        hd_buf_puts(out, prof_db_text(row, column));
}

static bool stats_is_text(sqlite3_stmt *row, int column)
{
    const char *title = sqlite3_column_name(row, column);

    return column == sqlite3_column_count(row) - 1 && !strchr(title, '(');
}

/* Two passes over the rows: widths, then lines. */
static int stats_table_widths(sqlite3_stmt *row, size_t *widths)
{
    struct hd_buf cell = {0};
    int code;

    for (int i = 0; i < sqlite3_column_count(row); i++)
        widths[i] = strlen(sqlite3_column_name(row, i));
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            stats_cell_text(row, i, &cell);
            widths[i] = HD_MAX(widths[i], cell.len);
        }
    hd_buf_fini(&cell);
    (void)sqlite3_reset(row);
    return code;
}

static void stats_table_cell(sqlite3_stmt *row, int column, const size_t *widths, const char *text,
                             FILE *out)
{
    assert(column >= 0 && column < sqlite3_column_count(row));
    if (stats_is_text(row, column))
        fprintf(out, "  %s", text);
    else
        fprintf(out, "  %*s", (int)widths[column], text);
}

static void stats_table_rule(sqlite3_stmt *row, const size_t *widths, FILE *out)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        fputs("  ", out);
        for (size_t n = 0; n < HD_MIN(widths[i], (size_t)100); n++)
            fputc('-', out);
    }
    fputc('\n', out);
}

static int stats_print_table(const struct report *report, sqlite3_stmt *row, FILE *out)
{
    HD_AUTOFREE size_t *widths = hd_alloc_array((size_t)sqlite3_column_count(row), sizeof(*widths));
    struct hd_buf cell = {0};
    int code = widths ? stats_table_widths(row, widths) : SQLITE_NOMEM;

    if (code != SQLITE_DONE)
        return code;
    fprintf(out, "\n ** %s (%s):\n\n", report->title, report->name);
    for (int i = 0; i < sqlite3_column_count(row); i++)
        stats_table_cell(row, i, widths, sqlite3_column_name(row, i), out);
    fputc('\n', out);
    stats_table_rule(row, widths, out);
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            stats_cell_text(row, i, &cell);
            stats_table_cell(row, i, widths, cell.len ? cell.ptr : "", out);
        }
        fputc('\n', out);
    }
    hd_buf_fini(&cell);
    return code;
}

void prof_csv_quoted(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void prof_csv_cell(const char *text, FILE *out)
{
    if (strpbrk(text, ",\"\n"))
        prof_csv_quoted(text, out);
    else
        fputs(text, out);
}

static int stats_print_csv(const struct report *report, sqlite3_stmt *row, FILE *out)
{
    struct hd_buf cell = {0};
    int code, n = sqlite3_column_count(row);

    (void)report;
    for (int i = 0; i < n; i++) {
        prof_csv_cell(sqlite3_column_name(row, i), out);
        fputc(i + 1 < n ? ',' : '\n', out);
    }
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        for (int i = 0; i < n; i++) {
            stats_cell_text(row, i, &cell);
            prof_csv_cell(cell.len ? cell.ptr : "", out);
            fputc(i + 1 < n ? ',' : '\n', out);
        }
    hd_buf_fini(&cell);
    return code;
}

static void stats_json_cell(struct hd_json *j, sqlite3_stmt *row, int column)
{
    const char *title = sqlite3_column_name(row, column);

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        hd_json_i64(j, title, sqlite3_column_int64(row, column));
        return;
    case SQLITE_FLOAT:
        hd_json_double(j, title, sqlite3_column_double(row, column));
        return;
    case SQLITE_TEXT:
        hd_json_str(j, title, (const char *)sqlite3_column_text(row, column));
        return;
    default:
        hd_json_str(j, title, NULL);
    }
}

static int stats_json_rows(const struct report *report, sqlite3_stmt *row, struct hd_json *j)
{
    int code;

    hd_json_open(j, report->name, '[');
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        hd_json_open(j, NULL, '{');
        for (int i = 0; i < sqlite3_column_count(row); i++)
            stats_json_cell(j, row, i);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    return code;
}

/* ---- reports */

struct stats {
    sqlite3 *db;
    const char *path;
    enum prof_format format;
    FILE *out;
    struct hd_json json;
};

static bool stats_is_empty(sqlite3_stmt *row)
{
    bool has = sqlite3_step(row) == SQLITE_ROW;

    (void)sqlite3_reset(row);
    return !has;
}

static enum hd_status stats_print_report(struct stats *s, const struct report *report)
{
    sqlite3_stmt *row;
    int code;

    if (!strcmp(report->name, "host_samples_tree"))
        HD_TRY(prof_sample_tree(s->db, s->path));
    if (sqlite3_prepare_v2(s->db, report->query, -1, &row, NULL))
        return prof_db_error(s->db, s->path);
    if (s->format == PROF_JSON)
        code = stats_json_rows(report, row, &s->json);
    else if (stats_is_empty(row))
        code = fprintf(s->out, "\nSKIPPED: %s has no data for %s.\n", s->path, report->name) < 0
                   ? SQLITE_IOERR
                   : SQLITE_DONE;
    else
        code = (s->format == PROF_CSV ? stats_print_csv : stats_print_table)(report, row, s->out);
    enum hd_status status = code == SQLITE_DONE ? HD_OK : prof_db_error(s->db, s->path);
    sqlite3_finalize(row);
    return status;
}

static const struct report *stats_report_find(struct hd_str name)
{
    for (size_t i = 0; i < HD_COUNT_OF(reports); i++)
        if (strlen(reports[i].name) == name.len && !memcmp(reports[i].name, name.ptr, name.len))
            return &reports[i];
    return NULL;
}

static enum hd_status stats_print_all(struct stats *s, const char *names)
{
    while (*names) {
        struct hd_str name = {names, strcspn(names, ",")};
        const struct report *report = stats_report_find(name);

        if (!report)
            return hd_error(HD_BAD_ARG, "there is no report '%.*s'", (int)name.len, name.ptr);
        HD_TRY(stats_print_report(s, report));
        names += name.len;
        names += *names == ',';
    }
    return HD_OK;
}

static bool stats_has_rows(sqlite3 *db, const char *table)
{
    char sql[64];
    sqlite3_stmt *row;
    bool has = false;

    int n = snprintf(sql, sizeof(sql), "SELECT 1 FROM %s LIMIT 1", table);
    assert(n > 0 && (size_t)n < sizeof(sql));
    if (!sqlite3_prepare_v2(db, sql, -1, &row, NULL))
        has = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return has;
}

enum hd_status prof_stats(const char *path, const char *names, enum prof_format format, FILE *out)
{
    struct stats s = {.path = path, .format = format, .out = out};

    HD_TRY(prof_db_open_report(path, &s.db));
    enum hd_status status = prof_stats_functions(s.db, path);
    if (status == HD_OK && format == PROF_JSON) {
        hd_json_init(&s.json);
        hd_json_open(&s.json, NULL, '{');
    }
    if (status == HD_OK)
        status = stats_print_all(&s, names                                      ? names
                                     : stats_has_rows(s.db, "COMPOSITE_EVENTS") ? WITH_SAMPLES
                                                                                : DEFAULTS);
    if (status == HD_OK && format == PROF_JSON) {
        hd_json_close(&s.json, '}');
        fprintf(out, "%s\n", s.json.buf.ptr ? s.json.buf.ptr : "");
    }
    hd_buf_fini(&s.json.buf);
    sqlite3_close(s.db);
    return status;
}
