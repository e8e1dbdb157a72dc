/*
 * Values: reading, converting between shapes, writing to slots.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_tuples.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>
#include <string.h>

struct gen_val gen_u(LLVMValueRef scalar)
{
    return (struct gen_val){.kind = IR_SHAPE_UNIFORM, .c = {scalar, NULL}};
}

struct gen_val gen_a(struct gen *g, LLVMValueRef const *halves, int64_t stride)
{
    struct gen_val val = {.kind = IR_SHAPE_AFFINE, .stride = stride};
    memcpy(val.c, halves, g->unit->halves * sizeof(*halves));
    return val;
}

LLVMValueRef gen_whole_half(struct gen *g, LLVMValueRef base, int64_t stride, int h)
{
    LLVMTypeRef type = LLVMTypeOf(base);
    return LLVMBuildAdd(g->b, base, LLVMConstInt(type, (uint64_t)(stride * h * GEN_LANES), true),
                        "");
}

struct gen_val gen_v(struct gen *g, LLVMValueRef const *halves)
{
    struct gen_val val = gen_a(g, halves, 0);
    val.kind = IR_SHAPE_VARYING;
    return val;
}

const struct ir_shape *gen_shape(struct gen *g, const struct ir_value *v)
{
    return &g->shapes.of[v->id];
}

unsigned gen_components(const struct gen *g, const struct ir_shape *shape)
{
    bool halves = shape->kind == IR_SHAPE_AFFINE || shape->kind == IR_SHAPE_VARYING;
    return halves ? g->unit->halves : 1;
}

/* Type of one component as stored in a slot; predicate vectors are kept as bits. */
LLVMTypeRef gen_component_type(struct gen *g, const struct ir_value *v)
{
    LLVMTypeRef scalar = gen_scalar_type(g, v->type);
    if (gen_shape(g, v)->kind != IR_SHAPE_VARYING)
        return scalar;
    return v->type == IR_PRED ? g->t->bits : gen_vec(g, scalar);
}

static LLVMValueRef value_const(struct gen *g, const struct ir_value *v)
{
    const struct ir_instr *in = v->instr;
    if (v->type == IR_B128) {
        uint64_t words[2] = {in->imm, in->imm_hi};
        return LLVMConstIntOfArbitraryPrecision(g->t->i128, 2, words);
    }
    return LLVMConstInt(gen_scalar_type(g, v->type), in->imm, false);
}

static LLVMValueRef value_slot_read(struct gen *g, const struct ir_value *v, int i)
{
    assert(g->slots[v->id].ptr[i]);
    LLVMTypeRef type = gen_component_type(g, v);
    LLVMValueRef x = LLVMBuildLoad2(g->b, type, g->slots[v->id].ptr[i], "");
    if (v->type == IR_PRED && gen_shape(g, v)->kind == IR_SHAPE_VARYING)
        x = LLVMBuildBitCast(g->b, x, g->t->mask, "");
    return x;
}

static void value_slot_write(struct gen *g, const struct ir_value *v, int i, LLVMValueRef x)
{
    if (LLVMTypeOf(x) == g->t->mask)
        x = LLVMBuildBitCast(g->b, x, g->t->bits, "");
    assert(g->slots[v->id].ptr[i] && LLVMTypeOf(x) == gen_component_type(g, v));
    LLVMBuildStore(g->b, x, g->slots[v->id].ptr[i]);
}

static bool value_is_const(const struct ir_value *v)
{
    return v->instr && v->instr->op == IR_OP_CONST;
}

/* Does the definition of `v` come before this point on every way to it? */
static bool value_is_defined_here(struct gen *g, const struct ir_value *v)
{
    uint32_t def = g->def_node[v->id];
    if (def == UINT32_MAX) /* an argument */
        return true;
    if (def == g->cur) /* phis are written on the edges into the node */
        return g->generated[v->id] || v->instr->op == IR_OP_PHI;
    const struct ir_block *from = g->nodes[def].block, *at = g->nodes[g->cur].block;
    return from == at ? def < g->cur : ir_dominates(&g->shapes.dom, from->id, at->id);
}

static bool value_is_at_hand(struct gen *g, const struct ir_value *v)
{
    return value_is_const(v) || g->cache_epoch[v->id] == g->epoch;
}

static bool value_is_readable(struct gen *g, const struct ir_value *v)
{
    return value_is_at_hand(g, v) || (g->slots[v->id].ptr[0] && value_is_defined_here(g, v));
}

static struct gen_walk *value_walk_of(struct gen *g)
{
    struct gen_walk *walk = g->walk ? g->walk : hd_arena_new(&g->arena, struct gen_walk);
    if (walk && !g->walk && gen_walk_init(g, walk))
        g->walk = walk;
    return g->walk;
}

/* Is it lost at a suspend point on some way from its definition to here? What nobody reads behind
 * a suspend point does not get across it (gen_live.c). */
static bool value_is_lost(struct gen *g, const struct ir_value *v)
{
    const struct ir_instr *in;
    if (!g->is_kernel || g->dispatch || !v->instr || !g->srcloc.at)
        return false;
    if (gen_spin_loses(g, v, g->nodes[g->cur].block))
        return true;
    if (!g->unit->facts.has_barrier)
        return false;
    struct gen_walk *walk = value_walk_of(g);
    if (!walk)
        return true;
    gen_walk_back_to(walk, g->srcloc.at, v->instr);
    while ((in = gen_walk_next(walk))) {
        if (in->op == IR_OP_BAR && !gen_live_keeps(g, in, v))
            return true;
    }
    return false;
}

bool gen_value_available(struct gen *g, const struct ir_value *v)
{
    return value_is_at_hand(g, v) || (value_is_readable(g, v) && !value_is_lost(g, v));
}

static struct gen_val value_undefined(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    LLVMTypeRef type = gen_component_type(g, v);
    if (v->type == IR_PRED && shape->kind == IR_SHAPE_VARYING)
        type = g->t->mask;
    struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
    for (unsigned i = 0; i < gen_components(g, shape); i++)
        val.c[i] = LLVMGetUndef(type);
    return val;
}

struct gen_val gen_slot_peek(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
    assert(g->slots[v->id].ptr[0]);
    for (unsigned i = 0; i < gen_components(g, shape); i++)
        val.c[i] = value_slot_read(g, v, (int)i);
    return val;
}

/*
 * The one place where a value is read. A read that the definition does not dominate is a mistake in
 * the generator: the kernel is then made in a simpler form, unless we are being tested.
 */
static struct gen_val value_get_raw(struct gen *g, const struct ir_value *v)
{
    assert(v->id < g->func->nvalues);
    if (value_is_const(v))
        return gen_u(value_const(g, v));
    if (g->cache_epoch[v->id] == g->epoch)
        return g->cache[v->id];
    if (!value_is_readable(g, v)) {
        gen_unsupported(g, v->instr, "internal: value read where it is not available");
        return value_undefined(g, v);
    }
    struct gen_val val = gen_slot_peek(g, v);
    g->cache[v->id] = val;
    g->cache_epoch[v->id] = g->epoch;
    return val;
}

/*
 * f32 arithmetic yields the canonical NaN. Float consumers cannot tell, so the fix is applied only
 * where the bits become visible.
 */
LLVMValueRef gen_canonical(struct gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    bool vec = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef ft = vec ? gen_vec(g, g->t->f32) : g->t->f32;
    LLVMValueRef f = LLVMBuildBitCast(g->b, x, ft, "");
    if (vec && g->unit->avx512 && !g->unit->fp_ftz) { /* it would flush constants, too */
        LLVMValueRef nan = LLVMConstBitCast(gen_splat_const(g, g->t->i32, 0x7fffffff), ft);
        f = gen_fix_up(g, nan, f, GEN_FIX_NANS);
        return LLVMBuildBitCast(g->b, f, type, "");
    }
    LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, f, f, "");
    LLVMValueRef canon = vec ? gen_splat_const(g, g->t->i32, 0x7fffffff) : gen_i32(g, 0x7fffffff);
    return LLVMBuildSelect(g->b, nan, canon, x, "");
}

struct gen_val gen_get(struct gen *g, const struct ir_value *v)
{
    struct gen_val val = value_get_raw(g, v);
    if (!g->nan_raw[v->id])
        return val;
    for (unsigned i = 0; i < gen_components(g, gen_shape(g, v)); i++)
        val.c[i] = gen_canonical(g, val.c[i]);
    return val;
}

void gen_vector_raw(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES])
{
    gen_vector_of(g, value_get_raw(g, v), v->type, out);
}

struct gen_val gen_get_raw(struct gen *g, const struct ir_value *v)
{
    return value_get_raw(g, v);
}

static void value_vector_of_affine(struct gen *g, struct gen_val val, LLVMValueRef out[GEN_HALVES])
{
    assert(val.kind == IR_SHAPE_AFFINE);
    for (int h = 0; h < gen_halves(g); h++) {
        out[h] = gen_splat(g, val.c[h]);
        if (val.stride)
            out[h] = LLVMBuildAdd(g->b, out[h], gen_lanes(g, LLVMTypeOf(val.c[h]), val.stride), "");
    }
}

/* base + ext(index) * scale, on 64-bit lanes */
static void value_vector_of_indexed(struct gen *g, struct gen_val val, LLVMValueRef out[GEN_HALVES])
{
    assert(val.kind == IR_SHAPE_BASE_INDEX && LLVMTypeOf(val.c[0]) == g->t->i64);
    const struct ir_shape *s = val.shape;
    LLVMValueRef index[GEN_HALVES];
    gen_vector(g, s->index, index);
    LLVMTypeRef v64 = gen_vec(g, g->t->i64);
    LLVMValueRef base = gen_splat(g, val.c[0]);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = s->index_signed ? LLVMBuildSExt(g->b, index[h], v64, "")
                                         : LLVMBuildZExt(g->b, index[h], v64, "");
        if (s->scale != 1)
            x = LLVMBuildMul(g->b, x, gen_splat_const(g, g->t->i64, (uint64_t)s->scale), "");
        out[h] = LLVMBuildAdd(g->b, base, x, "");
    }
}

void gen_vector_of(struct gen *g, struct gen_val val, enum ir_type type,
                   LLVMValueRef out[GEN_HALVES])
{
    switch (val.kind) {
    case IR_SHAPE_UNIFORM:
        out[0] = gen_splat(g, val.c[0]);
        for (int h = 1; h < gen_halves(g); h++)
            out[h] = out[0];
        return;
    case IR_SHAPE_AFFINE:
        value_vector_of_affine(g, val, out);
        return;
    case IR_SHAPE_BASE_INDEX:
        value_vector_of_indexed(g, val, out);
        return;
    case IR_SHAPE_VARYING:
        memcpy(out, val.c, g->unit->halves * sizeof(*out));
        return;
    }
}

void gen_vector(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES])
{
    gen_vector_of(g, gen_get(g, v), v->type, out);
}

LLVMValueRef gen_scalar(struct gen *g, const struct ir_value *v)
{
    assert(gen_shape(g, v)->kind == IR_SHAPE_UNIFORM);
    return gen_get(g, v).c[0];
}

LLVMValueRef gen_half(struct gen *g, const struct ir_value *v, int h)
{
    struct gen_val val = gen_get(g, v);
    return val.kind == IR_SHAPE_UNIFORM ? val.c[0] : val.c[h];
}

struct gen_val gen_coerce(struct gen *g, struct gen_val val, enum ir_type type,
                          const struct ir_shape *want)
{
    if (want->kind == IR_SHAPE_VARYING) {
        LLVMValueRef v[GEN_HALVES];
        gen_vector_of(g, val, type, v);
        return gen_v(g, v);
    }
    if (want->kind == IR_SHAPE_UNIFORM && val.kind == IR_SHAPE_VARYING)
        return gen_u(gen_pick_active(g, val.c));
    if (want->kind == IR_SHAPE_AFFINE && val.kind == IR_SHAPE_VARYING) {
        for (int h = 0; h < gen_halves(g); h++)
            val.c[h] = LLVMBuildExtractElement(g->b, val.c[h], gen_i32(g, 0), "");
        return gen_a(g, val.c, want->stride);
    }
    if (want->kind == IR_SHAPE_AFFINE && val.kind == IR_SHAPE_UNIFORM) {
        for (int h = 1; h < gen_halves(g); h++)
            val.c[h] = val.c[0];
        return gen_a(g, val.c, 0);
    }
    val.shape = want;
    return val;
}

/* Component i of `v`: x where lanes are in the mask, else what it was. */
static LLVMValueRef value_blend(struct gen *g, const struct ir_value *v, int i, LLVMValueRef mask,
                                LLVMValueRef x)
{
    LLVMValueRef old = value_slot_read(g, v, i);
    assert(gen_is_mask(g, mask) && LLVMTypeOf(x) == LLVMTypeOf(old));
    return LLVMBuildSelect(g->b, gen_tuple_mask(g, v, mask), x, old, "");
}

/* Has the value the form that its shape asks for, and the LLVM type that its IR type does? */
static bool value_fits(struct gen *g, const struct ir_value *v, const struct gen_val *val)
{
    const struct ir_shape *shape = gen_shape(g, v);
    LLVMTypeRef type = gen_component_type(g, v);
    if (v->type == IR_PRED && shape->kind == IR_SHAPE_VARYING)
        type = g->t->mask;
    bool both = gen_components(g, shape) < 2 || LLVMTypeOf(val->c[1]) == type;
    return val->kind == shape->kind && LLVMTypeOf(val->c[0]) == type && both;
}

void gen_set(struct gen *g, const struct ir_value *v, struct gen_val val)
{
    const struct ir_shape *shape = gen_shape(g, v);
    val = gen_coerce(g, val, v->type, shape);
    assert(value_fits(g, v, &val));
    g->generated[v->id] = true;
    bool keep = shape->kind == IR_SHAPE_VARYING && g->mask[0] &&
                (g->dispatch || (g->shapes.temporal && g->shapes.temporal[v->id]));
    if (g->slots[v->id].ptr[0]) {
        for (unsigned i = 0; i < gen_components(g, shape); i++) {
            LLVMValueRef x = val.c[i];
            if (keep)
                x = value_blend(g, v, (int)i, g->mask[i], x);
            value_slot_write(g, v, (int)i, x);
        }
    }
    g->cache[v->id] = val;
    g->cache_epoch[v->id] = g->epoch;
}

void gen_store_phi(struct gen *g, const struct ir_value *phi, struct gen_val val,
                   LLVMValueRef const edge[GEN_HALVES], bool keep)
{
    const struct ir_shape *shape = gen_shape(g, phi);
    assert(val.kind == shape->kind); /* a phi, or what a region that ran lane by lane leaves */
    for (unsigned i = 0; i < gen_components(g, shape); i++) {
        LLVMValueRef x = val.c[i];
        if (keep && shape->kind == IR_SHAPE_VARYING && edge[i])
            x = value_blend(g, phi, (int)i, edge[i], x);
        value_slot_write(g, phi, (int)i, x);
    }
}

uint64_t gen_frame_alloc(struct gen *g, uint64_t size_B, uint64_t align_B)
{
    assert(size_B && align_B && !(align_B & (align_B - 1)));
    g->frame_B = hd_align_up(g->frame_B, align_B);
    uint64_t at = g->frame_B;
    g->frame_B += size_B;
    return at;
}

LLVMValueRef gen_new_array(struct gen *g, enum ir_type type)
{
    LLVMTypeRef elem = type == IR_PRED ? g->t->i8 : gen_scalar_type(g, type);
    return gen_alloca(g, LLVMArrayType2(gen_vec(g, elem), g->unit->halves), 64, "");
}

LLVMValueRef gen_to_array(struct gen *g, const struct ir_value *v)
{
    return gen_array_of(g, gen_get(g, v), v->type);
}

LLVMValueRef gen_array_of(struct gen *g, struct gen_val val, enum ir_type type)
{
    LLVMValueRef array = gen_new_array(g, type);
    LLVMValueRef x[GEN_HALVES];
    gen_vector_of(g, val, type, x);
    uint64_t half_B = (type == IR_PRED ? 1 : ir_type_bits(type) / 8) * GEN_LANES;
    for (int h = 0; h < gen_halves(g); h++) {
        if (type == IR_PRED)
            x[h] = LLVMBuildZExt(g->b, x[h], gen_vec(g, g->t->i8), "");
        LLVMBuildStore(g->b, x[h], gen_gep(g, array, (uint64_t)h * half_B));
    }
    return array;
}

struct gen_val gen_from_array(struct gen *g, LLVMValueRef array, enum ir_type type)
{
    LLVMTypeRef elem = type == IR_PRED ? g->t->i8 : gen_scalar_type(g, type);
    uint64_t half_B = (type == IR_PRED ? 1 : ir_type_bits(type) / 8) * GEN_LANES;
    LLVMValueRef x[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        x[h] = LLVMBuildLoad2(g->b, gen_vec(g, elem), gen_gep(g, array, (uint64_t)h * half_B), "");
        if (type == IR_PRED)
            x[h] = LLVMBuildTrunc(g->b, x[h], g->t->mask, "");
    }
    return gen_v(g, x);
}
