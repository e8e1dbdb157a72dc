/*
 * Where the time went: the time of a report, from its beginning to its end, in classes that do not
 * overlap and leave nothing out. Each moment belongs to the first class that holds; what several
 * processes, threads and devices do is seen as one.
 */
#ifndef HEDDLE_TOOLS_PROF_TIME_H
#define HEDDLE_TOOLS_PROF_TIME_H

#include <sqlite3.h>

#include "base/status.h"

/* X(NAME, title, what it means) */
#define PROF_TIME_LIST(X)                                                                          \
    X(KERNEL, "Kernels", "a kernel runs, whatever else happens")                                   \
    X(COPY, "Copies and fills", "memory is copied or filled, and no kernel runs")                  \
    X(COMPILE, "Compilation waited for",                                                           \
      "the device is idle, a kernel is compiled, and a CUDA call is open")                         \
    X(WAIT, "Waiting", "the device is idle, and the host waits for it in a synchronisation")       \
    X(API, "CUDA calls", "the device is idle, and the host is in another CUDA call")               \
    X(HOST, "Host code", "the device is idle, and no CUDA call is open")                           \
    X(BEFORE, "Before CUDA", "nothing of CUDA has happened yet")                                   \
    X(AFTER, "After CUDA", "nothing of CUDA happens any more")

enum prof_time_class {
#define X(NAME, title, meaning) PROF_TIME_##NAME,
    PROF_TIME_LIST(X)
#undef X
        PROF_TIME_COUNT
};

extern const struct prof_time_text {
    const char *title, *meaning;
} prof_time_texts[PROF_TIME_COUNT];

struct prof_time {
    int64_t start_ns, end_ns; /* since the beginning of the session */
    int64_t class_ns[PROF_TIME_COUNT];
    int64_t overlap_ns; /* of KERNEL: copies ran at the same time */
};

/*
 * Times that are taken for such: numbers, in order, under 52 days. A condition of SQL for rows with
 * `start` and `end`; what else a damaged file has is left out.
 */
#define PROF_TIME_VALID "start BETWEEN -4503599627370496 AND end AND end <= 4503599627370496"

/* `db` is of prof_db_open_report(). The sum over classes is end_ns - start_ns. */
enum hd_status prof_time(sqlite3 *db, const char *path, struct prof_time *out) HD_MUST_CHECK;

#endif
