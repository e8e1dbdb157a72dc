/* A debugger's view of running CTAs. */
#include "interp/interp_debug.h"

#include <string.h>

#include "interp/interp_priv.h"

static const struct interp_debug *in_use;

void interp_debug_use(const struct interp_debug *ops)
{
    in_use = ops;
}

const struct interp_debug *interp_debug_of(const struct ir_module *module)
{
    return module->has_notes ? in_use : NULL;
}

/* ---- CTAs, warps, threads */

const struct interp_launch *interp_debug_launch(const struct interp_cta *cta)
{
    return cta->run->launch;
}

const uint32_t *interp_debug_ctaid(const struct interp_cta *cta)
{
    return cta->id;
}

uint32_t interp_debug_sm(const struct interp_cta *cta)
{
    return cta->smid;
}

uint32_t interp_debug_nthreads(const struct interp_cta *cta)
{
    return cta->nthreads;
}

struct interp_thread *interp_debug_thread(const struct interp_cta *cta, uint32_t index)
{
    assert(index < cta->nthreads);
    return &cta->threads[index];
}

struct interp_cta *interp_debug_cta(const struct interp_thread *t)
{
    return t->cta;
}

uint32_t interp_debug_epoch(const struct interp_cta *cta)
{
    return cta->epoch;
}

void **interp_debug_slot(struct interp_cta *cta)
{
    return &cta->debug_slot;
}

struct interp_cta *interp_debug_warp_cta(const struct interp_warp *warp)
{
    return warp->lanes[0].cta;
}

uint32_t interp_debug_warp_index(const struct interp_warp *warp)
{
    return warp->index;
}

uint32_t interp_debug_index(const struct interp_thread *t)
{
    return (uint32_t)(t - t->cta->threads);
}

const uint32_t *interp_debug_tid(const struct interp_thread *t)
{
    return t->tid;
}

enum interp_debug_state interp_debug_state(const struct interp_thread *t)
{
    switch (t->state) {
    case INTERP_RUN:
        return INTERP_DEBUG_RUNS;
    case INTERP_WAIT_BAR:
        return INTERP_DEBUG_AT_BARRIER;
    case INTERP_ENDED:
        return INTERP_DEBUG_ENDED;
    case INTERP_WAIT_WARP:
    case INTERP_WAIT_ACTIVE:
    case INTERP_WAIT_CLUSTER:
        break;
    }
    return INTERP_DEBUG_WAITS;
}

/* ---- frames */

unsigned interp_debug_depth(const struct interp_thread *t)
{
    return t->frame ? t->frame->depth : 0;
}

static const struct interp_frame *frame_at(const struct interp_thread *t, unsigned index)
{
    const struct interp_frame *f = t->frame;

    while (f && index--)
        f = f->caller;
    return f;
}

static bool is_start(const struct ir_instr *in)
{
    return in->op == IR_OP_NOTE && !in->nsrc;
}

bool interp_debug_reg_set(struct interp_thread *t, unsigned index, uint32_t reg,
                          const uint64_t value[2])
{
    const struct interp_frame *f = frame_at(t, index);
    struct ir_bits bits = {value[0], value[1]};

    if (!f || reg >= f->func->nregs || !interp_ptx_known(f)[reg])
        return false;
    interp_ptx_regs(f)[reg] = bits;
    ((struct interp_frame *)(uintptr_t)f)->regs[interp_ptx_known(f)[reg] - 1] = bits;
    return true;
}

const uint8_t *interp_debug_returned(const struct interp_thread *t, uint32_t *out_size_B)
{
    *out_size_B = t->returned_B;
    return t->returned;
}

void interp_debug_return(struct interp_thread *t)
{
    const struct ir_instr *ret = t->frame->pc;

    t->returned_B = 0;
    for (uint32_t i = 0; i < ret->nsrc; i++) {
        uint32_t size_B = HD_MAX(ir_type_bits(ret->src[i]->type) / 8, 1u);
        uint32_t left_B = (uint32_t)sizeof(t->returned) - t->returned_B;
        memcpy(&t->returned[t->returned_B], interp_reg(t, ret->src[i]), HD_MIN(size_B, left_B));
        t->returned_B += HD_MIN(size_B, left_B);
    }
}

/* A call's own frame goes on behind it: its place is the call, not what follows. */
struct interp_spot interp_debug_spot(const struct interp_thread *t, unsigned index)
{
    const struct interp_frame *f = frame_at(t, index);
    struct interp_spot spot = {0};

    if (!f)
        return spot;
    spot.is_start = index == 0 && is_start(f->pc);
    uint64_t srcloc_key = spot.is_start ? f->pc->imm : f->srcloc_key;
    spot.func = f->func;
    spot.line = (uint32_t)srcloc_key;
    spot.col = (uint32_t)(srcloc_key >> 32);
    spot.done = spot.is_start ? 0 : f->done;
    return spot;
}

bool interp_debug_reg(const struct interp_thread *t, unsigned index, uint32_t reg,
                      uint64_t out_value[2])
{
    const struct interp_frame *f = frame_at(t, index);

    if (!f || reg >= f->func->nregs || !interp_ptx_known(f)[reg])
        return false;
    out_value[0] = interp_ptx_regs(f)[reg].lo;
    out_value[1] = interp_ptx_regs(f)[reg].hi;
    return true;
}

void *interp_debug_var(const struct interp_thread *t, unsigned index, const struct ir_var *var)
{
    const struct interp_frame *f = frame_at(t, index);

    if (!f || (var->func && var->func != f->func && var->space != IR_SPACE_SHARED))
        return NULL;
    if (var->space == IR_SPACE_LOCAL && var->func)
        return t->local + f->local_base + var->window_offset;
    return var->space == IR_SPACE_SHARED ? t->cta->shared + var->window_offset : NULL;
}

void *interp_debug_shared(const struct interp_cta *cta, uint64_t *out_size_B)
{
    *out_size_B = cta->run->shared_B;
    return cta->shared;
}

void *interp_debug_local(const struct interp_thread *t, uint64_t *out_size_B)
{
    *out_size_B = t->cta->run->local_B;
    return t->local;
}

uint64_t interp_debug_sreg(const struct interp_thread *t, enum ir_sreg sreg)
{
    return interp_sreg(t, sreg);
}

/* ---- what the interpreter calls */

/* Lanes that may execute one operation; all when nobody debugs. */
uint32_t interp_debug_lanes(struct interp_warp *warp)
{
    const struct interp_debug *debug = warp->lanes[0].cta->debug;

    return debug ? debug->pass(warp) : ~0u;
}

void interp_note(struct interp_thread *t)
{
    struct interp_frame *f = t->frame;
    const struct ir_instr *in = f->pc;

    if (!in->nsrc) {
        f->srcloc_key = in->imm;
        f->done = 0;
        return;
    }
    uint32_t reg = (uint32_t)in->imm;
    bool is_join = in->imm & IR_NOTE_JOIN;
    assert(reg < f->func->nregs);
    if (is_join && !interp_ptx_known(f)[reg])
        return;
    interp_ptx_regs(f)[reg] = *interp_reg(t, in->src[0]);
    interp_ptx_known(f)[reg] = in->src[0]->id + 1;
    if (t->cta->debug && !is_join)
        t->cta->debug->wrote(t, reg);
}
