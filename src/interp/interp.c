/* Launch, CTAs, scheduling. */
#include "interp/interp_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum {
    TURN = 64,         /* instructions per lane before the next warp's turn */
    CANCEL_EVERY = 64, /* rounds over all CTAs between questions */
    DEFAULT_STACK_B = 65536,
    DEFAULT_RESIDENT = 4,
};

enum interp_step interp_fail(struct interp_thread *t, enum hd_status status, const char *fmt, ...)
{
    struct interp_run *run = t->cta->run;
    const struct ir_instr *pc = t->frame ? t->frame->pc : NULL;
    struct interp_fault *f = &run->fault;
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    memcpy(f->ctaid, t->cta->id, sizeof f->ctaid);
    memcpy(f->tid, t->tid, sizeof f->tid);
    if (pc && pc->file && pc->file <= run->module->files.len) {
        f->file = run->module->files.at[pc->file - 1];
        f->line = pc->line;
    }
    run->status = hd_error(status, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), %s:%u: %s",
                           run->launch->kernel->name, f->ctaid[0], f->ctaid[1], f->ctaid[2],
                           f->tid[0], f->tid[1], f->tid[2], f->file ? f->file : "?", f->line, what);
    return INTERP_FAULTED;
}

static void cta_destroy(struct interp_cta *cta)
{
    if (!cta)
        return;
    for (uint32_t i = 0; cta->threads && i < cta->nthreads; i++) {
        interp_leave_all(&cta->threads[i]);
        hd_free(cta->threads[i].local);
    }
    hd_free(cta->threads);
    hd_free(cta->warps);
    hd_free(cta->shared);
    hd_free(cta);
}

static bool thread_start(struct interp_cta *cta, uint32_t index)
{
    struct interp_run *run = cta->run;
    const uint32_t *block = run->launch->block;
    struct interp_thread *t = &cta->threads[index];
    t->cta = cta;
    t->warp = &cta->warps[index / INTERP_WARP];
    t->lane = index % INTERP_WARP;
    t->tid[0] = index % block[0];
    t->tid[1] = index / block[0] % block[1];
    t->tid[2] = index / block[0] / block[1];
    if (run->local_B) {
        t->local = hd_alloc(run->local_B);
        if (!t->local)
            return false;
    }
    return interp_enter(t, run->launch->kernel, 0);
}

static struct interp_cta *cta_create(struct interp_run *run, uint64_t index)
{
    const struct interp_launch *l = run->launch;
    struct interp_cta *cta = hd_new(struct interp_cta);
    if (!cta)
        return NULL;
    cta->run = run;
    cta->id[0] = (uint32_t)(index % l->grid[0]);
    cta->id[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
    cta->id[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
    cta->nthreads = cta->live = l->block[0] * l->block[1] * l->block[2];
    cta->nwarps = (cta->nthreads + INTERP_WARP - 1) / INTERP_WARP;
    cta->threads = hd_alloc_array(cta->nthreads, sizeof *cta->threads);
    cta->warps = hd_alloc_array(cta->nwarps, sizeof *cta->warps);
    cta->shared = hd_alloc(run->shared_B + 1);
    bool ok = cta->threads && cta->warps && cta->shared;
    for (uint32_t i = 0; ok && i < cta->nwarps; i++) {
        uint32_t first = i * INTERP_WARP;
        cta->warps[i] = (struct interp_warp){
            i, HD_MIN(cta->nthreads - first, (uint32_t)INTERP_WARP), &cta->threads[first]};
    }
    for (uint32_t i = 0; ok && i < cta->nthreads; i++)
        ok = thread_start(cta, i);
    if (!ok) {
        cta_destroy(cta);
        return NULL;
    }
    return cta;
}

/* True when any lane executed something. */
static bool warp_turn(struct interp_run *run, struct interp_warp *warp)
{
    bool any = false;
    for (int k = 0; k < TURN; k++) {
        bool ran = false;
        for (uint32_t i = 0; i < warp->nlanes; i++) {
            if (warp->lanes[i].state != INTERP_RUN)
                continue;
            interp_step(&warp->lanes[i]);
            if (run->status != HD_OK)
                return true;
            ran = true;
        }
        any |= ran;
        if (!ran && !interp_settle_active(warp, false))
            return any;
        any = true;
    }
    interp_settle_active(warp, true);
    return any;
}

static bool cta_turn(struct interp_cta *cta)
{
    bool any = false;
    for (uint32_t i = 0; i < cta->nwarps && cta->run->status == HD_OK; i++)
        any |= warp_turn(cta->run, &cta->warps[i]);
    return any;
}

static void report_deadlock(struct interp_cta *cta)
{
    for (uint32_t i = 0; i < cta->nthreads; i++) {
        struct interp_thread *t = &cta->threads[i];
        if (t->state != INTERP_ENDED) {
            interp_fail(t, HD_TIMEOUT, "deadlock: waits at %s, mask %#x, barrier %u",
                        ir_op_infos[t->frame->pc->op].name, t->mask, t->bar);
            return;
        }
    }
}

struct residents {
    struct interp_cta **at;
    uint32_t len;
    uint64_t next; /* CTA index to start next */
    uint64_t total;
};

static void residents_fill(struct interp_run *run, struct residents *r, uint32_t cap)
{
    while (r->len < cap && r->next < r->total && run->status == HD_OK) {
        struct interp_cta *cta = cta_create(run, r->next);
        if (!cta) {
            run->status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for a block of threads",
                                   run->launch->kernel->name);
            return;
        }
        r->at[r->len++] = cta;
        r->next++;
    }
}

static void residents_retire(struct residents *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->len; i++) {
        if (r->at[i]->live)
            r->at[kept++] = r->at[i];
        else
            cta_destroy(r->at[i]);
    }
    r->len = kept;
}

static void check_cancelled(struct interp_run *run)
{
    const struct interp_launch *l = run->launch;
    if (l->ops && l->ops->cancelled && l->ops->cancelled(l->ctx))
        run->status = hd_error(HD_TIMEOUT, "kernel %s: cancelled", l->kernel->name);
}

static void run_grid(struct interp_run *run, struct residents *r, uint32_t cap)
{
    uint64_t round = 0;
    while (run->status == HD_OK) {
        residents_fill(run, r, cap);
        if (!r->len)
            break;
        bool any = false;
        for (uint32_t i = 0; i < r->len && run->status == HD_OK; i++)
            any |= cta_turn(r->at[i]);
        if (!any && run->status == HD_OK)
            report_deadlock(r->at[0]);
        if (++round % CANCEL_EVERY == 0 && run->status == HD_OK)
            check_cancelled(run);
        if (run->status == HD_OK)
            residents_retire(r);
    }
    for (uint32_t i = 0; i < r->len; i++)
        cta_destroy(r->at[i]);
}

static enum hd_status index_funcs(struct interp_run *run)
{
    ir_foreach_func(f, run->module)
        run->nfuncs++;
    run->funcs = hd_alloc_array(run->nfuncs, sizeof *run->funcs);
    if (!run->funcs)
        return hd_error(HD_NO_MEMORY, "no memory for %u functions", run->nfuncs);
    uint32_t i = 0;
    ir_foreach_func(f, run->module)
        run->funcs[i++] = f;
    return HD_OK;
}

static enum hd_status size_windows(struct interp_run *run)
{
    const struct interp_launch *l = run->launch;
    HD_TRY(ir_kernel_window(l->kernel, &run->window));
    uint64_t dynamic = run->window.dynamic_offset_B + l->dynamic_shared_B;
    run->shared_B =
        l->dynamic_shared_B ? HD_MAX(run->window.shared_B, dynamic) : run->window.shared_B;
    run->local_B = run->window.local_B;
    if (run->window.recursive)
        run->local_B = HD_MAX(run->local_B, l->stack_B ? l->stack_B : DEFAULT_STACK_B);
    return HD_OK;
}

static enum hd_status check_launch(const struct interp_launch *l)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    bool fits = threads <= INTERP_MAX_THREADS && threads * l->block[2] <= INTERP_MAX_THREADS;
    if (!fits || !threads || !l->block[2] || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return hd_error(HD_LAUNCH_LIMIT, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u)",
                        l->kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                        l->block[1], l->block[2]);
    if (!l->kernel->is_kernel || l->kernel->is_declaration)
        return hd_error(HD_BAD_ARG, "%s is not a kernel with a body", l->kernel->name);
    return HD_OK;
}

enum hd_status interp_launch(const struct interp_launch *launch, struct interp_fault *out_fault)
{
    struct interp_run run = {.launch = launch, .module = launch->kernel->module};
    if (out_fault)
        *out_fault = run.fault;
    HD_TRY(check_launch(launch));
    HD_TRY(size_windows(&run));
    HD_TRY(index_funcs(&run));
    uint64_t total = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t cap = launch->cooperative     ? total
                   : launch->resident_ctas ? launch->resident_ctas
                                           : DEFAULT_RESIDENT;
    struct residents r = {.total = total};
    cap = HD_MIN(HD_MIN(cap, total), UINT32_MAX);
    r.at = hd_alloc_array(cap, sizeof(struct interp_cta *));
    if (!r.at)
        run.status = hd_error(HD_NO_MEMORY, "no memory for %u blocks", (uint32_t)cap);
    else
        run_grid(&run, &r, (uint32_t)cap);
    hd_free(r.at);
    hd_free(run.funcs);
    if (out_fault)
        *out_fault = run.fault;
    return run.status;
}
