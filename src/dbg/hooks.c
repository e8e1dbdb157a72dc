/*
 * In the threads that execute kernels: reasons to stop, and waiting while the debugger has the
 * program stopped.
 *
 * A warp's lanes move together while they are at the same place. Lanes that have parted are led
 * back: those in the innermost call, and of these the ones that are furthest behind in the text, go
 * first, so that code behind an `if` is reached by all at once. When the others have waited for
 * long, everybody moves for a while: they may hold what the first ones wait for.
 */
#include "dbg/private.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"

enum { PATIENCE = 2000, GENEROSITY = 200 /* passes */ };

static _Thread_local bool holds; /* dbg.lock */

/* ---- the lock */

/* A signal may have thrown this thread out of a CTA's turn: it still has the lock then. */
static void hook_enter(struct interp_cta *cta)
{
    if (!holds)
        dbg_lock();
    holds = true;
    struct dbg_cta *c = *interp_debug_slot(cta);
    if (c)
        c->worker = atomic_load_explicit(&dbg.holder, memory_order_relaxed);
    if (dbg_history_is_on())
        dbg_history_round(c);
}

static void hook_leave(struct interp_cta *cta)
{
    (void)cta;
    assert(holds);
    holds = false;
    dbg_unlock();
}

/* ---- CTAs */

static struct dbg_program *hook_program_of(const struct ir_module *code)
{
    for (size_t i = 0; i < dbg.programs.len; i++) {
        struct dbg_program *p = dbg.programs.at[i];
        for (size_t k = 0; k < p->codes.len; k++)
            if (p->codes.at[k] == code)
                return p;
    }
    return NULL;
}

static uint32_t hook_kernel_number(const struct interp_launch *launch)
{
    for (size_t i = dbg.ctas.len; i > 0; i--)
        if (interp_debug_launch(dbg.ctas.at[i - 1]->cta)->grid_id == launch->grid_id)
            return dbg.ctas.at[i - 1]->kernel;
    if (!dbg.nkernels || dbg.last_grid != launch->grid_id)
        dbg.nkernels++;
    dbg.last_grid = launch->grid_id;
    return dbg.nkernels - 1;
}

static void hook_begin(struct interp_cta *cta)
{
    bool had = holds;

    const struct interp_launch *launch = interp_debug_launch(cta);
    hook_enter(cta);
    /* Without memory it runs without the debugger. */
    (void)dbg_cta_add(cta, hook_program_of(launch->kernel->module), hook_kernel_number(launch));
    if (!had)
        hook_leave(cta);
}

static void hook_end(struct interp_cta *cta)
{
    hook_enter(cta);
    struct dbg_cta *c = *interp_debug_slot(cta);
    bool found = !c; /* there was no memory for it */
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        if (dbg.ctas.at[i] != c)
            continue;
        found = true;
        if (dbg_history_is_of(c))
            dbg_history_end();
        if (dbg.step.tid >= DBG_FIRST_TID &&
            (dbg.step.tid - DBG_FIRST_TID) / DBG_CTA_THREADS == c->serial)
            dbg.step.is_lost = true;
        memmove(&dbg.ctas.at[i], &dbg.ctas.at[i + 1],
                (dbg.ctas.len - i - 1) * sizeof(*dbg.ctas.at));
        dbg.ctas.len--;
        break;
    }
    assert(found);
    hd_free(c);
    *interp_debug_slot(cta) = NULL;
    hook_leave(cta);
}

/* ---- lanes */

/* Which lanes there are, and which of them run: enough to repeat a pass. */
static void hook_pass_begin(struct dbg_pass *p, const struct interp_warp *warp)
{
    const struct interp_cta *cta = interp_debug_warp_cta(warp);

    p->warp = interp_debug_warp_index(warp);
    assert(p->warp < DBG_WARPS && p->warp * 32 < interp_debug_nthreads(cta));
    p->nlanes = HD_MIN(interp_debug_nthreads(cta) - p->warp * 32, 32u);
    p->running = 0;
    for (uint32_t i = 0; i < p->nlanes; i++)
        p->running |= (uint32_t)(interp_debug_state(interp_debug_thread(cta, p->warp * 32 + i)) ==
                                 INTERP_DEBUG_RUNS)
                      << i;
}

/* Negative: a goes first. */
static int hook_lane_order(const struct dbg_lane *a, const struct dbg_lane *b)
{
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    if (a->spot.line != b->spot.line)
        return a->spot.line < b->spot.line ? -1 : 1;
    if (a->spot.col != b->spot.col)
        return a->spot.col < b->spot.col ? -1 : 1;
    return a->spot.done == b->spot.done ? 0 : a->spot.done < b->spot.done ? -1 : 1;
}

static uint32_t hook_lanes_choose(const struct dbg_pass *p)
{
    uint32_t *parted = &p->cta->parted[p->warp];
    const struct dbg_lane *first = NULL;
    uint32_t chosen = 0;

    assert(p->running);
    for (uint32_t m = p->running; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(m);
        int order = first ? hook_lane_order(&p->lanes[i], first) : -1;
        if (order < 0) {
            first = &p->lanes[i];
            chosen = 0;
        }
        chosen |= (uint32_t)(order <= 0) << i;
    }
    *parted = chosen == p->running ? 0 : (*parted + 1) % (PATIENCE + GENEROSITY);
    return *parted < PATIENCE ? chosen : p->running;
}

/* ---- reasons to stop */

static bool hook_is_step_of(const struct dbg_pass *p)
{
    return dbg.step.tid >= DBG_FIRST_TID + p->cta->serial * DBG_CTA_THREADS + p->warp * 32 &&
           dbg.step.tid < DBG_FIRST_TID + p->cta->serial * DBG_CTA_THREADS + p->warp * 32 + 32;
}

/* Others than the warp that steps run only while it waits for them. */
static bool hook_may_run(const struct dbg_pass *p)
{
    if (dbg_history_is_on() && !dbg_history_is_of(p->cta))
        return false;
    if (!dbg.step.tid || dbg.step.is_lost || hook_is_step_of(p))
        return true;
    const struct interp_thread *t = dbg_thread(dbg.step.tid);
    return !t || interp_debug_state(t) != INTERP_DEBUG_RUNS;
}

static bool hook_step_is_over(const struct dbg_pass *p, struct dbg_stop *out)
{
    if (!dbg.step.tid || dbg.step.is_free)
        return false;
    const struct interp_thread *t = dbg_thread(dbg.step.tid);
    if (!t) {
        /* The thread that steps has ended: another one of its block gets the focus, or nobody. */
        uint64_t serial = (dbg.step.tid - DBG_FIRST_TID) / DBG_CTA_THREADS;

        if (dbg.step.is_lost) { /* so has its block */
            dbg.step = (struct dbg_step){0};
            return false;
        }
        if (serial != p->cta->serial)
            return false;
        assert(p->running && p->lanes[__builtin_ctz(p->running)].t);
        *out = (struct dbg_stop){.kind = DBG_STOP_STEP,
                                 .tid = dbg_tid(p->lanes[__builtin_ctz(p->running)].t)};
        return true;
    }
    if (!dbg.step.moved || !interp_debug_spot(t, 0).is_start)
        return false;
    *out = (struct dbg_stop){.kind = DBG_STOP_STEP, .tid = dbg.step.tid, .signal = 5};
    uint64_t pc = dbg_pc(t, 0);
    return pc < dbg.step.from || pc >= dbg.step.to;
}

/* The first lane that is between two instructions. */
static struct interp_thread *hook_lane_at_start(const struct dbg_pass *p, uint32_t lanes)
{
    for (uint32_t m = lanes; m; m &= m - 1) {
        const struct dbg_lane *lane = &p->lanes[__builtin_ctz(m)];
        if (lane->spot.is_start)
            return lane->t;
    }
    return NULL;
}

static bool hook_launches(const struct dbg_pass *p, uint32_t lanes, struct dbg_stop *out)
{
    const struct interp_thread *t = hook_lane_at_start(p, lanes);

    if (!dbg.break_on_launch || !t || p->cta->kernel < dbg.kernels_seen)
        return false;
    dbg.kernels_seen = p->cta->kernel + 1;
    *out = (struct dbg_stop){.kind = DBG_STOP_STEP, .tid = dbg_tid(t)};
    return true;
}

static bool hook_is_interrupted(const struct dbg_pass *p, uint32_t lanes, struct dbg_stop *out)
{
    const struct interp_thread *t = dbg.interrupted ? hook_lane_at_start(p, lanes) : NULL;

    if (!t)
        return false;
    *out = (struct dbg_stop){.kind = DBG_STOP_SIGNAL, .tid = dbg_tid(t), .signal = 2};
    return true;
}

static bool hook_is_watched(struct dbg_stop *out)
{
    if (!dbg.watched.kind)
        return false;
    *out = dbg.watched;
    dbg.watched.kind = DBG_STOP_NONE;
    return true;
}

/* What the stop shows is not shown again before the lanes have moved. */
static void hook_passed_set(const struct dbg_pass *p, uint32_t lanes)
{
    for (uint32_t m = lanes; m; m &= m - 1)
        if (p->lanes[__builtin_ctz(m)].spot.is_start)
            p->cta->passed[p->warp] |= m & -m;
}

static uint32_t hook_pass(struct interp_warp *warp)
{
    struct dbg_pass p = {.cta = *interp_debug_slot(interp_debug_warp_cta(warp))};
    struct dbg_stop stop;

    assert(holds);
    while (p.cta) {
        dbg_wait_locked();
        hook_pass_begin(&p, warp);
        if (!p.running)
            break;
        if (dbg.attached && dbg_history_replays()) {
            uint32_t again = dbg_history_again(&p, warp, &stop);
            if (!stop.kind)
                return again;
            dbg_pass_fill(&p, warp);
            hook_passed_set(&p, p.running);
            dbg_stop_locked(&stop);
            continue;
        }
        dbg_pass_fill(&p, warp);
        uint32_t lanes = hook_lanes_choose(&p);
        if (!dbg.attached)
            return lanes;
        if (!hook_may_run(&p))
            return 0;
        if (hook_is_watched(&stop) || hook_step_is_over(&p, &stop) ||
            hook_is_interrupted(&p, lanes, &stop) || hook_launches(&p, lanes, &stop) ||
            dbg_breaks(&p, lanes, &stop)) {
            hook_passed_set(&p, lanes);
            dbg_stop_locked(&stop);
            continue;
        }
        assert(lanes && !(lanes & ~p.running));
        p.cta->passed[p.warp] &= ~lanes;
        if (hook_is_step_of(&p)) {
            uint32_t lane = (uint32_t)((dbg.step.tid - DBG_FIRST_TID) % 32);
            dbg.step.moved |= lanes >> lane & 1;
        }
        dbg_history_pass(&p, lanes);
        return lanes;
    }
    return ~0u;
}

/* ---- faults and accesses */

static void hook_fault(struct interp_thread *t, enum hd_status status, const char *why)
{
    const struct dbg_exception *exception = dbg_exception_of(status);
    struct dbg_stop stop = {.kind = DBG_STOP_SIGNAL, .signal = 5};
    bool had = holds;

    hook_enter(interp_debug_cta(t));
    if (dbg.fault_shown) {
        dbg.fault_shown = false; /* the signal came after all */
    } else if (dbg_cta_of(t) && !dbg_history_fault(dbg_cta_of(t))) {
        stop.tid = dbg_tid(t);
        snprintf(stop.text, sizeof(stop.text), "%s", why);
        if (exception) {
            stop.exception = exception->number;
            stop.signal = exception->signal;
            snprintf(stop.text, sizeof(stop.text), "%s: %s", exception->name, why);
        }
        dbg_stop_locked(&stop);
    }
    if (!had)
        hook_leave(interp_debug_cta(t));
}

static bool hook_is_watched_by(const struct dbg_watch *w, const struct interp_thread *t, bool write)
{
    return dbg_cta_of(t) && (w->kind == '4' || (w->kind == '2') == write) &&
           (!w->tid || w->tid == dbg_tid(t));
}

/* It is told when the lanes have done what they are at. */
static void hook_watch_hit(struct dbg_watch *w, struct interp_thread *t)
{
    if (dbg_history_replays()) {
        dbg_history_watch(w, t);
        return;
    }
    dbg.watched = (struct dbg_stop){.kind = DBG_STOP_WATCH,
                                    .tid = dbg_tid(t),
                                    .signal = 5,
                                    .address = w->address,
                                    .watch = w->kind};
}

static bool hook_overlap(uint64_t a, uint64_t a_B, uint64_t b, uint64_t b_B)
{
    return a < b + b_B && b < a + a_B;
}

/* Bytes as the kernel of the system sees them: a debugger of the host would stop at a signal. */
static bool hook_is_there(const void *bytes, uint64_t size_B)
{
    char probe[16];

    for (uint64_t i = 0; i < size_B; i += sizeof(probe)) {
        size_t n = HD_MIN(size_B - i, sizeof(probe));
        if (dbg_read(NULL, (uintptr_t)bytes + i, probe, n) != n)
            return false;
    }
    return true;
}

static bool hook_access(struct interp_thread *t, const void *bytes, uint64_t size_B, bool write)
{
    for (size_t i = 0; i < dbg.watches.len && !dbg.watched.kind; i++) {
        struct dbg_watch *w = &dbg.watches.at[i];
        uint64_t host = hook_is_watched_by(w, t, write) ? dbg_host_address(t, w->address) : 0;
        if (host && hook_overlap(host, w->size_B, (uintptr_t)bytes, size_B))
            hook_watch_hit(w, t);
    }
    /* While a history is kept, or the host is debugged, too, what would raise a signal is stopped
     * before it happens. */
    uint32_t epoch = interp_debug_epoch(interp_debug_cta(t));
    bool is_recorded = dbg_history_is_of(dbg_cta_of(t));
    assert(holds);
    if (!dbg_cta_of(t) || (!is_recorded && !dbg.non_stop))
        return true;
    if (is_recorded ? dbg_history_access(t, bytes, size_B, write) || dbg_history_replays()
                    : hook_is_there(bytes, size_B))
        return true;
    hook_fault(t, HD_ILLEGAL_ADDRESS, write ? "write" : "read");
    dbg.fault_shown = interp_debug_epoch(interp_debug_cta(t)) == epoch;
    return dbg.fault_shown;
}

static void hook_wrote(struct interp_thread *t, uint32_t reg)
{
    assert(holds);
    if (dbg_history_is_of(dbg_cta_of(t)))
        dbg_history_wrote(reg);
    for (size_t i = 0; i < dbg.watches.len && !dbg.watched.kind; i++) {
        struct dbg_watch *w = &dbg.watches.at[i];
        if (w->tid && hook_is_watched_by(w, t, true) &&
            hook_overlap(dbg_sp(t) + (uint64_t)reg * DBG_REG_B, DBG_REG_B, w->address, w->size_B))
            hook_watch_hit(w, t);
    }
}

const struct interp_debug dbg_hooks = {
    .begin = hook_begin,
    .end = hook_end,
    .enter = hook_enter,
    .leave = hook_leave,
    .pass = hook_pass,
    .fault = hook_fault,
    .access = hook_access,
    .wrote = hook_wrote,
};
