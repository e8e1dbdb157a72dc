/* See advise.h: rules about what the device does. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/mem.h"

#define SUBMIT_NS INT64_C(2000) /* what a call that does not wait takes */
/* Bytes in a nanosecond that no host thread reaches when it reads and writes memory. */
#define HOST_RATE 10.0
enum {
    ROUNDS_MIN = 3,
    TRIPS_MIN = 2,
    TRIP_B = 4096,
};

static void device_drop_wait(struct advise *a, uint32_t call)
{
    struct advise_plan_call *plan = &a->trial.calls[call];

    plan->wait = ADVISE_WAIT_NOTHING;
    plan->tail_ns = 0;
    plan->own_ns = HD_MIN(plan->own_ns, SUBMIT_NS);
}

static int64_t device_time_of(const struct advise_work *work)
{
    return work->end_ns - work->start_ns;
}

static bool device_copies(const struct advise_work *work, unsigned copy_kind)
{
    return work->kind == ADVISE_COPY && work->copy_kind == copy_kind;
}

static bool device_crosses(const struct advise_work *work)
{
    return device_copies(work, ADVISE_TO_DEVICE) || device_copies(work, ADVISE_TO_HOST);
}

static bool device_is_pageable(const struct advise_work *work)
{
    return (device_copies(work, ADVISE_TO_DEVICE) && work->source == ADVISE_MEMORY_PAGEABLE) ||
           (device_copies(work, ADVISE_TO_HOST) && work->target == ADVISE_MEMORY_PAGEABLE);
}

static uint32_t device_sms_of(const struct advise *a, const struct advise_work *work)
{
    return work->device < a->sms.len ? a->sms.at[work->device] : 0;
}

/* ---- serial-streams */

static bool device_by_null_stream(const struct advise *a, uint32_t index)
{
    uint32_t other = a->base.works[index].after[0];

    return other != ADVISE_NONE && (a->streams.at[a->works.at[index].stream].is_null ||
                                    a->streams.at[a->works.at[other].stream].is_null);
}

/* The stream of the last work that was submitted before the call, of the first behind it. */
static bool device_parts_streams(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index], *next = advise_next(a, call);
    const struct advise_call *before =
        call->before == ADVISE_NONE ? NULL : &a->calls.at[call->before];

    return call->kind == ADVISE_CALL_SYNC && a->base.calls[index].wait != ADVISE_WAIT_NOTHING &&
           before && before->work_count && next && next->work_count &&
           a->works.at[before->first_work].stream != a->works.at[next->first_work].stream;
}

void advise_rule_serial_streams(struct advise *a, const struct advise_rule *rule)
{
    uint64_t by_stream = 0, by_host = 0, busy = 0;

    advise_trial_begin(a);
    for (size_t i = 0; i < a->streams.len; i++)
        busy += a->streams.at[i].count != 0;
    for (uint32_t i = 0; i < a->works.len; i++)
        if (device_by_null_stream(a, i)) {
            by_stream++;
            a->trial.works[i].after[0] = ADVISE_NONE;
        }
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (device_parts_streams(a, i)) {
            by_host++;
            device_drop_wait(a, i);
        }
    struct advise_finding *f =
        busy < 2 || by_stream + by_host < ROUNDS_MIN
            ? NULL
            : advise_find(a, rule, advise_trial_gain(a), by_stream + by_host);
    if (!f)
        return;
    advise_say(a, f, "%llu streams have work", (unsigned long long)busy);
    if (by_stream)
        advise_say(a, f,
                   "%llu times work began when work of the default stream, or before it, ended",
                   (unsigned long long)by_stream);
    if (by_host)
        advise_say(a, f, "%llu times the host waited before it gave work to another stream",
                   (unsigned long long)by_host);
    for (uint32_t i = 0; i < a->works.len && f->examples.len < 4; i++)
        if (device_by_null_stream(a, i)) {
            advise_example_work(a, f, a->base.works[i].after[0]);
            advise_example_work(a, f, i);
        }
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (device_parts_streams(a, i))
            advise_example_call(a, f, i);
}

/* ---- no-overlap: as with two buffers and a stream for each direction */

struct round {
    uint32_t to_device, kernel; /* the last of each; ADVISE_NONE */
    uint32_t ended[2];          /* the last kernels of the two rounds before */
    int64_t times_ns[3];        /* of this round: to the device, kernels, to the host */
    int64_t hidden_ns;          /* of all rounds: what could lie beside the longest of these */
    uint64_t rounds;
};

/* A round begins with a copy to the device behind a kernel. */
static void device_end_round(struct round *r)
{
    const int64_t *t = r->times_ns;

    if (t[0] && t[1]) {
        r->rounds++;
        r->hidden_ns += t[0] + t[1] + t[2] - HD_MAX(t[0], HD_MAX(t[1], t[2]));
    }
    r->times_ns[0] = r->times_ns[1] = r->times_ns[2] = 0;
}

/* The last end of what a process has submitted, and the last one of another stream than that. */
struct pending {
    uint32_t stream;
    int64_t end_ns, other_ns;
};

static void device_submit(struct pending *p, uint32_t stream, int64_t end_ns)
{
    if (end_ns > p->end_ns && stream != p->stream) {
        p->other_ns = p->end_ns;
        p->stream = stream;
        p->end_ns = end_ns;
    } else if (stream == p->stream) {
        p->end_ns = HD_MAX(p->end_ns, end_ns);
    } else {
        p->other_ns = HD_MAX(p->other_ns, end_ns);
    }
}

/* Could this copy lie beside other work, as the program made it? It is asynchronous, of pinned
 * memory, and another stream had work when it was submitted. */
static bool device_is_free_to_overlap(const struct advise_call *call,
                                      const struct advise_work *work, const struct pending *p)
{
    int64_t busy_ns = p->stream == work->stream ? p->other_ns : p->end_ns;

    return call->kind == ADVISE_CALL_COPY && call->is_async && !device_is_pageable(work) &&
           busy_ns > call->start_ns;
}

/* Processes half of whose copies are: what hinders these is the device. */
static void device_find_free_processes(const struct advise *a, struct pending *pending, bool *out)
{
    HD_AUTOFREE uint64_t *copied = hd_alloc_array(a->processes.len + 1, sizeof(*copied));
    HD_AUTOFREE uint64_t *is_free = hd_alloc_array(a->processes.len + 1, sizeof(*is_free));

    for (size_t i = 0; i < a->processes.len; i++)
        pending[i] = (struct pending){ADVISE_NONE, INT64_MIN, INT64_MIN};
    for (uint32_t i = 0; copied && is_free && i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        const struct advise_call *call = &a->calls.at[work->call];
        if (device_crosses(work)) {
            copied[call->process]++;
            is_free[call->process] +=
                device_is_free_to_overlap(call, work, &pending[call->process]);
        }
        device_submit(&pending[call->process], work->stream, work->end_ns);
    }
    for (size_t i = 0; copied && is_free && i < a->processes.len; i++)
        out[i] = copied[i] && is_free[i] * 2 >= copied[i];
}

static void device_overlap_work(struct advise *a, struct round *rounds, uint32_t index)
{
    const struct advise_work *work = &a->works.at[index];
    struct advise_plan_work *plan = &a->trial.works[index];
    struct round *r = &rounds[work->stream];
    uint32_t n = (uint32_t)a->streams.len;

    assert(work->stream < n && plan->stream == work->stream);
    plan->after[0] = plan->after[1] = ADVISE_NONE;
    if (work->kind == ADVISE_KERNEL) {
        plan->after[0] = r->to_device;
        r->kernel = index;
        r->times_ns[1] += device_time_of(work);
    } else if (device_copies(work, ADVISE_TO_DEVICE)) {
        if (r->kernel != ADVISE_NONE && r->kernel != r->ended[0]) {
            r->ended[1] = r->ended[0];
            r->ended[0] = r->kernel;
            device_end_round(r);
        }
        plan->stream += n;
        plan->after[0] = r->ended[1];
        r->to_device = index;
        r->times_ns[0] += device_time_of(work);
    } else if (device_copies(work, ADVISE_TO_HOST)) {
        plan->stream += 2 * n;
        plan->after[0] = r->kernel;
        r->times_ns[2] += device_time_of(work);
    }
}

static bool device_copies_across(const struct advise *a, const struct advise_call *call)
{
    return call->kind == ADVISE_CALL_COPY && call->work_count &&
           device_crosses(&a->works.at[call->first_work]);
}

/* Waits for copies, and beside them, go, but for the last of each thread. */
static void device_overlap_waits(struct advise *a, const bool *is_free)
{
    HD_AUTOFREE uint32_t *last = hd_alloc_array(a->threads.len + 1, sizeof(*last));

    a->out_of_memory |= !last;
    for (uint32_t i = 0; last && i < a->calls.len; i++) {
        const struct advise_call *call = &a->calls.at[i], *next = advise_next(a, call);
        bool is_beside =
            (call->before != ADVISE_NONE && device_copies_across(a, &a->calls.at[call->before])) ||
            (next && device_copies_across(a, next));
        if (is_free[call->process] || a->base.calls[i].wait == ADVISE_WAIT_NOTHING ||
            call->kind == ADVISE_CALL_ALLOC || (!device_copies_across(a, call) && !is_beside))
            continue;
        if (last[call->thread])
            device_drop_wait(a, last[call->thread] - 1);
        last[call->thread] = i + 1;
    }
}

static void device_report_rounds(struct advise *a, struct advise_finding *f)
{
    int64_t times[3] = {0};
    bool began = false;

    for (uint32_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        began |= device_copies(work, ADVISE_TO_DEVICE);
        times[0] += device_copies(work, ADVISE_TO_DEVICE) ? device_time_of(work) : 0;
        times[1] += work->kind == ADVISE_KERNEL ? device_time_of(work) : 0;
        times[2] += device_copies(work, ADVISE_TO_HOST) ? device_time_of(work) : 0;
        if (began && work->kind != ADVISE_FILL)
            advise_example_work(a, f, i);
    }
    advise_say(a, f, "%llu rounds; copies to the device take %s, kernels %s, copies back %s",
               (unsigned long long)f->count, advise_time(times[0]), advise_time(times[1]),
               advise_time(times[2]));
}

void advise_rule_overlap(struct advise *a, const struct advise_rule *rule)
{
    HD_AUTOFREE struct round *rounds = hd_alloc_array(a->streams.len + 1, sizeof(*rounds));
    HD_AUTOFREE struct pending *pending = hd_alloc_array(a->processes.len + 1, sizeof(*pending));
    HD_AUTOFREE bool *is_free = hd_alloc_array(a->processes.len + 1, sizeof(*is_free));
    int64_t hidden_ns = 0;
    uint64_t count = 0;

    a->out_of_memory |= !rounds || !pending || !is_free;
    if (!rounds || !pending || !is_free)
        return;
    device_find_free_processes(a, pending, is_free);
    for (size_t i = 0; i < a->streams.len; i++)
        rounds[i] = (struct round){
            .to_device = ADVISE_NONE, .kernel = ADVISE_NONE, .ended = {ADVISE_NONE, ADVISE_NONE}};
    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->works.len; i++)
        if (!is_free[a->calls.at[a->works.at[i].call].process])
            device_overlap_work(a, rounds, i);
    device_overlap_waits(a, is_free);
    for (size_t i = 0; i < a->streams.len; i++) {
        device_end_round(&rounds[i]);
        count += rounds[i].rounds;
        hidden_ns += rounds[i].hidden_ns;
    }
    int64_t gain_ns = advise_trial_gain(a);
    struct advise_finding *f =
        count < ROUNDS_MIN ? NULL : advise_find(a, rule, HD_MIN(hidden_ns, gain_ns), count);
    if (f)
        device_report_rounds(a, f);
}

/* ---- pageable-copies */

/* Bytes in a nanosecond of all copies from or to pinned memory in that direction; 0: none. */
static double device_pinned_rate(const struct advise *a, unsigned copy_kind)
{
    double bytes = 0, time = 0;

    for (size_t i = 0; i < a->works.len; i++)
        if (device_copies(&a->works.at[i], copy_kind) && !device_is_pageable(&a->works.at[i])) {
            bytes += (double)a->works.at[i].bytes;
            time += (double)device_time_of(&a->works.at[i]);
        }
    return time > 0 ? bytes / time : 0;
}

static bool device_pretends(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index];

    return call->kind == ADVISE_CALL_COPY && call->is_async && call->work_count == 1 &&
           device_is_pageable(&a->works.at[call->first_work]);
}

void advise_rule_pageable(struct advise *a, const struct advise_rule *rule)
{
    double rates[2] = {device_pinned_rate(a, ADVISE_TO_DEVICE),
                       device_pinned_rate(a, ADVISE_TO_HOST)};
    uint64_t count = 0;
    int64_t calls_ns = 0;
    double bytes = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->calls.len; i++) {
        if (!device_pretends(a, i))
            continue;
        count++;
        calls_ns += a->calls.at[i].end_ns - a->calls.at[i].start_ns;
        bytes += (double)a->works.at[a->calls.at[i].first_work].bytes;
        uint32_t index = a->calls.at[i].first_work;
        const struct advise_work *work = &a->works.at[index];
        struct advise_plan_work *plan = &a->trial.works[index];
        double rate = rates[work->copy_kind == ADVISE_TO_HOST];
        device_drop_wait(a, i);
        plan->launch_ns = HD_MIN(plan->launch_ns, SUBMIT_NS);
        if (rate > 0)
            plan->time_ns = HD_MIN(plan->time_ns, (int64_t)((double)work->bytes / rate));
    }
    struct advise_finding *f = count ? advise_find(a, rule, advise_trial_gain(a), count) : NULL;
    if (!f)
        return;
    advise_say(a, f, "%llu copies of %s in all; their calls took %s", (unsigned long long)count,
               advise_bytes(bytes), advise_time(calls_ns));
    for (uint32_t i = 0; i < a->calls.len; i++)
        if (device_pretends(a, i)) {
            advise_example_call(a, f, i);
            advise_example_work(a, f, a->calls.at[i].first_work);
        }
}

/* ---- round-trips */

/* The copy back to the device that follows this one to the host at once; ADVISE_NONE. */
static uint32_t device_comes_back(const struct advise *a, uint32_t index)
{
    const struct advise_work *out = &a->works.at[index];
    const struct advise_call *call = &a->calls.at[out->call], *next;

    if (!device_copies(out, ADVISE_TO_HOST) || out->bytes < TRIP_B)
        return ADVISE_NONE;
    for (next = advise_next(a, call); next && next->kind == ADVISE_CALL_SYNC;)
        next = advise_next(a, next);
    if (!next || next->kind != ADVISE_CALL_COPY || next->work_count != 1)
        return ADVISE_NONE;
    const struct advise_work *in = &a->works.at[next->first_work];
    int64_t host_ns = next->start_ns - HD_MAX(call->end_ns, out->end_ns);
    if (!device_copies(in, ADVISE_TO_DEVICE) || in->bytes != out->bytes ||
        (double)host_ns > (double)out->bytes / HOST_RATE)
        return ADVISE_NONE;
    return next->first_work;
}

static void device_leave_out(struct advise *a, uint32_t work)
{
    struct advise_plan_work *plan = &a->trial.works[work];

    assert(a->works.at[work].call < a->calls.len);
    device_drop_wait(a, a->works.at[work].call);
    a->trial.calls[a->works.at[work].call].own_ns = 0;
    plan->time_ns = plan->queue_ns = plan->extra_ns = 0;
}

void advise_rule_round_trips(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0;
    int64_t time_ns = 0;
    double bytes = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->works.len; i++) {
        uint32_t back = device_comes_back(a, i);
        if (back == ADVISE_NONE)
            continue;
        count++;
        bytes += (double)a->works.at[i].bytes;
        time_ns += device_time_of(&a->works.at[i]) + device_time_of(&a->works.at[back]);
        device_leave_out(a, i);
        device_leave_out(a, back);
    }
    struct advise_finding *f =
        count < TRIPS_MIN ? NULL : advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu times %s went to the host and back: %s", (unsigned long long)count,
               advise_bytes(bytes / (double)count), advise_time(time_ns));
    for (uint32_t i = 0; i < a->works.len; i++) {
        uint32_t back = device_comes_back(a, i);
        if (back != ADVISE_NONE) {
            advise_example_work(a, f, i);
            advise_example_work(a, f, back);
        }
    }
}

/* ---- copy-bound */

void advise_rule_copy_bound(struct advise *a, const struct advise_rule *rule)
{
    int64_t copies_ns = 0, kernels_ns = 0;
    double bytes = 0;
    uint64_t count = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        kernels_ns += work->kind == ADVISE_KERNEL ? device_time_of(work) : 0;
        if (!device_crosses(work))
            continue;
        count++;
        copies_ns += device_time_of(work);
        bytes += (double)work->bytes;
        a->trial.works[i].time_ns /= 2;
    }
    if (copies_ns * 2 < a->steady_ns || copies_ns <= kernels_ns)
        return;
    struct advise_finding *f = advise_find(a, rule, advise_trial_gain(a), count);
    if (!f)
        return;
    advise_say(a, f, "%llu copies move %s in %s (%.1f GB/s); kernels take %s",
               (unsigned long long)count, advise_bytes(bytes), advise_time(copies_ns),
               bytes / (double)copies_ns, advise_time(kernels_ns));
    for (uint32_t i = 0; i < a->works.len; i++)
        if (device_crosses(&a->works.at[i]))
            advise_example_work(a, f, i);
}

/* ---- small-grid, tail: one finding for each kernel */

/* What part of the device's time a kernel of that grid uses; 1: nothing to say. */
typedef double grid_function(const struct advise *a, const struct advise_work *work, double fits);

static double device_small_share(const struct advise *a, const struct advise_work *work,
                                 double fits)
{
    (void)a;
    (void)fits;
    uint32_t sms = device_sms_of(a, work);
    return sms && work->blocks < sms ? work->blocks / sms : 1;
}

/* Of the waves that the grid makes, `fits` blocks each, the part that is full. */
static double device_tail_share(const struct advise *a, const struct advise_work *work, double fits)
{
    (void)a;
    double waves = fits > 0 ? work->blocks / fits : 1;

    return waves > 1 && waves / ceil(waves) <= 0.8 ? waves / ceil(waves) : 1;
}

/* Blocks of a kernel that are on the device at the same time: as many as its threads leave room
 * for; on Heddle's own devices, one on each. */
static double device_blocks_at_once(const struct advise *a, const struct advise_work *work)
{
    double warps = HD_MAX(1, (work->threads + 31) / 32);

    if (!a->warps_per_sm)
        return device_sms_of(a, work);
    double fit = floor((double)a->warps_per_sm / warps);
    if (a->blocks_per_sm > 0)
        fit = HD_MIN(fit, (double)a->blocks_per_sm);
    return HD_MAX(1.0, fit) * device_sms_of(a, work);
}

static double device_share_of(const struct advise *a, grid_function *share, uint32_t index)
{
    const struct advise_work *work = &a->works.at[index];

    return work->kind != ADVISE_KERNEL || !device_sms_of(a, work)
               ? 1
               : share(a, work, device_blocks_at_once(a, work));
}

static void device_report_grid(struct advise *a, struct advise_finding *f, grid_function *share,
                               uint32_t name, int64_t time_ns)
{
    assert(name < a->names.len && f->count);
    f->kernel = a->names.at[name];
    for (uint32_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        if (work->kind != ADVISE_KERNEL || work->name != name || device_share_of(a, share, i) >= 1)
            continue;
        if (!f->examples.len)
            advise_say(a, f, "%.0f blocks of %u threads on %u multiprocessors (%.0f blocks fit)",
                       work->blocks, work->threads, device_sms_of(a, work),
                       device_blocks_at_once(a, work));
        advise_example_work(a, f, i);
    }
    advise_say(a, f, "%llu launches, %s in all", (unsigned long long)f->count,
               advise_time(time_ns));
}

static void device_find_grid(struct advise *a, const struct advise_rule *rule, grid_function *share,
                             uint32_t name, int64_t time_ns)
{
    uint64_t count = 0;

    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        double part =
            work->kind == ADVISE_KERNEL && work->name == name ? device_share_of(a, share, i) : 1;
        if (part >= 1)
            continue;
        assert(part > 0);
        count++;
        a->trial.works[i].time_ns = (int64_t)((double)device_time_of(work) * part);
        a->trial.works[i].demand = (float)HD_MIN(1.0, (double)a->trial.works[i].demand / part);
    }
    struct advise_finding *f = advise_find(a, rule, advise_trial_gain(a), count);
    if (f)
        device_report_grid(a, f, share, name, time_ns);
}

static void device_find_grids(struct advise *a, const struct advise_rule *rule,
                              grid_function *share)
{
    HD_AUTOFREE int64_t *times_ns = hd_alloc_array(a->names.len + 1, sizeof(*times_ns));

    for (uint32_t i = 0; times_ns && i < a->works.len; i++)
        if (device_share_of(a, share, i) < 1)
            times_ns[a->works.at[i].name] += device_time_of(&a->works.at[i]);
    for (uint32_t i = 0; times_ns && i < a->names.len; i++)
        if (advise_is_worth(a, times_ns[i]))
            device_find_grid(a, rule, share, i, times_ns[i]);
    a->out_of_memory |= !times_ns;
}

void advise_rule_small_grid(struct advise *a, const struct advise_rule *rule)
{
    device_find_grids(a, rule, device_small_share);
}

void advise_rule_tail(struct advise *a, const struct advise_rule *rule)
{
    device_find_grids(a, rule, device_tail_share);
}

/* ---- migrations */

static bool device_migrates(const struct advise_work *work)
{
    return work->kind == ADVISE_COPY && work->copy_kind >= ADVISE_MIGRATION_FIRST &&
           work->copy_kind <= ADVISE_MIGRATION_LAST;
}

struct stretch {
    int64_t start_ns, end_ns;
};

static int device_by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* When something migrated: stretches that do not touch, in order; their number. */
static size_t device_join_stretches(const struct advise *a, struct stretch *out)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < a->works.len; i++)
        if (device_migrates(&a->works.at[i]))
            out[n++] = (struct stretch){a->works.at[i].start_ns, a->works.at[i].end_ns};
    if (n)
        qsort(out, n, sizeof(*out), device_by_start);
    for (size_t i = 0; i < n; i++) {
        if (kept && out[i].start_ns <= out[kept - 1].end_ns)
            out[kept - 1].end_ns = HD_MAX(out[kept - 1].end_ns, out[i].end_ns);
        else
            out[kept++] = out[i];
    }
    assert(kept <= n);
    return kept;
}

static int64_t device_time_within(const struct advise_work *work, const struct stretch *at,
                                  size_t n)
{
    int64_t sum = 0;
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (at[middle].end_ns <= work->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && at[low].start_ns < work->end_ns; low++)
        sum += HD_MIN(work->end_ns, at[low].end_ns) - HD_MAX(work->start_ns, at[low].start_ns);
    return sum;
}

/* The time of migrations is taken from the kernels that ran meanwhile. */
static int64_t device_free_kernels(struct advise *a)
{
    HD_AUTOFREE struct stretch *stretches = hd_alloc_array(a->works.len + 1, sizeof(*stretches));
    size_t n = stretches ? device_join_stretches(a, stretches) : 0;
    int64_t freed = 0;

    a->out_of_memory |= !stretches;
    for (size_t i = 0; n && i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        int64_t both = work->kind == ADVISE_KERNEL ? device_time_within(work, stretches, n) : 0;
        assert(both >= 0 && both <= a->trial.works[i].time_ns);
        a->trial.works[i].time_ns -= both;
        freed += both;
    }
    return freed;
}

void advise_rule_migrations(struct advise *a, const struct advise_rule *rule)
{
    uint64_t count = 0;
    int64_t freed_ns;
    double bytes = 0;

    advise_trial_begin(a);
    freed_ns = device_free_kernels(a);
    for (uint32_t i = 0; i < a->works.len; i++) {
        if (!device_migrates(&a->works.at[i]))
            continue;
        count++;
        bytes += (double)a->works.at[i].bytes;
        a->trial.works[i].time_ns = 0;
    }
    struct advise_finding *f = freed_ns ? advise_find(a, rule, advise_trial_gain(a), count) : NULL;
    if (!f)
        return;
    advise_say(a, f, "%llu migrations of %s; kernels ran beside them for %s",
               (unsigned long long)count, advise_bytes(bytes), advise_time(freed_ns));
    for (uint32_t i = 0; i < a->works.len; i++)
        if (device_migrates(&a->works.at[i]))
            advise_example_work(a, f, i);
}
