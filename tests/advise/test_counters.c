/* From metrics of kernels to findings: sums, thresholds, lines, no timeline, no numbers. */
#include <math.h>

#include "timeline.h"

static bool count_kernel(struct advise *a, const char *kernel, int64_t time_ns)
{
    struct advise_counted c = {
        .kernel = hd_strdup(kernel), .time_ns = time_ns, .launches = 10, .uniform = 100};

    if (c.kernel && hd_vec_push(&a->counted, c))
        return true;
    hd_free(c.kernel);
    return false;
}

static bool add_line(struct advise *a, enum advise_line_kind kind, const char *file, int64_t line,
                     double value)
{
    struct advise_line of = {
        .counted = 0, .kind = kind, .file = hd_strdup(file), .line = line, .value = value};

    if (of.file && hd_vec_push(&a->lines, of))
        return true;
    hd_free(of.file);
    return false;
}

static void add(struct advise *a, const char *metric, double sum)
{
    advise_counted_add(&a->counted.at[0], metric, sum, sum);
}

/* A kernel whose warps load so many sectors where 100 would do. */
static bool make_sectors(struct advise *a, double sectors)
{
    bool good = timeline_init(a, 4) && count_kernel(a, "work(int)", 1000 * US);

    a->has_counters = true;
    if (!good)
        return false;
    add(a, "smsp__inst_executed.sum", 100);
    add(a, "smsp__thread_inst_executed.sum", 3200);
    add(a, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 25);
    add(a, "memory_l2_theoretical_sectors_global", sectors);
    add(a, "memory_l2_theoretical_sectors_global_ideal", 100);
    advise_counted_finish(&a->counted.at[0]);
    return true;
}

static void test_sectors(void)
{
    struct advise a;

    ok(make_sectors(&a, 800) && add_line(&a, ADVISE_LINE_SECTORS, "k.cu", 7, 300) &&
           add_line(&a, ADVISE_LINE_SECTORS, "k.cu", 9, 400) &&
           add_line(&a, ADVISE_LINE_SECTORS, "k.cu", 7, 200) &&
           add_line(&a, ADVISE_LINE_LOCAL, "k.cu", 1, 9999) &&
           add_line(&a, ADVISE_LINE_SECTORS, "k.cu", 8, 0) && advise_judge(&a) == HD_OK,
       "scattered accesses");
    const struct advise_finding *f = timeline_found(&a, "uncoalesced");
    ok(f && a.findings.len == 1 && !strcmp(f->kernel, "work(int)"), "are told, and nothing else");
    /* Of 100 + 700 slots 700. */
    ok(f && f->gain_ns == 875 * US && f->count == 10, "the gain, of the counted launches");
    ok(f && !strcmp(f->file, "k.cu") && f->line == 7,
       "the line of most, loads and stores together");
    ok(f && f->evidence.len == 3 && !strcmp(f->evidence.at[1], "k.cu:7: 500 sectors") &&
           !strcmp(f->evidence.at[2], "k.cu:9: 400 sectors"),
       "evidence is of those lines");
    advise_fini(&a);
    ok(make_sectors(&a, 149) && advise_judge(&a) == HD_OK && !a.findings.len, "a few are not told");
    advise_fini(&a);
    ok(make_sectors(&a, 150) && advise_judge(&a) == HD_OK && a.findings.len == 1 &&
           !a.findings.at[0].file,
       "half of the ideal more is, without a place where there are no lines");
    advise_fini(&a);
    ok(make_sectors(&a, 800) && advise_judge(&a) == HD_OK, "counters");
    a.has_counters = false;
    advise_fini(&a);
    ok(make_sectors(&a, 800) && add_line(&a, ADVISE_LINE_SECTORS, "", 46, 5) &&
           advise_judge(&a) == HD_OK && !strcmp(a.findings.at[0].file, "ptx"),
       "a line without a file is the PTX's");
    advise_fini(&a);
}

static void test_timeline(void)
{
    struct advise a;

    ok(make_sectors(&a, 800) && timeline_launch(&a, 0, 5 * US, 805 * US, 2, 100) &&
           timeline_sync(&a, 3 * US),
       "with a timeline of another kernel");
    hd_free(a.counted.at[0].kernel);
    a.counted.at[0].kernel = hd_strdup("first(int)");
    ok(a.counted.at[0].kernel && advise_judge(&a) == HD_OK, "then of that");
    const struct advise_finding *f = timeline_found(&a, "uncoalesced");
    ok(f && f->gain_ns > 690 * US && f->gain_ns <= 700 * US, "the gain is the timeline's");
    advise_fini(&a);
}

static void test_odd(void)
{
    static const double odd[] = {0, -5, NAN, INFINITY, 1e308};
    struct advise a;

    ok(timeline_init(&a, 4) && count_kernel(&a, "k", 0), "a kernel that took no time");
    a.has_counters = true;
    advise_counted_finish(&a.counted.at[0]);
    ok(a.counted.at[0].slots == 0 && advise_judge(&a) == HD_OK && !a.findings.len,
       "without counts there is nothing to say");
    advise_fini(&a);
    for (size_t i = 0; i < HD_COUNT_OF(odd); i++) {
        bool good = timeline_init(&a, 4) && count_kernel(&a, "k", INT64_MAX / 4);
        a.has_counters = true;
        add(&a, "smsp__inst_executed.sum", odd[i]);
        add(&a, "memory_l2_theoretical_sectors_global", 100);
        add(&a, "memory_l2_theoretical_sectors_global_ideal", odd[i]);
        add(&a, "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", odd[i]);
        add(&a, "no_such_metric", 1);
        advise_counted_finish(&a.counted.at[0]);
        good = good && advise_judge(&a) == HD_OK;
        for (size_t k = 0; k < a.findings.len; k++)
            good = good && a.findings.at[k].gain_ns >= 0 && a.findings.at[k].gain <= 1;
        ok(good, "counters of %g", odd[i]);
        advise_fini(&a);
    }
    eq_u64(advise_line_kind_of("nothing"), ADVISE_LINE_COUNT, "lines of no rule");
    eq_u64(advise_line_kind_of("heddle__atomic_passes.sum"), ADVISE_LINE_ATOMIC, "of one");
}

static void test_compiled(void)
{
    struct advise a;
    bool good = timeline_init(&a, 4) && timeline_launch(&a, 0, 5 * US, 105 * US, 2, 100) &&
                timeline_sync(&a, 3 * US);

    for (int i = 0; good && i < 9; i++) {
        struct advise_compiled c = {.kernel = hd_strdup("k"),
                                    .rowid = i,
                                    .calls = 3,
                                    .again = 2,
                                    .time_ns = 30000 * US,
                                    .again_ns = 20000 * US};
        good = c.kernel && hd_vec_push(&a.compiled, c);
    }
    ok(good && advise_judge(&a) == HD_OK, "nine kernels compiled again");
    const struct advise_finding *f = timeline_found(&a, "repeated-jit");
    ok(f && f->count == 18 && f->gain_ns == 9 * 20000 * US && f->evidence.len == 5 &&
           f->examples.len == 5,
       "sums of all, lines of five");
    advise_fini(&a);
}

static bool judge(void *arg)
{
    struct advise a;

    (void)arg;
    bool good = make_sectors(&a, 800) && add_line(&a, ADVISE_LINE_SECTORS, "k.cu", 7, 300) &&
                advise_judge(&a) == HD_OK;
    advise_fini(&a);
    return good;
}

int main(void)
{
    test_sectors();
    test_timeline();
    test_odd();
    test_compiled();
    tap_oom_loop(judge, NULL, "counters");
    return done();
}
