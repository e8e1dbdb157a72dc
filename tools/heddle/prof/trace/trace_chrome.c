/*
 * The Trace Event Format, for Chrome's and TensorBoard's viewers, with the categories and arguments
 * that PyTorch's profiler (Kineto) writes.
 */
#include "prof/trace/trace.h"

#include <assert.h>

#include "base/text/json.h"
#include "prof/prof_db.h"

#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"

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
        fprintf(t->out, "%s%s", t->is_first ? "" : ",\n", prof_db_text(row, 0));
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
        trace_string_of(find, call->symbol, &name);
        trace_string_of(find, call->module, &module);
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
