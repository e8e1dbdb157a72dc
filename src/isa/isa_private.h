/* What the files of src/isa share. */
#ifndef HD_ISA_ISA_PRIVATE_H
#define HD_ISA_ISA_PRIVATE_H

#include "isa/isa.h"

/* Where an operand is in a word of a form, and what it is there. */
struct isa_bits {
    enum isa_kind kind;
    uint8_t low, width;
};

/* Of names that stand in text without quotes. */
static inline bool isa_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == '%';
}
/* ISA_OPS where no instruction has it. */
enum isa_op isa_op_of(unsigned opcode);
struct isa_bits isa_operand_bits(const struct isa_row *row, enum isa_form form, unsigned at);
/* RZ, URZ, PT, or 0. */
int64_t isa_default(enum isa_kind kind);
/* Which of the row's modifiers is that of operand `at`, which has one. */
unsigned isa_mod_of_operand(const struct isa_row *row, unsigned at);
/* The first operand from `at` on that is no predicate. */
unsigned isa_predicates_from(const struct isa_insn *insn, unsigned at);
/* NULL, or what of the instruction no word can say. */
const char *isa_check(const struct isa_insn *insn);

#endif
