/*
 * How large a value can be at most, as an unsigned number.
 *
 * Sources compute with signed thread numbers, and compilers that do not know their range round
 * t / 16 towards zero for a negative t. What can be no negative number needs none of that.
 */
#include "opt/passes.h"

enum { DEPTH_MAX = 6 };

static uint64_t bound_of(const struct ir_value *v, unsigned depth);

/* Technical specifications per compute capability, CUDA C++ Programming Guide. */
static uint64_t bound_of_sreg(enum ir_sreg sreg)
{
    switch (sreg) {
    case IR_SREG_TID_X:
    case IR_SREG_TID_Y:
        return 1023;
    case IR_SREG_TID_Z:
        return 63;
    case IR_SREG_NTID_X:
    case IR_SREG_NTID_Y:
        return 1024;
    case IR_SREG_NTID_Z:
        return 64;
    case IR_SREG_LANEID:
    case IR_SREG_WARPID:
        return 31;
    case IR_SREG_NWARPID:
        return 32;
    case IR_SREG_CTAID_X:
    case IR_SREG_NCTAID_X:
        return INT32_MAX;
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return UINT16_MAX;
    default:
        return UINT64_MAX;
    }
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t out;
    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

static uint64_t bound_of_shift(const struct ir_instr *in, uint64_t a)
{
    uint64_t k;
    if (!ir_value_const(in->src[1], &k) || k >= ir_type_bits(in->type))
        return UINT64_MAX;
    if (in->op == IR_OP_SHL)
        return product(a, 1ull << k);
    bool negative = ir_type_is_signed(in->type) && a > opt_mask(in->src[0]->type) >> 1;
    return negative ? UINT64_MAX : a >> k;
}

static uint64_t bound_of_cvt(const struct ir_instr *in, uint64_t a)
{
    uint64_t from = opt_mask(in->src[0]->type);
    bool whole = opt_mask(in->type2) == from && opt_mask(in->type) == opt_mask(in->dst[0]->type);
    if (!opt_type_is_int(in->type) || !opt_type_is_int(in->type2) || ir_has(in, IR_MOD_SAT) ||
        !whole)
        return UINT64_MAX;
    return ir_type_is_signed(in->type2) && a > from >> 1 ? UINT64_MAX : a;
}

static uint64_t bound_of_pure(const struct ir_instr *in, unsigned depth)
{
    uint64_t a = bound_of(in->src[0], depth);
    uint64_t b = in->nsrc > 1 ? bound_of(in->src[1], depth) : 0;
    uint64_t half = opt_mask(in->src[0]->type) >> 1, c;
    bool is_signed = ir_type_is_signed(in->type) && (a > half || b > half);

    switch (in->op) {
    case IR_OP_AND:
        return HD_MIN(a, b);
    case IR_OP_OR:
    case IR_OP_XOR:
        return opt_filled(a) | opt_filled(b);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return bound_of_shift(in, a);
    case IR_OP_ADD:
        return ir_is_plain_add(in) ? sum(a, b) : UINT64_MAX;
    case IR_OP_MUL:
        return product(a, b);
    case IR_OP_MULWIDE:
        return is_signed ? UINT64_MAX : product(a, b);
    case IR_OP_CVT:
        return bound_of_cvt(in, a);
    case IR_OP_SELECT:
        return HD_MAX(b, bound_of(in->src[2], depth));
    case IR_OP_MIN:
        return is_signed ? UINT64_MAX : HD_MIN(a, b);
    case IR_OP_MAX:
        return is_signed ? UINT64_MAX : HD_MAX(a, b);
    case IR_OP_DIV:
        return is_signed || !ir_value_const(in->src[1], &c) || !c ? UINT64_MAX : a / c;
    case IR_OP_REM:
        return is_signed || !ir_value_const(in->src[1], &c) || !c ? UINT64_MAX : HD_MIN(a, c - 1);
    default:
        return UINT64_MAX;
    }
}

/* What does not fit wraps, and may be anything. */
static uint64_t bound_of(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    uint64_t all = opt_mask(v->type), bound = UINT64_MAX, c;

    if (ir_value_const(v, &c))
        return c & all;
    if (!in || depth == DEPTH_MAX)
        return all;
    if (in->op == IR_OP_SREG)
        bound = bound_of_sreg((enum ir_sreg)in->imm);
    else if (ir_op_has(in->op, IR_F_PURE) && in->nsrc && ir_type_lanes(in->type) == 1)
        bound = bound_of_pure(in, depth + 1);
    return bound > all ? all : bound;
}

uint64_t opt_filled(uint64_t x)
{
    return x ? UINT64_MAX >> __builtin_clzll(x) : 0;
}

uint64_t opt_bound(const struct ir_value *v)
{
    return bound_of(v, 0);
}

bool opt_is_never_negative(const struct ir_value *v)
{
    return opt_bound(v) <= opt_mask(v->type) >> 1;
}
