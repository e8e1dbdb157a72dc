/* heddle as: text of Heddle's ISA to an image. The work is done by src/isa. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "isa/image.h"

static const char help[] =
    "usage: heddle as [OPTIONS] FILE\n"
    "\n"
    "Assembles instructions of Heddle's own GPU to an image, an ELF file. The text is what\n"
    "`heddle dis` prints: kernels with their properties, a line for each instruction. - is "
    "standard\n"
    "input.\n"
    "\n"
    "options:\n"
    "  -o FILE, --output FILE   the image; default: a.hdimg\n"
    "      --instructions       list the instructions, with what each does\n"
    "  -h, --help               print this and leave\n"
    "\n"
    "exit status: 0; 1 where something is wrong, with a line FILE:LINE:COLUMN: error: for each.\n"
    "\n"
    "docs/isa.md has the instructions and the form of the text.\n";

static int assemble(const char *path, const char *output)
{
    struct hd_buf text, messages, file;
    struct isa_image image;
    int code = CLI_FAILED;

    hd_buf_init(&text);
    hd_buf_init(&messages);
    hd_buf_init(&file);
    if (hd_file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, (size_t)1 << 30, &text) !=
        HD_OK) {
        cli_error("%s cannot be read", path);
    } else if (text.len && memchr(text.ptr, '\0', text.len)) {
        cli_error("%s: not a text: it has a byte 0", path);
    } else if (isa_assemble(text.ptr ? text.ptr : "", path, &image, &messages) != HD_OK) {
        fputs(messages.ptr ? messages.ptr : "", stderr);
        cli_error("%s", hd_error_message());
    } else {
        if (isa_image_write(&image, &file) != HD_OK)
            cli_error("%s", hd_error_message());
        else if (hd_file_write(output, file.ptr, file.len) != HD_OK)
            cli_error("%s cannot be written", output);
        else
            code = CLI_OK;
        isa_image_fini(&image);
    }
    hd_buf_fini(&text);
    hd_buf_fini(&messages);
    hd_buf_fini(&file);
    return code;
}

int cmd_as(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"instructions", no_argument, NULL, 'i'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *output = "a.hdimg";
    int option;

    while ((option = cli_getopt(argc, argv, "o:h", options)) != -1) {
        switch (option) {
        case 'o':
            output = optarg;
            break;
        case 'i':
            for (unsigned op = 0; op < ISA_OPS; op++)
                cli_help_option(isa_row(op)->name, 22, isa_row(op)->doc);
            return CLI_OK;
        case 'h':
            return cli_help(help);
        default:
            return CLI_USAGE;
        }
    }
    if (optind + 1 != argc)
        return cli_usage("one file is expected");
    return assemble(argv[optind], output);
}
