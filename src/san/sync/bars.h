/*
 * The barriers of a CTA as its threads come to them: a model of bar.sync, bar.arrive and bar.red
 * for tools, which see a thread before it waits. Each tool has one of its own per CTA.
 *
 * A barrier opens when all living threads have come, or with a count as many as that; a warp that
 * is there with all its living threads counts as a whole one (PTX ISA, bar). The thread that opens
 * it is the last that the tool sees before it: whoever waits has nothing to tell meanwhile.
 *
 * Threads: that of the CTA.
 */
#ifndef HD_SAN_SYNC_BARS_H
#define HD_SAN_SYNC_BARS_H

#include "base/compiler.h"
#include "san/lanes.h"

enum { SAN_BARS = 16 };

struct san_bar {
    uint32_t count;              /* 0: all living threads */
    uint32_t n;                  /* arrivals since it opened last */
    uint32_t come[SAN_WARPS];    /* lanes that wait or have passed bar.arrive */
    uint32_t waiting[SAN_WARPS]; /* those that wait */
    uint32_t by_warp[SAN_WARPS]; /* arrivals */
};

struct san_bars {
    uint32_t nwarps, nlive;      /* nlive: threads that have not ended, as san_bars_end() tells */
    uint32_t live[SAN_WARPS];    /* lanes that have not ended */
    uint32_t blocked[SAN_WARPS]; /* lanes that wait at some barrier */
    struct san_bar bar[SAN_BARS];
};

void san_bars_init(struct san_bars *bars, uint32_t nthreads);
/* Some lanes come; true: the barrier opens, and san_bar_open() is to follow. */
bool san_bar_come(struct san_bars *bars, uint32_t id, uint32_t count, uint32_t warp, uint32_t lanes,
                  bool waits) HD_MUST_CHECK;
/* Lanes have ended. */
void san_bars_end(struct san_bars *bars, uint32_t warp, uint32_t lanes);
/* Would it open now? After threads have ended. */
bool san_bar_is_full(const struct san_bars *bars, uint32_t id);
/* Nobody waits there any more. */
void san_bar_open(struct san_bars *bars, uint32_t id);
/* Do all living threads of the CTA wait there or have arrived? */
bool san_bar_has_all(const struct san_bars *bars, uint32_t id);
/* The barrier where a lane waits; SAN_BARS: none. */
uint32_t san_bar_of(const struct san_bars *bars, uint32_t warp, uint32_t lane);

#endif
