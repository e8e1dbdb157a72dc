/*
 * Is a kernel with barriers a sequence of regions that all warps of a CTA run through alike?
 *
 * A region is what a warp runs from one suspend point to the next. When control between them
 * depends only on values that are the same in every warp of the CTA, but for lanes that leave for
 * good, one function can run region after region, each in a loop over the warps (gen_cta.c). What
 * is the same in the whole CTA (analysis/alike.h) is then kept once and computed once per region.
 */
#include "analysis/alike.h"
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>

struct regions {
    struct gen *g;
    const struct ir_func *f;
    struct gen_walk walk;
    uint32_t *first_suspend; /* by block: number of its first suspend point */
    uint32_t nsuspends;
    uint64_t size, once; /* instructions of all regions together; of the kernel */
};

/* ---- the regions themselves: number 0 starts the kernel, number n + 1 follows stop number n */

/*
 * Walks through the region that starts at `in`, where stop `stop` is the next of its block. Counts
 * instructions, a block once, and the suspend points that it ends with; their numbers go to `out`,
 * if given.
 */
static uint32_t region_walk(struct regions *r, const struct ir_instr *in, uint32_t stop,
                            uint32_t *out)
{
    uint32_t nsuspends = 0;
    gen_walk_from(&r->walk, in);
    while ((in = gen_walk_next(&r->walk))) {
        if (in->op != IR_OP_BAR) {
            r->size++;
            continue;
        }
        if (out)
            out[nsuspends] = r->walk.nblocks ? r->first_suspend[in->block->id] : stop;
        nsuspends++;
    }
    return nsuspends;
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
    assert(n == r->nsuspends + 1);
}

static void suspends_number(struct regions *r)
{
    for (uint32_t b = 0; b < r->f->nblocks; b++) {
        r->first_suspend[b] = r->nsuspends;
        ir_foreach_instr(in, r->f->blocks[b]) {
            r->nsuspends += in->op == IR_OP_BAR;
            r->once++;
        }
    }
}

/* Code between suspend points is generated once per suspend point that it can follow: is that
 * little? */
static enum hd_status regions_list(struct regions *r, bool *out_small)
{
    struct hd_arena *arena = &r->g->unit->arena; /* the entry points read them */
    struct gen_regions *next = &r->g->body.regions;

    suspends_number(r);
    next->first = hd_arena_array(arena, uint32_t, r->nsuspends + 2);
    next->to = NULL;
    HD_TRY(hd_arena_status(arena));
    regions_walk(r, next);
    *out_small = r->size <= 3 * r->once + 1000;
    if (!*out_small)
        return HD_OK;
    next->to = hd_arena_array(arena, uint32_t, next->first[r->nsuspends + 1] + 1);
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
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            if (op_forbids(in))
                return HD_OK;
    }
    struct ir_alike alike;
    HD_TRY(ir_alike_compute(f, &g->shapes, jit_launch_facts(g->unit->cls), &g->arena, &alike));
    g->cta_uniform = alike.same;
    g->cta_base = alike.bases;
    struct regions r = {.g = g, .f = f};
    r.first_suspend = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    g->cta_at = hd_arena_array(&g->arena, uint64_t, f->nvalues + 1);
    if (!gen_walk_init(g, &r.walk))
        return HD_NO_MEMORY;
    HD_TRY(hd_arena_status(&g->arena));
    if (alike.stops)
        HD_TRY(regions_list(&r, &g->body.by_region));
    if (g->body.by_region) {
        gen_fired(g, GEN_PASS_REGIONS);
        HD_TRY(gen_order_find(g, r.nsuspends));
    }
    g->body.leaves_early = g->body.by_region && alike.leaves_early;
    return HD_OK;
}
