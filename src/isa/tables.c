/* The tables that scripts/gen_isa.py makes of spec/isa. */
#include "isa/isa.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "isa/isa_private.h"

struct isa_count_row {
    uint8_t nmods;
    uint8_t mods[5];       /* enum isa_mod */
    const uint8_t *counts; /* 0: the modifiers do not go together */
};

/* The same file as isa.h has: the enumerations first, then, here, the rows. */
#define ISA_ROWS
#include <isa_tables.inc>

enum isa_op isa_op_of(unsigned opcode)
{
    assert(opcode < HD_COUNT_OF(op_of_opcode));
    return op_of_opcode[opcode] ? op_of_opcode[opcode] - 1u : ISA_OPS;
}

const struct isa_mod_row *isa_mod(enum isa_mod mod)
{
    assert(mod < ISA_MODS);
    return &mod_rows[mod];
}

const char *isa_sreg_name(unsigned number)
{
    static const char *const names[] = {
#define SR(number, name) [number] = #name,
#include "isa/sregs.def"
#undef SR
    };
    return number < HD_COUNT_OF(names) ? names[number] : NULL;
}

unsigned isa_mod_value(const struct isa_insn *insn, enum isa_mod mod)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->nall_mods; i++)
        if (row->mods[i] == mod)
            return insn->mods[i];
    return 0;
}

unsigned isa_registers_by_mods(const struct isa_insn *insn, unsigned at)
{
    const struct isa_count_row *count = &count_rows[isa_row(insn->op)->operands[at].count];
    unsigned index = 0;

    for (unsigned i = 0; i < count->nmods; i++)
        index = index * mod_rows[count->mods[i]].nvalues + isa_mod_value(insn, count->mods[i]);
    return count->counts[index];
}

unsigned isa_mod_of_operand(const struct isa_row *row, unsigned at)
{
    unsigned mod = row->nmods;

    assert(row->operands[at].has_mod);
    for (unsigned i = 0; i < at; i++)
        mod += row->operands[i].has_mod;
    return mod;
}

struct isa_bits isa_operand_bits(const struct isa_row *row, enum isa_form form, unsigned at)
{
    static const uint8_t wide[ISA_FORMS] = {
        [ISA_FORM_IMMEDIATE] = ISA_KIND_IMMEDIATE, [ISA_FORM_CONSTANT] = ISA_KIND_CONSTANT,
        [ISA_FORM_UNIFORM] = ISA_KIND_UREG,        [ISA_FORM_C_IMMEDIATE] = ISA_KIND_IMMEDIATE,
        [ISA_FORM_C_CONSTANT] = ISA_KIND_CONSTANT, [ISA_FORM_C_UNIFORM] = ISA_KIND_UREG,
    };
    const struct isa_use *use = &row->operands[at];
    const struct isa_field_row *field = isa_field(use->field);
    struct isa_bits bits = {.kind = field->kind, .low = field->low, .width = field->width};
    bool is_c_form = form >= ISA_FORM_C_IMMEDIATE;

    if (form && (use->flags & ISA_ANY_FORM) && (use->field == ISA_FIELD_C) == is_c_form) {
        bits.kind = wide[form];
        bits.low = 32;
        bits.width = bits.kind == ISA_KIND_UREG ? 6 : 32;
    } else if (is_c_form && use->field == ISA_FIELD_B) {
        bits.low = isa_field(ISA_FIELD_C)->low;
    }
    return bits;
}

struct isa_insn isa_insn_of(enum isa_op op)
{
    const struct isa_row *row = isa_row(op);
    struct isa_insn insn = {.op = op,
                            .guard = ISA_PT,
                            .control = {.stall = 1, .write_sb = ISA_NO_SB, .read_sb = ISA_NO_SB}};

    for (unsigned i = 0; i < row->noperands; i++) {
        struct isa_operand *operand = &insn.operands[i];

        operand->kind = isa_operand_bits(row, ISA_FORM_REGISTER, i).kind;
        operand->value = isa_default(operand->kind);
        operand->negate = row->operands[i].flags & ISA_USUALLY_NOT;
    }
    return insn;
}

int64_t isa_default(enum isa_kind kind)
{
    switch (kind) {
    case ISA_KIND_REG:
        return ISA_RZ;
    case ISA_KIND_UREG:
        return ISA_URZ;
    case ISA_KIND_PRED:
    case ISA_KIND_UPRED:
        return ISA_PT;
    case ISA_KIND_BARRIER:
    case ISA_KIND_UINT:
    case ISA_KIND_SINT:
    case ISA_KIND_TARGET:
    case ISA_KIND_SREG:
    case ISA_KIND_IMMEDIATE:
    case ISA_KIND_CONSTANT:
        return 0;
    }
    return 0;
}
