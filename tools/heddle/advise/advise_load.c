/* See advise.h: from a report's tables to calls, work and streams. */
#include "advise/advise_show.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "prof/prof_db.h"

enum {
    SYNC_STREAM = 3,
    SYNC_CONTEXT = 4,
};
#define TIME_MAX       (INT64_C(1) << 55) /* a year */
#define SUM_MAX        0x1p60             /* of all times: sums do not overflow */
#define OTHER_RUN      "HEDDLE_COUNTERS_OF_OTHER_RUN"
#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"

/* What the load needs and nothing behind it. */
struct load {
    struct advise *a;
    sqlite3 *db;
    struct hd_map threads, processes; /* global id: index + 1 */
    struct hd_map streams;            /* text: index + 1 */
    struct hd_map names;              /* text: index + 1 */
    struct advise_join join;
    double sum_ns;
    enum hd_status status;
};

static enum hd_status load_failed(const struct load *l)
{
    return hd_error(HD_CORRUPT, "%s: %s", l->a->path, sqlite3_errmsg(l->db));
}

static void load_no_memory(struct load *l)
{
    l->status = hd_error(HD_NO_MEMORY, "%s: out of memory", l->a->path);
}

/* ---- rows */

typedef void row_function(struct load *l, sqlite3_stmt *row);

/* Calls `take` for each row; nothing when the table is not in the file. A parameter is the time
 * behind which nothing is read. */
static enum hd_status load_each(struct load *l, const char *table, const char *sql,
                                row_function *take)
{
    sqlite3_stmt *row;
    int code = SQLITE_DONE;

    if (!prof_db_has(l->db, table))
        return HD_OK;
    if (sqlite3_prepare_v2(l->db, sql, -1, &row, NULL))
        return load_failed(l);
    if (sqlite3_bind_parameter_count(row))
        (void)sqlite3_bind_int64(row, 1, l->a->until_ns);
    while (l->status == HD_OK && (code = sqlite3_step(row)) == SQLITE_ROW)
        take(l, row);
    if (l->status == HD_OK && code != SQLITE_DONE)
        l->status = load_failed(l);
    sqlite3_finalize(row);
    return l->status;
}

static bool load_read_times(struct load *l, sqlite3_stmt *row, int64_t *out_start, int64_t *out_end)
{
    *out_start = sqlite3_column_int64(row, 0);
    *out_end = sqlite3_column_int64(row, 1);
    if (*out_start > -TIME_MAX && *out_end < TIME_MAX && *out_start <= *out_end) {
        l->sum_ns += (double)(*out_end - *out_start);
        if (l->sum_ns < SUM_MAX)
            return true;
    }
    l->status = hd_error(HD_CORRUPT, "%s: a row from %lld ns to %lld ns is damaged", l->a->path,
                         (long long)*out_start, (long long)*out_end);
    return false;
}

static uint32_t load_known(const struct hd_map *map, uint64_t key)
{
    return (uint32_t)((uintptr_t)hd_map_get_u64(map, key) - 1); /* ADVISE_NONE: not there */
}

static uint32_t load_thread_of(struct load *l, uint64_t global)
{
    uint32_t at = load_known(&l->threads, global);

    if (at != ADVISE_NONE)
        return at;
    if (!hd_vec_push(&l->a->threads, global) ||
        !hd_map_put_u64(&l->threads, global, (void *)(uintptr_t)l->a->threads.len))
        load_no_memory(l);
    return l->a->threads.len ? (uint32_t)(l->a->threads.len - 1) : 0;
}

static uint32_t load_process_of(struct load *l, int64_t global)
{
    uint64_t id = (uint64_t)global >> 24;
    uint32_t at = load_known(&l->processes, id);

    if (at != ADVISE_NONE)
        return at;
    if (!hd_vec_push(&l->a->processes, id) ||
        !hd_map_put_u64(&l->processes, id, (void *)(uintptr_t)l->a->processes.len))
        load_no_memory(l);
    return l->a->processes.len ? (uint32_t)(l->a->processes.len - 1) : 0;
}

static uint32_t load_name_of(struct load *l, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    struct hd_str str = hd_str_from(text ? text : "?");
    size_t at = (size_t)(uintptr_t)hd_map_get(&l->names, str);

    assert(at <= l->a->names.len);
    if (at)
        return (uint32_t)(at - 1);
    char *copy = hd_strdup(str.ptr);
    if (!copy || !hd_vec_push(&l->a->names, copy)) {
        hd_free(copy);
        load_no_memory(l);
    } else if (!hd_map_put(&l->names, hd_str_from(copy), (void *)(uintptr_t)l->a->names.len)) {
        load_no_memory(l);
    }
    return l->a->names.len ? (uint32_t)(l->a->names.len - 1) : 0;
}

static uint32_t load_stream_of(struct load *l, uint32_t process, int64_t context, int64_t id)
{
    char text[64];
    size_t len = (size_t)snprintf(text, sizeof(text), "%u/%lld/%lld", process, (long long)context,
                                  (long long)id);
    size_t at = (size_t)(uintptr_t)hd_map_get(&l->streams, (struct hd_str){text, len});

    assert(len < sizeof(text) && at <= l->a->streams.len);
    if (at)
        return (uint32_t)(at - 1);
    struct advise_stream stream = {.process = process, .context = context, .id = id};
    char *copy = hd_strdup(text);
    if (!copy || !hd_vec_push(&l->a->streams, stream) ||
        !hd_map_put(&l->streams, (struct hd_str){copy, len},
                    (void *)(uintptr_t)l->a->streams.len)) {
        hd_free(copy);
        load_no_memory(l);
        return 0;
    }
    return (uint32_t)(l->a->streams.len - 1);
}

static uint64_t load_key_of(uint32_t process, int64_t correlation)
{
    return (uint64_t)process << 40 ^ (uint64_t)correlation;
}

/* ---- calls */

static void load_take_call(struct load *l, sqlite3_stmt *row)
{
    struct advise_call call = {.before = ADVISE_NONE,
                               .next = ADVISE_NONE,
                               .wait_work = ADVISE_NONE,
                               .wait_stream = ADVISE_NONE};
    int64_t global = sqlite3_column_int64(row, 2);

    if (!load_read_times(l, row, &call.start_ns, &call.end_ns))
        return;
    call.thread = load_thread_of(l, (uint64_t)global);
    call.process = load_process_of(l, global);
    call.key = load_key_of(call.process, sqlite3_column_int64(row, 3));
    call.name = load_name_of(l, row, 4);
    call.rowid = sqlite3_column_int64(row, 5);
    if (l->status != HD_OK)
        return;
    const char *name = l->a->names.at[call.name];
    call.kind = (uint8_t)advise_call_kind_of(name);
    call.is_async = strstr(name, "Async") != NULL;
    if (!hd_vec_push(&l->a->calls, call))
        load_no_memory(l);
}

/* ---- work */

static void load_take_work(struct load *l, sqlite3_stmt *row, struct advise_work *work)
{
    if (!load_read_times(l, row, &work->start_ns, &work->end_ns))
        return;
    uint32_t process = load_process_of(l, sqlite3_column_int64(row, 2));
    work->key = load_key_of(process, sqlite3_column_int64(row, 3));
    work->rowid = sqlite3_column_int64(row, 4);
    work->device = (uint32_t)sqlite3_column_int64(row, 5) & 0xff;
    work->stream =
        load_stream_of(l, process, sqlite3_column_int64(row, 6), sqlite3_column_int64(row, 7));
    if (l->status != HD_OK)
        return;
    assert(work->stream < l->a->streams.len && work->end_ns >= work->start_ns);
    struct advise_stream *stream = &l->a->streams.at[work->stream];
    stream->device = work->device;
    stream->busy_ns += work->end_ns - work->start_ns;
    stream->count++;
    if (!hd_vec_push(&l->a->works, *work))
        load_no_memory(l);
}

static double load_positive(sqlite3_stmt *row, int column)
{
    return HD_MAX(1.0, sqlite3_column_double(row, column));
}

static void load_take_kernel(struct load *l, sqlite3_stmt *row)
{
    struct advise_work work = {.kind = ADVISE_KERNEL};

    work.blocks = load_positive(row, 8) * load_positive(row, 9) * load_positive(row, 10);
    work.threads = (uint32_t)HD_MIN(1024.0, load_positive(row, 11) * load_positive(row, 12) *
                                                load_positive(row, 13));
    work.name = load_name_of(l, row, 14);
    load_take_work(l, row, &work);
}

static void load_take_copy(struct load *l, sqlite3_stmt *row)
{
    struct advise_work work = {.kind = ADVISE_COPY};

    work.bytes = HD_MAX(INT64_C(0), sqlite3_column_int64(row, 8));
    work.copy_kind = (uint8_t)sqlite3_column_int64(row, 9);
    work.source = (uint8_t)sqlite3_column_int64(row, 10);
    work.target = (uint8_t)sqlite3_column_int64(row, 11);
    load_take_work(l, row, &work);
}

static void load_take_fill(struct load *l, sqlite3_stmt *row)
{
    struct advise_work work = {.kind = ADVISE_FILL};

    work.bytes = HD_MAX(INT64_C(0), sqlite3_column_int64(row, 8));
    load_take_work(l, row, &work);
}

#define WORK_COLUMNS                                                                               \
    "SELECT start, end, coalesce(globalPid, 0), coalesce(correlationId, 0), rowid, deviceId, "     \
    "contextId, streamId, "

static enum hd_status load_work(struct load *l)
{
    HD_TRY(load_each(l, "CUPTI_ACTIVITY_KIND_KERNEL",
                     WORK_COLUMNS "gridX, gridY, gridZ, blockX, blockY, blockZ, " STRING(
                         "demangledName") " FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start <= ?1",
                     load_take_kernel));
    HD_TRY(load_each(l, "CUPTI_ACTIVITY_KIND_MEMCPY",
                     WORK_COLUMNS
                     "bytes, copyKind, coalesce(srcKind, 7), coalesce(dstKind, 7) FROM "
                     "CUPTI_ACTIVITY_KIND_MEMCPY WHERE start <= ?1",
                     load_take_copy));
    return load_each(l, "CUPTI_ACTIVITY_KIND_MEMSET",
                     WORK_COLUMNS "bytes FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE start <= ?1",
                     load_take_fill);
}

/* ---- waits */

static void load_take_sync(struct load *l, sqlite3_stmt *row)
{
    struct advise *a = l->a;
    uint32_t process = load_process_of(l, sqlite3_column_int64(row, 0));
    uint32_t at = advise_join_find(&l->join, load_key_of(process, sqlite3_column_int64(row, 1)));
    int64_t type = sqlite3_column_int64(row, 2);

    if (at == ADVISE_NONE || a->calls.at[at].kind != ADVISE_CALL_SYNC)
        return;
    struct advise_call *call = &a->calls.at[at];
    if (type == SYNC_STREAM) {
        call->wait = ADVISE_WAIT_STREAM;
        call->wait_stream =
            load_stream_of(l, process, sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4));
    } else if (type == SYNC_CONTEXT) {
        call->wait = ADVISE_WAIT_PROCESS;
    }
}

static void load_take_null_stream(struct load *l, sqlite3_stmt *row)
{
    for (size_t i = 0; i < l->a->streams.len; i++) {
        struct advise_stream *stream = &l->a->streams.at[i];
        assert(stream->process < l->a->processes.len);
        int64_t pid = (int64_t)(l->a->processes.at[stream->process] & 0xffffff);
        if (pid == (sqlite3_column_int64(row, 0) & 0xffffff) &&
            stream->context == sqlite3_column_int64(row, 1) &&
            stream->id == sqlite3_column_int64(row, 2))
            stream->is_null = true;
    }
}

static void load_take_device(struct load *l, sqlite3_stmt *row)
{
    size_t id = (size_t)sqlite3_column_int64(row, 0) & 0xff;

    while (l->a->sms.len <= id)
        if (!hd_vec_push(&l->a->sms, 0)) {
            load_no_memory(l);
            return;
        }
    l->a->sms.at[id] = (uint32_t)HD_MAX(INT64_C(0), sqlite3_column_int64(row, 1)) & 0xffff;
}

static void load_take_compile(struct load *l, sqlite3_stmt *row)
{
    int64_t start, end;

    if (load_read_times(l, row, &start, &end))
        advise_add_compile(l->a, (uint64_t)sqlite3_column_int64(row, 2), start, end);
}

static enum hd_status load_rest(struct load *l)
{
    HD_TRY(
        load_each(l, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  "SELECT coalesce(globalPid, 0), coalesce(correlationId, 0), syncType, contextId, "
                  "streamId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  load_take_sync));
    HD_TRY(load_each(l, "TARGET_INFO_CUDA_CONTEXT_INFO",
                     "SELECT processId, contextId, nullStreamId FROM TARGET_INFO_CUDA_CONTEXT_INFO",
                     load_take_null_stream));
    HD_TRY(load_each(l, "TARGET_INFO_GPU", "SELECT id, smCount FROM TARGET_INFO_GPU",
                     load_take_device));
    advise_find_waits(l->a);
    return load_each(
        l, "CUPTI_ACTIVITY_KIND_OVERHEAD",
        "SELECT start, end, globalTid FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType "
        "IN (2, 6, 7)",
        load_take_compile);
}

static enum hd_status load_calls(struct load *l)
{
    HD_TRY(load_each(
        l, "CUPTI_ACTIVITY_KIND_RUNTIME",
        "SELECT start, end, coalesce(globalTid, 0), coalesce(correlationId, 0), "
        "display_name(" STRING(
            "nameId") "), rowid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE end IS NOT NULL AND "
                      "start <= ?1 "
                      "ORDER BY 3, start, end DESC",
        load_take_call));
    if (l->status == HD_OK && !advise_join_calls(&l->join, l->a))
        load_no_memory(l);
    return l->status;
}

struct extent {
    int64_t count, start_ns, end_ns;
};

static enum hd_status load_measure(struct load *l, const char *table, const char *sql,
                                   struct extent *out)
{
    sqlite3_stmt *row;

    if (!prof_db_has(l->db, table))
        return HD_OK;
    if (sqlite3_prepare_v2(l->db, sql, -1, &row, NULL))
        return load_failed(l);
    if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int64(row, 0)) {
        out->count += sqlite3_column_int64(row, 0);
        out->start_ns = HD_MIN(out->start_ns, sqlite3_column_int64(row, 1));
        out->end_ns = HD_MAX(out->end_ns, sqlite3_column_int64(row, 2));
    }
    return sqlite3_finalize(row) == SQLITE_OK ? HD_OK : load_failed(l);
}

#define MEASURE(table)                                                                             \
    load_measure(l, #table, "SELECT count(*), min(start), max(start) FROM " #table, &e)

/* Of a long run only the beginning is judged, so much as has about `limit` calls and work. */
static enum hd_status load_find_limit(struct load *l)
{
    struct advise *a = l->a;
    struct extent e = {0, INT64_MAX, INT64_MIN};

    HD_TRY(MEASURE(CUPTI_ACTIVITY_KIND_RUNTIME));
    HD_TRY(MEASURE(CUPTI_ACTIVITY_KIND_KERNEL));
    HD_TRY(MEASURE(CUPTI_ACTIVITY_KIND_MEMCPY));
    HD_TRY(MEASURE(CUPTI_ACTIVITY_KIND_MEMSET));
    a->until_ns = INT64_MAX;
    if ((uint64_t)e.count > a->limit && e.start_ns > -TIME_MAX && e.end_ns < TIME_MAX)
        a->until_ns = e.start_ns + (int64_t)((double)(e.end_ns - e.start_ns) * (double)a->limit /
                                             (double)e.count);
    return HD_OK;
}

static enum hd_status load_all(struct load *l)
{
    HD_TRY(load_find_limit(l));
    HD_TRY(load_calls(l));
    HD_TRY(load_work(l));
    if (!l->a->names.len && l->a->works.len && !advise_keep(l->a, "?"))
        load_no_memory(l);
    if (l->status == HD_OK && !advise_join_work(&l->join, l->a))
        load_no_memory(l);
    return l->status == HD_OK ? load_rest(l) : l->status;
}

#define KERNEL_NAME                                                                                \
    "coalesce((SELECT value FROM StringIds WHERE id = l.demangledName AND typeof(l.demangledName)" \
    " = 'integer'), l.demangledName, l.name)"

/* ---- counters */

static void load_take_counted(struct load *l, sqlite3_stmt *row)
{
    const char *kernel = (const char *)sqlite3_column_text(row, 0);
    struct advise_counted c = {.time_ns = sqlite3_column_int64(row, 1),
                               .launches = (uint64_t)sqlite3_column_int64(row, 2),
                               .uniform = 100};

    if (!kernel)
        return;
    c.kernel = hd_strdup(kernel);
    if (!c.kernel || !hd_vec_push(&l->a->counted, c)) {
        hd_free(c.kernel);
        load_no_memory(l);
    }
}

static bool load_take_line(struct load *l, size_t counted, sqlite3_stmt *row)
{
    struct advise_line line = {.counted = counted,
                               .kind = advise_line_kind_of(prof_db_text(row, 2)),
                               .line = sqlite3_column_int64(row, 1),
                               .value = sqlite3_column_double(row, 3)};

    assert(counted < l->a->counted.len);
    if (line.kind == ADVISE_LINE_COUNT)
        return true;
    line.file = hd_strdup(prof_db_text(row, 0));
    if (line.file && hd_vec_push(&l->a->lines, line))
        return true;
    hd_free(line.file);
    load_no_memory(l);
    return false;
}

/* Of each kernel; a table of another form is none. */
static void load_counters(struct load *l)
{
    sqlite3_stmt *values = NULL, *lines = NULL;

    (void)sqlite3_prepare_v2(l->db,
                             "SELECT m.name, sum(m.value), avg(m.value) FROM HEDDLE_METRICS m JOIN "
                             "HEDDLE_LAUNCHES l ON l.launchId = m.launchId WHERE " KERNEL_NAME
                             " = ?1 GROUP BY m.name",
                             -1, &values, NULL);
    (void)sqlite3_prepare_v2(l->db,
                             "SELECT m.file, m.line, m.name, sum(m.value) FROM "
                             "HEDDLE_SOURCE_METRICS m JOIN HEDDLE_LAUNCHES l ON l.launchId = "
                             "m.launchId WHERE " KERNEL_NAME
                             " = ?1 AND m.file IS NOT NULL GROUP BY 1, 2, 3",
                             -1, &lines, NULL);
    for (size_t i = 0; i < l->a->counted.len && l->status == HD_OK; i++) {
        struct advise_counted *c = &l->a->counted.at[i];
        assert(c->kernel && !c->slots);
        if (values) {
            (void)sqlite3_reset(values);
            (void)sqlite3_bind_text(values, 1, c->kernel, -1, SQLITE_STATIC);
        }
        while (values && sqlite3_step(values) == SQLITE_ROW)
            advise_counted_add(c, prof_db_text(values, 0), sqlite3_column_double(values, 1),
                               sqlite3_column_double(values, 2));
        advise_counted_finish(c);
        if (lines) {
            (void)sqlite3_reset(lines);
            (void)sqlite3_bind_text(lines, 1, c->kernel, -1, SQLITE_STATIC);
        }
        while (lines && sqlite3_step(lines) == SQLITE_ROW && load_take_line(l, i, lines))
            ;
    }
    sqlite3_finalize(values);
    sqlite3_finalize(lines);
}

/*
 * ---- compilation: launches of other sizes may get code of their own, so each is granted one call
 * that compiles, the longest ones, and a kernel one call that is no launch, as what is asked of a
 * kernel before its first one needs the first part of it.
 */

static const char repeated_sql[] =
    "WITH compiled AS (SELECT rowid AS row, * FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType "
    "= 2), calls AS (SELECT DISTINCT globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME "
    "WHERE (globalTid, correlationId) IN (SELECT globalTid, correlationId FROM compiled)), shapes "
    "AS (SELECT globalPid >> 24 AS process, correlationId, min(gridX || ' ' || gridY || ' ' || "
    "gridZ || ' ' || blockX || ' ' || blockY || ' ' || blockZ) AS shape FROM "
    "CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId IN (SELECT correlationId FROM calls) GROUP BY "
    "1, 2), waits AS (SELECT nameId, globalTid >> 24 AS process, o.correlationId, sum(end - start) "
    "AS time, min(row) AS row, min(start) AS start, max(end) AS end, max(shape) AS shape FROM "
    "compiled o JOIN calls USING (globalTid, correlationId) LEFT JOIN shapes s ON s.process = "
    "o.globalTid >> 24 AND s.correlationId = o.correlationId GROUP BY 1, 2, 3), granted AS (SELECT "
    "nameId, process, count(DISTINCT shape) AS n FROM waits GROUP BY 1, 2), ranked AS (SELECT *, "
    "row_number() OVER (PARTITION BY nameId, process, shape IS NULL ORDER BY time DESC) > "
    "iif(shape IS NULL, 1, n) AS again FROM waits JOIN granted USING (nameId, process)) SELECT "
    "(SELECT value FROM StringIds WHERE id = nameId), count(*), sum(time), min(row), min(start), "
    "max(end), sum(again), sum(iif(again, time, 0)) FROM ranked GROUP BY nameId, process HAVING "
    "sum(again) ORDER BY 8 DESC, 1";

static void load_compiled(struct load *l)
{
    sqlite3_stmt *row;

    if (!prof_db_has(l->db, "CUPTI_ACTIVITY_KIND_OVERHEAD") ||
        !prof_db_has(l->db, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
        !prof_db_has(l->db, "CUPTI_ACTIVITY_KIND_KERNEL") ||
        sqlite3_prepare_v2(l->db, repeated_sql, -1, &row, NULL))
        return;
    while (l->status == HD_OK && sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        struct advise_compiled c = {.kernel = hd_strdup(name ? name : "?"),
                                    .calls = (uint64_t)sqlite3_column_int64(row, 1),
                                    .time_ns = sqlite3_column_int64(row, 2),
                                    .rowid = sqlite3_column_int64(row, 3),
                                    .start_ns = sqlite3_column_int64(row, 4),
                                    .end_ns = sqlite3_column_int64(row, 5),
                                    .again = (uint64_t)sqlite3_column_int64(row, 6),
                                    .again_ns = sqlite3_column_int64(row, 7)};
        if (!c.kernel || !hd_vec_push(&l->a->compiled, c)) {
            hd_free(c.kernel);
            load_no_memory(l);
        }
    }
    sqlite3_finalize(row);
}

static int64_t load_ask(struct load *l, const char *table, const char *sql)
{
    sqlite3_stmt *row;
    int64_t value = 0;

    if (!prof_db_has(l->db, table) || sqlite3_prepare_v2(l->db, sql, -1, &row, NULL))
        return 0;
    if (sqlite3_step(row) == SQLITE_ROW)
        value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return value;
}

/* What rules ask beside the timeline. */
static enum hd_status load_facts(struct load *l)
{
    bool is_own =
        load_ask(l, "META_DATA_EXPORT",
                 "SELECT count(*) FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_NAME' "
                 "AND value = 'Heddle'") != 0;

    l->a->is_counted =
        is_own && l->a->has_counters && l->a->calls.len &&
        !load_ask(l, "META_DATA_EXPORT",
                  "SELECT count(*) FROM META_DATA_EXPORT WHERE name = '" OTHER_RUN "'");
    if (!is_own) {
        l->a->warps_per_sm =
            load_ask(l, "TARGET_INFO_GPU", "SELECT maxWarpsPerSm FROM TARGET_INFO_GPU");
        l->a->blocks_per_sm =
            load_ask(l, "TARGET_INFO_GPU", "SELECT maxBlocksPerSm FROM TARGET_INFO_GPU");
    }
    load_compiled(l);
    HD_TRY(load_each(l, "HEDDLE_LAUNCHES",
                     "SELECT " KERNEL_NAME
                     ", sum(l.end - l.start), count(*) FROM HEDDLE_LAUNCHES l "
                     "GROUP BY 1 ORDER BY 1",
                     load_take_counted));
    if (l->a->has_counters)
        load_counters(l);
    return l->status;
}

static void load_fini(struct load *l)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&l->streams, &it))
        hd_free((char *)it.key.ptr);
    hd_map_fini(&l->threads);
    hd_map_fini(&l->processes);
    hd_map_fini(&l->streams);
    hd_map_fini(&l->names);
    advise_join_fini(&l->join);
}

enum hd_status advise_load(struct advise *a)
{
    struct load l = {.a = a};
    enum hd_status status;

    assert(!a->calls.len && !a->works.len && !a->counted.len); /* once */
    HD_TRY(prof_db_open(a->path, &l.db));
    a->has_counters = prof_db_has(l.db, "HEDDLE_METRICS");
    hd_map_init(&l.threads);
    hd_map_init(&l.processes);
    hd_map_init(&l.streams);
    hd_map_init(&l.names);
    advise_join_init(&l.join);
    if (prof_db_has(l.db, "StringIds") || prof_db_has(l.db, "HEDDLE_LAUNCHES"))
        status = load_all(&l);
    else if (prof_db_has(l.db, "META_DATA_EXPORT") && prof_db_has(l.db, "PROCESSES"))
        status = hd_error(HD_NOT_FOUND, "the program made no CUDA call");
    else
        status =
            hd_error(HD_CORRUPT, "%s: this is no report of heddle prof or Nsight Systems", a->path);
    if (status == HD_OK)
        status = load_facts(&l);
    load_fini(&l);
    sqlite3_close(l.db);
    return status;
}

/* Calls of the other run have numbers of their own. */
enum hd_status advise_merge(const char *report, const char *counted)
{
    static const char *const tables[] = {"HEDDLE_LAUNCHES", "HEDDLE_METRICS",
                                         "HEDDLE_SOURCE_METRICS", "HEDDLE_NOTES",
                                         "HEDDLE_HOST_COUNTERS"};
    sqlite3 *from, *db = NULL;
    sqlite3_stmt *attach = NULL;

    HD_TRY(prof_db_open(counted, &from));
    int code = sqlite3_open_v2(report, &db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, "ATTACH ?1 AS counted", -1, &attach, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(attach, 1, counted, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(attach) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
    sqlite3_finalize(attach);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    for (size_t i = 0; i < HD_COUNT_OF(tables) && code == SQLITE_OK; i++) {
        char sql[128];
        int n = snprintf(sql, sizeof(sql), "CREATE TABLE main.%s AS SELECT * FROM counted.%s",
                         tables[i], tables[i]);
        assert(n > 0 && (size_t)n < sizeof(sql));
        if (prof_db_has(from, tables[i]))
            code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    if (code == SQLITE_OK && prof_db_has(from, "HEDDLE_LAUNCHES"))
        code = sqlite3_exec(db,
                            "UPDATE main.HEDDLE_LAUNCHES SET correlationId = NULL;"
                            "INSERT INTO main.META_DATA_EXPORT VALUES('" OTHER_RUN "', '1')",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    enum hd_status status = code == SQLITE_OK
                                ? HD_OK
                                : hd_error(code == SQLITE_NOMEM ? HD_NO_MEMORY : HD_IO, "%s: %s",
                                           report, db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    sqlite3_close(from);
    sqlite3_close(db);
    return status;
}
