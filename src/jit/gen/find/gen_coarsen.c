/*
 * Warp coarsening: code for several warps at once; and half-warp mode: for half of one.
 *
 * A warp is two vectors of 16 lanes: two chains of operations, where a core has room for eight. So
 * kernels that compute much in few values run two warps at once: each value has a vector for each
 * half of each of them, and LLVM gets their operations side by side. Nothing else changes, as
 * between barriers warps run in any order. What is the same in all of them, a row of a tile that
 * every row of threads reads, is loaded once: kernels that read such run four.
 *
 * What the lanes of one warp do together, and what is made out of line for 32 lanes, has no such
 * form; nor is it worth while where values fill the registers already, or where there is nothing to
 * wait for.
 *
 * Kernels with a tile of sums for each thread have more than enough to do side by side, and more
 * values than registers: they run one half of a warp after the other (docs/decisions/0116).
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

/* Fewer operations than this are through before the next warp's have to wait; in a loop each
 * iteration adds to the chain. */
#define CHAIN_MIN      24
#define CHAIN_LOOP_MIN 6

/* Vectors that can be live at once, leaving some registers for what comes from memory. */
#define LIVE_MAX 26

/* Where a chain is long a few more may be kept in memory meanwhile. */
#define SPILL_MAX 52

static bool coarsen_allows(const struct gen_request *req, enum gen_pass pass)
{
    return req->path == JIT_AVX512 && req->form == GEN_FAST && !req->strict &&
           !(req->skip >> pass & 1) && !req->kernel->module->runs_apart;
}

bool gen_coarsen_fits(const struct gen_request *req)
{
    return coarsen_allows(req, GEN_PASS_COARSEN) && jit_warps_fit(req->kernel);
}

bool gen_halves_fit(const struct gen_request *req, enum jit_launch_class cls)
{
    return jit_launch_class_is_full(cls) && jit_launch_class_warps(cls) == 1 && !req->whole &&
           coarsen_allows(req, GEN_PASS_HALVES) && jit_halves_fit(req->kernel);
}

/* ---- what most of the time goes to */

/* Vector operations of a block or of a loop's iteration; how many of them wait for each other. */
struct chain {
    uint32_t ops, depth, accesses;
    uint32_t shared; /* loads of what other warps load as well */
    bool loops;
    const struct ir_block *block; /* that has most of them */
};

/* While the hottest chain is looked for; by id. */
struct search {
    struct gen *g;
    uint32_t *depth;          /* of a value */
    bool *alike;              /* is a value the same in every warp? */
    struct chain *iterations; /* by loop */
};

static bool coarsen_is_vector_op(struct gen *g, const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_PURE) && in->op != IR_OP_CONST && in->op != IR_OP_PHI &&
           in->ndst && gen_shape(g, in->dst[0])->kind == IR_SHAPE_VARYING;
}

/* In blocks that are a warp wide, or half a warp, tid.x is the lane. */
static bool coarsen_is_alike(const struct search *s, const struct ir_instr *in)
{
    bool rows = jit_launch_class_single(s->g->unit->cls) != JIT_CLASS_1D_FULL;
    if (gen_shape(s->g, in->dst[0])->kind == IR_SHAPE_UNIFORM)
        return true;
    if (in->op == IR_OP_SREG)
        return rows && in->imm == IR_SREG_TID_X;
    if (!ir_op_has(in->op, IR_F_PURE) && in->op != IR_OP_PHI)
        return false;
    for (uint32_t i = 0; i < in->nsrc; i++) {
        if (!s->alike[in->src[i]->id])
            return false;
    }
    return true;
}

/* Everything is taken for alike until it turns out not to be. */
static void coarsen_alike_find(struct search *s)
{
    const struct ir_func *f = s->g->func;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < f->nblocks; b++) {
            ir_foreach_instr(in, f->blocks[b]) {
                for (uint32_t d = 0; d < in->ndst; d++) {
                    bool *alike = &s->alike[in->dst[d]->id];
                    changed |= *alike && !coarsen_is_alike(s, in);
                    *alike &= coarsen_is_alike(s, in);
                }
            }
        }
    }
}

static struct chain coarsen_chain_of(struct search *s, const struct ir_block *b)
{
    struct chain c = {.block = b};
    ir_foreach_instr(in, b) {
        uint32_t before = 0;
        bool is_op = coarsen_is_vector_op(s->g, in);
        for (uint32_t i = 0; i < in->nsrc && in->op != IR_OP_PHI; i++) {
            const struct ir_instr *def = in->src[i]->instr;
            if (def && def->block == b)
                before = HD_MAX(before, s->depth[in->src[i]->id]);
        }
        before += is_op;
        c.ops += is_op;
        c.accesses += in->op == IR_OP_LD || in->op == IR_OP_ST;
        c.shared += in->op == IR_OP_LD && s->alike[in->src[0]->id] &&
                    gen_shape(s->g, in->dst[0])->kind == IR_SHAPE_VARYING;
        c.depth = HD_MAX(c.depth, before);
        for (uint32_t d = 0; d < in->ndst; d++)
            s->depth[in->dst[d]->id] = before;
    }
    return c;
}

static unsigned coarsen_loop_depth(const struct gen *g, uint32_t block)
{
    const struct ir_loops *loops = &g->shapes.loops;
    unsigned depth = 0;
    for (uint32_t l = loops->loop_of[block]; l != IR_NO_BLOCK; l = loops->loops[l].parent)
        depth++;
    return HD_MIN(depth, 4u);
}

static void coarsen_chain_add(struct chain *c, const struct chain *more, uint32_t ops_of_block)
{
    if (!c->block || more->ops > ops_of_block)
        c->block = more->block;
    c->ops += more->ops;
    c->depth += more->depth;
    c->accesses += more->accesses;
    c->shared += more->shared;
}

static bool coarsen_search_init(struct gen *g, struct search *s)
{
    uint32_t n = g->func->nvalues + 1;
    *s = (struct search){.g = g,
                         .depth = hd_arena_array(&g->arena, uint32_t, n),
                         .alike = hd_arena_array(&g->arena, bool, n),
                         .iterations =
                             hd_arena_array(&g->arena, struct chain, g->shapes.loops.nloops + 1)};
    if (!s->depth || !s->alike || !s->iterations)
        return false;
    for (uint32_t i = 0; i < n; i++)
        s->alike[i] = true;
    return true;
}

/* The innermost loop, or block outside of loops, that most of the time goes to, as far as one can
 * see; false: no memory. */
static bool coarsen_hottest(struct gen *g, struct chain *out)
{
    struct search s;
    uint64_t most = 0;
    if (!coarsen_search_init(g, &s))
        return false;
    coarsen_alike_find(&s);
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        uint32_t loop = g->shapes.loops.loop_of[b];
        struct chain c = coarsen_chain_of(&s, g->func->blocks[b]);
        if (loop != IR_NO_BLOCK) {
            coarsen_chain_add(&s.iterations[loop], &c, s.iterations[loop].ops / 2);
            c = s.iterations[loop];
            c.loops = true;
        }
        uint64_t weight = (uint64_t)c.ops << (3 * coarsen_loop_depth(g, b));
        if (weight < most)
            continue;
        most = weight;
        *out = c;
    }
    return true;
}

/* ---- is it worth while? */

/* Is there little to do side by side? */
static bool coarsen_is_chain(const struct chain *c)
{
    return c->ops <= 3 * c->depth;
}

static bool coarsen_is_long(const struct chain *c)
{
    bool lasts =
        c->ops >= CHAIN_MIN || (c->loops && c->ops >= CHAIN_LOOP_MIN && c->ops > 2 * c->accesses);
    return lasts && coarsen_is_chain(c);
}

/* Is a good part of what is read the same in all warps, and computed with? */
static bool coarsen_shares(const struct chain *c)
{
    return c->loops && 4 * c->shared >= c->accesses && c->shared && c->ops >= c->shared;
}

/* A value that a register holds: what is loaded is an operand in memory, as a rule. */
static bool coarsen_is_held(struct gen *g, const struct ir_value *v)
{
    return v->instr && v->instr->op != IR_OP_LD && v->instr->op != IR_OP_CONST &&
           gen_shape(g, v)->kind == IR_SHAPE_VARYING;
}

/* The registers that a half of it fills: 0 when it is no such value. */
static unsigned coarsen_registers(struct gen *g, const struct ir_value *v)
{
    return !coarsen_is_held(g, v) ? 0 : ir_type_bits(v->type) == 64 ? 2 : 1;
}

static uint32_t coarsen_ops_of(struct gen *g, const struct ir_block *b)
{
    uint32_t n = 0;
    ir_foreach_instr(in, b)
        n += coarsen_is_vector_op(g, in);
    return n;
}

static void coarsen_uses_mark(const struct ir_block *b, bool *used)
{
    ir_foreach_instr(in, b) {
        for (uint32_t s = 0; s < in->nsrc; s++)
            used[in->src[s]->id] = true;
        for (uint32_t d = 0; d < in->ndst; d++)
            used[in->dst[d]->id] = true;
    }
}

/* What the block needs, and those of its loop that compute an eighth as much: what only lives
 * through them is out of the way in memory meanwhile. */
static void coarsen_needed_find(struct gen *g, const struct ir_block *b, bool *needed)
{
    const uint32_t *loop_of = g->shapes.loops.loop_of;
    uint32_t ops = coarsen_ops_of(g, b);
    coarsen_uses_mark(b, needed);
    for (uint32_t i = 0; i < g->func->nblocks; i++) {
        if (loop_of[i] == loop_of[b->id] && 8 * coarsen_ops_of(g, g->func->blocks[i]) >= ops)
            coarsen_uses_mark(g->func->blocks[i], needed);
    }
}

/* The registers that are live after `n`, of which are needed. */
struct pressure {
    struct gen *g;
    const bool *needed;
    bool *live;
    unsigned n, most;
};

static void coarsen_pressure_set(struct pressure *p, const struct ir_value *v, bool live)
{
    unsigned n = p->needed[v->id] && p->live[v->id] != live ? coarsen_registers(p->g, v) : 0;
    p->n = live ? p->n + n : p->n - n;
    p->live[v->id] = live;
    p->most = HD_MAX(p->most, p->n);
}

static void coarsen_live_at_end(struct pressure *p, const struct ir_block *b)
{
    struct ir_live_set out = ir_live_out(&p->g->live, b->id);
    bool *live = p->live;
    for (uint32_t i = 0; i < out.n; i++)
        live[out.ids[i]] = true;
    for (uint32_t i = 0; i < p->g->func->nblocks; i++) {
        ir_foreach_instr(in, p->g->func->blocks[i]) {
            for (uint32_t d = 0; d < in->ndst; d++)
                p->n += live[in->dst[d]->id] && p->needed[in->dst[d]->id]
                            ? coarsen_registers(p->g, in->dst[d])
                            : 0;
        }
    }
    p->most = p->n;
}

/* How many registers values of a half fill at most, in the block. */
static unsigned coarsen_live_at_most(struct gen *g, const struct ir_block *b)
{
    bool *live = hd_arena_array(&g->arena, bool, g->func->nvalues + 1);
    bool *needed = hd_arena_array(&g->arena, bool, g->func->nvalues + 1);
    struct pressure p = {.g = g, .needed = needed, .live = live};
    if (!live || !needed)
        return GEN_HALVES * LIVE_MAX;
    coarsen_needed_find(g, b, needed);
    coarsen_live_at_end(&p, b);
    for (const struct ir_instr *in = b->last; in; in = in->prev) {
        for (uint32_t d = 0; d < in->ndst; d++)
            coarsen_pressure_set(&p, in->dst[d], false);
        for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_PHI; s++)
            coarsen_pressure_set(&p, in->src[s], true);
    }
    return p.most;
}

/* Is there more to keep of a warp than registers, where much is computed with what is kept, but not
 * of half a warp? Half of a warp whose operations wait for each other would leave the core with
 * nothing else to do. */
static bool coarsen_spills(const struct chain *c, unsigned live)
{
    return c->loops && c->ops > 2 * c->accesses && 2 * live > LIVE_MAX && live <= LIVE_MAX &&
           !coarsen_is_chain(c);
}

bool gen_coarsen_wanted(struct gen *g)
{
    struct chain hot = {0};
    assert(!gen_is_warp(g) && g->is_kernel);
    if (g->dispatch || g->shapes.waits || g->body.alive_in_memory)
        return false;
    if (g->unit->facts.has_barrier && !g->body.by_region)
        return false;
    if (gen_is_half(g) ? g->unit->req->halves : g->unit->req->coarsen)
        return true;
    if (!coarsen_hottest(g, &hot) || !hot.block)
        return false;
    unsigned live = coarsen_live_at_most(g, hot.block);
    if (gen_is_half(g))
        return coarsen_spills(&hot, live);
    if (gen_lane_serial_pays(g, hot.block))
        return false;
    if (g->unit->halves > 4)
        return coarsen_shares(&hot) && g->unit->halves * live <= LIVE_MAX;
    return (coarsen_is_long(&hot) || coarsen_shares(&hot)) && g->unit->halves * live <= SPILL_MAX;
}
