/* Floating-point instructions and conversions. */
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

/* cvt.rn.f16x2.f32 d, a, b: a is the high half */
static bool cvt_pack(struct lower_fn *f, const struct ptx_insn *in, enum ir_type to)
{
    val src[] = {lower_src(f, &in->ops[1], IR_F32), lower_src(f, &in->ops[2], IR_F32)};
    struct ir_instr *r = lower_emit(f, IR_OP_CVTPACK, to, 2, src, 1);
    r->rnd = lower_rounding(in->form);
    ir_set_mod(r, IR_MOD_SAT, in->form->sat);
    ir_set_mod(r, IR_MOD_FTZ, in->form->ftz);
    ir_set_mod(r, IR_MOD_RELU, in->form->relu);
    lower_dst(f, &in->ops[0], r->dst[0], to);
    return true;
}

bool lower_do_cvt(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type to = lower_form_type(in), from = lower_type((enum ptx_type)in->form->types[1]);
    if (in->form->ntypes < 2 || to == IR_VOID || from == IR_VOID)
        return false;
    if (in->nops > 2)
        return (to == IR_F16X2 || to == IR_BF16X2) && from == IR_F32 && cvt_pack(f, in, to);
    if (to == IR_F16X2 || to == IR_BF16X2 || from == IR_F16X2 || from == IR_BF16X2)
        return false;
    val a = lower_src(f, &in->ops[1], from);
    bool ints = !ir_type_is_float(to) && !ir_type_is_float(from);
    if (to == from && !in->form->sat && ints) {
        lower_dst(f, &in->ops[0], a, to);
        return true;
    }
    struct ir_instr *r = lower_emit(f, IR_OP_CVT, to, 1, &a, 1);
    r->type2 = from;
    r->rnd = ints ? IR_RND_NONE : lower_rounding(in->form);
    ir_set_mod(r, IR_MOD_SAT, in->form->sat);
    ir_set_mod(r, IR_MOD_FTZ, in->form->ftz);
    ir_set_mod(r, IR_MOD_RELU, in->form->relu);
    lower_dst(f, &in->ops[0], r->dst[0], to);
    return true;
}
