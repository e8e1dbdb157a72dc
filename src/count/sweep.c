/*
 * Warps of lanes that are told one by one. Each lane has a trace of what it came to; the warp runs
 * over them again, in the order in which compiled code lets a warp run: it goes through the blocks
 * in the order of the layout, with all lanes that have come to one, and from the end of a loop back
 * to its beginning while lanes want another turn. Where something is, its number says
 * (ir_probe_number), which rises with the layout.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "count/private.h"
#include "analysis/analysis.h"

/* Numbers of the instructions of a loop. */
struct loop {
    uint32_t first, last;
};

struct count_sweep {
    HD_VEC(struct loop) loops;
};

enum { OPERANDS = 4, SETTLE = 1 << 12 /* events of a lane */ };

struct event {
    const struct ir_instr *probe;
    uint64_t operand[OPERANDS];
};

struct lane {
    HD_VEC(struct event) events;
    size_t at; /* events before it are done */
};

struct count_trace {
    struct lane lanes[COUNT_WARP];
    uint32_t now; /* the number of the group that ran last */
};

/* ---- loops */

static bool loops_add(struct count_sweep *sweep, const struct ir_func *func, uint32_t number,
                      struct hd_arena *arena)
{
    struct ir_dom dom;
    struct ir_loops loops;
    uint32_t *end = hd_arena_array(arena, uint32_t, func->nblocks);

    if (!end || ir_dom_compute(func, arena, &dom) != HD_OK ||
        ir_loops_compute(func, &dom, arena, &loops) != HD_OK)
        return false;
    for (uint32_t b = 0; b < func->nblocks; b++) {
        ir_foreach_instr(in, func->blocks[b])
            number++;
        end[b] = number;
    }
    for (uint32_t l = 0; l < loops.nloops; l++) {
        const struct ir_loop *loop = &loops.loops[l];
        assert(loop->header <= loop->last && loop->last < func->nblocks);
        const struct loop range = {loop->header ? end[loop->header - 1] + 1 : 0, end[loop->last]};
        if (!hd_vec_push(&sweep->loops, range))
            return false;
    }
    return true;
}

/* By where they end: of those that end together the inner one. */
static int compare(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;

    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return (x->first < y->first) - (x->first > y->first);
}

struct count_sweep *count_sweep_create(const struct ir_module *module)
{
    struct count_sweep *sweep = hd_new(struct count_sweep);
    struct hd_arena arena;
    uint32_t number = 0;
    bool ok = sweep != NULL;

    hd_arena_init(&arena);
    ir_foreach_func(func, module) {
        ok = ok && (!func->nblocks || loops_add(sweep, func, number, &arena));
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                number++;
    }
    hd_arena_fini(&arena);
    if (!ok) {
        count_sweep_destroy(sweep);
        return NULL;
    }
    if (sweep->loops.len)
        qsort(sweep->loops.at, sweep->loops.len, sizeof(sweep->loops.at[0]), compare);
    return sweep;
}

void count_sweep_destroy(struct count_sweep *sweep)
{
    if (!sweep)
        return;
    hd_vec_fini(&sweep->loops);
    hd_free(sweep);
}

/* ---- the sweep */

static const struct event *next_of(const struct lane *lane)
{
    return lane->at < lane->events.len ? &lane->events.at[lane->at] : NULL;
}

static uint32_t number_of(const struct event *event)
{
    return event ? ir_probe_number(event->probe) : UINT32_MAX;
}

/* The least number that a lane has come to, from `first` on; UINT32_MAX: none. */
static uint32_t least(const struct count_trace *trace, uint32_t first)
{
    uint32_t min = UINT32_MAX;

    for (uint32_t l = 0; l < COUNT_WARP; l++) {
        uint32_t n = number_of(next_of(&trace->lanes[l]));
        if (n >= first)
            min = HD_MIN(min, n);
    }
    return min;
}

static uint32_t choose(const struct count_sweep *sweep, const struct count_trace *trace)
{
    uint32_t ahead = least(trace, trace->now + 1);

    for (size_t i = 0; i < sweep->loops.len; i++) {
        const struct loop *loop = &sweep->loops.at[i];
        if (trace->now < loop->first || trace->now > loop->last || loop->last >= ahead)
            continue;
        uint32_t again = least(trace, loop->first);
        if (again <= loop->last)
            return again;
    }
    return ahead != UINT32_MAX ? ahead : least(trace, 0);
}

static uint32_t lanes_at(const struct count_trace *trace, uint32_t number)
{
    uint32_t lanes = 0;

    for (uint32_t l = 0; l < COUNT_WARP; l++)
        lanes |= (uint32_t)(number_of(next_of(&trace->lanes[l])) == number) << l;
    return lanes;
}

/* The lanes do what they have come to. */
static void run(struct count_cta *cta, uint32_t warp, uint32_t lanes)
{
    struct count_trace *trace = &cta->traces[warp];
    uint64_t words[OPERANDS][COUNT_WARP];
    const uint64_t *operands[OPERANDS + 1] = {words[0], words[1], words[2], words[3], NULL};
    const struct ir_instr *probe = next_of(&trace->lanes[__builtin_ctz(lanes)])->probe;

    for (uint32_t m = lanes; m; m &= m - 1) {
        struct lane *lane = &trace->lanes[__builtin_ctz(m)];
        assert(next_of(lane) && number_of(next_of(lane)) == ir_probe_number(probe));
        for (uint32_t i = 0; i < OPERANDS; i++)
            words[i][__builtin_ctz(m)] = next_of(lane)->operand[i];
        lane->at++;
    }
    count_together(cta, warp, lanes, probe, operands);
}

static bool is_group(const struct event *event)
{
    return event && ir_probe_op(event->probe) == IR_OP_NOTE;
}

/* What the lanes of a group do before they come to the next one. */
static void run_rest(struct count_cta *cta, uint32_t warp, uint32_t lanes)
{
    struct count_trace *trace = &cta->traces[warp];

    for (;;) {
        uint32_t first = UINT32_MAX, now = 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            const struct event *event = next_of(&trace->lanes[__builtin_ctz(m)]);
            if (event && !is_group(event))
                first = HD_MIN(first, number_of(event));
        }
        if (first == UINT32_MAX)
            return;
        now = lanes_at(trace, first) & lanes;
        assert(now);
        run(cta, warp, now);
    }
}

static void step(struct count_cta *cta, uint32_t warp)
{
    struct count_trace *trace = &cta->traces[warp];
    uint32_t number = choose(cta->launch->sweep, trace), lanes = lanes_at(trace, number);

    assert(lanes);
    trace->now = number;
    run(cta, warp, lanes);
    run_rest(cta, warp, lanes);
}

/* ---- traces */

/* Drops what is done. */
static void lane_shift(struct lane *lane)
{
    size_t left = lane->events.len - lane->at;

    assert(lane->at <= lane->events.len);
    if (left)
        memmove(lane->events.at, lane->events.at + lane->at, left * sizeof(lane->events.at[0]));
    lane->events.len = left;
    lane->at = 0;
}

static uint32_t warps_of(const struct count_cta *cta)
{
    return (cta->launch->nthreads + COUNT_WARP - 1) / COUNT_WARP;
}

/* Before long traces take much room: as far as every lane has said where it goes. */
static void settle(struct count_cta *cta, uint32_t warp)
{
    struct count_trace *trace = &cta->traces[warp];
    uint32_t n = HD_MIN(cta->launch->nthreads - warp * COUNT_WARP, (uint32_t)COUNT_WARP);

    assert(warp * COUNT_WARP < cta->launch->nthreads);
    for (;;) {
        /* Two groups ahead, so that what follows the next one is complete. */
        for (uint32_t l = 0; l < n; l++) {
            const struct lane *lane = &trace->lanes[l];
            size_t at = lane->at + 1;
            while (at < lane->events.len && !is_group(&lane->events.at[at]))
                at++;
            if (at >= lane->events.len)
                goto shift;
        }
        step(cta, warp);
    }
shift:
    for (uint32_t l = 0; l < n; l++)
        lane_shift(&trace->lanes[l]);
}

bool count_trace_add(struct count_cta *cta, uint32_t warp, uint32_t lane,
                     const struct ir_instr *probe, const uint64_t *const *operands)
{
    struct event event = {.probe = probe};
    struct lane *to;

    assert(warp < warps_of(cta) && lane < COUNT_WARP);
    if (!cta->traces)
        cta->traces = hd_alloc_array(warps_of(cta), sizeof(*cta->traces));
    if (!cta->traces)
        return false;
    for (uint32_t i = 0; i < OPERANDS && operands[i]; i++)
        event.operand[i] = operands[i][lane];
    to = &cta->traces[warp].lanes[lane];
    if (to->events.len - to->at >= SETTLE && to->events.len % SETTLE == 0)
        settle(cta, warp);
    return hd_vec_push(&to->events, event);
}

void count_trace_finish(struct count_cta *cta)
{
    for (uint32_t w = 0; cta->traces && w < warps_of(cta); w++) {
        while (least(&cta->traces[w], 0) != UINT32_MAX)
            step(cta, w);
        for (uint32_t l = 0; l < COUNT_WARP; l++)
            hd_vec_fini(&cta->traces[w].lanes[l].events);
    }
    hd_free(cta->traces);
}
