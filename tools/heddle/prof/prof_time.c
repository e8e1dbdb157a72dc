/* See prof_time.h: beginnings and ends of everything, in the order of time. */
#include "prof/prof_time.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "prof/prof_db.h"

const struct prof_time_text prof_time_texts[PROF_TIME_COUNT] = {
#define X(NAME, title, meaning) [PROF_TIME_##NAME] = {title, meaning},
    PROF_TIME_LIST(X)
#undef X
};

/* What can be going on; API is any call, WAIT lies inside one. */
#define SOURCES (PROF_TIME_API + 1)

struct edge {
    int64_t time_ns;
    int8_t step; /* 1: begins, -1: ends */
    uint8_t source;
};

struct sweep {
    HD_VEC(struct edge) edges;
    int64_t open[SOURCES];
};

static const char *const queries[SOURCES] = {
    [PROF_TIME_KERNEL] = "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE " PROF_TIME_VALID,
    [PROF_TIME_COPY] =
        "SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE " PROF_TIME_VALID
        " UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE " PROF_TIME_VALID,
    [PROF_TIME_COMPILE] = "SELECT start, end FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType "
                          "= 2 AND " PROF_TIME_VALID,
    [PROF_TIME_WAIT] = "SELECT start, end FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType "
                       "<> 2 AND " PROF_TIME_VALID,
    [PROF_TIME_API] = "SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE " PROF_TIME_VALID,
};

static bool add(struct sweep *s, enum prof_time_class source, int64_t start_ns, int64_t end_ns)
{
    struct edge begin = {start_ns, 1, (uint8_t)source}, end = {end_ns, -1, (uint8_t)source};

    return hd_vec_push(&s->edges, begin) && hd_vec_push(&s->edges, end);
}

static enum hd_status read_edges(struct sweep *s, enum prof_time_class source, sqlite3 *db,
                                 const char *path)
{
    sqlite3_stmt *row;
    int code;

    if (sqlite3_prepare_v2(db, queries[source], -1, &row, NULL))
        return prof_db_error(db, path);
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        if (!add(s, source, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1))) {
            sqlite3_finalize(row);
            return hd_error(HD_NO_MEMORY, "%s: out of memory", path);
        }
    enum hd_status status = code == SQLITE_DONE ? HD_OK : prof_db_error(db, path);
    sqlite3_finalize(row);
    return status;
}

/* The session's time as the file tells it; all of what happened lies in it, too. */
static enum hd_status read_session(sqlite3 *db, const char *path, struct prof_time *out)
{
    static const char sql[] =
        "WITH ends AS (SELECT startTime AS start, stopTime AS end FROM ANALYSIS_DETAILS WHERE "
        "startTime BETWEEN -4503599627370496 AND stopTime AND stopTime <= 4503599627370496 UNION "
        "ALL SELECT start, coalesce(end, start) FROM NVTX_EVENTS WHERE start BETWEEN "
        "-4503599627370496 AND coalesce(end, start) AND coalesce(end, start) <= 4503599627370496) "
        "SELECT min(start), max(end), count(*) FROM ends";
    sqlite3_stmt *row;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
        return prof_db_error(db, path);
    int code = sqlite3_step(row);
    bool has = code == SQLITE_ROW && sqlite3_column_int64(row, 2);
    out->start_ns = has ? sqlite3_column_int64(row, 0) : INT64_MAX;
    out->end_ns = has ? sqlite3_column_int64(row, 1) : INT64_MIN;
    enum hd_status status = code == SQLITE_ROW ? HD_OK : prof_db_error(db, path);
    sqlite3_finalize(row);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static enum prof_time_class class_now(const struct sweep *s)
{
    for (enum prof_time_class i = PROF_TIME_KERNEL; i < PROF_TIME_API; i++)
        if (s->open[i] && (i != PROF_TIME_COMPILE || s->open[PROF_TIME_API]))
            return i;
    return s->open[PROF_TIME_API] ? PROF_TIME_API : PROF_TIME_HOST;
}

static void walk(struct sweep *s, struct prof_time *out)
{
    int64_t now = s->edges.at[0].time_ns;

    out->class_ns[PROF_TIME_BEFORE] = now - out->start_ns;
    for (size_t i = 0; i < s->edges.len; i++) {
        struct edge edge = s->edges.at[i];
        int64_t passed = edge.time_ns - now;
        assert(passed >= 0); /* edges are sorted */
        out->class_ns[class_now(s)] += passed;
        if (s->open[PROF_TIME_KERNEL] && s->open[PROF_TIME_COPY])
            out->overlap_ns += passed;
        s->open[edge.source] += edge.step;
        now = edge.time_ns;
    }
    for (size_t i = 0; i < SOURCES; i++)
        assert(!s->open[i]); /* what began has ended */
    out->class_ns[PROF_TIME_AFTER] = out->end_ns - now;
}

static void sweep(struct sweep *s, struct prof_time *out)
{
    if (s->edges.len) {
        qsort(s->edges.at, s->edges.len, sizeof(s->edges.at[0]), by_time);
        out->start_ns = HD_MIN(out->start_ns, s->edges.at[0].time_ns);
        out->end_ns = HD_MAX(out->end_ns, hd_vec_last(&s->edges).time_ns);
        walk(s, out);
    } else if (out->end_ns >= out->start_ns) {
        out->class_ns[PROF_TIME_BEFORE] = out->end_ns - out->start_ns;
    } else {
        out->start_ns = out->end_ns = 0;
    }
}

enum hd_status prof_time(sqlite3 *db, const char *path, struct prof_time *out)
{
    struct sweep s = {0};

    *out = (struct prof_time){0};
    enum hd_status status = read_session(db, path, out);
    for (enum prof_time_class i = 0; i < SOURCES && status == HD_OK; i++)
        status = read_edges(&s, i, db, path);
    if (status == HD_OK)
        sweep(&s, out);
    hd_vec_fini(&s.edges);
    return status;
}
