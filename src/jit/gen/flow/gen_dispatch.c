/*
 * Dispatch mode (see gen_flow.c): parking at barriers, waiting for members, the end of a sweep.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

#include "model/mbarrier.h"

#define SPINS_MAX 64 /* sweeps in which lanes may wait before others run */

/* Dispatch: a barrier parks its lanes; they become pending at the next node when it has opened. */
void gen_park(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    struct gen_site *site = &g->sweep.sites[node->site];
    assert(g->dispatch && site->bar == in && site->next == (uint32_t)(node + 1 - g->nodes));
    LLVMValueRef id = gen_bar_operand(g, in, 0);
    LLVMValueRef generation = gen_bar_arrive(g, in, id);
    if (!ir_bar_waits((enum ir_bar)in->imm)) {
        LLVMValueRef edge[GEN_HALVES];
        gen_masks_or_full(g, edge);
        gen_pend_add(g, node + 1, edge);
        return;
    }
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef old = gen_bits_load(g, site->parked[h]);
        LLVMValueRef bits = gen_mask_bits(g, h);
        LLVMBuildStore(g->b, LLVMBuildOr(g->b, old, bits, ""), site->parked[h]);
    }
    LLVMBuildStore(g->b, id, site->id);
    LLVMBuildStore(g->b, generation, site->generation);
}

/*
 * The lanes that an opened barrier lets go read its result now: a later round may overwrite it
 * before they run. Other lanes may still use what they got in an earlier round.
 */
static void result_take(struct gen *g, const struct gen_site *site, LLVMValueRef id,
                        LLVMValueRef const go[GEN_HALVES])
{
    LLVMBasicBlockRef take = gen_bb(g, "bar_take"), on = gen_bb(g, "bar_on");
    LLVMBuildCondBr(g->b, gen_any_bits(g, go), take, on);
    LLVMPositionBuilderAtEnd(g->b, take);
    g->epoch = g->epoch_next++;
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] = gen_mask_from_bits(g, go[h]);
    gen_bar_result(g, site->bar, id);
    g->mask[0] = g->mask[1] = NULL;
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, on);
    g->epoch = g->epoch_next++;
}

/* Opened barriers hand their lanes on; yields i1 "something is still parked". */
static LLVMValueRef sites_poll(struct gen *g)
{
    LLVMValueRef parked_any = gen_ci(g->t->i16, 0);
    for (uint32_t s = 0; s < g->sweep.nsites; s++) {
        struct gen_site *site = &g->sweep.sites[s];
        LLVMValueRef id = LLVMBuildLoad2(g->b, g->t->i32, site->id, "");
        LLVMValueRef was = LLVMBuildLoad2(g->b, g->t->i32, site->generation, "");
        LLVMValueRef now =
            LLVMBuildLoad2(g->b, g->t->i32,
                           gen_barrier_field(g, id, offsetof(struct jit_barrier, generation)), "");
        LLVMValueRef open = LLVMBuildICmp(g->b, LLVMIntNE, was, now, "");
        struct gen_node *next = &g->nodes[site->next];
        LLVMValueRef let_go[GEN_HALVES];
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef zero = gen_ci(g->t->i16, 0);
            LLVMValueRef parked = gen_bits_load(g, site->parked[h]);
            LLVMValueRef go = LLVMBuildSelect(g->b, open, parked, zero, "");
            LLVMValueRef stay = LLVMBuildSelect(g->b, open, zero, parked, "");
            LLVMValueRef pend = gen_bits_load(g, next->pend[h]);
            LLVMBuildStore(g->b, LLVMBuildOr(g->b, pend, go, ""), next->pend[h]);
            LLVMBuildStore(g->b, stay, site->parked[h]);
            parked_any = LLVMBuildOr(g->b, parked_any, stay, "");
            let_go[h] = go;
        }
        if (site->bar->ndst)
            result_take(g, site, id, let_go);
    }
    return LLVMBuildICmp(g->b, LLVMIntNE, parked_any, gen_ci(g->t->i16, 0), "");
}

/* Where a warp goes on that stopped between sweeps. Others may have opened barriers meanwhile, so
 * nobody is stuck before another sweep has tried. */
static LLVMBasicBlockRef resume_at_end(struct gen *g)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), resumed = gen_bb(g, "resumed");
    assert(g->is_kernel && g->sweep.progress && g->sweep.end);
    LLVMPositionBuilderAtEnd(g->b, resumed);
    LLVMBuildStore(g->b, gen_ci(g->t->i8, 1), g->sweep.progress);
    LLVMBuildBr(g->b, g->sweep.end);
    LLVMPositionBuilderAtEnd(g->b, from);
    return resumed;
}

/* End of a sweep in dispatch mode: go round again, stop, or end. */
void gen_wrap(struct gen *g)
{
    assert(g->dispatch && g->sweep.progress && g->sweep.forced);
    LLVMPositionBuilderAtEnd(g->b, g->sweep.end);
    g->mask[0] = g->mask[1] = NULL;
    LLVMValueRef parked = sites_poll(g);
    LLVMValueRef pend = gen_ci(g->t->i16, 0);
    for (uint32_t n = 0; n < g->nnodes; n++) {
        for (int h = 0; h < gen_halves(g) && !g->nodes[n].exit_only; h++)
            pend = LLVMBuildOr(g->b, pend, gen_bits_load(g, g->nodes[n].pend[h]), "");
    }
    LLVMBasicBlockRef again = gen_bb(g, "again"), idle = gen_bb(g, "idle");
    LLVMValueRef any = LLVMBuildICmp(g->b, LLVMIntNE, pend, gen_ci(g->t->i16, 0), "");
    LLVMBuildCondBr(g->b, any, again, idle);

    LLVMPositionBuilderAtEnd(g->b, idle);
    LLVMBasicBlockRef first = gen_sweep_target(g, 0, IR_NO_BLOCK);
    if (g->sweep.nsites) {
        LLVMBasicBlockRef wait = gen_bb(g, "wait");
        LLVMBuildCondBr(g->b, parked, wait, g->done);
        LLVMPositionBuilderAtEnd(g->b, wait);
        LLVMBuildRet(g->b, gen_resume_add(g, resume_at_end(g), JIT_BARRIER));
    } else {
        LLVMBuildBr(g->b, g->done);
    }

    /* Nobody could run although lanes are pending: their partners will not come, so let them go. */
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMValueRef moved = LLVMBuildLoad2(g->b, g->t->i8, g->sweep.progress, "");
    LLVMValueRef stuck = LLVMBuildICmp(g->b, LLVMIntEQ, moved, gen_ci(g->t->i8, 0), "");
    if (g->sweep.nsites)
        stuck = LLVMBuildAnd(g->b, stuck, LLVMBuildNot(g->b, parked, ""), "");
    LLVMBuildStore(g->b, LLVMBuildZExt(g->b, stuck, g->t->i8, ""), g->sweep.forced);
    LLVMBuildStore(g->b, gen_ci(g->t->i8, 0), g->sweep.progress);
    if (!g->unit->facts.may_spin) {
        if (g->sweep.nsites) {
            LLVMBasicBlockRef wait = gen_bb(g, "wait_members"), go = gen_bb(g, "go");
            LLVMValueRef idle_now = LLVMBuildICmp(g->b, LLVMIntEQ, moved, gen_ci(g->t->i8, 0), "");
            LLVMBuildCondBr(g->b, LLVMBuildAnd(g->b, idle_now, parked, ""), wait, go);
            LLVMPositionBuilderAtEnd(g->b, wait);
            LLVMBuildRet(g->b, gen_resume_add(g, resume_at_end(g), JIT_BARRIER));
            LLVMPositionBuilderAtEnd(g->b, go);
        }
        LLVMBuildBr(g->b, first);
        return;
    }
    LLVMValueRef spins = LLVMBuildLoad2(g->b, g->t->i32, g->sweep.spins, "");
    spins = LLVMBuildAdd(g->b, spins, gen_i32(g, 1), "");
    LLVMValueRef tired = LLVMBuildICmp(g->b, LLVMIntUGE, spins, gen_i32(g, SPINS_MAX), "");
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, tired, gen_i32(g, 0), spins, ""), g->sweep.spins);
    LLVMBasicBlockRef yield = gen_bb(g, "yield");
    LLVMBuildCondBr(g->b, tired, yield, first);
    LLVMPositionBuilderAtEnd(g->b, yield);
    if (g->is_kernel) {
        LLVMBuildRet(g->b, gen_resume_add(g, resume_at_end(g), JIT_YIELD));
    } else {
        gen_service(g, offsetof(struct jit_services, yield), g->t->void_, NULL, 0);
        LLVMBuildBr(g->b, first);
    }
}

/* For whoever asks what a warp waits for that never stops polling. */
void gen_note_poll(struct gen *g)
{
    LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, polls));

    LLVMBuildStore(g->b, gen_i32(g, gen_srcloc(g)), at);
}

/*
 * Where a lane has waited to some end (`passed`: of both halves), the warp lets others run before
 * it goes on. They may wait for the same phase of the same barrier, and parity tells it
 * only from the next one: a warp that made several phases in one go would leave them behind, which
 * on a GPU no warp is fast enough for.
 */
void gen_take_turns(struct gen *g, LLVMValueRef const passed[GEN_HALVES])
{
    if (!g->dispatch || !g->unit->facts.may_spin)
        return;
    LLVMValueRef spins = LLVMBuildLoad2(g->b, g->t->i32, g->sweep.spins, "");
    LLVMValueRef any = gen_any_bits(g, passed);
    spins = LLVMBuildSelect(g->b, any, gen_i32(g, SPINS_MAX), spins, "");
    LLVMBuildStore(g->b, spins, g->sweep.spins);
}

static bool tests_barrier(const struct gen_node *node)
{
    for (const struct ir_instr *in = node->first; in && in != node->end; in = in->next)
        if (in->op == IR_OP_MBARRIER && ir_mbarrier_tests((enum ir_mbarrier)in->imm))
            return true;
    return false;
}

void gen_node_leave(struct gen *g, const struct gen_node *node, LLVMBasicBlockRef next)
{
    if (!g->dispatch || !g->unit->facts.may_spin || !tests_barrier(node)) {
        LLVMBuildBr(g->b, next);
        return;
    }
    LLVMValueRef spins = LLVMBuildLoad2(g->b, g->t->i32, g->sweep.spins, "");
    LLVMValueRef tired = LLVMBuildICmp(g->b, LLVMIntUGE, spins, gen_i32(g, SPINS_MAX), "");
    LLVMBuildCondBr(g->b, tired, g->sweep.end, next);
}

LLVMValueRef gen_members_here(struct gen *g, struct gen_node *node,
                              LLVMValueRef const pend[GEN_HALVES])
{
    const struct ir_instr *in = node->collective;
    assert(g->dispatch && node->first == in && LLVMTypeOf(pend[0]) == g->t->i16);
    bool everybody = ir_op_is_matrix(in->op);
    const struct ir_value *member = everybody              ? NULL
                                    : in->op == IR_OP_SHFL ? in->src[3]
                                    : in->op == IR_OP_WARPSYNC || in->op == IR_OP_ELECT
                                        ? in->src[0]
                                        : in->src[1];
    LLVMValueRef saved[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] = gen_mask_from_bits(g, pend[h]);
    LLVMValueRef want = everybody ? gen_i32(g, UINT32_MAX) : gen_first_active(g, member);
    LLVMValueRef have = gen_mask32(g);
    gen_masks_copy(g->mask, saved);
    LLVMValueRef alive = LLVMBuildOr(
        g->b, LLVMBuildZExt(g->b, gen_bits_load(g, g->alive[0]), g->t->i32, ""),
        LLVMBuildShl(g->b, LLVMBuildZExt(g->b, gen_bits_load(g, g->alive[1]), g->t->i32, ""),
                     gen_i32(g, 16), ""),
        "");
    LLVMValueRef missing =
        LLVMBuildAnd(g->b, LLVMBuildAnd(g->b, want, alive, ""), LLVMBuildNot(g->b, have, ""), "");
    LLVMValueRef forced = LLVMBuildLoad2(g->b, g->t->i8, g->sweep.forced, "");
    return LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, missing, gen_i32(g, 0), ""),
                       LLVMBuildICmp(g->b, LLVMIntNE, forced, gen_ci(g->t->i8, 0), ""), "");
}
