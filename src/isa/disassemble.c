/* Kernels as text that the assembler reads. */
#include <inttypes.h>
#include <stdlib.h>

#include "isa/image.h"
#include "isa/isa_private.h"
#include "isa/machine.h"

static int address_order(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Where it branches to; false where it does not. */
static bool target_of(const struct isa_insn *insn, uint64_t address, uint64_t *out)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (insn->operands[i].kind == ISA_KIND_TARGET) {
            *out = address + ISA_WORD_BYTES + (uint64_t)insn->operands[i].value;
            return true;
        }
    return false;
}

/* A name as the assembler reads it: in quotes unless it is a plain one. */
static void name_print(const char *name, struct hd_buf *out)
{
    bool is_plain = *name && (*name < '0' || *name > '9');

    for (const char *at = name; *at; at++)
        is_plain &= isa_is_name_char(*at);
    if (is_plain) {
        hd_buf_puts(out, name);
        return;
    }
    hd_buf_putc(out, '"');
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\' || *at == 0x7f)
            hd_buf_printf(out, "\\x%02x", (unsigned char)*at);
        else
            hd_buf_putc(out, *at);
    hd_buf_putc(out, '"');
}

/* "FILE" LINE COLUMN CALL, as far as there is something. */
static void place_print(const struct isa_kernel *kernel, uint32_t file, uint32_t line, uint32_t col,
                        uint32_t inlined, struct hd_buf *out)
{
    if (!file)
        return;
    hd_buf_putc(out, ' ');
    name_print(isa_kernel_text(kernel, file - 1), out);
    hd_buf_printf(out, " %" PRIu32, line);
    if (col || inlined)
        hd_buf_printf(out, " %" PRIu32, col);
    if (inlined)
        hd_buf_printf(out, " %" PRIu32, inlined);
}

static void literals_print(const struct isa_kernel *kernel, struct hd_buf *out)
{
    const struct isa_reloc *reloc = kernel->relocs.at, *end = reloc + kernel->relocs.len;
    uint64_t value;

    for (size_t at = 0; at < kernel->literals.len; at += sizeof(value)) {
        memcpy(&value, kernel->literals.at + at, sizeof(value));
        hd_buf_puts(out, ".literal ");
        if (reloc != end && reloc->offset_B == at) {
            name_print(isa_kernel_text(kernel, (reloc++)->var), out);
            if (value)
                hd_buf_printf(out, "+0x%" PRIx64, value);
        } else
            hd_buf_printf(out, "0x%" PRIx64, value);
        hd_buf_putc(out, '\n');
    }
}

static void tables_print(const struct isa_kernel *kernel, struct hd_buf *out)
{
    literals_print(kernel, out);
    for (size_t i = 0; i < kernel->functions.len; i++) {
        hd_buf_puts(out, ".function ");
        name_print(isa_kernel_text(kernel, kernel->functions.at[i].index), out);
        hd_buf_printf(out, " 0x%" PRIx32 "\n", kernel->functions.at[i].offset);
    }
    for (size_t i = 0; i < kernel->inlines.len; i++) {
        const struct isa_inline *call = &kernel->inlines.at[i];

        hd_buf_puts(out, ".inlined ");
        name_print(isa_kernel_text(kernel, call->func), out);
        place_print(kernel, call->file, call->line, call->col, call->inlined, out);
        hd_buf_putc(out, '\n');
    }
}

void isa_disassemble_head(const struct isa_image *image, struct hd_buf *out)
{
    hd_buf_printf(out, "// version %d of the instruction set, machine %s\n.arch %u\n", ISA_VERSION,
                  ISA_MACHINE, image->arch);
    if (!isa_image_has_key(image))
        return;
    hd_buf_puts(out, ".key ");
    for (unsigned i = 0; i < ISA_KEY_BYTES; i++)
        hd_buf_printf(out, "%02x", image->key[i]);
    hd_buf_putc(out, '\n');
}

void isa_disassemble(const struct isa_kernel *kernel, unsigned listing, struct hd_buf *out)
{
    HD_VEC(uint64_t) targets = {0};
    size_t next = 0, line = 0;
    struct isa_insn insn;
    uint64_t target;

    hd_buf_puts(out, ".kernel ");
    name_print(kernel->name, out);
    hd_buf_putc(out, '\n');
    for (unsigned i = 0; i < ISA_PROPERTIES; i++)
        if (kernel->properties[i])
            hd_buf_printf(out, ".%s %" PRIu32 "\n", isa_properties[i].text, kernel->properties[i]);
    tables_print(kernel, out);
    for (size_t i = 0; i < kernel->functions.len; i++)
        if (kernel->functions.at[i].offset && /* the kernel's own is at 0 */
            !hd_vec_push(&targets, kernel->functions.at[i].offset))
            out->failed = true;
    for (uint64_t i = 0; i < kernel->words.len; i++)
        if (!isa_decode(kernel->words.at[i], &insn) &&
            target_of(&insn, i * ISA_WORD_BYTES, &target) && !hd_vec_push(&targets, target))
            out->failed = true;
    if (targets.len)
        qsort(targets.at, targets.len, sizeof(*targets.at), address_order);
    for (uint64_t i = 0; i < kernel->words.len; i++) {
        uint64_t address = i * ISA_WORD_BYTES;
        struct isa_word word = kernel->words.at[i];
        const char *why = isa_decode(word, &insn);

        if (next < targets.len && targets.at[next] == address)
            hd_buf_printf(out, "L_%" PRIx64 ":\n", address);
        while (next < targets.len && targets.at[next] <= address)
            next++;
        if (line < kernel->lines.len && kernel->lines.at[line].word == i) {
            const struct isa_line *l = &kernel->lines.at[line++];

            hd_buf_puts(out, "    .loc");
            place_print(kernel, l->file, l->line, l->col, l->inlined, out);
            hd_buf_putc(out, '\n');
        }
        hd_buf_puts(out, "    ");
        if (listing & ISA_LISTING_CONTROL && !why) {
            isa_print_control(&insn.control, out);
            hd_buf_putc(out, ' ');
        }
        if (why)
            hd_buf_printf(out, "// %s:", why);
        else
            isa_print(&insn, address, out);
        hd_buf_puts(out, " ;");
        if (listing & ISA_LISTING_WORDS || why)
            hd_buf_printf(out, "  // %04" PRIx64 ": %016" PRIx64 "%016" PRIx64, address, word.hi,
                          word.lo);
        hd_buf_putc(out, '\n');
    }
    hd_vec_fini(&targets);
}
