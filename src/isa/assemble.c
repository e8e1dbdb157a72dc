/*
 * The assembler: lines of text to kernels. A kernel is read twice, first for its labels; a mistake
 * does not end the work, so that a user sees all of them at once.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "isa/image.h"
#include "isa/isa_private.h"

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

    while (isa_is_name_char(at[length]))
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
        if (!strncmp(at, ".kernel", 7) && !isa_is_name_char(at[7]))
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

/* ---- what directives have behind their name: each goes to where it ends, or complains */

/* A name, plain or in quotes. */
static bool read_name(struct assembler *a, const char **at, struct hd_buf *out, const char *what)
{
    const char *from = *at = behind_spaces(*at);
    unsigned code;

    hd_buf_clear(out);
    if (*from != '"') {
        hd_buf_append(out, from, name_length(from));
        *at += name_length(from);
        if (*at == from)
            complain(a, from, "the name of %s is expected here", what);
        return *at != from;
    }
    for (from++; *from != '"'; from++) {
        if (!*from || *from == '\n') {
            complain(a, *at, "the name has no end");
            return false;
        }
        if (*from != '\\') {
            hd_buf_putc(out, *from);
            continue;
        }
        if (from[1] != 'x' || !isxdigit((unsigned char)from[2]) ||
            !isxdigit((unsigned char)from[3]) || sscanf(from + 2, "%2x", &code) != 1 || !code) {
            complain(a, from, "\\x and two digits are expected here");
            return false;
        }
        hd_buf_putc(out, (char)code);
        from += 3;
    }
    *at = from + 1;
    return true;
}

static struct hd_str view(const struct hd_buf *name)
{
    return (struct hd_str){name->ptr ? name->ptr : "", name->len};
}

static bool read_number(struct assembler *a, const char **at, uint64_t most, uint64_t *out,
                        const char *what)
{
    const char *from = *at = behind_spaces(*at);
    size_t length = name_length(from);

    *at += length;
    if (hd_str_to_u64((struct hd_str){from, length}, 0, out) && *out <= most)
        return true;
    complain(a, from, "a number from 0 to %" PRIu64 " is expected here: %s", most, what);
    return false;
}

/* The offset of a name in the kernel's. */
static uint32_t keep_name(struct assembler *a, const struct hd_buf *name)
{
    uint32_t at = isa_kernel_name(&hd_vec_last(&a->image.kernels), view(name));

    a->no_memory |= name->failed || at == UINT32_MAX;
    return at;
}

/* FILE LINE COLUMN CALL, each of which may be left out with those behind it. */
static bool read_place(struct assembler *a, const char **at, struct isa_line *out)
{
    uint64_t numbers[3] = {0};
    struct hd_buf file;
    bool good = true;

    *out = (struct isa_line){0};
    if (ends(*at))
        return true;
    hd_buf_init(&file);
    good = read_name(a, at, &file, "a file");
    if (good)
        out->file = keep_name(a, &file) + 1;
    for (unsigned i = 0; i < 3 && good && !ends(*at); i++)
        good = read_number(a, at, UINT32_MAX, &numbers[i], "a line, a column, a call");
    out->line = (uint32_t)numbers[0];
    out->col = (uint32_t)numbers[1];
    out->inlined = (uint32_t)numbers[2];
    hd_buf_fini(&file);
    return good;
}

/* ---- directives */

/* What was read of a kernel goes together. */
static void kernel_end(struct assembler *a)
{
    const char *why =
        a->image.kernels.len ? isa_kernel_check(&hd_vec_last(&a->image.kernels)) : NULL;

    if (why && !a->no_memory)
        complain(a, a->start, "kernel %s: %s", hd_vec_last(&a->image.kernels).name, why);
}

static const char *kernel_begin(struct assembler *a, const char *at, const char *rest,
                                struct hd_buf *name)
{
    const char *from = at = behind_spaces(at);

    kernel_end(a);
    if (!read_name(a, &at, name, "a kernel"))
        return NULL;
    if (!ends(at)) {
        complain(a, from, "the name of a kernel is expected here");
    } else if (isa_image_find(&a->image, view(name))) {
        complain(a, from, "there is a kernel `%.*s` before", HD_STR_ARG(view(name)));
    } else if (!isa_image_add(&a->image, view(name))) {
        a->no_memory = true;
    } else {
        a->line++;
        labels_read(a, rest);
        a->line--;
        return at;
    }
    return NULL;
}

/* The others: where they end, or NULL after a message. `name` is room for one. */
typedef const char *directive_fn(struct assembler *a, const char *at, struct hd_buf *name);

static const char *arch_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    uint64_t arch;

    (void)name;
    if (!read_number(a, &at, ISA_MOST_ARCH, &arch, "a compute capability"))
        return NULL;
    a->image.arch = (unsigned)arch;
    return at;
}

static const char *key_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    unsigned byte;

    (void)name;
    at = behind_spaces(at);
    for (unsigned i = 0; i < ISA_KEY_BYTES; i++) {
        const char *digits = at + 2 * i;

        if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]) ||
            sscanf(digits, "%2x", &byte) != 1) {
            complain(a, at, "a key has %d digits", 2 * ISA_KEY_BYTES);
            return NULL;
        }
        a->image.key[i] = (uint8_t)byte;
    }
    return at + 2 * ISA_KEY_BYTES;
}

/* A number, or the address of a variable and a number: NAME+0x10. */
static const char *literal_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    struct isa_kernel *kernel = &hd_vec_last(&a->image.kernels);
    struct isa_reloc reloc = {.offset_B = (uint32_t)kernel->literals.len};
    uint64_t value = 0;

    at = behind_spaces(at);
    if (isdigit((unsigned char)*at)) {
        if (!read_number(a, &at, UINT64_MAX, &value, "a literal"))
            return NULL;
    } else {
        if (!read_name(a, &at, name, "a variable"))
            return NULL;
        reloc.var = keep_name(a, name);
        if (*at == '+') {
            at++;
            if (!read_number(a, &at, UINT64_MAX, &value, "an offset"))
                return NULL;
        }
        a->no_memory |= !hd_vec_push(&kernel->relocs, reloc);
    }
    for (unsigned i = 0; i < sizeof(value); i++)
        a->no_memory |= !hd_vec_push(&kernel->literals, (uint8_t)(value >> (8 * i)));
    return at;
}

static const char *function_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    struct isa_kernel *kernel = &hd_vec_last(&a->image.kernels);
    uint64_t offset;

    if (!read_name(a, &at, name, "a function"))
        return NULL;
    at = behind_spaces(at);
    if (find_label(a, at, name_length(at), &offset))
        at += name_length(at);
    else if (!read_number(a, &at, UINT32_MAX, &offset, "where the function begins, or a label"))
        return NULL;
    a->no_memory |= !hd_vec_push(&kernel->functions,
                                 (struct isa_function){keep_name(a, name), (uint32_t)offset});
    return at;
}

static const char *inlined_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    struct isa_inline call = {0};
    struct isa_line place;

    if (!read_name(a, &at, name, "a function"))
        return NULL;
    call.func = keep_name(a, name);
    if (!read_place(a, &at, &place))
        return NULL;
    call.file = place.file;
    call.line = place.line;
    call.col = place.col;
    call.inlined = place.inlined;
    a->no_memory |= !hd_vec_push(&hd_vec_last(&a->image.kernels).inlines, call);
    return at;
}

static const char *loc_read(struct assembler *a, const char *at, struct hd_buf *name)
{
    struct isa_kernel *kernel = &hd_vec_last(&a->image.kernels);
    struct isa_line line;

    (void)name;
    if (!read_place(a, &at, &line))
        return NULL;
    line.word = (uint32_t)kernel->words.len;
    a->no_memory |= !hd_vec_push(&kernel->lines, line);
    return at;
}

static void directive_read(struct assembler *a, const char *at, const char *rest)
{
    static const struct {
        const char *name;
        directive_fn *read;
        bool is_of_kernel;
    } rows[] = {
        {"arch", arch_read, false},      {"key", key_read, false},
        {"literal", literal_read, true}, {"function", function_read, true},
        {"inlined", inlined_read, true}, {"loc", loc_read, true},
    };
    struct hd_str name = {at + 1, name_length(at + 1)};
    const char *end = at + 1 + name.len;
    unsigned row = 0, property = 0;
    struct hd_buf room;
    uint64_t value;

    while (row < HD_COUNT_OF(rows) && !hd_str_is(name, rows[row].name))
        row++;
    while (property < ISA_PROPERTIES && !hd_str_is(name, isa_properties[property].text))
        property++;
    hd_buf_init(&room);
    if (hd_str_is(name, "kernel"))
        end = kernel_begin(a, end, rest, &room);
    else if (row == HD_COUNT_OF(rows) && property == ISA_PROPERTIES)
        complain(a, at, "there is no directive `.%.*s`", HD_STR_ARG(name)), end = NULL;
    else if (!a->image.kernels.len && (row == HD_COUNT_OF(rows) || rows[row].is_of_kernel))
        complain(a, at, "this belongs to a kernel: `.kernel NAME` comes first"), end = NULL;
    else if (row < HD_COUNT_OF(rows))
        end = rows[row].read(a, end, &room);
    else if (read_number(a, &end, isa_properties[property].most, &value,
                         isa_properties[property].doc))
        hd_vec_last(&a->image.kernels).properties[property] = (uint32_t)value;
    else
        end = NULL;
    if (end && !ends(end))
        complain(a, behind_spaces(end), "the line should end here");
    a->no_memory |= room.failed;
    hd_buf_fini(&room);
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
    if (*at == '.')
        directive_read(a, at, rest);
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
    kernel_end(&a);
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
