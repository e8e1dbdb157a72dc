/*
 * Perfetto's trace: the protobuf of perfetto_trace.proto, whose numbers of fields and enumerations
 * these are, and of which a few are written by hand. Slices that overlap on a stream (there may be
 * several at once) go to further tracks of the same name.
 */
#include "prof/trace/trace.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "prof/prof_db.h"

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

static void trace_intern_text(struct reported *reported, int64_t id, unsigned field,
                              struct hd_buf *out)
{
    struct hd_buf part = {0}, text = {0};

    trace_string_of(reported->find, id, &text);
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

static void trace_intern_frame(struct reported *reported, size_t at, struct hd_buf *out)
{
    const struct prof_called *call = &reported->calls->at.at[at];
    struct hd_buf part = {0};

    if (reported->of_call[at] & TOLD_FRAME)
        return;
    reported->of_call[at] |= TOLD_FRAME;
    if (!trace_is_reported(&reported->names, call->symbol))
        trace_intern_text(reported, call->symbol, INTERNED_FUNCTION, out);
    if (!trace_is_reported(&reported->modules, call->module)) {
        trace_intern_text(reported, call->module, INTERNED_PATH, out);
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
static void trace_intern_stack(struct reported *reported, size_t leaf, struct hd_buf *out)
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
        trace_intern_frame(reported, order.at[i], out);
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
            trace_intern_stack(&reported, calls.leaves.at[i], &interned);
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
