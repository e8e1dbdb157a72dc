/*
 * Which order is next: first some that are far from the usual one, then, when a result differs, the
 * way from the usual order to that one, step by step: each exchanges two neighbours. The first step
 * of the way has the usual result and the last one has not, so bisection finds two orders that
 * differ by one pair, and in their results.
 */
#include <assert.h>
#include <string.h>

#include "hal/hal.h"
#include "san/options.h"
#include "san/sched/schedcheck.h"

enum { SHRUNK_LAUNCHES = 2 }; /* of a kernel: the others have the same cause, most likely */

/* ---- time */

static bool search_may_go_on(const struct san_launch *launch)
{
    return hal_time_ns() - sched_launch_of(launch)->begin_ns <
           san_options()->schedule_time_s * UINT64_C(1000000000);
}

static bool search_may_shrink(const struct san_launch *launch)
{
    return sched_launch_of(launch)->search.shrinks < san_options()->schedule_reruns &&
           search_may_go_on(launch);
}

/* ---- who writes what differs */

static void search_trace(struct san_launch *launch, uint64_t address)
{
    struct sched_launch *own = sched_launch_of(launch);
    struct ir_probe_range *ranges = launch->about.ranges;

    own->search.traced = address;
    for (size_t i = 0; address && ranges && i < own->ranged.len; i++)
        atomic_store(&ranges[own->ranged.at[i]].size_B, 0);
    if (address)
        own->ranged.len = 0;
}

void sched_trace(struct san_cta *cta, const struct san_access *a)
{
    struct sched_search *s = &sched_launch_of(cta->launch)->search;
    struct sched_writer *w = &s->writers[s->phase == SCHED_CONFIRM];

    assert(s->traced && (s->phase == SCHED_CONFIRM || s->phase == SCHED_TRACE));
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(a->lanes >> lane & 1) || s->traced - a->address[lane] >= a->size_B)
            continue;
        w->base = *cta->base;
        w->cta = *cta;
        w->cta.base = &w->base;
        w->at = a->probe;
        w->warp = a->warp;
        w->lane = lane;
    }
}

/* ---- phases: each sets the schedule of the next run, or goes over to another one */

static bool search_end(struct sched_search *s)
{
    s->phase = SCHED_OVER;
    return false;
}

/* What the reference is the result of. */
static void search_schedule_reference(const struct san_launch *launch, struct sched_search *s)
{
    sched_schedule_plain(s, launch->about.may_wait || !launch->about.in_turns);
}

static bool search_explore(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;
    const struct sched_plan *p;

    while (s->at < s->nplans && s->found[s->plans[s->at].kind])
        s->at++;
    if (s->at == s->nplans || !search_may_go_on(launch))
        return search_end(s);
    p = &s->plans[s->at];
    s->phase = SCHED_EXPLORE;
    s->is_simple = s->has_pair = false;
    s->try_first = 0;
    s->try_end = UINT64_MAX;
    if (p->kind != SCHED_KIND_TURNS) {
        uint64_t n = sched_is_of_warps(s) ? sched_launch_of(launch)->nwarps : launch->about.units;

        if (!sched_order_alloc(s, (uint32_t)n))
            return search_end(s);
        sched_ranks_make(s, p->seed);
        s->low = (struct sched_step){1, 0};
        s->high = (struct sched_step){s->n, 0};
    }
    sched_schedule_side(s, true);
    return true;
}

static bool search_report(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    search_trace(launch, 0);
    sched_report(launch);
    for (unsigned k = 0; k < SCHED_KIND_COUNT && !sched_diff_is_mild(&s->diff); k++)
        s->found[k] |= k == s->plans[s->at].kind || k == SCHED_KIND_TURNS;
    s->warned = true;
    s->at++;
    return search_explore(launch);
}

static bool search_confirm(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    memset(s->writers, 0, sizeof(s->writers));
    if (s->diff.failed != HD_OK || !search_may_go_on(launch))
        return search_report(launch);
    s->phase = SCHED_CONFIRM;
    s->try_first = s->first;
    s->try_end = s->end;
    search_trace(launch, s->diff.part->base + s->diff.at);
    sched_schedule_side(s, true);
    return true;
}

/* The lower half of the blocks, else the upper one. */
static bool search_narrow(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;
    uint64_t middle = s->first + (s->end - s->first) / 2;

    assert(s->first < s->end);
    s->phase = SCHED_NARROW;
    if (!sched_is_of_warps(s) || s->end - s->first < 2 || !search_may_shrink(launch))
        return search_confirm(launch);
    s->shrinks++;
    s->try_first = s->upper ? middle : s->first;
    s->try_end = s->upper ? s->end : middle;
    sched_schedule_side(s, true);
    return true;
}

static bool search_try_step(struct sched_search *s, enum sched_phase phase, uint32_t moves)
{
    s->phase = phase;
    s->shrinks++;
    s->trial = (struct sched_step){s->pair[1], moves};
    sched_order_make(s, &s->trial);
    sched_schedule_units(s);
    return true;
}

/* `low` and `high` are neighbours: unit `stage` passes the one in front of it. */
static bool search_pair_found(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    sched_order_make(s, &s->low);
    s->has_pair = true;
    s->pair[0] = s->units[s->low.stage - s->low.moves - 1];
    s->pair[1] = s->low.stage;
    assert(s->pair[0] < s->pair[1]);
    if (s->is_simple || !search_may_shrink(launch))
        return search_narrow(launch);
    s->far[0] = s->low;
    s->far[1] = s->high;
    s->is_simple = true;
    return search_try_step(s, SCHED_PAIR, s->pair[1] - s->pair[0]);
}

static bool search_move(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    assert(s->low.stage == s->high.stage && s->low.moves <= s->high.moves);
    s->phase = SCHED_MOVE;
    if (s->high.moves - s->low.moves == 1)
        return search_pair_found(launch);
    if (!search_may_shrink(launch))
        return search_narrow(launch);
    s->shrinks++;
    s->trial = (struct sched_step){s->low.stage, s->low.moves + (s->high.moves - s->low.moves) / 2};
    sched_order_make(s, &s->trial);
    sched_schedule_units(s);
    return true;
}

static bool search_stage(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    assert(s->low.stage < s->high.stage && s->high.stage <= s->n);
    s->phase = SCHED_STAGE;
    if (s->high.stage - s->low.stage == 1) {
        s->high = (struct sched_step){s->low.stage, sched_moves_of(s, s->low.stage)};
        return search_move(launch);
    }
    if (!search_may_shrink(launch))
        return search_narrow(launch);
    s->shrinks++;
    s->trial = (struct sched_step){s->low.stage + (s->high.stage - s->low.stage) / 2, 0};
    sched_order_make(s, &s->trial);
    sched_schedule_units(s);
    return true;
}

/* What is mild is not worth the runs, nor what is known of the kernel already. */
static bool search_look_into(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;
    enum sched_kind kind = s->plans[s->at].kind;

    s->first = 0;
    s->end = sched_ctas_of(launch);
    s->shrinks = 0;
    s->upper = false;
    if (sched_diff_is_mild(&s->diff) || kind == SCHED_KIND_TURNS ||
        !sched_kernel_allows(launch, kind, SHRUNK_LAUNCHES))
        return search_confirm(launch);
    return search_stage(launch);
}

/* ---- results of runs */

enum verdict { SAME, DIFFERS, UNFINISHED };

static enum verdict search_judge(const struct san_launch *launch, enum hd_status ended,
                                 struct sched_diff *out)
{
    const struct sched_launch *own = sched_launch_of(launch);

    *out = (struct sched_diff){0};
    switch (ended) {
    case HD_OK:
        sched_memory_compare(&own->memory, out);
        return out->bytes ? DIFFERS : SAME;
    case HD_TIMEOUT:
    case HD_CANCELLED:
    case HD_NO_MEMORY:
        return UNFINISHED;
    default:
        out->failed = ended;
        return DIFFERS;
    }
}

/* Does it show what is being looked into? */
static bool search_shows_it(const struct sched_search *s, enum verdict v,
                            const struct sched_diff *diff)
{
    return v == DIFFERS && diff->failed == s->diff.failed &&
           sched_diff_is_mild(diff) <= sched_diff_is_mild(&s->diff);
}

static bool search_after_usual(struct san_launch *launch)
{
    struct sched_launch *own = sched_launch_of(launch);

    if (!own->memory.parts.len)
        return search_end(&own->search);
    if (!sched_memory_know(&own->memory)) {
        own->skip = SCHED_MEMORY;
        return search_end(&own->search);
    }
    if (launch->about.may_wait || !launch->about.in_turns)
        return search_explore(launch);
    own->search.phase = SCHED_SEQUENTIAL;
    sched_schedule_plain(&own->search, false);
    return true;
}

/* The usual run was in turns, this one was not. */
static bool search_after_sequential(struct san_launch *launch, enum verdict v,
                                    const struct sched_diff *diff)
{
    struct sched_launch *own = sched_launch_of(launch);

    (void)diff;
    if (v == UNFINISHED || !sched_memory_refer(&own->memory))
        return search_end(&own->search);
    return search_explore(launch);
}

static bool search_after_explore(struct san_launch *launch, enum verdict v,
                                 const struct sched_diff *diff)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    if (v == UNFINISHED) {
        sched_count_runs(0, false);
        s->found[SCHED_KIND_TURNS] |= s->plans[s->at].kind == SCHED_KIND_TURNS; /* so are others */
    }
    if (v != DIFFERS || (sched_diff_is_mild(diff) && s->warned)) {
        s->at++;
        return search_explore(launch);
    }
    s->diff = *diff;
    if (s->is_repeatable)
        return search_look_into(launch);
    s->phase = SCHED_REPEAT;
    search_schedule_reference(launch, s);
    return true;
}

static bool search_after_repeat(struct san_launch *launch, enum verdict v)
{
    struct sched_launch *own = sched_launch_of(launch);

    if (v != SAME) {
        own->skip = SCHED_UNREPEATABLE;
        return search_end(&own->search);
    }
    own->search.is_repeatable = true;
    return search_look_into(launch);
}

static void search_bisect(struct sched_search *s, bool shows, const struct sched_diff *diff)
{
    if (shows) {
        s->diff = *diff;
        s->high = s->trial;
    } else {
        s->low = s->trial;
    }
}

static bool search_after_pair(struct san_launch *launch, bool shows, const struct sched_diff *diff)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    if (!shows)
        return search_try_step(s, SCHED_FRONT, s->pair[1]);
    s->diff = *diff;
    s->high = s->trial;
    return search_try_step(s, SCHED_PAIR_LOW, s->pair[1] - s->pair[0] - 1);
}

static bool search_after_pair_low(struct san_launch *launch, enum verdict v)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    if (v != SAME)
        return search_try_step(s, SCHED_FRONT, s->pair[1]);
    s->low = s->trial;
    return search_narrow(launch);
}

static bool search_after_front(struct san_launch *launch, bool shows, const struct sched_diff *diff)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    if (!shows) {
        s->is_simple = false;
        s->low = s->far[0];
        s->high = s->far[1];
        return search_narrow(launch);
    }
    s->diff = *diff;
    s->low = (struct sched_step){s->pair[1], 0};
    s->high = s->trial;
    return search_move(launch);
}

static bool search_after_narrow(struct san_launch *launch, bool shows,
                                const struct sched_diff *diff)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    if (shows) {
        s->diff = *diff;
        s->first = s->try_first;
        s->end = s->try_end;
    } else if (s->upper) {
        return search_confirm(launch);
    }
    s->upper = !shows;
    return search_narrow(launch);
}

static bool search_after_confirm(struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    s->phase = SCHED_TRACE;
    search_trace(launch, s->traced);
    if (s->has_pair)
        sched_schedule_side(s, false);
    else
        search_schedule_reference(launch, s);
    return true;
}

/* False: that was the last run. */
static bool search_step(struct san_launch *launch, enum hd_status ended)
{
    struct sched_launch *own = sched_launch_of(launch);
    struct sched_search *s = &own->search;
    struct sched_diff diff;
    enum verdict v;

    assert(s->phase != SCHED_OVER);
    if (own->skip != SCHED_NONE || s->phase == SCHED_USUAL)
        return own->skip == SCHED_NONE ? search_after_usual(launch) : search_end(s);
    sched_count_runs(1, true);
    v = search_judge(launch, ended, &diff);
    switch (s->phase) {
    case SCHED_SEQUENTIAL:
        return search_after_sequential(launch, v, &diff);
    case SCHED_EXPLORE:
        return search_after_explore(launch, v, &diff);
    case SCHED_REPEAT:
        return search_after_repeat(launch, v);
    case SCHED_STAGE:
        search_bisect(s, search_shows_it(s, v, &diff), &diff);
        return search_stage(launch);
    case SCHED_MOVE:
        search_bisect(s, search_shows_it(s, v, &diff), &diff);
        return search_move(launch);
    case SCHED_PAIR:
        return search_after_pair(launch, search_shows_it(s, v, &diff), &diff);
    case SCHED_PAIR_LOW:
        return search_after_pair_low(launch, v);
    case SCHED_FRONT:
        return search_after_front(launch, search_shows_it(s, v, &diff), &diff);
    case SCHED_NARROW:
        return search_after_narrow(launch, search_shows_it(s, v, &diff), &diff);
    case SCHED_CONFIRM:
        return search_after_confirm(launch);
    case SCHED_TRACE:
        s->has_pair = s->has_pair && v == SAME;
        return search_report(launch);
    case SCHED_USUAL:
    case SCHED_OVER:
        break;
    }
    return search_end(s);
}

const struct ir_schedule *sched_search_next(struct san_launch *launch, enum hd_status ended)
{
    struct sched_launch *own = sched_launch_of(launch);

    if (search_step(launch, ended)) {
        own->search.runs++;
        sched_memory_rewind(&own->memory);
        return &own->search.schedule;
    }
    if (own->memory.is_known)
        sched_memory_finish(&own->memory);
    return NULL;
}
