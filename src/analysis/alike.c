/* What is alike in all warps of a CTA: src/analysis/alike.h. */
#include "analysis/alike.h"

#include <assert.h>
#include <string.h>

struct alike {
    const struct ir_func *f;
    const struct ir_shapes *shapes;
    struct ir_launch_facts launch;
    bool *same;    /* by value id: CTA-uniform */
    bool *bases;   /* by value id: the base of a BASE_INDEX is */
    bool *mixed;   /* by block: warps may come here along different ways */
    bool *visited; /* by block, scratch */
    uint32_t *stack;
    bool ok, leaves_early;
};

static bool sreg_is_same(const struct alike *r, enum ir_sreg sreg)
{
    enum ir_sreg_scope scope = ir_sreg_scope(sreg);
    if (sreg == IR_SREG_TID_Y || sreg == IR_SREG_TID_Z)
        return r->launch.extents == IR_BLOCK_1D;
    return scope == IR_SREG_CTA || scope == IR_SREG_CLUSTER || scope == IR_SREG_GRID;
}

static bool op_is_same(struct alike *r, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CONST:
    case IR_OP_BAR:
        return true;
    case IR_OP_SREG:
        return sreg_is_same(r, (enum ir_sreg)in->imm);
    case IR_OP_VARADDR:
        return in->var->space != IR_SPACE_LOCAL;
    case IR_OP_LD:
        return in->mem.space != IR_SPACE_LOCAL && in->mem.sem == IR_SEM_WEAK;
    case IR_OP_PHI:
        return !r->mixed[in->block->id];
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return in->mem.space != IR_SPACE_LOCAL;
    case IR_OP_FUNCADDR:
        return true;
    default:
        return ir_op_has(in->op, IR_F_PURE);
    }
}

static bool instr_is_same(struct alike *r, const struct ir_instr *in)
{
    if (!op_is_same(r, in))
        return false;
    for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_BAR; s++) {
        if (!r->same[in->src[s]->id])
            return false;
    }
    return true;
}

/* Made of what is alike, and of the index. */
static bool base_is_same(struct alike *r, const struct ir_instr *in)
{
    const struct ir_shape *shape = &r->shapes->of[in->dst[0]->id];

    if (shape->kind != IR_SHAPE_BASE_INDEX || !op_is_same(r, in))
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        const struct ir_value *v = in->src[s];
        if (!r->same[v->id] && !r->bases[v->id] && v != shape->index)
            return false;
    }
    return true;
}

static void push(struct alike *r, uint32_t *depth, const struct ir_block *b)
{
    if (r->visited[b->id])
        return;
    r->visited[b->id] = true;
    r->stack[(*depth)++] = b->id;
}

static bool is_way_out(const struct alike *r, const struct ir_block *from,
                       const struct ir_block *to)
{
    const struct ir_shapes *sh = r->shapes;
    return sh->exit_only[to->id] || (sh->side_exit[to->id] && !sh->side_exit[from->id]);
}

/*
 * Visits what can be reached from the successors of `from` without going past `stop`: from those
 * that lead out of the kernel's main path, or from the others.
 */
static void visit(struct alike *r, const struct ir_block *from, uint32_t stop, bool out)
{
    assert(stop == IR_NO_BLOCK || stop < r->f->nblocks);
    uint32_t depth = 0;
    memset(r->visited, 0, r->f->nblocks * sizeof(bool));
    for (uint32_t s = 0; s < from->nsuccs; s++) {
        if (is_way_out(r, from, from->succs[s]) == out)
            push(r, &depth, from->succs[s]);
    }
    while (depth) {
        const struct ir_block *b = r->f->blocks[r->stack[--depth]];
        for (uint32_t s = 0; s < b->nsuccs && b->id != stop; s++)
            push(r, &depth, b->succs[s]);
    }
}

static bool visited_stops(struct alike *r, uint32_t except)
{
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        if (r->visited[i] && i != except && ir_block_has(r->f->blocks[i], IR_OP_BAR))
            return true;
    }
    return false;
}

static bool visited_mixed(struct alike *r)
{
    bool changed = false;
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        changed |= r->visited[i] && !r->mixed[i];
        r->mixed[i] |= r->visited[i];
    }
    return changed;
}

/*
 * Warps or lanes go different ways at the end of `b`: no stop may come before they meet again.
 * Those that leave the main path end without another stop, and must be known to be gone if the
 * others stop.
 */
static bool mix(struct alike *r, const struct ir_block *b)
{
    bool changed = false;
    uint32_t leaves = 0;
    uint32_t meet = r->shapes->postdom.idom[b->id];
    for (uint32_t s = 0; s < b->nsuccs; s++)
        leaves += is_way_out(r, b, b->succs[s]);
    visit(r, b, IR_NO_BLOCK, true);
    r->ok &= !visited_stops(r, IR_NO_BLOCK);
    changed |= visited_mixed(r);
    if (leaves + 1 < b->nsuccs) { /* else all that stay go the same way */
        visit(r, b, meet, false);
        r->ok &= !visited_stops(r, meet);
        changed |= visited_mixed(r);
    }
    if (leaves && !r->leaves_early) {
        visit(r, b, IR_NO_BLOCK, false);
        r->leaves_early = visited_stops(r, IR_NO_BLOCK);
    }
    return changed;
}

static bool branch_is_same(struct alike *r, const struct ir_block *b)
{
    const struct ir_shapes *sh = r->shapes;
    if (sh->divergent[b->id] || sh->divergent_branch[b->id])
        return false;
    return b->nsuccs < 2 || r->same[b->last->src[0]->id];
}

static bool strike(bool *holds, bool keep)
{
    bool changed = *holds && !keep;

    *holds &= keep;
    return changed;
}

static bool strike_out(struct alike *r)
{
    bool changed = false;
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        const struct ir_block *b = r->f->blocks[i];
        ir_foreach_instr(in, b) {
            bool same = instr_is_same(r, in), base = in->ndst == 1 && base_is_same(r, in);
            for (uint32_t d = 0; d < in->ndst; d++) {
                uint32_t id = in->dst[d]->id;
                changed |= strike(&r->same[id], same && r->shapes->of[id].kind == IR_SHAPE_UNIFORM);
                changed |= strike(&r->bases[id], base);
            }
        }
        if (!branch_is_same(r, b))
            changed |= mix(r, b);
    }
    return changed;
}

bool ir_bar_is_whole(const struct ir_instr *bar)
{
    uint32_t n = bar->nsrc - (bar->imm >= IR_BAR_RED_POPC ? 1u : 0u);
    uint64_t number = 0, count = 0;

    assert(bar->op == IR_OP_BAR);
    if (!ir_bar_meets((enum ir_bar)bar->imm))
        return false;
    return (n < 1 || (ir_value_const(bar->src[0], &number) && !number)) &&
           (n < 2 || (ir_value_const(bar->src[1], &count) && !count));
}

enum hd_status ir_alike_compute(const struct ir_func *func, const struct ir_shapes *shapes,
                                struct ir_launch_facts launch, struct hd_arena *arena,
                                struct ir_alike *out)
{
    struct alike r = {.f = func, .shapes = shapes, .launch = launch, .ok = true};

    r.same = hd_arena_array(arena, bool, func->nvalues + 1);
    r.bases = hd_arena_array(arena, bool, func->nvalues + 1);
    r.mixed = hd_arena_array(arena, bool, func->nblocks);
    r.visited = hd_arena_array(arena, bool, func->nblocks);
    r.stack = hd_arena_array(arena, uint32_t, func->nblocks);
    HD_TRY(hd_arena_status(arena));
    memset(r.same, 1, func->nvalues * sizeof(bool));
    memset(r.bases, 1, func->nvalues * sizeof(bool));
    while (r.ok && strike_out(&r))
        ;
    *out = (struct ir_alike){
        .same = r.same, .bases = r.bases, .stops = r.ok, .leaves_early = r.leaves_early};
    return HD_OK;
}
