/*
 * A sum or product that is only wanted where a predicate holds is guarded, when what is wanted else
 * is one of its sources or nobody else's: of FADD d = a + b, SEL e = p ? d : a becomes MOV e = a,
 * @p FADD e = e + b. The move goes where a is not wanted any more.
 *
 * Libraries of mathematics choose signs and special results so, and converted branches have the
 * form. Lanes that do not want the operation do not execute it, as with the branch. Comparisons of
 * numbers from the same computation come late, and the operation had to wait for them: where they
 * choose, it stays as it is. Profiles of a GPU show both.
 */
#include "codegen/mc.h"

#include <assert.h>

#include "base/mem.h"

/* Of a unit: how often it is written and read in the function, and where it was written last. */
struct use {
    uint32_t writes, reads;
    uint32_t block, insn; /* the last write */
    enum isa_op op;       /* thereof */
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
        use->op = insn->isa.op;
    }
}

static const struct isa_operand *operand_of(const struct mc_insn *insn, enum isa_field field)
{
    return &insn->isa.operands[mc_operand_of(insn->isa.op, field)];
}

struct search {
    int64_t unit;
    bool found;
};

static void find_write(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                       unsigned units, enum mc_class class)
{
    struct search *s = context;

    s->found = s->found || (access == MC_WRITE && s->unit >= *unit && s->unit < *unit + units);
}

static bool is_unit(const struct isa_operand *o)
{
    return o->kind == ISA_KIND_REG && mc_is_virtual(o->value) && !o->negate && !o->absolute;
}

/* What becomes of an instruction. */
struct change {
    uint32_t operation; /* of a selection: 1 + its number; it is guarded, and takes its place */
    int64_t else_;      /* what is there for lanes that do not execute it */
    bool where_not;
    bool goes; /* the operation, from where it was */
};

/*
 * The operation of the same block that makes `wanted`, for this alone, where it costs no more to
 * have `else_` in the register before: it is not read any more, but by the operation. NULL: none.
 */
static const struct mc_insn *made_by(struct mc_func *f, struct mc_block *b, uint32_t sel,
                                     const struct use *uses, const struct isa_operand *wanted,
                                     const struct isa_operand *else_)
{
    const struct mc_insn *insn;
    const struct use *use;
    bool reads_else = false;
    enum isa_op op;

    if (!is_unit(wanted) || !is_unit(else_))
        return NULL;
    use = &uses[wanted->value];
    if (use->writes != 1 || use->reads != 1 || use->block != b->id)
        return NULL;
    insn = &b->insns.at[use->insn];
    op = insn->isa.op;
    if ((op != ISA_FADD && op != ISA_FMUL && op != ISA_FFMA) || insn->guard != ISA_PT ||
        insn->isa.guard_not)
        return NULL;
    /* It moves down: nothing writes its sources between. */
    for (unsigned i = 0; i < isa_row(op)->noperands; i++) {
        const struct isa_operand *o = &insn->isa.operands[i];
        struct search search = {.unit = o->value, .found = o->kind == ISA_KIND_UREG};

        if (isa_row(op)->operands[i].field == ISA_FIELD_D || o->kind == ISA_KIND_IMMEDIATE)
            continue;
        if (o->kind == ISA_KIND_REG && mc_is_virtual(o->value) && uses[o->value].writes != 1)
            for (uint32_t k = use->insn + 1; k < sel && !search.found; k++)
                mc_visit(f, &b->insns.at[k], find_write, &search);
        if (search.found)
            return NULL;
        reads_else = reads_else || (o->kind == ISA_KIND_REG && o->value == else_->value);
    }
    return reads_else || uses[else_->value].reads == 1 ? insn : NULL;
}

/* The operation is guarded, and reads what is moved before. */
static void guard(struct mc_insn *operation, struct mc_insn *move, const struct mc_insn *sel,
                  const struct change *change)
{
    const struct isa_operand d = *operand_of(sel, ISA_FIELD_D), p = *operand_of(sel, ISA_FIELD_PA);
    const struct isa_row *row = isa_row(operation->isa.op);

    for (unsigned i = 0; i < row->noperands; i++) {
        struct isa_operand *o = &operation->isa.operands[i];

        if (row->operands[i].field == ISA_FIELD_D ||
            (o->kind == ISA_KIND_REG && o->value == change->else_))
            o->value = d.value;
    }
    operation->guard = (uint32_t)p.value;
    operation->isa.guard_not = p.negate != change->where_not;
    *move = mc_move(d.value, mc_operand(ISA_KIND_REG, change->else_));
    move->srcloc = operation->srcloc;
}

/* How many operations are to be guarded. */
static unsigned choose(struct mc_func *f, struct mc_block *b, const struct use *uses,
                       struct change *changes)
{
    unsigned n = 0;

    for (size_t i = 0; i < b->insns.len; i++) {
        const struct mc_insn *sel = &b->insns.at[i], *made;
        const struct isa_operand *yes, *no, *p;
        enum isa_op test;

        changes[i] = (struct change){0};
        if (sel->isa.op != ISA_SEL || sel->guard != ISA_PT || sel->isa.guard_not)
            continue;
        yes = operand_of(sel, ISA_FIELD_A);
        no = operand_of(sel, ISA_FIELD_B);
        p = operand_of(sel, ISA_FIELD_PA);
        if (p->kind != ISA_KIND_PRED || !mc_is_virtual(p->value) || uses[p->value].writes != 1)
            continue;
        test = uses[p->value].op;
        if ((test != ISA_ISETP && test != ISA_LOP3) ||
            uses[operand_of(sel, ISA_FIELD_D)->value].writes != 1)
            continue;
        made = made_by(f, b, (uint32_t)i, uses, yes, no);
        changes[i].where_not = !made;
        if (!made)
            made = made_by(f, b, (uint32_t)i, uses, no, yes);
        if (!made)
            continue;
        changes[i].operation = (uint32_t)(made - b->insns.at) + 1;
        changes[i].else_ = changes[i].where_not ? yes->value : no->value;
        changes[made - b->insns.at].goes = true;
        n++;
    }
    return n;
}

static bool guard_block(struct mc_func *f, struct mc_block *b, const struct use *uses,
                        struct change *changes)
{
    HD_VEC(struct mc_insn) old = {0};
    bool ok;

    if (!choose(f, b, uses, changes))
        return true;
    ok = hd_vec_reserve(&old, b->insns.len);
    for (size_t i = 0; i < b->insns.len && ok; i++)
        ok = hd_vec_push(&old, b->insns.at[i]);
    b->insns.len = 0;
    for (size_t i = 0; i < old.len && ok; i++) {
        struct mc_insn operation, move;

        if (changes[i].operation) {
            operation = old.at[changes[i].operation - 1];
            guard(&operation, &move, &old.at[i], &changes[i]);
            ok = hd_vec_push(&b->insns, move) && hd_vec_push(&b->insns, operation);
        } else if (!changes[i].goes) {
            ok = hd_vec_push(&b->insns, old.at[i]);
        }
    }
    hd_vec_fini(&old);
    return ok;
}

enum hd_status predicate(struct mc_func *f)
{
    struct count c = {.uses = hd_alloc_array(MC_UNITS + f->units.len + 1, sizeof(struct use))};
    struct change *changes;
    bool ok = true;

    mc_number(f);
    changes = hd_alloc_array(f->ninsns + 1, sizeof(*changes));
    for (size_t i = 0; i < f->blocks.len && c.uses; i++)
        for (size_t k = 0; k < f->blocks.at[i]->insns.len; k++) {
            c.block = (uint32_t)i;
            c.insn = (uint32_t)k;
            mc_visit(f, &f->blocks.at[i]->insns.at[k], count, &c);
        }
    ok = c.uses && changes;
    for (size_t i = 0; i < f->blocks.len && ok; i++)
        ok = guard_block(f, f->blocks.at[i], c.uses, changes);
    hd_free(changes);
    hd_free(c.uses);
    return ok ? HD_OK : hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
}
