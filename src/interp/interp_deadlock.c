/* Who waits where, when nobody will go on. */
#include "interp/interp_priv.h"
#include "interp/interp_shared.h"

#include <stdio.h>

void interp_print_waiters(struct hd_buf *out, uint32_t threads, uint32_t warps)
{
    hd_buf_printf(out, "%u thread%s of warp%s ", threads, threads == 1 ? "" : "s",
                  warps & (warps - 1) ? "s" : "");
    hd_buf_bits(out, warps);
    hd_buf_puts(out, threads == 1 ? " waits" : " wait");
}

void interp_print_at_barrier(struct hd_buf *out, unsigned barrier, uint32_t arrived,
                             uint32_t expected)
{
    hd_buf_printf(out, " at barrier %u, where %u of %u threads have arrived", barrier, arrived,
                  expected);
}

void interp_print_at_cluster(struct hd_buf *out, uint32_t arrived, uint32_t expected)
{
    hd_buf_printf(out, " at the cluster's barrier, where %u of %u threads have arrived", arrived,
                  expected);
}

/* What a thread waits at: a running one at what it polled by, wherever it is in its loop. */
static const struct ir_instr *at(const struct interp_thread *t)
{
    if (t->state == INTERP_ENDED)
        return NULL;
    return t->state == INTERP_RUN && t->polls ? t->polls : t->frame->pc;
}

static void print_where(struct hd_buf *out, const struct interp_thread *t)
{
    const struct ir_instr *in = at(t);
    const struct interp_bar *bar = &t->cta->bars[t->bar];

    if (t->state == INTERP_WAIT_BAR)
        interp_print_at_barrier(out, t->bar, bar->arrived, bar->count ? bar->count : t->cta->live);
    else if (t->state == INTERP_WAIT_CLUSTER)
        interp_print_at_cluster(out, t->cta->cluster->arrived, t->cta->cluster->live);
    else if (t->state == INTERP_WAIT_WARP)
        hd_buf_printf(out, " at %s for the lanes of mask %#x", ir_op_infos[in->op].name, t->mask);
    else
        hd_buf_printf(out, " in a loop with %s", ir_op_infos[in->op].name);
    if (!in->srcloc.line)
        return;
    hd_buf_puts(out, ", ");
    ir_print_source(t->cta->run->module, &in->srcloc, out);
}

/* Code that is shared may wait at several barriers. */
static bool wait_alike(const struct interp_thread *a, const struct interp_thread *b)
{
    return at(a) == at(b) && a->state == b->state &&
           (a->state != INTERP_WAIT_BAR || a->bar == b->bar);
}

/* Threads that are where `first` is, and the warps that they belong to. */
static void print_group(struct hd_buf *out, const struct interp_cta *cta,
                        const struct interp_thread *first)
{
    uint32_t n = 0, warps = 0;

    for (uint32_t i = 0; i < cta->nthreads; i++) {
        if (!wait_alike(&cta->threads[i], first))
            continue;
        n++;
        warps |= 1u << cta->threads[i].warp->index;
    }
    interp_print_waiters(out, n, warps);
    print_where(out, first);
}

static bool is_first(const struct interp_cta *cta, uint32_t index)
{
    const struct interp_thread *t = &cta->threads[index];

    for (uint32_t i = 0; i < index; i++)
        if (wait_alike(&cta->threads[i], t))
            return false;
    return t->state != INTERP_ENDED;
}

void interp_cta_print_waiters(const struct interp_cta *cta, struct hd_buf *out)
{
    unsigned groups = 0;

    for (uint32_t i = 0; i < cta->nthreads && groups < INTERP_WAITERS_MAX; i++) {
        if (!is_first(cta, i))
            continue;
        hd_buf_puts(out, groups++ ? "; " : "");
        print_group(out, cta, &cta->threads[i]);
    }
}

void interp_cta_deadlock(struct interp_cta *cta)
{
    struct interp_thread *blamed = NULL;
    struct hd_buf text;

    assert(cta->live);
    for (uint32_t i = 0; i < cta->nthreads && !blamed; i++)
        blamed = is_first(cta, i) ? &cta->threads[i] : NULL;
    hd_buf_init(&text);
    interp_cta_print_waiters(cta, &text);
    interp_fail(blamed, HD_TIMEOUT, "deadlock: %s", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}
