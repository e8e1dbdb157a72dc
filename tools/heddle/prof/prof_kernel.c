/* From the counts that processes wrote (src/count/file.h) to rows of a report. */
#include "prof/prof_kernel.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "check/check.h"
#include "count/file.h"
#include "count/metrics.h"
#include "prof/prof_alike.h"
#include "prof/prof_db.h"
#include "report/excess.h"

#define VM (INT64_C(1) << 48)

/* What a line of the source has of the sums. */
struct line {
    const char *file, *function;
    uint32_t line;
    double *values;
};

struct adding {
    struct prof_db *db;
    uint64_t start_ns;
    uint32_t pid;
    int64_t next;           /* launchId */
    sqlite3_stmt *kernel;   /* finds the grid among those that were recorded */
    struct hd_arena arena;  /* of one launch */
    struct hd_map by_place; /* index in `lines` + 1 */
    HD_VEC(struct line) lines;
    HD_VEC(struct report_sectors) sectors; /* of these lines */
};

/* ---- lines of the file */

/* `n` numbers, then texts; false: it has others. */
static bool kernel_fields(char *line, uint64_t *numbers, size_t n, const char **texts,
                          size_t ntexts)
{
    for (size_t i = 0; i < n + ntexts; i++) {
        char *tab = strchr(line, '\t'), *end;
        if (!tab)
            return false;
        line = tab + 1;
        if (i >= n) {
            *tab = '\0';
            texts[i - n] = line;
            continue;
        }
        errno = 0;
        numbers[i] = strtoull(line, &end, 10);
        if (end == line || errno || (*end && *end != '\t'))
            return false;
    }
    return !strchr(line, '\t');
}

static bool kernel_launch_read(char *text, struct kernel_launch *out)
{
    uint64_t n[COUNT_FILE_LAUNCH];

    if (!kernel_fields(text, n, COUNT_FILE_LAUNCH, &out->name, 1))
        return false;
    out->correlation = n[0];
    out->grid_id = n[1];
    out->begin_ns = n[2];
    out->end_ns = n[3];
    for (int i = 0; i < 3; i++) {
        out->grid[i] = n[4 + i];
        out->block[i] = n[7 + i];
        out->cluster[i] = n[10 + i];
    }
    out->static_B = n[13];
    out->dynamic_B = n[14];
    out->duration_ns = out->end_ns - HD_MIN(out->begin_ns, out->end_ns);
    return true;
}

static bool kernel_instr_read(char *text, struct heddle_counted_instr *out)
{
    uint64_t n[COUNT_FILE_INSTR];
    const char *texts[3];
    size_t at = 8;

    if (!kernel_fields(text, n, COUNT_FILE_INSTR, texts, 3))
        return false;
    *out = (struct heddle_counted_instr){.classes = n[0],
                                         .issued = n[1],
                                         .lanes = n[2],
                                         .on = n[3],
                                         .taken = n[4],
                                         .divergent = n[5],
                                         .ops = n[6],
                                         .window_B = n[7],
                                         .form = texts[0],
                                         .function = texts[1],
                                         .file = texts[2]};
    for (int s = 0; s < IR_COUNT_SPACES; s++)
        for (int w = 0; w < IR_COUNT_ACCESS_WORDS; w++)
            out->in[s][w] = n[at++];
    out->ptx_line = (uint32_t)n[at++];
    assert(at + 1 == COUNT_FILE_INSTR);
    out->line = (uint32_t)n[at];
    return true;
}

/* ---- sums */

static struct line *kernel_line_of(struct adding *a, const struct heddle_counted_instr *i)
{
    struct hd_buf key;
    void *found = NULL;
    struct line line = {.line = i->line ? i->line : i->ptx_line};

    hd_buf_init(&key);
    hd_buf_printf(&key, "%u\t%s\t%s", line.line, i->file, i->function);
    char *kept = key.failed ? NULL : hd_arena_strndup(&a->arena, key.ptr, key.len);
    hd_buf_fini(&key);
    if (!kept)
        return NULL;
    if (hd_map_find(&a->by_place, (struct hd_str){kept, strlen(kept)}, &found)) {
        assert((uintptr_t)found - 1 < a->lines.len);
        return &a->lines.at[(uintptr_t)found - 1];
    }
    line.file = hd_arena_strndup(&a->arena, i->file, strlen(i->file));
    line.function = hd_arena_strndup(&a->arena, i->function, strlen(i->function));
    line.values = hd_arena_array(&a->arena, double, metrics_count);
    if (!line.file || !line.function || !line.values || !hd_vec_push(&a->lines, line) ||
        !hd_map_put(&a->by_place, (struct hd_str){kept, strlen(kept)},
                    (void *)(uintptr_t)a->lines.len))
        return NULL;
    return &hd_vec_last(&a->lines);
}

static bool kernel_instr_add(struct adding *a, const struct heddle_counted_instr *i, double *sums,
                             double *own)
{
    struct line *line = kernel_line_of(a, i);

    if (!line)
        return false;
    assert(line->values);
    metrics_of_instr(i, own);
    for (size_t m = 0; m < metrics_count; m++) {
        sums[m] += own[m];
        line->values[m] += own[m];
    }
    return true;
}

/* ---- rows */

/* What the recording says of the grid: when and where it ran. */
struct ran {
    bool known;
    int64_t start, end, device, context, stream;
};

static struct ran kernel_ran_of(struct adding *a, struct kernel_launch *l)
{
    struct ran ran = {.start = (int64_t)(l->begin_ns - a->start_ns),
                      .end = (int64_t)(l->end_ns - a->start_ns)};
    sqlite3_stmt *row = a->kernel;

    if (!row)
        return ran;
    (void)sqlite3_bind_int64(row, 1, VM | (int64_t)(a->pid & 0xffffff) << 24);
    (void)sqlite3_bind_int64(row, 2, (int64_t)l->correlation);
    (void)sqlite3_bind_int64(row, 3, ran.start); /* of a graph's launch one of many */
    if (sqlite3_step(row) == SQLITE_ROW) {
        ran = (struct ran){.known = true,
                           .start = sqlite3_column_int64(row, 0),
                           .end = sqlite3_column_int64(row, 1),
                           .device = sqlite3_column_int64(row, 2),
                           .context = sqlite3_column_int64(row, 3),
                           .stream = sqlite3_column_int64(row, 4)};
        l->registers = (uint64_t)sqlite3_column_int64(row, 5);
        l->duration_ns = (uint64_t)(ran.end - ran.start);
    }
    (void)sqlite3_reset(row);
    return ran;
}

static void kernel_put_launch(struct adding *a, struct kernel_launch *l)
{
    const struct ran ran = kernel_ran_of(a, l);

    prof_db_row(a->db, TABLE_HEDDLE_LAUNCHES, "ioooo ss iiiiii iii", a->next, l->correlation != 0,
                (int64_t)l->correlation, (int)ran.known, ran.device, (int)ran.known, ran.context,
                (int)ran.known, ran.stream, l->name, check_demangle(l->name, DEMANGLE_FULL),
                (int64_t)l->grid[0], (int64_t)l->grid[1], (int64_t)l->grid[2], (int64_t)l->block[0],
                (int64_t)l->block[1], (int64_t)l->block[2], ran.start, ran.end,
                VM | (int64_t)(a->pid & 0xffffff) << 24);
}

static void kernel_put_values(struct adding *a, const struct kernel_launch *l, double *values,
                              bool *has)
{
    metrics_finish(l, values, has);
    for (size_t m = 0; m < metrics_count; m++)
        if (has[m])
            prof_db_row(a->db, TABLE_HEDDLE_METRICS, "issd", a->next, metrics[m].name,
                        metrics[m].unit, values[m]);
    for (size_t i = 0; i < a->lines.len; i++) {
        const struct line *line = &a->lines.at[i];
        for (size_t m = 0; m < metrics_count; m++)
            if (line->values[m] != 0)
                prof_db_row(a->db, TABLE_HEDDLE_SOURCE_METRICS, "isissd", a->next, line->file,
                            (int64_t)line->line, line->function, metrics[m].name, line->values[m]);
    }
}

/* Which line has the most sectors that coalesced accesses would not need. */
static bool kernel_note_excess(struct adding *a)
{
    static const char all[] = "memory_l2_theoretical_sectors_global",
                      ideal[] = "memory_l2_theoretical_sectors_global_ideal";
    const size_t all_at = (size_t)(metric_find(all, strlen(all)) - metrics),
                 ideal_at = (size_t)(metric_find(ideal, strlen(ideal)) - metrics);
    struct report_excess e;
    struct hd_buf text = {0};

    assert(all_at < metrics_count && ideal_at < metrics_count);
    a->sectors.len = 0;
    for (size_t i = 0; i < a->lines.len; i++) {
        const struct line *line = &a->lines.at[i];
        struct report_sectors sectors = {line->file, line->line, line->values[all_at],
                                         line->values[ideal_at]};
        if (sectors.all > 0 && !hd_vec_push(&a->sectors, sectors))
            return false;
    }
    if (!report_excess_find(a->sectors.at, a->sectors.len, &e))
        return true;
    const struct report_sectors *line = &a->sectors.at[e.first];
    bool is_source = report_is_source(line->file);
    if (is_source)
        report_source_line(line->file, line->line, &text);
    prof_alike_note(a->db, a->next, metric_section_names[SECTION_SourceCounters],
                    "Uncoalesced accesses: %.0f sectors where %.0f would do, %.0f %% of this "
                    "kernel's excess, are at %s:%u%s%s",
                    e.line_all, e.line_ideal, 100 * (e.line_all - e.line_ideal) / e.excess,
                    is_source ? line->file : "ptx", line->line, text.len ? ": " : "",
                    text.len ? text.ptr : "");
    bool good = !text.failed;
    hd_buf_fini(&text);
    return good;
}

static void kernel_launch_clear(struct adding *a)
{
    hd_map_fini(&a->by_place);
    hd_map_init(&a->by_place);
    a->lines.len = 0;
    hd_arena_fini(&a->arena);
    hd_arena_init(&a->arena);
}

struct scratch {
    double *sums, *own;
    bool *has;
};

static enum hd_status kernel_out_of_memory(void)
{
    return hd_error(HD_NO_MEMORY, "out of memory");
}

/* Lines of one launch, which begin with L; the last is E. */
static enum hd_status kernel_launch_add(struct adding *a, char **lines, size_t n,
                                        const struct scratch *scratch)
{
    struct kernel_launch l = {0};
    struct heddle_counted_instr i;

    kernel_launch_clear(a);
    assert(n && *lines[0] == 'L');
    memset(scratch->sums, 0, metrics_count * sizeof(double));
    if (!kernel_launch_read(lines[0], &l))
        return HD_OK;
    for (size_t k = 1; k < n; k++) {
        if (!kernel_instr_read(lines[k], &i))
            return HD_OK;
        if (!kernel_instr_add(a, &i, scratch->sums, scratch->own))
            return kernel_out_of_memory();
    }
    kernel_put_launch(a, &l);
    kernel_put_values(a, &l, scratch->sums, scratch->has);
    if (!kernel_note_excess(a))
        return kernel_out_of_memory();
    a->next++;
    return HD_OK;
}

/* ---- files */

static enum hd_status kernel_text_add(struct adding *a, char *text, const struct scratch *scratch)
{
    HD_VEC(char *) lines = {0};
    enum hd_status status = HD_OK;

    for (char *end; status == HD_OK && (end = strchr(text, '\n')); text = end + 1) {
        *end = '\0';
        if (*text == 'L')
            lines.len = 0;
        if (*text == 'E' && lines.len)
            status = kernel_launch_add(a, lines.at, lines.len, scratch);
        else if (*text == 'L' || (*text == 'I' && lines.len))
            status = hd_vec_push(&lines, text) ? HD_OK : kernel_out_of_memory();
        if (*text == 'E')
            lines.len = 0;
    }
    hd_vec_fini(&lines);
    return status;
}

static enum hd_status kernel_file_add(struct adding *a, const char *folder, const char *name)
{
    struct scratch scratch = {hd_alloc_array(metrics_count, sizeof(double)),
                              hd_alloc_array(metrics_count, sizeof(double)),
                              hd_alloc_array(metrics_count, sizeof(bool))};
    struct hd_buf path, text;
    enum hd_status status = kernel_out_of_memory();

    hd_buf_init(&path);
    hd_buf_init(&text);
    hd_buf_printf(&path, "%s/%s", folder, name);
    a->pid = (uint32_t)strtoul(name, NULL, 10);
    if (path.ptr && scratch.sums && scratch.own && scratch.has) {
        status = hd_file_read(path.ptr, SIZE_MAX / 2, &text);
        if (status == HD_OK && text.ptr)
            status = kernel_text_add(a, text.ptr, &scratch);
    }
    hd_buf_fini(&text);
    hd_free(scratch.sums);
    hd_free(scratch.own);
    hd_free(scratch.has);
    hd_buf_fini(&path);
    return status;
}

int prof_kernel_is_counts(const struct dirent *entry)
{
    const size_t own = strlen(COUNT_FILE_SUFFIX);
    size_t len = strlen(entry->d_name);

    return len > own && !strcmp(entry->d_name + len - own, COUNT_FILE_SUFFIX);
}

enum hd_status prof_kernel_add(struct prof_db *db, const char *folder, uint64_t start_ns,
                               uint64_t *out_launches)
{
    struct adding a = {.db = db, .start_ns = start_ns};
    struct dirent **names = NULL;
    enum hd_status status = HD_OK;
    int n = scandir(folder, &names, prof_kernel_is_counts, alphasort);

    hd_arena_init(&a.arena);
    hd_map_init(&a.by_place);
    if (n > 0 && prof_db_has(db->db, "CUPTI_ACTIVITY_KIND_KERNEL"))
        (void)sqlite3_prepare_v2(
            db->db,
            "SELECT start, end, deviceId, contextId, streamId, registersPerThread"
            " FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid = ? AND correlationId = ?"
            " ORDER BY abs(start - ?) LIMIT 1",
            -1, &a.kernel, NULL);
    for (int i = 0; i < n; i++) {
        if (status == HD_OK)
            status = kernel_file_add(&a, folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    sqlite3_finalize(a.kernel);
    hd_map_fini(&a.by_place);
    hd_vec_fini(&a.lines);
    hd_vec_fini(&a.sectors);
    hd_arena_fini(&a.arena);
    *out_launches = (uint64_t)a.next;
    return status;
}
