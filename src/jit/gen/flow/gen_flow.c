/*
 * Control flow of one function: the walk over its nodes. gen_edge.c has branches and masks,
 * gen_suspend.c the points where a warp suspends and resumes, gen_dispatch.c what only dispatch
 * mode needs.
 *
 * Structured mode. A node is a block. A convergent node runs with all living lanes and branches for
 * real. A branch that sends lanes different ways adds them to the pending masks of its targets and
 * control sweeps the divergent nodes in layout order (RPO, loops contiguous): each tests its mask,
 * runs, and falls to the next; the last node of a loop goes back while the header has lanes
 * pending. After the last node of the region control is at `conv`, the nearest convergent
 * post-dominator.
 *
 * Dispatch mode (irreducible flow, spin loops that lanes leave separately, barriers in divergent
 * code). Every node is divergent and the sweep covers the whole layout, again and again, until no
 * lane is pending: that is cyclic dispatch, so lanes that wait for each other make progress. Nodes
 * are split at barriers (lanes are parked until it opens) and before warp operations with a member
 * mask (they wait for the members). Values live in frame memory, so the warp may suspend anywhere.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_tuples.h"

#include <assert.h>
#include <string.h>

static void flow_node_enter_divergent(struct gen *g, struct gen_node *node)
{
    assert(node->divergent && !node->exit_only && !node->region && node->test);
    LLVMPositionBuilderAtEnd(g->b, node->test);
    g->epoch = g->epoch_next++;
    LLVMValueRef pend[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        pend[h] = gen_bits_load(g, node->pend[h]);
    LLVMValueRef go = gen_any_bits(g, pend);
    if (node->collective) {
        LLVMBasicBlockRef some = gen_bb(g, "members");
        LLVMBuildCondBr(g->b, go, some, node->tail);
        LLVMPositionBuilderAtEnd(g->b, some);
        go = gen_members_here(g, node, pend);
    }
    uint32_t skipped = (uint32_t)(node - g->nodes);
    while (gen_node_follows(g, skipped + 1))
        skipped++;
    LLVMBuildCondBr(g->b, go, node->body, g->nodes[skipped].tail);
    LLVMPositionBuilderAtEnd(g->b, node->body);
    g->epoch = g->epoch_next++;
    for (int h = 0; h < gen_halves(g); h++) { /* read again: a loop comes back here past the test */
        g->mask[h] = gen_mask_from_bits(g, gen_bits_load(g, node->pend[h]));
        gen_bits_store(g, gen_no_bits(g), node->pend[h]);
    }
    if (g->dispatch)
        LLVMBuildStore(g->b, gen_ci(g->t->i8, 1), g->sweep.progress);
}

/* Where the sweep goes after this node: back to a loop that lanes go round once more, or on. */
static void flow_node_tail(struct gen *g, uint32_t n)
{
    assert(g->nodes[n].divergent && g->nodes[n].tail);
    struct gen_node *node = &g->nodes[n];
    LLVMPositionBuilderAtEnd(g->b, node->tail);
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = g->dispatch ? IR_NO_BLOCK : loops->loop_of[node->block->id];
    for (; loop != IR_NO_BLOCK; loop = loops->loops[loop].parent) {
        const struct ir_loop *l = &loops->loops[loop];
        struct gen_node *header = &g->nodes[g->node_of_block[l->header]];
        if (l->last != node->block->id || !header->divergent)
            continue;
        LLVMBasicBlockRef on = gen_bb(g, "loop_done");
        LLVMBuildCondBr(g->b, gen_any_stored(g, header->pend), gen_spin_iteration(g, loop), on);
        LLVMPositionBuilderAtEnd(g->b, on);
    }
    gen_node_leave(g, node, gen_sweep_target(g, n + 1, node->conv));
}

/* Is the block the header of a loop that lanes leave only by ending, or for a path of their own? */
static bool flow_heads_endless_loop(struct gen *g, const struct ir_block *header)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = loops->loop_of[header->id];
    if (!g->is_kernel || loop == IR_NO_BLOCK || loops->loops[loop].header != header->id)
        return false;
    for (uint32_t b = header->id; b <= loops->loops[loop].last; b++) {
        const struct ir_block *block = g->func->blocks[b];
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            uint32_t to = block->succs[s]->id;
            bool inside = to >= header->id && to <= loops->loops[loop].last;
            bool ends =
                g->shapes.exit_only[to] || (g->shapes.side_exit[to] && !g->shapes.side_exit[b]);
            if (!inside && !ends)
                return false;
        }
    }
    return true;
}

/* All lanes may have ended: in the last iteration of such a loop, or on the ways to the node. */
static void flow_leave_when_over(struct gen *g, const struct gen_node *node)
{
    if (g->alive_known_full || !(node->may_be_over || flow_heads_endless_loop(g, node->block)))
        return;
    LLVMBasicBlockRef on = gen_bb(g, "on");
    LLVMBuildCondBr(g->b, gen_any_stored(g, g->alive), on, g->done);
    LLVMPositionBuilderAtEnd(g->b, on);
}

/* Finds the nodes at which lanes meet again some of which may have ended on the way. */
static void flow_find_ends(struct gen *g)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        const struct gen_node *node = &g->nodes[n];
        if (node->divergent && !node->exit_only && node->conv != IR_NO_BLOCK &&
            gen_node_ends_lanes(g, node))
            g->nodes[g->node_of_block[node->conv]].may_be_over = true;
    }
}

/* From the builder's place to the end of the node, with the current mask. */
static void flow_node_instrs(struct gen *g, struct gen_node *node)
{
    const struct ir_instr *in = node->first;
    for (; in && in != node->end; in = in->next) {
        gen_srcloc_at(g, in);
        if (ir_op_has(in->op, IR_F_TERM)) {
            gen_term(g, node, in);
            break;
        }
        if (in->op == IR_OP_BAR && g->dispatch && g->is_kernel) {
            gen_park(g, node, in);
            LLVMBuildBr(g->b, node->tail);
            break;
        }
        if (in->op != IR_OP_PHI)
            gen_instr(g, in);
    }
    if (in == node->end && node->end) { /* falls into the next node of the block */
        LLVMValueRef edge[GEN_HALVES];
        gen_masks_or_full(g, edge);
        gen_pend_add(g, node + 1, edge);
        LLVMBuildBr(g->b, node->tail);
    }
}

/* Beyond so many instructions for each access, masks cost little. */
#define FULL_INSTRS 64
/* A function has versions of this many instructions; where it is larger, of those in loops. */
#define FULL_INSTRS_MAX 400

static bool flow_is_access(const struct ir_instr *in)
{
    return in->op == IR_OP_LD || in->op == IR_OP_ST;
}

/* What prefetchers are for. */
static bool flow_is_far_access(const struct ir_instr *in)
{
    return flow_is_access(in) && gen_is_far(in);
}

/* Where loaded values or bits decide which lanes run, so many accesses are worth asking. */
#define FULL_BY_DATA_MIN 4

/* Are some bits of a number compared? Of threads' numbers lanes seldom have the same ones. */
static bool flow_is_by_bits(const struct ir_value *condition)
{
    const struct ir_instr *in = condition->instr;
    bool compares = in && in->op == IR_OP_SETP && (in->cmp == IR_EQ || in->cmp == IR_NE);
    const struct ir_instr *from = compares ? in->src[0]->instr : NULL;
    return from && from->op == IR_OP_AND;
}

/* Do values that lanes have loaded, or bits, decide which of them run the node? */
static bool flow_is_by_data(struct gen *g, const struct gen_node *node)
{
    const struct ir_block *b = node->block, *from = b->npreds == 1 ? b->preds[0] : NULL;
    return from && from->last->op == IR_OP_CBR &&
           (!gen_is_computed(g, from->last->src[0]) || flow_is_by_bits(from->last->src[0]));
}

/* Do lanes that are still in the innermost loop around it run the block in each iteration? */
static bool flow_runs_in_each_iteration(const struct gen *g, const struct ir_block *b)
{
    const struct ir_loops *loops = &g->shapes.loops;
    if (loops->loop_of[b->id] == IR_NO_BLOCK)
        return false;
    const struct ir_loop *l = &loops->loops[loops->loop_of[b->id]];
    const struct ir_block *header = g->func->blocks[l->header];
    for (uint32_t p = 0; p < header->npreds; p++) {
        uint32_t from = header->preds[p]->id;
        if (from >= l->header && from <= l->last && !ir_dominates(&g->shapes.dom, b->id, from))
            return false;
    }
    return true;
}

/* What stops or calls is made once. */
static bool flow_is_made_once(const struct ir_instr *in)
{
    return in->op == IR_OP_BAR || in->op == IR_OP_CALL || in->op == IR_OP_CALLI ||
           ir_op_is_matrix(in->op);
}

/* Do lanes come to the edge into `to` that did not agree at the last place where that was asked? */
static bool flow_is_parted(const struct ir_block *from, const struct ir_block *to)
{
    for (unsigned n = 0; n < 16; n++) {
        const struct ir_instr *in = from->last, *p = in->op == IR_OP_CBR ? in->src[0]->instr : NULL;
        if (p && p->op == IR_OP_AGREE)
            return from->succs[1] == to;
        if (from->npreds != 1)
            return false;
        to = from;
        from = from->preds[0];
    }
    return false;
}

/* Is the innermost loop around the block one that lanes only come to when some of them are about to
 * leave it? The others have a version of their own (ir_opt_agree.c). */
static bool flow_is_loop_for_some(const struct gen *g, const struct ir_block *b)
{
    uint32_t loop = g->shapes.loops.loop_of[b->id];
    bool some = loop != IR_NO_BLOCK;
    const struct ir_block *header = some ? g->func->blocks[g->shapes.loops.loops[loop].header] : b;
    for (uint32_t p = 0; some && p < header->npreds; p++) {
        const struct ir_block *from = header->preds[p];
        bool inside = from->id >= header->id && from->id <= g->shapes.loops.loops[loop].last;
        some = inside || flow_is_parted(from, header);
    }
    return some;
}

/*
 * Is there to be a version of the node for when all lanes run? Masked loads and stores neither
 * train nor trigger the prefetchers of AMD's cores, whatever the mask holds (which is as well where
 * loads jump, and gen_prefetch.c fetches); and in a loop that computes, and that lanes leave one by
 * one, the merges with the values of those that have left make long chains.
 */
static bool flow_wants_full(struct gen *g, const struct gen_node *node)
{
    bool in_loop = g->shapes.loops.loop_of[node->block->id] != IR_NO_BLOCK;
    uint32_t instrs = 0, far = 0, accesses = 0;
    if (g->dispatch || !g->mask[0] || !gen_does(g, GEN_PASS_FULL) || (g->is_large && !in_loop))
        return false;
    ir_foreach_instr(in, node->block) {
        if (flow_is_made_once(in) || gen_prefetch_jumps(g, in))
            return false;
        instrs++;
        accesses += flow_is_access(in);
        far += flow_is_far_access(in);
    }
    bool computes = node->divergent && !accesses && flow_runs_in_each_iteration(g, node->block) &&
                    !flow_is_loop_for_some(g, node->block);
    if (far && far < FULL_BY_DATA_MIN && flow_is_by_data(g, node))
        return false;
    if (instrs > FULL_INSTRS * (far + computes) || g->nfull > FULL_INSTRS_MAX)
        return false;
    g->nfull += instrs;
    gen_fired(g, GEN_PASS_FULL);
    return true;
}

/* Leaves the builder where some lanes do not run. */
static void flow_node_full(struct gen *g, struct gen_node *node)
{
    assert(g->mask[0] && !node->end);
    LLVMValueRef saved[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    LLVMBasicBlockRef all = node->whole ? node->whole : gen_bb(g, "all"), some = gen_bb(g, "some");
    LLVMBuildCondBr(g->b, gen_all_active(g), all, some);
    LLVMPositionBuilderAtEnd(g->b, all);
    memset(g->mask, 0, sizeof(g->mask));
    g->epoch = g->epoch_next++;
    flow_node_instrs(g, node);
    LLVMPositionBuilderAtEnd(g->b, some);
    gen_masks_copy(g->mask, saved);
    g->epoch = g->epoch_next++;
}

/* A node without a version for all lanes: they come to it as others do. */
static void flow_whole_joins(struct gen *g, struct gen_node *node)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMValueRef full[GEN_HALVES] = {NULL};
    LLVMPositionBuilderAtEnd(g->b, node->whole);
    if (node->divergent)
        gen_pend_add(g, node, full);
    LLVMBuildBr(g->b, node->divergent ? node->test : node->body);
    LLVMPositionBuilderAtEnd(g->b, here);
}

static void gen_node_body(struct gen *g, uint32_t n)
{
    assert(n < g->nnodes && (!g->dispatch || g->nodes[n].divergent));
    struct gen_node *node = &g->nodes[n];
    g->cur = n;
    if (node->exit_only || gen_lane_serial_node(g, n))
        return;
    if (node->divergent) {
        flow_node_enter_divergent(g, node);
    } else {
        LLVMPositionBuilderAtEnd(g->b, node->body);
        gen_spin_enter(g, node);
        g->epoch = g->epoch_next++;
        flow_leave_when_over(g, node);
        gen_mask_set_alive(g);
    }
    if (flow_wants_full(g, node))
        flow_node_full(g, node);
    else if (node->whole)
        flow_whole_joins(g, node);
    flow_node_instrs(g, node);
    if (node->divergent)
        flow_node_tail(g, n);
}

static LLVMValueRef flow_flag_slot(struct gen *g, LLVMTypeRef type, uint64_t size_B)
{
    if (g->is_kernel)
        return gen_gep(g, g->frame, gen_frame_alloc(g, size_B, size_B));
    LLVMValueRef slot = gen_alloca(g, type, 0, "");
    LLVMBuildStore(g->b, LLVMConstNull(type), slot);
    return slot;
}

/*
 * Pending masks are live from the start of the function to their node: promoted to SSA, n of them
 * cost n phis in each of the blocks between. Beyond this many nodes they stay in memory.
 */
#define PENDING_SSA_MAX 48

static bool flow_pending_in_memory(const struct gen *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nnodes; i++)
        n += g->nodes[i].divergent && !g->nodes[i].exit_only;
    return n > PENDING_SSA_MAX;
}

/* In a short loop that only computes, under masks in every iteration, the way to general registers
 * and back is a good part of an iteration; elsewhere masks are tested, or would fill the mask
 * registers. */
#define MASKED_BLOCKS_MAX 4

static bool flow_keeps_masks(const struct gen *g, const struct gen_node *node)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = loops->loop_of[node->block->id];
    if (loop == IR_NO_BLOCK || !g->unit->avx512 || g->shapes.waits ||
        !flow_is_loop_for_some(g, node->block))
        return false;
    const struct ir_loop *l = &loops->loops[loop];
    for (uint32_t b = l->header; b <= l->last; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (!ir_op_has(in->op, IR_F_PURE | IR_F_TERM))
                return false;
        }
    }
    return l->last - l->header < MASKED_BLOCKS_MAX;
}

static void flow_mask_slots(struct gen *g, LLVMTypeRef type, LLVMValueRef out[GEN_HALVES])
{
    assert(!g->pending || g->npending < g->unit->halves * g->nnodes);
    for (int h = 0; h < gen_halves(g); h++) {
        if (g->dispatch) {
            out[h] = flow_flag_slot(g, g->t->bits, GEN_LANES / 8);
            continue;
        }
        if (g->pending) {
            out[h] = gen_gep(g, g->pending, GEN_LANES / 8 * g->npending++);
            LLVMBuildStore(g->b, gen_no_bits(g), out[h]);
            continue;
        }
        out[h] = gen_alloca(g, type, 0, "pend");
        gen_bits_store(g, gen_no_bits(g), out[h]);
    }
}

static void flow_nodes_materialise(struct gen *g)
{
    flow_find_ends(g);
    if (!g->dispatch && flow_pending_in_memory(g)) {
        /* Not an alloca of this function's own, or SROA would take it apart again. */
        LLVMTypeRef type = LLVMArrayType2(g->t->bits, (uint64_t)g->unit->halves * g->nnodes);
        g->pending = gen_opaque(g, gen_alloca(g, type, 64, "pending"));
    }
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        if (node->exit_only)
            continue;
        if (node->region) {
            flow_mask_slots(g, g->t->bits, node->pend);
            continue;
        }
        node->body = gen_bb(g, "b");
        if (!node->divergent)
            continue;
        node->test = gen_bb(g, "test");
        node->tail = gen_bb(g, "tail");
        flow_mask_slots(g, flow_keeps_masks(g, node) ? g->t->mask : g->t->bits, node->pend);
    }
    if (g->shapes.waits) {
        g->spin_iterations = gen_alloca(g, g->t->i32, 0, "iterations");
        LLVMBuildStore(g->b, gen_i32(g, 0), g->spin_iterations);
    }
    for (uint32_t s = 0; s < g->sweep.nsites; s++) {
        flow_mask_slots(g, g->t->bits, g->sweep.sites[s].parked);
        g->sweep.sites[s].id = flow_flag_slot(g, g->t->i32, 4);
        g->sweep.sites[s].generation = flow_flag_slot(g, g->t->i32, 4);
    }
    if (g->dispatch) {
        g->sweep.progress = flow_flag_slot(g, g->t->i8, 1);
        g->sweep.forced = flow_flag_slot(g, g->t->i8, 1);
        g->sweep.spins = flow_flag_slot(g, g->t->i32, 4);
        g->sweep.end = gen_bb(g, "wrap");
        assert(g->frame_B || !g->is_kernel);
    }
}

static void flow_alive_slots(struct gen *g)
{
    if (g->alive_known_full)
        return;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, alive) + 2u * (unsigned)h);
        if (g->body.alive_in_memory) {
            g->alive[h] = at;
            continue;
        }
        g->alive[h] = gen_alloca(g, g->t->bits, 0, "alive");
        LLVMValueRef bits = g->alive_at_start;
        bits = LLVMBuildLShr(g->b, bits, gen_ci(g->t->all, (uint64_t)h * GEN_LANES), "");
        LLVMBuildStore(g->b, LLVMBuildTrunc(g->b, bits, g->t->bits, ""), g->alive[h]);
    }
}

/* Function entry: slots, resume switch, jump to the first node. */
static void gen_prologue(struct gen *g)
{
    flow_alive_slots(g);
    gen_slots_create(g);
    gen_lane_serial_find(g);
    gen_tuples_find(g);
    gen_bound_find(g);
    gen_unroll_find(g);
    flow_nodes_materialise(g);
    LLVMBasicBlockRef start = gen_bb(g, "start");
    if (g->is_kernel) {
        g->state_switch = LLVMBuildSwitch(g->b, g->state, start, 8);
    } else {
        gen_store_args(g);
        LLVMBuildBr(g->b, start);
    }
    LLVMPositionBuilderAtEnd(g->b, start);
    struct gen_node *first = &g->nodes[0];
    if (first->exit_only) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    if (!first->divergent) {
        LLVMBuildBr(g->b, first->body);
        return;
    }
    if (g->is_kernel)
        gen_mask_set_alive(g);
    else
        gen_entry_mask(g);
    gen_pend_add(g, first, g->mask);
    LLVMBuildBr(g->b, first->test);
}

/* The first node of those that lanes leave for to come to an end of their own; NULL = none. */
static struct gen_node *flow_first_of_the_side(struct gen *g)
{
    return g->dispatch || !g->is_kernel ? NULL : gen_sweep_next(g, 0, IR_NO_BLOCK);
}

static LLVMValueRef flow_any_on_the_side(struct gen *g)
{
    LLVMValueRef any = gen_no_bits(g);
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        for (int h = 0; h < gen_halves(g); h++) {
            if (node->divergent && !node->exit_only && node->conv == IR_NO_BLOCK)
                any = LLVMBuildOr(g->b, any, gen_bits_load(g, node->pend[h]), "");
        }
    }
    return LLVMBuildICmp(g->b, LLVMIntNE, any, gen_no_bits(g), "");
}

/* A suspend point is the end of the run for the others. */
static void flow_suspend_if_leaving(struct gen *g)
{
    assert(g->leaving);
    LLVMBasicBlockRef stop = gen_bb(g, "stop"), end = gen_bb(g, "end");
    LLVMValueRef state = LLVMBuildLoad2(g->b, g->t->i32, g->leaving, "");
    LLVMValueRef stops = LLVMBuildICmp(g->b, LLVMIntNE, state, gen_i32(g, 0), "");
    LLVMBuildCondBr(g->b, stops, stop, end);
    LLVMPositionBuilderAtEnd(g->b, stop);
    LLVMBuildRet(g->b, state);
    LLVMPositionBuilderAtEnd(g->b, end);
}

/* At the end of the kernel, or before a suspend point, lanes that have left the others run on. */
static void gen_side(struct gen *g)
{
    struct gen_node *first = flow_first_of_the_side(g);
    if (!first)
        return;
    LLVMBasicBlockRef ended = gen_bb(g, "ended");
    LLVMBuildCondBr(g->b, flow_any_on_the_side(g), first->test, ended);
    LLVMPositionBuilderAtEnd(g->b, ended);
    if (g->leaving)
        flow_suspend_if_leaving(g);
}

static void flow_leaving_slot(struct gen *g)
{
    if ((!g->unit->facts.has_barrier && !g->shapes.waits) || !flow_first_of_the_side(g))
        return;
    g->leaving = gen_alloca(g, g->t->i32, 0, "leaving");
    LLVMBuildStore(g->b, gen_i32(g, 0), g->leaving);
}

static bool flow_is_large(const struct ir_func *f)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < f->nblocks && n <= FULL_INSTRS_MAX; b++)
        ir_foreach_instr(in, f->blocks[b])
            n++;
    return n > FULL_INSTRS_MAX;
}

void gen_flow_run(struct gen *g)
{
    assert(g->nnodes && (g->is_kernel || !g->body.leaves_early));
    g->is_large = flow_is_large(g->func);
    g->done = gen_bb(g, "done");
    if (g->body.leaves_early)
        g->body.alive_at = gen_frame_alloc(g, 16, 16); /* g->t->all, at most */
    flow_leaving_slot(g);
    gen_prologue(g);
    for (uint32_t n = 0; n < g->nnodes; n++)
        gen_node_body(g, n);
    if (g->dispatch)
        gen_wrap(g);
    LLVMPositionBuilderAtEnd(g->b, g->done);
    gen_side(g);
    if (g->body.leaves_early)
        LLVMBuildStore(g->b, LLVMConstNull(g->t->all), gen_gep(g, g->frame, g->body.alive_at));
    if (g->is_kernel)
        LLVMBuildRet(g->b, gen_bound_state(g, gen_i32(g, 0)));
    else
        LLVMBuildRetVoid(g->b);
}
