/*
 * racecheck between launches, copies, fills and the host: accesses of the same memory that no
 * stream, event or wait orders (order.h). docs/decisions/0126 says how.
 *
 *     race_streams.c          launches as they come, begin and end, and what is found between them
 *     race_past.c             those that began: which are unordered with which
 *     race_ops.c              copies and fills: what they access, and who else does
 *     race_host.c             pages that are closed, and what the host does there
 *     race_streams_report.c   findings
 *
 * A launch leaves its epochs in the shadow of global memory (race.h). So two launches meet where
 * the second one finds an epoch of the first; a copy and a launch meet when both are known: as the
 * launch ends, for copies that were submitted before, or as the copy is submitted. Copies are
 * compared with copies.
 *
 * Life. What may be asked of a launch stays, counted, until PASTS others have begun.
 *
 * Threads: any. One mutex for the lists; the lock of a page may be held around it, never inside.
 */
#ifndef HD_SAN_RACE_RACE_STREAMS_H
#define HD_SAN_RACE_RACE_STREAMS_H

#include "san/order.h"
#include "san/race/race.h"

/* ---- for race*.c */

bool race_streams_start(void);
void race_streams_host(const struct heddle_event *event);
void race_streams_begin(struct race_launch *launch);
void race_streams_end(struct race_launch *launch);
static inline bool race_is_own(const struct race_launch *launch, uint32_t serial)
{
    return serial - launch->base < launch->ncta;
}
/* Is all that the launch of this serial, another one, did before this launch? */
bool race_past_is_ordered(struct race_launch *launch, uint32_t serial);
/* An epoch of another launch. Caller holds the page. */
void race_streams_against(struct race_cta *cta, const struct race_hazard *hazard);

/* ---- inside */

/* A probe that a launch met. */
struct race_met {
    uint32_t number;
    const struct ir_instr *at;
};
struct race_past;
typedef HD_VEC(struct race_past *) race_pasts;
struct race_past {
    _Atomic uint32_t refs;
    uint32_t base, n; /* serials */
    struct san_order_position position;
    struct san_launch san;       /* a copy */
    struct race_launch *live;    /* until it ends; the streams' lock */
    bool is_looked_at;           /* by race_host.c; the streams' lock */
    bool reports_host;           /* by memory: the host may know what it did; race_host.c's lock */
    bool is_gone;                /* its module is; the streams' lock */
    HD_VEC(struct race_met) met; /* when it has ended; by number */
    race_pasts unordered;        /* launches that began before it; until it ends */
    HD_VEC(uint32_t) awaited; /* serials of those that it heard of by memory; the streams' lock */
};
struct race_past *race_past_ref(struct race_past *past);
void race_past_unref(struct race_past *past);
/* It has ended: nobody asks any more what it is unordered with. */
void race_past_forget_unordered(struct race_past *past);

/* One side of a race: a thread of a launch, or an operation of the host. */
struct race_op;
struct race_between {
    struct race_past *past[2]; /* references; NULL: the other is an operation */
    struct race_op *op[2];     /* references */
    uint64_t epoch[2];         /* of the thread */
    uint32_t info[2];          /* of its access; of an operation RACE_READS or 0 */
    uint64_t address, count;
    bool is_host; /* the second one is the host itself */
};

/* Bytes in rows. */
struct race_span {
    uint64_t va, width_B, height, pitch_B, depth, slice_B; /* nothing: width_B 0 */
    bool writes;
};
enum { RACE_SPANS = 2 };
/* A copy, a fill, or an access of the host. */
struct race_op {
    _Atomic uint32_t refs;
    struct san_order_position position;
    struct race_span span[RACE_SPANS];
    bool is_looked_at; /* by race_ops_fresh() */
    char name[64];     /* of the call */
    struct san_stack stack;
};
void race_op_unref(struct race_op *op);
typedef HD_VEC(struct race_op *) race_ops;

/* ---- race_past.c */

bool race_pasts_start(void);
/* The lists' lock. */
void race_streams_lock(void);
void race_streams_unlock(void);
bool race_streams_are_locked(void); /* by this thread; for assert() */
/* It begins; the oldest one may have to go. False: no memory. */
bool race_past_insert_locked(struct race_past *past) HD_MUST_CHECK;
/* What it is unordered with: those that began before and are not ordered before it. *low becomes
 * their lowest serial, if that is lower. False: no memory. */
bool race_past_collect_locked(struct race_past *past, uint32_t *low) HD_MUST_CHECK;
/* The launch of a serial that is unordered with this one, which runs; NULL: that one is ordered, or
 * not known. */
struct race_past *race_past_unordered_locked(const struct race_past *past, uint32_t serial);
/* References to launches that have ended and are unordered with that; by serials. */
void race_pasts_collect_locked(const struct san_order_position *position, race_pasts *out);
/* The one of the serial; NULL: it is of none. */
struct race_past *race_pasts_find(const race_pasts *pasts, uint32_t serial);
void race_pasts_fini(race_pasts *pasts);
/* Those that have ended and that the clock does not know; references. */
void race_pasts_unknown_locked(const struct san_order_clock *clock, race_pasts *out);
/* The place of an access; NULL: not known any more. */
const struct ir_instr *race_past_probe_locked(const struct race_past *past, uint32_t number);
/* Was the memory given out between two operations? Then they were not on the same. */
bool race_is_renewed_locked(uint64_t va, struct san_order_op a, struct san_order_op b);
bool race_is_renewed(uint64_t va, struct san_order_op a, struct san_order_op b);
/* Memory was given out. */
void race_memory_is_born(uint64_t va, uint64_t size_B);
/* A module goes: code of what ran may be gone with it. */
void race_pasts_lose_code(void);

/* ---- race_ops.c */

void race_ops_submit(const struct heddle_event *event, const char *call);
void race_ops_launch_end(struct race_past *past);
bool race_ops_start(void);

/* The operations that access the byte and are unordered with what the clock knows; references. */
void race_ops_at(uint64_t va, bool write, const struct san_order_clock *clock, race_ops *out);
/* Those that nobody asked this for before, and that the clock does not know. */
void race_ops_fresh(const struct san_order_clock *clock, race_ops *out);
bool race_op_writes(const struct race_op *op, uint64_t va);
void race_ops_fini(race_ops *list);

/* ---- race_host.c: what the host accesses by itself. No lock is held. */

bool race_host_start(void);
void race_host_call_begin(void); /* the outermost call of a thread */
void race_host_call_end(void);
void race_host_submit(const struct heddle_event *event); /* any PACKET, before it is submitted */
void race_host_retire(const struct heddle_event *event);

/* ---- race_streams_report.c; the lock is not held */

void race_between_report(const struct race_between *between);

#endif
