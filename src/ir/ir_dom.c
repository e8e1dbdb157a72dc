/*
 * Dominators after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm": iterate
 * intersections in reverse postorder. Post-dominators run the same code over the reversed graph
 * with a virtual exit.
 */
#include <assert.h>

#include "ir/cfg.h"

#include "base/mem.h"

#define NONE IR_NO_BLOCK

/* A graph in its own numbering: 0 is the root, numbers are a reverse postorder. */
struct graph {
    uint32_t n;
    uint32_t *edges; /* predecessors, in this numbering */
    uint32_t *first; /* n + 1 */
};

static uint32_t dom_intersect(const uint32_t *idom, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b)
            a = idom[a];
        while (b > a)
            b = idom[b];
    }
    return a;
}

static void dom_dominators(const struct graph *g, uint32_t *idom)
{
    bool changed = true;

    assert(g->n > 0);
    idom[0] = 0;
    for (uint32_t i = 1; i < g->n; i++)
        idom[i] = NONE;
    while (changed) {
        changed = false;
        for (uint32_t i = 1; i < g->n; i++) {
            uint32_t best = NONE;
            for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++) {
                uint32_t p = g->edges[e];
                if (idom[p] != NONE)
                    best = best == NONE ? p : dom_intersect(idom, p, best);
            }
            if (best != idom[i]) {
                idom[i] = best;
                changed = true;
            }
        }
    }
}

/*
 * Depth and, for constant-time queries, entry/exit numbers of a walk over the tree. `order` lists
 * nodes with parents before children.
 */
static bool dom_tree_number(struct ir_dom *dom, const uint32_t *order, uint32_t n, uint32_t nblocks,
                            struct hd_arena *arena)
{
    uint32_t *size = hd_arena_array(arena, uint32_t, nblocks + 1);
    uint32_t *used = hd_arena_array(arena, uint32_t, nblocks + 1);
    uint32_t root_used = 0;

    dom->depth = hd_arena_array(arena, uint32_t, nblocks + 1);
    dom->pre = hd_arena_array(arena, uint32_t, nblocks + 1);
    dom->last = hd_arena_array(arena, uint32_t, nblocks + 1);
    if (!size || !used || !dom->depth || !dom->pre || !dom->last)
        return false;
    for (uint32_t i = 0; i < nblocks; i++)
        dom->pre[i] = NONE; /* unreachable: dominated by nothing, dominates nothing */
    for (uint32_t i = n; i-- > 0;) {
        uint32_t b = order[i], up = dom->idom[b];
        size[b]++;
        if (up != NONE)
            size[up] += size[b];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = order[i], up = dom->idom[b];
        uint32_t *at = up == NONE ? &root_used : &used[up];
        assert(up == NONE || dom->pre[up] != NONE); /* parents come first */
        dom->depth[b] = up == NONE ? 0 : dom->depth[up] + 1;
        dom->pre[b] = up == NONE ? *at : dom->pre[up] + 1 + *at;
        *at += size[b];
        dom->last[b] = dom->pre[b] + size[b] - 1;
    }
    return true;
}

bool ir_dominates(const struct ir_dom *dom, uint32_t a, uint32_t b)
{
    return dom->pre[a] <= dom->pre[b] && dom->pre[b] <= dom->last[a];
}

/* ---- dominators: in any block order */

/* Reverse postorder of the reachable blocks. Returns their number. */
static uint32_t dom_forward_order(const struct ir_func *func, uint32_t *order, uint32_t *number,
                                  uint32_t *stack, uint32_t *next)
{
    uint32_t n = func->nblocks, at = n, depth = 0;

    for (uint32_t i = 0; i < n; i++)
        number[i] = NONE;
    stack[depth++] = 0;
    number[0] = 0;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (next[b] == func->blocks[b]->nsuccs) {
            order[--at] = b;
            depth--;
            continue;
        }
        uint32_t s = func->blocks[b]->succs[next[b]++]->id;
        if (number[s] != NONE)
            continue;
        number[s] = 0;
        assert(depth < n);
        stack[depth++] = s;
    }
    assert(at < n); /* the entry at least */
    memmove(order, order + at, (n - at) * sizeof(*order));
    for (uint32_t i = 0; i < n - at; i++)
        number[order[i]] = i;
    return n - at;
}

static bool dom_forward_graph(const struct ir_func *func, struct graph *g, uint32_t *order,
                              struct hd_arena *arena)
{
    uint32_t n = func->nblocks, nedges = 0;
    uint32_t *number = hd_arena_array(arena, uint32_t, n);
    uint32_t *stack = hd_arena_array(arena, uint32_t, n);
    uint32_t *next = hd_arena_array(arena, uint32_t, n);

    for (uint32_t i = 0; i < n; i++)
        nedges += func->blocks[i]->npreds;
    g->edges = hd_arena_array(arena, uint32_t, (size_t)nedges + 1);
    g->first = hd_arena_array(arena, uint32_t, (size_t)n + 2);
    if (!number || !stack || !next || !g->edges || !g->first)
        return false;
    g->n = dom_forward_order(func, order, number, stack, next);
    nedges = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct ir_block *block = func->blocks[order[i]];
        g->first[i] = nedges;
        for (uint32_t p = 0; p < block->npreds; p++)
            if (number[block->preds[p]->id] != NONE)
                g->edges[nedges++] = number[block->preds[p]->id];
    }
    assert(g->n <= n);
    g->first[g->n] = nedges;
    return true;
}

enum hd_status ir_dom_compute(const struct ir_func *func, struct hd_arena *arena,
                              struct ir_dom *out)
{
    uint32_t n = func->nblocks;
    struct graph g;
    uint32_t *order = hd_arena_array(arena, uint32_t, n);
    uint32_t *idom = hd_arena_array(arena, uint32_t, n);

    out->idom = hd_arena_array(arena, uint32_t, n);
    if (!order || !idom || !out->idom || !dom_forward_graph(func, &g, order, arena))
        return hd_error(HD_NO_MEMORY, "%s: no memory for dominators", func->name);
    dom_dominators(&g, idom);
    for (uint32_t i = 0; i < n; i++)
        out->idom[i] = NONE;
    for (uint32_t i = 1; i < g.n; i++)
        out->idom[order[i]] = order[idom[i]];
    assert(out->idom[0] == NONE);
    if (!dom_tree_number(out, order, g.n, n, arena))
        return hd_error(HD_NO_MEMORY, "%s: no memory for dominators", func->name);
    return HD_OK;
}

/* ---- post-dominators: blocks that cannot reach an exit hang below the virtual exit as well */

struct reverse {
    const struct ir_func *func;
    ir_skip_edge *skip; /* NULL: none */
    const void *context;
    uint32_t *number; /* by block id: number in the reversed order, NONE = not reached */
    uint32_t *order;  /* inverse; order[0] is the virtual exit */
    uint32_t *stack;
    uint32_t *next;
    uint32_t n;
    bool *root; /* an edge to the virtual exit */
};

static bool dom_skipped(const struct reverse *r, uint32_t from, uint32_t to)
{
    return r->skip && r->skip(r->context, from, to);
}

/* The first successor that counts, NONE = there is none. */
static uint32_t dom_way_on(const struct reverse *r, const struct ir_block *block)
{
    for (uint32_t s = 0; s < block->nsuccs; s++)
        if (!dom_skipped(r, block->id, block->succs[s]->id))
            return block->succs[s]->id;
    return NONE;
}

/* Postorder walk against the edges from `block`; numbers are given from the back. */
static void dom_reverse_walk(struct reverse *r, uint32_t block, uint32_t *at)
{
    uint32_t depth = 0;

    r->stack[depth++] = block;
    r->number[block] = 0;
    r->next[block] = 0;
    while (depth) {
        uint32_t b = r->stack[depth - 1];
        const struct ir_block *top = r->func->blocks[b];
        if (r->next[b] == top->npreds) {
            r->order[--*at] = b;
            depth--;
            continue;
        }
        uint32_t p = top->preds[r->next[b]++]->id;
        if (r->number[p] != NONE || dom_skipped(r, p, b))
            continue;
        r->number[p] = 0;
        r->next[p] = 0;
        assert(depth <= r->func->nblocks);
        r->stack[depth++] = p;
    }
}

/*
 * What stands for the way out of an endless loop that ends with block `last`, so that lanes that
 * part in an iteration meet in that iteration: its last block if every iteration ends there, else
 * the header.
 */
static uint32_t dom_way_out(const struct reverse *r, uint32_t last)
{
    uint32_t header = dom_way_on(r, r->func->blocks[last]);

    assert(header != NONE && header <= last); /* the last block has no way on but back */
    for (uint32_t p = 0; p < r->func->blocks[header]->npreds; p++) {
        uint32_t from = r->func->blocks[header]->preds[p]->id;
        if (from >= header && from != last)
            return header;
    }
    return last;
}

static bool dom_reverse_number(struct reverse *r, struct hd_arena *arena)
{
    uint32_t n = r->func->nblocks, at = n + 1;

    r->number = hd_arena_array(arena, uint32_t, n + 1);
    r->order = hd_arena_array(arena, uint32_t, n + 1);
    r->stack = hd_arena_array(arena, uint32_t, n + 1);
    r->next = hd_arena_array(arena, uint32_t, n + 1);
    r->root = hd_arena_array(arena, bool, n + 1);
    if (!r->number || !r->order || !r->stack || !r->next || !r->root)
        return false;
    for (uint32_t i = 0; i < n; i++)
        r->number[i] = NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (dom_way_on(r, r->func->blocks[i]) != NONE)
            continue;
        r->root[i] = true;
        if (r->number[i] == NONE)
            dom_reverse_walk(r, i, &at);
    }
    for (uint32_t i = n; i-- > 0;) {
        if (r->number[i] != NONE)
            continue;
        uint32_t out = dom_way_out(r, i);
        r->root[out] = true;
        dom_reverse_walk(r, out, &at);
    }
    assert(at == 1); /* every block got a number */
    r->order[0] = NONE;
    for (uint32_t i = 1; i <= n; i++)
        r->number[r->order[i]] = i;
    return true;
}

static bool dom_reverse_edges(const struct reverse *r, struct graph *g, struct hd_arena *arena)
{
    uint32_t nedges = 0;

    g->n = r->func->nblocks + 1;
    for (uint32_t i = 0; i + 1 < g->n; i++)
        nedges += r->func->blocks[i]->nsuccs + r->root[i];
    g->edges = hd_arena_array(arena, uint32_t, nedges + 1);
    g->first = hd_arena_array(arena, uint32_t, g->n + 1);
    if (!g->edges || !g->first)
        return false;
    nedges = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const struct ir_block *block = r->func->blocks[r->order[i]];
        g->first[i] = nedges;
        for (uint32_t s = 0; s < block->nsuccs; s++)
            if (!dom_skipped(r, block->id, block->succs[s]->id))
                g->edges[nedges++] = r->number[block->succs[s]->id];
        if (r->root[block->id])
            g->edges[nedges++] = 0;
    }
    g->first[g->n] = nedges;
    return true;
}

enum hd_status ir_postdom_compute(const struct ir_func *func, ir_skip_edge *skip,
                                  const void *context, struct hd_arena *arena, struct ir_dom *out)
{
    struct reverse r = {.func = func, .skip = skip, .context = context};
    struct graph g;
    uint32_t *idom = hd_arena_array(arena, uint32_t, func->nblocks + 1);

    out->idom = hd_arena_array(arena, uint32_t, func->nblocks + 1);
    if (!idom || !out->idom || !dom_reverse_number(&r, arena) || !dom_reverse_edges(&r, &g, arena))
        return hd_error(HD_NO_MEMORY, "%s: no memory for post-dominators", func->name);
    dom_dominators(&g, idom);
    for (uint32_t i = 1; i < g.n; i++)
        out->idom[r.order[i]] = r.order[idom[i]];
    if (!dom_tree_number(out, r.order + 1, func->nblocks, func->nblocks, arena))
        return hd_error(HD_NO_MEMORY, "%s: no memory for post-dominators", func->name);
    return HD_OK;
}
