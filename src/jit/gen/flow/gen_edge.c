/*
 * Edges and terminators: how control and the phis of the next block follow from a branch.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_tuples.h"

#include <assert.h>
#include <string.h>

/* ---- edges */

static bool edge_is_exit(struct gen *g, const struct ir_block *block)
{
    return g->nodes[g->node_of_block[block->id]].exit_only;
}

static struct gen_node *edge_node_of(struct gen *g, const struct ir_block *block)
{
    return &g->nodes[g->node_of_block[block->id]];
}

/*
 * Which operands the phis take on edge number `edge` out of `from`: both arms of a branch
 * may lead to the same block.
 */
uint32_t gen_pred_of_edge(const struct ir_block *from, uint32_t edge)
{
    assert(edge < from->nsuccs);
    const struct ir_block *to = from->succs[edge];
    uint32_t same = 0, pred = 0;
    for (uint32_t s = 0; s < edge; s++)
        same += from->succs[s] == to;
    while (pred < to->npreds && (to->preds[pred] != from || same--))
        pred++;
    assert(pred < to->npreds && to->preds[pred] == from);
    return pred;
}

/* Brings what the edge's phis need into the cache here, where it dominates both sides of the
 * branch. */
static void edge_phi_sources_read(struct gen *g, uint32_t succ)
{
    const struct ir_block *from = g->nodes[g->cur].block, *to = from->succs[succ];
    uint32_t pred = gen_pred_of_edge(from, succ);
    ir_foreach_instr(phi, to) {
        if (phi->op != IR_OP_PHI || edge_is_exit(g, to))
            break;
        const struct ir_value *v = phi->src[pred];
        if (gen_slot_is_same(g, v, phi->dst[0]))
            continue;
        (void)gen_get_raw(g, v);
        if (gen_shape(g, v)->kind == IR_SHAPE_BASE_INDEX)
            (void)gen_get_raw(g, gen_shape(g, v)->index);
    }
}

/* Only phis that merge nothing but f32 results take a NaN as it comes. */
static struct gen_val edge_phi_source(struct gen *g, const struct ir_instr *phi, uint32_t pred)
{
    const struct ir_value *v = phi->src[pred];
    LLVMValueRef x[GEN_HALVES];
    if (gen_tuple_scalars(g, phi, pred, x))
        return gen_v(g, x);
    return g->nan_raw[phi->dst[0]->id] ? gen_get_raw(g, v) : gen_get(g, v);
}

static bool edge_is_twofold(const struct ir_block *from, const struct ir_block *to)
{
    uint32_t edges = 0;
    for (uint32_t s = 0; s < from->nsuccs; s++)
        edges += from->succs[s] == to;
    return edges > 1;
}

/* A masked block writes the phis of all its edges; scalar ones are those of the edge with lanes. */
static void edge_keep_unless_taken(struct gen *g, const struct ir_value *phi, struct gen_val *val,
                                   LLVMValueRef const edge[GEN_HALVES])
{
    if (gen_shape(g, phi)->kind == IR_SHAPE_VARYING || !edge[0])
        return;
    LLVMValueRef taken = gen_any_in(g, edge);
    for (unsigned i = 0; i < gen_components(g, gen_shape(g, phi)); i++) {
        LLVMValueRef slot = g->slots[phi->id].ptr[i];
        LLVMValueRef old = LLVMBuildLoad2(g->b, gen_component_type(g, phi), slot, "");
        val->c[i] = LLVMBuildSelect(g->b, taken, val->c[i], old, "");
    }
}

static uint32_t edge_count_phis(const struct ir_block *b)
{
    uint32_t n = 0;
    for (const struct ir_instr *in = b->first; in && in->op == IR_OP_PHI; in = in->next)
        n++;
    return n;
}

struct gen_val *gen_phi_room(struct gen *g, const struct ir_block *b, uint32_t *out_nphis)
{
    uint32_t n = *out_nphis = edge_count_phis(b);
    if (n > g->nphi_room) {
        g->phi_room = hd_arena_array(&g->arena, struct gen_val, n);
        g->nphi_room = g->phi_room ? n : 0;
    }
    return g->phi_room;
}

/* Writes the phis for the edge to successor `succ` of the current block: all are read before any is
 * written. */
static void edge_phis(struct gen *g, uint32_t succ, LLVMValueRef const edge[GEN_HALVES])
{
    const struct ir_block *from = g->nodes[g->cur].block, *to = from->succs[succ];
    uint32_t pred = gen_pred_of_edge(from, succ), nphis, n = 0;
    struct gen_val *vals = gen_phi_room(g, to, &nphis);
    const struct ir_instr *phi = to->first;
    if (!vals)
        return;
    for (uint32_t i = 0; i < nphis; i++, phi = phi->next) {
        if (!gen_slot_is_same(g, phi->src[pred], phi->dst[0]))
            vals[n++] = gen_coerce(g, edge_phi_source(g, phi, pred), phi->dst[0]->type,
                                   gen_shape(g, phi->dst[0]));
    }
    bool twofold = edge_is_twofold(from, to);
    bool join = g->dispatch || twofold || g->shapes.divergent_join[to->id];
    phi = to->first;
    for (uint32_t i = 0; i < nphis; i++, phi = phi->next) {
        if (gen_slot_is_same(g, phi->src[pred], phi->dst[0]))
            continue;
        bool keep = join || g->shapes.temporal[phi->dst[0]->id];
        if (twofold)
            edge_keep_unless_taken(g, phi->dst[0], vals, edge);
        gen_live_phi(g, phi->dst[0], phi->src[pred], vals);
        gen_store_phi(g, phi->dst[0], *vals++, edge, keep);
        n--;
    }
    assert(!n); /* all that were read have been written */
}

void gen_pend_add(struct gen *g, struct gen_node *node, LLVMValueRef const edge[GEN_HALVES])
{
    assert((node->divergent || node->region) && !node->exit_only && node->pend[0]);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef bits = edge[h] ? gen_bits(g, edge[h]) : gen_full_bits(g);
        LLVMValueRef old = gen_bits_load(g, node->pend[h]);
        gen_bits_store(g, LLVMBuildOr(g->b, old, bits, ""), node->pend[h]);
    }
}

static void edge_alive_remove(struct gen *g, LLVMValueRef const edge[GEN_HALVES])
{
    assert(!g->alive_known_full && g->alive[0]);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef bits = edge[h] ? gen_bits(g, edge[h]) : gen_full_bits(g);
        LLVMValueRef old = gen_bits_load(g, g->alive[h]);
        bits = LLVMBuildNot(g->b, bits, "");
        LLVMBuildStore(g->b, LLVMBuildAnd(g->b, old, bits, ""), g->alive[h]);
    }
}

/*
 * Do lanes come to node `n` only from the node before it in the sweep, which is in the same loop?
 * Then nothing is pending at it before that node has run, nor when that one was skipped.
 */
bool gen_node_follows(struct gen *g, uint32_t n)
{
    const uint32_t *loop_of = g->shapes.loops.loop_of;
    if (g->dispatch || !n || n >= g->nnodes)
        return false;
    const struct gen_node *node = &g->nodes[n], *before = node - 1;
    if (!node->divergent || !before->divergent || node->exit_only || before->exit_only ||
        node->region || before->region || node->conv != before->conv || node->conv == IR_NO_BLOCK)
        return false;
    return node->block->npreds == 1 && node->block->preds[0] == before->block &&
           loop_of[node->block->id] == loop_of[before->block->id];
}

static void edge_pend_set(struct gen *g, struct gen_node *node, LLVMValueRef const edge[GEN_HALVES])
{
    assert(gen_node_follows(g, (uint32_t)(node - g->nodes)) && edge[0]);
    for (int h = 0; h < gen_halves(g); h++)
        gen_bits_store(g, gen_bits(g, edge[h]), node->pend[h]);
}

/* Do lanes of the current node that go to `node` do something on their own and end? */
static bool edge_leaves_for_good(const struct gen *g, const struct gen_node *node)
{
    assert(!node->exit_only);
    return node->divergent && node->conv == IR_NO_BLOCK && !g->dispatch && g->is_kernel;
}

bool gen_node_ends_lanes(struct gen *g, const struct gen_node *node)
{
    const struct ir_instr *last = node->block->last;
    if (!node->end && (last->op == IR_OP_RET || last->op == IR_OP_EXIT))
        return g->is_kernel || last->op == IR_OP_EXIT;
    for (uint32_t s = 0; !node->end && s < node->block->nsuccs; s++) {
        const struct ir_block *to = node->block->succs[s];
        if (edge_is_exit(g, to) || edge_leaves_for_good(g, edge_node_of(g, to)))
            return true;
    }
    return false;
}

/* An edge out of a divergent node. */
static void edge_divergent(struct gen *g, uint32_t succ, LLVMValueRef const edge[GEN_HALVES])
{
    assert(g->nodes[g->cur].divergent && edge[0]);
    const struct ir_block *to = g->nodes[g->cur].block->succs[succ];
    if (edge_is_exit(g, to)) {
        edge_alive_remove(g, edge);
        return;
    }
    edge_phis(g, succ, edge);
    struct gen_node *node = edge_node_of(g, to);
    if (node->divergent && gen_node_follows(g, (uint32_t)(node - g->nodes)))
        edge_pend_set(g, node, edge);
    else if (node->divergent)
        gen_pend_add(g, node, edge);
    if (edge_leaves_for_good(g, node) && g->nodes[g->cur].conv != IR_NO_BLOCK)
        edge_alive_remove(g, edge); /* what follows the region runs without them */
}

/* All lanes go from a convergent node to successor `succ`. */
static void edge_convergent(struct gen *g, uint32_t succ)
{
    assert(!g->nodes[g->cur].divergent && !g->dispatch);
    const struct ir_block *to = g->nodes[g->cur].block->succs[succ];
    if (edge_is_exit(g, to)) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    edge_phis(g, succ, g->mask);
    struct gen_node *node = edge_node_of(g, to);
    if (node->divergent) {
        gen_pend_add(g, node, g->mask);
        LLVMBuildBr(g->b, node->test);
    } else {
        LLVMBuildBr(g->b, node->body);
    }
}

/* Node of the sweep that continues region `conv` at or after `from`; NULL = none. */
struct gen_node *gen_sweep_next(struct gen *g, uint32_t from, uint32_t conv)
{
    for (uint32_t n = from; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        if (node->divergent && !node->exit_only && node->conv == conv)
            return node;
    }
    return NULL;
}

LLVMBasicBlockRef gen_sweep_target(struct gen *g, uint32_t from, uint32_t conv)
{
    struct gen_node *next = gen_sweep_next(g, from, conv);
    if (next)
        return next->test;
    if (g->dispatch)
        return g->sweep.end;
    return conv == IR_NO_BLOCK ? g->done : g->nodes[g->node_of_block[conv]].body;
}

/* Where control goes after a branch of a convergent node whose lanes part. */
struct parting {
    uint32_t first;                  /* first divergent node of the sweep; UINT32_MAX = none */
    const struct ir_block *straight; /* convergent target reached by all that stay alive */
    bool leaves;                     /* some lanes may no longer be alive */
};

/* The lanes of `edge` take edge number `s` out of a convergent node. */
static void part_edge(struct gen *g, struct parting *p, uint32_t s,
                      LLVMValueRef const edge[GEN_HALVES])
{
    const struct ir_block *to = g->nodes[g->cur].block->succs[s];
    if (edge_is_exit(g, to)) {
        edge_alive_remove(g, edge);
        p->leaves = true;
        return;
    }
    edge_phis(g, s, edge);
    struct gen_node *node = edge_node_of(g, to);
    if (!node->divergent) {
        p->straight = to;
        return;
    }
    gen_pend_add(g, node, edge);
    uint32_t index = g->node_of_block[to->id];
    if (edge_leaves_for_good(g, node)) { /* the others do not wait for them */
        edge_alive_remove(g, edge);
        p->leaves = true;
    } else if (index < p->first) {
        p->first = index;
    }
}

static void edge_part_finish(struct gen *g, const struct parting *p)
{
    LLVMBasicBlockRef target;
    if (p->first != UINT32_MAX)
        target = g->nodes[p->first].test;
    else if (p->straight)
        target = edge_node_of(g, p->straight)->body;
    else
        target = g->done;
    if (!p->leaves || target == g->done) {
        LLVMBuildBr(g->b, target);
        return;
    }
    LLVMValueRef some = gen_any_stored(g, g->alive);
    LLVMBuildCondBr(g->b, some, target, g->done);
}

/* Lanes of a convergent node go different ways; edge[s]: those that go to successor s. */
static void edge_branch_diverges(struct gen *g, LLVMValueRef (*edge)[GEN_HALVES])
{
    assert(!g->nodes[g->cur].divergent);
    struct parting p = {.first = UINT32_MAX};
    for (uint32_t s = 0; s < g->nodes[g->cur].block->nsuccs; s++)
        part_edge(g, &p, s, edge[s]);
    edge_part_finish(g, &p);
}

static void edge_masks(struct gen *g, LLVMValueRef const p[GEN_HALVES],
                       LLVMValueRef edge[2][GEN_HALVES])
{
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef not_p = LLVMBuildNot(g->b, p[h], "");
        edge[0][h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], p[h], "") : p[h];
        edge[1][h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], not_p, "") : not_p;
    }
}

/* All lanes of a masked node go the same way. */
static void edge_branch_together(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    assert(node->divergent && node == &g->nodes[g->cur]);
    LLVMBasicBlockRef arm[2] = {gen_bb(g, "t"), gen_bb(g, "f")};
    LLVMValueRef edge[GEN_HALVES];
    gen_masks_or_full(g, edge);
    edge_phi_sources_read(g, 0);
    edge_phi_sources_read(g, 1);
    LLVMBuildCondBr(g->b, gen_scalar(g, in->src[0]), arm[0], arm[1]);
    for (uint32_t s = 0; s < 2; s++) {
        LLVMPositionBuilderAtEnd(g->b, arm[s]);
        edge_divergent(g, s, edge);
        LLVMBuildBr(g->b, node->tail);
    }
}

/* Do all lanes of the warp run the current node for sure? */
static bool edge_runs_full(const struct gen *g)
{
    return !g->mask[0] || (!g->cur && !g->nodes[0].block->npreds && g->is_kernel &&
                           jit_launch_class_is_full(g->unit->cls));
}

/* All lanes go on there: into its version for all lanes, if it can have one. */
static void edge_whole(struct gen *g, uint32_t succ)
{
    const struct ir_block *to = g->nodes[g->cur].block->succs[succ];
    uint32_t n = g->node_of_block[to->id];
    struct gen_node *node = &g->nodes[n];
    if (!edge_runs_full(g) || n <= g->cur || node->region) {
        edge_convergent(g, succ);
        return;
    }
    edge_phis(g, succ, g->mask);
    if (!node->whole)
        node->whole = gen_bb(g, "whole");
    LLVMBuildBr(g->b, node->whole);
}

/*
 * What the block's least and greatest thread numbers decide needs no masks: guards of a grid that
 * is a little too large, borders of an image. Not where barriers cut the kernel into regions, of
 * which each is a loop with values of its own: larger ones were slower. Leaves the builder where
 * the numbers do not decide.
 */
static void edge_branch_whole(struct gen *g, const struct gen_node *node, const struct ir_instr *in)
{
    LLVMValueRef whole = NULL;
    uint32_t way = 2;
    bool may = !g->dispatch && !g->shapes.waits && !node->divergent;
    may &= !g->unit->facts.has_barrier;
    while (may && !whole && way--) {
        if (!edge_is_exit(g, node->block->succs[way]))
            whole = gen_block_has(g, in->src[0], way == 0);
    }
    if (!whole)
        return;
    edge_phi_sources_read(g, 0);
    edge_phi_sources_read(g, 1);
    LLVMBasicBlockRef all = gen_bb(g, "block"), parts = gen_bb(g, "parts");
    LLVMBuildCondBr(g->b, whole, all, parts);
    LLVMPositionBuilderAtEnd(g->b, all);
    edge_whole(g, way);
    LLVMPositionBuilderAtEnd(g->b, parts);
}

static void edge_term_cbr(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    LLVMValueRef p[GEN_HALVES], edge[2][GEN_HALVES];
    if (!node->divergent && gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM) {
        LLVMBasicBlockRef t = gen_bb(g, "t"), f = gen_bb(g, "f");
        LLVMValueRef cond = gen_scalar(g, in->src[0]);
        edge_phi_sources_read(g, 0);
        edge_phi_sources_read(g, 1);
        if (node->bounds)
            gen_bound_note(g, node->work ? LLVMBuildNot(g->b, cond, "") : cond);
        LLVMBuildCondBr(g->b, cond, t, f);
        LLVMPositionBuilderAtEnd(g->b, t);
        edge_convergent(g, 0);
        LLVMPositionBuilderAtEnd(g->b, f);
        edge_convergent(g, 1);
        return;
    }
    if (!g->dispatch && gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM) {
        edge_branch_together(g, node, in);
        return;
    }
    edge_branch_whole(g, node, in);
    gen_vector(g, in->src[0], p);
    edge_masks(g, p, edge);
    if (node->bounds)
        gen_bound_note(g, gen_any_in(g, edge[node->work]));
    /* A back edge overwrites phis that the other edge may still read. */
    edge_phi_sources_read(g, 0);
    edge_phi_sources_read(g, 1);
    if (node->divergent) {
        edge_divergent(g, 0, edge[0]);
        edge_divergent(g, 1, edge[1]);
        LLVMBuildBr(g->b, node->tail);
    } else {
        edge_branch_diverges(g, edge);
    }
}

/* Goes on at case `s` of `n`; the last one is the default and takes every index that is left. */
static void edge_switch_case(struct gen *g, LLVMValueRef sw, LLVMValueRef index, uint32_t s,
                             uint32_t n)
{
    LLVMBasicBlockRef bb = s + 1 < n ? gen_bb(g, "case") : LLVMGetSwitchDefaultDest(sw);
    if (s + 1 < n)
        LLVMAddCase(sw, gen_ci(LLVMTypeOf(index), s), bb);
    LLVMPositionBuilderAtEnd(g->b, bb);
}

/* brx.idx where all lanes go the same way. */
static void edge_switch_convergent(struct gen *g, const struct ir_instr *in)
{
    assert(in->block->nsuccs && gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM);
    uint32_t n = in->block->nsuccs;
    LLVMValueRef index = gen_scalar(g, in->src[0]);
    for (uint32_t s = 0; s < n; s++)
        edge_phi_sources_read(g, s);
    LLVMValueRef sw = LLVMBuildSwitch(g->b, index, gen_bb(g, "case"), n - 1);
    for (uint32_t s = 0; s < n; s++) {
        edge_switch_case(g, sw, index, s, n);
        edge_convergent(g, s);
    }
}

/* The lanes left over that have the first one's index: sets `group`, takes them from `left`. */
static LLVMValueRef edge_group_take(struct gen *g, LLVMValueRef const index[GEN_HALVES],
                                    LLVMValueRef const left[GEN_HALVES],
                                    LLVMValueRef const group[GEN_HALVES])
{
    LLVMValueRef saved[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] = gen_mask_from_bits(g, gen_bits_load(g, left[h]));
    LLVMValueRef one = gen_pick_active(g, index), same = gen_splat(g, one);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef hit = LLVMBuildICmp(g->b, LLVMIntEQ, index[h], same, "");
        hit = gen_bits(g, LLVMBuildAnd(g->b, hit, g->mask[h], ""));
        LLVMValueRef rest = LLVMBuildNot(g->b, hit, "");
        rest = LLVMBuildAnd(g->b, gen_bits(g, g->mask[h]), rest, "");
        LLVMBuildStore(g->b, hit, group[h]);
        LLVMBuildStore(g->b, rest, left[h]);
        g->mask[h] = saved[h];
    }
    return one;
}

/*
 * brx.idx with many targets: lanes with the same index go together, one index after the other, as
 * many iterations as there are different ones. Targets are entered in `parting` or as divergent
 * edges.
 */
static void edge_switch_grouped(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    uint32_t n = in->block->nsuccs;
    LLVMValueRef index[GEN_HALVES], left[GEN_HALVES], group[GEN_HALVES];
    struct parting p = {.first = UINT32_MAX};
    gen_vector(g, in->src[0], index);
    for (uint32_t s = 0; s < n; s++)
        edge_phi_sources_read(g, s); /* all of them before any phi is written */
    for (int h = 0; h < gen_halves(g); h++) {
        left[h] = gen_alloca(g, g->t->bits, 0, "left");
        group[h] = gen_alloca(g, g->t->bits, 0, "group");
        LLVMBuildStore(g->b, gen_mask_bits(g, h), left[h]);
    }
    LLVMBasicBlockRef iteration = gen_bb(g, "iteration"), next = gen_bb(g, "next"),
                      end = gen_bb(g, "end");
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
    LLVMValueRef more = gen_any_stored(g, left);
    LLVMBuildCondBr(g->b, more, iteration, end);
    LLVMPositionBuilderAtEnd(g->b, iteration);
    LLVMValueRef one = edge_group_take(g, index, left, group);
    LLVMValueRef sw = LLVMBuildSwitch(g->b, one, gen_bb(g, "case"), n - 1);
    for (uint32_t s = 0; s < n; s++) {
        edge_switch_case(g, sw, one, s, n);
        LLVMValueRef edge[GEN_HALVES];
        for (int h = 0; h < gen_halves(g); h++)
            edge[h] = gen_mask_from_bits(g, gen_bits_load(g, group[h]));
        if (node->divergent)
            edge_divergent(g, s, edge);
        else
            part_edge(g, &p, s, edge);
        LLVMBuildBr(g->b, next);
    }
    LLVMPositionBuilderAtEnd(g->b, end);
    if (node->divergent)
        LLVMBuildBr(g->b, node->tail);
    else
        edge_part_finish(g, &p);
}

#define SWITCH_UNROLLED_MAX 8

/* Lanes are handed to each target in turn. */
static void edge_term_switch(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    uint32_t n = in->block->nsuccs;
    if (!node->divergent && gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM) {
        edge_switch_convergent(g, in);
        return;
    }
    if (n > SWITCH_UNROLLED_MAX) {
        edge_switch_grouped(g, node, in);
        return;
    }
    LLVMValueRef index[GEN_HALVES], left[GEN_HALVES];
    LLVMValueRef(*edge)[GEN_HALVES] = hd_arena_alloc(&g->arena, n * sizeof(*edge));
    if (!edge)
        return;
    gen_masks_or_full(g, left);
    gen_vector(g, in->src[0], index);
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(index[0]));
    for (uint32_t s = 0; s < n; s++) {
        edge_phi_sources_read(g, s);
        for (int h = 0; h < gen_halves(g); h++) {
            edge[s][h] = left[h];
            if (s + 1 == n)
                continue;
            LLVMValueRef hit =
                LLVMBuildICmp(g->b, LLVMIntEQ, index[h], gen_splat_const(g, elem, s), "");
            edge[s][h] = LLVMBuildAnd(g->b, left[h], hit, "");
            left[h] = LLVMBuildAnd(g->b, left[h], LLVMBuildNot(g->b, hit, ""), "");
        }
    }
    if (!node->divergent) {
        edge_branch_diverges(g, edge);
        return;
    }
    for (uint32_t s = 0; s < n; s++)
        edge_divergent(g, s, edge[s]);
    LLVMBuildBr(g->b, node->tail);
}

static void edge_term_ret(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    if (!g->is_kernel && in->op == IR_OP_RET) {
        gen_store_results(g, in);
        LLVMBuildBr(g->b, node->tail);
        return;
    }
    if (!node->divergent) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    LLVMValueRef edge[GEN_HALVES];
    gen_masks_or_full(g, edge);
    edge_alive_remove(g, edge);
    LLVMBuildBr(g->b, node->tail);
}

static void edge_term_trap(struct gen *g, struct gen_node *node)
{
    gen_fault(g, gen_mask32(g), HD_TRAP, gen_i64(g, 0));
    LLVMBuildBr(g->b, node->divergent ? node->tail : g->done);
}

void gen_term(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    assert(ir_op_has(in->op, IR_F_TERM) && node->block == in->block && node == &g->nodes[g->cur]);
    switch (in->op) {
    case IR_OP_BR:
        if (node->divergent) {
            LLVMValueRef edge[GEN_HALVES];
            gen_masks_or_full(g, edge);
            edge_divergent(g, 0, edge);
            LLVMBuildBr(g->b, node->tail);
        } else {
            edge_convergent(g, 0);
        }
        return;
    case IR_OP_CBR:
        edge_term_cbr(g, node, in);
        return;
    case IR_OP_SWITCH:
        edge_term_switch(g, node, in);
        return;
    case IR_OP_TRAP:
    case IR_OP_UNREACHABLE:
        edge_term_trap(g, node);
        return;
    default:
        edge_term_ret(g, node, in);
        return;
    }
}
