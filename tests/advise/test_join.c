/* From calls and work to a timeline: whose work is whose, threads, waits, compilation. */
#include "timeline.h"

enum { PROCESS = 0 };

static bool add_call(struct advise *a, uint64_t key, uint32_t thread, int64_t start_us,
                     int64_t end_us, enum advise_call_kind kind)
{
    struct advise_call call = {.start_ns = start_us * US,
                               .end_ns = end_us * US,
                               .key = key,
                               .thread = thread,
                               .process = PROCESS,
                               .before = ADVISE_NONE,
                               .next = ADVISE_NONE,
                               .wait_work = ADVISE_NONE,
                               .wait_stream = ADVISE_NONE,
                               .kind = (uint8_t)kind};

    return hd_vec_push(&a->calls, call);
}

static bool add_work(struct advise *a, uint64_t key, int64_t start_us, int64_t end_us)
{
    struct advise_work work = {
        .start_ns = start_us * US, .end_ns = end_us * US, .key = key, .kind = ADVISE_KERNEL};

    return hd_vec_push(&a->works, work);
}

/* Two threads; the second's first call has one of the driver inside; work 99 has no call. */
static bool make(struct advise *a, struct advise_join *j)
{
    bool good = timeline_init(a, 4) && hd_vec_push(&a->threads, 2) &&
                add_call(a, 10, 0, 0, 5, ADVISE_CALL_LAUNCH) &&
                add_call(a, 11, 0, 8, 30, ADVISE_CALL_SYNC) &&
                add_call(a, 20, 1, 2, 7, ADVISE_CALL_LAUNCH) &&
                add_call(a, 21, 1, 3, 6, ADVISE_CALL_LAUNCH) &&
                add_call(a, 22, 1, 7, 9, ADVISE_CALL_OTHER) && add_work(a, 21, 12, 25) &&
                add_work(a, 10, 6, 12) && add_work(a, 99, 1, 4) && add_work(a, 20, 9, 11);

    advise_join_init(j);
    return good;
}

static void end(struct advise *a, struct advise_join *j)
{
    advise_join_fini(j);
    advise_fini(a);
}

static void test_calls(void)
{
    struct advise a;
    struct advise_join j;

    ok(make(&a, &j) && advise_join_calls(&j, &a), "calls");
    ok(a.calls.len == 4 && a.calls.at[0].key == 10 && a.calls.at[1].key == 20 &&
           a.calls.at[2].key == 22 && a.calls.at[3].key == 11,
       "sorted by start, without the one that another makes");
    ok(advise_join_work(&j, &a), "work");
    eq_u64(a.calls.len, 5, "a call stands in for the one that is not there");
    eq_u64(advise_join_find(&j, 11), 4, "calls are found by their keys");
    ok(advise_join_find(&j, 21) == ADVISE_NONE && advise_join_find(&j, 99) == ADVISE_NONE,
       "those that are not there are not");
    end(&a, &j);
}

static void test_work(void)
{
    struct advise a;
    struct advise_join j;
    struct hd_buf text = {0};

    ok(make(&a, &j) && advise_join_calls(&j, &a) && advise_join_work(&j, &a), "a timeline");
    for (size_t i = 0; i < a.calls.len; i++) {
        const struct advise_call *call = &a.calls.at[i];
        hd_buf_printf(&text, "|%d", (int)(call->start_ns / US));
        for (uint32_t k = 0; k < call->work_count; k++)
            hd_buf_printf(&text, " %d", (int)(a.works.at[call->first_work + k].start_ns / US));
    }
    eq_str(text.ptr, "|0 6|1 1|2 9 12|7|8", "work of an inner call is the outer one's, by start");
    bool good = true;
    for (size_t i = 0; i < a.works.len; i++) {
        const struct advise_call *call = &a.calls.at[a.works.at[i].call];
        good = good && i >= call->first_work && i < call->first_work + call->work_count;
    }
    ok(good, "each work knows its call");
    ok(a.calls.at[1].kind == ADVISE_CALL_NONE && a.threads.at[a.calls.at[1].thread] == UINT64_MAX,
       "what stands in is of no thread");
    ok(a.calls.at[0].next == 4 && a.calls.at[4].before == 0 && a.calls.at[2].next == 3 &&
           a.calls.at[3].before == 2 && a.calls.at[4].next == ADVISE_NONE,
       "a thread's calls are chained");
    ok(a.calls.at[0].before == ADVISE_NONE && a.calls.at[2].before == 0,
       "a thread's first call comes behind one of the process's first thread");
    hd_buf_fini(&text);
    end(&a, &j);
}

static void test_waits(void)
{
    struct advise a;
    struct advise_join j;

    ok(make(&a, &j) && add_call(&a, 30, 1, 40, 42, ADVISE_CALL_SYNC) &&
           add_call(&a, 31, 1, 43, 60, ADVISE_CALL_COPY) && add_work(&a, 31, 44, 59) &&
           advise_join_calls(&j, &a) && advise_join_work(&j, &a),
       "with a copy");
    advise_find_waits(&a);
    const struct advise_call *sync = &a.calls.at[advise_join_find(&j, 11)];
    ok(sync->wait == ADVISE_WAIT_WORK && a.works.at[sync->wait_work].end_ns == 25 * US,
       "a synchronisation waits for what ended last before it did");
    const struct advise_call *late = &a.calls.at[advise_join_find(&j, 30)];
    ok(late->wait == ADVISE_WAIT_NOTHING, "none when all had ended");
    const struct advise_call *copy = &a.calls.at[advise_join_find(&j, 31)];
    ok(copy->wait == ADVISE_WAIT_WORK && a.works.at[copy->wait_work].start_ns == 44 * US,
       "a copy for its own work");
    ok(a.calls.at[advise_join_find(&j, 10)].wait == ADVISE_WAIT_NOTHING, "a launch for nothing");
    end(&a, &j);
}

static void test_compile(void)
{
    struct advise a;
    struct advise_join j;

    ok(make(&a, &j) && advise_join_calls(&j, &a) && advise_join_work(&j, &a), "a timeline");
    uint64_t thread = a.threads.at[1];
    advise_add_compile(&a, thread, 3 * US, 5 * US);
    advise_add_compile(&a, thread, 5 * US, 6 * US);
    advise_add_compile(&a, thread, 8 * US, 20 * US);
    advise_add_compile(&a, thread, 1 * US, 2 * US);
    advise_add_compile(&a, 77, 3 * US, 5 * US);
    eq_u64((uint64_t)a.calls.at[advise_join_find(&j, 20)].compile_ns, 3 * US,
           "it is of the call of its thread that was open");
    int64_t sum = 0;
    for (size_t i = 0; i < a.calls.len; i++)
        sum += a.calls.at[i].compile_ns;
    eq_u64((uint64_t)sum, 3 * US, "what no call waited for counts nowhere");
    end(&a, &j);
}

static bool join(void *arg)
{
    struct advise a;
    struct advise_join j;

    (void)arg;
    bool good = make(&a, &j) && advise_join_calls(&j, &a) && advise_join_work(&j, &a);
    end(&a, &j);
    return good;
}

int main(void)
{
    test_calls();
    test_work();
    test_waits();
    test_compile();
    tap_oom_loop(join, NULL, "joins");
    return done();
}
