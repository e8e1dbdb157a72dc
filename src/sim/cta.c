/* CTAs: their warps and memory, and turns of the warps. */
#include "sim/late.h"
#include "sim/sim_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum {
    TURN = 1024,         /* operations of a warp before the next one's turn */
    LONG_TURN = 1 << 20, /* of a schedule that runs one warp after the other */
    GROUP_TURN = 256,    /* of one of several groups of a warp */
    HUGE_B = 1 << 18,    /* local windows from here on are pages that are zero until touched */
};

static uint64_t aligned(uint64_t size_B)
{
    return hd_align_up(size_B, IR_SHARED_ALIGN_B);
}

static void warp_init(struct sim_warp *w, struct sim_cta *cta, uint32_t index, uint32_t *regs)
{
    uint32_t n = HD_MIN(cta->nthreads - index * SIM_LANES, (uint32_t)SIM_LANES);

    memset(w, 0, offsetof(struct sim_warp, uniform));
    memset(regs, 0, sizeof(uint32_t[SIM_LANES]) * cta->run->program->nrows);
    w->run = cta->run;
    w->cta = cta;
    w->index = index;
    w->regs = regs;
    w->base[SIM_BASE_REGS] = regs;
    w->base[SIM_BASE_CONST] = cta->run->consts[0];
    w->base[SIM_BASE_UNIFORM] = w->uniform[0];
    w->exist = w->live = n == SIM_LANES ? UINT32_MAX : (1u << n) - 1;
    w->pred[ISA_PT] = UINT32_MAX;
    w->upred = 1u << ISA_PT;
    if (cta->run->program->kernel.checks_hazards)
        w->hazards = sim_hazards_create();
    if (cta->run->program->kernel.late_results)
        w->late = sim_late_create();
    w->ngroups = 1;
    w->groups[0] = (struct sim_group){.mask = w->live};
}

/*
 * Warps, registers, the shared window and local windows in one piece. `memory`: that of another.
 * Large local windows are pages of their own, which another CTA has left here as well: stacks are
 * hardly used, and malloc() would clear all of what was used before.
 */
static bool memory_init(struct sim_cta *cta, void *memory)
{
    const struct sim_run *run = cta->run;
    const struct sim_program *p = run->program;
    uint64_t warp_B = aligned(sizeof(struct sim_warp) * cta->nwarps);
    uint64_t regs_B = aligned(sizeof(uint32_t[SIM_LANES]) * (p->nrows + p->nsinks));
    uint64_t shared_B = cta->shared ? 0 : aligned(run->shared_B + 1);
    uint64_t local_B = aligned(cta->nthreads * run->local_step_B);
    uint64_t used_B = HD_MIN(cta->local_used_B, run->local_B);
    char *at = memory;

    if (!cta->local_map_B && local_B >= HUGE_B) {
        cta->local = mmap(NULL, local_B, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (cta->local == MAP_FAILED)
            return false;
        (void)madvise(cta->local, local_B, MADV_NOHUGEPAGE);
        cta->local_map_B = local_B;
    }
    if (!at)
        at = hd_alloc(warp_B + regs_B * cta->nwarps + shared_B + IR_SHARED_ALIGN_B +
                      (cta->local_map_B ? 0 : local_B));
    if (!at)
        return false;
    cta->memory = at;
    at = (char *)(uintptr_t)aligned((uintptr_t)at);
    cta->warps = (struct sim_warp *)(void *)at;
    at += warp_B;
    for (uint32_t i = 0; i < cta->nwarps; i++, at += regs_B)
        warp_init(&cta->warps[i], cta, i, (uint32_t *)(void *)at);
    if (!cta->shared)
        cta->shared = at;
    if (!cta->local_map_B)
        cta->local = at + shared_B;
    if (memory) {
        memset(at, 0, shared_B);
        for (uint32_t i = 0; i < cta->nthreads && used_B; i++)
            memset(cta->local + i * run->local_step_B, 0, used_B);
    }
    cta->local_used_B = 0;
    return true;
}

static void schedule_set(struct sim_cta *cta)
{
    const struct interp_launch *l = cta->run->launch;
    uint64_t number = ir_cta_number(l->grid, cta->id);

    cta->order = ir_schedule_warps(l->schedule, number);
    if (l->schedule && l->schedule->turns)
        cta->dice = (l->schedule->turns + number) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static void cta_free(struct sim_cta *cta)
{
    if (cta->local_map_B)
        munmap(cta->local, cta->local_map_B);
    hd_free(cta->memory);
    hd_free(cta);
}

struct sim_cta *sim_cta_start(struct sim_run *run, const struct sim_placement *placement)
{
    const struct interp_launch *l = run->launch;
    struct sim_cta *cta = run->ended;
    void *memory = cta ? cta->memory : NULL;

    if (cta) {
        run->ended = cta->next;
        *cta = (struct sim_cta){.local_used_B = cta->local_used_B,
                                .local = cta->local,
                                .local_map_B = cta->local_map_B};
    } else {
        cta = hd_new(struct sim_cta);
    }
    if (!cta)
        return NULL;
    cta->run = run;
    memcpy(cta->id, placement->ctaid, sizeof(cta->id));
    cta->nthreads = cta->live = l->block[0] * l->block[1] * l->block[2];
    cta->nwarps = (cta->nthreads + SIM_LANES - 1) / SIM_LANES;
    cta->smid = placement->smid;
    cta->rank = placement->rank;
    cta->cluster = placement->cluster ? placement->cluster : &cta->alone;
    sim_cluster_init(&cta->alone, cta->nthreads);
    if (placement->cluster)
        cta->shared = placement->cluster->windows + cta->rank * IR_CLUSTER_STRIDE_B;
    schedule_set(cta);
    if (!memory_init(cta, memory)) {
        cta_free(cta);
        return NULL;
    }
    for (uint32_t i = 0; i < cta->nwarps; i++)
        if ((run->program->kernel.checks_hazards && !cta->warps[i].hazards) ||
            (run->program->kernel.late_results && !cta->warps[i].late)) {
            sim_cta_end(cta);
            return NULL;
        }
    if (!sim_observe(cta)) {
        sim_cta_end(cta);
        return NULL;
    }
    return cta;
}

void sim_cta_end(struct sim_cta *cta)
{
    sim_observe_end(cta);
    for (uint32_t i = 0; i < cta->nwarps; i++) {
        sim_hazards_destroy(cta->warps[i].hazards);
        cta->warps[i].hazards = NULL;
        sim_late_destroy(cta->warps[i].late);
        cta->warps[i].late = NULL;
    }
    sim_cluster_fini(&cta->alone);
    cta->next = cta->run->ended;
    cta->run->ended = cta;
}

void sim_ctas_free(struct sim_run *run)
{
    while (run->ended) {
        struct sim_cta *cta = run->ended;

        run->ended = cta->next;
        cta_free(cta);
    }
}

/* ---- turns */

/* The next group that can run, beginning behind the current one; false: none. */
static bool group_next(struct sim_warp *w)
{
    for (uint32_t i = 1; i <= w->ngroups; i++) {
        uint32_t g = (w->current + i) % w->ngroups;

        if (w->groups[g].wait != SIM_RUNS)
            continue;
        w->current = g;
        return true;
    }
    return false;
}

/* The clock goes on before groups part, and results come later. */
static enum sim_step late_step(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_group *g = sim_group_of(w);
    uint64_t issued = g->cycle;
    enum sim_step step;

    if (!sim_late_pass(w, op)) {
        w->run->status = hd_error(HD_NO_MEMORY, "no memory for late results");
        return SIM_STOP;
    }
    step = op->exec(w, op, mask);
    if (step == SIM_NEXT) {
        g->cycle = issued;
        sim_late_end(w, op, mask);
        g->cycle += HD_MAX(op->insn->control.stall, 1u);
    }
    return step;
}

/*
 * Runs groups of the warp for at most so many operations; how many they were. `watched`: somebody
 * wants to know of each, or when its results come.
 */
static inline __attribute__((always_inline)) uint32_t group_run(struct sim_warp *w, uint32_t most,
                                                                bool watched)
{
    const struct sim_op *ops = w->run->program->ops;
    uint32_t n = 0;

    while (n < most) {
        struct sim_group *g = sim_group_of(w);
        const struct sim_op *op = &ops[g->pc];
        uint32_t lanes = op->is_uniform_guard ? -(w->upred >> op->guard & 1u) : w->pred[op->guard];
        uint32_t mask = g->mask & (lanes ^ op->guard_not);
        enum sim_step step;

        n++;
        w->run->steps++;
        if (watched && w->hazards && !g->again && !sim_hazards_issue(w, op, mask))
            break;
        if (watched && w->late) {
            sim_late_begin(w, op);
            lanes = op->is_uniform_guard ? -(w->upred >> op->guard & 1u) : w->pred[op->guard];
            mask = g->mask & (lanes ^ op->guard_not);
        }
        if (watched && w->run->executed && !g->again) {
            struct sim_executed *executed = &w->run->executed[g->pc];

            executed->warps++;
            executed->lanes += (unsigned)__builtin_popcount(g->mask);
            executed->on += (unsigned)__builtin_popcount(mask);
        }
        g->again = false;
        if (!mask) {
            if (watched && w->late && !sim_late_pass(w, op))
                break;
            g->pc++;
            continue;
        }
        if (watched && w->late)
            step = late_step(w, op, mask);
        else
            step = op->exec(w, op, mask);
        if (step == SIM_NEXT)
            sim_group_of(w)->pc++;
        else if (step == SIM_STOP) {
            g->again =
                w->ngroups && g == sim_group_of(w) && g->wait == SIM_RUNS && op == &ops[g->pc];
            break;
        }
    }
    return n;
}

static uint32_t turn_of(const struct sim_run *run, struct sim_cta *cta)
{
    static const uint32_t longest[] = {4, 160, 24};
    const struct ir_schedule *s = run->launch->schedule;

    if (cta->dice)
        return 1 +
               (uint32_t)ir_schedule_dice(&cta->dice) % longest[s->turns % HD_COUNT_OF(longest)];
    return s && !s->in_turns ? LONG_TURN : TURN;
}

/*
 * True when any lane executed something. Before its first write to shared memory after a barrier a
 * warp lets the others have a turn (docs/decisions/0081), and when it has passed an mbarrier.
 */
static bool warp_turn(struct sim_warp *w)
{
    struct sim_run *run = w->run;
    uint32_t left = turn_of(run, w->cta);
    bool watched = w->hazards || w->late || run->executed, any = false;

    sim_settle_cluster(w);
    if (!w->ngroups || (w->groups[w->current].wait != SIM_RUNS && !group_next(w)))
        return false;
    while (left && run->status == HD_OK && w->ngroups) {
        bool waited = w->has_waited;
        uint32_t most = w->ngroups > 1 ? HD_MIN(left, (uint32_t)GROUP_TURN) : left;
        uint32_t n = watched ? group_run(w, most, true) : group_run(w, most, false);

        any = true;
        left -= HD_MIN(n, left);
        if (w->has_passed || waited != w->has_waited) {
            w->has_passed = false;
            break;
        }
        if (!w->ngroups || !group_next(w))
            break;
    }
    return any;
}

bool sim_cta_round(struct sim_cta *cta)
{
    uint32_t shift = cta->dice ? (uint32_t)ir_schedule_dice(&cta->dice) % cta->nwarps : 0;
    bool any = false;

    for (uint32_t i = 0; i < cta->nwarps && cta->run->status == HD_OK; i++) {
        uint32_t w = (i + shift) % cta->nwarps;

        any |= warp_turn(&cta->warps[cta->order ? cta->order[w] : w]);
    }
    return any;
}
