/* See perf.h. */
#include "count/perf.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

static int event_open(const struct count_perf_event *event, int leader)
{
    struct perf_event_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = event->type;
    attr.config = event->config;
    attr.exclude_kernel = attr.exclude_hv = 1; /* what users may count */
    attr.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

int count_perf_open(struct count_perf_group *group, const struct count_perf_event *events,
                    unsigned n)
{
    assert(n && n <= COUNT_PERF_EVENTS);
    *group = (struct count_perf_group){.fds = {-1, -1}};
    while (group->n < n) {
        int fd = event_open(&events[group->n], group->fds[0]);
        if (fd < 0)
            return errno;
        group->fds[group->n++] = fd;
    }
    return 0;
}

void count_perf_close(struct count_perf_group *group)
{
    assert(group->n <= COUNT_PERF_EVENTS);
    while (group->n)
        (void)close(group->fds[--group->n]);
}

bool count_perf_decode(const uint64_t *words, uint64_t nwords, unsigned n,
                       struct count_perf_values *out)
{
    assert(n <= COUNT_PERF_EVENTS);
    if (nwords != 3 + n || words[0] != n)
        return false;
    *out = (struct count_perf_values){.enabled_ns = words[1], .running_ns = words[2]};
    memcpy(out->values, words + 3, n * sizeof(*words));
    return true;
}

bool count_perf_read(const struct count_perf_group *group, struct count_perf_values *out)
{
    uint64_t words[3 + COUNT_PERF_EVENTS];
    ssize_t got_B = group->n ? read(group->fds[0], words, (3 + group->n) * sizeof(*words)) : -1;

    return got_B > 0 && count_perf_decode(words, (uint64_t)got_B / sizeof(*words), group->n, out);
}

double count_perf_scale(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
    if (!running_ns)
        return -1;
    return (double)count * HD_MAX((double)enabled_ns / (double)running_ns, 1.0);
}
