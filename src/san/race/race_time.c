/*
 * What threads know of each other: the order that barriers, warps, fences and places make.
 *
 * A meeting gives all who come one common clock, higher than any that they had; that whoever met
 * there did before it is then said by one number, at the widest level that fits: CTA, warp, warp by
 * warp.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "san/race/race_streams.h"

struct race_thread *race_threads(struct race_cta *cta)
{
    if (!cta->threads && !(cta->threads = hd_alloc_array(RACE_THREADS_MAX, sizeof *cta->threads)))
        cta->blind = true;
    return cta->threads;
}

struct race_syncvars *race_syncvars_of(struct race_cta *cta, bool local)
{
    return local ? &cta->syncvars : &cta->launch->syncvars;
}

uint32_t race_lanes(const struct race_cta *cta, uint32_t warp)
{
    uint32_t n = cta->nthreads - warp * SAN_LANES;

    assert(warp < cta->nwarps);
    return n >= SAN_LANES ? UINT32_MAX : (1u << n) - 1;
}

/* ---- is it ordered? */

static bool time_points_cover(const struct race_know *know, uint64_t epoch)
{
    uint32_t serial = race_serial(epoch), thread = race_thread_of(epoch);
    uint64_t cta = race_who_cta(serial), warp = race_who_warp(serial, thread / SAN_LANES),
             self = race_who_thread(serial, thread);

    if (know->all)
        return true;
    for (size_t i = 0; i < know->points.len; i++) {
        const struct race_point *p = &know->points.at[i];
        if ((p->who == cta || p->who == warp || p->who == self) && p->clock > race_clock(epoch))
            return true;
    }
    return false;
}

/* How much of another CTA this one knows as a whole, if that was asked before. */
static struct race_known *time_known_of(struct race_cta *cta, uint32_t serial)
{
    return &cta->known[serial % RACE_KNOWN];
}

static bool time_know_covers(struct race_cta *cta, const struct race_know *know, uint64_t epoch,
                             uint64_t key)
{
    if (race_know_is_empty(know))
        return false;
    if (time_points_cover(know, epoch))
        return true;
    if (!know->refs.len)
        return false;
    uint32_t whole = 0;
    hd_lock_acquire(&cta->launch->syncvars_lock);
    bool covered = race_refs_cover(&cta->launch->syncvars, know, epoch, key, &whole);
    hd_lock_release(&cta->launch->syncvars_lock);
    if (whole && know == &cta->know)
        *time_known_of(cta, race_serial(epoch)) = (struct race_known){race_serial(epoch), whole};
    return covered;
}

enum race_order race_ordered(struct race_cta *cta, uint32_t thread, uint64_t epoch, uint64_t key)
{
    uint32_t serial = race_serial(epoch), other = race_thread_of(epoch);
    struct race_warp *warp = &cta->warps[thread / SAN_LANES];

    assert(epoch && thread < cta->nthreads);
    if (serial - cta->launch->base >= cta->launch->ncta)
        return race_past_is_ordered(cta->launch, serial) ? RACE_ORDERED : RACE_NOT_ORDERED;
    if (race_is_in_flight(epoch))
        return RACE_NOT_ORDERED;
    if (serial == cta->serial) {
        uint32_t clock = race_clock(epoch), w = other / SAN_LANES;
        if (other == thread || clock < cta->floor)
            return RACE_ORDERED;
        if (clock < (w == thread / SAN_LANES ? warp->floor : warp->seen[w]))
            return RACE_ORDERED;
    }
    const struct race_known *known = time_known_of(cta, serial);
    if (known->serial == serial && race_clock(epoch) < known->clock)
        return RACE_BY_PLACES;
    bool own = warp->knowing >> thread % SAN_LANES & 1 &&
               time_know_covers(cta, &cta->threads[thread].know, epoch, key);
    bool covered = own || time_know_covers(cta, &warp->know, epoch, key) ||
                   time_know_covers(cta, &cta->know, epoch, key);
    return covered ? RACE_BY_PLACES : RACE_NOT_ORDERED;
}

static bool time_know_has(struct race_cta *cta, const struct race_know *know, uint64_t who,
                          uint32_t clock)
{
    for (size_t i = 0; i < know->points.len; i++)
        if (know->points.at[i].who == who && know->points.at[i].clock > clock)
            return true;
    if (know->all || !know->refs.len)
        return know->all;
    hd_lock_acquire(&cta->launch->syncvars_lock);
    bool known = race_refs_know(&cta->launch->syncvars, know, who, clock);
    hd_lock_release(&cta->launch->syncvars_lock);
    return known;
}

bool race_knows(struct race_cta *cta, uint32_t thread, uint64_t who, uint32_t clock)
{
    struct race_warp *warp = &cta->warps[thread / SAN_LANES];
    bool own = warp->knowing >> thread % SAN_LANES & 1 &&
               time_know_has(cta, &cta->threads[thread].know, who, clock);

    return own || time_know_has(cta, &warp->know, who, clock) ||
           time_know_has(cta, &cta->know, who, clock);
}

/* ---- clocks */

static void time_set_clock(struct race_cta *cta, uint32_t thread, uint32_t clock)
{
    cta->blind |= clock >= RACE_CLOCK_MAX;
    cta->top = HD_MAX(cta->top, clock);
    cta->epoch[thread] = race_epoch(cta->serial, thread, clock & RACE_CLOCK_MAX);
}

void race_step(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t t = warp * SAN_LANES + (uint32_t)__builtin_ctz(m);
        time_set_clock(cta, t, race_clock(cta->epoch[t]) + 1);
    }
}

static uint32_t time_highest(const struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    uint32_t clock = 0;

    for (uint32_t m = lanes; m; m &= m - 1)
        clock =
            HD_MAX(clock, race_clock(cta->epoch[warp * SAN_LANES + (uint32_t)__builtin_ctz(m)]));
    return clock;
}

static void time_set_clocks(struct race_cta *cta, uint32_t warp, uint32_t lanes, uint32_t clock)
{
    for (uint32_t m = lanes; m; m &= m - 1)
        time_set_clock(cta, warp * SAN_LANES + (uint32_t)__builtin_ctz(m), clock);
}

/* ---- fences */

/* Whose accesses of the whole warp, up to where, had a fence behind them. */
static uint32_t time_warp_fenced(const struct race_cta *cta, uint32_t warp, unsigned wide)
{
    uint32_t lanes = cta->bars.live[warp], clock = RACE_CLOCK_MAX;

    if (lanes & ~cta->warps[warp].fences)
        return 0;
    assert(!lanes || cta->threads);
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t t = warp * SAN_LANES + (uint32_t)__builtin_ctz(m);
        clock = HD_MIN(clock, cta->threads[t].fence[wide].clock);
    }
    return lanes ? clock : 0;
}

static void time_one_fence(struct race_cta *cta, uint32_t thread, bool wide)
{
    struct race_warp *warp = &cta->warps[thread / SAN_LANES];
    struct race_thread *t = &cta->threads[thread];
    struct race_fence fence = {race_clock(cta->epoch[thread]) + 1, cta->floor, warp->floor};

    t->fence[0] = fence;
    if (wide)
        t->fence[1] = fence;
    for (size_t i = 0; i < t->waits.refs.len; i++) {
        struct race_ref ref = t->waits.refs.at[i];
        ref.narrow |= !wide;
        race_know_ref(&t->know, &ref);
    }
    t->know.all |= t->waits.all;
    /* A narrow fence leaves the rest to a wide one. */
    if (wide)
        race_know_clear(&t->waits);
}

static void time_lock_fenced(struct race_warp *warp, uint32_t lanes, bool wide)
{
    warp->half_fenced =
        wide ? warp->half_fenced & ~lanes : warp->half_fenced | (warp->unfenced & lanes);
    warp->unfenced &= ~lanes;
}

void race_fence(struct race_cta *cta, uint32_t warp, uint32_t lanes, enum ir_scope scope)
{
    if (!race_threads(cta))
        return;
    for (uint32_t m = lanes; m; m &= m - 1)
        time_one_fence(cta, warp * SAN_LANES + (uint32_t)__builtin_ctz(m), scope != IR_SCOPE_CTA);
    race_step(cta, warp, lanes);
    cta->warps[warp].fences |= lanes;
    time_lock_fenced(&cta->warps[warp], lanes, scope != IR_SCOPE_CTA);
    cta->fences = true;
}

/* ---- meetings */

/* What single lanes know: `to` gets it, and with `forget` they have it no more. */
static void time_gather(struct race_cta *cta, uint32_t warp, uint32_t lanes, struct race_know *to,
                        bool forget)
{
    assert(!cta->warps[warp].knowing || cta->threads);
    for (uint32_t m = lanes & cta->warps[warp].knowing; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        struct race_thread *t = &cta->threads[warp * SAN_LANES + lane];
        race_know_join(to, &t->know);
        race_know_join(to, &t->waits); /* a barrier is as good as a fence to whoever reads */
        if (!forget)
            continue;
        race_know_clear(&t->know);
        race_know_clear(&t->waits);
        cta->warps[warp].knowing &= ~(1u << lane);
    }
}

void race_meet_cta(struct race_cta *cta)
{
    uint32_t clock = cta->top + 1;

    assert(cta->floor <= cta->top);
    for (unsigned wide = 0; cta->fences && wide < 2; wide++) {
        uint32_t fenced = RACE_CLOCK_MAX;
        for (uint32_t w = 0; w < cta->nwarps; w++)
            if (cta->bars.live[w])
                fenced = HD_MIN(fenced, time_warp_fenced(cta, w, wide));
        if (fenced != RACE_CLOCK_MAX)
            cta->fenced[wide] = HD_MAX(cta->fenced[wide], fenced);
    }
    for (uint32_t w = 0; w < cta->nwarps; w++) {
        struct race_warp *warp = &cta->warps[w];
        time_gather(cta, w, UINT32_MAX, &cta->know, true);
        race_know_join(&cta->know, &warp->know);
        race_know_clear(&warp->know);
        warp->floor = warp->locked = warp->unfenced = warp->half_fenced = 0;
        memset(warp->seen, 0, sizeof warp->seen);
    }
    for (uint32_t t = 0; t < cta->nthreads; t++)
        cta->epoch[t] = race_epoch(cta->serial, t, clock & RACE_CLOCK_MAX);
    cta->floor = cta->top = clock;
    cta->blind |= clock >= RACE_CLOCK_MAX;
}

void race_meet_warp(struct race_cta *cta, uint32_t warp)
{
    struct race_warp *w = &cta->warps[warp];
    uint32_t all = race_lanes(cta, warp);

    for (unsigned wide = 0; w->fences && wide < 2; wide++)
        w->fenced[wide] = HD_MAX(w->fenced[wide], time_warp_fenced(cta, warp, wide));
    time_gather(cta, warp, all, &w->know, true);
    uint32_t clock = time_highest(cta, warp, all) + 1;
    assert(w->floor < clock);
    w->floor = clock;
    time_set_clocks(cta, warp, all, clock);
}

void race_meet_lanes(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    struct race_know shared = {0};
    uint32_t clock = time_highest(cta, warp, lanes) + 1;

    if (!race_threads(cta))
        return;
    time_gather(cta, warp, lanes, &shared, false);
    for (uint32_t m = lanes; m; m &= m - 1)
        race_know_point(&shared,
                        race_who_thread(cta->serial, warp * SAN_LANES + (uint32_t)__builtin_ctz(m)),
                        clock);
    for (uint32_t m = lanes; m; m &= m - 1)
        race_know_join(&cta->threads[warp * SAN_LANES + (uint32_t)__builtin_ctz(m)].know, &shared);
    cta->warps[warp].knowing |= lanes;
    time_set_clocks(cta, warp, lanes, clock);
    race_know_fini(&shared);
}

/*
 * All that those who came know of the CTA, one number per warp where the whole warp came; single
 * lanes as points.
 */
static void time_some_come(struct race_cta *cta, uint32_t w, uint32_t lanes, uint32_t arrived_at,
                           uint32_t *seen, struct race_know *shared)
{
    struct race_warp *warp = &cta->warps[w];
    bool whole = !(cta->bars.live[w] & ~lanes);
    uint32_t clock =
        arrived_at ? arrived_at : time_highest(cta, w, whole ? race_lanes(cta, w) : lanes) + 1;

    time_gather(cta, w, lanes, shared, false);
    race_know_join(shared, &warp->know);
    for (uint32_t v = 0; v < cta->nwarps; v++)
        seen[v] = HD_MAX(seen[v], v == w ? warp->floor : warp->seen[v]);
    if (whole)
        seen[w] = HD_MAX(seen[w], clock);
    for (uint32_t m = whole ? 0 : lanes; m; m &= m - 1)
        race_know_point(shared,
                        race_who_thread(cta->serial, w * SAN_LANES + (uint32_t)__builtin_ctz(m)),
                        clock);
    if (!arrived_at)
        time_set_clocks(cta, w, lanes, clock);
}

/* Now they know: a whole warp as such. */
static void time_some_learn(struct race_cta *cta, uint32_t w, uint32_t lanes, const uint32_t *seen,
                            const struct race_know *shared)
{
    struct race_warp *warp = &cta->warps[w];

    if (!(cta->bars.live[w] & ~lanes)) {
        for (uint32_t v = 0; v < cta->nwarps; v++)
            if (v != w)
                warp->seen[v] = HD_MAX(warp->seen[v], seen[v]);
        warp->floor = HD_MAX(warp->floor, seen[w]);
        race_know_join(&warp->know, shared);
        return;
    }
    for (uint32_t m = lanes; m; m &= m - 1) {
        struct race_know *know = &cta->threads[w * SAN_LANES + (uint32_t)__builtin_ctz(m)].know;
        race_know_join(know, shared);
        for (uint32_t v = 0; v < cta->nwarps; v++)
            if (seen[v])
                race_know_point(know, race_who_warp(cta->serial, v), seen[v]);
    }
    warp->knowing |= lanes;
}

uint32_t race_arrive(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    uint32_t clock = time_highest(cta, warp, race_lanes(cta, warp)) + 1;

    time_set_clocks(cta, warp, lanes, clock);
    return clock;
}

void race_meet_some(struct race_cta *cta, const uint32_t *come, const uint32_t *waiting,
                    const uint32_t *arrived_at)
{
    struct race_know shared = {0};
    uint32_t seen[SAN_WARPS] = {0};

    if (!race_threads(cta))
        return;
    for (uint32_t w = 0; w < cta->nwarps; w++)
        if (come[w])
            time_some_come(cta, w, come[w], waiting[w] ? 0 : arrived_at[w], seen, &shared);
    for (uint32_t w = 0; w < cta->nwarps; w++)
        if (waiting[w])
            time_some_learn(cta, w, waiting[w], seen, &shared);
    race_know_fini(&shared);
}
