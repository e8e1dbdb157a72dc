/*
 * What the forms of a trace share (prof/prof_trace.h). Both are made of the same rows of a report:
 * tracks (a thread of the host, a stream of a device), and slices on them, with an arrow from a
 * call to what it caused; and samples of host code with their stacks.
 */
#ifndef HEDDLE_TOOLS_PROF_TRACE_SHARED_H
#define HEDDLE_TOOLS_PROF_TRACE_SHARED_H

#include <sqlite3.h>
#include <stdio.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "prof/prof_sample.h"
#include "prof/prof_trace.h"

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

struct sample {
    int64_t start_ns, cpu, process, thread, weight_ns;
};

/* HD_CORRUPT, with SQLite's reason. */
enum hd_status trace_failed(const struct trace *t) HD_MUST_CHECK;
/* Opens the report and the new file. What trace_end() frees is there when it is HD_OK. */
enum hd_status trace_begin(struct trace *t, const char *path, const char *to) HD_MUST_CHECK;
/* `status`, or that the file could not be written; half a trace is removed. */
enum hd_status trace_end(struct trace *t, const char *to, enum hd_status status) HD_MUST_CHECK;
/* Calls t->slice() for each row, by table and start. */
enum hd_status trace_report_all(struct trace *t) HD_MUST_CHECK;
/* The arrows that begin or end at a slice: how many. Work has none whose call is not in the report.
 */
uint32_t trace_flows_at(struct trace *t, const struct slice *s, uint64_t *out_first);
/* One row of a query as text; "" when there is none. */
void trace_ask(struct trace *t, const char *sql, struct hd_buf *out);

/* Samples of host code, in the order of prof_calls' leaves: a code of SQLite for each step. */
enum hd_status trace_samples_open(struct trace *t, struct prof_calls *out_calls,
                                  sqlite3_stmt **out_row) HD_MUST_CHECK;
int trace_samples_next(sqlite3_stmt *row, struct sample *out);
enum hd_status trace_samples_close(struct trace *t, struct prof_calls *calls, sqlite3_stmt *row,
                                   int code) HD_MUST_CHECK;
/* A row of StringIds by a prepared query; "": there is none. */
void trace_string_of(sqlite3_stmt *find, int64_t id, struct hd_buf *out);

#endif
