/* See prof_page.h: from a report to the page's data. */
#include "prof/prof_page.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "check/check.h"
#include "common/cli.h"
#include "prof/prof_db.h"
#include "prof/prof_stats.h"
#include "prof/prof_time.h"
#include "report/excess.h"

enum { COLUMNS_MAX = 6 };

struct column {
    const char *name;
    bool is_difference;
    int64_t last;
    struct hd_buf bytes;
};

/* Texts that stand for themselves once: names, streams, shapes of launches. */
struct texts {
    struct hd_map ids; /* text: id + 1 */
    HD_VEC(char *) at;
};

struct page {
    sqlite3 *db;
    const char *path;
    struct hd_json json;
    struct texts strings, threads, streams, shapes;
    bool no_memory;
    uint64_t events, left_out;
    int64_t threshold_ns; /* shorter events are left out */
    uint64_t ties;        /* of that length, how many are not */
};

/* ---- small things */

static uint32_t page_text_id(struct page *p, struct texts *texts, const char *text)
{
    struct hd_str key = {text, strlen(text)};
    size_t found = (size_t)(uintptr_t)hd_map_get(&texts->ids, key);

    assert(found <= texts->at.len);
    if (found)
        return (uint32_t)found - 1;
    char *copy = hd_alloc(key.len + 1);
    if (copy)
        memcpy(copy, text, key.len + 1);
    key.ptr = copy;
    if (!copy || !hd_vec_push(&texts->at, copy)) {
        hd_free(copy);
        p->no_memory = true;
    } else if (!hd_map_put(&texts->ids, key, (void *)(uintptr_t)texts->at.len)) {
        p->no_memory = true;
    }
    return (uint32_t)texts->at.len - (texts->at.len > 0);
}

static void page_texts_fini(struct texts *texts)
{
    for (size_t i = 0; i < texts->at.len; i++)
        hd_free(texts->at.at[i]);
    hd_vec_fini(&texts->at);
    hd_map_fini(&texts->ids);
}

static void page_put_number(struct column *column, int64_t value)
{
    int64_t number =
        column->is_difference ? (int64_t)((uint64_t)value - (uint64_t)column->last) : value;
    uint64_t left = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

    column->last = value;
    do {
        hd_buf_putc(&column->bytes, (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
        left >>= 7;
    } while (left);
}

static void page_put_base64(struct hd_buf *out, const struct hd_buf *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes->ptr;

    for (size_t i = 0; i < bytes->len; i += 3) {
        size_t n = HD_MIN(bytes->len - i, (size_t)3);
        uint32_t word = (uint32_t)at[i] << 16 | (n > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
                        (n > 2 ? (uint32_t)at[i + 2] : 0);
        char text[4] = {digits[word >> 18], digits[word >> 12 & 63],
                        n > 1 ? digits[word >> 6 & 63] : '=', n > 2 ? digits[word & 63] : '='};
        hd_buf_append(out, text, sizeof(text));
    }
    assert(out->failed || out->len == (bytes->len + 2) / 3 * 4);
}

/* ---- groups of events. Columns of a query: start, duration, name, then what the group's columns
 * ask for: t a thread (globalTid), s a stream (process, device, context, stream), i a number, d one
 * that is written as a difference, g a launch's shape (nine numbers) */

#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"
#define STREAM         "globalPid, deviceId, contextId, streamId"
#define COPY_NAME                                                                                  \
    "'[CUDA memcpy ' || coalesce((SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = copyKind), "  \
    "'Unknown') || ']'"
#define DOMAIN                                                                                     \
    "coalesce((SELECT max(text) || ':' FROM domains d WHERE d.domainId = n.domainId AND "          \
    "d.process = n.globalTid >> 24), '')"
/* The names of NVTX's domains, once for all ranges. */
#define DOMAINS                                                                                    \
    "CREATE TEMP TABLE domains AS SELECT domainId, globalTid >> 24 AS process, max(text) AS text " \
    "FROM NVTX_EVENTS WHERE eventType = 75 GROUP BY 1, 2; CREATE INDEX temp.domains_of ON "        \
    "domains(domainId, process)"
#define NVTX_NAME DOMAIN " || coalesce(n.text, " STRING("n.textId") ", '')"

/* clang-format off */
static const struct group {
    const char *name, *columns, *names[COLUMNS_MAX];
    const char *duration, *cells, *table, *where;
} groups[] = {
    {"api", "tdi", {"thread", "correlation", "result"}, "end - start",
     "display_name(" STRING("nameId") "), globalTid, correlationId, returnValue",
     "CUPTI_ACTIVITY_KIND_RUNTIME", PROF_TIME_VALID},
    {"osrt", "t", {"thread"}, "end - start", STRING("nameId") ", globalTid", "OSRT_API", PROF_TIME_VALID},
    {"nvtx", "ti", {"thread", "style"}, "end - start", NVTX_NAME ", globalTid, eventType",
     "NVTX_EVENTS n", "eventType IN (59, 60) AND " PROF_TIME_VALID},
    {"mark", "ti", {"thread", "style"}, "0", NVTX_NAME ", globalTid, eventType", "NVTX_EVENTS n",
     "(eventType = 34 OR (eventType IN (59, 60) AND end IS NULL)) AND abs(start) <= 4503599627370496"},
    {"compile", "t", {"thread"}, "end - start", "demangle(" STRING("nameId") "), globalTid",
     "CUPTI_ACTIVITY_KIND_OVERHEAD", "overheadType = 2 AND " PROF_TIME_VALID},
    {"kernel", "sdg", {"stream", "correlation", "shape"}, "end - start",
     STRING("demangledName") ", " STREAM ", correlationId, gridX, gridY, gridZ, blockX, blockY, "
     "blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory",
     "CUPTI_ACTIVITY_KIND_KERNEL", PROF_TIME_VALID},
    {"copy", "sdi", {"stream", "correlation", "bytes"}, "end - start",
     COPY_NAME ", " STREAM ", correlationId, bytes", "CUPTI_ACTIVITY_KIND_MEMCPY", PROF_TIME_VALID},
    {"fill", "sdi", {"stream", "correlation", "bytes"}, "end - start",
     "'[CUDA memset]', " STREAM ", correlationId, bytes", "CUPTI_ACTIVITY_KIND_MEMSET", PROF_TIME_VALID},
};
/* clang-format on */

static bool page_is_left_out(struct page *p, int64_t duration_ns)
{
    bool is_out = duration_ns < p->threshold_ns || (duration_ns == p->threshold_ns && !p->ties);

    if (!is_out && duration_ns == p->threshold_ns)
        p->ties--;
    p->left_out += is_out;
    return is_out;
}

/* The id of a text that is made of `n` numbers of a row. */
static int64_t page_numbers_id(struct page *p, struct texts *texts, sqlite3_stmt *row, int from,
                               int n)
{
    char text[256];
    size_t len = 0;

    for (int i = from; i < from + n; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", len ? "," : "",
                                (long long)sqlite3_column_int64(row, i));
    assert(len < sizeof(text) && from + n <= sqlite3_column_count(row));
    return page_text_id(p, texts, text);
}

static void page_put_cells(struct page *p, const struct group *group, struct column *columns,
                           sqlite3_stmt *row)
{
    int at = 3;

    for (size_t i = 0; group->columns[i]; i++) {
        struct column *column = &columns[3 + i];
        switch (group->columns[i]) {
        case 't':
            page_put_number(column, page_numbers_id(p, &p->threads, row, at++, 1));
            break;
        case 's':
            page_put_number(column, page_numbers_id(p, &p->streams, row, at, 4));
            at += 4;
            break;
        case 'g':
            page_put_number(column, page_numbers_id(p, &p->shapes, row, at, 9));
            at += 9;
            break;
        default:
            page_put_number(column, sqlite3_column_int64(row, at++));
        }
    }
    assert(at == sqlite3_column_count(row)); /* the group's columns are those of its query */
}

static int page_read_events(struct page *p, const struct group *group, struct column *columns,
                            sqlite3_stmt *row, uint64_t *out_n)
{
    int code;

    while (!p->no_memory && (code = sqlite3_step(row)) == SQLITE_ROW) {
        if (page_is_left_out(p, sqlite3_column_int64(row, 1)))
            continue;
        page_put_number(&columns[0], sqlite3_column_int64(row, 0));
        page_put_number(&columns[1], sqlite3_column_int64(row, 1));
        page_put_number(&columns[2], page_text_id(p, &p->strings, prof_db_text(row, 2)));
        page_put_cells(p, group, columns, row);
        ++*out_n;
    }
    return p->no_memory ? SQLITE_NOMEM : code;
}

static void page_json_columns(struct page *p, const char *name, struct column *columns,
                              size_t ncolumns, uint64_t n)
{
    assert(ncolumns >= 3 && ncolumns <= 3 + COLUMNS_MAX);
    hd_json_open(&p->json, name, '{');
    hd_json_u64(&p->json, "n", n);
    for (size_t i = 0; i < ncolumns; i++) {
        struct hd_buf text = {0};
        page_put_base64(&text, &columns[i].bytes);
        hd_json_open(&p->json, columns[i].name, '{');
        hd_json_bool(&p->json, "difference", columns[i].is_difference);
        hd_json_view(&p->json, "base64", (struct hd_str){text.ptr, text.len});
        hd_json_close(&p->json, '}');
        p->no_memory = p->no_memory || text.failed || columns[i].bytes.failed;
        hd_buf_fini(&text);
        hd_buf_fini(&columns[i].bytes);
    }
    hd_json_close(&p->json, '}');
}

static enum hd_status page_prepare(struct page *p, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v2(p->db, sql, -1, out, NULL) ? prof_db_error(p->db, p->path) : HD_OK;
}

static enum hd_status page_finish(struct page *p, sqlite3_stmt *row, int code)
{
    enum hd_status status = p->no_memory || code == SQLITE_NOMEM
                                ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path)
                            : code == SQLITE_DONE ? HD_OK
                                                  : prof_db_error(p->db, p->path);

    sqlite3_finalize(row);
    return status;
}

static enum hd_status page_put_group(struct page *p, const struct group *group)
{
    struct column columns[3 + COLUMNS_MAX] = {
        {.name = "start", .is_difference = true}, {.name = "duration"}, {.name = "name"}};
    struct hd_buf sql = {0};
    sqlite3_stmt *row = NULL;
    uint64_t n = 0;

    assert(strlen(group->columns) <= COLUMNS_MAX);
    for (size_t i = 0; group->columns[i]; i++) {
        columns[3 + i].name = group->names[i];
        columns[3 + i].is_difference = group->columns[i] == 'd';
    }
    hd_buf_printf(&sql, "SELECT start, %s, %s FROM %s WHERE %s ORDER BY 1, 2 DESC", group->duration,
                  group->cells, group->table, group->where);
    enum hd_status status = sql.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path)
                                       : page_prepare(p, sql.ptr, &row);
    hd_buf_fini(&sql);
    if (status == HD_OK)
        status = page_finish(p, row, page_read_events(p, group, columns, row, &n));
    page_json_columns(p, group->name, columns, 3 + strlen(group->columns), n);
    return status;
}

/* ---- what has to be left out */

/* One number; `otherwise` when there is none. */
static enum hd_status page_ask(struct page *p, const char *sql, int64_t otherwise, int64_t *out)
{
    sqlite3_stmt *row;

    HD_TRY(page_prepare(p, sql, &row));
    int code = sqlite3_step(row);
    *out = code == SQLITE_ROW && sqlite3_column_type(row, 0) != SQLITE_NULL
               ? sqlite3_column_int64(row, 0)
               : otherwise;
    return page_finish(p, row, code == SQLITE_ROW ? SQLITE_DONE : code);
}

static void page_put_durations(struct hd_buf *sql)
{
    hd_buf_puts(sql, "WITH durations AS (");
    for (size_t i = 0; i < HD_COUNT_OF(groups); i++)
        hd_buf_printf(sql, "%sSELECT %s AS d FROM %s WHERE %s", i ? " UNION ALL " : "",
                      groups[i].duration, groups[i].table, groups[i].where);
    hd_buf_puts(sql, ") ");
}

/* So many of the longest stay that there are max_events. */
static enum hd_status page_choose_threshold(struct page *p, uint64_t max_events)
{
    struct hd_buf sql = {0};
    int64_t n = 0, longer = 0;

    page_put_durations(&sql);
    size_t common = sql.len;
    hd_buf_puts(&sql, "SELECT count(*) FROM durations");
    enum hd_status status = sql.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path)
                                       : page_ask(p, sql.ptr, 0, &n);
    p->events = (uint64_t)n;
    p->threshold_ns = -1;
    if (status == HD_OK && p->events > max_events) {
        sql.len = common;
        hd_buf_printf(&sql, "SELECT d FROM durations ORDER BY d DESC LIMIT 1 OFFSET %llu",
                      (unsigned long long)max_events);
        status = sql.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path)
                            : page_ask(p, sql.ptr, 0, &p->threshold_ns);
        sql.len = common;
        hd_buf_printf(&sql, "SELECT count(*) FROM durations WHERE d > %lld",
                      (long long)p->threshold_ns);
        if (status == HD_OK)
            status = sql.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path)
                                : page_ask(p, sql.ptr, 0, &longer);
        assert(status != HD_OK || (longer >= 0 && (uint64_t)longer <= max_events));
        p->ties = max_events - (uint64_t)longer;
    }
    hd_buf_fini(&sql);
    return status;
}

/* ---- rows of a query as arrays */

static void page_json_cell(struct hd_json *j, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        hd_json_i64(j, NULL, sqlite3_column_int64(row, column));
        return;
    case SQLITE_FLOAT:
        hd_json_double(j, NULL, sqlite3_column_double(row, column));
        return;
    case SQLITE_NULL:
        hd_json_str(j, NULL, NULL);
        return;
    default:
        hd_json_str(j, NULL, prof_db_text(row, column));
    }
}

static enum hd_status page_put_rows(struct page *p, const char *name, const char *sql)
{
    sqlite3_stmt *row;
    int code;

    HD_TRY(page_prepare(p, sql, &row));
    hd_json_open(&p->json, name, '[');
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        hd_json_open(&p->json, NULL, '[');
        for (int i = 0; i < sqlite3_column_count(row); i++)
            page_json_cell(&p->json, row, i);
        hd_json_close(&p->json, ']');
    }
    hd_json_close(&p->json, ']');
    return page_finish(p, row, code);
}

/* Tables of the page are of all events, also of those that the timeline leaves out. */
#define SUMS                                                                                       \
    "SELECT name, count(*), sum(d), min(d), max(d), sum(bytes) FROM (SELECT end - start AS d, "
#define OF(table, where) " AS name FROM " table " WHERE " where PROF_TIME_VALID
#define BY_NAME          ") GROUP BY name ORDER BY 3 DESC"
/* clang-format off */
static const char *const tables[][2] = {
    {"kernel", SUMS "0 AS bytes, " STRING("demangledName") OF("CUPTI_ACTIVITY_KIND_KERNEL", "") BY_NAME},
    {"copy", SUMS "bytes, " COPY_NAME OF("CUPTI_ACTIVITY_KIND_MEMCPY", "")
             " UNION ALL SELECT end - start, bytes, '[CUDA memset]'" OF("CUPTI_ACTIVITY_KIND_MEMSET", "") BY_NAME},
    {"api", SUMS "0 AS bytes, display_name(" STRING("nameId") ")" OF("CUPTI_ACTIVITY_KIND_RUNTIME", "") BY_NAME},
    {"nvtx", SUMS "0 AS bytes, " NVTX_NAME OF("NVTX_EVENTS n", "eventType IN (59, 60) AND ") BY_NAME},
    {"compile", SUMS "0 AS bytes, demangle(" STRING("nameId") ")"
                OF("CUPTI_ACTIVITY_KIND_OVERHEAD", "overheadType = 2 AND ") BY_NAME},
    {"osrt", SUMS "0 AS bytes, " STRING("nameId") OF("OSRT_API", "") BY_NAME},
};
/* clang-format on */

static enum hd_status page_put_tables(struct page *p)
{
    hd_json_open(&p->json, "tables", '{');
    for (size_t i = 0; i < HD_COUNT_OF(tables); i++)
        HD_TRY(page_put_rows(p, tables[i][0], tables[i][1]));
    hd_json_close(&p->json, '}');
    return HD_OK;
}

/* Time in which a device does something, and in which it runs kernels: of each event, what lies
 * behind the end of all that began before. */
#define REACHED(rows)                                                                              \
    "SELECT deviceId, start, end, max(end) OVER (PARTITION BY deviceId ORDER BY start ROWS "       \
    "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM (" rows ")"
#define BUSY      "sum(max(0, end - max(start, coalesce(reached, start))))"
#define TIMES(of) "SELECT deviceId, start, end FROM " of " WHERE " PROF_TIME_VALID
static const char
    devices[] =
        "WITH work AS (" REACHED(
            TIMES("CUPTI_ACTIVITY_KIND_KERNEL") " UNION ALL " TIMES("CUPTI_ACTIVITY_KIND_MEMCPY") " UNION ALL " TIMES(
                "CUPTI_ACTIVITY_KIND_MEMSET")) "), "
                                               "kernels AS (" REACHED(TIMES(
                                                   "CUPTI_ACTIVITY_KIND_KERNEL")) ") "
                                                                                  "SELECT "
                                                                                  "deviceId, " BUSY
                                                                                  ", (SELECT " BUSY
                                                                                  " FROM kernels k "
                                                                                  "WHERE "
                                                                                  "k.deviceId = "
                                                                                  "work.deviceId) "
                                                                                  "FROM work GROUP "
                                                                                  "BY deviceId";

/* ---- the rest */

static void page_put_texts(struct page *p, const char *name, const struct texts *texts)
{
    hd_json_open(&p->json, name, '[');
    for (size_t i = 0; i < texts->at.len; i++)
        hd_json_str(&p->json, NULL, texts->at.at[i]);
    hd_json_close(&p->json, ']');
}

static enum hd_status page_put_memory(struct page *p)
{
    struct column columns[] = {
        {.name = "start", .is_difference = true}, {.name = "device"}, {.name = "bytes"}};
    sqlite3_stmt *row;
    uint64_t n = 0;
    int code;

    /* what lies on the device, so neither pageable nor pinned memory */
    HD_TRY(page_prepare(
        p,
        "SELECT start, deviceId, CASE memoryOperationType WHEN 1 THEN -bytes ELSE bytes "
        "END FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind NOT IN (0, 1) AND "
        "abs(start) <= 4503599627370496 AND bytes BETWEEN 0 AND 4503599627370496 ORDER "
        "BY start",
        &row));
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < 3; i++)
            page_put_number(&columns[i], sqlite3_column_int64(row, i));
        n++;
    }
    page_json_columns(p, "memory", columns, HD_COUNT_OF(columns), n);
    return page_finish(p, row, code);
}

static enum hd_status page_put_time(struct page *p)
{
    struct report_breakdown time;
    enum hd_status status = prof_time(p->db, p->path, &time);

    hd_json_i64(&p->json, "start_ns", time.start_ns);
    hd_json_i64(&p->json, "end_ns", time.end_ns);
    hd_json_i64(&p->json, "overlap_ns", time.overlap_ns);
    hd_json_open(&p->json, "classes", '[');
    for (size_t i = 0; i < REPORT_TIME_COUNT; i++) {
        hd_json_open(&p->json, NULL, '{');
        hd_json_str(&p->json, "title", report_time_texts[i].title);
        hd_json_str(&p->json, "meaning", report_time_texts[i].meaning);
        hd_json_i64(&p->json, "ns", time.class_ns[i]);
        hd_json_close(&p->json, '}');
    }
    hd_json_close(&p->json, ']');
    report_breakdown_fini(&time);
    return status;
}

static enum hd_status page_put_places(struct page *p)
{
    HD_TRY(page_put_rows(p, "processes", "SELECT pid, max(name) FROM PROCESSES GROUP BY pid"));
    HD_TRY(page_put_rows(p, "thread_names",
                         "SELECT globalTid, max(" STRING("nameId") ") FROM ThreadNames GROUP BY "
                                                                   "globalTid"));
    HD_TRY(page_put_rows(p, "gpus", "SELECT id, max(name) FROM TARGET_INFO_GPU GROUP BY id"));
    HD_TRY(page_put_rows(
        p, "command",
        "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:COMMAND' OR name "
        "LIKE 'PROCESS_0:ARGUMENT%' ORDER BY rowid"));
    HD_TRY(
        page_put_rows(p, "host",
                      "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV WHERE name IN ('Hostname', "
                      "'OsDescription', 'CpuCores', 'CpuDescription')"));
    HD_TRY(page_put_rows(p, "utc", "SELECT utcTime FROM TARGET_INFO_SESSION_START_TIME"));
    return page_put_rows(
        p, "messages",
        "SELECT text, count(*) FROM DIAGNOSTIC_EVENT WHERE severity > 1 GROUP BY text "
        "ORDER BY min(timestamp) LIMIT 100");
}

/* Rows whose times are none. */
static enum hd_status page_put_ignored(struct page *p)
{
    static const char *const names[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "OSRT_API"};
    int64_t sum = 0, n;

    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        char sql[256];
        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE NOT coalesce(%s, 0)",
                       names[i], PROF_TIME_VALID);
        HD_TRY(page_ask(p, sql, 0, &n));
        sum += n;
    }
    hd_json_i64(&p->json, "ignored", sum);
    return HD_OK;
}

/* What kernels that were counted reach of the host's peaks: of each, its grid and block. */
#define MADE(name) "avg(value) FILTER (WHERE m.name = 'heddle__roofline_" name "')"
/* clang-format off */
static const char peaks[] =
    "SELECT " MADE("peak_sp.per_second") ", " MADE("peak_dp.per_second") ", " MADE("peak_dram.per_second") ", "
    MADE("peak_l3.per_second") ", " MADE("peak_l2.per_second") ", " MADE("peak_l1.per_second") " FROM HEDDLE_METRICS m "
    "WHERE name GLOB 'heddle__roofline_*' HAVING count(*) > 0";
static const char points[] =
    "SELECT demangledName, gridX || ' × ' || gridY || ' × ' || gridZ, blockX || ' × ' || blockY || ' × ' || blockZ, "
    MADE("intensity.ratio") ", " MADE("flop.sum.per_second") ", " MADE("bytes.sum.per_second") ", " MADE("roof.pct") ", "
    MADE("launches_uncounted.sum") " FROM HEDDLE_LAUNCHES JOIN HEDDLE_METRICS m USING (launchId) WHERE "
    "m.name GLOB 'heddle__roofline_*' GROUP BY demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ "
    "ORDER BY min(launchId) LIMIT 500";
/* clang-format on */

/* Counters by line of the source, of all launches of a kernel, and the line's text. */
#define SUM_OF(name) "sum(value) FILTER (WHERE m.name = '" name "')"
/* clang-format off */
static const char lines[] =
    "SELECT demangledName, file, line, source_line(file, line), " SUM_OF("smsp__inst_executed.sum") ", "
    SUM_OF("smsp__thread_inst_executed_pred_on.sum") ", " SUM_OF("heddle__branches_divergent.sum") ", "
    SUM_OF("memory_l2_theoretical_sectors_global") ", " SUM_OF("memory_l2_theoretical_sectors_global_ideal") ", "
    SUM_OF("memory_l1_wavefronts_shared") ", " SUM_OF("memory_l1_wavefronts_shared_ideal") ", "
    SUM_OF("heddle__bytes_mem_local.sum") " FROM HEDDLE_SOURCE_METRICS m JOIN HEDDLE_LAUNCHES USING (launchId) "
    "GROUP BY demangledName, file, line ORDER BY 5 DESC, 1, 2, 3 LIMIT 500";
/* clang-format on */

static enum hd_status page_put_kernels(struct page *p)
{
    HD_TRY(page_put_rows(p, "peaks", peaks));
    HD_TRY(page_put_rows(p, "roofline", points));
    return page_put_rows(p, "lines", lines);
}

static enum hd_status page_put_all(struct page *p, uint64_t max_events)
{
    hd_json_open(&p->json, NULL, '{');
    hd_json_str(&p->json, "file", p->path);
    hd_json_str(&p->json, "version", cli_version());
    HD_TRY(page_put_time(p));
    HD_TRY(page_put_places(p));
    HD_TRY(page_put_tables(p));
    HD_TRY(page_put_rows(p, "devices", devices));
    HD_TRY(page_put_kernels(p));
    HD_TRY(page_choose_threshold(p, max_events));
    hd_json_open(&p->json, "groups", '{');
    for (size_t i = 0; i < HD_COUNT_OF(groups); i++)
        HD_TRY(page_put_group(p, &groups[i]));
    HD_TRY(page_put_memory(p));
    hd_json_close(&p->json, '}');
    HD_TRY(page_put_ignored(p));
    hd_json_u64(&p->json, "events", p->events);
    hd_json_u64(&p->json, "left_out", p->left_out);
    hd_json_i64(&p->json, "left_out_ns", p->threshold_ns);
    page_put_texts(p, "strings", &p->strings);
    page_put_texts(p, "threads", &p->threads);
    page_put_texts(p, "streams", &p->streams);
    page_put_texts(p, "shapes", &p->shapes);
    hd_json_close(&p->json, '}');
    return p->no_memory ? hd_error(HD_NO_MEMORY, "%s: out of memory", p->path) : HD_OK;
}

/* What is before and behind the data (scripts/embed). */
extern const char prof_page_head[], prof_page_tail[];

/* Inside an element <script>, where only `<` has a meaning for HTML. */
static enum hd_status write_page(const struct hd_buf *json, const char *to)
{
    struct hd_buf out = {0};
    const char *at = json->ptr, *end = json->ptr + json->len, *next;

    hd_buf_puts(&out, prof_page_head);
    for (; (next = memchr(at, '<', (size_t)(end - at))); at = next + 1) {
        hd_buf_append(&out, at, (size_t)(next - at));
        hd_buf_puts(&out, "\\u003c");
    }
    hd_buf_append(&out, at, (size_t)(end - at));
    hd_buf_puts(&out, prof_page_tail);
    enum hd_status status = out.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", to)
                                       : hd_file_write(to, out.ptr, out.len);
    hd_buf_fini(&out);
    return status;
}

/* Compilations are called by the symbols of kernels. */
static void page_demangle(sqlite3_context *context, int n, sqlite3_value **args)
{
    const char *name = (const char *)sqlite3_value_text(args[0]);

    assert(n == 1);
    if (name)
        sqlite3_result_text(context, check_demangle(name, DEMANGLE_FULL), -1, SQLITE_TRANSIENT);
}

/* "": the file cannot be read. */
static void page_source_line(sqlite3_context *context, int n, sqlite3_value **args)
{
    const char *file = (const char *)sqlite3_value_text(args[0]);
    int64_t line = sqlite3_value_int64(args[1]);
    struct hd_buf text = {0};

    assert(n == 2);
    if (file && report_is_source(file) && line > 0 && line <= UINT32_MAX)
        report_source_line(file, (unsigned)line, &text);
    sqlite3_result_text(context, text.len ? text.ptr : "", (int)text.len, SQLITE_TRANSIENT);
    hd_buf_fini(&text);
}

static enum hd_status page_make_tables(struct page *p)
{
    if (sqlite3_create_function(p->db, "demangle", 1, SQLITE_UTF8, NULL, page_demangle, NULL,
                                NULL) ||
        sqlite3_create_function(p->db, "source_line", 2, SQLITE_UTF8, NULL, page_source_line, NULL,
                                NULL))
        return prof_db_error(p->db, p->path);
    return sqlite3_exec(p->db, DOMAINS, NULL, NULL, NULL) ? prof_db_error(p->db, p->path) : HD_OK;
}

enum hd_status prof_page(const char *path, const char *to, uint64_t max_events)
{
    struct page p = {.path = path};

    HD_TRY(prof_db_open_report(path, &p.db));
    struct texts *texts[] = {&p.strings, &p.threads, &p.streams, &p.shapes};
    for (size_t i = 0; i < HD_COUNT_OF(texts); i++)
        hd_map_init(&texts[i]->ids);
    hd_json_init(&p.json);
    p.json.on_line = true;
    enum hd_status status = prof_stats_functions(p.db, path);
    if (status == HD_OK)
        status = page_make_tables(&p);
    if (status == HD_OK)
        status = page_put_all(&p, max_events);
    if (status == HD_OK)
        status = p.json.buf.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                   : write_page(&p.json.buf, to);
    for (size_t i = 0; i < HD_COUNT_OF(texts); i++)
        page_texts_fini(texts[i]);
    hd_buf_fini(&p.json.buf);
    sqlite3_close(p.db);
    return status;
}
