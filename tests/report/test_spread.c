/* The spread of a quantity: equal values need no memory, others are all in it. */
#include "report/spread.h"

#include <math.h>

#include "tap.h"

static void add(struct report_spread *s, double value)
{
    if (!report_spread_add(s, value))
        abort();
}

static void test_equal(void)
{
    struct report_spread s = {0};

    for (int i = 0; i < 1000000; i++)
        add(&s, 42);
    ok(!report_spread_differs(&s) && !s.values.cap, "a million equal values need no memory");
    ok(report_spread_median(&s) == 42 && s.min == 42 && s.max == 42, "and are what they are");
    add(&s, 43);
    ok(report_spread_differs(&s) && s.values.len == 1000001, "one that differs brings all");
    ok(report_spread_median(&s) == 42 && s.max == 43, "median and greatest");
    report_spread_fini(&s);
}

static void test_clear(void)
{
    struct report_spread s = {0};

    add(&s, 0);
    ok(report_spread_median(&s) == 0 && s.count == 1, "one value, nought");
    add(&s, NAN);
    eq_u64(s.count, 1, "what is no number is no value");
    add(&s, -1);
    add(&s, INFINITY);
    ok(s.min == -1 && s.max == INFINITY && report_spread_median(&s) == 0, "least and greatest");
    report_spread_clear(&s);
    add(&s, 5);
    ok(!report_spread_differs(&s) && s.min == 5 && s.max == 5, "nothing is left of those before");
    report_spread_fini(&s);
}

static bool grow(void *arg)
{
    struct report_spread s = {0};
    bool good = true;

    (void)arg;
    for (int i = 0; good && i < 100; i++)
        good = report_spread_add(&s, i / 3);
    bool right = !good || (s.count == 100 && report_spread_median(&s) == 16);
    report_spread_fini(&s);
    if (!right)
        abort();
    return good;
}

int main(void)
{
    test_equal();
    test_clear();
    tap_oom_loop(grow, NULL, "spread");
    return done();
}
