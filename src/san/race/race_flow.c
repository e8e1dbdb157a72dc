/*
 * Order that flows through memory: a thread releases at a place, another acquires there.
 *
 * Releasing: a store or atomic with release, or one behind a fence, as wide as the narrower of
 * both. Acquiring: a read with acquire; a read and a fence behind it. Two kinds of reads are taken
 * as if they had a fence, because programs that everybody runs rely on it: atomics other than
 * compare-and-swap, and volatile reads by which a loop waits. A compare-and-swap is how locks are
 * taken, and a lock without a fence is the error that one looks for. bar.sync is as good as a fence
 * to the reader.
 *
 * Whoever acquires comes after the releasing access itself, too, as far as that very place goes:
 * the last one to arrive at a counter may set it back by a plain store.
 *
 * A read is told before it happens, so what it saw is asked when its thread is next heard of.
 */
#include <assert.h>

#include "model/mbarrier.h"
#include "san/race/race.h"

/* ---- releasing */

static void publish_as(struct race_cta *cta, uint32_t thread, struct race_syncvar *syncvar,
                       bool wide, const struct race_fence *fence)
{
    struct race_warp *warp = &cta->warps[thread / SAN_LANES];
    struct race_release how = {cta->serial, wide};
    uint32_t floor = HD_MAX(fence->floor, cta->fenced[wide]);
    uint32_t warp_floor = HD_MAX(fence->warp_floor, warp->fenced[wide]);

    assert(hd_lock_held(&cta->launch->syncvars_lock) && syncvar->version);
    if (floor > 1)
        race_syncvar_point(syncvar, &how, race_who_cta(cta->serial), floor);
    if (warp_floor > floor)
        race_syncvar_point(syncvar, &how, race_who_warp(cta->serial, thread / SAN_LANES),
                           warp_floor);
    race_syncvar_point(syncvar, &how, race_who_thread(cta->serial, thread), fence->clock);
    for (uint32_t v = 0; v < cta->nwarps; v++)
        if (warp->seen[v] > floor)
            race_syncvar_point(syncvar, &how, race_who_warp(cta->serial, v), warp->seen[v]);
    race_syncvar_pass(syncvar, &how, &cta->know);
    race_syncvar_pass(syncvar, &how, &warp->know);
    if (warp->knowing >> thread % SAN_LANES & 1)
        race_syncvar_pass(syncvar, &how, &cta->threads[thread].know);
}

void race_publish(struct race_cta *cta, uint32_t thread, struct race_where at, bool wide, bool now)
{
    const struct race_warp *warp = &cta->warps[thread / SAN_LANES];
    struct race_fence all = {race_clock(cta->epoch[thread]) + 1, cta->floor, warp->floor};
    const struct race_fence *fence = now ? NULL : cta->threads[thread].fence;

    assert(now || warp->fences >> thread % SAN_LANES & 1);
    hd_lock_acquire(&cta->launch->syncvars_lock);
    struct race_syncvar *syncvar = race_syncvar_make(race_syncvars_of(cta, at.local), at.key);
    if (syncvar) {
        struct race_release how = {cta->serial, wide};
        syncvar->version++;
        if (!now)
            race_syncvar_point(syncvar, &how, race_who_there(cta->serial, thread), all.clock);
        cta->lent |= !at.local && atomic_load(&cta->syncvars.n);
        if (now)
            publish_as(cta, thread, syncvar, wide, &all);
        else if (wide && fence[1].clock)
            publish_as(cta, thread, syncvar, true, &fence[1]);
        if (!now && (!wide || fence[0].clock > fence[1].clock))
            publish_as(cta, thread, syncvar, false, &fence[0]);
    }
    hd_lock_release(&cta->launch->syncvars_lock);
}

/* ---- acquiring */

void race_pend(struct race_cta *cta, uint32_t thread, const struct race_pending *pending)
{
    assert(pending->how != RACE_PEND_NONE && thread < cta->nthreads);
    if (!race_threads(cta))
        return;
    cta->threads[thread].pending = *pending;
    cta->warps[thread / SAN_LANES].pending |= 1u << thread % SAN_LANES;
}

bool race_mbarrier_parity(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) >> 63;
}

void race_mbarrier_follow(struct race_syncvar *syncvar, const uint64_t *word)
{
    bool parity = race_mbarrier_parity(word);

    assert(syncvar->done <= syncvar->version);
    if (parity != syncvar->parity)
        syncvar->done = syncvar->version;
    syncvar->parity = parity;
}

static void acquire(struct race_cta *cta, uint32_t thread, const struct race_pending *p,
                    struct race_syncvar *syncvar)
{
    struct race_thread *t = &cta->threads[thread];
    uint32_t version = syncvar->version;

    assert(hd_lock_held(&cta->launch->syncvars_lock) && syncvar->read <= version);
    if (p->how == RACE_PEND_PHASE) {
        race_mbarrier_follow(syncvar, p->word);
        if (!p->was_done && syncvar->parity == p->parity)
            return; /* the test said no */
        version = syncvar->done;
    }
    if (!version)
        return;
    struct race_ref ref = {syncvar, version, cta->serial, p->narrow};
    syncvar->read = HD_MAX(syncvar->read, version);
    race_know_ref(p->how == RACE_PEND_FENCE ? &t->waits : &t->know, &ref);
    cta->warps[thread / SAN_LANES].knowing |= 1u << thread % SAN_LANES;
}

void race_settle(struct race_cta *cta, uint32_t warp, uint32_t lanes)
{
    lanes &= cta->warps[warp].pending;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const uint32_t thread = warp * SAN_LANES + (uint32_t)__builtin_ctz(m);
        struct race_pending *p = &cta->threads[thread].pending;
        struct race_syncvars *syncvars = race_syncvars_of(cta, p->local);

        assert(p->how != RACE_PEND_NONE);
        if (atomic_load_explicit(&syncvars->n, memory_order_relaxed)) {
            hd_lock_acquire(&cta->launch->syncvars_lock);
            struct race_syncvar *syncvar = race_syncvar_get(syncvars, p->key);
            if (syncvar)
                acquire(cta, thread, p, syncvar);
            hd_lock_release(&cta->launch->syncvars_lock);
        }
        p->how = RACE_PEND_NONE;
    }
    cta->warps[warp].pending &= ~lanes;
}
