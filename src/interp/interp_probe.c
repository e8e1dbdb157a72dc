/* Probes: the observer of the launch is told what each thread comes to. */
#include "interp/interp_priv.h"
#include "interp/interp_shared.h"

bool interp_observer_begin(const struct interp_launch *launch, struct ir_probe_cta *cta,
                           bool *out_observed)
{
    if (!launch->observer)
        return true;
    cta->launch = launch->observed;
    cta->index = ir_cta_number(launch->grid, cta->ctaid);
    *out_observed = launch->observer->cta_begin(cta);
    return *out_observed;
}

bool interp_observe(struct interp_cta *cta)
{
    assert(!cta->is_observed);
    cta->probe = (struct ir_probe_cta){
        .ctaid = {cta->id[0], cta->id[1], cta->id[2]},
        .smid = cta->smid,
        .shared = cta->shared,
        .local = cta->local,
        .local_B = cta->local_step_B,
    };
    return interp_observer_begin(cta->run->launch, &cta->probe, &cta->is_observed);
}

void interp_observe_end(struct interp_cta *cta)
{
    if (cta->is_observed)
        cta->run->launch->observer->cta_end(&cta->probe);
    cta->is_observed = false;
}

/* Lanes that come together are told together (interp_probe_warp). */
static bool is_notified_later(const struct ir_instr *probe)
{
    return !ir_probe_is_after(probe) && ir_op_is_matrix(ir_probe_op(probe));
}

bool interp_probe_warp(struct interp_warp *warp, uint32_t members, const struct ir_instr *in)
{
    struct interp_thread *t = &warp->lanes[__builtin_ctz(members)];
    const struct ir_observer *observer = t->cta->run->launch->observer;
    uint64_t words[IR_PROBE_OPERANDS_MAX][INTERP_WARP];
    const uint64_t *operands[IR_PROBE_OPERANDS_MAX + 1] = {NULL};
    enum hd_status status;

    if (!observer || !in || !ir_is_probe(in) || !is_notified_later(in))
        return true;
    for (uint32_t i = 0; i < in->nsrc; i++) {
        int64_t offset = i || in->op != IR_OP_PROBE_ACCESS ? 0 : in->mem.offset;

        for (uint32_t m = members; m; m &= m - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(m);
            words[i][lane] = interp_reg(&warp->lanes[lane], in->src[i])->lo + (uint64_t)offset;
        }
        operands[i] = words[i];
    }
    status = observer->probe(&t->cta->probe, warp->index, members, in, operands);
    if (status == HD_OK)
        return true;
    interp_fail(t, status, "%s; " IR_PROBE_ENDED, hd_status_text(status));
    return false;
}

enum interp_step interp_probe(struct interp_thread *t)
{
    const struct ir_observer *observer = t->cta->run->launch->observer;
    uint64_t words[IR_PROBE_OPERANDS_MAX][INTERP_WARP];
    const uint64_t *operands[IR_PROBE_OPERANDS_MAX + 1] = {NULL};
    const struct ir_instr *in = t->frame->pc;
    enum hd_status status;

    if (!observer || is_notified_later(in))
        return INTERP_NEXT;
    assert(in->nsrc <= IR_PROBE_OPERANDS_MAX);
    for (uint32_t i = 0; i < in->nsrc; i++) {
        words[i][t->lane] = interp_src(t, i);
        operands[i] = words[i];
    }
    if (in->op == IR_OP_PROBE_ACCESS)
        words[0][t->lane] = interp_address(t);
    status = observer->probe(&t->cta->probe, t->warp->index, 1u << t->lane, in, operands);
    if (status == HD_OK)
        return INTERP_NEXT;
    return interp_fail(t, status, "%s; " IR_PROBE_ENDED, hd_status_text(status));
}
