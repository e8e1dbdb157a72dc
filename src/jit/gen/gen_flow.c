/*
 * Control flow of one function: convergent branches, the sweep over divergent blocks, dispatch
 * mode,
 * and the points where a warp stops and resumes.
 *
 * Structured mode. A node is a block. A convergent node runs with all living lanes and branches for
 * real. A branch that sends lanes different ways adds them to the pending masks of its targets and
 * control sweeps the divergent nodes in layout order (RPO, loops contiguous): each tests its mask,
 * runs, and falls to the next; the last node of a loop goes back while the header has lanes
 * pending.
 * After the last node of the region control is at `conv`, the nearest convergent post-dominator.
 *
 * Dispatch mode (irreducible flow, spin loops that lanes leave separately, barriers in divergent
 * code). Every node is divergent and the sweep covers the whole layout, again and again, until no
 * lane is pending: that is cyclic dispatch, so lanes that wait for each other make progress. Nodes
 * are split at barriers (lanes are parked until it opens) and before warp operations with a member
 * mask (they wait for the members). Values live in frame memory, so the warp may stop anywhere.
 */
#include "jit/gen/gen_flow.h"

#include <string.h>

/* ---- masks */

LLVMValueRef gen_bits16(struct gen *g, LLVMValueRef mask)
{
    return LLVMBuildBitCast(g->b, mask, g->t_i16, "");
}

static LLVMValueRef mask_from_bits(struct gen *g, LLVMValueRef bits)
{
    return LLVMBuildBitCast(g->b, bits, g->t_mask, "");
}

LLVMValueRef gen_mask_or_full(struct gen *g, int h)
{
    return g->mask[h] ? g->mask[h] : gen_splat_const(g, g->t_i1, 1);
}

LLVMValueRef gen_mask_bits(struct gen *g, int h)
{
    return g->mask[h] ? gen_bits16(g, g->mask[h]) : gen_ci(g->t_i16, 0xffff);
}

LLVMValueRef gen_mask32(struct gen *g)
{
    LLVMValueRef lo = LLVMBuildZExt(g->b, gen_mask_bits(g, 0), g->t_i32, "");
    LLVMValueRef hi = LLVMBuildZExt(g->b, gen_mask_bits(g, 1), g->t_i32, "");
    hi = LLVMBuildShl(g->b, hi, gen_i32(g, 16), "");
    return LLVMBuildOr(g->b, lo, hi, "");
}

static LLVMValueRef bits_load(struct gen *g, LLVMValueRef slot)
{
    return LLVMBuildLoad2(g->b, g->t_i16, slot, "");
}

static LLVMValueRef any_bits(struct gen *g, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMValueRef any = LLVMBuildOr(g->b, lo, hi, "");
    return LLVMBuildICmp(g->b, LLVMIntNE, any, gen_ci(g->t_i16, 0), "");
}

static void mask_set_alive(struct gen *g)
{
    for (int h = 0; h < 2; h++)
        g->mask[h] = g->alive_known_full ? NULL : mask_from_bits(g, bits_load(g, g->alive[h]));
}

void gen_refresh_mask(struct gen *g)
{
    if (g->alive_known_full)
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef alive = mask_from_bits(g, bits_load(g, g->alive[h]));
        g->mask[h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], alive, "") : alive;
    }
}

/* ---- stopping */

static LLVMValueRef new_resume(struct gen *g, LLVMBasicBlockRef target, enum jit_stop stop)
{
    uint32_t state = (++g->nresume << 2) | stop;
    LLVMAddCase(g->state_switch, gen_i32(g, state), target);
    return gen_i32(g, state);
}

static void alive_publish(struct gen *g)
{
    if (g->alive_known_full || g->alive_in_memory)
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, alive) + 2u * (unsigned)h);
        LLVMBuildStore(g->b, bits_load(g, g->alive[h]), at);
    }
}

static void stop_return(struct gen *g, LLVMValueRef state)
{
    alive_publish(g);
    LLVMBuildRet(g->b, state);
}

static void live_add(uint64_t *set, uint32_t id)
{
    set[id / 64] |= 1ull << (id % 64);
}

/* Values needed after `instr`: live out of the block, read later in it, and indices of those that
 * have one. */
static uint64_t *live_after(struct gen *g, const struct ir_instr *instr)
{
    uint32_t words = g->live.words;
    uint64_t *set = hd_arena_array(&g->arena, uint64_t, words);
    if (!set)
        return NULL;
    memcpy(set, g->live.live_out + (size_t)instr->block->id * words, words * sizeof(*set));
    for (const struct ir_instr *in = instr->next; in; in = in->next) {
        for (uint32_t s = 0; s < in->nsrc; s++)
            live_add(set, in->src[s]->id);
    }
    for (const struct ir_instr *in = instr->next; in; in = in->next) {
        for (uint32_t d = 0; d < in->ndst; d++)
            set[in->dst[d]->id / 64] &= ~(1ull << (in->dst[d]->id % 64));
    }
    return set;
}

static uint64_t frame_slot(struct gen *g, const struct ir_value *v)
{
    if (!g->frame_at[v->id]) {
        uint64_t bits = ir_type_bits(v->type);
        bool vec = gen_shape(g, v)->kind == IR_SHAPE_VARYING;
        uint64_t one = vec ? (v->type == IR_PRED ? 2 : bits * 2) : 8 * ((bits + 63) / 64);
        g->frame_at[v->id] = 1 + gen_frame_alloc(g, one * 2, one > 64 ? 64 : one);
    }
    return g->frame_at[v->id] - 1;
}

static uint64_t component_stride(struct gen *g, const struct ir_value *v)
{
    uint64_t bits = ir_type_bits(v->type);
    if (gen_shape(g, v)->kind == IR_SHAPE_VARYING)
        return v->type == IR_PRED ? 2 : bits * 2;
    return 8 * ((bits + 63) / 64);
}

static void value_save(struct gen *g, const struct ir_value *v)
{
    struct gen_val val = gen_get_raw(g, v);
    uint64_t at = frame_slot(g, v);
    for (unsigned i = 0; i < gen_components(gen_shape(g, v)); i++) {
        LLVMValueRef x = val.c[i];
        if (LLVMTypeOf(x) == g->t_mask)
            x = gen_bits16(g, x);
        LLVMBuildStore(g->b, x, gen_gep(g, g->frame, at + i * component_stride(g, v)));
    }
}

static void value_restore(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
    uint64_t at = frame_slot(g, v);
    for (unsigned i = 0; i < gen_components(shape); i++) {
        LLVMValueRef ptr = gen_gep(g, g->frame, at + i * component_stride(g, v));
        LLVMValueRef x = LLVMBuildLoad2(g->b, gen_component_type(g, v), ptr, "");
        if (g->slots[v->id].ptr[i])
            LLVMBuildStore(g->b, x, g->slots[v->id].ptr[i]);
        if (v->type == IR_PRED && shape->kind == IR_SHAPE_VARYING)
            x = mask_from_bits(g, x);
        val.c[i] = x;
    }
    g->cache[v->id] = val;
    g->cache_epoch[v->id] = g->epoch;
}

static const struct ir_value **values_by_id(struct gen *g)
{
    const struct ir_func *f = g->func;
    const struct ir_value **map = hd_arena_array(&g->arena, const struct ir_value *, f->nvalues);
    if (!map)
        return NULL;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++)
                map[in->dst[d]->id] = in->dst[d];
        }
    }
    return map;
}

/* Lanes on their way to the end of the kernel may be pending across a stop. */
static void pending_exits(struct gen *g, bool save)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        if (!node->divergent || node->exit_only || node->conv != IR_NO_BLOCK)
            continue;
        if (!node->frame_pend)
            node->frame_pend = 1 + gen_frame_alloc(g, 4, 4);
        for (int h = 0; h < 2; h++) {
            LLVMValueRef at = gen_gep(g, g->frame, node->frame_pend - 1 + 2u * (unsigned)h);
            if (save)
                LLVMBuildStore(g->b, bits_load(g, node->pend[h]), at);
            else
                LLVMBuildStore(g->b, bits_load(g, at), node->pend[h]);
        }
    }
}

/* Returns at the current point with everything live in the frame, and continues at the resume
 * point. */
static LLVMValueRef stop_here(struct gen *g, const struct ir_instr *instr, enum jit_stop stop,
                              LLVMBasicBlockRef *out_resume)
{
    uint64_t *set = live_after(g, instr);
    const struct ir_value **values = values_by_id(g);
    if (!set || !values)
        return NULL;
    for (uint32_t d = 0; d < instr->ndst; d++) /* results come after the stop */
        set[instr->dst[d]->id >> 6] &= ~(1ull << (instr->dst[d]->id & 63));
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        const struct ir_value *v = values[id];
        if (v && ir_live_test(set, id) && gen_shape(g, v)->kind == IR_SHAPE_BASE_INDEX)
            live_add(set, gen_shape(g, v)->index->id);
    }
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        if (values[id] && ir_live_test(set, id) && values[id]->instr->op != IR_OP_CONST)
            value_save(g, values[id]);
    }
    pending_exits(g, true);
    LLVMBasicBlockRef resume = gen_bb(g, "resume");
    LLVMValueRef state = new_resume(g, resume, stop);
    stop_return(g, state);
    LLVMPositionBuilderAtEnd(g->b, resume);
    g->epoch = g->epoch_next++;
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        if (values[id] && ir_live_test(set, id) && values[id]->instr->op != IR_OP_CONST)
            value_restore(g, values[id]);
    }
    pending_exits(g, false);
    mask_set_alive(g);
    *out_resume = resume;
    return state;
}

/* ---- barriers */

static LLVMValueRef barrier_field(struct gen *g, LLVMValueRef id, uint64_t member)
{
    LLVMValueRef at = LLVMBuildZExt(g->b, id, g->t_i64, "");
    at = LLVMBuildMul(g->b, at, gen_i64(g, sizeof(struct jit_barrier)), "");
    at = LLVMBuildAdd(g->b, at, gen_i64(g, offsetof(struct jit_cta, bars) + member), "");
    return LLVMBuildGEP2(g->b, g->t_i8, g->cta, &at, 1, "");
}

static LLVMValueRef popcount32(struct gen *g, LLVMValueRef x)
{
    return gen_intrinsic(g, "llvm.ctpop", &g->t_i32, 1, &x, 1);
}

static LLVMValueRef add_to(struct gen *g, LLVMValueRef ptr, LLVMValueRef x)
{
    LLVMValueRef old = LLVMBuildLoad2(g->b, g->t_i32, ptr, "");
    return LLVMBuildStore(g->b, LLVMBuildAdd(g->b, old, x, ""), ptr);
}

static bool bar_is_red(const struct ir_instr *in)
{
    return in->imm >= IR_BAR_RED_POPC;
}

/* Lanes of the current mask whose predicate holds, as a count. */
static LLVMValueRef bar_votes(struct gen *g, const struct ir_instr *in)
{
    if (!bar_is_red(in))
        return gen_i32(g, 0);
    LLVMValueRef p[2];
    gen_vector(g, in->src[in->nsrc - 1], p);
    LLVMValueRef saved[2] = {g->mask[0], g->mask[1]};
    for (int h = 0; h < 2; h++)
        g->mask[h] = LLVMBuildAnd(g->b, p[h], gen_mask_or_full(g, h), "");
    LLVMValueRef votes = popcount32(g, gen_mask32(g));
    g->mask[0] = saved[0];
    g->mask[1] = saved[1];
    return votes;
}

static void bar_result(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    if (!bar_is_red(in))
        return;
    LLVMValueRef votes = LLVMBuildLoad2(
        g->b, g->t_i32, barrier_field(g, id, offsetof(struct jit_barrier, result_votes)), "");
    LLVMValueRef all = LLVMBuildLoad2(
        g->b, g->t_i32, barrier_field(g, id, offsetof(struct jit_barrier, result_arrived)), "");
    LLVMValueRef r = votes;
    if (in->imm == IR_BAR_RED_AND)
        r = LLVMBuildICmp(g->b, LLVMIntEQ, votes, all, "");
    else if (in->imm == IR_BAR_RED_OR)
        r = LLVMBuildICmp(g->b, LLVMIntNE, votes, gen_i32(g, 0), "");
    gen_set(g, in->dst[0], gen_u(r));
}

/* Barrier number and count must be the same for all lanes that arrive together; PTX says so. */
static LLVMValueRef bar_operand(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    if (s >= in->nsrc - (bar_is_red(in) ? 1u : 0u))
        return gen_i32(g, 0);
    return gen_first_active(g, in->src[s]);
}

static LLVMValueRef bar_arrive(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    LLVMValueRef args[] = {id, bar_operand(g, in, 1), gen_mask32(g), bar_votes(g, in)};
    return gen_service(g, offsetof(struct jit_services, bar_arrive), g->t_i32, args, 4);
}

static void barrier_simple(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef zero = gen_i32(g, 0);
    if (bar_is_red(in)) {
        add_to(g, barrier_field(g, zero, offsetof(struct jit_barrier, votes)), bar_votes(g, in));
        add_to(g, barrier_field(g, zero, offsetof(struct jit_barrier, arrived)),
               popcount32(g, gen_mask32(g)));
    }
    LLVMBasicBlockRef resume;
    if (stop_here(g, in, JIT_BARRIER, &resume))
        bar_result(g, in, zero);
}

/* Counted barrier in convergent code: arrive, stop, and stop again while it has not opened. */
static void barrier_counted(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef id = bar_operand(g, in, 0);
    LLVMValueRef generation = bar_arrive(g, in, id);
    if (in->imm == IR_BAR_ARRIVE)
        return;
    uint64_t keep = gen_frame_alloc(g, 8, 8);
    LLVMBuildStore(g->b, id, gen_gep(g, g->frame, keep));
    LLVMBuildStore(g->b, generation, gen_gep(g, g->frame, keep + 4));
    LLVMBasicBlockRef resume;
    LLVMValueRef state = stop_here(g, in, JIT_BARRIER, &resume);
    if (!state)
        return;
    LLVMValueRef id2 = LLVMBuildLoad2(g->b, g->t_i32, gen_gep(g, g->frame, keep), "");
    LLVMValueRef gen2 = LLVMBuildLoad2(g->b, g->t_i32, gen_gep(g, g->frame, keep + 4), "");
    LLVMValueRef now = LLVMBuildLoad2(
        g->b, g->t_i32, barrier_field(g, id2, offsetof(struct jit_barrier, generation)), "");
    LLVMBasicBlockRef again = gen_bb(g, "bar_closed"), open = gen_bb(g, "bar_open");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, now, gen2, ""), again, open);
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMBuildRet(g->b, state);
    LLVMPositionBuilderAtEnd(g->b, open);
    bar_result(g, in, id2);
}

void gen_barrier(struct gen *g, const struct ir_instr *in)
{
    g->facts.has_barrier = true;
    if (!g->is_kernel)
        gen_unsupported(g, in, "barrier inside a function that cannot be inlined");
    else if (g->facts.simple_barriers)
        barrier_simple(g, in);
    else
        barrier_counted(g, in);
}

/* ---- edges */

static bool is_exit(struct gen *g, const struct ir_block *block)
{
    return g->nodes[g->node_of_block[block->id]].exit_only;
}

static struct gen_node *node_of(struct gen *g, const struct ir_block *block)
{
    return &g->nodes[g->node_of_block[block->id]];
}

/* Brings what the edge's phis need into the cache here, where it dominates both sides of the
 * branch. */
static void phi_sources_read(struct gen *g, const struct ir_block *to)
{
    const struct ir_block *from = g->nodes[g->cur].block;
    uint32_t pred = 0;
    while (pred < to->npreds && to->preds[pred] != from)
        pred++;
    ir_foreach_instr(phi, to) {
        if (phi->op != IR_OP_PHI || is_exit(g, to))
            break;
        const struct ir_value *v = phi->src[pred];
        (void)gen_get_raw(g, v);
        if (gen_shape(g, v)->kind == IR_SHAPE_BASE_INDEX)
            (void)gen_get_raw(g, gen_shape(g, v)->index);
    }
}

/* Only phis that merge nothing but f32 results take a NaN as it comes. */
static struct gen_val phi_source(struct gen *g, const struct ir_instr *phi, uint32_t pred)
{
    const struct ir_value *v = phi->src[pred];
    return g->nan_raw[phi->dst[0]->id] ? gen_get_raw(g, v) : gen_get(g, v);
}

/* Writes the phis of `to` for the edge from the current block: all are read before any is written.
 * */
static void edge_phis(struct gen *g, const struct ir_block *to, LLVMValueRef const edge[2])
{
    const struct ir_block *from = g->nodes[g->cur].block;
    struct gen_val vals[256];
    uint32_t n = 0;
    uint32_t pred = 0;
    while (pred < to->npreds && to->preds[pred] != from)
        pred++;
    ir_foreach_instr(phi, to) {
        if (phi->op != IR_OP_PHI)
            break;
        if (n == HD_COUNT_OF(vals)) {
            gen_unsupported(g, phi, "more than 256 phis in one block");
            break;
        }
        vals[n++] =
            gen_coerce(g, phi_source(g, phi, pred), phi->dst[0]->type, gen_shape(g, phi->dst[0]));
    }
    bool join = g->dispatch || g->shapes.divergent_join[to->id];
    uint32_t i = 0;
    ir_foreach_instr(phi, to) {
        if (phi->op != IR_OP_PHI || i == n)
            break;
        bool keep = join || g->shapes.temporal[phi->dst[0]->id];
        gen_store_phi(g, phi->dst[0], vals[i++], edge, keep);
    }
}

static void pend_add(struct gen *g, struct gen_node *node, LLVMValueRef const edge[2])
{
    for (int h = 0; h < 2; h++) {
        LLVMValueRef bits = edge[h] ? gen_bits16(g, edge[h]) : gen_ci(g->t_i16, 0xffff);
        LLVMValueRef old = bits_load(g, node->pend[h]);
        LLVMBuildStore(g->b, LLVMBuildOr(g->b, old, bits, ""), node->pend[h]);
    }
}

static void alive_remove(struct gen *g, LLVMValueRef const edge[2])
{
    for (int h = 0; h < 2; h++) {
        LLVMValueRef bits = edge[h] ? gen_bits16(g, edge[h]) : gen_ci(g->t_i16, 0xffff);
        LLVMValueRef old = bits_load(g, g->alive[h]);
        bits = LLVMBuildNot(g->b, bits, "");
        LLVMBuildStore(g->b, LLVMBuildAnd(g->b, old, bits, ""), g->alive[h]);
    }
}

/* An edge out of a divergent node. */
static void edge_divergent(struct gen *g, const struct ir_block *to, LLVMValueRef const edge[2])
{
    if (is_exit(g, to)) {
        alive_remove(g, edge);
        return;
    }
    edge_phis(g, to, edge);
    struct gen_node *node = node_of(g, to);
    if (node->divergent)
        pend_add(g, node, edge);
}

/* All lanes go from a convergent node to `to`. */
static void edge_convergent(struct gen *g, const struct ir_block *to)
{
    if (is_exit(g, to)) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    edge_phis(g, to, g->mask);
    struct gen_node *node = node_of(g, to);
    if (node->divergent) {
        pend_add(g, node, g->mask);
        LLVMBuildBr(g->b, node->test);
    } else {
        LLVMBuildBr(g->b, node->body);
    }
}

/* Node of the sweep that continues region `conv` at or after `from`; NULL = none. */
static struct gen_node *sweep_next(struct gen *g, uint32_t from, uint32_t conv)
{
    for (uint32_t n = from; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        if (node->divergent && !node->exit_only && node->conv == conv)
            return node;
    }
    return NULL;
}

static LLVMBasicBlockRef sweep_target(struct gen *g, uint32_t from, uint32_t conv)
{
    struct gen_node *next = sweep_next(g, from, conv);
    if (next)
        return next->test;
    if (g->dispatch)
        return g->wrap;
    return conv == IR_NO_BLOCK ? g->done : g->nodes[g->node_of_block[conv]].body;
}

/* Lanes of a convergent node go both ways. */
static void branch_diverges(struct gen *g, LLVMValueRef const edge[2][2],
                            struct ir_block *const succ[2])
{
    uint32_t first = UINT32_MAX;
    const struct ir_block *straight = NULL; /* convergent target reached by all that stay alive */
    bool leaves = false;
    for (int s = 0; s < 2; s++) {
        if (is_exit(g, succ[s])) {
            alive_remove(g, edge[s]);
            leaves = true;
            continue;
        }
        edge_phis(g, succ[s], edge[s]);
        struct gen_node *node = node_of(g, succ[s]);
        if (!node->divergent) {
            straight = succ[s];
            continue;
        }
        pend_add(g, node, edge[s]);
        uint32_t index = g->node_of_block[succ[s]->id];
        if (node->conv == IR_NO_BLOCK && !g->dispatch && g->is_kernel) {
            /* These lanes do something and end; the others do not wait for them. */
            alive_remove(g, edge[s]);
            leaves = true;
        } else if (index < first) {
            first = index;
        }
    }
    LLVMBasicBlockRef target;
    if (first != UINT32_MAX)
        target = g->nodes[first].test;
    else if (straight)
        target = node_of(g, straight)->body;
    else
        target = g->done;
    if (!leaves || target == g->done) {
        LLVMBuildBr(g->b, target);
        return;
    }
    LLVMValueRef some = any_bits(g, bits_load(g, g->alive[0]), bits_load(g, g->alive[1]));
    LLVMBuildCondBr(g->b, some, target, g->done);
}

static void edge_masks(struct gen *g, LLVMValueRef const p[2], LLVMValueRef edge[2][2])
{
    for (int h = 0; h < 2; h++) {
        LLVMValueRef not_p = LLVMBuildNot(g->b, p[h], "");
        edge[0][h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], p[h], "") : p[h];
        edge[1][h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], not_p, "") : not_p;
    }
}

static void term_cbr(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    struct ir_block *const *succ = in->block->succs;
    struct ir_block *pair[2] = {succ[0], succ[1]};
    LLVMValueRef p[2], edge[2][2];
    if (!node->divergent && gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM) {
        LLVMBasicBlockRef t = gen_bb(g, "t"), f = gen_bb(g, "f");
        phi_sources_read(g, pair[0]);
        phi_sources_read(g, pair[1]);
        LLVMBuildCondBr(g->b, gen_scalar(g, in->src[0]), t, f);
        LLVMPositionBuilderAtEnd(g->b, t);
        edge_convergent(g, pair[0]);
        LLVMPositionBuilderAtEnd(g->b, f);
        edge_convergent(g, pair[1]);
        return;
    }
    gen_vector(g, in->src[0], p);
    edge_masks(g, p, edge);
    /* A back edge overwrites phis that the other edge may still read. */
    phi_sources_read(g, pair[0]);
    phi_sources_read(g, pair[1]);
    if (node->divergent) {
        edge_divergent(g, pair[0], edge[0]);
        edge_divergent(g, pair[1], edge[1]);
        LLVMBuildBr(g->b, node->tail);
    } else {
        branch_diverges(g, edge, pair);
    }
}

/* brx.idx: lanes are handed to each target in turn; the last one takes every other index. */
static void term_switch(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    if (!node->divergent) {
        gen_unsupported(g, in,
                        "indirect branch in convergent code"); /* nodes_build() rules it out */
        LLVMBuildBr(g->b, g->done);
        return;
    }
    LLVMValueRef index[2], left[2] = {gen_mask_or_full(g, 0), gen_mask_or_full(g, 1)};
    gen_vector(g, in->src[0], index);
    for (uint32_t s = 0; s < in->block->nsuccs; s++)
        phi_sources_read(g, in->block->succs[s]);
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(index[0]));
    for (uint32_t s = 0; s < in->block->nsuccs; s++) {
        LLVMValueRef edge[2] = {left[0], left[1]};
        for (int h = 0; h < 2 && s + 1 < in->block->nsuccs; h++) {
            LLVMValueRef hit =
                LLVMBuildICmp(g->b, LLVMIntEQ, index[h], gen_splat_const(g, elem, s), "");
            edge[h] = LLVMBuildAnd(g->b, left[h], hit, "");
            left[h] = LLVMBuildAnd(g->b, left[h], LLVMBuildNot(g->b, hit, ""), "");
        }
        edge_divergent(g, in->block->succs[s], edge);
    }
    LLVMBuildBr(g->b, node->tail);
}

static void term_ret(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    if (!g->is_kernel && in->op == IR_OP_RET) {
        gen_store_results(g, in);
        LLVMBuildBr(g->b, node->tail);
        return;
    }
    if (!node->divergent) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    LLVMValueRef edge[2] = {gen_mask_or_full(g, 0), gen_mask_or_full(g, 1)};
    alive_remove(g, edge);
    LLVMBuildBr(g->b, node->tail);
}

static void term_trap(struct gen *g, struct gen_node *node)
{
    LLVMValueRef args[] = {gen_i32(g, HD_TRAP), gen_i64(g, 0)};
    gen_service(g, offsetof(struct jit_services, fault), g->t_void, args, 2);
    LLVMBuildBr(g->b, node->divergent ? node->tail : g->done);
}

static void gen_term(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_BR:
        if (node->divergent) {
            LLVMValueRef edge[2] = {gen_mask_or_full(g, 0), gen_mask_or_full(g, 1)};
            edge_divergent(g, in->block->succs[0], edge);
            LLVMBuildBr(g->b, node->tail);
        } else {
            edge_convergent(g, in->block->succs[0]);
        }
        return;
    case IR_OP_CBR:
        term_cbr(g, node, in);
        return;
    case IR_OP_SWITCH:
        term_switch(g, node, in);
        return;
    case IR_OP_TRAP:
    case IR_OP_UNREACHABLE:
        term_trap(g, node);
        return;
    default:
        term_ret(g, node, in);
        return;
    }
}

/* ---- nodes */

/* Dispatch: a barrier parks its lanes; they become pending at the next node when it has opened. */
static void park(struct gen *g, struct gen_node *node, const struct ir_instr *in)
{
    struct gen_site *site = &g->sites[node->site];
    LLVMValueRef id = bar_operand(g, in, 0);
    LLVMValueRef generation = bar_arrive(g, in, id);
    if (in->imm == IR_BAR_ARRIVE) {
        LLVMValueRef edge[2] = {gen_mask_or_full(g, 0), gen_mask_or_full(g, 1)};
        pend_add(g, node + 1, edge);
        return;
    }
    for (int h = 0; h < 2; h++) {
        LLVMValueRef old = bits_load(g, site->parked[h]);
        LLVMValueRef bits = gen_mask_bits(g, h);
        LLVMBuildStore(g->b, LLVMBuildOr(g->b, old, bits, ""), site->parked[h]);
    }
    LLVMBuildStore(g->b, id, site->id);
    LLVMBuildStore(g->b, generation, site->generation);
}

/* Opened barriers hand their lanes on; yields i1 "something is still parked". */
static LLVMValueRef sites_poll(struct gen *g)
{
    LLVMValueRef parked_any = gen_ci(g->t_i16, 0);
    for (uint32_t s = 0; s < g->nsites; s++) {
        struct gen_site *site = &g->sites[s];
        LLVMValueRef id = LLVMBuildLoad2(g->b, g->t_i32, site->id, "");
        LLVMValueRef was = LLVMBuildLoad2(g->b, g->t_i32, site->generation, "");
        LLVMValueRef now = LLVMBuildLoad2(
            g->b, g->t_i32, barrier_field(g, id, offsetof(struct jit_barrier, generation)), "");
        LLVMValueRef open = LLVMBuildICmp(g->b, LLVMIntNE, was, now, "");
        struct gen_node *next = &g->nodes[site->next];
        for (int h = 0; h < 2; h++) {
            LLVMValueRef zero = gen_ci(g->t_i16, 0);
            LLVMValueRef parked = bits_load(g, site->parked[h]);
            LLVMValueRef go = LLVMBuildSelect(g->b, open, parked, zero, "");
            LLVMValueRef stay = LLVMBuildSelect(g->b, open, zero, parked, "");
            LLVMValueRef pend = bits_load(g, next->pend[h]);
            LLVMBuildStore(g->b, LLVMBuildOr(g->b, pend, go, ""), next->pend[h]);
            LLVMBuildStore(g->b, stay, site->parked[h]);
            parked_any = LLVMBuildOr(g->b, parked_any, stay, "");
        }
        if (site->bar->ndst) {
            /* The result is read now: a later round may overwrite it before the lanes run. */
            LLVMBasicBlockRef take = gen_bb(g, "bar_take"), on = gen_bb(g, "bar_on");
            LLVMBuildCondBr(g->b, open, take, on);
            LLVMPositionBuilderAtEnd(g->b, take);
            g->epoch = g->epoch_next++;
            g->mask[0] = g->mask[1] = NULL;
            bar_result(g, site->bar, id);
            LLVMBuildBr(g->b, on);
            LLVMPositionBuilderAtEnd(g->b, on);
            g->epoch = g->epoch_next++;
        }
    }
    return LLVMBuildICmp(g->b, LLVMIntNE, parked_any, gen_ci(g->t_i16, 0), "");
}

/* End of a sweep in dispatch mode: go round again, stop, or end. */
static void gen_wrap(struct gen *g)
{
    LLVMPositionBuilderAtEnd(g->b, g->wrap);
    g->mask[0] = g->mask[1] = NULL;
    LLVMValueRef parked = sites_poll(g);
    LLVMValueRef pend = gen_ci(g->t_i16, 0);
    for (uint32_t n = 0; n < g->nnodes; n++) {
        for (int h = 0; h < 2 && !g->nodes[n].exit_only; h++)
            pend = LLVMBuildOr(g->b, pend, bits_load(g, g->nodes[n].pend[h]), "");
    }
    LLVMBasicBlockRef again = gen_bb(g, "again"), idle = gen_bb(g, "idle");
    LLVMValueRef any = LLVMBuildICmp(g->b, LLVMIntNE, pend, gen_ci(g->t_i16, 0), "");
    LLVMBuildCondBr(g->b, any, again, idle);

    LLVMPositionBuilderAtEnd(g->b, idle);
    LLVMBasicBlockRef first = sweep_target(g, 0, IR_NO_BLOCK);
    if (g->nsites) {
        LLVMBasicBlockRef wait = gen_bb(g, "wait");
        LLVMBuildCondBr(g->b, parked, wait, g->done);
        LLVMPositionBuilderAtEnd(g->b, wait);
        LLVMBuildRet(g->b, new_resume(g, g->wrap, JIT_BARRIER));
    } else {
        LLVMBuildBr(g->b, g->done);
    }

    /* Nobody could run although lanes are pending: their partners will not come, so let them go. */
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMValueRef moved = LLVMBuildLoad2(g->b, g->t_i8, g->sweep_progress, "");
    LLVMValueRef stuck = LLVMBuildICmp(g->b, LLVMIntEQ, moved, gen_ci(g->t_i8, 0), "");
    if (g->nsites)
        stuck = LLVMBuildAnd(g->b, stuck, LLVMBuildNot(g->b, parked, ""), "");
    LLVMBuildStore(g->b, LLVMBuildZExt(g->b, stuck, g->t_i8, ""), g->sweep_forced);
    LLVMBuildStore(g->b, gen_ci(g->t_i8, 0), g->sweep_progress);
    if (!g->facts.may_spin || !g->is_kernel) {
        if (g->nsites) {
            LLVMBasicBlockRef wait = gen_bb(g, "wait_members"), go = gen_bb(g, "go");
            LLVMValueRef idle_now = LLVMBuildICmp(g->b, LLVMIntEQ, moved, gen_ci(g->t_i8, 0), "");
            LLVMBuildCondBr(g->b, LLVMBuildAnd(g->b, idle_now, parked, ""), wait, go);
            LLVMPositionBuilderAtEnd(g->b, wait);
            LLVMBuildRet(g->b, new_resume(g, g->wrap, JIT_BARRIER));
            LLVMPositionBuilderAtEnd(g->b, go);
        }
        LLVMBuildBr(g->b, first);
        return;
    }
    LLVMValueRef spins = LLVMBuildLoad2(g->b, g->t_i32, g->sweep_spins, "");
    spins = LLVMBuildAdd(g->b, spins, gen_i32(g, 1), "");
    LLVMValueRef tired = LLVMBuildICmp(g->b, LLVMIntUGE, spins, gen_i32(g, 64), "");
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, tired, gen_i32(g, 0), spins, ""), g->sweep_spins);
    LLVMBasicBlockRef yield = gen_bb(g, "yield");
    LLVMBuildCondBr(g->b, tired, yield, first);
    LLVMPositionBuilderAtEnd(g->b, yield);
    LLVMBuildRet(g->b, new_resume(g, g->wrap, JIT_YIELD));
}

/* Dispatch: true when the members of the node's warp operation that are alive have all come. */
static LLVMValueRef members_here(struct gen *g, struct gen_node *node, LLVMValueRef const pend[2])
{
    const struct ir_instr *in = node->collective;
    const struct ir_value *member = in->op == IR_OP_SHFL ? in->src[3]
                                    : in->op == IR_OP_WARPSYNC || in->op == IR_OP_ELECT
                                        ? in->src[0]
                                        : in->src[1];
    LLVMValueRef p[2] = {mask_from_bits(g, pend[0]), mask_from_bits(g, pend[1])};
    LLVMValueRef saved[2] = {g->mask[0], g->mask[1]};
    g->mask[0] = p[0];
    g->mask[1] = p[1];
    LLVMValueRef want = gen_first_active(g, member);
    LLVMValueRef have = gen_mask32(g);
    g->mask[0] = saved[0];
    g->mask[1] = saved[1];
    LLVMValueRef alive =
        LLVMBuildOr(g->b, LLVMBuildZExt(g->b, bits_load(g, g->alive[0]), g->t_i32, ""),
                    LLVMBuildShl(g->b, LLVMBuildZExt(g->b, bits_load(g, g->alive[1]), g->t_i32, ""),
                                 gen_i32(g, 16), ""),
                    "");
    LLVMValueRef missing =
        LLVMBuildAnd(g->b, LLVMBuildAnd(g->b, want, alive, ""), LLVMBuildNot(g->b, have, ""), "");
    LLVMValueRef forced = LLVMBuildLoad2(g->b, g->t_i8, g->sweep_forced, "");
    return LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, missing, gen_i32(g, 0), ""),
                       LLVMBuildICmp(g->b, LLVMIntNE, forced, gen_ci(g->t_i8, 0), ""), "");
}

static void node_enter_divergent(struct gen *g, struct gen_node *node)
{
    LLVMPositionBuilderAtEnd(g->b, node->test);
    g->epoch = g->epoch_next++;
    LLVMValueRef pend[2] = {bits_load(g, node->pend[0]), bits_load(g, node->pend[1])};
    LLVMValueRef go = any_bits(g, pend[0], pend[1]);
    if (node->collective) {
        LLVMBasicBlockRef some = gen_bb(g, "members");
        LLVMBuildCondBr(g->b, go, some, node->tail);
        LLVMPositionBuilderAtEnd(g->b, some);
        go = members_here(g, node, pend);
    }
    LLVMBuildCondBr(g->b, go, node->body, node->tail);
    LLVMPositionBuilderAtEnd(g->b, node->body);
    for (int h = 0; h < 2; h++) {
        g->mask[h] = mask_from_bits(g, pend[h]);
        LLVMBuildStore(g->b, gen_ci(g->t_i16, 0), node->pend[h]);
    }
    if (g->dispatch)
        LLVMBuildStore(g->b, gen_ci(g->t_i8, 1), g->sweep_progress);
}

/* Where the sweep goes after this node: back to a loop whose lanes want another turn, or on. */
static void node_tail(struct gen *g, uint32_t n)
{
    struct gen_node *node = &g->nodes[n];
    LLVMPositionBuilderAtEnd(g->b, node->tail);
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = g->dispatch ? IR_NO_BLOCK : loops->loop_of[node->block->id];
    for (; loop != IR_NO_BLOCK; loop = loops->loops[loop].parent) {
        const struct ir_loop *l = &loops->loops[loop];
        struct gen_node *header = &g->nodes[g->node_of_block[l->header]];
        if (l->last != node->block->id || !header->divergent)
            continue;
        LLVMBasicBlockRef on = gen_bb(g, "loop_done");
        LLVMValueRef more =
            any_bits(g, bits_load(g, header->pend[0]), bits_load(g, header->pend[1]));
        LLVMBuildCondBr(g->b, more, header->test, on);
        LLVMPositionBuilderAtEnd(g->b, on);
    }
    LLVMBuildBr(g->b, sweep_target(g, n + 1, node->conv));
}

static void gen_node_body(struct gen *g, uint32_t n)
{
    struct gen_node *node = &g->nodes[n];
    g->cur = n;
    if (node->exit_only)
        return;
    if (node->divergent) {
        node_enter_divergent(g, node);
    } else {
        LLVMPositionBuilderAtEnd(g->b, node->body);
        g->epoch = g->epoch_next++;
        mask_set_alive(g);
    }
    const struct ir_instr *in = node->first;
    for (; in && in != node->end; in = in->next) {
        if (ir_op_has(in->op, IR_F_TERM)) {
            gen_term(g, node, in);
            break;
        }
        if (in->op == IR_OP_BAR && g->dispatch) {
            park(g, node, in);
            LLVMBuildBr(g->b, node->tail);
            break;
        }
        if (in->op != IR_OP_PHI)
            gen_instr(g, in);
    }
    if (in == node->end && node->end) { /* falls into the next node of the block */
        LLVMValueRef edge[2] = {gen_mask_or_full(g, 0), gen_mask_or_full(g, 1)};
        pend_add(g, node + 1, edge);
        LLVMBuildBr(g->b, node->tail);
    }
    if (node->divergent)
        node_tail(g, n);
}

static LLVMValueRef flag_slot(struct gen *g, LLVMTypeRef type, uint64_t size_B)
{
    if (g->is_kernel)
        return gen_gep(g, g->frame, gen_frame_alloc(g, size_B, size_B));
    LLVMValueRef slot = gen_alloca(g, type, 0, "");
    LLVMBuildStore(g->b, LLVMConstNull(type), slot);
    return slot;
}

static void mask_slots(struct gen *g, LLVMValueRef out[2])
{
    for (int h = 0; h < 2; h++) {
        if (g->dispatch) {
            out[h] = flag_slot(g, g->t_i16, 2);
            continue;
        }
        out[h] = gen_alloca(g, g->t_i16, 0, "pend");
        LLVMBuildStore(g->b, gen_ci(g->t_i16, 0), out[h]);
    }
}

static void nodes_materialise(struct gen *g)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        if (node->exit_only)
            continue;
        node->body = gen_bb(g, "b");
        if (!node->divergent)
            continue;
        node->test = gen_bb(g, "test");
        node->tail = gen_bb(g, "tail");
        mask_slots(g, node->pend);
    }
    for (uint32_t s = 0; s < g->nsites; s++) {
        mask_slots(g, g->sites[s].parked);
        g->sites[s].id = flag_slot(g, g->t_i32, 4);
        g->sites[s].generation = flag_slot(g, g->t_i32, 4);
    }
    if (g->dispatch) {
        g->sweep_progress = flag_slot(g, g->t_i8, 1);
        g->sweep_forced = flag_slot(g, g->t_i8, 1);
        g->sweep_spins = flag_slot(g, g->t_i32, 4);
        g->wrap = gen_bb(g, "wrap");
    }
}

static void alive_slots(struct gen *g)
{
    if (g->alive_known_full)
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, alive) + 2u * (unsigned)h);
        if (g->alive_in_memory) {
            g->alive[h] = at;
            continue;
        }
        g->alive[h] = gen_alloca(g, g->t_i16, 0, "alive");
        LLVMBuildStore(g->b, bits_load(g, at), g->alive[h]);
    }
}

/* Function entry: slots, resume switch, jump to the first node. */
static void gen_prologue(struct gen *g)
{
    alive_slots(g);
    gen_slots_create(g);
    nodes_materialise(g);
    LLVMBasicBlockRef start = gen_bb(g, "start");
    if (g->is_kernel) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, state));
        LLVMValueRef state = LLVMBuildLoad2(g->b, g->t_i32, at, "");
        g->state_switch = LLVMBuildSwitch(g->b, state, start, 8);
    } else {
        gen_store_args(g);
        LLVMBuildBr(g->b, start);
    }
    LLVMPositionBuilderAtEnd(g->b, start);
    struct gen_node *first = &g->nodes[0];
    if (first->exit_only) {
        LLVMBuildBr(g->b, g->done);
        return;
    }
    if (!first->divergent) {
        LLVMBuildBr(g->b, first->body);
        return;
    }
    if (g->is_kernel)
        mask_set_alive(g);
    else
        gen_entry_mask(g);
    pend_add(g, first, g->mask);
    LLVMBuildBr(g->b, first->test);
}

enum hd_status gen_flow_run(struct gen *g)
{
    g->done = gen_bb(g, "done");
    gen_prologue(g);
    for (uint32_t n = 0; n < g->nnodes; n++)
        gen_node_body(g, n);
    if (g->dispatch)
        gen_wrap(g);
    LLVMPositionBuilderAtEnd(g->b, g->done);
    if (!g->dispatch && g->is_kernel) {
        /* Lanes that left early for code that ends the kernel run it now. */
        struct gen_node *late = sweep_next(g, 0, IR_NO_BLOCK);
        if (late) {
            LLVMBasicBlockRef end = gen_bb(g, "end");
            LLVMValueRef any = gen_ci(g->t_i16, 0);
            for (uint32_t n = 0; n < g->nnodes; n++) {
                struct gen_node *node = &g->nodes[n];
                for (int h = 0; h < 2; h++) {
                    if (node->divergent && !node->exit_only && node->conv == IR_NO_BLOCK)
                        any = LLVMBuildOr(g->b, any, bits_load(g, node->pend[h]), "");
                }
            }
            any = LLVMBuildICmp(g->b, LLVMIntNE, any, gen_ci(g->t_i16, 0), "");
            LLVMBuildCondBr(g->b, any, late->test, end);
            LLVMPositionBuilderAtEnd(g->b, end);
        }
    }
    if (g->is_kernel)
        LLVMBuildRet(g->b, gen_i32(g, 0));
    else
        LLVMBuildRetVoid(g->b);
    return HD_OK;
}
