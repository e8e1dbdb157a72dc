/* The replay and rules of the timeline: empty, one launch, many equal ones, odd times. */
#include "timeline.h"

static void test_kinds(void)
{
    static const struct {
        const char *name;
        enum advise_call_kind kind;
    } rows[] = {
        {"cudaLaunchKernel_v7000", ADVISE_CALL_LAUNCH},
        {"__cudaLaunchKernel_v13000", ADVISE_CALL_LAUNCH},
        {"cuLaunchKernelEx", ADVISE_CALL_LAUNCH},
        {"cudaGraphLaunch_v10000", ADVISE_CALL_GRAPH},
        {"cudaMemcpyAsync_v3020", ADVISE_CALL_COPY},
        {"cuMemsetD8_v2", ADVISE_CALL_FILL},
        {"cudaDeviceSynchronize_v3020", ADVISE_CALL_SYNC},
        {"cudaMalloc_v3020", ADVISE_CALL_ALLOC},
        {"cudaMallocAsync_v11020", ADVISE_CALL_OTHER},
        {"cuModuleLoadData", ADVISE_CALL_MODULE},
        {"cudaGetLastError_v3020", ADVISE_CALL_OTHER},
        {"", ADVISE_CALL_OTHER},
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        eq_u64(advise_call_kind_of(rows[i].name), rows[i].kind, "'%s'", rows[i].name);
}

static void test_empty(void)
{
    struct advise a;

    ok(timeline_init(&a, 4) && advise_judge(&a) == HD_OK, "nothing happened");
    ok(!a.findings.len && !a.span_ns && !a.steady_ns, "and there is nothing to say");
    advise_fini(&a);
}

static void test_one(void)
{
    struct advise a;

    ok(timeline_init(&a, 4) && timeline_launch(&a, 0, 5 * US, 105 * US, 2, 100) &&
           timeline_sync(&a, 3 * US) && advise_judge(&a) == HD_OK,
       "one launch");
    ok(!a.findings.len, "has no fault");
    ok(a.span_ns == 106 * US && a.steady_ns <= a.span_ns, "its time");
    advise_fini(&a);
}

/* `n` launches, each takes the host 3 us and the device `kernel_ns`; then a wait. */
static bool make_sequence(struct advise *a, int n, int64_t kernel_ns, bool mixed)
{
    int64_t now = 0, end = 0;
    bool good = timeline_init(a, 4);

    for (int i = 0; good && i < n; i++, now += 3 * US) {
        int64_t start = HD_MAX(now + 5 * US, end + 500);
        end = start + kernel_ns;
        good = timeline_launch(a, now, start, end, mixed ? 2 + (uint32_t)i % 2 : 2, 100);
    }
    return good && timeline_sync(a, now);
}

static void test_many(void)
{
    struct advise a;

    ok(make_sequence(&a, 1000, US, false) && advise_judge(&a) == HD_OK, "a thousand equal ones");
    const struct advise_finding *f = timeline_found(&a, "launch-bound");
    ok(f && f->count == 1000 && f->kernel && !strcmp(f->kernel, "first(int)"),
       "launch-bound, of their kernel");
    ok(f && f->gain > 0.3 && f->gain <= 1 && f->severity == ADVISE_HIGH, "with a gain");
    advise_fini(&a);
    ok(make_sequence(&a, 1000, US, true) && advise_judge(&a) == HD_OK, "of two kernels");
    f = timeline_found(&a, "launch-bound");
    ok(f && !f->kernel && f->evidence.len == 3 && strstr(f->evidence.at[1], "first(int)") &&
           strstr(f->evidence.at[2], "second(int)"),
       "it is of neither, and has a line for each");
    advise_fini(&a);
    ok(make_sequence(&a, 1000, 20 * US, false) && advise_judge(&a) == HD_OK &&
           !timeline_found(&a, "launch-bound"),
       "not of kernels that take longer than their launches");
    advise_fini(&a);
}

static void test_waits(void)
{
    struct advise a;
    int64_t now = 0;
    bool good = timeline_init(&a, 4);

    for (int i = 0; good && i < 50; i++) {
        good = timeline_launch(&a, now, now + 5 * US, now + 25 * US, 2, 100) &&
               timeline_sync(&a, now + 3 * US);
        now = hd_vec_last(&a.calls).end_ns;
    }
    ok(good && advise_judge(&a) == HD_OK, "a wait behind each launch");
    const struct advise_finding *f = timeline_found(&a, "needless-sync");
    ok(f && f->count == 49, "all but the last are needless");
    ok(f && a.findings.at[0].gain_ns >= f->gain_ns, "findings come by gain");
    ok(f && f->gain_ns < a.steady_ns, "a gain is less than all");
    advise_fini(&a);
}

static void test_grid(void)
{
    struct advise a;

    ok(timeline_init(&a, 8) && timeline_launch(&a, 0, 5 * US, 805 * US, 2, 2) &&
           timeline_sync(&a, 3 * US) && advise_judge(&a) == HD_OK,
       "two blocks on eight multiprocessors");
    const struct advise_finding *f = timeline_found(&a, "small-grid");
    ok(f && f->gain_ns > 550 * US && f->gain_ns <= 600 * US, "a quarter of the time would do");
    advise_fini(&a);
    ok(timeline_init(&a, 0) && timeline_launch(&a, 0, 5 * US, 805 * US, 2, 2) &&
           timeline_sync(&a, 3 * US) && advise_judge(&a) == HD_OK && !a.findings.len,
       "of an unknown device nothing is said");
    advise_fini(&a);
}

static void test_odd_times(void)
{
    const int64_t year = INT64_C(1) << 55;
    struct advise a;

    ok(make_sequence(&a, 100, 0, false) && advise_judge(&a) == HD_OK, "kernels that take no time");
    ok(a.steady_ns >= 0 && a.steady_ns <= a.span_ns, "steady time is part of all");
    advise_fini(&a);
    ok(timeline_init(&a, 4) && timeline_call(&a, ADVISE_CALL_OTHER, 0, 0, 0) &&
           timeline_call(&a, ADVISE_CALL_SYNC, 1, 0, 0) && advise_judge(&a) == HD_OK &&
           !a.findings.len && a.span_ns == 0,
       "calls that take none");
    advise_fini(&a);
    ok(timeline_init(&a, 4) && timeline_launch(&a, -year, -year + 5 * US, year, 2, 1e18) &&
           timeline_launch(&a, 0, year, year, 3, 1) && timeline_sync(&a, 3 * US) &&
           advise_judge(&a) == HD_OK,
       "two years");
    ok(a.span_ns > 0 && a.steady_ns >= 0 && a.steady_ns <= a.span_ns, "do not overflow");
    advise_fini(&a);
}

/* The plan of a trace gives the trace's own time again, whatever it is. */
static void test_replay(void)
{
    uint64_t seed = tap_seed();
    unsigned wrong = 0;

    for (int round = 0; round < 200; round++) {
        struct advise a;
        int64_t now = 0, end = 0;
        bool good = timeline_init(&a, 4);
        for (unsigned i = 0; good && i < 1 + tap_random(&seed) % 60; i++) {
            now += (int64_t)(tap_random(&seed) % (50 * US));
            int64_t start = HD_MAX(now + 5 * US, end + 500);
            end = start + (int64_t)(tap_random(&seed) % (100 * US));
            good = timeline_launch(&a, now, start, end, 2, 100);
            now += 3 * US;
            if (tap_random(&seed) % 4 == 0) {
                good = good && timeline_sync(&a, now);
                now = hd_vec_last(&a.calls).end_ns;
            }
        }
        good = good && timeline_sync(&a, now) && advise_judge(&a) == HD_OK;
        /* The first call of a process is start-up. */
        int64_t most = a.span_ns - (a.calls.at[0].end_ns - a.calls.at[0].start_ns);
        wrong += !good || a.steady_ns > a.span_ns ||
                 (double)a.steady_ns < 0.99 * (double)most - 2.0 * (double)US;
        advise_fini(&a);
    }
    eq_u64(wrong, 0, "the replay of 200 random timelines takes what they took");
}

static bool judge(void *arg)
{
    struct advise a;

    (void)arg;
    bool good = make_sequence(&a, 20, US, true) && advise_judge(&a) == HD_OK;
    advise_fini(&a);
    return good;
}

int main(void)
{
    test_kinds();
    test_empty();
    test_one();
    test_many();
    test_waits();
    test_grid();
    test_odd_times();
    test_replay();
    tap_oom_loop(judge, NULL, "rules");
    return done();
}
