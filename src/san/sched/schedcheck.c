/* Launches that are run again, and what of them is saved; the tool. */
#include "san/sched/schedcheck.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "hal/hal.h"
#include "san/lanes.h"
#include "san/options.h"
#include "san/range.h"

static struct {
    _Atomic uint64_t launches;
    _Atomic uint64_t skipped[SCHED_SKIP_COUNT];
} totals;

/* ---- what a kernel does */

struct traits {
    bool uses_heap, uses_runtime, writes_unseen;
    unsigned floats; /* widths */
};

static unsigned float_width(enum ir_type type)
{
    unsigned bits = ir_type_bits(type);

    switch (type) {
    case IR_F32:
    case IR_F64:
        return bits / 8;
    case IR_F16:
    case IR_BF16:
    case IR_F16X2:
    case IR_BF16X2:
        return 2;
    default:
        return 0;
    }
}

static void note_instr(struct traits *t, const struct ir_instr *in)
{
    bool computes = ir_op_has(in->op, IR_F_FLOAT) || in->op == IR_OP_ATOM ||
                    in->op == IR_OP_REDUCE || in->op == IR_OP_CVT || in->op == IR_OP_MULTIMEM;

    if (computes)
        t->floats |= float_width(in->type);
    if (in->op == IR_OP_MMA || in->op == IR_OP_TENSOR || in->op == IR_OP_TENSOR_WARP)
        t->floats |= 2 | 4 | 8;
    t->writes_unseen |= in->op == IR_OP_TEX || in->op == IR_OP_TENSORCOPY ||
                        in->op == IR_OP_MULTIMEM || in->op == IR_OP_TENSOR;
    if (in->op == IR_OP_BUILTIN) {
        t->uses_heap |= in->imm == IR_BUILTIN_MALLOC || in->imm == IR_BUILTIN_FREE;
        t->uses_runtime |= in->imm == IR_BUILTIN_RUNTIME;
    }
}

/* ---- launches */

static void skip(struct sched_launch *own, enum sched_skip why)
{
    if (own->skip == SCHED_NONE)
        own->skip = why;
}

static enum sched_skip prepare(struct sched_launch *own, struct san_launch *launch)
{
    struct traits t = {0};
    ir_foreach_func(func, launch->about.kernel->module) {
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                note_instr(&t, in);
    }

    own->memory.floats = t.floats;
    if (t.uses_heap)
        return SCHED_HEAP;
    if (t.uses_runtime)
        return SCHED_RUNTIME;
    if (!sched_search_begin(launch))
        return SCHED_SINGLE;
    return t.writes_unseen ? sched_memory_touch_all(&own->memory) : SCHED_NONE;
}

static void launch_end(struct san_launch *launch)
{
    struct sched_launch *own = sched_launch_of(launch);

    if (!own)
        return;
    assert(own->skip < SCHED_SKIP_COUNT);
    atomic_fetch_add(&totals.skipped[own->skip], 1);
    atomic_fetch_add(&totals.launches, own->skip == SCHED_NONE);
    sched_search_fini(&own->search);
    sched_memory_fini(&own->memory);
    hd_vec_fini(&own->ranged);
    hd_free(own);
    launch->own[SAN_SCHEDCHECK] = NULL;
}

static bool launch_begin(struct san_launch *launch)
{
    struct sched_launch *own = hd_new(struct sched_launch);

    if (!own)
        return false;
    launch->own[SAN_SCHEDCHECK] = own;
    own->begin_ns = hal_time_ns();
    own->nwarps = (launch->nthreads + 31) / 32;
    own->memory.picture = san_memory_of_launch(launch->about.correlation).memory;
    if (!own->memory.picture) {
        launch_end(launch);
        return false;
    }
    own->skip = prepare(own, launch);
    return true;
}

static bool wants_runs(struct san_launch *launch)
{
    return sched_launch_of(launch)->skip == SCHED_NONE;
}

static void give_up(struct san_launch *launch, bool waits)
{
    skip(sched_launch_of(launch), waits ? SCHED_WAITING : SCHED_BUSY);
}

static const struct ir_schedule *next_run(struct san_launch *launch, enum hd_status ended)
{
    return sched_search_next(launch, ended);
}

/* ---- accesses */

static void touch(struct san_cta *cta, const struct san_access *a, uint64_t va)
{
    struct sched_launch *own = sched_launch_of(cta->launch);
    struct sched_part *part = NULL;
    enum sched_skip why;

    const struct ir_probe_launch *about = &cta->launch->about;
    if (about->workspace && va - (uintptr_t)about->workspace < about->workspace_B)
        return;
    why = sched_memory_touch(&own->memory, va, &part);
    skip(own, why);
    if (!part)
        return;
    own->near[a->number % HD_COUNT_OF(own->near)] = part;
    if (!own->search.traced && san_range_is_open(cta, a) && hd_vec_push(&own->ranged, a->number))
        san_range_set(cta, a, part->base, part->size_B);
}

static enum hd_status access(struct san_cta *cta, const struct san_access *a)
{
    struct sched_launch *own = sched_launch_of(cta->launch);
    const struct sched_part *near;

    if (a->what == SAN_READ || a->space != IR_SPACE_GLOBAL || own->skip != SCHED_NONE)
        return HD_OK;
    if (HD_UNLIKELY(own->search.traced))
        sched_trace(cta, a);
    near = own->near[a->number % HD_COUNT_OF(own->near)];
    if (near && san_lanes_are_in(a, near->base, near->size_B))
        return HD_OK;
    san_foreach_lane(lane, a->lanes)
        touch(cta, a, a->address[lane]);
    return HD_OK;
}

static void heap_alloc(struct san_cta *cta, const struct san_sync *at, const uint64_t *address,
                       const uint64_t *size_B)
{
    (void)cta;
    san_foreach_lane(lane, at->lanes)
        if (address[lane] && size_B[lane])
            sched_heap_add(address[lane], size_B[lane]);
}

static enum hd_status heap_free(struct san_cta *cta, const struct san_sync *at,
                                const uint64_t *address)
{
    (void)cta;
    san_foreach_lane(lane, at->lanes)
        sched_heap_remove(address[lane]);
    return HD_OK;
}

/* ---- the process */

static bool start(void)
{
    san_memory_start(SAN_SCHEDCHECK, NULL);
    hal_serial_start();
    return true;
}

static void host(const struct heddle_event *event)
{
    san_memory_host(SAN_SCHEDCHECK, event);
}

static void finish(void)
{
    static const char *const names[] = {
#define X(name, text) "skipped: " text,
        SCHED_SKIP_LIST(X)
#undef X
    };

    san_summary("schedcheck", "launches", atomic_load(&totals.launches));
    sched_runs_summary();
    for (unsigned i = SCHED_SINGLE + 1; i < SCHED_SKIP_COUNT; i++)
        if (atomic_load(&totals.skipped[i]))
            san_summary("schedcheck", names[i], atomic_load(&totals.skipped[i]));
}

const struct san_tool san_schedcheck = {
    .id = SAN_SCHEDCHECK,
    .probes = IR_PROBE_WRITES | IR_PROBE_HEAP | IR_PROBE_APART,
    .start = start,
    .launch_begin = launch_begin,
    .launch_end = launch_end,
    .wants_runs = wants_runs,
    .give_up = give_up,
    .next_run = next_run,
    .access = access,
    .heap_alloc = heap_alloc,
    .heap_free = heap_free,
    .events = SAN_MEMORY_EVENTS,
    .host = host,
    .finish = finish,
};
