/* A CTA as it was in another process: for debuggers of core dumps. It is looked at, never run. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp_debug.h"
#include "interp/interp_priv.h"

/* Where a thread of a core dump stands: at nothing that could be executed. */
static const struct ir_instr nowhere = {.op = IR_OP_TRAP};

static bool frame_fits(const struct interp_thread *t, const struct interp_debug_frame *was)
{
    uint64_t whole_B = t->cta->run->local_B;

    return was->func->blocks && was->local_base <= whole_B &&
           ir_func_frame_B(was->func) <= whole_B - was->local_base;
}

/* False: a register that the function does not have. */
static bool registers_set(struct interp_frame *f, const struct interp_debug_frame *was)
{
    for (size_t i = 0; i < was->nregs; i++) {
        const struct interp_debug_reg *r = &was->regs[i];
        if (r->reg >= f->func->nregs || !f->func->nvalues)
            return false;
        interp_ptx_regs(f)[r->reg] = (struct ir_bits){r->value[0], r->value[1]};
        interp_ptx_known(f)[r->reg] = 1; /* some value: nobody reads it any more */
    }
    return true;
}

static enum hd_status frame_revive(struct interp_thread *t, const struct interp_debug_frame *was)
{
    if (!frame_fits(t, was))
        return hd_error(HD_CORRUPT, "a frame of %s outside of local memory", was->func->name);
    if (!interp_enter(t, was->func, 0))
        return hd_error(HD_NO_MEMORY, "a frame of %s", was->func->name);
    t->frame->pc = &nowhere;
    t->frame->local_base = was->local_base;
    t->frame->srcloc_key = (uint64_t)was->col << 32 | was->line;
    if (!registers_set(t->frame, was))
        return hd_error(HD_CORRUPT, "a register that %s does not have", was->func->name);
    return HD_OK;
}

enum hd_status interp_debug_revive(struct interp_thread *t, const struct interp_debug_thread *was)
{
    static const enum interp_state states[] = {
        [INTERP_DEBUG_RUNS] = INTERP_RUN,
        [INTERP_DEBUG_AT_BARRIER] = INTERP_WAIT_BAR,
        [INTERP_DEBUG_WAITS] = INTERP_WAIT_WARP,
        [INTERP_DEBUG_ENDED] = INTERP_ENDED,
    };

    interp_leave_all(t);
    t->local = was->local;
    t->state = states[was->state];
    t->returned_B = HD_MIN(was->returned_B, (uint32_t)sizeof(t->returned));
    memcpy(t->returned, was->returned, t->returned_B);
    if ((was->state == INTERP_DEBUG_ENDED) != !was->nframes)
        return hd_error(HD_CORRUPT,
                        "a thread that has ended has no frames, and the other way round");
    for (size_t i = 0; i < was->nframes; i++)
        HD_TRY(frame_revive(t, &was->frames[i]));
    return HD_OK;
}

uint64_t interp_debug_local_base(const struct interp_thread *t, unsigned index)
{
    const struct interp_frame *f = t->frame;

    while (f && index--)
        f = f->caller;
    return f ? f->local_base : 0;
}
