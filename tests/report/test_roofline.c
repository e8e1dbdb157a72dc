/* The roofline by hand: which roof is over a kernel, and how near it is. */
#include "report/roofline.h"

#include <math.h>

#include "tap.h"

/* 100 and 50 Gflop/s, 10 GB/s from memory, 40, 80 and 200 from caches. */
static const struct report_ceilings peaks = {100e9, 50e9, {10e9, 40e9, 80e9, 200e9}};

static struct report_roofline place(const struct report_ceilings *host, struct report_work w)
{
    struct report_roofline at;

    report_roofline_place(host, &w, &at);
    return at;
}

static bool is(double got, double want)
{
    return isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fabs(want);
}

static void test_roofs(void)
{
    /* 5 GB/s, 1 Gflop/s */
    struct report_roofline at =
        place(&peaks, (struct report_work){.sp = 1e6, .bytes = 5e6, .time_ns = 1e6});

    ok(at.level == REPORT_LEVEL_DRAM && !at.is_compute, "half of what memory gives: its roof");
    ok(is(at.roof_percent, 50) && is(at.dram_percent, 50) && is(at.compute_percent, 1), "parts");
    ok(is(at.intensity, 0.2) && is(at.attainable_per_s, 2e9) && is(at.flop_per_s, 1e9), "rates");
    at = place(&peaks, (struct report_work){.sp = 1e6, .bytes = 50e6, .time_ns = 1e6});
    ok(at.level == REPORT_LEVEL_L2 && is(at.memory_percent, 62.5) && is(at.dram_percent, 500),
       "more than memory and the last cache give: the next one's roof");
    at = place(&peaks, (struct report_work){.bytes = 900e6, .time_ns = 1e6});
    ok(at.level == REPORT_LEVEL_L1 && is(at.roof_percent, 450),
       "more than all give: over the last");
    at = place(&peaks, (struct report_work){.sp = 50e6, .dp = 20e6, .bytes = 1e6, .time_ns = 1e6});
    ok(at.is_compute && is(at.compute_percent, 90) && is(at.roof_percent, 90),
       "both precisions take time at their peaks");
    ok(is(at.attainable_per_s, round(70e6 / 0.0009)), "and that is what is attainable");
}

static void test_unknown(void)
{
    static const struct report_ceilings odd = {100e9, 50e9, {0, 0, 80e9, 0}};
    static const struct report_ceilings blind = {100e9, 50e9, {0}};
    struct report_roofline at = place(&peaks, (struct report_work){.sp = 1e6, .bytes = 5e6});

    ok(isnan(at.roof_percent) && isnan(at.flop_per_s) && isnan(at.bytes_per_s) && at.flop == 1e6 &&
           is(at.attainable_per_s, 2e9),
       "without a time there are no rates");
    at = place(&peaks,
               (struct report_work){.sp = 1e6, .bytes = 5e6, .has_tensors = true, .time_ns = 1e6});
    ok(isnan(at.flop) && isnan(at.intensity) && isnan(at.compute_percent) &&
           is(at.roof_percent, 50),
       "products of matrices: bytes only");
    at = place(&peaks, (struct report_work){.time_ns = 1e6});
    ok(at.flop == 0 && isnan(at.intensity) && isnan(at.attainable_per_s) && isnan(at.roof_percent),
       "a kernel that does neither");
    at = place(&odd, (struct report_work){.sp = 1e6, .bytes = 5e6, .time_ns = 1e6});
    ok(at.level == REPORT_LEVEL_L2 && isnan(at.dram_percent) && isnan(at.attainable_per_s) &&
           is(at.roof_percent, 6.25),
       "one cache is all that is known");
    at = place(&blind, (struct report_work){.sp = 1e6, .bytes = 5e6, .time_ns = 1e6});
    ok(at.memory_percent == 0 && at.is_compute && is(at.roof_percent, 1), "no bytes are known");
    at = place(&peaks, (struct report_work){.sp = NAN, .bytes = NAN, .time_ns = NAN});
    ok(isnan(at.roof_percent) && !at.is_compute, "what is no number is not known");
    at = place(&peaks, (struct report_work){.sp = 1e300, .bytes = 1e300, .time_ns = 1e-300});
    ok(at.level == REPORT_LEVEL_L1 && isinf(at.memory_percent), "too much to be a number");
}

int main(void)
{
    test_roofs();
    test_unknown();
    return done();
}
