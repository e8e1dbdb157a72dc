/*
 * The breakdown of a run's time: from its beginning to its end, in classes that do not overlap and
 * leave nothing out. Each moment belongs to the first class that holds; what several processes,
 * threads and devices do is seen as one. It is a sweep over the beginnings and ends of everything.
 *
 *     struct report_breakdown b;
 *     report_breakdown_init(&b);
 *     report_breakdown_span(&b, 0, session_ns);
 *     report_breakdown_add(&b, REPORT_TIME_KERNEL, start_ns, end_ns) ...
 *     report_breakdown_finish(&b);
 *     look_at(b.class_ns[REPORT_TIME_WAIT]);
 *     report_breakdown_fini(&b);
 *
 * Times are nanoseconds since any moment, of less than 2^62.
 */
#ifndef HD_REPORT_BREAKDOWN_H
#define HD_REPORT_BREAKDOWN_H

#include "base/vec.h"

/* X(NAME, title, what it means) */
#define REPORT_TIME_LIST(X)                                                                        \
    X(KERNEL, "Kernels", "a kernel runs, whatever else happens")                                   \
    X(COPY, "Copies and fills", "memory is copied or filled, and no kernel runs")                  \
    X(COMPILE, "Compilation waited for",                                                           \
      "the device is idle, a kernel is compiled, and a CUDA call is open")                         \
    X(WAIT, "Waiting", "the device is idle, and the host waits for it in a synchronisation")       \
    X(API, "CUDA calls", "the device is idle, and the host is in another CUDA call")               \
    X(HOST, "Host code", "the device is idle, and no CUDA call is open")                           \
    X(BEFORE, "Before CUDA", "nothing of CUDA has happened yet")                                   \
    X(AFTER, "After CUDA", "nothing of CUDA happens any more")

enum report_time_class {
#define X(NAME, title, meaning) REPORT_TIME_##NAME,
    REPORT_TIME_LIST(X)
#undef X
        REPORT_TIME_COUNT
};

extern const struct report_time_text {
    const char *title, *meaning;
} report_time_texts[REPORT_TIME_COUNT];

/* What can be going on: classes until API, which is any call; a WAIT lies inside one. */
#define REPORT_TIME_SOURCES (REPORT_TIME_API + 1)

/* Something begins (step 1) or ends (-1). */
struct report_edge {
    int64_t time_ns;
    int8_t step;
    uint8_t source;
};

struct report_breakdown {
    int64_t start_ns, end_ns;
    int64_t class_ns[REPORT_TIME_COUNT]; /* their sum is end_ns - start_ns */
    int64_t overlap_ns;                  /* of KERNEL: copies ran at the same time */
    HD_VEC(struct report_edge) edges;
};

void report_breakdown_init(struct report_breakdown *b);
/* The run takes at least so long: from `start_ns` to `end_ns`. */
void report_breakdown_span(struct report_breakdown *b, int64_t start_ns, int64_t end_ns);
/* `start_ns` <= `end_ns`; in any order. False: no memory. */
bool report_breakdown_add(struct report_breakdown *b, enum report_time_class source,
                          int64_t start_ns, int64_t end_ns) HD_MUST_CHECK;
/* When all is added, once. Of nothing at all: times are 0. */
void report_breakdown_finish(struct report_breakdown *b);
void report_breakdown_fini(struct report_breakdown *b);

#endif
