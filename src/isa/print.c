/* Instructions as text. What has its default value is left out where the reader can tell. */
#include "isa/isa_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void isa_print_control(const struct isa_control *control, struct hd_buf *out)
{
    hd_buf_puts(out, "[B");
    for (unsigned i = 0; i < 6; i++)
        hd_buf_putc(out, control->wait & 1u << i ? (char)('0' + i) : '-');
    hd_buf_puts(out, ":R");
    hd_buf_putc(out, control->read_sb == ISA_NO_SB ? '-' : (char)('0' + control->read_sb));
    hd_buf_puts(out, ":W");
    hd_buf_putc(out, control->write_sb == ISA_NO_SB ? '-' : (char)('0' + control->write_sb));
    hd_buf_printf(out, ":%c:S%02u]", control->yield ? 'Y' : '-', control->stall);
}

static void print_number(int64_t value, struct hd_buf *out)
{
    hd_buf_printf(out, "%s0x%" PRIx64, value < 0 ? "-" : "",
                  value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void print_float(double value, int digits, uint32_t bits, struct hd_buf *out)
{
    char text[32];

    if (!isfinite(value)) {
        print_number(bits, out);
        return;
    }
    snprintf(text, sizeof(text), "%.*g", digits, value);
    hd_buf_puts(out, text);
    if (!strpbrk(text, ".e"))
        hd_buf_puts(out, ".0");
}

static void print_immediate(const struct isa_row *row, uint32_t bits, struct hd_buf *out)
{
    uint64_t wide = (uint64_t)bits << 32;
    float single;
    double twice;

    memcpy(&single, &bits, sizeof(single));
    memcpy(&twice, &wide, sizeof(twice));
    if (row->immediate == ISA_IMMEDIATE_F32)
        print_float((double)single, 9, bits, out);
    else if (row->immediate == ISA_IMMEDIATE_F64)
        print_float(twice, 17, bits, out);
    else
        print_number(bits, out);
}

static void print_register(const char *prefix, int64_t number, int64_t zero, const char *zero_text,
                           struct hd_buf *out)
{
    if (number == zero)
        hd_buf_printf(out, "%s%s", prefix, zero_text);
    else
        hd_buf_printf(out, "%s%" PRId64, prefix, number);
}

static void print_constant(unsigned bank, unsigned ureg, int64_t offset, struct hd_buf *out)
{
    hd_buf_printf(out, "c[0x%x][", bank);
    if (ureg != ISA_URZ)
        hd_buf_printf(out, "UR%u%s", ureg, offset < 0 ? "" : "+");
    print_number(offset, out);
    hd_buf_putc(out, ']');
}

static void print_value(const struct isa_insn *insn, unsigned at, uint64_t address,
                        struct hd_buf *out)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_operand *operand = &insn->operands[at];

    switch ((enum isa_kind)operand->kind) {
    case ISA_KIND_REG:
        print_register("R", operand->value, ISA_RZ, "Z", out);
        break;
    case ISA_KIND_UREG:
        print_register("UR", operand->value, ISA_URZ, "Z", out);
        break;
    case ISA_KIND_PRED:
        print_register("P", operand->value, ISA_PT, "T", out);
        break;
    case ISA_KIND_UPRED:
        print_register("UP", operand->value, ISA_PT, "T", out);
        break;
    case ISA_KIND_BARRIER:
        hd_buf_printf(out, "B%" PRId64, operand->value);
        break;
    case ISA_KIND_SREG:
        hd_buf_printf(out, "SR_%s", isa_sreg_name((unsigned)operand->value));
        break;
    case ISA_KIND_TARGET:
        print_number((int64_t)(address + ISA_WORD_BYTES + (uint64_t)operand->value), out);
        break;
    case ISA_KIND_IMMEDIATE:
        print_immediate(row, (uint32_t)operand->value, out);
        break;
    case ISA_KIND_CONSTANT:
        print_constant(operand->bank, operand->ureg, operand->value, out);
        break;
    case ISA_KIND_UINT:
    case ISA_KIND_SINT:
        print_number(operand->value, out);
        break;
    }
}

static void print_operand(const struct isa_insn *insn, unsigned at, uint64_t address,
                          struct hd_buf *out)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_operand *operand = &insn->operands[at];
    unsigned slot = isa_field(row->operands[at].field)->reuse;

    if (operand->negate)
        hd_buf_putc(out,
                    operand->kind == ISA_KIND_PRED || operand->kind == ISA_KIND_UPRED ? '!' : '-');
    if (operand->absolute)
        hd_buf_putc(out, '|');
    print_value(insn, at, address, out);
    if (operand->absolute)
        hd_buf_putc(out, '|');
    if (row->operands[at].has_mod) {
        unsigned mod = isa_mod_of_operand(row, at);
        const char *word = isa_mod(row->mods[mod])->values[insn->mods[mod]];

        hd_buf_printf(out, "%s%s", *word ? "." : "", word);
    }
    if (slot != ISA_NO_BIT && operand->kind == ISA_KIND_REG && insn->control.reuse & 1u << slot)
        hd_buf_puts(out, ".reuse");
}

static bool is_default(const struct isa_insn *insn, unsigned at)
{
    const struct isa_operand *operand = &insn->operands[at];

    return operand->value == isa_default(operand->kind) &&
           operand->negate == !!(isa_row(insn->op)->operands[at].flags & ISA_USUALLY_NOT);
}

/* From operand `at`, which opens an address, to the one that closes it; returns the next. */
static unsigned print_address(const struct isa_insn *insn, unsigned at, struct hd_buf *out)
{
    const struct isa_row *row = isa_row(insn->op);
    bool is_constant = row->operands[at].field == ISA_FIELD_BANK;
    bool is_first = true;

    if (is_constant)
        hd_buf_printf(out, "c[0x%x]", (unsigned)insn->operands[at++].value);
    hd_buf_putc(out, '[');
    for (;; at++) {
        const struct isa_operand *operand = &insn->operands[at];
        bool is_last = row->operands[at].flags & ISA_CLOSES;

        if (!is_default(insn, at) || (is_last && is_first)) {
            if (!is_first && operand->value >= 0)
                hd_buf_putc(out, '+');
            is_first = false;
            print_operand(insn, at, 0, out);
            if (operand->kind == ISA_KIND_REG && isa_registers(insn, at) == 2)
                hd_buf_puts(out, ".64");
        }
        if (is_last)
            break;
    }
    hd_buf_putc(out, ']');
    return at + 1;
}

unsigned isa_predicates_from(const struct isa_insn *insn, unsigned at)
{
    const struct isa_row *row = isa_row(insn->op);
    unsigned end = at;

    while (end < row->noperands && (insn->operands[end].kind == ISA_KIND_PRED ||
                                    insn->operands[end].kind == ISA_KIND_UPRED))
        end++;
    return end;
}

static void print_operands(const struct isa_insn *insn, uint64_t address, struct hd_buf *out)
{
    const struct isa_row *row = isa_row(insn->op);
    const char *before = " ";

    for (unsigned at = 0; at < row->noperands;) {
        unsigned end = isa_predicates_from(insn, at), shown = end;

        if (row->operands[at].flags & ISA_OPENS) {
            hd_buf_puts(out, before);
            before = ", ";
            at = print_address(insn, at, out);
            continue;
        }
        /* Of predicates in a row the last ones are left out when they are the default. */
        while (shown > at && is_default(insn, shown - 1))
            shown--;
        if (end == at)
            end = shown = at + 1;
        for (; at < shown; at++) {
            hd_buf_puts(out, before);
            before = ", ";
            print_operand(insn, at, address, out);
        }
        at = end;
    }
}

void isa_print(const struct isa_insn *insn, uint64_t address, struct hd_buf *out)
{
    const struct isa_row *row = isa_row(insn->op);

    if (insn->guard != ISA_PT || insn->guard_not) {
        hd_buf_printf(out, "@%s", insn->guard_not ? "!" : "");
        print_register(row->pipe == ISA_PIPE_UNIFORM ? "UP" : "P", insn->guard, ISA_PT, "T", out);
        hd_buf_putc(out, ' ');
    }
    hd_buf_puts(out, row->name);
    for (unsigned i = 0; i < row->nmods; i++) {
        const char *word = isa_mod(row->mods[i])->values[insn->mods[i]];

        hd_buf_printf(out, "%s%s", *word ? "." : "", word);
    }
    print_operands(insn, address, out);
}
