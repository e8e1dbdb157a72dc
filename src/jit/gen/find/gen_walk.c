/*
 * What can run between a place and the suspend points (barriers) next to it: a walk along all
 * ways, through each block once.
 */
#include "jit/gen/find/gen_walk.h"

#include <assert.h>
#include <string.h>

bool gen_walk_init(struct gen *g, struct gen_walk *w)
{
    uint32_t nblocks = g->func->nblocks;

    w->func = g->func;
    w->seen = hd_arena_array(&g->arena, bool, nblocks);
    w->stack = hd_arena_array(&g->arena, uint32_t, nblocks);
    return w->seen && w->stack;
}

static void arrive(struct gen_walk *w, const struct ir_block *b)
{
    if (!w->seen[b->id])
        w->stack[w->depth++] = b->id;
    w->seen[b->id] = true;
}

static void leave(struct gen_walk *w, const struct ir_block *b)
{
    uint32_t n = w->back ? b->npreds : b->nsuccs;

    w->came_to_start |= w->back && b->id == 0;
    for (uint32_t i = 0; i < n; i++)
        arrive(w, w->back ? b->preds[i] : b->succs[i]);
}

static void start(struct gen_walk *w, const struct ir_instr *in, bool back)
{
    memset(w->seen, 0, w->func->nblocks * sizeof(bool));
    w->back = back;
    w->came_to_start = false;
    w->depth = w->nblocks = 0;
    w->next = in;
    w->until = NULL;
}

void gen_walk_from(struct gen_walk *w, const struct ir_instr *in)
{
    assert(in->block->func == w->func);
    start(w, in, false);
    w->seen[in->block->id] = in == in->block->first;
}

void gen_walk_back_from(struct gen_walk *w, const struct ir_instr *in)
{
    start(w, in->prev, true);
    if (!in->prev)
        leave(w, in->block);
}

void gen_walk_back_to(struct gen_walk *w, const struct ir_instr *in, const struct ir_instr *until)
{
    gen_walk_back_from(w, in);
    w->until = until;
}

const struct ir_instr *gen_walk_next(struct gen_walk *w)
{
    if (!w->next && !w->depth)
        return NULL;
    if (!w->next) {
        const struct ir_block *b = w->func->blocks[w->stack[--w->depth]];
        w->next = w->back ? b->last : b->first;
        w->nblocks++;
    }
    const struct ir_instr *in = w->next;
    w->next = NULL;
    if (in->op == IR_OP_BAR || in == w->until)
        return in;
    w->next = w->back ? in->prev : in->next;
    if (!w->next)
        leave(w, in->block);
    return in;
}
