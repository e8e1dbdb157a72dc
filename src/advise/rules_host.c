/* See advise.h: rules about what the host does. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/mem.h"

#define AT_ONCE_NS   INT64_C(5000)  /* so soon behind a wait nobody looked at a result */
#define LOOP_NS      INT64_C(50000) /* more between two launches is the host's own work */
#define HOST_WORK_NS INT64_C(20000)
enum {
    WAITS_MIN = 3,
    RUN_MIN = 8, /* launches, copies that follow each other */
    ALLOCS_MIN = 4,
    POLLS_MIN = 8,
    POLL_B = 4096,
    POLL_EVERY = 8,
    POLL_LAUNCHES = 4, /* a poll behind more kernels is seldom enough */
    TINY_B = 64 << 10,
    KERNELS_TOLD = 4,
    COMPILED_TOLD = 5,
};

static void host_drop_wait(struct advise *a, uint32_t call, int64_t own_ns)
{
    struct advise_plan_call *plan = &a->trial.calls[call];

    plan->wait = ADVISE_WAIT_NOTHING;
    plan->tail_ns = 0;
    plan->own_ns = HD_MIN(plan->own_ns, own_ns);
}

static bool host_waited(const struct advise *a, uint32_t call)
{
    return a->base.calls[call].wait != ADVISE_WAIT_NOTHING;
}

static int64_t host_gap_behind(const struct advise *a, const struct advise_call *call)
{
    const struct advise_call *next = advise_next(a, call);

    return next ? next->start_ns - call->end_ns : INT64_MAX;
}

static int64_t host_time_of(const struct advise_call *call)
{
    return call->end_ns - call->start_ns;
}

/* The stream of a call's first work; ADVISE_NONE: it has none. */
static uint32_t host_stream_of(const struct advise *a, const struct advise_call *call)
{
    return call->work_count ? a->works.at[call->first_work].stream : ADVISE_NONE;
}

/* ---- needless-sync */

/* The host went on with another stream: serial-streams tells of that. */
static bool host_changes_stream(const struct advise *a, const struct advise_call *sync)
{
    const struct advise_call *next = advise_next(a, sync);
    const struct advise_call *before =
        sync->before == ADVISE_NONE ? NULL : &a->calls.at[sync->before];
    uint32_t from = before ? host_stream_of(a, before) : ADVISE_NONE;
    uint32_t to = next ? host_stream_of(a, next) : ADVISE_NONE;

    return from != ADVISE_NONE && to != ADVISE_NONE && from != to;
}

static bool host_is_needless(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index], *next = advise_next(a, call);

    return call->kind == ADVISE_CALL_SYNC && host_waited(a, index) && next &&
           advise_submits(next) && host_gap_behind(a, call) <= AT_ONCE_NS &&
           !host_changes_stream(a, call);
}

void advise_rule_needless_sync(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0, launches = 0;
    int64_t waited_ns = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->calls.len; i++) {
        launches += advise_submits(&a->calls.at[i]);
        if (!host_is_needless(a, i))
            continue;
        count++;
        waited_ns += host_time_of(&a->calls.at[i]);
        host_drop_wait(a, i, 0);
    }
    struct advise_finding *f =
        count < WAITS_MIN ? NULL : advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu waits, %s in all, for %llu launches and copies",
               (unsigned long long)count, advise_time(waited_ns), (unsigned long long)launches);
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (host_is_needless(a, i)) {
            if (!f->examples.len)
                advise_say(a, f, "%s, and %s later %s", advise_call_name(a, &a->calls.at[i]),
                           advise_time(host_gap_behind(a, &a->calls.at[i])),
                           advise_call_name(a, advise_next(a, &a->calls.at[i])));
            advise_example_call(a, f, i);
        }
}

/* ---- launch-bound */

struct runs {
    uint64_t runs, launches, waits;
    uint64_t bound; /* launches that take the host longer than the device */
    uint32_t first; /* the call that begins the longest one; ADVISE_NONE */
    uint64_t longest;
};

/* What launches of one kernel in these runs take. */
struct run_kernel {
    uint64_t launches;
    int64_t host_ns, kernel_ns;
    uint32_t name;
};

static bool host_is_launch(const struct advise_call *call)
{
    return call->kind == ADVISE_CALL_LAUNCH && call->work_count == 1;
}

/* A wait that had nothing to wait for: the kernel had ended, as one that runs in its launch has. */
static bool host_is_idle_wait(const struct advise *a, uint32_t index)
{
    return a->calls.at[index].kind == ADVISE_CALL_SYNC && a->base.calls[index].is_idle;
}

/* The next call of the run of launches that this call is in, a launch or an idle wait that a launch
 * follows; ADVISE_NONE: the run ends here. */
static uint32_t host_next_of_run(const struct advise *a, uint32_t index)
{
    uint32_t next = a->calls.at[index].next;

    for (uint32_t i = index, then = next; then != ADVISE_NONE;
         i = then, then = a->calls.at[then].next) {
        if (host_gap_behind(a, &a->calls.at[i]) > LOOP_NS)
            return ADVISE_NONE;
        if (host_is_launch(&a->calls.at[then]))
            return next;
        if (!host_is_idle_wait(a, then))
            return ADVISE_NONE;
    }
    return ADVISE_NONE;
}

/* What the call takes the host, beside a kernel that runs in it. */
static int64_t host_time(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index];
    int64_t inside_ns = 0;

    if (call->work_count) {
        const struct advise_work *work = &a->works.at[call->first_work];
        inside_ns = HD_MIN(call->end_ns, work->end_ns) - HD_MAX(call->start_ns, work->start_ns);
    }
    return HD_MAX(INT64_C(0), a->base.calls[index].own_ns - HD_MAX(INT64_C(0), inside_ns));
}

/* From `first` on; adds to `kernels`, one for each name, unless that is NULL. */
static struct runs host_measure_run(const struct advise *a, uint32_t first,
                                    struct run_kernel *kernels)
{
    struct runs r = {.runs = 1, .first = first};
    int64_t since_ns = 0; /* host time since the launch before */

    assert(host_is_launch(&a->calls.at[first]));
    for (uint32_t i = first; i != ADVISE_NONE; i = host_next_of_run(a, i)) {
        const struct advise_call *call = &a->calls.at[i];
        int64_t host_ns = host_time(a, i) + (i == first ? 0 : a->base.calls[i].gap_ns);
        since_ns += host_ns;
        if (!host_is_launch(call)) {
            r.waits++;
            continue;
        }
        int64_t kernel_ns = a->base.works[call->first_work].time_ns;
        r.launches++;
        r.bound += since_ns > kernel_ns;
        if (kernels) {
            struct run_kernel *kernel = &kernels[a->works.at[call->first_work].name];
            kernel->launches++;
            kernel->host_ns += since_ns;
            kernel->kernel_ns += kernel_ns;
        }
        since_ns = 0;
    }
    return r;
}

static void host_join_run(struct advise *a, uint32_t first)
{
    int64_t launch_ns = a->base.works[a->calls.at[first].first_work].launch_ns;

    for (uint32_t i = first; (i = host_next_of_run(a, i)) != ADVISE_NONE;) {
        a->trial.calls[i].own_ns = a->trial.calls[i].gap_ns = 0;
        if (!host_is_launch(&a->calls.at[i])) {
            host_drop_wait(a, i, 0);
            continue;
        }
        struct advise_plan_work *work = &a->trial.works[a->calls.at[i].first_work];
        work->launch_ns = HD_MIN(work->launch_ns, launch_ns);
        work->extra_ns = 0;
    }
}

static bool host_begins_run(const struct advise *a, uint32_t index)
{
    uint32_t before = a->calls.at[index].before;

    if (!host_is_launch(&a->calls.at[index]))
        return false;
    while (before != ADVISE_NONE && host_is_idle_wait(a, before) &&
           a->calls.at[before].thread == a->calls.at[index].thread)
        before = a->calls.at[before].before;
    return before == ADVISE_NONE || a->calls.at[before].thread != a->calls.at[index].thread ||
           !host_is_launch(&a->calls.at[before]) || host_next_of_run(a, before) == ADVISE_NONE;
}

static void host_count_run(struct advise *a, uint32_t first, struct run_kernel *kernels,
                           struct runs *out)
{
    struct runs r = host_measure_run(a, first, NULL);

    /* Not by the sums: one kernel that the system took the processor from would hide thousands. */
    if (r.launches < RUN_MIN || 2 * r.bound <= r.launches)
        return;
    out->runs++;
    out->launches += r.launches;
    out->waits += r.waits;
    (void)host_measure_run(a, first, kernels);
    if (r.launches > out->longest) {
        out->longest = r.launches;
        out->first = first;
    }
    host_join_run(a, first);
}

static int host_by_launches(const void *a, const void *b)
{
    const struct run_kernel *x = a, *y = b;

    if (x->launches != y->launches)
        return x->launches > y->launches ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void host_say_launches(struct advise *a, struct advise_finding *f, const char *what,
                              const struct run_kernel *kernel)
{
    advise_say(a, f, "%s takes the host %s, and the device %s", what,
               advise_time(kernel->host_ns / (int64_t)kernel->launches),
               advise_time(kernel->kernel_ns / (int64_t)kernel->launches));
}

/* A sequence may be of several kernels: the finding is of one only if all its launches are. */
static void host_say_kernels(struct advise *a, struct advise_finding *f, struct run_kernel *kernels)
{
    size_t n = 0;

    for (uint32_t i = 0; i < a->names.len; i++)
        if (kernels[i].launches) {
            kernels[n] = kernels[i];
            kernels[n++].name = i;
        }
    assert(n); /* each sequence has launches */
    qsort(kernels, n, sizeof(*kernels), host_by_launches);
    if (n == 1) {
        f->kernel = a->names.at[kernels[0].name];
        host_say_launches(a, f, "each", &kernels[0]);
        return;
    }
    for (size_t i = 0; i < n && i < KERNELS_TOLD; i++) {
        char what[512];
        (void)snprintf(what, sizeof(what), "%llu of them are of %.400s: each",
                       (unsigned long long)kernels[i].launches, a->names.at[kernels[i].name]);
        host_say_launches(a, f, what, &kernels[i]);
    }
    if (n > KERNELS_TOLD)
        advise_say(a, f, "the others are of %zu more kernels", n - KERNELS_TOLD);
}

void advise_rule_launch_bound(struct advise *a, const struct advise_rule *rule)
{
    HD_AUTOFREE struct run_kernel *kernels = hd_alloc_array(a->names.len + 1, sizeof(*kernels));
    struct runs r = {.first = ADVISE_NONE};

    a->out_of_memory |= !kernels;
    advise_trial_begin(a);
    for (uint32_t i = 0; kernels && i < a->calls.len; i++)
        if (host_begins_run(a, i))
            host_count_run(a, i, kernels, &r);
    struct advise_finding *f =
        r.runs ? advise_find(a, rule, advise_trial_gain(a), r.launches) : NULL;
    if (!f)
        return;
    advise_say(a, f, "%llu launches, in %llu sequence%s of up to %llu with no other work between",
               (unsigned long long)r.launches, (unsigned long long)r.runs, r.runs == 1 ? "" : "s",
               (unsigned long long)r.longest);
    host_say_kernels(a, f, kernels);
    if (r.waits)
        advise_say(a, f, "and %llu waits between them, which had nothing to wait for",
                   (unsigned long long)r.waits);
    for (uint32_t i = r.first; i != ADVISE_NONE && f->examples.len < 4;
         i = host_next_of_run(a, i)) {
        advise_example_call(a, f, i);
        if (host_is_launch(&a->calls.at[i]))
            advise_example_work(a, f, a->calls.at[i].first_work);
    }
}

/* ---- alloc-in-loop */

/* Index of the first and the last call that submits something. */
static void host_find_busy(const struct advise *a, uint32_t *out_first, uint32_t *out_last)
{
    *out_first = ADVISE_NONE;
    *out_last = 0;
    for (uint32_t i = 0; i < a->calls.len; i++) {
        if (!advise_submits(&a->calls.at[i]))
            continue;
        if (*out_first == ADVISE_NONE)
            *out_first = i;
        *out_last = i;
    }
}

void advise_rule_alloc_in_loop(struct advise *a, const struct advise_rule *rule)
{
    uint32_t first, last;
    uint64_t count = 0;
    int64_t time_ns = 0;

    host_find_busy(a, &first, &last);
    advise_trial_begin(a);
    for (uint32_t i = first; i != ADVISE_NONE && i < last; i++) {
        if (a->calls.at[i].kind != ADVISE_CALL_ALLOC)
            continue;
        count++;
        time_ns += host_time_of(&a->calls.at[i]);
        host_drop_wait(a, i, 0);
    }
    struct advise_finding *f =
        count < ALLOCS_MIN ? NULL : advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu calls between the first launch and the last take %s",
               (unsigned long long)count, advise_time(time_ns));
    for (uint32_t i = first; i < last; i++)
        if (a->calls.at[i].kind == ADVISE_CALL_ALLOC) {
            if (f->examples.len < 2)
                advise_say(a, f, "%s: %s", advise_call_name(a, &a->calls.at[i]),
                           advise_time(host_time_of(&a->calls.at[i])));
            advise_example_call(a, f, i);
        }
}

/* ---- polling-copies */

static bool host_is_poll(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index];

    if (call->kind != ADVISE_CALL_COPY || call->is_async || call->work_count != 1)
        return false;
    const struct advise_work *copy = &a->works.at[call->first_work];
    return copy->kind == ADVISE_COPY && copy->copy_kind == ADVISE_TO_HOST &&
           copy->bytes <= POLL_B && host_waited(a, index);
}

void advise_rule_polling(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0, launched = 0;
    int64_t time_ns = 0, bytes = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->calls.len; i++) {
        launched += host_is_launch(&a->calls.at[i]);
        if (!host_is_poll(a, i))
            continue;
        bool often = launched && launched <= POLL_LAUNCHES;
        launched = 0;
        if (!often)
            continue;
        time_ns += host_time_of(&a->calls.at[i]);
        bytes += a->works.at[a->calls.at[i].first_work].bytes;
        if (++count % POLL_EVERY) {
            host_drop_wait(a, i, 0);
            a->trial.works[a->calls.at[i].first_work].time_ns = 0;
        }
    }
    struct advise_finding *f =
        count < POLLS_MIN ? NULL : advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu copies of %s each, behind kernels; the host waited %s for them",
               (unsigned long long)count, advise_bytes((double)bytes / (double)count),
               advise_time(time_ns));
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (host_is_poll(a, i)) {
            advise_example_call(a, f, i);
            advise_example_work(a, f, a->calls.at[i].first_work);
        }
}

/* ---- tiny-copies */

static bool host_is_tiny(const struct advise *a, const struct advise_call *call)
{
    return call->kind == ADVISE_CALL_COPY && call->work_count == 1 &&
           a->works.at[call->first_work].kind == ADVISE_COPY &&
           a->works.at[call->first_work].bytes <= TINY_B;
}

/* Does the thread's next call copy a little, too, in the same direction and stream? */
static bool host_copies_on(const struct advise *a, const struct advise_call *call)
{
    const struct advise_call *next = advise_next(a, call);

    if (!next || !host_is_tiny(a, next) || host_gap_behind(a, call) > LOOP_NS)
        return false;
    const struct advise_work *x = &a->works.at[call->first_work];
    const struct advise_work *y = &a->works.at[next->first_work];
    return x->copy_kind == y->copy_kind && x->stream == y->stream;
}

static bool host_begins_copies(const struct advise *a, const struct advise_call *call)
{
    const struct advise_call *before =
        call->before == ADVISE_NONE ? NULL : &a->calls.at[call->before];

    return host_is_tiny(a, call) && !(before && before->thread == call->thread &&
                                      host_is_tiny(a, before) && host_copies_on(a, before));
}

/* Bytes in a nanosecond: the best of the report's copies in each direction. */
static void host_best_rates(const struct advise *a, double out[UINT8_MAX + 1])
{
    for (size_t i = 0; i <= UINT8_MAX; i++)
        out[i] = 1e-3;
    for (size_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        double *best = &out[work->copy_kind];
        if (work->kind == ADVISE_COPY && work->end_ns > work->start_ns)
            *best = HD_MAX(*best, (double)work->bytes / (double)(work->end_ns - work->start_ns));
    }
}

static uint64_t host_run_length(const struct advise *a, uint32_t first)
{
    uint64_t n = 1;

    for (uint32_t i = first; host_copies_on(a, &a->calls.at[i]); i = a->calls.at[i].next)
        n++;
    return n;
}

/* All but the first become part of it: its call, and their bytes at the best rate. */
static void host_join_copies(struct advise *a, uint32_t first, double rate)
{
    for (uint32_t i = first; host_copies_on(a, &a->calls.at[i]);) {
        a->trial.calls[i].wait = ADVISE_WAIT_NOTHING;
        i = a->calls.at[i].next;
        assert(a->calls.at[i].work_count == 1 && rate > 0);
        struct advise_plan_work *work = &a->trial.works[a->calls.at[i].first_work];
        int64_t time = (int64_t)((double)a->works.at[a->calls.at[i].first_work].bytes / rate);
        a->trial.calls[i].own_ns = a->trial.calls[i].gap_ns = 0;
        work->time_ns = HD_MIN(work->time_ns, time);
        work->launch_ns = work->queue_ns = work->extra_ns = 0;
    }
}

void advise_rule_tiny_copies(struct advise *a, const struct advise_rule *rule)
{
    uint64_t runs = 0, copies = 0, longest = 0;
    uint32_t example = 0;
    double rates[UINT8_MAX + 1];

    host_best_rates(a, rates);
    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->calls.len; i++) {
        uint64_t n = host_begins_copies(a, &a->calls.at[i]) ? host_run_length(a, i) : 0;
        assert(n <= a->calls.len);
        if (n < RUN_MIN)
            continue;
        runs++;
        copies += n;
        host_join_copies(a, i, rates[a->works.at[a->calls.at[i].first_work].copy_kind]);
        if (n > longest) {
            longest = n;
            example = i;
        }
    }
    struct advise_finding *f = runs ? advise_find(a, rule, advise_trial_gain(a), copies) : NULL;
    if (!f)
        return;
    advise_say(a, f, "%llu copies in %llu sequence%s of up to %llu", (unsigned long long)copies,
               (unsigned long long)runs, runs == 1 ? "" : "s", (unsigned long long)longest);
    const struct advise_work *work = &a->works.at[a->calls.at[example].first_work];
    advise_say(a, f, "of %s, which takes %s, and its call %s", advise_bytes((double)work->bytes),
               advise_time(work->end_ns - work->start_ns),
               advise_time(host_time_of(&a->calls.at[example])));
    for (uint32_t i = example; i != ADVISE_NONE && f->examples.len < 4; i = a->calls.at[i].next) {
        advise_example_call(a, f, i);
        advise_example_work(a, f, a->calls.at[i].first_work);
    }
}

/* ---- host-gaps */

static bool host_has_gap(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index], *next = advise_next(a, call);

    return (call->kind == ADVISE_CALL_SYNC || call->kind == ADVISE_CALL_COPY) &&
           host_waited(a, index) && next && advise_submits(next) &&
           host_gap_behind(a, call) > HOST_WORK_NS;
}

void advise_rule_host_gaps(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0;
    int64_t gaps_ns = 0, waits_ns = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->calls.len; i++) {
        if (!host_has_gap(a, i))
            continue;
        count++;
        gaps_ns += host_gap_behind(a, &a->calls.at[i]);
        waits_ns += host_time_of(&a->calls.at[i]);
        a->trial.calls[i].waits_late = true;
    }
    struct advise_finding *f =
        count < WAITS_MIN ? NULL : advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu times the host waited, %s in all, and then worked alone, %s in all",
               (unsigned long long)count, advise_time(waits_ns), advise_time(gaps_ns));
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (host_has_gap(a, i))
            advise_example_call(a, f, i);
}

/* ---- repeated-jit: what was compiled is not in the steady time, so nothing is replayed */

void advise_rule_jit(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0;
    int64_t gain_ns = 0;

    for (size_t i = 0; i < a->compiled.len; i++) {
        count += a->compiled.at[i].again;
        gain_ns += a->compiled.at[i].again_ns;
    }
    struct advise_finding *f = count ? advise_find(a, rule, gain_ns, count) : NULL;
    for (size_t i = 0; f && i < a->compiled.len && i < COMPILED_TOLD; i++) {
        const struct advise_compiled *c = &a->compiled.at[i];
        struct advise_example example = {"CUPTI_ACTIVITY_KIND_OVERHEAD", c->rowid, c->start_ns,
                                         c->end_ns};
        advise_say(a, f, "%s: in %llu calls, %s in all, %s of it again", c->kernel,
                   (unsigned long long)c->calls, advise_time(c->time_ns), advise_time(c->again_ns));
        if (!hd_vec_push(&f->examples, example))
            a->out_of_memory = true;
    }
}
