/* heddle dis: images of Heddle's ISA as text. The work is done by src/isa. */
#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "common/cli.h"
#include "isa/image.h"
#include "isa/machine.h"

static const char help[] =
    "usage: heddle dis [OPTIONS] FILE\n"
    "\n"
    "Prints the code for Heddle's own GPU of an image of `heddle ptxas` or `heddle as`, as text\n"
    "that `heddle as` reads: kernels, their properties, literals and functions, instructions with\n"
    "control fields and the lines of the source.\n"
    "\n"
    "options:\n"
    "  -k NAME, --kernel NAME   this kernel only\n"
    "      --no-control         without control fields\n"
    "      --words              with addresses and words\n"
    "      --json               one object: kernels, their properties and instructions\n"
    "  -h, --help               print this and leave\n"
    "\n"
    "exit status: 0; 1 where the file is no such image, or has no such kernel.\n"
    "\n"
    "docs/isa.md has the instructions and the form of the text.\n";

/* Where it comes from, and where the functions that it was inlined with were called. */
static void place_json(struct hd_json *json, const struct isa_kernel *kernel,
                       const struct isa_line *line)
{
    uint32_t inlined = line->inlined;

    assert(line->file);
    hd_json_str(json, "file", isa_kernel_text(kernel, line->file - 1));
    hd_json_u64(json, "line", line->line);
    hd_json_u64(json, "column", line->col);
    if (!inlined)
        return;
    hd_json_open(json, "inlined_at", '[');
    while (inlined) {
        const struct isa_inline *call = &kernel->inlines.at[inlined - 1];

        hd_json_open(json, NULL, '{');
        hd_json_str(json, "function", isa_kernel_text(kernel, call->func));
        if (call->file) {
            hd_json_str(json, "file", isa_kernel_text(kernel, call->file - 1));
            hd_json_u64(json, "line", call->line);
            hd_json_u64(json, "column", call->col);
        }
        hd_json_close(json, '}');
        assert(call->inlined < inlined); /* isa_kernel_check() */
        inlined = call->inlined;
    }
    hd_json_close(json, ']');
}

static void insn_json(struct hd_json *json, const struct isa_kernel *kernel, uint32_t at)
{
    uint64_t address = (uint64_t)at * ISA_WORD_BYTES;
    struct isa_word word = kernel->words.at[at];
    const struct isa_line *line = isa_kernel_line(kernel, at);
    struct hd_buf text;
    struct isa_insn insn;
    const char *why = isa_decode(word, &insn);
    char hex[2 * ISA_WORD_BYTES + 1];

    assert(at < kernel->words.len);
    hd_buf_init(&text);
    snprintf(hex, sizeof(hex), "%016" PRIx64 "%016" PRIx64, word.hi, word.lo);
    hd_json_open(json, NULL, '{');
    hd_json_u64(json, "address", address);
    hd_json_str(json, "word", hex);
    if (line)
        place_json(json, kernel, line);
    if (!why) { /* always, of an image that was read */
        isa_print(&insn, address, &text);
        hd_json_str(json, "text", text.ptr);
        hd_json_str(json, "mnemonic", isa_row(insn.op)->name);
        hd_json_u64(json, "stall", insn.control.stall);
        hd_json_bool(json, "yield", insn.control.yield);
        if (insn.control.write_sb != ISA_NO_SB)
            hd_json_u64(json, "write_counter", insn.control.write_sb);
        if (insn.control.read_sb != ISA_NO_SB)
            hd_json_u64(json, "read_counter", insn.control.read_sb);
        hd_json_u64(json, "wait_mask", insn.control.wait);
        hd_json_u64(json, "reuse_mask", insn.control.reuse);
    }
    hd_json_close(json, '}');
    hd_buf_fini(&text);
}

static void tables_json(struct hd_json *json, const struct isa_kernel *kernel)
{
    char hex[2 * sizeof(uint64_t) + 3];
    size_t reloc = 0;
    uint64_t value;

    hd_json_open(json, "literals", '[');
    for (size_t at = 0; at < kernel->literals.len; at += sizeof(value)) {
        memcpy(&value, kernel->literals.at + at, sizeof(value));
        snprintf(hex, sizeof(hex), "0x%" PRIx64, value);
        hd_json_open(json, NULL, '{');
        hd_json_u64(json, "offset", at);
        hd_json_str(json, "value", hex);
        if (reloc < kernel->relocs.len && kernel->relocs.at[reloc].offset_B == at)
            hd_json_str(json, "variable", isa_kernel_text(kernel, kernel->relocs.at[reloc++].var));
        hd_json_close(json, '}');
    }
    hd_json_close(json, ']');
    hd_json_open(json, "functions", '[');
    for (size_t i = 0; i < kernel->functions.len; i++) {
        hd_json_open(json, NULL, '{');
        hd_json_str(json, "name", isa_kernel_text(kernel, kernel->functions.at[i].index));
        hd_json_u64(json, "address", kernel->functions.at[i].offset);
        hd_json_close(json, '}');
    }
    hd_json_close(json, ']');
}

static void kernel_json(struct hd_json *json, const struct isa_kernel *kernel)
{
    hd_json_open(json, NULL, '{');
    hd_json_str(json, "name", kernel->name);
    for (unsigned i = 0; i < ISA_PROPERTIES; i++)
        hd_json_u64(json, isa_properties[i].text, kernel->properties[i]);
    tables_json(json, kernel);
    hd_json_open(json, "instructions", '[');
    for (uint32_t i = 0; i < kernel->words.len; i++)
        insn_json(json, kernel, i);
    hd_json_close(json, ']');
    hd_json_close(json, '}');
}

static int print(const struct isa_image *image, const char *only, unsigned listing, bool as_json)
{
    struct hd_json json;
    struct hd_buf text;
    bool failed;

    hd_buf_init(&text);
    if (as_json) {
        hd_json_init(&json);
        hd_json_open(&json, NULL, '{');
        hd_json_u64(&json, "arch", image->arch);
        hd_json_str(&json, "machine", ISA_MACHINE);
        hd_json_open(&json, "kernels", '[');
    } else if (!only)
        isa_disassemble_head(image, &text);
    for (size_t i = 0; i < image->kernels.len; i++) {
        const struct isa_kernel *kernel = &image->kernels.at[i];

        if (only && strcmp(kernel->name, only) != 0)
            continue;
        if (as_json)
            kernel_json(&json, kernel);
        else
            isa_disassemble(kernel, listing, &text);
    }
    if (as_json) {
        hd_json_close(&json, ']');
        hd_json_close(&json, '}');
        failed = !hd_json_print(&json);
    } else
        failed = text.failed || (text.len && fputs(text.ptr, stdout) == EOF) || fflush(stdout) != 0;
    hd_buf_fini(&text);
    return failed ? cli_error("the listing cannot be written") : CLI_OK;
}

static int disassemble(const char *path, const char *only, unsigned listing, bool as_json)
{
    struct hd_buf file;
    struct isa_image image;
    int code;

    hd_buf_init(&file);
    if (hd_file_read(path, (size_t)1 << 30, &file) != HD_OK)
        code = cli_error("%s cannot be read", path);
    else if (isa_image_read(file.ptr, file.len, &image) != HD_OK)
        code = cli_error("%s: %s", path, hd_error_message());
    else {
        if (only && !isa_image_find(&image, hd_str_from(only)))
            code = cli_error("%s has no kernel %s", path, only);
        else
            code = print(&image, only, listing, as_json);
        isa_image_fini(&image);
    }
    hd_buf_fini(&file);
    return code;
}

int cmd_dis(int argc, char **argv)
{
    static const struct option options[] = {
        {"kernel", required_argument, NULL, 'k'}, {"no-control", no_argument, NULL, 'n'},
        {"words", no_argument, NULL, 'w'},        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {0}};
    unsigned listing = ISA_LISTING_CONTROL;
    const char *only = NULL;
    bool as_json = cli_json();
    int option;

    while ((option = cli_getopt(argc, argv, "k:h", options)) != -1) {
        switch (option) {
        case 'k':
            only = optarg;
            break;
        case 'n':
            listing &= ~(unsigned)ISA_LISTING_CONTROL;
            break;
        case 'w':
            listing |= ISA_LISTING_WORDS;
            break;
        case 'j':
            as_json = true;
            break;
        case 'h':
            return cli_help(help);
        default:
            return CLI_USAGE;
        }
    }
    if (optind + 1 != argc)
        return cli_usage("one file is expected");
    return disassemble(argv[optind], only, listing, as_json);
}
