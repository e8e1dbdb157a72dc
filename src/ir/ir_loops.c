/*
 * Natural loops: headers from last to first, so inner loops exist before the loop around them. A
 * backward walk from the latches adds blocks; a block that already has a loop stands for its
 * outermost one, so every block is walked once per nesting level at most.
 */
#include <assert.h>

#include "ir/cfg.h"

#define NONE IR_NO_BLOCK

struct loop_builder {
    const struct ir_func *func;
    const struct ir_dom *dom;
    struct ir_loops *out;
    uint32_t *work;
    size_t cap; /* of work */
    uint32_t nwork;
};

static uint32_t outermost(const struct ir_loops *loops, uint32_t loop)
{
    while (loops->loops[loop].parent != NONE)
        loop = loops->loops[loop].parent;
    return loop;
}

/* Adds the predecessors from outside the current loop to the work list. */
static void push_preds(struct loop_builder *b, uint32_t block)
{
    const struct ir_block *at = b->func->blocks[block];

    assert(b->nwork + at->npreds <= b->cap);
    for (uint32_t p = 0; p < at->npreds; p++)
        b->work[b->nwork++] = at->preds[p]->id;
}

static void loop_fill(struct loop_builder *b, uint32_t index)
{
    struct ir_loops *out = b->out;
    struct ir_loop *loop = &out->loops[index];

    while (b->nwork) {
        uint32_t block = b->work[--b->nwork];
        uint32_t inner = out->loop_of[block];
        if (block == loop->header || !ir_dominates(b->dom, loop->header, block))
            continue;
        if (inner == NONE) {
            out->loop_of[block] = index;
            loop->last = HD_MAX(loop->last, block);
            push_preds(b, block);
            continue;
        }
        inner = outermost(out, inner);
        if (inner == index)
            continue;
        assert(out->loops[inner].header > loop->header);
        out->loops[inner].parent = index;
        loop->last = HD_MAX(loop->last, out->loops[inner].last);
        push_preds(b, out->loops[inner].header);
    }
}

static void loop_find(struct loop_builder *b, uint32_t header)
{
    const struct ir_block *block = b->func->blocks[header];
    struct ir_loops *out = b->out;

    for (uint32_t p = 0; p < block->npreds; p++) {
        uint32_t latch = block->preds[p]->id;
        if (ir_dominates(b->dom, header, latch))
            b->work[b->nwork++] = latch;
        else if (latch >= header)
            out->irreducible = true;
    }
    if (!b->nwork)
        return;
    assert(out->nloops < b->func->nblocks && out->loop_of[header] == NONE);
    out->loops[out->nloops] = (struct ir_loop){.header = header, .last = header, .parent = NONE};
    out->loop_of[header] = out->nloops;
    loop_fill(b, out->nloops++);
}

/* Found inner first: turn the list around so that it is in order of headers. */
static void loops_reverse(struct ir_loops *out, uint32_t nblocks)
{
    uint32_t n = out->nloops;

    assert(n <= nblocks);
    for (uint32_t i = 0; i < n / 2; i++) {
        struct ir_loop swap = out->loops[i];
        out->loops[i] = out->loops[n - 1 - i];
        out->loops[n - 1 - i] = swap;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ir_loop *loop = &out->loops[i];
        if (loop->parent != NONE)
            loop->parent = n - 1 - loop->parent;
        assert(loop->parent == NONE || loop->parent < i); /* in order of headers */
        loop->depth = loop->parent == NONE ? 1 : out->loops[loop->parent].depth + 1;
    }
    for (uint32_t i = 0; i < nblocks; i++)
        if (out->loop_of[i] != NONE)
            out->loop_of[i] = n - 1 - out->loop_of[i];
}

enum hd_status ir_loops_compute(const struct ir_func *func, const struct ir_dom *dom,
                                struct hd_arena *arena, struct ir_loops *out)
{
    struct loop_builder b = {.func = func, .dom = dom, .out = out};
    uint32_t nedges = 0;

    for (uint32_t i = 0; i < func->nblocks; i++)
        nedges += func->blocks[i]->npreds;
    *out = (struct ir_loops){0};
    out->loops = hd_arena_array(arena, struct ir_loop, func->nblocks + 1);
    out->loop_of = hd_arena_array(arena, uint32_t, func->nblocks + 1);
    /* A block is pushed once per edge and nesting level popped: edges + latches bound it. */
    b.work = hd_arena_array(arena, uint32_t, 2 * (size_t)nedges + 2);
    b.cap = 2 * (size_t)nedges + 2;
    if (!out->loops || !out->loop_of || !b.work)
        return hd_error(HD_NO_MEMORY, "%s: no memory for loops", func->name);
    for (uint32_t i = 0; i < func->nblocks; i++)
        out->loop_of[i] = NONE;
    for (uint32_t i = func->nblocks; i-- > 0;)
        loop_find(&b, i);
    loops_reverse(out, func->nblocks);
    return HD_OK;
}
