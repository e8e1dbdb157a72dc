/*
 * What `reverse-continue` goes to: the last breakpoint, or write of a watched variable, before a
 * pass.
 *
 * Breakpoints without a condition are found in the list of passes, and writes to memory in the log.
 * That is `known`. Conditions, reads, and registers are seen only when passes are executed again:
 * so the stretches between points are scanned, from the last one back to what is known, but for
 * those where nothing can be.
 *
 * At a write the program stops before the pass that does it, which may be in the middle of an
 * instruction: other warps have come that far then.
 */
#include "dbg/history.h"

#include <assert.h>

static const struct interp_thread *watcher(const struct dbg_watch *w)
{
    return w->tid ? dbg_thread(w->tid) : interp_debug_thread(history.cta->cta, 0);
}

static bool is_register(const struct dbg_watch *w)
{
    return w->tid && (w->address & (DBG_FRAME_B - 1)) < DBG_LOCALS;
}

static uint32_t register_of(const struct dbg_watch *w)
{
    assert(is_register(w));
    return (uint32_t)((w->address & (DBG_FRAME_B - 1)) / DBG_REG_B);
}

/* May the pass write to the register that is watched? */
static bool may_write(const struct history_pass *pass, const struct dbg_watch *w)
{
    uint32_t index = (uint32_t)((w->tid - DBG_FIRST_TID) % DBG_CTA_THREADS);

    return (pass->reg == register_of(w) + 1 || pass->reg == HISTORY_MANY_REGS) &&
           pass->warp == index / 32 && pass->lanes >> index % 32 & 1;
}

static struct dbg_stop watch_stop(const struct dbg_watch *w, uint64_t tid)
{
    return (struct dbg_stop){
        .kind = DBG_STOP_WATCH, .tid = tid, .signal = 5, .address = w->address, .watch = w->kind};
}

/* ---- what is known */

static void know(uint64_t pass, const struct dbg_stop *stop)
{
    assert(pass >= history.first && pass < history_last());
    if (history.is_known && pass <= history.known)
        return;
    history.is_known = true;
    history.known = pass;
    history.known_stop = *stop;
}

static void know_breaks(uint64_t before)
{
    for (uint64_t i = before; dbg.breaks.len && i > history.first; i--) {
        const struct history_pass *pass = history_at(i - 1);
        const struct dbg_breakpoint *b = pass->pc ? dbg_break_at(pass->pc) : NULL;
        if (!b || b->conditions.len)
            continue;
        know(i - 1, &(struct dbg_stop){.kind = DBG_STOP_BREAK});
        return;
    }
}

/* Where a watched variable is, as long as it is at the same place; else it is looked for. */
static uint64_t place_of(const struct dbg_watch *w)
{
    struct interp_thread *t = (struct interp_thread *)(uintptr_t)watcher(w);
    uint64_t space = w->address >> DBG_SPACE_SHIFT << DBG_SPACE_SHIFT;

    if (is_register(w) || (space == DBG_STACK && !t))
        return 0;
    return dbg_host_address(t, w->address);
}

static void know_writes(struct dbg_watch *w)
{
    uint64_t pass;
    uint32_t thread;

    w->host = w->kind == '3' ? 0 : place_of(w);
    if (!w->host ||
        !history_log_find(w->host, w->size_B, w->kind == '2',
                          history.is_known ? history.known : history.first, &pass, &thread))
        return;
    uint64_t tid = DBG_FIRST_TID + history.cta->serial * DBG_CTA_THREADS + thread;
    if (w->tid && w->tid != tid) /* somebody else, through a pointer */
        return;
    struct dbg_stop stop = watch_stop(w, tid);
    know(pass, &stop);
}

/* ---- scans */

/* Can anything be in these passes that only executing them shows? */
static bool is_worth_it(uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < dbg.watches.len; i++) {
        const struct dbg_watch *w = &dbg.watches.at[i];
        if (!is_register(w) && (w->kind != '2' || !w->host))
            return true;
        for (uint64_t k = from; k < to && is_register(w); k++)
            if (may_write(history_at(k), w))
                return true;
    }
    for (uint64_t k = from; k < to && dbg.breaks.len; k++) {
        const struct history_pass *pass = history_at(k);
        const struct dbg_breakpoint *b = pass->pc ? dbg_break_at(pass->pc) : NULL;
        if (b && b->conditions.len)
            return true;
    }
    return false;
}

/* Stretches before `end`, until one is to be scanned or what is known comes. */
static bool find_from(uint64_t end)
{
    struct dbg_stop begin = {.kind = DBG_STOP_BEGIN, .tid = dbg.focus, .signal = 5};

    while (end > history.first) {
        uint64_t from = history.points.at[history_point_before(end - 1)].pass;
        if (is_worth_it(from, end)) {
            history.is_found = false;
            if (!history_go(HISTORY_SCANS, end, &(struct dbg_stop){0}))
                return false;
            /* What registers hold where a scan begins: writing the same again is no change. */
            for (size_t i = 0; i < dbg.watches.len; i++) {
                struct dbg_watch *w = &dbg.watches.at[i];
                struct interp_thread *t = is_register(w) ? dbg_thread(w->tid) : NULL;
                w->is_known = t && w->size_B <= sizeof(w->value) &&
                              dbg_read(t, w->address, &w->value, w->size_B) == w->size_B;
            }
            return true;
        }
        if (history.is_known && history.known >= from)
            break;
        end = from;
    }
    return history.is_known ? history_go(HISTORY_GOES, history.known, &history.known_stop)
                            : history_go(HISTORY_GOES, history.first, &begin);
}

bool history_find(uint64_t before)
{
    assert(dbg_is_locked() && before >= history.first && before <= history_last());
    history.is_known = false;
    know_breaks(before);
    for (size_t i = 0; i < dbg.watches.len; i++)
        know_writes(&dbg.watches.at[i]);
    return find_from(history.is_torn && before == history_last() ? before - 1 : before);
}

bool history_find_on(void)
{
    assert(history.mode == HISTORY_SCANS && history.end > history.first);
    uint64_t from = history.points.at[history_point_before(history.end - 1)].pass;

    if (history.is_found && !(history.is_known && history.known >= history.found))
        return history_go(HISTORY_GOES, history.found, &history.found_stop);
    if (history.is_known && history.known >= from)
        return history_go(HISTORY_GOES, history.known, &history.known_stop);
    return find_from(from);
}

static void find(uint64_t pass, const struct dbg_stop *stop)
{
    history.is_found = true;
    history.found = pass;
    history.found_stop = *stop;
}

void history_find_break(const struct dbg_pass *p, uint64_t pass)
{
    struct dbg_stop stop;

    if (dbg_breaks(p, history_at(pass)->lanes, &stop))
        find(pass, &stop);
}

/* The value is another one than before. */
static bool changes(struct dbg_watch *w, struct interp_thread *t)
{
    uint64_t value = 0, before = w->value;
    bool was_known = w->is_known;

    if (!is_register(w) || w->size_B > sizeof(value) ||
        dbg_read(t, w->address, &value, w->size_B) != w->size_B)
        return true;
    w->is_known = true;
    w->value = value;
    return !was_known || value != before;
}

void dbg_history_watch(struct dbg_watch *w, struct interp_thread *t)
{
    struct dbg_stop stop = watch_stop(w, dbg_tid(t));

    assert(dbg_history_replays() && history.next > history.first);
    if (history.mode == HISTORY_SCANS && !(w->kind == '2' && w->host) && changes(w, t))
        find(history.next - 1, &stop);
}

bool history_find_step(uint64_t from, uint64_t tid, struct dbg_stop *out)
{
    for (size_t i = 0; i < dbg.watches.len; i++) {
        struct dbg_watch *w = &dbg.watches.at[i];
        uint64_t host = place_of(w), pass;
        uint32_t thread;
        bool hit = host && w->kind != '3' &&
                   history_log_find(host, w->size_B, w->kind == '2', from, &pass, &thread);
        for (uint64_t k = from; k < history_last() && is_register(w) && !hit; k++)
            hit = may_write(history_at(k), w);
        if (!hit)
            continue;
        *out = watch_stop(w, tid);
        return true;
    }
    return false;
}
