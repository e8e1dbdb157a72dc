/* What all of the selection is made with: values, operands, instructions, blocks. See select.h. */
#include "codegen/select.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"

/* ---- registers */

uint32_t sel_new(struct sel *s, unsigned width)
{
    return mc_vreg_create(s->f, MC_REG, width);
}

uint32_t sel_new_pred(struct sel *s)
{
    return mc_vreg_create(s->f, MC_PRED, 1);
}

void sel_set_units(struct sel *s, const struct ir_value *v, uint32_t unit)
{
    s->values[v->id] = (struct sel_value){.kind = SEL_UNITS, .unit = unit};
}

uint32_t sel_def(struct sel *s, unsigned i)
{
    const struct ir_value *v = s->at->dst[i];
    uint32_t unit;

    if (s->values[v->id].kind == SEL_UNITS) /* a phi's */
        return s->values[v->id].unit;
    unit = v->type == IR_PRED ? sel_new_pred(s) : sel_new(s, sel_words(v->type));
    sel_set_units(s, v, unit);
    return unit;
}

void sel_set(struct sel *s, const struct ir_value *v, struct isa_operand o)
{
    struct sel_value *value = &s->values[v->id];

    if (o.kind == ISA_KIND_IMMEDIATE)
        *value = (struct sel_value){.kind = SEL_NUMBER, .lo = (uint64_t)o.value};
    else if (o.kind == ISA_KIND_CONSTANT)
        *value =
            (struct sel_value){.kind = SEL_CONSTANT, .bank = o.bank, .unit = (uint32_t)o.value};
    else
        *value = (struct sel_value){.kind = SEL_UNITS, .unit = (uint32_t)o.value};
    assert(!o.negate && !o.absolute);
}

/* ---- operands */

bool sel_is_number(const struct sel *s, const struct ir_value *v, uint64_t *out)
{
    const struct sel_value *value = &s->values[v->id];

    *out = value->lo;
    return value->kind == SEL_NUMBER && !value->hi;
}

struct isa_operand sel_word(struct sel *s, const struct ir_value *v, unsigned i)
{
    const struct sel_value *value = &s->values[v->id];

    switch (value->kind) {
    case SEL_UNITS:
        return sel_unit(value->unit + i);
    case SEL_CONSTANT:
        return sel_constant(value->bank, value->unit + 4 * i);
    case SEL_NUMBER:
        return sel_number((uint32_t)((i < 2 ? value->lo : value->hi) >> (i % 2 * 32)));
    default:
        assert(!"a value that was selected");
        return SEL_RZ;
    }
}

struct isa_operand sel_pair(struct sel *s, const struct ir_value *v)
{
    const struct sel_value *value = &s->values[v->id];

    return value->kind == SEL_NUMBER ? sel_number(value->lo) : sel_word(s, v, 0);
}

struct isa_operand sel_pred(struct sel *s, const struct ir_value *v)
{
    const struct sel_value *value = &s->values[v->id];

    assert(v->type == IR_PRED && value->kind != SEL_NONE);
    if (value->kind == SEL_NUMBER)
        return value->lo & 1 ? SEL_TRUE : SEL_FALSE;
    return sel_p(value->unit);
}

struct isa_operand sel_src(struct sel *s, unsigned i)
{
    return sel_word(s, s->at->src[i], 0);
}

struct isa_operand sel_src64(struct sel *s, unsigned i)
{
    return sel_pair(s, s->at->src[i]);
}

struct isa_operand sel_srcp(struct sel *s, unsigned i)
{
    return sel_pred(s, s->at->src[i]);
}

struct isa_operand sel_half(struct isa_operand pair, unsigned i)
{
    switch (pair.kind) {
    case ISA_KIND_IMMEDIATE:
        return sel_number((uint32_t)((uint64_t)pair.value >> (32 * i)));
    case ISA_KIND_CONSTANT:
        pair.value += 4 * i;
        return pair;
    default:
        if (pair.value != ISA_RZ)
            pair.value += i;
        return pair;
    }
}

void sel_load_bank(struct sel *s, uint32_t d, unsigned bank, uint32_t base, int32_t offset,
                   unsigned size)
{
    uint32_t at = base;

    if (offset < INT16_MIN || offset > INT16_MAX) {
        at = sel_new(s, 1);
        EMIT(s, IADD3, D(at), A(sel_unit(base)), B(sel_number((uint32_t)offset)));
        offset = 0;
    }
    EMIT(s, LDC, D(d), NUMBER(BANK, bank), A(sel_unit(at)), NUMBER(CONST_OFFSET, offset),
         MODV(SZ, size));
}

uint32_t sel_in_unit(struct sel *s, struct isa_operand o)
{
    uint32_t unit;

    assert(!o.negate && !o.absolute);
    if (o.kind == ISA_KIND_REG)
        return (uint32_t)o.value;
    if (o.kind == ISA_KIND_IMMEDIATE && !(uint32_t)o.value)
        return ISA_RZ;
    unit = sel_new(s, 1);
    if (o.kind == ISA_KIND_CONSTANT && o.value > INT16_MAX)
        sel_load_bank(s, unit, o.bank, ISA_RZ, (int32_t)o.value, ISA_SZ_DEFAULT);
    else
        EMIT(s, MOV, D(unit), B(o));
    return unit;
}

uint32_t sel_in_pair(struct sel *s, struct isa_operand o)
{
    uint32_t unit;

    assert(!o.negate && !o.absolute);
    if (o.kind == ISA_KIND_REG)
        return (uint32_t)o.value;
    if (o.kind == ISA_KIND_IMMEDIATE && !o.value)
        return ISA_RZ;
    unit = sel_new(s, 2);
    if (o.kind == ISA_KIND_CONSTANT) {
        sel_load_bank(s, unit, o.bank, ISA_RZ, (int32_t)o.value, ISA_SZ_64);
        return unit;
    }
    EMIT(s, MOV, D(unit), B(sel_half(o, 0)));
    EMIT(s, MOV, D(unit + 1), B(sel_half(o, 1)));
    return unit;
}

uint32_t sel_in_whole_pair(struct sel *s, struct isa_operand o)
{
    uint32_t unit = sel_in_pair(s, o);

    return unit == ISA_RZ ? sel_tuple(s, (struct isa_operand[]){SEL_RZ, SEL_RZ}, 2) : unit;
}

/* Are they units of one register already, that begin where a tuple may? */
static bool is_tuple(const struct sel *s, const struct isa_operand *words, unsigned n)
{
    const struct mc_vreg *vreg;
    unsigned align = n <= 1 ? 1 : n == 2 ? 2 : 4;

    for (unsigned i = 0; i < n; i++)
        if (words[i].kind != ISA_KIND_REG || words[i].value != words[0].value + i ||
            words[i].negate || words[i].absolute)
            return false;
    if (!mc_is_virtual(words[0].value))
        return false;
    vreg = mc_vreg_of(s->f, words[0].value);
    return mc_vreg_of(s->f, words[n - 1].value) == vreg && vreg->align >= align &&
           (words[0].value - vreg->first) % align == 0;
}

uint32_t sel_tuple(struct sel *s, const struct isa_operand *words, unsigned n)
{
    uint32_t unit;

    if (n == 1)
        return sel_in_unit(s, words[0]);
    if (is_tuple(s, words, n))
        return (uint32_t)words[0].value;
    unit = sel_new(s, n);
    for (unsigned i = 0; i < n; i++)
        EMIT(s, MOV, D(unit + i), B(words[i]));
    return unit;
}

struct isa_operand sel_packed(struct sel *s, const struct isa_operand *part, unsigned n,
                              unsigned bits)
{
    struct isa_operand low = part[0];
    uint32_t d;

    for (unsigned i = 1; i < n; i++) {
        /* Byte i, or the upper half, is the other's lowest. */
        unsigned how = bits == 16 ? 0x5410 : i == 1 ? 0x3240 : i == 2 ? 0x3410 : 0x4210;

        d = sel_new(s, 1);
        EMIT(s, PRMT, D(d), A(low), B(sel_number(how)), C(part[i]));
        low = sel_unit(d);
    }
    return low;
}

uint32_t sel_part_of(struct sel *s, uint32_t unit, unsigned i, unsigned bits)
{
    uint32_t d, word = unit + i * bits / 32;

    if (bits >= 32)
        return word;
    d = sel_new(s, 1);
    EMIT(s, PRMT, D(d), A(sel_unit(word)),
         B(sel_number(bits == 8 ? 0x4440 + i % 4
                      : i % 2   ? 0x4432
                                : 0x4410)),
         C(SEL_RZ));
    return d;
}

/* ---- instructions */

static bool is_ordered(const struct ir_instr *in)
{
    if (in->op == IR_OP_SREG)
        return ir_sreg_scope((enum ir_sreg)in->imm) == IR_SREG_VOLATILE;
    return in->mem.sem != IR_SEM_WEAK;
}

struct mc_insn *sel_push(struct sel *s, struct mc_insn insn)
{
    insn.from = s->at;
    if (s->at) {
        insn.srcloc = s->at->srcloc;
        insn.is_uniform = s->at->ndst && !s->meets.apart[s->at->block->id] &&
                          s->meets.shapes->of[s->at->dst[0]->id].kind == IR_SHAPE_UNIFORM;
        insn.is_ordered = is_ordered(s->at);
    }
    if (hd_vec_push(&s->b->insns, insn))
        return &hd_vec_last(&s->b->insns);
    s->f->failed = true;
    static _Thread_local struct mc_insn nowhere; /* what is set there is lost, like the function */
    nowhere = insn;
    return &nowhere;
}

/* The first two sources may trade places. */
static bool commutes(enum isa_op op)
{
    switch (op) {
    case ISA_IADD3:
    case ISA_IMAD:
    case ISA_IMAD_HI:
    case ISA_IMNMX:
    case ISA_IADD2:
    case ISA_FADD:
    case ISA_FMUL:
    case ISA_FFMA:
    case ISA_HADD2:
    case ISA_HMUL2:
    case ISA_HFMA2:
        return true;
    default:
        return false;
    }
}

/* A sign on a number is part of the number. */
static void fold_sign(const struct isa_row *row, struct isa_operand *o)
{
    uint32_t n = (uint32_t)o->value,
             sign = row->immediate == ISA_IMMEDIATE_F16X2 ? 0x80008000u : 0x80000000u;

    if (row->immediate == ISA_IMMEDIATE_INT) {
        n = o->negate ? 0 - n : n;
    } else {
        n = o->absolute ? n & ~sign : n;
        n = o->negate ? n ^ sign : n;
    }
    *o = sel_number(n);
}

static void bring_in(struct sel *s, struct isa_operand *o, unsigned count)
{
    bool negate = o->negate, absolute = o->absolute;

    o->negate = o->absolute = false;
    *o = sel_unit(count == 2 ? sel_in_pair(s, *o) : sel_in_unit(s, *o));
    o->negate = negate;
    o->absolute = absolute;
}

/* A number of 64 bits as the upper half of a double, from the bank of literals, or in registers. */
static void place_wide_number(struct sel *s, const struct isa_row *row, struct isa_operand *o)
{
    uint64_t bits = (uint64_t)o->value;
    struct isa_operand literal;
    uint32_t at;

    if (!o->value && !o->negate) {
        *o = SEL_RZ;
    } else if (row->immediate == ISA_IMMEDIATE_F64 && !(uint32_t)bits) {
        o->value = (int64_t)(bits >> 32);
        fold_sign(row, o);
    } else if ((at = codegen_literal(s->unit, bits)) == CODEGEN_NO_LITERAL) {
        bring_in(s, o, 2);
    } else {
        literal = sel_constant(ISA_BANK_LITERALS, at);
        literal.negate = o->negate;
        literal.absolute = o->absolute;
        *o = literal;
    }
}

/*
 * Makes operands such as the word can have: of b and c one may be a number or a constant, where the
 * table allows it and its form exists; of the others none.
 */
static void legalize(struct sel *s, struct mc_insn *insn)
{
    const struct isa_row *row = isa_row(insn->isa.op);
    int a = mc_operand_of(insn->isa.op, ISA_FIELD_A), b = mc_operand_of(insn->isa.op, ISA_FIELD_B);
    int d = mc_operand_of(insn->isa.op, ISA_FIELD_D);
    struct isa_operand *o = insn->isa.operands;
    /* MOV is how numbers get into registers; what R1 is raised by is a number that comes later. */
    bool folds = codegen_does(s->f->settings, CODEGEN_FOLD) || insn->isa.op == ISA_MOV ||
                 (d >= 0 && insn->isa.operands[d].value == ISA_REG_STACK);

    if (commutes(insn->isa.op) && a >= 0 && b >= 0 && o[a].kind != ISA_KIND_REG &&
        o[b].kind == ISA_KIND_REG) {
        struct isa_operand swap = o[a];
        o[a] = o[b];
        o[b] = swap;
    }
    for (unsigned i = 0; i < row->noperands; i++) {
        enum isa_field field = (enum isa_field)row->operands[i].field;
        bool is_c = field == ISA_FIELD_C, free = insn->isa.form == ISA_FORM_REGISTER;
        unsigned count = isa_registers(&insn->isa, i);
        enum isa_form form;

        if (o[i].kind != ISA_KIND_IMMEDIATE && o[i].kind != ISA_KIND_CONSTANT)
            continue;
        bool may = (row->operands[i].flags & ISA_ANY_FORM) && free;
        if (may && folds && count == 2 && o[i].kind == ISA_KIND_IMMEDIATE)
            place_wide_number(s, row, &o[i]);
        if (o[i].kind == ISA_KIND_IMMEDIATE && (o[i].negate || o[i].absolute) && count == 1)
            fold_sign(row, &o[i]);
        if (o[i].kind == ISA_KIND_IMMEDIATE && count == 1 && !(uint32_t)o[i].value)
            o[i] = SEL_RZ; /* as bring_in() would */
        if (o[i].kind == ISA_KIND_REG)
            continue;
        form = mc_form_of(&o[i]);
        if (form != ISA_FORM_REGISTER && is_c)
            form += ISA_FORM_C_IMMEDIATE - ISA_FORM_IMMEDIATE;
        if (o[i].kind == ISA_KIND_CONSTANT && o[i].value > INT16_MAX)
            may = false;
        if (may && row->used[form].lo && folds)
            insn->isa.form = form;
        else
            bring_in(s, &o[i], count);
        if (o[i].kind == ISA_KIND_IMMEDIATE)
            o[i].value = (uint32_t)o[i].value;
    }
}

static void set_guard(struct mc_insn *insn, struct isa_operand pred)
{
    insn->isa.guard_not = pred.negate;
    insn->guard = (uint32_t)pred.value;
}

struct mc_insn *sel_emit(struct sel *s, enum isa_op op, const struct sel_arg *args)
{
    struct mc_insn insn = mc_insn_of(op);

    for (; args->kind; args++) {
        if (args->kind == 1) {
            int at = mc_operand_of(op, (enum isa_field)args->which);
            unsigned kind;

            assert(at >= 0 && "the instruction has this operand");
            kind = insn.isa.operands[at].kind;
            insn.isa.operands[at] = args->operand;
            if (args->operand.kind == ISA_KIND_UINT) /* SINT, SREG .. */
                insn.isa.operands[at].kind = (uint8_t)kind;
        } else if (args->kind == 2) {
            mc_mod_set(&insn.isa, (enum isa_mod)args->which, args->value);
        } else {
            set_guard(&insn, args->operand);
        }
    }
    legalize(s, &insn);
    return sel_push(s, insn);
}

void sel_copy(struct sel *s, uint32_t to, struct isa_operand from)
{
    struct mc_insn insn = mc_insn_of((enum isa_op)MC_COPY);

    insn.first_copy = (uint32_t)s->f->copies.len;
    insn.ncopies = 1;
    s->f->failed |= !hd_vec_push(&s->f->copies, (struct mc_copy){to, from});
    sel_push(s, insn);
}

void sel_refuse(struct sel *s, const char *what)
{
    struct hd_buf text;

    if (s->status != HD_OK)
        return;
    hd_buf_init(&text);
    if (s->at)
        ir_print_instr(s->at, &text);
    s->status = hd_error(HD_NOT_SUPPORTED, "function %s: %s%s%s", s->ir->name, what,
                         text.len ? ": " : "", text.len ? text.ptr : "");
    hd_buf_fini(&text);
}

/* ---- blocks and branches */

struct mc_block *sel_block(struct sel *s)
{
    struct mc_block *b = mc_block_create(s->f);

    b->loop_depth = s->b ? s->b->loop_depth : 0;
    b->count = s->b ? s->b->count : 0;
    return b;
}

static void link_to(struct sel *s, struct mc_block *from, struct mc_block *to)
{
    if (from == &s->f->spare_block)
        return;
    assert(from->nsuccs < 2);
    from->succs[from->nsuccs++] = to;
}

void sel_jump(struct sel *s, struct mc_block *to)
{
    EMIT(s, BRA)->target = to;
    link_to(s, s->b, to);
}

/* To `to` where the predicate holds, else to `next`, which may be anywhere. */
void sel_branch(struct sel *s, struct isa_operand pred, struct mc_block *to, struct mc_block *next)
{
    struct mc_insn *bra = EMIT(s, BRA, GUARD(pred));

    bra->target = to;
    link_to(s, s->b, to);
    EMIT(s, BRA)->target = next;
    link_to(s, s->b, next);
}

uint32_t sel_part(struct sel *s, struct mc_block *at)
{
    uint32_t barrier = mc_vreg_create(s->f, MC_BARRIER, 1);

    EMIT(s, BSSY, OPERAND(BAR, sel_barrier(barrier)))->target = at;
    return barrier;
}

void sel_meet(struct sel *s, struct mc_block *at, uint32_t barrier)
{
    s->b = at;
    EMIT(s, BSYNC, OPERAND(BAR, sel_barrier(barrier)));
}

void sel_come_together(struct sel *s)
{
    if (s->meets.apart[s->at->block->id])
        EMIT(s, WARPSYNC, B(sel_number(UINT32_MAX)));
}
