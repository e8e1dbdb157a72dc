/*
 * heddle ptxas: PTX to an image that Heddle loads, with ptxas's options, messages and exit status.
 * It is the executable `ptxas`, too (main.c). The work is done by src/ptxas.
 */
#include "ptxas/ptxas.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "cuda_version.h"

#define PTXAS_FAILED 255
#define INPUT_MAX_B  ((size_t)1 << 30)

static void print(FILE *out, void (*make)(struct hd_buf *out))
{
    struct hd_buf text;

    hd_buf_init(&text);
    make(&text);
    fputs(text.ptr ? text.ptr : "", out);
    hd_buf_fini(&text);
}

#define HELP_COLUMN 36

static void print_row(const char *names, const char *doc)
{
    if (*doc)
        cli_help_option(names, HELP_COLUMN, doc);
    else
        printf("  %s\n", names);
}

static void print_help(void)
{
    cli_help("usage: heddle ptxas [OPTIONS] FILES\n"
             "\n"
             "Assembles PTX to an image that cuModuleLoadData(), cuLibraryLoadData(), cuLink and\n"
             "libnvJitLink of Heddle load: an ELF file that holds the PTX and, for Heddle's own "
             "GPU, the\n"
             "code of each kernel (`heddle dis`, `heddle objdump`). Takes the options of NVIDIA's "
             "ptxas,\n"
             "whose place it takes as the executable `ptxas`.\n"
             "\n"
             "options:\n");
    ptxas_help(true, print_row);
    cli_help("\naccepted and checked, without effect here:\n");
    ptxas_help(false, print_row);
    cli_help("\n- as a file is standard input.\n\nexit status: 0, or 255 after an error\n");
}

/* Clients look for "release N.N" and "VN.N.N". */
static void print_version(void)
{
    printf("ptxas: Heddle PTX assembler, version %s\n"
           "Cuda compilation tools, release %d.%d, V%d.%d.0\n",
           cli_version(), __CUDA_API_VER_MAJOR__, __CUDA_API_VER_MINOR__, __CUDA_API_VER_MAJOR__,
           __CUDA_API_VER_MINOR__);
}

static void print_logs(const struct ptxas *p)
{
    if (p->info.len)
        fputs(p->info.ptr, stderr);
    if (p->error.len)
        fputs(p->error.ptr, stderr);
}

/* ---- files */

static bool stdin_read(struct hd_buf *out)
{
    char block[65536];
    size_t n;

    while ((n = fread(block, 1, sizeof block, stdin)) > 0)
        hd_buf_append(out, block, n);
    return !ferror(stdin) && !out->failed;
}

static bool input_read(struct ptxas *p, const char *path)
{
    struct hd_buf text;
    enum hd_status status;
    bool good;

    hd_buf_init(&text);
    good = strcmp(path, "-") == 0 ? stdin_read(&text)
                                  : hd_file_read(path, INPUT_MAX_B, &text) == HD_OK;
    if (!good)
        ptxas_say(p, PTXAS_FATAL, "Input file '%s' could not be opened", path);
    else if ((status = ptxas_input_add(p, path, text.ptr ? text.ptr : "", text.len)) != HD_OK)
        ptxas_say_status(p, status);
    hd_buf_fini(&text);
    return !p->failed;
}

static bool image_write(struct ptxas *p)
{
    const char *path = p->options.output;

    assert(!p->failed && path);
    if (p->options.target.is_virtual || hd_file_write(path, p->image.ptr, p->image.len) == HD_OK)
        return true;
    ptxas_say(p, PTXAS_FATAL, "Output file '%s' could not be opened", path);
    return false;
}

static bool assemble(struct ptxas *p)
{
    for (size_t i = 0; i < p->files.len; i++)
        if (!input_read(p, p->files.at[i]))
            return false;
    if (!p->inputs.len) {
        ptxas_say(p, PTXAS_FATAL, "No input file: see --help");
        return false;
    }
    return ptxas_assemble(p) == HD_OK && image_write(p);
}

/* ---- the command */

static bool work(struct ptxas *p)
{
    if (p->options.help)
        print_help();
    else if (p->options.version)
        print_version();
    else if (p->options.list_versions)
        print(stdout, ptxas_list_versions);
    else
        return assemble(p);
    return true;
}

int cmd_ptxas(int argc, char **argv)
{
    struct ptxas p;
    bool good;

    ptxas_init(&p);
    good = ptxas_options_read(&p, PTXAS_TOOL, (size_t)argc - 1, (const char *const *)argv + 1) &&
           !p.failed && work(&p);
    print_logs(&p);
    ptxas_fini(&p);
    return good ? CLI_OK : PTXAS_FAILED;
}
