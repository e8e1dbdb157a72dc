/*
 * The fixpoint. Everything starts at bottom ("never computed") and only moves up: values towards
 * VARYING, blocks towards divergent. A branch whose condition is not UNIFORM is handed to the flow
 * part, which reports joins, divergent blocks and loops back; their phis and warp operations are
 * then computed again.
 */
#include "analysis/shape_impl.h"
#include "analysis/spin.h"

#include <assert.h>

#include "base/mem.h"

#define NONE IR_NO_BLOCK

/* Moves a value up to (at least) `shape`. */
static void shape_raise(struct shape_state *s, const struct ir_value *value, struct ir_shape shape)
{
    struct ir_shape *old = &s->out->of[value->id];

    if (s->known[value->id])
        shape = shape_join(old, &shape);
    if (s->known[value->id] && shape_equal(old, &shape))
        return;
    assert(!s->known[value->id] || shape.kind >= old->kind); /* only up */
    *old = shape;
    s->known[value->id] = true;
    shape_enqueue_users(s, value->id);
}

/* ---- values */

/* Is `value` computed in a divergent loop that `block` is not part of? */
static bool shape_left_divergent_loop(const struct shape_state *s, const struct ir_value *value,
                                      const struct ir_block *block)
{
    const struct ir_loops *loops = &s->out->loops;
    uint32_t loop;

    if (!value->instr || (s->fixed[value->id] && s->out->of[value->id].kind <= IR_SHAPE_AFFINE))
        return false;
    loop = loops->loop_of[value->instr->block->id];
    for (; loop != NONE && !shape_loop_contains(loops, loop, block->id);
         loop = loops->loops[loop].parent)
        if (s->out->divergent_loop[loop])
            return true;
    return false;
}

/* The one value (other than itself) that all operands are, or NULL. */
static const struct ir_value *shape_phi_single(const struct ir_instr *phi)
{
    const struct ir_value *single = NULL;

    for (uint32_t i = 0; i < phi->nsrc; i++) {
        if (phi->src[i] == phi->dst[0] || phi->src[i] == single)
            continue;
        if (single)
            return NULL;
        single = phi->src[i];
    }
    return single;
}

/* The index of a BASE_INDEX phi must be the same one for all lanes whenever the phi is read. */
static bool shape_phi_index_ok(const struct shape_state *s, const struct ir_instr *phi,
                               const struct ir_shape *shape)
{
    const struct ir_value *index = shape->index;

    if (shape->kind != IR_SHAPE_BASE_INDEX || !index->instr)
        return true;
    return index->instr->block != phi->block &&
           ir_dominates(&s->out->dom, index->instr->block->id, phi->block->id);
}

static bool phi_shape(const struct shape_state *s, const struct ir_instr *phi, struct ir_shape *out)
{
    const struct ir_value *single = shape_phi_single(phi);
    bool any = false;

    if (s->out->divergent_join[phi->block->id] &&
        (!single || shape_left_divergent_loop(s, single, phi->block))) {
        *out = shape_varying();
        return true;
    }
    for (uint32_t i = 0; i < phi->nsrc; i++) {
        const struct ir_shape *src = &s->out->of[phi->src[i]->id];
        if (!s->known[phi->src[i]->id] || phi->src[i] == phi->dst[0])
            continue;
        *out = any ? shape_join(out, src) : *src;
        any = true;
    }
    if (any && !shape_phi_index_ok(s, phi, out))
        *out = shape_varying();
    return any;
}

/*
 * The shape a value may keep, given when it is computed and used. A fixed value that is a scalar
 * (per group) comes out the same whenever it is computed. In dispatch mode a divergent block may
 * run again for other lanes before the first ones have used its results: only fixed values keep a
 * shape there.
 */
static struct ir_shape shape_settle(const struct shape_state *s, const struct ir_value *value,
                                    struct ir_shape shape)
{
    bool fixed = s->fixed[value->id];

    if (s->out->temporal[value->id] && !(fixed && shape.kind <= IR_SHAPE_AFFINE))
        return shape_varying();
    if (s->dispatch && s->out->divergent[value->instr->block->id] && !fixed)
        return shape_varying();
    return shape;
}

static void shape_visit(struct shape_state *s, const struct ir_instr *instr)
{
    struct ir_shape shape;

    if (instr->op == IR_OP_PHI) {
        if (!phi_shape(s, instr, &shape))
            return;
        shape_raise(s, instr->dst[0], shape_settle(s, instr->dst[0], shape));
        return;
    }
    for (uint32_t i = 0; i < instr->nsrc; i++)
        if (!s->known[instr->src[i]->id])
            return;
    for (uint32_t d = 0; d < instr->ndst; d++) {
        shape = shape_transfer(s, instr, d);
        shape_raise(s, instr->dst[d], shape_settle(s, instr->dst[d], shape));
    }
}

static void shape_visit_branch(struct shape_state *s, uint32_t block)
{
    const struct ir_instr *term = s->func->blocks[block]->last;

    if ((term->op != IR_OP_CBR && term->op != IR_OP_SWITCH) || s->out->divergent_branch[block] ||
        !s->known[term->src[0]->id] || s->out->of[term->src[0]->id].kind == IR_SHAPE_UNIFORM)
        return;
    assert(s->func->blocks[block]->nsuccs);
    s->out->divergent_branch[block] = true;
    shape_flow_branch(s, block);
}

static void shape_run(struct shape_state *s)
{
    while (s->nwork || s->nbranches) {
        if (s->nwork) {
            struct ir_instr *instr = s->work[--s->nwork];
            s->queued[instr->dst[0]->id] = false;
            shape_visit(s, instr);
        } else {
            uint32_t block = s->branches[--s->nbranches];
            s->branch_queued[block] = false;
            shape_visit_branch(s, block);
        }
    }
}

static const char *shape_block_dispatch_reason(const struct ir_block *block)
{
    ir_foreach_instr(instr, block) {
        if (instr->op == IR_OP_BAR)
            return "barrier in divergent code";
    }
    return NULL;
}

/* Do lanes leave the loop at different times, be it only to end? */
static bool shape_lanes_leave(const struct shape_state *s, uint32_t loop)
{
    const struct ir_loop *l = &s->out->loops.loops[loop];

    for (uint32_t b = l->header; b <= l->last; b++) {
        const struct ir_block *block = s->func->blocks[b];
        for (uint32_t i = 0; s->out->divergent_branch[b] && i < block->nsuccs; i++)
            if (!shape_loop_contains(&s->out->loops, loop, block->succs[i]->id))
                return true;
    }
    return s->out->divergent_loop[loop];
}

static const char *shape_dispatch_reason(struct shape_state *s)
{
    const struct ir_loops *loops = &s->out->loops;
    bool any = false;

    for (uint32_t b = 0; b < s->func->nblocks; b++)
        any |= s->out->divergent_branch[b];
    if (any && loops->irreducible)
        return "irreducible control flow";
    for (uint32_t l = 0; l < loops->nloops; l++) {
        if (loops->loops[l].spin_suspect && shape_lanes_leave(s, l)) {
            if (!shape_rejoins(s, l))
                return "loop that may wait for another lane";
            s->out->rejoins = true;
        }
        s->out->waits |= loops->loops[l].spin_suspect;
    }
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        const char *reason =
            s->out->divergent[b] ? shape_block_dispatch_reason(s->func->blocks[b]) : NULL;
        if (reason)
            return reason;
    }
    return NULL;
}

/* All living lanes of the CTA meet here, and go on together. */
static bool shape_block_reconverges(const struct shape_state *s, uint32_t block)
{
    if (s->classic[block])
        return false;
    ir_foreach_instr(instr, s->func->blocks[block])
        if (instr->op == IR_OP_BAR && ir_bar_meets((enum ir_bar)instr->imm) && instr->nsrc < 2)
            return true;
    return false;
}

/* Everything that can run after lanes went different ways, up to the next barrier. */
static bool shape_spread_dispatch(struct shape_state *s)
{
    uint32_t n = s->func->nblocks, depth = 0;
    uint32_t *stack = hd_arena_array(&s->tmp, uint32_t, n);
    bool *seen = hd_arena_array(&s->tmp, bool, n);
    bool grew = false;

    if (!stack || !seen)
        return false;
    for (uint32_t b = 0; b < n; b++) {
        if (!s->out->divergent_branch[b] && s->func->is_kernel)
            continue;
        if (!seen[b])
            stack[depth++] = b;
        while (depth) {
            const struct ir_block *block = s->func->blocks[stack[--depth]];
            for (uint32_t i = 0; i < block->nsuccs; i++) {
                uint32_t to = block->succs[i]->id;
                if (seen[to])
                    continue;
                seen[to] = true;
                grew |= !s->out->divergent[to];
                s->out->divergent[to] = true;
                shape_requeue_block(s, to, false);
                if (!shape_block_reconverges(s, to))
                    stack[depth++] = to;
            }
        }
    }
    for (uint32_t b = 0; b < n; b++)
        if (s->out->divergent[b] && s->func->blocks[b]->npreds > 1)
            s->out->divergent_join[b] = true;
    return grew;
}

static void shape_enter_dispatch(struct shape_state *s)
{
    assert(!s->dispatch && s->out->dispatch_reason);
    s->dispatch = true;
    s->out->needs_dispatch = true;
    for (uint32_t b = 0; b < s->func->nblocks; b++)
        if (s->out->divergent[b])
            shape_requeue_block(s, b, false);
    do {
        shape_run(s);
    } while (shape_spread_dispatch(s));
    shape_run(s);
}

/* ---- set-up */

static bool shape_instr_is_fixed(const struct shape_state *s, const struct ir_instr *instr)
{
    if (instr->op == IR_OP_SREG)
        return ir_sreg_scope((enum ir_sreg)instr->imm) != IR_SREG_VOLATILE;
    if (instr->op == IR_OP_PHI)
        return false;
    if (instr->op == IR_OP_LD && instr->mem.space != IR_SPACE_PARAM &&
        instr->mem.space != IR_SPACE_CONST)
        return false;
    if (instr->op != IR_OP_LD && !ir_op_has(instr->op, IR_F_PURE))
        return false;
    for (uint32_t i = 0; i < instr->nsrc; i++)
        if (!s->fixed[instr->src[i]->id])
            return false;
    return true;
}

/* Layout is a reverse postorder, so sources come first (phis are never fixed). */
static void shape_find_fixed(struct shape_state *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++)
        ir_foreach_instr(instr, s->func->blocks[b])
            for (uint32_t d = 0; d < instr->ndst; d++)
                s->fixed[instr->dst[d]->id] = shape_instr_is_fixed(s, instr);
}

static bool shape_state_init(struct shape_state *s)
{
    size_t n = (size_t)s->func->nvalues + 1;

    s->out->of = hd_arena_array(s->arena, struct ir_shape, n);
    s->out->temporal = hd_arena_array(s->arena, bool, n);
    s->known = hd_arena_array(&s->tmp, bool, n);
    s->fixed = hd_arena_array(&s->tmp, bool, n);
    s->queued = hd_arena_array(&s->tmp, bool, n);
    s->work = hd_arena_array(&s->tmp, struct ir_instr *, n);
    if (!s->out->of || !s->out->temporal || !s->known || !s->fixed || !s->queued || !s->work)
        return false;
    return ir_uses_compute(s->func, &s->tmp, &s->uses) == HD_OK && shape_flow_init(s);
}

/* The lanes that call a device function may be any subset, and their arguments anything. */
static void shape_assume_caller(struct shape_state *s)
{
    for (uint32_t i = 0; i < s->func->proto.nparams; i++)
        shape_raise(s, s->func->args[i], shape_varying());
    for (uint32_t b = 0; !s->func->is_kernel && b < s->func->nblocks; b++)
        s->out->divergent[b] = s->classic[b] = true;
}

static void shape_seed(struct shape_state *s)
{
    /* Backwards, because the work list is a stack: first in, last out. */
    for (uint32_t b = s->func->nblocks; b-- > 0;)
        for (struct ir_instr *instr = s->func->blocks[b]->last; instr; instr = instr->prev)
            if (instr->ndst)
                shape_enqueue(s, instr);
}

static void shape_finish(struct shape_state *s)
{
    struct ir_shapes *out = s->out;

    assert(!s->nwork && !s->nbranches); /* a fixpoint */
    for (uint32_t v = 0; v < s->func->nvalues; v++)
        if (!s->known[v])
            out->of[v] = shape_varying();
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        const struct ir_block *block = s->func->blocks[b];
        bool away = out->divergent[b] || out->divergent_branch[b];
        if (out->divergent[b] && !block->nsuccs)
            out->exits_diverge = true;
        for (uint32_t i = 0; away && i < block->nsuccs; i++) {
            uint32_t to = block->succs[i]->id;
            if (!out->exit_only[to])
                continue;
            out->divergent[to] = true;
            out->exits_diverge = true;
        }
    }
}

static enum hd_status shape_compute(struct shape_state *s, const char *asked)
{
    HD_TRY(ir_dom_compute(s->func, s->arena, &s->out->dom));
    HD_TRY(ir_loops_compute(s->func, &s->out->dom, s->arena, &s->out->loops));
    ir_loops_mark_spins(s->func, s->arena, &s->out->loops);
    if (!shape_state_init(s))
        return hd_error(HD_NO_MEMORY, "%s: no memory for shapes", s->func->name);
    shape_find_fixed(s);
    shape_assume_caller(s);
    shape_seed(s);
    shape_run(s);
    s->out->dispatch_reason = asked ? asked : shape_dispatch_reason(s);
    if (s->out->dispatch_reason)
        shape_enter_dispatch(s);
    shape_finish(s);
    HD_TRY(hd_arena_status(&s->tmp));
    return hd_arena_status(s->arena);
}

static enum hd_status shapes_compute(const struct ir_func *func, struct ir_launch_facts launch,
                                     const char *asked, struct hd_arena *arena,
                                     struct ir_shapes *out)
{
    struct shape_state s = {.func = func, .launch = launch, .arena = arena, .out = out};
    enum hd_status status;

    *out = (struct ir_shapes){0};
    hd_arena_init(&s.tmp);
    status = shape_compute(&s, asked);
    hd_arena_fini(&s.tmp);
    return status;
}

enum hd_status ir_shapes_compute(const struct ir_func *func, struct ir_launch_facts launch,
                                 struct hd_arena *arena, struct ir_shapes *out)
{
    return shapes_compute(func, launch, NULL, arena, out);
}

enum hd_status ir_shapes_compute_dispatch(const struct ir_func *func, struct ir_launch_facts launch,
                                          struct hd_arena *arena, struct ir_shapes *out)
{
    return shapes_compute(func, launch, "asked for", arena, out);
}
