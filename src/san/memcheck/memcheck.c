/* Accesses of kernels: within what they may touch, and aligned. */
#include "san/memcheck/memcheck.h"

#include <assert.h>

#include "base/mem.h"
#include "san/lanes.h"
#include "san/options.h"
#include "san/range.h"

/* ---- launches */

static bool mem_launch_begin(struct san_launch *launch)
{
    struct memcheck_launch *own = hd_new(struct memcheck_launch);
    struct san_memory_launch from;

    assert(!launch->own[SAN_MEMCHECK]);
    if (!own)
        return false;
    from = san_memory_of_launch(launch->about.correlation);
    own->memory = from.memory;
    own->context = from.context;
    own->is_late = from.is_late;
    own->position = memcheck_order_of_launch(launch->about.correlation);
    if (!own->memory) {
        hd_free(own);
        return false;
    }
    launch->own[SAN_MEMCHECK] = own;
    return true;
}

static void mem_launch_end(struct san_launch *launch)
{
    struct memcheck_launch *own = launch->own[SAN_MEMCHECK];

    if (!own)
        return;
    san_memory_unref(own->memory);
    hd_free(own);
    launch->own[SAN_MEMCHECK] = NULL;
}

/* ---- lane by lane */

static void mem_failed(struct san_cta *cta)
{
    if (!atomic_exchange(&memcheck_launch_of(cta)->failed, true))
        memcheck_fault_expect(cta->launch);
}

static bool mem_contains(const struct san_block *block, uint64_t va, uint64_t size_B)
{
    return block && va - block->base <= block->size_B &&
           size_B <= block->size_B - (va - block->base);
}

/* What one mapping ends, the next may go on with. */
static bool mem_is_in_mappings(const struct san_memory *memory, uint64_t va, uint64_t size_B)
{
    struct san_block *block = san_memory_find(memory, va);

    while (block && block->use == HEDDLE_MEMORY_MAPPED) {
        uint64_t room_B = block->size_B - (va - block->base);

        if (size_B <= room_B)
            return true;
        va += room_B;
        size_B -= room_B;
        block = san_memory_find(memory, va);
    }
    return false;
}

/* Memory of the launch's picture is the rule; the rest is slower. */
static bool mem_is_allowed(const struct san_cta *cta, uint64_t va, uint64_t size_B)
{
    const struct memcheck_launch *own = memcheck_launch_of(cta);
    const struct ir_probe_launch *about = &cta->launch->about;
    uint64_t workspace = (uintptr_t)about->workspace;
    struct san_block *late, *freed;
    bool fine;

    if (about->workspace && va - workspace < about->workspace_B)
        return true;
    if (mem_contains(san_memory_find(own->memory, va), va, size_B) ||
        memcheck_heap_has(va, size_B) || mem_is_in_mappings(own->memory, va, size_B))
        return true;
    /* A kernel that runs for long may be told of memory that is newer than it; but not in a stream.
     */
    late = san_memory_live(va);
    fine = mem_contains(late, va, size_B) && !late->stream;
    san_block_unref(late);
    if (!fine && own->is_late) {
        freed = san_memory_freed(va);
        fine = mem_contains(freed, va, size_B) && freed->is_freed_in_stream;
        san_block_unref(freed);
    }
    return fine || san_memory_is_incomplete();
}

static bool mem_is_aligned(const struct san_access *a, uint64_t va)
{
    uint64_t align_B = a->align_B & -a->align_B;

    return align_B <= 1 || !(va & (align_B - 1));
}

/* What is wrong with lanes: masks. */
struct wrong {
    uint32_t outside, early, late;
};

static enum memcheck_why mem_why_of(const struct wrong *wrong, const struct san_access *a,
                                    uint32_t lane)
{
    if (!mem_is_aligned(a, a->address[lane]))
        return MEMCHECK_MISALIGNED;
    if (wrong->outside >> lane & 1)
        return MEMCHECK_OUTSIDE;
    if (wrong->early >> lane & 1)
        return MEMCHECK_EARLY;
    return wrong->late >> lane & 1 ? MEMCHECK_LATE : MEMCHECK_FINE;
}

/*
 * Tells of each lane that is wrong. A launch goes on only when there is none; a free that may come
 * too early is told by the free itself, where that is later, so it ends nothing.
 */
static enum hd_status mem_lanes_report(struct san_cta *cta, const struct san_access *a,
                                       const struct wrong *wrong)
{
    enum hd_status status = HD_OK;

    san_foreach_lane(lane, a->lanes) {
        enum memcheck_why why = mem_why_of(wrong, a, lane);

        if (why == MEMCHECK_FINE)
            continue;
        memcheck_report(cta, a, lane, why);
        if (status == HD_OK && why != MEMCHECK_LATE)
            status = why == MEMCHECK_MISALIGNED ? HD_MISALIGNED : HD_ILLEGAL_ADDRESS;
    }
    if (status != HD_OK)
        mem_failed(cta);
    return status;
}

static uint32_t mem_lanes_in(const struct san_access *a, const struct san_block *block,
                             uint32_t lanes)
{
    uint32_t result = 0;

    san_foreach_lane(lane, lanes)
        result |= (uint32_t)mem_contains(block, a->address[lane], a->size_B) << lane;
    return result;
}

static enum hd_status mem_global_slow(struct san_cta *cta, const struct san_access *a)
{
    struct memcheck_launch *own = memcheck_launch_of(cta);
    struct san_block *block = NULL;
    struct wrong wrong = {0};
    uint32_t left = a->lanes;

    while (left) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), here;

        block = san_memory_find(own->memory, a->address[lane]);
        here = mem_lanes_in(a, block, left);
        if (here >> lane & 1) {
            enum memcheck_why why = memcheck_order_use(block, &own->position);

            wrong.early |= why == MEMCHECK_EARLY ? here : 0;
            wrong.late |= why == MEMCHECK_LATE ? here : 0;
            left &= ~here;
        } else {
            wrong.outside |= (uint32_t)!mem_is_allowed(cta, a->address[lane], a->size_B) << lane;
            left &= left - 1;
        }
    }
    if (block && !(wrong.early | wrong.late))
        atomic_store_explicit(&own->near[a->number % MEMCHECK_NEAR], block, memory_order_relaxed);
    if (block && !(wrong.outside | wrong.early | wrong.late) &&
        san_lanes_are_in(a, block->base, block->size_B))
        san_range_set(cta, a, block->base, block->size_B);
    return mem_lanes_report(cta, a, &wrong);
}

static enum hd_status mem_global_access(struct san_cta *cta, const struct san_access *a)
{
    struct memcheck_launch *own = memcheck_launch_of(cta);
    const struct san_block *block =
        atomic_load_explicit(&own->near[a->number % MEMCHECK_NEAR], memory_order_relaxed);

    if (HD_LIKELY(block && san_lanes_are_in(a, block->base, block->size_B) &&
                  san_lanes_are_aligned(a))) {
        /* Memory that is freed meanwhile is freed in a stream, behind the launch. */
        san_range_set(cta, a, block->base, block->size_B);
        return HD_OK;
    }
    return mem_global_slow(cta, a);
}

/* A window: addresses from 0 on. */
static enum hd_status mem_window_access(struct san_cta *cta, const struct san_access *a,
                                        uint64_t size_B)
{
    struct wrong wrong = {0};

    if (HD_LIKELY(san_lanes_are_in(a, 0, size_B) && san_lanes_are_aligned(a))) {
        san_range_set(cta, a, 0, size_B);
        return HD_OK;
    }
    san_foreach_lane(lane, a->lanes)
        if (a->address[lane] > size_B || a->size_B > size_B - a->address[lane])
            wrong.outside |= 1u << lane;
    return mem_lanes_report(cta, a, &wrong);
}

/* cp.async.bulk and kin: other copies are of 16 bytes at most. */
static bool mem_is_bulk(const struct san_access *a)
{
    enum ir_op op = ir_probe_op(a->probe);

    return (op == IR_OP_COPY || op == IR_OP_REDUCE) && a->size_B > 16;
}

/* Replicas of a multicast object: the program need not have mapped their memory. */
static bool mem_is_replica(const struct san_access *a)
{
    return ir_probe_op(a->probe) == IR_OP_MULTIMEM && a->space == IR_SPACE_GLOBAL;
}

static enum hd_status mem_access(struct san_cta *cta, const struct san_access *a)
{
    const struct ir_probe_launch *about = &cta->launch->about;

    assert(a->lanes && a->size_B);
    if (mem_is_replica(a))
        return HD_OK;
    if (mem_is_bulk(a) && !san_options()->check_bulk_copy)
        return HD_OK;
    switch (a->space) {
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        return mem_global_access(cta, a);
    case IR_SPACE_SHARED:
        return mem_window_access(cta, a, about->shared_B);
    case IR_SPACE_LOCAL: /* where windows are not known, their size is not either */
        return cta->base->local ? mem_window_access(cta, a, cta->base->local_B) : HD_OK;
    case IR_SPACE_PARAM:
        return mem_window_access(cta, a, about->kernel->param_size_B);
    default:
        return HD_OK;
    }
}

static enum hd_status mem_refused(struct san_cta *cta, const struct san_refusal *refusal)
{
    assert(refusal->status != HD_OK);
    memcheck_report_refused(cta, refusal);
    mem_failed(cta);
    return refusal->status;
}

static enum hd_status mem_heap_free(struct san_cta *cta, const struct san_sync *at,
                                    const uint64_t *address)
{
    enum hd_status status = memcheck_heap_free(cta, at, address);

    if (status != HD_OK)
        mem_failed(cta);
    return status;
}

static bool mem_start(void)
{
    san_memory_start(SAN_MEMCHECK, memcheck_gone);
    return true;
}

const struct san_tool san_memcheck = {
    .id = SAN_MEMCHECK,
    .probes = IR_PROBE_GLOBAL | IR_PROBE_SHARED | IR_PROBE_LOCAL | IR_PROBE_HEAP | IR_PROBE_TENSOR,
    .start = mem_start,
    .launch_begin = mem_launch_begin,
    .launch_end = mem_launch_end,
    .access = mem_access,
    .refused = mem_refused,
    .failed = mem_failed,
    .heap_alloc = memcheck_heap_alloc,
    .heap_free = mem_heap_free,
    .events = SAN_MEMORY_EVENTS | HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME) | HEDDLE_KIND(FAULT),
    .host = memcheck_host,
    .finish = memcheck_finish,
};
