/*
 * Private to src/ir: the reader's state, shared by ir_read.c (module level), ir_read_body.c and
 * ir_read_words.c (what both are made of).
 */
#ifndef HD_IR_IR_READ_H
#define HD_IR_IR_READ_H

#include "ir/ir.h"
#include "ir/ir_lex.h"

/* Functions or variables of one program; devices keep tables by index. */
#define IR_READ_INDEX_MAX (1u << 24)

/* A name that may be defined further down. One of instr and reloc. */
struct ir_fixup {
    const char *name;
    struct ir_instr *instr;
    struct ir_reloc *reloc;
    uint32_t line;
};

struct ir_reader {
    struct ir_lexer lex;
    struct ir_module *module;
    const char *name;
    struct ir_func *func;
    struct ir_block *block;
    HD_VEC(struct ir_value *) values; /* by number */
    HD_VEC(struct ir_block *) blocks; /* by number, as created */
    HD_VEC(struct ir_block *) order;  /* in order of their labels */
    HD_VEC(struct ir_fixup) fixups;
    HD_VEC(enum ir_type) types;     /* scratch: of a signature */
    HD_VEC(struct ir_value *) args; /* scratch: of a function */
};

/* HD_BAD_IR naming the line and the current token. */
enum hd_status ir_read_error(const struct ir_reader *r, const char *expected) HD_MUST_CHECK;
enum hd_status ir_read_punct(struct ir_reader *r, char c) HD_MUST_CHECK;
/* A number in decimal or 0x form at the current token. */
enum hd_status ir_read_u64(struct ir_reader *r, uint64_t *out) HD_MUST_CHECK;
enum hd_status ir_read_u32(struct ir_reader *r, uint32_t *out) HD_MUST_CHECK;
/* "+16", "-4" or nothing. */
enum hd_status ir_read_offset(struct ir_reader *r, int64_t *out) HD_MUST_CHECK;
/* Name (symbol or string token) with escapes resolved, in the module's arena. */
enum hd_status ir_read_name(struct ir_reader *r, enum ir_token kind, const char **out)
    HD_MUST_CHECK;
enum hd_status ir_read_type(struct ir_reader *r, enum ir_type *out) HD_MUST_CHECK;
/* A type, and a list of them in parentheses, appended to r->types. */
enum hd_status ir_read_type_push(struct ir_reader *r) HD_MUST_CHECK;
enum hd_status ir_read_types(struct ir_reader *r) HD_MUST_CHECK;
/* Two digits at p; false: they are not there. */
bool ir_read_hex_byte(const char *p, const char *end, uint8_t *out);
/* Index of `text` in a name table, -1 = none. */
int ir_read_lookup(struct hd_str text, const char *const *names, size_t count);
/* The value numbered by the current VALUE token, made on first mention. */
enum hd_status ir_read_value(struct ir_reader *r, struct ir_value **out) HD_MUST_CHECK;
/* !file:line:col@inlined */
enum hd_status ir_read_srcloc(struct ir_reader *r, struct ir_srcloc *srcloc) HD_MUST_CHECK;
/* Blocks and the closing brace. */
enum hd_status ir_read_body(struct ir_reader *r) HD_MUST_CHECK;

#endif
