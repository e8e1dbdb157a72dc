/* See advise.h: from calls and work of a report to a timeline, in which each knows the other. */
#include <assert.h>
#include <stdlib.h>

#include "advise/advise.h"
#include "base/mem.h"

void advise_join_init(struct advise_join *j)
{
    hd_map_init(&j->outer);
    hd_map_init(&j->calls);
}

void advise_join_fini(struct advise_join *j)
{
    hd_map_fini(&j->outer);
    hd_map_fini(&j->calls);
}

uint32_t advise_join_find(const struct advise_join *j, uint64_t key)
{
    return (uint32_t)((uintptr_t)hd_map_get_u64(&j->calls, key) - 1); /* ADVISE_NONE: not there */
}

/* ---- calls */

static int join_by_start(const void *a, const void *b)
{
    const struct advise_call *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void join_sort_calls(struct advise *a)
{
    if (a->calls.len)
        qsort(a->calls.at, a->calls.len, sizeof(a->calls.at[0]), join_by_start);
}

bool advise_join_calls(struct advise_join *j, struct advise *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->calls.len; i++) {
        const struct advise_call *outer = kept ? &a->calls.at[kept - 1] : NULL;
        const struct advise_call *call = &a->calls.at[i];
        bool is_inner = outer && outer->thread == call->thread && call->start_ns < outer->end_ns;

        if (!is_inner)
            a->calls.at[kept++] = *call;
        else if (!hd_map_put_u64(&j->outer, call->key, (void *)(uintptr_t)outer->key))
            return false;
    }
    assert(kept <= a->calls.len);
    a->calls.len = kept;
    join_sort_calls(a);
    return true;
}

/* ---- work and its calls */

/* The thread of calls that stand in; ADVISE_NONE: no memory. */
static uint32_t join_thread_of_none(struct advise *a)
{
    for (size_t i = a->threads.len; i-- > 0;)
        if (a->threads.at[i] == UINT64_MAX)
            return (uint32_t)i;
    return hd_vec_push(&a->threads, UINT64_MAX) ? (uint32_t)(a->threads.len - 1) : ADVISE_NONE;
}

/* A call at its start for work whose own is not in the report: such work is as late as it was. */
static bool join_stand_in(struct advise *a, const struct advise_work *work, uint32_t thread)
{
    struct advise_call call = {.start_ns = work->start_ns,
                               .end_ns = work->start_ns,
                               .key = work->key,
                               .process = a->streams.at[work->stream].process,
                               .thread = thread,
                               .before = ADVISE_NONE,
                               .next = ADVISE_NONE,
                               .wait_work = ADVISE_NONE,
                               .wait_stream = ADVISE_NONE,
                               .kind = ADVISE_CALL_NONE};

    assert(a->names.len && work->stream < a->streams.len && thread < a->threads.len);
    return hd_vec_push(&a->calls, call);
}

static bool join_map_calls(struct advise_join *j, const struct advise *a)
{
    hd_map_fini(&j->calls);
    hd_map_init(&j->calls);
    for (size_t i = 0; i < a->calls.len; i++)
        if (!hd_map_put_u64(&j->calls, a->calls.at[i].key, (void *)(uintptr_t)(i + 1)))
            return false;
    return true;
}

/* Keys of work become those of calls that are there; calls that stand in are made. */
static bool join_find_calls(struct advise_join *j, struct advise *a)
{
    size_t real = a->calls.len;
    uint32_t thread = ADVISE_NONE;

    for (size_t i = 0; i < a->works.len; i++) {
        struct advise_work *work = &a->works.at[i];
        void *outer;
        if (hd_map_find_u64(&j->outer, work->key, &outer))
            work->key = (uint64_t)(uintptr_t)outer;
        if (advise_join_find(j, work->key) != ADVISE_NONE)
            continue;
        work->key = UINT64_MAX - 1 - i;
        if (thread == ADVISE_NONE)
            thread = join_thread_of_none(a);
        if (thread == ADVISE_NONE || !join_stand_in(a, work, thread))
            return false;
    }
    if (a->calls.len == real)
        return true;
    join_sort_calls(a);
    return join_map_calls(j, a);
}

static int join_by_call(const void *a, const void *b)
{
    const struct advise_work *x = a, *y = b;

    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void join_order_work(const struct advise_join *j, struct advise *a)
{
    for (size_t i = 0; i < a->works.len; i++)
        a->works.at[i].call = advise_join_find(j, a->works.at[i].key);
    if (a->works.len)
        qsort(a->works.at, a->works.len, sizeof(a->works.at[0]), join_by_call);
    for (size_t i = 0; i < a->works.len; i++) {
        assert(a->works.at[i].call < a->calls.len); /* or one that stands in */
        struct advise_call *call = &a->calls.at[a->works.at[i].call];
        assert(!call->work_count || call->first_work + call->work_count == i);
        if (!call->work_count++)
            call->first_work = (uint32_t)i;
    }
}

/* ---- what threads do one behind the other */

static bool join_chain_threads(struct advise *a)
{
    HD_AUTOFREE uint32_t *last = hd_alloc_array(a->threads.len + 1, sizeof(*last));
    HD_AUTOFREE uint32_t *leader = hd_alloc_array(a->processes.len + 1, sizeof(*leader));
    HD_AUTOFREE uint32_t *ended = hd_alloc_array(a->processes.len + 1, sizeof(*ended));

    if (!last || !leader || !ended)
        return false;
    for (uint32_t i = 0; i < a->calls.len; i++) {
        struct advise_call *call = &a->calls.at[i];
        assert(call->thread < a->threads.len && call->process < a->processes.len);
        uint32_t before = last[call->thread];
        if (before)
            a->calls.at[before - 1].next = i;
        else
            before = ended[call->process];
        call->before = before ? before - 1 : ADVISE_NONE;
        last[call->thread] = i + 1;
        if (call->kind == ADVISE_CALL_NONE)
            continue;
        if (!leader[call->process])
            leader[call->process] = call->thread + 1;
        if (leader[call->process] == call->thread + 1)
            ended[call->process] = i + 1;
    }
    return true;
}

bool advise_join_work(struct advise_join *j, struct advise *a)
{
    if (!join_map_calls(j, a) || !join_find_calls(j, a))
        return false;
    join_order_work(j, a);
    return join_chain_threads(a);
}

/* ---- waits */

enum { WAITED_LOOK_MAX = 256 };

/* Of the last work that the process had submitted, that which ended last before the call did;
 * `submitted` is how much all processes had. */
static uint32_t join_waited_for(const struct advise *a, const struct advise_call *call,
                                uint32_t submitted)
{
    uint32_t best = ADVISE_NONE;
    uint32_t least = submitted - HD_MIN(submitted, (uint32_t)WAITED_LOOK_MAX);

    assert(submitted <= a->works.len);
    for (uint32_t i = submitted; i-- > least;) {
        const struct advise_work *work = &a->works.at[i];
        if (a->calls.at[work->call].process == call->process && work->end_ns <= call->end_ns &&
            (best == ADVISE_NONE || work->end_ns > a->works.at[best].end_ns))
            best = i;
    }
    return best;
}

static void join_wait_for_work(const struct advise *a, struct advise_call *call, uint32_t work)
{
    assert(work == ADVISE_NONE || work < a->works.len);
    if (work == ADVISE_NONE || a->works.at[work].end_ns <= call->start_ns)
        return;
    call->wait = ADVISE_WAIT_WORK;
    call->wait_work = work;
}

void advise_find_waits(struct advise *a)
{
    uint32_t submitted = 0;

    for (uint32_t i = 0; i < a->calls.len; i++) {
        struct advise_call *call = &a->calls.at[i];
        submitted += call->work_count;
        if (call->wait != ADVISE_WAIT_NOTHING)
            continue;
        if (call->kind == ADVISE_CALL_SYNC || call->kind == ADVISE_CALL_ALLOC)
            join_wait_for_work(a, call, join_waited_for(a, call, submitted));
        else if ((call->kind == ADVISE_CALL_COPY || call->kind == ADVISE_CALL_FILL) &&
                 call->work_count &&
                 a->works.at[call->first_work + call->work_count - 1].end_ns <= call->end_ns)
            join_wait_for_work(a, call, call->first_work + call->work_count - 1);
    }
    assert(submitted == a->works.len); /* each has a call */
}

/* ---- compilation */

enum { COMPILE_LOOK_MAX = 4096 };

/* The last call that began before it is found by halving; it is that of another thread where
 * threads are mixed, so a few more are looked at. */
void advise_add_compile(struct advise *a, uint64_t thread, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = a->calls.len;

    assert(start_ns <= end_ns);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (a->calls.at[middle].start_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, looked = 0; i-- > 0 && looked < COMPILE_LOOK_MAX; looked++) {
        struct advise_call *call = &a->calls.at[i];
        if (a->threads.at[call->thread] != thread)
            continue;
        if (end_ns <= call->end_ns)
            call->compile_ns =
                HD_MIN(call->compile_ns + end_ns - start_ns, call->end_ns - call->start_ns);
        return;
    }
}
