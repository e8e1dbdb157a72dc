/*
 * requires: compacted. keeps: cfg, dominance. breaks: liveness, shapes.
 *
 * A walk over the dominator tree with a hash table whose entries leave with their scope. A value is
 * not reused outside the loop it is computed in: if lanes leave that loop at different times, it
 * would have to be kept per lane (analysis/shape.h: temporal), which costs more than computing it
 * again.
 */
#include "opt/passes.h"

#include <assert.h>

#include "base/mem.h"

#define NONE UINT32_MAX

struct entry {
    struct ir_instr *instr;
    uint64_t hash;
    uint32_t next;
};

struct cse {
    struct ir_func *func;
    struct hd_arena tmp;
    struct ir_dom dom;
    struct ir_loops loops;
    uint32_t *heads; /* by hash & mask */
    uint32_t mask;
    struct entry *entries; /* a stack */
    uint32_t cap;
    uint32_t nentries;
    uint32_t *first_child; /* dominator tree, by block id */
    uint32_t *sibling;
    struct opt_replace replace;
};

static bool mergeable(const struct ir_instr *instr)
{
    if (instr->op == IR_OP_PHI)
        return false;
    if (instr->op == IR_OP_SREG)
        return ir_sreg_scope((enum ir_sreg)instr->imm) != IR_SREG_VOLATILE;
    if (instr->op == IR_OP_LD)
        return instr->mem.sem == IR_SEM_WEAK &&
               (instr->mem.space == IR_SPACE_PARAM || instr->mem.space == IR_SPACE_CONST);
    return ir_op_has(instr->op, IR_F_PURE);
}

static uint64_t hash_instr(const struct ir_instr *instr)
{
    uint64_t hash = ir_instr_hash(instr);

    for (uint32_t i = 0; i < instr->nsrc; i++)
        hash = hash * 31 + instr->src[i]->id + 1;
    return hd_hash(&hash, sizeof(hash), 0);
}

static bool equal_instrs(const struct ir_instr *a, const struct ir_instr *b)
{
    if (a->nsrc != b->nsrc || a->ndst != b->ndst || !ir_instr_same(a, b))
        return false;
    for (uint32_t i = 0; i < a->nsrc; i++)
        if (a->src[i] != b->src[i])
            return false;
    return true;
}

static bool stays_in_loop(const struct cse *c, const struct ir_instr *leader, uint32_t block)
{
    uint32_t loop = c->loops.loop_of[leader->block->id];
    uint32_t inner = c->loops.loop_of[block];

    if (leader->op == IR_OP_CONST || loop == IR_NO_BLOCK)
        return true;
    while (inner != IR_NO_BLOCK && c->loops.loops[inner].depth > c->loops.loops[loop].depth)
        inner = c->loops.loops[inner].parent;
    return inner == loop;
}

/* Merges the instruction into an equal one, or makes it findable. */
static void visit(struct cse *c, struct ir_instr *instr)
{
    uint64_t hash;
    uint32_t *head;

    opt_replace_sources(&c->replace, instr);
    if (!mergeable(instr))
        return;
    /* Commuting sources in order of ids. */
    struct ir_value *first = instr->nsrc > 1 ? instr->src[0] : NULL;
    if (first && opt_commutes(instr) && first->id > instr->src[1]->id &&
        !(instr->src[1]->instr && instr->src[1]->instr->op == IR_OP_CONST)) {
        instr->src[0] = instr->src[1];
        instr->src[1] = first;
    }
    hash = hash_instr(instr);
    head = &c->heads[hash & c->mask];
    for (uint32_t e = *head; e != NONE; e = c->entries[e].next) {
        struct ir_instr *leader = c->entries[e].instr;
        if (c->entries[e].hash != hash || !equal_instrs(leader, instr) ||
            !stays_in_loop(c, leader, instr->block->id))
            continue;
        for (uint32_t d = 0; d < instr->ndst; d++)
            opt_replace_set(&c->replace, instr->dst[d], leader->dst[d]);
        ir_instr_remove(instr);
        return;
    }
    assert(c->nentries < c->cap && instr->ndst);
    c->entries[c->nentries] = (struct entry){.instr = instr, .hash = hash, .next = *head};
    *head = c->nentries++;
}

static void leave_scope(struct cse *c, uint32_t nentries)
{
    while (c->nentries > nentries) {
        const struct entry *e = &c->entries[--c->nentries];
        assert(c->heads[e->hash & c->mask] == c->nentries); /* the newest goes first */
        c->heads[e->hash & c->mask] = e->next;
    }
}

struct frame {
    uint32_t block;
    uint32_t next_child;
    uint32_t nentries;
};

static void enter(struct cse *c, struct frame *frame, uint32_t block)
{
    *frame = (struct frame){block, c->first_child[block], c->nentries};
    ir_foreach_instr_safe(instr, c->func->blocks[block])
        visit(c, instr);
}

static void walk(struct cse *c, struct frame *stack)
{
    uint32_t depth = 0;

    enter(c, &stack[depth++], 0);
    while (depth) {
        struct frame *top = &stack[depth - 1];
        uint32_t child = top->next_child;
        if (child == NONE) {
            leave_scope(c, top->nentries);
            depth--;
            continue;
        }
        top->next_child = c->sibling[child];
        assert(depth < c->func->nblocks);
        enter(c, &stack[depth++], child);
    }
}

static bool build_tree(struct cse *c)
{
    uint32_t n = c->func->nblocks;

    c->first_child = hd_arena_array(&c->tmp, uint32_t, n);
    c->sibling = hd_arena_array(&c->tmp, uint32_t, n);
    if (!c->first_child || !c->sibling)
        return false;
    for (uint32_t i = 0; i < n; i++)
        c->first_child[i] = c->sibling[i] = NONE;
    for (uint32_t i = n; i-- > 1;) {
        assert(c->dom.idom[i] < i); /* compacted: reachable, dominators first */
        c->sibling[i] = c->first_child[c->dom.idom[i]];
        c->first_child[c->dom.idom[i]] = i;
    }
    return true;
}

static bool prepare(struct cse *c)
{
    uint32_t count = 0, size = 64;

    if (ir_dom_compute(c->func, &c->tmp, &c->dom) != HD_OK ||
        ir_loops_compute(c->func, &c->dom, &c->tmp, &c->loops) != HD_OK || !build_tree(c))
        return false;
    for (uint32_t b = 0; b < c->func->nblocks; b++)
        ir_foreach_instr(instr, c->func->blocks[b])
            count++;
    while (size < 2 * count)
        size *= 2;
    c->mask = size - 1;
    c->heads = hd_arena_array(&c->tmp, uint32_t, size);
    c->cap = count;
    c->entries = hd_arena_array(&c->tmp, struct entry, (size_t)count + 1);
    if (!c->heads || !c->entries)
        return false;
    for (uint32_t i = 0; i < size; i++)
        c->heads[i] = NONE;
    return opt_replace_init(&c->replace, c->func);
}

bool ir_opt_cse(struct ir_func *func)
{
    struct cse c = {.func = func};
    struct frame *stack;
    bool changed = false;

    hd_arena_init(&c.tmp);
    stack = hd_arena_array(&c.tmp, struct frame, (size_t)func->nblocks + 1);
    if (stack && prepare(&c)) {
        walk(&c, stack);
        changed = opt_replace_fini(&c.replace);
    } else {
        opt_failed(func);
    }
    hd_arena_fini(&c.tmp);
    return changed;
}
