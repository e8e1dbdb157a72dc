/*
 * See prof_trace.h. Both forms are made of the same rows: tracks (a thread of the host, a stream of
 * a device), and slices on them, with an arrow from a call to what it caused.
 *
 * Chrome's: the Trace Event Format, with the categories and arguments that PyTorch's profiler
 * (Kineto) writes. Perfetto's: the protobuf of perfetto_trace.proto, of which a few fields are
 * written by hand; slices that overlap on a stream (there may be several at once) go to further
 * tracks of the same name.
 */
#include "prof/prof_trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "prof/prof_db.h"
#include "prof/prof_sample.h"

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
     "SELECT " DEVICE_TRACK
     ", start, end, " STRING("demangledName") ", 'kernel', correlationId, json_object('device', "
                                              "deviceId, 'context', contextId, 'stream', "
                                              "streamId, 'correlation', correlationId, 'registers "
                                              "per thread', registersPerThread, 'shared "
                                              "memory', staticSharedMemory + dynamicSharedMemory, "
                                              "'grid', json_array(gridX, gridY, gridZ), "
                                              "'block', json_array(blockX, blockY, blockZ), 'graph "
                                              "node id', graphNodeId), " WORK_PROCESS " "
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

struct slice {
    int64_t process, thread; /* process -1 - D: device D, and its stream */
    int64_t start_ns, end_ns;
    int64_t correlation, caller;        /* of the call, and its process; correlation 0: of none */
    const char *name, *category, *args; /* args: a JSON object, or NULL */
    bool is_work;
};

struct track {
    int64_t process, thread; /* thread -1: of a process */
    uint64_t uuid;           /* its place in the tracks, from 1 */
    uint64_t next;           /* the one behind it with the same key; 0: none */
    HD_VEC(int64_t) ends;    /* of the slices that are open, the innermost last */
};

/* The arrows from a call to what it caused, which has one number each. */
struct flow {
    uint64_t first;
    uint32_t count, used; /* used: ends that were told */
    bool has_call;
};

struct trace {
    const char *path;
    sqlite3 *db;
    FILE *out;
    void (*slice)(struct trace *t, const struct slice *slice);
    bool is_first;
    HD_VEC(struct flow) flows;
    struct hd_map flow_of; /* by process and correlation: its place in flows, from 1 */
    /* Perfetto: tracks, one after the other in time */
    HD_VEC(struct track) tracks;
    struct hd_map first_tracks; /* by key: uuid of the first */
    struct hd_buf packet, event;
};

static enum hd_status trace_failed(const struct trace *t)
{
    return hd_error(HD_CORRUPT, "%s: %s", t->path, sqlite3_errmsg(t->db));
}

static const char *trace_text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
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
            .name = trace_text_at(row, 4),
            .category = trace_text_at(row, 5),
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

/* The arrows that begin or end at a slice: how many. Work has none whose call is not in the report.
 */
static uint32_t trace_flows_at(struct trace *t, const struct slice *s, uint64_t *out_first)
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

static enum hd_status trace_report_all(struct trace *t)
{
    HD_TRY(trace_find_flows(t));
    for (size_t i = 0; i < HD_COUNT_OF(queries); i++)
        HD_TRY(trace_report_rows(t, &queries[i]));
    return HD_OK;
}

/* One row of a query as text; "" when there is none. */
static void trace_ask(struct trace *t, const char *sql, struct hd_buf *out)
{
    sqlite3_stmt *row;

    hd_buf_clear(out);
    if (sqlite3_prepare_v2(t->db, sql, -1, &row, NULL))
        return;
    if (sqlite3_step(row) == SQLITE_ROW)
        hd_buf_puts(out, trace_text_at(row, 0));
    sqlite3_finalize(row);
}

static enum hd_status trace_begin(struct trace *t, const char *path, const char *to)
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

static enum hd_status trace_end(struct trace *t, const char *to, enum hd_status status)
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

struct sample {
    int64_t start_ns, cpu, process, thread, weight_ns;
};

/* In the order of prof_calls' leaves. */
static enum hd_status trace_samples_open(struct trace *t, struct prof_calls *out_calls,
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

static int trace_samples_next(sqlite3_stmt *row, struct sample *out)
{
    int code = sqlite3_step(row);

    if (code == SQLITE_ROW)
        *out = (struct sample){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                               sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
                               sqlite3_column_int64(row, 4)};
    return code;
}

static enum hd_status trace_samples_close(struct trace *t, struct prof_calls *calls,
                                          sqlite3_stmt *row, int code)
{
    enum hd_status status = code == SQLITE_DONE ? HD_OK : trace_failed(t);

    sqlite3_finalize(row);
    prof_calls_fini(calls);
    return status;
}

/* "": there is none. */
static void trace_string_of(struct trace *t, sqlite3_stmt *find, int64_t id, struct hd_buf *out)
{
    (void)t;
    hd_buf_clear(out);
    (void)sqlite3_bind_int64(find, 1, id);
    if (sqlite3_step(find) == SQLITE_ROW)
        hd_buf_puts(out, trace_text_at(find, 0));
    (void)sqlite3_reset(find);
}

/* ---- Chrome */

static void trace_chrome_event(struct trace *t, const struct hd_json *j)
{
    fprintf(t->out, "%s%s", t->is_first ? "" : ",\n", j->buf.ptr ? j->buf.ptr : "{}");
    t->is_first = false;
}

/* Processes of devices have the device's number, as Kineto's. */
static void trace_chrome_place(struct hd_json *j, const struct slice *s)
{
    hd_json_i64(j, "pid", s->process < 0 ? -1 - s->process : s->process);
    hd_json_i64(j, "tid", s->thread);
}

static void trace_chrome_flow(struct trace *t, const struct slice *s, uint64_t id)
{
    struct hd_json j;

    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "ph", s->is_work ? "f" : "s");
    hd_json_i64(&j, "id", (int64_t)id);
    trace_chrome_place(&j, s);
    hd_json_double(&j, "ts", (double)s->start_ns / 1e3);
    hd_json_str(&j, "cat", "ac2g");
    hd_json_str(&j, "name", "ac2g");
    if (s->is_work)
        hd_json_str(&j, "bp", "e");
    hd_json_close(&j, '}');
    trace_chrome_event(t, &j);
    hd_buf_fini(&j.buf);
}

static void trace_chrome_slice(struct trace *t, const struct slice *s)
{
    struct hd_json j;
    uint64_t first;

    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "ph", s->end_ns > s->start_ns ? "X" : "i");
    hd_json_str(&j, "cat", s->category);
    hd_json_str(&j, "name", s->name);
    trace_chrome_place(&j, s);
    hd_json_double(&j, "ts", (double)s->start_ns / 1e3);
    if (s->end_ns > s->start_ns)
        hd_json_double(&j, "dur", (double)(s->end_ns - s->start_ns) / 1e3);
    else
        hd_json_str(&j, "s", "t");
    hd_json_close(&j, '}');
    if (s->args && j.buf.len) {
        j.buf.len--; /* the bracket */
        hd_buf_printf(&j.buf, ",\"args\":%s}", s->args);
    }
    trace_chrome_event(t, &j);
    hd_buf_fini(&j.buf);
    for (uint32_t n = trace_flows_at(t, s, &first); n; n--)
        trace_chrome_flow(t, s, first++);
}

/* One object of JSON for each row, written by the query itself. */
static enum hd_status trace_chrome_rows(struct trace *t, const char *table, const char *sql)
{
    sqlite3_stmt *row;
    int code;

    if (!prof_db_has(t->db, table))
        return HD_OK;
    if (sqlite3_prepare_v2(t->db, sql, -1, &row, NULL))
        return trace_failed(t);
    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        fprintf(t->out, "%s%s", t->is_first ? "" : ",\n", trace_text_at(row, 0));
        t->is_first = false;
    }
    enum hd_status status = code == SQLITE_DONE ? HD_OK : trace_failed(t);
    sqlite3_finalize(row);
    return status;
}

static enum hd_status trace_chrome_names(struct trace *t)
{
    HD_TRY(trace_chrome_rows(
        t, "PROCESSES",
        "SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', pid, 'tid', 0, "
        "'args', json_object('name', name)) FROM PROCESSES"));
    HD_TRY(trace_chrome_rows(
        t, "ThreadNames",
        "SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', (globalTid >> 24) "
        "& 16777215, 'tid', globalTid & 16777215, 'args', json_object('name', " STRING(
            "nameId") ")) FROM ThreadNames"));
    return trace_chrome_rows(
        t, "TARGET_INFO_GPU",
        "SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', id, 'tid', 0, "
        "'args', json_object('name', 'GPU ' || id || ': ' || name)) FROM "
        "TARGET_INFO_GPU");
}

/* Kineto's list of devices; nothing where the file knows none. */
static enum hd_status trace_chrome_devices(struct trace *t)
{
    bool is_first = t->is_first;

    fputs("\"deviceProperties\": [", t->out);
    enum hd_status status = trace_chrome_rows(
        t, "TARGET_INFO_GPU",
        "SELECT json_object('id', id, 'name', name, 'totalGlobalMem', totalMemory, 'computeMajor', "
        "computeMajor, 'computeMinor', computeMinor, 'maxThreadsPerBlock', maxThreadsPerBlock, "
        "'regsPerBlock', maxRegistersPerBlock, 'warpSize', threadsPerWarp, 'sharedMemPerBlock', "
        "maxShmemPerBlock, 'numSms', smCount, 'sharedMemPerMultiprocessor', maxShmemPerSm) FROM "
        "TARGET_INFO_GPU");
    fputs("],\n", t->out);
    t->is_first = is_first;
    return status;
}

/* The Trace Event Format's "stackFrames" and "samples": threads are known by their ids alone. */
static enum hd_status trace_chrome_samples(struct trace *t)
{
    struct prof_calls calls;
    sqlite3_stmt *row, *find = NULL;
    struct sample sample;
    struct hd_buf name = {0}, module = {0};
    int code;

    HD_TRY(trace_samples_open(t, &calls, &row));
    if (sqlite3_prepare_v2(t->db, "SELECT value FROM StringIds WHERE id = ?", -1, &find, NULL))
        return trace_samples_close(t, &calls, row, SQLITE_ERROR);
    fputs(",\n\"stackFrames\": {", t->out);
    for (size_t i = 1; i < calls.at.len; i++) {
        const struct prof_called *call = &calls.at.at[i];
        struct hd_json j;
        char id[24], caller[24];

        assert(call->caller < i); /* a caller is known before what it calls */
        trace_string_of(t, find, call->symbol, &name);
        trace_string_of(t, find, call->module, &module);
        (void)snprintf(id, sizeof(id), "%zu", i);
        (void)snprintf(caller, sizeof(caller), "%zu", call->caller);
        hd_json_init(&j);
        j.on_line = true;
        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "name", name.ptr ? name.ptr : "");
        hd_json_str(&j, "category", module.ptr ? module.ptr : "");
        if (call->caller)
            hd_json_str(&j, "parent", caller);
        hd_json_close(&j, '}');
        fprintf(t->out, "%s\"%s\": %s", i > 1 ? ",\n" : "\n", id, j.buf.ptr ? j.buf.ptr : "{}");
        hd_buf_fini(&j.buf);
    }
    fputs("\n},\n\"samples\": [", t->out);
    const char *between = "\n";
    for (size_t i = 0;
         (code = trace_samples_next(row, &sample)) == SQLITE_ROW && i < calls.leaves.len; i++) {
        if (!calls.leaves.at[i])
            continue;
        fprintf(t->out,
                "%s{\"cpu\": %lld, \"pid\": %lld, \"tid\": %lld, \"ts\": %.3f, \"name\": "
                "\"host\", \"sf\": \"%zu\", \"weight\": %lld}",
                between, (long long)sample.cpu, (long long)sample.process, (long long)sample.thread,
                (double)sample.start_ns / 1e3, calls.leaves.at[i], (long long)sample.weight_ns);
        between = ",\n";
    }
    fputs("\n]", t->out);
    sqlite3_finalize(find);
    hd_buf_fini(&name);
    hd_buf_fini(&module);
    return trace_samples_close(t, &calls, row, code);
}

enum hd_status prof_trace_chrome(const char *path, const char *to)
{
    struct trace t;
    struct hd_buf base = {0};

    HD_TRY(trace_begin(&t, path, to));
    t.slice = trace_chrome_slice;
    if (prof_db_has(t.db, "TARGET_INFO_SESSION_START_TIME"))
        trace_ask(&t, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", &base);
    fprintf(t.out,
            "{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": %s,\n",
            base.len ? base.ptr : "0");
    hd_buf_fini(&base);
    enum hd_status status = trace_chrome_devices(&t);
    fputs("\"traceEvents\": [\n", t.out);
    if (status == HD_OK)
        status = trace_chrome_names(&t);
    if (status == HD_OK)
        status = trace_report_all(&t);
    fputs("\n]", t.out);
    if (status == HD_OK && prof_db_has(t.db, "COMPOSITE_EVENTS"))
        status = trace_chrome_samples(&t);
    fputs("}\n", t.out);
    return trace_end(&t, to, status);
}

/* ---- Perfetto: numbers of fields and enumerations are those of perfetto_trace.proto */

enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    PACKET_SAMPLE = 66,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48,
    SAMPLE_CPU = 1,
    SAMPLE_PID = 2,
    SAMPLE_TID = 3,
    SAMPLE_STACK = 4,
    SAMPLE_COUNT = 6,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_STACK = 7,
    INTERNED_PATH = 17,
    INTERNED_MAPPING = 19,
    INTERNED_ID = 1, /* of each */
    INTERNED_TEXT = 2,
    MAPPING_PATH = 7,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_PC = 4,
    STACK_FRAME = 2,
    STATE_CLEARED = 1,
    STATE_NEEDED = 2,
    TOLD_FRAME = 1, /* ours */
    TOLD_STACK = 2,
    BEGIN = 1,
    END = 2,
    INSTANT = 3,
    SEQUENCE = 1,
    SEQUENCE_OF_SAMPLES = 2,
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
};

static void trace_put_varint(struct hd_buf *b, uint64_t value)
{
    char bytes[10];
    size_t n = 0;

    do {
        assert(n < sizeof(bytes));
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    hd_buf_append(b, bytes, n);
}

static void trace_put_number(struct hd_buf *b, unsigned field, uint64_t value)
{
    trace_put_varint(b, field << 3 | WIRE_VARINT);
    trace_put_varint(b, value);
}

static void trace_put_fixed(struct hd_buf *b, unsigned field, uint64_t value)
{
    trace_put_varint(b, field << 3 | WIRE_64);
    hd_buf_append(b, (const char *)&value, sizeof(value));
}

static void trace_put_bytes(struct hd_buf *b, unsigned field, const char *bytes, size_t len)
{
    trace_put_varint(b, field << 3 | WIRE_BYTES);
    trace_put_varint(b, len);
    hd_buf_append(b, bytes, len);
}

static void trace_put_text(struct hd_buf *b, unsigned field, const char *text)
{
    trace_put_bytes(b, field, text, strlen(text));
}

/* What is in t->event becomes a packet's field. */
static void trace_write_packet(struct trace *t, unsigned field, int64_t time_ns)
{
    struct hd_buf *head = &t->packet;
    char bytes[16];
    struct hd_buf length = {0};

    hd_buf_clear(head);
    trace_put_number(head, PACKET_TIMESTAMP, (uint64_t)time_ns);
    trace_put_number(head, PACKET_SEQUENCE, SEQUENCE);
    trace_put_bytes(head, field, t->event.ptr ? t->event.ptr : "", t->event.len);
    trace_put_varint(&length, TRACE_PACKET << 3 | WIRE_BYTES);
    trace_put_varint(&length, head->len);
    assert(length.len <= sizeof(bytes)); /* a tag and a varint */
    memcpy(bytes, length.ptr ? length.ptr : "", HD_MIN(length.len, sizeof(bytes)));
    (void)fwrite(bytes, 1, length.len, t->out);
    (void)fwrite(head->ptr ? head->ptr : "", 1, head->len, t->out);
    hd_buf_fini(&length);
    hd_buf_clear(&t->event);
}

static void trace_process_name(struct trace *t, int64_t process, struct hd_buf *out)
{
    char sql[200];

    if (process < 0)
        (void)snprintf(sql, sizeof(sql),
                       "SELECT 'GPU ' || id || ': ' || name FROM TARGET_INFO_GPU WHERE id = %lld",
                       (long long)(-1 - process));
    else
        (void)snprintf(sql, sizeof(sql), "SELECT name FROM PROCESSES WHERE pid = %lld",
                       (long long)process);
    trace_ask(t, sql, out);
    if (!out->len)
        hd_buf_printf(out, process < 0 ? "GPU %lld" : "process %lld",
                      (long long)(process < 0 ? -1 - process : process));
}

static void trace_thread_name(struct trace *t, int64_t process, int64_t thread, struct hd_buf *out)
{
    char sql[200];

    hd_buf_clear(out);
    if (process < 0) {
        hd_buf_printf(out, "stream %lld", (long long)thread);
        return;
    }
    (void)snprintf(
        sql, sizeof(sql),
        "SELECT value || ' ' || %lld FROM StringIds JOIN ThreadNames ON id = nameId WHERE "
        "globalTid & 281474976710655 = %lld",
        (long long)thread, (long long)(process << 24 | thread));
    trace_ask(t, sql, out);
    if (!out->len)
        hd_buf_printf(out, "thread %lld", (long long)thread);
}

/* A track of slices, or, where thread is -1, the process of such. Processes of devices have numbers
 * that no process of the system has. */
static void trace_describe(struct trace *t, const struct track *track, uint64_t parent)
{
    struct hd_buf name = {0}, process = {0};

    if (track->thread < 0)
        trace_process_name(t, track->process, &name);
    else
        trace_thread_name(t, track->process, track->thread, &name);
    trace_put_number(&t->event, TRACK_UUID, track->uuid);
    trace_put_text(&t->event, TRACK_NAME, name.ptr ? name.ptr : "");
    if (track->thread < 0) {
        trace_put_number(
            &process, PROCESS_PID,
            (uint64_t)(track->process < 0 ? (1 << 24) - track->process : track->process));
        trace_put_text(&process, PROCESS_NAME, name.ptr ? name.ptr : "");
        trace_put_bytes(&t->event, TRACK_PROCESS, process.ptr ? process.ptr : "", process.len);
    } else {
        trace_put_number(&t->event, TRACK_PARENT, parent);
    }
    trace_write_packet(t, PACKET_TRACK, 0);
    hd_buf_fini(&name);
    hd_buf_fini(&process);
}

static uint64_t trace_track_key(int64_t process, int64_t thread)
{
    return hd_hash((int64_t[]){process, thread}, 2 * sizeof(int64_t), 0);
}

static struct track *trace_track_at(struct trace *t, uint64_t uuid)
{
    assert(uuid <= t->tracks.len);
    return uuid ? &t->tracks.at[uuid - 1] : NULL;
}

/* The first track of that thread from `uuid` on; NULL: none. */
static struct track *trace_track_of(struct trace *t, uint64_t uuid, int64_t process, int64_t thread)
{
    struct track *track = trace_track_at(t, uuid);

    while (track && (track->process != process || track->thread != thread))
        track = trace_track_at(t, track->next);
    return track;
}

static uint64_t trace_first_track(const struct trace *t, int64_t process, int64_t thread)
{
    return (uint64_t)(uintptr_t)hd_map_get_u64(&t->first_tracks, trace_track_key(process, thread));
}

/* The oldest comes first: in it the slices are that nest. */
static bool trace_track_link(struct trace *t, uint64_t uuid)
{
    struct track *added = trace_track_at(t, uuid), *track;
    assert(added && !added->next);
    uint64_t first = trace_first_track(t, added->process, added->thread);

    if (!first)
        return hd_map_put_u64(&t->first_tracks, trace_track_key(added->process, added->thread),
                              (void *)(uintptr_t)uuid);
    for (track = trace_track_at(t, first); track->next;)
        track = trace_track_at(t, track->next);
    track->next = uuid;
    return true;
}

static struct track *trace_track_add(struct trace *t, int64_t process, int64_t thread,
                                     uint64_t parent)
{
    struct track track = {.process = process, .thread = thread, .uuid = t->tracks.len + 1};

    if (!hd_vec_push(&t->tracks, track) || !trace_track_link(t, track.uuid))
        return NULL;
    trace_describe(t, &hd_vec_last(&t->tracks), parent);
    return &hd_vec_last(&t->tracks);
}

static struct track *trace_process_track(struct trace *t, int64_t process)
{
    struct track *track = trace_track_of(t, trace_first_track(t, process, -1), process, -1);

    return track ? track : trace_track_add(t, process, -1, 0);
}

static void trace_close_slice(struct trace *t, struct track *track)
{
    assert(track->ends.len);
    trace_put_number(&t->event, EVENT_TYPE, END);
    trace_put_number(&t->event, EVENT_TRACK, track->uuid);
    trace_write_packet(t, PACKET_EVENT, hd_vec_last(&track->ends));
    (void)hd_vec_pop(&track->ends);
}

/* Slices of a track nest: this one fits when it ends before what is open, or that has ended. */
static bool trace_takes(struct trace *t, struct track *track, const struct slice *s)
{
    while (track->ends.len && hd_vec_last(&track->ends) <= s->start_ns)
        trace_close_slice(t, track);
    return !track->ends.len || s->end_ns <= hd_vec_last(&track->ends);
}

static struct track *trace_track_for(struct trace *t, const struct slice *s)
{
    uint64_t uuid = trace_first_track(t, s->process, s->thread);
    struct track *track;

    while ((track = trace_track_of(t, uuid, s->process, s->thread))) {
        if (trace_takes(t, track, s))
            return track;
        uuid = track->next;
        if (!uuid)
            break;
    }
    const struct track *process = trace_process_track(t, s->process);
    return process ? trace_track_add(t, s->process, s->thread, process->uuid) : NULL;
}

static void trace_perfetto_slice(struct trace *t, const struct slice *s)
{
    struct track *track = trace_track_for(t, s);
    bool is_long = s->end_ns > s->start_ns;
    uint64_t first;

    if (!track || (is_long && !hd_vec_push(&track->ends, s->end_ns)))
        return;
    assert(track->process == s->process && track->thread == s->thread);
    trace_put_number(&t->event, EVENT_TYPE, is_long ? BEGIN : INSTANT);
    trace_put_number(&t->event, EVENT_TRACK, track->uuid);
    trace_put_text(&t->event, EVENT_CATEGORY, s->category);
    trace_put_text(&t->event, EVENT_NAME, s->name);
    for (uint32_t n = trace_flows_at(t, s, &first); n; n--)
        trace_put_fixed(&t->event, s->is_work ? EVENT_FLOW_END : EVENT_FLOW, first++);
    trace_write_packet(t, PACKET_EVENT, s->start_ns);
}

/* What a trace has been told of samples, by ids of our own. */
struct reported {
    const struct prof_calls *calls;
    sqlite3_stmt *find;
    uint8_t *of_call;             /* TOLD_FRAME, TOLD_STACK */
    struct hd_map names, modules; /* rows of StringIds */
};

static void trace_intern_text(struct trace *t, struct reported *reported, int64_t id,
                              unsigned field, struct hd_buf *out)
{
    struct hd_buf part = {0}, text = {0};

    trace_string_of(t, reported->find, id, &text);
    trace_put_number(&part, INTERNED_ID, (uint64_t)id + 1);
    trace_put_text(&part, INTERNED_TEXT, text.ptr ? text.ptr : "");
    trace_put_bytes(out, field, part.ptr ? part.ptr : "", part.len);
    hd_buf_fini(&part);
    hd_buf_fini(&text);
}

/* Was it told? It is from now on. */
static bool trace_is_reported(struct hd_map *map, int64_t id)
{
    void *found;

    return hd_map_find_u64(map, (uint64_t)id, &found) || !hd_map_put_u64(map, (uint64_t)id, NULL);
}

static void trace_intern_frame(struct trace *t, struct reported *reported, size_t at,
                               struct hd_buf *out)
{
    const struct prof_called *call = &reported->calls->at.at[at];
    struct hd_buf part = {0};

    if (reported->of_call[at] & TOLD_FRAME)
        return;
    reported->of_call[at] |= TOLD_FRAME;
    if (!trace_is_reported(&reported->names, call->symbol))
        trace_intern_text(t, reported, call->symbol, INTERNED_FUNCTION, out);
    if (!trace_is_reported(&reported->modules, call->module)) {
        trace_intern_text(t, reported, call->module, INTERNED_PATH, out);
        trace_put_number(&part, INTERNED_ID, (uint64_t)call->module + 1);
        trace_put_number(&part, MAPPING_PATH, (uint64_t)call->module + 1);
        trace_put_bytes(out, INTERNED_MAPPING, part.ptr ? part.ptr : "", part.len);
        hd_buf_clear(&part);
    }
    trace_put_number(&part, INTERNED_ID, at);
    trace_put_number(&part, FRAME_FUNCTION, (uint64_t)call->symbol + 1);
    trace_put_number(&part, FRAME_MAPPING, (uint64_t)call->module + 1);
    trace_put_number(&part, FRAME_PC, 0);
    trace_put_bytes(out, INTERNED_FRAME, part.ptr ? part.ptr : "", part.len);
    hd_buf_fini(&part);
}

/* The stack that ends with the call, and of it what was not told before. */
static void trace_intern_stack(struct trace *t, struct reported *reported, size_t leaf,
                               struct hd_buf *out)
{
    HD_VEC(size_t) order = {0};
    struct hd_buf part = {0};

    if (reported->of_call[leaf] & TOLD_STACK)
        return;
    reported->of_call[leaf] |= TOLD_STACK;
    for (size_t at = leaf; at; at = reported->calls->at.at[at].caller) {
        assert(at < reported->calls->at.len && reported->calls->at.at[at].caller < at);
        (void)hd_vec_push(&order, at); /* without memory the stack is shorter */
    }
    trace_put_number(&part, INTERNED_ID, leaf);
    for (size_t i = order.len; i-- > 0;) {
        trace_intern_frame(t, reported, order.at[i], out);
        trace_put_number(&part, STACK_FRAME, order.at[i]);
    }
    trace_put_bytes(out, INTERNED_STACK, part.ptr ? part.ptr : "", part.len);
    hd_buf_fini(&part);
    hd_vec_fini(&order);
}

static void trace_perfetto_sample(struct trace *t, const struct sample *s, size_t leaf,
                                  bool is_first, const struct hd_buf *interned)
{
    struct hd_buf sample = {0}, packet = {0}, whole = {0};

    trace_put_number(&sample, SAMPLE_CPU, (uint64_t)s->cpu);
    trace_put_number(&sample, SAMPLE_PID, (uint64_t)s->process);
    trace_put_number(&sample, SAMPLE_TID, (uint64_t)s->thread);
    trace_put_number(&sample, SAMPLE_STACK, leaf);
    trace_put_number(&sample, SAMPLE_COUNT, (uint64_t)s->weight_ns);
    trace_put_number(&packet, PACKET_TIMESTAMP, (uint64_t)s->start_ns);
    trace_put_number(&packet, PACKET_SEQUENCE, SEQUENCE_OF_SAMPLES);
    trace_put_number(&packet, PACKET_FLAGS, (is_first ? STATE_CLEARED : 0) | STATE_NEEDED);
    if (interned->len)
        trace_put_bytes(&packet, PACKET_INTERNED, interned->ptr, interned->len);
    trace_put_bytes(&packet, PACKET_SAMPLE, sample.ptr ? sample.ptr : "", sample.len);
    trace_put_bytes(&whole, TRACE_PACKET, packet.ptr ? packet.ptr : "", packet.len);
    (void)fwrite(whole.ptr ? whole.ptr : "", 1, whole.len, t->out);
    hd_buf_fini(&sample);
    hd_buf_fini(&packet);
    hd_buf_fini(&whole);
}

static enum hd_status trace_perfetto_samples(struct trace *t)
{
    struct prof_calls calls;
    struct reported reported = {.calls = &calls};
    sqlite3_stmt *row;
    struct sample sample;
    struct hd_buf interned = {0};
    int code;

    HD_TRY(trace_samples_open(t, &calls, &row));
    hd_map_init(&reported.names);
    hd_map_init(&reported.modules);
    reported.of_call = hd_alloc_array(calls.at.len, sizeof(reported.of_call[0]));
    code = !reported.of_call ? SQLITE_NOMEM
                             : sqlite3_prepare_v2(t->db, "SELECT value FROM StringIds WHERE id = ?",
                                                  -1, &reported.find, NULL);
    for (size_t i = 0; i < calls.leaves.len && (code == SQLITE_OK || code == SQLITE_ROW); i++) {
        code = trace_samples_next(row, &sample);
        hd_buf_clear(&interned);
        if (code == SQLITE_ROW && calls.leaves.at[i])
            trace_intern_stack(t, &reported, calls.leaves.at[i], &interned);
        if (code == SQLITE_ROW)
            trace_perfetto_sample(t, &sample, calls.leaves.at[i], !i, &interned);
    }
    sqlite3_finalize(reported.find);
    hd_free(reported.of_call);
    hd_map_fini(&reported.names);
    hd_map_fini(&reported.modules);
    hd_buf_fini(&interned);
    return trace_samples_close(t, &calls, row, code == SQLITE_ROW ? SQLITE_DONE : code);
}

enum hd_status prof_trace_perfetto(const char *path, const char *to)
{
    struct trace t;

    HD_TRY(trace_begin(&t, path, to));
    t.slice = trace_perfetto_slice;
    enum hd_status status = trace_report_all(&t);
    for (size_t i = 0; i < t.tracks.len; i++) {
        while (t.tracks.at[i].ends.len)
            trace_close_slice(&t, &t.tracks.at[i]);
        hd_vec_fini(&t.tracks.at[i].ends);
    }
    if (status == HD_OK && prof_db_has(t.db, "COMPOSITE_EVENTS"))
        status = trace_perfetto_samples(&t);
    return trace_end(&t, to, status);
}
