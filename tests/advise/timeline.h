/* A timeline of one thread and one device for tests of advise, made call by call. */
#ifndef HD_TESTS_ADVISE_TIMELINE_H
#define HD_TESTS_ADVISE_TIMELINE_H

#include "advise/advise.h"
#include "tap.h"

#define US INT64_C(1000)

/* False: no memory. A process, a device of `sms` multiprocessors, streams 0 and 1. */
static inline bool timeline_init(struct advise *a, uint32_t sms)
{
    static const char *const names[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "first(int)",
                                        "second(int)"};

    *a = (struct advise){.path = "test", .min_gain = 0.02, .until_ns = INT64_MAX};
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        char *copy = hd_strdup(names[i]);
        if (!copy || !hd_vec_push(&a->names, copy)) {
            hd_free(copy);
            return false;
        }
    }
    return hd_vec_push(&a->threads, 1) && hd_vec_push(&a->processes, 1) &&
           hd_vec_push(&a->sms, sms) && hd_vec_push(&a->streams, (struct advise_stream){.id = 7}) &&
           hd_vec_push(&a->streams, (struct advise_stream){.id = 8});
}

static inline bool timeline_call(struct advise *a, enum advise_call_kind kind, uint32_t name,
                                 int64_t start_ns, int64_t end_ns)
{
    uint32_t at = (uint32_t)a->calls.len;
    struct advise_call call = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .rowid = at + 1,
                               .before = at ? at - 1 : ADVISE_NONE,
                               .next = ADVISE_NONE,
                               .name = name,
                               .wait_work = ADVISE_NONE,
                               .wait_stream = ADVISE_NONE,
                               .kind = (uint8_t)kind};

    if (at)
        a->calls.at[at - 1].next = at;
    return hd_vec_push(&a->calls, call);
}

/* A kernel of so many blocks, by a call of 3 us at `call_ns`. */
static inline bool timeline_launch(struct advise *a, int64_t call_ns, int64_t start_ns,
                                   int64_t end_ns, uint32_t name, double blocks)
{
    struct advise_work work = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .rowid = (int64_t)a->works.len + 1,
                               .blocks = blocks,
                               .call = (uint32_t)a->calls.len,
                               .name = name,
                               .threads = 128,
                               .kind = ADVISE_KERNEL};

    if (!timeline_call(a, ADVISE_CALL_LAUNCH, 0, call_ns, call_ns + 3 * US) ||
        !hd_vec_push(&a->works, work))
        return false;
    hd_vec_last(&a->calls).first_work = (uint32_t)a->works.len - 1;
    hd_vec_last(&a->calls).work_count = 1;
    a->streams.at[0].count++;
    return true;
}

/* Waits for the stream until its last work has ended, a microsecond longer. */
static inline bool timeline_sync(struct advise *a, int64_t start_ns)
{
    int64_t end_ns = a->works.len ? hd_vec_last(&a->works).end_ns : start_ns;

    if (!timeline_call(a, ADVISE_CALL_SYNC, 1, start_ns, HD_MAX(start_ns, end_ns) + US))
        return false;
    hd_vec_last(&a->calls).wait = ADVISE_WAIT_STREAM;
    hd_vec_last(&a->calls).wait_stream = 0;
    return true;
}

static inline const struct advise_finding *timeline_found(const struct advise *a, const char *rule)
{
    for (size_t i = 0; i < a->findings.len; i++)
        if (!strcmp(a->findings.at[i].rule->id, rule))
            return &a->findings.at[i];
    return NULL;
}

#endif
