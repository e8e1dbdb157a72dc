/* Orders to try, and the schedules of runs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hal/hal.h"
#include "san/options.h"
#include "san/sched/schedcheck.h"

enum {
    UNITS_MAX = 1 << 24,  /* of a grid whose blocks are put in another order */
    INTERLEAVED_S = 2,    /* that a run of the interpreter may take */
    INTERLEAVED_RUNS = 3, /* by different seeds */
    INTERLEAVED_THREADS = 1 << 18,
};

uint64_t sched_ctas_of(const struct san_launch *launch)
{
    const uint32_t *g = launch->about.grid;

    return (uint64_t)g[0] * g[1] * g[2];
}

/* ---- plans */

/* Where blocks wait for each other those that do not fit are started when others have ended. */
static bool can_order_blocks(const struct san_launch *launch)
{
    const struct ir_probe_launch *a = &launch->about;

    return a->units > 1 && a->units <= UNITS_MAX &&
           (!a->may_wait || sched_ctas_of(launch) <= a->residents_max);
}

static bool can(const struct san_launch *launch, enum sched_kind kind)
{
    switch (kind) {
    case SCHED_KIND_BLOCKS:
        return can_order_blocks(launch);
    case SCHED_KIND_WARPS:
        return launch->nthreads > 32;
    case SCHED_KIND_TURNS:
        return (launch->nthreads > 32 || launch->about.units > 1) &&
               sched_ctas_of(launch) * launch->nthreads <= INTERLEAVED_THREADS &&
               (!launch->about.may_wait || sched_ctas_of(launch) <= launch->about.residents_max);
    case SCHED_KIND_COUNT:
        break;
    }
    return false;
}

/* Backwards first, then by seeds, blocks and warps by turns. */
static void plan(struct sched_search *s, const struct san_launch *launch)
{
    const struct san_options *o = san_options();
    bool blocks = can(launch, SCHED_KIND_BLOCKS), warps = can(launch, SCHED_KIND_WARPS);
    uint64_t n = blocks || warps ? HD_MIN(o->schedules, SCHED_PLANS_MAX - INTERLEAVED_RUNS) : 0;

    for (uint64_t i = 0; i < n; i++) {
        enum sched_kind kind =
            !warps || (blocks && i % 2 == 0) ? SCHED_KIND_BLOCKS : SCHED_KIND_WARPS;
        uint64_t round = blocks && warps ? i / 2 : i;

        s->plans[s->nplans++] = (struct sched_plan){kind, round ? o->seed + round : 0};
    }
    if (can(launch, SCHED_KIND_TURNS) &&
        sched_kernel_allows(launch, SCHED_KIND_TURNS, o->interleave))
        for (uint64_t i = 1; i <= INTERLEAVED_RUNS; i++)
            s->plans[s->nplans++] = (struct sched_plan){SCHED_KIND_TURNS, o->seed + i};
}

bool sched_search_begin(const struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;

    plan(s, launch);
    assert(s->nplans <= SCHED_PLANS_MAX);
    return s->nplans != 0;
}

void sched_search_fini(struct sched_search *s)
{
    hd_free(s->rank);
    hd_free(s->units);
    s->rank = s->units = NULL;
}

/* ---- orders */

bool sched_is_of_warps(const struct sched_search *s)
{
    assert(s->at < s->nplans);
    return s->plans[s->at].kind == SCHED_KIND_WARPS;
}

bool sched_order_alloc(struct sched_search *s, uint32_t n)
{
    assert(n);
    sched_search_fini(s);
    s->n = n;
    s->rank = hd_alloc_array(n, sizeof(*s->rank));
    s->units = hd_alloc_array(n, sizeof(*s->units));
    return s->rank && s->units;
}

void sched_ranks_make(struct sched_search *s, uint64_t seed)
{
    uint64_t dice = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;

    for (uint32_t i = 0; i < s->n; i++)
        s->rank[i] = seed ? i : s->n - 1 - i;
    for (uint32_t i = s->n - 1; seed && i; i--) {
        uint32_t j = (uint32_t)(ir_schedule_dice(&dice) % (i + 1)), other = s->rank[j];

        s->rank[j] = s->rank[i];
        s->rank[i] = other;
    }
}

static int by_rank(const void *a, const void *b, void *rank)
{
    uint32_t x = ((const uint32_t *)rank)[*(const uint32_t *)a];
    uint32_t y = ((const uint32_t *)rank)[*(const uint32_t *)b];

    return (x > y) - (x < y);
}

void sched_order_make(struct sched_search *s, const struct sched_step *step)
{
    uint32_t place = step->stage - step->moves;

    assert(step->stage <= s->n && step->moves <= step->stage);
    assert(!step->moves || step->stage < s->n);
    for (uint32_t i = 0; i < s->n; i++)
        s->units[i] = i;
    if (!s->is_simple)
        qsort_r(s->units, step->stage, sizeof(*s->units), by_rank, s->rank);
    if (!step->moves)
        return;
    memmove(s->units + place + 1, s->units + place, step->moves * sizeof(*s->units));
    s->units[place] = step->stage;
}

uint32_t sched_moves_of(const struct sched_search *s, uint32_t stage)
{
    uint32_t n = 0;

    assert(stage < s->n);
    for (uint32_t i = 0; i < stage; i++)
        n += s->rank[i] > s->rank[stage];
    return n;
}

void sched_schedule_units(struct sched_search *s)
{
    struct ir_schedule *out = &s->schedule;

    *out = (struct ir_schedule){.first = s->try_first, .end = s->try_end, .is_quiet = true};
    if (!sched_is_of_warps(s)) {
        out->units = s->units;
        return;
    }
    assert(s->n <= sizeof(s->warps));
    for (uint32_t i = 0; i < s->n; i++)
        s->warps[i] = (uint8_t)s->units[i];
    out->warps = s->warps;
}

static void schedule_turns(struct sched_search *s)
{
    s->schedule =
        (struct ir_schedule){.turns = s->plans[s->at].seed,
                             .is_quiet = true,
                             .deadline_ns = hal_time_ns() + INTERLEAVED_S * UINT64_C(1000000000)};
}

void sched_schedule_side(struct sched_search *s, bool high)
{
    if (s->plans[s->at].kind == SCHED_KIND_TURNS) {
        schedule_turns(s);
        return;
    }
    sched_order_make(s, high ? &s->high : &s->low);
    sched_schedule_units(s);
}

void sched_schedule_plain(struct sched_search *s, bool in_turns)
{
    s->schedule = (struct ir_schedule){.end = UINT64_MAX, .is_quiet = true, .in_turns = in_turns};
}
