/*
 * The points where a warp stops and resumes: what is live goes through its frame; CTA barriers.
 */
#include "jit/gen/gen_flow.h"

#include <string.h>

/* ---- stopping */

LLVMValueRef gen_resume_add(struct gen *g, LLVMBasicBlockRef target, enum jit_stop stop)
{
    uint32_t state = (++g->nresume << 2) | stop;
    LLVMAddCase(g->state_switch, gen_i32(g, state), target);
    return gen_i32(g, state);
}

static void alive_publish(struct gen *g)
{
    if (g->alive_known_full || g->alive_in_memory || g->by_region)
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef at = gen_gep(g, g->warp, offsetof(struct jit_warp, alive) + 2u * (unsigned)h);
        LLVMBuildStore(g->b, gen_bits_load(g, g->alive[h]), at);
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

static void value_set_restored(struct gen *g, const struct ir_value *v, const struct gen_val *val)
{
    for (unsigned i = 0; i < gen_components(val->shape); i++) {
        LLVMValueRef x = val->c[i];
        if (LLVMTypeOf(x) == g->t_mask)
            x = gen_bits16(g, x);
        if (g->slots[v->id].ptr[i])
            LLVMBuildStore(g->b, x, g->slots[v->id].ptr[i]);
    }
    g->cache[v->id] = *val;
    g->cache_epoch[v->id] = g->epoch;
}

static void value_restore(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
    uint64_t at = frame_slot(g, v);
    for (unsigned i = 0; i < gen_components(shape); i++) {
        LLVMValueRef ptr = gen_gep(g, g->frame, at + i * component_stride(g, v));
        val.c[i] = LLVMBuildLoad2(g->b, gen_component_type(g, v), ptr, "");
        if (v->type == IR_PRED && shape->kind == IR_SHAPE_VARYING)
            val.c[i] = gen_mask_from_bits(g, val.c[i]);
    }
    value_set_restored(g, v, &val);
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
    for (uint32_t n = 0; n < g->nnodes && !g->by_region; n++) {
        struct gen_node *node = &g->nodes[n];
        if (!node->divergent || node->exit_only || node->conv != IR_NO_BLOCK)
            continue;
        if (!node->frame_pend)
            node->frame_pend = 1 + gen_frame_alloc(g, 4, 4);
        for (int h = 0; h < 2; h++) {
            LLVMValueRef at = gen_gep(g, g->frame, node->frame_pend - 1 + 2u * (unsigned)h);
            if (save)
                LLVMBuildStore(g->b, gen_bits_load(g, node->pend[h]), at);
            else
                LLVMBuildStore(g->b, gen_bits_load(g, at), node->pend[h]);
        }
    }
}

/* ---- how a value gets across a stop */

static bool op_is_remade(struct gen *g, const struct ir_instr *in)
{
    enum ir_shape_kind kind = gen_shape(g, in->dst[0])->kind;
    switch (in->op) {
    case IR_OP_SREG:
        return (in->imm <= IR_SREG_TID_Z || in->imm == IR_SREG_LANEID) && kind != IR_SHAPE_VARYING;
    case IR_OP_LD:
        return in->mem.space == IR_SPACE_PARAM && in->ndst == 1;
    case IR_OP_VARADDR:
        return true;
    case IR_OP_DIV:
    case IR_OP_REM:
        return false;
    default:
        return ir_op_has(in->op, IR_F_PURE) && in->ndst == 1;
    }
}

static const struct ir_value *index_of(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    return shape->kind == IR_SHAPE_BASE_INDEX ? shape->index : NULL;
}

/*
 * Can `v` be computed again after the stop from what gets across it (`set`), within the budget? A
 * few scalar operations cost no more than a trip through memory.
 */
static bool can_remake(struct gen *g, const uint64_t *set, const struct ir_value *v, int *budget)
{
    const struct ir_instr *in = v->instr;
    const struct ir_value *index = index_of(g, v);
    if (!in || in->op == IR_OP_PHI || (g->shapes.temporal && g->shapes.temporal[v->id]))
        return false;
    if (in->op == IR_OP_CONST)
        return true;
    *budget -= gen_shape(g, v)->kind == IR_SHAPE_VARYING ? 2 : 1;
    if (*budget < 0 || !op_is_remade(g, in))
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        const struct ir_value *src = in->src[s];
        if (!ir_live_test(set, src->id) && !can_remake(g, set, src, budget))
            return false;
    }
    return !index || ir_live_test(set, index->id) || can_remake(g, set, index, budget);
}

static void remake(struct gen *g, const struct ir_value *v)
{
    const struct ir_value *index = index_of(g, v);
    if (v->instr->op == IR_OP_CONST || g->cache_epoch[v->id] == g->epoch)
        return;
    for (uint32_t s = 0; s < v->instr->nsrc; s++)
        remake(g, v->instr->src[s]);
    if (index)
        remake(g, index);
    gen_instr(g, v->instr);
}

enum carry { CARRY_NOT, CARRY_CTA, CARRY_REMADE, CARRY_FRAME };

static enum carry carry_of(struct gen *g, const uint64_t *set, const struct ir_value *v)
{
    int budget = gen_shape(g, v)->kind == IR_SHAPE_VARYING ? 4 : 8;
    if (!ir_live_test(set, v->id) || (v->instr && v->instr->op == IR_OP_CONST))
        return CARRY_NOT;
    if (g->by_region && g->cta_uniform[v->id])
        return CARRY_CTA;
    return can_remake(g, set, v, &budget) ? CARRY_REMADE : CARRY_FRAME;
}

static uint64_t cta_slot(struct gen *g, const struct ir_value *v)
{
    if (!g->cta_at[v->id]) {
        g->cta_at[v->id] = 1 + g->cta_area_B;
        g->cta_area_B += ir_type_bits(v->type) == 128 ? 16 : 8;
    }
    return g->cta_at[v->id] - 1;
}

static void carry_save(struct gen *g, enum carry how, const struct ir_value *v)
{
    if (how == CARRY_CTA)
        LLVMBuildStore(g->b, gen_get_raw(g, v).c[0], gen_gep(g, g->cta_out, cta_slot(g, v)));
    else if (how == CARRY_FRAME)
        value_save(g, v);
}

static void carry_restore(struct gen *g, enum carry how, const struct ir_value *v)
{
    if (how == CARRY_CTA) {
        LLVMTypeRef type = gen_scalar_type(g, v->type);
        LLVMValueRef at = gen_gep(g, g->cta_in, cta_slot(g, v));
        value_set_restored(g, v,
                           &(struct gen_val){.kind = IR_SHAPE_UNIFORM,
                                             .shape = gen_shape(g, v),
                                             .c = {LLVMBuildLoad2(g->b, type, at, "")}});
    } else if (how == CARRY_FRAME) {
        value_restore(g, v);
    }
}

/* What is needed after `instr`, with the indices of what has one; by value id. */
static enum carry *carries_after(struct gen *g, const struct ir_instr *instr,
                                 const struct ir_value **values)
{
    uint32_t n = g->func->nvalues;
    enum carry *how = hd_arena_array(&g->arena, enum carry, n);
    uint64_t *set = live_after(g, instr);
    if (!set || !how)
        return NULL;
    for (uint32_t d = 0; d < instr->ndst; d++) /* results come after the stop */
        set[instr->dst[d]->id >> 6] &= ~(1ull << (instr->dst[d]->id & 63));
    for (uint32_t id = 0; id < n; id++) {
        if (values[id] && ir_live_test(set, id) && index_of(g, values[id]))
            live_add(set, index_of(g, values[id])->id);
    }
    for (uint32_t id = 0; id < n; id++) {
        if (values[id])
            how[id] = carry_of(g, set, values[id]);
    }
    return how;
}

/* Returns at the current point with everything live kept, and continues at the resume point. */
static LLVMValueRef stop_here(struct gen *g, const struct ir_instr *instr, enum jit_stop stop,
                              LLVMBasicBlockRef *out_resume)
{
    const struct ir_value **values = values_by_id(g);
    enum carry *how = values ? carries_after(g, instr, values) : NULL;
    uint32_t n = g->func->nvalues;
    if (!how)
        return NULL;
    for (uint32_t id = 0; id < n; id++) {
        if (values[id])
            carry_save(g, how[id], values[id]);
    }
    pending_exits(g, true);
    LLVMBasicBlockRef resume = gen_bb(g, "resume");
    LLVMValueRef state = gen_resume_add(g, resume, stop);
    stop_return(g, state);
    LLVMPositionBuilderAtEnd(g->b, resume);
    g->epoch = g->epoch_next++;
    gen_mask_set_alive(g);
    for (uint32_t id = 0; id < n; id++) {
        if (values[id])
            carry_restore(g, how[id], values[id]);
    }
    for (uint32_t id = 0; id < n; id++) {
        if (how[id] == CARRY_REMADE)
            remake(g, values[id]);
    }
    pending_exits(g, false);
    *out_resume = resume;
    return state;
}

/* ---- barriers */

LLVMValueRef gen_barrier_field(struct gen *g, LLVMValueRef id, uint64_t member)
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

void gen_bar_result(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    if (!bar_is_red(in))
        return;
    LLVMValueRef votes = LLVMBuildLoad2(
        g->b, g->t_i32, gen_barrier_field(g, id, offsetof(struct jit_barrier, result_votes)), "");
    LLVMValueRef all = LLVMBuildLoad2(
        g->b, g->t_i32, gen_barrier_field(g, id, offsetof(struct jit_barrier, result_arrived)), "");
    LLVMValueRef r = votes;
    if (in->imm == IR_BAR_RED_AND)
        r = LLVMBuildICmp(g->b, LLVMIntEQ, votes, all, "");
    else if (in->imm == IR_BAR_RED_OR)
        r = LLVMBuildICmp(g->b, LLVMIntNE, votes, gen_i32(g, 0), "");
    gen_set(g, in->dst[0], gen_u(r));
}

/* Barrier number and count must be the same for all lanes that arrive together; PTX says so. */
LLVMValueRef gen_bar_operand(struct gen *g, const struct ir_instr *in, uint32_t s)
{
    if (s >= in->nsrc - (bar_is_red(in) ? 1u : 0u))
        return gen_i32(g, 0);
    return gen_first_active(g, in->src[s]);
}

LLVMValueRef gen_bar_arrive(struct gen *g, const struct ir_instr *in, LLVMValueRef id)
{
    LLVMValueRef args[] = {id, gen_bar_operand(g, in, 1), gen_mask32(g), bar_votes(g, in)};
    return gen_service(g, offsetof(struct jit_services, bar_arrive), g->t_i32, args, 4);
}

static void barrier_simple(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef zero = gen_i32(g, 0);
    if (bar_is_red(in)) {
        add_to(g, gen_barrier_field(g, zero, offsetof(struct jit_barrier, votes)),
               bar_votes(g, in));
        add_to(g, gen_barrier_field(g, zero, offsetof(struct jit_barrier, arrived)),
               popcount32(g, gen_mask32(g)));
    }
    LLVMBasicBlockRef resume;
    if (stop_here(g, in, JIT_BARRIER, &resume))
        gen_bar_result(g, in, zero);
}

/* Counted barrier in convergent code: arrive, stop, and stop again while it has not opened. */
static void barrier_counted(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef id = gen_bar_operand(g, in, 0);
    LLVMValueRef generation = gen_bar_arrive(g, in, id);
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
        g->b, g->t_i32, gen_barrier_field(g, id2, offsetof(struct jit_barrier, generation)), "");
    LLVMBasicBlockRef again = gen_bb(g, "bar_closed"), open = gen_bb(g, "bar_open");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, now, gen2, ""), again, open);
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMBuildRet(g->b, state);
    LLVMPositionBuilderAtEnd(g->b, open);
    gen_bar_result(g, in, id2);
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
