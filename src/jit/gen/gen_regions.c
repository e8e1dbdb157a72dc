/*
 * Is a kernel with barriers a sequence of regions that all warps of a CTA run through alike?
 *
 * A region is what a warp runs from one stop to the next. When control between stops depends only
 * on values that are the same in every warp of the CTA, but for lanes that leave for good, one
 * function can run region after region, each in a loop over the warps (gen_cta.c). What is the same
 * in the whole CTA is then kept once and computed once per region.
 *
 * Such a value is CTA-uniform: constants, parameters, block numbers and sizes, results of bar.red,
 * loads that are no synchronisation from a CTA-uniform address (warps that could read different
 * values there race), operations on CTA-uniform values, and phis of such where control came along
 * the same way in every warp. The analysis starts from "everything" and strikes out.
 */
#include "jit/gen/gen_flow.h"

#include <string.h>

struct regions {
    struct gen *g;
    const struct ir_func *f;
    bool *same;    /* by value id: CTA-uniform */
    bool *mixed;   /* by block: warps may come here along different ways */
    bool *visited; /* by block, scratch */
    uint32_t *stack;
    bool ok;
};

static bool sreg_is_same(struct gen *g, enum ir_sreg r)
{
    switch (r) {
    case IR_SREG_NTID_X:
    case IR_SREG_NTID_Y:
    case IR_SREG_NTID_Z:
    case IR_SREG_CTAID_X:
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
    case IR_SREG_NCTAID_X:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
    case IR_SREG_NWARPID:
    case IR_SREG_SMID:
    case IR_SREG_NSMID:
    case IR_SREG_GRIDID:
    case IR_SREG_ENVREG1:
    case IR_SREG_ENVREG2:
    case IR_SREG_DYNAMIC_SMEM_SIZE:
    case IR_SREG_TOTAL_SMEM_SIZE:
        return true;
    case IR_SREG_TID_Y:
    case IR_SREG_TID_Z:
        return g->req->cls == IR_CLASS_1D || g->req->cls == IR_CLASS_1D_FULL;
    default:
        return false;
    }
}

static bool op_is_same(struct regions *r, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CONST:
    case IR_OP_BAR:
        return true;
    case IR_OP_SREG:
        return sreg_is_same(r->g, (enum ir_sreg)in->imm);
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

static bool instr_is_same(struct regions *r, const struct ir_instr *in)
{
    if (!op_is_same(r, in))
        return false;
    for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_BAR; s++) {
        if (!r->same[in->src[s]->id])
            return false;
    }
    return true;
}

static bool has_bar(const struct ir_block *b)
{
    ir_foreach_instr(in, b) {
        if (in->op == IR_OP_BAR)
            return true;
    }
    return false;
}

static void push(struct regions *r, uint32_t *depth, const struct ir_block *b)
{
    if (r->visited[b->id])
        return;
    r->visited[b->id] = true;
    r->stack[(*depth)++] = b->id;
}

static bool is_way_out(struct gen *g, const struct ir_block *from, const struct ir_block *to)
{
    const struct ir_shapes *sh = &g->shapes;
    return sh->exit_only[to->id] || (sh->side_exit[to->id] && !sh->side_exit[from->id]);
}

/*
 * Visits what can be reached from the successors of `from` without going past `stop`: from those
 * that lead out of the kernel's main path, or from the others.
 */
static void visit(struct regions *r, const struct ir_block *from, uint32_t stop, bool out)
{
    uint32_t depth = 0;
    memset(r->visited, 0, r->f->nblocks * sizeof(bool));
    for (uint32_t s = 0; s < from->nsuccs; s++) {
        if (is_way_out(r->g, from, from->succs[s]) == out)
            push(r, &depth, from->succs[s]);
    }
    while (depth) {
        const struct ir_block *b = r->f->blocks[r->stack[--depth]];
        for (uint32_t s = 0; s < b->nsuccs && b->id != stop; s++)
            push(r, &depth, b->succs[s]);
    }
}

static bool visited_stops(struct regions *r, uint32_t except)
{
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        if (r->visited[i] && i != except && has_bar(r->f->blocks[i]))
            return true;
    }
    return false;
}

static bool visited_mixed(struct regions *r)
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
static bool mix(struct regions *r, const struct ir_block *b)
{
    bool changed = false;
    uint32_t leaves = 0;
    uint32_t meet = r->g->shapes.postdom.idom[b->id];
    for (uint32_t s = 0; s < b->nsuccs; s++)
        leaves += is_way_out(r->g, b, b->succs[s]);
    visit(r, b, IR_NO_BLOCK, true);
    r->ok &= !visited_stops(r, IR_NO_BLOCK);
    changed |= visited_mixed(r);
    if (leaves + 1 < b->nsuccs) { /* else all that stay go the same way */
        visit(r, b, meet, false);
        r->ok &= !visited_stops(r, meet);
        changed |= visited_mixed(r);
    }
    if (leaves && !r->g->leaves_early) {
        visit(r, b, IR_NO_BLOCK, false);
        r->g->leaves_early = visited_stops(r, IR_NO_BLOCK);
    }
    return changed;
}

static bool branch_is_same(struct regions *r, const struct ir_block *b)
{
    const struct ir_shapes *sh = &r->g->shapes;
    if (sh->divergent[b->id] || sh->divergent_branch[b->id])
        return false;
    return b->nsuccs < 2 || r->same[b->last->src[0]->id];
}

static bool strike_out(struct regions *r)
{
    bool changed = false;
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        const struct ir_block *b = r->f->blocks[i];
        ir_foreach_instr(in, b) {
            bool same = instr_is_same(r, in);
            for (uint32_t d = 0; d < in->ndst; d++) {
                uint32_t id = in->dst[d]->id;
                bool keep = same && r->g->shapes.of[id].kind == IR_SHAPE_UNIFORM;
                changed |= r->same[id] && !keep;
                r->same[id] &= keep;
            }
        }
        if (!branch_is_same(r, b))
            changed |= mix(r, b);
    }
    return changed;
}

/* Instructions from `in` to the next stops; a block is counted once. */
static uint64_t region_size(struct regions *r, const struct ir_instr *in)
{
    uint64_t n = 0;
    uint32_t depth = 0;
    memset(r->visited, 0, r->f->nblocks * sizeof(bool));
    for (;;) {
        for (; in && in->op != IR_OP_BAR; in = in->next) {
            n++;
            for (uint32_t s = 0; !in->next && s < in->block->nsuccs; s++)
                push(r, &depth, in->block->succs[s]);
        }
        if (!depth)
            return n;
        in = r->f->blocks[r->stack[--depth]]->first;
    }
}

/* Code between stops is generated once per stop that it can follow. */
static bool is_small(struct regions *r)
{
    uint64_t once = 0, all = region_size(r, r->f->blocks[0]->first);
    for (uint32_t i = 0; i < r->f->nblocks; i++) {
        ir_foreach_instr(in, r->f->blocks[i]) {
            once++;
            if (in->op == IR_OP_BAR)
                all += region_size(r, in->next);
        }
    }
    return all <= 3 * once + 1000;
}

static bool is_candidate(const struct gen *g)
{
    return g->is_kernel && !g->dispatch && g->facts.has_barrier && g->facts.simple_barriers &&
           !g->facts.may_spin;
}

static bool op_forbids(const struct ir_instr *in)
{
    return in->op == IR_OP_CALL || in->op == IR_OP_CALLI || in->op == IR_OP_ALLOCA ||
           in->op == IR_OP_STACKSAVE || in->op == IR_OP_STACKRESTORE;
}

enum hd_status gen_regions_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    g->by_region = g->leaves_early = false;
    if (!is_candidate(g))
        return HD_OK;
    struct regions r = {.g = g, .f = f, .ok = true};
    r.same = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    r.mixed = hd_arena_array(&g->arena, bool, f->nblocks);
    r.visited = hd_arena_array(&g->arena, bool, f->nblocks);
    r.stack = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    g->cta_at = hd_arena_array(&g->arena, uint64_t, f->nvalues + 1);
    HD_TRY(hd_arena_status(&g->arena));
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            r.ok &= !op_forbids(in);
    }
    memset(r.same, 1, f->nvalues * sizeof(bool));
    while (r.ok && strike_out(&r))
        ;
    g->by_region = r.ok && is_small(&r);
    g->leaves_early &= g->by_region;
    g->cta_uniform = r.same;
    return HD_OK;
}
