/* Two reports: ranks against a count of all pairs, Holm's verdicts, the gate, names. */
#include "report/diff.h"

#include <math.h>

#include "report/sample.h"
#include "tap.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void test_ranks(void)
{
    uint64_t seed = tap_seed();
    unsigned wrong = 0;

    for (int round = 0; round < 500; round++) {
        double a[40], b[40], pairs = 0, superior;
        size_t n = 1 + tap_random(&seed) % 40, m = 1 + tap_random(&seed) % 40;
        for (size_t i = 0; i < n; i++)
            a[i] = (double)(tap_random(&seed) % 20);
        for (size_t i = 0; i < m; i++)
            b[i] = (double)(tap_random(&seed) % 20 + (round % 3 == 0) * 5);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < m; k++)
                pairs += b[k] > a[i] ? 1 : b[k] == a[i] ? 0.5 : 0;
        qsort(a, n, sizeof(*a), by_value);
        qsort(b, m, sizeof(*b), by_value);
        double p = report_mann_whitney(a, n, b, m, &superior);
        wrong += fabs(superior - pairs / (double)(n * m)) > 1e-9 || !(p >= 0 && p <= 1);
        wrong += (n < 4 || m < 4) && p != 1;
    }
    eq_u64(wrong, 0, "how often one of the second is greater is what all pairs say");
}

static void test_known(void)
{
    /* Of ten and ten without ties and overlap U is 0: z = 49.5 / sqrt(175), two-sided. */
    double low[10], high[10], equal[10], superior;

    for (int i = 0; i < 10; i++) {
        low[i] = i;
        high[i] = 100 + i;
        equal[i] = 7;
    }
    ok(fabs(report_mann_whitney(low, 10, high, 10, &superior) - 1.8267e-4) < 1e-7 && superior == 1,
       "two samples that do not touch");
    ok(report_mann_whitney(high, 10, low, 10, &superior) < 2e-4 && superior == 0, "the other way");
    ok(report_mann_whitney(equal, 10, equal, 10, &superior) == 1 && superior == 0.5,
       "all are equal: nothing is to be said");
    ok(report_mann_whitney(NULL, 0, low, 10, &superior) == 1 && superior == 0.5, "none of one");
}

static void add(struct report_diff *d, const char *name, bool is_b, double ns)
{
    if (!report_diff_add(d, REPORT_DIFF_KERNEL, name, is_b, ns))
        abort();
}

static const struct report_diff_row *row(const struct report_diff *d, const char *name)
{
    for (size_t i = 0; i < d->rows.len; i++)
        if (!strcmp(d->rows.at[i].name, name))
            return &d->rows.at[i];
    abort();
}

static void test_verdicts(void)
{
    struct report_diff d = {.gate = 10, .min_share = 1};

    for (int i = 0; i < 20; i++) {
        add(&d, "slower", false, 100 + i);
        add(&d, "slower", true, 200 + i);
        add(&d, "faster", false, 100 + i);
        add(&d, "faster", true, 50 + i);
        add(&d, "same", false, 100 + i);
        add(&d, "same", true, 100 + (i * 7 + 3) % 20);
    }
    add(&d, "few", false, 1);
    add(&d, "few", true, 1000);
    add(&d, "new", true, 500);
    add(&d, "gone", false, 500);
    report_diff_compare(&d);
    ok(row(&d, "slower")->verdict == REPORT_DIFF_SLOWER, "slower");
    ok(row(&d, "faster")->verdict == REPORT_DIFF_FASTER, "faster");
    ok(row(&d, "same")->verdict == REPORT_DIFF_SAME, "the same, in another order");
    ok(row(&d, "few")->verdict == REPORT_DIFF_FEW, "too few to say");
    ok(row(&d, "new")->verdict == REPORT_DIFF_NEW, "new");
    ok(row(&d, "gone")->verdict == REPORT_DIFF_GONE, "gone");
    eq_str(d.rows.at[0].name, "slower", "the largest change of a total is first");
    ok(row(&d, "slower")->a.median_ns == 109.5 && row(&d, "slower")->a.total_ns == 2190,
       "median and total");
    eq_u64(d.failures, 2, "the gate: what is slower, and what is new");
    ok(!report_diff_fails(&d, row(&d, "few")), "not what few instances say");
    report_diff_fini(&d);
}

/* Of names that do not differ some seem to at 5 %, as chance has it; none with the correction. */
static void test_holm(void)
{
    uint64_t seed = tap_seed();
    struct report_diff d = {.gate = -1};
    size_t told = 0, plain = 0;

    for (int name = 0; name < 300; name++) {
        char text[16];
        snprintf(text, sizeof(text), "n%d", name);
        for (int i = 0; i < 60; i++)
            add(&d, text, i % 2, (double)(tap_random(&seed) % 1000));
    }
    report_diff_compare(&d);
    for (size_t i = 0; i < d.rows.len; i++) {
        told += d.rows.at[i].verdict != REPORT_DIFF_SAME;
        plain += d.rows.at[i].p < 0.05;
    }
    ok(plain > 0 && told == 0, "of 300 that do not differ %zu seem to, %zu are told", plain, told);
    report_diff_fini(&d);
}

static void test_edges(void)
{
    struct report_diff d = {0};
    struct hd_buf name = {0};

    report_diff_compare(&d);
    ok(!d.rows.len && !d.failures, "two empty reports");
    report_diff_fini(&d);
    add(&d, "nought", false, 0);
    add(&d, "nought", true, 0);
    add(&d, "huge", true, 1e300);
    add(&d, "huge", true, 1e308);
    report_diff_compare(&d);
    ok(report_diff_percent(0, 0) == 0 && isinf(report_diff_percent(0, 1)), "of nothing");
    ok(!report_diff_fails(&d, row(&d, "nought")) && report_diff_fails(&d, row(&d, "huge")),
       "times of nought do not grow");
    report_diff_fini(&d);
    static const char *const names[][2] = {{"step 12", "step #"},
                                           {"seq = 7, 8", "seq = #, #"},
                                           {"conv2d", "conv2d"},
                                           {"v1.2", "v1.2"},
                                           {"", ""},
                                           {"3", "#"}};
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        report_diff_without_numbers(names[i][0], &name);
        eq_str(name.len ? name.ptr : "", names[i][1], "'%s'", names[i][0]);
    }
    hd_buf_fini(&name);
}

static bool grow(void *arg)
{
    struct report_diff d = {.gate = -1};
    bool good = true;

    (void)arg;
    for (int i = 0; good && i < 30; i++) {
        char name[2] = {(char)('a' + i % 5), '\0'};
        good = report_diff_add(&d, REPORT_DIFF_API, name, i % 2, i);
    }
    if (good)
        report_diff_compare(&d);
    report_diff_fini(&d);
    return good;
}

int main(void)
{
    test_ranks();
    test_known();
    test_verdicts();
    test_holm();
    test_edges();
    tap_oom_loop(grow, NULL, "diff");
    return done();
}
