/*
 * The assembler: lines of text to kernels. A kernel is read twice, first for its labels; a mistake
 * does not end the work, so that a user sees all of them at once.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "isa/image.h"

enum { MOST_MESSAGES = 100 };

struct assembler {
    const char *name;  /* of the file */
    const char *start; /* of the line that is read */
    unsigned line, messages;
    struct isa_image image;
    struct hd_map labels; /* of the kernel; values: addresses + 1 */
    struct hd_buf *out;
    bool no_memory;
};

static void complain(struct assembler *a, const char *at, const char *format, ...) HD_PRINTF(3, 4);

static void complain(struct assembler *a, const char *at, const char *format, ...)
{
    va_list args;
    char why[256];

    if (a->messages++ >= MOST_MESSAGES)
        return;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    hd_buf_printf(a->out, "%s:%u:%u: error: %s\n", a->name, a->line, (unsigned)(at - a->start) + 1,
                  why);
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static const char *behind_spaces(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

static bool ends(const char *at)
{
    at = behind_spaces(at);
    return !*at || *at == '\n' || !strncmp(at, "//", 2);
}

static size_t name_length(const char *at)
{
    size_t length = 0;

    while (is_name_char(at[length]))
        length++;
    return length;
}

static bool find_label(void *context, const char *name, size_t length, uint64_t *out_address)
{
    const struct assembler *a = context;
    void *value = hd_map_get(&a->labels, (struct hd_str){name, length});

    *out_address = (uintptr_t)value - 1;
    return value != NULL;
}

/* A label "NAME:" at the line's beginning: its length, or 0. */
static size_t label_length(const char *at)
{
    size_t length = name_length(at);

    return length && *at != '.' && at[length] == ':' ? length : 0;
}

/* Finds the labels from `text` up to the next kernel. */
static void labels_read(struct assembler *a, const char *text)
{
    unsigned line = a->line;
    const char *start = a->start;
    uint64_t address = 0, before;

    hd_map_fini(&a->labels);
    hd_map_init(&a->labels);
    while (text) {
        const char *at = behind_spaces(text);
        size_t length = label_length(at);

        a->start = text;
        if (!strncmp(at, ".kernel", 7) && !is_name_char(at[7]))
            break;
        if (length) {
            if (find_label(a, at, length, &before))
                complain(a, at, "there is a label `%.*s` before", (int)length, at);
            else if (!hd_map_put(&a->labels, (struct hd_str){at, length},
                                 (void *)(uintptr_t)(address + 1)))
                a->no_memory = true;
            at = behind_spaces(at + length + 1);
        }
        if (!ends(at) && *at != '.')
            address += ISA_WORD_BYTES;
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
        a->line++;
    }
    a->line = line;
    a->start = start;
}

static void kernel_begin(struct assembler *a, const char *at, const char *rest)
{
    size_t length = name_length(at);

    if (!length || !ends(at + length)) {
        complain(a, at, "the name of a kernel is expected here");
        return;
    }
    if (isa_image_find(&a->image, (struct hd_str){at, length})) {
        complain(a, at, "there is a kernel `%.*s` before", (int)length, at);
        return;
    }
    if (!isa_image_add(&a->image, (struct hd_str){at, length}))
        a->no_memory = true;
    a->line++;
    labels_read(a, rest);
    a->line--;
}

/* ".registers 12" of the last kernel. */
static void property_read(struct assembler *a, const char *at)
{
    size_t length = name_length(at + 1);
    const char *number = behind_spaces(at + 1 + length);
    size_t digits = name_length(number);
    uint64_t value;

    for (unsigned i = 0; i < ISA_PROPERTIES; i++) {
        const struct isa_property_row *row = &isa_properties[i];

        if (strlen(row->text) != length || memcmp(row->text, at + 1, length))
            continue;
        if (!hd_str_to_u64((struct hd_str){number, digits}, 0, &value) || value > row->most ||
            !ends(number + digits))
            complain(a, number, "a number from 0 to %u is expected here: %s", row->most, row->doc);
        else if (!a->image.kernels.len)
            complain(a, at, "this belongs to a kernel: `.kernel NAME` comes first");
        else
            hd_vec_last(&a->image.kernels).properties[i] = (uint32_t)value;
        return;
    }
    complain(a, at, "there is no directive `%.*s`", (int)length + 1, at);
}

static void instruction_read(struct assembler *a, const char *at, const char *end)
{
    char text[512];
    struct isa_kernel *kernel;
    struct isa_insn insn;
    struct isa_word word = {0};
    size_t length = (size_t)(end - at), place;
    const char *why;

    if (!a->image.kernels.len) {
        complain(a, at, "an instruction belongs to a kernel: `.kernel NAME` comes first");
        return;
    }
    if (length >= sizeof(text)) {
        complain(a, at, "the line is longer than %zu characters", sizeof(text) - 1);
        return;
    }
    memcpy(text, at, length);
    text[length] = '\0';
    kernel = &hd_vec_last(&a->image.kernels);
    why = isa_parse(text, kernel->words.len * ISA_WORD_BYTES, find_label, a, &insn, &place);
    if (!why) {
        why = isa_encode(&insn, &word);
        if (!why && text[place] == ';' && !ends(text + place + 1))
            why = "a line has one instruction";
    }
    if (why)
        complain(a, at + place, "%s", why);
    if (kernel->words.len >= ISA_MOST_WORDS || !hd_vec_push(&kernel->words, word))
        a->no_memory = true;
}

static void line_read(struct assembler *a, const char *end, const char *rest)
{
    const char *at = behind_spaces(a->start);
    size_t label = label_length(at);

    if (label) {
        if (!a->image.kernels.len)
            complain(a, at, "a label belongs to a kernel: `.kernel NAME` comes first");
        at = behind_spaces(at + label + 1);
    }
    if (ends(at))
        return;
    if (!strncmp(at, ".kernel", 7) && !is_name_char(at[7]))
        kernel_begin(a, behind_spaces(at + 7), rest);
    else if (*at == '.')
        property_read(a, at);
    else
        instruction_read(a, at, end);
}

enum hd_status isa_assemble(const char *text, const char *name, struct isa_image *out_image,
                            struct hd_buf *out_messages)
{
    struct assembler a = {.name = name, .out = out_messages};

    hd_map_init(&a.labels);
    isa_image_init(&a.image);
    while (text && !a.no_memory) {
        const char *newline = strchr(text, '\n');

        a.start = text;
        a.line++;
        line_read(&a, newline ? newline : text + strlen(text), newline ? newline + 1 : NULL);
        text = newline ? newline + 1 : NULL;
    }
    hd_map_fini(&a.labels);
    if (!a.messages && !a.no_memory) {
        *out_image = a.image;
        return HD_OK;
    }
    isa_image_fini(&a.image);
    if (a.no_memory)
        return hd_error(HD_NO_MEMORY, "no memory for an image");
    if (a.messages > MOST_MESSAGES)
        hd_buf_printf(out_messages, "%s: error: %u more errors\n", name,
                      a.messages - MOST_MESSAGES);
    return hd_error(HD_BAD_ARG, "%s: %u errors", name, a.messages);
}
