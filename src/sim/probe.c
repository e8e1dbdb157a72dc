/* Probes: the observer of the launch is told what lanes come to, by their calls of the system. */
#include "interp/interp_shared.h"
#include "sim/sim_private.h"

#include <inttypes.h>
#include <string.h>

bool sim_observe(struct sim_cta *cta)
{
    assert(!cta->is_observed);
    cta->probe = (struct ir_probe_cta){
        .ctaid = {cta->id[0], cta->id[1], cta->id[2]},
        .smid = cta->smid,
        .shared = cta->shared,
        .local = cta->local,
        .local_B = cta->run->local_step_B,
    };
    return interp_observer_begin(cta->run->launch, &cta->probe, &cta->is_observed);
}

void sim_observe_end(struct sim_cta *cta)
{
    if (cta->is_observed)
        cta->run->launch->observer->cta_end(&cta->probe);
    cta->is_observed = false;
}

/* The operands of a lane, from its window; false: they are not there. */
static bool operands_read(struct sim_warp *w, unsigned lane, uint64_t address,
                          const struct ir_instr *probe, uint64_t words[][SIM_LANES])
{
    const uint64_t *from =
        sim_host(w, lane, IR_SPACE_LOCAL, address, 8 * (1ull + probe->nsrc), 8, false);

    if (!from)
        return false;
    for (uint32_t i = 0; i < probe->nsrc; i++)
        words[i][lane] = from[1 + i];
    if (probe->op != IR_OP_PROBE_ACCESS)
        return true;
    words[0][lane] += (uint64_t)probe->mem.offset;
    if (probe->src[0]->type == IR_B32)
        words[0][lane] = (uint32_t)words[0][lane];
    return true;
}

/* A warp that lets others run before a write does so before the write is told. */
static bool writes_shared(const struct sim_warp *w, const struct ir_instr *probe, uint64_t address)
{
    enum ir_op op = ir_probe_op(probe);

    return probe->op == IR_OP_PROBE_ACCESS &&
           (op == IR_OP_ST || op == IR_OP_ATOM || op == IR_OP_STMATRIX) &&
           (ir_space_is_shared(probe->mem.space) ||
            (probe->mem.space == IR_SPACE_GENERIC && sim_is_shared(w, address, 1)));
}

enum sim_step sim_probe(struct sim_warp *w, const uint32_t *addresses, uint32_t mask)
{
    const struct interp_launch *l = w->run->launch;
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint64_t words[IR_PROBE_OPERANDS_MAX][SIM_LANES];
    const uint64_t *operands[IR_PROBE_OPERANDS_MAX + 1] = {NULL};
    const uint64_t *number =
        sim_host(w, first, IR_SPACE_LOCAL, sim_pair(addresses, first), 8, 8, false);
    const struct sim_program *p = w->run->program;
    const struct ir_instr *probe;
    enum hd_status status;

    if (!number)
        return SIM_STOP;
    probe = *number < p->nprobes ? p->probes[*number] : NULL; /* code may name any */
    if (!probe)
        return sim_fail(w, first, HD_BAD_IMAGE, "there is no probe %" PRIu64, *number);
    if (!w->cta->is_observed)
        return SIM_NEXT;
    SIM_FOR_LANES(lane, mask)
    {
        if (!operands_read(w, lane, sim_pair(addresses, lane), probe, words))
            return SIM_STOP;
    }
    if (writes_shared(w, probe, words[0][first]) && sim_shared_first(w))
        return SIM_STOP;
    for (uint32_t i = 0; i < probe->nsrc; i++)
        operands[i] = words[i];
    status = l->observer->probe(&w->cta->probe, w->index, mask, probe, operands);
    if (status == HD_OK)
        return SIM_NEXT;
    return sim_fail(w, first, status, "%s; " IR_PROBE_ENDED, hd_status_text(status));
}
