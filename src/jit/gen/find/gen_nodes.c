/*
 * Mode, nodes and slots: what gen_flow.c walks over.
 */
#include "analysis/alike.h"
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

static bool op_is_collective(enum ir_op op)
{
    return op == IR_OP_WARPSYNC || op == IR_OP_SHFL || op == IR_OP_VOTE || op == IR_OP_MATCH ||
           op == IR_OP_REDUX || op == IR_OP_ELECT || ir_op_is_matrix(op);
}

static bool exit_only(const struct gen *g, const struct ir_block *b)
{
    return g->is_kernel && b->first == b->last &&
           (b->last->op == IR_OP_RET || b->last->op == IR_OP_EXIT);
}

/*
 * The sweep handles warp operations in divergent code (lanes have met again as far as they will),
 * so only barriers, irreducible flow, and spin loops that lanes leave separately need dispatch.
 */
static bool needs_dispatch(struct gen *g)
{
    const struct ir_shapes *s = &g->shapes;
    if (s->needs_dispatch)
        return true;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        if (!s->divergent[b])
            continue;
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op == IR_OP_BAR && g->is_kernel)
                return true;
        }
    }
    return false;
}

static void scan_facts(struct gen *g)
{
    bool simple = true;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op != IR_OP_BAR)
                continue;
            g->unit->facts.has_barrier = true;
            g->unit->facts.has_votes |= in->imm >= IR_BAR_RED_POPC;
            simple &= ir_bar_is_whole(in);
        }
    }
    for (uint32_t l = 0; l < g->shapes.loops.nloops; l++)
        g->unit->facts.may_spin |= g->shapes.loops.loops[l].spin_suspect;
    g->unit->facts.may_spin |= g->shapes.loops.irreducible;
    if (!g->is_kernel)
        return;
    g->unit->facts.simple_barriers = simple && !g->dispatch;
    g->unit->facts.in_order = gen_reads_stored(g);
}

/* Does the kernel keep all 32 lanes to the end? */
static bool alive_stays_full(struct gen *g)
{
    if (!g->is_kernel || g->dispatch)
        return false;
    if (!jit_launch_class_is_full(g->unit->cls))
        return false;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        const struct ir_block *block = g->func->blocks[b];
        bool ends = block->last->op == IR_OP_RET || block->last->op == IR_OP_EXIT;
        if (ends && g->shapes.divergent[b] && !exit_only(g, block))
            return false;
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            bool leaves = exit_only(g, block->succs[s]) ||
                          (g->shapes.divergent[block->succs[s]->id] &&
                           g->shapes.postdom.idom[block->succs[s]->id] == IR_NO_BLOCK);
            if (leaves && (g->shapes.divergent[b] || g->shapes.divergent_branch[b]))
                return false;
        }
        ir_foreach_instr(in, block) {
            if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
                return false;
        }
    }
    /* Side paths: lanes that leave do so through a divergent region that never meets the others. */
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (g->nodes[n].divergent && !g->nodes[n].exit_only && g->nodes[n].conv == IR_NO_BLOCK)
            return false;
    }
    return true;
}

static bool has_calls(const struct ir_func *f)
{
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
                return true;
        }
    }
    return false;
}

static uint32_t conv_of(struct gen *g, uint32_t block)
{
    uint32_t b = g->shapes.postdom.idom[block];
    while (b != IR_NO_BLOCK && g->shapes.divergent[b])
        b = g->shapes.postdom.idom[b];
    return b;
}

static struct gen_node *node_add(struct gen *g, const struct ir_block *block,
                                 const struct ir_instr *first)
{
    struct gen_node *node = &g->nodes[g->nnodes++];
    *node = (struct gen_node){.block = block, .first = first, .conv = IR_NO_BLOCK};
    node->exit_only = exit_only(g, block);
    node->divergent = g->dispatch || g->shapes.divergent[block->id];
    if (node->divergent && !g->dispatch)
        node->conv = conv_of(g, block->id);
    assert(node->conv == IR_NO_BLOCK || !g->shapes.divergent[node->conv]);
    return node;
}

static void block_nodes(struct gen *g, const struct ir_block *block)
{
    g->node_of_block[block->id] = g->nnodes;
    struct gen_node *node = node_add(g, block, block->first);
    if (!g->dispatch)
        return;
    ir_foreach_instr(in, block) {
        if (op_is_collective(in->op)) {
            if (in != node->first) {
                node->end = in;
                node = node_add(g, block, in);
            }
            node->collective = in;
        }
        if (in->op == IR_OP_BAR && in->next && g->is_kernel) {
            node->end = in->next;
            node->site = g->sweep.nsites;
            g->sweep.sites[g->sweep.nsites++] = (struct gen_site){.bar = in, .next = g->nnodes};
            node = node_add(g, block, in->next);
        }
    }
}

static void use_at(struct gen *g, const struct ir_value *v, uint32_t node)
{
    if (g->def_node[v->id] != node)
        g->cross[v->id] = true;
    const struct ir_shape *shape = gen_shape(g, v);
    if (shape->kind == IR_SHAPE_BASE_INDEX && g->def_node[shape->index->id] != node)
        g->cross[shape->index->id] = true;
}

static uint32_t last_node_of(struct gen *g, const struct ir_block *block)
{
    uint32_t n = g->node_of_block[block->id];
    assert(g->nodes[n].block == block);
    while (n + 1 < g->nnodes && g->nodes[n + 1].block == block)
        n++;
    return n;
}

static void cross_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        for (const struct ir_instr *in = g->nodes[n].first; in && in != g->nodes[n].end;
             in = in->next) {
            for (uint32_t d = 0; d < in->ndst; d++)
                g->def_node[in->dst[d]->id] = n;
        }
    }
    for (uint32_t a = 0; a < f->proto.nparams && !g->is_kernel; a++)
        g->def_node[f->args[a]->id] = UINT32_MAX;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        for (const struct ir_instr *in = g->nodes[n].first; in && in != g->nodes[n].end;
             in = in->next) {
            bool bar_red = in->op == IR_OP_BAR && g->dispatch;
            for (uint32_t d = 0; d < in->ndst; d++) {
                if (in->op == IR_OP_PHI || bar_red)
                    g->cross[in->dst[d]->id] = true;
            }
            for (uint32_t s = 0; s < in->nsrc; s++) {
                uint32_t at = in->op == IR_OP_PHI ? last_node_of(g, in->block->preds[s]) : n;
                use_at(g, in->src[s], at);
            }
        }
        /* The members a warp operation waits for are read when the node is tested. */
        if (g->nodes[n].collective) {
            const struct ir_instr *in = g->nodes[n].collective;
            for (uint32_t s = 0; s < in->nsrc; s++)
                g->cross[in->src[s]->id] |= g->def_node[in->src[s]->id] != n;
        }
    }
}

enum hd_status gen_nodes_build(struct gen *g)
{
    const struct ir_func *f = g->func;
    size_t count = 1;
    size_t bars = 0;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        count++;
        ir_foreach_instr(in, f->blocks[b]) {
            count += op_is_collective(in->op) || in->op == IR_OP_BAR;
            bars += in->op == IR_OP_BAR;
        }
    }
    g->nodes = hd_arena_array(&g->arena, struct gen_node, count);
    g->sweep.sites = hd_arena_array(&g->arena, struct gen_site, bars + 1);
    g->node_of_block = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    g->def_node = hd_arena_array(&g->arena, uint32_t, f->nvalues + 1);
    g->cross = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    g->generated = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    g->slots = hd_arena_array(&g->arena, struct gen_slot, f->nvalues + 1);
    g->nan_raw = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    g->cache = hd_arena_array(&g->arena, struct gen_val, f->nvalues + 1);
    g->cache_epoch = hd_arena_array(&g->arena, uint32_t, f->nvalues + 1);
    g->frame_at = hd_arena_array(&g->arena, uint64_t, f->nvalues + 1);
    HD_TRY(hd_arena_status(&g->arena));
    g->epoch = 1;
    g->epoch_next = 2;
    g->dispatch = needs_dispatch(g);
    for (uint32_t b = 0; b < f->nblocks; b++)
        block_nodes(g, f->blocks[b]);
    assert(g->nnodes < count && g->sweep.nsites <= bars);
    scan_facts(g);
    g->alive_known_full = alive_stays_full(g);
    g->body.alive_in_memory =
        !g->alive_known_full && (g->dispatch || !g->is_kernel || has_calls(f) ||
                                 (g->unit->facts.has_barrier && !g->unit->facts.simple_barriers));
    cross_find(g);
    gen_nan_find(g);
    return gen_regions_find(g);
}
