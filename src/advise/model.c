/*
 * See advise.h: the replay. Threads make their calls one behind the other, with the host's own time
 * between them; work waits for its call, for the work before it in its stream, for work of other
 * streams where the trace shows that, and for room on its engine. docs/advise.md explains it.
 */
#include "advise/advise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    ENGINE_COMPUTE,
    ENGINE_TO_DEVICE,
    ENGINE_TO_HOST,
    ENGINE_OTHER,
    ENGINES, /* of a device */
    LOOK_MAX = 64,
};
#define SHORT_WAIT_NS INT64_C(1000)  /* what a wait takes whose work is done */
#define DEPENDENT_NS  INT64_C(20000) /* work that begins so soon behind other work waited for it */
/* What is taken where the trace has no example: from a call to its work, between two kernels. */
#define LAUNCH_NS INT64_C(5000)
#define QUEUE_NS  INT64_C(500)
/* Work that begins later behind that before it in its stream was late itself: its call was. */
#define QUEUE_MAX_NS INT64_C(1500)
#define FULL         1.001F /* of an engine, with what adding fractions loses */

struct slot {
    int64_t start_ns, end_ns;
    float demand;
};

/* What runs on an engine, by end. */
struct engine {
    HD_VEC(struct slot) slots;
};

struct replay {
    const struct advise *a;
    const struct advise_plan *plan;
    int64_t *call_end, *work_end, *stream_end, *process_end;
    int64_t *late; /* of threads: until when the next call waits */
    struct engine *engines;
    uint32_t stream_count;
    bool failed;
};

/* ---- engines */

/* Of those that end later than `ns`, the first. */
static size_t model_first_after(const struct engine *e, int64_t ns)
{
    size_t low = 0, high = e->slots.len;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (e->slots.at[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is there room for `demand` more at that moment? */
static bool model_has_room(const struct engine *e, size_t from, int64_t ns, float demand)
{
    float sum = demand;

    for (size_t i = from; sum <= FULL && i < e->slots.len && i < from + LOOK_MAX; i++)
        if (e->slots.at[i].start_ns <= ns && e->slots.at[i].end_ns > ns)
            sum += e->slots.at[i].demand;
    return sum <= FULL;
}

static bool model_fits(const struct engine *e, int64_t start_ns, int64_t time_ns, float demand)
{
    size_t from = model_first_after(e, start_ns);

    if (!model_has_room(e, from, start_ns, demand))
        return false;
    for (size_t i = from; i < e->slots.len && i < from + LOOK_MAX; i++)
        if (e->slots.at[i].start_ns > start_ns && e->slots.at[i].start_ns < start_ns + time_ns &&
            !model_has_room(e, from, e->slots.at[i].start_ns, demand))
            return false;
    return true;
}

/* The first moment from `ready_ns` on at which the engine has room. */
static int64_t model_place(const struct engine *e, int64_t ready_ns, int64_t time_ns, float demand)
{
    size_t from = model_first_after(e, ready_ns);

    if (model_fits(e, ready_ns, time_ns, demand))
        return ready_ns;
    for (size_t i = from; i < e->slots.len && i < from + LOOK_MAX; i++)
        if (model_fits(e, e->slots.at[i].end_ns, time_ns, demand))
            return e->slots.at[i].end_ns;
    return e->slots.len ? hd_vec_last(&e->slots).end_ns : ready_ns;
}

static bool model_occupy(struct engine *e, struct slot slot)
{
    assert(slot.end_ns > slot.start_ns);
    if (!hd_vec_push(&e->slots, slot))
        return false;
    size_t at = e->slots.len - 1;
    for (; at > 0 && e->slots.at[at - 1].end_ns > slot.end_ns; at--)
        e->slots.at[at] = e->slots.at[at - 1];
    e->slots.at[at] = slot;
    assert(!at || e->slots.at[at - 1].end_ns <= slot.end_ns);
    return true;
}

/* ---- the replay */

static void model_replay_fini(struct replay *r)
{
    for (uint32_t i = 0; r->engines && i < r->a->engine_count; i++)
        hd_vec_fini(&r->engines[i].slots);
    hd_free(r->engines);
    hd_free(r->call_end);
    hd_free(r->work_end);
    hd_free(r->stream_end);
    hd_free(r->process_end);
    hd_free(r->late);
}

static bool model_replay_init(struct replay *r, const struct advise *a,
                              const struct advise_plan *plan)
{
    *r = (struct replay){.a = a, .plan = plan, .stream_count = a->own_streams};
    r->call_end = hd_alloc_array(a->calls.len + 1, sizeof(int64_t));
    r->work_end = hd_alloc_array(a->works.len + 1, sizeof(int64_t));
    r->stream_end = hd_alloc_array(r->stream_count + 1, sizeof(int64_t));
    r->process_end = hd_alloc_array(a->processes.len + 1, sizeof(int64_t));
    r->late = hd_alloc_array(a->threads.len + 1, sizeof(int64_t));
    r->engines = hd_alloc_array(a->engine_count + 1, sizeof(struct engine));
    if (r->call_end && r->work_end && r->stream_end && r->process_end && r->late && r->engines)
        for (uint32_t i = 0; i <= r->stream_count; i++)
            r->stream_end[i] = INT64_MIN / 2;
    else
        r->failed = true;
    for (size_t i = 0; !r->failed && i <= a->processes.len; i++)
        r->process_end[i] = INT64_MIN / 2;
    for (size_t i = 0; !r->failed && i <= a->threads.len; i++)
        r->late[i] = INT64_MIN / 2;
    return !r->failed;
}

static int64_t model_ready_at(const struct replay *r, const struct advise_plan_work *work,
                              int64_t call_start_ns)
{
    int64_t ready =
        HD_MAX(call_start_ns + work->launch_ns, r->stream_end[work->stream] + work->queue_ns);

    for (size_t i = 0; i < HD_COUNT_OF(work->after); i++)
        if (work->after[i] != ADVISE_NONE)
            ready = HD_MAX(ready, r->work_end[work->after[i]]);
    return ready;
}

static void model_run_work(struct replay *r, uint32_t index, int64_t call_start_ns)
{
    const struct advise_plan_work *work = &r->plan->works[index];
    struct engine *engine = &r->engines[work->engine];
    uint32_t process = r->a->streams.at[r->a->works.at[index].stream].process;
    int64_t start =
        model_place(engine, model_ready_at(r, work, call_start_ns), work->time_ns, work->demand) +
        work->extra_ns;
    int64_t end = start + work->time_ns;

    assert(work->stream < r->stream_count && work->engine < r->a->engine_count);
    assert(work->time_ns >= 0); /* whatever a rule took from it */
    r->work_end[index] = end;
    r->stream_end[work->stream] = HD_MAX(r->stream_end[work->stream], end);
    r->process_end[process] = HD_MAX(r->process_end[process], end);
    if (end > start && !model_occupy(engine, (struct slot){start, end, work->demand}))
        r->failed = true;
}

static int64_t model_wait_end(const struct replay *r, uint32_t index)
{
    const struct advise_call *call = &r->a->calls.at[index];

    switch (r->plan->calls[index].wait) {
    case ADVISE_WAIT_WORK:
        return r->work_end[call->wait_work];
    case ADVISE_WAIT_STREAM:
        return r->stream_end[call->wait_stream];
    case ADVISE_WAIT_PROCESS:
        return r->process_end[call->process];
    default:
        return INT64_MIN / 2;
    }
}

static void model_run_call(struct replay *r, uint32_t index)
{
    const struct advise_call *call = &r->a->calls.at[index];
    const struct advise_plan_call *plan = &r->plan->calls[index];
    int64_t before = call->before == ADVISE_NONE ? 0 : r->call_end[call->before];
    int64_t start = HD_MAX(before + plan->gap_ns, r->late[call->thread]);

    assert(call->before == ADVISE_NONE || call->before < index);
    assert(!call->work_count || call->first_work + call->work_count <= r->a->works.len);
    for (uint32_t i = 0; i < call->work_count; i++)
        model_run_work(r, call->first_work + i, start);
    int64_t done = model_wait_end(r, index) + plan->tail_ns;
    r->late[call->thread] = plan->waits_late ? done : INT64_MIN / 2;
    r->call_end[index] = start + plan->own_ns;
    if (!plan->waits_late)
        r->call_end[index] = HD_MAX(r->call_end[index], done);
}

/* The end of all of it, less the start of the first call. */
static int64_t model_replay_span(struct replay *r)
{
    const struct advise *a = r->a;
    int64_t end = INT64_MIN, start;

    for (uint32_t i = 0; i < a->calls.len && !r->failed; i++)
        model_run_call(r, i);
    for (size_t i = 0; i < a->calls.len; i++)
        end = HD_MAX(end, r->call_end[i]);
    for (size_t i = 0; i < a->works.len; i++)
        end = HD_MAX(end, r->work_end[i]);
    start = a->calls.len ? a->calls.at[0].start_ns : 0;
    return a->calls.len ? end - start : 0;
}

static int64_t model_span_of(struct advise *a, const struct advise_plan *plan)
{
    struct replay r;
    int64_t span = 0;

    if (model_replay_init(&r, a, plan))
        span = model_replay_span(&r);
    a->out_of_memory |= r.failed;
    model_replay_fini(&r);
    return span;
}

/* ---- the plan of the trace */

static uint32_t model_engine_of(const struct advise_work *work)
{
    unsigned kind = work->kind == ADVISE_KERNEL           ? ENGINE_COMPUTE
                    : work->kind == ADVISE_FILL           ? ENGINE_OTHER
                    : work->copy_kind == ADVISE_TO_DEVICE ? ENGINE_TO_DEVICE
                    : work->copy_kind == ADVISE_TO_HOST   ? ENGINE_TO_HOST
                                                          : ENGINE_OTHER;
    return work->device * ENGINES + kind;
}

/* A kernel of fewer blocks than there are multiprocessors leaves room for others. */
static float model_demand_of(const struct advise *a, const struct advise_work *work)
{
    uint32_t sms = work->device < a->sms.len ? a->sms.at[work->device] : 0;

    return work->kind == ADVISE_KERNEL && sms ? (float)HD_MIN(1.0, work->blocks / sms) : 1.0F;
}

struct order {
    int64_t ns;
    uint32_t work;
};

static int model_by_time(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

static struct order *model_order_works(const struct advise *a, bool by_end)
{
    struct order *order = hd_alloc_array(a->works.len + 1, sizeof(*order));

    for (uint32_t i = 0; order && i < a->works.len; i++)
        order[i] = (struct order){by_end ? a->works.at[i].end_ns : a->works.at[i].start_ns, i};
    if (order && a->works.len)
        qsort(order, a->works.len, sizeof(*order), model_by_time);
    return order;
}

struct running {
    HD_VEC(uint32_t) works;
    float usage;
};

static void model_retire(struct running *running, const struct advise *a, int64_t now)
{
    size_t kept = 0;

    running->usage = 0;
    for (size_t i = 0; i < running->works.len; i++) {
        uint32_t work = running->works.at[i];
        if (a->works.at[work].end_ns <= now)
            continue;
        running->works.at[kept++] = work;
        running->usage += model_demand_of(a, &a->works.at[work]);
    }
    running->works.len = kept;
}

/* Work that ran beside other work, more than fits, had the smaller share of its engine: what it
 * took is its demand by the most that was asked for while it ran. */
static bool model_share_engines(struct advise *a)
{
    struct running *engines = hd_alloc_array(a->engine_count + 1, sizeof(*engines));
    HD_AUTOFREE float *most = hd_alloc_array(a->works.len + 1, sizeof(*most));
    HD_AUTOFREE struct order *order = model_order_works(a, false);
    bool good = engines && most && order;

    for (size_t i = 0; good && i < a->works.len; i++) {
        uint32_t work = order[i].work;
        struct running *running = &engines[model_engine_of(&a->works.at[work])];
        model_retire(running, a, order[i].ns);
        running->usage += model_demand_of(a, &a->works.at[work]);
        good = hd_vec_push(&running->works, work);
        for (size_t n = 0; good && n < running->works.len; n++)
            most[running->works.at[n]] = HD_MAX(most[running->works.at[n]], running->usage);
    }
    for (size_t i = 0; good && i < a->works.len; i++)
        a->base.works[i].demand = model_demand_of(a, &a->works.at[i]) / HD_MAX(1.0F, most[i]);
    for (uint32_t i = 0; engines && i < a->engine_count; i++)
        hd_vec_fini(&engines[i].works);
    hd_free(engines);
    return good;
}

/* How a work began: what it waited for last. */
enum reason { BY_CALL, BY_STREAM, BY_ENGINE, BY_OTHER };

struct cause {
    int64_t call_ns, stream_ns; /* when its call began, and its stream was free */
    uint32_t other;             /* BY_OTHER: the work */
    uint8_t reason;
};

static int model_by_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Work of another stream of the process that ended right before this began, and was submitted
 * before: an event, or the default stream, made it wait. */
static uint32_t model_other_before(const struct advise *a, const struct order *ends, uint32_t index,
                                   int64_t ready_ns)
{
    const struct advise_work *work = &a->works.at[index];
    size_t low = 0, high = a->works.len;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ends[middle].ns <= work->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, looked = 0; i-- > 0 && looked < LOOK_MAX; looked++) {
        const struct advise_work *other = &a->works.at[ends[i].work];
        if (other->end_ns <= ready_ns || other->end_ns + DEPENDENT_NS < work->start_ns)
            return ADVISE_NONE;
        if (other->stream != work->stream && ends[i].work < index &&
            a->streams.at[other->stream].process == a->streams.at[work->stream].process)
            return ends[i].work;
    }
    return ADVISE_NONE;
}

/* When the call of a work began; what was compiled in it came before the work. */
static int64_t model_call_begin(const struct advise *a, const struct advise_work *work)
{
    const struct advise_call *call = &a->calls.at[work->call];
    int64_t compiled_ns = call->start_ns + call->compile_ns;

    return compiled_ns <= work->start_ns ? compiled_ns : call->start_ns;
}

/* The time from a call to its work that one in ten stays below, of work whose stream was free. */
static int64_t model_quick_launch(const struct advise *a, struct replay *r, int64_t *values)
{
    size_t n = 0;

    for (size_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        int64_t call_ns = model_call_begin(a, work), *stream = &r->stream_end[work->stream];
        if (*stream <= call_ns && work->start_ns >= call_ns)
            values[n++] = work->start_ns - call_ns;
        *stream = HD_MAX(*stream, work->end_ns);
    }
    if (!n)
        return LAUNCH_NS;
    qsort(values, n, sizeof(*values), model_by_i64);
    return values[n / 10];
}

/* Other work, and the engine, explain only what the call's own time to its work does not. */
static struct cause model_cause_of(const struct replay *r, const struct order *ends,
                                   int64_t quick_ns, uint32_t index)
{
    const struct advise *a = r->a;
    const struct advise_work *work = &a->works.at[index];
    const struct advise_plan_work *plan = &a->base.works[index];
    struct cause cause = {.call_ns = model_call_begin(a, work),
                          .stream_ns = r->stream_end[work->stream],
                          .other = ADVISE_NONE};
    int64_t ready = HD_MAX(cause.call_ns + quick_ns, cause.stream_ns);
    int64_t fit = model_place(&r->engines[plan->engine], ready, plan->time_ns, plan->demand);

    if (fit > ready && fit <= work->start_ns)
        cause.reason = BY_ENGINE;
    else if ((cause.other = model_other_before(a, ends, index, ready)) != ADVISE_NONE)
        cause.reason = BY_OTHER;
    else
        /* Of work that its stream held up beyond its call's own time, the call explains nothing. */
        cause.reason = work->start_ns - cause.stream_ns > QUEUE_MAX_NS &&
                               cause.stream_ns <= cause.call_ns + quick_ns
                           ? BY_CALL
                           : BY_STREAM;
    return cause;
}

/* Goes through the work as it was. */
static bool model_find_causes(const struct advise *a, struct cause *out, int64_t quick_ns)
{
    HD_AUTOFREE struct order *ends = model_order_works(a, true);
    struct replay r;
    bool good = model_replay_init(&r, a, &a->base) && ends;

    for (uint32_t i = 0; good && i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        struct slot slot = {work->start_ns, work->end_ns, a->base.works[i].demand};
        out[i] = model_cause_of(&r, ends, quick_ns, i);
        r.stream_end[work->stream] = HD_MAX(r.stream_end[work->stream], work->end_ns);
        if (work->end_ns > work->start_ns)
            good = model_occupy(&r.engines[a->base.works[i].engine], slot);
    }
    model_replay_fini(&r);
    return good;
}

struct latency {
    int64_t launch_ns, queue_ns;
};

static int64_t model_launch_latency(const struct advise *a, const struct cause *cause,
                                    uint32_t index)
{
    return HD_MAX(INT64_C(0), a->works.at[index].start_ns - cause->call_ns);
}

static int64_t model_queue_latency(const struct advise *a, const struct cause *cause,
                                   uint32_t index)
{
    return HD_MAX(INT64_C(0), a->works.at[index].start_ns - cause->stream_ns);
}

/* The median of the work that waited for nothing but that. */
static int64_t model_usual(const struct advise *a, const struct cause *causes, enum reason reason,
                           int64_t *values)
{
    size_t n = 0;

    for (uint32_t i = 0; i < a->works.len; i++)
        if (causes[i].reason == reason)
            values[n++] = reason == BY_CALL ? model_launch_latency(a, &causes[i], i)
                                            : model_queue_latency(a, &causes[i], i);
    if (!n)
        return reason == BY_CALL ? LAUNCH_NS : QUEUE_NS;
    qsort(values, n, sizeof(*values), model_by_i64);
    return values[n / 2];
}

static void model_plan_work(struct advise *a, const struct replay *r, const struct cause *cause,
                            const struct latency *latency, uint32_t index)
{
    const struct advise_work *work = &a->works.at[index];
    struct advise_plan_work *plan = &a->base.works[index];

    plan->after[0] = cause->other;
    plan->launch_ns = model_launch_latency(a, cause, index);
    plan->queue_ns = model_queue_latency(a, cause, index);
    if (cause->reason != BY_CALL)
        plan->launch_ns = HD_MIN(plan->launch_ns, latency->launch_ns);
    if (cause->reason != BY_STREAM)
        plan->queue_ns = HD_MIN(plan->queue_ns, latency->queue_ns);
    int64_t start = model_place(&r->engines[plan->engine], model_ready_at(r, plan, cause->call_ns),
                                plan->time_ns, plan->demand);
    plan->extra_ns = HD_MAX(INT64_C(0), work->start_ns - start);
}

static bool model_plan_all(struct advise *a, const struct cause *causes,
                           const struct latency *latency)
{
    struct replay r;
    bool good = model_replay_init(&r, a, &a->base);

    for (uint32_t i = 0; good && i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        struct slot slot = {work->start_ns, work->end_ns, a->base.works[i].demand};
        model_plan_work(a, &r, &causes[i], latency, i);
        r.work_end[i] = work->end_ns;
        r.stream_end[work->stream] = HD_MAX(r.stream_end[work->stream], work->end_ns);
        if (work->end_ns > work->start_ns)
            good = model_occupy(&r.engines[a->base.works[i].engine], slot);
    }
    model_replay_fini(&r);
    return good;
}

static bool model_plan_works(struct advise *a)
{
    HD_AUTOFREE struct cause *causes = hd_alloc_array(a->works.len + 1, sizeof(*causes));
    HD_AUTOFREE int64_t *values = hd_alloc_array(a->works.len + 1, sizeof(*values));
    struct replay r;
    bool good = model_replay_init(&r, a, &a->base) && causes && values && model_share_engines(a);
    int64_t quick_ns = good ? model_quick_launch(a, &r, values) : 0;

    model_replay_fini(&r);
    if (!good || !model_find_causes(a, causes, quick_ns))
        return false;
    struct latency latency = {model_usual(a, causes, BY_CALL, values),
                              model_usual(a, causes, BY_STREAM, values)};
    return model_plan_all(a, causes, &latency);
}

/* ---- calls */

/* When what a call waits for had ended; INT64_MIN: it waits for nothing. */
static int64_t model_waited_until(const struct advise *a, uint32_t index, const int64_t *stream_end,
                                  const int64_t *process_end)
{
    const struct advise_call *call = &a->calls.at[index];

    switch (call->wait) {
    case ADVISE_WAIT_WORK:
        return a->works.at[call->wait_work].end_ns;
    case ADVISE_WAIT_STREAM:
        return stream_end[call->wait_stream];
    case ADVISE_WAIT_PROCESS:
        return process_end[call->process];
    default:
        return INT64_MIN;
    }
}

/* What happens once and what was compiled is left out of the steady time. */
static int64_t model_once_ns(const struct advise *a, uint32_t index)
{
    const struct advise_call *call = &a->calls.at[index];

    if (call->before == ADVISE_NONE && call->wait == ADVISE_WAIT_NOTHING &&
        call->kind != ADVISE_CALL_NONE)
        return call->end_ns - call->start_ns;
    return call->compile_ns;
}

static void model_plan_call(struct advise *a, uint32_t index, int64_t until_ns)
{
    const struct advise_call *call = &a->calls.at[index];
    struct advise_plan_call *plan = &a->base.calls[index];
    int64_t before = call->before == ADVISE_NONE ? 0 : a->calls.at[call->before].end_ns;
    int64_t time = call->end_ns - call->start_ns;

    plan->gap_ns = call->start_ns - before;
    plan->own_ns = HD_MAX(INT64_C(0), time - model_once_ns(a, index));
    plan->wait = call->wait;
    plan->is_idle = until_ns <= call->start_ns;
    plan->tail_ns = HD_MIN(plan->own_ns, SHORT_WAIT_NS);
    if (until_ns > call->end_ns) {
        plan->wait = ADVISE_WAIT_NOTHING;
    } else if (until_ns > call->start_ns) {
        plan->own_ns = HD_MIN(plan->own_ns, SHORT_WAIT_NS);
        plan->tail_ns = call->end_ns - until_ns;
    }
}

static bool model_plan_calls(struct advise *a)
{
    HD_AUTOFREE int64_t *stream_end = hd_alloc_array(a->own_streams + 1, sizeof(int64_t));
    HD_AUTOFREE int64_t *process_end = hd_alloc_array(a->processes.len + 1, sizeof(int64_t));

    if (!stream_end || !process_end)
        return false;
    for (uint32_t i = 0; i < a->calls.len; i++) {
        const struct advise_call *call = &a->calls.at[i];
        for (uint32_t w = 0; w < call->work_count; w++) {
            const struct advise_work *work = &a->works.at[call->first_work + w];
            int64_t *stream = &stream_end[work->stream];
            *stream = HD_MAX(*stream, work->end_ns);
            process_end[call->process] = HD_MAX(process_end[call->process], work->end_ns);
        }
        model_plan_call(a, i, model_waited_until(a, i, stream_end, process_end));
    }
    return true;
}

static void model_plan_begin(struct advise *a)
{
    for (size_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        a->base.works[i] = (struct advise_plan_work){.time_ns = work->end_ns - work->start_ns,
                                                     .stream = work->stream,
                                                     .engine = model_engine_of(work),
                                                     .after = {ADVISE_NONE, ADVISE_NONE}};
    }
}

static int64_t model_span_of_trace(const struct advise *a)
{
    int64_t end = INT64_MIN;

    for (size_t i = 0; i < a->calls.len; i++)
        end = HD_MAX(end, a->calls.at[i].end_ns);
    for (size_t i = 0; i < a->works.len; i++)
        end = HD_MAX(end, a->works.at[i].end_ns);
    return a->calls.len ? end - a->calls.at[0].start_ns : 0;
}

enum hd_status advise_model_init(struct advise *a)
{
    uint32_t devices = 1;

    assert(!a->base.calls && !a->trial.calls); /* once */
    for (size_t i = 0; i < a->works.len; i++)
        devices = HD_MAX(devices, a->works.at[i].device + 1);
    a->engine_count = devices * ENGINES;
    a->own_streams = (uint32_t)a->streams.len * 3;
    a->base.calls = hd_alloc_array(a->calls.len + 1, sizeof(*a->base.calls));
    a->base.works = hd_alloc_array(a->works.len + 1, sizeof(*a->base.works));
    a->trial.calls = hd_alloc_array(a->calls.len + 1, sizeof(*a->base.calls));
    a->trial.works = hd_alloc_array(a->works.len + 1, sizeof(*a->base.works));
    if (!a->base.calls || !a->base.works || !a->trial.calls || !a->trial.works)
        return hd_error(HD_NO_MEMORY, "%s: out of memory", a->path);
    model_plan_begin(a);
    if (!model_plan_calls(a) || !model_plan_works(a))
        return hd_error(HD_NO_MEMORY, "%s: out of memory", a->path);
    a->span_ns = model_span_of_trace(a);
    a->replay_ns = model_span_of(a, &a->base);
    a->steady_ns = HD_MIN(a->replay_ns, a->span_ns);
    for (size_t i = 0; i < a->calls.len; i++)
        a->compile_ns += a->calls.at[i].compile_ns;
    return a->out_of_memory ? hd_error(HD_NO_MEMORY, "%s: out of memory", a->path) : HD_OK;
}

/* ---- trials */

void advise_trial_begin(struct advise *a)
{
    if (a->calls.len)
        memcpy(a->trial.calls, a->base.calls, a->calls.len * sizeof(*a->base.calls));
    if (a->works.len)
        memcpy(a->trial.works, a->base.works, a->works.len * sizeof(*a->base.works));
}

/* What the model adds to the run's own time is in both replays. */
int64_t advise_trial_gain(struct advise *a)
{
    int64_t gain_ns = a->replay_ns - model_span_of(a, &a->trial);

    assert(!a->calls.len || a->steady_ns <= HD_MAX(a->replay_ns, INT64_C(0)));
    if (gain_ns <= 0 || a->replay_ns <= 0)
        return 0;
    return (int64_t)((double)gain_ns * (double)a->steady_ns / (double)a->replay_ns);
}
