/*
 * The history of one block, shared by the files that make it.
 *
 *     history.c         records passes, and executes them again
 *     history_find.c    which pass to go to
 *     history_points.c  keeps points, and goes to a pass
 *     history_log.c     what memory held before each write
 *
 * A pass is one operation of some lanes of a warp; passes have numbers from the beginning of the
 * history. A point is the block as it was before a pass. To get to pass n, the writes since the
 * last point before it are undone, the block becomes what it was there, and the passes in between
 * are executed again.
 *
 * Points are taken between rounds of the block's warps only, so that what is executed again has
 * the same rhythm. They are INTERVAL passes apart; on the way to a pass, further ones are taken
 * closer and closer before it, since whoever goes back goes back again.
 *
 * Threads: the lock (private.h) is held.
 */
#ifndef HD_DBG_HISTORY_H
#define HD_DBG_HISTORY_H

#include <assert.h>

#include "dbg/private.h"

struct history_pass {
    uint64_t pc;            /* of the first lane that begins an instruction; 0: none */
    uint32_t lanes, starts; /* those that move; those that begin an instruction */
    uint32_t reg;           /* number + 1 of the PTX register that lanes wrote, or one of these */
    uint32_t warp;
};
#define HISTORY_NO_REG    ((uint32_t)0)
#define HISTORY_MANY_REGS UINT32_MAX

struct history_point {
    uint64_t pass;   /* that comes next */
    uint64_t writes; /* bytes of the log before it */
    uint64_t size_B;
    struct interp_saved *saved;
    uint32_t parted[DBG_WARPS];
};

enum history_mode {
    HISTORY_RECORDS,
    HISTORY_GOES,  /* executes again, to `end`, where it stops */
    HISTORY_SCANS, /* the same, to see what happens before `end` */
};

enum { HISTORY_PLAN = 12 };

struct history {
    struct dbg_cta *cta; /* NULL: nothing is recorded */
    uint64_t first;      /* number of passes.at[0] */
    HD_VEC(struct history_pass) passes;
    HD_VEC(struct history_point) points; /* in order; the first is at `first` */
    uint64_t interval;                   /* passes between points */
    bool is_torn;                        /* the last pass was not finished: a fault */
    /* history_log.c */
    struct hd_buf writes;
    uint64_t writes_gone; /* bytes that were before it */
    /* Executing again. */
    enum history_mode mode;
    bool is_fresh; /* the block was changed: its round under way has to end */
    uint64_t next, end;
    uint64_t plan[HISTORY_PLAN]; /* where points are to be taken, the last one first */
    uint32_t nplan;
    unsigned questions;         /* without the pass that comes next */
    struct dbg_stop stop;       /* at `end` */
    bool keeps_ahead, is_ahead; /* passes from `here` on are kept: see dbg_history_back() */
    uint64_t here;
    /* history_find.c: the best that is known so far, and what a scan finds */
    bool is_known, is_found;
    uint64_t known, found;
    struct dbg_stop known_stop, found_stop;
};

extern struct history history;

static inline uint64_t history_last(void) /* number behind the last one */
{
    return history.first + history.passes.len;
}

static inline struct history_pass *history_at(uint64_t pass)
{
    assert(pass >= history.first && pass < history_last());
    return &history.passes.at[pass - history.first];
}

/* ---- history_points.c */
/* The block becomes what it was before pass `end`, where it stops or a scan ends. False: no memory,
 * the history is over. */
bool history_go(enum history_mode mode, uint64_t end, const struct dbg_stop *stop);
size_t history_point_before(uint64_t pass); /* the last one at or before it */
/* The block as it is, before that pass. False: it cannot be. */
bool history_point_take(uint64_t pass);
void history_points_free(size_t from, size_t to);

/* ---- history_log.c */
void history_log_add(const struct interp_thread *t, const void *bytes, const void *old,
                     uint32_t size_B, bool is_window, uint64_t pass);
/* Undoes what was written since the log had that many bytes. */
void history_log_undo(uint64_t writes);
void history_log_forget(uint64_t writes); /* what is before */
/*
 * The last write before the log's end, not before pass `least`, that touches these bytes of the
 * host's memory; `changes`: and changes one of them. False: there is none.
 */
bool history_log_find(uint64_t at, uint64_t size_B, bool changes, uint64_t least,
                      uint64_t *out_pass, uint32_t *out_thread);

/* ---- history_find.c */
/* Goes to the last thing before pass `before` that stops the program. False: as history_go(). */
bool history_find(uint64_t before);
/* A scan is over. */
bool history_find_on(void);
/* What a scan comes by: lanes of pass `pass` at a breakpoint. */
void history_find_break(const struct dbg_pass *p, uint64_t pass);
/* Was a watched variable written from pass `from` on? */
bool history_find_step(uint64_t from, uint64_t tid, struct dbg_stop *out);

#endif
