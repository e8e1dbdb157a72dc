/*
 * Heddle's ISA: words of 128 bits, and instructions as compiler, simulator and tools have them.
 * docs/isa.md is the manual, spec/isa the truth: of it scripts/gen_isa.py makes the tables behind
 * everything here.
 *
 * Each word is one instruction or none: isa_decode() refuses a word that isa_encode() would write
 * differently, so that bits that have no meaning today may get one later. In text an instruction is
 * as a disassembler shows it:
 *
 *     [B0-----:R-:W1:-:S04] @!P0 FFMA.FTZ R4, -R5, c[0x0][0x160], R7.reuse
 *
 * waits for counter 0, raises counter 1 until R4 is written, and lets the warp go on after four
 * cycles.
 */
#ifndef HD_ISA_ISA_H
#define HD_ISA_ISA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include <isa_tables.inc>

enum {
    ISA_RZ = 255,
    ISA_URZ = 63,
    ISA_PT = 7,
    ISA_COUNTERS = 6, /* dependence counters: SB0 to SB5 */
    ISA_NO_SB = 7,
    ISA_WORD_BYTES = 16,
    ISA_MOST_OPERANDS = 10,
    ISA_MOST_MODS = 12,
};

/* Which source is not a register, and what it is instead; the C forms are of the third source. */
enum isa_form {
    ISA_FORM_REGISTER,
    ISA_FORM_IMMEDIATE,
    ISA_FORM_CONSTANT,
    ISA_FORM_UNIFORM,
    ISA_FORM_C_IMMEDIATE,
    ISA_FORM_C_CONSTANT,
    ISA_FORM_C_UNIFORM,
    ISA_FORMS
};

enum isa_kind {
    ISA_KIND_REG,
    ISA_KIND_UREG,
    ISA_KIND_PRED,
    ISA_KIND_UPRED,
    ISA_KIND_BARRIER,
    ISA_KIND_UINT,
    ISA_KIND_SINT,
    ISA_KIND_TARGET,
    ISA_KIND_SREG,
    ISA_KIND_IMMEDIATE, /* of an operand with another form: 32 bits */
    ISA_KIND_CONSTANT,  /* likewise: `value` bytes, and a uniform register, behind a bank's start */
};

enum isa_immediate {
    ISA_IMMEDIATE_NONE,
    ISA_IMMEDIATE_INT,
    ISA_IMMEDIATE_F32,
    ISA_IMMEDIATE_F16X2,
    ISA_IMMEDIATE_F64, /* the upper word of a double */
};

struct isa_word {
    uint64_t lo, hi;
};

/* ---- the tables */

enum { ISA_NO_BIT = 255 };

struct isa_field_row {
    const char *name;
    uint8_t kind; /* enum isa_kind */
    uint8_t low, width;
    uint8_t negate, absolute,
        reuse; /* bits of the word, and of the control field's reuse; or ISA_NO_BIT */
};

struct isa_mod_row {
    const char *name;
    uint8_t low, width, nvalues;
    const char *const *values; /* NULL: the number means nothing */
};

enum isa_use_flags {
    ISA_MAY_NEGATE = 1,
    ISA_MAY_CLEAR = 2,
    ISA_ANY_FORM = 4,
    ISA_OPENS = 8, /* an address begins, ends: [R4+UR6+0x10] */
    ISA_CLOSES = 16,
    ISA_USUALLY_NOT = 32, /* a predicate that is false where the text has none */
};

/* An operand of an instruction. */
struct isa_use {
    uint8_t field; /* enum isa_field */
    uint8_t fixed; /* consecutive registers, where no table says how many */
    uint8_t count; /* of count_rows; 0: `fixed` */
    uint8_t has_mod;
    uint8_t flags; /* enum isa_use_flags */
};

struct isa_row {
    const char *name, *doc;
    uint16_t opcode;
    uint8_t pipe, feature, immediate;
    uint8_t noperands, nmods,
        nall_mods; /* all: with those of operands, which are behind the others */
    struct isa_use operands[ISA_MOST_OPERANDS];
    uint8_t mods[ISA_MOST_MODS];     /* enum isa_mod */
    struct isa_word used[ISA_FORMS]; /* bits that mean something; none: it has no such form */
};

extern const struct isa_row isa_rows[ISA_OPS];
static inline const struct isa_row *isa_row(enum isa_op op)
{
    assert(op < ISA_OPS);
    return &isa_rows[op];
}
extern const struct isa_field_row isa_fields[ISA_FIELDS];
static inline const struct isa_field_row *isa_field(enum isa_field field)
{
    assert(field < ISA_FIELDS);
    return &isa_fields[field];
}
const struct isa_mod_row *isa_mod(enum isa_mod mod);

/* ---- instructions */

struct isa_operand {
    int64_t value; /* a register's number, a number; of a target bytes from the next instruction */
    uint8_t kind;  /* enum isa_kind */
    uint8_t bank, ureg; /* of a constant */
    bool negate, absolute;
};

struct isa_control {
    uint8_t stall; /* cycles, 0 to 15 */
    bool yield;
    uint8_t write_sb, read_sb; /* below ISA_COUNTERS, or ISA_NO_SB */
    uint8_t wait;              /* a bit for each counter */
    uint8_t reuse;             /* bits for a, b, c */
};

struct isa_insn {
    enum isa_op op;
    enum isa_form form;
    uint8_t guard; /* a predicate; of instructions of the uniform datapath a uniform one */
    bool guard_not;
    struct isa_control control;
    uint8_t mods[ISA_MOST_MODS]; /* values, in the order of the row's */
    struct isa_operand operands[ISA_MOST_OPERANDS];
};

/* An instruction with registers zero, predicates true, no modifier, no counter, stall 1. */
struct isa_insn isa_insn_of(enum isa_op op);
/* Where a table says how many: use isa_registers(). */
unsigned isa_registers_by_mods(const struct isa_insn *insn, unsigned at);
/* How many consecutive registers operand `at` is; 0 where the modifiers do not go together. */
static inline unsigned isa_registers(const struct isa_insn *insn, unsigned at)
{
    const struct isa_use *use = &isa_row(insn->op)->operands[at];

    return use->count ? isa_registers_by_mods(insn, at) : use->fixed;
}
/* The value of a modifier; 0, its default, where the instruction does not have it. */
unsigned isa_mod_value(const struct isa_insn *insn, enum isa_mod mod);

/* NULL, or why the instruction cannot be encoded. */
const char *isa_encode(const struct isa_insn *insn, struct isa_word *out_word);
/* By its opcode alone; ISA_OPS: no instruction has it. */
enum isa_op isa_word_op(struct isa_word word);
/* NULL, or why the word is no instruction. */
const char *isa_decode(struct isa_word word, struct isa_insn *out_insn);

/* ---- text */

/* The text of an instruction at `address`, which targets are relative to. */
void isa_print(const struct isa_insn *insn, uint64_t address, struct hd_buf *out);
/* "[B0-----:R-:W1:-:S04]" */
void isa_print_control(const struct isa_control *control, struct hd_buf *out);
/* Name of a special register, or NULL. */
const char *isa_sreg_name(unsigned number);

/* Where a label is: its address, or false. */
typedef bool isa_label_fn(void *context, const char *name, size_t length, uint64_t *out_address);

/*
 * Reads one instruction, up to the end of the string or a semicolon. NULL, or what is wrong, with
 * *out_at the place in the text; the message is the thread's until its next call.
 */
const char *isa_parse(const char *text, uint64_t address, isa_label_fn *label, void *context,
                      struct isa_insn *out_insn, size_t *out_at);

#endif
