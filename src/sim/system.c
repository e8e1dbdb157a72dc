/* Lanes' calls of system functions. */
#include "interp/interp_shared.h"
#include "sim/sim_private.h"

#include <string.h>

struct lane {
    struct sim_warp *w;
    unsigned lane;
};

static bool read_for(void *memory, uint64_t address, void *out, size_t size_B)
{
    const struct lane *c = memory;

    return sim_read(c->w, c->lane, address, out, size_B);
}

static bool write_for(void *memory, uint64_t address, const void *bytes, size_t size_B)
{
    const struct lane *c = memory;

    return sim_write(c->w, c->lane, address, bytes, size_B);
}

static enum sim_step call_one(struct lane *c, uint64_t function, const uint64_t *args,
                              uint64_t *out_result)
{
    const struct interp_launch *l = c->w->run->launch;
    const struct sim_cta *cta = c->w->cta;
    uint32_t thread = c->w->index * SIM_LANES + c->lane;
    struct interp_caller caller = {.launch = l,
                                   .thread =
                                       ir_cta_number(l->grid, cta->id) * cta->nthreads + thread,
                                   .memory = c,
                                   .read = read_for,
                                   .write = write_for};
    enum hd_status status;
    const char *why;

    memcpy(caller.ctaid, cta->id, sizeof(caller.ctaid));
    ir_thread_index(l->block, thread, caller.tid);
    why = interp_system_call(&caller, function, args, out_result, &status);
    return why ? sim_fail(c->w, c->lane, status, "%s", why) : SIM_NEXT;
}

enum sim_step sim_exec_syscall(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t function = (uint64_t)sim_field(op->insn, ISA_FIELD_IMM16, 0);
    size_t size_B = 8 * interp_system_words(function);
    const uint32_t *a = sim_src_rows(w, op, 0);
    uint32_t *d = w->regs + op->d * SIM_LANES;

    sim_mode(w->run, 0);
    if (function == ISA_SYSCALL_PROBE)
        return sim_probe(w, a, mask);
    w->run->effects++;
    SIM_FOR_LANES(lane, mask)
    {
        struct lane caller = {w, lane};
        uint64_t args[INTERP_SYSTEM_WORDS], result;
        const void *from = size_B ? sim_host(w, lane, IR_SPACE_LOCAL, sim_pair(a, lane),
                                             (unsigned)size_B, 8, false)
                                  : args;

        if (!from)
            return SIM_STOP;
        memmove(args, from, size_B);
        if (call_one(&caller, function, args, &result) != SIM_NEXT)
            return SIM_STOP;
        d[lane] = (uint32_t)result;
        d[SIM_LANES + lane] = (uint32_t)(result >> 32);
    }
    return SIM_NEXT;
}
