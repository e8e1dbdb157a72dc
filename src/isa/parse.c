/*
 * Text of instructions, as isa_print() writes it. Spaces may stand between words; a comment ends
 * the text, so does a semicolon.
 */
#include "isa/isa_private.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

struct parser {
    const char *at;
    uint64_t address;
    isa_label_fn *label;
    void *context;
    const struct isa_row *row;
    struct isa_insn insn;
    char why[160]; /* empty: nothing is wrong */
};

static bool parse_fail(struct parser *p, const char *format, ...) HD_PRINTF(2, 3);

static bool parse_fail(struct parser *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(p->why, sizeof(p->why), format, args);
    va_end(args);
    return false;
}

static void skip_spaces(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes `text` where it is next; after a word no further letter may follow. */
static bool take(struct parser *p, const char *text)
{
    size_t length = strlen(text);

    skip_spaces(p);
    if (strncmp(p->at, text, length) ||
        (length && is_word_char(text[length - 1]) && is_word_char(p->at[length])))
        return false;
    p->at += length;
    return true;
}

static bool expect(struct parser *p, const char *text)
{
    return take(p, text) || parse_fail(p, "`%s` is expected here", text);
}

/* ---- numbers and registers */

static bool parse_integer(struct parser *p, int64_t least, int64_t most, int64_t *out)
{
    char *end;

    skip_spaces(p);
    errno = 0;
    *out = strtoll(p->at, &end, 0);
    if (end == p->at || is_word_char(*end))
        return parse_fail(p, "a number is expected here");
    if (errno || *out < least || *out > most)
        return parse_fail(p, "the number is not in %" PRId64 " to %" PRId64, least, most);
    p->at = end;
    return true;
}

/* A register "R12", or `zero`: "RZ" (zero_char 0: there is none). False, without a message, where
 * it is no register. */
static bool take_register(struct parser *p, const char *prefix, int64_t zero, char zero_char,
                          int64_t *out)
{
    const char *at, *end;
    size_t length = strlen(prefix);

    skip_spaces(p);
    if (strncmp(p->at, prefix, length))
        return false;
    at = p->at + length;
    if (zero_char && *at == zero_char) {
        *out = zero;
        end = p->at + length + 1;
    } else if (isdigit((unsigned char)*at)) {
        char *digits_end;

        *out = strtol(at, &digits_end, 10);
        end = digits_end;
        if (*out >= zero)
            return false;
    } else {
        return false;
    }
    if (is_word_char(*end))
        return false;
    p->at = end;
    return true;
}

/* A number as the instruction writes its immediates; bits may be given in hexadecimal always. */
static bool parse_immediate(struct parser *p, int64_t *out)
{
    uint64_t wide;
    double value;
    float single;
    char *end;
    uint32_t bits;
    const char *digits;

    skip_spaces(p);
    digits = p->at + (*p->at == '-');
    if (!isdigit((unsigned char)*digits) && *digits != '.')
        return parse_fail(p, "a register, a constant or a number is expected here");
    if (!strncmp(digits, "0x", 2) || p->row->immediate == ISA_IMMEDIATE_INT ||
        p->row->immediate == ISA_IMMEDIATE_F16X2) {
        if (!parse_integer(p, INT32_MIN, UINT32_MAX, out))
            return false;
        *out &= UINT32_MAX;
        return true;
    }
    if (p->row->immediate == ISA_IMMEDIATE_F32) {
        single = strtof(p->at, &end);
        memcpy(&bits, &single, sizeof(bits));
        *out = bits;
    } else {
        value = strtod(p->at, &end);
        memcpy(&wide, &value, sizeof(wide));
        if (wide & UINT32_MAX)
            return parse_fail(p, "of a double only the upper 32 bits can be given, and this one "
                                 "needs the others");
        *out = (int64_t)(wide >> 32);
    }
    p->at = end;
    return true;
}

/* "c[0x0][UR4+0x160]" behind its c. */
static bool parse_constant(struct parser *p, struct isa_operand *operand)
{
    int64_t bank, ureg = ISA_URZ;
    bool has_offset = true;

    operand->value = 0;
    if (!expect(p, "[") || !parse_integer(p, 0, 31, &bank) || !expect(p, "]") || !expect(p, "["))
        return false;
    operand->bank = (uint8_t)bank;
    if (take_register(p, "UR", ISA_URZ, 'Z', &ureg)) {
        skip_spaces(p);
        has_offset = *p->at == '-' || take(p, "+");
    }
    operand->ureg = (uint8_t)ureg;
    return (!has_offset || parse_integer(p, INT16_MIN, INT16_MAX, &operand->value)) &&
           expect(p, "]");
}

static bool parse_target(struct parser *p, int64_t *out)
{
    uint64_t address;
    size_t length = 0;
    int64_t number;

    skip_spaces(p);
    if (*p->at == '-' ||
        isdigit((unsigned char)*p->at)) { /* before the kernel: a word may say so */
        if (!parse_integer(p, INT64_MIN, INT64_MAX, &number))
            return false;
        address = (uint64_t)number;
    } else {
        while (is_word_char(p->at[length]) || p->at[length] == '.' || p->at[length] == '$')
            length++;
        if (!length || !p->label || !p->label(p->context, p->at, length, &address))
            return parse_fail(
                p, length ? "there is no label `%.*s`" : "a label or an address is expected here",
                (int)length, p->at);
        p->at += length;
    }
    *out = (int64_t)(address - p->address - ISA_WORD_BYTES);
    return true;
}

static bool parse_sreg(struct parser *p, int64_t *out)
{
    const char *name;

    skip_spaces(p);
    for (unsigned i = 0; (name = isa_sreg_name(i)); i++) {
        size_t length = strlen(name);

        if (!strncmp(p->at, "SR_", 3) && !strncmp(p->at + 3, name, length) &&
            !is_word_char(p->at[3 + length])) {
            p->at += 3 + length;
            *out = i;
            return true;
        }
    }
    return parse_fail(p, "a special register is expected here");
}

/* ---- operands */

static bool parse_kind(struct parser *p, unsigned at, struct isa_operand *operand)
{
    const struct isa_field_row *field = isa_field(p->row->operands[at].field);
    int64_t most = (INT64_C(1) << (field->width - (field->kind == ISA_KIND_SINT))) - 1;

    switch ((enum isa_kind)operand->kind) {
    case ISA_KIND_REG:
        return take_register(p, "R", ISA_RZ, 'Z', &operand->value) ||
               parse_fail(p, "a register is expected here");
    case ISA_KIND_UREG:
        return take_register(p, "UR", ISA_URZ, 'Z', &operand->value) ||
               parse_fail(p, "a uniform register is expected here");
    case ISA_KIND_PRED:
        return take_register(p, "P", ISA_PT, 'T', &operand->value) ||
               parse_fail(p, "a predicate is expected here");
    case ISA_KIND_UPRED:
        return take_register(p, "UP", ISA_PT, 'T', &operand->value) ||
               parse_fail(p, "a uniform predicate is expected here");
    case ISA_KIND_BARRIER:
        return take_register(p, "B", 16, '\0', &operand->value) ||
               parse_fail(p, "a convergence barrier is expected here");
    case ISA_KIND_SREG:
        return parse_sreg(p, &operand->value);
    case ISA_KIND_TARGET:
        return parse_target(p, &operand->value);
    case ISA_KIND_UINT:
        return parse_integer(p, 0, most, &operand->value);
    case ISA_KIND_SINT:
        return parse_integer(p, -most - 1, most, &operand->value);
    case ISA_KIND_IMMEDIATE:
        return parse_immediate(p, &operand->value);
    case ISA_KIND_CONSTANT:
        return parse_constant(p, operand);
    }
    return false;
}

/* What an operand with several forms is here; sets the form of the instruction. */
static bool parse_form(struct parser *p, unsigned at, struct isa_operand *operand)
{
    bool is_c = p->row->operands[at].field == ISA_FIELD_C,
         is_uniform = operand->kind == ISA_KIND_UREG;
    enum isa_form form;
    int64_t ignored;
    const char *start = p->at;

    if (take_register(p, is_uniform ? "UR" : "R", is_uniform ? ISA_URZ : ISA_RZ, 'Z', &ignored)) {
        p->at = start;
        return true;
    }
    if (!is_uniform && p->at[0] == 'U' && p->at[1] == 'R') {
        operand->kind = ISA_KIND_UREG;
        form = ISA_FORM_UNIFORM;
    } else if (!is_uniform && take(p, "c")) {
        operand->kind = ISA_KIND_CONSTANT;
        form = ISA_FORM_CONSTANT;
    } else {
        operand->kind = ISA_KIND_IMMEDIATE;
        form = ISA_FORM_IMMEDIATE;
    }
    if (p->insn.form)
        return parse_fail(p, "only one source can be something else than a register");
    p->insn.form = is_c ? form + (ISA_FORM_C_IMMEDIATE - ISA_FORM_IMMEDIATE) : form;
    return true;
}

/* Takes the longest of a modifier's words; its default where it may be missing. */
static bool parse_mod(struct parser *p, const struct isa_mod_row *mod, uint8_t *out_value)
{
    size_t best = 0;

    *out_value = 0;
    for (unsigned i = 0; i < mod->nvalues; i++) {
        const char *word = mod->values[i];
        size_t length = word ? strlen(word) : 0;

        if (length > best && *p->at == '.' && !strncmp(p->at + 1, word, length) &&
            !is_word_char(p->at[1 + length])) {
            best = length;
            *out_value = (uint8_t)i;
        }
    }
    if (best)
        p->at += 1 + best;
    return best || !*mod->values[0] ||
           parse_fail(p, "the modifier `%s` is missing, as in `.%s`", mod->name, mod->values[0]);
}

static bool parse_suffixes(struct parser *p, unsigned at, const struct isa_operand *operand)
{
    unsigned slot = isa_field(p->row->operands[at].field)->reuse;

    if (p->row->operands[at].has_mod) {
        unsigned mod = isa_mod_of_operand(p->row, at);

        if (!parse_mod(p, isa_mod(p->row->mods[mod]), &p->insn.mods[mod]))
            return false;
    }
    if (slot != ISA_NO_BIT && operand->kind == ISA_KIND_REG && take(p, ".reuse"))
        p->insn.control.reuse |= (uint8_t)(1u << slot);
    return true;
}

static bool parse_operand(struct parser *p, unsigned at)
{
    struct isa_operand *operand = &p->insn.operands[at];
    unsigned flags = p->row->operands[at].flags;
    bool is_predicate = operand->kind == ISA_KIND_PRED || operand->kind == ISA_KIND_UPRED;

    operand->negate = false;
    skip_spaces(p);
    if (flags & ISA_MAY_NEGATE) {
        bool is_number = *p->at == '-' && (isdigit((unsigned char)p->at[1]) || p->at[1] == '.');

        operand->negate = is_predicate ? take(p, "!") : !is_number && take(p, "-");
    }
    operand->absolute = (flags & ISA_MAY_CLEAR) && take(p, "|");
    skip_spaces(p);
    if ((flags & ISA_ANY_FORM) && !parse_form(p, at, operand))
        return false;
    return parse_kind(p, at, operand) && (!operand->absolute || expect(p, "|")) &&
           parse_suffixes(p, at, operand);
}

/* Whether the part of an address that is operand `at` is what stands here. */
static bool is_here(const struct parser *p, unsigned at)
{
    switch ((enum isa_kind)p->insn.operands[at].kind) {
    case ISA_KIND_REG:
        return p->at[0] == 'R';
    case ISA_KIND_UREG:
        return p->at[0] == 'U';
    default:
        return p->at[0] == '-' || isdigit((unsigned char)p->at[0]);
    }
}

static bool parse_address(struct parser *p, unsigned *at)
{
    bool is_first = true;

    if (p->row->operands[*at].field == ISA_FIELD_BANK) {
        if (!expect(p, "c") || !expect(p, "[") || !parse_operand(p, *at) || !expect(p, "]"))
            return false;
        ++*at;
    }
    if (!expect(p, "["))
        return false;
    for (;; ++*at) {
        skip_spaces(p);
        if (is_here(p, *at)) {
            if (!parse_operand(p, *at))
                return false;
            if (p->insn.operands[*at].kind == ISA_KIND_REG && isa_registers(&p->insn, *at) == 2 &&
                !expect(p, ".64"))
                return false;
            is_first = false;
            skip_spaces(p);
            if (*p->at != '-' && !take(p, "+"))
                break;
        }
        if (p->row->operands[*at].flags & ISA_CLOSES)
            break;
    }
    if (is_first)
        return parse_fail(p, "an address is expected here");
    while (!(p->row->operands[*at].flags & ISA_CLOSES))
        ++*at;
    ++*at;
    return expect(p, "]");
}

static bool is_predicate_here(struct parser *p)
{
    const char *start = p->at;
    int64_t number;
    bool is_one;

    take(p, "!");
    is_one =
        take_register(p, "P", ISA_PT, 'T', &number) || take_register(p, "UP", ISA_PT, 'T', &number);
    p->at = start;
    return is_one;
}

static bool at_end(struct parser *p)
{
    skip_spaces(p);
    return !*p->at || *p->at == ';' || *p->at == '\n' || !strncmp(p->at, "//", 2);
}

static bool parse_operands(struct parser *p)
{
    bool is_first = true;

    for (unsigned at = 0; at < p->row->noperands;) {
        unsigned end = isa_predicates_from(&p->insn, at);
        const char *start = p->at;

        if (!is_first && !at_end(p) && !expect(p, ","))
            return false;
        if (end > at && !is_predicate_here(p)) { /* the rest of them is left out */
            p->at = start;
            at = end;
            continue;
        }
        is_first = false;
        if (p->row->operands[at].flags & ISA_OPENS) {
            if (!parse_address(p, &at))
                return false;
        } else if (!parse_operand(p, at++)) {
            return false;
        }
    }
    return true;
}

/* ---- the whole */

static bool parse_sb(struct parser *p, uint8_t *out)
{
    *out = *p->at == '-' ? ISA_NO_SB : (uint8_t)(*p->at - '0');
    if (*p->at != '-' && (*p->at < '0' || *p->at > '5'))
        return parse_fail(p, "a dependence counter is 0 to 5, or - for none");
    p->at++;
    return true;
}

/* "[B0-----:R-:W1:-:S04]" */
static bool parse_control(struct parser *p)
{
    struct isa_control *control = &p->insn.control;

    if (!take(p, "["))
        return true;
    if (*p->at++ != 'B')
        return parse_fail(p, "the control field is [B------:R-:W-:-:S01]");
    for (unsigned i = 0; i < 6; i++, p->at++) {
        if (*p->at != '-' && *p->at != (char)('0' + i))
            return parse_fail(p, "counter %u, or - is expected here", i);
        control->wait |= (uint8_t)((*p->at != '-') << i);
    }
    if (strncmp(p->at, ":R", 2))
        return parse_fail(p, "`:R` is expected here");
    p->at += 2;
    if (!parse_sb(p, &control->read_sb))
        return false;
    if (strncmp(p->at, ":W", 2))
        return parse_fail(p, "`:W` is expected here");
    p->at += 2;
    if (!parse_sb(p, &control->write_sb))
        return false;
    if (*p->at != ':' || (p->at[1] != 'Y' && p->at[1] != '-') || strncmp(p->at + 2, ":S", 2) ||
        !isdigit((unsigned char)p->at[4]) || !isdigit((unsigned char)p->at[5]))
        return parse_fail(p,
                          "`:-:S01` is expected here, with Y for yield and cycles from 00 to 15");
    control->yield = p->at[1] == 'Y';
    control->stall = (uint8_t)((p->at[4] - '0') * 10 + p->at[5] - '0');
    p->at += 6;
    return expect(p, "]");
}

/* The instruction whose name is the longest here. */
static bool parse_name(struct parser *p)
{
    size_t best = 0;
    unsigned found = ISA_OPS;

    skip_spaces(p);
    for (unsigned op = 0; op < ISA_OPS; op++) {
        size_t length = strlen(isa_row(op)->name);

        if (length > best && !strncmp(p->at, isa_row(op)->name, length) &&
            !is_word_char(p->at[length])) {
            best = length;
            found = op;
        }
    }
    if (found == ISA_OPS)
        return parse_fail(p, "there is no such instruction");
    p->at += best;
    p->row = isa_row(found);
    return true;
}

static bool parse_instruction(struct parser *p)
{
    struct isa_control control;
    int64_t guard = ISA_PT;
    bool guard_not = false, is_uniform = false;

    if (!parse_control(p))
        return false;
    control = p->insn.control;
    if (take(p, "@")) {
        guard_not = take(p, "!");
        is_uniform = *p->at == 'U';
        if (!take_register(p, is_uniform ? "UP" : "P", ISA_PT, 'T', &guard))
            return parse_fail(p, "a predicate is expected here");
    }
    if (!parse_name(p))
        return false;
    if ((guard != ISA_PT || guard_not) && is_uniform != (p->row->pipe == ISA_PIPE_UNIFORM))
        return parse_fail(p, "the guard of %s is %s predicate", p->row->name,
                          is_uniform ? "no uniform" : "a uniform");
    p->insn = isa_insn_of((enum isa_op)(isa_op_of(p->row->opcode)));
    p->insn.control = control;
    p->insn.guard = (uint8_t)guard;
    p->insn.guard_not = guard_not;
    for (unsigned i = 0; i < p->row->nmods; i++)
        if (!parse_mod(p, isa_mod(p->row->mods[i]), &p->insn.mods[i]))
            return false;
    if (*p->at && !isspace((unsigned char)*p->at) && *p->at != ';')
        return parse_fail(p, "%s has no such modifier", p->row->name);
    if (!parse_operands(p))
        return false;
    return at_end(p) || parse_fail(p, "%s has no further operand", p->row->name);
}

const char *isa_parse(const char *text, uint64_t address, isa_label_fn *label, void *context,
                      struct isa_insn *out_insn, size_t *out_at)
{
    static _Thread_local struct parser p;
    const char *why = NULL;

    p = (struct parser){.at = text,
                        .address = address,
                        .label = label,
                        .context = context,
                        .insn.control = {.stall = 1, .write_sb = ISA_NO_SB, .read_sb = ISA_NO_SB}};
    if (!parse_instruction(&p))
        why = p.why;
    else
        why = isa_check(&p.insn);
    *out_at = (size_t)(p.at - text);
    if (!why)
        *out_insn = p.insn;
    return why;
}
