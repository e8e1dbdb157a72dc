/* heddle dis: images of Heddle's ISA as text. The work is done by src/isa. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "common/cli.h"
#include "isa/image.h"

static const char help[] =
    "usage: heddle dis [OPTIONS] FILE\n"
    "\n"
    "Prints the kernels of an image for Heddle's own GPU as text that `heddle as` reads.\n"
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

static void insn_json(struct hd_json *json, uint64_t address, struct isa_word word)
{
    struct hd_buf text;
    struct isa_insn insn;
    const char *why = isa_decode(word, &insn);
    char hex[2 * ISA_WORD_BYTES + 1];

    hd_buf_init(&text);
    snprintf(hex, sizeof(hex), "%016" PRIx64 "%016" PRIx64, word.hi, word.lo);
    hd_json_open(json, NULL, '{');
    hd_json_u64(json, "address", address);
    hd_json_str(json, "word", hex);
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

static void kernel_json(struct hd_json *json, const struct isa_kernel *kernel)
{
    hd_json_open(json, NULL, '{');
    hd_json_str(json, "name", kernel->name);
    for (unsigned i = 0; i < ISA_PROPERTIES; i++)
        hd_json_u64(json, isa_properties[i].text, kernel->properties[i]);
    hd_json_open(json, "instructions", '[');
    for (uint64_t i = 0; i < kernel->words.len; i++)
        insn_json(json, i * ISA_WORD_BYTES, kernel->words.at[i]);
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
        hd_json_open(&json, "kernels", '[');
    }
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
