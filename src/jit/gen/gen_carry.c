/*
 * How values get across a stop: what is the same in the whole CTA goes through the CTA's area
 * (gen_cta.c), what is cheap is computed again, the rest goes through the warp's frame. A value has
 * one place in the frame for the whole kernel, so it is stored at the first stop after it was
 * computed and only read at later ones.
 */
#include "jit/gen/gen_flow.h"

#include <string.h>

enum carry { CARRY_NOT, CARRY_CTA, CARRY_REMADE, CARRY_FRAME };

struct gen_carry {
    const struct ir_instr *stop;
    enum carry *how;  /* by value id */
    uint64_t *framed; /* set of those in the frame */
    uint64_t *kept;   /* set of those that are in the frame already */
    struct gen_carry *next;
};

static void live_add(uint64_t *set, uint32_t id)
{
    set[id / 64] |= 1ull << (id % 64);
}

static void live_remove(uint64_t *set, uint32_t id)
{
    set[id / 64] &= ~(1ull << (id % 64));
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
            live_remove(set, in->dst[d]->id);
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

/* ---- what is needed after each stop */

static bool carry_fill(struct gen *g, struct gen_carry *c)
{
    uint32_t n = g->func->nvalues;
    uint64_t *set = live_after(g, c->stop);
    c->how = hd_arena_array(&g->arena, enum carry, n);
    c->framed = hd_arena_array(&g->arena, uint64_t, g->live.words);
    c->kept = hd_arena_array(&g->arena, uint64_t, g->live.words);
    if (!set || !c->how || !c->framed || !c->kept)
        return false;
    for (uint32_t d = 0; d < c->stop->ndst; d++) /* results come after the stop */
        live_remove(set, c->stop->dst[d]->id);
    for (uint32_t id = 0; id < n; id++) {
        const struct ir_value *v = g->values[id];
        if (v && ir_live_test(set, id) && index_of(g, v))
            live_add(set, index_of(g, v)->id); /* addresses need their indices */
    }
    for (uint32_t id = 0; id < n; id++) {
        if (!g->values[id])
            continue;
        c->how[id] = carry_of(g, set, g->values[id]);
        if (c->how[id] == CARRY_FRAME)
            live_add(c->framed, id);
    }
    return true;
}

static struct gen_carry *carry_find(struct gen *g, const struct ir_instr *stop)
{
    struct gen_carry *c = g->carries;
    while (c && c->stop != stop)
        c = c->next;
    return c;
}

/* Walks through `b` with the set of values whose place in the frame is up to date. */
static void frame_walk(struct gen *g, const struct ir_block *b, uint64_t *valid)
{
    ir_foreach_instr(in, b) {
        struct gen_carry *c = in->op == IR_OP_BAR ? carry_find(g, in) : NULL;
        if (c) {
            memcpy(c->kept, valid, g->live.words * sizeof(*valid));
            memcpy(valid, c->framed, g->live.words * sizeof(*valid));
        }
        for (uint32_t d = 0; d < in->ndst; d++)
            live_remove(valid, in->dst[d]->id);
    }
}

/* Forward, intersection at joins; starts from "everything" and settles. */
static bool frames_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    uint32_t words = g->live.words;
    uint64_t *in = hd_arena_array(&g->arena, uint64_t, (size_t)f->nblocks *words);
    uint64_t *valid = hd_arena_array(&g->arena, uint64_t, words);
    bool changed = true;
    if (!in || !valid)
        return false;
    memset(in + words, 0xff, (size_t)(f->nblocks - 1) * words * sizeof(*in));
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < f->nblocks; b++) {
            memcpy(valid, in + (size_t)b * words, words * sizeof(*valid));
            frame_walk(g, f->blocks[b], valid);
            for (uint32_t s = 0; s < f->blocks[b]->nsuccs; s++) {
                uint64_t *to = in + (size_t)f->blocks[b]->succs[s]->id * words;
                for (uint32_t w = 0; w < words; w++) {
                    changed |= (to[w] & ~valid[w]) != 0;
                    to[w] &= valid[w];
                }
            }
        }
    }
    return true;
}

static bool carries_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    g->values = values_by_id(g);
    if (!g->values)
        return false;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            if (in->op != IR_OP_BAR)
                continue;
            struct gen_carry *c = hd_arena_array(&g->arena, struct gen_carry, 1);
            if (!c)
                return false;
            *c = (struct gen_carry){.stop = in, .next = g->carries};
            g->carries = c;
            if (!carry_fill(g, c))
                return false;
        }
    }
    return frames_find(g);
}

const struct gen_carry *gen_carry_at(struct gen *g, const struct ir_instr *stop)
{
    if (!g->carries && !carries_find(g))
        return NULL;
    return carry_find(g, stop);
}

void gen_carry_save(struct gen *g, const struct gen_carry *c)
{
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        if (g->values[id] && !(c->how[id] == CARRY_FRAME && ir_live_test(c->kept, id)))
            carry_save(g, c->how[id], g->values[id]);
    }
}

void gen_carry_restore(struct gen *g, const struct gen_carry *c)
{
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        if (g->values[id])
            carry_restore(g, c->how[id], g->values[id]);
    }
    for (uint32_t id = 0; id < g->func->nvalues; id++) {
        if (c->how[id] == CARRY_REMADE)
            remake(g, g->values[id]);
    }
}
