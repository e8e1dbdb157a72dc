/* requires: nothing. keeps: cfg, dominance. breaks: liveness, shapes. */
#include "opt/passes.h"

static int64_t sign_extend(uint64_t bits, enum ir_type type)
{
    unsigned drop = 64 - ir_type_bits(type);

    return (int64_t)(bits << drop) >> drop;
}

/*
 * [x + c] becomes [x] with the constant in the operation, so that accesses to neighbours share one
 * address. A 32-bit window address wraps at 32 bits together with its offset, so that is exact too.
 */
static bool fold_offset(struct ir_instr *instr)
{
    bool changed = false;

    for (;;) {
        const struct ir_instr *add = instr->src[0]->instr;
        uint64_t c;
        int64_t offset;
        if (!add || !ir_is_plain_add(add) || !ir_value_const(add->src[1], &c))
            return changed;
        if (__builtin_add_overflow(instr->mem.offset, sign_extend(c, add->dst[0]->type), &offset) ||
            offset != (int32_t)offset)
            return changed;
        instr->mem.offset = offset;
        instr->src[0] = add->src[0];
        changed = true;
    }
}

/* varaddr + c is varaddr with a larger offset. */
static bool fold_varaddr(struct ir_instr *add)
{
    const struct ir_instr *base = add->src[0]->instr;
    uint64_t c;

    if (!ir_is_plain_add(add) || add->dst[0]->type != IR_B64 || !base ||
        base->op != IR_OP_VARADDR || !ir_value_const(add->src[1], &c))
        return false;
    add->op = IR_OP_VARADDR;
    add->type = IR_VOID;
    add->var = base->var;
    add->imm = base->imm + c;
    add->nsrc = 0;
    return true;
}

/*
 * (x + c) << k and (x + c) * m at 64 bits, and (x + c) + y: the constant travels outwards, towards
 * the memory operation that can take it.
 */
static bool float_constant_out(struct ir_instr *instr)
{
    const struct ir_instr *inner;
    struct ir_builder b = opt_before(instr);
    struct ir_value *moved;
    uint64_t c, k;
    bool shl = instr->op == IR_OP_SHL;

    if ((instr->op != IR_OP_SHL && instr->op != IR_OP_MUL && instr->op != IR_OP_ADD) ||
        instr->nsrc != 2 || instr->dst[0]->type != IR_B64 || ir_has(instr, IR_MOD_SAT))
        return false;
    inner = instr->src[0]->instr;
    if (!inner || !ir_is_plain_add(inner) || !ir_value_const(inner->src[1], &c)) {
        inner = instr->op == IR_OP_ADD ? instr->src[1]->instr : NULL;
        if (!inner || !ir_is_plain_add(inner) || !ir_value_const(inner->src[1], &c))
            return false;
        moved = instr->src[0];
    } else {
        moved = instr->src[1];
    }
    if (instr->op == IR_OP_ADD) {
        if (ir_value_const(moved, &k))
            return false; /* ir_opt_fold merges the two */
    } else {
        if (!ir_value_const(moved, &k) || (shl && k >= 64))
            return false;
        c = shl ? c << k : c * k;
    }
    moved = ir_build2(&b, instr->op, instr->type, inner->src[0], moved);
    instr->op = IR_OP_ADD;
    instr->src[0] = moved;
    instr->src[1] = ir_build_const(&b, IR_B64, c);
    return true;
}

bool ir_opt_address(struct ir_func *func)
{
    bool changed = false;

    for (uint32_t b = 0; b < func->nblocks; b++) {
        ir_foreach_instr(instr, func->blocks[b]) {
            if (ir_op_has(instr->op, IR_F_ADDR))
                changed |= fold_offset(instr);
            else if (instr->op == IR_OP_ADD && fold_varaddr(instr))
                changed = true;
            else
                changed |= float_constant_out(instr);
        }
    }
    return changed;
}
