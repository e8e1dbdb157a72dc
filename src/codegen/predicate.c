/*
 * A sum or product that is only wanted where a predicate holds, and else one of its own sources, is
 * guarded: of FADD d = a + b, SEL e = p ? d : a becomes MOV e = a, @p FADD e = e + b. The move goes
 * where a is not wanted any more.
 *
 * Libraries of mathematics choose signs so, and converted branches have the form. Lanes that do not
 * want the operation do not execute it, as with the branch.
 */
#include "codegen/mc.h"

#include <assert.h>

#include "base/mem.h"

/* Of a unit: how often it is written and read in the function, and where it was written last. */
struct use {
    uint32_t writes, reads;
    uint32_t block, insn; /* the last write */
};

struct count {
    struct use *uses; /* by unit */
    uint32_t block, insn;
};

static void count(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                  unsigned units, enum mc_class class)
{
    struct count *c = context;

    for (unsigned i = 0; i < units; i++) {
        struct use *use = &c->uses[*unit + i];

        if (access == MC_READ) {
            use->reads++;
            continue;
        }
        use->writes++;
        use->block = c->block;
        use->insn = c->insn;
    }
}

static const struct isa_operand *operand_of(const struct mc_insn *insn, enum isa_field field)
{
    return &insn->isa.operands[mc_operand_of(insn->isa.op, field)];
}

static bool is_unit(const struct isa_operand *o)
{
    return o->kind == ISA_KIND_REG && mc_is_virtual(o->value) && !o->negate && !o->absolute;
}

static bool reads(const struct mc_insn *insn, int64_t unit)
{
    const struct isa_row *row = isa_row(insn->isa.op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field != ISA_FIELD_D && insn->isa.operands[i].kind == ISA_KIND_REG &&
            insn->isa.operands[i].value == unit)
            return true;
    return false;
}

/* The operation of the same block that makes `wanted`, for this alone, of `else_`; NULL: none. */
static struct mc_insn *made_by(struct mc_block *b, const struct use *uses,
                               const struct isa_operand *wanted, const struct isa_operand *else_)
{
    const struct use *use;
    struct mc_insn *insn;
    enum isa_op op;

    if (!is_unit(wanted) || !is_unit(else_) || uses[else_->value].writes != 1)
        return NULL;
    use = &uses[wanted->value];
    if (use->writes != 1 || use->reads != 1 || use->block != b->id)
        return NULL;
    insn = &b->insns.at[use->insn];
    op = insn->isa.op;
    if ((op != ISA_FADD && op != ISA_FMUL && op != ISA_FFMA) || insn->guard != ISA_PT ||
        insn->isa.guard_not)
        return NULL;
    return reads(insn, else_->value) ? insn : NULL;
}

/* Sources of what moves down are what they were: each has one definition. */
static bool sources_stay(const struct mc_insn *insn, const struct use *uses)
{
    const struct isa_row *row = isa_row(insn->isa.op);

    for (unsigned i = 0; i < row->noperands; i++) {
        const struct isa_operand *o = &insn->isa.operands[i];

        if (row->operands[i].field != ISA_FIELD_D && o->kind == ISA_KIND_REG &&
            mc_is_virtual(o->value) && uses[o->value].writes != 1)
            return false;
        if (o->kind == ISA_KIND_UREG)
            return false;
    }
    return true;
}

/* The operation becomes the move, and the selection the operation, which reads what was moved. */
static void guard(struct mc_insn *made, struct mc_insn *sel, int64_t else_, bool where_not)
{
    const struct isa_operand d = *operand_of(sel, ISA_FIELD_D), p = *operand_of(sel, ISA_FIELD_PA);
    struct mc_insn move = mc_move(d.value, mc_operand(ISA_KIND_REG, else_)), operation = *made;
    const struct isa_row *row = isa_row(operation.isa.op);

    for (unsigned i = 0; i < row->noperands; i++) {
        struct isa_operand *o = &operation.isa.operands[i];

        if (row->operands[i].field == ISA_FIELD_D || (o->kind == ISA_KIND_REG && o->value == else_))
            o->value = d.value;
    }
    move.srcloc = made->srcloc;
    operation.guard = (uint32_t)p.value;
    operation.isa.guard_not = p.negate != where_not;
    *made = move;
    *sel = operation;
}

static void guard_block(struct mc_block *b, const struct use *uses)
{
    for (size_t i = 0; i < b->insns.len; i++) {
        struct mc_insn *sel = &b->insns.at[i], *made;
        const struct isa_operand *yes, *no, *p;

        if (sel->isa.op != ISA_SEL || sel->guard != ISA_PT || sel->isa.guard_not)
            continue;
        yes = operand_of(sel, ISA_FIELD_A);
        no = operand_of(sel, ISA_FIELD_B);
        p = operand_of(sel, ISA_FIELD_PA);
        if (p->kind != ISA_KIND_PRED || !mc_is_virtual(p->value) || uses[p->value].writes != 1 ||
            uses[operand_of(sel, ISA_FIELD_D)->value].writes != 1)
            continue;
        if ((made = made_by(b, uses, yes, no)) && sources_stay(made, uses))
            guard(made, sel, no->value, false);
        else if ((made = made_by(b, uses, no, yes)) && sources_stay(made, uses))
            guard(made, sel, yes->value, true);
    }
}

enum hd_status predicate(struct mc_func *f)
{
    struct count c = {.uses = hd_alloc_array(MC_UNITS + f->units.len + 1, sizeof(struct use))};

    if (!c.uses)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    mc_number(f);
    for (size_t i = 0; i < f->blocks.len; i++)
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++) {
            c.block = (uint32_t)i;
            c.insn = (uint32_t)k;
            mc_visit(f, &f->blocks.at[i]->insns.at[k], count, &c);
        }
    for (size_t i = 0; i < f->blocks.len; i++)
        guard_block(f->blocks.at[i], c.uses);
    hd_free(c.uses);
    return HD_OK;
}
