/*
 * Code for pairs of warps.
 *
 * A warp is two vectors of 16 lanes: two chains of operations, where a core has room for eight. So
 * kernels that compute much in few values run two warps at once: the halves of the code are whole
 * warps then, 32 lanes each, and LLVM makes two operations of every one, side by side. Nothing else
 * changes, as between barriers warps run in any order.
 *
 * What the lanes of one warp do together, and what is made out of line for 32 lanes, has no such
 * form; nor is it worth while where values fill the registers already, or where there is nothing to
 * wait for.
 */
#include "jit/gen/gen_flow.h"

#include <assert.h>

/* Fewer operations than this are through before the next warp's have to wait; in a loop each turn
 * adds to the chain. */
#define CHAIN_MIN      24
#define CHAIN_LOOP_MIN 6

bool gen_pairs_fit(const struct gen_request *req)
{
    return req->path == JIT_AVX512 && req->form == GEN_FAST && !req->strict &&
           !(req->skip >> GEN_PASS_PAIRS & 1) && ir_pairs_fit(req->kernel);
}

/* ---- is it worth while? */

/* Vector operations of a block, or of a turn of a loop; how many of them wait for each other. */
struct chain {
    uint32_t ops, depth, accesses;
    bool loops;
};

static bool is_vector_op(struct gen *g, const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_PURE) && in->op != IR_OP_CONST && in->op != IR_OP_PHI &&
           in->ndst && gen_shape(g, in->dst[0])->kind == IR_SHAPE_VARYING;
}

static struct chain chain_of(struct gen *g, const struct ir_block *b, uint32_t *depth)
{
    struct chain c = {0};
    ir_foreach_instr(in, b) {
        uint32_t before = 0;
        for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_PHI; s++) {
            const struct ir_instr *def = in->src[s]->instr;
            if (def && def->block == b)
                before = HD_MAX(before, depth[in->src[s]->id]);
        }
        before += is_vector_op(g, in);
        c.ops += is_vector_op(g, in);
        c.accesses += in->op == IR_OP_LD || in->op == IR_OP_ST;
        c.depth = HD_MAX(c.depth, before);
        for (uint32_t d = 0; d < in->ndst; d++)
            depth[in->dst[d]->id] = before;
    }
    return c;
}

static unsigned loop_depth(const struct gen *g, uint32_t block)
{
    const struct ir_loops *loops = &g->shapes.loops;
    unsigned depth = 0;
    for (uint32_t l = loops->loop_of[block]; l != IR_NO_BLOCK; l = loops->loops[l].parent)
        depth++;
    return HD_MIN(depth, 4u);
}

static void chain_add(struct chain *c, const struct chain *more)
{
    c->ops += more->ops;
    c->depth += more->depth;
    c->accesses += more->accesses;
}

/* The innermost loop, or block outside of loops, that most of the time goes to, as far as one can
 * see; false: no memory. */
static bool hottest(struct gen *g, struct chain *out)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t *depth = hd_arena_array(&g->arena, uint32_t, g->func->nvalues + 1);
    struct chain *turns = hd_arena_array(&g->arena, struct chain, loops->nloops + 1);
    uint64_t most = 0;
    for (uint32_t b = 0; depth && turns && b < g->func->nblocks; b++) {
        uint32_t loop = loops->loop_of[b];
        struct chain c = chain_of(g, g->func->blocks[b], depth);
        if (loop != IR_NO_BLOCK) {
            chain_add(&turns[loop], &c);
            c = turns[loop];
            c.loops = true;
        }
        uint64_t weight = (uint64_t)c.ops << (3 * loop_depth(g, b));
        if (weight < most)
            continue;
        most = weight;
        *out = c;
    }
    return depth && turns;
}

static bool is_long(const struct gen *g, const struct chain *c)
{
    /* Where warps are two rows, neighbours are not known for what they are. */
    if (c->accesses && g->unit->cls == IR_CLASS_X16_PAIRS)
        return false;
    bool lasts =
        c->ops >= CHAIN_MIN || (c->loops && c->ops >= CHAIN_LOOP_MIN && c->ops > 2 * c->accesses);
    return lasts && c->ops <= 3 * c->depth;
}

bool gen_pairs_wanted(struct gen *g)
{
    struct chain hot = {0};
    assert(gen_pairs(g) && g->is_kernel);
    if (g->dispatch || g->body.alive_in_memory)
        return false;
    if (g->unit->facts.has_barrier && !g->body.by_region)
        return false;
    if (g->unit->req->pairs)
        return true;
    return hottest(g, &hot) && is_long(g, &hot);
}
