/*
 * Words: copies become instructions of the machine, branches to what comes next go, control fields
 * are set (control.c), targets get their distance.
 */
#include <string.h>

#include "codegen/mc.h"

struct finish {
    struct codegen_unit *unit;
    struct mc_func *f;
    struct mc_code out;
};

static void rename_unit(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                        unsigned count, enum mc_class class)
{
    struct mc_func *f = context;
    const struct mc_vreg *v;

    (void)insn, (void)access, (void)count, (void)class;
    if (!mc_is_virtual(*unit))
        return;
    v = mc_vreg_of(f, *unit);
    assert(v->assigned >= 0);
    *unit = v->assigned + (*unit - v->first);
}

/* What an instruction reads is renamed before what it writes: each operand once. */
static void rename_insn(struct mc_func *f, struct mc_insn *insn)
{
    mc_visit(f, insn, rename_unit, f);
}

static void push(struct finish *x, struct mc_insn insn)
{
    insn.isa.guard = (uint8_t)insn.guard;
    x->f->failed |= !hd_vec_push(&x->out.insns, insn);
}

static void emit_move(struct finish *x, const struct mc_insn *at, uint32_t to,
                      struct isa_operand from)
{
    bool pred = from.kind == ISA_KIND_PRED;
    struct mc_insn insn;

    if (pred) {
        insn = mc_insn_of(ISA_PLOP3);
        mc_operand_set(&insn.isa, ISA_FIELD_PD, mc_operand(ISA_KIND_PRED, to));
        mc_operand_set(&insn.isa, ISA_FIELD_PA, from);
        insn.isa.operands[mc_operand_of(ISA_PLOP3, ISA_FIELD_LUT)].value = 0xf0;
    } else {
        if (from.kind == ISA_KIND_IMMEDIATE && !(uint32_t)from.value)
            from = mc_operand(ISA_KIND_REG, ISA_RZ);
        from.value = from.kind == ISA_KIND_IMMEDIATE ? (uint32_t)from.value : from.value;
        insn = mc_move(to, from);
    }
    insn.srcloc = at->srcloc;
    push(x, insn);
}

/* a ^= b, of registers or predicates */
static void emit_xor(struct finish *x, const struct mc_insn *at, bool pred, int64_t a, int64_t b)
{
    struct mc_insn insn = mc_insn_of(pred ? ISA_PLOP3 : ISA_LOP3);
    enum isa_kind kind = pred ? ISA_KIND_PRED : ISA_KIND_REG;

    insn.srcloc = at->srcloc;
    mc_operand_set(&insn.isa, pred ? ISA_FIELD_PD : ISA_FIELD_D, mc_operand(kind, a));
    mc_operand_set(&insn.isa, pred ? ISA_FIELD_PA : ISA_FIELD_A, mc_operand(kind, a));
    mc_operand_set(&insn.isa, pred ? ISA_FIELD_PB : ISA_FIELD_B, mc_operand(kind, b));
    insn.isa.operands[mc_operand_of(insn.isa.op, ISA_FIELD_LUT)].value = 0x3c;
    push(x, insn);
}

static bool is_same_class(const struct isa_operand *from, bool pred)
{
    return pred ? from->kind == ISA_KIND_PRED && from->value != ISA_PT
                : from->kind == ISA_KIND_REG && from->value != ISA_RZ;
}

/* Is the old value of `r` still to be read by one of the copies that are left? */
static bool is_awaited(const struct mc_copy *copies, uint32_t n, const struct mc_copy *but,
                       bool pred)
{
    for (uint32_t i = 0; i < n; i++)
        if (&copies[i] != but && is_same_class(&copies[i].from, pred) &&
            copies[i].from.value == but->to)
            return true;
    return false;
}

/* What is left goes in circles: two trade places, and whoever wanted one gets the other. */
static void swap(struct finish *x, const struct mc_insn *at, struct mc_copy *copies, uint32_t n,
                 bool pred)
{
    int64_t a = copies[0].to, b = copies[0].from.value;
    bool negate = copies[0].from.negate;

    emit_xor(x, at, pred, a, b);
    emit_xor(x, at, pred, b, a);
    emit_xor(x, at, pred, a, b);
    copies[0].from.value = a;
    for (uint32_t i = 1; i < n; i++) {
        if (!is_same_class(&copies[i].from, pred))
            continue;
        if (copies[i].from.value == a)
            copies[i].from.value = b;
        else if (copies[i].from.value == b)
            copies[i].from.value = a;
    }
    copies[0].from.negate = negate;
}

static bool is_idle(const struct mc_copy *c, bool pred)
{
    return is_same_class(&c->from, pred) && c->from.value == c->to && !c->from.negate;
}

static void sequence(struct finish *x, const struct mc_insn *at, struct mc_copy *copies, uint32_t n,
                     bool pred)
{
    while (n) {
        bool moved = false;

        for (uint32_t i = 0; i < n; i++) {
            if (!is_idle(&copies[i], pred) && is_awaited(copies, n, &copies[i], pred))
                continue;
            if (!is_idle(&copies[i], pred))
                emit_move(x, at, copies[i].to, copies[i].from);
            copies[i--] = copies[--n];
            moved = true;
        }
        if (!moved)
            swap(x, at, copies, n, pred);
    }
}

static void emit_copies(struct finish *x, const struct mc_insn *insn)
{
    struct mc_copy *all = &x->f->copies.at[insn->first_copy], *part;
    uint32_t n = insn->ncopies;

    part = hd_arena_array(&x->f->arena, struct mc_copy, n + 1);
    if (!part) {
        x->f->failed = true;
        return;
    }
    for (int pred = 0; pred < 2; pred++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < n; i++)
            if ((all[i].from.kind == ISA_KIND_PRED) == pred)
                part[count++] = all[i];
        sequence(x, insn, part, count, pred);
    }
}

static void emit_block(struct finish *x, struct mc_block *b, struct mc_block *next)
{
    b->word = (uint32_t)x->out.insns.len;
    /* A branch to what comes next, and a jump elsewhere: the branch leads there, turned round. */
    if (b->insns.len > 1 && codegen_does(x->f->settings, CODEGEN_JUMPS)) {
        struct mc_insn *jump = &hd_vec_last(&b->insns), *branch = jump - 1;

        if (branch->isa.op == ISA_BRA && branch->guard != ISA_PT && mc_is_jump(jump) &&
            mc_through(x->f, branch->target) == next) {
            branch->isa.guard_not = !branch->isa.guard_not;
            branch->target = jump->target;
            jump->target = next;
        }
    }
    for (size_t i = 0; i < b->insns.len; i++) {
        struct mc_insn *insn = &b->insns.at[i];

        rename_insn(x->f, insn);
        if (insn->isa.op == (enum isa_op)MC_COPY) {
            emit_copies(x, insn);
            continue;
        }
        if (insn->target && insn->isa.op == ISA_BRA)
            insn->target = mc_through(x->f, insn->target);
        if (mc_is_jump(insn) && insn->target == next)
            continue;
        if (insn->is_frame) {
            int64_t *size = &insn->isa.operands[mc_operand_of(insn->isa.op, ISA_FIELD_B)].value;
            uint32_t align = HD_MAX(x->f->ir->module->frame_align_B, 16u);

            /* The next function's frame is aligned, too. */
            *size = (uint32_t)(*size * ((x->f->frame_B + align - 1) & ~(align - 1)));
        }
        push(x, *insn);
        if (mc_is_jump(insn) || (insn->isa.op == ISA_EXIT && insn->guard == ISA_PT))
            break; /* nothing comes behind it */
    }
    if (x->out.insns.len > b->word)
        x->f->failed |= !hd_vec_push(&x->out.blocks, b);
}

/* Blocks that branches lead to, in layout order; the others are left out. */
static void reach(struct mc_func *f, struct mc_block *b, bool *seen)
{
    struct mc_block **work = hd_arena_array(&f->arena, struct mc_block *, f->blocks.len + 1);
    size_t n = 0;

    if (!work) {
        f->failed = true;
        return;
    }
    work[n++] = b;
    seen[b->id] = true;
    while (n) {
        b = work[--n];
        for (size_t i = 0; i < b->insns.len; i++) {
            struct mc_block *to = b->insns.at[i].target;

            if (to && b->insns.at[i].isa.op == ISA_BRA)
                to = mc_through(f, to);
            if (to && !seen[to->id]) {
                seen[to->id] = true;
                work[n++] = to;
            }
        }
    }
}

static enum hd_status encode(struct finish *x, uint32_t start)
{
    struct isa_code *code = x->unit->code;

    if (!hd_vec_reserve(&code->words, start + x->out.insns.len) ||
        !hd_vec_reserve(&code->lines, start + x->out.insns.len))
        return hd_error(HD_NO_MEMORY, "function %s: no memory", x->f->ir->name);
    for (size_t i = 0; i < x->out.insns.len; i++) {
        struct mc_insn *insn = &x->out.insns.at[i];
        struct isa_word word;
        const char *why;

        if (insn->target)
            insn->isa.operands[mc_operand_of(insn->isa.op, ISA_FIELD_TARGET)].value =
                ((int64_t)insn->target->word - (int64_t)i - 1) * ISA_WORD_BYTES;
        if (insn->callee &&
            !hd_vec_push(&x->unit->calls, (struct codegen_call){start + (uint32_t)i, insn->callee}))
            return hd_error(HD_NO_MEMORY, "function %s: no memory", x->f->ir->name);
        why = isa_encode(&insn->isa, &word);
        assert(!why && "selection and registers are such that words exist");
        if (why)
            return hd_error(HD_BAD_IR, "function %s: %s: %s", x->f->ir->name,
                            isa_row(insn->isa.op)->name, why);
        if (insn->is_spill) {
            bool store = insn->isa.op == ISA_STL;
            int moved = mc_operand_of(insn->isa.op, store ? ISA_FIELD_B : ISA_FIELD_D);

            *(store ? &code->spill_stores_B : &code->spill_loads_B) +=
                4 * isa_registers(&insn->isa, (unsigned)moved);
        }
        if (insn->mark &&
            !hd_vec_push(
                &x->unit->options->record->marks,
                (struct codegen_mark){start + (uint32_t)i, x->unit->recorded - 1, insn->mark - 1}))
            return hd_error(HD_NO_MEMORY, "function %s: no memory", x->f->ir->name);
        if (!hd_vec_push(&code->words, word) ||
            !hd_vec_push(&code->lines, (struct isa_line){start + (uint32_t)i, insn->srcloc.file,
                                                         insn->srcloc.line, insn->srcloc.col,
                                                         insn->srcloc.inlined}))
            return hd_error(HD_NO_MEMORY, "function %s: no memory", x->f->ir->name);
    }
    return HD_OK;
}

enum hd_status finish_func(struct codegen_unit *unit, struct mc_func *f)
{
    struct finish x = {.unit = unit, .f = f};
    bool *seen = hd_arena_array(&f->arena, bool, f->blocks.len + 1);
    enum hd_status status = HD_OK;

    mc_number(f);
    if (!seen)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    memset(seen, 0, f->blocks.len);
    if (codegen_does(f->settings, CODEGEN_LAYOUT) && !unit->module->debug)
        HD_TRY(layout(f));
    f->failed |= !hd_vec_reserve(&x.out.insns, f->ninsns);
    reach(f, f->blocks.at[0], seen);
    for (size_t i = 0, next; i < f->blocks.len && !f->failed; i = next) {
        for (next = i + 1; next < f->blocks.len && !seen[next]; next++)
            ;
        if (seen[i])
            emit_block(&x, f->blocks.at[i], next < f->blocks.len ? f->blocks.at[next] : NULL);
    }
    if (f->failed)
        status = hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    else
        status = control_set(f, &x.out);
    if (status == HD_OK && unit->checks)
        status = check_control(f, &x.out);
    if (status == HD_OK)
        report_func(unit, f, &x.out);
    if (status == HD_OK)
        status = encode(&x, (uint32_t)unit->code->words.len);
    hd_vec_fini(&x.out.insns);
    hd_vec_fini(&x.out.blocks);
    return status;
}
