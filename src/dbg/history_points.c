/* Points of a history: taking them, and going to one to execute again from there. */
#include "dbg/history.h"

#include <assert.h>

#include "base/mem.h"

enum {
    POINTS_MAX_B = 256 << 20,
    INTERVAL = 1 << 15, /* passes: a tenth of a second */
    ROUND = 64,         /* passes of a warp in a round */
};

struct history history;

bool dbg_history_is_of(const struct dbg_cta *c)
{
    return c && history.cta == c;
}

bool dbg_history_is_on(void)
{
    return history.cta != NULL;
}

bool dbg_history_replays(void)
{
    return history.cta && history.mode != HISTORY_RECORDS;
}

/* ---- points */

void history_points_free(size_t from, size_t to)
{
    assert(from <= to && to <= history.points.len);
    for (size_t i = from; i < to; i++)
        interp_debug_saved_free(history.points.at[i].saved);
    memmove(&history.points.at[from], &history.points.at[to],
            (history.points.len - to) * sizeof(*history.points.at));
    history.points.len -= to - from;
}

size_t history_point_before(uint64_t pass)
{
    size_t i = history.points.len;

    assert(i && history.points.at[0].pass == history.first && pass >= history.first);
    while (i > 1 && history.points.at[i - 1].pass > pass)
        i--;
    return i - 1;
}

/* Every other one goes when they take too much; the first one stays. */
static void points_thin(void)
{
    uint64_t size_B = 0;
    size_t n = 0;

    for (size_t i = 0; i < history.points.len; i++)
        size_B += history.points.at[i].size_B;
    if (size_B <= POINTS_MAX_B || history.points.len < 3)
        return;
    for (size_t i = 0; i < history.points.len; i++) {
        if (i % 2)
            interp_debug_saved_free(history.points.at[i].saved);
        else
            history.points.at[n++] = history.points.at[i];
    }
    history.points.len = n;
    history.interval *= 2;
}

/* The block as it is, before that pass. False: it cannot be. */
bool history_point_take(uint64_t pass)
{
    struct history_point p = {.pass = pass, .writes = history.writes_gone + history.writes.len};
    size_t at = history.points.len ? history_point_before(pass) + 1 : 0;

    assert(history.cta && pass <= history_last());
    if (!hd_vec_reserve(&history.points, history.points.len + 1))
        return false;
    p.saved = interp_debug_save(history.cta->cta);
    if (!p.saved)
        return false;
    p.size_B = interp_debug_saved_B(p.saved);
    memcpy(p.parted, history.cta->parted, sizeof(p.parted));
    memmove(&history.points.at[at + 1], &history.points.at[at],
            (history.points.len - at) * sizeof(p));
    history.points.at[at] = p;
    history.points.len++;
    points_thin();
    return true;
}

void dbg_history_end(void)
{
    assert(dbg_is_locked());
    history_points_free(0, history.points.len);
    hd_vec_fini(&history.points);
    hd_vec_fini(&history.passes);
    hd_buf_fini(&history.writes);
    history = (struct history){0};
}

bool dbg_history_begin(struct dbg_cta *c)
{
    assert(dbg_is_locked() && c);
    dbg_history_end();
    history.cta = c;
    history.interval = INTERVAL;
    hd_buf_init(&history.writes);
    if (!history_point_take(0))
        dbg_history_end();
    return history.cta != NULL;
}

/* ---- going to a pass */

bool history_go(enum history_mode mode, uint64_t end, const struct dbg_stop *stop)
{
    const struct history_point *point = &history.points.at[history_point_before(end)];

    assert(end >= history.first && end <= history_last());
    if (mode == HISTORY_SCANS && point->pass == end)
        point--;
    assert(point >= history.points.at && point->pass <= end);
    history_log_undo(point->writes);
    if (!interp_debug_restore(history.cta->cta, point->saved)) {
        dbg_history_end();
        return false;
    }
    memset(history.cta->passed, 0, sizeof(history.cta->passed));
    memcpy(history.cta->parted, point->parted, sizeof(point->parted));
    dbg.watched.kind = DBG_STOP_NONE;
    history.mode = mode;
    history.is_torn = false;
    history.is_fresh = true;
    history.next = point->pass;
    history.end = end;
    history.questions = 0;
    history.stop = *stop;
    history.keeps_ahead = false;
    history.nplan = 0;
    if (mode == HISTORY_GOES) {
        /* Closer and closer before the end. */
        const uint64_t from = point->pass;
        uint64_t distance =
            ROUND * (uint64_t)HD_MAX((interp_debug_nthreads(history.cta->cta) + 31) / 32, 1u);

        assert(from <= end);
        history.nplan = 0;
        for (; history.nplan < HISTORY_PLAN && end - from > distance; distance *= 4)
            history.plan[history.nplan++] = end - distance;
    }
    return true;
}
