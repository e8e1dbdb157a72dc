/*
 * Memory of streams used outside of its life: before the allocation is complete, or after somebody
 * may have freed it. A launch is in its stream's order (order.h), and so are allocations and frees.
 *
 *     alloc A ─────────── free A      stream S
 *          └─ event ─► use ─ event ─┘ stream T: fine with both events only
 *
 * A use that comes before the free on the host is noted in the block, and looked at when the free
 * comes; one that comes later looks at the free.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "base/lock.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memcheck/memcheck.h"
#include "san/options.h"
#include "san/order.h"

enum { LAUNCHES = 1024 };

/* Of a block that a stream allocated. Freed by memory.c, so it holds nothing else. */
struct memcheck_order {
    struct san_order_op made, gone;
    struct san_order_clock gone_after; /* what is before the free; set before is_gone */
    _Atomic bool is_gone, is_reported;
    _Atomic uint64_t used[SAN_ORDER_STREAMS]; /* the last launches that use it */
};

/* Launches that were submitted, by correlation. */
struct submitted {
    uint32_t correlation;
    struct san_order_position position;
};

static struct {
    pthread_mutex_t lock;
    struct submitted *launches; /* LAUNCHES; NULL: nothing of streams yet */
} order = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(order, order.lock);

static bool is_tracked(enum san_stream_races what)
{
    return san_options()->stream_races & (unsigned)what;
}

/* ---- launches */

void memcheck_order_packet(const struct heddle_event *e)
{
    struct submitted s = {.correlation = (uint32_t)e->correlation};

    if (!is_tracked(SAN_STREAM_RACES_ALL) || !san_order_packet(e, &s.position) ||
        e->packet.op != HAL_OP_DISPATCH)
        return;
    pthread_mutex_lock(&order.lock);
    if (!order.launches)
        order.launches = hd_alloc_array(LAUNCHES, sizeof(*order.launches));
    if (order.launches)
        order.launches[e->correlation % LAUNCHES] = s;
    pthread_mutex_unlock(&order.lock);
}

struct san_order_position memcheck_order_of_launch(uint64_t correlation)
{
    struct san_order_position position = {0};

    pthread_mutex_lock(&order.lock);
    if (correlation && order.launches &&
        order.launches[correlation % LAUNCHES].correlation == (uint32_t)correlation)
        position = order.launches[correlation % LAUNCHES].position;
    pthread_mutex_unlock(&order.lock);
    return position;
}

/* ---- uses */

static bool is_after_free(const struct memcheck_order *o, const struct san_order_position *position)
{
    return atomic_load_explicit(&o->is_gone, memory_order_acquire) &&
           !san_order_is_before(position->op, &o->gone_after);
}

enum memcheck_why memcheck_order_use(const struct san_block *block,
                                     const struct san_order_position *position)
{
    struct memcheck_order *o = block->order;

    if (!o || !position->op.number)
        return MEMCHECK_FINE;
    const struct san_order_op *op = &position->op;
    uint64_t seen = atomic_load_explicit(&o->used[op->stream], memory_order_relaxed);
    assert(op->stream < SAN_ORDER_STREAMS && op->number);
    while (seen < op->number &&
           !atomic_compare_exchange_weak(&o->used[op->stream], &seen, op->number))
        ;
    if (is_tracked(SAN_STREAM_RACES_BEFORE) && !san_order_is_before(o->made, &position->after))
        return MEMCHECK_EARLY;
    if (is_tracked(SAN_STREAM_RACES_AFTER) && is_after_free(o, position) &&
        !atomic_exchange(&o->is_reported, true))
        return MEMCHECK_LATE;
    return MEMCHECK_FINE;
}

/* ---- allocations and frees */

static void on_alloc(const struct heddle_event *e)
{
    struct san_block *block = san_memory_live(e->memory.va);
    struct san_order_clock after;

    if (block && !block->order && (block->order = hd_new(struct memcheck_order)))
        block->order->made = san_order_submit(e, &after);
    san_block_unref(block);
}

static void report_free(const struct san_block *block, const char *kind, const char *why)
{
    struct san_stack stack;
    struct san_finding f = {.tool = "memcheck",
                            .kind = kind,
                            .severity = SAN_ERROR,
                            .address = block->base,
                            .has_address = true,
                            .stack = &stack,
                            .allocated = &block->allocated,
                            .count = 1};

    san_stack_take(&stack);
    snprintf(f.title, sizeof(f.title), "Stream-ordered race: free of 0x%llx of size %llu bytes",
             (unsigned long long)block->base, (unsigned long long)block->size_B);
    san_detail(&f, "%s", why);
    san_report(&f);
}

static bool is_still_used(const struct memcheck_order *o)
{
    for (uint32_t i = 0; i < SAN_ORDER_STREAMS; i++) {
        struct san_order_op use = {i, atomic_load(&((struct memcheck_order *)o)->used[i])};

        if (use.number && !san_order_is_before(use, &o->gone_after))
            return true;
    }
    return false;
}

/* By the host: everything is complete. */
static void on_free(const struct heddle_event *e)
{
    struct san_block *block = san_memory_live(e->memory.va);
    struct memcheck_order *o = block && e->stream ? block->order : NULL;

    if (o) {
        assert(!atomic_load(&o->is_gone)); /* a block goes once */
        o->gone = san_order_submit(e, &o->gone_after);
        atomic_store_explicit(&o->is_gone, true, memory_order_release);
        if (is_tracked(SAN_STREAM_RACES_BEFORE) && !san_order_is_before(o->made, &o->gone_after))
            report_free(block, "stream-free-before-alloc",
                        "The stream does not wait for the allocation, which is in another one");
        if (is_tracked(SAN_STREAM_RACES_AFTER) && is_still_used(o) &&
            !atomic_exchange(&o->is_reported, true))
            report_free(block, "stream-use-after-free",
                        "The stream does not wait for a kernel in another one that uses it");
    }
    san_block_unref(block);
}

void memcheck_order_memory(const struct heddle_event *e, bool before)
{
    if (!is_tracked(SAN_STREAM_RACES_ALL) || !e->stream)
        return;
    if (!e->memory.is_freed && !before)
        on_alloc(e);
    else if (e->memory.is_freed && before)
        on_free(e);
}
