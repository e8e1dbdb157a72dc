/*
 * Instructions that are one IR operation: column IR(..) of spec/ptx_ops.def. Operands come from the
 * roles of both tables, modifiers from what the IR operation takes, so a new one is a row.
 */
#include "lower/lower_priv.h"

typedef struct ir_value *val;

enum { SOURCES_MAX = 4 };

/* Asks for what happens anyway, or whoever calls lower_simple_emit() reads it. */
static bool is_read_elsewhere(const struct ptx_form *form, enum ptx_mod mod)
{
    static const enum ptx_mod known[] = {PTX_MOD_TYPE, PTX_MOD_RN,     PTX_MOD_RZ,    PTX_MOD_RM,
                                         PTX_MOD_RP,   PTX_MOD_FULL,   PTX_MOD_CLAMP, PTX_MOD_NOFTZ,
                                         PTX_MOD_ABS,  PTX_MOD_APPROX, PTX_MOD_AND,   PTX_MOD_OR,
                                         PTX_MOD_XOR,  PTX_MOD_L,      PTX_MOD_R,     PTX_MOD_OOB};
    for (size_t i = 0; i < HD_COUNT_OF(known); i++) {
        if (mod == known[i])
            return true;
    }
    return mod == form->mode;
}

enum ir_rnd lower_rounding(const struct ptx_form *form)
{
    static const enum ir_rnd table[] = {
        [PTX_ROUND_NONE] = IR_RND_NONE, [PTX_ROUND_RN] = IR_RN,   [PTX_ROUND_RZ] = IR_RZ,
        [PTX_ROUND_RM] = IR_RM,         [PTX_ROUND_RP] = IR_RP,   [PTX_ROUND_RNA] = IR_RNA,
        [PTX_ROUND_RS] = IR_RS,         [PTX_ROUND_RNI] = IR_RNI, [PTX_ROUND_RZI] = IR_RZI,
        [PTX_ROUND_RMI] = IR_RMI,       [PTX_ROUND_RPI] = IR_RPI};
    if (form->approx)
        return IR_APPROX;
    if (form->full)
        return IR_FULL;
    return form->round < HD_COUNT_OF(table) ? table[form->round] : IR_RND_NONE;
}

/* Sources by their roles: `u` is 32 bits, the others have the type of the instruction. */
static uint32_t read_sources(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op,
                             val src[SOURCES_MAX])
{
    const char *roles = ptx_op_info((enum ptx_op)in->form->op)->sig + 1;
    uint32_t n = 0, max = ir_operands_max(ir_op_infos[op].src);
    assert(max <= SOURCES_MAX);
    for (; n < max && n + 1 < in->nops && roles[n] && strchr("shuw", roles[n]); n++)
        src[n] = lower_src(f, &in->ops[1 + n], roles[n] == 'u' ? IR_U32 : lower_form_type(in));
    assert(n >= ir_operands_min(ir_op_infos[op].src));
    return n;
}

struct ir_instr *lower_simple_emit(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    val src[SOURCES_MAX];
    assert(ir_operands_fixed(ir_op_infos[op].dst) == 1);
    uint32_t n = read_sources(f, in, op, src);
    struct ir_instr *r = lower_emit(f, op, lower_form_type(in), n, src, 1);
    for (unsigned i = 0; i < in->form->nmods; i++) {
        enum ptx_mod mod = (enum ptx_mod)in->form->mods[i].id;
        uint32_t ir = lower_mods[mod].ir & ir_op_infos[r->op].mods;
        if (!ir && !is_read_elsewhere(in->form, mod))
            lower_fail_form(f, "a modifier is not supported");
        r->mods |= ir;
    }
    if (!ir_op_has(op, IR_F_RND))
        return r;
    r->rnd = lower_rounding(in->form);
    if (r->rnd == IR_RND_NONE) /* arithmetic without a written rounding rounds to nearest */
        r->rnd = IR_RN;
    return r;
}

void lower_simple_dst(struct lower_fn *f, const struct ptx_insn *in, struct ir_instr *r)
{
    bool is32 = ptx_op_info((enum ptx_op)in->form->op)->sig[0] == 'x';
    lower_dst(f, &in->ops[0], r->dst[0], is32 ? IR_U32 : lower_form_type(in));
}

bool lower_simple(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    if (op == LOWER_NO_OP)
        return false;
    lower_simple_dst(f, in, lower_simple_emit(f, in, op));
    return true;
}

bool lower_do_simple(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct lower_op *row = &lower_ops[in->form->op];
    enum ir_type t = lower_form_type(in);
    if (t == IR_VOID)
        return false;
    return lower_simple(f, in, ir_type_is_float(t) ? row->float_op : row->int_op);
}
