/*
 * Tensor memory. Operands of its instructions are in uniform registers, always the same, which are
 * written right before; which has what says src/sim/tensor.c.
 */
#include "codegen/select.h"
#include "ir/payload.h"

enum {
    UREG_D,
    UREG_A = 2,
    UREG_B = 4,
    UREG_C = 6,
    UREG_BASE = 8,
    UREG_OFF = 12,
    UREGS = 20,
    OFF_REGISTERS = 8,
    UPRED_ADDS = 0
};

/* Of the lane for which the predicate holds. */
static void to_ureg_if(struct sel *s, struct isa_operand p, unsigned ureg, unsigned at)
{
    EMIT(s, R2UR, OPERAND(UD, sel_ureg(ureg)), A(sel_src(s, at)), GUARD(p));
}

static void to_ureg(struct sel *s, unsigned ureg, unsigned at)
{
    to_ureg_if(s, SEL_TRUE, ureg, at);
}

/* Are these sources the number 0? */
static bool are_zero(const struct sel *s, const struct ir_instr *in, unsigned first, unsigned n)
{
    uint64_t number;

    for (unsigned i = 0; i < n; i++)
        if (!sel_is_number(s, in->src[first + i], &number) || number)
            return false;
    return true;
}

/* ---- a warp's */

static void select_alloc(struct sel *s, const struct ir_instr *in, const struct ir_tensor *op)
{
    bool pair = ir_tensor_has(op, IR_TENSOR_PAIR);

    if (op->op == IR_TENSOR_RELINQUISH) {
        EMIT(s, UTCALLOC, MOD(TC_ALLOC, RELINQUISH), MODV(TC_PAIR, pair));
        return;
    }
    to_ureg(s, UREG_A, in->nsrc - 1); /* how many columns */
    if (op->op == IR_TENSOR_DEALLOC)
        to_ureg(s, UREG_D, 0);
    EMIT(s, UTCALLOC, OPERAND(UD, sel_ureg(UREG_D)), OPERAND(UA, sel_ureg(UREG_A)),
         MODV(TC_ALLOC, op->op == IR_TENSOR_ALLOC ? ISA_TC_ALLOC_ALLOC : ISA_TC_ALLOC_FREE),
         MODV(TC_PAIR, pair));
    if (op->op == IR_TENSOR_ALLOC)
        EMIT(s, MOV, D(sel_def(s, 0)), B(sel_ureg(UREG_D)))->isa.form = ISA_FORM_UNIFORM;
}

static unsigned reduction_of(const struct ir_tensor *op)
{
    bool min = ir_tensor_has(op, IR_TENSOR_MIN), nan = ir_tensor_has(op, IR_TENSOR_NAN);

    if (op->type == IR_VOID)
        return ISA_TM_REDUCE_DEFAULT;
    if (ir_tensor_has(op, IR_TENSOR_ABS))
        return nan ? (min ? ISA_TM_REDUCE_MIN_ABS_NAN : ISA_TM_REDUCE_MAX_ABS_NAN)
                   : (min ? ISA_TM_REDUCE_MIN_ABS : ISA_TM_REDUCE_MAX_ABS);
    return nan ? (min ? ISA_TM_REDUCE_MIN_NAN : ISA_TM_REDUCE_MAX_NAN)
               : (min ? ISA_TM_REDUCE_MIN : ISA_TM_REDUCE_MAX);
}

static void select_movement(struct sel *s, const struct ir_instr *in, const struct ir_tensor *op)
{
    struct isa_operand word[128];
    unsigned n = ir_tensor_registers(op), count = (unsigned)__builtin_ctz(op->num);
    uint32_t d, e = ISA_RZ;

    assert(n <= HD_COUNT_OF(word));
#define MOVED                                                                                      \
    OPERAND(UBASE, sel_ureg(UREG_BASE)), MODV(TM_SHAPE, op->shape), MODV(TM_COUNT, count),         \
        MODV(TM_PACK, ir_tensor_has(op, IR_TENSOR_PACK))
    to_ureg(s, UREG_BASE, 0);
    EMIT(s, R2UR, OPERAND(UD, sel_ureg(UREG_BASE + 1)), A(sel_number(op->offset)));
    if (op->op == IR_TENSOR_ST) {
        for (unsigned i = 0; i < n; i++)
            word[i] = sel_src(s, 1 + i);
        EMIT(s, STTM, B(sel_unit(sel_tuple(s, word, n))), MOVED);
        return;
    }
    d = sel_new(s, n);
    if (op->type != IR_VOID)
        e = sel_def(s, n);
    EMIT(s, LDTM, D(d), OPERAND(E, sel_unit(e)), MOVED, MODV(TM_REDUCE, reduction_of(op)),
         MODV(TM_TYPE, op->type == IR_U32   ? ISA_TM_TYPE_U32
                       : op->type == IR_S32 ? ISA_TM_TYPE_S32
                                            : ISA_TM_TYPE_F32));
    for (unsigned i = 0; i < n; i++)
        sel_set_units(s, in->dst[i], d + i);
}

/* ---- a thread's */

static void select_copy(struct sel *s, struct isa_operand me, const struct ir_tensor *op)
{
    unsigned format = ir_tensor_has(op, IR_TENSOR_B6)   ? ISA_TC_CP_FORMAT_B6
                      : ir_tensor_has(op, IR_TENSOR_B4) ? ISA_TC_CP_FORMAT_B4
                                                        : 0;

    to_ureg_if(s, me, UREG_D, 0);
    to_ureg_if(s, me, UREG_A, 1);
    to_ureg_if(s, me, UREG_A + 1, 2);
    EMIT(s, UTCCP, OPERAND(UD, sel_ureg(UREG_D)), OPERAND(UA, sel_ureg(UREG_A)),
         MODV(TC_CP_SHAPE, op->shape - IR_TENSOR_CP_128X256B),
         MODV(TC_PAIR, ir_tensor_has(op, IR_TENSOR_PAIR)), MODV(TC_CP_FORMAT, format), GUARD(me));
}

/* Whether d is added, as a uniform predicate. */
static struct isa_operand adds(struct sel *s, struct isa_operand me, const struct ir_instr *in)
{
    struct isa_operand up = {.kind = ISA_KIND_UPRED, .value = ISA_PT};
    uint64_t number;
    uint32_t p;

    if (sel_is_number(s, in->src[IR_TENSOR_ENABLE_D], &number))
        return number ? up : sel_not(up);
    up.value = UPRED_ADDS;
    p = sel_new_pred(s);
    EMIT(s, ISETP, PD(p), A(sel_src(s, IR_TENSOR_ENABLE_D)), MOD(CMP, NE), MOD(SIGN, U32));
    EMIT(s, VOTEU, OPERAND(UPD, up), PA(sel_p(p)), MOD(VOTE, ANY), GUARD(me));
    return up;
}

static void select_product(struct sel *s, struct isa_operand me, const struct ir_instr *in,
                           const struct ir_tensor *op)
{
    bool all = are_zero(s, in, IR_TENSOR_OFF, OFF_REGISTERS);
    struct isa_operand base = sel_ureg(UREG_BASE), upa = adds(s, me, in);
    struct isa_operand upb = {.kind = ISA_KIND_UPRED, .value = ISA_PT, .negate = !all};

    to_ureg_if(s, me, UREG_D, IR_TENSOR_D);
    for (unsigned k = 0; k < 2; k++) {
        to_ureg_if(s, me, UREG_A + k, IR_TENSOR_A + k);
        to_ureg_if(s, me, UREG_B + k, IR_TENSOR_B + k);
    }
    to_ureg_if(s, me, UREG_C, IR_TENSOR_IDESC);
    to_ureg_if(s, me, UREG_C + 1, IR_TENSOR_SCALE_A);
    if (all && are_zero(s, in, IR_TENSOR_ZEROS, 2) && are_zero(s, in, IR_TENSOR_METADATA, 1) &&
        are_zero(s, in, IR_TENSOR_SCALE_B, 1)) {
        base = sel_ureg(ISA_URZ);
    } else {
        to_ureg_if(s, me, UREG_BASE, IR_TENSOR_SCALE_B);
        to_ureg_if(s, me, UREG_BASE + 1, IR_TENSOR_METADATA);
        to_ureg_if(s, me, UREG_BASE + 2, IR_TENSOR_ZEROS);
        to_ureg_if(s, me, UREG_BASE + 3, IR_TENSOR_ZEROS + 1);
        for (unsigned k = 0; k < OFF_REGISTERS; k++)
            to_ureg_if(s, me, UREG_OFF + k, IR_TENSOR_OFF + k);
    }
    EMIT(s, UTCMMA, OPERAND(UD, sel_ureg(UREG_D)), OPERAND(UA, sel_ureg(UREG_A)),
         OPERAND(UB, sel_ureg(UREG_B)), OPERAND(UC, sel_ureg(UREG_C)), OPERAND(UBASE, base),
         OPERAND(UPA, upa), OPERAND(UPB, upb), MODV(TC_KIND, op->kind),
         MODV(TC_A, ir_tensor_has(op, IR_TENSOR_A_TENSOR)),
         MODV(TC_PAIR, ir_tensor_has(op, IR_TENSOR_PAIR)),
         MODV(TC_SPARSE, ir_tensor_has(op, IR_TENSOR_SPARSE)),
         MODV(TC_WS, ir_tensor_has(op, IR_TENSOR_WS)),
         MODV(TC_SCALES, op->kind == IR_TENSOR_KIND_MXF4NVF4 && op->scales == 2),
         MODV(TC_ASHIFT, ir_tensor_has(op, IR_TENSOR_ASHIFT)), MODV(TC_SCALE_D, op->scale_d),
         GUARD(me));
}

/*
 * Each lane that is here does it, usually one, and there is one set of uniform registers: lane
 * after lane, with all of them in the loop.
 */
static void select_of_thread(struct sel *s, const struct ir_instr *in, const struct ir_tensor *op)
{
    struct mc_block *loop = sel_block(s), *behind = sel_block(s);
    uint32_t own = sel_new(s, 1), left = sel_new(s, 1), less = sel_new(s, 1), first = sel_new(s, 1);
    uint32_t p = sel_new_pred(s), more = sel_new_pred(s);
    struct isa_operand me = sel_p(p);

    EMIT(s, S2R, D(own), NUMBER(SR, 18 /* LANEMASK_EQ */));
    EMIT(s, VOTE, D(left), PA(SEL_TRUE));
    sel_jump(s, loop);
    s->b = loop;
    EMIT(s, IADD3, D(less), A(sel_unit(left)), B(sel_number(UINT32_MAX)));
    EMIT(s, LOP3, D(first), A(sel_unit(left)), B(sel_unit(less)), NUMBER(LUT, LUT_A & ~LUT_B));
    EMIT(s, LOP3, D(left), A(sel_unit(left)), B(sel_unit(less)), NUMBER(LUT, LUT_AND));
    EMIT(s, ISETP, PD(p), A(sel_unit(first)), B(sel_unit(own)), MOD(CMP, EQ), MOD(SIGN, U32));
    if (op->op == IR_TENSOR_MMA) {
        select_product(s, me, in, op);
    } else if (op->op == IR_TENSOR_CP) {
        select_copy(s, me, op);
    } else {
        to_ureg_if(s, me, UREG_D, 0);
        EMIT(s, UTCSHIFT, OPERAND(UD, sel_ureg(UREG_D)),
             MODV(TC_PAIR, ir_tensor_has(op, IR_TENSOR_PAIR)), GUARD(me));
    }
    EMIT(s, ISETP, PD(more), A(sel_unit(left)), MOD(CMP, NE), MOD(SIGN, U32));
    sel_branch(s, sel_p(more), loop, behind);
    s->b = behind;
}

bool select_tensor(struct sel *s, const struct ir_instr *in)
{
    const struct ir_tensor *op;

    if (in->op != IR_OP_TENSOR && in->op != IR_OP_TENSOR_WARP)
        return false;
    op = in->op == IR_OP_TENSOR ? ir_ext_tensor(in) : ir_ext_tensor_warp(in);
    s->unit->code->uniform_registers = HD_MAX(s->unit->code->uniform_registers, (uint32_t)UREGS);
    if (in->op == IR_OP_TENSOR) {
        select_of_thread(s, in, op);
        return true;
    }
    sel_come_together(s);
    if (op->op == IR_TENSOR_LD || op->op == IR_TENSOR_ST)
        select_movement(s, in, op);
    else
        select_alloc(s, in, op);
    return true;
}
