/* CTAs: their threads and memory, turns of their warps; one CTA on its own for another device. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "interp/interp_cta.h"
#include "interp/interp_debug.h"
#include "interp/interp_priv.h"

enum {
    TURN = 64,         /* instructions per lane before the next warp's turn */
    LONG_TURN = 65536, /* of a schedule that runs one warp after the other */
    DEFAULT_STACK_B = 65536,
};

/* ---- what all CTAs of a launch share */

enum hd_status interp_run_init(struct interp_run *run)
{
    assert(run->launch && run->module);
    run->cluster_ctas = 1;
    for (int i = 0; i < 3; i++) {
        run->cluster[i] = HD_MAX(run->launch->cluster[i], 1u);
        run->cluster_ctas *= run->cluster[i];
    }
    const struct interp_launch *l = run->launch;
    HD_TRY(ir_kernel_window(l->kernel, &run->window));
    run->shared_B = ir_window_shared_B(&run->window, l->dynamic_shared_B);
    run->local_B = run->window.local_B;
    if (run->window.recursive)
        run->local_B = HD_MAX(run->local_B, l->stack_B ? l->stack_B : DEFAULT_STACK_B);
    run->nfuncs = run->module->nfuncs;
    run->funcs = hd_alloc_array(run->nfuncs, sizeof *run->funcs);
    if (!run->funcs)
        return hd_error(HD_NO_MEMORY, "no memory for %u functions", run->nfuncs);
    ir_foreach_func(f, run->module) {
        assert(f->index < run->nfuncs && !run->funcs[f->index]);
        run->funcs[f->index] = f;
    }
    return HD_OK;
}

void interp_run_fini(struct interp_run *run)
{
    hd_free(run->funcs);
}

/* ---- CTAs */

void interp_cta_end(struct interp_cta *cta)
{
    if (!cta)
        return;
    interp_observe_end(cta);
    if (cta->debug)
        cta->debug->end(cta);
    for (uint32_t i = 0; cta->threads && i < cta->nthreads; i++)
        interp_leave_all(&cta->threads[i]);
    hd_free(cta->local_memory);
    interp_cluster_fini(&cta->alone);
    hd_free(cta->threads);
    hd_free(cta->warps);
    if (cta->owns_shared)
        hd_free(cta->shared);
    hd_free(cta);
}

/* As on the CPU device: windows lie one behind the other, and begin where any variable may. */
static char *cta_local_alloc(struct interp_cta *cta)
{
    const struct interp_run *run = cta->run;
    uint64_t align_B = HD_MAX(run->window.local_align_B, 128u);

    cta->local_step_B = hd_align_up(run->local_B, align_B);
    cta->local_memory = hd_alloc(cta->nthreads * cta->local_step_B + align_B);
    return cta->local_memory ? (char *)hd_align_up((uintptr_t)cta->local_memory, align_B) : NULL;
}

static bool cta_thread_start(struct interp_cta *cta, uint32_t index,
                             const struct interp_placement *placement)
{
    struct interp_run *run = cta->run;
    struct interp_thread *t = &cta->threads[index];
    t->cta = cta;
    t->warp = &cta->warps[index / INTERP_WARP];
    t->lane = index % INTERP_WARP;
    ir_thread_index(run->launch->block, index, t->tid);
    if (cta->local)
        t->local = cta->local + index * cta->local_step_B;
    return interp_enter(t, run->launch->kernel, 0);
}

static char *cta_window_alloc(uint64_t size_B)
{
    uint64_t whole_B = hd_align_up(size_B, IR_SHARED_ALIGN_B);
    char *window = aligned_alloc(IR_SHARED_ALIGN_B, whole_B);

    return window ? memset(window, 0, whole_B) : NULL;
}

static void cta_schedule_set(struct interp_cta *cta)
{
    const struct interp_launch *l = cta->run->launch;
    uint64_t number = ir_cta_number(l->grid, cta->id);

    cta->order = ir_schedule_warps(l->schedule, number);
    if (l->schedule && l->schedule->turns)
        cta->dice = (l->schedule->turns + number) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

struct interp_cta *interp_cta_start(struct interp_run *run,
                                    const struct interp_placement *placement)
{
    const struct interp_launch *l = run->launch;
    struct interp_cta *cta = hd_new(struct interp_cta);
    if (!cta)
        return NULL;
    cta->run = run;
    memcpy(cta->id, placement->ctaid, sizeof(cta->id));
    cta->nthreads = cta->live = l->block[0] * l->block[1] * l->block[2];
    cta->nwarps = (cta->nthreads + INTERP_WARP - 1) / INTERP_WARP;
    cta->threads = hd_alloc_array(cta->nthreads, sizeof *cta->threads);
    cta->warps = hd_alloc_array(cta->nwarps, sizeof *cta->warps);
    cta->smid = placement->smid;
    cta_schedule_set(cta);
    cta->owns_shared = !placement->shared;
    cta->local = placement->local;
    cta->local_step_B = placement->local_B;
    if (!placement->local && cta->run->local_B)
        cta->local = cta_local_alloc(cta);
    assert(!placement->local || cta->run->local_B <= placement->local_B);
    cta->shared = placement->shared ? placement->shared : cta_window_alloc(cta->run->shared_B + 1);
    cta->rank = placement->rank;
    cta->windows = placement->windows ? placement->windows : cta->shared;
    cta->cluster = placement->cluster ? placement->cluster : &cta->alone;
    interp_cluster_init(&cta->alone, cta->nthreads);
    bool ok = cta->threads && cta->warps && cta->shared && (cta->local || !run->local_B);
    for (uint32_t i = 0; ok && i < cta->nwarps; i++) {
        uint32_t first = i * INTERP_WARP;
        cta->warps[i] =
            (struct interp_warp){.index = i,
                                 .nlanes = HD_MIN(cta->nthreads - first, (uint32_t)INTERP_WARP),
                                 .lanes = &cta->threads[first]};
    }
    for (uint32_t i = 0; ok && i < cta->nthreads; i++)
        ok = cta_thread_start(cta, i, placement);
    ok = ok && interp_observe(cta);
    if (!ok) {
        interp_cta_end(cta);
        return NULL;
    }
    cta->debug = interp_debug_of(run->module);
    if (cta->debug)
        cta->debug->begin(cta);
    return cta;
}

static bool cta_lane_writes_shared(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;

    if (!ir_op_has(in->op, IR_F_STORE | IR_F_ATOM))
        return false;
    return ir_space_is_shared(in->mem.space) ||
           (in->mem.space == IR_SPACE_GENERIC &&
            interp_is_space(t, IR_SPACE_SHARED, interp_src(t, 0) + (uint64_t)in->mem.offset));
}

/* Is a running lane about to write to shared memory? */
static bool cta_writes_shared(const struct interp_warp *warp)
{
    for (uint32_t i = 0; i < warp->nlanes; i++) {
        if (warp->lanes[i].state == INTERP_RUN && cta_lane_writes_shared(&warp->lanes[i]))
            return true;
    }
    return false;
}

static bool cta_is_courteous(const struct interp_run *run)
{
    return !run->launch->schedule || run->launch->schedule->in_turns;
}

static uint32_t cta_turn_of(const struct interp_run *run, struct interp_cta *cta)
{
    /* Interleaved: at most so many. What is close together and what is far apart: by the seed. */
    static const uint32_t longest[] = {4, 160, 24};
    uint64_t turns = run->launch->schedule ? run->launch->schedule->turns : 0;

    if (cta->dice)
        return 1 + (uint32_t)ir_schedule_dice(&cta->dice) % longest[turns % HD_COUNT_OF(longest)];
    return cta_is_courteous(run) ? TURN : LONG_TURN;
}

/*
 * True when any lane executed something. Before its first write to shared memory after a barrier a
 * warp lets the others have a turn: on a GPU they have read what they read right after a barrier
 * long before one of them writes there again, and programs rely on it (docs/decisions/0081).
 * So it does when it has passed an mbarrier: those that wait for the same phase see it before the
 * next one is over.
 */
static bool cta_warp_turn(struct interp_run *run, struct interp_warp *warp)
{
    bool any = false;
    const bool courteous = cta_is_courteous(run);
    const uint32_t turn = cta_turn_of(run, warp->lanes[0].cta);
    interp_settle_cluster(warp);
    for (uint32_t k = 0; k < turn; k++) {
        bool ran = false;
        if (courteous && !warp->has_waited && cta_writes_shared(warp)) {
            warp->has_waited = true;
            return true;
        }
        uint32_t lanes = interp_debug_lanes(warp);
        if (!lanes) /* a debugger holds it */
            return true;
        uint32_t epoch = warp->lanes[0].cta->epoch;
        for (uint32_t i = 0; i < warp->nlanes; i++) {
            if (warp->lanes[i].state != INTERP_RUN || !(lanes >> i & 1))
                continue;
            /* Constants are operands on a GPU and take no time there: with them a lane that
             * branches to a write would come later than others to what they do behind it. */
            while (!warp->lanes[i].cta->debug && warp->lanes[i].frame->pc->op == IR_OP_CONST)
                interp_step(&warp->lanes[i]);
            interp_step(&warp->lanes[i]);
            if (run->status != HD_OK || warp->lanes[i].cta->epoch != epoch)
                return true;
            ran = true;
        }
        any |= ran;
        if (warp->has_passed) {
            warp->has_passed = false;
            return true;
        }
        if (!ran && !interp_settle_active(warp, false))
            return any;
        any = true;
    }
    interp_settle_active(warp, true);
    return any;
}

bool interp_cta_round(struct interp_cta *cta)
{
    bool any = false;
    if (cta->debug)
        cta->debug->enter(cta);
    uint32_t shift = cta->dice ? (uint32_t)ir_schedule_dice(&cta->dice) % cta->nwarps : 0;
    for (uint32_t i = 0; i < cta->nwarps && cta->run->status == HD_OK; i++) {
        uint32_t w = (i + shift) % cta->nwarps;
        any |= cta_warp_turn(cta->run, &cta->warps[cta->order ? cta->order[w] : w]);
    }
    if (cta->debug)
        cta->debug->leave(cta);
    return any;
}

/* ---- one CTA on its own (interp_cta.h) */

enum hd_status interp_cta_create(const struct interp_launch *launch,
                                 const struct interp_placement *placement,
                                 struct interp_cta **out_cta)
{
    struct interp_run *run = hd_new(struct interp_run);
    enum hd_status status;
    *out_cta = NULL;
    if (!run)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory", launch->kernel->name);
    run->launch = launch;
    run->module = launch->kernel->module;
    status = interp_run_init(run);
    if (status == HD_OK) {
        assert(placement->shared && placement->local && placement->shared_B >= run->shared_B);
        run->local_B = placement->local_B;
        *out_cta = interp_cta_start(run, placement);
        if (!*out_cta)
            status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for a block of threads",
                              launch->kernel->name);
    }
    if (status != HD_OK) {
        interp_run_fini(run);
        hd_free(run);
    }
    return status;
}

void interp_cta_destroy(struct interp_cta *cta)
{
    if (!cta)
        return;
    struct interp_run *run = cta->run;
    interp_cta_end(cta);
    interp_run_fini(run);
    hd_free(run);
}

enum hd_status interp_cta_turn(struct interp_cta *cta, bool *out_over)
{
    struct interp_run *run = cta->run;
    bool alone = cta->cluster == &cta->alone;
    if (!interp_cta_round(cta) && run->status == HD_OK && alone)
        interp_cta_deadlock(cta);
    *out_over = cta->live == 0;
    return run->status;
}

uint64_t interp_cta_effects(const struct interp_cta *cta)
{
    return cta->run->effects;
}

enum hd_status interp_cta_stuck(struct interp_cta *cta)
{
    if (cta->run->status == HD_OK)
        interp_cta_deadlock(cta);
    return cta->run->status;
}

enum hd_status interp_cta_fault(struct interp_cta *cta, enum hd_status status, uint64_t address)
{
    struct interp_run *run = cta->run;
    struct hd_buf access;
    assert(status != HD_OK);
    if (run->status != HD_OK || !run->at || !run->at->frame)
        return run->status != HD_OK ? run->status : status;
    run->fault.address = address;
    hd_buf_init(&access);
    ir_print_access(run->at->frame->pc, &access);
    interp_fail(run->at, status, "%s at %#llx: %s", hd_status_text(status),
                (unsigned long long)address, access.ptr ? access.ptr : "");
    hd_buf_fini(&access);
    return run->status;
}

const struct interp_fault *interp_cta_fault_srcloc(const struct interp_cta *cta)
{
    return &cta->run->fault;
}
