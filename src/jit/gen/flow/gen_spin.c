/*
 * Loops that wait, in structured code (src/analysis/rejoin.c): after some iterations others run.
 *
 * The warp suspends between two iterations. Values are in slots there, since the loop's first node
 * reads whatever it needs from these, so all that may be read after that is copied into the frame
 * and back: what is live in the loop, and where lanes stand that wait for those in it. The same
 * goes for the masks of lanes that wait.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

enum { ITERATIONS_MAX = 64 };

struct gen_spin {
    const bool *kept; /* by id of a value */
};

static const struct ir_loop *loop_of(const struct gen *g, uint32_t loop)
{
    return &g->shapes.loops.loops[loop];
}

static bool is_inside(const struct gen *g, uint32_t loop, uint32_t block)
{
    return block >= loop_of(g, loop)->header && block <= loop_of(g, loop)->last;
}

/* May lanes be there while others are in the loop? */
static bool may_stand_at(const struct gen *g, uint32_t loop, uint32_t block)
{
    const struct gen_node *header = &g->nodes[g->node_of_block[loop_of(g, loop)->header]];
    const struct gen_node *node = &g->nodes[g->node_of_block[block]];
    if (is_inside(g, loop, block))
        return true;
    return header->divergent && !node->exit_only &&
           (block == header->conv || (node->divergent && node->conv == header->conv));
}

static void keep(const struct gen *g, bool *kept, const struct ir_value *v)
{
    const struct ir_shape *shape = &g->shapes.of[v->id];
    kept[v->id] = true;
    if (shape->kind == IR_SHAPE_BASE_INDEX)
        kept[shape->index->id] = true;
}

static void keep_at(const struct gen *g, bool *kept, const struct ir_value *const *values,
                    uint32_t block)
{
    struct ir_live_set in = ir_live_in(&g->live, block);
    for (uint32_t i = 0; i < in.n; i++) {
        if (values[in.ids[i]])
            keep(g, kept, values[in.ids[i]]);
    }
    ir_foreach_instr(phi, g->func->blocks[block]) {
        if (phi->op != IR_OP_PHI)
            break;
        keep(g, kept, phi->dst[0]);
    }
}

static const bool *find_kept(struct gen *g, uint32_t loop)
{
    const struct ir_func *f = g->func;
    bool *kept = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    const struct ir_value **values = hd_arena_array(&g->arena, const struct ir_value *, f->nvalues);
    if (!kept || !values)
        return NULL;
    for (uint32_t b = 0; b < f->nblocks; b++)
        ir_foreach_instr(in, f->blocks[b])
            for (uint32_t d = 0; d < in->ndst; d++)
                values[in->dst[d]->id] = in->dst[d];
    for (uint32_t b = 0; b < f->nblocks; b++) {
        if (may_stand_at(g, loop, b))
            keep_at(g, kept, values, b);
    }
    return kept;
}

static const bool *kept_of(struct gen *g, uint32_t loop)
{
    if (!g->spins)
        g->spins = hd_arena_array(&g->arena, struct gen_spin, g->shapes.loops.nloops + 1);
    if (g->spins && !g->spins[loop].kept)
        g->spins[loop].kept = find_kept(g, loop);
    return g->spins ? g->spins[loop].kept : NULL;
}

/* The outermost loop around it, whose next iteration the warp may be in after a suspend point. */
static uint32_t outermost(const struct gen *g, uint32_t loop)
{
    while (loop_of(g, loop)->parent != IR_NO_BLOCK)
        loop = loop_of(g, loop)->parent;
    return loop;
}

bool gen_spin_loses(struct gen *g, const struct ir_value *v, const struct ir_block *at)
{
    uint32_t def = g->nodes[g->def_node[v->id]].block->id;
    if (g->dispatch || !g->shapes.waits)
        return false;
    for (uint32_t l = 0; l < g->shapes.loops.nloops; l++) {
        if (!loop_of(g, l)->spin_suspect || def > loop_of(g, l)->last ||
            at->id < loop_of(g, outermost(g, l))->header)
            continue;
        const bool *kept = kept_of(g, l);
        if (!kept || !kept[v->id])
            return true;
    }
    return false;
}

/* ---- the suspend point */

/* A slot, and its copy in the frame. */
struct copied {
    LLVMTypeRef type;
    LLVMValueRef slot;
    uint64_t at;
};

struct copies {
    struct copied *of;
    uint32_t n;
};

static void copies_add(struct gen *g, struct copies *c, LLVMTypeRef type, uint64_t size_B,
                       LLVMValueRef slot)
{
    uint64_t at = gen_frame_alloc(g, size_B, HD_MIN(size_B, 64));
    c->of[c->n++] = (struct copied){type, slot, at};
}

static void add_values(struct gen *g, struct copies *c, const bool *kept)
{
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++) {
                const struct ir_value *v = in->dst[d];
                for (unsigned i = 0; kept[v->id] && i < gen_components(g, gen_shape(g, v)); i++) {
                    if (g->slots[v->id].ptr[i])
                        copies_add(g, c, gen_component_type(g, v), gen_component_size(g, v),
                                   g->slots[v->id].ptr[i]);
                }
            }
        }
    }
}

static void add_masks(struct gen *g, struct copies *c, uint32_t loop)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        for (int h = 0; h < gen_halves(g); h++) {
            if (node->divergent && node->pend[h] && may_stand_at(g, loop, node->block->id))
                copies_add(g, c, g->t->bits, GEN_LANES / 8, node->pend[h]);
        }
    }
}

static bool copies_find(struct gen *g, uint32_t loop, struct copies *c)
{
    const bool *kept = kept_of(g, loop);
    size_t most = (size_t)GEN_HALVES * (g->func->nvalues + g->nnodes);
    *c = (struct copies){.of = hd_arena_array(&g->arena, struct copied, most)};
    if (!kept || !c->of)
        return false;
    add_values(g, c, kept);
    add_masks(g, c, loop);
    return true;
}

static void copy(struct gen *g, LLVMTypeRef type, LLVMValueRef from, LLVMValueRef to)
{
    LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, type, from, ""), to);
}

static void stop(struct gen *g, const struct copies *c, LLVMBasicBlockRef resumed)
{
    for (uint32_t i = 0; i < c->n; i++)
        copy(g, c->of[i].type, c->of[i].slot, gen_gep(g, g->frame, c->of[i].at));
    gen_suspend_return(g, gen_resume_add(g, resumed, JIT_YIELD));
}

static void resume(struct gen *g, const struct copies *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        copy(g, c->of[i].type, gen_gep(g, g->frame, c->of[i].at), c->of[i].slot);
}

static LLVMValueRef is_tired(struct gen *g)
{
    LLVMValueRef n = LLVMBuildLoad2(g->b, g->t->i32, g->spin_iterations, "");
    n = LLVMBuildAdd(g->b, n, gen_i32(g, 1), "");
    LLVMBuildStore(g->b, n, g->spin_iterations);
    return LLVMBuildICmp(g->b, LLVMIntUGE, n, gen_i32(g, ITERATIONS_MAX), "");
}

/* Where to go for another iteration, which begins at `on`: the builder stays. */
static LLVMBasicBlockRef iteration(struct gen *g, uint32_t loop, LLVMBasicBlockRef on)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), first, tired, resumed;
    struct copies copies;
    if (!copies_find(g, loop, &copies))
        return on;
    assert(g->is_kernel && !g->dispatch && !g->body.by_region);
    gen_fired(g, GEN_PASS_REJOIN);
    first = gen_bb(g, "iteration");
    tired = gen_bb(g, "tired");
    resumed = gen_bb(g, "resumed");
    LLVMPositionBuilderAtEnd(g->b, first);
    LLVMBuildCondBr(g->b, is_tired(g), tired, on);
    LLVMPositionBuilderAtEnd(g->b, tired);
    stop(g, &copies, resumed);
    LLVMPositionBuilderAtEnd(g->b, resumed);
    resume(g, &copies);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, from);
    return first;
}

LLVMBasicBlockRef gen_spin_iteration(struct gen *g, uint32_t loop)
{
    struct gen_node *header = &g->nodes[g->node_of_block[loop_of(g, loop)->header]];
    assert(header->divergent);
    return g->shapes.waits && loop_of(g, loop)->spin_suspect ? iteration(g, loop, header->body)
                                                             : header->body;
}

void gen_spin_enter(struct gen *g, const struct gen_node *node)
{
    uint32_t loop = g->shapes.loops.loop_of[node->block->id];
    if (!g->shapes.waits || g->dispatch || node->divergent || loop == IR_NO_BLOCK ||
        loop_of(g, loop)->header != node->block->id || !loop_of(g, loop)->spin_suspect)
        return;
    LLVMBasicBlockRef on = gen_bb(g, "go_on");
    LLVMBuildBr(g->b, iteration(g, loop, on));
    LLVMPositionBuilderAtEnd(g->b, on);
}

/* ---- is there such code? */

/* What is kept in places of its own from node to node. */
static bool is_kept_apart(const struct ir_instr *in)
{
    return ir_op_is_matrix(in->op) || in->op == IR_OP_ALLOCA || in->op == IR_OP_STACKSAVE ||
           in->op == IR_OP_STACKRESTORE || in->op == IR_OP_CALL || in->op == IR_OP_CALLI;
}

bool gen_spins_fit(struct gen *g)
{
    if (!gen_does(g, GEN_PASS_REJOIN) || g->unit->req->strict || !gen_is_warp(g))
        return false;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b])
            if (is_kept_apart(in))
                return false;
    }
    return true;
}
