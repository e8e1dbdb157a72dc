/*
 * The observer of launches that are counted. Compiled code adds to the counters of its CTA
 * (ir_probe_cta.counts) and tells of accesses, the interpreter tells of everything, lane by lane.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "count/private.h"

/* ---- launches */

static void *launch_begin(const struct ir_probe_launch *about)
{
    struct count_launch *launch = hd_new(struct count_launch);

    if (!launch)
        return NULL;
    launch->about = *about;
    launch->nthreads = about->block[0] * about->block[1] * about->block[2];
    launch->nwords = ir_count_words(count_module(launch));
    assert(launch->nthreads);
    launch->begin_ns = hd_clock_ns(CLOCK_MONOTONIC);
    hd_lock_init(&launch->lock, HD_RANK_LEAF, "counters");
    launch->sweep = count_sweep_create(count_module(launch));
    launch->total = hd_alloc_array(launch->nwords + 1, sizeof(uint64_t));
    if (launch->sweep && launch->total)
        return launch;
    count_sweep_destroy(launch->sweep);
    hd_free(launch->total);
    hd_free(launch);
    return NULL;
}

static void launch_end(void *arg)
{
    struct count_launch *launch = arg;
    struct count_slab *slab;

    while ((slab = launch->free)) {
        launch->free = slab->next;
        for (size_t i = 0; i < launch->nwords; i++)
            launch->total[i] += slab->words[i];
        hd_free(slab);
    }
    ir_count_settle(count_module(launch), launch->total);
    count_report(launch, launch->total);
    count_sweep_destroy(launch->sweep);
    hd_lock_fini(&launch->lock);
    hd_free(launch->total);
    hd_free(launch);
}

/* ---- CTAs */

static struct count_slab *slab_take(struct count_launch *launch)
{
    struct count_slab *slab;

    hd_lock_acquire(&launch->lock);
    slab = launch->free;
    if (slab)
        launch->free = slab->next;
    hd_lock_release(&launch->lock);
    return slab ? slab : hd_alloc(sizeof(*slab) + launch->nwords * sizeof(uint64_t));
}

static bool cta_begin(struct ir_probe_cta *base)
{
    struct count_launch *launch = base->launch;
    struct count_cta *cta = hd_new(struct count_cta);

    if (!cta)
        return false;
    *cta = (struct count_cta){.launch = launch, .base = base, .slab = slab_take(launch)};
    if (!cta->slab) {
        hd_free(cta);
        return false;
    }
    base->own = cta;
    base->counts = cta->slab->words;
    return true;
}

static void cta_end(struct ir_probe_cta *base)
{
    struct count_cta *cta = base->own;
    struct count_launch *launch = cta->launch;

    assert(cta->base == base && cta->slab);
    count_trace_finish(cta);
    hd_lock_acquire(&launch->lock);
    cta->slab->next = launch->free;
    launch->free = cta->slab;
    hd_lock_release(&launch->lock);
    hd_free(cta);
}

static enum hd_status no_memory(const struct count_cta *cta)
{
    return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its counters",
                    cta->launch->about.kernel->name);
}

static enum hd_status probe_reported(struct ir_probe_cta *base, uint32_t warp, uint32_t lanes,
                                     const struct ir_instr *probe, const uint64_t *const *operands)
{
    struct count_cta *cta = base->own;

    assert(lanes && cta->base == base);
    if (count_by_lane(cta, lanes, probe, operands))
        return cta->no_memory ? no_memory(cta) : HD_OK;
    /* Only who tells lane by lane tells of groups, and does so first. */
    if (!cta->traces && ir_probe_op(probe) != IR_OP_NOTE) {
        count_together(cta, warp, lanes, probe, operands);
        return HD_OK;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        if (!count_trace_add(cta, warp, (uint32_t)__builtin_ctz(m), probe, operands))
            return no_memory(cta);
    return HD_OK;
}

static const struct ir_observer observer = {
    .adds_up = true,
    .launch_begin = launch_begin,
    .launch_end = launch_end,
    .cta_begin = cta_begin,
    .cta_end = cta_end,
    .probe = probe_reported,
};

const struct ir_observer *count_observer(void)
{
    return &observer;
}
