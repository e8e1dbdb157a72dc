/*
 * Counters by line of the source (--page source), in each of the forms, with the text of the line
 * where the file can be read.
 */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "report/excess.h"

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

static void columns_find(const struct prof_kernel_view *view, struct columns *out)
{
    out->n = 0;
    for (size_t m = 0; m < metrics_count && out->n < HD_COUNT_OF(out->at); m++) {
        bool is_usual = false;
        for (size_t i = 0; i < HD_COUNT_OF(source_columns); i++)
            is_usual |= !strcmp(metrics[m].name, source_columns[i]);
        if (metrics[m].kind == METRIC_SUM &&
            (view->metrics || view->sections ? kernel_is_wanted(view, &metrics[m]) : is_usual))
            out->at[out->n++] = m;
    }
}

struct source_line {
    const char *file, *function, *text; /* text: "" where it cannot be read */
    int64_t line;
    const double *values;
};

/* The file that was read last: rows come by file. */
struct source_file {
    char name[4096];
    struct hd_buf text;
};

/* "": the file cannot be read, or has changed since and is shorter now. */
static void source_text_find(struct source_file *file, const struct source_line *line,
                             struct hd_buf *out)
{
    hd_buf_clear(out);
    if (strcmp(file->name, line->file) != 0) {
        hd_buf_fini(&file->text);
        file->text = (struct hd_buf){0};
        (void)snprintf(file->name, sizeof(file->name), "%s", line->file);
        if (report_is_source(file->name) && !report_source_read(file->name, &file->text))
            hd_buf_clear(&file->text);
    }
    if (file->text.len && line->line > 0 && line->line <= UINT32_MAX)
        report_text_line((struct hd_str){file->text.ptr, file->text.len}, (unsigned)line->line,
                         out);
}

static void source_head(const struct show *s, const struct columns *columns)
{
    if (s->view->format == PROF_CSV)
        fputs("\"ID\",\"Kernel Name\",\"File\",\"Line\",\"Function\"", s->out);
    for (size_t i = 0; i < columns->n; i++) {
        if (s->view->format == PROF_CSV)
            kernel_csv_cell(s->out, false, metrics[columns->at[i]].label);
        else if (s->view->format == PROF_TABLE)
            fprintf(s->out, "    [%zu] %s\n", i + 1, metrics[columns->at[i]].label);
    }
    if (s->view->format == PROF_CSV) {
        fputs(",\"Source\"\n", s->out);
        return;
    }
    if (s->view->format != PROF_TABLE)
        return;
    fputs("    ", s->out);
    for (size_t i = 0; i < columns->n; i++)
        fprintf(s->out, "%13s%zu%s", "[", i + 1, "]");
    fputs("  Source\n", s->out);
}

static void source_row(struct show *s, const struct shown *launch, const struct columns *columns,
                       const struct source_line *line)
{
    char text[64];

    if (s->view->format == PROF_JSON) {
        hd_json_open(&s->json, NULL, '{');
        hd_json_str(&s->json, "file", line->file);
        hd_json_i64(&s->json, "line", line->line);
        hd_json_str(&s->json, "function", line->function);
        hd_json_str(&s->json, "text", line->text);
        for (size_t i = 0; i < columns->n; i++)
            hd_json_double(&s->json, metrics[columns->at[i]].name, line->values[columns->at[i]]);
        hd_json_close(&s->json, '}');
        return;
    }
    if (s->view->format == PROF_CSV) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)launch->id);
        kernel_csv_cell(s->out, true, text);
        kernel_csv_cell(s->out, false, launch->name);
        kernel_csv_cell(s->out, false, line->file);
        (void)snprintf(text, sizeof(text), "%lld", (long long)line->line);
        kernel_csv_cell(s->out, false, text);
        kernel_csv_cell(s->out, false, line->function);
    } else {
        fputs("    ", s->out);
    }
    for (size_t i = 0; i < columns->n; i++) {
        assert(columns->at[i] < metrics_count);
        kernel_put_number(text, line->values[columns->at[i]], s->view->format == PROF_TABLE);
        if (s->view->format == PROF_CSV)
            kernel_csv_cell(s->out, false, text);
        else
            fprintf(s->out, "%15s", text);
    }
    if (s->view->format == PROF_TABLE)
        fprintf(s->out, "  %s:%lld%s%s", *line->file ? line->file : "?", (long long)line->line,
                *line->text ? ": " : "", line->text);
    else
        kernel_csv_cell(s->out, false, line->text);
    fputc('\n', s->out);
}

/* Rows come by file, line and function; of a group they are the sums of all its launches. */
static enum hd_status source_rows(struct show *s, const struct shown *launch,
                                  const struct columns *columns, double *values)
{
    char file[4096] = "", function[4096] = "";
    struct source_line line = {.file = file, .function = function, .line = -1, .values = values};
    struct source_file read = {.name = ""};
    struct hd_buf text = {0};
    sqlite3_stmt *row;

    HD_TRY(
        kernel_prepare(s->db,
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
            if (line.line >= 0) {
                source_text_find(&read, &line, &text);
                line.text = text.len ? text.ptr : "";
                source_row(s, launch, columns, &line);
            }
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
    hd_buf_fini(&text);
    hd_buf_fini(&read.text);
    sqlite3_finalize(row);
    return HD_OK;
}

enum hd_status kernel_source_page(struct show *s, const struct shown *launch)
{
    struct columns columns;

    assert(s->view->page == PROF_KERNEL_SOURCE);
    columns_find(s->view, &columns);
    if (s->view->format == PROF_JSON) {
        kernel_json_launch(s, launch, true);
        hd_json_open(&s->json, "lines", '[');
    } else if (s->view->format == PROF_TABLE) {
        kernel_text_launch(s, launch);
        if (launch->count > 1)
            fputs("    Sums of all launches.\n", s->out);
    }
    if (s->view->format != PROF_CSV || !launch->id)
        source_head(s, &columns);
    HD_TRY(source_rows(s, launch, &columns, launch->values));
    if (s->view->format == PROF_JSON) {
        hd_json_close(&s->json, ']');
        hd_json_close(&s->json, '}');
    } else if (s->view->format == PROF_TABLE) {
        fputc('\n', s->out);
    }
    return HD_OK;
}
