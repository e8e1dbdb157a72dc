/* Breakpoints that lanes of a warp are at. */
#include "dbg/private.h"

#include <assert.h>

const struct dbg_breakpoint *dbg_break_at(uint64_t pc)
{
    assert(dbg_is_locked());
    for (size_t i = 0; i < dbg.breaks.len; i++)
        if (dbg.breaks.at[i].pc == pc)
            return &dbg.breaks.at[i];
    return NULL;
}

static bool condition_holds(const struct dbg_breakpoint *b, struct interp_thread *t)
{
    bool holds_one = b->conditions.len == 0;

    for (size_t i = 0; i < b->conditions.len && !holds_one; i++)
        holds_one = dbg_condition(t, b->conditions.at[i]);
    return holds_one;
}

static bool lane_breaks(const struct dbg_lane *lane, struct dbg_stop *out)
{
    assert(lane->t || !lane->spot.is_start);
    const struct dbg_breakpoint *b = lane->spot.is_start ? dbg_break_at(dbg_pc(lane->t, 0)) : NULL;

    if (!b || !condition_holds(b, lane->t))
        return false;
    *out = (struct dbg_stop){.kind = DBG_STOP_BREAK, .tid = dbg_tid(lane->t), .signal = 5};
    return true;
}

/* Lanes that are at a breakpoint together stop once: the one that GDB steps or looked at last, if
 * it is among them. */
bool dbg_breaks(const struct dbg_pass *p, uint32_t lanes, struct dbg_stop *out)
{
    uint64_t first = DBG_FIRST_TID + p->cta->serial * DBG_CTA_THREADS + p->warp * 32;
    uint64_t favourite = dbg.step.tid && !dbg.step.is_free ? dbg.step.tid
                         : dbg.home                        ? dbg.home
                                                           : dbg.focus;

    assert(p->warp < DBG_WARPS && p->nlanes <= 32);
    lanes &= ~p->cta->passed[p->warp];
    if (!dbg.breaks.len)
        return false;
    if (favourite >= first && favourite < first + 32 && lanes >> (favourite - first) & 1 &&
        lane_breaks(&p->lanes[favourite - first], out))
        return true;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (lane_breaks(&p->lanes[__builtin_ctz(m)], out))
            return true;
    return false;
}
