/*
 * Predecessor lists and block order. ir_func_link_cfg() always produces predecessors in one
 * canonical order (by source block, then by successor slot), so the text form needs no order of its
 * own; phi operands are permuted along.
 */
#include "ir/ir.h"

#include <assert.h>

#include "base/mem.h"
#include "ir/cfg.h"

#define NONE UINT32_MAX

/* Moves a phi's operands from the old predecessor order to the new: slot[i] is old i's index. */
static void cfg_phi_permute(struct ir_instr *phi, const uint32_t *slot, uint32_t old_n, uint32_t n)
{
    struct hd_arena *arena = &phi->block->func->module->arena;
    struct ir_value **src = hd_arena_try_alloc_array(arena, n ? n : 1, sizeof(*src));

    if (!src)
        return;
    for (uint32_t i = 0; i < old_n && i < phi->nsrc; i++)
        if (slot[i] != NONE) {
            assert(slot[i] < n && !src[slot[i]]);
            src[slot[i]] = phi->src[i];
        }
    phi->src = src;
    phi->nsrc = n;
}

struct cfg_scratch {
    uint32_t *head; /* by block id: first unclaimed slot of that predecessor */
    uint32_t *next; /* by slot */
    uint32_t *slot; /* by old predecessor index */
    uint32_t cap;
};

static bool cfg_scratch_reserve(struct cfg_scratch *s, uint32_t n)
{
    uint32_t *next, *slot;

    if (n <= s->cap)
        return true;
    n = n < 64 ? 64 : n * 2;
    next = hd_realloc(s->next, n * sizeof(*next));
    if (!next)
        return false;
    s->next = next;
    slot = hd_realloc(s->slot, n * sizeof(*slot));
    if (!slot)
        return false;
    s->slot = slot;
    s->cap = n;
    return true;
}

/* The k-th edge from a block in the old list is the k-th edge from it in the new one. */
static bool cfg_block_match_phis(struct ir_func *func, struct ir_block *block,
                                 struct ir_block *const *old, uint32_t old_n, struct cfg_scratch *s)
{
    uint32_t n = block->npreds;

    if (!cfg_scratch_reserve(s, HD_MAX(n, old_n)))
        return false;
    assert(s->cap >= n && s->cap >= old_n);
    for (uint32_t i = n; i-- > 0;) {
        uint32_t id = block->preds[i]->id;
        s->next[i] = s->head[id];
        s->head[id] = i;
    }
    for (uint32_t i = 0; i < old_n; i++) {
        uint32_t id = old[i]->id;
        s->slot[i] = NONE;
        if (id >= func->nblocks || func->blocks[id] != old[i] || s->head[id] == NONE)
            continue;
        s->slot[i] = s->head[id];
        s->head[id] = s->next[s->head[id]];
    }
    for (uint32_t i = 0; i < n; i++)
        s->head[block->preds[i]->id] = NONE;
    for (struct ir_instr *phi = block->first; phi && phi->op == IR_OP_PHI; phi = phi->next)
        cfg_phi_permute(phi, s->slot, old_n, n);
    return true;
}

static bool cfg_preds_equal(const struct ir_block *block, struct ir_block *const *old,
                            uint32_t old_n)
{
    if (block->npreds != old_n)
        return false;
    for (uint32_t i = 0; i < old_n; i++)
        if (block->preds[i] != old[i])
            return false;
    return true;
}

struct old_preds {
    struct ir_block **preds;
    uint32_t n;
};

/* Fills preds from succs; counts come first so that every list is one allocation. */
static bool cfg_fill_preds(struct ir_func *func, struct old_preds *old)
{
    struct hd_arena *arena = &func->module->arena;

    for (uint32_t i = 0; i < func->nblocks; i++) {
        struct ir_block *block = func->blocks[i];
        old[i] = (struct old_preds){block->preds, block->npreds};
        block->id = i;
        block->npreds = 0;
    }
    for (uint32_t i = 0; i < func->nblocks; i++)
        for (uint32_t s = 0; s < func->blocks[i]->nsuccs; s++)
            func->blocks[i]->succs[s]->npreds++;
    for (uint32_t i = 0; i < func->nblocks; i++) {
        struct ir_block *block = func->blocks[i];
        block->preds = NULL;
        if (!block->npreds)
            continue;
        block->preds = hd_arena_try_alloc_array(arena, block->npreds, sizeof(*block->preds));
        if (!block->preds)
            return false;
        block->npreds = 0;
    }
    for (uint32_t i = 0; i < func->nblocks; i++)
        for (uint32_t s = 0; s < func->blocks[i]->nsuccs; s++) {
            struct ir_block *succ = func->blocks[i]->succs[s];
            assert(succ->id < func->nblocks && func->blocks[succ->id] == succ);
            succ->preds[succ->npreds++] = func->blocks[i];
        }
    return true;
}

void ir_func_link_cfg(struct ir_func *func)
{
    struct hd_arena *arena = &func->module->arena;
    struct old_preds *old;
    struct cfg_scratch scratch = {0};

    if (arena->failed || !func->nblocks)
        return;
    old = hd_alloc_array(func->nblocks, sizeof(*old));
    scratch.head = hd_alloc_array(func->nblocks, sizeof(*scratch.head));
    if (!old || !scratch.head || !cfg_fill_preds(func, old))
        arena->failed = true;
    for (uint32_t i = 0; !arena->failed && i < func->nblocks; i++)
        scratch.head[i] = NONE;
    for (uint32_t i = 0; !arena->failed && i < func->nblocks; i++) {
        struct ir_block *block = func->blocks[i];
        if (cfg_preds_equal(block, old[i].preds, old[i].n)) {
            block->preds = old[i].preds; /* phis may hold on to it: keep the old array */
            continue;
        }
        if (!block->first || block->first->op != IR_OP_PHI)
            continue;
        if (!cfg_block_match_phis(func, block, old[i].preds, old[i].n, &scratch))
            arena->failed = true;
    }
    hd_free(old);
    hd_free(scratch.head);
    hd_free(scratch.next);
    hd_free(scratch.slot);
}

void ir_block_replace_pred(struct ir_block *block, struct ir_block *from, struct ir_block *to)
{
    for (uint32_t i = 0; i < block->npreds; i++) {
        if (block->preds[i] == from) {
            block->preds[i] = to;
            return;
        }
    }
}

struct ir_block *ir_block_split_before(struct ir_instr *instr)
{
    struct ir_block *block = instr->block, *after = ir_block_create(block->func);
    struct ir_instr *next;

    assert(instr->op != IR_OP_PHI);
    for (; instr; instr = next) {
        next = instr->next;
        ir_instr_append(after, instr);
    }
    for (uint32_t i = 0; i < block->nsuccs; i++)
        ir_block_replace_pred(block->succs[i], block, after);
    after->succs = block->succs;
    after->nsuccs = block->nsuccs;
    block->succs = NULL;
    block->nsuccs = 0;
    return after;
}

/* ---- block order */

struct order_frame {
    struct ir_block *block;
    uint32_t next; /* over loop exits first, then successors */
};

struct order {
    struct ir_func *func;
    const struct ir_loops *loops; /* NULL: plain reverse postorder */
    struct ir_block ***exits;     /* by loop: targets of edges that leave it */
    uint32_t *nexits;
    uint8_t *seen;
    struct order_frame *stack;
    struct ir_block **out; /* filled from the back */
    uint32_t at;
};

static struct ir_block *cfg_order_successor(const struct order *o, const struct ir_block *block,
                                            uint32_t i)
{
    uint32_t loop = o->loops ? o->loops->loop_of[block->id] : IR_NO_BLOCK;

    if (loop != IR_NO_BLOCK && o->loops->loops[loop].header == block->id) {
        if (i < o->nexits[loop])
            return o->exits[loop][i];
        i -= o->nexits[loop];
    }
    return i < block->nsuccs ? block->succs[block->nsuccs - 1 - i] : NULL;
}

/*
 * Postorder, written from the back. A loop header first visits everything the loop can leave to, so
 * the blocks after the loop are finished before any block inside: what remains below the header is
 * the loop alone, which makes it contiguous. Successors are visited last to first, which keeps the
 * source order of if/else.
 */
static void cfg_order_walk(struct order *o)
{
    uint32_t depth = 0;

    o->stack[depth++] = (struct order_frame){o->func->blocks[0], 0};
    o->seen[0] = 1;
    assert(o->func->nblocks && o->at == o->func->nblocks);
    while (depth) {
        struct order_frame *top = &o->stack[depth - 1];
        struct ir_block *succ = cfg_order_successor(o, top->block, top->next);
        if (!succ) {
            assert(o->at);
            o->out[--o->at] = top->block;
            depth--;
            continue;
        }
        top->next++;
        if (o->seen[succ->id])
            continue;
        assert(depth < o->func->nblocks);
        o->seen[succ->id] = 1;
        o->stack[depth++] = (struct order_frame){succ, 0};
    }
}

static bool cfg_loop_contains(const struct ir_loops *loops, uint32_t loop, uint32_t inner)
{
    while (inner != IR_NO_BLOCK && loops->loops[inner].depth > loops->loops[loop].depth)
        inner = loops->loops[inner].parent;
    return inner == loop;
}

/* Calls once per (loop, edge that leaves it). */
static void cfg_exits_visit(struct order *o, bool store)
{
    const struct ir_loops *loops = o->loops;

    for (uint32_t i = 0; i < o->func->nblocks; i++) {
        struct ir_block *block = o->func->blocks[i];
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            uint32_t to = loops->loop_of[block->succs[s]->id];
            uint32_t loop = loops->loop_of[i];
            for (; loop != IR_NO_BLOCK && !cfg_loop_contains(loops, loop, to);
                 loop = loops->loops[loop].parent) {
                if (store)
                    o->exits[loop][o->nexits[loop]] = block->succs[s];
                o->nexits[loop]++;
            }
        }
    }
}

static bool cfg_order_collect_exits(struct order *o, struct hd_arena *tmp)
{
    uint32_t n = o->loops->nloops;

    o->exits = hd_arena_array(tmp, struct ir_block **, n + 1);
    o->nexits = hd_arena_array(tmp, uint32_t, n + 1);
    if (!o->exits || !o->nexits)
        return false;
    cfg_exits_visit(o, false);
    for (uint32_t i = 0; i < n; i++) {
        o->exits[i] = hd_arena_array(tmp, struct ir_block *, o->nexits[i] + 1);
        if (!o->exits[i])
            return false;
        o->nexits[i] = 0;
    }
    cfg_exits_visit(o, true);
    return true;
}

/* Reorders func->blocks; unreachable blocks fall out. */
static bool cfg_order_apply(struct ir_func *func, const struct ir_loops *loops,
                            struct hd_arena *tmp)
{
    struct order o = {.func = func, .loops = loops, .at = func->nblocks};
    uint32_t n = func->nblocks;

    o.seen = hd_arena_array(tmp, uint8_t, n);
    o.stack = hd_arena_array(tmp, struct order_frame, n);
    o.out = hd_arena_array(tmp, struct ir_block *, n);
    if (!o.seen || !o.stack || !o.out || (loops && !cfg_order_collect_exits(&o, tmp)))
        return false;
    cfg_order_walk(&o);
    assert(o.at < n && o.out[o.at] == func->blocks[0]); /* the entry stays first */
    func->nblocks = n - o.at;
    for (uint32_t i = 0; i < func->nblocks; i++)
        func->blocks[i] = o.out[o.at + i];
    ir_func_link_cfg(func);
    return !func->module->arena.failed; /* then the lists of predecessors may be old */
}

static enum hd_status cfg_compact(struct ir_func *func, struct hd_arena *tmp)
{
    struct ir_dom dom;
    struct ir_loops loops;

    if (!cfg_order_apply(func, NULL, tmp))
        return HD_NO_MEMORY;
    HD_TRY(ir_dom_compute(func, tmp, &dom));
    HD_TRY(ir_loops_compute(func, &dom, tmp, &loops));
    if (!cfg_order_apply(func, &loops, tmp))
        return HD_NO_MEMORY;
    uint32_t id = 0;
    for (uint32_t i = 0; i < func->proto.nparams; i++)
        func->args[i]->id = id++;
    for (uint32_t i = 0; i < func->nblocks; i++)
        ir_foreach_instr(instr, func->blocks[i])
            for (uint32_t d = 0; d < instr->ndst; d++)
                instr->dst[d]->id = id++;
    func->nvalues = id;
    return HD_OK;
}

void ir_func_compact(struct ir_func *func)
{
    struct hd_arena tmp;

    if (func->module->arena.failed || !func->nblocks)
        return;
    for (uint32_t i = 0; i < func->nblocks; i++)
        func->blocks[i]->id = i;
    hd_arena_init(&tmp);
    if (cfg_compact(func, &tmp) != HD_OK)
        func->module->arena.failed = true;
    hd_arena_fini(&tmp);
}
