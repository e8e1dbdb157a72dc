/* heddle objdump: what images, fat binaries and programs hold: PTX, and kernels in machine code. */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "common/cli.h"
#include "common/program.h"
#include "isa/image.h"
#include "isa/machine.h"

static const char help[] =
    "usage: heddle objdump [OPTIONS] FILE...\n"
    "\n"
    "Lists the device code of images, fat binaries, programs and libraries: each entry, and of an\n"
    "image of Heddle's its PTX and its kernels with registers and sizes, all in bytes.\n"
    "\n"
    "options:\n"
    "      --json   one object: files, their entries, PTX and kernels\n"
    "  -h, --help   print this and leave\n"
    "\n"
    "exit status: 0; 1 where a file cannot be read or an image in it is damaged.\n";

/* What a kernel's columns are: the properties that say how much of a machine it takes. */
static const enum isa_property columns[] = {
    ISA_PROPERTY_REGISTERS, ISA_PROPERTY_UNIFORM, ISA_PROPERTY_BARRIERS, ISA_PROPERTY_SHARED,
    ISA_PROPERTY_LOCAL,     ISA_PROPERTY_SPILLED, ISA_PROPERTY_PARAM,
};

static size_t code_B(const struct isa_kernel *kernel)
{
    assert(kernel->words.len <= ISA_MOST_WORDS);
    return kernel->words.len * ISA_WORD_BYTES;
}

/* json: NULL for text, here and below. */
static void ptx_list(void *json, const struct obj_entry *entry)
{
    if (!json) {
        printf("    ptx compute_%u%.1s, %zu bytes%s%.*s\n", entry->arch, &entry->variant,
               entry->raw_B, entry->source.len ? ", of " : "", HD_STR_ARG(entry->source));
        return;
    }
    hd_json_open(json, NULL, '{');
    hd_json_u64(json, "arch", entry->arch);
    hd_json_view(json, "source", entry->source);
    hd_json_u64(json, "size_B", entry->raw_B);
    hd_json_close(json, '}');
}

/* ---- the kernels of an image */

static void kernels_text(const struct isa_image *image)
{
    printf("    code version %d for %s", ISA_VERSION, ISA_MACHINE);
    if (isa_image_has_key(image)) {
        printf(", key ");
        for (unsigned i = 0; i < ISA_KEY_BYTES; i++)
            printf("%02x", image->key[i]);
    }
    printf("\n     ");
    for (size_t c = 0; c < HD_COUNT_OF(columns); c++)
        printf(" %9s", isa_properties[columns[c]].text);
    printf(" %9s  kernel\n", "code");
    for (size_t i = 0; i < image->kernels.len; i++) {
        const struct isa_kernel *kernel = &image->kernels.at[i];

        printf("     ");
        for (size_t c = 0; c < HD_COUNT_OF(columns); c++)
            printf(" %9u", kernel->properties[columns[c]]);
        printf(" %9zu  %s\n", code_B(kernel), kernel->name);
    }
}

static void kernels_json(const struct isa_image *image, struct hd_json *json)
{
    char key[2 * ISA_KEY_BYTES + 1];

    for (unsigned i = 0; i < ISA_KEY_BYTES; i++)
        snprintf(key + 2 * i, 3, "%02x", image->key[i]);
    hd_json_u64(json, "version", ISA_VERSION);
    hd_json_str(json, "machine", ISA_MACHINE);
    if (isa_image_has_key(image))
        hd_json_str(json, "key", key);
    hd_json_open(json, "kernels", '[');
    for (size_t i = 0; i < image->kernels.len; i++) {
        const struct isa_kernel *kernel = &image->kernels.at[i];

        hd_json_open(json, NULL, '{');
        hd_json_str(json, "name", kernel->name);
        for (unsigned p = 0; p < ISA_PROPERTIES; p++)
            hd_json_u64(json, isa_properties[p].text, kernel->properties[p]);
        hd_json_u64(json, "code_B", code_B(kernel));
        hd_json_u64(json, "literals_B", kernel->literals.len);
        hd_json_u64(json, "functions", kernel->functions.len);
        hd_json_close(json, '}');
    }
    hd_json_close(json, ']');
}

/* ---- entries */

/* An image of ours in the place of machine code. */
static int image_list(const char *path, const struct obj_entry *entry, struct hd_json *json)
{
    struct isa_image image;
    struct hd_buf bytes;
    int code = CLI_OK;
    bool has_code;

    hd_buf_init(&bytes);
    if (obj_entry_read(entry, &bytes) != HD_OK) {
        hd_buf_fini(&bytes);
        return cli_error("%s: %s", path, hd_error_message());
    }
    if (json)
        hd_json_open(json, "ptx", '[');
    has_code = program_image_modules(&bytes, ptx_list, json);
    if (json)
        hd_json_close(json, ']');
    if (has_code && isa_image_read(bytes.ptr, bytes.len, &image) == HD_OK) {
        if (json)
            kernels_json(&image, json);
        else
            kernels_text(&image);
        isa_image_fini(&image);
    } else if (has_code) {
        code = cli_error("%s: %s", path, hd_error_message());
    }
    hd_buf_fini(&bytes);
    return code;
}

static void entry_text(const struct program_image *image, bool is_ours)
{
    const struct obj_entry *entry = &image->entry;
    char kind[16];

    printf("  ");
    if (*image->section || image->fatbin.bytes)
        printf("%s%sfat binary %zu, offset 0x%llx: ", image->section, *image->section ? ", " : "",
               image->container, (unsigned long long)image->offset_B);
    printf("%s", is_ours ? "image" : obj_entry_kind_text(entry->kind, kind, sizeof(kind)));
    if (entry->arch)
        printf(" %s%u%.1s", entry->kind == OBJ_ENTRY_CUBIN ? "sm_" : "compute_", entry->arch,
               &entry->variant);
    printf(", %zu bytes", entry->raw_B);
    if (entry->codec != OBJ_CODEC_RAW)
        printf(" (%s: %zu)", obj_codec_text(entry->codec), entry->stored_B);
    if (entry->source.len)
        printf(", of %.*s", HD_STR_ARG(entry->source));
    putchar('\n');
}

static void entry_json(const struct program_image *image, bool is_ours, struct hd_json *json)
{
    const struct obj_entry *entry = &image->entry;
    char kind[16];

    hd_json_str(json, "kind",
                is_ours ? "image" : obj_entry_kind_text(entry->kind, kind, sizeof(kind)));
    hd_json_u64(json, "arch", entry->arch);
    if (entry->variant)
        hd_json_str(json, "variant", (char[2]){entry->variant});
    hd_json_str(json, "section", image->section);
    hd_json_u64(json, "fatbin", image->container);
    hd_json_u64(json, "offset", image->offset_B);
    hd_json_str(json, "compression", obj_codec_text(entry->codec));
    hd_json_u64(json, "stored_B", entry->stored_B);
    hd_json_u64(json, "size_B", entry->raw_B);
    hd_json_view(json, "source", entry->source);
}

static int file_list(const char *path, struct hd_json *json)
{
    struct program program;
    int code = CLI_OK;

    if (program_open(path, &program) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (json) {
        hd_json_open(json, NULL, '{');
        hd_json_str(json, "file", path);
        hd_json_open(json, "entries", '[');
    } else {
        printf("%s: %s%s\n", path, obj_image_kind_text(program.kind),
               program.images.len ? "" : ", without device code");
    }
    for (size_t i = 0; i < program.images.len; i++) {
        const struct program_image *image = &program.images.at[i];
        bool is_ours = obj_entry_is_linked(&image->entry);

        if (json)
            hd_json_open(json, NULL, '{');
        if (json)
            entry_json(image, is_ours, json);
        else
            entry_text(image, is_ours);
        if (is_ours && image_list(path, &image->entry, json) != CLI_OK)
            code = CLI_FAILED;
        if (json)
            hd_json_close(json, '}');
    }
    if (json) {
        hd_json_close(json, ']');
        hd_json_close(json, '}');
    }
    if (program.damaged)
        code = cli_error("%s: a fat binary does not read to its end", path);
    program_close(&program);
    return code;
}

int cmd_objdump(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool as_json = cli_json();
    struct hd_json json;
    int option, code = CLI_OK;

    while ((option = cli_getopt(argc, argv, "h", options)) != -1) {
        if (option == 'h')
            return cli_help(help);
        if (option != 'j')
            return CLI_USAGE;
        as_json = true;
    }
    if (optind == argc)
        return cli_usage("a file is expected");
    if (as_json) {
        hd_json_init(&json);
        hd_json_open(&json, NULL, '{');
        hd_json_open(&json, "files", '[');
    }
    for (int i = optind; i < argc; i++)
        if (file_list(argv[i], as_json ? &json : NULL) != CLI_OK)
            code = CLI_FAILED;
    if (as_json) {
        hd_json_close(&json, ']');
        hd_json_close(&json, '}');
    }
    if (as_json ? !hd_json_print(&json) : fflush(stdout) != 0)
        return cli_error("the listing cannot be written");
    return code;
}
