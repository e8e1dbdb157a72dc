/*
 * Words of instructions and instructions of words. Both go through isa_check(): what one takes the
 * other makes, and nothing else.
 */
#include <assert.h>

#include "isa/isa_private.h"

/* Of a constant, in its 32 bits: a uniform register, the offset, the bank. */
enum { CONSTANT_OFFSET = 6, CONSTANT_BANK = 22, CONSTANT_BANKS = 32 };

static uint64_t word_get(const struct isa_word *word, unsigned low, unsigned width)
{
    uint64_t bits = low >= 64 ? word->hi >> (low - 64) : word->lo >> low;

    assert(width && width <= 32 && low + width <= 128);
    if (low < 64 && low + width > 64)
        bits |= word->hi << (64 - low);
    return bits & ((UINT64_C(1) << width) - 1);
}

static void word_set(struct isa_word *word, unsigned low, unsigned width, uint64_t value)
{
    assert(width && width <= 32 && low + width <= 128 && !(value >> width));
    if (low >= 64) {
        word->hi |= value << (low - 64);
        return;
    }
    word->lo |= value << low;
    if (low + width > 64)
        word->hi |= value >> (64 - low);
}

static void field_set(struct isa_word *word, enum isa_field field, uint64_t value)
{
    word_set(word, isa_field(field)->low, isa_field(field)->width, value);
}

static uint64_t field_get(const struct isa_word *word, enum isa_field field)
{
    return word_get(word, isa_field(field)->low, isa_field(field)->width);
}

static bool bit_get(const struct isa_word *word, unsigned at)
{
    return word_get(word, at, 1);
}

static void bit_set(struct isa_word *word, unsigned at, bool value)
{
    word_set(word, at, 1, value);
}

/* ---- what can be said */

static const char *check_tuple(int64_t first, unsigned count, int64_t zero, const char *message)
{
    int64_t align = count <= 1 ? 1 : count == 2 ? 2 : 4;

    if (first < 0 || first > zero)
        return "there is no register of that number";
    if (first == zero)
        return NULL;
    return first % align || first + count > zero ? message : NULL;
}

static const char *check_constant(const struct isa_operand *operand, unsigned count)
{
    if (operand->value < INT16_MIN || operand->value > INT16_MAX)
        return "an offset in a bank of constants has 16 bits";
    if (operand->value % (4 * (int)count))
        return "a constant lies at a multiple of its size";
    if (operand->bank >= CONSTANT_BANKS || operand->ureg > ISA_URZ)
        return "there is no such bank of constants";
    return NULL;
}

static const char *check_value(const struct isa_insn *insn, unsigned at, struct isa_bits bits)
{
    const struct isa_operand *operand = &insn->operands[at];
    unsigned count = isa_registers(insn, at);
    bool is_signed = bits.kind == ISA_KIND_SINT || bits.kind == ISA_KIND_TARGET;
    int64_t limit = INT64_C(1) << (bits.width - is_signed);
    int64_t number = operand->value;

    if (!count)
        return "these modifiers do not go together";
    switch (bits.kind) {
    case ISA_KIND_REG:
        return check_tuple(
            operand->value, count, ISA_RZ,
            "a pair of registers begins at a multiple of 2, more at one of 4, and none is "
            "behind R254");
    case ISA_KIND_UREG:
        return check_tuple(
            operand->value, count, ISA_URZ,
            "a pair of uniform registers begins at a multiple of 2, more at one of 4, and "
            "none is behind UR62");
    case ISA_KIND_SREG:
        return operand->value < 0 || operand->value > UINT8_MAX ||
                       !isa_sreg_name((unsigned)operand->value)
                   ? "there is no special register of that number"
                   : NULL;
    case ISA_KIND_CONSTANT:
        return check_constant(operand, count);
    case ISA_KIND_TARGET:
        if (number % ISA_WORD_BYTES)
            return "a target lies at a multiple of 16 bytes";
        number /= ISA_WORD_BYTES;
        break;
    case ISA_KIND_PRED:
    case ISA_KIND_UPRED:
    case ISA_KIND_BARRIER:
    case ISA_KIND_UINT:
    case ISA_KIND_SINT:
    case ISA_KIND_IMMEDIATE:
        break;
    }
    return number < (is_signed ? -limit : 0) || number >= limit ? "the number is too large" : NULL;
}

static const char *check_operand(const struct isa_insn *insn, unsigned at)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_operand *operand = &insn->operands[at];
    struct isa_bits bits = isa_operand_bits(row, insn->form, at);
    unsigned flags = bits.kind == ISA_KIND_IMMEDIATE ? 0 : row->operands[at].flags;

    if (operand->kind != bits.kind)
        return "an operand is not of the kind that the form says";
    if ((operand->negate && !(flags & ISA_MAY_NEGATE)) ||
        (operand->absolute && !(flags & ISA_MAY_CLEAR)))
        return "an operand has no sign that could be changed";
    return check_value(insn, at, bits);
}

static const char *check_control(const struct isa_insn *insn)
{
    const struct isa_control *control = &insn->control;
    const struct isa_row *row = isa_row(insn->op);
    unsigned slots = 0;

    for (unsigned i = 0; i < row->noperands; i++) {
        unsigned slot = isa_field(row->operands[i].field)->reuse;

        if (slot != ISA_NO_BIT && insn->operands[i].kind == ISA_KIND_REG &&
            insn->operands[i].value != ISA_RZ)
            slots |= 1u << slot;
    }
    if (control->stall > 15)
        return "a stall is of 0 to 15 cycles";
    if ((control->write_sb > 5 && control->write_sb != ISA_NO_SB) ||
        (control->read_sb > 5 && control->read_sb != ISA_NO_SB) || control->wait > 63)
        return "dependence counters are 0 to 5";
    return control->reuse & ~slots ? "only source registers can be kept for reuse" : NULL;
}

const char *isa_check(const struct isa_insn *insn)
{
    const struct isa_row *row = isa_row(insn->op);

    if (insn->form >= ISA_FORMS || !row->used[insn->form].lo)
        return "the instruction has no such form";
    if (insn->guard > ISA_PT)
        return "there is no such predicate";
    for (unsigned i = 0; i < row->nall_mods; i++) {
        const struct isa_mod_row *mod = isa_mod(row->mods[i]);

        if (insn->mods[i] >= mod->nvalues || !mod->values[insn->mods[i]])
            return "a modifier has no such value";
    }
    for (unsigned i = 0; i < row->noperands; i++) {
        const char *why = check_operand(insn, i);

        if (why)
            return why;
    }
    return check_control(insn);
}

/* ---- words */

static void encode_operand(const struct isa_insn *insn, unsigned at, struct isa_word *word)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_use *use = &row->operands[at];
    const struct isa_field_row *field = isa_field(use->field);
    const struct isa_operand *operand = &insn->operands[at];
    struct isa_bits bits = isa_operand_bits(row, insn->form, at);
    uint64_t value = (uint64_t)operand->value;

    if (bits.kind == ISA_KIND_TARGET)
        value = (uint64_t)(operand->value / ISA_WORD_BYTES);
    else if (bits.kind == ISA_KIND_CONSTANT)
        value = operand->ureg | (value & 0xffff) << CONSTANT_OFFSET |
                (uint64_t)operand->bank << CONSTANT_BANK;
    word_set(word, bits.low, bits.width, value & ((UINT64_C(1) << bits.width) - 1));
    if (use->flags & ISA_MAY_NEGATE)
        bit_set(word, field->negate, operand->negate);
    if (use->flags & ISA_MAY_CLEAR)
        bit_set(word, field->absolute, operand->absolute);
}

const char *isa_encode(const struct isa_insn *insn, struct isa_word *out_word)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_control *control = &insn->control;
    const char *why = isa_check(insn);
    struct isa_word word = {0};

    if (why)
        return why;
    field_set(&word, ISA_FIELD_OPCODE, row->opcode);
    field_set(&word, ISA_FIELD_FORM, insn->form);
    field_set(&word, ISA_FIELD_GUARD, insn->guard);
    bit_set(&word, isa_field(ISA_FIELD_GUARD)->negate, insn->guard_not);
    field_set(&word, ISA_FIELD_STALL, control->stall);
    field_set(&word, ISA_FIELD_YIELD, control->yield);
    field_set(&word, ISA_FIELD_WRITE_SB, control->write_sb);
    field_set(&word, ISA_FIELD_READ_SB, control->read_sb);
    field_set(&word, ISA_FIELD_WAIT, control->wait);
    field_set(&word, ISA_FIELD_REUSE, control->reuse);
    for (unsigned i = 0; i < row->nall_mods; i++)
        word_set(&word, isa_mod(row->mods[i])->low, isa_mod(row->mods[i])->width, insn->mods[i]);
    for (unsigned i = 0; i < row->noperands; i++)
        encode_operand(insn, i, &word);
    assert(!(word.lo & ~row->used[insn->form].lo) && !(word.hi & ~row->used[insn->form].hi));
    *out_word = word;
    return NULL;
}

static int64_t sign_extended(uint64_t bits, unsigned width)
{
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

static void decode_operand(const struct isa_word *word, struct isa_insn *insn, unsigned at)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_use *use = &row->operands[at];
    const struct isa_field_row *field = isa_field(use->field);
    struct isa_operand *operand = &insn->operands[at];
    struct isa_bits bits = isa_operand_bits(row, insn->form, at);
    uint64_t value = word_get(word, bits.low, bits.width);

    operand->kind = (uint8_t)bits.kind;
    operand->value = (int64_t)value;
    if (bits.kind == ISA_KIND_SINT) {
        operand->value = sign_extended(value, bits.width);
    } else if (bits.kind == ISA_KIND_TARGET) {
        operand->value = sign_extended(value, bits.width) * ISA_WORD_BYTES;
    } else if (bits.kind == ISA_KIND_CONSTANT) {
        operand->ureg = value & ISA_URZ;
        operand->value = (int16_t)(value >> CONSTANT_OFFSET);
        operand->bank = (uint8_t)(value >> CONSTANT_BANK);
    }
    operand->negate = (use->flags & ISA_MAY_NEGATE) && bit_get(word, field->negate);
    operand->absolute = (use->flags & ISA_MAY_CLEAR) && bit_get(word, field->absolute);
}

enum isa_op isa_word_op(struct isa_word word)
{
    return isa_op_of((unsigned)field_get(&word, ISA_FIELD_OPCODE));
}

const char *isa_decode(struct isa_word word, struct isa_insn *out_insn)
{
    struct isa_insn insn = {.op = isa_word_op(word),
                            .form = (enum isa_form)field_get(&word, ISA_FIELD_FORM),
                            .guard = (uint8_t)field_get(&word, ISA_FIELD_GUARD),
                            .guard_not = bit_get(&word, isa_field(ISA_FIELD_GUARD)->negate)};
    const struct isa_row *row;
    const char *why;

    if (insn.op == ISA_OPS)
        return "no instruction has this opcode";
    row = isa_row(insn.op);
    if (insn.form >= ISA_FORMS || !row->used[insn.form].lo)
        return "the instruction has no such form";
    if ((word.lo & ~row->used[insn.form].lo) || (word.hi & ~row->used[insn.form].hi))
        return "a bit is set that means nothing";
    insn.control = (struct isa_control){.stall = (uint8_t)field_get(&word, ISA_FIELD_STALL),
                                        .yield = field_get(&word, ISA_FIELD_YIELD),
                                        .write_sb = (uint8_t)field_get(&word, ISA_FIELD_WRITE_SB),
                                        .read_sb = (uint8_t)field_get(&word, ISA_FIELD_READ_SB),
                                        .wait = (uint8_t)field_get(&word, ISA_FIELD_WAIT),
                                        .reuse = (uint8_t)field_get(&word, ISA_FIELD_REUSE)};
    for (unsigned i = 0; i < row->nall_mods; i++)
        insn.mods[i] =
            (uint8_t)word_get(&word, isa_mod(row->mods[i])->low, isa_mod(row->mods[i])->width);
    for (unsigned i = 0; i < row->noperands; i++)
        decode_operand(&word, &insn, i);
    why = isa_check(&insn);
    if (!why)
        *out_insn = insn;
    return why;
}
