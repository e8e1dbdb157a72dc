/* Where the time went: classes that do not overlap, and leave nothing out. */
#include "report/breakdown.h"

#include "base/str.h"
#include "tap.h"

struct event {
    enum report_time_class source;
    int64_t start_ns, end_ns;
};

/* "KERNEL COPY COMPILE WAIT API HOST BEFORE AFTER, start-end, overlap" */
static void check(const struct event *events, size_t n, int64_t start_ns, int64_t end_ns,
                  const char *want, const char *what)
{
    struct report_breakdown b;
    struct hd_buf text = {0};
    int64_t sum = 0;

    report_breakdown_init(&b);
    if (start_ns <= end_ns)
        report_breakdown_span(&b, start_ns, end_ns);
    for (size_t i = 0; i < n; i++)
        if (!report_breakdown_add(&b, events[i].source, events[i].start_ns, events[i].end_ns))
            abort();
    report_breakdown_finish(&b);
    for (size_t i = 0; i < REPORT_TIME_COUNT; i++) {
        hd_buf_printf(&text, "%d ", (int)b.class_ns[i]);
        sum += b.class_ns[i];
    }
    hd_buf_printf(&text, "%d-%d %d", (int)b.start_ns, (int)b.end_ns, (int)b.overlap_ns);
    eq_str(text.ptr, want, "%s", what);
    ok(sum == b.end_ns - b.start_ns, "%s: nothing is left out", what);
    report_breakdown_fini(&b);
    hd_buf_fini(&text);
}

static void test_classes(void)
{
    static const struct event all[] = {
        {REPORT_TIME_API, 10, 60},     {REPORT_TIME_COMPILE, 15, 25}, {REPORT_TIME_KERNEL, 30, 50},
        {REPORT_TIME_COPY, 40, 55},    {REPORT_TIME_WAIT, 20, 58},    {REPORT_TIME_API, 80, 90},
        {REPORT_TIME_COMPILE, 62, 65},
    };
    struct event back[HD_COUNT_OF(all)];

    check(all, HD_COUNT_OF(all), 0, 100, "20 5 10 8 17 20 10 10 0-100 10",
          "the first class that holds has the moment");
    for (size_t i = 0; i < HD_COUNT_OF(all); i++)
        back[i] = all[HD_COUNT_OF(all) - 1 - i];
    check(back, HD_COUNT_OF(back), 0, 100, "20 5 10 8 17 20 10 10 0-100 10", "in any order");
}

static void test_edges(void)
{
    static const struct event two[] = {{REPORT_TIME_KERNEL, 5, 9}, {REPORT_TIME_KERNEL, 7, 12}};
    static const struct event none[] = {{REPORT_TIME_COPY, 3, 3}};
    static const struct event early[] = {{REPORT_TIME_API, -8, -2}, {REPORT_TIME_API, 4, 7}};

    check(two, 2, 0, 20, "7 0 0 0 0 0 5 8 0-20 0", "two kernels at a time count once");
    check(two, 2, 1, 0, "7 0 0 0 0 0 0 0 5-12 0", "without a span it is what happened");
    check(early, 2, 0, 5, "0 0 0 0 9 6 0 0 -8-7 0", "what happened is never outside");
    check(none, 1, 0, 10, "0 0 0 0 0 0 3 7 0-10 0", "what takes no time");
    check(NULL, 0, 4, 10, "0 0 0 0 0 0 6 0 4-10 0", "nothing happened");
    check(NULL, 0, 1, 0, "0 0 0 0 0 0 0 0 0-0 0", "nothing at all");
}

static bool grow(void *arg)
{
    struct report_breakdown b;
    bool good = true;

    (void)arg;
    report_breakdown_init(&b);
    for (int i = 0; good && i < 100; i++)
        good = report_breakdown_add(&b, REPORT_TIME_KERNEL, i, i + 1);
    if (good) {
        report_breakdown_finish(&b);
        good = b.class_ns[REPORT_TIME_KERNEL] == 100;
    }
    report_breakdown_fini(&b);
    return good;
}

int main(void)
{
    test_classes();
    test_edges();
    tap_oom_loop(grow, NULL, "breakdown");
    return done();
}
