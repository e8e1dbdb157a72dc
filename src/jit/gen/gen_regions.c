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
#include "jit/gen/gen_walk.h"

#include <assert.h>
#include <string.h>

struct regions {
    struct gen *g;
    const struct ir_func *f;
    bool *same;    /* by value id: CTA-uniform */
    bool *mixed;   /* by block: warps may come here along different ways */
    bool *visited; /* by block, scratch */
    uint32_t *stack;
    struct gen_walk walk;
    uint32_t *first_stop; /* by block: number of its first stop */
    uint32_t nstops;
    uint64_t size, once; /* instructions of all regions together; of the kernel */
    bool ok;
};

static bool sreg_is_same(struct gen *g, enum ir_sreg r)
{
    enum ir_sreg_scope scope = ir_sreg_scope(r);
    if (r == IR_SREG_TID_Y || r == IR_SREG_TID_Z)
        return g->unit->cls == IR_CLASS_1D ||
               ir_launch_class_single(g->unit->cls) == IR_CLASS_1D_FULL;
    return scope == IR_SREG_CTA || scope == IR_SREG_CLUSTER || scope == IR_SREG_GRID;
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
    assert(stop == IR_NO_BLOCK || stop < r->f->nblocks);
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
        if (r->visited[i] && i != except && ir_block_has(r->f->blocks[i], IR_OP_BAR))
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
    if (leaves && !r->g->body.leaves_early) {
        visit(r, b, IR_NO_BLOCK, false);
        r->g->body.leaves_early = visited_stops(r, IR_NO_BLOCK);
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

/* ---- the regions themselves: number 0 starts the kernel, number n + 1 follows stop number n */

/*
 * Walks through the region that starts at `in`, where stop `stop` is the next of its block. Counts
 * instructions, a block once, and the stops that it ends with; their numbers go to `out`, if given.
 */
static uint32_t region_walk(struct regions *r, const struct ir_instr *in, uint32_t stop,
                            uint32_t *out)
{
    uint32_t nstops = 0;
    gen_walk_from(&r->walk, in);
    while ((in = gen_walk_next(&r->walk))) {
        if (in->op != IR_OP_BAR) {
            r->size++;
            continue;
        }
        if (out)
            out[nstops] = r->walk.nblocks ? r->first_stop[in->block->id] : stop;
        nstops++;
    }
    return nstops;
}

/* All regions in order; next->first, and next->to if it is there, are filled in. */
static void regions_walk(struct regions *r, struct gen_regions *next)
{
    uint32_t n = 0, stop = 0, at = 0;

    next->first[n++] = 0;
    at += region_walk(r, r->f->blocks[0]->first, 0, next->to);
    for (uint32_t b = 0; b < r->f->nblocks; b++) {
        ir_foreach_instr(in, r->f->blocks[b]) {
            if (in->op != IR_OP_BAR)
                continue;
            next->first[n++] = at;
            at += region_walk(r, in->next, ++stop, next->to ? next->to + at : NULL);
        }
    }
    next->first[n] = at;
    assert(n == r->nstops + 1);
}

static void stops_number(struct regions *r)
{
    for (uint32_t b = 0; b < r->f->nblocks; b++) {
        r->first_stop[b] = r->nstops;
        ir_foreach_instr(in, r->f->blocks[b]) {
            r->nstops += in->op == IR_OP_BAR;
            r->once++;
        }
    }
}

/* Code between stops is generated once per stop that it can follow: is that little? */
static enum hd_status regions_list(struct regions *r, bool *out_small)
{
    struct hd_arena *arena = &r->g->unit->arena; /* the entry points read them */
    struct gen_regions *next = &r->g->body.regions;

    stops_number(r);
    next->first = hd_arena_array(arena, uint32_t, r->nstops + 2);
    next->to = NULL;
    HD_TRY(hd_arena_status(arena));
    regions_walk(r, next);
    *out_small = r->size <= 3 * r->once + 1000;
    if (!*out_small)
        return HD_OK;
    next->to = hd_arena_array(arena, uint32_t, next->first[r->nstops + 1] + 1);
    HD_TRY(hd_arena_status(arena));
    regions_walk(r, next);
    return HD_OK;
}

static bool is_candidate(const struct gen *g)
{
    return gen_does(g, GEN_PASS_REGIONS) && g->is_kernel && !g->dispatch &&
           !g->func->module->runs_apart && g->unit->facts.has_barrier &&
           g->unit->facts.simple_barriers && !g->unit->facts.may_spin;
}

static bool op_forbids(const struct ir_instr *in)
{
    return in->op == IR_OP_CALL || in->op == IR_OP_CALLI || in->op == IR_OP_ALLOCA ||
           in->op == IR_OP_STACKSAVE || in->op == IR_OP_STACKRESTORE;
}

enum hd_status gen_regions_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    if (!is_candidate(g))
        return HD_OK;
    struct regions r = {.g = g, .f = f, .ok = true};
    r.same = hd_arena_array(&g->arena, bool, f->nvalues + 1);
    r.mixed = hd_arena_array(&g->arena, bool, f->nblocks);
    r.visited = hd_arena_array(&g->arena, bool, f->nblocks);
    r.stack = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    r.first_stop = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    g->cta_at = hd_arena_array(&g->arena, uint64_t, f->nvalues + 1);
    if (!gen_walk_init(g, &r.walk))
        return HD_NO_MEMORY;
    HD_TRY(hd_arena_status(&g->arena));
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            r.ok &= !op_forbids(in);
    }
    memset(r.same, 1, f->nvalues * sizeof(bool));
    while (r.ok && strike_out(&r))
        ;
    if (r.ok)
        HD_TRY(regions_list(&r, &g->body.by_region));
    if (g->body.by_region)
        HD_TRY(gen_order_find(g, r.nstops));
    g->body.leaves_early &= g->body.by_region;
    g->cta_uniform = r.same;
    return HD_OK;
}
