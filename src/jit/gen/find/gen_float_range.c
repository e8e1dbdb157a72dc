/*
 * What operations leave of the numbers that an f32 may be: special cases that cannot come in need
 * no code.
 */
#include "jit/gen/gen.h"

#include <math.h>

#include "base/float/approx.h"

/* How many operations back is looked. */
#define DEPTH 6

static bool is_f32_const(const struct ir_value *v, float *out)
{
    uint64_t bits;
    if (!ir_value_const(v, &bits))
        return false;
    *out = hd_approx_float((uint32_t)bits);
    return true;
}

static bool is_at_least(const struct ir_value *v, float least)
{
    float x;
    return is_f32_const(v, &x) && fabsf(x) >= least;
}

/*
 * A sum is a multiple of what the last bits of its terms stand for. Where one term is a constant,
 * the sum is zero, or not far below that constant's last bit.
 */
static bool sum_is_coarse(const struct ir_instr *in)
{
    if (in->op == IR_OP_FMA)
        return is_at_least(in->src[2], 0x1p-70f);
    return is_at_least(in->src[0], 0x1p-100f) || is_at_least(in->src[1], 0x1p-100f);
}

static bool never_denormal(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    float x;
    if (is_f32_const(v, &x))
        return x == 0 || !(fabsf(x) < HD_APPROX_TINY);
    if (!in || depth == DEPTH || in->type != IR_F32)
        return false;
    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
    case IR_OP_FMA:
        return ir_has(in, IR_MOD_FTZ) || sum_is_coarse(in);
    case IR_OP_FMUL:
    case IR_OP_FDIV:
        return ir_has(in, IR_MOD_FTZ);
    case IR_OP_FSQRT:
    case IR_OP_FRSQRT:
        return true;
    case IR_OP_FMIN:
    case IR_OP_FMAX:
        return never_denormal(in->src[0], depth + 1) && never_denormal(in->src[1], depth + 1);
    case IR_OP_FNEG:
    case IR_OP_FABS:
        return never_denormal(in->src[0], depth + 1);
    default:
        return false;
    }
}

bool gen_never_denormal(const struct ir_value *v)
{
    return never_denormal(v, 0);
}

/*
 * The result of arithmetic is no signalling NaN. Of sums and products with a constant LLVM may
 * leave nothing, so these do not count.
 */
static bool computes(const struct ir_instr *in)
{
    bool sum = in->op == IR_OP_FADD || in->op == IR_OP_FSUB;
    if (in->type != IR_F32 || (!sum && in->op != IR_OP_FMUL && in->op != IR_OP_FMA))
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (!in->src[s]->instr || in->src[s]->instr->op == IR_OP_CONST)
            return false;
    }
    return true;
}

static bool never_signals(struct gen *g, const struct ir_value *v, const struct ir_instr *phi,
                          unsigned depth)
{
    const struct ir_instr *in = v->instr;
    float x;
    if (is_f32_const(v, &x))
        return !isnan(x);
    if (!in || depth == DEPTH)
        return false;
    if (in == phi || computes(in))
        return true;
    if (in->op == IR_OP_FMIN || in->op == IR_OP_FMAX)
        return in->type == IR_F32 && gen_shape(g, v)->kind == IR_SHAPE_VARYING;
    if (in->op != IR_OP_PHI || phi)
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (!never_signals(g, in->src[s], in, depth + 1))
            return false;
    }
    return true;
}

bool gen_never_signals(struct gen *g, const struct ir_value *v)
{
    return never_signals(g, v, NULL, 0);
}

bool gen_floor_is_sum(const struct ir_instr *in)
{
    const struct ir_instr *a = in->src[0]->instr;
    float scale, start;

    return in->op == IR_OP_FMA && in->type == IR_F32 && in->rnd == IR_RM && a &&
           a->type == IR_F32 && (a->op == IR_OP_CVT || a->op == IR_OP_FMA || a->op == IR_OP_FADD) &&
           ir_has(a, IR_MOD_SAT) && is_f32_const(in->src[1], &scale) &&
           is_f32_const(in->src[2], &start) && scale >= 1 && scale <= 0x1p22f && start >= 0x1p23f &&
           start + scale < 0x1p24f;
}
