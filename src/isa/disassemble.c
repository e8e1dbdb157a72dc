/* Kernels as text that the assembler reads. */
#include <inttypes.h>
#include <stdlib.h>

#include "isa/image.h"
#include "isa/isa_private.h"

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

void isa_disassemble(const struct isa_kernel *kernel, unsigned listing, struct hd_buf *out)
{
    HD_VEC(uint64_t) targets = {0};
    size_t next = 0;
    struct isa_insn insn;
    uint64_t target;

    hd_buf_printf(out, ".kernel %s\n", kernel->name);
    for (unsigned i = 0; i < ISA_PROPERTIES; i++)
        if (kernel->properties[i])
            hd_buf_printf(out, ".%s %" PRIu32 "\n", isa_properties[i].text, kernel->properties[i]);
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
