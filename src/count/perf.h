/*
 * Counters of the processor for the calling thread, in user mode: perf_event_open(2). Events of a
 * group are counted together or not at all. With more groups than the processor has counters for
 * they take turns, so a group has been running for a part of the time for which it was enabled.
 *
 *     struct count_perf_group group;
 *     int error = count_perf_open(&group, events, 2);   // errno, or 0
 *     count_perf_read(&group, &before);
 *     ...
 *     count_perf_read(&group, &after);
 *     // after.values[i] - before.values[i], times what count_perf_scale() says
 *
 * Threads: a group is of the thread that opened it.
 */
#ifndef HD_COUNT_PERF_H
#define HD_COUNT_PERF_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT_PERF_EVENTS 2 /* of a group, at most */

struct count_perf_event {
    uint32_t type; /* PERF_TYPE_HARDWARE, .. */
    uint64_t config;
};

struct count_perf_group {
    int fds[COUNT_PERF_EVENTS]; /* the first leads; -1: it is not there */
    unsigned n;
};

struct count_perf_values {
    uint64_t enabled_ns, running_ns;
    uint64_t values[COUNT_PERF_EVENTS];
};

/*
 * 0, or the errno of the first event that cannot be counted; those before it are. Nothing is open
 * when it was the first of all.
 */
int count_perf_open(struct count_perf_group *group, const struct count_perf_event *events,
                    unsigned n);
/* False: the group is not open, or cannot be read. */
bool count_perf_read(const struct count_perf_group *group, struct count_perf_values *out);
void count_perf_close(struct count_perf_group *group);

/*
 * What the kernel writes for PERF_FORMAT_GROUP with both times: n, enabled, running, n values.
 * False: these words are not that.
 */
bool count_perf_decode(const uint64_t *words, uint64_t nwords, unsigned n,
                       struct count_perf_values *out);
/* What was counted while an event was running, for all of the time in which it was enabled; -1: it
 * was not running. */
double count_perf_scale(uint64_t count, uint64_t enabled_ns, uint64_t running_ns);

#endif
