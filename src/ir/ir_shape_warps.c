/*
 * Which kernels may have code for several warps at once. What the lanes of a warp do together has
 * no form for more; the rest is the code generator's to judge.
 */
#include "ir/shape.h"

enum { INSTRS_MAX = 1500, VECTOR_MAX = 2 };

static bool memory_fits(const struct ir_instr *in)
{
    return in->mem.sem == IR_SEM_WEAK && in->mem.space != IR_SPACE_LOCAL &&
           in->mem.space != IR_SPACE_TENSOR && in->mem.vec <= VECTOR_MAX &&
           ir_type_bits(in->type) <= 64;
}

static bool instr_fits(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
    case IR_OP_ST:
        return memory_fits(in);
    case IR_OP_BAR:
        return in->imm < IR_BAR_RED_POPC;
    case IR_OP_SREG:
        return ir_sreg_scope((enum ir_sreg)in->imm) != IR_SREG_WARP &&
               ir_sreg_scope((enum ir_sreg)in->imm) != IR_SREG_VOLATILE;
    case IR_OP_BR:
    case IR_OP_CBR:
    case IR_OP_SWITCH:
    case IR_OP_RET:
    case IR_OP_EXIT:
        return true;
    default:
        return ir_op_has(in->op, IR_F_PURE) || ir_op_has(in->op, IR_F_HINT);
    }
}

bool ir_warps_fit(const struct ir_func *kernel)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < kernel->nblocks; b++) {
        ir_foreach_instr(in, kernel->blocks[b]) {
            if (!instr_fits(in) || ++n > INSTRS_MAX)
                return false;
        }
    }
    return true;
}
