/* Groups of counters (count/perf.h): events of the system's own, which every kernel has. */
#include "count/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tap.h"

enum { PAGES = 100 };

static void touch_pages(void)
{
    size_t page_B = (size_t)sysconf(_SC_PAGESIZE);
    char *at =
        mmap(NULL, PAGES * page_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return;
    (void)madvise(at, PAGES * page_B, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)at)[i * page_B] = 1;
    (void)munmap(at, PAGES * page_B);
}

static void test_decode(void)
{
    const uint64_t two[] = {2, 3000, 1500, 40, 50}, none[] = {0, 7, 7};
    struct count_perf_values v = {0};

    ok(count_perf_decode(two, 5, 2, &v), "a group of two");
    ok(v.enabled_ns == 3000 && v.running_ns == 1500 && v.values[0] == 40 && v.values[1] == 50,
       "times and values where they are");
    ok(!count_perf_decode(two, 4, 2, &v), "a value is missing");
    ok(!count_perf_decode(two, 5, 1, &v), "more words than the group has events");
    ok(!count_perf_decode(none, 3, 1, &v), "no values where one is expected");
}

static void test_scale(void)
{
    ok(count_perf_scale(100, 3000, 3000) == 100, "always running: as it is");
    ok(count_perf_scale(100, 3000, 750) == 400, "a quarter of the time: four times as much");
    ok(count_perf_scale(100, 3000, 3001) == 100, "never less than was counted");
    ok(count_perf_scale(0, 3000, 0) == -1, "never running: not known");
    ok(count_perf_scale(UINT64_MAX / 2, 1000, 1) > 9.2e21, "no overflow");
}

/* Of faults that need no disk all events of faults have the same. */
static void test_software(void)
{
    const struct count_perf_event events[] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                                              {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}};
    struct count_perf_group group;
    struct count_perf_values before, after;
    int error = count_perf_open(&group, events, 2);

    if (error) { /* a container's filter, or perf_event_paranoid above 2 */
        ok(error == EACCES || error == EPERM || error == ENOSYS, "refused: errno %d", error);
        ok(!group.n && !count_perf_read(&group, &before), "then nothing is open");
        return;
    }
    ok(count_perf_read(&group, &before), "read");
    touch_pages();
    ok(count_perf_read(&group, &after), "and again");
    for (int i = 0; i < 2; i++)
        ok(after.values[i] - before.values[i] >= PAGES &&
               after.values[i] - before.values[i] < 2 * PAGES,
           "a fault for each page: %llu", (unsigned long long)(after.values[i] - before.values[i]));
    ok(after.running_ns - before.running_ns == after.enabled_ns - before.enabled_ns &&
           after.enabled_ns > before.enabled_ns,
       "these never take turns");
    int fd = group.fds[0];
    count_perf_close(&group);
    ok(read(fd, &before, sizeof(before)) < 0 && errno == EBADF, "closed");
}

static void test_refused(void)
{
    const struct count_perf_event none = {PERF_TYPE_SOFTWARE, 12345},
                                  second[] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
                                              {PERF_TYPE_SOFTWARE, 12345}};
    struct count_perf_group group;
    struct count_perf_values v;

    ok(count_perf_open(&group, &none, 1) != 0 && !group.n, "an event that is none");
    ok(!count_perf_read(&group, &v), "which cannot be read");
    ok(count_perf_open(&group, second, 2) != 0, "as the second of a group");
    ok(group.n < 2 && (!group.n || count_perf_read(&group, &v)), "the first counts without it");
    count_perf_close(&group);
}

int main(void)
{
    test_decode();
    test_scale();
    test_software();
    test_refused();
    return done();
}
