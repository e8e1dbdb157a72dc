/*
 * The order of blocks, so that few jumps are executed: a block that ends with a jump needs none to
 * what comes next, and one that ends with a branch and a jump needs the branch alone where one of
 * both sides comes next. Edges are taken in the order of how many jumps they save, then of how
 * often control goes there; each puts the end of one chain of blocks and the start of another
 * together (after Pettis and Hansen, "Profile Guided Code Positioning", PLDI 1990). Chains follow as their
 * first blocks did; those that never ran, by a profile, are the last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

struct edge {
    uint32_t from, to;      /* blocks */
    uint64_t saves, weight; /* jumps; how often control goes there */
    bool is_jump, was_next;
};

struct chain {
    uint32_t first; /* of its blocks */
    bool ran;
};

struct layout {
    struct mc_func *f;
    struct edge *edges;
    uint32_t nedges;
    uint32_t *npreds;
    uint32_t *next, *head; /* by block: + 1; the first of its chain */
    struct chain *chains;
    uint32_t nchains;
};

static uint64_t frequency(const struct mc_func *f, const struct mc_block *b)
{
    return f->count_most ? b->count : mc_block_weight(f, b);
}

/* Of as many jumps those that are no branch: a branch has another side that may come next. */
static int by_gain(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;

    if (a->saves != b->saves)
        return a->saves > b->saves ? -1 : 1;
    if (a->saves && a->is_jump != b->is_jump)
        return a->is_jump ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->was_next != b->was_next)
        return a->was_next ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int by_chain(const void *x, const void *y)
{
    const struct chain *a = x, *b = y;

    if (a->ran != b->ran)
        return a->ran ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The edges out of a block; how often control goes there, as far as counts of blocks tell. */
static void add_edges(struct layout *l, uint32_t at)
{
    const struct mc_func *f = l->f;
    const struct mc_block *b = f->blocks.at[at];
    struct edge *first = &l->edges[l->nedges];
    uint64_t count = frequency(f, b);
    uint32_t n = 0;

    for (size_t i = 0; i < b->insns.len; i++) {
        const struct mc_insn *insn = &b->insns.at[i];

        if (insn->isa.op != ISA_BRA || !insn->target)
            continue;
        first[n].from = at;
        first[n].saves = 0;
        first[n].is_jump = false;
        first[n].to = mc_through(f, insn->target)->id;
        first[n].was_next = first[n].to == at + 1;
        n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t others = 0;

        for (uint32_t k = 0; k < n; k++)
            if (k != i && l->npreds[first[k].to] == 1)
                others += frequency(f, f->blocks.at[first[k].to]);
        first[i].weight = HD_MIN(count, frequency(f, f->blocks.at[first[i].to]));
        if (others)
            first[i].weight = HD_MIN(first[i].weight, count - HD_MIN(others, count));
    }
    for (uint32_t i = 0; i < n && mc_is_jump(&hd_vec_last(&b->insns)); i++) {
        first[i].saves = n == 2 ? HD_MIN(first[0].weight, first[1].weight) : first[i].weight;
        first[i].is_jump = n == 1;
    }
    l->nedges += n;
}

/* mc_number() was called. */
enum hd_status layout(struct mc_func *f)
{
    struct layout l = {.f = f};
    uint32_t n = (uint32_t)f->blocks.len, branches = 0, at = 0;
    struct mc_block **order = hd_arena_array(&f->arena, struct mc_block *, n);

    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++)
            branches += f->blocks.at[i]->insns.at[k].isa.op == ISA_BRA;
    l.edges = hd_arena_array(&f->arena, struct edge, branches + 1);
    l.npreds = hd_arena_array(&f->arena, uint32_t, n);
    l.next = hd_arena_array(&f->arena, uint32_t, n);
    l.head = hd_arena_array(&f->arena, uint32_t, n);
    l.chains = hd_arena_array(&f->arena, struct chain, n);
    if (!order || !l.edges || !l.npreds || !l.next || !l.head || !l.chains)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    memset(l.npreds, 0, n * sizeof(*l.npreds));
    memset(l.next, 0, n * sizeof(*l.next));
    for (uint32_t i = 0; i < n; i++) {
        l.head[i] = i;
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++) {
            const struct mc_insn *insn = &f->blocks.at[i]->insns.at[k];

            if (insn->isa.op == ISA_BRA && insn->target)
                l.npreds[mc_through(f, insn->target)->id]++;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        add_edges(&l, i);
    qsort(l.edges, l.nedges, sizeof(*l.edges), by_gain);
    for (uint32_t i = 0; i < l.nedges; i++) {
        uint32_t from = l.edges[i].from, to = l.edges[i].to;

        if (!to || l.next[from] || l.head[to] != to || l.head[from] == to)
            continue; /* something else is there already */
        l.next[from] = to + 1;
        for (uint32_t b = to + 1; b; b = l.next[b - 1])
            l.head[b - 1] = l.head[from];
    }
    for (uint32_t i = 0; i < n; i++) {
        bool ran = !f->count_most || !i;

        if (l.head[i] != i)
            continue;
        for (uint32_t b = i + 1; b && !ran; b = l.next[b - 1])
            ran = f->blocks.at[b - 1]->count != 0;
        l.chains[l.nchains++] = (struct chain){i, ran};
    }
    qsort(l.chains, l.nchains, sizeof(*l.chains), by_chain);
    for (uint32_t c = 0; c < l.nchains; c++)
        for (uint32_t b = l.chains[c].first + 1; b; b = l.next[b - 1])
            order[at++] = f->blocks.at[b - 1];
    assert(at == n && order[0] == f->blocks.at[0]);
    memcpy(f->blocks.at, order, n * sizeof(struct mc_block *));
    mc_number(f);
    return HD_OK;
}
