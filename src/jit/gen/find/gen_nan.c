/*
 * Which f32 values may hold a NaN that is not canonical yet: such is made canonical only where its
 * bits become visible (gen_canonical()).
 */
#include "jit/gen/gen.h"

#include <assert.h>

static bool is_f32_arithmetic(const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_FLOAT) && in->type == IR_F32;
}

/* A value whose NaN, if it is one, is canonical already: making it so again changes nothing. */
static bool is_safe(const struct ir_value *v)
{
    const struct ir_instr *in = v->instr;
    if (!in)
        return false;
    switch (in->op) {
    case IR_OP_CONST:
        return (in->imm & 0x7fffffff) <= 0x7f800000 || in->imm == 0x7fffffff;
    case IR_OP_UNDEF:
        return true;
    default:
        return is_f32_arithmetic(in);
    }
}

static uint32_t first_passed(const struct ir_instr *in)
{
    return in->op == IR_OP_PHI ? 0 : 1;
}

static bool passes_on(const struct ir_instr *in)
{
    return in->op == IR_OP_PHI || in->op == IR_OP_SELECT;
}

/*
 * Strikes out a phi or select that merges something else than f32 results: integer bits must not be
 * taken for a NaN.
 */
static bool nan_step(bool *floats, const struct ir_instr *in)
{
    uint32_t id = in->dst[0]->id;
    bool all = true;
    for (uint32_t s = first_passed(in); s < in->nsrc; s++) {
        const struct ir_value *v = in->src[s];
        all &= is_safe(v) || (v->instr && passes_on(v->instr) && floats[v->id]);
    }
    if (floats[id] && !all) {
        floats[id] = false;
        return true;
    }
    return false;
}

static bool raw_step(struct gen *g, const bool *floats, const struct ir_instr *in)
{
    uint32_t id = in->dst[0]->id;
    bool any = false;
    for (uint32_t s = first_passed(in); s < in->nsrc; s++)
        any |= g->nan_raw[in->src[s]->id];
    if (!any || !floats[id] || g->nan_raw[id])
        return false;
    g->nan_raw[id] = true;
    return true;
}

#define MAGNITUDE_UNKNOWN 1000

static int magnitude_of(const struct ir_value *v, unsigned depth);

static int magnitude_of_source(const struct ir_instr *in, uint32_t s, unsigned depth)
{
    return s < in->nsrc && in->src[s]->type == in->dst[0]->type ? magnitude_of(in->src[s], depth)
                                                                : MAGNITUDE_UNKNOWN;
}

static int magnitude_of_const(uint64_t bits)
{
    int exponent = (int)(bits >> 23 & 0xff);
    return exponent == 0xff ? MAGNITUDE_UNKNOWN : exponent - 126;
}

static int magnitude_of_product(int a, int b)
{
    return a == MAGNITUDE_UNKNOWN || b == MAGNITUDE_UNKNOWN ? MAGNITUDE_UNKNOWN : a + b;
}

static int magnitude_of_sum(int a, int b)
{
    int most = HD_MAX(a, b);
    return most == MAGNITUDE_UNKNOWN ? most : most + 1;
}

/* The absolute value of an f32 is below 2 to this power; MAGNITUDE_UNKNOWN: it may be anything. */
static int magnitude_of(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    if (!in || depth++ == 4)
        return MAGNITUDE_UNKNOWN;
    if (in->op == IR_OP_CONST)
        return magnitude_of_const(in->imm);
    if (in->type != IR_F32 || (!is_f32_arithmetic(in) && in->op != IR_OP_FNEG &&
                               in->op != IR_OP_FABS && in->op != IR_OP_CVT))
        return MAGNITUDE_UNKNOWN;
    if (ir_has(in, IR_MOD_SAT))
        return 1; /* a NaN becomes 0 */
    if (in->op == IR_OP_CVT)
        return MAGNITUDE_UNKNOWN;
    int a = magnitude_of_source(in, 0, depth);
    int b = in->nsrc > 1 ? magnitude_of_source(in, 1, depth) : 0;
    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
        return magnitude_of_sum(a, b);
    case IR_OP_FMUL:
        return magnitude_of_product(a, b);
    case IR_OP_FMA:
        return magnitude_of_sum(magnitude_of_product(a, b), magnitude_of_source(in, 2, depth));
    case IR_OP_FNEG:
    case IR_OP_FABS:
        return a;
    default:
        return MAGNITUDE_UNKNOWN;
    }
}

/* Arithmetic results that may be NaN, and the phis and selects that merge only such. */
void gen_nan_find(struct gen *g)
{
    bool *floats = hd_arena_array(&g->arena, bool, g->func->nvalues + 1);
    bool changed = floats != NULL;
    for (uint32_t b = 0; floats && b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (is_f32_arithmetic(in) && magnitude_of(in->dst[0], 0) >= 127)
                g->nan_raw[in->dst[0]->id] = true;
            if (passes_on(in))
                floats[in->dst[0]->id] = ir_type_bits(in->type) == 32;
        }
    }
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < g->func->nblocks; b++)
            ir_foreach_instr(in, g->func->blocks[b])
                changed |= passes_on(in) && nan_step(floats, in);
    }
    for (changed = floats != NULL; changed;) {
        changed = false;
        for (uint32_t b = 0; b < g->func->nblocks; b++)
            ir_foreach_instr(in, g->func->blocks[b])
                changed |= passes_on(in) && raw_step(g, floats, in);
    }
}
