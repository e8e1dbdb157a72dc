/*
 * requires: compacted. keeps: cfg, dominance. breaks: liveness, shapes.
 *
 * Loop-closed form where it is simple: a loop that is only left to one block, which only the loop
 * leads to. Values of the loop that are used further down go through a phi there. The value itself
 * can then stay uniform inside the loop although lanes leave at different times (analysis/shape.h:
 * temporal).
 */
#include "opt/passes.h"

#include <assert.h>

#include "base/mem.h"

#define NONE IR_NO_BLOCK

struct closer {
    struct ir_func *func;
    struct hd_arena tmp;
    struct ir_dom dom;
    struct ir_loops loops;
    struct ir_block **exits; /* by loop: its only exit, or NULL */
    struct hd_map closed;    /* (value id, loop) -> its phi at the loop's exit */
    uint32_t nvalues;
    bool changed;
};

static bool contains(const struct ir_loops *loops, uint32_t loop, uint32_t block)
{
    uint32_t inner = loops->loop_of[block];

    while (inner != NONE && loops->loops[inner].depth > loops->loops[loop].depth)
        inner = loops->loops[inner].parent;
    return inner == loop;
}

static struct ir_block *only_exit(const struct closer *c, uint32_t loop)
{
    const struct ir_loop *l = &c->loops.loops[loop];
    struct ir_block *exit = NULL;

    for (uint32_t b = l->header; b <= l->last; b++) {
        const struct ir_block *block = c->func->blocks[b];
        if (!contains(&c->loops, loop, b))
            continue;
        for (uint32_t i = 0; i < block->nsuccs; i++) {
            if (contains(&c->loops, loop, block->succs[i]->id))
                continue;
            if (exit && exit != block->succs[i])
                return NULL;
            exit = block->succs[i];
        }
    }
    for (uint32_t p = 0; exit && p < exit->npreds; p++)
        if (!contains(&c->loops, loop, exit->preds[p]->id))
            return NULL;
    return exit;
}

/* Must the value dominate every edge into the exit? It does when its block dominates the exit. */
static struct ir_value *close_value(struct closer *c, uint32_t loop, struct ir_value *value)
{
    struct ir_block *exit = c->exits[loop];
    uint64_t key = (uint64_t)value->id << 32 | loop;
    struct ir_value *known = hd_map_get_u64(&c->closed, key);
    struct ir_instr *phi;

    if (known)
        return known;
    if (!ir_dominates(&c->dom, value->instr->block->id, exit->id))
        return NULL;
    assert(exit->id < c->func->nblocks && value->id < c->nvalues);
    phi = ir_build_phi(exit, value->type);
    if (!phi->ndst)
        return NULL;
    for (uint32_t i = 0; i < phi->nsrc; i++)
        phi->src[i] = value;
    if (!hd_map_put_u64(&c->closed, key, phi->dst[0]))
        opt_failed(c->func);
    c->changed = true;
    return phi->dst[0];
}

/* Which loop's exit a use outside should go through: the outermost one that the use has left. */
static uint32_t loop_left(const struct closer *c, const struct ir_value *value, uint32_t use_block)
{
    uint32_t loop, found = NONE;

    if (!value->instr || value->id >= c->nvalues || value->instr->op == IR_OP_CONST)
        return NONE;
    loop = c->loops.loop_of[value->instr->block->id];
    for (; loop != NONE && !contains(&c->loops, loop, use_block);
         loop = c->loops.loops[loop].parent)
        found = loop;
    return found;
}

static void close_uses(struct closer *c, struct ir_instr *instr)
{
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        uint32_t at = instr->op == IR_OP_PHI ? instr->block->preds[i]->id : instr->block->id;
        uint32_t loop = loop_left(c, instr->src[i], at);
        struct ir_value *closed;
        if (loop == NONE || !c->exits[loop])
            continue;
        closed = close_value(c, loop, instr->src[i]);
        if (closed)
            instr->src[i] = closed;
    }
}

static bool prepare(struct closer *c)
{
    if (ir_dom_compute(c->func, &c->tmp, &c->dom) != HD_OK ||
        ir_loops_compute(c->func, &c->dom, &c->tmp, &c->loops) != HD_OK)
        return false;
    c->exits = hd_arena_array(&c->tmp, struct ir_block *, (size_t)c->loops.nloops + 1);
    c->nvalues = c->func->nvalues;
    if (!c->exits)
        return false;
    for (uint32_t l = 0; l < c->loops.nloops; l++)
        c->exits[l] = only_exit(c, l);
    return true;
}

bool ir_opt_close_loops(struct ir_func *func)
{
    struct closer c = {.func = func};

    hd_arena_init(&c.tmp);
    hd_map_init(&c.closed);
    if (!prepare(&c)) {
        opt_failed(func);
    } else if (c.loops.nloops && !c.loops.irreducible) {
        for (uint32_t b = 0; b < func->nblocks; b++)
            ir_foreach_instr(instr, func->blocks[b])
                close_uses(&c, instr);
    }
    hd_map_fini(&c.closed);
    hd_arena_fini(&c.tmp);
    return c.changed;
}
