/* Floating-point instructions that are more than one IR operation. */
#include "lower/lower_priv.h"

typedef struct ir_value *val;

bool lower_float_min_max(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    enum ir_op op = in->form->op == PTX_OP_MAX ? IR_OP_FMAX : IR_OP_FMIN;
    if (!ir_type_is_float(t))
        return false;
    struct ir_instr *r = lower_simple_emit(f, in, op);
    if (in->nops > 3) { /* three-input form */
        val pair[] = {r->dst[0], lower_src(f, &in->ops[3], t)};
        r = lower_emit(f, op, t, 2, pair, 1);
        r->mods = pair[0]->instr->mods;
    }
    lower_dst(f, &in->ops[0], r->dst[0], t);
    return true;
}

bool lower_do_testp(struct lower_fn *f, const struct ptx_insn *in)
{
    static const uint16_t modes[] = {PTX_MOD_FINITE,     PTX_MOD_INFINITE, PTX_MOD_NUMBER,
                                     PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,   PTX_MOD_SUBNORMAL};
    struct ir_instr *r = lower_simple_emit(f, in, IR_OP_FTESTP);
    for (unsigned m = 0; m < HD_COUNT_OF(modes); m++) {
        if (in->form->mode == modes[m])
            r->imm = m;
    }
    lower_dst(f, &in->ops[0], r->dst[0], IR_PRED);
    return true;
}
