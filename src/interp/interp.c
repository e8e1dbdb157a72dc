/* Launch of a grid: which CTAs are resident. */
#include "interp/interp_priv.h"

#include <string.h>

#include "base/mem.h"
#include "interp/interp_debug.h"

enum {
    CANCEL_EVERY = 64, /* rounds over all CTAs between questions */
    DEFAULT_RESIDENT = 4,
    GROW_AFTER = 8, /* rounds in which no CTA has ended */
};

struct residents {
    struct interp_cta **at;
    uint32_t len;
    uint32_t unit; /* CTAs that start and end together */
    uint64_t next; /* unit to start next */
    uint64_t total;
    uint32_t cap, max; /* CTAs that may be resident now, and in the end */
    uint32_t still;    /* rounds since one has ended */
};

static void residents_fill(struct interp_run *run, struct residents *r)
{
    while (r->len < r->cap && r->next < r->total && run->status == HD_OK) {
        uint64_t unit = ir_schedule_unit(run->launch->schedule, r->next);
        if (!interp_cluster_start(run, unit, &r->at[r->len])) {
            run->status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for a block of threads",
                                   run->launch->kernel->name);
            return;
        }
        r->len += r->unit;
        r->next++;
    }
}

static bool unit_lives(const struct residents *r, uint32_t first)
{
    for (uint32_t i = first; i < first + r->unit; i++) {
        if (r->at[i]->live)
            return true;
    }
    return false;
}

static void residents_retire(struct residents *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->len; i += r->unit) {
        if (!unit_lives(r, i)) {
            interp_cluster_end(&r->at[i]);
            continue;
        }
        memmove(&r->at[kept], &r->at[i], r->unit * sizeof(*r->at));
        kept += r->unit;
    }
    r->still = kept < r->len ? 0 : r->still + 1;
    r->len = kept;
}

/* Nobody goes on: the first that waits says where. */
static void residents_deadlock(const struct residents *r)
{
    uint32_t stuck = 0;
    while (stuck < r->len && !r->at[stuck]->live)
        stuck++;
    if (stuck < r->len)
        interp_cta_deadlock(r->at[stuck]);
}

static void check_patience(struct interp_run *run, const struct residents *r)
{
    const struct interp_launch *l = run->launch;
    if (l->ops && l->ops->gives_up && l->ops->gives_up(l->ctx, run->effects))
        residents_deadlock(r);
}

static void run_grid(struct interp_run *run, struct residents *r)
{
    uint64_t round = 0;
    while (run->status == HD_OK) {
        residents_fill(run, r);
        if (!r->len)
            break;
        bool any = false;
        for (uint32_t i = 0; i < r->len && run->status == HD_OK; i++)
            any |= interp_cta_round(r->at[i]);
        if (!any && run->status == HD_OK)
            residents_deadlock(r);
        if (++round % CANCEL_EVERY == 0 && run->status == HD_OK) {
            const struct interp_launch *l = run->launch;
            if (l->ops && l->ops->cancelled && l->ops->cancelled(l->ctx))
                run->status = hd_error(HD_TIMEOUT, "kernel %s: cancelled", l->kernel->name);
        }
        if (round % CANCEL_EVERY == 0 && run->status == HD_OK)
            check_patience(run, r);
        if (run->status == HD_OK)
            residents_retire(r);
        /*
         * Those that are resident may wait for others. Twice as many each time: all are there soon.
         */
        if (r->still >= GROW_AFTER && r->cap != r->max) {
            r->cap = HD_MIN(2 * r->cap, r->max);
            r->still = 0;
        }
    }
    for (uint32_t i = 0; i < r->len; i += r->unit)
        interp_cluster_end(&r->at[i]);
}

static enum hd_status check_launch(const struct interp_launch *l)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    bool fits = threads <= INTERP_MAX_THREADS && threads * l->block[2] <= INTERP_MAX_THREADS;
    if (!fits || !threads || !l->block[2] || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return hd_error(HD_LAUNCH_LIMIT, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u)",
                        l->kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                        l->block[1], l->block[2]);
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] % HD_MAX(l->cluster[i], 1u))
            return hd_error(HD_BAD_ARG, "kernel %s: a grid of %u is no multiple of clusters of %u",
                            l->kernel->name, l->grid[i], l->cluster[i]);
    }
    if (!l->kernel->is_kernel || l->kernel->is_declaration)
        return hd_error(HD_BAD_ARG, "%s is not a kernel with a body", l->kernel->name);
    return HD_OK;
}

/* As CTAs of whole units, of which there is one at least. */
static uint32_t in_units(uint64_t ctas, uint64_t total, uint32_t unit)
{
    return (uint32_t)((HD_MIN(HD_MIN(ctas, total), UINT32_MAX / 2) + unit - 1) / unit * unit);
}

static struct residents residents_of(const struct interp_launch *l, uint32_t unit)
{
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint64_t cap = l->cooperative ? total : l->resident_ctas ? l->resident_ctas : DEFAULT_RESIDENT;
    struct residents r = {.unit = unit, .total = total / unit};
    uint64_t max = HD_MAX(cap, (uint64_t)l->resident_max);

    r.cap = in_units(cap, total, unit);
    r.max = in_units(max, total, unit);
    return r;
}

enum hd_status interp_launch(const struct interp_launch *launch, struct interp_fault *out_fault)
{
    struct interp_run run = {.launch = launch, .module = launch->kernel->module};
    if (out_fault)
        *out_fault = run.fault;
    HD_TRY(check_launch(launch));
    HD_TRY(interp_run_init(&run));
    struct residents r = residents_of(launch, interp_cluster_ctas(&run));
    r.at = hd_alloc_array(r.max, sizeof(struct interp_cta *));
    if (!r.at)
        run.status = hd_error(HD_NO_MEMORY, "no memory for %u blocks", r.max);
    else
        run_grid(&run, &r);
    hd_free(r.at);
    interp_run_fini(&run);
    if (out_fault)
        *out_fault = run.fault;
    return run.status;
}
