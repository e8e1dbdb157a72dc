/* Operands and instructions as text. */
#include "ptx/ptx_print.h"

#include <inttypes.h>

void ptx_put_str(struct hd_buf *buf, struct hd_str text)
{
    hd_buf_append(buf, text.ptr, text.len);
}

/* printf would be half of the time that printing a module takes. */
void ptx_put_u64(struct hd_buf *buf, uint64_t value)
{
    char text[20];
    unsigned at = sizeof(text);
    do
        text[--at] = (char)('0' + value % 10);
    while (value /= 10);
    hd_buf_append(buf, text + at, sizeof(text) - at);
}

void ptx_put_int(struct hd_buf *buf, uint64_t bits, bool is_unsigned)
{
    if (!is_unsigned && bits == 1ull << 63) { /* its magnitude is no signed literal */
        hd_buf_puts(buf, "(-9223372036854775807-1)");
        return;
    }
    bool minus = !is_unsigned && bits > INT64_MAX;
    if (minus)
        hd_buf_putc(buf, '-');
    ptx_put_u64(buf, minus ? -bits : bits);
    if (is_unsigned && bits <= INT64_MAX)
        hd_buf_putc(buf, 'U');
}

void ptx_put_offset(struct hd_buf *buf, int64_t offset)
{
    if (!offset)
        return;
    hd_buf_putc(buf, '+');
    ptx_put_int(buf, (uint64_t)offset, false);
}

/* ---- operands ---- */

static void print_comp(struct hd_buf *buf, const struct ptx_operand *operand)
{
    static const char *const names[] = {"",   ".x",  ".y",  ".z",  ".w",  ".r",  ".g", ".b",
                                        ".a", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    if (operand->comp == PTX_COMP_UNIFIED) {
        hd_buf_puts(buf, ".unified");
    } else if (operand->comp == PTX_COMP_MASK) {
        hd_buf_puts(buf, operand->index2 & 1u << 20 ? ".h" : ".b");
        for (unsigned i = 0; i < operand->index2 >> 24; i++)
            hd_buf_putc(buf, (char)('0' + (operand->index2 >> (4 * i) & 15)));
    } else {
        hd_buf_puts(buf, names[operand->comp]);
    }
}

static void print_reg(struct hd_buf *buf, const struct ptx_operand *operand)
{
    ptx_put_str(buf, operand->u.reg->sym.name);
    if (operand->u.reg->sym.is_range)
        ptx_put_u64(buf, operand->index);
}

static void print_items(struct hd_buf *buf, const struct ptx_operand *operand, const char *between)
{
    for (uint32_t i = 0; i < operand->nitems; i++) {
        if (i)
            hd_buf_puts(buf, between);
        ptx_print_operand(&operand->items[i], buf);
    }
}

static void print_sreg(struct hd_buf *buf, const struct ptx_operand *operand)
{
    const struct ptx_sreg_info *info = ptx_sreg_info((enum ptx_sreg)operand->index2);
    hd_buf_puts(buf, info->name);
    if (info->count > 1)
        hd_buf_printf(buf, "%u", operand->index);
    if (operand->comp)
        print_comp(buf, operand);
}

/* A variable, maybe with an index, and what is added. */
static void print_sym(struct hd_buf *buf, const struct ptx_operand *operand)
{
    ptx_put_str(buf, operand->u.sym->name);
    print_comp(buf, operand);
    if (operand->subscript) {
        hd_buf_putc(buf, '[');
        ptx_print_operand(operand->subscript, buf);
        hd_buf_putc(buf, ']');
    }
    ptx_put_offset(buf, operand->offset);
}

static void print_address(struct hd_buf *buf, const struct ptx_operand *operand)
{
    hd_buf_putc(buf, '[');
    if (operand->base == PTX_OPND_REG)
        print_reg(buf, operand);
    else if (operand->base == PTX_OPND_SYM)
        ptx_put_str(buf, operand->u.sym->name);
    else
        ptx_put_int(buf, operand->u.bits, operand->is_unsigned);
    if (operand->comp && operand->comp != PTX_COMP_UNIFIED)
        print_comp(buf, operand);
    ptx_put_offset(buf, operand->offset);
    if (operand->nitems) {
        hd_buf_puts(buf, ", ");
        print_items(buf, operand, ", ");
    }
    hd_buf_putc(buf, ']');
    if (operand->comp == PTX_COMP_UNIFIED)
        print_comp(buf, operand);
}

static void print_list(struct hd_buf *buf, const struct ptx_operand *operand, char open, char close)
{
    hd_buf_putc(buf, open);
    print_items(buf, operand, ", ");
    hd_buf_putc(buf, close);
}

void ptx_print_operand(const struct ptx_operand *operand, struct hd_buf *buf)
{
    if (operand->invert)
        hd_buf_putc(buf, '!');
    if (operand->negate)
        hd_buf_putc(buf, '-');
    switch (operand->kind) {
    case PTX_OPND_REG:
        print_reg(buf, operand);
        print_comp(buf, operand);
        ptx_put_offset(buf, operand->offset);
        break;
    case PTX_OPND_SREG:
        print_sreg(buf, operand);
        break;
    case PTX_OPND_INT:
        ptx_put_int(buf, operand->u.bits, operand->is_unsigned);
        break;
    case PTX_OPND_F32:
        hd_buf_printf(buf, "0f%08" PRIX32, (uint32_t)operand->u.bits);
        break;
    case PTX_OPND_F64:
        hd_buf_printf(buf, "0d%016" PRIX64, operand->u.bits);
        break;
    case PTX_OPND_SYM:
        print_sym(buf, operand);
        break;
    case PTX_OPND_LABEL:
        ptx_put_str(buf, operand->u.label->sym.name);
        break;
    case PTX_OPND_ADDR:
        if (operand->subscript) /* has brackets of its own */
            print_sym(buf, operand);
        else
            print_address(buf, operand);
        break;
    case PTX_OPND_VEC:
        print_list(buf, operand, '{', '}');
        break;
    case PTX_OPND_TUPLE:
        print_list(buf, operand, '(', ')');
        break;
    case PTX_OPND_PAIR:
        print_items(buf, operand, "|");
        break;
    case PTX_OPND_SINK:
        hd_buf_putc(buf, '_');
        break;
    default:
        break;
    }
}

/* ---- instructions ---- */

static void print_call(struct hd_buf *buf, const struct ptx_operand *ops)
{
    bool proto = ops[3].kind != PTX_OPND_NONE;
    if (ops[0].nitems) {
        ptx_print_operand(&ops[0], buf);
        hd_buf_puts(buf, ", ");
    }
    ptx_print_operand(&ops[1], buf);
    if (ops[2].nitems || proto) {
        hd_buf_puts(buf, ", ");
        ptx_print_operand(&ops[2], buf);
    }
    if (proto) {
        hd_buf_puts(buf, ", ");
        ptx_print_operand(&ops[3], buf);
    }
}

void ptx_print_insn(const struct ptx_insn *insn, struct hd_buf *buf)
{
    if (insn->guard.kind) {
        hd_buf_putc(buf, '@');
        ptx_print_operand(&insn->guard, buf);
        hd_buf_putc(buf, ' ');
    }
    ptx_put_str(buf, insn->form->text);
    if (insn->nops)
        hd_buf_putc(buf, ' ');
    if (insn->form->op == PTX_OP_CALL) {
        print_call(buf, insn->ops);
    } else {
        for (uint32_t i = 0; i < insn->nops; i++) {
            if (i)
                hd_buf_puts(buf, ", ");
            ptx_print_operand(&insn->ops[i], buf);
        }
    }
    hd_buf_putc(buf, ';');
}
