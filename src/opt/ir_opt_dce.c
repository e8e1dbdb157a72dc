/* requires: nothing. keeps: cfg, dominance. breaks: liveness, shapes. */
#include "opt/passes.h"

#include <assert.h>

#include "base/mem.h"

struct dce {
    struct ir_func *func;
    bool *live; /* by value id */
    struct ir_value **work;
    uint32_t nwork;
};

static void need_sources(struct dce *d, const struct ir_instr *instr)
{
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        struct ir_value *value = instr->src[i];
        if (d->live[value->id])
            continue;
        d->live[value->id] = true;
        assert(value->id < d->func->nvalues && d->nwork < d->func->nvalues);
        d->work[d->nwork++] = value;
    }
}

static bool instr_live(const struct dce *d, const struct ir_instr *instr)
{
    if (!opt_removable(instr))
        return true;
    for (uint32_t i = 0; i < instr->ndst; i++)
        if (d->live[instr->dst[i]->id])
            return true;
    return false;
}

/* Marks from effects backwards, so dead cycles of phis go too. */
static void mark(struct dce *d)
{
    for (uint32_t b = 0; b < d->func->nblocks; b++)
        ir_foreach_instr(instr, d->func->blocks[b])
            if (!opt_removable(instr))
                need_sources(d, instr);
    while (d->nwork) {
        struct ir_value *value = d->work[--d->nwork];
        if (value->instr)
            need_sources(d, value->instr);
    }
}

/*
 * An atomic operation whose result nobody reads is a reduction, which need not bring it back. What
 * others did before is read by those that acquire, though.
 */
static bool drop_result(const struct dce *d, struct ir_instr *instr)
{
    if (instr->op != IR_OP_ATOM || !instr->ndst || d->live[instr->dst[0]->id] ||
        instr->mem.atom == IR_ATOM_CAS || instr->mem.atom == IR_ATOM_EXCH ||
        instr->mem.sem == IR_SEM_ACQUIRE || instr->mem.sem == IR_SEM_ACQ_REL ||
        instr->mem.sem == IR_SEM_SC)
        return false;
    instr->ndst = 0;
    return true;
}

static bool sweep(struct dce *d)
{
    bool changed = false;

    for (uint32_t b = 0; b < d->func->nblocks; b++) {
        ir_foreach_instr_safe(instr, d->func->blocks[b]) {
            if (instr_live(d, instr)) {
                changed |= drop_result(d, instr);
                continue;
            }
            assert(opt_removable(instr));
            ir_instr_remove(instr);
            changed = true;
        }
    }
    return changed;
}

bool ir_opt_dce(struct ir_func *func)
{
    struct dce d = {.func = func};
    bool changed = false;

    d.live = hd_alloc_array((size_t)func->nvalues + 1, sizeof(*d.live));
    d.work = hd_alloc_array((size_t)func->nvalues + 1, sizeof(*d.work));
    if (d.live && d.work) {
        mark(&d);
        changed = sweep(&d);
    } else {
        opt_failed(func);
    }
    hd_free(d.live);
    hd_free(d.work);
    return changed;
}
