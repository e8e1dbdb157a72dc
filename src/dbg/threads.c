/* Blocks that run, CUDA threads by number, and where they are. */
#include "dbg/private.h"

#include <assert.h>

#include "base/mem.h"

struct dbg_cta *dbg_cta_add(struct interp_cta *cta, struct dbg_program *program, uint32_t kernel)
{
    struct dbg_cta *c = hd_new(struct dbg_cta);

    assert(dbg_is_locked() && !*interp_debug_slot(cta));
    if (!c || !hd_vec_reserve(&dbg.ctas, dbg.ctas.len + 1)) {
        hd_free(c);
        return NULL;
    }
    c->cta = cta;
    c->program = program;
    c->serial = dbg.nctas_ever++;
    c->kernel = kernel;
    *interp_debug_slot(cta) = c;
    (void)!hd_vec_push(&dbg.ctas, c);
    return c;
}

struct dbg_cta *dbg_cta_of(const struct interp_thread *t)
{
    return *interp_debug_slot(interp_debug_cta(t));
}

uint64_t dbg_tid(const struct interp_thread *t)
{
    assert(dbg_cta_of(t) && interp_debug_index(t) < DBG_CTA_THREADS);
    return DBG_FIRST_TID + dbg_cta_of(t)->serial * DBG_CTA_THREADS + interp_debug_index(t);
}

struct interp_thread *dbg_thread(uint64_t tid)
{
    assert(dbg_is_locked());
    if (tid < DBG_FIRST_TID)
        return NULL;
    uint64_t serial = (tid - DBG_FIRST_TID) / DBG_CTA_THREADS;
    uint32_t index = (tid - DBG_FIRST_TID) % DBG_CTA_THREADS;
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        if (c->serial != serial || index >= interp_debug_nthreads(c->cta))
            continue;
        struct interp_thread *t = interp_debug_thread(c->cta, index);
        return interp_debug_depth(t) ? t : NULL;
    }
    return NULL;
}

static struct interp_thread *find_in(const struct dbg_cta *c, const uint32_t ctaid[3],
                                     const uint32_t tid[3])
{
    const uint32_t *block = interp_debug_launch(c->cta)->block;

    if (memcmp(interp_debug_ctaid(c->cta), ctaid, 3 * sizeof(*ctaid)) != 0)
        return NULL;
    for (int i = 0; i < 3; i++)
        if (tid[i] >= block[i])
            return NULL;
    uint32_t index = tid[0] + block[0] * (tid[1] + block[1] * tid[2]);
    assert(index < interp_debug_nthreads(c->cta));
    struct interp_thread *t = interp_debug_thread(c->cta, index);
    return interp_debug_depth(t) ? t : NULL;
}

struct interp_thread *dbg_thread_find(const uint32_t ctaid[3], const uint32_t tid[3],
                                      const struct dbg_cta *preferred)
{
    struct interp_thread *found = NULL;

    for (size_t i = 0; i < dbg.ctas.len && !found; i++)
        if (!preferred || dbg.ctas.at[i]->kernel == preferred->kernel)
            found = find_in(dbg.ctas.at[i], ctaid, tid);
    return found;
}

struct interp_thread *dbg_any_thread(void)
{
    assert(dbg_is_locked());
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct interp_cta *cta = dbg.ctas.at[i]->cta;
        for (uint32_t k = 0; k < interp_debug_nthreads(cta); k++)
            if (interp_debug_depth(interp_debug_thread(cta, k)))
                return interp_debug_thread(cta, k);
    }
    return NULL;
}

/* A function that has executed nothing yet is at its first instruction. */
static uint64_t pc_in(const struct dbg_unit *unit, const struct interp_spot *spot)
{
    if (spot->line)
        return dbg_unit_find(unit, spot->func->name, spot->line, spot->col);
    for (uint32_t i = 0; i < unit->nfuncs; i++)
        if (strcmp(unit->funcs[i].name, spot->func->name) == 0)
            return dbg_unit_pc(unit, unit->funcs[i].first);
    return 0;
}

uint64_t dbg_pc(const struct interp_thread *t, unsigned frame)
{
    assert(dbg_is_locked() && dbg_cta_of(t));
    const struct dbg_program *program = dbg_cta_of(t)->program;
    struct interp_spot spot = interp_debug_spot(t, frame);
    uint64_t pc = 0;

    for (size_t i = 0; spot.func && program && i < program->nunits && !pc; i++)
        pc = pc_in(program->units[i], &spot);
    return pc;
}

uint64_t dbg_sp(const struct interp_thread *t)
{
    return DBG_STACK_TOP(dbg_tid(t)) - interp_debug_depth(t) * DBG_FRAME_B;
}

static bool owns(const struct interp_thread *t, uint64_t address)
{
    return (DBG_STACK_TOP(dbg_tid(t)) - 1 - address) >> DBG_WINDOW_SHIFT == 0;
}

struct interp_thread *dbg_stack_owner(uint64_t address, struct interp_thread *preferred)
{
    assert(dbg_is_locked());
    if (preferred && owns(preferred, address))
        return preferred;
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct interp_cta *cta = dbg.ctas.at[i]->cta;
        for (uint32_t k = 0; k < interp_debug_nthreads(cta); k++) {
            struct interp_thread *t = interp_debug_thread(cta, k);
            if (interp_debug_depth(t) && owns(t, address))
                return t;
        }
    }
    return NULL;
}

const struct dbg_unit *dbg_unit_of(uint64_t pc)
{
    assert(dbg_is_locked());
    for (size_t i = 0; i < dbg.programs.len; i++) {
        const struct dbg_program *p = dbg.programs.at[i];
        for (size_t k = 0; k < p->nunits; k++)
            if (dbg_unit_insn(p->units[k], pc))
                return p->units[k];
    }
    return NULL;
}

void dbg_describe(const struct interp_thread *t, struct hd_buf *out)
{
    const struct interp_cta *cta = interp_debug_cta(t);
    const uint32_t *b = interp_debug_ctaid(cta), *i = interp_debug_tid(t);
    uint32_t index = interp_debug_index(t);

    hd_buf_printf(out,
                  "kernel %u, grid %llu, block (%u,%u,%u), thread (%u,%u,%u), device 0, sm %u, "
                  "warp %u, lane %u",
                  dbg_cta_of(t)->kernel, (unsigned long long)interp_debug_launch(cta)->grid_id,
                  b[0], b[1], b[2], i[0], i[1], i[2], interp_debug_sm(cta), index / 32, index % 32);
}

void dbg_pass_fill(struct dbg_pass *p, const struct interp_warp *warp)
{
    const struct interp_cta *cta = interp_debug_warp_cta(warp);

    assert(p->nlanes <= 32 && p->warp * 32 + p->nlanes <= interp_debug_nthreads(cta));
    for (uint32_t i = 0; i < p->nlanes; i++) {
        struct interp_thread *t = interp_debug_thread(cta, p->warp * 32 + i);
        p->lanes[i] = (struct dbg_lane){0};
        if (interp_debug_state(t) != INTERP_DEBUG_RUNS)
            continue;
        p->lanes[i] = (struct dbg_lane){t, interp_debug_spot(t, 0), interp_debug_depth(t)};
    }
}
