/*
 * The points where a warp suspends and resumes: what is live goes through its frame; CTA barriers.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

/* ---- stopping */

LLVMValueRef gen_resume_add(struct gen *g, LLVMBasicBlockRef target, enum jit_stop stop)
{
    assert(g->is_kernel && stop != JIT_DONE);
    uint32_t state = (++g->body.nresume << 2) | stop;
    LLVMAddCase(g->state_switch, gen_i32(g, state), target);
    return gen_i32(g, state);
}

/* Living lanes are kept in the warp's struct, in the frame when lanes may end between regions. */
static void alive_publish(struct gen *g)
{
    if (g->body.leaves_early) {
        for (int h = 0; h < gen_halves(g); h++)
            LLVMBuildStore(g->b, gen_bits_load(g, g->alive[h]),
                           gen_gep(g, g->frame, g->body.alive_at + GEN_LANES / 8 * (unsigned)h));
        return;
    }
    if (g->alive_known_full || g->body.alive_in_memory || g->body.by_region)
        return;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, alive) + 2u * (unsigned)h);
        LLVMBuildStore(g->b, gen_bits_load(g, g->alive[h]), at);
    }
}

/*
 * Lanes that have left for an end of their own come to it before the others stop: whoever waits at
 * a barrier may rely on what they do, and the frame keeps nothing for them.
 */
void gen_suspend_return(struct gen *g, LLVMValueRef state)
{
    alive_publish(g);
    if (!g->leaving) {
        LLVMBuildRet(g->b, gen_bound_state(g, state));
        return;
    }
    LLVMBuildStore(g->b, state, g->leaving);
    LLVMBuildBr(g->b, g->done);
}

/* Returns at the current point with everything live kept, and continues at the resume point. */
static LLVMValueRef suspend_here(struct gen *g, const struct ir_instr *instr, enum jit_stop stop,
                                 LLVMBasicBlockRef *out_resume)
{
    const struct gen_live_set *set = gen_live_at(g, instr);
    if (!set)
        return NULL;
    gen_live_save(g, set);
    LLVMBasicBlockRef resume = gen_bb(g, "resume");
    LLVMValueRef state = gen_resume_add(g, resume, stop);
    /* gen_regions.c numbers them alike. */
    assert(!g->body.by_region || gen_live_number(g, set) + 1 == g->body.nresume);
    gen_suspend_return(g, state);
    LLVMPositionBuilderAtEnd(g->b, resume);
    g->epoch = g->epoch_next++;
    gen_mask_set_alive(g);
    gen_live_restore(g, set);
    *out_resume = resume;
    return state;
}

/* ---- barriers */

LLVMValueRef gen_barrier_field(struct gen *g, LLVMValueRef id, uint64_t member)
{
    assert(LLVMTypeOf(id) == g->t->i32 && member < sizeof(struct jit_barrier));
    LLVMValueRef at = LLVMBuildZExt(g->b, id, g->t->i64, "");
    at = LLVMBuildMul(g->b, at, gen_i64(g, sizeof(struct jit_barrier)), "");
    at = LLVMBuildAdd(g->b, at, gen_i64(g, offsetof(struct jit_cta, bars) + member), "");
    return LLVMBuildGEP2(g->b, g->t->i8, g->cta, &at, 1, "");
}

static LLVMValueRef popcount32(struct gen *g, LLVMValueRef x)
{
    return gen_intrinsic(g, "llvm.ctpop", &g->t->i32, 1, &x, 1);
}

static LLVMValueRef add_to(struct gen *g, LLVMValueRef ptr, LLVMValueRef x)
{
    LLVMValueRef old = LLVMBuildLoad2(g->b, g->t->i32, ptr, "");
    return LLVMBuildStore(g->b, LLVMBuildAdd(g->b, old, x, ""), ptr);
}

static bool bar_is_red(const struct ir_instr *in)
{
    return in->imm >= IR_BAR_RED_POPC;
}

/* Lanes of the current mask whose predicate holds, as a count. */
static LLVMValueRef bar_votes(struct gen *g, const struct ir_instr *in)
{
    if (!bar_is_red(in))
        return gen_i32(g, 0);
    LLVMValueRef p[GEN_HALVES];
    gen_vector(g, in->src[in->nsrc - 1], p);
    LLVMValueRef saved[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] = LLVMBuildAnd(g->b, p[h], gen_mask_or_full(g, h), "");
    LLVMValueRef votes = popcount32(g, gen_mask32(g));
    gen_masks_copy(g->mask, saved);
    return votes;
}

void gen_bar_result(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    if (!bar_is_red(in))
        return;
    LLVMValueRef votes = LLVMBuildLoad2(
        g->b, g->t->i32, gen_barrier_field(g, id, offsetof(struct jit_barrier, result_votes)), "");
    LLVMValueRef all =
        LLVMBuildLoad2(g->b, g->t->i32,
                       gen_barrier_field(g, id, offsetof(struct jit_barrier, result_arrived)), "");
    LLVMValueRef r = votes;
    if (in->imm == IR_BAR_RED_AND)
        r = LLVMBuildICmp(g->b, LLVMIntEQ, votes, all, "");
    else if (in->imm == IR_BAR_RED_OR)
        r = LLVMBuildICmp(g->b, LLVMIntNE, votes, gen_i32(g, 0), "");
    gen_set(g, in->dst[0], gen_u(r));
}

/* Barrier number and count must be the same for all lanes that arrive together; PTX says so. */
LLVMValueRef gen_bar_operand(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    if (ir_bar_is_cluster((enum ir_bar)in->imm))
        return gen_i32(g, s ? 0 : JIT_CLUSTER_BARRIER);
    if (s >= in->nsrc - (bar_is_red(in) ? 1u : 0u))
        return gen_i32(g, 0);
    return gen_first_active(g, in->src[s]);
}

LLVMValueRef gen_bar_arrive(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    LLVMValueRef lanes = gen_mask32(g);
    if (in->imm == IR_BAR_CLUSTER_ARRIVE)
        return gen_service(g, offsetof(struct jit_services, cluster_arrive), g->t->i32, &lanes, 1);
    if (in->imm == IR_BAR_CLUSTER_WAIT)
        return gen_service(g, offsetof(struct jit_services, cluster_wait), g->t->i32, &lanes, 1);
    LLVMValueRef args[] = {id, gen_bar_operand(g, in, 1), lanes, bar_votes(g, in)};
    return gen_service(g, offsetof(struct jit_services, bar_arrive), g->t->i32, args, 4);
}

static void barrier_simple(struct gen *g, const struct ir_instr *in)
{
    assert(!g->dispatch && !g->nodes[g->cur].divergent);
    LLVMValueRef zero = gen_i32(g, 0);
    if (bar_is_red(in)) {
        add_to(g, gen_barrier_field(g, zero, offsetof(struct jit_barrier, votes)),
               bar_votes(g, in));
        add_to(g, gen_barrier_field(g, zero, offsetof(struct jit_barrier, arrived)),
               popcount32(g, gen_mask32(g)));
    }
    LLVMBasicBlockRef resume;
    if (suspend_here(g, in, JIT_BARRIER, &resume))
        gen_bar_result(g, in, zero);
}

/* Counted barrier in convergent code: arrive, stop, and stop again while it has not opened. */
static void barrier_counted(struct gen *g, const struct ir_instr *in)
{
    assert(!g->dispatch && !g->nodes[g->cur].divergent && !g->body.by_region);
    LLVMValueRef id = gen_bar_operand(g, in, 0);
    LLVMValueRef generation = gen_bar_arrive(g, in, id);
    if (!ir_bar_waits((enum ir_bar)in->imm))
        return;
    uint64_t keep = gen_frame_alloc(g, 8, 8);
    LLVMBuildStore(g->b, id, gen_gep(g, g->frame, keep));
    LLVMBuildStore(g->b, generation, gen_gep(g, g->frame, keep + 4));
    LLVMBasicBlockRef resume;
    LLVMValueRef state = suspend_here(g, in, JIT_BARRIER, &resume);
    if (!state)
        return;
    LLVMValueRef id2 = LLVMBuildLoad2(g->b, g->t->i32, gen_gep(g, g->frame, keep), "");
    LLVMValueRef gen2 = LLVMBuildLoad2(g->b, g->t->i32, gen_gep(g, g->frame, keep + 4), "");
    LLVMValueRef now = LLVMBuildLoad2(
        g->b, g->t->i32, gen_barrier_field(g, id2, offsetof(struct jit_barrier, generation)), "");
    LLVMBasicBlockRef again = gen_bb(g, "bar_closed"), open = gen_bb(g, "bar_open");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, now, gen2, ""), again, open);
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMBuildRet(g->b, state);
    LLVMPositionBuilderAtEnd(g->b, open);
    gen_bar_result(g, in, id2);
}

void gen_barrier(struct gen *g, const struct ir_instr *in)
{
    g->unit->facts.has_barrier = true;
    if (!g->is_kernel)
        gen_unsupported(g, in, "barrier inside a function that cannot be inlined");
    else if (g->unit->facts.simple_barriers)
        barrier_simple(g, in);
    else
        barrier_counted(g, in);
}
