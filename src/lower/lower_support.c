/* The slice: which opcodes this version executes. Types and modifiers are checked where they are
 * lowered. */
#include "lower/lower_priv.h"

static bool op_in_slice(unsigned op)
{
    if (op >= PTX_OP_ADD && op <= PTX_OP_ST)
        return true;
    switch (op) {
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_PMEVENT:
    case PTX_OP_ISSPACEP:
    case PTX_OP_CVTA:
    case PTX_OP_CVT:
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_CALL:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT_SYNC:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_ALLOCA:
    case PTX_OP_STACKSAVE:
    case PTX_OP_STACKRESTORE:
        return true;
    default:
        return op >= PTX_OP_BAR_SYNC && op <= PTX_OP_BARRIER_CTA_RED;
    }
}

static bool type_in_slice(const struct ptx_form *form, unsigned i)
{
    enum ptx_type t = (enum ptx_type)form->types[i];
    bool packed_int = t == PTX_TYPE_U16X2 || t == PTX_TYPE_S16X2;
    unsigned op = form->op;
    if (packed_int)
        return op == PTX_OP_ADD || op == PTX_OP_MIN || op == PTX_OP_MAX;
    return lower_type(t) != IR_VOID;
}

bool lower_in_slice(const struct ptx_insn *insn, const char **out_why)
{
    const struct ptx_form *form = insn->form;
    *out_why = NULL;
    if (!op_in_slice(form->op)) {
        *out_why = "the instruction is not supported";
        return false;
    }
    for (unsigned i = 0; i < form->ntypes; i++) {
        if (!type_in_slice(form, i)) {
            *out_why = "the type is not supported";
            return false;
        }
    }
    if (form->vec > 1 && (form->op == PTX_OP_ATOM || form->op == PTX_OP_RED)) {
        *out_why = "vector atomics are not supported";
        return false;
    }
    return true;
}

bool lower_supports(const struct ptx_insn *insn, const char **out_why)
{
    return lower_in_slice(insn, out_why);
}
