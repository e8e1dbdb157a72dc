/* See image.h. */
#include "isa/image.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "isa/machine.h"
#include "obj/elf.h"
#include "obj/linked.h"

#define PTX_SECTION   ".heddle.ptx"
#define HEAD_SECTION  ".heddle.isa"
#define TEXT_PREFIX   ".text."
#define INFO_PREFIX   ".heddle.info."
#define TABLES_PREFIX ".heddle.tables."
#define OF_A_KERNEL   3 /* sections */
#define OTHERS        6

/* .heddle.isa */
struct isa_image_head {
    uint32_t version, unused;
    char machine[8]; /* with zeros behind it */
    uint8_t key[ISA_KEY_BYTES];
};

/* .heddle.tables.NAME; behind it the tables in this order. */
struct isa_tables_head {
    uint32_t literals_B, relocs, functions, inlines, lines, names_B;
};
_Static_assert(sizeof(struct isa_reloc) == 8 && sizeof(struct isa_function) == 8 &&
                   sizeof(struct isa_inline) == 20 && sizeof(struct isa_line) == 20,
               "tables are as they are in files");
_Static_assert(sizeof(ISA_MACHINE) <= 9, "the machine's name");

const struct isa_property_row isa_properties[ISA_PROPERTIES] = {
#define ISA_PROPERTY(name, text, most, doc) {text, most, doc},
    ISA_PROPERTY_LIST(ISA_PROPERTY)
#undef ISA_PROPERTY
};

_Static_assert(sizeof(struct isa_word) == ISA_WORD_BYTES, "words are as they are in files");

void isa_image_init(struct isa_image *image)
{
    *image = (struct isa_image){.arch = ISA_ARCH};
    hd_map_init(&image->by_name);
}

static void kernel_fini(struct isa_kernel *kernel)
{
    hd_free(kernel->name);
    hd_vec_fini(&kernel->words);
    hd_vec_fini(&kernel->literals);
    hd_vec_fini(&kernel->relocs);
    hd_vec_fini(&kernel->functions);
    hd_vec_fini(&kernel->inlines);
    hd_vec_fini(&kernel->lines);
    hd_vec_fini(&kernel->names);
}

void isa_image_fini(struct isa_image *image)
{
    for (size_t i = 0; i < image->kernels.len; i++)
        kernel_fini(&image->kernels.at[i]);
    hd_vec_fini(&image->kernels);
    hd_map_fini(&image->by_name);
}

void isa_image_drop(struct isa_image *image)
{
    struct isa_kernel *last = &hd_vec_last(&image->kernels);

    hd_map_remove(&image->by_name, hd_str_from(last->name));
    kernel_fini(last);
    image->kernels.len--;
}

struct isa_kernel *isa_image_find(const struct isa_image *image, struct hd_str name)
{
    uintptr_t number = (uintptr_t)hd_map_get(&image->by_name, name);

    return number ? &image->kernels.at[number - 1] : NULL;
}

struct isa_kernel *isa_image_add(struct isa_image *image, struct hd_str name)
{
    struct isa_kernel kernel = {.name = hd_alloc(name.len + 1)};

    assert(!isa_image_find(image, name));
    if (!kernel.name)
        return NULL;
    memcpy(kernel.name, name.ptr, name.len);
    kernel.name[name.len] = '\0';
    if (hd_vec_push(&image->kernels, kernel)) {
        if (hd_map_put(&image->by_name, (struct hd_str){kernel.name, name.len},
                       (void *)image->kernels.len))
            return &hd_vec_last(&image->kernels);
        image->kernels.len--;
    }
    hd_free(kernel.name);
    return NULL;
}

/* ---- tables */

uint32_t isa_kernel_name(struct isa_kernel *kernel, struct hd_str name)
{
    size_t at = 0, len = kernel->names.len;

    for (; at < len; at += strlen(&kernel->names.at[at]) + 1)
        if (hd_str_is(name, &kernel->names.at[at]))
            return (uint32_t)at;
    if (len + name.len + 1 > INT32_MAX || !hd_vec_reserve(&kernel->names, len + name.len + 1))
        return UINT32_MAX;
    if (name.len)
        memcpy(&kernel->names.at[len], name.ptr, name.len);
    kernel->names.at[len + name.len] = '\0';
    kernel->names.len = len + name.len + 1;
    return (uint32_t)len;
}

/* What lines and inlined calls have in common. */
static const char *check_place(const struct isa_kernel *kernel, uint32_t file, bool has_more,
                               uint32_t inlined, size_t inlines)
{
    if (file > kernel->names.len)
        return "a file's name is not there";
    if (!file && has_more)
        return "a line is of no file";
    return inlined > inlines ? "an inlined call is not there" : NULL;
}

static const char *check_names(const struct isa_kernel *kernel)
{
    if (kernel->literals.len % 8)
        return "literals have eight bytes each";
    for (size_t i = 0; i < kernel->relocs.len; i++) {
        const struct isa_reloc *reloc = &kernel->relocs.at[i];

        if (reloc->offset_B % 8 || reloc->offset_B >= kernel->literals.len)
            return "a relocation is of no literal";
        if (i && reloc->offset_B <= reloc[-1].offset_B)
            return "relocations are not in order";
        if (reloc->var >= kernel->names.len)
            return "a variable's name is not there";
    }
    for (size_t i = 0; i < kernel->functions.len; i++) {
        const struct isa_function *function = &kernel->functions.at[i];

        if (function->offset % ISA_WORD_BYTES ||
            function->offset / ISA_WORD_BYTES >= kernel->words.len)
            return "a function begins where there is no code";
        if (function->index >= kernel->names.len)
            return "a function's name is not there";
    }
    return NULL;
}

static const char *check_lines(const struct isa_kernel *kernel)
{
    const char *why = NULL;

    for (size_t i = 0; i < kernel->inlines.len && !why; i++) {
        const struct isa_inline *call = &kernel->inlines.at[i];

        why = call->func >= kernel->names.len
                  ? "an inlined function's name is not there"
                  : check_place(kernel, call->file, call->line || call->col || call->inlined,
                                call->inlined, i);
    }
    for (size_t i = 0; i < kernel->lines.len && !why; i++) {
        const struct isa_line *line = &kernel->lines.at[i];

        if (line->word >= kernel->words.len)
            why = "a line is of no instruction";
        else if (i && line->word <= line[-1].word)
            why = "lines are not in order";
        else
            why = check_place(kernel, line->file, line->line || line->col || line->inlined,
                              line->inlined, kernel->inlines.len);
    }
    return why;
}

const char *isa_kernel_check(const struct isa_kernel *kernel)
{
    const char *why;

    if (kernel->names.len && kernel->names.at[kernel->names.len - 1])
        return "the last name has no end";
    why = check_names(kernel);
    return why ? why : check_lines(kernel);
}

const struct isa_line *isa_kernel_line(const struct isa_kernel *kernel, uint32_t word)
{
    size_t low = 0, high = kernel->lines.len;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (kernel->lines.at[mid].word <= word)
            low = mid + 1;
        else
            high = mid;
    }
    return low && kernel->lines.at[low - 1].file ? &kernel->lines.at[low - 1] : NULL;
}

/* ---- writing */

/* What grows while a file is written: itself, headers of sections, symbols, names. */
struct writer {
    struct hd_buf *out;
    struct hd_buf headers, symbols, names, section_names;
    unsigned sections;
};

static void pad(struct hd_buf *out, size_t align)
{
    while (out->len % align && !out->failed)
        hd_buf_putc(out, '\0');
}

static uint32_t name_add(struct hd_buf *names, const char *prefix, const char *name)
{
    uint32_t at = (uint32_t)names->len;

    hd_buf_puts(names, prefix);
    hd_buf_puts(names, name);
    hd_buf_putc(names, '\0');
    return at;
}

static void section_add(struct writer *w, Elf64_Shdr header, const void *bytes, size_t size_B)
{
    pad(w->out, header.sh_addralign);
    header.sh_offset = w->out->len;
    header.sh_size = size_B;
    if (size_B)
        hd_buf_append(w->out, bytes, size_B);
    hd_buf_append(&w->headers, &header, sizeof(header));
    w->sections++;
}

static void tables_write(struct writer *w, const struct isa_kernel *kernel)
{
    const struct isa_tables_head head = {.literals_B = (uint32_t)kernel->literals.len,
                                         .relocs = (uint32_t)kernel->relocs.len,
                                         .functions = (uint32_t)kernel->functions.len,
                                         .inlines = (uint32_t)kernel->inlines.len,
                                         .lines = (uint32_t)kernel->lines.len,
                                         .names_B = (uint32_t)kernel->names.len};
    struct hd_buf bytes;

    hd_buf_init(&bytes);
    hd_buf_append(&bytes, &head, sizeof(head));
#define WRITE(vec)                                                                                 \
    if (kernel->vec.len)                                                                           \
    hd_buf_append(&bytes, kernel->vec.at, kernel->vec.len * sizeof(*kernel->vec.at))
    WRITE(literals);
    WRITE(relocs);
    WRITE(functions);
    WRITE(inlines);
    WRITE(lines);
    WRITE(names);
#undef WRITE
    w->out->failed |= bytes.failed;
    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, TABLES_PREFIX, kernel->name),
                             .sh_type = SHT_PROGBITS,
                             .sh_addralign = 8},
                bytes.ptr, bytes.len);
    hd_buf_fini(&bytes);
}

static void kernel_write(struct writer *w, const struct isa_kernel *kernel)
{
    uint32_t info[2 * ISA_PROPERTIES];
    Elf64_Sym symbol = {.st_name = name_add(&w->names, "", kernel->name),
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_shndx = (uint16_t)w->sections,
                        .st_size = kernel->words.len * sizeof(struct isa_word)};

    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, TEXT_PREFIX, kernel->name),
                             .sh_type = SHT_PROGBITS,
                             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                             .sh_addralign = 128},
                kernel->words.at, symbol.st_size);
    for (uint32_t i = 0; i < ISA_PROPERTIES; i++) {
        info[2 * i] = i;
        info[2 * i + 1] = kernel->properties[i];
    }
    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, INFO_PREFIX, kernel->name),
                             .sh_type = SHT_PROGBITS,
                             .sh_addralign = 4},
                info, sizeof(info));
    tables_write(w, kernel);
    hd_buf_append(&w->symbols, &symbol, sizeof(symbol));
}

static void head_write(struct writer *w, const struct isa_image *image)
{
    struct isa_image_head head = {.version = ISA_VERSION, .machine = ISA_MACHINE};

    memcpy(head.key, image->key, sizeof(head.key));
    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, "", PTX_SECTION),
                             .sh_type = SHT_PROGBITS,
                             .sh_addralign = 8},
                image->ptx, image->ptx_B);
    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, "", HEAD_SECTION),
                             .sh_type = SHT_PROGBITS,
                             .sh_addralign = 8},
                &head, sizeof(head));
}

/* Symbols, and the names of all. */
static void end_write(struct writer *w)
{
    uint32_t names = name_add(&w->section_names, "", ".symtab");

    name_add(&w->section_names, "", ".strtab");
    name_add(&w->section_names, "", ".shstrtab");
    section_add(w,
                (Elf64_Shdr){.sh_name = names,
                             .sh_type = SHT_SYMTAB,
                             .sh_addralign = 8,
                             .sh_entsize = sizeof(Elf64_Sym),
                             .sh_link = w->sections + 1,
                             .sh_info = 1},
                w->symbols.ptr, w->symbols.len);
    names += sizeof(".symtab");
    section_add(w, (Elf64_Shdr){.sh_name = names, .sh_type = SHT_STRTAB, .sh_addralign = 1},
                w->names.ptr, w->names.len);
    names += sizeof(".strtab");
    section_add(w, (Elf64_Shdr){.sh_name = names, .sh_type = SHT_STRTAB, .sh_addralign = 1},
                w->section_names.ptr, w->section_names.len);
    pad(w->out, 8);
}

enum hd_status isa_image_write(const struct isa_image *image, struct hd_buf *out)
{
    uint8_t head[OBJ_LINKED_HEAD_B] = {0};
    struct writer w = {.out = out};
    bool failed;

    _Static_assert(OF_A_KERNEL * ISA_MOST_KERNELS + OTHERS < SHN_LORESERVE, "they can be counted");
    if (image->kernels.len > ISA_MOST_KERNELS)
        return hd_error(HD_NOT_SUPPORTED, "an image has at most %d kernels", ISA_MOST_KERNELS);
    assert(!out->len);
    hd_buf_append(out, head, sizeof(head));
    hd_buf_append(&w.headers, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
    hd_buf_append(&w.symbols, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
    hd_buf_putc(&w.names, '\0');
    hd_buf_putc(&w.section_names, '\0');
    w.sections = 1;
    head_write(&w, image);
    for (size_t i = 0; i < image->kernels.len; i++)
        kernel_write(&w, &image->kernels.at[i]);
    end_write(&w);
    obj_linked_head(image->arch, out->len, w.sections, head);
    hd_buf_append(out, w.headers.ptr, w.headers.len);
    failed = out->failed || w.headers.failed || w.symbols.failed || w.names.failed ||
             w.section_names.failed;
    if (!failed)
        memcpy(out->ptr, head, sizeof(head));
    hd_buf_fini(&w.headers);
    hd_buf_fini(&w.symbols);
    hd_buf_fini(&w.names);
    hd_buf_fini(&w.section_names);
    return failed ? hd_error(HD_NO_MEMORY, "no memory for an image") : HD_OK;
}

/* ---- reading */

/* The number at index `at` of `bytes`. */
static uint32_t number_at(const uint8_t *bytes, size_t at)
{
    uint32_t number;

    memcpy(&number, bytes + at * sizeof(number), sizeof(number));
    return number;
}

static enum hd_status words_read(struct isa_kernel *kernel, const struct obj_elf_section *section)
{
    size_t count = section->size_B / ISA_WORD_BYTES;

    if (!section->bytes || section->size_B % ISA_WORD_BYTES || count > ISA_MOST_WORDS)
        return hd_error(HD_BAD_IMAGE, "kernel %s: its code is %zu bytes long", kernel->name,
                        section->size_B);
    if (!hd_vec_reserve(&kernel->words, count))
        return hd_error(HD_NO_MEMORY, "no memory for the code of kernel %s", kernel->name);
    for (size_t i = 0; i < count; i++) {
        struct isa_insn insn;
        const char *why;

        memcpy(&kernel->words.at[i], section->bytes + i * ISA_WORD_BYTES, ISA_WORD_BYTES);
        why = isa_decode(kernel->words.at[i], &insn);
        if (why)
            return hd_error(HD_BAD_IMAGE, "kernel %s, offset 0x%zx: %s", kernel->name,
                            i * ISA_WORD_BYTES, why);
    }
    kernel->words.len = count;
    return HD_OK;
}

static enum hd_status info_read(struct isa_kernel *kernel, const struct obj_elf_section *section)
{
    size_t pairs = section->size_B / (2 * sizeof(uint32_t));

    if (!section->bytes || section->size_B % (2 * sizeof(uint32_t)))
        return hd_error(HD_BAD_IMAGE, "kernel %s: its properties are %zu bytes long", kernel->name,
                        section->size_B);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t property = number_at(section->bytes, 2 * i);
        uint32_t value = number_at(section->bytes, 2 * i + 1);

        if (property >= ISA_PROPERTIES)
            return hd_error(HD_BAD_VERSION, "kernel %s: property %u is not known to this version",
                            kernel->name, property);
        if (value > isa_properties[property].most)
            return hd_error(HD_BAD_IMAGE, "kernel %s: %u %s, at most %u", kernel->name, value,
                            isa_properties[property].text, isa_properties[property].most);
        kernel->properties[property] = value;
    }
    return HD_OK;
}

/* The next `count` elements of a section; false where it ends before. */
static bool table_read(const struct obj_elf_section *section, size_t *at, void *vec, uint32_t count,
                       size_t elem_B)
{
    HD_VEC(char) *to = vec;
    size_t size_B = count * elem_B; /* at most 2^32 * 20 */

    if (size_B > section->size_B - *at)
        return false;
    if (!size_B)
        return true;
    to->at = hd_alloc_array(count, elem_B);
    if (!to->at)
        return false;
    memcpy(to->at, section->bytes + *at, size_B);
    to->len = to->cap = count;
    *at += size_B;
    return true;
}

static enum hd_status tables_read(struct isa_kernel *kernel, const struct obj_elf_section *section)
{
    struct isa_tables_head head;
    size_t at = sizeof(head), want;
    const char *why;

    if (!section->bytes || section->size_B < sizeof(head))
        return hd_error(HD_BAD_IMAGE, "kernel %s: its tables are %zu bytes long", kernel->name,
                        section->size_B);
    memcpy(&head, section->bytes, sizeof(head));
#define B(vec) sizeof(*kernel->vec.at)
    want = at + head.literals_B + B(relocs) * head.relocs + B(functions) * head.functions +
           B(inlines) * head.inlines + B(lines) * head.lines + head.names_B;
    if (want != section->size_B)
        return hd_error(HD_BAD_IMAGE, "kernel %s: its tables are %zu bytes long, not %zu",
                        kernel->name, section->size_B, want);
    if (!table_read(section, &at, &kernel->literals, head.literals_B, B(literals)) ||
        !table_read(section, &at, &kernel->relocs, head.relocs, B(relocs)) ||
        !table_read(section, &at, &kernel->functions, head.functions, B(functions)) ||
        !table_read(section, &at, &kernel->inlines, head.inlines, B(inlines)) ||
        !table_read(section, &at, &kernel->lines, head.lines, B(lines)) ||
        !table_read(section, &at, &kernel->names, head.names_B, B(names)))
        return hd_error(HD_NO_MEMORY, "no memory for the tables of kernel %s", kernel->name);
#undef B
    why = isa_kernel_check(kernel);
    return why ? hd_error(HD_BAD_IMAGE, "kernel %s: %s", kernel->name, why) : HD_OK;
}

/* Is it the section of that kernel? */
static bool is_of(const struct obj_elf_section *section, const char *prefix, const char *kernel)
{
    size_t len = strlen(prefix);

    return hd_str_starts(section->name, prefix) &&
           hd_str_is((struct hd_str){section->name.ptr + len, section->name.len - len}, kernel);
}

/* The kernel whose code is section `at`; its properties and tables are the next ones. */
static enum hd_status kernel_read(const struct obj_elf *elf, size_t at, struct hd_str name,
                                  struct isa_image *image)
{
    struct obj_elf_section text, info, tables;
    struct isa_kernel *kernel;

    if (isa_image_find(image, name))
        return hd_error(HD_BAD_IMAGE, "two kernels have the name %.*s", HD_STR_ARG(name));
    kernel = isa_image_add(image, name);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "no memory for a kernel");
    if (!obj_elf_section(elf, at, &text) || !obj_elf_section(elf, at + 1, &info) ||
        !is_of(&info, INFO_PREFIX, kernel->name))
        return hd_error(HD_BAD_IMAGE, "kernel %s has no properties", kernel->name);
    if (!obj_elf_section(elf, at + 2, &tables) || !is_of(&tables, TABLES_PREFIX, kernel->name))
        return hd_error(HD_BAD_IMAGE, "kernel %s has no tables", kernel->name);
    HD_TRY(words_read(kernel, &text));
    HD_TRY(info_read(kernel, &info));
    return tables_read(kernel, &tables);
}

static enum hd_status kernels_read(const struct obj_elf *elf, struct isa_image *image)
{
    size_t prefix = strlen(TEXT_PREFIX);

    for (size_t i = 0; i < elf->section_count; i++) {
        struct obj_elf_section section;

        if (obj_elf_section(elf, i, &section) && hd_str_starts(section.name, TEXT_PREFIX))
            HD_TRY(kernel_read(
                elf, i, (struct hd_str){section.name.ptr + prefix, section.name.len - prefix},
                image));
    }
    return HD_OK;
}

static enum hd_status head_read(const struct obj_elf *elf, struct isa_image *image)
{
    struct obj_elf_section section;
    struct isa_image_head head;

    if (!obj_elf_section_find(elf, HEAD_SECTION, &section))
        return hd_error(HD_BAD_IMAGE, "the image has PTX, but no machine code of Heddle's GPU");
    if (!section.bytes || section.size_B != sizeof(head))
        return hd_error(HD_BAD_IMAGE, "section " HEAD_SECTION " is %zu bytes long", section.size_B);
    memcpy(&head, section.bytes, sizeof(head));
    if (head.version != ISA_VERSION)
        return hd_error(HD_BAD_VERSION, "version %u of the instruction set; this is version %d",
                        head.version, ISA_VERSION);
    if (strncmp(head.machine, ISA_MACHINE, sizeof(head.machine)) != 0)
        return hd_error(HD_BAD_VERSION, "code for machine %.8s; this version makes it for %s",
                        head.machine, ISA_MACHINE);
    memcpy(image->key, head.key, sizeof(image->key));
    return HD_OK;
}

enum hd_status isa_image_read(const void *bytes, size_t size_B, struct isa_image *out_image)
{
    struct isa_image image;
    struct obj_elf elf;
    Elf64_Ehdr head;
    enum hd_status status;

    HD_TRY(obj_elf_open(bytes, size_B, &elf));
    memcpy(&head, bytes, sizeof(head));
    if (!obj_linked_is(bytes, size_B) || head.e_machine != OBJ_LINKED_MACHINE)
        return hd_error(HD_BAD_IMAGE, "an ELF file of machine %u, not of Heddle's GPU",
                        head.e_machine);
    if (!head.e_shnum || elf.section_count != head.e_shnum)
        return hd_error(HD_BAD_IMAGE, "the image ends before its table of sections");
    isa_image_init(&image);
    image.arch = head.e_flags >> 8 & ISA_MOST_ARCH;
    status = obj_linked_open(bytes, size_B, &image.ptx, &image.ptx_B);
    if (status == HD_OK)
        status = head_read(&elf, &image);
    if (status == HD_OK)
        status = kernels_read(&elf, &image);
    if (status != HD_OK)
        isa_image_fini(&image);
    else
        *out_image = image;
    return status;
}
