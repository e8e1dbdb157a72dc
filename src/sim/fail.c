/* Errors of threads, and their place; who waits where, when nobody will go on. */
#include "interp/interp_shared.h"
#include "sim/sim_private.h"

#include "base/demangle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where a word comes from; false: nobody says. */
static bool source_of(const struct sim_program *p, uint32_t word, struct ir_srcloc *out_srcloc)
{
    size_t low = 0, high = p->lines.len;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (p->lines.at[mid].word <= word)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return false;
    *out_srcloc = (struct ir_srcloc){.file = p->lines.at[low - 1].file,
                                     .line = p->lines.at[low - 1].line,
                                     .col = p->lines.at[low - 1].col,
                                     .inlined = p->lines.at[low - 1].inlined};
    return out_srcloc->file && p->kernel.module && out_srcloc->file <= p->kernel.module->files.len;
}

/* "file:line", or the address and the instruction. */
static void print_place(const struct sim_program *p, uint32_t word, struct hd_buf *out)
{
    struct ir_srcloc srcloc;

    if (source_of(p, word, &srcloc)) {
        ir_print_source(p->kernel.module, &srcloc, out);
        return;
    }
    hd_buf_printf(out, "at %#x", word * ISA_WORD_BYTES);
    if (word >= p->nops)
        return;
    hd_buf_puts(out, " (");
    isa_print(&p->insns[word], (uint64_t)word * ISA_WORD_BYTES, out);
    hd_buf_puts(out, ")");
}

enum sim_step sim_fail(struct sim_warp *w, unsigned lane, enum hd_status status, const char *format,
                       ...)
{
    struct sim_run *run = w->run;
    struct interp_fault *f = &run->fault;
    struct ir_srcloc srcloc;
    uint32_t pc = sim_group_of(w)->pc;
    struct hd_buf where, kernel;
    char what[384];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    memcpy(f->ctaid, w->cta->id, sizeof(f->ctaid));
    ir_thread_index(run->launch->block, w->index * SIM_LANES + lane, f->tid);
    if (source_of(run->program, pc, &srcloc)) {
        f->file = run->program->kernel.module->files.at[srcloc.file - 1];
        f->line = srcloc.line;
    }
    hd_buf_init(&where);
    print_place(run->program, pc, &where);
    hd_buf_init(&kernel);
    if (run->launch->observer) /* beside findings, which have names as people write them */
        hd_demangle_or_name(run->program->kernel.name, HD_DEMANGLE_FULL, &kernel);
    run->status =
        hd_error(status, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), %s: %s",
                 kernel.ptr ? kernel.ptr : run->program->kernel.name, f->ctaid[0], f->ctaid[1],
                 f->ctaid[2], f->tid[0], f->tid[1], f->tid[2], where.ptr ? where.ptr : "?:0", what);
    hd_buf_fini(&where);
    hd_buf_fini(&kernel);
    return SIM_STOP;
}

/* ---- deadlocks */

/* What a group waits at: a running one at what it polled by, wherever it is in its loop. */
static uint32_t waits_at(const struct sim_group *g)
{
    return g->wait == SIM_RUNS && g->polled ? g->polled - 1 : g->pc;
}

static void print_wait(const struct sim_warp *w, const struct sim_group *g, struct hd_buf *out)
{
    const struct sim_cta *cta = w->cta;
    const struct sim_bar *bar = &cta->bars[g->wait == SIM_AT_BAR ? g->arg : 0];
    const struct sim_program *p = w->run->program;

    switch ((enum sim_wait)g->wait) {
    case SIM_AT_BAR:
        interp_print_at_barrier(out, g->arg, bar->arrived, bar->count ? bar->count : cta->live);
        break;
    case SIM_AT_CLUSTER:
        interp_print_at_cluster(out, cta->cluster->arrived, cta->cluster->live);
        break;
    case SIM_AT_WARPSYNC:
        hd_buf_printf(out, " at WARPSYNC for the lanes of mask %#x", g->arg);
        break;
    case SIM_AT_BSYNC:
        hd_buf_printf(out, " at convergence barrier B%u", g->arg);
        break;
    case SIM_RUNS:
        hd_buf_printf(out, " in a loop with %s",
                      waits_at(g) < p->nops ? isa_row(p->insns[waits_at(g)].op)->name : "?");
        break;
    }
    hd_buf_puts(out, ", ");
    print_place(p, waits_at(g), out);
}

static bool wait_alike(const struct sim_group *a, const struct sim_group *b)
{
    return waits_at(a) == waits_at(b) && a->wait == b->wait && a->arg == b->arg;
}

/* Groups that are where `first` is, and the warps that they belong to. */
static void print_alike(const struct sim_cta *cta, const struct sim_warp *w,
                        const struct sim_group *first, struct hd_buf *out)
{
    uint32_t n = 0, warps = 0;

    for (uint32_t i = 0; i < cta->nwarps; i++)
        for (uint32_t g = 0; g < cta->warps[i].ngroups; g++) {
            if (!wait_alike(&cta->warps[i].groups[g], first))
                continue;
            n += (uint32_t)__builtin_popcount(cta->warps[i].groups[g].mask);
            warps |= 1u << i;
        }
    interp_print_waiters(out, n, warps);
    print_wait(w, first, out);
}

static bool was_before(const struct sim_cta *cta, const struct sim_group *group)
{
    for (uint32_t i = 0; i < cta->nwarps; i++)
        for (uint32_t g = 0; g < cta->warps[i].ngroups; g++) {
            if (&cta->warps[i].groups[g] == group)
                return false;
            if (wait_alike(&cta->warps[i].groups[g], group))
                return true;
        }
    return false;
}

void sim_deadlock(struct sim_cta *cta)
{
    struct sim_warp *blamed = NULL;
    struct hd_buf text;
    unsigned n = 0;

    hd_buf_init(&text);
    for (uint32_t i = 0; i < cta->nwarps; i++)
        for (uint32_t g = 0; g < cta->warps[i].ngroups && n < INTERP_WAITERS_MAX; g++) {
            const struct sim_group *group = &cta->warps[i].groups[g];

            if (was_before(cta, group))
                continue;
            if (!blamed) {
                blamed = &cta->warps[i];
                blamed->current = g;
            }
            hd_buf_puts(&text, n++ ? "; " : "");
            print_alike(cta, &cta->warps[i], group, &text);
        }
    assert(blamed);
    sim_fail(blamed, (unsigned)__builtin_ctz(sim_group_of(blamed)->mask), HD_TIMEOUT,
             "deadlock: %s", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}
