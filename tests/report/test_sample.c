/* Medians and deviations against sorted and naive ones. */
#include "report/sample.h"

#include <math.h>

#include "tap.h"

enum { MOST = 300 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void test_fixed(void)
{
    double one[] = {-3}, two[] = {4, 1}, equal[] = {7, 7, 7, 7}, huge[] = {INFINITY, 1, 2};

    ok(report_median(one, 1) == -3 && report_deviation(one, 1) == 0, "one value");
    ok(report_median(two, 2) == 2.5, "two: the mean");
    ok(fabs(report_deviation(two, 2) - sqrt(4.5)) < 1e-12, "of the sample, not of all there is");
    ok(report_median(equal, 4) == 7 && report_deviation(equal, 4) == 0, "equal ones");
    ok(report_median(huge, 3) == 2, "an infinite one is the greatest");
    ok(report_deviation(NULL, 0) == 0, "none deviate");
}

static void test_random(void)
{
    uint64_t seed = tap_seed();
    double values[MOST], sorted[MOST];
    unsigned wrong = 0;

    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + tap_random(&seed) % MOST;
        uint64_t range = 1 + tap_random(&seed) % (round % 2 ? 5 : 1000000);
        for (size_t i = 0; i < n; i++)
            values[i] = sorted[i] = (double)(tap_random(&seed) % range);
        qsort(sorted, n, sizeof(*sorted), by_value);
        double want = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
        wrong += report_median(values, n) != want;
        qsort(values, n, sizeof(*values), by_value);
        wrong += memcmp(values, sorted, n * sizeof(*values)) != 0;
    }
    eq_u64(wrong, 0, "medians are those of sorted values, which are only reordered");
}

static void test_no_numbers(void)
{
    uint64_t seed = 1;
    double values[64];

    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < HD_COUNT_OF(values); i++)
            values[i] = tap_random(&seed) % 3 ? (double)i : NAN;
        (void)report_median(values, 1 + tap_random(&seed) % HD_COUNT_OF(values));
    }
    ok(true, "what is no number ends the search, too");
}

int main(void)
{
    test_fixed();
    test_random();
    test_no_numbers();
    return done();
}
