/*
 * Instructions on multimem addresses (docs/decisions/0097): each is one operation, which finds the
 * replicas itself. What may stand together is in spec/ptx_forms.def.
 */
#include "model/multimem.h"

#include <assert.h>

#include "lower/lower_async.h"

typedef struct ir_value *val;

/* Of packed types one element. */
static enum ir_type element_of(enum ptx_type type)
{
    switch (type) {
    case PTX_TYPE_E4M3:
    case PTX_TYPE_E4M3X2:
    case PTX_TYPE_E4M3X4:
        return IR_E4M3;
    case PTX_TYPE_E5M2:
    case PTX_TYPE_E5M2X2:
    case PTX_TYPE_E5M2X4:
        return IR_E5M2;
    default:
        return ir_type_element(lower_type(type));
    }
}

static enum ir_type register_of(enum ptx_type type)
{
    return ir_type_of_bits(ptx_type_bits(type));
}

static enum ir_multimem_verb verb_of(enum ptx_op op)
{
    return op == PTX_OP_MULTIMEM_LD_REDUCE ? IR_MULTIMEM_LOAD
           : op == PTX_OP_MULTIMEM_ST      ? IR_MULTIMEM_STORE
                                           : IR_MULTIMEM_RED;
}

static void fields_set(struct ir_instr *r, const struct ptx_insn *in, const struct lower_memref *at,
                       enum ir_multimem_verb verb)
{
    const struct ptx_form *form = in->form;
    bool wide = ptx_form_has(form, PTX_MOD_ACC_F32) || ptx_form_has(form, PTX_MOD_ACC_F16);
    unsigned register_B = form->ntypes ? ptx_type_bits(ptx_form_type(form)) / 8 : 0;
    lower_access_set(r, at, form->vec ? form->vec : 1);
    r->imm = ir_multimem_imm(verb, register_B, wide);
    r->mem.sem = lower_sem(form);
    r->mem.scope = lower_scope(form);
    if (form->subop)
        (void)lower_reduction(form, &r->mem.atom);
}

/* Register i of an operand that is one or a list of them. */
static const struct ptx_operand *part(const struct ptx_insn *in, uint32_t operand, uint32_t i)
{
    const struct ptx_operand *op = &in->ops[operand];
    return op->kind == PTX_OPND_VEC ? &op->items[i] : op;
}

bool lower_do_multimem(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ptx_type type = ptx_form_type(in->form);
    enum ir_multimem_verb verb = verb_of((enum ptx_op)in->form->op);
    bool loads = verb == IR_MULTIMEM_LOAD;
    uint32_t n = in->form->vec ? in->form->vec : 1;
    struct lower_memref at = lower_memref_of(f, &in->ops[loads], ptx_form_space(in->form));
    val src[1 + IR_MULTIMEM_REGISTERS] = {at.address};
    assert(n <= IR_MULTIMEM_REGISTERS);
    for (uint32_t i = 0; i < n && !loads; i++)
        src[1 + i] = lower_src(f, part(in, 1, i), register_of(type));
    struct ir_instr *r =
        lower_emit(f, IR_OP_MULTIMEM, element_of(type), loads ? 1 : 1 + n, src, loads ? n : 0);
    fields_set(r, in, &at, verb);
    for (uint32_t i = 0; i < r->ndst; i++)
        r->dst[i]->type = register_of(type);
    for (uint32_t i = 0; i < r->ndst; i++)
        lower_dst(f, part(in, 0, i), r->dst[i], register_of(type));
    return true;
}

/* multimem.cp.async.bulk and .cp.reduce.async.bulk: done where they are issued (0091). */
bool lower_do_multimem_bulk(struct lower_fn *f, const struct ptx_insn *in)
{
    bool reduces = in->form->op == PTX_OP_MULTIMEM_CP_REDUCE_ASYNC_BULK;
    val size = lower_bulk_size(f, &in->ops[2]);
    if (!size)
        return true;
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], PTX_SPACE_GLOBAL);
    struct lower_memref src = lower_memref_of(f, &in->ops[1], PTX_SPACE_SHARED_CTA);
    val ops[4] = {dst.address, lower_generic(f, &src), size};
    if (!reduces)
        ops[3] = in->nops == 4 ? lower_cta_mask(f, &in->ops[3]) : lower_const(f, IR_B32, 0xffff);
    enum ir_type type = reduces ? lower_form_type(in) : IR_B8;
    struct ir_instr *r = lower_emit(f, IR_OP_MULTIMEM, type, reduces ? 3 : 4, ops, 0);
    fields_set(r, in, &dst, reduces ? IR_MULTIMEM_COPY_RED : IR_MULTIMEM_COPY);
    return true;
}
