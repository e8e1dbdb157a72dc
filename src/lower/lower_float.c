/* Floating-point instructions and conversions. */
#include "lower/lower_priv.h"

typedef struct ir_value *val;

static enum ir_type form_type(const struct ptx_insn *in)
{
    return lower_type(ptx_form_type(in->form));
}

static enum ir_rnd rounding(const struct ptx_form *form)
{
    static const enum ir_rnd table[] = {
        [PTX_ROUND_NONE] = IR_RND_NONE, [PTX_ROUND_RN] = IR_RN,   [PTX_ROUND_RZ] = IR_RZ,
        [PTX_ROUND_RM] = IR_RM,         [PTX_ROUND_RP] = IR_RP,   [PTX_ROUND_RNA] = IR_RNA,
        [PTX_ROUND_RNI] = IR_RNI,       [PTX_ROUND_RZI] = IR_RZI, [PTX_ROUND_RMI] = IR_RMI,
        [PTX_ROUND_RPI] = IR_RPI};
    if (form->approx)
        return IR_APPROX;
    if (form->full)
        return IR_FULL;
    return form->round < HD_COUNT_OF(table) ? table[form->round] : IR_RND_NONE;
}

static struct ir_instr *emit_fp(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op,
                                enum ir_type t, unsigned nsrc)
{
    val src[3];
    for (unsigned s = 0; s < nsrc; s++)
        src[s] = lower_src(f, &in->ops[1 + s], t);
    struct ir_instr *r = lower_emit(f, op, t, nsrc, src, 1);
    r->ftz = in->form->ftz;
    r->sat = in->form->sat;
    return r;
}

/* Arithmetic without a written rounding rounds to nearest. */
static bool takes_round(enum ir_op op)
{
    return ir_op_has(op, IR_F_RND);
}

static bool arithmetic(struct lower_fn *f, const struct ptx_insn *in)
{
    static const struct {
        unsigned ptx;
        enum ir_op op;
        unsigned nsrc;
    } table[] = {{PTX_OP_ADD, IR_OP_FADD, 2},          {PTX_OP_SUB, IR_OP_FSUB, 2},
                 {PTX_OP_MUL, IR_OP_FMUL, 2},          {PTX_OP_FMA, IR_OP_FMA, 3},
                 {PTX_OP_MAD, IR_OP_FMA, 3},           {PTX_OP_DIV, IR_OP_FDIV, 2},
                 {PTX_OP_RCP, IR_OP_FRCP, 1},          {PTX_OP_SQRT, IR_OP_FSQRT, 1},
                 {PTX_OP_RSQRT, IR_OP_FRSQRT, 1},      {PTX_OP_SIN, IR_OP_FSIN, 1},
                 {PTX_OP_COS, IR_OP_FCOS, 1},          {PTX_OP_EX2, IR_OP_FEX2, 1},
                 {PTX_OP_LG2, IR_OP_FLG2, 1},          {PTX_OP_TANH, IR_OP_FTANH, 1},
                 {PTX_OP_NEG, IR_OP_FNEG, 1},          {PTX_OP_ABS, IR_OP_FABS, 1},
                 {PTX_OP_COPYSIGN, IR_OP_FCOPYSIGN, 2}};
    enum ir_type t = form_type(in);
    if (!ir_type_is_float(t))
        return false;
    for (size_t i = 0; i < HD_COUNT_OF(table); i++) {
        if (table[i].ptx != in->form->op)
            continue;
        struct ir_instr *r = emit_fp(f, in, table[i].op, t, table[i].nsrc);
        if (takes_round(r->op)) {
            r->rnd = rounding(in->form);
            if (r->rnd == IR_RND_NONE)
                r->rnd = IR_RN;
        }
        if (r->op == IR_OP_FMA)
            r->imm = in->form->relu;
        lower_dst(f, &in->ops[0], r->dst[0], t);
        return true;
    }
    return false;
}

static bool min_max(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = form_type(in);
    enum ir_op op = in->form->op == PTX_OP_MAX ? IR_OP_FMAX : IR_OP_FMIN;
    uint64_t imm = (uint64_t)ptx_form_has(in->form, PTX_MOD_PROPAGATE_NAN) |
                   (uint64_t)ptx_form_has(in->form, PTX_MOD_XORSIGN) << 1;
    if (!ir_type_is_float(t))
        return false;
    struct ir_instr *r = emit_fp(f, in, op, t, 2);
    r->imm = imm;
    if (in->nops > 3) { /* three-input form */
        val pair[] = {r->dst[0], lower_src(f, &in->ops[3], t)};
        r = lower_emit(f, op, t, 2, pair, 1);
        r->ftz = in->form->ftz;
        r->imm = imm;
    }
    lower_dst(f, &in->ops[0], r->dst[0], t);
    return true;
}

static bool testp(struct lower_fn *f, const struct ptx_insn *in)
{
    static const uint16_t modes[] = {PTX_MOD_FINITE,     PTX_MOD_INFINITE, PTX_MOD_NUMBER,
                                     PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,   PTX_MOD_SUBNORMAL};
    struct ir_instr *r = emit_fp(f, in, IR_OP_FTESTP, form_type(in), 1);
    r->ftz = false;
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
    r->rnd = rounding(in->form);
    r->sat = in->form->sat;
    r->ftz = in->form->ftz;
    r->imm = in->form->relu;
    lower_dst(f, &in->ops[0], r->dst[0], to);
    return true;
}

static bool cvt(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type to = form_type(in), from = lower_type((enum ptx_type)in->form->types[1]);
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
    r->rnd = ints ? IR_RND_NONE : rounding(in->form);
    r->sat = in->form->sat;
    r->ftz = in->form->ftz;
    r->imm = in->form->relu;
    lower_dst(f, &in->ops[0], r->dst[0], to);
    return true;
}

bool lower_float(struct lower_fn *f, const struct ptx_insn *in)
{
    switch (in->form->op) {
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return min_max(f, in);
    case PTX_OP_TESTP:
        return testp(f, in);
    case PTX_OP_CVT:
        return cvt(f, in);
    default:
        return arithmetic(f, in);
    }
}
