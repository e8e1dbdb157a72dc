/* Rows of a report as slices, arrows and samples. */
#include "prof/trace/trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "prof/prof_db.h"

/* Columns: process and thread of the track, start, end, name, category, correlation (`is_work`: of
 * the end of an arrow; 0: of none), arguments; of work the process whose call it was. */
#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"
#define HOST_TRACK     "(globalTid >> 24) & 16777215, globalTid & 16777215"
#define DEVICE_TRACK   "-1 - deviceId, streamId"
#define WORK_PROCESS   "(globalPid >> 24) & 16777215"

static const struct query {
    const char *table, *sql;
    bool is_work;
} queries[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT " HOST_TRACK ", start, end, display_name(" STRING(
         "nameId") "), CASE eventClass WHEN 1 THEN 'cuda_driver' ELSE 'cuda_runtime' END, "
                   "correlationId, "
                   "json_object('correlation', correlationId, 'result', returnValue) "
                   "FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start",
     false},
    {"NVTX_EVENTS",
     "SELECT " HOST_TRACK ", start, coalesce(end, start), coalesce(text, " STRING(
         "textId") ", ''), 'user_annotation', 0, "
                   "NULL FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60) ORDER BY start, end DESC",
     false},
    {"OSRT_API",
     "SELECT " HOST_TRACK ", start, end, " STRING(
         "nameId") ", 'os_runtime', 0, json_object('result', returnValue) FROM OSRT_API "
                   "ORDER BY start",
     false},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD",
     "SELECT " HOST_TRACK ", start, end, 'compile ' || " STRING(
         "nameId") ", 'overhead', 0, NULL FROM CUPTI_ACTIVITY_KIND_OVERHEAD ORDER BY start",
     false},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT " DEVICE_TRACK ", start, end, " STRING(
         "demangledName") ", 'kernel', correlationId, json_object('device', "
                          "deviceId, 'context', contextId, 'stream', "
                          "streamId, 'correlation', correlationId, 'registers "
                          "per thread', registersPerThread, 'shared "
                          "memory', staticSharedMemory + dynamicSharedMemory, "
                          "'grid', json_array(gridX, gridY, gridZ), "
                          "'block', json_array(blockX, blockY, blockZ), 'graph "
                          "node id', graphNodeId, 'arguments', " STRING(
                              "argumentsId") "), " WORK_PROCESS " "
                                             "FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start",
     true},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT " DEVICE_TRACK ", start, end, 'Memcpy ' || coalesce((SELECT label FROM "
     "ENUM_CUDA_MEMCPY_OPER WHERE id = copyKind), ''), 'gpu_memcpy', correlationId, "
     "json_object('device', deviceId, 'context', contextId, 'stream', streamId, 'correlation', "
     "correlationId, 'bytes', bytes, 'memory bandwidth (GB/s)', round(1.0 * bytes / (end - start), "
     "3)), " WORK_PROCESS " FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start",
     true},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "SELECT " DEVICE_TRACK ", start, end, 'Memset', 'gpu_memset', correlationId, "
     "json_object('device', deviceId, 'context', contextId, 'stream', streamId, 'correlation', "
     "correlationId, 'bytes', bytes), " WORK_PROCESS
     " FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY start",
     true},
};

enum hd_status trace_failed(const struct trace *t)
{
    return hd_error(HD_CORRUPT, "%s: %s", t->path, sqlite3_errmsg(t->db));
}

static enum hd_status trace_report_rows(struct trace *t, const struct query *query)
{
    sqlite3_stmt *row;
    int code;

    if (!prof_db_has(t->db, query->table))
        return HD_OK;
    if (sqlite3_prepare_v2(t->db, query->sql, -1, &row, NULL))
        return trace_failed(t);
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        struct slice slice = {
            .process = sqlite3_column_int64(row, 0),
            .thread = sqlite3_column_int64(row, 1),
            .start_ns = sqlite3_column_int64(row, 2),
            .end_ns = sqlite3_column_int64(row, 3),
            .name = prof_db_text(row, 4),
            .category = prof_db_text(row, 5),
            .correlation = sqlite3_column_int64(row, 6),
            .args = (const char *)sqlite3_column_text(row, 7),
            .caller = sqlite3_column_int64(row, query->is_work ? 8 : 0),
            .is_work = query->is_work,
        };
        t->slice(t, &slice);
    }
    enum hd_status status = code == SQLITE_DONE ? HD_OK : trace_failed(t);
    sqlite3_finalize(row);
    return status;
}

/* ---- arrows: each has a number of its own, for correlations are those of a process, and a graph's
 * launch has one for all that it runs */

static uint64_t trace_flow_key(int64_t process, int64_t correlation)
{
    return (uint64_t)process << 40 ^ (uint64_t)correlation;
}

static bool trace_flow_count(struct trace *t, uint64_t key)
{
    uint64_t at = (uint64_t)(uintptr_t)hd_map_get_u64(&t->flow_of, key);

    assert(at <= t->flows.len);
    if (at) {
        t->flows.at[at - 1].count++;
        return true;
    }
    return hd_vec_push(&t->flows, ((struct flow){.count = 1})) &&
           hd_map_put_u64(&t->flow_of, key, (void *)(uintptr_t)t->flows.len);
}

static enum hd_status trace_flows_of_table(struct trace *t, const char *table)
{
    char sql[200];
    sqlite3_stmt *row;
    int code;
    bool has_room = true;

    int n =
        snprintf(sql, sizeof(sql),
                 "SELECT " WORK_PROCESS ", correlationId FROM %s WHERE correlationId <> 0", table);
    assert(n > 0 && (size_t)n < sizeof(sql));
    if (sqlite3_prepare_v2(t->db, sql, -1, &row, NULL))
        return trace_failed(t);
    while ((code = sqlite3_step(row)) == SQLITE_ROW && has_room)
        has_room = trace_flow_count(
            t, trace_flow_key(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)));
    enum hd_status status = !has_room ? hd_error(HD_NO_MEMORY, "%s: out of memory", t->path)
                            : code == SQLITE_DONE ? HD_OK
                                                  : trace_failed(t);
    sqlite3_finalize(row);
    return status;
}

static enum hd_status trace_find_flows(struct trace *t)
{
    uint64_t next = 1;

    assert(!t->flow_of.len);
    for (size_t i = 0; i < HD_COUNT_OF(queries); i++)
        if (queries[i].is_work && prof_db_has(t->db, queries[i].table))
            HD_TRY(trace_flows_of_table(t, queries[i].table));
    for (size_t i = 0; i < t->flows.len; i++) {
        t->flows.at[i].first = next;
        next += t->flows.at[i].count;
    }
    return HD_OK;
}

uint32_t trace_flows_at(struct trace *t, const struct slice *s, uint64_t *out_first)
{
    uint64_t at = s->correlation ? (uint64_t)(uintptr_t)hd_map_get_u64(
                                       &t->flow_of, trace_flow_key(s->caller, s->correlation))
                                 : 0;
    struct flow *flow = at ? &t->flows.at[at - 1] : NULL;

    if (!flow || flow->has_call != s->is_work)
        return 0;
    if (!s->is_work) {
        flow->has_call = true;
        *out_first = flow->first;
        return flow->count;
    }
    assert(flow->used < flow->count);
    *out_first = flow->first + flow->used++;
    return 1;
}

enum hd_status trace_report_all(struct trace *t)
{
    HD_TRY(trace_find_flows(t));
    for (size_t i = 0; i < HD_COUNT_OF(queries); i++)
        HD_TRY(trace_report_rows(t, &queries[i]));
    return HD_OK;
}

void trace_ask(struct trace *t, const char *sql, struct hd_buf *out)
{
    sqlite3_stmt *row;

    hd_buf_clear(out);
    if (sqlite3_prepare_v2(t->db, sql, -1, &row, NULL))
        return;
    if (sqlite3_step(row) == SQLITE_ROW)
        hd_buf_puts(out, prof_db_text(row, 0));
    sqlite3_finalize(row);
}

enum hd_status trace_begin(struct trace *t, const char *path, const char *to)
{
    *t = (struct trace){.path = path, .is_first = true};
    hd_map_init(&t->first_tracks);
    hd_map_init(&t->flow_of);
    HD_TRY(prof_db_open_report(path, &t->db));
    t->out = fopen(to, "we");
    if (t->out)
        return HD_OK;
    sqlite3_close(t->db);
    return hd_error(HD_IO, "%s: %s", to, strerror(errno));
}

enum hd_status trace_end(struct trace *t, const char *to, enum hd_status status)
{
    assert(t->out);
    bool is_good = !ferror(t->out);

    is_good = fclose(t->out) == 0 && is_good;
    sqlite3_close(t->db);
    hd_vec_fini(&t->tracks);
    hd_map_fini(&t->first_tracks);
    hd_vec_fini(&t->flows);
    hd_map_fini(&t->flow_of);
    hd_buf_fini(&t->packet);
    hd_buf_fini(&t->event);
    if (status == HD_OK && !is_good)
        status = hd_error(HD_IO, "%s: %s", to, strerror(errno));
    if (status != HD_OK)
        (void)unlink(to); /* half a trace is none */
    return status;
}

/* ---- samples of host code */

enum hd_status trace_samples_open(struct trace *t, struct prof_calls *out_calls,
                                  sqlite3_stmt **out_row)
{
    HD_TRY(prof_calls_read(t->db, t->path, false, out_calls));
    if (!sqlite3_prepare_v2(t->db,
                            "SELECT start, cpu, " HOST_TRACK ", cpuCycles FROM COMPOSITE_EVENTS "
                            "ORDER BY id",
                            -1, out_row, NULL))
        return HD_OK;
    prof_calls_fini(out_calls);
    return trace_failed(t);
}

int trace_samples_next(sqlite3_stmt *row, struct sample *out)
{
    int code = sqlite3_step(row);

    if (code == SQLITE_ROW)
        *out = (struct sample){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                               sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
                               sqlite3_column_int64(row, 4)};
    return code;
}

enum hd_status trace_samples_close(struct trace *t, struct prof_calls *calls, sqlite3_stmt *row,
                                   int code)
{
    enum hd_status status = code == SQLITE_DONE ? HD_OK : trace_failed(t);

    sqlite3_finalize(row);
    prof_calls_fini(calls);
    return status;
}

void trace_string_of(sqlite3_stmt *find, int64_t id, struct hd_buf *out)
{
    hd_buf_clear(out);
    (void)sqlite3_bind_int64(find, 1, id);
    if (sqlite3_step(find) == SQLITE_ROW)
        hd_buf_puts(out, prof_db_text(find, 0));
    (void)sqlite3_reset(find);
}
